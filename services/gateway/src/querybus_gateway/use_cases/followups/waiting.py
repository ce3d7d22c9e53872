"""Which changes of a tenant's people wait for a second person: what an analyst finds who may say yes to them.

Read from how the queries of the last hour ended; a change that was confirmed, or was asked for too long ago, waits no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, cast

from querybus.bus.log.publish import BusTrouble
from querybus.core.credential import Credential
from querybus.core.envelope import Envelope, Undecodable
from querybus.core.ids import derived_id
from querybus.core.messages import Concluded, Finished
from querybus.ops.clock import Clock
from querybus_gateway.ports import Entry, Log
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.admin.asked import TROUBLE, EndingsLog
from querybus_gateway.use_cases.followups.confirm import CONFIRM_MS_MAX
from querybus_gateway.use_cases.resources import asked_confirmation, is_second_person

CHANGES_MAX: Final = 100
_MARK: Final = b'"needs_second_person":true'
_ANALYSTS: Final = Problem(ProblemCode.SCOPE, "analysts confirm the changes of others, with a key that may ask freely")


class WaitingChanges:
    """The changes that wait."""

    def __init__(self, endings: EndingsLog, log: Log, *, clock: Clock) -> None:
        self._endings = endings
        self._log = log
        self._clock = clock
        # One at a time: who looks in a loop waits for itself and not for everybody's processor.
        self._reading = asyncio.Semaphore(1)

    async def listed(self, credential: Credential) -> Json | Problem:
        """Return `{changes}`, the oldest first: those that this credential may say yes to, CHANGES_MAX at most."""
        if not credential.may_teach:
            return _ANALYSTS
        changes: list[Json] = []
        after = 0
        try:
            async with self._reading:
                while True:
                    since_ms = self._clock() - CONFIRM_MS_MAX
                    entries, after = await self._endings.since(credential.tenant, since_ms, after)
                    found = [await self._waiting(finished) for finished in _asking(entries, credential)]
                    changes += [change for change in found if change is not None]
                    if not after or len(changes) >= CHANGES_MAX:
                        return {"changes": changes[:CHANGES_MAX]}
        except BusTrouble:
            return TROUBLE

    async def _waiting(self, finished: Envelope[Finished]) -> Json | None:
        """Return the change as it is shown, None for one that waits no more. BusTrouble."""
        asking = asked_confirmation(await self._log.query(finished.tenant, finished.query_id))
        confirmation = None if asking is None else asking.body.confirmation
        if asking is None or confirmation is None:
            return None
        ends_at = _concluded_at(asking) + CONFIRM_MS_MAX
        yes = derived_id("confirmed", asking.tenant, asking.query_id, confirmation.sql_sha256)
        if ends_at <= self._clock() or await self._log.query(asking.tenant, yes):
            return None
        return {
            "query_id": asking.query_id,
            "asked_by": asking.user,
            "connection": asking.connection,
            "question": asking.question,
            "sql": asking.body.sql,
            "confirmation": confirmation.model_dump(mode="json"),
            "asked_at": asking.asked_at,
            "ends_at": ends_at,
        }


def _concluded_at(asking: Envelope[Concluded]) -> int:
    return max(step.ended_at for step in asking.path)


def _asking(entries: Sequence[Entry], credential: Credential) -> list[Envelope[Finished]]:
    """Return the endings among these that ask this credential's yes."""
    found: list[Envelope[Finished]] = []
    for entry in entries:
        # Most endings ask for nothing, and reading each as a whole takes long.
        if _MARK not in entry.data:
            continue
        try:
            finished = cast("Envelope[Finished]", entry.envelope())
        except Undecodable:
            continue
        confirmation = finished.body.answer.confirmation
        if confirmation is not None and confirmation.needs_second_person and is_second_person(finished, credential):
            found.append(finished)
    return found
