"""`querybus knowledge`: verified pairs, instructions, terms and synonyms, in and out as YAML."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from querybus.text.knowledge import EntryKind
from querybus.text.words import count_of
from querybus_cli.commands.groups import Commands
from querybus_cli.commands.operate.operator import STORE, Store, Tenant, Url

Password = Annotated[
    str | None,
    typer.Option("--password", envvar="QUERYBUS_NATS_PASSWORD", help="of the bus user `gateway`"),
]
Connection = Annotated[str, typer.Option(help="whose knowledge it is")]
JsonOutput = Annotated[bool, typer.Option("--json", help="print one JSON object a line")]

knowledge: Final = Commands(help="Teach questions with their statements, terms and synonyms; look them up.")


@knowledge.command(name="import")
def import_file(
    file: Annotated[Path, typer.Argument(help="YAML: connection, pairs, instructions, terms, synonyms")],
    connection: Annotated[str | None, typer.Option(help="instead of the one in the file")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="forget what is known before")] = False,
    check: Annotated[bool, typer.Option("--check", help="only say what would be refused")] = False,
    tenant: Tenant = "local",
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: JsonOutput = False,
) -> None:
    """Teach what a file holds; an entry about the same takes the place of the one before.

    What does not parse, is not a read, or names what does not exist is refused line by line, with the nearest name; the
    rest is taught. A statement may say `:today`. Exit code 1 if a line was refused.

    Example: querybus knowledge import shop.yaml
    """
    from querybus_cli.operations.keys import place_of
    from querybus_cli.operations.teaching import bring_in, lines_of, read_document
    from querybus_cli.runtime import read_text, run, usage
    from querybus_cli.terminal.outcome import printable

    text = read_text(file)
    taught = usage(read_document, text, connection)
    result = run(bring_in(place_of(url, password, store), tenant, taught, replace=replace, only_check=check))
    lines = lines_of(text)
    refused = [
        {
            "line": lines.get(refusal.entry.id),
            "kind": refusal.entry.kind.value,
            "key": refusal.entry.key,
            "reason": refusal.reason,
        }
        for refusal in result.refused
    ]
    if json_output:
        _print(
            {"connection": taught.connection, "taught": result.taught, "entries": result.entries, "refused": refused}
        )
    else:
        for item in refused:
            typer.echo(
                printable(f"line {item['line']}: {item['kind']} “{item['key']}” refused: {item['reason']}"), err=True
            )
        if not result.is_checked:
            typer.echo(f"{taught.connection} has not been read yet: nothing was checked against its schema", err=True)
        verb = "would be taught" if check else "taught"
        typer.echo(f"{result.taught} entries {verb}, {len(refused)} refused; {taught.connection} has {result.entries}")
    if refused:
        raise typer.Exit(1)


@knowledge.command(name="export")
def export_file(
    connection: Connection,
    tenant: Tenant = "local",
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
) -> None:
    """Print what is known of a connection as YAML, as `import` reads it.

    Example: querybus knowledge export --connection shop > shop.yaml
    """
    import yaml

    from querybus_cli.operations.keys import place_of
    from querybus_cli.operations.teaching import document, known
    from querybus_cli.runtime import run

    result = run(known(place_of(url, password, store), tenant, connection))
    typer.echo(yaml.safe_dump(document(result), allow_unicode=True, sort_keys=False, width=120), nl=False)


@knowledge.command(name="list")
def list_entries(
    connection: Connection,
    kind: Annotated[EntryKind | None, typer.Option(help="of this kind only")] = None,
    tenant: Tenant = "local",
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: JsonOutput = False,
) -> None:
    """List what is known of a connection; an entry that no longer fits its schema says why.

    Example: querybus knowledge list --connection shop --kind pair
    """
    from querybus_cli.operations.keys import place_of
    from querybus_cli.operations.teaching import listed
    from querybus_cli.runtime import run
    from querybus_cli.terminal.outcome import printable

    entries = run(listed(place_of(url, password, store), tenant, connection, kind))
    for entry in entries:
        if json_output:
            _print(entry)
        else:
            mark = f"  STALE: {entry['stale']}" if entry["stale"] else ""
            typer.echo(
                printable(f"{entry['id']}  {entry['kind']:11} {entry['key'] or '-'}{mark}\n{'':18}{entry['text']}")
            )
    if not json_output:
        typer.echo(count_of(len(entries), "entry"))


@knowledge.command(name="review")
def review_suggestions(
    connection: Connection,
    approve: Annotated[list[str] | None, typer.Option(help="id of a suggestion; may be said several times")] = None,
    reject: Annotated[list[str] | None, typer.Option(help="id of a suggestion; may be said several times")] = None,
    by: Annotated[str, typer.Option(help="who decides; it is kept with the entry")] = "",
    tenant: Tenant = "local",
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: JsonOutput = False,
) -> None:
    """List what readers called right, and decide: only what is approved answers others.

    Example: querybus knowledge review --connection shop --approve 5e0c21b4a3f8d917 --by ann
    """
    from querybus_cli.operations.keys import place_of
    from querybus_cli.operations.teaching import reviewed
    from querybus_cli.runtime import UsageError, run
    from querybus_cli.terminal.outcome import printable

    if (approve or reject) and not by:
        raise UsageError("say who decides: --by NAME")
    waiting = run(reviewed(place_of(url, password, store), tenant, connection, approve or (), reject or (), by))
    for entry in waiting:
        if json_output:
            _print(entry)
        else:
            said = datetime.fromtimestamp(entry["at"] / 1_000, tz=UTC).strftime("%Y-%m-%d %H:%M")
            typer.echo(
                printable(f"{entry['id']}  {entry['key']}  (said by {entry['by']}, {said} UTC)\n{'':18}{entry['text']}")
            )
    if not json_output:
        typer.echo(f"{len(waiting)} waiting")


@knowledge.command(name="search")
def search_entries(
    query: Annotated[str, typer.Argument(help="a question, or words of it")],
    connection: Annotated[str, typer.Option(help="whose knowledge it is")] = "",
    file: Annotated[Path | None, typer.Option(help="search a YAML file instead of the bus")] = None,
    kind: Annotated[EntryKind, typer.Option(help="what to look for")] = EntryKind.PAIR,
    k: Annotated[int, typer.Option(min=1, max=50, help="how many")] = 5,
    tenant: Tenant = "local",
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: JsonOutput = False,
) -> None:
    """Find the entries that come closest to a question, as the generator does.

    Example: querybus knowledge search "number of clients" --connection shop
    """
    from querybus_cli.operations.keys import place_of
    from querybus_cli.operations.teaching import from_file, known, nearness_of, searched
    from querybus_cli.runtime import UsageError, run, usage
    from querybus_cli.terminal.outcome import printable

    if file is not None:
        result = usage(from_file, file)
    elif connection:
        result = run(known(place_of(url, password, store), tenant, connection))
    else:
        raise UsageError("say --connection NAME, or --file FILE")
    nearness = run(nearness_of(result, kind, query))
    if isinstance(nearness, str):
        typer.echo(f"by words alone; the embeddings model said: {nearness}", err=True)
        nearness = None
    for item in searched(result, kind, query, k, nearness):
        if json_output:
            _print(item)
        else:
            typer.echo(printable(f"{item['score']:.2f}  {item['key'] or '-'}\n{'':6}{item['text']}"))


def _print(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False))
