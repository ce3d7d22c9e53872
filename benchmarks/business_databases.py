"""Eight small databases of plain businesses, for what is measured over several connections at once.

Some of their tables overlap on purpose: bookings, payments, employees and customers stand in more than one of them.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROWS_PER_TABLE: Final = 60

SCHEMAS: Final[Mapping[str, Mapping[str, str]]] = {
    "gym": {
        "members": "id, first_name, last_name, email, city=Leeds/Hull/York, joined_on:date, membership_type=Basic/Premium/Student",
        "trainers": "id, name, speciality=Yoga/Boxing/Pilates",
        "classes": "id, title=Spin/Yoga Flow/Boxing Basics, trainer_id>trainers, weekday=Monday/Friday, capacity:int",
        "bookings": "id, member_id>members, class_id>classes, booked_on:date, attended:int",
        "payments": "id, member_id>members, amount:real, paid_on:date, method=card/cash",
    },
    "hotel": {
        "guests": "id, first_name, last_name, email, country=Germany/France/Spain, birth_date:date",
        "room_types": "id, name=Single/Double/Suite, price_per_night:real, beds:int",
        "rooms": "id, room_number:int, floor:int, room_type_id>room_types",
        "bookings": "id, guest_id>guests, room_id>rooms, check_in:date, check_out:date, channel=direct/agency/web, status=confirmed/cancelled",
        "payments": "id, booking_id>bookings, amount:real, paid_on:date, method=card/cash/transfer",
    },
    "bakery": {
        "stores": "id, name=Old Town/Harbour/Station, city=Bremen/Kiel/Lübeck, opened_on:date",
        "products": "id, name=Rye Bread/Croissant/Pretzel, category=Bread/Pastry/Cake, price:real",
        "sales": "id, store_id>stores, product_id>products, sold_on:date, quantity:int, amount:real",
        "suppliers": "id, name=Mill Jansen/Dairy North, country=Germany/Denmark",
        "ingredients": "id, name=Flour/Butter/Yeast, supplier_id>suppliers, unit_cost:real, stock_kg:real",
        "employees": "id, name, store_id>stores, job_title=Baker/Cashier, hired_on:date, hourly_wage:real",
    },
    "insurer": {
        "customers": "id, first_name, last_name, city=Zürich/Basel/Bern, birth_date:date",
        "agents": "id, name, region=North/South",
        "policies": "id, customer_id>customers, agent_id>agents, product=Car/Home/Life, start_date:date, end_date:date, premium:real",
        "claims": "id, policy_id>policies, filed_on:date, amount:real, status=open/approved/rejected, cause=Hail/Theft/Fire",
    },
    "billing": {
        "accounts": "id, company_name, industry=Retail/Media/Health, country=Germany/Canada/Japan, created_at:date, churned_at:date",
        "users": "id, account_id>accounts, email, role=admin/member, last_login_at:date",
        "plans": "id, name=Starter/Team/Enterprise, monthly_price:real",
        "subscriptions": "id, account_id>accounts, plan_id>plans, started_on:date, cancelled_on:date, seats:int",
        "invoices": "id, account_id>accounts, issued_on:date, due_on:date, amount:real, status=paid/overdue/open",
        "support_tickets": "id, account_id>accounts, opened_at:date, closed_at:date, priority=low/high/urgent, subject",
    },
    "people": {
        "departments": "id, name=Finance/Engineering/Marketing, location=Oslo/Bergen",
        "employees": "id, first_name, last_name, department_id>departments, job_title=Analyst/Engineer/Manager, hired_on:date, salary:real",
        "leave_requests": "id, employee_id>employees, start_date:date, end_date:date, kind=vacation/sick, status=approved/pending",
        "applicants": "id, first_name, last_name, position=Analyst/Engineer, applied_on:date, stage=interview/offer/rejected",
        "trainings": "id, employee_id>employees, title, completed_on:date, hours:int",
    },
    "freight": {
        "customers": "id, company_name, city=Lyon/Milan/Vienna, credit_limit:real",
        "depots": "id, name, city=Lyon/Milan, capacity_pallets:int",
        "drivers": "id, name, licence_class=C/CE, hired_on:date, depot_id>depots",
        "vehicles": "id, plate_number, model=Actros/TGX, mileage_km:int, depot_id>depots, last_service_on:date",
        "shipments": "id, customer_id>customers, vehicle_id>vehicles, driver_id>drivers, shipped_on:date, delivered_on:date, weight_kg:real, price:real, status=delivered/delayed/lost",
    },
    "school": {
        "students": "id, first_name, last_name, birth_date:date, grade_level:int, home_town",
        "teachers": "id, name, subject=Maths/History/Biology, hired_on:date",
        "courses": "id, title=Algebra/World History/Genetics, teacher_id>teachers, semester=Spring/Autumn, credits:int",
        "enrolments": "id, student_id>students, course_id>courses, enrolled_on:date, final_mark:real",
        "absences": "id, student_id>students, missed_on:date, excused:int",
    },
}
"""Each table's columns: `name`, `name:type`, `name=values` or `name>table` for a foreign key."""

DESCRIPTIONS: Final[Mapping[str, str]] = {
    "gym": "Fitness studio",
    "hotel": "Hotel",
    "bakery": "Bakery shops",
    "insurer": "Insurance",
    "billing": "Subscriptions and billing",
    "people": "Human resources",
    "freight": "Haulage",
    "school": "School",
}

_NAMES: Final = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gina", "Hugo", "Ines", "Jon", "Kim", "Lea")
_TYPES: Final = {"int": "INTEGER", "real": "REAL", "date": "DATE"}


def write_businesses(folder: Path) -> dict[str, Path]:
    """Write each database as a SQLite file into a folder; returns the files by their names."""
    files: dict[str, Path] = {}
    for name, tables in SCHEMAS.items():
        files[name] = folder / f"{name}.sqlite"
        with sqlite3.connect(files[name]) as opened:
            for table, columns in tables.items():
                _write_table(opened, table, columns, random.Random(f"{name}.{table}"))
        opened.close()
    return files


def _write_table(opened: sqlite3.Connection, table: str, columns: str, dice: random.Random) -> None:
    parts = [column.strip() for column in columns.split(",")]
    opened.execute(f"CREATE TABLE {table} ({', '.join(_definition(part) for part in parts)})")
    marks = ", ".join("?" * len(parts))
    rows = [[_value(part, number, dice) for part in parts] for number in range(1, ROWS_PER_TABLE + 1)]
    opened.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def _definition(part: str) -> str:
    if part == "id":
        return "id INTEGER PRIMARY KEY"
    if ">" in part:
        name, _, referred = part.partition(">")
        return f"{name} INTEGER NOT NULL REFERENCES {referred} (id)"
    if ":" in part:
        name, _, kind = part.partition(":")
        return f"{name} {_TYPES[kind]}"
    return f"{part.partition('=')[0]} TEXT"


def _value(part: str, number: int, dice: random.Random) -> object:
    if part == "id":
        return number
    if ">" in part:
        return dice.randint(1, ROWS_PER_TABLE)
    if "=" in part:
        return dice.choice(part.partition("=")[2].split("/"))
    if part.endswith(":date"):
        return f"{dice.choice((2024, 2025, 2026))}-{dice.randint(1, 6):02}-{dice.randint(1, 28):02}"
    if part.endswith(":int"):
        return dice.randint(0, 9) if "attended" not in part and "excused" not in part else dice.randint(0, 1)
    if part.endswith(":real"):
        return round(dice.uniform(5, 900), 2)
    return f"{dice.choice(_NAMES)} {number}"
