"""How likely a repaired statement gives the right rows, from published answers of models and broken reference statements.

The doubt of a repair's steps ranks repairs; how fast the share that is right falls with it was set by hand between the two.
The rules were improved with sight of both, so nothing here is blind: a deployment's own figures (feedback, `querybus
evaluate`) say more. The level is that of the published answers, because a broken reference statement is right in all but what was broken,
and a model's failing answer is not: other models' running answers to the same questions are right in six of ten. A rule
that was seen often enough there draws its repairs towards its own share. Limits: a share says how such answers fared, not
whether this one is right; what assumes nothing about names says nothing.
"""

from __future__ import annotations

from typing import Final

from querybus.core.messages import RuleName
from querybus_recovery.rules.candidate import Repair

LEVEL: Final = 0.5
"""The share that is right at LEVEL_DOUBT."""
LEVEL_DOUBT: Final = 0.6
SLOPE: Final = 0.15
RIVAL_FACTOR: Final = 0.95
LEAST: Final = 0.1
MOST: Final = 0.65
CURVE_WEIGHT: Final = 20
"""How many answers the curve counts for against a rule's own."""

_MEASURED: Final[dict[RuleName, tuple[int, int]]] = {
    RuleName.JOIN_OWNER: (35, 65),
    RuleName.CHOOSE_AMBIGUOUS: (14, 26),
    RuleName.QUALIFY_AMBIGUOUS: (14, 26),
    RuleName.FITTING_TABLE: (18, 21),
    RuleName.AGGREGATE_OF_AGGREGATE: (9, 18),
    RuleName.ROWS_OF_CHILD: (6, 18),
    RuleName.REQUALIFY: (4, 15),
    RuleName.LAST_STATEMENT: (6, 15),
    RuleName.ALL_OR_ANY: (5, 9),
    RuleName.JOIN_ON_KEY: (4, 18),
    RuleName.RENAME_COLUMN: (1, 7),
    RuleName.COMPARE_KEYS: (0, 7),
    RuleName.CUT_TAIL: (0, 3),
}
"""(right, accepted) on unseen answers where the rule was the only one used."""

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


def confidence(repair: Repair) -> float | None:
    """Return the share of such repairs that are right, 0..1, or None where nothing was assumed and only form was wrong."""
    reported = [step for step in repair.steps if not (step.keeps_meaning and step.rule in _TEXTUAL)]
    if not reported:
        return None
    curve = LEVEL - SLOPE * (sum(item.doubt for item in reported) - LEVEL_DOUBT)
    least = min(_drawn(curve, item.rule) for item in reported) * (RIVAL_FACTOR if repair.rivals else 1.0)
    return round(min(max(least, LEAST), MOST), 2)


def _drawn(curve: float, rule: RuleName) -> float:
    right, accepted = _MEASURED.get(rule, (0, 0))
    return (right + CURVE_WEIGHT * curve) / (accepted + CURVE_WEIGHT)
