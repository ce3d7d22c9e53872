"""Reading a YAML or JSON file that somebody else wrote: bounded, nothing executed, a key given twice is an error."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import yaml

FILE_BYTES_MAX: Final = 4_000_000
NODES_MAX: Final = 200_000
DEPTH_MAX: Final = 60

Document = Mapping[str, Any]


class BadFileError(ValueError):
    """A file that cannot be read as a layer at all; the text says why."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Something of a file that the import does not take, or takes in another way."""

    path: str
    reason: str
    line: int = 0

    @property
    def text(self) -> str:
        """One line for people."""
        return f"{self.path}{f' (line {self.line})' if self.line else ''}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Lines:
    """Where things stand in the files that were read; without files nowhere."""

    roots: tuple[yaml.Node, ...] = ()

    def of(self, path: str) -> int:
        """Return the line of what a path leads to, step by step by keys and by `name`; 0 where nothing of it is found."""
        steps = _STEP.findall(path)
        lines = (_line(root, steps) for root in self.roots)
        return max(lines, default=(0, 0))[1]


NOWHERE: Final = Lines()
_STEP: Final = re.compile(r"[^.\[\]]+")


def _line(root: yaml.Node, steps: Sequence[str]) -> tuple[int, int]:
    """Return how many steps of a path are found below a node, and the line of the last of them."""
    found, line, here = 0, 0, root
    for step in steps:
        # What is not below the step before is looked for from the top: a report's path may leave names out.
        waiting = deque([here, root] if here is not root else [root])
        while waiting:
            node = waiting.popleft()
            if isinstance(node, yaml.SequenceNode):
                waiting.extend(node.value)
            if not isinstance(node, yaml.MappingNode):
                continue
            pairs = [(str(key.value), key, value) for key, value in node.value]
            if node is not here and any(key in _NAMING and str(value.value) == step for key, _, value in pairs):
                found, line, here = found + 1, node.start_mark.line + 1, node
                break
            key = next((key for name, key, _ in pairs if name == step), None)
            if key is not None:
                found, line = found + 1, key.start_mark.line + 1
                here = next(value for name, _, value in pairs if name == step)
                break
            waiting.extend(value for _, _, value in pairs)
    return found, line


_NAMING: Final = frozenset({"name", "vendor_name", "dialect"})


@dataclass(slots=True)
class Report:
    """Everything of a file that was not taken as it stands."""

    lines: Lines = NOWHERE
    listed: list[Listed] = field(default_factory=list[Listed])

    def list(self, path: str, reason: str) -> None:
        """Note one thing by its path in the file."""
        self.listed.append(Listed(path, reason, self.lines.of(path)))

    def list_unknown(self, path: str, node: Document, known: frozenset[str]) -> None:
        """Note every key with a value that is not read: of a later version of the format, or a slip of the pen."""
        for key, value in node.items():
            if key not in known and value is not None:
                self.list(f"{path}.{key}" if path else str(key), "it has no counterpart and no effect here")

    def entries(self, path: str, node: Document, key: str) -> list[Document]:
        """Return the mappings of a list below a node; note everything else that stands in its place."""
        given = node.get(key)
        if given is None:
            return []
        if not isinstance(given, list):
            self.list(f"{path}.{key}", "left out: a list is expected here")
            return []
        for position, one in enumerate(cast("list[object]", given), 1):
            if not isinstance(one, dict):
                self.list(f"{path}.{key}", f"left out: entry {position} is no mapping: {str(one)[:80]}")
        return items(given)


class _Loader(yaml.CSafeLoader):
    """The safe loader; a key given twice is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise BadFileError(f"Line {key_node.start_mark.line + 1}: a key must be a plain value.")
            if key in seen:
                raise BadFileError(f"Line {key_node.start_mark.line + 1}: `{key}` is given twice.")
            seen.add(key)
        return super().construct_mapping(node, deep)


# A date in a definition is a text like any other; dates are read where a date is meant.
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _check_bounds(text: str) -> None:
    """Refuse a file before anything is built of it: aliases can make millions of nodes of a kilobyte."""
    nodes = depth = 0
    for event in yaml.parse(text, yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise BadFileError("Aliases (&name, *name) are not read; write the value out.")
        nodes += isinstance(event, yaml.NodeEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if nodes > NODES_MAX or depth > DEPTH_MAX:
            raise BadFileError(f"The file has more than {NODES_MAX:,} values or is nested deeper than {DEPTH_MAX}.")


def read_documents(text: str) -> list[tuple[Document, Lines]]:
    """Return the root mappings of a file, each with where its parts stand. Anything else: BadFileError."""
    if len(text.encode()) > FILE_BYTES_MAX:
        raise BadFileError(f"The file is larger than {FILE_BYTES_MAX / 1e6:.0f} MB.")
    roots: list[tuple[object, yaml.Node]] = []
    loader = _Loader(text)
    try:
        _check_bounds(text)
        while loader.check_node():
            node = cast("yaml.Node", loader.get_node())
            roots.append((loader.construct_document(node), node))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"Line {mark.line + 1}: " if mark is not None else ""
        raise BadFileError(
            f"{where}the file is no YAML: {getattr(error, 'problem', None) or 'it cannot be parsed'}."
        ) from error
    except RecursionError as error:
        raise BadFileError("The file is nested too deeply.") from error
    finally:
        loader.dispose()
    found = [(cast("Document", root), Lines((node,))) for root, node in roots if root is not None]
    if not found or not all(isinstance(root, dict) for root, _ in found):
        raise BadFileError("The file holds no mapping of names to values.")
    return found


def mapping(value: object) -> Document:
    """Return a mapping, or an empty one for anything else."""
    return cast("Document", value) if isinstance(value, dict) else {}


def items(value: object) -> list[Document]:
    """Return the mappings of a list."""
    return (
        [cast("Document", one) for one in cast("list[object]", value) if isinstance(one, dict)]
        if isinstance(value, list)
        else []
    )


def texts(value: object) -> tuple[str, ...]:
    """Return a list's values as texts; one text alone is a list of one."""
    if isinstance(value, str):
        return (value,)
    return tuple(str(one) for one in cast("list[object]", value)) if isinstance(value, list) else ()


def text(value: object) -> str:
    """Return a value as text, "" for none."""
    return "" if value is None else str(value)


def json_mapping(value: object) -> Document:
    """Return what a JSON text (or a mapping) holds, or an empty mapping."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return mapping(value)
