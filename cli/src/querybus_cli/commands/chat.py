"""`querybus chat`: a conversation in one thread, with a gateway that runs elsewhere or in this process.

A line is a question, or a command that begins with a slash. A number chooses one of the ways on that the last answer
offers. A change is made only after `yes` typed at a terminal: whatever is piped in confirms nothing. Ctrl-C cancels
the query that runs; at the prompt it ends the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, Literal, cast

from rich.console import Console
from rich.markup import escape

from querybus_cli.operations.remote import OnProgress, follow
from querybus_cli.terminal.outcome import ROWS_SHOWN_MAX, result_table, show, show_statement, yes_question
from querybus_client import Answer, Client, Query, QueryBusError

PROMPT: Final = "? "
HELP: Final = """A question, or the number of a way on that was offered, or one of:
  /sql            the statement behind the last answer
  /new            begin a new thread
  /thread         the questions of this thread so far
  /more           the next rows of the last result
  /chart FILE     its picture as .svg or .png
  /export FILE    the last result as .csv, .xlsx, .jsonl, .parquet or .arrow
  /right, /wrong  say whether the last answer was right
  /help           this
  /quit           end"""
_Format = Literal["csv", "jsonl", "arrow", "parquet", "xlsx"]
_FORMATS: Final[Mapping[str, _Format]] = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".arrow": "arrow",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
}

_PICTURES: Final[Mapping[str, Literal["svg", "png"]]] = {".svg": "svg", ".png": "png"}

Working = Callable[[], AbstractContextManager[OnProgress]]
"""Shows that something is going on: a block that is given where to report the stages."""


class Chat:
    """One conversation. `read` gives the next line and raises EOFError at the end of input."""

    def __init__(
        self,
        client: Client,
        console: Console,
        read: Callable[[str], str],
        working: Working,
        *,
        connection: str | None,
        options: Mapping[str, Any],
        is_terminal: bool,
    ) -> None:
        self._client = client
        self._console = console
        self._read = read
        self._working = working
        self._connection = connection
        self._options: Any = dict(options)
        self._is_terminal = is_terminal
        self._thread: str | None = None
        self._last: Answer | None = None
        self._pages_shown = 1

    def run(self) -> None:
        """Converse until the end of input, /quit or Ctrl-C at the prompt."""
        while True:
            try:
                line = self._read(PROMPT).strip()
            except (EOFError, KeyboardInterrupt):
                return
            if line in ("/quit", "/exit"):
                return
            try:
                self._take(line)
            except (QueryBusError, OSError) as error:
                self._say(str(error), "red")

    def _take(self, line: str) -> None:
        if not line:
            return
        if line.startswith("/"):
            self._command(*line.split(maxsplit=1))
        elif line.isdecimal() and self._last is not None and self._last.options:
            self._choose(self._last, int(line))
        else:
            self._asked(
                self._client.submit(line, connection=self._connection, thread_id=self._thread, options=self._options)
            )

    def _command(self, name: str, argument: str = "") -> None:
        match name:
            case "/sql":
                sql = self._last.sql if self._last else None
                if sql is None:
                    self._say("there is no statement to show")
                else:
                    show_statement(sql, self._console)
            case "/new":
                self._thread = self._last = None
                self._say("a new thread begins with the next question")
            case "/thread":
                for turn in self._client.turns(self._thread) if self._thread else ():
                    self._say(f"{turn.question}  ({turn.outcome or turn.status})")
            case "/more":
                self._more()
            case "/chart":
                self._chart(argument)
            case "/export":
                self._export(argument)
            case "/right" | "/wrong":
                self._judge(cast("Literal['right', 'wrong']", name[1:]))
            case "/help":
                self._say(HELP)
            case _:
                self._say(f"there is no command {name}; /help lists them")

    def _choose(self, answer: Answer, number: int) -> None:
        if not 1 <= number <= len(answer.options):
            self._say(f"say a number from 1 to {len(answer.options)}, or a question")
            return
        choice = answer.options[number - 1]
        self._say(choice.question)
        self._asked(self._client.submit_clarification(answer.query_id, option_id=choice.id))

    def _asked(self, query: Query) -> None:
        """Show the answer of a query, and ask for a yes where it wants one."""
        with self._working() as on_progress:
            answer = follow(self._client, query, on_progress)
        self._thread, self._last, self._pages_shown = answer.thread_id, answer, 1
        show(answer.raw, self._console)
        wanted = answer.confirmation
        if wanted is not None and not wanted.needs_second_person and self._is_agreed(answer):
            confirmed = self._client.submit_confirmation(
                answer.query_id,
                wanted,
                rows_affected_max=wanted.rows_affected_max or None,
            )
            self._asked(confirmed)

    def _is_agreed(self, answer: Answer) -> bool:
        assert answer.confirmation is not None  # noqa: S101 - the caller has looked
        if not self._is_terminal:
            self._say(
                f"nothing was done: confirm with `querybus confirm {answer.query_id} "
                f"--hash {answer.confirmation.sql_sha256}`"
            )
            return False
        try:
            asked = yes_question(answer.confirmation.reason, answer.confirmation.rows_affected_max)
            said = self._read(asked).strip().lower()
        except (EOFError, KeyboardInterrupt):
            said = ""
        if said != "yes":
            self._say("nothing was done")
        return said == "yes"

    def _more(self) -> None:
        """Show the rows behind those that were shown."""
        if self._last is None or not self._last.columns:
            self._say("there is no result")
            return
        if self._last.row_count <= self._pages_shown * ROWS_SHOWN_MAX:
            self._say("these are all rows")
            return
        page = self._client.page(self._last.query_id, self._pages_shown + 1, size=ROWS_SHOWN_MAX)
        first = self._pages_shown * ROWS_SHOWN_MAX
        self._pages_shown += 1
        shown = {**self._last.raw, "rows": page.rows, "row_count": len(page.rows), "truncated": False}
        self._console.print(result_table(shown))
        self._say(f"rows {first + 1:,} to {first + len(page.rows):,} of {self._last.row_count:,}")

    def _chart(self, name: str) -> None:
        file = Path(name)
        how = _PICTURES.get(file.suffix)
        if self._last is None or self._last.chart is None:
            self._say("there is no chart")
        elif how is None:
            self._say(f"say /chart FILE, with one of {', '.join(_PICTURES)} at its end")
        elif file.exists():
            self._say(f"{file} is there already")
        else:
            size = file.write_bytes(self._client.chart(self._last.query_id, how))
            self._say(f"{size:,} bytes in {file}")

    def _export(self, name: str) -> None:
        file = Path(name)
        how = _FORMATS.get(file.suffix)
        if self._last is None or not self._last.columns:
            self._say("there is no result to export")
        elif how is None:
            self._say(f"say /export FILE, with one of {', '.join(_FORMATS)} at its end")
        elif file.exists():
            self._say(f"{file} is there already")
        else:
            size = 0
            with file.open("xb") as out:
                for chunk in self._client.export(self._last.query_id, how):
                    size += out.write(chunk)
            self._say(f"{size:,} bytes in {file}")

    def _judge(self, verdict: Literal["right", "wrong"]) -> None:
        if self._last is None:
            self._say("there is no answer to judge")
        else:
            self._client.feedback(self._last.query_id, verdict)
            self._say("noted")

    def _say(self, text: str, style: str = "dim") -> None:
        self._console.print(f"[{style}]{escape(text)}[/{style}]", highlight=False)
