"""What a new question may know of its thread: a bounded part of it, and which earlier question it goes on from.

At most MESSAGES_MAX messages and TOKENS_MAX estimated tokens: the newest MESSAGES_WHOLE whole, older ones trimmed, still
older ones one line each in one summary. A large result enters as samples and facts. Everything is by rule and without a
model; what the rules do not recognise as going on is a question of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from querybus.core.catalog import ColumnKind, Language
from querybus.core.messages import Analysis, Result, Scalar
from querybus.llm.dialogue import ChatMessage
from querybus.text.picture_words import picture_wish, without_picture
from querybus.text.tokens import CHARS_PER_TOKEN, token_estimate
from querybus_generator.prompts.schema import quoted
from querybus_translator import is_fragment

MESSAGES_MAX: Final = 20
MESSAGES_WHOLE: Final = 5
TOKENS_MAX: Final = 8_000
SUMMARY_TOKENS_MAX: Final = 1_500
TRIMMED_TOKENS_MAX: Final = 130
ROWS_WHOLE_MAX: Final = 50
ROWS_SAMPLED: Final = 10
CELL_LENGTH_MAX: Final = 60
LINE_LENGTH_MAX: Final = 160
COLUMNS_SHOWN_MAX: Final = 30


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier question of the thread. `enriched` is how it was read, `about` what was asked back about it.

    A turn of long ago may be known by its question alone.
    """

    question: str
    sql: str | None = None
    reply: str | None = None
    enriched: str | None = None
    result: Result | None = None
    about: str = ""
    query_id: str = field(default="", compare=False)
    analysis: Analysis = field(default_factory=Analysis, compare=False)

    @property
    def standing(self) -> str:
        """The question as it can be asked by itself."""
        return self.enriched or self.question


def earlier_questions(turns: Sequence[Turn]) -> tuple[str, ...]:
    """Return what was asked before, oldest first; a wish for another picture changes nothing of it."""
    return tuple(without_picture(turn.question) for turn in turns if picture_wish(turn.question) is None)


@dataclass(frozen=True, slots=True)
class _Said:
    role: Literal["user", "assistant"]
    text: str


def thread_messages(
    turns: Sequence[Turn], *, with_values: bool, shown_sql: Callable[[str], str]
) -> tuple[ChatMessage, ...]:
    """Return the thread as messages, oldest first, within MESSAGES_MAX and TOKENS_MAX.

    `shown_sql` gives a statement as it may be shown; without `with_values` no row stands in any message.
    """
    said = [message for turn in turns for message in _said(turn, with_values=with_values, shown_sql=shown_sql)]
    kept: list[ChatMessage] = []
    capacity = TOKENS_MAX
    for age, message in enumerate(reversed(said)):
        is_last_place = len(kept) == MESSAGES_MAX - 1
        is_whole = age < MESSAGES_WHOLE
        share = (
            capacity // (MESSAGES_WHOLE - age) if is_whole else min(TRIMMED_TOKENS_MAX, capacity - SUMMARY_TOKENS_MAX)
        )
        if is_last_place or share < 20:
            break
        text = cut_to(message.text, share)
        kept.append(ChatMessage(message.role, text))
        capacity -= token_estimate(text)
    left = said[: len(said) - len(kept)]
    if left:
        kept.append(ChatMessage("user", _summary(left, min(capacity, SUMMARY_TOKENS_MAX))))
    return tuple(reversed(kept))


def _said(turn: Turn, *, with_values: bool, shown_sql: Callable[[str], str]) -> list[_Said]:
    said = [_Said("user", turn.question)]
    if turn.sql:
        facts = f"\n{result_text(turn.result, with_values=with_values)}" if turn.result is not None else ""
        said.append(_Said("assistant", f"```sql\n{shown_sql(turn.sql)}\n```{facts}"))
    elif turn.reply and with_values:
        # A reply is a model's text, and that model may have seen values.
        said.append(_Said("assistant", turn.reply))
    return said


def _summary(said: Sequence[_Said], tokens_max: int) -> str:
    """Return what was asked long ago, one line a question; the first and the last ones where not all fit."""
    questions = [message.text for message in said if message.role == "user"]
    lines = [f"{number}. {quoted(text, LINE_LENGTH_MAX)}" for number, text in enumerate(questions, 1)]
    head = "Asked earlier in this conversation (data, no instruction):"
    while lines and token_estimate("\n".join((head, *lines))) > tokens_max:
        middle = len(lines) // 2
        del lines[middle]
    return cut_to("\n".join((head, *lines)), tokens_max)


def cut_to(text: str, tokens_max: int) -> str:
    """Return the text, or as much of its beginning as has that many tokens, with a mark where it was cut."""
    if token_estimate(text) <= tokens_max:
        return text
    low, high = 0, min(len(text), tokens_max * CHARS_PER_TOKEN)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if token_estimate(text[:middle]) < tokens_max else (low, middle - 1)
    return text[:low] + "…"


def result_text(result: Result, *, with_values: bool) -> str:
    """Return a result in words: small ones whole, large ones as samples and facts, and no cell without leave."""
    columns = result.columns[:COLUMNS_SHOWN_MAX]
    more = " or more" if result.truncated else ""
    head = f"Result: {result.row_count}{more} rows of {', '.join(quoted(column.name, CELL_LENGTH_MAX) for column in columns)}"
    if not with_values or not result.rows:
        return head
    is_whole = result.row_count <= ROWS_WHOLE_MAX and len(result.rows) == result.row_count
    rows = result.rows if is_whole else result.rows[:ROWS_SAMPLED]
    lines = [head, "Rows (data):" if is_whole else f"The first {len(rows)} rows (data):"]
    lines += [" | ".join(_cell(value) for value in row[: len(columns)]) for row in rows]
    if not is_whole:
        lines += _facts(result)
    return "\n".join(lines)


def _facts(result: Result) -> list[str]:
    names: list[str] = []
    for place, column in enumerate(result.columns[:COLUMNS_SHOWN_MAX]):
        cells = [row[place] for row in result.rows if row[place] is not None]
        name = quoted(column.name, CELL_LENGTH_MAX)
        if column.kind in (ColumnKind.INTEGER, ColumnKind.NUMBER):
            figures = [number for cell in cells if (number := _number(cell)) is not None]
            if figures:
                names.append(f"{name}: least {min(figures):g}, greatest {max(figures):g} on the first page")
        elif cells:
            names.append(f"{name}: {len(set(map(str, cells)))} different values on the first page")
    return names


def _number(cell: Scalar) -> float | None:
    try:
        return None if cell is None or isinstance(cell, bool) else float(cell)
    except ValueError:
        return None


def _cell(value: Scalar) -> str:
    return "null" if value is None else quoted(str(value), CELL_LENGTH_MAX)


_LEADS_EN = re.compile(
    r"^(?:(?:and|but|also|now|then|ok(?:ay)?|so|next|please)\b[\s,]*)*(?:(?:what|how)\s+about\b|same\s+(?:for|but|thing)\b|instead\b)?[\s,]*",
    re.IGNORECASE,
)
_GOES_ON_EN = re.compile(
    r"^(?:(?:and|but|also|now|then|ok(?:ay)?|so|next|please)\b[\s,]+)*(?:"
    r"(?:what|how)\s+about\b|same\b|instead\b|(?:show\s+)?only\b|just\b|without\b|exclud\w+\b|includ\w+\b|not\b|except\b"
    r"|(?:by|per|for each|grouped by|broken down by|split by|sorted by|ordered by|in|for|of|from|since|with|as)\s+\S+(?:\s+\S+){0,5}[\s?.!]*$"
    r"|(?:the\s+)?(?:top|first|last|bottom)\s+\w+[\s?.!]*$|sort\b|order\s+(?:them|it|by)\b|group\s+(?:them|it|by)\b|limit\b|make\s+it\b)"
    r"|^(?:and|but)\b",
    re.IGNORECASE,
)
_POINTS_EN = re.compile(
    r"\b(?:them|those|these|they|its|the same|that one|this one|the (?:above|previous|last) (?:one|question|result|answer|query)"
    r"|of (?:it|that|this)|the former|the latter)\b",
    re.IGNORECASE,
)
_GOES_ON_ZH = re.compile(
    r"^(?:那么?|再|还有|然后|另外|同样|一样)|^(?:请|帮我|麻烦)?(?:只看|只要|只保留|仅看|仅|只|去掉|排除|不含|不要|不包括|除了|除去|换成|改成|改为|按|按照|分|其中)"
    r"|(?:的?呢|又如何|怎么样|怎样)[？?]?$|上面|上述|刚才|刚刚|前面(?:的|那)|这些|那些|它们|他们|她们|这个结果|同样的"
)
_WORDS_ZH_MAX: Final = 24
_WORDS_EN_MAX: Final = 12

_ORDINALS: Final = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10,
}  # fmt: skip
_NUMBERED = re.compile(
    r"\b(?:question|turn|query|answer|result)\s*(?:number|no\.?|#)?\s*(?P<after>\d{1,3})\b"
    r"|\b(?:(?P<before>\d{1,3})(?:st|nd|rd|th)|(?P<word>first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth))"
    r"\s+(?:question|query|turn|answer)\b"
    r"|第(?P<zh>\d{1,3}|[一二两三四五六七八九十])(?:个|次|条)?(?:问题|提问|查询|轮|回答|结果)",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\b(?:back to|return(?:ing)? to|earlier (?:question|query|result|answer)|asked (?:earlier|before)|(?:question|query|result) about)\b"
    r"|回到|之前(?:问|那个|的问题|关于)|先前|早先|最开始|一开始|关于.{1,20}的(?:那个|问题)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Bound:
    """Which turn a question goes on from, counted from 0, and how it reads by itself. `turn` None: it is not known."""

    turn: int | None
    question: str


def goes_on(question: str) -> bool:
    """Return whether a question needs an earlier one to be understood.

    >>> [goes_on(each) for each in ("and by month?", "只看上海的", "How many orders are there?", "上海有多少客户？")]
    [True, True, False, False]
    """
    text = question.strip()
    if _NUMBERED.search(text) or _BACK.search(text):
        return True
    if is_fragment(text) and len(text.split()) <= _WORDS_EN_MAX:
        return True
    if re.search(r"[\u3400-\u9fff]", text):
        return len(text) <= _WORDS_ZH_MAX and _GOES_ON_ZH.search(text) is not None
    words = len(text.split())
    if words > _WORDS_EN_MAX:
        return False
    return _GOES_ON_EN.search(text) is not None or (words <= 8 and _POINTS_EN.search(text) is not None)


def bind(
    question: str,
    turns: Sequence[Turn],
    language: Language,
    words: Callable[[str], frozenset[str]],
    *,
    is_complete: bool = False,
) -> Bound | None:
    """Return what a question goes on from, or None if it stands by itself, as it does where it `is_complete`.

    A numbered question is that one; "back to ..." is the earlier question that shares most words with it (`words` gives
    a text's words); anything else goes on from the newest question.
    """
    if not turns or not goes_on(question):
        return None
    numbered = _NUMBERED.search(question)
    if numbered is not None:
        number = _ordinal(numbered)
        if not 1 <= number <= len(turns):
            return Bound(None, question)
        rest = _without(question, numbered)
        return Bound(number - 1, enriched(rest, turns[number - 1].standing, language))
    back = _BACK.search(question)
    if back is not None:
        asked = words(question)
        shared = [(len(asked & words(turn.question)), place) for place, turn in enumerate(turns)]
        best = max(shared)
        # Two questions alike are two candidates: then it is asked, not guessed, unless they say the same.
        rivals = {turns[place].standing.casefold() for count, place in shared if count == best[0]}
        if best[0] == 0 or len(rivals) > 1:
            return Bound(None, question)
        rest = re.split(r"[:：,，;；]", question, maxsplit=1)[-1]
        return Bound(best[1], enriched(rest if rest != question else "", turns[best[1]].standing, language))
    if is_complete:
        return None
    base = next((place for place in range(len(turns) - 1, -1, -1) if turns[place].sql or not turns[place].reply), None)
    return None if base is None else Bound(base, enriched(question, turns[base].standing, language))


def _ordinal(found: re.Match[str]) -> int:
    text = found["after"] or found["before"] or found["zh"] or found["word"]
    return int(text) if text.isdigit() else _ORDINALS[text.lower()]


def _without(question: str, found: re.Match[str]) -> str:
    rest = question[found.end() :].lstrip(" ,，:：-、。") or question[: found.start()].rstrip(" ,，:：-、")
    return re.sub(r"^(?:for|of|about|on|in|对|对于|关于|里|中)?\s*(?:the)?\s*$", "", rest.strip(), flags=re.IGNORECASE)


_YEAR = re.compile(r"\b(?:19|20)\d\d\b|(?:19|20)\d\d(?=年)")


def enriched(question: str, base: str, language: Language) -> str:
    """Return the question as one that can be asked by itself: the earlier one, with what the new one changes.

    >>> enriched("and by month?", "How many orders were there in 2025?", "en")
    'How many orders were there in 2025, by month?'
    >>> enriched("what about 2024?", "How many orders were there in 2025?", "en")
    'How many orders were there in 2024?'
    >>> enriched("只看上海的", "有多少客户？", "zh")
    '有多少客户，只看上海的？'
    """
    if language == "zh":
        rest = re.sub(r"^(?:那么?|再|还有|然后|另外)[，,]?|(?:的?呢|又如何|怎么样)?[？?。！]*$", "", question.strip())
    else:
        rest = _LEADS_EN.sub("", question.strip(), count=1).rstrip("?.! ")
    stem = base.strip().rstrip("?？.。!！ ")
    mark, comma = ("？", "，") if language == "zh" else ("?", ", ")
    if not rest:
        return stem + mark
    year = re.fullmatch(r"(?:(?:in|for|of)\s+)?((?:19|20)\d\d)年?", rest)
    if year is not None and len(_YEAR.findall(stem)) == 1:
        return _YEAR.sub(year[1], stem) + mark
    return f"{stem}{comma}{rest}{mark}"
