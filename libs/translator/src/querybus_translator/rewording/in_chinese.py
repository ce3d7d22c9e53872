"""Chinese wordings that mean what other words say: groups that are counted, lists of figures, scores by the catalog's word."""

from __future__ import annotations

import re
from typing import Final

from querybus_translator.schema.index import CatalogIndex

_FIGURES: Final = re.compile(r"(?:最[高大低小]|平均)(?:[、和及与](?:最[高大低小]|平均))+(?![的值])")
"""最低、最高和平均价格 are figures, and no rows that bear them."""
_COUNTED_BY: Final = re.compile(
    r"^按照?(?P<by>[\u4e00-\u9fff]{2,8}?)(?:来|分别|分组|分类)?统计(?:各|所有)?(?P<what>(?:(?![数量额率比均总和个])[\u4e00-\u9fff]){2,6})[。？?]?$"
)
"""按渠道统计预订 counts them for each."""
_EXTREME: Final = re.compile(r"最[高大低小]")
_SCORE: Final = re.compile("(平均|最高|最低)分(?![\\u6570\\u949f\\u7c7b\\u7ec4\\u5e97\\u652f\\u90e8\\u522b])")
_SCORES: Final = ("分数", "得分", "评分", "成绩")


def plain_chinese(question: str, index: CatalogIndex) -> str:
    """Return a question with plainer words: 按渠道统计预订 asks for the number of bookings of each channel."""
    question = _COUNTED_BY.sub(r"各\g<by>的\g<what>数", _scores(question, index))
    return _FIGURES.sub(lambda said: _EXTREME.sub(r"\g<0>值", said[0]), question)


def _scores(question: str, index: CatalogIndex) -> str:
    """平均分 is 平均分数, by the word that the catalog has for it."""
    if _SCORE.search(question) is None:
        return question
    columns = [column for table in index.catalog.tables for column in table.columns]
    called = [name for column in columns for name in (column.name, column.display_names.get("zh", ""))]
    known = next((word for word in _SCORES if any(word in name for name in called)), None)
    if known is None and not any("score" in name.lower() for name in called):
        return question
    return _SCORE.sub(rf"\1{known or _SCORES[0]}", question)
