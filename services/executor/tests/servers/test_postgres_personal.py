"""PostgreSQL: names of companies are read and shown, names of people are hidden, by what the columns hold."""

from __future__ import annotations

import pytest

from querybus.core.catalog import Catalog
from querybus.ops.metrics import Metrics
from querybus_executor.connections.config import parse_connections
from querybus_executor.engines.registry import Engines
from tests.support.database_servers import PostgresServer
from tests.support.engine_evidence import ON_POSTGRES

pytestmark = [pytest.mark.servers, ON_POSTGRES]

SCRIPT = """
CREATE DATABASE whose_names;
\\c whose_names
CREATE TABLE customers (id integer PRIMARY KEY, name text, credit_limit numeric);
INSERT INTO customers SELECT n, (ARRAY['Harrow Stationers', 'Pratt Brothers', 'Elm Foods', 'Larch Dental Practice'])[1 + n % 4] || ' ' || n, n
  FROM generate_series(1, 900) AS n;
CREATE TABLE jobs (id integer PRIMARY KEY, customer_id integer REFERENCES customers (id), fitter text, approved_by varchar(60));
INSERT INTO jobs SELECT n, n, (ARRAY['Anna Fletcher', 'Tom Okafor', 'Jens Petersen'])[1 + n % 3], (ARRAY['Eva Brandt', 'Ian Carter', 'Wei Zhang'])[1 + n % 3]
  FROM generate_series(1, 90) AS n;
CREATE VIEW v_customers AS SELECT id, name FROM customers;
CREATE ROLE name_reader LOGIN;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO name_reader;
"""


async def test_values_decide_whose_names_a_column_holds(postgres: PostgresServer) -> None:
    postgres.execute(SCRIPT)
    entry = {"name": "whose_names", "url": postgres.url("name_reader", "whose_names")}
    engines = Engines(children=1, reserved=1)
    (database,) = engines.connected(parse_connections({"connections": [entry]}), metrics=Metrics("t"))
    try:
        catalog = await database.catalog()
    finally:
        await engines.drain()
    assert isinstance(catalog, Catalog)
    personal = {
        f"{table.name}.{column.name}" for table in catalog.tables for column in table.columns if column.personal
    }
    assert personal == {"jobs.fitter", "jobs.approved_by"}
