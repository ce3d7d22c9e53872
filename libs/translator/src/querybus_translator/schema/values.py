"""Words of a question that are stored values: as they are written, by base form, by another spelling, in two columns; yes and no.

Names of persons are kept out of the catalog: what they are is seen by where they stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from querybus.text.vocabulary import is_word
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.names import is_han
from querybus_translator.language.stems import base_form
from querybus_translator.language.tokens import Token, TokenKind, tokenize
from querybus_translator.schema.comparison import CANDIDATES_MAX, EXACT_SCORE, Candidate
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.labels import labels, whole_name
from querybus_translator.schema.phrases import ARTICLES, Node, NodeKind

_NEAR_VALUE: Final = 0.85
_TRANSLATED_VALUE: Final = 0.9
_KINDS_MAX: Final = 30
_WITH_ARTICLE: Final = 2


def values_at(tokens: Sequence[Token], start: int, end: int, index: CatalogIndex) -> list[Candidate]:
    """Return the stored values that the words from one place to another may be."""
    span = tokens[start:end]
    if span[0].kind is TokenKind.MARK or span[-1].kind is TokenKind.MARK:
        return []
    key = tuple(part.norm for part in span if part.kind is not TokenKind.MARK)
    if len(key) == _WITH_ARTICLE and key[0] in ARTICLES | {"no"} and index.called_by(span[-1].base):
        # "The name of the mountain", though some photo is called just "the mountain"; "no elections", though a seat says so.
        return []
    hits = index.values.get(key, [])
    said = " ".join(part.text for part in span)
    # "UK Gallery" is written as the one place is, and not as another that is a "UK gallery".
    hits = [hit for hit in hits if hit.text == said] or hits
    closeness = 0.97
    if not hits:
        base = tuple(part.base for part in span if part.kind is not TokenKind.MARK)
        hits = index.values.get(base, []) or index.values.get((*base[:-1], base_form(base[-1])), [])
        # Several words that are all alike are hardly alike by chance: "store managers".
        content = sum(column not in lexicon().stopwords for column in key)
        closeness = _NEAR_VALUE if content < 2 else 0.97
    result = [Candidate(hit.table, hit.column, hit.text, closeness) for hit in hits]
    if len(key) == 1 and is_han(key[0]):
        # 德国 is what the data call Germany.
        result = [item if is_han(item.value or "") else replace(item, score=_TRANSLATED_VALUE) for item in result]
    if len(key) == 1:
        plain = key[0] in lexicon().stopwords or (len(key[0]) == 1 and not is_han(key[0]))
        capital = span[0].text[:1].isupper() and start > 0
        if plain and _says_state(tokens, start, index, result):
            # "Are available", "available flats": what is stored just so, of what is said to be so.
            result = [replace(item, score=_STATE_VALUE) for item in result]
        elif plain:
            same = span[0].text if capital and key[0] != "i" and not _is_article(tokens, start) else ""
            result = [replace(item, score=0.8) for item in result if item.value == same]
        elif not capital and not is_han(key[0]):
            result = [replace(item, score=closeness - _cost_of_lower_case(item, closeness, index)) for item in result]
    if not result:
        result = _stored_verbs(key, index)
    # What is stored just as it was said needs no other spelling beside it.
    said = {link.table: link.column for link in result}
    others = () if len(key) == 1 and _is_small_word(tokens, start) else _stored_otherwise(key, index)
    return result + [link for link in others if said.get(link.table, link.column) == link.column]


def _is_small_word(tokens: Sequence[Token], place: int) -> bool:
    """Whether a word is "us" or "it", and no code: it stands neither in capitals nor behind "the"."""
    token = tokens[place]
    is_code = token.text.isupper() and len(token.text) > 1
    return token.norm in lexicon().stopwords and not is_code and (place == 0 or tokens[place - 1].norm != "the")


def _is_article(tokens: Sequence[Token], place: int) -> bool:
    """Whether an "A" is one, in a heading for instance; behind another article, or where nothing follows, it is a letter."""
    following = tokens[place + 1] if place + 1 < len(tokens) else None
    if tokens[place].norm != "a" or following is None or following.kind is TokenKind.MARK:
        return False
    return tokens[place - 1].norm not in _LEADS_LETTER


_LEADS_LETTER: Final = frozenset({"an", "grade", "class", "type", "category", "group", "level"})


def _says_state(tokens: Sequence[Token], place: int, index: CatalogIndex, values: Sequence[Candidate]) -> bool:
    """Whether a word that says little elsewhere is said of rows that hold it: behind a form of "to be" at the end, or before them."""
    if len(tokens[place].norm) < _STATE_LETTERS_MIN or not values:
        return False
    following = tokens[place + 1] if place + 1 < len(tokens) else None
    is_last = following is None or following.kind is TokenKind.MARK
    before = [token.norm for token in tokens[:place] if token.norm not in _STILL]
    if is_last and before and before[-1] in _COPULAS:
        return True
    if following is None or len(tokens[place].norm) < _STATE_BEFORE_LETTERS_MIN:
        return False
    rows = {index.entries[entry].table for entry in index.own.get(following.base, ())}
    rows |= {held.table for held in index.values.get((following.base,), ())}
    return any(value.table in rows for value in values)


_STATE_VALUE: Final = 0.9
_STATE_LETTERS_MIN, _STATE_BEFORE_LETTERS_MIN = 4, 5
_STILL: Final = frozenset({"not", "already", "yet", "all"})
_COPULAS: Final = frozenset({"is", "are", "was", "were", "been", "currently", "still"})


def _cost_of_lower_case(value: Candidate, closeness: float, index: CatalogIndex) -> float:
    """A word that merely resembles a value is hardly meant for it, unless the column holds kinds: "comedies" of genre."""
    if closeness > _NEAR_VALUE:
        return 0.12
    holds_kinds = value.column is not None and len(index.column(value.table, value.column).values) <= _KINDS_MAX
    return 0.02 if holds_kinds else 0.25


def _stored_otherwise(key: tuple[str, ...], index: CatalogIndex) -> list[Candidate]:
    candidates: list[Candidate] = []
    for other in lexicon().stored.get(" ".join(key), ()):
        for hit in index.values.get(tuple(other.split()), []):
            if len(other) == 1 and not _is_small(index, hit.table, hit.column):
                continue
            candidates.append(Candidate(hit.table, hit.column, hit.text, 0.9))
    return candidates


def _stored_verbs(key: tuple[str, ...], index: CatalogIndex) -> list[Candidate]:
    """What "failed" or "passed" has "Fail" or "Pass" as its result: the verb itself, in a column that holds few values."""
    if len(key) != 1 or not key[0].endswith("ed") or key[0] in index.own:
        return []
    word = key[0]
    bases = {word[:-2], word[:-1]} | ({word[:-3]} if word[-3:-2] == word[-4:-3] else set[str]())
    return [
        Candidate(hit.table, hit.column, hit.text, _VERB_VALUE)
        for base in sorted(bases)
        if len(base) >= _VERB_LETTERS_MIN and base not in lexicon().stopwords
        for hit in index.values.get((base,), ())
        if len(index.column(hit.table, hit.column).values) <= _VERB_VALUES_MAX
    ]


_VERB_VALUE: Final = 0.92
_VERB_LETTERS_MIN: Final = 3
_VERB_VALUES_MAX: Final = 8


def _is_small(index: CatalogIndex, table: int, column: int) -> bool:
    return len({value.lower() for value in index.column(table, column).values}) <= 4


def stored_as(text: str, index: CatalogIndex) -> tuple[Candidate, ...]:
    """Return the stored values that a quoted text may be."""
    tokens = tokenize(text)
    key = tuple(token.norm for token in tokens if token.kind is not TokenKind.MARK)
    hits = index.values.get(key, []) or index.values.get(tuple(base_form(column) for column in key), [])
    exact = [hit for hit in hits if hit.text == text]
    result = [
        Candidate(link.table, link.column, link.text, 1.0 if link.text == text else 0.95) for link in exact or hits
    ]
    return tuple(result or _stored_otherwise(key, index) or _in_two_columns(key, index))[:CANDIDATES_MAX]


def _in_two_columns(key: tuple[str, ...], index: CatalogIndex) -> list[Candidate]:
    """A full name may be kept as first and last name: each half is a value of its own column of one table."""
    candidates: list[Candidate] = []
    for cut in range(1, min(len(key), 4)):
        for one in index.values.get(key[:cut], []):
            candidates += [
                Candidate(one.table, one.column, one.text, 0.93, also=(other.column, other.text))
                for other in index.values.get(key[cut:], [])
                if one.table == other.table and one.column != other.column
            ]
    return candidates


def of_their_columns(nodes: Sequence[Node]) -> list[Node]:
    """Leave a quoted text right behind a column to that column, though others hold such a text as well: class 'GT'."""
    result = list(nodes)
    for place in range(1, len(nodes)):
        text, before = nodes[place], nodes[place - 1]
        columns = {(link.table, link.column) for link in before.candidates if link.value is None}
        is_column = bool(before.candidates) and before.candidates[0].column is not None and not before.is_value
        if text.quoted and text.candidates and is_column:
            own = tuple(link for link in text.candidates if (link.table, link.column) in columns)
            result[place] = text if own else replace(text, candidates=())
        # "Each financing type", where buyers have a `financing`: what else has a type is not spoken of.
        tables = {link.table for link in text.candidates}
        named = before.candidates[0] if is_column else None
        is_kind = (
            text.kind in (NodeKind.LINK, NodeKind.WORD) and base_form(text.text.lower()) in _KINDS and not text.is_value
        )
        if is_kind and named is not None and named.score >= EXACT_SCORE and named.table not in tables:
            result[place] = Node(NodeKind.STOP, text.text)
    return result


_KINDS: Final = frozenset({"type", "kind", "category"})


def with_names(nodes: Sequence[Node], index: CatalogIndex) -> Iterator[Node]:
    """Join unknown words in capitals into one text where the data holds names of persons, which are kept out of the catalog.

    "Shipments of Lena Roth": whoever writes a name so means a person of that name; "net promoter score" is none. Behind
    "in" and "from" it is a place.
    """
    place = 0
    while place < len(nodes):
        end = place
        while (
            end < len(nodes)
            and nodes[end].kind is NodeKind.WORD
            and nodes[end].capital
            and nodes[end].text.removesuffix(".").isalpha()
        ):
            end += 1
        is_one = end - place == 1 and not _is_called(nodes, place, index) and _is_single_name(nodes, place, index)
        if end > place and _is_of_column(nodes, place, index):
            yield Node(NodeKind.TEXT, " ".join(node.text for node in nodes[place:end]), quoted=True)
            place = end
        elif is_one or (2 <= end - place <= _NAME_WORDS_MAX and _is_name(nodes, place, end, index)):
            yield Node(NodeKind.TEXT, " ".join(node.text for node in nodes[place:end]))
            place = end
        elif end > place and _is_called(nodes, place, index):
            yield Node(NodeKind.TEXT, " ".join(node.text for node in nodes[place:end]), quoted=True)
            place = end
        else:
            yield nodes[place]
            place += 1


def _is_called(nodes: Sequence[Node], place: int, index: CatalogIndex) -> bool:
    """Whether an unknown word in capitals is what something is called: "students named Smith", "whose first name is Mia or Lea"."""
    if _is_as_column(nodes, place, index):
        return True
    at = place - 1
    if at > 1 and nodes[at].op is Op.OR and nodes[at - 1].capital and nodes[at - 1].kind is NodeKind.WORD:
        return _is_called(nodes, at - 1, index)
    at = _said_before(nodes, place)
    if at < 0 or nodes[at].op is Op.NAMED:
        return at >= 0
    return _are_names(nodes[at], index)


def _said_before(nodes: Sequence[Node], place: int) -> int:
    at = place - 1
    while at > 0 and (nodes[at].op in (Op.NOT, Op.EQUAL) or nodes[at].text.lower() in _BEFORE_CALLED):
        at -= 1
    return at


def _is_of_column(nodes: Sequence[Node], place: int, index: CatalogIndex) -> bool:
    """ "Whose vice manager name is Ann Lee": a name in the column that is said, and in no other."""
    at = _said_before(nodes, place)
    close = [link for link in nodes[at].candidates if link.score >= _CALLED_SCORE_MIN] if at >= 0 else []
    return len(close) == 1 and close[0].score >= EXACT_SCORE and _are_names(nodes[at], index)


def _is_as_column(nodes: Sequence[Node], place: int, index: CatalogIndex) -> bool:
    """ "Students that have Lisa as their first name"."""
    end = place + 1
    if end >= len(nodes) or nodes[end].text.lower() != "as":
        return False
    while end < len(nodes) and nodes[end].kind is NodeKind.STOP:
        end += 1
    return end < len(nodes) and _are_names(nodes[end], index)


def _are_names(node: Node, index: CatalogIndex) -> bool:
    named = [link for link in node.candidates if link.value is None and link.score >= _CALLED_SCORE_MIN]
    return bool(named) and all(
        link.column is not None and index.column(link.table, link.column).person_name for link in named
    )


_BEFORE_CALLED: Final = frozenset({"is", "was", "are", "either"})


def _is_name(nodes: Sequence[Node], place: int, end: int, index: CatalogIndex) -> bool:
    """Whether unknown words are what a person is called: the first or the last is no ordinary word, or it is said whose name it is."""
    persons = {table for table, _ in index.names_of_persons}
    before = nodes[place - 1] if place else None
    if not persons or (before is not None and before.text.lower() in _OF_PLACES):
        return False
    is_said = before is not None and any(link.table in persons and link.column is None for link in before.candidates)
    return is_said or not all(is_word(nodes[at].text.lower()) for at in (place, end - 1))


def _is_single_name(nodes: Sequence[Node], place: int, index: CatalogIndex) -> bool:
    """Whether one unknown word is what somebody is called, where persons of just one kind have one name each: "who follows Kyle"."""
    tables = {table for table, _ in index.names_of_persons}
    before = nodes[place - 1].text.lower() if place else ""
    behind = nodes[place + 1].text.lower() if place + 1 < len(nodes) else ""
    is_attribute = place + 1 < len(nodes) and bool(nodes[place + 1].candidates)
    if (
        len(tables) != 1
        or before in _OF_PLACES
        or before in ARTICLES
        or is_attribute
        or not (known := labels(index, *tables))
    ):
        return False
    named = known[0]
    if len(known) > 1 and (before != "by" or known != whole_name(index, named)):
        return False
    if not index.column(named.table, named.column).person_name:
        return False
    return not is_word(nodes[place].text.lower()) or before in _BEFORE_NAMES or behind in ("'s", "’s")


_BEFORE_NAMES: Final = frozenset({"does", "did", "by", "as", "than", "is", "has", "was"})
_NAME_WORDS_MAX: Final = 3
_CALLED_SCORE_MIN: Final = 0.85
_OF_PLACES: Final = frozenset({"in", "from", "at", "near", "to"})
