"""The result of a second draft beside that of the first: what agreement says of an answer, and which of the two is shown.

The second is run with limits of its own, and only compared. It is shown instead in three cases, which over the published answers of four
models broke no right answer (`make bench-drafts`). Where the first found nothing: a model's, where that came of a value that its column
cannot have; and the translator's, where both ask for the same values and these are there. And where the first joins by what no key relates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from querybus.core.catalog import Catalog
from querybus.core.envelope import Attempt, Envelope
from querybus.core.failure import Failure
from querybus.core.messages import (
    Agreement,
    Approved,
    Origin,
    Result,
    Scalar,
)
from querybus.sql.conditions.absent_value import asks_for_held_values
from querybus.sql.edit import read
from querybus_executor.ports import Database, Edge, Purpose, Rows
from querybus_executor.results.receive import first_page

COMPARED_ROWS_MAX: Final = 1_000
COMPARED_SECONDS_MAX: Final = 5.0
UNASKED_MS_MAX: Final = 1_000.0
"""A draft without a doubt is only compared where its own run took no longer: what is slow is not run twice to be surer."""
DIGITS: Final = 6
ABSENT_VALUE: Final = "absent_value"
UNDECLARED_JOIN: Final = "undeclared_join"
SECOND_DOUBTFUL: Final = "second_doubtful"
"""The generator's codes: the first draft compares with a value that its column cannot have, or joins by what no key relates; the
second has a doubt as well."""


async def compared(
    envelope: Envelope[Approved],
    outcome: Rows,
    result: Result,
    database: Database | Edge,
    catalog: Catalog,
    refusal: Callable[[str], Failure | None],
    seconds_left: float,
) -> tuple[Approved, Result]:
    """Return what is answered once a second draft was looked at, and what that came to; the same where there is none."""
    body = envelope.body
    is_wanted = bool(body.analysis.doubts) or body.origin is Origin.RULE or outcome.duration_ms <= UNASKED_MS_MAX
    if body.alternative is None or not is_wanted or refusal(body.alternative.sql) is not None:
        return body, result
    second = await _second_rows(body, database, seconds_left)
    if second is None:
        return body, result
    shown = first_page(second.rows, envelope.options.page_size)
    # It was read without pages: one that would need them stays a note.
    is_whole = shown.is_whole(second.row_count)
    may_replace = is_whole and finds_nothing(outcome.rows) and finds_by_slip(body, catalog)
    agreement = agreement_of(outcome, second, may_replace=may_replace)
    if agreement is Agreement.DIFFERENT and is_whole and not second.truncated and joins_by_slip(body, second):
        agreement = Agreement.REPLACED
    if agreement is not Agreement.REPLACED:
        return _analysed(body, agreement=agreement), result
    replaced = Result(columns=second.columns, rows=shown.rows, row_count=second.row_count)
    return _as_second(body, body.alternative.sql), replaced


def finds_by_slip(body: Approved, catalog: Catalog) -> bool:
    """Return whether a first draft that finds nothing is the likelier slip than a second one that finds something."""
    doubts = body.analysis.doubts
    if not body.analysis.second_reading:
        return ABSENT_VALUE in doubts and SECOND_DOUBTFUL not in doubts
    # A condition that no row meets may well be what was asked for.
    first, second = read(body.sql, body.dialect), read(body.alternative.sql, body.dialect) if body.alternative else None
    return first is not None and second is not None and asks_for_held_values(first, second, catalog)


def joins_by_slip(body: Approved, second: Rows) -> bool:
    """Return whether a first draft cannot be right: it joins by what no key relates, and a second without a doubt finds something.

    Of published drafts with such a join whose second gave another result, none was right.
    """
    doubts = body.analysis.doubts
    return UNDECLARED_JOIN in doubts and SECOND_DOUBTFUL not in doubts and not finds_nothing(second.rows)


def with_second(envelope: Envelope[Approved], body: Approved) -> Envelope[Approved]:
    """Return the event with the second draft as a try of its own, where its result is shown: what is called right is that."""
    if body.analysis.agreement is not Agreement.REPLACED or body.alternative is None:
        return envelope
    second = Attempt(origin=body.origin, sql=body.alternative.draft, validated=True)
    return envelope.with_body(body, attempts=(*envelope.attempts, second))


def _as_second(body: Approved, sql: str) -> Approved:
    """Return the approval as that of the second draft: what was said of the first one's columns and repairs goes."""
    changed = _analysed(body, agreement=Agreement.REPLACED, column_labels=())
    if body.analysis.second_reading:
        by_translator = {"reading": body.analysis.second_reading, "confidence": body.analysis.second_confidence}
        changed = _analysed(changed, **by_translator, assumptions=())
        changed = changed.model_copy(update={"origin": Origin.BUILTIN, "notes": ()})
    return changed.model_copy(update={"sql": sql})


def _analysed(body: Approved, **changes: object) -> Approved:
    return body.model_copy(update={"analysis": body.analysis.model_copy(update=changes)})


async def _second_rows(body: Approved, database: Database | Edge, seconds_left: float) -> Rows | None:
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
    read of it, the number of rows. With `may_replace` a second that found something is shown where the first found nothing.
    """
    is_whole = first.row_count == len(first.rows) and not (first.truncated or second.truncated)
    if is_whole and _multiset(first.rows) == _multiset(second.rows):
        return Agreement.EQUAL
    is_cut = first.truncated or (second.truncated and first.row_count >= second.row_count)
    if not is_whole and (first.row_count == second.row_count or is_cut):
        return Agreement.NOT_COMPARED
    if may_replace and finds_nothing(first.rows) and not finds_nothing(second.rows) and not second.truncated:
        return Agreement.REPLACED
    return Agreement.DIFFERENT


def _multiset(rows: Sequence[Sequence[Scalar]]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(sorted(map(_shown, row))) for row in rows)


def _shown(cell: Scalar) -> str:
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return str(cell)
    return f"{cell:.{DIGITS}g}"


def finds_nothing(rows: Sequence[Sequence[Scalar]]) -> bool:
    """Return whether rows say that nothing was found; a count of nothing is one row with a zero."""
    nothing = (None, 0) if len(rows) == 1 else (None,)
    return all(cell in nothing for row in rows for cell in row)
