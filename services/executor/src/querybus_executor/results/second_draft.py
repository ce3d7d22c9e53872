"""The results of further drafts beside that of the first: what agreement says of an answer, and which of them is shown.

Each is run with limits of its own, and only compared. The second is shown instead in three cases, which over the published answers of four
models broke no right answer (`make bench-drafts`). Where the first found nothing: a model's, where that came of a value that its column
cannot have; and the translator's, where both ask for the same values and these are there. And where the first joins by what no key relates.
Of three drafts and more the result of most is shown. Where two differ, or a doubtful one stands alone, the outcome is undecided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from querybus.core.catalog import Catalog
from querybus.core.envelope import Attempt, Envelope
from querybus.core.failure import Failure
from querybus.core.messages import Alternative, Approved, Origin, Result, Scalar
from querybus.core.options import Agreement
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


UNKNOWN_NAME: Final = "unknown_name"
VOTE_SECONDS_MIN: Final = 10.0
"""What another draft, its check and its run may need of the time that is left."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What is answered once further drafts were looked at. `is_undecided`: another draft might change it."""

    body: Approved
    result: Result
    is_undecided: bool = False


async def compared(
    envelope: Envelope[Approved],
    outcome: Rows,
    result: Result,
    database: Database | Edge,
    catalog: Catalog,
    refusal: Callable[[str], Failure | None],
    seconds_left: float,
) -> Compared:
    """Return what is answered once further drafts were looked at, and what those came to; the same where there is none."""
    body, size = envelope.body, envelope.options.page_size
    if not (body.analysis.doubts or body.origin is Origin.RULE or outcome.duration_ms <= UNASKED_MS_MAX):
        return Compared(body, result)
    second = await _rows_of(body.alternative, database, refusal, seconds_left)
    if second is not None:
        agreement = _agreement(body, outcome, second, catalog, size)
        body = _analysed(body, agreement=agreement)
        if agreement is Agreement.REPLACED and body.alternative is not None:
            return _replaced(body, body.alternative, second, size)
    if body.analysis.agreement in _SETTLED:
        return Compared(body, result)
    drafts = [(body.alternative, second)] if body.alternative is not None and second is not None else []
    for vote in body.votes:
        if (rows := await _rows_of(vote, database, refusal, seconds_left)) is not None:
            drafts.append((vote, rows))
            votes = (*body.analysis.votes, agreement_of(outcome, rows, may_replace=False))
            body = _analysed(body, votes=votes)
    if Agreement.EQUAL in body.analysis.votes:
        return Compared(body, result)
    for (draft, rows), (_, other) in combinations(drafts, 2):
        is_majority = agreement_of(rows, other, may_replace=False) is Agreement.EQUAL
        if is_majority and first_page(rows.rows, size).is_whole(rows.row_count) and not finds_nothing(rows.rows):
            return _replaced(body, draft, rows, size)
    return Compared(body, result, is_undecided=_is_undecided(body))


_SETTLED: Final = frozenset({Agreement.SAME_STATEMENT, Agreement.EQUAL})


def _agreement(body: Approved, outcome: Rows, second: Rows, catalog: Catalog, page_size: int) -> Agreement:
    # It was read without pages: one that would need them stays a note.
    is_whole = first_page(second.rows, page_size).is_whole(second.row_count)
    may_replace = is_whole and finds_nothing(outcome.rows) and finds_by_slip(body, catalog)
    agreement = agreement_of(outcome, second, may_replace=may_replace)
    if agreement is Agreement.DIFFERENT and is_whole and not second.truncated and joins_by_slip(body, second):
        return Agreement.REPLACED
    return agreement


def _is_undecided(body: Approved) -> bool:
    """Return whether two drafts differ, or a doubtful one was compared with none."""
    doubts = set(body.analysis.doubts) - {UNKNOWN_NAME, SECOND_DOUBTFUL}
    return body.analysis.agreement is Agreement.DIFFERENT or (body.analysis.agreement is None and bool(doubts))


def _replaced(body: Approved, draft: Alternative, rows: Rows, page_size: int) -> Compared:
    shown = first_page(rows.rows, page_size)
    return Compared(_as_second(body, draft), Result(columns=rows.columns, rows=shown.rows, row_count=rows.row_count))


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


def _as_second(body: Approved, draft: Alternative) -> Approved:
    """Return the approval as that of another draft: what was said of the first one's columns and repairs goes."""
    is_of_translator = bool(body.analysis.second_reading) and draft == body.alternative
    changed = _analysed(body, agreement=Agreement.REPLACED, column_labels=())
    if is_of_translator:
        by_translator = {"reading": body.analysis.second_reading, "confidence": body.analysis.second_confidence}
        changed = _analysed(changed, **by_translator, assumptions=())
        changed = changed.model_copy(update={"origin": Origin.BUILTIN, "notes": ()})
    else:
        changed = _analysed(changed, second_reading="")
    return changed.model_copy(update={"sql": draft.sql, "alternative": draft})


def _analysed(body: Approved, **changes: object) -> Approved:
    return body.model_copy(update={"analysis": body.analysis.model_copy(update=changes)})


async def _rows_of(
    draft: Alternative | None, database: Database | Edge, refusal: Callable[[str], Failure | None], seconds_left: float
) -> Rows | None:
    """Return the rows of another draft; None where there is none, or it may not run, or did not within its limits."""
    if draft is None or seconds_left <= 0 or refusal(draft.sql) is not None:
        return None
    found = await database.run(
        draft.sql,
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
