"""A name of the catalog that holds blanks or signs is quoted where it was written without: `full name` -> `"full name"`.

Only where its words stand in a row; what stands in quotes is left. Quoting changes no meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import read
from querybus.sql.names.quoting import quoted_name
from querybus_recovery.rules.candidate import Candidate

NAMES_MAX: Final = 200
_CODES: Final = (FailureCode.SYNTAX_ERROR, FailureCode.COLUMN_NOT_FOUND, FailureCode.TABLE_NOT_FOUND)
_WORD: Final = re.compile(r"\w+")
_QUOTED: Final = re.compile(r"('(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]\n]*\])")


def quote_spaced_name(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with every such name quoted."""
    if failure.code not in _CODES:
        return ()
    pieces = _QUOTED.split(draft.sql)
    written = " ".join(pieces[::2]).casefold()
    names = [name for name in _spaced(catalog) if all(word in written for word in _WORD.findall(name.casefold()))]
    found: list[str] = []
    for name in sorted(names, key=len, reverse=True)[:NAMES_MAX]:
        pattern = re.compile(rf"(?<![\w$]){_spelling(name)}(?![\w$])", re.IGNORECASE)
        quoted = quoted_name(name, draft.dialect)
        # A name inside a longer one that was just quoted is no other name: what is quoted is split off again.
        replaced = [
            part if number % 2 else pattern.sub(lambda _, to=quoted: to, part) for number, part in enumerate(pieces)
        ]
        if replaced != pieces:
            found.append(name)
            pieces = _QUOTED.split("".join(replaced))
    result = "".join(pieces)
    if not found or read(result, draft.dialect) is None:
        return ()
    names_found = ", ".join(found)
    return (
        Candidate(
            RuleName.QUOTE_SPACED_NAME,
            result,
            keeps_meaning=True,
            before=names_found,
            after=f'"{names_found}"',
            doubt=0.05,
        ),
    )


def _spaced(catalog: Catalog) -> Iterable[str]:
    return dict.fromkeys(name for name in catalog.identifiers if len(_WORD.findall(name)) > 1)


def _spelling(name: str) -> str:
    """Return the pattern of a name whose blanks may be any number of blanks."""
    return r"\s+".join(re.escape(part) for part in name.split())
