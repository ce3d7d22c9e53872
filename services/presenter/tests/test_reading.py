"""Claims on the reading of an answer: one sentence and its parts, from the statement alone, in every dialect and language."""

from __future__ import annotations

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Language, Table
from querybus.core.messages import Reading
from querybus_presenter.wording.reading import reading, with_carried
from querybus_presenter.wording.statement import read
from querybus_presenter.wording.texts import load_texts

WORDS = load_texts()


def column(name: str, kind: ColumnKind = ColumnKind.TEXT) -> Column:
    return Column(name=name, type=kind.value, kind=kind)


TABLES = (
    Table(
        name="members",
        columns=(
            column("member_id", ColumnKind.INTEGER),
            column("first_name"),
            column("city"),
            column("is_active", ColumnKind.BOOLEAN),
            column("joined_on", ColumnKind.DATE),
        ),
        primary_key=("member_id",),
    ),
    Table(
        name="orders",
        columns=(
            column("order_id", ColumnKind.INTEGER),
            column("member_id", ColumnKind.INTEGER),
            column("channel"),
            column("amount", ColumnKind.NUMBER),
            column("order_date", ColumnKind.DATE),
        ),
        primary_key=("order_id",),
        foreign_keys=(ForeignKey(columns=("member_id",), referred_table="members", referred_columns=("member_id",)),),
    ),
)


def read_as(sql: str, language: Language = "en", dialect: Dialect = Dialect.SQLITE) -> Reading:
    catalog = Catalog(connection="club", dialect=dialect, tables=TABLES)
    made = reading(read(sql, dialect), catalog, WORDS[language, "business"], with_names=False)
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("dialect", "condition"),
    [
        (Dialect.SQLITE, "strftime('%Y-%m', order_date) = '2026-05'"),
        (Dialect.SQLITE, "order_date >= '2026-05-01' AND order_date < '2026-06-01'"),
        (Dialect.SQLITE, "order_date BETWEEN '2026-05-01' AND '2026-05-31'"),
        (Dialect.SQLITE, "order_date LIKE '2026-05%'"),
        (Dialect.SQLITE, "substr(order_date, 1, 7) = '2026-05'"),
        (Dialect.DUCKDB, "strftime(order_date, '%Y-%m') = '2026-05'"),
        (Dialect.DUCKDB, "order_date >= DATE '2026-05-01' AND order_date <= DATE '2026-05-31'"),
        (Dialect.POSTGRESQL, "to_char(order_date, 'YYYY-MM') = '2026-05'"),
        (Dialect.POSTGRESQL, "date_trunc('month', order_date) = DATE '2026-05-01'"),
        (Dialect.POSTGRESQL, "order_date >= '2026-05-01'::date AND order_date < '2026-06-01'::date"),
        (Dialect.MYSQL, "DATE_FORMAT(order_date, '%Y-%m') = '2026-05'"),
        (Dialect.CLICKHOUSE, "toYYYYMM(order_date) = 202605"),
        (Dialect.CLICKHOUSE, "toStartOfMonth(order_date) = '2026-05-01'"),
        (Dialect.ORACLE, "order_date >= DATE '2026-05-01' AND order_date < DATE '2026-06-01'"),
        (Dialect.ORACLE, "TRUNC(order_date, 'MM') = TO_DATE('2026-05-01', 'YYYY-MM-DD')"),
        (Dialect.SNOWFLAKE, "DATE_TRUNC('MONTH', order_date) = '2026-05-01'"),
        (Dialect.BIGQUERY, "FORMAT_DATE('%Y-%m', order_date) = '2026-05'"),
    ],
)
def test_a_month_is_a_month_however_it_is_written(dialect: Dialect, condition: str) -> None:
    made = read_as(f"SELECT COUNT(*) FROM orders WHERE {condition}", dialect=dialect)
    assert made.text == "Number of orders in May 2026."
    assert made.period is not None
    assert (made.period.first, made.period.last, made.period.field) == ("2026-05-01", "2026-05-31", "order date")
    chinese = read_as(f"SELECT COUNT(*) FROM orders WHERE {condition}", "zh", dialect)
    assert chinese.text == "2026年5月订单数。"


@pytest.mark.parametrize(
    ("first", "behind", "english", "chinese"),
    [
        ("2026-01-01", "2027-01-01", "in 2026", "2026年"),
        ("2024-01-01", "2026-01-01", "from 2024 to 2025", "2024年至2025年"),
        ("2026-04-01", "2026-07-01", "in the second quarter of 2026", "2026年第二季度"),
        ("2026-05-01", "2026-08-01", "from May to July 2026", "2026年5月至7月"),
        ("2025-11-01", "2026-02-01", "from November 2025 to January 2026", "2025年11月至2026年1月"),
        ("2026-05-31", "2026-07-01", "from 31 May to 30 June 2026", "2026年5月31日至6月30日"),
        ("2025-12-31", "2026-01-03", "from 31 December 2025 to 2 January 2026", "2025年12月31日至2026年1月2日"),
        ("2026-05-05", "2026-05-06", "on 5 May 2026", "2026年5月5日"),
    ],
)
def test_a_period_is_said_as_people_say_it(first: str, behind: str, english: str, chinese: str) -> None:
    sql = f"SELECT SUM(amount) FROM orders WHERE order_date >= '{first}' AND order_date < '{behind}'"
    assert read_as(sql).text == f"Total amount {english}."
    assert read_as(sql, "zh").text == f"{chinese}金额合计。"


def test_a_period_that_is_open_says_on_which_side() -> None:
    assert read_as("SELECT COUNT(*) FROM orders WHERE order_date >= '2026-05-01'").text.endswith("since 1 May 2026.")
    assert read_as("SELECT COUNT(*) FROM orders WHERE order_date < '2026-05-01'").text.endswith("until 30 April 2026.")


@pytest.mark.parametrize(
    ("sql", "english", "chinese"),
    [
        (
            "SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel ORDER BY n DESC",
            "Number of orders per channel, highest first.",
            "订单数，按渠道统计，从高到低。",
        ),
        (
            "SELECT m.city, SUM(o.amount) FROM orders o JOIN members m ON m.member_id = o.member_id"
            " GROUP BY 1 ORDER BY 2 DESC LIMIT 5",
            "Total amount per city, the 5 highest.",
            "金额合计，按城市统计，最高的5个。",
        ),
        (
            "SELECT strftime('%Y-%m', order_date), AVG(amount) FROM orders GROUP BY 1 ORDER BY 1",
            "Average amount per month, oldest first.",
            "金额平均值，按月统计，从旧到新。",
        ),
        (
            "SELECT first_name FROM members WHERE member_id NOT IN (SELECT member_id FROM orders) AND city = 'Bern'",
            "Members: first name, where city is Bern, without orders.",
            "城市为Bern的没有订单的会员：名字。",
        ),
        (
            "SELECT COUNT(DISTINCT member_id) FROM orders WHERE channel = 'app'",
            "Number of members, where channel is app.",
            "渠道为app的会员数。",
        ),
        (
            "SELECT SUM(CASE WHEN channel = 'app' THEN amount ELSE 0 END) / SUM(amount) FROM orders",
            "Total amount where channel is app divided by total amount.",
            "渠道为app的金额合计除以金额合计。",
        ),
        (
            "WITH big AS (SELECT * FROM orders WHERE amount > 100) SELECT channel, COUNT(*) FROM big GROUP BY channel",
            "Number of orders per channel, where amount is above 100.",
            "金额大于100的订单数，按渠道统计。",
        ),
        (
            "SELECT first_name FROM members WHERE is_active = 1 ORDER BY joined_on DESC LIMIT 1",
            "Members: first name, where active is yes, the newest.",
            "是否启用为是的会员：名字，最新的一个。",
        ),
        (
            "SELECT city FROM members EXCEPT SELECT city FROM members WHERE first_name = 'Ann'",
            "Members: city; without: Members: city, where first name is Ann.",
            "会员：城市；除去：名字为Ann的会员：城市。",
        ),
        (
            "SELECT first_name FROM members WHERE member_id = (SELECT member_id FROM orders ORDER BY amount DESC LIMIT 1)",
            "Members: first name, where member id is orders: member id, the one with the highest amount.",
            "会员编号为订单：会员编号，金额最高的一个的会员：名字。",
        ),
        # What is absent has its period, and what only keeps empty keys out says nothing to people.
        (
            "SELECT first_name FROM members WHERE NOT member_id IN (SELECT member_id FROM orders"
            " WHERE (order_date >= '2026-01-01' AND order_date < '2027-01-01') AND NOT member_id IS NULL)",
            "Members: first name, without orders in 2026.",
            "没有2026年订单的会员：名字。",
        ),
        # One day of a row is after or before another, and not above it.
        (
            "SELECT COUNT(*) FROM orders o JOIN members m ON m.member_id = o.member_id WHERE o.order_date > m.joined_on",
            "Number of orders, where order date is after joined on.",
            "订单日期晚于加入日期的订单数。",
        ),
        (
            "SELECT COUNT(*) FROM orders o JOIN members m ON m.member_id = o.member_id WHERE o.order_date <= m.joined_on",
            "Number of orders, where order date is not after joined on.",
            "订单日期不晚于加入日期的订单数。",
        ),
    ],
)
def test_one_line_says_what_was_read(sql: str, english: str, chinese: str) -> None:
    assert read_as(sql).text == english
    assert read_as(sql, "zh").text == chinese


def test_an_amount_in_cents_is_said_in_whole_units_and_so_is_what_it_is_compared_with() -> None:
    fares = Table(
        name="tickets",
        columns=(
            column("zone"),
            column("fare_cents", ColumnKind.INTEGER),
            column("toll_pence", ColumnKind.INTEGER),
            column("wear_cents", ColumnKind.NUMBER),
        ),
    )
    catalog = Catalog(connection="ferry", dialect=Dialect.SQLITE, tables=(fares,))

    def said(sql: str) -> str:
        made = reading(read(sql, Dialect.SQLITE), catalog, WORDS["en", "business"], with_names=False)
        assert made is not None
        return made.text

    assert said("SELECT zone, SUM(fare_cents) FROM tickets GROUP BY zone") == "Total fare per zone."
    assert said("SELECT MAX(toll_pence) FROM tickets") == "Highest toll."
    assert said("SELECT AVG(wear_cents) FROM tickets") == "Average wear (cents)."
    assert said("SELECT zone FROM tickets WHERE fare_cents > 900") == "Tickets: zone, where fare is above 9."
    assert said("SELECT zone FROM tickets WHERE fare_cents BETWEEN 50 AND 1250").endswith(
        "fare is between 0.5 and 12.5."
    )
    assert said("SELECT zone FROM tickets WHERE wear_cents > 900").endswith("wear (cents) is above 900.")
    assert said("SELECT zone FROM tickets GROUP BY zone HAVING SUM(fare_cents) > 2000000").endswith(
        "total fare is above 20,000."
    )
    assert said("SELECT fare_cents FROM tickets ORDER BY fare_cents DESC LIMIT 1").endswith("the highest fare.")


def test_a_whole_number_that_is_a_yes_or_a_no_is_said_as_one() -> None:
    table = Table(name="bills", columns=(column("is_paid", ColumnKind.INTEGER), column("is_low", ColumnKind.TEXT)))
    catalog = Catalog(connection="c", dialect=Dialect.SQLITE, tables=(table,))
    made = reading(
        read("SELECT COUNT(*) FROM bills WHERE is_paid = 0", Dialect.SQLITE),
        catalog,
        WORDS["en", "business"],
        with_names=False,
    )
    assert made is not None
    assert made.text.endswith("paid is no.")


def test_the_parts_travel_as_data_with_the_ids_that_a_refinement_names() -> None:
    made = read_as(
        "SELECT channel, SUM(amount) FROM orders WHERE channel <> 'fax' AND order_date >= '2026-01-01' AND amount = 5"
        " GROUP BY channel ORDER BY 2 DESC LIMIT 3"
    )
    assert made.measures == ("total amount",)
    assert made.entities == ("orders",)
    assert [(item.id, item.text, item.field, item.value) for item in made.filters] == [
        ("f1", "channel is not fax", "", ""),
        ("f3", "amount is 5", "amount", "5"),
    ]
    assert made.period is not None
    assert (made.period.first, made.period.last) == ("2026-01-01", None)
    assert [(group.id, group.text) for group in made.groups] == [("g1", "channel")]
    assert (made.order, made.limit) == ("the 3 highest", 3)


def test_a_limit_that_nobody_asked_for_is_not_said() -> None:
    catalog = Catalog(connection="club", dialect=Dialect.SQLITE, tables=TABLES)
    tree = read("SELECT city FROM members LIMIT 101", Dialect.SQLITE)
    made = reading(tree, catalog, WORDS["en", "business"], with_names=False, rows_max=100)
    assert made is not None
    assert (made.text, made.limit) == ("Members: city.", None)


def test_a_name_in_quotation_marks_that_names_no_column_is_a_value() -> None:
    assert read_as('SELECT COUNT(*) FROM members WHERE city = "Bern"').text == "Number of members, where city is Bern."


def test_without_a_catalog_an_analyst_still_reads_the_statement() -> None:
    tree = read("SELECT a, COUNT(*) FROM t WHERE b = 1 GROUP BY a", Dialect.SQLITE)
    made = reading(tree, None, WORDS["en", "analyst"], with_names=True)
    assert made is not None
    assert made.text == "Number of rows per a, where b is 1."


PAID = "100.0 * SUM(CASE WHEN channel = 'app' THEN 1 ELSE 0 END) / COUNT(*)"


@pytest.mark.parametrize(
    ("sql", "english", "chinese"),
    [
        (f"SELECT {PAID} FROM orders", "Percentage of orders where channel is app.", "渠道为app的订单占比。"),
        (
            "SELECT ROUND(COUNT(CASE WHEN channel = 'app' THEN 1 END) * 100.0 / COUNT(*), 2) FROM orders",
            "Percentage of orders where channel is app.",
            "渠道为app的订单占比。",
        ),
        (
            "SELECT channel, CAST(100 * COUNT(*) AS REAL) / SUM(COUNT(*)) OVER () FROM orders GROUP BY channel",
            "Percentage of orders per channel.",
            "订单占比，按渠道统计。",
        ),
    ],
)
def test_percentages_are_read_as_such(sql: str, english: str, chinese: str) -> None:
    assert read_as(sql).text == english
    assert read_as(sql, "zh").text == chinese


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 100.0 * SUM(CASE WHEN channel = 'app' THEN amount ELSE 0 END) / COUNT(*) FROM orders",
        "SELECT 100.0 * SUM(CASE WHEN channel = 'app' THEN 1 ELSE 2 END) / COUNT(*) FROM orders",
        "SELECT 10 * SUM(CASE WHEN channel = 'app' THEN 1 ELSE 0 END) / COUNT(*) FROM orders",
        "SELECT channel, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY channel) FROM orders GROUP BY channel",
        "SELECT 100.0 * SUM(CASE WHEN channel = 'app' THEN 1 ELSE 0 END) / COUNT(DISTINCT member_id) FROM orders",
    ],
)
def test_what_is_no_percentage_of_rows_is_not_called_one(sql: str) -> None:
    catalog = Catalog(connection="club", dialect=Dialect.SQLITE, tables=TABLES)
    made = reading(read(sql, Dialect.SQLITE), catalog, WORDS["en", "business"], with_names=False)
    assert made is None or "ercentage" not in made.text


@pytest.mark.parametrize(
    ("dialect", "days"),
    [
        (Dialect.SQLITE, "julianday(o.order_date) - julianday(m.joined_on)"),
        (Dialect.SQLITE, "CAST(julianday(date(o.order_date)) - julianday(date(m.joined_on)) AS INTEGER)"),
        (Dialect.DUCKDB, "date_diff('day', m.joined_on, o.order_date)"),
        (Dialect.POSTGRESQL, "o.order_date::date - m.joined_on::date"),
        (Dialect.MYSQL, "DATEDIFF(o.order_date, m.joined_on)"),
        (Dialect.CLICKHOUSE, "dateDiff('day', m.joined_on, o.order_date)"),
        (Dialect.ORACLE, "TRUNC(o.order_date) - TRUNC(m.joined_on)"),
        (Dialect.SNOWFLAKE, "DATEDIFF(DAY, m.joined_on, o.order_date)"),
        (Dialect.BIGQUERY, "DATE_DIFF(o.order_date, m.joined_on, DAY)"),
    ],
)
def test_days_between_two_dates_are_said_as_such(dialect: Dialect, days: str) -> None:
    sql = f"SELECT AVG({days}) FROM orders o JOIN members m ON o.member_id = m.member_id"
    assert read_as(sql, dialect=dialect).text == "Average days from joined on to order date."
    assert read_as(sql, "zh", dialect).text == "从加入日期到订单日期的天数平均值。"


@pytest.mark.parametrize(
    ("dialect", "figure", "unit", "called"),
    [
        (Dialect.SQLITE, "(julianday(o.order_date) - julianday(m.joined_on)) * 1440", "minutes", "分钟数"),
        (Dialect.DUCKDB, "date_diff('second', m.joined_on, o.order_date) / 3600.0", "hours", "小时数"),
        (Dialect.POSTGRESQL, "EXTRACT(EPOCH FROM o.order_date - m.joined_on) / 60.0", "minutes", "分钟数"),
        (Dialect.MYSQL, "TIMESTAMPDIFF(SECOND, m.joined_on, o.order_date) / 3600", "hours", "小时数"),
        (Dialect.CLICKHOUSE, "dateDiff('second', m.joined_on, o.order_date) / 60", "minutes", "分钟数"),
        (Dialect.ORACLE, "(CAST(o.order_date AS DATE) - CAST(m.joined_on AS DATE)) * 24", "hours", "小时数"),
        (Dialect.SNOWFLAKE, "DATEDIFF(SECOND, m.joined_on, o.order_date) / 60.0", "minutes", "分钟数"),
        (Dialect.BIGQUERY, "TIMESTAMP_DIFF(o.order_date, m.joined_on, SECOND) / 3600.0", "hours", "小时数"),
    ],
)
def test_hours_and_minutes_between_two_moments_are_said_as_such(
    dialect: Dialect, figure: str, unit: str, called: str
) -> None:
    sql = f"SELECT AVG({figure}) FROM orders o JOIN members m ON o.member_id = m.member_id"
    assert read_as(sql, dialect=dialect).text == f"Average {unit} from joined on to order date."
    assert read_as(sql, "zh", dialect).text == f"从加入日期到订单日期的{called}平均值。"


def test_where_a_row_refers_to_a_place_by_two_keys_it_is_said_by_which() -> None:
    def key(name: str) -> ForeignKey:
        return ForeignKey(columns=(name,), referred_table="stations", referred_columns=("station_id",))

    stations = Table(
        name="stations", columns=(column("station_id"), column("station_name")), primary_key=("station_id",)
    )
    trips = Table(
        name="trips",
        columns=(column("trip_id"), column("start_station_id"), column("end_station_id")),
        primary_key=("trip_id",),
        foreign_keys=(key("start_station_id"), key("end_station_id")),
    )
    catalog = Catalog(connection="bikes", dialect=Dialect.SQLITE, tables=(stations, trips))
    sql = (
        "SELECT COUNT(*) FROM trips AS t1 JOIN stations AS t2 ON t1.start_station_id = t2.station_id"
        " JOIN stations AS t3 ON t1.end_station_id = t3.station_id"
        " WHERE t2.station_name = 'Central' AND t3.station_name = 'Museum'"
    )
    made = reading(read(sql, Dialect.SQLITE), catalog, WORDS["en", "business"], with_names=False)
    assert made is not None
    assert made.text == (
        "Number of trips, where station name (start station) is Central and station name (end station) is Museum."
    )


def test_rows_that_refer_to_rows_of_their_own_table_are_said_by_the_key() -> None:
    staff = Table(
        name="employees",
        columns=(
            column("employee_id", ColumnKind.INTEGER),
            column("last_name"),
            column("salary", ColumnKind.NUMBER),
            column("manager_id", ColumnKind.INTEGER),
        ),
        primary_key=("employee_id",),
        foreign_keys=(
            ForeignKey(columns=("manager_id",), referred_table="employees", referred_columns=("employee_id",)),
        ),
    )
    catalog = Catalog(connection="shop", dialect=Dialect.SQLITE, tables=(staff,))
    sql = (
        "SELECT t1.last_name, t2.last_name FROM employees AS t1 JOIN employees AS t2 ON t1.manager_id = t2.employee_id"
        " WHERE t1.salary > t2.salary"
    )
    made = reading(read(sql, Dialect.SQLITE), catalog, WORDS["en", "business"], with_names=False)
    assert made is not None
    assert made.text == "Employees: last name and last name (manager), where salary is above salary (manager)."


def test_brackets_around_conditions_that_all_hold_do_not_hide_a_period() -> None:
    made = read_as(
        "SELECT COUNT(*) FROM orders WHERE channel = 'app' AND (order_date >= '2026-05-01' AND order_date < '2026-06-01')"
    )
    assert made.text == "Number of orders in May 2026, where channel is app."


def test_a_time_of_a_day_is_said_as_one_and_the_end_of_a_day_is_the_day() -> None:
    moment = read_as("SELECT COUNT(*) FROM orders WHERE order_date < '2026-03-05 14:30:00'")
    assert moment.text == "Number of orders, where order date is before 5 March 2026 14:30."
    assert moment.period is None
    day = read_as("SELECT COUNT(*) FROM orders WHERE order_date <= '2026-03-05 23:59:59'")
    assert day.text == "Number of orders until 5 March 2026."


def test_several_periods_are_said_as_periods_in_the_order_of_time() -> None:
    year = "(order_date >= '{0}-01-01' AND order_date < '{1}-01-01')"
    sql = f"SELECT COUNT(*) FROM orders WHERE {year.format(2026, 2027)} OR {year.format(2024, 2025)}"
    assert read_as(sql).text == "Number of orders, where order date is in 2024 or in 2026."
    assert read_as(sql, "zh").filters[0].text == "订单日期为2024年或2026年"


def test_a_condition_that_the_last_question_set_is_marked_and_the_others_are_not() -> None:
    made = with_carried(
        read_as(
            "SELECT COUNT(*) FROM orders WHERE channel = 'app' AND amount > 5 AND order_date >= '2026-05-01' AND order_date < '2026-06-01'"
        ),
        ("period", "f2"),
    )
    assert [(item.id, item.carried) for item in made.filters] == [("f1", False), ("f2", True)]
    assert made.period is not None
    assert made.period.carried
