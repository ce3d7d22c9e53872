"""Which links of a span are meant: those that its neighbours do not speak against, and that no other of the table outdoes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from querybus.core.catalog import ColumnKind
from querybus.text.labels import flag_values
from querybus_translator.language.lexicon import FIGURES, POSSESSIVES, Op, lexicon
from querybus_translator.language.names import name_words
from querybus_translator.language.time.words import unit_of
from querybus_translator.language.tokens import Token, TokenKind
from querybus_translator.language.units import unit_of_measure
from querybus_translator.schema.chinese import TRANSLATED
from querybus_translator.schema.comparison import CANDIDATES_MAX, EXACT_SCORE, Candidate, recalled
from querybus_translator.schema.counted import GROUPING, of_counts
from querybus_translator.schema.index import RELATED, CatalogIndex
from querybus_translator.schema.labels import holds_years, labels
from querybus_translator.schema.other_names import doers_of

_BELOW_BEST_MAX: Final = 0.42
_BELOW_EXACT_MAX: Final = 0.25
_BELOW_CALLED_MAX: Final = 0.35
"""Of a column that is called just so: "hours" beside an hourly wage."""


LIGHT_SCORE_MIN: Final = 0.9


def takes_place(tokens: Sequence[Token], start: int) -> bool:
    """Whether "place" is a part of the verb: "which shows take place in May?"."""
    if tokens[start].norm == "part" and start:
        return tokens[start - 1].base in _TAKE
    if tokens[start].norm != "place" or not start:
        return False
    # "How many orders did Ann place": nor is it where.
    return tokens[start - 1].base in _TAKE or any(token.norm in _AUXILIARIES for token in tokens[:start])


_AUXILIARIES: Final = frozenset({"did", "do", "does"})
_TAKE = frozenset({"take", "took", "taking", "taken"})


_FIGURES = frozenset({Op.AVERAGE, Op.MAXIMUM, Op.MINIMUM})


_COMPARED: Final = frozenset({"above", "below", "than", "over", "under", "exceeds", "exceed"})


def _asks_for_figure(tokens: Sequence[Token], start: int) -> bool:
    """Whether a word such as "average" stands before what it is the average of, or is what something is compared with."""
    if not any(phrase.op in _FIGURES for phrase in lexicon().english.get((tokens[start].norm,), ())):
        return False
    before = [token.norm for token in tokens[max(0, start - 2) : start] if token.norm != "the"]
    if before and before[-1] in _COMPARED:
        return True
    following = tokens[start + 1] if start + 1 < len(tokens) else None
    return (
        following is not None
        and following.kind is TokenKind.WORD
        and following.norm not in lexicon().stopwords
        and (following.norm,) not in lexicon().english
    )


def links_meant(
    candidates: list[Candidate], tokens: Sequence[Token], start: int, end: int, index: CatalogIndex
) -> list[Candidate]:
    """Return the links of a span without those that its neighbours speak against."""
    token = tokens[end - 1]
    candidates = _of_one_thing(candidates, tokens[start:end], index)
    if end - start == 1 and token.norm in lexicon().verbs:
        candidates = [
            link
            for link in candidates
            if not _is_only_done(tokens, start, link, index) and not _is_part_of_flag(link, index)
            if not _is_done_to_rows(tokens, start, link, index)
        ]
    if end - start == 1 and any(
        phrase.op is Op.SUM
        for phrase in (*lexicon().english.get((token.norm,), ()), *lexicon().chinese.get(token.norm, ()))
    ):
        # "Total", also in "total tips", asks for a sum, unless a column, or in capitals a company, bears just that name.
        candidates = [
            candidate
            for candidate in candidates
            if (candidate.value is not None and token.text[:1] != token.norm[:1])
            or (_is_bare_name(token.base, candidate, index) and not _stands_before_figure(tokens, start, index))
        ]
    if end - start == 1 and _asks_for_figure(tokens, start):
        # "Average age" asks for an average, though some column is called "average".
        candidates = []
    if end - start > 2 and tokens[start].norm.endswith("ed") and tokens[start + 1].norm in {"a", "an"}:
        # "Opened a ticket" is done, and no name of a column.
        candidates = [link for link in candidates if link.column is None]
    if end - start == 1 and _is_done_to(tokens, start):
        # "Opens the most tickets": what is done, and not the state in which they are.
        candidates = [link for link in candidates if link.value is None]
    candidates = _own_years(_said_by_deeds(candidates, tokens, start, end, index), tokens, start, end, index)
    candidates = _not_said_by_rule(candidates, tokens[start:end], index)
    candidates = of_counts(candidates, tokens, start, end, index)
    is_led = start > 0 and (
        tokens[start - 1].norm in GROUPING
        or (start > 2 and tokens[start - 1].norm == "and" and tokens[start - 3].norm in GROUPING)
    )
    is_asked = start > 0 and tokens[start - 1].norm in {"which", "what"}
    is_step = unit_of(token.norm) is not None or (is_asked and unit_of_measure(token.norm) is not None)
    if end - start == 1 and (is_led or is_asked) and is_step:
        # "By month", "by cause and year" cut time, unless a column is called exactly so.
        candidates = [candidate for candidate in candidates if candidate.score >= LIGHT_SCORE_MIN]
    if end - start == 1 and start and tokens[start - 1].norm in GROUPING and any(not link.value for link in candidates):
        # "By waiter": no group is one value.
        candidates = [link for link in candidates if not link.value]
    if end - start == 1 and start and is_figure(tokens[start - 1]) and unit_of_measure(token.norm) is not None:
        # "Two hours": the unit of the figure, unless a column is called exactly so.
        candidates = [link for link in candidates if link.score >= LIGHT_SCORE_MIN]
    if end - start == 1 and takes_place(tokens, start):
        candidates = [link for link in candidates if link.score >= LIGHT_SCORE_MIN]
    if end - start > 1 and token.kind is TokenKind.HAN:
        # 城市读者 are readers; only 读者城市 is their city.
        things = {link.table for link in recalled([token.base], index, bounded=False) if link.column is None}
        candidates = [link for link in candidates if link.column is None or link.value or link.table not in things]
    return candidates


def _is_done_to(tokens: Sequence[Token], place: int) -> bool:
    """Whether a word in -s stands between those who do something and how much of it they do: "which company opens the most tickets"."""
    behind = tokens[place + 1].norm if place + 1 < len(tokens) else ""
    is_verb = place > 1 and tokens[place].norm.endswith("s") and tokens[place - 2].norm in {"which", "what", "that"}
    return is_verb and behind in {"the", "most", "more", "fewer", "a", "an", "any", "no", "at", "over"}


_PAIR: Final = 2


def _of_one_thing(candidates: list[Candidate], span: Sequence[Token], index: CatalogIndex) -> list[Candidate]:
    """Return the links of a span that is one thing, and no list and no column with what it holds."""
    if any(one.norm == "and" and other.norm in _LEADS_NOUN for one, other in pairwise(span)):
        # "Courses and the login names", also where a table is called "course authors and tutors".
        return []
    if len(span) == 1 or span[0].text[:1].isupper() or not span[-1].text[:1].isupper():
        return candidates
    # "Result Nominated", though the rows are nominations.
    held = {(hit.table, hit.column) for hit in index.values.get((span[-1].norm,), ())}
    return [link for link in candidates if link.value or (link.table, link.column) not in held]


_LEADS_NOUN: Final = frozenset({"the", "a", "an", *POSSESSIVES})


def _said_by_deeds(
    candidates: list[Candidate], tokens: Sequence[Token], start: int, end: int, index: CatalogIndex
) -> list[Candidate]:
    """Return links by what was done, when, by whom, and of what kind those are."""
    token = tokens[end - 1]
    if end - start == 1 and (token.norm.endswith("ed") or token.norm in lexicon().verbs) and _asks_when(tokens, start):
        candidates = [_named_by_deed(link, index) for link in candidates]
    if end - start == 1 and end < len(tokens) and tokens[end].norm == "by" and token.norm.endswith("ed"):
        said = {other.base for other in tokens[end : end + 3]}
        candidates = [_done_by_these(link, token, said, index) for link in candidates]
    candidates = [link for link in candidates if not _is_their_doer(tokens, end - 1, link, index)]
    candidates = _without_bridges(_kinds_first(candidates), index)
    if start and tokens[start - 1].norm in _COPULAS and end == len(tokens) - (tokens[-1].kind is TokenKind.MARK):
        # "Which employees are managers": those whose kind is stored so, and not those whom others refer to by that name.
        kinds = [link for link in candidates if link.value is not None]
        is_role = any(link.table >= len(index.catalog.tables) for link in candidates)
        candidates = kinds if kinds and is_role else candidates
    if end - start == _PAIR and token.norm.endswith("ed") and end < len(tokens) and tokens[end].norm == "by":
        # "Teams sponsored by": the teams, and not the rows that bring them and their sponsors together.
        named = index.called_by(tokens[start].base)
        candidates = [
            link
            for link in candidates
            if link.column is not None or not named or len(name_words(index.table(link.table).name)) > _PAIR
        ]
    return candidates


def _done_by_these(link: Candidate, token: Token, said: set[str], index: CatalogIndex) -> Candidate:
    """ "Supplied by Acme": by one of the suppliers, where they are not named themselves."""
    words = index.table_words[link.table]
    if link.column is not None or words.isdisjoint(doers_of(token.norm)) or said & words:
        return link
    return replace(link, score=max(link.score, LIGHT_SCORE_MIN))


def _kinds_first(candidates: list[Candidate]) -> list[Candidate]:
    """ "Professors" are those of a table of instructors who are stored as such, and not all of them, whom the word resembles."""
    alike = {link.table for link in candidates if link.column is None and _ALIKE_MIN <= link.score < _ALIKE_MAX}
    return [
        replace(link, score=max(link.score, _KIND_SCORE)) if link.value is not None and link.table in alike else link
        for link in candidates
    ]


def _without_bridges(candidates: list[Candidate], index: CatalogIndex) -> list[Candidate]:
    """ "Ingredients" are those of the table that is called so, and not the rows that only say what has them."""
    named = {link.table for link in candidates if link.column is None and link.score >= _NAMED_MIN}

    sources = {role.source for table in named if (role := index.role(table)) is not None}

    def brings(link: Candidate) -> bool:
        if link.column is None and link.table in sources and link.score < _KIND_SCORE:
            # "Followers" are those who follow, and not the rows that say whom.
            return True
        if link.column is not None or link.score >= _ALIKE_MIN or len(index.table(link.table).primary_key) < _PAIR:
            return False
        return any(edge.source == link.table and edge.target in named for edge in index.graph.edges_of(link.table))

    return [link for link in candidates if not brings(link)] if named else candidates


_NAMED_MIN: Final = 0.99
_COPULAS: Final = frozenset({"is", "are", "was", "were"})
_ALIKE_MIN, _ALIKE_MAX = 0.8, 0.85
"""So close is a word of the thesaurus, and no other form of the same word."""
_KIND_SCORE: Final = 0.95


def _asks_when(tokens: Sequence[Token], place: int) -> bool:
    """Whether it is asked or said when something was done: "when was she hired", "hired most recently", "opened after 1990"."""
    behind = [token.norm for token in tokens[place + 1 : place + 3]]
    first = [token.norm for token in tokens[:3]]
    asks_year = first[:2] in _WHICH_YEAR or first[1:] in _WHICH_YEAR
    is_said = bool(behind) and behind[0] in _BOUNDS and behind[-1].isdigit() and len(behind[-1]) == _YEAR_DIGITS
    is_first = bool(behind) and behind[behind[0] == "most" and len(behind) > 1] in _IN_TIME
    return tokens[0].norm == "when" or asks_year or is_said or is_first


_WHICH_YEAR: Final = (["which", "year"], ["what", "year"])
_YEAR_DIGITS: Final = 4
_BOUNDS: Final = frozenset({"after", "before", "since", "in", "until", "between", "from", "by"})
_IN_TIME: Final = frozenset({"first", "last", "earliest", "latest", "recently"})


def _named_by_deed(link: Candidate, index: CatalogIndex) -> Candidate:
    """ "When was she hired": what is done is the whole name of the column that says when, but for the word for a time."""
    if link.column is None or link.value is not None or link.with_table:
        return link
    words = name_words(index.column(link.table, link.column).name)
    is_named = len(words) == 2 and words[-1] in _TIMES_NAMED
    return replace(link, score=max(link.score, _DEED_SCORE)) if is_named else link


_TIMES_NAMED: Final = frozenset({"date", "year", "time", "day", "on", "at"})
_DEED_SCORE: Final = 0.9


def _with_said_head(candidates: list[Candidate], head: Token, index: CatalogIndex) -> list[Candidate]:
    """ "Fuel price": where a column of the table has the very word, those that have another for it are not meant."""

    def says(link: Candidate) -> bool:
        names = index.entry_of_column(link.table, link.column).names if link.column is not None else ()
        return any(head.base in name for name in names)

    said = {link.table for link in candidates if link.value is None and says(link)}
    return [
        link
        for link in candidates
        if link.column is None or link.value is not None or link.table not in said or says(link)
    ]


def _is_outdone(link: Candidate, exactly: Sequence[Candidate], *, is_label: bool) -> bool:
    """Whether a link is no more than like something of the same table that is called just so, or a kindred word for what is.

    "Rating" beside a column of that name is no other word for its table of reviews, "repairs" none for the day of one.
    """
    if link.score == RELATED and any(other.column is not None for other in exactly) and not is_label:
        return True
    is_less = link.score < LIGHT_SCORE_MIN or (link.column is not None and link.score < EXACT_SCORE)
    return is_less and any(link is not other and link.table == other.table for other in exactly)


def _is_key_of_role(link: Candidate, exactly: Sequence[Candidate], index: CatalogIndex) -> bool:
    """Whether a link is no more than the key by which a role is known that is called just so: "end station" is a station."""
    if link.column is None or link.value is not None or link.score >= EXACT_SCORE:
        return False
    roles = [role for other in exactly if other.column is None and (role := index.role(other.table)) is not None]
    name = index.column(link.table, link.column).name
    # "President votes" may be counted by the key: they are not called students.
    return any(
        (role.source, role.column) == (link.table, name)
        and any(not index.table_words[role.table].isdisjoint(words) for words in role.names)
        for role in roles
    )


def _is_key_of_rows(link: Candidate, exactly: Sequence[Candidate], index: CatalogIndex) -> bool:
    """Whether a link is the key to rows that are called just so and have a name: "teams" are teams, and no numbers of players."""
    if link.column is None or link.value is not None:
        return False
    rows = {other.table for other in exactly if other.column is None and index.role(other.table) is None}
    name = index.column(link.table, link.column).name
    return any(
        edge.source == link.table
        and edge.source_columns == (name,)
        and edge.target in rows
        and edge.target != link.table
        and all(
            index.column(label.table, label.column).name not in edge.target_columns
            for label in labels(index, edge.target)
        )
        for edge in index.graph.edges_of(link.table)
    )


def is_figure_of(token: Token, behind: Sequence[str], index: CatalogIndex) -> bool:
    """Whether a word works out what the words behind it name: "total quantity" is no `total_amount` where there are quantities."""
    works_out = any(phrase.op in FIGURES for phrase in lexicon().english.get((token.norm,), ()))
    return works_out and any(link.score >= EXACT_SCORE for link in recalled(list(behind), index, bounded=False))


def is_figure(token: Token) -> bool:
    return token.kind is TokenKind.NUMBER or token.norm in lexicon().numbers


_MOST: Final = frozenset({"most", "fewest", "least", "more", "fewer", "less"})


_DATES: Final = frozenset({ColumnKind.DATE, ColumnKind.DATETIME})


def _is_only_done(tokens: Sequence[Token], start: int, link: Candidate, index: CatalogIndex) -> bool:
    """Whether a verb says what is done: who "sold the most tickets" is ranked by tickets, by no column named after selling."""
    if link.column is None or link.value is not None:
        return False
    rest = [item.norm for item in tokens[start + 1 : start + 4]]
    if rest[:1] == ["the"]:
        del rest[0]
    if not rest or rest[0] not in _MOST:
        return False
    named = index.column(link.table, link.column)
    has_object = len(rest) > 1 and rest[1] not in lexicon().stopwords and rest[1].isalpha()
    return has_object or (named.kind in _DATES and not named.nullable)


def _is_their_doer(tokens: Sequence[Token], place: int, link: Candidate, index: CatalogIndex) -> bool:
    """Whether a verb resembles those who do it: "papers published in 2020" ask for no publisher."""
    if link.column is None or link.value is not None or not tokens[place].norm.endswith("ed"):
        return False
    behind = tokens[place + 1].norm if place + 1 < len(tokens) else ""
    named = name_words(index.column(link.table, link.column).name)
    return behind != "by" and bool(named) and named[-1] in doers_of(tokens[place].norm)


def _own_years(
    candidates: list[Candidate], tokens: Sequence[Token], start: int, end: int, index: CatalogIndex
) -> list[Candidate]:
    """ "Papers each year": by the year of the papers that are named, and not that of what is not spoken of."""
    if end - start != 1 or tokens[start].base != "year" or not candidates:
        return candidates
    named = {table for token in tokens for table in index.called_by(token.base)}
    if not named or any(
        link.column is None or (link.table in named and link.score >= LIGHT_SCORE_MIN) for link in candidates
    ):
        return candidates
    own = [
        Candidate(table, number, None, _OWN_YEAR)
        for table in sorted(named)
        if table < len(index.catalog.tables)
        for number, column in enumerate(index.table(table).columns)
        if column.kind is ColumnKind.INTEGER and holds_years(column)
    ]
    return own if len(own) == 1 else candidates


_OWN_YEAR: Final = 0.95


def _is_done_to_rows(tokens: Sequence[Token], start: int, link: Candidate, index: CatalogIndex) -> bool:
    """Whether a verb says of rows what happens to them: "species seen in Utah" ask for no `num_seen`, which the word only resembles."""
    if not start or link.column is None or link.value is not None or link.score >= _ALIKE_MIN:
        return False
    kind = index.column(link.table, link.column).kind
    if kind not in (ColumnKind.INTEGER, ColumnKind.NUMBER) or index.is_key(link.table, link.column):
        return False
    if any(token.norm in _OFTEN_OR_NEVER for token in tokens):
        return False
    said = [token.norm for token in tokens[:start]]
    counts = not _COUNTING.isdisjoint(said)
    return said[-1] in _HAVING or (said[-1] in _COPULAS_PAST and not counts)


_OFTEN_OR_NEVER: Final = frozenset({"never", "not", "n't", "times", "often", "once", "twice", "frequently"})
_COUNTING: Final = frozenset({"how", "number", "total", "average", "sum", "amount", "most", "least", "fewest"})
_HAVING: Final = frozenset({"have", "has", "had"})
_COPULAS_PAST: Final = frozenset({"is", "are", "was", "were", "been"})


def _not_said_by_rule(candidates: list[Candidate], span: Sequence[Token], index: CatalogIndex) -> list[Candidate]:
    """Return the links of words that are no unit of time and no superlative by themselves."""
    if len(span) == 1 and unit_of(span[0].norm) is not None:
        # A year lasts, and is no `duration`.
        return [link for link in candidates if link.score != RELATED]
    if len(span) == 1 and span[0].norm == "单价":
        # The price of one is no total.
        return [
            link
            for link in candidates
            if link.column is None or "total" not in index.column(link.table, link.column).name.lower()
        ]
    said = lexicon().english.get(tuple(item.norm for item in span), ()) if len(span) > 1 else ()
    if any(phrase.op in _RANKING for phrase in said):
        # "The most popular format" is no `most_popular_in`.
        return [link for link in candidates if link.score >= EXACT_SCORE]
    return candidates


_RANKING: Final = frozenset({Op.COMMON, Op.RARE, Op.MOST, Op.FEWEST})


def _stands_before_figure(tokens: Sequence[Token], start: int, index: CatalogIndex) -> bool:
    """Whether the next word is just what a column of figures is called."""
    following = tokens[start + 1] if start + 1 < len(tokens) else None
    named = () if following is None else recalled([following.base], index, bounded=False)
    return any(
        link.column is not None and link.score >= EXACT_SCORE and index.holds_figures(link.table, link.column)
        for link in named
    )


def _is_part_of_flag(link: Candidate, index: CatalogIndex) -> bool:
    """Whether a verb is no more than a word of a flag: what was sold is not "sold out"."""
    if link.column is None or link.value is not None:
        return False
    names = index.entry_of_column(link.table, link.column).names
    # `is_paid` says no more than paid.
    said = [name[1:] if name[0] in {"is", "has", "was"} else name for name in names]
    return flag_values(index.column(link.table, link.column)) is not None and all(len(name) > 1 for name in said)


def _is_bare_name(word: str, candidate: Candidate, index: CatalogIndex) -> bool:
    entry = index.entries_of_table(candidate.table)
    if candidate.column is not None:
        entry = index.entry_of_column(candidate.table, candidate.column)
    return (word,) in entry.names


def closest(candidates: list[Candidate], first: Token, head: Token, index: CatalogIndex) -> tuple[Candidate, ...]:
    """Return the links of a span from its first word to its head that are close enough to its best one, best first."""
    is_chinese = first.kind is TokenKind.HAN
    # Where a word is all of a table's name, columns that merely hold it among others are not meant.
    whole = TRANSLATED if is_chinese else EXACT_SCORE
    best = candidates[0].score
    is_table = best >= whole and any(link.column is None and link.score >= whole for link in candidates[:3])
    is_called = best >= EXACT_SCORE and not is_chinese
    least = best - (_BELOW_EXACT_MAX if is_table else _BELOW_CALLED_MAX if is_called else _BELOW_BEST_MAX)
    candidates = _with_said_head(candidates, head, index)
    exactly = [
        link
        for link in candidates
        if link.score >= EXACT_SCORE or (link.column is None and link.score >= whole and head.kind is TokenKind.HAN)
    ]
    return tuple(
        link
        for link in candidates
        if link.score >= least
        and not _is_outdone(link, exactly, is_label=head.base in lexicon().label_words)
        and not _is_key_of_role(link, exactly, index)
        and not _is_key_of_rows(link, exactly, index)
        and not _refers_to_whole(link, exactly, index)
    )[:CANDIDATES_MAX]


def _refers_to_whole(link: Candidate, exactly: Sequence[Candidate], index: CatalogIndex) -> bool:
    """Whether a link is with rows that only bring in those that the word is all of the name of: 比赛 is a match, and no entry to one."""
    called = {other.table for other in exactly if other.column is None}
    edges = index.graph.edges_of(link.table) if link.column is None and link.table not in called else ()
    return any(edge.source == link.table and edge.target in called for edge in edges)
