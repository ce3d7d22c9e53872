"""The commands that start something on this machine: `querybus demo` and `up`, and what is there: `doctor`."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Annotated, Final

import typer

from querybus_cli.runtime import UsageError, consoles, run, usage

PORT_MAX: Final = 65_535


def demo(
    json_output: Annotated[bool, typer.Option("--json", help="print one JSON object a line")] = False,
) -> None:
    """Make the demo shop and ask it six questions: one is asked back about, one must be refused.

    Example: querybus demo
    """
    from querybus_cli.local.answers import run_demo

    out, err = consoles(quiet=json_output)
    raise typer.Exit(run(run_demo(out, err, as_json_lines=json_output)))


def up(
    replicas: Annotated[
        str, typer.Option(metavar="SERVICE=NUMBER,...", help="more than one of some services, which is the default")
    ] = "",
    connections: Annotated[
        Path | None, typer.Option(help="default: connections.yaml of this folder, else the demo shop")
    ] = None,
    store: Annotated[Path, typer.Option(help="folder for the bus's streams, the keys and the logs")] = Path(
        ".querybus"
    ),
    port: Annotated[int, typer.Option(min=0, max=PORT_MAX, help="HTTP port of the first gateway; 0: any free")] = 8_080,
    grpc_port: Annotated[
        int, typer.Option(min=0, max=PORT_MAX, help="gRPC port of the first gateway; 0: any free, which is printed")
    ] = 0,
    bus_port: Annotated[
        int, typer.Option(min=0, max=PORT_MAX, help="port of the bus; 0: any free, which is printed")
    ] = 0,
    tenant: Annotated[
        list[str] | None, typer.Option(help="a tenant besides `local`; repeat for each, then make keys for it")
    ] = None,
    together: Annotated[
        bool | None,
        typer.Option(
            "--together/--apart", help="generator, recovery, presenter in one process; by default on one or two cores"
        ),
    ] = None,
) -> None:
    """Run QueryBus on this machine until Ctrl-C: the page, HTTP, gRPC and the bus.

    Each service is a process of its own and is started again when it dies.

    Example: querybus up

    Example: querybus up --connections connections.yaml --port 8081 --bus-port 4222
    """
    from querybus_cli.local.supervise import parse_replicas
    from querybus_cli.local.up import Ports, run_up

    counts = usage(parse_replicas, replicas)
    out, _ = consoles()
    ports = Ports(port, grpc_port, bus_port)
    raise typer.Exit(asyncio.run(run_up(counts, connections, store, ports, out, tenant or (), together=together)))


def doctor(
    connections: Annotated[
        Path | None, typer.Option(help="the databases to look at; default: connections.yaml of this folder")
    ] = None,
    store: Annotated[Path, typer.Option(help="store of a running `querybus up`")] = Path(".querybus"),
    json_output: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Check bus, services, model and databases, and say the next command for what is missing.

    Exit code 1 if something that is set does not work.

    Example: querybus doctor

    Example: querybus doctor --connections connections.yaml --json
    """
    from querybus_cli.local.doctor import State, check_all, lines_of

    if store.exists() and not store.is_dir():
        raise UsageError(f"--store {store} is no folder")
    checks = run(check_all(connections, store, os.environ))
    good = all(check.state is not State.FAILS for check in checks)
    if json_output:
        typer.echo(json.dumps({"ok": good, "checks": [check.as_json() for check in checks]}, ensure_ascii=False))
    else:
        for line in lines_of(checks):
            typer.echo(line)
    raise typer.Exit(0 if good else 1)
