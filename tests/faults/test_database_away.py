"""A database that refuses, or that takes connections and never answers, delays no question to another one."""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from querybus_cli.local.local_stack import Stack, StackPlan

pytestmark = [pytest.mark.connected, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

AWAY_QUESTIONS = 40
"""More than any stage has slots."""
SHOP_SECONDS_MAX = 15.0
"""1.4 s were measured on a busy machine. Behind forty tries of 5 s each it is the deadline of 20 s."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Stack]:
    directory = tmp_path_factory.mktemp("away")
    shop = directory / "shop.sqlite"
    with sqlite3.connect(shop) as connection:
        connection.executescript("CREATE TABLE customers (id INTEGER PRIMARY KEY); INSERT INTO customers VALUES (1);")
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.create_server(("127.0.0.1", 0)) as closed:
        refusing = closed.getsockname()[1]
        closed.close()
        connections = [
            {"name": "shop", "url": f"sqlite:///{shop}"},
            {"name": "refusing", "url": f"postgresql+asyncpg://u:p@127.0.0.1:{refusing}/d"},
            {"name": "silent", "url": f"postgresql+asyncpg://u:p@127.0.0.1:{silent.getsockname()[1]}/d"},
        ]
        file: Path = directory / "connections.yaml"
        file.write_text(json.dumps({"connections": connections}))
        async with Stack(StackPlan(connections_file=file, sync="2m")) as made:
            yield made


@pytest.mark.parametrize("away", ["refusing", "silent"])
@pytest.mark.requirement("002.11")
async def test_questions_to_a_database_that_is_away_hold_up_nobody_else(stack: Stack, away: str) -> None:
    async with stack.client("analyst") as client:

        async def ask(connection: str) -> tuple[dict[str, Any], float]:
            begun = time.monotonic()
            request = {
                "question": "How many customers are there?",
                "connection": connection,
                "options": {"deadline_seconds": 20},
                "wait_seconds": 30,
            }
            return await client.call("ask", request), time.monotonic() - begun

        lost = [asyncio.create_task(ask(away)) for _ in range(AWAY_QUESTIONS)]
        await asyncio.sleep(0.2)
        answers = [await ask("shop") for _ in range(5)]
        assert [answer["outcome"] for answer, _ in answers] == ["answered"] * 5
        took = max(seconds for _, seconds in answers)
        assert took < SHOP_SECONDS_MAX
        ended = await asyncio.gather(*lost)
        codes = {answer.get("code") for answer, _ in ended}
        assert codes <= {"connection", "setup", "expired", "timeout"}, codes
