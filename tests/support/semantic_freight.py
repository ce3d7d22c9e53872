"""A freight company: two relations to ports, flags, currencies, levels and a quotient; what questions in words are tested over, with its rows."""

from __future__ import annotations

import sqlite3

from querybus_semantic.layer.definitions import (
    Dataset,
    Field,
    Grain,
    Input,
    Layer,
    Metric,
    NonAdditive,
    Relation,
    Span,
    Type,
    Words,
)


def _fields(**types: Type) -> dict[str, Field]:
    return {name: Field(name, name, kind, is_time=kind is Type.DATE) for name, kind in types.items()}


_NUMBER, _TEXT, _DATE = Type.INTEGER, Type.TEXT, Type.DATE

DATASETS = {
    "ports": Dataset("ports", "ports", ("port_id",), fields=_fields(port_id=_NUMBER, country=_TEXT)),
    "carriers": Dataset("carriers", "carriers", ("carrier_id",), fields=_fields(carrier_id=_NUMBER, name=_TEXT, grade=_TEXT, grade_now=_TEXT)),
    "shipments": Dataset(
        "shipments",
        "shipments",
        ("id",),
        fields=_fields(
            id=_NUMBER, carrier_id=_NUMBER, origin_port_id=_NUMBER, destination_port_id=_NUMBER, sent_on=_DATE,
            tonnes=_NUMBER, currency=_TEXT, late=_NUMBER, insured=_NUMBER,
        ),
        time="shipments.sent_on",
    ),
    "containers": Dataset("containers", "containers", ("id",), fields=_fields(id=_NUMBER, shipment_id=_NUMBER, kind=_TEXT)),
    "claims": Dataset("claims", "claims", ("id",), fields=_fields(id=_NUMBER, carrier_id=_NUMBER, made_on=_DATE, damage=_NUMBER)),
    "yards": Dataset("yards", "yards", ("port_id", "day"), fields=_fields(port_id=_NUMBER, day=_DATE, boxes=_NUMBER)),
}  # fmt: skip
RELATIONS = (
    Relation("s_origin", "shipments", "ports", ("origin_port_id",), ("port_id",), role="origin"),
    Relation("s_destination", "shipments", "ports", ("destination_port_id",), ("port_id",), role="destination"),
    Relation("s_carrier", "shipments", "carriers", ("carrier_id",), ("carrier_id",)),
    Relation("c_shipment", "containers", "shipments", ("shipment_id",), ("id",)),
    Relation("cl_carrier", "claims", "carriers", ("carrier_id",), ("carrier_id",)),
    Relation("y_port", "yards", "ports", ("port_id",), ("port_id",)),
)
METRICS = {
    "total_tonnes": Metric("total_tonnes", "SUM(shipments.tonnes)", unit="t"),
    "freight_usd": Metric("freight_usd", "SUM(shipments.tonnes * 10)"),
    "shipments_count": Metric("shipments_count", "COUNT(shipments.id)"),
    "containers_count": Metric("containers_count", "COUNT(containers.id)"),
    "load": Metric("load", "COUNT(containers.id) / NULLIF(COUNT(shipments.id), 0)"),
    "carriers_count": Metric("carriers_count", "COUNT(carriers.carrier_id)"),
    "average_tonnes": Metric("average_tonnes", "AVG(shipments.tonnes)"),
    "damage": Metric("damage", "SUM(claims.damage)"),
    "monthly_fee": Metric("monthly_fee", "SUM(yards.boxes * 2)", non_additive=NonAdditive("yards.day", "last", ("yards.port_id",))),
    "closing_boxes": Metric("closing_boxes", "SUM(yards.boxes)", non_additive=NonAdditive("yards.day", "last", ("yards.port_id",))),
    "lost_shipments": Metric("lost_shipments", "COUNT(CASE WHEN shipments.tonnes > 90 THEN shipments.id END)"),
    "shipped": Metric("shipped", "SUM(shipments.tonnes * 2)"),
    "tonnes_growth_mom": Metric(
        "tonnes_growth_mom",
        "later - earlier",
        inputs=(Input("total_tonnes", "later"), Input("total_tonnes", "earlier", Span(1, Grain.MONTH))),
        words=Words("tonnes more than the month before"),
    ),
}  # fmt: skip
FREIGHT = Layer("freight", DATASETS, RELATIONS, METRICS)

_ROWS = """
CREATE TABLE ports (port_id INTEGER PRIMARY KEY, country TEXT);
CREATE TABLE carriers (carrier_id INTEGER PRIMARY KEY, name TEXT, grade TEXT, grade_now TEXT);
CREATE TABLE shipments (id INTEGER PRIMARY KEY, carrier_id INTEGER, origin_port_id INTEGER, destination_port_id INTEGER,
  sent_on DATE, tonnes INTEGER, currency TEXT, late INTEGER, insured INTEGER);
CREATE TABLE containers (id INTEGER PRIMARY KEY, shipment_id INTEGER, kind TEXT);
CREATE TABLE claims (id INTEGER PRIMARY KEY, carrier_id INTEGER, made_on DATE, damage INTEGER);
CREATE TABLE yards (port_id INTEGER, day DATE, boxes INTEGER);
INSERT INTO ports VALUES (1, 'NL'), (2, 'DE'), (3, 'NO');
INSERT INTO carriers VALUES (1, 'Anker', 'A', 'B'), (2, 'Boje', 'B', 'B');
INSERT INTO shipments VALUES
  (1, 1, 1, 2, '2025-01-10', 10, 'EUR', 0, 1), (2, 1, 1, 3, '2025-01-20', 20, 'USD', 1, 0),
  (3, 2, 2, 1, '2025-02-05', 40, 'EUR', 1, 1), (4, 2, 3, 1, '2025-02-06', 100, 'JPY', 0, 0);
INSERT INTO containers VALUES (1, 1, 'dry'), (2, 1, 'cold'), (3, 2, 'dry'), (4, 3, 'dry'), (5, 3, 'dry'), (6, 3, 'cold');
INSERT INTO claims VALUES (1, 1, '2025-01-15', 5), (2, 1, '2025-02-15', 7), (3, 2, '2025-02-20', 1);
INSERT INTO yards VALUES (1, '2025-01-31', 10), (2, '2025-01-30', 5), (1, '2025-02-28', 7);
"""


def freight_rows() -> sqlite3.Connection:
    """Return the company's rows in memory."""
    opened = sqlite3.connect(":memory:")
    opened.executescript(_ROWS)
    return opened
