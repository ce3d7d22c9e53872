"""SQL as a word processor, a web page or a Chinese keyboard writes it -> the same SQL in ASCII signs.

Full-width signs, curly quotes, HTML entities, odd blanks and mathematical comparisons have no meaning in any dialect
outside of texts and quoted names, and inside of these nothing is changed.
"""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Final

_QUOTED_OR_COMMENT: Final = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\[[^\]\n]*\]|\$(\w*)\$.*?\$\1\$|--[^\n]*|/\*.*?\*/", re.DOTALL
)
_ENTITY: Final = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{2,5}|#x[0-9a-fA-F]{2,4});")
_CURLY: Final = re.compile("[‘’‚‛＇]((?:[^‘’‚‛＇\\n]|(?<=\\w)[’＇](?=\\w))*)[’‘＇]|[“”„‟＂«]([^“”„‟＂«»\\n]*)[“”＂»]")
# JSON escapes ends of lines, Markdown what it reads as its own; a backslash outside of texts has no meaning in SQL.
_ESCAPED_BLANK: Final = re.compile(r"\\[nrt]")
_ESCAPED_SIGN: Final = re.compile(r"\\([_*<>()=\[\]-])")
_SIGNS: Final = str.maketrans(
    {"≥": ">=", "≤": "<=", "≠": "<>", "−": "-", "–": "-", "—": "-", "×": "*", "、": ",", "。": "", "…": "..."}
    | dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad")
)


def plain(sql: str) -> str:
    """Return the statement with plain signs outside of its texts, quoted names and comments.

    >>> plain("SELECT COUNT（*） FROM t WHERE city = ‘York’ AND n ≥ ３ AND name = '（x）'；")
    "SELECT COUNT(*) FROM t WHERE city = 'York' AND n >= 3 AND name = '（x）';"
    >>> plain("SELECT a FROM t WHERE a &gt; 3 AND b = &#39;x&#39;")
    "SELECT a FROM t WHERE a > 3 AND b = 'x'"
    >>> plain(r"SELECT a\\_b\\nFROM t WHERE c = 'x\\_y'") == r"SELECT a_b FROM t WHERE c = 'x\\_y'"
    True
    """
    sql = unescaped(sql)
    if sql.isascii() and "\\" not in sql:
        return sql
    pieces: list[str] = []
    end = 0
    for kept in _QUOTED_OR_COMMENT.finditer(sql):
        pieces += [_outside(sql[end : kept.start()]), kept[0]]
        end = kept.end()
    return "".join([*pieces, _outside(sql[end:])])


def unescaped(sql: str) -> str:
    """Return the text without HTML entities where one stands outside of texts: then a web page wrote them all.

    >>> unescaped("a &lt; 3"), unescaped("a = '&lt;'")
    ('a < 3', "a = '&lt;'")
    """
    if "&" not in sql or _ENTITY.search(_QUOTED_OR_COMMENT.sub("", sql)) is None:
        return sql
    return html.unescape(sql)


def _outside(text: str) -> str:
    if "\\" in text:
        text = _ESCAPED_SIGN.sub(r"\1", _ESCAPED_BLANK.sub(" ", text))
    if text.isascii():
        return text
    pieces: list[str] = []
    end = 0
    for quote in _CURLY.finditer(text):
        inner, mark = (quote[1], "'") if quote[1] is not None else (quote[2], '"')
        for apostrophe in "’＇" if mark == "'" else "":
            inner = inner.replace(apostrophe, "''")
        pieces += [_signs(text[end : quote.start()]), mark + inner + mark]
        end = quote.end()
    return "".join([*pieces, _signs(text[end:])])


def _signs(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", sign) if _is_sign(sign) else sign for sign in text.translate(_SIGNS))


def _is_sign(sign: str) -> bool:
    # Letters of other scripts are names and stay as they are; forms of ASCII and blanks are spelled plainly.
    return "\uff01" <= sign <= "\uff5e" or unicodedata.category(sign) == "Zs"
