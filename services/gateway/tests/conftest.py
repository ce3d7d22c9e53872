"""One house for the tests of doors that need nothing special of it: to start one takes longer than most tests."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest_asyncio

from .house_of_tests import DoorHouse, door_house


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def shared_house() -> AsyncGenerator[DoorHouse]:
    async with door_house(rate_per_second=10_000, rate_burst=10_000) as made:
        yield made
