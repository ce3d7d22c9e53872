"""What is counted: "how many orders", 多少人 — rows, kinds, or a column that counts already."""

from __future__ import annotations

from querybus.core.catalog import ColumnKind
from querybus_translator.language.lexicon import Op
from querybus_translator.language.stems import base_form
from querybus_translator.language.units import unit_of_measure
from querybus_translator.readers.figures.amounts import adds_up, amount_of_rows, is_head
from querybus_translator.readers.figures.shares import (
    flagged,
    wants_total,
)
from querybus_translator.readers.figures.units import column_of_unit
from querybus_translator.readers.kinds import rows_of_kind
from querybus_translator.schema.additive import is_number_of, is_scale
from querybus_translator.writing.form import Aggregate, ColumnRef, Comparison, Measure, Operator
from querybus_translator.writing.sketch import TEMPORAL, Sketch
from querybus_translator.writing.write import columns_named


def _in_unit(sketch: Sketch, place: int) -> bool:
    """ "How many kilograms of fish were sold": of a column that is measured so, and no rows."""
    measured = column_of_unit(sketch, place)
    if measured is None or not adds_up(sketch, Measure(measured)):
        return False
    sketch.take(place, place + 1, *sketch.free_places(Op.IN_ALL))
    of_what = sketch.column(sketch.after(place + 1))
    if of_what is not None and of_what.table == measured.table:
        sketch.take(sketch.after(place + 1))
    sketch.targets.append((place, Measure(measured, Aggregate.SUM)))
    return True


def read_count(sketch: Sketch, place: int) -> None:
    if not sketch.chinese and any(reads(sketch, place) for reads in _NO_ROWS):
        return
    if _is_compared(sketch, place):
        sketch.take(place)
        return
    # 多少天退货: days are asked for, and no rows.
    is_measured = any(unit_of_measure(node.text) for node in sketch.nodes[place + 1 : place + 2])
    over = (Op.DISTINCT, Op.EACH, Op.SHOW)
    following = sketch.after(place, over=over)
    if not sketch.chinese and following is not None and sketch.value(following) is not None:
        # "How many single beds": the value narrows what is counted.
        behind = following + 1 if following + 1 < len(sketch.nodes) else None
        pick = sketch.pick(behind)
        # "How many companies donate": what they do is not what is counted.
        is_noun = pick is not None and pick.column is None and pick.score >= _NOUN_MIN
        following = behind if is_noun else following
    if following in sketch.done:
        # "How many paid invoices": what is paid is counted.
        following = sketch.after(following)
    if sketch.chinese and following is not None and sketch.table(following) is not None:
        beside = sketch.column(following + 1) if following + 1 < len(sketch.nodes) else None
        if sketch.op(place) is Op.COUNT_KINDS and beside is not None and beside.table == sketch.table(following):
            # 多少个不同的频道所有者: of two nouns side by side the second is counted.
            sketch.take(following)
            following += 1
    following = head_of_compound(sketch, following)
    distinct = sketch.op(place) is Op.COUNT_KINDS or any(
        sketch.op(other) is Op.DISTINCT for other in range(place, (following if following is not None else place) + 1)
    )
    while sketch.chinese and following is not None and sketch.nodes[following].period is not None:
        # 多少场2014年的音乐会: the period belongs to what is counted.
        following = sketch.after(following, over=over)
    previous = sketch.before(place, over=(Op.DISTINCT, Op.IN_ALL)) if sketch.chinese else None
    candidates = (
        (following, previous) if not _prefers_previous(sketch, place, previous, following) else (previous, following)
    )
    for other in candidates:
        if other is None or sketch.pick(other) is None:
            continue
        measure = _counted(sketch, other, distinct=distinct)
        if measure is None:
            continue
        if measure.column is None and is_measured:
            sketch.doubts += 1.0
        sketch.take(place, other)
        for between in range(min(place, other), max(place, other)):
            if sketch.op(between) in over and sketch.op(between) is not Op.SHOW:
                sketch.take(between)
        sketch.targets.append((place, measure))
        if sketch.anchor is None:
            sketch.anchor = measure.home
        if distinct and measure.column is not None:
            _counted_beside(sketch, other, measure.column.table)
        return
    sketch.take(place)
    sketch.doubts += 1.0 if is_measured else 0.05 if sketch.groups or sketch.targets else 0.1
    sketch.targets.append((place, Measure(aggregate=Aggregate.COUNT)))


def head_of_compound(sketch: Sketch, place: int | None) -> int | None:
    """ "The number of bank customers": of two kinds of rows side by side the second is meant, where the first stands for one."""
    if sketch.table(place) is not None and sketch.table(place) in sketch.hidden_tables:
        # "How many movie ratings": the ratings.
        return sketch.after(place)
    head = None if place is None or place + 1 >= len(sketch.nodes) else place + 1
    if (
        sketch.chinese
        or place is None
        or sketch.table(place) is None
        or sketch.table(head) in (None, sketch.table(place))
    ):
        return place
    word, pick = sketch.nodes[place].text.lower(), sketch.pick(place)
    # "Most prescribed drug": what was done is no kind of drugs.
    if base_form(word) != word or not sketch.is_free(head) or pick is None or pick.score < _NOUN_MIN:
        return place
    sketch.take(place)
    return head


def _counted_beside(sketch: Sketch, place: int, table: int) -> None:
    """ "How many different cities and countries": both are counted."""
    while place + 2 < len(sketch.nodes) and (sketch.op(place + 1) is Op.AND or sketch.nodes[place + 1].text == ","):
        place += 2
        column = sketch.column(place)
        last = sketch.nodes[place].text.lower().split()[-1]
        if column is None or column.table != table or not sketch.is_free(place) or base_form(last) == last:
            return
        sketch.take(place)
        sketch.targets.append((place, Measure(column, Aggregate.COUNT, distinct=True)))


def count_rows_of_one(sketch: Sketch) -> None:
    """ "How many results are 'Fail'": the rows that say so, for the value that is said is one."""
    said = {
        placed.condition.left.column
        for placed in sketch.conditions
        if isinstance(placed.condition, Comparison) and placed.condition.operator is Operator.EQUAL
    }
    sketch.targets = [
        (place, Measure(aggregate=Aggregate.COUNT, table=measure.column.table))
        if measure.column in said and measure.column is not None and measure.aggregate is Aggregate.COUNT
        else (place, measure)
        for place, measure in sketch.targets
    ]


def _is_part_of_figure(sketch: Sketch, place: int) -> bool:
    """ "The average number of hours" is read with the average; "enrollment number" is no count."""
    if sketch.op(sketch.before(place)) in {Op.AVERAGE, Op.MAXIMUM, Op.MINIMUM}:
        return True
    if place and sketch.column(place - 1) is not None and sketch.nodes[place].text.lower().startswith("number"):
        sketch.take(place)
        return True
    return False


def _are_their_numbers(sketch: Sketch, place: int) -> bool:
    """ "The times and numbers of trains", where each train has a number: those, and not how many there are. Return whether it was read so."""
    table, joint = sketch.table(sketch.after(place)), sketch.before(place)
    is_listed = sketch.op(joint) is Op.AND and sketch.column(sketch.before(joint)) is not None and not sketch.groups
    if table is None or not is_listed or sketch.nodes[place].text.lower().split()[0] != "numbers":
        return False
    columns = [ColumnRef(table, number) for number in range(len(sketch.index.table(table).columns))]
    numbers = [column for column in columns if any(name[-1:] == ("number",) for name in _names(sketch, column))]
    if len(numbers) != 1:
        return False
    sketch.take(place)
    sketch.targets.append((place, Measure(numbers[0])))
    return True


def _names(sketch: Sketch, column: ColumnRef) -> tuple[tuple[str, ...], ...]:
    return sketch.index.entry_of_column(column.table, column.column).names


def _is_compared(sketch: Sketch, place: int) -> bool:
    """ "The number of buildings with a number of floors above the average": the second number is no answer."""
    column = sketch.column(sketch.after(place))
    compared = {item.condition.left.column for item in sketch.conditions if isinstance(item.condition, Comparison)}
    is_second = any(sketch.op(other) is Op.COUNT for other in range(place))
    return is_second and column is not None and column in compared and not sketch.is_free(sketch.after(place))


def _is_repeated(sketch: Sketch, place: int) -> bool:
    """ "Count the number of ...", "... and the count": one count is asked for."""
    following = sketch.after(place)
    if sketch.op(following) in {Op.COUNT, Op.COUNT_KINDS} or (
        sketch.op(following) is Op.DISTINCT and sketch.op(sketch.after(following)) is Op.COUNT
    ):
        sketch.take(place)
        return True
    if sketch.pick(following) is None and any(measure.aggregate is Aggregate.COUNT for _, measure in sketch.targets):
        sketch.take(place)
        return True
    return False


def _prefers_previous(sketch: Sketch, place: int, previous: int | None, following: int | None) -> bool:
    if previous is None or not sketch.chinese:
        return False
    if sketch.nodes[place].text in {"数", "量", "数量", "总数", "个数", "数目", "人数", "次数", "总数量"}:
        return True
    return sketch.pick(previous) is not None and sketch.pick(following) is None


def _named_first(sketch: Sketch, place: int, table: int) -> Measure | None:
    """ "Distinct students enrolled in courses": the students of the enrolments, each once."""
    first = base_form(sketch.nodes[place].text.lower().split()[0])
    named = [other for other in sketch.index.called_by(first) if other != table]
    for edge in sketch.index.graph.edges_of(table):
        if edge.source == table and edge.target in named and len(edge.source_columns) == 1:
            column = columns_named(sketch.index, table, edge.source_columns)[0]
            return Measure(column, Aggregate.COUNT, distinct=True)
    return None


def _counted(sketch: Sketch, place: int, *, distinct: bool) -> Measure | None:
    table, column, value = sketch.table(place), sketch.column(place), sketch.value(place)
    amount = amount_of_rows(sketch, place) if sketch.chinese and sketch.free_places(Op.IN_ALL) else None
    if amount is not None:
        # 付款一共多少: how much, and not how often.
        sketch.take(*sketch.free_places(Op.IN_ALL))
        return Measure(amount, Aggregate.SUM)
    before = sketch.before(place, over=(Op.DISTINCT,))
    in_all = table is not None and not distinct and before is not None and "total" in sketch.nodes[before].text.lower()
    quantity = quantity_of(sketch, table) if table is not None and in_all else None
    if quantity is not None:
        return Measure(quantity, Aggregate.SUM)
    if table is not None:
        known = _named_first(sketch, place, table) if distinct else None
        return Measure(aggregate=Aggregate.COUNT, table=table) if known is None else known
    if value is not None:
        rows = rows_of_kind(sketch, value)
        quantity = _quantity(sketch, rows) if rows != value.table else None
        # "How many espressos did we sell": of each line as many as it says.
        return Measure(aggregate=Aggregate.COUNT, table=rows) if quantity is None else Measure(quantity, Aggregate.SUM)
    if column is None:
        return None
    if sketch.is_flag(column) and not distinct:
        # "How many emergency visits": those of which the flag says so.
        flagged(sketch, place, column)
        whose = sketch.table(sketch.after(place))
        is_theirs = whose is not None and sketch.index.graph.is_many(whose, column.table)
        return Measure(aggregate=Aggregate.COUNT, table=whose if is_theirs else column.table)
    if (
        sketch.is_key(column)
        and sketch.index.column(column.table, column.column).name in sketch.index.table(column.table).primary_key
    ):
        return Measure(aggregate=Aggregate.COUNT, table=column.table)
    pick = sketch.pick(place)
    if pick is not None and pick.with_table and sketch.op(sketch.after(place)) in _COMPARED and not distinct:
        # "How many products cost more than 100": the products are counted, the column is what is compared.
        return Measure(aggregate=Aggregate.COUNT, table=column.table)
    if sketch.is_numeric(column) and is_scale(sketch.nodes[place].text):
        # "The number of grades" that use a hall: how many different ones.
        return Measure(column, Aggregate.COUNT, distinct=True)
    if sketch.is_numeric(column) and not distinct and not sketch.is_key(column):
        sketch.doubts += 0.0 if is_head(sketch, place, column) else 0.5
        is_number = is_number_of(sketch.index, column.table, column.column) or _are_units(sketch, place, column)
        # "The number of classrooms" that a grade has, of a column `classroom`: which one, and not how many.
        sketch.doubts += 1.0 if not is_number and _is_one_of_several(sketch, place, column) else 0.0
        is_sum = (is_number and not _is_beside_others(sketch, place)) or wants_total(sketch, place)
        return Measure(column, Aggregate.SUM if is_sum else None)
    if sketch.kind(column) in TEMPORAL and not distinct:
        # 2023年入职了多少人: people, and not the days on which they came.
        return Measure(column, Aggregate.COUNT)
    if pick is not None and pick.with_table and sketch.kind(column) is not ColumnKind.TEXT:
        # "How many customers joined": the customers are counted, the column says when.
        return Measure(aggregate=Aggregate.COUNT, table=column.table)
    return Measure(column, Aggregate.COUNT, distinct=True)


def _are_units(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """ "How many hectares do we have": what is measured is asked for by its units."""
    word = sketch.nodes[place].text.lower()
    return not sketch.chinese and sketch.kind(column) is ColumnKind.NUMBER and base_form(word) != word


def _is_one_of_several(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """Whether several are asked for of a column that is called after one of them."""
    noun = sketch.nodes[place].text.lower().split()[-1]
    names = _names(sketch, column)
    is_named = sketch.index.column(column.table, column.column).name.lower().endswith(base_form(noun))
    return (
        not sketch.chinese
        and base_form(noun) != noun
        and is_named
        and any(name == (base_form(noun),) for name in names)
    )


def _is_beside_others(sketch: Sketch, place: int) -> bool:
    """Whether other columns are asked for as well: "name and number of floors" is a list."""
    return any(
        sketch.column(other) is not None and sketch.is_free(other) and sketch.asked[other]
        for other in range(len(sketch.nodes))
        if other != place
    )


def _quantity(sketch: Sketch, table: int) -> ColumnRef | None:
    """Return the column that says of how many each row of a table is, where it is asked how many were sold."""
    found = _quantities(sketch, table)
    sells = any(node.text.lower() in _SELLING for node in sketch.nodes)
    return found[0] if sells and len(found) == 1 else None


def quantity_of(sketch: Sketch, table: int) -> ColumnRef | None:
    """ "The total number of products in cancelled orders": of each line as many as it says, where one table of lines does."""
    lines = [
        (edge.source, found[0])
        for edge in sketch.index.graph.edges_of(table)
        if edge.target == table and edge.to_one and edge.source != table
        if len(found := _quantities(sketch, edge.source)) == 1
    ]
    if len(lines) != 1 or sketch.groups:
        return None
    source, quantity = lines[0]
    ways = (sketch.index.graph.path((table,), other) or () for other in sketch.mentioned_tables() if other != table)
    is_between = any(source in (edge.source, edge.target) for way in ways for edge in way)
    return quantity if is_between or any(node.text.lower() in _SELLING for node in sketch.nodes) else None


def _quantities(sketch: Sketch, table: int) -> list[ColumnRef]:
    return [item for item in sketch.figures_of(table) if not _QUANTITIES.isdisjoint(sketch.words_of(item))]


_QUANTITIES = frozenset({"quantity", "qty", "unit", "piece"})
_SELLING = frozenset({"sell", "sold", "buy", "bought", "order", "ordered", "serve", "served", "ship", "shipped"})
_NOUN_MIN = 0.95
_COMPARED = frozenset({Op.GREATER, Op.AT_LEAST, Op.LESS, Op.AT_MOST, Op.BETWEEN})


# What speaks of no rows that could be counted.
_NO_ROWS = (_is_part_of_figure, _is_repeated, _are_their_numbers, _in_unit)
