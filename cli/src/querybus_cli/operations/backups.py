"""What `querybus operate backup` and `restore` do, as the bus user `backup user`: a folder with a file per stream and what they are.

The folder is whole when `backup.json` is in it, which is written last; it says of each file how long it is and its
SHA-256. Nothing is overwritten: neither a folder with something in it nor a stream that is there. The files hold what
people asked and were reported, and hashes of keys: only their owner may read them.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
import shutil
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from querybus import __version__
from querybus.bus.admin.permissions import BACKUP_USER
from querybus.bus.admin.snapshots import CHUNK_BYTES, Publisher, SnapshotError
from querybus.bus.connection import BusRefused, connect
from querybus.core.topology import BACKED_UP
from querybus_cli.operations import operator
from querybus_cli.operations.operator import Place
from querybus_cli.runtime import UsageError

MANIFEST: Final = "backup.json"
FORMAT: Final = 1
UNDER_WAY_SECONDS_MAX: Final = 610.0
"""The longest deadline of a query, and what it may take after it: whatever was under way so long ago is over."""
_DATED: Final = re.compile(r"\d{8}T\d{6}Z")

Json = dict[str, Any]
OnBytes = Callable[[str, int], None]
"""Receives the stream and how many bytes of it are done."""


@dataclass(frozen=True, slots=True)
class Copy:
    """One stream of a backup, as its manifest has it."""

    stream: str
    file: str
    bytes: int
    sha256: str
    messages: int
    config: Json
    state: Json


def place_of(url: str | None, password: str | None, store: Path) -> Place:
    """Return where the bus is, for its user `backup`; UsageError where nothing says so."""
    return operator.place_of(url, password, store, BACKUP_USER)


async def back_up(place: Place, folder: Path, on_bytes: OnBytes) -> tuple[Copy, ...]:
    """Copy what a backup holds into a folder that is empty or not there; UsageError says what is in the way."""
    if _is_taken(folder):
        raise UsageError(f"{folder} is there already: name a folder that is not, a backup overwrites nothing")
    async with _bus(place) as backup:
        _make(folder)
        copies = tuple([await _copied(backup, stream, folder, on_bytes) for stream in BACKED_UP])
    _write(folder, copies)
    return copies


def dated(parent: Path, now: dt.datetime) -> Path:
    """Return the folder of a backup that is taken now, below `parent`: its name is the time in UTC.

    >>> dated(Path("backups"), dt.datetime(2026, 11, 21, 2, 30, tzinfo=dt.UTC)).name
    '20261121T023000Z'
    """
    return parent / now.astimezone(dt.UTC).strftime("%Y%m%dT%H%M%SZ")


def thin_out(parent: Path, newest: Path, keep: int) -> tuple[Path, ...]:
    """Remove dated backups but the newest `keep` whole ones, `newest` among them, and what broke off before it."""
    others = sorted(path for path in parent.iterdir() if _DATED.fullmatch(path.name) and path.name < newest.name)
    whole = [item for item in others if (item / MANIFEST).is_file()]
    kept = whole[max(0, len(whole) - keep + 1) :]
    gone = tuple(item for item in others if item not in kept)
    for item in gone:
        shutil.rmtree(item)
    return gone


def read(folder: Path) -> tuple[Copy, ...]:
    """Return what a folder holds, every digest checked; UsageError names what is wrong with it."""
    try:
        known: Json = json.loads((folder / MANIFEST).read_text())
        if known["format"] != FORMAT:
            raise UsageError(f"{folder} has format {known['format']}, this program reads {FORMAT}")
        copies = tuple(Copy(**stream) for stream in known["streams"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{folder} is no whole backup: its {MANIFEST} cannot be read ({error})") from error
    unknown = {copy.stream for copy in copies} - set(BACKED_UP)
    if unknown:
        raise UsageError(f"{folder} holds what is no part of a backup: {', '.join(sorted(unknown))}")
    for copy in copies:
        digest, length = hashlib.sha256(), 0
        try:
            for part in _parts(folder / Path(copy.file).name):
                digest.update(part)
                length += len(part)
        except OSError as error:
            raise UsageError(f"{folder}: {copy.file} cannot be read ({error})") from error
        if (length, digest.hexdigest()) != (copy.bytes, copy.sha256):
            raise UsageError(f"{folder}: {copy.file} is not what was written ({length} bytes of {copy.bytes})")
    return copies


def taken_at(folder: Path) -> dt.datetime:
    """Return when the backup in a folder was done."""
    return dt.datetime.fromisoformat(json.loads((folder / MANIFEST).read_text())["taken_at"])


async def restore(
    place: Place,
    folder: Path,
    on_bytes: OnBytes,
    *,
    only: Sequence[str] = (),
    replicas: int | None = None,
    at_once: bool = False,
) -> tuple[Copy, ...]:
    """Make the streams of a folder anew on a bus that has none of them; return those that were made.

    `only` names streams; `replicas` is how many copies the bus keeps, where that differs. UsageError if the folder is
    not whole, a stream is there already, or the server refuses; the text then says what is done and what is left. So
    it is for a backup so young that a query of it may still be before its deadline, unless `at_once` is given.
    """
    copies = read(folder)
    over = taken_at(folder) + dt.timedelta(seconds=UNDER_WAY_SECONDS_MAX)
    if not at_once and dt.datetime.now(dt.UTC) < over:
        raise UsageError(
            f"until {over:%H:%M:%S} UTC what was under way when this backup was taken goes on where it stood, and a "
            "confirmed change could be made a second time: wait, or say --at-once if the services were stopped before it"
        )
    if unknown := set(only) - {copy.stream for copy in copies}:
        raise UsageError(f"{folder} does not hold {', '.join(sorted(unknown))}: it has {_names(copies)}")
    # Opposite to how they were taken: what the log speaks of is there before the log.
    wanted = [copy for copy in reversed(copies) if not only or copy.stream in only]
    done: list[Copy] = []
    async with _bus(place) as backup:
        if there := [item.stream for item in wanted if await backup.state(item.stream)]:
            raise UsageError(f"the bus has {', '.join(there)} already: restoring overwrites nothing, see the handbook")
        for item in wanted:
            config = item.config if replicas is None else {**item.config, "num_replicas": replicas}
            reported = 0

            def counted(copy: Copy = item) -> Generator[bytes]:
                nonlocal reported
                for part in _parts(folder / Path(copy.file).name):
                    yield part
                    reported += len(part)
                    on_bytes(copy.stream, reported)

            try:
                result = await backup.put(item.stream, config, item.state, counted())
            except SnapshotError as error:
                left = wanted[len(done) :]
                raise UsageError(f"{error}; restored: {_names(done) or 'nothing'}; left: {_names(left)}") from error
            # Messages may have aged since; the numbers go on from where they were.
            if result.last != item.state["last_seq"]:
                raise UsageError(f"{item.stream} ends with message {result.last}, not with {item.state['last_seq']}")
            done.append(item)
    return tuple(done)


async def _copied(backup: Publisher, stream: str, folder: Path, on_bytes: OnBytes) -> Copy:
    digest, length = hashlib.sha256(), 0
    name = f"{stream}.snapshot"
    with _private(folder / name).open("wb") as file:

        def write(part: bytes) -> None:
            nonlocal length
            file.write(part)
            digest.update(part)
            length += len(part)
            on_bytes(stream, length)

        config, state = await backup.take(stream, write)
    return Copy(stream, name, length, digest.hexdigest(), int(state["messages"]), config, state)


def _is_taken(folder: Path) -> bool:
    return folder.exists() and (not folder.is_dir() or any(folder.iterdir()))


def _make(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _write(folder: Path, copies: Sequence[Copy]) -> None:
    """Write the manifest, in one moment."""
    known = {
        "format": FORMAT,
        "querybus": __version__,
        "taken_at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "streams": [asdict(copy) for copy in copies],
    }
    file = _private(folder / f"{MANIFEST}.part")
    file.write_text(json.dumps(known, indent=1))
    file.rename(folder / MANIFEST)


@asynccontextmanager
async def _bus(place: Place) -> AsyncGenerator[Publisher]:
    try:
        connection = await connect(place.url, BACKUP_USER, place.password)
    except BusRefused as error:
        raise UsageError(str(error)) from error
    try:
        yield Publisher(connection)
    except SnapshotError as error:
        raise UsageError(str(error)) from error
    finally:
        await connection.close()


def _parts(file: Path) -> Generator[bytes]:
    with file.open("rb") as source:
        while part := source.read(CHUNK_BYTES):
            yield part


def _private(file: Path) -> Path:
    file.touch(mode=0o600, exist_ok=False)
    return file


def _names(copies: Sequence[Copy]) -> str:
    return ", ".join(copy.stream for copy in copies)


def view_of(copies: Sequence[Copy], folder: Path) -> Mapping[str, Any]:
    """Return a backup as JSON."""
    streams = [
        {"stream": copy.stream, "messages": copy.messages, "bytes": copy.bytes, "sha256": copy.sha256}
        for copy in copies
    ]
    return {"folder": str(folder), "streams": streams}
