"""How sure an answer is: what its author said, or what a second draft came to, lowered by what is doubtful."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from querybus.core.messages import Agreement, Analysis
from querybus_presenter.doubts import Doubt

DOUBTFUL_CONFIDENCE: Final = 0.4
"""An answer with a doubt is never surer than that."""
_AGREED_CONFIDENCE: Final[Mapping[Agreement, float]] = {
    Agreement.SAME_STATEMENT: 0.85,
    Agreement.EQUAL: 0.85,
    Agreement.DIFFERENT: 0.2,
    Agreement.REPLACED: 0.85,
}
"""How often answers were right, by what a second draft came to: `make bench-drafts`."""


def confidence_of(analysis: Analysis, doubtful: Sequence[Doubt]) -> float | None:
    """Return how sure an answer is, 0..1; of a model's, what a second draft says of it; None where nothing is known."""
    confidence = analysis.confidence
    if confidence is None and analysis.agreement is not None:
        confidence = _AGREED_CONFIDENCE.get(analysis.agreement)
    return min(confidence, DOUBTFUL_CONFIDENCE) if doubtful and confidence is not None else confidence
