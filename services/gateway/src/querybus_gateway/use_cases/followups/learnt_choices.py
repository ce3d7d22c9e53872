"""What is learnt of the options that a person chooses: counted per person and kind of question, shown and forgotten on demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from pydantic import BaseModel, ConfigDict, Field

from querybus.bus.log.publish import BusTrouble
from querybus.core.credential import Credential
from querybus.core.envelope import Envelope
from querybus.core.messages import Asked
from querybus.core.stored.choices import Choices, choices_name
from querybus.ops.log import get_log
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.answer import View
from querybus_gateway.public.redaction import Json

RETRY_SECONDS: Final = 2
_TROUBLE: Final = Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=RETRY_SECONDS)
_log = get_log(__name__)


class ChoicesKept(Protocol):
    """Choices by tenant and name of the person's choices. Raises BusTrouble."""

    async def read(self, tenant: str, name: str) -> Choices: ...

    async def change(self, tenant: str, name: str, alter: Callable[[Choices], Choices | None]) -> Choices | None: ...


class ChoiceView(View):
    """How often the caller chose an option of a kind of question."""

    kind: str
    option: str
    count: int


class ChoicesView(View):
    """What the caller chose before; these options come first where the same kind is offered."""

    choices: list[ChoiceView]


class ForgetChoices(BaseModel):
    """What is forgotten: one kind of question, or all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str | None = Field(default=None, max_length=32, description="of question; all if left out")


class LearntChoices:
    """The choices of all people."""

    def __init__(self, kept: ChoicesKept) -> None:
        self._kept = kept

    async def note(self, asked: Envelope[Asked]) -> None:
        """Count the option that a question continues from; trouble with the bus loses the count and nothing else."""
        if asked.body.clarifies is None or not (key := asked.body.clarifies.key):
            return
        try:
            await self._kept.change(asked.tenant, choices_name(asked.user), lambda known: known.with_choice(key))
        except BusTrouble as trouble:
            _log.warning("a choice was not counted", error=type(trouble).__name__)

    async def listed(self, credential: Credential) -> Json | Problem:
        """Return what the caller chose, the most frequent first."""
        try:
            return _view(await self._kept.read(credential.tenant, choices_name(credential.user)))
        except BusTrouble:
            return _TROUBLE

    async def forget(self, credential: Credential, kind: str | None) -> Json | Problem:
        """Forget what the caller chose, of one kind of question or of all, and return what is left."""
        name = choices_name(credential.user)
        try:
            left = await self._kept.change(credential.tenant, name, lambda known: known.without(kind))
        except BusTrouble:
            return _TROUBLE
        return _view(left or Choices())


def _view(choices: Choices) -> Json:
    counted = [(count, kind, option) for kind, options in choices.counts.items() for option, count in options.items()]
    counted.sort(key=lambda item: (-item[0], item[1:]))
    return {"choices": [{"kind": kind, "option": option, "count": count} for count, kind, option in counted]}
