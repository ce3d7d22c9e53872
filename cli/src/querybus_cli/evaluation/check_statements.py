"""A statement in, a verdict out: the check of `querybus inspect sql`, the same code that the validator runs.

A catalog document is
`{"tables": {name: {column: type}}, "primary_keys": {name: [column]}, "foreign_keys": [[table, column, table, column]]}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from querybus.core.catalog import Catalog, Column, Dialect, ForeignKey, Table
from querybus.core.failure import Failure
from querybus.core.policy import Access, ConnectionPolicy, Reader
from querybus.sql.check import check
from querybus.sql.write import check_write, is_change

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


def judge(
    sql: str,
    dialect: Dialect,
    catalog: Catalog,
    policy: ConnectionPolicy | None = None,
    reader: Reader | None = None,
) -> dict[str, object]:
    """Return `{"verdict": "allow" | "refuse", "code", "detail"}` of one statement; `code` is None if it is allowed.

    A change that a policy takes is allowed with a detail that says that it has to be confirmed first.
    """
    policy = policy or ConnectionPolicy()
    if reader is not None and policy.of(reader.tenant).access is not Access.READ_ONLY and is_change(sql, dialect):
        change = check_write(sql, dialect=dialect, catalog=catalog, policy=policy, reader=reader)
        return CONFIRMED_FIRST if not isinstance(change, Failure) else _refused(change)
    decision = check(sql, dialect=dialect, catalog=catalog, policy=policy, row_limit=ROW_LIMIT, reader=reader)
    return _refused(decision) if isinstance(decision, Failure) else {"verdict": "allow", "code": None, "detail": ""}


CONFIRMED_FIRST: Final[dict[str, object]] = {"verdict": "allow", "code": None, "detail": "after a confirmation"}


def _refused(failure: Failure) -> dict[str, object]:
    detail = failure.detail if failure.facts.name is None else f"{failure.detail}: {failure.facts.name}"
    return {"verdict": "refuse", "code": failure.code.value, "detail": detail}
