"""What the tests of the command share: logs and a heap as `querybus` itself has them, whatever ran before in this process."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from querybus.ops.log import configure_logging


@pytest.fixture(autouse=True)
def logs_as_the_command_sets_them() -> None:
    configure_logging("error", as_json=False)


@pytest.fixture(autouse=True)
def heap_of_its_own() -> Iterator[None]:
    """A search for repairs has half a second of its thread: a collection of what thousands of tests left takes longer."""
    gc.freeze()
    yield
    gc.unfreeze()
