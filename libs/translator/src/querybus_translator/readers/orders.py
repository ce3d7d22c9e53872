"""Words that sort become the order of the rows; words that group become groups.

"in descending order of price", "sorted by name", 按价格降序; "for each city", "per month", 每个城市.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from querybus.core.catalog import ColumnKind
from querybus_translator.language.clauses import adjective_concepts
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.readers.figures.amounts import has_few_values
from querybus_translator.schema.labels import labels
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import Aggregate, Measure, Ordering
from querybus_translator.writing.sketch import TEMPORAL, Sketch

SORTING = (Op.ORDER, Op.ASCENDING, Op.DESCENDING)
_FIGURES = {
    Op.SUM: Aggregate.SUM,
    Op.AVERAGE: Aggregate.AVERAGE,
    Op.MAXIMUM: Aggregate.MAXIMUM,
    Op.MINIMUM: Aggregate.MINIMUM,
}


MAKES_FIGURE = frozenset({
    Op.COUNT, Op.COUNT_KINDS, Op.MOST, Op.FEWEST, Op.COMMON, Op.RARE, Op.HIGHEST, Op.LOWEST, Op.FREQUENCY, Op.SHARE, *_FIGURES,
})  # fmt: skip


def read_orders(sketch: Sketch) -> None:
    """Read what sorts the rows."""
    _listed_by(sketch)
    _rows_by_figure(sketch)
    places = [place for place in sketch.free_places(*SORTING) if not _is_verb(sketch, place)]
    if places:
        _read_order(sketch, places)
    if any("young" in sketch.nodes[place].text.lower() for place in places):
        # "From the oldest to the youngest": the greatest age is the earliest day.
        sketch.orderings = [
            replace(one, descending=not one.descending) if _is_day(sketch, one.by) else one for one in sketch.orderings
        ]


def _is_day(sketch: Sketch, by: Measure) -> bool:
    return by.column is not None and (
        sketch.kind(by.column) in TEMPORAL or bool({"birth", "born"} & set(sketch.words_of(by.column)))
    )


def _read_order(sketch: Sketch, places: list[int]) -> None:
    descending = any(sketch.op(place) is Op.DESCENDING for place in places)
    first, last = places[0], places[-1]
    measures: list[Measure] = []
    for place in sorted(places, key=lambda item: (not sketch.nodes[item].text.lower().endswith((" by", " of")), item)):
        if _sorts_letters(sketch.nodes[place].text) and sketch.op(sketch.after(place)) is Op.RELATIVE:
            # "In alphabetical order with the number of trips": no number stands in the order of letters.
            continue
        measures = _keys_behind_by(sketch, place) or keys_from(sketch, place)
        if measures:
            break
    if not measures:
        measures = _keys_before(sketch, first)
    for place in places:
        sketch.take(place)
        for beside in (place - 1, place + 1):
            if 0 <= beside < len(sketch.nodes) and sketch.op(beside) is Op.BY:
                sketch.take(beside)
    if measures:
        # "Sorted by birth year, youngest first" has said which way.
        said = [one.by.column for one in sketch.orderings]
        if said != [item.column for item in measures]:
            sketch.orderings = [Ordering(item, descending) for item in measures]
        return
    if sketch.orderings:
        # "Sorted by the ones with the highest revenue first" has said by what.
        return
    if any(node.op is Op.COUNT for node in sketch.nodes) and not any(
        _sorts_letters(sketch.nodes[place].text) for place in places
    ):
        # "Number of members by town, most first": a count is what grows or shrinks.
        sketch.orderings = [Ordering(Measure(aggregate=Aggregate.COUNT), descending)]
        return
    if any(_sorts_times(sketch.nodes[place].text) for place in places):
        # "The earliest first" sorts by a time; where the rows have none, by nothing that is known.
        times = [column for table in sketch.mentioned_tables()[:1] for column in sketch.time_columns(table)]
        aged = [place for place in places if "young" in sketch.nodes[place].text.lower()]
        age = sketch.concept_column(adjective_concepts("oldest"), aged[0], ()) if aged else None
        if age is not None and not age[1]:
            times = [age[0]]  # "from oldest to youngest", where their ages are known
        sketch.orderings = [Ordering(Measure(column), descending) for column in times[:1]]
        sketch.doubts += 0.05 * (len(times) - 1) if times else 1.0
        return
    sizes = any(_sorts_sizes(sketch.nodes[place].text) for place in places)
    # "List the names in alphabetical order": what is listed first is what sorts.
    free = [place for place in range(first) if sketch.is_free(place) and sketch.asked[place]]
    for place in (*free, *(place for place in range(last, len(sketch.nodes)) if sketch.is_free(place))):
        column = sketch.column(place)
        if column is not None:
            sketch.orderings = [Ordering(Measure(column), descending)]
            # "Where are the schools, from the smallest to the largest": a name has no size.
            has_none = (sizes or bool(sketch.free_places(Op.BY))) and sketch.kind(column) is ColumnKind.TEXT
            sketch.doubts += 1.0 if has_none else 0.05 * (place >= last)
            return
    by_name = any(_sorts_letters(sketch.nodes[place].text) for place in places)
    named = [labels(sketch.index, table) for table in sketch.mentioned_tables()[:1] if by_name]
    # "Customers from A to Z" stand by their names; what has another order stands by nothing that is known.
    sketch.orderings = [Ordering(Measure(column), descending) for columns in named for column in columns]
    sketch.doubts += 0.05 if sketch.orderings else 1.0


def _listed_by(sketch: Sketch) -> None:
    """按开业年份列出所有制造商: rows that are listed by columns stand in their order, where no figure asks for groups."""
    if not sketch.chinese or any(node.op in MAKES_FIGURE for node in sketch.nodes):
        return
    for place in sketch.free_places(Op.BY):
        named: list[int] = []
        following = sketch.after(place)
        while following is not None and sketch.column(following) is not None and sketch.is_free(following):
            named.append(following)
            behind = sketch.nodes[following + 1] if following + 1 < len(sketch.nodes) else None
            if behind is None or not (behind.op is Op.TO or behind.text == "、"):
                following = sketch.after(following)
                break
            following = sketch.after(following + 1)
        sorts = following if sketch.op(following) in SORTING else None
        ends = sketch.op(following) is Op.SHOW or (sorts is not None and len(named) > 1)
        columns = [column for item in named if (column := sketch.column(item)) is not None]
        if columns and ends:
            sketch.take(place, *named, *(item for item in (sorts,) if item is not None))
            descending = sketch.op(sorts) is Op.DESCENDING
            sketch.orderings = [Ordering(Measure(column), descending=descending) for column in columns]
            return


def _rows_by_figure(sketch: Sketch) -> None:
    """ "Show employees by salary, highest first": rows in the order of a figure or a day of theirs, which is not asked for alone."""
    if sketch.chinese or any(node.op in MAKES_FIGURE - {Op.HIGHEST, Op.LOWEST} for node in sketch.nodes):
        return
    for place in sketch.free_places(Op.BY):
        listed, named = sketch.before(place), sketch.after(place)
        while listed is not None and _narrows(sketch, listed):
            # "The races in 2023 by date", "the mills of Ann Lee by height".
            listed = sketch.before(listed)
        table, column = sketch.table(listed), sketch.column(named)
        if table is None or listed is None or column is None or column.table != table or not sketch.is_free(named):
            continue
        sorts = bool(sketch.orderings) or any(node.op in SORTING for node in sketch.nodes)
        # "The names of the mills by height, highest first".
        opens = all(
            node.kind is NodeKind.STOP
            or node.op is Op.SHOW
            or sketch.value(other) is not None
            or sketch.column(other) is not None
            or node.op is Op.AND
            or node.text == ","
            for other, node in enumerate(sketch.nodes[:listed])
        )
        is_kind = has_few_values(sketch, column) and not sorts
        is_figure = sketch.is_numeric(column) and not sketch.is_key(column) and not is_kind
        behind = sketch.after(named)
        ends = behind is None or sketch.op(behind) in SORTING
        if opens and sketch.op(0) is Op.SHOW and ends and (is_figure or sketch.kind(column) in TEMPORAL):
            sketch.take(place, named)
            descending = any(node.op is Op.DESCENDING for node in sketch.nodes)
            sketch.orderings = sketch.orderings or [Ordering(Measure(column), descending)]
            return


def _narrows(sketch: Sketch, place: int) -> bool:
    """Whether a node says which of the rows before it are meant: a period, a value, a name."""
    node = sketch.nodes[place]
    return node.period is not None or node.kind is NodeKind.TEXT or sketch.value(place) is not None


def _is_verb(sketch: Sketch, place: int) -> bool:
    """ "How many customers ordered in May?": nothing is sorted, somebody placed orders."""
    following = sketch.after(place)
    node = None if following is None else sketch.nodes[following]
    is_bare = sketch.nodes[place].text.lower() in {"ordered", "ordered in", "order in"}
    return is_bare and (node is None or node.kind is NodeKind.PERIOD)


def _sorts_letters(text: str) -> bool:
    return any(name in text.lower() for name in ("alphabet", "lexic", "字母"))


def _sorts_sizes(text: str) -> bool:
    return any(word in text.lower() for word in ("small", "large", "big", "大", "小"))


def _sorts_times(text: str) -> bool:
    return any(word in text.lower() for word in ("earliest", "latest", "newest", "old", "recent", "新", "旧"))


def _keys_behind_by(sketch: Sketch, place: int) -> list[Measure]:
    """ "Sort all names by age": the sorting word stands first, the key behind a later "by"."""
    if sketch.nodes[place].text.lower().endswith((" by", " of")):
        return []
    for other in range(place + 2, sketch.sentence_end(place)):
        if sketch.op(other) is Op.BY:
            result = keys_from(sketch, other)
            if result:
                sketch.take(other)
                return result
    return []


def keys_from(sketch: Sketch, place: int) -> list[Measure]:
    measures: list[Measure] = []
    at = sketch.after(place, over=(*SORTING, Op.BY, Op.RELATIVE))
    while at is not None:
        if sketch.table(at) is not None and sketch.column(sketch.after(at)) is not None:
            # "By the company's market value": the owner stands before the key.
            at = sketch.after(at)
        if at is None:
            break
        measure, end = _measure_at(sketch, at)
        if measure is None:
            break
        measures.append(measure)
        joint = sketch.after(end)
        if sketch.op(joint) is not Op.AND:
            break
        beyond = sketch.after(joint)
        if sketch.op(sketch.after(beyond)) in {Op.GREATER, Op.LESS, Op.AT_LEAST}:
            break
        sketch.take(joint)
        at = beyond
    return measures


def _measure_at(sketch: Sketch, place: int) -> tuple[Measure | None, int]:
    column = sketch.column(place)
    if column is not None:
        if not sketch.asked[place] or sketch.is_free(place):
            sketch.take(place)
        return Measure(column), place
    if sketch.op(place) in {Op.COUNT, Op.FREQUENCY}:
        named = sketch.after(place, over=(Op.DISTINCT,))
        sketch.take(place)
        if sketch.table(named) is not None and named is not None:
            sketch.take(named)
            table = sketch.table(named)
            counting = sketch.count_column(table) if table is not None else None
            if counting is not None and table is not None:
                sketch.hidden_tables.add(table)
                return Measure(counting), named
            return Measure(aggregate=Aggregate.COUNT, table=table), named
        counted = sketch.column(named)
        if counted is not None and named is not None:
            sketch.take(named)
            if sketch.is_numeric(counted):
                return Measure(counted), named
            return Measure(counted, Aggregate.COUNT), named
        return Measure(aggregate=Aggregate.COUNT), place
    if sketch.nodes[place].text.lower() in _COUNTED and any(node.op is Op.COUNT for node in sketch.nodes[:place]):
        # "And the number of ships, in descending order of the number": of what was counted.
        sketch.take(place)
        return Measure(aggregate=Aggregate.COUNT), place
    if sketch.op(place) in _FIGURES:
        named = sketch.after(place)
        counted = sketch.column(named)
        if counted is not None and named is not None:
            sketch.take(place, named)
            return Measure(counted, _FIGURES[sketch.op(place) or Op.SUM]), named
    return None, place


_COUNTED: Final = frozenset({"number", "numbers", "count", "counts"})


def _key_before(sketch: Sketch, place: int) -> int | None:
    """Return what stands before sorting words: "by price, highest first", "by the number of farms they own, largest first"."""
    is_apart = not sketch.chinese and place > 0 and sketch.nodes[place - 1].text == ","
    other = sketch.before(place - 1 if is_apart else place, over=(Op.UNIT,))
    if other is None or sketch.chinese:
        return other
    if sketch.nodes[other].text.lower() in lexicon().verbs and sketch.nodes[other - 1].text.lower() == "they":
        other = sketch.before(other)
    owner, figure = sketch.table(other), sketch.column(sketch.before(other))
    # "By total area of their parks".
    return sketch.before(other) if figure is not None and figure.table == owner else other


def _keys_before(sketch: Sketch, place: int) -> list[Measure]:
    """按价格降序, "by age in descending order": the key stands before the sorting words."""
    other = _key_before(sketch, place)
    count = other if sketch.op(other) is Op.COUNT else None
    if count is not None:
        other = sketch.before(count)
        if sketch.table(other) is not None and sketch.op(sketch.before(other)) is Op.BY:
            sketch.take(count, other, sketch.before(other))
            return [Measure(aggregate=Aggregate.COUNT, table=sketch.table(other))]
        return []
    marker = sketch.before(other)
    by = sketch.before(marker) if sketch.op(sketch.before(marker)) is Op.BY else None
    # "Rides by average height" shows the height of each; of rows that have a name it only says the order.
    sorts_rows = sketch.table(sketch.before(by)) is not None or by is None
    if by is not None and sorts_rows and sketch.op(marker) is Op.COUNT and sketch.table(other) is not None:
        sketch.take(other, marker, by)
        return [Measure(aggregate=Aggregate.COUNT, table=sketch.table(other))]
    column = sketch.column(other)
    if column is None or not sketch.is_free(other):
        return []
    if sketch.op(marker) in _FIGURES:
        sketch.take(*((other, marker, by) if sorts_rows else ()))
        return [Measure(column, _FIGURES[sketch.op(marker) or Op.SUM])]
    if sketch.op(marker) is Op.COUNT and sketch.is_numeric(column) and sketch.op(sketch.before(marker)) is Op.BY:
        # "By number of visitors in descending order", as a column holds them.
        sketch.take(other, marker, sketch.before(marker))
        return [Measure(column)]
    if not sketch.chinese and sketch.nodes[place - 1].text == ",":
        # "Total fee by workshop, highest first" is in no order of workshops.
        return []
    by_word = any(
        node.kind is NodeKind.STOP and node.text.lower() == "by"
        for node in sketch.nodes[max(0, (other or 0) - 2) : other]
    )
    if sketch.op(marker) is Op.BY or by_word:
        sketch.take(other, marker if sketch.op(marker) is Op.BY else None)
        return [Measure(column)]
    if sketch.chinese:
        sketch.take(other)
        return [Measure(column)]
    return []
