"""Whatever a model wraps around a statement, the statement or a typed failure comes out, and nothing is raised."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.sql.render import normalise
from querybus.sql.reply.extract import extract

CODES = {
    FailureCode.MULTI_STATEMENT,
    FailureCode.LLM_EXPLANATION,
    FailureCode.AMBIGUOUS_QUESTION,
    FailureCode.MISSING_DATABASE_INFO,
    FailureCode.UNKNOWN_GENERATION_FAILURE,
}
STATEMENTS = (
    "SELECT COUNT(*) FROM customers",
    "SELECT name, total FROM orders WHERE status = 'it''s; paid' ORDER BY total DESC LIMIT 5",
    "WITH t AS (SELECT city, COUNT(*) AS n FROM customers GROUP BY city)\nSELECT city FROM t WHERE n > 3",
    "SELECT '客户' AS 名称 FROM orders -- 注释",
    "SELECT a FROM t UNION SELECT b FROM u",
)
PROSE = st.sampled_from(
    (
        "", "Here is the query:", "Sure! The following statement answers your question.", "以下是查询：",
        "Let me know if you need anything else.", "It groups by city.", "说明：按城市统计。", "**Note:** amounts are in euro.",
    )
)  # fmt: skip


def fenced(sql: str) -> str:
    return f"```sql\n{sql}\n```"


def tilded(sql: str) -> str:
    return f"~~~SQL\n{sql};\n~~~"


def in_json(sql: str) -> str:
    return json.dumps({"sql": sql, "explanation": "counts"}, ensure_ascii=False)


def in_yaml(sql: str) -> str:
    return f"```yaml\n{yaml.safe_dump({'sql': sql}, allow_unicode=True, width=10_000)}```"


def in_double_quoted_yaml(sql: str) -> str:
    return f"```yaml\n{yaml.safe_dump({'sql': sql}, allow_unicode=True, default_style=chr(34), width=40)}```"


def in_block_yaml(sql: str) -> str:
    lines = "\n".join(f"    {line}" for line in sql.split("\n"))
    return f"sql: |-\n{lines}\nexplanation: counts"


def in_fenced_json(sql: str) -> str:
    return f"```json\n{json.dumps({'query': sql})}\n```"


WRAPS = (fenced, tilded, in_json, in_yaml, in_double_quoted_yaml, in_block_yaml, in_fenced_json)


@pytest.mark.long
@pytest.mark.parametrize("sql", STATEMENTS)
@pytest.mark.parametrize("wrap", WRAPS)
@given(before=PROSE, after=PROSE)
@settings(max_examples=10, deadline=None)
def test_a_wrapped_statement_comes_out_as_it_was(wrap: Callable[[str], str], sql: str, before: str, after: str):
    reply = wrap(sql) if wrap is in_json else f"{before}\n\n{wrap(sql)}\n\n{after}"
    result = extract(reply, Dialect.SQLITE)
    assert isinstance(result, str), result
    assert normalise(result, Dialect.SQLITE) == normalise(sql, Dialect.SQLITE)


@given(st.text(max_size=2_000))
@settings(max_examples=150, deadline=None)
def test_any_text_gives_a_statement_or_a_typed_failure(reply: str):
    result = extract(reply, Dialect.SQLITE)
    assert isinstance(result, str) or result.code in CODES


@given(
    st.lists(
        st.sampled_from(
            (
                *STATEMENTS,
                "```",
                "```sql",
                "{",
                '{"sql": ',
                "sql: |",
                ";",
                "DROP TABLE orders",
                "I cannot",
                "\n\n",
                "~~~",
            )
        ),
        max_size=14,
    ),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_pieces_of_replies_in_any_order_raise_nothing(pieces: list[str], is_cut: bool):
    result = extract("\n".join(pieces), Dialect.SQLITE, is_cut=is_cut)
    assert isinstance(result, str) or result.code in CODES


@given(st.sampled_from(STATEMENTS), st.sampled_from(STATEMENTS), PROSE)
@settings(max_examples=20, deadline=None)
def test_two_statements_in_one_block_are_never_cut_to_one(first: str, second: str, before: str):
    first = first.split(" --", maxsplit=1)[0]
    assume(first != second)
    result = extract(f"{before}\n```sql\n{first};\n{second}\n```", Dialect.SQLITE)
    assert isinstance(result, Failure)
    assert result.code is FailureCode.MULTI_STATEMENT


@pytest.mark.parametrize("sql", STATEMENTS)
def test_a_reply_that_was_cut_gives_no_half_statement(sql: str):
    whole = f"Here it is:\n```sql\n{sql}\n"
    for end in range(len(whole)):
        result = extract(whole[:end], Dialect.SQLITE, is_cut=True)
        assert isinstance(result, Failure), whole[:end]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("I'm sorry, but the database does not contain any table about weather.", FailureCode.MISSING_DATABASE_INFO),
        ("抱歉，数据库中没有相关的表或字段信息。", FailureCode.MISSING_DATABASE_INFO),
        ("Could you clarify which year you mean?", FailureCode.AMBIGUOUS_QUESTION),
        ("您的问题不够具体，请说明时间范围。", FailureCode.AMBIGUOUS_QUESTION),
        ("As a language model I would rather talk about poems and their beauty.", FailureCode.LLM_EXPLANATION),
        ("", FailureCode.UNKNOWN_GENERATION_FAILURE),
        ("0", FailureCode.UNKNOWN_GENERATION_FAILURE),
        ("{}", FailureCode.UNKNOWN_GENERATION_FAILURE),
        ('{"error": "The schema lacks a table for suppliers."}', FailureCode.MISSING_DATABASE_INFO),
    ],
)
def test_a_reply_without_a_statement_is_distinguished(reply: str, code: FailureCode):
    result = extract(reply, Dialect.SQLITE)
    assert isinstance(result, Failure)
    assert result.code is code
