"""Chinese wordings that mean what other words say: groups that are counted, lists of figures, scores by the catalog's word,
words that are said twice, orders of time, names that are asked for beside other things.
"""

from __future__ import annotations

import re
from typing import Final

from querybus_translator.language.names import name_words
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
_HAN: Final = "[\u4e00-\u9fff]"
_PLAINER: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    # 每个政党各有多少名司机: "each" is said twice.
    (re.compile(r"(?P<each>每[^，。？?,]{1,16}?)各(?:自)?(?![个种类位国地省市级条家])"), r"\g<each>"),
    # 每个建造商建造了多少条: what builders do is said twice as well.
    (re.compile(rf"(?P<verb>{_HAN}{{2}})(?P<who>[者商员师手家人])(?P=verb)[了过]?"), r"\g<verb>\g<who>"),
    # 按年份从早到晚, 按日期先后: an order that is called by time.
    (re.compile(r"(?P<by>按照?[^，。？?,]{1,12}?)(?:[从由]早到晚|[从由]旧到新|[从由]远到近|由远及近|[从由]先到后|先后(?:顺序)?)"), r"\g<by>升序"),
    (re.compile(r"(?P<by>按照?[^，。？?,]{1,12}?)(?:[从由]晚到早|[从由]新到旧|[从由]近到远|由近及远|[从由]后到先)"), r"\g<by>降序"),
    (re.compile(r"字母(?:的)?升序"), "字母顺序"),
    # 哪种付款方式用得最多 is the most common one.
    *(
        (
            re.compile(rf"(?:哪一?[种个类]|什么)(?P<what>{_HAN}{{2,8}}?)(?:被?使?用[得的]?(?:次数)?|出现[得的]?(?:次数)?)最{end}[。？?]?$"),
            rf"最{seen}见的\g<what>是什么？",
        )
        for end, seen in (("多", "常"), ("少", "少"))
    ),
    # 不止一条 is more than one.
    (re.compile(r"不止(?=[一二两三四五六七八九十\d])"), "超过"),
    # 几列火车: the unit of trains is no column.
    (re.compile(r"(?<=[几多少每两一二三四五六七八九十\d])列(?=火车|列车|高铁|动车)"), "辆"),
    # 一个会员都没有 is none of them.
    (re.compile(rf"一[个名位条张份辆家本笔次](?P<what>{_HAN}{{1,8}}?)[都也]没有"), r"没有\g<what>"),
    # 山叫什么，编号是多少: a name and another thing of the same.
    (
        re.compile(
            rf"叫什么(?:名字|名称)?[，,、](?:它们?的|他们?的|她们?的)?(?P<rest>{_HAN}{{2,8}}?)(?:分别|各)?(?:是多少|是什么|是哪里|在哪里|是谁|有多少|是哪[个天年])[。？?]?$"
        ),
        r"的名称和\g<rest>是什么？",
    ),
    # 参与者最多的活动编号 is the number of the one with the most.
    (
        re.compile(rf"(?P<which>最[多少高低大小长短][的](?!{_HAN}*的){_HAN}{{2,5}}?)(?P<what>编号|名称|名字|姓名|代码)(?=[是叫有和、，。？?])"),
        r"\g<which>的\g<what>",
    ),
)  # fmt: skip


def plain_chinese(question: str, index: CatalogIndex) -> str:
    """Return a question with plainer words: 按渠道统计预订 asks for the number of bookings of each channel."""
    for said, plain in _PLAINER:
        question = said.sub(plain, question)
    question = _COUNTED_BY.sub(r"各\g<by>的\g<what>数", _last_names(_scores(question, index), index))
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


_LAST_NAME: Final = re.compile(r"的?姓什么|的姓氏?(?:是什么)?(?=[是和、，,。？?]|$)")
_LAST_NAMES: Final = frozenset(
    {("last", "name"), ("l", "name"), ("lname",), ("lastname",), ("surname",), ("family", "name")}
)


def _last_names(question: str, index: CatalogIndex) -> str:
    """老师姓什么 asks for the column of last names, where that is called in English."""
    if _LAST_NAME.search(question) is None:
        return question
    names = (tuple(name_words(column.name)) for table in index.catalog.tables for column in table.columns)
    if not any(name in _LAST_NAMES for name in names):
        return question
    return _LAST_NAME.sub(lambda said: "的last name" + ("是什么" if "什么" in said[0] else ""), question)
