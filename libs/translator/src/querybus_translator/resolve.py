"""Which table or column each link means is decided over the whole question, not word by word.

A beam over the candidates: close names score, tables far apart cost, a column next to a table's mention prefers that
table. Returns several assignments, best first, so that a close second can be noticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from querybus.core.catalog import ColumnKind
from querybus_translator.language.lexicon import POSSESSIVES, Op
from querybus_translator.language.names import is_han
from querybus_translator.language.stems import base_form, stem
from querybus_translator.language.time.words import step_at
from querybus_translator.schema.comparison import Candidate
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.other_names import doers_of
from querybus_translator.schema.phrases import Node, NodeKind
from querybus_translator.whose import (
    MENTION_MIN,
    POSSESSIVE_MARKS,
    beside,
    called_by_name,
    in_other_units,
    of_siblings,
    of_whom,
    said_way,
)

BEAM_WIDTH: Final = 24
ASSIGNMENTS_MAX: Final = 4
_JOIN_COST: Final = 0.13
_UNREACHABLE_COST: Final = 1.2
_UNMENTIONED_COST: Final = 0.1
_NEXT_BONUS: Final = 0.16
_OF_BONUS: Final = 0.24
_BEFORE_BONUS: Final = 0.2
_SAME_COLUMN_BONUS: Final = 0.25
_KIND_BONUS: Final = 0.12
_TABLE_BONUS: Final = 0.05
_COUNTED_BONUS: Final = 0.15
_SIBLING_BONUS: Final = 0.15
_SAID_BONUS: Final = 0.12
_DEED_BONUS: Final = 0.06
_AGENT_BONUS: Final = 0.2
_TWICE_COST: Final = 0.4
_NAMED_MIN: Final = 0.9
_UNLINKED_SCORE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Assignment:
    """One candidate per link node (by node place), and the score of the whole."""

    picks: dict[int, Candidate]
    score: float


@dataclass(frozen=True, slots=True)
class _State:
    score: float
    tables: frozenset[int]
    picks: tuple[tuple[int, Candidate], ...]


def resolve(nodes: Sequence[Node], index: CatalogIndex, near: frozenset[int] = frozenset()) -> tuple[Assignment, ...]:
    """Return the best assignments of candidates to links, best first; one empty assignment if nothing was linked.

    `near` are tables that are spoken of already.
    """
    places = [place for place, node in enumerate(nodes) if node.candidates]
    mentioned = {
        candidate.table: candidate.score
        for place in places
        for candidate in nodes[place].candidates
        if (candidate.column is None or candidate.with_table) and candidate.score >= MENTION_MIN
    }
    mentioned |= dict.fromkeys(near, 1.0)
    bonuses = {place: _bonuses(nodes, place, index) for place in places}
    siblings = {place: _siblings(nodes, place) for place in places}
    others = {place: _other_values(nodes, place) for place in places}
    again = {place: _said_before(nodes, place) for place in places}
    said = {place for place in places if _is_said_of_rows(nodes, place)}
    done = {place for place in places if place not in said and _is_done_then(nodes, place, index)}
    owners = {place: of_whom(nodes, place) or of_siblings(nodes, place) for place in places}
    called = {place: called_by_name(nodes, place, index) or said_way(nodes, place, index) for place in places}
    otherwise = {place: in_other_units(nodes, place, index) for place in places}
    order = sorted(places, key=lambda place: (_ambiguity(nodes[place]), place))
    beam = [_State(0.0, near, ())]
    for place in order:
        grown: list[_State] = []
        for state in beam:
            for rank, candidate in enumerate(nodes[place].candidates):
                if place in said and candidate.value is None and candidate.score < _NAMED_MIN:
                    continue
                if place in done and candidate.value is not None:
                    continue
                if called[place] and candidate.value and (candidate.table, candidate.column) not in called[place]:
                    continue
                if owners[place] and candidate.column is not None and candidate.table not in owners[place]:
                    continue
                if (candidate.table, candidate.column) in otherwise[place]:
                    continue
                score = candidate.score + bonuses[place][rank] - _distance_cost(state.tables, candidate.table, index)
                if candidate.table not in mentioned:
                    score -= _UNMENTIONED_COST
                elif candidate.column is not None and mentioned[candidate.table] > 0.9:
                    score += 0.03
                score += _beside_picked(candidate, state, siblings[place], others[place])
                if any(pick == candidate for other, pick in state.picks if other in again[place]):
                    score += _AGAIN_BONUS
                grown.append(
                    _State(
                        state.score + score,
                        state.tables | {candidate.table},
                        (*state.picks, (place, candidate)),
                    )
                )
        # A link that only drags in another table is better left unread.
        grown += [_State(state.score + _UNLINKED_SCORE, state.tables, state.picks) for state in beam]
        grown.sort(key=lambda link: -link.score)
        beam = grown[:BEAM_WIDTH]
    return tuple(Assignment(_in_roles(nodes, dict(link.picks), index), link.score) for link in beam[:ASSIGNMENTS_MAX])


def _said_before(nodes: Sequence[Node], place: int) -> frozenset[int]:
    """ "The names and ages, sorted by name": where what sorts is said in the same words as something before."""
    before = nodes[place - 1] if place else None
    if before is None or before.op not in _SORTING:
        return frozenset()
    text = base_form(nodes[place].text.lower())
    return frozenset(other for other, node in enumerate(nodes[:place]) if base_form(node.text.lower()) == text)


_SORTING: Final = frozenset({Op.BY, Op.ORDER, Op.ASCENDING, Op.DESCENDING})
_AGAIN_BONUS: Final = 0.2


def _beside_picked(candidate: Candidate, state: _State, siblings: frozenset[int], others: frozenset[int]) -> float:
    """Return what is added for what was picked in the same list, and for values that "or" joins with this one."""
    listed = [pick for other, pick in state.picks if other in siblings]
    bonus = 0.0
    if candidate.column is not None and any(pick.table == candidate.table for pick in listed):
        bonus += _SIBLING_BONUS
    if any(_is_of_same_column(pick, candidate) for other, pick in state.picks if other in others):
        bonus += _SAME_COLUMN_BONUS
    # "The claim dates and the settlement dates" are not the same day twice.
    return bonus - (_TWICE_COST if candidate.value is None and candidate in listed else 0.0)


def _is_said_of_rows(nodes: Sequence[Node], place: int) -> bool:
    """ "Open tickets": what is stored just so, right before the rows that hold it, is no date of opening, unless a period is said."""
    following = nodes[place + 1] if place + 1 < len(nodes) else None
    if following is None or any(node.kind in {NodeKind.PERIOD, NodeKind.RECURRING} for node in nodes):
        return False
    tables = {link.table for link in following.candidates if link.column is None and link.score >= MENTION_MIN}
    text = nodes[place].text.lower()
    return any(
        link.value is not None and link.value.lower() == text and link.table in tables
        for link in nodes[place].candidates
    )


def _is_done_then(nodes: Sequence[Node], place: int, index: CatalogIndex) -> bool:
    """ "Tickets closed by month", "shipped in May": the day on which they were, and not the state that is stored just so."""
    behind = beside(nodes, place, 1)
    following = nodes[place + 1] if behind is not None else None
    if behind is None or following is None:
        return False
    is_cut = following.op in (Op.BY, Op.EACH) and step_at([node.text.lower() for node in nodes], place + 2) is not None
    if not is_cut and (nodes[behind].kind is not NodeKind.PERIOD or not _is_behind_rows(nodes, place)):
        return False
    links = nodes[place].candidates
    days = {
        link.table
        for link in links
        if link.value is None and link.column is not None and index.column(link.table, link.column).kind in _DATES
    }
    return any(link.value is not None and link.table in days for link in links)


def _is_behind_rows(nodes: Sequence[Node], place: int) -> bool:
    other = beside(nodes, place, -1)
    return other is not None and any(link.column is None for link in nodes[other].candidates[:1])


_DATES: Final = frozenset({ColumnKind.DATE, ColumnKind.DATETIME})


def _in_roles(nodes: Sequence[Node], picks: dict[int, Candidate], index: CatalogIndex) -> dict[int, Candidate]:
    """ "The names of their managers", 上级经理的姓名: a column beside a role of its table is the column of the role."""
    if not index.roles:
        return picks
    result = dict(picks)
    for place, pick in picks.items():
        if pick.column is None or pick.value is not None or index.role(pick.table) is not None:
            continue
        behind = is_han(nodes[place].text)
        other = _possessor(nodes, place)
        other = _of_somebody(nodes, place) if other is None else other
        other = _owner(nodes, place, -1 if behind else 1) if other is None else other
        owner = picks.get(other) if other is not None else None
        if (
            owner is not None
            and owner.column is None
            and owner.table != pick.table
            and index.real(owner.table) == pick.table
        ):
            result[place] = replace(pick, table=owner.table)
    return result


def _possessor(nodes: Sequence[Node], place: int) -> int | None:
    """ "Managers and their salaries": whose they are is named before."""
    joint = nodes[place - 1] if place > 1 else None
    is_theirs = joint is not None and joint.op is Op.AND and joint.text.lower().split()[-1] in POSSESSIVES
    return place - 2 if is_theirs else None


def _of_somebody(nodes: Sequence[Node], place: int) -> int | None:
    """ "The names of Kyle's followers": whose they are stands between."""
    for other in range(place + 1, len(nodes) - 2):
        is_named = nodes[other].kind is NodeKind.TEXT or nodes[other].is_value
        if is_named and nodes[other + 1].text in POSSESSIVE_MARKS:
            return other + 2
        if nodes[other].kind is not NodeKind.STOP:
            return None
    return None


def _owner(nodes: Sequence[Node], place: int, step: int) -> int | None:
    other = beside(nodes, place, step)
    joined = other is not None and (step < 0 or other > place + 1)
    return other if joined else None


def _siblings(nodes: Sequence[Node], place: int) -> frozenset[int]:
    """Return the links that stand in one list with this one: "names, ages and cities"."""
    numbers: set[int] = set()
    for step in (-1, 1):
        other = place + step
        joined = False
        while 0 <= other < len(nodes):
            node = nodes[other]
            if node.op is Op.AND or node.text in {",", "、", "，", "和"}:
                joined = True
            elif node.kind is not NodeKind.STOP or node.text.lower() in {"of", "for", "in"}:
                break
            other += step
        if (
            joined
            and 0 <= other < len(nodes)
            and nodes[other].candidates
            and nodes[other].candidates[0].column is not None
        ):
            numbers.add(other)
    return frozenset(numbers)


def _other_values(nodes: Sequence[Node], place: int) -> frozenset[int]:
    """ "Class AA or AAA": the values beside one that "or" joins with it are of the same column, where they can be."""
    found: set[int] = set()
    for step in (-1, 1):
        joint = place + step
        is_joined = 0 <= joint < len(nodes) and nodes[joint].op is Op.OR
        if is_joined and 0 <= joint + step < len(nodes) and nodes[joint + step].is_value:
            found.add(joint + step)
    return frozenset(found)


def _is_of_same_column(one: Candidate, other: Candidate) -> bool:
    both = one.value is not None and other.value is not None
    return both and (one.table, one.column) == (other.table, other.column)


def _ambiguity(node: Node) -> tuple[int, int]:
    best = node.candidates[0].score
    close = [candidate for candidate in node.candidates if candidate.score >= best - 0.05]
    is_table = any(item.column is None for item in close)
    return (len({link.table for link in close}), 0 if is_table else 1)


def _distance_cost(tables: frozenset[int], table: int, index: CatalogIndex) -> float:
    if not tables or table in tables:
        return 0.0
    distance = min(index.graph.distance(item, table) for item in tables)
    return _UNREACHABLE_COST if distance == float("inf") else _JOIN_COST * distance


def _bonuses(nodes: Sequence[Node], place: int, index: CatalogIndex) -> list[float]:
    """Return for each candidate what its neighbours add to it."""
    ahead = _neighbour(nodes, place, 1)
    behind = _neighbour(nodes, place, -1)
    near: dict[int, float] = {}
    chinese = any(is_han(character) for character in nodes[place].text)
    near_ahead = _OF_BONUS if ahead is not None and _is_of(nodes, place, ahead) else _NEXT_BONUS
    near_behind = _BEFORE_BONUS if behind == place - 1 else 0.1
    for neighbour, bonus in (
        (ahead, 0.02 if chinese else near_ahead),
        (behind, _NEXT_BONUS if chinese else near_behind),
    ):
        if neighbour is None:
            continue
        for link in nodes[neighbour].candidates:
            if link.column is None and link.score >= MENTION_MIN:
                near[link.table] = max(near.get(link.table, 0.0), bonus * link.score)
    for table in _spoken_of(nodes, place):
        near[table] = max(near.get(table, 0.0), _OF_BONUS)
    literals = _literals_near(nodes, place)
    before = beside(nodes, place, -1)
    # "How many tests": of one table whose columns are called so as well, the rows.
    counted = before is not None and nodes[before].op is Op.COUNT
    is_alone = len({link.table for link in nodes[place].candidates}) == 1
    deed, agents = _stems_of(nodes, place, ahead), _agents_before(nodes, place)
    numbers: list[float] = []
    for candidate in nodes[place].candidates:
        bonus = near.get(candidate.table, 0.0) if candidate.column is not None else 0.0
        if candidate.column is None:
            bonus += _TABLE_BONUS + (
                _COUNTED_BONUS if counted and (is_alone or candidate.score >= MENTION_MIN) else 0.0
            )
        if candidate.value is not None:
            bonus += _AGENT_BONUS if not agents.isdisjoint(index.table_words[index.real(candidate.table)]) else 0.0
            if candidate.value.lower() == nodes[place].text.lower() and candidate.table in near and ahead == place + 1:
                # "Open tickets": what is stored just so, right before the rows that hold it.
                bonus += _SAID_BONUS
            for neighbour in (behind, ahead):
                if neighbour is not None and any(
                    (link.table, link.column) == (candidate.table, candidate.column) and link.value is None
                    for link in nodes[neighbour].candidates
                ):
                    bonus += _SAME_COLUMN_BONUS
                    break
        elif candidate.column is not None:
            names = index.entry_of_column(candidate.table, candidate.column).names
            # "The amount of the settlements" is what was settled, though they have a claimed one too.
            bonus += _DEED_BONUS if any(not deed.isdisjoint(map(stem, name)) for name in names) else 0.0
            bonus += _kind_bonus(index.column(candidate.table, candidate.column).kind, literals)
            for neighbour in (behind, ahead):
                if neighbour is not None and any(
                    (link.table, link.column) == (candidate.table, candidate.column) and link.value is not None
                    for link in nodes[neighbour].candidates
                ):
                    bonus += _SAME_COLUMN_BONUS
                    break
        numbers.append(bonus)
    return numbers


def _agents_before(nodes: Sequence[Node], place: int) -> frozenset[str]:
    """ "Programs directed by Dracula", who directs, though a program is called so as well."""
    before = nodes[place - 1] if place > 1 else None
    verb = nodes[place - 2].text.lower().split()[-1] if before is not None and before.op is Op.BY else ""
    return doers_of(verb) if verb else frozenset()


def _stems_of(nodes: Sequence[Node], place: int, ahead: int | None) -> frozenset[str]:
    """Return the stems of the rows that something is said to be of, without those that a node says itself."""
    if ahead is None or not _is_of(nodes, place, ahead) or is_han(nodes[place].text):
        return frozenset()
    own = {stem(word) for word in nodes[place].text.lower().split()}
    return frozenset(stem(word) for word in nodes[ahead].text.lower().split()) - own


def _spoken_of(nodes: Sequence[Node], place: int) -> tuple[int, ...]:
    """ "Which lens has the most photos? Give its name": of what the question is about, which it names first."""
    begun = place
    while begun > 1 and (nodes[begun - 1].op is Op.AND or nodes[begun - 1].text == ",") and nodes[begun - 2].candidates:
        begun -= 2
    if begun == 0 or nodes[begun - 1].text.lower() not in POSSESSIVES:
        return ()
    named = (
        link.table
        for node in nodes[: begun - 1]
        for link in node.candidates[:1]
        if link.column is None and link.score >= MENTION_MIN
    )
    first = next(named, None)
    return () if first is None else (first,)


def _is_of(nodes: Sequence[Node], place: int, table: int) -> bool:
    """Whether no more than "of the" stands between: "the name of the festival" is none of anything else."""
    # "The names of female researchers": of what kind they are says nothing else.
    end = table - 1 if _is_kind_of_next(nodes, table - 1) else table
    between = [node.text.lower() for node in nodes[place + 1 : end]]
    return bool(between) and between[0] == "of" and _ARTICLES.issuperset(between[1:])


def _is_kind_of_next(nodes: Sequence[Node], place: int) -> bool:
    """Whether a stored value stands right before the rows that it is one of."""
    if not 0 <= place < len(nodes) - 1 or not nodes[place].candidates or not nodes[place + 1].candidates:
        return False
    kind, rows = nodes[place].candidates[0], nodes[place + 1].candidates[0]
    return kind.value is not None and rows.column is None and rows.table == kind.table


_ARTICLES: Final = frozenset({"the", "a", "an", "all", "each", "every"})


_NUMERIC = frozenset({ColumnKind.INTEGER, ColumnKind.NUMBER})
_FIGURES = frozenset({Op.SUM, Op.AVERAGE, Op.GREATER, Op.LESS, Op.AT_LEAST, Op.AT_MOST, Op.BETWEEN})


def _kind_bonus(kind: ColumnKind, literals: frozenset[Op]) -> float:
    if literals & _FIGURES:
        return _KIND_BONUS if kind in _NUMERIC else (-_KIND_BONUS if kind is ColumnKind.TEXT else 0.0)
    return 0.0


def _literals_near(nodes: Sequence[Node], place: int) -> frozenset[Op]:
    ops: set[Op] = set()
    for step in (-1, 1):
        other = beside(nodes, place, step)
        if other is not None and nodes[other].op is not None:
            op = nodes[other].op
            if op in {Op.SUM, Op.AVERAGE} and step == 1 and not is_han(nodes[place].text):
                continue
            if op is not None:
                ops.add(op)
    return frozenset(ops)


def _neighbour(nodes: Sequence[Node], place: int, step: int) -> int | None:
    """Return the next link beyond stop words, joining words and listed links, or None."""
    other = place + step
    for _ in range(8):
        if not 0 <= other < len(nodes):
            return None
        node = nodes[other]
        if node.candidates:
            if step == 1 and node.candidates[0].column is not None and node.candidates[0].value is None:
                # "names and ages of singers": what stands behind the list belongs to all of it.
                beyond = other + step
                joined = any(
                    nodes[number].op is Op.AND or nodes[number].text == "," for number in range(place + 1, other)
                )
                if joined and beyond < len(nodes):
                    other = beyond
                    continue
            return other + 1 if step == 1 and _is_kind_of_next(nodes, other) else other
        if (
            node.kind is NodeKind.STOP
            or node.op in {Op.AND, Op.DISTINCT, Op.NAMED, Op.EQUAL}
            or node.text in {"'s", ",", ":"}
        ):
            other += step
            continue
        return None
    return None
