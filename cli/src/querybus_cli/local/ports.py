"""Ports for servers of this machine that nobody takes in between.

A port that the system chooses for a moment may become the source port of somebody's outgoing connection before its server
listens there, which then cannot start for as long as that connection lives. So ports are chosen below that range.
"""

from __future__ import annotations

import contextlib
import random
import socket
from pathlib import Path
from typing import Final

PORT_MIN: Final = 20_000
TRIES_MAX: Final = 1_000
_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_USUAL_MAX: Final = 32_768


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback address at which nobody listens now; OSError where there are not so many."""
    chooser = random.SystemRandom()
    with contextlib.ExitStack() as stack:
        ports: list[int] = []
        for _ in range(TRIES_MAX):
            if len(ports) == count:
                break
            port = chooser.randrange(PORT_MIN, max(PORT_MIN + 1, _outgoing_min()))
            with contextlib.suppress(OSError):
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
                ports.append(port)
        if len(ports) < count:
            raise OSError(f"no {count} free ports between {PORT_MIN} and {_outgoing_min()}")
        return ports


def _outgoing_min() -> int:
    """Return the first port that the system gives to outgoing connections."""
    try:
        return int(_RANGE.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return _USUAL_MAX
