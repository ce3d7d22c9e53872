"""dbt's filters: SQL with four Jinja calls, which are read and never run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from querybus_semantic.compiling.expressions import parse_unlabelled
from querybus_semantic.formats.dbt.jinja import Call, read_call
from querybus_semantic.layer.refusal import RefusedError

_JINJA: Final = re.compile(r"\{\{([^{}]{1,1000})\}\}")
_CALLS: Final = frozenset({"dimension", "timedimension", "entity", "metric"})


class FilterError(ValueError):
    """A filter or an input that has no counterpart; the text says why."""


def filter_texts(given: object) -> tuple[str, ...]:
    """Return the conditions of a filter: a text, a list of them, or a manifest's `where_filters`.

    Any other shape, also beside a known one: FilterError.
    """
    match given:
        case None:
            return ()
        case str():
            return (given,)
        case list():
            return tuple(part for one in cast("list[object]", given) for part in filter_texts(one))
        case {"where_filters": inner, **rest} if not any(rest.values()):
            return filter_texts(cast("object", inner))
        case {"where_sql_template": str(sql), **rest} if not any(rest.values()):
            return (sql,)
        case _:
            raise FilterError(f"its filter has a form that is not read: {str(given)[:80]}")


def field_of(name: str, models: Mapping[str, Any], dataset: str) -> str:
    """Return dataset.field for `entity__field`: of the model itself, else of the model whose entity it is."""
    parts = name.split("__")
    field, entity = parts[-1], parts[-2] if len(parts) > 1 else ""
    own = models.get(dataset)
    if own is not None and entity in {"", own.primary} and field in own.dataset.fields:
        return f"{dataset}.{field}"
    for model in models.values():
        if entity and field in model.dataset.fields and (model.primary == entity or _leads(model, entity)):
            return f"{model.dataset.name}.{field}"
    for model in models.values():
        if name in model.entities and (own is None or model is own):
            return f"{model.dataset.name}.{model.entities[name].column}"
    raise FilterError(f"`{name}` is not defined")


def _leads(model: Any, entity: str) -> bool:
    return entity in model.entities and model.entities[entity].type in {"primary", "unique", "natural"}


def condition_of(given: object, models: Mapping[str, Any], dataset: str) -> str:
    """Return a filter in any of dbt's forms as a condition over dataset.field, "" for none."""
    parts: list[str] = []
    for text in filter_texts(given):
        sql = _JINJA.sub(lambda found: _place(found.group(1), models, dataset), text)
        if "{{" in sql or "{%" in sql:
            raise FilterError("its filter holds Jinja that is not read")
        try:
            parts.append(parse_unlabelled(sql).sql())
        except RefusedError as error:
            raise FilterError(error.refusal.detail) from error
    return " AND ".join(f"({part})" for part in parts) if len(parts) > 1 else "".join(parts)


def _place(text: str, models: Mapping[str, Any], dataset: str) -> str:
    """Return what one Jinja call of a filter means: a field with the way that leads to it, cut to its grain."""
    call = read_call(text)
    if call is None or call.name.lower() not in _CALLS:
        raise FilterError("its filter holds Jinja that is not read")
    if call.name.lower() == "metric":
        raise FilterError("a filter on another metric has no counterpart within a definition")
    name, grain, path = _arguments(call)
    place = field_of(name, models, dataset)
    way = "__".join([*path, *name.split("__")[:-1]])
    if way and not place.startswith(f"{dataset}."):
        place = f"{way}.{place}"
    return f"DATE_TRUNC('{grain}', {place})" if grain and grain != "day" else place


def _arguments(call: Call) -> tuple[str, str, Sequence[str]]:
    """Return the name, the grain and the entities on the way of a call; FilterError for one of another form."""
    known = {"name": 0, "time_granularity_name": 1} if call.name.lower() == "timedimension" else {"name": 0}
    given = dict(zip(known, call.values, strict=False)) | call.named
    extra = call.values[len(known) :]
    if extra:
        given["entity_path"] = extra[0]
    then = call.then
    if then is not None and then.name == "grain" and len(then.texts) == 1 and "time_granularity_name" not in given:
        given["time_granularity_name"], then = then.texts[0], None
    name, grain = given.pop("name", None), given.pop("time_granularity_name", None) or ""
    path = given.pop("entity_path", None) or ()
    is_path = isinstance(path, Sequence) and all(isinstance(step, str) for step in cast("Sequence[object]", path))
    plain = isinstance(name, str) and isinstance(grain, str) and re.fullmatch(r"[a-z_]{0,40}", grain) is not None
    if then is not None or given or len(extra) > 1 or isinstance(path, str) or not is_path or not plain:
        raise FilterError(f"its filter holds a call that is not read: {call.name}")
    return cast("str", name), cast("str", grain), cast("Sequence[str]", path)
