"""What was taught is found by other words, used only while it fits, and bounded."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.policy import ConnectionPolicy
from querybus.sql.conditions.today import with_today
from querybus.sql.staleness import stale
from querybus.text.knowledge import (
    ENTRIES_MAX,
    Entry,
    EntryKind,
    Knowledge,
    KnowledgeIndex,
    answers_alone,
    normalised,
    with_synonyms,
)
from querybus.text.synonyms import link_words

QUESTIONS = Path(__file__).parents[3] / "benchmarks" / "questions" / "paraphrases.txt"
CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=(Table(name="orders", columns=(Column(name="id", type="INTEGER"), Column(name="total", type="REAL"))),),
)


def pair(question: str, sql: str = "SELECT COUNT(*) FROM orders") -> Entry:
    return Entry(kind=EntryKind.PAIR, key=question, text=sql)


def test_an_equal_question_is_found_whatever_its_case_and_punctuation():
    known = Knowledge(connection="shop", entries=(pair("How many orders?"),))
    assert known.verified("  how MANY　orders ") is not None
    assert known.verified("how many customers") is None
    assert known.verified("?!") is None


def test_an_entry_about_the_same_takes_the_place_of_the_one_before():
    known = Knowledge(connection="shop").with_entries([pair("How many orders?"), pair("how many orders", "SELECT 2")])
    assert known is not None
    assert [entry.text for entry in known.entries] == ["SELECT 2"]


def test_knowledge_has_an_end():
    entries = [Entry(kind=EntryKind.TERM, key=f"word {n}", text="x") for n in range(ENTRIES_MAX + 1)]
    assert Knowledge(connection="shop").with_entries(entries) is None
    assert Knowledge(connection="shop").with_entries(entries[:-1]) is not None


def test_a_pair_becomes_stale_with_its_column_and_a_synonym_with_its_table():
    policy = ConnectionPolicy()
    assert stale(pair("how many?"), CATALOG, policy) is None
    assert stale(pair("sum?", "SELECT SUM(amount) FROM orders"), CATALOG, policy) is not None
    assert stale(pair("drop?", "DROP TABLE orders"), CATALOG, policy) is not None
    assert stale(Entry(kind=EntryKind.SYNONYM, key="orders.total", text="value"), CATALOG, policy) is None
    assert stale(Entry(kind=EntryKind.SYNONYM, key="orders.sum", text="value"), CATALOG, policy) is not None


def test_what_does_not_fit_is_reported_with_the_nearest_name():
    policy = ConnectionPolicy()
    reason = stale(Entry(kind=EntryKind.SYNONYM, key="order.total", text="value"), CATALOG, policy)
    assert reason == "table order does not exist; did you mean orders?"
    reason = stale(Entry(kind=EntryKind.SYNONYM, key="orders.totl", text="value"), CATALOG, policy)
    assert reason == "column orders.totl does not exist; did you mean total?"
    assert "did you mean total?" in (stale(pair("sum?", "SELECT SUM(totl) FROM orders"), CATALOG, policy) or "")


def test_a_pair_may_say_today_where_a_value_stands():
    policy = ConnectionPolicy()
    assert stale(pair("new?", "SELECT COUNT(*) FROM orders WHERE id > :today"), CATALOG, policy) is None
    assert stale(pair("new?", "SELECT COUNT(*) FROM orders WHERE id > :yesterday"), CATALOG, policy) is not None
    assert answers_alone(pair("orders this month", "SELECT 1 FROM orders WHERE id >= :today"))


@pytest.mark.parametrize("dialect", list(Dialect))
def test_today_is_replaced_outside_of_texts_names_and_paths_only(dialect: Dialect):
    sql = "SELECT ':today', payload:today FROM t WHERE a::date < :today AND b = :todays"
    written = with_today(sql, dialect, date(2026, 3, 4))
    assert "2026-03-04" in written
    assert written.count("2026-03-04") == 1
    assert written.startswith("SELECT ':today', payload:today FROM t WHERE a::date < ")
    assert written.endswith(" AND b = :todays")
    assert with_today("SELECT 1", dialect, date(2026, 3, 4)) == "SELECT 1"


def test_a_day_written_into_the_statement_of_a_relative_question_does_not_answer_it_again():
    assert not answers_alone(pair("orders this month", "SELECT 1 FROM orders WHERE day >= '2026-06-01'"))
    assert not answers_alone(pair("本月订单", "SELECT 1 FROM orders WHERE day >= '2026-06-01'"))
    assert answers_alone(pair("orders in June 2026", "SELECT 1 FROM orders WHERE day >= '2026-06-01'"))
    assert answers_alone(pair("orders this month", "SELECT 1 FROM orders WHERE day >= date('now','start of month')"))


def test_synonyms_and_terms_become_part_of_the_catalog_and_nothing_else_changes():
    taught = (
        Entry(kind=EntryKind.SYNONYM, key="orders", text="purchases"),
        Entry(kind=EntryKind.SYNONYM, key="Orders.Total", text="成交额"),
        Entry(kind=EntryKind.TERM, key="big order", text="total above 1000"),
    )
    named = with_synonyms(CATALOG, taught)
    assert named.tables[0].synonyms == ("purchases",)
    assert named.tables[0].columns[1].synonyms == ("成交额",)
    assert named.glossary["big order"] == "total above 1000"
    assert with_synonyms(CATALOG, ()) is CATALOG
    assert named.fingerprint != CATALOG.fingerprint


def test_nearness_adds_to_the_words_and_never_replaces_them():
    entries = (pair("How many orders?"), pair("average salary of staff"))
    index = KnowledgeIndex(entries)
    assert [hit.entry.key for hit in index.search(EntryKind.PAIR, "how many orders", 5)] == ["How many orders?"]
    near = {entries[1].id: 0.9, entries[0].id: 0.0}
    result = index.search(EntryKind.PAIR, "what do people earn", 5, nearness=near)
    assert [hit.entry.key for hit in result] == ["average salary of staff"]


def test_search_keeps_to_its_kind_and_number():
    entries = (pair("orders a"), pair("orders b"), Entry(kind=EntryKind.INSTRUCTION, key="", text="orders first"))
    index = KnowledgeIndex(entries)
    assert len(index.search(EntryKind.PAIR, "orders", 1)) == 1
    assert [hit.entry.kind for hit in index.search(EntryKind.INSTRUCTION, "orders", 5)] == [EntryKind.INSTRUCTION]


def test_paraphrases_find_their_verified_question_among_the_best_five():
    rows = [line.split("|") for line in QUESTIONS.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    pairs = [(asked.strip(), again.strip()) for asked, again in rows]
    index = KnowledgeIndex([pair(item) for item in dict.fromkeys(asked for asked, _ in pairs)], link_words())
    hits = sum(
        normalised(asked) in {normalised(hit.entry.key) for hit in index.search(EntryKind.PAIR, again, 5)}
        for asked, again in pairs
    )
    assert len(pairs) >= 60
    assert hits / len(pairs) >= 0.85


@pytest.mark.parametrize("text", ["", "x" * 60_001])
def test_an_entry_without_text_or_with_too_much_is_refused(text: str):
    with pytest.raises(ValueError, match="text"):
        Entry(kind=EntryKind.TERM, key="a", text=text)
