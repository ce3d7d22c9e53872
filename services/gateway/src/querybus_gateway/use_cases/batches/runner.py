"""Runs batches: a loop in every replica takes what is open and unleased, asks the items and writes down their ends.

The lease stands in the manifest and is renewed with it; who loses a revision lets go. An item's query id follows from
the batch, so whoever goes on after a crash asks the same queries and receives the same answers: nothing is asked twice.
Limits: BATCHES_MAX at once in one replica; a lease of ten seconds, so a dead runner is replaced within that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Protocol, cast

from querybus.bus.log.publish import BusTrouble, TooLarge
from querybus.bus.stores.batches import Mark
from querybus.core.credential import TOKEN_CREDENTIAL, Credential
from querybus.core.envelope import Envelope
from querybus.core.messages import Asked, Clarifies, Outcome
from querybus.core.requests.refinement import Refinement
from querybus.core.stored.batch import LATE_MS_MAX, LEASE_MS, Manifest, begun, due, ended, failing, mending, not_begun
from querybus.core.subjects import EventName, token
from querybus.ops.clock import Clock
from querybus.ops.log import get_log
from querybus.ops.run import end
from querybus_gateway.admit import AskRequest
from querybus_gateway.ports import Credentials, Log
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.batches.batches import BatchesKept, enriched_question, item_request
from querybus_gateway.use_cases.queries import Begun
from querybus_gateway.use_cases.resources import Reply

BATCHES_MAX: Final = 32
TICK_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 1.0
STALE_SECONDS_MAX: Final = 30.0

_PASSING: Final = frozenset(
    {ProblemCode.QUEUE_FULL, ProblemCode.BUS_UNAVAILABLE, ProblemCode.STALLED, ProblemCode.RATE_LIMITED}
)

_log = get_log(__name__)


class Asking(Protocol):
    """What the runner needs of the queries."""

    async def admitted(
        self,
        request: AskRequest,
        credential: Credential,
        idempotency_key: str | None,
        continues: Clarifies | Refinement | None = ...,
    ) -> Envelope[Asked] | Problem: ...

    async def wait_for_rate(self, envelope: Envelope[Asked]) -> None: ...

    async def begin(self, envelope: Envelope[Asked], *, has_key: bool) -> Begun | Problem: ...

    async def wait(
        self, query: str, credential: Credential, seconds: float, *, is_known: bool = ...
    ) -> Reply | Problem: ...

    async def cancel(self, query: str, credential: Credential) -> Reply | Problem: ...


class Progress(Protocol):
    """Where a batch says how it goes; lossy."""

    async def report(self, credential: Credential, batch: str, note: Json) -> None: ...


class BatchRunner:
    """The loop of one replica."""

    def __init__(
        self,
        queries: Asking,
        kept: BatchesKept,
        log: Log,
        progress: Progress,
        *,
        credentials: Credentials,
        owner: str,
        clock: Clock,
    ) -> None:
        """`owner` is this replica's name for its leases, another after every start."""
        self.name = "batches"
        self._queries = queries
        self._kept = kept
        self._log = log
        self._progress = progress
        self._credentials = credentials
        self._owner = owner
        self._clock = clock
        self._mine: dict[tuple[str, str], _Held] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._ticked_at = 0
        self._loop: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._ticked_at = self._clock()
        self._loop = asyncio.get_running_loop().create_task(self._run(), name=self.name)

    async def drain(self) -> None:
        await end(*(item for item in (self._loop, *self._tasks) if item is not None))

    async def ping(self) -> str | None:
        if self._loop is None or self._loop.done():
            return "not running"
        silent_seconds = (self._clock() - self._ticked_at) / 1_000
        return f"no tick for {silent_seconds:.0f} s" if silent_seconds > STALE_SECONDS_MAX else None

    async def _run(self) -> None:
        while True:
            try:
                await self.tick()
            except BusTrouble as trouble:
                _log.warning("batches.bus_trouble", reason=str(trouble))
            except Exception as error:  # noqa: BLE001 - the loop must outlive whatever one batch brings
                _log.error("batches.exception", error=type(error).__name__)
            self._ticked_at = self._clock()
            await asyncio.sleep(TICK_SECONDS)

    async def tick(self) -> None:
        """Take the open batches that nobody runs, and note which of one's own were marked anew."""
        for mark in await self._kept.open():
            key = (mark.tenant, mark.batch)
            if (held := self._mine.get(key)) is not None:
                held.marked(mark)
            elif len(self._mine) < BATCHES_MAX:
                await self._take(mark, key)

    async def _take(self, mark: Mark, key: tuple[str, str]) -> None:
        result = await self._kept.get(*key)
        if result is None or result.manifest.ended_at is not None:
            await self._kept.close(mark)
            return
        now = self._clock()
        if not result.manifest.is_free(self._owner, now):
            return
        manifest = result.manifest.leased(self._owner, now)
        revision = await self._kept.replace(manifest, result.revision)
        if revision is None:
            return
        held = self._mine[key] = _Held(manifest, revision, mark)
        task = asyncio.get_running_loop().create_task(self._work(held), name=mark.batch)
        self._tasks.add(task)

        def let_go(_: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            del self._mine[key]

        task.add_done_callback(let_go)

    async def _work(self, held: _Held) -> None:
        """Run one batch to its end, or until the lease is lost."""
        asking: dict[asyncio.Task[Json], int] = {
            self._ask(held, place): place
            for place, state in enumerate(held.manifest.states)
            if state.status == "running"
        }
        reported = failing(held.manifest)
        try:
            while True:
                now = self._clock()
                for place in due(held.manifest, now):
                    held.change(begun(held.manifest, place))
                    asking[self._ask(held, place)] = place
                if held.manifest.cancelled or now >= held.manifest.deadline_at:
                    held.change(not_begun(held.manifest, now))
                if not asking:
                    held.change(held.manifest.model_copy(update={"ended_at": now, "lease": None}))
                if not await self._write(held, now):
                    return
                if (n := failing(held.manifest)) > reported:
                    reported = n
                    await self._report(held.manifest, n)
                if held.manifest.ended_at is not None:
                    await self._kept.close(held.mark)
                    return
                if held.manifest.cancelled:
                    await self._cancel(held.manifest, asking.values())
                done, _ = await asyncio.wait(asking, timeout=TICK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    held.change(ended(held.manifest, asking.pop(task), task.result(), self._clock()))
        except (BusTrouble, TooLarge) as trouble:
            # The lease runs out, and whoever takes the batch then asks the same queries.
            _log.warning("batches.let_go", batch=held.mark.batch, reason=str(trouble))
        finally:
            for task in asking:
                task.cancel()

    def _ask(self, held: _Held, place: int) -> asyncio.Task[Json]:
        def on_failing() -> None:
            if not held.manifest.states[place].has_failed:
                held.change(held.manifest.with_state(place, has_failed=True))

        answering = self._answer(held.manifest, place, on_failing)
        return asyncio.get_running_loop().create_task(answering, name=held.manifest.items[place].id)

    async def _answer(self, manifest: Manifest, place: int, on_failing: Callable[[], None]) -> Json:
        """Ask an item's query, or learn of it again, and return its public answer, or what stands in for one."""
        credential, query = manifest.credential, manifest.query_id(place)
        until = manifest.deadline_at + LATE_MS_MAX
        has_begun = has_failed = False
        while self._clock() < until:
            if not has_begun:
                problem = await self._begin(manifest, place)
                if problem is not None and problem.code not in _PASSING:
                    return {"outcome": Outcome.FAILED.value, "code": problem.code.value, "detail": problem.detail}
                if problem is not None:
                    await asyncio.sleep(problem.retry_after_seconds or 1)
                    continue
                has_begun = True
            reply = await self._queries.wait(query, credential, LOOK_SECONDS, is_known=True)
            if isinstance(reply, Reply) and reply.is_finished:
                return cast("Json", reply.resource["answer"])
            if not has_failed:
                with suppress(BusTrouble):
                    log = await self._log.query(credential.tenant, query)
                    has_failed = any(entry.address.event is EventName.FAILED for entry in log)
                if has_failed:
                    on_failing()
        return {"outcome": Outcome.EXPIRED.value, "code": "expired"}

    async def _begin(self, manifest: Manifest, place: int) -> Problem | None:
        try:
            credential = await self._current(manifest.credential)
            if credential is None:
                return Problem(ProblemCode.SCOPE, "the credential of the batch was removed")
            envelope = await self._queries.admitted(item_request(manifest, place), credential, manifest.key(place))
            if isinstance(envelope, Problem):
                return envelope
            await self._queries.wait_for_rate(envelope)
            header: dict[str, Any] = {"deadline_at": min(envelope.deadline_at, manifest.deadline_at)}
            if (question := enriched_question(manifest, place)) is not None:
                header["enriched_question"] = question
            result = await self._queries.begin(envelope.with_body(envelope.body, **header), has_key=True)
        except BusTrouble:
            return Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=1)
        return result if isinstance(result, Problem) else None

    async def _current(self, submitted: Credential) -> Credential | None:
        """Return the credential as it is now, None if it was removed. A token's rights stand in no registry."""
        if submitted.name == TOKEN_CREDENTIAL:
            return submitted
        current = await self._credentials.get(token(submitted.tenant), submitted.name)
        is_same = current is not None and (current.tenant, current.user) == (submitted.tenant, submitted.user)
        return current if is_same else None

    async def _write(self, held: _Held, now: int) -> bool:
        """Write what changed, at the latest when half the lease is over; False once another has the batch."""
        lease = held.manifest.lease
        if not held.has_changed and lease is not None and lease.until - now > LEASE_MS // 2:
            return True
        if held.manifest.ended_at is None:
            held.change(held.manifest.leased(self._owner, now))
        while (revision := await self._kept.replace(held.manifest, held.revision)) is None:
            result = await self._kept.get(held.manifest.credential.tenant, held.manifest.batch_id)
            lease = result.manifest.lease if result is not None else None
            if result is None or lease is None or lease.owner != self._owner:
                return False
            # Only an API wrote meanwhile: somebody wants it cancelled.
            held.revision = result.revision
            held.change(held.manifest.model_copy(update={"cancelled": result.manifest.cancelled}))
        held.written(revision)
        return True

    async def _cancel(self, manifest: Manifest, places: Any) -> None:
        for place in tuple(places):
            await self._queries.cancel(manifest.query_id(place), manifest.credential)

    async def _report(self, manifest: Manifest, n: int) -> None:
        note: Json = {
            "stage": "gateway", "state": "mending", "n": n, "at": self._clock(),
            "message": mending(n, manifest.language),
        }  # fmt: skip
        credential = manifest.credential
        await self._progress.report(credential, manifest.batch_id, note)


class _Held:
    """The manifest that this replica runs: as it is now, and the revision that it was last written at."""

    def __init__(self, manifest: Manifest, revision: int, mark: Mark) -> None:
        self.manifest = manifest
        self.revision = revision
        self.mark = mark
        self.has_changed = False

    def marked(self, mark: Mark) -> None:
        """Take up a new mark: an API has changed the manifest, which the next write finds out."""
        if mark.revision != self.mark.revision:
            self.mark, self.has_changed = mark, True

    def change(self, manifest: Manifest) -> None:
        if manifest != self.manifest:
            self.manifest, self.has_changed = manifest, True

    def written(self, revision: int) -> None:
        self.revision, self.has_changed = revision, False
