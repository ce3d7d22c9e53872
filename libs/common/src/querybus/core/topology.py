"""Every stream, durable and bucket of QueryBus stands in this one table; nothing else names them.

`querybus operate migrate` creates from it, services compare with it before they start, the permission file grants from it.
Pure values: sizes and replicas are passed in. Source: docs/bus tables in ARCHITECTURE.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from querybus.core.subjects import READS, ROOT, EventName, StageName, audit_subject, durables_of, event_filter, is_token

EVENTS: Final = "QUERYBUS"
SUBMIT: Final = "QUERYBUS_SUBMIT"
RESULTS: Final = "QUERYBUS_RESULTS"
DEAD: Final = "QUERYBUS_DEAD"
ADVISORIES: Final = "QUERYBUS_ADVISORIES"
AUDIT: Final = "QUERYBUS_AUDIT"

SWEEPER: Final = "sweeper"
"""The durable of QUERYBUS_ADVISORIES, read by every gateway replica."""

MAX_DELIVER: Final = 5
SUBMITTED_MAX: Final = 1_024
"""Questions of one tenant that the gateways hold while they wait, and of one credential in the submit queue."""
MAX_WAITING: Final = 512
DUPLICATE_WINDOW_SECONDS: Final = 600.0

_HOUR: Final = 3_600.0
_DAY: Final = 24 * _HOUR
WORK_AGE_SECONDS: Final = 72 * _HOUR
"""How long the events between a query's beginning and its end are kept; `REMEMBERED` are kept as long as the log."""
_KIB: Final = 1_024
_MIB: Final = 1_024 * _KIB
_GIB: Final = 1_024 * _MIB


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream. Bytes and seconds; `None` is the server's own limit."""

    name: str
    subjects: tuple[str, ...]
    retention: Literal["limits", "workqueue"] = "limits"
    discard: Literal["old", "new"] = "old"
    max_age_seconds: float = 0.0
    max_bytes: int = _GIB
    max_message_bytes: int = _MIB
    messages_per_subject_max: int | None = None
    duplicate_window_seconds: float = DUPLICATE_WINDOW_SECONDS
    allow_direct: bool = False
    is_append_only: bool = False
    """Whether nobody may delete or purge a message; the server never lets that be changed back."""
    has_message_ages: bool = False
    """Whether a message may say itself how long it is kept (`Nats-TTL`)."""


@dataclass(frozen=True, slots=True)
class Consumer:
    """One durable pull consumer with explicit acks. `deliver` counts only when it is first made."""

    stream: str
    name: str
    filters: tuple[str, ...]
    ack_wait_seconds: float
    max_ack_pending: int
    max_deliver: int = MAX_DELIVER
    max_waiting: int = MAX_WAITING
    deliver: Literal["new", "all"] = "new"


@dataclass(frozen=True, slots=True)
class Bucket:
    """One key-value bucket: the stream `KV_<name>` on `$KV.<name>.>`, one revision per key.

    A full bucket refuses what is new, or forgets the oldest where nothing depends on it for ever.
    """

    name: str
    max_bytes: int = 256 * _MIB
    max_value_bytes: int = _MIB
    max_age_seconds: float = 0.0
    discard: Literal["old", "new"] = "new"

    @property
    def stream(self) -> str:
        return f"KV_{self.name}"


CATALOG: Final = "querybus_catalog"
CONNECTIONS: Final = "querybus_connections"
KNOWLEDGE: Final = "querybus_knowledge"
PREFERENCES: Final = "querybus_preferences"
BATCHES: Final = "querybus_batches"
BOARDS: Final = "querybus_boards"
QUALITY: Final = "querybus_quality"
WRITES: Final = "querybus_writes"
CREDENTIALS: Final = "querybus_credentials"
MODELS: Final = "querybus_models"
MODELS_KEY: Final = "all"
"""The one key of the bucket of models."""
LIMITS: Final = "querybus_limits"
THREADS: Final = "querybus_threads"
QUERY_THREADS: Final = "querybus_query_threads"


@dataclass(frozen=True, slots=True)
class Sizes:
    """What an operator may choose. `max_ack_pending` is at least four times a stage's slots over all replicas."""

    replicas: int = 1
    events_bytes_max: int = 16 * _GIB
    submit_bytes_max: int = _GIB
    results_bytes_max: int = 4 * _GIB
    dead_bytes_max: int = _GIB
    audit_bytes_max: int = _GIB
    audit_age_seconds: float = 400 * _DAY
    events_age_seconds: float = 90 * _DAY
    max_ack_pending: int = 4_096
    ack_wait_seconds: Mapping[StageName, float] = field(default_factory=dict[StageName, float])


@dataclass(frozen=True, slots=True)
class Topology:
    """The whole table for given sizes and tenants."""

    streams: tuple[Stream, ...]
    consumers: tuple[Consumer, ...]
    buckets: tuple[Bucket, ...]
    replicas: int = 1


ACK_WAIT_SECONDS: Final[dict[StageName, float]] = {
    StageName.GENERATOR: 10.0,
    StageName.VALIDATOR: 15.0,
    StageName.EXECUTOR: 15.0,
    StageName.RECOVERY: 30.0,
    StageName.PRESENTER: 5.0,
    StageName.GATEWAY: 10.0,
}
"""How long a message may go without a heartbeat; the presenter's is short because its death must be found within
the 10 seconds after the deadline that the stack allows."""

GATEWAY_ACK_WAIT_SECONDS: Final = 5.0
"""The same for what a gateway holds of submitted questions and advisories: no sweeper knows a query that waits in the
submit queue, so only its redelivery can end it in time when the gateway that held it died."""

REMEMBERED: Final = frozenset({EventName.ASKED, EventName.CONFIRMED, EventName.CONCLUDED, EventName.FINISHED})
"""What a thread is made of, kept as long as the log: how each query began and how it ended."""


def submit_durable(tenant: str) -> str:
    """Return the durable of one tenant's submitted questions: the tenant's own token."""
    if not is_token(tenant):
        raise ValueError(f"{tenant[:80]!r} is not a subject token: pass outside names through token() first")
    return tenant


def _streams(sizes: Sizes) -> tuple[Stream, ...]:
    return (
        # One subject per event name, so that the server itself refuses an event that nobody knows.
        Stream(
            EVENTS,
            tuple(event_filter(event) for event in EventName),
            # A full log forgets its oldest threads, so that what was accepted can always end; the gateway refuses new
            # questions before that could reach one that is still open.
            discard="old",
            max_age_seconds=sizes.events_age_seconds,
            max_bytes=sizes.events_bytes_max,
            allow_direct=True,
            has_message_ages=True,
        ),
        # A full queue refuses; one credential that floods fills its own share only, at most 256 MiB.
        Stream(
            SUBMIT,
            (f"{ROOT}.submit.*.*",),
            retention="workqueue",
            discard="new",
            max_age_seconds=72 * _HOUR,
            max_bytes=sizes.submit_bytes_max,
            max_message_bytes=256 * _KIB,
            messages_per_subject_max=SUBMITTED_MAX,
            allow_direct=True,
        ),
        Stream(
            RESULTS,
            (f"{ROOT}.page.*.*.*.*",),
            # A full store forgets the oldest pages, so that nobody's new result is refused for somebody else's.
            discard="old",
            max_age_seconds=_HOUR,
            max_bytes=sizes.results_bytes_max,
            max_message_bytes=8 * _MIB,
            allow_direct=True,
        ),
        Stream(DEAD, (f"{ROOT}.dead.*",), max_age_seconds=30 * _DAY, max_bytes=sizes.dead_bytes_max, allow_direct=True),
        Stream(
            AUDIT,
            (audit_subject("*"),),
            max_age_seconds=sizes.audit_age_seconds,
            max_bytes=sizes.audit_bytes_max,
            allow_direct=True,
            is_append_only=True,
        ),
        Stream(
            ADVISORIES,
            (
                f"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{EVENTS}.>",
                f"$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.{EVENTS}.>",
            ),
            max_age_seconds=7 * _DAY,
            max_bytes=256 * _MIB,
        ),
    )


def topology(sizes: Sizes | None = None, tenants: tuple[str, ...] = ()) -> Topology:
    """Return the table. `tenants` are subject tokens; each has one durable of QUERYBUS_SUBMIT."""
    sizes = sizes or Sizes()
    stages = tuple(
        Consumer(
            EVENTS,
            durable,
            (event_filter(event),),
            sizes.ack_wait_seconds.get(stage, ACK_WAIT_SECONDS[stage]),
            sizes.max_ack_pending,
        )
        for stage in READS
        for durable, event in durables_of(stage).items()
    )
    # A submitted question has been accepted, so it is never given up by count: the gateway terminates what is poison.
    submitted = tuple(
        Consumer(
            SUBMIT,
            submit_durable(tenant),
            (f"{ROOT}.submit.{tenant}.*",),
            GATEWAY_ACK_WAIT_SECONDS,
            SUBMITTED_MAX,
            max_deliver=-1,
            deliver="all",
        )
        for tenant in tenants
    )
    sweeper = Consumer(ADVISORIES, SWEEPER, (), GATEWAY_ACK_WAIT_SECONDS, 1_024, max_deliver=-1, deliver="all")
    # A thread whose turns are gone need not be listed any more, a query whose log is gone need not be found.
    ages = {THREADS: sizes.events_age_seconds, QUERY_THREADS: sizes.events_age_seconds + _HOUR}
    buckets = tuple(
        replace(bucket, max_age_seconds=ages[bucket.name]) if bucket.name in ages else bucket for bucket in BUCKETS
    )
    return Topology(_streams(sizes), (*stages, *submitted, sweeper), buckets, sizes.replicas)


BUCKETS: Final = (
    Bucket(CATALOG, max_bytes=2 * _GIB),
    Bucket(CONNECTIONS),
    Bucket(KNOWLEDGE, max_bytes=_GIB),
    Bucket(PREFERENCES),
    Bucket(BOARDS),
    Bucket(QUALITY),
    Bucket(BATCHES, max_bytes=_GIB, max_age_seconds=7 * _DAY),
    # Longer than any redelivery of an `approved` (WORK_AGE_SECONDS in the stream), so that a write never runs again, and
    # a read not after it ended two executors.
    Bucket(WRITES, max_age_seconds=30 * _DAY),
    Bucket(CREDENTIALS),
    Bucket(MODELS),
    Bucket(LIMITS),
    # The oldest threads give way: a full index of all tenants would keep every new thread out of its owner's list.
    Bucket(THREADS, max_bytes=_GIB, discard="old"),
    Bucket(QUERY_THREADS, max_value_bytes=_KIB, discard="old"),
)

BACKED_UP: Final = (
    EVENTS,
    DEAD,
    AUDIT,
    *(
        f"KV_{name}"
        for name in (
            THREADS,
            QUERY_THREADS,
            WRITES,
            CREDENTIALS,
            KNOWLEDGE,
            PREFERENCES,
            BOARDS,
            QUALITY,
            MODELS,
            BATCHES,
            LIMITS,
        )
    ),
)
"""The streams that a backup holds, in the order in which it takes them.

The log's numbers order a thread, so it cannot begin anew. Whose thread it is and which write was begun must be known of all
that is in the log. What is made anew (catalogs, connections) or is work under way (submitted questions, pages) is left out.
"""

ASSERTED_STREAMS: Final[dict[StageName, tuple[str, ...]]] = {
    StageName.GATEWAY: (EVENTS, SUBMIT, RESULTS, DEAD, ADVISORIES, AUDIT),
    StageName.GENERATOR: (EVENTS, DEAD),
    StageName.VALIDATOR: (EVENTS, DEAD),
    StageName.EXECUTOR: (EVENTS, RESULTS, DEAD),
    StageName.RECOVERY: (EVENTS, DEAD),
    StageName.PRESENTER: (EVENTS, RESULTS, DEAD),
}
"""The streams that a service reads or writes, which it asserts before it starts."""

READ_BUCKETS: Final[dict[StageName, tuple[str, ...]]] = {
    StageName.GATEWAY: (
        CATALOG,
        CONNECTIONS,
        KNOWLEDGE,
        PREFERENCES,
        BOARDS,
        QUALITY,
        BATCHES,
        CREDENTIALS,
        LIMITS,
        THREADS,
        QUERY_THREADS,
    ),
    StageName.GENERATOR: (CATALOG, CONNECTIONS, KNOWLEDGE, PREFERENCES, MODELS, LIMITS),
    StageName.VALIDATOR: (CATALOG, CONNECTIONS),
    StageName.EXECUTOR: (CATALOG, CONNECTIONS, WRITES),
    StageName.RECOVERY: (CATALOG, CONNECTIONS, PREFERENCES),
    StageName.PRESENTER: (CATALOG, CONNECTIONS, PREFERENCES, MODELS, LIMITS),
}
"""The buckets that a service reads."""

WRITTEN_BUCKETS: Final[dict[StageName, tuple[str, ...]]] = {
    StageName.GATEWAY: (KNOWLEDGE, PREFERENCES, BOARDS, QUALITY, BATCHES, CREDENTIALS, LIMITS, THREADS, QUERY_THREADS),
    StageName.EXECUTOR: (CATALOG, CONNECTIONS, WRITES),
}
"""The buckets that a service writes."""

FOLLOWED_BUCKETS: Final[dict[StageName, tuple[str, ...]]] = {
    StageName.GATEWAY: (CONNECTIONS, CREDENTIALS, PREFERENCES),
    StageName.GENERATOR: (CATALOG, CONNECTIONS, KNOWLEDGE, MODELS),
    StageName.VALIDATOR: (CATALOG, CONNECTIONS),
    StageName.RECOVERY: (CATALOG, CONNECTIONS),
    StageName.PRESENTER: (CATALOG, CONNECTIONS, MODELS),
}
"""The buckets whose changes a service receives, so that it need not look at each read."""
