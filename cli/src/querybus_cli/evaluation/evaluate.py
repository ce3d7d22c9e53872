"""Questions with reference SQL through the stages of a query in this process: what was right, fixed and broken.

The verbs are those of the services: generator or given answer, validator, hardened SQLite, recovery; the bus alone is
left out. `replay` takes an item's `pred` as a model's first answer and gives none after it; `builtin` translates the
question; any other name is asked of the model at QUERYBUS_LLM_BASE_URL, with its retries. An item's rows are compared
with its reference's as Spider's readers do, columns may be permuted.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final, cast

from querybus.core.catalog import Catalog, Dialect
from querybus.core.delivery import Delivery
from querybus.core.envelope import Envelope, drafted, failed
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Approved, Asked, Concluded, Draft, Drafted, Origin, Returned
from querybus.core.options import Mode, Options, RepairPolicy
from querybus.core.policy import Connection, ConnectionPolicy
from querybus.core.rpc import ExplainReply, ExplainRequest, ProbeReply, ProbeRequest
from querybus.core.stored.models import Prompting
from querybus.core.subjects import EventName, StageName
from querybus.llm import ModelClient, open_model
from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus.ops.metrics import Metrics
from querybus.ops.settings import load
from querybus.sql.reply.extract import extract
from querybus.text.language import detect_language
from querybus.text.rows.execution_match import is_ordered, matches
from querybus_cli.evaluation.sqlite_rows import open_read_only, rows_of
from querybus_executor.engines.sqlite.edge import sqlite_children, sqlite_edge
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from querybus_executor.ports import Purpose
from querybus_generator.conversation.history import NoHistory
from querybus_generator.generate import BUILTIN, Resources, generate
from querybus_generator.linking.linker import Linker
from querybus_generator.ports import ChatModel, Ports
from querybus_generator.prompts.texts import load_texts
from querybus_generator.settings import Settings
from querybus_recovery.guidance import load_guidance
from querybus_recovery.recover import recover
from querybus_recovery.rules.candidate import Repair
from querybus_validator.validate import validate

ROWS_MAX: Final = 100_000
SECONDS_PER_ITEM: Final = 60.0
STATEMENT_SECONDS: Final = 20.0
REPLAY: Final = "replay"
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
    rules: tuple[str, ...] = ()
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


class Place:
    """One database as the verbs see it: catalog, policy and engine."""

    def __init__(self, path: Path, children: Any) -> None:
        self.path = path
        self.catalog: Catalog = open_sqlite_catalog(path)
        self.engine = sqlite_edge(children, path, _POLICY)
        self.plain = open_read_only(path)
        self.linker = Linker()

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
    for number, item in enumerate(items, 1):
        if not {"db_id", "question", "gold"} <= item.keys():
            raise ValueError(f"item {number} needs db_id, question and gold")
        item.setdefault("id", str(number))
    return items


async def evaluate(
    items: Iterable[Mapping[str, Any]], databases: Path, model: str, *, policy: RepairPolicy | None = None
) -> list[Judged]:
    """Return what became of each item; ValueError for a model without an address or a database that is not there."""
    api = None if model in (REPLAY, BUILTIN) else _api(model)
    places: dict[str, Place] = {}
    children = sqlite_children(size=1, reserved=1)
    await children.start()
    if api is not None:
        await api.start()
    judged: list[Judged] = []
    try:
        for item in items:
            name = str(item["db_id"])
            if name not in places:
                places[name] = Place(database_file(databases, name), children)
            asking = Asking(item, places[name], model, None if api is None else Counted(api), policy)
            judged.append(await asking.judged())
    finally:
        await children.drain()
        if api is not None:
            await api.drain()
    return judged


def database_file(databases: Path, name: str) -> Path:
    """Return `<name>.sqlite` of the folder, or of the database's own folder in it; ValueError for neither."""
    for path in (databases / f"{name}.sqlite", databases / name / f"{name}.sqlite"):
        if path.is_file():
            return path
    raise ValueError(f"no database {databases / name}.sqlite")


def _api(model: str) -> ModelClient:
    settings = load(Settings)
    result = open_model(settings.model_copy(update={"llm_model": model}), Metrics(StageName.GENERATOR))
    if result is None:
        raise ValueError(f"a model is {REPLAY}, {BUILTIN}, or the name of one at QUERYBUS_LLM_BASE_URL")
    return result


class Counted:
    """A chat model whose calls and tokens are counted for one item."""

    def __init__(self, api: ChatModel) -> None:
        self._api = api
        self.calls = 0
        self.tokens_in = 0
        self.tokens_out = 0

    async def prompting(self, tenant: str, model: str | None) -> Prompting | None:
        """Return how the model is asked."""
        return await self._api.prompting(tenant, model)

    async def reply(
        self,
        messages: Sequence[ChatMessage],
        *,
        timeout_seconds: float,
        model: str | None = None,
        tenant: str = "",
        on_text: Callable[[str], None] | None = None,
    ) -> ModelReply | Failure:
        """Pass the call on and count it."""
        self.calls += 1
        said = await self._api.reply(
            messages, timeout_seconds=timeout_seconds, model=model, tenant=tenant, on_text=on_text
        )
        if isinstance(said, ModelReply):
            self.tokens_in += said.tokens_in
            self.tokens_out += said.tokens_out
        return said


class NoThread(NoHistory):
    """The history and the journal in one, of a question that is asked outside of any thread."""

    async def query_in_full(self, tenant: str, query: str, thread: str) -> tuple[Any, ...]:
        """Return none: nothing is ever confirmed here."""
        del tenant, query, thread
        return ()


class Asking:
    """One item on its way through the stages."""

    def __init__(
        self,
        item: Mapping[str, Any],
        place: Place,
        model: str,
        api: Counted | None,
        policy: RepairPolicy | None,
    ) -> None:
        self._item = item
        self._place = place
        self._model = model
        self._api = api
        self._policy = policy
        self._now = time.time_ns() // 1_000_000
        self._began = time.monotonic()
        self._repairs: list[Repair] = []
        self._code: FailureCode | None = None
        self._first = (False, False)

    async def judged(self) -> Judged:
        """Return what became of the item."""
        at: Envelope[Any] = self._asked()
        result: Envelope[Any] | Failure = await self._drafted(at)
        while True:
            failure: Failure | None = None
            stage = StageName.GENERATOR
            if isinstance(result, Failure):
                failure = result
            elif isinstance(result.body, Drafted):
                at = result
                ran = await self._through(result)
                if isinstance(ran, Envelope):
                    return self._answered(ran)
                failure, stage, at = ran
            if failure is None:
                assert isinstance(result, Envelope)  # noqa: S101 - only a failure is none
                body = cast("Concluded", result.body)
                sql = body.sql or next((attempt.sql for attempt in reversed(result.attempts)), None)
                return self._result(body.outcome.value, sql=sql, attempts=len(result.attempts))
            self._code = self._code or failure.code
            after = await self._recovered(failed(at, failure, stage))
            if isinstance(after.body, Returned):
                at, result = after, await self._redrafted(after)
            else:
                result = after

    def _asked(self) -> Envelope[Any]:
        today = date.fromisoformat(str(self._item["as_of"])) if self._item.get("as_of") else None
        question = str(self._item["question"])
        return Envelope[Asked].model_construct(
            event=EventName.ASKED,
            query_id="evaluate",
            thread_id="evaluate",
            tenant="local",
            user="evaluate",
            audience="analyst",
            connection=str(self._item["db_id"]),
            question=question,
            language=detect_language(question),
            options=Options(
                mode=Mode.DATABASE,
                rows_max=ROWS_MAX,
                deadline_seconds=SECONDS_PER_ITEM,
                today=today,
                repair_policy=self._policy,
                model=self._model if self._model != REPLAY else None,
            ),
            asked_at=self._now,
            deadline_at=self._now + int(SECONDS_PER_ITEM * 1_000),
            body=Asked.model_construct(),
        )

    async def _drafted(self, asked: Envelope[Any]) -> Envelope[Any] | Failure:
        if self._model != REPLAY:
            return await self._generated(asked)
        text = str(self._item.get("pred", "")).strip()
        sql = extract(text, Dialect.SQLITE)
        if isinstance(sql, Failure) and not text:
            return sql
        # What is no reply of prose is a statement, however broken: recovery's rules look at it.
        statement = text if isinstance(sql, Failure) else sql
        return drafted(asked, Drafted(draft=Draft(sql=statement, dialect=Dialect.SQLITE, origin=Origin.MODEL)))

    async def _redrafted(self, returned: Envelope[Returned]) -> Envelope[Any] | Failure:
        if self._model != REPLAY:
            return await self._generated(returned)
        # The recording holds no further answer: the budget is spent.
        spent = returned.retries.model_copy(update={"generation": returned.options.retries_max})
        without = returned.model_copy(update={"retries": spent}).with_body(
            Returned.model_construct(**{**returned.body.__dict__, "draft": None})
        )
        silence = Failure.of(FailureCode.UNKNOWN_GENERATION_FAILURE, "no further answer")
        return await self._recovered(failed(without, silence, StageName.GENERATOR))

    async def _generated(self, envelope: Envelope[Any]) -> Envelope[Any] | Failure:
        return await generate(
            envelope,
            self._delivery(),
            ports=Ports(catalogs=self._place, connections=self._place, history=_ALONE, model=self._api),
            resources=Resources(linker=self._place.linker, texts=_TEXTS),
        )

    async def _through(self, envelope: Envelope[Any]) -> Envelope[Approved] | tuple[Failure, StageName, Envelope[Any]]:
        """Return the approval of a draft that ran, or what failed, where, and the event that it failed on."""
        place = self._place
        checked = await validate(
            envelope, self._delivery(), catalogs=place, connections=place, database=place, log=_ALONE
        )
        if isinstance(checked, Failure):
            return checked, StageName.VALIDATOR, envelope
        if not isinstance(checked.body, Approved):
            return Failure.of(FailureCode.SAFETY, "the statement would change data"), StageName.VALIDATOR, envelope
        approval = cast("Envelope[Approved]", checked)
        rows = await place.engine.run(
            approval.body.sql, rows_max=ROWS_MAX, seconds_max=STATEMENT_SECONDS, purpose=Purpose.EXECUTE
        )
        return (rows, StageName.EXECUTOR, approval) if isinstance(rows, Failure) else approval

    async def _recovered(self, envelope: Envelope[Any]) -> Envelope[Any]:
        return await recover(
            envelope,
            self._delivery(),
            catalogs=self._place,
            connections=self._place,
            guidance=_GUIDANCE,
            on_repair=self._repairs.append,
        )

    def _delivery(self) -> Delivery:
        spent_ms = round((time.monotonic() - self._began) * 1_000)
        return Delivery(sequence=1, deliveries=1, now_ms=self._now + spent_ms)

    def _answered(self, approval: Envelope[Approved]) -> Judged:
        sql, attempts = approval.body.sql, len(approval.attempts)
        is_right = self._place.is_right(sql, str(self._item["gold"]))
        if attempts == 1:
            self._first = (True, is_right)
        return self._result(
            "answered",
            final=(True, is_right),
            sql=sql,
            attempts=attempts,
            confidence=approval.body.analysis.confidence,
        )

    def _result(
        self,
        outcome: str,
        *,
        final: tuple[bool, bool] = (False, False),
        sql: str | None = None,
        attempts: int = 0,
        confidence: float | None = None,
    ) -> Judged:
        counted = self._api
        return Judged(
            id=str(self._item["id"]),
            outcome=outcome,
            first_executable=self._first[0],
            first_right=self._first[1],
            final_executable=final[0],
            final_right=final[1],
            sql=sql,
            attempts=attempts,
            confidence=confidence,
            first_code=self._code.value if self._code else None,
            mended=final[0] and not self._first[0],
            milliseconds=round((time.monotonic() - self._began) * 1_000, 1),
            rules=tuple(dict.fromkeys(step.rule.value for repair in self._repairs for step in repair.steps)),
            calls=counted.calls if counted else 0,
            tokens_in=counted.tokens_in if counted else 0,
            tokens_out=counted.tokens_out if counted else 0,
        )


_GUIDANCE: Final = load_guidance()
_TEXTS: Final = load_texts()
_ALONE: Final = NoThread()


def totals(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return the figures of a run: counts, and by the class of the first failure what became of it."""
    by_class: dict[str, Counter[str]] = {}
    by_rule: dict[str, Counter[str]] = {}
    for item in judged:
        for rule in item.rules:
            by_rule.setdefault(rule, Counter()).update(
                items=1, executable=int(item.final_executable), right=int(item.final_right)
            )
        if item.first_code is not None:
            by_class.setdefault(item.first_code, Counter()).update(
                items=1, executable=int(item.final_executable), right=int(item.final_right)
            )
    return {
        "items": len(judged),
        "first_executable": sum(item.first_executable for item in judged),
        "first_right": sum(item.first_right for item in judged),
        "final_executable": sum(item.final_executable for item in judged),
        "final_right": sum(item.final_right for item in judged),
        "fixed": sum(item.final_right and not item.first_right for item in judged),
        "broken": sum(item.first_right and not item.final_right for item in judged),
        "outcomes": dict(Counter(outcome.outcome for outcome in judged)),
        "by_first_failure": {name: dict(counts) for name, counts in sorted(by_class.items())},
        "by_rule": {name: dict(counts) for name, counts in sorted(by_rule.items())},
        "calls": sum(item.calls for item in judged),
        "tokens_in": sum(item.tokens_in for item in judged),
        "tokens_out": sum(item.tokens_out for item in judged),
        "milliseconds": round(sum(item.milliseconds for item in judged), 1),
    }


def compared(judged: Sequence[Judged], other: Path) -> dict[str, list[str]]:
    """Return the ids of the items that are right only here and only in the other run's file."""
    lines = other.read_text(encoding="utf-8").splitlines()
    before = {str(line["id"]): bool(line["final_right"]) for line in map(json.loads, lines)}
    return {
        "only_here": [item.id for item in judged if item.final_right and before.get(item.id) is False],
        "only_there": [item.id for item in judged if not item.final_right and before.get(item.id) is True],
    }


def write_items(judged: Sequence[Judged], path: Path) -> None:
    """Write one JSON line per item."""
    path.write_text("".join(json.dumps(asdict(item), ensure_ascii=False) + "\n" for item in judged), encoding="utf-8")
