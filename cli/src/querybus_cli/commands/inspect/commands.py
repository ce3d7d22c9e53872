"""`querybus inspect`: how a question is read, what a model would be sent, how a statement is judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final

import typer

from querybus_cli.commands.groups import Commands
from querybus_cli.commands.questions import ConnectionName, ConnectionsFile, Database, Language, Question, Today
from querybus_cli.runtime import UsageError, consoles, lines, run, usage
from querybus_cli.terminal.outcome import parse_day

JsonOutput = Annotated[bool, typer.Option("--json", help="print one JSON object")]
CatalogFile = Annotated[Path, typer.Option(help="catalog file: {tables: {table: {column: type}}, ...}")]
REFUSED_EXIT_CODE: Final = 4

inspect: Final = Commands(help="See how a question is read and how a statement is judged, without running it.")


@inspect.command(name="question")
def explain_question(
    question: Question,
    database: Database = None,
    connections: ConnectionsFile = None,
    connection: ConnectionName = None,
    today: Today = None,
    json_output: JsonOutput = False,
) -> None:
    """Show how the built-in translator reads a question: each word, the logical form, the SQL; nothing is run.

    Example: querybus inspect question "How many customers are there per city?"
    """
    from querybus_cli.commands.inspect import explain

    day = usage(parse_day, today)
    work = explain.explain_question(
        question, database=database, connections=connections, connection=connection, today=day
    )
    try:
        reported = usage(run, work)
    except explain.Away as error:
        typer.echo(f"querybus: the database could not be read: {error}", err=True)
        raise typer.Exit(5) from error
    if json_output:
        typer.echo(json.dumps(explain.as_json(reported), ensure_ascii=False))
    else:
        explain.show(reported, consoles()[0])
    raise typer.Exit(0 if reported.is_answered else 3)


@inspect.command()
def prompt(
    question: Question,
    database: Database = None,
    connections: ConnectionsFile = None,
    connection: ConnectionName = None,
    values: Annotated[bool, typer.Option("--values/--no-values", help="may the model see data?")] = True,
    knowledge: Annotated[
        Path | None, typer.Option(help="YAML of what was taught, as `knowledge export` prints it")
    ] = None,
    prompts: Annotated[Path | None, typer.Option(help="folder whose texts replace the bundled ones")] = None,
    language: Language = "auto",
    today: Today = None,
    json_output: JsonOutput = False,
) -> None:
    """Show exactly what a model would be sent for a question, and how many tokens it has; nothing is sent.

    Example: querybus inspect prompt "Which 5 products have the highest price?" --no-values
    """
    from querybus_cli.commands.inspect.prompt import parts_of, prompt_of
    from querybus_cli.local.answers import Quick
    from querybus_cli.operations.teaching import from_file

    day = usage(parse_day, today)
    if prompts is not None and not prompts.is_dir():
        raise UsageError(f"--prompts {prompts} is no folder")
    options = {"allow_llm_to_see_data": values, "language": language, "today": str(day) if day else None}
    quick = Quick(question, database, connections, connection, "analyst", options)
    taught = usage(from_file, knowledge) if knowledge is not None else None
    result = run(prompt_of(quick, taught, prompts))
    parts = parts_of(result.messages)
    if json_output:
        messages = [{"role": message.role, "content": message.text} for message in result.messages]
        view = {
            "messages": messages,
            "tokens_estimated": result.tokens,
            "parts": [{"part": part, "tokens_estimated": tokens} for part, tokens in parts],
            "outcome": result.outcome or None,
        }
        typer.echo(json.dumps(view, ensure_ascii=False))
        return
    for message in result.messages:
        typer.echo(f"--- {message.role}\n{message.text}\n")
    for part, tokens in parts:
        typer.echo(f"{tokens:>7}  {part}")
    typer.echo(f"{result.tokens} tokens (estimated)" if result.messages else f"nothing is sent: {result.outcome}")


@inspect.command(name="sql")
def check_sql(
    catalog: CatalogFile,
    file: Annotated[
        Path | None, typer.Argument(help="JSON lines {id, sql[, dialect]}; default: standard input")
    ] = None,
    dialect: Annotated[str, typer.Option(help="dialect of lines that name none")] = "sqlite",
    policy: Annotated[
        Path | None, typer.Option(help="policy file: `access` and what `policy` holds in connections.yaml")
    ] = None,
    tenant: Annotated[str, typer.Option(help="for whose tenant rows are filtered")] = "local",
    user: Annotated[str, typer.Option(help="for which user rows are filtered")] = "analyst",
) -> None:
    """Judge statements as the validator does; one JSON line each: id, verdict, code, detail.

    Example: echo '{"id": 1, "sql": "DROP TABLE t"}' | querybus inspect sql --catalog catalog.json --policy policy.yaml
    """
    from querybus_cli.operations.setup import judge_lines

    refused = 0
    for line in lines(judge_lines, file, catalog, dialect, policy, tenant, user):
        refused += line["verdict"] == "refuse"
        typer.echo(json.dumps(line, ensure_ascii=False))
    raise typer.Exit(REFUSED_EXIT_CODE if refused else 0)


@inspect.command(name="words")
def check_words(
    catalog: CatalogFile,
    file: Annotated[Path | None, typer.Argument(help="JSON lines {id, text, lang}; default: standard input")] = None,
) -> None:
    """Say which sentences give a name or a technical word away; one JSON line each: id, leak, found.

    Example: echo '{"id": 1, "text": "cust_id is missing", "lang": "en"}' | querybus inspect words --catalog catalog.json
    """
    from querybus_cli.terminal.words import check_words_lines

    for line in lines(check_words_lines, file, catalog):
        typer.echo(json.dumps(line, ensure_ascii=False))


@inspect.command()
def chart(
    file: Annotated[
        Path | None, typer.Argument(help="JSON lines {columns, rows, row_count, question}; default: standard input")
    ] = None,
) -> None:
    """Choose and specify the chart of results; one JSON line each: chart, spec.

    Example: querybus inspect chart results.jsonl
    """
    from querybus_cli.terminal.words import chart_lines

    for line in lines(chart_lines, file):
        typer.echo(json.dumps(line, ensure_ascii=False))
