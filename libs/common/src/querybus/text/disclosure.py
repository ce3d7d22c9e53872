"""What a business reader must never see in words: a catalog's technical names, SQL, drivers, paths and hosts.

Names that are plain words of the language ("city", "orders") are no leak in a sentence; they are one where they are
written as a name: dotted, quoted as code, or beside "column", "table", "字段", "表". What the reader said first is no
leak either. Limits: a word is what the vocabulary knows, so a rare English word that is also a name counts as a leak;
a Chinese name counts as a word unless it is written as no word is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import product
from typing import Final

from querybus.core.catalog import Catalog, Language
from querybus.text.similarity import plain, words
from querybus.text.vocabulary import is_word
from querybus.text.words import plural, singular, word_set

TEXT_LENGTH_MAX: Final = 20_000
FOUND_MAX: Final = 20
TEXTS_KEPT: Final = 2_048
KEPT_LENGTH_MAX: Final = 200


_SHORT_WORDS: Final = frozenset({"id", "ids", "no"})
_QUARTER = re.compile(r"[qh][1-4]|[1-4][qh]", re.IGNORECASE)
_UNSEEN: Final = re.compile(r"[\u200b-\u200f\u2060\ufeff\u00ad]")
_HAN = re.compile(r"[\u3400-\u9fff]")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$#]*")
_NAME = r"[A-Za-z_][A-Za-z0-9_$#]*"

# ASCII throughout: a Chinese character beside a name is a border, not a part of it.
WORDS_OF_NAME_MAX: Final = 4
_PIECE_OF_NAME: Final = re.compile(r"[A-Za-z0-9_]+", re.ASCII)
_PARTING: Final = ("-", " ", ".", "/", "\n")
WORDS_KEPT: Final = 8_192
_DOTTED = re.compile(rf"(?<![\w@.])[`\"\[]?({_NAME})[`\"\]]?\.[`\"\[]?({_NAME})[`\"\]]?(?![\w@])", re.ASCII)
_SAID_OF_TABLES: Final = word_set("name names number numbers title titles type types size")
_TABLES_OF_PEOPLE: Final = word_set("time league price first last next same other result results top")
_IN_CODE = re.compile(r"`([^`\n]{1,128})`", re.ASCII)
_OF_TABLES = re.compile(
    r"column|field|table|view|schema|alias|attribute|object|relation|dataset|字段|列|表|属性|参数|关系", re.IGNORECASE
)
_REPORTED_AS_NAME = re.compile(
    r"(?:\b(?:columns?|fields?|tables?|views?|schemas?|aliases|alias|attributes?|objects?|relations?|datasets?)(?:\s+\d+)?,?\s+(?:named\s+|called\s+)?|(?:字段|数据列|数据表|列名|表名|属性|参数|关系|列|表)\s*)"
    r"(?:(?P<quote>[\"'“‘「《])(?P<quoted>[^\"'”’」》\n]{1,128})[\"'”’」》]|(?P<bare>[A-Za-z_][A-Za-z0-9_$#]*))",
    re.IGNORECASE | re.ASCII,
)
_NAMED_BEFORE = re.compile(
    rf"(?<![A-Za-z0-9_])(?P<name>{_NAME})[\"'”’」》]?(?:\s+(?:columns?|fields?|tables?|schemas?|attributes?)\b|\s*(?:这一?|该)?(?:字段|数据列|数据表|表(?![示现达明面格])|列(?![出举表])))",
    re.IGNORECASE | re.ASCII,
)

# Keywords where only SQL puts them. Upper case alone is enough for pairs; lower case needs the shape of a statement.
_SQL: Final = (
    re.compile(r"\bSELECT\s+(?:DISTINCT\s+|TOP\s+\d+\s+)?(?:[\w.\"`\[\]*]+|\w+\s*\()", re.ASCII),
    re.compile(r"\b(?:FROM|JOIN|INTO|WHERE|HAVING)\s+[\"`\[]?\w+", re.ASCII),
    re.compile(r"\b(?:GROUP|ORDER|PARTITION)\s+BY\b", re.ASCII),
    re.compile(r"\b(?:LEFT|RIGHT|INNER|OUTER|CROSS|FULL)\s+(?:OUTER\s+)?JOIN\b", re.IGNORECASE | re.ASCII),
    re.compile(r"\bUNION\s+(?:ALL|SELECT)\b", re.IGNORECASE | re.ASCII),
    re.compile(r"\b(?:LIMIT|OFFSET)\s+\d+\b", re.ASCII),
    re.compile(
        r"\b(?:INSERT\s+INTO|DELETE\s+FROM|DROP\s+TABLE|ALTER\s+TABLE|CREATE\s+TABLE|TRUNCATE\s+TABLE)\b",
        re.IGNORECASE | re.ASCII,
    ),
    re.compile(r"\bUPDATE\s+\w+\s+SET\b", re.IGNORECASE | re.ASCII),
    re.compile(
        r"\bselect\s+(?:\*|count\s*\(|distinct\s+\w+\s+from|[\w.]+(?:\s*,\s*[\w.]+)+\s+from)", re.IGNORECASE | re.ASCII
    ),
    re.compile(
        r"\b(?:count|sum|avg|min|max|coalesce|cast|strftime|date_trunc|group_concat|nullif)\(", re.IGNORECASE | re.ASCII
    ),
    re.compile(r"\b(?:COUNT|SUM|AVG|MIN|MAX)\s\(", re.ASCII),
    re.compile(r"\bwhere\s+[\w.\"`]+\s*(?:=|<>|!=|<=|>=|<|>|\blike\b|\bin\s*\()", re.IGNORECASE | re.ASCII),
    re.compile(r"\b(?:IS\s+(?:NOT\s+)?NULL|NOT\s+NULL|NOT\s+EXISTS|CASE\s+WHEN)\b", re.ASCII),
    re.compile(r"\b[A-Za-z_]\w*\s*(?:<>|!=)\s*['\"\w]", re.ASCII),
    re.compile(r"(?<![\w@])[\w.]+\s*=\s*'[^'\n]*'", re.ASCII),
    re.compile(r"\border\s+by\s+[\w.\"`]+(?:\s*\([^)]*\))?\s+(?:asc|desc)\b", re.IGNORECASE | re.ASCII),
    re.compile(r"\bhaving\s+(?:count|sum|avg|min|max)\b", re.IGNORECASE | re.ASCII),
    re.compile(
        r"\bjoin\s+[\w.\"`]+(?:\s+(?:as\s+)?\w+)?\s+(?:on\s+[\w.\"`]+\s*=|using\s*\()", re.IGNORECASE | re.ASCII
    ),
    re.compile(r"\bis\s+(?:not\s+)?null\b|\b(?:CREATE|ALTER|DROP)\s+(?:VIEW|INDEX|SCHEMA)\b", re.IGNORECASE | re.ASCII),
    re.compile(r"\bgroup\s+by\s+[\w.\"`]+\s*(?:,|;|having\b|order\s+by\b|limit\b)", re.ASCII),
    re.compile(r"\bSELECT\b", re.ASCII),
)
# Most sentences hold no sign of a statement or a place; those are distinguished at once.
_MAYBE_SQL: Final = re.compile(
    r"\b(?:select|join|having|partition|union|insert|delete|drop|alter|create|truncate|update|null|like)\b"
    r"|\b(?:order|group)\s+by\b|\blimit\s+\d|(?-i:\b(?:FROM|INTO|WHERE|OFFSET|EXISTS|CASE)\b)|[=<>]|!=|\w\s?\(",
    re.IGNORECASE | re.ASCII,
)
_MAYBE_PLACE: Final = re.compile(r"[/\\=]|[\w\]]:\w|\w\.\w|localhost|[a-z]\d|\bport\s|-\d", re.IGNORECASE | re.ASCII)
_SELECT: Final = re.compile(r"\bselect\b", re.IGNORECASE | re.ASCII)
# "Select the customers from Bern" is English: only what goes on as a statement, or reads from a known name, is SQL.
_SELECTED = re.compile(
    r"\bselect\s+(?!(?:the|a|an|all|your|one|any|some)\b)[^.!?;。！？\n]{1,200}\bfrom\s+[\"`]?(?P<source>\w+)[\"`]?"
    r"(?P<goes_on>\s*;|\s+(?:where|group\s+by|order\s+by|limit|join)\b)?",
    re.IGNORECASE | re.ASCII,
)
_TECHNICAL_WORDS: Final = word_set("""
    psycopg psycopg2 psycopg3 asyncpg asyncmy aiomysql postgres mariadb duckdb clickhouse oracledb cx_oracle bigquery odbc
    jdbc faststream jetstream langchain openai pydantic stacktrace traceback errno database databases schema schemas varchar
    nvarchar bigint smallint timestamptz subquery subqueries db2 redshift sqlalchemy uvloop
""")
_ERROR: Final = re.compile(r"[A-Z][A-Za-z0-9]*(?:Error|Exception|Warning)", re.ASCII)
_MAYBE_TECHNICAL: Final = re.compile(r"\d{3}|\b(?:stack|key|such|unknown|exist)\b|DB::", re.IGNORECASE | re.ASCII)
_TECHNICAL: Final = (
    re.compile(
        r"(?<![A-Za-z0-9_])(?:stack\strace|foreign\s+key|primary\s+key)(?![A-Za-z0-9_])", re.IGNORECASE | re.ASCII
    ),
    re.compile(r"(?<![A-Za-z0-9_])(?:ORA|DPY|SQLSTATE|PLS)-?\s?\d{3,5}", re.ASCII),
    re.compile(
        r"\b(?:no\s+such\s+(?:column|table|function)|unknown\s+(?:column|table)|(?:relation|column|table)\s+[\"'`]?[\w.]+[\"'`]?\s+does\s+not\s+exist)\b|\bDB::",
        re.IGNORECASE | re.ASCII,
    ),
)


def _lines(language: Language) -> list[str]:
    text = resources.files("querybus.text").joinpath(f"technical_terms.{language}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("# ")]


_STORE_WORDS: Final[dict[Language, tuple[str, ...]]] = {
    "en": ("table", "column", "field", "schema", "database", "dataset", "relation", "attribute", "view", "catalog"),
    "zh": ("数据库", "数据表", "字段", "属性", "视图", "表", "列", "库"),
}
_TERMS: Final = frozenset(
    " ".join(map(singular, words))
    for line in _lines("en")
    for words in product(*(part.split("|") for part in line.split(" ")))
)
_TERMS_IN_CHINESE: Final = re.compile("|".join(_lines("zh")))
_SMALL: Final = re.compile(r"[a-z\u3400-\u9fff]")
_CAPITALS: Final = re.compile(
    r"(?<![A-Za-z0-9_])(?:SELECT|WHERE|HAVING|JOIN|UNION\sALL|DISTINCT|EXISTS|OFFSET|NULL[Ss]?|LIKE|BETWEEN|COALESCE|CAST|AVG|COUNT"
    r"|INSERT|DELETE|UPDATE|TRUNCATE|ALTER|EXPLAIN|LIMIT|UNION|CTEs?|VALUES|INTEGER|VARCHAR|TIMESTAMP|BOOLEAN|DECIMAL|NUMERIC"
    r"|BIGINT|JSONB?|UUID|DBs?|LLMs?|PG[A-Z]{4,}|[A-Z]{2,}(?:_[A-Z0-9]+){2,})(?![A-Za-z0-9_])|\bIN\s*\(|'%[^'\n]*'|'[^'\n]*%'",
    re.ASCII,
)
"""What only SQL and its engines write in capitals; a sentence that is capitals throughout is not looked at."""

_PLACES: Final = (
    re.compile(r"(?<![\w/.])(?:/[\w.@~-]+){2,}/?", re.ASCII),
    re.compile(r"(?<![A-Za-z])[A-Za-z]:\\[^\s，。；]+", re.ASCII),
    re.compile(r"\\\\[\w.-]+\\[\w.$-]+", re.ASCII),
    re.compile(r"(?<![A-Za-z])[A-Za-z][A-Za-z0-9+.-]*://[^\s，。；]+", re.ASCII),
    re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?![\w.]\d)", re.ASCII),
    re.compile(r"(?<![\w.])localhost(?::\d{1,5})?", re.IGNORECASE | re.ASCII),
    re.compile(
        r"(?<![\w.@-])[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)*\.(?:local|internal|lan|svc|localdomain)(?![\w-])",
        re.IGNORECASE | re.ASCII,
    ),
    re.compile(r"(?<![\w.@-])[A-Za-z][\w-]*(?:\.[\w-]+)+:\d{2,5}(?!\d)", re.ASCII),
    re.compile(r"(?<![\w.@-])[A-Za-z][\w-]*:\d{4,5}(?![\d,])", re.ASCII),
    re.compile(r"(?<![\w.])\.{1,2}[/\\][\w./\\-]+|(?<!\w)~/\w[\w./-]*", re.ASCII),
    re.compile(r"\b(?:host|server|node)\s+[a-z][\w-]*\d\b|(?<![A-Za-z])port\s\d{2,5}\b", re.IGNORECASE | re.ASCII),
    re.compile(
        r"(?<![\w-])(?:db|dwh|pg|srv|sql|prod|stg|mysql|postgres)[-_]?(?:[\w-]*-)?\w*\d+(?![\w-])",
        re.IGNORECASE | re.ASCII,
    ),
    re.compile(r"\b(?:host|user|password|pwd|dbname|port)\s*=\s*\S", re.IGNORECASE | re.ASCII),
    re.compile(r"(?<![\w:])\[?(?:[0-9a-f]{1,4}:){4,7}[0-9a-f:]{1,4}\]?(?![\w:])", re.IGNORECASE | re.ASCII),
    re.compile(r"(?<![\w.@-])[A-Za-z][\w-]+(?:\.[A-Za-z][\w-]+){2,}(?![\w-])", re.ASCII),
    re.compile(r"(?<![\w.])[\w-]+\.(?:sqlite3?|db|duckdb|py|ya?ml|sock|pem|parquet)(?![\w])", re.IGNORECASE | re.ASCII),
)


def leaks(text: str, catalog: Catalog | None, language: Language, *, said: str = "") -> tuple[str, ...]:
    """Return the pieces of a text that a business reader must not see, in order; empty for a clean text.

    `said` is what the reader wrote first: its own words give nothing away. Without a catalog only what is technical
    by itself is found. A text over TEXT_LENGTH_MAX counts as one leak: it is too long to be a sentence.
    """
    del language  # one text may mix both languages, so both are always looked for
    if len(text) > TEXT_LENGTH_MAX:
        return (text[:40],)
    identifiers = catalog.identifiers if catalog else frozenset[str]()
    text = _plain_text(text)
    result = _found(text, identifiers) if len(text) <= KEPT_LENGTH_MAX else tuple(_pieces(text, identifiers))
    if not result:
        return ()
    spoken = said.casefold()
    return tuple(dict.fromkeys(text for text in result if text.casefold() not in spoken))[:FOUND_MAX]


def _plain_text(text: str) -> str:
    """Return a text with full-width signs as plain ones and without what nobody sees, which would part a name."""
    return text if text.isascii() else _UNSEEN.sub("", unicodedata.normalize("NFKC", text))


@lru_cache(maxsize=TEXTS_KEPT)
def _found(text: str, identifiers: frozenset[str]) -> tuple[str, ...]:
    """Return the pieces of a short text; labels and fixed sentences come again and again."""
    return tuple(_pieces(text, identifiers))


def _pieces(text: str, identifiers: frozenset[str]) -> Iterator[str]:
    names = _names_of(identifiers)
    if _MAYBE_SQL.search(text):
        yield from _matches(_SQL, text)
    if _MAYBE_TECHNICAL.search(text):
        yield from _matches(_TECHNICAL, text)
    if _HAN.search(text):
        yield from _matches((_TERMS_IN_CHINESE,), text)
    if _SMALL.search(text):
        yield from _matches((_CAPITALS,), text)
    if _MAYBE_PLACE.search(text):
        yield from _matches(_PLACES, text)
    if _SELECT.search(text):
        for match in _SELECTED.finditer(text):
            if match["goes_on"] or match["source"].lower() in names.known:
                yield match[0]
    for match in _WORD.finditer(text):
        word = match[0]
        lower = word.lower()
        if "sql" in lower or lower in _TECHNICAL_WORDS or lower in names.technical or _ERROR.fullmatch(word):
            yield word
    yield from _terms_and_forms_of_names(text, names)
    if not identifiers:
        return
    lowered = text.lower() if names.phrases else ""
    for phrase in names.phrases:
        if phrase in lowered:
            yield phrase
    yield from _written_as_names(text, names)


def _terms_and_forms_of_names(text: str, names: _Names) -> Iterator[str]:
    """Yield technical terms, and names in another case, as plurals, with other separators, in several words, or in part.

    Words that are all plain speech are no name: "order lines" is not order_lines. A single one of several words must
    be no word at all: "cust nm".
    """
    spans = [(match.start(), match.end(), _Word.of(match[0])) for match in _PIECE_OF_NAME.finditer(text)]
    for n, (start, end, word) in enumerate(spans):
        if not word.is_plain and (word.key in names.keys or word.text in names.parts):
            yield word.text
        if word.is_cut and word.text.strip("_").lower() in names.all_parts:
            yield word.text
        if word.term in _TERMS:
            yield word.text
        until, is_plain, term = end, word.is_plain, word.term
        for next_start, next_end, following in spans[n + 1 : n + WORDS_OF_NAME_MAX]:
            if text[until:next_start] not in _PARTING:
                break
            until, is_plain = next_end, is_plain and following.is_plain
            term = f"{term} {following.term}"
            if term in _TERMS or (not is_plain and names.keys and singular(plain(text[start:until])) in names.keys):
                yield text[start:until]


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a text as it is compared: `key` as a name, `term` as part of a technical term."""

    text: str
    key: str
    term: str
    is_plain: bool
    is_cut: bool

    @staticmethod
    @lru_cache(maxsize=WORDS_KEPT)
    def of(text: str) -> _Word:
        key = singular(plain(text))
        has_figure = any(sign.isdigit() for sign in text)
        return _Word(
            text,
            key,
            term="#" if has_figure and text[0].isdigit() else singular(text.lower()),
            is_plain=is_plain_word(text.strip("_")),
            is_cut=text.startswith("_") != text.endswith("_"),
        )


def _matches(patterns: Iterable[re.Pattern[str]], text: str) -> Iterator[str]:
    for pattern in patterns:
        for match in pattern.finditer(text):
            yield match[0].strip()


def _written_as_names(text: str, names: _Names) -> Iterator[str]:
    known = names.known
    for match in _DOTTED.finditer(text):
        if match[1].lower() in known or (len(match[1]) < 3 and match[2].lower() in known):
            yield match[0]
    for match in _IN_CODE.finditer(text):
        if match[1].strip().lower() in known:
            yield match[0]
    is_of_tables = _OF_TABLES.search(text) is not None
    for match in _REPORTED_AS_NAME.finditer(text) if is_of_tables else ():
        name = match["quoted"] or match["bare"]
        is_name = name.strip().lower() in names.known or (" " in name and plain(name) in names.plain)
        if is_name and name.lower() not in _SAID_OF_TABLES:
            yield match[0]
    if not is_of_tables:
        return
    for match in _NAMED_BEFORE.finditer(text):
        name = match["name"].lower()
        if name in known and name not in _TABLES_OF_PEOPLE:
            yield match[0]


KEY_LENGTH_MIN: Final = 2
PART_LENGTH_MAX: Final = 4
UNITS: Final = frozenset(
    {"kg", "km", "cm", "mm", "ml", "kwh", "mwh", "mb", "gb", "tb", "ms", "sqm", "mph"}
    | {"usd", "eur", "gbp", "cny", "cents", "pence"}
)
"""Units at the end of a name, which people know: `weight_kg`."""


class _Names:
    """A catalog's names, sorted by how they are looked for. All in lower case."""

    __slots__ = ("all_parts", "keys", "known", "parts", "phrases", "plain", "technical")

    def __init__(self, identifiers: frozenset[str]) -> None:
        self.known = frozenset(identifier.lower() for identifier in identifiers)
        technical = {
            identifier.lower() for identifier in identifiers if len(identifier) > 1 and not is_plain_word(identifier)
        }
        self.technical = frozenset(item for item in technical if _WORD.fullmatch(item))
        self.phrases = tuple(sorted(technical - self.technical))
        self.plain = frozenset(plain(identifier) for identifier in identifiers)
        # Of two letters nothing can be said to be another form of.
        long = [plain(item) for item in self.technical if len(item) > KEY_LENGTH_MIN]
        # A plural that a sentence makes of a name ends otherwise than the name: "tblzes" of "tblz".
        self.keys = frozenset(singular(form) for item in long for form in (item, plural(item)))
        pieces = {piece.lower() for item in identifiers if item.lower() in technical for piece in words(item)}
        self.all_parts = frozenset(pieces)
        # Longer ones may be rare words: "donator"; units are everybody's: "kg".
        self.parts = frozenset(
            piece for piece in pieces - UNITS if 1 < len(piece) <= PART_LENGTH_MAX and not is_plain_word(piece)
        )


@lru_cache(maxsize=64)
def _names_of(identifiers: frozenset[str]) -> _Names:
    return _Names(identifiers)


def names_stores(text: str, *, said: str = "") -> bool:
    """Return whether a text speaks of what data is kept in: tables, columns, schemas; words that were `said` are no such.

    For sentences that say what was not found: elsewhere a table may be one to sit at.

    >>> names_stores("No relevant tables found."), names_stores("没有相关的表"), names_stores("There is no weather here.")
    (True, True, False)
    """
    spoken = said.casefold()
    return any(match[0].casefold() not in spoken for match in _STORES.finditer(text))


_STORES: Final = re.compile(rf"\b(?:{'|'.join(_STORE_WORDS['en'])})s?\b|{'|'.join(_STORE_WORDS['zh'])}", re.IGNORECASE)


def is_own_speech(text: str, language: Language, *, said: str) -> bool:
    """Return whether a text put together from what a reader said may be shown again, where no catalog is at hand.

    Nothing in it is technical, and no word is written as a name of a schema is; a capital makes a word a name of people.

    >>> is_own_speech("How many orders from Zürich, by month", "en", said=""), is_own_speech("sum of tot_amt", "en", said="")
    (True, False)
    """
    if leaks(text, None, language, said=said) or _DOTTED.search(text) or _IN_CODE.search(text):
        return False
    spoken = said.casefold()
    return all(
        is_plain_word(word) or _PEOPLES_NAME.fullmatch(word) is not None or word.casefold() in spoken
        for word in (match[0] for match in _WORD.finditer(text))
    )


_PEOPLES_NAME = re.compile(r"[A-Z][a-z]*|[A-Z]{2,4}", re.ASCII)


def is_plain_word(name: str) -> bool:
    """Return whether a name reads as a word, or words, of the language.

    >>> [each for each in ("city", "Orders", "cust_id", "firstName", "qty", "orderdate", "客户") if is_plain_word(each)]
    ['city', 'Orders', '客户']
    """
    if " " in name.strip():
        return all(is_plain_word(part) for part in name.split())
    if name.isdigit() or _QUARTER.fullmatch(name):
        return True
    if _HAN.search(name):
        return not re.search(r"[_$#.0-9]|[A-Za-z]{3,}", name)
    word = name.lower()
    if word in _SHORT_WORDS:
        return True
    return name.isalpha() and _CAMEL.search(name) is None and is_word(word)
