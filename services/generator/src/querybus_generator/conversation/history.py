"""The thread and other queries' attempts, read from the log; one user's turns never reach another's prompt.

A first question reads nothing. Of the newest turns everything is read, of older ones how they were asked and drafted,
which holds no rows. A thread beyond what the journal lists is answered as if it had no past.
"""

from __future__ import annotations

from typing import Any, Final, cast

from querybus.bus.log.journal import Entry, Journal, LogTooLong
from querybus.core.envelope import Attempt, Envelope, Undecodable
from querybus.core.messages import Asked, Concluded, Drafted, ForkedFrom
from querybus.core.subjects import EventName
from querybus.text.rows.masking import seen_result
from querybus_generator.conversation.turns import MESSAGES_MAX, Turn

QUESTIONS_READ_MAX: Final = MESSAGES_MAX // 2
"""A turn is a question and its reply: two messages of the conversation's twenty."""
EARLIER_READ_MAX: Final = 200
"""Turns of a thread that a question may go back to."""
FORKS_MAX: Final = 8
"""Threads that are followed back from a fork."""


class NoHistory:
    """The `History` of a question that stands alone."""

    async def turns(self, envelope: Envelope[Any]) -> tuple[Turn, ...]:
        """Return none."""
        del envelope
        return ()

    async def attempts(self, envelope: Envelope[Any], query_id: str) -> tuple[Attempt, ...]:
        """Return none."""
        del envelope, query_id
        return ()

    async def asked(self, envelope: Envelope[Any], query_id: str) -> Envelope[Asked] | None:
        """Return None."""
        del envelope, query_id
        return None


class JournalHistory:
    """A `History` over the stream."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def turns(self, envelope: Envelope[Any]) -> tuple[Turn, ...]:
        """Return the thread's turns up to where this query was asked. BusTrouble."""
        asked = await self._asked(envelope)
        if asked is None:
            return ()
        turns: list[Turn] = []
        if asked.thread_until_sequence:
            turns, _ = await self._thread(envelope, envelope.thread_id, asked.thread_until_sequence)
        origin = asked.forked_from
        for _ in range(FORKS_MAX):
            if origin is None or len(turns) >= EARLIER_READ_MAX:
                break
            earlier, origin = await self._thread(envelope, origin.thread_id, origin.sequence)
            turns = [*earlier, *turns]
        return tuple(turns[-EARLIER_READ_MAX:])

    async def attempts(self, envelope: Envelope[Any], query_id: str) -> tuple[Attempt, ...]:
        """Return what was tried for another query of the same tenant and user. BusTrouble."""
        known = [item for item in map(_envelope, await self._read_query(envelope, query_id)) if item]
        mine = [item for item in known if item.user == envelope.user and item.connection == envelope.connection]
        return mine[-1].attempts if mine else ()

    async def asked(self, envelope: Envelope[Any], query_id: str) -> Envelope[Asked] | None:
        """Return how a query of the same thread and user was asked; None if there is none. BusTrouble."""
        for entry in await self._read_query(envelope, query_id):
            if entry.address.event is EventName.ASKED and (first := _envelope(entry)) is not None:
                return cast("Envelope[Asked]", first) if first.user == envelope.user else None
        return None

    async def _read_query(self, envelope: Envelope[Any], query_id: str) -> tuple[Entry, ...]:
        """Return the log of a query of the same thread."""
        return await self._journal.query(envelope.tenant, query_id, thread=envelope.thread_id)

    async def _asked(self, envelope: Envelope[Any]) -> Asked | None:
        if isinstance(envelope.body, Asked):
            return envelope.body
        first = await self.asked(envelope, envelope.query_id)
        return first.body if first is not None else None

    async def _thread(
        self, envelope: Envelope[Any], thread_id: str, until_sequence: int
    ) -> tuple[list[Turn], ForkedFrom | None]:
        """Return the turns of one thread up to a sequence, and where that thread itself was forked from."""
        turns: dict[str, Turn] = {}
        origin = await self._read(envelope, thread_id, until_sequence, turns, QUESTIONS_READ_MAX, EventName.CONCLUDED)
        if len(turns) < QUESTIONS_READ_MAX:
            return list(turns.values()), origin
        all_turns: dict[str, Turn] = {}
        origin = await self._read(envelope, thread_id, until_sequence, all_turns, EARLIER_READ_MAX, EventName.DRAFTED)
        return list((all_turns | turns).values()), origin

    async def _read(
        self,
        envelope: Envelope[Any],
        thread_id: str,
        until_sequence: int,
        turns: dict[str, Turn],
        turns_max: int,
        event: EventName,
    ) -> ForkedFrom | None:
        try:
            entries = await self._journal.thread(
                envelope.tenant, thread_id, until_sequence=until_sequence, turns_max=turns_max, events=(event,)
            )
        except LogTooLong:
            return None
        origin: ForkedFrom | None = None
        for entry in map(_envelope, entries):
            if entry is None or entry.user != envelope.user or entry.query_id == envelope.query_id:
                continue
            if isinstance(entry.body, Asked):
                origin = entry.body.forked_from
            # Rows and names of one connection are nothing for a question to another.
            if entry.connection == envelope.connection:
                turns[entry.query_id] = _turn(entry)
        return origin


def _turn(envelope: Envelope[Any]) -> Turn:
    body = envelope.body
    match body:
        case Concluded():
            return Turn(
                envelope.question,
                sql=body.sql,
                reply=body.reply,
                enriched=envelope.enriched_question,
                # A prompt may quote rows, and personal data is in no prompt.
                result=None if body.result is None else seen_result(body.result, "business"),
                query_id=envelope.query_id,
                analysis=body.analysis,
                about=body.clarification.about if body.clarification is not None else "",
            )
        case Drafted():
            return Turn(envelope.question, sql=body.draft.sql, enriched=envelope.enriched_question)
        case _:
            return Turn(envelope.question)


def _envelope(entry: Entry) -> Envelope[Any] | None:
    try:
        return entry.envelope()
    except Undecodable:
        # A turn that cannot be read is missing from the conversation; it must not end the new question.
        return None
