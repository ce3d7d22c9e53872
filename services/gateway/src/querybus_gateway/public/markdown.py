"""An answer as Markdown, for clients that show what a model says: the sentence, a table, the ways on, a link to the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from querybus.text.rows.shown_rows import shown_rows

ROWS_SHOWN_MAX: Final = 20
CELL_LENGTH_MAX: Final = 200
_JOINER: Final = "\u2060"
"""Nothing to see: it only keeps a renderer from taking what stands around it for an address."""

_INVISIBLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_ADDRESS: Final = re.compile(
    r"(?<=:)(?=//)|(?<=/)(?=/)|(?<=www)(?=\.)|(?<=\S)(?=@\S)|(?<=\w\.)(?=[^\W\d_]{2})", re.IGNORECASE
)
"""Where an address is cut: behind its scheme, between slashes, before `@`, behind the dot before a name."""
_INLINE: Final = re.compile(r"[\\`*\[\]~|]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")
_LINE_START: Final = re.compile(r"^(#{1,6}(?=\s|$)|[-+](?=\s|$)|>|=+$|-+$|\d+(?=[.)](?:\s|$)))")


def markdown(resource: Mapping[str, Any], base_url: str, *, link: str = "", picture: str = "") -> str:
    """Return a query's answer as Markdown: the sentence, a table, the ways on; the link leads to everything else.

    `link` is for clients of people the address of the answer's card at the page, `picture` that of its drawn chart.
    """
    answer = resource.get("answer")
    link = link or f"{base_url.rstrip('/')}/v1/queries/{resource['id']}"
    if not isinstance(answer, Mapping):
        return f"The answer is not there yet. [See how it stands]({link})"
    is_english = answer.get("language") != "zh"
    parts = [_paragraphs(answer.get("summary") or answer.get("message") or "")]
    if answer.get("outcome") != "answered" and answer.get("next_step"):
        parts.append(_paragraphs(answer["next_step"]))
    if answer.get("rows"):
        shown = shown_rows(answer["columns"], answer["rows"][:ROWS_SHOWN_MAX], "en" if is_english else "zh")
        parts.append(_table(answer["columns"], shown))
        parts.append(_place(answer, len(shown), is_english=is_english))
    if answer.get("connection_label"):
        said = escape_markdown(answer["connection_label"])
        parts.append(f"Asked of “{said}”." if is_english else f"数据来源：“{said}”。")
    options = answer.get("options") or ()
    if options:
        parts.append(
            "\n".join(f"{number}. {escape_markdown(option['text'])}" for number, option in enumerate(options, 1))
        )
    picture = _drawn_elsewhere(answer) or picture
    if picture and answer.get("chart"):
        parts.append(f"![{'Chart' if is_english else '图表'}]({picture})")
    if answer.get("sql"):
        parts.append(f"```sql\n{str(answer['sql']).replace('```', '')}\n```")
    has_address = answer.get("chart") and not picture
    chart = f" · [{'Chart' if is_english else '图表'}]({link}/chart?format=png)" if has_address else ""
    parts.append(f"[{'Details' if is_english else '详情'}]({link}){chart}")
    return "\n\n".join(part for part in parts if part)


def _place(answer: Mapping[str, Any], shown: int, *, is_english: bool) -> str:
    """Return where the rows shown stand in the result; nothing where they are all of it."""
    total, page = int(answer.get("row_count") or 0), answer.get("pagination")
    if page and page["page"] > 1:
        first = (page["page"] - 1) * page["page_size"] + 1
        last = first + shown - 1
        return (
            f"Rows {first:,} to {last:,} of {total:,}"
            if is_english
            else f"第 {first:,} 至 {last:,} 行，共 {total:,} 行"
        )
    if total <= shown:
        return ""
    return f"{total - shown:,} more rows" if is_english else f"还有 {total - shown:,} 行"


def _drawn_elsewhere(answer: Mapping[str, Any]) -> str:
    """Return the address of the picture that a chart server drew, if the operator has one asked."""
    return str(((answer.get("chart") or {}).get("usermeta") or {}).get("picture") or "")


def escape_markdown(text: object, length_max: int | None = None) -> str:
    """Return any text as Markdown that renders as that text alone: no element, no picture, no link, no bare address.

    Line ends and control characters become blanks. `length_max` counts the characters of the text, not of its escapes.

    >>> escape_markdown("![a](x) <b> 1 | 2")
    '!\\\\[a\\\\](x) &lt;b> 1 \\\\| 2'
    """
    plain = " ".join(_INVISIBLE.sub(" ", str(text)).split())[:length_max]
    cut = _ADDRESS.sub(_JOINER, plain)
    safe = _INLINE.sub(lambda match: f"\\{match[0]}", cut).replace("<", "&lt;")
    start = _LINE_START.match(safe)
    if start is None:
        return safe
    # A number's own digits cannot be escaped, the sign behind them can.
    return f"{start[0]}\\{safe[start.end() :]}" if start[0].isdecimal() else f"\\{safe}"


def _paragraphs(text: object) -> str:
    """Return a text of several paragraphs, each of them escaped."""
    return "\n\n".join(escape_markdown(line) for line in str(text).splitlines() if line.strip())


def _table(columns: Sequence[Mapping[str, Any]], rows: Sequence[Sequence[str]]) -> str:
    head = "| " + " | ".join(escape_markdown(column["label"]) for column in columns) + " |"
    rule = "|" + " --- |" * len(columns)
    lines = ["| " + " | ".join(escape_markdown(cell, CELL_LENGTH_MAX) for cell in row) + " |" for row in rows]
    return "\n".join((head, rule, *lines))
