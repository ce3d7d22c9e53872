"""Values that a model leaves to others to fill in: a template and no statement, of which nobody can know what was meant.

Read are `?`, `:id`, `@id`, `$1`, `%s`, `%(id)s`, `{id}`, `{{id}}`, `${id}`, `<customer id>`, `[insert id]`, YOUR_ID and `YYYY-MM-DD`, where a
value stands: behind a comparison, in the list of IN, in a quoted text of nothing else; and dots for what is left out, wherever
they stand. A text that only holds such a sign is a text.
"""

from __future__ import annotations

import re
from typing import Final

_SAID = (
    r"(?:insert|your|enter|specify|provide)\b[^\]\n']{0,80}|[a-z][a-z_ ]{0,40}[ _](?:name|id|date|value|number|here)"
)
_OPEN = (
    r"\?|%s\b|%\(\w+\)s|(?<!:):\w+|@[A-Za-z_]\w*|\$\{\s*\w+\s*\}|\$\w+(?![\w$])|\{\{[^{}\n]{1,80}\}\}|\{\s*[A-Za-z_]\w*\s*(?::\s*\w+\s*)?\}"
    r"|&[A-Za-z_]\w*|\#[A-Za-z_]\w*\#|(?-i:__[A-Z]+__)|\[(?:insert|your|enter|specify|provide)\b[^\]\n]{0,80}\]|<[a-z_][a-z_ ]{0,60}>"
    r"|(?-i:YOUR_[A-Z_]+|[A-Z_]+_HERE|X{3,}|YYYY\b)|(?:your_\w+|\w+_here)\b"
)
_QUOTED_OPEN = (
    rf"\{{\{{?\s*[A-Za-z_]\w*\s*\}}?\}}|\$\{{\w+\}}|%\(\w+\)s|\[(?:{_SAID})\]|<(?:{_SAID})>|your_\w+|(?-i:YOUR[ _][A-Z_ ]+)"
    r"|(?-i:YYYY|DD|MM)[-/.]?(?-i:MM|DD)(?:[-/.]?(?-i:YYYY|DD))?"
)
# One way to match each run of blanks: a long one is read once.
_BEFORE = r"(?:[=<>]|\bLIKE|\bIN\s*\(|\bBETWEEN|\bLIMIT)\s*(?:\(\s*)?"
_BARE: Final = re.compile(rf"{_BEFORE}({_OPEN})|\bLIMIT\s+([NXK])\b|(\.\.\.)", re.IGNORECASE)
_QUOTED: Final = re.compile(rf"{_BEFORE}(?:'({_QUOTED_OPEN})'|\"({_QUOTED_OPEN})\")", re.IGNORECASE)
_TEXTS: Final = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)


def open_value(sql: str) -> str | None:
    """Return what stands in the place of a value that is left open, or None.

    >>> open_value("SELECT 1 FROM t WHERE id = ?"), open_value("SELECT 1 FROM t WHERE name LIKE '%s'")
    ('?', None)
    """
    found = _QUOTED.search(sql) or _BARE.search(_TEXTS.sub("''", sql))
    return None if found is None else next(filter(None, found.groups()))
