"""The edge of MySQL, which no server was there for: its calls against a recorded session that says it is MySQL."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from querybus_executor.engines.mysql.edge import WARNINGS_MAX, Mysql
from querybus_executor.engines.server import Asked
from querybus_executor.ports import Estimate, Rows
from querybus_executor.results.receive import Receiver
from tests.support.engine_evidence import Evidence, shows

pytestmark = shows(
    "MySQL", Evidence.COMPILED, "the edge of MariaDB, its calls against a recorded session; no MySQL server was run"
)
INT, TEXT = 3, 253
ROWS = ((1, "a"), (2, None))
PLAN = '{"query_block": {"cost_info": {"query_cost": "1.45"}, "table": {"rows_examined_per_scan": 12}}}'


class Recorded:
    """A session of MySQL 8; `log` is every statement in order."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self._transport = self

    def get_server_info(self) -> str:
        return "8.4.2"

    def cursor(self, _class: object = None) -> RecordedCursor:
        return RecordedCursor(self.log)

    def is_closing(self) -> bool:
        return True


class RecordedCursor:
    def __init__(self, log: list[str]) -> None:
        self._log = log
        self._left: list[Any] = []
        self.description: Any = None

    async def execute(self, sql: str) -> None:
        self._log.append(sql)
        if sql == "EXECUTE querybus":
            is_plan = "4558504c41494e" in self._log[-3]  # EXPLAIN, in the hexadecimal of the literal
            self._left = [(PLAN,)] if is_plan else list(ROWS)
            self.description = [("id", INT), ("name", TEXT)]
        elif sql.startswith("SHOW WARNINGS"):
            self._left = [("Warning", 1292, "Truncated incorrect DOUBLE value: 'a'")]

    async def fetchmany(self, size: int) -> list[Any]:
        some, self._left = self._left[:size], self._left[size:]
        return some

    async def fetchall(self) -> list[Any]:
        return await self.fetchmany(len(self._left))

    async def close(self) -> None: ...


def driver() -> Mysql:
    return Mysql(sa.make_url("mysql://reader@host/shop"))


def literal(sql: str) -> str:
    return f"SET @querybus = CONVERT(0x{sql.encode().hex()} USING utf8mb4)"


@pytest.mark.requirement("002.30")
async def test_a_statement_is_limited_in_milliseconds_and_prepared_as_explain_before_it_is_prepared_as_it_is() -> None:
    session, mysql = Recorded(), driver()
    await mysql.begin(session, 2.5)
    result = await mysql.run(session, Asked("SELECT id, name FROM t", Receiver(rows_max=10, bytes_max=1_000), 2.5))
    assert isinstance(result, Rows), result
    assert [tuple(row) for row in result.rows] == list(ROWS)
    assert [column.kind for column in result.columns] == ["integer", "text"]
    assert result.warnings == ("the database warns: Truncated incorrect DOUBLE value: 'a'",)
    assert session.log == [
        "SET SESSION max_execution_time = 2500, lock_wait_timeout = 1, lc_messages = 'en_US'",
        "START TRANSACTION READ ONLY",
        literal("EXPLAIN FORMAT=JSON SELECT id, name FROM t"),
        "PREPARE querybus FROM @querybus",
        literal("SELECT id, name FROM t"),
        "PREPARE querybus FROM @querybus",
        "EXECUTE querybus",
        f"SHOW WARNINGS LIMIT {WARNINGS_MAX}",
    ]


@pytest.mark.requirement("002.30")
async def test_an_explain_reads_the_words_of_its_plan() -> None:
    result = await driver().explain(Recorded(), "SELECT id FROM t")
    assert result == Estimate(rows=12, rows_read=12, cost=1.45)
