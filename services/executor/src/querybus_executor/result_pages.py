"""Keeps the pages of a result in the bus's result store, as Arrow; a store without room costs the page, not the query."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from querybus.bus.pages import PageStore, encode_page
from querybus.bus.publish import BusTrouble, TooLarge
from querybus.core.messages import ResultColumn, Scalar
from querybus.ops.log import get_log
from querybus_executor.ports import Run

_log = get_log(__name__)


class ResultPages:
    """The executor's side of the result store."""

    def __init__(self, store: PageStore) -> None:
        self._store = store

    async def put(
        self, run: Run, page: int, columns: Sequence[ResultColumn], rows: Sequence[Sequence[Scalar]]
    ) -> str | None:
        """Keep a page and return its SHA-256; None where the store is full or the page too large for it.

        Raises BusTrouble where the bus itself is in trouble.
        """
        # In a thread: the first page of a process loads Arrow, which takes a tenth of a second.
        data = await asyncio.to_thread(encode_page, columns, rows)
        try:
            return await self._store.put(run.tenant, run.query, run.token, page, data)
        except TooLarge:
            _log.warning("page.too_large", query_id=run.query, page=page, bytes=len(data))
            return None
        except BusTrouble as trouble:
            if not trouble.full:
                raise
            _log.warning("page.store_full", query_id=run.query, page=page)
            return None
