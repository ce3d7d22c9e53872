"""The statement of an answer in JSON or YAML, a call of a tool included: what stands behind a key that speaks of SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, cast

_OBJECTS_TRIED_MAX: Final = 8
_OBJECTS_MAX: Final = 32
_DEPTH_MAX: Final = 3
_KEYS: Final = ("sql", "sql_query", "sqlquery", "query", "statement")
# Behind such a key stands a statement or words.
_SQL_KEY: Final = re.compile(r"sql|query", re.IGNORECASE)
_CODE_KEYS: Final = frozenset({"code", "answer", "result", "output", "response", "final", "final_answer", "input"})


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Return the first JSON object of the text and the objects within it, keys in small letters.

    >>> list(json_objects('Here: {"name": "run", "arguments": {"SQL": "SELECT 1"}}'))
    [{'name': 'run', 'arguments': {'SQL': 'SELECT 1'}}, {'sql': 'SELECT 1'}]
    """
    decoder = json.JSONDecoder(strict=False)
    for start in [result.start() for result in re.finditer(r"(?:\[\s*)?\{\s*\"", text)][:_OBJECTS_TRIED_MAX]:
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        yield from islice(_within(value, _DEPTH_MAX), _OBJECTS_MAX)
        return


def _within(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if isinstance(value, str) and value.lstrip().startswith("{") and depth:
        yield from json_objects(value)
    elif isinstance(value, dict):
        items = cast("dict[str, Any]", value)
        yield {name.lower(): item for name, item in items.items()}
        for item in items.values() if depth else ():
            yield from _within(item, depth - 1)
    elif isinstance(value, list):
        for item in cast("list[Any]", value) if depth else ():
            yield from _within(item, depth - 1)


def statements_in(item: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Return what an object holds that may be a statement, and whether its key says so; several in a list are joined by semicolons."""
    others = [key for key in item if key not in _KEYS and (_SQL_KEY.search(key) or key in _CODE_KEYS)]
    for key in (*_KEYS, *others):
        value = item.get(key)
        if isinstance(value, list) and value:
            parts = cast("list[Any]", value)
            if all(isinstance(part, str) for part in parts):
                value = parts[0] if len(parts) == 1 else ";\n".join(str(part).rstrip("; \n") for part in parts)
        if isinstance(value, str) and value.strip():
            yield value, key in _KEYS


_YAML_KEY: Final = re.compile(
    r"^(?P<indent>[ \t]*)[\"']?(?:sql|sql_query|query)[\"']?[ \t]*:[ \t]*(?P<rest>[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)


def yaml_statement(text: str) -> str | None:
    """Return what stands behind a key that speaks of SQL, on its line, quoted, or in the lines below; None if there is no such key."""
    result = _YAML_KEY.search(text)
    if result is None:
        return None
    rest = result["rest"].strip()
    if rest[:1] in ("'", '"'):
        return _yaml_quoted(text[result.start("rest") :].lstrip())
    is_block = not rest or re.fullmatch(r"[|>][+-]?\d?", rest) is not None
    lines: list[str] = [] if is_block else [rest]
    for line in text[result.end() :].split("\n")[1:]:
        is_outside = bool(line.strip()) and len(line) - len(line.lstrip()) <= len(result["indent"])
        # "SQL: SELECT ..." is more often a label than YAML: its statement goes on wherever the next line begins.
        if is_outside and (is_block or _NEXT_KEY.match(line)):
            break
        lines.append(line)
    return "\n".join(lines).strip() or None


_NEXT_KEY: Final = re.compile(r"[ \t]*[\"']?[A-Za-z_]\w*[\"']?[ \t]*:(\s|\Z)")
_YAML_QUOTED: Final = (re.compile(r"'((?:[^']|'')*)'"), re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL))


_LINE_JOINED: Final = re.compile(r"\\\n[ \t]*")


def _yaml_quoted(text: str) -> str | None:
    """Return a quoted scalar at the start of the text, over any number of lines; None if its quote is never closed."""
    single = _YAML_QUOTED[0].match(text)
    if single is not None:
        return _unfolded(single[1].replace("''", "'"))
    double = _YAML_QUOTED[1].match(text)
    if double is None:
        return None
    joined = _unfolded(_LINE_JOINED.sub("", double[1])).replace("\\ ", " ")
    try:
        return str(json.loads(f'"{joined}"', strict=False))
    except ValueError:
        return joined


def _unfolded(text: str) -> str:
    """Return a folded text as it was: a line end stands for a space, an empty line for a line end."""
    return re.sub(r"[ \t]*\n[ \t]*(\n[ \t]*)*", lambda ends: "\n" * (ends[0].count("\n") - 1) or " ", text)
