"""All rows of a result, for facts and pictures that must not speak of its first page alone.

Read from the kept pages, each checked against the hash that the conclusion names. Limits: ROWS_MAX rows, BYTES_MAX
bytes, SECONDS_MAX; beyond them, and in any trouble, there are none, and only the first rows are described.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from querybus.bus.log.publish import BusTrouble
from querybus.bus.stores.pages import PageUnreadable, Rows, decode_page, page_sha256
from querybus.core.envelope import Envelope
from querybus.core.messages import Concluded, PagesAddress, Result, Scalar
from querybus.ops.log import get_log

ROWS_MAX: Final = 20_000
BYTES_MAX: Final = 8_000_000
SECONDS_MAX: Final = 2.0

_log = get_log(__name__)


class Pages(Protocol):
    """The kept pages of results."""

    async def get(self, tenant: str, query: str, run: str, page: int) -> bytes | None:
        """Return a page's bytes, or None where it is not kept; raises BusTrouble."""
        ...


async def whole_result(envelope: Envelope[Concluded], pages: Pages) -> Result | None:
    """Return the result with all its rows, or None where they are at hand already or cannot be had in time."""
    result = envelope.body.result
    kept = None if result is None else result.pages
    if result is None or kept is None or not len(result.rows) < result.row_count <= ROWS_MAX:
        return None
    try:
        async with asyncio.timeout(SECONDS_MAX):
            rows = await _rows(envelope, kept, pages)
    except (BusTrouble, PageUnreadable, TimeoutError) as trouble:
        _log.warning("result.not_whole", query_id=envelope.query_id, reason=str(trouble) or type(trouble).__name__)
        return None
    return None if rows is None or len(rows) != result.row_count else result.model_copy(update={"rows": rows})


async def _rows(envelope: Envelope[Concluded], kept: PagesAddress, pages: Pages) -> Rows | None:
    rows: list[tuple[Scalar, ...]] = []
    size = 0
    for number, sha256 in enumerate(kept.sha256, start=1):
        data = await pages.get(envelope.tenant, envelope.query_id, kept.run, number)
        size += len(data or b"")
        if data is None or page_sha256(data) != sha256 or size > BYTES_MAX:
            return None
        _, found = await asyncio.to_thread(decode_page, data)
        rows.extend(found)
    return tuple(rows)
