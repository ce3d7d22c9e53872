"""One line in, one verdict out: the check of `querybus check-sql`, the same code that the validator runs.

A line is a JSON object with `id` and `sql`, and optionally `dialect`. A catalog document is
`{"tables": {name: {column: type}}, "primary_keys": {name: [column]}, "foreign_keys": [[table, column, table, column]]}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from querybus.core.catalog import Catalog, Column, Dialect, ForeignKey, Table
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy
from querybus.core.sql.check import check

ROW_LIMIT = 10_000


def catalog_of(document: Mapping[str, Any], dialect: Dialect) -> Catalog:
    """Return the catalog of a document; ValueError for a document of another shape."""
    tables = document.get("tables")
    if not isinstance(tables, Mapping):
        raise ValueError("a catalog document needs `tables`: {name: {column: type}}")
    keys = cast("Mapping[str, Any]", document.get("primary_keys") or {})
    foreign: dict[str, list[ForeignKey]] = {}
    for table, column, referred_table, referred_column in document.get("foreign_keys") or ():
        foreign.setdefault(table, []).append(
            ForeignKey(columns=(column,), referred_table=referred_table, referred_columns=(referred_column,))
        )
    return Catalog(
        connection="check-sql",
        dialect=dialect,
        tables=tuple(
            Table(
                name=name,
                columns=tuple(Column(name=column, type=str(kind)) for column, kind in columns.items()),
                primary_key=tuple(keys.get(name, ())),
                foreign_keys=tuple(foreign.get(name, ())),
            )
            for name, columns in cast("Mapping[str, Mapping[str, Any]]", tables).items()
        ),
    )


def judge(
    line: str,
    catalogs: Mapping[Dialect, Catalog],
    default_dialect: Dialect,
    policy: ConnectionPolicy | None = None,
) -> dict[str, object]:
    """Return `{"id", "verdict": "allow" | "refuse", "code", "detail"}` of one line.

    `code` is None for an allowed statement. ValueError for a line that is no such object or names another dialect.
    """
    read = json.loads(line)
    if not isinstance(read, dict):
        raise ValueError("a line is a JSON object with `id` and `sql`")
    given = cast("dict[str, Any]", read)
    if not isinstance(given.get("sql"), str):
        raise ValueError("a line is a JSON object with `id` and `sql`")
    dialect = Dialect(given.get("dialect") or default_dialect)
    decision = check(
        given["sql"],
        dialect=dialect,
        catalog=catalogs[dialect],
        policy=policy or ConnectionPolicy(),
        row_limit=ROW_LIMIT,
    )
    if isinstance(decision, Failure):
        detail = decision.detail if decision.facts.name is None else f"{decision.detail}: {decision.facts.name}"
        return {"id": given.get("id"), "verdict": "refuse", "code": decision.code.value, "detail": detail}
    return {"id": given.get("id"), "verdict": "allow", "code": None, "detail": ""}
