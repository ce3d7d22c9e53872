"""Chinese wordings that mean what other words say: groups that are counted, lists of figures, scores by the catalog's word,
words that are said twice, orders of time, names that are asked for beside other things.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from querybus_translator.language.names import name_words
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.values import stored_as

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
_RISING: Final = "轻到重|短到长|便宜到贵|年轻到年[长老]|矮到高|薄到厚|窄到宽|浅到深|弱到强|差到好|稀到密"
_FALLING: Final = "重到轻|长到短|贵到便宜|年[长老]到年轻|高到矮|厚到薄|宽到窄|深到浅|强到弱|好到差|密到稀"
_NUMBER: Final = r"(?:\d+|[一二两三四五六七八九十百]+)"
_PLAINER: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    # 每个政党各有多少名司机: "each" is said twice.
    (re.compile(r"(?P<each>每[^，。？?,]{1,16}?)各(?:自)?(?![个种类位国地省市级条家])"), r"\g<each>"),
    # 每个建造商建造了多少条: what builders do is said twice as well.
    (re.compile(rf"(?P<verb>{_HAN}{{2}})(?P<who>[者商员师手家人])(?P=verb)[了过]?"), r"\g<verb>\g<who>"),
    # 按年份从早到晚, 按日期先后: an order that is called by time.
    (re.compile(r"(?P<by>按照?[^，。？?,]{1,12}?)(?:[从由]早到晚|[从由]旧到新|[从由]远到近|由远及近|[从由]先到后|先后(?:顺序)?)"), r"\g<by>升序"),
    (re.compile(r"(?P<by>按照?[^，。？?,]{1,12}?)(?:[从由]晚到早|[从由]新到旧|[从由]近到远|由近及远|[从由]后到先)"), r"\g<by>降序"),
    (re.compile(r"字母(?:的)?升序"), "字母顺序"),
    (re.compile(r"字母(?:顺序)?(?:的)?(?:降序|倒序|逆序|倒着)"), "字母降序"),
    # 按体重从轻到重: an order that is called by what the figures mean.
    (re.compile(rf"(?<=[\u4e00-\u9fff])[，,]?[从由](?:{_RISING})"), "升序"),
    (re.compile(rf"(?<=[\u4e00-\u9fff])[，,]?[从由](?:{_FALLING})"), "降序"),
    # 最大的和最小的年龄 are figures of one column.
    (re.compile(r"(?P<one>最[高低大小长短])的(?P<joint>[和与、及])(?P<other>最[高低大小长短])的"), r"\g<one>\g<joint>\g<other>"),
    # 最大年龄和最小年龄 as well.
    (re.compile(rf"(?P<one>最[高低大小])(?P<what>{_HAN}{{2,4}})(?P<joint>[和与、及])(?P<other>最[高低大小])(?P=what)"), r"\g<one>\g<joint>\g<other>\g<what>"),
    # 分别是多少 behind several things that are asked for.
    (re.compile(r"(?:分别|各自)(?=(?:是|为)?(?:多少|什么)|叫什么|有多少|是谁|在哪)"), ""),
    # 姓什么叫什么名 asks for both names.
    (re.compile(r"的?姓什么[，,、]?(?:叫什么名字?|名字?(?:叫|是)?什么|叫什么)"), "的姓和名是什么"),
    # 至少20层的建筑 has so many floors.
    (re.compile(rf"(?P<bound>至少|最少|至多|最多|不少于|不超过|超过|高于|低于|多于|少于)(?:有)?(?P<number>{_NUMBER})层(?P<more>以上|以下)?的"), r"层数\g<bound>\g<number>\g<more>的"),
    # 至少为5, 大于等于5: a bound, and the number behind it.
    (re.compile(rf"(?P<bound>至少|至多|最少|最多|大于|小于|超过|低于|高于|少于|多于|不少于|不多于|不低于|不超过|不高于|不大于|不小于)(?:为|是)(?={_NUMBER})"), r"\g<bound>"),
    (re.compile(rf"(?:大于或?等于|高于或?等于|等于或(?:大|高|多)于)(?={_NUMBER})"), "不少于"),
    (re.compile(rf"(?:小于或?等于|低于或?等于|等于或(?:小|低|少)于)(?={_NUMBER})"), "不超过"),
    # 最多被参观一次: so often at most.
    *(
        (re.compile(rf"{said}(?:只)?(?P<done>(?:被)?{_HAN}{{2}})(?:了|过)?(?P<number>{_NUMBER})次"), rf"\g<done>{plain}\g<number>次")
        for said, plain in (("(?:最多|至多)", "不超过"), ("(?:最少|至少)", "至少"))
    ),
    # 至少两次: a number behind a bound.
    *(
        (re.compile(rf"(?<=至少|至多|超过|少于|多于|低于|只有|恰好|正好){said}(?=次)"), str(number))
        for number, said in enumerate(("一", "[两二]", "三", "四", "五", "六", "七", "八", "九", "十"), 1)
    ),
    # 只有1个: so many and no more.
    (re.compile(rf"只有(?={_NUMBER}[个名位条张份辆家本笔次场座间])"), "恰好有"),
    # 住着多少人: they live there.
    (re.compile(r"(?<=[住开停放存])着(?=多少|几)"), ""),
    # 手机的不同运营商: each of them once.
    (re.compile(rf"(?<=的)不同(?={_HAN})(?!的|于|意)"), "不同的"),
    # 三次或更多评分 is at least three.
    (re.compile(rf"(?P<number>{_NUMBER})(?P<unit>[次个名位条张份场本家门部首])(?:或|及)(?:更多|以上)的?"), r"至少\g<number>\g<unit>"),
    # 按排名升序: a rank sorts.
    (re.compile(r"(?<=按)(?P<as>照?)排名(?=[升降从由的列显给排])"), r"\g<as>名次"),
    # 最晚加入的艺术家叫什么: the one that did so last.
    (re.compile(rf"^(?P<end>最[晚早]|最后|最先)(?P<done>{_HAN}{{2}})的(?P<what>{_HAN}{{2,6}}?)(?=叫什么|是谁|是哪|是什么)"), r"\g<done>\g<end>的\g<what>"),
    # 名称和排名: a rank is asked for.
    (re.compile(r"(?<=[的和、与])排名(?=[。？?、，]|是|和|与|分别|$)"), "名次"),
    # 没有关联的产品 has none.
    (re.compile(r"(?P<none>没有|无)(?:任何)?(?:相?关联|对应|相应)的"), r"\g<none>"),
    # 有多少层 asks for the column of floors.
    (re.compile(r"(?:的)?(?:楼层)?(?:一共|总共)?有(?:多少|几)层(?=[。？?]|$)"), "的层数是多少"),
    # 是什么时候发布的 asks for the day on which it was.
    (re.compile(rf"(?:是)?(?:什么时候|何时)(?P<done>{_HAN}{{2}})的(?=[。？?]|$)"), r"的\g<done>日期是什么"),
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
    # 平均每次行程的距离 is the average distance of trips; of numbers of rows it would be another thing.
    (
        re.compile(rf"平均每[个次名位门家件笔单张场辆条本]?(?P<rows>{_HAN}{{2,6}}?)的(?P<what>{_HAN}{{2,6}}?)(?<!数)(?<!数量)(?=是多少|为多少|多少|有多|[。？?]|$)"),
        r"\g<rows>的平均\g<what>",
    ),
    # 开了多少门课: so many there are.
    (re.compile("开设?了?(?=(?:多少|几)[门节堂])"), "有"),
    (re.compile("(?<=[门节堂])课(?=[？?。]|$)"), "课程"),
    # 平均每次就诊多长时间: its average length.
    (re.compile(rf"平均每[次个场趟件]?(?P<rows>{_HAN}{{2,6}}?)(?:需要?|要|用|花|持续)?(?:多长时间|多久|多少时间)"), r"\g<rows>的平均时长是多少"),
    # 收到多少付款 is how much, and not how often.
    (re.compile(r"收到了?多少(?P<what>付款|缴费|捐款|汇款|货款)"), r"\g<what>一共多少"),
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
    question = _EACH_KIND.sub(partial(_each_kind, index), _by_whole_words(question, index))
    question = _COMPARED_TWICE.sub(partial(_compared_twice, index), question)
    question = _FIGURES_BEHIND.sub(partial(_figures_behind, index), question)
    question = _COUNTED_BY.sub(r"各\g<by>的\g<what>数", _names_of_people(_scores(question, index), index))
    return _FIGURES.sub(lambda said: _EXTREME.sub(r"\g<0>值", said[0]), question)


_EACH_KIND: Final = re.compile(
    rf"(?P<each>[每各])(?P<kind>[种类])(?!别|型)(?P<rows>{_HAN}{{1,6}}?)(?=的|[各都]?有|平均|一?共|总|分别|花)"
)
_KINDS: Final = ("category", "type", "kind", "species", "class", "genre")
_THEMSELVES_KINDS: Final = frozenset(
    {"product", "item", "medicine", "drug", "food", "dish", "plan", "model", "book", "material", "ingredient", "part"}
)


def _each_kind(index: CatalogIndex, said: re.Match[str]) -> str:
    """每种维修 is each of their kinds, by the one column that says of what kind they are; each product is a kind itself."""
    words = index.similar(said["rows"])
    tables = {table for word in words for table in index.called_by(word)}
    if len(tables) != 1 or (said["kind"] == "种" and not _THEMSELVES_KINDS.isdisjoint(words)):
        return said[0]
    table = tables.pop()
    columns = index.table(table).columns if table < len(index.catalog.tables) else ()
    kinds = [
        column.name for column in columns if name_words(column.name)[-1:] and name_words(column.name)[-1] in _KINDS
    ]
    return f"{said['each']}个{kinds[0]}{said['rows']}" if len(kinds) == 1 else said[0]


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


_A_VALUE: Final = "(?:最[大小高低]|平均)值"
_COMPARISON: Final = "不?(?:大于|小于|超过|低于|高于|少于|多于|早于|晚于)|至少|至多"
_COMPARED_TWICE: Final = re.compile(
    rf"(?P<run>{_HAN}{{2,8}}?)(?P<one>(?:{_COMPARISON})(?:\d[\d.,]*{_HAN}{{0,2}}?))(?P<joint>或者?|[，,]?(?:且|并且|但))(?={_COMPARISON})(?=[^\d]{{2,4}}\d)"
)
_COMPARED_LENGTH_MAX: Final = 6


def _compared_twice(index: CatalogIndex, said: re.Match[str]) -> str:
    """年龄大于50或小于46: the second bound is of what the first one is of."""
    return said[0] + _known_end(index, said["run"])


def _known_end(index: CatalogIndex, run: str) -> str:
    """Return the longest end of a run that the catalog knows, of two signs or more; empty where it knows none."""
    lengths = range(min(_COMPARED_LENGTH_MAX, len(run)), 1, -1)
    return next((run[-length:] for length in lengths if index.similar(run[-length:])), "")


_FIGURES_BEHIND: Final = re.compile(
    rf"(?P<run>{_HAN}{{2,10}}?)的(?P<figures>{_A_VALUE}(?:[、和与及]{_A_VALUE})*)(?=[。？?]|是|分别|各|$)"
)


def _figures_behind(index: CatalogIndex, said: re.Match[str]) -> str:
    """座位数的最小值和最大值 are 最小和最大座位数."""
    what = _known_end(index, said["run"])
    if not what:
        return said[0]
    before = said["run"].removesuffix(what)
    return f"{before}{'的' if before and not before.endswith('的') else ''}{said['figures'].replace('值', '')}{what}"


_DONE_ONCE: Final = re.compile("(?P<denied>没有?|从未|未曾?|从没有?)(?P<sign>[修借租买卖订付])(?=过|$|的)")
_DEEDS: Final = {
    "修": ("维修", "修理"), "借": ("借阅", "借出"), "租": ("租赁", "租借"), "买": ("购买", "采购"), "卖": ("销售",),
    "订": ("预订", "预约", "订单"), "付": ("付款", "支付"),
}  # fmt: skip
_SPENT: Final = re.compile(rf"(?P<run>{_HAN}{{2,6}}?)(?:上)?(?:一共|总共|共)?花(?:费|掉)?了?多少钱")
_SPENDING: Final = ("费用", "成本", "金额", "花费")
_BOUND_FOR: Final = re.compile("(?:去往?|前往|飞往|开往|驶往|发往|运往)(?=[A-Z“\"'])")
_WEEKDAY: Final = re.compile("(?<!每)(?<!上)(?<!下)(?<!本)(?:周|星期|礼拜)(?P<day>[一二三四五六日天])")
_WEEKDAYS: Final = dict(
    zip("一二三四五六日", ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"), strict=True)
) | {"天": "Sunday"}


def _by_whole_words(question: str, index: CatalogIndex) -> str:
    """从来没有修过 is 从来没有维修过, 维修花了多少钱 asks for its total cost, 去Milan for that destination, 周一 for a stored Monday.

    Each by the word that the catalog has, and only where it has one.
    """

    def deed(said: re.Match[str]) -> str:
        known = [word for word in _DEEDS[said["sign"]] if index.similar(word)]
        return f"{said['denied']}{known[0] if known else said['sign']}"

    def spent(said: re.Match[str]) -> str:
        what = _known_end(index, said["run"])
        tables = {table for word in index.similar(what) for table in index.called_by(word)} if what else set[int]()
        costs = [word for word in _SPENDING if _is_figure_of(word, tables, index)] if "每" not in question else []
        return f"{said['run']}的总{costs[0]}是多少" if costs else said[0]

    def day(said: re.Match[str]) -> str:
        name = _WEEKDAYS[said["day"]]
        return name if stored_as(name, index) else said[0]

    question = _SPENT.sub(spent, _DONE_ONCE.sub(deed, question))
    question = _BOUND_FOR.sub("目的地", question) if index.similar("目的地") else question
    return _WEEKDAY.sub(day, question)


def _is_figure_of(word: str, tables: set[int], index: CatalogIndex) -> bool:
    """Whether a word names a column of figures of one of some tables."""
    entries = (index.entries[item] for known in index.similar(word) for item in index.own.get(known, ()))
    return any(
        entry.table in tables and entry.column is not None and index.holds_figures(entry.table, entry.column)
        for entry in entries
    )


_LAST_NAME: Final = re.compile(
    r"(?P<of>的)?(?:姓(?P<asked>什么)|姓氏?(?P<is>是什么)?(?=[和、与](?:名|first)|[是、，,。？?]|$)|姓氏?(?:是|为)?(?=[“\"‘'「]))"
)
_FIRST_NAME: Final = re.compile(r"(?<=[的和、与])名(?=[是、，,。？?]|[和与]姓|$)")
_LAST_NAMES: Final = frozenset(
    {("last", "name"), ("l", "name"), ("lname",), ("lastname",), ("surname",), ("family", "name")}
)
_FIRST_NAMES: Final = frozenset({("first", "name"), ("f", "name"), ("fname",), ("firstname",), ("given", "name")})


def _names_of_people(question: str, index: CatalogIndex) -> str:
    """老师姓什么 asks for the column of last names, 他们的名 for that of first names, where those are called in English."""
    names = {tuple(name_words(column.name)) for table in index.catalog.tables for column in table.columns}
    if names & _FIRST_NAMES:
        question = _FIRST_NAME.sub("first name", question)
    return _LAST_NAME.sub(_last_name, question) if names & _LAST_NAMES else question


def _last_name(said: re.Match[str]) -> str:
    of = said["of"] or ("的" if said["asked"] else "")
    return f"{of}last name{said['is'] or ('是什么' if said['asked'] else '')}"
