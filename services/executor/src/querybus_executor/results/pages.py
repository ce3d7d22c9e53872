"""Keeps the pages of a result in the bus's result store, as Arrow; a store without space costs the pages, not the query.

Pages are made and sent while the next rows are read, a few at a time: what is on its way is bounded by PAGES_AT_ONCE_MAX.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from querybus.bus.log.publish import BusTrouble, TooLarge
from querybus.bus.stores.pages import Batch, PageStore, encode_batches
from querybus.core.messages import PagesAddress
from querybus.ops.log import get_log
from querybus_executor.ports import Run
from querybus_executor.sharing.turns import Turns

PAGES_AT_ONCE_MAX: Final = 4
"""Of one run."""
PAGES_OF_ALL_MAX: Final = 8
PAGES_SPARE: Final = 2

_log = get_log(__name__)


class ResultPages:
    """The executor's side of the result store."""

    def __init__(self, store: PageStore) -> None:
        self._store = store
        self._turns = Turns(PAGES_OF_ALL_MAX, PAGES_SPARE)

    def writer(self, run: Run, page_size: int) -> RunPages:
        """Return a place for the pages of one run; the bytes of all runs are shared fairly by their tenants."""
        return RunPages(self._store, run, page_size, self._turns)


class RunPages:
    """The pages of one run, numbered from 1 in the order in which they are put."""

    def __init__(self, store: PageStore, run: Run, page_size: int, turns: Turns) -> None:
        self.first_rows = page_size
        self._turns = turns
        self._store = store
        self._run = run
        self._free = asyncio.Semaphore(PAGES_AT_ONCE_MAX)
        self._tasks: list[asyncio.Task[str | None]] = []
        self._rows: list[int] = []
        self._failed = False
        self.has_long_row = False
        """Whether a page could not be kept because one row of it is longer than the bus takes."""

    async def __aenter__(self) -> RunPages:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def put(self, batches: Sequence[Batch]) -> bool:
        """Send the next page, waiting while too many are on their way; False once one could not be kept."""
        await self._free.acquire()
        if self._failed:
            self._free.release()
            return False
        self._rows.append(sum(batch.num_rows for batch in batches))
        self._tasks.append(asyncio.get_running_loop().create_task(self._send(len(self._rows), batches)))
        return True

    async def kept(self) -> PagesAddress | None:
        """Return the address of all pages, or None where one was not kept; raises BusTrouble."""
        sha256 = [item for item in await asyncio.gather(*self._tasks) if item is not None]
        if len(sha256) < len(self._tasks):
            return None
        return PagesAddress(
            run=self._run.token,
            count=len(sha256),
            page_size=self.first_rows,
            sha256=tuple(sha256),
            rows=tuple(self._rows),
        )

    async def _send(self, page: int, batches: Sequence[Batch]) -> str | None:
        try:
            async with self._turns.turn(self._run.tenant) as cost:
                data = await asyncio.to_thread(encode_batches, batches)
                cost.used = len(data)
                sha256 = await self._stored(page, data)
            self._failed = self._failed or sha256 is None
        except BaseException:
            self._failed = True
            raise
        else:
            return sha256
        finally:
            self._free.release()

    async def _stored(self, page: int, data: bytes) -> str | None:
        run = self._run
        try:
            return await self._store.put(run.tenant, run.query, run.token, page, data)
        except TooLarge:
            self.has_long_row = True
            _log.warning("page.too_large", query_id=run.query, page=page, bytes=len(data))
        except BusTrouble as trouble:
            if not trouble.full:
                raise
            _log.warning("page.store_full", query_id=run.query, page=page)
        return None
