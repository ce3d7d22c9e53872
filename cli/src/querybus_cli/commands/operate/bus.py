"""The commands that prepare a bus: `querybus operate migrate` and `bus-config`."""

from __future__ import annotations

from typing import Annotated

import typer

from querybus_cli.runtime import run, usage


def migrate(
    nats_url: Annotated[str, typer.Option(envvar="QUERYBUS_NATS_URL", metavar="URL", help="address of the bus")],
    password: Annotated[str, typer.Option(envvar="QUERYBUS_NATS_PASSWORD", help="of the bus user `migrate`")],
    tenants: Annotated[str, typer.Option(envvar="QUERYBUS_TENANTS", help="comma-separated tenant tokens")] = "local",
    replicas: Annotated[int, typer.Option(min=1, max=5, help="copies of each stream in a cluster")] = 1,
    events_gib: Annotated[
        float, typer.Option(min=0.1, help="size of the event log; a full log forgets the oldest threads")
    ] = 16,
    events_days: Annotated[float, typer.Option(min=1, help="how long threads are remembered")] = 90,
) -> None:
    """Create or update streams, durables and buckets; safe to repeat.

    Example: QUERYBUS_NATS_URL=nats://127.0.0.1:4222 QUERYBUS_NATS_PASSWORD=... querybus operate migrate
    """
    from querybus_cli.operations.setup import capacity, migrate_bus, stream_sizes

    sizes = stream_sizes(replicas, events_gib, events_days)
    changed = run(migrate_bus(nats_url, password, tuple(filter(None, tenants.split(","))), sizes))
    for item in changed:
        typer.echo(item)
    typer.echo(f"{len(changed)} changes" if changed else "nothing to change")
    typer.echo(capacity(sizes))


def bus_config(
    tenant: Annotated[list[str] | None, typer.Option(help="whose keys may call over the bus; repeat for each")] = None,
) -> None:
    """Print the accounts and permissions of nats-server; passwords are variables of the server's environment.

    Example: querybus operate bus-config --tenant acme > permissions.conf
    """
    from querybus_cli.operations.setup import bus_configuration

    typer.echo(usage(bus_configuration, tenant or []), nl=False)
