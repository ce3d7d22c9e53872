"""Text to tree: what could crash or stall the parser or the renderer is refused before either sees it.

Caps stand on the token stream, so that literals and comments do not count as structure. Only a text whose first word
can begin a query reaches the parser; every other statement is refused by its first word. Source of the limits:
measurements on sqlglot 30.30 compiled (docs/adr), where 20,000 nested sub-selects end the process and 5,000
conditions take seconds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any, Final

from sqlglot import Dialect as Grammar
from sqlglot import ErrorLevel, TokenType, exp, generator
from sqlglot.errors import ParseError, SqlglotError, TokenError

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.engines import ENGINES
from querybus.engines.record import InOperand
from querybus.sql.guard.rules import STATEMENT_KINDS, Rule, refuse, unsafe, written
from querybus.sql.limits.token_caps import over_the_caps
from querybus.sql.names.parsed_forms import spell_out
from querybus.sql.names.token_forms import spell_tokens

SQL_BYTES_MAX: Final = 20_000
"""Of a draft, in UTF-8."""
RENDERED_BYTES_MAX: Final = 40_000
"""Of our own rendering, which spaces and spells out."""
TREE_DEPTH_MAX: Final = 400


class _Grammars(dict[Dialect, Grammar]):
    """A dialect's parser and generator are loaded when it is first spoken: all eight take 15 MB, in every service."""

    def __missing__(self, dialect: Dialect) -> Grammar:
        self[dialect] = result = Grammar.get_or_raise(dialect.value)
        transforms = result.generator_class.TRANSFORMS
        engine = ENGINES[dialect]
        if engine.regexp_is_operator:
            # The renderer's REGEXP_LIKE(a, b) is unknown to MariaDB; the operator is known to both.
            transforms[exp.RegexpLike] = _regexp
        if engine.decimal_type is not None:
            result.generator_class.TYPE_MAPPING[exp.DataType.Type.DECIMAL] = engine.decimal_type
        for name in engine.functions_as_written:
            result.parser_class.FUNCTIONS.pop(name, None)
            result.parser_class.FUNCTION_PARSERS.pop(name, None)
        if engine.hex_function is not None:
            transforms[exp.LowerHex] = transforms[exp.Hex] = partial(_call, engine.hex_function)
        if engine.has_hex_numbers:
            result.parser_class.PRIMARY_PARSERS[TokenType.HEX_STRING] = _hex_string
            transforms[exp.HexString] = _hex
        if not engine.aliases_derived_tables:
            transforms[exp.Lateral] = _lateral
        result.parser_class.UNARY_PARSERS[TokenType.PLUS] = _unary_plus
        transforms[exp.Paren] = _paren
        # What has rendered this dialect before this has fixed its table of renderings: it is made anew.
        getattr(generator, "_DISPATCH_CACHE", {}).pop(result.generator_class, None)
        return result


def _unary_plus(self: Any) -> Any:
    """Keep the plus before an operand, which the parser drops: on SQLite it takes the affinity of a column away."""
    operand = self._parse_unary()
    return None if operand is None else exp.Paren(this=operand, plus=True)


def _hex_string(self: Any, token: Any) -> exp.HexString:
    """Read 0x1F and x'1F' as what they are: the first is two signs longer than its digits, the second three."""
    del self
    return exp.HexString(this=token.text, is_integer=token.end - token.start + 1 == len(token.text) + len("0x"))


def _hex(generator: Any, node: exp.HexString) -> str:
    del generator
    return f"0x{node.name}" if node.args.get("is_integer") else f"x'{node.name}'"


def _paren(generator: Any, node: exp.Paren) -> str:
    return f"+{generator.sql(node, 'this')}" if node.args.get("plus") else str(generator.paren_sql(node))


def _call(function: str, generator: Any, node: exp.Expr) -> str:
    return str(generator.func(function, node.this))


def _lateral(generator: Any, node: exp.Lateral) -> str:
    """Return a lateral query with its alias as Oracle takes it, without AS."""
    alias = generator.sql(node, "alias")
    return f"LATERAL {generator.sql(node, 'this')}{f' {alias}' if alias else ''}"


def _regexp(generator: Any, node: exp.RegexpLike) -> str:
    if node.args.get("flag"):
        return str(generator.function_fallback_sql(node))
    sides = (
        item if isinstance(item, _CLOSED) else exp.Paren(this=item.copy()) for item in (node.this, node.expression)
    )
    return " REGEXP ".join(generator.sql(side) for side in sides)


_CLOSED: Final = (exp.Column, exp.Literal, exp.Paren, exp.Anonymous, exp.Concat, exp.Lower, exp.Upper, exp.Subquery)
"""What needs no brackets beside an operator."""


GRAMMARS: Final[dict[Dialect, Grammar]] = _Grammars()


_STARTS: Final = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE", "(", "PIVOT", "UNPIVOT"})

# A parser that meets a shape it does not know raises more than its own errors; none of these may leave this module.
PARSER_ERRORS: Final = (
    SqlglotError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


class Form(StrEnum):
    """What kind of statement the tree is; all but QUERY only describe."""

    QUERY = "query"
    EXPLAIN = "explain"
    DESCRIBE = "describe"
    SUMMARIZE = "summarize"
    SHOW_TABLES = "show_tables"


@dataclass(frozen=True, slots=True)
class Statement:
    """One parsed statement. `tree` is the query itself, or the described table; None for SHOW TABLES.

    `prefix` is what stands before the rendered tree, e.g. `EXPLAIN `. `tokens` are the words of the text, as read.
    """

    form: Form
    tree: exp.Expr | None
    prefix: str = ""
    tokens: tuple[Any, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts in quotes."""
        return tuple(token.text for token in self.tokens if token.token_type is TokenType.STRING)


def parse(sql: str, dialect: Dialect, *, bytes_max: int = RENDERED_BYTES_MAX) -> Statement | Failure:
    """Return the one statement of this text, or why it was not read.

    Errors: syntax_error, multi_statement, too_complex, and safety for every statement that is no query.
    """
    tokens = _read(sql, dialect, bytes_max)
    if isinstance(tokens, Failure):
        return tokens
    statements = _split(tokens)
    if not statements:
        return refuse(FailureCode.SYNTAX_ERROR, Rule.UNREADABLE, "no statement")
    if len(statements) > 1:
        return _stacked(statements, dialect)
    statement = _parse_one(sql, statements[0], dialect)
    return replace(statement, tokens=tuple(tokens)) if isinstance(statement, Statement) else statement


def parse_change(sql: str, dialect: Dialect, *, bytes_max: int = RENDERED_BYTES_MAX) -> exp.Expr | Failure:
    """Return the tree of the one statement that changes something, under the same caps as a query's.

    Only a text that begins with the word of a change that the writer knows reaches the parser.
    """
    tokens = _read(sql, dialect, bytes_max)
    if isinstance(tokens, Failure):
        return tokens
    statements = _split(tokens)
    if len(statements) != 1:
        return refuse(
            FailureCode.MULTI_STATEMENT, Rule.STATEMENT_COUNT, f"{len(statements)} statements where one is allowed"
        )
    word = _word(statements[0], 0)
    if word not in CHANGES:
        return unsafe(Rule.STATEMENT_KIND, "no change that is known here", _kind(statements[0]))
    return _tree(sql, statements[0], dialect)


CHANGES: Final = frozenset({"INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP", "TRUNCATE"})
"""First words of the statements that a confirmed write may be."""


def _read(sql: str, dialect: Dialect, bytes_max: int) -> list[Any] | Failure:
    """Return the words of a text of bounded length, or why it is not read at all."""
    if len(sql.encode("utf-8", "surrogatepass")) > bytes_max:
        return refuse(FailureCode.TOO_COMPLEX, Rule.LENGTH, f"more than {bytes_max} bytes")
    if "\x00" in sql:
        return unsafe(Rule.NUL, "a NUL character")
    return _tokens(sql, dialect)


def _tokens(sql: str, dialect: Dialect) -> list[Any] | Failure:
    """Return the words of a text within the caps."""
    try:
        sql.encode()
        tokens: list[Any] = GRAMMARS[dialect].tokenize(sql)
        if len(tokens) > 1 and _word(tokens, 0) == "EXPLAIN" and tokens[1].token_type is TokenType.STRING:
            # The tokenizer leaves what follows the word as one piece.
            behind = tokens[0].end + 1
            tokens = [tokens[0], *GRAMMARS[dialect].tokenize(" " * behind + sql[behind:])]
    except UnicodeEncodeError:
        return unsafe(Rule.NUL, "half a character")
    except TokenError as error:
        return refuse(FailureCode.SYNTAX_ERROR, Rule.UNREADABLE, _first_line(str(error)))
    except PARSER_ERRORS:
        return refuse(FailureCode.SYNTAX_ERROR, Rule.UNREADABLE, "the text cannot be split into words")
    return over_the_caps(tokens, dialect) or spell_tokens(tokens, ENGINES[dialect])


def kind_of(sql: str, dialect: Dialect) -> str:
    """Return the kind of the statement in one plain word, for the text of a refusal: SELECT, DELETE, DROP, ...

    The first statement that is no query wins. `?` for a text without words.

    >>> kind_of("select 1; drop table t", Dialect.SQLITE)
    'DROP'
    """
    try:
        tokens: Sequence[Any] = GRAMMARS[dialect].tokenize(sql[:SQL_BYTES_MAX])
    except PARSER_ERRORS:
        word = re.search(r"[A-Za-z]+", sql)
        return word.group().upper() if word else "?"
    kinds = [_kind(item) for item in _split(tokens)]
    return next((kind for kind in kinds if kind != "SELECT"), kinds[0] if kinds else "?")


def _split(tokens: Sequence[Any]) -> list[list[Any]]:
    statements: list[list[Any]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            statements.append([])
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]


def _stacked(statements: list[list[Any]], dialect: Dialect) -> Failure:
    for statement in statements:
        if not _may_start(statement, dialect):
            return unsafe(Rule.STATEMENT_KIND, "several statements, one of them no query", _kind(statement))
    return refuse(
        FailureCode.MULTI_STATEMENT, Rule.STATEMENT_COUNT, f"{len(statements)} statements where one is allowed"
    )


def _may_start(tokens: list[Any], dialect: Dialect) -> bool:
    word = _word(tokens, 0)
    if word in _STARTS:
        return _kind(tokens) == "SELECT"
    if word == "EXPLAIN":
        return bool(ENGINES[dialect].explain_forms)
    if word in ("DESCRIBE", "DESC", "SHOW"):
        return ENGINES[dialect].describe_form is not None
    return word == "SUMMARIZE" and ENGINES[dialect].describes_queries


def _word(tokens: list[Any], index: int) -> str:
    return str(tokens[index].text).upper() if index < len(tokens) else ""


_WRITES: Final = frozenset(
    {"INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "TRUNCATE", "DROP", "CREATE", "ALTER", "CALL", "COPY"}
)


def _kind(tokens: list[Any]) -> str:
    """Return the first word of a statement, behind brackets and a WITH clause; every query is a SELECT.

    Behind a WITH clause a statement begins after a closing bracket; every other word there is a name or a function.
    """
    depth, first, before = 0, "", TokenType.WITH
    for token in tokens:
        kind = token.token_type
        behind, before = before, kind
        if kind is TokenType.L_PAREN:
            depth += 1
            continue
        if kind is TokenType.R_PAREN:
            depth -= 1
            continue
        word = str(token.text).upper()
        if not first:
            if kind in (TokenType.STRING, TokenType.NUMBER):
                return "?"
            first = re.sub(r"[^A-Z]", "", word)[:20] or "?"
            if first != "WITH":
                return "SELECT" if first in _STARTS else first
        elif depth == 0 and behind is TokenType.R_PAREN and kind not in (TokenType.IDENTIFIER, TokenType.STRING):
            if word in _STARTS:
                return "SELECT"
            if word in _WRITES:
                return word
    return "SELECT"


def _parse_one(sql: str, tokens: list[Any], dialect: Dialect) -> Statement | Failure:
    word = _word(tokens, 0)
    if not _may_start(tokens, dialect):
        kind = _kind(tokens)
        if kind == "EXPLAIN" and len(tokens) > 1 and _word(tokens, 1) in _STARTS:
            detail = "EXPLAIN is not supported here; ask for the rows, or for the plan in the tools of the database"
            return refuse(FailureCode.SYNTAX_ERROR, Rule.EXPLAIN_FORM, detail)
        if re.match(r"[A-Z]", kind) and kind in STATEMENT_KINDS:
            return unsafe(Rule.STATEMENT_KIND, f"{kind} is not allowed; only queries are", kind)
        # Prose, a placeholder, a bare number: no statement of any kind, so a better draft may follow.
        return refuse(
            FailureCode.SYNTAX_ERROR,
            Rule.UNREADABLE,
            "syntax error: the statement does not begin with SELECT or WITH",
            kind,
        )
    engine = ENGINES[dialect]
    match word:
        case "EXPLAIN":
            return _explain(sql, tokens, dialect)
        case "SHOW":
            if len(tokens) == 2 and _word(tokens, 1) == "TABLES":
                return Statement(Form.SHOW_TABLES, None, "SHOW TABLES")
            if engine.shows_columns and [_word(tokens, 1), _word(tokens, 2)] == ["COLUMNS", "FROM"]:
                return _describe(tokens[3:], "SHOW COLUMNS FROM ")
            return unsafe(Rule.STATEMENT_KIND, "SHOW beyond SHOW TABLES", "SHOW")
        case "DESCRIBE" | "DESC":
            if engine.describes_queries and _word(tokens, 1) in _STARTS and _kind(tokens[1:]) == "SELECT":
                tree = _tree(sql, tokens[1:], dialect)
                return tree if isinstance(tree, Failure) else Statement(Form.EXPLAIN, tree, "DESCRIBE ")
            return _describe(tokens[2 if _word(tokens, 1) == "TABLE" else 1 :], engine.describe_form or "")
        case "SUMMARIZE":
            return _summarize(sql, tokens, dialect)
        case _:
            tree = _tree(sql, tokens, dialect)
            return tree if isinstance(tree, Failure) else Statement(Form.QUERY, tree)


def _explain(sql: str, tokens: list[Any], dialect: Dialect) -> Statement | Failure:
    forms = (form.split() for form in ENGINES[dialect].explain_forms)
    form = next(form for form in forms if [_word(tokens, place) for place in range(len(form))] == form)
    prefix, rest = f"{' '.join(form)} ", tokens[len(form) :]
    if not rest or (_word(rest, 0) == "(" and _word(rest, 1) not in _STARTS):
        return unsafe(Rule.EXPLAIN_FORM, "EXPLAIN with options", "EXPLAIN")
    if _word(rest, 0) not in _STARTS or _kind(rest) != "SELECT":
        return unsafe(Rule.EXPLAIN_FORM, "EXPLAIN of something else than a query", _kind(rest))
    tree = _tree(sql, rest, dialect)
    return tree if isinstance(tree, Failure) else Statement(Form.EXPLAIN, tree, prefix)


def _describe(tokens: list[Any], prefix: str) -> Statement | Failure:
    if not _is_table(tokens):
        return unsafe(Rule.STATEMENT_KIND, "DESCRIBE of something else than a table", "DESCRIBE")
    return Statement(Form.DESCRIBE, _table(tokens), prefix)


def _summarize(sql: str, tokens: list[Any], dialect: Dialect) -> Statement | Failure:
    rest = tokens[1:]
    if _word(rest, 0) in _STARTS:
        tree = _tree(sql, rest, dialect) if _kind(rest) == "SELECT" else unsafe(Rule.STATEMENT_KIND, "no query")
    elif _is_table(rest):
        tree = _table(rest)
    else:
        return unsafe(Rule.STATEMENT_KIND, "SUMMARIZE of something else than a table or a query", "SUMMARIZE")
    return tree if isinstance(tree, Failure) else Statement(Form.SUMMARIZE, tree, "SUMMARIZE ")


_NAMES: Final = frozenset({TokenType.VAR, TokenType.IDENTIFIER})


def _is_table(tokens: list[Any]) -> bool:
    """Return whether the tokens are `table` or `schema.table`."""
    kinds = [token.token_type for token in tokens]
    return len(kinds) in (1, 3) and all(kind in _NAMES for kind in kinds[::2]) and kinds[1:2] in ([], [TokenType.DOT])


def _table(tokens: list[Any]) -> exp.Expr:
    """Return the table that these names and dots name: at most schema and table."""
    names = [
        exp.Identifier(this=token.text, quoted=token.token_type is TokenType.IDENTIFIER)
        for token in tokens
        if token.token_type is not TokenType.DOT
    ]
    return exp.Table(this=names[-1], db=names[-2] if len(names) > 1 else None)


def _tree(sql: str, tokens: list[Any], dialect: Dialect) -> exp.Expr | Failure:
    try:
        parser = GRAMMARS[dialect].parser(error_level=ErrorLevel.IMMEDIATE)
        trees: list[exp.Expr | None] = parser.parse(tokens, sql)
    except ParseError as error:
        return _syntax_error(error)
    except RecursionError:
        return refuse(FailureCode.TOO_COMPLEX, Rule.DEPTH, "nested too deep for the parser")
    except PARSER_ERRORS as error:
        return refuse(FailureCode.SYNTAX_ERROR, Rule.UNREADABLE, _first_line(str(error)))
    result = [tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)]
    if len(result) != 1:
        return refuse(
            FailureCode.MULTI_STATEMENT, Rule.STATEMENT_COUNT, f"{len(result)} statements where one is allowed"
        )
    if _too_deep(result[0]):
        return refuse(
            FailureCode.TOO_COMPLEX, Rule.DEPTH, f"the statement is nested more than {TREE_DEPTH_MAX} levels deep"
        )
    kinds = [token.token_type for token in tokens]
    tree = spell_out(result[0]) if any(kind in kinds for kind in _SPELT_OUT) else result[0]
    operand = ENGINES[dialect].in_operand
    if operand is not InOperand.NEVER_TABLE and TokenType.IN in kinds:
        return _spell_out_tables(tree, operand)
    return tree


_SPELT_OUT: Final = (TokenType.APPLY, TokenType.ARROW, TokenType.SUMMARIZE, TokenType.PIVOT, TokenType.UNPIVOT)
"""Words of the forms that are written otherwise than they are read."""
_SETS: Final = (exp.Array, exp.Tuple, exp.Literal)
"""What ClickHouse takes behind IN beside a list, a query and a table."""


def _spell_out_tables(tree: exp.Expr, operand: InOperand) -> exp.Expr | Failure:
    """Return the tree with `x IN t` as `x IN (SELECT * FROM t)`, so that all that holds for tables holds for this one.

    SQLite reads a text behind IN as the name of a table, ClickHouse a single name in brackets: no other form is taken.
    """
    for node in list(tree.find_all(exp.In)):
        field = node.args.get("field")
        if field is None and operand is InOperand.TABLE_IN_BRACKETS and len(node.expressions) == 1:
            only = node.expressions[0].unnest()
            field = only if isinstance(only, exp.Column | exp.Dot) else None
        if field is None or (operand is InOperand.TABLE_IN_BRACKETS and isinstance(field, _SETS)):
            continue
        if not isinstance(field, exp.Column) or not isinstance(field.this, exp.Identifier):
            return unsafe(Rule.TABLE_FORM, "only a list, a query or a table may follow IN", written(field))
        table = exp.Table(this=field.this, db=field.args.get("table"), catalog=field.args.get("db"))
        node.set("field", None)
        node.set("expressions", None)
        node.set("query", exp.Subquery(this=exp.Select(expressions=[exp.Star()], from_=exp.From(this=table))))
    return tree


def _too_deep(tree: exp.Expr) -> bool:
    level: list[exp.Expr] = [tree]
    for _ in range(TREE_DEPTH_MAX):
        level = [child for node in level for child in node.iter_expressions()]
        if not level:
            return False
    return True


_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def _first_line(text: str) -> str:
    return _ESCAPES.sub("", text).split("\n", 1)[0][:300]


def _syntax_error(error: ParseError) -> Failure:
    first: dict[str, Any] = error.errors[0] if error.errors else {}
    near = str(first.get("highlight") or "")[:80]
    detail = _first_line(str(first.get("description") or error))
    return refuse(
        FailureCode.SYNTAX_ERROR,
        Rule.UNREADABLE,
        f"{detail.rstrip('.')}{f' near {near!r}' if near else ''}",
        near or None,
        line=first.get("line"),
        column=first.get("col"),
    )
