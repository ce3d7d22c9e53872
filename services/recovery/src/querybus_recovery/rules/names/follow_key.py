"""A column that is called after a key of its table is taken from what the key refers to.

`genre` of a table with `genre_id`: the name of the genre; `origin_city` of one with `origin`: the city of what it refers
to; `captain_name`: the name. Only where a name can stand: in outputs, groups, orders, and beside a text. An assumption.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import (
    Site,
    Source,
    glance,
    is_compared,
    own_sources,
    read,
    unresolved,
    write,
)
from querybus.text.similarity import words
from querybus_recovery.rules.candidate import Candidate
from querybus_recovery.rules.joins.along_keys import take_along
from querybus_recovery.rules.joins.links import Link, between, owners_of, paths
from querybus_recovery.rules.names.label import holder_of, label_of

_CODES: Final = (FailureCode.COLUMN_NOT_FOUND, FailureCode.MISSING_ALIAS)
_KEY_WORDS: Final = frozenset({"id", "code", "key", "no", "number", "fk", "ref"})
_LABEL_WORDS: Final = ((), ("name",), ("title",))
LABEL_DOUBT: Final = 0.3
COLUMN_DOUBT: Final = 0.35
HOLDS_BONUS: Final = 0.2
FARTHER_DOUBT: Final = 0.25


@dataclass(frozen=True, slots=True)
class _Way:
    """From a source over a key, or over two, to a column of what is referred to."""

    doubt: float
    source: Source
    path: tuple[Link, ...]
    column: str


def follow_key(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with the first such column taken from there, joined where it is not yet."""
    if failure.code not in _CODES or not glance(draft.sql, draft.dialect, catalog, failure.facts.name).lacks:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    for site in unresolved(tree, catalog, failure.facts.name):
        if site.select is None or not _may_be_name(site.column):
            continue
        way = min(_ways(site, catalog), key=lambda way: way.doubt, default=None)
        if way is not None:
            return (_joined(tree, site, way, draft, catalog),)
    return ()


def _may_be_name(column: exp.Column) -> bool:
    """Return whether a text can stand there: no condition of a join, no sum, no comparison but with a text.

    What a sub-query gives to compare with is rather the key.
    """
    if isinstance(column.parent, exp.Select) and is_compared(column.parent):
        return False
    if isinstance(column.find_ancestor(exp.Join, exp.Select), exp.Join):
        return False
    if isinstance(column.parent, exp.AggFunc | exp.Distinct):
        return isinstance(column.find_ancestor(exp.AggFunc, exp.Select), exp.Count)
    around = column.parent
    if isinstance(around, exp.Like):
        return True
    if isinstance(around, exp.In):
        return bool(around.expressions) and all(_is_text(item) for item in around.expressions)
    if isinstance(around, exp.Binary):
        return _is_text(around.right if around.left is column else around.left)
    return True


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_string and not node.name.replace(".", "", 1).isdigit()


def _ways(site: Site, catalog: Catalog) -> list[_Way]:
    written = words(site.column.name)
    ways: list[_Way] = []
    for source in own_sources(site.scope, catalog):
        if source.table is None or (site.qualifier and source.alias.lower() != site.qualifier.lower()):
            continue
        for path in paths(catalog, source.table):
            link, parent = path[-1], catalog.table(path[-1].other)
            if len(link.columns) != 1 or parent is None or (len(path) > 1 and owners_of(catalog, site.column.name)):
                continue
            for rest in _rests(written, link, catalog):
                found = _column(parent, rest, site.column, link)
                if found is not None:
                    doubt = found[1] + sum(step.doubt for step in path) + FARTHER_DOUBT * (len(path) - 1)
                    ways.append(_Way(doubt, source, path, found[0]))
    return ways


def _rests(written: tuple[str, ...], link: Link, catalog: Catalog) -> list[tuple[str, ...]]:
    """Return what a name says besides the key's own name, or besides the table's that one key alone refers to."""
    called = words(link.columns[0])
    names = {called[:-1] if _KEY_WORDS.intersection(called[-1:]) else called}
    if len(between(catalog, link.table, link.other)) == 1:
        names.add(words(link.other))
    return [written[len(name) :] for name in names if name and written[: len(name)] == name]


def _column(parent: Table, rest: tuple[str, ...], column: exp.Column, link: Link) -> tuple[str, float] | None:
    if rest and rest[-1] in _KEY_WORDS:
        return None  # the key itself
    if rest in _LABEL_WORDS:
        texts = [item.name for item in column.parent.find_all(exp.Literal)] if isinstance(column.parent, exp.EQ) else []
        held = holder_of(parent, texts[0]) if texts else None
        label = held or label_of(parent, " ".join(words(link.columns[0])[:-1]))
        return (label.name, LABEL_DOUBT - (HOLDS_BONUS if held is not None else 0.0)) if label is not None else None
    named = [item for item in parent.columns if words(item.name) == rest]
    own = words(parent.name)
    named = named or [item for item in parent.columns if words(item.name) == (*own, *rest)]
    return (named[0].name, COLUMN_DOUBT) if len(named) == 1 else None


def _joined(tree: exp.Expr, site: Site, way: _Way, draft: Draft, catalog: Catalog) -> Candidate:
    before = site.column.sql(dialect=draft.dialect.value)
    take_along(tree, site, way.source.alias, way.path, way.column, catalog)
    return Candidate(
        RuleName.FOLLOW_KEY,
        write(tree, draft.dialect),
        keeps_meaning=False,
        before=before,
        after=f"{way.path[-1].other}.{way.column}",
        doubt=way.doubt,
    )
