"""The executor's composition root: settings to edges, edges to the verb, the verb to its stage."""

from __future__ import annotations

from functools import partial
from typing import Any

from querybus.bus.application import Service, run_service
from querybus.bus.broker import make_broker
from querybus.bus.log.sign import Verifier
from querybus.bus.requests.rpc import serve_database
from querybus.bus.requests.set_up import CONNECTIONS, SetUpServer
from querybus.bus.stage import stage
from querybus.bus.stage_policy import Runtime, StagePolicy
from querybus.bus.stores.buckets import ConnectionStore, RunStore, WriteStore
from querybus.bus.stores.catalogs import CatalogStore
from querybus.bus.stores.pages import PageStore
from querybus.core.envelope import Delivery, Envelope
from querybus.core.failure import Failure
from querybus.core.requests.rpc import ExplainReply, ExplainRequest, ProbeReply, ProbeRequest
from querybus.core.subjects import StageName
from querybus.ops.clock import system_clock
from querybus.ops.log import configure_logging, get_log
from querybus.ops.metrics import Metrics
from querybus.ops.sandbox import offered_walls
from querybus.ops.settings import load
from querybus.ops.trace import tracing_of
from querybus_executor.catalog.publisher import CatalogPublisher, subscriber
from querybus_executor.connections.config import load_connections
from querybus_executor.connections.databases import Connected
from querybus_executor.connections.reload import ConnectionsReload
from querybus_executor.connections.set_up.answers import SetUp
from querybus_executor.connections.writers import Writers
from querybus_executor.engines.registry import Engines
from querybus_executor.execute import execute, execute_again, execute_in_turn
from querybus_executor.explain import explain, probe
from querybus_executor.guard_cache import Verdicts
from querybus_executor.results.pages import ResultPages
from querybus_executor.settings import Settings
from querybus_executor.sharing.connection_turns import SPARE_PLACES, ConnectionTurns
from querybus_executor.write import write

_log = get_log(__name__)

CHILDREN_RESERVED = 1
"""Processes of each embedded database for explain and probe only."""
WAITING_FACTOR = 2
"""Messages in hand for each slot: what a tenant has waiting for its turn keeps no message of another on the bus."""


def build(settings: Settings) -> Service:
    """Return the executor, wired and not yet started; BadConnections if its file cannot be used."""
    metrics = Metrics(StageName.EXECUTOR)
    tracing = tracing_of(StageName.EXECUTOR, settings)
    broker = make_broker(settings, StageName.EXECUTOR, metrics)
    engines = _engines(settings)
    configs = load_connections(settings.connections_file)
    databases = Connected(engines.connected(configs, metrics=metrics))
    writers = Writers(configs, alone=engines.without_duckdb_readers)
    verdicts = Verdicts()
    running = partial(execute, databases=databases, pages=ResultPages(PageStore(broker)), verdicts=verdicts)
    turns = ConnectionTurns(databases.get, children=settings.children)
    reading = partial(
        execute_again, execute=partial(execute_in_turn, execute=running, turns=turns), runs=RunStore(broker)
    )
    writing = partial(write, databases=databases, writers=writers, writes=WriteStore(broker))

    async def think(envelope: Envelope[Any], delivery: Delivery) -> Envelope[Any] | Failure:
        is_write = envelope.body.rows_affected_max is not None
        return await (writing if is_write else reading)(envelope, delivery)

    async def on_explain(tenant: str, connection: str, request: ExplainRequest) -> ExplainReply:
        return await explain(tenant, connection, request, databases=databases, verdicts=verdicts, now_ms=system_clock())

    async def on_probe(tenant: str, connection: str, request: ProbeRequest) -> ProbeReply:
        return await probe(tenant, connection, request, databases=databases, verdicts=verdicts, now_ms=system_clock())

    backup = CatalogPublisher(
        databases,
        catalogs=CatalogStore(broker),
        connections=ConnectionStore(broker),
        subscribe=subscriber(lambda: broker.connection),
    )
    following = ConnectionsReload(
        settings.connections_file,
        engines=engines,
        databases=databases,
        backup=backup,
        metrics=metrics,
        replaced=writers.replace,
    )
    changes = SetUp(settings.connections_file, following.check, is_allowed=settings.allows_set_up)
    set_up = SetUpServer(broker, CONNECTIONS, changes.answer)
    executing = stage(
        broker,
        think,
        StagePolicy(name=StageName.EXECUTOR, verify=Verifier(settings.verify_key)),
        Runtime(metrics=metrics, tracing=tracing),
        slots=WAITING_FACTOR * settings.slots,
        drain_seconds=settings.drain_seconds,
    )
    server = serve_database(broker, explain=on_explain, probe=on_probe, slots=2 * CHILDREN_RESERVED, tracing=tracing)
    return Service(
        StageName.EXECUTOR,
        broker,
        (tracing, engines, writers, backup, following, server, set_up, executing),
        metrics=metrics,
        settings=settings,
    )


def _warn_of_missing_walls() -> None:
    """Write to the log what the children of embedded engines can do here because the kernel lacks a wall."""
    missing = offered_walls().missing
    if missing:
        _log.warning("sandbox.partial", missing="; ".join(missing))


def _engines(settings: Settings) -> Engines:
    return Engines(
        children=settings.children + SPARE_PLACES,
        reserved=CHILDREN_RESERVED,
        bytes_max=settings.result_bytes_max,
        refuses_writing_roles=settings.environment == "production",
    )


def main() -> None:
    """Run the executor until it is asked to stop."""
    settings = load(Settings)
    configure_logging(settings.log_level, as_json=settings.log_json)
    _warn_of_missing_walls()
    run_service(build(settings))


if __name__ == "__main__":
    main()
