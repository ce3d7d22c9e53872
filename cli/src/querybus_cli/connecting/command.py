"""The command `querybus connect`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final

import typer

FILE: Final = Path("connections.yaml")
STORE: Final = Path(".querybus")


def connect(
    address: Annotated[
        str | None,
        typer.Argument(
            help="a URL, a file or a folder; default: DATABASE_URL or libpq's environment, else you are asked"
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="what the connection is called; default: as its database")] = None,
    file: Annotated[
        Path, typer.Option("--file", envvar="QUERYBUS_CONNECTIONS_FILE", help="the connections file to add it to")
    ] = FILE,
    store: Annotated[Path, typer.Option(help="where the bus keeps its streams, the keys and the logs")] = STORE,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="HTTP port of the page and the API")] = 8_080,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="take the proposed answer to every question")] = False,
    json_output: Annotated[
        bool, typer.Option("--json", help="print one JSON object, ask nothing and start nothing")
    ] = False,
    start: Annotated[bool, typer.Option("--start/--no-start", help="run `querybus up` afterwards")] = True,
) -> None:
    """Connect a database: test it, find a model, ask a first question that is checked, and open the page.

    Exit codes: 0 connected; 2 usage, or a file that cannot be written; 5 the database cannot be used.

    Example: querybus connect "postgres://reader:secret@db.example.com/sales?sslmode=require"
    """
    from querybus.ops.log import configure_logging
    from querybus_cli.connecting.connect import Wish
    from querybus_cli.connecting.connect import connect as connect_database
    from querybus_cli.connecting.dialogue import Dialogue

    configure_logging("error", as_json=False)
    dialogue = Dialogue.of_terminal(yes=yes, as_json=json_output)
    wish = Wish(address, name, file, store, port, start and not json_output)
    code = connect_database(wish, dialogue)
    if json_output:
        typer.echo(json.dumps({"ok": code == 0, "steps": dialogue.steps}, ensure_ascii=False))
    raise typer.Exit(code)
