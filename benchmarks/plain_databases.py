"""Two plain databases that nobody has described, a clinic and a theatre: SQLite, the same rows wherever made.

Names are plain English words, there are no display names, no synonyms and no definitions. Rows follow from arithmetic.
"""

from __future__ import annotations

import datetime as dt
import sqlite3
from pathlib import Path
from typing import Final

CLINIC: Final = """
CREATE TABLE departments (department_id INTEGER PRIMARY KEY, title TEXT NOT NULL, floor INTEGER NOT NULL);
CREATE TABLE doctors (doctor_id INTEGER PRIMARY KEY, first_name TEXT NOT NULL, last_name TEXT NOT NULL,
    department_id INTEGER NOT NULL REFERENCES departments (department_id), hired_on DATE NOT NULL);
CREATE TABLE patients (patient_id INTEGER PRIMARY KEY, first_name TEXT NOT NULL, last_name TEXT NOT NULL,
    birth_date DATE NOT NULL, blood_type TEXT NOT NULL, city TEXT NOT NULL, phone TEXT);
CREATE TABLE visits (visit_id INTEGER PRIMARY KEY, patient_id INTEGER NOT NULL REFERENCES patients (patient_id),
    doctor_id INTEGER NOT NULL REFERENCES doctors (doctor_id), visited_on DATE NOT NULL, fee REAL NOT NULL,
    is_emergency BOOLEAN NOT NULL);
CREATE TABLE invoices (invoice_id INTEGER PRIMARY KEY, visit_id INTEGER NOT NULL REFERENCES visits (visit_id),
    insurer TEXT NOT NULL, amount REAL NOT NULL, issued_on DATE NOT NULL, paid_on DATE);
"""
THEATRE: Final = """
CREATE TABLE halls (hall_id INTEGER PRIMARY KEY, name TEXT NOT NULL, seats INTEGER NOT NULL);
CREATE TABLE plays (play_id INTEGER PRIMARY KEY, title TEXT NOT NULL, author TEXT NOT NULL, genre TEXT NOT NULL,
    duration_minutes INTEGER NOT NULL);
CREATE TABLE actors (actor_id INTEGER PRIMARY KEY, name TEXT NOT NULL, birth_year INTEGER NOT NULL);
CREATE TABLE roles (play_id INTEGER NOT NULL REFERENCES plays (play_id), actor_id INTEGER NOT NULL
    REFERENCES actors (actor_id), part TEXT NOT NULL, PRIMARY KEY (play_id, actor_id));
CREATE TABLE shows (show_id INTEGER PRIMARY KEY, play_id INTEGER NOT NULL REFERENCES plays (play_id),
    hall_id INTEGER NOT NULL REFERENCES halls (hall_id), played_on DATE NOT NULL, starts_at TEXT NOT NULL);
CREATE TABLE tickets (ticket_id INTEGER PRIMARY KEY, show_id INTEGER NOT NULL REFERENCES shows (show_id),
    price REAL NOT NULL, is_reduced BOOLEAN NOT NULL, sales_point TEXT NOT NULL, sold_on DATE NOT NULL);
"""
_DEPARTMENTS: Final = ("Cardiology", "Surgery", "Paediatrics", "Neurology", "Radiology")
_FIRST: Final = ("Anna", "Boris", "Clara", "David", "Eva", "Felix", "Greta", "Hugo")
_LAST: Final = ("Ahrens", "Bauer", "Conrad", "Dietz", "Engel", "Frank", "Gruber", "Haas", "Iven", "Jung", "Kraus")
_BLOOD: Final = ("A", "B", "AB", "0")
_CITIES: Final = ("Leipzig", "Dresden", "Halle", "Erfurt")
_INSURERS: Final = ("Helvia", "Medicor", "Salus")
_PLAYS: Final = (
    ("The Last Ferry", "Ida Brandt", "drama", 135),
    ("Two Left Shoes", "Otto Lang", "comedy", 95),
    ("Winter Light", "Ida Brandt", "drama", 110),
    ("The Borrowed Wife", "Pia Roth", "comedy", 130),
    ("Salt", "Ida Brandt", "tragedy", 150),
    ("Cats on the Roof", "Otto Lang", "musical", 125),
    ("Nobody Home", "Pia Roth", "comedy", 140),
)
_POINTS: Final = ("online", "box office", "partner")
_DAY: Final = dt.date(2024, 1, 1)


def _day(number: int) -> str:
    return (_DAY + dt.timedelta(days=number)).isoformat()


def write_clinic(path: Path) -> None:
    """Make the clinic."""
    with sqlite3.connect(path) as database:
        database.executescript(CLINIC)
        put = database.executemany
        put("INSERT INTO departments VALUES (?, ?, ?)", [(n, name, n % 3) for n, name in enumerate(_DEPARTMENTS, 1)])
        put(
            "INSERT INTO doctors VALUES (?, ?, ?, ?, ?)",
            [
                (n, _FIRST[n * 3 % 8], _LAST[n * 5 % 11], 1 + n * n % 4, f"{2010 + n * 7 % 14}-0{1 + n % 9}-15")
                for n in range(1, 15)
            ],
        )
        put(
            "INSERT INTO patients VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    n,
                    _FIRST[n * 5 % 8],
                    _LAST[n * 7 % 11],
                    f"{1935 + n * 17 % 80}-{1 + n % 12:02d}-{1 + n * 11 % 28:02d}",
                    _BLOOD[n * n % 7 % 4],
                    _CITIES[n * 3 % 10 % 4],
                    f"0341 55{n:04d}",
                )
                for n in range(1, 181)
            ],
        )
        put(
            "INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?)",
            [
                (n, 1 + n * n % 167, 1 + n * 13 % 14 * (n % 3) % 14, _day(n * 37 % 911), 40 + n * 29 % 260, n % 9 == 0)
                for n in range(1, 1201)
            ],
        )
        put(
            "INSERT INTO invoices VALUES (?, ?, ?, ?, ?, ?)",
            [
                (
                    n,
                    n,
                    _INSURERS[n * n % 5 % 3],
                    40 + n * 29 % 260,
                    _day(n * 37 % 911),
                    None if n % 11 == 0 else _day(n * 37 % 911 + 20),
                )
                for n in range(1, 1201)
            ],
        )


def write_theatre(path: Path) -> None:
    """Make the theatre."""
    with sqlite3.connect(path) as database:
        database.executescript(THEATRE)
        put = database.executemany
        put("INSERT INTO halls VALUES (?, ?, ?)", [(1, "Great Hall", 620), (2, "Small Stage", 140), (3, "Studio", 80)])
        put("INSERT INTO plays VALUES (?, ?, ?, ?, ?)", [(n, *play) for n, play in enumerate(_PLAYS, 1)])
        put(
            "INSERT INTO actors VALUES (?, ?, ?)",
            [(n, f"{_FIRST[n % 8]} {_LAST[n * 3 % 11]}", 1955 + n * 7 % 45) for n in range(1, 19)],
        )
        put(
            "INSERT INTO roles VALUES (?, ?, ?)",
            [(play, actor, f"part {actor}") for play in range(1, 8) for actor in range(1, 19) if play * actor % 5 < 2],
        )
        put(
            "INSERT INTO shows VALUES (?, ?, ?, ?, ?)",
            [
                (n, 1 + n * n % 6, 1 + n * 7 % 5 % 3, _day(n * 5 % 900), ("19:30", "20:30", "15:00")[n % 3])
                for n in range(1, 161)
            ],
        )
        put(
            "INSERT INTO tickets VALUES (?, ?, ?, ?, ?, ?)",
            [
                (
                    n,
                    1 + n * 31 % 160,
                    12 + n * 7 % 48,
                    n % 6 == 0,
                    _POINTS[n * n % 8 % 3],
                    _day((n * 31 % 160 + 1) * 5 % 900 - n % 20 if n % 20 < (n * 31 % 160 + 1) * 5 % 900 else 0),
                )
                for n in range(1, 4001)
            ],
        )
