"""A bounded pool of small child processes that can be killed: where embedded engines run.

One statement at a time in each child. Some children are reserved, so that an explain never waits behind statements
that fill the pool. A child that does not end in time, or whose caller was cancelled, is asked to stop and then
killed; the next caller gets a fresh one. Frames are a four-byte length and JSON, or the rows of a large answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import struct
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final

STOP_SECONDS_MAX: Final = 0.15
FRAME_BYTES_MAX: Final = 256 << 20
_LENGTH: Final = struct.Struct(">I")


class ChildDied(Exception):
    """The process ended before its answer did."""


class Child:
    """One process. `opened`: the keys it knows; `busy`: an answer is not read to its end; `tired`: it has grown."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.opened: set[str] = set()
        self.busy = False
        self.tired = False

    @property
    def fit(self) -> bool:
        """Whether the next statement may have it."""
        return self.alive and not self.tired

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    def send(self, request: dict[str, Any]) -> None:
        """Hand over a request; ChildDied if nobody is there."""
        body = json.dumps(request, ensure_ascii=False).encode("utf-8", "replace")
        writer = self._process.stdin
        if writer is None or writer.is_closing():
            raise ChildDied
        writer.write(_LENGTH.pack(len(body)) + body)

    async def frame(self) -> dict[str, Any] | bytes:
        """Return the next frame, parsed where it is JSON; ChildDied if it never comes."""
        reader = self._process.stdout
        if reader is None:
            raise ChildDied
        try:
            size = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))[0]
            if size > FRAME_BYTES_MAX:
                raise ChildDied
            data = await reader.readexactly(size)
            return json.loads(data) if data.startswith(b"{") else data
        except (asyncio.IncompleteReadError, ConnectionError, json.JSONDecodeError) as error:
            raise ChildDied from error

    def stop(self) -> None:
        """Ask it to end the statement in hand."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGUSR1)

    async def kill(self) -> None:
        """End it, whatever it does, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


class Children:
    """The pool: at most `size` children for statements and `reserved` more that only reserved work gets."""

    def __init__(self, command: Sequence[str], *, size: int, reserved: int) -> None:
        self.name = "children"
        self._command = tuple(command)
        self._free = {False: asyncio.Semaphore(size), True: asyncio.Semaphore(reserved)}
        self._sizes = {False: size, True: reserved}
        self._idle: dict[bool, list[Child]] = {False: [], True: []}
        self._all: set[Child] = set()
        self._settling: set[asyncio.Task[None]] = set()
        self._emptying = asyncio.Lock()
        self.waiting = 0

    @property
    def open(self) -> int:
        """Children that live."""
        return len(self._all)

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the children that live."""
        return tuple(item.pid for item in self._all)

    @property
    def idle(self) -> int:
        """Children that wait for work."""
        return sum(len(item) for item in self._idle.values())

    def retire_idle(self) -> None:
        """Lend no child again that waits for work now: it is ended instead."""
        for idle in self._idle.values():
            for child in idle:
                child.tired = True

    async def start(self) -> None:
        """Start one child of each sort, so that the first statement does not wait for it."""
        for reserved in (False, True):
            if not self._idle[reserved] and self._sizes[reserved]:
                self._idle[reserved].append(await self._spawn())

    async def drain(self) -> None:
        """End all children; statements that run are ended with them."""
        for item in tuple(self._all):
            await self._end(item)
        for idle in self._idle.values():
            idle.clear()
        if self._settling:
            await asyncio.gather(*self._settling, return_exceptions=True)

    async def ping(self) -> str | None:
        """Return None: children are started when they are needed."""
        return None

    @contextlib.asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        """Let no child live while the block runs: waits for all that run, and keeps new borrowers waiting."""
        async with self._emptying:
            taken: list[bool] = []
            try:
                for reserved, size in self._sizes.items():
                    for _ in range(size):
                        await self._free[reserved].acquire()
                        taken.append(reserved)
                for idle in self._idle.values():
                    while idle:
                        await self._end(idle.pop())
                yield
            finally:
                for reserved in taken:
                    self._free[reserved].release()

    @contextlib.asynccontextmanager
    async def child(self, *, reserved: bool = False) -> AsyncGenerator[Child]:
        """Lend a child; waits for one, so wrap it in a timeout.

        Left with an answer half read (a timeout, a cancel), the child is asked to stop, then killed, without
        keeping its borrower waiting; its place is free again when that is done.
        """
        self.waiting += 1
        try:
            await self._free[reserved].acquire()
        finally:
            self.waiting -= 1
        try:
            idle = self._idle[reserved]
            child = None
            while idle and child is None:
                child = idle.pop()
                if not child.fit:
                    await self._end(child)
                    child = None
            child = child or await self._spawn()
        except BaseException:
            self._free[reserved].release()
            raise
        try:
            yield child
        finally:
            if child.busy or not child.fit:
                task = asyncio.get_running_loop().create_task(self._settle(child, reserved=reserved))
                self._settling.add(task)
                task.add_done_callback(self._settling.discard)
            else:
                self._give_back(child, reserved=reserved)

    def _give_back(self, child: Child, *, reserved: bool) -> None:
        self._idle[reserved].append(child)
        self._free[reserved].release()

    async def _settle(self, child: Child, *, reserved: bool) -> None:
        if child.busy and await _stopped(child):
            child.busy = False
        if child.busy or not child.fit:
            await self._end(child)
            self._free[reserved].release()
        else:
            self._give_back(child, reserved=reserved)

    async def _spawn(self) -> Child:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
            limit=1 << 20,
        )
        child = Child(process)
        self._all.add(child)
        return child

    async def _end(self, child: Child) -> None:
        self._all.discard(child)
        await child.kill()


async def _stopped(child: Child) -> bool:
    """Ask the child to stop, read its answer away, and return whether that worked in time."""
    child.stop()
    try:
        async with asyncio.timeout(STOP_SECONDS_MAX):
            while True:
                frame = await child.frame()
                if isinstance(frame, dict) and "end" in frame:
                    break
    except (TimeoutError, ChildDied):
        return False
    return True
