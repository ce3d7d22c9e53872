"""Measures what a person gets without a model: 60 questions in English and Chinese over the demo shop and two plain databases.

Each is asked of the whole running product; an answer is right if the reference's columns are among its columns and the
rows are the same. What is asked back is followed once: each option is asked, and one that leads to the right rows is
counted as one click; options are asked in the question's thread, as a click does. Held against the reference SQL in `data/answers/questions.txt`, written by hand for this.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any, Final

from benchmarks.plain_databases import write_clinic, write_theatre
from querybus.bus.client import BusClient
from querybus_cli.commands.ask import ask
from querybus_cli.local.demo_database import FIXED_TODAY, demo_connection, write_demo
from querybus_cli.local.local_stack import Stack, StackPlan
from querybus_translator.language.time.words import WEEKDAYS

QUESTIONS: Final = Path(__file__).with_name("data") / "answers" / "questions.txt"
LANGUAGES: Final = ("en", "zh")
SURE_MIN: Final = 0.5
COLUMNS_MAX: Final = 6
REQUIRED: Final = {"right": 45.0, "wrong while sure": 3.0, "within one click": 70.0, "useless": 15.0}
_MONTH: Final = re.compile(r"\d{4}-\d{2}")

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One question in one language, with the statement that answers it."""

    database: str
    language: str
    text: str
    gold: str


def questions() -> list[Question]:
    """Return all questions, each in both languages."""
    made: list[Question] = []
    for line in QUESTIONS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            database, english, chinese, gold = (part.strip() for part in line.split(" | ", 3))
            made += [Question(database, "en", english, gold), Question(database, "zh", chinese, gold)]
    return made


def is_right(gold: Sequence[Row], got: Sequence[Row], names: Mapping[str, str]) -> bool:
    """Return whether the rows are the reference's; more columns do no harm, and a name counts in either language."""
    if len(gold) != len(got):
        return False
    if not gold:
        return True
    wide, needed = len(got[0]), len(gold[0])
    if needed > wide or wide > COLUMNS_MAX:
        return False
    wanted = Counter(tuple(_cell(cell, names) for cell in row) for row in gold)
    return any(
        Counter(tuple(_cell(row[place], names) for place in places) for row in got) == wanted
        for places in permutations(range(wide), needed)
    )


def _as_share(cell: Any, column: Mapping[str, Any]) -> Any:
    """Return a percentage that its header calls one as the share that a reference has: 3.59 % is 0.0359."""
    is_percentage = str(column["label"]).endswith(("(%)", "（%）")) and isinstance(cell, int | float)
    return cell / 100 if is_percentage else cell


def _cell(cell: Any, names: Mapping[str, str]) -> Any:
    if isinstance(cell, bool | int | float):
        return float(f"{float(cell):.6g}")
    if isinstance(cell, str):
        text = names.get(cell, cell)
        try:
            value = float(text)
        except ValueError:
            return text[:7] if _MONTH.match(text) and (len(text) == 7 or text.endswith("-01")) else text
        return float(f"{value:.6g}") if math.isfinite(value) else text
    return cell


# References number the weekdays from Sunday, as SQLite does.
DAY_NUMBERS: Final = {name: str((day + 1) % 7) for names in WEEKDAYS.values() for day, name in enumerate(names)}


def names_of(database: sqlite3.Connection) -> dict[str, str]:
    """Return Chinese names with their English ones, where a table has both, and the weekdays with their numbers."""
    made = dict(DAY_NUMBERS)
    for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = {row[1] for row in database.execute(f'PRAGMA table_info("{table}")')}
        if {"name", "name_zh"} <= columns:
            made |= dict(database.execute(f'SELECT name_zh, name FROM "{table}"').fetchall())
    return made


class Asked:
    """The running product, and what it answered."""

    def __init__(self, client: BusClient, databases: Mapping[str, sqlite3.Connection]) -> None:
        self._client = client
        self._databases = databases
        self._names = {name: names_of(database) for name, database in databases.items()}

    async def verdict(self, question: Question) -> tuple[str, str]:
        """Return what became of a question, and what was said."""
        answer = await self._ask(question, question.text)
        said = str(answer.get("message", ""))
        if answer.get("outcome") == "answered":
            if self._fits(question, answer):
                return "right", said
            notes = answer.get("notes") or ()
            confidence = answer.get("confidence")
            is_sure = not notes and (confidence is None or confidence >= SURE_MIN)
            return "wrong while sure" if is_sure else "wrong, in doubt", said
        for option in answer.get("options") or ():
            # A thread each: what was chosen before does not help the next option.
            begun = await self._ask(question, question.text)
            followed = await self._ask(question, str(option["question"]), thread=begun.get("thread_id"))
            if followed.get("outcome") == "answered" and self._fits(question, followed):
                return "one click", said
        return "useless", said

    async def _ask(self, question: Question, text: str, *, thread: object = None) -> dict[str, Any]:
        options = {"today": FIXED_TODAY.isoformat(), "language": question.language, "page_size": 1_000}
        request: dict[str, Any] = {"question": text, "connection": question.database, "options": options}
        if thread is not None:
            request["thread_id"] = thread
        return await ask(self._client, request, lambda _: None)

    def _fits(self, question: Question, answer: Mapping[str, Any]) -> bool:
        gold = self._databases[question.database].execute(question.gold).fetchall()
        rows = [
            tuple(_as_share(cell, column) for cell, column in zip(row, answer["columns"], strict=True))
            for row in answer.get("rows") or ()
        ]
        return is_right(gold, rows, self._names[question.database])


async def measured(folder: Path, asked: Sequence[Question]) -> list[tuple[Question, str, str]]:
    """Return each question with what became of it."""
    files = {name: folder / f"{name}.sqlite" for name in ("shop", "clinic", "theatre")}
    write_demo(files["shop"])
    write_clinic(files["clinic"])
    write_theatre(files["theatre"])
    plain = [{"name": name, "url": f"sqlite:///{files[name]}"} for name in ("clinic", "theatre")]
    connections = folder / "connections.yaml"
    connections.write_text(json.dumps({"connections": [demo_connection(files["shop"]) | {"name": "shop"}, *plain]}))
    databases = {name: sqlite3.connect(file) for name, file in files.items()}
    async with Stack(StackPlan(connections_file=connections)) as stack, stack.client("analyst") as client:
        product = Asked(client, databases)
        return [(question, *await product.verdict(question)) for question in asked]


def main() -> int:
    """Print the shares; 1 where one is not what is required."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print every question that was not answered right")
    parser.add_argument("--database", help="only this one")
    given = parser.parse_args()
    asked = [item for item in questions() if given.database in (None, item.database)]
    with tempfile.TemporaryDirectory(prefix="querybus-answers-") as folder:
        results = asyncio.run(measured(Path(folder), asked))
    kinds = ("right", "one click", "wrong, in doubt", "wrong while sure", "useless")
    print(f"{'':24}{'asked':>6}" + "".join(f"{kind:>18}" for kind in kinds))
    for name, some in {
        **{f"{database}, {language}": (database, language) for database in ("shop", "clinic", "theatre") for language in LANGUAGES},
        "all": (None, None),
    }.items():  # fmt: skip
        own = [
            kind for item, kind, _ in results if some[0] in (None, item.database) and some[1] in (None, item.language)
        ]
        counts = Counter(own)
        if own:
            print(f"{name:24}{len(own):>6}" + "".join(f"{counts[kind]:>18}" for kind in kinds))
    if given.show:
        for item, kind, said in results:
            if kind != "right":
                print(f"{kind:18} {item.database:8} {item.text}\n{'':18} {said[:200]}")
    counts = Counter(kind for _, kind, _ in results)
    shares = {
        "right": 100 * counts["right"] / len(results),
        "wrong while sure": 100 * counts["wrong while sure"] / len(results),
        "within one click": 100 * (counts["right"] + counts["one click"]) / len(results),
        "useless": 100 * counts["useless"] / len(results),
    }
    failed = 0
    for name, share in shares.items():
        is_floor = name in ("right", "within one click")
        met = share >= REQUIRED[name] if is_floor else share <= REQUIRED[name]
        failed += not met
        bound = "at least" if is_floor else "at most"
        print(f"{name}: {share:.1f}% ({bound} {REQUIRED[name]:g}) {'met' if met else 'NOT MET'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
