"""What the translator's reading of a question says of what a model wrote for it: shared by the benchmarks of drafts and of repairs.

Results are compared, and chosen between, by the executor's own functions.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from bench_translator import calibration_error, error_by_chance, separation
from fit_translator import Example, fit, share_of

from querybus.core.catalog import Catalog
from querybus.core.messages import Alternative, Analysis, Approved, Origin
from querybus.core.options import Agreement
from querybus_executor.ports import Rows
from querybus_executor.results.second_draft import agreement_of, finds_by_slip, joins_by_slip
from querybus_presenter.confidence import ROW_WEIGHTS
from querybus_presenter.confidence import share_of as share_of_facts
from querybus_translator import Translated, translate

TODAY: Final = date(2026, 1, 1)
UNREAD: Final = "unread"
NOT_RUN: Final = "not run"
ROUNDS: Final = 25


@dataclass(frozen=True, slots=True)
class Beside:
    """How a statement stands to the reading: UNREAD, NOT_RUN, or an agreement; `shown` is the statement that is answered with."""

    state: str
    shown: str


def read_beside(
    question: str,
    catalog: Catalog,
    sql: str,
    run: Callable[[str], Rows | None],
    *,
    origin: Origin,
    doubts: Callable[[str], Sequence[str]] = lambda _: (),
) -> Beside:
    """Return what comes of a statement that runs beside the reading of its question; `run` gives rows as the executor does.

    `doubts` gives those of a statement, as codes.
    """
    reading = translate(question, catalog, today=TODAY)
    if not isinstance(reading, Translated):
        return Beside(UNREAD, sql)
    first, second = run(sql), run(reading.sql)
    if first is None or second is None:
        return Beside(NOT_RUN, sql)
    body = Approved(
        sql=sql,
        dialect=catalog.dialect,
        origin=origin,
        tables=(),
        alternative=Alternative(draft=reading.sql, sql=reading.sql),
        row_limit=1,
        checked=("static",),
        analysis=Analysis(
            second_reading=reading.in_words,
            second_confidence=reading.confidence,
            doubts=(*doubts(sql), *(["second_doubtful"] if doubts(reading.sql) else [])),
        ),
    )
    agreement = agreement_of(first, second, may_replace=finds_by_slip(body, catalog))
    if agreement is Agreement.DIFFERENT and joins_by_slip(body, second):
        agreement = Agreement.REPLACED
    return Beside(agreement.value, reading.sql if agreement is Agreement.REPLACED else sql)


@dataclass(frozen=True, slots=True)
class Repaired:
    """A repair that runs: how far-fetched it is, what its rows say, how it stands to the reading, whether it is right, and where."""

    doubt: float
    of_rows: tuple[str, ...]
    state: str
    right: bool
    database: str


def stated_apart(known: Sequence[Repaired]) -> dict[str, dict[str, float]]:
    """Fit how sure a repair is on all databases but one, and say how well that does on the one: alone, by its rows, by the reading.

    A repair that the reading was shown instead of states nothing.
    """
    stated: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for left_out in sorted({item.database for item in known}):
        others = [item for item in known if item.database != left_out]
        weights = fit([Example({"doubt": item.doubt}, item.right) for item in others], penalty=1.0)
        moved = moves(others, weights)
        for item in known:
            if item.database == left_out:
                total = weights["constant"] + weights["doubt"] * item.doubt
                by_rows = sum(ROW_WEIGHTS[fact] for fact in item.of_rows)
                stated["by its doubt"].append((share_of(total), item.right))
                stated["and by its rows"].append((share_of(total + by_rows), item.right))
                if item.state != Agreement.REPLACED.value:
                    stated["and by a reading"].append((share_of(total + moved.get(item.state, 0.0)), item.right))
    return {name: _figures(found) for name, found in stated.items()}


def moves(known: Sequence[Repaired], weights: Mapping[str, float]) -> dict[str, float]:
    """Return what each state adds to the log odds that a repair has by its doubt, by Newton's method with a penalty of 1."""
    by_state: dict[str, list[Repaired]] = defaultdict(list)
    for item in known:
        by_state[item.state].append(item)
    result: dict[str, float] = {}
    for state, items in by_state.items():
        move = 0.0
        for _ in range(ROUNDS):
            shares = [share_of(weights["constant"] + weights["doubt"] * item.doubt + move) for item in items]
            slope = sum(item.right - share for item, share in zip(items, shares, strict=True)) - move
            move += slope / (1 + sum(share * (1 - share) for share in shares))
        result[state] = round(move, 3)
    return result


@dataclass(frozen=True, slots=True)
class Answered:
    """A model's answer: what its confidence is made of, whether it is right, and where."""

    facts: Mapping[str, float]
    right: bool
    database: str


def answers_apart(found: Sequence[Answered]) -> dict[str, float]:
    """Fit how sure answers are on all databases but one, and say how well that does on the one."""
    stated: list[tuple[float, bool]] = []
    for left_out in sorted({item.database for item in found}):
        weights = draft_weights([item for item in found if item.database != left_out])
        stated += [(share_of_facts(item.facts, weights), item.right) for item in found if item.database == left_out]
    return _figures(stated)


def draft_weights(found: Sequence[Answered]) -> dict[str, float]:
    """Return the weights of facts in the log odds of being right, as the presenter holds them."""
    return fit([Example(dict(item.facts), item.right) for item in found], penalty=1.0)


def _figures(stated: Sequence[tuple[float, bool]]) -> dict[str, float]:
    if len({right for _, right in stated}) < 2:
        return {"answers": len(stated), "error": math.nan, "by_chance": math.nan, "area": math.nan}
    return {
        "answers": len(stated),
        "error": round(calibration_error(stated), 3),
        "by_chance": round(error_by_chance(stated), 3),
        "area": round(separation(stated)[1], 3),
    }
