"""What a model lays around its answer, taken off: thoughts, signs of a turn, fences, elements, strings of a program, marks.

Only what stands around a whole statement is taken off: a statement that begins the text keeps every sign of its texts.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Final

_STATEMENT_WORD: Final = re.compile(
    r"\(*\s*(?:SELECT|WITH|FROM|VALUES|TABLE|INSERT|UPDATE|DELETE|DROP|CREATE|ALTER|TRUNCATE|MERGE|REPLACE|GRANT|REVOKE"
    r"|EXPLAIN|DESCRIBE|DESC|SHOW|PRAGMA|CALL|EXECUTE|EXEC|SET|USE|ATTACH|DETACH|VACUUM|COPY|BEGIN|COMMIT|ROLLBACK|LOCK"
    r"|ANALYZE|REINDEX|LOAD|INSTALL|EXPORT|IMPORT|PIVOT|SUMMARIZE|RENAME|DO|DECLARE)\b",
    re.IGNORECASE,
)
COMMENT: Final = re.compile(r"\A(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?\*/|#[^\n]*(?:\n|\Z))+", re.DOTALL)

_SQL_TAGS_WORDS: Final = (
    "sql sqlite sqlite3 postgres postgresql pgsql plpgsql plsql tsql mysql mariadb duckdb clickhouse oracle "
    "snowflake bigquery"
)
SQL_TAGS: Final = frozenset(_SQL_TAGS_WORDS.split())
DATA_TAGS: Final = frozenset({"json", "json5", "jsonc", "yaml", "yml"})

_THOUGHT: Final = r"(think|thinking|thought|thoughts|reasoning|scratchpad)"
_THOUGHTS: Final = re.compile(rf"(?<![\w'\"%])<{_THOUGHT}>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
# Chat templates open the thoughts themselves: then the reply begins within them.
_END_OF_THOUGHTS: Final = re.compile(rf"\A.*</{_THOUGHT}>", re.DOTALL | re.IGNORECASE)
_TURN_START: Final = re.compile(
    r"\A\s*(?:<s>|\[/INST\]|<\|\w+\|>(?:assistant\b)?|<start_of_turn>(?:model\b)?)\s*", re.IGNORECASE
)
_TURN_END: Final = re.compile(
    r"(?:</s>|<\|(?:im_end|endoftext|eot_id|eom_id|end|end_of_text|return)\|>|<(?:end_of_turn|eos|EOT)>)(?=\s*(?:\n|<|\Z)).*\Z",
    re.DOTALL,
)
FENCE: Final = re.compile(
    r"^[ \t>]*(?:(?:[*+-]|\d+[.)])[ \t]+)?(?:<\w+>[ \t]*)?(```+|~~~+)[ \t]*([\w.+-]*)([^\n]*)$", re.MULTILINE
)
_WRITTEN_LINES: Final = re.compile(r"(?:```+|~~~+)\w*\\n[^\n]*\Z")
_ELEMENT: Final = re.compile(
    r"(?<![\w'\"%])<(sql|sql_?query|query|statement|answer|final_?answer|final|output|response|result|code|pre)(?:\s[^<>]*)?>",
    re.IGNORECASE,
)
_SQL_ELEMENT: Final = re.compile(r"sql|query|statement|code|pre", re.IGNORECASE)
_QUERY: Final = re.compile(r"\(*\s*(SELECT\b.*(\bFROM\b|\()|WITH\b.*\bAS\b)", re.DOTALL | re.IGNORECASE)
ANSWER_TAG: Final = "answer"
_ELEMENTS_MAX: Final = 16
_LONG_STRINGS_MAX: Final = 32
_BOXED: Final = re.compile(r"\\boxed\{(?:\\text\{)?(.*?)\}?\}\$*\s*\Z", re.DOTALL)
_LONG_STRING: Final = re.compile(r"(\"\"\"|''')(.*?)\1(?![\"'])", re.DOTALL)
# Strings that are put together are fragments, which nothing joins.
_STRING: Final = re.compile(r"(?:\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'|`([^`]*)`)(?!\s*[+\"'\\])")
# What a program does with a string: it is assigned or handed to a function.
_STRING_ALONE: Final = re.compile(
    r"\A(?:(?:const |let |var )?[\w.]+\s*(?:=|\()\s*)?([\"'])((?:(?!(?<!\\)\1\s*[+;\\\n]).)*)\1\s*(?:,[^\"'()]*)?\)?\s*[;.]?\Z",
    re.DOTALL,
)
_AROUND: Final = ("**", "__", "*")


def answer_of(reply: str) -> str:
    """Return a reply without the thoughts before its answer, the signs of a turn and what follows the end of the turn.

    >>> answer_of("<think>SELECT 1?</think>SELECT 2<|im_end|>"), answer_of("Is it 1?</think> SELECT 2")
    ('SELECT 2', 'SELECT 2')
    """
    text = _THOUGHTS.sub(" ", reply.replace("\ufeff", "").replace("\r\n", "\n"))
    # A query may speak of the sign in its texts.
    text = _TURN_START.sub("", text if _QUERY.match(text) else _END_OF_THOUGHTS.sub("", text))
    text = _TURN_END.sub("", text).strip()
    # A fence has lines: where none follows its tag, its ends of lines are still written as in JSON.
    return text.replace("\\n", "\n") if _WRITTEN_LINES.match(text) else text


def starts_as_statement(text: str) -> bool:
    return _STATEMENT_WORD.match(COMMENT.sub("", text)) is not None


def blocks_of(text: str, *, closed_only: bool) -> list[tuple[str, str]]:
    """Return (tag, body) of each block set apart from prose; a last fence that is never closed counts unless `closed_only`.

    >>> blocks_of("So: <sql>SELECT 1</sql>", closed_only=True)
    [('sql', 'SELECT 1')]
    """
    blocks: list[tuple[str, str]] = []
    opened: re.Match[str] | None = None
    for fence in FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]) and not fence[2]:
            blocks.append((opened[2].lower(), text[_body_start(opened) : fence.start()].strip()))
            opened = None
    if opened is not None and not closed_only:
        blocks.append((opened[2].lower(), text[_body_start(opened) :].strip().removesuffix("```").strip()))
    if not blocks and not closed_only:
        # ```SELECT 1``` on one line is no fence by Markdown's rules, but models write it.
        blocks += [("", body.strip()) for body in re.findall(r"```(?:sql\b)?([^`]+)```", text, re.IGNORECASE)]
    if not blocks and not starts_as_statement(text):
        blocks = _elements(text)
    return [(tag, body) for tag, body in blocks if body]


def _body_start(opened: re.Match[str]) -> int:
    """Return where a fence's body begins: behind the line that opens it, but a statement may begin on that line."""
    if _STATEMENT_WORD.fullmatch(opened[2]):
        return opened.start(2)
    return opened.start(3) if starts_as_statement(opened[3]) else opened.end()


def _elements(text: str) -> list[tuple[str, str]]:
    """Return the statements that stand alone within an element, `<sql>` or `<pre><code>` for instance."""
    found: list[tuple[str, str]] = []
    for element in islice(_ELEMENT.finditer(text), _ELEMENTS_MAX):
        closing = re.search(rf"</{element[1]}\s*>(?!['\"%])", text[element.end() :], re.IGNORECASE)
        body = "" if closing is None else text[element.end() :][: closing.start()].strip()
        if starts_as_statement(body):
            found.append(("sql" if _SQL_ELEMENT.match(element[1]) else ANSWER_TAG, body))
    return found


def string_of_program(text: str, *, is_program: bool) -> str | None:
    """Return the statement that a program holds in a string, the last of several; None where there is none.

    `is_program`: the text is set apart as a program's; otherwise a short string counts only where it is all of the text.

    >>> string_of_program('query = "SELECT \\\\"a\\\\" FROM t"', is_program=False)
    'SELECT "a" FROM t'
    """
    is_short = text.count('"""') + text.count("'''") <= _LONG_STRINGS_MAX
    long = [body for _, body in _LONG_STRING.findall(text) if starts_as_statement(body)] if is_short else []
    if long:
        return long[-1].strip()
    if (alone := _STRING_ALONE.match(text)) is not None and starts_as_statement(alone[2]):
        return _unescaped(alone[2])
    found = [next(filter(None, groups), "") for groups in _STRING.findall(text)] if is_program else []
    statements = [body for body in found if starts_as_statement(body)]
    return _unescaped(statements[-1]) if statements else None


def _unescaped(body: str) -> str:
    if "\\" not in body:
        return body.strip()
    body = body.replace("\\'", "'")
    try:
        return str(json.loads('"' + re.sub(r'(?<!\\)"', r"\"", body) + '"', strict=False)).strip()
    except ValueError:
        return body.strip()


def without_marks(text: str) -> str:
    """Return a text without the marks around all of it: backticks, asterisks, \\boxed{}.

    >>> without_marks("**SELECT a FROM t**"), without_marks("SELECT a FROM `t`")
    ('SELECT a FROM t', 'SELECT a FROM `t`')
    """
    bare = text.strip()
    if (boxed := _BOXED.match(bare.lstrip("$"))) is not None and starts_as_statement(boxed[1]):
        return boxed[1].strip()
    closed = bare.rstrip(";.")
    for mark in _AROUND:
        if closed.startswith(mark) and closed.endswith(mark) and _QUERY.match(closed, len(mark)):
            return closed[len(mark) : -len(mark)].strip()
    # A statement may end in a quoted name: only quotes around the whole, or one that nothing opened, are no part of it.
    ticks = len(bare) - len(bare.lstrip("`"))
    return without_stray_quote(bare.strip("`") if ticks and bare.endswith("`" * ticks) else bare).strip()


def without_stray_quote(text: str) -> str:
    return text.rstrip("`") if text.count("`") % 2 else text
