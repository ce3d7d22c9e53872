"""A chart as a call of antvis' chart server: its tool and arguments. Kinds that it draws otherwise or not are left to us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from querybus_presenter.charts.kinds import label_in

POINTS_MAX: Final = 1_000
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool's name and what it is given."""

    tool: str
    arguments: Mapping[str, Any]


def call_of(spec: Json) -> Call | None:
    """Return the call that draws a specification of ours, or None where there is no such tool."""
    kind, encoding = _of(spec, "usermeta").get("chart"), _of(spec, "encoding")
    values = cast("Sequence[Json]", _of(spec, "data").get("values") or ())
    if not 0 < len(values) <= POINTS_MAX:
        return None
    made = _points(str(kind), encoding, values)
    if made is None:
        return None
    tool, data, titles = made
    title = _title(spec)
    return Call(f"generate_{tool}_chart", {"data": data, **titles, **({"title": title} if title else {})})


def _points(kind: str, encoding: Json, values: Sequence[Json]) -> tuple[str, list[Any], dict[str, str]] | None:
    x, y = _of(encoding, "x"), _of(encoding, "y")
    match kind:
        case "line" | "area":
            return _made(kind, values, encoding, {"time": x, "value": y})
        case "bar":
            is_lying = y.get("type") in ("nominal", "ordinal")
            names, amounts = (y, x) if is_lying else (x, y)
            return _made("bar" if is_lying else "column", values, encoding, {"category": names, "value": amounts})
        case "pie":
            return _made("pie", values, {}, {"category": _of(encoding, "color"), "value": _of(encoding, "theta")})
        case "scatter":
            return _made("scatter", values, {}, {"x": x, "y": y})
        case _:
            return None


def _made(
    tool: str, values: Sequence[Json], encoding: Json, channels: Mapping[str, Json]
) -> tuple[str, list[Any], dict[str, str]] | None:
    fields = {name: _field(channel) for name, channel in channels.items()}
    if not all(fields.values()):
        return None
    if group := _field(_of(encoding, "color")):
        fields["group"] = group
    data: list[dict[str, Any]] = []
    for value in values:
        point = {name: value.get(field) for name, field in fields.items()}
        if any(cell is None for cell in point.values()):
            return None
        data.append({name: cell if name in ("value", "x", "y") else str(cell) for name, cell in point.items()})
    titles = dict(zip(("axisXTitle", "axisYTitle"), map(_label, channels.values()), strict=True))
    return tool, data, {} if tool == "pie" else {name: title for name, title in titles.items() if title}


def _of(node: Json, name: str) -> Json:
    found = node.get(name)
    return cast("Json", found) if isinstance(found, Mapping) else {}


def _field(channel: Json) -> str:
    return label_in(str(channel.get("field") or ""))


def _label(channel: Json) -> str:
    return str(channel.get("title") or "")


def _title(spec: Json) -> str:
    text: Any = _of(spec, "title").get("text")
    return " ".join(cast("Sequence[str]", text)) if isinstance(text, list) else str(text or "")
