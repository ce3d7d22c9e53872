"""A small shop with two facts, a bridge, levels and versions: what the tests compile against, with its rows."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from querybus_semantic.layer.definitions import (
    Bridge,
    Cumulative,
    Dataset,
    Field,
    Grain,
    Input,
    Layer,
    Metric,
    NonAdditive,
    Range,
    Relation,
    Span,
    Type,
    Words,
)


def _fields(*names: str, dates: tuple[str, ...] = ()) -> dict[str, Field]:
    return {
        name: Field(name, name, Type.DATE if name in dates else Type.UNKNOWN, is_time=name in dates) for name in names
    }


DATASETS = {
    "orders": Dataset(
        "orders", "orders", ("id",), fields=_fields("id", "customer_id", "day", "freight", dates=("day",))
    ),
    "lines": Dataset(
        "lines", "lines", ("id",), fields=_fields("id", "order_id", "product", "amount"), time="orders.day"
    ),
    "customers": Dataset("customers", "customers", ("id",), fields=_fields("id", "region")),
    "refunds": Dataset(
        "refunds", "refunds", ("id",), fields=_fields("id", "customer_id", "day", "money", dates=("day",))
    ),
    "clubs": Dataset("clubs", "clubs", ("id",), fields=_fields("id", "club")),
    "members": Dataset("members", "members", ("customer_id", "club_id"), fields=_fields("customer_id", "club_id")),
    "stock": Dataset("stock", "stock", ("shelf", "day"), fields=_fields("shelf", "day", "pieces", dates=("day",))),
    "tiers": Dataset(
        "tiers",
        "tiers",
        ("customer_id", "since"),
        fields=_fields("customer_id", "since", "until", "tier", dates=("since", "until")),
    ),
}
RELATIONS = (
    Relation("line_order", "lines", "orders", ("order_id",), ("id",)),
    Relation("order_customer", "orders", "customers", ("customer_id",), ("id",)),
    Relation("refund_customer", "refunds", "customers", ("customer_id",), ("id",)),
    Relation("member_customer", "members", "customers", ("customer_id",), ("id",), bridge=Bridge("once_per_group")),
    Relation("member_club", "members", "clubs", ("club_id",), ("id",)),
    Relation(
        "tier_then",
        "orders",
        "tiers",
        ("customer_id", "day"),
        ("customer_id", "since"),
        range=Range("day", "since", "until"),
    ),
)
METRICS = {
    "revenue": Metric(
        "revenue", "SUM(lines.amount)", time="orders.day", words=Words("line amounts", synonyms=("sales", "收入"))
    ),
    "freight": Metric("freight", "SUM(orders.freight)"),
    "orders_count": Metric("orders_count", "COUNT(orders.id)", fill_with=0),
    "refunded": Metric("refunded", "SUM(refunds.money)", words=Words(synonyms=("退款",))),
    "refund_rate": Metric("refund_rate", "SUM(refunds.money) / SUM(lines.amount)"),
    "customer_count": Metric("customer_count", "COUNT(customers.id)"),
    "buyers": Metric("buyers", "COUNT(DISTINCT orders.customer_id)"),
    "closing_stock": Metric("closing_stock", "SUM(stock.pieces)", non_additive=NonAdditive("stock.day", "last")),
    "last_stock": Metric(
        "last_stock", "SUM(stock.pieces)", non_additive=NonAdditive("stock.day", "last", ("stock.shelf",))
    ),
    "so_far": Metric("so_far", "SUM(orders.freight)", cumulative=Cumulative()),
    "freight_before": Metric("freight_before", "x", inputs=(Input("freight", "x", Span(1, Grain.MONTH)),)),
    "freight_share": Metric("freight_share", "SUM(orders.freight)", share_of_total=True),
    "draft_one": Metric("draft_one", "SUM(orders.freight)", words=Words(state="draft")),
}
SHOP = Layer("shop", DATASETS, RELATIONS, METRICS)

_ROWS = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, region TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, day DATE, freight INTEGER);
CREATE TABLE lines (id INTEGER PRIMARY KEY, order_id INTEGER, product TEXT, amount INTEGER);
CREATE TABLE refunds (id INTEGER PRIMARY KEY, customer_id INTEGER, day DATE, money INTEGER);
CREATE TABLE clubs (id INTEGER PRIMARY KEY, club TEXT);
CREATE TABLE members (customer_id INTEGER, club_id INTEGER, PRIMARY KEY (customer_id, club_id));
CREATE TABLE stock (shelf TEXT, day DATE, pieces INTEGER);
CREATE TABLE tiers (customer_id INTEGER, since DATE, until DATE, tier TEXT);
INSERT INTO customers VALUES (1, 'East'), (2, 'West'), (3, NULL);
INSERT INTO orders VALUES (1, 1, '2025-01-10', 10), (2, 1, '2025-02-10', 20), (3, 2, '2025-04-05', 5), (4, 9, '2025-04-06', 7);
INSERT INTO lines VALUES (1, 1, 'pen', 5), (2, 1, 'ink', 5), (3, 2, 'pen', 30), (4, 3, 'ink', 7);
INSERT INTO refunds VALUES (1, 1, '2025-01-20', 4), (2, 2, '2025-05-01', 1), (3, 3, '2025-05-02', 2);
INSERT INTO clubs VALUES (1, 'chess'), (2, 'golf');
INSERT INTO members VALUES (1, 1), (1, 2), (2, 2);
INSERT INTO stock VALUES ('a', '2025-01-31', 10), ('b', '2025-01-31', 5), ('a', '2025-02-28', 7), ('b', '2025-02-10', 4);
INSERT INTO tiers VALUES (1, '2025-01-01', '2025-02-10', 'silver'), (1, '2025-02-10', NULL, 'gold'), (2, '2025-01-01', NULL, 'silver');
"""


def shop_rows() -> sqlite3.Connection:
    """Return the shop's rows in memory."""
    opened = sqlite3.connect(":memory:")
    opened.executescript(_ROWS)
    return opened


def without_bridge() -> Layer:
    """Return the shop without the rule for members of clubs."""
    relations = tuple(replace(one, bridge=None) for one in RELATIONS)
    return replace(SHOP, relations=relations)
