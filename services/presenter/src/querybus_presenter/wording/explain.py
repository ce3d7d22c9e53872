"""How an answer came about, in words, and how sure it is; of what went smoothly nothing is said."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Table
from querybus.core.envelope import Envelope
from querybus.core.messages import Concluded, Origin
from querybus.sql.conditions.scope import scope_of
from querybus.text.disclosure import is_plain_word
from querybus.text.labels import table_label
from querybus_presenter.confidence import repeats_rows, stated
from querybus_presenter.wording.texts import Texts

SURE_MIN: Final = 0.6
"""Below this confidence a reader is asked to look twice; the figure itself is no word, it is in the answer's data."""


def assurance(envelope: Envelope[Concluded], texts: Texts) -> tuple[str, ...]:
    """Return how the statement came about and how sure it is."""
    origins = [attempt.origin for attempt in envelope.attempts]
    analysis, rows = envelope.body.analysis, texts.explain
    if origins and origins[-1] is Origin.USER:
        return (rows["given"],)
    said: list[str] = []
    if Origin.RULE in origins:
        said.append(rows["mended"])
    elif len(origins) > 1 or envelope.retries.generation:
        said.append(rows["retried"])
    if analysis.example_ids or (origins and origins[-1] is Origin.VERIFIED):
        said.append(rows["verified"])
    confidence = stated(envelope)
    if confidence is not None and confidence < SURE_MIN:
        said.append(rows["repeated" if repeats_rows(envelope) else "unsure"])
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
    known = list(scope_of(tree, catalog).sources.values())
    table = known[0] if len(known) == 1 else None
    return _plural(table, texts) if isinstance(table, Table) else None


def _plural(table: Table, texts: Texts) -> str | None:
    label = table_label(table, texts.language)
    if texts.language == "zh":
        if not label or label.isascii():
            return None
        name = "count_measured" if table.measure_word else "count_plain"
        return texts.summary[name].format(measure=table.measure_word, label=label)
    for text in (label, table.name):
        if text and is_plain_word(text) and text.isascii() and text.endswith("s") and not text.endswith("ss"):
            return text.lower() if text[1:].islower() or " " in text else text
    return None
