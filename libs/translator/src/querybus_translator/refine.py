"""A statement read once more with one part changed, without a model: a filter or group less, another value or period.

It starts from the statement that was drafted, so row filters and masks come anew from the validator, as for any draft.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final, Literal

from sqlglot import exp
from sqlglot.optimizer.scope import build_scope

from querybus.core.catalog import Catalog, Column, ColumnKind, Language, Table
from querybus.core.requests.refinement import PERIOD, Change, NewPeriod
from querybus.sql.conditions.parts import aimed, conditions_of, groups_of, is_hidden_key
from querybus.sql.conditions.periods import unit_of
from querybus.sql.conditions.scope import Scope, all_of, scope_of
from querybus.sql.edit import add_join, equal, free_alias, keep_owners, read, reference, write
from querybus.text.labels import column_label, table_label
from querybus_semantic.compiling.dates import literal, truncated
from querybus_semantic.layer.definitions import Calendar, Grain, Type
from querybus_translator.schema.index import index_of
from querybus_translator.schema.labels import labels

_NUMBERS: Final = (ColumnKind.INTEGER, ColumnKind.NUMBER)
_DATES: Final = (ColumnKind.DATE, ColumnKind.DATETIME)
_TYPES: Final = {ColumnKind.DATE: Type.DATE, ColumnKind.DATETIME: Type.DATETIME}
_CLAUSES: Final = ("where", "having", "qualify")


class CannotRefineError(Exception):
    """A change that this statement has no place for; `about` is what it was about, as the person knows it."""

    def __init__(self, about: str, detail: str) -> None:
        super().__init__(detail)
        self.about = about


def refine(sql: str, change: Change, catalog: Catalog, language: Language) -> str:
    """Return the statement with the change. CannotRefineError where it has no such part, or nothing it could mean."""
    tree = read(sql, catalog.dialect)
    if not isinstance(tree, exp.Select):
        raise CannotRefineError("", "the statement is not one plain query")
    edit = _Edit(tree, catalog, language)
    # Ids are places in the statement as it was read, so everything is found before anything is changed.
    filters = {name: part for name, part in conditions_of(edit.scope).filters if name in change.without}
    groups = {name: node for name, node in groups_of(tree) if name in change.without}
    if missing := set(change.without) - {*filters, *groups, PERIOD}:
        raise CannotRefineError("", f"the statement has no {', '.join(sorted(missing))}")
    edit.set_values(change.values)
    if change.period is not None:
        edit.set_period(change.period)
    elif PERIOD in change.without:
        edit.remove(conditions_of(edit.scope).period_parts)
    edit.remove(tuple(filters.values()))
    if change.unit is not None:
        edit.set_unit(change.unit)
    if groups:
        edit.remove_groups(tuple(groups.values()))
    if change.by:
        edit.add_group(change.by)
    if change.lines is not None:
        tree.limit(change.lines, copy=False)
    return write(tree, catalog.dialect)


class _Edit:
    """One query while it is changed."""

    def __init__(self, select: exp.Select, catalog: Catalog, language: Language) -> None:
        self._select = select
        self._catalog = catalog
        self._language: Language = language

    @property
    def scope(self) -> Scope:
        return scope_of(self._select, self._catalog)

    def remove(self, parts: tuple[exp.Expr, ...]) -> None:
        """Take conditions away, and with the last one their clause."""
        gone = {id(part) for part in parts}
        for key in _CLAUSES:
            holder: exp.Expr | None = self._select.args.get(key)
            if holder is None:
                continue
            own = all_of(holder.this)
            left = [part for part in own if id(part) not in gone]
            if len(left) < len(own):
                self._select.set(key, type(holder)(this=_chained(left)) if left else None)

    def _narrow(self, condition: exp.Expr) -> None:
        where: exp.Expr | None = self._select.args.get("where")
        own = [] if where is None else all_of(where.this)
        self._select.set("where", exp.Where(this=_chained([*own, condition])))

    def set_values(self, values: dict[str, str]) -> None:
        """Compare with other values."""
        filters = dict(conditions_of(self.scope).filters)
        for name, value in values.items():
            part = filters.get(name)
            if not isinstance(part, exp.EQ) or not isinstance(part.this, exp.Column):
                raise CannotRefineError(value, f"{name} does not compare one thing with one value")
            found = self.scope.origin(part.this)
            part.set("expression", _value(value, found[1] if found is not None else None))

    def set_period(self, period: NewPeriod) -> None:
        """Narrow to other days of the date that counted, or of the only date that there is."""
        known = conditions_of(self.scope)
        written = known.period[0].copy() if known.period is not None else self._only_date()
        found = self.scope.origin(written)
        kind = _TYPES.get(found[1].kind, Type.TEXT) if found is not None else Type.DATE
        self.remove(known.period_parts)
        dialect = self._catalog.dialect
        if period.first is not None:
            first = literal(period.first, kind, dialect)
            self._narrow(exp.GTE(this=written.copy(), expression=first))
        if period.last is not None and period.last < date.max:
            end = literal(period.last + timedelta(days=1), kind, dialect)
            self._narrow(exp.LT(this=written.copy(), expression=end))

    def _only_date(self) -> exp.Column:
        dates = [
            reference(alias, column.name)
            for alias, source in self.scope.sources.items()
            if isinstance(source, Table)
            for column in source.columns
            if column.kind in _DATES
        ]
        if len(dates) != 1:
            raise CannotRefineError("", f"there are {len(dates)} dates that a period could be one of")
        return dates[0]

    def set_unit(self, unit: Literal["day", "week", "month", "quarter", "year"]) -> None:
        """Show the same by another unit of time."""
        for _, node in groups_of(self._select):
            cut = aimed(node, self._select)
            found = unit_of(cut)
            kind = self.scope.origin(cut) if isinstance(cut, exp.Column) else None
            if found is None and (kind is None or kind[1].kind not in _DATES or not isinstance(cut, exp.Column)):
                continue
            written = found[1] if found is not None else cut
            new = truncated(written.copy(), Grain(unit), self._catalog.dialect, Calendar())
            self._sort_by_unit(written, new)
            # The column is called after the unit, not after the old one.
            self._replace_shown(cut, new, unit)
            return
        raise CannotRefineError(unit, "nothing is shown by a date")

    def _sort_by_unit(self, written: exp.Expr, new: exp.Expr) -> None:
        """Days of the week are sorted by their numbers, which say nothing of another unit: what sorts by such sorts by the unit."""
        order: exp.Expr | None = self._select.args.get("order")
        for node in list(order.expressions) if order is not None else ():
            inner = node.this if isinstance(node, exp.Ordered) else node
            if isinstance(inner, exp.Min) and any(
                cut is not None and cut[1] == written for cut in map(unit_of, inner.walk())
            ):
                inner.replace(new.copy())

    def _replace_shown(self, old: exp.Expr, new: exp.Expr, name: str) -> None:
        was = old.copy()
        alias = next((item.alias for item in self._select.expressions if item.unalias() == was and item.alias), "")
        for item in list(self._select.expressions):
            if item.unalias() == was:
                item.replace(exp.alias_(new.copy(), name))
        for key in ("group", "order"):
            clause: exp.Expr | None = self._select.args.get(key)
            for node in list(clause.expressions) if clause is not None else ():
                inner = node.this if isinstance(node, exp.Ordered) else node
                if inner == was or (alias and isinstance(inner, exp.Column) and inner.name == alias):
                    inner.replace(new.copy())

    def remove_groups(self, nodes: tuple[exp.Expr, ...]) -> None:
        """Show what is left as one line where it was one for each; with the last group the order goes as well."""
        scope = self.scope
        gone = [aimed(node, self._select).copy() for node in nodes]
        owners = {found[0].name for node in gone if isinstance(node, exp.Column) and (found := scope.origin(node))}
        keys = [
            node
            for _, node in groups_of(self._select)
            if isinstance(node, exp.Column)
            and is_hidden_key(scope, node)
            and (found := scope.origin(node)) is not None
            and found[0].name in owners
        ]
        removed = {id(node) for node in (*nodes, *keys)}
        # Positions would point elsewhere once a column is gone.
        self._write_out_positions()
        group: exp.Expr = self._select.args["group"]
        left = [node for node in group.expressions if id(node) not in removed]
        left = [node for node in left if node not in gone]
        shown = [item for item in self._select.expressions if item.unalias() not in gone]
        if not left and not (shown and all(item.find(exp.AggFunc) is not None for item in shown)):
            raise CannotRefineError("", "without the group there would be no figure to show")
        names = {item.alias for item in self._select.expressions if item.unalias() in gone and item.alias}
        self._select.set("expressions", shown)
        self._select.set("group", exp.Group(expressions=left) if left else None)
        if not left:
            self._select.set("order", None)
            self._select.set("limit", None)
            return
        order: exp.Expr | None = self._select.args.get("order")
        if order is not None:
            kept = [item for item in order.expressions if item.this not in gone and item.this.name not in names]
            self._select.set("order", exp.Order(expressions=kept) if kept else None)

    def _write_out_positions(self) -> None:
        for key in ("group", "order"):
            clause: exp.Expr | None = self._select.args.get(key)
            for node in list(clause.expressions) if clause is not None else ():
                inner = node.this if isinstance(node, exp.Ordered) else node
                if isinstance(inner, exp.Literal):
                    inner.replace(aimed(inner, self._select).copy())

    def add_group(self, label: str) -> None:
        """Show one line for each of something more: a column of what is read, or of what it refers to."""
        group: exp.Expr | None = self._select.args.get("group")
        is_figures = all(item.find(exp.AggFunc) is not None for item in self._select.expressions)
        if group is None and not is_figures:
            raise CannotRefineError(label, "a list of rows is not shown per anything")
        written = self._own(label) or self._referred(label)
        if written is None:
            raise CannotRefineError(label, "no column of these tables has that name")
        self._write_out_positions()
        shown = list(self._select.expressions)
        place = next((n for n, item in enumerate(shown) if item.find(exp.AggFunc) is not None), len(shown))
        self._select.set("expressions", [*shown[:place], written, *shown[place:]])
        self._select.group_by(written.copy(), copy=False)

    def _own(self, label: str) -> exp.Column | None:
        for alias, source in self.scope.sources.items():
            column = self._named(source, label) if isinstance(source, Table) else None
            if column is not None:
                return reference(alias, column.name)
        return None

    def _referred(self, label: str) -> exp.Column | None:
        for alias, source in list(self.scope.sources.items()):
            if not isinstance(source, Table):
                continue
            for key in source.foreign_keys:
                table = self._catalog.referred(key, source)
                column = self._named(table, label) if table is not None else None
                if table is None or column is None:
                    continue
                outer = build_scope(self._select)
                if outer is not None:
                    keep_owners(self._select, outer, self._catalog, tuple(item.name.lower() for item in table.columns))
                name = free_alias(self._select, table.name)
                add_join(self._select, table.name, name, equal(alias, key.columns, name, key.referred_columns))
                return reference(name, column.name)
        return None

    def _named(self, table: Table, label: str) -> Column | None:
        """Return the column of a table that people or the database call so; of the table's own name, what names its rows."""
        wanted = label.strip().casefold()
        for column in table.columns:
            shown = column_label(column, self._catalog, self._language) or ""
            names = (column.name, f"{table.name}.{column.name}", shown, *column.display_names.values())
            if wanted in {name.casefold() for name in names if name}:
                return column
        called = {name.casefold() for name in (table.name, table_label(table, self._language, self._catalog)) if name}
        if wanted in called or f"{wanted}s" in called:
            index = index_of(self._catalog)
            naming = labels(index, self._catalog.tables.index(table))
            return index.column(naming[0].table, naming[0].column) if naming else None
        return None


def _chained(parts: list[exp.Expr]) -> exp.Expr:
    """Return conditions as one chain, which reads as the same conditions again."""
    wrapped = [exp.Paren(this=part) if isinstance(part, exp.Connector) else part for part in parts]
    condition = wrapped[0]
    for part in wrapped[1:]:
        condition = exp.And(this=condition, expression=part)
    return condition


def _value(text: str, column: Column | None) -> exp.Expr:
    if column is not None and column.kind in _NUMBERS:
        try:
            float(text)
        except ValueError:
            raise CannotRefineError(text, "a number is compared with numbers") from None
        return exp.Literal.number(text.strip())
    if column is not None and column.kind is ColumnKind.BOOLEAN:
        return exp.Boolean(this=text.strip().casefold() in ("true", "1", "yes", "是"))
    return exp.Literal.string(text)
