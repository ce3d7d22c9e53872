"""`querybus definitions`: what an owner's words mean, in and out, checked against the database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from querybus.text.words import count_of
from querybus_cli.commands.groups import Commands
from querybus_cli.commands.operate.operator import STORE, Store, Tenant, Url
from querybus_cli.commands.taught.knowledge import JsonOutput, Password

Connection = Annotated[str, typer.Option(help="whose definitions they are")]
Format = Annotated[str, typer.Option("--from", help="ossie, dbt, snowflake or cube")]
Files = Annotated[list[Path], typer.Argument(help="one file, or several that belong together (dbt, cube)")]
Database = Annotated[str, typer.Option(help="database URL or path, to measure against")]
FINDING_EXIT_CODE: Final = 1
FORMATS: Final = ("ossie", "dbt", "snowflake", "cube")

semantic: Final = Commands(help="Say what words mean: metrics, dimensions, relations, filters.")


@semantic.command(name="import")
def import_files(
    files: Files,
    connection: Connection,
    format_: Format = "ossie",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only say what would be taken")] = False,
    tenant: Tenant = "local",
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: JsonOutput = False,
) -> None:
    """Bring definitions in; everything that is not taken is listed by name and line.

    Example: querybus definitions import --from dbt models/*.yml --connection shop
    """
    from querybus_cli.operations.definitions import bring_in_layer, read_files
    from querybus_cli.operations.keys import place_of
    from querybus_cli.runtime import run

    layer, listed = read_files(files, _format(format_), connection)
    result = None if dry_run else run(bring_in_layer(place_of(url, password, store), tenant, connection, layer))
    taken = {"datasets": len(layer.datasets), "relations": len(layer.relations), "metrics": len(layer.metrics)}
    if json_output:
        left = [{"path": one.path, "line": one.line, "reason": one.reason} for one in listed]
        left += [
            {"path": one.entry.key, "line": None, "reason": one.reason} for one in (result.refused if result else ())
        ]
        _print({"taken": taken, "listed": left, "entries": None if result is None else result.entries})
        return
    typer.echo(f"taken: {', '.join(f'{number} {name}' for name, number in taken.items())}")
    for one in listed:
        typer.echo(f"  not as it stands: {one.text}")
    if result is not None:
        for refusal in result.refused:
            typer.echo(f"  refused: {refusal.entry.key}: {refusal.reason}")
        typer.echo(f"{connection} has {result.entries} entries")


@semantic.command(name="export")
def export_file(
    connection: Connection,
    tenant: Tenant = "local",
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
) -> None:
    """Print a connection's definitions as an Ossie document; what other tools will compute differently goes to stderr.

    Example: querybus definitions export --connection shop > shop.ossie.yaml
    """
    import yaml

    from querybus_cli.operations.definitions import defined, exported
    from querybus_cli.operations.keys import place_of
    from querybus_cli.runtime import run

    layer, _ = run(defined(place_of(url, password, store), tenant, connection))
    document, changed = exported(layer)
    for line in changed:
        typer.echo(line, err=True)
    typer.echo(yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=120), nl=False)


@semantic.command(name="list")
def list_metrics(
    connection: Connection,
    tenant: Tenant = "local",
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: JsonOutput = False,
) -> None:
    """List a connection's metrics: what each means, whose it is, and whether it is approved.

    Example: querybus definitions list --connection shop
    """
    from querybus_cli.operations.definitions import defined
    from querybus_cli.operations.keys import place_of
    from querybus_cli.runtime import run

    layer, _ = run(defined(place_of(url, password, store), tenant, connection))
    for name, metric in layer.metrics.items():
        words = metric.words
        if json_output:
            view = {"metric": name, "state": words.state, "owner": words.owner, "description": words.description}
            _print(view | {"expression": metric.expression})
        else:
            typer.echo(f"{name:<28} {words.state:<9} {words.owner or '-':<12} {words.description or metric.expression}")


@semantic.command()
def approve(
    connection: Connection,
    metrics: Annotated[list[str] | None, typer.Argument(help="names; without any, every draft")] = None,
    by: Annotated[str, typer.Option(help="who approves; kept as the owner where none is named")] = "",
    withdraw: Annotated[bool, typer.Option("--withdraw", help="make them drafts again")] = False,
    tenant: Tenant = "local",
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
) -> None:
    """Approve drafts: only what is approved answers questions.

    Example: querybus definitions approve revenue refunds --connection shop --by finance
    """
    from querybus_cli.operations.definitions import set_state
    from querybus_cli.operations.keys import place_of
    from querybus_cli.runtime import run

    state = "draft" if withdraw else "approved"
    names = run(set_state(place_of(url, password, store), tenant, connection, metrics or [], state, by))
    typer.echo(f"{state}: {', '.join(names) or 'nothing'}")


@semantic.command()
def check(
    files: Files,
    database: Database,
    format_: Format = "ossie",
    json_output: JsonOutput = False,
) -> None:
    """Measure a layer against its database: keys, relations, codes, every metric, verified questions. Exit code 1 for errors.

    Example: querybus definitions check shop.ossie.yaml --database shop.sqlite
    """
    from querybus_cli.operations.definitions import as_json, checked, read_files
    from querybus_cli.operations.measuring import opened

    layer, listed = read_files(files, _format(format_), "checked")
    with opened(database) as (catalog, rows_of):
        _, findings = checked(layer, catalog, rows_of)
    if json_output:
        _print({"findings": as_json(findings), "listed": [one.text for one in listed]})
    else:
        for one in listed:
            typer.echo(f"not taken: {one.text}")
        for one in findings:
            typer.echo(f"{one.severity.value}: {one.about}: {one.detail}")
        typer.echo(
            ", ".join(
                (
                    count_of(len(layer.metrics), "metric"),
                    count_of(len(layer.relations), "relation"),
                    count_of(len(findings), "finding"),
                )
            )
        )
    if any(one.severity.value == "error" for one in findings):
        raise typer.Exit(FINDING_EXIT_CODE)


@semantic.command()
def diff(
    before: Annotated[Path, typer.Argument(help="the layer as it is")],
    after: Annotated[Path, typer.Argument(help="the layer as it is to be")],
    database: Database,
    json_output: JsonOutput = False,
) -> None:
    """Say whose numbers change between two versions of a layer (Ossie): each metric and each verified question, before and after.

    Example: querybus definitions diff old.yaml new.yaml --database shop.sqlite
    """
    from querybus_cli.operations.definitions import difference, read_files
    from querybus_cli.operations.measuring import opened

    layers = [read_files([file], "ossie", "compared")[0] for file in (before, after)]
    with opened(database) as (catalog, rows_of):
        changes = difference(layers[0], layers[1], catalog, rows_of)
    for change in changes:
        if json_output:
            _print(change)
        else:
            about = change.get("metric") or change["question"]
            typer.echo(f"{about}: {change['before']} -> {change['after']}  {change.get('owner', '')}".rstrip())
    if not json_output:
        questions = sum("question" in change for change in changes)
        typer.echo(f"{len(changes) - questions} metrics and the answers to {questions} verified questions change")


@semantic.command()
def draft(
    database: Database,
    pairs: Annotated[
        Path | None, typer.Option(help="verified questions, as `querybus knowledge export` writes them")
    ] = None,
) -> None:
    """Draft a layer from a database's keys, names and views, and from verified questions, as Ossie; every metric in it is
    a draft until it is approved.

    Example: querybus definitions draft --database shop.sqlite > shop.ossie.yaml
    """
    import yaml

    from querybus_cli.operations.definitions import drafted, pairs_in
    from querybus_cli.operations.measuring import opened

    with opened(database) as (catalog, _):
        document = drafted(catalog, pairs_in(pairs))
    typer.echo(yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=120), nl=False)


def _format(name: str) -> Any:
    if name not in FORMATS:
        raise typer.BadParameter(f"{name} is none of {', '.join(FORMATS)}")
    return name


def _print(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, default=str))
