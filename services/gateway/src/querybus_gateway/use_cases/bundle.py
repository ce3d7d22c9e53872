"""What the gateway can do, by area: the one value that every API is given; an API only translates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from querybus_gateway.access.callers import Callers
from querybus_gateway.ports import Credentials
from querybus_gateway.use_cases.admin import AdminCases
from querybus_gateway.use_cases.batches.batches import Batches
from querybus_gateway.use_cases.batches.boards import BoardCases
from querybus_gateway.use_cases.catalogs.connections import Catalogs
from querybus_gateway.use_cases.catalogs.definitions import Definitions
from querybus_gateway.use_cases.followups.confirm import Confirmations
from querybus_gateway.use_cases.followups.learnt_choices import LearntChoices
from querybus_gateway.use_cases.followups.waiting import WaitingChanges
from querybus_gateway.use_cases.knowledge import Teaching
from querybus_gateway.use_cases.queries import Queries
from querybus_gateway.use_cases.results.charts import Charts
from querybus_gateway.use_cases.results.pages import Results
from querybus_gateway.use_cases.sign_in import SignIn
from querybus_gateway.use_cases.thread_events import ThreadEvents
from querybus_gateway.use_cases.threads import Threads


@dataclass(frozen=True, slots=True)
class UseCases:
    """The use cases behind the APIs, and the registry that says who is calling."""

    queries: Queries
    threads: Threads
    thread_events: ThreadEvents
    batches: Batches
    results: Results
    charts: Charts
    confirmations: Confirmations
    waiting: WaitingChanges
    catalogs: Catalogs
    definitions: Definitions
    teaching: Teaching
    choices: LearntChoices
    boards: BoardCases
    admin: AdminCases
    credentials: Credentials
    callers: Callers
    sign_in: SignIn
    count: Callable[[str, int], None]
    """Counts a request at an API, by the HTTP status of its answer."""
