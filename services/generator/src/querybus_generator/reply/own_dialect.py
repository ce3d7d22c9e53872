"""Forms of other dialects that the connection's engine takes for something else, put right before anything runs.

Only what runs and means something else is changed here; what an engine refuses comes back and is repaired by its error.
MySQL and BigQuery read "name" as a text and MySQL reads || as OR; SQLite makes a number of a cast to a moment, and
its FORMAT prints. No meaning is changed: the draft could only have meant this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from querybus.core.catalog import Catalog, ColumnKind
from querybus.engines import ENGINES
from querybus.engines.record import DoubleQuoted
from querybus.sql.edit import read, write
from querybus.sql.parse import GRAMMARS

_BEFORE_NAMES: Final = frozenset({"FROM", "JOIN", ".", "AS", "INTO"})
_FORMAT_PARTS: Final = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
_DATE_FORMAT: Final = re.compile(r"(?:yyyy|MM|dd|HH|mm|ss|[-/. :])+")
_MOMENTS: Final = (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.DATETIME)


def in_own_dialect(sql: str, catalog: Catalog) -> str:
    """Return the draft as the connection's dialect means it; the same text where nothing is to be done."""
    engine = ENGINES[catalog.dialect]
    if engine.double_quoted is DoubleQuoted.TEXT and '"' in sql:
        sql = _names_requoted(sql, catalog)
    if not engine.pipes_join_text and "||" in sql:
        return _changed(sql, catalog, _joined_texts)
    if engine.dates_are_text and re.search(r"\bFORMAT\s*\(|::|\bCAST\b", sql, re.IGNORECASE):
        return _changed(sql, catalog, _moments)
    return sql


def _names_requoted(sql: str, catalog: Catalog) -> str:
    """Return the text with names in backticks, if a name stands in double quotes where only a name can stand."""
    try:
        tokens: Sequence[Any] = GRAMMARS[catalog.dialect].tokenize(sql)
    except SqlglotError:
        return sql
    quoted = [number for number, token in enumerate(tokens) if sql[token.start] == '"']
    if not any(_is_name(tokens, number) for number in quoted):
        return sql
    aliases = {tokens[number].text for number in quoted if number and tokens[number - 1].token_type is TokenType.ALIAS}
    known = {name.casefold() for name in (*catalog.identifiers, *aliases)}
    for number in reversed(quoted):
        token = tokens[number]
        if "`" not in token.text and (token.text.casefold() in known or _is_name(tokens, number)):
            sql = f"{sql[: token.start]}`{token.text}`{sql[token.end + 1 :]}"
    return sql


def _is_name(tokens: Sequence[Any], number: int) -> bool:
    after = tokens[number + 1].token_type if number + 1 < len(tokens) else None
    before = tokens[number - 1].text.upper() if number else ""
    # AS 'label' is MySQL's own; behind FROM, JOIN and a dot, and before a dot, stands no text.
    return after is TokenType.DOT or (before in _BEFORE_NAMES and before != "AS")


def _changed(sql: str, catalog: Catalog, change: Callable[[exp.Expr, Catalog], bool]) -> str:
    tree = read(sql, catalog.dialect)
    return write(tree, catalog.dialect) if tree is not None and change(tree, catalog) else sql


def _joined_texts(tree: exp.Expr, catalog: Catalog) -> bool:
    texts = {
        column.name.casefold()
        for table in catalog.tables
        for column in table.columns
        if column.kind in (ColumnKind.TEXT, ColumnKind.DATE, ColumnKind.DATETIME)
    }
    done = False
    for node in reversed(list(tree.find_all(exp.Or))):
        sides = (node.this, node.expression)
        if all(_is_text(side, texts) for side in sides):
            parts = [part for side in sides for part in (side.expressions if isinstance(side, exp.Concat) else [side])]
            node.replace(exp.Concat(expressions=[part.copy() for part in parts]))
            done = True
    return done


def _is_text(node: exp.Expr, texts: set[str]) -> bool:
    if isinstance(node, exp.Column):
        return node.name.casefold() in texts
    if isinstance(node, exp.Literal):
        return node.is_string
    return isinstance(node, exp.Concat | exp.Lower | exp.Upper | exp.Trim | exp.Cast | exp.Substring | exp.Coalesce)


def _moments(tree: exp.Expr, _: Catalog) -> bool:
    done = False
    for node in list(tree.find_all(exp.Cast, exp.Format)):
        made: exp.Expr | None = None
        if isinstance(node, exp.Cast) and node.to.this in _MOMENTS:
            made = exp.Anonymous(this="DATETIME", expressions=[node.this.copy()])
        elif isinstance(node, exp.Format):
            made = _formatted(node)
        if made is not None and node is not tree:
            node.replace(made)
            done = True
    return done


def _formatted(node: exp.Format) -> exp.Expr | None:
    """Return FORMAT(date, 'yyyy-MM') as STRFTIME('%Y-%m', date)."""
    pattern = node.expressions[0] if len(node.expressions) == 1 else None
    if not isinstance(pattern, exp.Literal) or isinstance(node.this, exp.Literal):
        return None
    if _DATE_FORMAT.fullmatch(pattern.name) is None:
        return None
    spelled = re.sub("|".join(_FORMAT_PARTS), lambda part: _FORMAT_PARTS[part[0]], pattern.name)
    return exp.Anonymous(this="STRFTIME", expressions=[exp.Literal.string(spelled), node.this.copy()])
