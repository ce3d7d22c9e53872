"""The process in which DuckDB runs: read-only, without files, network, extensions or settings to change.

Besides the hardened configuration, each statement is read by DuckDB's own parser first: exactly one, a query, over
tables of the database, without functions that read settings, files or text as SQL. It imports DuckDB and the standard
library only (see child_loop). An opening is `{"path", "tables", "seconds"}`.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from datetime import datetime
from types import ModuleType
from typing import Any, BinaryIO, Final, cast
from zoneinfo import ZoneInfo

import duckdb

from querybus.text.rows.cells import short_cell
from querybus_executor.engines.duckdb.exact_values import Fetch, exact_rows, exact_statement
from querybus_executor.workers.confinement import Confinement, Stale
from querybus_executor.workers.loop import Sent, Statement, error, resident_kilobytes, serve, stream

MEMORY_LIMIT: Final = "512MB"
MEMORY_BYTES_MAX: Final = 4 << 30
TIRED_KILOBYTES: Final = 384 << 10
THREADS: Final = 2
EXPLAIN_DEPTH_MAX: Final = 100

_CONFIGURATION: Final[dict[str, Any]] = {
    "enable_external_access": False,
    "memory_limit": MEMORY_LIMIT,
    "threads": THREADS,
    "max_temp_directory_size": "0MB",
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "allow_community_extensions": False,
    "allow_unsigned_extensions": False,
    # Without this a table's name may be the name of a variable of this program.
    "python_enable_replacements": False,
}
_VIEWS_OF_FILES: Final = r"""
SELECT 1 FROM duckdb_views() WHERE NOT internal
 AND regexp_matches(sql, '(read_|parquet_scan|\.(parquet|csv|tsv|json|jsonl|ndjson)(\.gz)?[''"])', 'i') LIMIT 1
"""
_FUNCTIONS_DENIED: Final = re.compile(
    r"(duckdb_|pragma_|read_|write_|parquet_|sniff_|json_execute|json_deserialize|from_json_plan|copy_|pg_|has_|"
    r"enable_|disable_|load_|force_|arrow_|pandas_|python_|iceberg_|delta_|sqlite_|postgres_|mysql_)"
    r"|(query|query_table|getenv|getvariable|current_setting|set_config|glob|checkpoint|nextval|currval|seq_scan|"
    r"which_secret|sql_auto_complete|from_substrait|get_substrait|repeat_row|summary|in_search_path|txid_current|"
    r"current_schemas|storage_info|table_info|show|version|error|write_log|sleep_ms)$"
)
_SCHEMAS_DENIED: Final = frozenset({"information_schema", "pg_catalog"})
_TABLES_DENIED: Final = re.compile(r"(duckdb_|pragma_|sqlite_|pg_)", re.IGNORECASE)
_QUERY: Final = re.compile(r"\s*(SELECT|WITH|FROM|VALUES|\()", re.IGNORECASE)
_NO_QUERY: Final = "NotAQuery"
_PLANNED: Final = "EXPLAIN "


class Refused(Exception):
    """The statement is not one query over the database's tables; the text says why."""


class Database:
    """One hardened connection. `tables` are the only ones it reads (None: all); `folder`: where its views may read files.

    `hides_rows`: some reader does not see every row, so that no answer may depend on statistics of all of them.
    """

    def __init__(
        self,
        path: str,
        tables: list[str] | None,
        seconds: float,
        folder: str | None = None,
        *,
        hides_rows: bool = False,
    ) -> None:
        self._path = path
        self._folder = folder
        self._tables = None if tables is None else frozenset(table.casefold() for table in tables)
        self._seconds = seconds
        self._hides_rows = hides_rows
        self._opened: duckdb.DuckDBPyConnection | None = None
        self._parser = Parser()
        self._inode: tuple[int, int] | None = None
        self.opened_kilobytes = 0

    def answer(self, request: dict[str, Any], out: BinaryIO) -> Sent:
        """Run one statement and write all frames but the last, which is returned."""
        sql = str(request["sql"])
        connection = self._ready()
        Watch.connection = connection
        if not request.get("own"):
            # What asks for a plan is looked at as the query that it is about: it runs nothing of it.
            self._admit(connection, sql.removeprefix(_PLANNED))
        if request.get("explain"):
            plan = connection.execute(f"EXPLAIN (FORMAT json) {sql}").fetchall()
            return {"end": True, "columns": [], "types": [], "plan": rows_expected(str(plan[0][1]))}, b"[]"
        head, fetch = _run(connection, sql)
        return stream(fetch, head, request, out, short_cell) or error(0, "InterruptException", "interrupted")

    def _ready(self) -> duckdb.DuckDBPyConnection:
        inode = _inode(self._path)
        if self._opened is None or inode != self._inode:
            if self._opened is not None:
                self._opened.close()
                self._opened = None
            if inode is not None:
                beside = [] if self._folder is None else [self._folder]
                Confinement.enter(self._path, inode=inode, reads=[self._path, f"{self._path}.wal", *beside])
            before = resident_kilobytes()
            self._opened = self._open()
            self._inode = inode
            self.opened_kilobytes = max(0, resident_kilobytes() - before)
        return self._opened

    def _open(self) -> duckdb.DuckDBPyConnection:
        opened = duckdb.connect(self._path, read_only=True, config=_CONFIGURATION)
        folder = self._folder
        if folder is None and opened.execute(_VIEWS_OF_FILES).fetchall():
            # Views over files beside the database, as lakes have them: these alone, by their own relative paths.
            folder = os.path.dirname(os.path.realpath(self._path))  # noqa: PTH120 - pathlib is not needed here
            if Confinement.holds_files:
                opened.close()
                raise Stale(folder)
        if folder is not None:
            opened.close()
            opened = self._open_over(folder)
        # It would print one into the frames: a program without a file counts as a person at a terminal.
        opened.execute("SET enable_progress_bar = false")
        opened.execute("SET TimeZone = 'UTC'")
        opened.execute(f"SET max_execution_time = {int(self._seconds * 1_000)}")
        if self._hides_rows:
            # The least and greatest value of a column decide what is computed at all, and the number of rows which side
            # of a join comes first, and so whether the other one's error occurs: those of hidden rows as well.
            opened.execute("SET disabled_optimizers = 'statistics_propagation,build_side_probe_side'")
        opened.execute("SET lock_configuration = true")
        return opened

    def _open_over(self, folder: str) -> duckdb.DuckDBPyConnection:
        """Open the database so that its views read files of one folder, and nothing reads any other."""
        os.chdir(folder)
        opened = duckdb.connect(self._path, read_only=True, config=_CONFIGURATION | {"enable_external_access": True})
        quoted = folder.replace("'", "''")
        opened.execute(f"SET allowed_directories = ['{quoted}']")
        opened.execute("SET enable_external_access = false")
        return opened

    def _admit(self, connection: duckdb.DuckDBPyConnection, sql: str) -> None:
        statements = connection.extract_statements(sql)
        if len(statements) != 1:
            raise Refused("one statement at a time")
        if statements[0].type == duckdb.StatementType.MULTI:
            # Without its values a PIVOT becomes two statements, the first of which makes a type.
            raise Refused("a PIVOT has to list its values: IN (...)")
        if statements[0].type != duckdb.StatementType.SELECT:
            raise Refused(f"not authorized: {statements[0].type.name} is no query")
        tree = self._parser.tree(sql)
        if tree.get("error"):
            raise Refused(f"not authorized: {tree.get('error_message', 'the statement cannot be read')}")
        nodes = list(_nodes(tree))
        named = {str(key["key"]).casefold() for node in nodes for key in node.get("cte_map", {}).get("map", ())}
        if named and not named.isdisjoint(self._all_names(connection)):
            # A WITH table of a real table's name could hide which of the two is meant.
            raise Refused("not authorized: a WITH table has the name of a table")
        for node in nodes:
            self._admit_node(node, named)

    def _admit_node(self, node: dict[str, Any], named: set[str]) -> None:
        function = node.get("function_name")
        if isinstance(function, str) and _FUNCTIONS_DENIED.match(function.casefold()):
            raise Refused(f"not authorized: the function {function}")
        if node.get("type") == "SHOW_REF" and self._tables is not None:
            raise Refused("not authorized: a list or description of tables")
        if node.get("type") != "BASE_TABLE":
            return
        table = str(node.get("table_name", "")).casefold()
        schema = str(node.get("schema_name") or "").casefold()
        if schema in _SCHEMAS_DENIED or node.get("catalog_name") in ("system", "temp") or _TABLES_DENIED.match(table):
            raise Refused(f"not authorized: the table {table}")
        if self._tables is None or (not schema and table in named):
            return
        if table not in self._tables and f"{schema}.{table}" not in self._tables:
            raise Refused(f"not authorized: the table {table}")

    @staticmethod
    def _all_names(connection: duckdb.DuckDBPyConnection) -> set[str]:
        rows = connection.execute(
            "SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal"
        ).fetchall()
        return {str(name).casefold() for (name,) in rows}


class Parser:
    """DuckDB's own parser in a database of its own without data: nearly half the time of asking the opened one."""

    def __init__(self) -> None:
        self._opened = duckdb.connect(":memory:", config=_CONFIGURATION | {"threads": 1, "memory_limit": "64MB"})
        self._opened.execute("PRAGMA disable_optimizer")
        (self._statement,) = self._opened.extract_statements("SELECT json_serialize_sql($1)")

    def tree(self, sql: str) -> dict[str, Any]:
        """Return the statement's tree; `error` and `error_message` stand in it for what is no query."""
        result = self._opened.execute(self._statement, [sql]).fetchone()
        return json.loads(result[0]) if result else {"error": True}


class Watch:
    """Ends the statement in hand from a thread of its own: DuckDB does not look at Python's signals while it works."""

    connection: duckdb.DuckDBPyConnection | None = None

    @classmethod
    def start(cls) -> None:
        signals = {signal.SIGUSR1, signal.SIGALRM}
        # Blocked before DuckDB starts threads, which inherit it: only the watching thread takes them.
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        threading.Thread(target=cls._watch, args=(signals,), daemon=True).start()

    @classmethod
    def begin(cls, seconds: float) -> None:
        Statement.begin(seconds)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    @classmethod
    def finish(cls) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        cls.connection = None

    @classmethod
    def _watch(cls, signals: set[signal.Signals]) -> None:
        while True:
            signal.sigwait(signals)
            Statement.stopped = True
            connection = cls.connection
            if connection is not None:
                connection.interrupt()


class Zone(ZoneInfo):
    """A time zone with the one method more that DuckDB asks for."""

    def localize(self, moment: datetime) -> datetime:
        return moment.replace(tzinfo=self)


def rows_expected(plan: str) -> int | None:
    """Return the largest estimate of rows in a plan; a product of tables counts as their product.

    >>> rows_expected('[{"name": "SEQ_SCAN", "children": [], "extra_info": {"Estimated Cardinality": "7"}}]')
    7
    """
    try:
        roots = json.loads(plan)
    except ValueError:
        return None
    result = [rows for root in roots if (rows := _expected(root, 0)) is not None]
    return max(result, default=None)


def _expected(node: dict[str, Any], depth: int) -> int | None:
    if depth > EXPLAIN_DEPTH_MAX:
        return None
    below = [rows for child in node.get("children", ()) if (rows := _expected(child, depth + 1)) is not None]
    text = str(node.get("extra_info", {}).get("Estimated Cardinality", ""))
    if text.isdigit():
        return int(text)
    if node.get("name") in ("CROSS_PRODUCT", "POSITIONAL_JOIN") and len(below) == 2:
        return below[0] * below[1]
    return max(below, default=None)


def _run(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[dict[str, Any], Fetch]:
    """Run a statement; return its columns with their types, and what fetches its rows as they are exactly."""
    bound = connection.sql(sql) if _QUERY.match(sql) else None
    types = [] if bound is None else [str(kind) for kind in bound.types]
    exact = exact_statement(sql, types)
    connection.execute(exact or sql)
    fetch = cast("Fetch", connection.fetchmany)
    if exact is not None and bound is not None:
        return {"columns": list(bound.columns), "types": types}, exact_rows(fetch, types)
    described = connection.description or []
    return {"columns": [str(name) for name, *_ in described], "types": [str(kind) for _, kind, *_ in described]}, fetch


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield cast("dict[str, Any]", node)
            pending.extend(cast("dict[str, Any]", node).values())
        elif isinstance(node, list):
            pending.extend(cast("list[Any]", node))


def _inode(path: str) -> tuple[int, int] | None:
    try:
        result = os.stat(path)  # noqa: PTH116 - this runs for every statement
    except OSError:
        return None
    return result.st_dev, result.st_ino


def _failed(raised: Exception) -> Sent:
    if isinstance(raised, Refused):
        return error(0, _NO_QUERY, str(raised))
    if isinstance(raised, duckdb.Error):
        return error(0, type(raised).__name__, str(raised))
    if isinstance(raised, MemoryError):
        return error(0, "OutOfMemoryException", "out of memory")
    return error(0, type(raised).__name__, str(raised))


def main() -> None:
    """Answer requests until standard input ends."""
    # It only reads: not even by a mistake of everything above it does a byte go into a file.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    Watch.start()
    # DuckDB asks this library for time zones; the standard library knows them as well.
    zones = cast("Any", ModuleType("pytz"))
    zones.timezone, zones.utc = Zone, Zone("UTC")
    sys.modules["pytz"] = zones
    serve(
        lambda opened: Database(
            opened["path"],
            opened["tables"],
            opened["seconds"],
            opened.get("folder"),
            hides_rows=opened.get("hides_rows", False),
        ),
        _failed,
        memory_bytes_max=MEMORY_BYTES_MAX,
        tired_kilobytes=TIRED_KILOBYTES,
        begin=Watch.begin,
        finish=Watch.finish,
    )
