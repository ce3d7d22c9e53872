"""A page token names one page of one result, signed so that nobody can make or change one.

It is opaque to its holder and grants nothing: whoever shows it must be a reader of the query as well. Pure: the key
and the time are passed in. The key is shared by all replicas.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from querybus.core.messages import AnswerColumn
from querybus_gateway.access.seal import opened, sealed

VERSION: Final = 1
TOKEN_LENGTH_MAX: Final = 1_024


@dataclass(frozen=True, slots=True)
class PageToken:
    """One page: `columns` is `columns_hash` of the result, `expires_at` in milliseconds since the epoch."""

    tenant: str
    query: str
    run: str
    page: int
    page_size: int
    columns: str
    expires_at: int


def columns_hash(columns: Sequence[AnswerColumn]) -> str:
    """Return 16 hex digits that change with a result's columns."""
    text = json.dumps([[column.id, column.label, column.kind.value] for column in columns], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def sign_token(token: PageToken, key: bytes) -> str:
    """Return the token's text: base64url of its fields and their HMAC-SHA256."""
    fields = [VERSION, token.tenant, token.query, token.run, token.page, token.page_size, token.columns]
    body = json.dumps([*fields, token.expires_at], ensure_ascii=False, separators=(",", ":")).encode()
    return sealed(body, key)


def read_token(text: str, key: bytes) -> PageToken | None:
    """Return the token, or None for any text that `sign_token` did not make with this key."""
    body = opened(text, key) if len(text) <= TOKEN_LENGTH_MAX else None
    if body is None:
        return None
    # It was signed here, so it has the form that it was given here; only an older version may look otherwise.
    version, *fields = cast("list[object]", json.loads(body))
    if version != VERSION:
        return None
    tenant, query, run, page, page_size, columns, expires_at = fields
    return PageToken(
        cast("str", tenant),
        cast("str", query),
        cast("str", run),
        cast("int", page),
        cast("int", page_size),
        cast("str", columns),
        cast("int", expires_at),
    )
