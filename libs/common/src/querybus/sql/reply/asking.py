"""Does a text ask its reader something? The sentence that asks, and what it offers to choose from.

A sentence asks if it ends in a question mark, in a Chinese particle of questions or in a choice with 还是, or if it asks the
reader for the answer to an embedded question (which, whether, if, ...): "say whether ...", "it depends on what ...", 请告诉我是哪个....
"""

from __future__ import annotations

import re
from typing import Final

ALTERNATIVES_MAX: Final = 4
ALTERNATIVE_LENGTH_MAX: Final = 60

WORD: Final = re.compile(r"[\u4e00-\u9fff]|[^\W\d_\u4e00-\u9fff]{2,}")
_SENTENCE: Final = re.compile(r"[^.!?。！？\n]+(?:\.(?=\w)[^.!?。！？\n]*)*[.!?。！？]*[\"'”’」』)]*")
_EMBEDDED: Final = re.compile(
    r"\b(?:(?:tell|let) (?:me|us)|(?:need|have|like|want) to know|depends? on|decide|choose|specify|clarify|confirm|say)\b[^.!?]*"
    r"\b(?:which|whether|what|who|whose|when|where|how|if|or)\b"
    r"|(?:告诉|选择|指明|指定|说明|明确|确认|取决于|要看)[^。！？]*(?:哪|什么|谁|几|多少|怎么|如何|是否|还是|是不是)",
    re.IGNORECASE,
)
_ASKS_ZH: Final = re.compile(r"(?:吗|呢|么)[。！]?$|[是按要用想看][^。！？]*[，,、]?\s*还是\S")
_YES_OR_NO: Final = re.compile(
    r"(?:^|[,:;]\s*)(?:should|shall|is|are|was|were|do|does|did|would|can|could|may|will|has|have)\b(?!.*\bor\b)|(?:吗|要不要|是否|是不是|需不需要)",
    re.IGNORECASE,
)

_ITEM: Final = re.compile(
    r"(?:^|(?<=\s))(?:[-*•]|\(?\d{1,2}[.)、])\s+(.+?)(?=\s+(?:[-*•]|\(?\d{1,2}[.)、])\s|\s*$)", re.MULTILINE
)
_LEAD: Final = re.compile(
    r"^.*(?:[:：]\s*|\b(?:between|whether|mean|either|meant|asking about|asking for)\b\s*"
    r"|(?<!还)(?:是指|指的是|是按|想要的是|是要看|是看|您是|你是)|用(?=.*还是))(?=\S)",
    re.IGNORECASE,
)
_BETWEEN: Final = re.compile(r"\s*[,，、]\s*(?:or\s+|and\s+|还是|或者|或)?|\s+or\s+|\s*(?:还是|或者)\s*")
_ARTICLE: Final = re.compile(
    r"^(?:(?:the|a|an|you mean|do you mean|if you mean|you want|是指|是|看|用)(?:\s+|(?<=[\u4e00-\u9fff])))+",
    re.IGNORECASE,
)
_PARTICLE: Final = re.compile(r"[呢吗]$")
_CHOICE: Final = re.compile(r"\bor\b|还是|或者|[:：].*[,，、]", re.IGNORECASE)
_NEXT_QUESTION: Final = re.compile(r"\s+(?:Which|What|Do|Does|Is|Are|Please|Should|Would|Can|Could|Let|请)\b.*$")
_KINDS: Final = (
    frozenset({"before", "after", "with", "without"}),
    *(frozenset({word}) for word in ("by", "per", "in", "from", "for", "as", "on", "at", "one", "only")),
    frozenset({"the", "a", "an", "all"}),
)


def question_in(text: str) -> str | None:
    """Return the last sentence of a text that asks the reader something; None where none does.

    >>> question_in("There are two dates. Shall I use the first or the last one?")
    'Shall I use the first or the last one?'
    >>> question_in("I need to know which warehouse you mean."), question_in("The tables hold orders only.")
    ('I need to know which warehouse you mean.', None)
    """
    sentences = [match[0].strip() for match in _SENTENCE.finditer(text)]
    for sentence in reversed(sentences):
        marked = sentence.rstrip("\"'”’」』)").endswith(("?", "？"))
        if (marked or _EMBEDDED.search(sentence) or _ASKS_ZH.search(sentence)) and len(WORD.findall(sentence)) > 1:
            return sentence
    return None


def is_yes_or_no(question: str) -> bool:
    """Return whether yes or no answers a question.

    >>> is_yes_or_no("Should cancelled flights be counted as well?"), is_yes_or_no("Which year?")
    (True, False)
    """
    return _YES_OR_NO.search(question) is not None and "还是" not in question and not alternatives(question)


def alternatives(text: str) -> tuple[str, ...]:
    """Return what a question offers to choose from; nothing where that is not plain.

    >>> alternatives("What makes a customer loyal: the number of orders, the membership level, or the points?")
    ('number of orders', 'membership level', 'points')
    >>> alternatives("请明确：是指下单日期还是付款日期？"), alternatives("Which year?")
    (('下单日期', '付款日期'), ())
    """
    items = [_NEXT_QUESTION.sub("", match.group(1)) for match in _ITEM.finditer(text)]
    if len(items) < 2:
        sentences = [match[0] for match in _SENTENCE.finditer(text) if _CHOICE.search(match[0])]
        items = _of_sentence(sentences[-1]) if sentences and question_in(text) is not None else []
    bare = (_ARTICLE.sub("", _PARTICLE.sub("", item.strip(' \t;,.；，。?？"“”'))) for item in items)
    plain = tuple(dict.fromkeys(item for item in bare if item))
    is_plain = all(1 < len(item) <= ALTERNATIVE_LENGTH_MAX for item in plain)
    return plain if 2 <= len(plain) <= ALTERNATIVES_MAX and is_plain else ()


def _of_sentence(question: str) -> list[str]:
    """Return the parts of a sentence between commas and "or", the first without what leads to it."""
    parts = [part for part in _BETWEEN.split(_LEAD.sub("", question).rstrip("?？.。 ")) if part.strip()]
    if len(parts) < 2 or _LEAD.search(question) or not parts[-1].isascii():
        return parts
    # "Is the amount before or after tax?": the first begins with what is of one kind with the beginning of the last.
    last = parts[-1].split()
    alike = next((kind for kind in _KINDS if last[0].casefold() in kind), frozenset[str]())
    found = [parts[-1]]
    for part in reversed(parts[:-1]):
        words = part.split()
        starts = [place for place, word in enumerate(words) if word.casefold() in alike]
        start = starts[-1] if starts else max(0, len(words) - len(last))
        found.insert(0, " ".join(words[start:]))
        if start > 0:
            break
    return found
