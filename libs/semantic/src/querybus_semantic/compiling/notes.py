"""What has to be said of a compiled answer: its numbers are right, and would be misread without it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from querybus_semantic.compiling.dates import start_of
from querybus_semantic.layer.definitions import Calendar, Grain
from querybus_semantic.layer.request import Asker, Request


class NoteKind(StrEnum):
    """A closed set; `Note.about` names what is meant in brackets."""

    ONCE_PER_GROUP = "once_per_group"
    """A row counts in several groups, which do not add up to the total [dataset of the rows]."""
    OWN_DATES = "own_dates"
    """Each figure is dated by a date of its own [fields]."""
    OCCUR_TOGETHER = "occur_together"
    """Only combinations that rows of one dataset have [dataset]."""
    FIRST_IS_CUT = "first_is_cut"
    """The first group of days begins before the period that was asked for [grain, and the day]."""
    LAST_IS_CUT = "last_is_cut"
    """The last group of days ends behind the period that was asked for [grain, and the day]."""


@dataclass(frozen=True, slots=True)
class Note:
    """One thing to say; `day` is the first or last day that counts where a group of days is cut."""

    kind: NoteKind
    about: tuple[str, ...]
    day: date | None = None


def cut_groups(request: Request, calendar: Calendar, asker: Asker | None) -> Iterator[Note]:
    """Yield a note for the first and the last week, month, quarter or year that a period holds only a part of.

    The one that is still running is left out: that it is not over is no cut.
    """
    period = request.period
    if period is None:
        return
    for item in request.dimensions:
        grain = item.grain
        if item.field != period.field or grain is None or grain in {Grain.DAY, Grain.HOUR}:
            continue
        if period.start is not None and start_of(period.start, grain, calendar) != period.start:
            yield Note(NoteKind.FIRST_IS_CUT, (grain.value,), period.start)
        is_over = asker is None or (period.until is not None and period.until <= asker.today)
        if period.until is not None and is_over and start_of(period.until, grain, calendar) != period.until:
            yield Note(NoteKind.LAST_IS_CUT, (grain.value,), period.until - timedelta(days=1))
