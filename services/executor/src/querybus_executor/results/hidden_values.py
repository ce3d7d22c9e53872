"""What an engine says of a statement, without values where rows or columns are kept from its reader.

An engine quotes values in its warnings and errors, also of rows that it read before it filtered them. Where a policy
filters or masks anything of the connection, an error keeps no quoted word. Of a statement over such a table there is no
warning at all: even their number would answer questions about hidden rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy

_QUOTE_VALUES: Final = frozenset(
    {
        FailureCode.TYPE_MISMATCH,
        FailureCode.DIVISION_BY_ZERO,
        FailureCode.NUMBER_TOO_LARGE,
        FailureCode.CARDINALITY,
        FailureCode.RESOURCE_LIMIT,
        FailureCode.INTERNAL,
    }
)
"""Codes of failures that depend on values; the others quote names of the statement, which help to repair it."""
_QUOTED: Final = re.compile(r"\"[^\"]*(?:\"|$)|'[^']*(?:'|$)|`[^`]*(?:`|$)|\u2018[^\u2019]*(?:\u2019|$)")
_NUMBER: Final = re.compile(r"\b\d[\d.,:-]*")


def engine_warnings(warnings: Sequence[str], policy: ConnectionPolicy, *, has_hidden_rows: bool) -> tuple[str, ...]:
    """Return the warnings as the reader may see them. `has_hidden_rows`: a table of the statement is filtered or masked."""
    if has_hidden_rows:
        return ()
    if not warnings or not policy.protects_parts:
        return tuple(warnings)
    return (f"the database gave {len(warnings)} {'warning' if len(warnings) == 1 else 'warnings'}",)


def without_values(failure: Failure, policy: ConnectionPolicy) -> Failure:
    """Return a failure of the engine whose detail quotes nothing, where the policy protects anything.

    >>> policy = ConnectionPolicy(row_filters={"t": "a = 1"})
    >>> without_values(Failure.of(FailureCode.TYPE_MISMATCH, "invalid input for integer: 'Bob'"), policy).detail
    'invalid input for integer: …'
    """
    if not policy.protects_parts or failure.code not in _QUOTE_VALUES:
        return failure
    return failure.model_copy(update={"detail": _NUMBER.sub("…", _QUOTED.sub("…", failure.detail))})
