"""Words that mean nothing exact until somebody defines them: found by rule, so that they are asked about before any SQL.

A word counts only as it stands in such use: "the most recent order" and "the largest customer" are exact, "recent orders"
and "big customers" are not. What the catalog calls by that word is exact as well.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from querybus.core.catalog import Language

Sense = Literal["period", "size", "kind"]

_NOUNS = (
    r"(?:customers?|clients?|buyers?|accounts?|users?|members?|products?|items?|goods|suppliers?|vendors?|stores?|shops?|orders?"
    r"|markets?|regions?|cities|countries|partners?|employees?|categories|brands?|deals?|projects?|payments?|invoices?|transactions?)"
)
_NOUNS_ZH = r"(?:客户|顾客|买家|用户|会员|账户|商品|产品|货品|供应商|门店|店铺|订单|市场|地区|城市|国家|员工|类别|品类|品牌|项目|渠道|业务|款项|交易)"

_RULES: Final[tuple[tuple[Sense, re.Pattern[str]], ...]] = (
    (
        "period",
        re.compile(
            r"(?<!most )(?<!more )\b(?P<word>recent|recently|lately|nowadays|these days|in the (?:near )?past(?! \w+ (?:day|week|month|quarter|year)s?))\b"
            r"(?!\s+(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve|thirty|ninety)\b)(?!\s+(?:day|week|month|quarter|year)\b)",
            re.IGNORECASE,
        ),
    ),
    (
        "period",
        re.compile(
            r"(?P<word>最近|近期|近来|近日|这段时间|前段时间|这阵子)(?!\s*[\d一二两三四五六七八九十半几百]+\s*(?:个|天|日|周|星期|月|季|年|小时|次|笔|条|张|位|名|家|单|只|件|份|台|场|部))"
            r"(?!的?(?:一|那|这|上)?(?:次|笔|条|个|天|位|名|张|家)|的(?:订单|日期|时间)是|(?:的)?[那这](?:个|次|笔)|一次|下过?单的?(?:是|时间|日期))"
        ),
    ),
    ("size", re.compile(rf"\b(?P<word>(?:big|large|small|major|heavy|high[- ]spending|high[- ]value|low[- ]value|valuable)(?=\s+{_NOUNS}\b))", re.IGNORECASE)),
    (
        "kind",
        re.compile(
            rf"\b(?P<word>(?:main|key|important|core|top|loyal|good|bad|typical|(?<!most )(?<!least )popular|hot|slow[- ]moving|strategic|premium|VIP|problem|underperforming)"
            rf"(?=\s+{_NOUNS}\b))(?!\s+\d)",
            re.IGNORECASE,
        ),
    ),
    ("size", re.compile(rf"(?<!最)(?<!更)(?<!多)(?P<word>大|小)(?={_NOUNS_ZH}(?!小|类))(?<![老新最较更])")),
    ("size", re.compile(rf"(?P<word>高价值|低价值|大额|小额|高消费)的?(?={_NOUNS_ZH})")),
    (
        "kind",
        re.compile(rf"(?<!最)(?P<word>主要|重要|核心|优质|重点|关键|热门|畅销|滞销|忠诚|忠实|优秀|典型|活跃|沉睡|流失|老|问题)的?(?={_NOUNS_ZH})"),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Undefined:
    """A word that needs a definition: as it stands in the question, and where."""

    word: str
    sense: Sense
    start: int
    end: int

    def replaced(self, question: str, by: str) -> str:
        """Return the question with other words in its place."""
        joined = question[: self.start] + by + question[self.end :]
        return re.sub(r"\s+([?？.!])", r"\1", re.sub(r"[ \t]{2,}", " ", joined)).strip()


def undefined_words(question: str, known: Collection[str]) -> tuple[Undefined, ...]:
    """Return the words that need a definition, in order. `known`: folded names that the catalog has for its things.

    >>> [each.word for each in undefined_words("Who are our big customers?", ())]
    ['big']
    >>> undefined_words("Which are the most recent orders?", ())
    ()
    """
    matches: list[tuple[Sense, re.Match[str]]] = [
        (sense, match) for sense, pattern in _RULES for match in pattern.finditer(question)
    ]
    if not matches:
        return ()
    folded = question.casefold()
    names = [(name, folded.find(name)) for name in known if len(name) > 1 and name in folded]
    undefined_words: list[Undefined] = []
    for sense, match in matches:
        start, end = match.span("word")
        # "Main category" is what the catalog calls a thing: then the word is part of a name.
        if any(at <= start and end <= at + len(name) and len(name) > end - start for name, at in names):
            continue
        if sense == "kind" and match["word"].casefold() == "top" and re.search(r"\btop\b.*\bby\b", folded):
            continue
        undefined_words.append(Undefined(match["word"], sense, start, end))
    undefined_words.sort(key=lambda item: item.start)
    return tuple(undefined_words)


def definition_of(word: Undefined, question: str, definitions: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the defined term and its meaning: one that holds the word and stands in the question, the longest first.

    >>> word = undefined_words("Who are our big customers?", ())[0]
    >>> definition_of(word, "Who are our big customers?", {"big customer": "more than 10 orders"})
    ('big customer', 'more than 10 orders')
    """
    folded = question.casefold()
    for term in sorted(definitions, key=lambda item: (-len(item), item)):
        plain = term.casefold().strip()
        if word.word.casefold() in plain and (plain in folded or plain == _BASE.get(word.word.casefold())):
            return term, definitions[term]
    return None


_BASE: Final = {"recently": "recent", "lately": "recent", "近期": "最近", "近来": "最近", "近日": "最近"}

_PERIODS: Final[dict[Language, tuple[str, ...]]] = {
    "en": ("in the last 7 days", "in the last 30 days", "in the last 3 months"),
    "zh": ("最近7天", "最近30天", "最近3个月"),
}


def settled_reading(
    word: Undefined, question: str, earlier: Sequence[tuple[str, str]], language: Language
) -> str | None:
    """Return the question as a word in it was meant before, or None where nobody has said that.

    `earlier` are the thread's questions with the word that was asked about each, oldest first: what was asked next was
    one of the readings that were offered.

    >>> said = [("recent orders", "recent"), ("orders in the last 30 days?", "")]
    >>> word = undefined_words("How many recent reviews are there?", ())[0]
    >>> settled_reading(word, "How many recent reviews are there?", said, "en")
    'How many reviews are there in the last 30 days?'
    """
    offered = readings(word, question, language)
    for (asked, about), (chosen, _) in reversed(list(pairwise(earlier))):
        if about.casefold() != word.word.casefold():
            continue
        for item in undefined_words(asked, ()):
            if item.word.casefold() == about.casefold():
                before = [text.rstrip(" ?？") for text in readings(item, asked, language)]
                if chosen.rstrip(" ?？") in before:
                    return offered[before.index(chosen.rstrip(" ?？"))]
    return None


def readings(word: Undefined, question: str, language: Language) -> tuple[str, ...]:
    """Return complete questions that say exactly what the word may mean: at most three."""
    if word.sense == "period":
        if language == "zh":
            return tuple(word.replaced(question, item) for item in _PERIODS["zh"])
        bare = word.replaced(question, "").rstrip("?.! ")
        return tuple(f"{bare} {item}?" for item in _PERIODS["en"])
    if language == "zh":
        return (word.replaced(question, "前10名"), word.replaced(question, "所有"))
    return (word.replaced(question, "top 10"), word.replaced(question, "all"))
