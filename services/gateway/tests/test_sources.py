"""Whose address a gRPC call counts for, with and without a proxy before the API."""

from __future__ import annotations

import pytest

from querybus_gateway.access.client_address import Proxies, host_of


@pytest.mark.parametrize(
    ("peer", "host"),
    [
        ("ipv4:127.0.0.1:40000", "127.0.0.1"),
        ("ipv6:[::1]:40000", "::1"),
        ("ipv6:%5Bfe80::1%25eth0%5D:40000", "fe80::1%eth0"),
        ("unix:/run/door.sock", "unix:/run/door.sock"),
    ],
)
def test_a_peer_is_called_as_the_http_api_calls_it(peer: str, host: str) -> None:
    assert host_of(peer) == host


def test_nobodys_word_is_taken_but_a_trusted_proxys() -> None:
    assert Proxies("").source("ipv4:10.0.0.1:5", ["9.9.9.9"]) == "10.0.0.1"
    assert Proxies("10.0.0.0/8").source("ipv4:11.0.0.1:5", ["9.9.9.9"]) == "11.0.0.1"
    assert Proxies("10.0.0.1, no name").source("ipv4:10.0.0.1:5", ["9.9.9.9"]) == "9.9.9.9"
    assert Proxies("10.0.0.1").source("ipv4:10.0.0.1:5", []) == "10.0.0.1"


def test_what_a_caller_says_of_itself_counts_for_nothing() -> None:
    proxies = Proxies("10.0.0.0/8")
    assert proxies.source("ipv4:10.0.0.1:5", ["1.1.1.1, 2.2.2.2"]) == "2.2.2.2"
    assert proxies.source("ipv4:10.0.0.1:5", ["1.1.1.1", "2.2.2.2, 10.0.0.7"]) == "2.2.2.2"
    assert proxies.source("ipv4:10.0.0.1:5", ["10.9.9.9"]) == "10.9.9.9"
    assert Proxies("*").source("ipv4:10.0.0.1:5", ["1.1.1.1, 2.2.2.2"]) == "1.1.1.1"
