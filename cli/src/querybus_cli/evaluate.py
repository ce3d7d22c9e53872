"""Questions with reference SQL through the stages of a query in this process: what was right, fixed and broken.

The verbs are those of the services: translator or given answer, validator, hardened SQLite, recovery; the bus alone is
left out. `replay` takes an item's `pred` as a model's first answer and gives none after it; `builtin` translates the
question. An item's rows are compared with its reference's as Spider's readers do, columns may be permuted.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final, cast

from querybus.core.catalog import Catalog, Dialect
from querybus.core.delivery import Delivery
from querybus.core.envelope import Envelope, drafted, failed
from querybus.core.extract import extract
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Analysis, Approved, Asked, Concluded, Draft, Drafted, Origin, Returned
from querybus.core.options import Options
from querybus.core.policy import Connection, ConnectionPolicy
from querybus.core.rpc import ExplainReply, ExplainRequest, ProbeReply, ProbeRequest
from querybus.core.subjects import EventName, StageName
from querybus_cli.execution_match import is_ordered, matches, open_read_only, rows_of
from querybus_executor.introspect import open_sqlite_catalog
from querybus_executor.ports import Purpose
from querybus_executor.sqlite import sqlite_children, sqlite_edge
from querybus_generator.translator import Translated, translate
from querybus_recovery.guidance import load_guidance
from querybus_recovery.recover import recover
from querybus_validator.validate import validate

ROWS_MAX: Final = 100_000
SECONDS_PER_ITEM: Final = 60.0
STATEMENT_SECONDS: Final = 20.0
MODELS: Final = ("replay", "builtin")
_POLICY: Final = ConnectionPolicy(rows_max=ROWS_MAX)


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one item."""

    id: str
    outcome: str
    first_executable: bool
    first_right: bool
    final_executable: bool
    final_right: bool
    sql: str | None
    attempts: int
    confidence: float | None
    first_code: str | None
    mended: bool
    milliseconds: float


class Place:
    """One database as the verbs see it: catalog, policy and engine."""

    def __init__(self, path: Path, children: Any) -> None:
        self.path = path
        self.catalog: Catalog = open_sqlite_catalog(path)
        self.engine = sqlite_edge(children, path, _POLICY)
        self.plain = open_read_only(path)

    async def read(self, connection: str) -> Catalog | None:
        """Return the catalog; there is one connection."""
        del connection
        return self.catalog

    async def get(self, name: str) -> Connection | None:
        """Return the connection under whatever name."""
        return Connection(name=name, dialect=Dialect.SQLITE, policy=_POLICY)

    async def explain(self, tenant: str, connection: str, request: ExplainRequest) -> ExplainReply:
        """Return what the engine says of the statement."""
        del tenant, connection
        said = await self.engine.explain(request.sql, seconds_max=STATEMENT_SECONDS)
        return ExplainReply(failure=said if isinstance(said, Failure) else None)

    async def probe(self, tenant: str, connection: str, request: ProbeRequest) -> ProbeReply:
        """Return nothing: no item asks for a probe."""
        del tenant, connection, request
        return ProbeReply()

    def is_right(self, sql: str, gold: str) -> bool:
        """Return whether the statement gives the reference's rows."""
        expected, got = rows_of(self.plain, gold), rows_of(self.plain, sql)
        return isinstance(expected, list) and isinstance(got, list) and matches(expected, got, ordered=is_ordered(gold))


def read_items(path: Path) -> list[dict[str, Any]]:
    """Return the items of a file: JSON lines or one JSON list; ValueError for an item without question or database."""
    text = path.read_text(encoding="utf-8")
    if text.lstrip().startswith("["):
        items = cast("list[dict[str, Any]]", json.loads(text))
    else:
        items = [cast("dict[str, Any]", json.loads(line)) for line in text.splitlines() if line.strip()]
    for number, each in enumerate(items, 1):
        if not {"db_id", "question", "gold"} <= each.keys():
            raise ValueError(f"item {number} needs db_id, question and gold")
        each.setdefault("id", str(number))
    return items


async def evaluate(items: Iterable[Mapping[str, Any]], databases: Path, model: str) -> list[Judged]:
    """Return what became of each item; ValueError for an unknown model or a database that is not there."""
    if model not in MODELS:
        raise ValueError(f"a model is one of: {', '.join(MODELS)}")
    places: dict[str, Place] = {}
    children = sqlite_children(size=1, reserved=1)
    await children.start()
    judged: list[Judged] = []
    try:
        for item in items:
            name = str(item["db_id"])
            if name not in places:
                path = databases / f"{name}.sqlite"
                if not path.is_file():
                    raise ValueError(f"no database {path}")
                places[name] = Place(path, children)
            judged.append(await _judge(item, places[name], model))
    finally:
        await children.drain()
    return judged


async def _judge(item: Mapping[str, Any], place: Place, model: str) -> Judged:
    began = time.monotonic()
    now = time.time_ns() // 1_000_000
    draft, analysis = _first(item, place, model)
    asked = Envelope[Asked].model_construct(
        event=EventName.ASKED,
        query_id="evaluate",
        thread_id="evaluate",
        tenant="local",
        user="evaluate",
        audience="analyst",
        connection=str(item["db_id"]),
        question=str(item["question"]),
        language="en",
        options=Options(rows_max=ROWS_MAX, deadline_seconds=SECONDS_PER_ITEM),
        asked_at=now,
        deadline_at=now + int(SECONDS_PER_ITEM * 1_000),
        body=Asked.model_construct(),
    )
    if isinstance(draft, Failure):
        return _judged(item, began, outcome="clarification" if model == "builtin" else "failed", code=draft.code)
    first, first_right = False, False
    code: FailureCode | None = None
    envelope: Envelope[Any] = drafted(asked, Drafted(draft=draft, analysis=analysis))
    while True:
        found = await _through(envelope, place, now)
        if isinstance(found, Envelope):
            sql, attempts = found.body.sql, len(found.attempts)
            is_right = place.is_right(sql, str(item["gold"]))
            if attempts == 1:
                first, first_right = True, is_right
            return _judged(
                item,
                began,
                outcome="answered",
                code=code,
                first=(first, first_right),
                final=(True, is_right),
                sql=sql,
                attempts=attempts,
                confidence=found.body.analysis.confidence,
            )
        failure, stage, at = found
        code = code or failure.code
        after = await _recovered(failed(at, failure, stage), place, now)
        if isinstance(after.body, Returned):
            silence = Failure.of(FailureCode.UNKNOWN_GENERATION_FAILURE, "no further answer")
            spent = after.model_copy(
                update={"retries": after.retries.model_copy(update={"generation": after.options.retries_max})}
            )
            without = spent.with_body(Returned.model_construct(**{**after.body.__dict__, "draft": None}))
            after = await _recovered(failed(without, silence, StageName.GENERATOR), place, now)
        if not isinstance(after.body, Drafted):
            concluded = cast("Concluded", after.body)
            return _judged(
                item, began, outcome=concluded.outcome.value, code=code, sql=draft.sql, attempts=len(after.attempts)
            )
        envelope = after


def _first(item: Mapping[str, Any], place: Place, model: str) -> tuple[Draft | Failure, Analysis]:
    if model == "replay":
        sql = extract(str(item.get("pred", "")), Dialect.SQLITE)
        if isinstance(sql, Failure):
            # What is no reply of prose is a statement, however broken: recovery's rules look at it.
            text = str(item.get("pred", "")).strip()
            return (Draft(sql=text, dialect=Dialect.SQLITE, origin=Origin.MODEL) if text else sql), Analysis()
        return Draft(sql=sql, dialect=Dialect.SQLITE, origin=Origin.MODEL), Analysis()
    today = date.fromisoformat(str(item["as_of"])) if item.get("as_of") else date.today()  # noqa: DTZ011 - the person's day
    read = translate(str(item["question"]), place.catalog, today=today)
    if not isinstance(read, Translated):
        return Failure.of(FailureCode.AMBIGUOUS_QUESTION, "the question was not read"), Analysis()
    return Draft(sql=read.sql, dialect=Dialect.SQLITE, origin=Origin.BUILTIN), Analysis(confidence=read.confidence)


async def _through(
    envelope: Envelope[Any], place: Place, now: int
) -> Envelope[Approved] | tuple[Failure, StageName, Envelope[Any]]:
    """Return the approval of a draft that ran, or what failed, where, and the event that it failed on."""
    delivery = Delivery(sequence=1, deliveries=1, now_ms=now)
    checked = await validate(envelope, delivery, catalogs=place, connections=place, database=place)
    if isinstance(checked, Failure):
        return checked, StageName.VALIDATOR, envelope
    approval = cast("Envelope[Approved]", checked)
    rows = await place.engine.run(
        approval.body.sql, rows_max=ROWS_MAX, seconds_max=STATEMENT_SECONDS, purpose=Purpose.EXECUTE
    )
    return (rows, StageName.EXECUTOR, approval) if isinstance(rows, Failure) else approval


_GUIDANCE: Final = load_guidance()


async def _recovered(envelope: Envelope[Any], place: Place, now: int) -> Envelope[Any]:
    delivery = Delivery(sequence=1, deliveries=1, now_ms=now)
    return await recover(envelope, delivery, catalogs=place, connections=place, guidance=_GUIDANCE)


def _judged(
    item: Mapping[str, Any],
    began: float,
    *,
    outcome: str,
    code: FailureCode | None,
    first: tuple[bool, bool] = (False, False),
    final: tuple[bool, bool] = (False, False),
    sql: str | None = None,
    attempts: int = 0,
    confidence: float | None = None,
) -> Judged:
    return Judged(
        id=str(item["id"]),
        outcome=outcome,
        first_executable=first[0],
        first_right=first[1],
        final_executable=final[0],
        final_right=final[1],
        sql=sql,
        attempts=attempts,
        confidence=confidence,
        first_code=code.value if code else None,
        mended=final[0] and not first[0],
        milliseconds=round((time.monotonic() - began) * 1_000, 1),
    )


def totals(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return the figures of a run: counts, and by the class of the first failure what became of it."""
    by_class: dict[str, Counter[str]] = {}
    for each in judged:
        if each.first_code is not None:
            by_class.setdefault(each.first_code, Counter()).update(
                items=1, executable=int(each.final_executable), right=int(each.final_right)
            )
    return {
        "items": len(judged),
        "first_executable": sum(each.first_executable for each in judged),
        "first_right": sum(each.first_right for each in judged),
        "final_executable": sum(each.final_executable for each in judged),
        "final_right": sum(each.final_right for each in judged),
        "fixed": sum(each.final_right and not each.first_right for each in judged),
        "broken": sum(each.first_right and not each.final_right for each in judged),
        "outcomes": dict(Counter(each.outcome for each in judged)),
        "by_first_failure": {name: dict(counts) for name, counts in sorted(by_class.items())},
        "milliseconds": round(sum(each.milliseconds for each in judged), 1),
    }


def compared(judged: Sequence[Judged], other: Path) -> dict[str, list[str]]:
    """Return the ids of the items that are right only here and only in the other run's file."""
    lines = other.read_text(encoding="utf-8").splitlines()
    before = {str(each["id"]): bool(each["final_right"]) for each in map(json.loads, lines)}
    return {
        "only_here": [each.id for each in judged if each.final_right and before.get(each.id) is False],
        "only_there": [each.id for each in judged if not each.final_right and before.get(each.id) is True],
    }


def write_items(judged: Sequence[Judged], path: Path) -> None:
    """Write one JSON line per item."""
    path.write_text("".join(json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in judged), encoding="utf-8")
