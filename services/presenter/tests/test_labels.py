"""Claims on labels: where a result column comes from is read from the statement, and only what is certain counts."""

from __future__ import annotations

import pytest

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.messages import ResultColumn
from querybus_presenter.wording.labels import is_neutral, labels
from querybus_presenter.wording.lineage import lineage
from querybus_presenter.wording.texts import load_texts

WORDS = load_texts()
CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=(
        Table(
            name="cities",
            columns=(
                Column(name="city_id", type="INTEGER"),
                Column(name="name", type="TEXT", display_names={"en": "City", "zh": "城市"}),
            ),
        ),
        Table(
            name="customers",
            columns=(
                Column(name="city_id", type="INTEGER"),
                Column(name="name", type="TEXT", display_names={"en": "Customer", "zh": "客户"}),
                Column(name="spent", type="REAL", comment="money spent"),
            ),
        ),
    ),
    glossary={"order value": "what one order is worth"},
)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT name FROM cities", ["City"]),
        ("SELECT t1.name, t2.name FROM cities t1 JOIN customers t2 ON t1.city_id = t2.city_id", ["City", "Customer"]),
        ("SELECT customers.name, COUNT(*) FROM customers GROUP BY 1", ["Customer", "Count"]),
        ("SELECT SUM(spent), AVG(c.spent) FROM customers AS c", ["Total of money spent", "Average of money spent"]),
        ("SELECT SUM(spent) AS turnover FROM customers", ["Total of money spent"]),
        ("SELECT COUNT(*) AS visits FROM customers", ["Visits"]),
        ("SELECT COUNT(*) AS spent FROM customers", ["Count"]),
        ("SELECT * FROM cities", ["City id", "City"]),
        ("SELECT c.* FROM cities AS c JOIN customers AS d ON c.city_id = d.city_id", ["City id", "City"]),
        ("SELECT name FROM cities UNION SELECT name FROM customers", ["City"]),
        ("SELECT x.name FROM (SELECT name FROM cities) AS x", ["Content"]),
        ("WITH cities AS (SELECT name FROM customers) SELECT name FROM cities", ["Content"]),
        ("SELECT spent * 2 FROM customers", ["Content"]),
        ("SELECT spent * 2 AS order_value FROM customers", ["Order value"]),
        ("SELECT name FROM cities WHERE city_id IN (SELECT city_id FROM customers)", ["City"]),
        ("no sql at all", ["Content"]),
    ],
)
def test_a_label_follows_the_column_that_is_shown(sql: str, names: list[str]) -> None:
    aliases = {"visits", "turnover", "order_value"}
    engine_names = [
        next((alias for alias in aliases if f"AS {alias}" in sql), "spent" if "AS spent" in sql else "name")
        for _ in names
    ]
    columns = [ResultColumn(name=engine_name) for engine_name in engine_names]
    result = labels(columns, CATALOG, (), WORDS["en", "business"], lineage(sql, Dialect.SQLITE, CATALOG))
    assert list(result) == names


def test_a_name_that_two_tables_own_has_no_label_of_its_own() -> None:
    result = labels([ResultColumn(name="name")], CATALOG, ("cities", "customers"), WORDS["zh", "business"])
    assert result == ("内容",)
    assert labels([ResultColumn(name="name")], CATALOG, ("cities",), WORDS["zh", "business"]) == ("城市",)


def test_a_lineage_of_another_width_does_not_count() -> None:
    origins = lineage("SELECT name, city_id FROM cities", Dialect.SQLITE, CATALOG)
    assert len(origins) == 2
    assert labels([ResultColumn(name="x9_y")], CATALOG, (), WORDS["en", "business"], origins) == ("Content",)


def test_a_neutral_label_is_known_as_such() -> None:
    assert is_neutral("Number (3)", WORDS["en", "business"])
    assert is_neutral("数值（12）", WORDS["zh", "business"])
    assert not is_neutral("Number of orders", WORDS["en", "business"])


def test_an_alias_is_said_in_chinese_where_all_its_words_are_known() -> None:
    columns = [ResultColumn(name=name) for name in ("average_days", "weekday")]
    assert labels(columns, CATALOG, (), WORDS["zh", "business"]) == ("平均天数", "星期几")
    assert labels(columns, CATALOG, (), WORDS["en", "business"]) == ("Average days", "Weekday")
