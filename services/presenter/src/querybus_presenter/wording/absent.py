"""Why nothing was found, where the catalog knows: a value does not occur, and these do; the data begins later or has ended."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column
from querybus.core.messages import Result
from querybus.sql.conditions.parts import conditions_of
from querybus.sql.conditions.scope import outermost, scope_of
from querybus_presenter.wording.periods import day_in_words
from querybus_presenter.wording.phrases import Phrases, within_sentence
from querybus_presenter.wording.texts import Texts

VALUES_SHOWN_MAX: Final = 8
ROWS_MEASURED_MAX: Final = 200_000
"""Of a larger table the first rows were looked at: its last day is not known."""


def is_nothing(result: Result) -> bool:
    """Whether a result holds nothing: no row, or one line of zeros."""
    if result.row_count != 1 or len(result.rows) != 1:
        return result.row_count == 0
    return all(cell in (0, None, "0") for cell in result.rows[0])


def why_nothing(tree: exp.Expr | None, catalog: Catalog | None, texts: Texts, *, with_names: bool) -> str | None:
    """Return the sentence about a value that does not occur, else about a period without data; None where nobody knows."""
    if tree is None or catalog is None:
        return None
    return _absent_value(tree, catalog, texts, with_names=with_names) or _outside_data(tree, catalog, texts)


def _absent_value(tree: exp.Expr, catalog: Catalog, texts: Texts, *, with_names: bool) -> str | None:
    select = outermost(tree)
    if select is None:
        return None
    words = Phrases(scope_of(select, catalog), texts, with_names)
    for _, part in conditions_of(words.scope).filters:
        for written, value in _compared(part):
            column = words.column_of(written)
            label = words.column(written)
            if column is not None and label and _does_not_occur(value, column):
                shown = list(column.values[:VALUES_SHOWN_MAX])
                rows = texts.reading
                values = rows["comma"].join(shown)
                key = "absent_more" if len(column.values) > len(shown) else "absent"
                more = len(column.values) - len(shown)
                field = label if with_names else within_sentence(label)
                return rows[key].format(field=field, value=value, values=values, count=more)
    return None


def _outside_data(tree: exp.Expr, catalog: Catalog, texts: Texts) -> str | None:
    """Return the sentence about the first period that lies before or behind all dates of its column."""
    for select in tree.find_all(exp.Select):
        scope = scope_of(select, catalog)
        asked = conditions_of(scope).period
        found = scope.origin(asked[0]) if asked is not None else None
        if asked is None or found is None or (found[0].row_estimate or ROWS_MEASURED_MAX) >= ROWS_MEASURED_MAX:
            continue
        profile = found[1].profile
        if profile is None or found[1].personal:
            continue
        first, last = (_day(text) for text in (profile.value_min, profile.value_max))
        if last is not None and asked[1].begin is not None and asked[1].begin > last:
            return texts.reading["data_ends"].format(day=day_in_words(last, texts))
        if first is not None and asked[1].end is not None and asked[1].end <= first:
            return texts.reading["data_begins"].format(day=day_in_words(first, texts))
    return None


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text[:10]) if text else None
    except ValueError:
        return None


def _compared(part: exp.Expr) -> Iterator[tuple[exp.Column, str]]:
    """Yield each text that a condition compares a column with."""
    if isinstance(part, exp.EQ):
        sides = [(part.this, part.expression), (part.expression, part.this)]
    elif isinstance(part, exp.In):
        sides = [(part.this, item) for item in part.expressions]
    else:
        return
    for left, right in sides:
        column = left.this if isinstance(left, exp.Lower | exp.Upper | exp.Trim) else left
        if isinstance(column, exp.Column) and isinstance(right, exp.Literal) and right.is_string:
            yield column, right.name


def _does_not_occur(value: str, column: Column) -> bool:
    """Whether a column, all of whose values are known, has none like this; a case of its own is a spelling of the engine's."""
    known = {text.strip().casefold() for text in column.values}
    return column.values_complete and bool(known) and not column.personal and value.strip().casefold() not in known
