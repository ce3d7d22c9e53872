"""Databases whose names are abbreviations or German: read, labelled and linked by the usual words, never offered as they are spelt."""

from __future__ import annotations

import itertools
from datetime import date

import pytest

from querybus.core.catalog import Catalog
from querybus.text.readable_name import spoken_name
from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import catalog_of

TODAY = date(2026, 6, 1)

LEGACY = catalog_of(
    """
CREATE TABLE T_CUST (CUST_NO INTEGER PRIMARY KEY, CUST_NM TEXT, CTRY_CD TEXT, STAT_CD TEXT, CRT_DT DATE);
CREATE TABLE T_ORD_HDR (ORD_NO INTEGER PRIMARY KEY, CUST_NO INTEGER REFERENCES T_CUST (CUST_NO), ORD_DT DATE, TOT_AMT REAL, WHSE_CD TEXT REFERENCES T_WHSE (WHSE_CD));
CREATE TABLE T_WHSE (WHSE_CD TEXT PRIMARY KEY, WHSE_NM TEXT);
INSERT INTO T_CUST VALUES (1, 'Ann', 'DE', 'A', '2026-01-02'), (2, 'Bo', 'FR', 'I', '2026-02-02');
INSERT INTO T_WHSE VALUES ('W1', 'North'), ('W2', 'South');
INSERT INTO T_ORD_HDR VALUES (1, 1, '2026-03-01', 20.5, 'W1'), (2, 2, '2026-03-04', 30, 'W1'), (3, 2, '2026-04-04', 30, 'W2');
""",
    {},
)
GERMAN = catalog_of(
    """
CREATE TABLE kunden (kundennr INTEGER PRIMARY KEY, nachname TEXT, vorname TEXT, ort TEXT);
CREATE TABLE auftraege (auftragsnr INTEGER PRIMARY KEY, kundennr INTEGER REFERENCES kunden (kundennr), auftragsdatum DATE, gesamtbetrag REAL);
CREATE TABLE fahrzeuge (fahrzeug_id INTEGER PRIMARY KEY, kundennr INTEGER REFERENCES kunden (kundennr), baujahr INTEGER, marke TEXT);
INSERT INTO kunden VALUES (1, 'A', 'B', 'Kiel'), (2, 'C', 'D', 'Kiel');
INSERT INTO auftraege VALUES (1, 1, '2026-02-02', 100), (2, 2, '2026-03-02', 70);
INSERT INTO fahrzeuge VALUES (1, 1, 2010, 'VW'), (2, 2, 2012, 'Opel');
""",
    {"ort": ("Kiel",), "marke": ("VW", "Opel")},
)


@pytest.mark.parametrize(
    ("catalog", "question", "sql"),
    [
        (LEGACY, "How many customers are there?", 'SELECT COUNT(*) FROM "T_CUST"'),
        (LEGACY, "average order amount", 'SELECT AVG("TOT_AMT") FROM "T_ORD_HDR"'),
        (LEGACY, "Which warehouses are there?", 'SELECT "WHSE_NM" FROM "T_WHSE"'),
        (
            LEGACY,
            "customers without orders",
            'SELECT "CUST_NM" FROM "T_CUST" WHERE NOT "CUST_NO" IN (SELECT "CUST_NO" FROM "T_ORD_HDR")',
        ),
        (GERMAN, "How many customers are there?", 'SELECT COUNT(*) FROM "kunden"'),
        (GERMAN, "number of vehicles by brand", 'SELECT "marke", COUNT(*) FROM "fahrzeuge" GROUP BY "marke"'),
        (GERMAN, "average total amount of orders", 'SELECT AVG("gesamtbetrag") FROM "auftraege"'),
    ],
)
def test_english_questions_find_short_and_german_names(catalog: Catalog, question: str, sql: str) -> None:
    found = translate(question, catalog, today=TODAY)
    assert isinstance(found, Translated), found
    assert found.sql == sql


def test_a_reading_calls_them_by_their_words_in_the_plural() -> None:
    found = translate("average order amount", LEGACY, today=TODAY)
    assert isinstance(found, Translated)
    assert found.in_words == "Average total amount of orders."


_PIECES = ("CUST", "XQZ", "ORD", "VBR", "HDR", "KTP", "AMT", "ZZL")


def _generated() -> list[Catalog]:
    """Schemas of names that are made of a known abbreviation and of pieces that nobody knows."""
    catalogs: list[Catalog] = []
    for one, other in itertools.combinations(_PIECES, 2):
        script = f"""
CREATE TABLE {one}_{other} ({one}_ID INTEGER PRIMARY KEY, {other}_{one}_NM TEXT, {one}_VBR_AMT REAL, {other}_ZZL_FL INTEGER);
INSERT INTO {one}_{other} VALUES (1, 'a', 2, 3), (2, 'b', 4, 5);
"""
        catalogs.append(catalog_of(script, {}))
    return catalogs


@pytest.mark.parametrize(
    "question",
    ["How many widgets are there?", "average price", "top regions by revenue", "有多少订单？", "list everything new"],
)
def test_nothing_that_is_offered_is_spelt_as_in_the_schema(question: str) -> None:
    for catalog in _generated():
        asked = translate(question, catalog, today=TODAY)
        named = [item for table in catalog.tables for item in (table, *table.columns)]
        raw = {form.lower() for item in named for form in (item.name, spoken_name(item.name))}
        readable = {"order header", "customer order", "customer amount", "order amount"}
        said = (*asked.options, asked.likely, asked.best) if isinstance(asked, NotRead) else ()
        for text in said:
            assert not any(name in text.lower() for name in raw - readable), (text, raw)


def test_a_question_of_which_nothing_is_known_says_so_and_offers_at_most_two_examples() -> None:
    asked = translate("Will churn of subscribers rise?", LEGACY, today=TODAY)
    assert isinstance(asked, NotRead)
    assert asked.needs_model
    assert 0 < len(asked.options) <= 2


def test_data_is_not_said_to_be_missing_where_a_table_is_not_understood() -> None:
    unclear = catalog_of("CREATE TABLE XQZ_VBR (XQZ_ID INTEGER, ZZL_FL INTEGER); INSERT INTO XQZ_VBR VALUES (1, 2)", {})
    asked = translate("How many invoices are there?", unclear, today=TODAY)
    assert isinstance(asked, NotRead)
    assert asked.trigger.value == "ambiguous_question"
