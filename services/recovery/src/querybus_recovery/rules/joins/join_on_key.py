"""A join on columns that do not exist becomes a join on the foreign key that connects its two tables.

An assumption. Where no key connects them directly, the tables of the shortest way are joined between; of several as
short the question must say which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import Source, equal, free_alias, glance, identifier, own_sources, read, scopes, write
from querybus.text.similarity import words
from querybus_recovery.rules.candidate import Candidate
from querybus_recovery.rules.joins.links import Link, between, reporting, routes

RIVALS_MAX: Final = 4
_CODES = (FailureCode.COLUMN_NOT_FOUND, FailureCode.MISSING_ALIAS, FailureCode.JOIN_ERROR)


def join_on_key(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with every such condition replaced; nothing where none can be."""
    if failure.code not in _CODES:
        return ()
    if (
        not glance(draft.sql, draft.dialect, catalog, failure.facts.name).lacks_in_joins
        and failure.code is not FailureCode.JOIN_ERROR
    ):
        return ()
    candidates: list[Candidate] = []
    for place in range(RIVALS_MAX):
        candidate = _joined(draft, catalog, place)
        if candidate is None:
            break
        candidates.append(candidate)
        if not candidate.is_rival:
            break
    return tuple(candidates)


@dataclass(slots=True)
class _Ways:
    """Which of several ways as short is taken, and what distinguishes it from the others."""

    place: int
    count: int = 1
    brings: tuple[str, ...] = ()

    def set(self, count: int, brings: tuple[str, ...]) -> None:
        if count > 1:
            self.count, self.brings = count, brings


def _joined(draft: Draft, catalog: Catalog, place: int) -> Candidate | None:
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return None
    changed: list[tuple[str, str]] = []
    doubt = 0.0
    ways = _Ways(place)
    for scope in scopes(tree):
        sources = {source.alias.lower(): source for source in own_sources(scope, catalog)}
        for join in list(scope.expression.args.get("joins") or []):
            result = _repair(tree, scope, join, sources, catalog, draft, ways)
            if result is not None:
                changed.append(result[:2])
                doubt = max(doubt, result[2])
    if not changed or place >= ways.count:
        return None
    return Candidate(
        RuleName.JOIN_ON_KEY,
        write(tree, draft.dialect),
        keeps_meaning=False,
        before=", ".join(item[0] for item in changed),
        after=", ".join(item[1] for item in changed),
        doubt=doubt,
        brings=ways.brings,
        is_rival=ways.count > 1,
    )


def _repair(
    tree: exp.Expr,
    scope: Scope,
    join: exp.Join,
    sources: dict[str, Source],
    catalog: Catalog,
    draft: Draft,
    ways: _Ways,
) -> tuple[str, str, float] | None:
    joined = sources.get(join.this.alias_or_name.lower())
    condition = join.args.get("on")
    if joined is None or joined.table is None or not joined.columns or condition is None:
        return None
    for part in list(condition.flatten()) if isinstance(condition, exp.And) else [condition]:
        sides = (part.left, part.right) if isinstance(part, exp.EQ) else ()
        columns = [side for side in sides if isinstance(side, exp.Column)]
        if len(columns) != 2:
            continue
        lacking = [column for column in columns if _lacks(column, sources)]
        if not lacking:
            continue
        before = part.sql(dialect=draft.dialect.value)
        earlier = _earlier(scope, join, sources)
        meant = [column for column in columns if column.table.lower() != joined.alias.lower()]
        partners = [node for node in earlier if any(node.alias.lower() == one.table.lower() for one in meant)]
        for place, pool in enumerate((partners, [item for item in earlier if item not in partners])):
            found = _direct(scope, join, joined, pool, (lacking, columns), catalog)
            if found and (len(found) == 1 or ways.count == 1) and len(found) <= RIVALS_MAX:
                link, partner = found[min(ways.place, len(found) - 1)]
                ways.set(len(found), _own_words(link, [one for one, _ in found]))
                after = equal(joined.alias, link.columns, partner.alias, link.other_columns)
                part.replace(after)
                return before, after.sql(dialect=draft.dialect.value), 0.35 + link.doubt + 0.4 * place
        for partner in partners or earlier:
            known = _named(routes(catalog, partner.table or "", joined.table), columns)
            if not 0 < len(known) <= RIVALS_MAX or len(known[0]) < 2 or (len(known) > 1 and ways.count > 1):
                continue
            way = known[min(ways.place, len(known) - 1)]
            if any(item.other.lower() in _tables(sources) for item in way[:-1]):
                continue
            between_them = (item.other for item in way[:-1])
            ways.set(len(known), (*between_them, *(name for item in way for name in reporting(catalog, item))))
            joins: list[exp.Expr] = scope.expression.args["joins"]
            here = partner.alias
            for link in way[:-1]:
                alias = free_alias(tree, link.other)
                node = exp.Table(this=identifier(link.other))
                if alias != link.other:
                    node.set("alias", exp.TableAlias(this=identifier(alias)))
                added = exp.Join(this=node, on=equal(here, link.columns, alias, link.other_columns))
                added.parent, added.arg_key = scope.expression, "joins"
                joins.insert(joins.index(join), added)
                here = alias
            part.replace(equal(here, way[-1].columns, joined.alias, way[-1].other_columns))
            return before, ", ".join(item.other for item in way[:-1]), 0.5 + 0.3 * (len(way) - 1)
    return None


def _named(known: list[tuple[Link, ...]], written: list[exp.Column]) -> list[tuple[Link, ...]]:
    """Return of ways over the same tables those whose key is called as a written column; all where none is."""
    if len({tuple(link.other for link in way) for way in known}) != 1:
        return known
    names = {column.name.lower() for column in written}
    return [way for way in known if any(names & {name.lower() for name in link.columns} for link in way[1:])] or known


def _own_words(link: Link, rivals: list[Link]) -> tuple[str, ...]:
    """Return the words of a key's name that the others of the same tables do not have: `destroyed` of `destroyed_by_id`."""
    side = "other_columns" if link.multiplies else "columns"
    said = [{word for name in getattr(one, side) for word in words(name)} for one in rivals]
    own = {word for name in getattr(link, side) for word in words(name)}
    return tuple(sorted(own - set[str]().union(*(one for one in said if one != own)))) or tuple(sorted(own))


def _lacks(column: exp.Column, sources: dict[str, Source]) -> bool:
    source = sources.get(column.table.lower())
    if column.table:
        return source is None or (bool(source.columns) and source.owned(column.name) is None)
    return not any(source.owned(column.name) or not source.columns for source in sources.values())


def _earlier(scope: Scope, join: exp.Join, sources: dict[str, Source]) -> list[Source]:
    result: list[Source] = []
    start = scope.expression.args.get("from_")
    for node in (start, *(scope.expression.args.get("joins") or [])):
        if node is join:
            break
        if node is not None and (source := sources.get(node.this.alias_or_name.lower())) is not None:
            result.append(source)
    return [link for link in result if link.table]


def _direct(
    scope: Scope,
    join: exp.Join,
    joined: Source,
    pool: list[Source],
    written: tuple[list[exp.Column], list[exp.Column]],
    catalog: Catalog,
) -> list[tuple[Link, Source]]:
    """Return the keys between the joined table and those before it that what was written may mean.

    `written` are the columns that nobody has, and both of the comparison.
    """
    result = [(link, item) for item in pool for link in between(catalog, joined.table or "", item.table or "")]
    if len(result) > 1:
        by_own = len({link.columns for link, _ in result}) > 1
        referring = [((link.columns if by_own else link.other_columns)[0], (link, item)) for link, item in result]
        for columns in written:
            said = [words(column.name) for column in columns]
            # `origin_airport` and `origin_id` for `origin`, `mate` for `mate_id`: the key's own words, with what is usual.
            named = [pair for name, pair in referring if words(name) in said or words(name)[:-1] in said]
            named = named or [pair for name, pair in referring if any(set(words(name)) <= set(one) for one in said)]
            if named:
                result = named
                break
    if len(result) > 1:
        used = {
            column.name.lower()
            for other in (joined_ for joined_ in (scope.expression.args.get("joins") or []) if joined_ is not join)
            for column in other.find_all(exp.Column)
        }
        result = [(link, item) for link, item in result if not used & {name.lower() for name in link.other_columns}]
    return result


def _tables(sources: dict[str, Source]) -> set[str]:
    return {(source.table or "").lower() for source in sources.values()}
