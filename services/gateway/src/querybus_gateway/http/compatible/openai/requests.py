"""What OpenAI's clients send, as far as it means something here; every other field is taken and ignored."""

from __future__ import annotations

import re
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

MESSAGES_MAX: Final = 1_000
TEXT_LENGTH_MAX: Final = 200_000
MODEL: Final = "querybus"


class _Request(BaseModel):
    # Temperature, penalties, tools and the like: chat front ends send them to whatever they talk to.
    model_config = ConfigDict(frozen=True, extra="ignore")


class Part(_Request):
    """A part of a message; only text is read."""

    type: str = "text"
    text: str = Field(default="", max_length=TEXT_LENGTH_MAX)


class Message(_Request):
    """One message of a conversation."""

    role: str = Field(max_length=40)
    content: str | tuple[Part, ...] | None = None

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
    messages: tuple[Message, ...] = Field(min_length=1, max_length=MESSAGES_MAX)
    stream: bool = False
    stream_options: StreamOptions | None = None


class ResponsesRequest(_Request):
    """The body of `/responses`."""

    model: str = Field(default=MODEL, max_length=300)
    input: str | tuple[Message, ...]
    stream: bool = False
    previous_response_id: str | None = Field(default=None, max_length=100)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The input as messages."""
        return (Message(role="user", content=self.input),) if isinstance(self.input, str) else self.input


def connection_of(model: str) -> str | None:
    """Return the connection that a model names, None where the gateway is to find it.

    >>> connection_of("querybus/shop"), connection_of("querybus")
    ('shop', None)
    """
    name, _, connection = model.partition("/")
    return connection or None if name == MODEL else None


Task = Literal["title", "tags", "follow_ups", "queries", "other"]
_TASK = re.compile(r"^\s*###\s*Task\s*:", re.IGNORECASE)
# LibreChat asks for titles in words of its own.
_TITLE = re.compile(
    r"^\s*(?:provide a concise|detect user language|please generate|write in the same language)[^\n]{0,200}\btitle\b",
    re.IGNORECASE,
)
_TASKS: Final[tuple[tuple[Task, str], ...]] = (
    ("title", "title"),
    ("tags", "tags"),
    ("follow_ups", "follow"),
    ("queries", "search quer"),
)


def task_of(text: str) -> Task | None:
    """Return which housekeeping a front end asks its model for (`### Task:`), None for a person's question."""
    head = text[:600].casefold()
    if _TITLE.match(text) is not None:
        return "title"
    if _TASK.match(text) is None:
        return None
    for task, word in _TASKS:
        if word in head:
            return task
    return "other"


_CHAT = re.compile(r"<chat_history>(.*?)</chat_history>", re.IGNORECASE | re.DOTALL)
_USER = re.compile(r"^\s*(?:USER|user)\s*:\s*(.+)$", re.MULTILINE)


def task_reply(task: Task, text: str) -> dict[str, Any]:
    """Return what housekeeping is answered with, by rule: the person's own words, and nothing made up."""
    history = _CHAT.search(text)
    first = _USER.search(history.group(1) if history else "")
    title = " ".join(first.group(1).split())[:60] if first else "QueryBus"
    replies: dict[Task, dict[str, Any]] = {
        "title": {"title": title},
        "tags": {"tags": ["Data"]},
        "follow_ups": {"follow_ups": []},
        "queries": {"queries": []},
        "other": {},
    }
    return replies[task]
