"""The result of a second draft beside that of the first, where the first was doubtful: what agreement says, and which is shown.

The second is run with limits of its own, and only compared. It is shown instead only where the first found nothing because of a value
that its column cannot have, and the second, which has none such, found something: over the published answers of four models that broke no right answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from querybus.core.envelope import Attempt, Envelope
from querybus.core.failure import Failure
from querybus.core.messages import Agreement, Approved, Result, Scalar
from querybus_executor.ports import Database, Purpose, Rows
from querybus_executor.results.receive import first_page

COMPARED_ROWS_MAX: Final = 1_000
COMPARED_SECONDS_MAX: Final = 5.0
DIGITS: Final = 6
ABSENT_VALUE: Final = "absent_value"
SECOND_DOUBTFUL: Final = "second_doubtful"
"""The generator's codes: the first draft compares a column with a value which it cannot have; so may the second."""


async def compared(
    envelope: Envelope[Approved],
    outcome: Rows,
    result: Result,
    database: Database,
    refusal: Callable[[str], Failure | None],
    seconds_left: float,
) -> tuple[Approved, Result]:
    """Return what is answered once a second draft was looked at, and what that came to; the same where there is none."""
    body = envelope.body
    if body.alternative is None or refusal(body.alternative.sql) is not None:
        return body, result
    second = await _second_rows(body, database, seconds_left)
    if second is None:
        return body, result
    doubts = body.analysis.doubts
    shown = first_page(second.rows, envelope.options.page_size)
    # It was read without pages: one that would need them stays a note.
    may_replace = ABSENT_VALUE in doubts and SECOND_DOUBTFUL not in doubts and len(shown) == second.row_count
    agreement = agreement_of(outcome, second, may_replace=may_replace)
    analysis = body.analysis.model_copy(update={"agreement": agreement})
    if agreement is not Agreement.REPLACED:
        return body.model_copy(update={"analysis": analysis}), result
    replaced = Result(columns=second.columns, rows=shown, row_count=second.row_count)
    return body.model_copy(update={"analysis": analysis, "sql": body.alternative.sql}), replaced


def with_second(envelope: Envelope[Approved], body: Approved) -> Envelope[Approved]:
    """Return the event with the second draft as a try of its own, where its result is shown: what is called right is that."""
    if body.analysis.agreement is not Agreement.REPLACED or body.alternative is None:
        return envelope
    second = Attempt(origin=body.origin, sql=body.alternative.draft, validated=True)
    return envelope.with_body(body, attempts=(*envelope.attempts, second))


async def _second_rows(body: Approved, database: Database, seconds_left: float) -> Rows | None:
    """Return the rows of the second draft; None where there is none, or it did not run within its limits."""
    if body.alternative is None or seconds_left <= 0:
        return None
    found = await database.run(
        body.alternative.sql,
        rows_max=COMPARED_ROWS_MAX,
        seconds_max=min(COMPARED_SECONDS_MAX, seconds_left),
        purpose=Purpose.EXECUTE,
    )
    return None if isinstance(found, Failure) else found


def agreement_of(first: Rows, second: Rows, *, may_replace: bool) -> Agreement:
    """Return how two results stand to each other.

    Rows are compared as they are shown, whatever the order of rows and columns; of a result that is longer than what was
    read of it, the number of rows.
    """
    is_whole = first.row_count == len(first.rows) and not (first.truncated or second.truncated)
    if is_whole and _multiset(first.rows) == _multiset(second.rows):
        return Agreement.EQUAL
    if not is_whole and (first.row_count == second.row_count or first.truncated):
        return Agreement.NOT_COMPARED
    if may_replace and _is_nothing(first.rows) and not _is_nothing(second.rows) and not second.truncated:
        return Agreement.REPLACED
    return Agreement.DIFFERENT


def _multiset(rows: Sequence[Sequence[Scalar]]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(sorted(map(_shown, row))) for row in rows)


def _shown(cell: Scalar) -> str:
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return str(cell)
    return f"{cell:.{DIGITS}g}"


def _is_nothing(rows: Sequence[Sequence[Scalar]]) -> bool:
    # A count of nothing is one row with a zero.
    nothing = (None, 0) if len(rows) == 1 else (None,)
    return all(cell in nothing for row in rows for cell in row)
