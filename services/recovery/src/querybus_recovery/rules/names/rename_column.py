"""A column that nobody owns takes the name of the one column in scope that is a spelling or prefix variant of it.

An assumption, and a weak one: on unseen answers such a rename ran in 7 cases and was right in 1. It is weaker still
where another table owns the name as it was written.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import (
    Site,
    Source,
    glance,
    identifier,
    is_compared,
    own_columns,
    own_sources,
    read,
    unresolved,
    write,
)
from querybus.text.similarity import MARGIN_MIN, SCORE_MIN, score, variant_score, words
from querybus_recovery.rules.candidate import Candidate
from querybus_recovery.rules.joins.links import is_unique, owners_of
from querybus_recovery.rules.names.requalify import stands_twice
from querybus_recovery.rules.names.split_name import parts_of

_CODES: Final = (FailureCode.COLUMN_NOT_FOUND, FailureCode.MISSING_ALIAS)
NAME_EXISTS_DOUBT: Final = 0.8
VACUOUS_DOUBT: Final = 0.6
NAME_EXISTS_QUALIFIED_DOUBT: Final = 0.4
WEAK_DOUBT: Final = 0.3
IN_JOIN_DOUBT: Final = 0.4
KEY_FOR_NAME_DOUBT: Final = 0.4
KEY_FOR_OTHER_DOUBT: Final = 2.0
SAME_NAME_MIN: Final = 0.96
OWN_NAME_MIN: Final = 0.9
"""So near is a name that only lacks the name of its own table."""
OWN_NAME_DOUBT: Final = 0.2
TIED_MAX: Final = 4


def rename_column(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with the unknown columns renamed: without those of join conditions, and with them."""
    if failure.code not in _CODES:
        return ()
    if not glance(draft.sql, draft.dialect, catalog, failure.facts.name).lacks:
        return ()
    candidates: list[Candidate] = []
    for in_joins in (
        (False, True) if glance(draft.sql, draft.dialect, catalog, failure.facts.name).lacks_in_joins else (True,)
    ):
        for place in range(TIED_MAX):
            candidate = _renamed(draft, failure, catalog, in_joins=in_joins, place=place)
            if candidate is None:
                break
            candidates.append(candidate)
            if not candidate.is_rival:
                break
    return tuple(candidates)


def _renamed(draft: Draft, failure: Failure, catalog: Catalog, *, in_joins: bool, place: int) -> Candidate | None:
    """Return the draft renamed; `place` says which is taken of several columns that are as near."""
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return None
    changed: dict[str, str] = {}
    chosen: dict[str, str] = {}
    doubt = 0.0
    for site in unresolved(tree, catalog, failure.facts.name):
        source = site.source(site.qualifier) if site.qualifier else None
        if site.qualifier and source is None:
            continue
        name = site.column.name
        own = (source,) if source else tuple(own_sources(site.scope, catalog))
        known = closest_variant(name, own)
        # An outer block's column is meant only where the block itself has none that is near.
        sources = own if known is not None else (source,) if source else site.sources
        known = known or closest_variant(name, sources)
        if known is None:
            tied = _tied(site, sources)
            if len(tied) == 1 or (tied and chosen.get(name.lower()) in [item for item, _ in tied]):
                known = next(item for item in tied if len(tied) == 1 or item[0] == chosen[name.lower()])
            elif tied and not chosen:
                if place >= len(tied):
                    return None
                known = tied[place]
                chosen[name.lower()] = known[0]
            else:
                continue
        column, close = known
        if column.lower() == name.lower():
            continue
        joins = isinstance(site.column.find_ancestor(exp.Join, exp.Select), exp.Join) and close < SAME_NAME_MIN
        is_its_key = words(column) == (*words(name), "id")
        if joins and (not in_joins or (score(name, column) < SCORE_MIN and not is_its_key)):
            continue
        if any(column == other and name.lower() != written.lower() for written, other in changed.items()):
            return None  # two names are two things
        site.column.set("this", identifier(column, site.column.this))
        changed[name] = column
        elsewhere = _elsewhere(name, column, close, source, catalog)
        weak = WEAK_DOUBT * (2 if _becomes_key(name, column) else 1) if close < SCORE_MIN else 0.0
        is_vacuous = stands_twice(site, column) or (close < SAME_NAME_MIN and _is_vacuous(site, column))
        vacuous = VACUOUS_DOUBT if is_vacuous else 0.0
        against = weak + elsewhere + vacuous + key_for_name(site, name, column)
        # A bare name where a person of the block has two.
        against += KEY_FOR_NAME_DOUBT if source is None and parts_of(site, catalog) is not None else 0.0
        doubt = max(doubt, 1.25 - close + against + (IN_JOIN_DOUBT if joins else 0.0))
    if not changed:
        return None
    return Candidate(
        RuleName.RENAME_COLUMN,
        write(tree, draft.dialect),
        keeps_meaning=False,
        before=", ".join(changed),
        after=", ".join(dict.fromkeys(changed.values())),
        doubt=doubt,
        brings=tuple(chosen.values()),
        is_rival=bool(chosen),
    )


def _tied(site: Site, sources: tuple[Source, ...]) -> list[tuple[str, float]]:
    """Return the columns that are as near as the nearest, without those that the block names besides."""
    used = {column.name.lower() for column in own_columns(site.scope)}
    ranked = [
        (near(site.column.name, column, source.known), column)
        for source in sources
        for column in source.columns
        if column.lower() not in used
    ]
    best = max((value for value, _ in ranked), default=0.0)
    if best < SCORE_MIN:
        return []
    tied = {column: value for value, column in ranked if best - value < MARGIN_MIN}
    return list(tied.items()) if len(tied) <= TIED_MAX else []


def _becomes_key(name: str, column: str) -> bool:
    """Return whether what is called like no key would become one."""
    return words(name)[-1:] != words(column)[-1:] and words(column)[-1:] in (("id",), ("code",), ("key",))


def key_for_name(site: Site, name: str, column: str) -> float:
    """Return how much it speaks against a rename that it puts a key where a name, a text or a date is asked for."""
    if not _becomes_key(name, column) or words(column)[-1:] == ("code",):
        return 0.0
    beside = site.column.parent.expression if isinstance(site.column.parent, exp.EQ | exp.NEQ | exp.Like) else None
    is_text = isinstance(beside, exp.Literal) and beside.is_string and not beside.name.isdigit()
    if is_text or words(name)[-1:] in (("date",), ("time",), ("year",)):
        return KEY_FOR_OTHER_DOUBT
    is_shown = isinstance(site.column.parent, exp.Select | exp.Group | exp.Ordered) and not is_compared(site.select)
    return KEY_FOR_NAME_DOUBT if is_shown else 0.0


def _is_vacuous(site: Site, column: str) -> bool:
    """Return whether the renamed reference would say nothing.

    Rows counted in groups of a table's own key, of which there is one each, or the output of a column that the block
    fixes to one value.
    """
    select = site.select
    if select is None:
        return False
    if site.column.find_ancestor(exp.Group, exp.Select) is select.args.get("group"):
        owns = any(
            (table := source.known) is not None and is_unique(table, (column,))
            for source in site.sources
            if source.table and source.owned(column)
        )
        return owns and len(list(site.sources)) == 1 and select.find(exp.Count) is not None
    if site.column.find_ancestor(exp.Where, exp.Select) is not select:
        return False
    where = select.args.get("where")
    return where is not None and any(
        isinstance(node.left, exp.Column) and node.left.name.lower() == column.lower() and node.right.is_string
        for node in where.find_all(exp.EQ)
    )


def _elsewhere(name: str, column: str, close: float, source: Source | None, catalog: Catalog) -> float:
    """Return how much it speaks against a rename that another table owns the name as it was written."""
    if close >= SAME_NAME_MIN or not owners_of(catalog, name):
        return 0.0
    if source is None and close >= OWN_NAME_MIN:
        return OWN_NAME_DOUBT
    if source is None:
        return NAME_EXISTS_DOUBT
    # The writer said which table: its own key is meant rather than another table's.
    table = source.known
    return 0.0 if table is not None and table.primary_key == (column,) else NAME_EXISTS_QUALIFIED_DOUBT


def closest_variant(name: str, sources: tuple[Source, ...]) -> tuple[str, float] | None:
    """Return the one column of these sources that is near enough and clearly nearest, with its score."""
    ranked: list[tuple[float, str]] = []
    for source in sources:
        table = source.known
        ranked += [(near(name, column, table), column) for column in source.columns]
    ranked.sort(reverse=True)
    if not ranked or ranked[0][0] <= 0:
        return None
    best, column = ranked[0]
    rival = next((value for value, other in ranked[1:] if other.lower() != column.lower()), 0.0)
    return (column, best) if best - rival >= MARGIN_MIN or best >= SAME_NAME_MIN > rival else None


def near(name: str, column: str, table: Table | None) -> float:
    """Return how close a name is to a column of a table."""
    if table is None:
        value = score(name, column)
        return value if value >= 0.8 else 0.0
    key = table.primary_key[0] if len(table.primary_key) == 1 else None
    return variant_score(name, column, table.name, key)
