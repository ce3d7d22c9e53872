"""Names in what runs: every table by its catalog's schema and name, every WITH table by a fresh name.

The guard decides which table a name means; an engine may read the same name otherwise (another search path, another
case of letters, a WITH table that it takes for a table or a table for a WITH table). After `canonicalise` nothing is
left to it: a table is written as the catalog spells it, and no WITH table bears a name that any table could have. The
name as written stays as the alias, so columns are still qualified by it. `uncanonical` finds what is not so.
"""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Dialect, fold_known
from querybus.core.failure import Failure, FailureCode
from querybus.engines import ENGINES
from querybus.sql.facts import StatementFacts, TableUse, fold_of
from querybus.sql.guard.rules import Rule, refuse
from querybus.sql.names.index import KnownTable, NameIndex

_FRESH: Final = re.compile(r"qb\d+_")
_SLUG_LENGTH_MAX: Final = 20
_PLAIN_LOWER: Final = re.compile(r"[a-z_][a-z0-9_]*")
_PLAIN_UPPER: Final = re.compile(r"[A-Z_][A-Z0-9_]*")


def canonicalise(facts: StatementFacts, index: NameIndex) -> None:
    """Write every table of a tree under its catalog's schema and name, and every WITH table under a fresh one."""
    fresh = _fresh_names(facts, index)
    for use in facts.tables:
        if use.cte is not None:
            _rename(use.node, fresh[id(use.cte)])
            continue
        known = table_of(use, index)
        if known is not None:
            _spell(use.node, known, index)
    for cte in facts.ctes:
        if not cte.args.get("scalar"):
            cte.args["alias"].set("this", exp.Identifier(this=fresh[id(cte)]))


def table_of(use: TableUse, index: NameIndex) -> KnownTable | None:
    """Return the catalog's table that a use means."""
    return index.find(use.name, use.schema) if use.cte is None and index.is_own_database(use.catalog) else None


def uncanonical(facts: StatementFacts, index: NameIndex) -> Failure | None:
    """Return why the names of a statement leave something to the engine, or None."""
    for cte in facts.ctes:
        if not cte.args.get("scalar") and not _FRESH.match(cte.args["alias"].this.name):
            return refuse(FailureCode.PERMISSION, Rule.RENDERING, "a WITH table without a fresh name")
    for use in facts.tables:
        known = table_of(use, index)
        if known is None:
            continue
        if use.catalog is not None:
            return refuse(FailureCode.PERMISSION, Rule.RENDERING, "a table with its database", use.written)
        schema = index.schema_of(known)
        if schema is not None and use.schema != fold_known(schema, index.dialect):
            return refuse(FailureCode.PERMISSION, Rule.RENDERING, "a table without its schema", use.written)
    return None


def _fresh_names(facts: StatementFacts, index: NameIndex) -> dict[int, str]:
    """Return a name for each WITH table that nothing else in the statement or the catalog bears."""
    ctes = [cte for cte in facts.ctes if not cte.args.get("scalar")]
    taken = {node.name.lower() for node in facts.nodes if isinstance(node, exp.Identifier)} if ctes else set[str]()
    own = {cte.args["alias"].this.name.lower() for cte in ctes}
    result: dict[int, str] = {}
    number = 0
    for cte in ctes:
        slug = _slug(cte.args["alias"].this.name)
        number += 1
        while (name := f"qb{number}_{slug}") in taken - own or index.has_table(name):
            number += 1
        result[id(cte)] = name
    return result


def _slug(name: str) -> str:
    """Return the readable part of a fresh name: a name that is fresh already stays what it is."""
    plain = re.sub(r"[^a-z0-9_]", "", _FRESH.sub("", name.lower(), count=1))
    return plain[:_SLUG_LENGTH_MAX] or "with"


def _rename(node: exp.Table, name: str) -> None:
    alias = node.args.get("alias")
    if alias is None:
        node.set("alias", exp.TableAlias(this=node.this))
    elif alias.this is None:
        alias.set("this", node.this)
    node.set("this", exp.Identifier(this=name))


def _spell(node: exp.Table, known: KnownTable, index: NameIndex) -> None:
    dialect = index.dialect
    node.set("catalog", None)
    if ENGINES[dialect].table_case_counts and node.name != known.table.name:
        if node.args.get("alias") is None:
            node.set("alias", exp.TableAlias(this=node.this))
        node.set("this", exp.Identifier(this=known.table.name, quoted=True))
    schema = index.schema_of(known)
    written = node.args.get("db")
    if schema is None or (written is not None and fold_of(written, dialect) == fold_known(schema, dialect)):
        return
    node.set("db", _identifier(schema, dialect))


def in_engine_case(name: str, dialect: Dialect) -> str:
    """Return a catalog's name in the letters that the engine has for it; a catalog reports upper case as lower case."""
    return fold_known(name, dialect) if ENGINES[dialect].folds_to_upper else name


def _identifier(name: str, dialect: Dialect) -> exp.Identifier:
    """Return the catalog's name as an identifier that the engine reads as just this name."""
    name = in_engine_case(name, dialect)
    plain = _PLAIN_UPPER if ENGINES[dialect].folds_to_upper else _PLAIN_LOWER
    return exp.Identifier(this=name, quoted=plain.fullmatch(name) is None)
