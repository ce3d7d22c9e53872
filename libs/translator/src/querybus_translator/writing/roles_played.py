"""Roles that rows play for others: "airports that are the destination of flights", "students who have secretary votes".

A role whose own rows are asked for joins no second copy of them: it says by which key of the other table they are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from querybus_translator.language.clauses import negation_before
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.names import name_words
from querybus_translator.language.stems import base_form
from querybus_translator.schema.labels import key_columns
from querybus_translator.schema.roles import Role, brings_two_together
from querybus_translator.writing.form import (
    ColumnRef,
    Comparison,
    Form,
    Measure,
    Membership,
    Operator,
    condition_tables,
)
from querybus_translator.writing.sketch import Placed, Sketch
from querybus_translator.writing.write import columns_named


def belonging(sketch: Sketch) -> tuple[tuple[int, int], ...]:
    """ "Students of instructors in the Physics department": the department of the instructors, who stand before its value.

    Pairs of a table and the one that it belongs to, where that one refers to it, and another that is named lies as near.
    """
    named: int | None = None
    at = 0
    pairs: dict[int, int] = {}
    mentioned = sketch.mentioned_tables()
    for place in sorted(sketch.assignment.picks):
        value = sketch.value(place)
        table = sketch.table(place)
        # "Members upvoted posts": the deed is what the posts belong to; of nouns alone nothing is said so.
        deed = sketch.nodes[at].text.lower().split()[-1]
        is_done = deed.endswith("ed") or deed in lexicon().verbs
        owned = value.table if value is not None else table if is_done else None
        referring = _referring(sketch, owned, mentioned) if owned is not None else frozenset[int]()
        if owned is not None and named in referring and not sketch.has_between(at, place, _JOINING):
            beside = {other for other in mentioned if sketch.index.graph.between(owned, other)} - {owned}
            if len(beside) > 1:
                pairs.setdefault(owned, named)
        if table is not None and (value is None or table != value.table):
            named, at = table, place
    bought = rows_of_purchase(sketch)
    pairs |= {table: bought for table in mentioned if bought is not None and table != bought}
    return tuple((table, source) for table, source in pairs.items())


_JOINING: Final = frozenset({Op.AND, Op.OR, Op.BUT})


def rows_of_purchase(sketch: Sketch) -> int | None:
    """ "Customers who bought a laptop": by their orders, though they review laptops as well; None where nothing lies nearer.

    The one table that is called after such rows, where the shortest way between those that are named passes it by.
    """
    named = sketch.mentioned_tables()
    if sketch.chinese or len(named) < 2 or not any(node.text.lower() in _PURCHASES for node in sketch.nodes):
        return None
    called = [name_words(table.name) for table in sketch.index.catalog.tables]
    found = [number for number, name in enumerate(called) if name and base_form(name[-1]) in _PURCHASED]
    if any(not _PURCHASED.isdisjoint(map(base_form, called[sketch.index.real(table)])) for table in named):
        return None
    graph = sketch.index.graph
    if len(found) != 1:
        return None
    ways = [graph.path((one,), other) or () for one, other in pairwise(named)]
    passed = {table for way in ways for edge in way for table in (edge.source, edge.target)}
    if found[0] in passed or not all(len(way) > 1 for way in ways):
        return None
    return found[0] if all(graph.path((one,), found[0]) for one in named) else None


_PURCHASES: Final = frozenset({"buy", "buys", "bought", "buying", "purchase", "purchases", "purchased", "sold", "sell"})
_PURCHASED: Final = frozenset({"order", "purchase", "sale", "transaction", "invoice"})


def _referring(sketch: Sketch, table: int, mentioned: Sequence[int]) -> frozenset[int]:
    """Return the tables of those mentioned that refer to a table by a key."""
    edges = sketch.index.graph.edges_of(table)
    return frozenset(edge.source for edge in edges if edge.target == table and edge.source in mentioned) - {table}


def read_conditions_of_roles(sketch: Sketch) -> None:
    """ "Users who have followers older than 30": what is said right behind a role is said of those who play it."""
    for number, placed in enumerate(sketch.conditions):
        condition, role = placed.condition, _described(sketch, placed.place)
        if not isinstance(condition, Comparison) or role is None or condition.left.column is None:
            continue
        left = condition.left.column
        if sketch.index.real(role) != left.table or role == left.table:
            continue
        said = replace(condition, left=replace(condition.left, column=replace(left, table=role)))
        sketch.conditions[number] = replace(placed, condition=said)


def _described(sketch: Sketch, place: int) -> int | None:
    """Return the role that is named last before a place, where somebody is said to have it or it is said who plays it."""
    named = [other for other in range(place) if sketch.table(other) is not None]
    at = named[-1] if named and not sketch.chinese else None
    role = sketch.table(at)
    if at is None or role is None or sketch.index.role(role) is None or sketch.has_between(at, place, _JOINING):
        return None
    lead = sketch.before(place)
    says_who = lead is not None and lead > at + 1 and sketch.nodes[lead].text.lower() in _WHO_ARE
    between = " ".join(node.text.lower() for node in sketch.nodes[named[-2] + 1 : at]).split() if len(named) > 1 else []
    behind = sketch.nodes[at + 1].text.lower() if at + 1 < place else ""
    has_role = len(named) > 1 and sketch.table(named[-2]) == sketch.index.real(role) and not _HAVING.isdisjoint(between)
    return role if says_who or (has_role and behind not in ("of", "'s")) else None


_WHO_ARE: Final = frozenset({"who are", "that are", "who is", "that is", "who", "that"})


def read_roles_played(sketch: Sketch, anchor: int) -> None:
    """Read each role of the rows of `anchor` that nothing else is said of as a membership in the table that names it."""
    for place in sorted(sketch.assignment.picks):
        number = sketch.table(place)
        role = None if number is None else sketch.index.role(number)
        if number is None or role is None or role.table != anchor or role.source == anchor or not sketch.is_free(place):
            continue
        key = key_columns(sketch.index, anchor)
        if len(key) != 1 or _speaks_of(sketch, place, number, role.source) or _is_possessed(sketch, place, role):
            continue
        inside = [placed for placed in sketch.conditions if set(condition_tables(placed.condition)) == {role.source}]
        column = columns_named(sketch.index, role.source, (role.column,))[0]
        _play(sketch, place, key[0], column, inside)
        sketch.hidden_tables.update((number, role.source))
        for other in range(len(sketch.nodes)):
            if sketch.table(other) in (number, role.source):
                sketch.take(other)


def _is_possessed(sketch: Sketch, place: int, role: Role) -> bool:
    """ "Members without followers", "whose follower is Ann": others play it for them, where rows bring two of them together."""
    keys = [edge for edge in sketch.index.graph.edges_of(role.source) if edge.target == role.table]
    if not brings_two_together(role, sketch.index.roles, len(keys)):
        return False
    before = " ".join(node.text.lower() for node in sketch.nodes[max(0, place - 3) : place])
    return not _HAVING.isdisjoint(before.split())


_HAVING: Final = frozenset({"have", "has", "had", "with", "without", "whose", "of", "'s"})


def _play(sketch: Sketch, place: int, key: ColumnRef, column: ColumnRef, inside: list[Placed]) -> None:
    negation = negation_before(sketch, place)
    sketch.take(place, negation)
    for placed in inside:
        sketch.conditions.remove(placed)
    conditions = tuple(placed.condition for placed in inside)
    if negation is not None and sketch.index.column(column.table, column.column).nullable:
        # One empty key would make NOT IN exclude everything.
        conditions = (*conditions, Comparison(Measure(column), Operator.NOT_NULL))
    form = Form(targets=(Measure(column),), where=conditions)
    sketch.absences.append((place, Membership(key, form, negated=negation is not None)))


def _speaks_of(sketch: Sketch, place: int, role: int, source: int) -> bool:
    """Whether more is said of the role, or more asked of the table that names it, than that there is such a row."""
    tables = {role, source}
    asked = {measure.home for _, measure in sketch.targets} | {
        group if isinstance(group, int) else group.table for _, group in sketch.groups
    }
    counted = {comparison.left.home for _, comparison in sketch.having} | {
        ranking.by.home if ranking.by is not None else ranking.counted for ranking in sketch.rankings
    }
    ordered = {ordering.by.home for ordering in sketch.orderings}
    of_role = any(
        other != place and pick.table == role and pick.column is not None
        for other, pick in sketch.assignment.picks.items()
    )
    return of_role or not tables.isdisjoint(asked | counted | ordered)
