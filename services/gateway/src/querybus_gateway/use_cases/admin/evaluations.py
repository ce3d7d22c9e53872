"""Evaluations at the administration: questions with known statements, compared by the rows that both gave.

Whoever evaluates asks both as queries of its own, with its own rights, and names them here; what is kept is the verdicts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from pydantic import BaseModel, ConfigDict, Field

from querybus.bus.log.publish import BusTrouble, TooLarge
from querybus.bus.stores.pages import PageUnreadable, decode_page
from querybus.core.credential import Credential
from querybus.core.envelope import Envelope
from querybus.core.messages import Finished, Outcome
from querybus.core.stored.quality import ITEMS_MAX, QUESTION_LENGTH_MAX, EvaluatedItem, Evaluation, Quality, Verdict
from querybus.ops.clock import Clock, RandomBits
from querybus.text.rows.execution_match import Rows, is_ordered, matches
from querybus_gateway.problems import FieldError, Problem, ProblemCode
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.admin.asked import TROUBLE, KnownNames, refusal
from querybus_gateway.use_cases.queries import Queries
from querybus_gateway.use_cases.results.pages import PageGone, Results

ROWS_COMPARED_MAX: Final = 20_000

_ENDED: Final[dict[Outcome, Verdict]] = {
    Outcome.CLARIFICATION: "asked_back",
    Outcome.REPLIED: "asked_back",
    Outcome.REFUSED: "refused",
}


class ItemRequest(BaseModel):
    """A question that was asked, and its known statement that was run; both are queries of the caller's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str = Field(min_length=1, max_length=QUESTION_LENGTH_MAX)
    query_id: str = Field(max_length=36)
    gold_query_id: str = Field(max_length=36)


class EvaluationRequest(BaseModel):
    """The items of one evaluation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    items: tuple[ItemRequest, ...] = Field(min_length=1, max_length=ITEMS_MAX)


class QualityKept(Protocol):
    """The quality by tenant and connection. Raises BusTrouble, a change TooLarge as well."""

    async def read(self, tenant: str, name: str) -> Quality: ...

    async def change(self, tenant: str, name: str, alter: Callable[[Quality], Quality | None]) -> Quality | None: ...


class Evaluations:
    """The evaluations of a tenant's connections."""

    def __init__(
        self,
        queries: Queries,
        results: Results,
        quality: QualityKept,
        connections: KnownNames,
        *,
        clock: Clock,
        random_bits: RandomBits,
    ) -> None:
        self._queries = queries
        self._results = results
        self._quality = quality
        self._connections = connections
        self._clock = clock
        self._random_bits = random_bits

    async def listed(self, credential: Credential, connection: str) -> Json | Problem:
        """Return `{connection, evaluations}`, the newest first."""
        try:
            if (refused := await refusal(credential, connection, self._connections)) is not None:
                return refused
            quality = await self._quality.read(credential.tenant, connection)
        except BusTrouble:
            return TROUBLE
        return {"connection": connection, "evaluations": [_view(item) for item in reversed(quality.evaluations)]}

    async def add(self, credential: Credential, connection: str, wanted: EvaluationRequest) -> Json | Problem:
        """Compare the items and keep the verdicts: the evaluation, as `listed` has it."""
        try:
            if (refused := await refusal(credential, connection, self._connections)) is not None:
                return refused
        except BusTrouble:
            return TROUBLE
        items: list[EvaluatedItem] = []
        for place, item in enumerate(wanted.items):
            verdict = await self._verdict(credential, item)
            if isinstance(verdict, Problem):
                message = f"{verdict.detail or verdict.code.value} (item {place + 1})"
                return Problem(verdict.code, message, (FieldError(f"/items/{place}", message),))
            items.append(EvaluatedItem(question=item.question, verdict=verdict, query_id=item.query_id))
        made = Evaluation(id=f"{self._random_bits(64):016x}", at=self._clock(), by=credential.user, items=tuple(items))
        try:
            await self._quality.change(credential.tenant, connection, lambda quality: quality.with_evaluation(made))
        except BusTrouble:
            return TROUBLE
        except TooLarge:
            return Problem(ProblemCode.TOO_LARGE, "the evaluation is too large to be kept")
        return _view(made)

    async def _verdict(self, credential: Credential, item: ItemRequest) -> Verdict | Problem:
        gold = await self._queries.finished(item.gold_query_id, credential)
        if isinstance(gold, Problem):
            return gold
        if gold.body.answer.outcome is not Outcome.ANSWERED:
            return Problem(ProblemCode.INVALID, "its known statement gave no rows to compare with")
        finished = await self._queries.finished(item.query_id, credential)
        if isinstance(finished, Problem):
            return finished
        if finished.body.answer.outcome is not Outcome.ANSWERED:
            return _ENDED.get(finished.body.answer.outcome, "failed")
        one, other = await self._rows(gold, credential), await self._rows(finished, credential)
        if isinstance(one, Problem):
            return one
        if isinstance(other, Problem):
            return other
        is_cut = gold.body.answer.truncated or finished.body.answer.truncated
        if is_cut and gold.body.answer.row_count != finished.body.answer.row_count:
            return "wrong"
        statement = gold.attempts[-1].sql if gold.attempts else ""
        ordered = await asyncio.to_thread(is_ordered, statement)
        return "right" if await asyncio.to_thread(matches, one, other, ordered=ordered) else "wrong"

    async def _rows(self, finished: Envelope[Finished], credential: Credential) -> Rows | Problem:
        exported = await self._results.export(finished.query_id, credential)
        if isinstance(exported, Problem):
            return exported
        rows: list[tuple[object, ...]] = []
        try:
            async for page in exported.pages():
                _, cells = await asyncio.to_thread(decode_page, page)
                rows += [tuple(cell) for cell in cells]
                if len(rows) > ROWS_COMPARED_MAX:
                    return Problem(ProblemCode.TOO_LARGE, f"at most {ROWS_COMPARED_MAX} rows are compared")
        except (PageGone, PageUnreadable):
            return Problem(ProblemCode.RESULT_EXPIRED, "the rows are no longer kept; ask again")
        return rows


def _view(evaluation: Evaluation) -> Json:
    right = sum(item.verdict == "right" for item in evaluation.items)
    return {
        "id": evaluation.id,
        "at": evaluation.at,
        "by": evaluation.by,
        "right": right,
        "items": [item.model_dump(include={"question", "verdict", "query_id"}) for item in evaluation.items],
    }
