"""The rules in their order, and the bounded search that tries what they propose in memory.

Only a failed draft comes here; a statement that runs is never touched. Limits: STEPS_MAX rules in a row,
CHECKS_MAX tries, MENDS_MAX results. Where one rule sees two ways that both pass, it takes neither.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from querybus.core.catalog import Catalog
from querybus.core.failure import TRAITS, Failure
from querybus.core.messages import Draft
from querybus.core.repair.candidate import Candidate, Check, Mend, Rule
from querybus.core.repair.close_parenthesis import close_parenthesis
from querybus.core.repair.extract import extract
from querybus.core.repair.null_comparison import null_comparison
from querybus.core.repair.qualify_ambiguous import qualify_ambiguous
from querybus.core.repair.quoted_literal import quoted_literal
from querybus.core.repair.rename_column import rename_column
from querybus.core.repair.rename_table import rename_table
from querybus.core.repair.requalify import requalify
from querybus.core.repair.use_alias import use_alias

STEPS_MAX: Final = 4
CHECKS_MAX: Final = 24
MENDS_MAX: Final = 3

RULES: Final[tuple[Rule, ...]] = (
    extract,
    close_parenthesis,
    quoted_literal,
    use_alias,
    qualify_ambiguous,
    requalify,
    rename_table,
    rename_column,
    null_comparison,
)


@dataclass(slots=True)
class _Search:
    catalog: Catalog
    check: Check
    checks_left: int = CHECKS_MAX
    seen: set[str] = field(default_factory=set[str])
    found: list[Mend] = field(default_factory=list[Mend])

    def walk(self, draft: Draft, failure: Failure, steps: tuple[Candidate, ...]) -> None:
        for rule in RULES:
            passed: list[Candidate] = []
            open_: list[tuple[Candidate, Failure]] = []
            for candidate in rule(draft, failure, self.catalog):
                if candidate.sql in self.seen or self.checks_left <= 0:
                    continue
                self.seen.add(candidate.sql)
                self.checks_left -= 1
                still = self.check(candidate.sql)
                if still is None:
                    passed.append(candidate)
                else:
                    open_.append((candidate, still))
            if len(passed) == 1 and len(self.found) < MENDS_MAX:
                self.found.append(Mend(passed[0].sql, (*steps, passed[0])))
            # A single way that fails otherwise than before is progress: the next rule goes on from there.
            if not passed and len(open_) == 1 and len(steps) + 1 < STEPS_MAX:
                candidate, still = open_[0]
                if TRAITS[still.code].by_rule and (still.code, still.facts) != (failure.code, failure.facts):
                    self.walk(draft.model_copy(update={"sql": candidate.sql}), still, (*steps, candidate))


def mends(draft: Draft, failure: Failure, catalog: Catalog, *, check: Check) -> tuple[Mend, ...]:
    """Return the statements that rules reach from a failed draft and that pass the check.

    At most MENDS_MAX, those that keep the meaning first, else in the order of the rules. Empty if no rule knows
    the failure.
    """
    if not TRAITS[failure.code].by_rule:
        return ()
    search = _Search(catalog, check, seen={draft.sql})
    search.walk(draft, failure, ())
    return tuple(sorted(search.found, key=lambda each: not each.keeps_meaning))
