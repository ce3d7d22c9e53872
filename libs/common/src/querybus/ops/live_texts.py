"""Texts of a folder that an operator may change while the process runs; a bad change leaves the old texts in use."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, Generic, TypeVar

from typing_extensions import override

from querybus.ops.log import get_log

INTERVAL_SECONDS: Final = 2.0
FILES_MAX: Final = 1_000
_KeyT = TypeVar("_KeyT")
_TextT = TypeVar("_TextT")
_State = tuple[tuple[str, int, int], ...]
_log = get_log(__name__)


class BadText(ValueError):
    """A text of the folder cannot be used; the message names its file and line."""


class LiveTexts(Mapping[_KeyT, _TextT], Generic[_KeyT, _TextT]):
    """What `load` makes of a folder, read again at the first use after a file changed.

    The folder is looked at every INTERVAL_SECONDS at most. Texts that `load` refuses with an OSError or a ValueError at
    construction are raised; later they are logged, reported to `on_state`, and the texts before them stay.
    """

    def __init__(
        self,
        folder: Path | None,
        load: Callable[[Path | None], Mapping[_KeyT, _TextT]],
        *,
        on_state: Callable[[bool], None] = lambda _is_refused: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`on_state` receives whether the folder's newest state is refused."""
        self._folder = folder
        self._load = load
        self._on_state = on_state
        self._clock = clock
        self._looked_at = clock()
        self._state = _state_of(folder)
        self._texts = load(folder)
        on_state(False)

    @override
    def __getitem__(self, key: _KeyT) -> _TextT:
        self._refresh()
        return self._texts[key]

    @override
    def __iter__(self) -> Iterator[_KeyT]:
        return iter(self._texts)

    @override
    def __len__(self) -> int:
        return len(self._texts)

    def _refresh(self) -> None:
        if self._folder is None or self._clock() - self._looked_at < INTERVAL_SECONDS:
            return
        self._looked_at = self._clock()
        state = _state_of(self._folder)
        if state == self._state:
            return
        self._state = state
        try:
            self._texts = self._load(self._folder)
        except (OSError, ValueError) as error:
            _log.error("texts.refused", reason=str(error), folder=str(self._folder), in_use="the texts before")
            self._on_state(True)
            return
        _log.info("texts.replaced", folder=str(self._folder))
        self._on_state(False)


def _state_of(folder: Path | None) -> _State:
    """Return name, time and size of every Markdown file of a folder; nothing of one that cannot be read."""
    if folder is None:
        return ()
    state: list[tuple[str, int, int]] = []
    try:
        for file in folder.rglob("*.md"):
            facts = file.stat()
            state.append((str(file), facts.st_mtime_ns, facts.st_size))
            if len(state) >= FILES_MAX:
                break
    except OSError:
        return ()
    return tuple(sorted(state))


def read_text(file: Path, bytes_max: int) -> str:
    """Return a file's text; BadText with file and line for one that is empty, too large or no UTF-8."""
    data = file.read_bytes()
    if len(data) > bytes_max:
        raise BadText(f"{file}: {len(data)} bytes, at most {bytes_max}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadText(f"{file}:{line}: no UTF-8") from error
    if not text.strip():
        raise BadText(f"{file}:1: the text is empty")
    return text
