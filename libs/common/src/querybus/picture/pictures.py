"""Pictures on request: a child process is started for the first, kept for the next, and killed when it takes too long.

A specification is bounded, names no address and carries its own rows; so drawing touches no network. One picture at a
time; who waits too long, or comes when too many wait, gets that as a failure.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any, Final, cast

from querybus.core.failure import Facts, Failure, FailureCode
from querybus.ops.log import get_log
from querybus.picture.child import DRAWN, LENGTH, NO_FONT

SPEC_BYTES_MAX: Final = 1_000_000
PICTURE_BYTES_MAX: Final = 8 << 20
SECONDS_MAX: Final = 15.0
"""The first picture of a child takes 1 to 4 s, a further one 0.2 s."""
WAITING_MAX: Final = 16
PICTURES_PER_CHILD_MAX: Final = 200
IDLE_SECONDS_MAX: Final = 60.0
FONT: Final = "Noto Sans CJK SC, WenQuanYi Micro Hei, Source Han Sans SC, PingFang SC, Microsoft YaHei, Noto Sans, DejaVu Sans, Liberation Sans, sans-serif"
"""The first of them that is installed; without one that has Chinese signs a PNG that needs them is refused."""
NO_FONT_FACTS: Final = Facts(rule="no_font")
_ADDRESS_KEYS: Final = frozenset({"url", "href"})
_CONFIG: Final[Mapping[str, object]] = {"font": FONT, "background": "white"}

_log = get_log(__name__)


class PictureForm(StrEnum):
    """What a picture can be."""

    PNG = "png"
    SVG = "svg"


class Pictures:
    """Draws charts in one child process. A part: start, drain, ping; nothing runs before the first picture."""

    name = "pictures"

    def __init__(
        self,
        *,
        command: Sequence[str] = (sys.executable, "-P", "-m", "querybus.picture.child"),
        seconds_max: float = SECONDS_MAX,
        idle_seconds_max: float = IDLE_SECONDS_MAX,
    ) -> None:
        self._command = tuple(command)
        self._seconds_max = seconds_max
        self._idle_seconds_max = idle_seconds_max
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._process: asyncio.subprocess.Process | None = None
        self._drawn = 0
        self._idle: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        """The child's process id, if there is one."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def start(self) -> None:
        """Do nothing: the child comes with the first picture."""

    async def drain(self) -> None:
        """End the child, whatever it does."""
        await self._end()

    async def ping(self) -> str | None:
        """Return None: a renderer that cannot draw takes nothing from an answer."""
        return None

    async def draw(self, spec: Mapping[str, object], form: PictureForm) -> bytes | Failure:
        """Return the picture of a Vega-Lite specification.

        Failures: `resource_limit` for one that is too large, `timeout` for one that takes too long or waits too long,
        `safety` for one that names an address, `internal` for one that cannot be drawn (rule `no_font`: Chinese signs
        without a font that has them).
        """
        if _names_an_address(spec):
            return Failure.of(FailureCode.SAFETY, "a chart carries its own rows and names no address")
        data = json.dumps({"spec": spec, "form": form.value, "config": _CONFIG}, ensure_ascii=False).encode()
        if len(data) > SPEC_BYTES_MAX:
            return Failure.of(FailureCode.RESOURCE_LIMIT, f"the chart is larger than {SPEC_BYTES_MAX} bytes")
        if self._waiting >= WAITING_MAX:
            return Failure.of(FailureCode.TIMEOUT, "too many pictures are asked for at once")
        self._waiting += 1
        try:
            async with self._turn:
                return await self._drawn_by_child(data)
        finally:
            self._waiting -= 1

    async def _drawn_by_child(self, data: bytes) -> bytes | Failure:
        if self._idle is not None:
            self._idle.cancel()
        try:
            async with asyncio.timeout(self._seconds_max):
                answer = await self._exchange(data)
        except (TimeoutError, asyncio.CancelledError) as error:
            # What it draws is lost either way, and it might draw for ever.
            await self._end()
            if isinstance(error, asyncio.CancelledError):
                raise
            return Failure.of(FailureCode.TIMEOUT, f"the picture was not drawn within {self._seconds_max:g} s")
        except (asyncio.IncompleteReadError, ConnectionError, OSError) as error:
            await self._end()
            _log.warning("picture.child_died", error=type(error).__name__)
            return Failure.of(FailureCode.INTERNAL, "the renderer ended before the picture was drawn")
        self._drawn += 1
        if self._drawn >= PICTURES_PER_CHILD_MAX:
            await self._end()
        else:
            self._idle = asyncio.get_running_loop().call_later(self._idle_seconds_max, self._leave)
        if answer[:1] == NO_FONT:
            return Failure.of(FailureCode.INTERNAL, "no font here has the Chinese signs of this picture", NO_FONT_FACTS)
        if answer[:1] != DRAWN:
            return Failure.of(FailureCode.INTERNAL, answer[1:].decode("utf-8", "replace"))
        return answer[1:]

    async def _exchange(self, data: bytes) -> bytes:
        process = self._process
        if process is None or process.returncode is not None:
            process = self._process = await self._spawn()
        writer, reader = process.stdin, process.stdout
        assert writer is not None and reader is not None  # noqa: PT018, S101 - both are pipes
        writer.write(LENGTH.pack(len(data)) + data)
        await writer.drain()
        size = LENGTH.unpack(await reader.readexactly(LENGTH.size))[0]
        if size > PICTURE_BYTES_MAX:
            raise ConnectionError("the picture is too large")
        return await reader.readexactly(size)

    async def _spawn(self) -> asyncio.subprocess.Process:
        self._drawn = 0
        return await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            # No secret of the service reaches the renderer.
            env={name: os.environ[name] for name in ("PATH", "LANG", "HOME", "TMPDIR") if name in os.environ},
        )

    def _leave(self) -> None:
        """Let an idle child go: it ends when its input does."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        self._process = None

    async def _end(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _names_an_address(part: object) -> bool:
    """Return whether any key of a specification could make the renderer fetch something."""
    waiting: list[object] = [part]
    while waiting:
        match waiting.pop():
            case Mapping() as found:
                table = cast("Mapping[str, Any]", found)
                if not _ADDRESS_KEYS.isdisjoint(table):
                    return True
                # Rows are flat and hold text of the database, which is drawn and never followed.
                waiting += [value for key, value in table.items() if key != "values"]
            case list() | tuple() as several:
                waiting += cast("Sequence[object]", several)
            case _:
                pass
    return False
