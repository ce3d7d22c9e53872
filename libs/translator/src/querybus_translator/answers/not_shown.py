"""Readings that show others than were asked for: each rule says of one kind of them whether a reading is of it."""

from __future__ import annotations

from typing import Final

from querybus.core.catalog import ColumnKind
from querybus_translator.answers.whole import Rule, Whole, columns_said
from querybus_translator.language.lexicon import POSSESSIVES, Op, lexicon
from querybus_translator.schema.labels import labels
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import (
    Aggregate,
    AnyOf,
    Comparison,
    Literal,
    Membership,
    Operator,
    condition_tables,
    tables_of,
)
from querybus_translator.writing.sketch import Sketch
from querybus_translator.writing.write import columns_named

_SAID_MIN: Final = 0.9


def _names_nobody(whole: Whole) -> bool:
    """ "Who has the best result?" is answered by a name, not by the result, a number, a title or what was said.

    "Whose painting is blue?" is not answered by the painting.
    """
    sketch, targets = whole.sketch, whole.form.targets
    first = sketch.nodes[0].text.lower() if sketch.nodes else ""
    if first == "whose":
        owned = sketch.table(sketch.after(0))
        return owned is not None and bool(targets) and all(target.home == owned for target in targets)
    said, index = columns_said(whole.form), sketch.index
    columns = [target.column for target in targets if target.aggregate is None and target.column is not None]
    is_figure = all(sketch.is_numeric(column) or sketch.is_flag(column) for column in columns)
    is_number = any(sketch.is_key(column) and sketch.kind(column) is ColumnKind.INTEGER for column in columns)
    names = (index.entry_of_column(column.table, column.column).names for column in columns)
    is_title = any(all(name[-1] == "title" for name in called) for called in names)
    is_nobody = is_figure or is_number or is_title or (len(columns) == len(targets) and said.issuperset(columns))
    # "Who still has a book" is not answered by all the books, nor "who was never assigned" by what nobody was assigned to.
    persons, shown = {table for table, _ in index.names_of_persons}, {column.table for column in columns}
    lacks = any(isinstance(condition, Membership) and condition.negated for condition in whole.form.where)
    says_nothing = not (whole.form.where or whole.form.limit or whole.form.having)
    is_thing = (lacks or says_nothing) and bool(persons) and bool(shown) and shown.isdisjoint(persons)
    is_nobody = is_nobody or is_thing
    asks = first.split(" ")[0] == "who" or any("谁" in node.text for node in sketch.nodes)
    return asks and not whole.form.group and bool(targets) and is_nobody


def _takes_one_for_each(whole: Whole) -> bool:
    """ "The youngest of each class", "parks and their longest trail": one row in all, where each group has its own."""
    form, nodes = whole.form, whole.sketch.nodes
    if form.limit != 1 or not form.order or form.order[0].by.aggregate is not None:
        return False
    places = {ranking.place for ranking in whole.sketch.rankings}
    theirs = (set(node.text.lower().split()) & POSSESSIVES for node in nodes)
    return any(node.op is Op.EACH for node in nodes) or any(
        said and {place + 1, place + 2} & places for place, said in enumerate(theirs)
    )


def _is_mutual(whole: Whole) -> bool:
    """Whether rows were to be compared with themselves: who follow each other, who commented on their own posts."""
    said = " ".join(node.text.lower() for node in whole.sketch.nodes)
    return any(mutual in said for mutual in _MUTUAL)


_MUTUAL: Final = ("each other", "one another", "their own", "his own", "her own", "its own", "themselves")


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


_ARTICLES: Final = frozenset({"the", "a", "all", "each", "every"})


_STRANGERS_MIN: Final = 2


def _passes_over_clause(whole: Whole) -> bool:
    """Return whether less is shown than was asked for: "who are they and where do they come from" asks for two things.

    So does "what is it about, and when was it": nothing that is read stands for what something is about.
    """
    sketch, form = whole.sketch, whole.form
    if sketch.chinese or form.everything is not None or not sketch.nodes:
        return False
    said = [node.text.lower() for node in sketch.nodes]
    # "Parcels posted in 2025, how many?", "of all claims, what was the first": nothing was asked before.
    asks_first = sketch.op(0) is not None or said[0] in _ASKING_WORDS
    asked = [
        place + 1
        for place, node in enumerate(sketch.nodes[:-1])
        if (node.op is Op.AND or (node.text == "," and asks_first))
        and (said[place + 1].split(" ")[0] in _ASKING_WORDS or _asks_who_is(sketch, place + 1))
    ]
    # "Schools with their mascots and where they are": nothing behind the last "and" is read.
    nothing_read = any(
        not (asks_first and sketch.taken[place])
        and all(node.kind is not NodeKind.LINK for node in sketch.nodes[place:])
        for place in asked
    )
    ends = (place for place, text in enumerate(said) if text == "about")
    about = said[0].startswith("what") and any(_ends_clause(sketch, place) for place in ends)
    return nothing_read or about or (bool(asked) and asks_first and len(form.targets) <= len(asked))


def _asks_who_is(sketch: Sketch, place: int) -> bool:
    """Whether "and who is the client" begins: a thing, where "and who are older" speaks of the same rows."""
    words = [node.text.lower() for node in sketch.nodes[place : place + 2]]
    is_who = " ".join(words).startswith(_WHO_IS)
    return is_who and sketch.table(sketch.after(place)) is not None


_WHO_IS: Final = ("who is", "who are", "who was", "who were")


def _ends_clause(sketch: Sketch, place: int) -> bool:
    behind = sketch.nodes[place + 1] if place + 1 < len(sketch.nodes) else None
    return behind is None or behind.kind is NodeKind.MARK or behind.op is Op.AND


_ASKING_WORDS: Final = frozenset({"where", "when", "since", "why", "what", "how"})


def _names_the_named(whole: Whole) -> bool:
    """Return whether who is asked for is who was named: "which members commented on posts by Ann" do not ask for Ann."""
    shown = {target.column for target in whole.form.targets}
    said = {
        one.left.column
        for condition in whole.form.where
        for one in (condition.conditions if isinstance(condition, AnyOf) else (condition,))
        if isinstance(one, Comparison) and one.operator is Operator.EQUAL and isinstance(one.right, Literal)
    }
    return not shown.isdisjoint(said) and any(isinstance(condition, Membership) for condition in whole.form.where)


NOT_SHOWN: Final[tuple[Rule, ...]] = (
    _names_nobody,
    _takes_one_for_each,
    _is_mutual,
    _echoes,
    _passes_over_clause,
    _names_the_named,
    _answers_without_head,
    _names_another,
    _is_role_alone,
)
