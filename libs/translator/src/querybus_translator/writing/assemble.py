"""The parts of a sketch become one logical form.

Here it is decided which rows the question is about (the anchor), what its groups are, and how conditions combine:
alternatives, things that hold at the same time, and the rest together.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Final

from querybus.core.catalog import ColumnKind
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.readers.absences import read_absences
from querybus_translator.readers.conditions import read_conditions
from querybus_translator.readers.deeds import doers, read_verbs_of_doers
from querybus_translator.readers.figures.payments import read_payments
from querybus_translator.readers.figures.stocks import read_low_stocks
from querybus_translator.readers.groups import read_groups
from querybus_translator.readers.kinds import listed_kind, read_compounds, read_kinds, read_rows_by_name
from querybus_translator.readers.orders import read_orders
from querybus_translator.readers.rankings import read_rankings
from querybus_translator.readers.targets import read_targets
from querybus_translator.readers.time.compared import read_compared_periods
from querybus_translator.readers.time.durations import read_durations, read_lengths
from querybus_translator.readers.time.states import read_states
from querybus_translator.schema.labels import (
    key_columns,
    known_by,
    labels,
)
from querybus_translator.schema.phrases import hints_of
from querybus_translator.writing.alternatives import of_two_rows, read_alternatives
from querybus_translator.writing.attributes import read_attributes
from querybus_translator.writing.contradictions import excludes
from querybus_translator.writing.doers import who_did_most, who_never
from querybus_translator.writing.equal_keys import names_beside
from querybus_translator.writing.form import (
    Aggregate,
    AllOf,
    AnyOf,
    ColumnRef,
    Combination,
    Comparison,
    Condition,
    Form,
    Literal,
    Measure,
    Ordering,
    condition_tables,
)
from querybus_translator.writing.group_order import asked_which, by_figure, order_of_groups, wants_lines, without_empty
from querybus_translator.writing.ranked import (
    as_done,
    behind_the_first,
    compared_with_first,
    count_themselves,
    doubts_of_ranking,
    ranked_by,
    ranked_by_their_number,
)
from querybus_translator.writing.roles_played import (
    belonging,
    read_conditions_of_roles,
    read_roles_played,
    rows_of_purchase,
)
from querybus_translator.writing.semijoins import (
    are_rows_themselves,
    of_each_kind,
    of_their_groups,
    semi_joined,
    without_other,
)
from querybus_translator.writing.sketch import TEMPORAL, Sketch


def assemble(sketch: Sketch) -> Form | None:
    """Read the whole sketch and return its form, or None if nothing is asked for."""
    read_compounds(sketch)
    read_verbs_of_doers(sketch)
    read_rows_by_name(sketch)
    read_kinds(sketch)
    read_durations(sketch)
    read_lengths(sketch)
    read_rankings(sketch)
    read_payments(sketch)
    read_states(sketch)
    read_low_stocks(sketch)
    read_conditions(sketch)
    read_conditions_of_roles(sketch)
    read_orders(sketch)
    read_attributes(sketch)
    read_groups(sketch)
    read_targets(sketch)
    read_compared_periods(sketch)
    anchor = listed_kind(sketch, _anchor(sketch))
    if anchor is None:
        return None
    anchor = sketch.anchor = who_did_most(sketch, who_never(sketch, anchor))
    anchor = sketch.anchor = _with_its_keys(sketch, anchor)
    read_roles_played(sketch, anchor)
    read_absences(sketch, anchor)
    ranked_by_their_number(sketch, sketch.anchor)
    # Where a value lacks rows, it is asked for in all the rows that bear it.
    return _form(sketch, sketch.anchor)


def _with_its_keys(sketch: Sketch, anchor: int) -> int:
    """ "Which event ids have no participant called ...": of all events, and not of the rows that bring the two together."""
    column = sketch.targets[0][1].column if len(sketch.targets) == 1 and sketch.free_places(Op.NOT) else None
    own = sketch.index.table(anchor).primary_key
    if column is None or column.table != anchor or sketch.targets[0][1].aggregate is not None or len(own) == 1:
        return anchor
    name = sketch.index.column(anchor, column.column).name
    for edge in sketch.index.graph.edges_of(anchor):
        key = key_columns(sketch.index, edge.target)
        if edge.source == anchor and edge.source_columns == (name,) and edge.to_one and len(key) == 1:
            sketch.targets = [(sketch.targets[0][0], Measure(key[0]))]
            return edge.target
    return anchor


def _anchor(sketch: Sketch) -> int | None:
    if sketch.anchor is not None:
        return sketch.anchor
    if sketch.everything is not None:
        return sketch.everything
    grouped = {place for place, group in sketch.groups if isinstance(group, int)}
    counted = {ranking.counted for ranking in sketch.rankings}
    if sketch.chinese:
        head = _chinese_head(sketch, grouped, counted)
        if head is not None:
            return head
    shown = {place for place, measure in sketch.targets if measure.aggregate is None}
    denied = next(iter(sketch.free_places(Op.NOT)), len(sketch.nodes))
    for place in range(len(sketch.nodes)):
        if place > denied and any(where < denied for where in shown):
            # "Which event ids have no participant called ...": of the events, and not of whom they lack.
            break
        table = sketch.table(place)
        pick = sketch.pick(place)
        if pick is not None and pick.with_table and place in shown:
            return pick.table
        if table is not None and not sketch.taken[place] and place not in grouped and table not in counted:
            return table
    plain = [measure.home for _, measure in sketch.targets if measure.home is not None]
    if plain:
        return plain[0]
    for _, group in sketch.groups:
        return group if isinstance(group, int) else group.table
    compared = [table for placed in sketch.conditions for table in condition_tables(placed.condition)]
    ranked = [ranking.by.home for ranking in sketch.rankings if ranking.by is not None]
    return next((table for table in (*sketch.mentioned_tables(), *compared, *ranked) if table is not None), None)


def _chinese_head(sketch: Sketch, grouped: set[int], counted: set[int | None]) -> int | None:
    """In Chinese what is described stands last: 没有订单的客户 asks about customers. 哪些客户没有订单 says it at once."""
    plain = [measure.home for _, measure in sketch.targets if measure.home is not None]
    if plain:
        return plain[0]
    which = asked_which(sketch)
    if which is not None and which not in grouped and sketch.table(which) not in counted:
        return sketch.table(which)
    free = [
        place
        for place in range(len(sketch.nodes))
        if sketch.table(place) is not None
        and not sketch.taken[place]
        and place not in grouped
        and sketch.table(place) not in counted
    ]
    return sketch.table(free[-1]) if free else None


def _form(sketch: Sketch, anchor: int) -> Form | None:
    tables = _kept_tables(sketch, anchor)
    group, shown = read_groups_of(sketch)
    targets = [_counting(measure, anchor) for _, measure in sketch.targets]
    having = tuple(_counting_in(condition, anchor) for _, condition in sketch.having)
    plain = [target for target in targets if target.aggregate is None]
    figures = [target for target in targets if target.aggregate is not None]
    order = [Ordering(_counting(ordering.by, anchor), ordering.descending) for ordering in sketch.orderings]
    limit = sketch.limit
    for ranking in (as_done(sketch, anchor, one) for one in sketch.rankings[:1]):
        by = ranked_by(sketch, anchor, ranking, tables)
        sketch.absences += behind_the_first(sketch, ranking, by)
        instead = compared_with_first(sketch, anchor, ranking, by, targets)
        if instead is not None:
            sketch.absences.append((ranking.place, instead))
            continue
        sketch.doubts += doubts_of_ranking(sketch, anchor, ranking, by, targets, len(tables), is_grouped=bool(group))
        order = [Ordering(_counting(by, anchor), ranking.descending)]
        limit = ranking.count if ranking.count > 1 or sketch.limit is None else sketch.limit
        if ranking.grouped is not None:
            refs, names = _group_of(sketch, ranking.grouped, has_columns=bool(plain))
            group += [ref for ref in refs if ref not in group]
            if not plain:
                shown += names
    sketch.doubts += 1.0 if not targets and not group and count_themselves(having, anchor, tables) else 0.0
    named = [_named(sketch, place, target) for (place, _), target in zip(sketch.targets, targets, strict=True)]
    targets = _without_echoes(sketch, named)
    plain = [target for target in targets if target.aggregate is None]
    counts_rows = having or any(ordering.by.aggregate is not None for ordering in order)
    if not targets and sketch.everything is None and not shown:
        plain = _known_by(sketch, anchor)
        if not plain:
            return None
        targets = list(plain)
    targets = [*names_beside(sketch.index, shown, plain), *targets]
    plain = [target for target in targets if target.aggregate is None and target.column is not None]
    sketch.doubts += 1.0 if figures and not plain and not group and wants_lines(sketch, order) else 0.0
    if (figures or counts_rows) and plain and not group:
        measured = [*(ordering.by for ordering in order), *(comparison.left for comparison in having)]
        group = _implied_group(sketch, anchor, plain, measured)
    elif group:
        group += [item.column for item in plain if item.column is not None and item.column not in group]
    order = order_of_groups(sketch, order, group, figures)
    parted = _parted(sketch, targets, is_grouped=bool(group))
    if parted is None:
        return None
    form = Form(
        targets=tuple(dict.fromkeys(parted[0])),
        tables=tuple(tables),
        where=parted[1],
        group=tuple(dict.fromkeys(group)),
        having=having,
        order=tuple(order) or by_figure(targets, limit if group else None),
        limit=limit,
        distinct=sketch.distinct and not group and all(target.aggregate is None for target in targets),
        everything=sketch.everything if not targets else None,
        near=belonging(sketch),
    )
    form = _combined(sketch, of_their_groups(without_empty(form, sketch.index), sketch.index))
    return form if form.combined is not None else semi_joined(form, sketch.index, hints_of(sketch.nodes))


def _parted(
    sketch: Sketch, targets: list[Measure], *, is_grouped: bool
) -> tuple[tuple[Measure, ...], tuple[Condition, ...]] | None:
    """Of what holds, find what a share is of: the one condition that is no period. None where that is not certain.

    Without any, a group's share of all rows is meant.
    """
    where = [*read_alternatives(sketch), *(membership for _, membership in sketch.absences)]
    if all(target.aggregate is not Aggregate.SHARE for target in targets):
        return tuple(targets), tuple(where)
    if not sketch.groups and any(target.aggregate is None and sketch.is_numeric(target.column) for target in targets):
        # "What percentage of the price are novels": of a figure it is no share of rows.
        return None
    open_conditions = [condition for condition in where if not _is_period(sketch, condition)]
    if len(open_conditions) > 1 or (not open_conditions and not is_grouped):
        return None
    share_of = open_conditions[0] if open_conditions else None
    shares = (
        replace(target, share_of=share_of) if target.aggregate is Aggregate.SHARE else target for target in targets
    )
    return tuple(shares), tuple(condition for condition in where if condition is not share_of)


def _is_period(sketch: Sketch, condition: Condition) -> bool:
    if isinstance(condition, AnyOf | AllOf):
        return all(_is_period(sketch, item) for item in condition.conditions)
    # What has no day of payment is unpaid, and no period.
    is_empty = isinstance(condition, Comparison) and (condition.right is None or isinstance(condition.right, ColumnRef))
    column = condition.left.column if isinstance(condition, Comparison) else None
    return column is not None and sketch.kind(column) in TEMPORAL and not is_empty


def _named(sketch: Sketch, place: int, measure: Measure) -> Measure:
    """Whoever asks for an order's customer wants the name, not the number that the key column holds."""
    if measure.aggregate is not None or measure.column is None:
        return measure
    named = _referred_label(sketch, place, measure.column)
    return Measure(named) if named is not None else measure


def _referred_label(sketch: Sketch, place: int, column: ColumnRef) -> ColumnRef | None:
    own = sketch.index.column(column.table, column.column)
    words = lexicon().key_words
    asked = sketch.nodes[place].text.lower()
    if own.kind is not ColumnKind.INTEGER or not own.display_names or any(word in asked for word in (*words, "number")):
        return None
    for edge in sketch.index.graph.edges_of(column.table):
        if edge.source == column.table and edge.source_columns == (own.name,) and edge.target != column.table:
            result = labels(sketch.index, edge.target, chinese=sketch.chinese)
            if result and sketch.kind(result[0]) is ColumnKind.TEXT:
                return result[0]
    return None


def _said_of_key(sketch: Sketch, place: int, column: ColumnRef) -> ColumnRef | None:
    """ "Tips by waiter", where a key says who the waiter was: the name of what it refers to."""
    words = sketch.nodes[place].text.lower().split()
    own = sketch.index.column(column.table, column.column)
    if len(words) != 1 or sketch.chinese or own.kind is not ColumnKind.INTEGER or words[0] in lexicon().key_words:
        return None
    for edge in sketch.index.graph.edges_of(column.table):
        if edge.source == column.table and edge.source_columns == (own.name,) and edge.target != column.table:
            result = labels(sketch.index, edge.target)
            if len(result) == 1 and sketch.kind(result[0]) is ColumnKind.TEXT:
                return result[0]
    return None


def _without_echoes(sketch: Sketch, targets: list[Measure]) -> list[Measure]:
    """Both ends of a key are the same value: one of them is enough."""
    measures: list[Measure] = []
    for target in targets:
        if (
            target.column is not None
            and target.aggregate is None
            and any(_same_key(sketch, target.column, one) for one in measures)
        ):
            continue
        measures.append(target)
    return measures


def _same_key(sketch: Sketch, column: ColumnRef, shown: Measure) -> bool:
    other = shown.column
    if other is None or shown.aggregate is not None or other.table == column.table:
        return False
    names = {
        column.table: sketch.index.column(column.table, column.column).name,
        other.table: sketch.index.column(other.table, other.column).name,
    }
    return any(
        edge.source_columns == (names[edge.source],) and edge.target_columns == (names[edge.target],)
        for edge in sketch.index.graph.between(column.table, other.table)
    )


def _kept_tables(sketch: Sketch, anchor: int) -> list[int]:
    result: dict[int, None] = {anchor: None}
    for place in sorted(sketch.assignment.picks):
        table = sketch.table(place)
        if table is not None and table not in sketch.hidden_tables:
            result.setdefault(table)
            sketch.take(place)
    bought = rows_of_purchase(sketch)
    return list(result) if bought is None else [*result, bought]


def _counting(measure: Measure, anchor: int) -> Measure:
    if measure.aggregate is Aggregate.COUNT and measure.column is None and measure.table is None:
        return Measure(aggregate=Aggregate.COUNT, table=anchor)
    return measure


def _counting_in(comparison: Comparison, anchor: int) -> Comparison:
    return Comparison(_counting(comparison.left, anchor), comparison.operator, comparison.right)


def _known_by(sketch: Sketch, table: int) -> list[Measure]:
    columns = doers(sketch, table) or _named_elsewhere(sketch, table)
    columns = columns or known_by(sketch.index, table, chinese=sketch.chinese)
    sketch.beside = len(columns) - len(labels(sketch.index, table, chinese=sketch.chinese))
    return [Measure(column) for column in columns]


def _named_elsewhere(sketch: Sketch, table: int) -> tuple[ColumnRef, ...]:
    """A gymnast without a name of its own is called as the person who the gymnast is."""
    if labels(sketch.index, table) != key_columns(sketch.index, table):
        return ()
    named = [labels(sketch.index, other) for other in sketch.same_rows(table)]
    return named[0] if len(named) == 1 and named[0] != key_columns(sketch.index, named[0][0].table) else ()


def read_groups_of(sketch: Sketch) -> tuple[list[ColumnRef], list[ColumnRef]]:
    """Return the columns to group by, and those of them to show."""
    group: list[ColumnRef] = []
    shown: list[ColumnRef] = []
    for _, item in sketch.groups:
        if isinstance(item, int) and _is_own(sketch, item):
            continue
        has_columns = not isinstance(item, int) or any(
            measure.aggregate is None and measure.home == item for _, measure in sketch.targets
        )
        refs, names = _group_of(sketch, item, has_columns=has_columns)
        group += [ref for ref in refs if ref not in group]
        shown += [ref for ref in names if ref not in shown]
    return group, shown


def _is_own(sketch: Sketch, table: int) -> bool:
    """ "The average price of every product": each row is its own group, so there is none."""
    figures = [measure for _, measure in sketch.targets if measure.aggregate is not None]
    return (
        bool(figures)
        and all(measure.aggregate in _OF_ALL_ROWS and measure.home == table for measure in figures)
        and not sketch.rankings
        and not sketch.orderings
    )


_OF_ALL_ROWS: Final = frozenset({Aggregate.AVERAGE, Aggregate.MINIMUM, Aggregate.MAXIMUM})


def _group_of(sketch: Sketch, group: ColumnRef | int, *, has_columns: bool) -> tuple[list[ColumnRef], list[ColumnRef]]:
    if isinstance(group, ColumnRef):
        named_by = next(
            (_referred_label(sketch, place, group) for place, other in sketch.groups if other == group), None
        )
        if named_by is not None:
            return [named_by], [named_by]
        named_by = next((_said_of_key(sketch, place, group) for place, other in sketch.groups if other == group), None)
        if named_by is not None:
            return [group, named_by], [named_by]
        return [group], [group]
    key = list(key_columns(sketch.index, group))
    named = [] if has_columns else list(labels(sketch.index, group, chinese=sketch.chinese))
    return [*key, *(name for name in named if name not in key)], named


def _implied_group(sketch: Sketch, anchor: int, plain: list[Measure], measured: list[Measure]) -> list[ColumnRef]:
    columns = [item.column for item in plain if item.column is not None]
    tables = {column.table for column in columns}
    key = key_columns(sketch.index, columns[0].table)
    others = {*sketch.mentioned_tables(), *(item.home for item in measured if item.home is not None)} - tables
    # Two members of the same name are two, also where what they have is counted.
    is_of_rows = columns[0].table == anchor or columns[0] in labels(sketch.index, columns[0].table)
    if len(tables) == 1 and key and others and is_of_rows:
        return columns if _is_shared(sketch, anchor, columns) else [*key, *columns]
    return columns


def _is_shared(sketch: Sketch, anchor: int, columns: list[ColumnRef]) -> bool:
    """ "The 3 channels with the highest revenue", "which city's clubs have the most runners": many of the rows share what is asked for."""
    if len(columns) != 1 or columns[0] in {*labels(sketch.index, anchor), *key_columns(sketch.index, anchor)}:
        return False
    if any(
        node.text.lower() in _HAVING and sketch.column(place - 1) == columns[0]
        for place, node in enumerate(sketch.nodes[:_HEAD_MAX])
        if place
    ):
        return True
    picks = sketch.assignment.picks.values()
    # "Which critic reviewed the most movies" speaks of no reviews.
    spoken = (pick for pick in picks if pick.table == anchor and pick.score >= _NOUN_MIN)
    return not any(pick.column is None or pick.with_table for pick in spoken)


_HAVING: Final = frozenset({"'s", "’s", "has", "have", "had"})
_HEAD_MAX: Final = 4
_NOUN_MIN: Final = 0.95


def _combined(sketch: Sketch, form: Form) -> Form:
    """Two values of one column at the same time: rows of the one and rows of the other, what they share."""
    is_list = not (form.group or form.order or form.limit is not None or any(one.aggregate for one in form.targets))
    two = of_two_rows(sketch, form)
    sketch.doubts += 1.0 if two is not None and not is_list else 0.0
    if two is not None and is_list:
        sketch.take(*sketch.free_places(Op.BOTH))
        first, second = (_replaced(form, (condition,)) for condition in two)
        return replace(first, combined=(Combination.BOTH, second))
    equal: dict[ColumnRef, list[Comparison]] = {}
    for condition in form.where:
        if (
            isinstance(condition, Comparison)
            and condition.left.column is not None
            and isinstance(condition.right, Literal)
        ):
            equal.setdefault(condition.left.column, []).append(condition)
    for comparisons in equal.values():
        without = without_other(form, sketch.index, comparisons)
        if without is not None:
            return without
        if len(comparisons) < 2 or not all(excludes(one, other) for one, other in pairwise(comparisons)):
            continue
        rest = tuple(condition for condition in form.where if condition not in comparisons)
        has_both = any(node.op is Op.BOTH for node in sketch.nodes)
        if not has_both and are_rows_themselves(form, sketch.index, comparisons):
            return replace(form, where=(*rest, AnyOf(tuple(comparisons))))
        if len(comparisons) > 2:
            sketch.doubts += 1.0
            continue
        of_each = of_each_kind(form, comparisons, rest)
        if of_each is not None:
            return of_each
        if form.group or form.order or form.limit is not None or any(target.aggregate for target in form.targets):
            sketch.doubts += 0.4
            return form
        for place in sketch.free_places(Op.BOTH):
            sketch.take(place)
        if not has_both:
            sketch.doubts += 0.08
        first = _replaced(form, (*rest, comparisons[0]))
        second = _replaced(form, (*rest, comparisons[1]))
        return replace(first, combined=(Combination.BOTH, second))
    return form


def _replaced(form: Form, where: tuple[Condition, ...]) -> Form:
    return Form(targets=form.targets, tables=form.tables, where=where, everything=form.everything)
