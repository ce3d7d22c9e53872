"""A chat model whose calls are counted for one query, up to the tokens that a question may take."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from querybus.core.failure import Failure
from querybus.core.stored.models import NO_USE, ModelUse, Prompting
from querybus.llm.dialogue import ChatMessage, ModelReply, use_of
from querybus.llm.errors import Fault, FaultKind, unavailable
from querybus_generator.ports import ChatModel


class MeteredModel:
    """The `ChatModel` of one query. `before` is what it took at earlier stages and tries."""

    def __init__(self, model: ChatModel, before: ModelUse, tokens_max: int) -> None:
        """`tokens_max` 0 is no limit."""
        self._model = model
        self._before = before
        self._tokens_max = tokens_max
        self.use = NO_USE

    async def prompting(self, tenant: str, model: str | None) -> Prompting | None:
        """Return how the model is asked that this tenant's call would go to; None if there is none at all."""
        return await self._model.prompting(tenant, model)

    async def reply(
        self,
        messages: Sequence[ChatMessage],
        *,
        timeout_seconds: float,
        model: str | None = None,
        tenant: str = "",
        on_text: Callable[[str], None] | None = None,
    ) -> ModelReply | Failure:
        """Return the model's reply, or a Failure: the model's own, or that the question has used its tokens."""
        if self._tokens_max and self._before.tokens + self.use.tokens >= self._tokens_max:
            detail = f"the question has used its {self._tokens_max:,} tokens (QUERYBUS_TOKENS_PER_QUESTION)"
            return unavailable(Fault(FaultKind.QUOTA, detail))
        outcome = await self._model.reply(
            messages, timeout_seconds=timeout_seconds, model=model, tenant=tenant, on_text=on_text
        )
        self.use = self.use.plus(use_of(outcome))
        return outcome
