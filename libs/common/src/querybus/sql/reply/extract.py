"""One SQL text out of whatever a model said, or a Failure that says why there is none; nothing is executed or judged.

The order: the last block fenced as SQL, else the only fenced block, else a JSON or YAML answer
with an sql key, else the text from the first SELECT or WITH that parses. A statement that a model should never write
(DROP ...) is extracted as it stands: refusing it is the validator's work. Fragments are never joined. A reply longer
than REPLY_LENGTH_MAX is not read.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any, Final, cast

from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.sql.parse import GRAMMARS, SQL_BYTES_MAX, Statement, parse
from querybus.sql.reply.placeholders import open_value
from querybus.sql.reply.typography import plain, unescaped

REPLY_LENGTH_MAX: Final = 60_000
STARTS_TRIED_MAX: Final = 24
EXPLANATION_LENGTH_MAX: Final = 1_000

_THOUGHTS = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^[ \t>]*(```+|~~~+)[ \t]*([\w.+-]*)[^\n]*$", re.MULTILINE)
_SQL_TAGS_WORDS = (
    "sql sqlite sqlite3 postgres postgresql pgsql plpgsql plsql tsql mysql mariadb duckdb clickhouse oracle "
    "snowflake bigquery"
)
_SQL_TAGS: Final = frozenset(_SQL_TAGS_WORDS.split())
_DATA_TAGS: Final = frozenset({"json", "json5", "jsonc", "yaml", "yml"})
_SQL_KEYS: Final = ("sql", "sql_query", "sqlquery", "query", "statement")
_EXPLANATION_KEYS: Final = ("explanation", "error", "message", "reason", "reply", "answer", "clarification", "question")

_COMMENT = re.compile(r"\A(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?\*/|#[^\n]*(?:\n|\Z))+", re.DOTALL)
_STATEMENT_WORD = re.compile(
    r"\(*\s*(SELECT|WITH|FROM|VALUES|TABLE|INSERT|UPDATE|DELETE|DROP|CREATE|ALTER|TRUNCATE|MERGE|REPLACE|GRANT|REVOKE"
    r"|EXPLAIN|DESCRIBE|DESC|SHOW|PRAGMA|CALL|EXECUTE|EXEC|SET|USE|ATTACH|DETACH|VACUUM|COPY|BEGIN|COMMIT|ROLLBACK|LOCK"
    r"|ANALYZE|REINDEX|LOAD|INSTALL|EXPORT|IMPORT|PIVOT|SUMMARIZE|RENAME|DO|DECLARE)\b",
    re.IGNORECASE,
)
# In running text a statement has to look like one: two words of SQL that prose does not put side by side.
_CHANGING_START = re.compile(
    r"(INSERT\s+INTO|UPDATE\s+[\w.\"`\[\]]+\s+SET|DELETE\s+FROM|TRUNCATE\s+(TABLE\s+)?[\w\"`]+|MERGE\s+INTO|REPLACE\s+INTO"
    r"|(DROP|CREATE|ALTER)\s+(OR\s+REPLACE\s+)?(TEMP\w*\s+|UNIQUE\s+|MATERIALIZED\s+)?"
    r"(TABLE|VIEW|INDEX|DATABASE|SCHEMA|TRIGGER|USER|ROLE|FUNCTION|PROCEDURE|SEQUENCE)\b"
    r"|GRANT\s+\w+|REVOKE\s+\w+|PRAGMA\s+\w+|ATTACH\s+(DATABASE\s+)?['\"]|EXPLAIN\s+(QUERY\s+PLAN\s+)?SELECT)",
    re.IGNORECASE,
)
_QUERY_START = re.compile(r"\(*\s*(SELECT|WITH|FROM|VALUES|TABLE)\b", re.IGNORECASE)
_QUERY_WORD = re.compile(r"\b(SELECT|WITH|FROM|VALUES)\b", re.IGNORECASE)
_UPPER_QUERY = re.compile(r"\bFROM\s+[\w\"`\['(.]+|\bWITH\s+(RECURSIVE\s+)?[\w\"`]+\s*(\(|AS\b)")
_SENTENCE_END = re.compile(r"(?<=[\w)\"'`])[.。](?=\s+[A-Z][a-z']+\s|\s*\Z|\s*[\u4e00-\u9fff])")
_CONTINUES = re.compile(
    r"\s*(\)|,|--|/\*|(SELECT|FROM|WHERE|GROUP|ORDER|HAVING|LIMIT|OFFSET|FETCH|UNION|INTERSECT|EXCEPT|MINUS|JOIN|INNER|LEFT"
    r"|RIGHT|FULL|CROSS|NATURAL|ON|USING|AND|OR|WINDOW|QUALIFY|WHEN|ELSE|END|AS)\b)",
    re.IGNORECASE,
)
_HEADED_QUERY = re.compile(r"^[ \t]*#{1,6}[^\n]*\n\s*(?=\(*\s*(SELECT|WITH)\b)", re.IGNORECASE | re.MULTILINE)
_BROKEN_START = re.compile(r"\(*\s*(SELECT\s[\s\S]*\sFROM\s|WITH\s[\s\S]*\sAS\s*\()", re.IGNORECASE)
_HEADING = re.compile(
    r"[\s#>*_-]*(explanation|note|notes|answer|result|output|this|it|the|here|sql|query|please)\b(?!\s*(\.|,|\(|AS\b))",
    re.IGNORECASE,
)
_FULL_WIDTH_START = re.compile("ＳＥＬＥＣＴ|ＷＩＴＨ|ｓｅｌｅｃｔ|ｗｉｔｈ|Ｓｅｌｅｃｔ|Ｗｉｔｈ")
_WORD_ALONE = re.compile(r"[\s(]*\w+[\s)]*")
_LINKING_LINE = re.compile(r"\s*(and|or|then)\b[^\n=<>()]*\n\s*(SELECT|WITH)\b", re.IGNORECASE)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
# "Select the customers from the list" parses as SQL: an article is a column, the list a table.
_PROSE_WORD = re.compile(r"\b(the|this|that|these|those|your|our|my|an|each|every|which|please)\b", re.IGNORECASE)


def extract(reply: str, dialect: Dialect, *, is_cut: bool = False) -> str | Failure:
    """Return the one SQL text of a reply, without fences, prose and trailing semicolon, or a Failure.

    `is_cut`: the reply reached its token limit; then only a closed fenced block counts, because half a condition
    would still parse. Failures: `multi_statement` for several statements, else one of the four generation codes with
    the model's own words (bounded) as detail.

    >>> extract("Here you are:\\n```sql\\nSELECT 1;\\n```", Dialect.SQLITE)
    'SELECT 1'
    """
    result = _extracted(reply, dialect, is_cut=is_cut)
    if isinstance(result, str):
        result = _tidied(result, dialect)
    if isinstance(result, str) and (left_open := open_value(result)) is not None:
        return Failure.of(FailureCode.AMBIGUOUS_QUESTION, f"the statement leaves a value open: {left_open}")
    return result


def _tidied(sql: str, dialect: Dialect) -> str:
    """Return a statement in plain typography; a terminator that was spelled another way ends it."""
    spelled = plain(sql)
    if spelled == sql:
        return sql
    pieces = _split(spelled, dialect)
    return pieces[0] if len(pieces) == 1 else spelled


def _extracted(reply: str, dialect: Dialect, *, is_cut: bool) -> str | Failure:
    text = _THOUGHTS.sub(" ", reply[:REPLY_LENGTH_MAX]).replace("\ufeff", "").replace("\r\n", "\n").strip()
    text = _FULL_WIDTH_START.sub(lambda word: unicodedata.normalize("NFKC", word[0]), text)
    is_cut = is_cut or len(reply) > REPLY_LENGTH_MAX
    if text.startswith("{") and not is_cut and (result := _structured(text, dialect)) is not None:
        return result
    blocks = _fenced(text, closed_only=is_cut)
    sql_blocks = [body for tag, body in blocks if tag in _SQL_TAGS and _starts_as_statement(body)]
    if sql_blocks:
        return _one_statement(sql_blocks[-1], dialect)
    if len(blocks) == 1:
        result = _of_block(*blocks[0], dialect)
        if result is not None:
            return result
    if is_cut:
        return Failure.of(FailureCode.UNKNOWN_GENERATION_FAILURE, "the reply was cut at its token limit")
    bare = _outside_fences(text) if not blocks else None
    for candidate in (*(body for _, body in reversed(blocks)), *([bare] if bare else ())):
        result = _structured(candidate, dialect) or _in_prose(candidate, dialect)
        if result is not None:
            return result
    return no_sql(text)


def no_sql(text: str) -> Failure:
    """Return why a reply without SQL holds none: it asks, it misses data, it explains, or it says nothing.

    >>> no_sql("Could you clarify which year you mean?").code.value
    'ambiguous_question'
    """
    words = _explanation(text)
    if len(re.findall(r"[\u4e00-\u9fff]|[^\W\d_\u4e00-\u9fff]{2,}", words)) < 4:
        return Failure.of(FailureCode.UNKNOWN_GENERATION_FAILURE, "the reply holds neither SQL nor an explanation")
    for code, pattern in _WHY:
        if pattern.search(words):
            return Failure.of(code, words)
    return Failure.of(FailureCode.LLM_EXPLANATION, words)


_WHY: Final = (
    (
        FailureCode.MISSING_DATABASE_INFO,
        re.compile(
            r"\b(no|not any|without)\s+(\w+\s+){0,3}(tables?|columns?|fields?|data|information)\b"
            r"|\b(does|do|did)(\s+not|n['’]t)\s+(\w+\s+){0,2}(contain|include|have|exist|store|provide)"
            r"|\b(is|are)(\s+not|n['’]t)\s+(\w+\s+)?(available|present|found|included|stored|part of)"
            r"|\b(schema|database|tables?)\b[^.]{0,60}\b(lacks?|missing)\b|\bmissing\s+(tables?|columns?|data)"
            r"|(没有|缺少|缺乏|未找到|找不到|不存在|不包含|无)[^。！？]{0,20}(表|字段|列|数据|信息|记录)"
            r"|(表|字段|列|数据|信息)[^。！？]{0,12}(不存在|缺失|没有找到|未包含)",
            re.IGNORECASE,
        ),
    ),
    (
        FailureCode.AMBIGUOUS_QUESTION,
        re.compile(
            r"\b(clarify|clarification|ambiguous|unclear|be more specific|more (details?|information|context)|rephrase)\b"
            r"|\b(could|can|would|please)\s+(you\s+)?(please\s+)?(specify|tell me|let me know|provide|explain)\b"
            r"|\b(which|what)\b[^.?]{0,80}\b(do|did|would) you (mean|want|need)"
            r"|不明确|不清楚|不够具体|歧义|模糊|(请|需要)[^。！？]{0,10}(说明|明确|澄清|补充|具体|详细|提供|确认)|更多(的)?(信息|细节)",
            re.IGNORECASE,
        ),
    ),
)


def _fenced(text: str, *, closed_only: bool) -> list[tuple[str, str]]:
    """Return (tag, body) of each fenced block; a last block that is never closed counts unless `closed_only`."""
    blocks: list[tuple[str, str]] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]) and not fence[2]:
            blocks.append((opened[2].lower(), text[opened.end() : fence.start()].strip()))
            opened = None
    if opened is not None and not closed_only:
        blocks.append((opened[2].lower(), text[opened.end() :].strip().removesuffix("```").strip()))
    if not blocks and not closed_only:
        # ```SELECT 1``` on one line is no fence by Markdown's rules, but models write it.
        blocks += [("", body.strip()) for body in re.findall(r"```(?:sql\b)?([^`]+)```", text, re.IGNORECASE)]
    return [(tag, body) for tag, body in blocks if body]


def _outside_fences(text: str) -> str:
    bare = text.strip()
    # A statement may end in a quoted name: only quotes around the whole, or one that nothing opened, are no part of it.
    ticks = len(bare) - len(bare.lstrip("`"))
    return _without_stray_quote(bare.strip("`") if ticks and bare.endswith("`" * ticks) else bare).strip()


def _without_stray_quote(text: str) -> str:
    return text.rstrip("`") if text.count("`") % 2 else text


def _of_block(tag: str, body: str, dialect: Dialect) -> str | Failure | None:
    if tag in _DATA_TAGS or body[:1] in "{[":
        return _structured(body, dialect)
    if _starts_as_statement(body):
        return _one_statement(body, dialect)
    return _structured(body, dialect)


def _starts_as_statement(text: str) -> bool:
    return _STATEMENT_WORD.match(_COMMENT.sub("", text)) is not None


def _structured(text: str, dialect: Dialect) -> str | Failure | None:
    """Return what an answer in JSON or YAML holds; None if it is neither or has no such key."""
    answer = _json_object(text)
    if answer is None:
        sql = _yaml_sql(text)
        return _until_prose(sql, dialect) if sql and _starts_as_statement(sql) else None
    lower = {name.lower(): value for name, value in answer.items()}
    for key in _SQL_KEYS:
        value = lower.get(key)
        if (
            isinstance(value, list)
            and value
            and all(isinstance(element, str) for element in cast("list[object]", value))
        ):
            statements = cast("list[str]", value)
            value = (
                statements[0]
                if len(statements) == 1
                else ";\n".join(statement.rstrip("; \n") for statement in statements)
            )
        if isinstance(value, str) and _starts_as_statement(_unfenced(value)):
            return _one_statement(_unfenced(value), dialect)
    return None


def _unfenced(text: str) -> str:
    blocks = _fenced(text, closed_only=False)
    return blocks[-1][1] if blocks else text.strip()


def _json_object(text: str) -> dict[str, Any] | None:
    decoder = json.JSONDecoder(strict=False)
    for start in [result.start() for result in re.finditer(r"\{\s*\"", text)][:8]:
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        return cast("dict[str, Any]", value)
    return None


_YAML_KEY = re.compile(
    r"^(?P<indent>[ \t]*)[\"']?(?:sql|sql_query|query)[\"']?[ \t]*:[ \t]*(?P<rest>[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)


def _yaml_sql(text: str) -> str | None:
    result = _YAML_KEY.search(text)
    if result is None:
        return None
    rest = result["rest"].strip()
    if rest[:1] in ("'", '"'):
        return _yaml_quoted(text[result.start("rest") :].lstrip())
    is_block = not rest or re.fullmatch(r"[|>][+-]?\d?", rest) is not None
    lines: list[str] = [] if is_block else [rest]
    for line in text[result.end() :].split("\n")[1:]:
        is_outside = bool(line.strip()) and len(line) - len(line.lstrip()) <= len(result["indent"])
        # "SQL: SELECT ..." is more often a label than YAML: its statement goes on wherever the next line begins.
        if is_outside and (is_block or _NEXT_KEY.match(line)):
            break
        lines.append(line)
    return "\n".join(lines).strip() or None


_NEXT_KEY = re.compile(r"[ \t]*[\"']?[A-Za-z_]\w*[\"']?[ \t]*:(\s|\Z)")
_YAML_QUOTED: Final = (re.compile(r"'((?:[^']|'')*)'"), re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL))


_LINE_JOINED: Final = re.compile(r"\\\n[ \t]*")


def _yaml_quoted(text: str) -> str | None:
    """Return a quoted scalar at the start of the text, over any number of lines; None if its quote is never closed."""
    single = _YAML_QUOTED[0].match(text)
    if single is not None:
        return _unfolded(single[1].replace("''", "'"))
    double = _YAML_QUOTED[1].match(text)
    if double is None:
        return None
    joined = _unfolded(_LINE_JOINED.sub("", double[1])).replace("\\ ", " ")
    try:
        return str(json.loads(f'"{joined}"', strict=False))
    except ValueError:
        return joined


def _unfolded(text: str) -> str:
    """Return a folded text as it was: a line end stands for a space, an empty line for a line end."""
    return re.sub(r"[ \t]*\n[ \t]*(\n[ \t]*)*", lambda ends: "\n" * (ends[0].count("\n") - 1) or " ", text)


def _one_statement(text: str, dialect: Dialect) -> str | Failure:
    """Return the first complete statement of a text that is meant to be SQL; more than one is a Failure."""
    text = unescaped(text)
    pieces = _split(text, dialect)
    if not pieces or _WORD_ALONE.fullmatch(pieces[0]):
        return Failure.of(FailureCode.UNKNOWN_GENERATION_FAILURE, "an empty statement")
    further = [piece for piece in pieces[1:] if _is_statement(piece, dialect)]
    if further:
        return Failure.of(FailureCode.MULTI_STATEMENT, f"{1 + len(further)} statements in one reply")
    return pieces[0]


def _in_prose(text: str, dialect: Dialect) -> str | Failure | None:
    """Return the statement in running text: the whole of it, or from the first word of a query that parses."""
    if _CHANGING_START.match(text) or (
        re.match(r"\(*\s*(SELECT|WITH)\b", text, re.IGNORECASE) and not _reads_as_prose(text)
    ):
        return _until_prose(text, dialect)
    changing = {match.start() for match in _CHANGING_START.finditer(text)}
    starts = sorted({*changing, *(match.start() for match in _QUERY_WORD.finditer(text))})
    broken: str | None = None
    for start in starts[:STARTS_TRIED_MAX]:
        before = text[text.rfind("\n", 0, start) + 1 : start].rstrip(" \t>*-`")
        opens_line = not before or before[-1] in ":："
        # "I cannot DROP TABLE x" talks about a statement; "SELECT" in capitals within a line still is one.
        if not opens_line and (start in changing or not text[start : start + 4].isupper()):
            continue
        if start not in changing and _reads_as_prose(text[start:]):
            continue
        spans = [_without_stray_quote(text[start:])]
        if start and text[start - 1] == "`":
            spans.insert(0, text[start:].split("`", 1)[0])
        for span in spans:
            result = _only(span, dialect)
            if result is not None:
                return result
        if broken is None and opens_line and _BROKEN_START.match(text, start):
            broken = text[start:]
    # What nobody can read is a statement all the same: it fails as one, and can be repaired as one.
    return None if broken is None else _until_prose(broken, dialect)


def _until_prose(text: str, dialect: Dialect) -> str | Failure:
    """Return the statement that a text begins with, broken or not: no line of it is dropped, prose behind it is."""
    result = _only(text, dialect)
    if result is not None:
        return result
    end = next((end.start() for end in _BLANK_LINE.finditer(text) if _is_prose(text[end.end() :])), len(text))
    return _one_statement(text[:end], dialect)


def _only(text: str, dialect: Dialect) -> str | Failure | None:
    """Return the statement that a text begins with, if no heading with another follows; None if none parses."""
    result = _trimmed(text, dialect)
    if isinstance(result, str) and _further_headed(text, dialect):
        return Failure.of(FailureCode.MULTI_STATEMENT, "several statements in one reply")
    return result


def _further_headed(text: str, dialect: Dialect) -> bool:
    """Return whether another heading with a statement of its own follows."""
    return any(_is_statement(_until_blank(text[heading.end() :]), dialect) for heading in _HEADED_QUERY.finditer(text))


def _until_blank(text: str) -> str:
    return re.split(r"\n[ \t]*(?:\n|#)", text, maxsplit=1)[0].rstrip().rstrip(";")


def _is_prose(text: str) -> bool:
    """Return whether a text goes on as a sentence, a heading or a list, and not as SQL."""
    line = text.strip().split("\n", 1)[0][:400]
    if _CONTINUES.match(line) or line[:1] in tuple("=<>+/|,.%"):
        return False
    bare = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "", line)
    if re.search(r"[\u3400-\u9fff]", bare) or _HEADING.match(bare):
        return True
    if re.search(r"[=<>]|::|\|\||\bAS\s*\(|\(\s*SELECT\b", bare, re.IGNORECASE):
        return False
    words = re.findall(r"[A-Za-z][\w'’-]*", bare)
    return len(words) >= 3 and (bare.rstrip().endswith((".", ":", "!", "?", ")")) or len(words) >= 5)


def _reads_as_prose(text: str) -> bool:
    first_line = text.split("\n", 1)[0][:200]
    words = _COMMENT.sub("", re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "''", first_line))
    is_upper = words.lstrip("( ")[:4].isupper()
    return _PROSE_WORD.search(words) is not None and not (is_upper and _UPPER_QUERY.search(words))


def _trimmed(text: str, dialect: Dialect) -> str | Failure | None:
    """Return the longest start of the text, cut at a semicolon or a blank line, that parses; None if none does."""
    text = unescaped(text)
    pieces = _split(text, dialect)
    if len(pieces) > 1 and _is_statement(pieces[0], dialect):
        return _one_statement(text, dialect)
    whole = pieces[0] if pieces else text
    # "FROM t. The answer" would parse as schema, table and alias.
    sentence = _SENTENCE_END.search(whole)
    if sentence is not None and _is_statement(whole[: sentence.start()], dialect):
        return whole[: sentence.start()].strip()
    ends = [result.start() for result in _BLANK_LINE.finditer(whole)][:12]
    for number, end in enumerate(ends):
        if not _goes_on(whole, end, dialect) and _is_statement(whole[:end], dialect):
            first = whole[:end].strip()
            if any(_is_further(whole[start:].lstrip(), first, dialect) for start in ends[number:]):
                return Failure.of(FailureCode.MULTI_STATEMENT, "several statements in one reply")
            return first
    if _is_statement(whole, dialect):
        return whole.strip()
    lines = whole.split("\n")
    for count in range(len(lines) - 1, max(0, len(lines) - 13), -1):
        if _is_statement("\n".join(lines[:count]), dialect) and _is_prose("\n".join(lines[count:])):
            return "\n".join(lines[:count]).strip()
    return None


def _is_further(text: str, first: str, dialect: Dialect) -> bool:
    """Return whether a paragraph is a statement of its own, and not a part of the first that is spoken of."""
    if _CHANGING_START.match(text) is not None:
        return True
    paragraph = _BLANK_LINE.split(text, maxsplit=1)[0]
    is_query = _QUERY_START.match(paragraph) is not None and not _reads_as_prose(paragraph)
    return is_query and "".join(paragraph.split()) not in "".join(first.split()) and _is_statement(paragraph, dialect)


def _goes_on(whole: str, end: int, dialect: Dialect) -> bool:
    """Return whether a statement goes on behind a blank line: with a word of SQL, or with what it reads on as a whole."""
    # "And" or "or this one:" between two statements is prose.
    if _CONTINUES.match(whole, end) and _LINKING_LINE.match(whole, end) is None:
        return True
    return (
        not _is_prose(whole[end:])
        and _QUERY_START.match(whole[end:].lstrip()) is None
        and _is_statement(whole, dialect)
    )


def _tokens(text: str, dialect: Dialect) -> list[Any] | None:
    """Return the tokens, or None for a text that cannot be split into words."""
    if len(text) > SQL_BYTES_MAX:
        return None
    try:
        return list(GRAMMARS[dialect].tokenize(text))
    except SqlglotError:
        return None


def _split(text: str, dialect: Dialect) -> list[str]:
    """Return the pieces between semicolons, literals and comments respected; the text itself if it has no tokens."""
    tokens = _tokens(text, dialect)
    if tokens is None:
        return [piece for piece in (text.strip().rstrip(";").rstrip(),) if piece]
    pieces: list[str] = []
    start = 0
    seen = False
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            if seen:
                pieces.append(text[start : token.start].strip())
            start, seen = token.end + 1, False
        else:
            seen = True
    if seen:
        pieces.append(text[start:].strip())
    return pieces


def _is_statement(text: str, dialect: Dialect) -> bool:
    """Return whether the text is one complete statement; what it would do does not matter here."""
    bare = _COMMENT.sub("", text)
    if _CHANGING_START.match(bare):
        return True
    if _QUERY_START.match(bare) is None:
        return False
    parsed = parse(text, dialect)
    # The parser takes the word SELECT alone for a query.
    return isinstance(parsed, Statement) and not (isinstance(parsed.tree, exp.Select) and not parsed.tree.expressions)


def _explanation(text: str) -> str:
    answer = _json_object(text)
    if answer is not None:
        lower = {name.lower(): value for name, value in answer.items()}
        said = [str(lower[key]) for key in _EXPLANATION_KEYS if isinstance(lower.get(key), str) and lower[key].strip()]
        text = " ".join(said)
    text = _FENCE.sub(" ", text)
    return " ".join(text.split())[:EXPLANATION_LENGTH_MAX]
