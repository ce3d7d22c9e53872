"""Claims on questions about the data rather than of it: each has one right answer, from the catalog, the owner or the texts."""

from __future__ import annotations

from typing import Any

import pytest
from services.generator.tests.shop_for_generation import CANARY, SHOP, SpokenModel, asked, run

from querybus.core.envelope import Envelope
from querybus.core.messages import Concluded, Drafted, Outcome
from querybus_generator.prompts.texts import LANGUAGES, TOPICS, load_texts
from querybus_generator.steps.classify import chat_topic

DEFINED = SHOP.model_copy(
    update={"glossary": {"loyal customer": "who ordered at least five times", "毛利率": "利润除以收入"}}
)


def reply_of(found: Any) -> str:
    assert isinstance(found, Envelope)
    assert isinstance(found.body, Concluded), found.body
    assert found.body.outcome is Outcome.REPLIED
    return found.body.reply or ""


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Who are you?", "identity"),
        ("Are you ChatGPT?", "identity"),
        ("你是谁？", "identity"),
        ("Which tables are there?", "tables"),
        ("What tables / fields do you have?", "tables"),
        ("有哪些表？", "tables"),
        ("What data do you have?", "abilities"),
        ("Which data can I ask about?", "abilities"),
        ("你有哪些数据？", "abilities"),
        ("Can you draw a chart?", "pictures"),
        ("你会画图吗？", "pictures"),
        ("Export this to Excel", "export"),
        ("能导出吗？", "export"),
        ("I'm angry, this is useless", "trouble"),
        ("太没用了", "trouble"),
    ],
)
async def test_talk_has_its_topic_and_needs_no_model(question: str, topic: str) -> None:
    assert chat_topic(question) == topic
    model = SpokenModel("I made this up.")
    said = reply_of(await run(asked(question), model=model))
    assert said
    assert (said == "I made this up.") is (topic in {"greeting", "thanks"})


@pytest.mark.parametrize(
    "question",
    [
        "How many tables were sold?",
        "Which fields have more than 3 corners?",
        "Show the tables with four legs",
        "Who are your customers?",
        "How many charts were drawn?",
        "哪些客户有订单？",
        "出口到德国的订单有多少？",
    ],
)
def test_a_question_about_rows_is_no_talk(question: str) -> None:
    assert chat_topic(question) is None


async def test_what_is_there_is_listed_in_the_audiences_words_and_never_with_values() -> None:
    analyst = reply_of(await run(asked("Which tables are there?")))
    business = reply_of(await run(asked("Which tables are there?", audience="business")))
    chinese = reply_of(await run(asked("有哪些表？", audience="business")))
    assert "- orders: id, customer_id, status" in analyst
    assert "customer_id" not in business
    assert "orders" in business
    assert "客户" in chinese
    assert all(CANARY not in said for said in (analyst, business, chinese))


@pytest.mark.parametrize(
    ("question", "meaning"),
    [
        ("What does loyal customer mean?", "Loyal customer: who ordered at least five times"),
        ("How is a loyal customer defined?", None),
        ("what is the definition of loyal customer", "Loyal customer: who ordered at least five times"),
        ("什么是毛利率？", "毛利率：利润除以收入"),
        ("毛利率是怎么计算的？", "毛利率：利润除以收入"),
    ],
)
async def test_what_the_owner_means_by_a_word_is_said(question: str, meaning: str | None) -> None:
    found = await run(asked(question), catalog=DEFINED)
    if meaning is None:
        # What "how" it is defined asks is not what the owner wrote down.
        assert isinstance(found, Envelope)
        assert isinstance(found.body, Concluded)
        assert found.body.outcome is Outcome.CLARIFICATION
    else:
        assert reply_of(found) == meaning


async def test_a_word_that_nobody_defined_is_a_question_like_any_other() -> None:
    found = await run(asked("What is the number of customers?"))
    assert isinstance(found, Envelope)
    assert isinstance(found.body, Drafted)


def test_every_topic_has_its_text_in_both_languages() -> None:
    texts = load_texts()
    assert all(texts[language].topic(topic) for language in LANGUAGES for topic in TOPICS)
