"""What is listed: values once each, and the names of tables beside the columns that are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from querybus_translator.language.lexicon import POSSESSIVES, Op
from querybus_translator.language.stems import base_form
from querybus_translator.readers.figures.amounts import rating_of_rows
from querybus_translator.schema.labels import key_columns, labels
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import ColumnRef, Measure
from querybus_translator.writing.sketch import Sketch

_HAVING = frozenset({"do we have", "do you have", "do they have", "do we sell", "do we offer"})


def list_values(sketch: Sketch) -> None:
    """Find out whether values are asked for, each once: 订单状态有哪些, "which cities have airports"."""
    if len(sketch.targets) != 1 or sketch.conditions or sketch.rankings:
        return
    column = sketch.targets[0][1].column
    asks = any(node.op is Op.SHOW and node.text == "哪些" for node in sketch.nodes)
    if not sketch.chinese:
        said = [node.text.lower() for node in sketch.nodes if node.kind is not NodeKind.MARK]
        asks = sketch.op(0) is Op.SHOW and (said[-2:] == ["are", "there"] or " ".join(said[-3:]) in _HAVING)
        asks = asks or _are_all_kinds(sketch) or _have_rows(sketch)
    if column is None or sketch.targets[0][1].aggregate is not None or not asks or sketch.is_key(column):
        return
    if column not in labels(sketch.index, column.table, chinese=True):
        sketch.distinct = True


def _is_of_no_rows(sketch: Sketch) -> bool:
    """ "The grade taught in classroom 103": the rows that hold both are not spoken of, so that a grade is asked for once."""
    column = sketch.targets[0][1].column
    if (
        column is None
        or sketch.targets[0][1].aggregate is not None
        or sketch.rankings
        or sketch.orderings
        or sketch.groups
    ):
        return False
    own = {*labels(sketch.index, column.table), *key_columns(sketch.index, column.table)}
    asked = sketch.nodes[1].text.lower() if len(sketch.nodes) > 1 else ""
    is_asked = sketch.after(0) == sketch.targets[0][0] or asked in ("year", "years")
    if sketch.nodes[0].text.lower() in _IN_WHICH and is_asked and column not in own:
        # "In which years were cars produced": each year once.
        return True
    names_rows = any(
        pick.table == column.table and (pick.column is None or pick.with_table)
        for pick in sketch.assignment.picks.values()
    )
    return bool(sketch.conditions) and column not in own and not names_rows and not sketch.having


_IN_WHICH: Final = frozenset({"in which", "in what"})


def _have_rows(sketch: Sketch) -> bool:
    """ "The locations with a cinema", "which cities have airports": a location is asked for once, however many it has."""
    place, measure = sketch.targets[0]
    column = measure.column
    if column is None or column in labels(sketch.index, column.table):
        return False
    for other in range(place + 1, len(sketch.nodes)):
        if sketch.table(other) == column.table:
            between = {node.text.lower() for node in sketch.nodes[place + 1 : other]}
            return not between.isdisjoint(_OWNING) and between <= _OWNING | {
                "a",
                "an",
                "any",
                "some",
                "at",
                "least",
                "one",
            }
    return False


_OWNING = frozenset({"with", "have", "has", "that have", "which have", "that has", "having"})


def _have_such_rows(sketch: Sketch) -> bool:
    """ "Which countries have mountains in the Alps", "which industries do they work in": each is asked for once."""
    measure, words = sketch.targets[0][1], [node.text.lower() for node in sketch.nodes]
    is_asked = words[0] in ("which", "what") and sketch.after(0) == 1 == sketch.targets[0][0]
    has_rows = words[2:3] in (["have"], ["has"]) and measure.column is not None and not sketch.is_key(measure.column)
    is_plain = measure.aggregate is None and not (sketch.rankings or sketch.groups or sketch.having)
    if not is_asked or not is_plain:
        return False
    if words[2:3] in (["do"], ["are"], ["did"], ["were"]) and measure.column is not None:
        # "Which industries do our customers come from": industries are asked for, and not each customer's.
        is_label = measure.column in labels(sketch.index, measure.column.table)
        return base_form(words[1]) != words[1] and not is_label and not sketch.is_key(measure.column)
    return has_rows and sketch.table(sketch.after(2)) == measure.home


def _are_all_kinds(sketch: Sketch) -> bool:
    """ "Show all directors", where films name theirs: each of them once, for no rows are spoken of."""
    place = sketch.targets[0][0]
    names_rows = any(pick.column is None or pick.with_table for pick in sketch.assignment.picks.values())
    return not names_rows and any(node.text.lower() == "all" for node in sketch.nodes[max(0, place - 2) : place])


def list_beside(sketch: Sketch) -> None:
    """ "The names of actors and the musicals they are in": a table joined to what is asked for shows its labels.

    A value of rows that are not spoken of, and that nothing stands beside, is listed once.
    """
    _head_beside(sketch)
    _tables_beside(sketch)
    if len(sketch.targets) == 1 and not sketch.chinese and (_is_of_no_rows(sketch) or _have_such_rows(sketch)):
        sketch.distinct = True


def _tables_beside(sketch: Sketch) -> None:
    plain = [measure for _, measure in sketch.targets if measure.aggregate is None]
    if not plain:
        _listed_tables(sketch)
        return
    if len(plain) != len(sketch.targets):
        return
    _named_kind(sketch, plain)
    for place in range(len(sketch.nodes)):
        table = sketch.table(place)
        if table is None or not sketch.is_free(place) or not sketch.asked[place]:
            continue
        joint = sketch.after(place)
        words = sketch.nodes[joint].text.lower().split() if joint is not None and sketch.op(joint) is Op.AND else []
        opens = bool(POSSESSIVES & set(words))
        named = set(labels(sketch.index, table, chinese=sketch.chinese))
        beside = sketch.column(sketch.after(joint)) if words else None
        # "Films and their directors", "venues and capacities": whose they are is listed as well.
        is_own = beside is not None and beside not in named and not sketch.chinese
        is_own = (
            is_own and _is_whose(sketch, beside, table, opens=opens) and sketch.column(sketch.before(place)) is None
        )
        is_joined = sketch.op(sketch.before(place)) in ({Op.AND, Op.TO} if sketch.chinese else {Op.AND})
        if not is_joined and not opens and not is_own:
            continue
        if beside is not None and beside.table != table and beside.table == sketch.targets[0][1].home and not is_own:
            # "The recipes of Thai cuisine with their calories": the calories are the recipes'.
            continue
        # "Every city with its population" shows the city as well; "authors and their colleges" has named the authors.
        is_beside = is_own or (bool(words) and words[0] == "with")
        # "Makers and models", where models have makers: both are listed.
        is_listed = is_joined and sketch.column(sketch.before(sketch.before(place))) in {one.column for one in plain}
        # "Each ride with its park and the park's country": the park as well.
        is_listed = is_listed or _owns_again(sketch, place, table)
        is_beside = is_beside or (is_listed and not sketch.chinese)
        if any(measure.home == table and (not is_beside or measure.column in named) for measure in plain):
            continue
        if any(sketch.column(other) is not None for other in range(place + 1, min(place + 2, len(sketch.nodes)))):
            continue
        rating = rating_of_rows(sketch, place)
        shown = labels(sketch.index, table, chinese=sketch.chinese) if rating is None else (rating,)
        sketch.targets += [(place, Measure(column)) for column in shown]


def _first_named(sketch: Sketch) -> int | None:
    return next((place for place in range(len(sketch.nodes)) if sketch.pick(place) is not None), None)


def _owns_again(sketch: Sketch, place: int, table: int) -> bool:
    """Whether rows that are listed are named once more behind, as those whose something is."""
    return any(
        sketch.table(other) == table and sketch.nodes[other + 1].text in {"'s", "’s"}
        for other in range(place + 1, len(sketch.nodes) - 1)
    )


def _is_whose(sketch: Sketch, beside: ColumnRef | None, whose: int, *, opens: bool) -> bool:
    """Whether a column is of rows, or "their" column in what refers to them: "hosts and their roles", where who hosts what says the role."""
    rows = whose if beside is None else beside.table
    refers = any(edge.source == rows and edge.target == whose for edge in sketch.index.graph.edges_of(whose))
    return rows == whose or (opens and refers)


def _head_beside(sketch: Sketch) -> None:
    """ "Trails in Pine Ridge and their lengths", "which chef taught most and how often": whose it is is listed as well."""
    head = _first_named(sketch)
    table = sketch.table(head)
    if sketch.chinese or head is None or table is None or not sketch.targets or not sketch.asked[head]:
        return
    if any(node.kind is not NodeKind.STOP and node.op not in _OPENING for node in sketch.nodes[:head]):
        return
    first = min(place for place, _ in sketch.targets)
    joint = next((place for place in range(first - 1, head, -1) if sketch.op(place) is Op.AND), None)
    named = labels(sketch.index, table)
    if joint is None or any(measure.column in named for _, measure in sketch.targets):
        return
    is_theirs = bool(POSSESSIVES & set(sketch.nodes[joint].text.lower().split()))
    is_theirs = is_theirs or sketch.nodes[joint + 1].text.lower() in POSSESSIVES
    owned = next(measure for place, measure in sketch.targets if place == first)
    others = (sketch.table(place) for place in range(head + 1, joint))
    is_theirs = is_theirs and (owned.home == table or all(other is None for other in others))
    # What stands right behind them is read with the tables below.
    is_theirs = (is_theirs and joint > head + 1) or _is_of_theirs(sketch, joint, table, owned)
    asks_again = (
        joint > head + 1
        and sketch.op(0) is Op.SHOW
        and bool(sketch.rankings)
        and sketch.op(sketch.after(joint)) in _ASKING
    )
    if is_theirs or asks_again:
        sketch.targets = [(head, Measure(column)) for column in named] + sketch.targets


def _is_of_theirs(sketch: Sketch, joint: int, table: int, owned: Measure) -> bool:
    """ "Agents with the name of their agency", of which each has one."""
    refers = any(edge.source == table and edge.target == owned.home for edge in sketch.index.graph.edges_of(table))
    behind = {node.text.lower() for node in sketch.nodes[joint + 1 : joint + 1 + _OF_THEIRS_MAX]}
    is_with = sketch.nodes[joint].text.lower() == "with" and "of" in behind
    return refers and owned.aggregate is None and (is_with or not behind.isdisjoint(POSSESSIVES))


_OF_THEIRS_MAX: Final = 4
_OPENING: Final = frozenset({Op.SHOW, Op.EACH})
_ASKING: Final = frozenset({Op.SHOW, Op.COUNT})


def _named_kind(sketch: Sketch, plain: Sequence[Measure]) -> None:
    """ "Managers and their salaries", where staff are managers: who they are is listed as well."""
    for place in range(len(sketch.nodes)):
        kind, joint = sketch.value(place), sketch.after(place)
        words = set(sketch.nodes[joint].text.lower().split()) if joint is not None else set[str]()
        beside = sketch.column(sketch.after(joint))
        is_theirs = sketch.op(joint) is Op.AND and bool(words & POSSESSIVES)
        if kind is None or beside is None or not is_theirs or beside.table != kind.table:
            continue
        named = labels(sketch.index, kind.table, chinese=sketch.chinese)
        if all(measure.column not in named for measure in plain):
            sketch.targets += [(place, Measure(label)) for label in named]


def _listed_tables(sketch: Sketch) -> None:
    """ "The ten dearest products and their categories": both tables show their labels."""
    if sketch.targets:
        return
    for place in range(len(sketch.nodes)):
        joint = sketch.after(place)
        other = sketch.after(joint)
        if sketch.table(place) is None or sketch.op(joint) is not Op.AND or sketch.table(other) is None:
            continue
        if not (sketch.asked[place] and sketch.is_free(place) and sketch.is_free(other)):
            continue
        _show(sketch, place, *_tables_from(sketch, other))
        return
    _theirs_behind(sketch)


def _theirs_behind(sketch: Sketch) -> None:
    """ "Teachers hired after 2010 and their departments": they and what they have, whatever is said of them between."""
    named = (place for place in range(len(sketch.nodes)) if sketch.pick(place) is not None)
    # "All oil paintings with the museum".
    head = next((place for place in named if sketch.value(place) is None), None)
    if sketch.chinese or sketch.table(head) is None or not sketch.is_free(head):
        return
    for joint, node in enumerate(sketch.nodes):
        other = sketch.after(joint)
        is_theirs = node.op is Op.AND and bool(POSSESSIVES & set(node.text.lower().split()))
        is_theirs = is_theirs or _is_with_the(sketch, joint, head, other)
        if not is_theirs or sketch.table(other) in (None, sketch.table(head)) or not sketch.is_free(other):
            continue
        listed = _tables_from(sketch, other)
        behind = [node for node in sketch.nodes[listed[-1] + 1 :] if node.kind not in (NodeKind.STOP, NodeKind.MARK)]
        # "With the museum that owns them".
        if not behind or (len(behind) == 1 and behind[0].op is Op.RELATIVE):
            _show(sketch, head, *listed)
            return


def _is_with_the(sketch: Sketch, joint: int, head: int | None, other: int | None) -> bool:
    """ "Each loan with the lender", which each of them has one of."""
    table, rows = sketch.table(other), sketch.table(head)
    if table is None or rows is None or other != joint + 2 or sketch.nodes[joint + 1].text.lower() != "the":
        return False
    refers = any(edge.source == rows and edge.target == table for edge in sketch.index.graph.edges_of(rows))
    return sketch.nodes[joint].text.lower() == "with" and refers


def _tables_from(sketch: Sketch, first: int | None) -> list[int]:
    """ "Its lender and its borrower": all tables that are listed from one on."""
    places = [] if first is None else [first]
    while places:
        joint = sketch.after(places[-1])
        other = sketch.after(joint)
        if sketch.op(joint) is not Op.AND or other is None or sketch.table(other) is None or not sketch.is_free(other):
            break
        places.append(other)
    return places


def _show(sketch: Sketch, *places: int | None) -> None:
    """Show what the rows of tables are known by."""
    for place in places:
        table = sketch.table(place)
        if place is not None and table is not None:
            sketch.targets += [(place, Measure(label)) for label in labels(sketch.index, table, chinese=sketch.chinese)]


def is_listed(sketch: Sketch, place: int) -> bool:
    """内存和运营商: what stands in a list of columns is asked for, though its name is a longer one."""
    return any(
        0 <= place + 2 * step < len(sketch.nodes)
        and sketch.nodes[place + step].text in _JOINTS
        and sketch.column(place + 2 * step) is not None
        and sketch.value(place + 2 * step) is None
        for step in (-1, 1)
    )


def each_once(sketch: Sketch) -> None:
    """List what is asked for once, in the order of the question."""
    seen: dict[Measure, int] = {}
    for place, measure in sorted(sketch.targets, key=lambda item: item[0]):
        is_joined = place > 1 and (sketch.op(place - 1) is Op.AND or sketch.nodes[place - 1].text in _JOINTS)
        if is_joined and sketch.column(place - 2) == measure.column is not None:
            # "The name and level" are not one column twice.
            sketch.doubts += 1.0 if sketch.nodes[place].text.lower() != sketch.nodes[place - 2].text.lower() else 0.0
        seen.setdefault(measure, place)
    sketch.targets = [(place, measure) for measure, place in seen.items()]


_JOINTS: Final = frozenset({",", "、", "和", "与"})
