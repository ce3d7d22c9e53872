"""Values that a model leaves to others to fill in: a template and no statement, of which nobody can know what was meant.

Read are `?`, `:id`, `@id`, `$1`, `%s`, `{id}`, `{{id}}`, `${id}`, `<customer id>`, `[insert id]` and YOUR_ID, where a value stands: behind
a comparison, in the list of IN, in a quoted text of nothing else. A text that only holds such a sign is a text.
"""

from __future__ import annotations

import re
from typing import Final

_OPEN = (
    r"\?|%s\b|(?<!:):[A-Za-z_]\w*|@[A-Za-z_]\w*|\$\d+|\$\{\s*\w+\s*\}|\{\{?\s*[A-Za-z_]\w*\s*(?::\s*\w+\s*)?\}?\}"
    r"|\[(?:insert|your|enter|specify|provide)\b[^\]\n]{0,80}\]|<[a-z_][a-z_ ]{0,60}>|(?-i:YOUR_[A-Z_]+|[A-Z]+_HERE)\b"
)
_QUOTED_OPEN = r"\{\{?\s*[A-Za-z_]\w*\s*\}?\}|\[(?:insert|your|enter|specify|provide)\b[^\]\n']{0,80}\]"
_BEFORE = r"(?:[=<>]|\bLIKE|\bIN\s*\(|\bBETWEEN|\bLIMIT)\s*(?:\(\s*)?"
"""One way to match each run of blanks: a long one is read once."""
_BARE: Final = re.compile(rf"{_BEFORE}({_OPEN})", re.IGNORECASE)
_QUOTED: Final = re.compile(rf"{_BEFORE}'({_QUOTED_OPEN})'", re.IGNORECASE)
_LITERALS: Final = re.compile(r"'(?:[^']|'')*'")


def open_value(sql: str) -> str | None:
    """Return what stands in the place of a value that is left open, or None.

    >>> open_value("SELECT 1 FROM t WHERE id = ?"), open_value("SELECT 1 FROM t WHERE name LIKE '%s'")
    ('?', None)
    """
    found = _QUOTED.search(sql) or _BARE.search(_LITERALS.sub("''", sql))
    return None if found is None else found[1]
