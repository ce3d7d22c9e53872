"""What all tests share: a heap as a service has it, whatever ran before in this process."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def heap_of_its_own() -> Iterator[None]:
    """A search for repairs has half a second of its thread: a collection of what thousands of tests left takes longer."""
    gc.freeze()
    yield
    gc.unfreeze()
