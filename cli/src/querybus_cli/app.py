"""The `querybus` command. Every verb says what to do when it cannot go on; programs take `--json`.

Exit codes: 0 answered, replied or prepared; 2 usage; 3 clarification or confirmation; 4 refused; 5 failed; 6 expired;
7 cancelled.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from querybus_cli.commands import backup as backup_commands
from querybus_cli.commands import confirm as confirm_command
from querybus_cli.commands import connections as connection_commands
from querybus_cli.commands import evaluate as evaluate_commands
from querybus_cli.commands import keys as key_commands
from querybus_cli.commands import logs as log_commands
from querybus_cli.commands import models as model_commands
from querybus_cli.commands import operator as operator_commands
from querybus_cli.commands.taught import definitions as definition_commands
from querybus_cli.commands.taught import describe as describe_command
from querybus_cli.commands.taught import knowledge as teaching_commands
from querybus_cli.runtime import UsageError, consoles, lines, run, usage
from querybus_cli.terminal.outcome import USAGE_EXIT_CODE, as_json, exit_code, parse_day, show

app: Final = typer.Typer(
    name="querybus",
    help="Ask databases in plain English or Chinese.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


Url = Annotated[
    str | None, typer.Option(envvar="QUERYBUS_URL", help="a running gateway, e.g. http://127.0.0.1:8080; default: none")
]
Key = Annotated[str | None, typer.Option(envvar="QUERYBUS_KEY", help="for --url; better in the environment")]
KeyFile = Annotated[
    Path | None, typer.Option(help="for --url: a file with the key; default: what `querybus up` made in this folder")
]
Database = Annotated[str | None, typer.Option(help="database URL, e.g. sqlite:///shop.sqlite; default: the demo shop")]
ConnectionsFile = Annotated[Path | None, typer.Option(help="a connections.yaml instead of a single URL")]
Audience = Annotated[str, typer.Option(help="business or analyst", autocompletion=lambda: ["business", "analyst"])]
Model = Annotated[
    str | None, typer.Option(help="builtin, or a model's name; default: the configured model, else builtin")
]
Language = Annotated[str, typer.Option(help="auto, en or zh", autocompletion=lambda: ["auto", "en", "zh"])]
AllowExecution = Annotated[
    bool, typer.Option("--allow-execution", help="one probe may run before approval: it counts what a change touches")
]
Today = Annotated[str | None, typer.Option(help="the day that counts as today, YYYY-MM-DD")]


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="the question, in English or Chinese")],
    url: Url = None,
    key: Key = None,
    key_file: KeyFile = None,
    database: Database = None,
    connections: ConnectionsFile = None,
    connection: Annotated[str | None, typer.Option(help="which connection")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    csv_output: Annotated[bool, typer.Option("--csv", help="print the whole result as CSV")] = False,
    retries: Annotated[int, typer.Option(min=0, max=5, help="new drafts after the first")] = 2,
    model: Model = None,
    audience: Audience = "analyst",
    today: Today = None,
    rows: Annotated[int, typer.Option(min=1, max=100_000, help="rows of the result, at most")] = 10_000,
    deadline: Annotated[float, typer.Option(min=1, max=300, help="seconds until the query ends")] = 60.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="make and check the SQL, do not run it")] = False,
    language: Language = "auto",
    allow_execution: AllowExecution = False,
) -> None:
    """Ask one question: a running gateway with --url, else all services in this process.

    Ctrl-C cancels the query. Example: querybus ask "How many customers are there?" --database sqlite:///shop.sqlite
    """
    from querybus_cli.local.answers import Quick, ask_once
    from querybus_cli.operations.remote import ask_gateway

    if url is not None and (database is not None or connections is not None):
        raise UsageError("--url asks a gateway about its own connections: leave out --database and --connections")
    if json_output and csv_output:
        raise UsageError("say --json or --csv, not both")
    quick = Quick(
        question=question,
        database=database,
        connections=connections,
        connection=connection,
        audience=audience,
        options={
            "retries_max": retries,
            "rows_max": rows,
            "page_size": 1_000,
            "deadline_seconds": deadline,
            "dry_run": dry_run,
            "language": language,
            "model": model,
            "today": str(day) if (day := _day(today)) else None,
            "execution_mode": "allow_execution" if allow_execution else None,
        },
        csv_to=sys.stdout if csv_output else None,
    )
    out, err = consoles(quiet=json_output)
    answer = run(ask_once(quick, err)) if url is None else ask_gateway(url, key, key_file, quick, err)
    if json_output:
        typer.echo(json.dumps(as_json(answer), ensure_ascii=False))
    else:
        if not csv_output:
            show(answer, out, with_path=audience == "analyst")
        _say_beside_the_rows(answer, as_csv=csv_output, over_http=url is not None)
    raise typer.Exit(exit_code(answer))


def _say_beside_the_rows(answer: Mapping[str, Any], *, as_csv: bool, over_http: bool) -> None:
    """Say on the error output what is no row: whatever reads rows must not take words for one."""
    if as_csv and not answer.get("columns"):
        typer.echo(str(answer.get("message")), err=True)
    asked = answer.get("confirmation")
    if asked:
        how = f"querybus confirm {answer['query_id']} --hash {asked['sql_sha256']}"
        typer.echo(how if over_http else "ask it in `querybus chat`, where it can be confirmed", err=True)


@app.command()
def chat(
    url: Url = None,
    key: Key = None,
    key_file: KeyFile = None,
    database: Database = None,
    connections: ConnectionsFile = None,
    connection: Annotated[str | None, typer.Option(help="which connection")] = None,
    model: Model = None,
    audience: Audience = "analyst",
    today: Today = None,
    language: Language = "auto",
    allow_execution: AllowExecution = False,
) -> None:
    """Converse in one thread: questions and follow-ups; /help lists the commands.

    Example: querybus chat --database sqlite:///shop.sqlite
    """
    from querybus_cli.local.answers import Quick
    from querybus_cli.operations.converse import converse

    if url is not None and (database is not None or connections is not None):
        raise UsageError("--url asks a gateway about its own connections: leave out --database and --connections")
    quick = Quick(
        question="",
        database=database,
        connections=connections,
        connection=connection,
        audience=audience,
        options={
            "language": language,
            "model": model,
            "today": str(day) if (day := _day(today)) else None,
            "execution_mode": "allow_execution" if allow_execution else None,
        },
    )
    converse(url, key, key_file, quick, *consoles())


@app.command()
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

    Asks a running gateway with --url, else all services in this process. Example: querybus mcp --url http://127.0.0.1:8080
    """
    from querybus_cli.local.answers import Quick
    from querybus_cli.operations.mcp_stdio import serve

    if url is not None and (database is not None or connections is not None):
        raise UsageError("--url asks a gateway about its own connections: leave out --database and --connections")
    quick = Quick("", database, connections, None, audience, {"model": model})
    serve(url, key, key_file, quick)


@app.command(name="explain-question")
def explain_question(
    question: Annotated[str, typer.Argument(help="the question, in English or Chinese")],
    database: Annotated[
        str | None, typer.Option(help="database URL, e.g. sqlite:///shop.sqlite; default: the demo shop")
    ] = None,
    connections: Annotated[Path | None, typer.Option(help="a connections.yaml instead of a single URL")] = None,
    connection: Annotated[str | None, typer.Option(help="which connection of the file")] = None,
    today: Annotated[str | None, typer.Option(help="the day that counts as today, YYYY-MM-DD")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Show how the built-in translator reads a question: each word, the logical form, the SQL; nothing is run.

    Example: querybus explain-question "How many customers are there per city?" --database sqlite:///shop.sqlite
    """
    from querybus_cli.commands import explain

    work = explain.explain_question(
        question, database=database, connections=connections, connection=connection, today=_day(today)
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


@app.command()
def demo(
    json_output: Annotated[bool, typer.Option("--json", help="print one JSON object a line")] = False,
) -> None:
    """Make the demo shop and ask it six questions: one is asked back about, one must be refused.

    Example: querybus demo
    """
    from querybus_cli.local.answers import run_demo

    out, err = consoles(quiet=json_output)
    raise typer.Exit(run(run_demo(out, err, as_json_lines=json_output)))


@app.command()
def up(
    replicas: Annotated[str, typer.Option(help="e.g. generator=2,executor=2; one of each by default")] = "",
    connections: Annotated[Path | None, typer.Option(help="connections.yaml; default: the demo shop")] = None,
    store: Annotated[Path, typer.Option(help="where the bus keeps its streams, the keys and the logs")] = Path(
        ".querybus"
    ),
    port: Annotated[int, typer.Option(min=0, max=65_535, help="HTTP port of the first gateway")] = 8_080,
    grpc_port: Annotated[
        int, typer.Option(min=0, max=65_535, help="gRPC port of the first gateway; 0: any free one, which is printed")
    ] = 0,
    tenant: Annotated[
        list[str] | None, typer.Option(help="a tenant besides `local`; repeat for each, then make keys for it")
    ] = None,
    together: Annotated[
        bool | None,
        typer.Option(
            "--together/--apart", help="generator, recovery, presenter in one process; by default on one or two cores"
        ),
    ] = None,
) -> None:
    """Run the bus and each service as its own process until Ctrl-C; one that dies is started again.

    Example: querybus up --replicas generator=2,executor=2
    """
    from querybus_cli.local.supervise import parse_replicas
    from querybus_cli.local.up import run_up

    counts = usage(parse_replicas, replicas)
    out, _ = consoles()
    raise typer.Exit(
        asyncio.run(run_up(counts, connections, store, port, grpc_port, out, tenant or (), together=together))
    )


@app.command()
def migrate(
    nats_url: Annotated[str, typer.Option(envvar="QUERYBUS_NATS_URL", help="address of the bus")],
    password: Annotated[str, typer.Option(envvar="QUERYBUS_NATS_PASSWORD", help="of the bus user `migrate`")],
    tenants: Annotated[str, typer.Option(envvar="QUERYBUS_TENANTS", help="comma-separated tenant tokens")] = "local",
    replicas: Annotated[int, typer.Option(min=1, max=5, help="copies of each stream in a cluster")] = 1,
    events_gib: Annotated[
        float, typer.Option(min=0.1, help="of the event log; full, it forgets the oldest threads")
    ] = 16,
    events_days: Annotated[float, typer.Option(min=1, help="how long threads are remembered")] = 90,
) -> None:
    """Create or update streams, durables and buckets; safe to repeat.

    Example: QUERYBUS_NATS_URL=nats://127.0.0.1:4222 QUERYBUS_NATS_PASSWORD=... querybus migrate
    """
    from querybus_cli.operations.setup import capacity, migrate_bus, stream_sizes

    sizes = stream_sizes(replicas, events_gib, events_days)
    changed = run(migrate_bus(nats_url, password, tuple(filter(None, tenants.split(","))), sizes))
    for item in changed:
        typer.echo(item)
    typer.echo(f"{len(changed)} changes" if changed else "nothing to change")
    typer.echo(capacity(sizes))


@app.command(name="bus-config")
def bus_config(
    tenant: Annotated[list[str] | None, typer.Option(help="whose keys may call over the bus; repeat for each")] = None,
) -> None:
    """Print the accounts and permissions of nats-server; passwords are variables of the server's environment.

    Example: querybus bus-config --tenant acme > permissions.conf
    """
    from querybus_cli.operations.setup import bus_configuration

    typer.echo(usage(bus_configuration, tenant or []), nl=False)


@app.command(name="check-sql")
def check_sql(
    catalog: Annotated[Path, typer.Option(help="catalog file: {tables: {table: {column: type}}, ...}")],
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

    Example: echo '{"id": 1, "sql": "DROP TABLE t"}' | querybus check-sql --catalog catalog.json --policy policy.yaml
    """
    from querybus_cli.operations.setup import judge_lines

    refused = 0
    for line in lines(judge_lines, file, catalog, dialect, policy, tenant, user):
        refused += line["verdict"] == "refuse"
        typer.echo(json.dumps(line, ensure_ascii=False))
    raise typer.Exit(4 if refused else 0)


@app.command(name="check-words")
def check_words(
    catalog: Annotated[Path, typer.Option(help="catalog file: {tables: {table: {column: type}}, ...}")],
    file: Annotated[Path | None, typer.Argument(help="JSON lines {id, text, lang}; default: standard input")] = None,
) -> None:
    """Say which sentences give a name or a technical word away; one JSON line each: id, leak, found.

    Example: echo '{"id": 1, "text": "cust_id is missing", "lang": "en"}' | querybus check-words --catalog catalog.json
    """
    from querybus_cli.terminal.words import check_words_lines

    for line in lines(check_words_lines, file, catalog):
        typer.echo(json.dumps(line, ensure_ascii=False))


@app.command()
def chart(
    file: Annotated[
        Path | None, typer.Argument(help="JSON lines {columns, rows, row_count, question}; default: standard input")
    ] = None,
) -> None:
    """Choose and specify the chart of results; one JSON line each: chart, spec.

    Example: querybus chart results.jsonl
    """
    from querybus_cli.terminal.words import chart_lines

    for line in lines(chart_lines, file):
        typer.echo(json.dumps(line, ensure_ascii=False))


@app.command()
def doctor() -> None:
    """Say what this machine has and lacks for the tests and the benchmarks.

    Example: querybus doctor
    """
    from querybus_cli.operations.setup import findings

    missing = 0
    for name, result, what in findings():
        missing += not result
        typer.echo(f"{'ok     ' if result else 'missing'} {name}: {what}")
    raise typer.Exit(0 if not missing else 1)


confirm_command.add_to(app)
operator_commands.add_to(app)
backup_commands.add_to(app)
log_commands.add_to(app)
app.add_typer(teaching_commands.knowledge, name="knowledge")
app.add_typer(definition_commands.semantic, name="semantic")
app.add_typer(model_commands.models, name="models")
app.add_typer(key_commands.keys, name="keys")
app.add_typer(connection_commands.connections, name="connections")
app.command(name="describe")(describe_command.describe)
app.add_typer(evaluate_commands.evaluation, name="evaluate")


@app.command()
def prompt(
    question: Annotated[str, typer.Argument(help="the question, in English or Chinese")],
    database: Annotated[str | None, typer.Option(help="database URL; default: the demo shop")] = None,
    connections: Annotated[Path | None, typer.Option(help="a connections.yaml instead of a single URL")] = None,
    connection: Annotated[str | None, typer.Option(help="which connection of the file")] = None,
    values: Annotated[bool, typer.Option("--values/--no-values", help="may the model see data?")] = True,
    knowledge: Annotated[
        Path | None, typer.Option(help="YAML of what was taught, as `knowledge export` prints it")
    ] = None,
    prompts: Annotated[Path | None, typer.Option(help="directory whose texts replace the bundled ones")] = None,
    language: Annotated[str, typer.Option(help="auto, en or zh")] = "auto",
    today: Annotated[str | None, typer.Option(help="the day that counts as today, YYYY-MM-DD")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Show exactly what a model would be sent for a question, and how many tokens it has; nothing is sent.

    Example: querybus prompt "Which 5 products have the highest price?" --no-values
    """
    from querybus_cli.commands.prompt import parts_of, prompt_of
    from querybus_cli.local.answers import Quick
    from querybus_cli.operations.teaching import from_file

    day = _day(today)
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


def _day(text: str | None) -> Any:
    return usage(parse_day, text)


def main() -> None:
    """Run the command; a usage error is one line on standard error and exit code 2."""
    from querybus.ops.log import configure_logging

    configure_logging("error", as_json=False)
    try:
        app()
    except UsageError as error:
        typer.echo(f"querybus: {error}", err=True)
        sys.exit(USAGE_EXIT_CODE)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        # Loaded only where something went wrong: many commands start no server.
        from querybus.bus.admin.embedded_server import EmbeddedNatsError

        if not isinstance(error, EmbeddedNatsError):
            raise
        typer.echo(f"querybus: {error}", err=True)
        sys.exit(USAGE_EXIT_CODE)


if __name__ == "__main__":
    main()
