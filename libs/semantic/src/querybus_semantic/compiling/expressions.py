"""Definitions' expressions: parsed as one expression, names resolved to columns of datasets, fields expanded.

A resolved column is `Column(this=<column>, table=<dataset>)`; nothing else of the owner's text survives but the tree.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from querybus_semantic.layer.definitions import Dataset, Layer
from querybus_semantic.layer.refusal import Code, RefusedError

EXPRESSION_LENGTH_MAX: Final = 10_000
NODES_MAX: Final = 1_000
DEPTH_MAX: Final = 20

_FORBIDDEN: Final = (
    exp.Query,
    exp.Command,
    exp.DDL,
    exp.Insert,
    exp.Update,
    exp.Delete,
    exp.Merge,
    exp.Semicolon,
    exp.Into,
    exp.Parameter,
)
PLACEHOLDERS: Final = frozenset({"today", "user"})
"""What a definition may leave open until somebody asks: `:today` and `:user`."""


@lru_cache(maxsize=8192)
def _parsed(text: str, dialect: str) -> exp.Expr:
    if len(text) > EXPRESSION_LENGTH_MAX:
        raise RefusedError(Code.BAD_EXPRESSION, f"The expression is longer than {EXPRESSION_LENGTH_MAX:,} characters.")
    try:
        trees = sqlglot.parse(text, read=dialect or None)
    except (SqlglotError, RecursionError) as error:
        raise RefusedError(Code.BAD_EXPRESSION, f"The expression cannot be parsed: {text[:120]}") from error
    if len(trees) != 1 or trees[0] is None:
        raise RefusedError(Code.BAD_EXPRESSION, f"One expression is expected: {text[:120]}")
    tree = trees[0]
    if isinstance(tree, exp.Alias):
        raise RefusedError(Code.BAD_EXPRESSION, f"An expression has no alias: {text[:120]}")
    nodes = list(tree.walk())
    if len(nodes) > NODES_MAX or any(isinstance(node, _FORBIDDEN) for node in nodes):
        raise RefusedError(Code.BAD_EXPRESSION, f"Only a scalar or aggregate expression is allowed: {text[:120]}")
    for node in tree.find_all(exp.Placeholder):
        if node.name not in PLACEHOLDERS:
            raise RefusedError(Code.BAD_EXPRESSION, f"`:{node.name}` stands for nothing; :today and :user do.")
    return tree


def parse(text: str, dialect: str) -> exp.Expr:
    """Return the tree of one expression, a copy that may be changed. Anything else: RefusedError."""
    return _parsed(text.strip(), dialect).copy()


def parse_unlabelled(text: str) -> exp.Expr:
    """Return the tree of an expression whose file names no dialect, as `parse` does.

    What the neutral grammar cannot read is read by the first grammar that knows its quotes and operators and whose
    tree can be written neutrally.
    """
    if "{{" in text or "{%" in text:
        raise RefusedError(Code.BAD_EXPRESSION, f"Jinja is never run: {text[:120]}")
    try:
        return parse(text, "")
    except RefusedError as error:
        for dialect in _GRAMMARS:
            try:
                return parse(parse(text, dialect).sql(), "")
            except RefusedError:
                continue
        raise error from None


_GRAMMARS: Final = ("bigquery", "snowflake", "postgres", "tsql")


def aggregates(tree: exp.Expr) -> list[exp.Expr]:
    """Return the outermost aggregate calls of an expression."""
    if isinstance(tree, exp.AggFunc | exp.WithinGroup | exp.Filter):
        return [tree]
    return [found for child in tree.iter_expressions() for found in aggregates(child)]


def is_windowed(tree: exp.Expr) -> bool:
    """Whether an expression holds a window."""
    return tree.find(exp.Window) is not None


def replaced(tree: exp.Expr, node: exp.Expr, new: exp.Expr) -> exp.Expr:
    """Return the tree with one of its nodes replaced, which may be its root."""
    if node is tree:
        return new
    node.replace(new)
    return tree


def resolved(layer: Layer, tree: exp.Expr, dataset: str, seen: tuple[tuple[str, str], ...] = ()) -> exp.Expr:
    """Return the tree with every column resolved to a dataset's own column.

    `dataset` is where unqualified names belong ("" allows none). A column written way.dataset.field keeps its way: the
    relations to take, joined by two underscores. A field's name goes before a column's; a field that
    stands for an expression is expanded. Unknown datasets, unqualified names and circles: RefusedError.
    """
    for column in list(tree.find_all(exp.Column)):
        new = _column(layer, column, dataset, seen)
        if column.db:
            for inner in new.find_all(exp.Column):
                inner.set("db", column.args["db"].copy())
        tree = replaced(tree, column, new)
    return tree


def _column(layer: Layer, column: exp.Column, dataset: str, seen: tuple[tuple[str, str], ...]) -> exp.Expr:
    owner_name = column.table or dataset
    if isinstance(column.this, exp.Star):
        raise RefusedError(Code.BAD_EXPRESSION, "A star names no column.")
    if not owner_name:
        raise RefusedError(
            Code.UNKNOWN_FIELD, f"`{column.name}` says no dataset; write dataset.{column.name}.", column.name
        )
    owner = layer.dataset(owner_name)
    if owner is None:
        raise RefusedError(
            Code.UNKNOWN_FIELD,
            f"There is no dataset `{owner_name}`. There are: {', '.join(sorted(layer.datasets))}.",
            f"{owner_name}.{column.name}",
        )
    # A field that is made of the column of its own name means that column.
    is_own = bool(seen) and seen[-1] == (owner.name, column.name)
    if (owner.raw_names and not column.table) or is_own:
        return exp.column(column.this.copy(), table=owner.name)
    return field_tree(layer, owner, column.name, seen, quoted=bool(column.this.args.get("quoted")))


def field_tree(
    layer: Layer, owner: Dataset, name: str, seen: tuple[tuple[str, str], ...] = (), *, quoted: bool = False
) -> exp.Expr:
    """Return what a field of a dataset stands for; a name that is no field is taken for a column of its table."""
    field = owner.named(name)
    if field is None:
        return exp.column(exp.to_identifier(name, quoted=quoted or None), table=owner.name)
    place = (owner.name, field.name)
    tree = parse(field.expression, "")
    if isinstance(tree, exp.Column) and not tree.table and tree.name.lower() == field.name.lower():
        return exp.column(tree.this.copy(), table=owner.name)
    if owner.raw_names:
        seen = ()
    elif place in seen or len(seen) > DEPTH_MAX:
        raise RefusedError(
            Code.CYCLE, f"`{owner.name}.{field.name}` is defined by itself.", f"{owner.name}.{field.name}"
        )
    if isinstance(tree, exp.Column) and not tree.table and owner.named(tree.name) is None:
        return exp.column(tree.this.copy(), table=owner.name)
    inner = resolved(layer, tree, owner.name, (*seen, place))
    return inner if isinstance(inner, exp.Column | exp.Func | exp.Literal | exp.Paren) else exp.paren(inner, copy=False)


def datasets_of(tree: exp.Expr) -> tuple[str, ...]:
    """Return the datasets whose columns a resolved tree reads, in order of appearance."""
    return tuple(dict.fromkeys(column.table for column in tree.find_all(exp.Column) if column.table))
