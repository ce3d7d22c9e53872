"""What is not there: "without orders", "do not have a captain", 没有订单 — rows whose key no row of the other table bears.

Conditions that stand behind the negation belong to what is absent: "that had no order in 2023".
"""

from __future__ import annotations

from collections.abc import Sequence

from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.names import name_words
from querybus_translator.language.stems import base_form, stem
from querybus_translator.readers.deeds import is_denied_deed
from querybus_translator.schema.additive import is_additive, is_number_of
from querybus_translator.schema.joins import Edge
from querybus_translator.schema.labels import key_columns, labels
from querybus_translator.schema.phrases import NodeKind, hints_of
from querybus_translator.writing.form import (
    ColumnRef,
    Comparison,
    Condition,
    Form,
    Literal,
    Measure,
    Membership,
    Operator,
    condition_tables,
)
from querybus_translator.writing.roles_played import belonging
from querybus_translator.writing.sketch import TEMPORAL, Placed, Sketch
from querybus_translator.writing.write import columns_named

_WORDS_BETWEEN_MAX = 4
_VERB_MIN = 0.85


def read_absences(sketch: Sketch, anchor: int) -> None:
    """Read every untaken negation against the rows of `anchor`."""
    for place in sketch.free_places(Op.NOT, Op.UNEQUAL, Op.BUT):
        if sketch.op(place) is not Op.BUT or "not" in sketch.nodes[place].text.lower().split():
            _absence(sketch, place, anchor)
    _negated_beyond(sketch, anchor)
    _read_only(sketch, anchor)


def _absence(sketch: Sketch, place: int, anchor: int) -> None:
    end = sketch.sentence_end(place)
    if _of_rows_before(sketch, place, anchor):
        return
    named = _named_after(sketch, place, end, anchor)
    if (named is None or _names_its_own(sketch, named, anchor)) and _attribute_behind(sketch, place, end, anchor):
        return
    if named is None and _by_verb(sketch, place, end, anchor):
        return
    if named is None:
        column_place = sketch.after(place)
        column = sketch.column(column_place)
        # "Do not allow dogs" says something of all rows, "are not" of what is asked for.
        does = place > 0 and sketch.nodes[place - 1].text.lower() in _AUXILIARIES
        missing = does or not sketch.asked[place] or sketch.nodes[place].text.lower() not in _COPULAR
        if column is not None and column_place is not None and sketch.kind(column) in TEMPORAL:
            # "Were not reimbursed": what has no day of it.
            missing = missing or is_denied_deed(sketch, column_place)
            missing = missing and sketch.can_be_empty(column)
        if column is not None and column.table == anchor and missing and column_place is not None:
            if sketch.taken[column_place] and all(where != column_place for where, _ in sketch.targets):
                return
            sketch.targets = [target for target in sketch.targets if target[0] != column_place]
            sketch.take(place, column_place)
            sketch.conditions.append(Placed(place, _missing(sketch, column)))
            return
        _negate_conditions(sketch, place, end, anchor)
        return
    figure = sketch.column(named)
    table = figure.table if figure is not None else sketch.table(named)
    if table is None:
        return
    # "Volunteers without hours": none of the rows that hold some, and no sum of them.
    sketch.targets = [target for target in sketch.targets if figure is None or target[0] != named]
    inside = [
        condition
        for condition in sketch.conditions
        if (place < condition.place < end and _belongs(condition, anchor, table))
        # 2025年没有借阅的读者: in Chinese the period of what is absent stands before it.
        or (sketch.chinese and set(condition_tables(condition.condition)) == {table})
    ]
    if any(place < ranking.place < end for ranking in sketch.rankings):
        sketch.doubts += 0.5
    inside_count = [condition for condition in sketch.having if place < condition[0] < end]
    if inside_count:
        _counted_absence(sketch, place, anchor, inside_count)
        sketch.take(place, named)
        return
    if absent_from(sketch, place, anchor, table, inside):
        sketch.take(
            place, named, *(other for other in range(place + 1, named or place) if is_denied_deed(sketch, other))
        )
        _hide(sketch, place, end, anchor)


def _read_only(sketch: Sketch, anchor: int) -> None:
    """ "Companies that own only tankers": some that are, and none that is anything else."""
    for place, node in enumerate(sketch.nodes):
        behind = sketch.after(place)
        if node.kind is not NodeKind.STOP or node.text.lower() not in _ONLY or sketch.value(behind) is None:
            continue
        for placed in [item for item in sketch.conditions if item.place == behind]:
            condition, tables = placed.condition, condition_tables(placed.condition)
            if isinstance(condition, Comparison) and tables and is_many(sketch, anchor, tables[0]):
                other = Placed(place, Comparison(condition.left, condition.operator.opposite, condition.right))
                sketch.conditions.append(other)
                if not absent_from(sketch, place, anchor, tables[0], [other]):
                    sketch.conditions.remove(other)


_ONLY = frozenset({"only", "solely", "exclusively"})


def _names_its_own(sketch: Sketch, named: int, anchor: int) -> bool:
    """ "Inspectors that never failed a vessel": what is named is what each of the rows is about."""
    table = sketch.table(named)
    edges = sketch.index.graph.edges_of(anchor)
    return any(edge.source == anchor and edge.target == table and edge.to_one for edge in edges)


def _missing(sketch: Sketch, column: ColumnRef) -> Comparison:
    """ "Without stock": a figure that is never empty is missing where it is nothing, all else where it has no value."""
    is_number = is_number_of(sketch.index, column.table, column.column) or (
        not sketch.can_be_empty(column) and sketch.is_numeric(column)
    )
    _, no = sketch.flag_values(column) or (1, 0)
    said_no = next((held for held in _values(sketch, column) if held.lower() in _NONE), None)
    if is_number or sketch.is_flag(column) or said_no is not None:
        return Comparison(Measure(column), Operator.EQUAL, Literal(no if said_no is None else said_no))
    return Comparison(Measure(column), Operator.IS_NULL)


def _of_rows_before(sketch: Sketch, place: int, anchor: int) -> bool:
    """ "Owners who have bills that are not paid": it is denied of the bills, and there are such."""
    relative, deed = sketch.before(place), sketch.after(place)
    column = sketch.column(deed)
    word = sketch.nodes[deed].text.lower() if deed is not None else ""
    is_done = (word.endswith("ed") or word in lexicon().verbs) and deed == place + 1
    if column is None or not is_done or sketch.kind(column) not in TEMPORAL or not sketch.can_be_empty(column):
        return False
    said = sketch.table(relative - 1) if relative and sketch.op(relative) is Op.RELATIVE else None
    if said is None or said == anchor or said != column.table:
        return False
    sketch.take(place, deed, relative)
    # Whatever the verb was read as before is what is denied.
    sketch.conditions = [condition for condition in sketch.conditions if condition.place not in (place, deed)]
    sketch.conditions.append(Placed(place, Comparison(Measure(column), Operator.IS_NULL)))
    return True


def _values(sketch: Sketch, column: ColumnRef) -> tuple[str, ...]:
    return sketch.index.column(column.table, column.column).values


_NONE = frozenset({"no", "none", "n", "false", "无", "否", "没有"})
"""What is stored where there is nothing of it."""


def _hide(sketch: Sketch, place: int, end: int, anchor: int) -> None:
    """Tables named behind the negation belong to what is absent, and are not joined to what is there."""
    for other in range(place, end):
        if sketch.op(other) in {Op.AND, Op.BUT, Op.SHOW}:
            return
        table = sketch.table(other)
        if table is not None and table != anchor:
            sketch.hidden_tables.add(table)
            sketch.take(other)


def _counted_absence(sketch: Sketch, place: int, anchor: int, counts: list[tuple[int, Comparison]]) -> None:
    """ "That did not affect two or more regions": the keys of those that did are excluded."""
    key = key_columns(sketch.index, anchor)
    if not key:
        sketch.doubts += 0.5
        return
    for count in counts:
        sketch.having.remove(count)
    form = Form(
        targets=(Measure(key[0]),),
        tables=(anchor,),
        group=key,
        having=tuple(count for _, count in counts),
    )
    for _, count in counts:
        if count.left.table is not None:
            sketch.hidden_tables.add(count.left.table)
    sketch.absences.append((place, Membership(key[0], form, negated=True)))


def _by_verb(sketch: Sketch, place: int, end: int, anchor: int) -> bool:
    """ "Regions not affected": a table that refers to the rows and bears the verb in its name."""
    for other in range(place + 1, min(end, place + 1 + _WORDS_BETWEEN_MAX)):
        node = sketch.nodes[other]
        # "Ordered" is a word for sorting elsewhere.
        is_word = node.kind in {NodeKind.WORD, NodeKind.STOP, NodeKind.LINK} or node.op is Op.ORDER
        if not is_word or sketch.value(other) is not None:
            continue
        if sketch.table(other) == anchor:
            return False
        word = node.text.lower().split()[-1]
        close, root = sketch.index.similar(base_form(word)), stem(word)
        deed = sketch.column(other) if is_denied_deed(sketch, other) else None
        if deed is not None and deed.table != anchor and is_many(sketch, anchor, deed.table):
            # "Books never borrowed": without any loan, however many tables lie between.
            inside = [condition for condition in sketch.conditions if place < condition.place < end]
            if (flag := sketch.flag_values(deed)) is not None:
                # "Not disqualified": without any result that says so.
                inside.append(Placed(other, Comparison(Measure(deed), Operator.EQUAL, Literal(flag[0]))))
            if absent_from(sketch, place, anchor, deed.table, inside):
                sketch.take(place, other)
                _hide(sketch, place, end, anchor)
                return True
        for edge in sketch.index.graph.edges_of(anchor):
            if edge.target != anchor or edge.source == anchor:
                continue
            # "Never ordered", "not performed": orders and performances are what the verb is about.
            words = sketch.index.table_words[edge.source]
            if any(close.get(named, 0.0) >= _VERB_MIN or stem(named) == root for named in words):
                inside = [condition for condition in sketch.conditions if place < condition.place < end]
                if absent_from(sketch, place, anchor, edge.source, inside):
                    sketch.take(place, other)
                    _hide(sketch, place, end, anchor)
                    return True
    return False


def _belongs(placed: Placed, anchor: int, table: int) -> bool:
    tables = condition_tables(placed.condition)
    return all(item != anchor or table == anchor for item in tables)


def _named_after(sketch: Sketch, place: int, end: int, anchor: int) -> int | None:
    words = 0
    other = place + 1
    while other < end:
        table = sketch.table(other)
        if table is not None and table != anchor:
            return other
        if table == anchor:
            other += 1
            continue
        node = sketch.nodes[other]
        deed = sketch.column(other) if is_denied_deed(sketch, other) else None
        if deed is not None and sketch.table(sketch.after(other)) == deed.table:
            # "Never opened a ticket": the verb is one of the tickets that there are not.
            other += 1
            continue
        figure = sketch.column(other)
        if figure is not None and figure.table != anchor and is_additive(sketch.index, figure.table, figure.column):
            return other if is_many(sketch, anchor, figure.table) else None
        if figure is not None and figure.table != anchor and _names_rows(sketch, other, figure.table):
            return other if is_many(sketch, anchor, figure.table) else None
        if node.op in {Op.AND, Op.BUT, Op.OR, Op.SHOW} or sketch.pick(other) is not None:
            if sketch.pick(other) is not None and sketch.value(other) is None and sketch.taken[other]:
                return None
            if sketch.value(other) is None:
                return None
        if node.kind is NodeKind.WORD:
            words += 1
            if words > _WORDS_BETWEEN_MAX:
                return None
        other += 1
    return None


def _names_rows(sketch: Sketch, place: int, table: int) -> bool:
    """ "Animals without a sponsor", where sponsorships have one."""
    said = base_form(sketch.nodes[place].text.lower())
    return any(word.startswith(said) for word in name_words(sketch.index.table(table).name))


def absent_from(sketch: Sketch, place: int, anchor: int, table: int, inside: list[Placed]) -> bool:
    """Record that no row of `table` with the conditions `inside` refers to the row of `anchor`."""
    if _attribute_without(sketch, place, table, inside):
        return True
    path = _path_to(sketch, anchor, table)
    if not path:
        return False
    near, far = _ends(path[0], anchor)
    own = columns_named(sketch.index, anchor, near[:1])
    beyond = path[0].target if path[0].source == anchor else path[0].source
    theirs = columns_named(sketch.index, beyond, far[:1])
    conditions: tuple[Condition, ...] = tuple(item.condition for item in inside)
    refers = path[0].source == anchor and path[0].to_one
    if refers and len(path) == 1 and not inside:
        if sketch.index.column(anchor, own[0].column).name in sketch.index.table(anchor).primary_key:
            return False
        # The row itself names at most one of them: an empty key says that there is none.
        sketch.absences.append((place, Comparison(Measure(own[0]), Operator.IS_NULL)))
        return True
    if sketch.index.column(theirs[0].table, theirs[0].column).nullable and theirs[0] not in key_columns(
        sketch.index, beyond
    ):
        # One empty key would make NOT IN exclude everything.
        conditions = (*conditions, Comparison(Measure(theirs[0]), Operator.NOT_NULL))
    # A row between may stand for what it refers to, and not for what refers to it.
    is_between = beyond != table and (bool(inside) or is_many(sketch, beyond, table))
    form = Form(targets=(Measure(theirs[0]),), tables=(table,) if is_between else (), where=conditions)
    sketch.conditions = [item for item in sketch.conditions if item not in inside]
    sketch.absences.append((place, Membership(own[0], form, negated=True)))
    if not inside and len(path) == 1:
        sketch.absences += [(place, absence) for absence in _by_other_keys(sketch, path[0], own[0])]
    return True


def _by_other_keys(sketch: Sketch, edge: Edge, own: ColumnRef) -> list[Membership]:
    """ "Depots without trips": none that starts and none that ends there, where it is not said which."""
    said = {stem(word) for node in sketch.nodes for word in node.text.lower().split()}
    rivals = sketch.index.graph.rival_keys(edge, hints_of(sketch.nodes))
    shared = {word for rival in rivals for name in rival.source_columns for word in name_words(name)}
    if any(stem(word) in said for name in edge.source_columns for word in name_words(name) if word not in shared):
        return []
    found: list[Membership] = []
    for rival in rivals:
        if rival.source == edge.source and rival.target_columns == edge.target_columns:
            (key,) = columns_named(sketch.index, rival.source, rival.source_columns[:1])
            filled = Comparison(Measure(key), Operator.NOT_NULL)
            found.append(Membership(own, Form(targets=(Measure(key),), where=(filled,)), negated=True))
    return found


def _path_to(sketch: Sketch, anchor: int, table: int) -> tuple[Edge, ...] | None:
    """Return the keys that lead to what is absent, by way of the rows that it belongs to: the posts that they voted for."""
    graph, hints = sketch.index.graph, hints_of(sketch.nodes)
    beside = dict(belonging(sketch)).get(table)
    first = None if beside is None or beside == anchor else graph.path((anchor,), beside, hints)
    rest = None if first is None or beside is None else graph.path((beside,), table, hints)
    return graph.path((anchor,), table, hints) if first is None or rest is None else (*first, *rest)


def _attribute_without(sketch: Sketch, place: int, table: int, inside: Sequence[Placed]) -> bool:
    """ "States without hard trails", where parks have states: those of no park that has one."""
    column = sketch.targets[0][1].column if len(sketch.targets) == 1 else None
    if column is None or sketch.targets[0][1].aggregate is not None or sketch.groups or sketch.rankings:
        return False
    home = column.table
    own = {*labels(sketch.index, home), *key_columns(sketch.index, home)}
    is_named = any(sketch.table(other) == home for other in range(len(sketch.nodes)))
    if column in own or is_named or not is_many(sketch, home, table):
        return False
    path = sketch.index.graph.path((home,), table)
    beyond = table if not path else path[0].target if path[0].source == home else path[0].source
    last = table if inside or is_many(sketch, beyond, table) else beyond
    form = Form(
        targets=(Measure(column),), tables=(home, last), where=tuple(item.condition for item in inside), distinct=True
    )
    for item in inside:
        sketch.conditions.remove(item)
    sketch.absences.append((place, Membership(column, form, negated=True)))
    sketch.hidden_tables.add(table)
    sketch.take(*(other for other in range(place, sketch.sentence_end(place)) if sketch.table(other) == table))
    sketch.anchor = home
    sketch.distinct = True
    return True


def _ends(edge: Edge, anchor: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if edge.source == anchor:
        return edge.source_columns, edge.target_columns
    return edge.target_columns, edge.source_columns


def _negate_conditions(sketch: Sketch, place: int, end: int, anchor: int) -> None:
    """ "Did not visit Paris", "never sold a red one": the first condition behind the negation is what is absent."""
    behind = sorted(
        (condition for condition in sketch.conditions if place < condition.place < end), key=lambda item: item.place
    )
    # "Did not give 4 stars" asks for nothing: the verb stands right behind.
    if not behind or any(sketch.op(other) in {Op.SHOW, Op.BUT} for other in range(place + 2, behind[0].place)):
        return
    first = behind[0]
    words = sum(1 for node in sketch.nodes[place : first.place] if node.kind is NodeKind.WORD)
    if words > _WORDS_BETWEEN_MAX:
        return
    tables = condition_tables(first.condition)
    denied = _denied_of(sketch, place, anchor)
    if tables and tables[0] != denied and is_many(sketch, denied, tables[0]):
        if absent_from(sketch, place, denied, tables[0], [first]):
            sketch.take(place)
        return
    if isinstance(first.condition, Comparison):
        opposite = Comparison(first.condition.left, first.condition.operator.opposite, first.condition.right)
        sketch.conditions[sketch.conditions.index(first)] = Placed(first.place, opposite)
        sketch.take(place)


def _denied_of(sketch: Sketch, place: int, anchor: int, besides: Sequence[int] = ()) -> int:
    """ "The average rating of movies that B has not reviewed": of the movies it is denied, whatever their ratings say."""
    named = (sketch.table(other) for other in range(place - 1, -1, -1))
    subject = next((table for table in named if table is not None and table not in besides), anchor)
    graph = sketch.index.graph
    is_one = bool(graph.path((anchor,), subject)) and not graph.is_many(anchor, subject)
    return subject if is_one or any(group == subject for _, group in sketch.groups) else anchor


def _attribute_behind(sketch: Sketch, place: int, end: int, anchor: int) -> bool:
    behind = sorted(
        (condition for condition in sketch.conditions if place < condition.place < end), key=lambda item: item.place
    )
    return bool(behind) and _without_attribute(sketch, place, anchor, behind[0])


def _without_attribute(sketch: Sketch, place: int, anchor: int, first: Placed) -> bool:
    """ "Publishers that did not publish a book in 1989": values of a column, without those that some row bears."""
    verb = sketch.nodes[place - 1].text.lower().rpartition(" ")[2] if place else ""
    copular = sketch.nodes[place].text.lower() in _COPULAR and verb not in _AUXILIARIES
    if copular or len(sketch.targets) != 1:
        return False
    target = sketch.targets[0][1]
    if (
        target.aggregate is not None
        or target.column is None
        or condition_tables(first.condition) != (target.column.table,)
    ):
        return False
    if target.column in {*labels(sketch.index, anchor), *key_columns(sketch.index, anchor)}:
        return False
    sketch.conditions.remove(first)
    form = Form(targets=(target,), where=(first.condition,))
    sketch.absences.append((place, Membership(target.column, form, negated=True)))
    sketch.distinct = True
    sketch.take(place)
    return True


# "Is not" says something about each row; "did not", "without", "never" about all rows together.
_COPULAR = frozenset({"not", "n't", "isn't", "aren't", "wasn't", "weren't", "非", "不是"})


_AUXILIARIES = frozenset({"do", "does", "did", "have", "has", "had", "can", "could"})


def is_many(sketch: Sketch, anchor: int, table: int) -> bool:
    """Whether one row of `anchor` may have several of `table`."""
    return sketch.index.graph.is_many(anchor, table)


def _denied_flag(sketch: Sketch, place: int, condition: Comparison) -> Comparison | None:
    """Return that a flag is not yes where "no" before its rows had made it a no; None for anything else."""
    column, pick = condition.left.column, sketch.pick(place)
    flags = None if column is None else sketch.flag_values(column)
    if flags is None or pick is None or not pick.with_table or condition.operator is not Operator.EQUAL:
        return None
    if condition.right != Literal(flags[1]) or _said_before(sketch, place) not in NONE_OF:
        return None
    return Comparison(condition.left, Operator.UNEQUAL, Literal(flags[0]))


NONE_OF = frozenset({"no", "without", "without any"})


def _said_before(sketch: Sketch, place: int) -> str:
    return sketch.nodes[place - 1].text.lower() if place else ""


def _negated_beyond(sketch: Sketch, anchor: int) -> None:
    """A value that must differ in a table of many rows means that none of them has it."""
    for placed in list(sketch.conditions):
        condition = placed.condition
        if (
            isinstance(condition, Comparison)
            and (denied_flag := _denied_flag(sketch, placed.place, condition)) is not None
        ):
            # "Albums without explicit songs": none of theirs is.
            condition = denied_flag
        if not isinstance(condition, Comparison) or condition.operator is not Operator.UNEQUAL:
            continue
        tables = condition_tables(condition)
        denied = _denied_of(sketch, placed.place, anchor, besides=tables)
        if tables and tables[0] == anchor and _said_before(sketch, placed.place) in NONE_OF:
            positive = Placed(placed.place, Comparison(condition.left, Operator.EQUAL, condition.right))
            sketch.conditions[sketch.conditions.index(placed)] = positive
            if not _attribute_without(sketch, placed.place, anchor, [positive]):
                sketch.conditions[sketch.conditions.index(positive)] = placed
            continue
        if tables and tables[0] not in (denied, anchor) and is_many(sketch, denied, tables[0]):
            positive = Placed(placed.place, Comparison(condition.left, Operator.EQUAL, condition.right))
            sketch.conditions[sketch.conditions.index(placed)] = positive
            names_rows = any(sketch.table(place) is not None for place in range(placed.place))
            if not names_rows and _without_attribute(sketch, placed.place, anchor, positive):
                continue
            if not absent_from(sketch, placed.place, denied, tables[0], [positive]):
                sketch.conditions[sketch.conditions.index(positive)] = placed
            elif sketch.table(after := sketch.after(placed.place)) == tables[0]:
                # "No cancelled booking": it is none of the bookings that is absent, and there need be none.
                sketch.take(after)
                sketch.hidden_tables.add(tables[0])
