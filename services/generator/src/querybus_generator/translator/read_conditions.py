"""Comparisons, values, patterns and ranges become conditions.

Each looks at its direct neighbours only: a column before or after a figure, a value next to its column. A figure
with a table behind it ("more than two orders") counts rows of that table. What has no column stays unread.
"""

from __future__ import annotations

from querybus.core.catalog import ColumnKind
from querybus_generator.translator.form import (
    Aggregate,
    AllOf,
    ColumnRef,
    Comparison,
    Form,
    Literal,
    Measure,
    Operator,
)
from querybus_generator.translator.lexicon import ADJECTIVES, Op, lexicon
from querybus_generator.translator.nodes import NodeKind
from querybus_generator.translator.periods import Period, years_before
from querybus_generator.translator.sketch import TEMPORAL, Placed, Sketch

_OPERATORS = {
    Op.GREATER: Operator.GREATER,
    Op.AT_LEAST: Operator.AT_LEAST,
    Op.LESS: Operator.LESS,
    Op.AT_MOST: Operator.AT_MOST,
    Op.EQUAL: Operator.EQUAL,
    Op.UNEQUAL: Operator.UNEQUAL,
    Op.AFTER: Operator.GREATER,
    Op.BEFORE: Operator.LESS,
    Op.SINCE: Operator.AT_LEAST,
    Op.ADJECTIVE_MORE: Operator.GREATER,
    Op.ADJECTIVE_LESS: Operator.LESS,
    Op.OR_MORE: Operator.AT_LEAST,
    Op.OR_LESS: Operator.AT_MOST,
}
_PATTERNS = {Op.CONTAINS: Operator.CONTAINS, Op.STARTS: Operator.STARTS, Op.ENDS: Operator.ENDS}
_JOINING = (Op.EQUAL, Op.NAMED, Op.NOT, Op.UNEQUAL)
_UNITS = (Op.UNIT, Op.OLD)
_TEMPORAL_OPS = frozenset({Op.AFTER, Op.BEFORE, Op.SINCE})
_AGE_MAX = 120
# "People over 40": without a column these bound an age, where there is one.
_PLAIN_BOUNDS = frozenset({"over", "under", "above", "below"})


def read_conditions(sketch: Sketch) -> None:
    """Read every condition that its neighbours complete."""
    _ranges(sketch)
    _patterns_behind(sketch)
    _patterns(sketch)
    for place in range(len(sketch.nodes)):
        if sketch.taken[place]:
            continue
        if sketch.op(place) in _OPERATORS:
            _comparison(sketch, place)
    for place, node in enumerate(sketch.nodes):
        if sketch.taken[place]:
            continue
        if sketch.value(place) is not None:
            _value(sketch, place)
        elif node.kind is NodeKind.TEXT:
            _text(sketch, place)
        elif node.kind is NodeKind.PERIOD:
            _period(sketch, place)
        elif node.kind is NodeKind.NUMBER:
            _bare_number(sketch, place)


def negation_before(sketch: Sketch, place: int) -> int | None:
    """Return the place of a negation that stands directly before a node, or None."""
    other = sketch.before(place, over=(Op.EQUAL, Op.NAMED))
    if other is not None and not sketch.taken[other] and sketch.op(other) in {Op.NOT, Op.UNEQUAL}:
        return other
    return None


def _add(sketch: Sketch, place: int, left: Measure, operator: Operator, right: Literal | ColumnRef | Form) -> None:
    negation = negation_before(sketch, place)
    if negation is not None:
        sketch.take(negation)
        operator = operator.opposite
    sketch.conditions.append(Placed(place, Comparison(left, operator, right)))


def _comparison(sketch: Sketch, place: int) -> None:
    op = sketch.op(place)
    if op is None:
        return
    if op in {Op.OR_MORE, Op.OR_LESS}:
        figure = sketch.before(place, over=_UNITS)
        left, right = sketch.before(figure, over=_JOINING), sketch.after(place)
        if sketch.chinese and sketch.column(right) is not None and not sketch.is_numeric(sketch.column(right)):
            right = None
    else:
        figure = sketch.after(place)
        left = sketch.before(place, over=_JOINING)
        behind = sketch.after(figure)
        if sketch.is_free(figure) and _is_figure_of(sketch, figure, behind):
            # "After the year 2000": the column stands between the word and the figure.
            left, figure = figure, behind
        right = sketch.after(figure, over=(*_UNITS, Op.DISTINCT))
    if figure is None or sketch.taken[figure]:
        return
    node = sketch.nodes[figure]
    if node.kind is NodeKind.NUMBER and node.number is not None:
        _figure(sketch, place, figure, left, right)
    elif node.kind is NodeKind.PERIOD and node.period is not None:
        _bounded_period(sketch, place, figure, left)
    elif node.op in {Op.AVERAGE, Op.MAXIMUM, Op.MINIMUM, Op.HIGHEST, Op.LOWEST}:
        _nested(sketch, place, figure, left)
    elif sketch.is_numeric(sketch.column(figure)) and sketch.is_numeric(sketch.column(left)) and sketch.is_free(left):
        if op in {Op.EQUAL, Op.UNEQUAL}:
            return
        one, other = sketch.column(left), sketch.column(figure)
        if one is not None and other is not None and one != other:
            sketch.take(place, figure, left)
            _add(sketch, place, Measure(one), _OPERATORS[op], other)


def _is_figure_of(sketch: Sketch, column: int | None, figure: int | None) -> bool:
    ref = sketch.column(column)
    if ref is None or figure is None or sketch.number(figure) is None:
        return False
    return figure == (column or 0) + 1 and (sketch.is_numeric(ref) or _is_temporal(sketch, ref))


def _figure(sketch: Sketch, place: int, figure: int, left: int | None, right: int | None) -> None:
    op = sketch.op(place) or Op.EQUAL
    number = sketch.nodes[figure].number
    if number is None:
        return
    operator = _OPERATORS[op]
    before = sketch.column(left) if sketch.is_free(left) else None
    if before is not None and sketch.is_key(before) and not says_key(sketch, left):
        before = None
    if sketch.op(left) is Op.COUNT and sketch.is_free(left):
        counted = sketch.table(sketch.before(left))
        sketch.take(place, figure, left)
        if counted is not None and sketch.chinese:
            sketch.take(sketch.before(left))
            _take_units(sketch, figure)
            _counted_rows(sketch, place, counted, operator, number)
            return
        sketch.having.append((place, Comparison(Measure(aggregate=Aggregate.COUNT), operator, Literal(number))))
        return
    behind = sketch.column(right) if sketch.is_free(right) else None
    table = sketch.table(right) if sketch.is_free(right) else None
    units = _take_units(sketch, figure)
    counts = table is not None and right == figure + 1 and op not in _TEMPORAL_OPS
    if before is not None and not counts and (
        sketch.is_numeric(before)
        or (_is_temporal(sketch, before) and _looks_like_year(number))
        or (
            table is None
            and op not in _TEMPORAL_OPS
            and not sketch.is_numeric(behind)
            and not sketch.asked[left or 0]
        )
    ):
        sketch.take(place, figure, left)
        _add(sketch, place, Measure(before), operator, _literal(sketch, before, number))
        return
    if op in ADJECTIVES or op in _TEMPORAL_OPS or units is not None:
        if _by_meaning(sketch, place, figure, operator, before) or op in ADJECTIVES:
            return
    if table is not None:
        sketch.take(place, figure, right)
        _counted_rows(sketch, place, table, operator, number)
        return
    if behind is not None and sketch.is_numeric(behind) and not (sketch.is_key(behind)):
        sketch.take(place, figure, right)
        _add(sketch, place, Measure(behind), operator, Literal(number))
        return
    if behind is not None and right is not None and right <= figure + 2:
        sketch.take(place, figure, right)
        measure = Measure(behind, Aggregate.COUNT, distinct=True)
        sketch.having.append((place, Comparison(measure, operator, Literal(number))))
        return
    if sketch.op(right) is Op.TIMES:
        sketch.take(place, figure, right)
        sketch.having.append((place, Comparison(Measure(aggregate=Aggregate.COUNT), operator, Literal(number))))
        return
    again = _last_compared(sketch, place)
    if again is not None:
        sketch.take(place, figure)
        _add(sketch, place, again, operator, Literal(number))
        return
    _by_meaning(sketch, place, figure, operator, before)


def _counted_rows(sketch: Sketch, place: int, table: int, operator: Operator, number: int | float) -> None:
    """"With more than two orders": a column that already counts them, else rows of that table are counted."""
    column = sketch.count_column(table)
    if column is not None:
        _add(sketch, place, Measure(column), operator, Literal(number))
        sketch.hidden_tables.add(table)
        return
    if (operator, number) in {(Operator.AT_LEAST, 1), (Operator.GREATER, 0)}:
        # Joining alone says that there is one.
        return
    measure = Measure(aggregate=Aggregate.COUNT, table=table)
    sketch.having.append((place, Comparison(measure, operator, Literal(number))))


def says_key(sketch: Sketch, place: int | None) -> bool:
    """Return whether a link's own words name a key: "order id", 订单编号 — not merely the rows."""
    if place is None:
        return False
    words = lexicon()
    text = sketch.nodes[place].text.lower()
    return any(each in text for each in (*words.key_words, *words.related.get("number", ())))


def _last_compared(sketch: Sketch, place: int) -> Measure | None:
    """For "higher than 1000 or lower than 500": the column of the comparison just before, joined by and/or."""
    joint = sketch.before(place)
    if sketch.op(joint) not in {Op.AND, Op.OR, Op.BUT, Op.BOTH} or not sketch.conditions:
        return None
    last = max(sketch.conditions, key=lambda each: each.place)
    if last.place < place and isinstance(last.condition, Comparison) and joint is not None and joint - last.place <= 4:
        sketch.take(joint)
        return last.condition.left
    return None


def _by_meaning(sketch: Sketch, place: int, figure: int, operator: Operator, before: ColumnRef | None) -> bool:
    """Find the column by what the comparing word means: age for "older", a day or year for "after"."""
    node = sketch.nodes[place]
    number = node.number if node.kind is NodeKind.NUMBER else sketch.nodes[figure].number
    if number is None:
        return False
    found: tuple[ColumnRef, bool] | None = None
    if node.op in {Op.AFTER, Op.BEFORE, Op.SINCE} or (node.op not in ADJECTIVES and _looks_like_year(number)):
        column = _time_column(sketch, place)
        found = None if column is None else (column, False)
    else:
        concepts = [concept for phrase in _adjectives(node.text) for concept in phrase]
        if not concepts and (_old_near(sketch, figure) or (0 < number <= _AGE_MAX and node.text.lower() in _PLAIN_BOUNDS)):
            concepts = [concept for phrase in _adjectives("older than") for concept in phrase]
        if concepts:
            found = sketch.concept_column(concepts, place, ())
    if found is None:
        return False
    column, backwards = found
    if backwards:
        return _by_birth(sketch, place, figure, operator, column)
    sketch.take(place, figure)
    sketch.doubts += 0.03
    _add(sketch, place, Measure(column), operator, _literal(sketch, column, number))
    return True


def _by_birth(sketch: Sketch, place: int, figure: int, operator: Operator, column: ColumnRef) -> bool:
    """"Older than 30" without an age: born more than thirty years before today."""
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
    _add(sketch, place, Measure(column), flipped, Literal(born.isoformat()))
    return True


def _old_near(sketch: Sketch, figure: int) -> bool:
    return any(
        node.op is Op.OLD for node in sketch.nodes[max(0, figure - 2) : figure + 3]
    )


def _adjectives(text: str) -> list[tuple]:
    key = tuple(text.lower().split())
    phrases = lexicon().english.get(key, ()) or lexicon().chinese.get(text, ())
    return [phrase.concepts for phrase in phrases if phrase.op in ADJECTIVES]


def _looks_like_year(number: int | float) -> bool:
    return isinstance(number, int) and 1500 <= number <= 2150


def _take_units(sketch: Sketch, figure: int) -> Op | None:
    other = sketch.after(figure)
    found: Op | None = None
    while sketch.op(other) in _UNITS and other is not None:
        found = sketch.op(other) if sketch.op(other) is Op.OLD else found
        sketch.take(other)
        other = sketch.after(other)
    mark = figure + 1
    if mark < len(sketch.nodes) and sketch.nodes[mark].text == "%":
        sketch.take(mark)
    return found


def _is_temporal(sketch: Sketch, column: ColumnRef) -> bool:
    return sketch.kind(column) in TEMPORAL or column in sketch.time_columns(column.table)


def _literal(sketch: Sketch, column: ColumnRef, number: int | float) -> Literal:
    if sketch.kind(column) in TEMPORAL and isinstance(number, int) and _looks_like_year(number):
        return Literal(f"{number:04d}-01-01")
    return Literal(number)


def _time_column(sketch: Sketch, place: int) -> ColumnRef | None:
    """Return the column that a bare period is about: the nearest table's, if it has exactly one kind of time."""
    for table in sketch.tables_with_time(place):
        found = sketch.time_columns(table)
        if found:
            sketch.doubts += 0.05 * (len(found) - 1)
            return found[0]
    return None


def _near_time_column(sketch: Sketch, place: int) -> int | None:
    for other in (sketch.before(place, over=_JOINING), sketch.after(place)):
        column = sketch.column(other)
        if column is not None and sketch.is_free(other) and _is_temporal(sketch, column):
            return other
    return None


def _bounded_period(sketch: Sketch, place: int, figure: int, left: int | None) -> None:
    period = sketch.nodes[figure].period
    op = sketch.op(place)
    if period is None or op is None:
        return
    column = sketch.column(left) if sketch.is_free(left) else None
    if column is not None and _is_temporal(sketch, column):
        sketch.take(left)
    else:
        column = _time_column(sketch, place)
    if column is None:
        return
    sketch.take(place, figure)
    operator = _OPERATORS[op]
    if sketch.kind(column) in {ColumnKind.INTEGER, ColumnKind.NUMBER} and period.whole_year is not None:
        _add(sketch, place, Measure(column), operator, Literal(period.whole_year))
        return
    bound = period.end if operator in {Operator.GREATER, Operator.AT_MOST} else period.start
    operator = {Operator.GREATER: Operator.AT_LEAST, Operator.AT_MOST: Operator.LESS}.get(operator, operator)
    _add(sketch, place, Measure(column), operator, Literal(bound.isoformat()))


def _period(sketch: Sketch, place: int) -> None:
    period = sketch.nodes[place].period
    if period is None:
        return
    beside = _near_time_column(sketch, place)
    column = sketch.column(beside) or _time_column(sketch, place)
    if column is None:
        return
    sketch.take(place, beside)
    following = sketch.after(place)
    if sketch.op(following) in {Op.AFTER, Op.BEFORE}:
        # 2023年之后: the word stands behind the period.
        sketch.take(following)
        _one_bound(sketch, place, column, period, after=sketch.op(following) is Op.AFTER)
        return
    within(sketch, place, column, period)


def _one_bound(sketch: Sketch, place: int, column: ColumnRef, period: Period, *, after: bool) -> None:
    if sketch.kind(column) in {ColumnKind.INTEGER, ColumnKind.NUMBER} and period.whole_year is not None:
        operator = Operator.GREATER if after else Operator.LESS
        _add(sketch, place, Measure(column), operator, Literal(period.whole_year))
    elif after:
        _add(sketch, place, Measure(column), Operator.AT_LEAST, Literal(period.end.isoformat()))
    else:
        _add(sketch, place, Measure(column), Operator.LESS, Literal(period.start.isoformat()))


def within(sketch: Sketch, place: int, column: ColumnRef, period: Period) -> None:
    """Add the condition that a column lies in a period."""
    if sketch.kind(column) not in TEMPORAL and period.whole_year is not None:
        _add(sketch, place, Measure(column), Operator.EQUAL, Literal(period.whole_year))
        return
    measure = Measure(column)
    first = Comparison(measure, Operator.AT_LEAST, Literal(period.start.isoformat()))
    last = Comparison(measure, Operator.LESS, Literal(period.end.isoformat()))
    sketch.conditions.append(Placed(place, AllOf((first, last))))


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
    outer = sketch.column(left) if sketch.is_free(left) else None
    if outer is not None and not sketch.is_numeric(outer):
        outer = None
    if inner is not None and not sketch.is_numeric(inner):
        inner = None
    if outer is None and inner is None:
        concepts = [concept for phrase in _adjectives(sketch.nodes[place].text) for concept in phrase]
        found = sketch.concept_column(concepts, place, ()) if concepts else None
        if found is None or found[1]:
            return
        outer = found[0]
        sketch.doubts += 0.05
    else:
        sketch.take(left if outer is not None else None, named if inner is not None else None)
    compared, averaged = outer or inner, inner or outer
    if compared is None or averaged is None:
        return
    sketch.take(place, figure)
    form = Form(targets=(Measure(averaged, aggregate),))
    _add(sketch, place, Measure(compared), _OPERATORS[op], form)


def _ranges(sketch: Sketch) -> None:
    for place in range(len(sketch.nodes)):
        node = sketch.nodes[place]
        opens = node.op is Op.BETWEEN or (node.kind is NodeKind.STOP and node.text.lower() == "from")
        if not opens or (sketch.taken[place] and node.kind is not NodeKind.STOP):
            continue
        low = sketch.after(place)
        if low is None or sketch.taken[low] or sketch.nodes[low].kind not in {NodeKind.NUMBER, NodeKind.PERIOD}:
            continue
        joint = low + 1
        while joint < len(sketch.nodes) and sketch.nodes[joint].op in _UNITS:
            joint += 1
        if joint >= len(sketch.nodes) or not (
            sketch.nodes[joint].op in {Op.AND, Op.TO} or sketch.nodes[joint].text.lower() in {"to", "-", "到"}
        ):
            continue
        high = sketch.after(joint)
        if high is None or sketch.nodes[high].kind is not sketch.nodes[low].kind:
            continue
        left = sketch.before(place, over=_JOINING)
        right = sketch.after(high, over=_UNITS)
        _range(sketch, (place, low, joint, high), left, right)


def _range(sketch: Sketch, places: tuple[int, int, int, int], left: int | None, right: int | None) -> None:
    place, low, joint, high = places
    one, other = sketch.nodes[low], sketch.nodes[high]
    column: ColumnRef | None = None
    for beside in (left, right):
        found = sketch.column(beside) if sketch.is_free(beside) else None
        if found is not None and (sketch.is_numeric(found) or _is_temporal(sketch, found)):
            column = found
            sketch.take(beside)
            break
    if column is None:
        if _looks_like_year(one.number or 0) or one.period is not None:
            column = _time_column(sketch, place)
        elif _old_near(sketch, high):
            found_old = sketch.concept_column([c for p in _adjectives("older than") for c in p], place, ())
            column = found_old[0] if found_old else None
    if column is None:
        return
    sketch.take(place, low, joint, high)
    _take_units(sketch, low)
    _take_units(sketch, high)
    measure = Measure(column)
    if one.period is not None and other.period is not None:
        within(sketch, place, column, Period(one.period.start, other.period.end))
        return
    if one.number is None or other.number is None:
        return
    if sketch.kind(column) in TEMPORAL and isinstance(other.number, int) and isinstance(one.number, int) and _looks_like_year(one.number):
        first = Comparison(measure, Operator.AT_LEAST, Literal(f"{one.number:04d}-01-01"))
        last = Comparison(measure, Operator.LESS, Literal(f"{other.number + 1:04d}-01-01"))
    else:
        first = Comparison(measure, Operator.AT_LEAST, Literal(one.number))
        last = Comparison(measure, Operator.AT_MOST, Literal(other.number))
    sketch.conditions.append(Placed(place, AllOf((first, last))))


def _patterns(sketch: Sketch) -> None:
    for place in sketch.free_places(Op.CONTAINS, Op.STARTS, Op.ENDS):
        operator = _PATTERNS[sketch.op(place) or Op.CONTAINS]
        text = sketch.after(place, over=(Op.CONTAINS, Op.STARTS, Op.ENDS))
        if len(sketch.nodes) > place + 1 and sketch.nodes[place].text.lower().endswith("letter"):
            text = place + 1
        if text is None or sketch.nodes[text].kind is NodeKind.MARK:
            continue
        node = sketch.nodes[text]
        if node.op is not None or (sketch.column(text) is not None and not node.quoted) or sketch.table(text) is not None:
            continue
        left = sketch.before(place, over=(*_JOINING, Op.RELATIVE, Op.CONTAINS))
        column = sketch.column(left) if sketch.is_free(left) else None
        if column is None:
            left = sketch.after(text)
            column = sketch.column(left) if sketch.is_free(left) else None
        if column is None:
            before = sketch.before(place, over=(Op.RELATIVE,))
            if operator is Operator.CONTAINS and sketch.value(text) is not None and not node.quoted:
                continue
            table = sketch.table(before) if before is not None else None
            column = label_columns(sketch, table)[0] if table is not None and label_columns(sketch, table) else None
            sketch.doubts += 0.1
            left = None
        if column is None:
            continue
        negation = negation_before(sketch, place)
        if negation is not None and operator is Operator.CONTAINS:
            sketch.take(negation)
            operator = Operator.LACKS
        for other in range(min(place, text), max(place, text) + 1):
            sketch.take(other)
        sketch.take(left)
        sketch.conditions.append(Placed(place, Comparison(Measure(column), operator, Literal(node.text))))


def _patterns_behind(sketch: Sketch) -> None:
    """名称以"手机"开头: the word for the pattern stands behind the text."""
    for place in sketch.free_places(Op.STARTS_AFTER, Op.ENDS_AFTER):
        text = sketch.before(place)
        if text is None or sketch.taken[text] or sketch.nodes[text].op is not None:
            continue
        left = sketch.before(text, over=(Op.STARTS, *_JOINING))
        column = sketch.column(left) if sketch.is_free(left) else None
        if column is None:
            continue
        for other in range(left or 0, place + 1):
            sketch.take(other)
        operator = Operator.STARTS if sketch.op(place) is Op.STARTS_AFTER else Operator.ENDS
        sketch.conditions.append(Placed(place, Comparison(Measure(column), operator, Literal(sketch.nodes[text].text))))


def label_columns(sketch: Sketch, table: int) -> tuple[ColumnRef, ...]:
    """Return the column(s) by which people call the rows of a table: its name or title, else its key."""
    from querybus_generator.translator.labels import labels

    return labels(sketch.index, table, chinese=sketch.chinese)


def _value(sketch: Sketch, place: int) -> None:
    pick = sketch.value(place)
    if pick is None or pick.column is None or pick.value is None:
        return
    column = ColumnRef(pick.table, pick.column)
    sketch.take(place)
    for beside in (sketch.before(place, over=_JOINING), sketch.after(place)):
        if sketch.is_free(beside) and (sketch.column(beside) == column or _is_kind_of(sketch, place, beside, column)):
            sketch.take(beside)
            _take_joining(sketch, beside, place)
            break
    first = sketch.before(place, over=(Op.NAMED, Op.EQUAL))
    negation = negation_before(sketch, place)
    if negation is None and first is not None and sketch.taken[first]:
        negation = negation_before(sketch, first)
    operator = Operator.EQUAL
    if negation is not None:
        sketch.take(negation)
        operator = Operator.UNEQUAL
    for other in range(max(0, place - 2), place):
        if sketch.nodes[other].op in {Op.NAMED, Op.EQUAL}:
            sketch.take(other)
    sketch.conditions.append(Placed(place, Comparison(Measure(column), operator, Literal(pick.value))))
    if pick.also is not None:
        second = ColumnRef(pick.table, pick.also[0])
        sketch.conditions.append(Placed(place, Comparison(Measure(second), operator, Literal(pick.also[1]))))


def _is_kind_of(sketch: Sketch, place: int, beside: int | None, column: ColumnRef) -> bool:
    """手机类别: the word behind a value may mean another column, or a table, that holds such values."""
    if beside != place + 1 or sketch.column(beside) is None:
        return False
    return any(
        each.table == column.table and (each.column is None or each.column == column.column)
        for each in sketch.nodes[beside].candidates
    )


def _take_joining(sketch: Sketch, one: int | None, other: int) -> None:
    if one is None:
        return
    for place in range(min(one, other) + 1, max(one, other)):
        if sketch.op(place) in {Op.EQUAL, Op.NAMED}:
            sketch.take(place)


def _text(sketch: Sketch, place: int) -> None:
    node = sketch.nodes[place]
    left = sketch.before(place, over=_JOINING)
    column = sketch.column(left) if sketch.is_free(left) else None
    if column is None and sketch.table(left) is not None:
        named = label_columns(sketch, sketch.table(left) or 0)
        column = named[0] if named else None
        left = None
        sketch.doubts += 0.05
    if column is None:
        left = sketch.after(place)
        column = sketch.column(left) if sketch.is_free(left) else None
    if column is None and sketch.table(left) is not None:
        named = label_columns(sketch, sketch.table(left) or 0)
        column = named[0] if named else None
        left = None
        sketch.doubts += 0.1
    if column is None:
        return
    negation = negation_before(sketch, left if left is not None and left < place else place) or negation_before(sketch, place)
    operator = Operator.EQUAL
    if negation is not None:
        sketch.take(negation)
        operator = Operator.UNEQUAL
    sketch.take(place, left)
    for other in range(max(0, place - 2), place):
        if sketch.nodes[other].op in {Op.NAMED, Op.EQUAL}:
            sketch.take(other)
    sketch.doubts += 0.05
    sketch.conditions.append(Placed(place, Comparison(Measure(column), operator, Literal(node.text))))


def _bare_number(sketch: Sketch, place: int) -> None:
    number = sketch.nodes[place].number
    if number is None:
        return
    left = sketch.before(place, over=_JOINING)
    right = sketch.after(place, over=(*_UNITS, Op.DISTINCT))
    column = sketch.column(left) if sketch.is_free(left) else None
    between = {node.text.lower() for node in sketch.nodes[(left or 0) + 1 : place]}
    if between & {"of", "for", "in"} and right == place + 1 and sketch.is_numeric(sketch.column(right)):
        column = None
    if column is not None and "the" not in between:
        operator = Operator.EQUAL
        negation = negation_before(sketch, place)
        if negation is not None:
            sketch.take(negation)
            operator = Operator.UNEQUAL
        _take_units(sketch, place)
        sketch.take(place, left)
        _take_joining(sketch, left, place)
        if sketch.kind(column) in TEMPORAL and isinstance(number, int) and _looks_like_year(number):
            from querybus_generator.translator.periods import whole_year

            within(sketch, place, column, whole_year(number))
            return
        sketch.conditions.append(Placed(place, Comparison(Measure(column), operator, Literal(number))))
        return
    if _old_near(sketch, place):
        found = sketch.concept_column([c for p in _adjectives("older than") for c in p], place, ())
        if found is not None and not found[1]:
            for other in range(max(0, place - 2), min(len(sketch.nodes), place + 3)):
                if sketch.nodes[other].op is Op.OLD:
                    sketch.take(other)
            operator = Operator.EQUAL
            negation = negation_before(sketch, place)
            if negation is not None:
                sketch.take(negation)
                operator = Operator.UNEQUAL
            sketch.take(place)
            sketch.conditions.append(Placed(place, Comparison(Measure(found[0]), operator, Literal(number))))
            return
    table = sketch.table(right) if sketch.is_free(right) else None
    if table is not None and not sketch.asked[place]:
        sketch.take(place, right)
        _counted_rows(sketch, place, table, Operator.EQUAL, number)
        return
    column = sketch.column(right) if sketch.is_free(right) else None
    if column is not None and sketch.is_numeric(column):
        _take_units(sketch, place)
        sketch.take(place, right)
        sketch.conditions.append(Placed(place, Comparison(Measure(column), Operator.EQUAL, Literal(number))))
        return
    if _looks_like_year(number):
        column = _time_column(sketch, place)
        if column is not None:
            from querybus_generator.translator.periods import whole_year

            sketch.take(place)
            within(sketch, place, column, whole_year(int(number)))
