"""A table that the catalog does not know becomes the one table that has the columns taken from it.

An assumption. Among several that fit, a shared word in the name and a key to the other tables of the block decide.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from querybus.core.catalog import Catalog, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import identifier, own_columns, own_sources, read, scopes, write
from querybus.sql.names.meaning import table_meant
from querybus.text.similarity import plain, score, words
from querybus.text.words import singular
from querybus_recovery.rules.candidate import Candidate
from querybus_recovery.rules.joins.links import between
from querybus_recovery.rules.names.rename_column import near

TRIED_MAX: Final = 3
TABLES_MAX: Final = 4


def fitting_table(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with the unknown tables replaced by what fits best, and by the next best for the first of them."""
    if failure.code is not FailureCode.TABLE_NOT_FOUND:
        return ()
    candidates: list[Candidate] = []
    for place in range(TRIED_MAX):
        tree = read(draft.sql, draft.dialect)
        if tree is None:
            return ()
        changed: dict[str, str] = {}
        doubt = 0.0
        while len(changed) < TABLES_MAX and (unknown := _unknown(tree, catalog)) is not None:
            ranked = _ranked(*unknown, catalog)
            # The alternatives are for the first table; the others take what fits best.
            chosen = place if not changed else 0
            if chosen >= len(ranked):
                break
            fit, table = ranked[chosen]
            gap = 0.0 if len(ranked) == 1 else max(0.0, 0.3 - (ranked[0][0] - ranked[1][0]))
            doubt = max(doubt, max(0.1, 1.4 - fit) + gap + 0.1 * place)
            changed[unknown[1].name] = table.name
            replace(tree, unknown[1].name, table.name)
        if not changed:
            break
        candidates.append(
            Candidate(
                RuleName.FITTING_TABLE,
                write(tree, draft.dialect),
                keeps_meaning=False,
                before=", ".join(changed),
                after=", ".join(changed.values()),
                doubt=doubt,
                brings=tuple(changed.values()),
            )
        )
    return tuple(candidates)


def replace(tree: exp.Expr, before: str, after: str) -> None:
    """Put one table's name in the place of another's, and before its columns."""
    for table in tree.find_all(exp.Table):
        if table.name.lower() == before.lower():
            table.set("this", identifier(after))
            table.set("db", None)
    for column in tree.find_all(exp.Column):
        if column.table.lower() == before.lower():
            column.set("table", identifier(after))


def _unknown(tree: exp.Expr, catalog: Catalog) -> tuple[Scope, exp.Table] | None:
    for scope in scopes(tree):
        for _, source in scope.selected_sources.values():
            if isinstance(source, exp.Table) and source.name and table_meant(source, catalog) is None:
                return scope, source
    return None


def _ranked(scope: Scope, node: exp.Table, catalog: Catalog) -> list[tuple[float, Table]]:
    alias = node.alias_or_name.lower()
    sources = list(own_sources(scope, catalog))
    others = [source for source in sources if source.alias.lower() != alias]
    wanted = {column.name.lower() for column in own_columns(scope) if column.table.lower() == alias}
    if not others:
        wanted |= {column.name.lower() for column in own_columns(scope) if not column.table}
    else:
        wanted |= {
            column.name.lower()
            for column in own_columns(scope)
            if not column.table and not any(source.owned(column.name) for source in others)
        }
    outputs = {
        node.alias.lower() for node in getattr(scope.expression, "expressions", ()) if isinstance(node, exp.Alias)
    }
    wanted -= outputs
    own = set(words(node.name))
    present = {singular(plain(table.name)) for table in node.root().find_all(exp.Table)}
    ranked: list[tuple[float, Table]] = []
    for table in catalog.tables:
        exact = sum(table.column(name) is not None for name in wanted)
        close = sum(
            table.column(name) is None and any(near(name, column.name, table) >= 0.8 for column in table.columns)
            for name in wanted
        )
        theirs = set(words(table.name))
        alike = len(own & theirs) / max(1, len(own | theirs))
        linked = any(between(catalog, table.name, link.table or "") for link in others)
        share = (exact + 0.7 * close) / max(1, len(wanted))
        fit = 0.6 * share + 0.35 * max(alike, score(node.name, table.name) - 0.3) + 0.1 * linked
        fit -= 0.15 * (singular(plain(table.name)) in present)
        # Of equal ones the table with the least besides what is wanted.
        fit += 0.03 / len(table.columns)
        if own == theirs and not any((link.table or "").lower() == table.name.lower() for link in others):
            return [(1.2, table)]
        if share > 0 or alike > 0:
            ranked.append((fit, table))
    ranked.sort(key=lambda item: -item[0])
    return ranked
