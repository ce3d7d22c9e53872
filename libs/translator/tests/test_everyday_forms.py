"""Forms that people use every day: money before its figure, year to date, decades, so often, periods against each other.

And names that schemas give: keys that are called like the rows, columns that name them, codes of methods.
"""

from __future__ import annotations

from datetime import date

import pytest

from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 11, 26)

ROWS = """
CREATE TABLE lodge (lodge_id INTEGER PRIMARY KEY, lodge_name TEXT, city TEXT);
CREATE TABLE staff (staff_id INTEGER PRIMARY KEY, staff_name TEXT, lodge_id INTEGER REFERENCES lodge (lodge_id), position TEXT, born_on DATE);
CREATE TABLE visitor (visitor_id INTEGER PRIMARY KEY, visitor_name TEXT, born_on DATE);
CREATE TABLE visit (visit_id INTEGER PRIMARY KEY, visitor_id INTEGER REFERENCES visitor (visitor_id), lodge INTEGER REFERENCES lodge (lodge_id),
    begun_at DATETIME, price REAL, payment_method_code TEXT, rating INTEGER);
INSERT INTO lodge VALUES (1, 'Alder', 'Bern'), (2, 'Birch', 'Chur'), (3, 'Cedar', 'Bern');
INSERT INTO staff VALUES (1, 'Ina', 1, 'cook', '1991-05-01'), (2, 'Jon', 1, 'cook', '1984-01-01'), (3, 'Kim', 2, 'guide', '1999-12-31');
INSERT INTO visitor VALUES (1, 'Lea', '1990-01-01'), (2, 'Max', '1979-06-01'), (3, 'Noa', '2001-02-03');
INSERT INTO visit VALUES (1, 1, 1, '2026-01-05 10:00:00', 80, 'card', 5), (2, 1, 2, '2026-11-03 09:30:00', 120, 'cash', 3),
    (3, 2, 1, '2026-11-03 18:45:00', 200, 'card', 4), (4, 2, 3, '2025-12-24 12:00:00', 520, 'card', 2), (5, 3, 1, '2026-12-01 08:00:00', 95, 'card', 5);
"""
LODGES = catalog_of(
    ROWS,
    {
        "city": ("Bern", "Chur"),
        "lodge_name": ("Alder", "Birch", "Cedar"),
        "position": ("cook", "guide"),
        "payment_method_code": ("card", "cash"),
    },
)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many visits cost over $100?", [(3,)]),
        ("How many visits have a price between $90 and $130?", [(2,)]),
        ("How many visits have a price under €90?", [(1,)]),
        ("Number of visits year to date", [(3,)]),
        ("Number of visits YTD", [(3,)]),
        ("Number of visits month to date", [(2,)]),
        ("年初至今的访问数", [(3,)]),
        ("How many visits began before 2026-11-03 12:00:00?", [(3,)]),
        ("How many visits began after 2026-11-03 12:00:00?", [(2,)]),
        ("How many visits began after 2026-11-03 18:45?", [(1,)]),
        ("How many visitors were born in the 1990s?", [(1,)]),
        ("visits in 2026 vs visits in 2025", [("2025", 1), ("2026", 4)]),
        ("number of visits this year compared to last year", [("2025", 1), ("2026", 4)]),
        ("How many visitors visited twice?", [(2,)]),
        ("How many staff members are there per position?", [("cook", 2), ("guide", 1)]),
        ("average rating per lodge, best first", [("Alder", pytest.approx(14 / 3)), ("Birch", 3.0), ("Cedar", 2.0)]),
        ("What are the top 2 most common cities of lodges?", [("Bern",), ("Chur",)]),
        ("List the names of visitors from the oldest to the youngest", [("Max",), ("Lea",), ("Noa",)]),
        ("Which payment method is the most common?", [("card",)]),
        ("How many visits did each lodge have?", [("Alder", 3), ("Birch", 1), ("Cedar", 1)]),
        ("What is the total number of distinct visitors?", [(3,)]),
        ("How many visits began before the year of 2026?", [(1,)]),
        ("Names of lodges in Bern but not Alder", [("Cedar",)]),
    ],
)
def test_it_is_answered(question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, LODGES, today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(ROWS, found.sql) == rows


def test_a_key_that_is_called_like_its_rows_means_the_rows() -> None:
    found = translate("Which lodge has the most visits?", LODGES, today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(ROWS, found.sql) == [("Alder",)]


def test_a_condition_on_the_key_of_others_needs_no_table_of_theirs() -> None:
    found = translate("How many visits did visitor 2 make?", LODGES, today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(ROWS, found.sql) == [(2,)]
    assert "JOIN" not in found.sql


MATCHES = """
CREATE TABLE game (game_id INTEGER PRIMARY KEY, player TEXT, position TEXT, club_id INTEGER REFERENCES club (club_id), begun DATE);
CREATE TABLE club (club_id INTEGER PRIMARY KEY, club_name TEXT);
CREATE TABLE train_halt (train_id INTEGER, halt_id INTEGER);
INSERT INTO game VALUES (1, 'Ann', 'wing', 1, '2025-01-01'), (2, 'Bob', 'wing', 1, '2025-02-01'), (3, 'Cid', 'goal', 2, '2024-03-01');
INSERT INTO club VALUES (1, 'Reds'), (2, 'Blues');
"""
GAMES = catalog_of(MATCHES, {"position": ("wing", "goal"), "club_name": ("Reds", "Blues")})


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What is the most common position of players in games?", [("wing",)]),
        ("What is the position that is most common among players?", [("wing",)]),
        ("Which positions do players of the club Blues have?", [("goal",)]),
    ],
)
def test_whoever_a_column_names_are_the_rows_and_are_not_shown(question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, GAMES, today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(MATCHES, found.sql) == rows


TRIALS = """
CREATE TABLE scheme (scheme_id INTEGER PRIMARY KEY, scheme_name TEXT, monthly_fee REAL);
CREATE TABLE subscription (subscription_id INTEGER PRIMARY KEY, scheme_id INTEGER REFERENCES scheme (scheme_id), status TEXT, opened_at DATE, closed_at DATE);
CREATE TABLE worker (worker_id INTEGER PRIMARY KEY, worker_name TEXT);
CREATE TABLE project (project_id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE assigned_to (worker INTEGER REFERENCES worker (worker_id), project INTEGER REFERENCES project (project_id));
"""
SCHEMES = catalog_of(TRIALS, {"status": ("closed", "open")}, nullable=frozenset({"closed_at"}))


@pytest.mark.parametrize(
    "question",
    [
        "What is the number of works for all workers?",
        "Which worker made the shortest project?",
    ],
)
def test_what_nothing_was_read_of_is_asked_back(question: str) -> None:
    assert isinstance(translate(question, SCHEMES, today=TODAY), NotRead)


INNS = """
CREATE TABLE suite (suite_id INTEGER PRIMARY KEY, suitename TEXT, bed_type TEXT, beds INTEGER, baseprice REAL);
INSERT INTO suite VALUES (1, 'Lark', 'king', 1, 90), (2, 'Wren', 'queen', 2, 70), (3, 'Finch', 'king', 2, 120);
"""
SUITES = catalog_of(INNS, {"bed_type": ("king", "queen"), "suitename": ("Lark", "Wren", "Finch")})


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many suites have a king bed?", [(2,)]),
        ("List the suite names with king or queen bed", [("Lark",), ("Wren",), ("Finch",)]),
        ("What is the base price of Wren?", [(70.0,)]),
        (
            "Sort all the suites according to the base price. Just report the suite names.",
            [("Wren",), ("Lark",), ("Finch",)],
        ),
    ],
)
def test_a_kind_is_said_with_its_noun_and_glued_names_are_two_words(
    question: str, rows: list[tuple[object, ...]]
) -> None:
    found = translate(question, SUITES, today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(INNS, found.sql) == rows


CLINIC = """
CREATE TABLE keeper (keeper_id INTEGER PRIMARY KEY, full_name TEXT);
CREATE TABLE animal (animal_id INTEGER PRIMARY KEY, keeper_id INTEGER REFERENCES keeper (keeper_id), animal_name TEXT, species TEXT, sex TEXT, born_on DATE, is_neutered BOOLEAN);
CREATE TABLE examination (examination_id INTEGER PRIMARY KEY, animal_id INTEGER REFERENCES animal (animal_id), begins_at DATETIME);
CREATE TABLE drug (drug_id INTEGER PRIMARY KEY, drug_name TEXT, stock INTEGER);
CREATE TABLE prescription (prescription_id INTEGER PRIMARY KEY, examination_id INTEGER REFERENCES examination (examination_id), drug_id INTEGER REFERENCES drug (drug_id));
CREATE TABLE bill (bill_id INTEGER PRIMARY KEY, examination_id INTEGER REFERENCES examination (examination_id), paid_on DATE, amount REAL, payment_method TEXT);
INSERT INTO keeper VALUES (1, 'Ann Abel'), (2, 'Ben Bohr');
INSERT INTO animal VALUES (1, 1, 'Rex', 'dog', 'male', '2015-01-01', 1), (2, 1, 'Luna', 'cat', 'female', '2020-01-01', 1), (3, 2, 'Milo', 'dog', 'male', '2022-01-01', 0);
INSERT INTO examination VALUES (1, 1, '2026-01-02 09:00:00'), (2, 1, '2026-05-02 10:00:00'), (3, 3, '2026-06-02 11:00:00');
INSERT INTO drug VALUES (1, 'Metacam', 0), (2, 'Amoxil', 12), (3, 'Prozyme', 3);
INSERT INTO prescription VALUES (1, 1, 1), (2, 2, 1), (3, 3, 2);
INSERT INTO bill VALUES (1, 1, '2026-01-09', 90, 'card'), (2, 2, NULL, 60, 'card'), (3, 3, '2026-06-09', 30, 'cash');
"""
ANIMALS = catalog_of(
    CLINIC,
    {
        "species": ("dog", "cat"),
        "sex": ("male", "female"),
        "drug_name": ("Metacam", "Amoxil", "Prozyme"),
        "payment_method": ("card", "cash"),
    },
    nullable=frozenset({"paid_on"}),
)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("When was the last examination of animal 1?", [("2026-05-02 10:00:00",)]),
        ("Which keepers have unpaid bills?", [("Ann Abel",)]),
        ("Which drugs are out of stock?", [("Metacam",)]),
        ("Which drugs have run out?", [("Metacam",)]),
        ("How many times was Metacam prescribed?", [(2,)]),
        ("Which drugs have never been prescribed?", [("Prozyme",)]),
        ("Most prescribed drug", [("Metacam",)]),
        ("Neutered dogs", [("Rex",)]),
        ("Male vs female animals", [("female", 1), ("male", 2)]),
    ],
)
def test_what_was_done_is_counted_and_denied_of_the_rows_that_bear_it(
    question: str, rows: list[tuple[object, ...]]
) -> None:
    found = translate(question, ANIMALS, today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(CLINIC, found.sql) == rows


POWER = """
CREATE TABLE meter (meter_id INTEGER PRIMARY KEY, serial_number TEXT, district TEXT);
CREATE TABLE meter_reading (reading_id INTEGER PRIMARY KEY, meter_id INTEGER REFERENCES meter (meter_id), read_on DATE, consumption_kwh REAL);
CREATE TABLE invoice (invoice_id INTEGER PRIMARY KEY, invoice_date DATE, paid_date DATE, total REAL, reminders INTEGER);
CREATE TABLE outage (outage_id INTEGER PRIMARY KEY, cause TEXT, households_affected INTEGER, begun_on DATE);
INSERT INTO meter VALUES (1, 'A1', 'North'), (2, 'B2', 'South');
INSERT INTO meter_reading VALUES (1, 1, '2026-01-05', 100), (2, 1, '2026-01-20', 80), (3, 2, '2026-02-03', 150);
INSERT INTO invoice VALUES (1, '2026-01-31', '2026-02-03', 1200, 0), (2, '2026-02-28', NULL, 1500, 2), (3, '2025-02-28', NULL, 50, 1);
INSERT INTO outage VALUES (1, 'storm', 40, '2026-01-01'), (2, 'storm', 60, '2026-02-01'), (3, 'overload', 5, '2026-02-02');
"""
METERS = catalog_of(
    POWER, {"district": ("North", "South"), "cause": ("storm", "overload")}, nullable=frozenset({"paid_date"})
)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Total consumption in January 2026", [(180.0,)]),
        ("Consumption per district", [("North", 180.0), ("South", 150.0)]),
        ("Which month had the highest consumption?", [("2026-01",)]),
        ("How many invoices over $1,000 are there?", [(2,)]),
        ("Revenue in 2026", [(2700.0,)]),
        ("How many households were affected by storms?", [(100,)]),
    ],
)
def test_masses_add_up_and_a_total_is_an_amount(question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, METERS, today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(POWER, found.sql) == rows
