"""What a business reader must never see in words: a catalog's technical names, SQL, drivers, paths and hosts.

Names that are plain words of the language ("city", "orders") are no leak in a sentence; they are one where they are
written as a name: dotted, quoted as code, or after "column", "table", "字段", "表". What the reader said first is no
leak either. Limits: a name is judged by its form and a short list of abbreviations, not by a dictionary, so a
coined single word that can be spoken ("zorblat") passes as a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from querybus.core.catalog import Catalog, Language

TEXT_LENGTH_MAX: Final = 20_000
FOUND_MAX: Final = 20


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ABBREVIATIONS: Final = _words("""
    acct addr amt attr avg bdate bday bldg calc ccy cd chk cid cnt coef col conf config cur curr cust dept desc
    dest dist div dob dpi dt dtm emp enr enum env err est exp ext fk fld flg fname fnum freq gen geo grp guid
    hdr hist hq hs idx img inst inv itm json lang lat len lname lng loc lon mgr mkt mname mob mpg msg mth nbr
    num obj oid org orig params pct perf pid pk pkg pos prc prd proc prod pwd qry qtr qty rec ref reg rel req
    res rev rgn rid sal sched sec sect seq sid spec sqft src ssn std stmt str subj svc sys tbl tel temp tmp tot
    tran trans trx ts txn txt uid uom upd usr util uuid val var vend vol wgt whs wt xref yr
""")
# Pieces of names that are written together without a sign between them: two or more in a row are no word.
_PIECES: Final = _words("""
    account address age amount area birth category city class close code company count country course created
    currency customer date day department description detail due email employee end event family first flag
    grade group head hire home hour id index item key last launch level line link list location member middle
    month name no number office open order owner page paid parent parts password payment percent person phone
    place plan point price product province quantity rank rate region release result role room sale sales school
    score season ship size source staff start state status stock store street student subject supplier team text
    time title total town type unit update updated user value week weight year zip zone
""")
_PLAIN_THOUGH_JOINED: Final = _words("""
    address birthdate birthday birthplace classmate classroom codename daily dated dateline dayroom deadline
    discount ended endless eventful eventually firsthand flagship graded grouped headline headquarters homepage
    hometown hourly household idea ideal ideas identity idol itemize keyboard keys keyword landline landmark
    lastly linear lineup lining listing membership middleman nickname nobody noname notime nowhere opening
    openings openness ordered orderly ordinal owners ownership pageant password percentage persona personal
    personality personnel phones placement planet planetary pointer points priced pricey production productive
    products provinces ranking ratecard rates rating ratings resulted roommate salesperson scored seasonal
    shipment sizeable smalltalk sources staffed startup statehood stateroom stocking storage storefront
    storeroom streetcar subjects surname teammate textbook textile timeless timeline timetable timezone titled
    totally towns typed typeface united units unity update upload uploads username usernames valued values
    warehouse webpage weekday weekend weekly workplace yearly zoned
""")
_LETTERED = re.compile(
    r"[a-z](?:name|number|location|code|date|type|address|description|status|count|no|ssn|phone|email|salary|city)"
)
_UNSPEAKABLE = re.compile(
    r"^(?:[bcdfghjklmnpqrstvwxz]{4,}|[bcdfgjkmpqrtvwxz]{3}(?<!chr)(?<!phr)(?<!thr)(?<!pht)|"
    r"fn|ln|mn(?!e)|pk|rg|tx|dt|cd|lk|nm|nb|vn|qt|gp|bd|hd|lp|rp|rt|nt|mt|mk|jp|cn|cs(?!a)|dn|fk|pd|tb|tn|kp|vl(?!a)|xr)"
    r"|[bcdfghjklmnpqrstvwxz]{6,}"
)
_VOWEL = re.compile(r"[aeiouy]")
_QUARTER = re.compile(r"[qh][1-4]|[1-4][qh]", re.IGNORECASE)
_HAN = re.compile(r"[\u3400-\u9fff]")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$#]*")
_NAME = r"[A-Za-z_][A-Za-z0-9_$#]*"

_DOTTED = re.compile(rf"(?<![\w@.])[`\"\[]?({_NAME})[`\"\]]?\.[`\"\[]?({_NAME})[`\"\]]?(?![\w@])")
_SAID_OF_TABLES: Final = _words("name names number numbers title titles type types size")
_IN_CODE = re.compile(r"`([^`\n]{1,128})`")
_TOLD_AS_NAME = re.compile(
    r"(?:\b(?:columns?|fields?|tables?|views?|schemas?|aliases|alias)\s+(?:named\s+|called\s+)?|(?:字段|数据列|数据表|列名|表名|列|表)\s*)"
    r"(?:(?P<quote>[\"'“‘「《])(?P<quoted>[^\"'”’」》\n]{1,128})[\"'”’」》]|(?P<bare>[A-Za-z_][A-Za-z0-9_$#]*))",
    re.IGNORECASE,
)

# Keywords where only SQL puts them. Upper case alone is enough for pairs; lower case needs the shape of a statement.
_SQL: Final = (
    re.compile(r"\bSELECT\s+(?:DISTINCT\s+|TOP\s+\d+\s+)?(?:[\w.\"`\[\]*]+|\w+\s*\()"),
    re.compile(r"\b(?:FROM|JOIN|INTO|WHERE|HAVING)\s+[\"`\[]?\w+"),
    re.compile(r"\b(?:GROUP|ORDER|PARTITION)\s+BY\b"),
    re.compile(r"\b(?:LEFT|RIGHT|INNER|OUTER|CROSS|FULL)\s+(?:OUTER\s+)?JOIN\b", re.IGNORECASE),
    re.compile(r"\bUNION\s+(?:ALL|SELECT)\b", re.IGNORECASE),
    re.compile(r"\b(?:LIMIT|OFFSET)\s+\d+\b"),
    re.compile(
        r"\b(?:INSERT\s+INTO|DELETE\s+FROM|DROP\s+TABLE|ALTER\s+TABLE|CREATE\s+TABLE|TRUNCATE\s+TABLE)\b", re.IGNORECASE
    ),
    re.compile(r"\bUPDATE\s+\w+\s+SET\b", re.IGNORECASE),
    re.compile(r"\bselect\s+(?:\*|count\s*\(|distinct\s+\w+\s+from|[\w.]+(?:\s*,\s*[\w.]+)+\s+from)", re.IGNORECASE),
    re.compile(r"\b(?:count|sum|avg|min|max|coalesce|cast|strftime|date_trunc|group_concat|nullif)\(", re.IGNORECASE),
    re.compile(r"\b(?:COUNT|SUM|AVG|MIN|MAX)\s\("),
    re.compile(r"\bwhere\s+[\w.\"`]+\s*(?:=|<>|!=|<=|>=|<|>|\blike\b|\bin\s*\()", re.IGNORECASE),
    re.compile(r"\b(?:IS\s+(?:NOT\s+)?NULL|NOT\s+NULL|NOT\s+EXISTS|CASE\s+WHEN)\b"),
    re.compile(r"\b[A-Za-z_]\w*\s*(?:<>|!=)\s*['\"\w]"),
    re.compile(r"(?<![\w@])[\w.]+\s*=\s*'[^'\n]*'"),
)
# "Select the customers from Bern" is English: only what goes on as a statement, or reads from a known name, is SQL.
_SELECTED = re.compile(
    r"\bselect\s+(?!(?:the|a|an|all|your|one|any|some)\b)[^.!?;。！？\n]{1,200}\bfrom\s+[\"`]?(?P<source>\w+)[\"`]?"
    r"(?P<goes_on>\s*;|\s+(?:where|group\s+by|order\s+by|limit|join)\b)?",
    re.IGNORECASE,
)
_TECHNICAL: Final = (
    re.compile(r"(?<![A-Za-z0-9])[A-Za-z]*sql[A-Za-z0-9]*(?![A-Za-z0-9])", re.IGNORECASE),
    re.compile(
        r"(?<![A-Za-z0-9_])(?:psycopg\d?|asyncpg|asyncmy|aiomysql|postgres|mariadb|duckdb|clickhouse|oracledb|cx_oracle"
        r"|bigquery|odbc|jdbc|faststream|jetstream|langchain|openai|pydantic|stack\s?trace|traceback|errno"
        r"|foreign\s+key|primary\s+key|database|databases)(?![A-Za-z0-9_])",
        re.IGNORECASE,
    ),
    re.compile(r"(?<![A-Za-z0-9_])(?:[A-Z][A-Za-z0-9]*)(?:Error|Exception|Warning)(?![A-Za-z0-9_])"),
    re.compile(r"(?<![A-Za-z0-9_])(?:ORA|DPY|SQLSTATE|PLS)-?\s?\d{3,5}"),
    re.compile(r"数据库|数据表|字段|表名|列名|外键|主键|表结构|语法错误|堆栈"),
)
_PLACES: Final = (
    re.compile(r"(?<![\w/.])(?:/[\w.@~-]+){2,}/?"),
    re.compile(r"(?<![A-Za-z])[A-Za-z]:\\[^\s，。；]+"),
    re.compile(r"\\\\[\w.-]+\\[\w.$-]+"),
    re.compile(r"(?<![A-Za-z])[A-Za-z][A-Za-z0-9+.-]*://[^\s，。；]+"),
    re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?![\w.]\d)"),
    re.compile(r"(?<![\w.])localhost(?::\d{1,5})?", re.IGNORECASE),
    re.compile(
        r"(?<![\w.@-])[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)*\.(?:local|internal|lan|svc|localdomain)(?![\w-])",
        re.IGNORECASE,
    ),
    re.compile(r"(?<![\w.@-])[A-Za-z][\w-]*(?:\.[\w-]+)+:\d{2,5}(?!\d)"),
    re.compile(r"(?<![\w.@-])[A-Za-z][\w-]+(?:\.[A-Za-z][\w-]+){2,}(?![\w-])"),
    re.compile(r"(?<![\w.])[\w-]+\.(?:sqlite3?|db|duckdb|py|ya?ml|sock|pem|parquet)(?![\w])", re.IGNORECASE),
)


def leaks(text: str, catalog: Catalog | None, language: Language, *, said: str = "") -> tuple[str, ...]:
    """Return the pieces of a text that a business reader must not see, in order; empty for a clean text.

    `said` is what the reader wrote first: its own words give nothing away. Without a catalog only what is technical
    by itself is found. A text over TEXT_LENGTH_MAX counts as one leak: it is too long to be a sentence.
    """
    del language  # one text may mix both languages, so both are always looked for
    if len(text) > TEXT_LENGTH_MAX:
        return (text[:40],)
    spoken = said.casefold()
    found: dict[str, None] = {}
    for piece in _pieces(text, catalog):
        if piece.casefold() not in spoken:
            found[piece] = None
        if len(found) >= FOUND_MAX:
            break
    return tuple(found)


def _pieces(text: str, catalog: Catalog | None) -> Iterator[str]:
    for pattern in (*_SQL, *_TECHNICAL, *_PLACES):
        for match in pattern.finditer(text):
            yield match[0].strip()
    known = _names_of(catalog.identifiers).known if catalog else frozenset[str]()
    for match in _SELECTED.finditer(text):
        if match["goes_on"] or match["source"].lower() in known:
            yield match[0]
    if catalog is None:
        return
    names = _names_of(catalog.identifiers)
    for match in _WORD.finditer(text):
        if match[0].lower() in names.technical:
            yield match[0]
    for phrase in names.phrases:
        if phrase in text.lower():
            yield phrase
    yield from _written_as_names(text, names.known)


def _written_as_names(text: str, known: frozenset[str]) -> Iterator[str]:
    for match in _DOTTED.finditer(text):
        if match[1].lower() in known or (len(match[1]) < 3 and match[2].lower() in known):
            yield match[0]
    for match in _IN_CODE.finditer(text):
        if match[1].strip().lower() in known:
            yield match[0]
    for match in _TOLD_AS_NAME.finditer(text):
        name = match["quoted"] or match["bare"]
        if name.strip().lower() in known and name.lower() not in _SAID_OF_TABLES:
            yield match[0]


class _Names:
    """A catalog's names, sorted by how they are looked for. All in lower case."""

    __slots__ = ("known", "phrases", "technical")

    def __init__(self, identifiers: frozenset[str]) -> None:
        self.known = frozenset(each.lower() for each in identifiers)
        technical = {each.lower() for each in identifiers if len(each) > 1 and not is_plain_word(each)}
        self.technical = frozenset(each for each in technical if _WORD.fullmatch(each))
        self.phrases = tuple(sorted(technical - self.technical))


@lru_cache(maxsize=64)
def _names_of(identifiers: frozenset[str]) -> _Names:
    return _Names(identifiers)


def is_plain_word(name: str) -> bool:
    """Return whether a name reads as a word, or words, of the language.

    >>> [each for each in ("city", "Orders", "cust_id", "firstName", "qty", "orderdate", "客户") if is_plain_word(each)]
    ['city', 'Orders', '客户']
    """
    if " " in name.strip():
        return all(is_plain_word(each) for each in name.split())
    if name.isdigit() or _QUARTER.fullmatch(name):
        return True
    if _HAN.search(name):
        return not re.search(r"[_$#.0-9]|[A-Za-z]{3,}", name)
    if not name.isalpha() or _CAMEL.search(name):
        return False
    word = name.lower()
    if word in _PLAIN_THOUGH_JOINED or word in ("id", "no"):
        return True
    return not (
        word in _ABBREVIATIONS
        or not _VOWEL.search(word)
        or _UNSPEAKABLE.search(word)
        or _LETTERED.fullmatch(word)
        or _is_joined(word)
    )


def _is_joined(word: str) -> bool:
    """Return whether a word is two or more pieces of names written together, its plural included."""
    if len(word) > 40:
        return True
    ends: list[int] = [0] + [-1] * len(word)  # how many pieces reach here, -1 for none
    for start in range(len(word)):
        if ends[start] < 0:
            continue
        for end in range(start + 2, len(word) + 1):
            piece = word[start:end]
            if (piece in _PIECES or piece in _ABBREVIATIONS) and (len(piece) > 2 or start):
                ends[end] = max(ends[end], ends[start] + 1)
    return ends[-1] > 1 or (word.endswith("s") and ends[-2] > 1)
