"""A join that would show a row, or count its figure, more than once becomes a membership.

"The average score of customers who have a loan" averages customers, not loans; "customers who have a loan" names each
customer once. Applies to forms without groups whose targets all come from one table, where the other tables only say
which of its rows are meant; counts take care of themselves where they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.joins import Edge
from querybus_translator.schema.labels import key_columns, labels
from querybus_translator.writing.equal_keys import with_referred_keys, without_referred
from querybus_translator.writing.form import (
    Aggregate,
    AnyOf,
    ColumnRef,
    Comparison,
    Condition,
    Form,
    Measure,
    Membership,
    Operator,
    condition_tables,
    tables_of,
)

_FIGURES = frozenset({Aggregate.SUM, Aggregate.AVERAGE})


def semi_joined(form: Form, index: CatalogIndex, hints: frozenset[str] = frozenset()) -> Form | None:
    """Return the form with joins that fan out turned into memberships, where they would falsify its figures, and without needless ones.

    None where a figure of rows is asked for that are counted themselves, and they have no single key.
    """
    rows = _with_memberships(form, index, hints)
    return None if rows is None else without_referred(rows, index)


def _with_memberships(form: Form, index: CatalogIndex, hints: frozenset[str]) -> Form | None:
    homes = {target.home for target in form.targets}
    if form.having and not form.group and all(target.aggregate is not None for target in form.targets):
        return _of_counted_rows(form, index, homes)
    if form.group or form.having or len(homes) != 1:
        return form
    if any(ordering.by.aggregate is not None or {ordering.by.home} != homes for ordering in form.order):
        return form
    if not any(target.aggregate in _FIGURES for target in form.targets) and any(
        target.aggregate for target in form.targets
    ):
        return form
    home = next(iter(homes))
    others = [table for table in tables_of(form) if table != home]
    if home is None or not others:
        return form
    for table in others:
        path = _way(form, index, home, table, hints)
        if not path:
            return form
        first = path[0]
        if first.source == home and first.to_one:
            continue
        if not _lie_beyond(form, index, home, first, others, hints):
            # "Films made after 2000 or reviewed by Ann": one of them may have several reviews.
            either = any({home} < set(condition_tables(condition)) for condition in form.where)
            plain = all(target.aggregate is None for target in form.targets)
            if either or not plain:
                return replace(form, distinct=True) if plain else form
            return _each_by_itself(form, index, home, others, hints)
        return _with_membership(form, index, home, table, hints)
    return form


def _each_by_itself(form: Form, index: CatalogIndex, home: int, others: Sequence[int], hints: frozenset[str]) -> Form:
    """ "Parks that have a trail and a campground": each park once, by a membership for each way that leads from its rows."""
    branches: dict[Edge, list[int]] = {}
    for table in others:
        way = _way(form, index, home, table, hints)
        if not way:
            return form
        branches.setdefault(way[0], []).append(table)
    inside = [set(condition_tables(condition)) - {home} for condition in form.where]
    if any(not any(tables <= set(branch) for branch in branches.values()) for tables in inside):
        return form
    here = tuple(condition for condition, tables in zip(form.where, inside, strict=True) if not tables)
    memberships: list[Condition] = []
    for branch in branches.values():
        theirs = tuple(
            condition for condition, tables in zip(form.where, inside, strict=True) if tables and tables <= set(branch)
        )
        narrowed = replace(form, tables=(home, *branch), where=theirs)
        memberships += _with_membership(narrowed, index, home, branch[0], hints).where
    return replace(form, tables=(home,), where=(*here, *memberships))


def of_their_groups(form: Form, index: CatalogIndex) -> Form:
    """ "The titles of films by directors who made more than one": all films of such directors, and not titles of several."""
    form = with_referred_keys(form, index) if form.group else form
    tables = {column.table for column in form.group}
    counts = bool(form.having) and all(
        item.left.aggregate is Aggregate.COUNT and item.left.column is None and item.left.home in tables
        for item in form.having
    )
    if len(tables) != 1 or not counts or any(target.aggregate is not None for target in form.targets):
        return form
    (home,) = tables
    own = {*labels(index, home), *key_columns(index, home)}
    named = [column for column in form.group if column in own]
    kinds = [column for column in form.group if column not in own]
    if not named or len(kinds) != 1 or set(tables_of(form)) != tables:
        return form
    inside = Form(
        targets=(Measure(kinds[0]),),
        tables=form.tables,
        where=form.where,
        group=(kinds[0],),
        having=form.having,
        near=form.near,
    )
    return replace(form, group=(), having=(), where=(*form.where, Membership(kinds[0], inside, negated=False)))


def _lie_beyond(
    form: Form, index: CatalogIndex, home: int, first: Edge, others: Sequence[int], hints: frozenset[str]
) -> bool:
    """Whether all other tables are reached by one key, and no condition compares with those of the other side."""
    ways = [_way(form, index, home, table, hints) for table in others]
    compares = any({home} < set(condition_tables(condition)) for condition in form.where)
    return not compares and all(way and way[0] == first for way in ways)


def are_rows_themselves(form: Form, index: CatalogIndex, values: Sequence[Comparison]) -> bool:
    """ "Guests from Germany and France": each guest has one country, so that those of the one and of the other are meant.

    It is the same with what a guest has by a key that leads to one row: the country of the guest's town.
    """
    figures = [target for target in form.targets if target.aggregate is not None]
    homes = {target.home for target in figures or form.targets}
    columns = {value.left.column for value in values if value.operator is Operator.EQUAL}
    if len(homes) != 1 or len(columns) != 1:
        return False
    (home,), (column,) = homes, columns
    if home is None or column is None or not index.graph.leads_to_one(home, column.table):
        return False
    own = {*labels(index, home, chinese=False), *labels(index, home, chinese=True), *key_columns(index, home)}
    if not figures:
        shown = {target.column for target in form.targets}
        return shown <= own or (home != column.table and not own.isdisjoint(shown))
    return bool(form.group) or all(
        target.aggregate is Aggregate.SUM or (target.aggregate is Aggregate.COUNT and target.column is None)
        for target in figures
    )


def of_each_kind(form: Form, values: Sequence[Comparison], rest: Sequence[Condition]) -> Form | None:
    """ "The average wage of male and female rangers": that of the ones and that of the others."""
    column = values[0].left.column
    if form.group or form.order or form.limit is not None or column is None or not form.targets:
        return None
    if any(value.operator is not Operator.EQUAL for value in values):
        return None
    if any(target.aggregate not in _OF_GROUPS for target in form.targets):
        return None
    kind = Measure(column)
    return replace(form, targets=(kind, *form.targets), where=(*rest, AnyOf(tuple(values))), group=(column,))


_OF_GROUPS = frozenset({Aggregate.AVERAGE, Aggregate.MAXIMUM, Aggregate.MINIMUM})


def without_other(form: Form, index: CatalogIndex, values: Sequence[Comparison]) -> Form | None:
    """ "Flags of tankers but not of ferries": a flag may be that of both, so that those of the one go without the other's."""
    denied = [value for value in values if value.operator is Operator.UNEQUAL]
    if len(values) != _PAIR or len(denied) != 1 or len(form.targets) != 1 or form.group or form.order:
        return None
    target, column = form.targets[0], denied[0].left.column
    if target.aggregate is not None or target.column is None or column is None or target.column == column:
        return None
    home = target.column.table
    if column.table != home or target.column in {*labels(index, home), *key_columns(index, home)}:
        return None
    inside = Form(targets=(target,), where=(Comparison(denied[0].left, Operator.EQUAL, denied[0].right),))
    rest = tuple(condition for condition in form.where if condition is not denied[0])
    return replace(form, where=(*rest, Membership(target.column, inside, negated=True)), distinct=True)


_PAIR = 2


def _of_counted_rows(form: Form, index: CatalogIndex, homes: set[int | None]) -> Form | None:
    """ "How many customers have more than ten orders": of those whose orders are counted one by one, how many there are."""
    home = next(iter(homes)) if len(homes) == 1 else None
    key = key_columns(index, home) if home is not None else ()
    # Of each of them there is one: to count it again says nothing.
    counts_itself = any(condition.left.home == home for condition in form.having)
    if home is None or len(key) != 1 or counts_itself:
        return None
    inside = Form(
        targets=(Measure(key[0]),),
        tables=(home, *form.tables),
        where=form.where,
        group=tuple(key),
        having=form.having,
        near=form.near,
    )
    return replace(form, tables=(home,), where=(Membership(key[0], inside, negated=False),), having=())


def _with_membership(form: Form, index: CatalogIndex, home: int, table: int, hints: frozenset[str]) -> Form:
    path = _way(form, index, home, table, hints)
    if not path:
        return form
    edge = path[0]
    near, far = (
        (edge.source_columns, edge.target_columns)
        if edge.source == home
        else (edge.target_columns, edge.source_columns)
    )
    beyond = edge.target if edge.source == home else edge.source
    inner: list[Condition] = [condition for condition in form.where if home not in condition_tables(condition)]
    outer = [condition for condition in form.where if home in condition_tables(condition)]
    inside = Form(
        targets=(Measure(_column(index, beyond, far[0])),),
        tables=tuple(table for table in form.tables if table != home),
        where=tuple(inner),
        near=form.near,
        entered=(beyond, tuple(far)) if edge.source == beyond else None,
    )
    membership = Membership(_column(index, home, near[0]), inside, negated=False)
    return replace(form, tables=(home,), where=(*outer, membership))


def _way(form: Form, index: CatalogIndex, home: int, table: int, hints: frozenset[str]) -> tuple[Edge, ...] | None:
    """Return the keys from the rows that are asked for to others, by way of those that they belong to."""
    beside = dict(form.near).get(table)
    if beside is None or beside == home:
        way = index.graph.path((home,), table, hints)
        # "Buyers who viewed a condo": of ways as short the one over rows that are spoken of.
        spoken = (_by_way_of(index, home, other, table, hints) for other in form.tables if other not in (home, table))
        return next((other for other in spoken if other and way and len(other) == len(way)), way)
    return _by_way_of(index, home, beside, table, hints)


def _by_way_of(
    index: CatalogIndex, home: int, other: int, table: int, hints: frozenset[str]
) -> tuple[Edge, ...] | None:
    first, rest = index.graph.path((home,), other, hints), index.graph.path((other,), table, hints)
    return None if first is None or rest is None else (*first, *rest)


def _column(index: CatalogIndex, table: int, name: str) -> ColumnRef:
    names = [column.name.lower() for column in index.table(table).columns]
    return ColumnRef(table, names.index(name.lower()))
