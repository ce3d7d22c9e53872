"""Parts of texts become conditions: contains, starts with, ends with, and 以...开头."""

from __future__ import annotations

from querybus.core.catalog import ColumnKind
from querybus_translator.language.clauses import JOINING, label_columns, negation_before
from querybus_translator.language.lexicon import Op, lexicon
from querybus_translator.language.stems import base_form
from querybus_translator.schema.phrases import NodeKind
from querybus_translator.writing.form import Comparison, Literal, Measure, Operator
from querybus_translator.writing.sketch import Placed, Sketch

_PATTERNS = {Op.CONTAINS: Operator.CONTAINS, Op.STARTS: Operator.STARTS, Op.ENDS: Operator.ENDS}


def read_patterns(sketch: Sketch) -> None:
    for place in sketch.free_places(Op.CONTAINS, Op.STARTS, Op.ENDS):
        operator = _PATTERNS[sketch.op(place) or Op.CONTAINS]
        text = sketch.after(place, over=(Op.CONTAINS, Op.STARTS, Op.ENDS))
        if len(sketch.nodes) > place + 1 and sketch.nodes[place].text.lower().endswith("letter"):
            text = place + 1
        following = sketch.nodes[place + 1] if place + 1 < len(sketch.nodes) else None
        if following is not None and following.kind is NodeKind.STOP and following.text in _LETTERS:
            # "Starts with A": no article.
            text = place + 1
        if text is None or sketch.nodes[text].kind is NodeKind.MARK:
            continue
        node = sketch.nodes[text]
        if (
            node.op is not None
            or (sketch.column(text) is not None and not node.quoted)
            or sketch.table(text) is not None
        ):
            continue
        left = sketch.before(place, over=(*JOINING, Op.RELATIVE, Op.CONTAINS))
        column = sketch.column(left) if sketch.is_free(left) else None
        named = sketch.before(left, over=(Op.RELATIVE,)) if left is not None else None
        if column is not None and sketch.is_free(named) and _is_named_text(sketch, left, named):
            # "A studio whose name contains ...": the column of studios is meant.
            sketch.take(left)
            left, column = named, sketch.column(named)
        if column is None:
            left = sketch.after(text)
            column = sketch.column(left) if sketch.is_free(left) else None
        if column is None:
            before = sketch.before(place, over=(Op.RELATIVE,))
            if operator is Operator.CONTAINS and sketch.value(text) is not None and not node.quoted:
                continue
            table = sketch.table(before) if before is not None else None
            texts = (
                [item for item in label_columns(sketch, table) if sketch.kind(item) is ColumnKind.TEXT]
                if table is not None
                else []
            )
            # "Orders contain books" says nothing of the orders' numbers.
            column = texts[0] if texts else None
            # "Contain Basil" where Basil is stored elsewhere: hardly a part of a name.
            sketch.doubts += 0.6 if not node.quoted and any(link.value for link in node.candidates) else 0.1
            left = None
        if column is None:
            continue
        negation = negation_before(sketch, place)
        if negation is not None and operator is Operator.CONTAINS:
            sketch.take(negation)
            operator = Operator.LACKS
        for other in range(min(place, text), max(place, text) + 1):
            sketch.take(other)
        sketch.take(left)
        sketch.conditions.append(Placed(place, Comparison(Measure(column), operator, Literal(node.text))))


_LETTERS = frozenset({"A", "I", "S"})


def _is_named_text(sketch: Sketch, label: int | None, named: int | None) -> bool:
    column = sketch.column(named)
    if label is None or named is None or column is None or sketch.kind(column) is not ColumnKind.TEXT:
        return False
    says_whose = any(node.op is Op.RELATIVE for node in sketch.nodes[named:label])
    return says_whose and base_form(sketch.nodes[label].text.lower().split()[-1]) in lexicon().label_words


def read_patterns_behind(sketch: Sketch) -> None:
    """名称以"手机"开头: the word for the pattern stands behind the text."""
    for place in sketch.free_places(Op.STARTS_AFTER, Op.ENDS_AFTER):
        text = sketch.before(place)
        if text is None or sketch.taken[text] or sketch.nodes[text].op is not None:
            continue
        left = sketch.before(text, over=(Op.STARTS, *JOINING))
        column = sketch.column(left) if sketch.is_free(left) else None
        if column is None:
            continue
        for other in range(left or 0, place + 1):
            sketch.take(other)
        operator = Operator.STARTS if sketch.op(place) is Op.STARTS_AFTER else Operator.ENDS
        sketch.conditions.append(Placed(place, Comparison(Measure(column), operator, Literal(sketch.nodes[text].text))))
