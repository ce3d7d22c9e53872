"""Whether the cut of a ranking parted rows of one figure: "the store with the most staff" may be one of four.

Asked of the database with one more statement of two rows, only where the ranking itself was short and quick. It is judged by
the guard like any other text. Limits: rankings of distinct rows, and those with an offset, are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure
from querybus.core.messages import Result
from querybus.sql.parse import Form, Statement
from querybus_executor.ports import Database, Purpose, Rows

ROWS_MAX: Final = 20
DURATION_MS_MAX: Final = 100.0
SECONDS_MAX: Final = 1.0
FIGURE: Final = "ranked_by"


@dataclass(frozen=True, slots=True)
class LastTwo:
    """What gives the figure of a ranking's last row, which is number `count`, and of the row behind it, as the last column."""

    count: int
    sql: str


async def is_cut_at_tie(
    last_two: LastTwo | None, result: Result, ran: Rows, database: Database, refusal: Callable[[str], Failure | None]
) -> bool:
    """Return whether the row behind the last one has the same figure in what sorts first; False where that is not known."""
    if (
        last_two is None
        or not last_two.count == len(result.rows) == result.row_count
        or ran.duration_ms > DURATION_MS_MAX
    ):
        return False
    if refusal(last_two.sql) is not None:
        return False
    found = await database.run(last_two.sql, rows_max=2, seconds_max=SECONDS_MAX, purpose=Purpose.EXECUTE)
    if isinstance(found, Failure) or len(found.rows) < 2:
        return False
    last, following = (row[-1] for row in found.rows)
    return last is not None and last == following


def last_two_of(statement: Statement, dialect: Dialect) -> LastTwo | None:
    """Return what asks for a short ranking's last figures, None for anything else. The statement's tree is used up."""
    tree = statement.tree
    if statement.form is not Form.QUERY or not isinstance(tree, exp.Select):
        return None
    if tree.args.get("distinct") or tree.args.get("offset"):
        return None
    order, limit = tree.args.get("order"), tree.args.get("limit")
    expression = None if limit is None else limit.args.get("expression")
    if order is None or not isinstance(expression, exp.Literal) or not expression.is_int:
        return None
    count, first = int(expression.name), order.expressions[0].this
    if not 1 <= count <= ROWS_MAX or isinstance(first, exp.Literal):
        return None
    named = next((item.unalias() for item in tree.expressions if item.alias and item.alias == first.name), first)
    shown = tree.select(exp.alias_(named.copy(), FIGURE, copy=False), copy=False)
    return LastTwo(
        count, shown.limit(2, copy=False).offset(count - 1, copy=False).sql(dialect=dialect.value, copy=False)
    )
