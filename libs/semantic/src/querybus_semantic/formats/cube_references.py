"""References in the SQL of Cube: braces that name a cube, one of its members or a column. Jinja is only recognised."""

from __future__ import annotations

import re
from typing import Final

from querybus_semantic.formats.document import Document, text

_REFERENCE: Final = re.compile(r"\$?\{\s*([A-Za-z_][\w.]*)\s*\}(\.?)")

_NO_SQL: Final = frozenset({"name", "title", "description", "meta", "drill_members"})


def sql_of(given: object, cube: str, *, qualified: bool = True) -> str:
    """Return SQL with references replaced: {CUBE}.x and {x} by cube.x, {other.x} by other.x."""

    def replaced(found: re.Match[str]) -> str:
        name, dot = found.group(1), found.group(2)
        if name in {"CUBE", "TABLE"}:
            return f"{cube}{dot}" if dot else cube
        if name.startswith("CUBE."):
            return f"{cube}.{name[5:]}{dot}"
        if "." in name or dot:
            return f"{name}{dot}"
        return f"{cube}.{name}" if qualified else name

    return _REFERENCE.sub(replaced, text(given))


def is_jinja(node: object) -> bool:
    """Return whether a node holds Jinja or a parameter that only Cube can fill in."""
    return "{%" in str(node) or "{{" in str(node) or "FILTER_PARAMS" in str(node) or "SECURITY_CONTEXT" in str(node)


def members_in(node: Document, cube: str) -> set[str]:
    """Return the members that the SQL of a member refers to, as cube.name; {CUBE}.x is a column and no member."""
    found: set[str] = set()
    for name, dot in _REFERENCE.findall(str({key: value for key, value in node.items() if key not in _NO_SQL})):
        owner, _, member = name.rpartition(".")
        if not dot and name not in {"CUBE", "TABLE"}:
            found.add(f"{cube if owner in {'', 'CUBE', 'TABLE'} else owner}.{member}")
    return found
