"""The FROM clause of one branch: its home dataset and whatever hangs on it n:1, each path joined once under its own alias."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Tokenizer

from querybus.core.catalog import Dialect
from querybus.sql.parse import GRAMMARS
from querybus_semantic.compiling.dates import portable
from querybus_semantic.compiling.expressions import datasets_of, field_tree, resolved
from querybus_semantic.compiling.paths import Path, Step, bridged_path, cardinality, path_between, why_no_path
from querybus_semantic.layer.definitions import Cardinality, Dataset, Layer
from querybus_semantic.layer.refusal import Code, RefusedError

_UNTIL: Final = "querybus_until"
JOINS_MAX: Final = 20


def name_of(text: str) -> exp.Identifier:
    """Return a name, quoted where it is a word of SQL or no plain word."""
    return exp.Identifier(this=text, quoted=not _is_plain(text))


@lru_cache(maxsize=4096)
def _is_plain(text: str) -> bool:
    tokens = Tokenizer().tokenize(text)
    return len(tokens) == 1 and tokens[0].token_type is TokenType.VAR


def source_of(dataset: Dataset, alias: str, dialect: Dialect) -> exp.Expr:
    """Return a dataset's table or query under an alias. What is neither: RefusedError."""
    try:
        tree = _source(dataset.source.strip(), dialect, is_query=dataset.is_query).copy()
    except (SqlglotError, ValueError) as error:
        raise RefusedError(
            Code.BAD_EXPRESSION, f"The source of {dataset.name} is neither a table nor a query.", dataset.name
        ) from error
    tree.set("alias", exp.TableAlias(this=name_of(alias)))
    return tree


@lru_cache(maxsize=1024)
def _source(text: str, dialect: Dialect, *, is_query: bool) -> exp.Expr:
    if is_query:
        tree = sqlglot.parse_one(text, dialect=GRAMMARS[dialect])
        query = tree.unnest() if isinstance(tree, exp.Subquery) else tree
        if not isinstance(query, exp.Query):
            raise ValueError("no query")
        return query.args["from_"].this if _is_whole_table(query) else exp.Subquery(this=query)
    table = exp.to_table(text)
    for part in table.parts:
        part.set("quoted", part.args.get("quoted") or not _is_plain(part.name))
    return table


def _is_whole_table(query: exp.Expr) -> bool:
    """Whether a query is SELECT * FROM a table and nothing else."""
    if (
        not isinstance(query, exp.Select)
        or len(query.expressions) != 1
        or not isinstance(query.expressions[0], exp.Star)
    ):
        return False
    others = [name for name, value in query.args.items() if value and name not in {"expressions", "from_"}]
    source = query.args.get("from_")
    return (
        not others and source is not None and isinstance(source.this, exp.Table) and not source.this.args.get("joins")
    )


class Joins:
    """Grows as columns are asked for. `multiplied`: a bridge was crossed; `weight` is its share, if taught."""

    def __init__(
        self,
        layer: Layer,
        dialect: Dialect,
        home: str,
        within: tuple[str, ...] = (),
        prefix: str = "",
        *,
        untaught: bool = False,
    ) -> None:
        """`within` pins relations for the columns of the metric itself; `prefix` keeps aliases apart in nested queries.

        `untaught` lets bridges without a rule be crossed, each row once per group.
        """
        self._untaught = untaught
        self._layer = layer
        self._dialect = dialect
        self._home = home
        self._within = within
        self._prefix = prefix
        self._aliases: dict[tuple[str, ...], str] = {}
        self._taken: set[str] = set()
        self._joined: list[exp.Join] = []
        self.multiplied = False
        self.weight: exp.Expr | None = None
        self._beyond: set[tuple[str, ...]] = set()
        self.home_alias = self._alias(home)
        self._aliases[()] = self.home_alias

    def _alias(self, dataset: str) -> str:
        number, alias = 1, self._prefix + dataset.lower()
        while alias in self._taken:
            number += 1
            alias = f"{self._prefix}{dataset.lower()}_{number}"
        self._taken.add(alias)
        return alias

    def _dataset(self, name: str) -> Dataset:
        dataset = self._layer.dataset(name)
        if dataset is None:
            raise RefusedError(Code.UNKNOWN_FIELD, f"There is no dataset `{name}`.", name)
        return dataset

    def select(self) -> exp.Select:
        """Return SELECT without columns, FROM the home and all that was joined."""
        query = exp.Select().from_(source_of(self._dataset(self._home), self.home_alias, self._dialect), copy=False)
        for join in self._joined:
            query.append("joins", join.copy())
        return query

    def column(self, dataset: str, field: str, via: tuple[str, ...] = ()) -> exp.Expr:
        """Return a field's expression over aliases; joins what it needs. No safe way and no bridge: RefusedError."""
        owner = self._in_role(self._dataset(dataset), field, via)
        return self._placed(field_tree(self._layer, owner, field), via)

    def _in_role(self, owner: Dataset, field: str, via: tuple[str, ...]) -> Dataset:
        """Return the dataset, or the one that stands for the same table in the role that `via` names."""
        if owner.name == self._home or not via or path_between(self._layer, self._home, owner.name, via) is not None:
            return owner
        roles = [
            other
            for other in self._layer.datasets.values()
            if other.source == owner.source
            and other.named(field) is not None
            and path_between(self._layer, self._home, other.name, via) is not None
        ]
        return roles[0] if len(roles) == 1 else owner

    def at(self, path: Path, field: str) -> exp.Expr:
        """Return a field of the dataset that a path ends at, over that very path."""
        dataset = self._dataset(path[-1].target if path else self._home)
        return self._own(dataset, field, self._join(path))

    def condition(self, tree: exp.Expr) -> exp.Expr:
        """Return a condition over dataset.field with its columns resolved and joined."""
        return self._placed(resolved(self._layer, tree, self._home), ())

    def call(self, tree: exp.Expr) -> exp.Expr:
        """Return a resolved aggregate over aliases: its columns may hang n:1 on the home, never across a bridge."""
        result = portable(tree.copy(), self._dialect, self._layer.calendar)
        for dataset in datasets_of(tree):
            path = path_between(self._layer, self._home, dataset, self._within if dataset != self._home else ())
            if path is None:
                path = path_between(self._layer, self._home, dataset, ())
            if path is None:
                raise why_no_path(self._layer, self._home, dataset)
            self._renamed(result, dataset, self._join(path))
        return result

    def _placed(self, tree: exp.Expr, via: tuple[str, ...]) -> exp.Expr:
        result = portable(tree.copy(), self._dialect, self._layer.calendar)
        for dataset, way in dict.fromkeys(
            (column.table, column.db) for column in tree.find_all(exp.Column) if column.table
        ):
            taken = tuple(way.split("__")) if way else via
            # What stands in the home itself needs no way; a path back to it is another row only if a role is asked for.
            path = () if dataset == self._home and not via else path_between(self._layer, self._home, dataset, taken)
            if path is None:
                path = bridged_path(self._layer, self._home, dataset, taken, untaught=self._untaught)
                if path is None:
                    raise why_no_path(self._layer, self._home, dataset, taken)
            self._renamed(result, dataset, self._join(path), way)
        return result

    @staticmethod
    def _renamed(tree: exp.Expr, dataset: str, alias: str, way: str = "") -> None:
        for column in tree.find_all(exp.Column):
            if column.table == dataset and column.db == way:
                column.set("table", name_of(alias))
                column.set("db", None)

    def _join(self, path: Path) -> str:
        for length in range(1, len(path) + 1):
            key = tuple(step.relation.name for step in path[:length])
            if key in self._aliases:
                continue
            if len(self._joined) == JOINS_MAX:
                raise RefusedError(Code.TOO_MUCH, f"More than {JOINS_MAX} joins are needed.")
            before = self._aliases[key[:-1]]
            alias = self._alias(path[length - 1].target)
            self._aliases[key] = alias
            join = self._step(path[length - 1], before, alias)
            if self.multiplied and path[length - 1].reverse:
                self._beyond.add(key)
            # A row that the bridge does not know belongs to no group; a missing value on an ordinary path is a group.
            if any(key[:end] in self._beyond for end in range(1, length + 1)):
                join.set("side", "INNER")
            self._joined.append(join)
        return self._aliases[tuple(step.relation.name for step in path)]

    def _step(self, step: Step, before: str, alias: str) -> exp.Join:
        relation = step.relation
        many, one = self._dataset(relation.many), self._dataset(relation.one)
        many_alias, one_alias = (alias, before) if step.reverse else (before, alias)
        if step.reverse and cardinality(self._layer, relation) is not Cardinality.ONE_TO_ONE:
            self.multiplied = True
            if relation.bridge is not None and relation.bridge.rule == "weighted":
                self.weight = self._own(many, relation.bridge.weight, many_alias)
        pairs = list(zip(relation.many_columns, relation.one_columns, strict=True))
        conditions: list[exp.Expr] = []
        source = source_of(self._dataset(step.target), alias, self._dialect)
        if relation.range is not None:
            at, start, end = relation.range.at, relation.range.valid_from, relation.range.valid_to
            pairs = [pair for pair in pairs if pair != (at, start)]
            conditions += _held(
                self._own(many, at, many_alias) if at else self._counted_at(one),
                self._own(one, start, one_alias),
                self._own(one, end, one_alias),
            )
        if relation.asof is not None:
            left, right = relation.asof.left, relation.asof.right
            pairs = [pair for pair in pairs if pair != (left, right)]
            source = self._with_end(one, [pair[1] for pair in pairs], right, alias)
            conditions += _held(
                self._own(many, left, many_alias),
                self._own(one, right, one_alias),
                exp.column(_UNTIL, table=name_of(one_alias)),
            )
        equal = [
            exp.EQ(this=self._own(many, left, many_alias), expression=self._own(one, right, one_alias))
            for left, right in pairs
        ]
        return exp.Join(this=source, side="LEFT", on=exp.and_(*equal, *conditions))

    def _own(self, dataset: Dataset, field: str, alias: str) -> exp.Expr:
        tree = field_tree(self._layer, dataset, field)
        self._renamed(tree, dataset.name, alias)
        return tree

    def _counted_at(self, versions: Dataset) -> exp.Expr:
        """Return the date of the rows that are counted, by which a row of these versions is chosen."""
        home = self._dataset(self._home)
        if not home.time:
            raise RefusedError(
                Code.UNKNOWN_FIELD,
                f"Rows of {versions.name} hold for a while, and {home.name} has no date to choose one by.",
                versions.name,
            )
        owner, _, field = home.time.rpartition(".")
        return self.column(owner or home.name, field)

    def own(self, field: str) -> exp.Expr:
        """Return a field of the home itself."""
        return self._own(self._dataset(self._home), field, self.home_alias)

    def _with_end(self, dataset: Dataset, equal: list[str], right: str, alias: str) -> exp.Expr:
        """Return the dataset with the moment at which its next row takes over: an as-of join becomes a range."""
        inner = "q"
        end = exp.Window(
            this=exp.Lead(this=self._own(dataset, right, inner)),
            partition_by=[self._own(dataset, name, inner) for name in equal],
            order=exp.Order(expressions=[exp.Ordered(this=self._own(dataset, right, inner))]),
        )
        star = exp.Column(this=exp.Star(), table=exp.to_identifier(inner))
        query = exp.select(star, exp.alias_(end, _UNTIL)).from_(source_of(dataset, inner, self._dialect), copy=False)
        return exp.Subquery(this=query, alias=exp.TableAlias(this=name_of(alias)))


def _held(at: exp.Expr, start: exp.Expr, end: exp.Expr) -> list[exp.Expr]:
    """Return the conditions of [start, end) holding `at`; no end = still valid."""
    is_open = exp.Is(this=end.copy(), expression=exp.Null())
    return [
        exp.GTE(this=at.copy(), expression=start),
        exp.paren(exp.or_(is_open, exp.LT(this=at.copy(), expression=end))),
    ]
