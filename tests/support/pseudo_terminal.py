"""A pseudo terminal that a test types at and looks at, as a person would."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import time
from collections.abc import Mapping
from pathlib import Path


class Terminal:
    """A command at a pseudo terminal."""

    def __init__(self, command: list[str], environment: Mapping[str, str], folder: Path) -> None:
        self.pid, self._fd = pty.fork()
        if self.pid == 0:  # the child becomes the command
            os.chdir(folder)
            # As a person's shell starts it: what runs in the background hands on that interrupts are ignored.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execve(command[0], command, {**environment, "TERM": "dumb", "COLUMNS": "100"})
        self.seen = ""

    def until(self, pattern: str, seconds: float = 30) -> str:
        """Return what was shown up to the pattern since the last call."""
        ends = time.monotonic() + seconds
        while (result := re.search(pattern, self.seen)) is None:
            assert time.monotonic() < ends, f"no {pattern!r} in {self.seen!r}"
            if select.select([self._fd], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self._fd, 4_096).decode(errors="replace")
                except OSError as error:
                    raise AssertionError(f"ended before {pattern!r}: {self.seen!r}") from error
        shown, self.seen = self.seen[: result.end()], self.seen[result.end() :]
        return shown

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def end(self) -> int:
        """Return the exit code; reads what is still shown, so that the command can end."""
        ends = time.monotonic() + 20
        while time.monotonic() < ends:
            if select.select([self._fd], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self._fd, 4_096).decode(errors="replace")
                except OSError:
                    break
        os.close(self._fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
