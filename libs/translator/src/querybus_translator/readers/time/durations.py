"""Days from one date to another: "average days from order date to delivery date", 发货日期到送达日期平均几天.

Limits: whole days, of two dates that are named; their average, longest and shortest.
"""

from __future__ import annotations

from typing import Final

from querybus.core.catalog import ColumnKind
from querybus_translator.language.clauses import OPERATORS
from querybus_translator.language.lexicon import Op
from querybus_translator.language.stems import base_form, stem
from querybus_translator.language.units import unit_of_measure
from querybus_translator.readers.figures.units import column_of_unit
from querybus_translator.readers.superlatives import LASTING
from querybus_translator.writing.form import Aggregate, ColumnRef, Comparison, Literal, Measure, Step
from querybus_translator.writing.sketch import TEMPORAL, Placed, Sketch

_BEGINS: Final = frozenset(
    {"start", "started", "begin", "begun", "from", "opened", "checkin", "arrival", "admitted", "开始日期", "入住日期"}
)
_ENDS: Final = frozenset(
    {
        "end",
        "ended",
        "finish",
        "finished",
        "until",
        "to",
        "closed",
        "checkout",
        "departure",
        "discharged",
        "结束日期",
        "退房日期",
    }
)
_LENGTHS: Final = frozenset(
    {"length", "duration", "day", "days", "how long", "time", "天", "天数", "多久", "多长时间", "时间"}
)
_DAYS: Final = frozenset({"day", "days", "night", "nights", "stay", "天", "天数", "晚"})
_MINUTES: Final = frozenset({"minute", "minutes", "分钟"})
_SHORTER: Final = _MINUTES | {"hour", "hours", "小时"}
_DATES: Final = frozenset({"date", "dates", "day", "time", "日期", "时间"})
_JOINTS: Final = frozenset({"to", "until", "till", "and", "到", "至"})
_FIGURES: Final = {
    Op.AVERAGE: Aggregate.AVERAGE,
    Op.MAXIMUM: Aggregate.MAXIMUM,
    Op.MINIMUM: Aggregate.MINIMUM,
}


def read_durations(sketch: Sketch) -> None:
    """Read the one figure of days between two dates that stand side by side; without a figure nothing is read."""
    said = [node.text.lower() for node in sketch.nodes]
    lengths = [place for place, word in enumerate(said) if word in _LENGTHS]
    lengths = lengths or [place for place, word in enumerate(said) if word in _SHORTER]
    figures = sketch.free_places(*_FIGURES)
    if not lengths or len(figures) != 1:
        return
    for place in range(len(sketch.nodes)):
        begin = _moment(sketch, place)
        joint = _behind_date(sketch, place)
        if begin is None or joint >= len(sketch.nodes) or sketch.nodes[joint].text.lower() not in _JOINTS:
            continue
        other = sketch.after(joint)
        end = _moment(sketch, other)
        if other is None or end is None or end == begin:
            continue
        last = _behind_date(sketch, other)
        length = next((item for item in lengths if not place <= item < last), None)
        if length is None:
            continue
        asks = [beside for beside in (length - 1, length + 1) if 0 <= beside < len(sketch.nodes)]
        sketch.take(length, figures[0], *range(place, last), *(item for item in asks if _is_how_many(sketch, item)))
        sketch.take(*(item for item in sketch.free_places(Op.BETWEEN) if item < place))
        figure = _FIGURES[sketch.nodes[figures[0]].op or Op.AVERAGE]
        sketch.targets.append((place, lasting(sketch, begin, end, figure)))
        return
    _until_done(sketch, lengths, figures[0])
    if not sketch.targets:
        _of_rows(sketch, lengths, figures[0])


def _of_rows(sketch: Sketch, lengths: list[int], figure: int) -> None:
    """ "Average booking length", "how long do bookings last on average": from the day on which rows begin to that on which they end."""
    tables = {table for place in range(len(sketch.nodes)) if (table := sketch.table(place)) is not None}
    pair = begin_and_end(sketch, next(iter(tables))) if len(tables) == 1 else None
    if pair is None or len(lengths) != 1 or any(sketch.column(place) is not None for place in lengths):
        return
    sketch.take(figure, *lengths, *(item for item in (lengths[0] - 1,) if item >= 0 and _is_how_many(sketch, item)))
    sketch.take(*(place for place, node in enumerate(sketch.nodes) if node.text.lower() in LASTING))
    made = _FIGURES[sketch.nodes[figure].op or Op.AVERAGE]
    sketch.targets.append((lengths[0], lasting(sketch, pair[0], pair[1], made)))


def lasting(sketch: Sketch, begin: ColumnRef, end: ColumnRef, figure: Aggregate | None = None) -> Measure:
    """Return how long it is from one day or moment to another: moments in hours or minutes, unless days are said."""
    words = {node.text.lower() for node in sketch.nodes}
    shorter = [place for place, node in enumerate(sketch.nodes) if node.text.lower() in _SHORTER]
    are_moments = sketch.kind(begin) is sketch.kind(end) is ColumnKind.DATETIME
    if not are_moments or not words.isdisjoint(_DAYS):
        # No day is cut into minutes.
        sketch.doubts += 1.0 if shorter else 0.0
        return Measure(begin, figure, until=end)
    sketch.take(*shorter)
    in_minutes = any(sketch.nodes[place].text.lower() in _MINUTES for place in shorter)
    return Measure(begin, figure, until=end, lasting="minutes" if in_minutes else "hours")


def read_lengths(sketch: Sketch) -> None:
    """ "Trips longer than 60 minutes", "stays that lasted over 3 days": from where rows begin to where they end, where no figure says it."""
    for place, node in enumerate(sketch.nodes):
        figure = sketch.after(place)
        number = sketch.number(figure)
        unit = figure + 1 if figure is not None and figure + 1 < len(sketch.nodes) else None
        if node.op not in OPERATORS or number is None or figure is None or unit is None or sketch.taken[place]:
            continue
        said = unit_of_measure(sketch.nodes[unit].text)
        verb = sketch.nodes[place - 1].text.lower() if place else ""
        is_length = node.text.lower().startswith(("long", "short")) or verb in LASTING
        table = sketch.nearest_table(place)
        if said is None or said[0] != "time" or not is_length or table is None:
            continue
        pair = begin_and_end(sketch, table)
        if pair is None or column_of_unit(sketch, figure) is not None:
            continue
        are_moments = all(sketch.kind(day) is ColumnKind.DATETIME for day in pair)
        step: Step = (
            "hours" if are_moments and said[1] >= _MILLISECONDS["hours"] else "minutes" if are_moments else "days"
        )
        value = number * said[1] / _MILLISECONDS[step]
        if step == "days" and value != int(value):
            continue
        sketch.take(place, figure, unit, place - 1 if verb in LASTING else None)
        length = Measure(pair[0], until=pair[1], lasting=step)
        literal = Literal(int(value) if value == int(value) else value)
        sketch.conditions.append(Placed(place, Comparison(length, OPERATORS[node.op], literal)))


_MILLISECONDS: Final[dict[Step, float]] = {"minutes": 60_000, "hours": 3_600_000, "days": 86_400_000}


def begin_and_end(sketch: Sketch, table: int) -> tuple[ColumnRef, ColumnRef] | None:
    """Return the days on which each row of a table begins and ends, where it has just such two."""
    days = [day for day in sketch.time_columns(table) if sketch.kind(day) in TEMPORAL and not sketch.is_birthday(day)]
    ends = [day for day in days if not _ENDS.isdisjoint(sketch.words_of(day))]
    begins = [day for day in days if not _BEGINS.isdisjoint(sketch.words_of(day))]
    return (begins[0], ends[0]) if len(begins) == len(ends) == 1 and begins != ends else None


def _until_done(sketch: Sketch, lengths: list[int], figure: int) -> None:
    """ "Average time to pay an invoice": from the one day that each row has to that of the deed."""
    for place in range(1, len(sketch.nodes) - 1):
        end = sketch.column(place + 1)
        is_deed = sketch.nodes[place].text.lower() == "to" and end is not None and sketch.kind(end) in TEMPORAL
        length = next((item for item in lengths if item < place), None)
        if end is None or length is None or not is_deed or not sketch.can_be_empty(end):
            continue
        days = [day for day in sketch.time_columns(end.table) if sketch.kind(day) in TEMPORAL and day != end]
        begun = [
            day
            for day in days
            if not sketch.can_be_empty(day) and not sketch.is_birthday(day) and _DUE.isdisjoint(sketch.words_of(day))
        ]
        if len(begun) == 1:
            sketch.take(length, figure, place, place + 1)
            made = _FIGURES[sketch.nodes[figure].op or Op.AVERAGE]
            sketch.targets.append((place + 1, lasting(sketch, begun[0], end, made)))
            return


def _moment(sketch: Sketch, place: int | None) -> ColumnRef | None:
    """Return the date that a node names: itself, or that or the only one of a table: "from order to delivery"."""
    column, table = sketch.column(place), sketch.table(place)
    if column is not None:
        return column if sketch.kind(column) in TEMPORAL else None
    days = [] if table is None else [item for item in sketch.time_columns(table) if sketch.kind(item) in TEMPORAL]
    if place is not None and len(days) > 1:
        word = base_form(sketch.nodes[place].text.lower())
        close = sketch.index.similar(word)
        # A delivery is when something was delivered: the stem of the noun is longer by a letter.
        days = [
            day
            for day in days
            if any(part in close or stem(word).startswith(stem(part)) for part in sketch.words_of(day))
        ]
    return days[0] if len(days) == 1 else None


def _behind_date(sketch: Sketch, place: int) -> int:
    """Return the place behind a name and the light words that end it: "ship date", "issued on"."""
    place += 1
    while place < len(sketch.nodes):
        word = sketch.nodes[place].text.lower()
        if word in _JOINTS or (word not in _DATES and not (word in _ENDINGS and sketch.taken[place])):
            break
        place += 1
    return place


_DUE: Final = frozenset({"due", "deadline", "expected", "planned", "promised"})
_ENDINGS: Final = frozenset({"on", "at"})


def _is_how_many(sketch: Sketch, place: int) -> bool:
    return sketch.op(place) is Op.COUNT or sketch.nodes[place].text == "几"
