"""Claims on the envelope: what yesterday's services wrote is read today, and nothing unknown is lost."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querybus.core import envelope as envelopes
from querybus.core.asking_back import Clarification, Option, OptionAction, Trigger
from querybus.core.catalog import ColumnKind, Dialect
from querybus.core.envelope import (
    ENVELOPES,
    Attempt,
    Classification,
    Envelope,
    PathStep,
    Retries,
    Undecodable,
    decode,
    encode,
)
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.messages import (
    Advice,
    Analysis,
    Answer,
    AnswerColumn,
    Approved,
    Asked,
    ColumnFormat,
    Concluded,
    Confirmed,
    Draft,
    Drafted,
    Failed,
    Finished,
    FormatKind,
    Link,
    Operation,
    Origin,
    Outcome,
    PagesAddress,
    Result,
    ResultColumn,
    Returned,
)
from querybus.core.options import Options
from querybus.core.subjects import EventName, StageName
from querybus.core.value import Value

GOLDEN = Path(__file__).parent / "golden" / "v1.0"
DRAFT = Draft(sql="SELECT COUNT(*) FROM t", dialect=Dialect.SQLITE, origin=Origin.MODEL)
ANALYSIS = Analysis(
    links=(Link(text="customers", table="t", score=0.9, reason="name"),),
    tables=("t",),
    catalog_fingerprint="0" * 32,
    model="m",
    prompt_version="p",
    tokens_in=10,
    tokens_out=5,
    confidence=0.8,
)
READ_TWICE = ANALYSIS.model_copy(update={"second_reading": "number of customers", "second_confidence": 0.9})
OPTION = Option(id="1", text="Narrow the period", question="How many in 2023?", action=OptionAction.NARROW_PERIOD)
PAGES = PagesAddress(run="7-1", count=2, page_size=100, sha256=("a" * 64, "b" * 64))
BODIES: dict[EventName, Value] = {
    EventName.ASKED: Asked(body_sha256="c" * 64, thread_until_sequence=3),
    EventName.RETURNED: Returned(
        operation=Operation.ASK,
        draft=DRAFT,
        advice=Advice(
            code=FailureCode.COLUMN_NOT_FOUND, detail="no such column", facts=Facts(name="x", candidates=("y",))
        ),
        analysis=READ_TWICE,
        alternative_sql="SELECT COUNT(*) FROM t AS t1",
    ),
    EventName.DRAFTED: Drafted(draft=DRAFT, analysis=ANALYSIS, notes=("read as a count",)),
    EventName.CONFIRMED: Confirmed(asking_query_id="q0", sql_sha256="d" * 64, rows_affected_max=3),
    EventName.APPROVED: Approved(
        sql=DRAFT.sql,
        dialect=Dialect.SQLITE,
        origin=Origin.MODEL,
        tables=("t",),
        row_limit=100,
        checked=("static", "explain"),
    ),
    EventName.FAILED: Failed(code=FailureCode.TIMEOUT, stage=StageName.EXECUTOR, detail="cut at 30 s", draft=DRAFT),
    EventName.CONCLUDED: Concluded(
        outcome=Outcome.ANSWERED,
        stage=StageName.EXECUTOR,
        sql=DRAFT.sql,
        dialect=Dialect.SQLITE,
        result=Result(
            columns=(ResultColumn(name="n", kind=ColumnKind.INTEGER, type="INTEGER"),),
            rows=((3,), (None,)),
            row_count=2,
            pages=PAGES,
        ),
        clarification=Clarification(trigger=Trigger.MISSING_VALUE, about="Lyon", options=(OPTION,)),
    ),
    EventName.FINISHED: Finished(
        answer=Answer(
            outcome=Outcome.ANSWERED,
            language="zh",
            message="共有 3 位客户。",
            options=(OPTION,),
            columns=(
                AnswerColumn(
                    id="c1",
                    label="客户数",
                    kind=ColumnKind.INTEGER,
                    format=ColumnFormat(kind=FormatKind.INTEGER, unit="位"),
                ),
            ),
            rows=((3,),),
            row_count=1,
        ),
        sql=DRAFT.sql,
    ),
}


def example(event: EventName) -> Envelope[Any]:
    return ENVELOPES[event](
        event=event,
        query_id="01890a5d-ac96-774b-bcce-b302099a8057",
        thread_id="01890a5d-ac96-774b-bcce-b302099a8058",
        tenant="acme",
        user="ann",
        audience="analyst",
        connection="shop",
        question="有多少位客户？",
        enriched_question="2023 年有多少位客户？",
        language="zh",
        # A field of older writers goes on with the query.
        options=Options.model_validate({"today": dt.date(2025, 6, 30), "second_draft": True, "cross_check": False}),
        asked_at=1_750_000_000_000,
        deadline_at=1_750_000_060_000,
        classification=Classification(kind="database", confidence=1.0, reason="forced", method="forced"),
        retries=Retries(generation=1),
        attempts=(Attempt(origin=Origin.MODEL, sql=DRAFT.sql, validated=True, executed=True, duration_ms=1.5),),
        path=(PathStep(stage="generator", event=EventName.DRAFTED, started_at=1, ended_at=2),),
        body=BODIES[event],
    )


@pytest.mark.parametrize("event", list(EventName))
@pytest.mark.requirement("card.14")
def test_a_golden_event_of_this_version_is_read_and_written_unchanged(event: EventName) -> None:
    golden = (GOLDEN / f"{event}.json").read_text()
    assert json.loads(encode(decode(event, golden.encode()))) == json.loads(golden)
    assert json.loads(encode(example(event))) == json.loads(golden), "the wire format changed: add a golden version"


def test_an_answer_that_was_stored_before_columns_had_formats_is_read_without_them() -> None:
    raw = json.loads((GOLDEN / "finished.json").read_text())
    for column in raw["body"]["answer"]["columns"]:
        del column["format"]
    answer = decode(EventName.FINISHED, json.dumps(raw).encode()).body.answer
    assert [column.format for column in answer.columns] == [None]


@pytest.mark.parametrize("event", list(EventName))
@pytest.mark.requirement("000.39")
def test_an_unknown_field_survives_a_hop_in_header_and_body(event: EventName) -> None:
    raw = json.loads((GOLDEN / f"{event}.json").read_text())
    raw["priority"] = 7
    raw["body"]["colour"] = "green"
    raw["attempts"][0]["cost"] = 0.1
    hop = envelopes.stamped(
        decode(event, json.dumps(raw).encode()), PathStep(stage="presenter", event=event, started_at=3, ended_at=4)
    )
    written = json.loads(encode(hop))
    assert (written["priority"], written["body"]["colour"], written["attempts"][0]["cost"]) == (7, "green", 0.1)


@pytest.mark.parametrize(
    ("change", "newer"),
    [
        ({"envelope_version": "9.0"}, True),
        ({"envelope_version": "0.4"}, False),
        ({"envelope_version": "2"}, False),
        ({"envelope_version": "1"}, False),
        ({"envelope_version": "x"}, False),
        ({"envelope_version": ""}, False),
        ({"envelope_version": None}, False),
        ({"envelope_version": 1.0}, False),
        ({"event": "approved"}, False),
        ({"deadline_at": "soon"}, False),
    ],
)
def test_an_envelope_that_is_not_of_this_kind_is_undecodable_with_a_reason(
    change: dict[str, object], newer: bool
) -> None:
    raw = json.loads((GOLDEN / "drafted.json").read_text()) | change
    with pytest.raises(Undecodable) as caught:
        decode(EventName.DRAFTED, json.dumps(raw).encode())
    assert caught.value.newer is newer
    assert caught.value.reason


@pytest.mark.requirement("card.14")
def test_an_envelope_without_a_version_is_undecodable() -> None:
    raw = json.loads((GOLDEN / "drafted.json").read_text())
    del raw["envelope_version"]
    with pytest.raises(Undecodable) as caught:
        decode(EventName.DRAFTED, json.dumps(raw).encode())
    assert "envelope_version" in caught.value.reason


@given(st.binary(max_size=300))
def test_no_bytes_make_decoding_raise_anything_but_undecodable(data: bytes) -> None:
    with pytest.raises(Undecodable):
        decode(EventName.ASKED, data)


@given(
    question=st.text(max_size=200),
    sql=st.text(max_size=200),
    rows=st.lists(
        st.tuples(st.none() | st.integers(-(2**70), 2**70) | st.booleans() | st.text(max_size=20)), max_size=5
    ),
)
def test_an_envelope_survives_the_round_trip(question: str, sql: str, rows: list[tuple[object, ...]]) -> None:
    result = Result(columns=(ResultColumn(name="a"),), rows=tuple(rows), row_count=len(rows))  # pyright: ignore[reportArgumentType]
    before = example(EventName.CONCLUDED).with_body(
        Concluded(outcome=Outcome.ANSWERED, stage=StageName.EXECUTOR, sql=sql, result=result), question=question
    )
    assert decode(EventName.CONCLUDED, encode(before)) == before


@pytest.mark.requirement("003.8", "card.15")
def test_a_returned_draft_counts_as_a_retry_and_a_repair_as_a_repair() -> None:
    asked = example(EventName.ASKED)
    body = BODIES[EventName.RETURNED]
    assert isinstance(body, Returned)
    assert envelopes.returned(asked, body).retries == Retries(generation=2)
    mended = envelopes.drafted(asked, Drafted(draft=DRAFT.model_copy(update={"origin": Origin.RULE})))
    assert mended.retries == Retries(generation=1, mend=1)
    assert len(mended.attempts) == 2


def test_a_failure_is_noted_on_the_attempt_that_failed() -> None:
    envelope = envelopes.failed(example(EventName.APPROVED), Failure.of(FailureCode.TIMEOUT, "cut"), StageName.EXECUTOR)
    assert envelope.attempts[-1].code is FailureCode.TIMEOUT
    assert envelope.attempts[-1].stage is StageName.EXECUTOR
    assert envelope.body.draft == DRAFT


def test_a_failure_before_any_draft_makes_no_attempt() -> None:
    asked = example(EventName.ASKED).with_body(Asked(), attempts=())
    envelope = envelopes.failed(asked, Failure.of(FailureCode.MODEL_UNAVAILABLE), StageName.GENERATOR)
    assert envelope.attempts == ()
    assert envelope.body.draft is None
