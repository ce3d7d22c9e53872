"""Conditions that no row can meet together: days in 2024 that are days in 2025. What is asked for is never nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

from querybus_translator.writing.form import AllOf, ColumnRef, Comparison, Condition, Literal, Membership, Operator


def are_contradictory(conditions: Sequence[Condition]) -> bool:
    """Return whether conditions of one column that must all hold have nothing in common, or rows must have some of what they lack."""
    memberships = [condition for condition in conditions if isinstance(condition, Membership)]
    if _lack_what_they_have(memberships) or any(are_contradictory(one.form.where) for one in memberships):
        return True
    compared = [condition for condition in conditions if isinstance(condition, Comparison)]
    if any(one.left == other.left and excludes(one, other) for one, other in combinations(compared, 2)):
        return True
    spans: dict[ColumnRef, list[tuple[str, str]]] = defaultdict(list)
    for condition in conditions:
        span = _span(condition)
        if span is not None:
            spans[span[0]].append(span[1:])
    return any(max(low for low, _ in found) >= min(high for _, high in found) for found in spans.values())


def _lack_what_they_have(memberships: Sequence[Membership]) -> bool:
    """Whether rows that some other table does not name at all are named by it: "borrowed a book that they have not returned"."""
    denied = {
        (one.left, one.form.targets)
        for one in memberships
        if one.negated and all(_is_filled(condition) for condition in one.form.where) and not one.form.tables
    }
    return any((one.left, one.form.targets) in denied for one in memberships if not one.negated)


def _is_filled(condition: Condition) -> bool:
    return isinstance(condition, Comparison) and condition.operator is Operator.NOT_NULL


def _span(condition: Condition) -> tuple[ColumnRef, str, str] | None:
    """Return the column and the bounds of a condition that texts, which dates are, lie from one up to, without, another."""
    if not isinstance(condition, AllOf) or len(condition.conditions) != 2:
        return None
    low, high = condition.conditions
    if not isinstance(low, Comparison) or not isinstance(high, Comparison) or low.left != high.left:
        return None
    if low.operator is not Operator.AT_LEAST or high.operator is not Operator.LESS or low.left.column is None:
        return None
    if not isinstance(low.right, Literal) or not isinstance(high.right, Literal):
        return None
    first, last = low.right.value, high.right.value
    return (low.left.column, first, last) if isinstance(first, str) and isinstance(last, str) else None


def excludes(one: Comparison, other: Comparison) -> bool:
    """Return whether no single value can meet both comparisons."""
    if not isinstance(one.right, Literal) or not isinstance(other.right, Literal):
        return False
    if one.operator is Operator.EQUAL and other.operator is Operator.EQUAL:
        return one.right != other.right
    low, high = (one, other) if one.operator in {Operator.GREATER, Operator.AT_LEAST} else (other, one)
    if low.operator not in {Operator.GREATER, Operator.AT_LEAST} or high.operator not in {
        Operator.LESS,
        Operator.AT_MOST,
    }:
        return False
    bottom, top = low.right, high.right
    if not isinstance(bottom, Literal) or not isinstance(top, Literal):
        return False
    if isinstance(bottom.value, str) or isinstance(top.value, str):
        return False
    return bottom.value >= top.value
