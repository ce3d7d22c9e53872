"""`querybus confirm`: what waits for a yes, and a person's yes, typed at a terminal. What is piped in confirms nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

WAIT_SECONDS: Final = 30
YES: Final = "yes"


def confirm(
    query: Annotated[
        str | None, typer.Argument(help="the query that asked, by its id; left out: list what waits")
    ] = None,
    sql_sha256: Annotated[
        str | None, typer.Option("--hash", help="of the statement, where it was shown before; else it is shown here")
    ] = None,
    rows: Annotated[int | None, typer.Option(min=0, help="rows at most; default: what was proposed")] = None,
    url: Annotated[str, typer.Option(envvar="QUERYBUS_URL", help="address of a gateway")] = "http://127.0.0.1:8080",
    key: Annotated[str | None, typer.Option(envvar="QUERYBUS_KEY", help="key for the gateway", hidden=True)] = None,
    key_file: Annotated[Path | None, typer.Option(help="file that holds the key")] = None,
    audience: Annotated[str, typer.Option(help="whose key of `querybus up`: analyst or business")] = "analyst",
    json_output: Annotated[bool, typer.Option("--json", help="print one JSON object, of a list one a line")] = False,
) -> None:
    """Confirm what a query asked, after `yes` typed at a terminal; without a query list what waits for your yes.

    Changes of others wait for you where their connection wants a second person. A change is made once, however often
    this is said.

    Example: querybus confirm 0190a6c2-...
    """
    from querybus_cli.operations.remote import calling, follow, key_of
    from querybus_cli.runtime import UsageError, consoles
    from querybus_cli.terminal.outcome import as_json, exit_code, show, show_statement, yes_question

    out, err = consoles()
    if query is None:
        with calling(url, key_of(key, key_file, audience), audience) as client:
            _print_waiting(client.waiting_changes(), as_json=json_output)
        return
    if not sys.stdin.isatty():
        raise UsageError("a confirmation is typed at a terminal; nothing was done")
    with calling(url, key_of(key, key_file, audience), audience) as client:
        asked = client.query(query, wait_seconds=WAIT_SECONDS).answer
        if asked is None or asked.confirmation is None:
            raise UsageError("this query did not end by asking for a confirmation")
        shown = asked.confirmation.sql_sha256
        if sql_sha256 not in (None, shown):
            raise UsageError("--hash is not that of the statement that the query would run; nothing was done")
        show(asked.raw, err)
        if sql_sha256 is None and asked.sql:
            show_statement(asked.sql, err)
        most = asked.confirmation.rows_affected_max if rows is None else rows
        if input(yes_question(asked.confirmation.reason, most)).strip().lower() != YES:
            typer.echo("nothing was done", err=True)
            raise typer.Exit(3)
        begun = client.submit_confirmation(query, shown, rows_affected_max=rows)
        answer: Any = follow(client, begun, lambda _stage: None).raw
    if json_output:
        typer.echo(json.dumps(as_json(answer), ensure_ascii=False))
    else:
        show(answer, out)
    raise typer.Exit(exit_code(answer))


def _print_waiting(changes: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    from querybus_cli.terminal.outcome import printable

    for change in changes:
        if as_json:
            typer.echo(json.dumps(change, ensure_ascii=False))
            continue
        until = datetime.fromtimestamp(change["ends_at"] / 1_000).astimezone().strftime("%H:%M")
        most = change["confirmation"]["rows_affected_max"]
        typer.echo(f"{change['query_id']}  {printable(change['asked_by'])} at {change['connection']}, until {until}")
        typer.echo(f"  {printable(change['question'])}")
        typer.echo(f"  {printable(change['sql'] or '')}  (at most {most:,} rows)")
    if not as_json:
        note = "confirm one with `querybus confirm ID`" if changes else "no change waits for your yes"
        typer.echo(note, err=True)
