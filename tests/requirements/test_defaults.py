"""Numbers that were ordered are the defaults, and bounds are refused with a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

from querybus.core.options import Options
from querybus_executor.connections.config import PoolLimits
from querybus_gateway.admit import AskRequest, read
from querybus_gateway.problems import Problem, ProblemCode


def asked(**options: Any) -> AskRequest | Problem:
    return read(json.dumps({"question": "How many?", "options": options}).encode(), AskRequest)


@pytest.mark.requirement("002.54")
def test_a_database_has_the_ordered_pool() -> None:
    limits = PoolLimits()
    assert (limits.size, limits.overflow, limits.wait_seconds, limits.recycle_seconds) == (20, 10, 30.0, 3_600)


@pytest.mark.requirement("002.38")
def test_a_page_has_a_hundred_rows_and_a_thousand_at_most() -> None:
    assert Options().page_size == 100
    assert isinstance(asked(page_size=1_000), AskRequest)
    refused = asked(page_size=1_001)
    assert isinstance(refused, Problem)
    assert (refused.code, refused.detail) == (ProblemCode.BAD_OPTIONS, "/options/page_size: must be at most 1000")


@pytest.mark.requirement("001.8", "001.9", "003.9")
def test_two_new_drafts_are_the_default_and_five_the_most() -> None:
    assert Options().retries_max == 2
    assert isinstance(asked(retries_max=5), AskRequest)
    refused = asked(retries_max=6)
    assert isinstance(refused, Problem)
    assert refused.detail == "/options/retries_max: must be at most 5"
