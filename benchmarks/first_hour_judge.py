"""Judges what a business reader got: against reference rows, and against our own list of personal values. Pure."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import islice, product
from typing import Any, Final

Row = Sequence[Any]
SURE_MIN: Final = 0.5
TRIES_MAX: Final = 5_000
HIDDEN: Final = "hidden"
"""How the reference SQL calls a column of personal data: a business reader gets as many rows, but not its cells."""
SHOWN_LENGTH_MIN: Final = 6
"""A shorter personal value, such as a first name, counts as shown where it is a whole cell."""
_MASK: Final = re.compile(r"\*{3}|(?:[^\W\d_]\.\s?){1,4}|[\u3400-\u9fff]\*")
_ASKS_TO_CHECK: Final = re.compile(r"please check|not certain|another result|请核对|请确认|不确定", re.IGNORECASE)


def is_right(columns: Sequence[str], gold: Sequence[Row], rows: Sequence[Row]) -> bool:
    """Return whether the rows hold the reference's columns, in any order and under any label; more columns do no harm.

    Personal columns of the reference (`hidden...`) are compared by the number of rows only.

    >>> is_right(["city", "count"], [("Rome", 2)], [[2.0, "x", "Rome"]]), is_right(["hidden"], [("Ann",)], [["A."]])
    (True, True)
    >>> is_right(["count"], [(2,)], [[3]])
    False
    """
    if len(gold) != len(rows):
        return False
    places = [place for place, name in enumerate(columns) if not name.startswith(HIDDEN)]
    if not gold or not places:
        return True
    wanted = [[comparable(row[place]) for row in gold] for place in places]
    given = [[comparable(row[place]) for row in rows] for place in range(len(rows[0]))]
    fitting = [[n for n, cells in enumerate(given) if Counter(cells) == Counter(column)] for column in wanted]
    lines = Counter(zip(*wanted, strict=True))
    return any(
        Counter(zip(*(given[n] for n in chosen), strict=True)) == lines
        for chosen in islice(product(*fitting), TRIES_MAX)
        if len(set(chosen)) == len(chosen)
    )


def comparable(cell: Any) -> Any:
    """Return a cell as it is compared: numbers to six digits, a month as its first day, a moment at midnight as its day.

    >>> comparable("2026-05-01T00:00:00"), comparable("2026-05"), comparable(Decimal("0.3333333")), comparable(True)
    ('2026-05-01', '2026-05-01', 0.333333, 1.0)
    """
    if isinstance(cell, bool | int | float | Decimal):
        return float(f"{float(cell):.6g}")
    if isinstance(cell, dt.date | dt.datetime):
        cell = cell.isoformat()
    if isinstance(cell, str):
        text = re.sub(r"[T ]00:00(:00)?(\.0+)?(Z|\+00:00)?$", "", cell.strip())
        if re.fullmatch(r"\d{4}-\d{2}", text):
            return f"{text}-01"
        try:
            value = float(text)
        except ValueError:
            return text
        return float(f"{value:.6g}") if math.isfinite(value) else text
    return cell


def is_sure(answer: Mapping[str, Any]) -> bool:
    """Return whether nothing in the answer asks its reader to check it."""
    confidence = answer.get("confidence")
    return (confidence is None or confidence >= SURE_MIN) and not any(
        _ASKS_TO_CHECK.search(note) for note in answer.get("notes") or ()
    )


def has_masks(answer: Mapping[str, Any]) -> bool:
    """Return whether a cell looks masked, or a column is empty, as masked dates and numbers are."""
    rows: Sequence[Row] = answer.get("rows") or ()
    return any(isinstance(cell, str) and _MASK.fullmatch(cell) for row in rows for cell in row) or any(
        all(cell is None for cell in column) for column in zip(*rows, strict=True)
    )


def hidden_though_harmless(seen: Sequence[Row], whole: Sequence[Row], personal: Collection[str]) -> bool:
    """Return whether a column that holds no personal value is masked in `seen`; `whole` are the same rows unmasked."""
    if len(seen) != len(whole) or not seen or len(seen[0]) != len(whole[0]):
        return False
    for place in range(len(seen[0])):
        masked = [whole[n][place] for n, row in enumerate(seen) if row[place] != whole[n][place]]
        if masked and not any(is_personal(cell, personal) for cell in masked):
            return True
    return False


def is_personal(cell: object, personal: Collection[str]) -> bool:
    """Return whether a cell is a personal value, or a text made of one."""
    if cell is None:
        return False
    text = str(cell)[:10] if isinstance(cell, dt.date | dt.datetime) else str(cell)
    return text in personal or text[:10] in personal or any(word in personal for word in text.split())


def shown_though_personal(answer: Mapping[str, Any], personal: Collection[str], question: str) -> str | None:
    """Return a personal value that the answer shows and the question does not name."""
    for row in answer.get("rows") or ():
        for cell in row:
            if is_personal(cell, personal) and str(cell) not in question:
                return str(cell)
    words = " ".join(filter(None, (str(answer.get(name) or "") for name in ("message", "summary", "next_step"))))
    words += " ".join(option["text"] for option in answer.get("options") or ())
    words += str((answer.get("chart") or {}).get("data", ""))
    return next(
        (value for value in personal if len(value) >= SHOWN_LENGTH_MIN and value in words and value not in question),
        None,
    )


def leads_on(answer: Mapping[str, Any], question: str, things: Iterable[str]) -> bool:
    """Return whether an end without rows names a next step: its text or an option has a word of the question or the data.

    What says the same to every question ("Please describe it in more detail.", "Name a period") names none.
    """
    options = [option["text"] for option in answer.get("options") or () if option.get("action") != "retry_as_is"]
    said = [answer.get("message") or "", answer.get("next_step") or "", *(answer.get("notes") or ()), *options]
    text = " ".join(said).lower()
    words = set(re.findall(r"\w{4,}", question.lower())) - _COMMON
    words |= {part for thing in things for part in re.findall(r"[^\W_]{4,}", thing.lower())}
    found = set(re.findall(r"[^\W_]+", text))
    if words & found or {word.rstrip("s") for word in words} & {word.rstrip("s") for word in found}:
        return True
    return any(pair in text for pair in _pairs(question)) if not question.isascii() else False


_COMMON: Final = frozenset(
    (
        "what",
        "which",
        "many",
        "much",
        "with",
        "that",
        "this",
        "there",
        "have",
        "more",
        "most",
        "question",
        "data",
        "your",
        "last",
    )
)


def _pairs(question: str) -> set[str]:
    signs = re.sub(r"[^\u3400-\u9fff]", "", question)
    return {signs[n : n + 2] for n in range(len(signs) - 1)} - {"多少", "哪些", "有多", "什么", "怎么", "一共"}
