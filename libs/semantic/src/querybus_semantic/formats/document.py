"""Reading a YAML or JSON file that somebody else wrote: bounded, nothing executed, a key given twice is an error."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
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


@dataclass(slots=True)
class Report:
    """Everything of a file that was not taken as it stands. `lines` finds the line of a path."""

    lines: Mapping[str, int] = field(default_factory=dict[str, int])
    listed: list[Listed] = field(default_factory=list[Listed])

    def list(self, path: str, reason: str) -> None:
        """Note one thing by its path in the file."""
        self.listed.append(Listed(path, reason, self.line(path)))

    def line(self, path: str) -> int:
        """Return the line on which the last name of a path first stands, 0 where unknown."""
        return self.lines.get(path.rpartition(".")[2].partition("[")[0].lower(), 0)


class _Loader(yaml.SafeLoader):
    """The safe loader, with bounds while it composes: aliases can make millions of nodes of a kilobyte."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.nodes = 0
        self.depth = 0
        self.names: dict[str, int] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise BadFileError("Aliases (&name, *name) are not read; write the value out.")
        self.nodes += 1
        self.depth += 1
        if self.nodes > NODES_MAX or self.depth > DEPTH_MAX:
            raise BadFileError(f"The file has more than {NODES_MAX:,} values or is nested deeper than {DEPTH_MAX}.")
        node = super().compose_node(parent, index)
        self.depth -= 1
        if isinstance(node, yaml.ScalarNode):
            self.names.setdefault(str(node.value).lower(), node.start_mark.line + 1)
        return node

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


def read_documents(text: str) -> list[tuple[Document, Mapping[str, int]]]:
    """Return the root mappings of a file and the line on which each name first stands. Anything else: BadFileError."""
    if len(text.encode()) > FILE_BYTES_MAX:
        raise BadFileError(f"The file is larger than {FILE_BYTES_MAX / 1e6:.0f} MB.")
    loader = _Loader(text)
    roots: list[object] = []
    try:
        while loader.check_data():
            roots.append(loader.get_data())
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
    found = [cast("Document", root) for root in roots if root is not None]
    if not found or not all(isinstance(root, dict) for root in found):
        raise BadFileError("The file holds no mapping of names to values.")
    return [(root, loader.names) for root in found]


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
