"""Which nodes of a tree, and which of their arguments, a query may have: an allow-list.

What a new release of the parser adds is refused until it is listed here.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from querybus.sql.guard.rules import Rule
from querybus.text.words import word_set

_NODE_NAMES: Final = """
Select Union Except Intersect Subquery Values CTE With RecursiveWithSearch TableAlias From Join Lateral Where Group Having
Qualify Order Ordered WithFill Limit LimitOptions Fetch Offset Distinct Window WindowSpec Cube Rollup GroupingSets Connect Prior
Pivot PivotAlias PivotAny UnpivotColumns Summarize TableSample Tuple Table TableFromRows Final PreWhere Nearest
Column Pseudocolumn Identifier Star Alias Aliases Literal Null Boolean Var Paren Bracket Slice Dot Kwarg PropertyEQ Lambda
Comprehension ForIn
Add BitwiseAnd BitwiseLeftShift BitwiseOr BitwiseRightShift BitwiseXor BitwiseNot Div IntDiv Mod Mul Sub DPipe EQ NullSafeEQ
NullSafeNEQ NEQ GT GTE LT LTE Is Like ILike Glob Match SimilarTo Escape Overlaps Adjacent ExtendsLeft ExtendsRight Distance
Not Neg Between In All Any AtIndex AtTimeZone Filter WithinGroup IgnoreNulls RespectNulls HavingMax
DataType DataTypeParam Interval IntervalSpan IntervalOp WeekStart TimeUnit
BitString HexString ByteString RawString UnicodeString National Introducer
JSON JSONPath JSONPathFilter JSONPathKey JSONPathRecursive JSONPathRoot JSONPathSelector JSONPathSlice
JSONPathSubscript JSONPathUnion JSONPathWildcard FormatJson JSONKeyValue JSONColumnDef JSONSchema JSONValue JSONExtractQuote
OnCondition OverflowTruncateBehavior ColumnDef TableColumn
"""

NODES: Final[frozenset[type[exp.Expr]]] = frozenset(
    kind for name in _NODE_NAMES.split() if isinstance(kind := getattr(exp, name, None), type)
)

_QUERY_ARGS: Final = word_set(
    """with_ this expression expressions distinct kind from_ joins laterals connect pivots prewhere where group having qualify
    windows order limit offset sample by_name on side alias exclude"""
)

STRUCTURE: Final[dict[type[exp.Expr], frozenset[str]]] = {
    exp.Select: _QUERY_ARGS,
    exp.Union: _QUERY_ARGS,
    exp.Except: _QUERY_ARGS,
    exp.Intersect: _QUERY_ARGS,
    exp.Subquery: _QUERY_ARGS,
    exp.Table: frozenset(
        {"this", "alias", "db", "catalog", "laterals", "joins", "pivots", "ordinality", "only", "sample"}
    ),
    exp.Join: frozenset({"this", "on", "side", "kind", "using", "method", "match_condition", "nearest", "pivots"})
    # ClickHouse: GLOBAL says where a join is made, and ARRAY JOIN takes several arrays.
    | {"global_", "expressions"},
    exp.WithFill: frozenset({"from_", "to", "step"}),
    exp.Lateral: frozenset({"this", "view", "outer", "alias", "cross_apply", "ordinality"}),
    exp.With: frozenset({"expressions", "recursive"}),
    exp.CTE: frozenset({"this", "alias", "scalar", "materialized"}),
    exp.Pivot: word_set(
        """this alias expressions fields unpivot using group columns into include_nulls default_on_null
        identify_pivot_strings prefixed_pivot_columns pivot_column_naming value_columns_first"""
    ),
    exp.ColumnDef: frozenset({"this", "kind"}),
    exp.Summarize: frozenset({"this"}),
    exp.Values: frozenset({"expressions", "alias", "order", "limit", "offset"}),
    exp.TableFromRows: frozenset({"this", "alias"}),
}
"""Arguments that structural nodes may have; every other kind of node may have all of its own."""

NOT_SUPPORTED: Final[frozenset[tuple[type[exp.Expr], str]]] = frozenset(
    {
        (exp.Select, "format"),
        (exp.Select, "hint"),
        (exp.Select, "operation_modifiers"),
        (exp.Union, "format"),
        (exp.With, "search"),
        *((exp.Table, name) for name in ("hints", "indexed", "partition", "when", "version", "changes", "final")),
    }
)
"""Arguments that change, leak and reach nothing: they are refused in a way that a new draft can repair."""

ARGUMENT_RULES: Final[dict[str, Rule]] = {
    "into": Rule.INTO,
    "locks": Rule.LOCK,
    "settings": Rule.SETTINGS,
    "format": Rule.SETTINGS,
    "hint": Rule.HINT,
    "hints": Rule.HINT,
    "options": Rule.HINT,
    "operation_modifiers": Rule.HINT,
    "indexed": Rule.HINT,
}
"""Which rule a refused argument falls under; the others are Rule.ARGUMENT."""

CLAUSES: Final[dict[str, str]] = {
    "locks": "FOR UPDATE or FOR SHARE",
    "hint": "a hint",
    "hints": "a hint",
    "indexed": "a hint",
}
"""What a person calls an argument whose own name is the parser's."""

STATEMENT_NODES: Final[tuple[type[exp.Expr], ...]] = (
    exp.Insert,
    exp.Update,
    exp.Delete,
    exp.Create,
    exp.Command,
    exp.Merge,
    exp.Drop,
    exp.Alter,
    exp.Set,
    exp.Pragma,
    exp.Attach,
    exp.Detach,
    exp.Copy,
    exp.Use,
    exp.Kill,
    exp.Transaction,
    exp.Commit,
    exp.Rollback,
    exp.TruncateTable,
    exp.Describe,
    exp.Show,
)

NODE_RULES: Final[dict[type[exp.Expr], Rule]] = {
    exp.Parameter: Rule.VARIABLE,
    exp.SessionParameter: Rule.VARIABLE,
    exp.Placeholder: Rule.PARAMETER,
    exp.Hint: Rule.HINT,
    exp.Lock: Rule.LOCK,
    exp.Into: Rule.INTO,
    exp.ObjectIdentifier: Rule.CAST,
    exp.PseudoType: Rule.CAST,
    exp.SettingsProperty: Rule.SETTINGS,
}
"""Which rule a refused node falls under; the others are Rule.NODE."""
