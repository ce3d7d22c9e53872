"""What one replica of the gateway has in memory of the queries that run."""

from __future__ import annotations

from dataclasses import dataclass

from querybus_gateway.lifecycle.fair_queue import Turns
from querybus_gateway.lifecycle.in_flight import OpenQueries
from querybus_gateway.lifecycle.load import Load
from querybus_gateway.lifecycle.waiters import Waiters


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """The open queries, whose turn is next, who waits for an end, and how fast queries end."""

    open_queries: OpenQueries
    turns: Turns
    waiters: Waiters
    load: Load
