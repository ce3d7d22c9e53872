"""BigQuery through google-cloud-bigquery, in threads: a dry run decides first, then a job with a cap on what it bills.

The dry run says what kind of statement a text is and how many bytes it would read; only a SELECT within the cap runs.
The role can only read (`dataViewer`, `jobUser`). Compiled and parsed, and the real client's calls made against a
recorded stand-in of the REST interface: never executed against BigQuery.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from querybus.core.catalog import Catalog, ColumnKind
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.messages import ResultColumn
from querybus.ops.metrics import Metrics
from querybus_executor.catalog.queries import BIGQUERY, read_catalog
from querybus_executor.connections.config import ConnectionConfig, PoolLimits
from querybus_executor.connections.trouble import ROLE_MAY_WRITE
from querybus_executor.engines.drivers import driver_module
from querybus_executor.engines.native_errors import native_failure
from querybus_executor.engines.pool import SessionPool, Threads
from querybus_executor.engines.server import RESERVED_CONNECTIONS, Asked, Server, away
from querybus_executor.ports import Estimate, Rows

BYTES_BILLED_MAX: Final = 10 << 30
PAGE_ROWS: Final = 10_000
CALL_SECONDS_MAX: Final = 10.0
_WRITING: Final = ("bigquery.tables.updateData", "bigquery.tables.update", "bigquery.tables.delete")
_KINDS: Final = {
    "INTEGER": ColumnKind.INTEGER,
    "INT64": ColumnKind.INTEGER,
    "FLOAT": ColumnKind.NUMBER,
    "FLOAT64": ColumnKind.NUMBER,
    "NUMERIC": ColumnKind.NUMBER,
    "BIGNUMERIC": ColumnKind.NUMBER,
    "BOOLEAN": ColumnKind.BOOLEAN,
    "BOOL": ColumnKind.BOOLEAN,
    "STRING": ColumnKind.TEXT,
    "BYTES": ColumnKind.BYTES,
    "DATE": ColumnKind.DATE,
    "TIME": ColumnKind.TIME,
    "DATETIME": ColumnKind.DATETIME,
    "TIMESTAMP": ColumnKind.DATETIME,
    "JSON": ColumnKind.JSON,
    "RECORD": ColumnKind.JSON,
    "STRUCT": ColumnKind.JSON,
}
_NAMED: Final = r"name:?\s*`?(?:(?P<qualifier>\w+)\.)?(?P<name>\w+)`?"
_RULES: Final = (
    ("notFound", r"Table\s+(?P<name>[\w.:-]+)", FailureCode.TABLE_NOT_FOUND),
    ("notFound", r"", FailureCode.TABLE_NOT_FOUND),
    ("invalidQuery|invalid", r"Unrecognized " + _NAMED, FailureCode.COLUMN_NOT_FOUND),
    ("invalidQuery|invalid", r"Name (?P<name>\w+) not found inside (?P<qualifier>\w+)", FailureCode.COLUMN_NOT_FOUND),
    ("invalidQuery|invalid", r"Column name (?P<name>\w+) is ambiguous", FailureCode.AMBIGUOUS_COLUMN),
    ("invalidQuery|invalid", r"ambiguous", FailureCode.AMBIGUOUS_COLUMN),
    ("invalidQuery|invalid", r"neither grouped nor aggregated|in the GROUP BY", FailureCode.GROUPING_ERROR),
    ("invalidQuery|invalid", r"Aggregate function .*not allowed|Aggregations of aggregations", FailureCode.AGGREGATE_MISUSE),
    ("invalidQuery|invalid", r"Function not found: `?(?P<name>[\w.]+)", FailureCode.FUNCTION_NOT_FOUND),
    ("invalidQuery|invalid", r"No matching signature for function (?P<name>\w+)", FailureCode.TYPE_MISMATCH),
    ("invalidQuery|invalid", r"No matching signature|Bad \w+ value|Invalid cast|Could not cast|type mismatch", FailureCode.TYPE_MISMATCH),
    ("invalidQuery|invalid", r"division by zero", FailureCode.DIVISION_BY_ZERO),
    ("invalidQuery|invalid", r"(?:int64|numeric|floating point|double)[^.]*overflow|overflow: ", FailureCode.NUMBER_TOO_LARGE),
    ("invalidQuery|invalid", r"more than one element|more than one row", FailureCode.CARDINALITY),
    ("invalidQuery|invalid", r"JOIN|USING", FailureCode.JOIN_ERROR),
    ("bytesBilledLimitExceeded|quotaExceeded|resourcesExceeded|rateLimitExceeded|responseTooLarge|billingTierLimitExceeded", r"", FailureCode.RESOURCE_LIMIT),
    ("accessDenied|billingNotEnabled|forbidden", r"", FailureCode.PERMISSION),
    ("jobTimeout|stopped|timeout", r"", FailureCode.TIMEOUT),
    ("backendError|internalError|tableUnavailable|jobBackendError|jobInternalError|authError|5\\d\\d|401", r"", FailureCode.CONNECTION),
    ("invalidQuery|invalid", r"", FailureCode.SYNTAX_ERROR),
)  # fmt: skip


@dataclass(slots=True)
class Caller:
    """One client, and the job that it waits for."""

    client: Any
    job_id: str = ""
    seconds: float = 0.0


def bigquery_server(config: ConnectionConfig, *, bytes_max: int, metrics: Metrics) -> Server:
    """Return the edge of a BigQuery connection; nothing is connected yet."""
    threads = Threads(config.pool, RESERVED_CONNECTIONS)
    module = driver_module("google.cloud.bigquery", "bigquery")

    async def opening() -> Caller:
        caller = Caller(await threads.run(partial(_client, module, config)))
        metrics.database_opened(config.name)
        return caller

    async def closing(caller: Caller) -> None:
        await threads.run(caller.client.close)

    limits = (config.pool, PoolLimits(size=RESERVED_CONNECTIONS, overflow=0))
    pools = [SessionPool(opening, closing, limit) for limit in limits]
    billed = int(str(config.parsed_url.query.get("bytes_billed_max", BYTES_BILLED_MAX)))
    driver = Bigquery(module, threads, config, billed)
    return Server(config.name, driver, pools[0], pools[1], bytes_max=bytes_max, metrics=metrics, closing=threads.close)


async def read_bigquery(config: ConnectionConfig, server: Server) -> Catalog | Failure:
    """Return the catalog, unless the project is away or the account may write without being allowed to."""
    schema = config.parsed_url.database
    catalog = await read_catalog(config, server.own, BIGQUERY, default_schema=schema)
    if isinstance(catalog, Failure) or config.role_may_write or not catalog.tables:
        return catalog
    driver = server.driver
    assert isinstance(driver, Bigquery)  # noqa: S101 - made with it
    allowed = await driver.permissions(catalog.tables[0].name)
    if allowed:
        detail = f"the account may {allowed[0]}: use one with dataViewer and jobUser only (docs/connections.md)"
        return Failure.of(FailureCode.CONNECTION, f"{detail}, or set role_may_write", Facts(rule=ROLE_MAY_WRITE))
    return catalog


class Bigquery:
    """The driver of google-cloud-bigquery's clients."""

    def __init__(self, module: Any, threads: Threads, config: ConnectionConfig, billed_max: int) -> None:
        self._module = module
        self._threads = threads
        self._config = config
        self._billed_max = billed_max
        self._dataset = f"{config.parsed_url.host}.{config.parsed_url.database}"

    async def begin(self, session: Caller, seconds: float) -> None:
        """Give the next job a name of its own and its time."""
        session.job_id, session.seconds = f"querybus-{uuid.uuid4()}", seconds

    async def run(self, session: Caller, asked: Asked) -> Rows | Failure:
        """Look first, then stream the pages of the job's rows."""
        looked = await self._looked(session, asked.sql)
        if isinstance(looked, Failure):
            return looked
        settings = self._module.QueryJobConfig(
            default_dataset=self._dataset,
            use_legacy_sql=False,
            maximum_bytes_billed=self._billed_max,
            job_timeout_ms=max(1, int(session.seconds * 1_000)),
            labels={"application": "querybus"},
        )
        query = partial(
            session.client.query,
            asked.sql,
            job_config=settings,
            job_id=session.job_id,
            retry=None,
            job_retry=None,
            timeout=CALL_SECONDS_MAX,
        )
        job = await self._threads.run(query)
        wait = partial(
            job.result,
            page_size=PAGE_ROWS,
            max_results=asked.into.wanted,
            retry=None,
            job_retry=None,
            timeout=session.seconds,
        )
        result = await self._threads.run(wait)
        columns = tuple(_column(table) for table in result.schema)
        asked.into.describe(columns)
        pages = iter(result.pages)
        while (page := await self._threads.run(partial(next, pages, None))) is not None:
            if not await asked.into.take(columns, [row.values() for row in page]):
                break
        return await asked.into.rows()

    async def explain(self, session: Caller, sql: str) -> Estimate | Failure:
        """Return the bytes that the statement would read as its cost; the dry run says no number of rows."""
        looked = await self._looked(session, sql)
        return looked if isinstance(looked, Failure) else Estimate(rows=None, cost=float(looked))

    async def permissions(self, table: str) -> list[str]:
        """Return which rights to change the table the account has."""
        client = await self._threads.run(partial(_client, self._module, self._config))
        try:
            ask = partial(client.test_iam_permissions, f"{self._dataset}.{table}", list(_WRITING))
            result = await self._threads.run(ask)
            return list(result.get("permissions", ()))
        finally:
            await self._threads.run(client.close)

    async def stop(self, session: Caller) -> None:
        """Cancel the job."""
        await self._threads.run(session.client.cancel_job, session.job_id)

    async def reset(self, session: Caller) -> None:
        """Forget the job: a client keeps no session."""
        session.job_id, session.seconds = "", 0.0

    def failure(self, error: BaseException, sql: str) -> Failure | None:  # noqa: ARG002 - the port's signature
        """Return what an error of the client, the service or the network means."""
        from concurrent.futures import TimeoutError as Waited

        called = driver_module("google.api_core.exceptions", "bigquery").GoogleAPICallError
        unknown = driver_module("google.auth.exceptions", "bigquery").GoogleAuthError
        if isinstance(error, called):
            refused: Any = error
            said = refused.errors[0] if refused.errors else {}
            reason = str(said.get("reason") or refused.code or "")
            return native_failure(_RULES, reason, str(said.get("message") or refused.message))
        if isinstance(error, Waited):
            return Failure.of(FailureCode.TIMEOUT, "the statement was stopped at its time limit")
        if isinstance(error, unknown | OSError):
            return away(error)
        return None

    async def _looked(self, session: Caller, sql: str) -> int | Failure:
        settings = self._module.QueryJobConfig(
            default_dataset=self._dataset, use_legacy_sql=False, dry_run=True, use_query_cache=False
        )
        look = partial(
            session.client.query, sql, job_config=settings, retry=None, job_retry=None, timeout=CALL_SECONDS_MAX
        )
        job = await self._threads.run(look)
        if job.statement_type != "SELECT":
            return Failure.of(
                FailureCode.PERMISSION,
                f"not authorized: {job.statement_type} is no query",
                Facts(native_code="accessDenied"),
            )
        read = int(job.total_bytes_processed or 0)
        if read > self._billed_max:
            return Failure.of(
                FailureCode.RESOURCE_LIMIT,
                f"the statement would read {read} bytes, {self._billed_max} are allowed",
                Facts(native_code="bytesBilledLimitExceeded"),
            )
        return read


def _client(module: Any, config: ConnectionConfig) -> Any:
    url = config.parsed_url
    options: dict[str, Any] = {}
    more: dict[str, Any] = {}
    endpoint = str(url.query.get("endpoint", ""))
    if endpoint:
        options["api_endpoint"] = endpoint
    if urlsplit(endpoint).scheme == "http" and urlsplit(endpoint).hostname in ("127.0.0.1", "localhost"):
        more["credentials"] = driver_module("google.auth.credentials", "bigquery").AnonymousCredentials()
    elif "credentials_file" in url.query:
        accounts = driver_module("google.oauth2.service_account", "bigquery")
        more["credentials"] = accounts.Credentials.from_service_account_file(str(url.query["credentials_file"]))
    location = url.query.get("location")
    return module.Client(
        project=url.host, location=None if location is None else str(location), client_options=options or None, **more
    )


def _column(field: Any) -> ResultColumn:
    kind = ColumnKind.JSON if field.mode == "REPEATED" else _KINDS.get(field.field_type, ColumnKind.OTHER)
    type_text = f"ARRAY<{field.field_type}>" if field.mode == "REPEATED" else field.field_type
    return ResultColumn(name=field.name, kind=kind, type=type_text)
