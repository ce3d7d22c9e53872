"""A page token is read back as it was signed, and nobody else can make one."""

from __future__ import annotations

import base64
import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from querybus.core.catalog import ColumnKind
from querybus.core.messages import AnswerColumn
from querybus_gateway.access.page_token import PageToken, columns_hash, read_token, sign_token

KEY = b"k" * 32
TOKEN = PageToken("acme", "0190a0a0-0000-7000-8000-000000000000", "12-1", 3, 100, "ab" * 8, 1_000)


@given(st.text(max_size=40), st.integers(1, 2**40), st.integers(0, 2**53))
def test_a_token_is_read_back_as_it_was_signed(tenant: str, page: int, expires_at: int) -> None:
    token = dataclasses.replace(TOKEN, tenant=tenant, page=page, expires_at=expires_at)
    text = sign_token(token, KEY)
    assert read_token(text, KEY) == token
    assert text.isascii()
    assert "=" not in text


def test_every_changed_bit_makes_a_token_void() -> None:
    text = sign_token(TOKEN, KEY)
    data = bytearray(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    for index in range(len(data)):
        data[index] ^= 1
        forged = base64.urlsafe_b64encode(bytes(data)).decode().rstrip("=")
        assert read_token(forged, KEY) is None, index
        data[index] ^= 1


@given(st.text(max_size=200))
def test_no_text_is_a_token_by_chance(text: str) -> None:
    assert read_token(text, KEY) is None


def test_another_key_reads_nothing() -> None:
    assert read_token(sign_token(TOKEN, KEY), b"x" * 32) is None


def test_other_columns_have_another_hash() -> None:
    one = [AnswerColumn(id="c1", label="City")]
    assert columns_hash(one) == columns_hash([AnswerColumn(id="c1", label="City")])
    assert columns_hash(one) != columns_hash([AnswerColumn(id="c1", label="City", kind=ColumnKind.TEXT)])
