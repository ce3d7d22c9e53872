"""ClickHouse through clickhouse-connect over HTTP: one query per request, read-only by setting, by parser and by user.

The server's own parser says first what a text is: one query, nothing beside it (no FORMAT, INTO OUTFILE or SETTINGS),
no table function but the harmless ones, none of the functions that read files, dictionaries or settings. Limits and
`readonly=1` travel with each request; no session is kept on the server. The client is synchronous and runs in threads
of its connection's own. Executed against chdb, which has no users, no grants and no network of its own.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from querybus.bus.stores.pages import batch_of_cells
from querybus.core.catalog import Catalog, ColumnKind
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.messages import ResultColumn
from querybus.ops.metrics import Metrics
from querybus_executor.catalog.column_kinds import kind_of_type
from querybus_executor.catalog.queries import CLICKHOUSE, read_catalog
from querybus_executor.connections.config import ConnectionConfig, PoolLimits
from querybus_executor.connections.writing_role import WritingRole
from querybus_executor.engines.drivers import driver_module
from querybus_executor.engines.native_errors import native_failure
from querybus_executor.engines.pool import SessionPool, Threads
from querybus_executor.engines.server import CONNECT_SECONDS_MAX, RESERVED_CONNECTIONS, Asked, Server, away
from querybus_executor.engines.single_statement import not_one_query
from querybus_executor.ports import Estimate, Rows
from querybus_executor.results.receive import CELL_CHARACTERS_MAX

# It would log statements and what a server says of them.
logging.getLogger("clickhouse_connect").setLevel(logging.CRITICAL)

BLOCK_ROWS: Final = 8_192
MEMORY_BYTES_MAX: Final = 2 << 30

_LIMITS: Final = {
    "max_block_size": BLOCK_ROWS,
    "max_memory_usage": MEMORY_BYTES_MAX,
    "max_temporary_data_on_disk_size_for_query": 1 << 30,
    "max_ast_depth": 1_000,
    "max_expanded_ast_elements": 50_000,
    "max_query_size": 100_000,
    "timeout_overflow_mode": "throw",
    "allow_ddl": 0,
    "allow_introspection_functions": 0,
    "cancel_http_readonly_queries_on_client_close": 1,
    "max_http_get_redirects": 0,
    "output_format_json_quote_denormals": 1,
}
_WITHOUT_CACHE: Final = {"use_query_condition_cache": 0}
"""Where the server has such a cache: with it, what a join skipped is missing from a later count (seen with 26.9)."""
_TABLE_FUNCTIONS: Final = frozenset(
    {"numbers", "numbers_mt", "zeros", "zeros_mt", "generateseries", "generate_series", "values", "null"}
)
_FUNCTIONS_DENIED: Final = re.compile(
    r"(file|sleep\w*|getsetting\w*|getmacro|getserver\w+|hostname|fqdn|serveruuid|tcpport|dict\w+|joinget\w*|catboost\w*"
    r"|addressto\w+|demangle|currentprofiles|currentroles|enabled\w+|defaultprofiles|defaultroles|showcertificate"
    r"|getclienthttpheader|filesystem\w+|zookeeper\w*|transaction\w+|queryid|initialqueryid|trap|structuretocapnp\w*"
    r"|structuretoprotobuf\w*|ai\w*|llm\w*|embed\w*)",
    re.IGNORECASE,
)
_SCHEMAS_DENIED: Final = frozenset({"system", "information_schema"})
_DESCRIPTION: Final = re.compile(
    r"DescribeQuery \(children 1\)\n TableExpression \(children 1\)\n  TableIdentifier [^\n]+"
)
"""A table by its name, without settings, format, functions or sub-query."""
_NODE: Final = re.compile(r"(?P<indent> *)(?P<kind>\w+)(?: (?P<name>[^\s(]+))?")
_HARMLESS: Final = re.compile(r"(SELECT|SHOW\b.*|DICTGET|USAGE|CHECK|TABLE ENGINE|READ\b.*)$", re.IGNORECASE)
_GRANT: Final = re.compile(r"GRANT (?P<rights>.+?) ON (?P<place>.+?) TO ", re.IGNORECASE)
_CODE: Final = re.compile(r"Code: (\d+)")
_NAMED: Final = r"[`'‘](?P<name>[^`'’]+)[`'’]"

_RULES: Final = (
    ("62|558", r"", FailureCode.SYNTAX_ERROR),
    ("60", r"(?:Table|table) (?P<name>[\w.`]+?) (?:does not|doesn't)", FailureCode.TABLE_NOT_FOUND),
    ("60", r"identifier " + _NAMED, FailureCode.TABLE_NOT_FOUND),
    ("60|81", r"", FailureCode.TABLE_NOT_FOUND),
    (
        "47",
        r"identifier [`'](?P<qualifier>\w+)\.(?P<name>\w+)[`'].*(?:from table expression|alias)",
        FailureCode.MISSING_ALIAS,
    ),
    ("47", r"JOIN|USING", FailureCode.JOIN_ERROR),
    ("47", r"identifier " + _NAMED, FailureCode.COLUMN_NOT_FOUND),
    ("47|16|10", r"", FailureCode.COLUMN_NOT_FOUND),
    (
        "207|179|36",
        r"(?:ambiguous|multiple|different expressions)[^`']*(?:" + _NAMED + ")?",
        FailureCode.AMBIGUOUS_COLUMN,
    ),
    ("48|403", r"", FailureCode.JOIN_ERROR),
    ("215", r"", FailureCode.GROUPING_ERROR),
    ("184", r"", FailureCode.AGGREGATE_MISUSE),
    ("46", r"(?:function|with name) " + _NAMED, FailureCode.FUNCTION_NOT_FOUND),
    ("42|46|35", r"function (?P<name>\w+)", FailureCode.FUNCTION_NOT_FOUND),
    ("42|46|35|34", r"", FailureCode.FUNCTION_NOT_FOUND),
    ("53|43|6|38|41|27|70|69|72|321|386", r"", FailureCode.TYPE_MISMATCH),
    ("153", r"", FailureCode.DIVISION_BY_ZERO),
    ("407", r"", FailureCode.NUMBER_TOO_LARGE),
    ("125", r"", FailureCode.CARDINALITY),
    ("164|497|291|452|344|392|723|46[0-9]", r"", FailureCode.PERMISSION),
    ("159|394|160", r"", FailureCode.TIMEOUT),
    ("241|396|158|306|131|307|161|167|168|173|191|243", r"", FailureCode.RESOURCE_LIMIT),
    ("473", r"", FailureCode.LOCK),
    ("209|210|279|516|192|193|194|202|203", r"", FailureCode.CONNECTION),
)


@dataclass(slots=True)
class Channel:
    """One client, and what its next request says of itself."""

    client: Any
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    query_id: str = ""


def clickhouse_server(config: ConnectionConfig, *, bytes_max: int, metrics: Metrics) -> Server:
    """Return the edge of a ClickHouse connection; nothing is connected yet."""
    threads = Threads(config.pool, RESERVED_CONNECTIONS)
    module = driver_module("clickhouse_connect", "clickhouse")

    async def opening() -> Channel:
        channel = Channel(await threads.run(partial(_client, module, config)))
        metrics.database_opened(config.name)
        return channel

    async def closing(channel: Channel) -> None:
        await threads.run(channel.client.close)

    limits = (config.pool, PoolLimits(size=RESERVED_CONNECTIONS, overflow=0))
    pools = [SessionPool(opening, closing, limit) for limit in limits]
    driver = Clickhouse(threads, bytes_max, config.policy.tables_allowed, str(config.parsed_url.database))
    return Server(config.name, driver, pools[0], pools[1], bytes_max=bytes_max, metrics=metrics, closing=threads.close)


async def read_clickhouse(
    config: ConnectionConfig, server: Server, role: WritingRole | None = None
) -> Catalog | Failure:
    """Return the catalog, unless the database is away or its user may write without being allowed to."""
    grants = await server.own("SHOW GRANTS", 1_000, CONNECT_SECONDS_MAX)
    if isinstance(grants, Failure):
        return Failure.of(FailureCode.CONNECTION, grants.detail, grants.facts)
    excess = overprivileged([str(row[0]) for row in grants.rows])
    refused = (role or WritingRole(config)).judge(None if excess is None else f"the user {excess}")
    if refused is not None:
        return refused
    schema = config.parsed_url.database
    return await read_catalog(config, server.own, CLICKHOUSE, default_schema=schema)


def overprivileged(grants: Sequence[str]) -> str | None:
    """Return in words what the grants allow beyond reading, or None.

    >>> overprivileged(["GRANT SELECT(a), SHOW TABLES ON shop.* TO r"]), overprivileged(["GRANT SELECT, INSERT ON s.* TO r"])
    (None, 'may INSERT on s.*')
    """
    for grant in grants:
        match = _GRANT.match(grant)
        if match is None:
            continue
        for right in re.sub(r"\([^)]*\)", "", match["rights"]).split(","):
            if _HARMLESS.match(right.strip()) is None:
                return f"may {right.strip()} on {match['place']}"
    return None


class Clickhouse:
    """The driver of clickhouse-connect's clients."""

    def __init__(self, threads: Threads, bytes_max: int, tables: Sequence[str] | None, schema: str) -> None:
        self._threads = threads
        self._bytes_max = bytes_max
        self._tables = None if tables is None else frozenset(table.casefold() for table in tables)
        self._schema = schema

    async def begin(self, session: Channel, seconds: float) -> None:
        """Make up what the next request says: its limits, a name of its own, and that it only reads."""
        session.query_id = f"querybus-{uuid.uuid4()}"
        known = session.client.server_settings
        session.settings = {
            **_LIMITS,
            **{name: value for name, value in _WITHOUT_CACHE.items() if name in known},
            "max_execution_time": round(max(0.01, seconds), 3),
            "max_result_bytes": 4 * self._bytes_max,
            "readonly": 1,
        }

    async def run(self, session: Channel, asked: Asked) -> Rows | Failure:
        """Stream the blocks of one statement; arrays, maps and tuples as JSON text that the server writes."""
        sql, columns = asked.sql, ()
        if not asked.own:
            refused = await self._refused(session, sql)
            if refused is not None:
                return refused
            columns = await self._described(session, sql)
            sql = _bounded(sql, columns)
        stream = await self._threads.run(partial(_opened, session, sql))
        try:
            columns = columns or _columns(stream.source)
            asked.into.describe(columns)
            blocks: Iterator[list[Sequence[Any]]] = iter(stream.gen)
            while (cells := await self._threads.run(_next_cells, blocks)) is not None:
                rows = len(cells[0]) if cells else 0
                batch = None
                if asked.into.row_count + rows <= asked.into.first_rows:
                    more = await asked.into.take(columns, list(zip(*cells, strict=True)))
                else:
                    cells = [asked.into.cut_cells(values) for values in cells]
                    batch = await self._threads.run(batch_of_cells, columns, cells, rows)
                    more = await asked.into.take_batch(columns, batch)
                if not more:
                    break
        finally:
            # Closing the response ends the query on the server, where it still runs.
            await self._threads.run(stream.source.close)
        return await asked.into.rows()

    async def explain(self, session: Channel, sql: str) -> Estimate | Failure:
        """Return how many rows the tables' parts give it to read; the result's rows are not known before."""
        refused = await self._refused(session, sql)
        if refused is not None:
            return refused
        result = await self._lines(session, f"EXPLAIN ESTIMATE {sql}")
        read = sum(int(text.split("\t")[3]) for text in result)
        return Estimate(rows=None, cost=float(read))

    async def stop(self, session: Channel) -> None:
        """End the query on the server, by the name that was given to it."""
        # The name is made here: letters, digits and dashes.
        kill = f"KILL QUERY WHERE query_id = '{session.query_id}' ASYNC"
        await self._threads.run(session.client.command, kill)

    async def reset(self, session: Channel) -> None:
        """Forget the request: nothing of it is left on the server."""
        session.settings, session.query_id = {}, ""

    def failure(self, error: BaseException, sql: str) -> Failure | None:  # noqa: ARG002 - other engines look names up in the statement
        """Return what an error of the client, the server or the network means."""
        errors = driver_module("clickhouse_connect.driver.exceptions", "clickhouse")
        text = str(error)
        code = _CODE.search(text)
        if isinstance(error, errors.ClickHouseError) and code is not None:
            said = text[code.end() :].lstrip(". ").removeprefix("DB::Exception: ")
            return native_failure(_RULES, code[1], re.split(r"\s*\(version |\n\s*\(for url", said)[0])
        if isinstance(error, errors.OperationalError | OSError):
            return away(error)
        return None

    async def _refused(self, session: Channel, sql: str) -> Failure | None:
        refused = not_one_query(sql, "clickhouse", describes=True)
        if refused is not None:
            return refused
        tree = await self._lines(session, f"EXPLAIN AST {sql}")
        trouble = admitted(tree, self._tables, self._schema)
        if trouble is None:
            return None
        return Failure.of(FailureCode.PERMISSION, f"not authorized: {trouble}", Facts(native_code="164"))

    async def _described(self, session: Channel, sql: str) -> tuple[ResultColumn, ...]:
        """Return a query's columns, or none for what only describes a table: its columns are texts."""
        if _DESCRIBES.match(sql):
            return ()
        lines = await self._lines(session, f"DESCRIBE TABLE ({_inner(sql)})")
        pairs = (line.split("\t")[:2] for line in lines)
        return tuple(
            ResultColumn(name=_unescaped(name), kind=_kind(type_text), type=type_text) for name, type_text in pairs
        )

    async def _lines(self, session: Channel, sql: str) -> list[str]:
        """Return the lines of an EXPLAIN; a format asked for would become part of what is explained."""
        ask = partial(session.client.raw_query, sql, settings=session.settings, fmt=None)
        return (await self._threads.run(ask)).decode("utf-8", "replace").splitlines()


def admitted(tree: Sequence[str], tables: frozenset[str] | None, schema: str) -> str | None:
    r"""Return what speaks against a statement, by ClickHouse's own tree of it, or None.

    >>> admitted(["SelectWithUnionQuery (children 1)", "  Function sum (children 1)"], None, "shop")
    >>> admitted(["InsertQuery (children 3)"], None, "shop")
    'it is no query'
    >>> admitted(["DescribeQuery (children 1)", " TableExpression (children 1)", "  TableIdentifier t"], None, "shop")
    """
    is_description = len(tree) == 3 and _DESCRIPTION.fullmatch("\n".join(tree)) is not None
    if not is_description and (not tree or tree[0].strip() != "SelectWithUnionQuery (children 1)"):
        is_query = bool(tree) and tree[0].startswith("SelectWithUnionQuery")
        return "FORMAT, SETTINGS or INTO OUTFILE" if is_query else "it is no query"
    parents: list[tuple[int, str]] = []
    sets = _second_arguments_of_in(tree)
    for number, line in enumerate(tree):
        match = _NODE.match(line)
        if match is None:
            return "it cannot be read"
        indent, kind, name = len(match["indent"]), match["kind"], (match["name"] or "").strip("`\"'\\")
        while parents and parents[-1][0] >= indent:
            parents.pop()
        parent = parents[-1][1] if parents else ""
        parents.append((indent, kind))
        if number in sets and kind in ("Identifier", "TableIdentifier"):
            # The server reads a name there as a table.
            kind = "TableIdentifier"
        if kind == "ColumnsApplyTransformer":
            return "APPLY, whose function the tree does not name"
        trouble = _trouble(kind, name, parent, tables, schema)
        if trouble is not None:
            return trouble
    return None


_IN: Final = re.compile(r"(global)?(not)?(null)?in(ignoreset)?", re.IGNORECASE)


def _second_arguments_of_in(tree: Sequence[str]) -> set[int]:
    """Return the numbers of the lines that stand as the second argument of IN and its kin.

    >>> _second_arguments_of_in(["Function in (children 1)", " ExpressionList (children 2)", "  Literal", "  Identifier t"])
    {3}
    """
    numbers: set[int] = set()
    for number, line in enumerate(tree):
        match = _NODE.match(line)
        if match is None or match["kind"] != "Function" or _IN.fullmatch(match["name"] or "") is None:
            continue
        inner = len(match["indent"]) + 2
        arguments = 0
        for below in range(number + 1, len(tree)):
            indent = len(tree[below]) - len(tree[below].lstrip(" "))
            if indent < inner - 1:
                break
            if indent == inner:
                arguments += 1
                if arguments == 2:
                    numbers.add(below)
                    break
    return numbers


def _trouble(kind: str, name: str, parent: str, tables: frozenset[str] | None, schema: str) -> str | None:
    folded = name.casefold()
    if kind == "WithElement":
        # The tree does not say the name of a WITH table, so with a list of tables there may be none.
        return None if tables is None else "a WITH table, where only some tables may be read"
    if kind == "Set":
        return "SETTINGS"
    if kind == "Function":
        if parent == "TableExpression":
            return None if folded in _TABLE_FUNCTIONS else f"the table function {name}"
        return f"the function {name}" if _FUNCTIONS_DENIED.fullmatch(folded) else None
    if kind == "TableIdentifier":
        place, _, bare = folded.rpartition(".")
        if place in _SCHEMAS_DENIED:
            return f"the table {name}"
        if tables is None or bare in tables or f"{place or schema.casefold()}.{bare}" in tables:
            return None
        return f"the table {name}"
    return None


def _client(module: Any, config: ConnectionConfig) -> Any:
    url = config.parsed_url
    secure = str(url.query.get("secure", "false")).lower() in ("true", "1")
    return module.get_client(
        host=url.host,
        port=url.port or (8443 if secure else 8123),
        username=url.username,
        password=url.password or "",
        database=url.database,
        secure=secure,
        verify=str(url.query.get("verify", "true")).lower() not in ("false", "0"),
        connect_timeout=CONNECT_SECONDS_MAX,
        autogenerate_session_id=False,
        query_limit=0,
        client_name="querybus",
        compress=False,
    )


def _opened(session: Channel, sql: str) -> Any:
    settings = {**session.settings, "query_id": session.query_id}
    return session.client.query_column_block_stream(sql, settings=settings, tz_mode="schema")


def _columns(source: Any) -> tuple[ResultColumn, ...]:
    return tuple(
        ResultColumn(name=name, kind=_kind(column_type_.name), type=column_type_.name)
        for name, column_type_ in zip(source.column_names, source.column_types, strict=True)
    )


def _kind(type_text: str) -> ColumnKind:
    """Return the kind of a ClickHouse type, whatever it is wrapped in.

    >>> _kind("LowCardinality(Nullable(String))").value, _kind("Nullable(UInt8)").value, _kind("Array(String)").value
    ('text', 'integer', 'json')
    """
    inner = type_text
    while (
        match := re.fullmatch(r"(?:Nullable|LowCardinality|SimpleAggregateFunction)\((?:\w+, )?(.*)\)", inner)
    ) is not None:
        inner = match[1]
    if re.match(r"(Array|Map|Tuple|Nested|JSON|Object|Variant|Dynamic)", inner):
        return ColumnKind.JSON
    if re.match(r"(FixedString|String|Enum|UUID|IPv)", inner):
        return ColumnKind.TEXT
    return kind_of_type(inner)


def _next_cells(blocks: Iterator[list[Sequence[Any]]]) -> list[Sequence[Any]] | None:
    """Return the next block's values by column."""
    return next(blocks, None)


_DESCRIBES: Final = re.compile(r"\s*DESC", re.IGNORECASE)
_STRING: Final = re.compile(r"\bString\b")


def _bounded(sql: str, columns: Sequence[ResultColumn]) -> str:
    """Return the query with texts of bounded length, and with JSON text in place of arrays, maps and tuples.

    The client would build an object for every element of a cell, while every other statement of the process waits.

    >>> _bounded("SELECT 1 AS n", [ResultColumn(name="n", kind=ColumnKind.INTEGER)])
    'SELECT 1 AS n'
    """
    shown = {
        name: f"toJSONString({name})" if column.kind is ColumnKind.JSON else name
        for column in columns
        if column.kind is ColumnKind.JSON or (column.kind is ColumnKind.TEXT and _STRING.search(column.type or ""))
        for name in (_quoted(column.name),)
    }
    if not shown:
        return sql
    cut = [f"substringUTF8({text}, 1, {CELL_CHARACTERS_MAX + 1}) AS {name}" for name, text in shown.items()]
    return f"SELECT * REPLACE ({', '.join(cut)}) FROM ({_inner(sql)})"  # noqa: S608 - the approved statement, inside of ours


def _inner(sql: str) -> str:
    """Return the statement as it stands inside parentheses: a comment at its end must not hide what follows."""
    return f"{sql.rstrip().removesuffix(';')}\n"


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"


def _unescaped(text: str) -> str:
    """Return a name as it is; the list of columns escapes it.

    >>> _unescaped(r"a\'b")
    "a'b"
    """
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), text)
