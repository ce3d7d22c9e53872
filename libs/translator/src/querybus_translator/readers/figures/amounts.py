"""Figures that are asked for without being named: "how much did each insurer pay"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from querybus.core.catalog import ColumnKind
from querybus.text.readable_name import spoken_name
from querybus_translator.language.clauses import adjective_concepts
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.stems import base_form, stem
from querybus_translator.language.tokens import MONEY_SIGNS
from querybus_translator.schema.additive import is_additive, is_number_of
from querybus_translator.schema.labels import labels
from querybus_translator.writing.form import Aggregate, ColumnRef, Form, Measure, columns_of
from querybus_translator.writing.sketch import TEMPORAL, Sketch

_AMOUNTS = ("how much", "how long", "how far", "多少钱", "多久", "多长时间")
_MONEY_ASKS = ("how much", "多少钱")


def is_figure(sketch: Sketch, measure: Measure) -> bool:
    """Return whether what is asked for is a number that says how much."""
    column = measure.column
    return measure.aggregate is not None or (
        column is not None and sketch.is_numeric(column) and not sketch.is_key(column)
    )


def one_amount(sketch: Sketch, place: int) -> ColumnRef | None:
    """Return the one figure that adds up of the table that is spoken of before a place; None where there is none or a choice."""
    table = next((sketch.table(other) for other in range(place - 1, -1, -1) if sketch.table(other) is not None), None)
    if table is None or sketch.index.role(table) is not None:
        return None
    found = [column for column in sketch.figures_of(table) if adds_up(sketch, Measure(column))]
    # A bill's total, and not its tip or how many reminders there were.
    main = [column for column in found if not _MAIN_AMOUNTS.isdisjoint(sketch.words_of(column))]
    found = main if len(main) == 1 and all(_is_beside_main(sketch, column) for column in found) else found
    return found[0] if len(found) == 1 else None


def _is_beside_main(sketch: Sketch, column: ColumnRef) -> bool:
    is_money = not sketch.words_of(column).isdisjoint(_MONEY_WORDS)
    return is_money or is_number_of(sketch.index, column.table, column.column)


_MAIN_AMOUNTS = frozenset({"total", "amount"})
_MONEY_WORDS = _MAIN_AMOUNTS | {"tip", "tax", "fee", "discount", "refund", "vat", "shipping", "deposit"}


def amount_of_rows(sketch: Sketch, place: int) -> ColumnRef | None:
    """ "Total payments": the one amount of rows that are money. None for other rows, or where there is a choice."""
    words = sketch.nodes[place].text.lower().split()
    table = sketch.table(place)
    # The premiums of a table of premium payments are payments.
    head = "" if table is None else base_form(spoken_name(sketch.index.table(table).name).split()[-1].lower())
    is_summed = bool(words) and (base_form(words[-1]) in _SUMMED_ROWS or words[-1].endswith(MONEY_ROWS_ZH))
    is_summed = is_summed or head in MONEY_ROWS
    return one_amount(sketch, place + 1) if is_summed else None


def said_amount(sketch: Sketch, place: int, rows: int) -> ColumnRef | None:
    """ "The total amount of settlements", which have a claimed and a settled one: what their name says; else it is open."""
    table = sketch.table(rows)
    if table is None or "amount" not in sketch.nodes[place].text.lower().split():
        return None
    found = [column for column in sketch.figures_of(table) if "amount" in sketch.words_of(column)]
    said = {stem(word) for word in sketch.nodes[rows].text.lower().split()}
    meant = [column for column in found if not said.isdisjoint(map(stem, sketch.words_of(column)))]
    chosen = meant if len(meant) == 1 else found
    sketch.doubts += 1.0 if len(chosen) > 1 else 0.0
    return chosen[0] if len(chosen) == 1 else None


def rating_of_rows(sketch: Sketch, place: int | None) -> ColumnRef | None:
    """ "The highest average rating", where ratings are rows of their own: the one figure that they have."""
    table = sketch.table(place)
    if table is None or place is None or sketch.index.role(table) is not None:
        return None
    figures = sketch.figures_of(table)
    words = sketch.nodes[place].text.lower().split()
    is_rating = base_form(words[-1]) in lexicon().averaged and len(figures) == 1
    return figures[0] if is_rating and sketch.time_columns(table)[:1] != figures else None


def price_of_rows(sketch: Sketch, place: int) -> ColumnRef | None:
    """ "Total sales", of which each has one price: that, where nothing of them adds up by its name."""
    table, words = sketch.table(place), sketch.nodes[place].text.lower().split()
    if table is None or not words or base_form(words[-1]) not in _SUMMED_ROWS or not sketch.time_columns(table):
        return None
    prices = [
        column
        for column in sketch.figures_of(table)
        if any(name[-1] == "price" for name in sketch.index.entry_of_column(table, column.column).names if name)
    ]
    return prices[0] if len(prices) == 1 else None


def figure_of_rows(sketch: Sketch, place: int) -> Measure:
    """ "Orders by channel", "expenses by category": how many rows, and of rows that are money how much."""
    amount = amount_of_rows(sketch, place) or _quantity_of_rows(sketch, place)
    return (
        Measure(aggregate=Aggregate.COUNT, table=sketch.table(place))
        if amount is None
        else Measure(amount, Aggregate.SUM)
    )


MONEY_ROWS = frozenset({"payment", "expense", "donation", "refund", "deposit", "withdrawal", "fine", "fee"})
"""Rows that are money themselves: one thinks of how much, and not of how many."""
MONEY_ROWS_ZH = ("费", "费用", "支出", "付款", "捐款", "退款", "还款", "罚款", "罚金", "定金", "押金")


def _quantity_of_rows(sketch: Sketch, place: int) -> ColumnRef | None:
    """ "Harvest by crop": how much it was, and not how many harvests, where each row says how much in a unit."""
    word = sketch.nodes[place].text.lower()
    if sketch.chinese or base_form(word) != word or word.endswith("s"):
        return None
    amount = one_amount(sketch, place + 1)
    return amount if amount is not None and not _MEASURED.isdisjoint(sketch.words_of(amount)) else None


_MEASURED = frozenset(
    {"ton", "tonne", "kg", "kilogram", "weight", "volume", "litre", "liter", "quantity", "kwh", "hectolitre"}
)
SUMS_OF_MONEY = frozenset({"revenue", "turnover", "income", "earnings", "profit", "spending", "payroll"})
_SUMMED_ROWS = MONEY_ROWS | {"sale", "sales", "purchase", "transfer"}


def answers_amount(sketch: Sketch, measure: Measure) -> bool:
    """Return whether a figure may answer "how much": an amount of money or a sum, and no number of people or rows."""
    if measure.aggregate is Aggregate.COUNT:
        return False
    if not asks_money(sketch) or measure.aggregate is not None or measure.column is None:
        return is_figure(sketch, measure)
    return is_figure(sketch, measure) and sketch.words_of(measure.column).isdisjoint(_COUNTED_WORDS)


_COUNTED_WORDS = frozenset(
    {"guest", "person", "people", "seat", "number", "count", "max", "min", "capacity", "year", "age"}
)


def asks_amount(sketch: Sketch) -> bool:
    """Return whether the question asks how much, how long or how far."""
    said = " ".join(node.text.lower() for node in sketch.nodes)
    return any(words in said for words in _AMOUNTS)


def asks_money(sketch: Sketch) -> bool:
    """Return whether the question asks how much."""
    said = " ".join(node.text.lower() for node in sketch.nodes)
    return any(words in said for words in _MONEY_ASKS)


def sum_of_each(sketch: Sketch) -> bool:
    """ "How much did each insurer pay": the one figure beside it that adds up, for each. False where there is not one."""
    if len(sketch.targets) != 1 or not asks_money(sketch):
        return False
    place, measure = sketch.targets[0]
    before = sketch.before(place)
    if measure.column is None or sketch.is_numeric(measure.column) or sketch.op(before) is not Op.EACH:
        return False
    table = measure.column.table
    columns = [ColumnRef(table, number) for number in range(len(sketch.index.table(table).columns))]
    sums = [column for column in sketch.figures_of(table) if adds_up(sketch, Measure(column))]
    # "How much did each insurer pay", where a bill may be unpaid: not every row has happened.
    is_open = any(
        sketch.kind(column) in TEMPORAL and sketch.index.column(table, column.column).nullable for column in columns
    )
    if len(sums) != 1 or is_open:
        return False
    sketch.take(before)
    if all(group != measure.column for _, group in sketch.groups):
        sketch.groups.append((place, measure.column))
    sketch.targets.append((place + 1, Measure(sums[0], Aggregate.SUM)))
    sketch.doubts += 0.05
    return True


def adds_up(sketch: Sketch, measure: Measure) -> bool:
    """Return whether a column's figures are of the kind that is summed: amounts, fees, quantities."""
    column = measure.column
    if column is None or sketch.is_key(column):
        return False
    return is_additive(sketch.index, column.table, column.column)


def can_average(sketch: Sketch, column: ColumnRef, aggregates: Sequence[Aggregate]) -> bool:
    """Return whether figures of a column make sense: averages and sums of what is no key, ends of dates and names."""
    if sketch.is_numeric(column):
        # No key has an average or a sum.
        return not sketch.is_key(column) or not {Aggregate.AVERAGE, Aggregate.SUM} & {*aggregates}
    are_ends = all(aggregate in {Aggregate.MAXIMUM, Aggregate.MINIMUM} for aggregate in aggregates)
    # Days have a first and a last, and no sum: "the average delivery time" is no figure of one date.
    return are_ends or (sketch.kind(column) not in TEMPORAL and not sketch.is_key(column))


def has_few_values(sketch: Sketch, column: ColumnRef) -> bool:
    """Whether a whole number has so few values that rows are grouped by it: floors, grades."""
    named = sketch.index.column(column.table, column.column)
    profile = named.profile
    if (
        named.kind is not ColumnKind.INTEGER
        or profile is None
        or profile.value_min is None
        or profile.value_max is None
    ):
        return False
    try:
        return int(profile.value_max) - int(profile.value_min) < _FEW_VALUES_MAX
    except ValueError:
        return False


_FEW_VALUES_MAX = 40


def is_faint_year(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """Whether a word merely resembles a year: how long something takes is no average of years of birth."""
    pick = sketch.pick(place)
    heads = {name[-1] for name in sketch.index.entry_of_column(column.table, column.column).names}
    asks_year = any(node.text.lower().split()[0] in _ASKING_YEAR for node in sketch.nodes[:place] if node.text.strip())
    return pick is not None and pick.score < 0.8 and "year" in heads and not asks_year


_ASKING_YEAR: Final = frozenset({"year", "when"})


def is_head(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """Whether a word is what a column is a number of: hours are no hourly rate."""
    words = sketch.nodes[place].text.lower().split()
    close = {other for word in words for other in (base_form(word), *sketch.index.similar(base_form(word)))}
    heads = {name[-1] for name in sketch.index.entry_of_column(column.table, column.column).names if name}
    return sketch.chinese or not heads.isdisjoint(close)


def is_unit_of_figure(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """ "Cost more than 100 per night": the figure before is compared with that very column, which nobody asks for."""
    compared = columns_of(Form(targets=(), where=tuple(placed.condition for placed in sketch.conditions)))
    figure = place - 2 if place > 1 and sketch.nodes[place - 1].text.lower() in {"a", "an"} else place - 1
    return figure >= 0 and sketch.number(figure) is not None and not sketch.is_free(figure) and column in compared


def _was_done(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """ "How much did Terra Trust award", "how much was covered by insurance": all of it, of every row that is meant."""
    said = " ".join(node.text.lower() for node in sketch.nodes[:3])
    word = sketch.nodes[place].text.lower().split()[0]
    is_done = any(part.endswith("ed") for part in sketch.words_of(column)) and not sketch.is_key(column)
    return is_done and (said.startswith("how much did") or (said.startswith("how much was") and word.endswith("ed")))


_LISTING = frozenset({Op.SHOW, Op.EACH, Op.AND})
_ASKING_ONE = ("how much does a ", "how much does an ", "how much does one ", "how much does it ")


def swallowed_totals(sketch: Sketch) -> None:
    """ "Total order amount by city": the word for the sum is part of the column's name, and still asks for the sum."""
    figures = [measure for _, measure in sketch.targets if measure.aggregate is not None]
    if sketch.rankings or (len(sketch.targets) != 1 and not figures):
        return
    lists = any(node.op in _LISTING for node in sketch.nodes) and not _is_ours(sketch)
    is_bare = len(sketch.targets) == 1 and not lists
    asks_one = " ".join(node.text.lower() for node in sketch.nodes).startswith(_ASKING_ONE)
    for number, (place, measure) in enumerate(sketch.targets):
        if measure.aggregate is not None or not sketch.is_numeric(measure.column):
            continue
        column = measure.column
        if (
            len(sketch.targets) == 1
            and column is not None
            and not sketch.is_key(column)
            and (in_all := sketch.free_places(Op.IN_ALL))
        ):
            # "What did the machines cost in total": all of them.
            sketch.take(*in_all)
            sketch.targets[number] = (place, Measure(measure.column, Aggregate.SUM))
            continue
        if sketch.op(place) is Op.ADJECTIVE_ASK or (asks_one and len(sketch.targets) == 1):
            # "How much does a visit cost": one visit, not all of them.
            if asks_one and measure.column is not None:
                named = labels(sketch.index, measure.column.table, chinese=sketch.chinese)
                sketch.targets[:0] = [(place, Measure(column)) for column in named if column != measure.column]
            break
        if len(sketch.targets) == 1 and column is not None and _was_done(sketch, place, column):
            sketch.targets[number] = (place, Measure(column, Aggregate.SUM))
            continue
        if sketch.orderings and column is not None and [one.by.column for one in sketch.orderings] == [column]:
            # "The total points of gymnasts, lowest first": the total of each, which a column holds.
            continue
        # "Fees of the last three months": a figure that adds up, and no list is asked for.
        if sketch.says_sum(place) or (is_bare and adds_up(sketch, measure)):
            sketch.targets[number] = (place, Measure(measure.column, Aggregate.SUM))


def _is_ours(sketch: Sketch) -> bool:
    """ "What was our revenue in May": a figure over all rows, where none are named."""
    said = any(node.text.lower() in _OURS for node in sketch.nodes) and not sketch.groups
    return said and all(sketch.table(place) is None for place in range(len(sketch.nodes)))


_OURS: Final = frozenset({"our", "we", "us", "我们", "我们的"})


def rows_behind(sketch: Sketch, place: int) -> int | None:
    """Return the next node, beyond a value of its rows: "the highest accepted offer"."""
    following = sketch.after(place)
    kind = sketch.value(following)
    return (
        sketch.after(following)
        if kind is not None and sketch.table(sketch.after(following)) == kind.table
        else following
    )


def is_of_money(sketch: Sketch, figure: int) -> bool:
    """Whether a currency stands behind a figure."""
    behind = sketch.nodes[figure + 1].text.lower() if figure + 1 < len(sketch.nodes) else ""
    return base_form(behind) in _CURRENCIES


_CURRENCIES = MONEY_SIGNS | {
    "euro", "dollar", "pound", "franc", "yuan", "yen", "eur", "usd", "gbp", "chf", "cny", "欧元", "美元", "元",
}  # fmt: skip


def money_compared(sketch: Sketch, place: int) -> tuple[ColumnRef, bool] | None:
    """ "Desserts under 5 euros": the one amount of the rows, or what they are sold at, and not what they cost to make."""
    amount = one_amount(sketch, place)
    is_number = amount is not None and is_number_of(sketch.index, amount.table, amount.column)
    if amount is not None and not is_number:
        return amount, False
    return sketch.concept_column(adjective_concepts("cheaper than"), place, ())
