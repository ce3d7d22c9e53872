"""The nodes of a question become readings: one for each likely assignment of links, best first, each with its confidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

from querybus.text.language import detect_language
from querybus_translator.answers.confidence import Judgement, judge, rivalry, weigh
from querybus_translator.language.lexicon import Op
from querybus_translator.resolve import resolve
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.phrases import Node, hints_of
from querybus_translator.writing.assemble import assemble
from querybus_translator.writing.equal_keys import canonical
from querybus_translator.writing.form import Form, gist, tables_of
from querybus_translator.writing.sketch import Sketch
from querybus_translator.writing.write import Written, write

_LINKS_WEIGHT: Final = 0.5


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a question: its form and SQL, the meaning of each link, and how sure it is (0..1)."""

    form: Form
    written: Written
    sketch: Sketch
    judgement: Judgement
    score: float
    facts: Mapping[str, float]
    confidence: float

    @property
    def is_open(self) -> bool:
        """Whether it is to be asked about however sure it is: ways of joining that are as good as one another, a number or a
        text that was passed over, a doubt as great as that.
        """
        ways = self.written.keys or self.written.ways
        return bool(ways or self.facts["unread_literals"]) or self.facts["doubts"] >= 1


def read(nodes: tuple[Node, ...], index: CatalogIndex, today: date) -> tuple[Reading, ...]:
    """Return the readings of a question's nodes, best first, each with its confidence beside its rivals."""
    chinese = any(detect_language(node.text) == "zh" for node in nodes)
    assignments = resolve(nodes, index)
    hints = hints_of(nodes)
    pairs: list[_Pair] = []
    for assignment in assignments:
        sketch = Sketch(nodes, assignment, index, today, chinese)
        form = assemble(sketch)
        written = write(form, index, hints, sketch.language) if form is not None else None
        if form is None or written is None or form.is_idle:
            continue
        judgement = judge(sketch, form, written, assignments[0].score)
        score = judgement.rule * judgement.defined_share + _LINKS_WEIGHT * (assignment.score - assignments[0].score)
        pairs.append(_Pair(score, form, written, sketch, judgement, gist(canonical(form, sketch.index))))
    pairs.sort(key=lambda pair: -pair.score)
    return tuple(_beside_rivals(place, pairs) for place in range(len(pairs)))


_BEHIND_MAX: Final = 0.2
"""So far behind the best links a reading still has those for its rival, though what they come to is not meant."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """A form and what it was written as; `gist` is what distinguishes it from others in what they mean."""

    score: float
    form: Form
    written: Written
    sketch: Sketch
    judgement: Judgement
    gist: tuple[object, ...]


def _shows_more(rival: _Pair, own: _Pair) -> bool:
    """Whether a form shows what another shows and columns besides, of the same rows: "the positions of players" and who they
    are. In a list of what is asked for, such as "the rank, company and value", a column more is another meaning.
    """
    here, there = (
        (frozenset(form.where), form.having, form.order, form.limit, form.combined, form.everything)
        for form in (own.form, rival.form)
    )
    more = set(rival.form.targets) - set(own.form.targets)
    if here != there or not set(own.form.targets) < set(rival.form.targets) or any(one.aggregate for one in more):
        return False
    nodes = rival.sketch.nodes
    return not any(
        measure in more and any(node.op is Op.AND or node.text == "," for node in nodes[max(0, place - 2) : place + 2])
        for place, measure in rival.sketch.targets
    )


def _takes_for_part(rival: _Pair, own: _Pair) -> bool:
    """Whether a form takes the very name of a table for a part of some column's: "characteristics" for their values."""
    theirs = rival.sketch.assignment.picks
    return any(
        pick.column is None and pick.score >= _VERY_NAME_MIN and place in theirs and theirs[place].score < _PART_MAX
        for place, pick in own.sketch.assignment.picks.items()
    )


_VERY_NAME_MIN: Final = 0.99
_PART_MAX: Final = 0.9


def _lies_farther(rival: _Pair, own: _Pair) -> bool:
    """Whether a form goes on from where another finds something to find it there: "rent in York", "flats by city" are by the
    building's city, and not by that of the building's landlord.
    """
    here, there = own.sketch.assignment.picks, rival.sketch.assignment.picks
    others = [place for place in here.keys() | there.keys() if here.get(place) != there.get(place)]
    one, far = (here.get(others[0]), there.get(others[0])) if len(others) == 1 else (None, None)
    if one is None or far is None or one.column is None or far.column is None or one.value != far.value:
        return False
    index, tables = own.sketch.index, set(tables_of(own.form)) - {one.table}
    is_same = index.column(one.table, one.column).name == index.column(far.table, far.column).name
    if one.table == far.table or not is_same or not tables or index.is_key(one.table, one.column):
        return False
    way, distance = index.graph.distance(one.table, far.table), index.graph.distance
    return all(distance(item, far.table) == distance(item, one.table) + way for item in tables)


def _beside_rivals(place: int, found: list[_Pair]) -> Reading:
    own = found[place]
    # What passes over a word that is read here is no other way to read the question.
    rivals = [
        pair.score
        for pair in found
        if pair.written.sql != own.written.sql
        and pair.gist != own.gist
        and not _shows_more(pair, own)
        and not _takes_for_part(pair, own)
        and not _lies_farther(pair, own)
        and len(pair.judgement.unread) <= len(own.judgement.unread)
        and (pair.judgement.undefined <= own.judgement.undefined or own.judgement.facts["behind_best"] > _BEHIND_MAX)
    ]
    facts = {**own.judgement.facts, **rivalry(own.score, max(rivals, default=None))}
    confidence = weigh(own.judgement, facts)
    return Reading(own.form, own.written, own.sketch, own.judgement, own.score, facts, confidence)
