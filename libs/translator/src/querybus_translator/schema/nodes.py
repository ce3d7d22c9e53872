"""Tokens become nodes: phrases of fixed meaning, links to the catalog, literals, periods, and what is left over.

Spans compete for tokens; the cut with the greatest weight wins. A link keeps all its candidates: which table or
column is meant is decided later, over the whole question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from typing import Final

from querybus.core.catalog import Column, ColumnKind
from querybus.text.words import word_set
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.measure_words import measured
from querybus_translator.language.names import name_words
from querybus_translator.language.segment import segment
from querybus_translator.language.time.clock import read_clock
from querybus_translator.language.time.periods import read_period
from querybus_translator.language.time.words import chinese_number, days_of_weeks, time_words
from querybus_translator.language.tokens import Token, TokenKind, tokenize
from querybus_translator.language.units import unit_of_measure
from querybus_translator.schema.additive import is_additive
from querybus_translator.schema.comparison import EXACT_SCORE, Candidate, recalled
from querybus_translator.schema.counted import GROUPING
from querybus_translator.schema.figures import numbered, with_figures
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.labels import holds_years
from querybus_translator.schema.meant import (
    LIGHT_SCORE_MIN,
    closest,
    is_figure_of,
    links_meant,
    takes_place,
)
from querybus_translator.schema.phrases import (
    Node,
    NodeKind,
    Span,
    counts_rows,
    counts_several,
    is_origin,
    phrases,
    text_of,
)
from querybus_translator.schema.values import of_their_columns, stored_as, values_at, with_names

SPAN_TOKENS_MAX: Final = 9
LINK_WORDS_MAX: Final = 6
_FILLER_COST: Final = 0.1
_SHARED_SCORE_MIN: Final = 0.85
_VALUE_SIGNS_MIN: Final = 3
_VALUE_SIGNS_MAX: Final = 12


def read_nodes(question: str, index: CatalogIndex, today: date) -> tuple[Node, ...]:
    """Return the nodes of a question, in its order, every token in exactly one of them."""
    tokens = _share_nouns(_cut_chinese(tokenize(question), index), index)
    spans: list[list[Span]] = [[] for _ in range(len(tokens) + 1)]
    for start in range(len(tokens)):
        for span in _spans_from(tokens, start, index, today):
            spans[span.end].append(span)
    best: list[tuple[float, Span | None]] = [(0.0, None)]
    for end in range(1, len(tokens) + 1):
        choice: tuple[float, Span | None] = (-1.0, None)
        for span in spans[end]:
            weight = best[span.start][0] + span.weight
            if weight > choice[0] + 1e-9:
                choice = (weight, span)
        best.append(choice)
    nodes: list[Node] = []
    end = len(tokens)
    while end:
        span = best[end][1]
        if span is None:
            break
        nodes.append(span.node)
        end = span.start
    nodes.reverse()
    return tuple(with_names(of_their_columns(_without_named_negations(list(with_figures(nodes, index)), index)), index))


def _cut_chinese(tokens: Sequence[Token], index: CatalogIndex) -> list[Token]:
    if any(token.kind is TokenKind.HAN for token in tokens):
        index.read_chinese()
    words = lexicon()
    known = _Words(
        index.han_words, words.chinese, words.chinese_stopwords, words.measure_words, words.measured, words.verbs,
        words.relating, words.stored, words.vague, time_words(),
    )  # fmt: skip
    length_max = max(index.han_length_max, 8)
    result: list[Token] = []
    for token in tokens:
        if token.kind is not TokenKind.HAN:
            result.append(token)
            continue
        pieces = [
            piece
            for part in _around_values(token.text, index)
            for piece, _ in (((part, True),) if (part,) in index.values else segment(part, known, length_max))
        ]
        for piece, norm in measured(pieces):
            number = chinese_number(piece)
            if number is not None and piece not in index.han_words and piece not in words.chinese:
                result.append(Token(piece, str(number), str(number), TokenKind.NUMBER))
            elif named := [words for words in index.compounds.get(norm, ()) if _is_one_name(words, index)]:
                half = max(1, len(piece) // 2)
                parts = zip((piece[:half], piece[half:]), named[0], strict=True)
                result += [Token(text, word, word, TokenKind.HAN) for text, word in parts]
            else:
                result.append(Token(piece, norm, norm, TokenKind.HAN))
    return result


def _around_values(run: str, index: CatalogIndex) -> list[str]:
    """Return a run of Chinese cut around what is stored just so: 进行中 of 进行中的项目, whose signs are words of their own."""
    parts: list[str] = []
    begun = place = 0
    while place < len(run):
        ends = range(min(len(run), place + _VALUE_SIGNS_MAX), place + _VALUE_SIGNS_MIN - 1, -1)
        end = next((end for end in ends if (run[place:end],) in index.values), None)
        if end is None:
            place += 1
            continue
        parts += [run[begun:place], run[place:end]]
        begun = place = end
    return [part for part in (*parts, run[begun:]) if part]


def _is_one_name(words: tuple[str, str], index: CatalogIndex) -> bool:
    """Whether something of the catalog is called by both words."""
    return any(item.score >= _SHARED_SCORE_MIN for item in recalled(words, index, bounded=False))


def _share_nouns(tokens: list[Token], index: CatalogIndex) -> list[Token]:
    """ "First and last name" becomes "first name and last name" where the catalog has both and knows no "first" alone."""
    result = list(tokens)
    place = 0
    while place + 3 < len(result):
        one, joint, other, noun = result[place : place + 4]
        if joint.norm in {"and", "or", "&"} and all(column.kind is TokenKind.WORD for column in (one, other, noun)):
            alone = max(
                (table.score for table in recalled([one.base], index, bounded=False) if table.column is not None),
                default=0.0,
            )
            both = [
                max((table.score for table in recalled([item.base, noun.base], index, bounded=False)), default=0.0)
                for item in (one, other)
            ]
            plain = (
                noun.norm in lexicon().stopwords or one.norm in lexicon().stopwords or other.norm in lexicon().stopwords
            )
            if not plain and min(both) >= _SHARED_SCORE_MIN and alone < _SHARED_SCORE_MIN:
                result.insert(place + 1, noun)
                place += 2
        place += 1
    return result


class _Words:
    """The union of several word lists, without building it."""

    def __init__(self, *lists: object) -> None:
        self._lists = lists

    def __contains__(self, word: object) -> bool:
        return any(word in list_ for list_ in self._lists) or chinese_number(str(word)) is not None  # pyright: ignore[reportOperatorIssue]


def _spans_from(tokens: Sequence[Token], start: int, index: CatalogIndex, today: date) -> list[Span]:
    first = tokens[start]
    result = [_single(tokens, start, index)]
    if is_origin(tokens, start):
        return result
    period = read_period(tokens, start, today)
    if period is not None:
        end, read = period
        text = text_of(tokens, start, end)
        # Above its words taken one by one: 最近30天 is no ranking by what is most recent. "May" is what a column of months holds.
        is_stored = end == start + 1 and (first.norm,) in index.values
        # Where a column is called "last year", it is that.
        is_column = end - start > 1 and index.knows("_".join(token.base for token in tokens[start:end]))
        weight = 0.3 if is_stored or is_column else 1.02 * (end - start) + 0.1
        result.append(Span(start, end, weight, Node(NodeKind.PERIOD, text, period=read)))
    clock = read_clock(tokens, start)
    if clock is not None:
        end, at = clock
        result.append(
            Span(
                start, end, 1.02 * (end - start) + 0.1, Node(NodeKind.RECURRING, text_of(tokens, start, end), clock=at)
            )
        )
    days = days_of_weeks(first.norm)
    rows = index.called_by(tokens[start + 1].base) if start + 1 < len(tokens) else []
    # "A weekend ticket", where tickets are stored as such.
    is_kind = any(hit.table in rows for hit in index.values.get((first.norm,), ()))
    if days and not is_kind:
        result.append(Span(start, start + 1, 1.12, Node(NodeKind.RECURRING, first.text, days=tuple(days))))
    if first.kind is TokenKind.QUOTED:
        node = Node(NodeKind.TEXT, first.text, candidates=stored_as(first.text, index), quoted=True)
        return [Span(start, start + 1, 1.0, node)]
    result += phrases(tokens, start, index)
    result += _links(tokens, start, index)
    return result + numbered(tokens, start, index)


def _single(tokens: Sequence[Token], start: int, index: CatalogIndex) -> Span:
    token = tokens[start]
    words = lexicon()
    if token.kind is TokenKind.NUMBER:
        return Span(start, start + 1, 1.0, Node(NodeKind.NUMBER, token.text, number=_number(token.norm)))
    if token.kind is TokenKind.MARK:
        return Span(start, start + 1, 0.0, Node(NodeKind.MARK, token.text))
    if token.norm in words.numbers and token.norm != "one":
        return Span(start, start + 1, 0.9, Node(NodeKind.NUMBER, token.text, number=words.numbers[token.norm]))
    if token.norm == "one" and start + 1 < len(tokens) and tokens[start + 1].norm == "or":
        return Span(start, start + 1, 0.9, Node(NodeKind.NUMBER, token.text, number=1))
    if token.norm == "one" and start and tokens[start - 1].norm in {"than", "least", "most", "only", "exactly", "just"}:
        return Span(start, start + 1, 0.9, Node(NodeKind.NUMBER, token.text, number=1))
    if token.norm == "one" and _counts_rows(tokens, start, index):
        return Span(start, start + 1, 0.9, Node(NodeKind.NUMBER, token.text, number=1))
    if token.norm in words.ordinals:
        return Span(start, start + 1, 0.6, Node(NodeKind.NUMBER, token.text, number=words.ordinals[token.norm]))
    if is_origin(tokens, start):
        return Span(start, start + 1, 0.05, Node(NodeKind.STOP, token.text))
    if _is_ever_done(tokens, start):
        return Span(start, start + 1, 0.05, Node(NodeKind.STOP, token.text))
    if takes_place(tokens, start):
        return Span(start, start + 1, 0.05, Node(NodeKind.STOP, token.text))
    stops = words.chinese_stopwords if token.kind is TokenKind.HAN else words.stopwords
    # "Grade A" is no article.
    is_grade = token.text == "A" and start and (start + 1 == len(tokens) or tokens[start + 1].kind is TokenKind.MARK)
    if not is_grade and (token.norm in stops or token.norm in words.verbs):
        return Span(start, start + 1, 0.05, Node(NodeKind.STOP, token.text))
    capital = token.text[:1].isupper() and start > 0
    return Span(start, start + 1, 0.0, Node(NodeKind.WORD, token.text, capital=capital))


def _counts_rows(tokens: Sequence[Token], start: int, index: CatalogIndex) -> bool:
    """Whether "one" says how many there are: "directors who made one movie", "customers with one order"."""
    following = tokens[start + 1] if start + 1 < len(tokens) else None
    before = tokens[start - 1].norm if start else ""
    is_verb = before in _HAVING or before in lexicon().verbs or before.endswith("ed")
    if not is_verb or following is None or following.norm != following.base:
        return False
    # "Got one star": what is counted, or the figure's unit.
    return bool(index.called_by(following.base) or (before in _HAVING and index.similar(following.base)))


_HAVING: Final = frozenset({"have", "has", "had", "with", "made", "got", "get", "gets", "received", "receive", "gave"})


def _is_ever_done(tokens: Sequence[Token], start: int) -> bool:
    """Whether a participle says no more than the superlative before it: "the highest fee ever charged"."""
    if start < 2 or tokens[start - 1].norm != "ever" or not tokens[start].norm.endswith("ed"):
        return False
    said = (phrase.op for token in tokens[:start] for phrase in lexicon().english.get((token.norm,), ()))
    return any(op in _EXTREMES for op in said)


_EXTREMES = frozenset({Op.HIGHEST, Op.LOWEST, Op.MAXIMUM, Op.MINIMUM})


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


_BRIDGING = word_set(
    """
    of the in for to on 's a - at by s . they it was were their its his her
    """
)
_BOUNDING = frozenset(
    {"their", "its", "his", "her", "they", "it", "was", "were", "of", "for", "in", "'s", "to", "on", "by", "at"}
)


_WITHIN_NAMES: Final = frozenset({"_", "-"})


def _named(
    words: Sequence[str], tokens: Sequence[Token], start: int, end: int, index: CatalogIndex, *, bounded: bool
) -> list[Candidate]:
    """Return what of the catalog the words from one place to another may name."""
    token, stops = tokens[end - 1], lexicon().stopwords
    # "Check out" is a column of that name, though its second word says nothing elsewhere.
    # "Of each kind", "by make" name what the groups are; elsewhere, and in "each kind of", the word says nothing.
    is_of = end < len(tokens) and tokens[end].norm == "of"
    is_grouped = start > 0 and tokens[start - 1].norm in GROUPING and not is_of
    # "The make of the car" names a thing, though to make is a verb.
    is_thing = is_of and start > 0 and tokens[start - 1].norm == "the" and token.norm in stops
    is_name = (len(words) > 1 or is_grouped or is_thing) and "\0" not in words and index.knows("_".join(words))
    # "Costs per" truck is no start of `price_per_litre`.
    is_nothing = not is_name and (_is_function_word(token, tokens[start]) or words[-1] == "per")
    if len(words) > LINK_WORDS_MAX or "\0" in words or is_nothing or counts_several(tokens, start, end):
        return []
    light = (token.norm in stops or tokens[start].norm in stops) and not is_grouped and not is_name
    found = recalled(words, index, bounded=bounded)
    if not found and len(words) > 1 and token.base in lexicon().fillers:
        found = _without_filler(words[:-1], token.base, index, bounded=bounded)
    if not found and len(words) > 1 and token.base == "year":
        # "Founding year" of a column that is called `founded`.
        found = tuple(
            replace(one, score=one.score - _FILLER_COST)
            for one in recalled(words[:-1], index, bounded=bounded)
            if one.column is not None and holds_years(index.column(one.table, one.column))
        )
    if not found and len(words) > 1 and token.base == "time":
        # "Preparation time" of a column that is called `prep_minutes`.
        found = tuple(
            replace(one, score=one.score + _FILLER_COST)
            for one in recalled(words[:-1], index, bounded=bounded)
            if one.column is not None and one.value is None and _lasts(index.column(one.table, one.column))
        )
    # "At least two schools founded after 1880": two schools, and no year.
    are_counted = len(words) == 2 and token.norm.endswith("ed") and counts_rows(tokens, start, index)
    found = tuple(one for one in found if one.column is None) if are_counted else found
    return [one for one in found if not light or one.score >= LIGHT_SCORE_MIN]


def _lasts(column: Column) -> bool:
    """Whether a column counts minutes, hours or days by its name."""
    unit = unit_of_measure(name_words(column.name)[-1]) if name_words(column.name) else None
    return unit is not None and unit[0] == "time" and column.kind in (ColumnKind.INTEGER, ColumnKind.NUMBER)


def _links(tokens: Sequence[Token], start: int, index: CatalogIndex) -> list[Span]:
    spans: list[Span] = []
    if tokens[start].kind is TokenKind.MARK:
        return spans
    stops = lexicon().stopwords
    words: list[str] = []
    bounded = is_of_rows = is_whole = False
    for end in range(start + 1, min(start + SPAN_TOKENS_MAX, len(tokens)) + 1):
        token = tokens[end - 1]
        candidates: list[Candidate] = values_at(tokens, start, end, index)
        is_bridge = token.norm in _BRIDGING
        is_within = token.norm == "in" and len(words) == 1 and tokens[start].norm != tokens[start].base
        is_of_rows = is_of_rows or is_within
        if token.kind is TokenKind.QUOTED or (is_within and index.called_by(words[0])):
            # "Products in the category 'Seeds'" are products, and no product categories.
            break
        if is_bridge and end - start > 1 and not index.knows("_".join([*words, token.base])):
            bounded = bounded or token.norm in _BOUNDING
        elif token.norm in _WITHIN_NAMES and words and words != ["\0"]:
            # "Check-in", check_out.
            continue
        elif token.kind is TokenKind.MARK or (token.kind is TokenKind.NUMBER and not words):
            words = ["\0"]
        else:
            words.append(token.base)
            # "Rank of the year", as a column is called to the letter.
            said = [item.base for item in tokens[start:end] if item.norm not in _WITHIN_NAMES]
            is_whole = len(said) > len(words) and "\0" not in words and index.knows("_".join(said))
            named = said if is_whole else words
            candidates += _named(named, tokens, start, end, index, bounded=bounded and not is_whole)
        if not candidates:
            continue
        candidates = links_meant(candidates, tokens, start, end, index)
        # "The items in order 1" are no order items, and "budgets in millions" are budgets.
        candidates = [one for one in candidates if not is_of_rows or one.column is not None]
        if not candidates:
            continue
        candidates.sort(key=lambda link: -link.score)
        best = candidates[0].score
        if best < EXACT_SCORE and is_figure_of(tokens[start], words[1:], index):
            continue
        kept = closest(candidates, tokens[start], token, index)
        content = sum(
            1
            for token in tokens[start:end]
            if (token.norm not in stops or token.norm in lexicon().light_words) and token.kind is not TokenKind.MARK
        )
        weight = (
            best * max(content, 0.5)
            - (0.25 if bounded and not is_whole else 0.0)
            + 0.1 * (end - start - 1)
            + (0.05 * len(tokens[start].text) if tokens[start].kind is TokenKind.HAN else 0.0)
        )
        # "Pilot names", where a column holds the pilots: no names of others.
        weight += _LABEL_WEIGHT if _is_label_of(words, index) else 0.0
        node = Node(NodeKind.LINK, text_of(tokens, start, end), candidates=kept)
        spans.append(Span(start, end, weight, node))
    return spans


_LABEL_WEIGHT: Final = 0.15


def _is_label_of(words: Sequence[str], index: CatalogIndex) -> bool:
    """Whether words end with one for a name, and those before it are all that a column of texts is called."""
    if len(words) < 2 or "\0" in words or words[-1] not in lexicon().label_words or index.knows("_".join(words)):
        return False
    found = [link for link in recalled(list(words[:-1]), index, bounded=False) if link.score >= EXACT_SCORE]
    return bool(found) and all(
        link.column is not None and index.column(link.table, link.column).kind is ColumnKind.TEXT for link in found
    )


def _without_filler(words: Sequence[str], filler: str, index: CatalogIndex, *, bounded: bool) -> tuple[Candidate, ...]:
    """ "Director name" for a column of directors: the last word adds nothing."""
    labels = filler in lexicon().label_words

    def is_other(link: Candidate) -> bool:
        # "Tip percentage" is no tip.
        return filler == "percentage" and link.column is not None and is_additive(index, link.table, link.column)

    return tuple(
        replace(table, score=table.score - _FILLER_COST)
        for table in recalled(words, index, bounded=bounded)
        if table.column is not None
        and (index.column(table.table, table.column).kind is ColumnKind.TEXT or not labels)
        and table.score >= _SHARED_SCORE_MIN
        and not is_other(table)
    )


def _is_function_word(*ends: Token) -> bool:
    words = lexicon()
    return any(item.norm in words.stopwords and item.norm not in words.light_words for item in ends)


def _without_named_negations(nodes: Sequence[Node], index: CatalogIndex) -> list[Node]:
    """Return the nodes with each negation joined to the name behind it: what is out of service has `is_out_of_service`."""
    result: list[Node] = []
    for node in nodes:
        said = tuple(result[-1].text.lower().split()) if result and result[-1].op is Op.NOT else ()
        within = tuple(
            one for one in node.candidates if said and any(_holds(name, said) for name in _names(one, index))
        )
        if within:
            named = tuple(replace(one, score=max(one.score, EXACT_SCORE)) for one in within)
            result[-1] = Node(NodeKind.LINK, f"{result[-1].text} {node.text}", candidates=named)
        else:
            result.append(node)
    return result


def _names(candidate: Candidate, index: CatalogIndex) -> Iterator[tuple[str, ...]]:
    if candidate.value is None:
        table = index.table(candidate.table)
        thing = table if candidate.column is None else table.columns[candidate.column]
        yield from (tuple(name_words(name)) for name in (thing.name, *thing.display_names.values()))


def _holds(name: Sequence[str], said: Sequence[str]) -> bool:
    return any(tuple(name[at : at + len(said)]) == tuple(said) for at in range(len(name)))
