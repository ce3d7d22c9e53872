"""What is kept of a thread beside its log: whose it is, how it began, and where it was forked from.

The log alone says what was asked and answered; this value makes a person's threads listable without reading it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field

from querybus.core.envelope import Audience, Envelope
from querybus.core.messages import Asked, ForkedFrom
from querybus.core.value import Value

TITLE_LENGTH_MAX: Final = 200


class ThreadRecord(Value):
    """One thread of one user. It is written when the thread begins, and again when its owner changes its metadata."""

    thread_id: str
    user: str
    audience: Audience
    connection: str
    title: str = Field(description="the first question, cut to 200 characters")
    created_at: int
    forked_from: ForkedFrom | None = None
    metadata: Mapping[str, Any] = Field(default={}, description="what its owner's client keeps with it")
    only_verified: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
        description="whether verified questions alone are answered in it",
    )


def record_of(asked: Envelope[Asked]) -> ThreadRecord:
    """Return the record of the thread that this question begins."""
    return ThreadRecord(
        thread_id=asked.thread_id,
        user=asked.user,
        audience=asked.audience,
        connection=asked.connection,
        title=asked.question[:TITLE_LENGTH_MAX],
        created_at=asked.asked_at,
        forked_from=asked.body.forked_from,
        only_verified=asked.options.only_verified,
    )
