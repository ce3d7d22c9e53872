"""What every API offers of batches: submit, read, follow, cancel, run the failed items again.

A batch belongs to whoever submitted it, as a query does. Items are checked when the batch is submitted and asked by the
runner; their results are read where every result is, so a batch holds no rows. Limits: BATCHES_OPEN_MAX open batches
of a tenant, ANSWERS_BYTES_MAX of answers in one reading.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncGenerator, Callable
from typing import Final, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from querybus.bus.log.publish import BusTrouble, TooLarge
from querybus.bus.stores.batches import KeptBatch, Mark
from querybus.core.credential import Credential
from querybus.core.envelope import Audience
from querybus.core.ids import derived_id, is_id, time_ordered_id
from querybus.core.messages import Operation
from querybus.core.options import Options
from querybus.core.stored.batch import (
    CONCURRENCY_MAX,
    DEADLINE_SECONDS_MAX,
    ITEMS_MAX,
    BatchItem,
    ItemState,
    Manifest,
    again,
    enriched,
    failing,
    mending,
    totals,
)
from querybus.core.subjects import token
from querybus.ops.clock import Clock, RandomBits
from querybus.text.language import detect_language
from querybus_gateway.admit import RANDOM_BITS, AskRequest, RequestOptions
from querybus_gateway.problems import FieldError, Problem, ProblemCode
from querybus_gateway.public.redaction import Json, shown
from querybus_gateway.public.resources import BatchItemView, BatchView
from querybus_gateway.use_cases.follow import STREAM_SECONDS_MAX
from querybus_gateway.use_cases.queries import BUS_RETRY_SECONDS, Queries
from querybus_gateway.use_cases.resources import Frame, Reply

BATCHES_OPEN_MAX: Final = 8
BATCHES_KEPT_MAX: Final = 64
"""Batches of a tenant that are kept, at most 20 MiB of the bucket that all tenants share."""
ANSWERS_BYTES_MAX: Final = 512 * 1_024
FOLLOW_SECONDS: Final = 0.5
TRIES_MAX: Final = 5

_MISSING: Final = Problem(ProblemCode.NOT_FOUND, "there is no such batch")


class BatchRequest(BaseModel):
    """Many questions at once; options and connection hold for every item that has none of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    items: tuple[BatchItem, ...] = Field(min_length=1, max_length=ITEMS_MAX)
    connection: str | None = Field(default=None, max_length=200)
    options: RequestOptions = RequestOptions()
    concurrency: int = Field(default=4, ge=1, le=CONCURRENCY_MAX, description="queries in flight at once")
    deadline_seconds: float = Field(default=600.0, gt=0, le=DEADLINE_SECONDS_MAX, description="of the whole batch")

    @model_validator(mode="after")
    def _unique(self) -> Self:
        if len({item.id for item in self.items}) < len(self.items):
            raise ValueError("the ids of a batch's items differ from each other")
        return self


class BatchesKept(Protocol):
    """Where manifests are kept; `querybus.bus.stores.batches` has the real one."""

    async def create(self, manifest: Manifest) -> bool: ...
    async def get(self, tenant: str, batch: str) -> KeptBatch | None: ...

    async def count(self, tenant: str) -> int: ...
    async def replace(self, manifest: Manifest, revision: int) -> int | None: ...
    async def mark(self, manifest: Manifest) -> None: ...
    async def open(self) -> tuple[Mark, ...]: ...
    async def close(self, mark: Mark) -> None: ...


class Batches:
    """The batches of all tenants, as the APIs see them."""

    def __init__(self, queries: Queries, kept: BatchesKept, *, clock: Clock, random_bits: RandomBits) -> None:
        self._queries = queries
        self._kept = kept
        self._clock = clock
        self._random_bits = random_bits

    async def submit(
        self, request: BatchRequest, credential: Credential, *, idempotency_key: str | None = None
    ) -> Json | Problem:
        """Keep a batch to be run and return its resource; the same key again returns the batch that has it."""
        now = self._clock()
        batch_id = (
            time_ordered_id(now, self._random_bits(RANDOM_BITS))
            if idempotency_key is None
            else derived_id("batch", credential.tenant, credential.user, idempotency_key)
        )
        manifest = _manifest(request, credential, batch_id, now)
        try:
            known = None if idempotency_key is None else await self._kept.get(credential.tenant, batch_id)
            if known is not None:
                return await self._replayed(known, manifest)
            fault = await self._fault(manifest) or await self._crowded(credential.tenant)
            if fault is not None:
                return fault
            if not await self._kept.create(manifest):
                known = await self._kept.get(credential.tenant, batch_id)
                return _MISSING if known is None else await self._replayed(known, manifest)
        except TooLarge:
            return Problem(ProblemCode.TOO_LARGE, "the batch is too large to be kept; send it in parts")
        except BusTrouble:
            return _away()
        return resource(manifest)

    async def _replayed(self, known: KeptBatch, asked: Manifest) -> Json | Problem:
        if known.manifest.body_sha256 != asked.body_sha256:
            return Problem(ProblemCode.IDEMPOTENCY_MISMATCH, "use a new key for another batch")
        if known.manifest.ended_at is None:
            # Whoever kept it may have died before it was marked.
            await self._kept.mark(known.manifest)
        return resource(known.manifest) | {"idempotency_replayed": True}

    async def _fault(self, manifest: Manifest) -> Problem | None:
        for place, item in enumerate(manifest.items):
            result = await self._queries.admitted(item_request(manifest, place), manifest.credential, None)
            if isinstance(result, Problem):
                where = FieldError(f"/items/{place}", result.detail)
                return Problem(result.code, f"item {item.id}: {result.detail}", (where,))
        return None

    async def _crowded(self, tenant: str) -> Problem | None:
        is_own = [item for item in await self._kept.open() if item.tenant == token(tenant)]
        if len(is_own) >= BATCHES_OPEN_MAX:
            return Problem(ProblemCode.QUEUE_FULL, f"{BATCHES_OPEN_MAX} batches are open", retry_after_seconds=30)
        if await self._kept.count(tenant) >= BATCHES_KEPT_MAX:
            detail = f"{BATCHES_KEPT_MAX} batches are kept; each is for seven days"
            return Problem(ProblemCode.QUEUE_FULL, detail, retry_after_seconds=3_600)
        return None

    async def read(self, batch: str, credential: Credential, *, offset: int = 0) -> Json | Problem:
        """Return the batch with its items in their order, from `offset` on, with as many answers as fit one reading.

        `next_offset` says where to read on; it is None once all items are there.
        """
        kept = await self._own(batch, credential)
        if isinstance(kept, Problem):
            return kept
        manifest, capacity = kept.manifest, ANSWERS_BYTES_MAX
        items: list[Json] = []
        next_offset: int | None = None
        for place in range(max(0, offset), len(manifest.items)):
            view = await self._item(manifest, place, credential)
            capacity -= len(json.dumps(view, ensure_ascii=False).encode())
            if capacity < 0 and items:
                next_offset = place
                break
            items.append(view)
        return resource(manifest) | {"offset": max(0, offset), "items": items, "next_offset": next_offset}

    async def cancel(self, batch: str, credential: Credential) -> Json | Problem:
        """Begin no further item and cancel those that run; what has finished stays."""

        def cancelled(manifest: Manifest) -> Manifest | Problem:
            if manifest.ended_at is not None:
                return Problem(ProblemCode.ALREADY_FINISHED, "the batch has ended")
            return manifest.model_copy(update={"cancelled": True})

        return await self._changed(batch, credential, cancelled)

    async def run_again(self, batch: str, credential: Credential) -> Json | Problem:
        """Ask the failed items of an ended batch again, each as a new query; the others keep their results."""

        def reopened(manifest: Manifest) -> Manifest | Problem:
            if manifest.ended_at is None:
                return Problem(ProblemCode.NOT_FINISHED, "the batch is still running")
            reopened = again(manifest, self._clock())
            if reopened is None:
                return Problem(ProblemCode.ALREADY_FINISHED, "no item is left that could be run again")
            # What is asked again is asked with the rights of whoever asks now.
            return reopened.model_copy(update={"credential": credential})

        return await self._changed(batch, credential, reopened)

    async def _changed(
        self, batch: str, credential: Credential, change: Callable[[Manifest], Manifest | Problem]
    ) -> Json | Problem:
        """Write a change and mark the batch anew, which is how a runner learns of it."""
        for _ in range(TRIES_MAX):
            kept = await self._own(batch, credential)
            if isinstance(kept, Problem):
                return kept
            changed = change(kept.manifest)
            if isinstance(changed, Problem):
                return changed
            try:
                if await self._kept.replace(changed, kept.revision) is not None:
                    await self._kept.mark(changed)
                    return resource(changed)
            except BusTrouble:
                break
        return _away()

    async def open_stream(self, batch: str, credential: Credential) -> Problem | None:
        """Return why this caller may not follow the batch, or None if it may."""
        kept = await self._own(batch, credential)
        return kept if isinstance(kept, Problem) else None

    async def has_ended(self, batch: str, credential: Credential, after: int) -> bool:
        """Return whether a reader has seen the end."""
        kept = await self._own(batch, credential)
        return isinstance(kept, KeptBatch) and kept.manifest.ended_at is not None and after > len(kept.manifest.states)

    async def stream(self, batch: str, credential: Credential, after: int = 0) -> AsyncGenerator[Frame]:
        """Yield each item as it finishes, `repairing` whenever more queries failed, and `finished` with the totals.

        A frame's sequence is the item's place in the order of completion, the end's one more than there are items, so that
        a reader can resume behind it.
        """
        reported = revision = 0
        until = time.monotonic() + STREAM_SECONDS_MAX
        while time.monotonic() < until:
            kept = await self._own(batch, credential)
            if isinstance(kept, KeptBatch) and kept.revision != revision:
                revision = kept.revision
                manifest = kept.manifest
                if (n := failing(manifest)) > reported:
                    reported = n
                    yield Frame("mending", {"n": n, "message": mending(n, manifest.language)})
                for order, place in sorted(
                    (state.finished_as, place)
                    for place, state in enumerate(manifest.states)
                    if state.finished_as is not None and state.finished_as > after
                ):
                    after = order
                    yield Frame("item", await self._item(manifest, place, credential), order)
                if manifest.ended_at is not None:
                    yield Frame("finished", resource(manifest), len(manifest.states) + 1)
                    return
            elif isinstance(kept, Problem) and kept.code is not ProblemCode.BUS_UNAVAILABLE:
                return
            await asyncio.sleep(FOLLOW_SECONDS)

    async def _own(self, batch: str, credential: Credential) -> KeptBatch | Problem:
        if not is_id(batch):
            return _MISSING
        try:
            kept = await self._kept.get(credential.tenant, batch)
        except BusTrouble:
            return _away()
        if kept is None or kept.manifest.credential.user != credential.user:
            return _MISSING
        may_read = credential.audience == "analyst" or kept.manifest.credential.audience == "business"
        return kept if may_read else _MISSING

    async def _item(self, manifest: Manifest, place: int, credential: Credential) -> Json:
        item, state = manifest.items[place], manifest.states[place]
        view = item_view(item, state, credential.audience)
        if state.run:
            view["query_id"] = manifest.query_id(place)
        if state.status == "finished" and state.run:
            reply = await self._queries.read(manifest.query_id(place), credential)
            if isinstance(reply, Reply) and reply.is_finished:
                view["answer"] = reply.resource["answer"]
        return view


def resource(manifest: Manifest) -> Json:
    """Return the batch without its items."""
    path = f"/v1/batches/{manifest.batch_id}"
    made = {
        "id": manifest.batch_id,
        "status": "finished" if manifest.ended_at is not None else "running",
        "totals": totals(manifest),
        "links": {"self": path, "events": f"{path}/events", "cancel": f"{path}/cancel", "retry": f"{path}/retry"},
    }
    return shown(BatchView, manifest.credential.audience, made, manifest)


def item_view(item: BatchItem, state: ItemState, audience: Audience) -> Json:
    """Return what became of an item, without its answer."""
    return shown(BatchItemView, audience, {"query_id": None, "answer": None}, state, item)


def item_request(manifest: Manifest, place: int) -> AskRequest:
    """Return an item as the request that its owner could have made by itself."""
    item = manifest.items[place]
    return AskRequest(
        question=item.question,
        connection=item.connection or manifest.connection,
        operation=Operation.RUN if item.sql is not None else Operation.ASK,
        sql=item.sql,
        options=RequestOptions.model_construct(**_options_of_request(manifest)),
    )


def _options_of_request(manifest: Manifest) -> Json:
    """Return the options that the batch's request set: for all others the defaults of person and server hold."""
    options = dict(manifest.options)
    names = options if manifest.options_said is None else manifest.options_said
    return {name: options[name] for name in names}


def _manifest(request: BatchRequest, credential: Credential, batch_id: str, now: int) -> Manifest:
    body = json.dumps(request.model_dump(mode="json", exclude_defaults=True), sort_keys=True, ensure_ascii=False)
    language = request.options.language
    return Manifest(
        batch_id=batch_id,
        credential=credential.model_copy(update={"key_sha256": ""}),
        language=detect_language(request.items[0].question) if language == "auto" else language,
        connection=request.connection,
        options=Options.model_construct(**dict(request.options)),
        options_said=tuple(sorted(request.options.model_fields_set)),
        concurrency=request.concurrency,
        deadline_seconds=request.deadline_seconds,
        created_at=now,
        deadline_at=now + round(request.deadline_seconds * 1_000),
        body_sha256=hashlib.sha256(body.encode()).hexdigest(),
        items=request.items,
        states=tuple(ItemState() for _ in request.items),
    )


def enriched_question(manifest: Manifest, place: int) -> str | None:
    """Return an item's question with what surrounds it."""
    return enriched(manifest.items[place], manifest.language)


def _away() -> Problem:
    return Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)
