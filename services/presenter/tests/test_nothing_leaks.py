"""Claims on every failure of every engine: whatever its text names, a business reader sees none of it."""

from __future__ import annotations

import random
from itertools import product

import pytest

from querybus.core.asking_back import Clarification, Trigger
from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Language, Table
from querybus.core.envelope import Attempt, Audience, Envelope
from querybus.core.failure import TRAITS, FailureCode
from querybus.core.messages import (
    Analysis,
    Concluded,
    Finished,
    Origin,
    Outcome,
    Result,
    ResultColumn,
)
from querybus.core.subjects import EventName, StageName
from querybus.text.disclosure import leaks
from querybus_presenter.present import render
from querybus_presenter.wording.texts import AUDIENCES, LANGUAGES, load_texts

WORDS = load_texts()
DRIVER_TEXTS = (
    'sqlite3.OperationalError: no such column: {table}.{column}',
    "sqlite3.OperationalError: near \"FROM\": syntax error",
    'psycopg.errors.UndefinedColumn: column "{column}" does not exist LINE 1: SELECT {column} FROM {table}',
    'ERROR: relation "{table}" does not exist (SQLSTATE 42P01)',
    "(1054, \"Unknown column '{column}' in 'field list'\")",
    "pymysql.err.ProgrammingError: (1146, \"Table 'shop.{table}' doesn't exist\")",
    'Catalog Error: Table with name {table} does not exist! Did you mean "{column}"?',
    "Code: 47. DB::Exception: Unknown expression identifier `{column}` in scope SELECT {column} FROM {table}",
    'ORA-00904: "{table}"."{column}": invalid identifier',
    "connection to server at 10.2.3.4, port 5432 failed: Connection refused",
    "could not open /var/lib/shop/{table}.sqlite",
    "Statement was cancelled: SELECT {column} FROM {table} WHERE {column} = 'x'",
)  # fmt: skip


def strange_names(seed: int) -> list[str]:
    chooser = random.Random(seed)
    forms = ("{a}_{b}", "{a}{n}", "{a}{b}Id", "{a}", "t_{a}")

    def piece() -> str:
        return "".join(chooser.choice("bcdfghjklmnpqrstvwxz") for _ in range(5))

    return [
        chooser.choice(forms).format(a=piece(), b=piece().capitalize(), n=chooser.randint(1, 99)) for _ in range(10)
    ]


def strange_catalog(names: list[str]) -> Catalog:
    columns = tuple(
        Column(name=name, type="TEXT", kind=ColumnKind.TEXT, comment=f"{name} of us", values=(f"a {name}",))
        for name in names[1:]
    )
    table = Table(name=names[0], columns=columns, comment=f"the {names[0]}", display_names={"en": names[0]})
    return Catalog(connection="shop", dialect=Dialect.SQLITE, tables=(table,))


def failed(
    code: FailureCode, text: str, names: list[str], language: Language, audience: Audience
) -> Envelope[Concluded]:
    sql = f"SELECT {names[1]}, COUNT({names[2]}) FROM {names[0]} WHERE {names[3]} = 'x' GROUP BY {names[1]}"
    body = Concluded(
        outcome=Outcome(TRAITS[code].ending.value),
        code=code,
        detail=text,
        stage=StageName.RECOVERY,
        sql=sql,
        dialect=Dialect.SQLITE,
        reply=text,
        refused_kind=names[4],
        notes=(f"{names[5]} was read as {names[6]}", text),
        analysis=Analysis(tables=(names[0],), reading=text),
        clarification=Clarification(trigger=Trigger.SQL_EXECUTION_ERROR, about=text),
    )
    return Envelope[Concluded](
        event=EventName.CONCLUDED,
        query_id="q",
        thread_id="t",
        tenant="acme",
        user="ann",
        audience=audience,
        connection="shop",
        question={"en": "How many are there?", "zh": "一共有多少？"}[language],
        language=language,
        asked_at=0,
        deadline_at=60_000,
        attempts=(Attempt(origin=Origin.MODEL, sql=sql, detail=text),),
        body=body,
    )


def texts_of(finished: Finished) -> list[str]:
    answer = finished.answer
    return [
        answer.message,
        answer.next_step,
        answer.summary,
        *(item for option in answer.options for item in (option.text, option.question)),
    ]


@pytest.mark.long
@pytest.mark.parametrize(("language", "audience"), list(product(LANGUAGES, AUDIENCES)))
@pytest.mark.requirement("004.14")
def test_every_failure_of_every_engine_is_phrased_without_a_name(language: Language, audience: Audience) -> None:
    for seed, (code, text) in enumerate(product(FailureCode, DRIVER_TEXTS)):
        names = strange_names(seed)
        catalog = strange_catalog(names)
        written = text.format(table=names[0], column=names[1])
        envelope = failed(code, written, names, language, audience)
        after = render(envelope, catalog, WORDS[language, audience]).body
        assert after.answer.message.strip()
        if audience == "analyst":
            assert after.detail == written
            continue
        shown = after.model_dump_json().lower()
        assert [name for name in names if name.lower() in shown] == [], (code, text)
        for item in texts_of(after):
            assert leaks(item, catalog, language) == (), (code, item)


@pytest.mark.parametrize("text", DRIVER_TEXTS)
def test_what_a_driver_says_would_be_found_if_a_model_repeated_it(text: str) -> None:
    names = strange_names(7)
    said = f"I am sorry: {text.format(table=names[0], column=names[1])}"
    assert leaks(said, strange_catalog(names), "en")


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_answer_is_summed_up_drawn_and_explained_without_a_name(language: Language) -> None:
    for seed in range(40):
        names = strange_names(seed)
        catalog = strange_catalog(names)
        envelope = failed(FailureCode.INTERNAL, "x", names, language, "business")
        result = Result(
            columns=(
                ResultColumn(name=names[1], kind=ColumnKind.TEXT),
                ResultColumn(name=f"COUNT({names[2]})", kind=ColumnKind.INTEGER),
            ),
            rows=tuple((chr(97 + n) * 3, n * 7 % 11) for n in range(11)),
            row_count=11,
        )
        body = envelope.body.model_copy(update={"outcome": Outcome.ANSWERED, "code": None, "result": result})
        after = render(envelope.with_body(body), catalog, WORDS[language, "business"]).body
        assert after.answer.explanation
        assert after.answer.chart is not None
        assert [name for name in names if name.lower() in after.model_dump_json().lower()] == []
