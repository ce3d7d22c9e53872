"""A key and what it refers to are the same value: whichever of the two was read, the form says the same.

"Wines made from Zinfandel grapes": the grape is said of the wine itself, though grapes have a table of their own. Where
conditions alone name the other table the statement does without it; readings that differ only so are no rivals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.labels import key_columns
from querybus_translator.writing.form import (
    Aggregate,
    AllOf,
    AnyOf,
    ColumnRef,
    Comparison,
    Condition,
    Form,
    Literal,
    Measure,
    Membership,
    Operator,
    columns_of,
    tables_of,
)
from querybus_translator.writing.write import columns_named


def without_referred(form: Form, index: CatalogIndex) -> Form:
    """Return a form whose conditions on the key of a table that is referred to are on the key that refers to it."""
    form = replace(form, where=tuple(_said_of_key(condition, index) for condition in form.where))
    shown = columns_of(replace(form, where=()))
    for table in tables_of(form):
        if all(column.table != table for column in shown):
            form = _without(form, table, index)
    return form


def canonical(form: Form, index: CatalogIndex) -> Form:
    """Return a form without the tables of which it needs no more than a key; only to be compared with others like it."""
    form = with_referred_keys(_as_groups(_as_join(without_referred(form, index))), index)
    if len(form.group) == 1 and form.group[0] not in key_columns(index, form.group[0].table):
        # By a key or by what it refers to are the same groups, whether that is read or not.
        form = _with_keys_of(form, set(range(len(index.catalog.tables))), index)
    # Groups are compared by their tables, whatever of them is shown.
    for table in () if form.group else tables_of(form):
        form = _without(form, table, index)
    form = _with_tables_between(form, index) if form.group else form
    return replace(form, where=tuple(_of_no_more_than_needed(condition, index) for condition in form.where))


def _with_tables_between(form: Form, index: CatalogIndex) -> Form:
    """Return a form that names the tables by which its own are joined: whether they were read or not, it reads them."""
    tables = tables_of(form)
    ways = (index.graph.path(tables[:1], other) or () for other in tables[1:])
    between = (table for way in ways for edge in way for table in (edge.source, edge.target))
    return replace(form, tables=tuple(dict.fromkeys((*form.tables, *between))))


def _as_join(form: Form) -> Form:
    """ "Songs whose file is ...", read as songs in a list or joined with it, and "with at least one order": the same rows."""
    if form.limit is not None or form.combined or form.order or any(target.aggregate for target in form.targets):
        return form
    where: list[Condition] = []
    tables = list(form.tables)
    for condition in form.where:
        inside = condition.form if isinstance(condition, Membership) and not condition.negated else None
        if inside is None or inside.group or inside.having or inside.limit is not None or inside.combined:
            where.append(condition)
            continue
        where += inside.where
        tables += tables_of(replace(inside, where=()))
    some = [item for item in form.having if _is_any(item)]
    tables += [item.left.table for item in some if item.left.table is not None]
    group = () if some and len(some) == len(form.having) else form.group
    having = tuple(item for item in form.having if item not in some)
    return replace(form, where=tuple(where), tables=tuple(dict.fromkeys(tables)), having=having, group=group)


def _is_any(item: Comparison) -> bool:
    bound = item.right.value if isinstance(item.right, Literal) else None
    is_count = item.left.aggregate is Aggregate.COUNT and item.left.table is not None
    return is_count and (item.operator, bound) in {(Operator.AT_LEAST, 1), (Operator.GREATER, 0)}


def _of_no_more_than_needed(condition: Condition, index: CatalogIndex) -> Condition:
    """Return a membership without the tables that its rows refer to and that it says nothing of: who took part in matches
    is in the list of who took part.
    """
    if not isinstance(condition, Membership):
        return condition
    inside = condition.form
    named = {column.table for column in columns_of(inside)} | {target.table for target in inside.targets}
    referred = {
        edge.target
        for table in named - {None}
        for edge in (index.graph.edges_of(table) if table is not None else ())
        if edge.source == table and edge.to_one
    }
    kept = tuple(table for table in inside.tables if table not in named | referred)
    return replace(condition, form=replace(inside, tables=kept))


def _as_groups(form: Form) -> Form:
    """ "The directors who made one film", said of directors that are in the list of those who did, is that list."""
    inside = form.where[0] if len(form.where) == 1 else None
    if not isinstance(inside, Membership) or inside.negated or form.group or form.limit is not None or form.combined:
        return form
    column = Measure(inside.left)
    is_list = form.targets == (column,) == inside.form.targets and inside.form.group == (inside.left,)
    return replace(inside.form, order=form.order) if is_list else form


def with_referred_keys(form: Form, index: CatalogIndex) -> Form:
    """Return a form that shows, and groups by, the key of what is referred to instead of the equal one that refers to it."""
    return _with_keys_of(form, set(tables_of(form)), index)


def _with_keys_of(form: Form, tables: set[int], index: CatalogIndex) -> Form:
    targets = tuple(
        target
        if target.column is None or target.aggregate is not None
        else replace(target, column=referred_key(target.column, tables, index))
        for target in form.targets
    )
    group = tuple(dict.fromkeys(referred_key(column, tables, index) for column in form.group))
    return replace(form, targets=tuple(dict.fromkeys(targets)), group=group)


def referred_key(column: ColumnRef, tables: set[int], index: CatalogIndex) -> ColumnRef:
    """Return the key of one of these tables that a column refers to, the column itself where it refers to none."""
    name = index.column(column.table, column.column).name
    for edge in index.graph.edges_of(column.table):
        if edge.source == column.table and edge.source_columns == (name,) and edge.target in tables - {column.table}:
            key = key_columns(index, edge.target)
            if key and (index.column(edge.target, key[0].column).name,) == edge.target_columns:
                return key[0]
    return column


def _said_of_key(condition: Condition, index: CatalogIndex) -> Condition:
    """Return what a membership says of the key itself, where it says no more than which keys are meant."""
    if not isinstance(condition, Membership) or condition.negated:
        return condition
    inside = condition.form
    is_plain = not (inside.group or inside.having or inside.limit or inside.combined or inside.everything)
    if not is_plain or len(inside.targets) != 1:
        return condition
    (target,) = inside.targets
    key = target.column
    if key is None or target.aggregate is not None:
        return condition
    refers = _refers(condition.left, key, index)
    if not inside.where or not refers or columns_of(inside) != frozenset({key}) or tables_of(inside) != (key.table,):
        return condition
    said = tuple(_moved(item, key, condition.left) for item in inside.where)
    return said[0] if len(said) == 1 else AllOf(said)


def _without(form: Form, table: int, index: CatalogIndex) -> Form:
    """Return the form without a table of which it names nothing but a key that another of its tables refers to."""
    used = {column for column in columns_of(form) if column.table == table}
    others = [other for other in tables_of(form) if other != table]
    counted = {item.table for item in (*form.targets, *(order.by for order in form.order))}
    is_plain = (
        form.combined is None and not form.having and not any(item.share_of or item.until for item in form.targets)
    )
    if len(used) != 1 or table in counted or form.everything == table or not is_plain or not others:
        return form
    (key,) = used
    name = index.column(key.table, key.column).name
    for edge in index.graph.edges_of(table):
        refers = edge.target == table and edge.source in others and edge.target_columns == (name,)
        if refers and _stay_joined(others, table, index):
            return _replaced(form, key, columns_named(index, edge.source, edge.source_columns)[0])
    return form


def _refers(column: ColumnRef, key: ColumnRef, index: CatalogIndex) -> bool:
    names = (index.column(column.table, column.column).name,), (index.column(key.table, key.column).name,)
    return column.part is None and any(
        edge.source == column.table and edge.target == key.table and (edge.source_columns, edge.target_columns) == names
        for edge in index.graph.edges_of(column.table)
    )


def _stay_joined(others: list[int], table: int, index: CatalogIndex) -> bool:
    """Whether the other tables are joined without this one."""
    ways = [index.graph.path((others[0],), other) for other in others[1:]]
    return all(way and all(table not in (edge.source, edge.target) for edge in way) for way in ways)


def _replaced(form: Form, key: ColumnRef, column: ColumnRef) -> Form:
    def moved(measure: Measure) -> Measure:
        return replace(measure, column=column) if measure.column == key else measure

    return replace(
        form,
        targets=tuple(map(moved, form.targets)),
        tables=tuple(dict.fromkeys(column.table if table == key.table else table for table in form.tables)),
        where=tuple(_moved(condition, key, column) for condition in form.where),
        group=tuple(column if item == key else item for item in form.group),
        order=tuple(replace(item, by=moved(item.by)) for item in form.order),
    )


def _moved(condition: Condition, key: ColumnRef, column: ColumnRef) -> Condition:
    if isinstance(condition, AnyOf | AllOf):
        return replace(condition, conditions=tuple(_moved(item, key, column) for item in condition.conditions))
    if isinstance(condition, Comparison):
        left = replace(condition.left, column=column) if condition.left.column == key else condition.left
        return replace(condition, left=left, right=column if condition.right == key else condition.right)
    return replace(condition, left=column) if condition.left == key else condition


def names_beside(index: CatalogIndex, shown: Sequence[ColumnRef], asked: Sequence[Measure]) -> list[Measure]:
    """Return the names to show with groups: none that is asked for anyway, none where the key is: "role codes and how many in each role"."""
    tables = {column.table for column in shown}
    keys = {referred_key(item.column, tables, index) for item in asked if item.column is not None}
    names = [Measure(column) for column in shown if keys.isdisjoint(key_columns(index, column.table))]
    return [name for name in names if name not in asked]
