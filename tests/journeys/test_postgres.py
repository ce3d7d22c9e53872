"""A question to PostgreSQL through the whole stack: bus, six services, a private server with a role that only reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from querybus.core.subjects import StageName
from querybus_cli.local.local_stack import Stack, StackPlan
from tests.support.database_servers import PostgresServer, postgres_server

pytestmark = [pytest.mark.connected, pytest.mark.slow]

SCRIPT = """
CREATE DATABASE shop;
\\c shop
CREATE TABLE customers (id integer PRIMARY KEY, name text NOT NULL, city text);
CREATE TABLE orders (id integer PRIMARY KEY, customer_id integer REFERENCES customers (id), amount numeric(10, 2));
INSERT INTO customers VALUES (1, 'Ann', 'Lyon'), (2, 'Bob', 'Paris'), (3, 'Cid', 'Lyon');
INSERT INTO orders VALUES (1, 1, 10.50), (2, 1, 20), (3, 2, 5);
CREATE ROLE reader LOGIN;
GRANT SELECT ON customers, orders TO reader;
"""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        running.execute(SCRIPT)
        yield running


@pytest.fixture
def connections(server: PostgresServer, tmp_path: Path) -> Path:
    """A file with one connection of a user that only reads and one of a superuser."""
    file = tmp_path / "connections.yaml"
    connections = [
        {"name": "shop", "url": server.url("reader", "shop")},
        {"name": "mighty", "url": server.url("postgres", "shop")},
    ]
    file.write_text(json.dumps({"connections": connections}))
    return file


async def test_a_question_to_postgres_is_answered(connections: Path) -> None:
    async with Stack(StackPlan(connections, sync="2m")) as stack, stack.client("analyst") as client:
        for question, expected in (
            ("How many customers are there?", [[3]]),
            ("What is the total amount of orders?", [[35.5]]),
            ("How many customers are there in Lyon?", [[2]]),
        ):
            body = {"question": question, "connection": "shop", "wait_seconds": 30}
            reply = await client.call("ask", body, timeout_seconds=40)
            assert reply["outcome"] == "answered", reply
            assert reply["rows"] == expected, reply
        for asked, total in ((False, None), (True, 3)):
            options = {"rows_max": 2, "count_total": asked}
            body = {"question": "List all customers", "connection": "shop", "options": options, "wait_seconds": 30}
            reply = await client.call("ask", body, timeout_seconds=40)
            assert (reply["row_count"], reply["truncated"]) == (2, True), reply
            assert (reply["total_count"], reply["total_is_estimate"]) == (total, False), reply


@pytest.mark.parametrize(
    ("environment", "outcome", "code"), [("development", "answered", ""), ("production", "failed", "setup")]
)
async def test_a_superuser_is_read_with_in_development_and_refused_in_production(
    connections: Path, environment: str, outcome: str, code: str
) -> None:
    plan = StackPlan(connections, extra={StageName.EXECUTOR: {"environment": environment}})
    async with Stack(plan) as stack, stack.client("analyst") as client:
        body = {"question": "How many customers are there?", "connection": "mighty", "wait_seconds": 30}
        reply = await client.call("ask", body, timeout_seconds=40)
        assert (reply["outcome"], reply["code"] or "") == (outcome, code), reply
