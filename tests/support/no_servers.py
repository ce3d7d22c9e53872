"""A plugin for pytest under which a unit test that starts a process or listens on a port fails.

`make test-unit` and `make test` run with it. A unit test lies in a member's `tests`, outside of `servers`, and bears no mark that
says otherwise.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any, Final

import pytest

_FORBIDDEN: Final = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "socket.bind"})
_MARKS: Final = ("connected", "process", "data", "servers", "slow")
_running: list[str] = []


def _refuse(event: str, _arguments: tuple[Any, ...]) -> None:
    if _running and event in _FORBIDDEN:
        raise RuntimeError(f"{event} in a unit test: tests that start a server or a process lie under servers/")


sys.addaudithook(_refuse)


def _forbid(item: pytest.Item) -> Generator[None, None, None]:
    if item.nodeid.startswith("tests/") or "/servers/" in item.nodeid or any(map(item.get_closest_marker, _MARKS)):
        return (yield)
    _running.append(item.nodeid)
    try:
        return (yield)
    finally:
        _running.pop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Forbid it in a unit test's fixtures. What a marked test of the module has started may be ended behind any test."""
    return (yield from _forbid(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Forbid it in a unit test itself."""
    return (yield from _forbid(item))
