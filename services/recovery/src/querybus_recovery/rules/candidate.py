"""What a rule proposes and what the pipeline accepts: values, never a change in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure
from querybus.core.messages import Draft, RuleName


@dataclass(frozen=True, slots=True)
class Candidate:
    """One statement that a rule would try instead.

    `keeps_meaning`: the draft could only have meant this, so no assumption is made. `before` and `after` are the
    changed pieces, for the note; both are empty where the whole text was cut. `doubt`, 0 and up, is how far-fetched
    the step is: the search goes from the least. `brings` and `drops` are names that the step brings in and gives up: a
    question may say them. `is_rival`: the rule saw several as good as this, so that it counts only where the question
    distinguishes them.
    """

    rule: RuleName
    sql: str
    keeps_meaning: bool
    before: str = ""
    after: str = ""
    doubt: float = 0.5
    brings: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()
    is_rival: bool = False


@dataclass(frozen=True, slots=True)
class Repair:
    """A statement that passed the check, the steps that led to it, and how many others were as near."""

    sql: str
    steps: tuple[Candidate, ...]
    rivals: int = 0

    @property
    def keeps_meaning(self) -> bool:
        """Whether none of the steps assumed anything."""
        return all(step.keeps_meaning for step in self.steps)

    @property
    def doubt(self) -> float:
        """How far-fetched the steps are together."""
        return sum(step.doubt for step in self.steps)


Rule = Callable[[Draft, Failure, Catalog], tuple[Candidate, ...]]
"""(failed draft, why it failed, catalog) -> what could be meant; empty where the rule does not apply."""

Check = Callable[[str], Failure | None]
"""The validator's own check in memory: None where the statement passes."""
