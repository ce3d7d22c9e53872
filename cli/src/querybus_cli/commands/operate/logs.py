"""The command `querybus logs`."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

STORE: Final = Path(".querybus")


class AtLeast(StrEnum):
    """How grave a line is."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


def logs(
    files: Annotated[
        list[str] | None, typer.Argument(help="logs; -: standard input; default: those of --store")
    ] = None,
    query: Annotated[str | None, typer.Option(help="the way of this query over all services")] = None,
    level: Annotated[AtLeast, typer.Option(help="at least as grave as this")] = AtLeast.DEBUG,
    store: Annotated[Path, typer.Option(help="store of a `querybus up`")] = STORE,
    json_output: Annotated[bool, typer.Option("--json", help="print one JSON object a line")] = False,
) -> None:
    """Print lines of the services' logs in the order of time.

    Example: kubectl -n querybus logs -l app.kubernetes.io/part-of=querybus --tail=-1 | querybus logs - --level warning
    """
    from querybus_cli.operations import logs as log_lines

    found = log_lines.read(files or (), store)
    if not found:
        typer.echo("no line of these files is one of a service's log", err=True)
    result = log_lines.at_least(found, level.value)
    for line in result if query is None else log_lines.of_query(result, query):
        typer.echo(json.dumps(line, ensure_ascii=False) if json_output else log_lines.shown(line))
