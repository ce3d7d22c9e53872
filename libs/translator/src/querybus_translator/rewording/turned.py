"""Questions whose words stand in another order, or in another clause, than those that are read: "on which team do most players
play", "which kind occurs most often", "in the order in which they opened".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from querybus.core.catalog import Column, ColumnKind
from querybus.text.readable_name import spoken_name
from querybus.text.words import stem
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.names import name_words
from querybus_translator.language.stems import base_form, past_of
from querybus_translator.rewording.persons import agents_of_verb
from querybus_translator.schema.comparison import recalled
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.labels import holds_years

_NUMBER: Final = r"(?:\d[\d,.]*|an?|one|two|three|four|five|six|seven|eight|nine|ten)"
_NAMED: Final = r"(?:\d{4}|\"[^\"]+\"|'[^']+'|[A-Z][\w.-]*(?: [A-Z][\w.-]*)*)"
_LEADS: Final = r"(?:in|on|at|to|from|for|with|by|within|under|during|into|through)"
_OFTEN: Final = re.compile(
    r"^(?:which|what) (?P<what>[a-z]+(?: [a-z]+){0,4}?) (?:occurs?|appears?|shows? up|comes? up|is found|is used|is chosen|is seen|happens) "
    r"(?:the )?(?P<end>most|least) (?:often|frequently|commonly)\b",
    re.IGNORECASE,
)
_FRONTED_MOST: Final = re.compile(
    rf"^{_LEADS} (?:which|what) (?P<what>[a-z]+(?: [a-z]+){{0,3}}?) (?:do|does|did|are|is|were|was|have|has) (?:the )?(?P<end>most|fewest) (?:of the )?"
    r"(?P<rows>[a-z]+(?: [a-z]+){0,2}?)(?: (?P<done>live|stay|reside|play|work|belong|study|come|serve|located|based|found|held|listed|kept)(?: in| at| on| for| from| to)?)?(?P<mark> *\??)$",
    re.IGNORECASE,
)
_FRONTED_SO_MANY: Final = re.compile(
    rf"^{_LEADS} (?:which|what) (?P<what>[a-z]+(?: [a-z]+){{0,2}}?) (?:is|are|was|were) there (?P<many>(?:more than|less than|fewer than|at least|at most|over|only|exactly) {_NUMBER} [a-z ]+)",
    re.IGNORECASE,
)
_FROM_WHICH: Final = re.compile(
    r"^from (?:which|what) (?P<what>[a-z]+) (?:are|were|come|do|did) (?:the )?(?P<rows>[a-z]+(?: [a-z]+)?) (?P<rest>(?:that|who|which|whose|with) .*)$",
    re.IGNORECASE | re.DOTALL,
)
_BOUND_BEHIND: Final = re.compile(
    rf"\b(?P<number>{_NUMBER}) (?P<rows>(?!percent\b|per\b|of\b|and\b|or\b)[a-z]+(?: (?!at\b)[a-z]+)?) at (?P<bound>most|least)(?= *(?:[.,?;]|$)| (?:and|or|but|in|on)\b)",
    re.IGNORECASE,
)
_AS_WELL_AS: Final = re.compile(
    rf"\b(?P<lead>in|during|from|for|at|on) (?P<one>{_NAMED}) (?:as well as|and also) (?:(?P=lead) )?(?P<other>{_NAMED})"
)
_OVERALL: Final = re.compile(
    r"\b(?P<all>overall|combined|aggregated?|accumulated) (?=(?:amount|quantity|sum|cost|price|revenue|sales|spending|value|count|number|budget|income)s?\b)",
    re.IGNORECASE,
)
_ANY_KIND: Final = re.compile(
    r"(?P<before>(?:,|\band|'s|\btheir|\bits) )kinds?(?=(?:,| and\b| of (?:the|each|every|all)\b| *[.?]?$))",
    re.IGNORECASE,
)

_SINGLE_ONE: Final = re.compile(
    r"\b(?P<has>have|has|had|with) (?:just |only )?(?:a|one) (?:single|sole) (?=[a-z])"
    # A single bed is a kind of beds.
    r"(?!list|column|table|result|query|row|room|bed|cabin|berth|seat|ticket|fare|parent|mother|father|malt|origin|use)",
    re.IGNORECASE,
)
_EACH_ONCE: Final = re.compile(
    r"(?P<lead>[.;,?]|\band) *(?P<verb>give|list|show|return|name|mention) (?:me )?(?:each|every)(?: one)?(?: (?P<what>[a-z]+))? (?:only |just )?once\b",
    re.IGNORECASE,
)
_LAST_TO: Final = re.compile(
    r"\b(?:was|is|were|are) the (?:very )?(?P<end>last|first|latest) (?:ones? )?to (?P<be>be )?(?P<verb>[a-z]+)\b",
    re.IGNORECASE,
)
_NOBODY: Final = re.compile(
    r"\b(?:has|have|had) (?:nobody|no one|no-one)(?: ever)? been (?P<done>[a-z]+)(?: to| for| by)?\b", re.IGNORECASE
)
_FROM_WHICH_COME: Final = re.compile(
    r"^from (?:which|what) (?P<what>(?:different |distinct )?[a-z]+) (?:do|does|did) (?:the |our |all )?(?P<rows>[a-z]+(?: [a-z]+)?) (?:come|originate|stem|hail)(?: from)?"
    r"(?P<many>,? and how many(?: of them)? (?:are|come) from each(?: of them| one)?)?\b",
    re.IGNORECASE,
)
_MOST_TIMES: Final = re.compile(
    r"\b(?P<done>[a-z]+(?:ed|ld|en|ught|ade)) the (?P<end>most|fewest) times\b", re.IGNORECASE
)
_BY_BOTH: Final = re.compile(
    rf"\b(?P<done>[a-z]+(?:ed|en|ught|ade|un)) by both (?P<one>{_NAMED}) and (?P<other>{_NAMED})"
)
_FROM_ON: Final = re.compile(
    r",? from the (?P<end>earliest|oldest|lowest|smallest|latest|newest|highest|largest)(?: (?P<what>[a-z]+))? on(?:wards?)?(?= *[?.]?$)",
    re.IGNORECASE,
)


def _joined_last(said: re.Match[str]) -> str:
    """ "Was the last to join": joined last; "to be hired": hired last."""
    done = said["verb"] if said["be"] else past_of(said["verb"].lower())
    return f"{done} {'first' if said['end'].lower() == 'first' else 'last'}"


def _once_each(said: re.Match[str]) -> str:
    """ "Give each name once": the different ones."""
    return f"{said['lead']} {said['verb']} the different {said['what'] or 'one'}s"


def _from_which(said: re.Match[str]) -> str:
    """ "From which countries do members come, and how many from each"."""
    many = f" and the number of {said['rows']} from each" if said["many"] else ""
    return f"What are the {said['what']} of {said['rows']}{many}"


def _by_key_on(said: re.Match[str]) -> str:
    """ "From the earliest year on": sorted by it."""
    way = "ascending" if said["end"].lower() in _UPWARDS else "descending"
    return f", sorted by {said['what']} in {way} order" if said["what"] else f", {said['end'].lower()} first"


_UPWARDS: Final = frozenset({"earliest", "oldest", "lowest", "smallest"})


def _most_in(said: re.Match[str]) -> str:
    """ "On which team do most players play": the team that has the most of them."""
    if said["what"].lower() in _TIMES:
        return said[0]
    return f"Which {said['what']} has the {said['end'].lower()} {said['rows']}{said['mark']}"


_TIMES: Final = frozenset({"year", "month", "day", "hour", "quarter", "week", "weekday", "date", "time"})

_TURNED: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    (_OFTEN, lambda said: f"What is the {said['end'].lower()} common {said['what']}"),
    (_FRONTED_MOST, _most_in),
    (_FRONTED_SO_MANY, r"Which \g<what> have \g<many>"),
    (_FROM_WHICH, r"What are the \g<what> of \g<rows> \g<rest>"),
    (_BOUND_BEHIND, r"at \g<bound> \g<number> \g<rows>"),
    (_AS_WELL_AS, r"both \g<lead> \g<one> and \g<lead> \g<other>"),
    (_EACH_ONCE, _once_each),
    (_LAST_TO, _joined_last),
    (_NOBODY, r"have not been \g<done>"),
    (_FROM_WHICH_COME, _from_which),
    (_MOST_TIMES, r"\g<done> \g<end> often"),
    (_BY_BOTH, r"\g<done> by \g<one> and also \g<done> by \g<other>"),
    (_FROM_ON, _by_key_on),
)


def turned(question: str) -> str:
    """Return an English question with such words where they are read."""
    for pattern, plain in _TURNED:
        question = pattern.sub(plain, question)
    return question


_IN_ORDER_OF_DEED: Final = re.compile(
    r",? (?:listed |sorted |ordered )?(?:in (?:the )?(?:order|sequence) (?:in which|that|of when|when)|(?:by|in order of) (?:when|the (?:time|date|day|year) (?:when|at which|in which|on which|that)?) ?) ?"
    r"(?:they|it|each|each one) (?:were |was |have been |had been |have |had |got )?(?P<done>[a-z]+)(?= *(?:[.?,]|$))",
    re.IGNORECASE,
)
_WHEN_DID: Final = re.compile(
    r"(?P<lead>, and|,| and) when (?:did|was|were|is|are|has|have|does|do) (?:it|they|he|she|each|each of them) (?P<done>[a-z]+)\b(?P<end>(?= *(?:,|\?|\.|$)| and\b))",
    re.IGNORECASE,
)
_WHO_DID: Final = re.compile(
    r"(?P<lead>, and|,| and) who (?P<done>[a-z]+(?:ed|ade|ote|ew|ook|an|uilt|ought|ung|rove)) (?:it|them|him|her|each|each of them)(?= *(?:,|\?|\.|$)| and\b)",
    re.IGNORECASE,
)
_WHEN_AND_WHERE: Final = re.compile(
    r"^(?:when and where|(?P<where_first>where and when)) (?:is|was|are|were|did|does|do) (?P<which>the |each |every |all |all the )?(?P<rows>[a-z]+)(?: (?:held|take place|took place|happen|happened|located|taking place|organi[sz]ed))?(?= *[?.,])",
    re.IGNORECASE,
)
_KIND_OF: Final = re.compile(r"\bkind(?P<many>s?) of (?P<the>the )?(?P<rows>[a-z]+(?: [a-z]+){0,3})", re.IGNORECASE)
_WHOLE_OF_PART: Final = re.compile(r"\b(?P<head>[a-z]{3,}?)(?P<many>s?) of (?P<of>[a-z]{3,})\b", re.IGNORECASE)
_PLACES: Final = frozenset({"venue", "location", "place", "address", "city", "site"})
_KINDS: Final = frozenset({"type", "category"})


def _by_deeds(question: str, index: CatalogIndex) -> str:
    """ "In the order in which they opened", "when did it open and who ran it": by the only columns that are called after the deeds."""

    def ordered(said: re.Match[str]) -> str:
        named = _called_after(said["done"], index, _says_when)
        return said[0] if named is None else f", ordered by {named}"

    def when(said: re.Match[str]) -> str:
        named = _called_after(said["done"], index, _says_when)
        return said[0] if named is None else f"{said['lead']} the {named}"

    def who(said: re.Match[str]) -> str:
        named = _called_after(said["done"], index, lambda column: name_words(column.name)[-1:] == ("by",))
        named = named or _agent_of(said["done"].lower(), index)
        return said[0] if named is None else f"{said['lead']} the {named}"

    return _WHO_DID.sub(who, _WHEN_DID.sub(when, _IN_ORDER_OF_DEED.sub(ordered, question)))


def _agent_of(deed: str, index: CatalogIndex) -> str | None:
    """Return what the only column of texts is called that says who did something: "built" finds `builder`."""
    agents = agents_of_verb(deed)
    named = {
        spoken_name(column.name)
        for table in index.catalog.tables
        for column in table.columns
        if column.kind is ColumnKind.TEXT and name_words(column.name)[-1:] and name_words(column.name)[-1] in agents
    }
    return named.pop() if len(named) == 1 else None


_WHO_DID_SOME: Final = re.compile(
    r"^who (?:has |have |had )?(?P<done>[a-z]+(?:ed|ote|ade|uilt|rew|old)) (?P<which>an?|any|the|all the|all) (?P<rows>[a-z]+(?: [a-z]+)?)\b(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)


def _who_did_some(question: str, index: CatalogIndex) -> str:
    """ "Who directed a film in 1999": the directors of films, where one column says who they are."""

    def asked(said: re.Match[str]) -> str:
        named = _agent_of(said["done"].lower(), index)
        if named is None or index.called_by(base_form(named)):
            return said[0]
        which = "" if said["which"].lower() in ("a", "an", "any") else f"{said['which']} "
        return f"What is the {named} of {which}{said['rows']}{said['rest']}"

    return _WHO_DID_SOME.sub(asked, question)


def _says_when(column: Column) -> bool:
    """Whether a column holds days or years, or is a text that is called by the deed alone: `launch`."""
    return holds_years(column) or (column.kind is ColumnKind.TEXT and len(name_words(column.name)) == 1)


def _called_after(deed: str, index: CatalogIndex, is_such: Callable[[Column], bool]) -> str | None:
    """Return what the only column of a kind is called that bears a deed in its name: "opened" finds `open_date`."""
    wanted = {stem(base_form(deed.lower())), stem(deed.lower())}
    named = {
        spoken_name(column.name)
        for table in index.catalog.tables
        for column in table.columns
        if is_such(column) and wanted & set(map(stem, name_words(column.name)))
    }
    return named.pop() if len(named) == 1 else None


def _when_and_where(question: str, index: CatalogIndex) -> str:
    """ "When and where is each concert held": its one day and its one place."""

    def asked(said: re.Match[str]) -> str:
        tables = index.called_by(base_form(said["rows"].lower()))
        columns = index.table(tables[0]).columns if len(tables) == 1 else ()
        days = [column.name for column in columns if holds_years(column) or name_words(column.name)[-1:] == ("date",)]
        places = [
            column.name
            for column in columns
            if column.kind is ColumnKind.TEXT
            and name_words(column.name)[-1:]
            and name_words(column.name)[-1] in _PLACES
        ]
        if len(days) != 1 or len(places) != 1:
            return said[0]
        both = (places[0], days[0]) if said["where_first"] else (days[0], places[0])
        return f"What are the {' and '.join(map(spoken_name, both))} of {said['which'] or ''}{said['rows']}"

    return _WHEN_AND_WHERE.sub(asked, question)


def _kinds_of_rows(question: str, index: CatalogIndex) -> str:
    """ "Which kinds of mills are there": their type, where that is what a column of theirs says and none is called a kind."""

    if index.own.get("kind"):
        return question

    def asked(said: re.Match[str]) -> str:
        words = [base_form(word) for word in said["rows"].lower().split()]
        for length in range(len(words), 0, -1):
            found = recalled(words[:length], index, bounded=False)
            tables = {link.table for link in found if link.column is None and link.score >= _NAMED_MIN}
            if len(tables) == 1:
                ends = [
                    kind for column in index.table(tables.pop()).columns if (kind := _kind_said(column)) is not None
                ]
                return f"{ends[0]}{said['many']} of {said['the'] or ''}{said['rows']}" if len(ends) == 1 else said[0]
        return said[0]

    return _KIND_OF.sub(asked, _ANY_KIND.sub(r"\g<before>type", question))


_NAMED_MIN: Final = 0.9


def _kind_said(column: Column) -> str | None:
    words = name_words(column.name)
    words = words[:-1] if words[-1:] in (("code",), ("name",)) else words
    return words[-1] if words and words[-1] in _KINDS else None


def _works_of_art(question: str, index: CatalogIndex) -> str:
    """ "Works of art", where a table or a column is called `artwork`, and nothing by either word: the name of a user is no username."""

    def named(said: re.Match[str]) -> str:
        of, head = base_form(said["of"].lower()), said["head"].lower()
        together = next((word for word in (of + head, of + base_form(head)) if index.own.get(word)), None)
        says_more = (
            head in lexicon().label_words or (head,) in lexicon().english or index.own.get(head) or index.own.get(of)
        )
        return said[0] if together is None or says_more else f"{together}{said['many']}"

    return _WHOLE_OF_PART.sub(named, question)


def _in_all(question: str, index: CatalogIndex) -> str:
    """ "The combined amount" is the total one, where no column is called so; a single station is exactly one, where no bed is called single."""

    def total(said: re.Match[str]) -> str:
        return said[0] if index.own.get(said["all"].lower()) else "total "

    def one(said: re.Match[str]) -> str:
        is_kind = index.own.get("single") or any("single" in key for key in index.values)
        return said[0] if is_kind else f"{said['has']} exactly one "

    return _OVERALL.sub(total, _SINGLE_ONE.sub(one, question))


TURNED_BY_CATALOG: Final = (_by_deeds, _who_did_some, _when_and_where, _kinds_of_rows, _works_of_art, _in_all)
"""Rewrites by what the catalog has, in this order."""
