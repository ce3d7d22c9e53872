"""What chat front ends ask their model for besides questions: titles, tags and the like, answered by rule.

The shapes are those of Open WebUI 0.12.4 and of LibreChat's agents 3.2.21, as their sources have them.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, Literal, cast

from querybus.text.language import detect_language

Task = Literal["title", "tags", "follow_ups", "queries", "text", "prompt", "emoji", "summary", "merge"]

_TASK = re.compile(r"\s*###\s*Task\s*:", re.IGNORECASE)
# A question with passages that the front end has found: no housekeeping, a person's words stand behind it.
_WITH_PASSAGES = re.compile(r"\s*###\s*Task\s*:\s*Respond to the user query", re.IGNORECASE)
_QUERY_IN_TAGS = re.compile(r"<user_query>(.*?)</user_query>", re.IGNORECASE | re.DOTALL)
_CONTEXT_END: Final = "</context>"
# Those that begin in words of their own.
_OPENINGS: Final[tuple[tuple[Task, re.Pattern[str]], ...]] = (
    (
        "title",
        re.compile(
            # A person may well ask for films by title; only a front end speaks of the conversation.
            r"(?=.*\b(?:conversation|chat)\b)\s*(?:provide a concise|detect user language|please generate|write in the "
            r"same language|analyze this conversation and provide)[^?]{0,300}?\btitle\b",
            re.IGNORECASE | re.DOTALL,
        ),
    ),
    ("emoji", re.compile(r"\s*your task is to reflect the speaker's likely facial expression", re.IGNORECASE)),
    ("merge", re.compile(r"\s*you have been provided with a set of responses from various models", re.IGNORECASE)),
)
_BOTH = re.compile(r"\s*analyze this conversation and provide", re.IGNORECASE)
# The key of the JSON object that a task asks for, in its own words, says which it is.
_KEY = re.compile(r"\{\s*\"(title|tags|follow_ups|queries|text|prompt)\"\s*:")
_WORDS: Final[tuple[tuple[Task, str], ...]] = (
    ("title", "title"),
    ("tags", "tags"),
    ("follow_ups", "follow"),
    ("queries", "search quer"),
    ("text", "autocompletion"),
    ("prompt", "image generation"),
)
_CONVERSATION = re.compile(r"<chat_history>|^(?:conversation|user)\s*:", re.IGNORECASE | re.MULTILINE)
_CHAT = re.compile(r"<chat_history>(.*?)</chat_history>", re.IGNORECASE | re.DOTALL)
_USER = re.compile(r"^\s*user\s*:\s*(.+)$", re.MULTILINE | re.IGNORECASE)
TITLE_LENGTH_MAX: Final = 60


def question_in(text: str) -> str:
    """Return the person's own words of a message, without the passages that a front end puts before them.

    >>> question_in("### Task:\\nRespond to the user query using the context\\n<context>a</context>\\nHow many?")
    'How many?'
    """
    if _WITH_PASSAGES.match(text) is None:
        return text
    tagged = _QUERY_IN_TAGS.search(text)
    return tagged.group(1).strip() if tagged else text.rpartition(_CONTEXT_END)[2].strip() or text


def task_of(text: str) -> Task | None:
    """Return which housekeeping a message asks for, None for a person's question."""
    for task, opening in _OPENINGS:
        if opening.match(text):
            return task
    if _TASK.match(text) is None or _WITH_PASSAGES.match(text) is not None:
        return None
    begun = _CONVERSATION.search(text)
    instructions = text[: begun.start()] if begun else text
    if (key := _KEY.search(instructions)) is not None:
        return cast("Task", key.group(1))
    head = instructions[:600].casefold()
    for task, word in _WORDS:
        if word in head:
            return task
    return "summary"


def task_reply(task: Task, text: str, *, as_json: bool = False) -> str:
    """Return what housekeeping is answered with: the person's own words, and nothing made up.

    `as_json` says that the client demands an object, whatever the prompt says.
    """
    made = values_of(task, text)
    if made and (as_json or _TASK.match(text) is not None):
        return json.dumps(made, ensure_ascii=False)
    return made["title"] if task == "title" else _TEXT.get(task, "")


_TEXT: Final[dict[Task, str]] = {
    "emoji": "🙂",
    "merge": "Answers of other models are not merged here; each answer of QueryBus stands for itself.",
    "summary": "Earlier questions and their answers are kept with the conversation.",
}


def values_of(task: Task, text: str) -> dict[str, Any]:
    """Return the object that a task asks for; empty for those that ask for plain text."""
    history = _CHAT.search(text)
    spoken = _USER.search(history.group(1) if history else text)
    title = " ".join(spoken.group(1).split())[:TITLE_LENGTH_MAX] if spoken else "QueryBus"
    language = {"language": "Chinese" if detect_language(title) == "zh" else "English"} if _BOTH.match(text) else {}
    objects: dict[Task, dict[str, Any]] = {
        "title": {**language, "title": title},
        "tags": {"tags": ["Data"]},
        "follow_ups": {"follow_ups": []},
        "queries": {"queries": []},
        "text": {"text": ""},
        "prompt": {"prompt": ""},
    }
    return objects.get(task, {})
