"""An answer of definitions read otherwise: what was asked is read once more, changed in one part and compiled anew.

Each figure keeps its own grain that way, which an edit of the compiled statement could not promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from querybus.core.catalog import Language
from querybus.core.requests.metrics_query import MetricsQuery
from querybus.core.requests.refinement import PERIOD, Change, NewPeriod
from querybus_semantic.compiling.leaves import field_named
from querybus_semantic.layer.definitions import Grain, Layer
from querybus_semantic.layer.request import OWN_DATE, Asker, Filter, Period, Request, Value, request_of
from querybus_translator.definitions.answer import (
    ByDefinition,
    Defined,
    NotByDefinition,
    asked_in_thread,
    compiled_answer,
)
from querybus_translator.definitions.describe import is_of_one_value, shown_groups
from querybus_translator.definitions.outcome import Asked
from querybus_translator.definitions.reader import read_change
from querybus_translator.refine import CannotRefineError

_BY: Final[dict[Language, str]] = {"en": "by {by}", "zh": "按{by}"}


def refine_defined(
    asked: str | MetricsQuery,
    earlier: Sequence[str],
    changes: Sequence[Change],
    defined: Defined,
    asker: Asker,
    language: Language,
) -> ByDefinition | None:
    """Return what definitions answered, with changes one after another; None where they had not answered.

    `asked` is the question, with those before it in its thread, or the request by name; the asker's day is that of
    asking. CannotRefineError where there is no such part, or the changed request has no answer.
    """
    if isinstance(asked, str):
        found = asked_in_thread(asked, earlier, defined, asker)
        if not isinstance(found, Asked):
            return None
        layer, request = found.layer, found.request
    else:
        layer, request = defined.layer, request_of(asked)
    if not isinstance(compiled_answer(request, layer, defined, language, asker), ByDefinition):
        return None
    for change in changes:
        request = _changed(request, change, layer, defined, asker, language)
    answer = compiled_answer(request, layer, defined, language, asker)
    if isinstance(answer, ByDefinition):
        return answer
    raise CannotRefineError(
        answer.about if isinstance(answer, NotByDefinition) else "",
        answer.detail if isinstance(answer, NotByDefinition) else "what is asked for then has no definition",
    )


def _changed(
    request: Request, change: Change, layer: Layer, defined: Defined, asker: Asker, language: Language
) -> Request:
    filters = {f"f{place}": item for place, item in enumerate((*request.filters, *request.named), 1)}
    groups = {f"g{place}": item for place, item in enumerate(shown_groups(request), 1)}
    known = {*filters, *groups, PERIOD}
    if missing := {*change.without, *change.values} - known:
        raise CannotRefineError("", f"the answer has no {', '.join(sorted(missing))}")
    kept = {key: item for key, item in filters.items() if key not in change.without}
    for key, value in change.values.items():
        kept[key] = _with_value(filters[key], value, layer, defined)
    request = replace(
        request,
        filters=tuple(item for item in kept.values() if isinstance(item, Filter)),
        named=tuple(item for item in kept.values() if isinstance(item, str)),
    )
    if change.period is not None:
        request = replace(request, period=_period(request.period, change.period))
    elif PERIOD in change.without:
        # Without its ends nobody knows which days have no row.
        request = replace(request, period=None, fill=False)
    if change.unit is not None:
        request = _by_unit(request, Grain(change.unit))
    if any(key in change.without for key in groups):
        request = _without_groups(request, [key in change.without for key in groups])
    if change.by:
        request = _by(request, change.by, layer, defined, asker, language)
    return request if change.lines is None else replace(request, limit=change.lines)


def _with_value(item: Filter | str, value: str, layer: Layer, defined: Defined) -> Filter:
    if isinstance(item, str) or not is_of_one_value(item):
        raise CannotRefineError(value, "this condition does not compare one thing with one value")
    return replace(item, values=(_stored(item, value, layer, defined),))


def _stored(item: Filter, value: str, layer: Layer, defined: Defined) -> Value:
    """Return a value as the database has it: by what its code means, by another case, or as it was said."""
    wanted = value.strip().casefold()
    field = field_named(layer, item.field)[1] if layer.metric(item.field) is None else None
    for code, meanings in field.values.items() if field is not None else ():
        if wanted in {code.casefold(), *(meaning.casefold() for meaning in meanings)}:
            return code
    if isinstance(item.values[0], int | float):
        try:
            return float(value) if "." in value else int(value)
        except ValueError:
            raise CannotRefineError(value, "a number is compared with numbers") from None
    return next((stored for place, stored in defined.places(wanted) if place == item.field), value)


def _period(old: Period | None, new: NewPeriod) -> Period:
    until = None if new.last is None else new.last + timedelta(days=1)
    return Period(OWN_DATE if old is None else old.field, new.first, until)


def _by_unit(request: Request, unit: Grain) -> Request:
    if not any(item.grain is not None for item in request.dimensions):
        raise CannotRefineError(unit.value, "nothing is shown by a date")
    dimensions = tuple(item if item.grain is None else replace(item, grain=unit) for item in request.dimensions)
    return replace(request, dimensions=dimensions)


def _without_groups(request: Request, gone: Sequence[bool]) -> Request:
    """Return one line where it was one for each; a hidden key goes with the last name of its rows that is shown."""
    shown = [item for item, is_gone in zip(shown_groups(request), gone, strict=True) if not is_gone]
    datasets = {item.field.rpartition(".")[0] for item in shown}
    dimensions = tuple(
        item
        for item in request.dimensions
        if (item.field.rpartition(".")[0] in datasets if item.hidden else item in shown)
    )
    order = tuple(item for item in request.order if item.name in request.metrics) if shown else ()
    return replace(request, dimensions=dimensions, order=order, limit=request.limit if shown else None)


def _by(request: Request, said: str, layer: Layer, defined: Defined, asker: Asker, language: Language) -> Request:
    """Return one line for each of something more, which is read as in "by channel"."""
    before = Asked(layer, request, request.metrics)
    text = _BY[language].format(by=said)
    found = read_change(text, before, asker.today, defined.places, flags=defined.flags)
    if not isinstance(found, Asked) or found.request.filters != request.filters:
        raise CannotRefineError(said, "no definition has that name")
    more = [item for item in found.request.dimensions if item not in request.dimensions]
    return replace(request, dimensions=(*request.dimensions, *more))
