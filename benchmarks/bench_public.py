"""Measures the check over statements that people published: refused although harmless, changed by rendering, crashed.

`make bench-public FROM=FOLDER` reads FOLDER/<dialect>/*.sql, statements separated by `;`, over the tables of
FOLDER/<dialect>/catalog.json or FOLDER/catalog.json: `{table: [column or "column type"]}`, or the document of
`querybus inspect sql`. Without FROM the open cases of the shared data are judged by what each of them expects.
SQLite and DuckDB run here: there each statement runs as it was written and as it was rendered, over made rows.
Elsewhere a text that is lost in the rendering is found by its words alone.
`--json` (`make bench-public JSON=1`) prints the report; it is always written to build/bench/public.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sqlite3
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import duckdb

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import Checked, check_in_doubt
from querybus.sql.parse import GRAMMARS, PARSER_ERRORS

ROOT: Final = Path(__file__).resolve().parents[1]
DATA: Final = Path(os.environ.get("QUERYBUS_DATA", ROOT.parent / "shared" / "data"))
ROW_LIMIT: Final = 1_000
REFUSED_SHARE_MAX: Final = 0.02
ROWS: Final = 7
_NEVER_REPAIRED: Final = frozenset({FailureCode.SAFETY, FailureCode.PERMISSION, FailureCode.COST})


@dataclass(frozen=True)
class Item:
    """One statement with its catalog; `expects` is empty for a statement that is only said to be harmless."""

    name: str
    kind: str
    sql: str
    catalog: Catalog
    expects: str = ""


@dataclass
class Verdict:
    """What became of one statement."""

    item: Item
    outcome: str
    """allowed, refused, changed or crashed."""
    detail: str = ""
    code: FailureCode | None = None

    @property
    def is_met(self) -> bool:
        """Whether the outcome is what the case expects; a statement without expectation has to be allowed."""
        expects = self.item.expects
        if self.outcome in ("changed", "crashed"):
            return False
        if self.outcome == "allowed":
            return True
        is_repairable = self.code not in _NEVER_REPAIRED
        return is_repairable and any(words in expects for words in ("not safety", "not a safety", "repairable"))


@dataclass
class Figures:
    """The counts of one run."""

    by_kind: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    missed: list[Verdict] = field(default_factory=list[Verdict])

    def add(self, verdict: Verdict) -> None:
        counts = self.by_kind[verdict.item.kind]
        counts["statements"] += 1
        counts[verdict.outcome] += 1
        counts["met"] += verdict.is_met
        if not verdict.is_met:
            self.missed.append(verdict)

    def total(self, name: str) -> int:
        return sum(counts[name] for counts in self.by_kind.values())


class Engine(Protocol):
    """A database in this process."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]: ...


def catalog_from(document: Mapping[str, Any], dialect: Dialect) -> Catalog:
    """Return the catalog of `{table: [column or "column type"]}` or of a `tables` document; a dot names the schema."""
    tables: list[Table] = []
    for name, columns in dict(document.get("tables", document)).items():
        schema, _, table = name.rpartition(".")
        pairs = columns.items() if isinstance(columns, dict) else (column.partition(" ")[::2] for column in columns)
        known = tuple(Column(name=column, type=kind or "TEXT") for column, kind in pairs)
        tables.append(Table(name=table, schema_name=schema or None, columns=known))
    return Catalog(connection="public", dialect=dialect, tables=tuple(tables))


def cases() -> Iterator[Item]:
    """Return the shared cases of the guard."""
    folder = DATA / "cases" / "public"
    tables = json.loads((folder / "tables.json").read_text())
    for line in (folder / "cases.jsonl").read_text().splitlines():
        case = json.loads(line)
        if case["layer"] == "guard":
            given = case["input"]
            catalog = catalog_from(given.get("tables", tables), Dialect(given["dialect"]))
            yield Item(case["id"], case["kind"], given["sql"], catalog, case["expect"])


def statements(folder: Path) -> Iterator[Item]:
    """Return the statements below a folder, by dialect."""
    for dialect in Dialect:
        files = sorted((folder / dialect.value).rglob("*.sql"))
        if not files:
            continue
        places = (folder / dialect.value / "catalog.json", folder / "catalog.json")
        place = next((place for place in places if place.is_file()), None)
        if place is None:
            raise SystemExit(f"No catalog: write {places[0]}, as {{table: [columns]}}.")
        catalog = catalog_from(json.loads(place.read_text()), dialect)
        for path in files:
            for number, sql in enumerate(pieces(path.read_text(), dialect), 1):
                yield Item(f"{path.relative_to(folder)}:{number}", dialect.value, sql, catalog)


def pieces(text: str, dialect: Dialect) -> list[str]:
    """Return the statements of a text, split where a semicolon stands outside of texts and comments."""
    try:
        tokens = GRAMMARS[dialect].tokenize(text)
    except PARSER_ERRORS:
        return [text]
    result, start, has_words = list[str](), 0, False
    for token in tokens:
        if token.text == ";":
            if has_words:
                result.append(text[start : token.start].strip())
            start, has_words = token.end + 1, False
        else:
            has_words = True
    return [*result, text[start:].strip()] if has_words else result


class Sqlite:
    """SQLite in memory with made rows."""

    def __init__(self, catalog: Catalog) -> None:
        self._base = sqlite3.connect(":memory:")
        for table in catalog.tables:
            name = f'"{table.name}"'
            self._base.execute(f"CREATE TABLE {name} ({', '.join(_column(column, '') for column in table.columns)})")
            marks = ", ".join("?" * len(table.columns))
            self._base.executemany(f"INSERT INTO {name} VALUES ({marks})", made_rows(table))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._base.execute(sql).fetchmany(ROW_LIMIT)


class Duckdb:
    """DuckDB in memory with made rows."""

    def __init__(self, catalog: Catalog) -> None:
        self._base = duckdb.connect(":memory:")
        for table in catalog.tables:
            if table.schema_name:
                self._base.execute(f'CREATE SCHEMA IF NOT EXISTS "{table.schema_name}"')
            name = ".".join(f'"{part}"' for part in (table.schema_name, table.name) if part)
            columns = ", ".join(_column(column, "VARCHAR") for column in table.columns)
            self._base.execute(f"CREATE TABLE {name} ({columns})")
            for row in made_rows(table):
                self._base.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._base.execute(sql).fetchmany(ROW_LIMIT)


_TYPES: Final = re.compile(r"^(int|bigint|double|real|decimal|numeric|date|timestamp|bool)", re.IGNORECASE)


def _column(column: Column, otherwise: str) -> str:
    kind = column.type if _TYPES.match(column.type) else otherwise
    return f'"{column.name}" {kind}'


def made_rows(table: Table) -> list[list[object]]:
    """Return a few rows that differ in each column, some of them equal, one of them empty."""
    return [[_value(column, at) for column in table.columns] for at in range(ROWS)]


def _value(column: Column, at: int) -> object:
    if at == ROWS - 1:
        return None
    kind = column.type.lower()
    if kind.startswith(("date", "timestamp")):
        return f"2024-0{at % 3 + 1}-1{at}"
    if _TYPES.match(kind):
        return at % 4
    return str(at % 4)


ENGINES_HERE: Final[dict[Dialect, type[Sqlite] | type[Duckdb]]] = {Dialect.SQLITE: Sqlite, Dialect.DUCKDB: Duckdb}


class Judge:
    """Judges statements; a database is made once for each catalog."""

    def __init__(self) -> None:
        self._engines: dict[tuple[Dialect, str], Engine] = {}

    def judge(self, item: Item) -> Verdict:
        try:
            decision = check_in_doubt(
                item.sql,
                dialect=item.catalog.dialect,
                catalog=item.catalog,
                policy=ConnectionPolicy(),
                row_limit=ROW_LIMIT,
            )
        except Exception as error:  # noqa: BLE001 - a crash of any kind is what is counted
            return Verdict(item, "crashed", f"{type(error).__name__}: {error}")
        if isinstance(decision, Failure):
            return Verdict(item, "refused", f"{decision.code}: {decision.detail}", decision.code)
        changed = self._change(item, decision)
        return Verdict(item, "changed", changed) if changed else Verdict(item, "allowed")

    def _change(self, item: Item, checked: Checked) -> str:
        """Return how the rendered statement differs from what was written, "" where it does not."""
        dialect = item.catalog.dialect
        lost = lost_texts(item.sql, checked.sql, dialect)
        if lost:
            return f"{', '.join(lost)} is lost in {checked.sql}"
        if dialect not in ENGINES_HERE:
            return ""
        engine = self._engine(item.catalog)
        try:
            native, repeated = engine.rows(item.sql), engine.rows(item.sql)
        except Exception:  # noqa: BLE001 - the engine has no such function, or the made rows do not fit
            return ""
        if _set(native) != _set(repeated):
            return ""
        try:
            rendered = engine.rows(checked.sql)
        except Exception as error:  # noqa: BLE001 - broken by the rendering
            return f"{error} in {checked.sql}"
        return "" if _set(native) == _set(rendered) else f"{native[:2]} became {rendered[:2]} in {checked.sql}"

    def _engine(self, catalog: Catalog) -> Engine:
        key = (catalog.dialect, catalog.fingerprint)
        if key not in self._engines:
            self._engines[key] = ENGINES_HERE[catalog.dialect](catalog)
        return self._engines[key]


def _set(rows: list[tuple[Any, ...]]) -> list[str]:
    return sorted(str(row) for row in rows)


def lost_texts(before: str, after: str, dialect: Dialect) -> list[str]:
    """Return the texts in quotes of a statement that its rendering has in no form."""
    kept = "".join(re.findall(r"\w+", after)).casefold()
    quoted = (token.text for token in GRAMMARS[dialect].tokenize(before) if token.token_type.name == "STRING")
    return [repr(text) for text in quoted if "".join(re.findall(r"\w+", text)).casefold() not in kept]


def report_of(figures: Figures) -> dict[str, Any]:
    total = figures.total("statements")
    refused = sum(verdict.outcome == "refused" for verdict in figures.missed)
    names = ("statements", "allowed", "refused", "changed", "crashed", "met")
    totals = {name: figures.total(name) for name in names}
    share = refused / total if total else 0.0
    return {
        "name": "public",
        "figures": {**totals, "refused_although_harmless_share": round(share, 4)},
        "required": {"refused_although_harmless_share": REFUSED_SHARE_MAX, "changed": 0, "crashed": 0},
        "met": share <= REFUSED_SHARE_MAX and not totals["changed"] and not totals["crashed"],
        "by_kind": {kind: dict(counts) for kind, counts in sorted(figures.by_kind.items())},
        "missed": [
            {
                "name": missed.item.name,
                "kind": missed.item.kind,
                "outcome": missed.outcome,
                "detail": missed.detail[:400],
            }
            for missed in figures.missed
        ],
    }


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    arguments.add_argument("folder", nargs="?", type=Path, help="statements by dialect with a catalog")
    arguments.add_argument("--json", action="store_true", help="print the report as JSON")
    given = arguments.parse_args()
    if given.folder is None and not (DATA / "cases" / "public").is_dir():
        print(f"skipped: no folder was named, and there are no shared cases in {DATA}")
        return 0
    judge, figures = Judge(), Figures()
    for item in cases() if given.folder is None else statements(given.folder):
        figures.add(judge.judge(item))
    if not figures.by_kind:
        print(f"No statements: {given.folder} has no folder that is named after a dialect.", file=sys.stderr)
        return 1
    report = report_of(figures)
    target = ROOT / "build" / "bench" / "public.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report, indent=1) + "\n")
    if given.json:
        print(json.dumps(report))
        return 0 if report["met"] else 1
    for verdict in figures.missed:
        print(f"{verdict.outcome:8} {verdict.item.name:8} {verdict.item.kind}: {verdict.detail[:300]}")
    print(f"\n{'kind':32}{'statements':>12}{'allowed':>9}{'refused':>9}{'changed':>9}{'crashed':>9}{'as expected':>13}")
    for kind, counts in sorted(figures.by_kind.items()):
        numbers = [counts[name] for name in ("allowed", "refused", "changed", "crashed")]
        print(f"{kind:32}{counts['statements']:12}{''.join(f'{number:9}' for number in numbers)}{counts['met']:13}")
    for name, value in report["figures"].items():
        print(f"{name:34}{value:10}")
    print(f"\n{'met' if report['met'] else 'NOT MET'}: {target.relative_to(ROOT)}")
    return 0 if report["met"] else 1


if __name__ == "__main__":
    sys.exit(main())
