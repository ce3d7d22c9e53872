"""The order of groups: a figure of theirs, their time, or what each of them has one of; and whether lines are meant instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from querybus.core.catalog import ColumnKind
from querybus_translator.language.lexicon import Op
from querybus_translator.language.stems import base_form
from querybus_translator.language.time.words import RECURRING
from querybus_translator.schema.additive import is_additive
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.writing.form import Aggregate, ColumnRef, Comparison, Form, Measure, Operator, Ordering
from querybus_translator.writing.sketch import Sketch


def order_of_groups(
    sketch: Sketch, order: list[Ordering], group: list[ColumnRef], figures: list[Measure]
) -> list[Ordering]:
    """Return an order that groups can be put in: "total amount by city, highest first" sorts by the total."""
    recurring = [column for column in group if column.part in RECURRING]
    if recurring and not order and sketch.limit is None:
        # Days of the week and hours of the day have an order of their own, which their figures hide.
        return [Ordering(Measure(recurring[0]), descending=False)]
    if not group or not order:
        return order
    said = " ".join(node.text.lower() for node in sketch.nodes)
    times = [column for column in group if column.part is not None]
    is_new, is_old = (any(word in said for word in words) for words in (_NEWEST_FIRST, _OLDEST_FIRST))
    if times and (is_new or is_old):
        return [Ordering(Measure(times[0]), descending=is_new)]
    result: list[Ordering] = []
    for ordering in order:
        column = ordering.by.column
        if ordering.by.aggregate is None and column is not None and column not in group:
            own = [figure for figure in figures if figure.column == column]
            if own:
                result.append(replace(ordering, by=own[0]))
                continue
            if times and not figures and sketch.is_numeric(column):
                # "Which year had the highest fee": the year of the highest of all; "the highest costs" are all of a year's.
                extreme = Aggregate.MAXIMUM if ordering.descending else Aggregate.MINIMUM
                aggregate = Aggregate.SUM if _is_said_in_all(sketch, column) else extreme
                result.append(replace(ordering, by=Measure(column, aggregate)))
                continue
            # A column that a group has many of sorts nothing.
            is_one = any(item.table == column.table and item.part is None and sketch.is_key(item) for item in group)
            sketch.doubts += 0.0 if is_one and not figures else 1.0
        result.append(ordering)
    return result


def times_in_order(form: Form, index: CatalogIndex) -> tuple[Ordering, ...]:
    """Return the order of groups by time, which a database gives in any order: first to last, then by what else they are of."""
    called = {column: index.column(column.table, column.column) for column in form.group}
    times = [column for column in form.group if column.part is not None or called[column].kind in _DAYS]
    others = [column for column in form.group if column not in times and not called[column].personal] if times else []
    return tuple(Ordering(Measure(column), descending=False) for column in (*times, *others))


_DAYS = frozenset({ColumnKind.DATE, ColumnKind.DATETIME})


def _is_said_in_all(sketch: Sketch, column: ColumnRef) -> bool:
    """Whether a figure that adds up is spoken of as a mass, or as many: consumption, tips."""
    words = [node.text.lower().split()[-1] for place, node in enumerate(sketch.nodes) if sketch.column(place) == column]
    is_mass = any(word in _MASSES or base_form(word) != word for word in words)
    return is_mass and is_additive(sketch.index, column.table, column.column)


_MASSES = frozenset({
    "revenue", "income", "turnover", "profit", "consumption", "usage", "spending", "expenditure", "output", "weight", "volume", "distance",
})  # fmt: skip


def without_empty(form: Form, index: CatalogIndex) -> Form:
    """ "The agent with the lowest score": a row that has none has not the lowest, though it is sorted first."""
    if form.limit is None or not form.order or form.order[0].descending:
        return form
    column = form.order[0].by.column
    if column is None or form.order[0].by.aggregate is not None:
        return form
    named = index.column(column.table, column.column)
    if not named.nullable or named.profile is None or not named.profile.empty_share:
        return form
    return replace(form, where=(*form.where, Comparison(Measure(replace(column, part=None)), Operator.NOT_NULL)))


_NEWEST_FIRST = (
    "newest first", "latest first", "most recent first", "newest to oldest", "latest to earliest", "从新到旧",
)  # fmt: skip
_OLDEST_FIRST = (
    "earliest first", "chronolog", "earliest to latest", "oldest to newest", "old to new", "从旧到新",
)  # fmt: skip


def wants_lines(sketch: Sketch, order: list[Ordering]) -> bool:
    """哪家银行的贷款总额最高 asks for a bank, and what is ordered has lines: no figure over all rows is meant."""
    asks_which = sketch.chinese and asked_which(sketch) is not None
    return asks_which or any(ordering.by.aggregate is None for ordering in order)


def asked_which(sketch: Sketch) -> int | None:
    """Return the place of the table that a Chinese question asks for by name, as in 哪些客户没有订单."""
    for place, node in enumerate(sketch.nodes[:-1]):
        behind = sketch.nodes[place + 2].text if place + 2 < len(sketch.nodes) else ""
        if node.op is Op.SHOW and node.text.startswith("哪") and behind != "的":
            return place + 1 if sketch.table(place + 1) is not None else None
    return None


def by_figure(targets: Sequence[Measure], limit: int | None) -> tuple[Ordering, ...]:
    """ "Customers in each city, top 5": the first groups are those with most."""
    figures = [target for target in targets if target.aggregate is not None]
    return (Ordering(figures[0], descending=True),) if limit is not None and len(figures) == 1 else ()
