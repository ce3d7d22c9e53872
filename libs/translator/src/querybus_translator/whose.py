"""Of whom a column is said: of the rows that have it, of what a list of columns stands before, of what has the others in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from querybus_translator.language.lexicon import POSSESSIVES, Op, lexicon
from querybus_translator.language.stems import base_form
from querybus_translator.schema.comparison import Candidate
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.labels import key_columns, labels
from querybus_translator.schema.phrases import Node, NodeKind

MENTION_MIN: Final = 0.8


def beside(nodes: Sequence[Node], place: int, step: int) -> int | None:
    """Return the next node beyond stop words in one direction, None at the end."""
    other = place + step
    while 0 <= other < len(nodes) and nodes[other].kind is NodeKind.STOP:
        other += step
    return other if 0 <= other < len(nodes) else None


def of_whom(nodes: Sequence[Node], place: int) -> frozenset[int]:
    """ "Students that have an age over 20", "a cat that is of age 3", "the name and theme of each concert": the tables of
    which a column is said, where one of them has it; none where it need not be theirs.
    """
    joint = beside(nodes, place, -1)
    owner = beside(nodes, joint, -1) if joint is not None and nodes[joint].op is Op.RELATIVE else None
    owner = _possessor(nodes, place) if owner is None else owner
    owner = _of_listed(nodes, place) if owner is None else owner
    owner = _of_subject(nodes, place) if owner is None else owner
    owner = _among(nodes, place) if owner is None else owner
    link = nodes[owner].candidates[0] if owner is not None and nodes[owner].candidates else None
    if link is None or link.score < MENTION_MIN or (link.column is not None and link.value is None):
        return frozenset()
    best = nodes[place].candidates[0].score
    own = any(
        item.table == link.table and item.column is not None and item.value is None and item.score > best - _ALIKE
        for item in nodes[place].candidates
    )
    return frozenset({link.table}) if own else frozenset()


def _among(nodes: Sequence[Node], place: int) -> int | None:
    """ "Which country is most common among climbers", "the country that most climbers have": theirs."""
    places = [at for at, node in enumerate(nodes) if node.text.lower() == "among"]
    if not places:
        places = [at for at in (place + 1, place + 2) if at < len(nodes) and nodes[at].op in _MOST_OF]
    return beside(nodes, places[0], 1) if len(places) == 1 else None


_MOST_OF: Final = frozenset({Op.MOST, Op.FEWEST})


def _possessor(nodes: Sequence[Node], place: int) -> int | None:
    """ "Every climber's name": whose it is stands right before."""
    return place - 2 if place > 1 and nodes[place - 1].text in POSSESSIVE_MARKS else None


POSSESSIVE_MARKS: Final = frozenset({"'s", "’s", "'"})


def _of_subject(nodes: Sequence[Node], place: int) -> int | None:
    """ "How many climbers does each mountain have? Show the name", "for the mountain with most climbers, give the name": of what
    the question is about, where a name is said of nothing.
    """
    begun, end = _list_around(nodes, place)
    before = nodes[begun - 1] if begun else None
    is_shown = before is not None and (before.op in _LISTING or nodes[begun].op is Op.AND)
    is_said = end < len(nodes) and (nodes[end].text.lower() in {"of", "for"} or nodes[end].op in _SINGLING)
    if not is_shown or is_said or base_form(nodes[place].text.lower()) not in lexicon().label_words:
        return None
    leads = [at for at, node in enumerate(nodes) if node.op is Op.EACH]
    if leads:
        rows = beside(nodes, leads[0], 1) if len(leads) == 1 else None
        return None if rows is None or _is_of_both(nodes, rows) else rows
    first = next((at for at, node in enumerate(nodes[:begun]) if node.candidates), None)
    is_led = first is not None and nodes[0].text.lower() in {"for", "which", "what"}
    is_over = any(node.kind is NodeKind.MARK and node.text in {"?", ".", ","} for node in nodes[:begun])
    return first if is_led and is_over else None


_LISTING: Final = frozenset({Op.SHOW, Op.AND, Op.COUNT})


def _of_listed(nodes: Sequence[Node], place: int) -> int | None:
    """ "The name and theme of each concert": the rows behind a list of columns, where nothing else stands between."""
    begun, end = _list_around(nodes, place)
    if end >= len(nodes) or nodes[end].text.lower() not in _OF:
        return None
    rows = beside(nodes, end, 1)
    is_one = rows is not None and nodes[rows].op in _SINGLING
    rows = beside(nodes, rows, 1) if rows is not None and is_one else rows
    if rows is not None and (nodes[rows].is_value or nodes[rows].kind is NodeKind.TEXT):
        # "The name of Ann Lee's bridge".
        return rows + 2 if rows + 2 < len(nodes) and nodes[rows + 1].text in POSSESSIVE_MARKS else None
    if rows is None or not nodes[rows].candidates:
        return None
    # "The visit date and details of the visitor": what is not theirs stands in the list; "of customers and staff": of both.
    table = nodes[rows].candidates[0].table
    listed = [node.candidates for node in nodes[begun:end] if node.candidates]
    is_theirs = all(any(link.table == table and link.column is not None for link in links) for links in listed)
    # "The vessel names and the names of their captains": the latter alone.
    is_theirs = is_theirs or (end == place + 1 and nodes[end + 1].text.lower() in POSSESSIVES)
    return rows if is_theirs and (is_one or not _is_of_both(nodes, rows)) else None


def _is_of_both(nodes: Sequence[Node], rows: int) -> bool:
    """ "Of customers and staff"."""
    joint = beside(nodes, rows, 1)
    other = beside(nodes, joint, 1) if joint is not None and nodes[joint].op is Op.AND else None
    return other is not None and any(link.column is None for link in nodes[other].candidates[:1])


_OF: Final = frozenset({"of", "for", "of each", "of every", "for each", "for every"})
_SINGLING: Final = frozenset({Op.ADJECTIVE_MOST, Op.ADJECTIVE_LEAST})


def with_own_keys(nodes: Sequence[Node], index: CatalogIndex) -> tuple[Node, ...]:
    """Link "the ids of reservations", whose key is called `code`, to that, and not to the number of what they refer to."""
    return tuple(
        replace(node, kind=NodeKind.LINK, candidates=(key,)) if (key := _own_key(nodes, place, index)) else node
        for place, node in enumerate(nodes)
    )


def _own_key(nodes: Sequence[Node], place: int, index: CatalogIndex) -> Candidate | None:
    if base_form(nodes[place].text.lower()) not in _IDS or nodes[place].quoted:
        return None
    owner = _possessor(nodes, place)
    if owner is None:
        _, end = _list_around(nodes, place)
        owner = beside(nodes, end, 1) if end < len(nodes) and nodes[end].text.lower() in _OF else None
    rows = nodes[owner].candidates[0] if owner is not None and nodes[owner].candidates else None
    if rows is None or rows.column is not None or rows.score < MENTION_MIN:
        return None
    foreign = {
        name for edge in index.graph.edges_of(rows.table) if edge.source == rows.table for name in edge.source_columns
    }
    own = (link for link in nodes[place].candidates if link.table == rows.table and link.column is not None)
    if any(index.column(link.table, link.column or 0).name not in foreign for link in own):
        return None
    key = key_columns(index, rows.table)
    is_number = len(key) == 1 and key[0] not in labels(index, rows.table)
    return Candidate(key[0].table, key[0].column, None, 1.0) if is_number else None


_IDS: Final = frozenset({"id", "identifier"})


def of_siblings(nodes: Sequence[Node], place: int) -> frozenset[int]:
    """ "List the full name and the id": the id is of what has the full name, where one table alone has such a name."""
    words = lexicon()
    if base_form(nodes[place].text.lower()) not in words.key_words | words.label_words:
        return frozenset()
    begun, end = _list_around(nodes, place)
    if place + 1 < len(nodes) and nodes[place + 1].text.lower() in {"of", "for"}:
        return frozenset()
    siblings = [node.candidates for at, node in enumerate(nodes[begun:end], begun) if node.candidates and at != place]
    tables = [{link.table for link in links if link.score > links[0].score - _ALIKE} for links in siblings]
    common = frozenset(tables[0]).intersection(*tables[1:]) if tables else frozenset[int]()
    best = nodes[place].candidates[0].score
    has_own = any(
        link.table in common and link.column is not None and link.value is None and link.score > best - _ALIKE
        for link in nodes[place].candidates
    )
    return common if len(common) == 1 and has_own else frozenset()


def called_by_name(nodes: Sequence[Node], place: int, index: CatalogIndex) -> frozenset[tuple[int, int | None]]:
    """ "The course 'Spanish'", "the product named 'flax'": by its name, though its description is the same; empty where that is open."""
    node = nodes[place]
    before = beside(nodes, place, -1)
    is_of_column = before is not None and any(link.column is not None for link in nodes[before].candidates[:1])
    if not node.candidates or node.candidates[0].value is None or is_of_column:
        return frozenset()
    texts = {(link.table, link.column) for link in node.candidates if link.value is not None}
    names = {(name.table, name.column) for table, _ in texts for name in labels(index, table)} & texts
    tables = {table for table, _ in texts}
    return frozenset(names) if len(tables) == 1 and names else frozenset()


ORIGINS: Final = frozenset({"start", "origin", "source", "from", "departure", "departing", "pickup", "begin", "sender"})
DESTINATIONS: Final = frozenset(
    {"end", "destination", "dest", "target", "to", "arrival", "arriving", "dropoff", "delivery", "receiver", "return"}
)
"""Words of columns and roles that say at which of its ends something is."""


def said_way(nodes: Sequence[Node], place: int, index: CatalogIndex) -> frozenset[tuple[int, int | None]]:
    """ "Trains from Riga to Tartu": of the columns that hold a place the one at the end that is said; empty where it is not."""
    before = [node.text.lower() for node in nodes[max(0, place - 2) : place] if node.text.lower() != "the"]
    ways = {"from": (ORIGINS, DESTINATIONS), "to": (DESTINATIONS, ORIGINS)}.get(before[-1] if before else "")
    if ways is None:
        return frozenset()
    holds: list[set[tuple[int, int | None]]] = [set(), set()]
    for link in nodes[place].candidates:
        if link.value is not None and link.column is not None:
            words = {word for name in index.entry_of_column(link.table, link.column).names for word in name}
            for found, way in zip(holds, ways, strict=True):
                found.update({(link.table, link.column)} if words & way else ())
    wanted, others = holds
    return frozenset(wanted) if wanted - others and others - wanted else frozenset()


def in_other_units(nodes: Sequence[Node], place: int, index: CatalogIndex) -> frozenset[tuple[int, int | None]]:
    """ "A price above 700 dollars": of several prices of the same rows those that are in no dollars, where one is."""
    near = nodes[max(0, place - _UNIT_NEAR) : place + _UNIT_NEAR + 1]
    units = {base_form(node.text.lower()) for node in near if node.op is Op.UNIT and node.text.isalpha()}
    if not units:
        return frozenset()
    columns = {
        (link.table, link.column): any(
            not units.isdisjoint(name) for name in index.entry_of_column(link.table, link.column).names
        )
        for link in nodes[place].candidates
        if link.column is not None and link.value is None
    }
    tables = {table for (table, _), is_said in columns.items() if is_said}
    return frozenset(column for column, is_said in columns.items() if column[0] in tables and not is_said)


_UNIT_NEAR: Final = 5


def _list_around(nodes: Sequence[Node], place: int) -> tuple[int, int]:
    """Return where the list of columns that a node is in begins and ends."""
    begun, end = place, place + 1
    # "The name and the name of the mountain": not of the mountain twice.
    said = nodes[place].text.lower()
    while begun > 0 and _is_listed(nodes[begun - 1], said):
        begun -= 1
    while end < len(nodes) and _is_listed(nodes[end], said):
        end += 1
    return begun, end


def _is_listed(node: Node, said: str) -> bool:
    if node.text.lower() == said:
        return False
    is_column = bool(node.candidates) and node.candidates[0].column is not None and not node.is_value
    return is_column or node.op is Op.AND or node.text in {",", "the", "The"}


_ALIKE: Final = 0.05
