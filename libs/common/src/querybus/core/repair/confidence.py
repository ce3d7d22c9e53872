"""How likely a mended statement gives the right rows: shares measured on answers that the rules never saw.

Each share is that of a rule used alone on unseen answers (docs/adr on recovery), drawn towards the share of all of them
by PRIOR_WEIGHT answers' worth, because most rules were seen less than twenty times. Limits: a share says how such
answers fared, not whether this one is right; several steps are as sure as the least of them.
"""

from __future__ import annotations

from typing import Final

from querybus.core.repair.candidate import Mend, RuleName

PRIOR: Final = 0.466
PRIOR_WEIGHT: Final = 5
RIVAL_FACTOR: Final = 0.85
STEP_FACTOR: Final = 0.95

_MEASURED: Final[dict[RuleName, tuple[int, int]]] = {
    RuleName.JOIN_OWNER: (35, 65),
    RuleName.CHOOSE_AMBIGUOUS: (14, 26),
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
"""(right, accepted) on unseen answers; a rule without a row has the share of all."""


def confidence(mend: Mend) -> float | None:
    """Return the share of such mends that are right, 0..1, or None where nothing was assumed."""
    assumed = [each for each in mend.steps if not each.keeps_meaning]
    if not assumed:
        return None
    least = min(_share(each.rule) for each in assumed)
    sure = least * STEP_FACTOR ** (len(assumed) - 1) * (RIVAL_FACTOR if mend.rivals else 1.0)
    return round(sure, 2)


def _share(rule: RuleName) -> float:
    right, accepted = _MEASURED.get(rule, (0, 0))
    return (right + PRIOR_WEIGHT * PRIOR) / (accepted + PRIOR_WEIGHT)
