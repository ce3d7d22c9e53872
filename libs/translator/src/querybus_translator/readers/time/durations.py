"""Days from one date to another: "average days from order date to delivery date", 发货日期到送达日期平均几天.

Limits: whole days, of two dates that are named; their average, longest and shortest.
"""

from __future__ import annotations

from typing import Final

from querybus.core.catalog import ColumnKind
from querybus_translator.language.lexicon import Op
from querybus_translator.language.stems import base_form, stem
from querybus_translator.writing.form import Aggregate, ColumnRef, Measure
from querybus_translator.writing.sketch import TEMPORAL, Sketch

_LASTING: Final = frozenset({"last", "lasts", "take", "takes"})
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
_SHORTER: Final = frozenset({"second", "seconds", "minute", "minutes", "hour", "hours", "秒", "分钟", "小时"})
_DATES: Final = frozenset({"date", "dates", "day", "time", "日期", "时间"})
_JOINTS: Final = frozenset({"to", "until", "till", "and", "到", "至"})
_FIGURES: Final = {
    Op.AVERAGE: Aggregate.AVERAGE,
    Op.MAXIMUM: Aggregate.MAXIMUM,
    Op.MINIMUM: Aggregate.MINIMUM,
}


def read_durations(sketch: Sketch) -> None:
    """Read the one figure of days between two dates that stand side by side; without a figure nothing is read."""
    lengths = [place for place, node in enumerate(sketch.nodes) if node.text.lower() in _LENGTHS]
    figures = sketch.free_places(*_FIGURES)
    if not lengths or len(figures) != 1:
        return
    if any(node.text.lower() in _SHORTER for node in sketch.nodes):
        # What is counted are days: "the average trip length in minutes" is none.
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
        sketch.targets.append((place, Measure(begin, figure, until=end)))
        return
    _until_done(sketch, lengths, figures[0])
    if not sketch.targets:
        _of_rows(sketch, lengths, figures[0])


def _of_rows(sketch: Sketch, lengths: list[int], figure: int) -> None:
    """ "Average booking length", "how long do bookings last on average": from the day on which rows begin to that on which they end."""
    tables = {table for place in range(len(sketch.nodes)) if (table := sketch.table(place)) is not None}
    pair = begin_and_end(sketch, next(iter(tables))) if len(tables) == 1 else None
    in_days = any(node.text.lower() in _DAYS for node in sketch.nodes)
    if pair is not None and not in_days and all(sketch.kind(day) is ColumnKind.DATETIME for day in pair):
        # Of moments it is not said whether days are meant.
        return
    if pair is None or len(lengths) != 1 or any(sketch.column(place) is not None for place in lengths):
        return
    sketch.take(figure, *lengths)
    sketch.take(*(place for place, node in enumerate(sketch.nodes) if node.text.lower() in _LASTING))
    made = _FIGURES[sketch.nodes[figure].op or Op.AVERAGE]
    sketch.targets.append((lengths[0], Measure(pair[0], made, until=pair[1])))


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
            sketch.targets.append((place + 1, Measure(begun[0], made, until=end)))
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
