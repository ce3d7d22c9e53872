"""A table asked for as something that rows of another have: "the name, salary and department of each instructor".

What is listed beside columns is shown by its label, and the columns are those of the rows that it belongs to.
"""

from __future__ import annotations

from typing import Final

from querybus_translator.language.lexicon import Op
from querybus_translator.schema.labels import labels
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import Measure, condition_tables
from querybus_translator.writing.sketch import Sketch

_OF: Final = frozenset({"of", "for"})
_FILLING: Final = frozenset({"the", "a", "an", "all", "every", "any", "our", "their", "his", "her", "its"})
_POSSESSING: Final = frozenset({"'s", "’s", "'"})
_OTHER_OWNER_DOUBT: Final = 0.5


def read_attributes(sketch: Sketch) -> None:
    """Read each table that stands in a list of what is asked of the rows of another."""
    if sketch.chinese or sketch.rankings or any(node.op is Op.COUNT for node in sketch.nodes):
        return
    for place in range(len(sketch.nodes)):
        table = sketch.table(place)
        if table is None or not sketch.is_free(place) or not sketch.asked[place] or _is_owner(sketch, place):
            continue
        items = _items_around(sketch, place)
        owner = _owner_of(sketch, items)
        if owner is None or owner == table or not _refers(sketch, owner, table):
            continue
        columns = [item for item in items if sketch.column(item) is not None]
        said_each = _each_beside(sketch, items)
        if not columns and said_each is None:
            continue
        if not columns:
            sketch.targets += [(items[0] - 1, Measure(label)) for label in labels(sketch.index, owner)]
        sketch.take(place, said_each)
        sketch.targets += [(place, Measure(label)) for label in labels(sketch.index, table)]
        sketch.anchor = owner if sketch.anchor is None else sketch.anchor
        sketch.doubts += _OTHER_OWNER_DOUBT * any(_is_of_other(sketch, item, table, owner) for item in columns)


def _is_owner(sketch: Sketch, place: int) -> bool:
    """ "The themes of parties and ...": whose something is, and no item of a list."""
    before = place - 1
    while before >= 0 and sketch.nodes[before].text.lower() in _FILLING:
        before -= 1
    return before >= 0 and sketch.nodes[before].text.lower().split()[0] in _OF


def _each_beside(sketch: Sketch, items: list[int]) -> int | None:
    """Return where "each" stands behind a list, or before whose it is: "of each instructor", "each instructor's"."""
    first, behind = items[0], sketch.after(items[-1])
    before = first - 3 if first > 2 and sketch.nodes[first - 1].text in _POSSESSING else None
    return next((place for place in (behind, before) if sketch.op(place) is Op.EACH), None)


def _items_around(sketch: Sketch, place: int) -> list[int]:
    """Return the places of a list that one of its items stands at, in order."""
    items = [place]
    for step in (-1, 1):
        other, joined = place + step, False
        while 0 <= other < len(sketch.nodes):
            node = sketch.nodes[other]
            if node.text == "," or node.op is Op.AND:
                joined = True
            elif joined and (sketch.column(other) is not None or sketch.table(other) is not None):
                items.append(other)
                joined = False
            elif not (node.kind is NodeKind.STOP and node.text.lower() in _FILLING):
                break
            other += step
    return sorted(items)


def _owner_of(sketch: Sketch, items: list[int]) -> int | None:
    """Return the table whose rows the items of a list are asked of: behind "of", or before "'s"."""
    first, last = items[0], items[-1]
    if first > 1 and sketch.nodes[first - 1].text in _POSSESSING:
        return sketch.table(first - 2)
    behind = sketch.after(last)
    if behind is None:
        return None
    lead = sketch.nodes[behind].text.lower() if sketch.op(behind) is Op.EACH else ""
    between = {node.text.lower() for node in sketch.nodes[last + 1 : behind]}
    if sketch.op(behind) is Op.EACH:
        return sketch.table(sketch.after(behind)) if lead.split()[0] in _OF or between & _OF else None
    if not between & _OF:
        return None
    if sketch.nodes[behind].kind is NodeKind.TEXT or sketch.value(behind) is not None:
        tables = {
            table
            for placed in sketch.conditions
            if placed.place == behind
            for table in condition_tables(placed.condition)
        }
        return tables.pop() if len(tables) == 1 else None
    return sketch.table(behind)


def _refers(sketch: Sketch, owner: int, table: int) -> bool:
    edges = sketch.index.graph.between(owner, table)
    return any(edge.source == owner and edge.to_one for edge in edges)


def _is_of_other(sketch: Sketch, place: int, table: int, owner: int) -> bool:
    """Whether a column is taken for one of the table that is listed, though its owner has one that is called just so."""
    pick = sketch.pick(place)
    links = sketch.nodes[place].candidates
    return (
        pick is not None
        and pick.table == table
        and any(link.table == owner and link.value is None and link.score >= pick.score - 0.01 for link in links)
    )
