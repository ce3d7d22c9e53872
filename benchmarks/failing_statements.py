"""Failing statements of our own, over databases that the tree makes: a clinic, a theatre, a courier company and a shop.

`questions/failing.txt` holds them, written without sight of what the rules know, each with the statement that was meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from courier_database import write_courier
from plain_databases import write_clinic, write_theatre

from querybus_cli.local.demo_database import write_demo

_QUESTIONS: Final = Path(__file__).parent / "questions" / "failing.txt"
_WRITERS: Final = {"clinic": write_clinic, "theatre": write_theatre, "courier": write_courier, "shop": write_demo}


@dataclass(frozen=True, slots=True)
class FailingStatement:
    """A question, a statement for it that fails, and one that answers it."""

    database: str
    question: str
    sql: str
    reference: str


def failing_statements() -> Iterator[FailingStatement]:
    """Yield them in the order of the file."""
    for line in _QUESTIONS.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            yield FailingStatement(*line.split(" | "))


def write_databases(folder: Path) -> None:
    """Write the databases, `<name>.sqlite` each."""
    for name, write_database in _WRITERS.items():
        write_database(folder / f"{name}.sqlite")
