"""How sure a reading is: every content word must be accounted for, and every assumption costs.

Two steps: facts about the reading are counted, and a rule multiplies one penalty for each; then a small weighing, fitted
on questions with known answers (`benchmarks/fit_translator.py`), sets the rule's figure and the facts against
each other. No fact names a table or a word. Without the fitted weights the rule's figure stands.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from typing import Final

from querybus.text.vocabulary import is_word
from querybus_translator.answers.not_meant import NOT_MEANT
from querybus_translator.answers.whole import Whole
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.names import is_han
from querybus_translator.schema.comparison import Candidate
from querybus_translator.schema.labels import holds_years
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import (
    Aggregate,
    ColumnRef,
    Form,
    Membership,
    columns_of,
)
from querybus_translator.writing.sketch import Sketch
from querybus_translator.writing.write import Written

_HARMLESS = frozenset({
    Op.SHOW, Op.AND, Op.RELATIVE, Op.NAMED, Op.EQUAL, Op.BY, Op.UNIT, Op.TO, Op.BOTH, Op.GROUPED, Op.TIMES,
    Op.FREQUENCY, Op.BUT, Op.OLD, Op.SINCE, Op.IN_ALL, Op.CONTAINS,
})  # fmt: skip
_FAINT_LINK_MAX = 0.8
# Whatever stands behind these is what the question is about: unread, it cannot be answered.
_HEADS = frozenset({
    Op.COUNT, Op.COUNT_KINDS, Op.EACH, Op.SUM, Op.AVERAGE, Op.MAXIMUM, Op.MINIMUM, Op.HIGHEST, Op.LOWEST, Op.MOST,
    Op.FEWEST, Op.COMMON, Op.RARE,
})  # fmt: skip
_TURNING = frozenset({
    Op.NOT, Op.GREATER, Op.AT_LEAST, Op.LESS, Op.AT_MOST, Op.ORDER, Op.AVERAGE, Op.EACH, Op.SUM, Op.MAXIMUM, Op.MINIMUM,
    Op.HIGHEST, Op.LOWEST, Op.MOST, Op.FEWEST, Op.COMMON, Op.RARE, Op.COUNT, Op.COUNT_KINDS, Op.ASCENDING, Op.DESCENDING,
    Op.ADJECTIVE_MOST, Op.ADJECTIVE_LEAST,
})  # fmt: skip
_CLOSE_SECOND = 4.0
NOTHING_OPEN_MIN = 0.76
UNDEFINED_SHARE: Final = 0.4
_DOUBTS_FEW = 0.06
_OPEN_MATTERS = (
    "unread_words", "unread_names", "unread_links", "unread_phrases", "unread_literals", "rival_close",
    "keys_ambiguous", "links_faint",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the rule makes of a reading (0..1), the words not accounted for, and the facts it rests on.

    `undefined` counts words without an exact meaning and things that cannot be worked out; no weighing outweighs them.
    """

    rule: float
    unread: tuple[str, ...]
    undefined: int
    facts: Mapping[str, float]

    @property
    def defined_share(self) -> float:
        """What is left of a reading's confidence where so much of it is undefined, 1 where nothing is."""
        return UNDEFINED_SHARE**self.undefined


_VERB_SCORE: Final = 0.9


@dataclass(slots=True)
class _Unread:
    """What nobody took, by kind."""

    texts: list[str]
    words: int = 0
    names: int = 0
    links: int = 0
    literals: int = 0
    ops: int = 0
    undefined: int = 0


def judge(sketch: Sketch, form: Form, written: Written, best_score: float) -> Judgement:
    """Return the judgement of one reading; `best_score` is that of the best assignment of links."""
    unread = _unread(sketch, form)
    picks = sketch.assignment.picks
    if resembling := _resembling(sketch, form):
        unread.words += len(resembling)
        unread.undefined += 1
        unread.texts.extend(resembling)
    # A follow-up without links speaks of what was said before; what a verb means stands for a link as well.
    verbs = [_VERB_SCORE for place in sketch.done if place not in picks]
    scores = [pick.score for place, pick in picks.items() if not _joins_anyway(sketch, place)]
    scores = scores or [pick.score for pick in picks.values()] or verbs or [1.0 if sketch.context else 0.5]
    mean, least = sum(scores) / len(scores), min(scores)
    rule = (
        0.98
        * 0.85**unread.words
        * 0.7**unread.names
        * 0.55**unread.links
        * 0.45**unread.literals
        * 0.5**unread.ops
        * (0.55 + 0.45 * mean)
        * (0.75 + 0.25 * least)
        * (1 - min(0.6, sketch.doubts))
        * 0.97 ** max(0.0, written.cost - 1)
        * 0.85 ** len(written.keys)
    )
    facts = {
        "unread_words": float(unread.words),
        "unread_names": float(unread.names),
        "unread_links": float(unread.links),
        "unread_phrases": float(unread.ops),
        "unread_literals": float(unread.literals),
        "links_apart": 1 - mean,
        "link_weakest": 1 - least,
        "links_faint": float(sum(1 for score in scores if score < _FAINT_LINK_MAX)),
        "doubts": min(1.0, sketch.doubts),
        "joins": float(written.joins),
        "keys_ambiguous": float(len(written.keys)),
        "ways_ambiguous": float(len(written.ways)),
        "behind_best": best_score - sketch.assignment.score,
        # What stands beside a number, so that people know it, is nothing that was asked for.
        # A first and a last name are one name.
        "targets": float(len(form.targets) - sketch.beside) if sketch.targets or form.group else 1.0,
        "targets_implied": float(not sketch.targets),
        "conditions": float(len(form.where)),
        "is_grouped": float(bool(form.group)),
        "is_counted": float(bool(form.having)),
        "is_ranked": float(form.limit is not None),
        "is_ordered": float(bool(form.order) and form.limit is None),
        "is_combined": float(form.combined is not None),
        **_where_unread(sketch),
        "is_absent": float(any(isinstance(absence, Membership) for _, absence in sketch.absences)),
        "rule_log": math.log(max(1e-3, rule)),
    }
    whole = Whole(sketch, form, written)
    undefined = unread.undefined + sum(holds(whole) for holds in NOT_MEANT)
    return Judgement(round(rule, 4), tuple(unread.texts), undefined, facts)


def _resembling(sketch: Sketch, form: Form) -> tuple[str, ...]:
    """Return the linked words of a question that names nothing here and asks for no figure: a resemblance alone is a guess."""
    picks = sketch.assignment.picks
    is_named = any(pick.score >= _FAINT_LINK_MAX for pick in picks.values())
    if is_named or sketch.context or any(target.aggregate is not None for target in form.targets):
        return ()
    texts = tuple(sketch.nodes[place].text for place in sorted(picks))
    called = " ".join(_name_of(sketch, pick) for pick in picks.values()).lower()
    return () if any(text.lower().removesuffix("s") in called for text in texts) else texts


def _name_of(sketch: Sketch, pick: Candidate) -> str:
    table = sketch.index.table(pick.table)
    thing = table if pick.column is None else table.columns[pick.column]
    return " ".join((thing.name, *thing.display_names.values()))


def _joins_anyway(sketch: Sketch, place: int) -> bool:
    """ "Medicines that interact with enzymes": a word that merely resembles the table by which what is named is joined without it."""
    pick = sketch.assignment.picks[place]
    if pick.column is not None or pick.score >= _FAINT_LINK_MAX:
        return False
    others = sorted({item.table for other, item in sketch.assignment.picks.items() if other != place} - {pick.table})
    ways = (sketch.index.graph.path((one,), other) or () for one, other in pairwise(others))
    return any(pick.table in (edge.source, edge.target) for way in ways for edge in way)


def _where_unread(sketch: Sketch) -> dict[str, float]:
    """Return where the words stand that nobody took: a word in the place of a condition is worse than a stray verb."""
    nodes = sketch.nodes
    content = [place for place, node in enumerate(nodes) if node.kind in _CONTENT]
    unread = [
        place
        for place in content
        if not sketch.taken[place]
        and (
            nodes[place].kind is NodeKind.WORD or (nodes[place].kind is NodeKind.LINK and sketch.column(place) is None)
        )
    ]
    linked = [place for place in content if nodes[place].kind is NodeKind.LINK and sketch.taken[place]]
    result: dict[str, float] = dict.fromkeys(_PLACES_UNREAD, 0.0)
    for place in unread:
        before = nodes[place - 1] if place else None
        lead = before.text.lower() if before is not None else ""
        if lead in _COPULAS:
            result["unread_predicate"] += 1
        elif lead in _ARTICLES or lead in _OWNING or (before is not None and before.op is Op.RELATIVE):
            result["unread_owned"] += 1
        elif before is not None and before.kind is NodeKind.STOP and nodes[place].capital:
            result["unread_place"] += 1
        if nodes[place].text.lower().endswith(_VERB_ENDINGS):
            related = any(other < place for other in linked) and any(other > place for other in linked)
            result["unread_relation" if related else "unread_verb"] += 1
        if place == content[-1]:
            result["unread_last"] += 1
        if place + 1 < len(nodes) and nodes[place + 1].kind is NodeKind.LINK:
            result["unread_attribute"] += 1
    result["unread_share"] = len(unread) / max(1, len(content))
    result["unread_both"] = float(bool(sketch.free_places(Op.BOTH)))
    named = sketch.names_kind or any(
        sketch.table(place) is not None or pick.with_table for place, pick in sketch.assignment.picks.items()
    )
    result["no_table_named"] = float(not named)
    return result


_CONTENT = frozenset(
    {NodeKind.LINK, NodeKind.WORD, NodeKind.NUMBER, NodeKind.TEXT, NodeKind.PERIOD, NodeKind.RECURRING}
)
_VERB_ENDINGS = ("ed", "ing")
_COPULAS = frozenset({"is", "are", "was", "were", "be", "been", "being", "not"})
_ARTICLES = frozenset({"a", "an", "any", "some"})
_OWNING = frozenset({"have", "has", "had", "with", "without", "having"})
_PLACES_UNREAD: tuple[str, ...] = (
    "unread_predicate", "unread_owned", "unread_place", "unread_last", "unread_attribute", "unread_relation",
    "unread_verb",
)  # fmt: skip


def rivalry(score: float, rival: float | None) -> dict[str, float]:
    """Return the facts about the next best reading with another SQL; `rival` is its score, None if there is none."""
    if rival is None:
        return {"rival_close": 0.0, "is_alone": 1.0}
    return {"rival_close": max(0.0, 1 - (score - rival) * _CLOSE_SECOND), "is_alone": 0.0}


def weigh(judgement: Judgement, facts: Mapping[str, float]) -> float:
    """Return the confidence in 0..1 from a judgement and all facts of its reading."""
    weights = _weights()
    share = weighed(weights, facts) if weights else judgement.rule
    return round(share * judgement.defined_share, 4)


def weighed(weights: Mapping[str, float], facts: Mapping[str, float]) -> float:
    """Return the share, 0..1, that weights and facts come to; where nothing is left open there is nothing to ask about."""
    total = weights["constant"] + sum(weights.get(name, 0.0) * value for name, value in facts.items())
    share = 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))
    is_open = any(facts.get(name) for name in _OPEN_MATTERS) or facts.get("doubts", 0.0) >= _DOUBTS_FEW
    return share if is_open else max(share, NOTHING_OPEN_MIN)


def calibrated(confidence: float) -> float:
    """Return how often readings of such a confidence were right, on databases that the weights were not fitted on."""
    fitted = _fitted("calibration")
    if not fitted:
        return confidence
    bounded = min(0.999, max(0.001, confidence))
    total = fitted["intercept"] + fitted["slope"] * math.log(bounded / (1 - bounded))
    return round(1 / (1 + math.exp(-total)), 4)


def _weights() -> Mapping[str, float]:
    return _fitted("weights")


@lru_cache(maxsize=2)
def _fitted(part: str) -> Mapping[str, float]:
    file = resources.files("querybus_translator").joinpath("words", "confidence.toml")
    return tomllib.loads(file.read_text(encoding="utf-8")).get(part, {}) if file.is_file() else {}


def _unread(sketch: Sketch, form: Form) -> _Unread:
    result = _Unread([])
    used = columns_of(form)
    for place, node in enumerate(sketch.nodes):
        if node.op is Op.UNSUPPORTED:
            result.undefined += 1
            result.texts.append(node.text)
        if sketch.taken[place] or node.op is Op.UNSUPPORTED:
            continue
        # "Times" is said by the way, but a number of times never.
        result.undefined += node.text.lower() in _SO_OFTEN
        denies = node.op is Op.BUT and "not" in node.text.lower().split()
        if node.op in _HARMLESS and not denies and not _is_time_of(sketch, place):
            continue
        if node.kind is NodeKind.LINK:
            if sketch.column(place) in used:
                continue
            pick = sketch.pick(place)
            faint = (node.candidates[0] if pick is None else pick).score < _FAINT_LINK_MAX
            result.words += faint
            result.links += not faint
            # "With full accreditation type": what is said of a column is never passed over.
            said = any(
                ColumnRef(link.table, link.column) in used for link in node.candidates if link.column is not None
            )
            result.undefined += not faint and not said
        elif _says_no_more(sketch, form, place):
            continue
        elif node.kind is NodeKind.WORD or node.op is Op.TIMES:
            result.words += 1 + is_han(node.text)
            result.names += node.capital
            result.undefined += (
                node.text.lower() in lexicon().vague
                or sketch.op(sketch.before(place)) in _HEADS
                or _bounds(node.text)
                or _singles_out(node.text)
            )
        elif node.kind in {NodeKind.NUMBER, NodeKind.TEXT, NodeKind.PERIOD, NodeKind.RECURRING}:
            result.literals += 1
        elif node.kind is NodeKind.OP:
            result.ops += 1
            # What turns an answer round is never passed over.
            result.undefined += node.op in _TURNING
        else:
            continue
        result.texts.append(node.text)
    return result


def _says_no_more(sketch: Sketch, form: Form, place: int) -> bool:
    """Whether a word says again what was read: "list the clubs and the number" of what was counted, "the pet policy" of a column of it."""
    word = sketch.nodes[place].text.lower()
    if word in _COUNTED:
        is_alone = sketch.after(place) is None or sketch.op(sketch.after(place)) is Op.AND
        return is_alone and any(target.aggregate is Aggregate.COUNT for target in form.targets)
    before = sketch.column(place - 1) if place else None
    if before is None or before not in columns_of(form):
        return False
    is_year = word in _YEARS and holds_years(sketch.index.column(before.table, before.column))
    return is_year or word in _OF_A_KIND


_COUNTED: Final = frozenset({"number", "numbers", "count", "counts"})
_YEARS: Final = frozenset({"year", "years"})
_OF_A_KIND: Final = frozenset({"scheme", "policy", "usage", "amount", "amounts"})


def _bounds(word: str) -> bool:
    """Whether a word says on which side of something rows lie: passed over, "after the season" would be the season."""
    return any(phrase.op in _BOUNDING for phrase in lexicon().english.get((word.lower(),), ()))


def _singles_out(word: str) -> bool:
    """Whether a word is a superlative: passed over, "the magazine with the thickest issue" would be any with an issue."""
    root = word.lower().removesuffix("est")
    forms = (root, f"{root}e", f"{root.removesuffix('i')}y", root[:-1])
    return root != word.lower() and len(root) >= _ROOT_MIN and any(is_word(form) for form in forms)


_ROOT_MIN = 3
_BOUNDING = frozenset({Op.AFTER, Op.BEFORE, Op.GREATER, Op.LESS})
_SO_OFTEN = frozenset({"twice", "两次"})


def _is_time_of(sketch: Sketch, place: int) -> bool:
    """Whether a word says how long something takes, as in "the average delivery time", and not how often."""
    return sketch.nodes[place].text.lower() == "time" and place > 0 and sketch.nodes[place - 1].kind is NodeKind.LINK
