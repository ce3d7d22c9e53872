"""Whose rows are meant where somebody is asked for: those who did it most, or never."""

from __future__ import annotations

from querybus_translator.readers.deeds import doers, is_denied_deed
from querybus_translator.schema.additive import is_additive
from querybus_translator.writing.form import Aggregate, ColumnRef, Measure
from querybus_translator.writing.sketch import Ranking, Sketch


def who_never(sketch: Sketch, anchor: int) -> int:
    """ "Who has never borrowed anything": those who may borrow, and not what was borrowed."""
    deeds = [column for place in range(len(sketch.nodes)) if (column := _denied(sketch, place)) is not None]
    if not deeds or sketch.targets or sketch.nodes[0].text.lower() != "who":
        return anchor
    people = doers(sketch, deeds[0].table)
    sketch.distinct = False
    if not people and anchor not in {table for table, _ in sketch.index.names_of_persons}:
        sketch.doubts += 1.0
    return people[0].table if people else anchor


def who_did_most(sketch: Sketch, anchor: int) -> int:
    """ "Who worked the most hours", "who bought the most tickets": those whose they are, of which each has many."""
    ranking = sketch.rankings[0] if sketch.rankings and not sketch.targets else None
    if ranking is None or not (_counts(sketch, ranking, anchor) or _adds_up(sketch, ranking.by, anchor)):
        return anchor
    people = doers(sketch, anchor)
    sketch.distinct = False
    return people[0].table if people else anchor


def _counts(sketch: Sketch, ranking: Ranking, anchor: int) -> bool:
    return ranking.by is None and ranking.counted == anchor and sketch.nodes[0].text.lower() == "who"


def _adds_up(sketch: Sketch, by: Measure | None, anchor: int) -> bool:
    if by is None or by.column is None or by.aggregate not in (None, Aggregate.SUM) or by.column.table != anchor:
        return False
    return by.aggregate is not None or is_additive(sketch.index, anchor, by.column.column)


def _denied(sketch: Sketch, place: int) -> ColumnRef | None:
    return sketch.column(place) if is_denied_deed(sketch, place) else None
