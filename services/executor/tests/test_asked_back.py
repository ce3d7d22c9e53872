"""Claims on empty answers: what is asked back, what stays an answer, and that nothing is rewritten."""

from __future__ import annotations

import pytest

from querybus.core.asking_back import OptionAction, Trigger
from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.core.envelope import Envelope
from querybus.core.messages import (
    Approved,
    Concluded,
    Origin,
    Outcome,
    Result,
    ResultColumn,
    Scalar,
)
from querybus.core.policy import ConnectionPolicy
from querybus.core.subjects import EventName, StageName
from querybus_executor.results.value_suggestions import asked_back

CITY = Column(name="city", type="TEXT", kind=ColumnKind.TEXT, values=("Beijing", "Rome"), values_complete=True)
CATALOG = Catalog(connection="shop", dialect=Dialect.SQLITE, tables=(Table(name="customers", columns=(CITY,)),))
SQL = "SELECT COUNT(*) FROM customers WHERE city = 'Bejing'"


def approval(sql: str = SQL, origin: Origin = Origin.MODEL) -> Envelope[Approved]:
    return Envelope[Approved](
        event=EventName.APPROVED,
        query_id="q",
        thread_id="t",
        tenant="acme",
        user="ann",
        audience="business",
        connection="shop",
        question="How many customers live in Bejing?",
        language="en",
        asked_at=0,
        deadline_at=60_000,
        body=Approved(
            sql=sql, dialect=Dialect.SQLITE, origin=origin, tables=("customers",), row_limit=10, checked=("static",)
        ),
    )


def answered(*rows: tuple[Scalar, ...]) -> Concluded:
    columns = (ResultColumn(name="n", kind=ColumnKind.INTEGER),)
    return Concluded(
        outcome=Outcome.ANSWERED,
        stage=StageName.EXECUTOR,
        sql=SQL,
        result=Result(columns=columns, rows=rows, row_count=len(rows)),
    )


@pytest.mark.parametrize("rows", [(), ((0,),), ((None,),)])
def test_nothing_found_for_a_misspelt_value_is_asked_back(rows: tuple[tuple[Scalar, ...], ...]) -> None:
    result = asked_back(approval(), answered(*rows), CATALOG, ConnectionPolicy())
    assert result.outcome is Outcome.CLARIFICATION
    assert result.clarification is not None
    assert (result.clarification.trigger, result.clarification.about) == (Trigger.MISSING_VALUE, "Bejing")
    (option,) = result.clarification.options
    assert (option.text, option.question) == ("Beijing", "How many customers live in Beijing?")
    assert option.action is OptionAction.REPLACE_DIMENSION
    assert result.result == answered(*rows).result
    assert result.sql == SQL


@pytest.mark.parametrize(
    ("approved", "conclusion"),
    [
        (approval(), answered((3,))),
        (approval("SELECT COUNT(*) FROM customers WHERE city = 'Rome'"), answered((0,))),
        (approval("SELECT COUNT(*) FROM customers WHERE city = 'BJ'"), answered((0,))),
        (approval(origin=Origin.USER), answered()),
    ],
)
def test_an_answer_stays_an_answer(approved: Envelope[Approved], conclusion: Concluded) -> None:
    assert asked_back(approved, conclusion, CATALOG, ConnectionPolicy()) == conclusion
