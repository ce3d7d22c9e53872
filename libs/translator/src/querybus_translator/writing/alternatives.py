"""Conditions on both sides of an "or", values of one column and periods apart from one another: any of them may hold."""

from __future__ import annotations

from typing import Final

from querybus_translator.language.lexicon import Op
from querybus_translator.writing.form import AllOf, AnyOf, Condition, Form, condition_columns, condition_tables
from querybus_translator.writing.sketch import Placed, Sketch


def read_alternatives(sketch: Sketch) -> list[Condition]:
    """Join conditions that stand on both sides of an "or", and values of one column, into alternatives."""
    placed = _pairs_apart(sketch, sorted(sketch.conditions, key=lambda item: item.place))
    groups: list[list[Placed]] = []
    for item in placed:
        if groups and _is_alternative(sketch, groups[-1][-1], item):
            groups[-1].append(item)
        else:
            groups.append([item])
    for place in sketch.free_places(Op.OR):
        sketch.take(place)
        if not any(len(item) > 1 for item in groups):
            sketch.doubts += 0.25
    return [item[0].condition if len(item) == 1 else AnyOf(tuple(one.condition for one in item)) for item in groups]


def _pairs_apart(sketch: Sketch, placed: list[Placed]) -> list[Placed]:
    """ "In Springfield, Ohio or in Salem, Oregon": each city with its own state."""
    result: list[Placed] = []
    at = 0
    while at < len(placed):
        four = placed[at : at + 4]
        columns = [condition_columns(item.condition) for item in four]
        if len(four) == _TWO_PAIRS and columns[0] != columns[1] and columns[:2] == columns[2:]:
            ends = [item.place for item in four]
            is_pair = sketch.has_between(ends[1], ends[2], _OR) and not any(
                sketch.has_between(one, other, _OR_OR_AND) for one, other in (ends[:2], ends[2:])
            )
            if is_pair:
                pairs = tuple(AllOf(tuple(item.condition for item in pair)) for pair in (four[:2], four[2:]))
                result.append(Placed(ends[0], AnyOf(pairs)))
                at += 4
                continue
        result.append(placed[at])
        at += 1
    return result


_TWO_PAIRS: Final = 4
_OR: Final = frozenset({Op.OR})
_OR_OR_AND: Final = frozenset({Op.OR, Op.AND})


def _is_alternative(sketch: Sketch, one: Placed, other: Placed) -> bool:
    both = sketch.nodes[one.place].period, sketch.nodes[other.place].period
    compared = sketch.has_between(one.place, other.place, frozenset({Op.COMPARE}))
    said = (one.place - 1, other.place + 1) if sketch.chinese else range(max(0, one.place - 3), one.place)
    if any(sketch.op(place) is Op.BOTH for place in said):
        # "Both in 1989 and in 1990", 1989年和1990年都出版: in the one and in the other.
        return False
    linked = not compared and any(place in sketch.assignment.picks for place in range(one.place + 1, other.place))
    if both[0] is not None and both[1] is not None and both[0].is_apart(both[1]) and not linked:
        # "In 2024 and 2025", "this year vs last year": no day lies in both, so either is meant.
        return condition_tables(one.condition) == condition_tables(other.condition)
    return sketch.has_between(one.place - 1, other.place, frozenset({Op.OR})) and not sketch.has_between(
        one.place, other.place, frozenset({Op.BOTH, Op.BUT})
    )


def of_two_rows(sketch: Sketch, form: Form) -> tuple[Condition, Condition] | None:
    """ "Halls with both paintings in oil and paintings on paper": two conditions of rows that are named twice, and not of one."""
    both = next((place for place, node in enumerate(sketch.nodes) if node.op is Op.BOTH), None)
    placed = sorted(
        (item for item in sketch.conditions if both is not None and item.place > both), key=lambda item: item.place
    )
    if both is None or len(placed) != len(form.where) or len(placed) != 2:
        return None
    rows = [sketch.table(place) for place in range(both, len(sketch.nodes)) if sketch.table(place) is not None]
    columns = [condition_columns(item.condition) for item in placed]
    is_named_twice = len(rows) == len(set(rows)) + 1
    return (placed[0].condition, placed[1].condition) if is_named_twice and columns[0] != columns[1] else None
