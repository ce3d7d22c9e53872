"""dbt's filters: SQL with four Jinja calls, which are read by a pattern and never run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from querybus_semantic.compiling.expressions import parse
from querybus_semantic.formats.document import texts
from querybus_semantic.layer.refusal import RefusedError

_CALL: Final = re.compile(
    r"\{\{\s*(Dimension|TimeDimension|Entity|Metric)\(\s*'([^']{1,200})'\s*(?:,\s*(?:'([a-z_]{1,40})'|\[([^\]]{0,400})\])\s*)*\)"
    r"(?:\.grain\('([a-z_]+)'\))?\s*\}\}",
    re.IGNORECASE,
)


class FilterError(ValueError):
    """A filter that has no counterpart; the text says why."""


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
    """Return a filter (a text or a list of them) as a condition over dataset.field, "" for none."""
    parts: list[str] = []
    for text in texts(given):

        def named(found: re.Match[str]) -> str:
            kind, name, grain = found.group(1).lower(), found.group(2), found.group(3) or found.group(5)
            if kind == "metric":
                raise FilterError("a filter on another metric has no counterpart within a definition")
            place = field_of(name, models, dataset)
            way = "__".join(name.split("__")[:-1])
            if way and not place.startswith(f"{dataset}."):
                place = f"{way}.{place}"
            return f"DATE_TRUNC('{grain}', {place})" if grain and grain != "day" else place

        sql = _CALL.sub(named, text)
        if "{{" in sql or "{%" in sql:
            raise FilterError("its filter holds Jinja that is not read")
        try:
            parts.append(parse(sql, "").sql())
        except RefusedError as error:
            raise FilterError(error.refusal.detail) from error
    return " AND ".join(f"({part})" for part in parts) if len(parts) > 1 else "".join(parts)
