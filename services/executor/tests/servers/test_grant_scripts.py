"""The scripts that docs/connections.md gives make a role that the executor takes, and that reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from querybus.core.catalog import Catalog
from querybus.ops.metrics import Metrics
from querybus_executor.connections.config import parse_connections
from querybus_executor.engines.mysql.edge import mysql_server, read_mysql
from querybus_executor.engines.postgres.edge import postgres_server, read_postgres
from tests.support.database_servers import MariadbServer, PostgresServer

pytestmark = pytest.mark.servers

PAGE = Path(__file__).parents[4] / "docs" / "connections.md"


def scripts() -> list[str]:
    return re.findall(r"^```sql\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


async def test_the_script_for_postgres_makes_a_role_that_is_taken(postgres: PostgresServer) -> None:
    postgres.execute("CREATE DATABASE sales;\n\\c sales\nCREATE TABLE customers (id integer);\n" + scripts()[0])
    entry = {"name": "sales", "url": postgres.url("querybus_reader", "sales")}
    (config,) = parse_connections({"connections": [entry]})
    server = postgres_server(config, bytes_max=1 << 20, metrics=Metrics("t"))
    result = await read_postgres(config, server)
    await server.close()
    assert isinstance(result, Catalog), result
    assert [table.name for table in result.tables] == ["customers"]


async def test_the_script_for_mariadb_makes_a_user_that_is_taken(mariadb: MariadbServer) -> None:
    script = scripts()[1].replace("'%'", "'localhost'").replace("'...'", "'s3cret'")
    mariadb.execute("CREATE DATABASE sales; CREATE TABLE sales.customers (id int);" + script)
    entry = {"name": "sales", "url": mariadb.url("querybus_reader:s3cret", "sales")}
    (config,) = parse_connections({"connections": [entry]})
    server = mysql_server(config, bytes_max=1 << 20, metrics=Metrics("t"))
    result = await read_mysql(config, server)
    await server.close()
    assert isinstance(result, Catalog), result
    assert [table.name for table in result.tables] == ["customers"]
