"""What every rule of the guard is given beside the facts: the statement, its names, and what the policy adds."""

from __future__ import annotations

from dataclasses import dataclass

from querybus.core.catalog import Dialect
from querybus.core.policy import ConnectionPolicy
from querybus.sql.names.index import NameIndex
from querybus.sql.names.sources import Sources
from querybus.sql.parse import Statement


@dataclass(frozen=True, slots=True)
class Context:
    """One statement before the guard. `functions` are the lower-case names of all functions that may be called."""

    statement: Statement
    dialect: Dialect
    index: NameIndex
    policy: ConnectionPolicy
    sources: Sources
    functions: frozenset[str]
    checks_size: bool = True
