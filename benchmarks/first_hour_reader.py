"""A business reader at the gateway's HTTP API, as the page asks: no connection is named, options are clicked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import asyncpg
import httpx

from benchmarks.first_hour_judge import (
    has_masks,
    hidden_though_harmless,
    is_right,
    is_sure,
    leads_on,
    shown_though_personal,
)
from benchmarks.first_hour_schemas import Question, Schema

CLICKS_MAX: Final = 2
WAIT_SECONDS: Final = 60
ANSWER_SECONDS_MAX: Final = 180.0
PAGE_SIZE: Final = 1_000
READY_SECONDS_MAX: Final = 180.0

Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one question."""

    schema: Schema
    question: Question
    kind: str
    answer: Answer
    route: str = ""
    hidden: bool = False
    shown: str | None = None

    @property
    def words(self) -> str:
        """What the reader got, on one line."""
        rows = self.answer.get("rows") or ()
        options = [option["text"] for option in self.answer.get("options") or ()]
        said = f"{self.answer.get('message', '')} {self.answer.get('next_step', '')}".strip()
        return f"[{self.answer.get('outcome')}, {self.answer.get('connection')}] {said} {list(rows[:2])} {options}"[
            :300
        ]


@dataclass(frozen=True, slots=True)
class Http:
    """The API with the key of one audience."""

    client: httpx.AsyncClient
    key: str

    async def ask(self, question: str, thread: str | None = None, connection: str | None = None) -> Answer:
        """Return the answer to a question."""
        language = "en" if question.isascii() else "zh"
        options = {"language": language, "page_size": PAGE_SIZE}
        body = {"question": question, "thread_id": thread, "connection": connection, "options": options}
        return await self._answer("/v1/queries", {name: value for name, value in body.items() if value is not None})

    async def choose(self, answer: Answer, option: str) -> Answer:
        """Return the answer to an option that was clicked."""
        return await self._answer(f"/v1/queries/{answer['query_id']}/clarify", {"option_id": option})

    async def wait_for_catalog(self, connection: str) -> None:
        """Return once the connection can be asked; TimeoutError with what is said where it never can."""
        said = ""
        for _ in range(int(READY_SECONDS_MAX * 5)):
            reply = await self.client.get(f"/v1/connections/{connection}/catalog", headers=self._headers)
            if reply.is_success:
                return
            said = reply.text
            await asyncio.sleep(0.2)
        raise TimeoutError(f"{connection} has no catalog: {said[:400]}")

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    async def _answer(self, path: str, body: Mapping[str, Any]) -> Answer:
        headers = {**self._headers, "Prefer": f"wait={WAIT_SECONDS}"}
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            reply = await self.client.post(path, json=body, headers=headers)
            while reply.is_success and not reply.json().get("answer"):
                reply = await self.client.get(f"/v1/queries/{reply.json()['id']}", headers=headers)
        # A problem instead of a query is an end without an answer.
        return reply.json()["answer"] if reply.is_success else {"outcome": "problem", "message": reply.text[:300]}


@dataclass(frozen=True, slots=True)
class Reader:
    """Asks the questions of one schema and judges what comes; `things` are the words of all connected databases."""

    business: Http
    analyst: Http
    schema: Schema
    database: asyncpg.Connection
    things: Sequence[str]
    personal: frozenset[str]

    async def judge_all(self) -> list[Verdict]:
        """Return a verdict for each question, in order; a follow-up goes on in the thread of the line before it."""
        verdicts: list[Verdict] = []
        thread: str | None = None
        for question in self.schema.questions:
            answer = await self.business.ask(question.text, thread if question.mark == ">" else None)
            thread = answer.get("thread_id")
            verdicts.append(await self._judge(question, answer))
            if question.mark == "?" and answer.get("outcome") != "answered":
                # Who goes on chooses first where the question was asked back.
                thread = (await self._chosen(answer) or answer).get("thread_id")
        return verdicts

    async def _judge(self, question: Question, answer: Answer) -> Verdict:
        said = question.text
        shown = shown_though_personal(answer, self.personal, said)
        if question.gold is None:
            kind = self._kind_without_rows(answer, question)
            return Verdict(self.schema, question, kind, answer, shown=shown)
        statement = await self.database.prepare(question.gold)
        columns = [item.name for item in statement.get_attributes()]
        gold = [tuple(row.values()) for row in await statement.fetch()]
        if answer.get("outcome") != "answered":
            kind = "asked back usefully" if await self._helps(answer, columns, gold) else ""
            return Verdict(self.schema, question, kind or self._end(answer, said), answer, shown=shown)
        hidden, rows = await self._unmasked(question, answer)
        route = answer["connection"] if answer["connection"] != self.schema.name else ""
        if not route and is_right(columns, gold, rows):
            return Verdict(self.schema, question, "right", answer, hidden=hidden, shown=shown)
        kind = "wrong while sure" if is_sure(answer) else "wrong, said unsure"
        return Verdict(self.schema, question, kind, answer, route, hidden, shown)

    def _kind_without_rows(self, answer: Answer, question: Question) -> str:
        """A change has to be refused; a question off the topic is replied to in words, or its end names what can be asked."""
        if answer.get("outcome") == "answered":
            return "wrong while sure" if is_sure(answer) else "wrong, said unsure"
        ends = ("refused", "replied", "clarification") if question.mark == "!" else ("replied",)
        if answer.get("outcome") in ends:
            return "right"
        return "right" if leads_on(answer, question.text, self.things) else "wall"

    def _end(self, answer: Answer, said: str) -> str:
        asks = answer.get("outcome") in ("clarification", "confirmation", "replied")
        return "asked back, of no use" if asks and leads_on(answer, said, self.things) else "wall"

    async def _helps(self, answer: Answer, columns: Sequence[str], gold: Sequence[Any], clicks: int = 1) -> bool:
        for option in answer.get("options") or ():
            if option.get("action") == "retry_as_is" or option.get("connection") not in (None, self.schema.name):
                continue
            chosen = await self.business.choose(answer, option["id"])
            if chosen.get("outcome") == "answered":
                if chosen["connection"] == self.schema.name and is_right(columns, gold, chosen["rows"]):
                    return True
            elif (
                option.get("connection")
                and clicks < CLICKS_MAX
                and await self._helps(chosen, columns, gold, clicks + 1)
            ):
                return True
        return False

    async def _chosen(self, answer: Answer) -> Answer | None:
        """Return the answer to the option that names this schema's database."""
        for option in answer.get("options") or ():
            if option.get("connection") == self.schema.name:
                return await self.business.choose(answer, option["id"])
        return None

    async def _unmasked(self, question: Question, answer: Answer) -> tuple[bool, Sequence[Sequence[Any]]]:
        """Return whether something harmless is hidden, and the rows as an analyst sees them where some are masked."""
        rows: Sequence[Sequence[Any]] = answer["rows"]
        if not has_masks(answer):
            return False, rows
        thread: str | None = None
        for said in question.before:
            thread = (await self.analyst.ask(said, thread, None if thread else answer["connection"])).get("thread_id")
        whole = await self.analyst.ask(question.text, thread, None if thread else answer["connection"])
        unmasked = whole.get("rows") or ()
        if len(unmasked) != len(rows):
            return False, rows
        return hidden_though_harmless(rows, unmasked, self.personal), unmasked
