"""An empty answer to a question that names something the data does not hold is asked back: did you mean ...?

Only a question's statement, never one of a person's own; only where a near value is there to suggest. The empty result
stays in the conclusion: nothing is rewritten.
"""

from __future__ import annotations

from typing import Any

from querybus.core.asking_back import Clarification, Option, OptionAction, Trigger
from querybus.core.catalog import Catalog
from querybus.core.envelope import Envelope
from querybus.core.messages import (
    Approved,
    Concluded,
    Origin,
    Outcome,
    Result,
)
from querybus.core.policy import ConnectionPolicy
from querybus.sql.conditions.missing_value import instead, missing_value


def asked_back(
    envelope: Envelope[Approved], conclusion: Concluded, catalog: Catalog, policy: ConnectionPolicy
) -> Concluded:
    """Return the conclusion, or where nothing was found for a text that its column lacks, what may have been meant."""
    if conclusion.result is None or not found_nothing(conclusion.result) or envelope.body.origin is Origin.USER:
        return conclusion
    missing = missing_value(envelope.body.sql, envelope.body.dialect, catalog, policy)
    if missing is None:
        return conclusion
    options = tuple(
        Option(
            id=f"value-{number}",
            text=value,
            question=instead(envelope.question, missing, value),
            action=OptionAction.REPLACE_DIMENSION,
        )
        for number, value in enumerate(missing.near, 1)
    )
    changes: dict[str, Any] = {
        "outcome": Outcome.CLARIFICATION,
        "clarification": Clarification(trigger=Trigger.MISSING_VALUE, about=missing.text, options=options),
    }
    return conclusion.model_copy(update=changes)


def found_nothing(result: Result) -> bool:
    """Return whether a result says that there is nothing: no row, or one row of nothing but NULL and 0."""
    return not result.rows or (result.row_count == 1 and all(not row for row in result.rows[0]))
