"""Links in answers lead where the owner said, or where the gateway listens: nobody who sends a request chooses it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from querybus_gateway.http.request import links_base


def request_to(server: tuple[str, int | None] | None, *, public_url: str = "") -> Request:
    scope: dict[str, Any] = {
        "type": "http",
        "scheme": "http",
        "server": server,
        "path": "/v1/queries",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"evil.example"), (b"x-forwarded-host", b"evil.example")],
        "app": SimpleNamespace(state=SimpleNamespace(public_url=public_url)),
    }
    return Request(scope)


@pytest.mark.parametrize(
    ("server", "base"),
    [
        (("127.0.0.1", 8080), "http://127.0.0.1:8080"),
        (("::1", 8080), "http://[::1]:8080"),
        (("gateway", None), "http://gateway"),
        (None, ""),
    ],
)
def test_a_link_begins_with_the_address_that_listens_whatever_the_host_header_says(
    server: tuple[str, int | None] | None, base: str
) -> None:
    assert links_base(request_to(server)) == base


def test_a_link_begins_with_the_address_that_the_owner_set() -> None:
    request = request_to(("10.0.0.7", 8080), public_url="https://ask.example.com/querybus/")
    assert links_base(request) == "https://ask.example.com/querybus"
