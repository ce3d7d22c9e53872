"""Beginning a run: which question it is, of which thread and connection, or which interrupt it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from querybus.core.credential import Credential
from querybus_gateway.admit import WAIT_SECONDS_MAX, AskRequest, RequestOptions
from querybus_gateway.http.compatible.langgraph.objects import AUTO_NAMES, INTERRUPTS, Assistant
from querybus_gateway.http.compatible.langgraph.requests import STREAM_MODES, Pagination, RunRequest
from querybus_gateway.http.compatible.langgraph.stream import turn_of
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.use_cases.bundle import UseCases
from querybus_gateway.use_cases.followups.choice import chosen_option
from querybus_gateway.use_cases.followups.clarify import ClarifyRequest, clarify
from querybus_gateway.use_cases.followups.confirm import ConfirmRequest
from querybus_gateway.use_cases.resources import Reply

TURNS_SHOWN_MAX: Final = 100
_YES: Final = frozenset(("yes", "y", "true", "ok", "okay", "accept", "approve", "confirm", "是", "好", "确认", "同意"))
_NO: Final = frozenset(("no", "n", "false", "ignore", "reject", "cancel", "否", "不", "取消", "拒绝"))
_NOTHING_ASKED: Final = Problem(
    ProblemCode.QUESTION_EMPTY, "`input.messages` needs a message of a user, or `command.resume` an interrupt to answer"
)
_NO_PAGE: Final = Problem(
    ProblemCode.INVALID,
    "input.pagination: only a run that is waited for or streamed shows another page than the first;"
    " GET /v1/queries/{run_id}/result?page=N has every page",
)
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Started:
    """A run on its way, the assistant that it is of, the turns of its thread before it, oldest first, and the page wanted."""

    reply: Reply
    assistant: Assistant
    earlier: Sequence[Json]
    page: Pagination | None = None

    @property
    def thread(self) -> str:
        """The run's thread."""
        return self.reply.resource["thread_id"]


class Runs:
    """Begins runs for one caller."""

    def __init__(self, use_cases: UseCases, credential: Credential, *, wait_seconds: float = 0) -> None:
        """`wait_seconds` is how long a new run's end is waited for before it is returned as begun."""
        self._use_cases = use_cases
        self._credential = credential
        self._wait_seconds = wait_seconds

    async def assistants(self) -> list[Assistant] | Problem:
        """Return the assistants of the caller: the one that finds the connection, and one for each."""
        found = await self._use_cases.catalogs.connections(self._credential)
        if isinstance(found, Problem):
            return found
        return [Assistant(), *(Assistant(one["name"]) for one in found["connections"])]

    async def assistant(self, named: str | None) -> Assistant | Problem:
        """Return the assistant of an id, a graph's or a connection's name."""
        if named is None:
            return Problem(ProblemCode.INVALID, '"assistant_id" is a required property')
        known = await self.assistants()
        if isinstance(known, Problem):
            return known
        if named in AUTO_NAMES:
            return known[0]
        found = next((one for one in known if named in (one.id, one.connection)), None)
        names = ", ".join(one.connection or "text2sql_agent" for one in known[:10])
        return found or Problem(ProblemCode.INVALID, f"there is no such assistant; there are: {names}")

    async def begin(self, run: RunRequest, thread: str | None, *, shows_page: bool = True) -> Started | Problem:
        """Ask what a run asks; `shows_page` says that its rows are shown by the request that begins it."""
        if (fault := _fault(run)) is not None:
            return fault
        assistant = await self.assistant(run.assistant_id)
        if isinstance(assistant, Problem):
            return assistant
        options, page = run.options(), run.pagination
        if isinstance(options, Problem):
            return options
        if isinstance(page, Problem):
            return page
        if page is not None and page.number > 1 and not shows_page:
            return _NO_PAGE
        if page is not None and page.size and "page_size" not in options.model_fields_set:
            options = options.model_copy(update={"page_size": page.size})
        started = await self._begun(run, thread, assistant, options)
        return started if isinstance(started, Problem) else replace(started, page=page)

    async def _begun(
        self, run: RunRequest, thread: str | None, assistant: Assistant, options: RequestOptions
    ) -> Started | Problem:
        if thread is None:
            if run.question is None:
                return _NOTHING_ASKED
            return await self._ask(run, assistant, options, run.question, (), None)
        record = await self._record(thread, run)
        if isinstance(record, Problem):
            return record
        turns = await self.turns(thread)
        if isinstance(turns, Problem):
            return turns
        if turns and turns[-1]["status"] != "finished":
            busy = await self._make_way(run, turns[-1]["query_id"])
            if busy is not None:
                return busy
        return await self._in_thread(run, assistant, options, record, turns)

    async def turns(self, thread: str, *, until_sequence: int | None = None) -> list[Json] | Problem:
        """Return the thread's turns with their answers, oldest first; none for a thread in which nothing was asked."""
        before = 0 if until_sequence is None else until_sequence + 1
        threads = self._use_cases.threads
        found = await threads.turns(
            thread, self._credential, limit=TURNS_SHOWN_MAX, before_sequence=before, with_answers=True
        )
        if isinstance(found, Problem):
            known = await threads.record(thread, self._credential)
            return known if isinstance(known, Problem) else []
        return found["turns"]

    async def end_of(self, answer: Json, page: Pagination | None) -> Json | Problem:
        """Return the finished turn of an answer, with the page of rows that is wanted in place of the first."""
        # How the draft came about is part of the log, not of the answer, and for analysts.
        known = await self.turns(answer["thread_id"]) if self._credential.audience == "analyst" else ()
        turn = turn_of(answer, () if isinstance(known, Problem) else known)
        if page is None or answer["outcome"] != "answered":
            return turn
        found = await self._use_cases.results.page(turn["query_id"], self._credential, page.number, page.size)
        if isinstance(found, Problem):
            return found
        about = {name: value for name, value in found.items() if name not in ("rows", "columns", "query_id")}
        return {**turn, "answer": {**answer, "rows": found["rows"], "pagination": about}}

    async def _record(self, thread: str, run: RunRequest) -> Json | Problem:
        found = await self._use_cases.threads.record(thread, self._credential)
        if isinstance(found, Problem) and found.code is ProblemCode.NOT_FOUND and run.if_not_exists == "create":
            found = await self._use_cases.threads.open(self._credential, thread=thread, metadata=run.metadata)
        return found

    async def _make_way(self, run: RunRequest, query: str) -> Problem | None:
        """Do with the run that is under way what the client wants; return why the new one may not begin."""
        queries = self._use_cases.queries
        if run.multitask_strategy == "reject":
            return Problem(ProblemCode.NOT_FINISHED, "the thread has a run under way")
        if run.multitask_strategy in ("interrupt", "rollback"):
            await queries.cancel(query, self._credential)
        # What is asked next may refer to what is being answered.
        found = await queries.wait(query, self._credential, WAIT_SECONDS_MAX)
        return found if isinstance(found, Problem) else None

    async def _in_thread(
        self, run: RunRequest, assistant: Assistant, options: RequestOptions, record: Json, turns: list[Json]
    ) -> Started | Problem:
        until = run.until_sequence
        shown = turns if until is None else [turn for turn in turns if turn["last_sequence"] <= until]
        asking = turns[-1] if turns and turns[-1]["outcome"] in INTERRUPTS and until is None else None
        resume = run.command.resume if run.command is not None else None
        if resume is not None:
            if asking is None:
                return Problem(ProblemCode.NO_CLARIFICATION, "the thread waits for no answer")
            return await self._resume(assistant, options, asking, resume, turns)
        question = run.question
        if question is None:
            # A client that regenerates an answer names the checkpoint behind its question.
            again = next((turn for turn in turns if turn["sequence"] == until), None)
            if again is None:
                return _NOTHING_ASKED
            question, until = again["question"], again["sequence"] - 1
        elif asking is not None and chosen_option(question, asking["answer"]) is not None:
            return await self._resume(assistant, options, asking, question, turns)
        return await self._ask(run, assistant, options, question, shown, record["thread_id"], until_sequence=until)

    async def _ask(
        self,
        run: RunRequest,
        assistant: Assistant,
        options: RequestOptions,
        question: str,
        earlier: Sequence[Json],
        thread: str | None,
        *,
        until_sequence: int | None = None,
    ) -> Started | Problem:
        connection = run.settings.get("connection") or assistant.connection
        request = AskRequest.model_construct(
            question=question,
            connection=connection if isinstance(connection, str) else None,
            thread_id=thread,
            options=options,
        )
        reply = await self._use_cases.queries.ask(
            request, self._credential, wait_seconds=self._wait_seconds, until_sequence=until_sequence
        )
        return reply if isinstance(reply, Problem) else Started(reply, assistant, earlier)

    async def _resume(
        self, assistant: Assistant, options: RequestOptions, asking: Json, resume: Any, turns: list[Json]
    ) -> Started | Problem:
        query, words = asking["query_id"], words_of(resume)
        queries = self._use_cases.queries
        if asking["outcome"] == "clarification":
            option = chosen_option(words, asking["answer"])
            choice = ClarifyRequest(option_id=option) if option else ClarifyRequest(question=words, options=options)
            reply = await clarify(queries, query, choice, self._credential)
        elif words.strip().casefold() in _YES:
            digest = asking["answer"]["confirmation"]["sql_sha256"]
            reply = await self._use_cases.confirmations.confirm(
                query, ConfirmRequest(sql_sha256=digest), self._credential
            )
        elif words.strip().casefold() in _NO:
            return Problem(ProblemCode.ALREADY_FINISHED, "nothing was changed, and nothing will be without a yes")
        else:
            return Problem(ProblemCode.NOT_CONFIRMABLE, "resume with yes to change it; nothing was changed")
        return reply if isinstance(reply, Problem) else Started(reply, assistant, turns)


async def ended(use_cases: UseCases, query: str, credential: Credential, patience_seconds: float) -> Reply | Problem:
    """Return the query once it has finished, or as it stands when the time is over."""
    until = asyncio.get_running_loop().time() + patience_seconds
    while True:
        found = await use_cases.queries.wait(query, credential, WAIT_SECONDS_MAX)
        if isinstance(found, Problem) or found.is_finished or asyncio.get_running_loop().time() > until:
            return found


def words_of(resume: Any) -> str:
    """Return the words of an answer to an interrupt, in whatever shape a client sends it.

    >>> words_of(True), words_of({"option_id": "o1"}), words_of([{"type": "response", "args": "orders"}])
    ('true', 'o1', 'orders')
    """
    if isinstance(resume, bool):
        return "true" if resume else "false"
    if isinstance(resume, list) and resume:
        return words_of(cast("list[Any]", resume)[0])
    if isinstance(resume, Mapping):
        known = cast("Mapping[str, Any]", resume)
        for name in ("option_id", "question", "answer", "text", "args", "confirmed", "value", "type"):
            if known.get(name) is not None:
                return words_of(known[name])
        # By interrupt, as `{<interrupt id>: <answer>}`.
        return words_of(next(iter(known.values()))) if known else ""
    return str(resume)


def _fault(run: RunRequest) -> Problem | None:
    if run.webhook is not None:
        return Problem(ProblemCode.INVALID, "webhooks are not called: follow the run's stream, or join it")
    if unknown := [mode for mode in run.modes if mode not in STREAM_MODES]:
        return Problem(ProblemCode.INVALID, f"there is no stream mode {unknown[0][:40]!r}")
    named = run.checkpoint_id or (run.checkpoint.checkpoint_id if run.checkpoint is not None else None)
    if named is not None and run.until_sequence is None:
        return Problem(ProblemCode.NOT_FOUND, "there is no such checkpoint")
    return None
