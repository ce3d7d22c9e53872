"""What was found of a statement beside its text: what was checked, and what it may cost by its connection's limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from querybus.core.catalog import Catalog
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import Checked

PLAN_RULE: Final = "plan"
"""The rule of a refusal for what the engine, or else the catalog, expects of a statement."""

Check = Literal["static", "explain", "probe"]


@dataclass(frozen=True, slots=True)
class Opinion:
    """What was checked beside the text, with notes and what the engine, or the catalog, expects."""

    checked: tuple[Check, ...]
    notes: tuple[str, ...]
    rows: int | None
    cost: float | None
    probed_rows: int | None = None


def rows_of(static: Checked, catalog: Catalog) -> int | None:
    """Return the rows of the largest table that is read, where the catalog knows: for engines without estimates.

    Nothing is said where rows are hidden: the catalog counts those as well.
    """
    if static.has_hidden_rows:
        return None
    result = [
        table.row_estimate
        for name in static.tables
        if (table := catalog.table_at(name)) is not None and table.row_estimate is not None
    ]
    return max(result, default=None)


def over_hard(opinion: Opinion, policy: ConnectionPolicy) -> Failure | None:
    """Return the refusal of a statement that nobody may run."""
    if not _is_over(opinion, policy.plan_rows_hard_max, policy.plan_cost_hard_max):
        return None
    detail = f"rows expected: {opinion.rows}, cost expected: {opinion.cost}; over the limit of this connection"
    return Failure.of(FailureCode.COST, detail, Facts(rule=PLAN_RULE))


def is_over_soft(opinion: Opinion, policy: ConnectionPolicy) -> bool:
    """Return whether a person has to say that it may run."""
    return _is_over(opinion, policy.plan_rows_soft_max, policy.plan_cost_soft_max)


def _is_over(opinion: Opinion, rows_max: int | None, cost_max: float | None) -> bool:
    too_many = rows_max is not None and opinion.rows is not None and opinion.rows > rows_max
    return too_many or (cost_max is not None and opinion.cost is not None and opinion.cost > cost_max)
