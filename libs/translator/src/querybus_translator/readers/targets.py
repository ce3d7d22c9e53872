"""What is asked for: counts, figures, columns, or the rows themselves by their labels.

Runs after conditions, rankings, orders and groups have taken their words: the columns still free where things are
asked for are the answer's columns.
"""

from __future__ import annotations

from typing import Final

from querybus.core.catalog import ColumnKind
from querybus_translator.language.clauses import says_key
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.names import name_words
from querybus_translator.language.stems import base_form
from querybus_translator.readers.deeds import is_deed, is_denied_deed, is_described, take_deed
from querybus_translator.readers.figures.amounts import (
    amount_of_rows,
    answers_amount,
    asks_amount,
    can_average,
    is_faint_year,
    is_unit_of_figure,
    one_amount,
    price_of_rows,
    rating_of_rows,
    rows_behind,
    said_amount,
    sum_of_each,
    swallowed_totals,
)
from querybus_translator.readers.figures.counts import count_rows_of_one, quantity_of, read_count
from querybus_translator.readers.figures.payments import amount_of_verb
from querybus_translator.readers.figures.shares import (
    holds,
    is_rate,
    names_rows_of_flag,
    read_rates,
    read_rows_of_flags,
    read_shares,
)
from querybus_translator.readers.figures.units import is_place_of
from querybus_translator.readers.superlatives import LASTING, is_lasting, is_of_row
from querybus_translator.schema.labels import holds_years, key_columns, labels
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import Aggregate, ColumnRef, Form, Measure, columns_of, condition_tables
from querybus_translator.writing.listed import each_once, is_listed, list_beside, list_values
from querybus_translator.writing.sketch import TEMPORAL, Sketch

_FIGURES = {
    Op.SUM: Aggregate.SUM,
    Op.AVERAGE: Aggregate.AVERAGE,
    Op.MAXIMUM: Aggregate.MAXIMUM,
    Op.MINIMUM: Aggregate.MINIMUM,
    Op.HIGHEST: Aggregate.MAXIMUM,
    Op.LOWEST: Aggregate.MINIMUM,
}

_CHINESE_TARGET_MIN = 0.8


def read_targets(sketch: Sketch) -> None:
    """Read everything that is asked for into `sketch.targets`, in the order of the question."""
    _direct_rankings(sketch)
    _names_of_columns(sketch)
    _asked_when(sketch)
    for place in sketch.free_places(Op.ADJECTIVE_ASK):
        _asked_by_meaning(sketch, place)
    read_shares(sketch)
    for place in sketch.free_places(Op.COUNT, Op.COUNT_KINDS):
        read_count(sketch, place)
    for place in sketch.free_places(*_FIGURES):
        if not sketch.taken[place] and not is_of_row(sketch, place):
            _figures(sketch, place)
    read_rows_of_flags(sketch)
    for place in range(len(sketch.nodes)):
        column = sketch.column(place)
        if column is None or not sketch.is_free(place):
            continue
        pick = sketch.pick(place)
        if holds(sketch, place, column) or is_denied_deed(sketch, place):
            continue
        if is_deed(sketch, place, column):
            take_deed(sketch, place, column)
            continue
        if is_unit_of_figure(sketch, place, column) or is_described(sketch, place, column):
            sketch.take(place)
            continue
        # 被借阅过 merely resembles 借阅日期: in Chinese nothing but closeness distinguishes a verb from what is asked for.
        sketch.doubts += is_rate(sketch, place, column)
        is_close = pick is not None and (pick.score >= _CHINESE_TARGET_MIN or is_listed(sketch, place))
        if is_close if sketch.chinese else sketch.asked[place]:
            sketch.take(place)
            sketch.doubts += (
                1.0 if is_faint_year(sketch, place, column) or _is_of_others(sketch, place, column) else 0.0
            ) + float(is_place_of(sketch, place, column))
            sketch.targets.append((place, Measure(column)))
    read_rates(sketch)
    _on_average(sketch)
    swallowed_totals(sketch)
    count_rows_of_one(sketch)
    _details(sketch)
    if any(sketch.op(place) is Op.DISTINCT for place in range(len(sketch.nodes)) if not sketch.taken[place]):
        for place in sketch.free_places(Op.DISTINCT):
            sketch.take(place)
            sketch.distinct = True
    if not sketch.targets and sketch.everything is None and not sketch.chinese and not _asks_who(sketch):
        _head(sketch)
    list_values(sketch)
    list_beside(sketch)
    if (
        asks_amount(sketch)
        and not any(answers_amount(sketch, measure) for _, measure in sketch.targets)
        and not sum_of_each(sketch)
    ):
        # "How long did each visit take" is not answered by their names.
        sketch.doubts += 1.0
    each_once(sketch)


def _details(sketch: Sketch) -> None:
    for place in sketch.free_places(Op.DETAILS):
        sketch.take(place)
        table = sketch.nearest_table(place)
        column = None if table is None or not sketch.chinese else _column_of_details(sketch, table)
        if column is None:
            sketch.everything = table
        else:
            sketch.targets.append((place, Measure(column)))


def _column_of_details(sketch: Sketch, table: int) -> ColumnRef | None:
    """详细信息 of products is their column of details, where they have one."""
    columns = sketch.index.table(table).columns
    called = [place for place, column in enumerate(columns) if name_words(column.name)[-1:] == ("detail",)]
    return ColumnRef(table, called[0]) if len(called) == 1 else None


def _on_average(sketch: Sketch) -> None:
    """ "How old are members on average", "what do pens cost on average": the one figure that is asked for is averaged."""
    ends = (Op.EACH, Op.BY, Op.GROUPED)
    places = [
        place
        for place in sketch.free_places(Op.AVERAGE)
        if sketch.after(place) is None or place == 0 or sketch.op(place + 1) in ends
    ]
    figures = [
        number
        for number, (_, measure) in enumerate(sketch.targets)
        if measure.aggregate is None
        and sketch.is_numeric(measure.column)
        and measure.column is not None
        and not sketch.is_key(measure.column)
    ]
    if len(places) == 1 and len(figures) == 1:
        sketch.take(places[0])
        place, measure = sketch.targets[figures[0]]
        sketch.targets[figures[0]] = (place, Measure(measure.column, Aggregate.AVERAGE))


def _head(sketch: Sketch) -> None:
    """ "Which code contains 'en'": the column of the condition is what is asked for."""
    for place in range(len(sketch.nodes)):
        if sketch.op(place) is not Op.SHOW or not sketch.asked[place]:
            continue
        following = sketch.after(place, over=(Op.DISTINCT, Op.SHOW))
        if sketch.table(following) is not None:
            # "Which plans give access all day": the plans.
            return
        column = sketch.column(following)
        ranked = any(
            ranking.grouped == column or (ranking.by and ranking.by.column == column) for ranking in sketch.rankings
        )
        pick = sketch.pick(following)
        is_asked = following not in sketch.done and pick is not None and not pick.with_table
        if column is not None and following is not None and names_rows_of_flag(sketch, following, column):
            # "Which partners were hired before 2015": they are rows.
            return
        if column is not None and not ranked and is_asked:
            sketch.targets.append((place, Measure(column)))
            return


def _is_of_others(sketch: Sketch, place: int, column: ColumnRef) -> bool:
    """ "The shift length", where only lines have a length: it is not that of the rows right before it, and no "music artists"
    are shown with the festivals of music.
    """
    behind = sketch.table(place + 1)
    last = sketch.nodes[place].text.lower().split()[-1]
    is_modifier = base_form(last) == last and not sketch.chinese
    if behind is not None and is_modifier and sketch.index.graph.distance(behind, column.table) > 1:
        return True
    before = sketch.table(place - 1) if place and not sketch.chinese else None
    if before is None or before == column.table or sketch.nodes[place - 1].text.lower().endswith("s"):
        return False
    return sketch.index.real(before) != column.table


def _asked_when(sketch: Sketch) -> None:
    """ "When was A founded", "in which year was A founded": the column itself says when."""
    for place, node in enumerate(sketch.nodes):
        text = node.text.lower()
        if text not in _ASKS_YEAR or sketch.taken[place] or not sketch.asked[place] or sketch.pick(place) is not None:
            continue
        said = (column for after in range(place + 1, len(sketch.nodes)) if (column := sketch.column(after)) is not None)
        columns = [sketch.index.column(column.table, column.column) for column in said]
        if any(holds_years(column) and (text[:4] != "year" or column.kind is ColumnKind.INTEGER) for column in columns):
            sketch.take(place)


_ASKS_YEAR: Final = frozenset({"when was", "when were", "when did", "year", "years"})


def _asked_by_meaning(sketch: Sketch, place: int) -> None:
    """ "How old is ..." asks for the age, "where is ..." for the location."""
    phrase = sketch.nodes[place].phrase
    whose = {node.text.lower() for node in sketch.nodes[place + 1 : place + 3]}
    named = (sketch.table(other) for other in range(place))
    # "Students without a cat, and how old are they": the students.
    head = next((table for table in named if table is not None), None) if whose & _PRONOUNS else None
    tables = () if head is None else (head,)
    if not sketch.mentioned_tables():  # "how old is Nina Holt"
        tables = tuple(table for placed in sketch.conditions for table in condition_tables(placed.condition))
    result = sketch.concept_column(phrase.concepts, place, tables) if phrase is not None else None
    last = sketch.rankings[0].by if len(sketch.rankings) == 1 else None
    if sketch.nodes[place].text.lower().startswith("when") and last is not None and last.column is not None:
        # "When was the last appointment of pet 17": the day by which it is the last.
        result = (last.column, False) if sketch.kind(last.column) in TEMPORAL else result
    if result is None or (_asks_how_long(sketch, place) and not is_lasting(sketch, result[0])):
        # "How long does a trip take" asks for no distance.
        return
    sketch.take(place)
    if result[1] and (_average_age(sketch, place, result[0]) or _greatest_age(sketch, place, result[0])):
        return
    compared = columns_of(Form(targets=(), where=tuple(placed.condition for placed in sketch.conditions)))
    ranked = {ranking.by.column for ranking in sketch.rankings if ranking.by is not None}
    if sketch.figure_of_verb(place) is not None and result[0] in {
        *compared, *ranked, sketch.column(sketch.after(place)),
    }:  # fmt: skip
        # "Who earns a salary above ...", "trips that cost less than ...": what the verb says is read already.
        return
    sketch.doubts += 0.05
    sketch.targets.append((place, Measure(result[0])))


_PRONOUNS: Final = frozenset({"they", "he", "she", "it"})


def _asks_how_long(sketch: Sketch, place: int) -> bool:
    said = [node.text.lower() for node in sketch.nodes]
    return said[place] == "how long" and not LASTING.isdisjoint(said)


def _average_age(sketch: Sketch, place: int, born: ColumnRef) -> bool:
    """ "How old are patients on average", where it is known when they were born. Return whether an average is asked for."""
    averages = sketch.free_places(Op.AVERAGE)
    words = sketch.words_of(born)
    if len(averages) != 1 or not (sketch.is_birthday(born) or {"birth", "year"} <= words):
        return False
    sketch.take(*averages)
    sketch.targets.append((place, Measure(born, Aggregate.AVERAGE, aged_on=sketch.today)))
    return True


def _greatest_age(sketch: Sketch, place: int, born: ColumnRef) -> bool:
    """ "How old is the oldest rider": an age, and not when the rider was born. Return whether that is asked for."""
    ranking = sketch.rankings[0] if len(sketch.rankings) == 1 else None
    if ranking is None or ranking.count != 1 or ranking.by != Measure(born) or sketch.groups:
        return False
    # Whoever was born first is the oldest.
    aggregate = Aggregate.MINIMUM if ranking.descending else Aggregate.MAXIMUM
    sketch.targets.append((place, Measure(born, aggregate, aged_on=sketch.today)))
    sketch.rankings.remove(ranking)
    return True


def _names_of_columns(sketch: Sketch) -> None:
    """ "The names of studios" where a column holds the studios: the column is meant. "The college of authors": the college."""
    for place, node in enumerate(sketch.nodes):
        column = sketch.column(place)
        if column is None or not sketch.is_free(place) or not sketch.asked[place] or sketch.chinese:
            continue
        following = sketch.after(place, over=(Op.DISTINCT, Op.EACH))
        if _is_name_of_rows(sketch, place, column, following):
            continue
        other = sketch.column(following)
        if other is None or following is None or not sketch.is_free(following) or sketch.is_flag(other):
            continue
        between = {word for node in sketch.nodes[place + 1 : following] for word in node.text.lower().split()}
        if not between & {"of", "for"}:
            continue
        if node.text.lower().split()[-1].rstrip("s") in lexicon().label_words:
            if sketch.is_key(other) and not sketch.is_key(column):
                # "The ids and names of companies": a key has no name, and whom it is of has one.
                sketch.take(*(() if says_key(sketch, following) or other.table != column.table else (following,)))
                continue
            sketch.take(place)
        elif sketch.refers(other, column.table):
            # "The descriptions of their speciality cuisines": the key only leads to what is asked for.
            sketch.take(following)
        elif other.table == column.table and sketch.op(sketch.after(following)) is not Op.AND:
            sketch.take(following)
            sketch.doubts += 0.05


def _is_name_of_rows(sketch: Sketch, place: int, name: ColumnRef, following: int | None) -> bool:
    """ "The name of each owner", "for each company the name": what rows without a name are known by, and no other rows' name."""
    if base_form(sketch.nodes[place].text.lower()) not in lexicon().label_words:
        return False
    table = sketch.table(following)
    is_each = sketch.op(sketch.after(place)) is Op.EACH
    is_called = any(link.table == table for link in sketch.nodes[place].candidates)
    known = () if table is None or table == name.table or (is_called and not is_each) else labels(sketch.index, table)
    if following is not None and table is not None and known and known != key_columns(sketch.index, table):
        between = {word for node in sketch.nodes[place + 1 : following] for word in node.text.lower().split()}
        if between & {"of", "for"}:
            sketch.take(place)
            sketch.targets += [(place, Measure(column)) for column in known]
            return True
    if is_each and (own := sketch.column(following)) is not None and own.table != name.table and not sketch.is_key(own):
        sketch.take(place)
        return True
    led = sketch.after(0) if sketch.op(0) is Op.EACH else None
    grouped = sketch.column(led)
    if grouped is not None and grouped.table != name.table and place > (led or 0) and not sketch.is_key(grouped):
        sketch.take(place)
        return True
    return False


def _direct_rankings(sketch: Sketch) -> None:
    """ "What is the highest price?" asks for the figure, unless other columns are asked for as well."""
    direct = [ranking for ranking in sketch.rankings if ranking.direct and not _ranks_rows(sketch, ranking.place)]
    if (
        not direct
        or _asks_who(sketch)
        or (
            sketch.chinese
            and any(sketch.table(place) is not None for place in range(len(sketch.nodes)))
            and any(node.op is Op.SHOW and node.text[:1] in "哪谁" for node in sketch.nodes)
        )
    ):
        return
    others = [
        column.table
        for place in range(len(sketch.nodes))
        if (column := sketch.column(place)) is not None
        and sketch.is_free(place)
        and sketch.asked[place]
        # "The highest and the average height": two figures.
        and not (sketch.op(place - 1) is Op.AVERAGE and any(item.by == Measure(column) for item in direct))
    ]
    # "The title and highest price for each film": what each has, beside its own columns.
    grouped = {group for _, group in sketch.groups if isinstance(group, int)}
    if others and not (len(grouped) == 1 and grouped.issuperset(others)):
        return
    for item in direct:
        if item.by is not None and item.by.column is not None and item.by.aggregate is None:
            aggregate = Aggregate.MAXIMUM if item.descending else Aggregate.MINIMUM
            sketch.targets.append((item.place, Measure(item.by.column, aggregate)))
            sketch.rankings.remove(item)


def _ranks_rows(sketch: Sketch, place: int) -> bool:
    """ "The best-selling products": what stands right behind the figure is ranked."""
    figure = sketch.after(place)
    ranked = sketch.after(figure)
    if sketch.column(figure) is None or sketch.table(ranked) is None or figure is None:
        return False
    # 最早开业的酒店: the hotel, and not the day.
    return ranked == len(sketch.nodes) - 1 if sketch.chinese else ranked == figure + 1


def _asks_who(sketch: Sketch) -> bool:
    """ "Who is the best paid employee?" asks for a name, whatever stands behind the superlative."""
    return any(node.text.lower().split()[0] in _PERSONS for node in sketch.nodes[:2] if node.op is Op.SHOW)


_PERSONS = frozenset({"who", "whom", "谁"})


def _figures(sketch: Sketch, place: int) -> None:
    """Read a list of figures and the columns they are made of: "minimum, maximum and average price"."""
    aggregates: list[Aggregate] = []
    at: int | None = place
    places: list[int] = []
    while at is not None and sketch.op(at) in _FIGURES:
        aggregates.append(_FIGURES[sketch.op(at) or Op.SUM])
        places.append(at)
        at = _next_in_list(sketch, at, figures=True)
    beside = sketch.column(at + 1) if at is not None and at + 1 < len(sketch.nodes) else None
    if (
        at is not None
        and beside is not None
        and sketch.table(at) == beside.table
        and can_average(sketch, beside, aggregates)
    ):
        # "The average voyage duration": whose it is stands before it.
        at += 1
    columns: list[tuple[int, ColumnRef]] = []
    while at is not None:
        column = sketch.column(at)
        if column is None or not sketch.is_free(at):
            break
        if not can_average(sketch, column, aggregates):
            sketch.doubts += 1.0 if sketch.kind(column) in TEMPORAL or sketch.is_key(column) else 0.0
            break
        sketch.doubts += 1.0 if is_faint_year(sketch, at, column) else 0.0
        columns.append((at, column))
        at = _next_in_list(sketch, at, figures=False)
    if not columns:
        _figure_elsewhere(sketch, place, places, aggregates)
        return
    sketch.take(*places)
    for where, column in columns:
        sketch.take(where)
        for aggregate in aggregates:
            sketch.targets.append((where, Measure(column, aggregate)))


def _next_in_list(sketch: Sketch, place: int, *, figures: bool) -> int | None:
    other = place + 1
    while other < len(sketch.nodes):
        node = sketch.nodes[other]
        joins = node.op is Op.AND or node.text in {",", "、", "，"} or (sketch.chinese and node.op is Op.TO)
        if node.kind is NodeKind.STOP or node.text == "'s":
            other += 1
            continue
        if not joins:
            return other if figures or joins else None
        beyond = other + 1
        while beyond < len(sketch.nodes) and (
            sketch.nodes[beyond].kind is NodeKind.STOP
            or sketch.op(beyond) is Op.AND
            or sketch.nodes[beyond].text == ","
        ):
            beyond += 1
        if beyond >= len(sketch.nodes):
            return None
        if figures and (sketch.op(beyond) in _FIGURES):
            return beyond
        if not figures and sketch.is_numeric(sketch.column(beyond)) and sketch.is_free(beyond):
            return beyond
        return None
    return None


def _figure_elsewhere(sketch: Sketch, place: int, places: list[int], aggregates: list[Aggregate]) -> None:
    following, amount = rows_behind(sketch, places[-1]), None
    if following is not None and sketch.table(following) is not None:
        said = amount_of_verb(sketch, following)
        rating = rating_of_rows(sketch, following) if Aggregate.SUM not in aggregates else None
        amount = (
            rating
            or amount_of_rows(sketch, following)
            or price_of_rows(sketch, following)
            or (said[0] if said else None)
        )
        if amount is None and Aggregate.SUM not in aggregates:
            amount = one_amount(sketch, following + 1)
    if amount is not None and Aggregate.SUM not in aggregates and sketch.is_free(following):
        # "Average fine", "average order": rows are averaged by the one amount that they have.
        sketch.take(*places, following)
        sketch.targets += [(place, Measure(amount, aggregate)) for aggregate in aggregates]
        return
    if sketch.table(following) is not None and aggregates == [Aggregate.SUM] and not sketch.taken[following or 0]:
        sketch.take(place, following)
        counted = Measure(aggregate=Aggregate.COUNT, table=sketch.table(following))
        amount = amount or said_amount(sketch, place, following or 0)
        amount = amount or quantity_of(sketch, sketch.table(following) or 0)
        sketch.targets.append((place, counted if amount is None else Measure(amount, Aggregate.SUM)))
        sketch.anchor = sketch.anchor if sketch.anchor is not None else sketch.table(following)
        return
    previous = sketch.before(place)
    column = sketch.column(previous)
    if column is not None and sketch.is_free(previous) and sketch.is_numeric(column):
        sketch.take(previous, *places)
        for aggregate in aggregates:
            sketch.targets.append((place, Measure(column, aggregate)))
        return
    if sketch.op(following) is Op.COUNT and sketch.is_free(following):
        named = sketch.after(following)
        if sketch.table(named) is not None and aggregates == [Aggregate.AVERAGE]:
            # How many there are of each is averaged below, where it is known what each is.
            sketch.take(following, named)
            sketch.targets.append((place, Measure(aggregate=Aggregate.COUNT, table=sketch.table(named))))
            return
        column = sketch.column(named)
        if column is not None and sketch.is_numeric(column):
            sketch.take(following, named, *places)
            for aggregate in aggregates:
                sketch.targets.append((place, Measure(column, aggregate)))
