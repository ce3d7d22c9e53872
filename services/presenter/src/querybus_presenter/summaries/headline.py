"""What an answer shows, in one line: how its question was read, else what its columns are called."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from querybus_presenter.charts.shape import Role, Shape
from querybus_presenter.summaries.values import number_in_words
from querybus_presenter.wording.labels import is_neutral
from querybus_presenter.wording.phrases import within_sentence
from querybus_presenter.wording.texts import Texts

NAMED_MAX: Final = 4
"""Columns that a headline names; a reader finds the rest in the table."""


def headline(
    row_count: int, labels: Sequence[str], texts: Texts, *, shape: Shape | None = None, title: str = ""
) -> str:
    """Return the sentence for an answer of which nothing more is said.

    `title` is how the question was read. Without one the measures and groups of the `shape`, or the labels, stand for it.
    """
    count = number_in_words(Decimal(row_count))
    title = title.rstrip(".。 ") or title_of(labels, texts, shape)
    if not title:
        return texts.outcome["answered"].format(count=count)
    return texts.summary["titled_one" if row_count == 1 else "titled"].format(title=title, count=count)


def title_of(labels: Sequence[str], texts: Texts, shape: Shape | None = None) -> str:
    """Return "revenue and orders by channel", or the labels one by one; empty where no label says anything."""
    facets = shape.facets if shape is not None and len(shape.facets) == len(labels) else (None,) * len(labels)
    named = [(facet, label) for facet, label in zip(facets, labels, strict=True) if not is_neutral(label, texts)]
    measures = [label for facet, label in named if facet is not None and facet.role is Role.AMOUNT]
    groups = [label for facet, label in named if facet is None or facet.role is not Role.AMOUNT]
    if measures and groups:
        parts = {"measures": _listed(measures, texts), "groups": _listed(groups, texts)}
        title = texts.summary["measures_by_groups"].format(**parts)
    else:
        title = _listed(measures or groups, texts)
    return title[:1].upper() + title[1:]


def _listed(labels: Sequence[str], texts: Texts) -> str:
    named = [within_sentence(label) for label in labels[:NAMED_MAX]]
    if len(named) < 2:
        return "".join(named)
    *others, last = named
    return texts.summary["comma"].join(others) + texts.summary["last_comma"] + last


def first_sentence(text: str, texts: Texts) -> str:
    """Return how a question was read without what its words mean, which is no title."""
    end = texts.reading["line"][-1]
    return text.partition(f"{end} ")[0]
