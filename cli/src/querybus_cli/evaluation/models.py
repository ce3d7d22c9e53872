"""The models that items are asked of, seen through: what the first answer was, by itself, and what the calls cost."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from querybus.core.failure import Failure
from querybus.core.stored.models import USUAL_PROMPTING, Prompting
from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus_generator.ports import ChatModel

_FENCE: Final = re.compile(r"```[ \t]*\w*[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)


def own_statement(answer: str) -> str:
    r"""Return what an answer itself gives to be run: what its first fence or JSON object holds, else all of it.

    On purpose not what the services read a statement with: it is what they are measured against.

    >>> own_statement("Sure:\n```sql\nSELECT 1\n```\nThat is all.")
    'SELECT 1'
    >>> own_statement('{"sql": "SELECT 1;"}')
    'SELECT 1'
    """
    fenced = _FENCE.search(answer)
    text = (fenced.group(1) if fenced else answer).strip()
    if text.startswith("{"):
        try:
            said = cast("dict[str, Any]", json.loads(text))
        except ValueError:
            said = {}
        text = str(said.get("sql", said.get("query", text))).strip()
    return text.rstrip(";").rstrip()


class Recorded:
    """A chat model that gives a recorded answer, and again nothing else when it is asked again."""

    def __init__(self, answer: str) -> None:
        self.first = answer
        self.calls = self.tokens_in = self.tokens_out = 0

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
        """Return the recorded answer."""
        del messages, timeout_seconds, model, tenant, on_text
        return ModelReply(self.first, 0, 0, "replay")


class Counted:
    """A chat model whose calls and tokens are counted for one item, and whose first answer is kept."""

    def __init__(self, api: ChatModel) -> None:
        self._api = api
        self.first = ""
        self.calls = 0
        self.tokens_in = 0
        self.tokens_out = 0

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
        if isinstance(said, ModelReply):
            self.first = self.first or said.text
            self.tokens_in += said.tokens_in
            self.tokens_out += said.tokens_out
        return said
