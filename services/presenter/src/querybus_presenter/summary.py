"""A summary that only says what the rows say: how many, the one value, extremes and totals of a small result.

Without a model. Every number in it is a cell, a count of rows, or a sum of cells that are meant to be added. A result
that is not wholly at hand is only counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from querybus.core.messages import Result
from querybus_presenter.chart import is_measure
from querybus_presenter.labels import is_neutral
from querybus_presenter.texts import Texts
from querybus_presenter.values import in_words, is_year, number, number_in_words

CELLS_MAX: Final = 6
_ADDS_UP = re.compile(r"count|sum|total|amount|quantity|qty|revenue|数量|金额|合计|总", re.IGNORECASE)
_DOES_NOT_ADD_UP = re.compile(r"avg|average|min|max|mean|rate|ratio|percent|share|平均|比例|占比|单价", re.IGNORECASE)


def fixed_summary(row_count: int, texts: Texts) -> str:
    """Return what is said where no summary is wanted or possible."""
    return texts.outcome["answered"].format(count=row_count)


def summary(result: Result, names: Sequence[str], labels: Sequence[str], texts: Texts) -> str:
    """Return the faithful summary of a result; `labels` are what the reader sees, `names` say what adds up."""
    if result.row_count == 0:
        return texts.summary["empty"]
    is_whole = len(result.rows) == result.row_count and not result.truncated
    if is_whole and result.row_count == 1:
        return _one_row(result, labels, texts)
    count = number_in_words(Decimal(result.row_count))
    said = [texts.summary["one"] if result.row_count == 1 else texts.summary["many"].format(count=count)]
    if result.truncated:
        said.append(texts.summary["cut"].format(count=count))
    if is_whole:
        said.extend(_figures(result, names, labels, texts))
    return ("" if texts.language == "zh" else " ").join(said)


def _one_row(result: Result, labels: Sequence[str], texts: Texts) -> str:
    row = result.rows[0]
    if all(cell is None for cell in row):
        return texts.summary["no_value"]
    cells = [
        (label, in_words(cell, column.kind, texts, as_year=is_year(column.name) or is_year(label)))
        for cell, column, label in zip(row, result.columns, labels, strict=True)
        if cell is not None
    ]
    if len(row) == 1 and is_neutral(labels[0], texts):
        return texts.summary["answer"].format(value=cells[0][1])
    told = [
        value if is_neutral(label, texts) else texts.summary["labelled"].format(label=label, value=value)
        for label, value in cells[:CELLS_MAX]
    ]
    return texts.summary["separator"].join(told) + texts.summary["end"]


def _figures(result: Result, names: Sequence[str], labels: Sequence[str], texts: Texts) -> list[str]:
    """Return the extremes, and the total if it means something, of a result of one name and one amount a row."""
    width = len(result.columns)
    measures = [
        n
        for n in range(width)
        if is_measure(names[n], labels[n], result.columns[n].kind, [row[n] for row in result.rows])
    ]
    if width != 2 or len(measures) != 1:
        return []
    y = measures[0]
    x = 1 - y
    known = [(amount, row[x]) for row in result.rows if (amount := number(row[y])) is not None]
    if len(known) < 2:
        return []
    ranked = sorted(known, key=lambda each: each[0])
    (low, low_name), (high, high_name) = ranked[0], ranked[-1]
    if low == high:
        return []
    kind, as_year = result.columns[x].kind, is_year(names[x]) or is_year(labels[x])
    said: list[str] = []
    # Where several share an extreme, none of them is "the" highest.
    label = "" if is_neutral(labels[y], texts) else labels[y]
    if ranked[-2][0] != high and (name := in_words(high_name, kind, texts, as_year=as_year)):
        told = texts.summary["highest"].format(label=label, name=name, value=number_in_words(high))
        said.append(re.sub(r"\s+:", ":", told))
    if ranked[1][0] != low and (name := in_words(low_name, kind, texts, as_year=as_year)):
        said.append(texts.summary["lowest"].format(name=name, value=number_in_words(low)))
    if _ADDS_UP.search(names[y]) and not _DOES_NOT_ADD_UP.search(names[y]) and len(known) == result.row_count:
        total = sum((amount for amount, _ in known), Decimal(0))
        said.append(texts.summary["total"].format(value=number_in_words(total)))
    return said
