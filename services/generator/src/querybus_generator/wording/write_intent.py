"""Does a question ask to change data? Decided by its wording alone, before any model; unsure means no.

Only an instruction counts ("delete all orders", "把价格改为 5"): the same words as description ("deleted orders",
"上个月更新的订单") are questions. What slips through is refused by the guard; this is for a clear answer at once,
not for safety.
"""

from __future__ import annotations

import re
from typing import Final

QUESTION_CHARS_READ_MAX: Final = 2_000

_POLITE = (
    r"(?:(?:please|pls|kindly|now|just|then|also|and|first|finally|hey|hi|ok|okay|so|immediately|go ahead and|let['’]?s"
    r"|can you|could you|would you|will you|i want(?: you)? to|i need(?: you)? to|i['’]d like(?: you)? to"
    r"|i would like(?: you)? to|you (?:should|must|have to)|we (?:should|must|need to|have to))\b[\s,]*)*"
)
_OBJECT = r"(?:all|the|every|each|any|these|those|them|it|everything|this|that|from|table|database|my|our|\d)"
_RESULT = r"(?:list|results?|answer|output|chart|graph|report|total|sum|count|average|view|question|query|summary)"

_EN: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (kind, re.compile(_POLITE + pattern, re.IGNORECASE))
    for kind, pattern in (
        (
            "DELETE",
            r"(?:delete|erase|wipe|purge|remove|get rid of)\s+(?!(?:date|time|timestamp|flag|history|log|rate|count|status"
            r"|reason|duplicates?|nulls?|outliers?|me|in|on|of|from\s+(?:the\s+)?" + _RESULT + r")\b)"
            r"(?!.*\bfrom\s+(?:the\s+|this\s+|that\s+)?(?:final\s+)?" + _RESULT + r"\b)[\w\"'`(\u4e00-\u9fff]",
        ),
        ("DROP", r"drop\s+(?!(?:in|of|off|out|rate|rates|down|by|shipping|from|box|me)\b)[\w\"'`]"),
        (
            "TRUNCATE",
            r"(?:truncate|empty|clear)\s+(?:out\s+)?(?:the\s+|all\s+)?(?:table\s+)?[\w\"'`]+(?:\s+(?:table|data|records|rows))?\s*[.!;]*$",
        ),
        (
            "UPDATE",
            r"(?:update|modify|overwrite)\s+(?!(?:me|us|on|in|of|by)\b)(?!(?:the\s+)?(?:last\s+|previous\s+)?"
            + _RESULT
            + r"\b)(?:(?:all|every|each|the|table)\b|[\w\"'`. ]+?\b(?:set|to|by|with)\b|[\w\"'`.]+\s*=|[\w\"'`]+\s*[.!]*$)"
            r"(?!.*\?\s*$)",
        ),
        (
            "UPDATE",
            r"(?:set|change|rename|increase|decrease|raise|reduce|lower)\s+(?!(?:of|in)\b|(?:the\s+)?"
            + _RESULT
            + r"\b)[\w\"'`. ]{1,60}?\s(?:to|by|=)\s",
        ),
        ("INSERT", r"insert\s+[\w\"'`]"),
        (
            "INSERT",
            r"add\s+(?:a|an|one|\d+)\s+(?:new\s+)?[\w\"'`]+\s+(?:named|called|to|into|with|for)\b(?!.*\b"
            + _RESULT
            + r"\b)",
        ),
        (
            "CREATE",
            r"create\s+(?:a\s+|an\s+|the\s+)?(?:new\s+)?(?:table|index|database|schema|user|trigger|column)\b(?!\s+(?:of|showing|with the|that|which))",
        ),
        ("ALTER", r"alter\s+(?:the\s+)?(?:table|column|database|schema|user)\b"),
    )
)
_EN_LATER = re.compile(r"\s" + _OBJECT + r"\b", re.IGNORECASE)
_EN_CLAUSES = re.compile(r"(?:[.;!?\n]|,?\s+(?:and then|and|then)\s+)", re.IGNORECASE)

_READS_ZH = re.compile(
    r"多少|几[个条名位笔张次]|哪些|哪个|哪[一几]|什么|谁|是否|有没有|查询|统计|列出|显示|查看|占比|[吗呢]\s*[？?]?$"
)
_POLITE_ZH = r"(?:请|帮我|帮忙|麻烦|你|您|我要|我想|我需要|给我|现在|马上|立即|立刻|直接|可以|能不能|能否|可否|一下|先|再|然后|并且|并|，)*"
_NOT_DESCRIBED = r"(?!\s*(?:的|了的|过的|时间|日期|状态|标记|标志|记录数|次数|数量|人|原因|日志|率|量))"
_DELETES_ZH = r"(?:删除|删掉|删去|删了|清空|清除|移除|抹掉|抹去|销毁)"
_ZH: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (kind, re.compile(_POLITE_ZH + pattern))
    for kind, pattern in (
        ("DROP", r"(?:删除|删掉|删|丢弃|销毁|清除)(?:整个|整张|这张|数据)?(?:表|库|数据库|数据表)"),
        ("DELETE", _DELETES_ZH + _NOT_DESCRIBED + r"\s*\S"),
        ("DELETE", r"(?:把|将)[^，。；]{1,40}?" + _DELETES_ZH + _NOT_DESCRIBED),
        ("TRUNCATE", r"截断"),
        (
            "UPDATE",
            r"(?:把|将)[^，。；]{1,40}?(?:改为|改成|改到|更改为|设为|设置为|设成|更新为|更新成|修改为|修改成|调整为|调整到|增加到"
            r"|减少到|提高|降低)" + _NOT_DESCRIBED,
        ),
        ("UPDATE", r"(?:更新|修改|更改)" + _NOT_DESCRIBED + r"[^，。；]{0,40}?(?:为|成|到|=|所有|全部)"),
        ("INSERT", r"(?:插入|新增|添加|增加|录入|写入)(?:一个|一条|一行|一名|一位|一笔|新的|\d+\s*[条行个])"),
        ("CREATE", r"(?:创建|新建|建立)(?:一个|一张|新)?(?:数据)?(?:表|库|索引|视图|用户|字段)"),
    )
)
_ZH_CLAUSES = re.compile(r"[，。；！？,;!?\n]|然后|并且")
_ZH_LATER = re.compile(r"所有|全部|他们|它们|她们|这些|那些|整个|数据|表|\d")


def write_intent(question: str) -> str | None:
    """Return the kind of change that is asked for (DELETE, UPDATE, INSERT, DROP, ...), or None for a question.

    >>> write_intent("Please delete all orders")
    'DELETE'
    >>> write_intent("Show deleted orders") is None
    True
    >>> write_intent("删除所有订单")
    'DELETE'
    >>> write_intent("上个月更新的订单有多少") is None
    True
    """
    text = question[:QUESTION_CHARS_READ_MAX].strip()
    return _english(text) or _chinese(text)


def _english(text: str) -> str | None:
    for number, clause in enumerate(_clauses(_EN_CLAUSES, text)):
        for kind, pattern in _EN:
            if pattern.match(clause) is None:
                continue
            # Further on, "and update dates" may still be a list of nouns: there it needs an object in plain sight.
            if number == 0 or _EN_LATER.search(clause):
                return kind
    return None


def _chinese(text: str) -> str | None:
    for number, clause in enumerate(_clauses(_ZH_CLAUSES, text)):
        if _READS_ZH.search(clause):
            continue
        for kind, pattern in _ZH:
            if pattern.match(clause) is not None and (number == 0 or _ZH_LATER.search(clause)):
                return kind
    return None


def _clauses(separator: re.Pattern[str], text: str) -> list[str]:
    return [clause.strip() for clause in separator.split(text) if clause.strip()]
