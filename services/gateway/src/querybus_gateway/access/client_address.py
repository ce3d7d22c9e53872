"""Where a gRPC call comes from: its peer, or the caller that a trusted proxy names; the HTTP server does it by itself."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import unquote

_EVERYBODY: Final = "*"


class Proxies:
    """The proxies whose X-Forwarded-For is believed."""

    def __init__(self, text: str) -> None:
        """`text`: addresses or networks, separated by commas; `*` for whoever calls."""
        parts = [character.strip() for character in text.split(",") if character.strip()]
        self._all = _EVERYBODY in parts
        self._networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
        for part in parts:
            # What is no network, such as a name, names no address here.
            with suppress(ValueError):
                self._networks.append(ipaddress.ip_network(part, strict=False))

    def source(self, peer: str, forwarded: Sequence[str]) -> str:
        """Return the caller's address; `forwarded` are the values of X-Forwarded-For, in their order.

        >>> Proxies("10.0.0.0/8").source("ipv4:10.1.2.3:567", ["9.9.9.9, 8.8.8.8, 10.4.4.4"])
        '8.8.8.8'
        >>> Proxies("").source("ipv6:%5B::1%5D:567", ["9.9.9.9"])
        '::1'
        """
        host = host_of(peer)
        if not self._is_trusted(host):
            return host
        hops = [element.strip() for value in forwarded for element in value.split(",") if element.strip()]
        # Each proxy writes whom it has seen behind what it was given: the last that is no proxy is whom one of ours saw.
        return next((hop for hop in reversed(hops) if not self._is_trusted(hop)), hops[0] if hops else host)

    def _is_trusted(self, host: str) -> bool:
        if self._all:
            return True
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        return any(address in network for network in self._networks)


def host_of(peer: str) -> str:
    """Return the address of a peer as the HTTP API would call it.

    >>> host_of("ipv4:127.0.0.1:40000"), host_of("unix:/run/qb.sock")
    ('127.0.0.1', 'unix:/run/qb.sock')
    """
    kind, _, rest = peer.partition(":")
    if kind not in ("ipv4", "ipv6"):
        return peer
    return unquote(rest).rpartition(":")[0].strip("[]")
