"""Chat or database? Rules only: a greeting, thanks, or "what can I ask" is chat, everything else asks the database."""

from __future__ import annotations

import re
from typing import Final, Literal

from querybus.core.envelope import Classification
from querybus.core.options import Mode

ChatTopic = Literal["greeting", "thanks", "abilities"]

_EDGES = re.compile(r"^[\s\W_]+|[\s\W_]+$")
_PATTERNS: Final[tuple[tuple[ChatTopic, str], ...]] = (
    (
        "greeting",
        r"(?:hi|hello|hey|howdy|greetings|good (?:morning|afternoon|evening|day)|how are you(?: doing)?(?: today)?"
        r"|who are you|what are you|what is your name|what['’]s your name)(?:[ ,!]+(?:there|everyone|all|again|querybus))?"
        r"|(?:你好|您好|大家好|嗨|哈喽|哈啰|早|早上好|上午好|下午好|晚上好|在吗|你是谁|您是谁|你叫什么(?:名字)?)[呀啊吗呢]?",
    ),
    (
        "thanks",
        r"(?:(?:ok|okay|great|good|nice|perfect|cool)[ ,!.]+)?(?:thanks|thank you|thx|cheers|many thanks)"
        r"(?: (?:a lot|very much|so much|again|for (?:your|the) help))?|(?:good)?bye|see you(?: later)?|ok|okay|great|cool"
        r"|(?:好的?[，, ]*)?(?:谢谢|多谢|感谢|谢了)(?:你|您|啦|了)?|再见|拜拜|好的|明白了|知道了",
    ),
    (
        "abilities",
        r"help(?: me)?(?: please)?|what can (?:you do|you help(?: me)? with|you answer|i ask(?: you)?|i do)"
        r"(?: here| about| for me| with (?:this|you|it))?|what (?:questions )?(?:can|could|may) i ask(?: you)?(?: here| about)?"
        r"|how (?:can|do) you help(?: me)?|how does (?:this|it) work|how do i use (?:this|it|you)|what do you (?:do|know)"
        r"(?: about)?|what (?:data|information|topics|subjects)(?: do you have| is (?:here|available|there)"
        r"| can i ask about| are (?:here|available))(?: here)?"
        r"|(?:我|这里)?(?:可以|能)(?:在这里)?(?:问|查|查询)(?:你|您)?(?:些|点)?(?:什么|哪些)(?:问题|数据|内容)?"
        r"|(?:你|您)(?:能|会|可以)(?:做|干|帮我做|回答|查)(?:些|点)?(?:什么|哪些)(?:问题|事情?)?"
        r"|(?:这里|你这里|你这儿)?有(?:些)?(?:什么|哪些)(?:数据|信息|内容)(?:可以(?:问|查))?|怎么(?:使用|用)|帮助|使用说明",
    ),
)
_TOPICS: Final[tuple[tuple[ChatTopic, re.Pattern[str]], ...]] = tuple(
    [(topic, re.compile(pattern, re.IGNORECASE)) for topic, pattern in _PATTERNS]
)


def chat_topic(question: str) -> ChatTopic | None:
    """Return what kind of chat the whole question is, or None if it is no chat that the rules know.

    >>> chat_topic("What can I ask?"), chat_topic("Hello, how many customers are there?")
    ('abilities', None)
    """
    bare = _EDGES.sub("", question)
    for topic, pattern in _TOPICS:
        if pattern.fullmatch(bare):
            return topic
    return None


def classify(question: str, mode: Mode) -> Classification:
    """Return what the query is; a mode other than hybrid decides alone."""
    if mode is not Mode.HYBRID:
        kind = "chat" if mode is Mode.CHAT else "database"
        return Classification(kind=kind, confidence=1.0, reason=f"mode {mode.value}", method="forced")
    topic = chat_topic(question)
    if topic is not None:
        return Classification(kind="chat", confidence=0.95, reason=topic, method="rule")
    return Classification(kind="database", confidence=0.9, reason="no small talk", method="rule")
