"""`querybus knowledge`: verified pairs, instructions, terms and synonyms, in and out as YAML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from querybus.text.knowledge import EntryKind
from querybus_cli.commands.operator import STORE, Store, Tenant, Url

Password = Annotated[
    str | None,
    typer.Option("--password", envvar="QUERYBUS_NATS_PASSWORD", help="of the bus user `gateway`"),
]
Connection = Annotated[str, typer.Option(help="whose knowledge it is")]
JsonOutput = Annotated[bool, typer.Option("--json", help="print one JSON object a line")]

knowledge: Final = typer.Typer(no_args_is_help=True, help="What people taught: bring it in, take it out, look it up.")


@knowledge.command(name="import")
def import_file(
    file: Annotated[Path, typer.Argument(help="YAML: connection, pairs, instructions, terms, synonyms")],
    connection: Annotated[str | None, typer.Option(help="instead of the one in the file")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="forget what is known before")] = False,
    tenant: Tenant = "local",
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
) -> None:
    """Teach what a file holds; an entry about the same takes the place of the one before.

    Example: querybus knowledge import shop.yaml
    """
    from querybus_cli.operations.keys import place_of
    from querybus_cli.operations.teaching import bring_in, read_document
    from querybus_cli.runtime import run, usage

    taught = usage(read_document, usage(file.read_text), connection)
    count = run(bring_in(place_of(url, password, store), tenant, taught, replace=replace))
    typer.echo(f"{len(taught.entries)} entries taught; {taught.connection} has {count}")


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

    entries = run(listed(place_of(url, password, store), tenant, connection, kind))
    for entry in entries:
        if json_output:
            _print(entry)
        else:
            mark = f"  STALE: {entry['stale']}" if entry["stale"] else ""
            typer.echo(f"{entry['id']}  {entry['kind']:11} {entry['key'] or '-'}{mark}\n{'':18}{entry['text']}")
    if not json_output:
        typer.echo(f"{len(entries)} entries")


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
            typer.echo(f"{item['score']:.2f}  {item['key'] or '-'}\n{'':6}{item['text']}")


def _print(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False))
