"""A chat model whose calls are counted for one query, up to the tokens and the cost that a question may take."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from querybus.core.failure import Failure
from querybus.core.stored.models import NO_USE, ModelUse, Prompting
from querybus.llm.dialogue import ChatMessage, ModelReply, use_of
from querybus.llm.errors import Fault, FaultKind, unavailable
from querybus_generator.ports import ChatModel


class MeteredModel:
    """The `ChatModel` of one query. `before` is what it took at earlier stages and tries."""

    def __init__(self, model: ChatModel, before: ModelUse, *, tokens_max: int = 0, cost_max: float = 0.0) -> None:
        """`tokens_max` and `cost_max`, in the unit of the models' prices, are no limit at 0."""
        self._model = model
        self._before = before
        self._tokens_max = tokens_max
        self._cost_max = cost_max
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
        used = self._before.plus(self.use)
        if self._tokens_max and used.tokens >= self._tokens_max:
            detail = f"the question has used its {self._tokens_max:,} tokens (QUERYBUS_TOKENS_PER_QUESTION)"
            return unavailable(Fault(FaultKind.QUOTA, detail))
        if self._cost_max and used.cost >= self._cost_max:
            detail = f"the question has cost {used.cost:.4g} of at most {self._cost_max:g} (QUERYBUS_COST_PER_QUESTION)"
            return unavailable(Fault(FaultKind.QUOTA, detail))
        outcome = await self._model.reply(
            messages, timeout_seconds=timeout_seconds, model=model, tenant=tenant, on_text=on_text
        )
        self.use = self.use.plus(use_of(outcome))
        return outcome
