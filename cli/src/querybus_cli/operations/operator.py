"""What `dead`, `history` and `replay` do, as the bus user `operator`; every refusal says what to type instead."""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from querybus.bus.admin.operator import Letter, OperatorActions
from querybus.bus.admin.permissions import BACKUP_USER, OPERATOR
from querybus.bus.connection import BusRefused, connect
from querybus.bus.log.journal import Entry, LogTooLong
from querybus.bus.log.publish import BusTrouble, TooLarge
from querybus.core.envelope import Envelope, Undecodable
from querybus.core.ids import derived_id, is_id
from querybus.core.messages import Concluded
from querybus.core.subjects import ROOT, EventName, StageName, parse_event_subject
from querybus_cli.operations.replay import asked_again, shadow_of
from querybus_cli.runtime import UsageError, read_json
from querybus_gateway.public.redaction import public_event

OPERATOR_FILE: Final = "operator.json"
"""Where `querybus up` leaves for the commands of this machine how to reach its bus."""

PASSWORDS: Final = {
    OPERATOR: "nats_password",
    StageName.GATEWAY.value: "gateway_password",
    BACKUP_USER: "backup_password",
}
"""Under which names the file holds the passwords of bus users."""

BEGIN_SECONDS_MAX: Final = 15.0
"""How long a replayed question may wait for a gateway to take it."""
LATE_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.2

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the bus is, and the operator's password.

    `model_hosts_allowed`: a stack of this machine lets nothing leave but to these hosts. None: its rule is not known.
    """

    url: str
    password: str
    model_hosts_allowed: tuple[str, ...] | None = None


def place_of(url: str | None, password: str | None, store: Path, user: str = OPERATOR) -> Place:
    """Return what was given, or what a stack on this machine has left in its store for this bus user; UsageError for neither."""
    if url and password:
        return Place(url, password)
    file = store / OPERATOR_FILE
    known: Json = read_json(file) if file.is_file() else {}
    name = PASSWORDS[user]
    if name not in known:
        raise UsageError(
            f"which bus? no stack runs in {store}: start one with `querybus up`, name its folder with --store, "
            f"or set QUERYBUS_NATS_URL and QUERYBUS_NATS_PASSWORD (of the bus user `{user}`)"
        )
    hosts = known.get("model_hosts_allowed")
    return Place(known["nats_url"], known[name], None if hosts is None else tuple(hosts))


@asynccontextmanager
async def context(place: Place) -> AsyncGenerator[OperatorActions]:
    """Give an operator's context; what the bus refuses becomes a UsageError."""
    try:
        connection = await connect(place.url, OPERATOR, place.password)
    except BusRefused as error:
        raise UsageError(str(error)) from error
    try:
        yield OperatorActions(connection)
    except (BusTrouble, TooLarge) as trouble:
        raise UsageError(f"the bus: {trouble}") from trouble
    except LogTooLong as error:
        raise UsageError("the thread has more events than can be listed; name one of its queries") from error
    finally:
        await connection.close()


def letter_view(letter: Letter, *, whole: bool = False) -> Json:
    """Return a dead letter as JSON; `whole` with its bytes, as text where they are UTF-8, else in base 64."""
    view: Json = {
        "sequence": letter.sequence,
        "at": letter.stored_at,
        "stage": letter.stage,
        "reason": letter.reason,
        "subject": letter.subject,
        "subject_sequence": letter.subject_sequence,
        "deliveries": letter.deliveries,
        "bytes": len(letter.data),
    }
    if whole:
        try:
            view["data"] = letter.data.decode()
        except UnicodeDecodeError:
            view["data_base64"] = base64.b64encode(letter.data).decode()
    return view


async def letters(place: Place, stage: StageName | None, after: int, limit: int) -> list[Json]:
    """Return the dead letters behind a sequence, oldest first."""
    async with context(place) as here:
        return [letter_view(letter) for letter in await here.letters(stage=stage, after=after, limit=limit)]


async def letter(place: Place, sequence: int) -> Json:
    """Return one dead letter with its bytes; UsageError if there is none."""
    async with context(place) as here:
        return letter_view(await _letter(here, sequence), whole=True)


async def drop(place: Place, sequences: Sequence[int]) -> None:
    """Delete dead letters for good; UsageError names the first that is not there, those before it are gone."""
    async with context(place) as here:
        for sequence in sequences:
            if not await here.drop(sequence):
                raise UsageError(f"there is no dead letter {sequence}: see `querybus operate dead list`")


async def replay_letter(place: Place, sequence: int) -> Json:
    """Ask the question of a dead letter again, for its asker; the letter stays until it is dropped.

    A second replay of the same letter is the same query. Returns {query_id, of} or, for a submitted question that
    never became a query, {submitted}.
    """
    async with context(place) as here:
        dead = await _letter(here, sequence)
        address = parse_event_subject(dead.subject)
        if address is None:
            if not dead.subject.startswith(f"{ROOT}.submit."):
                raise UsageError(f"dead letter {sequence} was on {dead.subject!r}, which nothing reads again")
            await here.resubmit(dead)
            return {"submitted": dead.subject, "of": None}
        first = _first(await here.query(address.tenant, address.query))
        if first is None:
            raise UsageError(f"the question of {address.query} can no longer be read: it has aged, or was no question")
        query_id = derived_id("dead", first.tenant, first.query_id, str(sequence))
        again = asked_again(first, query_id=query_id, now_ms=_now_ms())
        if again is None:
            raise UsageError(f"{first.query_id} began with a person's yes to a write, which is never run again")
        if not await here.query(first.tenant, query_id):
            await here.submit(again)
            await _begun(here, first.tenant, query_id)
        return {"query_id": query_id, "of": first.query_id}


async def history(place: Place, tenant: str, name: str, until: int) -> list[Json]:
    """Return every event of a query or of a thread up to a sequence (0: all), as an analyst may see them."""
    if not is_id(name):
        raise UsageError(f"{name!r} is no id of a query or a thread")
    async with context(place) as here:
        entries = await here.query(tenant, name)
        # A thread's id is that of its first query: more than this query's own events makes it a thread.
        of_thread = await here.thread(tenant, name)
    entries = of_thread if len(of_thread) > len(entries) else entries
    if not entries:
        raise UsageError(f"tenant {tenant} has no query and no thread {name}: its log has aged, or say --tenant")
    return [_event_view(entry) for entry in entries if not until or entry.sequence <= until]


async def replay(place: Place, tenant: str, query: str) -> Json:
    """Run a query once more as a shadow and return both ends: {query_id, of, same, was, is}.

    The shadow answers nobody, writes nothing and counts nowhere.
    """
    if not is_id(query):
        raise UsageError(f"{query!r} is no id of a query")
    async with context(place) as here:
        log = await here.query(tenant, query)
        first = _first(log)
        if first is None:
            raise UsageError(f"tenant {tenant} has no query {query} that can be read: it has aged, or say --tenant")
        now = _now_ms()
        shadow_id = derived_id("shadow", first.tenant, first.query_id, str(now))
        shadow = shadow_of(first, query_id=shadow_id, now_ms=now)
        if shadow is None:
            raise UsageError(f"{query} began with a person's yes to a write, which is never run again")
        await here.submit(shadow)
        await _begun(here, tenant, shadow_id)
        until = time.monotonic() + (shadow.deadline_at - now) / 1_000 + LATE_SECONDS
        while (end := _end(result := await here.query(tenant, shadow_id))) is None:
            if time.monotonic() > until:
                raise UsageError(f"the shadow {shadow_id} has not ended: see `querybus history {shadow_id}`")
            await asyncio.sleep(_POLL_SECONDS)
        was = _end(log)
        del result
        return {"query_id": shadow_id, "of": query, "same": was == end, "was": was, "is": end}


async def _letter(here: OperatorActions, sequence: int) -> Letter:
    result = await here.letter(sequence)
    if result is None:
        raise UsageError(f"there is no dead letter {sequence}: see `querybus operate dead list`")
    return result


async def _begun(here: OperatorActions, tenant: str, query_id: str) -> None:
    until = time.monotonic() + BEGIN_SECONDS_MAX
    while not await here.query(tenant, query_id):
        if time.monotonic() > until:
            raise UsageError(
                f"no gateway has taken {query_id} within {BEGIN_SECONDS_MAX:.0f} s; it stays in the submit queue "
                f"(does a gateway run, and name {tenant} in QUERYBUS_TENANTS?)"
            )
        await asyncio.sleep(_POLL_SECONDS)


def _first(log: Sequence[Entry]) -> Envelope[Any] | None:
    for entry in log:
        if entry.address.event in (EventName.ASKED, EventName.CONFIRMED):
            try:
                return entry.envelope()
            except Undecodable:
                return None
    return None


def _end(log: Sequence[Entry]) -> Json | None:
    """Return how a finished query was concluded, in what can be compared; None while it has no `finished`."""
    if not log or log[-1].address.event is not EventName.FINISHED:
        return None
    for entry in reversed(log):
        if entry.address.event is EventName.CONCLUDED:
            body = entry.envelope().body
            assert isinstance(body, Concluded)  # noqa: S101 - decoded for this event
            return {
                "outcome": body.outcome.value,
                "code": body.code.value if body.code else None,
                "sql": body.sql,
                "row_count": body.result.row_count if body.result else None,
                "rows": [list(row) for row in body.result.rows] if body.result else None,
            }
    return {"outcome": None, "code": None, "sql": None, "row_count": None, "rows": None}


def _event_view(entry: Entry) -> Json:
    base: Json = {
        "sequence": entry.sequence,
        "at": entry.stored_at,
        "event": entry.address.event.value,
        "query_id": entry.address.query,
        "thread_id": entry.address.thread,
        "message_id": entry.message_id,
    }
    try:
        envelope = entry.envelope()
    except Undecodable as error:
        return base | {"unreadable": error.reason}
    return public_event(envelope, "analyst") | base | {"shadow_of": envelope.shadow_of}


def line_of(event: Json) -> str:
    """Return an event as one line for people."""
    reported = (
        event.get("question") or event.get("sql") or event.get("detail") or event.get("unreadable") or ""
        if event["event"] != "finished"
        else event["answer"]["message"]
    )
    word = event.get("outcome") or event.get("code") or ""
    return f"{event['sequence']:>10}  {moment(event['at'])}  {event['event']:10} {word:16} {' '.join(str(reported).split())[:120]}"


def moment(at: int) -> str:
    """Return a time in milliseconds as UTC text."""
    return dt.datetime.fromtimestamp(at / 1_000, dt.UTC).strftime("%Y-%m-%d %H:%M:%S")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
