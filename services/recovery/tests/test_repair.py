"""Claims on the rules of repair, mostly as pairs of a broken statement and what it becomes."""

from __future__ import annotations

import re
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querybus.core.catalog import Catalog, Column, Dialect, ForeignKey, Table
from querybus.core.failure import TRAITS, Facts, Failure, FailureCode
from querybus.core.messages import Draft, Origin, RuleName
from querybus.text.similarity import closest, score
from querybus_recovery.rules.candidate import Candidate, Repair
from querybus_recovery.rules.confidence import confidence
from querybus_recovery.rules.pipeline import CHECKS_MAX, REPAIRS_MAX, RULES, repairs

TABLES = {
    "customers": ("customer_id", "full_name", "city", "Birth Year"),
    "orders": ("order_id", "customer_id", "placed_on", "total_amount"),
    "order_lines": ("order_id", "product_id", "quantity"),
    "products": ("product_id", "title", "list_price"),
}
CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=tuple(
        Table(
            name=name,
            columns=tuple(Column(name=column, type="TEXT") for column in columns),
            foreign_keys=(
                ForeignKey(columns=("customer_id",), referred_table="customers", referred_columns=("customer_id",)),
            )
            if name == "orders"
            else (),
        )
        for name, columns in TABLES.items()
    ),
)
_PATTERNS = (
    (r"no such table: (\S+)", FailureCode.TABLE_NOT_FOUND),
    (r"no such column: (?:(\w+)\.)?(.+)", FailureCode.COLUMN_NOT_FOUND),
    (r"ambiguous column name: (\S+)", FailureCode.AMBIGUOUS_COLUMN),
)


def engine() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    for name, columns in TABLES.items():
        columns_sql = ", ".join(f'"{column}" TEXT' for column in columns)
        connection.execute(f'CREATE TABLE "{name}" ({columns_sql})')
    return connection


def check(sql: str) -> Failure | None:
    """What a real engine says of a statement, as a failure with facts."""
    try:
        engine().execute(f"EXPLAIN {sql}")
    except sqlite3.ProgrammingError:
        return Failure.of(FailureCode.MULTI_STATEMENT)
    except sqlite3.OperationalError as error:
        for pattern, code in _PATTERNS:
            if match := re.search(pattern, str(error)):
                qualifier = match[1] if match.lastindex == 2 else None
                return Failure.of(code, str(error), Facts(name=match[match.lastindex or 1], qualifier=qualifier))
        return Failure.of(FailureCode.SYNTAX_ERROR, str(error))
    return None


def mended(sql: str, catalog: Catalog = CATALOG) -> list[str]:
    failure = check(sql)
    assert failure is not None, "the pair's first statement must fail"
    draft = Draft(sql=sql, dialect=Dialect.SQLITE, origin=Origin.MODEL)
    return [repair.sql for repair in repairs(draft, failure, catalog, check=check)]


PAIRS = [
    # extract
    ("```sql\nSELECT city FROM customers\n```", "SELECT city FROM customers"),
    ("Here you are: SELECT city FROM customers;", "SELECT city FROM customers"),
    ("SELECT city FROM customers;\n\nThis lists every city.", "SELECT city FROM customers"),
    ("With this I select the cities: SELECT city FROM customers", "SELECT city FROM customers"),
    ("Sure!\n```\nSELECT city FROM customers\n```\nIt lists cities.", "SELECT city FROM customers"),
    # parentheses
    ("SELECT COUNT(* FROM customers", "SELECT COUNT(*) FROM customers"),
    (
        "SELECT city FROM customers WHERE customer_id IN (SELECT customer_id FROM orders",
        "SELECT city FROM customers WHERE customer_id IN (SELECT customer_id FROM orders)",
    ),
    (
        "SELECT city FROM customers WHERE (city = 'a' AND (full_name = 'b' OR city = 'c'",
        "SELECT city FROM customers WHERE (city = 'a' AND (full_name = 'b' OR city = 'c'))",
    ),
    # aliases
    ("SELECT customers.city FROM customers AS c", "SELECT c.city FROM customers AS c"),
    (
        "SELECT o.city FROM customers AS c JOIN orders AS o ON c.customer_id = o.customer_id",
        "SELECT c.city FROM customers AS c JOIN orders AS o ON c.customer_id = o.customer_id",
    ),
    # ambiguity
    (
        "SELECT customer_id FROM customers AS c JOIN orders AS o ON c.customer_id = o.customer_id",
        "SELECT c.customer_id FROM customers AS c JOIN orders AS o ON c.customer_id = o.customer_id",
    ),
    # names
    ("SELECT FullName FROM customers", "SELECT full_name FROM customers"),
    ("SELECT citty FROM customers", "SELECT city FROM customers"),
    ("SELECT c.custmer_id FROM customers AS c", "SELECT c.customer_id FROM customers AS c"),
    ("SELECT birth_year FROM customers", 'SELECT "Birth Year" FROM customers'),
    ("SELECT city FROM customer", "SELECT city FROM customers"),
    ("SELECT OrderLines.quantity FROM OrderLines", "SELECT order_lines.quantity FROM order_lines"),
    # two steps
    ("```sql\nSELECT citty FROM customer\n```", "SELECT city FROM customers"),
]


@pytest.mark.parametrize(("broken", "whole"), PAIRS)
@pytest.mark.requirement("000.16")
def test_a_broken_statement_becomes_a_whole_one(broken: str, whole: str) -> None:
    assert mended(broken)[:1] == [whole]
    assert check(whole) is None


@pytest.mark.parametrize(
    "broken",
    [
        "SELECT income FROM customers",  # no near name
        "SELECT qty FROM order_lines",  # an abbreviation
        "SELECT city FROM customers; DROP TABLE customers",
        "The city is Bern.",
        "SELECT customer_id FROM customers AS c LEFT JOIN orders AS o ON c.customer_id = o.customer_id",
        "select city from customers where customer_id = in (select customer_id from orders)",
        "SELECT city FROM customers, SELECT title FROM products",
        "sql placeholder",
        "",
    ],
)
def test_what_is_not_clear_is_left_alone(broken: str) -> None:
    assert mended(broken) == []


ASSUMED = [
    # several statements: the last
    ("SELECT city FROM customers; SELECT title FROM products", "SELECT title FROM products"),
    # ambiguous where nothing makes the sides equal
    (
        "SELECT customer_id FROM customers AS c JOIN orders AS o ON c.customer_id = o.order_id",
        "SELECT c.customer_id FROM customers AS c JOIN orders AS o ON c.customer_id = o.order_id",
    ),
    # the table that a key refers to has the column
    (
        "SELECT order_id FROM orders WHERE city = 'Bern'",
        "SELECT order_id FROM orders JOIN customers ON orders.customer_id = customers.customer_id WHERE customers.city = 'Bern'",
    ),
    (
        "SELECT COUNT(*) FROM orders WHERE full_name = 'Ann'",
        "SELECT COUNT(*) FROM orders JOIN customers ON orders.customer_id = customers.customer_id WHERE customers.full_name = 'Ann'",
    ),
    # a condition on rows that refer to this one
    (
        "SELECT full_name FROM customers WHERE total_amount > 10",
        "SELECT full_name FROM customers WHERE customers.customer_id IN (SELECT customer_id FROM orders WHERE total_amount > 10)",
    ),
    # join conditions
    (
        "SELECT c.city FROM customers AS c JOIN orders AS o ON c.id = o.owner",
        "SELECT c.city FROM customers AS c JOIN orders AS o ON o.customer_id = c.customer_id",
    ),
    # an alias that was never declared
    (
        "SELECT c.city FROM orders AS o WHERE o.total_amount > 10",
        "SELECT c.city FROM orders AS o JOIN customers AS c ON o.customer_id = c.customer_id WHERE o.total_amount > 10",
    ),
    # sub-query keys
    (
        "SELECT city FROM customers WHERE owner IN (SELECT customer_id FROM orders)",
        "SELECT city FROM customers WHERE customer_id IN (SELECT customer_id FROM orders)",
    ),
    # tables that nobody has
    ("SELECT full_name, city FROM people", "SELECT full_name, city FROM customers"),
    ("SELECT list_price, title FROM orders", "SELECT list_price, title FROM products"),
    # variants of a name
    ("SELECT total FROM orders", "SELECT total_amount FROM orders"),
    ("SELECT name FROM customers", "SELECT full_name FROM customers"),
]


@pytest.mark.parametrize(("broken", "whole"), ASSUMED)
def test_what_is_only_likely_is_repaired_as_an_assumption(broken: str, whole: str) -> None:
    failure = check(broken)
    assert failure is not None
    draft = Draft(sql=broken, dialect=Dialect.SQLITE, origin=Origin.MODEL)
    first = repairs(draft, failure, CATALOG, check=check)[0]
    assert first.sql == whole
    assert not first.keeps_meaning


TEXTS = [
    # (code as an engine or the validator gives it, name, broken, whole)
    ("syntax_error", None, "SELECT TOP 2 city FROM customers", "SELECT city FROM customers LIMIT 2"),
    (
        "column_not_found",
        "ROWNUM",
        "SELECT city FROM customers WHERE ROWNUM <= 2",
        "SELECT city FROM customers LIMIT 2",
    ),
    (
        "syntax_error",
        None,
        "SELECT order.total_amount FROM orders AS order",
        'SELECT "order".total_amount FROM orders AS "order"',
    ),
    (
        "syntax_error",
        None,
        "(SELECT city FROM customers ORDER BY city) UNION (SELECT title FROM products)",
        "SELECT city FROM customers UNION SELECT title FROM products",
    ),
    (
        "syntax_error",
        None,
        "SELECT title FROM products WHERE list_price > ALL (SELECT total_amount FROM orders)",
        "SELECT title FROM products WHERE list_price > (SELECT MAX(total_amount) FROM orders)",
    ),
    (
        "syntax_error",
        None,
        "SELECT city FROM customers WHERE city = 'a' AND",
        "SELECT city FROM customers WHERE city = 'a'",
    ),
    (
        "function_not_found",
        "YEAR",
        "SELECT YEAR(placed_on) FROM orders",
        "SELECT CAST(STRFTIME('%Y', placed_on) AS INTEGER) FROM orders",
    ),
    (
        "function_not_found",
        "CONCAT",
        "SELECT CONCAT(city, full_name) FROM customers",
        "SELECT (city || full_name) FROM customers",
    ),
    (
        "function_not_found",
        "DATE_FORMAT",
        "SELECT DATE_FORMAT(placed_on, '%Y-%i') FROM orders",
        "SELECT STRFTIME('%Y-%M', placed_on) FROM orders",
    ),
    (
        "function_not_found",
        "DIVIDE",
        "SELECT DIVIDE(total_amount, 2) FROM orders",
        "SELECT (CAST(total_amount AS REAL) / 2) FROM orders",
    ),
    (
        "aggregate_misuse",
        "COUNT",
        "SELECT city FROM customers WHERE COUNT(*) > 3",
        "SELECT city FROM customers GROUP BY city HAVING COUNT(*) > 3",
    ),
    (
        "aggregate_misuse",
        "MAX",
        "SELECT title FROM products WHERE list_price = MAX(list_price)",
        "SELECT title FROM products WHERE list_price = (SELECT MAX(list_price) FROM products)",
    ),
    (
        "aggregate_misuse",
        "COUNT",
        "SELECT MAX(COUNT(*)) FROM customers GROUP BY city",
        "SELECT MAX(value_1) FROM (SELECT COUNT(*) AS value_1 FROM customers GROUP BY city) AS grouped",
    ),
    (
        "grouping_error",
        "full_name",
        "SELECT city, full_name, COUNT(*) FROM customers GROUP BY city",
        "SELECT city, full_name, COUNT(*) FROM customers GROUP BY city, full_name",
    ),
]


@pytest.mark.parametrize(("code", "name", "broken", "whole"), TEXTS)
def test_a_form_that_an_engine_does_not_take_becomes_one_that_it_takes(
    code: str, name: str | None, broken: str, whole: str
) -> None:
    draft = Draft(sql=broken, dialect=Dialect.SQLITE, origin=Origin.MODEL)
    result = repairs(draft, Failure.of(FailureCode(code), facts=Facts(name=name)), CATALOG, check=check)
    assert [attempt.sql for attempt in result][:1] == [whole]
    assert check(whole) is None


def test_confidence_falls_with_the_doubt_of_all_steps_and_is_silent_where_nothing_was_assumed() -> None:
    sure = Candidate(RuleName.USE_ALIAS, "SELECT 1", keeps_meaning=True)
    join = Candidate(RuleName.JOIN_OWNER, "SELECT 1", keeps_meaning=False)
    cut = Candidate(RuleName.CUT_TAIL, "SELECT 1", keeps_meaning=False)
    assert confidence(Repair("SELECT 1", (sure,))) is None
    alone = confidence(Repair("SELECT 1", (join,)))
    both = confidence(Repair("SELECT 1", (sure, join, cut)))
    plain = confidence(
        Repair("SELECT 1", (Candidate(RuleName.JOIN_OWNER, "SELECT 1", keeps_meaning=False, doubt=0.0),))
    )
    assert alone is not None
    assert both is not None
    assert plain is not None
    assert 0.4 < both < alone < plain < 0.8


def test_a_double_quoted_word_that_is_no_column_is_a_text() -> None:
    draft = Draft(
        sql='SELECT "city" FROM customers WHERE city = "Bern" AND "full_name" <> city',
        dialect=Dialect.SQLITE,
        origin=Origin.MODEL,
    )
    failure = Failure.of(FailureCode.COLUMN_NOT_FOUND, facts=Facts(name="Bern"))
    (repair,) = repairs(draft, failure, CATALOG, check=check)
    assert repair.sql == 'SELECT "city" FROM customers WHERE city = \'Bern\' AND "full_name" <> city'
    assert repair.keeps_meaning


def test_two_near_names_are_one_too_many() -> None:
    catalog = Catalog(
        connection="c",
        dialect=Dialect.SQLITE,
        tables=(Table(name="t", columns=(Column(name="date1", type="TEXT"), Column(name="date2", type="TEXT"))),),
    )
    draft = Draft(sql="SELECT date3 FROM t", dialect=Dialect.SQLITE, origin=Origin.MODEL)
    failure = Failure.of(FailureCode.COLUMN_NOT_FOUND, facts=Facts(name="date3"))
    assert repairs(draft, failure, catalog, check=lambda _: None) == ()


def test_a_comparison_with_null_is_repaired_only_where_types_were_refused() -> None:
    draft = Draft(sql="SELECT city FROM customers WHERE city <> NULL", dialect=Dialect.SQLITE, origin=Origin.MODEL)
    refused = Failure.of(FailureCode.TYPE_MISMATCH)
    result = repairs(draft, refused, CATALOG, check=check)
    assert [attempt.sql for attempt in result] == ["SELECT city FROM customers WHERE NOT city IS NULL"]
    assert not result[0].keeps_meaning
    assert repairs(draft, Failure.of(FailureCode.SYNTAX_ERROR), CATALOG, check=check) == ()


def test_renames_are_assumptions_and_aliases_are_not() -> None:
    failure = Failure.of(FailureCode.COLUMN_NOT_FOUND, facts=Facts(name="citty"))
    draft = Draft(sql="SELECT citty FROM customers", dialect=Dialect.SQLITE, origin=Origin.MODEL)
    assert [repair.keeps_meaning for repair in repairs(draft, failure, CATALOG, check=check)] == [False]
    failure = Failure.of(FailureCode.COLUMN_NOT_FOUND, facts=Facts(name="city", qualifier="customers"))
    draft = draft.model_copy(update={"sql": "SELECT customers.city FROM customers AS c"})
    (repair,) = repairs(draft, failure, CATALOG, check=check)[:1]
    assert repair.keeps_meaning
    assert [(step.rule, step.before, step.after) for step in repair.steps] == [(RuleName.USE_ALIAS, "customers", "c")]


@pytest.mark.parametrize("code", [code for code in FailureCode if not TRAITS[code].by_rule])
def test_no_rule_touches_what_is_not_a_broken_statement(code: FailureCode) -> None:
    draft = Draft(sql="SELECT citty FROM customer", dialect=Dialect.SQLITE, origin=Origin.MODEL)
    assert repairs(draft, Failure.of(code, facts=Facts(name="citty")), CATALOG, check=check) == ()


def test_the_search_is_bounded_however_the_check_answers() -> None:
    calls: list[str] = []

    def never(sql: str) -> Failure:
        calls.append(sql)
        return Failure.of(FailureCode.COLUMN_NOT_FOUND, facts=Facts(name="citty", qualifier=str(len(calls))))

    draft = Draft(
        sql='SELECT citty, x.city FROM customers AS c WHERE (city = "a" AND (c.citty IN (1, 2',
        dialect=Dialect.SQLITE,
        origin=Origin.MODEL,
    )
    for code in FailureCode:
        assert repairs(draft, Failure.of(code, facts=Facts(name="citty")), CATALOG, check=never) == ()
    assert len(calls) <= CHECKS_MAX * len(FailureCode)


@given(st.text(max_size=60), st.sampled_from([code for code in FailureCode if TRAITS[code].by_rule]))
def test_no_text_breaks_a_rule(text: str, code: FailureCode) -> None:
    draft = Draft(sql=f"SELECT {text} FROM customers", dialect=Dialect.SQLITE, origin=Origin.MODEL)
    result = repairs(draft, Failure.of(code, facts=Facts(name=text)), CATALOG, check=lambda _: None)
    assert len(result) <= REPAIRS_MAX


def test_every_rule_stands_in_the_pipeline_under_its_own_name() -> None:
    assert [rule.__name__ for rule in RULES] == list(RuleName)


def test_closeness_knows_case_plural_and_typing_only() -> None:
    assert score("FirstName", "first_name") == 1
    assert score("order", "orders") > 0.9
    assert closest("city", ["citty", "town"]) == "citty"
    assert closest("qty", ["quantity"]) is None
    assert closest("anything", []) is None
