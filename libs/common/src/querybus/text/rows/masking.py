"""What readers see in place of personal data: initials of names, *** of other texts, nothing of the rest.

Masking what is masked already changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeVar

from querybus.core.catalog import ColumnKind, Personal
from querybus.core.envelope import Audience
from querybus.core.messages import Result
from querybus.text.words import HAN

MASK: Final = "***"
INITIALS_MAX: Final = 4
_NAME: Final = re.compile(r"[^\s,.;()]+")
_CellT = TypeVar("_CellT")


def seen_result(result: Result, audience: Audience) -> Result:
    """Return a result as its reader may have it: for business readers with personal data masked."""
    kinds: list[Personal | None] = [column.personal for column in result.columns]
    if audience != "business" or not any(kinds):
        return result
    # What is left of a date or a number is a text.
    columns = tuple(
        column if column.personal is None else column.model_copy(update={"kind": ColumnKind.TEXT})
        for column in result.columns
    )
    return result.model_copy(update={"columns": columns, "rows": masked_rows(result.rows, kinds)})


def unmasked(result: Result, names: Sequence[_CellT], audience: Audience) -> tuple[Result, tuple[_CellT, ...]]:
    """Return the columns of which a sentence or picture can speak, with their names or formats: stars say nothing."""
    kept = [n for n, column in enumerate(result.columns) if audience != "business" or column.personal is None]
    if len(kept) == len(result.columns):
        return result, tuple(names)
    columns = tuple(result.columns[n] for n in kept)
    rows = tuple(tuple(row[n] for n in kept) for row in result.rows)
    return result.model_copy(update={"columns": columns, "rows": rows}), tuple(names[n] for n in kept)


def masked_rows(
    rows: Sequence[Sequence[_CellT]], kinds: Sequence[Personal | None]
) -> tuple[tuple[_CellT | str | None, ...], ...]:
    """Return the rows with the cells of personal columns masked."""
    return tuple(
        tuple(cell if kind is None else masked(cell, kind) for cell, kind in zip(row, kinds, strict=True))
        for row in rows
    )


def masked(cell: object, kind: Personal) -> str | None:
    """Return what is shown of a cell of a personal column.

    >>> masked("Nancy Edwards", "name"), masked("张敏", "name"), masked("a@x.org", "contact"), masked(19900101, "contact")
    ('N. E.', '张*', '***', None)
    >>> masked("N. E.", "name"), masked("张*", "name"), masked("", "name"), masked(None, "name")
    ('N. E.', '张*', '', None)
    """
    if not isinstance(cell, str):
        return None
    if not cell.strip():
        return ""
    if kind == "contact":
        return MASK
    if HAN.match(cell.strip()):
        return f"{cell.strip()[0]}*"
    initials = [part[0] for part in _NAME.findall(cell)][:INITIALS_MAX]
    return " ".join(f"{initial.upper()}." for initial in initials) or MASK
