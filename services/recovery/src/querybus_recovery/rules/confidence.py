"""How likely a repaired statement gives the right rows: the more far-fetched its steps, the less.

Fitted on what became of answers of four published models to Spider's dev questions that fail (139 repaired, of which 84 are
right), by `make bench-recovery`, which says what the same fit does on each database that it has not seen. Limits: other
models fail otherwise, so that a deployment's own figures (feedback, `querybus evaluate`) say more; what assumes nothing
about names says nothing. What a statement's rows say is added where they are known, in the presenter.
"""

from __future__ import annotations

import math
from typing import Final

from querybus.core.messages import RuleName
from querybus_recovery.rules.candidate import Repair

INTERCEPT: Final = 1.12
SLOPE: Final = -1.12
"""The log odds of a repair without a doubt, and what each whole doubt adds to them."""

_TEXTUAL: Final = frozenset(
    {
        RuleName.EXTRACT,
        RuleName.QUOTE_KEYWORD,
        RuleName.QUOTE_SPACED_NAME,
        RuleName.FOREIGN_DIALECT,
        RuleName.FOREIGN_FUNCTION,
        RuleName.QUOTED_LITERAL,
        RuleName.SET_OPERANDS,
        RuleName.USE_ALIAS,
    }
)
"""Repairs of form: that they were needed says nothing about the statement's meaning."""


def doubt_of(repair: Repair) -> float | None:
    """Return how far-fetched a repair's steps are together, None where nothing was assumed and only form was wrong."""
    reported = [step for step in repair.steps if not (step.keeps_meaning and step.rule in _TEXTUAL)]
    return sum(step.doubt for step in reported) if reported else None


def confidence(repair: Repair) -> float | None:
    """Return the share of such repairs that are right, 0..1, or None where nothing was assumed and only form was wrong."""
    doubt = doubt_of(repair)
    return None if doubt is None else round(1 / (1 + math.exp(-(INTERCEPT + SLOPE * doubt))), 2)
