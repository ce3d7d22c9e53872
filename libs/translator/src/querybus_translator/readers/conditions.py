"""Comparisons become conditions: a column before or after a figure, an adjective and its figure, the average.

Each looks at its direct neighbours only. A figure with a table behind it ("more than two orders") counts rows of that
table. What has no column stays unread.
"""

from __future__ import annotations

from querybus_translator.language.clauses import (
    JOINING,
    OPERATORS,
    TEMPORAL_OPS,
    UNITS,
    add_condition,
    adjective_concepts,
    bound,
    count_rows,
    is_temporal,
    looks_like_year,
    old_near,
    says_key,
    take_units,
    time_column,
)
from querybus_translator.language.lexicon import ADJECTIVES, Op, lexicon
from querybus_translator.language.stems import base_form
from querybus_translator.language.time.periods import years_before
from querybus_translator.readers.deeds import rows_of_deed
from querybus_translator.readers.figures.amounts import amount_of_rows, is_of_money, money_compared, one_amount
from querybus_translator.readers.figures.compared_rows import close_compared_rows, open_compared_rows
from querybus_translator.readers.figures.payments import amount_of_verb, only_meant
from querybus_translator.readers.figures.stocks import says_least, stock_beside
from querybus_translator.readers.figures.units import column_of_unit, is_place_of, measures_otherwise, read_units
from querybus_translator.readers.patterns import read_patterns, read_patterns_behind
from querybus_translator.readers.superlatives import LASTING, is_lasting, takes_time
from querybus_translator.readers.time.clocks import read_clocks, read_days_of_weeks
from querybus_translator.readers.time.periods import read_bounded_period, read_period_alone, read_ranges
from querybus_translator.readers.values import read_bare_number, read_presence, read_text, read_value
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import Aggregate, ColumnRef, Comparison, Form, Literal, Measure, Operator
from querybus_translator.writing.sketch import TEMPORAL, Placed, Sketch

_AGGREGATED = {
    Op.AVERAGE: Aggregate.AVERAGE,
    Op.SUM: Aggregate.SUM,
    Op.MAXIMUM: Aggregate.MAXIMUM,
    Op.MINIMUM: Aggregate.MINIMUM,
    Op.HIGHEST: Aggregate.MAXIMUM,
    Op.LOWEST: Aggregate.MINIMUM,
}
_PASSIVE = frozenset({"was", "were", "is", "are", "been", "being", "got"})
_AGE_MAX = 120
# "People over 40": without a column these bound an age, where there is one.
_BOUNDS_OF_TIME = frozenset({"later", "after", "earlier", "before"})
_PLAIN_BOUNDS = frozenset({"over", "under", "above", "below"})


def read_conditions(sketch: Sketch) -> None:
    """Read every condition that its neighbours complete."""
    _read_done(sketch)
    read_presence(sketch)
    read_clocks(sketch)
    read_days_of_weeks(sketch)
    read_ranges(sketch)
    read_patterns_behind(sketch)
    read_patterns(sketch)
    others = open_compared_rows(sketch)
    for place in range(len(sketch.nodes)):
        if sketch.taken[place]:
            continue
        if sketch.op(place) in OPERATORS:
            _comparison(sketch, place)
            if sketch.taken[place] and place and sketch.nodes[place - 1].text.lower() in LASTING:
                sketch.take(place - 1)  # "matches that lasted longer than 40 minutes"
    for place, node in enumerate(sketch.nodes):
        if sketch.taken[place]:
            continue
        if sketch.value(place) is not None:
            read_value(sketch, place)
        elif node.kind is NodeKind.TEXT:
            read_text(sketch, place)
        elif node.kind is NodeKind.PERIOD:
            read_period_alone(sketch, place)
        elif node.kind is NodeKind.NUMBER:
            read_bare_number(sketch, place)
    close_compared_rows(sketch, others)
    read_units(sketch)


def _read_done(sketch: Sketch) -> None:
    """ "Invoices that were paid", "orders shipped per month": the day that a verb names is there, and time is cut by it.

    A day that no row lacks says nothing more. Asked "when", denied or bounded, it is read by others.
    """
    if sketch.chinese or any(node.op is Op.NOT or node.text.lower().startswith("when") for node in sketch.nodes):
        return
    for place, node in enumerate(sketch.nodes):
        column = sketch.column(place)
        word = node.text.lower()
        if column is None or sketch.taken[place] or not (word in lexicon().verbs or word.endswith("ed")):
            continue
        if sketch.kind(column) not in TEMPORAL or not _is_done(sketch, place, column.table):
            continue
        sketch.take(place)
        sketch.done[place] = column
        if sketch.can_be_empty(column):
            sketch.conditions.append(Placed(place, Comparison(Measure(column), Operator.NOT_NULL)))


def _is_done(sketch: Sketch, place: int, table: int) -> bool:
    before = sketch.nodes[place - 1] if place else None
    behind = sketch.nodes[place + 1] if place + 1 < len(sketch.nodes) else None
    if behind is not None and sketch.table(place + 1) == table:
        # "Paid invoices"; what is asked of their days stands otherwise.
        return before is None or before.kind is NodeKind.STOP or before.op is Op.COUNT
    figure = sketch.column(place - 1) if place else None
    if figure is not None and figure.table == table and sketch.is_numeric(figure):
        # "Tons delivered per month".
        return (
            behind is None
            or behind.kind in (NodeKind.MARK, NodeKind.PERIOD, NodeKind.STOP)
            or behind.op in (Op.EACH, Op.BY)
        )
    is_passive = before is not None and (before.text.lower() in _PASSIVE or sketch.table(place - 1) == table)
    return is_passive and (behind is None or behind.kind is NodeKind.MARK or behind.op is Op.EACH)


def _comparison(sketch: Sketch, place: int) -> None:
    op = sketch.op(place)
    if op is None:
        return
    if op in {Op.OR_MORE, Op.OR_LESS}:
        figure = sketch.before(place, over=UNITS)
        left, right = sketch.before(figure, over=JOINING), sketch.after(place)
        if sketch.chinese and sketch.column(right) is not None and not sketch.is_numeric(sketch.column(right)):
            right = None
    else:
        figure = sketch.after(place)
        left = sketch.before(place, over=JOINING)
        behind = sketch.after(figure)
        if sketch.is_free(figure) and _is_figure_of(sketch, figure, behind):
            # "After the year 2000": the column stands between the word and the figure.
            left, figure = figure, behind
        right = sketch.after(figure, over=(*UNITS, Op.DISTINCT))
    if figure is None or sketch.taken[figure]:
        return
    node = sketch.nodes[figure]
    if node.kind is NodeKind.NUMBER and node.number is not None:
        _figure(sketch, place, figure, left, right)
    elif node.kind is NodeKind.PERIOD and node.period is not None:
        read_bounded_period(sketch, place, figure, left)
    elif node.op in {Op.AVERAGE, Op.MAXIMUM, Op.MINIMUM, Op.HIGHEST, Op.LOWEST}:
        _nested(sketch, place, figure, left)
    elif (least := sketch.column(figure)) is not None and sketch.column(left) is None and says_least(sketch, least):
        stock = stock_beside(sketch, least)
        if stock is not None:
            # "Supplies below the minimum level".
            sketch.take(place, figure)
            add_condition(sketch, place, Measure(stock), OPERATORS[op], least)
    elif sketch.is_numeric(sketch.column(figure)) and sketch.is_numeric(sketch.column(left)) and sketch.is_free(left):
        if op in {Op.EQUAL, Op.UNEQUAL}:
            return
        one, other = sketch.column(left), sketch.column(figure)
        if one is not None and other is not None and one != other:
            sketch.take(place, figure, left)
            add_condition(sketch, place, Measure(one), OPERATORS[op], other)


def _only_figure(sketch: Sketch, table: int) -> ColumnRef | None:
    figures = sketch.figures_of(table)
    return figures[0] if len(figures) == 1 else None


def _in_money(sketch: Sketch, place: int, figure: int, operator: Operator) -> bool:
    """ "Who paid more than 500", "donors who gave over 1000 in 2026": what each of them did so comes to is compared."""
    number, verb = sketch.nodes[figure].number, place - 1
    if sketch.chinese or number is None or sketch.op(place) not in _MORE_OR_LESS:
        return False
    behind = sketch.after(figure)
    is_regular = verb >= 0 and sketch.nodes[verb].text.lower() in _REGULAR
    if is_regular or sketch.op(behind) is Op.TIMES or (behind == figure + 1 and sketch.pick(behind) is not None):
        # "Members who pay less than 25" a month, "donated more than three times", "paid more than 3 invoices".
        return False
    found = amount_of_verb(sketch, verb) if verb >= 0 and not sketch.taken[verb] else None
    if found is None or not _has_group(sketch, found[0], verb):
        return False
    sketch.take(place, figure, verb, *sketch.free_places(Op.IN_ALL))
    take_units(sketch, figure)
    only_meant(sketch, verb, *found)
    sketch.having.append((place, Comparison(Measure(found[0], Aggregate.SUM), operator, Literal(number))))
    return True


_REGULAR = frozenset({"pay", "pays"})
_MORE_OR_LESS = frozenset({Op.GREATER, Op.AT_LEAST, Op.LESS, Op.AT_MOST})


def _aggregated(sketch: Sketch, left: int | None, column: ColumnRef | None) -> Measure | None:
    """ "With an average salary above 9000", "with total donations over 1000": the figure of each group that is compared."""
    aggregate = _AGGREGATED.get(sketch.op(sketch.before(left)) or Op.AND)
    if aggregate is None or left is None or not sketch.is_free(left):
        return None
    table = sketch.table(left)
    if column is None and table is not None:
        column = amount_of_rows(sketch, left)
        if column is None and aggregate is Aggregate.AVERAGE:
            column = one_amount(sketch, left + 1) or _only_figure(sketch, table)
    if column is None or not sketch.is_numeric(column) or not _has_group(sketch, column, left):
        return None
    return Measure(column, aggregate)


def _is_figure_of(sketch: Sketch, column: int | None, figure: int | None) -> bool:
    ref = sketch.column(column)
    if ref is None or figure is None or sketch.number(figure) is None:
        return False
    # "After the year 2000", "before the year of 2010".
    beside = (column or 0) + 1
    beside += sketch.nodes[beside].text.lower() == "of"
    return figure == beside and (sketch.is_numeric(ref) or is_temporal(sketch, ref))


def _figure(sketch: Sketch, place: int, figure: int, left: int | None, right: int | None) -> None:
    op = sketch.op(place) or Op.EQUAL
    number = sketch.nodes[figure].number
    if number is None:
        return
    operator = _operator(sketch, op, number)
    before = (sketch.column(left) or sketch.figure_of_verb(left)) if sketch.is_free(left) else None
    if before is not None and sketch.is_key(before) and not says_key(sketch, left):
        before = None
    if sketch.op(left) is Op.COUNT and sketch.is_free(left) and left is not None:
        _of_a_count(sketch, (place, figure, left), operator, number)
        return
    if _in_money(sketch, place, figure, operator):
        return
    aggregated = _aggregated(sketch, left, before)
    if aggregated is not None:
        sketch.take(place, figure, left, sketch.before(left))
        take_units(sketch, figure)
        sketch.having.append((place, Comparison(aggregated, operator, Literal(number))))
        return
    if before is not None and sketch.op(right) is Op.TIMES and is_temporal(sketch, before):
        # "Who have borrowed more than ten times": so many of what the verb was done in.
        sketch.take(place, figure, left, right)
        count_rows(sketch, place, before.table, operator, number)
        return
    counted_before = _counted_before(sketch, left)
    behind = sketch.column(right) if sketch.is_free(right) else None
    table = sketch.table(right) if sketch.is_free(right) else None
    units = take_units(sketch, figure)
    # 订单10个以上的客户 counts what is right before it, 客户下过10个以上的订单 what is behind.
    is_beside = table is None or left == min(place, figure) - 1
    if counted_before is not None and is_beside and op not in TEMPORAL_OPS and op not in ADJECTIVES:
        # 订单超过5个的客户: what is counted stands before the figure, and the head last.
        sketch.take(place, figure, left, right if sketch.op(right) is Op.TIMES else None)
        count_rows(sketch, place, counted_before, operator, number)
        return
    stands_behind = right == figure + 1 or _is_measured(sketch, place, figure, right)
    counts = table is not None and stands_behind and op not in TEMPORAL_OPS
    if (
        before is not None
        and not counts
        and (
            sketch.is_numeric(before)
            or (is_temporal(sketch, before) and looks_like_year(number))
            or (
                table is None
                and op not in TEMPORAL_OPS
                and sketch.kind(before) not in TEMPORAL
                and not sketch.is_numeric(behind)
                and not sketch.asked[left or 0]
            )
        )
    ):
        sketch.take(place, figure, left)
        bound(sketch, place, before, operator, number)
        return
    has_meaning = op in ADJECTIVES or op in TEMPORAL_OPS or units is not None
    if has_meaning and (_by_meaning(sketch, place, figure, operator) or op in ADJECTIVES):
        return
    _of_what_is_behind(sketch, place, figure, right, operator)


def _of_a_count(sketch: Sketch, places: tuple[int, int, int], operator: Operator, number: float) -> None:
    """ "With a count above 5", 订单数量超过5: the rows are counted, in Chinese those of the table before."""
    place, figure, left = places
    before = sketch.before(left)
    counted = sketch.table(before)
    sketch.take(place, figure, left)
    if counted is not None and sketch.chinese:
        sketch.take(before)
        take_units(sketch, figure)
        count_rows(sketch, place, counted, operator, number)
        return
    sketch.having.append((place, Comparison(Measure(aggregate=Aggregate.COUNT), operator, Literal(number))))


def _of_what_is_behind(sketch: Sketch, place: int, figure: int, right: int | None, operator: Operator) -> None:
    """ "More than 5 orders", "above 20 percent": the figure is that of what stands behind it, or of what was compared last."""
    number = sketch.nodes[figure].number
    if number is None:
        return
    kind, noun = sketch.value(right), sketch.after(right)
    if kind is not None and sketch.table(noun) == kind.table:
        # "At least 2 confirmed bookings": so many of those.
        right = noun
    elif kind is not None and right is not None and base_form(word := sketch.nodes[right].text.lower()) != word:
        # "At least two tankers", as ships are called by their kind.
        sketch.take(place, figure)
        count_rows(sketch, place, kind.table, operator, number)
        return
    behind = sketch.column(right) if sketch.is_free(right) else None
    table = sketch.table(right) if sketch.is_free(right) else None
    if table is not None:
        sketch.take(place, figure, right)
        count_rows(sketch, place, table, operator, number)
        return
    if behind is not None and sketch.is_numeric(behind) and not (sketch.is_key(behind)):
        aggregate = _AGGREGATED.get(sketch.op(sketch.before(place)) or Op.AND)
        in_all = sketch.free_places(Op.IN_ALL)
        if (aggregate is not None or in_all) and _has_group(sketch, behind, right):
            # "With a total of more than 20 hours", "more than 20 hours in total".
            sketch.take(place, figure, right, sketch.before(place) if aggregate is not None else None, *in_all)
            aggregate = aggregate or Aggregate.SUM
            sketch.having.append((place, Comparison(Measure(behind, aggregate), operator, Literal(number))))
            return
        sketch.take(place, figure, right)
        sketch.doubts += float(is_place_of(sketch, right, behind))
        add_condition(sketch, place, Measure(behind), operator, Literal(number))
        return
    if behind is not None and right is not None and right <= figure + 2:
        sketch.take(place, figure, right)
        measure = Measure(behind, Aggregate.COUNT, distinct=True)
        sketch.having.append((place, Comparison(measure, operator, Literal(number))))
        return
    if sketch.op(right) is Op.TIMES:
        sketch.take(place, figure, right)
        rows = rows_of_deed(sketch, place - 1)
        if rows is None and len(sketch.mentioned_tables()) > 1:
            # "Donors who donated more than three times".
            rows = sketch.table(place - 1)
        if rows is not None:
            count_rows(sketch, place, rows, operator, number)
            return
        sketch.having.append((place, Comparison(Measure(aggregate=Aggregate.COUNT), operator, Literal(number))))
        return
    again = _last_compared(sketch, place)
    if again is not None:
        sketch.take(place, figure)
        add_condition(sketch, place, again, operator, Literal(number))
        return
    _by_meaning(sketch, place, figure, operator)


def _operator(sketch: Sketch, op: Op, number: float) -> Operator:
    """一个以上 says more than one: that there is one at all would say nothing."""
    return Operator.GREATER if op is Op.OR_MORE and number == 1 and sketch.chinese else OPERATORS[op]


def _counted_before(sketch: Sketch, left: int | None) -> int | None:
    """订单超过5个的客户: what is counted stands before the figure. 哪些客户有3个以上的订单: what is asked for does not count."""
    if left and sketch.op(left - 1) is Op.SHOW and sketch.nodes[left - 1].text.startswith("哪"):
        return None
    return sketch.table(left) if sketch.chinese and sketch.is_free(left) else None


def _is_measured(sketch: Sketch, place: int, figure: int, right: int | None) -> bool:
    """两部以上的电影: in Chinese the word stands between the figure and what is counted."""
    unit = sketch.nodes[figure + 1].text if figure + 1 < len(sketch.nodes) else ""
    measured = sketch.nodes[figure].text == "一" or unit in lexicon().measure_words
    return measured and sketch.op(place) in {Op.OR_MORE, Op.OR_LESS} and right is not None and right <= place + 2


def _has_group(sketch: Sketch, column: ColumnRef, left: int | None) -> bool:
    """Whether something other than the figure is asked for: without it there is nothing to take the figure of."""
    return any(
        other != left
        and (sketch.table(other) not in (None, column.table) or sketch.column(other) not in (None, column))
        for other in sketch.assignment.picks
    )


def _last_compared(sketch: Sketch, place: int) -> Measure | None:
    """For "higher than 1000 or lower than 500": the column of the comparison just before, joined by and/or."""
    joint = sketch.before(place)
    if sketch.op(joint) not in {Op.AND, Op.OR, Op.BUT, Op.BOTH} or not sketch.conditions:
        return None
    last = max(sketch.conditions, key=lambda item: item.place)
    if last.place < place and isinstance(last.condition, Comparison) and joint is not None and joint - last.place <= 4:
        sketch.take(joint)
        return last.condition.left
    return None


def _by_meaning(sketch: Sketch, place: int, figure: int, operator: Operator) -> bool:
    """Find the column by what the comparing word means: age for "older", a day or year for "after"."""
    node = sketch.nodes[place]
    number = node.number if node.kind is NodeKind.NUMBER else sketch.nodes[figure].number
    if number is None:
        return False
    result: tuple[ColumnRef, bool] | None = None
    measured = column_of_unit(sketch, figure)
    if measured is not None:
        result = (measured, False)
    elif node.op in {Op.AFTER, Op.BEFORE, Op.SINCE} or (
        looks_like_year(number) and node.text.lower().split()[-1] in _BOUNDS_OF_TIME
    ):
        column = time_column(sketch, place)
        result = None if column is None else (column, False)
    elif node.op not in ADJECTIVES and is_of_money(sketch, figure):
        result = money_compared(sketch, place)
    elif node.op not in ADJECTIVES and number > _AGE_MAX:
        # "Payments over 2000": what adds up is compared, and no year, where there is one such figure.
        column = one_amount(sketch, place)
        if column is None and looks_like_year(number):
            column = time_column(sketch, place)
            sketch.doubts += 0.5
        result = None if column is None else (column, False)
    else:
        concepts = adjective_concepts(node.text)
        if not concepts and (
            old_near(sketch, figure) or (0 < number <= _AGE_MAX and node.text.lower() in _PLAIN_BOUNDS)
        ):
            concepts = adjective_concepts("older than")
        if concepts:
            result = sketch.concept_column(concepts, place, ())
    if result is None:
        return False
    column, backwards = result
    if measures_otherwise(sketch, figure, column):
        # "Longer than 60 minutes" is no distance.
        sketch.doubts += 1.0
    if backwards:
        return _by_birth(sketch, place, figure, operator, column)
    sketch.take(place, figure)
    sketch.doubts += 0.03
    bound(sketch, place, column, operator, number)
    return True


def _by_birth(sketch: Sketch, place: int, figure: int, operator: Operator, column: ColumnRef) -> bool:
    """ "Older than 30" without an age: born more than thirty years before today."""
    number = sketch.number(figure) if sketch.number(figure) is not None else sketch.number(place)
    if sketch.kind(column) not in TEMPORAL or not isinstance(number, int) or not 0 < number <= _AGE_MAX:
        return False
    born = years_before(sketch.today, number)
    flipped = {
        Operator.GREATER: Operator.LESS,
        Operator.AT_LEAST: Operator.AT_MOST,
        Operator.LESS: Operator.GREATER,
        Operator.AT_MOST: Operator.AT_LEAST,
    }.get(operator)
    if flipped is None:
        return False
    sketch.take(place, figure)
    add_condition(sketch, place, Measure(column), flipped, Literal(born.isoformat()))
    return True


def _nested(sketch: Sketch, place: int, figure: int, left: int | None) -> None:
    op = sketch.op(place)
    if op is None:
        return
    aggregate = {
        Op.AVERAGE: Aggregate.AVERAGE,
        Op.MAXIMUM: Aggregate.MAXIMUM,
        Op.HIGHEST: Aggregate.MAXIMUM,
        Op.MINIMUM: Aggregate.MINIMUM,
        Op.LOWEST: Aggregate.MINIMUM,
    }[sketch.op(figure) or Op.AVERAGE]
    named = sketch.after(figure, over=(Op.COUNT,))
    for between in range(figure, named if named is not None else figure):
        if sketch.op(between) is Op.COUNT:
            sketch.take(between)
    inner = sketch.column(named) if sketch.is_free(named) else None
    outer = (sketch.column(left) or sketch.figure_of_verb(left)) if sketch.is_free(left) else None
    if outer is not None and not sketch.is_numeric(outer):
        outer = None
    if inner is not None and not sketch.is_numeric(inner):
        inner = None
    if outer is None and inner is None:
        concepts = adjective_concepts(sketch.nodes[place].text)
        result = sketch.concept_column(concepts, place, ()) if concepts else None
        if result is None or result[1] or (takes_time(sketch, place) and not is_lasting(sketch, result[0])):
            return
        outer = result[0]
        sketch.doubts += 0.05
    else:
        sketch.take(left if outer is not None else None, named if inner is not None else None)
    compared, averaged = outer or inner, inner or outer
    if compared is None or averaged is None:
        return
    sketch.take(place, figure)
    form = Form(targets=(Measure(averaged, aggregate),))
    add_condition(sketch, place, Measure(compared), OPERATORS[op], form)
