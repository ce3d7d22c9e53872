"""Tables are joined along their keys: declared ones first, inferred ones where the schema declares none between two tables.

A key is inferred when a column bears the name of another table's primary key, or that table's name followed by
its key's name. Paths are the cheapest ones; the order of the catalog decides between equals, so results are stable.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from querybus.core.catalog import Catalog, Table
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.names import name_words
from querybus_translator.schema.roles import Role

_DECLARED_COST = 1.0
_NULLABLE_COST = 0.05
_OF_ROLE_COST = 0.1
_INFERRED_COST = 1.3
_SHARED_NAME_COST = 1.8
PATH_COST_MAX = 6.0
RIVAL_PATH_MAX = 3
_SHARED_PARENT_COST = 1.1
"""What two kinds of rows have in common by a third that both refer to says less than rows that bring the two together."""
_PATHS_ALIKE = 0.06
_HINTED = 0.2
_KEY_WORDS = frozenset({"id", "code", "key", "no", "number"})
_RIVALLED = 0.03


@dataclass(frozen=True, slots=True)
class Edge:
    """Rows of `source` refer to rows of `target`: `source_columns` equal `target_columns`, in order."""

    source: int
    source_columns: tuple[str, ...]
    target: int
    target_columns: tuple[str, ...]
    cost: float
    to_one: bool


class JoinGraph:
    """The keys of a catalog as a graph over table numbers."""

    def __init__(self, catalog: Catalog, roles: Sequence[Role] = ()) -> None:
        self._edges: dict[int, list[Edge]] = defaultdict(list)
        self._distances: dict[int, dict[int, float]] = {}
        self._words: dict[Edge, frozenset[str]] = {}
        self._tables = len(catalog.tables)
        for edge in (*_declared(catalog), *_inferred(catalog), *_of_roles(catalog, roles)):
            self._words[edge] = frozenset(word for name in edge.source_columns for word in name_words(name))
            self._edges[edge.source].append(edge)
            if edge.target != edge.source:
                self._edges[edge.target].append(edge)

    def between(self, one: int, other: int) -> tuple[Edge, ...]:
        """Return the keys that join two tables directly, cheapest first."""
        result = [item for item in self._edges.get(one, ()) if {item.source, item.target} == {one, other}]
        return tuple(sorted(result, key=lambda item: item.cost))

    def leads_to_one(self, start: int, end: int) -> bool:
        """Return whether each row of one table has at most one of another, by the keys of its cheapest way there."""
        at = start
        for edge in self.path((start,), end) or () if start != end else ():
            if edge.source != at or not edge.to_one:
                return False
            at = edge.target
        return at == end

    def rival_keys(self, edge: Edge, hints: frozenset[str]) -> tuple[Edge, ...]:
        """Return the other keys that join the same two tables as cheaply; none where a hint distinguishes them."""
        rivals = tuple(
            item for item in self.between(edge.source, edge.target) if item != edge and item.cost <= edge.cost
        )
        if not rivals:
            return ()
        return () if self._is_said(edge, hints) else rivals

    def _own_words(self, edge: Edge) -> frozenset[str]:
        """Return the words of a key that no other key between its tables has: two of three may be of a "team"."""
        others = (self._words[item] for item in self.between(edge.source, edge.target) if item != edge)
        return self._words[edge].difference(*others)

    def _ambiguity(self, edge: Edge, hints: frozenset[str]) -> float:
        """Return what makes a key dearer or cheaper: that others join the same tables, and that a hint distinguishes it."""
        if hints and self._is_said(edge, hints):
            return -_HINTED
        return _RIVALLED if self._own_words(edge) != self._words[edge] else 0.0

    def _is_said(self, edge: Edge, hints: frozenset[str]) -> bool:
        """Return whether a word distinguishes a key from the others, or its whole name is said: the president's votes, and not the class's."""
        named = self._words[edge] - _KEY_WORDS
        return bool(hints & self._own_words(edge)) or (bool(named) and named <= hints)

    def rival_paths(self, sources: Iterable[int], path: tuple[Edge, ...], target: int) -> tuple[frozenset[int], ...]:
        """Return the tables in between, for each way to `target` that costs as little as `path` by other tables.

        The path's own tables come first; empty where there is one way only. Looks at ways of the same number of keys.
        """
        joined = frozenset(sources)
        if not 2 <= len(path) <= RIVAL_PATH_MAX:
            return ()
        own = frozenset(table for edge in path for table in (edge.source, edge.target)) - joined - {target}
        most = _cost(path) + _PATHS_ALIKE
        result: dict[frozenset[int], None] = {own: None}
        ways: list[tuple[int, float, frozenset[int], Edge | None]] = [(item, 0.0, frozenset(), None) for item in joined]
        for step in range(len(path)):
            grown: list[tuple[int, float, frozenset[int], Edge | None]] = []
            for at, cost, between, last in ways:
                for edge in self._edges.get(at, ()):
                    beyond = edge.target if edge.source == at else edge.source
                    so_far = cost + edge.cost + _turn(last, at, edge)
                    if beyond in joined or beyond in between or so_far > most:
                        continue
                    if beyond == target:
                        if step == len(path) - 1:
                            result.setdefault(between)
                    elif beyond < self._tables:
                        grown.append((beyond, so_far, between | {beyond}, edge))
            ways = grown
        return tuple(result) if len(result) > 1 else ()

    def edges_of(self, table: int) -> tuple[Edge, ...]:
        """Return every key that touches a table."""
        return tuple(self._edges.get(table, ()))

    def distance(self, one: int, other: int) -> float:
        """Return the cost of the cheapest path; infinite where there is none."""
        if one == other:
            return 0.0
        if one not in self._distances:
            self._distances[one] = self._costs_from(one)
        return self._distances[one].get(other, float("inf"))

    def is_many(self, anchor: int, table: int) -> bool:
        """Whether one row of `anchor` may have several of `table`."""
        at = anchor
        for edge in self.path((anchor,), table) or ():
            if edge.source == at and edge.to_one:
                at = edge.target
                continue
            return True
        return False

    def path(
        self,
        sources: Iterable[int],
        target: int,
        hints: frozenset[str] = frozenset(),
        used: tuple[int, tuple[str, ...]] | None = None,
    ) -> tuple[Edge, ...] | None:
        """Return the cheapest path from any of `sources` to `target`, or None.

        Of several keys between two tables the one whose column shares a word with `hints` is cheaper; `used` is a
        table's key that leads elsewhere already.
        """
        queue: list[tuple[float, int, int, tuple[Edge, ...]]] = [
            (0.0, place, source, ()) for place, source in enumerate(sources)
        ]
        heapq.heapify(queue)
        pushed = len(queue)
        # A table reached by its key and one reached by what refers to it go on at different costs, and not by the same key.
        seen: set[tuple[int, bool, tuple[str, ...]]] = set()
        while queue:
            cost, _, at, path = heapq.heappop(queue)
            if at == target:
                return path
            last = path[-1] if path else None
            came_by_key = last is not None and last.target == at
            by = last.source_columns if last is not None and last.source == at else ()
            if (at, came_by_key, by) in seen or cost > PATH_COST_MAX:
                continue
            seen.add((at, came_by_key, by))
            for edge in self._edges.get(at, ()):
                beyond = edge.target if edge.source == at else edge.source
                key = (edge.source, edge.source_columns)
                if key == used or (last is not None and key == (last.source, last.source_columns)):
                    # By one key a row and the role that it plays are the same row.
                    continue
                if (beyond, edge.target == beyond, edge.source_columns if edge.source == beyond else ()) not in seen:
                    # The running number keeps equal costs in the order of the catalog.
                    own = edge.cost + self._ambiguity(edge, hints) + _turn(last, at, edge)
                    heapq.heappush(queue, (cost + own, pushed, beyond, (*path, edge)))
                    pushed += 1
        return None

    def _costs_from(self, start: int) -> dict[int, float]:
        costs = {start: 0.0}
        queue = [(0.0, start)]
        while queue:
            cost, at = heapq.heappop(queue)
            if cost > costs.get(at, float("inf")) or cost > PATH_COST_MAX:
                continue
            for edge in self._edges.get(at, ()):
                beyond = edge.target if edge.source == at else edge.source
                if cost + edge.cost < costs.get(beyond, float("inf")):
                    costs[beyond] = cost + edge.cost
                    heapq.heappush(queue, (costs[beyond], beyond))
        return costs


def _turn(last: Edge | None, at: int, edge: Edge) -> float:
    """Return what it costs to go on from a table that was reached by a key along another key that refers to it."""
    return _SHARED_PARENT_COST if last is not None and last.target == at == edge.target else 0.0


def _cost(path: Sequence[Edge]) -> float:
    turns = (_SHARED_PARENT_COST for one, other in pairwise(path) if one.target == other.target)
    return sum(edge.cost for edge in path) + sum(turns)


def _declared(catalog: Catalog) -> Iterable[Edge]:
    for number, table in enumerate(catalog.tables):
        for key in table.foreign_keys:
            target = catalog.position(catalog.referred(key, table))
            if target is None or not _plausible(table, key.columns, catalog.tables[target], key.referred_columns):
                continue
            yield Edge(
                number,
                key.columns,
                target,
                key.referred_columns,
                _DECLARED_COST + (_NULLABLE_COST if _may_be_null(table, key.columns) else 0.0),
                _is_unique(catalog.tables[target], key.referred_columns),
            )


def _of_roles(catalog: Catalog, roles: Sequence[Role]) -> Iterable[Edge]:
    """Give the key of each role, and what its rows refer to; nothing refers to a role but its own key."""
    declared = list(_declared(catalog))
    for number, role in enumerate(roles, len(catalog.tables)):
        unique = _is_unique(catalog.tables[role.table], (role.referred,))
        yield Edge(role.source, (role.column,), number, (role.referred,), _DECLARED_COST, unique)
        for item in declared:
            if item.source == role.table and item.target != role.table and item.to_one:
                yield Edge(
                    number,
                    item.source_columns,
                    item.target,
                    item.target_columns,
                    item.cost + _OF_ROLE_COST,
                    to_one=True,
                )


def _may_be_null(table: Table, columns: tuple[str, ...]) -> bool:
    return any((result := table.column(column)) is not None and result.nullable for column in columns)


def _plausible(table: Table, columns: tuple[str, ...], target: Table, referred: tuple[str, ...]) -> bool:
    return not (table is target and columns == referred)


def _inferred(catalog: Catalog) -> Iterable[Edge]:
    joined = {frozenset((item.source, item.target)) for item in _declared(catalog)}
    keyed: dict[str, list[int]] = defaultdict(list)
    titled: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, table in enumerate(catalog.tables):
        if len(table.primary_key) == 1:
            key = table.primary_key[0]
            if len(name_words(key)) > 1 or name_words(key) == name_words(table.name) or _is_compound(key):
                keyed[key.lower()].append(number)
            last = name_words(key)[-1:]
            titled[(*name_words(table.name), *last)].append(number)
    shared: dict[str, list[int]] = defaultdict(list)
    pairs: set[tuple[int, str, int]] = set()
    for number, table in enumerate(catalog.tables):
        for column in table.columns:
            words = name_words(column.name)
            targets = keyed.get(column.name.lower(), []) or titled.get(words, [])
            for target in targets:
                if target == number or frozenset((number, target)) in joined:
                    continue
                pairs.add((number, column.name, target))
                referred = catalog.tables[target].primary_key
                yield Edge(number, (column.name,), target, referred, _INFERRED_COST, to_one=True)
            if not targets and (len(words) > 1 or _is_compound(column.name)):
                shared[column.name.lower()].append(number)
    yield from _by_shared_name(shared, joined)


def _is_compound(name: str) -> bool:
    return len(name) > 3 and _names_a_key(name)


def _by_shared_name(shared: dict[str, list[int]], joined: set[frozenset[int]]) -> Iterable[Edge]:
    for name, numbers in shared.items():
        if not 2 <= len(numbers) <= 4 or not _names_a_key(name):
            continue
        for place, one in enumerate(numbers):
            for other in numbers[place + 1 :]:
                if frozenset((one, other)) in joined:
                    continue
                yield Edge(one, (name,), other, (name,), _SHARED_NAME_COST, to_one=False)


def _names_a_key(name: str) -> bool:
    return name.lower().endswith(tuple(lexicon().key_words))


def _is_unique(table: Table, columns: tuple[str, ...]) -> bool:
    wanted = {column.lower() for column in columns}
    keys = (table.primary_key, *table.unique_keys)
    return any({column.lower() for column in key} == wanted for key in keys if key)
