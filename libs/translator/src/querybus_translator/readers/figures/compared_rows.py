"""Rows compared with other rows: "earn more than Ann Lee", "older than every student from Boston", "in the same city as Ann".

The words behind the comparison, up to the next clause, say which rows these are. "All" and "every" mean the greatest of
them (of "less" the least), "some" the other end; where neither is said of several rows, nobody knows which is meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from querybus_translator.language.clauses import OPERATORS, adjective_concepts, label_columns
from querybus_translator.language.lexicon import POSSESSIVES, Op
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import (
    Aggregate,
    ColumnRef,
    Comparison,
    Condition,
    Form,
    Measure,
    Membership,
    Operator,
    condition_tables,
)
from querybus_translator.writing.sketch import TEMPORAL, Placed, Sketch
from querybus_translator.writing.write import columns_named

_COMPARING: Final = (
    Op.GREATER, Op.LESS, Op.AT_LEAST, Op.AT_MOST, Op.ADJECTIVE_MORE, Op.ADJECTIVE_LESS, Op.AFTER, Op.BEFORE,
)  # fmt: skip
_FIGURES: Final = {
    Op.AVERAGE: Aggregate.AVERAGE,
    Op.MAXIMUM: Aggregate.MAXIMUM,
    Op.MINIMUM: Aggregate.MINIMUM,
    Op.HIGHEST: Aggregate.MAXIMUM,
    Op.LOWEST: Aggregate.MINIMUM,
}
_OF: Final = frozenset({"of", "for", "among"})
_BACKWARDS: Final = {
    Operator.GREATER: Operator.LESS,
    Operator.AT_LEAST: Operator.AT_MOST,
    Operator.LESS: Operator.GREATER,
    Operator.AT_MOST: Operator.AT_LEAST,
}
_MORE: Final = frozenset({Operator.GREATER, Operator.AT_LEAST})
_OF_ALL: Final = frozenset({"all", "every", "each"})
_OF_SOME: Final = frozenset({"some", "one"})
_CLAUSE_OPS: Final = frozenset({Op.ORDER, Op.BY, Op.GROUPED, Op.BUT, Op.AND, Op.ASCENDING, Op.DESCENDING})
_CLAUSE_MARKS: Final = frozenset({",", ".", "?", "!", ";"})
_UNSAID_DOUBT: Final = 1.0


@dataclass(frozen=True, slots=True)
class ComparedRows:
    """A comparison with the figure of the rows that the words from `start` to `end` describe."""

    place: int
    column: ColumnRef
    operator: Operator
    figure: Aggregate | None
    start: int
    end: int


def open_compared_rows(sketch: Sketch) -> tuple[ComparedRows, ...]:
    """Take the words of each comparison with other rows; their conditions are read as all others are."""
    if sketch.chinese:
        return ()
    found = [_opened(sketch, place) for place in sketch.free_places(*_COMPARING)]
    found += [_same_opened(sketch, place) for place, node in enumerate(sketch.nodes) if node.text.lower() == "same"]
    return tuple(one for one in found if one is not None)


def close_compared_rows(sketch: Sketch, opened: tuple[ComparedRows, ...]) -> None:
    """Put the conditions that were read behind each comparison inside it."""
    for one in opened:
        inside = [placed for placed in sketch.conditions if one.start <= placed.place < one.end]
        if not inside:
            # What the others are is not known: nothing is compared.
            sketch.taken[one.place] = False
            continue
        sketch.conditions = [placed for placed in sketch.conditions if placed not in inside]
        where = tuple(placed.condition for placed in inside)
        homes = {table for condition in where for table in condition_tables(condition)}
        sketch.take(*(other for other in range(one.start, one.end) if sketch.table(other) in homes))
        outside = {pick.table for other, pick in sketch.assignment.picks.items() if not one.start <= other < one.end}
        sketch.hidden_tables |= homes - outside - {one.column.table}
        others = Form(targets=(Measure(one.column, one.figure),), where=where)
        compared: Condition = Comparison(Measure(one.column), one.operator, others)
        if one.figure is None:
            compared = Membership(one.column, others, negated=False)
        sketch.conditions.append(Placed(one.place, compared))


def _opened(sketch: Sketch, place: int) -> ComparedRows | None:
    op = sketch.op(place)
    behind = sketch.after(place, over=(Op.EACH,))
    if op is None or behind is None:
        return None
    column, left, backwards = _compared(sketch, place)
    role = None if column is None or backwards else _role_at(sketch, behind, column)
    if role is not None and column is not None:
        # "More than their manager": each with the one row that it refers to.
        sketch.take(place, left, behind)
        other = ColumnRef(role, column.column)
        sketch.conditions.append(Placed(place, Comparison(Measure(column), OPERATORS[op], other)))
        return None
    if sketch.op(behind) in _FIGURES:
        return None if backwards else _figure_opened(sketch, place, behind, (column, left))
    again = sketch.column(behind)
    if again is not None and (column is None or again == column) and sketch.is_numeric(again):
        # "Than the price of any wine from Graz".
        column, behind, named = again, sketch.after(behind, over=(Op.EACH, Op.RELATIVE)), behind
    else:
        named = None
    if column is None or behind is None:
        return None
    rows = sketch.table(behind)
    value = sketch.value(behind)
    is_named = rows is None and _is_one_row(sketch, behind)
    owner = value.table if value is not None else rows
    if owner != column.table and not (owner is None and is_named):
        return None
    said = {word for node in sketch.nodes[place:behind] for word in node.text.lower().split()}
    is_strict = is_named or not said.isdisjoint(_OF_ALL)
    if not is_strict and said.isdisjoint(_OF_SOME):
        sketch.doubts += _UNSAID_DOUBT
    operator = _BACKWARDS[OPERATORS[op]] if backwards else OPERATORS[op]
    is_greatest = (operator in _MORE) == (is_strict or said.isdisjoint(_OF_SOME))
    sketch.take(place, left, named, *(other for other in range(place, behind) if sketch.op(other) is Op.EACH))
    if rows is not None:
        sketch.take(behind)
    figure = Aggregate.MAXIMUM if is_greatest else Aggregate.MINIMUM
    return ComparedRows(place, column, operator, figure, behind, _clause_end(sketch, behind))


def _role_at(sketch: Sketch, place: int, column: ColumnRef) -> int | None:
    """Return the role of the same rows that "their manager" speaks of, None for anything else."""
    if sketch.nodes[place - 1].text.lower() not in POSSESSIVES:
        return None
    index = sketch.index
    roles = {link.table for link in sketch.nodes[place].candidates if link.column is None}
    found = [table for table in roles if table != index.real(table) == column.table]
    return found[0] if len(found) == 1 else None


def _same_opened(sketch: Sketch, place: int) -> ComparedRows | None:
    """ "In the same city as Ann Lee", "of the same department as she": what rows have in common with those that are named."""
    named = sketch.after(place, over=(Op.COUNT,))
    start = sketch.after(named)
    joint = next(
        (other for other in range(named or place, start or place) if sketch.nodes[other].text.lower() == "as"), 0
    )
    if named is None or start is None or not joint:
        return None
    column, thing = sketch.column(named), sketch.table(named)
    value = sketch.value(start)
    owner = value.table if value is not None else sketch.nearest_table(place)
    if thing is not None and owner is not None:
        keys = (edge for edge in sketch.index.graph.between(owner, thing) if edge.source == owner and edge.to_one)
        key = next(keys, None)
        column = None if key is None else columns_named(sketch.index, owner, key.source_columns[:1])[0]
    if column is None or column.table != owner or not _is_one_row(sketch, start):
        return None
    sketch.take(named, *(other for other in range(place, named) if sketch.op(other) is Op.COUNT))
    if thing is not None:
        sketch.hidden_tables.add(thing)
    return ComparedRows(place, column, Operator.EQUAL, None, start, _clause_end(sketch, start))


def _figure_opened(
    sketch: Sketch, place: int, behind: int, compared: tuple[ColumnRef | None, int | None]
) -> ComparedRows | None:
    """ "Higher than the average price of wines from Graz": of these wines, and not of those that are asked for."""
    column, left = compared
    named = sketch.after(behind)
    again = sketch.column(named)
    rows = sketch.after(named) if again is not None else named
    column = column or again
    if column is None or again not in (None, column) or not sketch.is_numeric(column) or rows is None:
        return None
    first, kind, said = rows, sketch.value(rows), {node.text.lower() for node in sketch.nodes[behind:rows]}
    if kind is not None and kind.table == column.table and sketch.after(rows) is not None:
        rows = sketch.after(rows) or rows  # "of English songs"
    if sketch.table(rows) != column.table or said.isdisjoint(_OF):
        return None
    end = _clause_end(sketch, rows)
    if not any(sketch.value(other) is not None or sketch.number(other) is not None for other in range(first, end)):
        return None
    sketch.take(place, left, behind, named, rows)
    operator = OPERATORS[sketch.op(place) or Op.GREATER]
    return ComparedRows(place, column, operator, _FIGURES[sketch.op(behind) or Op.AVERAGE], first, end)


def _compared(sketch: Sketch, place: int) -> tuple[ColumnRef | None, int | None, bool]:
    """Return the figure that is compared, where it is named, and whether more of what is said is less of it: an older team was founded earlier."""
    left = sketch.before(place)
    if left is not None and sketch.is_free(left):
        column = sketch.column(left) or sketch.figure_of_verb(left)
        if column is not None and sketch.is_numeric(column):
            return column, left, False
    concepts = adjective_concepts(sketch.nodes[place].text)
    found = sketch.concept_column(concepts, place, ()) if concepts else None
    if found is None or not (sketch.is_numeric(found[0]) or (found[1] and sketch.kind(found[0]) in TEMPORAL)):
        return None, None, False
    return found[0], None, found[1]


def _is_one_row(sketch: Sketch, place: int) -> bool:
    """Whether a node names one row: a name as a text, or one that the catalog knows. An engineer may be any of them."""
    value = sketch.value(place)
    if value is None:
        return sketch.nodes[place].kind is NodeKind.TEXT and sketch.nodes[place].text[:1].isupper()
    return value.column is not None and ColumnRef(value.table, value.column) in label_columns(sketch, value.table)


def _clause_end(sketch: Sketch, start: int) -> int:
    for place in range(start + 1, len(sketch.nodes)):
        node = sketch.nodes[place]
        if node.text in _CLAUSE_MARKS or node.op in _CLAUSE_OPS:
            return place
    return len(sketch.nodes)
