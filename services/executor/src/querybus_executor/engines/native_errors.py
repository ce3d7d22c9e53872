"""What a native error code of a cloud or server engine means: tables and one lookup, for engines without quirks of texts.

Pure. A row is a pattern of codes, a pattern of text and the failure's code; the first that fits wins. Names are taken
from the text's groups `name` and `qualifier`. Sources: docs of the engines and sql.md E; what was never run against a
real server is said in docs/connections.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from querybus.core.failure import Facts, Failure, FailureCode

Rule = tuple[str, str, FailureCode]
"""Codes as a regular expression matched whole, a part of the text, what it means."""

PLAIN = {
    FailureCode.CONNECTION: "the database does not answer or refuses the user",
    FailureCode.TIMEOUT: "the statement was stopped at its time limit",
}
"""Of these the engine's own words name hosts, accounts or ids, so ours stand there."""


def native_failure(rules: Sequence[Rule], code: str, text: str) -> Failure:
    """Return the failure of a native code and its text; `internal` for what no rule knows.

    >>> rules = [("904", r'"(?P<name>\\w+)": invalid', FailureCode.COLUMN_NOT_FOUND)]
    >>> native_failure(rules, "904", 'ORA-00904: "X": invalid identifier').facts.name
    'X'
    """
    for codes, words, failure_code in rules:
        if re.fullmatch(codes, code) is None:
            continue
        match = re.search(words, text, re.IGNORECASE | re.DOTALL)
        if match is None:
            continue
        if failure_code in PLAIN:
            return Failure.of(failure_code, PLAIN[failure_code], Facts(native_code=code))
        named = match.groupdict()
        qualifier, _, name = (named.get("name") or "").rpartition(".")
        facts = Facts(name=name or None, qualifier=named.get("qualifier") or qualifier or None, native_code=code)
        return Failure.of(failure_code, text, facts)
    return Failure.of(FailureCode.INTERNAL, text, Facts(native_code=code))
