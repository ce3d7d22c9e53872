"""Why nothing was found, where the catalog knows: a value that was compared with does not occur, and these do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column
from querybus.core.messages import Result
from querybus.sql.conditions.parts import conditions_of
from querybus.sql.conditions.scope import outermost, scope_of
from querybus_presenter.wording.phrases import Phrases, within_sentence
from querybus_presenter.wording.texts import Texts

VALUES_SHOWN_MAX: Final = 8


def is_nothing(result: Result) -> bool:
    """Whether a result holds nothing: no row, or one line of zeros."""
    return result.row_count == 0 or (result.row_count == 1 and all(cell in (0, None, "0") for cell in result.rows[0]))


def absent_value(tree: exp.Expr | None, catalog: Catalog | None, texts: Texts, *, with_names: bool) -> str | None:
    """Return the sentence about the first value that does not occur in its column, None where all do or nobody knows."""
    select = outermost(tree)
    if select is None or catalog is None:
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
