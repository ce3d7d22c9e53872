"""Chat or database? Rules first: set phrases, general small talk, words that ask for data, names that the catalog has.

What the rules do not settle is `None`: with a model it is decided in the call that would draft the SQL anyway, without
one it counts as a question about data. A question of a thread about data stays one.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from querybus.core.envelope import Classification
from querybus.core.options import Mode

SMALL_TALK: Final = "small talk"
"""The reason of what holds a phrase of small talk, beside whatever else it says."""

ChatTopic = Literal["greeting", "thanks", "abilities", "identity", "tables", "pictures", "export", "trouble"]

_EDGES = re.compile(r"^[\s\W_]+|[\s\W_]+$")
_PATTERNS: Final[tuple[tuple[ChatTopic, str], ...]] = (
    (
        "greeting",
        r"(?:hi|hello|hey|howdy|greetings|good (?:morning|afternoon|evening|day)|how are you(?: doing)?(?: today)?"
        r")(?:[ ,!]+(?:there|everyone|all|again|querybus))?"
        r"|(?:你好|您好|大家好|嗨|哈喽|哈啰|早|早上好|上午好|下午好|晚上好|在吗)[呀啊吗呢]?",
    ),
    (
        "identity",
        r"(?:and )?(?:who|what) are you(?: exactly)?|what(?: is|['’]s) your name|are you (?:chat ?gpt|gpt|an? (?:ai|bot|robot|person|human|machine)|real|human)"
        r"|(?:你|您)(?:到底)?是(?:谁|什么|什么东西|人|真人|机器人|人工智能|ai|chatgpt|gpt)(?:吗|啊|呀|呢)?|(?:你|您)叫什么(?:名字)?",
    ),
    (
        "tables",
        r"(?:what|which)(?: kinds? of)? (?:tables?|fields?|columns?|entities)(?: ?(?:and|or|/) ?(?:tables?|fields?|columns?))?"
        r"(?: do you have| are (?:there|available|here)| exist| can i (?:use|ask about|query)| is there)?(?: here| in (?:the|this|my) (?:data|database))?"
        r"|(?:list|show)(?: me)?(?: all)?(?: the)? (?:tables|fields|columns)(?: and (?:tables|fields|columns))?"
        r"|(?:这里|数据库里?|你这里|你)?(?:都)?有(?:些)?(?:什么|哪些|多少)(?:张)?(?:数据表|表|字段|列)(?:和(?:字段|表|列))?|(?:列出|显示)(?:所有)?(?:的)?(?:数据表|表|字段)",
    ),
    (
        "pictures",
        r"(?:can|could|do) you (?:also )?(?:draw|make|show|create|plot|do)(?: me)?(?: a| an| any| some)? ?(?:chart|charts|graph|graphs|picture|pictures|plot|plots|diagrams?)(?: (?:for|too|of) ?.{0,30})?"
        r"|(?:你|您)?(?:能不能|能|会|可以)(?:帮我)?(?:画|做|生成|出)(?:个|张|一张|一个)?(?:图|图表|图形|图片|柱状图|折线图|饼图)(?:吗|么)?",
    ),
    (
        "export",
        r"(?:can|could|how (?:can|do)) (?:i|you|we) (?:export|download|save|get)(?: (?:this|it|that|the (?:data|result|results|table|answer)))?"
        r"(?: (?:to|as|into|in) (?:an? )?(?:excel|csv|parquet|file|spreadsheet)(?: file)?)?|export (?:this|it|that)? ?(?:to|as) (?:excel|csv|parquet|a file)"
        r"|(?:你|我|能不能|能|可以|怎么|如何)*(?:把(?:这个|它|结果))?(?:导出|下载|保存)(?:到|成|为)?(?:excel|csv|表格|文件|结果|数据)?(?:吗|么|呢)?",
    ),
    (
        "trouble",
        r"(?:i(?: am|['’]m) (?:angry|annoyed|frustrated)[ ,.!]*)?(?:(?:this|it|that)(?: is|['’]s) (?:useless|wrong|nonsense|rubbish|terrible|annoying|not (?:right|helpful|working))"
        r"|you (?:do not|don['’]t) understand(?: me)?|i(?: am|['’]m) (?:angry|annoyed|frustrated))"
        r"|(?:这|你)?(?:太|真|完全)?(?:没用|垃圾|不对|烦人|气人)(?:了|啊)?|我(?:很|太|好)?(?:生气|烦)(?:了)?|你(?:根本)?(?:听不懂|不懂)(?:我)?(?:的话|说什么)?",
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
        r"|what (?:kind|kinds|sort|sorts) of (?:questions|things) can (?:i ask|you answer)(?: you)?(?: here)?"
        r"|(?:show|give) me (?:some )?examples?(?: questions?| of questions?)?"
        r"|how (?:can|do) you help(?: me)?|how does (?:this|it) work|how do i use (?:this|it|you)|what do you (?:do|know)"
        r"(?: about)?|what (?:data|information|topics|subjects)(?: do you have| is (?:here|available|there)"
        r"| can i ask about| are (?:here|available))(?: here)?"
        r"|(?:我|这里)?(?:可以|能)(?:在这里)?(?:问|查|查询)(?:你|您)?(?:些|点)?(?:什么|哪些)(?:问题|数据|内容)?"
        r"|(?:你|您)(?:能|会|可以)(?:做|干|帮我做|帮我查|回答|查)(?:些|点)?(?:什么|哪些)(?:问题|事情?)?"
        r"|(?:which|what) (?:kinds? of )?data (?:is|are) (?:there|here|available)|(?:which|what) data can i ask (?:you )?about|find out which data (?:is there|there is)"
        r"|(?:这里|你这里|你这儿|你们?|您)?(?:都|里面)?有(?:些)?(?:什么|哪些)(?:数据|信息|内容)(?:可以(?:问|查))?|(?:这个)?怎么(?:使用|用)|帮助|使用说明",
    ),
)
_TOPICS: Final[tuple[tuple[ChatTopic, re.Pattern[str]], ...]] = tuple(
    [(topic, re.compile(pattern, re.IGNORECASE)) for topic, pattern in _PATTERNS]
)

# Talk that no database answers, whatever it is called there.
_TALK = re.compile(
    r"\b(?:tell (?:me|us) (?:a|another) (?:joke|story)|(?:write|compose|draft) (?:me )?(?:a|an|some) (?:poem|song|story|e-?mail|letter|essay|haiku)"
    r"|(?:do|can) you (?:speak|like|love|feel|sleep|dream|think|know me)|are you (?:a |an )?(?:human|robot|bot|ai|real|there|ok|happy|sure)"
    r"|how old are you|where are you from|who (?:made|built|created|trained) you|what(?:'s| is) the meaning of life|sing (?:me )?a|"
    r"i (?:am|'m) (?:bored|tired|happy|sad|hungry)|you are (?:great|wrong|funny|stupid|the best)|have a (?:nice|good|great) (?:day|weekend|evening)"
    r"|(?:what(?:'s| is)|how(?:'s| is)) (?:the )?weather|translate\b|recipe for|nice to meet you|good (?:job|work|luck|night)|well done"
    r"|let(?:'s| us) (?:chat|talk)|recommend (?:me )?a (?:book|movie|restaurant|song))"
    r"|讲(?:个|一个)?(?:笑话|故事)|写(?:一?首|一?篇|一?封)(?:诗|歌|文章|邮件|信|作文)|你(?:几岁|多大|是(?:人|机器人|真人|AI)|喜欢|会不会|累不累|吃饭)"
    r"|谁(?:开发|创造|训练|做)(?:了)?你|天气(?:怎么样|如何|好)|翻译(?:一下|成|这)|我(?:很|好)?(?:无聊|累|开心|难过|饿)|你(?:真|好|太)(?:棒|厉害|聪明|笨)"
    r"|祝你|晚安|聊聊天|陪我聊|人生的意义|推荐(?:一?本书|一?部电影|一?首歌)|辛苦了|很高兴认识你",
    re.IGNORECASE,
)
_ASKS_FOR_DATA = re.compile(
    r"\b(?:how (?:many|much)|number of|count|list|show|display|average|mean|median|total|sum|maximum|minimum|highest|lowest|largest|smallest"
    r"|most|least|fewest|top \d+|per (?:month|year|day|week|quarter)|by (?:month|year|day|week|quarter)|each|group(?:ed)? by|sorted|ordered by"
    r"|percentage|share of|compare|trend|between \d|more than|less than|at least|at most|find (?:all|the)|which \w+ (?:has|have|had|are|is|were|was|do|did))\b"
    r"|多少|几(?:个|位|名|家|笔|条|次|种)|哪(?:些|个|位|家|种|天|年|月)|列出|显示|统计|查询|查一下|查找|平均|总(?:额|数|和|计|共)|合计|最(?:大|小|高|低|多|少|贵|便宜|早|晚|新|好|差|长|短)"
    r"|前\s*\d+|每(?:个|天|月|年|周|季|位|家|种|名)|各|占比|比例|排名|趋势|同比|环比|分布|数量|人数|超过|大于|小于|低于|高于|之间|有哪些|有没有|是谁|分别",
    re.IGNORECASE,
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


_TERM: Final = re.compile(
    r"(?:how (?:is|are|do you define|do we define) (?:the )?(?P<a>.{2,60}?)(?: (?:defined|calculated|computed|measured))?"
    r"|what (?:does|do) (?:the )?(?:word |term )?(?P<b>.{2,60}?) mean|what is meant by (?P<c>.{2,60}?)|what (?:is|are) (?:the )?(?:definition|meaning) of (?P<d>.{2,60}?)"
    r"|what (?:is|are) (?:an? )?(?P<e>[^?]{2,40}?)|(?P<f>.{1,30}?)(?:是)?(?:怎么|如何|怎样)(?:定义|计算|算)(?:出来)?的?|什么(?:是|叫)(?P<g>.{1,30}?)|(?P<h>.{1,30}?)(?:是什么意思|的定义(?:是什么)?|指的是什么|是指什么))",
    re.IGNORECASE,
)


def asked_term(question: str) -> str | None:
    """Return the term whose meaning a question asks for, None for any other question.

    >>> asked_term("How is revenue defined?"), asked_term("什么是毛利率？"), asked_term("what does active customer mean")
    ('revenue', '毛利率', 'active customer')
    """
    match = _TERM.fullmatch(_EDGES.sub("", question))
    if match is None:
        return None
    return next(text for text in match.groups() if text).strip(" \"'“”‘’「」『』《》") or None


def classify(
    question: str, mode: Mode, *, names_found: int | None = None, goes_on: bool = False
) -> Classification | None:
    """Return what the query is, or None where the rules do not settle it; a mode other than hybrid decides alone.

    `names_found`: how many words of the question the catalog knows, None if nobody looked; `goes_on`: it goes on from a
    question about data.
    """
    if mode is not Mode.HYBRID:
        kind = "chat" if mode is Mode.CHAT else "database"
        return Classification(kind=kind, confidence=1.0, reason=f"mode {mode.value}", method="forced")
    topic = chat_topic(question)
    if topic is not None:
        return Classification(kind="chat", confidence=0.95, reason=topic, method="rule")
    if _TALK.search(question) and not names_found:
        return Classification(kind="chat", confidence=0.85, reason=SMALL_TALK, method="rule")
    if goes_on:
        return Classification(kind="database", confidence=0.9, reason="goes on from the thread", method="rule")
    if names_found and _ASKS_FOR_DATA.search(question):
        return Classification(kind="database", confidence=0.97, reason="asks for data, by known names", method="rule")
    if names_found:
        return Classification(kind="database", confidence=0.85, reason="known names", method="rule")
    if _ASKS_FOR_DATA.search(question):
        return Classification(kind="database", confidence=0.75, reason="asks for data", method="rule")
    return None


def unsettled() -> Classification:
    """Return what counts where the rules do not settle it and no model says otherwise."""
    return Classification(kind="database", confidence=0.5, reason="neither small talk nor known names", method="rule")


def said_by_model(kind: Literal["database", "chat"]) -> Classification:
    """Return the classification that came with the model's reply."""
    return Classification(kind=kind, confidence=0.8, reason="the rules did not settle it", method="model")
