"""Oracle through python-oracledb's asynchronous thin client: read-only by role, by transaction, and queries only.

A text is looked at before the server sees it, because Oracle runs DDL when it parses it and lets DDL end a READ ONLY
transaction. Numbers come as decimals, moments with their zone as text of one format, LOBs as their contents. Compiled
and parsed, and every call made against a recorded stand-in: never executed against an Oracle server.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from querybus.core.catalog import Catalog, ColumnKind
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.messages import ResultColumn
from querybus.ops.metrics import Metrics
from querybus_executor.catalog.queries import ORACLE, read_catalog
from querybus_executor.connections.config import ConnectionConfig, PoolLimits
from querybus_executor.connections.trouble import ROLE_MAY_WRITE
from querybus_executor.engines.drivers import driver_module
from querybus_executor.engines.native_errors import native_failure
from querybus_executor.engines.pool import SessionPool
from querybus_executor.engines.server import CONNECT_SECONDS_MAX, RESERVED_CONNECTIONS, Asked, Server, away
from querybus_executor.engines.single_statement import not_one_query
from querybus_executor.ports import Estimate, Rows

ARRAY_ROWS: Final = 1_000
CALL_SLACK_SECONDS: Final = 0.2

_SESSION: Final = (
    "ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS' NLS_TIMESTAMP_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF6'"
    " NLS_TIMESTAMP_TZ_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF6TZH:TZM' NLS_NUMERIC_CHARACTERS = '.,' TIME_ZONE = 'UTC'"
)
_RIGHTS: Final = """
SELECT privilege, '' FROM session_privs UNION ALL
SELECT privilege, owner || '.' || table_name FROM user_tab_privs UNION ALL
SELECT privilege, owner || '.' || table_name FROM role_tab_privs
"""
_HARMLESS: Final = frozenset(
    {"CREATE SESSION", "SELECT", "READ", "SELECT ANY TABLE", "READ ANY TABLE", "SELECT ANY DICTIONARY", "SET CONTAINER"}
)
_KINDS: Final = {
    "DB_TYPE_NUMBER": ColumnKind.NUMBER,
    "DB_TYPE_BINARY_INTEGER": ColumnKind.INTEGER,
    "DB_TYPE_BINARY_DOUBLE": ColumnKind.NUMBER,
    "DB_TYPE_BINARY_FLOAT": ColumnKind.NUMBER,
    "DB_TYPE_VARCHAR": ColumnKind.TEXT,
    "DB_TYPE_NVARCHAR": ColumnKind.TEXT,
    "DB_TYPE_CHAR": ColumnKind.TEXT,
    "DB_TYPE_NCHAR": ColumnKind.TEXT,
    "DB_TYPE_LONG": ColumnKind.TEXT,
    "DB_TYPE_CLOB": ColumnKind.TEXT,
    "DB_TYPE_NCLOB": ColumnKind.TEXT,
    "DB_TYPE_ROWID": ColumnKind.TEXT,
    "DB_TYPE_RAW": ColumnKind.BYTES,
    "DB_TYPE_LONG_RAW": ColumnKind.BYTES,
    "DB_TYPE_BLOB": ColumnKind.BYTES,
    "DB_TYPE_BOOLEAN": ColumnKind.BOOLEAN,
    "DB_TYPE_JSON": ColumnKind.JSON,
    "DB_TYPE_DATE": ColumnKind.DATETIME,
    "DB_TYPE_TIMESTAMP": ColumnKind.DATETIME,
    "DB_TYPE_TIMESTAMP_TZ": ColumnKind.DATETIME,
    "DB_TYPE_TIMESTAMP_LTZ": ColumnKind.DATETIME,
}
_AS_TEXT: Final = frozenset({"DB_TYPE_TIMESTAMP_TZ", "DB_TYPE_TIMESTAMP_LTZ"})
_QUOTED: Final = r'"?(?:(?P<qualifier>[\w$#]+)"?\."?)?(?P<name>[\w$#]+)"?'
_RULES: Final = (
    ("ORA-00942", r"table or view (?:\"?[\w$#]+\"?\.)?\"?(?P<name>[\w$#]+)\"? does not", FailureCode.TABLE_NOT_FOUND),
    ("ORA-00942|ORA-04043", r"", FailureCode.TABLE_NOT_FOUND),
    ("ORA-00904", _QUOTED + r": invalid identifier", FailureCode.COLUMN_NOT_FOUND),
    ("ORA-00904", r"", FailureCode.COLUMN_NOT_FOUND),
    ("ORA-00918|ORA-00960", r"(?:ORA-\d+: )(?:" + _QUOTED + r": column ambiguously)?", FailureCode.AMBIGUOUS_COLUMN),
    ("ORA-00979|ORA-00937", r"", FailureCode.GROUPING_ERROR),
    ("ORA-00934|ORA-30483|ORA-00935", r"", FailureCode.AGGREGATE_MISUSE),
    ("ORA-00905|ORA-25154|ORA-25155|ORA-25156", r"", FailureCode.JOIN_ERROR),
    ("ORA-06550|ORA-06553|ORA-00909|ORA-06576", r"", FailureCode.FUNCTION_NOT_FOUND),
    ("ORA-01722|ORA-00932|ORA-018[0-9]{2}|ORA-06502|ORA-61800", r"", FailureCode.TYPE_MISMATCH),
    ("ORA-01476", r"", FailureCode.DIVISION_BY_ZERO),
    ("ORA-01426|ORA-01438", r"", FailureCode.NUMBER_TOO_LARGE),
    ("ORA-01427", r"", FailureCode.CARDINALITY),
    ("ORA-01031|ORA-01456|ORA-01039|ORA-41900", r"", FailureCode.PERMISSION),
    ("ORA-01013|ORA-00040|DPY-4024|ORA-03156", r"", FailureCode.TIMEOUT),
    ("ORA-04030|ORA-01652|ORA-04036|ORA-00036|ORA-02393|ORA-02395|ORA-01555", r"", FailureCode.RESOURCE_LIMIT),
    ("ORA-00054|ORA-08177|ORA-00060|ORA-08176", r"", FailureCode.LOCK),
    (
        "ORA-03113|ORA-03114|ORA-12[0-9]{3}|ORA-01017|ORA-28000|ORA-28001|ORA-01033|ORA-01034|ORA-01089|ORA-00028"
        "|DPY-4011|DPY-6[0-9]{3}|DPY-1001|DPY-3015|DPY-4005",
        r"",
        FailureCode.CONNECTION,
    ),
    (
        "ORA-009[0-3][0-9]|ORA-03048|ORA-03049|ORA-01756|ORA-01789|ORA-01790|ORA-01747|ORA-02000",
        r"",
        FailureCode.SYNTAX_ERROR,
    ),
)


def oracle_server(config: ConnectionConfig, *, bytes_max: int, metrics: Metrics, module: Any = None) -> Server:
    """Return the edge of an Oracle connection; nothing is connected yet. `module`: the driver, for tests."""
    driver = module or driver_module("oracledb", "oracle")

    async def opening() -> Any:
        session = await _connect(driver, config)
        metrics.database_opened(config.name)
        return session

    async def closing(session: Any) -> None:
        await session.close()

    limits = (config.pool, PoolLimits(size=RESERVED_CONNECTIONS, overflow=0))
    pools = [SessionPool(opening, closing, limit) for limit in limits]
    return Server(config.name, Oracle(driver), pools[0], pools[1], bytes_max=bytes_max, metrics=metrics)


async def read_oracle(config: ConnectionConfig, server: Server) -> Catalog | Failure:
    """Return the catalog, unless the database is away or its user may write without being allowed to."""
    rights = await server.own(_RIGHTS, 100_000, CONNECT_SECONDS_MAX)
    if isinstance(rights, Failure):
        return Failure.of(FailureCode.CONNECTION, rights.detail, rights.facts)
    beyond = sorted({(str(row[0]), str(row[1] or "")) for row in rights.rows if str(row[0]) not in _HARMLESS})
    beyond = [item for item in beyond if item[0] != "EXECUTE"]
    if beyond and not config.role_may_write:
        right, place = beyond[0]
        detail = f"the user may {right}{f' on {place}' if place else ''}: use one that may only READ"
        return Failure.of(
            FailureCode.CONNECTION, f"{detail} (docs/connections.md), or set role_may_write", Facts(rule=ROLE_MAY_WRITE)
        )
    schema = await server.own("SELECT SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') FROM dual", 1, CONNECT_SECONDS_MAX)
    default = None if isinstance(schema, Failure) else str(schema.rows[0][0])
    return await read_catalog(config, server.own, ORACLE, default_schema=default)


class Oracle:
    """The driver of oracledb's asynchronous connections."""

    def __init__(self, module: Any) -> None:
        self._module = module

    async def begin(self, session: Any, seconds: float) -> None:
        """Limit each round trip and open the READ ONLY transaction, which has to be its first statement."""
        session.call_timeout = max(1, int((seconds + CALL_SLACK_SECONDS) * 1_000))
        await session.execute("SET TRANSACTION READ ONLY")

    async def run(self, session: Any, asked: Asked) -> Rows | Failure:
        """Stream the rows of one query."""
        refused = None if asked.own else not_one_query(asked.sql, "oracle")
        if refused is not None:
            return refused
        with session.cursor() as cursor:
            cursor.outputtypehandler = partial(_output_type, self._module)
            cursor.arraysize = cursor.prefetchrows = min(ARRAY_ROWS, asked.into.wanted)
            await cursor.execute(_bare(asked.sql), fetch_lobs=False, fetch_decimals=True)
            if cursor.description is None:
                return Failure.of(
                    FailureCode.PERMISSION, "the statement returns no rows", Facts(native_code="ORA-01456")
                )
            columns = tuple(_column(column) for column in cursor.description)
            while True:
                size = min(ARRAY_ROWS, asked.into.batch_rows)
                rows = await cursor.fetchmany(size)
                if not await asked.into.take(columns, rows) or len(rows) < size:
                    return await asked.into.rows()

    async def explain(self, session: Any, sql: str) -> Estimate | Failure:
        """Return the optimizer's rows and cost. Its plan table is written to, in a transaction that is rolled back."""
        refused = not_one_query(sql, "oracle")
        if refused is not None:
            return refused
        # A plan cannot be kept under READ ONLY; the text was looked at, and EXPLAIN PLAN runs nothing of it.
        await session.rollback()
        await session.execute(f"EXPLAIN PLAN SET STATEMENT_ID = 'querybus' FOR {_bare(sql)}")
        rows = await session.fetchall(
            "SELECT cardinality, cost FROM plan_table WHERE statement_id = 'querybus' AND id = 0"
        )
        await session.rollback()
        rows_expected, cost = rows[0] if rows else (None, None)
        return Estimate(
            rows=None if rows_expected is None else int(rows_expected), cost=None if cost is None else float(cost)
        )

    async def stop(self, session: Any) -> None:
        """Break the call in hand on the server."""
        session.cancel()

    async def reset(self, session: Any) -> None:
        """End the transaction; without a right to write nothing else can be left behind."""
        session.call_timeout = int(CONNECT_SECONDS_MAX * 1_000)
        await session.rollback()

    def failure(self, error: BaseException, sql: str) -> Failure | None:  # noqa: ARG002 - the port's signature
        """Return what an error of oracledb or of the network means."""
        if isinstance(error, self._module.Error):
            said = error.args[0] if error.args else None
            code = str(getattr(said, "full_code", "") or "")
            text = str(getattr(said, "message", said) or "").partition("\nHelp:")[0]
            return native_failure(_RULES, code, text)
        if isinstance(error, OSError):
            return away(error)
        return None


async def _connect(module: Any, config: ConnectionConfig) -> Any:
    url = config.parsed_url
    more = {name: str(url.query[name]) for name in ("protocol", "wallet_location", "config_dir") if name in url.query}
    session = await module.connect_async(
        user=url.username,
        password=url.password,
        host=url.host,
        port=url.port or 1521,
        service_name=url.database,
        tcp_connect_timeout=CONNECT_SECONDS_MAX,
        program="querybus",
        **more,
    )
    await session.execute(_SESSION)
    return session


def _output_type(module: Any, cursor: Any, metadata: Any) -> Any:
    """Ask for moments with a zone as text: the client would drop the zone."""
    if metadata.type_code.name in _AS_TEXT:
        return cursor.var(module.DB_TYPE_VARCHAR, 64, arraysize=cursor.arraysize)
    return None


def _column(described: Any) -> ResultColumn:
    name, type_name = str(described[0]), str(described[1].name)
    kind = _KINDS.get(type_name, ColumnKind.OTHER)
    precision, scale = described[4], described[5]
    if kind is ColumnKind.NUMBER and type_name == "DB_TYPE_NUMBER" and precision and scale == 0:
        kind = ColumnKind.INTEGER
    return ResultColumn(name=name, kind=kind, type=type_name.removeprefix("DB_TYPE_"))


def _bare(sql: str) -> str:
    """Return the statement without the semicolon that Oracle would not take."""
    return sql.rstrip().removesuffix(";")
