"""Verbs that merely resemble a column, and columns that only describe: what was done, or of whom, is nothing that is asked for."""

from __future__ import annotations

from typing import Final

from querybus_translator.language.clauses import DAY_SIGNS
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.stems import stem
from querybus_translator.readers.orders import SORTING
from querybus_translator.schema.labels import key_columns, labels
from querybus_translator.schema.other_names import doers_of
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import (
    Aggregate,
    ColumnRef,
    Comparison,
    Form,
    Measure,
    Operator,
    columns_of,
    condition_tables,
)
from querybus_translator.writing.sketch import TEMPORAL, Placed, Sketch


def read_verbs_of_doers(sketch: Sketch) -> None:
    """ "Players who play as goalkeeper", "the mountains that climbers climb": the verb says again what they are called."""
    if sketch.chinese:
        for place, node in enumerate(sketch.nodes):
            # 报名日期 is a day, and nobody who does something.
            names = place + 1 < len(sketch.nodes) and sketch.column(place + 1) is not None
            if node.kind is NodeKind.WORD and not names and _relates(sketch, place):
                sketch.take(place)
        return
    entries = (
        sketch.index.entries_of_table(pick.table)
        if pick.column is None
        else sketch.index.entry_of_column(pick.table, pick.column)
        for pick in sketch.assignment.picks.values()
        if pick.value is None
    )
    called = {word for entry in entries for name in entry.names for word in name[-1:]}
    for place, node in enumerate(sketch.nodes):
        word = node.text.lower()
        # A link that is not meant here is as good as none.
        is_unlinked = node.kind is NodeKind.LINK and sketch.pick(place) is None and " " not in word
        is_unlinked = is_unlinked and all(link.value is None for link in node.candidates)
        is_known = any(link.score > _SAID_MIN for link in node.candidates)
        is_said_again = not is_known and not called.isdisjoint(doers_of(word))
        is_verb = node.kind is NodeKind.WORD or (
            is_unlinked and all(link.score < _FAINT_MAX for link in node.candidates)
        )
        brings = is_unlinked and word in lexicon().verbs and _brings_together(sketch, place)
        says_again = (node.kind is NodeKind.WORD or is_unlinked) and is_said_again
        # "The total wage paid": what is paid is said already.
        says_again = says_again or (is_unlinked and word in lexicon().verbs and _is_said(sketch, place))
        says_again = says_again or _leads_to(sketch, place)
        if says_again or brings or (is_verb and _relates(sketch, place)):
            sketch.take(place)


def _is_said(sketch: Sketch, place: int) -> bool:
    said = {(pick.table, pick.column) for pick in sketch.assignment.picks.values() if pick.column is not None}
    return any((link.table, link.column) in said for link in sketch.nodes[place].candidates)


def _leads_to(sketch: Sketch, place: int) -> bool:
    """ "Whose speciality is Thai": a key, where the value that follows is one of what it refers to."""
    key, behind = sketch.column(place), sketch.value(sketch.after(place, over=(Op.EQUAL,)))
    if key is None or behind is None or behind.table == key.table or not place:
        return False
    whose = any(node.op is Op.RELATIVE for node in sketch.nodes[max(0, place - 2) : place])
    return whose and sketch.refers(key, behind.table)


def _relates(sketch: Sketch, place: int) -> bool:
    """ "Referees who officiated games", "how many goals did Jan Novak score": a verb between two that are named."""
    word, words = sketch.nodes[place].text.lower(), lexicon()
    played = {part for role in sketch.index.roles for name in role.names for part in name}
    if not played.isdisjoint(doers_of(word)) and any(node.kind is NodeKind.LINK for node in sketch.nodes[:place]):
        # "How many matches did Ann win": those whose winner she is.
        return True
    is_asked = word in words.verbs_behind_do and any(node.text.lower() in _DOING for node in sketch.nodes[:place])
    if not is_asked and word not in words.relating:
        return False
    picks = sketch.assignment.picks
    kinds = {sketch.index.real(pick.table) for pick in picks.values()}
    if {other < place for other, pick in picks.items() if pick.column is not None} == {True, False}:
        # "Critics who gave a score below 6", of reviews that name both.
        return True
    return len(kinds) + any(node.kind is NodeKind.TEXT for node in sketch.nodes) > 1


_FAINT_MAX = 0.8
_DOING = frozenset({"do", "does", "did"})


def _brings_together(sketch: Sketch, place: int) -> bool:
    """ "Architects who built three bridges": a verb between two kinds of rows says no more than that they belong together."""
    before = (sketch.table(other) for other in range(place - 1, max(-1, place - _NEAR), -1))
    behind = (sketch.table(other) for other in range(place + 1, min(len(sketch.nodes), place + _NEAR + 1)))
    subject = next((table for table in before if table is not None), None)
    thing = next((table for table in behind if table is not None), None)
    return subject is not None and thing is not None and bool(sketch.index.graph.between(subject, thing))


def is_denied_deed(sketch: Sketch, place: int) -> bool:
    """ "Never ordered", "not reviewed": what did not happen is nothing to show."""
    word, denied = sketch.nodes[place].text.lower(), sketch.before(place)
    column = sketch.column(place)
    if " " in word or column is None or sketch.op(denied) is not Op.NOT:
        return False
    if sketch.chinese:
        # 没有支付: the day of it is not there; 没有支付日期 says it itself.
        return sketch.kind(column) in TEMPORAL and DAY_SIGNS.isdisjoint(word)
    never = denied is not None and "never" in sketch.nodes[denied].text.lower().split()
    return word.endswith("ed") or (never and word in lexicon().verbs)


def is_deed(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """ "How many tickets did we sell": the verb merely resembles the column that says when, and nobody asks when."""
    word = sketch.nodes[place].text.lower()
    pick = sketch.pick(place)
    if " " in word or pick is None or pick.score >= _SAID_MIN:
        return False
    if sketch.chinese:
        # 2025年有多少会员加入: whoever counts does not ask for the day.
        is_day = not DAY_SIGNS.isdisjoint(word)
        counts = any(measure.aggregate is Aggregate.COUNT for _, measure in sketch.targets)
        return sketch.kind(column) in TEMPORAL and counts and not is_day and not sketch.groups
    # "Fixed the most bikes"; whoever harvested the most apples did so by weight.
    is_done_to_rows = (
        word.endswith("ed") and place > 0 and None not in (sketch.table(place - 1), _behind_most(sketch, place))
    )
    is_verb = word in lexicon().verbs or is_done_to_rows
    if is_verb and any(node.op in _BEST for node in sketch.nodes[place + 1 : place + 2]):
        # "Which products sell best", "which mechanic fixed the most bikes": nobody asks for the column that is called so.
        return True
    if word in lexicon().verbs and None not in (sketch.table(place - 1), sketch.table(sketch.after(place))):
        # "Which teams won a match": nobody asks for the `prize_won`.
        return True
    if word.endswith("ed") and place and sketch.nodes[place - 1].text.lower() in _DOERS:
        # "The performances they attended": how many attended is not asked.
        return True
    if sketch.kind(column) not in TEMPORAL and "date" not in sketch.words_of(column):
        return False
    said = {node.text.lower() for node in sketch.nodes}
    if place and sketch.nodes[place - 1].text.lower() in _RELATIVES and sketch.can_be_empty(column):
        # "Volunteers who left".
        return not said & _ASKS_WHEN
    if place + 2 < len(sketch.nodes) and sketch.op(place + 1) is Op.BY and sketch.table(place + 2) is not None:
        # "The tools repaired by smith Lee".
        return not said & _ASKS_WHEN
    before = sketch.nodes[place - 1].text.lower() if place else ""
    if before in _DETERMINERS:
        return False
    is_done = word in lexicon().verbs and sketch.op(sketch.before(place)) is not Op.NOT
    if is_done or (before in _COPULAS and word.endswith("ed")):
        # "Which expenses are reimbursed?", "which shops sell no drinks?"
        return not said & _ASKS_WHEN
    return not said & _ASKS_WHEN and bool(said & _AUXILIARIES) and sketch.op(sketch.before(place)) is not Op.BY


def _behind_most(sketch: Sketch, place: int) -> int | None:
    return sketch.table(sketch.after(sketch.after(place)))


def take_deed(sketch: Sketch, place: int, column: ColumnRef) -> None:
    """ "How many members have left": where not every row has the day that a verb names, those that have it are meant."""
    sketch.take(place)
    sketch.doubts += 0.05
    is_said = any(column in columns_of(Form(targets=(), where=(item.condition,))) for item in sketch.conditions)
    if sketch.kind(column) in TEMPORAL and sketch.can_be_empty(column) and not is_said:
        sketch.conditions.append(Placed(place, Comparison(Measure(column), Operator.NOT_NULL)))


def is_agent(sketch: Sketch, place: int, named: int | None) -> bool:
    """ "Papers published by the institution X": it is said who did it, and of whom; nothing is to be shown for each of them."""
    if sketch.chinese or named is None or not place or sketch.table(named) is None:
        return False
    # "Courses that are enrolled in by students".
    done = place - 2 if place > 1 and sketch.nodes[place - 1].text.lower() in _BEHIND_DEEDS else place - 1
    verb, noun = sketch.nodes[done].text.lower().split()[-1], sketch.nodes[named].text.lower()
    is_done = verb.endswith("ed") or verb in lexicon().verbs or verb in lexicon().deeds
    is_passive = done > 1 and sketch.nodes[done - 1].text.lower() in _PASSIVE and sketch.op(0) is Op.COUNT
    if is_done and is_passive and sketch.after(named) is None and noun.endswith("s"):
        # "How many courses are chosen by students": one number, and none for each of them.
        return True
    is_some = noun.endswith("s") or any(node.text.lower() == "the" for node in sketch.nodes[place + 1 : named])
    behind = (item.place for item in sketch.conditions if named < item.place <= named + _NEAR)
    ranked = any(named < ranking.place <= named + _NEAR for ranking in sketch.rankings)
    if is_done and is_some and (ranked or any(node.op is Op.EACH for node in sketch.nodes)):
        # "The ranks held by captains and their number for each rank": the groups are named.
        return True
    return is_done and is_some and any(sketch.nodes[other].kind is not NodeKind.PERIOD for other in behind)


_BEHIND_DEEDS = frozenset({"in", "at", "to", "for", "on"})
_PASSIVE = frozenset({"is", "are", "was", "were", "been"})
_NEAR = 4
_DOERS = frozenset({"they", "he", "she", "we", "you", "i"})


def doers(sketch: Sketch, table: int) -> tuple[ColumnRef, ...]:
    """ "Who took parental leave": of rows without a name, those whom they refer to. Empty where nobody is asked for, or it may be several."""
    first = sketch.nodes[0] if sketch.nodes else None
    if (
        first is None
        or first.text.lower() not in _WHO
        or labels(sketch.index, table) != key_columns(sketch.index, table)
    ):
        return ()
    named = {
        edge.target: labels(sketch.index, edge.target)
        for edge in sketch.index.graph.edges_of(table)
        if edge.source == table and edge.to_one and edge.target != table
    }
    people = [found for other, found in named.items() if found and found != key_columns(sketch.index, other)]
    persons = {table for table, _ in sketch.index.names_of_persons} or {sketch.index.people_table}
    people = [found for found in people if found[0].table in persons] or people
    sketch.distinct = sketch.distinct or len(people) == 1
    return people[0] if len(people) == 1 else ()


def rows_of_deed(sketch: Sketch, verb: int | None) -> int | None:
    """Return the only table with a day that is called after a verb, of which what is named before may have many rows."""
    word = "" if verb is None or sketch.chinese else sketch.nodes[verb].text.lower()
    named = next((table for place in range(verb or 0) if (table := sketch.table(place)) is not None), None)
    tables = sketch.index.catalog.tables
    counts = any("often" in node.text.lower() or node.op is Op.TIMES for node in sketch.nodes[(verb or 0) + 1 :])
    is_done = word.endswith("ed") or (counts and word in lexicon().verbs)
    if not is_done or named is None or len(tables) > _TABLES_SEARCHED_MAX:
        return None
    found = {
        table
        for table in range(len(tables))
        for day in sketch.time_columns(table)
        if stem(word) in {stem(part) for part in sketch.words_of(day)}
    }
    many = [table for table in found if sketch.index.graph.is_many(named, table)]
    return many[0] if len(many) == 1 else None


_TABLES_SEARCHED_MAX = 60
_RELATIVES = frozenset({"who", "that", "which"})
_WHO = frozenset({"who", "谁"})
_SAID_MIN = 0.9
_COPULAS = frozenset({"is", "are", "was", "were"})
_BEST = frozenset({Op.HIGHEST, Op.LOWEST, Op.MOST, Op.FEWEST})
_DETERMINERS = frozenset({"a", "an", "the", "each", "every", "per", "of", "by", "this", "that"})
_ASKS_WHEN = frozenset({"when", "date", "dates", "day", "days", "time", "times", "month", "year", "years", "months"})
_AUXILIARIES = frozenset({"did", "do", "does", "was", "were", "have", "has", "had", "we", "been", "ever", "never"})


def is_described(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """Whether a column is only there to say something of its rows, behind what is asked for.

    "The languages of the countries of players from Duke", "which colleges have players who ..." show no players.
    """
    if sketch.chinese:
        return False
    if place and sketch.column(place - 1) == column and sketch.taken[place - 1]:
        # "By quantity sold": the participle says of the quantity which it is.
        return True
    if not sketch.targets:
        return False
    word, behind = sketch.nodes[place].text.lower(), sketch.nodes[place + 1 : place + 2]
    if word.endswith("ed") and sketch.table(place - 1) is not None and behind and behind[0].op is Op.BY:
        # "Candidates supported by CNN": by whom they are, and not how much.
        return True
    opens = sketch.nodes[0].text.lower() in _WHICH_ONES and place > 1 and sketch.column(place - 1) is not None
    if opens and word in lexicon().verbs and behind and behind[0].kind is NodeKind.STOP:
        # "Which sponsor pays for Arsenal": nobody asks how much.
        return True
    if sketch.is_numeric(column):
        return False
    if _is_behind_order(sketch, place):
        return True
    if _is_described_again(sketch, place, column):
        return True
    before = _content_before(sketch, place)
    words = {node.text.lower() for node in sketch.nodes[(before or 0) + 1 : place]}
    while before is not None and sketch.op(before) is Op.BOTH:
        behind, before = before, _content_before(sketch, before)
        words |= {node.text.lower() for node in sketch.nodes[(before or 0) + 1 : behind]}
    if before is None or sketch.pick(before) is None or sketch.value(before) is not None:
        return False
    owns = sketch.nodes[0].text.lower() in _WHICH_ONES and not words.isdisjoint(_HAVING)
    belongs = "of" in words and sketch.table(before) is not None and sketch.table(before) != column.table
    said = {table for item in sketch.conditions if item.place > place for table in condition_tables(item.condition)}
    return (owns and bool(said)) or (belongs and column.table in said)


def _is_described_again(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """ "Both players in defence and players in attack": what was no target the first time is none the second."""
    said = sketch.nodes[place].text.lower()
    first = next(
        other for other, node in enumerate(sketch.nodes) if sketch.column(other) == column and node.text.lower() == said
    )
    return (
        first < place < sketch.sentence_end(first)
        and sketch.taken[first]
        and all(measure.column != column for _, measure in sketch.targets)
    )


def _is_behind_order(sketch: Sketch, place: int) -> bool:
    """ "In the order of the year their musical was awarded": what stands behind the key only says of what it is."""
    sorting = [other for other in range(place) if sketch.op(other) in SORTING]
    if not sorting or sketch.nodes[sorting[-1]].text.lower().split()[-1] not in _LEADING:
        return False
    between = sketch.nodes[sorting[-1] + 1 : place]
    is_joined = any(node.op in _LISTING or node.kind is NodeKind.MARK for node in between)
    keys = {one.by.column for one in sketch.orderings}
    has_key = any(sketch.column(other) in keys for other in range(sorting[-1] + 1, place))
    return has_key and not is_joined


def _content_before(sketch: Sketch, place: int) -> int | None:
    return next((other for other in range(place - 1, -1, -1) if sketch.nodes[other].kind is not NodeKind.STOP), None)


_LISTING: Final = frozenset({Op.AND, Op.OR, Op.BUT, Op.SHOW})
_LEADING: Final = frozenset({"by", "of", "order"})
_WHICH_ONES: Final = frozenset({"which", "what"})
_HAVING: Final = frozenset({"have", "has", "had"})
