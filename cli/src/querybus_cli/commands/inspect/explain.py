"""How the built-in translator reads a question, printed: each word, the logical form, the SQL and the sentence.

Reads the catalog of one database, through the same engine edges as the executor; asks nobody and runs no statement of
the question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure
from querybus.core.subjects import StageName
from querybus.ops.metrics import Metrics
from querybus_cli.local.answers import demo_file, refuse_empty
from querybus_cli.local.database_url import database_url
from querybus_cli.local.demo_database import FIXED_TODAY, demo_connection, write_demo
from querybus_executor.connections.config import BadConnections, ConnectionConfig, load_connections, parse_connections
from querybus_executor.engines.registry import Engines
from querybus_translator.answers.explain import Explanation, explain

_ANY: Final = "database"


class Away(Exception):
    """The database cannot be opened, or its catalog not be read; the text says why."""


async def explain_question(
    question: str, *, database: str | None, connections: Path | None, connection: str | None, today: date | None
) -> Explanation:
    """Return the explanation; ValueError for what cannot be asked, Away for a database that is away."""
    refuse_empty(question)
    config = _config(database, connections, connection)
    day = today or (FIXED_TODAY if database is None and connections is None else datetime.now(UTC).date())
    return explain(question, await _catalog(config), today=day)


def _config(database: str | None, connections: Path | None, connection: str | None) -> ConnectionConfig:
    try:
        if connections is not None:
            known = load_connections(connections)
            named = [path for path in known if connection in (None, path.name)]
            if len(named) != 1:
                raise ValueError(f"--connection is one of: {', '.join(path.name for path in known)}")
            return named[0]
        if database is not None:
            return parse_connections({"connections": [{"name": _ANY, "url": database_url(database)}]})[0]
        file = demo_file()
        if not file.exists():
            write_demo(file)
        return parse_connections({"connections": [demo_connection(file)]})[0]
    except BadConnections as error:
        raise ValueError(str(error)) from error


async def _catalog(config: ConnectionConfig) -> Catalog:
    engines = Engines(children=1, reserved=1)
    (connected,) = engines.connected([config], metrics=Metrics(StageName.EXECUTOR))
    try:
        await engines.start()
        read = await connected.catalog()
    finally:
        await engines.drain()
    if isinstance(read, Failure):
        raise Away(read.detail)
    return read


def as_json(reported: Explanation) -> dict[str, Any]:
    """Return the explanation as JSON can hold it."""
    return asdict(reported)


def show(reported: Explanation, out: Console) -> None:
    """Print the explanation."""
    words = Table("words", "read as", "meaning", "score", "other meanings", box=None, header_style="dim")
    for word in reported.words:
        mark = word.role if word.accounted else f"{word.role} (not accounted for)"
        words.add_row(
            word.text, mark, word.meaning, "" if word.score is None else f"{word.score:.2f}", ", ".join(word.others)
        )
    out.print(words)
    for name, text in _facts(reported):
        out.print(f"[bold]{name}[/bold]  {text}", highlight=False, soft_wrap=True)


def _facts(reported: Explanation) -> Iterator[tuple[str, str]]:
    if reported.form:
        yield "form", reported.form
        yield "sentence", reported.sentence
    yield "confidence", f"{reported.confidence:.2f}, {reported.confidence_min:.2f} needed to answer"
    if reported.not_accounted:
        yield "not accounted for", ", ".join(reported.not_accounted)
    for form, confidence in reported.others:
        yield "other reading", f"{form} ({confidence:.2f})"
    for note in reported.notes:
        yield "note", note
    if reported.sql:
        yield "SQL" if reported.is_answered else "SQL, not answered with", reported.sql
    if not reported.is_answered:
        yield "asked about", reported.asked
        for option in reported.options:
            yield "option", option
