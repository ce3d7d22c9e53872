"""Phrases of the lexicon in a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from querybus_translator.language.lexicon import Op, Phrase, lexicon
from querybus_translator.language.names import is_han
from querybus_translator.language.stems import base_form
from querybus_translator.language.time.clock import read_clock
from querybus_translator.language.time.spans import Period
from querybus_translator.language.time.words import is_month, leads_period
from querybus_translator.language.tokens import Token, TokenKind
from querybus_translator.schema.comparison import Candidate
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.other_names import doers_of


class NodeKind(Enum):
    OP = auto()
    LINK = auto()
    NUMBER = auto()
    TEXT = auto()
    PERIOD = auto()
    RECURRING = auto()
    STOP = auto()
    MARK = auto()
    WORD = auto()


@dataclass(frozen=True, slots=True)
class Node:
    """A span of the question that was read as one thing; what recurs is a time of day, HH:MM, or days of all weeks, Monday 0."""

    kind: NodeKind
    text: str
    phrase: Phrase | None = None
    candidates: tuple[Candidate, ...] = ()
    number: int | float | None = None
    period: Period | None = None
    clock: str | None = None
    days: tuple[int, ...] = ()
    capital: bool = False
    quoted: bool = False

    @property
    def op(self) -> Op | None:
        return self.phrase.op if self.phrase is not None else None

    @property
    def is_value(self) -> bool:
        """Whether it is linked with a value of the data, rather than with a name."""
        return self.kind is NodeKind.LINK and self.candidates[0].value is not None


@dataclass(frozen=True, slots=True)
class Span:
    start: int
    end: int
    weight: float
    node: Node


def text_of(tokens: Sequence[Token], start: int, end: int) -> str:
    pieces = [token.text for token in tokens[start:end]]
    return ("" if any(is_han(piece) for piece in pieces) else " ").join(pieces)


_AT_START = frozenset({Op.SHOW, Op.COUNT, Op.WRITE})


def _weight_of(word: str, index: CatalogIndex, *, sure: bool) -> float:
    """A word that the catalog uses as well is less surely a mere phrase: "total amount" beside a column "amount"."""
    if word in lexicon().stopwords:
        return 0.15
    if sure:
        return 1.05
    return 0.75 if base_form(word) in index.own else 0.95


def phrases(tokens: Sequence[Token], start: int, index: CatalogIndex) -> list[Span]:
    words = lexicon()
    first = tokens[start]
    if first.kind is TokenKind.HAN:
        # 客户数量: behind a table's name the word counts its rows, whatever columns are called so.
        counts = start > 0 and any(
            index.entries[item].column is None for item in index.own.get(tokens[start - 1].norm, ())
        )
        return [
            Span(
                start,
                start + 1,
                0.97 + 0.05 * len(first.norm) + (0.3 if counts and phrase.op is Op.COUNT else 0.0),
                Node(NodeKind.OP, first.text, phrase=phrase),
            )
            for phrase in words.chinese.get(first.norm, ())
            if phrase.op is not Op.BETWEEN or any(token.norm in _RANGE_ENDS for token in tokens[start + 1 :])
        ]
    spans: list[Span] = []
    opens = _opens(tokens, start)
    for length in range(1, min(words.english_length_max, len(tokens) - start) + 1):
        key = tuple(token.norm for token in tokens[start : start + length])
        following = tokens[start + length] if start + length < len(tokens) else None
        # "The last ten orders", "the last order", "who joined last"; a last name is none.
        is_latest = key == ("last",) and (
            following is None
            or following.kind is TokenKind.MARK
            or _is_figure(following)
            or _names_table(following, index)
        )
        for phrase in words.english.get(("latest",) if is_latest else key, ()):
            if phrase.op is Op.WRITE and (
                (start and not opens) or (length == 1 and index.called_by(tokens[start].base))
            ):
                # "Grant approval rate", where there is a table of grants.
                continue
            if phrase.op in {Op.OR_MORE, Op.OR_LESS} and following is not None and _is_figure(following):
                continue
            if phrase.op is Op.ORDER and _is_deed(tokens, start, following, is_alone=length == 1):
                continue
            if length == 1 and phrase.op in _COMPARING and not _compares(tokens, start + 1, index):
                continue
            sure = (
                (length > 1 and phrase.op in _SURE_PHRASES)
                or (phrase.op is Op.SINCE and following is not None and (_is_figure(following) or _is_time(following)))
                or (phrase.op in _FIGURE_OPS and _is_worked_out(tokens, start, start + length, index))
            )
            weight = sum(_weight_of(column, index, sure=sure) for column in key) + 0.02 * length
            named = length == 1 and key[0] in index.own and start and tokens[start - 1].kind is not TokenKind.MARK
            if opens and phrase.op in _AT_START and not named:
                weight += 0.6
            elif length == 1 and phrase.op is Op.SHOW and key[0] not in {"what", "which", "who", "whom"}:
                weight = 0.2
            node = Node(NodeKind.OP, text_of(tokens, start, start + length), phrase=phrase)
            spans.append(Span(start, start + length, weight, node))
    return spans


def _is_deed(tokens: Sequence[Token], start: int, following: Token | None, *, is_alone: bool) -> bool:
    """ "Customers who ordered in May", "the most frequently ordered product": a deed, and no order."""
    if following is not None and (_is_figure(following) or _is_time(following)):
        return True
    before = tokens[start - 1].norm if start else ""
    behind = "" if following is None else following.norm
    return is_alone and tokens[start].norm == "ordered" and (before in _BEFORE_DEEDS or behind in _BEHIND_DEEDS)


_BEFORE_DEEDS = frozenset({"frequently", "often", "most", "who", "have", "has", "had", "been"})
_BEHIND_DEEDS = frozenset({"before", "after", "since", "on", "at", "between", "more", "fewer", "less"})


_RANGE_ENDS = frozenset({"之间", "到", "至", "和", "与", "-", "~", "—", "–"})
"""在 opens a range only where one ends."""
_SURE_PHRASES = frozenset({Op.ORDER, Op.ASCENDING, Op.DESCENDING})


_COMPARING = frozenset({Op.GREATER, Op.LESS, Op.AFTER, Op.BEFORE})


_BEFORE_FIGURES = frozenset({"the", "a", "an", "$", "than", "about", "all", "any", "year", "age", "of"})


def _opens(tokens: Sequence[Token], start: int) -> bool:
    """Whether a sentence, or what is asked, begins at a place; a "no-show" shows nothing."""
    before = tokens[start - 1] if start else None
    if before is None or before.norm in {"please", "and", "then"}:
        return True
    return before.kind is TokenKind.MARK and before.text != "-"


def _is_figure(token: Token) -> bool:
    return token.kind in {TokenKind.NUMBER, TokenKind.DATE} or token.norm in lexicon().numbers


def _names_table(token: Token, index: CatalogIndex) -> bool:
    return any(index.entries[entry].column is None for entry in index.own.get(token.base, ()))


def _is_time(token: Token) -> bool:
    return is_month(token.norm) or leads_period(token.norm)


def _compares(tokens: Sequence[Token], place: int, index: CatalogIndex) -> bool:
    """Whether a word such as "over" stands before a figure, a period or an average: else it is a mere preposition."""
    while place < len(tokens) and tokens[place].norm in _BEFORE_FIGURES:
        place += 1
    if place >= len(tokens):
        return False
    if _is_figure(tokens[place]) or is_month(tokens[place].norm) or read_clock(tokens, place) is not None:
        return True
    for end in (place + 1, place + 2):
        # "After season 2007", "after birth year 1990".
        name = "_".join(token.base for token in tokens[place:end])
        if end < len(tokens) and _is_figure(tokens[end]) and index.knows(name):
            return True
    return any(
        phrase.op in _FIGURE_OPS
        for length in (1, 2, 3)
        for phrase in lexicon().english.get(tuple(token.norm for token in tokens[place : place + length]), ())
    )


def _is_worked_out(tokens: Sequence[Token], start: int, end: int, index: CatalogIndex) -> bool:
    """ "The average and maximum age", "older than average": what is worked out, though a column is called `average`."""
    if start and tokens[start - 1].norm == "than":
        return True
    while end < len(tokens) and (tokens[end].norm in _IN_LISTS or _says_figure(tokens[end])):
        end += 1
    named = index.own.get(tokens[end].base, ()) if end < len(tokens) else ()
    return any(
        entry.column is not None
        and (tokens[end].base,) in entry.names
        and index.holds_figures(entry.table, entry.column)
        and not index.is_key(entry.table, entry.column)
        for entry in (index.entries[item] for item in named)
    )


def _says_figure(token: Token) -> bool:
    return any(phrase.op in _FIGURE_OPS for phrase in lexicon().english.get((token.norm,), ()))


_IN_LISTS = frozenset({",", "and", "the"})
_FIGURE_OPS = frozenset({Op.AVERAGE, Op.MAXIMUM, Op.MINIMUM, Op.HIGHEST, Op.LOWEST})


def counts_several(tokens: Sequence[Token], start: int, end: int) -> bool:
    """Whether "number of" stands before what there are several of: how many seats, and not which number a bus has."""
    if end - start != 1 or tokens[start].norm != "number" or end + 1 >= len(tokens) or tokens[end].norm != "of":
        return False
    counted = next((token for token in tokens[end + 1 : end + 3] if token.norm not in ARTICLES), tokens[end])
    return counted.kind is TokenKind.WORD and counted.norm != counted.base


def counts_rows(tokens: Sequence[Token], start: int, index: CatalogIndex) -> bool:
    """Whether a figure says how many rows there are: "at least two schools"."""
    first = tokens[start]
    return start > 0 and _is_figure(tokens[start - 1]) and first.norm != first.base and _names_table(first, index)


def is_origin(tokens: Sequence[Token], start: int) -> bool:
    """ "The country of origin" is the country."""
    is_of = start > 1 and tokens[start].norm in _ORIGINS and tokens[start - 1].norm == "of"
    return is_of and tokens[start - 2].base in _PLACES


_ORIGINS = frozenset({"origin", "origins"})
_PLACES = frozenset({"country", "city", "state", "region", "place", "province", "county", "town"})


ARTICLES = frozenset({"a", "an", "the"})


def hints_of(nodes: Sequence[Node]) -> frozenset[str]:
    """Return the base forms of a question's words, and what those are called who do what its verbs say: who won is the winner."""
    words = [word for node in nodes for word in node.text.lower().split()]
    known = lexicon()
    verbs = [
        word
        for word in words
        if word.endswith("ed") or word in known.verbs or word in known.deeds or word in known.relating
    ]
    others = (column for said, columns in _SAID_OF if not said.isdisjoint(words) for column in columns)
    return frozenset((*map(base_form, words), *(doer for verb in verbs for doer in doers_of(verb)), *others))


_SAID_OF: Final = (
    (
        frozenset({"live", "lives", "living", "lived", "reside", "resides", "residing"}),
        ("home", "current", "residence", "residential"),
    ),
    (
        frozenset({"depart", "departs", "departing", "departed", "leave", "leaves", "leaving"}),
        ("origin", "source", "departure", "start"),
    ),
    (
        frozenset({"arrive", "arrives", "arriving", "arrived", "land", "lands", "landing"}),
        ("destination", "dest", "arrival", "target"),
    ),
)
"""Verbs, and words of the columns that they are said of."""
