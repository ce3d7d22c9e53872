"""The translator's own questions: over the demo shop and a courier company, half of them Chinese, each with reference SQL.

`data/translator/shop.txt` and `courier.txt` hold questions that can be answered, `open.txt` those that must be asked
about. Written by hand, by kind of question; no question or name is taken from elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.courier_database import courier_connection, write_courier
from querybus.core.catalog import Catalog
from querybus_cli.local.demo_database import demo_connection, write_demo
from querybus_executor.connections.config import parse_connections
from querybus_executor.engines.sqlite.introspect import introspect, sqlite_engine

_DATA = Path(__file__).with_name("data") / "translator"
_EITHER = re.compile(r"\{([^|{}]*)\|([^|{}]*)\}")


@dataclass(frozen=True, slots=True)
class OwnQuestion:
    """A question; `gold` is empty where it must be asked about."""

    database: str
    kind: str
    language: str
    question: str
    gold: str


def own_questions() -> tuple[OwnQuestion, ...]:
    """Return all questions, those that must be asked about last."""
    return (*_answerable("shop"), *_answerable("courier"), *_open())


def own_catalogs(folder: Path) -> Mapping[str, tuple[Path, Catalog]]:
    """Make both databases in a folder and return file and catalog of each by its name."""
    shop, courier = folder / "shop.sqlite", folder / "courier.sqlite"
    write_demo(shop)
    write_courier(courier)
    result: dict[str, tuple[Path, Catalog]] = {}
    entries = [demo_connection(shop), courier_connection(courier)]
    for config in parse_connections({"connections": entries}):
        engine = sqlite_engine(config.file_path)
        catalog = introspect(
            engine,
            config.name,
            display_names=config.display_names,
            synonyms=config.synonyms,
            glossary=config.glossary,
            personal=config.personal,
        )
        engine.dispose()
        result[config.name] = (config.file_path, catalog)
    return result


def _lines(name: str) -> Iterator[tuple[str, str]]:
    for line in (_DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        mark, _, text = line.strip().partition(" ")
        if mark:
            yield mark, text


def _answerable(database: str) -> Iterator[OwnQuestion]:
    kind = gold = ""
    for mark, text in _lines(database):
        if mark == "#":
            kind = text
        elif mark == "=":
            gold = text
        else:
            yield OwnQuestion(database, kind, mark, text, _in_language(gold, mark))


def _in_language(gold: str, language: str) -> str:
    """A name's column differs by language: `name~` and `{English|Chinese}`."""
    chosen = _EITHER.sub(lambda found: found[2 if language == "zh" else 1], gold)
    return chosen.replace("~", "_zh" if language == "zh" else "")


def _open() -> Iterator[OwnQuestion]:
    database = ""
    for mark, text in _lines("open"):
        if mark == "@":
            database = text
        elif mark != "#":
            yield OwnQuestion(database, "open", mark, text, "")
