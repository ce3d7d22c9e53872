"""What an owner asks of the generator about chat models: the wire types of listing, testing and saving one.

A request may hold a key that an owner typed. It travels by request and reply only, is kept in no stream, and is in no repr. No
reply holds one: the generator names the variables only.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from querybus.core.requests.set_up import OwnerReply
from querybus.core.value import Value

Reason = Literal[
    "unreachable", "timeout", "key", "no_model", "no_path", "redirect", "quota", "busy", "server", "protocol", "refused"
]


class ModelOperation(StrEnum):
    """What is to be done about models."""

    LIST = "list"
    TEST = "test"
    SAVE = "save"


class ModelRequest(Value):
    """TEST and SAVE have a `base_url`; `model` left out: the one that is proposed of those that the address lists."""

    operation: ModelOperation
    base_url: str = ""
    model: str = ""
    name: str = Field(default="", description="as questions name it; left out: the model's name")
    key: str | None = Field(default=None, repr=False, description="of the address; None: the one that is known of it")


class ConfiguredModel(Value):
    """A model that the tenant may use. `is_default`: questions that name no model take it."""

    name: str
    base_url: str
    model: str
    key_variable: str = ""
    is_default: bool = False


class FoundServer(Value):
    """An address that is there without being typed, and the chat models that it lists, else `cause`."""

    title: str
    base_url: str
    key_variable: str = Field(default="", description="the environment variable that holds its key; never the key")
    models: tuple[str, ...] = ()
    proposed: str = ""
    cause: str = ""


class TestedModel(Value):
    """Whether a model gave a whole reply; else `reason`, `cause` and `next_step` say what is in the way."""

    base_url: str
    works: bool
    model: str = ""
    seconds: float | None = None
    fields_left_out: tuple[str, ...] = Field(default=(), description="optional fields that the model refuses")
    models: tuple[str, ...] = Field(default=(), description="the chat models that the address lists")
    key_variable: str = Field(default="", description="where this address's key is read from; empty: no key is sent")
    has_key: bool = False
    reason: Reason | None = None
    cause: str = ""
    next_step: str = ""


class ModelReply(OwnerReply):
    """The generator's reply."""

    configured: tuple[ConfiguredModel, ...] = ()
    found: tuple[FoundServer, ...] = ()
    keys: tuple[str, ...] = Field(default=(), description="environment variables that hold a key that can be used")
    unread_keys: tuple[str, ...] = Field(default=(), description="keys that are set and that no address here takes")
    takes_keys: bool = Field(default=False, description="a key that is typed can be kept")
    tested: TestedModel | None = None
