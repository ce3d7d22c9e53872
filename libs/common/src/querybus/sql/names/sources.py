"""The catalog's tables that a statement reads, by the place in the tree where each is named."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from sqlglot import exp

from querybus.sql.names.index import KnownTable


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

    def __iter__(self) -> Iterator[KnownTable]:
        return iter(self._by_node.values())

    def __len__(self) -> int:
        return len(self._by_node)
