"""Kinds that are counted side by side: "how many dramas and how many comedies", 正剧和喜剧各有多少部 — one count for each;
and the rows of a kind that a table of their own names: "how many suites are there".

Limits: values of one column, and nothing else in the question but the table that they are of and a period.
"""

from __future__ import annotations

from typing import Final

from querybus.core.catalog import ColumnKind
from querybus.text.labels import flag_values
from querybus_translator.language.lexicon import Op
from querybus_translator.language.stems import base_form
from querybus_translator.readers.absences import is_many
from querybus_translator.schema.comparison import Candidate
from querybus_translator.schema.labels import labels
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import (
    Aggregate,
    AnyOf,
    ColumnRef,
    Comparison,
    Literal,
    Measure,
    Operator,
)
from querybus_translator.writing.sketch import Placed, Sketch

_JOINING = frozenset({Op.AND, Op.TO, Op.COMPARE})
"""和 joins two things, and two ends of a range."""
_BESIDE = frozenset({*_JOINING, Op.COUNT, Op.COUNT_KINDS, Op.EACH, Op.SHOW, Op.UNIT, Op.IN_ALL, Op.BOTH})
_BETWEEN = frozenset({",", "，", "、", "?", "？", ".", "。"})


def read_compounds(sketch: Sketch) -> None:
    """ "Movie ratings" are ratings: of two tables side by side the first only says of what they are."""
    if sketch.chinese:
        return
    for place in range(2, len(sketch.nodes)):
        whose, rows = sketch.table(place - 1), sketch.table(place)
        if whose is None or rows is None or whose == rows or sketch.op(place - 2) is not Op.COUNT:
            continue
        one, many = (sketch.nodes[where].text.lower() for where in (place - 1, place))
        # "Growers ordered" are those who did.
        is_noun = base_form(one) == one and base_form(many) != many and many.endswith("s")
        if is_noun and is_many(sketch, whose, rows) and not is_many(sketch, rows, whose):
            sketch.take(place - 1)
            sketch.hidden_tables.add(whose)


def read_rows_by_name(sketch: Sketch) -> None:
    """ "Committees that have delegates from the Green party", "the most common position of players": those who a column names are the rows.

    What is asked for stands before them; they are not asked for as well.
    """
    if sketch.chinese or sketch.free_places(Op.BOTH):
        return
    for place, node in enumerate(sketch.nodes):
        column, text = sketch.column(place), node.text.lower()
        if column is None or not sketch.is_free(place) or base_form(text) == text or " " in text:
            continue
        own = sketch.index.table(column.table)
        name = sketch.index.column(column.table, column.column)
        is_name = name.kind is ColumnKind.TEXT and name.name.lower() == base_form(text)
        if not is_name or any(name.name in key.columns for key in own.foreign_keys):
            continue
        asked = sketch.before(place, over=(Op.COMMON, Op.RARE, Op.RELATIVE))
        lead = next(
            (word for back in range(place - 1, -1, -1) if (word := sketch.nodes[back].text.lower()) not in _ARTICLES),
            "",
        )
        of = sketch.column(asked) if lead in _OF else None
        is_of = of is not None and of.table == column.table and sketch.nodes[asked or 0].text.lower() not in _NAMES
        # "Which stages are indoors" says which of them, and nothing that they are called.
        is_flag = flag_values(name) is not None
        is_had = lead in _HAVING and not is_flag and any(sketch.pick(where) is not None for where in range(place))
        if is_of or is_had:
            sketch.take(place)
            sketch.anchor = column.table if is_of else sketch.anchor


_ARTICLES: Final = frozenset({"the", "all", "any"})
_OF: Final = frozenset({"of", "among"})
_HAVING: Final = frozenset({"have", "has", "had", "do", "does", "did", "are", "were"})
_NAMES: Final = frozenset({"name", "names", "id", "ids"})


def read_kinds(sketch: Sketch) -> None:
    """Read values of one column that are counted side by side into a group for each, and take all words for it."""
    places = [place for place in range(len(sketch.nodes)) if sketch.value(place) is not None]
    picks = [pick for place in places if (pick := sketch.value(place)) is not None]
    columns = {(pick.table, pick.column) for pick in picks}
    if len({pick.value for pick in picks}) < 2 or len(columns) != 1 or not sketch.free_places(Op.COUNT, Op.COMPARE):
        return
    if any(pick.also is not None for pick in picks) or not sketch.has_between(places[0], places[-1], _JOINING):
        return
    table, number = columns.pop()
    if number is None or not all(_belongs(sketch, place, table) for place in range(len(sketch.nodes))):
        return
    column, rows = ColumnRef(table, number), rows_of_kind(sketch, picks[0])
    sketch.take(*(place for place, node in enumerate(sketch.nodes) if node.kind is not NodeKind.PERIOD))
    kinds = tuple(Comparison(Measure(column), Operator.EQUAL, Literal(str(pick.value))) for pick in picks)
    sketch.conditions.append(Placed(places[0], AnyOf(kinds)))
    sketch.groups.append((places[0], column))
    sketch.targets.append((places[-1], Measure(aggregate=Aggregate.COUNT, table=rows)))
    sketch.anchor = rows


def _belongs(sketch: Sketch, place: int, table: int) -> bool:
    """Whether a node is one of the kinds, their table, a period, or a word that counts or joins."""
    node = sketch.nodes[place]
    if node.kind is NodeKind.LINK:
        return sketch.table(place) == table or sketch.value(place) is not None
    return node.op in _BESIDE or node.kind in (NodeKind.STOP, NodeKind.PERIOD) or node.text in _BETWEEN


def rows_of_kind(sketch: Sketch, value: Candidate) -> int:
    """ "How many suites are there": where a table names kinds, each once, the rows that refer to it are counted."""
    if value.column is None or ColumnRef(value.table, value.column) not in labels(
        sketch.index, value.table, chinese=True
    ):
        return value.table
    is_named = any(sketch.table(place) == value.table for place in range(len(sketch.nodes)))
    edges = sketch.index.graph.edges_of(value.table)
    rows = {edge.source for edge in edges if edge.target == value.table and edge.source != value.table}
    if not rows or is_named:
        return value.table
    # Of several that refer to it nothing says which.
    if not sketch.names_kind:
        sketch.doubts += 0.0 if len(rows) == 1 else 1.0
    sketch.names_kind = len(rows) == 1
    return rows.pop() if len(rows) == 1 else value.table


def listed_kind(sketch: Sketch, anchor: int | None) -> int | None:
    """ "List all dogs": where only a kind is named, what is listed are its rows, and not the kind."""
    if anchor is None or sketch.anchor is not None or sketch.everything is not None or sketch.targets or sketch.groups:
        return anchor
    places = [place for place in range(len(sketch.nodes)) if sketch.value(place) is not None]
    named = [place for place in range(len(sketch.nodes)) if sketch.table(place) is not None]
    # "Cats of owners in Ghent" are no owners.
    is_of = bool(named) and bool(places) and places[0] + 2 == named[0] and sketch.nodes[places[0] + 1].text == "of"
    kinds = [
        value for place in places if (value := sketch.value(place)) is not None and (is_of or value.table == anchor)
    ]
    return rows_of_kind(sketch, kinds[0]) if kinds and (is_of or (not named and len(kinds) == 1)) else anchor


def beside_their_count(sketch: Sketch) -> None:
    """ "Drivers and their number of trips": each driver with how many there are."""
    if sketch.chinese or sketch.groups:
        return
    for place in range(len(sketch.nodes)):
        joint = sketch.after(place)
        count = sketch.after(joint)
        table, rows = sketch.table(place), sketch.table(sketch.after(count))
        is_joined = sketch.op(joint) is Op.AND and sketch.op(count) is Op.COUNT and sketch.is_free(place)
        if not is_joined:
            continue
        named = [sketch.column(sketch.after(other)) for other in sketch.free_places(Op.EACH)]
        if any(column is not None and column.table == table for column in named):
            # "The type of school and the number of buses for each type".
            return
        if table is not None and rows is not None and is_many(sketch, table, rows):
            sketch.take(joint)
            sketch.groups.append((place, table))
            return
