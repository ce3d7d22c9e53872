"""Threads as every API offers them: list, turns, events, the state at any earlier event, fork, delete.

A thread is read by whoever asked its questions, turn by turn under the same rule as a single query; for everybody else
it does not exist. The log is the only record: a state is folded from it, a fork names a place on it, and a deletion
purges it with its pages. What is still running is never deleted.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, cast

from querybus.bus.log.journal import Entry, LogTooLong
from querybus.bus.log.publish import BusTrouble, TooLarge
from querybus.core.credential import Credential
from querybus.core.envelope import Envelope, Undecodable
from querybus.core.ids import is_id, time_ordered_id
from querybus.core.messages import Asked, Concluded, Finished, ForkedFrom
from querybus.core.stored.audit import AuditKind
from querybus.core.stored.thread import ThreadRecord, record_of
from querybus.core.subjects import EventName
from querybus.ops.clock import Clock, RandomBits
from querybus.ops.log import get_log
from querybus_gateway.access.quotas import Allowances
from querybus_gateway.admit import RANDOM_BITS
from querybus_gateway.ports import Audit, Purge
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.redaction import Json, public_analysis, public_answer, public_event, shown, status_of
from querybus_gateway.public.resources import DescribedThreadView, ForkedFromView, ThreadView
from querybus_gateway.use_cases.resources import connection_of, is_reader

LISTED_MAX: Final = 100
TURNS_MAX: Final = 100
STATE_TURNS_MAX: Final = 20
EVENTS_MAX: Final = 200
BUS_RETRY_SECONDS: Final = 2
METADATA_BYTES_MAX: Final = 8_192
PAGES_SKIPPED_MAX: Final = 10
ERASE_TRIES_MAX: Final = 10
DELETIONS_AT_ONCE_MAX: Final = 4
"""Each deletion has a connection to the bus of its own, so a replica makes few at once."""
ERASE_PAUSE_SECONDS: Final = 0.2

_MISSING: Final = Problem(ProblemCode.NOT_FOUND, "there is no such thread")
_TOO_LONG: Final = Problem(ProblemCode.INVALID, "the thread has too many turns for this")
_log = get_log(__name__)


class ThreadLog(Protocol):
    """The stored events, thread by thread. Raises BusTrouble and LogTooLong."""

    async def thread(
        self,
        tenant: str,
        thread: str,
        *,
        until_sequence: int = 0,
        turns_max: int = 20,
        events: Sequence[EventName] = (EventName.CONCLUDED, EventName.FINISHED),
    ) -> Sequence[Entry]: ...

    async def thread_events(
        self, tenant: str, thread: str, *, after_sequence: int = 0, events_max: int = EVENTS_MAX
    ) -> Sequence[Entry]: ...

    async def thread_ends(self, tenant: str, thread: str) -> Sequence[Entry]: ...

    async def events(self, tenant: str, query: str, after_sequence: int = 0) -> Sequence[Entry]: ...


class ThreadIndex(Protocol):
    """Which threads a user has. Raises BusTrouble."""

    async def put(self, tenant: str, record: ThreadRecord) -> None: ...
    async def replace(self, tenant: str, record: ThreadRecord) -> None: ...
    async def get(self, tenant: str, user: str, thread: str) -> ThreadRecord | None: ...
    async def remove(self, tenant: str, user: str, thread: str) -> None: ...
    async def newest(
        self, tenant: str, user: str, *, limit: int, before: int = 0
    ) -> tuple[tuple[ThreadRecord, ...], int]: ...


class Threads:
    """The threads of all tenants, as the APIs see them."""

    def __init__(
        self,
        *,
        log: ThreadLog,
        index: ThreadIndex,
        purge: Purge | None,
        audit: Audit,
        allowances: Allowances,
        clock: Clock,
        random_bits: RandomBits,
    ) -> None:
        """Without a purge user threads cannot be deleted here."""
        self._allowances = allowances
        self._deleting = asyncio.Semaphore(DELETIONS_AT_ONCE_MAX)
        self._log = log
        self._index = index
        self._purge = purge
        self._audit = audit
        self._clock = clock
        self._random_bits = random_bits

    async def begun(self, asked: Envelope[Asked]) -> None:
        """Make the thread that a first question begins listable; never raises, because the question counts more."""
        if asked.body.thread_until_sequence or asked.shadow_of is not None:
            return
        record = record_of(asked)
        try:
            if asked.thread_id == asked.query_id or record.forked_from is not None:
                await self._index.put(asked.tenant, record)
                return
            opened = await self._index.get(asked.tenant, asked.user, asked.thread_id)
            if opened is not None and not opened.title:
                kept = {"created_at": opened.created_at, "metadata": opened.metadata}
                await self._index.replace(asked.tenant, record.model_copy(update=kept))
        except (BusTrouble, TooLarge) as trouble:
            _log.warning("thread.not_listed", query_id=asked.query_id, reason=str(trouble))

    async def open(
        self, credential: Credential, *, thread: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> Json | Problem:
        """Begin a thread before its first question, under an id of the client's own if it names one.

        Returns it as a DescribedThreadView; `already_exists` if the caller has a thread of that id. It counts as a question,
        because it is kept as one.
        """
        if thread is not None and not is_id(thread):
            return Problem(ProblemCode.INVALID, "a thread's id is a UUID")
        if (refused := _metadata_fault(metadata)) is not None:
            return refused
        now = self._clock()
        record = ThreadRecord(
            thread_id=thread or time_ordered_id(now, self._random_bits(RANDOM_BITS)),
            user=credential.user,
            audience=credential.audience,
            connection="",
            title="",
            created_at=now,
            metadata=dict(metadata or {}),
            only_verified=credential.caps.only_verified_always,
        )
        try:
            if (spent := await self._allowances.take(credential.tenant)) is not None:
                return spent
            if thread is not None and await self._is_taken(thread, credential):
                return Problem(ProblemCode.ALREADY_EXISTS, "there is a thread of this id")
            await self._index.put(credential.tenant, record)
        except (BusTrouble, LogTooLong) as trouble:
            return _trouble(trouble)
        return _record_view(record, DescribedThreadView)

    async def _is_taken(self, thread: str, credential: Credential) -> bool:
        known = await self._index.get(credential.tenant, credential.user, thread)
        return known is not None or bool(await self._log.thread_ends(credential.tenant, thread))

    async def record(self, thread: str, credential: Credential) -> Json | Problem:
        """Return a thread as a DescribedThreadView."""
        try:
            known = await self.origin(thread, credential) if is_id(thread) else None
        except BusTrouble as trouble:
            return _trouble(trouble)
        return _MISSING if known is None else _record_view(known, DescribedThreadView)

    async def describe(self, thread: str, credential: Credential, metadata: Mapping[str, Any]) -> Json | Problem:
        """Keep more metadata with a thread, member by member, and return it as a DescribedThreadView."""
        try:
            known = await self.origin(thread, credential) if is_id(thread) else None
            if known is None:
                return _MISSING
            merged = {**known.metadata, **metadata}
            if (refused := _metadata_fault(merged)) is not None:
                return refused
            record = known.model_copy(update={"metadata": merged})
            await self._index.replace(credential.tenant, record)
        except BusTrouble as trouble:
            return _trouble(trouble)
        return _record_view(record, DescribedThreadView)

    async def origin(self, thread: str, credential: Credential) -> ThreadRecord | None:
        """Return the record of a thread of this caller, also of one in which nothing was asked yet. BusTrouble."""
        record = await self._index.get(credential.tenant, credential.user, thread)
        return record if record is not None and _owns(record, credential) else None

    async def list(
        self, credential: Credential, *, limit: int = 20, cursor: str = "", view: type[ThreadView] = ThreadView
    ) -> Json | Problem:
        """Return `{threads, next_cursor}`: the caller's threads, those that began last first, each as a `view`.

        `next_cursor` is None on the last page.
        """
        if cursor and not (cursor.isascii() and cursor.isdigit()):
            return Problem(ProblemCode.INVALID, "that is no cursor of this list")
        before, most = int(cursor or 0), min(max(1, limit), LISTED_MAX)
        threads: list[Json] = []
        # Of a person's threads a business credential sees some: a page without any is no page to give.
        for _ in range(PAGES_SKIPPED_MAX):
            try:
                records, before = await self._index.newest(
                    credential.tenant, credential.user, limit=most, before=before
                )
            except BusTrouble as trouble:
                return _trouble(trouble)
            threads = [_record_view(record, view) for record in records if _owns(record, credential)]
            if threads or not before:
                break
        return {"threads": threads, "next_cursor": str(before) if before else None}

    async def turns(
        self,
        thread: str,
        credential: Credential,
        *,
        limit: int = 20,
        before_sequence: int = 0,
        with_answers: bool = False,
    ) -> Json | Problem:
        """Return `{thread_id, forked_from, turns}`, the newest turns before a sequence (0: all), oldest first.

        A turn: query_id, question, status, outcome, code, message, summary, row_count, asked_at, deadline_at,
        sequence (of its first event) and last_sequence; analysts see its sql.
        `with_answers` adds the whole answer, the last event that is known and, for analysts, how the draft came about.
        """
        most = min(max(1, limit), TURNS_MAX)
        # Sequence 0 would mean all of them, and before the first event there is nothing.
        result = (
            await self._fold(thread, credential, max(0, before_sequence - 1), most, with_answers=with_answers)
            if before_sequence != 1
            else _MISSING
        )
        if before_sequence and result is _MISSING:
            result = await self._fold(thread, credential, 0, 1)
            if not isinstance(result, Problem):
                result["turns"] = []
        if isinstance(result, Problem):
            return result
        return {name: result[name] for name in ("thread_id", "forked_from", "turns")}

    async def state(self, thread: str, credential: Credential, *, at_sequence: int = 0) -> Json | Problem:
        """Return the thread as it stood once the event at this stream sequence was stored (0: as it stands).

        What `turns` returns for its newest turns, and of the last event: sequence, at, event, query_id, status.
        """
        return await self._fold(thread, credential, at_sequence, STATE_TURNS_MAX)

    async def events(
        self, thread: str, credential: Credential, *, after_sequence: int = 0, limit: int = EVENTS_MAX
    ) -> Json | Problem:
        """Return `{thread_id, events, next_after}`: every event of the thread behind a sequence, oldest first.

        Each is the public view of the event with its `sequence`: what `state` and `fork` take.
        """
        most = min(max(1, limit), EVENTS_MAX)
        try:
            if not is_id(thread):
                return _MISSING
            entries = await self._log.thread_events(
                credential.tenant, thread, after_sequence=after_sequence, events_max=most
            )
            if not entries and await self._index.get(credential.tenant, credential.user, thread) is None:
                return _MISSING
        except BusTrouble as trouble:
            return _trouble(trouble)
        except LogTooLong:
            return _TOO_LONG
        views = [_event_view(entry, credential) for entry in entries]
        seen = [view for view in views if view is not None]
        if entries and not seen:
            return _MISSING
        next_after = entries[-1].sequence if len(entries) == most else None
        return {"thread_id": thread, "events": seen, "next_after": next_after}

    async def fork(
        self, thread: str, credential: Credential, *, at_sequence: int = 0, query_id: str | None = None
    ) -> Json | Problem:
        """Begin a new thread that knows this one up to a sequence, or up to the end of one of its turns.

        Of a turn that still runs the question is known, no more. Returns the new thread as `list` shows it; its first question names it as `thread_id`.
        A fork counts as a question of its tenant, because it is kept as one.
        """
        try:
            if (refused := await self._allowances.take(credential.tenant)) is not None:
                return refused
        except BusTrouble as trouble:
            return _trouble(trouble)
        if query_id is not None:
            result = await self._end_of_turn(thread, credential, query_id)
            if isinstance(result, Problem):
                return result
            at_sequence = result
        state = await self._fold(thread, credential, at_sequence, STATE_TURNS_MAX)
        if isinstance(state, Problem):
            return state
        now = self._clock()
        last = state["turns"][-1]
        record = ThreadRecord(
            thread_id=time_ordered_id(now, self._random_bits(RANDOM_BITS)),
            user=credential.user,
            audience=credential.audience,
            connection=state["connection"],
            title=last["question"][:200],
            created_at=now,
            forked_from=ForkedFrom(thread_id=thread, sequence=state["sequence"]),
            only_verified=credential.caps.only_verified_always,
        )
        try:
            await self._index.put(credential.tenant, record)
        except BusTrouble as trouble:
            return _trouble(trouble)
        return _record_view(record, ThreadView)

    async def _end_of_turn(self, thread: str, credential: Credential, query_id: str) -> int | Problem:
        if not is_id(thread):
            return _MISSING
        try:
            ends = await self._log.thread_ends(credential.tenant, thread)
        except BusTrouble as trouble:
            return _trouble(trouble)
        except LogTooLong:
            return _TOO_LONG
        mine = [item for item in ends if item.address.query == query_id and _readable(item, credential) is not None]
        return mine[-1].sequence if mine else Problem(ProblemCode.NOT_FOUND, "the thread has no such turn")

    async def delete(self, thread: str, credential: Credential) -> Problem | None:
        """Purge the thread: its log and pages. Returns why not, or None once nothing of it is left.

        `not_finished` while one of its questions runs. A question that comes in between survives, as its own first.
        """
        if self._purge is None:
            return Problem(ProblemCode.SCOPE, "threads cannot be deleted on this server")
        if not is_id(thread):
            return _MISSING
        try:
            ends = await self._log.thread_ends(credential.tenant, thread)
            firsts = [item for item in ends if item.address.event is not EventName.FINISHED]
            known = await self._index.get(credential.tenant, credential.user, thread)
            readable = [_readable(first, credential) is not None for first in firsts]
            if not all(readable) or not (firsts or (known is not None and _owns(known, credential))):
                return _MISSING
            finished = {item.address.query for item in ends if item.address.event is EventName.FINISHED}
            if any(first.address.query not in finished for first in firsts):
                return Problem(ProblemCode.NOT_FINISHED, "a question of the thread still runs: wait or cancel it")
            if ends:
                await self._audit.record(AuditKind.THREAD_DELETED, credential, thread_id=thread)
                async with self._deleting:
                    await self._erase(self._purge, thread, credential, ends)
            if not await self._log.thread_ends(credential.tenant, thread):
                # A question that came meanwhile keeps its thread listed.
                await self._index.remove(credential.tenant, credential.user, thread)
        except BusTrouble as trouble:
            return _trouble(trouble)
        except LogTooLong:
            return _TOO_LONG
        return None

    async def _erase(self, purge: Purge, thread: str, credential: Credential, ends: Sequence[Entry]) -> None:
        until = ends[-1].sequence
        queries = tuple(dict.fromkeys(item.address.query for item in ends))
        for _ in range(ERASE_TRIES_MAX):
            await purge.erase(credential.tenant, thread, queries, until_sequence=until)
            left = await self._log.thread_ends(credential.tenant, thread)
            if not any(item.sequence <= until for item in left):
                return
            # Read from a replica that lags behind the leader.
            await asyncio.sleep(ERASE_PAUSE_SECONDS)
        raise BusTrouble("the log of the thread does not settle")

    async def _fold(
        self,
        thread: str,
        credential: Credential,
        until_sequence: int,
        turns_max: int,
        *,
        with_answers: bool = False,
    ) -> Json | Problem:
        if not is_id(thread):
            return _MISSING
        try:
            entries = await self._log.thread(
                credential.tenant, thread, until_sequence=until_sequence, turns_max=turns_max
            )
            turns = _by_query(entries)
            mine = {query: log for query, log in turns.items() if _readable(log[0], credential) is not None}
            # What had not ended at that sequence is read event by event; mostly that is one turn or none.
            for query, log in mine.items():
                if log[-1].address.event is not EventName.FINISHED:
                    events = await self._log.events(credential.tenant, query)
                    upto = [event for event in events if not until_sequence or event.sequence <= until_sequence]
                    mine[query] = upto or log
            record = await self._index.get(credential.tenant, credential.user, thread)
        except BusTrouble as trouble:
            return _trouble(trouble)
        except LogTooLong:
            return _TOO_LONG
        if not mine:
            return _MISSING
        last = max((log[-1] for log in mine.values()), key=lambda item: item.sequence)
        origin = record.forked_from if record is not None else None
        return {
            "thread_id": thread,
            "forked_from": _fork_view(origin),
            "connection": connection_of([log[-1] for log in mine.values()]) or "",
            "sequence": last.sequence,
            "at": last.stored_at,
            "event": last.address.event.value,
            "query_id": last.address.query,
            "status": status_of([last.address.event]),
            "turns": [_turn(log, credential, with_answers=with_answers) for log in mine.values()],
        }


def _by_query(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    logs: dict[str, list[Entry]] = {}
    for entry in entries:
        logs.setdefault(entry.address.query, []).append(entry)
    return logs


def _readable(entry: Entry, credential: Credential) -> Envelope[Any] | None:
    """Return the event if this caller may read the query that it belongs to."""
    try:
        envelope = entry.envelope()
    except Undecodable:
        return None
    return envelope if is_reader(envelope, credential) else None


def _owns(record: ThreadRecord, credential: Credential) -> bool:
    is_seen = credential.audience == "analyst" or record.audience == "business"
    is_free = record.only_verified or not credential.caps.only_verified_always
    return record.user == credential.user and is_seen and is_free and credential.may_use(record.connection)


def _turn(log: Sequence[Entry], credential: Credential, *, with_answers: bool = False) -> Json:
    known = [envelope for envelope in (_readable(entry, credential) for entry in log) if envelope is not None]
    first = known[0]
    view: Json = {
        "query_id": first.query_id,
        "connection": known[-1].connection,
        "question": first.question,
        "status": status_of([entry.address.event for entry in log]),
        "outcome": None,
        "code": None,
        "message": "not finished yet",
        "summary": "",
        "row_count": 0,
        "asked_at": first.asked_at,
        "deadline_at": first.deadline_at,
        "sequence": log[0].sequence,
        "last_sequence": log[-1].sequence,
    }
    if with_answers:
        view["last_event"] = log[-1].address.event.value
    for envelope in known:
        if isinstance(envelope.body, Concluded):
            seen = public_event(envelope, credential.audience)
            view |= {name: seen[name] for name in ("outcome", "code", "sql") if name in seen}
            if with_answers and credential.audience == "analyst":
                view["analysis"] = public_analysis(envelope.body.analysis)
        elif isinstance(envelope.body, Finished):
            answer = public_answer(cast("Envelope[Finished]", envelope), credential.audience)
            names = ("outcome", "code", "message", "summary", "row_count", "sql")
            view |= {name: answer[name] for name in names if name in answer}
            if with_answers:
                view["answer"] = answer
    return view


def _event_view(entry: Entry, credential: Credential) -> Json | None:
    envelope = _readable(entry, credential)
    return None if envelope is None else public_event(envelope, credential.audience) | {"sequence": entry.sequence}


def _record_view(record: ThreadRecord, view: type[ThreadView]) -> Json:
    return shown(view, record.audience, record)


def _fork_view(origin: ForkedFrom | None) -> Json | None:
    return None if origin is None else shown(ForkedFromView, "business", origin)


def _metadata_fault(metadata: Mapping[str, Any] | None) -> Problem | None:
    if len(json.dumps(metadata or {}, ensure_ascii=False).encode()) > METADATA_BYTES_MAX:
        return Problem(ProblemCode.TOO_LARGE, f"metadata of a thread has at most {METADATA_BYTES_MAX} bytes")
    return None


def _trouble(trouble: BusTrouble | LogTooLong) -> Problem:
    _log.warning("api.bus_trouble", reason=str(trouble))
    return Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)
