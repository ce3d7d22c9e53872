"""Chat models at the administration: listed, tested and saved by the generator at an owner's request.

The gateway calls no model and holds no key: it passes a request on, with a key that was typed, and forgets it. Whether it may is the generator's setting.
"""

from __future__ import annotations

from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from querybus.core.credential import Credential
from querybus.core.requests.model_set_up import ModelOperation, ModelReply, ModelRequest
from querybus.core.stored.models import NAME
from querybus.core.subjects import token
from querybus_gateway.problems import Problem
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.admin.asked import NOT_OWNER
from querybus_gateway.use_cases.admin.set_up import problem_of


class ModelTestRequest(BaseModel):
    """A model to test. Its key is in the environment of the generator, or typed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str = Field(min_length=1, max_length=500, description="of an OpenAI-compatible API, up to /v1")
    model: str | None = Field(default=None, max_length=200, description="left out: one that the address lists")
    key: str | None = Field(
        default=None,
        min_length=1,
        max_length=4_000,
        repr=False,
        description="left out: the one that is known of the address",
    )


class ModelSaveRequest(ModelTestRequest):
    """A model to save as the one that the tenant's questions take by default."""

    name: str | None = Field(default=None, pattern=NAME, description="as questions name it; left out: the model's name")


class Generators(Protocol):
    """Whoever calls models and keeps which there are."""

    async def ask(self, tenant: str, request: ModelRequest) -> ModelReply: ...


class ModelCases:
    """What an owner may do about chat models."""

    def __init__(self, generators: Generators) -> None:
        self._generators = generators

    async def listed(self, credential: Credential) -> Json | Problem:
        """Return `{configured, found, keys, unread_keys, takes_keys}`."""
        reply = await self._ask(credential, ModelRequest(operation=ModelOperation.LIST))
        if isinstance(reply, Problem):
            return reply
        return reply.model_dump(mode="json", include={"configured", "found", "keys", "unread_keys", "takes_keys"})

    async def test(self, credential: Credential, wanted: ModelTestRequest) -> Json | Problem:
        """Return how a model replied: `{works, model, seconds, models, reason, cause, next_step, ...}`."""
        request = ModelRequest(
            operation=ModelOperation.TEST, base_url=wanted.base_url, model=wanted.model or "", key=wanted.key
        )
        reply = await self._ask(credential, request)
        return reply if isinstance(reply, Problem) else _tested(reply)

    async def save(self, credential: Credential, wanted: ModelSaveRequest) -> Json | Problem:
        """Save a model that works: the same as `test` returns, with its `name`."""
        request = ModelRequest(
            operation=ModelOperation.SAVE,
            base_url=wanted.base_url,
            model=wanted.model or "",
            name=wanted.name or "",
            key=wanted.key,
        )
        reply = await self._ask(credential, request)
        return reply if isinstance(reply, Problem) else {**_tested(reply), "name": reply.name}

    async def _ask(self, credential: Credential, request: ModelRequest) -> ModelReply | Problem:
        if not credential.is_owner:
            return NOT_OWNER
        reply = await self._generators.ask(token(credential.tenant), request)
        return problem_of(reply, _tested(reply) if reply.tested is not None else None) or reply


def _tested(reply: ModelReply) -> Json:
    return reply.tested.model_dump(mode="json") if reply.tested is not None else {}
