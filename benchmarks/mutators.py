"""Breaks reference statements on purpose, seeded, one class of error at a time; knows nothing of the rules of repair.

A mutant is kept only if the engine refuses it and the reference runs: then the reference's rows are what to come back
to. Classes are what models do: mistyped names, columns behind the wrong alias, a join left out, functions and forms of
another dialect, a keyword as a name, a parenthesis lost, a column that two tables have left unqualified.
"""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

Mutate = Callable[[exp.Expr, str, random.Random, "Names"], str | None]

KEYWORDS = ("order", "group", "from", "table", "select", "where", "values", "join")


class Names:
    """The tables and columns of one database file, in lower case."""

    def __init__(self, opened: sqlite3.Connection) -> None:
        self.columns: dict[str, set[str]] = {}
        for (table,) in opened.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"):
            rows = opened.execute(f'PRAGMA table_info("{table}")')
            self.columns[table.lower()] = {row[1].lower() for row in rows}


def _slip(name: str, chance: random.Random) -> str | None:
    """One slip of the finger: a letter left out, doubled, swapped with its neighbour or replaced."""
    if len(name) < 4:
        return None
    place = chance.randrange(1, len(name) - 1)
    kind = chance.randrange(4)
    if kind == 0:
        return name[:place] + name[place + 1 :]
    if kind == 1:
        return name[:place] + name[place] + name[place:]
    if kind == 2 and name[place] != name[place + 1]:
        return name[:place] + name[place + 1] + name[place] + name[place + 2 :]
    return name[:place] + chance.choice("aeiorstn") + name[place + 1 :]


def typo_in_column(tree: exp.Expr, sql: str, chance: random.Random, names: Names) -> str | None:
    del sql, names
    columns = [
        column
        for column in tree.find_all(exp.Column)
        if isinstance(column.this, exp.Identifier) and not column.this.args.get("quoted")
    ]
    if not columns:
        return None
    name = chance.choice(columns).name
    slipped = _slip(name, chance)
    if slipped is None or slipped == name:
        return None
    for column in columns:
        if column.name.lower() == name.lower():
            column.set("this", exp.to_identifier(slipped))
    return tree.sql(dialect="sqlite")


def typo_in_table(tree: exp.Expr, sql: str, chance: random.Random, names: Names) -> str | None:
    del sql, names
    tables = list(tree.find_all(exp.Table))
    if not tables:
        return None
    name = chance.choice(tables).name
    slipped = _slip(name, chance)
    if slipped is None or slipped == name:
        return None
    for table in tables:
        if table.name.lower() == name.lower():
            table.set("this", exp.to_identifier(slipped))
    return tree.sql(dialect="sqlite")


def spelling_variant(tree: exp.Expr, sql: str, chance: random.Random, names: Names) -> str | None:
    """Words joined or parted otherwise, or the plural: first_name as FirstName, orders as order."""
    del sql, names
    columns = [
        column
        for column in tree.find_all(exp.Column)
        if isinstance(column.this, exp.Identifier) and not column.this.args.get("quoted")
    ]
    if not columns:
        return None
    name = chance.choice(columns).name
    if "_" in name:
        varied = "".join(part.capitalize() for part in name.split("_"))
    elif re.search(r"[a-z][A-Z]", name):
        varied = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    else:
        varied = name[:-1] if name.lower().endswith("s") else f"{name}s"
    for column in columns:
        if column.name.lower() == name.lower():
            column.set("this", exp.to_identifier(varied))
    return tree.sql(dialect="sqlite")


def wrong_owner(tree: exp.Expr, sql: str, chance: random.Random, names: Names) -> str | None:
    """A column behind the alias of another table of its block that does not have it."""
    del sql
    pairs: list[tuple[exp.Column, str]] = []
    for select in tree.find_all(exp.Select):
        tables = [table for table in select.find_all(exp.Table) if table.find_ancestor(exp.Select) is select]
        for column in select.find_all(exp.Column):
            if not column.table or column.find_ancestor(exp.Select, exp.Join) is not select:
                continue
            pairs += [
                (column, table.alias_or_name)
                for table in tables
                if table.alias_or_name.lower() != column.table.lower()
                and column.name.lower() not in names.columns.get(table.name.lower(), {column.name.lower()})
            ]
    if not pairs:
        return None
    column, alias = chance.choice(pairs)
    column.set("table", exp.to_identifier(alias))
    return tree.sql(dialect="sqlite")


def dropped_join(tree: exp.Expr, sql: str, chance: random.Random, names: Names) -> str | None:
    """A join left out whose alias is still used outside of it."""
    del sql, names
    joins = [
        join
        for join in tree.find_all(exp.Join)
        if isinstance(join.this, exp.Table) and isinstance(join.parent, exp.Select)
    ]
    chance.shuffle(joins)
    for join in joins:
        alias, select = join.this.alias_or_name.lower(), join.parent
        used = [
            column
            for column in (select.find_all(exp.Column) if select else ())
            if column.table.lower() == alias and column.find_ancestor(exp.Join) is not join
        ]
        others = [node for node in used if node.find_ancestor(exp.Join) is not None]
        if used and not others:
            join.pop()
            return tree.sql(dialect="sqlite")
    return None


def wrong_condition(tree: exp.Expr, sql: str, chance: random.Random, names: Names) -> str | None:
    """A join on a column that one of its two tables does not have: the other side's name on both sides."""
    del sql
    pairs: list[tuple[exp.Column, str]] = []
    for join in tree.find_all(exp.Join):
        condition = join.args.get("on")
        if (
            not isinstance(condition, exp.EQ)
            or not isinstance(join.this, exp.Table)
            or not isinstance(join.parent, exp.Select)
        ):
            continue
        tables = {table.alias_or_name.lower(): table.name.lower() for table in join.parent.find_all(exp.Table)}
        for one, other in ((condition.left, condition.right), (condition.right, condition.left)):
            if isinstance(one, exp.Column) and isinstance(other, exp.Column) and one.name.lower() != other.name.lower():
                table = tables.get(one.table.lower(), "")
                if other.name.lower() not in names.columns.get(table, {other.name.lower()}):
                    pairs.append((one, other.name))
    if not pairs:
        return None
    column, name = chance.choice(pairs)
    column.set("this", exp.to_identifier(name))
    return tree.sql(dialect="sqlite")


def wrong_function(tree: exp.Expr, sql: str, chance: random.Random, names: Names) -> str | None:
    """A call of another dialect around an output or a condition, which changes no value."""
    del sql, names
    select = tree if isinstance(tree, exp.Select) else tree.find(exp.Select)
    if select is None:
        return None
    columns = [
        expression
        for expression in select.expressions
        if isinstance(expression, exp.Column) and isinstance(expression.this, exp.Identifier)
    ]
    calls = ["ISNULL({0}, {0})", "MULTIPLY({0}, 1)", "ADD({0}, 0)", "SUBTRACT({0}, 0)"]
    equals = [node for node in select.find_all(exp.EQ) if isinstance(node.right, exp.Literal) and node.right.is_string]
    if equals and (not columns or chance.random() < 0.5):
        equal = chance.choice(equals)
        text = equal.left.sql(dialect="sqlite")
        made = chance.choice([f"CONCAT({text}, '')", f"LEFT({text}, 1000)", f"UCASE({text})"])
        right = equal.right.name.replace("'", "''")
        value = f"'{right.upper() if made.startswith('UCASE') else right}'"
        if made.startswith("UCASE"):
            return None
        before = equal.sql(dialect="sqlite")
        return tree.sql(dialect="sqlite").replace(before, f"{made} = {value}", 1)
    if not columns:
        return None
    column = chance.choice(columns)
    before = column.sql(dialect="sqlite")
    call = chance.choice(calls[:1]).format(before)
    text = tree.sql(dialect="sqlite")
    return text.replace(f"SELECT {before}", f"SELECT {call}", 1) if f"SELECT {before}" in text else None


def unquoted_keyword(tree: exp.Expr, sql: str, chance: random.Random, names: Names) -> str | None:
    """An alias that is a keyword, unquoted."""
    del sql, names
    tables = [table for table in tree.find_all(exp.Table) if table.alias]
    keyword = chance.choice(KEYWORDS)
    if not tables:
        return None
    alias = chance.choice(tables).alias
    text = tree.sql(dialect="sqlite")
    text = re.sub(rf"\b{re.escape(alias)}\.", f"{keyword}.", text)
    return re.sub(rf"\bAS {re.escape(alias)}\b", f"AS {keyword}", text)


def missing_parenthesis(tree: exp.Expr, sql: str, chance: random.Random, names: Names) -> str | None:
    del tree, names
    places = [place for place, letter in enumerate(sql) if letter == ")" and sql[:place].count("'") % 2 == 0]
    if not places:
        return None
    place = chance.choice(places)
    return sql[:place] + sql[place + 1 :]


def foreign_limit(tree: exp.Expr, sql: str, chance: random.Random, names: Names) -> str | None:
    """TOP n, or LIMIT in front of ORDER BY."""
    del sql, names
    if not isinstance(tree, exp.Select):
        return None
    limit = tree.args.get("limit")
    count = limit.expression.name if isinstance(limit, exp.Limit) else ""
    if not count:
        return None
    tree.set("limit", None)
    order = tree.args.get("order")
    if chance.random() < 0.5 or order is None:
        return re.sub(r"^SELECT( DISTINCT)?", rf"SELECT\1 TOP {count}", tree.sql(dialect="sqlite"))
    tree.set("order", None)
    return f"{tree.sql(dialect='sqlite')} LIMIT {count} {order.sql(dialect='sqlite')}"


def unqualified_key(tree: exp.Expr, sql: str, chance: random.Random, names: Names) -> str | None:
    """A qualifier left away before a column that its block joins on, equal on both sides."""
    del sql, names
    columns: list[exp.Column] = []
    for select in tree.find_all(exp.Select):
        keys = {
            node.left.name.lower()
            for join in select.args.get("joins") or ()
            for node in join.find_all(exp.EQ)
            if isinstance(node.left, exp.Column)
            and isinstance(node.right, exp.Column)
            and node.left.name.lower() == node.right.name.lower()
        }
        columns += [
            column
            for column in select.find_all(exp.Column)
            if column.table and column.name.lower() in keys and column.find_ancestor(exp.Join, exp.Select) is select
        ]
    if not columns:
        return None
    chance.choice(columns).set("table", None)
    return tree.sql(dialect="sqlite")


def dropped_bridge(tree: exp.Expr, sql: str, chance: random.Random, names: Names) -> str | None:
    """Three tables, of which the one between is left out: the others are joined as if one had the other's key."""
    del sql, chance
    joins = tree.args.get("joins") or []
    if not isinstance(tree, exp.Select) or tree.find(exp.Subquery) or len(joins) != 2:
        return None
    tables = [table for table in tree.find_all(exp.Table) if table.find_ancestor(exp.Select) is tree]
    spoken = {
        column.table.lower()
        for column in tree.find_all(exp.Column)
        if column.table and column.find_ancestor(exp.Join, exp.Select) is tree
    }
    between = [table for table in tables if table.alias_or_name.lower() not in spoken]
    if len(tables) != 3 or len(between) != 1:
        return None
    bridge = between[0].alias_or_name.lower()
    one, other = (table for table in tables if table is not between[0])
    keys: dict[str, tuple[str, str]] = {}
    for item in (equal for join in joins for equal in join.find_all(exp.EQ)):
        for left, right in ((item.left, item.right), (item.right, item.left)):
            if isinstance(left, exp.Column) and isinstance(right, exp.Column) and right.table.lower() == bridge:
                keys[left.table.lower()] = (left.name, right.name)
    result = keys.get(one.alias_or_name.lower())
    if (
        len(keys) != 2
        or result is None
        or result[1].lower() in names.columns.get(other.name.lower(), {result[1].lower()})
    ):
        return None
    on = exp.EQ(this=exp.column(result[0], one.alias_or_name), expression=exp.column(result[1], other.alias_or_name))
    tree.set("from_", exp.From(this=one.copy()))
    tree.set("joins", [exp.Join(this=other.copy(), on=on)])
    return tree.sql(dialect="sqlite")


def unjoined(tree: exp.Expr, sql: str, chance: random.Random, names: Names) -> str | None:
    """All from one of the joined tables, nothing qualified: which of two tables a shared name was of is then lost."""
    del sql, names
    if not isinstance(tree, exp.Select) or len(list(tree.find_all(exp.Select))) > 1 or not tree.args.get("joins"):
        return None
    tables = [table for table in tree.find_all(exp.Table) if table.find_ancestor(exp.Select) is tree]
    spoken = {
        column.table.lower()
        for column in tree.find_all(exp.Column)
        if column.table and column.find_ancestor(exp.Join, exp.Select) is tree
    }
    kept = [table for table in tables if table.alias_or_name.lower() in spoken]
    if len(kept) < 2 or len({table.name.lower() for table in tables}) < len(tables):
        return None
    tree.set("from_", exp.From(this=exp.Table(this=exp.to_identifier(chance.choice(kept).name))))
    tree.set("joins", None)
    for column in tree.find_all(exp.Column):
        column.set("table", None)
    return tree.sql(dialect="sqlite")


def undeclared_alias(tree: exp.Expr, sql: str, chance: random.Random, names: Names) -> str | None:
    """An alias before every column of the only table, which is never declared."""
    del sql
    tables = list(tree.find_all(exp.Table))
    if len(tables) != 1 or tables[0].alias or tables[0].name.lower() not in names.columns:
        return None
    alias = chance.choice(("T1", "t", tables[0].name[:1].lower()))
    known = names.columns[tables[0].name.lower()]
    for column in tree.find_all(exp.Column):
        # In SQLite what is quoted and no name is a text.
        if column.name.lower() in known:
            column.set("table", exp.to_identifier(alias))
    return tree.sql(dialect="sqlite")


def ungrouped_order(tree: exp.Expr, sql: str, chance: random.Random, names: Names) -> str | None:
    """Ordered by an aggregate, with the GROUP BY left out."""
    del sql, chance, names
    for select in tree.find_all(exp.Select):
        order = select.args.get("order")
        if select.args.get("group") is not None and order is not None and order.find(exp.AggFunc):
            select.set("group", None)
            return tree.sql(dialect="sqlite")
    return None


def order_of_part(tree: exp.Expr, sql: str, chance: random.Random, names: Names) -> str | None:
    """A set operation ordered by a column of its first part, with the part's table before it."""
    del sql, chance, names
    first = tree.this if isinstance(tree, exp.SetOperation) else None
    if not isinstance(first, exp.Select) or tree.args.get("order") is not None:
        return None
    output, source = first.expressions[0], first.args["from_"].this
    if not isinstance(output, exp.Column) or isinstance(output.this, exp.Star) or not isinstance(source, exp.Table):
        return None
    qualified = exp.column(output.name, output.table or source.alias_or_name)
    return f"{tree.sql(dialect='sqlite')} ORDER BY {qualified.sql(dialect='sqlite')}"


CLASSES: dict[str, Mutate] = {
    item.__name__: item
    for item in (
        typo_in_column, typo_in_table, spelling_variant, wrong_owner, dropped_join, wrong_condition, wrong_function,
        unquoted_keyword, missing_parenthesis, foreign_limit, unqualified_key, dropped_bridge, undeclared_alias,
        ungrouped_order, order_of_part, unjoined,
    )
}  # fmt: skip


LOSSY: tuple[str, ...] = ("unjoined", "ungrouped_order")
"""Classes whose mutants no longer say all that the reference said: reported, with no share required of them."""


def mutants(questions: list[dict[str, Any]], folder: Path, *, per_class: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield at most `per_class` mutants of each class: class, db_id, question, sql, gold."""
    chance = random.Random(seed)
    order = list(questions)
    chance.shuffle(order)
    opened: dict[str, sqlite3.Connection] = {}
    names: dict[str, Names] = {}
    wanted = dict.fromkeys(CLASSES, per_class)
    for row in order:
        kinds = [kind for kind, left in wanted.items() if left > 0]
        if not kinds:
            return
        database = row["db_id"]
        if database not in opened:
            opened[database] = sqlite3.connect(
                f"{(folder / f'{database}.sqlite').absolute().as_uri()}?mode=ro", uri=True
            )
            names[database] = Names(opened[database])
        try:
            sqlglot.parse_one(row["gold"], dialect="sqlite")
        except SqlglotError:
            continue
        for kind in kinds:
            tree = sqlglot.parse_one(row["gold"], dialect="sqlite")
            broken = CLASSES[kind](tree, row["gold"], chance, names[database])
            if broken is None or broken == row["gold"] or _runs(opened[database], broken):
                continue
            if not _runs(opened[database], row["gold"]):
                continue
            wanted[kind] -= 1
            yield {"class": kind, "db_id": database, "question": row["question"], "sql": broken, "gold": row["gold"]}


def _runs(opened: sqlite3.Connection, sql: str) -> bool:
    try:
        opened.execute(f"EXPLAIN {sql}")
    except (sqlite3.Error, sqlite3.Warning):
        return False
    return True
