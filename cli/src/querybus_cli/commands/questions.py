"""The commands that ask: `querybus ask`, `chat` and `mcp`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from querybus.ops.start import without_collections
from querybus_cli.runtime import UsageError, consoles, run, usage
from querybus_cli.terminal.outcome import as_json, exit_code, parse_day, show

Question = Annotated[str, typer.Argument(help="the question, in English or Chinese")]
Url = Annotated[
    str | None,
    typer.Option(envvar="QUERYBUS_URL", metavar="URL", help="ask a running gateway, e.g. http://127.0.0.1:8080"),
]
Key = Annotated[str | None, typer.Option(envvar="QUERYBUS_KEY", help="for --url; better in the environment")]
KeyFile = Annotated[
    Path | None, typer.Option(help="for --url: a file with the key; default: what `querybus up` made in this folder")
]
Database = Annotated[
    str | None, typer.Option(metavar="URL|FILE", help="a database's URL or file; default: the demo shop")
]
ConnectionsFile = Annotated[Path | None, typer.Option(help="a connections.yaml instead of a single database")]
ConnectionName = Annotated[str | None, typer.Option(help="which connection of the file or gateway")]
Audience = Annotated[
    str,
    typer.Option(
        metavar="analyst|business",
        help="who reads: business readers see no SQL and no names of tables",
        autocompletion=lambda: ["business", "analyst"],
    ),
]
Model = Annotated[
    str | None, typer.Option(help="`builtin`, or a model's name; default: the configured model, else builtin")
]
Effort = Annotated[
    str | None,
    typer.Option(
        metavar="quick|standard|thorough",
        help="drafts of a model, at most: 1, 2 or 3; another only where those before disagree",
        autocompletion=lambda: ["quick", "standard", "thorough"],
    ),
]
Language = Annotated[
    str, typer.Option(metavar="auto|en|zh", help="of the answer", autocompletion=lambda: ["auto", "en", "zh"])
]
AllowExecution = Annotated[
    bool, typer.Option("--allow-execution", help="count what a change touches before it is approved")
]
Today = Annotated[str | None, typer.Option(metavar="YYYY-MM-DD", help="the day that counts as today")]


def ask(
    question: Question,
    url: Url = None,
    key: Key = None,
    key_file: KeyFile = None,
    database: Database = None,
    connections: ConnectionsFile = None,
    connection: ConnectionName = None,
    json_output: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    csv_output: Annotated[bool, typer.Option("--csv", help="print the whole result as CSV")] = False,
    retries: Annotated[int, typer.Option(min=0, max=5, help="new drafts after the first")] = 2,
    model: Model = None,
    effort: Effort = None,
    audience: Audience = "analyst",
    today: Today = None,
    rows: Annotated[int, typer.Option(min=1, max=100_000, help="rows of the result, at most")] = 10_000,
    deadline: Annotated[float, typer.Option(min=1, max=300, help="seconds until the query ends")] = 60.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="make and check the SQL, do not run it")] = False,
    language: Language = "auto",
    allow_execution: AllowExecution = False,
) -> None:
    """Ask one question and print the answer.

    Asks a running gateway with --url, else services of its own in this process. Ctrl-C stops the question.
    Exit codes: 0 answered, 2 wrong usage, 3 asks back, 4 refused, 5 failed, 6 took too long, 7 cancelled, 130 Ctrl-C.

    Example: querybus ask "How many customers are there?"

    Example: querybus ask "有多少位客户？" --json

    Example: querybus ask "orders per month in 2026" --database postgresql://reader@db.example.com/sales --csv
    """
    with without_collections():
        from querybus_cli.local.answers import Quick, ask_once

    _refuse_url_with_databases(url, database, connections)
    if json_output and csv_output:
        raise UsageError("say --json or --csv, not both")
    options: dict[str, Any] = {"effort": effort} if effort is not None else {}
    options |= {"retries_max": retries, "rows_max": rows, "page_size": 1_000, "deadline_seconds": deadline}
    quick = Quick(
        question=question,
        database=database,
        connections=connections,
        connection=connection,
        audience=audience,
        options=options | {"dry_run": dry_run} | _options(language, model, today, allow_execution=allow_execution),
        csv_to=sys.stdout if csv_output else None,
    )
    out, err = consoles(quiet=json_output)
    answer = run(ask_once(quick, err)) if url is None else _ask_gateway(url, key, key_file, quick, err)
    if json_output:
        typer.echo(json.dumps(as_json(answer), ensure_ascii=False))
    else:
        if not csv_output:
            show(answer, out, with_path=audience == "analyst")
        _say_beside_the_rows(answer, as_csv=csv_output, over_http=url is not None)
    raise typer.Exit(exit_code(answer))


def _ask_gateway(*arguments: Any) -> Mapping[str, Any]:
    # Loaded where a gateway is asked: it brings a client of HTTP.
    from querybus_cli.operations.remote import ask_gateway

    return ask_gateway(*arguments)


def chat(
    url: Url = None,
    key: Key = None,
    key_file: KeyFile = None,
    database: Database = None,
    connections: ConnectionsFile = None,
    connection: ConnectionName = None,
    model: Model = None,
    audience: Audience = "analyst",
    today: Today = None,
    language: Language = "auto",
    allow_execution: AllowExecution = False,
) -> None:
    """Ask questions and follow-ups in one conversation.

    /help lists the commands, /quit ends. Ctrl-C cancels the question that runs, and ends the conversation at the prompt.

    Example: querybus chat

    Example: querybus chat --database postgresql://reader@db.example.com/sales
    """
    from querybus_cli.local.answers import Quick
    from querybus_cli.operations.converse import converse

    _refuse_url_with_databases(url, database, connections)
    quick = Quick(
        question="",
        database=database,
        connections=connections,
        connection=connection,
        audience=audience,
        options=_options(language, model, today, allow_execution=allow_execution),
    )
    converse(url, key, key_file, quick, *consoles())


def mcp(
    url: Url = None,
    key: Key = None,
    key_file: KeyFile = None,
    database: Database = None,
    connections: ConnectionsFile = None,
    audience: Audience = "analyst",
    model: Model = None,
) -> None:
    """Speak the Model Context Protocol on standard input and output, for assistants that start a command.

    Asks a running gateway with --url, else services of its own in this process.

    Example: querybus mcp --url http://127.0.0.1:8080
    """
    from querybus_cli.local.answers import Quick
    from querybus_cli.operations.mcp_stdio import serve

    _refuse_url_with_databases(url, database, connections)
    quick = Quick("", database, connections, None, audience, {"model": model})
    serve(url, key, key_file, quick)


def _refuse_url_with_databases(url: str | None, database: str | None, connections: Path | None) -> None:
    if url is not None and (database is not None or connections is not None):
        raise UsageError("--url asks a gateway about its own connections: leave out --database and --connections")


def _options(language: str, model: str | None, today: str | None, *, allow_execution: bool) -> dict[str, Any]:
    day = usage(parse_day, today)
    return {
        "language": language,
        "model": model,
        "today": str(day) if day else None,
        "execution_mode": "allow_execution" if allow_execution else None,
    }


def _say_beside_the_rows(answer: Mapping[str, Any], *, as_csv: bool, over_http: bool) -> None:
    """Say on the error output what is no row: whatever reads rows must not take words for one."""
    if as_csv and not answer.get("columns"):
        typer.echo(str(answer.get("message")), err=True)
    if answer.get("model_trouble") and not over_http:
        typer.echo(f"the model: {answer['model_detail']}; `querybus models test` shows what to do", err=True)
    asked = answer.get("confirmation")
    if asked and asked["needs_second_person"]:
        typer.echo(f"another analyst confirms it: querybus confirm {answer['query_id']}", err=True)
    elif asked:
        how = f"querybus confirm {answer['query_id']} --hash {asked['sql_sha256']}"
        typer.echo(how if over_http else "ask it in `querybus chat`, where it can be confirmed", err=True)
