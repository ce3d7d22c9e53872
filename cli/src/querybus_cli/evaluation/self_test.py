"""Whether the measure sees harm: items that are broken, fixed or crashed on the way are planted, and each must be found.

The database and the answers are made here; the verbs are those of every run, but that one of them changes a right statement
and another raises an exception, each for the item that it is planted for.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any, Final

from querybus.core.envelope import Envelope
from querybus.core.messages import Drafted, Outcome
from querybus_cli.evaluation.asking import CRASHED, Judged, Stages
from querybus_cli.evaluation.evaluate import REPLAY, evaluate
from querybus_cli.evaluation.items import Item
from querybus_generator.generate import generate
from querybus_validator.validate import validate

_SCRIPT: Final = (
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT, points INTEGER);"
    "INSERT INTO customers VALUES (1, 'Ann', 'Bern', 1234567), (2, 'Bob', 'Rome', 7654321);"
)
_SPOILT: Final = "Which names do the customers have?"
_RAISING: Final = "Which cities do the customers come from?"
_NAMES, _CITIES = "SELECT name FROM customers", "SELECT city FROM customers"


def _item(
    name: str, question: str, pred: str, gold: str | None, *, expect: Outcome | None = None, turn: int = 0
) -> Item:
    return Item(id=name, database="planted", question=question, pred=pred, gold=gold, expect=expect, turn=turn)


_PLANTED: Final = (
    (_item("right", "List the names of customers.", _NAMES, _NAMES),),
    (_item("wrong", "List the names of customers.", _CITIES, _NAMES),),
    (_item("fixed", "List the cities of customers.", "SELECT citty FROM customers", _CITIES),),
    (_item("broken", _SPOILT, _NAMES, _NAMES),),
    (_item("crashed", _RAISING, _CITIES, _CITIES),),
    (_item("off by one", "How many points are there?", "SELECT 8888889", "SELECT SUM(points) FROM customers"),),
    (_item("refused", "Delete all customers.", "DELETE FROM customers", None, expect=Outcome.REFUSED),),
    (_item("answered", "List the names of customers.", _NAMES, None, expect=Outcome.CLARIFICATION),),
    (_item("no reference", "List the names of customers.", _NAMES, "SELECT nothing FROM nowhere"),),
    (
        _item("thread#1", "List the names of customers.", _NAMES, _NAMES, turn=1),
        _item("thread#2", "and their cities?", _CITIES, _NAMES, turn=2),
    ),
)
_EXPECTED: Final[Mapping[str, Mapping[str, object]]] = {
    "right": {"first_right": True, "final_right": True, "is_broken": False, "is_fixed": False},
    "wrong": {"first_executable": True, "first_right": False, "final_right": False, "is_broken": False},
    "fixed": {"first_executable": False, "final_right": True, "is_fixed": True, "mended": True},
    "broken": {"first_right": True, "final_executable": True, "final_right": False, "is_broken": True},
    "crashed": {"first_right": True, "outcome": CRASHED, "is_broken": True, "error": "RuntimeError: planted"},
    "off by one": {"first_executable": True, "first_right": False, "final_right": False},
    "refused": {"outcome": "refused", "final_right": True, "is_fixed": False},
    "answered": {"outcome": "answered", "final_right": False, "is_broken": False},
    "no reference": {"final_executable": True, "final_right": False, "is_broken": False},
    "thread#1": {"final_right": True},
    "thread#2": {"final_executable": True, "final_right": False},
}


async def _spoiling(envelope: Envelope[Any], *arguments: Any, **ports: Any) -> Any:
    result = await generate(envelope, *arguments, **ports)
    if envelope.question != _SPOILT or not isinstance(result, Envelope) or not isinstance(result.body, Drafted):
        return result
    draft = result.body.draft.model_copy(update={"sql": f"{_NAMES} LIMIT 1"})
    return result.with_body(result.body.model_copy(update={"draft": draft}))


async def _raising(envelope: Envelope[Any], *arguments: Any, **ports: Any) -> Any:
    if envelope.question == _RAISING:
        raise RuntimeError("planted")
    return await validate(envelope, *arguments, **ports)


PLANTED_STAGES: Final = Stages(generate=_spoiling, validate=_raising)


async def self_test(stages: Stages = PLANTED_STAGES) -> dict[str, str]:
    """Return for each planted item what was not seen of it; the empty text where all of it was."""
    seen: dict[str, Judged] = {}
    with tempfile.TemporaryDirectory() as folder:
        with closing(sqlite3.connect(Path(folder) / "planted.sqlite")) as opened:
            opened.executescript(_SCRIPT)
        async with aclosing(evaluate(_PLANTED, Path(folder), REPLAY, stages=stages)) as results:
            async for judged in results:
                seen[judged.id] = judged
    return {name: _missed(seen.get(name), expected) for name, expected in _EXPECTED.items()}


def _missed(judged: Judged | None, expected: Mapping[str, object]) -> str:
    if judged is None:
        return "was not asked"
    got = {name: getattr(judged, name) for name in expected}
    return "; ".join(f"{name} is {got[name]}, not {value}" for name, value in expected.items() if got[name] != value)
