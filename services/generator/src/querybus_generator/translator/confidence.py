"""How sure a reading is: every content word must be accounted for, and every assumption costs.

Limits: a product of penalties, each for one kind of doubt; the threshold stands in `translation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from querybus_generator.translator.form import Form, columns_of
from querybus_generator.translator.lexicon import Op, lexicon
from querybus_generator.translator.nodes import NodeKind
from querybus_generator.translator.sketch import Sketch
from querybus_generator.translator.write import Written

_HARMLESS = frozenset({
    Op.SHOW, Op.AND, Op.RELATIVE, Op.NAMED, Op.EQUAL, Op.BY, Op.UNIT, Op.TO, Op.BOTH, Op.GROUPED, Op.TIMES,
    Op.FREQUENCY, Op.BUT, Op.OLD, Op.SINCE, Op.IN_ALL, Op.CONTAINS,
})  # fmt: skip


_FAINT_LINK_MAX = 0.8


@dataclass(frozen=True, slots=True)
class Judgement:
    """Confidence in 0..1, and the words that were not accounted for."""

    confidence: float
    unread: tuple[str, ...]
    features: dict[str, float]


def judge(
    sketch: Sketch, form: Form, written: Written, best_score: float, others: Sequence[float]
) -> Judgement:
    """Return the confidence of one reading of the question."""
    unread: list[str] = []
    used = columns_of(form)
    vague = 0
    words = names = links = ops = literals = 0
    for place, node in enumerate(sketch.nodes):
        if sketch.taken[place]:
            continue
        if node.kind is NodeKind.WORD:
            words += 1
            vague += node.text.lower() in lexicon().vague
            names += node.capital
            unread.append(node.text)
        elif node.kind is NodeKind.LINK:
            column = sketch.column(place)
            if column is not None and column in used:
                continue
            pick = sketch.pick(place)
            if pick is not None and pick.score < _FAINT_LINK_MAX:
                words += 1
            else:
                links += 1
            unread.append(node.text)
        elif node.kind in {NodeKind.NUMBER, NodeKind.TEXT, NodeKind.PERIOD}:
            literals += 1
            unread.append(node.text)
        elif node.kind is NodeKind.OP and node.op not in _HARMLESS:
            ops += 1
            unread.append(node.text)
    unsupported = sum(1 for node in sketch.nodes if node.op is Op.UNSUPPORTED)
    scores = [each.score for each in sketch.assignment.picks.values()]
    mean = sum(scores) / len(scores) if scores else 0.5
    least = min(scores, default=0.5)
    confidence = (
        0.98
        * 0.85**words
        * 0.7**names
        * 0.5**vague
        * 0.3**unsupported
        * 0.55**links
        * 0.45**literals
        * 0.5**ops
        * (0.55 + 0.45 * mean)
        * (0.75 + 0.25 * least)
        * (1 - min(0.6, sketch.doubts))
        * 0.97 ** max(0.0, written.cost - 1)
        * 0.85**written.ambiguous
    )
    features = {
        "words": float(words),
        "names": float(names),
        "vague": float(vague + unsupported),
        "links": float(links),
        "ops": float(ops),
        "literals": float(literals),
        "mean": mean,
        "least": least,
        "doubts": sketch.doubts,
        "cost": written.cost,
        "ambiguous": float(written.ambiguous),
        "margin": sketch.assignment.score - best_score,
    }
    del others
    return Judgement(round(confidence, 4), tuple(unread), features)
