"""Forms that grammars begin with, over a college, a shop and a gym: comparisons, other rows, lists, roles, deeds, seconds."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import date

import pytest

from querybus.core.catalog import Catalog
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import rows_of

TODAY = date(2026, 11, 26)

COLLEGE_ROWS = """
CREATE TABLE department (dept_id INTEGER PRIMARY KEY, name TEXT, building TEXT, budget REAL, founded_year INTEGER);
CREATE TABLE instructor (instructor_id INTEGER PRIMARY KEY, name TEXT, title TEXT, salary REAL, hire_date DATE,
    dept_id INTEGER REFERENCES department (dept_id));
CREATE TABLE student (student_id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, age INTEGER, gpa REAL, city TEXT,
    dept_id INTEGER REFERENCES department (dept_id), advisor_id INTEGER REFERENCES instructor (instructor_id));
CREATE TABLE course (course_id INTEGER PRIMARY KEY, title TEXT, credits INTEGER, dept_id INTEGER REFERENCES department (dept_id));
CREATE TABLE section (section_id INTEGER PRIMARY KEY, course_id INTEGER REFERENCES course (course_id),
    instructor_id INTEGER REFERENCES instructor (instructor_id), semester TEXT, year INTEGER);
CREATE TABLE enrollment (student_id INTEGER REFERENCES student (student_id), section_id INTEGER REFERENCES section (section_id), grade TEXT);
INSERT INTO department VALUES (1, 'Biology', 'North', 900, 1901), (2, 'Physics', 'Tower', 1200, 1950), (3, 'History', 'North', NULL, 1975);
INSERT INTO instructor VALUES (1, 'Anna Weiss', 'Professor', 70, '2010-01-05', 1), (2, 'Ben Okafor', 'Lecturer', 50, '2014-03-01', 2),
    (3, 'Carla Diaz', 'Professor', 90, '2016-09-01', 2), (4, 'David Kim', 'Lecturer', 40, '2020-02-02', 3);
INSERT INTO student VALUES (1, 'Mia', 'Chen', 21, 3.5, 'Boston', 1, 1), (2, 'Noah', 'Smith', 25, 2.5, 'Denver', 2, 1),
    (3, 'Emma', 'Khan', 19, NULL, 'Boston', 2, 3), (4, 'Omar', 'Novak', 30, 3.9, 'Seattle', 3, NULL);
INSERT INTO course VALUES (1, 'Genetics', 4, 1), (2, 'Optics', 3, 2), (3, 'Rome', 3, 3);
INSERT INTO section VALUES (1, 1, 1, 'Fall', 2024), (2, 2, 3, 'Spring', 2024), (3, 1, 2, 'Spring', 2025);
INSERT INTO enrollment VALUES (1, 1, 'A'), (2, 1, 'B'), (3, 2, 'A'), (1, 2, 'B'), (2, 3, 'C');
"""
SHOP_ROWS = """
CREATE TABLE stores (store_id INTEGER PRIMARY KEY, store_name TEXT, city TEXT);
CREATE TABLE employees (employee_id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, job_title TEXT, salary REAL,
    manager_id INTEGER REFERENCES employees (employee_id), store_id INTEGER REFERENCES stores (store_id));
CREATE TABLE suppliers (supplier_id INTEGER PRIMARY KEY, supplier_name TEXT, country TEXT, phone TEXT);
CREATE TABLE products (product_id INTEGER PRIMARY KEY, product_name TEXT, supplier_id INTEGER REFERENCES suppliers (supplier_id), price REAL);
CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, customer_name TEXT, email TEXT, country TEXT);
CREATE TABLE orders (order_id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (customer_id), store_id INTEGER REFERENCES stores (store_id),
    order_date DATE, payment_method TEXT);
CREATE TABLE order_items (item_id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders (order_id), product_id INTEGER REFERENCES products (product_id), quantity INTEGER);
CREATE TABLE reviews (review_id INTEGER PRIMARY KEY, product_id INTEGER REFERENCES products (product_id), customer_id INTEGER REFERENCES customers (customer_id), rating INTEGER);
INSERT INTO stores VALUES (1, 'Downtown', 'Berlin'), (2, 'Airport', 'Munich');
INSERT INTO employees VALUES (1, 'Ana', 'Vogel', 'Manager', 60, NULL, 1), (2, 'Tom', 'Berg', 'Clerk', 70, 1, 1), (3, 'Lea', 'Stern', 'Clerk', 40, 1, 2);
INSERT INTO suppliers VALUES (1, 'Acme', 'Germany', '030-1'), (2, 'Globex', 'USA', '030-2');
INSERT INTO products VALUES (1, 'Laptop', 1, 900), (2, 'Puzzle', 2, 20), (3, 'Camera', 1, 1000);
INSERT INTO customers VALUES (1, 'Alice Jung', 'a@x', 'Germany'), (2, 'Bob Kern', NULL, 'France');
INSERT INTO orders VALUES (1, 1, 1, '2025-03-01', 'cash'), (2, 1, 2, '2026-05-02', 'card'), (3, 2, 1, '2025-07-09', 'cash');
INSERT INTO order_items VALUES (1, 1, 1, 1), (2, 2, 2, 3), (3, 3, 2, 1);
INSERT INTO reviews VALUES (1, 1, 2, 5), (2, 2, 1, 3);
"""
GYM_ROWS = """
CREATE TABLE plans (plan_id INTEGER PRIMARY KEY, plan_name TEXT, access_hours TEXT);
CREATE TABLE members (member_id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, joined_on DATE, left_on DATE, plan_id INTEGER REFERENCES plans (plan_id));
CREATE TABLE trainers (trainer_id INTEGER PRIMARY KEY, full_name TEXT);
CREATE TABLE classes (class_id INTEGER PRIMARY KEY, class_name TEXT, trainer_id INTEGER REFERENCES trainers (trainer_id));
CREATE TABLE sessions (session_id INTEGER PRIMARY KEY, class_id INTEGER REFERENCES classes (class_id), held_at DATETIME, cancelled INTEGER);
CREATE TABLE bookings (booking_id INTEGER PRIMARY KEY, session_id INTEGER REFERENCES sessions (session_id), member_id INTEGER REFERENCES members (member_id));
INSERT INTO plans VALUES (1, 'Basic', 'off-peak'), (2, 'Plus', 'all day');
INSERT INTO members VALUES (1, 'Nora', 'Fink', '2024-03-01', NULL, 1), (2, 'Ravi', 'Moss', '2026-02-01', '2026-09-01', 2), (3, 'Ella', 'Wang', '2026-07-15', NULL, 2);
INSERT INTO trainers VALUES (1, 'Kira Holm'), (2, 'Dan Mertens');
INSERT INTO classes VALUES (1, 'Box Fit', 1), (2, 'Power Pump', 2);
INSERT INTO sessions VALUES (1, 1, '2026-10-01 18:00:00', 0), (2, 1, '2026-10-08 18:00:00', 1), (3, 2, '2026-10-02 09:00:00', 0);
INSERT INTO bookings VALUES (1, 1, 1), (2, 1, 3), (3, 3, 1);
"""
SCRIPTS = {"college": COLLEGE_ROWS, "shop": SHOP_ROWS, "gym": GYM_ROWS}


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Catalog]:
    """Both databases as the executor describes them."""
    folder = tmp_path_factory.mktemp("plain_forms")
    for name, script in SCRIPTS.items():
        with closing(sqlite3.connect(folder / f"{name}.sqlite")) as database:
            database.executescript(script)
    return {name: open_sqlite_catalog(folder / f"{name}.sqlite") for name in SCRIPTS}


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Which instructors have a higher salary than 60?", [("Anna Weiss",), ("Carla Diaz",)]),
        ("Which instructors have a lower salary than the average?", [("Ben Okafor",), ("David Kim",)]),
        ("Which instructors earn more than Anna Weiss?", [("Carla Diaz",)]),
        ("Which students are older than every student from Boston?", [("Noah", "Smith"), ("Omar", "Novak")]),
        ("Instructors earning less than 45", [("David Kim",)]),
        ("Students who are at least 25 years of age", [("Noah", "Smith"), ("Omar", "Novak")]),
        ("Students older than 20 but younger than 26", [("Mia", "Chen"), ("Noah", "Smith")]),
        ("What is the name of the oldest student?", [("Omar", "Novak")]),
        ("What is the age of the youngest student from Boston?", [(19,)]),
        ("What are the cities and how many students come from each?", [("Boston", 2), ("Denver", 1), ("Seattle", 1)]),
        ("What is the second highest salary?", [(70.0,)]),
        ("Which instructor has the third highest salary?", [("Ben Okafor",)]),
        ("Who is the advisor of Mia Chen?", [("Anna Weiss",)]),
        ("Which students have no advisor?", [("Omar", "Novak")]),
        ("Which students are advised by Anna Weiss?", [("Mia", "Chen"), ("Noah", "Smith")]),
        ("Which instructor advises the most students?", [("Anna Weiss",)]),
        ("Which students have an advisor from the Physics department?", [("Emma", "Khan")]),
        ("What courses are taught by Anna Weiss?", [("Genetics",)]),
        ("Which students take Optics?", [("Emma", "Khan"), ("Mia", "Chen")]),
        ("Which instructors taught in 2025?", [("Ben Okafor",)]),
        ("Which instructors did not teach in 2024?", [("Ben Okafor",), ("David Kim",)]),
        ("Which courses were not offered in 2024?", [("Rome",)]),
        ("Which instructors were hired in 2014?", [("Ben Okafor",)]),
        ("How many sections were offered in each semester of 2024?", [("Fall", 1), ("Spring", 1)]),
        ("How many students got an A?", [(2,)]),
        ("What is the average salary of professors?", [(80.0,)]),
        (
            "Show the name and department of each instructor",
            [("Anna Weiss", "Biology"), ("Ben Okafor", "Physics"), ("Carla Diaz", "Physics"), ("David Kim", "History")],
        ),
        ("Which students live in the same city as Mia Chen?", [("Emma", "Khan"), ("Mia", "Chen")]),
        ("Instructors in the same department as Ben Okafor", [("Ben Okafor",), ("Carla Diaz",)]),
        (
            "List instructors by salary, from highest to lowest",
            [("Carla Diaz",), ("Anna Weiss",), ("Ben Okafor",), ("David Kim",)],
        ),
        ("Which students have a GPA?", [("Mia", "Chen"), ("Noah", "Smith"), ("Omar", "Novak")]),
        ("Students who live outside Boston", [("Noah", "Smith"), ("Omar", "Novak")]),
        ("What is the combined budget of Biology and Physics?", [(2100.0,)]),
        ("When was the Biology department founded?", [(1901,)]),
        ("How much does Carla Diaz earn?", [(90.0,)]),
        ("Students whose first name is Mia", [("Mia", "Chen")]),
        ("How many students are named Smith?", [(1,)]),
        ("Where is the Physics department?", [("Tower",)]),
        ("Which departments were founded in 1901 or 1950?", [("Biology",), ("Physics",)]),
        ("Which departments are older than Physics?", [("Biology",)]),
        ("Which students in the Physics department are older than 20?", [("Noah", "Smith")]),
        ("List all courses sorted by credits, then by title", [("Optics",), ("Rome",), ("Genetics",)]),
    ],
)
def test_a_college_is_asked_in_plain_forms(
    catalogs: Mapping[str, Catalog], question: str, rows: list[tuple[object, ...]]
) -> None:
    assert _answered(question, "college", catalogs) == rows


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Which products are more expensive than the Laptop?", [("Camera",)]),
        ("Which customers bought a Laptop?", [("Alice Jung",)]),
        ("Which products are supplied by Acme?", [("Camera",), ("Laptop",)]),
        ("How many orders did Alice Jung place?", [(2,)]),
        ("Which employees earn more than their manager?", [("Tom", "Berg")]),
        ("Who is the manager of Lea Stern?", [("Ana", "Vogel")]),
        ("Which employees are managers?", [("Ana", "Vogel")]),
        ("Which supplier has the cheapest product?", [("Globex",)]),
        ("Which job title has the highest salary on average?", [("Manager",)]),
        ("What is the earliest and the latest order date?", [("2025-03-01", "2026-05-02")]),
        ("Which payment method is used most in the Downtown store?", [("cash",)]),
        ("Which customers have an email address?", [("Alice Jung",)]),
        ("What is the phone number of Globex?", [("030-2",)]),
    ],
)
def test_a_shop_is_asked_in_plain_forms(
    catalogs: Mapping[str, Catalog], question: str, rows: list[tuple[object, ...]]
) -> None:
    assert _answered(question, "shop", catalogs) == rows


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Which plans give access all day?", [("Plus",)]),
        ("How many different members took part in Box Fit?", [(2,)]),
    ],
)
def test_a_gym_is_asked_in_plain_forms(
    catalogs: Mapping[str, Catalog], question: str, rows: list[tuple[object, ...]]
) -> None:
    assert _answered(question, "gym", catalogs) == rows


@pytest.mark.parametrize(
    ("question", "database"),
    [
        ("Which instructors earn more than any instructor in the Physics department?", "college"),
        ("Which suppliers were audited in 2024?", "shop"),
    ],
)
def test_what_may_mean_two_things_or_says_a_deed_of_nobody_is_asked_back(
    catalogs: Mapping[str, Catalog], question: str, database: str
) -> None:
    assert isinstance(translate(question, catalogs[database], today=TODAY), NotRead)


def _answered(question: str, database: str, catalogs: Mapping[str, Catalog]) -> list[tuple[object, ...]]:
    found = translate(question, catalogs[database], today=TODAY)
    assert isinstance(found, Translated), found
    rows = rows_of(SCRIPTS[database], found.sql)
    return rows if "ORDER BY" in found.sql else sorted(rows)
