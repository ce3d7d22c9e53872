"""A column that a block lacks is taken from where a path of keys leads, and what lies on the path is joined."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from querybus.core.catalog import Catalog
from querybus.sql.edit import (
    Site,
    add_join,
    equal,
    free_alias,
    identifier,
    keep_owners,
    own_columns,
    own_sources,
)
from querybus_recovery.rules.joins.links import Link


def take_along(tree: exp.Expr, site: Site, start: str, path: Sequence[Link], column: str, catalog: Catalog) -> None:
    """Change, in `tree`, what is written as the site's column to `column` of the path's last table.

    `start` is the alias of the source in the site's block that the path begins at; a table that the block has joined over
    the same key is taken as it is. `site.select` has to be known.
    """
    select = site.select
    assert select is not None  # noqa: S101 - a rule has no path without a block
    same = [
        item
        for item in own_columns(site.scope)
        if item.name.lower() == site.column.name.lower() and item.table.lower() == site.qualifier.lower()
    ]
    here = start
    for link in path:
        there = _there_already(select, site, here, link, catalog)
        if there is None:
            parent = catalog.table(link.other)
            added = tuple(item.name.lower() for item in parent.columns) if parent is not None else ()
            keep_owners(select, site.scope, catalog, added)
            there = free_alias(tree, link.other)
            add_join(select, link.other, there, equal(here, link.columns, there, link.other_columns))
        here = there
    for node in same:
        node.set("this", identifier(column, node.this))
        node.set("table", identifier(here))
        node.set("db", None)


def _there_already(select: exp.Select, site: Site, here: str, link: Link, catalog: Catalog) -> str | None:
    """Return the alias under which the block has joined the table over the same key."""
    same = [
        source.alias
        for source in own_sources(site.scope, catalog)
        if source.table is not None and source.table.lower() == link.other.lower()
    ]
    for join in select.args.get("joins") or []:
        condition = join.args.get("on")
        for part in condition.find_all(exp.EQ) if condition is not None else ():
            sides = [side for side in (part.left, part.right) if isinstance(side, exp.Column)]
            names = {side.name.lower() for side in sides}
            wanted = {link.columns[0].lower(), link.other_columns[0].lower()}
            tables = {side.table.lower() for side in sides}
            for alias in same:
                if names == wanted and alias.lower() in tables and here.lower() in tables:
                    return alias
    return None
