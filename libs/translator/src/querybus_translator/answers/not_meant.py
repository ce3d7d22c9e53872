"""Readings that look whole and are not what was asked: each rule says of one kind of them whether a reading is of it.

Nothing is weighed here: a reading that one of these holds of is asked about. A rule that costs right answers to questions of
`make bench-translator` says too much.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from querybus.core.catalog import ColumnKind
from querybus_translator.answers.miscounts import MISCOUNTS
from querybus_translator.answers.misnamed import MISNAMED
from querybus_translator.answers.whole import Rule, Whole, columns_said
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.stems import stem
from querybus_translator.schema.labels import key_columns, labels
from querybus_translator.schema.other_names import doers_of
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import (
    Aggregate,
    AllOf,
    AnyOf,
    ColumnRef,
    Comparison,
    Condition,
    Form,
    Literal,
    Membership,
    Operator,
    condition_tables,
    tables_of,
)
from querybus_translator.writing.sketch import TEMPORAL
from querybus_translator.writing.write import columns_named


def _joins_strangers(whole: Whole) -> bool:
    """Whether tables are joined that have nothing in common but that both refer to a third, which nobody spoke of."""
    return whole.written.hubs > 0


def _shares_with_nobody(whole: Whole) -> bool:
    """Whether "the same city" was passed over: with whom it is shared is not said, or was not read."""
    is_said = any(node.text.lower() == "same" for node in whole.sketch.nodes)
    return is_said and not any(
        isinstance(condition, Membership) and [target.column for target in condition.form.targets] == [condition.left]
        for condition in (*whole.form.where, *(placed.condition for placed in whole.sketch.conditions))
    )


def _lacks_in_common(whole: Whole) -> bool:
    """Whether rows are denied that share the column asked for, and no key: "countries with customers but no suppliers"."""
    sketch, columns = whole.sketch, [target.column for target in whole.form.targets]
    if len(columns) != 1 or columns[0] is None or not any(isinstance(item, Membership) for item in whole.form.where):
        return False
    home, index = columns[0].table, sketch.index
    name = index.column(home, columns[0].column).name
    denies = any(node.op is Op.NOT or "no" in node.text.lower().split() for node in sketch.nodes)
    return (
        denies
        and columns[0] not in {*labels(index, home), *key_columns(index, home)}
        and any(
            table != home
            and not index.graph.between(home, table)
            and any(column.name == name for column in index.table(table).columns)
            for table in sketch.mentioned_tables()
        )
    )


def _denies_half(whole: Whole) -> bool:
    """Whether only a part of what is denied was: "never played on the Main Stage", read as never played, and been on it."""
    sketch = whole.sketch
    denied = max((place for place, node in enumerate(sketch.nodes) if node.op is Op.NOT), default=len(sketch.nodes))
    found = [item for item in whole.form.where if isinstance(item, Membership)]
    without = {table for item in found if item.negated for table in tables_of(item.form)}
    beside = {
        (condition.left.column, condition.right.value)
        for item in found
        if not item.negated and without.intersection(tables_of(item.form))
        for condition in item.form.where
        if isinstance(condition, Comparison) and isinstance(condition.right, Literal)
    }
    for place in range(denied + 1, len(sketch.nodes)):
        if sketch.op(place) is Op.AND or sketch.nodes[place].text.lower() in {"but", ","}:
            return False
        value = sketch.value(place)
        if value is None or value.column is None:
            continue
        if (ColumnRef(value.table, value.column), value.value) in beside:
            return True
    return False


def _averages_all(whole: Whole) -> bool:
    """Whether each row was compared with the average of all, though its own group is meant: "the average of their store"."""
    nodes = whole.sketch.nodes
    compares = any(
        isinstance(item, Comparison)
        and isinstance(item.right, Form)
        and any(target.aggregate is Aggregate.AVERAGE for target in item.right.targets)
        for item in whole.form.where
    )
    said = [node.text.lower() for node in nodes]
    return compares and any(
        one in {"of", "in", "for", "within"} and other in {"their", "its", "his", "her", "the same"}
        for one, other in pairwise(said[next((at for at, node in enumerate(nodes) if node.op is Op.AVERAGE), 0) :])
    )


def _ranks_one(whole: Whole) -> bool:
    """Whether several of one row are asked for: "the top five" of one sum over all."""
    return (
        whole.form.limit is not None
        and whole.form.limit > 1
        and not whole.form.group
        and bool(whole.form.targets)
        and all(target.aggregate is not None for target in whole.form.targets)
    )


def _echoes(whole: Whole) -> bool:
    """Whether nothing is shown but what was said: "who teaches Power Yoga?" is not answered by "Power Yoga"."""
    said = columns_said(whole.form)
    shown = [target.column for target in whole.form.targets]
    is_bare = bool(shown) and not whole.form.group and all(target.aggregate is None for target in whole.form.targets)
    is_named = any(whole.sketch.table(place) is not None for place in range(len(whole.sketch.nodes)))
    does = any(node.kind is NodeKind.STOP and node.text.lower() in lexicon().verbs for node in whole.sketch.nodes)
    # "What do we buy from Supplier A?" is not answered by Supplier A either.
    repeats = any(column in said for column in shown) if does else all(column in said for column in shown)
    return is_bare and repeats and not is_named


def _leaves_out(whole: Whole) -> bool:
    """ "The titles and ratings of films": of what is listed beside the columns asked for nothing is shown."""
    sketch, form = whole.sketch, whole.form
    shown = {target.home for target in form.targets} | {column.table for column in form.group}
    asked = {place for place, _ in sketch.targets}
    for place in range(len(sketch.nodes)):
        table, joint = sketch.table(place), sketch.before(place)
        if table is None or joint is None or table in shown or not sketch.asked[place]:
            continue
        behind = sketch.after(place)
        if sketch.op(joint) is Op.SHOW and sketch.op(behind) is Op.AND and sketch.after(behind) in asked:
            # "The makers and models".
            return True
        # "... with the highest rating, and what are those ratings?"
        is_again = (
            sketch.op(joint) is Op.SHOW and joint > 0 and (form.limit is not None or min(asked, default=joint) < joint)
        )
        is_beside = sketch.op(joint) is Op.AND and joint == place - 1 and sketch.before(joint) in asked
        is_beside = is_beside or (sketch.chinese and sketch.op(joint) is Op.TO and sketch.before(joint) in asked)
        if is_again or is_beside:
            return True
    return False


def _groups_one(whole: Whole) -> bool:
    """ "By electric and non-electric bikes": groups of what a condition leaves one value of compare nothing."""
    # A follow-up such as "only Freya" keeps the groups that were asked for before.
    return (
        len(whole.form.group) == 1
        and not whole.sketch.context
        and whole.form.group[0] in columns_said(whole.form)
        and any(target.aggregate is not None for target in whole.form.targets)
    )


def _says_rows_twice(whole: Whole) -> bool:
    """地点的地址, both taken for the places: something of them is asked for, and not they themselves."""
    sketch = whole.sketch
    if not sketch.chinese:
        return False
    said = columns_said(whole.form)
    is_echo = bool(said) and all(target.column in said for target in whole.form.targets)
    return is_echo and any(
        sketch.table(place) is not None
        and sketch.table(place) == sketch.table(place + 2)
        and sketch.nodes[place + 1].text == "的"
        and sketch.nodes[place].text != sketch.nodes[place + 2].text
        for place in range(len(sketch.nodes) - 2)
    )


def _ranks_by_nothing(whole: Whole) -> bool:
    """ "Top 3 departments by expenses": the first three of an order that is not there."""
    ranks = any(node.op in (Op.HIGHEST, Op.LOWEST) for node in whole.sketch.nodes)
    return ranks and whole.form.limit is not None and whole.form.limit > 1 and not whole.form.order


def _passes_over_deed(whole: Whole) -> bool:
    """ "How many cars are rented": rentals are of another table, and nothing is read of it."""
    verbs = [
        stem(node.text.lower())
        for node in whole.sketch.nodes
        if node.kind is NodeKind.STOP and node.text.lower() in lexicon().verbs
    ]
    deeds = {verb + ending for verb in verbs for ending in _DEED_ENDINGS}
    # "Which shops sell no drinks": of what is thrown away, they have none either.
    linked = {
        pick.table
        for place, pick in whole.sketch.assignment.picks.items()
        if whole.sketch.nodes[place].text.lower() in lexicon().verbs and pick.value is None
    }
    absent = {
        table
        for item in whole.form.where
        if isinstance(item, Membership) and item.negated
        for table in tables_of(item.form)
    }
    if linked and absent and absent.isdisjoint(linked):
        return True
    return any(
        any(word in deeds for name in whole.sketch.index.entries_of_table(number).names for word in name)
        and re.search(rf"\W{re.escape(whole.sketch.index.table(number).name)}\W", whole.written.sql) is None
        for number in (range(len(whole.sketch.index.catalog.tables)) if deeds else ())
    )


def _figures_of_text(whole: Whole) -> bool:
    """Whether a text that is merely called alike is averaged, or compared with a number: a comment is no rating."""
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
    said = _closeness(whole)
    return any(
        column is not None
        and whole.sketch.kind(column) is ColumnKind.TEXT
        and not whole.sketch.index.holds_figures(column.table, column.column)
        and said.get(column, 1.0) < _SAID_MIN
        for column in (*averaged, *compared)
    )


def _answers_without_head(whole: Whole) -> bool:
    """ "Which model has the least horsepower": one figure alone says of no model that it has it."""
    sketch, form = whole.sketch, whole.form
    asked = [
        place
        for place in range(len(sketch.nodes))
        if sketch.op(place) is Op.SHOW and sketch.nodes[place].text.lower().split()[-1] in _WHICH
    ]
    heads = [sketch.after(place) for place in asked]
    if not form.targets or form.limit is not None or all(sketch.pick(head) is None for head in heads):
        return False
    singles_out = any(
        sketch.op(place) in (Op.MINIMUM, Op.MAXIMUM)
        and not _HAVING.isdisjoint(node.text.lower() for node in sketch.nodes[max(0, place - 2) : place])
        for place in range(len(sketch.nodes))
    )
    are_figures = [target.aggregate in _EXTREMES for target in form.targets]
    are_rows = any(sketch.table(head) is not None for head in heads)
    return (all(are_figures) and are_rows and not form.group) or (singles_out and any(are_figures))


_WHICH = frozenset({"which", "what"})
_HAVING = frozenset({"has", "have", "had"})
_EXTREMES = frozenset({Aggregate.MAXIMUM, Aggregate.MINIMUM})


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


def _closeness(whole: Whole) -> dict[ColumnRef | None, float]:
    """Return how close what was said comes to the name of each column that it was taken for."""
    return {whole.sketch.column(place): pick.score for place, pick in whole.sketch.assignment.picks.items()}


def _lacks_the_unsaid(whole: Whole) -> bool:
    """Whether rows are asked for without what a text merely resembles: what is unpaid has a method of payment."""
    said = _closeness(whole)
    shares = [target.share_of for target in whole.form.targets if target.share_of is not None]
    return any(
        item.operator is Operator.IS_NULL
        and item.left.column is not None
        and whole.sketch.kind(item.left.column) is ColumnKind.TEXT
        and said.get(item.left.column, 1.0) < _NEAR_MIN
        for item in _comparisons((*whole.form.where, *shares))
    )


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


_BOUNDS = frozenset({Operator.GREATER, Operator.AT_LEAST, Operator.LESS, Operator.AT_MOST})
_WITHIN = frozenset({Operator.CONTAINS, Operator.STARTS, Operator.ENDS})
_SAID_MIN = 0.9
_HOW_MUCH: Final = ("how much", "多少钱")
_NEAR_MIN = 0.8
_DEED_ENDINGS = ("al", "ing", "ment", "ation", "ion", "ery")


def _is_role_alone(whole: Whole) -> bool:
    """Whether rows are asked for in a role that nothing of the statement gives them: all staff for the managers."""
    tables, index = set(tables_of(whole.form)), whole.sketch.index
    role = index.role(next(iter(tables))) if len(tables) == 1 else None
    if role is None:
        return False
    # "The manager of Ann Lee": those to whom her row refers, which is found by her name.
    named = {*labels(index, role.source)}
    inside = [item.form for item in whole.form.where if isinstance(item, Membership)]
    # "The followers of Ann": by the rows that say whom they follow.
    played = columns_named(index, role.source, (role.column,))
    if any(
        [target.column for target in form.targets] == list(played)
        and any(role.table in condition_tables(condition) for condition in form.where)
        for form in inside
    ):
        return False
    return not any(
        form.where and all(isinstance(one, Comparison) and one.left.column in named for one in form.where)
        for form in inside
    )


def _passes_over_role(whole: Whole) -> bool:
    """Whether somebody does what gives a role its name, and the statement does not go by it: "which museum lent the most"."""
    sketch = whole.sketch
    verbs = [node.text.lower() for node in sketch.nodes if node.kind is NodeKind.STOP and node.text.isalpha()]
    doers = {doer for verb in verbs if verb in lexicon().verbs for doer in doers_of(verb)}
    return not sketch.chinese and any(
        (doer,) in role.names and role.column not in whole.written.sql for role in sketch.index.roles for doer in doers
    )


def _denies_the_unsaid(whole: Whole) -> bool:
    """ "Who has not come since January": a deed that no column and no table says, so whatever was denied is another."""
    nodes = whole.sketch.nodes
    for place, node in enumerate(nodes):
        if node.op is Op.NOT and place + 1 < len(nodes) and nodes[place + 1].text.lower() in _BARE_DEEDS:
            following = whole.sketch.after(place + 1, over=(Op.SINCE, Op.AFTER, Op.BEFORE))
            if following is not None and nodes[following].kind is NodeKind.PERIOD:
                return True
    return False


_BARE_DEEDS: Final = frozenset({"come", "been", "gone", "got", "done", "had", "made", "taken", "used", "seen", "shown"})


def _names_another(whole: Whole) -> bool:
    """ "The name of the project": of none of the people who work on it, where projects have one; "types of products": no customers' addresses."""
    sketch = whole.sketch
    for place, node in enumerate(sketch.nodes[:-2]):
        column = sketch.column(place)
        behind = [item.text.lower() for item in sketch.nodes[place + 1 : place + 3]]
        if column is None or behind[0] != "of" or " " in node.text:
            continue
        of = place + 2 + (behind[1] in _ARTICLES)
        table = sketch.table(of) if of < len(sketch.nodes) else None
        if table is not None and sketch.index.graph.distance(column.table, table) >= _STRANGERS_MIN:
            return True
        if node.text.lower().rstrip("s") not in lexicon().label_words:
            continue
        named = {link.table for link in node.candidates if link.column is not None and link.score >= _SAID_MIN}
        if table is not None and table != column.table and table in named:
            return True
    return False


def _leaves_behind(whole: Whole) -> bool:
    """ "How many children are registered?": what was done is of rows that the statement does not read at all."""
    index = whole.sketch.index
    read = {index.real(table) for table in _tables_within(whole.form)} | set(whole.sketch.hidden_tables)
    return any(
        pick.column is not None
        and pick.value is None
        and whole.sketch.taken[place]
        and whole.sketch.nodes[place].text.lower().endswith("ed")
        and index.real(pick.table) not in read
        for place, pick in whole.sketch.assignment.picks.items()
    )


def _tables_within(form: Form) -> Iterator[int]:
    """Give the tables of a form and of those within it."""
    yield from tables_of(form)
    for item in form.where:
        if isinstance(item, Membership):
            yield from _tables_within(item.form)
    for item in _comparisons(form.where):
        if isinstance(item.right, Form):
            yield from _tables_within(item.right)
    if form.combined is not None:
        yield from _tables_within(form.combined[1])


def _dates_another_deed(whole: Whole) -> bool:
    """ "Who closed the most tickets last month": it counts when they were closed, and not when they were opened."""
    sketch = whole.sketch
    compared = (item.left.column for item in _comparisons(whole.form.where))
    dated = {column for column in compared if column is not None and sketch.kind(column) in TEMPORAL}
    for place, node in enumerate(sketch.nodes):
        value = sketch.value(place)
        if value is None or not dated or not node.text.lower().endswith("ed"):
            continue
        own = {
            ColumnRef(value.table, number)
            for number, column in enumerate(sketch.index.table(value.table).columns)
            if column.kind in TEMPORAL
            and any(stem(node.text.lower()) == stem(word) for word in sketch.words_of(ColumnRef(value.table, number)))
        }
        others = {column for column in dated if column.table == value.table}
        if own and others and own.isdisjoint(others):
            return True
    return False


def _pairs_by(whole: Whole) -> bool:
    """ "Payment methods by amount": a list of pairs, where groups or an order are asked for."""
    form = whole.form
    is_bare = not (form.group or form.order) and all(target.aggregate is None for target in form.targets)
    shown = [target.column for target in form.targets]
    return (
        is_bare
        and len(shown) > 1
        and any(node.op is Op.BY and node.text.lower() == "by" for node in whole.sketch.nodes)
        and any(column is not None and whole.sketch.is_numeric(column) for column in shown)
        and all(whole.sketch.table(place) is None for place in range(len(whole.sketch.nodes)))
    )


_ARTICLES: Final = frozenset({"the", "a", "all", "each", "every"})
_STRANGERS_MIN: Final = 2


NOT_MEANT: Final[tuple[Rule, ...]] = (
    *MISCOUNTS,
    *MISNAMED,
    _joins_strangers,
    _shares_with_nobody,
    _lacks_in_common,
    _denies_half,
    _averages_all,
    _ranks_one,
    _echoes,
    _leaves_out,
    _groups_one,
    _says_rows_twice,
    _passes_over_deed,
    _figures_of_text,
    _text_in_figures,
    _answers_without_head,
    _lists_figures,
    _is_role_alone,
    _passes_over_role,
    _denies_the_unsaid,
    _ranks_by_nothing,
    _lacks_the_unsaid,
    _names_another,
    _leaves_behind,
    _dates_another_deed,
    _pairs_by,
)
