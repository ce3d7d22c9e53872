"""Does an instruction in a thread refine the answer before, or change stored data? Its object decides, not its verb.

It changes data if its object is stored: rows that a number or a name identifies, everything of a kind, a table by its name.
It refines the answer if its object is the answer: a pronoun, a part that only an answer has (list, column, total, period),
a part of what the answer shows ("the cities with fewer than 50"), or no object at all but a new form ("改成按月").
What names something stored changes data, whatever else stands in the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

_BEFORE_NUMBER: Final = (
    r"(?:to|by|than|in|of|at|from|since|until|before|after|below|above|under|over|top|first|last|least|most|and|or|the|is|be"
    r"|rows?|columns?|years?|january|february|march|april|may|june|july|august|september|october|november|december)"
)
_STORED_EN: Final = re.compile(
    rf"\b(?!{_BEFORE_NUMBER}\b)[a-z]+\s+(?:number|no\.?|id|#)?\s*#?\d+\b(?!\s*(?:%|percent))"
    r"|^\W*(?:please\s+)?\w+\s+(?:all|every|each)\b(?!\s+(?:of\s+)?(?:them|these|those|this|that)\b)"
    r"|\b(?:named|called)\s+\S|\bdatabase\b|\btables?\s+(?!to\b|with\b|so\b|by\b|and\b|please\b|in\b|as\b|from\b|below\b|above\b)[a-z_]\w*"
    r"|\b(?:update\s+\w+\s+set|insert\s+into|delete\s+from\s+(?!the\b|this\b|that\b)\w+)\b",
    re.IGNORECASE,
)
_ANSWER_EN: Final = re.compile(
    # Its object, or what a preposition leads to, is a pronoun.
    r"(?:^\W*|\b(?:you|please|now|then|also|and|just)\s+)(?!(?:you|please|now|then|also|and|just)\b)\w+\s+(?:up\s+)?(?:all\s+(?:of\s+)?)?(?:this|that|these|those|it|them)\b"
    r"|\b(?:in|on|of|from|to|into)\s+(?:this|that|these|those|it|them)\b"
    # Only an answer has these parts.
    r"|\b(?:lists?|results?|answers?|output|columns?|rows?|charts?|graphs?|reports?|totals?|percentages?|periods?|date range|headings?"
    r"|rankings?|breakdown|groupings?|filters?|query|summary|order\s+(?:so|from|to|of)|sort(?:ing)?(?:\s+order)?)\b"
    r"|\b(?:the|this|that)\s+table\b"
    # What stands for things that were shown.
    r"|\b(?:the\s+)?ones\b|\bthe\s+(?:rest|others|outliers|nulls|duplicates)\b"
    r"|\beverything\s+(?:below|above|under|over|with|without|except|but|that|before|after)\b",
    re.IGNORECASE,
)
_PART_EN: Final = re.compile(
    r"\b(?:with|without|that|who|where|which|below|above|under|over|except|not|outside|before|after)\b", re.IGNORECASE
)

_STORED_ZH: Final = re.compile(
    r"(?:删除|删掉|清空|清除|移除|更新|修改|提高|降低|把|将)(?:所有|全部)(?!这|那)"
    r"|[\u4e00-\u9fff](?<![于前后到为成近最第过])\s*\d+(?!\d|\s*(?:[个条行名位年月日人元列天家张份台%％]|的?那))"
    r"|数据库|整张表|(?:(?<!改)名为|叫做?)\S",
)
_ANSWER_ZH: Final = re.compile(
    r"[这那](?:个|张|些|份|列|行|里|几|一)|它们?|[他她]们|上面|上述|前面|刚才|结果|列表|表格|图表|第\s*[一二三四五六七八九十\d]+\s*[列行]"
    r"|[一两几]\s*[列行]|列名|排序|顺序|百分比|合计|总计|小计|时间范围|统计口径"
    r"|(?:^|[，。！!,])(?:请|帮我|麻烦|能不能|能否|可以|再|然后)*(?:修改|更改|改|换|变)(?:成|为)"
)


def refines_answer(instruction: str, shown: Collection[str], words: Collection[str]) -> bool:
    """Return whether an instruction is about the answer before; False if it names something stored, or nothing of the answer.

    `shown` are the words of what the answer is about, `words` those of the instruction, both folded.

    >>> refines_answer("Can you update this list to show the country?", (), ())
    True
    >>> refines_answer("Remove the cities with fewer than 50 customers", {"city"}, {"city", "customer"})
    True
    >>> refines_answer("delete order 5", {"order"}, {"order"}), refines_answer("删除所有客户", (), ())
    (False, False)
    """
    is_chinese = re.search(r"[\u3400-\u9fff]", instruction) is not None
    if (_STORED_ZH if is_chinese else _STORED_EN).search(instruction):
        return False
    if (_ANSWER_ZH if is_chinese else _ANSWER_EN).search(instruction):
        return True
    return not is_chinese and _PART_EN.search(instruction) is not None and not set(shown).isdisjoint(words)
