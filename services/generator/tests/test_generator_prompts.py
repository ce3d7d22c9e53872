"""What a model is sent: golden files in both languages, and the rules that no text may break.

After a meant change of a prompt: delete `golden/*.txt`, run once, read the difference, commit it.
"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest
from services.generator.tests.shop_for_generation import (
    CANARY,
    GOLDEN,
    SHOP,
    TEXTS,
    KeptHistory,
    SpokenModel,
    asked,
    run,
)

from querybus.core.catalog import Catalog, Column, ColumnKind, ColumnProfile, Dialect, ForeignKey, Language, Table
from querybus.core.envelope import Attempt
from querybus.core.failure import Facts, FailureCode
from querybus.core.messages import Advice, Draft, Operation, Origin, Returned
from querybus.llm.dialogue import ChatMessage
from querybus.ops.live_texts import INTERVAL_SECONDS, BadText, LiveTexts
from querybus.sql.names.quoting import quoted_name
from querybus.text.tokens import token_estimate
from querybus_generator.conversation.turns import MESSAGES_MAX, TOKENS_MAX, Turn
from querybus_generator.prompts.question import Evidence, Matched, Retry, Spoken, masked, render_question
from querybus_generator.prompts.schema import quoted, render_schema
from querybus_generator.prompts.template import UnknownPlace, fill
from querybus_generator.prompts.texts import load_texts

TODAY = dt.date(2025, 6, 15)
ADVICE = Advice(
    code=FailureCode.COLUMN_NOT_FOUND,
    detail="no such column: nme",
    guidance="Compare with the listed columns.",
    facts=Facts(name="nme", candidates=("name",), owners=("customers",)),
    candidates_sql=("SELECT name FROM customers",),
)
TRIED = (Attempt(origin=Origin.MODEL, sql="SELECT nme FROM customers", code=FailureCode.COLUMN_NOT_FOUND),)
QUESTIONS: dict[Language, str] = {
    "en": "Who made the latest big order in Berlin?",
    "zh": "上海的客户有多少 big order？",
}


def render(language: Language, *, retry: bool, with_values: bool = True) -> tuple[ChatMessage, ...]:
    return render_question(
        TEXTS[language].prompt,
        SHOP,
        SHOP.tables,
        Spoken(
            question=QUESTIONS[language],
            today=TODAY,
            turns=(Turn("orders by city?", sql="SELECT city FROM customers"),),
        ),
        with_values=with_values,
        retry=Retry(advice=ADVICE, attempts=TRIED) if retry else Retry(),
    )


@pytest.mark.parametrize("retry", [False, True], ids=["first", "retry"])
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.requirement("000.21", "001.2", "001.5", "003.15")
def test_the_prompt_is_the_golden_one(language: Language, retry: bool):
    text = "\n".join(f"=== {message.role}\n{message.text}" for message in render(language, retry=retry)) + "\n"
    golden = GOLDEN / f"{'retry' if retry else 'first'}.{language}.txt"
    if not golden.exists():
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
        pytest.fail(f"{golden.name} was not there and is written now: read it and commit it")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_comment_can_neither_end_its_line_nor_open_a_fence(language: Language):
    schema = render_schema(SHOP, SHOP.tables, with_values=True)
    line = next(line for line in schema.splitlines() if "ignore all rules" in line)
    assert line.lstrip().startswith("status TEXT")
    assert "```" not in schema


def test_values_stand_in_the_schema_only_when_allowed():
    assert CANARY in render_schema(SHOP, SHOP.tables, with_values=True)
    without = render_schema(SHOP, SHOP.tables, with_values=False)
    assert CANARY not in without
    assert "values" not in without


def test_foreign_text_becomes_one_bounded_json_string():
    assert quoted('a"\n\x00b`') == '"a\\" b"'
    assert len(quoted("x" * 10_000)) < 200
    assert "\u202e" not in quoted("a\u202eb"), "no character that turns the reading order"


def test_names_are_quoted_as_the_dialect_quotes():
    assert quoted_name("plain_1", Dialect.SQLITE) == "plain_1"
    assert quoted_name('odd "name"', Dialect.POSTGRESQL) == '"odd ""name"""'
    assert quoted_name("订单", Dialect.MYSQL) == "`订单`"
    assert "\n" not in quoted_name("a\n-- b", Dialect.SQLITE)


def test_literals_that_nobody_said_are_masked():
    assert masked("x = 'Bob' AND y = 'O''Hara' AND z = ''", "who is bob?") == "x = 'Bob' AND y = '…' AND z = ''"


def test_a_long_thread_stays_within_its_budget_and_keeps_the_newest():
    turns = tuple(Turn(f"question {n} " + "x" * 5_000, sql="SELECT 1") for n in range(60))
    messages = render_question(
        TEXTS["en"].prompt,
        SHOP,
        SHOP.tables,
        Spoken(question="and now?", today=TODAY, turns=turns),
        with_values=True,
    )
    conversation = messages[1:-1]
    assert sum(token_estimate(message.text) for message in conversation) <= TOKENS_MAX
    assert len(conversation) <= MESSAGES_MAX
    assert any("question 59" in message.text for message in conversation)


def test_a_wide_table_is_cut_and_says_so():
    wide = Table(name="wide", columns=tuple(Column(name=f"c{n}", type="TEXT") for n in range(500)))
    schema = render_schema(Catalog(connection="c", dialect=Dialect.SQLITE, tables=(wide,)), (wide,), with_values=True)
    assert "380 more columns" in schema


def test_a_value_cannot_open_a_place():
    assert fill("{{a}}{{#b}} {{b}}{{/b}}", {"a": "{{b}}", "b": "{{a}}"}) == "{{b}} {{a}}"


@pytest.mark.requirement("002.6")
def test_an_unknown_place_is_named():
    with pytest.raises(UnknownPlace, match="nonsense"):
        fill("{{nonsense}}", {"a": "1"})


@pytest.mark.requirement("002.6", "002.8")
def test_a_directory_replaces_single_texts_and_changes_the_version(tmp_path: Path):
    (tmp_path / "system.en.md").write_text("Only {{dialect}} on {{today}}.{{#dialect_notes}}{{/dialect_notes}}")
    replaced = load_texts(tmp_path)
    assert replaced["en"].prompt.system.startswith("Only")
    assert replaced["zh"].prompt == TEXTS["zh"].prompt
    assert replaced["en"].prompt.version != TEXTS["en"].prompt.version


def test_a_text_with_an_unknown_place_ends_the_start(tmp_path: Path):
    (tmp_path / "question.en.md").write_text("{{schema}} {{shema}} {{question}} {{glossary}}")
    with pytest.raises(BadText, match=r"question\.en\.md:1: .*shema"):
        load_texts(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("system.zh.md", "{{dialect}}\n{{today}}\n{{tody}}", r"system\.zh\.md:3: \{\{tody\}\} is no place"),
        (
            "greeting.en.md",
            "Hello\n{{#subjects}} about {{subjects}}",
            r"greeting\.en\.md:2: \{\{#subjects\}\} is not closed",
        ),
        ("advice.en.md", "{{code}}\n\n{{ error }}", r"advice\.en\.md:3: \{\{ error \}\} is no mark"),
        ("dialects/sqlite.en.md", "", r"sqlite\.en\.md:1: the text is empty"),
    ],
)
def test_a_bad_text_is_refused_with_its_file_and_line(tmp_path: Path, name: str, text: str, said: str):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    with pytest.raises(BadText, match=said):
        load_texts(tmp_path)


@pytest.mark.requirement("002.7")
async def test_the_next_question_is_asked_with_the_changed_prompt_and_a_bad_one_changes_nothing(tmp_path: Path):
    now = [0.0]
    texts = LiveTexts(tmp_path, load_texts, clock=lambda: now[0])

    async def system_prompt() -> str:
        model = SpokenModel("SELECT COUNT(*) FROM customers")
        await run(asked("How many customers are there?"), model=model, texts=texts)
        return model.prompts[0][0].text

    first = await system_prompt()
    (tmp_path / "system.en.md").write_text("Answer in {{dialect}} on {{today}}.")
    now[0] += INTERVAL_SECONDS
    second = await system_prompt()
    (tmp_path / "system.en.md").write_text("Answer in {{dialekt}}.")
    now[0] += INTERVAL_SECONDS
    assert first != second
    assert second.startswith("Answer in sqlite on ")
    assert await system_prompt() == second


def schema_of(*columns: Column, dialect: Dialect = Dialect.SQLITE, keys: tuple[ForeignKey, ...] = ()) -> str:
    found = Table(name="orders", columns=columns, foreign_keys=keys)
    return render_schema(Catalog(connection="c", dialect=dialect, tables=(found,)), (found,), with_values=True)


def test_names_that_mean_something_else_without_quotes_stand_in_quotes():
    assert '"group" TEXT' in schema_of(Column(name="group", type="TEXT"))
    assert '"publish year" INT' in schema_of(Column(name="publish year", type="INT"))
    assert '"Total" INT' in schema_of(Column(name="Total", type="INT"), dialect=Dialect.POSTGRESQL)
    assert "  TOTAL INT" in schema_of(Column(name="TOTAL", type="INT"), dialect=Dialect.ORACLE)
    assert "`rank` INT" in schema_of(Column(name="rank", type="INT"), dialect=Dialect.MYSQL)


def test_all_values_of_a_column_that_has_few_are_shown_and_no_part_of_one():
    few = Column(name="level", type="TEXT", values=tuple(f"level {n}" for n in range(12)), values_complete=True)
    assert schema_of(few).count('"level ') == 12
    assert "…" not in schema_of(few)
    many = Column(name="name", type="TEXT", values=("Ann", "x" * 61, "Bob", "Cid", "Dan"))
    assert 'values: "Ann", "Bob", "Cid", …' in schema_of(many)
    assert "x" * 20 not in schema_of(many)


def test_no_key_leads_to_a_table_that_is_not_shown():
    key = ForeignKey(columns=("city_id",), referred_table="cities", referred_columns=("id",))
    city = Column(name="city_id", type="INT")
    assert "REFERENCES" not in schema_of(city, keys=(key,))
    cities = Table(name="cities", columns=(Column(name="id", type="INT"),))
    orders = Table(name="orders", columns=(city,), foreign_keys=(key,))
    both = Catalog(connection="c", dialect=Dialect.SQLITE, tables=(orders, cities))
    assert "FOREIGN KEY (city_id) REFERENCES cities (id)" in render_schema(both, both.tables, with_values=True)


def test_values_that_the_question_names_and_what_the_database_is_stand_before_it():
    shown = render_question(
        TEXTS["en"].prompt,
        SHOP,
        SHOP.tables,
        Spoken(question="albums of iron maiden", today=dt.date(2025, 6, 15)),
        with_values=True,
        evidence=Evidence(
            matched=(Matched("iron maiden", "artists", "name", "Iron Maiden"),),
            about="A shop of records, up to June 2025",
        ),
    )
    assert '- "iron maiden": artists.name = "Iron Maiden"' in shown[-1].text
    assert '"A shop of records, up to June 2025"' in shown[0].text
    hidden = render_question(
        TEXTS["en"].prompt,
        SHOP,
        SHOP.tables,
        Spoken(question="albums", today=dt.date(2025, 6, 15)),
        with_values=False,
        evidence=Evidence(matched=(Matched("iron maiden", "artists", "name", "Iron Maiden"),)),
    )[-1].text
    assert "Iron Maiden" not in hidden


def test_ranges_and_empty_cells_are_shown_unless_values_may_not_be() -> None:
    columns = (
        Column(
            name="sold",
            type="DATE",
            kind=ColumnKind.DATE,
            profile=ColumnProfile(value_min="2023-07-01", value_max="2025-06-30", empty_share=0.125),
        ),
        Column(name="height", type="REAL", profile=ColumnProfile(value_min="1.5", value_max="2", empty_share=0.001)),
        Column(name="salary", type="REAL", personal=True, profile=ColumnProfile(value_min="7", value_max="8")),
    )
    catalog = Catalog(connection="c", dialect=Dialect.SQLITE, tables=(Table(name="t", columns=columns),))
    shown = render_schema(catalog, catalog.tables, with_values=True)
    assert "sold DATE,  -- 2023-07-01 .. 2025-06-30; 12% NULL" in shown
    assert "height REAL,  -- 1.5 .. 2\n" in shown
    assert "salary REAL,\n" in shown
    hidden = render_schema(catalog, catalog.tables, with_values=False)
    assert not any(text in hidden for text in ("2023", "NULL", "1.5"))


def _shared(prompt: tuple[ChatMessage, ...], *earlier: tuple[ChatMessage, ...]) -> float:
    """The share of a prompt's tokens that stand in the longest prefix which an earlier one began with too."""
    text, *others = ["\x00".join(f"{m.role} {m.text}" for m in messages) for messages in (prompt, *earlier)]
    same = max(
        next((n for n, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), len(text)) for other in others
    )
    return token_estimate(text[:same]) / token_estimate(text)


async def test_the_long_part_of_a_prompt_is_the_same_for_all_questions_of_a_connection():
    questions = ("How many customers are there?", "Which orders are open?", "Total of all orders in Berlin by status?")
    model = SpokenModel("```sql\nSELECT 1 FROM orders\n```")
    for question in questions:
        await run(asked(question), model=model)
    first, *rest = model.prompts
    assert all(_shared(prompt, first) >= 0.9 for prompt in rest)
    history = KeptHistory(Turn(questions[0], sql="SELECT COUNT(*) FROM customers"))
    for question in ("and by city?", "Remove the last column"):
        await run(asked(question), model=model, history=history)
    *earlier, begun, follow_up = model.prompts
    assert _shared(begun, *earlier) >= 0.9
    assert _shared(follow_up, *earlier, begun) >= 0.95


async def test_a_second_draft_begins_as_the_first_did_and_looks_at_the_linked_tables():
    absent = "SELECT COUNT(*) FROM orders WHERE status = 'OPENED'"
    model = SpokenModel(f"```sql\n{absent}\n```")
    envelope = asked("How many blorfed orders are open?")
    await run(envelope, model=model)
    draft = Draft(sql=absent, dialect=Dialect.SQLITE, origin=Origin.MODEL)
    await run(envelope.with_body(Returned(operation=Operation.ASK, draft=draft)), model=model)
    first, second = model.prompts
    assert first[0] == second[0]
    assert "The tables that the question is most likely about" in second[-1].text
    assert "most likely about" not in first[-1].text


@pytest.mark.parametrize("value", ["Aberdeen ", " AAF", "US ", "a  b", "o'Neill", "宽　空", "line\nbreak", "tick`s"])
def test_a_value_stands_for_exactly_itself(value: str):
    column = Column(name="city", type="TEXT", values=(value,), values_complete=True)
    schema = schema_of(column)
    shown = schema.partition("values: ")[2].partition("\n")[0]
    assert json.loads(shown) == value
    assert "`" not in shown


def test_a_schema_says_how_many_rows_a_table_has_and_which_columns_hold_each_value_once() -> None:
    columns = tuple(
        Column(name=name, type="TEXT", kind=ColumnKind.TEXT, distinct_count=count)
        for name, count in (("id", 12_345), ("code", None), ("badge", 12_345), ("town", 40))
    )
    table = Table(
        name="staff",
        columns=columns,
        primary_key=("id",),
        unique_keys=(("code",), ("badge", "town")),
        row_estimate=12_345,
    )
    catalog = Catalog(connection="c", dialect=Dialect.SQLITE, tables=(table,))
    lines = [line.strip() for line in render_schema(catalog, (table,), with_values=True).splitlines()]
    assert lines == [
        "CREATE TABLE staff (  -- about 12,000 rows", "id TEXT PRIMARY KEY,", "code TEXT UNIQUE,",
        "badge TEXT,  -- unique", "town TEXT,", "UNIQUE (badge, town),", ");",
    ]  # fmt: skip
    # A key is part of the schema; what was counted in the data is not shown where no value may be.
    hidden = render_schema(catalog, (table,), with_values=False)
    assert "UNIQUE" in hidden
    assert "rows" not in hidden
    assert "-- unique" not in hidden


def test_a_few_rows_more_leave_a_prompt_as_it_is() -> None:
    def schema(rows: int) -> str:
        return render_schema(SHOP, (SHOP.tables[0].model_copy(update={"row_estimate": rows}),), with_values=True)

    assert schema(12_345) == schema(12_399)
    assert schema(12_345) != schema(13_000)


@pytest.mark.parametrize("dialect", [Dialect.BIGQUERY, Dialect.SNOWFLAKE])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_engines_that_are_paid_by_what_is_read_have_a_rule_of_cost(dialect: Dialect, language: Language) -> None:
    assert "SELECT *" in TEXTS[language].prompt.dialects[dialect]
