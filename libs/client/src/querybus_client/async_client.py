"""The asynchronous client: the same methods as `client.Client`, with `await` and `async for`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Literal, Self, Unpack

import httpx

from querybus_client import operations
from querybus_client.client import RETRIES, How, HowMany, ReadT
from querybus_client.errors import QueryBusError, StreamBroken, Unreachable
from querybus_client.operations import Language, Operation, ResultT
from querybus_client.values import (
    Answer,
    Batch,
    Change,
    Confirmation,
    Event,
    Json,
    Options,
    Page,
    Query,
    Thread,
    ThreadState,
    TokenWanted,
    Turn,
)
from querybus_client.wire import (
    STREAM_SILENCE_SECONDS,
    Addresses,
    Call,
    Frames,
    bearer,
    pause_seconds,
    read_answer,
    refusal,
)


class AsyncClient:
    """A gateway at `url`, as the owner of `key` sees it."""

    def __init__(
        self,
        url: str | Sequence[str],
        key: str,
        *,
        retries: int = RETRIES,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`url` may be several addresses of the same gateways: where one is away the next is asked. `retries` are further
        attempts after the first. `transport` replaces the network, for tests and proxies.
        """
        self._retries = retries
        self._addresses = Addresses(url)
        self._http = httpx.AsyncClient(headers=bearer(key), transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def ask(self, question: str, **how: Unpack[How]) -> Answer:
        """Ask and wait for the answer, whatever its outcome. NotFinished if it does not come."""
        return await self._run(operations.ask(question, **how))

    async def submit(self, question: str, **how: Unpack[How]) -> Query:
        """Ask and return at once; read, follow or cancel the query by its id."""
        return await self._run(operations.submit(question, **how))

    async def query(self, query_id: str, *, wait_seconds: int = 0) -> Query:
        """Return a query as it stands, or once it has finished within `wait_seconds` (30 at most)."""
        return await self._run(operations.get_query(query_id, wait_seconds=wait_seconds))

    async def stream(
        self, question: str, *, cancel_on_disconnect: bool = False, **how: Unpack[How]
    ) -> AsyncGenerator[Event]:
        """Ask, and give every stored event once, with progress between; the last is `finished`."""
        query = await self.submit(question, **how)
        async with aclosing(self.follow(query.id, cancel_on_disconnect=cancel_on_disconnect)) as events:
            async for event in events:
                yield event

    def follow(self, query_id: str, *, after: int = 0, cancel_on_disconnect: bool = False) -> AsyncGenerator[Event]:
        """Give the events of a query behind a sequence; a broken stream is taken up again where it broke.

        Raises StreamBroken if that does not succeed.
        """
        return self._stream(operations.query_events(query_id, cancel_on_disconnect=cancel_on_disconnect), after)

    async def cancel(self, query_id: str) -> Query:
        """Cancel a query; Conflict with its real outcome if it was concluded before."""
        return await self._run(operations.cancel(query_id))

    async def clarify(
        self,
        query_id: str,
        *,
        option_id: str | None = None,
        question: str | None = None,
        options: Options | None = None,
        idempotency_key: str | None = None,
    ) -> Answer:
        """Answer what a query asked back, by one of its options or in words of one's own, and wait for the answer."""
        return await self._run(
            operations.clarify(
                query_id, option_id=option_id, question=question, options=options, idempotency_key=idempotency_key
            )
        )

    async def refine(self, query_id: str, change: Change, *, idempotency_key: str | None = None) -> Answer:
        """Read an answer otherwise without a model, such as without a filter or in another period, and wait for the answer."""
        return await self._run(operations.refine(query_id, change, idempotency_key=idempotency_key))

    async def me(self) -> Json:
        """Return who is calling and what it may do."""
        return await self._run(operations.me())

    async def token(self, **wanted: Unpack[TokenWanted]) -> str:
        """Make a short-lived token for a browser; a trusted proxy's may be of any of its persons."""
        return await self._run(operations.token(wanted))

    async def confirm(
        self, query_id: str, confirmation: Confirmation | str, *, rows_affected_max: int | None = None
    ) -> Answer:
        """Say yes to exactly this statement (or its SHA-256), and wait for the answer. A second yes changes nothing."""
        return await self._run(operations.confirm(query_id, confirmation, rows_affected_max=rows_affected_max))

    async def submit_clarification(
        self,
        query_id: str,
        *,
        option_id: str | None = None,
        question: str | None = None,
        options: Options | None = None,
        idempotency_key: str | None = None,
    ) -> Query:
        """Answer what a query asked back and return at once; read, follow or cancel the new query by its id."""
        return await self._run(
            operations.submit_clarification(
                query_id, option_id=option_id, question=question, options=options, idempotency_key=idempotency_key
            )
        )

    async def submit_confirmation(
        self, query_id: str, confirmation: Confirmation | str, *, rows_affected_max: int | None = None
    ) -> Query:
        """Say yes and return at once; read, follow or cancel the query that runs it by its id."""
        return await self._run(
            operations.submit_confirmation(query_id, confirmation, rows_affected_max=rows_affected_max)
        )

    async def waiting_changes(self) -> tuple[Json, ...]:
        """Return the changes of others that wait for the caller's yes, the oldest first: give `query_id` to `confirm`."""
        return await self._run(operations.waiting_changes())

    async def refresh_catalog(self, connection: str) -> Json:
        """Ask for the connection's tables and columns to be read again; what is new is known a moment later."""
        return await self._run(operations.refresh_catalog(connection))

    async def feedback(self, query_id: str, verdict: Literal["right", "wrong"]) -> Json:
        """Say whether an answer was right."""
        return await self._run(operations.feedback(query_id, verdict))

    async def page(self, query_id: str, number: int = 1, *, size: int | None = None) -> Page:
        """Return one page of a result, counted from 1. Gone once it is no longer kept."""
        return await self._run(operations.page(query_id, number, size=size))

    async def pages(self, query_id: str, *, size: int | None = None) -> AsyncGenerator[Page]:
        """Give all pages of a result, one at a time."""
        result = await self.page(query_id, size=size)
        yield result
        while result.has_next:
            result = await self._run(operations.page(query_id, result.number + 1, size=result.size))
            yield result

    async def export(
        self, query_id: str, how: Literal["csv", "jsonl", "arrow", "parquet", "xlsx"] = "csv"
    ) -> AsyncGenerator[bytes]:
        """Give the whole result as bytes; raises StreamBroken where it was cut."""
        try:
            async with self._http.stream(**operations.export(query_id, how).parts(self._addresses.current)) as response:
                if not response.is_success:
                    raise refusal(response.status_code, response.headers, await response.aread())
                async for chunk in response.aiter_bytes():
                    yield chunk
        except httpx.TransportError as error:
            raise StreamBroken(f"the export was cut: {type(error).__name__}", 0) from error

    async def chart(self, query_id: str, how: Literal["svg", "png"] = "svg") -> bytes:
        """Return the answer's chart as a picture; NotFound if it has none. The specification is `Answer.chart`."""
        return await self._sent(operations.chart(query_id, how), lambda response: response.content)

    async def threads(self) -> AsyncGenerator[Thread]:
        """Give the caller's threads, those that began last first."""
        result, cursor = await self._run(operations.threads())
        for item in result:
            yield item
        while cursor:
            result, cursor = await self._run(operations.threads(cursor))
            for item in result:
                yield item

    async def queries(self, **filters: str | int) -> AsyncGenerator[Turn]:
        """Give the caller's questions, newest thread first; `outcome`, `status`, `connection`, `q`, `since`, `until` narrow them."""
        result, cursor = await self._run(operations.queries(filters))
        for item in result:
            yield item
        while cursor:
            result, cursor = await self._run(operations.queries(filters, cursor))
            for item in result:
                yield item

    async def turns(self, thread_id: str, *, limit: int = 20, before_sequence: int = 0) -> tuple[Turn, ...]:
        """Return the newest turns of a thread before a sequence (0: all), oldest first."""
        return await self._run(operations.turns(thread_id, limit=limit, before_sequence=before_sequence))

    async def thread(self, thread_id: str, *, at_sequence: int = 0) -> ThreadState:
        """Return a thread as it stands, or as it stood once the event at this sequence was stored."""
        return await self._run(operations.thread(thread_id, at_sequence=at_sequence))

    async def fork(self, thread_id: str, *, query_id: str | None = None, at_sequence: int = 0) -> Thread:
        """Begin a new thread that knows this one up to a turn, an event, or where it stands."""
        return await self._run(operations.fork(thread_id, query_id=query_id, at_sequence=at_sequence))

    async def delete_thread(self, thread_id: str) -> None:
        """Delete a thread with its log, history, pages and answers; Conflict while one of its questions runs."""
        await self._run(operations.delete_thread(thread_id))

    async def batch(self, items: Sequence[Mapping[str, Any]], **how: Unpack[HowMany]) -> Batch:
        """Submit many questions at once; each item has at least `id` and `question`. Returns at once."""
        return await self._run(operations.submit_batch(items, **how))

    async def get_batch(self, batch_id: str) -> Batch:
        """Return a batch with its items in their order."""
        return await self._run(operations.get_batch(batch_id))

    def follow_batch(self, batch_id: str, *, after: int = 0) -> AsyncGenerator[Event]:
        """Give `item` for each item as it finishes, `repairing` between, and `finished` with the totals."""
        return self._stream(operations.batch_events(batch_id), after)

    async def cancel_batch(self, batch_id: str) -> Batch:
        """Begin no further item and cancel those that run."""
        return await self._run(operations.cancel_batch(batch_id))

    async def retry_batch(self, batch_id: str) -> Batch:
        """Ask the failed items of an ended batch again."""
        return await self._run(operations.retry_batch(batch_id))

    async def connections(self) -> tuple[Json, ...]:
        """Return the caller's connections."""
        return await self._run(operations.connections())

    async def catalog(self, connection: str, *, language: Language = "en") -> Json:
        """Return what stands in a connection, as this reader may see it."""
        return await self._run(operations.catalog(connection, language))

    async def definitions(self, connection: str, *, language: Language = "en") -> Json:
        """Return what the words of a connection's owner mean."""
        return await self._run(operations.definitions(connection, language))

    async def suggestions(self, connection: str, *, language: Language = "en") -> Json:
        """Return what can be asked of a connection."""
        return await self._run(operations.suggestions(connection, language))

    async def knowledge(self, connection: str) -> Json:
        """Return what was taught about a connection."""
        return await self._run(operations.knowledge(connection))

    async def teach(self, connection: str, entries: Json) -> Json:
        """Teach `pairs`, `terms`, `synonyms`, `instructions` or `definitions`; for analysts. Invalid says which do not fit."""
        return await self._run(operations.teach(connection, entries))

    async def preferences(self) -> Json:
        """Return what counts where a question says nothing."""
        return await self._run(operations.preferences())

    async def prefer(self, changes: Json) -> Json:
        """Say what counts where a question says nothing; a null takes it back."""
        return await self._run(operations.prefer(changes))

    async def choices(self) -> Json:
        """Return which of the options that were offered the caller chose, and how often; these come first."""
        return await self._run(operations.choices())

    async def forget_choices(self, kind: str | None = None) -> Json:
        """Forget what the caller chose, of one kind of question or of all, and return what is left."""
        return await self._run(operations.forget_choices(kind))

    async def options(self) -> Json:
        """Return which options a question has, their ranges, and what holds where a question says nothing."""
        return await self._run(operations.options())

    async def thread_events(self, thread_id: str, *, after: int = 0) -> Json:
        """Return the events of a thread behind a sequence, of all its queries."""
        return await self._run(operations.thread_events(thread_id, after))

    async def _run(self, operation: Operation[ResultT]) -> ResultT:
        try:
            call = next(operation)
            while True:
                call = operation.send(await self._sent(call, read_answer))
        except StopIteration as end:
            result: ResultT = end.value
            return result

    async def _sent(self, call: Call, read: Callable[[httpx.Response], ReadT]) -> ReadT:
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._once(call, read)
            except QueryBusError as error:
                pause = pause_seconds(error, attempt) if call.is_repeatable and attempt <= self._retries else None
                if pause is None:
                    raise
            await asyncio.sleep(pause)

    async def _once(self, call: Call, read: Callable[[httpx.Response], ReadT]) -> ReadT:
        address = self._addresses.current
        try:
            try:
                response = await self._http.request(**call.parts(address))
            except httpx.TransportError as error:
                raise Unreachable(f"{call.method} {call.path}: {type(error).__name__}: {error}") from error
            if not response.is_success:
                raise refusal(response.status_code, response.headers, response.content)
        except QueryBusError as error:
            self._addresses.leave(address, error)
            raise
        return read(response)

    async def _stream(self, call: Call, after: int) -> AsyncGenerator[Event]:
        attempt = 0
        while True:
            attempt += 1
            address = self._addresses.current
            try:
                async with aclosing(self._events(operations.behind(call, after), address)) as events:
                    async for event in events:
                        attempt = 0
                        after = after if event.sequence is None else event.sequence
                        yield event
                        if event.name == "finished":
                            return
                error: QueryBusError = Unreachable("the stream ended early")
            except QueryBusError as trouble:
                error = trouble
            self._addresses.leave(address, error)
            pause = pause_seconds(error, max(1, attempt))
            if pause is None:
                raise error
            if attempt > self._retries:
                raise StreamBroken(f"the stream cannot be taken up again: {error}", after) from error
            await asyncio.sleep(pause)

    async def _events(self, call: Call, address: str) -> AsyncGenerator[Event]:
        frames = Frames()
        try:
            async with self._http.stream(**call.parts(address, silence_seconds=STREAM_SILENCE_SECONDS)) as response:
                if not response.is_success:
                    raise refusal(response.status_code, response.headers, await response.aread())
                async for chunk in response.aiter_bytes():
                    for event in frames.feed(chunk):
                        yield event
        except httpx.TransportError as error:
            raise Unreachable(f"{call.path}: {type(error).__name__}: {error}") from error
