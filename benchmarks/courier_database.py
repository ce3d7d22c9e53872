"""A small courier company as a second schema for the translator's own questions: SQLite, the same rows wherever made.

It has what the demo shop lacks: two keys from one table to another (sender and receiver, origin and destination), a
bridge table (which courier may drive what), a table that refers to itself (mentors), units in names, German and Chinese
values. Rows follow from arithmetic alone.
"""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE depots (depot_id INTEGER PRIMARY KEY, depot_name TEXT NOT NULL, town TEXT NOT NULL, docks INTEGER NOT NULL,
    founded_year INTEGER NOT NULL);
CREATE TABLE couriers (courier_id INTEGER PRIMARY KEY, first_name TEXT NOT NULL, last_name TEXT NOT NULL,
    depot_id INTEGER NOT NULL REFERENCES depots (depot_id), mentor_id INTEGER REFERENCES couriers (courier_id),
    age INTEGER NOT NULL, hourly_wage REAL NOT NULL, started_on DATE NOT NULL);
CREATE TABLE vehicle_types (vehicle_type_id INTEGER PRIMARY KEY, label TEXT NOT NULL, payload_kg INTEGER NOT NULL,
    is_electric BOOLEAN NOT NULL);
CREATE TABLE courier_permits (courier_id INTEGER NOT NULL REFERENCES couriers (courier_id),
    vehicle_type_id INTEGER NOT NULL REFERENCES vehicle_types (vehicle_type_id), granted_on DATE NOT NULL,
    PRIMARY KEY (courier_id, vehicle_type_id));
CREATE TABLE parties (party_id INTEGER PRIMARY KEY, full_name TEXT NOT NULL, kind TEXT NOT NULL, town TEXT NOT NULL);
CREATE TABLE parcels (parcel_id INTEGER PRIMARY KEY, tracking_code TEXT NOT NULL UNIQUE,
    sender_id INTEGER NOT NULL REFERENCES parties (party_id), receiver_id INTEGER NOT NULL REFERENCES parties (party_id),
    origin_depot_id INTEGER NOT NULL REFERENCES depots (depot_id),
    destination_depot_id INTEGER NOT NULL REFERENCES depots (depot_id), weight_kg REAL NOT NULL, postage REAL NOT NULL,
    service TEXT NOT NULL, posted_on DATE NOT NULL, insured BOOLEAN NOT NULL);
CREATE TABLE attempts (attempt_id INTEGER PRIMARY KEY, parcel_id INTEGER NOT NULL REFERENCES parcels (parcel_id),
    courier_id INTEGER NOT NULL REFERENCES couriers (courier_id), attempted_on DATE NOT NULL, outcome TEXT NOT NULL,
    minutes INTEGER NOT NULL);
CREATE TABLE complaints (complaint_id INTEGER PRIMARY KEY, parcel_id INTEGER NOT NULL REFERENCES parcels (parcel_id),
    topic TEXT NOT NULL, severity INTEGER NOT NULL, opened_on DATE NOT NULL, closed_on DATE);
"""
CHINESE = {
    "depots": "网点", "depots.depot_name": "网点名称", "depots.town": "城镇", "depots.docks": "卸货口数量",
    "depots.founded_year": "成立年份", "couriers": "快递员", "couriers.first_name": "名字", "couriers.last_name": "姓氏",
    "couriers.age": "年龄", "couriers.hourly_wage": "时薪", "couriers.started_on": "入职日期", "couriers.mentor_id": "师傅",
    "vehicle_types": "车型", "vehicle_types.label": "车型名称", "vehicle_types.payload_kg": "载重",
    "courier_permits": "驾驶许可", "courier_permits.granted_on": "授予日期", "parties": "客户", "parties.full_name": "姓名",
    "parties.kind": "客户类型", "parties.town": "所在城镇", "parcels": "包裹", "parcels.tracking_code": "运单号",
    "parcels.sender_id": "寄件人", "parcels.receiver_id": "收件人", "parcels.origin_depot_id": "始发网点",
    "parcels.destination_depot_id": "目的网点", "parcels.weight_kg": "重量", "parcels.postage": "邮费",
    "parcels.service": "服务类型", "parcels.posted_on": "寄出日期", "attempts": "派送", "attempts.attempted_on": "派送日期",
    "attempts.outcome": "派送结果", "attempts.minutes": "用时", "complaints": "投诉", "complaints.topic": "投诉主题",
    "complaints.severity": "严重程度", "complaints.opened_on": "投诉日期", "complaints.closed_on": "结案日期",
}  # fmt: skip
_DEPOTS = ("North Gate", "River Dock", "Old Mill", "East Park", "Hill Top", "Harbour")
_TOWNS = ("Bremen", "Graz", "Utrecht", "Bremen", "Aarhus", "Leeds")
_FIRST = ("Mia", "Noah", "Lena", "Omar", "Ines", "Karl", "Yuki", "Paul", "Sara", "Tom")
_LAST = ("Adler", "Brandt", "Costa", "Dahl", "Ebner", "Falk", "Grau", "Holm")
_TYPES = (("Cargo Bike", 80, 1), ("Van", 900, 0), ("E-Van", 750, 1), ("Truck", 7500, 0))
_SERVICES = ("standard", "express", "overnight")
_OUTCOMES = ("delivered", "nobody home", "wrong address", "refused")
_TOPICS = ("late", "damaged", "lost", "rude courier")
_START = dt.date(2024, 1, 1)


def _rows() -> Iterator[tuple[str, tuple[Any, ...]]]:
    for number, (name, town) in enumerate(zip(_DEPOTS, _TOWNS, strict=True), 1):
        yield "depots", (number, name, town, 3 + number * 7 % 11, 1968 + number * 9)
    for number, (label, payload, electric) in enumerate(_TYPES, 1):
        yield "vehicle_types", (number, label, payload, electric)
    for number in range(1, 41):
        mentor = None if number <= 6 else 1 + number * 5 % 6
        started = _day(_START, -(number * 61 % 1900))
        yield "couriers", (
            number, _FIRST[number * 7 % 10], _LAST[number * 3 % 8], 1 + number * number % 97 % 5, mentor,
            19 + number * 13 % 44, 12.5 + number * 17 % 19 / 2, started,
        )  # fmt: skip
        for kind in range(1, 5):
            if (number + kind) % 3 == 0 and number % 7 != 0:
                yield "courier_permits", (number, kind, _day(_START, number * kind))
    for number in range(1, 61):
        kind = "company" if number % 4 == 0 else "private"
        yield "parties", (number, f"{_FIRST[number % 10]} {_LAST[number * 5 % 8]} {number}", kind, _TOWNS[number % 6])
    for number in range(1, 901):
        weight = 0.2 + number * 37 % 311 / 10
        yield "parcels", (
            number, f"QP{100_000 + number * 97}", 1 + number * number % 55, 2 + number * number * 3 % 57, 1 + number * 3 % 6,
            1 + (number * 3 + 1 + number % 4) % 6, weight, round(2.9 + weight * 0.8, 2), _SERVICES[number * number % 7 % 3],
            _day(_START, number), number % 5 == 0,
        )  # fmt: skip
        for attempt in range(1 + (number % 9 == 0) + (number % 27 == 0)):
            outcome = _OUTCOMES[1 + number % 3] if attempt < (number % 9 == 0) + (number % 27 == 0) else _OUTCOMES[0]
            yield "attempts", (
                number * 3 + attempt, number, 1 + (number * 7 + attempt) % 37, _day(_START, number + 1 + attempt), outcome,
                2 + number * 5 % 23,
            )  # fmt: skip
        if number % 13 == 0:
            closed = None if number % 39 == 0 else _day(_START, number + 9)
            yield (
                "complaints",
                (number, number, _TOPICS[number // 13 % 4], 1 + number % 5, _day(_START, number + 4), closed),
            )


def _day(first: dt.date, days: int) -> str:
    return (first + dt.timedelta(days=days)).isoformat()


def write_courier(path: Path) -> None:
    """Write the database to a file that does not exist yet."""
    database = sqlite3.connect(path)
    try:
        database.executescript(SCHEMA)
        for table, row in _rows():
            database.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
        database.commit()
    finally:
        database.close()


def courier_connection(path: Path) -> dict[str, Any]:
    """Return the database's entry in `connections.yaml`, with Chinese names and one defined term."""
    return {
        "name": "courier",
        "url": f"sqlite:///{Path(path).absolute()}",
        "display_names": {key: {"zh": name} for key, name in CHINESE.items()},
        "glossary": {"heavy parcels": "parcels with a weight over 25", "重件": "重量超过25的包裹"},
    }
