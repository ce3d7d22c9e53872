"""What each trigger asks back, word for word: one golden file a trigger, both languages and both audiences.

A clarification is never empty: it says what is asked and offers two or three complete questions. After a change that
is meant, `UPDATE_GOLDEN=1 pytest services/presenter/tests/test_clarifications.py` writes the files anew.
"""

from __future__ import annotations

import json
import os
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from querybus.bus.log.publish import BusTrouble
from querybus.core.asking_back import Clarification, Option, OptionAction, Trigger
from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Language, Table
from querybus.core.envelope import Audience, Delivery, Envelope
from querybus.core.failure import FailureCode
from querybus.core.messages import Analysis, Concluded, Outcome
from querybus.core.stored.choices import Choices
from querybus.core.subjects import EventName, StageName
from querybus.text.disclosure import leaks
from querybus_presenter.catalog_store import PatientChoices
from querybus_presenter.present import present, render
from querybus_presenter.wording.texts import AUDIENCES, LANGUAGES, load_texts
from querybus_translator import Translated, translate

WORDS = load_texts()
READERS: list[tuple[Language, Audience]] = list(product(LANGUAGES, AUDIENCES))
GOLDEN = Path(__file__).parent / "golden"
CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=(
        Table(
            name="cust_tbl",
            display_names={"en": "customers", "zh": "客户"},
            columns=(
                Column(
                    name="cty",
                    type="TEXT",
                    kind=ColumnKind.TEXT,
                    display_names={"en": "city", "zh": "城市"},
                    values=("Lyon", "Bern"),
                ),
                Column(
                    name="sgn_dt",
                    type="DATE",
                    kind=ColumnKind.DATE,
                    display_names={"en": "first day", "zh": "注册日期"},
                ),
            ),
        ),
    ),
)
QUESTIONS = {"en": "How many customers are there in Bejing?", "zh": "北亰有多少客户？"}
GIVEN = {"en": "How many customers are there in Beijing?", "zh": "北京有多少客户？"}
CODES = {
    Trigger.AMBIGUOUS_QUESTION: FailureCode.AMBIGUOUS_QUESTION,
    Trigger.SQL_EXECUTION_ERROR: FailureCode.SYNTAX_ERROR,
    Trigger.MISSING_DATABASE_INFO: FailureCode.MISSING_DATABASE_INFO,
    Trigger.MISSING_VALUE: None,
    Trigger.COST: FailureCode.COST,
    Trigger.NOT_ALLOWED: None,
    Trigger.UNAVAILABLE: None,
    Trigger.INTERRUPTED: None,
}


def asked_back(trigger: Trigger, language: Language, audience: Audience) -> dict[str, Any]:
    """Return what a reader gets for the trigger, as the APIs give it."""
    given: tuple[Option, ...] = ()
    if trigger is Trigger.MISSING_VALUE:
        text = GIVEN[language]
        given = (Option(id="1", text=text, question=text, action=OptionAction.ADD_FILTER),)
    envelope = Envelope[Concluded](
        event=EventName.CONCLUDED,
        query_id="q",
        thread_id="t",
        tenant="acme",
        user="ann",
        audience=audience,
        connection="shop",
        question=QUESTIONS[language],
        language=language,
        asked_at=0,
        deadline_at=60_000,
        body=Concluded(
            outcome=Outcome.CLARIFICATION,
            code=CODES[trigger],
            stage=StageName.RECOVERY,
            analysis=Analysis(tables=("cust_tbl",)),
            clarification=Clarification(trigger=trigger, about="Bejing" if language == "en" else "北亰", options=given),
        ),
    )
    answer = render(envelope, CATALOG, WORDS[language, audience]).body.answer
    return {
        "message": answer.message,
        "next_step": answer.next_step,
        "trigger": answer.trigger,
        "options": [option.model_dump(mode="json", exclude={"key"}) for option in answer.options],
    }


@pytest.mark.parametrize("trigger", Trigger)
@pytest.mark.requirement("004.21")
def test_a_trigger_asks_back_in_these_words(trigger: Trigger) -> None:
    made = {f"{language}.{audience}": asked_back(trigger, language, audience) for language, audience in READERS}
    file = GOLDEN / f"{trigger}.json"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n")
    assert made == json.loads(file.read_text())


@pytest.mark.parametrize("trigger", Trigger)
@pytest.mark.requirement("004.1", "004.9")
def test_a_clarification_is_never_empty_and_offers_questions_that_can_be_asked(trigger: Trigger) -> None:
    for language, audience in READERS:
        made = asked_back(trigger, language, audience)
        assert made["message"]
        assert made["trigger"] == trigger
        assert 2 <= len(made["options"]) <= 3, (language, audience)
        assert len({option["id"] for option in made["options"]}) == len(made["options"])
        for option in made["options"]:
            assert option["text"]
            assert len(option["question"]) > len("what?")
            if audience == "business":
                assert not leaks(f"{option['text']}\n{option['question']}", CATALOG, language, said=QUESTIONS[language])


def test_every_trigger_has_its_file_and_no_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == {str(item) for item in Trigger}


# After a failed execution


FAILED_EXECUTIONS = {
    FailureCode.COLUMN_NOT_FOUND: {
        "zh": ["重新尝试当前查询", "调整查询的时间范围", "更换其他数据维度"],
        "en": ["Try the same question again", "Change the period of the question", "Ask by another property"],
    },
    FailureCode.TABLE_NOT_FOUND: {
        "zh": ["确认要查询的数据类型", "选择其他可用的数据源", "联系管理员开通权限"],
        "en": [
            "Find out which data there is",
            "Choose other data that is available",
            "Ask the administrator for access",
        ],
    },
    FailureCode.TIMEOUT: {
        "zh": ["缩小查询的时间范围", "添加更多筛选条件", "使用汇总数据代替明细"],
        "en": ["Narrow the period", "Add more filters", "Ask for totals instead of details"],
    },
    FailureCode.PERMISSION: {
        "zh": ["联系管理员开通权限", "选择其他可用的数据源"],
        "en": ["Ask the administrator for access", "Choose other data that is available"],
    },
    FailureCode.SYNTAX_ERROR: {
        "zh": ["重新尝试当前查询", "使用汇总数据代替明细", "更换其他数据维度"],
        "en": ["Try the same question again", "Ask for totals instead of details", "Ask by another property"],
    },
}


def ended(
    outcome: Outcome, code: FailureCode | None, language: Language, clarification: Clarification | None = None
) -> Any:
    envelope = Envelope[Concluded](
        event=EventName.CONCLUDED,
        query_id="q",
        thread_id="t",
        tenant="acme",
        user="ann",
        audience="business",
        connection="shop",
        question=QUESTIONS[language],
        language=language,
        asked_at=0,
        deadline_at=60_000,
        body=Concluded(
            outcome=outcome,
            code=code,
            stage=StageName.RECOVERY,
            analysis=Analysis(tables=("cust_tbl",)),
            clarification=clarification,
        ),
    )
    return render(envelope, CATALOG, WORDS[language, "business"]).body.answer


@pytest.mark.parametrize("code", FAILED_EXECUTIONS)
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.requirement("004.10", "004.11", "004.12")
def test_a_failed_execution_is_asked_about_with_the_ways_on_that_help_against_it(
    code: FailureCode, language: Language
) -> None:
    asked = Clarification(trigger=Trigger.SQL_EXECUTION_ERROR)
    answer = ended(Outcome.CLARIFICATION, code, language, asked)
    assert [option.text for option in answer.options] == FAILED_EXECUTIONS[code][language]
    assert answer.trigger is Trigger.SQL_EXECUTION_ERROR
    # The same failure offers the same, where nobody asked to be asked.
    assert [option.text for option in ended(Outcome.FAILED, code, language).options] == FAILED_EXECUTIONS[code][
        language
    ]


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.REFUSED, Outcome.EXPIRED, Outcome.CANCELLED])
@pytest.mark.parametrize("code", [None, *FailureCode])
@pytest.mark.requirement("004.1")
def test_whatever_offers_options_says_why(outcome: Outcome, code: FailureCode | None) -> None:
    answer = ended(outcome, code, "en")
    assert answer.options
    assert answer.trigger is not None


# Over data without dates


FIGURES = Table(
    name="rdg",
    display_names={"en": "readings", "zh": "读数"},
    primary_key=("rdg_id",),
    columns=(
        Column(name="rdg_id", type="INTEGER", kind=ColumnKind.INTEGER, display_names={"en": "number", "zh": "编号"}),
        Column(name="prs", type="REAL", kind=ColumnKind.NUMBER, display_names={"en": "pressure", "zh": "压力"}),
        Column(name="tmp", type="REAL", kind=ColumnKind.NUMBER, display_names={"en": "temperature", "zh": "温度"}),
    ),
)
FIGURES_ASKED = {"en": "Show all readings", "zh": "显示所有读数"}


def asked_of_figures(code: FailureCode, language: Language) -> Any:
    envelope = Envelope[Concluded](
        event=EventName.CONCLUDED,
        query_id="q",
        thread_id="t",
        tenant="acme",
        user="ann",
        audience="business",
        connection="shop",
        question=FIGURES_ASKED[language],
        language=language,
        asked_at=0,
        deadline_at=60_000,
        body=Concluded(
            outcome=Outcome.FAILED,
            code=code,
            stage=StageName.EXECUTOR,
            sql='SELECT r."prs", r."tmp" FROM "rdg" AS r',
            # Linking had offered more tables than the statement reads.
            analysis=Analysis(tables=("cust_tbl", "rdg")),
        ),
    )
    catalog = CATALOG.model_copy(update={"tables": (*CATALOG.tables, FIGURES)})
    return render(envelope, catalog, WORDS[language, "business"]).body.answer


@pytest.mark.parametrize("code", [FailureCode.TIMEOUT, FailureCode.COLUMN_NOT_FOUND, FailureCode.COST])
def test_options_for_a_table_of_figures_name_its_own_figures_and_no_days_or_cities_of_others(code: FailureCode) -> None:
    for language in LANGUAGES:
        options = asked_of_figures(code, language).options
        said = " ".join(f"{option.text} {option.question}" for option in options)
        others = {"en": ("30 days", "month", "period", "city", "Lyon"), "zh": ("30天", "按月", "时间", "城市", "Lyon")}
        assert not [word for word in others[language] if word in said], said
        assert {"en": "by pressure", "zh": "压力最高"}[language] in said
        assert {"en": "by number", "zh": "编号最高"}[language] not in said, "a key is no figure"
        assert len(options) == len({option.question for option in options}) == 3


def test_options_for_a_table_of_figures_can_be_asked_as_they_stand() -> None:
    catalog = CATALOG.model_copy(update={"tables": (FIGURES,)})
    for language in LANGUAGES:
        options = asked_of_figures(FailureCode.TIMEOUT, language).options
        read = [translate(option.question, catalog, today=date(2026, 6, 30)) for option in options]
        assert [item.sql.partition("FROM")[2].strip() for item in read if isinstance(item, Translated)] == [
            '"rdg" ORDER BY "prs" DESC LIMIT 10',
            '"rdg" WHERE "tmp" > (SELECT AVG("tmp") FROM "rdg")',
            '"rdg"',
        ]


# The ordered words


def message(code: FailureCode, outcome: Outcome = Outcome.FAILED) -> str:
    return ended(outcome, code, "zh").message


@pytest.mark.requirement("004.3")
def test_a_missing_column_is_said_in_the_ordered_words() -> None:
    assert message(FailureCode.COLUMN_NOT_FOUND) == "查询的数据维度可能不存在，需要调整查询内容"


@pytest.mark.requirement("004.4")
def test_a_missing_table_is_said_in_the_ordered_words() -> None:
    assert message(FailureCode.TABLE_NOT_FOUND) == "查询的数据范围可能超出了可访问的范围"


@pytest.mark.requirement("004.5")
def test_wrong_syntax_is_said_in_the_ordered_words() -> None:
    assert message(FailureCode.SYNTAX_ERROR) == "查询语句的结构需要调整"


@pytest.mark.requirement("004.6")
def test_a_missing_right_is_said_in_the_ordered_words() -> None:
    assert message(FailureCode.PERMISSION, Outcome.REFUSED) == "当前没有权限访问相关数据"


@pytest.mark.requirement("004.7")
def test_a_time_out_is_said_in_the_ordered_words() -> None:
    assert message(FailureCode.TIMEOUT) == "查询数据量较大，建议缩小查询范围或添加时间限制"


@pytest.mark.requirement("000.26")
def test_a_statement_that_could_not_be_written_is_said_in_the_ordered_words() -> None:
    assert message(FailureCode.UNKNOWN_GENERATION_FAILURE) == "无法生成有效的查询，请尝试重新描述您的问题。"
    assert WORDS["zh", "analyst"].code[FailureCode.UNKNOWN_GENERATION_FAILURE] == (
        "无法生成有效的SQL查询，请尝试重新描述您的问题。"
    )


@pytest.mark.requirement("000.25")
def test_a_models_explanation_ends_with_the_ordered_advice() -> None:
    for audience in ("business", "analyst"):
        text = WORDS["zh", audience].code[FailureCode.LLM_EXPLANATION]
        assert text == "{explanation} 请尝试重新描述您的问题或询问其他内容。"


@pytest.mark.requirement("003.18")
def test_of_a_database_that_is_away_it_is_said_that_the_statement_may_be_right() -> None:
    assert "查询本身可能是正确的" in WORDS["zh", "analyst"].code[FailureCode.CONNECTION]
    assert message(FailureCode.CONNECTION) == "暂时无法连接数据源，与您的问题无关，请稍后再试。"


# What a person chose before


class Chosen:
    """The choices of one person."""

    def __init__(self, tenant: str, user: str, choices: Choices) -> None:
        self.of = {(tenant, user): choices}

    async def read(self, tenant: str, user: str) -> Choices:
        return self.of.get((tenant, user), Choices())


class OneCatalog:
    async def read(self, connection: str) -> Catalog:
        return CATALOG


async def offered_to(tenant: str, user: str, code: FailureCode, language: Language, chosen: Chosen) -> Any:
    envelope = Envelope[Concluded](
        event=EventName.CONCLUDED,
        query_id="q",
        thread_id="t",
        tenant=tenant,
        user=user,
        audience="business",
        connection="shop",
        question=QUESTIONS[language],
        language=language,
        asked_at=0,
        deadline_at=60_000,
        body=Concluded(
            outcome=Outcome.FAILED, code=code, stage=StageName.EXECUTOR, analysis=Analysis(tables=("cust_tbl",))
        ),
    )
    delivery = Delivery(sequence=1, deliveries=1, now_ms=0)
    finished = await present(envelope, delivery, catalogs=OneCatalog(), words=WORDS, choices=chosen)
    return finished.body.answer.options


@pytest.mark.requirement("004.17")
@pytest.mark.parametrize("language", LANGUAGES)
async def test_after_four_choices_the_chosen_option_comes_first_for_that_person_and_kind_of_question(
    language: Language,
) -> None:
    nothing = Chosen("acme", "ann", Choices())
    for code in (FailureCode.TIMEOUT, FailureCode.TABLE_NOT_FOUND, FailureCode.SAFETY):
        plain = await offered_to("acme", "ann", code, language, nothing)
        habit = Chosen("acme", "ann", Choices().with_choice(plain[1].key))
        moved = await offered_to("acme", "ann", code, language, habit)
        assert {(item.key, item.text, item.question) for item in moved} == {
            (item.key, item.text, item.question) for item in plain
        }
    before = await offered_to("acme", "ann", FailureCode.TIMEOUT, language, nothing)
    choices = Choices()
    for _ in range(4):
        choices = choices.with_choice(before[2].key)
    chosen = Chosen("acme", "ann", choices)
    after = await offered_to("acme", "ann", FailureCode.TIMEOUT, language, chosen)
    assert [option.text for option in after] == [before[2].text, before[0].text, before[1].text]
    assert [option.id for option in after] == ["1", "2", "3"]
    for tenant, user, code in (
        ("acme", "bob", FailureCode.TIMEOUT),
        ("other", "ann", FailureCode.TIMEOUT),
        ("acme", "ann", FailureCode.COLUMN_NOT_FOUND),
    ):
        assert await offered_to(tenant, user, code, language, chosen) == await offered_to(
            tenant, user, code, language, nothing
        )


async def test_without_the_store_of_choices_the_owners_order_holds() -> None:
    class Broken:
        async def read(self, tenant: str, name: str) -> Choices:
            raise BusTrouble("away")

    assert await PatientChoices(Broken(), wait_seconds=1).read("acme", "ann") == Choices()
