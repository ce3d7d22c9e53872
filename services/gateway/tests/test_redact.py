"""What leaves for a business reader holds no name, SQL or driver text: searched in the bytes of every view."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querybus.core.asking_back import Clarification, Confirmation, Option, OptionAction, Trigger
from querybus.core.catalog import Dialect
from querybus.core.envelope import Attempt, Audience, Classification, Envelope, PathStep
from querybus.core.failure import Facts, FailureCode
from querybus.core.messages import (
    Advice,
    Analysis,
    Answer,
    AnswerColumn,
    Approved,
    Asked,
    Concluded,
    Confirmed,
    Draft,
    Drafted,
    Failed,
    Finished,
    Link,
    Operation,
    Origin,
    Outcome,
    PagesAddress,
    Result,
    ResultColumn,
    Returned,
)
from querybus.core.subjects import EventName, StageName
from querybus.core.value import Value
from querybus_gateway.public.redaction import public_answer, public_event, public_page, public_progress

# Random strings that stand for a table, a column, an alias; nothing else in these messages contains them.
NAMES = ("qz_tbl_81hf", "kx_col_77ab", "mv_detail_02")
SQL = f"SELECT {NAMES[1]} FROM {NAMES[0]}"
DETAIL = f"no such column: {NAMES[2]}"
DRAFT = Draft(sql=SQL, dialect=Dialect.SQLITE, origin=Origin.MODEL)
ANALYSIS = Analysis(
    links=(Link(text="sales", table=NAMES[0], column=NAMES[1], score=1),),
    tables=(NAMES[0],),
    reading=f"reads {NAMES[1]}",
)
FACTS = Facts(name=NAMES[1], candidates=(NAMES[2],), owners=(NAMES[0],))

BODIES: list[Value] = [
    Asked(operation=Operation.RUN, sql=SQL),
    Returned(operation=Operation.ASK, draft=DRAFT, advice=Advice(code=FailureCode.COLUMN_NOT_FOUND, detail=DETAIL, facts=FACTS)),
    Drafted(draft=DRAFT, analysis=ANALYSIS, notes=(DETAIL,)),
    Confirmed(asking_query_id="q", sql_sha256="00", rows_affected_max=3),
    Approved(sql=SQL, dialect=Dialect.SQLITE, origin=Origin.MODEL, tables=(NAMES[0],), row_limit=10, checked=("static",), notes=(DETAIL,)),
    Failed(code=FailureCode.COLUMN_NOT_FOUND, stage=StageName.EXECUTOR, detail=DETAIL, facts=FACTS, draft=DRAFT),
    Concluded(
        outcome=Outcome.ANSWERED,
        detail=DETAIL,
        stage=StageName.EXECUTOR,
        sql=SQL,
        result=Result(columns=(ResultColumn(name=NAMES[1]),), rows=((1,),), row_count=1, warnings=(DETAIL,)),
        reply=DETAIL,
        clarification=Clarification(
            trigger=Trigger.COST,
            about=NAMES[0],
            options=(Option(id="1", text=NAMES[0], question=NAMES[1], action=OptionAction.AGGREGATE),),
        ),
        notes=(DETAIL,),
    ),
    Finished(
        answer=Answer(
            outcome=Outcome.ANSWERED,
            language="en",
            message="Done: 1 rows.",
            columns=(AnswerColumn(id=NAMES[1], label="Customer"),),
            rows=((1,),),
            row_count=1,
            pages=PagesAddress(run="9-1", count=1, page_size=100, sha256=("ab",)),
        ),
        sql=SQL,
        detail=DETAIL,
    ),
]  # fmt: skip


def envelope_of(body: Value, audience: Audience = "business") -> Envelope[Any]:
    event: EventName = type(body).event  # type: ignore[attr-defined]
    base = Envelope[Asked](
        event=EventName.ASKED,
        query_id="0190a0a0-0000-7000-8000-000000000001",
        thread_id="0190a0a0-0000-7000-8000-000000000001",
        tenant="acme",
        user="ann",
        audience=audience,
        connection="shop",
        question="有多少客户?",
        enriched_question=f"how many {NAMES[0]}",
        language="zh",
        asked_at=1,
        deadline_at=60_000,
        classification=Classification(kind="database", confidence=1, reason=f"links to {NAMES[0]}", method="rule"),
        attempts=(Attempt(origin=Origin.MODEL, sql=SQL, detail=DETAIL, code=FailureCode.COLUMN_NOT_FOUND),),
        path=(
            PathStep(stage="generator", event=EventName.DRAFTED, started_at=2, ended_at=3),
            PathStep(stage=NAMES[0], event=EventName.DRAFTED, started_at=2, ended_at=3),
        ),
        body=Asked(),
    )
    made = base.with_body(body, extra_of_a_newer_service=SQL)
    assert made.event is event
    return made


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).event.value)
def test_no_event_reports_a_business_reader_a_name(body: Value) -> None:
    sent = json.dumps(public_event(envelope_of(body), "business"), ensure_ascii=False)
    for secret in (*NAMES, "SELECT"):
        assert secret not in sent


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).event.value)
def test_every_view_is_json(body: Value) -> None:
    for audience in ("business", "analyst"):
        json.dumps(public_event(envelope_of(body), audience), allow_nan=False)


def test_an_analyst_sees_the_sql_of_every_event_that_has_one() -> None:
    with_sql = [body for body in BODIES if isinstance(body, Returned | Drafted | Approved | Failed | Concluded)]
    assert all(public_event(envelope_of(item), "analyst")["sql"] == SQL for item in with_sql)


@pytest.mark.parametrize(
    ("read", "is_shown"),
    [
        ("How many orders are there from Zürich, by month", True),
        ("各门店的销售额是多少？只看上海的", True),
        ("How many orders?\nObjective: growth in the USA", True),
        (f"how many {NAMES[0]}", False),
        ("total of ordAmt by month", False),
        ("the sum of orders.total", False),
        ("SELECT name FROM shops", False),
        ("which rows of custaddr are empty", False),
        ("按字段 qty 汇总", False),
    ],
)
def test_how_a_question_was_read_is_shown_to_a_business_reader_unless_a_word_is_written_as_a_name(
    read: str, is_shown: bool
) -> None:
    finished = envelope_of(BODIES[-1]).model_copy(update={"enriched_question": read})
    shown = public_answer(finished, "business")["enriched_question"]
    assert shown == (read if is_shown else None)
    assert public_answer(finished, "analyst")["enriched_question"] == read


@pytest.mark.requirement("000.29")
def test_an_answer_keeps_its_rows_and_numbers_its_columns_for_business() -> None:
    answer = public_answer(envelope_of(BODIES[-1]), "business")
    assert answer["columns"] == [{"id": "c1", "label": "Customer", "kind": "other", "format": None}]
    assert answer["rows"] == [[1]]
    assert answer["pages"] == {"count": 1, "page_size": 100}
    assert answer["question"] == "有多少客户?"
    assert "sql" not in answer
    assert [step["stage"] for step in answer["path"]] == ["generator"]


@pytest.mark.requirement("000.28", "001.12")
def test_an_analyst_gets_sql_detail_and_attempts() -> None:
    answer = public_answer(envelope_of(BODIES[-1]), "analyst")
    assert answer["sql"] == SQL
    assert answer["detail"] == DETAIL
    assert answer["attempts"][0]["sql"] == SQL
    assert answer["columns"][0]["id"] == NAMES[1]


@pytest.mark.requirement("004.1")
@pytest.mark.parametrize(
    ("answer", "is_needed"),
    [
        ({"options": (Option(id="1", text="t", question="q", action=OptionAction.AGGREGATE),)}, True),
        (
            {
                "outcome": Outcome.CONFIRMATION,
                "options": (),
                "confirmation": Confirmation(reason="write", kind="DELETE", sql_sha256="0" * 64, rows_affected_max=1),
            },
            True,
        ),
        ({"options": (), "confirmation": None}, False),
    ],
    ids=["options", "a yes", "an answer"],
)
def test_an_answer_says_whether_a_person_is_needed(answer: dict[str, Any], is_needed: bool) -> None:
    body = cast("Finished", BODIES[-1])
    changed = body.model_copy(update={"answer": body.answer.model_copy(update=answer)})
    shown = public_answer(envelope_of(changed), "analyst")
    assert shown["needs_user_confirmation"] is is_needed
    assert {"trigger", "message", "detail", "sql"} <= shown.keys()


def test_a_page_has_the_columns_of_the_answer_not_of_the_store() -> None:
    finished = envelope_of(BODIES[-1]).body
    page = public_page(finished.answer, [(NAMES[0],)], "business")
    assert page["columns"][0]["id"] == "c1"
    assert page["rows"] == [[NAMES[0]]], "cell values are the person's own data"


def test_model_tokens_reach_analysts_only() -> None:
    note = json.dumps({"n": 1, "stage": "generator", "state": "started", "at": 5, "text": SQL, "other": SQL}).encode()
    assert public_progress(note, "business") == {"n": 1, "stage": "generator", "state": "started", "at": 5}
    analyst = public_progress(note, "analyst")
    assert analyst is not None
    assert analyst["text"] == SQL
    assert "other" not in analyst


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"1", b'{"stage":"qz_tbl_81hf"}', b'{"n":1}', b'"' + b"x" * 20_000 + b'"']
)
def test_bytes_that_are_no_progress_are_dropped(data: bytes) -> None:
    assert public_progress(data, "business") is None


@given(st.binary(max_size=200))
def test_no_bytes_break_the_progress_view(data: bytes) -> None:
    public_progress(data, "business")


@given(st.dictionaries(st.sampled_from(["n", "stage", "state", "at", "text", "x"]), st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.lists(st.integers()), st.dictionaries(st.text(), st.text())), max_size=6))  # fmt: skip
def test_a_progress_note_of_any_shape_is_viewed_or_dropped(note: dict[str, Any]) -> None:
    view = public_progress(json.dumps(note).encode(), "business")
    assert view is None or set(view) <= {"n", "stage", "state", "at"}
