"""Whether the cut of a ranking parted rows of one figure: "the store with the most staff" may be one of four.

Asked of the database with one more statement of two rows, only where the ranking itself was short and quick. It is judged by
the guard like any other text. Limits: rankings of distinct rows, and those with an offset, are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from querybus.core.failure import Failure
from querybus.core.messages import Approved, Result
from querybus_executor.ports import Database, Purpose, Rows

ROWS_MAX: Final = 20
DURATION_MS_MAX: Final = 100.0
SECONDS_MAX: Final = 1.0
FIGURE: Final = "ranked_by"


async def is_cut_at_tie(
    body: Approved, result: Result, ran: Rows, database: Database, refusal: Callable[[str], Failure | None]
) -> bool:
    """Return whether the row behind the last one has the same figure in what sorts first; False where that is not known."""
    if not 1 <= len(result.rows) == result.row_count <= ROWS_MAX or ran.duration_ms > DURATION_MS_MAX:
        return False
    sql = _last_two(body, result.row_count)
    if sql is None or refusal(sql) is not None:
        return False
    found = await database.run(sql, rows_max=2, seconds_max=SECONDS_MAX, purpose=Purpose.EXECUTE)
    if isinstance(found, Failure) or len(found.rows) < 2:
        return False
    last, following = (row[-1] for row in found.rows)
    return last is not None and last == following


def _last_two(body: Approved, count: int) -> str | None:
    """Return what gives the figure of a ranking's last row and of the row behind it, as the last column."""
    # Parsing costs a millisecond that only a ranking is worth.
    if f"LIMIT {count}" not in body.sql or "ORDER BY" not in body.sql or body.sql[:7].upper() == "EXPLAIN":
        return None
    try:
        tree = parse_one(body.sql, read=body.dialect.value)
    except SqlglotError:
        return None
    if not isinstance(tree, exp.Select) or tree.args.get("distinct") or tree.args.get("offset"):
        return None
    order, limit = tree.args.get("order"), tree.args.get("limit")
    expression = None if limit is None else limit.args.get("expression")
    if order is None or not isinstance(expression, exp.Literal) or expression.name != str(count):
        return None
    first = order.expressions[0].this
    if isinstance(first, exp.Literal):
        return None
    named = next((item.unalias() for item in tree.expressions if item.alias and item.alias == first.name), first)
    # The tree is this call's own: nothing of it has to be copied but what is shown once more.
    shown = tree.select(exp.alias_(named.copy(), FIGURE, copy=False), copy=False)
    return shown.limit(2, copy=False).offset(count - 1, copy=False).sql(dialect=body.dialect.value, copy=False)
