"""Ctrl-C ends a question at once, with one line, and leaves neither a process nor a file behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

PATIENCE_SECONDS = 120.0
MODEL_SECONDS = 60.0
END_SECONDS_MAX = 20.0
"""Far more than a person waits, and far less than the model takes; how long it took is printed."""
MARK = "QUERYBUS_TEST_MARK"
pytestmark = [pytest.mark.connected, pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")]


def processes_with(mark: str) -> Iterator[str]:
    """Give the command line of every process that inherited the mark."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                yield (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


async def started(tmp_path: Path, question: str, **settings: str) -> tuple[asyncio.subprocess.Process, str]:
    mark = uuid.uuid4().hex
    environment = {name: value for name, value in os.environ.items() if not name.startswith("QUERYBUS_LLM")}
    environment |= {MARK: mark, "TMPDIR": str(tmp_path), **settings}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "from querybus_cli.entry import main; main()", "ask", question,
        env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    return process, mark


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, str, float]:
    """Send Ctrl-C; return the exit code, what was said, and how long it took."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    process.send_signal(signal.SIGINT)
    async with asyncio.timeout(END_SECONDS_MAX):
        _, said = await process.communicate()
    return process.returncode, said.decode(), loop.time() - begun


async def nothing_left(mark: str, tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while list(processes_with(mark)):
            await asyncio.sleep(0.1)
    assert list(tmp_path.iterdir()) == []


async def test_a_question_that_starts_ends_at_once(tmp_path: Path) -> None:
    process, mark = await started(tmp_path, "How many customers are there?")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not any("nats-server -c" in line for line in processes_with(mark)):
            assert process.returncode is None
            await asyncio.sleep(0.02)
    code, said, seconds = await ended(process)
    print(f"ended {seconds:.2f} s after Ctrl-C")
    assert (code, said) == (130, "querybus: ended by Ctrl-C\n")
    await nothing_left(mark, tmp_path)


async def test_a_question_whose_model_thinks_ends_at_once(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def think(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if b"/chat/completions" in await reader.readline():
            asked.set()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reader.read(), MODEL_SECONDS)
        writer.close()

    async with await asyncio.start_server(think, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        process, mark = await started(
            tmp_path,
            "Which customers bought umbrellas but never raincoats?",
            QUERYBUS_LLM_BASE_URL=f"http://127.0.0.1:{port}/v1",
            QUERYBUS_LLM_MODEL="slow",
        )
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asked.wait()
        code, said, seconds = await ended(process)
    print(f"ended {seconds:.2f} s after Ctrl-C")
    assert (code, said) == (130, "querybus: ended by Ctrl-C\n")
    await nothing_left(mark, tmp_path)
