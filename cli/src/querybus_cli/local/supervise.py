"""`querybus up`: the bus and every service as processes of their own, restarted when they die, stopped together.

A replica that dies is started again after a pause that doubles from RESTART_SECONDS_MIN to RESTART_SECONDS_MAX and falls
back once it has lived for a while. Logs go to files, one per replica, so that the terminal shows only what matters.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from querybus.core.subjects import StageName

RESTART_SECONDS_MIN: Final = 0.5
RESTART_SECONDS_MAX: Final = 15.0
LIVED_SECONDS: Final = 30.0
STOP_SECONDS: Final = 35.0
REPLICAS_MAX: Final = 64

Say = Callable[[str], None]


def parse_replicas(text: str) -> dict[StageName, int]:
    """Return the replicas of `generator=2,executor=2`; ValueError with what to type for anything else.

    >>> parse_replicas("generator=2")[StageName.GENERATOR]
    2
    """
    replicas = dict.fromkeys(StageName, 1)
    for part in filter(None, (character.strip() for character in text.split(","))):
        name, _, count = part.partition("=")
        if name not in list(StageName) or not count.isdecimal() or not 1 <= int(count) <= REPLICAS_MAX:
            known = ", ".join(StageName)
            raise ValueError(f"{part!r}: say SERVICE=COUNT, COUNT from 1 to {REPLICAS_MAX}, SERVICE one of {known}")
        replicas[StageName(name)] = int(count)
    return replicas


@dataclass(frozen=True, slots=True)
class Replica:
    """One process of a service; numbers count from 1. `others` are services that run in the same process."""

    service: StageName
    number: int
    environment: Mapping[str, str]
    log_file: Path
    others: tuple[StageName, ...] = ()

    @property
    def name(self) -> str:
        return f"{'+'.join((self.service, *self.others))}-{self.number}"

    @property
    def module(self) -> str:
        """What the process runs."""
        return "querybus_cli.local.colocated" if self.others else f"querybus_{self.service}"


class Supervisor:
    """Runs replicas until it is asked to stop."""

    def __init__(self, replicas: tuple[Replica, ...], say: Say) -> None:
        self.replicas = replicas
        self._say = say
        self._stopping = asyncio.Event()
        self._retired: set[str] = set()
        self._processes: dict[str, asyncio.subprocess.Process] = {}

    def stop(self) -> None:
        """Ask every process to finish its work and end; asked a second time, end them at once."""
        if not self._stopping.is_set():
            self._say(f"stopping: what runs may finish, {STOP_SECONDS:.0f} s at most; Ctrl-C again ends it at once")
            self._stopping.set()
            return
        for process in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()

    def retire(self, name: str) -> None:
        """End one replica in order and do not start it again."""
        self._retired.add(name)
        process = self._processes.get(name)
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()

    def pids(self) -> dict[str, int]:
        """Return the process ids of the replicas that run, by name."""
        return {name: process.pid for name, process in self._processes.items() if process.returncode is None}

    async def run(self) -> None:
        """Keep every replica running; return once all have ended after `stop`."""
        loop = asyncio.get_running_loop()
        for item in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(item, self.stop)
        async with asyncio.TaskGroup() as group:
            for replica in self.replicas:
                group.create_task(self._keep(replica))

    async def _keep(self, replica: Replica) -> None:
        pause = RESTART_SECONDS_MIN
        while not self._stopping.is_set():
            begun = time.monotonic()
            code = await self._live(replica)
            if self._stopping.is_set() or replica.name in self._retired:
                return
            pause = (
                RESTART_SECONDS_MIN if time.monotonic() - begun > LIVED_SECONDS else min(pause * 2, RESTART_SECONDS_MAX)
            )
            self._say(
                f"{replica.name} ended with {code}; starting it again in {pause:.1f} s (its log: {replica.log_file})"
            )
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)

    async def _live(self, replica: Replica) -> int:
        replica.log_file.parent.mkdir(parents=True, exist_ok=True)
        with replica.log_file.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                replica.module,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **replica.environment},
                # Ctrl-C reaches the supervisor alone, which then stops every replica in order.
                start_new_session=True,
            )
        self._processes[replica.name] = process
        ended = asyncio.create_task(process.wait())
        stopped = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not ended.done():
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            try:
                await asyncio.wait_for(asyncio.shield(ended), STOP_SECONDS)
            except TimeoutError:
                self._say(f"{replica.name} did not end within {STOP_SECONDS:.0f} s and is killed")
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
        return await ended
