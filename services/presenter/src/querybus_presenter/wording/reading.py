"""How a question was read, from the statement that was run, whoever wrote it: one line, and its parts as data.

"Number of orders per channel in May 2026, where status is paid, highest first." Nothing that narrows the answer is left
out: a condition without a phrase is shown by its values or its columns. Filters are numbered `f1`, `f2` and
groups `g1`, `g2` as `querybus.sql.conditions.parts` counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, ColumnKind
from querybus.core.messages import Reading, ReadingFilter, ReadingGroup, ReadingPeriod
from querybus.sql.conditions.parts import aimed, conditions_of, groups_of, is_hidden_key, is_join
from querybus.sql.conditions.periods import period_of, unit_of
from querybus.sql.conditions.scope import Scope, conjuncts, scope_of
from querybus.text.rows.currencies import is_in_cents, without_cents
from querybus_presenter.wording.percentages import percentage_in
from querybus_presenter.wording.periods import in_words
from querybus_presenter.wording.phrases import PARTS_MAX, Phrases, listed, within_sentence
from querybus_presenter.wording.texts import Texts

COLUMNS_MAX: Final = 4
ARMS_MAX: Final = 4


def reading(
    tree: exp.Expr | None,
    catalog: Catalog | None,
    texts: Texts,
    *,
    with_names: bool,
    labels: Sequence[str] = (),
    rows_max: int | None = None,
) -> Reading | None:
    """Return how a statement reads, None for what is no query.

    `labels` are what the result's columns are called, for what has no words of its own; `rows_max` is a limit that
    nobody asked for.
    """
    arms = _arms(tree)
    if not arms:
        return None
    made = [
        _Arm(Phrases(scope_of(arm, catalog), texts, with_names, _described), labels, rows_max).reading()
        for _, arm in arms
    ]
    if len(made) == 1:
        return made[0]
    rows = texts.reading
    ends = rows["line"][-1]
    parts = [
        f"{rows[word] if word else ''}{item.text.removesuffix(ends)}"
        for (word, _), item in zip(arms, made, strict=True)
    ]
    return Reading(
        text="".join(parts) + ends,
        measures=tuple(dict.fromkeys(word for item in made for word in item.measures)),
        entities=tuple(dict.fromkeys(word for item in made for word in item.entities)),
    )


def with_carried(read_as: Reading, carried: Sequence[str]) -> Reading:
    """Return a reading whose conditions with these ids are marked as taken over from the last question."""
    period = read_as.period and read_as.period.model_copy(update={"carried": "period" in carried})
    filters = tuple(item.model_copy(update={"carried": item.id in carried}) for item in read_as.filters)
    return read_as.model_copy(update={"period": period, "filters": filters}) if carried else read_as


def _described(words: Phrases) -> str | None:
    """Return an inner query in words, as it stands within a sentence."""
    line = _Arm(words, (), None).reading().text.removesuffix(words.texts.reading["line"][-1])
    return within_sentence(line)


def _arms(tree: exp.Expr | None, word: str = "") -> list[tuple[str, exp.Select]]:
    """Return the queries of a statement, each with how it is put together with those before it."""
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    if isinstance(tree, exp.SetOperation):
        second = tree.key if tree.key in ("intersect", "except") else "union"
        return [*_arms(tree.this, word), *_arms(tree.expression, second)][:ARMS_MAX]
    return [(word, tree)] if isinstance(tree, exp.Select) else []


@dataclass(frozen=True, slots=True)
class _Arm:
    """One query of a statement."""

    words: Phrases
    labels: Sequence[str]
    rows_max: int | None

    @property
    def select(self) -> exp.Select:
        return self.words.scope.select

    @property
    def texts(self) -> Texts:
        return self.words.texts

    def reading(self) -> Reading:
        rows = self.texts.reading
        groups = self._groups()
        measures = self._measures(groups)
        entities = self._entities()
        period, filters = self._conditions()
        order, limit = self._order()
        said = [*(item.text for item in filters), *self._inner_conditions(), *self._joined_only()]
        # A list that shows what it is grouped by holds each of them once: there is no "per".
        per = [group.text for group in groups] if measures else []
        line = rows["line"].format(
            what=self._what(measures, entities),
            groups=rows["groups"].format(columns=listed(per, self.texts)) if per else "",
            period=self._period_text(period),
            conditions=self._conditions_text(said),
            order=order,
        )
        return Reading(
            text=line[:1].upper() + line[1:] if self.texts.language == "en" else line,
            measures=measures,
            entities=entities,
            filters=filters,
            period=period,
            groups=groups,
            order=order.strip(",， "),
            limit=limit,
        )

    def _conditions_text(self, said: Sequence[str]) -> str:
        """Return conditions as the line has them: what is there or not stands alone, without a "where"."""
        rows = self.texts.reading
        starts = tuple(rows[key].partition("{")[0] for key in ("with", "without"))
        alone = [text for text in said if text.startswith(starts)]
        others = [text for text in said if text not in alone]
        return "".join(
            rows[key].format(conditions=listed(parts, self.texts, "and"))
            for key, parts in (("conditions", others), ("with_conditions", alone))
            if parts
        )

    def _what(self, measures: Sequence[str], entities: Sequence[str]) -> str:
        rows = self.texts.reading
        if measures:
            return listed(measures[:PARTS_MAX], self.texts) or ""
        columns = self._columns()
        shown = listed(columns[:COLUMNS_MAX], self.texts)
        if shown is not None and len(columns) > COLUMNS_MAX:
            names = rows["comma"].join(columns[:COLUMNS_MAX])
            shown = rows["list_more"].format(columns=names, count=len(columns) - COLUMNS_MAX)
        if shown is not None and self.select.args.get("distinct"):
            shown = rows["different"].format(columns=shown)
        entity = listed(list(entities), self.texts)
        if entity is None or shown is None:
            return shown or entity or rows["of_all"]
        return rows["list"].format(entity=entity, columns=shown)

    def _columns(self) -> list[str]:
        if any(item.is_star for item in self.select.expressions):
            return []
        return [
            text
            for place, item in enumerate(self.select.expressions)
            if (text := self._show_value(item) or self._label(place))
        ]

    def _show_value(self, item: exp.Expr) -> str | None:
        """Return a column of the result in words; its cents are shown in whole units, and so are not named."""
        text = self.words.shown(item)
        if text is None or self.words.with_names:
            return text
        columns = [self.words.column_of(column) for column in item.find_all(exp.Column)]
        return without_cents(text) if any(column and is_in_cents(column) for column in columns) else text

    def _label(self, place: int) -> str | None:
        return self.labels[place] if len(self.labels) == len(self.select.expressions) else None

    def _measures(self, groups: Sequence[ReadingGroup]) -> tuple[str, ...]:
        """Return the figures of a query that has any; what it shows beside them are its groups."""
        grouped = {group.text for group in groups}
        measures: list[str] = []
        for place, item in enumerate(self.select.expressions):
            if not groups and not _is_figure(self.select, item, self.words.scope):
                return ()
            text = self._show_value(item) or self._label(place)
            if text and text not in grouped and _is_figure(self.select, item, self.words.scope):
                measures.append(text)
        return tuple(dict.fromkeys(measures))

    def _entities(self) -> tuple[str, ...]:
        called = self.words.counted()
        if called is not None:
            return (called,)
        labels = [self.words.table(table) for scope in _scopes(self.words.scope) for table in scope.tables]
        return tuple(dict.fromkeys(label for label in labels if label))[:PARTS_MAX]

    def _groups(self) -> tuple[ReadingGroup, ...]:
        # An id beside the name that goes with it says nothing more.
        named: dict[str, str] = {}
        for key, node in groups_of(self.select):
            label = self._group_label(aimed(node, self.select))
            if label is not None:
                named.setdefault(label, key)
        return tuple(ReadingGroup(id=key, text=text) for text, key in named.items())

    def _group_label(self, node: exp.Expr) -> str | None:
        if is_hidden_key(self.words.scope, node):
            return None
        text = self.words.shown(node)
        if text is None:
            place = next((n for n, item in enumerate(self.select.expressions) if item.unalias() is node), None)
            return None if place is None else self._label(place)
        return text

    def _conditions(self) -> tuple[ReadingPeriod | None, tuple[ReadingFilter, ...]]:
        found = conditions_of(self.words.scope)
        filters = tuple(self._filter(name, part) for name, part in found.filters)
        if found.period is None:
            return None, filters
        column, days = found.period
        last = None if days.end is None else (days.end - timedelta(days=1)).isoformat()
        return ReadingPeriod(
            text=in_words(days, self.texts),
            field=self.words.column(column) or "",
            first=None if days.begin is None else days.begin.isoformat(),
            last=last,
        ), filters

    def _filter(self, name: str, part: exp.Expr) -> ReadingFilter:
        text = self.words.condition(part) or self.words.fallback(part)
        field = value = ""
        if isinstance(part, exp.EQ) and isinstance(part.this, exp.Column):
            column = self.words.column_of(part.this)
            # What is shown in whole units and stored in cents cannot be edited as it is shown.
            if column is None or not is_in_cents(column):
                field = self.words.column(part.this) or ""
                value = self.words.value(part.expression, column) or ""
        return ReadingFilter(id=name, text=text, field=field, value=value)

    def _inner_conditions(self) -> list[str]:
        """Return the conditions of the queries that this one reads from."""
        said: list[str] = []
        for scope in _scopes(self.words.scope)[1:]:
            words = self.words.within(scope)
            for part in conjuncts(scope.select):
                found = period_of(part)
                if found is not None:
                    said.append(in_words(found[1], self.texts))
                elif not is_join(words.scope, part):
                    said.append(words.condition(part) or words.fallback(part))
        return list(dict.fromkeys(said))

    def _joined_only(self) -> list[str]:
        """Return the tables that only narrow: joined from the many side, and not mentioned anywhere else."""
        said: list[str] = []
        counted = self.words.counted()
        if self.select.find(exp.Count) and not self.select.find(exp.Distinct):
            return said
        for join in self.select.args.get("joins") or ():
            table = self.words.scope.sources.get(join.this.alias_or_name.lower())
            if join.side or not isinstance(join.this, exp.Table) or table is None or isinstance(table, exp.Select):
                continue
            name = join.this.alias_or_name.lower()
            places = [*self.select.expressions, *conjuncts(self.select), *_clauses(self.select)]
            is_used = any(
                column.table.lower() == name or (not column.table and table.column(column.name))
                for place in places
                for column in place.find_all(exp.Column)
            )
            label = self.words.table(table)
            others = [other for other in self.words.scope.tables if other is not table]
            is_many = any(key.referred_table == other.name for key in table.foreign_keys for other in others)
            is_between = any(key.referred_table == table.name for other in others for key in other.foreign_keys)
            if not is_used and is_many and not is_between and label and label != counted:
                said.append(self.texts.reading["with"].format(entity=label))
        return said

    def _period_text(self, period: ReadingPeriod | None) -> str:
        if period is None:
            return ""
        rows = self.texts.reading
        dates = [
            column
            for table in self.words.scope.tables
            for column in table.columns
            if column.kind in (ColumnKind.DATE, ColumnKind.DATETIME)
        ]
        if len(dates) > 1 and period.field:
            return rows["period_of"].format(period=period.text, label=period.field)
        return rows["period"].format(period=period.text)

    def _order(self) -> tuple[str, int | None]:
        rows = self.texts.reading
        limit = _limit(self.select, self.rows_max)
        order: exp.Expr | None = self.select.args.get("order")
        first = order.expressions[0] if order else None
        if not isinstance(first, exp.Ordered):
            return (rows["one" if limit == 1 else "first"].format(count=limit) if limit else ""), limit
        down = bool(first.args.get("desc"))
        by = aimed(first.this, self.select)
        label = self._show_value(by) or self._label_of(by)
        key = self._order_key(by, down=down)
        if key is None or (label is None and "by" in key):
            return (rows["one" if limit == 1 else "first"].format(count=limit) if limit else ""), limit
        start = "order" if limit is None else "one" if limit == 1 else "first"
        return rows[f"{start}_{key}"].format(count=limit, label=label), limit

    def _label_of(self, by: exp.Expr) -> str | None:
        place = next((n for n, item in enumerate(self.select.expressions) if item.unalias() is by), None)
        return None if place is None else self._label(place)

    def _order_key(self, by: exp.Expr, *, down: bool) -> str | None:
        """Return how an order is said: of a date, of the only figure, of another number, or of anything else."""
        taken = unit_of(by)
        if self._date_column(by) or (taken is not None and taken[0] in ("year", "month", "day", "quarter", "week")):
            return "new" if down else "old"
        figures = [item for item in self.select.expressions if _is_figure(self.select, item, self.words.scope)]
        if len(figures) == 1 and figures[0].unalias() == by:
            return "high" if down else "low"
        column = self.words.column_of(by) if isinstance(by, exp.Column) else None
        if by.find(exp.AggFunc) or (column is not None and column.kind in (ColumnKind.INTEGER, ColumnKind.NUMBER)):
            return "high_by" if down else "low_by"
        return "by_down" if down else "by"

    def _date_column(self, by: exp.Expr) -> bool:
        column = self.words.column_of(by) if isinstance(by, exp.Column) else None
        return column is not None and column.kind in (ColumnKind.DATE, ColumnKind.DATETIME)


def _scopes(scope: Scope, depth: int = 0) -> list[Scope]:
    """Return a scope and those that it reads from, this one first."""
    if depth >= PARTS_MAX:
        return [scope]
    return [scope, *(item for inner in scope.inner() for item in _scopes(inner, depth + 1))]


def _clauses(select: exp.Select) -> list[exp.Expr]:
    return [clause for key in ("group", "order") if (clause := select.args.get(key)) is not None]


def _is_figure(select: exp.Select, item: exp.Expr, scope: Scope) -> bool:
    """Whether a column of the result is a figure of many rows."""
    if item.find(exp.AggFunc) is not None and (item.find(exp.Window) is None or percentage_in(item.unalias())):
        return True
    if select.args.get("group") is not None or not isinstance(item.unalias(), exp.Column):
        return False
    column = item.unalias()
    return (
        any(
            isinstance(source, exp.Select)
            and any(
                inner.alias_or_name.lower() == column.name.lower() and inner.find(exp.AggFunc) is not None
                for inner in source.expressions
            )
            for source in scope.sources.values()
        )
        and len(select.expressions) == 1
    )


def _limit(select: exp.Select, rows_max: int | None) -> int | None:
    """Return the limit that a statement sets itself."""
    node: exp.Expr | None = select.args.get("limit") or select.args.get("fetch")
    count = None if node is None else node.args.get("expression") or node.args.get("count")
    if not isinstance(count, exp.Literal) or not count.is_int:
        return None
    return int(count.name) if rows_max is None or int(count.name) < rows_max else None
