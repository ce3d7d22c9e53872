"""What is offered on a stranger's own data is sound, averages only measures, and has rows; where nothing sensible is there, nothing is."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from querybus.core.catalog import Catalog
from querybus.text.language import grammar_faults
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from querybus_gateway.use_cases.catalogs.suggestions import suggestions
from querybus_translator import NotRead, Translated, translate

TODAY = date(2026, 6, 1)
SCHEMAS = {
    "bikes": """
        CREATE TABLE stations (station_id INTEGER PRIMARY KEY, city TEXT, docks INTEGER, latitude REAL, longitude REAL);
        CREATE TABLE trips (trip_id INTEGER PRIMARY KEY, start_station INTEGER, bike_no INTEGER, member_type TEXT, minutes REAL, year INTEGER);
        CREATE TABLE weather (day DATE, city TEXT, temperature REAL);
        INSERT INTO stations VALUES (1, 'Bern', 12, 46.9, 7.4), (2, 'Bern', 20, 46.8, 7.3), (3, 'Basel', 8, 47.5, 7.6);
        INSERT INTO trips VALUES (1, 1, 7, 'annual', 12.5, 2025), (2, 2, 8, 'day', 30, 2025), (3, 1, 7, 'annual', 8, 2026);
        INSERT INTO weather VALUES ('2026-05-01', 'Bern', 12), ('2026-05-02', 'Bern', 14), ('2026-05-01', 'Basel', 15);
    """,
    "software": """
        CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT, country TEXT, industry_code INTEGER, seats INTEGER);
        CREATE TABLE support_tickets (id INTEGER PRIMARY KEY, account_id INTEGER REFERENCES accounts (id), priority TEXT, opened_on DATE);
        INSERT INTO accounts VALUES (1, 'Alder', 'Norway', 7, 4), (2, 'Fern', 'Norway', 7, 9), (3, 'Quartz', 'Chile', 8, 5);
        INSERT INTO support_tickets VALUES (1, 1, 'high', '2026-04-01'), (2, 1, 'low', '2026-05-02'), (3, 2, 'low', '2026-05-09');
    """,
    "clinic": """
        CREATE TABLE TBL_PAT (PAT_ID INTEGER PRIMARY KEY, NM_LAST TEXT, NM_FIRST TEXT, DOB DATE, WARD TEXT, ZIP_CD INTEGER);
        CREATE TABLE APPT_HDR (APPT_ID INTEGER PRIMARY KEY, PAT_ID INTEGER, ROOM_NO INTEGER, STAT_CD TEXT);
        INSERT INTO TBL_PAT VALUES (1, 'Okoye', 'Ada', '1971-03-04', 'north', 3000), (2, 'Brandt', 'Jo', '1980-05-06', 'south', 3001);
        INSERT INTO APPT_HDR VALUES (1, 1, 12, 'open'), (2, 1, 14, 'done'), (3, 2, 12, 'open');
    """,
    "German": """
        CREATE TABLE mitarbeiter (persnr INTEGER PRIMARY KEY, nachname TEXT, abteilung TEXT, gehalt REAL, eintrittsjahr INTEGER, plz INTEGER);
        CREATE TABLE artikel (artikelnr INTEGER PRIMARY KEY, bezeichnung TEXT, warengruppe TEXT, preis REAL);
        INSERT INTO mitarbeiter VALUES (1, 'Okoye', 'Einkauf', 5000, 2019, 3000), (2, 'Brandt', 'Verkauf', 5200, 2020, 3001);
        INSERT INTO artikel VALUES (1, 'Schraube', 'Metall', 0.2), (2, 'Brett', 'Holz', 7.5), (3, 'Mutter', 'Metall', 0.1);
    """,
    "pinyin": """
        CREATE TABLE dingdan (id INTEGER PRIMARY KEY, kehu TEXT, jine REAL, riqi DATE, zhuangtai TEXT);
        INSERT INTO dingdan VALUES (1, 'A', 10, '2026-01-01', 'open'), (2, 'B', 20, '2026-02-01', 'paid'), (3, 'A', 5, '2026-02-02', 'paid');
    """,
    "Spanish": """
        CREATE TABLE clientes (cliente_id INTEGER PRIMARY KEY, nombre TEXT, ciudad TEXT, telefono INTEGER);
        CREATE TABLE facturas (factura_id INTEGER PRIMARY KEY, cliente_id INTEGER, importe REAL, fecha DATE);
        INSERT INTO clientes VALUES (1, 'Ana', 'Lima', 5550101), (2, 'Luis', 'Cusco', 5550102), (3, 'Eva', 'Lima', 5550103);
        INSERT INTO facturas VALUES (1, 1, 10, '2026-01-01'), (2, 1, 20, '2026-02-01'), (3, 2, 5, '2026-02-02');
    """,
    "equipment": """
        CREATE TABLE equipment (id INTEGER PRIMARY KEY, kind TEXT, serial_number INTEGER, version INTEGER, weight_kg REAL);
        CREATE TABLE maintenance (id INTEGER PRIMARY KEY, equipment_id INTEGER, done_on DATE, cost REAL);
        INSERT INTO equipment VALUES (1, 'pump', 1001, 1, 12), (2, 'pump', 1002, 2, 13), (3, 'fan', 1003, 1, 3);
        INSERT INTO maintenance VALUES (1, 1, '2026-01-01', 40), (2, 2, '2026-02-01', 55);
    """,
    "places": """
        CREATE TABLE bakeries (bakery_id INTEGER PRIMARY KEY, town TEXT, lat REAL, lng REAL, postcode INTEGER, opened_year INTEGER);
        CREATE TABLE loaves (loaf_id INTEGER PRIMARY KEY, bakery_id INTEGER REFERENCES bakeries (bakery_id), flour TEXT, price REAL);
        INSERT INTO bakeries VALUES (1, 'Bern', 46.9, 7.4, 3000, 1999), (2, 'Bern', 46.8, 7.3, 3001, 2004), (3, 'Basel', 47.5, 7.6, 4000, 2010);
        INSERT INTO loaves VALUES (1, 1, 'rye', 4.5), (2, 1, 'wheat', 3.9), (3, 2, 'rye', 4.7);
    """,
    "keys": """
        CREATE TABLE links (from_id INTEGER, to_id INTEGER, hash_code INTEGER);
        CREATE TABLE weather (station_key INTEGER, zip INTEGER);
        CREATE TABLE drafts (id INTEGER PRIMARY KEY, title TEXT, price REAL);
        INSERT INTO weather VALUES (1, 3000);
    """,
}
NO_FIGURE = re.compile(
    r"average (?!number of )(?:[\w ]* )?(?:id|key|code|cd|no|number|year|zip|plz|postcode|latitude|longitude|lat|lng|station|bike no|telefono"
    r"|version|eintrittsjahr|kehu) of"
)
VAGUE = (
    "How is it going?",
    "What about the best ones?",
    "How many foobars are there?",
    "Show me something interesting",
    "average grmpf per city",
)


@pytest.fixture(params=SCHEMAS)
def data(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path, Catalog]:
    name = str(request.param)
    file = tmp_path / "own.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(SCHEMAS[name])
    return name, file, open_sqlite_catalog(file, "own")


def check_offer(question: str, file: Path, catalog: Catalog) -> None:
    assert not grammar_faults(question), question
    assert not NO_FIGURE.search(question), question
    read = translate(question, catalog, today=TODAY)
    assert isinstance(read, Translated), (question, read)
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute(read.sql).fetchall()
    assert rows, question
    assert any(cell is not None for row in rows for cell in row), question


def test_suggestions_on_own_data_are_sound_and_have_rows(data: tuple[str, Path, Catalog]) -> None:
    name, file, catalog = data
    offered = suggestions(catalog, "en", "analyst")
    for question in offered:
        check_offer(question, file, catalog)
    if name == "keys":
        assert not [question for question in offered if "average" in question or "draft" in question], offered
    else:
        assert len(offered) >= 2, offered


@pytest.mark.requirement("004.13")
def test_ways_on_of_a_question_back_are_sound_and_have_rows(data: tuple[str, Path, Catalog]) -> None:
    _, file, catalog = data
    for question in VAGUE:
        asked = translate(question, catalog, today=TODAY)
        for option in asked.options if isinstance(asked, NotRead) else ():
            check_offer(option, file, catalog)


@pytest.mark.parametrize(
    "question",
    [
        "How many weather are there for each city?",
        "What is the average docks of stations?",
        "How many support tickets are opened by by priority?",
        "total employee count accounts per month in 2026",
        "did revenue in September 2025?",
        "What is an customer's city?",
        "How many tickets have a open status?",
    ],
)
def test_broken_grammar_is_found(question: str) -> None:
    assert grammar_faults(question)


@pytest.mark.parametrize(
    "question",
    [
        "How many people live in each city?",
        "How many customers bought bread in May?",
        "How many per city?",
        "What is the average price of a used car?",
        "Which users have a unique e-mail address?",
        "What is the average number of seats of accounts?",
        "total revenue by month in 2026",
        "What is the highest status of an order?",
        "Is there an hour without orders?",
    ],
)
def test_sound_questions_are_not_refused(question: str) -> None:
    assert not grammar_faults(question)
