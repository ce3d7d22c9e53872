"""Which changes of a tenant's people wait for a second person: what an analyst finds who may say yes to them.

Read from how the queries of the last hour ended; a change that was confirmed, or was asked for too long ago, waits no more.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast

from querybus.bus.log.publish import BusTrouble
from querybus.core.credential import Credential
from querybus.core.envelope import Envelope, Undecodable
from querybus.core.ids import derived_id
from querybus.core.messages import Finished
from querybus.core.policy import Connection
from querybus.ops.clock import Clock
from querybus_gateway.ports import Entry, Log
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.admin.asked import TROUBLE, EndingsLog
from querybus_gateway.use_cases.followups.confirm import CONFIRM_MS_MAX
from querybus_gateway.use_cases.resources import asked_confirmation, is_second_person

CHANGES_MAX: Final = 100
TENANTS_MAX: Final = 1_000
"""Whose endings a replica remembers as read."""
_MARK: Final = b'"needs_second_person":true'
_ANALYSTS: Final = Problem(ProblemCode.SCOPE, "analysts confirm the changes of others, with a key that may ask freely")


class KnownConnections(Protocol):
    """The connections. Raises BusTrouble."""

    async def all(self) -> Sequence[Connection]: ...


@dataclass(slots=True)
class _Seen:
    """What of a tenant's endings was read until a time, so that the next look reads only what is new."""

    at_ms: int
    after: int = 0
    asking: list[Envelope[Finished]] = field(default_factory=list[Envelope[Finished]])


class WaitingChanges:
    """The changes that wait."""

    def __init__(self, endings: EndingsLog, log: Log, connections: KnownConnections, *, clock: Clock) -> None:
        self._endings = endings
        self._log = log
        self._connections = connections
        self._clock = clock
        self._seen: OrderedDict[str, _Seen] = OrderedDict()
        # One at a time: who looks in a loop waits for itself and not for everybody's processor.
        self._reading = asyncio.Semaphore(1)

    async def listed(self, credential: Credential) -> Json | Problem:
        """Return `{changes}`, the oldest first: those that this credential may say yes to, CHANGES_MAX at most.

        Only changes of connections that still want a second person are listed.
        """
        if not credential.may_teach:
            return _ANALYSTS
        tenant = credential.tenant
        try:
            known = await self._connections.all()
            wanting = {
                item.name for item in known if item.policy.of(tenant).second_person and item.policy.serves(tenant)
            }
            if not wanting:
                return {"changes": []}
            async with self._reading:
                asking = await self._asking(tenant)
            theirs = [item for item in asking if item.connection in wanting and is_second_person(item, credential)]
            found = [await self._waiting(item) for item in theirs]
        except BusTrouble:
            return TROUBLE
        return {"changes": [change for change in found if change is not None][:CHANGES_MAX]}

    async def _asking(self, tenant: str) -> Sequence[Envelope[Finished]]:
        """Return the endings of the last hour that ask for a second person. BusTrouble."""
        now = self._clock()
        seen = self._seen.get(tenant)
        if seen is None or now - seen.at_ms > CONFIRM_MS_MAX:
            seen = self._seen[tenant] = _Seen(now)
        self._seen.move_to_end(tenant)
        while len(self._seen) > TENANTS_MAX:
            self._seen.popitem(last=False)
        has_more = True
        while has_more:
            entries, place = await self._endings.since(tenant, now - CONFIRM_MS_MAX, seen.after)
            seen.asking += _asking_in(entries)
            seen.after, has_more = entries[-1].sequence if entries else seen.after, bool(place)
        seen.at_ms = now
        seen.asking = [item for item in seen.asking if _ended_at(item) + CONFIRM_MS_MAX > now]
        return seen.asking

    async def _waiting(self, finished: Envelope[Finished]) -> Json | None:
        """Return the change as it is shown, None for one that waits no more. BusTrouble."""
        asking = asked_confirmation(await self._log.query(finished.tenant, finished.query_id))
        confirmation = None if asking is None else asking.body.confirmation
        if asking is None or confirmation is None:
            return None
        ends_at = _ended_at(asking) + CONFIRM_MS_MAX
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


def _ended_at(envelope: Envelope[Any]) -> int:
    return max(step.ended_at for step in envelope.path)


def _asking_in(entries: Sequence[Entry]) -> list[Envelope[Finished]]:
    """Return the endings among these that ask for a second person."""
    found: list[Envelope[Finished]] = []
    for entry in entries:
        # Most endings ask for nothing, and reading each as a whole takes long.
        if _MARK not in entry.data:
            continue
        with suppress(Undecodable):
            finished = cast("Envelope[Finished]", entry.envelope())
            confirmation = finished.body.answer.confirmation
            if confirmation is not None and confirmation.needs_second_person and finished.path:
                found.append(finished)
    return found
