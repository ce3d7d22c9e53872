"""What days say without being named: "overdue loans", "returned late", "upcoming events", "who is currently on leave".

A state is read only where one table that is spoken of has the days for it: the day by which something was due beside the
one on which it was done, or the day with which rows end. Limits: of several such days none is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final

from querybus_translator.language.time.words import step_at
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import AllOf, AnyOf, ColumnRef, Comparison, Condition, Literal, Measure, Operator
from querybus_translator.writing.sketch import TEMPORAL, Placed, Sketch

_DUE: Final = frozenset(
    {"due", "deadline", "expected", "planned", "promised", "scheduled", "target", "estimated", "应还", "到期", "截止"}
)
_BEGUN: Final = frozenset(
    {
        "start",
        "begin",
        "opened",
        "created",
        "ordered",
        "borrowed",
        "issued",
        "sent",
        "shipped",
        "requested",
        "joined",
        "hired",
    }
)
_ENDED: Final = frozenset(
    {
        "end", "ended", "finish", "finished", "until", "close", "closed", "expiry", "expire", "expired", "completed", "left",
        "leave", "retired", "returned", "return", "resolved", "discharged", "cancelled", "terminated", "departed", "withdrawn",
        "sold", "stopped", "resigned", "checkout", "settled", "结束日期", "离职日期", "归还日期", "关闭日期", "完成日期",
    }
)  # fmt: skip


State = Callable[[Sketch, int, bool], Condition | None]
"""Gives the condition of a state from a table's days; the last says whether a verb of what was done stands before."""


def read_states(sketch: Sketch) -> None:
    """Read every word for a state that the days of one table give, and take it."""
    for place, node in enumerate(sketch.nodes):
        text = node.text.lower()
        if text == "time" and place and sketch.nodes[place - 1].text.lower().endswith(" on"):
            # "Returned on time", where a column is called "returned on".
            text = "on time"
        words = f"{text} {sketch.nodes[place + 1].text.lower()}" if place + 1 < len(sketch.nodes) else text
        for said, state in _STATES.items():
            is_known = node.candidates or (node.kind is NodeKind.STOP and said not in _STOPS)
            if said not in (text, words) or (is_known and not _says_how(sketch, place)):
                continue
            is_done = sketch.column(sketch.before(place)) is not None
            found = [found for table in _tables(sketch, place) if (found := state(sketch, table, is_done)) is not None]
            if len(found) == 1:
                sketch.take(place, place + 1 if said == words != text else None)
                _take_deed(sketch, place, found[0])
                if all(placed.condition != found[0] for placed in sketch.conditions):
                    sketch.conditions.append(Placed(place, found[0]))

    _take_new(sketch)


def _says_how(sketch: Sketch, place: int) -> bool:
    """ "How many restaurants are open?": how they are, although a day is called after their opening."""
    node, before = sketch.nodes[place], sketch.nodes[place - 1].text.lower() if place else ""
    are_days = all(
        link.column is not None
        and link.value is None
        and sketch.kind(ColumnRef(link.table, link.column)) in TEMPORAL
        and link.score < _NAMED_MIN
        for link in node.candidates
    ) or all(link.score < _FAINT_MAX for link in node.candidates)
    is_said = before in _COPULAS or sketch.table(place + 1 if place + 1 < len(sketch.nodes) else None) is not None
    return bool(node.candidates) and are_days and is_said and node.text.lower() in ("open", "active")


def _take_new(sketch: Sketch) -> None:
    """ "New patients per month": they are new on the one day that says when each of them came."""
    for place, node in enumerate(sketch.nodes):
        table = sketch.table(sketch.after(place))
        if node.kind is not NodeKind.WORD or node.text.lower() not in _NEW or table is None:
            continue
        came = [day for day in _days(sketch, table) if not _is_called(sketch, day, _ENDED | _DUE)]
        words = [other.text.lower() for other in sketch.nodes]
        cuts = any(
            other.kind is NodeKind.PERIOD or step_at(words, number + 1) is not None
            for number, other in enumerate(sketch.nodes)
        )
        if len(came) == 1 and cuts:
            sketch.take(place)
            sketch.done[place] = came[0]


_NEW: Final = frozenset({"new", "新增", "新增的", "新", "新的", "新注册", "新加入"})
_NAMED_MIN: Final = 0.9
_FAINT_MAX: Final = 0.75
_COPULAS: Final = frozenset({"is", "are", "was", "were", "be", "still", "currently"})


def _tables(sketch: Sketch, place: int) -> Iterator[int]:
    """Give the tables that are spoken of; the one right behind the word alone where there is one."""
    behind = sketch.table(sketch.after(place))
    yield from (behind,) if behind is not None else sketch.mentioned_tables()


def _take_deed(sketch: Sketch, place: int, state: Condition) -> None:
    """ "Returned late": the verb before names the day that is compared, and nothing is asked of it."""
    verb = sketch.before(place)
    column = sketch.column(verb)
    if column is not None and verb is not None and isinstance(state, Comparison) and state.left.column == column:
        sketch.take(verb)
        sketch.done[verb] = column


def _overdue(sketch: Sketch, table: int, _: bool) -> Condition | None:
    due, done = _due_and_done(sketch, table)
    if due is None or done is None:
        return None
    today = Literal(sketch.today.isoformat())
    return AllOf((Comparison(Measure(done), Operator.IS_NULL), Comparison(Measure(due), Operator.LESS, today)))


def _late(sketch: Sketch, table: int, is_done: bool) -> Condition | None:
    """ "Returned late" was done, and too late; what is late may not be done yet."""
    due, done = _due_and_done(sketch, table)
    if due is None or done is None:
        return None
    late, overdue = Comparison(Measure(done), Operator.GREATER, due), _overdue(sketch, table, is_done)
    return late if is_done or overdue is None else AnyOf((late, overdue))


def _on_time(sketch: Sketch, table: int, _: bool) -> Condition | None:
    due, done = _due_and_done(sketch, table)
    return None if due is None or done is None else Comparison(Measure(done), Operator.AT_MOST, due)


def _upcoming(sketch: Sketch, table: int, _: bool) -> Condition | None:
    days = _days(sketch, table)
    today = Literal(sketch.today.isoformat())
    return Comparison(Measure(days[0]), Operator.AT_LEAST, today) if len(days) == 1 else None


def _open(sketch: Sketch, table: int, _: bool) -> Condition | None:
    """Rows whose last day has not come: the only one that may be empty, beside one that is never."""
    days = _days(sketch, table)
    empty = [day for day in days if sketch.can_be_empty(day) and not _is_called(sketch, day, _BEGUN)]
    # Where several days may be empty it is the one that ends.
    ends = [day for day in empty if _is_called(sketch, day, _ENDED)]
    empty = ends if len(ends) == 1 else empty
    has_begin = any(not sketch.can_be_empty(day) for day in days)
    if len(empty) == 1 and has_begin:
        return Comparison(Measure(empty[0]), Operator.IS_NULL)
    ends = [day for day in days if _is_called(sketch, day, _ENDED)]
    if empty or len(days) != 2 or len(ends) != 1:
        return None
    # Each row has both days: today lies between them.
    begin = next(day for day in days if day != ends[0])
    today, tomorrow = sketch.today.isoformat(), (sketch.today + timedelta(days=1)).isoformat()
    return AllOf(
        (
            Comparison(Measure(begin), Operator.LESS, Literal(tomorrow)),
            Comparison(Measure(ends[0]), Operator.AT_LEAST, Literal(today)),
        )
    )


def _going_on(sketch: Sketch, table: int, _: bool) -> Condition | None:
    """现在有多少工人, where the word says little elsewhere: as `_open`, where a day is called after an end."""
    going_on = _open(sketch, table, False)
    named = going_on.left.column if isinstance(going_on, Comparison) else None
    return None if named is not None and not _is_called(sketch, named, _ENDED) else going_on


def _ended(sketch: Sketch, table: int, _: bool) -> Condition | None:
    """Rows whose last day has come, where those that go on have none."""
    going_on = _open(sketch, table, False)
    return Comparison(going_on.left, Operator.NOT_NULL) if isinstance(going_on, Comparison) else None


_STATES: Final[dict[str, State]] = {
    "overdue": _overdue,
    "逾期": _overdue,
    "late": _late,
    "too late": _late,
    "on time": _on_time,
    "upcoming": _upcoming,
    "forthcoming": _upcoming,
    "currently": _open,
    "current": _open,
    "现在": _going_on,
    "目前": _going_on,
    "active": _open,
    "ongoing": _open,
    "open": _open,
    "running now": _open,
    "former": _ended,
    "ended": _ended,
}


_STOPS: Final = frozenset({"currently", "on time", "running now", "现在", "目前"})
"""Words that say nothing elsewhere."""


def _due_and_done(sketch: Sketch, table: int) -> tuple[ColumnRef | None, ColumnRef | None]:
    """Return the day by which rows of a table are due and the one on which they were done, None where it is not one."""
    days = _days(sketch, table)
    due = [day for day in days if _is_called(sketch, day, _DUE)]
    done = [day for day in days if day not in due and sketch.can_be_empty(day)]
    return (due[0] if len(due) == 1 else None, done[0] if len(done) == 1 else None)


def _days(sketch: Sketch, table: int) -> list[ColumnRef]:
    days = [day for day in sketch.time_columns(table) if sketch.kind(day) in TEMPORAL]
    return [day for day in days if not sketch.is_birthday(day)]


def _is_called(sketch: Sketch, column: ColumnRef, words: frozenset[str]) -> bool:
    return not words.isdisjoint(sketch.words_of(column))
