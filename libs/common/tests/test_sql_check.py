"""Claims on the check: what runs, what is refused and by which rule, what recovery is reported, and how rows are bound."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import TRAITS, Failure, FailureCode
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import Checked, check, check_in_doubt, guard
from querybus.sql.guard.rules import GUARD_RULES
from querybus.sql.limits.token_caps import _TYPES
from querybus.sql.names.grouping import BARE_COLUMN_WARNING
from querybus.sql.parse import GRAMMARS, kind_of
from querybus.sql.render import is_same_query, normalise
from querybus_cli.evaluation.check_statements import catalog_of, judge

FIXTURES = Path(__file__).parent / "sql"
TABLES = (
    Table(
        name="customer",
        columns=tuple(Column(name=name, type="TEXT") for name in ("id", "name", "city", "email")),
        primary_key=("id",),
    ),
    Table(
        name="purchase",
        columns=tuple(Column(name=name, type="TEXT") for name in ("id", "customer_id", "amount", "bought_at")),
        primary_key=("id",),
    ),
)
READ_ONLY = ConnectionPolicy()


def catalog(dialect: Dialect = Dialect.SQLITE) -> Catalog:
    return Catalog(connection="shop", dialect=dialect, tables=TABLES)


def checked(sql: str, dialect: Dialect = Dialect.SQLITE, policy: ConnectionPolicy = READ_ONLY) -> Checked | Failure:
    return check(sql, dialect=dialect, catalog=catalog(dialect), policy=policy, row_limit=100)


def refusal(sql: str, dialect: Dialect = Dialect.SQLITE, policy: ConnectionPolicy = READ_ONLY) -> Failure:
    decision = checked(sql, dialect, policy)
    assert isinstance(decision, Failure), decision
    return decision


def allowed(sql: str, dialect: Dialect = Dialect.SQLITE, policy: ConnectionPolicy = READ_ONLY) -> Checked:
    decision = checked(sql, dialect, policy)
    assert isinstance(decision, Checked), decision
    return decision


def blocks(name: str) -> list[tuple[str, str]]:
    text = (FIXTURES / name).read_text()
    parts = re.split(r"^--: (.+)\n", text, flags=re.MULTILINE)[1:]
    return [(head, body.strip("\n")) for head, body in zip(parts[::2], parts[1::2], strict=True)]


@pytest.mark.parametrize(("head", "body"), blocks("allowed.sql"))
def test_an_allowed_statement_runs_as_we_write_it(head: str, body: str) -> None:
    sql, _, rendered = body.partition("\n=> ")
    assert allowed(sql, Dialect(head.split(",", maxsplit=1)[0])).sql == rendered


@pytest.mark.parametrize(("head", "body"), blocks("refused.sql"))
def test_a_refused_statement_names_its_code_and_rule(head: str, body: str) -> None:
    dialect, code, rule = head.split()
    decision = refusal(body, Dialect(dialect))
    assert (decision.code.value, decision.facts.rule) == (code, rule)
    assert decision.facts.rule in GUARD_RULES


@pytest.mark.parametrize(("head", "body"), blocks("refused.sql"))
def test_what_is_refused_for_safety_is_refused_by_the_guard_alone(head: str, body: str) -> None:
    dialect, code, _ = head.split()
    if code in ("safety", "cost", "permission", "table_not_found", "function_not_found"):
        assert guard(body, Dialect(dialect), catalog(Dialect(dialect)), READ_ONLY) is not None


@pytest.mark.parametrize(("head", "body"), blocks("allowed.sql"))
def test_our_own_rendering_passes_and_stays_as_it_is(head: str, body: str) -> None:
    dialect = Dialect(head.split(",", maxsplit=1)[0])
    once = allowed(body.partition("\n=> ")[0], dialect)
    assert guard(once.sql, dialect, catalog(dialect), READ_ONLY) is None
    assert allowed(once.sql, dialect).sql == once.sql


def test_what_may_begin_a_typed_value_is_what_any_dialect_reads_as_a_type() -> None:
    assert frozenset().union(*(GRAMMARS[dialect].parser_class.TYPE_TOKENS for dialect in Dialect)) == _TYPES


@pytest.mark.process
def test_a_dialect_that_nobody_speaks_is_not_loaded() -> None:
    code = (
        "import sys\n"
        "from querybus.core.catalog import Dialect\n"
        "from querybus.sql.check import guard\n"
        "from querybus.sql.parse import kind_of\n"
        "print(kind_of('SELECT 1', Dialect.SQLITE))\n"
        "print(*(each for each in sys.modules if each.startswith('sqlglot.parsers.')))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "sqlglot.parsers.sqlite" in ran.stdout
    assert "snowflake" not in ran.stdout


def test_an_unknown_table_comes_with_the_closest_names() -> None:
    facts = refusal("SELECT name\nFROM costumers").facts
    assert (facts.name, facts.candidates[0], facts.line) == ("costumers", "customer", 2)


def test_an_unknown_column_comes_with_its_place_the_closest_names_and_the_tables_in_scope() -> None:
    facts = refusal("SELECT c.nme FROM customer AS c").facts
    assert (facts.name, facts.qualifier, facts.candidates[0], facts.tables) == ("nme", "c", "name", ("customer",))
    assert (facts.line, facts.column) == (1, 12)


def test_a_column_of_another_table_comes_with_its_owner() -> None:
    facts = refusal("SELECT amount FROM customer").facts
    assert (facts.name, facts.owners, facts.tables) == ("amount", ("purchase",), ("customer",))


def test_an_ambiguous_column_comes_with_the_tables_that_have_it() -> None:
    facts = refusal("SELECT id FROM customer c JOIN purchase p ON c.id = p.customer_id").facts
    assert (facts.name, facts.tables) == ("id", ("customer", "purchase"))


def test_a_table_used_by_its_name_after_it_got_an_alias_comes_with_the_aliases() -> None:
    decision = refusal("SELECT customer.name FROM customer AS c JOIN purchase AS p ON c.id = p.customer_id")
    assert decision.code is FailureCode.MISSING_ALIAS
    assert (decision.facts.qualifier, decision.facts.candidates) == ("customer", ("c", "p"))


@pytest.mark.parametrize("dialect", [Dialect.SQLITE, Dialect.POSTGRESQL, Dialect.MYSQL])
def test_a_key_followed_by_a_dot_is_a_missing_join_and_no_harm(dialect: Dialect) -> None:
    decision = refusal("SELECT p.amount FROM purchase AS p WHERE p.customer_id.city = 'York'", dialect)
    assert (decision.code, decision.facts.qualifier) == (FailureCode.MISSING_ALIAS, "p.customer_id")


def test_on_oracle_it_may_call_a_method() -> None:
    decision = refusal("SELECT p.amount FROM purchase p WHERE p.customer_id.city = 'York'", Dialect.ORACLE)
    assert decision.code is FailureCode.SAFETY


@pytest.mark.parametrize("text", ["“York”", "‘York’", "“%o%”", "„York“"])
def test_curly_quotes_around_a_text_are_broken_sql_and_no_harm(text: str) -> None:
    assert refusal(f"SELECT name FROM customer WHERE city LIKE {text}").code is FailureCode.SYNTAX_ERROR


def test_a_syntax_error_says_where_without_terminal_codes() -> None:
    decision = refusal("SELECT name FROM customer WHERE AND")
    assert decision.code is FailureCode.SYNTAX_ERROR
    assert "\x1b" not in decision.detail
    assert decision.facts.line == 1


def test_a_refused_statement_kind_is_named_in_a_plain_word() -> None:
    assert refusal("drop table customer").facts.name == "DROP"
    assert refusal("SELECT 1; insert into customer values (1)").facts.name == "INSERT"
    assert refusal("WITH x AS (DELETE FROM customer RETURNING id) SELECT 1", Dialect.POSTGRESQL).facts.name == "DELETE"


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("delete from customer", "DELETE"),
        ("/* select */ drop table customer", "DROP"),
        ("(((select 1)))", "SELECT"),
        ("with x as (select 1) update customer set name = 1", "UPDATE"),
        ("", "?"),
        ("'", "?"),
    ],
)
def test_the_kind_of_a_statement_is_its_first_word(sql: str, kind: str) -> None:
    assert kind_of(sql, Dialect.SQLITE) == kind


def test_a_doubt_about_a_column_can_be_left_to_the_engine_but_a_refusal_cannot() -> None:
    def decision(sql: str) -> Checked | Failure:
        return check_in_doubt(sql, dialect=Dialect.SQLITE, catalog=catalog(), policy=READ_ONLY, row_limit=10)

    doubtful = decision("SELECT nam FROM customer")
    assert isinstance(doubtful, Checked)
    assert doubtful.doubt is not None
    assert doubtful.sql == "SELECT nam FROM customer LIMIT 11"
    assert isinstance(decision("SELECT x.nam FROM customer"), Failure)
    assert isinstance(decision("SELECT nam FROM nowhere"), Failure)


def test_a_table_outside_the_policy_is_denied_and_never_suggested() -> None:
    policy = ConnectionPolicy(tables_allowed=("purchase",))
    assert refusal("SELECT name FROM customer", policy=policy).code is FailureCode.PERMISSION
    assert refusal("WITH customer AS (SELECT 1) SELECT 1 FROM customer", policy=policy).code is FailureCode.PERMISSION
    assert "customer" not in refusal("SELECT name FROM customers", policy=policy).facts.candidates
    assert refusal("SELECT name FROM purchase", policy=policy).facts.owners == ()
    assert refusal("SHOW TABLES", Dialect.MYSQL, policy).code is FailureCode.PERMISSION
    allowed("SELECT amount FROM purchase", policy=policy)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT email FROM customer",
        "SELECT * FROM customer",
        "SELECT c.* FROM customer AS c",
        "SELECT name FROM customer WHERE email LIKE 'a%'",
        "SELECT name FROM customer ORDER BY EMAIL",
        "SELECT 1 FROM customer a JOIN customer b USING (email)",
        "SELECT 1 FROM customer a NATURAL JOIN customer b",
        "SELECT x FROM (SELECT * FROM customer) AS t(x, y, z, w)",
        "WITH t AS (SELECT * FROM customer) SELECT name FROM t",
        "SELECT customer FROM customer",
        "SELECT c FROM customer AS c",
        'SELECT "email" FROM customer',
        "SELECT count(email) FROM customer",
        "SELECT d FROM customer AS c(a, b, c, d)",
        "SELECT (c).email FROM customer AS c",
        "SELECT to_json(c) FROM customer AS c",
        "SELECT (SELECT c.*) FROM customer AS c",
        "SELECT * FROM purchase JOIN customer ON true",
        "TABLE customer",
    ],
)
def test_no_statement_reads_a_denied_column(sql: str) -> None:
    decision = refusal(sql, Dialect.POSTGRESQL, ConnectionPolicy(columns_denied={"customer": ("email",)}))
    assert (decision.code, decision.facts.rule) == (FailureCode.PERMISSION, "column_denied")


def test_a_denied_column_leaves_the_others_and_the_other_tables_readable() -> None:
    policy = ConnectionPolicy(columns_denied={"customer": ("email",)})
    allowed("SELECT name, count(*) FROM customer GROUP BY name", policy=policy)
    allowed("SELECT * FROM purchase", policy=policy)
    allowed("SELECT purchase.* FROM purchase JOIN customer ON true", policy=policy)
    allowed("SELECT * FROM (SELECT name FROM customer) AS c", policy=policy)
    allowed("SELECT * EXCLUDE (email) FROM customer", Dialect.DUCKDB, policy)


def test_a_function_of_the_database_runs_only_if_the_policy_lists_it() -> None:
    assert refusal("SELECT net_price(amount) FROM purchase").code is FailureCode.FUNCTION_NOT_FOUND
    allowed("SELECT net_price(amount) FROM purchase", policy=ConnectionPolicy(functions_allowed=("net_price",)))


def test_a_bare_column_beside_an_aggregate_is_a_warning_where_the_engine_is_silent() -> None:
    assert allowed("SELECT name, max(city) FROM customer").warnings == (BARE_COLUMN_WARNING,)
    assert refusal("SELECT name, max(city) FROM customer", Dialect.POSTGRESQL).code is FailureCode.GROUPING_ERROR


def test_a_grouped_primary_key_frees_the_other_columns_of_its_table() -> None:
    allowed("SELECT c.name, count(*) FROM customer c GROUP BY c.id", Dialect.POSTGRESQL)


def test_equal_names_in_two_schemas_are_kept_apart() -> None:
    tables = (
        Table(name="item", schema_name="public", columns=(Column(name="a", type="INT"),)),
        Table(name="item", schema_name="archive", columns=(Column(name="b", type="INT"),)),
    )
    two = Catalog(connection="shop", dialect=Dialect.POSTGRESQL, tables=tables, default_schema="public")

    def verdict(sql: str) -> Checked | Failure:
        return check(sql, dialect=Dialect.POSTGRESQL, catalog=two, policy=READ_ONLY, row_limit=5)

    assert isinstance(verdict("SELECT a FROM item"), Checked)
    assert isinstance(verdict("SELECT b FROM archive.item"), Checked)
    assert isinstance(verdict("SELECT archive.item.b FROM archive.item"), Checked)
    assert isinstance(verdict("SELECT b FROM item"), Failure)
    assert isinstance(verdict("SELECT a FROM archive.item"), Failure)
    assert isinstance(verdict("SELECT a FROM secret.item"), Failure)


def test_a_quoted_name_is_exact_where_the_engine_is() -> None:
    assert refusal('SELECT 1 FROM "Customer"', Dialect.POSTGRESQL).code is FailureCode.TABLE_NOT_FOUND
    assert refusal('SELECT "NAME" FROM customer', Dialect.POSTGRESQL).code is FailureCode.COLUMN_NOT_FOUND
    allowed('SELECT "NAME" FROM "CUSTOMER"')


def test_equal_statements_have_one_normal_form() -> None:
    assert normalise("select  Name from customer -- x", Dialect.SQLITE) == "SELECT Name FROM customer"
    assert normalise("not a  statement ;", Dialect.SQLITE) == "not a statement"


def test_a_judged_line_says_allow_or_refuse_with_the_code() -> None:
    document = {"tables": {"orders": {"id": "INT"}}, "primary_keys": {"orders": ["id"]}}
    read = catalog_of(document, Dialect.SQLITE)
    assert judge("SELECT id FROM orders", Dialect.SQLITE, read)["verdict"] == "allow"
    refused = judge("DROP TABLE orders", Dialect.SQLITE, read)
    assert (refused["verdict"], refused["code"]) == ("refuse", "safety")


def test_a_catalog_document_of_another_shape_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="tables"):
        catalog_of({"things": {}}, Dialect.SQLITE)


@pytest.mark.process
def test_mysqls_pattern_operator_is_written_also_after_something_else_has_rendered_the_dialect():
    code = (
        "import sqlglot\n"
        "tree = sqlglot.parse_one(\"SELECT b FROM t WHERE b REGEXP '^x'\", dialect='mysql')\n"
        "tree.sql('mysql')\n"
        "from querybus.core.catalog import Dialect\n"
        "from querybus.sql.parse import GRAMMARS\n"
        "print(GRAMMARS[Dialect.MYSQL].generate(tree))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "SELECT b FROM t WHERE b REGEXP '^x'"


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("SELECT Name FROM Singer", 'select "name" from "singer";', True),
        ("SELECT t1.name FROM singer AS t1 WHERE t1.age > 3", "SELECT name AS n FROM singer WHERE age > 3", True),
        (
            "SELECT a.name FROM singer AS a JOIN song AS b ON a.id = b.singer_id",
            "SELECT singer.name FROM singer JOIN song ON singer.id = song.singer_id",
            True,
        ),
        # A name that is used elsewhere says what it stands for.
        ("SELECT a AS n, b AS m FROM t ORDER BY n LIMIT 1", "SELECT a AS m, b AS n FROM t ORDER BY n LIMIT 1", False),
        (
            "SELECT s.k FROM (SELECT id AS k, x AS j FROM t) AS s",
            "SELECT s.k FROM (SELECT id AS j, x AS k FROM t) AS s",
            False,
        ),
        # Two of one table are distinguished by their aliases alone.
        (
            "SELECT a.name FROM p AS a JOIN p AS b ON a.id = b.boss",
            "SELECT b.name FROM p AS a JOIN p AS b ON a.id = b.boss",
            False,
        ),
        ("SELECT name FROM singer WHERE name = 'Ann'", "SELECT name FROM singer WHERE name = 'ann'", False),
        ("SELECT name FROM singer", "SELECT DISTINCT name FROM singer", False),
        ("SELECT a, b FROM t", "SELECT b, a FROM t", False),
        ("not a statement", "not  a statement", True),
        ("not a statement", "no statement", False),
    ],
)
def test_two_queries_are_the_same_but_for_how_names_are_written(one: str, other: str, is_same: bool) -> None:
    assert is_same_query(one, other, Dialect.SQLITE) is is_same
    assert is_same_query(other, one, Dialect.SQLITE) is is_same


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        (Dialect.SNOWFLAKE, "SELECT CURRENT_DATE + INTERVAL '3 hours ago' AS d FROM customer"),
        (Dialect.CLICKHOUSE, "SELECT today() + INTERVAL '5 days ago' AS d FROM customer"),
    ],
)
def test_a_text_that_the_rendering_would_lose_is_refused_in_a_way_that_can_be_repaired(dialect: Dialect, sql: str):
    decision = refusal(sql, dialect)
    assert (decision.code, decision.facts.rule) == (FailureCode.SYNTAX_ERROR, "rendering")


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        (Dialect.MYSQL, "SELECT COUNT(*) FROM customer USE INDEX (i_name) WHERE name = 'x'"),
        (Dialect.MYSQL, "SELECT COUNT(*) FROM customer PARTITION (p0)"),
        (Dialect.MYSQL, "SELECT SQL_CALC_FOUND_ROWS name FROM customer"),
        (Dialect.CLICKHOUSE, "SELECT COUNT(*) FROM customer FORMAT JSON"),
        (Dialect.SNOWFLAKE, "SELECT COUNT(*) FROM customer AT(OFFSET => -60)"),
        (Dialect.DUCKDB, "SELECT name.upper() FROM customer"),
        (Dialect.POSTGRESQL, "SELECT factorial(5) FROM customer"),
        (Dialect.POSTGRESQL, "SELECT (c.name).city FROM customer c"),
    ],
)
def test_what_changes_leaks_and_reaches_nothing_is_refused_in_a_way_that_can_be_repaired(dialect: Dialect, sql: str):
    assert TRAITS[refusal(sql, dialect).code].to_model


def test_a_table_of_another_database_is_not_read_as_ones_own() -> None:
    known = catalog(Dialect.SNOWFLAKE).model_copy(update={"database": "SHOPDB", "default_schema": "PUBLIC"})
    own, other = (
        check(
            f"SELECT COUNT(*) FROM {name}.PUBLIC.CUSTOMER",
            dialect=Dialect.SNOWFLAKE,
            catalog=known,
            policy=READ_ONLY,
            row_limit=9,
        )
        for name in ("shopdb", "otherdb")
    )
    assert isinstance(own, Checked)
    assert "shopdb" not in own.sql.lower()
    assert isinstance(other, Failure)
    assert other.code is FailureCode.TABLE_NOT_FOUND


@pytest.mark.parametrize(
    "word", ["DELETE FROM customer", "INSERT INTO customer SELECT * FROM t", "MERGE INTO customer USING t ON 1 = 1"]
)
@pytest.mark.parametrize("name", ["t", "replace", "values", "select1"])
def test_a_write_behind_with_is_a_write_whatever_its_tables_are_called(word: str, name: str) -> None:
    for dialect in Dialect:
        quoted = f'"{name}"' if name == "values" and dialect not in (Dialect.MYSQL, Dialect.BIGQUERY) else name
        decision = refusal(f"WITH {quoted} AS (SELECT name FROM customer) {word}", dialect)
        assert decision.code in (FailureCode.SAFETY, FailureCode.SYNTAX_ERROR)


EVENTS = Catalog(
    connection="events",
    dialect=Dialect.BIGQUERY,
    tables=(
        Table(
            name="events_20240101",
            schema_name="ga4",
            columns=(
                Column(name="event_name", type="STRING"),
                Column(
                    name="event_params",
                    type="ARRAY<STRUCT<key STRING, value STRUCT<string_value STRING, int_value INT64>>>",
                ),
            ),
        ),
    ),
)


@pytest.mark.parametrize(
    ("sql", "passes"),
    [
        (
            "SELECT (SELECT value.string_value FROM UNNEST(event_params) WHERE key = 'page') AS page FROM ga4.events_20240101",
            True,
        ),
        ("SELECT key, value.int_value FROM ga4.events_20240101, UNNEST(event_params)", True),
        ("SELECT event_name FROM `my-project.ga4.events_20240101`", True),
        ("SELECT (SELECT other.string_value FROM UNNEST(event_params)) FROM ga4.events_20240101", False),
        ("SELECT value.int_value FROM ga4.events_20240101", False),
    ],
)
def test_the_fields_of_unfolded_structs_are_columns_and_nothing_else_is(sql: str, passes: bool) -> None:
    decision = check_in_doubt(sql, dialect=Dialect.BIGQUERY, catalog=EVENTS, policy=READ_ONLY, row_limit=9)
    assert isinstance(decision, Checked) is passes, decision


@pytest.mark.parametrize("dialect", [Dialect.SNOWFLAKE, Dialect.ORACLE])
def test_a_table_that_was_made_in_quotes_is_read_by_its_quoted_name_where_nothing_is_protected(
    dialect: Dialect,
) -> None:
    for policy, passes in ((READ_ONLY, True), (ConnectionPolicy(tables_allowed=("customer",)), False)):
        decision = check_in_doubt(
            'SELECT COUNT(*) FROM "customer"', dialect=dialect, catalog=catalog(dialect), policy=policy, row_limit=9
        )
        assert isinstance(decision, Checked) is passes, decision


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE r(x) AS (SELECT 1 UNION SELECT x * 3 FROM r) SELECT x FROM r",
        "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT (x * 3) % 7 FROM r) SELECT x FROM r",
        "WITH RECURSIVE r(x) AS (SELECT 'a' UNION ALL SELECT x || 'b' FROM r WHERE x <> '') SELECT x FROM r",
    ],
)
def test_a_recursion_that_grows_or_repeats_itself_has_no_end(sql: str) -> None:
    assert refusal(sql).facts.rule == "recursion"
