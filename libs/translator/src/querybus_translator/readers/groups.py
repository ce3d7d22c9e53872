"""Words that group become groups, and what stands for each group becomes its figure: "for each city", "per month", "fee by kind", 每个城市."""

from __future__ import annotations

from dataclasses import replace

from querybus.core.catalog import ColumnKind
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.stems import base_form
from querybus_translator.language.time.words import Unit, step_at
from querybus_translator.readers.absences import is_many
from querybus_translator.readers.deeds import is_agent, take_deed
from querybus_translator.readers.figures.amounts import figure_of_rows, has_few_values
from querybus_translator.readers.figures.shares import flagged
from querybus_translator.readers.kinds import beside_their_count, rows_of_kind
from querybus_translator.readers.orders import MAKES_FIGURE, keys_from
from querybus_translator.schema.additive import is_additive
from querybus_translator.schema.labels import labels
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import Aggregate, ColumnRef, Measure, Ordering
from querybus_translator.writing.sketch import TEMPORAL, Sketch


def read_groups(sketch: Sketch) -> None:
    """Read what rows are grouped by."""
    has_figure = any(sketch.op(place) in MAKES_FIGURE or sketch.says_sum(place) for place in range(len(sketch.nodes)))
    # A follow-up groups what was asked before.
    _done_by_some(sketch)
    has_figure = bool(sketch.context or sketch.targets) or has_figure or _counts_by(sketch)
    _asked_when(sketch)
    _listed_by_count(sketch)
    beside_their_count(sketch)
    _read_each(sketch, has_figure=has_figure)
    for place in sketch.free_places(Op.BY):
        has_figure = has_figure or _adds_up(sketch, place)
        step = _step_behind(sketch, place)
        if has_figure and _by_time(sketch, place):
            joint = None if step is None else sketch.after(step[0] - 1)
            other = sketch.after(joint)
            if sketch.op(joint) is Op.AND and sketch.pick(other) is not None and sketch.value(other) is None:
                # "By month and cause".
                sketch.take(joint)
                _group(sketch, joint or place, other)
            continue
        named = sketch.after(place, over=(Op.DISTINCT,))
        if sketch.pick(named) is None or sketch.value(named) is not None or not sketch.is_free(named):
            continue
        if is_agent(sketch, place, named) or _are_all(sketch, place, named) or _is_one(sketch, named):
            continue
        grouped = sketch.after(named)
        if has_figure and (
            sketch.context or sketch.chinese or _follows_figure(sketch, place) or sketch.op(grouped) is Op.GROUPED
        ):
            _group(sketch, place, named)
            joint = sketch.after(named)
            if sketch.op(joint) is Op.AND and not _by_time(sketch, joint or place):
                other = sketch.after(joint)
                if sketch.pick(other) is not None and sketch.value(other) is None and sketch.after(other) is None:
                    sketch.take(joint)
                    _group(sketch, joint or place, other)
    for place in sketch.free_places(Op.GROUPED):
        sketch.take(place)
    for place in sketch.free_places(Op.BY):
        sketch.take(place)
        _ranked_by_count(sketch, place)
        if not sketch.orderings and not sketch.rankings and not sketch.groups:
            _shown_beside(sketch, place, sketch.after(place))
        if all(node.kind is NodeKind.STOP or node.op is Op.AND for node in sketch.nodes[:place]) and not sketch.context:
            # "By city", 按城市呢: a change to something that is not at hand, and no question of its own.
            sketch.doubts += 1.0


_HAVING = frozenset({"have", "has", "had", "that have", "which have", "that has"})


def _read_each(sketch: Sketch, *, has_figure: bool) -> None:
    # "By the number of cities that have each".
    sketch.take(*(place for place in sketch.free_places(Op.EACH) if _ends_with_each(sketch, place)))
    for place in sketch.free_places(Op.EACH):
        named = sketch.after(place, over=(Op.DISTINCT, Op.SHOW))
        if not has_figure and not _adds_up(sketch, place):
            _shown_beside(sketch, place, named)
            # "The latest visit of each animal" is one of many, which is not written here: it is left, and asked about.
            if not (sketch.rankings and sketch.pick(named) is not None and named == place + 1):
                sketch.take(place)
            continue
        if _by_time(sketch, place) or sketch.pick(named) is None or sketch.value(named) is not None:
            continue
        _group(sketch, place, named)
        joint = sketch.after(named)
        if joint is None or sketch.op(joint) is not Op.AND or _by_time(sketch, joint):
            continue
        other = sketch.after(joint)
        is_last = sketch.table(other) is not None and sketch.is_free(other) and sketch.after(other) is None
        if is_last and sketch.nodes[place].text.lower() in _FOR_EACH:
            # "For each technique and museum".
            sketch.take(joint)
            _group(sketch, joint, other)


def _are_all(sketch: Sketch, place: int, named: int | None) -> bool:
    """ "Services provided by all stations": of all of them together."""
    between = sketch.nodes[place + 1 : place if named is None else named]
    return any(node.text.lower() in {"all", "any"} for node in between)


def _ends_with_each(sketch: Sketch, place: int) -> bool:
    return sketch.after(place) is None and place > 0 and sketch.nodes[place - 1].text.lower() in _HAVING


def _asked_when(sketch: Sketch) -> None:
    """ "Which month had the most visits", 哪个季度...最多: what is ranked are steps of time."""
    if len(sketch.rankings) != 1 or sketch.rankings[0].count != 1 or sketch.groups:
        return
    ranking = sketch.rankings[0]
    table = ranking.counted if ranking.by is None or ranking.by.home is None else ranking.by.home
    words = [node.text.lower() for node in sketch.nodes]
    for place, word in enumerate(words):
        asks_itself = word.endswith("几") or word.startswith("几点")
        if not asks_itself and not word.endswith(("which", "what", "哪", "哪个", "哪一")):
            continue
        step = step_at([other.removeprefix("个") for other in words], place if asks_itself else place + 1)
        if step is None or not all(sketch.is_free(other) or words[other] in _LIGHT for other in range(place, step[0])):
            continue
        columns = (
            [] if table is None else [item for item in sketch.time_columns(table) if _is_cut(sketch, item, step[1])]
        )
        if columns:
            chosen = next((done for done in sketch.done.values() if done in columns), columns[0])
            sketch.take(*range(place, step[0]))
            sketch.groups.append((place, replace(chosen, part=step[1])))
            return


_LIGHT = frozenset({"of", "the", "which", "what"})


def _is_cut(sketch: Sketch, column: ColumnRef, unit: Unit) -> bool:
    """Whether a column can be cut by a unit: only moments have hours."""
    kind = sketch.kind(column)
    return kind is ColumnKind.DATETIME if unit is Unit.HOUR else kind in TEMPORAL


def _step_behind(sketch: Sketch, place: int) -> tuple[int, Unit] | None:
    return step_at([node.text.lower() for node in sketch.nodes], place + 1)


def _listed_by_count(sketch: Sketch) -> None:
    """按医生人数列出各科室: each department with how many doctors it has, most first."""
    if not sketch.chinese or sketch.orderings or sketch.rankings or sketch.groups:
        return
    for place in sketch.free_places(Op.BY):
        counted = sketch.after(place)
        count = sketch.after(counted)
        rows = sketch.table(counted)
        if rows is None or sketch.op(count) is not Op.COUNT or not sketch.is_free(count):
            continue
        for opening in sketch.free_places(Op.EACH):
            listed = sketch.after(opening)
            if opening > (count or 0) and sketch.table(listed) not in (None, rows):
                measure = Measure(aggregate=Aggregate.COUNT, table=rows)
                sketch.take(place, counted, count)
                _group(sketch, opening, listed)
                sketch.targets.append((count or place, measure))
                sketch.orderings = [Ordering(measure, descending=True)]
                return


def _ranked_by_count(sketch: Sketch, place: int) -> None:
    """ "The departments by number of doctors": listed with their counts, most first."""
    count = sketch.after(place)
    listed = sketch.before(place)
    if sketch.op(count) is not Op.COUNT or sketch.table(listed) is None or not sketch.is_free(listed):
        return
    if sketch.orderings or sketch.rankings or sketch.groups:
        return
    measures = keys_from(sketch, place)
    if len(measures) == 1 and measures[0].table not in (None, sketch.table(listed)):
        _group(sketch, place, listed)
        sketch.targets.append((count or place, measures[0]))
        sketch.orderings = [Ordering(measures[0], descending=True)]


def _counts_by(sketch: Sketch) -> bool:
    """ "Parcels per month", "orders by channel", 按城市统计客户: rows by something are counted, where no figure is named."""
    if sketch.rankings or sketch.orderings or sketch.having or sketch.free_places(Op.SHARE):
        return False
    for place in sketch.free_places(Op.BY, Op.EACH):
        if sketch.op(place) is Op.EACH and sketch.nodes[place].text.lower() not in _PER:
            continue
        if not sketch.chinese and not _follows_rows(sketch, place):
            continue
        if (
            sketch.chinese
            and sketch.op(place) is Op.BY
            and not any(node.op is Op.GROUPED or node.text in _COUNTING for node in sketch.nodes[place + 1 :])
        ):
            continue
        if _adds_up(sketch, place):
            return True
        named = sketch.after(place)
        grouped = sketch.table(named)
        column = sketch.column(named)
        by_time = _step_behind(sketch, place) is not None
        counted = [
            other
            for other in range(len(sketch.nodes))
            if sketch.table(other) not in (None, grouped) and sketch.is_free(other) and other != named
        ]
        of_value = None if counted else _rows_of_value(sketch, place)
        if of_value not in (None, grouped):
            counted = [_spoken_before(sketch, place) or 0]
        if not counted or (grouped is None and column is None and not by_time) or is_agent(sketch, place, named):
            continue
        listed = _listed_behind(sketch, named)
        if any(
            (said := sketch.column(other)) is not None
            and said != column
            and not sketch.is_flag(said)
            and sketch.is_free(other)
            and other != listed
            and not (by_time and _is_done_on(sketch, other))
            for other in range(len(sketch.nodes))
        ):
            continue
        if (
            column is not None
            and sketch.is_numeric(column)
            and not sketch.is_key(column)
            and not has_few_values(sketch, column)
        ):
            continue
        at = counted[-1] if sketch.chinese else counted[0]
        rows = of_value if of_value is not None else sketch.table(at)
        figure = figure_of_rows(sketch, at) if of_value is None else Measure(aggregate=Aggregate.COUNT, table=rows)
        sketch.targets.append((at, figure))
        sketch.anchor = rows if sketch.anchor is None else sketch.anchor
        sketch.doubts += 0.03
        return True
    return False


def _listed_behind(sketch: Sketch, named: int | None) -> int | None:
    """ "By industry and plan": the second column that rows are grouped by, where nothing else follows."""
    joint = sketch.after(named)
    other = sketch.after(joint)
    return other if sketch.op(joint) is Op.AND and sketch.after(other) is None else None


_FOR_EACH = frozenset({"for each", "for every", "per"})
_PER = frozenset({"per", "for each", "for every", "each", "every", "in each", "of each", "每个", "每", "各", "各个"})


_COUNTING = frozenset({"统计", "汇总", "分布"})


def _spoken_before(sketch: Sketch, place: int) -> int | None:
    """Return what stands right before, over a period, what was done on a day and by whom: "tickets opened per month"."""
    other = sketch.before(place)
    while other is not None and (
        sketch.nodes[other].kind is NodeKind.PERIOD
        or _is_done_on(sketch, other)
        or (sketch.taken[other] and Op.BY in (sketch.op(other), sketch.op(sketch.before(other))))
        or (sketch.taken[other] and (sketch.number(other) is not None or sketch.column(other) is not None))
        or (sketch.op(other) is Op.RELATIVE and sketch.taken[other + 1])
    ):
        other = sketch.before(other)
    return other


def _is_one(sketch: Sketch, named: int | None) -> bool:
    """ "By buyer Leo Park": the one of that name, and no group for each."""
    table, behind = sketch.table(named), None if named is None else named + 1
    if sketch.chinese or table is None or behind is None or behind >= len(sketch.nodes):
        return False
    value = sketch.value(behind)
    names = {column.column for column in labels(sketch.index, table)}
    is_named = value is not None and value.table == table and value.column in names
    return sketch.nodes[behind].kind is NodeKind.TEXT or is_named


def _done_by_some(sketch: Sketch) -> None:
    """ "Sent by customers": by those of whom a flag says it."""
    for place in sketch.free_places(Op.BY):
        named = sketch.after(place)
        column = sketch.column(named)
        if column is not None and named is not None and sketch.is_flag(column) and _is_done(sketch, place):
            sketch.take(place)
            flagged(sketch, named, column)


def _is_done(sketch: Sketch, place: int) -> bool:
    """Whether a participle stands right before: "sent by"."""
    word = sketch.nodes[place - 1].text.lower().split()[-1] if place else ""
    return word.endswith("ed") or word in lexicon().verbs


def _is_done_on(sketch: Sketch, place: int) -> bool:
    """Whether a participle stands for the column that says when: "opened"."""
    column = sketch.column(place)
    is_said = _is_done(sketch, place + 1)
    behind_rows = column is not None and sketch.table(sketch.before(place)) is not None
    return is_said and behind_rows and column is not None and sketch.kind(column) in TEMPORAL


def _rows_of_value(sketch: Sketch, place: int) -> int | None:
    """ "No-shows per hotel": where only a value is named, its rows are counted."""
    value = sketch.value(_spoken_before(sketch, place))
    return None if value is None else rows_of_kind(sketch, value)


def _follows_rows(sketch: Sketch, place: int) -> bool:
    """Whether rows stand right before, and one thing by which they are behind."""
    other = _spoken_before(sketch, place)
    named = sketch.after(place)
    word = sketch.nodes[place + 1].text.lower().split()[-1] if place + 1 < len(sketch.nodes) else ""
    return (
        (sketch.table(other) is not None or sketch.value(other) is not None)
        and (sketch.pick(named) is None or sketch.value(named) is None)
        and base_form(word) == word
    )


def _adds_up(sketch: Sketch, place: int) -> bool:
    """各门店的销售额, "fee and nights per guest": figures of which each group has many are asked for, so their sums are."""
    named = sketch.after(place)
    by = sketch.column(named)
    grouped = sketch.table(named) if by is None else by.table
    by_time = grouped is None and _step_behind(sketch, place) is not None
    if grouped is None and not by_time:
        return False
    found = False
    for other in range(len(sketch.nodes)):
        column = sketch.column(other)
        if column is None or not sketch.is_free(other) or not sketch.is_numeric(column) or column == by:
            continue
        is_of_group = by is not None and column.table == grouped
        if grouped is not None and not is_of_group and not is_many(sketch, grouped, column.table):
            continue
        if found and sketch.op(sketch.before(other)) is not Op.AND:
            continue
        is_said = not sketch.words_of(column).isdisjoint(lexicon().additive)
        if is_said or is_additive(sketch.index, column.table, column.column):
            aggregate = Aggregate.SUM
        elif _is_averaged(sketch, place, other, by):
            aggregate = Aggregate.AVERAGE
            sketch.doubts += 0.05
        else:
            continue
        sketch.take(other, sketch.before(other) if found else None)
        sketch.targets.append((other, Measure(column, aggregate)))
        found = True
    return found


def _shown_beside(sketch: Sketch, place: int, named: int | None) -> None:
    """ "Monthly fee per plan", "capacity by venue", where each has one: beside the figure stands whose it is."""
    table = sketch.table(named)
    figure = sketch.column(sketch.after(named) if sketch.chinese else _spoken_before(sketch, place))
    word = sketch.nodes[place].text.lower()
    is_bare = (sketch.chinese or word in _BESIDE) and not any(node.op in _ASKING for node in sketch.nodes)
    is_beside = word == "per" or (is_bare and (word != "by" or sketch.is_numeric(figure)))
    if figure is not None and figure.table == table and is_beside:
        shown = labels(sketch.index, figure.table, chinese=sketch.chinese)
        sketch.targets += [(-1, Measure(label)) for label in shown if label != figure]
    elif word == "per":
        # Whatever is meant, it is something of each.
        sketch.doubts += 1.0


_BESIDE = frozenset({"by", "for each", "for every", "of each", "of every", "each", "every"})
_ASKING = frozenset({Op.SHOW, Op.SUM, Op.COUNT, Op.AVERAGE, Op.MAXIMUM, Op.MINIMUM})


def _is_averaged(sketch: Sketch, place: int, figure: int, by: ColumnRef | None) -> bool:
    """ "Satisfaction per agent", "price by type": where nothing is listed, a figure that does not add up has its average for each."""
    column = sketch.column(figure)
    is_bare = figure == _spoken_before(sketch, place) and not any(node.op is Op.SHOW for node in sketch.nodes)
    is_kind = by is None or bool(sketch.index.column(by.table, by.column).values)
    is_plain = sketch.nodes[place].text.lower() in {"per", *_BESIDE} and not sketch.orderings and not sketch.rankings
    if column is None or sketch.is_key(column) or sketch.is_flag(column):
        return False
    return is_bare and is_kind and is_plain


def _by_time(sketch: Sketch, place: int) -> bool:
    """ "Per month", 每个月, "by year": the time column is cut to that unit, unless a column holds it as it is."""
    step = _step_behind(sketch, place) or _step_behind(sketch, place + 1)
    if step is None:
        return False
    other, unit = step
    column = sketch.column(other - 1)
    if column is not None and sketch.kind(column) not in TEMPORAL:
        return False
    tables = sketch.tables_with_time(place)
    if sketch.groups:
        # "Reservations by restaurant and month": those of the reservations, of which each has many.
        graph = sketch.index.graph
        tables = sorted(
            tables, key=lambda table: not all(graph.is_many(other, table) for other in tables if other != table)
        )
    columns = [column for table in tables for column in sketch.time_columns(table)]
    years = [one for one in columns if unit is Unit.YEAR and sketch.kind(one) not in TEMPORAL]
    columns = [column for column in columns if _is_cut(sketch, column, unit)]
    if column is None and not columns and len(years) == 1:
        # "How many were built in each year", as a column holds the years.
        sketch.take(*range(place, other))
        sketch.groups.append((place, years[0]))
        return True
    if column is None and not columns:
        return False
    chosen = column or next((done for done in sketch.done.values() if done in columns), None) or columns[0]
    deed = sketch.before(place)
    done_on = sketch.column(deed) if deed is not None and sketch.is_free(deed) and _is_done_on(sketch, deed) else None
    if column is None and deed is not None and done_on is not None and _is_cut(sketch, done_on, unit):
        # "Tickets closed by month": the month in which they were closed.
        chosen = done_on
        take_deed(sketch, deed, done_on)
    for taken in range(place, other):
        sketch.take(taken)
    sketch.groups.append((place, replace(chosen, part=unit)))
    return True


def _follows_figure(sketch: Sketch, place: int) -> bool:
    """ "Total amount by city" groups, "written by authors" and "volumes by artists" do not."""
    if place == 0 or sketch.nodes[place - 1].kind is NodeKind.WORD:
        return False
    named = sketch.after(place)
    if named is None or sketch.table(named) is None:
        return True
    word = sketch.nodes[named].text.lower()
    return base_form(word.split()[-1]) == word.split()[-1] or sketch.table(place - 1) is None


def _head_of(sketch: Sketch, named: int) -> int:
    """ "Each customer city", 每个客户所在城市: of two nouns side by side the second is meant, the first says whose."""
    beyond = named + 1
    if sketch.table(named) is None or beyond >= len(sketch.nodes) or not sketch.is_free(beyond):
        return named
    column = sketch.column(beyond)
    if sketch.table(beyond) is None and (column is None or (sketch.is_numeric(column) and not sketch.is_key(column))):
        return named
    if sketch.chinese and beyond + 1 < len(sketch.nodes) and sketch.nodes[beyond + 1].text in _DONE:
        # 每家出版社出版了多少本书: what they did is a verb, though some day is called after it.
        sketch.take(beyond)
        return named
    if sketch.chinese and sketch.table(beyond) is not None:
        # 各网点快递员的平均时薪: the second noun is whose figure is asked for.
        return named
    sketch.take(named)
    return beyond


_DONE = frozenset({"了", "过"})
_FAINT_MAX = 0.8


def _group(sketch: Sketch, place: int, named: int | None) -> None:
    named = None if named is None else _head_of(sketch, named)
    column = sketch.column(named)
    sketch.take(place)
    if column is not None and named is not None:
        pick = sketch.pick(named)
        # "Points per exercise" is no group for each number of `exercise_points`.
        is_faint = pick is not None and pick.score < _FAINT_MAX and not sketch.is_key(column)
        sketch.doubts += 1.0 if is_faint and sketch.is_numeric(column) else 0.0
        sketch.groups.append((named, column))
        if sketch.is_free(named):
            sketch.take(named)
    elif named is not None:
        table = sketch.table(named)
        if table is not None:
            sketch.groups.append((named, table))
