"""The gateway's composition root: settings, edges, APIs, loops; the only reader of the settings."""

from __future__ import annotations

import os
import sys

from querybus.bus.admin.erase import ThreadPurge
from querybus.bus.application import Service, run_service
from querybus.bus.broker import make_broker
from querybus.bus.log.journal import Journal
from querybus.bus.pages import PageStore
from querybus.bus.pull import PullLoop
from querybus.bus.requests.calls import CallServer, Subscriber
from querybus.bus.stores.batches import BatchStore
from querybus.bus.stores.buckets import CatalogStore, ConnectionStore, CounterStore, CredentialStore, SecretStore
from querybus.bus.stores.knowledge import KnowledgeStore, PreferenceStore
from querybus.bus.stores.threads import ThreadStore
from querybus.core.subjects import StageName
from querybus.core.topology import ADVISORIES, EVENTS, SUBMIT, SWEEPER, submit_durable
from querybus.ops.clock import Clock, system_clock, system_jitter, system_random_bits
from querybus.ops.log import configure_logging, get_log
from querybus.ops.metrics import Metrics
from querybus.ops.run import Part
from querybus.ops.settings import load
from querybus.ops.trace import tracing_of
from querybus.picture import Pictures
from querybus_gateway.access.callers import Callers
from querybus_gateway.access.credentials import DevelopmentKey
from querybus_gateway.access.jwks import HttpKeys
from querybus_gateway.access.oidc import TokenReader
from querybus_gateway.access.quotas import Allowances, Meter
from querybus_gateway.bus.api import BusApi
from querybus_gateway.bus.stores import (
    BatchProgress,
    CancelHints,
    DeadLetters,
    FencedEvents,
    KnownConnections,
    SharedKey,
    StoredAnswers,
    SubmitQueue,
)
from querybus_gateway.bus.submissions import Submissions
from querybus_gateway.http.app import http_api
from querybus_gateway.http.server import HttpApi
from querybus_gateway.lifecycle.answers import AnswerCalls
from querybus_gateway.lifecycle.fair_queue import Turns
from querybus_gateway.lifecycle.in_flight import OpenQueries
from querybus_gateway.lifecycle.load import Load
from querybus_gateway.lifecycle.sweeper import NOTED, Sweeper
from querybus_gateway.lifecycle.waiters import Waiters
from querybus_gateway.settings import Settings
from querybus_gateway.use_cases.batch_runner import BatchRunner
from querybus_gateway.use_cases.batches import Batches
from querybus_gateway.use_cases.bundle import UseCases
from querybus_gateway.use_cases.catalogs import Catalogs
from querybus_gateway.use_cases.charts import Charts
from querybus_gateway.use_cases.confirm import Confirmations
from querybus_gateway.use_cases.knowledge import Teaching
from querybus_gateway.use_cases.queries import HELD_MAX, Limits, Queries
from querybus_gateway.use_cases.results import Results
from querybus_gateway.use_cases.threads import Threads

ADVISORY_SLOTS = 4
LOG_SHARE_MAX = 0.9
"""Of the event log: from here on nothing new is accepted, so that what was accepted can end."""
HELD_DRAIN_SECONDS = 1.0
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

_log = get_log(__name__)


def build(settings: Settings, *, clock: Clock = system_clock) -> Service:
    """Return the service; nothing is connected yet."""
    name = StageName.GATEWAY
    metrics = Metrics(name)
    tracing = tracing_of(name, settings)
    broker = make_broker(settings, name, metrics)
    journal = Journal(broker)
    credentials = CredentialStore(broker, follow=True)
    connections = ConnectionStore(broker)
    answers = StoredAnswers(broker, clock=clock)
    events = FencedEvents(broker, clock=clock, tracing=tracing)
    dead_letters = DeadLetters(broker, clock=clock)
    open_queries = OpenQueries()
    waiters = Waiters()
    load_of_tenants = Load()
    turns = Turns(open_queries, settings.in_flight_max, settings.in_flight_total_max)
    purge_password = settings.purge_password.get_secret_value()
    threads = Threads(
        log=journal,
        index=ThreadStore(broker),
        purge=ThreadPurge(settings.nats_url, purge_password) if purge_password else None,
        clock=clock,
        random_bits=system_random_bits,
    )
    allowances = Allowances(CounterStore(broker), settings.allowed(), clock=clock)
    preferences = PreferenceStore(broker, follow=True)
    queries = Queries(
        log=journal,
        events=events,
        connections=KnownConnections(connections, clock=clock),
        answers=answers,
        submissions=SubmitQueue(broker, clock=clock),
        hints=CancelHints(broker),
        open_queries=open_queries,
        turns=turns,
        threads=threads,
        waiters=waiters,
        progress=Subscriber(broker),
        limits=Limits(settings.caps(), settings.repair_policies),
        allowances=allowances,
        preferences=preferences,
        clock=clock,
        random_bits=system_random_bits,
        can_wait=frozenset(settings.tenants).__contains__,
        load=load_of_tenants,
        log_is_full=lambda: metrics.stream_share(EVENTS) >= LOG_SHARE_MAX,
    )
    sweeper = Sweeper(
        journal=journal,
        events=events,
        answers=answers,
        dead_letters=dead_letters,
        open_queries=open_queries,
        turns=turns,
        waiters=waiters,
        load=load_of_tenants,
        metrics=metrics,
        clock=clock,
    )
    submissions = Submissions(
        queries=queries,
        turns=turns,
        credentials=credentials,
        dead_letters=dead_letters,
        sweeper=sweeper,
        metrics=metrics,
        clock=clock,
        jitter=system_jitter,
    )
    context = AnswerCalls(
        answers,
        dead_letters,
        meter=Meter(allowances, journal.events),
        metrics=metrics,
        jitter=system_jitter,
        on_answered=waiters.finish,
    )
    page_key = SharedKey(SecretStore(broker), "page-token", random_bits=system_random_bits)
    results = Results(queries, PageStore(broker), token_key=page_key, clock=clock)
    confirmations = Confirmations(queries, log=journal, events=events, open_queries=open_queries, clock=clock)
    kept_batches = BatchStore(broker)
    batches = Batches(queries, kept_batches, clock=clock, random_bits=system_random_bits)
    runner = BatchRunner(
        queries,
        kept_batches,
        journal,
        BatchProgress(broker),
        credentials=credentials,
        owner=f"{system_random_bits(64):016x}",
        clock=clock,
    )
    issuer = settings.issuer()
    keys = HttpKeys(settings.oidc_issuer, settings.oidc_keys_url) if issuer else None
    callers = Callers(
        credentials,
        tokens=TokenReader(issuer, keys, clock=clock, tenants=settings.oidc_tenants) if issuer and keys else None,
        clock=clock,
        guesses_max=settings.key_guesses_max,
    )
    catalogs = CatalogStore(broker)
    pictures = Pictures()
    use_cases = UseCases(
        queries=queries,
        threads=threads,
        batches=batches,
        results=results,
        charts=Charts(queries, pictures),
        confirmations=confirmations,
        credentials=credentials,
        callers=callers,
        catalogs=Catalogs(connections, catalogs),
        teaching=Teaching(
            queries,
            KnowledgeStore(broker),
            preferences,
            connections,
            catalogs,
            clock=clock,
            on_wrong=metrics.contradicted,
        ),
    )
    api = BusApi(use_cases, tracing=tracing)

    def on_listening(address: str) -> None:
        _log.info("http.listening", address=address)

    parts: list[Part] = [tracing]
    if settings.environment == "development" and settings.development_key_file is not None:
        parts.append(
            DevelopmentKey(
                credentials,
                settings.development_key_file,
                random_bits=system_random_bits,
                announce=_print_key if settings.api_host in LOOPBACK else None,
            )
        )
    if keys is not None:
        parts.append(keys)
    web = http_api(use_cases, tracing=tracing, random_bits=system_random_bits, cors_origins=settings.cors_origins)
    parts += [
        journal.follow(sweeper.note, events=NOTED),
        PullLoop(broker, stream=EVENTS, durable=name, slots=settings.slots, handle=context.handle),
        PullLoop(broker, stream=ADVISORIES, durable=SWEEPER, slots=ADVISORY_SLOTS, handle=sweeper.handle_advisory),
        *(
            PullLoop(
                broker,
                stream=SUBMIT,
                durable=submit_durable(tenant),
                slots=HELD_MAX,
                handle=submissions.handle,
                drain_seconds=HELD_DRAIN_SECONDS,
            )
            for tenant in settings.tenants
        ),
        credentials,
        preferences,
        sweeper,
        pictures,
        runner,
        CallServer(broker, api.answer, slots=settings.calls_max, drain_seconds=settings.drain_seconds),
        HttpApi(
            web,
            on_closing=lambda: setattr(web.state, "is_closing", True),
            host=settings.api_host,
            port=settings.api_port,
            trusted_proxies=settings.trusted_proxies,
            on_listening=on_listening,
        ),
    ]
    if settings.grpc_port is not None:
        # No child of this process calls gRPC; else the library says at every fork that it skips its handlers.
        os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
        # Loaded only where the API is open: it brings a library with threads of its own.
        from querybus_gateway.grpc.server import GrpcApi

        parts.append(
            GrpcApi(
                use_cases,
                host=settings.api_host,
                port=settings.grpc_port,
                calls_max=settings.grpc_calls_max,
                tracing=tracing,
                random_bits=system_random_bits,
                on_listening=lambda address: _log.info("grpc.listening", address=address),
                trusted_proxies=settings.trusted_proxies,
            )
        )
    return Service(name, broker, parts, metrics=metrics, settings=settings, tenants=settings.tenants)


def _print_key(key: str) -> None:
    # To the terminal, never to the log.
    print(f"development key, made now: {key}", file=sys.stderr)  # noqa: T201


def main() -> None:
    """Run the gateway until SIGTERM."""
    settings = load(Settings)
    configure_logging(settings.log_level, as_json=settings.log_json)
    run_service(build(settings))
