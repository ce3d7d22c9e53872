"""What is wrong with a YAML file of settings, in one line: where, what, and which keys are allowed there."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, cast

import yaml
from pydantic import BaseModel, ValidationError

PROBLEMS_SHOWN_MAX: Final = 3
_WORDS: Final[Mapping[str, str]] = {
    "missing": "is missing",
    "too_short": "needs at least one entry",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a mapping of names to values",
    "model_type": "must be a mapping of names to values",
    "string_type": "must be a text",
}
_Place = tuple[int | str, ...]


def yaml_problem(error: yaml.YAMLError) -> str:
    """Return why a text is no YAML, with its line where the parser knows it.

    >>> yaml_problem(yaml.YAMLError())
    'is no YAML'
    """
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    where = f" in line {mark.line + 1}" if mark is not None else ""
    return f"is no YAML{where}{f': {problem}' if problem else ''}"


def settings_problem(error: ValidationError, model: type[BaseModel], text: str = "") -> str:
    """Return what is wrong with settings, at most PROBLEMS_SHOWN_MAX of it; `text` is the YAML, for the lines.

    A key that is not known stands for the one that is missing beside it, which it was probably meant to be.
    """
    errors = error.errors(include_url=False, include_input=False)
    misspelt = {item["loc"][:-1] for item in errors if item["type"] == "extra_forbidden"}
    listed = [item for item in errors if item["type"] != "missing" or item["loc"][:-1] not in misspelt]
    root = _root_of(text)
    shown = [_describe(item["loc"], item["type"], item["msg"], model, root) for item in listed[:PROBLEMS_SHOWN_MAX]]
    more = [f"and {len(listed) - len(shown)} more"] if len(listed) > len(shown) else []
    return "; ".join([*shown, *more])


def _describe(place: _Place, kind: str, message: str, model: type[BaseModel], root: yaml.Node | None) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".") or "the file"
    line = _line_of(root, place)
    where = f"line {line}: {path}" if line else path
    if kind != "extra_forbidden":
        return f"{where}: {_WORDS.get(kind, message.removeprefix('Value error, '))}"
    allowed = _keys_at(model, place[:-1])
    near = get_close_matches(str(place[-1]), allowed, n=1)
    meant = f"did you mean {near[0]}?" if near else f"allowed: {', '.join(allowed)}"
    return f"{where}: unknown key; {meant}" if allowed else f"{where}: unknown key"


def _keys_at(model: type[BaseModel], place: _Place) -> list[str]:
    """Return the keys that a mapping at this place may have, none where that is not known."""
    kind: Any = model
    for part in place:
        models = _models_in(kind)
        if isinstance(part, str):
            fields = models[0].model_fields if models else {}
            if part in fields:
                kind = fields[part].annotation
    models = _models_in(kind)
    return list(models[0].model_fields) if models else []


def _models_in(kind: Any) -> list[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    return [model for argument in typing.get_args(kind) for model in _models_in(argument)]


def _root_of(text: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=yaml.CSafeLoader) if text else None
    except yaml.YAMLError:
        return None


def _line_of(node: yaml.Node | None, place: _Place) -> int:
    """Return the line of the deepest part of a place that the file has, the first being 1; 0 without a file."""
    line = 0
    for part in place:
        if isinstance(node, yaml.MappingNode):
            pairs = cast("Sequence[tuple[Any, yaml.Node]]", node.value)
            pair = next((pair for pair in pairs if pair[0].value == part), None)
            if pair is None:
                break
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = cast("yaml.Node", node.value[part])
            line = node.start_mark.line + 1
    return line
