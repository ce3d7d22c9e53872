"""Sees whatever any process opens, reads, lists, makes or removes in one folder. Linux only (inotify)."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path
from typing import Final, Self

_NONBLOCK: Final = os.O_NONBLOCK
_EVENTS: Final = {
    0x001: "read",
    0x002: "changed",
    0x004: "changed its mode",
    0x020: "opened",
    0x040: "moved away",
    0x080: "moved here",
    0x100: "made",
    0x200: "removed",
}
_HEAD: Final = struct.Struct("iIII")


class FileWatch:
    """What happened to a folder and the files in it since the block began, in words."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = -1

    def __enter__(self) -> Self:
        libc = ctypes.CDLL(None, use_errno=True)
        self._file = libc.inotify_init1(_NONBLOCK)
        if self._file < 0 or libc.inotify_add_watch(self._file, os.fsencode(self._folder), sum(_EVENTS)) < 0:
            raise OSError(ctypes.get_errno(), "no inotify")
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def seen(self) -> list[str]:
        """Return what happened since this was last asked, each thing once."""
        result: dict[str, None] = {}
        while True:
            try:
                data = os.read(self._file, 1 << 16)
            except BlockingIOError:
                return list(result)
            at = 0
            while at < len(data):
                _, mask, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size + length
                name = data[at - length : at].rstrip(b"\0").decode("utf-8", "replace") or "the folder"
                result |= {f"{name} was {word}": None for bit, word in _EVENTS.items() if mask & bit}
