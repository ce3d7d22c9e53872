"""Superlatives rank: "the oldest", "the most orders", "top 5 by price", "most common" — an order and how many rows.

Limits: one row for a superlative without a number, ties are not kept; one superlative orders the whole answer.
"""

from __future__ import annotations

from dataclasses import replace

from querybus_translator.language.lexicon import Op
from querybus_translator.language.stems import base_form
from querybus_translator.readers.deeds import rows_of_deed
from querybus_translator.readers.figures.amounts import amount_of_rows, asks_money, one_amount, rating_of_rows
from querybus_translator.readers.figures.counts import head_of_compound
from querybus_translator.readers.figures.payments import amount_of_verb, money_on, only_meant
from querybus_translator.readers.kinds import rows_of_kind
from querybus_translator.readers.superlatives import (
    EXACT_MIN,
    HEIGHTS,
    ROWS_MAX,
    SAID_MIN,
    SIZES,
    are_several,
    asks_which,
    behind_others,
    concepts_of,
    doer,
    doubts_of_several,
    ends_question,
    first_of_sorted,
    has_own_figure,
    is_compared,
    is_direct,
    is_done,
    is_first,
    is_judged,
    is_lasting,
    is_of_time,
    is_other_kind,
    is_reversed,
    is_said_again,
    is_said_of,
    is_used,
    kinds_of,
    lasts,
    names_rows,
    newest,
    number_of_rows,
    ordinal_before,
    rank_by_column,
    ranked_on_average,
    ranks,
    stands_apart,
    takes_time,
)
from querybus_translator.readers.time.durations import begin_and_end, lasting
from querybus_translator.schema.additive import is_additive
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import Aggregate, ColumnRef, Comparison, Measure, Operator, Ordering
from querybus_translator.writing.sketch import TEMPORAL, Placed, Ranking, Sketch

_UP = frozenset({Op.FEWEST, Op.RARE, Op.LOWEST, Op.ADJECTIVE_LEAST})
_AGGREGATES = {
    Op.SUM: Aggregate.SUM,
    Op.AVERAGE: Aggregate.AVERAGE,
    Op.MAXIMUM: Aggregate.MAXIMUM,
    Op.MINIMUM: Aggregate.MINIMUM,
}
_ITSELF_DOUBT = 0.5
_SUPERLATIVES = (
    Op.MOST, Op.FEWEST, Op.COMMON, Op.RARE, Op.HIGHEST, Op.LOWEST, Op.ADJECTIVE_MOST, Op.ADJECTIVE_LEAST,
)  # fmt: skip


def read_rankings(sketch: Sketch) -> None:
    """Read every superlative that its neighbours complete."""
    first_of_sorted(sketch)
    _sorted_first(sketch)
    _rated(sketch)
    for place in sketch.free_places(*_SUPERLATIVES):
        if sketch.taken[place] or is_compared(sketch, place) or is_said_again(sketch, place):
            continue
        nth, before = ordinal_before(sketch, place), len(sketch.rankings)
        op = sketch.op(place)
        if op in {Op.COMMON, Op.RARE}:
            _common(sketch, place)
        elif op in {Op.MOST, Op.FEWEST}:
            _most(sketch, place)
        else:
            _highest(sketch, place)
        if nth > 1:
            behind_others(sketch, before, nth)
    for place in sketch.free_places(Op.MAXIMUM, Op.MINIMUM):
        if not sketch.asked[place] and not is_compared(sketch, place):
            _highest(sketch, place)
    ranked_on_average(sketch)
    number_of_rows(sketch)
    sketch.doubts += doubts_of_several(sketch.rankings)


def _rated(sketch: Sketch) -> None:
    """ "The highest rated supplier": the supplier, by the column that the participle names, and not the highest rating."""
    for place in sketch.free_places(Op.HIGHEST, Op.LOWEST):
        behind = sketch.after(place)
        pick, column = sketch.pick(behind), sketch.column(behind)
        if behind is None or pick is None or column is None or not pick.with_table or not sketch.is_free(behind):
            continue
        said = sketch.nodes[behind].text.lower().split()
        names = {word for name in sketch.index.entries_of_table(column.table).names for word in name}
        if said[0].endswith("ed") and base_form(said[-1]) in names:
            sketch.take(place, behind)
            sketch.rankings.append(Ranking(place, Measure(column), sketch.op(place) is Op.HIGHEST, 1))
            sketch.anchor = sketch.anchor if sketch.anchor is not None else column.table


def _sorted_first(sketch: Sketch) -> None:
    """ "Buildings, the ones with the fewest floors first", "the cheapest first": what the superlative ranks sorts all rows."""
    for end, node in enumerate(sketch.nodes):
        behind = sketch.nodes[end + 1] if end + 1 < len(sketch.nodes) else None
        if node.text.lower() != "first" or not (behind is None or behind.kind is NodeKind.MARK):
            continue
        for place in range(end - 1, max(-1, end - _WORDS_SORTED_MAX), -1):
            if sketch.nodes[place].kind is NodeKind.MARK:
                break
            if sketch.op(place) not in _SUPERLATIVES or sketch.taken[place]:
                continue
            sketch.take(end)
            before = len(sketch.rankings)
            (_most if sketch.op(place) in {Op.MOST, Op.FEWEST} else _highest)(sketch, place)
            for ranking in sketch.rankings[before:]:
                by = ranking.by or Measure(aggregate=Aggregate.COUNT, table=ranking.counted)
                sketch.orderings.append(Ordering(by, ranking.descending))
            # Nothing to sort by was found: the word says more than was read.
            sketch.taken[end] = len(sketch.rankings) > before
            del sketch.rankings[before:]
            break


_WORDS_SORTED_MAX = 6


def _count_near(sketch: Sketch, place: int) -> tuple[int, int | None]:
    """Return how many rows are wanted and where that is said: "top 5", "3 oldest", 最贵的5个."""
    for other in (sketch.after(place, over=(Op.UNIT,)), sketch.before(place)):
        number = sketch.number(other)
        if sketch.is_free(other) and isinstance(number, int) and 1 <= number <= ROWS_MAX:
            if other is not None and other < place and sketch.before(other) is not None:
                earlier = sketch.op(sketch.before(other))
                if earlier in {Op.AT_LEAST, Op.GREATER, Op.LESS, Op.AT_MOST, Op.EQUAL}:
                    continue
            return number, other
    return 1, None


def _take_count(sketch: Sketch, place: int) -> tuple[int, int | None]:
    count, where = _count_near(sketch, place)
    if where is not None:
        sketch.take(where)
        unit = sketch.after(where)
        if sketch.op(unit) is Op.UNIT:
            sketch.take(unit)
    return count, where


def _is_descending(sketch: Sketch, place: int) -> bool:
    return sketch.op(place) not in _UP and sketch.op(place) is not Op.MINIMUM


def _common(sketch: Sketch, place: int) -> None:
    count, where = _take_count(sketch, place)
    following = sketch.after(where if where is not None and where > place else place)
    grouped: ColumnRef | int | None = sketch.column(following) if sketch.is_free(following) else None
    if grouped is None and sketch.table(following) is not None and not stands_apart(sketch, place, following):
        grouped = sketch.table(following)
    used = following
    if grouped is None or (sketch.chinese and sketch.column(sketch.before(place)) is not None):
        used = sketch.before(place, over=(Op.RELATIVE, Op.SHOW))
        grouped = sketch.column(used)
        if grouped is None:
            grouped = sketch.table(used)
    sketch.take(place)
    if grouped is None:
        sketch.doubts += 0.3
        return
    if not isinstance(grouped, int):
        sketch.take(used)
    elif (kinds := kinds_of(sketch, grouped)) is not None and sketch.mentioned_tables() == [grouped]:
        # "The most common treatment": the kind of most treatments.
        by = Measure(aggregate=Aggregate.COUNT, table=grouped)
        sketch.rankings.append(Ranking(place, by, _is_descending(sketch, place), count, counted=grouped, grouped=kinds))
        return
    elif sketch.mentioned_tables() == [grouped]:
        # "The most popular products": each is one row of its own, so nothing that is said ranks them.
        sketch.doubts += _ITSELF_DOUBT
    sketch.rankings.append(
        Ranking(place, Measure(aggregate=Aggregate.COUNT), _is_descending(sketch, place), count, grouped=grouped)
    )


def _most(sketch: Sketch, place: int) -> None:
    count, where = _take_count(sketch, place)
    start = where if where is not None and where > place else place
    following = sketch.after(start, over=(Op.DISTINCT, Op.COUNT))
    if sketch.value(following) is not None and sketch.table(sketch.after(following)) is not None:
        # "The most female students": the value narrows what is counted.
        following = sketch.after(following)
    descending = _is_descending(sketch, place)
    by = _aggregate_from(sketch, following)
    if by is not None:
        sketch.take(place)
        sketch.rankings.append(Ranking(place, by, descending, count))
        return
    between = {node.text.lower() for node in sketch.nodes[place + 1 : following]}
    money = money_on(sketch, place, following) if not sketch.chinese and between & {"in", "on", "for"} else None
    if money is not None:
        sketch.rankings.append(Ranking(place, money, descending, count))
        return
    if between & _PLACES and not sketch.chinese:
        # "Used most in the Mall": the place is not what is counted.
        following = None
    if sketch.chinese and (sketch.column(following) is None or not sketch.is_numeric(sketch.column(following))):
        previous = sketch.before(place, over=(Op.COUNT,))
        if sketch.pick(previous) is not None and sketch.is_free(previous):
            following = previous
    following = head_of_compound(sketch, following)
    column, table = sketch.column(following), sketch.table(following)
    does = None if table is None else doer(sketch, place, table)
    if does is not None:
        sketch.take(place, following, sketch.before(place))
        by = Measure(aggregate=Aggregate.COUNT)
        sketch.rankings.append(Ranking(place, by, descending, count, grouped=does))
        return
    if table is not None:
        sketch.take(place, following)
        _take_ops_between(sketch, place, following, Op.COUNT)
        counting = sketch.count_column(table)
        if counting is not None:
            sketch.hidden_tables.add(table)
            sketch.rankings.append(Ranking(place, Measure(counting), descending, count))
            return
        sketch.rankings.append(Ranking(place, None, descending, count, counted=table))
        return
    if column is not None and following is not None and sketch.is_free(following):
        rank_by_column(sketch, (place, following), column, descending=descending, count=count)
        return
    sketch.take(place)
    _by_what_is_done(sketch, place, descending, count)


def _by_what_is_done(sketch: Sketch, place: int, descending: bool, count: int) -> None:
    """ "Which guest spent the most", "is borrowed most often", "costs the most": the verb before says what ranks."""
    verb = place - 1 if place else None
    if verb and sketch.nodes[verb].text.lower() in _TO_US:
        # "Who owes us the most".
        verb -= 1
    before = sketch.before(place)
    spent, pick = amount_of_verb(sketch, verb), sketch.pick(verb)
    if spent is not None and (pick is None or pick.score < SAID_MIN):
        # "Which guest spent the most", though a salary is paid as well.
        sketch.take(verb)
        only_meant(sketch, verb, *spent)
        sketch.rankings.append(Ranking(place, Measure(spent[0], Aggregate.SUM), descending, count))
        return
    done = sketch.table(verb)
    if (
        done is not None
        and pick is not None
        and pick.score < EXACT_MIN
        and sketch.pick(sketch.before(verb)) is not None
    ):
        # "Which country books the most": what rows of that name are. "Harvested the most apples" may be by weight.
        sketch.take(verb)
        columns = range(len(sketch.index.table(done).columns))
        weighs = any(is_additive(sketch.index, done, column) for column in columns)
        sketch.doubts += 1.0 if weighs and sketch.value(sketch.after(place)) is not None else 0.0
        sketch.rankings.append(Ranking(place, None, descending, count, counted=done))
        return
    rows = rows_of_deed(sketch, verb)
    if rows is not None:
        # "Which book is borrowed most often": in as many rows as have the day of it.
        sketch.rankings.append(Ranking(place, None, descending, count, counted=rows))
        return
    named = sketch.before(before) if before == verb and sketch.column(before) is None else before
    used = sketch.column(named)
    if used is not None and is_used(sketch, named, place):
        # "Which tooth is treated most often": the one of most rows.
        sketch.take(named, verb)
        by = Measure(aggregate=Aggregate.COUNT, table=used.table)
        sketch.rankings.append(Ranking(place, by, descending, count, grouped=used))
        return
    costing = sketch.column(before) or sketch.figure_of_verb(before)
    if costing is not None and not sketch.chinese and sketch.is_free(before) and sketch.is_numeric(costing):
        # "Which product costs the most": the verb names the figure.
        sketch.take(before)
        sketch.rankings.append(Ranking(place, Measure(costing), descending, count))
        return
    # "Which level spends the most": what is spent is not how many rows there are, and nothing else is said.
    sketch.doubts += 1.0 if is_done(sketch, place) else 0.15
    sketch.rankings.append(Ranking(place, Measure(aggregate=Aggregate.COUNT), descending, count))


_PLACES = frozenset({"in", "at", "from", "during"})
_TO_US = frozenset({"us", "me"})


def _take_ops_between(sketch: Sketch, one: int, other: int | None, *ops: Op) -> None:
    if other is None:
        return
    for place in range(min(one, other), max(one, other) + 1):
        if sketch.op(place) in ops:
            sketch.take(place)
    for place in (max(one, other) + 1,):
        if place < len(sketch.nodes) and sketch.op(place) in ops and sketch.chinese:
            sketch.take(place)


def _aggregate_from(sketch: Sketch, place: int | None) -> Measure | None:
    """For "the highest total amount", "the largest average age"."""
    aggregate = _AGGREGATES.get(sketch.op(place) or Op.AND)
    if aggregate is None:
        return None
    named = sketch.after(place)
    column = sketch.column(named) or rating_of_rows(sketch, named)
    if column is None and named is not None and sketch.table(named) is not None:
        # "The largest total harvest".
        column = amount_of_rows(sketch, named) or one_amount(sketch, named + 1)
    if column is None or not sketch.is_numeric(column):
        return None
    sketch.take(place, named)
    return Measure(column, aggregate)


def _highest(sketch: Sketch, place: int) -> None:
    count, where = _take_count(sketch, place)
    following = sketch.after(start := max(place, where or place), over=(Op.DISTINCT,))
    if where is not None and sketch.op(following) in _SUPERLATIVES and following is not None:
        # "The top 5 largest": the number goes with the second word.
        sketch.take(place)
        before = len(sketch.rankings)
        (_most if sketch.op(following) in {Op.MOST, Op.FEWEST} else _highest)(sketch, following)
        if len(sketch.rankings) > before:
            sketch.rankings[-1] = replace(sketch.rankings[-1], count=count, direct=False)
        return
    descending = _is_descending(sketch, place)
    by = _aggregate_from(sketch, following)
    if by is not None:
        sketch.take(place)
        is_least = by.column is not None and is_judged(sketch, place, by.column)
        sketch.rankings.append(Ranking(place, by, descending is not is_least, count))
        return
    if sketch.op(following) is Op.COUNT:
        named = head_of_compound(sketch, sketch.after(following))
        if sketch.table(named) is not None:
            sketch.take(place, following, named)
            sketch.rankings.append(Ranking(place, None, descending, count, counted=sketch.table(named)))
            return
        following = named if sketch.column(named) is not None else following
    column = (sketch.column(following) or rating_of_rows(sketch, following)) if sketch.is_free(following) else None
    if column is not None and ranks(sketch, column):
        sketch.take(place, following)
        sketch.doubts += 1.0 if is_other_kind(sketch, place, column) or names_rows(sketch, place, following) else 0.0
        is_asked = is_direct(sketch, place) and where is None
        descending = descending is not is_judged(sketch, place, column)
        sketch.rankings.append(Ranking(place, Measure(column), descending, count, direct=is_asked))
        return
    if _by_figure_before(sketch, place, descending, count, is_counted=where is not None):
        return
    if where is not None or sketch.op(place) in {Op.HIGHEST, Op.LOWEST}:
        key = _key_after_by(sketch, start)
        if key is not None:
            sketch.take(place)
            plain = key.column if key.aggregate is None else None
            descending = descending if plain is None else descending is not is_reversed(sketch, place, plain)
            sketch.rankings.append(Ranking(place, key, descending, count))
            return
    amount = (
        one_amount(sketch, following + 1)
        if following is not None
        and sketch.table(following) is not None
        and not has_own_figure(sketch, place, following)
        else None
    )
    word = sketch.nodes[place].text.lower()
    is_large = word.endswith(SIZES) and not asks_money(sketch) and amount == amount_of_rows(sketch, following or place)
    is_high = word.endswith(HEIGHTS) or is_large
    if amount is not None and not sketch.chinese and (is_high or asks_which(sketch, place, amount.table)):
        # "Highest offer", "which crop had the biggest harvest": by the one amount that offers have.
        sketch.take(place)
        sketch.rankings.append(Ranking(place, Measure(amount), descending, count))
        return
    _by_concept(sketch, place, following, descending, count, is_counted=where is not None)


def _by_concept(
    sketch: Sketch, place: int, following: int | None, descending: bool, count: int, *, is_counted: bool
) -> None:
    """Rank by the column that an adjective speaks of: the oldest, the dearest, the latest; else only limit the rows."""
    concepts, table, kind = concepts_of(sketch, place), sketch.table(following), sketch.value(following)
    if table is None and kind is not None and concepts:
        # "The heaviest dog" is an animal.
        table = rows_of_kind(sketch, kind)
    result = sketch.concept_column(concepts, place, (table, sketch.nearest_table(place))) if concepts else None
    if result is not None and lasts(sketch, place) and not sketch.words_of(result[0]).isdisjoint(_ENDS):
        # The longest contract is not the one that began last.
        result = None
    if result is not None and table is not None and sketch.nodes[place].text.lower().endswith(SIZES):
        # "The farm with the largest harvest" is not the largest farm.
        sized = result[0].table
        is_own = sized in (table, *sketch.same_rows(table)) or table in sketch.same_rows(sized)
        result = result if is_own else None
    ranked = sketch.nearest_table(place) if table is None else table
    if ranked is not None and is_of_time(sketch, place):
        result = newest(sketch, ranked, result)
    pair = begin_and_end(sketch, ranked) if result is None and ranked is not None and lasts(sketch, place) else None
    if pair is not None:
        # "Longest booking": of the most days from its start to its end.
        sketch.take(place)
        sketch.rankings.append(Ranking(place, lasting(sketch, *pair), descending, count))
        if sketch.can_be_empty(pair[1]):
            # What has not ended has no length yet.
            sketch.conditions.append(Placed(place, Comparison(Measure(pair[1]), Operator.NOT_NULL)))
        return
    if result is not None:
        count = _SEVERAL if not is_counted and are_several(sketch, place, following) else count
        ref, backwards = result
        previous = sketch.before(place, over=(Op.EQUAL,))
        # "The age of the youngest student" is asked for.
        is_asked = any(node.text.lower() == "of" for node in sketch.nodes[previous or place : place])
        is_said = sketch.is_free(previous) and sketch.column(previous) == ref and not is_asked
        sketch.take(place, previous if is_said else None)
        sketch.doubts += 0.04 if not takes_time(sketch, place) or is_lasting(sketch, ref) else 1.0
        descending = descending is not backwards and not is_first(sketch, place, ref)
        sketch.rankings.append(Ranking(place, Measure(ref), descending, count))
        return
    if (
        is_counted
        and sketch.op(place) in {Op.HIGHEST, Op.LOWEST}
        and sketch.nodes[place].text.lower().endswith(("top", "前"))
    ):
        sketch.take(place)
        sketch.limit = count
        # "Top 5 by ...": what ranks them is said, and not read.
        sketch.doubts += 1.0 if any(node.op is Op.BY for node in sketch.nodes[place:]) else 0.0


def _by_figure_before(sketch: Sketch, place: int, descending: bool, count: int, *, is_counted: bool) -> bool:
    """ "Whose price is highest", 价格最高的商品: what ranks stands before the word. Return whether it does."""
    previous = sketch.before(place, over=(Op.EQUAL,))
    marker = sketch.before(previous)
    aggregate = _AGGREGATES.get(sketch.op(marker) or Op.AND) if sketch.chinese else None
    summed = sketch.column(previous) if sketch.is_free(previous) and sketch.is_free(marker) else None
    if aggregate is not None and summed is not None and sketch.is_numeric(summed):
        # 订单总金额最高的客户: the figure that ranks is itself a sum.
        sketch.take(place, previous, marker)
        sketch.rankings.append(Ranking(place, Measure(summed, aggregate), descending, count))
        return True
    behind = sketch.column(previous) if sketch.is_free(previous) else None
    if behind is not None and sketch.kind(behind) in TEMPORAL and sketch.nodes[place].text.lower().endswith(HEIGHTS):
        # No day is higher than another: what resembles a wage is when it was paid.
        sketch.doubts += 1.0
    if behind is not None and ranks(sketch, behind) and (sketch.chinese or is_said_of(sketch, previous, place)):
        sketch.take(place, previous)
        direct = sketch.chinese and not is_counted and ends_question(sketch, place)
        sketch.rankings.append(Ranking(place, Measure(behind), descending, count, direct=direct))
        return True
    return False


_SEVERAL = 10
_ENDS = frozenset(
    {"start", "started", "begin", "begun", "end", "ended", "since", "until", "founded", "opened", "hired", "signed"}
)


def _key_after_by(sketch: Sketch, place: int) -> Measure | None:
    """For "top 5 products by price" and 销量前5的商品 the figure that ranks."""
    for other in range(place + 1, len(sketch.nodes)):
        if sketch.op(other) in {Op.BY, Op.ORDER}:
            named = sketch.after(other)
            aggregated = _aggregate_from(sketch, named)
            if aggregated is not None:
                sketch.take(other)
                return aggregated
            if sketch.op(named) is Op.COUNT:
                counted = sketch.after(named)
                if sketch.table(counted) is not None:
                    sketch.take(other, named, counted)
                    return Measure(aggregate=Aggregate.COUNT, table=sketch.table(counted))
            column = sketch.column(named)
            if column is not None and sketch.is_free(named) and ranks(sketch, column):
                sketch.take(other, named)
                return Measure(column)
    return None
