"""Answers of the kinds that models get wrong, through every stage of a query: each comes back to the rows that were meant."""

from __future__ import annotations

import sqlite3
from contextlib import aclosing, closing
from pathlib import Path

import pytest
import pytest_asyncio

from querybus_cli.evaluation.asking import Judged
from querybus_cli.evaluation.evaluate import REPLAY, evaluate
from querybus_cli.evaluation.items import Item

pytestmark = pytest.mark.process

SCRIPT = """
CREATE TABLE countries (id INTEGER PRIMARY KEY, country TEXT);
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT, country_id INTEGER REFERENCES countries (id));
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), placed_on DATE, amount REAL, status TEXT
);
CREATE TABLE categories (id INTEGER PRIMARY KEY, label TEXT);
CREATE TABLE products (
    id INTEGER PRIMARY KEY, title TEXT, price REAL, category_id INTEGER REFERENCES categories (id)
);
CREATE TABLE order_lines (
    order_id INTEGER REFERENCES orders (id), product_id INTEGER REFERENCES products (id), quantity INTEGER,
    PRIMARY KEY (order_id, product_id)
);
INSERT INTO countries VALUES (1, 'France'), (2, 'Italy'), (3, 'Germany');
INSERT INTO customers VALUES (1, 'Ann', 'Bern', 1), (2, 'Bob', 'Rome', 2), (3, 'Cid', 'Bern', 3), (4, 'Ann', 'Oslo', 3);
INSERT INTO orders VALUES (1, 1, '2024-01-02', 10, 'open'), (2, 1, '2024-02-02', 20, 'shipped'), (3, 2, '2024-03-02', 5, 'open'),
    (4, 4, '2024-03-05', 7, 'open');
INSERT INTO categories VALUES (1, 'Toys'), (2, 'Books');
INSERT INTO products VALUES (1, 'Pen', 2, 1), (2, 'Atlas', 30, 2);
INSERT INTO order_lines VALUES (1, 1, 3), (2, 2, 1), (3, 1, 2);
"""
BERN = "SELECT 'Ann' UNION SELECT 'Cid'"
PEN = "SELECT 'Ann' UNION SELECT 'Bob'"
ITEMS = {
    "an aggregate that orders without GROUP BY": (
        "SELECT c.name FROM customers c JOIN orders o ON o.customer_id = c.id ORDER BY COUNT(*) DESC LIMIT 1",
        "SELECT 'Ann'",
    ),
    "two of one name are two": (
        "SELECT c.name FROM customers c JOIN orders o ON o.customer_id = c.id ORDER BY COUNT(*)",
        "SELECT c.name FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.id ORDER BY COUNT(*)",
    ),
    "a category that is ordered by its count": (
        "SELECT city FROM customers ORDER BY COUNT(*) DESC LIMIT 1",
        "SELECT 'Bern'",
    ),
    "an aggregate in WHERE": ("SELECT city FROM customers WHERE COUNT(*) > 1", "SELECT 'Bern'"),
    "HAVING without GROUP BY": ("SELECT city FROM customers HAVING COUNT(*) > 1", "SELECT 'Bern'"),
    "an order inside of a set operation": (
        "SELECT name FROM customers ORDER BY name UNION SELECT title FROM products",
        "SELECT name FROM customers UNION SELECT title FROM products",
    ),
    "a set operation ordered by a part's column": (
        "SELECT name FROM customers UNION SELECT title FROM products ORDER BY customers.name",
        "SELECT name FROM customers UNION SELECT title FROM products ORDER BY 1",
    ),
    "an alias of the only table that is not declared": (
        "SELECT T1.name FROM customers WHERE T1.city = 'Rome'",
        "SELECT 'Bob'",
    ),
    "a column that the join makes equal": (
        "SELECT o.id, c.customer_id FROM orders o JOIN customers c ON o.customer_id = c.id",
        "SELECT id, customer_id FROM orders",
    ),
    "an ambiguity that GROUP BY decides": (
        "SELECT id, COUNT(*) FROM customers JOIN orders ON customers.id = orders.customer_id GROUP BY customers.id",
        "SELECT customer_id, COUNT(*) FROM orders GROUP BY 1",
    ),
    "an alias that only the sub-query has": (
        "SELECT name FROM customers WHERE o.amount > 15 AND id IN (SELECT customer_id FROM orders o)",
        "SELECT 'Ann'",
    ),
    "a table that is three joins away": ("SELECT DISTINCT c.name FROM customers c WHERE products.title = 'Pen'", PEN),
    "a column that is three joins away": ("SELECT DISTINCT name FROM customers WHERE title = 'Pen'", PEN),
    "a join under OR": (
        "SELECT name FROM customers JOIN orders ON customers.id = customer_id WHERE city = 'Rome' OR country = 'France'",
        "SELECT name FROM customers JOIN orders ON customers.id = customer_id WHERE city = 'Rome' OR country_id = 1",
    ),
    "another word for a table": ("SELECT COUNT(*) FROM clients", "SELECT 4"),
    "another word for another table": ("SELECT COUNT(*) FROM merchandise", "SELECT 2"),
    "a text in another case": ("SELECT name FROM customers WHERE city = 'bern'", BERN),
    "a text that is not to be, in another case": ("SELECT DISTINCT city FROM customers WHERE city <> 'BERN'", "SELECT 'Rome' UNION SELECT 'Oslo'"),
    "a text with blanks around it": ("SELECT name FROM customers WHERE city = ' Bern '", BERN),
    "a text in the singular": (
        "SELECT title FROM products JOIN categories ON categories.id = category_id WHERE label = 'toy'",
        "SELECT 'Pen'",
    ),
    "a text in double quotes in another case": ('SELECT name FROM customers WHERE city = "BERN"', BERN),
    "an alias of a table that is joined nowhere": (
        "SELECT c.city, AVG(amount) FROM orders GROUP BY c.city",
        "SELECT city, AVG(amount) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY city",
    ),
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Judged]:
    folder = tmp_path_factory.mktemp("store")
    with closing(sqlite3.connect(folder / "store.sqlite")) as opened:
        opened.executescript(SCRIPT)
    items = [
        Item(id=name, database="store", question="?", pred=pred, gold=gold) for name, (pred, gold) in ITEMS.items()
    ]
    async with aclosing(evaluate([(item,) for item in items], Path(folder), REPLAY)) as results:
        return {item.id: item async for item in results}


@pytest.mark.parametrize("name", ITEMS)
def test_it_comes_back_to_the_rows_that_were_meant(judged: dict[str, Judged], name: str) -> None:
    item = judged[name]
    assert item.first_code is not None or not item.first_right
    assert item.final_right, item.sql
