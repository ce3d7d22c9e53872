"""Every subject and message id of QueryBus is built and read here, and nowhere else.

Limits: a token is `[a-z0-9-]{1,64}`; an outside name that does not fit travels as `x-` and 32 hex digits of its
SHA-256, so no name from outside can widen a subject. Source: the subject tables of ARCHITECTURE.md.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

ROOT: Final = "querybus.v1"
TOKEN_LENGTH_MAX: Final = 64
_REMEMBERED_MAX: Final = 4_096
"""Names and subjects whose reading is kept: each passes a process several times within one question."""
_TOKEN = re.compile(r"[a-z0-9-]{1,64}")
# A name that already looks like a hashed one would be ambiguous, so it is hashed as well.
_HASHED = re.compile(r"x-[0-9a-f]{32}")


class EventName(StrEnum):
    """The eight kinds of event, in the order in which a query may pass them."""

    ASKED = "asked"
    RETURNED = "returned"
    DRAFTED = "drafted"
    CONFIRMED = "confirmed"
    APPROVED = "approved"
    FAILED = "failed"
    CONCLUDED = "concluded"
    FINISHED = "finished"


_EVENTS: Final = frozenset(EventName)


class StageName(StrEnum):
    """The services that read events; the value is also the bus user's name, and that of its first durable."""

    GATEWAY = "gateway"
    GENERATOR = "generator"
    VALIDATOR = "validator"
    EXECUTOR = "executor"
    RECOVERY = "recovery"
    PRESENTER = "presenter"


READS: Final[dict[StageName, tuple[EventName, ...]]] = {
    StageName.GENERATOR: (EventName.ASKED, EventName.RETURNED),
    StageName.VALIDATOR: (EventName.DRAFTED, EventName.CONFIRMED),
    StageName.EXECUTOR: (EventName.APPROVED,),
    StageName.RECOVERY: (EventName.FAILED,),
    StageName.PRESENTER: (EventName.CONCLUDED,),
    StageName.GATEWAY: (EventName.FINISHED,),
}
"""Which events each stage consumes; the topology test proves that it is closed."""

WRITES: Final[dict[StageName, tuple[EventName, ...]]] = {
    StageName.GENERATOR: (EventName.DRAFTED, EventName.CONCLUDED, EventName.FAILED),
    StageName.VALIDATOR: (EventName.APPROVED, EventName.FAILED, EventName.CONCLUDED),
    StageName.EXECUTOR: (EventName.CONCLUDED, EventName.FAILED, EventName.RETURNED),
    StageName.RECOVERY: (EventName.DRAFTED, EventName.RETURNED, EventName.CONCLUDED),
    StageName.PRESENTER: (EventName.FINISHED,),
    StageName.GATEWAY: (EventName.ASKED, EventName.CONFIRMED, EventName.CONCLUDED, EventName.FINISHED),
}
"""Which events each service may publish; the permission file is generated from it."""


def durables_of(stage: StageName) -> dict[str, EventName]:
    """Return the durables of a stage, each with the one event that it delivers.

    One for each event: behind a durable of several filters nats-server walks all subjects of the log for each message
    that it delivers (docs/adr/0016).

    >>> list(durables_of(StageName.GENERATOR))
    ['generator', 'generator-returned']
    """
    first, *others = READS[stage]
    return {stage.value: first} | {f"{stage}-{event}": event for event in others}


STAGE_OF_DURABLE: Final = {name: stage for stage in READS for name in durables_of(stage)}


@dataclass(frozen=True, slots=True)
class EventAddress:
    """Where an event stands: tokens as they occur in its subject."""

    tenant: str
    thread: str
    query: str
    event: EventName

    @property
    def subject(self) -> str:
        return f"{ROOT}.event.{self.tenant}.{self.thread}.{self.query}.{self.event}"

    @property
    def log_filter(self) -> str:
        """The filter of this query's log in its own thread: cheaper to read by than any thread."""
        return f"{ROOT}.event.{self.tenant}.{self.thread}.{self.query}.>"


@lru_cache(_REMEMBERED_MAX)
def token(name: str) -> str:
    """Return the subject token of an outside name.

    >>> token("acme")
    'acme'
    >>> token("Acme.*")
    'x-349ceafee54e64e757273d935da3c435'
    """
    if _TOKEN.fullmatch(name) and not _HASHED.fullmatch(name):
        return name
    return "x-" + hashlib.sha256(name.encode()).hexdigest()[:32]


@lru_cache(_REMEMBERED_MAX)
def is_token(text: str) -> bool:
    """Return whether the text can stand in a subject as it is."""
    return _TOKEN.fullmatch(text) is not None


def _safe(*tokens: str) -> str:
    for token in tokens:
        if not is_token(token):
            raise ValueError(f"{token[:80]!r} is not a subject token: pass outside names through token() first")
    return ".".join(tokens)


def event_subject(tenant: str, thread: str, query: str, event: EventName) -> str:
    """Return `querybus.v1.event.<tenant>.<thread>.<query>.<event>`; ValueError for an unfit token."""
    return f"{ROOT}.event.{_safe(tenant, thread, query)}.{event}"


@lru_cache(_REMEMBERED_MAX)
def parse_event_subject(subject: str) -> EventAddress | None:
    """Return the parts of an event's subject, or None for any other subject."""
    parts = subject.split(".")
    if len(parts) != 7 or parts[:3] != ["querybus", "v1", "event"]:
        return None
    if not all(is_token(part) for part in parts[3:6]) or parts[6] not in _EVENTS:
        return None
    return EventAddress(parts[3], parts[4], parts[5], EventName(parts[6]))


def thread_log_filter(tenant: str, thread: str) -> str:
    """Return the filter of a whole thread."""
    return f"{ROOT}.event.{_safe(tenant, thread)}.>"


def thread_event_filter(tenant: str, thread: str, event: EventName) -> str:
    """Return the filter of one kind of event over all queries of a thread."""
    return f"{ROOT}.event.{_safe(tenant, thread)}.*.{event}"


def tenant_event_filter(tenant: str, event: EventName) -> str:
    """Return the filter of one kind of event over all queries of a tenant."""
    return f"{ROOT}.event.{_safe(tenant)}.*.*.{event}"


def event_filter(event: EventName) -> str:
    """Return the filter of one kind of event over all tenants."""
    return f"{ROOT}.event.*.*.*.{event}"


def message_id(query: str, event: EventName, input_sequence: int) -> str:
    """Return the `Nats-Msg-Id` of an event; the input's stream sequence is 0 for a first event.

    >>> message_id("q1", EventName.DRAFTED, 7)
    'q1:drafted:7'
    """
    return f"{query}:{event}:{input_sequence}"


def call_subject(tenant: str, credential: str, verb: str) -> str:
    """Return the request subject of an outside caller."""
    return f"{ROOT}.call.{_safe(tenant, credential, verb)}"


def every_call_filter() -> str:
    """Return the filter of every outside request."""
    return f"{ROOT}.call.*.*.*"


def submit_subject(tenant: str, credential: str) -> str:
    """Return the durable submit subject of an outside caller."""
    return f"{ROOT}.submit.{_safe(tenant, credential)}"


def answer_subject(tenant: str, user: str, audience: str, query: str) -> str:
    """Return where the final answer goes, reduced for its audience.

    The audience is a token of its own, so a person's credential for business readers receives no analyst's answer.
    """
    return f"{ROOT}.answer.{_safe(tenant, user, audience, query)}"


def answer_filter(tenant: str, user: str, audience: str) -> str:
    """Return the filter of a person's final answers, as one of its audiences receives them."""
    return f"{ROOT}.answer.{_safe(tenant, user, audience)}.*"


def progress_subject(tenant: str, user: str, audience: str, query: str) -> str:
    """Return the lossy progress subject of one query; the audience as for answers."""
    return f"{ROOT}.progress.{_safe(tenant, user, audience, query)}"


def every_progress_filter(tenant: str, user: str, query: str) -> str:
    """Return the filter of a query's progress, whoever asked it: what a gateway follows, which reduces it itself."""
    return f"{ROOT}.progress.{_safe(tenant, user)}.*.{_safe(query)}"


def page_subject(tenant: str, query: str, run: str, page: int) -> str:
    """Return where one Arrow page of one run is kept; pages count from 1."""
    if page < 1:
        raise ValueError("pages count from 1")
    return f"{ROOT}.page.{_safe(tenant, query, run)}.{page}"


def pages_filter(tenant: str, query: str) -> str:
    """Return the filter of every page of every run of a query."""
    return f"{ROOT}.page.{_safe(tenant, query)}.>"


def run_token(sequence: int, deliveries: int) -> str:
    """Return the run of an execution: the stream sequence of `approved` and its delivery."""
    return f"{sequence}-{deliveries}"


def rpc_subject(tenant: str, connection: str, operation: str) -> str:
    """Return the request subject of the executor's `explain` and `probe`."""
    return f"{ROOT}.rpc.database.{_safe(tenant, connection, operation)}"


def cancel_subject(tenant: str, query: str) -> str:
    """Return the hint that work on a query may stop early."""
    return f"{ROOT}.ctl.cancel.{_safe(tenant, query)}"


def every_cancel_filter() -> str:
    """Return the filter of all cancel hints."""
    return f"{ROOT}.ctl.cancel.*.*"


def rpc_filter(operation: str) -> str:
    """Return the filter of one operation over all tenants and connections: what the executor serves."""
    return f"{ROOT}.rpc.database.*.*.{_safe(operation)}"


SET_UP_INBOX: Final = "_INBOX.gateway.set-up"
"""Below which the executor replies to an owner's requests about connections."""


def set_up_subject(tenant: str) -> str:
    """Return the subject at which an owner of the tenant asks to test, add, change or remove a connection."""
    return f"{ROOT}.rpc.set-up.{_safe(tenant)}"


def every_set_up_filter() -> str:
    """Return the filter of all those requests: what the executor serves."""
    return f"{ROOT}.rpc.set-up.*"


MODEL_SET_UP_INBOX: Final = "_INBOX.gateway.model"
"""Below which the generator replies to an owner's requests about chat models."""


def model_set_up_subject(tenant: str) -> str:
    """Return the subject at which an owner of the tenant asks to list, test or save chat models."""
    return f"{ROOT}.rpc.model.{_safe(tenant)}"


def every_model_set_up_filter() -> str:
    """Return the filter of all those requests: what the generator serves."""
    return f"{ROOT}.rpc.model.*"


def refresh_subject(tenant: str, connection: str) -> str:
    """Return the hint that a connection's catalog should be read again."""
    return f"{ROOT}.ctl.refresh.{_safe(tenant, connection)}"


def audit_subject(tenant: str) -> str:
    """Return where the records of a tenant's audit are stored; `*` for all tenants."""
    return f"{ROOT}.audit.{tenant if tenant == '*' else _safe(tenant)}"


def siem_subject(tenant: str) -> str:
    """Return where each record goes with its words once it is stored, for whoever listens; `*` for all tenants."""
    return f"{ROOT}.siem.{tenant if tenant == '*' else _safe(tenant)}"


def dead_subject(stage: StageName) -> str:
    """Return the dead-letter subject of a stage."""
    return f"{ROOT}.dead.{stage}"


def dead_filter() -> str:
    """Return the filter of all dead letters."""
    return f"{ROOT}.dead.*"


def dead_message_id(stream: str, sequence: int) -> str:
    """Return the message id that lets a message die once, whoever dead-letters it."""
    return f"dead-{stream}-{sequence}"
