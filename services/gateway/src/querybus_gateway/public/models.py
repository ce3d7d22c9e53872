"""Chat models as the API shows them to an owner; no key is among it."""

from __future__ import annotations

from pydantic import Field

from querybus.core.requests.model_set_up import Reason
from querybus_gateway.public.answer import View


class ConfiguredModelView(View):
    """A model that the tenant may use; `is_default`: questions that name no model take it."""

    name: str
    base_url: str
    model: str
    key_variable: str
    is_default: bool


class FoundServerView(View):
    """An address that is there without being typed, and the chat models that it lists, else `cause`."""

    title: str
    base_url: str
    key_variable: str = Field(description="the environment variable that holds its key")
    models: list[str]
    proposed: str
    cause: str


class ModelsView(View):
    """What is set and what was found. Keys are named by their variables only."""

    configured: list[ConfiguredModelView]
    found: list[FoundServerView]
    keys: list[str]
    unread_keys: list[str]
    takes_keys: bool = Field(description="a key that is typed can be kept")


class TestedModelView(View):
    """Whether a model gave a whole reply; else `reason`, `cause` and `next_step` say what helps."""

    base_url: str
    works: bool
    model: str
    seconds: float | None
    fields_left_out: list[str]
    models: list[str]
    key_variable: str
    has_key: bool
    reason: Reason | None
    cause: str
    next_step: str


class SavedModelView(TestedModelView):
    """A model that was saved under `name`."""

    name: str
