"""How many rows a result that was cut would have had: counted within a short time of its own, else estimated.

The count is the approved statement without the bound that was put on it, judged by the guard like any other text. What
the database cannot say in time is taken from its plan and marked as an estimate; an estimate that is below what was
already read is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from querybus.core.failure import Failure
from querybus.core.messages import Approved
from querybus.sql.limits.row_limit import unbind
from querybus_executor.ports import Database, Purpose, Rows

COUNT_SECONDS_MAX: Final = 3.0
ESTIMATE_SECONDS_MAX: Final = 1.0

NOT_REPORTED: Final = (None, False)


async def total_of(
    body: Approved,
    known: int,
    database: Database,
    refusal: Callable[[str], Failure | None],
    seconds_left: float,
    *,
    estimates: bool = True,
) -> tuple[int | None, bool]:
    """Return the number of rows, and whether it is an estimate; `known` rows have been read, and there are more.

    `estimates` False: the planner is not asked, because it counts rows that the reader may not see.
    """
    unbound = unbind(body.sql, body.dialect, body.row_limit + 1)
    if unbound is None or seconds_left <= ESTIMATE_SECONDS_MAX:
        return NOT_REPORTED
    if refusal(unbound.counting) is None:
        seconds = min(COUNT_SECONDS_MAX, seconds_left - ESTIMATE_SECONDS_MAX)
        result = await database.run(unbound.counting, rows_max=1, seconds_max=seconds, purpose=Purpose.EXECUTE)
        counted = result.rows[0][0] if isinstance(result, Rows) and result.rows else None
        if isinstance(counted, int):
            return _within(counted, body.limit_asked), False
    if not estimates or refusal(unbound.sql) is not None:
        return NOT_REPORTED
    plan = await database.explain(unbound.sql, seconds_max=ESTIMATE_SECONDS_MAX)
    if isinstance(plan, Failure) or plan.rows is None:
        return NOT_REPORTED
    estimate = _within(plan.rows, body.limit_asked)
    return (estimate, True) if estimate > known else NOT_REPORTED


def _within(rows: int, limit: int | None) -> int:
    return rows if limit is None else min(rows, limit)
