"""Changes the text of a connections file by single entries; every other line and comment stays as it is.

Pure: text in, text out. Each change is read again and compared with what it should hold, so that a form of YAML that
was not foreseen is refused and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import yaml

from querybus_executor.connections.config import BadConnections

HEAD: Final[str] = "# The databases that QueryBus may ask: docs/connections.md. No password stands here.\n"
_KEY: Final = "connections"
_UNREAD: Final = "the file is written in a form that cannot be changed here: change it in an editor"


def add_entry(text: str, entry: Mapping[str, Any]) -> str:
    """Return the file's text with one more entry; BadConnections where one of its name is there.

    >>> print(add_entry("connections:\\n  - name: a  # first\\n    url: x\\n", {"name": "b", "url": "y"}), end="")
    connections:
      - name: a  # first
        url: x
      - name: b
        url: y
    """
    before = entries_of(text)
    if any(item.get("name") == entry["name"] for item in before):
        raise BadConnections(f"there is a connection {entry['name']} already: choose another name, or remove it first")
    lines = _block_lines(text, before)
    items = _items("\n".join(lines))
    indent = items[0].start_mark.column - 2 if items else 2
    place = _last_line(items[-1]) + 1 if items else _line_of_key(lines) + 1
    added = yaml.safe_dump([dict(entry)], allow_unicode=True, sort_keys=False, width=10_000).splitlines()
    lines[place:place] = [" " * indent + line for line in added]
    return _checked(lines, [*before, dict(entry)])


def remove_entry(text: str, name: str) -> str:
    """Return the file's text without an entry; BadConnections where there is none of the name.

    >>> remove_entry("connections:\\n- name: a\\n  url: x\\n", "a")
    'connections: []\\n'
    """
    before = entries_of(text)
    number = _number_of(before, name)
    lines = _block_lines(text, before)
    items = _items("\n".join(lines))
    del lines[items[number].start_mark.line : _last_line(items[number]) + 1]
    if len(before) == 1:
        at = _line_of_key(lines)
        head, _, comment = lines[at].partition("#")
        lines[at] = f"{head.rstrip()} []" + (f"  #{comment}" if comment else "")
    return _checked(lines, [item for place, item in enumerate(before) if place != number])


def set_value(text: str, name: str, key: str, value: str) -> str:
    """Return the file's text with another value of an entry's key, which is added where it is missing.

    >>> set_value("connections:\\n- {name: a, url: x}\\n", "a", "name", "b")
    'connections:\\n- {name: b, url: x}\\n'
    """
    before = entries_of(text)
    number = _number_of(before, name)
    after = [dict(item) for item in before]
    after[number][key] = value
    written = yaml.safe_dump(value, allow_unicode=True, width=10_000).splitlines()[0]
    item = _items(text)[number]
    for node, content in item.value:
        if node.value == key and isinstance(content, yaml.ScalarNode):
            changed = text[: content.start_mark.index] + written + text[content.end_mark.index :]
            return _checked(changed.splitlines(), after)
    if item.flow_style:
        raise BadConnections(_UNREAD)
    lines = text.splitlines()
    lines.insert(_last_line(item) + 1, f"{' ' * item.start_mark.column}{key}: {written}")
    return _checked(lines, after)


def entries_of(text: str) -> list[dict[str, Any]]:
    """Return the entries as they are written, with variables and files of secrets not filled in."""
    try:
        read = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadConnections("the file is no YAML: mend it before it is changed here") from error
    listed = cast("Any", read).get(_KEY) if isinstance(read, dict) else read
    if listed is None:
        return []
    if not isinstance(read, dict) or not isinstance(listed, list):
        raise BadConnections("the file has no list `connections`")
    return [dict(item) for item in cast("list[Any]", listed) if isinstance(item, dict)]


def _number_of(entries: list[dict[str, Any]], name: str) -> int:
    for number, item in enumerate(entries):
        if item.get("name") == name:
            return number
    there = ", ".join(str(item.get("name")) for item in entries) or "none"
    raise BadConnections(f"there is no connection {name}; there are: {there}")


def _block_lines(text: str, entries: list[dict[str, Any]]) -> list[str]:
    """Return the lines of the file with its list in block style, so that an entry has lines of its own."""
    sequence = _sequence(text)
    if sequence is not None and not sequence.flow_style:
        return text.splitlines()
    if sequence is None or not entries:
        lines = (text or HEAD).splitlines()
        at = next((place for place, line in enumerate(lines) if line.startswith(f"{_KEY}:")), None)
        if at is None:
            return [*lines, f"{_KEY}:"]
        lines[at] = lines[at].replace("[]", "", 1).rstrip()
        return lines
    if any(line.lstrip().startswith("#") for line in text.splitlines()):
        raise BadConnections(_UNREAD)
    whole = yaml.safe_load(text)
    return yaml.safe_dump(whole, allow_unicode=True, sort_keys=False, width=10_000).splitlines()


def _sequence(text: str) -> yaml.SequenceNode | None:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return None
    return next(
        (node for key, node in root.value if key.value == _KEY and isinstance(node, yaml.SequenceNode)),
        None,
    )


def _items(text: str) -> list[yaml.MappingNode]:
    sequence = _sequence(text)
    items = [] if sequence is None else sequence.value
    if not all(isinstance(item, yaml.MappingNode) for item in items):
        raise BadConnections(_UNREAD)
    return cast("list[yaml.MappingNode]", items)


def _line_of_key(lines: list[str]) -> int:
    return next(place for place, line in enumerate(lines) if line.startswith(f"{_KEY}:"))


def _last_line(node: yaml.Node) -> int:
    """Return the last line on which something of the node stands: its end mark lies behind comments and empty lines."""
    if isinstance(node, yaml.ScalarNode) or cast("yaml.CollectionNode", node).flow_style:
        mark = node.end_mark
        return mark.line - 1 if mark.column == 0 and mark.line > node.start_mark.line else mark.line
    return max((_last_line(inner) for inner in _inner(node)), default=node.start_mark.line)


def _inner(node: yaml.Node) -> Iterator[yaml.Node]:
    for item in node.value:
        if isinstance(item, tuple):
            yield from cast("tuple[yaml.Node, yaml.Node]", item)
        else:
            yield item


def _checked(lines: list[str], expected: list[dict[str, Any]]) -> str:
    text = "\n".join(lines) + "\n"
    if entries_of(text) != expected:
        raise BadConnections(_UNREAD)
    return text
