"""Statements made of the parts in data/render_features.toml: one for each part, and seeded combinations of them."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from querybus.core.catalog import Dialect

_DATA: Final = Path(__file__).parent / "data" / "render_features.toml"
_PARTS: Final[dict[str, dict[str, list[str]]]] = tomllib.loads(_DATA.read_text())

PEOPLE: Final = (
    (1, "anna", "red", 40, None, "1990-05-01"),
    (2, "bob", "blue", 20, 1, "1999-12-31"),
    (3, "carl", "red", 55, 1, "2001-02-28"),
    (4, "dora", "RED", None, 2, "1985-07-15"),
    (5, "eve", None, 35, 2, "2000-02-29"),
    (6, "johnny", "blue", 60, 3, "1995-10-10"),
)
VISITS: Final = (
    (1, 1, "red", 2),
    (2, 1, "blue", 5),
    (3, 3, "red", 3),
    (4, 6, "red", 4),
    (5, None, "green", 1),
)


def parts_of(dialect: Dialect) -> dict[str, list[str]]:
    """Return the parts for an engine by their kind."""
    own = _PARTS.get(dialect.value, {})
    return {kind: [*parts, *own.get(kind, [])] for kind, parts in _PARTS["all"].items()}


def each_part(dialect: Dialect) -> Iterator[str]:
    """Return a statement for each part."""
    parts = parts_of(dialect)
    yield from parts["statement"]
    for kind in ("number", "text", "date"):
        for part in parts[kind]:
            yield f"SELECT id, {part} AS x FROM people ORDER BY id"
    for part in parts["condition"]:
        yield f"SELECT id, name FROM people WHERE {part} ORDER BY id"
    for part in parts["aggregate"]:
        yield f"SELECT team, {part} AS x FROM people GROUP BY team"
    for part in parts["window"]:
        yield f"SELECT id, {part} AS x FROM people ORDER BY id"


def combined(dialect: Dialect, count: int, seed: int) -> Iterator[str]:
    """Return seeded statements that combine several parts, each in a shape of its own."""
    chosen, parts = random.Random(f"{seed}{dialect}"), parts_of(dialect)
    for _ in range(count):
        yield _combination(chosen, parts)


def _combination(chosen: random.Random, parts: dict[str, list[str]]) -> str:
    def one(kind: str) -> str:
        return chosen.choice(parts[kind])

    value = one(chosen.choice(("number", "number", "text")))
    shapes = (
        f"SELECT id, {value} AS x, {one('text')} AS y FROM people WHERE {one('condition')} AND ({one('condition')}) ORDER BY id",
        f"SELECT id, ({one('number')}) AS x FROM people WHERE NOT ({one('condition')}) OR {one('condition')}",
        f"SELECT id, CASE WHEN {one('condition')} THEN {one('number')} ELSE 0 END AS x FROM people",
        f"SELECT team, {one('aggregate')} AS x, {one('aggregate')} AS y FROM people WHERE {one('condition')} GROUP BY team",
        f"SELECT COUNT(*) AS n FROM people WHERE ({one('condition')} OR {one('condition')}) AND NOT {one('condition')}",
        f"WITH s AS (SELECT id, {one('number')} AS x FROM people) SELECT id, x FROM s WHERE x IS NOT NULL ORDER BY id",
        f"SELECT s.id, s.x FROM (SELECT id, {value} AS x FROM people WHERE {one('condition')}) s ORDER BY s.id",
        f"SELECT id, {one('number')} AS x FROM people UNION ALL SELECT id, {one('number')} AS x FROM people",
        f"SELECT id, ({one('number')}) + ({one('number')}) AS x FROM people",
        f"SELECT id, {one('number')} - {one('number')} AS x FROM people",
        f"SELECT id, {one('window')} AS x, {value} AS y FROM people ORDER BY id",
        f"SELECT id FROM people WHERE ({one('number')}) = ({one('number')}) OR {one('condition')} ORDER BY id",
    )
    return chosen.choice(shapes)
