"""What is asked to measure answers: questions with a reference statement or an expected end, alone or in a thread.

A file is JSON lines or one JSON list. An item is `{id, db_id, question, gold}`, or with `expect` in place of `gold`; a thread
is `{id, db_id, turns: [{question, gold}, ...]}`, whose turns are named `<id>#1`, `<id>#2`, ... Beside them may stand `pred`
(a model's recorded answer), `as_of` (the day that counts as today) and `mode`; what a thread says holds for its turns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final, cast

from querybus.core.messages import Outcome
from querybus.core.options import Mode
from querybus_cli.runtime import read_text

EXPECTED: Final = (Outcome.CLARIFICATION, Outcome.REFUSED, Outcome.REPLIED)
"""How a question without a reference statement may be expected to end."""
_SHARED: Final = ("pred", "as_of", "mode")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One question. Either `gold`, the reference statement, or `expect` is given; `turn` counts from 1, 0 outside of a thread."""

    id: str
    database: str
    question: str
    gold: str | None = None
    expect: Outcome | None = None
    pred: str = ""
    as_of: date | None = None
    mode: Mode | None = None
    turn: int = 0


Thread = tuple[Item, ...]
"""The turns of a thread in order; a question that stands alone is a thread of one."""


def read_threads(path: Path) -> list[Thread]:
    """Return the items of a file; ValueError that names the item or line which cannot be used, before any is asked."""
    threads = [_thread(raw, number) for number, raw in enumerate(read_objects(path), 1)]
    seen: set[str] = set()
    for item in (item for thread in threads for item in thread):
        if item.id in seen:
            raise ValueError(f"two items have the id {item.id}")
        seen.add(item.id)
    if not threads:
        raise ValueError(f"{path} has no items")
    return threads


def read_objects(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines or of one JSON list; ValueError for anything else."""
    text = read_text(path)
    if text.lstrip().startswith("["):
        objects = [("item", number, raw) for number, raw in enumerate(_decoded(text, str(path)), 1)]
    else:
        objects = [
            ("line", number, _decoded(line, f"line {number}"))
            for number, line in enumerate(text.splitlines(), 1)
            if line.strip()
        ]
    for word, number, raw in objects:
        if not isinstance(raw, dict):
            raise ValueError(f"{word} {number} is no JSON object")  # noqa: TRY004 - what the file says is wrong
    return [cast("dict[str, Any]", raw) for _, _, raw in objects]


def _decoded(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{where} is no JSON: {error}") from error


def _thread(raw: Mapping[str, Any], number: int) -> Thread:
    name = str(raw.get("id", number))
    if "db_id" not in raw:
        raise ValueError(f"item {name} needs db_id")
    if "turns" not in raw:
        return (_item(raw, name, str(raw["db_id"])),)
    turns = raw["turns"]
    if not isinstance(turns, list) or not turns or not all(isinstance(turn, dict) for turn in cast("list[Any]", turns)):
        raise ValueError(f"item {name}: turns is a list of questions, and not empty")
    shared = {key: raw[key] for key in _SHARED if key in raw}
    return tuple(
        _item({**shared, **turn}, f"{name}#{place}", str(raw["db_id"]), turn=place)
        for place, turn in enumerate(cast("Sequence[dict[str, Any]]", turns), 1)
    )


def _item(raw: Mapping[str, Any], name: str, database: str, *, turn: int = 0) -> Item:
    question, gold, expect = raw.get("question"), raw.get("gold"), raw.get("expect")
    if not isinstance(question, str) or not question.strip():
        raise ValueError(f"item {name} needs a question")
    if (gold is None) == (expect is None):
        raise ValueError(f"item {name} needs gold, the reference statement, or expect, and not both")
    if expect is not None and expect not in EXPECTED:
        raise ValueError(f"item {name}: expect is one of {', '.join(EXPECTED)}, not {expect}")
    try:
        as_of = date.fromisoformat(str(raw["as_of"])) if raw.get("as_of") else None
        mode = Mode(str(raw["mode"])) if raw.get("mode") else None
    except ValueError as error:
        raise ValueError(f"item {name}: {error}") from error
    return Item(
        id=name,
        database=database,
        question=question,
        gold=None if gold is None else str(gold),
        expect=None if expect is None else Outcome(str(expect)),
        pred=str(raw.get("pred") or ""),
        as_of=as_of,
        mode=mode,
        turn=turn,
    )
