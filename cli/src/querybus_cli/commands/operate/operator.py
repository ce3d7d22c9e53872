"""The commands `querybus operate dead`, `history` and `replay`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from querybus.core.subjects import StageName
from querybus_cli.commands.groups import Commands

Url = Annotated[str | None, typer.Option("--nats-url", envvar="QUERYBUS_NATS_URL", help="address of the bus")]
Password = Annotated[
    str | None,
    typer.Option("--password", envvar="QUERYBUS_NATS_PASSWORD", help="of the bus user `operator`"),
]
Store = Annotated[Path, typer.Option(help="store of a running `querybus up`, where no address is given")]
Tenant = Annotated[str, typer.Option(help="whose query or thread it is")]
JsonOutput = Annotated[bool, typer.Option("--json", help="print one JSON object a line")]

STORE: Final = Path(".querybus")

dead: Final = Commands(help="Look at dead letters, ask their questions again, drop them.")


@dead.command(name="list")
def list_letters(
    stage: Annotated[StageName | None, typer.Option(help="of this stage only")] = None,
    after: Annotated[int, typer.Option(min=0, help="those behind this sequence")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=500)] = 100,
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: JsonOutput = False,
) -> None:
    """List dead letters, oldest first: what died, where, after how many deliveries, and why.

    Example: querybus operate dead list --stage generator
    """
    from querybus_cli.operations.operator import letters, moment, place_of
    from querybus_cli.runtime import run

    result = run(letters(place_of(url, password, store), stage, after, limit))
    for item in result:
        if json_output:
            _print(item)
        else:
            typer.echo(
                f"{item['sequence']:>8}  {moment(item['at'])}  {item['stage']:10} {item['deliveries']:>2} deliveries  "
                f"{item['subject']}\n{'':10}{item['reason']}"
            )
    if not json_output:
        more = f"; more with --after {result[-1]['sequence']}" if len(result) == limit else ""
        typer.echo(f"{len(result)} dead letters{more}" if result else "no dead letters")


@dead.command(name="show")
def show_letter(
    sequence: Annotated[int, typer.Argument(min=1, help="as `dead list` shows it")],
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: JsonOutput = False,
) -> None:
    """Show one dead letter with its bytes.

    Example: querybus operate dead show 12
    """
    from querybus_cli.operations.operator import letter, moment, place_of
    from querybus_cli.runtime import run

    result = run(letter(place_of(url, password, store), sequence))
    if json_output:
        _print(result)
        return
    for name, value in result.items():
        typer.echo(f"{name:17} {moment(value) if name == 'at' else value}")


@dead.command(name="replay")
def replay_dead(
    sequence: Annotated[int, typer.Argument(min=1, help="as `dead list` shows it")],
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: JsonOutput = False,
) -> None:
    """Ask the question of a dead letter again, as a new query of its asker; twice is the same query.

    Example: querybus operate dead replay 12
    """
    from querybus_cli.operations.operator import place_of, replay_letter
    from querybus_cli.runtime import run

    result = run(replay_letter(place_of(url, password, store), sequence))
    if json_output:
        _print(result)
    elif "query_id" in result:
        typer.echo(f"asked again as {result['query_id']}; the letter stays until it is dropped")
    else:
        typer.echo(f"submitted again on {result['submitted']}; the letter stays until it is dropped")


@dead.command(name="drop")
def drop_letters(
    sequences: Annotated[list[int], typer.Argument(help="as `dead list` shows them")],
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: JsonOutput = False,
) -> None:
    """Delete dead letters for good.

    Example: querybus operate dead drop 12 13
    """
    from querybus_cli.operations.operator import drop, place_of
    from querybus_cli.runtime import run

    run(drop(place_of(url, password, store), sequences))
    if json_output:
        _print({"dropped": sequences})
    else:
        typer.echo(f"dropped {len(sequences)}")


def history(
    name: Annotated[str, typer.Argument(help="id of a query or of a thread")],
    tenant: Tenant = "local",
    until: Annotated[int, typer.Option(min=0, help="as it stood once this event was stored")] = 0,
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: JsonOutput = False,
) -> None:
    """Print the log of a query or of a whole thread, oldest first, as it stands or as it stood.

    Example: querybus history 0190b5a2-0000-7000-8000-000000000000
    """
    from querybus_cli.operations.operator import history as read
    from querybus_cli.operations.operator import line_of, place_of
    from querybus_cli.runtime import run

    for item in run(read(place_of(url, password, store), tenant, name, until)):
        if json_output:
            _print(item)
        else:
            typer.echo(line_of(item))


def replay(
    query: Annotated[str, typer.Argument(help="id of a query")],
    tenant: Tenant = "local",
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: JsonOutput = False,
) -> None:
    """Run a query once more as a shadow: it answers nobody and never writes. Exit code 1 if it ends otherwise.

    Example: querybus replay 0190b5a2-0000-7000-8000-000000000000
    """
    from querybus_cli.operations.operator import place_of
    from querybus_cli.operations.operator import replay as repeat
    from querybus_cli.runtime import run

    result = run(repeat(place_of(url, password, store), tenant, query))
    if json_output:
        _print(result)
    else:
        typer.echo(f"shadow {result['query_id']}: {'the same end' if result['same'] else 'ANOTHER END'}")
        for which in ("was", "is"):
            end = result[which] or {}
            reported = " ".join(
                str(end.get(name)) for name in ("outcome", "code", "row_count") if end.get(name) is not None
            )
            typer.echo(f"  {which:4} {reported or 'not finished'}\n       {end.get('sql') or ''}")
    raise typer.Exit(0 if result["same"] else 1)


def _print(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False))
