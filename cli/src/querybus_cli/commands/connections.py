"""The commands `querybus connections list`, `test` and `review`: what the executor would find, without starting it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated, Final

import typer

from querybus_cli.commands.groups import Commands

File = Annotated[
    Path, typer.Option("--file", envvar="QUERYBUS_CONNECTIONS_FILE", help="the file that lists the connections")
]
JsonOutput = Annotated[bool, typer.Option("--json", help="print JSON")]
FILE: Final = Path("connections.yaml")

connections: Final = Commands(
    help="Add, list, test, review, describe, rename and remove the databases of a connections.yaml."
)


@connections.command(name="list")
def list_connections(file: File = FILE, json_output: JsonOutput = False) -> None:
    """List the connections of a file, without addresses and secrets.

    Example: querybus connections list --file connections.yaml
    """
    from querybus_executor.connections.config import BadConnections, load_connections

    try:
        result = [load_connection.public() for load_connection in load_connections(file)]
    except BadConnections as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    for path in result:
        if json_output:
            typer.echo(path.model_dump_json())
        else:
            typer.echo(f"{path.name}  {path.dialect.value}  {path.policy.access.value}  {path.description}".rstrip())


@connections.command(name="test")
def probe_connection(
    name: Annotated[str, typer.Argument(help="of the connection")], file: File = FILE, json_output: JsonOutput = False
) -> None:
    """Test a connection step by step; exit code 0 where it works, 1 where it does not or no table is seen.

    What is wrong comes first, with the setting concerned, the statements that are missing, and the next command.

    Example: querybus connections test sales --file connections.yaml
    """
    from querybus.ops.log import configure_logging
    from querybus_cli.terminal.finding import finding_as_json, finding_lines, names_line
    from querybus_executor.connections.diagnose import diagnose

    configure_logging("error", as_json=False)
    result = asyncio.run(diagnose(file, name))
    if json_output:
        typer.echo(json.dumps(finding_as_json(result), ensure_ascii=False))
    else:
        for line in finding_lines(result):
            typer.echo(line, err=result.trouble is not None)
        if line := names_line(result.name, result.names_readable, result.names):
            typer.echo(f"  note: {line}")
    raise typer.Exit(0 if result.trouble is None else 1)


@connections.command(name="refresh")
def refresh_catalog(
    name: Annotated[str, typer.Argument(help="of the connection")],
    url: Annotated[str, typer.Option(envvar="QUERYBUS_URL", help="address of a gateway")] = "http://127.0.0.1:8080",
    key: Annotated[str | None, typer.Option(envvar="QUERYBUS_KEY", help="key for the gateway", hidden=True)] = None,
    key_file: Annotated[Path | None, typer.Option(help="file that holds the key")] = None,
    json_output: JsonOutput = False,
) -> None:
    """Ask a running stack to read a connection's tables and columns again, for what is new there.

    Example: querybus connections refresh sales
    """
    from querybus_cli.operations.remote import calling, key_of

    with calling(url, key_of(key, key_file, "analyst"), "analyst") as client:
        result = client.refresh_catalog(name)
    typer.echo(json.dumps(result) if json_output else f"{name} is being read again; what is new is known in a moment")


@connections.command(name="review")
def review_personal(
    name: Annotated[str, typer.Argument(help="of the connection")],
    file: File = FILE,
    hide: Annotated[
        list[str] | None, typer.Option(help="table.column that is personal; may be given several times")
    ] = None,
    show: Annotated[
        list[str] | None, typer.Option(help="table.column that is not personal; may be given several times")
    ] = None,
    ask: Annotated[bool, typer.Option("--ask", help="ask about every column that nobody has decided on")] = False,
    out: Annotated[
        Path | None, typer.Option(help="write the decisions here instead of to the entry's `described` file")
    ] = None,
    json_output: JsonOutput = False,
) -> None:
    """List what was recognised as personal data, for a yes or no of the owner.

    A personal column's values are in no prompt, sample or index, and business readers see them masked. Decisions are
    written to the file that the connection's entry names as `described`, or to --out.

    Example: querybus connections review sales --show customers.name --out sales.described.yaml
    """
    from querybus.ops.log import configure_logging
    from querybus_cli.describing.personal_review import decide, recognised

    configure_logging("error", as_json=False)
    config, found = recognised(file, name)
    hidden, shown = list(hide or ()), list(show or ())
    if ask:
        for item in found:
            if item.is_open and item.key not in (*hidden, *shown):
                is_personal = typer.confirm(f"{item.key}: {item.kind}, {item.reason}. Hide it?", default=True, err=True)
                (hidden if is_personal else shown).append(item.key)
    if hidden or shown:
        target = decide(config, hidden, shown, out)
        typer.echo(f"{target}: {len(hidden)} hidden, {len(shown)} shown", err=True)
        found = [item.decided(hidden, shown) for item in found]
    if json_output:
        typer.echo(json.dumps({"name": name, "columns": [item.as_json() for item in found]}, ensure_ascii=False))
        return
    for item in found:
        typer.echo(f"{item.key}  {item.kind}  {item.reason}  {item.state}")
    if not found:
        typer.echo(f"{name}: nothing was recognised as personal")
