"""What verbs of money are about: "how much did Acorn pay", "which guest spent the most" — the one amount that is called after them.

Limits: where several amounts may be meant none is, and the question is asked back.
"""

from __future__ import annotations

from typing import Final

from querybus_translator.language.lexicon import Op
from querybus_translator.language.stems import base_form, stem
from querybus_translator.readers.figures.amounts import asks_money
from querybus_translator.schema.additive import is_additive
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.writing.form import Aggregate, ColumnRef, Comparison, Measure, Operator
from querybus_translator.writing.sketch import TEMPORAL, Placed, Sketch

TABLES_SEARCHED_MAX: Final = 60
_PAID: Final = ("pay", "paid", "payment")
_SPENT: Final = ("spend", "spent", "expense", "expenditure")
_GIVEN: Final = ("donate", "donation", "gift", "pledge")
_VERBS: Final = {
    "pay": (_PAID,),
    "paid": (_PAID,),
    "spend": (_SPENT, _PAID),
    "spent": (_SPENT, _PAID),
    "donate": (_GIVEN,),
    "give": (_GIVEN,),
    "gave": (_GIVEN,),
    "given": (_GIVEN,),
    "raise": (_GIVEN,),
    "outstanding": (_PAID,),
    "invest": (("invest", "investment"),),
    "owe": (_PAID,),
    "owes": (_PAID,),
    "refund": (("refund",),),
}
_MONEY: Final = frozenset(
    {
        "amount", "total", "revenue", "sale", "fee", "payment", "refund", "income", "expense", "expenditure", "spending", "tax",
        "donation", "cost", "spend", "sum", "turnover",
    }
)  # fmt: skip
_PRICES: Final = frozenset({"price", "value", "cost"})
_FIGURES: Final = frozenset(
    {Op.COUNT, Op.COUNT_KINDS, Op.SUM, Op.AVERAGE, Op.MAXIMUM, Op.MINIMUM, Op.HIGHEST, Op.LOWEST, Op.SHARE}
)


def amount_of_verb(sketch: Sketch, place: int | None) -> tuple[ColumnRef, ColumnRef | None] | None:
    """Return the amount that a verb at a place is about, and the day that says whether it was; None where there is no one such."""
    verb = "" if place is None or sketch.chinese else sketch.nodes[place].text.lower()
    tables = sketch.index.catalog.tables
    if len(tables) > TABLES_SEARCHED_MAX:
        return None
    says_we = any(node.text.lower() in _OURS for node in sketch.nodes[:place])
    for roots in _VERBS.get(verb) or _VERBS.get(base_form(verb)) or _VERBS.get(verb.removesuffix("d")) or ():
        if says_we and roots is _PAID:
            # What we pay is not what is paid to us.
            return None
        called = {stem(root) for root in roots}
        found: list[tuple[ColumnRef, ColumnRef | None]] = []
        for table in range(len(tables)):
            columns = [ColumnRef(table, number) for number in range(len(tables[table].columns))]
            days = [
                column for column in columns if sketch.kind(column) in TEMPORAL and _is_called(sketch, column, called)
            ]
            if days or called & {stem(word) for word in sketch.index.table_words[table]}:
                amounts = [
                    column
                    for column in columns
                    if sketch.is_numeric(column) and is_money(sketch.index, column.table, column.column)
                ]
                found += [(amount, days[0] if days else None) for amount in amounts]
        if found:
            return found[0] if len(found) == 1 and _is_theirs(sketch, place, found[0][0].table) else None
    return None


def _is_theirs(sketch: Sketch, place: int | None, table: int) -> bool:
    """Whether each amount of a table belongs to one row of everything that is named: what guests pay is no pay of employees."""
    named = {pick.table for where, pick in sketch.assignment.picks.items() if where != place}
    return not any(sketch.index.graph.is_many(table, other) for other in named - {table})


def read_payments(sketch: Sketch) -> None:
    """ "How much was paid in cash", "what did we spend on fuel": the sum of what the verb is about, where no figure is named."""
    if not _asks(sketch) or any(node.op in _FIGURES for node in sketch.nodes):
        return
    for place, node in enumerate(sketch.nodes):
        found = (
            _amount_of_thing(sketch, place)
            if _thing_behind(sketch, place) is not None
            else amount_of_verb(sketch, place)
        )
        if found is None:
            continue
        named = (sketch.column(other) for other in range(len(sketch.nodes)) if other != place)
        if any(column is not None and sketch.is_numeric(column) and not sketch.is_key(column) for column in named):
            return
        amount, day = found
        is_open = node.text.lower() in _OWING
        if is_open and (day is None or not sketch.can_be_empty(day)):
            return
        sketch.take(place)
        sketch.targets.append((place, Measure(amount, Aggregate.SUM)))
        if is_open and day is not None:
            sketch.take(*(other for other in range(place) if sketch.nodes[other].text.lower() == "still"))
            sketch.conditions.append(Placed(place, Comparison(Measure(day), Operator.IS_NULL)))
        else:
            only_done(sketch, place, amount, day)
        return


def _asks(sketch: Sketch) -> bool:
    """Whether it is asked how much, in whatever words: "what did we spend on repairs"."""
    said = " ".join(node.text.lower() for node in sketch.nodes[:2])
    return asks_money(sketch) or said in ("what did", "what do", "what have")


def _amount_of_thing(sketch: Sketch, place: int) -> tuple[ColumnRef, ColumnRef | None] | None:
    """ "Spend on copies": the one amount of what the money is for, else its one price, where its rows have a day."""
    table = _thing_behind(sketch, place)
    if table is None or sketch.nodes[place].text.lower() not in _VERBS:
        return None
    amounts = _amounts_of(sketch, table)
    return (amounts[0], None) if len(amounts) == 1 else None


def money_on(sketch: Sketch, place: int, following: int | None) -> Measure | None:
    """ "Which truck cost the most in repairs", "who spent the most on tickets"; takes what it reads."""
    verb = place - 1 if place else None
    costing, table = sketch.column(verb) if sketch.is_free(verb) else None, sketch.table(following)
    if costing is not None and sketch.is_numeric(costing):
        sketch.take(place, verb, following if table == costing.table else None)
        return Measure(costing)
    if verb is None or table is None or sketch.nodes[verb].text.lower() not in _VERBS:
        return None
    amounts = _amounts_of(sketch, table)
    if len(amounts) != 1:
        return None
    sketch.take(place, verb, following)
    return Measure(amounts[0], Aggregate.SUM)


def _amounts_of(sketch: Sketch, table: int) -> list[ColumnRef]:
    """Return the amounts of a table's rows, else their prices where they have a day."""
    figures = sketch.figures_of(table)
    amounts = [column for column in figures if is_money(sketch.index, table, column.column)]
    if not amounts and sketch.time_columns(table):
        amounts = [column for column in figures if not sketch.words_of(column).isdisjoint(_PRICES)]
    return amounts


def _thing_behind(sketch: Sketch, place: int) -> int | None:
    """Return the table that stands behind "on" or "for", right behind a place."""
    is_for = place + 2 < len(sketch.nodes) and sketch.nodes[place + 1].text.lower() in _FOR
    return sketch.table(place + 2) if is_for else None


_OURS: Final = frozenset({"we", "i", "us", "our"})
_FOR: Final = frozenset({"on", "for"})
_OWING: Final = frozenset({"owe", "owes", "owed", "owing", "outstanding"})


def only_meant(sketch: Sketch, verb: int | None, amount: ColumnRef, day: ColumnRef | None) -> None:
    """Keep the rows that a verb means: what is owed has no day of payment, what was paid has one."""
    place = verb or 0
    is_owed = sketch.nodes[place].text.lower() in _OWING
    if is_owed and day is not None and sketch.can_be_empty(day):
        sketch.done[place] = day
        sketch.conditions.append(Placed(place, Comparison(Measure(day), Operator.IS_NULL)))
    else:
        sketch.doubts += 1.0 if is_owed else 0.0
        only_done(sketch, place, amount, day)


def only_done(sketch: Sketch, place: int, amount: ColumnRef, day: ColumnRef | None) -> None:
    """ "Paid" are rows that have the day of it, where not all have; a period is one of those days."""
    days = sketch.time_columns(amount.table) if day is None else [day]
    if days:
        sketch.done[place] = days[0]
    if day is not None and sketch.can_be_empty(day):
        sketch.conditions.append(Placed(place, Comparison(Measure(day), Operator.NOT_NULL)))


def _is_called(sketch: Sketch, column: ColumnRef, called: set[str]) -> bool:
    return any(stem(word) in called for word in sketch.words_of(column))


def is_price_of_rows(index: CatalogIndex, table: int, column: int) -> bool:
    """Return whether a column is the price of what happened on a day and refers to others: an order's, and no product's."""
    own, names = index.table(table), index.entry_of_column(table, column).names
    has_day = any(item.kind in TEMPORAL for item in own.columns)
    return has_day and bool(own.foreign_keys) and any(name[-1] in _PRICES for name in names if name)


def is_money(index: CatalogIndex, table: int, column: int) -> bool:
    """Return whether a column holds sums of money: amounts, fees, totals of prices."""
    names = index.entry_of_column(table, column).names
    called = any(name[-1] in _MONEY or ("total" in name and name[-1] in _PRICES) for name in names if name)
    return called and is_additive(index, table, column)
