"""What the readers of conditions share: which phrase compares how, what negates, what a figure may belong to.

Nothing here reads a condition by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from querybus_translator.language.lexicon import ADJECTIVES, Concept, Op, lexicon
from querybus_translator.language.stems import stem
from querybus_translator.schema.labels import labels
from querybus_translator.writing.form import Aggregate, ColumnRef, Comparison, Form, Literal, Measure, Operator
from querybus_translator.writing.sketch import TEMPORAL, Placed, Sketch

OPERATORS = {
    Op.GREATER: Operator.GREATER,
    Op.AT_LEAST: Operator.AT_LEAST,
    Op.LESS: Operator.LESS,
    Op.AT_MOST: Operator.AT_MOST,
    Op.EQUAL: Operator.EQUAL,
    Op.UNEQUAL: Operator.UNEQUAL,
    Op.AFTER: Operator.GREATER,
    Op.BEFORE: Operator.LESS,
    Op.SINCE: Operator.AT_LEAST,
    Op.ADJECTIVE_MORE: Operator.GREATER,
    Op.ADJECTIVE_LESS: Operator.LESS,
    Op.OR_MORE: Operator.AT_LEAST,
    Op.OR_LESS: Operator.AT_MOST,
}
JOINING = (Op.EQUAL, Op.NAMED, Op.NOT, Op.UNEQUAL)
UNITS = (Op.UNIT, Op.OLD)
TEMPORAL_OPS = frozenset({Op.AFTER, Op.BEFORE, Op.SINCE})


def negation_before(sketch: Sketch, place: int) -> int | None:
    """Return the place of a negation that stands directly before a node, or None; "but not" is one."""
    other = sketch.before(place, over=(Op.EQUAL, Op.NAMED))
    if sketch.op(other) is Op.BY and sketch.op(sketch.before(other)) is Op.BUT:
        # "By tankers but not by ferries".
        other = sketch.before(other)
    if other is None or sketch.taken[other]:
        return None
    denies = sketch.op(other) is Op.BUT and "not" in sketch.nodes[other].text.lower()
    return other if denies or sketch.op(other) in {Op.NOT, Op.UNEQUAL} else None


def add_condition(
    sketch: Sketch, place: int, left: Measure, operator: Operator, right: Literal | ColumnRef | Form
) -> None:
    negation = negation_before(sketch, place)
    if negation is not None:
        sketch.take(negation)
        operator = operator.opposite
    sketch.conditions.append(Placed(place, Comparison(left, operator, right)))


def says_key(sketch: Sketch, place: int | None) -> bool:
    """Return whether a link's own words name a key: "order id", 订单编号 — not merely the rows."""
    if place is None:
        return False
    words = lexicon()
    text = sketch.nodes[place].text.lower()
    return any(key_word in text for key_word in (*words.key_words, *words.related.get("number", ())))


def old_near(sketch: Sketch, figure: int) -> bool:
    return any(node.op is Op.OLD for node in sketch.nodes[max(0, figure - 2) : figure + 3])


def adjective_concepts(text: str) -> tuple[Concept, ...]:
    """Return what a comparing word compares; empty for words that are no adjectives."""
    key = tuple(text.lower().split())
    phrases = lexicon().english.get(key, ()) or lexicon().chinese.get(text, ())
    return tuple(concept for phrase in phrases if phrase.op in ADJECTIVES for concept in phrase.concepts)


def looks_like_year(number: int | float) -> bool:
    return isinstance(number, int) and 1500 <= number <= 2150


def take_units(sketch: Sketch, figure: int) -> Op | None:
    other = sketch.after(figure)
    result: Op | None = None
    while sketch.op(other) in UNITS and other is not None:
        result = sketch.op(other) if sketch.op(other) is Op.OLD else result
        sketch.take(other)
        other = sketch.after(other)
    mark = figure + 1
    if mark < len(sketch.nodes) and sketch.nodes[mark].text.lower() in _SAID_UNITS:
        sketch.take(mark)
    return result


_SAID_UNITS: Final = frozenset({"%", "years", "year"})
"""Of a figure, whatever else the word may be a column of: "older than ten years"."""


def is_temporal(sketch: Sketch, column: ColumnRef) -> bool:
    return sketch.kind(column) in TEMPORAL or column in sketch.time_columns(column.table)


def bound(sketch: Sketch, place: int, column: ColumnRef, operator: Operator, number: int | float) -> None:
    """Compare a column with a figure; of days a year is its first day, and what comes after it begins with the next."""
    if not (sketch.kind(column) in TEMPORAL and isinstance(number, int) and looks_like_year(number)):
        add_condition(sketch, place, Measure(column), operator, Literal(number))
        return
    year = number + (operator in {Operator.GREATER, Operator.AT_MOST})
    operator = {Operator.GREATER: Operator.AT_LEAST, Operator.AT_MOST: Operator.LESS}.get(operator, operator)
    add_condition(sketch, place, Measure(column), operator, Literal(f"{year:04d}-01-01"))


_FIGURES = frozenset({Op.COUNT, Op.SUM, Op.AVERAGE, Op.EACH, Op.MAXIMUM, Op.MINIMUM})


def time_column(sketch: Sketch, place: int) -> ColumnRef | None:
    """Return the column that a bare period is about: the nearest table's, if it has exactly one kind of time.

    Of what is counted or added up per something else, it is about what is counted: orders per store in May happened
    in May, whenever the store was opened.
    """
    tables = [table for table in sketch.tables_with_time(place) if sketch.time_columns(table)]
    described = sketch.table(sketch.after(place)) if sketch.chinese else None
    if described is not None and sketch.time_columns(described):
        # 2014年的演唱会: in Chinese what happened then stands right behind.
        tables.insert(0, described)
    if sketch.rankings or any(node.op in _FIGURES or node.op in (Op.BY, Op.EACH) for node in sketch.nodes):
        graph = sketch.index.graph
        counted = [table for table in tables if all(graph.is_many(other, table) for other in tables if other != table)]
        tables = [*counted, *tables]
    if not tables:
        return None
    # "Visits of patients from Leipzig in 2024": nobody means when they were born, where anything else has a day.
    tables.sort(key=lambda table: sketch.is_birthday(sketch.time_columns(table)[0]))
    result = sketch.time_columns(tables[0])
    done = [column for column in (*sketch.done.values(), *_done_in_chinese(sketch)) if column in result]
    if done:
        return done[0]
    elsewhere = _day_of_deed(sketch, place, result[0])
    if elsewhere is not None:
        return elsewhere
    sketch.doubts += 0.05 * (len(result) - 1)
    return _of_its_deed(sketch, place, result[0])


def _stems(*words: str) -> frozenset[str]:
    return frozenset(map(stem, words))


_HIRED: Final = _stems("hired", "employed", "recruited", "appointed")
_OPENED: Final = _stems("opened", "opens")
_CLOSED: Final = _stems("closed", "closes")
_NAMES_OF_DEEDS: Final = (
    (_HIRED, _HIRED | _stems("start", "started", "join", "joined", "entry", "begin", "since")),
    (_OPENED, _OPENED | _stems("open", "opening", "start", "founded", "established", "launch", "created", "built")),
    (
        _CLOSED,
        _CLOSED | _stems("close", "closing", "end", "ended", "finish", "finished", "resolved", "settled", "done"),
    ),
)
"""Deeds that change a row itself, and what a day of theirs may be called."""


def _names_of_deed(sketch: Sketch, place: int) -> frozenset[str]:
    """Return what the day of the deed that is said right before a time may be called; empty where none is said."""
    said = {stem(node.text.lower()) for node in sketch.nodes[max(0, place - 2) : place]}
    return next((names for deed, names in _NAMES_OF_DEEDS if said & deed), frozenset())


def _of_its_deed(sketch: Sketch, place: int, column: ColumnRef) -> ColumnRef:
    """ "Branches closed in 2020": no other day than that of the deed is meant, neither their opening nor that of their sales."""
    names, named = _names_of_deed(sketch, place), sketch.mentioned_tables()
    if not names:
        if _is_of_another_deed(sketch, place, column):
            sketch.doubts += 1.0
        return column
    days = [day for table in named for day in sketch.time_columns(table)]
    own = [day for day in days if names.intersection(map(stem, sketch.words_of(day)))]
    if own:
        return own[0]
    if column.table not in named or _beside_time(sketch, column):
        sketch.doubts += 1.0
    return column


def _is_of_another_deed(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """ "Contracts signed in 2022" are not those that expire then, where a day is called after what is done on it.

    What comes later than a row itself is not of the day that is called as the row: "orders shipped in May" by their `order_date`.
    """
    beside = range(max(0, place - 2), place)
    said = [sketch.nodes[other].text.lower() for other in beside if sketch.column(other) is None]
    verb = next((word for word in reversed(said) if word in lexicon().verbs), None)
    if sketch.chinese or verb is None:
        return False
    if stem(verb) in _LATER:
        return stem(verb) not in map(stem, sketch.words_of(column))
    own = {stem(word) for word in _beside_time(sketch, column)}
    return bool(own & _OF_ONE_DEED) and stem(verb) not in own


_LATER: Final = _stems("shipped", "delivered", "paid", "signed", "approved")
_OF_ONE_DEED: Final = _LATER | _stems(
    "expires", "renovated", "birth", "born", "death", "died", "due", "updated", "modified", "retired", "cancelled",
    "returned", "deadline", "discharged",
)  # fmt: skip
"""What a day is called that no other deed is done on."""


def _day_of_deed(sketch: Sketch, place: int, column: ColumnRef) -> ColumnRef | None:
    """ "Instructors who taught in 2024" were not hired then: the year of the rows that their deed made, where just one kind has any.

    Such rows stand between two tables that are named, or refer to the only one.
    """
    words = [node.text.lower() for node in sketch.nodes]
    own = {stem(word) for word in _beside_time(sketch, column)}
    if sketch.chinese or not own or _names_of_deed(sketch, place) or any(stem(word) in own for word in words):
        return None
    if (deed := _day_of_rows_done(sketch, words[:place], column)) is not None:
        return deed
    named = sketch.mentioned_tables()
    if column.table in named and not any(word in lexicon().verbs for word in words[:place]):
        return None
    graph = sketch.index.graph
    if len(named) > 1:
        keys = [edge for one, other in pairwise(named) for edge in graph.path((one,), other) or ()]
        rows = {table for edge in keys for table in (edge.source, edge.target)}
    else:
        rows = {edge.source for table in named for edge in graph.edges_of(table) if edge.target == table}
    times = [time for table in sorted(rows - {column.table}) for time in sketch.time_columns(table)]
    found = [time for time in times if not _beside_time(sketch, time)]
    if not found and len(named) > 1:
        # "Ships that sailed to Genoa in 2022": the only day on the way, however it is called.
        found = times
    return found[0] if len(found) == 1 else None


def _day_of_rows_done(sketch: Sketch, words: Sequence[str], column: ColumnRef) -> ColumnRef | None:
    """ "Movies that were shown after May", which showings say: the day of the rows that are called after what was done."""
    graph = sketch.index.graph
    rows = {edge.source for edge in graph.edges_of(column.table) if edge.target == column.table != edge.source}
    done = {stem(word) for word, before in zip(words[1:], words, strict=False) if before in _PASSIVE}
    times = [
        sketch.time_columns(table)[0]
        for table in sorted(rows)
        if sketch.time_columns(table) and any(stem(word) in done for word in sketch.index.table_words[table])
    ]
    return times[0] if len(times) == 1 else None


_PASSIVE: Final = frozenset({"was", "were", "been", "is", "are"})


def _beside_time(sketch: Sketch, column: ColumnRef) -> set[str]:
    """Return the words of a day's name that say whose or what day it is: none of a `year`, nor of `order_date` in a table of orders."""
    return set(sketch.words_of(column)) - sketch.index.table_words[column.table] - _TIME_WORDS


_TIME_WORDS: Final = frozenset({"date", "year", "time", "day", "datetime", "timestamp", "on", "at", "of", "the"})


def _done_in_chinese(sketch: Sketch) -> list[ColumnRef]:
    """去年有多少人离职: of several days it is that of the deed which is named, wherever it stands."""
    found = [(place, sketch.column(place)) for place in range(len(sketch.nodes)) if sketch.chinese]
    return [
        column
        for place, column in found
        if column is not None and DAY_SIGNS.isdisjoint(sketch.nodes[place].text) and sketch.kind(column) in TEMPORAL
    ]


DAY_SIGNS: Final = frozenset("日期时间年月天")


def count_rows(sketch: Sketch, place: int, table: int, operator: Operator, number: int | float) -> None:
    """ "With more than two orders": a column that already counts them, else rows of that table are counted."""
    column = sketch.count_column(table)
    # "More than two orders with status paid": what counts them all says nothing of those.
    is_narrowed = any(pick.table == table and pick.value is not None for pick in sketch.assignment.picks.values())
    if column is not None and not is_narrowed:
        add_condition(sketch, place, Measure(column), operator, Literal(number))
        sketch.hidden_tables.add(table)
        return
    if (operator, number) in {(Operator.AT_LEAST, 1), (Operator.GREATER, 0)}:
        # Joining alone says that there is one.
        return
    measure = Measure(aggregate=Aggregate.COUNT, table=table)
    sketch.having.append((place, Comparison(measure, operator, Literal(number))))


def label_columns(sketch: Sketch, table: int) -> tuple[ColumnRef, ...]:
    """Return the column(s) by which people call the rows of a table: its name or title, else its key."""
    return labels(sketch.index, table, chinese=sketch.chinese)


def take_joining(sketch: Sketch, one: int | None, other: int) -> None:
    if one is None:
        return
    for place in range(min(one, other) + 1, max(one, other)):
        if sketch.op(place) in {Op.EQUAL, Op.NAMED}:
            sketch.take(place)
