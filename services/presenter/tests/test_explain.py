"""Claims on explanations: analysts read what the statement does, business readers the same without its names."""

from __future__ import annotations

from typing import Any

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, ColumnProfile, Dialect, Language, Table
from querybus.core.envelope import Attempt, Audience, Envelope, Retries
from querybus.core.messages import Analysis, Answer, Concluded, Origin, Outcome, Result, ResultColumn
from querybus.core.options import Agreement
from querybus.core.subjects import EventName, StageName
from querybus_presenter.present import render
from querybus_presenter.wording.absent import why_nothing
from querybus_presenter.wording.explain import counted
from querybus_presenter.wording.statement import read
from querybus_presenter.wording.texts import load_texts

WORDS = load_texts()
AUDIENCES: tuple[Audience, ...] = ("analyst", "business")
CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=(
        Table(
            name="cust_tbl",
            display_names={"en": "customers", "zh": "客户"},
            columns=(
                Column(name="cust_id", type="INTEGER", kind=ColumnKind.INTEGER),
                Column(name="cty", type="TEXT", display_names={"en": "city", "zh": "城市"}),
                Column(name="rev_amt", type="REAL", display_names={"en": "revenue", "zh": "收入"}),
                Column(name="x9", type="TEXT"),
            ),
        ),
        Table(name="orders", columns=(Column(name="cust_id", type="INTEGER"), Column(name="total", type="REAL"))),
    ),
)


def explained(sql: str, audience: Audience = "business", language: Language = "en", **header: Any) -> str:
    return answered(sql, audience, language, **header).explanation


def answered(sql: str, audience: Audience = "business", language: Language = "en", **header: Any) -> Answer:
    body = Concluded(
        outcome=Outcome.ANSWERED,
        stage=StageName.EXECUTOR,
        sql=sql,
        dialect=Dialect.SQLITE,
        result=Result(columns=(ResultColumn(name="n", kind=ColumnKind.INTEGER),), rows=((3,),), row_count=1),
        analysis=header.pop("analysis", Analysis()),
    )
    envelope = Envelope[Concluded](
        event=EventName.CONCLUDED,
        query_id="q",
        thread_id="t",
        tenant="acme",
        user="ann",
        audience=audience,
        connection="shop",
        question="?",
        language=language,
        asked_at=0,
        deadline_at=60_000,
        body=body,
        **header,
    )
    return render(envelope, CATALOG, WORDS[language, audience]).body.answer


SQL = "SELECT cty, SUM(rev_amt) AS s FROM cust_tbl WHERE cty <> 'Bern' AND rev_amt >= 10 GROUP BY cty ORDER BY s DESC LIMIT 5"


def test_an_analyst_reads_names_and_a_business_reader_reads_labels() -> None:
    assert explained(SQL, "analyst") == (
        "Total rev_amt per cty, where cty is not Bern and rev_amt is at least 10, the 5 highest."
    )
    assert explained(SQL) == "Total revenue per city, where city is not Bern and revenue is at least 10, the 5 highest."
    assert explained(SQL, language="zh") == "城市不为Bern且收入不小于10的收入合计，按城市统计，最高的5个。"


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("cty = 'Bern' OR cty = 'Lyon'", "where city is Bern or city is Lyon."),
        ("cty IN ('Bern', 'Lyon')", "where city is Bern or Lyon."),
        ("cty LIKE '%er%'", "where city contains er."),
        ("cty LIKE 'B%'", "where city begins with B."),
        ("cty IS NULL", "where city is missing."),
        ("cty IS NOT NULL", "where city is there."),
        ("rev_amt BETWEEN 1 AND 5", "where revenue is between 1 and 5."),
        ("NOT (rev_amt < -5)", "where not (revenue is below -5)."),
        ("cty = 'Bern' AND LENGTH(x9) = 9", "where city is Bern and a condition on something without a name holds."),
        ("UPPER(x9) || cty = 'ab'", "where only what fits “ab”."),
        ("rev_amt > (SELECT AVG(rev_amt) FROM cust_tbl)", "where revenue is above average revenue."),
        (
            "cust_id IN (SELECT cust_id FROM orders WHERE total > 5)",
            "customer id is among orders where total is above 5.",
        ),
        ("NOT EXISTS (SELECT 1 FROM orders AS o WHERE o.cust_id = cust_tbl.cust_id)", "where there are no orders."),
    ],
)
def test_no_condition_is_hidden(condition: str, words: str) -> None:
    assert explained(f"SELECT cty FROM cust_tbl WHERE {condition}").endswith(words)


def test_a_filter_of_a_policy_is_no_part_of_how_the_question_was_read() -> None:
    drafted = (Attempt(origin=Origin.MODEL, sql="SELECT COUNT(*) FROM cust_tbl WHERE rev_amt > 5"),)
    run = "SELECT COUNT(*) FROM (SELECT * FROM cust_tbl WHERE x9 = 'secret') AS cust_tbl WHERE rev_amt > 5 LIMIT 101"
    for audience in ("business", "analyst"):
        said = explained(run, audience, attempts=drafted)
        assert said.endswith(" is above 5.")
        assert "secret" not in said


def test_how_a_statement_came_about_and_how_sure_it_is_are_reported() -> None:
    tried = (Attempt(origin=Origin.BUILTIN, sql="a"), Attempt(origin=Origin.RULE, sql="b"))
    sure = Analysis(confidence=0.42)
    assert explained("SELECT 1", attempts=tried).endswith("The first reading did not work; it was mended by rule.")
    assert "read again" in explained("SELECT 1", retries=Retries(generation=1))
    assert explained("SELECT 1", attempts=(Attempt(origin=Origin.USER, sql="a"),)).endswith("It is as you wrote it.")
    for audience in AUDIENCES:
        assert "not certain" in explained("SELECT 1", audience, analysis=sure)
        # A share says nothing that a person could act on; it is in the data.
        assert "%" not in explained("SELECT 1", audience, analysis=sure)
    assert "checked before" in explained("SELECT 1", analysis=Analysis(example_ids=("e1",)))


@pytest.mark.parametrize(
    ("sql", "language", "plural"),
    [
        ("SELECT COUNT(*) FROM cust_tbl", "en", "customers"),
        ("SELECT COUNT(*) AS n FROM cust_tbl LIMIT 101", "zh", "条客户记录"),
        ("SELECT COUNT(*) FROM orders", "en", "orders"),
        ("SELECT COUNT(*) FROM orders", "zh", "条订单记录"),
        ("SELECT COUNT(*) FROM cust_tbl WHERE cty = 'Bern'", "en", None),
        ("SELECT COUNT(cty) FROM cust_tbl", "en", None),
        ("SELECT COUNT(*) FROM cust_tbl JOIN orders ON 1 = 1", "en", None),
        ("SELECT COUNT(*) FROM cust_tbl GROUP BY cty", "en", None),
        ("SELECT COUNT(*) FROM (SELECT 1) AS orders", "en", None),
        ("SELECT COUNT(*) FROM unknown", "en", None),
    ],
)
def test_only_a_count_of_all_rows_of_one_table_is_reported_as_how_many_there_are(
    sql: str, language: Language, plural: str | None
) -> None:
    assert counted(read(sql, Dialect.SQLITE), CATALOG, WORDS[language, "analyst"]) == plural


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            "SELECT COUNT(*) FROM orders WHERE channel = 'fax'",
            "There is no channel “fax”. There are: app, store.",
        ),
        ("SELECT id FROM orders WHERE channel IN ('app', 'fax')", "There is no channel “fax”. There are: app, store."),
        ("SELECT id FROM orders WHERE LOWER(channel) = 'fax'", "There is no channel “fax”. There are: app, store."),
        ("SELECT id FROM orders WHERE channel = 'APP'", None),
        ("SELECT id FROM orders WHERE status = 'lost'", None),
        ("SELECT id FROM orders WHERE channel <> 'fax'", None),
    ],
)
def test_a_value_that_does_not_occur_is_named_with_those_that_do(sql: str, said: str | None) -> None:
    channel = Column(name="channel", type="text", kind=ColumnKind.TEXT, values=("app", "store"), values_complete=True)
    status = Column(name="status", type="text", kind=ColumnKind.TEXT, values=("paid",))
    identity = Column(name="id", type="int", kind=ColumnKind.INTEGER)
    orders = Table(name="orders", columns=(identity, channel, status))
    catalog = Catalog(connection="shop", dialect=Dialect.SQLITE, tables=(orders,))
    texts = WORDS["en", "business"]
    assert why_nothing(read(sql, Dialect.SQLITE), catalog, texts, with_names=False) == said


@pytest.mark.parametrize(
    ("condition", "language", "said"),
    [
        ("made >= '2030-01-01' AND made < '2031-01-01'", "en", "The data ends on 30 June 2026."),
        ("made < '2020-05-01'", "zh", "数据从2023年7月1日开始。"),
        ("strftime('%Y', made) = '2022'", "en", "The data begins on 1 July 2023."),
        ("made >= '2026-06-30'", "en", None),
        ("made < '2023-07-02'", "en", None),
        ("unmeasured >= '2030-01-01'", "en", None),
    ],
)
def test_a_period_before_or_behind_all_data_is_said_with_where_the_data_is(
    condition: str, language: Language, said: str | None
) -> None:
    profile = ColumnProfile(value_min="2023-07-01", value_max="2026-06-30 10:00:00")
    made = Column(name="made", type="date", kind=ColumnKind.DATE, profile=profile)
    other = Column(name="unmeasured", type="date", kind=ColumnKind.DATE)
    orders = Table(name="orders", columns=(made, other), row_estimate=5_000)
    large = orders.model_copy(update={"row_estimate": 5_000_000})
    catalog, too_large = (
        Catalog(connection="shop", dialect=Dialect.SQLITE, tables=(table,)) for table in (orders, large)
    )
    # Also where a definition's statement has it: below the outermost query.
    for sql in (
        f"SELECT COUNT(*) FROM orders WHERE {condition}",
        f"WITH b0 AS (SELECT COUNT(*) AS m0 FROM orders AS orders WHERE {condition}) SELECT m0 FROM b0",
    ):
        tree = read(sql, Dialect.SQLITE)
        assert why_nothing(tree, catalog, WORDS[language, "business"], with_names=False) == said
        assert why_nothing(tree, too_large, WORDS[language, "business"], with_names=False) is None


def test_what_a_second_draft_came_to_is_said_and_counted_into_the_confidence():
    for agreement, confidence, said in (
        (Agreement.EQUAL, 0.852, ""),
        (Agreement.DIFFERENT, 0.411, "another result"),
        (Agreement.REPLACED, 0.55, "the second one"),
        (None, None, ""),
    ):
        answer = answered("SELECT COUNT(*) FROM cust_tbl", analysis=Analysis(agreement=agreement))
        assert answer.confidence == (None if confidence is None else pytest.approx(confidence, abs=0.001))
        assert any(said in note for note in answer.notes) if said else answer.notes == ()


@pytest.mark.parametrize("audience", ["business", "analyst"])
def test_how_else_a_question_reads_is_said_where_its_reader_may_see_it(audience: Audience):
    def notes(agreement: Agreement, reading: str) -> str:
        analysis = Analysis(agreement=agreement, second_reading=reading)
        return " ".join(answered("SELECT COUNT(*) FROM cust_tbl", analysis=analysis, audience=audience).notes)

    assert "Read as “Number of customers”" in notes(Agreement.DIFFERENT, "Number of customers.")
    assert "the answer to “Number of customers”" in notes(Agreement.REPLACED, "Number of customers.")
    assert ("cust_tbl" in notes(Agreement.DIFFERENT, "Number of cust_tbl.")) is (audience == "analyst")
    assert "another result" in notes(Agreement.DIFFERENT, "Number of cust_tbl.")
