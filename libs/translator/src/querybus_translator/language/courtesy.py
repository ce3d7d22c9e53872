"""What people say before and behind a question out of courtesy, which asks for nothing."""

from __future__ import annotations

import re
from typing import Final

_BEFORE: Final = re.compile(
    r"^\s*(?:(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|dear (?:all|team)|greetings|excuse me|sorry)"
    r"(?: there| all| everyone| team)?|thanks|thank you|please|pls|你好|您好|大家好|早上好|下午好|晚上好|嗨|请问一下|请问|麻烦(?:你|您)?"
    r"|劳驾|不好意思|打扰(?:一下)?|谢谢|(?:你|您)?能不能(?:帮我)?|可以(?:帮我|告诉我)|帮我(?:查一下|看一下|看看|查查|查|看)?|我想(?:知道|问(?:一下)?|了解(?:一下)?))"
    r"(?=[\s,，.。!！:：;；、]|[\u4e00-\u9fff]|$)[\s,，.。!！:：;；、]*",
    re.IGNORECASE,
)
_BEHIND: Final = re.compile(
    r"[\s,，.。!！;；?？]*(?:\b(?:please|pls|thanks|thank you|thanks in advance|many thanks|cheers)\b(?: very much| a lot)?|谢谢(?:你|您|啦|了)?|多谢|拜托(?:了)?|麻烦了)"
    r"[\s.。!！~]*$",
    re.IGNORECASE,
)


def without_courtesy(question: str) -> str:
    """Return a question without its greeting and thanks; what is nothing else stays as it is.

    >>> without_courtesy("Hi, how many customers do we have?"), without_courtesy("how many orders, please")
    ('how many customers do we have?', 'how many orders')
    >>> without_courtesy("你好，请问有多少订单？"), without_courtesy("hello")
    ('有多少订单？', 'hello')
    """
    text = question
    while (shorter := _BEFORE.sub("", text, count=1)) != text and shorter.strip():
        text = shorter
    shorter = _BEHIND.sub("", text)
    return shorter if shorter.strip() else text
