"""What a question may mean where it may mean several things: the same question, said so that only one thing is left.

"Parcels by party" becomes "parcels by sender" and "parcels by receiver"; "orders by city" names whose city. Every option
is read again and kept only if it leads to a reading of its own, so that an option can be asked as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from querybus.core.catalog import Language
from querybus.text.words import singular
from querybus_translator.answers.options import OPTIONS_MAX, display
from querybus_translator.readers.reading import Reading
from querybus_translator.schema.comparison import Candidate
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.phrases import Node

_RIVALS_MAX = 4
_MEANINGS_MAX = 4
REREADINGS_MAX = 6


@dataclass(frozen=True, slots=True)
class Choice:
    """The words that may mean several things, and the question once for each of them."""

    about: str
    options: tuple[str, ...]


ReadAgain = Callable[[str], Reading | None]


def choice_of(
    question: str, readings: Sequence[Reading], index: CatalogIndex, language: Language, read_again: ReadAgain
) -> Choice | None:
    """Return what to choose between, None where fewer than two ways to say it are left.

    `read_again` gives the reading that would be answered with, None for a question that would be asked about.
    """
    read_left = REREADINGS_MAX
    for about, rewrites in _rewrites(question, readings, index, language):
        options: dict[str, str] = {}
        for meaning in rewrites[:_MEANINGS_MAX]:
            for item in meaning:
                if item == question or not read_left:
                    continue
                read_left -= 1
                result = read_again(item)
                if result is not None and result.written.sql not in options:
                    options[result.written.sql] = item
                    break
        if len(options) >= 2:
            return Choice(about, tuple(options.values())[:OPTIONS_MAX])
    return None


def _rewrites(
    question: str, readings: Sequence[Reading], index: CatalogIndex, language: Language
) -> Iterator[tuple[str, list[list[str]]]]:
    """Give the words in doubt, and for each thing that they may mean some ways to say it."""
    best = readings[0]
    nodes = best.sketch.nodes
    for keys in best.written.keys:
        for place, table in _naming(best, {keys[0].source, keys[0].target}):
            named = [
                index.called(len(index.catalog.tables) + number, language) or ""
                for number, role in enumerate(index.roles)
                if role.table == table and role.source in {keys[0].source, keys[0].target}
            ]
            yield nodes[place].text, [[_with(question, nodes[place], item)] for item in named]
    for target, ways in best.written.ways:
        for place, _ in _naming(best, {target}):
            said = nodes[place].text
            owners = [display(index.table(table), language) for way in ways for table in sorted(way)]
            yield (
                said,
                [[_with(question, nodes[place], item) for item in _owned(said, owner, language)] for owner in owners],
            )
    for place, picks in _rival_picks(readings):
        node = nodes[place]
        yield (
            node.text,
            [[_with(question, node, item) for item in _qualified(pick, node, index, language)] for pick in picks],
        )


def _naming(best: Reading, tables: set[int]) -> Iterator[tuple[int, int]]:
    """Give the places where one of these tables, or a column or value of it, is named."""
    for place, pick in sorted(best.sketch.assignment.picks.items()):
        if pick.table in tables:
            yield place, pick.table


def _rival_picks(readings: Sequence[Reading]) -> Iterator[tuple[int, list[Candidate]]]:
    """Give the places that the closest readings understand otherwise than the best one, with each meaning once."""
    best = readings[0]
    for place, pick in sorted(best.sketch.assignment.picks.items()):
        picks = [pick]
        for other in readings[1:_RIVALS_MAX]:
            meant = other.sketch.assignment.picks.get(place)
            if meant is not None and all((meant.table, meant.column) != (pick.table, pick.column) for pick in picks):
                picks.append(meant)
        if len(picks) > 1:
            yield place, picks


def _owned(said: str, owner: str, language: Language) -> tuple[str, ...]:
    if language == "zh":
        return (f"{owner}{said}", f"{owner}的{said}", f"{owner}所在{said}")
    single = singular(owner)
    return (f"{single} {said}", f"{said} of {owner}", f"{said} of the {single}")


def _qualified(pick: Candidate, node: Node, index: CatalogIndex, language: Language) -> tuple[str, ...]:
    """Name a meaning so that it differs from others: a column with its table, a value with its column."""
    table = index.called(pick.table, language) or display(index.table(pick.table), language)
    if pick.column is None:
        return (table,)
    column = display(index.column(pick.table, pick.column), language)
    if pick.value is not None:
        return (
            (f"{column}为{node.text}",)
            if language == "zh"
            else (f"{column} {node.text}", f"{table} {column} {node.text}")
        )
    return (column, *_owned(column, table, language))


def _with(question: str, node: Node, text: str) -> str:
    """Return the question with a node's words replaced; unchanged where they do not stand there as one piece."""
    start = question.lower().find(node.text.lower())
    return question if start < 0 or not text else question[:start] + text + question[start + len(node.text) :]
