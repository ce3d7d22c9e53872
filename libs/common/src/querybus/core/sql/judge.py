"""A statement in, a verdict out: the check of `querybus check-sql`, the same code that the validator runs.

A catalog document is
`{"tables": {name: {column: type}}, "primary_keys": {name: [column]}, "foreign_keys": [[table, column, table, column]]}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from querybus.core.catalog import Catalog, Column, Dialect, ForeignKey, Table
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy
from querybus.core.sql.check import check

ROW_LIMIT = 10_000


def catalog_of(document: Mapping[str, Any], dialect: Dialect) -> Catalog:
    """Return the catalog of a document; ValueError for a document of another shape."""
    try:
        tables: dict[str, Mapping[str, Any]] = dict(document["tables"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError("a catalog document needs `tables`: {name: {column: type}}") from error
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
            for name, columns in tables.items()
        ),
    )


def judge(sql: str, dialect: Dialect, catalog: Catalog, policy: ConnectionPolicy | None = None) -> dict[str, object]:
    """Return `{"verdict": "allow" | "refuse", "code", "detail"}` of one statement; `code` is None if it is allowed."""
    decision = check(sql, dialect=dialect, catalog=catalog, policy=policy or ConnectionPolicy(), row_limit=ROW_LIMIT)
    if not isinstance(decision, Failure):
        return {"verdict": "allow", "code": None, "detail": ""}
    detail = decision.detail if decision.facts.name is None else f"{decision.detail}: {decision.facts.name}"
    return {"verdict": "refuse", "code": decision.code.value, "detail": detail}
