"""A summary in a model's words, from computed facts and a sample, taken only if it states nothing that is not known.

Asked for where the presenter has a model, the result may be shown to it and time is left. Whatever comes back is
judged by code: its numbers, its length, its language, and for business readers the leak check. What does not pass, or
does not come, leaves the faithful summary as it is: this never fails an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from querybus.core.catalog import Catalog, Language
from querybus.core.envelope import Envelope
from querybus.core.failure import Failure
from querybus.core.messages import Answer, Finished, Outcome, Result
from querybus.core.stored.models import ModelUse
from querybus.llm.dialogue import ChatMessage, use_of
from querybus.ops.live_texts import read_text
from querybus.text.disclosure import leaks
from querybus.text.rows.masking import masked_rows
from querybus_presenter.ports import ChatModel, Connections
from querybus_presenter.summaries.claimed_numbers import known_numbers, unknown_numbers

OWN_DIRECTORY: Final = Path(__file__).parents[1] / "prompts"
PROMPT_BYTES_MAX: Final = 100_000
ROWS_SHOWN_MAX: Final = 10
COLUMNS_SHOWN_MAX: Final = 12
CELL_LENGTH_MAX: Final = 80
LENGTH_MAX: Final = 600
SECONDS_MIN: Final = 0.5
BUILTIN: Final = "builtin"
"""The name of no model: what asks for it is answered without one throughout."""

_HAN = re.compile(r"[\u3400-\u9fff]")
_PROSE = re.compile(r"[\w\s.,;:!?%‰()'\"“”‘’„«»—–\-−+=/&€$£¥₩₹°…·、。，；：！？（）《》「」『』【】～％￥×]*")
"""The signs of a sentence, of figures and of names. No sign of markup is among them."""
_NOT_PROSE = re.compile(
    r"//|www\.|\w\.[^\W\d_]{2}|\b[a-z][a-z\d+.-]*:[^\s\d]|&#?\w+;|\bSELECT\b|^\s*[-*#]\s",
    re.IGNORECASE | re.MULTILINE,
)
"""Addresses, with or without a scheme, entities, statements and items of lists."""


def load_prompts(override: Path | None = None) -> Mapping[Language, str]:
    """Return what the model is given, by language; a file of the directory replaces the one of its name. BadText, OSError."""

    def read(name: str) -> str:
        other = override / name if override is not None else OWN_DIRECTORY / name
        return read_text(other if other.is_file() else OWN_DIRECTORY / name, PROMPT_BYTES_MAX)

    return {"en": read("summary.en.md"), "zh": read("summary.zh.md")}


def is_worth_a_summary(answer: Answer) -> bool:
    """Whether an answer has more to say than its one figure."""
    return answer.outcome is Outcome.ANSWERED and answer.row_count > 1 and bool(answer.summary)


def facts_of(envelope: Envelope[Finished], result: Result) -> str:
    """Return what the model gets: question, faithful summary, labels, and at most ROWS_SHOWN_MAX rows, as JSON."""
    answer = envelope.body.answer
    masked = masked_rows(result.rows[:ROWS_SHOWN_MAX], [column.personal for column in result.columns])
    rows = [[_cut(cell) for cell in row[:COLUMNS_SHOWN_MAX]] for row in masked]
    facts = {
        "question": envelope.question,
        "known_facts": answer.summary,
        "row_count": answer.row_count,
        "columns": [column.label for column in answer.columns[:COLUMNS_SHOWN_MAX]],
        "first_rows": rows,
    }
    return json.dumps(facts, ensure_ascii=False)


class Summarizer:
    """The model, what it is given, and whose results it may see."""

    def __init__(
        self,
        model: ChatModel,
        connections: Connections,
        *,
        prompts: Mapping[Language, str],
        seconds_max: float,
    ) -> None:
        self._model = model
        self._connections = connections
        self._prompts = prompts
        self._seconds_max = seconds_max

    async def report(
        self, envelope: Envelope[Finished], result: Result, catalog: Catalog | None, *, now_ms: int
    ) -> Envelope[Finished]:
        """Return the event with its summary in the model's words, or as it was."""
        answer = envelope.body.answer
        # Half of what is left: the answer must be there in time, its words come second.
        timeout_seconds = min(self._seconds_max, envelope.remaining_ms(now_ms) / 2_000)
        if timeout_seconds < SECONDS_MIN or not is_worth_a_summary(answer) or not await self._may_see(envelope):
            return envelope
        facts = facts_of(envelope, result)
        prompt = [ChatMessage("system", self._prompts[answer.language]), ChatMessage("user", facts)]
        reply = await self._model.reply(prompt, timeout_seconds=timeout_seconds, tenant=envelope.tenant)
        envelope = with_use(envelope, use_of(reply))
        answer = envelope.body.answer
        if isinstance(reply, Failure) or reply.is_cut:
            return envelope
        reported = " ".join(reply.text.split())
        if not is_fit(reported, envelope, facts):
            return envelope
        # The labels and the faithful summary were judged before: their words give nothing more away.
        said = "\n".join((envelope.question, answer.summary, *(column.label for column in answer.columns)))
        if envelope.audience == "business" and (
            catalog is None or leaks(reported, catalog, answer.language, said=said)
        ):
            return envelope
        message = reported if answer.message == answer.summary else answer.message
        changed = answer.model_copy(update={"summary": reported, "message": message})
        return envelope.with_body(envelope.body.model_copy(update={"answer": changed}))

    async def _may_see(self, envelope: Envelope[Finished]) -> bool:
        """Whether cell values of this query may reach a model; of an unknown connection they may not."""
        if not envelope.options.allow_llm_to_see_data or envelope.options.model == BUILTIN:
            return False
        connection = await self._connections.get(envelope.connection)
        return connection is not None and connection.policy.of(envelope.tenant).allow_llm_to_see_data


def with_use(envelope: Envelope[Finished], use: ModelUse) -> Envelope[Finished]:
    """Return the event with what a call took; analysts read it in the answer."""
    used = envelope.model_use.plus(use)
    shown = None if envelope.audience == "business" else used
    answer = envelope.body.answer.model_copy(update={"model_use": shown})
    return envelope.with_body(envelope.body.model_copy(update={"answer": answer}), model_use=used)


def is_fit(reported: str, envelope: Envelope[Finished], facts: str) -> bool:
    """Whether a text is prose of the reader's language and states no number that is not in the facts."""
    language = envelope.body.answer.language
    if (
        not reported
        or len(reported) > LENGTH_MAX
        or not _PROSE.fullmatch(reported)
        or _NOT_PROSE.search(reported)
        or (language == "zh") != bool(_HAN.search(reported))
    ):
        return False
    return not unknown_numbers(reported, known_numbers([facts]), facts)


def _cut(cell: object) -> object:
    return cell[:CELL_LENGTH_MAX] if isinstance(cell, str) else cell
