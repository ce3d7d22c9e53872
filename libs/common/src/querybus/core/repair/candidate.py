"""What a rule proposes and what the pipeline accepts: values, never a change in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure
from querybus.core.messages import Draft


class RuleName(StrEnum):
    """The rules, each named as its file."""

    EXTRACT = "extract"
    CLOSE_PARENTHESIS = "close_parenthesis"
    QUOTED_LITERAL = "quoted_literal"
    USE_ALIAS = "use_alias"
    QUALIFY_AMBIGUOUS = "qualify_ambiguous"
    REQUALIFY = "requalify"
    RENAME_TABLE = "rename_table"
    RENAME_COLUMN = "rename_column"
    NULL_COMPARISON = "null_comparison"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One statement that a rule would try instead.

    `keeps_meaning`: the draft could only have meant this, so no assumption is made. `before` and `after` are the
    changed pieces, for the note; both are empty where the whole text was cut.
    """

    rule: RuleName
    sql: str
    keeps_meaning: bool
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Mend:
    """A statement that passed the check, and the steps that led to it from the failed draft."""

    sql: str
    steps: tuple[Candidate, ...]

    @property
    def keeps_meaning(self) -> bool:
        """Whether none of the steps assumed anything."""
        return all(each.keeps_meaning for each in self.steps)


Rule = Callable[[Draft, Failure, Catalog], tuple[Candidate, ...]]
"""(failed draft, why it failed, catalog) -> what could be meant; empty where the rule does not apply."""

Check = Callable[[str], Failure | None]
"""The validator's own check in memory: None where the statement passes."""
