"""Own labelled questions: what is chat, what is data, what is left to the model, and which words must be asked about."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from querybus.core.catalog import Catalog
from querybus.core.options import Mode
from querybus.core.policy import ConnectionPolicy
from querybus.text.knowledge import Knowledge
from querybus_cli.evaluation.linking import shop_catalog
from querybus_generator.linking.linker import Linker, Prepared
from querybus_generator.steps.classify import classify
from querybus_generator.wording.vague_terms import definition_of, readings, undefined_words

LABELLED = Path(__file__).parents[3] / "benchmarks" / "questions" / "kinds.txt"
KINDS = {"data": "database", "chat": "chat", "open": "open"}


def labelled() -> list[tuple[str, str]]:
    lines = [line for line in LABELLED.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [(label.strip(), question.strip()) for label, question in (line.split("|") for line in lines)]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory):
    return shop_catalog(tmp_path_factory.mktemp("kinds") / "shop.sqlite")


async def prepared(catalog: Catalog) -> Prepared:
    return await Linker().prepare(catalog, ConnectionPolicy(), Knowledge(connection="shop"))


def kind_of(question: str, known: Prepared) -> str:
    result = classify(question, Mode.HYBRID)
    if result is None or result.reason == "small talk":
        links = known.index.link(question).links
        names = len({link.text for link in links if link.reason in ("name", "value")})
        result = classify(question, Mode.HYBRID, names_found=names)
    return result.kind if result is not None else "open"


@pytest.mark.long
@pytest.mark.requirement("000.2", "000.5")
async def test_no_question_about_data_is_taken_for_chat_and_few_are_left_open(catalog: Catalog):
    known = await prepared(catalog)
    wrong = Counter[tuple[str, str]]()
    for label, question in labelled():
        expected, result = KINDS.get(label, "database"), kind_of(question, known)
        if result != expected:
            wrong[expected, result] += 1
    assert len(labelled()) >= 100
    assert wrong["database", "chat"] == 0
    assert wrong["chat", "database"] == 0
    assert wrong.total() <= len(labelled()) * 0.05


async def test_words_that_need_a_definition_are_neither_missed_nor_needlessly_asked_about(catalog: Catalog):
    known = await prepared(catalog)
    missed, needless, vague, clear = 0, 0, 0, 0
    for label, question in labelled():
        words = [word.word for word in undefined_words(question, known.names)]
        if label in KINDS:
            clear += 1
            needless += bool(words)
        else:
            vague += 1
            missed += label not in words
    assert vague >= 40
    assert clear >= 80
    assert missed / vague <= 0.05
    assert needless / clear <= 0.03


def test_the_ways_to_read_a_vague_word_are_whole_questions():
    word = undefined_words("Show recent orders", ())[0]
    assert readings(word, "Show recent orders", "en")[0] == "Show orders in the last 7 days?"
    word = undefined_words("近期注册的客户", ())[0]
    assert readings(word, "近期注册的客户", "zh")[1] == "最近30天注册的客户"


def test_so_many_of_the_newest_are_exact() -> None:
    for question in ("最近10个订单", "最近5位客户", "最近3张发票", "最近3个月的订单"):
        assert undefined_words(question, ()) == ()
    assert undefined_words("最近的订单", ()) != ()


def test_what_most_chose_is_exact_and_what_is_popular_is_not() -> None:
    for question in ("What is the most popular payment method?", "Which are the least popular products?"):
        assert undefined_words(question, ()) == ()
    assert [word.word for word in undefined_words("List popular products", ())] == ["popular"]


def test_what_the_catalog_calls_by_a_vague_word_is_exact():
    assert undefined_words("List the key accounts", {"key accounts"}) == ()


def test_a_definition_of_another_use_of_the_word_is_none():
    word = undefined_words("Who are our big customers?", ())[0]
    assert definition_of(word, "Who are our big customers?", {"big order": "above 1000"}) is None
