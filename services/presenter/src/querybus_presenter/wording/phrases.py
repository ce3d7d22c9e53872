"""Parts of a statement in words: columns, figures, values and conditions.

Analysts read names as they are written; business readers read names for people. Columns of a derived table or a
WITH table are followed to what they stand for. None is what has no words; whoever asks says what stands in their place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column, ColumnKind, Table
from querybus.sql.conditions.parts import conditions_of, is_text, referred_tables
from querybus.sql.conditions.periods import Period, age_of, days_between, period_of, time_between, unit_of
from querybus.sql.conditions.scope import Scope, all_of, outermost, projection, scope_of
from querybus.text.labels import column_label, flag_values, table_label
from querybus.text.rows.currencies import is_in_cents, without_cents
from querybus.text.words import plural, singular
from querybus_presenter.summaries.values import date_in_words, in_words
from querybus_presenter.wording.percentages import percentage_in
from querybus_presenter.wording.periods import in_words as period_in_words
from querybus_presenter.wording.texts import Texts

PARTS_MAX: Final = 6
DEPTH_MAX: Final = 6
VALUE_LENGTH_MAX: Final = 60

_COMPARED: Final[dict[type[exp.Expr], str]] = {
    exp.EQ: "is",
    exp.NEQ: "is_not",
    exp.GT: "above",
    exp.GTE: "at_least",
    exp.LT: "below",
    exp.LTE: "at_most",
}
_COMPARED_DAYS: Final[dict[type[exp.Expr], str]] = {
    exp.GT: "later",
    exp.GTE: "not_earlier",
    exp.LT: "earlier",
    exp.LTE: "not_later",
}
"""How one day of a row is compared with another."""
_DAYS: Final = frozenset({ColumnKind.DATE, ColumnKind.DATETIME})
FUNCTIONS: Final[dict[type[exp.Expr], str]] = {exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max"}
_SIGNS: Final[dict[type[exp.Expr], str]] = {exp.Add: "+", exp.Sub: "−", exp.Mul: "×"}
_TRANSPARENT: Final = (
    exp.Cast,
    exp.TryCast,
    exp.Round,
    exp.Coalesce,
    exp.Paren,
    exp.Nullif,
    exp.Abs,
    exp.Lower,
    exp.Upper,
)
"""Calculations that a reader of the question would not mention."""


_KEY_ENDS: Final = re.compile(r"[ _](?:id|no|number|key|code)$|(?:编号|标识|代码)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Phrases:
    """Words for the parts of one query."""

    scope: Scope
    texts: Texts
    with_names: bool
    describe: Callable[[Phrases], str | None] = lambda _: None
    """Says an inner query whole."""
    depth: int = 0

    def within(self, scope: Scope) -> Phrases:
        """Return the words for a query inside of this one."""
        return replace(self, scope=scope, depth=self.depth + 1)

    def table(self, table: Table) -> str | None:
        """Return what the rows of a table are called."""
        if self.with_names:
            return table.name
        label = table_label(table, self.texts.language, self.scope.catalog)
        if label is None or self.texts.language == "zh":
            return label
        return plural(within_sentence(label))

    def column_of(self, written: exp.Column) -> Column | None:
        """Return the catalog's column of a reference, if it is certain."""
        found = self.scope.origin(written)
        return None if found is None else found[1]

    def column(self, written: exp.Column) -> str | None:
        """Return a column in words."""
        if isinstance(written.this, exp.Star):
            return None
        for source in self.scope.owners(written):
            if isinstance(source, exp.Select) and self.depth < DEPTH_MAX:
                meant = projection(source, written.name)
                if meant is not None and not self.with_names:
                    return self.within(scope_of(source, self.scope.catalog)).shown(meant)
        if self.with_names:
            owner = self.scope.origin(written) if len(self.scope.sources) > 1 else None
            return written.name if owner is None else f"{owner[0].name}.{written.name}"
        found = self.scope.origin(written)
        if found is None or self.scope.catalog is None:
            return None
        label = column_label(found[1], self.scope.catalog, self.texts.language)
        if label is None:
            return None
        key = self.scope.role(written)
        role = None if key is None else column_label(key, self.scope.catalog, self.texts.language)
        if role is not None:
            called = _KEY_ENDS.sub("", within_sentence(role))
            return self.texts.reading["in_role"].format(label=within_sentence(label), role=called)
        return self._owned(within_sentence(label), found[0])

    def _owned(self, label: str, table: Table) -> str:
        """Return a column's label with its table's, where several tables have a name, a type or a date."""
        is_own = not self.texts.reading["own_words"] or label.lower() not in self.texts.reading["own_words"].split()
        owner = table_label(table, self.texts.language, self.scope.catalog)
        if is_own or len(self.scope.tables) < 2 or owner is None:
            return label
        return self.texts.reading["owned"].format(owner=singular(within_sentence(owner)), label=label)

    def shown(self, expression: exp.Expr) -> str | None:
        """Return a column, or a figure of some, in words."""
        expression = expression.unalias()
        while isinstance(expression, _TRANSPARENT) and isinstance(expression.this, exp.Expr):
            expression = expression.this
        rows = self.texts.reading
        if (taken := unit_of(expression)) is not None:
            label = self.column(taken[1])
            return None if label is None else rows[taken[0]]
        if (days := days_between(expression)) is not None:
            begin, end = self.column(days[0]), self.column(days[1])
            return begin and end and rows["days_between"].format(begin=begin, end=end)
        if (moments := time_between(expression)) is not None:
            begin, end = self.column(moments[0]), self.column(moments[1])
            return begin and end and rows[f"{moments[2]}_between"].format(begin=begin, end=end)
        if age_of(expression) is not None:
            return rows["age"]
        if isinstance(expression, exp.Column):
            return self.column(expression)
        if isinstance(expression, exp.Count):
            return self._count(expression)
        if (function := FUNCTIONS.get(type(expression))) is not None:
            return self._figure(function, expression.this)
        if isinstance(expression, exp.Filter):
            figure, condition = self.shown(expression.this), self.condition(expression.expression.this)
            return figure and condition and rows["figure_where"].format(figure=figure, condition=condition)
        if (percentage := percentage_in(expression)) is not None:
            called = self.counted()
            condition = None if percentage.condition is None else self.condition(percentage.condition)
            if called is None or (percentage.condition is not None and condition is None):
                return None
            key = "percentage" if condition is None else "percentage_where"
            return rows[key].format(entity=called, condition=condition)
        if isinstance(expression, exp.Div):
            first, second = self._operand(expression.this), self._operand(expression.expression)
            return first and second and rows["ratio"].format(first=first, second=second)
        if isinstance(expression, exp.Mul) and (factor := _without_one(expression)) is not None:
            return self.shown(factor)
        if type(expression) in _SIGNS:
            first, second = self._operand(expression.this), self._operand(expression.expression)
            return first and second and f"{first} {_SIGNS[type(expression)]} {second}"
        if isinstance(expression, exp.Window) and isinstance(expression.this, exp.Rank | exp.DenseRank | exp.RowNumber):
            order = expression.args.get("order")
            label = self.shown(order.expressions[0].this) if order else None
            return label and rows["rank"].format(label=label)
        if isinstance(expression, exp.Subquery) and self.depth < DEPTH_MAX:
            select = outermost(expression)
            inner = None if select is None else self.within(scope_of(select, self.scope.catalog))
            return None if inner is None else self.describe(inner)
        return None

    def _operand(self, expression: exp.Expr) -> str | None:
        bare = expression.unnest()
        if isinstance(bare, exp.Literal) and not bare.is_string:
            return bare.name
        return self.shown(expression)

    def _count(self, node: exp.Count) -> str | None:
        rows, inner = self.texts.reading, node.this
        if isinstance(inner, exp.Case):
            return self._of_case("count", inner)
        distinct = isinstance(inner, exp.Distinct)
        if isinstance(inner, exp.Distinct):
            inner = inner.expressions[0] if len(inner.expressions) == 1 else None
        if isinstance(inner, exp.Column) and not isinstance(inner.this, exp.Star):
            return self._count_of(inner, distinct=distinct)
        called = self.counted()
        return rows["of_all"] if called is None else rows["count"].format(entity=called)

    def _count_of(self, column: exp.Column, *, distinct: bool) -> str | None:
        rows = self.texts.reading
        found = self.scope.origin(column)
        if found is not None and self.scope.catalog is not None:
            table, known = found
            referred = next((key for key in table.foreign_keys if key.columns == (known.name,)), None)
            entity = table if known.name in table.primary_key else None
            if referred is not None and distinct:
                entity = self.scope.catalog.referred(referred, table)
            if entity is not None and (label := self.table(entity)):
                return rows["count"].format(entity=label)
        label = self.column(column)
        if label is None:
            return None
        if distinct:
            return rows["count_distinct"].format(label=label)
        called = self.counted()
        return rows["count"].format(entity=called or label)

    def counted(self) -> str | None:
        """Return what one line of the query is, before any grouping: of joined tables, the one on the many side."""
        tables = list(self.scope.tables)
        if len(tables) != len(self.scope.sources):
            inner = [self.within(scope).counted() for scope in self.scope.inner()]
            return inner[0] if len(inner) == 1 and not tables and self.depth < DEPTH_MAX else None
        referred = referred_tables(self.scope, tables)
        many = [table for table in tables if table.name.lower() not in referred] or tables
        if not self.with_names and any(join.side == "LEFT" for join in self.scope.select.args.get("joins") or ()):
            many = tables[:1]
        labels = list(dict.fromkeys(self.table(table) for table in many))
        return listed(labels, self.texts) if len(labels) <= 2 else None

    def _figure(self, function: str, inner: exp.Expr) -> str | None:
        if isinstance(inner, exp.Distinct) and len(inner.expressions) == 1:
            inner = inner.expressions[0]
        if isinstance(inner, exp.Case):
            return self._of_case(function, inner)
        label = self.shown(inner)
        return label and self.texts.reading["figure"].format(function=self.texts.reading[function], label=label)

    def _of_case(self, function: str, case: exp.Case) -> str | None:
        """Return a figure over the rows that fit one condition: SUM(CASE WHEN ... THEN amount END)."""
        ifs, default = case.args.get("ifs") or [], case.args.get("default")
        if len(ifs) != 1 or case.this or not (default is None or isinstance(default, exp.Null) or default.name == "0"):
            return None
        condition, value = self.condition(ifs[0].this), ifs[0].args["true"]
        if isinstance(value, exp.Literal) and value.name == "1" and function in ("sum", "count"):
            called = self.counted()
            figure = self.texts.reading["count"].format(entity=called) if called else self.texts.reading["of_all"]
        else:
            is_column = isinstance(value, exp.Column)
            figure = (
                self._count_of(value, distinct=False)
                if function == "count" and is_column
                else self._figure(function, value)
            )
        return figure and condition and self.texts.reading["figure_where"].format(figure=figure, condition=condition)

    def value(self, written: exp.Expr, column: Column | None = None) -> str | None:
        """Return a literal in words; yes or no of a column of yes and no."""
        while isinstance(written, exp.Cast | exp.Paren | exp.Lower | exp.Upper):
            written = written.this
        if isinstance(written, exp.Neg):
            inner = self.value(written.this)
            return None if inner is None else f"-{inner}"
        if isinstance(written, exp.Boolean):
            return self.texts.summary["yes" if written.this else "no"]
        if is_text(self.scope, written):
            return written.name if len(written.name) <= VALUE_LENGTH_MAX and written.name.isprintable() else None
        if not isinstance(written, exp.Literal):
            return None
        if column is not None and written.name in ("0", "1") and flag_values(column) == (1, 0):
            return self.texts.summary["yes" if written.name == "1" else "no"]
        text = written.name
        if not text.strip() or len(text) > VALUE_LENGTH_MAX or not text.isprintable():
            return None
        if written.is_string or self.with_names:
            return text if self.with_names else self._moment(written) or text
        if column is not None and is_in_cents(column):
            return in_words(str(Decimal(text) / 100), ColumnKind.NUMBER, self.texts)
        # What is compared may be a year, and reads as well without a separator where it is none.
        if written.is_int and 1_000 <= int(text) <= 2_999:
            return text
        return in_words(text, ColumnKind.NUMBER, self.texts)

    def condition(self, node: exp.Expr) -> str | None:
        """Return a condition in words."""
        rows = self.texts.reading
        if isinstance(node, exp.Paren):
            return self.condition(node.this)
        if isinstance(node, exp.Or) and (said := self._either_period(node)) is not None:
            return said
        if isinstance(node, exp.Or | exp.And):
            first, second = self.condition(node.this), self.condition(node.expression)
            return (
                first
                and second
                and rows["or" if isinstance(node, exp.Or) else "and"].format(first=first, second=second)
            )
        if isinstance(node, exp.Not):
            return self._negated(node.this)
        if isinstance(node, exp.Exists):
            return self._exists(node, "there_is")
        left = self.shown(node.this) if isinstance(node.this, exp.Expr) else None
        if left is None:
            return None
        column = self.column_of(node.this) if isinstance(node.this, exp.Column) else self._amount_of(node.this)
        if column is not None and is_in_cents(column) and not self.with_names:
            left = without_cents(left)
        if type(node) in _COMPARED:
            right = self.value(node.expression, column) or self.shown(node.expression)
            is_day = self._moment(node.expression) is not None or (
                column is not None and column.kind in _DAYS and isinstance(node.expression, exp.Column)
            )
            key = _COMPARED_DAYS.get(type(node), _COMPARED[type(node)]) if is_day else _COMPARED[type(node)]
            return right and rows[key].format(left=left, right=right)
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return rows["missing"].format(left=left)
        if isinstance(node, exp.Between):
            low, high = self.value(node.args["low"], column), self.value(node.args["high"], column)
            return rows["between"].format(left=left, low=low, high=high) if low and high else None
        if isinstance(node, exp.In):
            return self._in(node, left, column)
        if isinstance(node, exp.Like | exp.ILike):
            return self._like(left, self.value(node.expression))
        return None

    def _amount_of(self, figure: exp.Expr) -> Column | None:
        """Return the column of which a figure is the sum, the average or an end."""
        inner = figure.this if isinstance(figure, exp.Sum | exp.Avg | exp.Max | exp.Min) else None
        return self.column_of(inner) if isinstance(inner, exp.Column) else None

    def _moment(self, written: exp.Expr) -> str | None:
        """Return a literal as people write a day, or a time of it; None where it is neither."""
        is_text = isinstance(written, exp.Literal) and written.is_string
        return date_in_words(written.name, self.texts.language) if is_text else None

    def _either_period(self, node: exp.Or) -> str | None:
        """Return several periods of one column in the order of time: "booked on is in 2025 or in 2026"."""
        found: list[tuple[str, Period]] = []
        for part in node.flatten():
            sides = [period_of(side) for side in all_of(part)]
            column = sides[0][0] if sides and sides[0] is not None else None
            period = Period()
            for side in sides:
                if side is None or side[0] != column:
                    return None
                period = period.cut(side[1])
            if column is None or period.begin is None:
                return None
            found.append((self.shown(column) or "", period))
        label = found[0][0]
        if not label or any(other != label for other, _ in found):
            return None
        ordered = sorted((period for _, period in found), key=lambda period: period.begin or date.min)
        said = listed([period_in_words(period, self.texts) for period in ordered], self.texts, "or")
        return self.texts.reading["one_of"].format(left=label, right=said) if said else None

    def _in(self, node: exp.In, left: str, column: Column | None, *, negated: bool = False) -> str | None:
        if (query := node.args.get("query")) is not None:
            inner = self._inner(query)
            found = self.scope.origin(node.this) if isinstance(node.this, exp.Column) else None
            keys = (
                ()
                if found is None
                else (*found[0].primary_key, *(c for key in found[0].foreign_keys for c in key.columns))
            )
            key = (
                ("without" if negated else "with")
                if found and found[1].name in keys
                else "not_among"
                if negated
                else "among"
            )
            return inner and self.texts.reading[key].format(left=left, inner=inner, entity=inner)
        values = [self.value(expression, column) for expression in node.expressions]
        known = [value for value in values if value]
        if not known or len(known) != len(values) or len(known) > PARTS_MAX or negated:
            return None
        *others, last = known
        text = (
            self.texts.reading["or"].format(first=self.texts.reading["comma"].join(others), second=last)
            if others
            else last
        )
        return self.texts.reading["one_of"].format(left=left, right=text)

    def _exists(self, node: exp.Exists, key: str) -> str | None:
        inner = self._inner(node.this)
        return inner and self.texts.reading[key].format(inner=inner)

    def _inner(self, query: exp.Expr) -> str | None:
        """Return an inner query by what its lines are and by its conditions."""
        select = outermost(query)
        if select is None or self.depth >= DEPTH_MAX:
            return None
        words = self.within(scope_of(select, self.scope.catalog))
        called = words.counted()
        if called is None:
            return None
        found, rows = conditions_of(words.scope), self.texts.reading
        period = (
            "" if found.period is None else rows["period"].format(period=period_in_words(found.period[1], self.texts))
        )
        parts = [part for _, part in found.filters if not _is_guard(select, part)]
        said = [words.condition(part) or words.fallback(part) for part in parts]
        conditions = rows["inner_conditions"].format(conditions=listed(said, self.texts, "and")) if said else ""
        return rows["inner"].format(what=called, period=period, conditions=conditions)

    def _negated(self, node: exp.Expr) -> str | None:
        rows = self.texts.reading
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            left = self.shown(node.this)
            return left and rows["present"].format(left=left)
        if isinstance(node, exp.Exists):
            return self._exists(node, "there_is_no")
        if isinstance(node, exp.In) and node.args.get("query") is not None:
            left = self.shown(node.this)
            return left and self._in(node, left, None, negated=True)
        inner = self.condition(node)
        return inner and rows["not"].format(condition=inner)

    def _like(self, left: str, pattern: str | None) -> str | None:
        if not pattern:
            return None
        inner = pattern.strip("%")
        if not inner or "%" in inner or "_" in inner:
            return self.texts.reading["like"].format(left=left, right=pattern) if self.with_names else None
        ends = (pattern.startswith("%"), pattern.endswith("%"))
        key = {(True, True): "contains", (False, True): "starts", (True, False): "ends", (False, False): "is"}[ends]
        return self.texts.reading[key].format(left=left, right=inner)

    def fallback(self, node: exp.Expr) -> str:
        """Return words for a condition that has no phrase: its values or its columns; to analysts, its text. Never empty."""
        if self.with_names:
            return node.sql(dialect=self.scope.catalog.dialect.value if self.scope.catalog else None)[:120]
        values = [item.name for item in node.find_all(exp.Literal) if item.is_string and item.name.strip("% ").strip()]
        rows = self.texts.reading
        if values:
            quoted = [f"“{value.strip('%')}”" for value in values[:PARTS_MAX] if len(value) <= VALUE_LENGTH_MAX]
            if quoted:
                return rows["only_what_fits"].format(values=rows["comma"].join(quoted))
        labels = [label for column in node.find_all(exp.Column) if (label := self.column(column))]
        columns = listed(list(dict.fromkeys(labels))[:PARTS_MAX], self.texts) or rows["unnamed"]
        return rows["a_condition_on"].format(columns=columns)


def listed(found: Sequence[str | None], texts: Texts, last: str = "list_and") -> str | None:
    """Return parts as a list in words, or None if one of them has no words: half a list would mislead."""
    known = list(dict.fromkeys(item for item in found if item))
    if not known or not all(found):
        return None
    if len(known) == 1:
        return known[0]
    return texts.reading[last].format(first=texts.reading["comma"].join(known[:-1]), second=known[-1])


def _is_guard(select: exp.Select, part: exp.Expr) -> bool:
    """Whether a condition only keeps empty keys out of what NOT IN compares with: it says nothing to people."""
    inner = part.this if isinstance(part, exp.Not) else None
    if not isinstance(inner, exp.Is) or not isinstance(inner.expression, exp.Null):
        return False
    return len(select.expressions) == 1 and select.expressions[0].unalias() == inner.this


def _without_one(product: exp.Mul) -> exp.Expr | None:
    """Return what is multiplied by one, which only makes a whole number a decimal one; None for another product."""
    for one, other in ((product.this, product.expression), (product.expression, product.this)):
        if isinstance(one, exp.Literal) and not one.is_string and float(one.name) == 1:
            return other
    return None


def within_sentence(label: str) -> str:
    """Return a label as it stands within a sentence.

    >>> within_sentence("Order date"), within_sentence("ISBN number")
    ('order date', 'ISBN number')
    """
    return label[:1].lower() + label[1:] if label[1:2].islower() else label


def column_phrases(tree: exp.Expr | None, catalog: Catalog | None, texts: Texts) -> list[str | None]:
    """Return what each column of a statement shows, in words."""
    select = outermost(tree)
    if select is None:
        return []
    words = Phrases(scope_of(select, catalog), texts, with_names=False)
    return [words.shown(item) for item in select.expressions]
