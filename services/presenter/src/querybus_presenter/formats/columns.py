"""The formats of an answer's columns, and labels that say what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from querybus.core.catalog import Catalog, Language
from querybus.core.messages import ColumnFormat, Concluded, Result, Scalar
from querybus.text.rows.currencies import without_cents
from querybus_presenter.formats.decide import CENT, format_of
from querybus_presenter.formats.facts import UNKNOWN, facts_of


def column_formats(
    body: Concluded,
    result: Result,
    labels: Sequence[str],
    catalog: Catalog | None,
    language: Language,
    *,
    whole: Result | None = None,
    are_names: bool = False,
) -> tuple[tuple[str, ...], tuple[ColumnFormat, ...]]:
    """Return the labels and formats of a result's columns; digits are those that the cells of the `whole` of it need.

    What is shown in a currency is not called cents: that word leaves a label. Labels that `are_names` of the database stay,
    and their cents are shown as they are stored.
    """
    dialect = body.dialect or (catalog.dialect if catalog else None)
    facts = facts_of(body.sql, dialect, catalog)
    if len(facts) != len(result.columns):
        facts = (UNKNOWN,) * len(result.columns)
    defined = body.analysis.units
    units = [item.unit.get(language, "") for item in facts]
    if any(defined) and len(defined) == len(result.columns):
        units = list(defined)
    source = result if whole is None else whole
    cells: Sequence[tuple[Scalar, ...]] = list(zip(*source.rows, strict=True)) if source.rows else [()] * len(facts)
    is_whole = len(source.rows) == result.row_count
    shown: list[str] = []
    formats: list[ColumnFormat] = []
    for known, column, values, unit, label in zip(facts, result.columns, cells, units, labels, strict=True):
        how = format_of(known, column.kind, values, unit=unit, is_whole=is_whole)
        stripped = without_cents(label)
        if how.factor == CENT and stripped != label and (are_names or not stripped):
            how = format_of(replace(known, is_cents=False), column.kind, values, is_whole=is_whole)
        shown.append(stripped if how.factor == CENT else label)
        formats.append(how)
    return tuple(shown), tuple(formats)
