"""How sure an answer is: what its author said, or what a second draft came to, lowered by its rows and by what is doubtful."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from querybus.core.envelope import Envelope
from querybus.core.messages import Agreement, Concluded, Origin
from querybus_presenter.doubts import Doubt

DOUBTFUL_CONFIDENCE: Final = 0.4
"""An answer with a doubt is never surer than that."""
_AGREED_CONFIDENCE: Final[Mapping[Agreement, float]] = {
    Agreement.SAME_STATEMENT: 0.85,
    Agreement.EQUAL: 0.85,
    Agreement.DIFFERENT: 0.2,
    Agreement.REPLACED: 0.85,
}
_READ_CONFIDENCE: Final[Mapping[Agreement, float]] = {
    Agreement.SAME_STATEMENT: 0.95,
    Agreement.EQUAL: 0.95,
    Agreement.DIFFERENT: 0.2,
}
"""How often a model's answers were right, by what a second draft came to, the model's own or the translator's: `make bench-drafts`."""
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
    """Return how sure an answer is, 0..1; of a model's, what a second draft says of it; None where nothing is known."""
    confidence, analysis = stated(envelope), envelope.body.analysis
    if confidence is None and analysis.agreement is not None:
        known = _READ_CONFIDENCE if analysis.second_reading else _AGREED_CONFIDENCE
        confidence = known.get(analysis.agreement)
    return min(confidence, DOUBTFUL_CONFIDENCE) if doubtful and confidence is not None else confidence


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
