"""Extraction is a table: what a model said, and the one SQL text or the reason why there is none."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.sql.reply.extract import extract

FOUND = {
    "a fence": ("```sql\nSELECT 1;\n```", "SELECT 1"),
    "a fence in prose": ("Sure!\n\n```sql\nSELECT a FROM t\n```\nIt lists a.", "SELECT a FROM t"),
    "a fence tagged by dialect": ("```postgresql\nSELECT 1\n```", "SELECT 1"),
    "the last of several SQL fences": ("```sql\nSELECT 1\n```\nBetter:\n```sql\nSELECT 2\n```", "SELECT 2"),
    "the SQL fence, not the other": ("```sql\nSELECT 1\n```\n```text\nid | name\n```", "SELECT 1"),
    "the only fence, untagged": ("```\nSELECT 1\n```", "SELECT 1"),
    "a fence on one line": ("```SELECT 1```", "SELECT 1"),
    "a fence that is never closed": ("```sql\nSELECT a FROM t", "SELECT a FROM t"),
    "tildes": ("~~~sql\nSELECT 1\n~~~", "SELECT 1"),
    "Windows line ends": ("```sql\r\nSELECT a\r\nFROM t\r\n```", "SELECT a\nFROM t"),
    "a fence with a second half that is prose": ("```sql\nSELECT a FROM t;\nThis lists a.\n```", "SELECT a FROM t"),
    "bare": ("SELECT 1", "SELECT 1"),
    "bare in small letters": ("select count(*) from t;", "select count(*) from t"),
    "a leading comment": ("```sql\n-- all of them\nSELECT 1\n```", "-- all of them\nSELECT 1"),
    "prose around": ("The answer:\n\nSELECT a FROM t\n\nThis gives all a.", "SELECT a FROM t"),
    "prose on the next line": ("SELECT a FROM t\nHope that this helps you!", "SELECT a FROM t"),
    "prose after a semicolon": ("SELECT a FROM t;\n\nExplanation: it selects a.", "SELECT a FROM t"),
    "prose after a full stop": ("The query: SELECT a FROM t. The answer is above.", "SELECT a FROM t"),
    "a query with blank lines": ("SELECT a FROM t\n\nWHERE x = 1", "SELECT a FROM t\n\nWHERE x = 1"),
    "a CTE with blank lines": (
        "WITH a AS (\nSELECT 1 AS x\n)\n\nSELECT x FROM a\n\nHope it helps!",
        "WITH a AS (\nSELECT 1 AS x\n)\n\nSELECT x FROM a",
    ),
    "backticks within a sentence": ("Use `SELECT name FROM t` for that", "SELECT name FROM t"),
    "JSON": ('{"sql": "SELECT a\\nFROM t", "confidence": 1}', "SELECT a\nFROM t"),
    "JSON in a fence": ('```json\n{"sql": "SELECT 1"}\n```', "SELECT 1"),
    "JSON in prose": ('Here: {"query": "SELECT 1"} as you wished', "SELECT 1"),
    "JSON that holds a fence": ('{"sql": "```sql\\nSELECT 1\\n```"}', "SELECT 1"),
    "YAML": ("sql: |\n  SELECT a\n  FROM t\nexplanation: all of it", "SELECT a\n  FROM t"),
    "YAML on one line": ('sql: "SELECT a FROM t"\nreason: none', "SELECT a FROM t"),
    "thoughts before": ("<think>SELECT 9 FROM z</think>SELECT 1 FROM a", "SELECT 1 FROM a"),
    "Chinese prose": ("好的，查询如下：\nSELECT 名称 FROM 客户", "SELECT 名称 FROM 客户"),
    "a semicolon in a literal": ("```sql\nSELECT ';' AS a FROM t; -- done\n```", "SELECT ';' AS a FROM t"),
    "a broken query, for the validator to name": ("SELECT FROM WHERE", "SELECT FROM WHERE"),
    "a broken literal, for the validator to name": ("```sql\nSELECT 'x FROM t\n```", "SELECT 'x FROM t"),
    "a label before lines": ("SQL: SELECT\n  a\nFROM t", "SELECT\n  a\nFROM t"),
    "a label before lines, then prose": ("SQL: SELECT a\nFROM t\n\nThis lists all of a.", "SELECT a\nFROM t"),
    "an empty line after SELECT": ("SELECT\n\n  a FROM t", "SELECT\n\n  a FROM t"),
    "a line that begins with a parenthesis": (
        "SELECT a FROM t WHERE b IN\n(1, 2)",
        "SELECT a FROM t WHERE b IN\n(1, 2)",
    ),
    "a line that begins with a condition": ("SELECT a FROM t WHERE b\n= 1", "SELECT a FROM t WHERE b\n= 1"),
    "a backtick at the end": ("SELECT a FROM `t`", "SELECT a FROM `t`"),
    "a backtick at the end, in prose": ("I would run:\nSELECT a FROM `t`", "SELECT a FROM `t`"),
    "backticks around backticks": ("``SELECT a FROM `t` ``", "SELECT a FROM `t`"),
    "a broken last line, which is not dropped": (
        "SELECT a FROM t JOIN u ON t.x\n= u.x\nGROUP BY a\nOR DER BY a",
        "SELECT a FROM t JOIN u ON t.x\n= u.x\nGROUP BY a\nOR DER BY a",
    ),
    "a broken query with a WITH table named as a heading": (
        "WITH a AS (SELECT 1),\n\nresult AS (SELECT 2 FRM a)\nSELECT * FROM result",
        "WITH a AS (SELECT 1),\n\nresult AS (SELECT 2 FRM a)\nSELECT * FROM result",
    ),
    "a broken query behind prose": (
        "Here:\n\nSELECT a FROM t OR DER BY a\n\nIt sorts by a.",
        "SELECT a FROM t OR DER BY a",
    ),
    "a condition that only looks like a template": (
        "SELECT a FROM t WHERE a = '<b>'",
        "SELECT a FROM t WHERE a = '<b>'",
    ),
    "a part of it that is spoken of": (
        "SELECT a FROM t WHERE b IN (SELECT b FROM u)\n\nThe inner query finds the rows:\n\nSELECT b FROM u",
        "SELECT a FROM t WHERE b IN (SELECT b FROM u)",
    ),
    "texts that hold signs of templates": (
        "SELECT a FROM t WHERE b LIKE '%s' AND c = 'is it?' AND d = ':x' AND e = '{a} and {b}'",
        "SELECT a FROM t WHERE b LIKE '%s' AND c = 'is it?' AND d = ':x' AND e = '{a} and {b}'",
    ),
    "the same statement twice": ("```sql\nSELECT 1;\nSELECT 1;\n```", "SELECT 1"),
    "a statement on the line of its fence": ("```sql SELECT a\nFROM t\n```", "SELECT a\nFROM t"),
    "an element within a text": (
        "Here:\nSELECT a FROM t WHERE b LIKE '%<code>SELECT 1 FROM u</code>%'",
        "SELECT a FROM t WHERE b LIKE '%<code>SELECT 1 FROM u</code>%'",
    ),
    "a sign of a turn within a text": (
        "SELECT a FROM t WHERE b = '<|im_end|>' AND c = '</s>'",
        "SELECT a FROM t WHERE b = '<|im_end|>' AND c = '</s>'",
    ),
    "signs within a text, between blanks": (
        "SELECT a FROM t WHERE b = 'x </think> y' AND c = 'x </s> y'",
        "SELECT a FROM t WHERE b = 'x </think> y' AND c = 'x </s> y'",
    ),
    "a written end of line within a text": (
        "```sql SELECT a FROM t WHERE b = 'x\\ny' ```",
        "SELECT a FROM t WHERE b = 'x\\ny'",
    ),
    "three quotes within a text": (
        'SELECT a FROM t WHERE b = \'"""\' AND c = 1',
        'SELECT a FROM t WHERE b = \'"""\' AND c = 1',
    ),
    "a full stop behind the last name": ("SELECT a\nFROM t\nGROUP BY\n  a.", "SELECT a\nFROM t\nGROUP BY\n  a"),
    "the same, in capitals": ("SELECT A\nFROM T\nGROUP BY\nA.", "SELECT A\nFROM T\nGROUP BY\nA"),
    "a division in lines": ("SELECT sum(a)\n/\ncount(b) FROM t", "SELECT sum(a)\n/\ncount(b) FROM t"),
    "signs that Markdown escapes": ("SELECT a\\_b, COUNT(\\*) FROM t", "SELECT a_b, COUNT(*) FROM t"),
    "an escaped sign in a text": (
        "SELECT a FROM t WHERE b LIKE 'x\\_%' ESCAPE '\\'",
        "SELECT a FROM t WHERE b LIKE 'x\\_%' ESCAPE '\\'",
    ),
    "small letters behind what names it": ("The query is select a from t", "select a from t"),
    "dots and other signs in texts, names and comments": (
        "SELECT a -- and so on...\nFROM \"t...\" WHERE b = 'wait...' AND c = '[deleted]' AND d = \"...\"",
        "SELECT a -- and so on...\nFROM \"t...\" WHERE b = 'wait...' AND c = '[deleted]' AND d = \"...\"",
    ),
    "what must never run, for the guard to refuse": ("DROP TABLE customers;", "DROP TABLE customers"),
    "the same in a fence": ("```sql\nDELETE FROM orders\n```", "DELETE FROM orders"),
    "the same in prose": ("Here it is:\nUPDATE t SET a = 1;", "UPDATE t SET a = 1"),
}

NOT_FOUND = {
    "two statements": ("SELECT 1; SELECT 2", FailureCode.MULTI_STATEMENT),
    "two statements in a fence": ("```sql\nSELECT 1;\nDROP TABLE x;\n```", FailureCode.MULTI_STATEMENT),
    "two statements in paragraphs": ("SELECT a FROM t\n\nDROP TABLE t", FailureCode.MULTI_STATEMENT),
    "two statements in JSON": ('{"sql": ["SELECT 1", "SELECT 2"]}', FailureCode.MULTI_STATEMENT),
    "nothing": ("", FailureCode.UNKNOWN_GENERATION_FAILURE),
    "a number": ("0", FailureCode.UNKNOWN_GENERATION_FAILURE),
    "a placeholder": ("sql placeholder", FailureCode.UNKNOWN_GENERATION_FAILURE),
    "a placeholder in a fence": ("```sql\nsql placeholder\n```", FailureCode.UNKNOWN_GENERATION_FAILURE),
    "an apology": ("I'm sorry, but I cannot help with that.", FailureCode.LLM_EXPLANATION),
    "prose that parses as SQL": ("Select the customers from the list and show them.", FailureCode.LLM_EXPLANATION),
    "talk about a statement": ("I cannot DROP TABLE customers for you.", FailureCode.LLM_EXPLANATION),
    "two statements under headings": (
        "### Query 1\nSELECT a FROM t\n\n### Query 2\nSELECT b FROM u",
        FailureCode.MULTI_STATEMENT,
    ),
    "a second statement under a heading": (
        "SELECT a FROM t\n\n### Query 2\nSELECT b FROM u",
        FailureCode.MULTI_STATEMENT,
    ),
    "a value left open": ("SELECT a FROM t WHERE id = [insert id]", FailureCode.AMBIGUOUS_QUESTION),
    "a value left open in angles": ("SELECT a FROM t WHERE id = <customer_id>", FailureCode.AMBIGUOUS_QUESTION),
    **{
        f"a value left open as {left}": (f"SELECT a FROM t WHERE id = {left}", FailureCode.AMBIGUOUS_QUESTION)
        for left in (
            "?",
            ":id",
            "@id",
            "$1",
            "%s",
            "{id}",
            "{{ id }}",
            "${id}",
            "'{name}'",
            "'[insert name]'",
            "YOUR_ID",
            "ID_HERE",
            "'YYYY-MM-DD'",
            "'<customer_name>'",
            '"{name}"',
            "%(id)s",
            ":1",
            "&id",
            "__ID__",
            "your_id",
            "XXXX",
            "...",
            "…",
        )
    },
    "columns left open": ("SELECT a, ... FROM t", FailureCode.AMBIGUOUS_QUESTION),
    "a number of rows left open": ("SELECT a FROM t LIMIT N", FailureCode.AMBIGUOUS_QUESTION),
    "a value left open in a list": ("SELECT a FROM t WHERE id IN (?, ?)", FailureCode.AMBIGUOUS_QUESTION),
    "a word of SQL alone": ("SELECT", FailureCode.UNKNOWN_GENERATION_FAILURE),
    "two statements with prose between": (
        "Here are two:\n\nSELECT a FROM t\n\nand\n\nSELECT b FROM u",
        FailureCode.MULTI_STATEMENT,
    ),
    "another statement behind prose": (
        "SELECT a FROM t\n\nOr this one, which is faster:\n\nSELECT b FROM u",
        FailureCode.MULTI_STATEMENT,
    ),
    "a statement without its first word": ("COUNT(*) FROM t WHERE a = 1", FailureCode.UNKNOWN_GENERATION_FAILURE),
    "the first half of a set without its first word": (
        "a FROM t WHERE b > 1 INTERSECT SELECT a FROM t WHERE b < 9",
        FailureCode.LLM_EXPLANATION,
    ),
    "a quoted sentence": ('You asked to "select items from menus", which I cannot do.', FailureCode.LLM_EXPLANATION),
    "a quoted order": ('"Set the year first, then ask."', FailureCode.LLM_EXPLANATION),
    "an order in an element": ("<answer>Show me the year of which you ask</answer>", FailureCode.LLM_EXPLANATION),
    "an order in JSON": ('{"answer": "Select customers from the list"}', FailureCode.LLM_EXPLANATION),
    "orders in items": ("1. Select year from menu\n2. Press the button", FailureCode.LLM_EXPLANATION),
    "words of SQL that are spoken of": ("Use `select` and `from` for what you need.", FailureCode.LLM_EXPLANATION),
    "a table that is spoken of": ("The answer is from singer, as you see.", FailureCode.LLM_EXPLANATION),
    "fragments of a program": ("```python\nq = 'SELECT a ' + 'FROM t'\n```", FailureCode.UNKNOWN_GENERATION_FAILURE),
    "two statements in a list": ('[{"sql": "SELECT 1"}, {"sql": "SELECT 2"}]', FailureCode.MULTI_STATEMENT),
    "missing data": ("There is no table with salaries in this schema.", FailureCode.MISSING_DATABASE_INFO),
    "missing data in JSON": (
        '{"sql": null, "explanation": "The schema does not contain salaries."}',
        FailureCode.MISSING_DATABASE_INFO,
    ),
    "missing data in Chinese": ("抱歉，数据库中没有工资相关的字段。", FailureCode.MISSING_DATABASE_INFO),
    "a table that is not there": ("table not found: unicorns", FailureCode.MISSING_DATABASE_INFO),
    "a column nobody knows": ("Unknown column for the weather of a day.", FailureCode.MISSING_DATABASE_INFO),
    "tables that could not be located": ("I couldn't locate any fitting tables.", FailureCode.MISSING_DATABASE_INFO),
    "a dataset that holds nothing of it": (
        "Nothing in this dataset is about wages.",
        FailureCode.MISSING_DATABASE_INFO,
    ),
    "no table found, in Chinese": ("查不到工资表，抱歉。", FailureCode.MISSING_DATABASE_INFO),
    "an explanation of a table": ("The table is sorted by name already, as you asked.", FailureCode.LLM_EXPLANATION),
    "an explanation that denies": ("That is not how averages work, I am afraid.", FailureCode.LLM_EXPLANATION),
    "a question back": ("Could you clarify which year you mean?", FailureCode.AMBIGUOUS_QUESTION),
    "a question back in Chinese": ("您的问题不明确，请提供更多信息。", FailureCode.AMBIGUOUS_QUESTION),
}


@pytest.mark.parametrize(("reply", "sql"), FOUND.values(), ids=FOUND.keys())
@pytest.mark.requirement("001.4")
def test_the_one_statement_is_found(reply: str, sql: str):
    assert extract(reply, Dialect.SQLITE) == sql


@pytest.mark.parametrize(("reply", "code"), NOT_FOUND.values(), ids=NOT_FOUND.keys())
@pytest.mark.requirement("000.24", "000.27", "000.23")
def test_a_reply_without_one_statement_says_why(reply: str, code: FailureCode):
    result = extract(reply, Dialect.SQLITE)
    assert isinstance(result, Failure)
    assert result.code is code


def test_the_models_own_words_are_kept_for_the_person():
    result = extract("I'm sorry, but I cannot help with that.", Dialect.SQLITE)
    assert isinstance(result, Failure)
    assert result.detail == "I'm sorry, but I cannot help with that."


def test_a_cut_reply_counts_only_inside_a_closed_fence():
    assert extract("```sql\nSELECT 1\n```\nand so", Dialect.SQLITE, is_cut=True) == "SELECT 1"
    for cut in ("SELECT a FROM t WHERE x = 1", "```sql\nSELECT a FROM t WHERE x = 1", '{"sql": "SELECT 1"}'):
        result = extract(cut, Dialect.SQLITE, is_cut=True)
        assert isinstance(result, Failure), cut
        assert result.code is FailureCode.UNKNOWN_GENERATION_FAILURE


@pytest.mark.parametrize(
    "deep",
    [
        "(" * 20_000 + "SELECT 1",
        "SELECT " + "(" * 5_000,
        "```sql\n" + "SELECT (" * 4_000,
        "SELECT 1 FROM t WHERE a =" + " " * 50_000 + "b",
        "<code>" * 9_000,
        "<code>x</sql>" * 4_000,
        "<think>" * 8_000 + "</think>",
        '"' * 50_000,
        '"""SELECT 1 ' * 5_000,
        "SELECT 1" + " " * 50_000 + "</s>x",
        " " * 50_000 + "x```",
        "x" + " \t" * 25_000 + "```",
        "[ {" * 16_000,
        "[" + '{"code": "SELECT 1"},' * 2_500 + "1]",
        'q = "' + 'SELECT "," ' * 5_000,
        "x\nA" + ". " * 25_000 + "x",
        "SELECT a FROM t\n" + "A.\n" * 12_000,
        "**" * 25_000 + "SELECT a FROM t",
        "`SELECT a FROM t " * 3_000,
        "\\boxed{SELECT " + "} " * 20_000 + "x",
        "<|im_start|>" * 4_000,
        "= ( " * 14_000 + "SELECT a FROM t",
        "1. SELECT a FROM t\n" * 3_000,
    ],
    ids=itertools.count(),
)
def test_nesting_and_long_runs_reach_an_end(deep: str):
    result = extract(deep, Dialect.POSTGRESQL)
    assert isinstance(result, str | Failure)


_QUERIES = st.sampled_from(
    ["SELECT a FROM t", "SELECT COUNT(*) FROM t WHERE b = 'x; y'", "WITH c AS (SELECT 1) SELECT * FROM c"]
)
_PROSE = st.sampled_from(["", "Sure, here it is:", "好的：", "This is what you need."])


@given(_PROSE, _QUERIES, _PROSE, st.sampled_from(["sql", "SQL", "sqlite", ""]))
def test_a_fenced_query_survives_any_prose(before: str, query: str, after: str, tag: str):
    assert extract(f"{before}\n\n```{tag}\n{query};\n```\n\n{after}", Dialect.SQLITE) == query


@given(st.text(alphabet="SELCTFROMselctfrom*;()'\"`{}[]:,.-\n 表1<>", max_size=200))
@settings(max_examples=200, deadline=None)
def test_no_reply_breaks_extraction(reply: str):
    result = extract(reply, Dialect.SQLITE)
    assert isinstance(result, Failure) or result.strip()


# A misspelt first keyword

QUERY = "{} city, COUNT(*) FROM ports WHERE nation_id = 2 AND size > 1 GROUP BY city ORDER BY city"


@pytest.mark.parametrize("word", ["SELEC", "SELCT", "SELET", "SELECTT", "SLECT", "SEELCT", "selec", "Slect", "SELRCT"])
@pytest.mark.parametrize(
    "form", ["{}", "{};", "```sql\n{}\n```", "```\n{}\n```", "Here it is:\n\n{}", "{}\n\nIt counts them."]
)
@pytest.mark.requirement("000.16")
def test_a_misspelt_first_keyword_is_a_statement_and_no_explanation(word: str, form: str) -> None:
    statement = QUERY.format(word)
    assert extract(form.format(statement), Dialect.POSTGRESQL) == statement


@pytest.mark.requirement("000.16")
def test_what_is_fenced_as_sql_is_a_statement_whatever_its_first_word_is() -> None:
    for statement in ("PICK city FROM ports", "GET ports WHERE size > 1", "COUNT(*) FROM ports"):
        assert extract(f"```sql\n{statement}\n```", Dialect.SQLITE) == statement


@pytest.mark.parametrize(
    "reply",
    [
        "Selects every city from ports where size is known.",
        "Selected cities from ports are not stored here.",
        "Which ports do you mean?",
        "Width and height of ports are not stored.",
        "With respect to ports, nothing is stored.",
        "Updates to ports are not made here.",
        "Deleted ports cannot be found.",
        "```sql\n-- The tables hold no ports.\n```",
        "```sql\nNo relevant tables were found for this question.\n```",
    ],
)
def test_a_sentence_that_begins_like_a_keyword_stays_a_sentence(reply: str) -> None:
    assert isinstance(extract(reply, Dialect.SQLITE), Failure)


def test_a_statement_behind_a_misspelt_keyword_is_never_taken_for_its_own_inner_query() -> None:
    whole = "WTIH big AS (SELECT city FROM ports WHERE size > 1) SELECT COUNT(*) FROM big"
    assert extract(whole, Dialect.SQLITE) == whole
