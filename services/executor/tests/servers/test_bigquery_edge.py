"""The edge of BigQuery: the real client against a stand-in of the REST interface that gives recorded replies."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import AsyncGenerator, Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import ResultColumn
from querybus.ops.metrics import Metrics
from querybus_executor.connections.config import parse_connections
from querybus_executor.engines.bigquery.edge import bigquery_server, read_bigquery
from querybus_executor.engines.server import Server
from querybus_executor.ports import Estimate, Purpose, Rows
from tests.support.database_servers import driver
from tests.support.engine_evidence import Evidence, shows

driver("google.cloud.bigquery", "bigquery")
pytestmark = shows(
    "BigQuery",
    Evidence.COMPILED,
    "statements compiled and parsed; the real client against recorded replies of the REST interface",
)

SCHEMA = [
    {"name": "id", "type": "INTEGER", "mode": "REQUIRED"},
    {"name": "price", "type": "NUMERIC", "mode": "NULLABLE"},
    {"name": "at", "type": "TIMESTAMP", "mode": "NULLABLE"},
    {"name": "raw", "type": "BYTES", "mode": "NULLABLE"},
    {"name": "tags", "type": "STRING", "mode": "REPEATED"},
]
ROWS = [
    ["1", "19.90", "1769850300000000", "AP8=", [{"v": "a"}]],
    ["2", None, None, None, []],
    ["3", "12345678901234567.89", None, None, []],
]


class Rest(BaseHTTPRequestHandler):
    """Jobs by what their text holds; remembers what was asked."""

    asked: list[dict[str, Any]]
    cancelled: list[str]
    permissions: list[str]

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if "testIamPermissions" in self.path:
            self.reply({"permissions": self.permissions})
        elif "/cancel" in self.path:
            self.cancelled.append(self.path.split("/jobs/")[1].split("/")[0])
            self.reply({"job": {"jobReference": {"projectId": "p", "jobId": "x"}}})
        else:
            self.asked.append(body)
            self.job(body)

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if "/queries/" in path:
            schema, rows = self.answer(self.sql_of(path.split("/queries/")[1]))
            said = {"jobComplete": True, "schema": {"fields": schema}, "totalRows": str(len(rows)), "pageToken": None}
            first = {"rows": [{"f": [{"v": cell} for cell in row]} for row in rows]}
            self.reply(said | first | {"jobReference": {"projectId": "p", "jobId": "x", "location": "EU"}})
        else:
            name = path.split("/jobs/")[1]
            self.reply(self.resource(self.body_of(name), "DONE"))

    def body_of(self, name: str) -> dict[str, Any]:
        return next(item for item in self.asked if item["jobReference"]["jobId"] == name)

    def sql_of(self, name: str) -> str:
        return str(self.body_of(name)["configuration"]["query"]["query"])

    @staticmethod
    def answer(sql: str) -> tuple[list[dict[str, str]], list[list[Any]]]:
        if "INFORMATION_SCHEMA" in sql:
            count = 7 if "CONSTRAINT_COLUMN_USAGE" in sql else 6 if "COLUMN_FIELD_PATHS" in sql else 5
            fields = [{"name": f"f{n}", "type": "STRING", "mode": "NULLABLE"} for n in range(count)]
            if "INFORMATION_SCHEMA.TABLES" in sql:
                return fields, [["shop", "item", "table", "", None]]
            if "COLUMN_FIELD_PATHS" in sql:
                return fields, [
                    ["shop", "item", "id", "INT64", None, "the key"],
                    ["shop", "item", "name", "STRING", None, ""],
                ]
            return fields, []
        return SCHEMA, ROWS

    def job(self, body: dict[str, Any]) -> None:
        sql = str(body["configuration"]["query"]["query"])
        for text, reason, message in (
            ("nosuchtable", "notFound", "Not found: Table p:shop.nosuchtable was not found in location EU"),
            ("nosuchcolumn", "invalidQuery", "Unrecognized name: nosuchcolumn at [1:8]"),
            ("forbidden", "accessDenied", "Access Denied: Table p:shop.forbidden"),
        ):
            if text in sql:
                error = {"errors": [{"reason": reason, "message": message}], "code": 400, "message": message}
                self.reply({"error": error}, 404 if reason == "notFound" else 403 if reason == "accessDenied" else 400)
                return
        self.reply(self.resource(body, "DONE"))

    @staticmethod
    def resource(body: dict[str, Any], state: str) -> dict[str, Any]:
        sql = str(body["configuration"]["query"]["query"])
        kind = (
            "SELECT" if re.match(r"\s*(WITH|SELECT)", sql, re.IGNORECASE) else "SCRIPT" if ";" in sql else "DROP_TABLE"
        )
        read = "99999999999999" if "huge" in sql else "1024"
        statistics = {"totalBytesProcessed": read, "query": {"statementType": kind, "totalBytesProcessed": read}}
        reference = {**body.get("jobReference", {"jobId": "dry"}), "projectId": "p", "location": "EU"}
        return {
            "kind": "bigquery#job", "id": "p:EU.x", "jobReference": reference, "configuration": body["configuration"],
            "status": {"state": state}, "statistics": statistics,
        }  # fmt: skip

    def reply(self, said: dict[str, Any], status: int = 200) -> None:
        data = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def rest() -> Generator[type[Rest]]:
    class Fresh(Rest):
        asked: list[dict[str, Any]] = []  # noqa: RUF012 - one list for each test
        cancelled: list[str] = []  # noqa: RUF012
        permissions: list[str] = []  # noqa: RUF012
        port = 0

    server = ThreadingHTTPServer(("127.0.0.1", 0), Fresh)
    Fresh.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Fresh
    server.shutdown()
    server.server_close()


def config(rest: Any, **more: Any) -> Any:
    url = f"bigquery://p/shop?location=EU&bytes_billed_max=1000000&endpoint=http://127.0.0.1:{rest.port}"
    return parse_connections({"connections": [{"name": "bq", "url": url, **more}]})[0]


@pytest.fixture
async def edge(rest: Any) -> AsyncGenerator[Server]:
    server = bigquery_server(config(rest), bytes_max=1 << 20, metrics=Metrics("t"))
    yield server
    await server.close()


async def run(edge: Server, sql: str, rows_max: int = 10) -> Rows | Failure:
    return await edge.run(sql, rows_max=rows_max, seconds_max=10, purpose=Purpose.EXECUTE)


@pytest.mark.requirement("002.34")
async def test_a_dry_run_comes_first_and_the_job_is_capped(edge: Server, rest: Any) -> None:
    result = await run(edge, "SELECT * FROM item")
    assert isinstance(result, Rows), result
    dry, real = (item["configuration"] for item in rest.asked)
    assert (dry["dryRun"], dry["query"]["useQueryCache"]) == (True, False)
    assert (real.get("dryRun"), real["query"]["maximumBytesBilled"]) == (None, "1000000")
    assert 1_000 < int(real["jobTimeoutMs"]) <= 10_000
    assert real["query"]["defaultDataset"] == {"projectId": "p", "datasetId": "shop"}
    assert not real["query"]["useLegacySql"]


@pytest.mark.requirement("002.34")
async def test_values_keep_their_types_and_become_cells(edge: Server) -> None:
    result = await run(edge, "SELECT * FROM item")
    assert isinstance(result, Rows), result
    assert [(column.kind.value, column.type) for column in result.columns] == [
        ("integer", "INTEGER"), ("number", "NUMERIC"), ("datetime", "TIMESTAMP"), ("bytes", "BYTES"),
        ("json", "ARRAY<STRING>"),
    ]  # fmt: skip
    assert result.columns[0] == ResultColumn(name="id", kind=result.columns[0].kind, type="INTEGER")
    assert list(result.rows) == [
        (1, 19.9, "2026-01-31 09:05:00+00:00", "00ff", '["a"]'),
        (2, None, None, None, "[]"),
        (3, "12345678901234567.89", None, None, "[]"),
    ]


async def test_rows_beyond_the_limit_only_show_that_there_are_more(edge: Server) -> None:
    result = await run(edge, "SELECT * FROM item", rows_max=2)
    assert isinstance(result, Rows)
    assert (len(result.rows), result.truncated) == (2, True)


@pytest.mark.parametrize("sql", ["DROP TABLE item", "SELECT 1; DROP TABLE item; -- x", "DECLARE x INT64; SELECT 1"])
async def test_what_the_dry_run_does_not_call_a_select_never_runs(edge: Server, rest: Any, sql: str) -> None:
    result = await run(edge, sql if "SELECT 1;" not in sql else f" ;{sql}")
    assert isinstance(result, Failure)
    assert result.code is FailureCode.PERMISSION
    assert [item["configuration"].get("dryRun") for item in rest.asked] == [True]


async def test_what_would_read_too_much_is_refused_before_it_costs(edge: Server, rest: Any) -> None:
    result = await run(edge, "SELECT * FROM huge")
    assert isinstance(result, Failure)
    assert (result.code, len(rest.asked)) == (FailureCode.RESOURCE_LIMIT, 1)


@pytest.mark.parametrize(
    ("sql", "code", "name"),
    [
        ("SELECT * FROM nosuchtable", FailureCode.TABLE_NOT_FOUND, "nosuchtable"),
        ("SELECT nosuchcolumn FROM item", FailureCode.COLUMN_NOT_FOUND, "nosuchcolumn"),
        ("SELECT * FROM forbidden", FailureCode.PERMISSION, None),
    ],
)
async def test_errors_are_reported_by_reason(edge: Server, sql: str, code: FailureCode, name: str | None) -> None:
    result = await run(edge, sql)
    assert isinstance(result, Failure)
    assert (result.code, result.facts.name) == (code, name)


async def test_an_explain_reports_the_bytes_and_runs_nothing(edge: Server, rest: Any) -> None:
    result = await edge.explain("SELECT * FROM item", seconds_max=60)
    assert isinstance(result, Estimate)
    assert (result.rows, result.cost, len(rest.asked)) == (None, 1024.0, 1)


async def test_an_account_that_may_write_is_refused_when_the_catalog_is_read(rest: Any) -> None:
    server = bigquery_server(config(rest), bytes_max=1 << 20, metrics=Metrics("t"))
    catalog = await read_bigquery(config(rest), server)
    assert isinstance(catalog, Catalog), catalog
    assert [column.name for column in catalog.tables[0].columns] == ["id", "name"]
    assert catalog.tables[0].columns[1].values == ()
    rest.permissions.append("bigquery.tables.updateData")
    refused = await read_bigquery(config(rest), server)
    await server.close()
    assert isinstance(refused, Failure)
    assert refused.facts.rule == "role_may_write"
