"""What was read, in one sentence for people: figures, groupings, conditions, the period, and what the figures mean."""

from __future__ import annotations

from calendar import month_name
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Final

from querybus.core.catalog import Language
from querybus.core.messages import Reading, ReadingFilter, ReadingGroup, ReadingPeriod
from querybus.sql.conditions.periods import next_month
from querybus.text.readable_name import spoken_name
from querybus.text.words import singular
from querybus_semantic.compiling.compile import Output
from querybus_semantic.compiling.leaves import field_named
from querybus_semantic.compiling.notes import Note, NoteKind
from querybus_semantic.layer.definitions import Layer, Metric, Words
from querybus_semantic.layer.labels import label_of
from querybus_semantic.layer.refusal import RefusedError
from querybus_semantic.layer.request import OWN_DATE, Dimension, Filter, Op, Period, Request, Value
from querybus_translator.definitions.naming.own_terms import THE_QUESTION
from querybus_translator.definitions.naming.vocabulary import home_of

_GRAINS_ZH: Final = {
    "hour": "小时", "day": "天", "week": "周", "month": "月", "quarter": "季度", "year": "年",
    "fiscal_quarter": "财季", "fiscal_year": "财年",
}  # fmt: skip


def reading_of(
    layer: Layer,
    request: Request,
    language: Language,
    flags: Mapping[str, Value] | None = None,
    followed: Request | None = None,
) -> Reading:
    """Return the request in one sentence, with what each figure means by whose definition, and in its parts.

    `flags` say yes or no. Conditions that `followed` has as well are marked as carried over from it. Filters are numbered `f1`.. and shown groups `g1`.. in their order, as a change of them counts.
    """
    is_english = language == "en"
    figures = tuple(label_of(name, _words(layer, name), language) for name in request.metrics)
    groups = [
        _group(layer, item.field, item.grain.value if item.grain else "", language, item.via)
        for item in shown_groups(request)
    ]
    filters = _filters(layer, request, language, flags or {}, followed)
    order = next(_order(request, language), "")
    period = _period(request.period, language) if request.period is not None else ""
    parts = [(", " if is_english else "、").join(figures)]
    if groups:
        joined = (" and " if is_english else "、").join(groups)
        parts.append(f"by {joined}" if is_english else f"按{joined}")
    parts += [*(item.text for item in filters), period, order]
    sentence = (", " if is_english else "，").join(part for part in parts if part)
    meanings = list(_meanings(layer, request, language))
    end = "." if is_english else "。"
    homes = (home_of(metric) for name in request.metrics if (metric := layer.metric(name)) is not None)
    return Reading(
        text=sentence[:1].upper() + sentence[1:] + end + "".join(f" {one}{end}" for one in meanings),
        measures=figures,
        entities=tuple(dict.fromkeys(_dataset(layer, name, language) for home in homes for name in home)),
        filters=filters,
        period=_reading_period(layer, request, period, language, followed),
        groups=tuple(ReadingGroup(id=f"g{place}", text=text) for place, text in enumerate(groups, 1)),
        order=order,
        limit=request.limit,
        definitions=tuple(
            label_of(name, metric.words, language)
            for name in request.metrics
            if (metric := layer.metric(name)) is not None
        ),
    )


def shown_groups(request: Request) -> list[Dimension]:
    """Return the groupings that are shown, in the order in which a reading numbers them."""
    return [item for item in request.dimensions if not item.hidden]


def _filters(
    layer: Layer, request: Request, language: Language, flags: Mapping[str, Value], followed: Request | None
) -> tuple[ReadingFilter, ...]:
    filters = [
        ReadingFilter(
            id=f"f{place}",
            text=_condition(layer, item, language, flags),
            field=_compared(layer, item, language),
            value=_meant(layer, item.field, item.values[0], language) if is_of_one_value(item) else "",
            carried=followed is not None and item in followed.filters,
        )
        for place, item in enumerate(request.filters, 1)
    ]
    named = [name for name in request.named if name in layer.filters]
    return (
        *filters,
        *(
            ReadingFilter(
                id=f"f{place}",
                text=label_of(name, layer.filters[name].words, language),
                carried=followed is not None and name in followed.named,
            )
            for place, name in enumerate(named, len(filters) + 1)
        ),
    )


def is_of_one_value(item: Filter) -> bool:
    """Whether a filter compares a field with one value, which can be another."""
    return item.op in {Op.EQUAL, Op.IN, Op.IS} and len(item.values) == 1 and not item.per


def _reading_period(
    layer: Layer, request: Request, text: str, language: Language, followed: Request | None
) -> ReadingPeriod | None:
    period = request.period
    if period is None:
        return None
    dates = {metric.time for name in request.metrics if (metric := layer.metric(name)) is not None}
    date = next(iter(dates)) if period.field == OWN_DATE and len(dates) == 1 else period.field
    last = period.until - timedelta(days=1) if period.until is not None else None
    return ReadingPeriod(
        text=text,
        field=_field(layer, date, language) if date and date != OWN_DATE else "",
        first=period.start.isoformat() if period.start is not None else None,
        last=last.isoformat() if last is not None else None,
        carried=followed is not None and period == followed.period,
    )


def _dataset(layer: Layer, name: str, language: Language) -> str:
    dataset = layer.dataset(name)
    return label_of(name, dataset.words if dataset is not None else Words(), language)


def noted(layer: Layer, notes: Sequence[Note], language: Language) -> str:
    """Return what has to be said of an answer's numbers, a sentence each; empty for nothing."""
    found: list[str] = []
    for note in notes:
        day = _day(note.day, language) if note.day is not None else ""
        if note.kind in {NoteKind.FIRST_IS_CUT, NoteKind.LAST_IS_CUT}:
            about = note.about[0].replace("_", " ") if language == "en" else _GRAINS_ZH[note.about[0]]
        elif note.kind is NoteKind.OWN_DATES:
            about = (", " if language == "en" else "、").join(_field(layer, name, language) for name in note.about)
        else:
            said = _dataset(layer, note.about[0], language)
            about = singular(said) if language == "en" and note.kind is NoteKind.ONCE_PER_GROUP else said
        found.append(_NOTED[note.kind, language].format(about=about, day=day))
    return "".join(f" {sentence}" for sentence in found)


_NOTED: Final[Mapping[tuple[NoteKind, Language], str]] = {
    (NoteKind.ONCE_PER_GROUP, "en"): "One {about} can count in several groups: they do not add up to the total.",
    (NoteKind.ONCE_PER_GROUP, "zh"): "同一{about}可能计入多个分组，各组之和不等于总数。",
    (NoteKind.OWN_DATES, "en"): "Each figure goes by its own date: {about}.",
    (NoteKind.OWN_DATES, "zh"): "每个数字按各自的日期统计：{about}。",
    (NoteKind.OCCUR_TOGETHER, "en"): "Only combinations that occur in {about}.",
    (NoteKind.OCCUR_TOGETHER, "zh"): "只列出{about}中出现的组合。",
    (NoteKind.FIRST_IS_CUT, "en"): "The first {about} counts only from {day} on.",
    (NoteKind.FIRST_IS_CUT, "zh"): "首{about}只从{day}算起。",
    (NoteKind.LAST_IS_CUT, "en"): "The last {about} counts only up to {day}.",
    (NoteKind.LAST_IS_CUT, "zh"): "末{about}只算到{day}。",
}


def _order(request: Request, language: Language) -> Iterator[str]:
    """Yield how rows are sorted and how many of them are shown."""
    is_english = language == "en"
    if not request.order:
        if request.limit is not None:
            yield f"the first {request.limit}" if is_english else f"前{request.limit}名"
        return
    highest = ("the highest", "最高的") if request.order[0].descending else ("the lowest", "最低的")
    if request.limit == 1:
        yield f"{highest[0]} one" if is_english else f"{highest[1]}一个"
    elif request.limit is not None:
        yield f"{highest[0]} {request.limit}" if is_english else f"{highest[1]}{request.limit}个"
    else:
        first = highest[0].removeprefix("the ")
        yield f"{first} first" if is_english else f"{highest[1].removesuffix('的')}在前"


def labels_of(layer: Layer, outputs: Sequence[Output], language: Language) -> tuple[str, ...]:
    """Return what people call each column of an answer; no two are called the same."""
    found: list[str] = []
    for output in outputs:
        grain = output.grain.value if output.grain is not None else ""
        metric = layer.metric(output.metric) if output.metric else None
        said = label_of(output.name, metric.words if metric is not None else Words(), language)
        if not output.metric:
            said = (
                output.name
                if output.name != output.field.rpartition(".")[2] and not grain
                else _group(layer, output.field, grain, language, output.via)
            )
        label = said[:1].upper() + said[1:]
        found.append(label if label not in found else f"{label} ({output.name})")
    return tuple(found)


def units_of(layer: Layer, outputs: Sequence[Output], language: Language) -> tuple[str, ...]:
    """Return what each column of an answer is in, as its owner has said; empty where nothing was said."""
    found: list[str] = []
    for output in outputs:
        field = None
        metric = layer.metric(output.metric) if output.metric else None
        counted_in = metric.measure_word if metric is not None and language == "zh" else ""
        if not output.metric and output.field != OWN_DATE:
            field = field_named(layer, output.field)[1]
        found.append(output.unit or counted_in or (field.unit if field is not None and output.grain is None else ""))
    return tuple(found)


def relevant_lines(layer: Layer, question: str, count_max: int) -> list[str]:
    """Return the definitions that a question speaks of, one a line, for whoever writes SQL for it: name, meaning, expression."""
    asked = question.casefold()
    found: list[str] = []
    for name, metric in layer.metrics.items():
        said = {spoken_name(name.rpartition(".")[2]), *metric.words.label.values(), *metric.words.synonyms}
        if metric.words.state == "approved" and any(text and text.casefold() in asked for text in said):
            meaning = f" ({metric.words.description})" if metric.words.description else ""
            condition = f" where {metric.condition}" if metric.condition else ""
            dated = f", dated by {metric.time}" if metric.time else ""
            found.append(f"{spoken_name(name)}{meaning} is {metric.expression}{condition}{dated}")
    found += [
        f"{spoken_name(named.name)} means {named.expression} on {named.dataset}"
        for named in layer.filters.values()
        if any(text and text.casefold() in asked for text in {spoken_name(named.name), *named.words.synonyms})
    ]
    return found[:count_max]


def _words(layer: Layer, name: str) -> Words:
    metric = layer.metric(name)
    return metric.words if metric is not None else Words()


def _meanings(layer: Layer, request: Request, language: Language) -> Iterator[str]:
    for name in request.metrics:
        metric = layer.metric(name)
        if metric is None or not metric.words.description:
            continue
        # One language an answer: an English description says nothing in a Chinese one, whose definition it is does.
        is_spoken = metric.words.description.isascii() == (language == "en")
        meaning = f" = {metric.words.description}" if is_spoken else ""
        yield f"{label_of(name, metric.words, language)}{meaning}{_whose(layer, metric, language)}"


def _whose(layer: Layer, metric: Metric, language: Language) -> str:
    if metric.words.owner == THE_QUESTION:
        return " (as the question says)" if language == "en" else "（按问题所说）"
    version = metric.words.version or layer.version
    said = f"definition {version}" if language == "en" else f"定义 {version}"
    owner = f", {metric.words.owner}" if metric.words.owner else ""
    return f" ({said}{owner})" if language == "en" else f"（{said}{owner}）"


def _group(layer: Layer, name: str, grain: str, language: Language, via: Sequence[str] = ()) -> str:
    if grain and name == OWN_DATE:
        return grain.replace("_", " ") if language == "en" else _GRAINS_ZH[grain]
    said = _by_way_of(layer, via, _field(layer, name, language), language)
    if not grain:
        return said
    return f"{grain.replace('_', ' ')} of {said}" if language == "en" else f"{said}的{_GRAINS_ZH[grain]}"


def _by_way_of(layer: Layer, via: Sequence[str], said: str, language: Language) -> str:
    """Return a field's name with the role by which it is reached: "origin country", where two relations lead to countries."""
    roles = {relation.role for relation in layer.relations if relation.role}
    role = next((name for name in via if name in roles), "")
    return said if not role else f"{spoken_name(role)} {said}" if language == "en" else f"{spoken_name(role)}的{said}"


def _field(layer: Layer, name: str, language: Language) -> str:
    try:
        dataset, field = field_named(layer, name)
    except RefusedError:
        return spoken_name(name.rpartition(".")[2])
    said = label_of(name, field.words if field is not None else Words(), language)
    if said.lower() not in _OF_ANYTHING:
        return said
    owner = spoken_name(singular(dataset))
    return f"{owner} {said}" if language == "en" else f"{owner}的{said}"


_OF_ANYTHING: Final = frozenset({"name", "id", "title", "label", "code", "key"})
"""Labels that do not say what of."""


def _condition(layer: Layer, item: Filter, language: Language, flags: Mapping[str, Value]) -> str:
    said = _compared(layer, item, language)
    if item.op is Op.EQUAL and item.field in flags and item.values == (flags[item.field],):
        return f"only where {said} is yes" if language == "en" else f"{said}为是"
    whose = f" of each {singular(spoken_name(item.per))}" if language == "en" else f"每个{spoken_name(item.per)}的"
    if item.per:
        said = f"{said}{whose}" if language == "en" else f"{whose}{said}"
    values = (" or " if language == "en" else "或").join(
        _meant(layer, item.field, value, language) for value in item.values
    )
    if item.op in {Op.EQUAL, Op.IN, Op.IS}:
        return f"{said} {values}" if language == "en" else f"{said}为{values}"
    how = _SAID.get((item.op, language))
    return how.format(field=said, values=values) if how is not None else f"{said} {item.op.value} {values}"


def _compared(layer: Layer, item: Filter, language: Language) -> str:
    """Return what a filter compares, a field or a figure, in words."""
    metric = layer.metric(item.field)
    name = _field(layer, item.field, language) if metric is None else label_of(item.field, metric.words, language)
    return _by_way_of(layer, item.via, name, language)


def _meant(layer: Layer, name: str, value: Value, language: Language) -> str:
    """Return a value as people say it: what its code means, in their language where that is given."""
    try:
        field = field_named(layer, name)[1] if layer.metric(name) is None else None
    except RefusedError:
        field = None
    meanings = field.values.get(str(value), ()) if field is not None else ()
    own = [meaning for meaning in meanings if meaning.isascii() == (language == "en")]
    return (own or list(meanings) or [str(value)])[0]


_SAID: Final[Mapping[tuple[Op, Language], str]] = {
    (Op.NONE, "en"): "without {field} {values}",
    (Op.NONE, "zh"): "不含{field} {values}",
    (Op.SOME, "en"): "with {field} {values}",
    (Op.SOME, "zh"): "含{field} {values}",
    (Op.GREATER, "en"): "{field} more than {values}",
    (Op.GREATER, "zh"): "{field}超过{values}",
    (Op.GREATER_OR_EQUAL, "en"): "{field} at least {values}",
    (Op.GREATER_OR_EQUAL, "zh"): "{field}至少{values}",
    (Op.LESS, "en"): "{field} less than {values}",
    (Op.LESS, "zh"): "{field}少于{values}",
    (Op.LESS_OR_EQUAL, "en"): "{field} at most {values}",
    (Op.LESS_OR_EQUAL, "zh"): "{field}至多{values}",
}


def _period(period: Period, language: Language) -> str:
    """Return a period as people say it: of a whole year or month its name, of other days the first and the last."""
    if period.gap is not None and period.start is not None and period.until is not None:
        before, behind = period.gap
        said = [
            _period(Period(period.field, *days), language) for days in ((period.start, before), (behind, period.until))
        ]
        return " and ".join(said) if language == "en" else "和".join(said)
    start = period.start
    last = period.until - timedelta(days=1) if period.until is not None else None
    if start is not None and last is not None:
        if (start.month, start.day, last.month, last.day) == (1, 1, 12, 31) and start.year == last.year:
            return f"in {start.year}" if language == "en" else f"{start.year}年"
        if start.day == 1 and period.until == next_month(start):
            return (
                f"in {month_name[start.month]} {start.year}" if language == "en" else f"{start.year}年{start.month}月"
            )
        if start == last:
            return f"on {_day(start, language)}" if language == "en" else _day(start, language)
        to = "to" if language == "en" else "至"
        said = [_day(start, language), to, _day(last, language)]
        return f"from {' '.join(said)}" if language == "en" else "".join(said)
    if start is not None:
        return f"since {_day(start, language)}" if language == "en" else f"{_day(start, language)}以来"
    return (
        "" if last is None else f"until {_day(last, language)}" if language == "en" else f"截至{_day(last, language)}"
    )


def _day(day: date, language: Language) -> str:
    if language == "zh":
        return f"{day.year}年{day.month}月{day.day}日"
    return f"{day.day} {month_name[day.month]} {day.year}"
