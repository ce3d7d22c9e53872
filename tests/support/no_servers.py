"""A plugin for pytest under which a test that starts a process or listens on a port fails: `make test-unit` runs with it."""

from __future__ import annotations

import os
import sys
from typing import Any, Final

_FORBIDDEN: Final = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "socket.bind"})


def _refuse(event: str, _arguments: tuple[Any, ...]) -> None:
    if event in _FORBIDDEN:
        raise RuntimeError(f"{event} in a unit test: tests that start a server or a process lie under servers/")


# The process that only hands the tests out starts the others.
if "PYTEST_XDIST_WORKER" in os.environ:
    sys.addaudithook(_refuse)
