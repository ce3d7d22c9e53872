"""What is not there: "without orders", "do not have a captain", 没有订单 — rows whose key no row of the other table bears.

Conditions that stand behind the negation belong to what is absent: "that had no order in 2023".
"""

from __future__ import annotations

from querybus_generator.translator.form import (
    Comparison,
    Form,
    Measure,
    Membership,
    Operator,
    condition_tables,
)
from querybus_generator.translator.joins import Edge
from querybus_generator.translator.lexicon import Op
from querybus_generator.translator.nodes import NodeKind
from querybus_generator.translator.sketch import Placed, Sketch
from querybus_generator.translator.write import columns_named

_WORDS_BETWEEN_MAX = 4


def read_absences(sketch: Sketch, anchor: int) -> None:
    """Read every untaken negation against the rows of `anchor`."""
    for place in sketch.free_places(Op.NOT, Op.UNEQUAL):
        _absence(sketch, place, anchor)
    _negated_beyond(sketch, anchor)


def _absence(sketch: Sketch, place: int, anchor: int) -> None:
    end = sketch.sentence_end(place)
    named = _named_after(sketch, place, end, anchor)
    if named is None:
        column_place = sketch.after(place)
        column = sketch.column(column_place)
        if column is not None and sketch.is_free(column_place) and not sketch.asked[place] and column.table == anchor:
            sketch.take(place, column_place)
            sketch.conditions.append(Placed(place, Comparison(Measure(column), Operator.IS_NULL)))
            return
        _negate_conditions(sketch, place, end, anchor)
        return
    table = sketch.table(named)
    if table is None:
        return
    inside = [each for each in sketch.conditions if place < each.place < end and _belongs(sketch, each, anchor, table)]
    if absent_from(sketch, place, anchor, table, inside):
        sketch.take(place, named)
        sketch.hidden_tables.add(table)


def _belongs(sketch: Sketch, placed: Placed, anchor: int, table: int) -> bool:
    tables = condition_tables(placed.condition)
    return all(each != anchor or table == anchor for each in tables)


def _named_after(sketch: Sketch, place: int, end: int, anchor: int) -> int | None:
    words = 0
    other = place + 1
    while other < end:
        table = sketch.table(other)
        if table is not None and table != anchor:
            return other
        if table == anchor:
            other += 1
            continue
        node = sketch.nodes[other]
        if node.op in {Op.AND, Op.BUT, Op.OR, Op.SHOW} or sketch.pick(other) is not None:
            if sketch.pick(other) is not None and sketch.value(other) is None and sketch.taken[other]:
                return None
            if sketch.value(other) is None:
                return None
        if node.kind is NodeKind.WORD:
            words += 1
            if words > _WORDS_BETWEEN_MAX:
                return None
        other += 1
    return None


def absent_from(sketch: Sketch, place: int, anchor: int, table: int, inside: list[Placed]) -> bool:
    """Record that no row of `table` with the conditions `inside` refers to the row of `anchor`."""
    path = sketch.index.graph.path((anchor,), table)
    if not path:
        return False
    near, far = _ends(path[0], anchor)
    own = columns_named(sketch.index, anchor, near[:1])
    beyond = path[0].target if path[0].source == anchor else path[0].source
    theirs = columns_named(sketch.index, beyond, far[:1])
    conditions = tuple(each.condition for each in inside)
    form = Form(targets=(Measure(theirs[0]),), tables=(table,) if beyond != table and conditions else (), where=conditions)
    for each in inside:
        sketch.conditions.remove(each)
    sketch.absences.append((place, Membership(own[0], form, negated=True)))
    return True


def _ends(edge: Edge, anchor: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if edge.source == anchor:
        return edge.source_columns, edge.target_columns
    return edge.target_columns, edge.source_columns


def _negate_conditions(sketch: Sketch, place: int, end: int, anchor: int) -> None:
    """ "Did not visit Paris", "never sold a red one": the first condition behind the negation is what is absent."""
    behind = sorted((each for each in sketch.conditions if place < each.place < end), key=lambda each: each.place)
    if not behind or any(sketch.op(other) in {Op.SHOW, Op.BUT} for other in range(place + 1, behind[0].place)):
        return
    first = behind[0]
    words = sum(1 for node in sketch.nodes[place:first.place] if node.kind is NodeKind.WORD)
    if words > _WORDS_BETWEEN_MAX:
        return
    tables = condition_tables(first.condition)
    if tables and tables[0] != anchor and _is_many(sketch, anchor, tables[0]):
        if absent_from(sketch, place, anchor, tables[0], [first]):
            sketch.take(place)
        return
    if isinstance(first.condition, Comparison):
        opposite = Comparison(first.condition.left, first.condition.operator.opposite, first.condition.right)
        sketch.conditions[sketch.conditions.index(first)] = Placed(first.place, opposite)
        sketch.take(place)


def _is_many(sketch: Sketch, anchor: int, table: int) -> bool:
    """Whether one row of `anchor` may have several of `table`."""
    path = sketch.index.graph.path((anchor,), table) or ()
    at = anchor
    for edge in path:
        if edge.source == at and edge.to_one:
            at = edge.target
            continue
        return True
    return False


def _negated_beyond(sketch: Sketch, anchor: int) -> None:
    """A value that must differ in a table of many rows means that none of them has it."""
    for placed in list(sketch.conditions):
        condition = placed.condition
        if not isinstance(condition, Comparison) or condition.operator is not Operator.UNEQUAL:
            continue
        tables = condition_tables(condition)
        if tables and tables[0] != anchor and _is_many(sketch, anchor, tables[0]):
            positive = Placed(placed.place, Comparison(condition.left, Operator.EQUAL, condition.right))
            sketch.conditions[sketch.conditions.index(placed)] = positive
            if not absent_from(sketch, placed.place, anchor, tables[0], [positive]):
                sketch.conditions[sketch.conditions.index(positive)] = placed
