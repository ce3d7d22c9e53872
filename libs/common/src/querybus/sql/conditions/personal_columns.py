"""Which columns of a statement's result show personal data, read from the statement itself.

Counts, sums, averages, comparisons and the year of a date say nothing of one person; every other expression over a
personal column shows it, also through sub-queries, unions and renamed columns. Pure. Limits: a column whose table is
not certain counts as personal if one of that name is in any table that the statement reads. Rows that the statement
makes itself (VALUES, UNNEST, series) show what they are made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, cast

from sqlglot import exp

from querybus.core.catalog import Catalog, Personal, Table
from querybus.sql.conditions.scope import Scope, scope_of

_SAYS_NOTHING: Final = (
    exp.Count,
    exp.CountIf,
    exp.ApproxDistinct,
    exp.Sum,
    exp.Avg,
    exp.Stddev,
    exp.Variance,
    exp.Length,
    exp.Predicate,
    exp.Connector,
    exp.Not,
    exp.Year,
    exp.Quarter,
    exp.Month,
    exp.DateDiff,
)
_PARTS_OF_DATES: Final = (exp.Extract, exp.TimestampTrunc, exp.DateTrunc)
_COARSE_UNITS: Final = frozenset({"CENTURY", "DECADE", "YEAR", "ISOYEAR", "QUARTER", "MONTH"})
_COUNTING_NAMES: Final = frozenset({"uniqexact", "uniqcombined", "uniqcombined64", "uniqhll12", "uniqthetasketch"})
_MADE_ROWS: Final = (exp.Values, exp.Unnest, exp.GenerateSeries, exp.ExplodingGenerateSeries)
_SERIES_NAMES: Final = frozenset({"numbers", "generate_series", "range"})
_ANY_COLUMN: Final = "*"
"""In place of a name: a source whose columns have no known names, and all show the same."""
_DAYS: Final = ("%d", "%e", "%j", "%F", "%D", "%x", "%c")

Outputs = tuple[tuple[str, Personal | None], ...]
"""Name and kind of each column of a query."""


@dataclass(frozen=True, slots=True)
class PersonalColumns:
    """What personal data the columns of a result show; of a statement that touches none, nothing."""

    touched: bool = False
    kinds: tuple[Personal | None, ...] = ()

    def of(self, count: int) -> tuple[Personal | None, ...]:
        """Return it for each of `count` columns; all count as personal where the statement's cannot be separated."""
        if not self.touched:
            return (None,) * count
        return self.kinds if len(self.kinds) == count else ("contact",) * count


NO_PERSONAL_COLUMNS: Final = PersonalColumns()


def personal_columns(tree: exp.Expr | None, catalog: Catalog) -> PersonalColumns:
    """Return what personal data the columns of a statement's result show."""
    if tree is None or not _personal_names(tree, catalog):
        return NO_PERSONAL_COLUMNS
    kinds: tuple[Personal | None, ...] = tuple(kind for _, kind in _outputs(tree, catalog, (), frozenset()) or ())
    return PersonalColumns(touched=True, kinds=kinds)


def _personal_names(tree: exp.Expr, catalog: Catalog) -> Mapping[str, Personal]:
    """Return the names of the personal columns of the tables that the statement reads."""
    result: dict[str, Personal] = {}
    for node in tree.find_all(exp.Table):
        for table in catalog.tables:
            if table.name.lower() == node.name.lower():
                result |= {column.name.lower(): kind for column in table.columns if (kind := column.personal_kind)}
    return result


def _outputs(tree: exp.Expr, catalog: Catalog, outside: tuple[Scope, ...], entered: frozenset[int]) -> Outputs | None:
    """Return the columns of a query; None where they are not known."""
    if id(tree) in entered:
        return ()
    entered |= {id(tree)}
    if isinstance(tree, exp.Subquery):
        return _outputs(tree.this, catalog, outside, entered)
    if isinstance(tree, exp.SetOperation):
        left = _outputs(tree.this, catalog, outside, entered)
        right = _outputs(tree.expression, catalog, outside, entered)
        if left is None or right is None:
            return None
        pairs = zip_longest(left, right, fillvalue=("", None))
        return tuple((one[0] or other[0], _worst((one[1], other[1]))) for one, other in pairs)
    if not isinstance(tree, exp.Select):
        return None
    if any(tree.find_all(exp.Columns, exp.Pivot)):
        return None
    scope = scope_of(tree, catalog)
    made: list[tuple[str, Personal | None]] = []
    for item in tree.expressions:
        if item.is_star and not isinstance(item.unalias(), exp.Count):
            starred = _starred(item, scope, outside, entered)
            if starred is None:
                return None
            made.extend(starred)
        else:
            made.append((item.alias_or_name.lower(), _kind(item.unalias(), scope, outside, entered)))
    return tuple(made)


def _starred(item: exp.Expr, scope: Scope, outside: tuple[Scope, ...], entered: frozenset[int]) -> Outputs | None:
    named = item.table.lower() if isinstance(item, exp.Column) else ""
    made: list[tuple[str, Personal | None]] = []
    for alias in scope.sources:
        if named and alias != named:
            continue
        columns = _columns(alias, scope, outside, entered)
        if columns is None or (_ANY_COLUMN in dict(columns)):
            return None
        made.extend(columns)
    return tuple(made)


def _columns(alias: str, scope: Scope, outside: tuple[Scope, ...], entered: frozenset[int]) -> Outputs | None:
    """Return the columns that a source offers, under the names that the statement gives them; None where they are not known."""
    source, node = scope.sources[alias], scope.nodes[alias]
    if isinstance(source, Table):
        made: Outputs | None = tuple((column.name.lower(), column.personal_kind) for column in source.columns)
    elif scope.catalog is None:
        return None
    elif source is None:
        made = _made_rows(node, scope, outside, entered)
    else:
        whole = _whole(source)
        made = _outputs(whole, scope.catalog, outside, entered)
        if isinstance(whole.parent, exp.CTE):
            made = _renamed(made, whole.parent)
    return _renamed(made, node)


def _renamed(columns: Outputs | None, node: exp.Expr) -> Outputs | None:
    """Return the columns under the list of names behind an alias."""
    names = [name.lower() for name in node.alias_column_names]
    if columns is None or _ANY_COLUMN in dict(columns):
        return columns
    return tuple((names[number] if number < len(names) else name, kind) for number, (name, kind) in enumerate(columns))


def _made_rows(node: exp.Expr, scope: Scope, outside: tuple[Scope, ...], entered: frozenset[int]) -> Outputs | None:
    """Return what rows show that the statement makes itself; None of every other source."""
    if id(node) in entered:
        return ()
    entered |= {id(node)}
    if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Query):
        return _outputs(node.this, cast("Catalog", scope.catalog), (*outside, scope), entered)
    made = node.this if type(node) in (exp.Table, exp.Lateral) else node
    is_series = isinstance(made, exp.Anonymous) and made.name.lower() in _SERIES_NAMES
    if not is_series and not isinstance(made, _MADE_ROWS):
        return None
    return ((_ANY_COLUMN, _worst(_kind(part, scope, outside, entered) for part in made.iter_expressions())),)


def _whole(select: exp.Select) -> exp.Expr:
    """Return the union that a query begins, or the query."""
    node: exp.Expr = select
    while isinstance(node.parent, exp.SetOperation) and node.parent.this is node:
        node = node.parent
    return node


def _kind(node: exp.Expr, scope: Scope, outside: tuple[Scope, ...], entered: frozenset[int]) -> Personal | None:
    """Return what personal data an expression shows."""
    if isinstance(node, _SAYS_NOTHING):
        return None
    if isinstance(node, exp.AnonymousAggFunc) and node.name.lower() in _COUNTING_NAMES:
        return None
    if isinstance(node, exp.TimeToStr) and _leaves_out_the_day(node):
        return None
    if isinstance(node, _PARTS_OF_DATES) and _is_coarse(node):
        return None
    if isinstance(node, exp.Column):
        return _of_column(node, scope, outside, entered)
    if isinstance(node, exp.Query):
        inner = _outputs(node, cast("Catalog", scope.catalog), (*outside, scope), entered)
        return _worst(kind for _, kind in inner) if inner is not None else "contact"
    return _worst(_kind(child, scope, outside, entered) for child in _shown_parts(node))


def _leaves_out_the_day(node: exp.TimeToStr) -> bool:
    form = node.args.get("format")
    return isinstance(form, exp.Literal) and not any(part in form.name for part in _DAYS)


def _is_coarse(node: exp.Expr) -> bool:
    unit = node.this if isinstance(node, exp.Extract) else node.args.get("unit")
    return isinstance(unit, exp.Expr) and unit.name.upper() in _COARSE_UNITS


def _shown_parts(node: exp.Expr) -> Iterable[exp.Expr]:
    """Return the parts whose values an expression shows: of a choice its results, of a window its function."""
    if isinstance(node, exp.Window | exp.Filter):
        return (node.this,)
    if isinstance(node, exp.Case):
        default = node.args.get("default")
        return (*(branch.args["true"] for branch in node.args.get("ifs") or ()), *([default] if default else []))
    if isinstance(node, exp.If):
        return tuple(part for key in ("true", "false") if (part := node.args.get(key)) is not None)
    return node.iter_expressions()


def _of_column(node: exp.Column, scope: Scope, outside: tuple[Scope, ...], entered: frozenset[int]) -> Personal | None:
    name = node.name.lower()
    perhaps: list[Personal | None] = []
    for level in (scope, *reversed(outside)):
        kinds: list[Personal | None] = []
        is_known = is_hidden = is_itself = False
        for alias in level.sources:
            if node.table and alias != node.table.lower():
                continue
            columns = _columns(alias, level, outside, entered)
            own: list[Personal | None] = [kind for column, kind in columns or () if column == name]
            made: list[Personal | None] = [kind for column, kind in columns or () if column == _ANY_COLUMN]
            if node.table or name in _names_given(level.nodes[alias]):
                own += made
            perhaps += made
            is_known = is_known or bool(own)
            kinds += own
            # A recursive table within itself has no columns yet: what it shows is seen at its beginning.
            recursive = columns == () or (columns is None and _is_itself(level.select, alias))
            is_itself = is_itself or recursive
            is_hidden = is_hidden or (columns is None and not recursive)
        if is_known:
            return _worst((*kinds, *perhaps))
        if not node.table and name in level.sources:
            # A table's name in the place of a column is its whole row.
            row = _columns(name, level, outside, entered)
            return "contact" if row is None else _worst(kind for _, kind in row)
        if is_hidden:
            return "contact"
        if is_itself:
            return None
    # What a pivot or a table function gives cannot be followed.
    return _worst(perhaps) if perhaps else "contact"


def _names_given(node: exp.Expr) -> frozenset[str]:
    return frozenset(name.lower() for name in (node.alias, *node.alias_column_names))


def _is_itself(select: exp.Select, alias: str) -> bool:
    """Whether a source is the recursive table that the query is a part of: what it shows is seen at its beginning."""
    around: set[str] = set()
    above = select.parent
    while above is not None:
        if isinstance(above, exp.CTE):
            around.add(above.alias.lower())
        above = above.parent
    return any(
        table.alias_or_name.lower() == alias and table.name.lower() in around for table in select.find_all(exp.Table)
    )


def _worst(kinds: Iterable[Personal | None]) -> Personal | None:
    """Return the kind of what is made of several: contact data outweighs names."""
    found = set(kinds)
    return "contact" if "contact" in found else "name" if "name" in found else None
