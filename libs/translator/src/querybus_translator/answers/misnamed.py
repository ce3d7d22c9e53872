"""Readings that show or name others than were asked for, or pass over what was said: each rule says of one kind of them whether a reading is of it."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from querybus.core.catalog import ColumnKind
from querybus_translator.answers.whole import Rule, Whole, columns_said
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.names import name_words
from querybus_translator.language.stems import stem
from querybus_translator.readers.absences import NONE_OF
from querybus_translator.schema.joins import Edge
from querybus_translator.schema.labels import key_columns, labels
from querybus_translator.schema.other_names import doers_of
from querybus_translator.schema.phrases import NodeKind, hints_of
from querybus_translator.writing.contradictions import are_contradictory
from querybus_translator.writing.form import (
    Aggregate,
    AnyOf,
    ColumnRef,
    Comparison,
    Form,
    Literal,
    Membership,
    Operator,
    columns_of,
    tables_of,
)
from querybus_translator.writing.sketch import TEMPORAL, Sketch


def names_nobody(whole: Whole) -> bool:
    """ "Who has the best result?" is answered by a name, not by the result or by what was said."""
    asks_who = any(
        "谁" in node.text or (node.text.lower() == "who" and not place) for place, node in enumerate(whole.sketch.nodes)
    )
    said = columns_said(whole.form)
    is_figure = all(
        target.aggregate is not None or target.column is None or whole.sketch.is_numeric(target.column)
        or whole.sketch.is_flag(target.column) for target in whole.form.targets
    )  # fmt: skip
    echoes = all(target.aggregate is None and target.column in said for target in whole.form.targets)
    # Rows that are known by their numbers are nobody.
    is_number = any(
        target.column is not None
        and whole.sketch.is_key(target.column)
        and whole.sketch.kind(target.column) is ColumnKind.INTEGER
        for target in whole.form.targets
    )
    # "Who wrote the best review" is no title.
    is_title = any(
        target.column is not None
        and all(
            name[-1] == "title"
            for name in whole.sketch.index.entry_of_column(target.column.table, target.column.column).names
        )
        for target in whole.form.targets
    )
    is_nobody = is_figure or echoes or is_number or is_title or _names_a_place(whole)
    return asks_who and not whole.form.group and bool(whole.form.targets) and is_nobody


def _names_a_place(whole: Whole) -> bool:
    """ "Who works in Nice?": what is shown is nothing that was named, and others who have a name belong to it."""
    index = whole.sketch.index
    shown = {target.column.table for target in whole.form.targets if target.column is not None}
    # Who has a first and a last name is somebody.
    shown = {table for table in shown if len(labels(index, table)) == 1}
    named = {whole.sketch.table(place) for place in range(len(whole.sketch.nodes))}
    belonging = {
        edge.source
        for table in shown - named
        for edge in index.graph.edges_of(table)
        if edge.target == table and edge.source != table
    }
    return any(labels(index, table) != key_columns(index, table) for table in belonging)


def shows_others(whole: Whole) -> bool:
    """Return whether "which owners ..." shows nothing of owners: what is asked for stands right behind."""
    sketch, targets = whole.sketch, whole.form.targets
    head = sketch.table(1)
    asks = bool(sketch.nodes) and sketch.op(0) is Op.SHOW and sketch.nodes[0].text.lower() in {"which", "what"}
    asks = asks and all(node.op is not Op.SHOW for node in sketch.nodes[1:])
    if head is None or not asks or not targets or sketch.chinese:
        return False
    behind = sketch.nodes[2] if len(sketch.nodes) > 2 else None
    # "Which listeners subscribed to ..." asks for no day on which they did.
    is_deed = behind is not None and behind.text.lower().endswith("ed")
    if behind is not None and not is_deed and (behind.kind in (NodeKind.LINK, NodeKind.MARK) or behind.op is not None):
        return False
    # "Which employees work in Paris and smoke" asks for no flag.
    are_flags = all(target.column is not None and sketch.is_flag(target.column) for target in targets)
    own = {head, *sketch.same_rows(head)}
    return are_flags or all(target.aggregate is None and target.home not in own for target in targets)


def lacks_row_by_row(whole: Whole) -> bool:
    """ "Which countries have parks but no visitors": of one row of a country there may be none, and of another some."""
    sketch, form = whole.sketch, whole.form
    head = sketch.after(0)
    column = sketch.column(head) if sketch.op(0) is Op.SHOW else None
    asks = (
        head is not None
        and head + 1 < len(sketch.nodes)
        and sketch.nodes[head + 1].text.lower() in ("have", "has", "had")
    )
    if sketch.chinese or column is None or not asks or {target.column for target in form.targets} != {column}:
        return False
    own = {*labels(sketch.index, column.table), *key_columns(sketch.index, column.table)}
    return column not in own and _denies_rows(form, column)


def _denies_rows(form: Form, head: ColumnRef) -> bool:
    """Whether a form, or one within it, denies rows by anything but what is asked for."""
    inside = [condition for condition in form.where if isinstance(condition, Membership)]
    return any((item.negated and item.left != head) or _denies_rows(item.form, head) for item in inside)


def contradicts(whole: Whole) -> bool:
    """Return whether no row can meet a reading's conditions."""
    return are_contradictory(whole.form.where)


def names_no_person(whole: Whole) -> bool:
    """Return whether "who has never been assigned" names what nobody was assigned to, where others are persons."""
    sketch = whole.sketch
    asks = bool(sketch.nodes) and sketch.nodes[0].text.lower().split(" ")[0] == "who"
    persons = {table for table, _ in sketch.index.names_of_persons}
    shown = {target.column.table for target in whole.form.targets if target.column is not None}
    lacks = any(isinstance(condition, Membership) and condition.negated for condition in whole.form.where)
    # "Who still has a book" is not answered by all the books.
    says_nothing = not whole.form.where and not whole.form.limit and not whole.form.having
    return asks and (lacks or says_nothing) and bool(persons) and bool(shown) and shown.isdisjoint(persons)


def drops_each(whole: Whole) -> bool:
    """Return whether one figure of all was read where each of several has its own."""
    form, sketch = whole.form, whole.sketch
    figures = {target.aggregate for target in form.targets}
    one = bool(figures) and None not in figures and figures.isdisjoint({Aggregate.RATE, Aggregate.SHARE})
    parted = [sketch.table(sketch.after(place)) for place, node in enumerate(sketch.nodes) if node.op is Op.EACH]
    homes = {target.home for target in form.targets}
    # There is one row of each of what is counted: "records of each pilot" are no number of all records.
    rows = {target.home for target in form.targets if target.aggregate is Aggregate.COUNT and target.column is None}
    return (
        one and not form.group and any(table is not None and (table not in homes or table in rows) for table in parted)
    )


def lacks_beside_its_own_day(whole: Whole) -> bool:
    """ "罚款没有支付": the day of that is one of the fine's own, whatever else was paid by whom it was for."""
    sketch = whole.sketch
    for place, absence in sketch.absences:
        if not isinstance(absence, Membership):
            continue
        own = absence.left.table
        links = (link for node in sketch.nodes[place : place + 2] for link in node.candidates if link.table == own)
        days = (ColumnRef(own, link.column) for link in links if link.column is not None and link.value is None)
        if any(sketch.kind(day) in TEMPORAL for day in days):
            return True
    return False


def passes_over_clause(whole: Whole) -> bool:
    """Return whether less is shown than was asked for: "who are they and where do they come from" asks for two things.

    So does "what is it about, and when was it": nothing that is read stands for what something is about.
    """
    sketch, form = whole.sketch, whole.form
    if sketch.chinese or form.everything is not None or not sketch.nodes:
        return False
    said = [node.text.lower() for node in sketch.nodes]
    # "Parcels posted in 2025, how many?", "of all claims, what was the first": nothing was asked before.
    asks_first = sketch.op(0) is not None or said[0] in _ASKING_WORDS
    asked = [
        place + 1
        for place, node in enumerate(sketch.nodes[:-1])
        if (node.op is Op.AND or (node.text == "," and asks_first))
        and (said[place + 1].split(" ")[0] in _ASKING_WORDS or _asks_who_is(sketch, place + 1))
    ]
    # "Schools with their mascots and where they are": nothing behind the last "and" is read.
    nothing_read = any(
        not (asks_first and sketch.taken[place])
        and all(node.kind is not NodeKind.LINK for node in sketch.nodes[place:])
        for place in asked
    )
    ends = (place for place, text in enumerate(said) if text == "about")
    about = said[0].startswith("what") and any(_ends_clause(sketch, place) for place in ends)
    return nothing_read or about or (bool(asked) and asks_first and len(form.targets) <= len(asked))


def _asks_who_is(sketch: Sketch, place: int) -> bool:
    """Whether "and who is the client" begins: a thing, where "and who are older" speaks of the same rows."""
    words = [node.text.lower() for node in sketch.nodes[place : place + 2]]
    is_who = " ".join(words).startswith(_WHO_IS)
    return is_who and sketch.table(sketch.after(place)) is not None


_WHO_IS: Final = ("who is", "who are", "who was", "who were")


def _ends_clause(sketch: Sketch, place: int) -> bool:
    behind = sketch.nodes[place + 1] if place + 1 < len(sketch.nodes) else None
    return behind is None or behind.kind is NodeKind.MARK or behind.op is Op.AND


_ASKING_WORDS: Final = frozenset({"where", "when", "since", "why", "what", "how"})


def shows_whose_it_is(whole: Whole) -> bool:
    """Return whether "whose role is HR" is answered by the role, and not by those who have it."""
    sketch, targets = whole.sketch, whole.form.targets
    asks = bool(sketch.nodes) and sketch.nodes[0].text.lower() == "whose"
    owned = sketch.table(sketch.after(0)) if asks else None
    return owned is not None and bool(targets) and all(target.home == owned for target in targets)


def lacks_what_it_shows(whole: Whole) -> bool:
    """Return whether rows of a table are shown of those that have no such row: "ships without a captain" have no rank."""
    read = set(tables_of(whole.form))
    return any(
        isinstance(condition, Membership)
        and condition.negated
        and all(isinstance(part, Comparison) and part.operator is Operator.NOT_NULL for part in condition.form.where)
        and not condition.form.having
        and (
            set(tables_of(condition.form)) <= read - {condition.left.table}
            or (condition.form.targets[0].column == condition.left and len(tables_of(condition.form)) == 1)
        )
        for condition in whole.form.where
    )


def is_mutual(whole: Whole) -> bool:
    """Return whether rows were to be compared with themselves: who follow each other, who commented on their own posts."""
    said = " ".join(node.text.lower() for node in whole.sketch.nodes)
    return any(mutual in said for mutual in _MUTUAL)


_MUTUAL: Final = ("each other", "one another", "their own", "his own", "her own", "its own", "themselves")


def names_the_named(whole: Whole) -> bool:
    """Return whether who is asked for is who was named: "which members commented on posts by Ann" do not ask for Ann."""
    shown = {target.column for target in whole.form.targets}
    said = {
        one.left.column
        for condition in whole.form.where
        for one in (condition.conditions if isinstance(condition, AnyOf) else (condition,))
        if isinstance(one, Comparison) and one.operator is Operator.EQUAL and isinstance(one.right, Literal)
    }
    return not shown.isdisjoint(said) and any(isinstance(condition, Membership) for condition in whole.form.where)


def asks_where(whole: Whole) -> bool:
    """Return whether it is asked where, and names alone were read: "where do the trips start"."""
    nodes = whole.sketch.nodes
    return bool(nodes) and nodes[0].text.lower() == "where" and not whole.sketch.targets


def differs_from_none(whole: Whole) -> bool:
    """Return whether rows that are another's were read where it is said that there are none: "ranks with no captain in class B"."""
    nodes, sketch = whole.sketch.nodes, whole.sketch
    denies = any(
        node.op is Op.NOT and node.text.lower() in NONE_OF and sketch.table(place + 1) is not None
        for place, node in enumerate(nodes)
    )
    differs = any(isinstance(item, Comparison) and item.operator is Operator.UNEQUAL for item in whole.form.where)
    is_absent = any(isinstance(item, Membership) and item.negated for item in whole.form.where)
    return denies and differs and not is_absent


def names_another_agent(whole: Whole) -> bool:
    """Return whether a value behind "directed by" was read of anything but directors, though there are such."""
    nodes, sketch = whole.sketch.nodes, whole.sketch
    for place in range(2, len(nodes)):
        value = sketch.value(place)
        if value is None or nodes[place - 1].op is not Op.BY:
            continue
        words = doers_of(nodes[place - 2].text.lower().split()[-1])
        agents = {table for word in words for table in sketch.index.called_by(word)}
        if agents and sketch.index.real(value.table) not in {sketch.index.real(table) for table in agents}:
            return True
    return False


def lives_nowhere(whole: Whole) -> bool:
    """Return whether it was passed over where something is: 住在家里的学生, where nothing is known as 家里."""
    nodes = whole.sketch.nodes
    return whole.sketch.chinese and any(
        node.text in _PLACED
        and not following.candidates
        and following.text != "的"
        and (following.kind is NodeKind.STOP or following.op is Op.UNIT)
        for node, following in pairwise(nodes)
    )


def takes_another_part(whole: Whole) -> bool:
    """ "Climbers who took part in two expeditions", counted by those that they led, where others took part as well."""
    sketch, index, tables = whole.sketch, whole.sketch.index, tables_of(whole.form)
    if len(tables) != 2 or sketch.chinese:
        return False
    words = {word for node in sketch.nodes for word in node.text.lower().split()}
    said = words.union(*(doers_of(word) for word in words))
    roles = [
        _role_of(whole, edge) for edge in index.graph.edges_of(tables[0]) if {edge.source, edge.target} == set(tables)
    ]
    brings_together = (
        {edge.target for edge in index.graph.edges_of(table) if edge.source == table} >= set(tables)
        for table in range(len(index.catalog.tables))
        if table not in tables
    )
    return len(roles) == 1 and bool(roles[0]) and said.isdisjoint(roles[0]) and any(brings_together)


def passes_over_predicate(whole: Whole) -> bool:
    """ "Which parcels are sent?", answered by all parcels: what they are said to be was read as no more than a verb."""
    nodes, form = [node for node in whole.sketch.nodes if node.kind is not NodeKind.MARK], whole.form
    if (
        whole.sketch.chinese
        or len(nodes) < _PREDICATE_NODES_MIN
        or form.where
        or form.having
        or form.limit
        or form.combined
    ):
        return False
    verb = nodes[-1].text.lower()
    is_verb = nodes[-1].kind is NodeKind.STOP and verb in lexicon().verbs and nodes[-2].text.lower() in _COPULAS
    # "The halls where they are given".
    is_verb = is_verb and nodes[-3].text.lower() != "they"
    # "How many patients are registered", where nothing is called a registration.
    is_kept = verb in _KEPT and all(stem(word) != stem(verb) for word in whole.sketch.index.own)
    is_verb = is_verb and not is_kept
    # "How many votes are recorded", of a table of voting records.
    own = {stem(word) for table in tables_of(form) for word in name_words(whole.sketch.index.table(table).name)}
    are_figures = any(target.aggregate in (Aggregate.MAXIMUM, Aggregate.MINIMUM) for target in form.targets)
    return is_verb and stem(verb) not in own and not (form.group or form.order or are_figures)


_PREDICATE_NODES_MIN: Final = 3
_KEPT: Final = frozenset({"registered", "recorded", "listed", "stored"})
_COPULAS: Final = frozenset({"is", "are", "was", "were"})


def _role_of(whole: Whole, edge: Edge) -> set[str]:
    """Return the words by which a key says in which role it refers to rows: a leader, none for a `climber_id`."""
    called = {
        word for name in (*edge.target_columns, whole.sketch.index.table(edge.target).name) for word in name_words(name)
    }
    return {word for name in edge.source_columns for word in name_words(name)} - lexicon().key_words - called


_PLACED: Final = frozenset({"住在", "居住在", "位于", "来自", "坐落在", "就读于", "任职于"})


def joins_for_nothing(whole: Whole) -> bool:
    """Whether rows are named that nothing is shown of, and nothing depends on: "each loan with the lender", "and at which museum"."""
    sketch = whole.sketch
    used = {column.table for column in columns_of(whole.form)}
    joined = set(tables_of(whole.form)) - used
    for place in range(2, len(sketch.nodes)):
        before = [node.text.lower() for node in sketch.nodes[place - 2 : place]]
        is_beside = before == ["with", "the"] or (sketch.op(place - 1) is Op.SHOW and sketch.op(place - 2) is Op.AND)
        if is_beside and sketch.table(place) in joined and sketch.op(0) is Op.SHOW:
            return True
    return False


def goes_by_any_key(whole: Whole) -> bool:
    """ "Teams that have a match in May", where a match has a home team and an away team: which of the two was chosen by nobody."""
    index, hints = whole.sketch.index, hints_of(whole.sketch.nodes)
    for item in whole.form.where:
        inner = item.form.targets[0].column if isinstance(item, Membership) else None
        if not isinstance(item, Membership) or inner is None:
            continue
        if item.negated:
            if inner.table == item.left.table and inner != item.left:
                return True  # what one key leads to is not denied of the other
            continue
        name = index.column(inner.table, inner.column).name
        keys = index.graph.between(index.real(inner.table), index.real(item.left.table))
        taken = [edge for edge in keys if [one.lower() for one in edge.source_columns] == [name.lower()]]
        if taken and index.graph.rival_keys(taken[0], hints):
            return True
    return False


def dates_by_another(whole: Whole) -> bool:
    """发布日期 is the day on which something was released, and no day of anything else."""
    sketch = whole.sketch
    verbs = lexicon().verbs
    return any(
        sketch.chinese
        and len(node.text) > 1
        and node.kind is NodeKind.STOP
        and node.text in verbs
        and sketch.nodes[place + 1].text in _DAYS_ZH
        and sketch.column(place + 1) is not None
        for place, node in enumerate(sketch.nodes[:-1])
    )


_DAYS_ZH: Final = frozenset({"日期", "时间", "年份", "年", "月份", "日"})


def answers_one_of_two(whole: Whole) -> bool:
    """金额是多少，捐赠者是谁 asks two things."""
    asked = [node.text for node in whole.sketch.nodes if node.text in _ASKS_ZH]
    return len(asked) > 1 and len(whole.form.targets) == 1 and whole.form.everything is None


_ASKS_ZH: Final = frozenset(
    {"是多少", "是谁", "是什么", "有多少", "叫什么", "叫什么名字", "是哪个", "是哪里", "在哪里"}
)


def shows_less_common(whole: Whole) -> bool:
    """ "The most common reasons for a visit" are reasons: another column of the rows is not what occurs most often."""
    sketch = whole.sketch
    shown = {target.column for target in whole.form.targets}
    commons = (
        sketch.column(place + 1)
        for place, node in enumerate(sketch.nodes[:-1])
        if node.op in (Op.COMMON, Op.RARE) and not sketch.chinese
    )
    return whole.form.limit is not None and any(
        column is not None and column in whole.form.group and column not in shown for column in commons
    )


def reaches_afar(whole: Whole) -> bool:
    """ "What did Acme pay": no wage of drivers who once drove for them; another word for a column, of rows far from what is named."""
    sketch, graph = whole.sketch, whole.sketch.index.graph
    picks = sketch.assignment.picks
    if any(sketch.table(place) is not None or pick.with_table for place, pick in picks.items()):
        return False
    shown = {target.column for target in whole.form.targets}
    named = {pick.table for pick in picks.values() if pick.value is not None}

    def near(tables: set[int]) -> set[int]:
        edges = (edge for table in tables for edge in graph.edges_of(table))
        return tables | {end for edge in edges for end in (edge.source, edge.target)}

    return any(
        pick.column is not None
        and pick.value is None
        and pick.score < _OWN_WORD_MIN
        and ColumnRef(pick.table, pick.column) in shown
        and not near(near({pick.table})) & named
        for pick in picks.values()
        if named - {pick.table}
    )


_OWN_WORD_MIN: Final = 0.85


MISNAMED: Final[tuple[Rule, ...]] = (
    asks_where,
    joins_for_nothing,
    contradicts,
    differs_from_none,
    lives_nowhere,
    drops_each,
    goes_by_any_key,
    dates_by_another,
    answers_one_of_two,
    is_mutual,
    lacks_beside_its_own_day,
    lacks_what_it_shows,
    names_another_agent,
    lacks_row_by_row,
    names_no_person,
    names_nobody,
    names_the_named,
    passes_over_clause,
    passes_over_predicate,
    reaches_afar,
    shows_less_common,
    shows_others,
    shows_whose_it_is,
    takes_another_part,
)
