"""The gateway's composition root: settings, edges, APIs, loops; the only reader of the settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

from querybus.bus.admin.connections import OutsideConnections
from querybus.bus.admin.erase import ThreadPurge
from querybus.bus.admin.gauges import BusHealth
from querybus.bus.application import Service, run_service
from querybus.bus.broker import BusBroker, make_broker
from querybus.bus.log.audit import AuditLog
from querybus.bus.log.endings import Endings, conclusion_of
from querybus.bus.log.follower import Follower
from querybus.bus.log.journal import Journal
from querybus.bus.pull import PullLoop
from querybus.bus.requests.calls import CallServer, Subscriber
from querybus.bus.requests.set_up import CONNECTIONS, MODELS, SetUpClient
from querybus.bus.requests.sign_in import SignInServer
from querybus.bus.stores.batches import BatchStore
from querybus.bus.stores.buckets import ConnectionStore, CounterStore, CredentialStore, SecretStore
from querybus.bus.stores.catalogs import CatalogStore
from querybus.bus.stores.knowledge import BoardStore, ChoiceStore, KnowledgeStore, PreferenceStore, QualityStore
from querybus.bus.stores.pages import PageStore
from querybus.bus.stores.threads import ThreadStore
from querybus.core.subjects import StageName
from querybus.core.topology import ADVISORIES, EVENTS, SUBMIT, SWEEPER, submit_durable
from querybus.ops.clock import Clock, system_clock, system_jitter, system_random_bits
from querybus.ops.log import configure_logging, get_log
from querybus.ops.metrics import Metrics
from querybus.ops.run import Part
from querybus.ops.settings import load
from querybus.ops.trace import Tracing, tracing_of
from querybus.picture import Pictures
from querybus_gateway.access.audit_trail import AuditTrail
from querybus_gateway.access.bus_tokens import BusTokens
from querybus_gateway.access.callers import Callers
from querybus_gateway.access.credentials import DevelopmentKey
from querybus_gateway.access.oidc import TokenReader
from querybus_gateway.access.quotas import Allowances, Limits, Meter
from querybus_gateway.bus.api import BusApi
from querybus_gateway.bus.sign_in import BusSignIn
from querybus_gateway.bus.stores import (
    BatchProgress,
    CancelHints,
    DeadLetters,
    FencedEvents,
    KnownConnections,
    PublishedAnswers,
    RefreshHints,
    SharedKey,
    SubmitQueue,
    TakenCodes,
)
from querybus_gateway.bus.submissions import Submissions
from querybus_gateway.lifecycle.answers import AnswerCalls
from querybus_gateway.lifecycle.board_schedule import BoardSchedule
from querybus_gateway.lifecycle.disconnect import Disconnect
from querybus_gateway.lifecycle.fair_queue import Turns
from querybus_gateway.lifecycle.follow_mark import FollowMark
from querybus_gateway.lifecycle.in_flight import OpenQueries
from querybus_gateway.lifecycle.load import Load
from querybus_gateway.lifecycle.replica import Replica
from querybus_gateway.lifecycle.sweeper import NOTED, Sweeper
from querybus_gateway.lifecycle.waiters import Waiters
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.settings import Settings
from querybus_gateway.use_cases.admin import AdminCases
from querybus_gateway.use_cases.admin.asked import AskedQuestions
from querybus_gateway.use_cases.admin.evaluations import Evaluations
from querybus_gateway.use_cases.admin.keys import Keys
from querybus_gateway.use_cases.admin.models import ModelCases
from querybus_gateway.use_cases.admin.personal import PersonalColumns
from querybus_gateway.use_cases.admin.set_up import SetUpCases
from querybus_gateway.use_cases.batches.batches import Batches
from querybus_gateway.use_cases.batches.boards import BoardCases
from querybus_gateway.use_cases.batches.runner import BatchRunner
from querybus_gateway.use_cases.bundle import UseCases
from querybus_gateway.use_cases.catalogs.connections import Catalogs
from querybus_gateway.use_cases.catalogs.definitions import Definitions
from querybus_gateway.use_cases.followups.confirm import Confirmations
from querybus_gateway.use_cases.followups.learnt_choices import LearntChoices
from querybus_gateway.use_cases.followups.waiting import WaitingChanges
from querybus_gateway.use_cases.knowledge import Teaching
from querybus_gateway.use_cases.queries import BUS_RETRY_SECONDS, HELD_MAX, Admission, Queries, QueryPorts
from querybus_gateway.use_cases.results.charts import Charts
from querybus_gateway.use_cases.results.pages import Results
from querybus_gateway.use_cases.sign_in import SignIn
from querybus_gateway.use_cases.thread_events import ThreadEvents
from querybus_gateway.use_cases.threads import Threads

ADVISORY_SLOTS = 4
FULL_RETRY_SECONDS = 30
CALLS_MAX = 1_024
"""Calls on the bus that one replica answers at once."""
GRPC_CALLS_MAX = 4_096
"""gRPC calls of one replica, streams included."""
LOG_SHARE_MAX = 0.9
LOG_AGE_SECONDS_MIN = 3_600
"""A log that is fuller than this and holds less than this refuses new questions: it would soon forget what is still open."""
HELD_DRAIN_SECONDS = 1.0
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

_log = get_log(__name__)


@dataclass(frozen=True, slots=True)
class Stores:
    """What the gateway keeps on the bus, and what it knows of it in memory."""

    journal: Journal
    events: FencedEvents
    answers: PublishedAnswers
    dead_letters: DeadLetters
    credentials: CredentialStore
    connections: ConnectionStore
    catalogs: CatalogStore
    preferences: PreferenceStore
    choices: LearntChoices
    batches: BatchStore
    boards: BoardStore
    quality: QualityStore
    replica: Replica
    allowances: Allowances
    audit: AuditTrail


def stores(settings: Settings, broker: BusBroker, *, clock: Clock, tracing: Tracing) -> Stores:
    """Return the stores; nothing is read yet."""
    open_queries = OpenQueries()
    return Stores(
        journal=Journal(broker),
        events=FencedEvents(broker, clock=clock, tracing=tracing),
        answers=PublishedAnswers(broker),
        dead_letters=DeadLetters(broker, clock=clock),
        credentials=CredentialStore(broker, follow=True, clock=clock, groups=settings.groups),
        connections=ConnectionStore(broker),
        catalogs=CatalogStore(broker),
        preferences=PreferenceStore(broker, follow=True),
        choices=LearntChoices(ChoiceStore(broker)),
        batches=BatchStore(broker),
        boards=BoardStore(broker),
        quality=QualityStore(broker),
        replica=Replica(
            open_queries=open_queries,
            turns=Turns(open_queries, settings.in_flight_max, settings.in_flight_total_max),
            waiters=Waiters(),
            load=Load(settings.in_flight_total_max or settings.in_flight_max, chance=system_jitter),
        ),
        allowances=Allowances(CounterStore(broker), settings.allowed(), clock=clock),
        audit=AuditTrail(AuditLog(broker), partial(conclusion_of, broker), clock=clock),
    )


def storage_problem(metrics: Metrics, health: BusHealth) -> Problem | None:
    """Return why no further question can be stored; None while it can.

    What is left of a full log is needed for the ends of what was accepted.
    """
    if metrics.stream_turns_over(EVENTS, LOG_SHARE_MAX, LOG_AGE_SECONDS_MIN):
        return Problem(ProblemCode.BUS_UNAVAILABLE, "the log is full", retry_after_seconds=FULL_RETRY_SECONDS)
    if health.trouble is not None:
        return Problem(
            ProblemCode.BUS_UNAVAILABLE, "the bus cannot store at the moment", retry_after_seconds=BUS_RETRY_SECONDS
        )
    return None


def queries_of(
    settings: Settings, broker: BusBroker, kept: Stores, health: BusHealth, *, clock: Clock, metrics: Metrics
) -> Queries:
    """Return the use case that all others stand on: ask, read, follow, cancel."""
    purge_password = settings.purge_password.get_secret_value()
    threads = Threads(
        log=kept.journal,
        index=ThreadStore(broker),
        purge=ThreadPurge(settings.nats_url, purge_password) if purge_password else None,
        audit=kept.audit,
        allowances=kept.allowances,
        clock=clock,
        random_bits=system_random_bits,
    )
    ports = QueryPorts(
        log=kept.journal,
        events=kept.events,
        connections=KnownConnections(kept.connections, clock=clock),
        submissions=SubmitQueue(broker, clock=clock),
        hints=CancelHints(broker),
        progress=Subscriber(broker),
        registry=kept.credentials,
        preferences=kept.preferences,
        choices=kept.choices,
        on_refused=kept.audit.note_refusal,
    )
    admission = Admission(
        limits=Limits(settings.option_caps, settings.option_defaults, settings.repair_policies, settings.tenant_limits),
        allowances=kept.allowances,
        can_wait=frozenset(settings.tenants).__contains__,
        storage_problem=partial(storage_problem, metrics, health),
    )
    return Queries(ports, kept.replica, admission, threads, clock=clock, random_bits=system_random_bits)


def boards_of(kept: Stores, queries: Queries, *, clock: Clock) -> BoardCases:
    """Return the use case of boards, which the APIs and the schedule stand on."""
    return BoardCases(queries, kept.boards, kept.catalogs, clock=clock, random_bits=system_random_bits)


def confirmations_of(kept: Stores, queries: Queries, *, clock: Clock) -> Confirmations:
    """Return the use case of changes that a person confirms."""
    return Confirmations(
        queries,
        log=kept.journal,
        events=kept.events,
        open_queries=kept.replica.open_queries,
        clock=clock,
        audit=kept.audit,
    )


def use_cases_of(
    broker: BusBroker,
    kept: Stores,
    queries: Queries,
    callers: Callers,
    sign_in: SignIn,
    pictures: Pictures,
    *,
    groups: Collection[str],
    clock: Clock,
    metrics: Metrics,
) -> UseCases:
    """Return what every API is given; `groups` are those that a key may name."""
    names = KnownConnections(kept.connections, clock=clock)
    page_key = SharedKey(SecretStore(broker), "page-token", random_bits=system_random_bits)
    catalogs = Catalogs(kept.connections, kept.catalogs, RefreshHints(broker))
    knowledge = KnowledgeStore(broker)
    results = Results(queries, PageStore(broker), token_key=page_key, clock=clock)
    return UseCases(
        queries=queries,
        threads=queries.threads,
        thread_events=ThreadEvents(queries.threads, kept.replica.waiters, clock=clock),
        batches=Batches(queries, kept.batches, clock=clock, random_bits=system_random_bits),
        results=results,
        charts=Charts(queries, pictures),
        confirmations=confirmations_of(kept, queries, clock=clock),
        waiting=WaitingChanges(Endings(broker), kept.journal, kept.connections, clock=clock),
        credentials=kept.credentials,
        callers=callers,
        sign_in=sign_in,
        count=metrics.api_request,
        catalogs=catalogs,
        definitions=Definitions(catalogs, knowledge),
        teaching=Teaching(
            queries,
            knowledge,
            kept.preferences,
            kept.connections,
            kept.catalogs,
            kept.quality,
            clock=clock,
            on_wrong=metrics.contradicted,
        ),
        choices=kept.choices,
        boards=boards_of(kept, queries, clock=clock),
        admin=AdminCases(
            AskedQuestions(Endings(broker), kept.quality, clock=clock),
            Evaluations(queries, results, kept.quality, names, clock=clock, random_bits=system_random_bits),
            PersonalColumns(names, kept.connections, kept.catalogs),
            Keys(kept.credentials, names, clock=clock, audit=kept.audit, groups=groups),
            SetUpCases(SetUpClient(broker, CONNECTIONS)),
            ModelCases(SetUpClient(broker, MODELS)),
        ),
    )


def apis(settings: Settings, broker: BusBroker, use_cases: UseCases, *, tracing: Tracing) -> list[Part]:
    """Return the listeners: the bus, and HTTP and gRPC where they have a port."""
    api = BusApi(use_cases, tracing=tracing, calls_max=CALLS_MAX)
    listeners: list[Part] = [
        CallServer(broker, api.answer, slots=CALLS_MAX, drain_seconds=settings.drain_seconds),
    ]
    if settings.api_port is not None:
        # Loaded only where the API is open: it takes half a second, and one question at the terminal goes over the bus.
        from querybus_gateway.http.app import http_listeners

        listeners += http_listeners(settings, broker, use_cases, tracing=tracing)
    if settings.grpc_port is not None:
        # No child of this process calls gRPC; else the library says at every fork that it skips its handlers.
        os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
        # Loaded only where the API is open: it brings a library with threads of its own.
        from querybus_gateway.grpc.server import GrpcApi

        listeners.append(
            GrpcApi(
                use_cases,
                host=settings.api_host,
                port=settings.grpc_port,
                calls_max=GRPC_CALLS_MAX,
                tracing=tracing,
                random_bits=system_random_bits,
                on_listening=lambda address: _log.info("grpc.listening", address=address),
                trusted_proxies=settings.trusted_proxies,
                without_key=settings.grpc_without_key,
            )
        )
    return listeners


def _queue(broker: BusBroker, tenant: str, submissions: Submissions) -> PullLoop:
    return PullLoop(
        broker,
        stream=SUBMIT,
        durable=submit_durable(tenant),
        slots=HELD_MAX,
        handle=submissions.handle,
        drain_seconds=HELD_DRAIN_SECONDS,
    )


def _runner(broker: BusBroker, kept: Stores, queries: Queries, *, clock: Clock) -> BatchRunner:
    return BatchRunner(
        queries,
        kept.batches,
        kept.journal,
        BatchProgress(broker),
        credentials=kept.credentials,
        owner=f"{system_random_bits(64):016x}",
        clock=clock,
    )


def loops(
    settings: Settings, broker: BusBroker, kept: Stores, queries: Queries, *, clock: Clock, metrics: Metrics
) -> list[Part | tuple[Part, ...]]:
    """Return what goes on without being asked: the followed log, answers, dead letters, queues, sweeper, batches."""
    sweeper = Sweeper(
        journal=kept.journal,
        events=kept.events,
        answers=kept.answers,
        dead_letters=kept.dead_letters,
        replica=kept.replica,
        metrics=metrics,
        clock=clock,
    )
    submissions = Submissions(
        queries=queries,
        turns=kept.replica.turns,
        credentials=kept.credentials,
        answers=kept.answers,
        dead_letters=kept.dead_letters,
        sweeper=sweeper,
        metrics=metrics,
        clock=clock,
        jitter=system_jitter,
    )
    calls = AnswerCalls(
        kept.answers,
        kept.dead_letters,
        meter=Meter(kept.allowances, metrics),
        audit=kept.audit,
        metrics=metrics,
        jitter=system_jitter,
        refreshes=RefreshHints(broker),
        on_answered=kept.replica.waiters.finish,
    )
    mark = FollowMark(CounterStore(broker), kept.replica.open_queries, kept.journal.log_end)
    follower = Follower(broker, sweeper.note, events=NOTED, start_sequence=mark.start_sequence)
    mark.attach(follower)
    return [
        follower,
        mark,
        (
            PullLoop(broker, stream=EVENTS, durable=StageName.GATEWAY, slots=settings.slots, handle=calls.handle),
            PullLoop(broker, stream=ADVISORIES, durable=SWEEPER, slots=ADVISORY_SLOTS, handle=sweeper.handle_advisory),
            *(_queue(broker, tenant, submissions) for tenant in settings.tenants),
        ),
        kept.credentials,
        kept.preferences,
        kept.audit,
        sweeper,
        _runner(broker, kept, queries, clock=clock),
        BoardSchedule(boards_of(kept, queries, clock=clock), kept.boards, kept.credentials, clock=clock),
    ]


def outsiders(settings: Settings, broker: BusBroker, kept: Stores, callers: Callers, *, clock: Clock) -> list[Part]:
    """Return what lets callers in over the bus and ends the connections of revoked keys; nothing without an issuer's key."""
    issuer_key = settings.bus_issuer_key.get_secret_value()
    if not issuer_key:
        return []
    sign_in = BusSignIn(callers, BusTokens(issuer_key), tenants=settings.tenants, clock=clock, audit=kept.audit)
    return [
        SignInServer(broker, sign_in.admit),
        Disconnect(
            OutsideConnections(settings.nats_url, settings.disconnect_password.get_secret_value()),
            Subscriber(broker),
            kept.credentials,
            tenants=settings.tenants,
        ),
    ]


def build(settings: Settings, *, clock: Clock = system_clock) -> Service:
    """Return the service; nothing is connected yet."""
    name = StageName.GATEWAY
    metrics = Metrics(name)
    tracing = tracing_of(name, settings)
    broker = make_broker(settings, name, metrics)
    kept = stores(settings, broker, clock=clock, tracing=tracing)
    oidc = settings.oidc
    keys = None
    if oidc is not None:
        # Loaded only where there is an issuer: it brings a client of HTTP.
        from querybus_gateway.access.jwks import HttpKeys

        keys = HttpKeys(oidc.issuer, oidc.keys_url)
    session_key = SharedKey(SecretStore(broker), "session-token", random_bits=system_random_bits)
    callers = Callers(
        kept.credentials,
        session_key=session_key,
        tokens=TokenReader(oidc.trusted(), keys, clock=clock, tenants=oidc.tenants, groups=settings.groups)
        if oidc and keys
        else None,
        clock=clock,
        guesses_max=settings.key_guesses_max,
        on_refused=kept.audit.note_stranger,
    )
    health = BusHealth(settings.nats_monitoring_url, metrics=metrics)
    queries = queries_of(settings, broker, kept, health, clock=clock, metrics=metrics)
    pictures = Pictures()
    sign_in = SignIn(
        kept.credentials,
        TakenCodes(CounterStore(broker)),
        key=session_key,
        clock=clock,
        random_bits=system_random_bits,
        audit=kept.audit,
    )
    use_cases = use_cases_of(
        broker, kept, queries, callers, sign_in, pictures, groups=settings.groups, clock=clock, metrics=metrics
    )
    parts: list[Part | tuple[Part, ...]] = [tracing, health]
    if settings.environment == "development" and settings.development_key_file is not None:
        announce = _print_key if settings.api_host in LOOPBACK else None
        parts.append(
            DevelopmentKey(
                kept.credentials, settings.development_key_file, random_bits=system_random_bits, announce=announce
            )
        )
    if keys is not None:
        parts.append(keys)
    parts += outsiders(settings, broker, kept, callers, clock=clock)
    parts += loops(settings, broker, kept, queries, clock=clock, metrics=metrics)
    parts += [pictures, tuple(apis(settings, broker, use_cases, tracing=tracing)), kept.replica.waiters]
    return Service(name, broker, parts, metrics=metrics, settings=settings, tenants=settings.tenants)


def _print_key(key: str) -> None:
    # To the terminal, never to the log.
    print(f"development key, made now: {key}", file=sys.stderr)  # noqa: T201


def main() -> None:
    """Run the gateway until SIGTERM."""
    settings = load(Settings)
    configure_logging(settings.log_level, as_json=settings.log_json)
    run_service(build(settings))
