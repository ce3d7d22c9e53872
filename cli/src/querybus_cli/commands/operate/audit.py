"""The commands `querybus audit export` and `querybus audit verify`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Final

import typer

from querybus_cli.commands.groups import Commands
from querybus_cli.commands.operate.operator import STORE, Password, Store, Url

audit: Final = Commands(help="Export who did what, and verify that nothing of an export was changed.")
_DATES: Final = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]


@audit.command(name="export")
def export_audit(
    tenant: Annotated[str | None, typer.Option(help="of this tenant only; `-`: refused callers without one")] = None,
    since: Annotated[datetime | None, typer.Option(formats=_DATES, help="in UTC; default: the beginning")] = None,
    until: Annotated[datetime | None, typer.Option(formats=_DATES, help="in UTC; default: now")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="go on with what is recorded from now on")] = False,
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: Annotated[bool, typer.Option("--json", help="the form in any case")] = False,
) -> None:
    """Print every statement, sign-in, refusal, confirmation and change of keys, one JSON object a line.

    Example: querybus audit export --tenant acme --since 2026-11-01 > audit.jsonl
    """
    from querybus_cli.operations.operator import context, place_of
    from querybus_cli.runtime import run

    _ = json_output

    async def print_lines() -> None:
        async with context(place_of(url, password, store)) as here:
            since_ms, until_ms = _milliseconds(since) or 0, _milliseconds(until)
            async for line in here.audit_lines(tenant=tenant, since_ms=since_ms, until_ms=until_ms, follow=follow):
                typer.echo(line)

    run(print_lines())


@audit.command(name="verify")
def verify_audit(
    files: Annotated[list[typer.FileText], typer.Argument(help="exports, the older ones first; -: standard input")],
    last_hash: Annotated[
        list[str] | None,
        typer.Option(help="of a record that has to be there, as an earlier verify printed it; repeatable"),
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="print one JSON object a line")] = False,
) -> None:
    """Name the first record of an export that was changed, removed or put elsewhere, and end with 1; else the last hash.

    Keep the last hash of each tenant elsewhere: with --last-hash an export that ends before it is found to be cut.

    Example: querybus audit verify audit.jsonl --last-hash 9f86d081...
    """
    from querybus.core.stored.audit import AuditFault, verify_lines

    lines = [(file.name, number, line) for file in files for number, line in enumerate(file, 1)]
    result = verify_lines((line for _, _, line in lines), last_hash or ())
    if isinstance(result, AuditFault):
        name, number, _ = lines[result.line - 1] if lines else (files[0].name, 0, "")
        found = {"file": name, "line": number, "why": result.why}
        typer.echo(json.dumps(found, ensure_ascii=False) if json_output else f"{name}:{number}: {result.why}")
        raise typer.Exit(1)
    for chain in result:
        missing = f"; {chain.without_words} without their words" if chain.without_words else ""
        text = f"tenant {chain.tenant}: records {chain.first} to {chain.last} fit{missing}; last hash {chain.hash}"
        values = {name: getattr(chain, name) for name in chain.__dataclass_fields__}
        typer.echo(json.dumps(values, ensure_ascii=False) if json_output else text)
    if not result:
        typer.echo("there are no records", err=True)


def _milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.replace(tzinfo=UTC).timestamp() * 1_000)
