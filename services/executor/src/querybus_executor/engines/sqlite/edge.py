"""SQLite through the standard library, in child processes that can be killed: read-only by force.

Whatever text arrives here runs under an authorizer that only reads the connection's tables, with limits on time,
rows, bytes and memory (see sqlite_child). SQLite keeps no NaN; infinities and bytes travel as text. The kinds of a
result's columns are read off its values, because an expression has no declared type.
"""

from __future__ import annotations

from pathlib import Path

from querybus.core.catalog import Dialect
from querybus.core.policy import ConnectionPolicy
from querybus.sql.row_security import reachable_tables
from querybus_executor.engines.sqlite.errors import sqlite_failure
from querybus_executor.workers.embedded import RESULT_BYTES_MAX, Embedded, child_command
from querybus_executor.workers.pool import Children


def sqlite_children(*, size: int, reserved: int) -> Children:
    """Return the pool in which SQLite runs: isolated from the environment and from site-packages."""
    return Children(child_command("engines.sqlite.worker"), size=size, reserved=reserved)


def sqlite_edge(
    children: Children, path: Path, policy: ConnectionPolicy, *, bytes_max: int = RESULT_BYTES_MAX
) -> Embedded:
    """Return one SQLite file, read as far as the policy allows: its tables, without the columns that are denied."""
    opening = {
        "path": str(path),
        "tables": None if (tables := reachable_tables(policy, Dialect.SQLITE)) is None else sorted(tables),
        # A row filter may well look at a column that is denied to readers.
        "denied": []
        if policy.row_filters
        else [[table, column] for table, columns in policy.columns_denied.items() for column in columns],
    }
    return Embedded(children, opening, sqlite_failure, bytes_max=bytes_max)
