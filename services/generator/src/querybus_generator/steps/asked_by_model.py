"""A model that asks back or says what is missing: its words are kept, and the alternatives that it names become options.

Whether a reader may see the words is looked at where they are shown. Limits: alternatives are read from lists, and from
one sentence behind a colon, "between", "whether" or "mean", in English and Chinese.
"""

from __future__ import annotations

import re
from typing import Final

from querybus.core.asking_back import Clarification, Option, OptionAction, Trigger
from querybus.core.envelope import Envelope, concluded
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Concluded, Outcome
from querybus.core.subjects import StageName
from querybus_generator.steps.talk import REPLY_LENGTH_MAX
from querybus_generator.subject import Subject

ALTERNATIVES_MAX: Final = 4
ALTERNATIVE_LENGTH_MAX: Final = 60
_TRIGGERS: Final = {
    FailureCode.AMBIGUOUS_QUESTION: Trigger.AMBIGUOUS_QUESTION,
    FailureCode.MISSING_DATABASE_INFO: Trigger.MISSING_DATABASE_INFO,
}
_ITEM: Final = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.)、])\s*(.+?)\s*[;,.；，。]?\s*$", re.MULTILINE)
_LEAD: Final = re.compile(
    r"(?:[:：]|\bbetween\b|\bwhether\b|\bmean\b|\beither\b|是指|指的是|是按|还是按|想要的是)\s*([^?？。:：\n]+)[?？]"
)
_BETWEEN: Final = re.compile(r"\s*[,，、]\s*(?:or\s+|and\s+|还是|或者|或)?|\s+(?:or|and)\s+|还是|或者")
_ARTICLE: Final = re.compile(r"^(?:the|a|an|you mean|do you mean|by)\s+", re.IGNORECASE)


def asked_by_model(subject: Subject, failure: Failure) -> Envelope[Concluded] | None:
    """Return the question back in the model's words; None for a failure of another kind."""
    trigger = _TRIGGERS.get(failure.code)
    if trigger is None:
        return None
    is_english = subject.envelope.language == "en"
    asked = subject.question.rstrip(" ?？。.")
    options = tuple(
        Option(
            id=str(number),
            text=text,
            question=f"{asked} ({text})?" if is_english else f"{asked}（{text}）？",
            action=OptionAction.CHOOSE_SOURCE,
        )
        for number, text in enumerate(alternatives(failure.detail), 1)
    )
    body = Concluded(
        outcome=Outcome.CLARIFICATION,
        code=failure.code,
        stage=StageName.GENERATOR,
        reply=failure.detail[:REPLY_LENGTH_MAX],
        clarification=Clarification(trigger=trigger, options=options),
    )
    return concluded(subject.envelope, body)


def alternatives(text: str) -> tuple[str, ...]:
    """Return what a question offers to choose from; nothing where that is not plain.

    >>> alternatives("What makes a customer loyal: the number of orders, the membership level, or the points?")
    ('number of orders', 'membership level', 'points')
    >>> alternatives("请明确：是指下单日期还是付款日期？"), alternatives("Which year?")
    (('下单日期', '付款日期'), ())
    """
    items = [match.group(1) for match in _ITEM.finditer(text)]
    if len(items) < 2:
        lead = next((match.group(1) for match in reversed(list(_LEAD.finditer(text)))), "")
        items = [_ARTICLE.sub("", part.strip()) for part in _BETWEEN.split(re.sub(r"^.*(?:是指|指的是)", "", lead))]
    plain = tuple(dict.fromkeys(item for item in items if item))
    is_plain = all(1 < len(item) <= ALTERNATIVE_LENGTH_MAX for item in plain)
    return plain if 2 <= len(plain) <= ALTERNATIVES_MAX and is_plain else ()
