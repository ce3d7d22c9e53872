"""What was done for an answer, in words: what is shown, from what, under which conditions, and how sure it is.

Analysts read the names as they are written in the statement; business readers read names for people, and a part that
has none is left out or reported without it. Only simple parts are phrased; of a part that is not, it is said that it is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Table
from querybus.core.envelope import Envelope
from querybus.core.messages import Concluded, Origin
from querybus.text.disclosure import is_plain_word
from querybus.text.labels import column_label, table_label
from querybus_presenter.wording.statement import Sources, column_of, outermost, sources
from querybus_presenter.wording.texts import Texts

PARTS_MAX: Final = 6
VALUE_LENGTH_MAX: Final = 60
SURE_MIN: Final = 0.6
"""Below this confidence a business reader is asked to look twice."""

_COMPARED: Final[dict[type[exp.Expr], str]] = {
    exp.EQ: "is",
    exp.NEQ: "is_not",
    exp.GT: "above",
    exp.GTE: "at_least",
    exp.LT: "below",
    exp.LTE: "at_most",
}
_FUNCTIONS: Final[dict[type[exp.Expr], str]] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}


def explanation(
    envelope: Envelope[Concluded], tree: exp.Expr | None, catalog: Catalog | None, texts: Texts, *, with_names: bool
) -> str:
    """Return the explanation of an answer; `with_names` is for analysts. Never empty for an answer with a statement."""
    reported = list(_of_tree(tree, catalog, texts, with_names=with_names)) if tree is not None else []
    reported.extend(assurance(envelope, texts, with_figures=with_names))
    return ("" if texts.language == "zh" else " ").join(reported)


def assurance(envelope: Envelope[Concluded], texts: Texts, *, with_figures: bool) -> tuple[str, ...]:
    """Return how the statement came about and how sure it is."""
    origins = [attempt.origin for attempt in envelope.attempts]
    analysis, rows = envelope.body.analysis, texts.explain
    if origins and origins[-1] is Origin.USER:
        return (rows["given"],)
    if Origin.RULE in origins:
        said = [rows["mended"]]
    elif len(origins) > 1 or envelope.retries.generation:
        said = [rows["retried"]]
    else:
        said = [rows["first_pass"]]
    if analysis.example_ids or (origins and origins[-1] is Origin.VERIFIED):
        said.append(rows["verified"])
    if analysis.confidence is not None:
        if with_figures:
            said.append(rows["confidence"].format(percent=round(analysis.confidence * 100)))
        elif analysis.confidence < SURE_MIN:
            said.append(rows["unsure"])
    return tuple(said)


def counted(tree: exp.Expr | None, catalog: Catalog | None, texts: Texts) -> str | None:
    """Return the plural name for people of what a statement counts, if it counts every row of one table and no less."""
    if not isinstance(tree, exp.Select) or catalog is None or len(tree.expressions) != 1:
        return None
    narrowing = ("where", "joins", "group", "having", "qualify", "with_", "distinct", "offset", "laterals", "sample")
    if any(tree.args.get(item) for item in narrowing):
        return None
    result = tree.expressions[0].unalias()
    if not isinstance(result, exp.Count) or not isinstance(result.this, exp.Star) or result.expressions:
        return None
    known = sources(tree, catalog)
    table = known[0][1] if len(known) == 1 else None
    return None if table is None else _plural(table, texts)


def _plural(table: Table, texts: Texts) -> str | None:
    label = table_label(table, texts.language)
    if texts.language == "zh":
        return label if label and not label.isascii() else None
    for text in (label, table.name):
        if text and is_plain_word(text) and text.isascii() and text.endswith("s") and not text.endswith("ss"):
            return text.lower() if text[1:].islower() or " " in text else text
    return None


@dataclass(frozen=True, slots=True)
class _Words:
    """Turns parts of a statement into words; None where a part has no words for this reader."""

    known: Sources
    catalog: Catalog | None
    texts: Texts
    with_names: bool

    def column(self, written: exp.Column) -> str | None:
        if self.with_names:
            return written.name
        result = column_of(written, self.known)
        if result is None or self.catalog is None:
            return None
        return column_label(result, self.catalog, self.texts.language)

    def shown(self, expression: exp.Expr) -> str | None:
        """Return a column, or a figure of one, in words."""
        expression = expression.unalias()
        if isinstance(expression, exp.Column) and not isinstance(expression.this, exp.Star):
            return self.column(expression)
        function = _FUNCTIONS.get(type(expression))
        if function is None:
            return None
        inner = expression.this
        if isinstance(inner, exp.Distinct) and len(inner.expressions) == 1:
            inner = inner.expressions[0]
        plain = self.texts.labels[function]
        plain = plain[0].lower() + plain[1:]
        label = self.column(inner) if isinstance(inner, exp.Column) else None
        if label is None:
            return self.texts.explain["count"] if function == "count" else None
        return self.texts.labels["of"].format(function=plain, label=label)

    def value(self, written: exp.Expr) -> str | None:
        if isinstance(written, exp.Neg):
            inner = self.value(written.this)
            return None if inner is None else f"-{inner}"
        if isinstance(written, exp.Literal):
            text = written.name
            return text if text.strip() and len(text) <= VALUE_LENGTH_MAX and text.isprintable() else None
        if isinstance(written, exp.Boolean):
            return self.texts.summary["yes" if written.this else "no"]
        return None

    def condition(self, node: exp.Expr) -> str | None:
        rows = self.texts.explain
        if isinstance(node, exp.Paren):
            return self.condition(node.this)
        if isinstance(node, exp.Or | exp.And):
            first, second = self.condition(node.this), self.condition(node.expression)
            if first is None or second is None:
                return None
            return rows["or" if isinstance(node, exp.Or) else "and"].format(first=first, second=second)
        if isinstance(node, exp.Not):
            return self._negated(node.this)
        left = self.shown(node.this) if isinstance(node.this, exp.Expr) else None
        if left is None:
            return None
        if type(node) in _COMPARED:
            right = self.value(node.expression) or self.shown(node.expression)
            return right and rows[_COMPARED[type(node)]].format(left=left, right=right)
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return rows["missing"].format(left=left)
        if isinstance(node, exp.Between):
            low, high = self.value(node.args["low"]), self.value(node.args["high"])
            return rows["between"].format(left=left, low=low, high=high) if low and high else None
        if isinstance(node, exp.In) and node.expressions:
            result = [self.value(expression) for expression in node.expressions[:PARTS_MAX]]
            listed = [item for item in result if item]
            if len(listed) != len(node.expressions):
                return None
            return rows["one_of"].format(left=left, right=rows["comma"].join(listed))
        if isinstance(node, exp.Like | exp.ILike):
            return self._like(left, self.value(node.expression))
        return None

    def _negated(self, node: exp.Expr) -> str | None:
        if isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            left = self.shown(node.this)
            return left and self.texts.explain["present"].format(left=left)
        inner = self.condition(node)
        return inner and self.texts.explain["not"].format(condition=inner)

    def _like(self, left: str, pattern: str | None) -> str | None:
        if not pattern:
            return None
        inner = pattern.strip("%")
        if not inner or "%" in inner or "_" in inner:
            return self.texts.explain["like"].format(left=left, right=pattern) if self.with_names else None
        ends = (pattern.startswith("%"), pattern.endswith("%"))
        key = {(True, True): "contains", (False, True): "starts", (True, False): "ends", (False, False): "is"}[ends]
        return self.texts.explain[key].format(left=left, right=inner)


def _of_tree(tree: exp.Expr, catalog: Catalog | None, texts: Texts, *, with_names: bool) -> list[str]:
    select = outermost(tree)
    if select is None:
        return []
    rows = texts.explain
    words = _Words(sources(select, catalog) if catalog else [], catalog, texts, with_names)
    said: list[str] = []
    what = _listed([words.shown(expression) for expression in select.expressions], texts)
    if what:
        said.append(rows["shows"].format(what=what))
    looked = _listed(_tables(select, words), texts)
    if looked:
        said.append(rows["reads"].format(tables=looked))
    said.extend(_conditions(select, words))
    group: exp.Expr | None = select.args.get("group")
    by = (
        _listed([words.shown(_aimed(expression, select)) for expression in group.expressions], texts) if group else None
    )
    if by:
        said.append(rows["groups"].format(columns=by))
    if select.args.get("distinct"):
        said.append(rows["distinct"])
    if tree is not select:
        said.append(rows["combined"])
    elif select.find(exp.Subquery) or select.args.get("with_"):
        said.append(rows["inner"])
    order: exp.Expr | None = tree.args.get("order")
    first = order.expressions[0] if order else None
    if isinstance(first, exp.Ordered) and (column := words.shown(_aimed(first.this, select))):
        said.append(rows["sorted_down" if first.args.get("desc") else "sorted_up"].format(column=column))
    return said


def _conditions(select: exp.Select, words: _Words) -> list[str]:
    rows = words.texts.explain
    parts: list[exp.Expr] = []
    for key in ("where", "having"):
        holder: exp.Expr | None = select.args.get(key)
        if holder is not None:
            parts.extend(holder.this.flatten() if isinstance(holder.this, exp.And) else [holder.this])
    result = [words.condition(part) for part in parts[:PARTS_MAX]]
    said = [item for item in result if item]
    reported: list[str] = []
    if said:
        reported.append(rows["where"].format(conditions=_joined(said, words.texts)))
    if len(said) < len(parts):
        reported.append(rows["where_more"])
    return reported


def _tables(select: exp.Select, words: _Words) -> list[str | None]:
    if words.with_names:
        from_: exp.Expr | None = select.args.get("from_")
        nodes = [from_.this] if from_ else []
        nodes += [join.this for join in select.args.get("joins") or ()]
        return [node.name for node in nodes if isinstance(node, exp.Table)]
    return [table_label(table, words.texts.language) if table else None for _, table in words.known]


def _aimed(node: exp.Expr, select: exp.Select) -> exp.Expr:
    """Return what a position or an alias of the select list stands for."""
    if isinstance(node, exp.Literal) and node.is_int and 1 <= int(node.name) <= len(select.expressions):
        return select.expressions[int(node.name) - 1]
    if isinstance(node, exp.Column) and not node.table:
        return next(
            (
                expression
                for expression in select.expressions
                if isinstance(expression, exp.Alias) and expression.alias == node.name
            ),
            node,
        )
    return node


def _listed(found: Sequence[str | None], texts: Texts) -> str | None:
    """Return parts as a list in words, or None if one of them has no words: half a list would mislead."""
    known = list(dict.fromkeys(item for item in found if item))
    if not known or not all(found) or len(known) > PARTS_MAX:
        return None
    return _joined(known, texts)


def _joined(known: Sequence[str], texts: Texts) -> str:
    if len(known) == 1:
        return known[0]
    return texts.explain["and"].format(first=texts.explain["comma"].join(known[:-1]), second=known[-1])
