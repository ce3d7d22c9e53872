"""What lies on the administration for a connection: answers that were called wrong, and evaluations, newest last."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

MARKS_MAX: Final = 500
EVALUATIONS_MAX: Final = 5
ITEMS_MAX: Final = 200
QUESTION_LENGTH_MAX: Final = 500
Verdict = Literal["right", "wrong", "asked_back", "refused", "failed"]


class _Value(BaseModel):
    """Frozen; unknown fields survive, so that an older replica takes nothing away."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="allow")


class Mark(_Value):
    """An answer that its reader called wrong."""

    query_id: str
    question: str
    language: str
    sql: str = ""
    at: int


class EvaluatedItem(_Value):
    """One question of an evaluation and what came of it."""

    question: str = Field(min_length=1, max_length=QUESTION_LENGTH_MAX)
    verdict: Verdict
    query_id: str = Field(default="", max_length=36)


class Evaluation(_Value):
    """One run of a list of questions with known statements."""

    id: str
    at: int
    by: str
    items: tuple[EvaluatedItem, ...] = Field(max_length=ITEMS_MAX)


class Quality(_Value):
    """The marks and the evaluations of one connection."""

    marks: tuple[Mark, ...] = ()
    evaluations: tuple[Evaluation, ...] = ()

    def with_mark(self, mark: Mark) -> Quality:
        """Return it with an answer marked, once; beyond MARKS_MAX the oldest goes."""
        others = (item for item in self.marks if item.query_id != mark.query_id)
        return self.model_copy(update={"marks": (*others, mark)[-MARKS_MAX:]})

    def without_mark(self, query_id: str) -> Quality:
        """Return it with an answer no longer marked."""
        return self.model_copy(update={"marks": tuple(item for item in self.marks if item.query_id != query_id)})

    def with_evaluation(self, evaluation: Evaluation) -> Quality:
        """Return it with one more evaluation; beyond EVALUATIONS_MAX the oldest goes."""
        return self.model_copy(update={"evaluations": (*self.evaluations, evaluation)[-EVALUATIONS_MAX:]})
