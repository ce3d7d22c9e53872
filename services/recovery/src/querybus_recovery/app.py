"""Recovery's composition root: settings to edges, edges to the verb, the verb to its stage."""

from __future__ import annotations

from functools import partial

from querybus.bus.application import Service, run_service
from querybus.bus.broker import make_broker
from querybus.bus.stage import stage
from querybus.bus.stage_policy import Runtime, StagePolicy
from querybus.bus.stores.buckets import ConnectionStore
from querybus.bus.stores.catalogs import CatalogStore
from querybus.core.subjects import StageName
from querybus.ops.log import configure_logging
from querybus.ops.metrics import Metrics
from querybus.ops.settings import load
from querybus.ops.trace import tracing_of
from querybus_recovery.guidance import load_guidance
from querybus_recovery.recover import conclude_failed, recover
from querybus_recovery.settings import Settings


def build(settings: Settings) -> Service:
    """Return recovery, wired and not yet started."""
    metrics = Metrics(StageName.RECOVERY)
    tracing = tracing_of(StageName.RECOVERY, settings)
    broker = make_broker(settings, StageName.RECOVERY, metrics)
    catalogs = CatalogStore(broker, follow=True)
    connections = ConnectionStore(broker, follow=True)
    recovering = stage(
        broker,
        partial(recover, catalogs=catalogs, connections=connections, guidance=load_guidance()),
        StagePolicy(name=StageName.RECOVERY, on_failure=conclude_failed),
        Runtime(metrics=metrics, tracing=tracing),
        slots=settings.slots,
        drain_seconds=settings.drain_seconds,
    )
    return Service(
        StageName.RECOVERY, broker, (tracing, catalogs, connections, recovering), metrics=metrics, settings=settings
    )


def main() -> None:
    """Run recovery until it is asked to stop."""
    settings = load(Settings)
    configure_logging(settings.log_level, as_json=settings.log_json)
    run_service(build(settings))


if __name__ == "__main__":
    main()
