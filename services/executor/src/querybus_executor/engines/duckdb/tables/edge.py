"""A folder of tables behind DuckDB's hardened worker: its file is made anew whenever the folder has changed."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from querybus.core.failure import Failure, FailureCode
from querybus_executor.connections.config import ConnectionConfig
from querybus_executor.engines.duckdb.tables.listing import Listing, TooMuch, list_tables
from querybus_executor.workers.embedded import child_command

BUILD_SECONDS_MAX: Final = 300.0
UNREAD_SHOWN_MAX: Final = 5


class TableFolder:
    """One connection's folder or file of tables, and the DuckDB file that was made of it. It goes with the process."""

    def __init__(self, config: ConnectionConfig) -> None:
        self._source = config.file_path
        self._place = tempfile.TemporaryDirectory(prefix="querybus-tables-", ignore_cleanup_errors=True)
        self._state: object = None
        self.path = Path(self._place.name) / "tables.duckdb"
        self.labels: dict[str, str] = {}
        self.unread: tuple[tuple[str, str], ...] = ()

    @property
    def root(self) -> Path:
        """The folder outside of which nothing is read."""
        source = self._source.resolve()
        return source if source.is_dir() else source.parent

    @property
    def notice(self) -> str:
        """Which files could not be read, and why; empty where all could."""
        shown = "; ".join(f"{name}: {reason}" for name, reason in self.unread[:UNREAD_SHOWN_MAX])
        more = len(self.unread) - UNREAD_SHOWN_MAX
        return f"not read: {shown}{f'; and {more} more' if more > 0 else ''}" if shown else ""

    async def refresh(self) -> Failure | None:
        """Make the file anew if the folder has changed; return why it cannot be read, or None."""
        try:
            listing = await asyncio.to_thread(list_tables, self._source)
        except TooMuch as error:
            return Failure.of(FailureCode.CONNECTION, str(error))
        except OSError as error:
            is_missing = isinstance(error, FileNotFoundError)
            return Failure.of(
                FailureCode.CONNECTION, "the file or folder does not exist" if is_missing else "it cannot be listed"
            )
        if listing.state == self._state and self.path.exists():
            return None
        if not listing.sources:
            return Failure.of(FailureCode.CONNECTION, "the folder holds no CSV, TSV, Parquet, JSON lines or Excel file")
        reply = await self._built(listing)
        if isinstance(reply, Failure):
            return reply
        self.unread = (*listing.unread, *((name, reason) for name, reason in reply["unread"]))
        self.labels = {item["table"]: item["label"] for item in reply["tables"]}
        if not self.labels:
            return Failure.of(FailureCode.CONNECTION, self.notice)
        self._state = listing.state
        return None

    async def _built(self, listing: Listing) -> dict[str, Any] | Failure:
        made = self.path.with_name("made.duckdb")
        request = {
            "root": str(listing.root),
            "target": str(made),
            "sources": [asdict(item) for item in listing.sources],
        }
        process = await asyncio.create_subprocess_exec(
            *child_command("engines.duckdb.tables.builder", *_libraries()),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
        )
        try:
            async with asyncio.timeout(BUILD_SECONDS_MAX):
                out, _ = await process.communicate(json.dumps(request).encode())
        except TimeoutError:
            return Failure.of(FailureCode.CONNECTION, f"the files could not be read within {BUILD_SECONDS_MAX:g} s")
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            return Failure.of(
                FailureCode.CONNECTION, "the process that reads the files ended: they need more memory than it has"
            )
        # The worker opens it again when it is another file.
        await asyncio.to_thread(made.replace, self.path)
        return json.loads(out)


def _libraries() -> list[Path]:
    """Return the folders of DuckDB, of the library that recognises encodings and, where it is installed, of the one that reads Excel."""
    found = (importlib.util.find_spec(name) for name in ("duckdb", "python_calamine", "charset_normalizer"))
    return [Path(spec.origin).parents[1] for spec in found if spec is not None and spec.origin is not None]
