"""The edge of Oracle: its calls against a stand-in of the driver's connection, with the driver's own types and errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from querybus.core.failure import Failure, FailureCode
from querybus.ops.metrics import Metrics
from querybus_executor.connections.config import parse_connections
from querybus_executor.engines.oracle.edge import oracle_server, read_oracle
from querybus_executor.engines.server import Server
from querybus_executor.ports import Estimate, Purpose, Rows
from tests.support.database_servers import driver
from tests.support.engine_evidence import Evidence, shows

oracledb = driver("oracledb", "oracle")
pytestmark = shows(
    "Oracle",
    Evidence.COMPILED,
    "statements compiled and parsed; the driver's calls against a recorded stand-in",
)

AT = datetime.fromisoformat("2026-01-31T09:05:00")
ITEM = (
    [
        ("ID", oracledb.DB_TYPE_NUMBER, None, None, 10, 0, False),
        ("PRICE", oracledb.DB_TYPE_NUMBER, None, None, 10, 2, True),
        ("MADE", oracledb.DB_TYPE_DATE, None, None, None, None, True),
        ("RAW", oracledb.DB_TYPE_RAW, None, None, None, None, True),
    ],
    [(1, Decimal("19.90"), AT, b"\x00\xff"), (2, None, None, None), (3, Decimal("0.1"), None, None)],
)


def ora(code: str, text: str) -> Exception:
    return oracledb.DatabaseError(SimpleNamespace(full_code=code, message=f"{code}: {text}\nHelp: https://docs"))


class Recorded:
    """One session; `log` is every call in order, `errors` maps a part of a text to what is raised for it."""

    def __init__(self, log: list[str], errors: dict[str, Exception], rights: list[tuple[str, str]]) -> None:
        self.log, self.errors, self.rights = log, errors, rights
        self.released = asyncio.Event()
        self._timeout = 0

    @property
    def call_timeout(self) -> int:
        return self._timeout

    @call_timeout.setter
    def call_timeout(self, value: int) -> None:
        self._timeout = value
        self.log.append(f"call_timeout={value}")

    def cursor(self) -> RecordedCursor:
        return RecordedCursor(self)

    async def execute(self, sql: str) -> None:
        self.log.append(sql)
        for part, error in self.errors.items():
            if part in sql:
                raise error

    async def fetchall(self, sql: str) -> list[tuple[Any, ...]]:
        self.log.append(sql)
        return [(42, 7.5)]

    async def rollback(self) -> None:
        self.log.append("rollback")

    def cancel(self) -> None:
        self.log.append("cancel")
        self.released.set()

    async def close(self) -> None:
        self.log.append("close")


class RecordedCursor:
    """A cursor over ITEM, or over the rights."""

    arraysize = 100
    prefetchrows = 2
    outputtypehandler: Any = None

    def __init__(self, session: Recorded) -> None:
        self._session = session
        self.description: list[Any] | None = None
        self._rows: list[Any] = []

    def __enter__(self) -> RecordedCursor:
        return self

    def __exit__(self, *_: object) -> None: ...

    async def execute(self, sql: str, *, fetch_lobs: bool, fetch_decimals: bool) -> None:
        assert (fetch_lobs, fetch_decimals) == (False, True)
        await self._session.execute(sql)
        if "slow" in sql:
            await self._session.released.wait()
            raise ora("ORA-01013", "user requested cancel of current operation")
        if "session_privs" in sql:
            self.description = [("P", oracledb.DB_TYPE_VARCHAR, None, None, None, None, True)] * 2
            self._rows = list(self._session.rights)
        else:
            self.description, self._rows = list(ITEM[0]), list(ITEM[1])

    async def fetchmany(self, size: int) -> list[Any]:
        result, self._rows = self._rows[:size], self._rows[size:]
        return result


class Bench:
    """An edge over recorded sessions."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.errors: dict[str, Exception] = {}
        self.rights = [("CREATE SESSION", ""), ("READ", "SHOP.ITEM"), ("EXECUTE", "SYS.DBMS_OUTPUT")]
        entry = {"name": "ora", "url": "oracle://reader:pw@db.example:1521/FREEPDB1"}
        (self.config,) = parse_connections({"connections": [entry]})
        module = SimpleNamespace(
            connect_async=self.connect, Error=oracledb.Error, DB_TYPE_VARCHAR=oracledb.DB_TYPE_VARCHAR
        )
        self.edge: Server = oracle_server(self.config, bytes_max=1 << 20, metrics=Metrics("t"), module=module)

    async def connect(self, **given: Any) -> Recorded:
        assert (given["service_name"], given["port"], given["user"]) == ("FREEPDB1", 1521, "reader")
        return Recorded(self.log, self.errors, self.rights)

    async def run(self, sql: str, rows_max: int = 10, seconds_max: float = 5) -> Rows | Failure:
        return await self.edge.run(sql, rows_max=rows_max, seconds_max=seconds_max, purpose=Purpose.EXECUTE)


@pytest.fixture
async def bench() -> AsyncGenerator[Bench]:
    made = Bench()
    yield made
    await made.edge.close()


@pytest.mark.requirement("002.32")
async def test_a_statement_runs_in_a_read_only_transaction_that_is_rolled_back(bench: Bench) -> None:
    result = await bench.run("SELECT * FROM item;")
    await bench.edge.close()
    assert isinstance(result, Rows), result
    assert bench.log[0].startswith("ALTER SESSION SET NLS_DATE_FORMAT")
    assert bench.log[1].startswith("call_timeout=5")
    assert bench.log[2:4] == ["SET TRANSACTION READ ONLY", "SELECT * FROM item"]
    assert bench.log[-2:] == ["rollback", "close"]


@pytest.mark.requirement("002.32")
async def test_values_come_exactly_and_kinds_by_the_drivers_types(bench: Bench) -> None:
    result = await bench.run("SELECT * FROM item")
    assert isinstance(result, Rows)
    assert [column.kind.value for column in result.columns] == ["integer", "number", "datetime", "bytes"]
    assert result.rows[0] == (1, 19.9, "2026-01-31 09:05:00", "00ff")


async def test_one_row_more_shows_that_there_are_more(bench: Bench) -> None:
    result = await bench.run("SELECT * FROM item", rows_max=2)
    assert isinstance(result, Rows)
    assert (len(result.rows), result.truncated) == (2, True)


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE item", "BEGIN NULL; END;", "SELECT 1 FROM dual; DROP TABLE item", "COMMIT", "LOCK TABLE item IN SHARE MODE",
        "WITH FUNCTION f RETURN NUMBER IS BEGIN RETURN 1; END; SELECT f FROM dual", "CALL p()", "ALTER SESSION SET x = 1",
        "/* SELECT */ DELETE FROM item", "EXPLAIN PLAN FOR SELECT 1 FROM dual",
    ],
)  # fmt: skip
async def test_what_is_no_single_query_is_never_sent_because_oracle_runs_ddl_when_it_parses(
    bench: Bench, sql: str
) -> None:
    result = await bench.run(sql)
    explained = await bench.edge.explain(sql, seconds_max=60)
    assert isinstance(result, Failure)
    assert isinstance(explained, Failure)
    assert not any(sql.rstrip(";") in entry for entry in bench.log)


@pytest.mark.parametrize(
    ("code", "text", "failure", "name"),
    [
        ("ORA-00942", 'table or view "SHOP"."NOSUCH" does not exist', FailureCode.TABLE_NOT_FOUND, "NOSUCH"),
        ("ORA-00904", '"I"."NOSUCH": invalid identifier', FailureCode.COLUMN_NOT_FOUND, "NOSUCH"),
        ("ORA-00918", '"ID": column ambiguously specified', FailureCode.AMBIGUOUS_COLUMN, "ID"),
        ("ORA-00979", "not a GROUP BY expression", FailureCode.GROUPING_ERROR, None),
        ("ORA-00934", "group function is not allowed here", FailureCode.AGGREGATE_MISUSE, None),
        ("ORA-00905", "missing keyword", FailureCode.JOIN_ERROR, None),
        ("ORA-01722", "invalid number", FailureCode.TYPE_MISMATCH, None),
        ("ORA-01476", "divisor is equal to zero", FailureCode.DIVISION_BY_ZERO, None),
        ("ORA-01427", "single-row subquery returns more than one row", FailureCode.CARDINALITY, None),
        ("ORA-01456", "may not perform insert in a READ ONLY transaction", FailureCode.PERMISSION, None),
        ("DPY-4024", "call timeout exceeded", FailureCode.TIMEOUT, None),
        ("ORA-01652", "unable to extend temp segment", FailureCode.RESOURCE_LIMIT, None),
        ("ORA-00933", "SQL command not properly ended", FailureCode.SYNTAX_ERROR, None),
        ("ORA-03113", "end-of-file on communication channel", FailureCode.CONNECTION, None),
        ("ORA-99999", "something new", FailureCode.INTERNAL, None),
    ],
)
async def test_errors_are_reported_by_code(
    bench: Bench, code: str, text: str, failure: FailureCode, name: str | None
) -> None:
    bench.errors["FROM item"] = ora(code, text)
    result = await bench.run("SELECT * FROM item", seconds_max=0.5)
    assert isinstance(result, Failure)
    assert (result.code, result.facts.name, result.facts.native_code) == (failure, name, code)
    assert "Help:" not in result.detail


async def test_a_cancel_breaks_the_call_and_closes_nothing_else(bench: Bench) -> None:
    task = asyncio.create_task(bench.run("SELECT slow FROM item"))
    while "SELECT slow FROM item" not in bench.log:
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task])
    await bench.edge.close()
    assert task.cancelled()
    assert "cancel" in bench.log


async def test_an_explain_is_rolled_back_with_the_plan_it_wrote(bench: Bench) -> None:
    result = await bench.edge.explain("SELECT * FROM item", seconds_max=60)
    assert result == Estimate(rows=42, cost=7.5)
    asked = [entry for entry in bench.log if "EXPLAIN" in entry or entry == "rollback"]
    assert asked[:3] == ["rollback", "EXPLAIN PLAN SET STATEMENT_ID = 'querybus' FOR SELECT * FROM item", "rollback"]


async def test_a_user_that_may_write_is_refused(bench: Bench) -> None:
    bench.rights.append(("INSERT", "SHOP.ITEM"))
    result = await read_oracle(bench.config, bench.edge)
    assert isinstance(result, Failure)
    assert (result.facts.rule, "INSERT on SHOP.ITEM" in result.detail) == ("role_may_write", True)
