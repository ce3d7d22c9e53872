"""The guard's rules by name: a closed set, so that a refusal can be counted by rule.

A rule names what was refused, never how the statement was phrased. `GUARD_RULES` is the label set of the metric.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from sqlglot import exp

from querybus.core.failure import Facts, Failure, FailureCode


class Rule(StrEnum):
    """Why a statement was refused."""

    LENGTH = "length"
    NUL = "nul"
    DEPTH = "depth"
    CONNECTIVES = "connectives"
    REPETITION = "repetition"
    EXECUTABLE_COMMENT = "executable_comment"
    UNREADABLE = "unreadable"
    STATEMENT_COUNT = "statement_count"
    STATEMENT_KIND = "statement_kind"
    EXPLAIN_FORM = "explain_form"
    NODE = "node"
    ARGUMENT = "argument"
    HINT = "hint"
    LOCK = "lock"
    INTO = "into"
    SETTINGS = "settings"
    VARIABLE = "variable"
    PARAMETER = "parameter"
    CAST = "cast"
    NAME_FORM = "name_form"
    FUNCTION = "function"
    FUNCTION_QUALIFIED = "function_qualified"
    TABLE_FUNCTION = "table_function"
    SESSION_FUNCTION = "session_function"
    SYSTEM_CATALOG = "system_catalog"
    TABLE_FORM = "table_form"
    TABLE_UNKNOWN = "table_unknown"
    QUALIFIER_UNKNOWN = "qualifier_unknown"
    COLUMN_UNKNOWN = "column_unknown"
    COLUMN_AMBIGUOUS = "column_ambiguous"
    AGGREGATE = "aggregate"
    GROUPING = "grouping"
    TABLE_DENIED = "table_denied"
    COLUMN_DENIED = "column_denied"
    COLUMN_MASKED = "column_masked"
    ROW_FILTER = "row_filter"
    VIEW_DENIED = "view_denied"
    STATEMENT_DENIED = "statement_denied"
    SIZE = "size"
    SERIES = "series"
    RECURSION = "recursion"
    CARTESIAN_PRODUCT = "cartesian_product"
    PATTERN = "pattern"
    RENDERING = "rendering"


GUARD_RULES: Final[tuple[str, ...]] = tuple(rule.value for rule in Rule)


def refuse(code: FailureCode, rule: Rule, detail: str, name: str | None = None, **facts: object) -> Failure:
    """Return the failure of one rule; `name` is what was refused, as written."""
    shown = name if name is None else name[:200]
    return Failure.of(code, detail, Facts.model_validate({"rule": rule.value, "name": shown, **facts}))


_KINDS: Final = """INSERT UPDATE DELETE MERGE REPLACE TRUNCATE DROP CREATE ALTER CALL COPY
    ABORT ANALYZE ASSERT ATTACH AUDIT BACKUP BEGIN BREAK CACHE CANCEL CHECKPOINT CLONE CLOSE CLUSTER COMMENT
    COMMIT DEALLOCATE DECLARE DENY DESC DESCRIBE DETACH DISCARD DO EXCHANGE EXEC EXECUTE EXPLAIN EXPORT FETCH
    FLASHBACK FLUSH FORCE GRANT HANDLER IMPORT INSTALL KILL LEAVE LISTEN LOAD LOCK LOOP LS MOVE NOAUDIT NOTIFY
    OPTIMIZE PIVOT PRAGMA PREPARE PURGE PUT RAISE REASSIGN REFRESH REINDEX RELEASE RENAME REPAIR RESET RESTART
    RESTORE RESIGNAL REVOKE RM ROLLBACK SAVEPOINT SECURITY SET SHOW SHUTDOWN SIGNAL SLEEP SUMMARIZE SYSTEM UNCACHE
    UNDROP UNINSTALL UNLISTEN UNLOAD UNLOCK UNPIVOT UNSET USE VACUUM XA"""
STATEMENT_KINDS: Final = frozenset(_KINDS.split())
"""First words that name a statement; words that prose may begin with are left out."""


def written(node: object) -> str:
    """Return a node's text, at most 80 characters; its kind where the parser cannot write it by itself."""
    try:
        return node.sql()[:80] if isinstance(node, exp.Expr) else str(node)[:80]
    except ValueError:
        return node.key if isinstance(node, exp.Expr) else ""


def unsafe(rule: Rule, detail: str, name: str | None = None) -> Failure:
    """Return a refusal for safety's sake: no draft follows it.

    `facts.name` becomes the refused kind that people read, so it is a known kind of statement or nothing; what
    else was refused is in the detail.
    """
    if name is None or name in STATEMENT_KINDS:
        return refuse(FailureCode.SAFETY, rule, detail, name)
    return refuse(FailureCode.SAFETY, rule, detail if name.lower() in detail.lower() else f"{detail}: {name[:200]}")
