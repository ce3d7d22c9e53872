"""A follow-up changes the logical form that was read last: "and by month?", "only Shanghai", 再按城市分, "the same for last year".

The follow-up's words are read like those of a question, with the last form's tables in mind; what they say is put in the
place of what it contradicts (another period, another value of the same column) and beside everything else. Pure; a
follow-up that changes nothing, or of which a word is left over, is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Final

from querybus.text.language import detect_language
from querybus_translator.answers.confidence import judge, weigh
from querybus_translator.answers.earlier_year import day_spoken_of
from querybus_translator.language.clauses import OPERATORS
from querybus_translator.language.lexicon import Op
from querybus_translator.language.names import is_han
from querybus_translator.language.time.words import RECURRING
from querybus_translator.readers.conditions import read_conditions
from querybus_translator.readers.figures.cents import stored_figure
from querybus_translator.readers.figures.shares import flagged
from querybus_translator.readers.groups import read_groups
from querybus_translator.readers.orders import read_orders
from querybus_translator.readers.rankings import read_rankings
from querybus_translator.readers.reading import Reading
from querybus_translator.readers.targets import read_targets
from querybus_translator.resolve import resolve
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.labels import key_columns, known_by
from querybus_translator.schema.nodes import read_nodes
from querybus_translator.schema.phrases import Node, NodeKind, hints_of
from querybus_translator.threads.follow_words import FollowUp, asks_which, follow_up
from querybus_translator.writing.alternatives import read_alternatives
from querybus_translator.writing.assemble import read_groups_of
from querybus_translator.writing.form import (
    Aggregate,
    AllOf,
    AnyOf,
    ColumnRef,
    Comparison,
    Condition,
    Form,
    Literal,
    Measure,
    Membership,
    Operator,
    Ordering,
    columns_of,
    tables_of,
)
from querybus_translator.writing.group_order import order_of_groups
from querybus_translator.writing.semijoins import semi_joined
from querybus_translator.writing.sketch import TEMPORAL, Placed, Ranking, Sketch
from querybus_translator.writing.write import write

FOLLOW_UP_LENGTH_MAX: Final = 80
_FIGURES: Final = {
    Op.SUM: Aggregate.SUM,
    Op.AVERAGE: Aggregate.AVERAGE,
    Op.MAXIMUM: Aggregate.MAXIMUM,
    Op.MINIMUM: Aggregate.MINIMUM,
    Op.HIGHEST: Aggregate.MAXIMUM,
    Op.LOWEST: Aggregate.MINIMUM,
}
_FIRST: Final = frozenset({"first", "the first", "前"})
_ENDS: Final = (Op.HIGHEST, Op.LOWEST)
_SORTING: Final = (Op.ORDER, Op.DESCENDING, Op.ASCENDING)


def follow(previous: Form, text: str, index: CatalogIndex, today: date) -> Reading | None:
    """Return the reading of the last form with what a follow-up changes; None if it changes nothing that can be read."""
    said = follow_up(text)
    if not said.text or len(text) > FOLLOW_UP_LENGTH_MAX:
        return None
    today = day_spoken_of(previous, said.text, today)
    nodes = read_nodes(said.text, index, today)
    if asks_which(said.text):
        return _listed(previous, nodes, index, today)
    result = [_followed(previous, said, nodes, index, today, place) for place in range(2)]
    readings = [item for item in result if item is not None]
    return max(readings, key=lambda item: item.confidence, default=None)


def _followed(
    previous: Form, said: FollowUp, nodes: tuple[Node, ...], index: CatalogIndex, today: date, place: int
) -> Reading | None:
    # What is counted or added up comes first: a period is about its time.
    measures = (*previous.targets, *(ordering.by for ordering in previous.order))
    figures = [item.home for item in measures if item.aggregate is not None and item.home is not None]
    tables = tuple(dict.fromkeys((*figures, *tables_of(previous))))
    assignments = resolve(nodes, index, near=frozenset(tables))
    if place >= len(assignments):
        return None
    chinese = detect_language(said.text) == "zh"
    sketch = Sketch(nodes, assignments[place], index, today, chinese, context=tables)
    said_words = [
        place
        for place, node in enumerate(nodes)
        if node.kind not in (NodeKind.STOP, NodeKind.MARK) and node.op is not Op.UNIT
    ]
    numbers = [int(number) for place in said_words[1:] if (number := nodes[place].number) is not None]
    says_first = said_words and nodes[said_words[0]].text.lower() in _FIRST and len(said_words) == len(numbers) + 1 <= 2
    if previous.order and says_first:
        # "Just the first one", "only the first two" of what is sorted, and not the earliest.
        sketch.take(*said_words)
        sketch.limit = numbers[0] if numbers else 1
    read_rankings(sketch)
    if sketch.rankings and all(ranking.by is None or ranking.by.column is None for ranking in sketch.rankings):
        # By what the most is meant is what was spoken of.
        sketch.doubts = 0.0
    read_conditions(sketch)
    if not all(node.kind in (NodeKind.STOP, NodeKind.MARK) or node.op in _SORTING for node in nodes):
        # "Highest first" alone names no column to be found; it sorts by what there is.
        read_orders(sketch)
    read_groups(sketch)
    _read_flags(sketch)
    read_targets(sketch)
    if previous.group and not sketch.groups and not sketch.conditions and _names_groups(sketch):
        # "By genre", then "author instead": the groups are others.
        sketch.groups = [(other, column) for other, measure in sketch.targets if (column := measure.column) is not None]
        sketch.targets = []
    grouped = {other for other, group in sketch.groups if isinstance(group, int)}
    for other in range(len(nodes)):
        if sketch.table(other) in tables or other in grouped:
            sketch.take(other)
    form = _changed(previous, sketch, adds=said.adds)
    if form is None or form.is_idle or _says_nothing(sketch):
        return None
    if form.limit is not None and not form.group and all(target.aggregate is not None for target in form.targets):
        # There is but one row to take the first of.
        return None
    return _judged(form, sketch, assignments[0].score)


def _listed(previous: Form, nodes: tuple[Node, ...], index: CatalogIndex, today: date) -> Reading | None:
    """Return the rows that were counted, by what people know them by; None where something else was asked for."""
    counts = [target for target in previous.targets if target.aggregate is Aggregate.COUNT]
    if len(counts) != 1 or len(previous.targets) != 1 or previous.group or previous.combined is not None:
        return None
    head, column = counts[0].home, counts[0].column
    chinese = any(is_han(node.text) for node in nodes)
    if counts[0].distinct and column is not None and not index.is_key(column.table, column.column):
        targets = (Measure(column),)
    elif head is not None:
        targets = tuple(Measure(known) for known in known_by(index, head, chinese=chinese))
    else:
        return None
    form = replace(previous, targets=targets, having=(), order=(), limit=None, distinct=counts[0].distinct)
    assignment = next(iter(resolve(nodes, index, near=frozenset(tables_of(previous)))), None)
    if assignment is None or not targets:
        return None
    sketch = Sketch(nodes, assignment, index, today, chinese, context=tables_of(previous))
    sketch.take(*range(len(nodes)))
    rows = semi_joined(form, index)
    return None if rows is None else _judged(rows, sketch, assignment.score)


def _judged(form: Form, sketch: Sketch, best_score: float) -> Reading | None:
    written = write(form, sketch.index, hints_of(tuple(sketch.nodes)), sketch.language)
    if written is None:
        return None
    judgement = judge(sketch, form, written, best_score)
    # What is asked for and of which table was said before.
    facts = {**judgement.facts, "targets_implied": 0.0, "no_table_named": 0.0, "rival_close": 0.0, "is_alone": 1.0}
    return Reading(form, written, sketch, judgement, judgement.rule, facts, weigh(judgement, facts))


def _read_flags(sketch: Sketch) -> None:
    """ "Only emergencies": what says yes or no of rows narrows them, it is nothing to show."""
    for place in range(len(sketch.nodes)):
        column = sketch.column(place)
        if column is not None and sketch.is_free(place) and sketch.is_flag(column):
            flagged(sketch, place, column)


def _names_groups(sketch: Sketch) -> bool:
    """Whether nothing but columns is asked for that groups can be made by."""
    plain = [measure.column for _, measure in sketch.targets if measure.aggregate is None]
    return 0 < len(plain) == len(sketch.targets) and not any(
        column is None or sketch.is_numeric(column) or sketch.kind(column) in TEMPORAL for column in plain
    )


def _says_nothing(sketch: Sketch) -> bool:
    return not any(
        (
            sketch.conditions,
            sketch.having,
            sketch.orderings,
            sketch.rankings,
            sketch.groups,
            sketch.targets,
            sketch.limit,
        )
    )


def _changed(previous: Form, sketch: Sketch, *, adds: bool) -> Form | None:
    if previous.combined is not None or sketch.absences:
        return None
    form = _grouped(previous, sketch, adds=adds)
    asked = _asked(form, sketch, adds=adds)
    if asked is None:
        return None
    form = _refigured(asked, sketch)
    _read_other_number(form, sketch)
    where = _where(form.where, read_alternatives(sketch), sketch)
    if _dates_what_lacks(form, where, sketch):
        return None
    form = _ordered(replace(form, where=where), sketch)
    for _, condition in sketch.having:
        counted = (
            condition
            if condition.left.home is not None
            else Comparison(_count(form), condition.operator, condition.right)
        )
        form = replace(form, having=(*(one for one in form.having if one.left != counted.left), counted))
    return _each_row(form, sketch.index)


def _each_row(form: Form, index: CatalogIndex) -> Form:
    """ "Who paid the most of them?": rows that are ranked by a figure of others are grouped, each by itself."""
    shown = [target.column for target in form.targets if target.column is not None and target.aggregate is None]
    if form.group or len(shown) < len(form.targets) or not any(one.by.aggregate is not None for one in form.order):
        return form
    keys = (key for column in shown for key in key_columns(index, column.table))
    return replace(form, group=tuple(dict.fromkeys((*keys, *shown))), distinct=False)


def _count(form: Form) -> Measure:
    """The figure of each group: the one that is asked for or that ranks, else a count of rows."""
    ranking = (ordering.by for ordering in form.order)
    figures = [measure for measure in (*form.targets, *ranking) if measure.aggregate is not None]
    return figures[0] if figures else Measure(aggregate=Aggregate.COUNT, table=_head(form))


def _head(form: Form) -> int | None:
    """Whose rows the form is about."""
    homes = [target.home for target in form.targets if target.home is not None]
    return homes[0] if homes else (form.everything if form.everything is not None else next(iter(form.tables), None))


def _grouped(form: Form, sketch: Sketch, *, adds: bool) -> Form:
    group, shown = read_groups_of(sketch)
    if not group:
        return form
    figures = [target for target in form.targets if target.aggregate is not None] or [_count(form)]
    old = (
        [target for target in form.targets if target.aggregate is None and target.column in form.group] if adds else []
    )
    kept = form.group if adds else ()
    order = tuple(ordering for ordering in form.order if ordering.by.aggregate is not None)
    return replace(
        form,
        targets=tuple(dict.fromkeys((*old, *(Measure(column) for column in shown), *figures))),
        group=tuple(dict.fromkeys((*kept, *group))),
        order=order,
        limit=form.limit if order else None,
        everything=None,
        distinct=False,
    )


def _asked(form: Form, sketch: Sketch, *, adds: bool) -> Form | None:
    """Return the form with what else is asked for, None where it does not go with what was asked."""
    new = [measure for _, measure in sketch.targets if measure.column is None or measure.column not in form.group]
    if not new:
        return form
    new = [replace(link, table=_head(form)) if link.column is None and link.table is None else link for link in new]
    figures = [item for item in new if item.aggregate is not None]
    plain = [target for target in form.targets if target.aggregate is None]
    if figures:
        kept = form.targets if adds else [item for item in plain if item.column in form.group]
        order = tuple(
            replace(ordering, by=figures[0]) if ordering.by.aggregate is not None else ordering
            for ordering in form.order
        )
        return replace(form, targets=tuple(dict.fromkeys((*kept, *figures))), order=order, everything=None)
    if len(plain) == len(form.targets) and not form.group:
        return replace(form, targets=tuple(dict.fromkeys((*plain, *new))))
    return None


def _refigured(form: Form, sketch: Sketch) -> Form:
    """ "And the average?": the same column, another figure."""
    places = [place for place in range(len(sketch.nodes)) if sketch.op(place) in _FIGURES and sketch.is_free(place)]
    if len(places) != 1:
        return form
    if (
        form.group
        and sketch.op(places[0]) in _ENDS
        and any(node.op is Op.SHOW or "哪" in node.text for node in sketch.nodes)
    ):
        # 最高的是哪家？: which of the groups, by the figure that they have.
        sketch.take(*places, *sketch.free_places(Op.SHOW, Op.EQUAL))
        sketch.rankings.append(Ranking(places[0], None, sketch.op(places[0]) is Op.HIGHEST, 1))
        return form
    numbers = [place for place, node in enumerate(sketch.nodes) if node.number is not None]
    if form.group and sketch.op(places[0]) in _ENDS and len(numbers) == 1:
        # "The three highest", 最高的两个: so many of the groups, by the figure that they have.
        sketch.take(*places, *numbers)
        count = int(sketch.nodes[numbers[0]].number or 1)
        sketch.rankings.append(Ranking(places[0], None, sketch.op(places[0]) is Op.HIGHEST, count))
        return form
    figure = _FIGURES[sketch.op(places[0]) or Op.SUM]
    if not any(target.aggregate is not None and target.column is not None for target in form.targets):
        return form
    sketch.take(*places)

    def other(measure: Measure) -> Measure:
        counts = measure.aggregate is None or measure.column is None or measure.distinct
        return measure if counts else replace(measure, aggregate=figure)

    sketch.targets += [(places[0], other(target)) for target in form.targets if other(target) != target]
    order = tuple(replace(ordering, by=other(ordering.by)) for ordering in form.order)
    return replace(form, targets=tuple(dict.fromkeys(other(target) for target in form.targets)), order=order)


def _read_other_number(form: Form, sketch: Sketch) -> None:
    """ "And of 5?", 低于100的呢: another number for the one figure that was compared."""
    numbers = [place for place, node in enumerate(sketch.nodes) if node.number is not None and sketch.is_free(place)]
    compared = [
        one
        for one in form.where
        if isinstance(one, Comparison) and isinstance(one.right, Literal) and sketch.is_numeric(one.left.column)
    ]
    says_more = sketch.conditions or sketch.having or sketch.rankings or sketch.groups or sketch.limit is not None
    if len(numbers) != 1 or says_more:
        return
    signs = sketch.free_places(*OPERATORS)
    number = sketch.nodes[numbers[0]].number
    if form.order:
        # "Only 3" of the first five.
        if form.limit is not None and not signs and number == int(number or 0) > 0:
            sketch.take(*numbers)
            sketch.limit = int(number or 1)
        return
    if len(compared) != 1:
        return
    operator = OPERATORS[sketch.op(signs[0]) or Op.EQUAL] if signs else compared[0].operator
    if number is not None and len(signs) <= 1:
        sketch.take(*numbers, *signs)
        stored = stored_figure(sketch, compared[0].left, numbers[0])
        other = Comparison(compared[0].left, operator, Literal(number if stored is None else stored))
        sketch.conditions.append(Placed(numbers[0], other))


def _where(old: tuple[Condition, ...], new: Sequence[Condition], sketch: Sketch) -> tuple[Condition, ...]:
    kept = list(old)
    for item in _either(new):
        condition, columns = item, _columns(item)
        times = {column for column in columns if _is_time(column, sketch)}
        if times:
            before = {column for one in kept for column in _columns(one) if _is_time(column, sketch)}
            if len(times) == 1 and len(before) == 1:
                # "Last year" speaks of the same time as the period that it replaces.
                condition = _moved(item, next(iter(times)), next(iter(before)))
            kept = [one for one in kept if not any(_is_time(column, sketch) for column in _columns(one))]
        elif not _is_negative(item):
            kept = [one for one in kept if _columns(one) != columns or _is_negative(one)]
        kept.append(condition)
    return tuple(dict.fromkeys(kept))


def _dates_what_lacks(form: Form, where: Sequence[Condition], sketch: Sketch) -> bool:
    """Whether a period is added to rows without others: "never ordered", "and in 2025?" may be about either's time."""
    lacks = any(isinstance(condition, Membership) and condition.negated for condition in form.where)
    added = [condition for condition in where if condition not in form.where]
    return lacks and any(_is_time(column, sketch) for condition in added for column in _columns(condition))


def _either(new: Sequence[Condition]) -> list[Condition]:
    """ "Only Surgery and Neurology": values of one column that are said together are alternatives."""
    result: list[Condition] = []
    for item in new:
        same = next(
            (one for one in result if _is_value(item) and _is_value(one) and _columns(one) == _columns(item)), None
        )
        if same is None:
            result.append(item)
            continue
        known = same.conditions if isinstance(same, AnyOf) else (same,)
        result[result.index(same)] = AnyOf((*known, item))
    return result


def _is_value(condition: Condition) -> bool:
    if isinstance(condition, AnyOf):
        return all(_is_value(item) for item in condition.conditions)
    return isinstance(condition, Comparison) and condition.operator is Operator.EQUAL


def _is_time(column: ColumnRef, sketch: Sketch) -> bool:
    return column.part not in RECURRING and (
        sketch.kind(column) in TEMPORAL or column in sketch.time_columns(column.table)
    )


def _is_negative(condition: Condition) -> bool:
    return isinstance(condition, Comparison) and condition.operator in {Operator.UNEQUAL, Operator.LACKS}


def _columns(condition: Condition) -> frozenset[ColumnRef]:
    return columns_of(Form(targets=(), where=(condition,)))


def _moved(condition: Condition, column: ColumnRef, target: ColumnRef) -> Condition:
    if isinstance(condition, AllOf | AnyOf):
        return replace(condition, conditions=tuple(_moved(item, column, target) for item in condition.conditions))
    if isinstance(condition, Comparison) and condition.left.column == column:
        return replace(condition, left=replace(condition.left, column=target))
    return condition


def _ordered(form: Form, sketch: Sketch) -> Form:
    bare = sketch.free_places(*_SORTING)
    figures = [target for target in form.targets if target.aggregate is not None]
    if bare and form.group and len(figures) == 1 and not sketch.orderings and not sketch.rankings:
        # "Highest first", 从高到低排序: by the one figure that there is.
        sketch.take(*bare)
        is_up = any(sketch.op(place) is Op.ASCENDING for place in bare)
        sketch.orderings = [Ordering(figures[0], descending=not is_up)]
    asked = [
        replace(ordering, by=_count(form)) if ordering.by.aggregate is Aggregate.COUNT else ordering
        for ordering in sketch.orderings
    ]
    order = order_of_groups(sketch, asked, list(form.group), figures)
    if order and (asked or not form.order):
        form = replace(form, order=tuple(order))
    has_number = any(node.number is not None for node in sketch.nodes)
    for ranking in sketch.rankings[:1]:
        by = ranking.by if ranking.by is not None and ranking.by.column is not None else _count(form)
        # "The ten oldest", "and the youngest?": as many as before, where no number is said.
        limit = ranking.count if has_number or form.limit is None else form.limit
        order = order_of_groups(sketch, [Ordering(by, ranking.descending)], list(form.group), figures)
        form = replace(form, order=tuple(order), limit=limit)
    if sketch.limit is not None:
        figures = [target for target in form.targets if target.aggregate is not None]
        if not form.order and form.group and figures:
            form = replace(form, order=(Ordering(figures[0], descending=True),))
        form = replace(form, limit=sketch.limit)
    return form
