"""What superlatives speak of: figures or times, the rows or the figure itself, and which way round."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from querybus.core.catalog import ColumnKind
from querybus_translator.language.clauses import OPERATORS
from querybus_translator.language.lexicon import ADJECTIVES, Concept, Op, lexicon
from querybus_translator.language.stems import base_form
from querybus_translator.schema.labels import key_columns, labels
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import Aggregate, ColumnRef, Comparison, Literal, Measure, Operator
from querybus_translator.writing.sketch import LASTING_WORDS, TEMPORAL, Placed, Ranking, Sketch

LASTING: Final = frozenset({"take", "takes", "took", "taken", "last", "lasts", "lasted"})
"""Verbs that ask how long, and never how far."""


def takes_time(sketch: Sketch, place: int) -> bool:
    """Whether a verb of lasting stands right before: "took longest"."""
    return place > 0 and sketch.nodes[place - 1].text.lower() in LASTING


def is_lasting(sketch: Sketch, column: ColumnRef) -> bool:
    """Whether a figure says how long something took, and not how far it is or how thick."""
    return not sketch.words_of(column).isdisjoint(LASTING_WORDS)


def are_several(sketch: Sketch, place: int, following: int | None) -> bool:
    """ "Newest members": the superlative stands alone before several, of whom one would be no answer."""
    noun = "" if following is None else sketch.nodes[following].text.lower()
    opens = all(node.kind is NodeKind.STOP or node.op is Op.SHOW for node in sketch.nodes[:place])
    return opens and not sketch.chinese and sketch.table(following) is not None and base_form(noun) != noun


HEIGHTS = ("highest", "lowest", "最高", "最低", "最高的", "最低的")
SIZES = ("largest", "biggest", "greatest", "smallest")


def is_said_of(sketch: Sketch, previous: int | None, place: int) -> bool:
    """ "Whose price is the highest", "is rated best": the column stands right before, or a form of "to be" between."""
    between = sketch.nodes[(previous or 0) + 1 : place]
    if previous is not None and not between and sketch.nodes[previous].text.lower().endswith("ed"):
        return True
    words = {node.text.lower() for node in between}
    return bool(words & {"is", "are", "was", "were"}) and not words & {"of", "in", "for"}


def ranks(sketch: Sketch, column: ColumnRef) -> bool:
    """Whether rows can be ranked by a column: figures and times, not texts that merely stand beside the superlative."""
    is_figure = sketch.is_numeric(column) and not sketch.is_key(column)
    return is_figure or column in sketch.time_columns(column.table) or holds_clocks(sketch, column)


def holds_clocks(sketch: Sketch, column: ColumnRef) -> bool:
    """Whether a text is a time of the day, written so that it sorts as one: 09:30."""
    values = sketch.index.column(column.table, column.column).values
    return sketch.kind(column) is ColumnKind.TIME or (bool(values) and all(map(_CLOCK.fullmatch, values)))


_CLOCK: Final = re.compile(r"[0-2]\d:[0-5]\d(?::[0-5]\d)?")


def is_of_time(sketch: Sketch, place: int) -> bool:
    """Whether a superlative speaks of when: the latest, the newest, the first."""
    speaks = sketch.op(place) in ADJECTIVES or sketch.nodes[place].text.lower().endswith("first")
    return speaks and any("date" in concept.of for concept in concepts_of(sketch, place))


def newest(sketch: Sketch, table: int, found: tuple[ColumnRef, bool] | None) -> tuple[ColumnRef, bool] | None:
    """The newest guests are those who came last, and not the youngest."""
    columns = [column for column in sketch.time_columns(table) if not sketch.is_birthday(column)]
    # "The first episode of a show" is not of the show that came first.
    is_own = found is not None and (found[0].table == table or not columns)
    if found is not None and is_own and not sketch.is_birthday(found[0]):
        return found
    return (columns[0], False) if columns else found


def names_rows(sketch: Sketch, place: int, named: int | None) -> bool:
    """Whether an adjective stands before the very name of a table, which a column merely resembles."""
    pick = sketch.pick(named)
    if named is None or pick is None or sketch.op(place) not in ADJECTIVES or pick.score >= SAID_MIN:
        return False
    return any(one.column is None and one.score >= EXACT_MIN for one in sketch.nodes[named].candidates)


SAID_MIN = 0.9


EXACT_MIN = 0.99


def says_when(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    words = sketch.words_of(column)
    meant = {word for concept in concepts_of(sketch, place) for word in concept.of}
    return (
        sketch.kind(column) in TEMPORAL
        or holds_clocks(sketch, column)
        or not words.isdisjoint(meant | {"month", "年份", "时间", "日期"})
    )


def is_other_kind(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """ "The latest review" is no rating, "the oldest booking" no time of booking, and no day is high."""
    is_high = sketch.nodes[place].text.lower().endswith(HEIGHTS)
    is_other = is_of_time(sketch, place) and not says_when(sketch, place, column)
    return is_other or (is_high and sketch.kind(column) in TEMPORAL)


def ends_question(sketch: Sketch, place: int) -> bool:
    return all(
        node.kind in {NodeKind.STOP, NodeKind.MARK} or node.op in {Op.SHOW, Op.EQUAL}
        for node in sketch.nodes[place + 1 :]
    )


def is_direct(sketch: Sketch, place: int) -> bool:
    """Whether the superlative itself is asked for ("what is the highest price"), not rows that have it."""
    if not sketch.asked[place]:
        return False
    if sketch.chinese and any(node.text in _HOW_MUCH for node in sketch.nodes[place:]):
        return True
    first, other = place, sketch.before(place)
    if other is not None and sketch.nodes[other].text.lower() in lexicon().ordinals:
        # "What is the second highest price".
        first, other = other, sketch.before(other)
    if other is None:
        return all(node.kind is NodeKind.STOP for node in sketch.nodes[:first])
    figures = {Op.AVERAGE, Op.MAXIMUM, Op.MINIMUM, Op.SUM}
    listed = sketch.before(other) if sketch.op(other) is Op.AND else None
    return sketch.op(other) in {Op.SHOW, *figures} or sketch.op(listed) in figures or sketch.column(listed) is not None


_HOW_MUCH = frozenset({"是多少", "多少"})


def is_reversed(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """Whether more of an adjective means less of the column: the oldest by founding year is the earliest."""
    words = sketch.words_of(column)
    if sketch.nodes[place].text.lower().split()[-1] in _AS_JUDGED and _is_best_least(sketch, column):
        # The best finish time is the shortest, the best position the first.
        return True
    for concept in concepts_of(sketch, place):
        if any(words & sketch.index.similar(item).keys() for item in concept.of):
            return False
        if any(words & sketch.index.similar(item).keys() for item in concept.against):
            return True
        if "duration" in concept.against and is_lasting(sketch, column):
            return True
    return False


def is_judged(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """ "The fastest finish time", "the best position": the least of them, by a column that is named."""
    return _is_best_least(sketch, column) and is_reversed(sketch, place, column)


def _is_best_least(sketch: Sketch, column: ColumnRef) -> bool:
    """Whether the least of a figure is the best: how long something took, in which place somebody came."""
    return is_lasting(sketch, column) or not sketch.words_of(column).isdisjoint(_STANDINGS)


_AS_JUDGED: Final = frozenset({"best", "worst"})
_STANDINGS: Final = frozenset({"position", "rank", "ranking", "place", "standing"})


def concepts_of(sketch: Sketch, place: int) -> tuple[Concept, ...]:
    node = sketch.nodes[place]
    if node.phrase is not None and node.op in ADJECTIVES:
        return node.phrase.concepts
    words = tuple(item for item in node.text.lower().split() if item != "the")
    phrases = lexicon().english.get(words, ()) or lexicon().chinese.get(node.text.removesuffix("的"), ())
    return tuple(concept for phrase in phrases if phrase.op in ADJECTIVES for concept in phrase.concepts)


def kinds_of(sketch: Sketch, table: int) -> int | None:
    """Return the only table with names that rows refer to which have no name of their own."""
    index = sketch.index
    if labels(index, table) != key_columns(index, table):
        return None
    referred = {edge.target for edge in index.graph.edges_of(table) if edge.source == table and edge.to_one}
    named = [other for other in referred - {table} if labels(index, other) != key_columns(index, other)]
    return named[0] if len(named) == 1 else None


def is_used(sketch: Sketch, named: int | None, place: int) -> bool:
    """Whether a passive stands between what is named and the superlative: "is used", "was treated"."""
    words = [node.text.lower() for node in sketch.nodes[(named or 0) + 1 : place]]
    is_passive = len(words) == 2 and words[0] in {"is", "are", "was", "were", "gets"}
    return is_passive and (words[1].endswith("ed") or words[1] in lexicon().verbs)


def asks_which(sketch: Sketch, place: int, home: int) -> bool:
    """Whether other rows than those of a figure are asked for before a place: "which crop", and not how big its harvest was."""
    return any(
        node.op is Op.SHOW and node.text.lower() == "which" and sketch.table(number + 1) not in (None, home)
        for number, node in enumerate(sketch.nodes[:place])
    )


def lasts(sketch: Sketch, place: int) -> bool:
    """Whether a superlative speaks of how long something takes: the longest, the shortest."""
    return any("duration" in concept.of for concept in concepts_of(sketch, place))


def is_compared(sketch: Sketch, place: int) -> bool:
    """ "Whose highest price is above 50", "a budget above the highest price": a figure to compare, which ranks nothing."""
    op = sketch.op(sketch.after(sketch.after(place), over=(Op.EQUAL,)))
    is_figure = sketch.op(place) in _OF_FIGURES and sketch.is_numeric(sketch.column(sketch.after(place)))
    is_measure = sketch.op(sketch.before(place)) in _THAN
    return is_figure and (is_measure or (op in OPERATORS and not sketch.asked[place]))


_THAN: Final = frozenset({Op.GREATER, Op.LESS, Op.AT_LEAST, Op.AT_MOST})
_OF_FIGURES = frozenset({Op.MAXIMUM, Op.MINIMUM, Op.HIGHEST, Op.LOWEST})


def is_first(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """Whether the first by a day is meant: "the first complaint" is the earliest one."""
    is_time = sketch.kind(column) in TEMPORAL or column in sketch.time_columns(column.table)
    return sketch.op(place) is Op.HIGHEST and sketch.nodes[place].text.lower().endswith("first") and is_time


def is_said_again(sketch: Sketch, place: int) -> bool:
    """ "The top 3 most common colleges": the second superlative says by what, and takes the number. Takes the first."""
    figure = sketch.after(place)
    is_again = sketch.op(place) is Op.HIGHEST and sketch.number(figure) is not None and figure == place + 1
    if is_again and sketch.op(sketch.after(figure)) in _BY_WHAT:
        sketch.take(place)
        return True
    return False


_BY_WHAT = frozenset({Op.COMMON, Op.RARE, Op.MOST, Op.FEWEST, Op.ADJECTIVE_MOST, Op.ADJECTIVE_LEAST})


def is_done(sketch: Sketch, place: int) -> bool:
    """Whether a verb stands right before a superlative: "earns the most"."""
    return place > 0 and not sketch.chinese and sketch.nodes[place - 1].text.lower() in lexicon().verbs


def doer(sketch: Sketch, place: int, table: int) -> ColumnRef | None:
    """ "Who wrote the most plays": the column of the plays that is called after the one who does it, their writer or author.

    "Who did the most inspections": whose name they have, an `inspector_name`.
    """
    asks = sketch.nodes[0]
    verb = base_form(sketch.nodes[place - 1].text.lower()) if place else ""
    if sketch.chinese or asks.op is not Op.SHOW or asks.text.lower() not in {"who", "who has", "who have"} or place > 3:
        return None
    agents = [verb + ending for ending in ("er", "or", "r")] + [verb.removesuffix("e") + "or"]
    close = {word for agent in agents for word in sketch.index.similar(agent)}
    texts = [
        ColumnRef(table, number)
        for number, column in enumerate(sketch.index.table(table).columns)
        if column.kind is ColumnKind.TEXT
    ]
    names = {text: sketch.index.entry_of_column(table, text.column).names for text in texts}
    columns = [text for text in texts if any(name[-1] in close for name in names[text])]
    own = sketch.index.table_words[table]
    columns = columns or [
        text
        for text in texts
        if any(name[1:] == ("name",) and name[0].endswith(("er", "or")) and name[0] not in own for name in names[text])
    ]
    return columns[0] if len(columns) == 1 else None


def stands_apart(sketch: Sketch, place: int, following: int | None) -> bool:
    """ "Most common across products": the products are where it is counted, not what is common."""
    between = sketch.nodes[place + 1 : following]
    return not sketch.chinese and any(
        node.kind is NodeKind.STOP and node.text.lower() not in {"the", "a"} for node in between
    )


_NTH_MAX: Final = 5


def ordinal_before(sketch: Sketch, place: int) -> int:
    """Take the word before "the second highest", and return its number; 1 where there is none."""
    other = sketch.before(place)
    number = sketch.number(other)
    is_ordinal = other is not None and sketch.nodes[other].text.lower() in lexicon().ordinals
    if not is_ordinal or not isinstance(number, int) or not 1 < number <= _NTH_MAX or not sketch.is_free(other):
        return 1
    sketch.take(other)
    return number


def is_of_row(sketch: Sketch, place: int) -> bool:
    """ "The model with the highest consumption", "the first lesson": a row, where that can be ranked, and no figure of each."""
    is_first = sketch.nodes[place].text.lower().endswith("first") and not sketch.chinese
    return sketch.op(place) in {Op.HIGHEST, Op.LOWEST} and (is_first or sketch.op(sketch.before(place)) is Op.RELATIVE)


def behind_others(sketch: Sketch, first: int, nth: int) -> None:
    """Note that what was ranked is not the first of its kind; the figure itself is asked for where nothing else is."""
    for number, ranking in enumerate(sketch.rankings[first:], first):
        if ranking.direct and ranking.by is not None:
            sketch.targets.append((ranking.place, ranking.by))
        sketch.rankings[number] = replace(ranking, nth=nth, direct=False)
    # What is not one row, and groups that tie, have no second.
    sketch.doubts += 0.0 if len(sketch.rankings) > first else 1.0


def doubts_of_several(rankings: Sequence[Ranking]) -> float:
    """ "The oldest and the youngest": only one of several superlatives orders the rows, least of all where they are opposites."""
    if len(rankings) < 2:
        return 0.0
    return 0.3 if len({ranking.descending for ranking in rankings}) == 1 else 0.6


def has_own_figure(sketch: Sketch, place: int, ranked: int) -> bool:
    """ "The supplier of the cheapest product": by its price, whatever else of products adds up."""
    concepts, table = concepts_of(sketch, place), sketch.table(ranked)
    found = sketch.concept_column(concepts, place, (table,)) if concepts else None
    return (
        found is not None
        and found[0].table == table
        and not sketch.nodes[place].text.lower().endswith((*HEIGHTS, *SIZES))
    )


def ranked_on_average(sketch: Sketch) -> None:
    """ "Which brand is the most expensive on average": by the average of its figures, and not by the highest single one."""
    said = [place for place in sketch.free_places(Op.AVERAGE) if sketch.nodes[place].text.lower() == "on average"]
    if len(said) != 1 or len(sketch.rankings) != 1:
        return
    ranking = sketch.rankings[0]
    by = ranking.by
    if by is None or by.column is None or by.aggregate is not None or not sketch.is_numeric(by.column):
        return
    sketch.take(*said)
    sketch.rankings[0] = replace(ranking, by=Measure(by.column, Aggregate.AVERAGE), direct=False)


def first_of_sorted(sketch: Sketch) -> None:
    """ "The first 5 recipes in ascending order of calories": so many rows, in the order that is said."""
    if not any(node.op in _SORTING for node in sketch.nodes):
        return
    for place, node in enumerate(sketch.nodes):
        figure = sketch.after(place)
        number = sketch.number(figure)
        if node.text.lower() in _FIRST and isinstance(number, int) and sketch.is_free(figure):
            sketch.take(place, figure)
            sketch.limit = number
            return


_FIRST: Final = frozenset({"first", "the first"})
_SORTING: Final = frozenset({Op.ORDER, Op.ASCENDING, Op.DESCENDING})


def number_of_rows(sketch: Sketch) -> None:
    """ "The 5 members who have the most orders": the number stands before what is ranked."""
    if len(sketch.rankings) != 1 or sketch.rankings[0].count != 1:
        return
    for place, node in enumerate(sketch.nodes):
        following = sketch.after(place)
        if sketch.taken[place] or not isinstance(node.number, int) or not 1 < node.number <= ROWS_MAX:
            continue
        opens = place == 0 or sketch.nodes[place - 1].text.lower() in {"the", "top"} or sketch.op(place - 1) is Op.SHOW
        if opens and place < sketch.rankings[0].place and sketch.table(following) is not None:
            sketch.take(place)
            sketch.rankings[0] = replace(sketch.rankings[0], count=node.number, direct=False)
            return


ROWS_MAX: Final = 1_000


def _names_its_rows(sketch: Sketch, place: int | None) -> bool:
    """Whether a link says a column and the rows that have it: "populous nation"."""
    pick = sketch.pick(place)
    if place is None or pick is None or not pick.with_table:
        return False
    last = base_form(sketch.nodes[place].text.lower().split()[-1])
    words = {word for name in sketch.index.entry_of_column(pick.table, pick.column or 0).names for word in name}
    return last in sketch.index.table_words[pick.table] and last not in words


def rank_by_column(sketch: Sketch, places: tuple[int, int], column: ColumnRef, *, descending: bool, count: int) -> None:
    """Rank by the column behind "most": by its figure, or by how many have it; of a flag by how many of which it is said."""
    place, following = places
    pick = sketch.pick(following)
    sketch.take(place, following)
    if pick is not None and pick.with_table and sketch.is_flag(column):
        # "The most official languages": so many of which are official.
        yes, _ = sketch.flag_values(column) or (1, 0)
        sketch.conditions.append(Placed(following, Comparison(Measure(column), Operator.EQUAL, Literal(yes))))
        sketch.rankings.append(Ranking(place, None, descending, count, counted=column.table))
    elif sketch.is_numeric(column) and not sketch.is_key(column):
        # "The most populous nation" is a nation.
        direct = is_direct(sketch, place) and not _names_its_rows(sketch, following)
        sketch.anchor = column.table if is_direct(sketch, place) and not direct else sketch.anchor
        sketch.rankings.append(Ranking(place, Measure(column), descending, count, direct=direct))
    else:
        # "The most horsepower", of texts: how much, and not how many; languages are counted.
        last = sketch.nodes[following].text.lower().split()[-1]
        is_amount = sketch.kind(column) is ColumnKind.TEXT and not sketch.chinese and base_form(last) == last
        sketch.doubts += 1.0 if is_amount else 0.0
        sketch.rankings.append(Ranking(place, Measure(column, Aggregate.COUNT), descending, count))
