"""Wordings that other words say whatever the catalog has: "twice" is 2 times, "a higher price than" is a price higher than.

Each puts a form that can be read in the place of one that cannot; none looks at the catalog.
"""

from __future__ import annotations

import re
from typing import Final

from querybus_translator.language.stems import base_form
from querybus_translator.schema.other_names import agents_of

_EXTREME: Final = re.compile(
    r"\b(?:maximum|highest|largest|greatest|biggest|most|minimum|lowest|smallest|least|fewest)\b", re.IGNORECASE
)
_FIGURE: Final = rf"(?:the )?(?:{_EXTREME.pattern}|average|mean|total)"
_LARGE: Final = frozenset({"maximum", "highest", "largest", "greatest", "biggest", "most"})
_THE_RESULT: Final = re.compile(
    r"\b(?P<verb>sort|order|rank|arrange|sorted|ordered)(?: (?:the|these|your) (?:results?|answers?|output|lists?|rows?)| them)?(?= (?:by|in|from|on|alphabetically)\b)",
    re.IGNORECASE,
)
_FIGURES_LISTED: Final = re.compile(
    r"^(?P<ask>(?:please )?(?:what (?:is|are|was|were)|show(?: me)?|find|list|give(?: me)?|return|tell me|report)) "
    rf"(?P<figures>{_FIGURE}(?:(?:, and|,| and) {_FIGURE})+)(?: number of)?(?= )",
    re.IGNORECASE,
)
_WHEN_MOST: Final = re.compile(
    r"^(?:at|on|in|during) (?:which|what) (?P<step>hour|weekday|day of the week|day|month|quarter|year) (?:of the day )?(?:do|did|are|were|have) most (?:of the )?"
    r"(?P<rows>[A-Za-z]+)(?: (?:start|begin|end|happen|occur|made|placed|booked|taken|took place|take place|started|happened|been made))?\s*\??$",
    re.IGNORECASE,
)
_WHICH_HOUR: Final = re.compile(r"\b(?P<which>which|what) hour(?= (?:has|had|have|is|was)\b)", re.IGNORECASE)
_DO_MOST: Final = re.compile(
    r"^(?:which|what) (?P<what>[A-Za-z ]+?) do most (?:of the )?(?P<rows>[A-Za-z ]+?) (?:have|use|choose|prefer|belong to|come from|live in|work in|work for|pay with|pay by)\s*\??$",
    re.IGNORECASE,
)
_CALLED: Final = re.compile(
    r"^How (?:is|are) (?P<which>the |all |all the )?(?P<rows>[A-Za-z ]+?) called(?P<rest> (?:that|who|which|with|in|from) .*|\?|$)",
    re.IGNORECASE | re.DOTALL,
)
_A_TO_Z: Final = re.compile(r"\bfrom A to Z\b")
_Z_TO_A: Final = re.compile(r"\bfrom Z to A\b")
_PIECES: Final = re.compile(
    r"\bpieces? of (?=(?:furniture|equipment|clothing|luggage|baggage|software|art|artwork|music|jewell?ery|land|property|mail|news)\b)",
    re.IGNORECASE,
)
_BY_EACH: Final = re.compile(
    r"\b(?P<done>[a-z]+) by (?:each|every)(?: one)?(?: of the(?: listed| different)?)? (?P<agent>[a-z]+)\b",
    re.IGNORECASE,
)
_AT_LEAST_A: Final = re.compile(
    r"\b(?P<bound>at least|more than) an? (?:single )?(?=[a-z])(?!few\b|lot\b|dozen\b|hundred\b|half\b|quarter\b|third\b|year\b|month\b|week\b|day\b|thousand\b|million\b)",
    re.IGNORECASE,
)
_BY_THE_WAY: Final = re.compile(
    r" (?:so far|on file|on record|on our books|in our care|anywhere|in any way)(?= *(?:[?.]|$))", re.IGNORECASE
)
_IN_CHARGE: Final = re.compile(r"\b(?:(?:that|who|which) (?:is|are|was|were) )?in charge of\b", re.IGNORECASE)
_FALL_INTO: Final = re.compile(r"\bfalls? (?:into|under)\b", re.IGNORECASE)
_NEVER_BEFORE: Final = re.compile(r"(?P<never>\b(?:never|not|ever)\b.*[a-z]) before(?= *[?.]?$)", re.IGNORECASE)
_MANNER: Final = re.compile(
    r"\bin (?:an? |the )?(?P<way>ascending|descending|alphabetical|increasing|decreasing) (?:manner|way|fashion|sequence)\b",
    re.IGNORECASE,
)
_YEAR_MADE: Final = re.compile(
    r"^(?:in (?:which|what) year|what is the year (?:in which|when)) (?:were )?(?:the )?most (?:of )?(?:the )?(?P<rows>[a-z]+)(?: were)? (?P<done>[a-z]+(?:ed|ilt|orn|ade|en))\s*[?.]?$",
    re.IGNORECASE,
)
_NOT_ONE: Final = re.compile(r"\bnot (?:even )?(?:a|one) single (?=[a-z])", re.IGNORECASE)
_FOR_DIFFERENT: Final = re.compile(r"\bfor (?:the |all )?different (?:numbers? of )?(?=[a-z])", re.IGNORECASE)
_MONEY: Final = re.compile(r"\bhow much money\b", re.IGNORECASE)
_MONEY_DONE: Final = re.compile(
    r"^\s*(?:the |total )?(?:money|funds) (?P<done>raised|donated|given|paid|spent|owed)\b", re.IGNORECASE
)
_GOING_ON: Final = re.compile(
    r"\bstill (?:running|going on|going|under way|underway|in progress)\b|\b(?:under way|underway)\b", re.IGNORECASE
)
_STILL: Final = re.compile(
    r"\bstill (?=[a-z])(?!there\b|here\b|with\b|working\b|employed\b|active\b|alive\b|living\b|serving\b)",
    re.IGNORECASE,
)
_TREND: Final = re.compile(r"(?<=[a-z]) (?:trend|development) (?=(?:by|per|over|for|in|this|last) )", re.IGNORECASE)
_RIGHT_NOW: Final = re.compile(r"\b(?:right now|at the moment|at present)\b", re.IGNORECASE)
_SERVING: Final = re.compile(r"\blongest[- ](?:serving|standing|tenured)\b", re.IGNORECASE)
_ONCE: Final = re.compile(r"\b(?P<bound>more than|at least|less than|exactly|only) once\b", re.IGNORECASE)
_TWICE: Final = re.compile(r"\b(?P<bound>more than|at least|less than|exactly|only) twice\b", re.IGNORECASE)
_SO_OFTEN: Final = re.compile(
    r"\b(?P<done>(?!than\b|least\b|most\b|exactly\b|only\b)[a-z]+(?:ed|ught|id|ent|ade|ook|ame)) (?P<often>once|twice|(?:two|three|four|five|[1-9]\d?) times)\b",
    re.IGNORECASE,
)
_OVER_TIME: Final = re.compile(r"\b(?:over|across) time\b", re.IGNORECASE)
_TOTAL_DISTINCT: Final = re.compile(r"\btotal number of (?P<each>distinct|different|unique)\b", re.IGNORECASE)
_COMPARED_BEFORE: Final = re.compile(
    r"\b(?:an? )?(?P<how>higher|lower|larger|bigger|greater|smaller|better|worse|shorter|longer) "
    r"(?P<what>(?!than\b|or\b|and\b|number\b)[a-z]+(?: (?!than\b|or\b|and\b|of\b|in\b|for\b|with\b)[a-z]+){0,2}) than\b",
    re.IGNORECASE,
)
_FROM_FIRST_TO_LAST: Final = re.compile(
    r"\b(?P<one>earliest|oldest|first) and (?:the )?(?P<other>latest|newest|most recent|last)(?= [a-z ]*?(?:date|time|day|year)s?\b)",
    re.IGNORECASE,
)
_FROM_TO: Final = re.compile(
    r",? (?:ranked |sorted |ordered )?from (?:the )?(?P<one>[a-z]+est|(?:most|least) [a-z]+) to (?:the )?(?P<other>[a-z]+est|(?:most|least) [a-z]+)\b",
    re.IGNORECASE,
)
_NO_OF: Final = re.compile(r"\bno(?:\.? |_)of[ _](?=[a-z])", re.IGNORECASE)
_BY_HOW_MANY: Final = re.compile(
    r"\b(?P<by>by) how many (?P<rows>[a-z]+(?: [a-z]+){0,3}?) (?:they|it|each|each one|each of them) (?:each )?(?:have|has|had|got)\b",
    re.IGNORECASE,
)
_FROM_MOST: Final = re.compile(r",? from (?:the )?most to (?:the )?(?:fewest|least)\b", re.IGNORECASE)
_FROM_FEWEST: Final = re.compile(r",? from (?:the )?(?:fewest|least) to (?:the )?most\b", re.IGNORECASE)
_OF_EACH_ONES: Final = re.compile(
    r"\b(?:the )?(?P<which>highest|largest|greatest|biggest|lowest|smallest) (?P<what>[a-z_ ]{1,40}?) (?:among|across|within) (?:all (?:of )?)?(?P<whose>its|their|his|her)\b",
    re.IGNORECASE,
)
_HIGHEST_AND_LOWEST: Final = re.compile(
    r"(?<!with the )(?<!with )(?<!has the )(?<!have the )\b(?:the )?(?P<one>highest|largest|greatest|biggest|lowest|smallest) and (?:the )?(?P<other>lowest|smallest|highest|largest|greatest|biggest) (?=[a-z])",
    re.IGNORECASE,
)
_FOR_THEIR: Final = re.compile(
    r"\b(?P<has>(?:have|has|had|with) (?:\"[^\"]+\"|'[^']+'|[A-Z][\w.'-]*(?: [A-Z][\w.'-]*)*)) for (?=(?:their|its|his|her) [a-z])"
)
_SORT_AND_SHOW: Final = re.compile(
    r"^(?:please )?(?:sort|order|arrange) (?:all )?(?:of )?(?:the )?(?P<rows>[a-z ]+?) (?P<how>(?:by|in) [^,.?]+?),? and (?:then )?(?:show|list|give|display|return|print) "
    r"(?:me )?(?:their|the) (?P<what>[a-z ]+?)(?P<end>[.?!]?)$",
    re.IGNORECASE,
)
_SHOWING: Final = re.compile(
    r", (?:showing|listing|giving|displaying|returning) (?:also )?(?=(?:the|its|their|each)\b)", re.IGNORECASE
)
_AND_THE_NUMBER: Final = re.compile(
    r"^(?P<asked>how many .*[?.] *[a-z]+ .*?[a-z]),? and (?:also )?(?:the |its |their )?(?:number|count|total)s?(?= *[.?!]?$)",
    re.IGNORECASE | re.DOTALL,
)
_HOW_MANY_THEY_HAVE: Final = re.compile(
    r"(?P<bound>\b(?:more than|fewer than|less than|at least|at most|over|under) (?:\d+|one|two|three|four|five|ten) (?P<rows>[a-z]+(?: [a-z]+){0,3}?))"
    r",? (?:and|along with|together with) how many (?:of them |of these )?(?:they (?:each )?have|each (?:of them )?has|there are)\b",
    re.IGNORECASE,
)
_WITH_THEIRS: Final = re.compile(
    r"\b(?:along |together )?with (?=the [a-z ]{1,30}? of (?:their|its|his|her)\b)", re.IGNORECASE
)
_SINCE_WHEN: Final = re.compile(r"^\s*since when (?:has|have|does|do|did|is|are)\b", re.IGNORECASE)
_WAYS: Final = frozenset(
    {
        "highest",
        "lowest",
        "largest",
        "smallest",
        "oldest",
        "youngest",
        "newest",
        "latest",
        "earliest",
        "best",
        "biggest",
        "most recent",
    }
)
"""Words that sort by themselves: "from highest to lowest"."""
_RANK: Final = re.compile(
    r"^(?:please )?rank (?P<rows>(?!of\b|is\b)[^.?!,]+?) by (?P<key>[^.?!]+)(?P<end>[.?!]?)$", re.IGNORECASE
)
_WAY_SAID: Final = re.compile(r"\b(?:order|first|from|ascending|descending)\b", re.IGNORECASE)
_NOT_HAVE: Final = re.compile(r"\b(?:do|does|did)(?: not|n't|n’t) have (?:an?|any) ", re.IGNORECASE)
_EITHER: Final = re.compile(
    r"\b[Ee]ither (?P<one>\d[\d.,]*|[A-Z][\w'-]*(?: [A-Z][\w'-]*)*|\"[^\"]+\"|'[^']+') or (?P<other>[\dA-Z\"'])"
)
_OF_AGE: Final = re.compile(r"\b(?P<number>\d{1,3}) years of age\b", re.IGNORECASE)
_MAKE_MONEY: Final = re.compile(
    r"\b(?:make|makes|making) (?=(?:over|above|under|below|more than|less than|at least|at most|between) [$€£]?\d[\d,.]{3,})",
    re.IGNORECASE,
)
_OUTSIDE: Final = re.compile(
    r"\b(?P<is>are|is|was|were|born|live|lives|living|located|based|headquartered|registered) outside (?:of )?(?=the\b|[A-Z\"'])"
)
_THEN_BY: Final = re.compile(
    r"(?<= by )(?P<first>[^.?!]*?),? (?:and )?(?:then|after that|lastly|finally) (?:finally )?(?:by |on )?(?=[a-z])",
    re.IGNORECASE,
)
_LIMITED: Final = re.compile(
    r",? \(?(?:limited to|limit(?: it)? to|limit|but only|only) (?:the )?(?:first )?(?P<count>\d{1,4}|three|five|ten)(?: (?:rows?|results?|records?|entries))?\)?(?= *[.?]?$)",
    re.IGNORECASE,
)
_SINGLE: Final = re.compile(
    r"\b(?P<where>in|on|at|per|during|within|for|by) (?:a|one|any) single (?=[a-z])(?!list|column|table|result|query)",
    re.IGNORECASE,
)
_AND_HOW_MANY: Final = re.compile(
    r"\b(?P<most>the (?:most|fewest)(?: number of)?(?! (?:common|popular|frequent|expensive|recent|used)\b)|the (?:highest|lowest|largest|smallest) number of) (?P<what>[a-z]+(?: [a-z]+){0,2}?),? and (?:how many|what is (?:that|the|this) number)(?: [a-z ]+)?(?= *\??$)",
    re.IGNORECASE,
)
_AN_HOUR: Final = re.compile(
    r"\b(?P<bound>than|over|under|at least|at most|about|exactly|within) an? (?P<unit>second|minute|hour|day|week|month|year|kilomet(?:er|re)|met(?:er|re)|mile|kilogram|ton)\b(?! (?:ago|earlier|later|before))",
    re.IGNORECASE,
)
_OF_THEM_DID: Final = re.compile(
    r"(?P<what>\bnumber of (?!times\b)[a-z]+(?: [a-z]+)?) (?:that )?each of them (?:[a-z]+ )?[a-z]+(?= *[?.]?$)",
    re.IGNORECASE,
)
_OR_AFTER: Final = re.compile(r"\b(?:in|on|at|during) or (?:after|later than|since)\b", re.IGNORECASE)
_OR_BEFORE: Final = re.compile(r"\b(?:in|on|at|during|by) or (?:before|prior to|earlier than)\b", re.IGNORECASE)
_LEAST_SO_MANY: Final = re.compile(
    r"(?<!\bat )(?<!\bthe )\bleast (?=(?:one|two|three|four|five|six|ten|\d+)\b)", re.IGNORECASE
)
_DISTRIBUTION: Final = re.compile(
    r"\b(?:the )?(?P<what>[a-z]+) distribution of (?:the |all )?(?P<rows>[a-z]+)\b", re.IGNORECASE
)
_BETWEEN_MANY: Final = re.compile(
    r"\b(?P<lead>between|from) (?P<low>\d[\d.]*) (?P<joint>and|to) (?P<high>\d[\d.]*) (?P<scale>thousand|million|billion)\b",
    re.IGNORECASE,
)
_WHERE_FROM: Final = re.compile(
    r"^\s*where (?:do|does|did) (?P<who>(?:(?:our|the|all|these|your|my) )*[a-z]+) (?:come|live|stay|originate)(?: from| in)?(?= *\??$)",
    re.IGNORECASE,
)
_HAVE_IN_THEIR: Final = re.compile(
    r"\b(?:have|has|had|with|having) (?P<what>\"[^\"]+\"|'[^']+') (?:with)?in (?:their|its|his|her|the) (?P<where>[a-z]+(?: (?!and\b|or\b)[a-z]+)?)\b",
    re.IGNORECASE,
)
_PLACE_OUTSIDE: Final = re.compile(
    r"\b(?:(?:that |which )?(?:lie|lies|are|is|were|located|based|live|lives) )?outside (?:of )?(?P<place>\"[^\"]+\"|'[^']+'|[A-Z]\w+)"
)
_NOT_ONLY: Final = re.compile(r"\bnot only (?P<one>[^.?!]+?),? but also\b", re.IGNORECASE)
_LISTED: Final = re.compile(
    r"^(?:please )?(?:what|which|who|list|show|give|find|return|tell)\b.*(?:\band\b|, )", re.IGNORECASE
)
_EACH_BEHIND: Final = (
    (
        re.compile(
            r"\bhow many (?P<what>(?!years\b|hours\b|days\b|minutes\b|times\b)[a-z ]+?) (?:does|do|did|has|have|is|are|was|were|come|live|work|study|belong) (?:there )?(?:[a-z]+ )?"
            r"(?:(?:for|in|at|of|to|from|by|on|with) )?each(?: of them| one)?(?: [a-z]+)?(?= *[?.]?$)",
            re.IGNORECASE,
        ),
        r"the number of \g<what>",
    ),
    (
        re.compile(
            r"(?P<what>\b(?:number|average|total|sum|maximum|minimum|count)\b (?:of )?(?!of\b|for\b)[a-z][^.?!]*?)(?: [a-z]+(?:ing|ed))? "
            r"(?:for|in|at|of|to|from|by|on|with) (?:each(?: of them| one)?|them)(?= *[?.]?$)",
            re.IGNORECASE,
        ),
        r"\g<what>",
    ),
)


_DAY_OF_THEIRS: Final = re.compile(
    r"\b(?:the )?(?P<step>dates?|days?|year|time) of (?:their|its|his|her|the|each) (?P<which>latest|most recent|newest|last|earliest|oldest|first) (?P<rows>[a-z]+)\b",
    re.IGNORECASE,
)
_LATEST_DAY: Final = re.compile(
    r"\b(?:the )?(?P<which>latest|most recent|newest|earliest|oldest) (?P<what>(?:[a-z]+ ){0,2}?(?:date|day|year|time))\b",
    re.IGNORECASE,
)
_LATE: Final = frozenset({"latest", "most recent", "newest", "last"})
_OF_EACH: Final = re.compile(r"\b(?:each|every|per)\b", re.IGNORECASE)


def _day_of_each(said: re.Match[str]) -> str:
    """ "The latest booking date of each customer": of each the last one of its days."""
    groups = said.groupdict()
    what = groups.get("what") or f"{groups['rows']} {groups['step']}"
    return f"the {'maximum' if groups['which'].lower() in _LATE else 'minimum'} {what}"


def in_plain_forms(question: str) -> str:
    """Return an English question with the forms that are read in the place of others that say the same."""
    if _OF_EACH.search(question) is not None:
        question = _LATEST_DAY.sub(_day_of_each, _DAY_OF_THEIRS.sub(_day_of_each, question))
    for pattern, plain in _PLAIN:
        question = pattern.sub(plain, question)
    if _LISTED.match(question):
        # "What are the cities and how many students come from each?": what is listed is what each is.
        for pattern, plain in _EACH_BEHIND:
            question = pattern.sub(plain, question)
    return question


def _figures_listed(said: re.Match[str]) -> str:
    """ "What is the lowest and highest price": the two figures, and no row that bears them."""
    figures = _EXTREME.sub(lambda one: "maximum" if one[0].lower() in _LARGE else "minimum", said["figures"])
    return f"{said['ask']} {figures}"


def _ranked(said: re.Match[str]) -> str:
    """ "Rank the parks by area": sorted, and the greatest first where nothing else is said."""
    way = "" if _WAY_SAID.search(said["key"]) else " in descending order"
    return f"Sort {said['rows']} by {said['key'].rstrip()}{way}{said['end']}"


def _of_each(said: re.Match[str]) -> str:
    """ "The number of films directed by each director": for each of them."""
    agent = base_form(said["agent"].lower())
    return f"for each {agent}" if agent in agents_of(said["done"].lower()) else said[0]


def _from_to(said: re.Match[str]) -> str:
    """ "From cheapest to most expensive": the cheapest first. What says of no figure which way it goes is read as it stands."""
    one = said["one"].lower()
    return said[0] if one in _WAYS else f", {one} first"


_RANKED_BEFORE: Final = re.compile(r"(?:(?<!along )(?<!together )\bwith|\b(?:has|have|of))$")
_FIGURED: Final = ("average", "mean", "total", "number", "sum")


def _both_extremes(said: re.Match[str]) -> str:
    """ "The highest and lowest age": two figures, and no place in a ranking."""
    figures = ("maximum" if said[part].lower() in _LARGE else "minimum" for part in ("one", "other"))
    return " and ".join(figures) + " "


def _extreme_of(said: re.Match[str]) -> str:
    """ "The highest price among its books": a figure of each, and no place in a ranking."""
    before = said.string[: said.start()].rstrip().lower()
    if _RANKED_BEFORE.search(before) or said["what"].lower().startswith(_FIGURED):
        # "The shop with the highest price among its books" is ranked.
        return said[0]
    extreme = "maximum" if said["which"].lower() in _LARGE else "minimum"
    return f"the {extreme} {said['what']} of {said['whose']}"


def _so_often(said: re.Match[str]) -> str:
    """ "Guests who booked twice": exactly so often."""
    often = {"once": "1 times", "twice": "2 times"}.get(said["often"].lower(), said["often"])
    return f"{said['done']} exactly {often}"


_PLAIN: Final = (
    (_RANK, _ranked),
    (_HAVE_IN_THEIR, r"whose \g<where> contains \g<what>"),
    (_PLACE_OUTSIDE, r"are not in \g<place>"),
    (_THE_RESULT, r"\g<verb>"),
    (_FIGURES_LISTED, _figures_listed),
    (_WHEN_MOST, r"Which \g<step> has the most \g<rows>"),
    (_WHICH_HOUR, r"\g<which> hour of the day"),
    (_DO_MOST, r"What is the most common \g<what> of \g<rows>"),
    (_CALLED, r"What are the names of \g<which>\g<rows>\g<rest>"),
    (_A_TO_Z, "in alphabetical order"),
    (_Z_TO_A, "in reverse alphabetical order"),
    (_PIECES, ""),
    (_BY_EACH, _of_each),
    (_MONEY, "how much"),
    (_MONEY_DONE, r"How much was \g<done>"),
    (_GOING_ON, "ongoing"),
    (_STILL, ""),
    (_TREND, " "),
    (_RIGHT_NOW, "currently"),
    (_SERVING, "earliest"),
    (_ONCE, r"\g<bound> 1 times"),
    (_TWICE, r"\g<bound> 2 times"),
    (_SO_OFTEN, _so_often),
    (_OVER_TIME, "by month"),
    (_TOTAL_DISTINCT, r"number of \g<each>"),
    (_COMPARED_BEFORE, r"\g<what> \g<how> than"),
    (_MAKE_MONEY, "earn "),
    (_OUTSIDE, r"\g<is> not in "),
    (_THEN_BY, r"\g<first> and "),
    (_AN_HOUR, r"\g<bound> 1 \g<unit>"),
    (_OF_THEM_DID, r"\g<what>"),
    (_OR_AFTER, "since"),
    (_OR_BEFORE, "no later than"),
    (_LEAST_SO_MANY, "at least "),
    (_DISTRIBUTION, r"the number of \g<rows> for each \g<what>"),
    (_BETWEEN_MANY, r"\g<lead> \g<low> \g<scale> \g<joint> \g<high> \g<scale>"),
    (_WHERE_FROM, r"Where are \g<who> from"),
    (_NOT_ONLY, r"both \g<one> and"),
    (_LIMITED, r", the first \g<count>"),
    (_SINGLE, r"\g<where> a "),
    (_AND_HOW_MANY, r"\g<most> \g<what>, and the number of \g<what>"),
    (_FROM_FIRST_TO_LAST, "minimum and maximum"),
    (_FROM_TO, _from_to),
    (_NO_OF, "number of "),
    (_SHOWING, " and "),
    (_SORT_AND_SHOW, r"Show the \g<what> of the \g<rows> sorted \g<how>\g<end>"),
    (_HIGHEST_AND_LOWEST, _both_extremes),
    (_FOR_THEIR, r"\g<has> as "),
    (_BY_HOW_MANY, r"\g<by> number of \g<rows>"),
    (_FROM_MOST, " in descending order"),
    (_FROM_FEWEST, " in ascending order"),
    (_OF_EACH_ONES, _extreme_of),
    (_AND_THE_NUMBER, r"\g<asked>"),
    (_HOW_MANY_THEY_HAVE, r"\g<bound> and the number of \g<rows>"),
    (_WITH_THEIRS, "and "),
    (_SINCE_WHEN, r"when did"),
    (_NOT_HAVE, "have no "),
    (_EITHER, r"\g<one> or \g<other>"),
    (_NOT_ONE, "no "),
    (_AT_LEAST_A, r"\g<bound> one "),
    (_BY_THE_WAY, ""),
    (_IN_CHARGE, "assigned to"),
    (_FALL_INTO, "are in"),
    (_NEVER_BEFORE, r"\g<never>"),
    (_MANNER, r"in \g<way> order"),
    (_YEAR_MADE, r"What is the most common year \g<done> of \g<rows>"),
    (_FOR_DIFFERENT, "for each "),
    (_OF_AGE, r"\g<number> years old"),
)
"""What other words say whatever the catalog has."""
