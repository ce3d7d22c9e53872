"""Shares and rates, and flags as what holds of rows: "share of emergency visits", "average number of visits per doctor"."""

from __future__ import annotations

from typing import Final

from querybus.core.catalog import ColumnKind
from querybus_translator.language.clauses import negation_before
from querybus_translator.language.lexicon import Op
from querybus_translator.language.names import name_words
from querybus_translator.language.stems import base_form
from querybus_translator.readers.figures.amounts import adds_up
from querybus_translator.schema.additive import is_number_of
from querybus_translator.schema.labels import key_columns
from querybus_translator.schema.phrases import Node, NodeKind
from querybus_translator.writing.form import Aggregate, ColumnRef, Comparison, Literal, Measure, Operator
from querybus_translator.writing.sketch import Placed, Sketch

_COPULAS = frozenset({"is", "are", "was", "were", "been"})


_NAMED_MIN: Final = 0.85


def read_shares(sketch: Sketch) -> None:
    """Read every word for a share into a target; what it is a share of is found when the form is made."""
    for place in sketch.free_places(Op.SHARE):
        _share(sketch, place)


def _share(sketch: Sketch, place: int) -> None:
    """ "Share of cancelled orders", 取消订单的占比: of the rows of the table beside it."""
    steps = range(place - 1, -1, -1) if sketch.chinese else range(place + 1, len(sketch.nodes))
    other = next((step for step in steps if sketch.table(step) is not None), None)
    beside = sketch.before(place) if sketch.chinese else sketch.after(place, over=(Op.SUM,))
    column, table = sketch.column(beside), sketch.table(other)
    if column is not None and sketch.is_numeric(column) and adds_up(sketch, Measure(column)):
        # "Share of revenue by channel": of the sum, and not of rows.
        sketch.take(*range(place, (beside or place) + 1) if not sketch.chinese else (place, beside))
        sketch.targets.append((place, Measure(column, Aggregate.SHARE, table=column.table)))
        sketch.anchor = sketch.anchor if sketch.anchor is not None else column.table
        return
    said = sketch.pick(beside)
    if column is not None and said is not None and said.with_table and sketch.is_flag(column):
        # "Cancelled sessions by class": of the sessions, which the flag is said with.
        table = None
    if table is None and column is not None and beside is not None and sketch.is_free(beside):
        table, other = column.table, beside
        if sketch.is_flag(column):
            flagged(sketch, beside, column)
        elif said is None or said.score >= _NAMED_MIN or sketch.value(sketch.after(beside)) is None:
            # 会员等级占比: which share of the rows each of its values has; "the share of tickets sold online" has one.
            sketch.groups.append((beside, column))
    value = sketch.value(beside)
    if table is None and value is not None:
        # "Share of card payments", where a column of the bills says how each was paid.
        table = value.table
    if table is None:
        sketch.doubts += 1.0
        return
    sketch.take(place, other)
    for between in range(min(place, other or 0) + 1, max(place, other or 0)):
        flag = sketch.column(between)
        if flag is not None and sketch.is_free(between) and sketch.is_flag(flag):
            flagged(sketch, between, flag)
    sketch.targets.append((place, Measure(aggregate=Aggregate.SHARE, table=table)))
    sketch.anchor = sketch.anchor if sketch.anchor is not None else table


def read_rates(sketch: Sketch) -> None:
    """ "The average number of lendings per reader", 平均每位读者借阅多少次: one figure, and no line for each reader."""
    averages = sketch.free_places(Op.AVERAGE)
    if len(averages) == 1:
        _rows_per(sketch, averages[0])
        _rows_of_one(sketch)
    counts = [measure for _, measure in sketch.targets if measure.aggregate is Aggregate.COUNT]
    if len(averages) != 1 or len(counts) != 1 or len(sketch.targets) != 1:
        return
    counted, groups = counts[0], [group for _, group in sketch.groups]
    pieces = key_columns(sketch.index, groups[0]) if len(groups) == 1 and isinstance(groups[0], int) else groups
    if counted.column is not None or counted.table is None or len(pieces) != 1 or isinstance(pieces[0], int):
        sketch.doubts += 1.0
        return
    sketch.take(*averages)
    sketch.groups.clear()
    sketch.targets = [(averages[0], Measure(pieces[0], Aggregate.RATE, table=counted.table))]


def _rows_per(sketch: Sketch, average: int) -> None:
    """ "Average visits per patient": what is averaged is how many rows there are."""
    counted = sketch.after(average)
    table = sketch.table(counted)
    if table is None or not sketch.is_free(counted) or sketch.targets or len(sketch.groups) != 1:
        return
    group = sketch.groups[0][1]
    if sketch.index.graph.is_many(group if isinstance(group, int) else group.table, table):
        sketch.take(counted)
        sketch.targets.append((average, Measure(aggregate=Aggregate.COUNT, table=table)))


def _rows_of_one(sketch: Sketch) -> None:
    """ "How many visits does a patient have on average?": one patient stands for each of them."""
    counts = [measure.table for _, measure in sketch.targets if measure.aggregate is Aggregate.COUNT]
    if len(counts) != 1 or counts[0] is None or len(sketch.targets) != 1 or sketch.groups:
        return
    for place in range(1, len(sketch.nodes)):
        table = sketch.table(place)
        if table is None or table == counts[0] or not sketch.is_free(place):
            continue
        if sketch.nodes[place - 1].text.lower() in _ONE and sketch.index.graph.is_many(table, counts[0]):
            sketch.take(place)
            sketch.groups.append((place, table))
            return


_ONE: Final = frozenset({"a", "an", "one", "一个", "一位"})


def holds(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """Read a flag, or things that rows have or have not, as what holds of them. Return whether a word said so."""
    if _states_flag(sketch, place, column) or _names_flag(sketch, place, column) or _gets_flag(sketch, place, column):
        flagged(sketch, place, column)
        return True
    if _bears_some(sketch, place, column):
        _take_some(sketch, place, column)
        return True
    return False


def _states_flag(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """ "How many visits were emergencies?": what is counted is said to be so."""
    counts = [measure for _, measure in sketch.targets if measure.aggregate in {Aggregate.COUNT, Aggregate.SHARE}]
    before = place - 1
    if before > 0 and sketch.nodes[before].text.lower() == "not":
        before -= 1
    said = sketch.nodes[before].text.lower().split()[0] if before >= 0 else ""
    if said not in _COPULAS or not sketch.is_flag(column):
        return False
    # "Which guests are VIP?", "which dogs are insured", of pets.
    named = sketch.value(before - 1) if before else None
    is_of_kind = named is not None and named.table == column.table and not sketch.nodes[before - 1].capital
    # "Which breeds are insured?"
    kind = sketch.column(before - 1) if before == 2 and sketch.op(0) is Op.SHOW else None
    is_of_kind |= kind is not None and kind.table == column.table and sketch.kind(kind) is ColumnKind.TEXT
    is_of_rows = is_of_kind or any(sketch.table(other) == column.table for other in range(place))
    is_of_rows = is_of_rows and place == len(_said(sketch)) - 1
    # "Which runners were disqualified?", where results say so of each.
    is_of_those = any(_is_of_many(sketch, other, column) for other in range(before)) and before == place - 1
    return is_of_rows or is_of_those or any(item.table == column.table for item in counts)


def _said(sketch: Sketch) -> list[Node]:
    nodes = list(sketch.nodes)
    while nodes and nodes[-1].kind is NodeKind.MARK:
        nodes.pop()
    return nodes


def _names_flag(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """ "VIP guests", "flats with a balcony": a flag beside the rows that it speaks of is what holds of them."""
    if not sketch.is_flag(column):
        return False
    pick = sketch.pick(place)
    beside = sketch.after(place) if sketch.chinese else place + 1 if place + 1 < len(sketch.nodes) else None
    behind = sketch.column(beside)
    if behind is not None and behind.table == column.table and sketch.is_numeric(behind) and not sketch.is_key(behind):
        # "Paid amount": the amount of what is paid.
        return True
    kind = sketch.value(beside)
    if (
        (pick is not None and pick.with_table)
        or sketch.table(beside) == column.table
        # "Neutered dogs", of pets.
        or (kind is not None and kind.table == column.table and beside == place + 1)
        or _is_of_many(sketch, beside, column)
    ):
        return sketch.nodes[place].text.lower().split()[-1] not in _STATES
    if sketch.nodes[place].text.lower().split()[0] in _LYING:
        # "Repairs under warranty".
        return True
    before = place - 1
    while before >= 0 and sketch.nodes[before].text.lower() in _ARTICLES:
        before -= 1
    if before > 0 and sketch.nodes[before].text.lower() in _GETTING:
        # "Donors who get the newsletter".
        return sketch.nodes[before - 1].text.lower() in _RELATIVES
    return before >= 0 and sketch.nodes[before].text.lower() in _BEARING


def _is_of_many(sketch: Sketch, beside: int | None, column: ColumnRef) -> bool:
    """ "Corporate guests", where bookings are corporate: those who have such a one."""
    table = sketch.table(beside)
    return table is not None and not sketch.chinese and sketch.index.graph.is_many(table, column.table)


_GETTING: Final = frozenset({"get", "gets", "got", "receive", "receives", "received", "want", "wants", "take", "takes"})
_RELATIVES: Final = frozenset({"who", "that", "which"})
_LYING: Final = frozenset({"under", "on", "in", "at", "off", "out"})
_STATES: Final = frozenset({"flag", "status", "state"})
_ARTICLES: Final = frozenset({"a", "an", "the", "any"})
_BEARING: Final = frozenset(
    {
        "with",
        "having",
        "have",
        "has",
        "had",
        "that have",
        "which have",
        "who have",
        "no",
        "without",
        "有",
        "带",
        "带有",
        "没有",
    }
)


def flagged(sketch: Sketch, place: int, column: ColumnRef) -> None:
    """Read a flag as what holds of each row, or does not: "emergency visits", "non-emergency visits"."""
    denied = negation_before(sketch, place)
    sketch.take(place, denied)
    yes, no = sketch.flag_values(column) or (1, 0)
    flag = Comparison(Measure(column), Operator.EQUAL, Literal(no if denied is not None else yes))
    sketch.conditions.append(Placed(place, flag))


def names_rows_of_flag(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """ "The names of partners", where `is_partner` says who is one: those of whom it is so."""
    said = sketch.nodes[place].text.lower()
    leads = name_words(sketch.index.column(column.table, column.column).name)[:1] in (("is",), ("was",))
    return leads and sketch.is_flag(column) and not sketch.chinese and " " not in said and base_form(said) != said


def read_rows_of_flags(sketch: Sketch) -> None:
    """ "The names of partners": what is said of them holds, and is not shown."""
    for place in range(len(sketch.nodes)):
        column = sketch.column(place)
        if column is not None and sketch.is_free(place) and names_rows_of_flag(sketch, place, column):
            flagged(sketch, place, column)


def _bears_some(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """ "Bookings with children", "without adults": of what is counted there is one at least, or none."""
    before = sketch.nodes[place - 1].text.lower() if place else ""
    has_figure = any(sketch.number(other) is not None for other in (sketch.before(place), sketch.after(place)))
    return before in _BEARING and not has_figure and is_number_of(sketch.index, column.table, column.column)


def _take_some(sketch: Sketch, place: int, column: ColumnRef) -> None:
    """Read what rows bear as more than none, behind a negation as none."""
    denied = negation_before(sketch, place)
    sketch.take(place, denied)
    operator = Operator.GREATER if denied is None else Operator.EQUAL
    sketch.conditions.append(Placed(place, Comparison(Measure(column), operator, Literal(0))))


def wants_total(sketch: Sketch, place: int) -> bool:
    """Return whether what is counted at a place is to be added up instead: a total, or a figure of each group."""
    before = " ".join(node.text.lower() for node in sketch.nodes[max(0, place - 2) : place])
    behind = sketch.nodes[place + 1].text if place + 1 < len(sketch.nodes) else ""
    if behind in _TOTALS and sketch.orderings:
        # 按马匹总数排序: it stays open whether lines are sorted or one sum is asked for.
        sketch.doubts += 0.5
    return "total" in before or behind in _TOTALS or bool(sketch.groups)


_TOTALS: Final = frozenset({"总数", "总数量"})
"""乘客总数 of a column that holds how many there are."""


def _gets_flag(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """ "How many members get the newsletter", "passed Excel": whoever counts rows does not ask what the flag says."""
    counts = [
        measure for _, measure in sketch.targets if measure.aggregate is Aggregate.COUNT and measure.column is None
    ]
    is_grouped = sketch.op(sketch.before(place)) in (Op.BY, Op.EACH)
    return len(counts) == len(sketch.targets) == 1 and sketch.is_flag(column) and not is_grouped


def is_rate(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """ "Cheapest car per day": how many days they are is not asked for."""
    return not sketch.chinese and sketch.op(sketch.before(place)) is Op.EACH and sketch.is_numeric(column)
