"""Which of the options that were offered a person's words choose: by number, by ordinal, or by its own words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from querybus.core.asking_back import OptionAction
from querybus.core.envelope import Envelope
from querybus.core.messages import Asked, Clarifies
from querybus.core.subjects import EventName
from querybus_gateway.ports import Entry

_DIGITS: Final = re.compile(
    r"(?:i (?:want|choose|take|mean) )?(?:the )?(?:option|number|no\.?|choice|选项|选择|选|第)?\s*#?(\d{1,2})(?:st|nd|rd|th)?"
    r"(?: (?:one|option|choice))?\s*(?:个|项|种)?(?:选项)?",
    re.IGNORECASE,
)
_WORDS: Final = re.compile(
    r"(?:i (?:want|choose|take|mean) )?(?:the )?(?:option )?(first|second|third|one|two|three|last)(?: (?:one|option|choice))?"
    r"|选?第?([一二两三])(?:个|项|种)?|选?(最后)一?(?:个|项|种)?",
    re.IGNORECASE,
)
_PLACES: Final = {
    "first": 1,
    "one": 1,
    "一": 1,
    "second": 2,
    "two": 2,
    "二": 2,
    "两": 2,
    "third": 3,
    "three": 3,
    "三": 3,
    "last": 0,
    "最后": 0,
}
SAID_LENGTH_MAX: Final = 40


def place_named(text: str) -> int | None:
    """Return the place in a list that words name, from 1; 0 for the last; None where they name none.

    >>> [place_named(text) for text in ("2", "the second one", "第二个", "Option 3.", "last one", "two customers")]
    [2, 2, 2, 3, 0, None]
    """
    said = text.strip().rstrip(".。!！)） ")
    if len(said) > SAID_LENGTH_MAX:
        return None
    if (match := _DIGITS.fullmatch(said)) is not None:
        return int(match[1]) or None
    match = _WORDS.fullmatch(said)
    return None if match is None else _PLACES[(match[1] or match[2] or match[3]).lower()]


def chosen_option(text: str, answer: Mapping[str, Any]) -> str | None:
    """Return the id of the option that a person's words choose, by its place, id or text; None where they choose none.

    >>> chosen_option("2", {"options": [{"id": "a", "text": "A", "question": "A?"}, {"id": "b", "text": "B", "question": "B?"}]})
    'b'
    """
    options = answer.get("options") or []
    place = place_named(text)
    if place is not None and place <= len(options) and options:
        return options[place - 1]["id"]
    said = " ".join(text.split()).casefold()
    for option in options:
        if said in {" ".join(str(option[name]).split()).casefold() for name in ("id", "text", "question")}:
            return option["id"]
    return None


def as_chosen(asked: Envelope[Asked], turns: Sequence[Entry]) -> Envelope[Asked]:
    """Return a thread's next question as the option that it names by its place, where the turn before offered any."""
    place = place_named(asked.question)
    last = turns[-1] if turns else None
    if place is None or last is None or last.address.event is not EventName.FINISHED:
        return asked
    before = last.envelope()
    options = before.body.answer.options
    if not options or place > len(options):
        return asked
    option = options[place - 1]
    action = OptionAction(option.action)
    clarifies = Clarifies(query_id=before.query_id, option_id=option.id, action=action, key=option.key)
    # Whoever names a connection in the request means it; another credential of the same person may have fewer of them.
    connection = (option.connection or before.connection) if asked.body.connections else asked.connection
    if connection not in (asked.connection, *asked.body.connections):
        return asked
    return asked.with_body(
        asked.body.model_copy(update={"clarifies": clarifies, "connections": ()}),
        question=option.question,
        language=before.language,
        connection=connection,
    )
