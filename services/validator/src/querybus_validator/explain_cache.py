"""What an engine said of a statement, kept for a while by its text: the same draft is not explained twice.

Only an opinion about the statement is kept: an engine that could not be reached, was too slow or was busy is asked
again. A statement's text holds what its reader may see, so equal texts have equal answers. Bounded.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from querybus.core.failure import TRAITS
from querybus.core.requests.rpc import ExplainReply, ExplainRequest, ProbeReply, ProbeRequest
from querybus.ops.clock import Clock
from querybus.ops.metrics import Metrics
from querybus_validator.ports import Database

KEPT_MAX: Final = 1_024
KEPT_MS_MAX: Final = 60_000
"""Well below what a table may live on after it changed; the executor reads catalogs anew meanwhile."""


class ExplainCache:
    """The executor, with its opinions kept."""

    def __init__(self, database: Database, *, clock: Clock, metrics: Metrics) -> None:
        self._database = database
        self._clock = clock
        self._metrics = metrics
        self._kept: OrderedDict[tuple[str, str, str, bool], tuple[int, ExplainReply]] = OrderedDict()

    async def explain(self, tenant: str, connection: str, request: ExplainRequest) -> ExplainReply:
        """Return what the engine says of the statement, or said of it a moment ago."""
        key = (tenant, connection, request.sql, request.checks_size)
        kept = self._kept.get(key)
        hit = kept is not None and self._clock() - kept[0] < KEPT_MS_MAX
        self._metrics.cache("explain", hit=hit)
        if kept is not None and hit:
            return kept[1]
        reply = await self._database.explain(tenant, connection, request)
        if reply.failure is None or TRAITS[reply.failure.code].to_model:
            self._kept[key] = (self._clock(), reply)
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        return reply

    async def probe(self, tenant: str, connection: str, request: ProbeRequest) -> ProbeReply:
        """Return the first rows of the statement; a probe is never answered from memory."""
        return await self._database.probe(tenant, connection, request)
