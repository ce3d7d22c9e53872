"""What ranks the rows of a form: figures that are added up first, ties, and parents that are ranked in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.stems import base_form
from querybus_translator.readers.absences import is_many
from querybus_translator.readers.superlatives import SIZES
from querybus_translator.schema.additive import is_additive, is_number_of
from querybus_translator.schema.labels import key_columns, labels
from querybus_translator.writing.form import (
    Aggregate,
    ColumnRef,
    Comparison,
    Form,
    Measure,
    Operator,
    Ordering,
    condition_tables,
)
from querybus_translator.writing.sketch import Ranking, Sketch


def doubts_of_ranking(
    sketch: Sketch,
    anchor: int,
    ranking: Ranking,
    by: Measure,
    targets: Sequence[Measure],
    tables: int,
    *,
    is_grouped: bool,
) -> float:
    """ "The customers with the most": each of them is one, so that how many there are ranks nothing, and neither does one count."""
    if by.aggregate is not Aggregate.COUNT or by.column is not None or by.table not in (None, anchor):
        return 0.0
    plain = [target for target in targets if target.aggregate is None]
    is_alone = ranking.grouped is None and not is_grouped
    names = {*labels(sketch.index, anchor, chinese=sketch.chinese), *key_columns(sketch.index, anchor)}
    is_each = tables == 1 and ((is_alone and not targets) or any(item.column in names for item in plain))
    return 1.0 if is_each or (is_alone and targets and not plain) else 0.0


def compared_with_first(
    sketch: Sketch, anchor: int, ranking: Ranking, by: Measure, targets: list[Measure]
) -> Comparison | None:
    """Return the condition that holds of all rows of the first in a ranking, where more than its own row is meant."""
    return (
        _of_parent(sketch, anchor, ranking, by, targets)
        or _of_group(sketch, anchor, ranking, by, targets)
        or _of_counted_parent(sketch, anchor, ranking, by, targets)
        or _with_ties(sketch, anchor, ranking, by)
    )


def _of_parent(sketch: Sketch, anchor: int, ranking: Ranking, by: Measure, targets: list[Measure]) -> Comparison | None:
    """ "Cities in the county with the most officers": the county is ranked, all of its cities are meant."""
    home = by.home
    if by.aggregate is not None or home is None or home == anchor or ranking.count != 1:
        return None
    if any(target.home == home for target in targets) or home in sketch.same_rows(anchor):
        # The oldest gymnast need not be the oldest of all people.
        return None
    if is_many(sketch, anchor, home) and not _is_one_of_many(sketch, ranking, anchor, home):
        return None
    key = key_columns(sketch.index, home)
    if not key or not is_many(sketch, home, anchor):
        return None
    form = Form(targets=(Measure(key[0]),), order=(Ordering(by, ranking.descending),), limit=1)
    return Comparison(Measure(key[0]), Operator.EQUAL, form)


def _is_one_of_many(sketch: Sketch, ranking: Ranking, anchor: int, parent: int) -> bool:
    """ "All the stores in the district with the most people": the one district is ranked, though a store may be in several."""
    before = sketch.before(ranking.place, over=(Op.RELATIVE, Op.SHOW))
    behind = sketch.after(ranking.place)
    if sketch.table(behind) == parent:
        # "In the largest district by population".
        before = behind
    if before is None or sketch.table(before) != parent or _is_plural(sketch.nodes[before].text):
        return False
    return any(sketch.table(place) == anchor and _is_plural(sketch.nodes[place].text) for place in range(before))


def _is_asked_itself(sketch: Sketch, place: int, ranked: ColumnRef) -> bool:
    """最常见的类型是什么，有多少个: the kind is asked for, and how many there are."""
    named = next((other for other in range(place + 1, len(sketch.nodes)) if sketch.column(other) == ranked), None)
    return named is not None and sketch.op(named + 1) in {Op.SHOW, Op.AND, Op.TO}


def _of_group(
    sketch: Sketch, anchor: int, ranking: Ranking, by: Measure, targets: Sequence[Measure]
) -> Comparison | None:
    """ "The phone numbers under the most common policy type": of all the rows of that type."""
    ranked = ranking.grouped
    is_count = by.aggregate is Aggregate.COUNT and by.column is None and by.table in (None, anchor)
    if not isinstance(ranked, ColumnRef) or ranked.table != anchor or not is_count or ranking.count != 1:
        return None
    if ranked in labels(sketch.index, anchor) or sketch.op(sketch.before(ranking.place)) is Op.SHOW:
        # "What is the most common type": the type is what is asked for.
        return None
    if sketch.chinese and _is_asked_itself(sketch, ranking.place, ranked):
        return None
    columns = {target.column for target in targets if target.aggregate is None}
    counts_rows = not columns and all(target.column is None for target in targets)
    is_of_rows = bool(columns) and all(column is not None and column.table == anchor for column in columns)
    is_asked = _asks_rows(sketch, anchor) if not targets else ranked not in columns and (counts_rows or is_of_rows)
    if not is_asked or sketch.groups or sketch.conditions:
        return None
    counted = Ordering(Measure(aggregate=Aggregate.COUNT, table=anchor), ranking.descending)
    form = Form(targets=(Measure(ranked),), group=(ranked,), order=(counted,), limit=1)
    return Comparison(Measure(ranked), Operator.EQUAL, form)


def ranked_by_their_number(sketch: Sketch, anchor: int) -> None:
    """ "Which sellers come from the country with the most sellers": the country is ranked, and the sellers are asked for."""
    ranking = sketch.rankings[0] if len(sketch.rankings) == 1 and len(sketch.targets) == 1 else None
    if ranking is None or ranking.grouped is not None or ranking.counted != anchor or not _asks_rows(sketch, anchor):
        return
    place, measure = sketch.targets[0]
    is_before = sketch.before(ranking.place, over=(Op.RELATIVE,)) == place
    if is_before and measure.aggregate is None and measure.column is not None and measure.column.table == anchor:
        sketch.targets = []
        sketch.rankings = [replace(ranking, by=Measure(aggregate=Aggregate.COUNT), grouped=measure.column)]


def _asks_rows(sketch: Sketch, anchor: int) -> bool:
    """ "Which items belong to the rarest category": the items."""
    first = sketch.after(0)
    return sketch.op(0) is Op.SHOW and first == 1 and sketch.table(first) == anchor


def _of_counted_parent(
    sketch: Sketch, anchor: int, ranking: Ranking, by: Measure, targets: Sequence[Measure]
) -> Comparison | None:
    """ "The products bought by the customer with the most orders": the customer is ranked, and what is theirs is meant."""
    before = sketch.before(ranking.place, over=(Op.RELATIVE, Op.SHOW))
    parent, counted = sketch.table(before), by.table
    if parent is None or counted is None or by.aggregate is not Aggregate.COUNT or by.column is not None:
        return None
    homes = {target.home for target in targets} if targets else {anchor} if _asks_rows(sketch, anchor) else {parent}
    key = key_columns(sketch.index, parent)
    is_one = ranking.count == 1 and len(key) == 1 and not _is_plural(sketch.nodes[before or 0].text)
    is_behind = all(place < ranking.place for place, _ in sketch.targets)
    is_one = is_one and is_behind and not sketch.groups
    if parent in homes or parent == counted or not is_one or not is_many(sketch, parent, counted):
        return None
    order = (Ordering(Measure(aggregate=Aggregate.COUNT, table=counted), ranking.descending),)
    form = Form(targets=(Measure(key[0]),), tables=(parent, counted), group=key, order=order, limit=1)
    return Comparison(Measure(key[0]), Operator.EQUAL, form)


def behind_the_first(sketch: Sketch, ranking: Ranking, by: Measure) -> list[tuple[int, Comparison]]:
    """ "The second highest salary": the highest below the highest, whoever shares that one."""
    if ranking.nth == 1:
        return []
    if by.column is None or by.aggregate is not None or by.until is not None:
        sketch.doubts += 1.0
        return []
    inside = tuple(placed.condition for placed in sketch.conditions)
    first = Aggregate.MAXIMUM if ranking.descending else Aggregate.MINIMUM
    operator = Operator.LESS if ranking.descending else Operator.GREATER
    bounds: tuple[Comparison, ...] = ()
    for _ in range(ranking.nth - 1):
        bounds = (Comparison(by, operator, Form(targets=(Measure(by.column, first),), where=(*inside, *bounds))),)
    return [(ranking.place, bound) for bound in bounds]


def _with_ties(sketch: Sketch, anchor: int, ranking: Ranking, by: Measure) -> Comparison | None:
    """ "The highest rating, including ties": every row that has it. More than one place, or a count, stays in doubt."""
    places = sketch.free_places(Op.TIES)
    if not places:
        return None
    if ranking.count != 1 or by.aggregate is not None or by.column is None or by.column.table != anchor:
        sketch.doubts += 0.5
        return None
    sketch.take(*places)
    figure = Aggregate.MAXIMUM if ranking.descending else Aggregate.MINIMUM
    inside = tuple(
        condition.condition for condition in sketch.conditions if set(condition_tables(condition.condition)) == {anchor}
    )
    return Comparison(by, Operator.EQUAL, Form(targets=(Measure(by.column, figure),), where=inside))


def ranked_by(sketch: Sketch, anchor: int, ranking: Ranking, tables: list[int]) -> Measure:
    """What ranks: a figure, or the rows of the table that happen most often to what is ranked."""
    counted = ranking.counted
    ranked = ranking.grouped if isinstance(ranking.grouped, int) and counted is None else None
    if ranked is None and ranking.by is None and counted in (None, anchor) and _are_named(sketch, anchor):
        ranked = anchor
    if ranked is not None:
        many = [table for table in tables if table != ranked and is_many(sketch, ranked, table)]
        if many:
            return Measure(aggregate=Aggregate.COUNT, table=many[0])
    return (
        _summed_within(sketch, anchor, ranking)
        or _summed(sketch, anchor, ranking.by, ranking)
        or Measure(aggregate=Aggregate.COUNT, table=counted)
    )


def as_done(sketch: Sketch, anchor: int, ranking: Ranking) -> Ranking:
    """ "The program that is broadcast most frequently": each program is one, and its broadcasts are many."""
    done = ranking.grouped
    is_bare = ranking.by == Measure(aggregate=Aggregate.COUNT) and ranking.counted is None
    if not (isinstance(done, int) and is_bare and is_many(sketch, anchor, done) and _are_named(sketch, anchor)):
        return ranking
    return replace(ranking, by=Measure(aggregate=Aggregate.COUNT, table=done), grouped=None)


def _are_named(sketch: Sketch, anchor: int) -> bool:
    """Whether what is asked for are the rows of `anchor` by their names or keys."""
    own = {*labels(sketch.index, anchor, chinese=sketch.chinese), *key_columns(sketch.index, anchor)}
    shown = [measure.column for _, measure in sketch.targets]
    return bool(shown) and any(column in own for column in shown) and not sketch.groups


def _summed_within(sketch: Sketch, anchor: int, ranking: Ranking) -> Measure | None:
    """ "Which buyer pays the most": of all that each buyer pays, where the rows have a column of buyers."""
    by, shown = ranking.by, [measure.column for _, measure in sketch.targets]
    if by is None or by.column is None or by.aggregate is not None or by.column.table != anchor:
        return None
    own = {*labels(sketch.index, anchor, chinese=sketch.chinese), *key_columns(sketch.index, anchor)}
    is_attribute = len(shown) == 1 and shown[0] is not None and shown[0].table == anchor and shown[0] not in own
    is_done = sketch.op(ranking.place) in (Op.MOST, Op.FEWEST) and not sketch.chinese
    # "The depth of the harbour with the most berths" is that of one harbour.
    names_rows = any(sketch.table(place) == anchor for place in range(len(sketch.nodes)))
    adds_up = is_additive(sketch.index, anchor, by.column.column) or (
        not names_rows and is_number_of(sketch.index, anchor, by.column.column)
    )
    before = sketch.before(ranking.place, over=(Op.RELATIVE, Op.SHOW))
    is_one = before is not None and sketch.table(before) == anchor and not _is_plural(sketch.nodes[before].text)
    if not (is_done and is_attribute and adds_up) or is_one:
        # "The model of the vehicle with the most seats": one vehicle's.
        return None
    return Measure(by.column, Aggregate.SUM)


def _summed(sketch: Sketch, anchor: int, by: Measure | None, ranking: Ranking) -> Measure | None:
    """Products by quantity sold: a figure of which each row has many is added up before it ranks."""
    if by is None or by.column is None or by.aggregate is not None or by.column.table == anchor:
        return by
    words = sketch.words_of(by.column)
    if not is_many(sketch, anchor, by.column.table) or anchor in sketch.same_rows(by.column.table):
        return by
    extreme = Aggregate.MAXIMUM if ranking.descending else Aggregate.MINIMUM
    behind = sketch.after(ranking.place)
    is_said_of_one = (
        sketch.op(ranking.place) in _ADJECTIVES and sketch.nodes[ranking.place].text.split()[-1] not in SIZES
    )
    is_said_of_one = is_said_of_one and sketch.table(behind) == by.column.table
    is_said_of_one = is_said_of_one and not _is_plural(sketch.nodes[behind or 0].text)
    if is_said_of_one or _is_in_one(sketch, by.column.table) or _is_of_one(sketch, ranking, by.column.table):
        # "The vessel with the longest voyage": one voyage, and not all of them together.
        return Measure(by.column, extreme) if ranking.count > 1 else by
    is_summed = not words.isdisjoint(lexicon().additive)
    if is_summed or is_additive(sketch.index, by.column.table, by.column.column):
        return Measure(by.column, Aggregate.SUM)
    if not words.isdisjoint(lexicon().averaged):
        sketch.notes.append("ranked by the average")
        return Measure(by.column, Aggregate.AVERAGE)
    if ranking.count > 1:
        # Each of several once, by the best that it has.
        return Measure(by.column, extreme)
    return by


def _is_in_one(sketch: Sketch, table: int) -> bool:
    """Whether a figure is said to be of one row: "the most cargo on a single voyage"."""
    return not sketch.chinese and any(
        sketch.table(place) == table
        and sketch.nodes[place - 1].text.lower() in _ONE
        and sketch.nodes[place - 2].text.lower() in _WITHIN
        for place in range(2, len(sketch.nodes))
    )


def _is_of_one(sketch: Sketch, ranking: Ranking, table: int) -> bool:
    """Whether a figure is said to be of one row: "which school has the endowment with the largest amount"."""
    before = sketch.before(ranking.place, over=(Op.RELATIVE,))
    if before is None or before + 1 == ranking.place or sketch.table(before) != table:
        return False
    return not sketch.chinese and not _is_plural(sketch.nodes[before].text)


_ONE: Final = frozenset({"a", "an", "one"})
_WITHIN: Final = frozenset({"in", "on", "at", "during", "within", "for", "from"})
_ADJECTIVES: Final = frozenset({Op.ADJECTIVE_MOST, Op.ADJECTIVE_LEAST})


def _is_plural(text: str) -> bool:
    word = text.lower().split()[-1]
    return base_form(word) != word


def count_themselves(having: Sequence[Comparison], anchor: int, tables: Sequence[int]) -> bool:
    """ "Who travelled more than twice", where each of them is one row: what is counted is not said."""
    return len(tables) == 1 and any(item.left.aggregate is not None and item.left.home == anchor for item in having)
