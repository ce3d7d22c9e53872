"""Tree to text: what runs is always our own rendering, without comments, never a text from outside.

A rendering that does not read back as an equal tree, or that grew beyond the caps, is refused.
"""

from __future__ import annotations

import re

from sqlglot import ErrorLevel, exp
from sqlglot.errors import UnsupportedError

from querybus.core.catalog import Dialect
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.engines import ENGINES
from querybus.engines.record import Dual
from querybus.sql.guard.rules import Rule, refuse
from querybus.sql.parse import GRAMMARS, PARSER_ERRORS, Statement, parse


def render(statement: Statement, dialect: Dialect) -> str | Failure:
    """Return the statement's text in its dialect; the tree is used up."""
    if statement.tree is None:
        return statement.prefix
    engine = ENGINES[dialect]
    if engine.dual is Dual.OPTIONAL:
        _drop_dual(statement.tree)
    # What SQLite has no word for would be written as something else: TO_CHAR(day, 'YYYY') as CAST(day AS TEXT).
    level = ErrorLevel.RAISE if engine.refuses_foreign_forms else ErrorLevel.IGNORE
    try:
        text = GRAMMARS[dialect].generate(statement.tree, comments=False, unsupported_level=level, copy=False)
    except UnsupportedError as error:
        name = _function_of(str(error))
        return Failure.of(
            FailureCode.FUNCTION_NOT_FOUND, f"{engine.title} has no such function: {name}", Facts(name=name)
        )
    except PARSER_ERRORS:
        return refuse(FailureCode.SYNTAX_ERROR, Rule.RENDERING, "the statement has no rendering")
    return statement.prefix + text


def lost_text(written: tuple[str, ...], rendered: tuple[str, ...], sql: str) -> str | None:
    """Return the first text of a statement that its rendering has in no form, or None.

    Letters and digits are compared: a rendering may change the signs around them, their case, or make a word of a text.

    >>> lost_text(("5 days ago",), ("5 DAYS",), "SELECT INTERVAL '5 DAYS'")
    '5 days ago'
    """
    if not written or written == rendered:
        return None
    texts = set(rendered)
    missing = [text for text in written if text not in texts]
    if not missing:
        return None
    kept = _letters(" ".join(rendered)) + " " + _letters(sql)
    return next((text for text in missing if _letters(text) not in kept), None)


def _letters(text: str) -> str:
    return "".join(re.findall(r"\w+", text)).casefold()


def _function_of(said: str) -> str:
    """Return the function that the renderer speaks of.

    >>> _function_of("Argument 'format' is not supported for expression 'ToChar' when targeting SQLite.")
    'TO_CHAR'
    """
    kind = getattr(exp, found.group(1), None) if (found := re.search(r"expression '(\w+)'", said)) is not None else None
    return kind.sql_name() if isinstance(kind, type) and issubclass(kind, exp.Func) else said.split(maxsplit=1)[0]


def _drop_dual(tree: exp.Expr) -> None:
    """Leave out `FROM dual`, which the renderer would quote into the name of a table that is not there."""
    for select in tree.find_all(exp.Select):
        source = select.args.get("from_")
        if isinstance(source, exp.From) and isinstance(source.this, exp.Table) and not select.args.get("joins"):
            table = source.this
            if table.name.lower() == "dual" and not table.args.get("db") and not table.this.args.get("quoted"):
                select.set("from_", None)


def normalise(sql: str, dialect: Dialect) -> str:
    """Return a text that is equal for equal statements, whatever their spacing, comments and letter case of words.

    A text that cannot be read is only stripped of its spacing.

    >>> normalise("select  A from t -- x", Dialect.SQLITE) == normalise("SELECT A FROM t;", Dialect.SQLITE)
    True
    """
    statement = parse(sql, dialect)
    if isinstance(statement, Failure):
        return " ".join(sql.rstrip("; \n\t").split())
    text = render(statement, dialect)
    return " ".join(sql.split()) if isinstance(text, Failure) else text


def is_same_query(one: str, other: str, dialect: Dialect) -> bool:
    """Return whether two queries say the same but for spacing, letter case and quotes of names, aliases, and qualifiers.

    What differs otherwise may still mean the same: False is no claim. Names that differ in nothing but case are one name.

    >>> is_same_query('SELECT COUNT(*) AS n FROM singer AS t1 WHERE t1.age > 3', 'select count(*) from "Singer" where "Age" > 3',
    ...     Dialect.SQLITE)
    True
    """
    return normalise(one, dialect) == normalise(other, dialect) or (
        (first := _without_aliases(one, dialect)) is not None and first == _without_aliases(other, dialect)
    )


def _without_aliases(sql: str, dialect: Dialect) -> exp.Expr | None:
    """Return a query with tables under their own names and outputs without any; None where it cannot be read."""
    statement = parse(sql, dialect)
    if isinstance(statement, Failure) or statement.tree is None:
        return None
    tree = statement.tree
    for identifier in list(tree.find_all(exp.Identifier)):
        identifier.replace(exp.to_identifier(identifier.name.lower(), quoted=False))
    tables = list(tree.find_all(exp.Table))
    names = {table.alias_or_name: table.name for table in tables}
    columns = list(tree.find_all(exp.Column))
    if len({table.name for table in tables}) == len(tables) == len(names):
        for column in columns:
            name = names.get(column.table, column.table)
            column.set("table", exp.to_identifier(name) if name and len(tables) > 1 else None)
        for table in tables:
            table.set("alias", None)
    used = {column.name for column in columns}
    for output in list(tree.find_all(exp.Alias)):
        if output.alias not in used or output.alias == output.this.name:
            output.replace(output.this)
    return tree
