"""Which picture a question asks for by name, whether it asks for nothing else, and the question without it.

English and Chinese. Limits: a picture is known by its kind; "draw it" without one is no wish for another picture.
"""

from __future__ import annotations

import re
from typing import Final, Literal

PictureKind = Literal["bar", "line", "area", "pie", "scatter", "histogram", "heatmap", "number", "table"]

_NAMES: Final[tuple[tuple[PictureKind, str], ...]] = (
    ("histogram", r"histogram|直方图|频率分布图"),
    ("heatmap", r"heat\s?map|热力图|热图"),
    ("scatter", r"scatter(?:\s?plots?|\s?charts?|\s?graphs?)?|bubble chart|散点图"),
    ("pie", r"(?:pie|donut|doughnut)[\s-]?(?:chart|graph|plot|diagram)s?|饼状?图|圆饼图|环形图|饼形图"),
    ("area", r"area[\s-]?(?:chart|graph|plot)s?|面积图"),
    ("line", r"(?:line|trend)[\s-]?(?:chart|graph|plot|diagram)s?|折线图?|曲线图?|线图|趋势图"),
    ("bar", r"(?:bar|column)[\s-]?(?:chart|graph|plot|diagram)s?|柱状图|柱形图|条形图|柱图"),
    ("number", r"big number|single number|数字卡片|大数字"),
    ("table", r"(?:以|用|按|成|做成|显示为)\s*(?:表格|列表)|表格形式"),
)
_NAMED: Final[tuple[tuple[PictureKind, re.Pattern[str]], ...]] = tuple(
    (kind, re.compile(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])", re.IGNORECASE)) for kind, words in _NAMES
)
_SHORT: Final = r"pie|donut|bars?|lines?|area|scatter|histogram|heat\s?map|table"
_SHORT_KINDS: Final[dict[str, PictureKind]] = {
    "pie": "pie", "donut": "pie", "bar": "bar", "bars": "bar", "line": "line", "lines": "line", "area": "area",
    "scatter": "scatter", "histogram": "histogram", "heatmap": "heatmap", "table": "table", "饼": "pie", "柱": "bar",
    "线": "line", "表格": "table", "列表": "table",
}  # fmt: skip
_AS: Final = re.compile(
    rf"\b(?:as|into|in|with|using|by means of)\s+(?:an?|the|some)?\s*({_SHORT})(?:\s+please)?\s*(?:[.?!,;。]|$)",
    re.IGNORECASE,
)
_ANY_NAME: Final = "|".join(words for _, words in _NAMES)
_ENGLISH_WISH: Final = re.compile(
    r"(?:(?:and|now|then|ok|okay|please|can you|could you|would you|i want|i would like|i'd like|let me see|how about|what about)[\s,]+)*"
    r"(?:(?:draw|show|plot|display|present|make|turn|change|give|put|render|see|have|switch)\s+)?(?:to\s+)?(?:me\s+)?"
    r"(?:(?:it|this|that|them|these|the (?:result|results|answer|chart|picture|data|figures|same|numbers))\s+)?(?:again\s+)?"
    rf"(?:(?:as|into|in|to|with|using)\s+)?(?:(?:an?|the)\s+)?(?P<name>{_SHORT}|{_ANY_NAME})(?:[\s,]+(?:instead|please|now|then|again))*\s*[.?!]*",
    re.IGNORECASE,
)
_CHINESE_WISH: Final = re.compile(
    r"(?:请|再|能不能|能否|能|可以|可否|帮我|麻烦|那|现在|把(?:它|这个|这些|结果|数据|上面的?|图)|给我|就)*"
    r"(?:画|换|改|做|变|转|显示|展示|用|以|生成|呈现|绘制|画一?张|看)?(?:成|为|个|一个|一张|出)?"
    rf"(?P<name>{_ANY_NAME}|饼|柱|线|表格|列表)(?:来?(?:显示|展示|表示|呈现|看|画))?(?:吧|吗|么|看看|一下|呢|可以吗|好吗)*[。？?！!]*"
)
_DRAWN: Final = re.compile(
    rf"(?:,|，)?\s*(?:(?:shown|drawn|displayed|plotted)\s+)?(?:as|into|in|with|using)\s+(?:an?|the)?\s*(?:{_ANY_NAME}|pie|donut|bars|lines|scatter)(?:\s+please)?(?=\s*[.?!]*$)"
    rf"|[,，]?\s*(?:请)?(?:并)?(?:用|以|画|做|显示|展示|绘制|生成)(?:成|为|出|个|一个|一张)*(?:{_ANY_NAME})(?:来?(?:显示|展示|表示|呈现))?(?=[。？?！!]*$)"
    rf"|^\s*(?:please\s+)?(?:draw|plot|make|create|show)(?:\s+me)?\s+(?:an?|the)\s+(?:{_ANY_NAME})\s+(?:of|for|showing|with)\s+(?:the\s+)?"
    rf"|^\s*(?:请)?(?:帮我)?(?:画|做|生成|绘制)(?:出|个|一个|一张)?(?=.{{2,}}的(?:{_ANY_NAME})[。？?！!]*$)"
    rf"|的(?:{_ANY_NAME})(?=[。？?！!]*$)",
    re.IGNORECASE,
)


def picture_kind(question: str) -> PictureKind | None:
    """Return the kind of picture that a question asks for by name, or None.

    >>> picture_kind("sales by city as a pie"), picture_kind("画成折线图"), picture_kind("which bar has the best wine?")
    ('pie', 'line', None)
    """
    wish = picture_wish(question)
    if wish is not None:
        return wish
    named = _named(question)
    if named is not None:
        return named
    match = _AS.search(question)
    return None if match is None else _of(match[1])


def picture_wish(question: str) -> PictureKind | None:
    """Return the kind of picture where a question asks for nothing but another picture of what was answered.

    >>> [picture_wish(text) for text in ("as a pie", "Now show it as a line chart, please", "画成饼图", "用柱状图显示吧", "bars instead")]
    ['pie', 'line', 'pie', 'bar', 'bar']
    >>> [picture_wish(text) for text in ("sales as a pie", "which lines are late?", "各城市的柱状图", "draw it", "table")]
    [None, None, None, None, None]
    """
    bare = question.strip()
    if bare.lower() in ("table", "tables", "line", "lines", "bar", "area", "线", "柱", "饼", "表格", "列表"):
        return None
    match = _ENGLISH_WISH.fullmatch(bare) or _CHINESE_WISH.fullmatch(bare)
    return None if match is None else _of(match["name"])


def without_picture(question: str) -> str:
    """Return a question without the picture that it asks for beside something else.

    >>> without_picture("orders per channel as a pie chart?"), without_picture("Draw a bar chart of revenue per month")
    ('orders per channel?', 'revenue per month')
    >>> without_picture("画出各城市客户数的柱状图"), without_picture("各渠道的订单数，用饼图显示"), without_picture("How many bars are open?")
    ('各城市客户数', '各渠道的订单数', 'How many bars are open?')
    """
    if picture_kind(question) is None or picture_wish(question) is not None:
        return question
    left = _DRAWN.sub("", question).strip()
    return left if len(left) > 1 else question


def _of(name: str) -> PictureKind | None:
    word = re.sub(r"\s", "", name.lower())
    if word in _SHORT_KINDS:
        return _SHORT_KINDS[word]
    return _named(name)


def _named(text: str) -> PictureKind | None:
    for kind, pattern in _NAMED:
        if pattern.search(text):
            return kind
    return None
