"""A summary that only says what the rows say: the one value, extremes, totals, trend, share, ranges and top values.

Without a model. Every number in it is a cell, a count of rows, a sum of cells that are meant to be added, or a share
of such a sum. A large result is described, not carried; of a result that is not wholly at hand only the first rows
are described, and that is said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from typing import Final

from querybus.core.messages import FormatKind, Reading, Scalar
from querybus.text.rows.shown_rows import shown_figure
from querybus_presenter.charts.shape import Facet, Key, Number, Role, Shape, decimal, total
from querybus_presenter.summaries.cut_ends import Days, cut_ends, what_is_cut
from querybus_presenter.summaries.headline import headline
from querybus_presenter.summaries.values import in_words, large_in_words, number_in_words, with_unit
from querybus_presenter.wording.labels import is_neutral
from querybus_presenter.wording.phrases import within_sentence
from querybus_presenter.wording.texts import Texts

CELLS_MAX: Final = 6
LARGE_ROWS_MIN: Final = 10
QUARTILE_ROWS_MIN: Final = 20
DESCRIBED_MAX: Final = 3
POINTS_MIN: Final = 2
LISTED_MAX: Final = 5
"""Rows that are named one by one: so many are still read as a sentence."""
LISTED_LENGTH_MAX: Final = 60
_COUNTS: Final = {"en": re.compile(r"number of (.+)"), "zh": re.compile(r"(.+?)(?:的?数量|数)")}
_HAN = re.compile(r"[\u3400-\u9fff]")
_BETWEEN_HAN: Final = re.compile(r"(?<=[\u3400-\u9fff]) (?=[\u3400-\u9fff])")


def summary(
    shape: Shape,
    labels: Sequence[str],
    texts: Texts,
    *,
    counted: str | None = None,
    reading: Reading | None = None,
    days: Days | None = None,
) -> str:
    """Return the faithful summary of a result; `labels` name its columns in speech.

    `counted` is the plural name for people of what a single figure counts, if that is certain. Of the first lines of
    an order, as `reading` says, neither total nor share is said: they are of what is shown, which nobody asked for.
    Of a single figure, or of one on each line, it says what it is a figure of: "number of orders".
    """
    is_top = reading is not None and reading.limit is not None
    measure = within_sentence(reading.measures[0]) if reading is not None and len(reading.measures) == 1 else ""
    if shape.row_count == 0:
        return texts.summary["empty"]
    if shape.is_whole and shape.row_count == 1:
        return _one_row(shape, labels, texts, counted, reading.text if reading is not None and measure else "")
    count = number_in_words(Decimal(shape.row_count))
    listed = _listed(shape, texts, is_top=is_top)
    title = reading.text if reading is not None else ""
    said = [_named_list(listed, shape, labels, title, texts)] if listed else []
    counts = _COUNTS[texts.language].fullmatch(measure)
    noun = counts.group(1) if counts else ""
    reported = (
        _figures(
            shape,
            labels,
            texts,
            is_top=is_top,
            is_listed=bool(listed),
            noun=noun,
            days=days,
            is_defined=reading is not None and bool(reading.definitions),
        )
        if shape.is_whole
        else []
    )
    if not said and not reported:
        said.append(headline(shape.row_count, labels, texts, shape=shape, title=title))
    if shape.is_truncated:
        said.append(texts.summary["cut"].format(count=count))
    if not reported and shape.rows >= LARGE_ROWS_MIN:
        reported = _described(shape, labels, texts)
        if reported and not shape.is_whole:
            said.append(texts.summary["at_hand"].format(count=number_in_words(Decimal(shape.rows))))
    return ("" if texts.language == "zh" else " ").join((*said, *reported))


def _named_list(listed: str, shape: Shape, labels: Sequence[str], title: str, texts: Texts) -> str:
    """Return the rows that are named one by one, behind what they are figures or names of."""
    roles = {facet.role for facet in shape.facets}
    of = [
        label
        for facet, label in zip(shape.facets, labels, strict=True)
        if facet.role is Role.AMOUNT or Role.AMOUNT not in roles
    ]
    label = of[0] if len(of) == 1 and not is_neutral(of[0], texts) and "(" not in of[0] else title.rstrip(".。 ")
    if not label:
        return f"{listed}{texts.summary['end']}"
    return texts.summary["these"].format(label=label[:1].upper() + label[1:], listed=listed)


def _one_row(shape: Shape, labels: Sequence[str], texts: Texts, counted: str | None, reading: str) -> str:
    cells = [
        (label, value) for facet, label in zip(shape.facets, labels, strict=True) if (value := _cell(facet, texts))
    ]
    if not cells:
        return texts.summary["no_value" if shape.facets else "only_personal"]
    if len(shape.facets) == 1:
        plural = counted if shape.facets[0].cells[0] not in (0, 1) else None
        if reading and plural is None and shape.facets[0].numbers:
            return texts.summary["read"].format(reading=reading.rstrip(".。"), value=cells[0][1])
        return _one_value(*cells[0], texts, plural)
    reported = [
        value if is_neutral(label, texts) else texts.summary["labelled"].format(label=label, value=value)
        for label, value in cells[:CELLS_MAX]
    ]
    return texts.summary["separator"].join(reported) + texts.summary["end"]


def _cell(facet: Facet, texts: Texts) -> str:
    """Return the one cell of a column in words, with its unit."""
    value = in_words(facet.cells[0], facet.kind, texts, facet.format)
    return with_unit(value, facet.unit, texts.language) if value and facet.numbers else value


def _one_value(label: str, value: str, texts: Texts, counted: str | None) -> str:
    """Return a sentence: the label takes part in it only if it says something in the reader's language."""
    if counted:
        return texts.summary["count_of"].format(value=value, label=counted)
    functions = {texts.labels[name].casefold() for name in ("count", "sum", "avg", "min", "max")}
    says_little = is_neutral(label, texts) or label.casefold() in functions or not label.isprintable()
    if says_little or (texts.language == "zh" and not _HAN.search(label)) or re.search(r"[()*]", label):
        return texts.summary["answer"].format(value=value)
    words = label if len(label) > 1 and label[1].isupper() else label[0].lower() + label[1:]
    is_plural = texts.language == "en" and bool(re.search(r"[^s]s$|_|^\w*[A-Z]", words))
    return texts.summary["answer_of" if is_plural else "is"].format(value=value, label=words)


def _listed(shape: Shape, texts: Texts, *, is_top: bool) -> str:
    """Return the few rows of a result one by one, names with their figure where they have one; empty for any other.

    Of several names with figures in no order, the highest and the lowest say more.
    """
    if not (shape.is_whole and 2 <= shape.row_count <= LISTED_MAX and shape.rows == shape.row_count):
        return ""
    amounts = shape.of(Role.AMOUNT)
    names = [facet for facet in shape.facets if facet not in amounts]
    if len(shape.facets) == 1:
        said = _names(shape.facets[0], texts)
    elif len(shape.facets) == 2 and len(amounts) == len(names) == 1:
        numbers = [number for number in amounts[0].numbers if number is not None]
        says_more = len(set(numbers)) > 1 and not is_top
        if len(numbers) < shape.rows or says_more or (names[0].role is Role.TIME and shape.rows > 2):
            return ""
        figures = _amounts(numbers, amounts[0], texts)
        pairs = zip(_names(names[0], texts), figures, strict=False)
        said = [texts.summary["pair"].format(name=name, value=value) for name, value in pairs]
    else:
        return ""
    if len(said) < shape.rows:
        return ""
    *others, last = said
    return texts.summary["comma"].join(others) + texts.summary["last_comma"] + last


def _names(facet: Facet, texts: Texts) -> list[str]:
    """Return the cells of a column in words; fewer than there are where one is empty or too long to be said."""
    if facet.role is Role.AMOUNT:
        return _amounts([number for number in facet.numbers if number is not None], facet, texts)
    cells = [in_words(cell, facet.kind, texts, facet.format) for cell in facet.cells if cell is not None]
    return [cell for cell in cells if cell and len(cell) <= LISTED_LENGTH_MAX and cell.isprintable()]


def _figures(
    shape: Shape,
    labels: Sequence[str],
    texts: Texts,
    *,
    is_top: bool,
    is_listed: bool = False,
    noun: str = "",
    days: Days | None = None,
    is_defined: bool = False,
) -> list[str]:
    """Return extremes, total, trend and top share of a result of one name and its amounts a row, of the first amount.

    Where the rows were named one by one, or are two that the course goes through, neither the extremes again. Of further
    amounts that add up there is the total.
    """
    amounts = shape.of(Role.AMOUNT)
    places = shape.of(Role.TIME, Role.ORDER, Role.CATEGORY) or shape.of(Role.IDENTITY, Role.OTHER)
    if not amounts or len(places) != 1:
        return []
    x = places[0]
    y = shape.facets.index(amounts[0])
    known = _known(amounts[0], x)
    if len(known) < 2:
        return []

    named = partial(in_words, kind=x.kind, texts=texts, how=x.format)
    ranked = sorted(known, key=lambda item: item[0])
    (low, low_name), (high, high_name) = ranked[0], ranked[-1]
    if low == high and not is_listed:
        return []
    points = _points(shape, x, amounts[0])
    is_several = len(amounts) > 1
    it = within_sentence(labels[y]) if is_several else texts.summary["it"]
    said, cut = _course(points, days or Days(), x, amounts[0], texts, it=it, is_defined=is_defined)
    is_listed = is_listed or (len(points) == POINTS_MIN and not cut)
    # Where several share an extreme, none of them is "the" highest.
    label = "" if is_neutral(labels[y], texts) else within_sentence(labels[y])
    low_said, high_said = _amounts((low, high), amounts[0], texts)
    whole = total([number for number, _ in known])
    adds_up = amounts[0].adds_up and not is_top and len(known) == shape.row_count
    is_clear = ranked[-2][0] != high and ranked[1][0] != low and x.role is Role.CATEGORY and not is_listed
    if noun and is_clear and named(high_name) and named(low_name):
        share = decimal(high) * 100 / whole if adds_up and _is_division(x, ranked) else None
        return [
            _most(noun, (named(high_name), high_said), (named(low_name), low_said), whole, share, amounts[0], texts)
        ]
    if not is_listed and ranked[-2][0] != high and (name := named(high_name)):
        reported = texts.summary["highest"].format(label=label, name=name, value=high_said)
        said.append(re.sub(r"\s+:", ":", reported))
    if not is_listed and ranked[1][0] != low and low_name not in cut and (name := named(low_name)):
        said.append(texts.summary["lowest"].format(name=name, value=low_said))
    if adds_up:
        said += _total_and_share(whole, ranked, x, amounts[0], texts, label=label if is_several else "")
    return said + ([] if is_top else _further_totals(shape, labels, texts))


def _most(
    noun: str,
    high: tuple[str, str],
    low: tuple[str, str],
    whole: Number,
    share: Decimal | None,
    y: Facet,
    texts: Texts,
) -> str:
    """Return who has the most and who the fewest, each a name with its figure in words."""
    return texts.summary["most" if share is None else "most_of"].format(
        noun=noun,
        high=high[0],
        low=low[0],
        value=high[1],
        low_value=low[1],
        whole=_amounts((whole,), y, texts)[0],
        share="" if share is None else number_in_words(round(share, 1)),
    )


def _further_totals(shape: Shape, labels: Sequence[str], texts: Texts) -> list[str]:
    """Return the totals of all amounts but the first."""
    said: list[str] = []
    for amount in shape.of(Role.AMOUNT)[1:]:
        numbers = [number for number in amount.numbers if number is not None]
        if amount.adds_up and len(numbers) == shape.row_count:
            said.append(_total(total(numbers), amount, texts, within_sentence(labels[shape.facets.index(amount)])))
    return said


def _total(whole: Number, y: Facet, texts: Texts, label: str) -> str:
    value = _amounts((whole,), y, texts)[0]
    return texts.summary["total_of" if label else "total"].format(label=label, value=value)


def _total_and_share(
    whole: Number, ranked: Sequence[tuple[Number, Scalar]], x: Facet, y: Facet, texts: Texts, *, label: str = ""
) -> list[str]:
    said = [_total(whole, y, texts, label)]
    high, high_name = ranked[-1]
    name = in_words(high_name, x.kind, texts, x.format)
    if x.role is Role.CATEGORY and _is_division(x, ranked) and name:
        share = number_in_words(round(decimal(high) * 100 / decimal(whole), 1))
        said.append(texts.summary["top_share"].format(name=name, share=share))
    return said


def _known(y: Facet, x: Facet) -> list[tuple[Number, Scalar]]:
    pairs = zip(y.numbers, x.cells, strict=True)
    return [(number, place) for number, place in pairs if number is not None and place is not None]


def _is_division(x: Facet, ranked: Sequence[tuple[Number, object]]) -> bool:
    """Whether the rows divide one whole among several names, one of which has more than each other."""
    low, second, high = ranked[0][0], ranked[-2][0], ranked[-1][0]
    return len(ranked) > 2 and second != high and low >= 0 and x.distinct == len(x.cells)


def _points(shape: Shape, x: Facet, y: Facet) -> list[tuple[Key, Scalar, Number]]:
    """Return the points in time with their amounts, in order; none where there are too few, or several of one time."""
    if x.role is not Role.TIME:
        return []
    points = [
        (key, place, number)
        for key, place, number in zip(x.keys, x.cells, y.numbers, strict=True)
        if key is not None and number is not None
    ]
    if len(points) < POINTS_MIN or len({key for key, _, _ in points}) != shape.rows:
        return []
    return sorted(points, key=lambda item: item[0])


def _course(
    points: Sequence[tuple[Key, Scalar, Number]],
    days: Days,
    x: Facet,
    y: Facet,
    texts: Texts,
    *,
    it: str,
    is_defined: bool,
) -> tuple[list[str], set[Scalar]]:
    """Return how an amount went from the first to the last point in time that is whole, and the points that are not."""
    if not points:
        return [], set()
    ends = cut_ends([point for _, point, _ in points], x, days)
    cut = {points[0][1]} if ends.first_from is not None else set[Scalar]()
    cut |= {points[-1][1]} if ends.is_last_cut else set()
    said = what_is_cut(ends, (points[0][1], points[-1][1]), x, texts, is_defined=is_defined)
    whole = points[ends.first_from is not None : len(points) - ends.is_last_cut]
    if len(whole) > 1:
        said.insert(0, _trend(whole[0], whole[-1], x, y, texts, it))
    return said, cut


def _trend(
    start: tuple[Key, Scalar, Number], end: tuple[Key, Scalar, Number], x: Facet, y: Facet, texts: Texts, it: str
) -> str:
    first, last = (in_words(item[1], x.kind, texts, x.format) for item in (start, end))
    before, after = _amounts((start[2], end[2]), y, texts)
    if before == after:
        return texts.summary["level"].format(it=it, first=first, last=last, value=before)
    key = "rise" if end[2] > start[2] else "fall"
    low, high = (before, after) if key == "rise" else (after, before)
    # A figure with its measure word is followed by no space, one without is set apart.
    return _BETWEEN_HAN.sub("", texts.summary[key].format(it=it, first=first, last=last, low=low, high=high))


def _described(shape: Shape, labels: Sequence[str], texts: Texts) -> list[str]:
    """Return ranges, middles and most frequent values of the first columns that say something."""
    said: list[str] = []
    columns = 0
    for facet, label in zip(shape.facets, labels, strict=True):
        if is_neutral(label, texts) or columns == DESCRIBED_MAX:
            continue
        reported = _of_column(facet, label, texts)
        columns += bool(reported)
        said.extend(reported)
    return said


def _of_column(column: Facet, label: str, texts: Texts) -> list[str]:
    if column.role is Role.AMOUNT:
        known = sorted(number for number in column.numbers if number is not None)
        low, high, last = known[0], known[-1], len(known) - 1
        if low == high:
            return []
        # Quantiles are cells, not averages of two: nothing is said that is not in the result.
        low_said, high_said, median = _amounts((low, high, known[last // 2]), column, texts)
        ends = {"low": low_said, "high": high_said}
        reported = [texts.summary["range"].format(label=label, **ends, median=median)]
        if len(known) >= QUARTILE_ROWS_MIN:
            quarter, three = _amounts((known[last // 4], known[3 * last // 4]), column, texts)
            reported.append(texts.summary["quartiles"].format(low=quarter, high=three))
        return reported
    if column.role is Role.TIME:
        known_cells = [
            cell for _, cell in sorted((k, c) for k, c in zip(column.keys, column.cells, strict=True) if k is not None)
        ]
        first, last_ = (in_words(item, column.kind, texts, column.format) for item in (known_cells[0], known_cells[-1]))
        return [texts.summary["span"].format(label=label, first=first, last=last_)] if first != last_ else []
    if column.role is not Role.CATEGORY:
        return []
    counts = Counter(str(cell) for cell in column.cells if cell is not None)
    count = number_in_words(Decimal(len(counts)))
    (name, times), *others = counts.most_common(2)
    if times == 1 or (others and others[0][1] == times):
        return []
    return [
        texts.summary["values"].format(
            label=label,
            count=count,
            name=in_words(name, column.kind, texts),
            times=number_in_words(Decimal(times)),
        )
    ]


def _amounts(numbers: Sequence[Number], column: Facet, texts: Texts) -> list[str]:
    """Return amounts that are said together: large ones as people say them, unless different ones would read alike."""
    values = [decimal(number) for number in numbers]
    exact = [shown_figure(value, column.format.digits) for value in values]
    if column.format.kind is FormatKind.PERCENT:
        return [with_unit(text, column.unit, texts.language) for text in exact]
    spoken = [large_in_words(value, texts.language) or text for value, text in zip(values, exact, strict=True)]
    chosen = spoken if len(set(spoken)) == len(set(exact)) else exact
    return [with_unit(text, column.unit, texts.language) for text in chosen]
