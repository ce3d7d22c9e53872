"""Values that DuckDB's driver changes: intervals, of which a month becomes thirty days, and infinite dates.

A statement whose result has such columns is asked for the engine's own text of them. It imports DuckDB alone, as the
worker does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

_DATES: Final = re.compile(r"(DATE|TIMESTAMP( WITH TIME ZONE)?)$")
_WITH_INTERVAL: Final = re.compile(r"\bINTERVAL\b")

Fetch = Callable[[int], list[tuple[Any, ...]]]


def exact_statement(sql: str, types: Sequence[str]) -> str | None:
    """Return the statement with texts for the columns of these types that the driver changes; None where it has none.

    An interval is replaced by its text. A date gets a further column, which holds a text where the date is infinite.

    >>> exact_statement("SELECT a, b FROM t", ["INTEGER", "INTERVAL"])
    'SELECT #1, CAST(#2 AS VARCHAR) FROM (SELECT a, b FROM t)'
    """
    shown, beside = list[str](), list[str]()
    for number, kind in enumerate(types, 1):
        if kind == "INTERVAL":
            shown.append(f"CAST(#{number} AS VARCHAR)")
        elif _WITH_INTERVAL.search(kind):
            shown.append(f"CAST(to_json(#{number}) AS VARCHAR)")
        else:
            shown.append(f"#{number}")
            if _DATES.match(kind):
                beside.append(f"CASE WHEN isinf(#{number}) THEN CAST(#{number} AS VARCHAR) END")
    if not beside and not _WITH_INTERVAL.search(" ".join(types)):
        return None
    return f"SELECT {', '.join([*shown, *beside])} FROM ({sql})"  # noqa: S608 - the statement was admitted as it is


def exact_rows(fetch: Fetch, types: Sequence[str]) -> Fetch:
    """Return a fetch of rows in which the texts of infinite dates stand in the place of the dates."""
    dates = [place for place, kind in enumerate(types) if _DATES.match(kind)]
    width = len(types)

    def fetch_exact(size: int) -> list[tuple[Any, ...]]:
        rows = fetch(size)
        return [row[:width] if not any(row[width:]) else _with_texts(row, dates, width) for row in rows]

    return fetch_exact if dates else fetch


def _with_texts(row: tuple[Any, ...], dates: Sequence[int], width: int) -> tuple[Any, ...]:
    cells = list(row[:width])
    for place, text in zip(dates, row[width:], strict=True):
        if text is not None:
            cells[place] = text
    return tuple(cells)
