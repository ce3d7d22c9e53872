"""The models that items are asked of, seen through: what the first answer was, by itself, and what the calls cost."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from querybus.core.failure import Failure, FailureCode
from querybus.core.stored.models import USUAL_PROMPTING, Prompting
from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus_generator.ports import ChatModel

FAILURE_LENGTH_MAX: Final = 200
_FENCE: Final = re.compile(r"```[ \t]*\w*[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
_THOUGHTS: Final = re.compile(r"<think>.*?</think>", re.DOTALL)
_QUERY: Final = re.compile(r"\b(?:SELECT|WITH)\b.*?(?=\n[ \t]*\n|\Z)", re.DOTALL | re.IGNORECASE)


def own_statements(answer: str) -> tuple[str, ...]:
    r"""Return what an answer itself gives to be run, the plainest reading first: all of it, a fence, a JSON object, a paragraph.

    On purpose not what the services read a statement with: it is what they are measured against.

    >>> own_statements("Sure:\n```sql\nSELECT 1\n```\nThat is all.")[1]
    'SELECT 1'
    >>> own_statements('{"sql": "SELECT 1;"}')[1]
    'SELECT 1'
    >>> own_statements("It is this:\n\nSELECT 1;\n\nThat is all.")[1]
    'SELECT 1'
    """
    answer = _THOUGHTS.sub("", answer)
    texts = [answer, *_FENCE.findall(answer)[:1]]
    if texts[-1].lstrip().startswith("{"):
        try:
            said = cast("dict[str, Any]", json.loads(texts[-1]))
        except ValueError:
            said = {}
        texts += [str(said[key]) for key in ("sql", "query") if key in said]
    texts += [match[0] for match in list(_QUERY.finditer(answer))[-1:]]
    statements = (text.strip().rstrip(";").rstrip() for text in texts)
    return tuple(dict.fromkeys(statement for statement in statements if statement))


class Recorded:
    """A chat model that gives a recorded answer, once: whoever asks again within one event learns that there is no other."""

    def __init__(self, answer: str) -> None:
        self.first = answer
        self.calls = self.tokens_in = self.tokens_out = 0
        self.failures: tuple[str, ...] = ()
        self._has_spoken = False

    async def prompting(self, tenant: str, model: str | None) -> Prompting | None:
        """Return the usual prompting."""
        del tenant, model
        return USUAL_PROMPTING

    async def reply(
        self,
        messages: Sequence[ChatMessage],
        *,
        timeout_seconds: float,
        model: str | None = None,
        tenant: str = "",
        on_text: Callable[[str], None] | None = None,
    ) -> ModelReply | Failure:
        """Return the recorded answer, or that it was given."""
        del messages, timeout_seconds, model, tenant, on_text
        if self._has_spoken:
            return Failure.of(FailureCode.MODEL_UNAVAILABLE, "a recording holds one answer")
        self._has_spoken = True
        return ModelReply(self.first, 0, 0, "replay")


class Counted:
    """A chat model whose calls and tokens are counted for one item, and whose first answer is kept."""

    def __init__(self, api: ChatModel) -> None:
        self._api = api
        self.first = ""
        self.calls = 0
        self.tokens_in = 0
        self.tokens_out = 0
        self.failures: tuple[str, ...] = ()

    async def prompting(self, tenant: str, model: str | None) -> Prompting | None:
        """Return how the model is asked."""
        return await self._api.prompting(tenant, model)

    async def reply(
        self,
        messages: Sequence[ChatMessage],
        *,
        timeout_seconds: float,
        model: str | None = None,
        tenant: str = "",
        on_text: Callable[[str], None] | None = None,
    ) -> ModelReply | Failure:
        """Pass the call on and count it."""
        self.calls += 1
        said = await self._api.reply(
            messages, timeout_seconds=timeout_seconds, model=model, tenant=tenant, on_text=on_text
        )
        if isinstance(said, Failure):
            self.failures = (*self.failures, f"{said.code.value}: {said.detail}"[:FAILURE_LENGTH_MAX])
        else:
            self.first = self.first or said.text
            self.tokens_in += said.tokens_in
            self.tokens_out += said.tokens_out
        return said
