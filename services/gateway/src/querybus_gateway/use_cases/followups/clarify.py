"""Answer what a query asked back: one of its options, or words of one's own; it starts a new query of the thread."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from querybus.core.asking_back import OptionAction
from querybus.core.credential import Credential
from querybus.core.messages import Clarifies, Outcome
from querybus_gateway.admit import AskRequest, RequestOptions
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.use_cases.queries import Queries
from querybus_gateway.use_cases.resources import Reply

OWN_WORDS: Final = "own_words"
"""The option of an answer that is none of those offered."""


class ClarifyRequest(BaseModel):
    """One of `option_id` and `question`: an option that was offered, or the answer in words of one's own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    option_id: str | None = Field(default=None, max_length=100, description="of the answer's `options`")
    question: str | None = Field(default=None, description="instead of an option, at most 8 kB")
    options: RequestOptions | None = Field(default=None, description="default: those of the query that asked back")


async def clarify(
    queries: Queries,
    query: str,
    request: ClarifyRequest,
    credential: Credential,
    *,
    idempotency_key: str | None = None,
    wait_seconds: float = 0,
) -> Reply | Problem:
    """Ask the new query in the same thread, of the same connection unless the option names another.

    `no_clarification` for a query that asked nothing back.
    """
    if (request.option_id is None) == (request.question is None):
        return Problem(ProblemCode.INVALID, "give either `option_id` or `question`")
    finished = await queries.finished(query, credential)
    if isinstance(finished, Problem):
        return finished
    answer = finished.body.answer
    # What failed may offer ways on as well, as what was asked back does.
    if answer.outcome is not Outcome.CLARIFICATION and not answer.options:
        return Problem(
            ProblemCode.NO_CLARIFICATION, more={"outcome": answer.outcome.value, "query_id": finished.query_id}
        )
    question, action, connection, key = request.question, OptionAction.ADD_FILTER, finished.connection, ""
    if request.option_id is not None:
        option = next((option for option in answer.options if option.id == request.option_id), None)
        if option is None:
            return Problem(ProblemCode.UNKNOWN_OPTION, "the ids stand in the answer's `options`")
        question, action, connection = option.question, option.action, option.connection or connection
        key = option.key
    known = {name: getattr(finished.options, name) for name in RequestOptions.model_fields}
    return await queries.ask(
        AskRequest.model_construct(
            question=question or "",
            connection=connection,
            thread_id=finished.thread_id,
            options=request.options or RequestOptions.model_construct(**known),
        ),
        credential,
        idempotency_key=idempotency_key,
        wait_seconds=wait_seconds,
        continues=Clarifies(
            query_id=finished.query_id, option_id=request.option_id or OWN_WORDS, action=action, key=key
        ),
    )
