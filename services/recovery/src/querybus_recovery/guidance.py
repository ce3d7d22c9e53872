"""The texts of recovery, read once from the files beside this module: guidance per code and notes per rule.

The files are complete for every code that may go back to a model and every rule, in both languages (a test).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from querybus.core.catalog import Language
from querybus.core.failure import FailureCode
from querybus_recovery.rules.candidate import Candidate

LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Guidance:
    """The texts of one language."""

    instruction: str
    by_code: Mapping[str, str]
    notes: Mapping[str, str]
    details: Mapping[str, str]

    def advice(self, code: FailureCode) -> str:
        """Return what a new draft should mind after this failure."""
        return f"{self.by_code.get(code, self.by_code['other'])} {self.instruction}"

    def note(self, step: Candidate) -> str:
        """Return what a rule changed, in words."""
        return self.notes[step.rule].format(before=step.before, after=step.after)

    def same_sql(self, detail: str) -> str:
        """Return the detail of a query that ends because its SQL repeats."""
        return self.details["same_sql"].format(detail=detail)

    def suggestion(self, sql: str) -> str:
        """Return how a person's own statement could be written."""
        return self.details["suggestion"].format(sql=sql)


def load_guidance() -> dict[Language, Guidance]:
    """Return the texts of every language; raises KeyError or a TOML error where a file is broken."""
    guidances: dict[Language, Guidance] = {}
    for language in LANGUAGES:
        content = tomllib.loads((files("querybus_recovery") / "texts" / f"{language}.toml").read_text("utf-8"))
        guidances[language] = Guidance(content["instruction"], content["guidance"], content["notes"], content["detail"])
    return guidances
