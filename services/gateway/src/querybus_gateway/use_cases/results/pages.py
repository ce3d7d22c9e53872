"""A finished query's rows: one page by number or by token, or all of them as a stream.

A reader pages by the size that the query was asked with, or by another; one answer is made of at most
STORED_PAGES_MAX kept pages. They are kept for an hour; what is gone is said, never made up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from querybus.bus.log.publish import BusTrouble
from querybus.bus.stores.pages import PageUnreadable, decode_page, encode_page, page_sha256
from querybus.core.credential import Credential
from querybus.core.envelope import Audience, Envelope
from querybus.core.messages import (
    Answer,
    Finished,
    Outcome,
    ResultColumn,
    Scalar,
)
from querybus.ops.clock import Clock
from querybus_gateway.access.page_token import PageToken, columns_hash, read_token, sign_token
from querybus_gateway.ports import Pages
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.redaction import Json, public_page, seen_rows, total_of
from querybus_gateway.use_cases.queries import BUS_RETRY_SECONDS, Queries

PAGE_SIZE_MAX: Final = 1_000
STORED_PAGES_MAX: Final = 100
READS_AT_ONCE_MAX: Final = 8
ANSWER_BYTES_MAX: Final = 16_777_216
"""Of the stored pages that one answer is made of."""
KEPT_MS: Final = 3_600_000
"""How long the bus keeps pages, and so how long a token is worth anything."""

Row = Sequence[Scalar]
Key = Callable[[], Awaitable[bytes]]

_EXPIRED: Final = Problem(ProblemCode.RESULT_EXPIRED, "ask the question again for a new result")
_TOO_LARGE: Final = Problem(ProblemCode.TOO_LARGE, "these rows are too many bytes for one page; ask for fewer")
_TROUBLE: Final = Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)


class PageGone(Exception):
    """A page of a result that is being streamed is no longer kept, or cannot be read."""


@dataclass(frozen=True, slots=True)
class Export:
    """A whole result, for a reader of this audience: its answer, and its rows as they are kept."""

    query_id: str
    question: str
    answer: Answer
    audience: Audience
    pages: Callable[[], AsyncGenerator[bytes]]
    """Gives the rows as Arrow pages, at least one; PageGone if one has gone meanwhile. May be called again."""


class Results:
    """The results of finished queries."""

    def __init__(self, queries: Queries, pages: Pages, *, token_key: Key, clock: Clock) -> None:
        """`token_key` gives the key of page tokens, the same in every replica. It raises BusTrouble."""
        self._queries = queries
        self._pages = pages
        self._token_key = token_key
        self._clock = clock

    async def page(
        self, query: str, credential: Credential, number: int = 1, page_size: int | None = None
    ) -> Json | Problem:
        """Return one page of the result, counted from 1.

        `{columns, rows, page, page_size, has_next, has_prev, total_count, total_pages, total_is_estimate,
        next_page_token, prev_page_token}`; the total is None where the database had more rows than were kept and
        nobody counted them, the number of pages wherever not all of them are kept. Without
        `page_size` pages are of the size that the query was asked with; it is lowered to what one answer may hold.
        """
        finished = await self._queries.finished(query, credential)
        if isinstance(finished, Problem):
            return finished
        answer = finished.body.answer
        if answer.outcome is not Outcome.ANSWERED:
            return Problem(ProblemCode.NOT_FOUND, "this query has no result")
        stored_size = answer.pages.page_size if answer.pages else finished.options.page_size
        size = min(page_size or stored_size, PAGE_SIZE_MAX)
        kept = answer.row_count if answer.pages else len(answer.rows)
        count = max(1, -(-kept // size))
        if not 1 <= number <= count:
            return Problem(ProblemCode.NOT_FOUND, f"there is no such page: with {size} rows a page there are {count}")
        try:
            rows = await self._rows(finished, (number - 1) * size, min(number * size, kept))
            if isinstance(rows, Problem):
                return rows
            key = await self._token_key()
        except BusTrouble:
            return _TROUBLE
        return public_page(answer, rows, credential.audience) | {
            "query_id": query,
            "page": number,
            "page_size": size,
            "has_next": number < count,
            "has_prev": number > 1,
            "total_count": total_of(answer),
            "total_pages": None if answer.truncated else count,
            "total_is_estimate": answer.total_is_estimate,
            "next_page_token": _token(finished, number + 1, size, key) if number < count else None,
            "prev_page_token": _token(finished, number - 1, size, key) if number > 1 else None,
        }

    async def page_of_token(self, query: str, credential: Credential, text: str) -> Json | Problem:
        """Return the page that a token names; `bad_page_token` for one that is not of this query and tenant."""
        try:
            token = read_token(text, await self._token_key())
        except BusTrouble:
            return _TROUBLE
        if token is None or (token.tenant, token.query) != (credential.tenant, query):
            return Problem(ProblemCode.BAD_PAGE_TOKEN, "this page token is not one of this result")
        finished = await self._queries.finished(query, credential)
        if isinstance(finished, Problem):
            return finished
        if token.expires_at <= self._clock():
            return _EXPIRED
        answer = finished.body.answer
        if token.run != _run(answer) or token.columns != columns_hash(answer.columns):
            return Problem(ProblemCode.BAD_PAGE_TOKEN, "this page token is not one of this result")
        return await self.page(query, credential, token.page, token.page_size)

    async def export(self, query: str, credential: Credential) -> Export | Problem:
        """Return the whole result, to be streamed; a first look makes sure that its rows are still kept."""
        finished = await self._queries.finished(query, credential)
        if isinstance(finished, Problem):
            return finished
        answer = finished.body.answer
        if answer.outcome is not Outcome.ANSWERED:
            return Problem(ProblemCode.NOT_FOUND, "this query has no result")
        try:
            for number in {1, answer.pages.count} if answer.pages else ():
                result = await self._stored(finished, number)
                if isinstance(result, Problem):
                    return result
        except BusTrouble:
            return _TROUBLE

        is_masked = credential.audience == "business" and any(column.personal for column in answer.columns)

        async def pages() -> AsyncGenerator[bytes]:
            if answer.pages is None:
                columns = [ResultColumn(name=column.id, kind=column.kind) for column in answer.columns]
                yield encode_page(columns, answer.rows)
                return
            for number in range(1, answer.pages.count + 1):
                try:
                    data = await self._stored(finished, number)
                except BusTrouble as error:
                    raise PageGone(number) from error
                if isinstance(data, Problem):
                    raise PageGone(number)
                yield await asyncio.to_thread(_masked, data, answer) if is_masked else data

        return Export(query, finished.question, answer, credential.audience, pages)

    async def _rows(self, finished: Envelope[Finished], start: int, end: int) -> Sequence[Row] | Problem:
        """Return the rows [start, end) of the result."""
        address = finished.body.answer.pages
        if address is None:
            return finished.body.answer.rows[start:end]
        spans = address.spans(start, end - start)
        if len(spans) > STORED_PAGES_MAX:
            return _TOO_LARGE
        rows: list[Row] = []
        used = 0
        for first in range(0, len(spans), READS_AT_ONCE_MAX):
            some = spans[first : first + READS_AT_ONCE_MAX]
            pages = await asyncio.gather(*(self._stored(finished, number) for number, _, _ in some))
            for data, (_, begin, stop) in zip(pages, some, strict=True):
                if isinstance(data, Problem):
                    return data
                used += len(data)
                if used > ANSWER_BYTES_MAX and len(spans) > 1:
                    return _TOO_LARGE
                try:
                    # Off the loop: a page of wide rows takes longer to decode than others should wait.
                    _, cells = await asyncio.to_thread(decode_page, data, begin, stop)
                except PageUnreadable:
                    return Problem(ProblemCode.INTERNAL, "the page cannot be read")
                rows += cells
        return rows

    async def _stored(self, finished: Envelope[Finished], number: int) -> bytes | Problem:
        address = finished.body.answer.pages
        assert address is not None  # noqa: S101 - asked for pages of a paged result only
        data = await self._pages.get(finished.tenant, finished.query_id, address.run, number)
        # What is not what was concluded is no result of this query.
        if data is None or page_sha256(data) != address.sha256[number - 1]:
            return _EXPIRED
        return data


def _masked(data: bytes, answer: Answer) -> bytes:
    """Return a stored page with the personal data in it masked."""
    _, rows = decode_page(data)
    columns = [ResultColumn(name=column.id, kind=column.kind) for column in answer.columns]
    return encode_page(columns, seen_rows(rows, answer.columns, "business"))


def _run(answer: Answer) -> str:
    return answer.pages.run if answer.pages else ""


def _token(finished: Envelope[Finished], page: int, size: int, key: bytes) -> str:
    answer = finished.body.answer
    ended_at = finished.path[-1].ended_at if finished.path else finished.asked_at
    token = PageToken(
        tenant=finished.tenant,
        query=finished.query_id,
        run=_run(answer),
        page=page,
        page_size=size,
        columns=columns_hash(answer.columns),
        expires_at=ended_at + KEPT_MS,
    )
    return sign_token(token, key)
