"""An answer as the command line gives it: exit codes, the one JSON object, and what a terminal shows.

The functions here are pure but for the console that is passed in.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TextIO, cast

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from querybus.core.messages import Outcome
from querybus.text.rows.shown_rows import is_figure, shown_rows
from querybus_cli.terminal.chart import chart_lines
from querybus_cli.terminal.statement import statement_lines

EXIT_CODES: Final[dict[str, int]] = {
    Outcome.ANSWERED: 0,
    Outcome.REPLIED: 0,
    Outcome.PREPARED: 0,
    Outcome.CLARIFICATION: 3,
    Outcome.CONFIRMATION: 3,
    Outcome.REFUSED: 4,
    Outcome.FAILED: 5,
    Outcome.EXPIRED: 6,
    Outcome.CANCELLED: 7,
}
USAGE_EXIT_CODE: Final = 2
ROWS_SHOWN_MAX: Final = 20
CELL_LENGTH_MAX: Final = 60
PANEL_WIDTH: Final = 4
"""What the frame around an answer takes."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

Answer = Mapping[str, Any]
"""The public answer as an API gives it."""


def exit_code(answer: Answer) -> int:
    """Return the process exit code of an outcome; 5 for an answer without one."""
    return EXIT_CODES.get(str(answer.get("outcome")), 5)


def as_json(answer: Answer) -> dict[str, Any]:
    """Return the one object of `--json`: stable names, `columns` as names, `rows` as lists."""
    columns = cast("Sequence[Mapping[str, Any]]", answer.get("columns") or ())
    return {
        "outcome": answer.get("outcome"),
        "code": answer.get("code"),
        "enriched_question": answer.get("enriched_question"),
        "sql": answer.get("sql"),
        "columns": [column["label"] for column in columns],
        "rows": [list(row) for row in answer.get("rows") or ()],
        "row_count": answer.get("row_count", 0),
        "truncated": answer.get("truncated", False),
        "classification": answer.get("classification"),
        "retries": answer.get("retries"),
        "attempts": answer.get("attempts") or [],
        "path": answer.get("path") or [],
        "message": answer.get("message"),
        "next_step": answer.get("next_step", ""),
        "options": answer.get("options") or [],
        "confirmation": answer.get("confirmation"),
        "rows_affected": answer.get("rows_affected"),
        "summary": answer.get("summary", ""),
        "chart": answer.get("chart"),
        "notes": answer.get("notes") or [],
        "explanation": answer.get("explanation", ""),
        "written_by": answer.get("written_by"),
        "model": answer.get("model", ""),
        "model_trouble": answer.get("model_trouble"),
        "model_use": answer.get("model_use"),
        "detail": answer.get("detail", ""),
        "query_id": answer.get("query_id"),
        "thread_id": answer.get("thread_id"),
    }


def write_rows(answer: Answer, rows: Iterable[Sequence[object]], out: TextIO) -> None:
    """Write a result as CSV: labels, then rows; NULL is empty, and no cell is a formula."""
    # Loaded where a result is written: one answer at the terminal needs neither.
    import csv

    from querybus.text.rows.csv_cells import csv_cell

    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([csv_cell(column["label"]) for column in answer.get("columns") or ()])
    writer.writerows([csv_cell(cell) for cell in row] for row in rows)


def show(answer: Answer, console: Console, *, with_path: bool = False) -> None:
    """Print an answer for a person: words, options, picture, table, how it was read, path and retries, then the SQL."""
    parts: list[RenderableType] = []
    if answer.get("enriched_question"):
        parts.append(f"[dim]→ {escape(printable(str(answer['enriched_question'])))}[/dim]")
    words = " ".join(str(answer.get(key) or "") for key in ("message", "next_step")).strip()
    parts.append(escape(printable(words)))
    summary = str(answer.get("summary") or "")
    if summary and summary not in words:
        parts.append(escape(printable(summary)))
    parts.extend(
        f"  {number}. {escape(printable(str(option['text'])))}"
        for number, option in enumerate(answer.get("options") or (), 1)
    )
    # Of a change the words say how much; its one column is for programs.
    if answer.get("columns") and answer.get("rows") and answer.get("rows_affected") is None:
        language = "zh" if answer.get("language") == "zh" else "en"
        picture = chart_lines(answer.get("chart"), console.width - PANEL_WIDTH, language)
        if picture:
            parts.append(Text("\n".join(map(printable, picture))))
        parts.append(result_table(answer))
    if asked_of := answer.get("connection_label"):
        parts.append(f"[dim]{escape(printable(_ASKED_OF[answer.get('language') == 'zh'].format(asked_of)))}[/dim]")
    parts.extend(f"[dim]· {escape(printable(str(note)))}[/dim]" for note in answer.get("notes") or ())
    if how := _how(answer, words):
        parts.append(f"[dim]{escape(printable(how))}[/dim]")
    if answer.get("detail"):
        parts.append(f"[dim]{escape(printable(str(answer['detail'])))}[/dim]")
    if with_path:
        parts.append(f"[dim]{path_line(answer)}[/dim]")
        if use := use_line(answer):
            parts.append(f"[dim]{escape(printable(use))}[/dim]")
    good = exit_code(answer) in (0, 3)
    console.print(
        Panel(Group(*parts), title=str(answer.get("outcome")), border_style="green" if good else "red", expand=False)
    )
    if answer.get("sql"):
        show_statement(str(answer["sql"]), console)


def show_statement(sql: str, console: Console) -> None:
    """Print a statement without a frame and without breaks of the terminal's width, so that it can be copied."""
    # Loaded where a statement is shown: it brings the grammars of many languages.
    from rich.syntax import Syntax

    text = printable(statement_lines(sql))
    console.print(Syntax(text, "sql", theme="ansi_dark", background_color="default").highlight(text), soft_wrap=True)


def use_line(answer: Answer) -> str:
    """Return what the calls of models took, with the model that wrote the statement; empty where none was asked.

    >>> use_line({"model": "m", "model_use": {"calls": 2, "tokens_in": 1500, "tokens_out": 40, "tokens_cached": 1024, "cost": 0.0123}})
    'model m: 2 calls, 1,500 tokens in (1,024 cached), 40 out, cost 0.0123'
    """
    use = answer.get("model_use")
    if not use:
        return ""
    cached = f" ({use['tokens_cached']:,} cached)" if use.get("tokens_cached") else ""
    cost = f", cost {use['cost']:.4f}" if use.get("cost") else ""
    named = f"model {answer['model']}" if answer.get("model") else "models"
    calls = "1 call" if use["calls"] == 1 else f"{use['calls']} calls"
    return f"{named}: {calls}, {use['tokens_in']:,} tokens in{cached}, {use['tokens_out']:,} out{cost}"


_ASKED_OF: Final = {False: "Asked of “{}”.", True: "数据来源：“{}”。"}


def _how(answer: Mapping[str, Any], words: str) -> str:
    """Return how an answer was read, without a line that its sentence says already."""
    how = str(answer.get("explanation") or "")
    line = str((answer.get("reading") or {}).get("text") or "")
    return how.removeprefix(line).strip() if line and words.startswith(line.rstrip(".。")) else how


def result_table(answer: Answer) -> Table:
    """Return the first rows as a table; numbers stand to the right."""
    table = Table()
    for column in answer["columns"]:
        table.add_column(escape(printable(str(column["label"]))), justify="right" if is_figure(column) else "left")
    rows = list(answer["rows"])
    language = "zh" if answer.get("language") == "zh" else "en"
    for row, cells in zip(rows, shown_rows(answer["columns"], rows[:ROWS_SHOWN_MAX], language), strict=False):
        table.add_row(
            *("-" if cell is None else escape(cell_text(text)) for cell, text in zip(row, cells, strict=True))
        )
    hidden = int(answer.get("row_count") or len(rows)) - min(len(rows), ROWS_SHOWN_MAX)
    if hidden > 0:
        more, cut = (
            (f"还有 {hidden:,} 行", "，其余因上限未保留")
            if language == "zh"
            else (f"{hidden:,} more rows", " and the limit cut the rest")
        )
        table.caption = more + (cut if answer.get("truncated") else "")
    return table


def printable(text: str) -> str:
    """Return a text without what a terminal would obey: a value may hold escape sequences.

    >>> printable("red\\x1b[31m")
    'red\ufffd[31m'
    """
    return _CONTROL.sub("\ufffd", text)


def cell_text(cell: str) -> str:
    """Return a cell's text, cut to what a terminal can show."""
    text = printable(cell)
    return text if len(text) <= CELL_LENGTH_MAX else text[: CELL_LENGTH_MAX - 1] + "…"


def yes_question(reason: str, rows: int) -> str:
    """Return what a person is asked before the yes is given on; `rows` may change at most."""
    if reason == "cost":
        return "Run it anyway? Type yes or no: "
    return f"Make this change, to at most {rows:,} row{'' if rows == 1 else 's'}? Type yes or no: "


def path_line(answer: Answer) -> str:
    """Return the stages that were passed with their times, and the retry counts."""
    steps = [
        f"{step['stage']} {int(step['ended_at']) - int(step['started_at'])} ms"
        for step in cast("Sequence[Mapping[str, Any]]", answer.get("path") or ())
    ]
    retries = cast("Mapping[str, Any]", answer.get("retries") or {})
    counts = f"retries {retries.get('generation', 0)}, repairs {retries.get('mend', 0)}"
    return " → ".join(steps) + (" · " if steps else "") + counts


def parse_day(text: str | None) -> dt.date | None:
    """Return the date of YYYY-MM-DD; ValueError with what to type for anything else."""
    if text is None:
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no date: say it as YYYY-MM-DD, for instance 2025-06-30") from None
