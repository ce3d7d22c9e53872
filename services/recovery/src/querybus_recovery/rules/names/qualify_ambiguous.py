"""A column that several joined tables own is taken from the first, where the joins make all of them equal.

Inner joins on that very column only: under an outer join the sides differ, and then nothing is chosen.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import glance, identifier, own_sources, read, scopes, sites, write
from querybus_recovery.rules.candidate import Candidate

CODES: Final = (FailureCode.AMBIGUOUS_COLUMN, FailureCode.COLUMN_NOT_FOUND)
"""A name that two derived tables give is sometimes reported as unknown."""


def qualify_ambiguous(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with the ambiguous column qualified everywhere, or nothing if one place stays doubtful."""
    name = failure.facts.name
    if failure.code not in CODES or not name:
        return ()
    if not glance(draft.sql, draft.dialect, catalog, failure.facts.name).shares:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    chosen: set[str] = set()
    for scope in scopes(tree):
        chosen |= _side_by_side(scope, name, catalog)
    # What else is called so is then chosen by the join that reads.
    for site in list(sites(tree, catalog, name)) if not chosen else ():
        if site.qualifier:
            continue
        owners = [source.alias for source in own_sources(site.scope, catalog) if source.owned(name)]
        if len(owners) < 2:
            continue
        if not _are_equal(site.scope, name, owners):
            return ()
        site.column.set("table", identifier(owners[0]))
        chosen.add(owners[0])
    if not chosen:
        return ()
    after = ", ".join(f"{item}.{name}" for item in sorted(chosen))
    return (
        Candidate(
            RuleName.QUALIFY_AMBIGUOUS,
            write(tree, draft.dialect),
            keeps_meaning=True,
            before=name,
            after=after,
            doubt=0.05,
        ),
    )


def _side_by_side(scope: Scope, name: str, catalog: Catalog) -> set[str]:
    """Qualify `JOIN b ON x = x`: one is the joined table's, the other of the one table before it that has it."""
    owners = [source.alias for source in own_sources(scope, catalog) if source.owned(name)]
    chosen: set[str] = set()
    for join in scope.expression.args.get("joins") or []:
        joined = join.alias_or_name
        others = owners[: owners.index(joined)] if joined in owners else []
        for equal in join.args["on"].find_all(exp.EQ) if len(others) == 1 and join.args.get("on") else ():
            sides = (equal.left, equal.right)
            if all(
                isinstance(side, exp.Column) and not side.table and side.name.lower() == name.lower() for side in sides
            ):
                for side, alias in zip(sides, (others[0], joined), strict=True):
                    side.set("table", identifier(alias))
                chosen |= {others[0], joined}
    return chosen


def _are_equal(scope: Scope, name: str, owners: list[str]) -> bool:
    """Return whether inner equal joins connect all owners by this column."""
    groups: list[set[str]] = [{owner.lower()} for owner in owners]
    joins: list[exp.Join] = scope.expression.args.get("joins") or []
    for join in joins:
        if join.side or join.kind not in ("", "INNER"):
            return False
        condition = join.args.get("on")
        for part in condition.flatten() if isinstance(condition, exp.And) else [condition]:
            equal = part.unnest() if isinstance(part, exp.Expr) else part
            if not isinstance(equal, exp.EQ):
                continue
            left, right = equal.left, equal.right
            if not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
                continue
            if left.name.lower() == right.name.lower() == name.lower():
                _connect(groups, left.table.lower(), right.table.lower())
    return len(groups) == 1


def _connect(groups: list[set[str]], one: str, other: str) -> None:
    touched = [group for group in groups if one in group or other in group]
    if len(touched) < 2:
        return
    for item in touched:
        groups.remove(item)
    groups.append(set().union(*touched))
