"""Twenty plain business databases for a stranger's first hour: read from `data/first_hour`, filled by seeded chance.

A file holds tables, one a line (`@ name rows: column maker; column maker; ...`), and questions with their reference SQL.
The marks before a question: `?` on its own, `>` goes on from the line before, `!` wants a change, `~` is about something else.
`[a/b]` in a question is one of these words, `{table.column}` in question and SQL a value that stands in the column.
"""

from __future__ import annotations

import datetime as dt
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).with_name("data") / "first_hour"
PERSONAL_MAKERS: Final = frozenset(
    {"person", "first", "last", "email", "phone", "birth", "street", "person_zh", "phone_zh", "login"}
)
"""What these make is personal: this list decides, whatever a column is called."""
_COLUMN: Final = re.compile(r"^(\S+) ([a-z_]+)(?:\(([^)]*)\))?( \?\d+)?(?: \"([^\"]+)\")?$")
_CHOICE: Final = re.compile(r"\[([^\]]+)\]")
_SLOT: Final = re.compile(r"\{(\w+)\.(\w+)\}")
_PERIOD: Final = re.compile(r"(THIS|LAST)_(MONTH|YEAR)\(([^()]+)\)")
_MONTH: Final = re.compile(r"\bMONTH\(([^()]+)\)")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_FIRST: Final = _words(
    "Mireille Torvald Ottilie Casimir Philippa Leander Ingrith Barnaby Rosalind Emmerich Tamsin Gideon Henrike Alaric Beatrix "
    "Cornelis Dorothea Evander Florian Gwendolyn Hortense Isidor Jolanda Konstanze Lorcan Marguerite Nikodem Oriana"
)
_LAST: Final = _words(
    "Abernathy Brinkhof Castellane Dunmore Ellingsen Fairweather Gallagher Hallström Ivankov Jankowski Kirchner Lindqvist "
    "Moreau Nakagawa Oberholzer Pemberton Quillfeather Rasmussen Silvestri Thistlewood Umbridge Vandermeer Whitlock "
    "Yamaguchi Zwingli"
)
_LAST_ZH: Final = tuple("王李张刘陈杨赵黄周吴")
_FIRST_ZH: Final = tuple("伟芳敏静丽强磊洋艳勇杰娟涛明超霞平刚")
_STREETS: Final = ("Orchard Lane", "Mill Road", "Station Street", "Harbour Way", "Chestnut Avenue", "Quarry Hill")
_COMPANIES: Final = (
    "Bluefin", "Cobalt", "Northwind", "Harvest", "Summit", "Granite", "Lighthouse", "Vertex", "Meridian", "Redwood",
    "Clearwater", "Ironbridge", "Solstice", "Maple", "Falcon", "Juniper", "Keystone", "Beacon", "Aurora", "Pinnacle",
)  # fmt: skip
_FORMS: Final = ("Ltd", "Inc", "GmbH", "Foods", "Systems", "Logistics", "Partners")

Maker = Callable[[random.Random, "Draft"], object]


@dataclass(frozen=True, slots=True)
class Column:
    """A column, how its cells are made, and whether they are personal."""

    name: str
    sql_type: str
    make: Maker
    personal: bool
    label: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table and its number of rows."""

    name: str
    size: int
    columns: tuple[Column, ...]
    references: Mapping[str, str] = field(default_factory=dict[str, str])
    label: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question; `gold` is None where no figures are the right end."""

    mark: str
    text: str
    gold: str | None
    before: tuple[str, ...] = ()

    @property
    def language(self) -> str:
        return "en" if self.text.isascii() else "zh"


@dataclass(frozen=True, slots=True)
class Schema:
    """A database with its rows and its questions."""

    name: str
    is_held_out: bool
    tables: tuple[Table, ...]
    rows: Mapping[str, Sequence[tuple[object, ...]]]
    questions: tuple[Question, ...]

    def personal_columns(self) -> set[str]:
        """Return `table.column` of every column that holds personal data."""
        return {f"{table.name}.{item.name}" for table in self.tables for item in table.columns if item.personal}

    def columns(self) -> set[str]:
        """Return `table.column` of every column."""
        return {f"{table.name}.{item.name}" for table in self.tables for item in table.columns}

    def personal_values(self) -> set[str]:
        """Return every personal value as text."""
        return {
            str(row[place])
            for table in self.tables
            for place, item in enumerate(table.columns)
            if item.personal
            for row in self.rows[table.name]
            if row[place] is not None
        }

    def script(self) -> str:
        """Return the SQL that makes the tables of PostgreSQL and fills them."""
        return "\n".join(part for table in self.tables for part in self._table_script(table))

    def _table_script(self, table: Table) -> list[str]:
        parts = [f'"{item.name}" {item.sql_type}{_reference(table, item)}' for item in table.columns]
        rows = [f"({', '.join(map(literal, row))})" for row in self.rows[table.name]]
        labels = [("TABLE", f'"{table.name}"', table.label)]
        labels += [("COLUMN", f'"{table.name}"."{item.name}"', item.label) for item in table.columns]
        return [
            f'CREATE TABLE "{table.name}" ({", ".join(parts)});',
            *(
                f'INSERT INTO "{table.name}" VALUES\n' + ",\n".join(rows[n : n + 500]) + ";"
                for n in range(0, len(rows), 500)
            ),
            *(f"COMMENT ON {kind} {name} IS {literal(text)};" for kind, name, text in labels if text),
        ]


@dataclass
class Draft:
    """A row while it is made: its number, its cells so far, the rows of the tables before it."""

    number: int
    today: dt.date
    cells: dict[str, Any]
    sizes: Mapping[str, int]


def literal(value: object) -> str:
    """Return a value as SQL.

    >>> literal(None), literal("it's"), literal(3), literal(True), literal(dt.date(2026, 1, 2))
    ('NULL', "'it''s'", '3', 'TRUE', "'2026-01-02'")
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


def _reference(table: Table, column: Column) -> str:
    target = table.references.get(column.name)
    return f' REFERENCES "{target}"' if target else ""


def load_schemas(seed: int, today: dt.date, folder: Path = FOLDER) -> list[Schema]:
    """Return all databases; those of the folder `held_out` come last and by a seed of their own."""
    files = [*sorted((folder / "open").glob("*.txt")), *sorted((folder / "held_out").glob("*.txt"))]
    return [read_schema(file, seed if file.parent.name == "open" else seed * 7_919 + 1, today) for file in files]


def read_schema(file: Path, seed: int, today: dt.date) -> Schema:
    """Return one database; ValueError names the line that cannot be read."""
    tables: list[Table] = []
    rows: dict[str, Sequence[tuple[object, ...]]] = {}
    lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        if line.startswith("@ "):
            table = _table(line[2:])
            tables.append(table)
            rows[table.name] = _rows(table, tables, random.Random(f"{seed}/{file.stem}/{table.name}"), today)
    chance = random.Random(f"{seed}/{file.stem}/words")
    questions: list[Question] = []
    for line in lines:
        if line and line[0] in "?>!~":
            said, _, gold = line[2:].partition(" | ")
            said, gold = _fill(said, gold, chance, tables, rows)
            before = (*questions[-1].before, questions[-1].text) if line[0] == ">" else ()
            questions.append(Question(line[0], said, with_periods(gold) or None, before))
    return Schema(file.stem, file.parent.name == "held_out", tuple(tables), rows, tuple(questions))


def with_periods(gold: str) -> str:
    """Return the SQL with its short forms written out: `LAST_YEAR(day)`, `MONTH(day)` and their like.

    >>> with_periods("SELECT MONTH(d)")
    "SELECT to_char(d, 'YYYY-MM')"
    """

    def period(found: re.Match[str]) -> str:
        unit, column = found[2].lower(), found[3]
        back = f" - interval '1 {unit}'" if found[1] == "LAST" else ""
        begun = f"date_trunc('{unit}', CURRENT_DATE){back}"
        return f"({column} >= {begun} AND {column} < {begun} + interval '1 {unit}')"

    return _MONTH.sub(r"to_char(\1, 'YYYY-MM')", _PERIOD.sub(period, gold))


def _fill(
    said: str,
    gold: str,
    chance: random.Random,
    tables: Sequence[Table],
    rows: Mapping[str, Sequence[tuple[object, ...]]],
) -> tuple[str, str]:
    said = _CHOICE.sub(lambda found: chance.choice(found[1].split("/")), said)
    for found in _SLOT.finditer(said):
        table = next(item for item in tables if item.name == found[1])
        place = [item.name for item in table.columns].index(found[2])
        values = sorted({str(row[place]) for row in rows[table.name] if row[place] is not None})
        value = chance.choice(values)
        said, gold = said.replace(found[0], value), gold.replace(found[0], value.replace("'", "''"))
    return said, gold


def _table(line: str) -> Table:
    head, _, body = line.partition(": ")
    name, size, *label = head.split(maxsplit=2)
    columns: list[Column] = []
    references: dict[str, str] = {}
    for text in body.split("; "):
        found = _COLUMN.match(text.strip())
        if found is None:
            raise ValueError(f"{name}: {text!r} is no column")
        column, kind, given, empty, said = found.groups()
        arguments = [item.strip() for item in (given or "").split(",")] if given else []
        sql_type, make = MAKERS[kind](arguments)
        if empty:
            sql_type = sql_type.removesuffix(" NOT NULL")
            make = _sometimes_empty(make, int(empty[2:]))
        columns.append(Column(column, sql_type, make, kind in PERSONAL_MAKERS, said or ""))
        if kind == "ref":
            references[column] = arguments[0]
    return Table(name, int(size), tuple(columns), references, label[0].strip('"') if label else "")


def _rows(table: Table, tables: Sequence[Table], chance: random.Random, today: dt.date) -> list[tuple[object, ...]]:
    sizes = {item.name: item.size for item in tables}
    made: list[tuple[object, ...]] = []
    for number in range(1, table.size + 1):
        draft = Draft(number, today, {}, sizes)
        for column in table.columns:
            draft.cells[column.name] = column.make(chance, draft)
        made.append(tuple(draft.cells.values()))
    return made


def _sometimes_empty(make: Maker, percent: int) -> Maker:
    return lambda chance, draft: None if chance.random() * 100 < percent else make(chance, draft)


def _pick(arguments: list[str]) -> tuple[str, Maker]:
    words: list[str] = []
    for item in arguments:
        word, _, weight = item.partition("*")
        words += [word] * int(weight or 1)
    if all(word.lstrip("-").isdigit() for word in words):
        return "integer NOT NULL", lambda chance, _: int(chance.choice(words))
    return "text", lambda chance, _: chance.choice(words)


def _names(arguments: list[str]) -> tuple[str, Maker]:
    def make(_: random.Random, draft: Draft) -> str:
        turn, place = divmod(draft.number - 1, len(arguments))
        return arguments[place] if turn == 0 else f"{arguments[place]} {turn + 1}"

    return "text NOT NULL", make


def _reference_to(arguments: list[str]) -> tuple[str, Maker]:
    def make(chance: random.Random, draft: Draft) -> int:
        # Some have many, some few, and the last ones none.
        size = draft.sizes[arguments[0]]
        return 1 + int(max(1, size - max(1, size // 12)) * chance.random() ** 1.3)

    return "integer", make


def _after(arguments: list[str]) -> tuple[str, Maker]:
    column, low, high = arguments[0], int(arguments[1]), int(arguments[2])

    def make(chance: random.Random, draft: Draft) -> dt.date | None:
        begun = draft.cells[column]
        if begun is None:
            return None
        day = begun.date() if isinstance(begun, dt.datetime) else begun
        ended = day + dt.timedelta(days=chance.randint(low, high))
        return ended if ended <= draft.today else None

    return "date", make


def _moments(arguments: list[str]) -> tuple[str, Maker]:
    def make(chance: random.Random, draft: Draft) -> dt.datetime:
        day = draft.today - dt.timedelta(days=1 + int(int(arguments[0]) * chance.random()))
        return dt.datetime.combine(day, dt.time(chance.randint(7, 20), chance.randint(0, 59)))

    return "timestamp NOT NULL", make


def _person(chance: random.Random, _: Draft) -> str:
    return f"{chance.choice(_FIRST)} {chance.choice(_LAST)}"


def _email(chance: random.Random, draft: Draft) -> str:
    return f"{chance.choice(_FIRST).lower()}.{chance.choice(_LAST).lower()}{draft.number}@mail.example"


def _company(_: random.Random, draft: Draft) -> str:
    turn, place = divmod(draft.number - 1, len(_COMPANIES))
    return f"{_COMPANIES[place]} {_FORMS[(turn + place) % len(_FORMS)]}"


MAKERS: Final[dict[str, Callable[[list[str]], tuple[str, Maker]]]] = {
    "key": lambda _: ("integer PRIMARY KEY", lambda _, draft: draft.number),
    "ref": _reference_to,
    "pick": _pick,
    "names": _names,
    "whole": lambda given: ("integer NOT NULL", lambda chance, _: chance.randint(int(given[0]), int(given[1]))),
    "money": lambda given: (
        "numeric(12, 2)",
        lambda chance, _: round(chance.uniform(float(given[0]), float(given[1])), 2),
    ),
    "cents": lambda given: ("bigint", lambda chance, _: chance.randint(int(given[0]), int(given[1])) * 5),
    "days": lambda given: (
        "date",
        lambda chance, draft: draft.today - dt.timedelta(days=1 + int(int(given[0]) * chance.random())),
    ),
    "ahead": lambda given: (
        "date",
        lambda chance, draft: draft.today + dt.timedelta(days=chance.randint(1, int(given[0]))),
    ),
    "moments": _moments,
    "after": _after,
    "flag": lambda given: ("boolean NOT NULL", lambda chance, _: chance.random() * 100 < int(given[0])),
    "code": lambda given: ("text NOT NULL", lambda _, draft: f"{given[0]}{draft.number:05d}"),
    "company": lambda _: ("text NOT NULL", _company),
    "author": lambda _: ("text NOT NULL", lambda chance, _: f"{chance.choice('ABCDEGH')}. {chance.choice(_COMPANIES)}"),
    "person": lambda _: ("text", _person),
    "first": lambda _: ("text", lambda chance, _: chance.choice(_FIRST)),
    "last": lambda _: ("text", lambda chance, _: chance.choice(_LAST)),
    "email": lambda _: ("text", _email),
    "login": lambda _: ("text", lambda chance, draft: f"{chance.choice(_LAST).lower()}{draft.number}@staff.example"),
    "phone": lambda _: ("text", lambda chance, _: f"+44 20 7{chance.randint(100, 999)} {chance.randint(1000, 9999)}"),
    "street": lambda _: ("text", lambda chance, _: f"{chance.randint(1, 190)} {chance.choice(_STREETS)}"),
    "birth": lambda _: ("date", lambda chance, _: dt.date(1938, 1, 1) + dt.timedelta(days=chance.randint(0, 24_000))),
    "person_zh": lambda _: (
        "text",
        lambda chance, _: chance.choice(_LAST_ZH) + "".join(chance.choices(_FIRST_ZH, k=2)),
    ),
    "phone_zh": lambda _: ("text", lambda chance, _: f"13{chance.randint(100_000_000, 999_999_999)}"),
}
"""What makes the cells of a column: its type of PostgreSQL, and a function of chance and row."""
