"""The commands `querybus operate backup` and `restore`."""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from querybus_cli.operations.backups import Copy

Url = Annotated[str | None, typer.Option("--nats-url", envvar="QUERYBUS_NATS_URL", help="address of the bus")]
Password = Annotated[
    str | None, typer.Option("--password", envvar="QUERYBUS_NATS_PASSWORD", help="of the bus user `backup`")
]
Store = Annotated[Path, typer.Option(help="store of a running `querybus up`, where no address is given")]
JsonOutput = Annotated[bool, typer.Option("--json", help="print one JSON object")]

STORE: Final = Path(".querybus")
_MB: Final = 1_000_000


def backup(
    folder: Annotated[Path, typer.Argument(help="that is empty or not there yet")],
    dated: Annotated[bool, typer.Option("--dated", help="into a new folder below it, named after the time")] = False,
    keep: Annotated[
        int | None, typer.Option(min=1, help="with --dated: remove all but so many whole backups below it")
    ] = None,
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: JsonOutput = False,
) -> None:
    """Copy the log, dead letters and the buckets of a running stack into a folder.

    Example: querybus operate backup /backups/querybus-2026-11-21
    """
    from querybus_cli.operations import backups
    from querybus_cli.runtime import UsageError, run

    if keep is not None and not dated:
        raise UsageError("--keep removes dated backups: say --dated as well")
    target = backups.dated(folder, dt.datetime.now(dt.UTC)) if dated else folder
    copies = run(backups.back_up(backups.place_of(url, password, store), target, _progress))
    gone = backups.thin_out(folder, target, keep) if keep is not None else ()
    _show(copies, target, json_output, "backed up")
    for item in gone:
        typer.echo(f"removed: {item}", err=True)


def restore(
    folder: Annotated[Path, typer.Argument(help="as `operate backup` has written it")],
    check: Annotated[bool, typer.Option("--check", help="only look whether the folder is whole; needs no bus")] = False,
    only: Annotated[list[str] | None, typer.Option(help="this stream; repeat for each; default: all")] = None,
    replicas: Annotated[
        int | None, typer.Option(min=1, max=5, help="copies of each stream, where the bus keeps another number")
    ] = None,
    at_once: Annotated[
        bool, typer.Option("--at-once", help="also a backup that is minutes old: the services were stopped before it")
    ] = False,
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: JsonOutput = False,
) -> None:
    """Make what a backup holds anew on a bus that has none of it; then `querybus operate migrate`, then the services.

    Example: querybus operate restore /backups/querybus-2026-11-21
    """
    from querybus_cli.operations import backups
    from querybus_cli.runtime import run

    if check:
        _show(backups.read(folder), folder, json_output, "whole")
        return
    place = backups.place_of(url, password, store)
    copies = run(backups.restore(place, folder, _progress, only=only or (), replicas=replicas, at_once=at_once))
    _show(copies, folder, json_output, "restored")
    if not json_output:
        typer.echo("now type: querybus operate migrate")


def _progress(stream: str, done: int) -> None:
    if sys.stderr.isatty():
        typer.echo(f"\r{stream:28} {done / _MB:10.1f} MB ", nl=False, err=True)


def _show(copies: Sequence[Copy], folder: Path, json_output: bool, word: str) -> None:
    from querybus_cli.operations.backups import view_of

    if sys.stderr.isatty():
        typer.echo(err=True)
    if json_output:
        typer.echo(json.dumps(view_of(copies, folder)))
        return
    for copy in copies:
        typer.echo(f"{copy.stream:28} {copy.messages:>10} messages {copy.bytes / _MB:10.1f} MB")
    typer.echo(f"{word}: {len(copies)} streams, {folder}")
