"""Readings that count, or group, what nobody asked for: each rule says of one kind of them whether a reading is of it."""

from __future__ import annotations

from typing import Final

from querybus.core.catalog import ColumnKind
from querybus.text.labels import flag_values
from querybus_translator.answers.whole import Rule, Whole
from querybus_translator.language.lexicon import POSSESSIVES, Op, lexicon
from querybus_translator.language.stems import base_form
from querybus_translator.readers.figures.amounts import MONEY_ROWS, MONEY_ROWS_ZH, SUMS_OF_MONEY
from querybus_translator.schema.labels import key_columns, labels
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import (
    Aggregate,
    ColumnRef,
    Comparison,
    Literal,
    Measure,
    Membership,
    Operator,
    columns_of,
    tables_of,
)


def counts_itself(whole: Whole) -> bool:
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


def counts_the_one(whole: Whole) -> bool:
    """ "Hotels with 5 star ratings": of what each row has one of, there are no five."""
    form, sketch = whole.form, whole.sketch
    homes = {target.home for target in form.targets if target.aggregate is None}
    graph = sketch.index.graph
    for item in form.having:
        counted = item.left.table if item.left.aggregate is Aggregate.COUNT and item.left.column is None else None
        for home in homes:
            if counted is None or home is None or home == counted:
                continue
            if graph.path((home,), counted) and not graph.is_many(home, counted):
                return True
    return False


def counts_the_fixed(whole: Whole) -> bool:
    """Whether different keys are counted of rows that all refer to the one that is named: always one."""
    form, index = whole.form, whole.sketch.index
    counted = [target.column for target in form.targets if target.aggregate is Aggregate.COUNT and target.distinct]
    named = {
        condition.left.column.table
        for condition in form.where
        if isinstance(condition, Comparison)
        and condition.operator is Operator.EQUAL
        and condition.left.column is not None
        and condition.left.column in labels(index, condition.left.column.table)
    }
    return not form.group and any(
        column is not None
        and edge.source == column.table
        and edge.target in named
        and edge.source_columns == (index.column(column.table, column.column).name,)
        for column in counted
        for edge in (index.graph.edges_of(column.table) if column is not None else ())
    )


def groups_unasked(whole: Whole) -> bool:
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


def sums_each_once(whole: Whole) -> bool:
    """ "The total monthly fee of active subscriptions": so much for each of them, and not for each plan that one of them has."""
    sketch, graph = whole.sketch, whole.sketch.index.graph
    summed = {target.home for target in whole.form.targets if target.aggregate is Aggregate.SUM}
    for place, node in enumerate(sketch.nodes):
        column = sketch.column(place)
        behind = sketch.nodes[place + 1].text.lower() if place + 1 < len(sketch.nodes) else ""
        if column is None or node.kind is not NodeKind.LINK or column.table not in summed or behind != "of":
            continue
        rows = next(
            (found for at in range(place + 2, len(sketch.nodes)) if (found := sketch.table(at)) is not None), None
        )
        way = graph.path((rows,), column.table) if rows is not None and rows != column.table else ()
        if way and all(edge.to_one and edge.target != rows for edge in way) and rows not in tables_of(whole.form):
            return True
    return False


def counts_mass(whole: Whole) -> bool:
    """ "Total stock", "the most stock": so much of it, and not how many rows hold some."""
    figures = [*whole.form.targets, *(ordering.by for ordering in whole.form.order)]
    counted = {item.table for item in figures if item.aggregate is Aggregate.COUNT and item.column is None}
    said = [node.text.lower() for node in whole.sketch.nodes]
    return not whole.sketch.chinese and any(
        whole.sketch.table(place) in counted
        and (
            word in SUMS_OF_MONEY
            or (word in _MASSES and whole.sketch.op(max(place - 1, 0)) in (Op.SUM, Op.MOST, Op.FEWEST))
        )
        for place, word in enumerate(said)
    )


def counts_money(whole: Whole) -> bool:
    """ "Average payment per member", 缴费最多的学生: how much it was, and not how often."""
    figures = [*whole.form.targets, *(ordering.by for ordering in whole.form.order)]
    counted = {
        item.table for item in figures if item.aggregate in (Aggregate.COUNT, Aggregate.RATE) and item.table is not None
    }
    weighs = any(node.op in (Op.AVERAGE, Op.MOST, Op.FEWEST) for node in whole.sketch.nodes)
    return weighs and any(
        whole.sketch.table(place) in counted and _is_money(node.text.lower())
        for place, node in enumerate(whole.sketch.nodes)
    )


def _is_money(word: str) -> bool:
    return word.endswith(MONEY_ROWS_ZH) or word in MONEY_ROWS


def counts_by_amount(whole: Whole) -> bool:
    """ "Cost of trainings per provider": how many rows have each price is what nobody asks for."""
    counts = any(
        node.op in (Op.COUNT, Op.COUNT_KINDS, Op.MOST, Op.FEWEST, Op.COMMON, Op.SHARE) for node in whole.sketch.nodes
    )
    is_counted = not counts and any(target.aggregate is Aggregate.COUNT for target in whole.form.targets)
    return (is_counted or any(target.aggregate is Aggregate.SHARE for target in whole.form.targets)) and any(
        whole.sketch.kind(column) is ColumnKind.NUMBER and not whole.sketch.is_key(column)
        for column in whole.form.group
    )


def counts_others(whole: Whole) -> bool:
    """ "How many people can attend HIIT?": what is counted has a name, and nothing that is counted is called so."""
    return not whole.sketch.chinese and any(
        whole.sketch.op(place) is Op.UNIT
        and not whole.sketch.taken[place]
        and whole.sketch.op(place - 1) in (Op.COUNT, Op.COUNT_KINDS)
        for place in range(1, len(whole.sketch.nodes))
    )


def counts_the_unread(whole: Whole) -> bool:
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


_MASSES = frozenset({"stock", "inventory", "consumption", "output", "production", "waste"})
_SHORT_STOPS: Final = frozenset({"is", "was", "has", "does", "its", "this", "his", "us", "theirs", "exists", "times"})
_OF_WHOM: Final = frozenset({"for", "of", "by", "from", "with"})


def one_for_each(whole: Whole) -> bool:
    """Return whether one row in all was read where each group has its own: "the youngest of each class", "parks and their longest trail"."""
    form, nodes = whole.form, whole.sketch.nodes
    if form.limit != 1 or not form.order or form.order[0].by.aggregate is not None:
        return False
    places = {ranking.place for ranking in whole.sketch.rankings}
    theirs = (set(node.text.lower().split()) & POSSESSIVES for node in nodes)
    return any(node.op is Op.EACH for node in nodes) or any(
        said and {place + 1, place + 2} & places for place, said in enumerate(theirs)
    )


def leaves_deed_out(whole: Whole) -> bool:
    """ "Which agent sold most properties", where a flag of the properties says which are sold: the others count as well."""
    index, used = whole.sketch.index, columns_of(whole.form)
    verbs = {node.text.lower() for node in whole.sketch.nodes if node.kind is NodeKind.STOP} & lexicon().verbs
    done = {base_form(verb) for verb in verbs} | verbs
    counted = {item.table for item in whole.form.targets if item.aggregate is Aggregate.COUNT}
    counted |= {item.by.table for item in whole.form.order if item.by.aggregate is Aggregate.COUNT}
    return any(
        ColumnRef(table, number) not in used
        and flag_values(column) is not None
        and any(
            name[0] in _FLAG_LEADS and len(name) == 2 and name[1] in done
            for name in index.entry_of_column(table, number).names
        )
        for table in counted
        if table is not None
        for number, column in enumerate(index.table(table).columns)
    )


_FLAG_LEADS: Final = frozenset({"is", "was", "has"})


def counts_to_a_fraction(whole: Whole) -> bool:
    """Whether rows are counted against 1.85: there are no parts of rows."""
    within = [one.form for one in whole.form.where if isinstance(one, Membership)]
    return any(
        item.left.aggregate is Aggregate.COUNT
        and isinstance(item.right, Literal)
        and isinstance(item.right.value, float)
        and not item.right.value.is_integer()
        for form in (whole.form, *within)
        for item in form.having
    )


def takes_one_for_all(whole: Whole) -> bool:
    """ "Which buildings cost more than 1000 in repairs": what all of theirs come to is asked for, and not whether one does."""
    sketch = whole.sketch
    for place, node in enumerate(sketch.nodes):
        if node.text.lower() not in _COMING_TO or sketch.op(sketch.after(place)) not in _BOUNDS:
            continue
        rows, column = sketch.table(sketch.before(place)), sketch.column(place)
        if rows is None or column is None or column.table == rows:
            continue
        within = [one.form for one in whole.form.where if isinstance(one, Membership)]
        if any(
            isinstance(one, Comparison) and one.left == Measure(column)
            for form in (whole.form, *within)
            for one in form.where
        ):
            return True
    return False


_COMING_TO: Final = frozenset({"cost", "costs", "charge", "charges", "charged", "earn", "earns", "spend", "spends"})
_BOUNDS: Final = frozenset({Op.GREATER, Op.AT_LEAST, Op.LESS, Op.AT_MOST, Op.BETWEEN})


MISCOUNTS: Final[tuple[Rule, ...]] = (
    counts_by_amount,
    counts_itself,
    counts_mass,
    counts_money,
    counts_others,
    counts_the_fixed,
    counts_the_one,
    counts_the_unread,
    counts_to_a_fraction,
    groups_unasked,
    leaves_deed_out,
    one_for_each,
    sums_each_once,
    takes_one_for_all,
)
