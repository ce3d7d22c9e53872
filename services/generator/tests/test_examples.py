"""A model is shown verified questions whose statement has the shape that the new one will need."""

from __future__ import annotations

import pytest
from services.generator.tests.shop_for_generation import SHOP

from querybus.core.catalog import Dialect
from querybus.text.knowledge import Entry, EntryKind, KnowledgeIndex
from querybus.text.synonyms import link_words
from querybus_generator.linking.examples import Examples, skeleton
from querybus_generator.linking.index import LinkIndex

PAIRS = {
    "How many customers are there for each city?": "SELECT city, COUNT(*) FROM customers GROUP BY city",
    "List the names of customers": "SELECT name FROM customers",
    "What is the total of all orders?": "SELECT SUM(total) FROM orders",
    "Which customers have no orders?": "SELECT name FROM customers WHERE NOT EXISTS (SELECT 1 FROM orders)",
}


def examples(pairs: dict[str, str] = PAIRS) -> Examples:
    entries = [Entry(kind=EntryKind.PAIR, key=question, text=sql) for question, sql in pairs.items()]
    words = link_words()
    return Examples(entries, KnowledgeIndex(entries, words), LinkIndex(SHOP, words=words), Dialect.SQLITE)


def chosen(question: str, likely: str | None, count: int = 1, **more: object) -> list[str]:
    usable = more.get("unusable", "")
    found = examples().choose(question, likely, count, is_usable=lambda entry: entry.key != usable)
    return [entry.key for entry in found]


def test_the_shape_of_the_likely_statement_chooses_where_words_are_of_other_things():
    likely = "SELECT status, COUNT(*) FROM orders GROUP BY status"
    assert chosen("How many orders per status?", likely) == ["How many customers are there for each city?"]


def test_without_a_reading_words_and_the_masked_question_choose():
    assert chosen("How many orders are there for each status?", None) == ["How many customers are there for each city?"]


def test_what_is_alike_in_nothing_is_not_shown():
    assert chosen("Delete everything", None, 4) == []


def test_a_pair_that_no_longer_fits_is_passed_over():
    best = "How many customers are there for each city?"
    likely = "SELECT status, COUNT(*) FROM orders GROUP BY status"
    assert best not in chosen("How many orders per status?", likely, 4, unusable=best)


def test_equal_input_gives_equal_output_and_no_more_than_wanted():
    likely = "SELECT name FROM customers"
    assert chosen("List the names of orders", likely, 2) == chosen("List the names of orders", likely, 2)
    assert len(chosen("List the names of customers without orders", likely, 2)) <= 2


@pytest.mark.parametrize("sql", ["", "SELECT FROM WHERE (", "x" * 10_000, "'"])
def test_what_cannot_be_read_has_no_skeleton(sql: str):
    assert isinstance(skeleton(sql, Dialect.SQLITE), tuple)


def test_a_skeleton_has_no_name_and_no_value():
    sql = "SELECT c.name AS n FROM customers AS c JOIN orders AS o ON o.customer_id = c.id WHERE o.total > 7 ORDER BY n LIMIT 3"
    text = " ".join(skeleton(sql, Dialect.SQLITE))
    assert not any(word in text for word in ("name", "customers", "orders", "total", "7", "3"))


def test_a_name_with_a_typing_slip_leads_to_the_value_and_an_ordinary_word_does_not():
    values = LinkIndex(SHOP, words=link_words()).values
    found = [(link.text, link.column, link.value) for link in values.near("Customers in Berlni, please?")]
    assert found == [("Berlni", "city", "Berlin")]
    assert values.near("How many customers in Berlin?") == ()
    assert values.near("Opens the Order") == ()
