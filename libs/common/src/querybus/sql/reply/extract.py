"""One SQL text out of whatever a model said, or a Failure that says why there is none; nothing is executed or judged.

The order: the last block fenced as SQL, else the only fenced block, else a JSON or YAML answer
with an sql key, else the text from the first SELECT or WITH that parses. A statement that a model should never write
(DROP ...) is extracted as it stands: refusing it is the validator's work. Fragments are never joined. A reply longer
than REPLY_LENGTH_MAX is not read.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Final

from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.sql.parse import GRAMMARS, SQL_BYTES_MAX, Statement, parse
from querybus.sql.reply.asking import WORD, question_in
from querybus.sql.reply.blocks import (
    ANSWER_TAG,
    COMMENT,
    DATA_TAGS,
    FENCE,
    SQL_TAGS,
    answer_of,
    blocks_of,
    starts_as_statement,
    string_of_program,
    without_marks,
    without_stray_quote,
)
from querybus.sql.reply.first_keyword import correct_first_keyword
from querybus.sql.reply.keyed import json_objects, statements_in, yaml_statement
from querybus.sql.reply.placeholders import open_value
from querybus.sql.reply.typography import plain, unescaped
from querybus.text.disclosure import names_stores

REPLY_LENGTH_MAX: Final = 60_000
STARTS_TRIED_MAX: Final = 24
_RIGHT_KEYWORD: Final = re.compile(r"^[\s(]*(?:SELECT|WITH|INSERT|UPDATE|DELETE)\b", re.IGNORECASE | re.MULTILINE)
EXPLANATION_LENGTH_MAX: Final = 1_000

_EXPLANATION_KEYS: Final = ("explanation", "error", "message", "reason", "reply", "answer", "clarification", "question")

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
_CLAUSE_WORD = re.compile(r"\b(SELECT|FROM|WHERE|JOIN|GROUP BY|ORDER BY|VALUES|SET)\b")
_HEADING = re.compile(
    r"[\s#>*_-]*(explanation|note|notes|answer|result|output|this|it|the|here|sql|query|please)\b(?!\s*(\.|,|\(|AS\b))",
    re.IGNORECASE,
)
_FULL_WIDTH_START = re.compile("ＳＥＬＥＣＴ|ＷＩＴＨ|ｓｅｌｅｃｔ|ｗｉｔｈ|Ｓｅｌｅｃｔ|Ｗｉｔｈ")
_WORD_ALONE = re.compile(r"[\s(]*\w+[\s)]*")
# The prompt of a shell, a label or the number of the only item stands before a statement.
_OPENS_LINE = re.compile(r"(.*[:：])?|[\w-]+(=[#>]|[>#$])|#")
_ITEM = re.compile(r"\(?(\d+|[A-Za-z])[.)]")
_NEXT_ITEM = re.compile(r"\n[ \t]*\(?(\d+|[A-Za-z])[.)]\s")
_BEFORE_PART = re.compile(
    r"(\b(UNION|INTERSECT|EXCEPT|MINUS)(\s+(ALL|DISTINCT))?|([=<>,(]|\b(IN|EXISTS|AS|FROM|JOIN|ANY|ALL|NOT))\s*\()\s*\Z"
)
_NAMES_STATEMENT = re.compile(r"\b(is|be|sql|query|statement)\s*$", re.IGNORECASE)
_NAMED_QUERY = re.compile(r"SELECT\s[^\n]*?\sFROM\s|SELECT\s*\n|WITH\s+\w+\s+AS\s*\(", re.IGNORECASE)
_LAST_LINE = re.compile(r"\n([ \t]*(GO|go|/)\s*|[A-Z\u3400-\u9fff][^\n]*[.。!！:：]\s*)\Z")
_LEFT_OPEN = re.compile(
    r"(\b(BY|SELECT|DISTINCT|FROM|WHERE|AND|OR|NOT|ON|HAVING|LIMIT|OFFSET|JOIN|AS|IN|LIKE|BETWEEN|WHEN|THEN|ELSE|UNION|ALL"
    r"|INTERSECT|EXCEPT|MINUS)|[,(=<>+*/|-])\s*\Z",
    re.IGNORECASE,
)
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
    text = answer_of(reply[:REPLY_LENGTH_MAX])
    text = _FULL_WIDTH_START.sub(lambda word: unicodedata.normalize("NFKC", word[0]), text)
    is_cut = is_cut or len(reply) > REPLY_LENGTH_MAX
    if text.startswith("{") and not is_cut and (result := _structured(text, dialect)) is not None:
        return result
    blocks = blocks_of(text, closed_only=is_cut)
    sql_blocks = [body for tag, body in blocks if tag in SQL_TAGS and starts_as_statement(body)]
    # What is fenced as SQL is a statement whatever its first word is: it fails as one, and can be repaired as one.
    sql_blocks = sql_blocks or [body for tag, body in blocks if tag in SQL_TAGS and not _holds_no_sql(body)]
    if sql_blocks:
        return _one_statement(sql_blocks[-1], dialect)
    if len(blocks) == 1:
        result = _of_block(*blocks[0], dialect)
        if result is not None:
            return result
    if is_cut:
        return Failure.of(FailureCode.UNKNOWN_GENERATION_FAILURE, "the reply was cut at its token limit")
    bare = without_marks(text) if not blocks else None
    for candidate in (*(body for _, body in reversed(blocks)), *([bare] if bare else ())):
        result = _structured(candidate, dialect) or _in_program(candidate, dialect)
        # Before running text is searched: that would begin at the next SELECT, which is another statement.
        result = result or _misspelt(candidate, dialect) or _in_prose(candidate, dialect)
        if result is not None:
            return result
    return no_sql(text)


def _holds_no_sql(text: str) -> bool:
    """Whether a block fenced as SQL says in words, in a comment or in a structure why it holds none."""
    bare = COMMENT.sub("", text).strip()
    is_query = correct_first_keyword(bare) is not None or _CLAUSE_WORD.search(bare) is not None
    return not bare or bare[0] in "{[" or re.search(r"[A-Za-z]", bare) is None or (not is_query and _is_prose(bare))


def _misspelt(text: str, dialect: Dialect) -> str | None:
    """Return the statement that a text would be if its first keyword were spelled right, as it is written; else None."""
    for start in (0, *(match.end() for match in _BLANK_LINE.finditer(text))):
        if _RIGHT_KEYWORD.search(text, 0, start) is not None:
            # What goes on behind an empty line is a part of that statement.
            return None
        correct = correct_first_keyword(text[start:])
        if correct is not None and not _reads_as_prose(correct):
            length = len(correct) - len(text[start:])
            result = _trimmed(correct, dialect)
            if isinstance(result, str):
                return text[start : start + len(result) - length].strip()
    return None


def no_sql(text: str) -> Failure:
    """Return why a reply without SQL holds none: it asks, it misses data, it explains, or it says nothing.

    >>> no_sql("Departures or arrivals?").code.value
    'ambiguous_question'
    """
    words = _explanation(text)
    asking = question_in(words)
    if asking is None and len(WORD.findall(words)) < 4:
        return Failure.of(FailureCode.UNKNOWN_GENERATION_FAILURE, "the reply holds neither SQL nor an explanation")
    # What is missing is stated, not asked: "customers that have no order, or all?" misses nothing.
    stated = words if asking is None else words.replace(asking, " ")
    if _MISSING.search(stated) or _misses_a_store(stated):
        return Failure.of(FailureCode.MISSING_DATABASE_INFO, words)
    if asking is not None or _UNCLEAR.search(words):
        return Failure.of(FailureCode.AMBIGUOUS_QUESTION, words)
    return Failure.of(FailureCode.LLM_EXPLANATION, words)


def _misses_a_store(words: str) -> bool:
    """Whether one sentence names a table, a column or the like and says that something is not there."""
    return any(_ABSENT.search(part) and names_stores(part) for part in re.split(r"(?<=[.!?])\s|[。！？\n]", words))


_ABSENT: Final = re.compile(
    r"(?:\b(?:not|never|cannot|unable\s+to|failed\s+to)|n['’]t)(?:\s+\w+){0,2}\s+"
    r"(?:find|found|locate\w*|exist\w*|available|present|contain\w*|includ\w*|hold|holds|have|has|store\w*|list\w*|known?|recogni[sz]ed)\b"
    r"|\b(?:missing|lacks?|lacking|absent|unknown|unavailable|non-?existent|no\s+such|nothing|none)\b"
    r"|没有|没能|未能?|缺|找不到|查不到|不存在|不包含|查无",
    re.IGNORECASE,
)
_MISSING: Final = re.compile(
    r"\b(no|not any|without)\s+(\w+\s+){0,3}(tables?|columns?|fields?|data|information)\b"
    r"|\b(does|do|did)(\s+not|n['’]t)\s+(\w+\s+){0,2}(contain|include|have|exist|store|provide)"
    r"|\b(is|are)(\s+not|n['’]t)\s+(\w+\s+)?(available|present|found|included|stored|part of)"
    r"|\b(schema|database|tables?)\b[^.]{0,60}\b(lacks?|missing)\b|\bmissing\s+(tables?|columns?|data)"
    r"|(没有|缺少|缺乏|未找到|找不到|不存在|不包含|无)[^。！？]{0,20}(表|字段|列|数据|信息|记录)"
    r"|(表|字段|列|数据|信息)[^。！？]{0,12}(不存在|缺失|没有找到|未包含)",
    re.IGNORECASE,
)
_UNCLEAR: Final = re.compile(
    r"\b(clarify|clarification|ambiguous|unclear|be more specific|more (details?|information|context)|rephrase)\b"
    r"|\b(could|can|would|please)\s+(you\s+)?(please\s+)?(specify|tell me|let me know|provide|explain)\b"
    r"|不明确|不清楚|不够具体|歧义|模糊|(请|需要)[^。！？]{0,10}(说明|明确|澄清|补充|具体|详细|提供|确认)|更多(的)?(信息|细节)",
    re.IGNORECASE,
)


def _of_block(tag: str, body: str, dialect: Dialect) -> str | Failure | None:
    if tag in DATA_TAGS or body[:1] in "{[":
        return _structured(body, dialect)
    if tag != ANSWER_TAG and starts_as_statement(body):
        return _one_statement(body, dialect)
    return _structured(body, dialect) or _in_program(body, dialect, is_program=tag not in ("", ANSWER_TAG))


def _in_program(text: str, dialect: Dialect, *, is_program: bool = False) -> str | Failure | None:
    if starts_as_statement(text) or (sql := string_of_program(text, is_program=is_program)) is None:
        return None
    is_query = is_program or (_is_statement(sql, dialect) and not _reads_as_prose(sql))
    return _one_statement(sql, dialect) if is_query else None


def _structured(text: str, dialect: Dialect) -> str | Failure | None:
    """Return what an answer in JSON or YAML holds; None if it is neither or has no such key."""
    objects = list(json_objects(text))
    found = [
        (sql, is_sql)
        for value, is_sql in (value for item in objects for value in statements_in(item))
        if starts_as_statement(sql := _unfenced(value))
        and (is_sql or (_is_statement(sql, dialect) and not _reads_as_prose(sql)))
    ]
    if found and text.lstrip().startswith("[") and len(dict(found)) > 1:
        return Failure.of(FailureCode.MULTI_STATEMENT, f"{len(dict(found))} statements in one reply")
    if objects:
        return _one_statement(found[0][0], dialect) if found else None
    sql = yaml_statement(text)
    return _until_prose(sql, dialect) if sql and starts_as_statement(sql) else None


def _unfenced(text: str) -> str:
    blocks = blocks_of(text, closed_only=False)
    return blocks[-1][1] if blocks else text.strip()


def _one_statement(text: str, dialect: Dialect) -> str | Failure:
    """Return the first complete statement of a text that is meant to be SQL; more than one is a Failure."""
    text = unescaped(text)
    pieces = _split(text, dialect)
    if not pieces or _WORD_ALONE.fullmatch(pieces[0]):
        return Failure.of(FailureCode.UNKNOWN_GENERATION_FAILURE, "an empty statement")
    # The same once more is nothing further.
    first = "".join(pieces[0].split())
    further = [piece for piece in pieces[1:] if "".join(piece.split()) != first and _is_statement(piece, dialect)]
    if further:
        return Failure.of(FailureCode.MULTI_STATEMENT, f"{1 + len(further)} statements in one reply")
    return pieces[0]


def _in_prose(text: str, dialect: Dialect) -> str | Failure | None:
    """Return the statement in running text: the whole of it, or from the first word of a query that parses."""
    if _CHANGING_START.match(text) or (
        re.match(r"\(*\s*(SELECT|WITH)\b", text, re.IGNORECASE)
        and not _reads_as_prose(text)
        and (_CLAUSE_WORD.search(text.upper()) is not None or not _is_prose(text))
    ):
        return _until_prose(text, dialect)
    changing = {match.start() for match in _CHANGING_START.finditer(text)}
    starts = sorted({*changing, *(match.start() for match in _QUERY_WORD.finditer(text))})
    broken: str | None = None
    for start in starts[:STARTS_TRIED_MAX]:
        line = text[text.rfind("\n", 0, start) + 1 : start].strip()
        before = line.rstrip(" \t>*-`\"'")
        opens_line = any(_OPENS_LINE.fullmatch(part) for part in (before, line))
        opens_line |= bool(_ITEM.fullmatch(line)) and not _NEXT_ITEM.search(text, start)
        # "I cannot DROP TABLE x" talks about a statement; "SELECT" in capitals within a line still is one.
        is_named = (_NAMES_STATEMENT.search(before) or line.endswith("`")) and _NAMED_QUERY.match(text, start)
        if not opens_line and not is_named and (start in changing or not text[start : start + 4].isupper()):
            continue
        if start not in changing and (_reads_as_prose(text[start:]) or _is_middle(text, start)):
            continue
        spans = [*_marked(text, start), without_stray_quote(text[start:])]
        for span in spans:
            result = _only(span, dialect)
            if result is not None:
                return result
        if broken is None and opens_line and _BROKEN_START.match(text, start):
            broken = text[start:]
    # What nobody can read is a statement all the same: it fails as one, and can be repaired as one.
    return None if broken is None else _until_prose(broken, dialect)


def _is_middle(text: str, start: int) -> bool:
    """Return whether a query goes on here that began before: a statement without its beginning is another statement."""
    before = text[:start]
    if _BEFORE_PART.search(before):
        return True
    if text[start : start + 4].upper() not in ("FROM", "VALU"):
        return False
    paragraph = _BLANK_LINE.split(before)[-1].rstrip()
    return bool(paragraph) and paragraph[-1] not in ":：.。!?"


def _marked(text: str, start: int) -> list[str]:
    """Return what a mark before a statement and the next of its kind enclose, the longest first."""
    mark = next((mark for mark in ("**", "`", '"', "'") if text.endswith(mark, 0, start)), None)
    if mark is None or re.search(rf"{re.escape(mark)}\s*\+", text[start:]):
        return []
    rest = text[start:]
    ends = [found.start() for found in re.finditer(re.escape(mark), rest)]
    return [rest[:end] for end in dict.fromkeys((*ends[-1:], *ends[:1]))]


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
    if re.search(r"[\u3400-\u9fff]", bare) or _HEADING.match(bare) or re.match(r"[A-Z][A-Za-z ]{1,30}:(\s|$)", bare):
        return True
    if re.search(r"[=<>]|::|\|\||\bAS\s*\(|\(\s*SELECT\b", bare, re.IGNORECASE):
        return False
    words = re.findall(r"[A-Za-z][\w'’-]*", bare)
    return len(words) >= 3 and (bare.rstrip().endswith((".", ":", "!", "?", ")")) or len(words) >= 5)


def _reads_as_prose(text: str) -> bool:
    first_line = re.split(r"[\n;]", text, maxsplit=1)[0][:200]
    words = COMMENT.sub("", re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "''", first_line))
    is_upper = words.lstrip("( ")[:4].isupper()
    return _PROSE_WORD.search(words) is not None and not (is_upper and _UPPER_QUERY.search(words))


def _trimmed(text: str, dialect: Dialect) -> str | Failure | None:
    """Return the longest start of the text, cut at a semicolon or a blank line, that parses; None if none does."""
    text = unescaped(text)
    pieces = _split(text, dialect)
    if len(pieces) > 1 and _is_statement(pieces[0], dialect):
        return _one_statement(text, dialect)
    whole = pieces[0] if pieces else text
    last = _LAST_LINE.search(whole)
    if last is not None and not _CONTINUES.match(last[0]):
        rest = whole[: last.start()]
        if not _LEFT_OPEN.search(rest) and _is_statement(rest, dialect):
            whole = rest
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
    bare = COMMENT.sub("", text)
    if _CHANGING_START.match(bare):
        return True
    if _QUERY_START.match(bare) is None:
        return False
    parsed = parse(text, dialect)
    # The parser takes the word SELECT alone for a query.
    return isinstance(parsed, Statement) and not (isinstance(parsed.tree, exp.Select) and not parsed.tree.expressions)


def _explanation(text: str) -> str:
    answer = next(json_objects(text), None)
    if answer is not None:
        said = [
            str(answer[key]) for key in _EXPLANATION_KEYS if isinstance(answer.get(key), str) and answer[key].strip()
        ]
        text = " ".join(said)
    text = FENCE.sub(" ", text)
    return " ".join(text.split())[:EXPLANATION_LENGTH_MAX]
