"""Near questions about totals: "how much did each patient spend?" and "the best-selling products" name no figure of the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Final

from querybus.core.catalog import Language
from querybus.text.labels import flag_values
from querybus.text.words import plural
from querybus_translator.answers.options import display, display_rows
from querybus_translator.language.lexicon import Op
from querybus_translator.language.names import is_han
from querybus_translator.language.stems import base_form
from querybus_translator.readers.figures.amounts import SUMS_OF_MONEY
from querybus_translator.readers.figures.payments import is_money, is_price_of_rows
from querybus_translator.schema.additive import is_additive
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.phrases import Node, NodeKind
from querybus_translator.writing.sketch import TEMPORAL

TABLES_TRIED_MAX: Final = 6
BEST_OFFERED: Final = 5


def how_much(nodes: Sequence[Node], index: CatalogIndex, language: Language) -> Iterator[str]:
    """ "How much did each patient spend?": give the total of each figure, where the sentence is a verb and periods beside that."""
    place = next((place for place, node in enumerate(nodes) if node.op is Op.EACH), len(nodes))
    named = nodes[place + 1] if place + 1 < len(nodes) else None
    said = " ".join(node.text.lower() for node in nodes[:place])
    if named is None or named.kind is not NodeKind.LINK or named.is_value:
        return
    if not ("how much" in said if language == "en" else any(node.text == "多少钱" for node in nodes[place:])):
        return
    others = [
        node
        for node in (*nodes[:place], *nodes[place + 2 :])
        if node.kind not in (NodeKind.STOP, NodeKind.MARK, NodeKind.PERIOD)
        and node.op not in (Op.IN_ALL, Op.ADJECTIVE_ASK)
    ]
    verb = [node for node in nodes[place + 2 :] if node.op is not Op.IN_ALL][:1]
    # What else is said may be the verb right behind who does it, and nothing more.
    if others not in ([], verb) or any(
        node.kind not in (NodeKind.WORD, NodeKind.LINK) or node.is_value for node in others
    ):
        return
    when = _when(nodes, language)
    for figure in _totals_about(named.candidates[0].table, index, language):
        group = f"{nodes[place].text}{named.text}"
        yield f"{when}{group}的{figure}" if language == "zh" else f"T{figure[1:]} of each {named.text.lower()}{when}"


def by_totals(question: str, nodes: Sequence[Node], unread: Sequence[Node], index: CatalogIndex) -> Iterator[str]:
    """ "Revenue by hotel": give the question with each total about the hotels in place of the one word that is not known."""
    place = next((place for place, node in enumerate(nodes) if node.op in (Op.BY, Op.EACH)), len(nodes))
    named = nodes[place + 1] if place + 1 < len(nodes) else None
    if len(unread) != 1 or unread[0] not in nodes[:place] or is_han(unread[0].text) or unread[0].capital:
        return
    if named is None or named.kind is not NodeKind.LINK or named.is_value or any(node.is_value for node in unread):
        return
    start = question.find(unread[0].text)
    only_money = unread[0].text.lower() in SUMS_OF_MONEY
    for figure in _totals_about(named.candidates[0].table, index, "en", only_money=only_money):
        yield question[:start] + figure + question[start + len(unread[0].text) :]


def best_by_totals(nodes: Sequence[Node], index: CatalogIndex, language: Language) -> Iterator[str]:
    """ "What are the best-selling products?": give the first of them by the total of each figure, where no figure is named."""
    named = _alone(nodes, Op.HIGHEST)
    if named is None:
        return
    most, when = _number(nodes) or BEST_OFFERED, _when(nodes, language)
    for figure in _totals_about(named.candidates[0].table, index, language):
        if language == "zh":
            yield f"{when}{figure}最高的{most}个{named.text}"
        else:
            yield f"Top {most} {plural(named.text.lower())} by {figure}{when}"


def most_referred(nodes: Sequence[Node], index: CatalogIndex, language: Language) -> Iterator[str]:
    """ "The most popular products": give those with the most rows that refer to them, of each table of such rows."""
    named = _alone(nodes, Op.COMMON)
    if named is None:
        return
    table, most, when = named.candidates[0].table, _number(nodes), _when(nodes, language)
    for near in _nearest_first(table, index)[:TABLES_TRIED_MAX]:
        if near == table:
            continue
        counted = display(index.table(near), language)
        if language == "zh":
            yield f"{when}{counted}最多的{most or 1}个{named.text}"
        else:
            said = named.text.lower()
            has = "has" if base_form(said) == said and not most else "have"
            asked = f"Which {f'{most} ' if most else ''}{said} {has}"
            yield f"{asked} the most {plural(counted)}{when}?"


def how_many_days(nodes: Sequence[Node], index: CatalogIndex, language: Language) -> Iterator[str]:
    """ "How long does a delivery take?": give the average days from one date to a later one of the same row."""
    said = [node.text.lower() for node in nodes]
    text = " ".join(said)
    asks = any(words in text for words in _ASKED_LENGTHS) or any(
        word in _LENGTHS for word in (*said, *map("".join, pairwise(said)))
    )
    if not asks or any(not (_is_light(node) or node.op in _BESIDE_LENGTHS) for node in nodes):
        return
    links = [node.candidates[0] for node in nodes if node.kind is NodeKind.LINK]
    words = [node.text for node in nodes if node.kind is NodeKind.WORD and is_han(node.text)]
    near = [named for word in words for named in index.sharing_signs(word)]
    numbers = range(len(index.catalog.tables))
    tables = [link.table for link in links] or [
        number
        for number in numbers
        if any(named is item for named in near for item in (index.table(number), *index.table(number).columns))
    ]
    when = _when(nodes, language)
    ends = {(link.table, link.column) for link in links}
    for table in dict.fromkeys(tables or numbers):
        days = [number for number, column in enumerate(index.table(table).columns) if column.kind in TEMPORAL]
        # A date that was named is the end.
        pairs = sorted(combinations(days, 2), key=lambda pair: (table, pair[1]) not in ends)
        for pair in pairs[:TABLES_TRIED_MAX]:
            begin, end = (display(index.column(table, number), language) for number in pair)
            yield (
                f"{when}从{begin}到{end}平均几天？" if language == "zh" else f"Average days from {begin} to {end}{when}"
            )


def busiest(nodes: Sequence[Node], index: CatalogIndex) -> Iterator[str]:
    """ "Busiest month": give the month with the most rows of each table of what happens on days, the largest tables first."""
    said = " ".join(node.text.lower() for node in nodes)
    which = next((most for word, most in _BUSY.items() if word in said), None)
    unit = next((unit for words, unit in _STEPS if words in said), None)
    if which is None or unit is None:
        return
    links = [node.candidates[0] for node in nodes if node.kind is NodeKind.LINK]
    named = {link.table for link in links if link.column is None}
    events = [
        number
        for number, table in enumerate(index.catalog.tables)
        if table.foreign_keys and any(column.kind in TEMPORAL for column in table.columns)
    ]
    events = [number for number in events if number in named] or events
    for number in sorted(events, key=lambda number: -(index.table(number).row_estimate or 0))[:TABLES_TRIED_MAX]:
        yield f"Which {unit} has the {which} {display_rows(index.table(number), 'en')}?"


_BUSY: Final = {"busiest": "most", "quietest": "fewest", "slowest": "fewest"}
_STEPS: Final = (
    ("day of the week", "weekday"),
    ("weekday", "weekday"),
    ("hour", "hour of the day"),
    ("time of day", "hour of the day"),
    ("day", "day"),
    ("week", "week"),
    ("month", "month"),
    ("quarter", "quarter"),
    ("year", "year"),
)


_ASKED_LENGTHS: Final = ("how long", "how many days", "number of days", " time")
_LENGTHS: Final = frozenset({"多少天", "几天", "多久", "多长时间"})
_BESIDE_LENGTHS: Final = (Op.ADJECTIVE_ASK, Op.AVERAGE, Op.COUNT, Op.UNIT, Op.SHOW, Op.TIMES)


def _is_light(node: Node) -> bool:
    """Whether a node is a name, an unknown word or a period, or says nothing."""
    kinds = (NodeKind.LINK, NodeKind.WORD, NodeKind.STOP, NodeKind.MARK, NodeKind.PERIOD)
    return node.kind in kinds and not node.is_value and not node.capital


def _alone(nodes: Sequence[Node], op: Op) -> Node | None:
    """Return the table that a question ranks by an operation, where it says nothing else but a number and periods."""
    named = [node for node in nodes if node.kind is NodeKind.LINK]
    known = (NodeKind.STOP, NodeKind.MARK, NodeKind.NUMBER, NodeKind.PERIOD, NodeKind.LINK)
    if len(named) != 1 or named[0].is_value or named[0].candidates[0].column is not None:
        return None
    if [node.op for node in nodes if node.kind not in known and node.op is not Op.SHOW] != [op]:
        return None
    return named[0] if sum(node.kind is NodeKind.NUMBER for node in nodes) <= 1 else None


def _number(nodes: Sequence[Node]) -> int | float | None:
    return next((node.number for node in nodes if node.kind is NodeKind.NUMBER), None)


def _totals_about(table: int, index: CatalogIndex, language: Language, *, only_money: bool = False) -> list[str]:
    """Return the names of the totals of the figures that are summed in the tables whose rows refer to those of a table, the nearest first.

    Where there are none such, all figures; of its own where no table refers to it. A name that others have too has its
    table's before it.
    """
    figures = figures_of(_nearest_first(table, index), index)
    summed = [place for place in figures if is_additive(index, *place)] or figures
    if not any(is_money(index, *place) for place in summed):
        # "Revenue per client" may be the prices of what they ordered, where nothing else is money.
        summed = [*(place for place in figures if is_price_of_rows(index, *place)), *summed]
    if only_money:
        summed = [place for place in summed if is_money(index, *place) or is_price_of_rows(index, *place)]
    summed.sort(key=lambda place: not is_money(index, *place) and not is_price_of_rows(index, *place))
    names = Counter(column.name.lower() for item in index.catalog.tables for column in item.columns)
    called: list[str] = []
    for near, number in summed:
        column = index.column(near, number)
        name = display(column, language)
        if names[column.name.lower()] > 1 and language == "en":
            *words, last = display(index.table(near), language).split()
            name = " ".join((*words, base_form(last), name))
        if name.lower() == "total":
            called.append(f"total of {display_rows(index.table(near), language)}")
            continue
        total = "总" if language == "zh" else "total "
        called.append(name if name.lower().startswith(total) else total + name)
    return called


def figures_of(tables: Sequence[int], index: CatalogIndex) -> list[tuple[int, int]]:
    """Return table and column of each figure that is no key, of the first TABLES_TRIED_MAX tables."""
    return [
        (table, number)
        for table in tables[:TABLES_TRIED_MAX]
        for number in range(len(index.table(table).columns))
        if index.holds_figures(table, number)
        and not index.is_key(table, number)
        and flag_values(index.column(table, number)) is None
    ]


def _when(nodes: Sequence[Node], language: Language) -> str:
    """Return the periods that a question says, as they stand before a Chinese sentence or behind an English one."""
    periods = [node.text for node in nodes if node.kind is NodeKind.PERIOD]
    if language == "zh":
        return "".join(periods)
    return "".join(f" in {text}" if text[:1].isupper() or text[:1].isdigit() else f" {text}" for text in periods)


def _nearest_first(start: int, index: CatalogIndex) -> list[int]:
    """Return the tables whose rows refer to those of a table, the nearest first; itself where none does."""
    found = [start]
    for table in found:
        found += sorted({edge.source for edge in index.graph.edges_of(table) if edge.target == table} - {*found})
    return found[1:] or found
