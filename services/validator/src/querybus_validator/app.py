"""The validator's composition root: settings to edges, edges to the verb, the verb to its stage."""

from __future__ import annotations

from functools import partial
from typing import Any

from querybus.bus.application import Service, run_service
from querybus.bus.broker import make_broker
from querybus.bus.log.journal import Journal
from querybus.bus.log.sign import Signer
from querybus.bus.requests.rpc import DatabaseClient
from querybus.bus.stage import stage
from querybus.bus.stage_policy import Runtime, StagePolicy, Think
from querybus.bus.stores.buckets import ConnectionStore
from querybus.bus.stores.catalogs import CatalogStore
from querybus.core.envelope import Delivery, Envelope
from querybus.core.failure import Failure
from querybus.core.subjects import StageName
from querybus.ops.clock import system_clock
from querybus.ops.log import configure_logging
from querybus.ops.metrics import Metrics
from querybus.ops.settings import load
from querybus.ops.trace import tracing_of
from querybus.sql.guard.rules import GUARD_RULES
from querybus_validator.explain_cache import ExplainCache
from querybus_validator.settings import Settings
from querybus_validator.validate import validate


def build(settings: Settings) -> Service:
    """Return the validator, wired and not yet started."""
    metrics = Metrics(StageName.VALIDATOR)
    tracing = tracing_of(StageName.VALIDATOR, settings)
    broker = make_broker(settings, StageName.VALIDATOR, metrics)
    catalogs = CatalogStore(broker, follow=True)
    connections = ConnectionStore(broker, follow=True)
    validating = stage(
        broker,
        counting(
            partial(
                validate,
                catalogs=catalogs,
                connections=connections,
                database=ExplainCache(DatabaseClient(broker), clock=system_clock, metrics=metrics),
                log=Journal(broker),
            ),
            metrics,
        ),
        StagePolicy(name=StageName.VALIDATOR, sign=Signer(settings.signing_key.get_secret_value())),
        Runtime(metrics=metrics, tracing=tracing),
        slots=settings.slots,
        drain_seconds=settings.drain_seconds,
    )
    return Service(
        StageName.VALIDATOR, broker, (tracing, catalogs, connections, validating), metrics=metrics, settings=settings
    )


def counting(think: Think, metrics: Metrics) -> Think:
    """Return the same thinking, with each refusal counted by the guard's rule."""

    async def thought(envelope: Envelope[Any], delivery: Delivery) -> Envelope[Any] | Failure:
        result = await think(envelope, delivery)
        if isinstance(result, Failure) and result.facts.rule in GUARD_RULES:
            metrics.guard_refusal(result.facts.rule)
        return result

    return thought


def main() -> None:
    """Run the validator until it is asked to stop."""
    settings = load(Settings)
    configure_logging(settings.log_level, as_json=settings.log_json)
    run_service(build(settings))


if __name__ == "__main__":
    main()
