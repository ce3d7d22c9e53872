"""The generator's verb: what becomes of a question, with and without a model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from services.generator.tests.shop_for_generation import (
    CANARY,
    NOW_MS,
    SHOP,
    KeptHistory,
    SpokenModel,
    asked,
    run,
)

from querybus.core.asking_back import OptionAction, Trigger
from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect
from querybus.core.envelope import Attempt, Classification, Envelope, encode
from querybus.core.failure import Facts, Failure, FailureCode, ModelTrouble
from querybus.core.messages import (
    Advice,
    Asked,
    Clarifies,
    Concluded,
    Draft,
    Drafted,
    Operation,
    Origin,
    Outcome,
    Returned,
)
from querybus.core.options import Mode, Options
from querybus.core.policy import Access, ConnectionPolicy
from querybus.core.subjects import StageName
from querybus.llm import ModelServiceSettings, open_model
from querybus.llm.dialogue import ModelReply
from querybus.llm.errors import Fault, FaultKind, unavailable
from querybus.ops.metrics import Metrics
from querybus_generator.conversation.turns import Turn
from querybus_generator.generate import generation_failed
from querybus_generator.steps.by_translator import asked_about_unread
from querybus_translator import NotRead, Translated
from tests.support.scripted_model import ScriptedModel, cut_json, empty_choice, fail, hang, say

COUNT = "How many customers are there?"
UNAVAILABLE = unavailable(Fault(FaultKind.SERVER, "HTTP 500", status=500))
UNREADABLE = "Which weather makes the moon feel happier than yesterday's jazz?"


def drafted(found: Any) -> Drafted:
    assert isinstance(found, Envelope), found
    assert isinstance(found.body, Drafted), found.body
    return found.body


def concluded(found: Any) -> Concluded:
    assert isinstance(found, Envelope), found
    assert isinstance(found.body, Concluded), found.body
    return found.body


def failure(found: Any) -> Failure:
    assert isinstance(found, Failure), found
    return found


def returned(
    question: str, sql: str = "SELECT nme FROM customers", *, origin: Origin = Origin.MODEL, **header: Any
) -> Envelope[Returned]:
    attempt = Attempt(
        origin=origin, sql=sql, stage=StageName.VALIDATOR, code=FailureCode.COLUMN_NOT_FOUND, detail="no column nme"
    )
    body = Returned(
        operation=Operation.ASK,
        draft=Draft(sql=sql, dialect=Dialect.SQLITE, origin=origin),
        advice=Advice(
            code=FailureCode.COLUMN_NOT_FOUND,
            detail="no column nme",
            guidance="Compare with the listed columns.",
            facts=Facts(name="nme", candidates=("name",), owners=("customers",)),
            candidates_sql=("SELECT name FROM customers",),
        ),
    )
    return asked(question, **header).with_body(body, attempts=(attempt,))


class TestWithoutAModel:
    async def test_a_question_is_read_by_the_translator(self):
        body = drafted(await run(asked(COUNT)))
        assert body.draft.origin is Origin.BUILTIN
        assert "count" in body.draft.sql.lower()
        assert body.analysis.reading
        assert body.analysis.catalog_fingerprint == SHOP.fingerprint

    @pytest.mark.requirement("002.66")
    async def test_a_chinese_question_as_well(self):
        assert "count" in drafted(await run(asked("有多少客户？"))).draft.sql.lower()

    async def test_what_it_cannot_read_is_asked_back_and_never_guessed(self):
        body = concluded(await run(asked("Which weather makes the moon feel happier than yesterday's jazz?")))
        assert body.outcome is Outcome.CLARIFICATION
        assert body.clarification is not None
        assert len(body.clarification.options) >= 2
        assert all(option.question for option in body.clarification.options)

    async def test_its_best_reading_is_the_first_option_and_says_what_it_leaves_out(self):
        question = "How many orders were there that nobody wanted?"
        body = concluded(await run(asked(question)))
        assert body.clarification is not None
        first = body.clarification.options[0]
        assert (first.text, first.question) == ("Number of orders, without “nobody, wanted”", question)
        clarifies = Clarifies(query_id="q-before", option_id=first.id, action=first.action)
        chosen = drafted(await run(asked(first.question, body=Asked(clarifies=clarifies))))
        assert "count" in chosen.draft.sql.lower()
        assert "nobody, wanted" in chosen.analysis.assumptions[0]

    @pytest.mark.parametrize(
        "question", ["Combien de clients y a-t-il ?", "顧客は何人いますか", "고객이 몇 명입니까?", "Сколько клиентов?"]
    )
    async def test_a_third_language_is_asked_back(self, question: str):
        body = concluded(await run(asked(question)))
        assert body.outcome is Outcome.CLARIFICATION
        assert body.reply is not None
        assert "English" in body.reply

    async def test_a_figure_for_amounts_in_cents_is_taken_as_whole_units_and_says_so(self):
        customers, orders = SHOP.tables
        total = Column(name="total", type="BIGINT", kind=ColumnKind.INTEGER, unit={"en": "EUR cents"})
        shop = SHOP.model_copy(
            update={"tables": (customers, orders.model_copy(update={"columns": (*orders.columns[:-1], total)}))}
        )
        body = drafted(await run(asked("How many orders have a total over 100?"), catalog=shop))
        assert "10000" in body.draft.sql
        assert any(line.startswith("100 taken as whole units") for line in body.analysis.assumptions)

    async def test_a_retry_has_nothing_new_to_offer(self):
        assert failure(await run(returned(COUNT))).code is FailureCode.SAME_SQL

    async def test_a_request_may_choose_the_translator_over_the_model(self):
        model = SpokenModel("SELECT 1")
        body = drafted(await run(asked(COUNT, options=Options(model="builtin")), model=model))
        assert body.draft.origin is Origin.BUILTIN
        assert not model.prompts


class TestWithAModel:
    @pytest.mark.requirement("001.3")
    async def test_its_statement_is_drafted_with_what_led_to_it(self):
        model = SpokenModel("```sql\nSELECT COUNT(*) FROM customers;\n```")
        result = await run(asked(COUNT), model=model)
        body = drafted(result)
        assert body.draft == Draft(sql="SELECT COUNT(*) FROM customers", dialect=Dialect.SQLITE, origin=Origin.MODEL)
        assert (body.analysis.model, body.analysis.tokens_in, body.analysis.tokens_out) == ("spoken", 7, 3)
        assert body.analysis.prompt_version
        assert body.analysis.tables == ("customers", "orders")
        assert any(link.table == "customers" for link in body.analysis.links)
        assert isinstance(result, Envelope)
        assert [attempt.sql for attempt in result.attempts] == ["SELECT COUNT(*) FROM customers"]

    async def test_drop_table_is_drafted_for_the_validator_to_refuse(self):
        assert drafted(await run(asked(COUNT), model=SpokenModel("DROP TABLE orders"))).draft.sql == "DROP TABLE orders"

    @pytest.mark.parametrize(
        ("audience", "is_asked_for", "is_received"),
        [("analyst", True, True), ("analyst", False, False), ("business", True, False)],
    )
    @pytest.mark.requirement("002.4")
    async def test_its_words_are_received_by_analysts_who_asked_for_them(
        self, audience: str, is_asked_for: bool, is_received: bool
    ):
        class Subscribers:
            def receive(self, envelope: Envelope[Any]) -> Callable[[str], None]:
                return lambda _: None

        model = SpokenModel("SELECT COUNT(*) FROM customers")
        envelope = asked(COUNT, audience=audience, options=Options(stream_tokens=is_asked_for))
        drafted(await run(envelope, model=model, progress=Subscribers()))
        assert model.is_received == is_received

    async def test_two_statements_are_a_failure(self):
        result = failure(await run(asked(COUNT), model=SpokenModel("SELECT 1; SELECT 2")))
        assert result.code is FailureCode.MULTI_STATEMENT

    @pytest.mark.requirement("000.25")
    async def test_prose_is_a_failure_with_the_models_words(self):
        result = failure(
            await run(asked(UNREADABLE), model=SpokenModel("Sorry, I would rather not answer that today."))
        )
        assert result.code is FailureCode.LLM_EXPLANATION
        assert "rather not" in result.detail

    @pytest.mark.requirement("002.66")
    async def test_a_third_language_is_the_models_to_read(self):
        model = SpokenModel("SELECT COUNT(*) FROM customers")
        assert drafted(await run(asked("Combien de clients y a-t-il ?"), model=model)).draft.origin is Origin.MODEL

    async def test_the_thread_goes_into_the_prompt(self):
        model = SpokenModel("SELECT 2")
        history = KeptHistory(Turn("orders by city?", sql="SELECT city FROM orders"), Turn("thanks", reply="Welcome!"))
        await run(asked("and by month?"), model=model, history=history)
        said = [(message.role, message.text) for message in model.prompts[0]]
        assert said[1:5] == [
            ("user", "orders by city?"),
            ("assistant", "```sql\nSELECT city FROM orders\n```"),
            ("user", "thanks"),
            ("assistant", "Welcome!"),
        ]

    @pytest.mark.requirement("003.15")
    async def test_an_options_failed_attempt_goes_into_the_prompt(self):
        model = SpokenModel("SELECT 2")
        tried = Attempt(origin=Origin.MODEL, sql="SELECT 41 + 1", code=FailureCode.COLUMN_NOT_FOUND)
        clarifies = Clarifies(query_id="q-before", option_id="1", action=OptionAction.RETRY_AS_IS)
        await run(
            asked(COUNT, body=Asked(clarifies=clarifies)),
            model=model,
            history=KeptHistory(attempts={"q-before": (tried,)}),
        )
        assert "SELECT 41 + 1" in model.prompt

    @pytest.mark.requirement("000.21", "001.7", "003.5")
    async def test_a_retry_is_reported_everything_that_was_tried(self):
        model = SpokenModel("SELECT name FROM customers")
        body = drafted(await run(returned("list the names"), model=model))
        assert body.draft.sql == "SELECT name FROM customers"
        for reported in ("column_not_found", "no column nme", '"name"', "SELECT nme FROM customers", "Compare with"):
            assert reported in model.prompt

    async def test_the_same_statement_again_is_a_failure_however_it_is_spelled(self):
        model = SpokenModel("select  nme\nfrom customers ;")
        assert failure(await run(returned("list the names"), model=model)).code is FailureCode.SAME_SQL

    async def test_the_model_gets_less_time_than_the_query_has(self):
        model = SpokenModel("SELECT 1")
        await run(asked(COUNT), model=model, now_ms=NOW_MS + 50_000)
        assert 5 < model.timeouts[0] < 10

    async def test_a_cut_reply_without_a_closed_fence_is_no_statement(self):
        cut = ModelReply("SELECT a FROM customers WHERE id = 1", 7, 3, "spoken", is_cut=True)
        body = drafted(await run(asked(COUNT), model=SpokenModel(cut)))
        assert body.draft.origin is Origin.BUILTIN
        assert (body.analysis.model_trouble, body.analysis.tokens_in) == (ModelTrouble.CUT, 7)
        unread = failure(await run(asked(UNREADABLE), model=SpokenModel(cut)))
        assert (unread.code, unread.facts.model_trouble) == (FailureCode.MODEL_UNAVAILABLE, ModelTrouble.CUT)

    @pytest.mark.parametrize("reply", ["", "  \n", "```\n```", "Sure! I will gladly help you with that today."])
    async def test_the_translator_stands_in_for_a_reply_without_a_statement(self, reply: str):
        body = drafted(await run(asked(COUNT), model=SpokenModel(reply)))
        assert (body.draft.origin, body.analysis.model_trouble) == (Origin.BUILTIN, ModelTrouble.EMPTY)

    async def test_a_full_context_is_asked_again_with_half_of_the_schema(self):
        full = Failure.of(FailureCode.MODEL_UNAVAILABLE, "HTTP 400", Facts(native_code="context_length"))
        model = SpokenModel(full, "SELECT COUNT(*) FROM customers")
        body = drafted(await run(asked(COUNT), model=model))
        assert body.draft.origin is Origin.MODEL
        assert [len(prompt) for prompt in model.prompts] == sorted((len(p) for p in model.prompts), reverse=True)
        assert len(model.prompts) == 2


class TestAModelThatIsAway:
    async def test_the_translator_stands_in_and_says_so(self):
        body = drafted(await run(asked(COUNT), model=SpokenModel(UNAVAILABLE)))
        assert body.draft.origin is Origin.BUILTIN
        assert (body.analysis.model_trouble, body.analysis.model_detail) == (ModelTrouble.UNREACHABLE, "HTTP 500")

    async def test_what_the_translator_cannot_read_stays_the_models_failure(self):
        assert (
            failure(await run(asked(UNREADABLE), model=SpokenModel(UNAVAILABLE))).code is FailureCode.MODEL_UNAVAILABLE
        )

    @pytest.mark.parametrize("retry", [False, True])
    async def test_in_a_models_place_the_translator_asks_back_as_it_does_alone(self, retry: bool):
        question = "How many blorfed orders are open?"
        alone = concluded(await run(asked(question)))
        envelope = returned(question, sql="SELECT COUNT(*) FROM nowhere") if retry else asked(question)
        instead = concluded(await run(envelope, model=SpokenModel(UNAVAILABLE)))
        assert instead.clarification == alone.clarification
        assert instead.clarification is not None
        assert instead.clarification.about == "blorfed"
        assert instead.analysis.model_trouble is ModelTrouble.UNREACHABLE, "people read that the model did not answer"

    async def test_in_a_models_place_no_word_is_passed_over(self):
        reading = Translated("SELECT 1", "r", 0.9, (), (), unread=("leaving",), in_words="Flights.")
        asked_back = asked_about_unread(reading)
        assert isinstance(asked_back, NotRead)
        assert (asked_back.about, asked_back.best) == ("leaving", "Flights.")
        whole = replace(reading, unread=())
        assert asked_about_unread(whole) is whole

    async def test_a_retry_never_gets_the_same_statement_from_the_translator(self):
        first = drafted(await run(asked(COUNT)))
        again = returned(COUNT, sql=first.draft.sql, origin=Origin.BUILTIN)
        assert failure(await run(again, model=SpokenModel(UNAVAILABLE))).code is FailureCode.MODEL_UNAVAILABLE


class TestRefusals:
    @pytest.mark.parametrize("question", ["delete all orders", "删除所有订单", "Please drop table customers"])
    @pytest.mark.parametrize("model", [None, SpokenModel("I cannot change data here."), SpokenModel(UNAVAILABLE)])
    async def test_an_instruction_to_change_data_is_refused(self, question: str, model: SpokenModel | None):
        body = concluded(await run(asked(question), model=model))
        assert (body.outcome, body.code) == (Outcome.REFUSED, FailureCode.SAFETY)
        assert body.refused_kind in ("DELETE", "DROP")

    async def test_a_model_that_drafts_a_change_all_the_same_leaves_it_to_the_guard(self):
        body = drafted(await run(asked("delete all orders"), model=SpokenModel("DELETE FROM orders")))
        assert body.draft.sql == "DELETE FROM orders"

    async def test_an_answer_to_what_sounds_like_a_change_says_that_nothing_was_changed(self):
        model = SpokenModel("SELECT name FROM customers WHERE city = 'Berlin'")
        body = drafted(await run(asked("Remove all customers but those of Berlin"), model=model))
        assert "Nothing was changed" in body.notes[0]
        assert "may ask to change stored data" in model.prompt

    async def test_without_a_catalog_there_is_no_connection(self):
        assert failure(await run(asked(COUNT), catalog=None)).code is FailureCode.CONNECTION

    async def test_a_connection_that_could_not_be_read_gives_its_own_reason(self):
        trouble = Failure.of(FailureCode.SETUP, "the server refuses the user or the password")
        assert failure(await run(asked(COUNT), catalog=None, trouble=trouble)) == trouble


class TestGivenSql:
    @pytest.mark.parametrize("operation", [Operation.RUN, Operation.VALIDATE, Operation.EXPLAIN])
    async def test_a_persons_own_statement_passes_as_it_is(self, operation: Operation):
        model = SpokenModel("SELECT 1")
        body = drafted(await run(asked("", body=Asked(operation=operation, sql="DELETE FROM orders")), model=model))
        assert body.draft == Draft(sql="DELETE FROM orders", dialect=Dialect.SQLITE, origin=Origin.USER)
        assert body.operation is operation
        assert not model.prompts

    async def test_without_a_statement_there_is_nothing_to_run(self):
        result = failure(await run(asked("", body=Asked(operation=Operation.RUN))))
        assert result.code is FailureCode.AMBIGUOUS_QUESTION


class TestChat:
    @pytest.mark.parametrize("question", ["Hello!", "What can I ask?", "你好", "我可以问什么？", "thank you very much"])
    async def test_small_talk_is_replied_to_without_a_model(self, question: str):
        result = await run(asked(question))
        body = concluded(result)
        assert body.outcome is Outcome.REPLIED
        assert body.reply
        assert isinstance(result, Envelope)
        assert result.classification is not None
        assert result.classification.kind == "chat"

    async def test_what_can_be_asked_is_named_in_the_audiences_words(self):
        nameless = Catalog(
            connection="shop",
            dialect=Dialect.SQLITE,
            tables=tuple(
                table.model_copy(update={"display_names": {}, "name": f"t_{table.name}"}) for table in SHOP.tables
            ),
        )
        analyst = concluded(await run(asked("What can I ask?"), catalog=nameless))
        business = concluded(await run(asked("What can I ask?", audience="business"), catalog=nameless))
        replied = concluded(await run(asked("我可以问什么？", audience="business")))
        assert "t_orders" in (analyst.reply or "")
        assert "t_" not in (business.reply or "")
        assert "订单" in (replied.reply or "")

    async def test_a_model_replies_to_small_talk_but_never_sees_rows(self):
        model = SpokenModel("Hi there!")
        assert concluded(await run(asked("Hello!"), model=model)).reply == "Hi there!"
        assert CANARY not in model.prompt

    async def test_a_model_that_is_away_costs_no_reply_and_the_answer_says_why_it_gave_none(self):
        away = Failure.of(FailureCode.MODEL_UNAVAILABLE, "HTTP 500", Facts(model_trouble=ModelTrouble.UNREACHABLE))
        for question, mode in (("Hello!", Mode.HYBRID), ("Tell me a story about trees", Mode.CHAT)):
            body = concluded(await run(asked(question, options=Options(mode=mode)), model=SpokenModel(away)))
            assert body.reply
            assert (body.outcome, body.analysis.model_trouble) == (Outcome.REPLIED, ModelTrouble.UNREACHABLE)
            assert body.analysis.model_detail == "HTTP 500"
        empty = concluded(await run(asked("Hello!"), model=SpokenModel("  ")))
        assert (bool(empty.reply), empty.analysis.model_trouble) == (True, ModelTrouble.EMPTY)

    @pytest.mark.requirement("000.3")
    async def test_a_forced_mode_decides_alone(self):
        forced = await run(asked("hello", options=Options(mode=Mode.DATABASE)))
        assert concluded(forced).outcome is Outcome.CLARIFICATION
        chat = await run(asked(COUNT, options=Options(mode=Mode.CHAT)), model=SpokenModel("Let us talk."))
        assert concluded(chat).outcome is Outcome.REPLIED


@pytest.mark.requirement("000.2", "000.6")
async def test_the_classification_is_set_once_and_survives_a_failure():
    result = await run(asked(COUNT))
    assert isinstance(result, Envelope)
    assert result.classification is not None
    assert (result.classification.kind, result.classification.method) == ("database", "rule")
    assert 0.5 < result.classification.confidence <= 1
    assert result.classification.reason

    event = generation_failed(asked(COUNT), UNAVAILABLE)
    assert event.classification == result.classification
    earlier = Classification(kind="database", confidence=0.4, method="model")
    again = generation_failed(asked(COUNT, classification=earlier), UNAVAILABLE)
    assert again.classification == earlier


@pytest.mark.process
@pytest.mark.parametrize("by", ["option", "policy"])
@pytest.mark.requirement("000.36")
async def test_no_cell_value_reaches_a_model_that_may_not_see_data(by: str):
    policy = ConnectionPolicy(allow_llm_to_see_data=by != "policy")
    options = Options(allow_llm_to_see_data=by != "option")
    reported = Attempt(
        origin=Origin.RULE, sql=f"SELECT id FROM customers WHERE city = '{CANARY}'", detail=f"near {CANARY}"
    )
    advice = Advice(
        code=FailureCode.TYPE_MISMATCH,
        detail=f'invalid value "{CANARY}"',
        facts=Facts(name=CANARY, candidates=(CANARY, "name")),
        candidates_sql=(f"SELECT 1 FROM customers WHERE city LIKE '%{CANARY}%'",),
    )
    body = Returned(operation=Operation.ASK, draft=None, advice=advice)
    history = KeptHistory(Turn("which city?", sql=f"SELECT 1 FROM customers WHERE city = '{CANARY}'"))
    with ScriptedModel(say("SELECT COUNT(*) FROM customers")) as server:
        settings = ModelServiceSettings(llm_base_url=server.base_url)
        api = open_model(settings, Metrics("test"))
        assert api is not None
        await api.start()
        first = asked("How many customers?", options=options)
        drafted(await run(first, model=api, history=history, policy=policy))
        again = asked("How many customers?", options=options).with_body(body, attempts=(reported,))
        drafted(await run(again, model=api, history=history, policy=policy))
        await api.drain()
    sent = "\n".join(request.body.decode() for request in server.requests)
    assert len(server.requests) == 2
    for value in (CANARY, "Canary", "Berlin", "上海", 'paid\\"'):
        assert value not in sent
    assert "customers" in sent
    assert '\\"name\\"' in sent, "a candidate that is a name is shown"


async def test_cell_values_help_a_model_that_may_see_them():
    model = SpokenModel("SELECT 1")
    await run(asked(COUNT), model=model)
    assert CANARY in model.prompt
    assert "phone TEXT" in model.prompt


async def test_columns_that_nobody_may_read_are_not_named():
    model = SpokenModel("SELECT 1")
    policy = ConnectionPolicy(tables_allowed=("customers",), columns_denied={"customers": ("phone",)})
    await run(asked(COUNT), model=model, policy=policy)
    assert "phone" not in model.prompt
    assert "orders" not in model.prompt


@pytest.mark.process
@pytest.mark.parametrize(
    "step", [fail(429), fail(500), hang(), cut_json(), empty_choice()], ids=["429", "500", "hang", "cut", "empty"]
)
async def test_a_faulty_model_ends_in_a_draft_by_rule_within_the_deadline(step: Any):
    with ScriptedModel(step) as server:
        api = open_model(ModelServiceSettings(llm_base_url=server.base_url), Metrics("test"))
        assert api is not None
        await api.start()
        started = asyncio.get_running_loop().time()
        body = drafted(await run(asked(COUNT, deadline_at=NOW_MS + 2_000), model=api))
        # A call to a model may take a minute without the query's own deadline.
        assert asyncio.get_running_loop().time() - started < 20
        await api.drain()
    assert body.draft.origin is Origin.BUILTIN
    assert len(server.requests) <= 2


async def test_what_is_drafted_can_travel():
    result = await run(asked(COUNT), model=SpokenModel("SELECT 1"))
    assert isinstance(result, Envelope)
    assert b"SELECT 1" in encode(result)


async def test_a_trigger_becomes_the_code_that_words_it():
    body = concluded(await run(asked("Which weather makes the moon feel happier than yesterday's jazz?")))
    assert body.clarification is not None
    expected = {
        Trigger.MISSING_DATABASE_INFO: FailureCode.MISSING_DATABASE_INFO,
        Trigger.AMBIGUOUS_QUESTION: FailureCode.AMBIGUOUS_QUESTION,
    }
    assert body.code is expected[body.clarification.trigger]


@pytest.mark.requirement("003.2", "003.3")
async def test_a_models_corrected_draft_asks_for_the_one_probe_where_execution_is_allowed() -> None:
    allowed = Options.model_validate({"execution_mode": "allow_execution"})
    model = SpokenModel("SELECT name FROM customers")
    corrected = drafted(await run(returned("Who are they?", options=allowed), model=model))
    assert corrected.probe
    assert "One execution is allowed" in model.prompt
    first = SpokenModel("SELECT name FROM customers")
    assert not drafted(await run(asked("Who are they?", options=allowed), model=first)).probe
    assert "One execution is allowed" not in first.prompt
    static = SpokenModel("SELECT name FROM customers")
    assert not drafted(await run(returned("Who are they?"), model=static)).probe
    assert "One execution is allowed" not in static.prompt


@pytest.mark.requirement("003.6")
async def test_the_retry_prompt_says_how_long_a_failed_run_took_and_spends_no_second_probe() -> None:
    again = returned("Who are they?", options=Options.model_validate({"execution_mode": "allow_execution"}))
    ran = again.attempts[0].model_copy(
        update={"executed": True, "duration_ms": 1234.5, "probed": True, "probed_rows": 10}
    )
    model = SpokenModel("SELECT name FROM customers")
    corrected = drafted(await run(again.model_copy(update={"attempts": (ran,)}), model=model))
    assert "1234 ms" in model.prompt
    assert "probe: 10 rows" in model.prompt
    assert not corrected.probe


WRITABLE = ConnectionPolicy(access=Access.READ_WRITE)


@pytest.mark.requirement("001.11")
async def test_a_change_in_words_reaches_the_model_where_the_connection_takes_it() -> None:
    model = SpokenModel("DELETE FROM orders WHERE id = 7")
    body = drafted(await run(asked("Delete order number 7"), model=model, policy=WRITABLE))
    assert (body.draft.origin, body.draft.sql) == (Origin.MODEL, "DELETE FROM orders WHERE id = 7")
    assert body.alternative_sql is None
    assert "one INSERT, UPDATE, DELETE" in model.prompt
    assert "Never write" not in model.prompt


async def test_a_change_in_words_is_refused_where_the_connection_takes_none_of_its_kind() -> None:
    for policy, question in ((ConnectionPolicy(), "Delete order number 7"), (WRITABLE, "Drop the table orders")):
        body = concluded(await run(asked(question), policy=policy))
        assert (body.outcome, body.code) == (Outcome.REFUSED, FailureCode.SAFETY)
    reading = SpokenModel("SELECT 1")
    await run(asked(COUNT), model=reading)
    assert "Never write" in reading.prompt


async def test_the_translator_stands_in_with_the_change_and_never_with_an_answer() -> None:
    away = Failure.of(FailureCode.MODEL_UNAVAILABLE, "away")
    body = drafted(await run(asked("Delete order number 7"), model=SpokenModel(away), policy=WRITABLE))
    assert body.draft.sql.startswith("DELETE FROM")
    unread = await run(asked("Delete the orders that went wrong somehow"), model=SpokenModel(away), policy=WRITABLE)
    assert failure(unread).code is FailureCode.MODEL_UNAVAILABLE
    alone = concluded(await run(asked("Delete the orders that went wrong somehow"), policy=WRITABLE))
    assert alone.outcome is Outcome.CLARIFICATION
    assert "language model" in (alone.reply or "")
