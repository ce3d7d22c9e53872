"""How sure an answer is: what its author said, or what a second draft came to, lowered by its rows and by what is doubtful."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from querybus.core.envelope import Envelope
from querybus.core.messages import Analysis, Concluded, Origin
from querybus.core.options import Agreement
from querybus_presenter.doubts import Doubt

DOUBTFUL_CONFIDENCE: Final = 0.4
"""An answer with a doubt is never surer than that."""
_AGREED: Final = frozenset({Agreement.SAME_STATEMENT, Agreement.EQUAL})
REPLACED_CONFIDENCE: Final = 0.55
"""How often a model's second draft was right that is shown in the place of its first: `make bench-drafts`."""
DRAFT_WEIGHTS: Final[Mapping[str, float]] = {
    "constant": 1.08,
    "agreed": 2.12,
    "different": -1.44,
    "voted_for": 0.67,
    "voted_against": -0.08,
    "outvoted": 0.81,
    "undeclared_join": -1.51,
    "unused_table": -1.19,
    "unread_joins": -0.22,
    "unread_selects": -0.18,
    "having": -1.95,
    "repeated": -1.08,
}
"""The log odds that a model's answer is right, by `facts_of_draft`: fitted by `make bench-drafts` by folds of databases."""
JOINS_COUNTED_MAX: Final = 3
SELECTS_COUNTED_MAX: Final = 2
AGREEMENT_WEIGHTS: Final[Mapping[Agreement | None, float]] = {
    Agreement.SAME_STATEMENT: 1.96,
    Agreement.EQUAL: 1.96,
    Agreement.DIFFERENT: -0.27,
    None: -0.85,
}
"""What the translator's reading adds to the log odds of a repair, None where it has none: fitted by `make bench-recovery`."""
ROW_WEIGHTS: Final[Mapping[str, float]] = {"empty": -0.839, "repeated": -1.031, "nothing": -0.155}
"""What rows add to the log odds of a reading's confidence, fitted by `benchmarks/fit_translator.py` by folds of databases.

They hold for repairs too, where nothing is known of a second draft.
"""
_ODDS_BOUND: Final = 0.999


def confidence_of(envelope: Envelope[Concluded], doubtful: Sequence[Doubt]) -> float | None:
    """Return how sure an answer is, 0..1; of a model's, what a second draft and its own form say of it; None of a person's own statement."""
    body = envelope.body
    analysis, is_models = body.analysis, any(attempt.origin is Origin.MODEL for attempt in envelope.attempts)
    is_replaced = analysis.agreement is Agreement.REPLACED
    # Whoever wrote what most drafts come to: the vote says more than its author.
    confidence = None if is_replaced and analysis.votes else stated(envelope)
    if confidence is None and (is_models or analysis.agreement is not None):
        rows = body.result.rows if body.result is not None else ()
        is_second = is_replaced and not analysis.second_reading and not analysis.votes
        confidence = REPLACED_CONFIDENCE if is_second else share_of(facts_of_draft(analysis, body.sql or "", rows))
    return min(confidence, DOUBTFUL_CONFIDENCE) if doubtful and confidence is not None else confidence


def facts_of_draft(analysis: Analysis, sql: str, rows: Sequence[Sequence[Any]]) -> dict[str, float]:
    """Return what of DRAFT_WEIGHTS holds of a model's answer: how the translator reads the question, doubts, the statement, the rows."""
    is_agreed = bool(analysis.second_reading) and analysis.agreement in _AGREED
    # Where the translator cannot read the question, the second draft is a model's.
    is_seconded = analysis.agreement in _AGREED and not is_agreed
    is_outvoted = analysis.agreement is Agreement.REPLACED and bool(analysis.votes)
    is_for = is_seconded or Agreement.EQUAL in analysis.votes
    text = sql.upper()
    facts = {
        "agreed": float(is_agreed),
        "different": float(analysis.agreement is Agreement.DIFFERENT),
        "voted_for": float(is_for),
        "voted_against": float(bool(analysis.votes) and not is_for and not is_outvoted),
        "outvoted": float(is_outvoted),
        "undeclared_join": float("undeclared_join" in analysis.doubts),
        "unused_table": float("unused_table" in analysis.doubts),
        # What is written with many parts is less often right, unless another reads it alike.
        "unread_joins": 0.0 if is_agreed else float(min(JOINS_COUNTED_MAX, text.count(" JOIN "))),
        "unread_selects": 0.0 if is_agreed else float(min(SELECTS_COUNTED_MAX, max(0, text.count("SELECT") - 1))),
        "having": float(" HAVING " in text),
        "repeated": float("repeated" in facts_of_rows(rows)),
    }
    return {name: value for name, value in facts.items() if value}


def share_of(facts: Mapping[str, float], weights: Mapping[str, float] = DRAFT_WEIGHTS) -> float:
    """Return the share of right answers with these facts, 0..1."""
    odds = weights["constant"] + sum(weights.get(name, 0.0) * value for name, value in facts.items())
    return round(1 / (1 + math.exp(-odds)), 4)


def stated(envelope: Envelope[Concluded]) -> float | None:
    """Return how sure the statement's author is, beside a second draft or else the rows that it gives; None of a model's."""
    analysis, attempts = envelope.body.analysis, envelope.attempts
    if analysis.confidence is None:
        return None
    if analysis.second_reading is not None and attempts and attempts[-1].origin is Origin.RULE:
        agreement = analysis.agreement if analysis.second_reading else None
        return _moved(analysis.confidence, AGREEMENT_WEIGHTS.get(agreement, 0.0))
    return _moved(analysis.confidence, sum(ROW_WEIGHTS[fact] for fact in _facts(envelope)))


def repeats_rows(envelope: Envelope[Concluded]) -> bool:
    """Return whether what was read or repaired here gives a row twice."""
    return "repeated" in _facts(envelope)


def _facts(envelope: Envelope[Concluded]) -> tuple[str, ...]:
    """Return what rows say of a reading of the built-in translator or of a repair; of what others wrote they say nothing."""
    result, attempts = envelope.body.result, envelope.attempts
    is_ours = bool(attempts) and attempts[-1].origin in (Origin.BUILTIN, Origin.RULE)
    return facts_of_rows(result.rows) if is_ours and result is not None else ()


def facts_of_rows(rows: Sequence[Sequence[Any]]) -> tuple[str, ...]:
    """Return what of ROW_WEIGHTS holds of some rows: none at all, one twice, nothing in any of them."""
    if not rows:
        return ("empty",)
    is_nothing = all(cell is None for row in rows for cell in row)
    is_repeated = len({repr(row) for row in rows}) < len(rows)
    return (*(("nothing",) if is_nothing else ()), *(("repeated",) if is_repeated else ()))


def _moved(confidence: float, weight: float) -> float:
    if not weight:
        return confidence
    bounded = min(_ODDS_BOUND, max(1 - _ODDS_BOUND, confidence))
    return round(1 / (1 + math.exp(-(math.log(bounded / (1 - bounded)) + weight))), 4)
