"""What OpenAI's clients send, as far as it means something here; every other field is taken and ignored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

MESSAGES_MAX: Final = 1_000
TEXT_LENGTH_MAX: Final = 200_000
MODEL: Final = "querybus"


class _Request(BaseModel):
    # Temperature, penalties, tools and the like: chat front ends send them to whatever they talk to.
    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, given: object) -> object:
        """Read a field that is null as one that is left out, as OpenAI's specification has it."""
        if not isinstance(given, dict):
            return given
        fields = cast("dict[str, object]", given)
        return {name: value for name, value in fields.items() if value is not None}


class Part(_Request):
    """A part of a message; only text is read."""

    type: str = "text"
    text: str = Field(default="", max_length=TEXT_LENGTH_MAX)


class Message(_Request):
    """One message of a conversation."""

    role: str = Field(max_length=40)
    content: str | Sequence[Part] | None = None

    @property
    def text(self) -> str:
        """The message's text, parts joined."""
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "\n".join(part.text for part in self.content if part.text)


class StreamOptions(_Request):
    include_usage: bool = False


class ChatRequest(_Request):
    """The body of `/chat/completions`."""

    model: str = Field(default=MODEL, max_length=300)
    messages: Sequence[Message] = Field(min_length=1, max_length=MESSAGES_MAX)
    stream: bool = False
    stream_options: StreamOptions | None = None
    response_format: Any = None
    tool_choice: Any = None

    @property
    def wants_object(self) -> bool:
        """Whether the client demands a JSON object."""
        wanted = self.response_format if isinstance(self.response_format, dict) else {}
        return wanted.get("type") in ("json_object", "json_schema")

    @property
    def demanded_function(self) -> str | None:
        """The function that the client demands to be called, None where it leaves that open."""
        choice = self.tool_choice if isinstance(self.tool_choice, dict) else {}
        function = choice.get("function")
        return str(function.get("name", "")) or None if isinstance(function, dict) else None


class ResponsesRequest(_Request):
    """The body of `/responses`."""

    model: str = Field(default=MODEL, max_length=300)
    input: str | Sequence[Message]
    stream: bool = False
    previous_response_id: str | None = Field(default=None, max_length=100)

    @property
    def messages(self) -> Sequence[Message]:
        """The input as messages."""
        return (Message(role="user", content=self.input),) if isinstance(self.input, str) else self.input


def connection_of(model: str) -> str | None:
    """Return the connection that a model names, None where the gateway is to find it.

    >>> connection_of("querybus/shop"), connection_of("querybus")
    ('shop', None)
    """
    name, _, connection = model.partition("/")
    return connection or None if name == MODEL else None
