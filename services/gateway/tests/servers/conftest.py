"""One stack for a file of tests that need nothing special of it: to start one takes longer than most tests.

Not one for the whole run: its loop stands still while the tests of other files run, and the server closes its connections.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest_asyncio

from .stack_of_tests import ApiStack, api_stack


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared_stack() -> AsyncGenerator[ApiStack]:
    async with api_stack(rate_per_second=10_000) as made:
        yield made
