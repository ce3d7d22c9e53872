"""Questions over an office that nobody described: who did it, what was not done, people and women, flags said as deeds, and what is no figure."""

from __future__ import annotations

from datetime import date

import pytest

from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 6, 30)
ROWS = """
CREATE TABLE departments (dept_id INTEGER, dept_name TEXT, location TEXT);
CREATE TABLE employees (emp_id INTEGER, full_name TEXT, gender TEXT, birth_date DATE, hire_date DATE, leave_date DATE, dept_id INTEGER, job_title TEXT, salary REAL);
CREATE TABLE absences (absence_id INTEGER, emp_id INTEGER, start_date DATE, days INTEGER, absence_type TEXT);
CREATE TABLE assignments (assignment_id INTEGER, emp_id INTEGER, hours_booked REAL);
CREATE TABLE trainings (training_id INTEGER, topic TEXT, price REAL, provider TEXT);
CREATE TABLE attendances (attendance_id INTEGER, training_id INTEGER, emp_id INTEGER, passed BOOLEAN);
CREATE TABLE expenses (expense_id INTEGER, emp_id INTEGER, spent_on DATE, category TEXT, amount REAL, reimbursed_on DATE);
INSERT INTO departments VALUES (1, 'Sales', 'Berlin'), (2, 'Support', 'Munich');
INSERT INTO employees VALUES (1, 'Lena Vogel', 'F', '1960-01-01', '2015-01-01', NULL, 1, 'analyst', 70000),
  (2, 'Paul Kruse', 'M', '1990-01-01', '2025-03-01', '2025-11-01', 2, 'designer', 50000), (3, 'Nina Pohl', 'F', '1985-01-01', '2025-05-01', NULL, 2, 'designer', 60000);
INSERT INTO absences VALUES (1, 1, '2026-02-01', 3, 'parental leave'), (2, 1, '2026-03-01', 2, 'parental leave'), (3, 2, '2025-02-01', 1, 'sick leave');
INSERT INTO assignments VALUES (1, 1, 30), (2, 2, 80);
INSERT INTO trainings VALUES (1, 'Excel', 150, 'North'), (2, 'SQL', 300, 'North');
INSERT INTO attendances VALUES (1, 1, 1, 1), (2, 1, 2, 0), (3, 2, 3, 1);
INSERT INTO expenses VALUES (1, 1, '2026-01-01', 'travel', 10, '2026-02-01'), (2, 2, '2026-01-05', 'meals', 20, NULL);
"""
HELD = {
    "location": ("Berlin", "Munich"),
    "dept_name": ("Sales", "Support"),
    "gender": ("F", "M"),
    "job_title": ("analyst", "designer"),
    "absence_type": ("parental leave", "sick leave"),
    "topic": ("Excel", "SQL"),
    "category": ("travel", "meals"),
}
OFFICE = catalog_of(ROWS, HELD, nullable=frozenset({"leave_date", "reimbursed_on"}))


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many people work here?", [(3,)]),
        ("How many people joined in 2025?", [(2,)]),
        ("How many people left last year?", [(1,)]),
        ("去年有多少人离职？", [(1,)]),
        ("How many women work in support?", [(1,)]),
        ("How many designers are there?", [(2,)]),
        ("What job titles do we have?", [("analyst",), ("designer",)]),
        ("Employees older than 60", [("Lena Vogel",)]),
        ("Who took parental leave in 2026?", [("Lena Vogel",)]),
        ("How many expenses have not been reimbursed?", [(1,)]),
        ("How many expenses were not reimbursed?", [(1,)]),
        ("How many employees passed Excel?", [(1,)]),
        (
            "Number of employees by gender and department",
            [("F", "Sales", 1), ("F", "Support", 1), ("M", "Support", 1)],
        ),
        # Whose they are is said, and nothing is shown for each of them; whoever has them is no absence.
        ('Total amount of expenses claimed by the employee "Paul Kruse"', [(20.0,)]),
        ("Total hours booked by employees in Berlin", [(30.0,)]),
        ('How many absences does "Lena Vogel" have?', [(2,)]),
        ("Expenses by category in 2026", [("meals", 20.0), ("travel", 10.0)]),
        ("number of expenses by category", [("meals", 1), ("travel", 1)]),
    ],
)
def test_a_plain_question_is_answered(question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, OFFICE, today=TODAY)
    assert isinstance(found, Translated), found
    assert sorted(rows_of(ROWS, found.sql), key=str) == rows


@pytest.mark.parametrize(
    "question",
    [
        # A name is asked for, and none is known; the first three of what; how many rows have each price.
        "Who booked the most hours?",
        "Who was at the Excel training?",
        "Top 2 departments by expenses",
    ],
)
def test_what_would_be_another_question_is_asked_back(question: str) -> None:
    assert isinstance(translate(question, OFFICE, today=TODAY), NotRead)


def test_options_of_a_chinese_question_are_chinese_where_the_names_words_are_known() -> None:
    found = translate("公司有多少员工？", OFFICE, today=TODAY)
    assert isinstance(found, NotRead), found
    assert found.best == "员工的数量。"
    assert not any("a" <= sign <= "z" for option in (*found.options, found.best) for sign in option), found.options


def test_a_first_name_and_a_surname_go_together() -> None:
    script = "CREATE TABLE guests (guest_id INTEGER, first_name TEXT, surname TEXT, birth_date DATE);"
    found = translate("Youngest guest", catalog_of(script, {}), today=TODAY)
    assert isinstance(found, Translated), found
    assert found.sql == 'SELECT "first_name", "surname" FROM "guests" ORDER BY "birth_date" DESC LIMIT 1'
