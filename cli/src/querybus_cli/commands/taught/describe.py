"""`querybus connections describe`: a plain database made readable, as a draft for its owner."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from querybus.text.words import count_of


def describe(
    database: Annotated[
        str | None, typer.Option(help="path of a file, or database URL, e.g. sqlite:///shop.sqlite")
    ] = None,
    connection: Annotated[
        str | None, typer.Option(help="a connection of the connections file, with its password")
    ] = None,
    file: Annotated[Path, typer.Option(help="the connections file")] = Path("connections.yaml"),
    out: Annotated[Path | None, typer.Option(help="write the draft here instead of printing it")] = None,
    model: Annotated[
        bool, typer.Option("--model", help="let the chat model of QUERYBUS_LLM_* name tables and columns")
    ] = False,
    relations: Annotated[
        bool, typer.Option("--relations/--no-relations", help="look for references that are not declared")
    ] = True,
    json_output: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Draft names in English and Chinese, measure words, synonyms, personal columns and relations of a plain database.

    Nothing of the draft counts until an entry of connections.yaml names the file as `described`.

    Example: querybus connections describe --database shop.sqlite --out shop.described.yaml
    Example: querybus connections describe --connection shop --out shop.described.yaml
    """
    from datetime import UTC, datetime

    from querybus.ops.log import configure_logging
    from querybus_cli.describing.document import document
    from querybus_cli.describing.run import connection_of, describe_database
    from querybus_cli.runtime import UsageError

    configure_logging("error", as_json=False)
    if out is not None and out.exists():
        raise UsageError(f"{out} is there already: name another file, or remove it")
    if (database is None) == (connection is None):
        raise UsageError("say --database URL, or --connection NAME of a connections file")
    source = database if database is not None else connection_of(file, str(connection))
    made = describe_database(source, with_model=model, with_relations=relations)
    for line in made.skipped:
        typer.echo(f"left out: {line}", err=True)
    rows = {item.relation: item.rows for item in made.relations}
    text = (
        json.dumps(made.description.as_json() | {"measured": rows}, ensure_ascii=False) + "\n"
        if json_output
        else document(made.description, rows, name=out.name if out else "FILE", day=f"{datetime.now(UTC):%Y-%m-%d}")
    )
    if out is None:
        typer.echo(text, nl=False)
        return
    out.write_text(text, encoding="utf-8")
    found = {"name": made.description.display_names, "personal column": made.description.personal, "relation": rows}
    counts = ", ".join(count_of(len(items), noun) for noun, items in found.items())
    typer.echo(f"{out}: {counts}. Read it, then name it as `described` in connections.yaml.")
