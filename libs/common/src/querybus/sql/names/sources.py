"""The catalog's tables that a statement reads, by the place in the tree where each is named."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from typing import Final

from sqlglot import exp

from querybus.sql.names.index import KnownTable

_FIELD: Final = re.compile(r"[<(,]\s*[`\"]?(\w+)[`\"]?\s+\w")


class Sources:
    """Which table of the catalog each table node of one tree means; nodes of WITH tables and functions mean none."""

    def __init__(self, by_node: Mapping[int, KnownTable] | None = None) -> None:
        self._by_node = dict(by_node or {})

    def of(self, node: exp.Expr) -> KnownTable | None:
        """Return the table that this node names."""
        return self._by_node.get(id(node))

    def without(self, nodes: Container[int]) -> Sources:
        """Return the sources but for those of these nodes, given by their ids."""
        return Sources({key: table for key, table in self._by_node.items() if key not in nodes})

    def struct_fields(self) -> frozenset[str]:
        """Return the fields of all structs of these tables, in lower case, as their columns' types name them."""
        texts = {column.type for known in self for column in known.table.columns if "STRUCT" in column.type.upper()}
        return frozenset(name.lower() for text in texts for name in _FIELD.findall(text))

    def __iter__(self) -> Iterator[KnownTable]:
        return iter(self._by_node.values())

    def __len__(self) -> int:
        return len(self._by_node)
