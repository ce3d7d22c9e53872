"""Values become conditions: values that the catalog knows, quoted texts, and bare numbers beside a column."""

from __future__ import annotations

from typing import Final

from querybus.core.catalog import ColumnKind
from querybus_translator.language.clauses import (
    JOINING,
    UNITS,
    add_condition,
    adjective_concepts,
    count_rows,
    label_columns,
    looks_like_year,
    negation_before,
    old_near,
    take_joining,
    take_units,
    time_column,
)
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.stems import base_form
from querybus_translator.language.time.periods import whole_year
from querybus_translator.readers.figures.units import is_place_of
from querybus_translator.readers.time.periods import within
from querybus_translator.schema.labels import key_columns, whole_name
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.whose import DESTINATIONS, ORIGINS
from querybus_translator.writing.form import AnyOf, ColumnRef, Comparison, Literal, Measure, Operator
from querybus_translator.writing.sketch import TEMPORAL, Placed, Sketch


def read_value(sketch: Sketch, place: int) -> None:
    pick = sketch.value(place)
    if pick is None or pick.column is None or pick.value is None:
        return
    column = ColumnRef(_in_role(sketch, place, pick.table), pick.column)
    sketch.take(place)
    # "Paid by card": of the payment, which is nothing to be shown beside it.
    for beside in (sketch.before(place, over=(*JOINING, Op.BY)), sketch.after(place)):
        if _is_noun_of_kind(sketch, place, beside, column) or (
            sketch.is_free(beside) and (sketch.column(beside) == column or _is_kind_of(sketch, place, beside, column))
        ):
            sketch.take(beside)
            take_joining(sketch, beside, place)
            break
    if _are_persons(sketch, place + 1, column.table):
        # "Gold members" of a table of guests.
        sketch.take(place + 1)
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
        second = ColumnRef(column.table, pick.also[0])
        sketch.conditions.append(Placed(place, Comparison(Measure(second), operator, Literal(pick.also[1]))))


def _in_role(sketch: Sketch, place: int, table: int) -> int:
    """ "Whose manager is Ann Lee": the value is one of the table in the role that stands beside it."""
    for beside in (sketch.before(place, over=JOINING), sketch.after(place, over=JOINING)):
        pick = sketch.pick(beside)
        if beside is None or _is_of_another(sketch, place, beside):
            continue
        if pick is not None and pick.table != table and sketch.index.real(pick.table) == table:
            # "No friends in Austin": it is the friends that are denied.
            sketch.take(*(() if negation_before(sketch, beside) is not None else (beside,)))
            return pick.table
    before = sketch.before(place, over=(*JOINING, Op.RELATIVE))
    described = sketch.table(before)
    is_theirs = before is not None and not _is_of_another(sketch, place, before)
    if described is not None and is_theirs and described != table and sketch.index.real(described) == table:
        # "Friends who are doctors".
        return described
    ways = _way_said(sketch, place)
    if ways is None:
        return table
    roles = [
        number
        for number, role in enumerate(sketch.index.roles, len(sketch.index.catalog.tables))
        if role.table == table and not ways.isdisjoint(word for name in role.names for word in name)
    ]
    if len(roles) != 1:
        return table
    # "Ended at Harbour": nobody asks when.
    sketch.take(*(other for other in (place - 1, place - 2) if other >= 0 and _says_way(sketch, other)))
    return roles[0]


def _is_of_another(sketch: Sketch, place: int, role: int) -> bool:
    """ "Ann's followers", "the followers of Ann", "how many followers does Ann have": whose they are plays no role."""
    between = sketch.nodes[min(place, role) + 1 : max(place, role)]
    return any(node.text.lower() in _WHOSE for node in between)


_WHOSE: Final = frozenset({"'s", "’s", "of", "do", "does", "did", "的"})


def _way_said(sketch: Sketch, place: int) -> frozenset[str] | None:
    """ "From Central to Museum", "trips that ended at Harbour": at which of its ends something is said to be; None if it is not said."""
    before = " ".join(node.text.lower() for node in sketch.nodes[max(0, place - 2) : place]).split()
    if before[-1:] == ["the"]:
        del before[-1]
    if before[-1:] == ["from"] or (before[-1:] in (["at"], ["in"]) and not _STARTING.isdisjoint(before)):
        return ORIGINS
    if before[-1:] == ["to"] or (before[-1:] in (["at"], ["in"]) and not _ENDING.isdisjoint(before)):
        return DESTINATIONS
    return None


def _says_way(sketch: Sketch, place: int) -> bool:
    words = set(sketch.nodes[place].text.lower().split())
    return not words.isdisjoint(_STARTING | _ENDING | {"to"})


_STARTING: Final = frozenset(
    {"start", "started", "starting", "begin", "began", "beginning", "departed", "departing", "left"}
)
_ENDING: Final = frozenset({"end", "ended", "ending", "finish", "finished", "arrived", "arriving", "returned"})


def _are_persons(sketch: Sketch, place: int, table: int) -> bool:
    """Whether a word that the catalog does not have is a general one for the persons of a table."""
    node = sketch.nodes[place] if place < len(sketch.nodes) else None
    is_person = node is not None and node.kind is NodeKind.WORD and base_form(node.text.lower()) in _PERSONS
    return is_person and (
        table == sketch.index.people_table or any(item.person_name for item in sketch.index.table(table).columns)
    )


_PERSONS: Final = frozenset(
    {
        "member", "customer", "client", "user", "person", "people", "guest", "visitor", "subscriber",
        "会员", "客户", "顾客", "用户", "客人", "人",
    }
)  # fmt: skip


def _is_noun_of_kind(sketch: Sketch, place: int, beside: int | None, column: ColumnRef) -> bool:
    """ "Suites with a king bed", of a `bed_type`: the noun is said with its kind. "How many king beds" counts them."""
    if beside is None or beside != place + 1 or sketch.taken[beside] or sketch.op(sketch.before(place)) is Op.COUNT:
        return False
    node = sketch.nodes[beside]
    names = sketch.index.entry_of_column(column.table, column.column).names
    is_plain = node.kind is NodeKind.WORD or (sketch.column(beside) is not None and sketch.table(beside) is None)
    return is_plain and any(name[-1] in _KINDS and base_form(node.text.lower()) in name[:-1] for name in names)


_KINDS: Final = frozenset({"type", "kind", "category", "class", "style", "format", "method", "mode"})


def _is_kind_of(sketch: Sketch, place: int, beside: int | None, column: ColumnRef) -> bool:
    """手机类别: the word behind a value may mean another column, or a table, that holds such values."""
    if beside is None or beside != place + 1 or sketch.column(beside) is None:
        return False
    return any(
        candidate.table == column.table and (candidate.column is None or candidate.column == column.column)
        for candidate in sketch.nodes[beside].candidates
    )


def read_text(sketch: Sketch, place: int) -> None:
    node = sketch.nodes[place]
    # "Members who live in Hartford" are not called so.
    is_place = place > 0 and sketch.nodes[place - 1].text.lower() in _PLACED
    if not node.quoted:
        if not is_place:
            _read_person(sketch, place)
        return
    left = _as_column(sketch, place)
    left = sketch.before(place, over=JOINING) if left is None else left
    column = sketch.column(left) if sketch.is_free(left) else None
    before = _before_or(sketch, left) if column is None else ()
    if before:
        column, left = before[0].left.column, None
    if column is None and sketch.table(left) is not None:
        # "How many clubs does "Linda Smith" belong to": whoever does it is no club.
        own = {item.text.lower() for item in sketch.nodes[(left or 0) + 1 : place]}
        table = sketch.index.people_table if own & _DOING else sketch.table(left)
        if table is not None and own & _WHERE:
            # "How many people work at "Seaview"": where they are is not what they are called.
            table = _place_of(sketch, table)
        named = label_columns(sketch, table) if table is not None else ()
        column = named[0] if named else None
        left = None
        sketch.doubts += 0.05
    if column is None:
        left = sketch.after(place)
        column = sketch.column(left) if sketch.is_free(left) else None
    if column is None and sketch.table(left) is not None and not is_place:
        named = label_columns(sketch, sketch.table(left) or 0)
        column = named[0] if named else None
        left = None
        sketch.doubts += 0.1
    if column is None:
        return
    negation = negation_before(sketch, left if left is not None and left < place else place) or negation_before(
        sketch, place
    )
    operator = Operator.CONTAINS if _stands_within(sketch, place, left, column) else Operator.EQUAL
    if negation is not None:
        sketch.take(negation)
        operator = operator.opposite
    sketch.take(place, left)
    for other in range(max(0, place - 2), place):
        if sketch.nodes[other].op in {Op.NAMED, Op.EQUAL}:
            sketch.take(other)
    sketch.doubts += 0.05
    halves = _halves(sketch, column, node.text) if operator is Operator.EQUAL and left is None else ()
    is_open = left is None and len(before) != 1 and " " not in node.text.strip()
    either = whole_name(sketch.index, column) if is_open else ()
    if either and operator is Operator.EQUAL:
        # "Students named Smith": nobody says which of the names it is.
        names = tuple(Comparison(Measure(half), operator, Literal(node.text)) for half in either)
        sketch.conditions.append(Placed(place, AnyOf(names)))
        return
    for part, text in halves or ((column, node.text),):
        sketch.conditions.append(Placed(place, Comparison(Measure(part), operator, Literal(text))))


def _as_column(sketch: Sketch, place: int) -> int | None:
    """ "Students that have Lisa as their first name": the column is behind."""
    behind = sketch.after(place)
    is_as = place + 1 < len(sketch.nodes) and sketch.nodes[place + 1].text.lower() == "as"
    return behind if is_as and sketch.is_free(behind) and sketch.column(behind) is not None else None


def _before_or(sketch: Sketch, joint: int | None) -> tuple[Comparison, ...]:
    """'Had the outcome "A" or "B"': the second text is one of the same column as the first, or of either half of a name."""
    last = max(sketch.conditions, key=lambda item: item.place, default=None)
    if joint is None or sketch.op(joint) is not Op.OR or last is None or last.place < joint - 2:
        return ()
    said = last.condition.conditions if isinstance(last.condition, AnyOf) else (last.condition,)
    return tuple(item for item in said if isinstance(item, Comparison))


def _stands_within(sketch: Sketch, place: int, left: int | None, column: ColumnRef) -> bool:
    """ "Trains with 'Express' in their names": a part of the text, and not all of it."""
    if left is None or left < place or sketch.kind(column) is not ColumnKind.TEXT:
        return False
    between = [node.text.lower() for node in sketch.nodes[place + 1 : left]]
    before = sketch.nodes[place - 1].text.lower() if place else ""
    return between[:1] == ["in"] and between[-1] in _THEIR and before in _HOLDING


_THEIR: Final = frozenset({"their", "its", "the", "his", "her"})
_HOLDING: Final = frozenset({"have", "has", "had", "with", "having", "that have", "which have", "who have"})


def _read_person(sketch: Sketch, place: int) -> None:
    """ "Shipments of Lena Roth": the person of that name, of the only nearest table that has such names."""
    beside = sketch.table(place - 1) if place else None
    # "Shipments of driver Lena Roth" says whose name it is.
    near = [sketch.index.real(table) for table in (sketch.mentioned_tables() if beside is None else [beside])]
    graph = sketch.index.graph
    distances = {
        ColumnRef(table, column): min((graph.distance(other, table) for other in near), default=0)
        for table, column in sketch.index.names_of_persons
    }
    before = sketch.nodes[place - 1].text.lower() if place > 1 else ""
    own = sketch.table(place - 2) if before in _OTHERS else None
    if own is not None and len({column.table for column in distances} - {own}) == 1:
        # "The oldest patient of Karim Haddad" is not called so, nor are the customers whom somebody has.
        distances = {column: distance for column, distance in distances.items() if column.table != own}
    least = min(distances.values(), default=float("inf"))
    found = [column for column, distance in distances.items() if distance == least]
    if len(found) > 1 and not near:
        # "How old is Nina Holt", where of those who have names one kind has an age.
        asked = [(at, phrase) for at in sketch.free_places(Op.ADJECTIVE_ASK) if (phrase := sketch.nodes[at].phrase)]
        meant = sketch.only_concept_column(asked[0][1].concepts, asked[0][0]) if asked else None
        found = [column for column in found if meant is not None and column.table == meant[0].table]
    if len(found) != 1 or least == float("inf"):
        return
    text = sketch.nodes[place].text
    negation = negation_before(sketch, place)
    sketch.take(place, negation)
    sketch.doubts += 0.05
    operator = Operator.EQUAL if negation is None else Operator.UNEQUAL
    whose = _name_in_role(sketch, place, found[0])
    halves = whole_name(sketch.index, whose) if " " not in text and negation is None else ()
    if halves:
        # "Paintings by Monet": either of the two names.
        either = tuple(Comparison(Measure(half), operator, Literal(text)) for half in halves)
        sketch.conditions.append(Placed(place, AnyOf(either)))
        return
    for part, said in _halves(sketch, whose, text) or ((whose, text),):
        sketch.conditions.append(Placed(place, Comparison(Measure(part), operator, Literal(said))))


def _name_in_role(sketch: Sketch, place: int, name: ColumnRef) -> ColumnRef:
    """ "Whose follower is Ann": it is the follower who is called so."""
    before = place - 2 if place > 1 and sketch.nodes[place - 1].text.lower() in _COPULAS else place - 1
    table = sketch.table(before) if before >= 0 else None
    role = sketch.index.role(table) if table is not None else None
    return (
        ColumnRef(table, name.column) if table is not None and role is not None and role.table == name.table else name
    )


_COPULAS: Final = frozenset({"is", "are", "was", "were"})


def _halves(sketch: Sketch, column: ColumnRef, text: str) -> tuple[tuple[ColumnRef, str], ...]:
    """Return a full name as first and last name, where a table keeps them apart."""
    first, _, last = text.partition(" ")
    if not last:
        return ()
    whole = whole_name(sketch.index, column)
    return tuple(zip(whole, (first, last), strict=True)) if whole else ()


_OTHERS: Final = frozenset({"of", "does", "did", "do", "has", "have"})
_WHERE: Final = frozenset({"at", "in", "from"})
_PLACED: Final = frozenset(
    {
        "in",
        "at",
        "near",
        "住在",
        "居住在",
        "居住",
        "位于",
        "来自",
        "在",
        "去",
        "飞往",
        "前往",
        "抵达",
        "出生于",
        "毕业于",
        "就读于",
    }
)


def _place_of(sketch: Sketch, table: int) -> int | None:
    """Return the only table with names to which rows of a table belong."""
    edges = sketch.index.graph.edges_of(table)
    places = {edge.target for edge in edges if edge.source == table and edge.to_one and edge.target != table}
    named = [place for place in places if label_columns(sketch, place)]
    return named[0] if len(named) == 1 else None


_DOING: Final = frozenset({"does", "did", "do", "has", "have"})


def _is_key_of(sketch: Sketch, place: int, number: float) -> bool:
    """ "The appointments of patient 17": the one whose number that is. Return whether it was read so."""
    table = sketch.table(place - 1) if place else None
    word = sketch.nodes[place - 1].text.lower() if place else ""
    behind = sketch.nodes[place + 1] if place + 1 < len(sketch.nodes) else None
    ends = behind is None or behind.kind in (NodeKind.MARK, NodeKind.PERIOD, NodeKind.STOP)
    # "When was turbine 3 installed", "what did visitor 1 rate".
    does = any(node.text.lower() in ("did", "does", "do") for node in sketch.nodes[:place])
    ends = ends or does or (behind is not None and behind.text.lower().endswith("ed"))
    key = () if table is None else key_columns(sketch.index, table)
    if len(key) != 1 or not ends or base_form(word) != word or word.endswith("ed") or not isinstance(number, int):
        return False
    if sketch.chinese or sketch.kind(key[0]) is not ColumnKind.INTEGER or sketch.index.role(table or 0) is not None:
        return False
    sketch.take(place, place - 1)
    sketch.conditions.append(Placed(place, Comparison(Measure(key[0]), Operator.EQUAL, Literal(number))))
    return True


def _is_another(sketch: Sketch, place: int, number: int | float) -> bool:
    """ "Founded in 1901 or 1910", "a rating of 4 or 5": the second figure is one of the same column. Return whether it was read so."""
    joint = sketch.before(place)
    first = sketch.before(joint)
    if sketch.op(joint) is not Op.OR or first is None or sketch.number(first) is None:
        return False
    for placed in sketch.conditions:
        condition = placed.condition
        if placed.place == first and isinstance(condition, Comparison) and condition.operator is Operator.EQUAL:
            sketch.take(place)
            take_units(sketch, place)
            sketch.conditions.append(Placed(place, Comparison(condition.left, Operator.EQUAL, Literal(number))))
            return True
    return False


def read_bare_number(sketch: Sketch, place: int) -> None:
    number = sketch.nodes[place].number
    if number is None:
        return
    left = sketch.before(place, over=JOINING)
    right = sketch.after(place, over=(*UNITS, Op.DISTINCT))
    if _is_key_of(sketch, place, number) or _is_another(sketch, place, number):
        return
    column = sketch.column(left) if sketch.is_free(left) else None
    between = {node.text.lower() for node in sketch.nodes[(left or 0) + 1 : place]}
    if between & {"have", "has", "had"} and sketch.table(right) is not None:
        # "Which towns have only one cinema": so many of them, and no town of that number.
        column = None
    if between & {"of", "for", "in"} and right == place + 1 and sketch.is_numeric(sketch.column(right)):
        column = None
    if column is not None and between & {"of", "for", "in", "during"} and looks_like_year(number):
        # "In each semester of 2024" is no semester of that name.
        is_named = str(number) in sketch.index.column(column.table, column.column).values
        column = column if is_named or sketch.kind(column) is not ColumnKind.TEXT else None
    if column is not None and "the" not in between:
        take_units(sketch, place)
        sketch.take(place, left)
        take_joining(sketch, left, place)
        if sketch.kind(column) in TEMPORAL and isinstance(number, int) and looks_like_year(number):
            within(sketch, place, column, whole_year(number))
            return
        add_condition(sketch, place, Measure(column), Operator.EQUAL, Literal(number))
        return
    if old_near(sketch, place):
        result = sketch.concept_column(adjective_concepts("older than"), place, ())
        if result is not None and not result[1]:
            for other in range(max(0, place - 2), min(len(sketch.nodes), place + 3)):
                if sketch.nodes[other].op is Op.OLD:
                    sketch.take(other)
            sketch.take(place)
            add_condition(sketch, place, Measure(result[0]), Operator.EQUAL, Literal(number))
            return
    table = sketch.table(right) if sketch.is_free(right) else None
    # "The second author" is no number of authors.
    is_said = not sketch.asked[place] or bool(between & {"have", "has", "had"})
    if table is not None and is_said and sketch.nodes[place].text.lower() not in lexicon().ordinals:
        sketch.take(place, right)
        count_rows(sketch, place, table, Operator.EQUAL, number)
        return
    column = sketch.column(right) if sketch.is_free(right) else None
    if column is not None and sketch.is_numeric(column):
        take_units(sketch, place)
        sketch.take(place, right)
        sketch.doubts += float(is_place_of(sketch, right, column))
        sketch.conditions.append(Placed(place, Comparison(Measure(column), Operator.EQUAL, Literal(number))))
        return
    if looks_like_year(number):
        column = time_column(sketch, place)
        if column is not None:
            sketch.take(place)
            within(sketch, place, column, whole_year(int(number)))


def read_presence(sketch: Sketch) -> None:
    """ "Customers who have an email", "students with a grade": those in whom the column is filled, which is not asked for."""
    if sketch.chinese:
        return
    words = [node.text.lower().split() for node in sketch.nodes]
    for place in range(2, len(sketch.nodes)):
        column, behind = sketch.column(place), sketch.after(place)
        is_owned = words[place - 1][-1] in _ANY and words[place - 2][-1] in _HAVING
        ends = behind is None or sketch.op(behind) in _JOINTS
        if column is None or not is_owned or not ends or not sketch.is_free(place) or not sketch.can_be_empty(column):
            continue
        rows = [table for other in range(place - 2) if (table := sketch.table(other)) is not None]
        if rows[-1:] == [column.table]:
            sketch.take(place, place - 2)
            sketch.conditions.append(Placed(place, Comparison(Measure(column), Operator.NOT_NULL)))


_ANY: Final = frozenset({"a", "an", "any"})
_HAVING: Final = frozenset({"have", "has", "had", "with", "having"})
_JOINTS: Final = frozenset({Op.AND, Op.OR, Op.BUT})
