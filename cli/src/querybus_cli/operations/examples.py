"""Verified questions as examples of a layer: does what it says agree with their SQL, and does an answer change between two layers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from querybus.core.catalog import Catalog, Language
from querybus.ops.clock import system_clock
from querybus.text.words import count_of
from querybus_cli.operations.measuring import NotRunError, RowsOf
from querybus_semantic.checks.binding import stored_values
from querybus_semantic.checks.probes import Finding, Severity
from querybus_semantic.layer.definitions import Layer
from querybus_semantic.layer.request import Asker
from querybus_translator.definitions.answer import ByDefinition, Defined, answer_question

Rows = Sequence[Sequence[object]]


def disagreements(layer: Layer, catalog: Catalog, rows_of: RowsOf) -> Iterator[Finding]:
    """Yield a finding for each verified question whose SQL cannot be run or gives other rows than the definitions do."""
    for one in layer.verified:
        about = f"verified question {one.name or one.question}"
        try:
            wanted = rows_of(one.sql)
        except NotRunError as error:
            yield Finding(Severity.ERROR, about, f"It could not be run: {error}")
            continue
        found = answered(layer, catalog, one.question, rows_of)
        if found is not None and not is_same(found, wanted):
            detail = f"By the definitions it is {shown(found)}, by its own SQL {shown(wanted)}."
            yield Finding(Severity.ERROR, about, detail)


def changed_examples(before: Layer, after: Layer, catalog: Catalog, rows_of: RowsOf) -> Iterator[dict[str, Any]]:
    """Yield the verified questions of either layer whose answers differ between them."""
    for question in dict.fromkeys(one.question for layer in (before, after) for one in layer.verified):
        rows = [answered(layer, catalog, question, rows_of) for layer in (before, after)]
        both = rows[0] is not None and rows[1] is not None and is_same(rows[0], rows[1])
        if not both and rows != [None, None]:
            yield {"question": question, "before": shown(rows[0]), "after": shown(rows[1])}


def answered(layer: Layer, catalog: Catalog, question: str, rows_of: RowsOf) -> Rows | None:
    """Return the rows that definitions alone answer a question with; None where they do not cover it."""
    language: Language = "en" if question.isascii() else "zh"
    day = datetime.fromtimestamp(system_clock() / 1_000, UTC).date()
    defined = Defined(layer, catalog, stored_values(layer, catalog))
    found = answer_question(question, (), defined, Asker(day, ""), language)
    return rows_of(found.sql) if isinstance(found, ByDefinition) else None


def shown(rows: Rows | None) -> str:
    """Return rows as a person compares them: the one value, or how many rows there are and the first."""
    if rows is None:
        return "not covered"
    if len(rows) == 1 and len(rows[0]) == 1:
        return str(rows[0][0])
    return count_of(len(rows), "row") + (f", the first {', '.join(map(str, rows[0]))}" if rows else "")


def is_same(left: Rows, right: Rows) -> bool:
    """Whether rows are equal, whatever their order and that of their columns; numbers within a millionth."""
    return len(left) == len(right) and all(
        len(one) == len(other) and all(map(_is_alike, one, other))
        for one, other in zip(_sorted(left), _sorted(right), strict=True)
    )


def _sorted(rows: Rows) -> list[list[object]]:
    return sorted((sorted(row, key=_key) for row in rows), key=lambda row: [_key(value) for value in row])


def _key(value: object) -> tuple[bool, str]:
    return isinstance(value, int | float), f"{value:025.6f}" if isinstance(value, int | float) else str(value)


def _is_alike(left: object, right: object) -> bool:
    if isinstance(left, int | float) and isinstance(right, int | float):
        return math.isclose(left, right, rel_tol=1e-6, abs_tol=1e-9)
    return str(left) == str(right)
