"""DuckDB in child processes that can be killed: read-only, without files, network, extensions or settings.

What a child lets through stands in duckdb_child. The library is never loaded in the executor itself. A file that a
child has open cannot be written by another program: DuckDB allows one writer or many readers.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Final

from querybus.core.catalog import Dialect
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.policy import ConnectionPolicy
from querybus.sql.row_security import reachable_tables
from querybus_executor.workers.embedded import RESULT_BYTES_MAX, Embedded, child_command
from querybus_executor.workers.pool import Children

_NAME: Final = r'"?(?P<name>[^"!\s]+?)"?'
_BY_CLASS: Final[dict[str, tuple[tuple[str, FailureCode], ...]]] = {
    "ParserException": ((r"", FailureCode.SYNTAX_ERROR),),
    "CatalogException": (
        (r"table function with name " + _NAME + " does not", FailureCode.FUNCTION_NOT_FOUND),
        (r"(?:table|view) with name " + _NAME + " does not", FailureCode.TABLE_NOT_FOUND),
        (r"schema with name " + _NAME + " does not|catalog " + r'"[^"]*" does not', FailureCode.TABLE_NOT_FOUND),
        (r"function with name " + _NAME + " does not|" + r"is not an aggregate", FailureCode.FUNCTION_NOT_FOUND),
        (r"type with name", FailureCode.TYPE_MISMATCH),
        (r"", FailureCode.TABLE_NOT_FOUND),
    ),
    "BinderException": (
        (r"ambiguous reference to (?:column name|table) " + _NAME + r"(?:\s|$)", FailureCode.AMBIGUOUS_COLUMN),
        (r"duplicate alias " + _NAME, FailureCode.AMBIGUOUS_COLUMN),
        (r"left side of join|right side of join|using clause|natural join", FailureCode.JOIN_ERROR),
        (r'referenced table "?(?P<qualifier>[^"!\s]+?)"? not found', FailureCode.MISSING_ALIAS),
        (r"referenced column " + _NAME + " (?:was )?not found", FailureCode.COLUMN_NOT_FOUND),
        (
            r'table "(?P<qualifier>[^"]+)" does not have a column named ' + _NAME + r"(?:\s|$)",
            FailureCode.COLUMN_NOT_FOUND,
        ),
        (r"column " + _NAME + r" (?:must|should) appear in the group by", FailureCode.GROUPING_ERROR),
        (r"must appear in the group by|group by", FailureCode.GROUPING_ERROR),
        (r"order (?:by )?term out of range|out of range - should be between", FailureCode.GROUPING_ERROR),
        (
            r"clause cannot contain|cannot be nested|cannot nest|nested aggregate|window function",
            FailureCode.AGGREGATE_MISUSE,
        ),
        (r"no function matches the given name and argument types '[+\-*/%|<>=~!]+\(", FailureCode.TYPE_MISMATCH),
        (r"no function matches the given name and argument types '(?P<name>\w+)\(", FailureCode.FUNCTION_NOT_FOUND),
        (r"cannot compare|cannot cast|could not cast|type mismatch|explicit cast", FailureCode.TYPE_MISMATCH),
        (r"subquery returns \d+ columns|set operations can only apply", FailureCode.SYNTAX_ERROR),
        (r"", FailureCode.SYNTAX_ERROR),
    ),
    "ConversionException": (
        (r"out of range|overflow", FailureCode.NUMBER_TOO_LARGE),
        (r"", FailureCode.TYPE_MISMATCH),
    ),
    "OutOfRangeException": ((r"", FailureCode.NUMBER_TOO_LARGE),),
    "TypeMismatchException": ((r"", FailureCode.TYPE_MISMATCH),),
    "InvalidTypeException": ((r"", FailureCode.TYPE_MISMATCH),),
    "InvalidInputException": (
        (r"more than one row returned by a subquery", FailureCode.CARDINALITY),
        (r"read-only|read only|locked|disabled", FailureCode.PERMISSION),
        (r"", FailureCode.TYPE_MISMATCH),
    ),
    "PermissionException": ((r"", FailureCode.PERMISSION),),
    "NotAQuery": (
        (r"one statement at a time", FailureCode.MULTI_STATEMENT),
        (r"a PIVOT has to", FailureCode.SYNTAX_ERROR),
        (r"", FailureCode.PERMISSION),
    ),
    "InterruptException": ((r"", FailureCode.TIMEOUT),),
    "OutOfMemoryException": ((r"", FailureCode.RESOURCE_LIMIT),),
    "TransactionException": ((r"", FailureCode.LOCK),),
    "IOException": ((r"set lock on file", FailureCode.LOCK), (r"", FailureCode.CONNECTION)),
    "ConnectionException": ((r"", FailureCode.CONNECTION),),
    "NotImplementedException": ((r"", FailureCode.SYNTAX_ERROR),),
    "SyntaxException": ((r"", FailureCode.SYNTAX_ERROR),),
}
_PLAIN: Final = {
    FailureCode.CONNECTION: "the database file is missing, cannot be read or is none",
    FailureCode.LOCK: "the database file is held by another program",
    FailureCode.TIMEOUT: "the statement was stopped at its time limit",
    FailureCode.RESOURCE_LIMIT: "the statement needs more memory than it may have",
}


def duckdb_children(*, size: int, reserved: int) -> Children:
    """Return the pool in which DuckDB runs: of what is installed it sees DuckDB's own folder."""
    result = importlib.util.find_spec("duckdb")
    if result is None or result.origin is None:
        raise ImportError("the package duckdb is not installed")
    return Children(
        child_command("engines.duckdb.worker", Path(result.origin).parents[1]), size=size, reserved=reserved
    )


def duckdb_edge(
    children: Children,
    path: Path,
    policy: ConnectionPolicy,
    *,
    bytes_max: int = RESULT_BYTES_MAX,
    folder: Path | None = None,
) -> Embedded:
    """Return one DuckDB file, of which only the policy's tables are read. `folder`: where its views read files."""
    opening = {
        "path": str(path),
        "tables": None if (tables := reachable_tables(policy, Dialect.DUCKDB)) is None else sorted(tables),
        "seconds": policy.statement_timeout_seconds,
        "folder": None if folder is None else str(folder),
        "hides_rows": bool(policy.filtered_tables),
    }
    return Embedded(children, opening, duckdb_failure, bytes_max=bytes_max)


def duckdb_failure(_code: int, name: str, text: str, sql: str) -> Failure:
    """Return the failure of a DuckDB error: its exception class first, its text where one class means several."""
    facts = Facts(native_code=name)
    for pattern, code in _BY_CLASS.get(name, ()):
        match = re.search(pattern, text, re.IGNORECASE)
        if match is None:
            continue
        if code in _PLAIN:
            # The text of these names the path of the file.
            return Failure.of(code, _PLAIN[code], facts)
        qualifier, _, bare = (match.groupdict().get("name") or "").rpartition(".")
        qualifier = match.groupdict().get("qualifier") or qualifier
        if code is FailureCode.MISSING_ALIAS:
            # The text says which table is missing, not of which column.
            named = re.search(rf'(?<!\w)"?{re.escape(qualifier)}"?\s*\.\s*"?(\w+)', sql, re.IGNORECASE)
            bare = named[1] if named else ""
        return Failure.of(code, text, Facts(name=bare or None, qualifier=qualifier or None, native_code=name))
    return Failure.of(FailureCode.INTERNAL, text, facts)
