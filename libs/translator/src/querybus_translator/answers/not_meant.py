"""Readings that look whole and are not what was asked: each rule says of one kind of them whether a reading is of it.

Nothing is weighed here: a reading that one of these holds of is asked about. A rule that costs right answers to questions of
`make bench-translator` says too much.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from querybus.core.catalog import ColumnKind
from querybus_translator.answers.not_shown import NOT_SHOWN
from querybus_translator.answers.whole import Rule, Whole, columns_said
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.stems import stem
from querybus_translator.readers.figures.amounts import MONEY_ROWS, MONEY_ROWS_ZH, SUMS_OF_MONEY
from querybus_translator.schema.labels import key_columns, labels
from querybus_translator.schema.phrases import NodeKind, hints_of
from querybus_translator.writing.contradictions import are_contradictory
from querybus_translator.writing.form import (
    Aggregate,
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Literal,
    Membership,
    Operator,
    tables_of,
)


def _joins_strangers(whole: Whole) -> bool:
    """Whether tables are joined that have nothing in common but that both refer to a third, which nobody spoke of."""
    return whole.written.hubs > 0


def _groups_one(whole: Whole) -> bool:
    """ "By electric and non-electric bikes": groups of what a condition leaves one value of compare nothing."""
    # A follow-up such as "only Freya" keeps the groups that were asked for before.
    return (
        len(whole.form.group) == 1
        and not whole.sketch.context
        and whole.form.group[0] in columns_said(whole.form)
        and any(target.aggregate is not None for target in whole.form.targets)
    )


def _text_in_figures(whole: Whole) -> bool:
    """Whether a word is looked for in a column of figures or years, where it cannot stand."""
    return any(
        item.operator in _WITHIN
        and isinstance(item.right, Literal)
        and not any(sign.isdigit() for sign in str(item.right.value))
        and whole.sketch.is_numeric(item.left.column)
        for item in _comparisons(whole.form.where)
    )


def _comparisons(conditions: Sequence[Condition]) -> Iterator[Comparison]:
    """Give every comparison of these conditions and of those within them."""
    for condition in conditions:
        if isinstance(condition, Comparison):
            yield condition
        elif isinstance(condition, AllOf | AnyOf):
            yield from _comparisons(condition.conditions)
        else:
            yield from _comparisons(condition.form.where)


def _lists_figures(whole: Whole) -> bool:
    """ "Income in 2025": one figure of each row of a year, by itself, is what nobody asks for."""
    target = whole.form.targets[0] if len(whole.form.targets) == 1 else None
    if target is None or target.aggregate is not None or whole.form.order or whole.form.group or target.column is None:
        return False
    is_figure = whole.sketch.is_numeric(target.column) and not whole.sketch.is_key(target.column)
    said = " ".join(node.text.lower() for node in whole.sketch.nodes)
    if is_figure and any(asked in said for asked in _HOW_MUCH):
        # A list of amounts says of nothing how much it comes to; the price of one row does.
        return whole.form.limit is None and all(
            item.operator is not Operator.EQUAL for item in _comparisons(whole.form.where)
        )
    periods = any(node.kind is NodeKind.PERIOD for node in whole.sketch.nodes)
    asks = any(node.op is Op.SHOW or node.kind is NodeKind.TEXT for node in whole.sketch.nodes)
    names_rows = any(whole.sketch.table(place) is not None for place in range(len(whole.sketch.nodes)))
    return periods and is_figure and not asks and not names_rows


_WITHIN = frozenset({Operator.CONTAINS, Operator.STARTS, Operator.ENDS})
_SAID_MIN = 0.9
_HOW_MUCH: Final = ("how much", "多少钱")


def _counts_itself(whole: Whole) -> bool:
    """Whether rows are counted for each of themselves: there is always one."""
    form, index = whole.form, whole.sketch.index
    if not form.group:
        return False
    figures = [
        *form.targets,
        *(condition.left for condition in form.having),
        *(ordering.by for ordering in form.order),
    ]
    tables = set(tables_of(form))
    # Of one table alone, whatever is counted is its rows.
    counted = {
        next(iter(tables)) if len(tables) == 1 else item.table
        for item in figures
        if item.aggregate is Aggregate.COUNT and item.column is None
    }
    keys = [set(key_columns(index, table)) for table in counted if table is not None]
    if any(key and key <= set(form.group) for key in keys):
        return True
    # "Pilots that have more than one record", read as pilots of one name: unless groups are asked for, names are of one each.
    is_grouped = any(node.op in (Op.EACH, Op.BY, Op.GROUPED, Op.COMMON, Op.RARE) for node in whole.sketch.nodes)
    named = [labels(index, table) for table in counted if table is not None]
    return not is_grouped and any(names and set(names) <= set(form.group) for names in named)


def _groups_unasked(whole: Whole) -> bool:
    """ "How many scientists are assigned to any project": nobody asked for as many as there are projects."""
    sketch, form = whole.sketch, whole.form
    counts = [place for place, measure in sketch.targets if measure.aggregate is Aggregate.COUNT]
    plain = [place for place, measure in sketch.targets if measure.aggregate is None]
    if sketch.chinese or not form.group or sketch.groups or not counts or not plain or min(plain) < min(counts):
        return False
    if any(node.kind is NodeKind.WORD and not sketch.taken[place] for place, node in enumerate(sketch.nodes)):
        # An unknown word behind the column may be one of its values: that is what is asked back.
        return False
    between = sketch.nodes[min(counts) : min(plain)]
    return not any(
        node.op in (Op.AND, Op.EACH, Op.BY, Op.SHOW) or node.text in {",", ".", "?", ";"} for node in between
    )


def _counts_the_unread(whole: Whole) -> bool:
    """ "The number of works for all artists": works are counted, of which nothing is known, and no artists."""
    nodes = whole.sketch.nodes
    return not whole.sketch.chinese and any(
        node.op is Op.COUNT
        and nodes[place + 1].kind is NodeKind.STOP
        and nodes[place + 1].text.lower().endswith("s")
        and nodes[place + 1].text.lower() not in _SHORT_STOPS
        and nodes[place + 2].text.lower() in _OF_WHOM
        for place, node in enumerate(nodes[:-2])
    )


_SHORT_STOPS: Final = frozenset({"is", "was", "has", "does", "its", "this", "his", "us", "theirs", "exists", "times"})
_OF_WHOM: Final = frozenset({"for", "of", "by", "from", "with"})


def _contradicts(whole: Whole) -> bool:
    """Return whether no row can meet a reading's conditions."""
    return are_contradictory(whole.form.where)


def _goes_by_any_key(whole: Whole) -> bool:
    """ "Teams that have a match in May", where a match has a home team and an away team: which of the two was chosen by nobody."""
    index, hints = whole.sketch.index, hints_of(whole.sketch.nodes)
    for item in whole.form.where:
        inner = item.form.targets[0].column if isinstance(item, Membership) else None
        if not isinstance(item, Membership) or inner is None:
            continue
        if item.negated:
            if inner.table == item.left.table and inner != item.left:
                return True  # what one key leads to is not denied of the other
            continue
        name = index.column(inner.table, inner.column).name
        keys = index.graph.between(index.real(inner.table), index.real(item.left.table))
        taken = [edge for edge in keys if [one.lower() for one in edge.source_columns] == [name.lower()]]
        if taken and index.graph.rival_keys(taken[0], hints):
            return True
    return False


def _averages_text(whole: Whole) -> bool:
    """ "Average rating", taken for a comment: a text is not averaged, and not compared with a number."""
    averaged = [
        measure.column
        for measure in (*whole.form.targets, *(ordering.by for ordering in whole.form.order))
        if measure.aggregate in (Aggregate.SUM, Aggregate.AVERAGE)
    ]
    compared = [
        item.left.column
        for item in _comparisons(whole.form.where)
        if item.operator in _BOUNDS and isinstance(item.right, Literal)
    ]
    said = {whole.sketch.column(place): pick.score for place, pick in whole.sketch.assignment.picks.items()}
    return any(
        column is not None
        and whole.sketch.kind(column) is ColumnKind.TEXT
        and not whole.sketch.index.holds_figures(column.table, column.column)
        and said.get(column, 1.0) < _SAID_MIN
        for column in (*averaged, *compared)
    )


_BOUNDS: Final = frozenset({Operator.GREATER, Operator.AT_LEAST, Operator.LESS, Operator.AT_MOST})


def _counts_amounts(whole: Whole) -> bool:
    """ "Total stock", "average payment per member", 缴费最多的学生: how much it was, and not how many rows say so."""
    figures = [*whole.form.targets, *(ordering.by for ordering in whole.form.order)]
    counted = {item.table for item in figures if item.aggregate in (Aggregate.COUNT, Aggregate.RATE)} - {None}
    weighs = any(node.op in (Op.AVERAGE, Op.MOST, Op.FEWEST) for node in whole.sketch.nodes)

    def is_amount(place: int, word: str) -> bool:
        is_summed = whole.sketch.op(max(place - 1, 0)) in (Op.SUM, Op.MOST, Op.FEWEST)
        is_money = weighs and (word.endswith(MONEY_ROWS_ZH) or word in MONEY_ROWS)
        return is_money or word in SUMS_OF_MONEY or (word in _MASSES and is_summed)

    return any(
        whole.sketch.table(place) in counted and is_amount(place, node.text.lower())
        for place, node in enumerate(whole.sketch.nodes)
    )


_MASSES: Final = frozenset({"stock", "inventory", "consumption", "output", "production", "waste"})


def _passes_over_deed(whole: Whole) -> bool:
    """ "How many cars are rented": rentals are of another table, and nothing is read of it."""
    index = whole.sketch.index
    verbs = (node.text.lower() for node in whole.sketch.nodes if node.kind is NodeKind.STOP)
    deeds = {stem(verb) + ending for verb in verbs if verb in lexicon().verbs for ending in _DEED_ENDINGS}
    return any(
        any(word in deeds for name in index.entries_of_table(number).names for word in name)
        and re.search(rf"\W{re.escape(index.table(number).name)}\W", whole.written.sql) is None
        for number in (range(len(index.catalog.tables)) if deeds else ())
    )


_DEED_ENDINGS: Final = ("al", "ing", "ment", "ation", "ion", "ery")


NOT_MEANT: Final[tuple[Rule, ...]] = (
    *NOT_SHOWN,
    _counts_itself,
    _counts_the_unread,
    _groups_unasked,
    _contradicts,
    _goes_by_any_key,
    _averages_text,
    _counts_amounts,
    _passes_over_deed,
    _joins_strangers,
    _groups_one,
    _text_in_figures,
    _lists_figures,
)
