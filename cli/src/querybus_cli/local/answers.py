"""Quick answers: one question, or those of the demo, from a stack that lives as long as the command."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO

import typer
from rich.console import Console
from rich.status import Status

from querybus.bus.client import BusClient, NotAccepted
from querybus.core.envelope import Audience
from querybus.core.failure import FailureCode
from querybus.core.messages import Outcome
from querybus.core.subjects import StageName
from querybus_cli.commands.ask import ask
from querybus_cli.local import demo_database
from querybus_cli.local.database_url import database_url
from querybus_cli.local.demo_database import demo_connection, write_demo
from querybus_cli.local.local_stack import Stack, StackPlan
from querybus_cli.runtime import UsageError
from querybus_cli.terminal.outcome import Answer, as_json, show, write_rows


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question of the demo, what it shows, and how it has to end; `goes_on` asks it in the thread of the one before."""

    question: str
    remark: str
    outcome: Outcome = Outcome.ANSWERED
    goes_on: bool = False


DEMO_QUESTIONS: Final = (
    DemoQuestion("revenue per month in 2025", "a trend, of a figure that the owner has defined"),
    DemoQuestion("top 5 products by revenue", "a ranking"),
    DemoQuestion("only in May 2026?", "goes on from the last", goes_on=True),
    DemoQuestion("每个城市有多少位客户？", "in Chinese"),
    DemoQuestion("Show me the recent orders", "asked back: what is recent?", Outcome.CLARIFICATION),
    DemoQuestion("delete all orders", "has to be refused", Outcome.REFUSED),
)
DATABASE: Final = "database"
AUDIENCES: Final[tuple[Audience, ...]] = ("business", "analyst")
DEMO: Final = "shop"
LANGUAGES: Final = ("auto", "en", "zh")


@dataclass(frozen=True, slots=True)
class Quick:
    """One question as it was typed."""

    question: str
    database: str | None
    connections: Path | None
    connection: str | None
    audience: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    csv_to: TextIO | None = None


def demo_file() -> Path:
    """Return where the demo shop is kept between runs; another version of its making has another name."""
    cache = os.environ.get("XDG_CACHE_HOME")
    made_by = hashlib.sha256()
    for part in sorted(Path(demo_database.__file__).parent.glob("demo_data*/**/*")):
        made_by.update(part.read_bytes() if part.is_file() else b"")
    made_by.update(Path(demo_database.__file__).read_bytes())
    return (Path(cache) if cache else Path.home() / ".cache") / "querybus" / f"shop-{made_by.hexdigest()[:12]}.sqlite"


async def ask_once(quick: Quick, err: Console) -> Answer:
    """Ask one question; raises UsageError for what cannot be asked at all."""
    refuse_empty(quick.question)
    audience = check(quick)
    with status_of(err) as status, connections_of(quick) as (file, connection):
        report(status, "starting")
        options = {key: value for key, value in quick.options.items() if value is not None}
        async with Stack(_plan(file, generator_settings(quick))) as stack:
            request = {"question": quick.question, "connection": connection, "options": options}
            async with stack.client(audience) as client:
                answer = await _ask(client, request, status)
                if quick.csv_to is not None and answer.get("columns"):
                    write_rows(answer, await _all_rows(client, answer), quick.csv_to)
                if answer.get("code") in (FailureCode.CONNECTION, FailureCode.SETUP) and answer.get("connection"):
                    # Whoever runs the stack of this machine is its administrator, whatever the audience is.
                    return {**answer, "detail": await _trouble_with(file, answer["connection"]) or answer.get("detail")}
                return answer


def _plan(file: Path, extra: Mapping[StageName, Mapping[str, Any]] | None = None) -> StackPlan:
    """Return the plan of a stack for one command: no HTTP, and traces only where they are sent somewhere."""
    is_traced = bool(os.environ.get("QUERYBUS_OTLP_ENDPOINT"))
    return StackPlan(file, sync="2m", serves_http=False, keeps_traces=is_traced, extra=extra or {})


async def _trouble_with(file: Path, connection: str) -> str | None:
    """Return what is wrong with a connection, which the services only say in their logs."""
    # Loaded at first use: most databases are there.
    from querybus_executor.connections.diagnose import diagnose

    result = await diagnose(file, connection)
    if result.trouble is None:
        return None
    lines = (f"{result.trouble}: {result.detail}", result.setting and f"setting: {result.setting}", *result.missing)
    return "\n".join(filter(None, lines))


def refuse_empty(question: str) -> None:
    """Refuse a question without a word, before anything starts."""
    if not question.strip():
        raise UsageError('the question is empty: querybus ask "How many customers are there?"')


def check(quick: Quick, *, asks_gateway: bool = False) -> Audience:
    """Return the audience; UsageError for what cannot be asked at all. Which models a gateway has, it knows itself."""
    audience: Audience | None = next((audience for audience in AUDIENCES if audience == quick.audience), None)
    if audience is None:
        raise UsageError(f"--audience is business or analyst, not {quick.audience!r}")
    if quick.options.get("language") not in (None, *LANGUAGES):
        raise UsageError(f"--language is {', '.join(LANGUAGES)}, not {quick.options['language']!r}")
    named = quick.options.get("model") not in (None, "builtin") and not asks_gateway
    if named and not os.environ.get("QUERYBUS_LLM_BASE_URL"):
        raise UsageError("--model NAME needs QUERYBUS_LLM_BASE_URL, the address of an OpenAI-compatible server")
    return audience


def generator_settings(quick: Quick) -> dict[StageName, dict[str, Any]]:
    """Return what the generator is reported beyond the plan: a name on the command line is that of the configured model."""
    model = quick.options.get("model")
    return {} if model in (None, "builtin") else {StageName.GENERATOR: {"llm_model": model}}


async def _all_rows(client: BusClient, answer: Answer) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for number in range(1, int((answer.get("pages") or {}).get("count", 1)) + 1):
        page = await client.call("page", {"query_id": answer["query_id"], "page": number})
        if "rows" not in page:
            raise UsageError(str(page.get("detail") or page))
        rows += page["rows"]
    return rows


async def run_demo(out: Console, err: Console, *, as_json_lines: bool) -> int:
    """Ask the demo's questions; return 0 if each ended as it should."""
    begun = time.monotonic()
    file = demo_file()
    with status_of(err) as status, tempfile.TemporaryDirectory(prefix="querybus-") as directory:
        if not file.exists():
            report(status, f"making the demo shop in {file}")
            file.parent.mkdir(parents=True, exist_ok=True)
            await asyncio.to_thread(write_demo, file)
        connections = _write_connections(Path(directory), demo_connection(file) | {"name": DEMO})
        report(status, "starting the bus and six services")
        good = True
        async with (
            Stack(_plan(connections)) as stack,
            stack.client("analyst") as client,
        ):
            thread: object = None
            for number, item in enumerate(DEMO_QUESTIONS, 1):
                request = {
                    "question": item.question,
                    "connection": DEMO,
                    **({"thread_id": thread} if item.goes_on else {}),
                }
                answer = await _ask(client, request, status)
                thread = answer.get("thread_id")
                good &= answer.get("outcome") == item.outcome.value
                if as_json_lines:
                    typer.echo(json.dumps(as_json(answer), ensure_ascii=False))
                    continue
                out.print(f"\n[bold]{number}. {item.question}[/bold] [dim]({item.remark})[/dim]", highlight=False)
                show(answer, out, with_path=True)
                if number == 1:
                    out.print(f"[dim]first answer {time.monotonic() - begun:.1f} s after the start[/dim]")
    return 0 if good else 5


async def _ask(client: BusClient, request: Mapping[str, Any], status: Status | None) -> Answer:
    try:
        answer = await ask(client, request, lambda stage: report(status, stage))
    except NotAccepted as error:
        raise UsageError(f"the services do not answer: {error}") from error
    if "outcome" not in answer:
        raise UsageError(str(answer.get("detail") or answer.get("title") or answer))
    return answer


@contextlib.contextmanager
def connections_of(quick: Quick) -> Generator[tuple[Path, str | None]]:
    """Give the connections file and the connection's name, None where the question chooses."""
    with tempfile.TemporaryDirectory(prefix="querybus-") as directory:
        if quick.connections is not None:
            if not quick.connections.is_file():
                raise UsageError(f"there is no file {quick.connections}")
            yield quick.connections, _named(quick.connections, quick.connection)
        elif quick.database is not None:
            try:
                url = database_url(quick.database)
            except ValueError as error:
                raise UsageError(str(error)) from error
            file = _write_connections(Path(directory), {"name": DATABASE, "url": url})
            yield file, _named(file, quick.connection)
        else:
            file = demo_file()
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                write_demo(file)
            connections = _write_connections(Path(directory), demo_connection(file) | {"name": DEMO})
            yield connections, _named(connections, quick.connection)


def names_of(file: Path) -> list[str]:
    """Return the connections of a file; UsageError says what is wrong with it."""
    # Loaded at first use: most questions bring no file.
    from querybus_executor.connections.config import BadConnections, load_connections

    try:
        return [load_connection.name for load_connection in load_connections(file)]
    except BadConnections as error:
        raise UsageError(str(error)) from error


def _named(file: Path, wanted: str | None) -> str | None:
    """Return the connection of the file to ask about: the one that is wanted, or the only one; None: the question's."""
    names = names_of(file)
    if not names:
        raise UsageError(f"{file} names no database: `querybus connect URL --file {file}` adds one")
    if wanted is None:
        return names[0] if len(names) == 1 else None
    if wanted not in names:
        raise UsageError(f"--connection is one of: {', '.join(names)}")
    return wanted


def _write_connections(directory: Path, entry: Mapping[str, Any]) -> Path:
    file = directory / "connections.yaml"
    # JSON is YAML, and quoting is then the library's business.
    file.write_text(json.dumps({"connections": [entry]}, ensure_ascii=False))
    return file


@contextlib.contextmanager
def status_of(err: Console) -> Generator[Status | None]:
    """Show that something is going on while the block runs, where somebody looks."""
    if err.quiet:
        yield None
        return
    with err.status("starting") as status:
        yield status


def report(status: Status | None, text: str) -> None:
    """Say what is going on."""
    if status is not None:
        status.update(f"{text} ...")
