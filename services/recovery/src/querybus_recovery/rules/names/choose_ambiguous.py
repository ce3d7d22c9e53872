"""A column that several tables of a block have is taken from one of them where the joins do not make them equal.

An assumption: a text rather than a key of another table's, a table's own name rather than a reference, else the first.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from querybus.core.catalog import Catalog, ColumnKind
from querybus.core.failure import Failure
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import Source, glance, identifier, own_columns, own_sources, read, sites, write
from querybus_recovery.rules.candidate import Candidate
from querybus_recovery.rules.names.qualify_ambiguous import CODES


def choose_ambiguous(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with the name qualified everywhere in its block, the likeliest owner first."""
    name = failure.facts.name
    if failure.code not in CODES or not name:
        return ()
    if not glance(draft.sql, draft.dialect, catalog, failure.facts.name).shares:
        return ()
    candidates: list[Candidate] = []
    for place in range(2):
        tree = read(draft.sql, draft.dialect)
        if tree is None:
            return ()
        chosen: dict[str, None] = {}
        for site in list(sites(tree, catalog, name)):
            if site.qualifier:
                continue
            if _is_outer(site.scope.expression):
                return ()
            owners = [source for source in own_sources(site.scope, catalog) if source.owned(name)]
            if len(owners) < 2:
                continue
            spoken = _spoken(site.scope, name)
            owners.sort(key=lambda node: (node.alias.lower() in spoken, _rank(node, name)))
            if place < len(owners):
                site.column.set("table", identifier(owners[place].alias))
                chosen[f"{owners[place].alias}.{name}"] = None
        if any(equal.left == equal.right for equal in tree.find_all(exp.EQ)):
            return ()  # both sides of a join would be one column
        if chosen:
            candidates.append(
                Candidate(
                    RuleName.CHOOSE_AMBIGUOUS,
                    write(tree, draft.dialect),
                    keeps_meaning=False,
                    before=name,
                    after=", ".join(chosen),
                    doubt=0.5 + 0.4 * place,
                )
            )
    return tuple(candidates)


def _spoken(scope: Scope, name: str) -> set[str]:
    """Return the sources whose column of that name the block names elsewhere: then the bare name means another."""
    return {
        column.table.lower()
        for column in own_columns(scope)
        if column.table
        and column.name.lower() == name.lower()
        and isinstance(column.find_ancestor(exp.Join, exp.Group, exp.Select), exp.Select)
    }


def _is_outer(block: object) -> bool:
    joins = getattr(block, "args", {}).get("joins") or ()
    return any(join.side for join in joins)


def _rank(source: Source, name: str) -> int:
    table = source.known
    column = table.column(name) if table else None
    if table is None or column is None:
        return 1
    refers = any(name.lower() in (column.lower() for column in key.columns) for key in table.foreign_keys)
    if refers:
        return 2
    return (
        0 if column.kind is ColumnKind.TEXT or name.lower() in (column.lower() for column in table.primary_key) else 1
    )
