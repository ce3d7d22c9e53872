"""The demo shop: a SQLite file that is the same wherever it is made, in a second or two.

Fifteen tables with foreign keys, 50,000 order lines, texts from `demo_data/`; every date lies before FIXED_TODAY. Chance
comes from one seeded generator's `random()`, whose numbers no Python version changes; no power or logarithm is taken.
"""

from __future__ import annotations

import datetime as dt
import os
import sqlite3
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from math import sqrt
from pathlib import Path
from random import Random
from typing import Any, Final, TypeVar

FIXED_TODAY: Final = dt.date(2026, 6, 30)
"""The day that counts as today in the demo shop."""

ORDER_LINES: Final = 50_000
CUSTOMERS: Final = 4_000
STORES: Final = 18
_FIRST_DAY: Final = dt.date(2023, 7, 1)
_SEED: Final = 20_260_630
DEMO_DATA: Final = Path(__file__).with_name("demo_data")

SCHEMA: Final = """
CREATE TABLE countries (country_id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, name_zh TEXT NOT NULL);
CREATE TABLE cities (
    city_id INTEGER PRIMARY KEY, country_id INTEGER NOT NULL REFERENCES countries (country_id),
    name TEXT NOT NULL, name_zh TEXT NOT NULL, inhabitants INTEGER NOT NULL);
CREATE TABLE customers (
    customer_id INTEGER PRIMARY KEY, name TEXT NOT NULL, gender TEXT NOT NULL, email TEXT NOT NULL UNIQUE,
    phone TEXT, city_id INTEGER NOT NULL REFERENCES cities (city_id), level TEXT NOT NULL,
    points INTEGER NOT NULL, born_on DATE, registered_on DATE NOT NULL);
CREATE TABLE addresses (
    address_id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
    city_id INTEGER NOT NULL REFERENCES cities (city_id), street TEXT NOT NULL, postal_code TEXT NOT NULL,
    is_default BOOLEAN NOT NULL);
CREATE TABLE categories (
    category_id INTEGER PRIMARY KEY, parent_id INTEGER REFERENCES categories (category_id),
    name TEXT NOT NULL, name_zh TEXT NOT NULL);
CREATE TABLE suppliers (
    supplier_id INTEGER PRIMARY KEY, name TEXT NOT NULL, city_id INTEGER NOT NULL REFERENCES cities (city_id),
    rating INTEGER NOT NULL, since DATE NOT NULL);
CREATE TABLE products (
    product_id INTEGER PRIMARY KEY, name TEXT NOT NULL, name_zh TEXT NOT NULL,
    category_id INTEGER NOT NULL REFERENCES categories (category_id),
    supplier_id INTEGER NOT NULL REFERENCES suppliers (supplier_id),
    price DECIMAL(10,2) NOT NULL, cost DECIMAL(10,2) NOT NULL, stock INTEGER NOT NULL,
    launched_on DATE NOT NULL, is_active BOOLEAN NOT NULL);
CREATE TABLE stores (
    store_id INTEGER PRIMARY KEY, name TEXT NOT NULL, city_id INTEGER NOT NULL REFERENCES cities (city_id),
    opened_on DATE NOT NULL, area_m2 INTEGER NOT NULL);
CREATE TABLE employees (
    employee_id INTEGER PRIMARY KEY, name TEXT NOT NULL, store_id INTEGER NOT NULL REFERENCES stores (store_id),
    manager_id INTEGER REFERENCES employees (employee_id), job_title TEXT NOT NULL,
    salary DECIMAL(10,2) NOT NULL, hired_on DATE NOT NULL);
CREATE TABLE orders (
    order_id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
    store_id INTEGER NOT NULL REFERENCES stores (store_id), employee_id INTEGER REFERENCES employees (employee_id),
    address_id INTEGER REFERENCES addresses (address_id), ordered_on DATE NOT NULL, channel TEXT NOT NULL,
    status TEXT NOT NULL, total_amount DECIMAL(12,2) NOT NULL);
CREATE TABLE order_lines (
    order_line_id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (order_id),
    product_id INTEGER NOT NULL REFERENCES products (product_id), quantity INTEGER NOT NULL,
    unit_price DECIMAL(10,2) NOT NULL, discount_percent INTEGER NOT NULL, amount DECIMAL(12,2) NOT NULL);
CREATE TABLE payments (
    payment_id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (order_id), method TEXT NOT NULL,
    amount DECIMAL(12,2) NOT NULL, paid_at DATETIME NOT NULL, status TEXT NOT NULL);
CREATE TABLE shipments (
    shipment_id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (order_id), carrier TEXT NOT NULL,
    shipped_on DATE NOT NULL, delivered_on DATE, fee DECIMAL(8,2) NOT NULL);
CREATE TABLE reviews (
    review_id INTEGER PRIMARY KEY, product_id INTEGER NOT NULL REFERENCES products (product_id),
    customer_id INTEGER NOT NULL REFERENCES customers (customer_id), rating INTEGER NOT NULL, comment TEXT,
    written_on DATE NOT NULL);
CREATE TABLE returns (
    return_id INTEGER PRIMARY KEY, order_line_id INTEGER NOT NULL REFERENCES order_lines (order_line_id),
    quantity INTEGER NOT NULL, reason TEXT NOT NULL, refund DECIMAL(12,2) NOT NULL, returned_on DATE NOT NULL);
"""

_INDEXES: Final = """
CREATE INDEX orders_by_customer ON orders (customer_id);
CREATE INDEX orders_by_day ON orders (ordered_on);
CREATE INDEX order_lines_by_order ON order_lines (order_id);
CREATE INDEX order_lines_by_product ON order_lines (product_id);
"""

T = TypeVar("T")
Row = tuple[Any, ...]


class Chance:
    """Numbers and choices from one seeded generator."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random  # noqa: S311 - the same shop each time is the point

    def below(self, count: int) -> int:
        """Return 0 .. count - 1, each as likely."""
        return int(self._random() * count)

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self._random()

    def happens(self, share: float) -> bool:
        return self._random() < share

    def one(self, options: Sequence[T]) -> T:
        return options[int(self._random() * len(options))]

    def early(self, options: Sequence[T]) -> T:
        """Return one of the options; those at the front are the likelier ones."""
        return options[int(self._random() * self._random() * len(options))]

    def weighted(self, sums: Sequence[float]) -> int:
        """Return an index; `sums` are the running sums of the weights."""
        return bisect(sums, self._random() * sums[-1], 0, len(sums) - 1)


@dataclass(frozen=True, slots=True)
class _Place:
    city_id: int
    is_chinese: bool
    weight: int


class _Shop:
    """All rows of the shop by table, made in an order in which each refers to earlier ones only."""

    def __init__(self) -> None:
        self._chance = Chance(_SEED)
        self._names = _headed(_lines("names.txt"))
        self.rows: dict[str, list[Row]] = {}
        self._places: list[_Place] = []
        self._city_ids: dict[str, int] = {}
        self._make_places()
        self._make_products()
        self._make_stores()
        self._make_customers()
        self._make_orders()
        self._make_reviews()

    def _make_places(self) -> None:
        countries: list[Row] = []
        cities: list[Row] = []
        for number, line in enumerate(_lines("places.txt"), 1):
            name, name_zh, language, listed = line.split("|")
            countries.append((number, name, name_zh))
            for text in listed.split(","):
                city, city_zh, thousands, weight = text.split("/")
                city_id = len(cities) + 1
                cities.append((city_id, number, city, city_zh, int(thousands) * 1_000 + self._chance.below(1_000)))
                self._places.append(_Place(city_id, language == "zh", int(weight)))
                self._city_ids[city] = city_id
        self.rows["countries"] = countries
        self.rows["cities"] = cities

    def _make_products(self) -> None:
        chance = self._chance
        suppliers = [
            (number, name, self._city_ids[city], 2 + chance.below(4), _day(2012, chance.below(3_600)))
            for number, (name, city) in enumerate((line.split("|") for line in _lines("companies.txt")), 1)
        ]
        categories: list[Row] = []
        products: list[Row] = []
        parent = 0
        for line in _lines("goods.txt"):
            name, name_zh, *goods = line[1:].split("|")
            categories.append((len(categories) + 1, None if line[0] == "=" else parent, name, name_zh))
            if line[0] == "=":
                parent = len(categories)
                continue
            supplier_ids = [1 + chance.below(len(suppliers)) for _ in range(3)]
            variants = [good.split("/") for good in goods[1].split(",")]
            for good, (rank, (variant, variant_zh)) in product(
                (good.split("/") for good in goods[0].split(",")), enumerate(variants)
            ):
                price = round(float(good[2]) * (1 + 0.15 * rank) * chance.between(0.96, 1.08)) - 0.1
                products.append((
                    len(products) + 1, f"{good[0]} {variant}", f"{good[1]} {variant_zh}", len(categories),
                    chance.one(supplier_ids), round(price, 2), round(price * chance.between(0.4, 0.75), 2),
                    0 if chance.happens(0.04) else chance.below(600), _day(2021, chance.below(1_900)),
                    int(not chance.happens(0.06)),
                ))  # fmt: skip
        self.rows["categories"] = categories
        self.rows["suppliers"] = suppliers
        self.rows["products"] = products

    def _make_stores(self) -> None:
        chance = self._chance
        stores: list[Row] = []
        employees: list[Row] = []
        big = sorted(self._places, key=lambda place: (-place.weight, place.city_id))[: STORES - 1]
        names = {row[0]: (row[2], row[3]) for row in self.rows["cities"]}
        online = next(place for place in big if place.is_chinese)
        stores.append((1, "网上商城 Online", online.city_id, "2018-03-01", 0))
        for place in big:
            name, name_zh = names[place.city_id]
            title = f"{name_zh}店" if place.is_chinese else f"{name} Store"
            stores.append(
                (len(stores) + 1, title, place.city_id, _day(2018, chance.below(2_200)), 120 + chance.below(900))
            )
        for store, place in zip(stores, [online, *big], strict=True):
            opened = dt.date.fromisoformat(store[3])
            manager_id = len(employees) + 1
            for index in range(6 + chance.below(6)):
                title, base = _JOBS[0] if index == 0 else chance.early(_JOBS[1:])
                days = max(1, (FIXED_TODAY - opened).days - 30)
                hired = opened + dt.timedelta(days=0 if index == 0 else chance.below(days))
                salary = round(base * chance.between(0.85, 1.3) / 50) * 50.0
                person = self._person(place, chance.happens(0.5))
                manager = None if index == 0 else manager_id
                employees.append((len(employees) + 1, person, store[0], manager, title, salary, hired.isoformat()))
        self.rows["stores"] = stores
        self.rows["employees"] = employees

    def _make_customers(self) -> None:
        chance = self._chance
        sums = list(accumulate(place.weight for place in self._places))
        customers: list[Row] = []
        addresses: list[Row] = []
        for number in range(1, CUSTOMERS + 1):
            place = self._places[chance.weighted(sums)]
            is_female = chance.happens(0.53)
            born = None if chance.happens(0.08) else _day(1948, int(chance.between(0, 21_500)))
            # More people sign up in later years.
            days = int(sqrt(chance.between(0, 1)) * 2_190)
            registered = (dt.date(2020, 7, 1) + dt.timedelta(days=days)).isoformat()
            phone = None if chance.happens(0.05) else self._phone(place)
            level = ("bronze", "silver", "gold", "platinum")[chance.weighted((62, 86, 96, 100))]
            points = int(
                chance.between(0, 1)
                * chance.between(0, 1)
                * {"bronze": 900, "silver": 3_000, "gold": 9_000}.get(level, 20_000)
            )
            customers.append((
                number, self._person(place, is_female), "female" if is_female else "male",
                f"user{number:05d}@example.{'cn' if place.is_chinese else 'com'}", phone, place.city_id, level, points,
                born, registered,
            ))  # fmt: skip
            for index in range(1 + chance.happens(0.2)):
                where = place if index == 0 else self._places[chance.weighted(sums)]
                addresses.append((
                    len(addresses) + 1, number, where.city_id, self._street(where),
                    f"{100_000 + chance.below(800_000)}", int(index == 0),
                ))  # fmt: skip
        self.rows["customers"] = customers
        self.rows["addresses"] = addresses

    def _make_orders(self) -> None:
        chance = self._chance
        days = _shop_days()
        day_sums = list(accumulate(_busyness(day) for day in days))
        # Few buy much: the customer's rank decides, and ranks are dealt out by chance.
        buyer_sums = list(accumulate(1 / (400 + CUSTOMERS * chance.between(0, 1)) for _ in range(CUSTOMERS)))
        products = self.rows["products"]
        product_sums = list(accumulate(1 / (8 + 150 * chance.between(0, 1)) for _ in products))
        home: dict[int, int] = {}
        for address_id, customer_id, *_ in self.rows["addresses"]:
            home.setdefault(customer_id, address_id)
        registered = [row[9] for row in self.rows["customers"]]
        staff: dict[int, list[tuple[int, str]]] = {}
        for employee in self.rows["employees"]:
            staff.setdefault(employee[2], []).append((employee[0], employee[6]))
        store_of_city = {row[2]: row[0] for row in self.rows["stores"][1:]}
        city_of = [row[5] for row in self.rows["customers"]]
        opened = {row[0]: row[3] for row in self.rows["stores"]}
        orders, lines, payments, shipments, returns = ([] for _ in range(5))
        for day_index, line_count in _drawn_orders(chance, day_sums):
            day = days[day_index]
            customer = chance.weighted(buyer_sums)
            while registered[customer] > day:
                customer = chance.weighted(buyer_sums)
            order_id = len(orders) + 1
            local = store_of_city.get(city_of[customer])
            in_store = local is not None and opened[local] <= day and chance.happens(0.35)
            store_id = local if local is not None and in_store else 1
            seller = chance.one(staff[store_id]) if in_store else None
            age = (FIXED_TODAY - dt.date.fromisoformat(day)).days
            channel = "store" if in_store else ("website", "app", "mini program")[chance.weighted((35, 75, 100))]
            status = _status(chance, age, in_store=in_store)
            total = 0.0
            first_line = len(lines)
            for _ in range(line_count):
                item = products[chance.weighted(product_sums)]
                quantity = 1 + chance.weighted((70, 88, 95, 98, 100))
                discount = (0, 5, 10, 15, 20, 30)[chance.weighted((62, 74, 86, 92, 97, 100))]
                amount = round(item[5] * quantity * (100 - discount) / 100, 2)
                total += amount
                lines.append((len(lines) + 1, order_id, item[0], quantity, item[5], discount, amount))
            total = round(total, 2)
            orders.append((
                order_id, customer + 1, store_id, seller[0] if seller and seller[1] <= day else None,
                None if in_store else home[customer + 1], day, channel, status, total,
            ))  # fmt: skip
            if status != "pending":
                payments.append((len(payments) + 1, order_id, *_payment(chance, day, total, status)))
            if not in_store and status in ("shipped", "completed", "returned"):
                shipments.append((len(shipments) + 1, order_id, *_shipment(chance, day, total, status)))
            if status == "returned":
                line = lines[first_line + chance.below(len(lines) - first_line)]
                back = 1 + chance.below(line[3])
                returned_on = dt.date.fromisoformat(day) + dt.timedelta(days=5 + chance.below(16))
                reason = chance.early(_RETURN_REASONS)
                refund = round(line[6] * back / line[3], 2)
                returns.append((len(returns) + 1, line[0], back, reason, refund, returned_on.isoformat()))
        self.rows |= {
            "orders": orders, "order_lines": lines, "payments": payments, "shipments": shipments, "returns": returns,
        }  # fmt: skip

    def _make_reviews(self) -> None:
        chance = self._chance
        texts: dict[int, list[str]] = {}
        for line in _lines("comments.txt"):
            stars, text = line.split("|")
            texts.setdefault(int(stars), []).append(text)
        reviews: list[Row] = []
        orders = self.rows["orders"]
        last_day = FIXED_TODAY.isoformat()
        for line in self.rows["order_lines"]:
            if not chance.happens(0.14):
                continue
            order = orders[line[1] - 1]
            written = (dt.date.fromisoformat(order[5]) + dt.timedelta(days=4 + chance.below(40))).isoformat()
            if order[7] not in ("completed", "returned") or written > last_day:
                continue
            # A product has its own quality: its number decides how its reviews lean.
            rating = 5 - chance.weighted((52 - 3 * (line[2] % 7), 78, 90, 96, 100))
            comment = None if chance.happens(0.3) else chance.one(texts[rating])
            reviews.append((len(reviews) + 1, line[2], order[1], rating, comment, written))
        self.rows["reviews"] = reviews

    def _person(self, place: _Place, is_female: bool) -> str:
        chance, names = self._chance, self._names
        sex = "female" if is_female else "male"
        if place.is_chinese:
            return chance.early(names["zh_surnames"]) + chance.one(names[f"zh_given_{sex}"])
        return f"{chance.one(names[f'en_given_{sex}'])} {chance.early(names['en_surnames'])}"

    def _street(self, place: _Place) -> str:
        number = 1 + self._chance.below(300)
        if place.is_chinese:
            return f"{self._chance.one(self._names['zh_streets'])}{number}号"
        return f"{number} {self._chance.one(self._names['en_streets'])}"

    def _phone(self, place: _Place) -> str:
        if place.is_chinese:
            return f"1{30 + self._chance.below(60)}{10_000_000 + self._chance.below(90_000_000)}"
        return f"+1-555-{self._chance.below(10_000):04d}-{self._chance.below(1_000):03d}"


_JOBS: Final = (
    ("Store Manager", 16_000),
    ("Sales Assistant", 6_500),
    ("Cashier", 6_000),
    ("Warehouse Clerk", 6_200),
    ("Customer Service", 6_800),
    ("Buyer", 9_500),
)
_RETURN_REASONS: Final = (
    "does not fit",
    "damaged",
    "not as described",
    "changed my mind",
    "wrong item",
    "late delivery",
)
_CARRIERS: Final = ("SF Express", "JD Logistics", "DHL", "UPS", "EMS", "FedEx")
_METHODS: Final = ("Alipay", "WeChat Pay", "credit card", "bank transfer", "PayPal", "cash")


def write_demo(path: Path) -> None:
    """Write the demo shop to the path; whatever stood there is replaced at once, or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.unlink(missing_ok=True)
    try:
        database = sqlite3.connect(unfinished, isolation_level=None)
        try:
            database.execute("PRAGMA journal_mode=OFF")
            database.execute("PRAGMA synchronous=OFF")
            database.execute("BEGIN")
            for statement in SCHEMA.split(";"):
                database.execute(statement)
            for table, rows in _Shop().rows.items():
                places = ",".join("?" * len(rows[0]))
                database.executemany(f"INSERT INTO {table} VALUES ({places})", rows)  # noqa: S608 - our own names
            for statement in _INDEXES.split(";"):
                database.execute(statement)
            database.execute("COMMIT")
        finally:
            database.close()
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def demo_connection(path: Path) -> dict[str, Any]:
    """Return the demo shop's entry in `connections.yaml`: names for people in English and Chinese included."""
    names: dict[str, Mapping[str, str]] = {}
    synonyms: dict[str, list[str]] = {}
    for line in _lines("labels.txt"):
        key, english, chinese, *words = line.split("|")
        names[key] = {"en": english, "zh": chinese}
        if words:
            synonyms[key] = words[0].split(",")
    return {
        "name": "shop",
        "url": f"sqlite:///{Path(path).absolute()}",
        "description": "The demo shop: customers, products, orders, payments and deliveries up to 30 June 2026",
        "display_names": names,
        "synonyms": synonyms,
        "glossary": {
            "revenue": "the sum of the amounts of order lines",
            "average order value": "the average total of orders",
            "销售额": "订单明细金额之和",
            "客单价": "订单金额的平均值",
        },
        "definitions": str(DEMO_DATA / "definitions.yaml"),
        "today": FIXED_TODAY.isoformat(),
        "personal": ["customers.email", "customers.phone", "addresses.street"],
    }


def _drawn_orders(chance: Chance, day_sums: Sequence[float]) -> list[tuple[int, int]]:
    """Return day and number of lines of each order, by day; together they have ORDER_LINES lines."""
    counts: list[int] = []
    left = ORDER_LINES
    while left:
        counts.append(min(left, 1 + chance.weighted((38, 66, 82, 91, 96, 100))))
        left -= counts[-1]
    return list(zip(sorted(chance.weighted(day_sums) for _ in counts), counts, strict=True))


def _status(chance: Chance, age: int, *, in_store: bool) -> str:
    if in_store:
        return "returned" if age > 25 and chance.happens(0.015) else "completed"
    if age <= 2 and chance.happens(0.6):
        return "pending" if chance.happens(0.4) else "paid"
    if age <= 9 and chance.happens(0.7):
        return "shipped"
    return ("completed", "cancelled", "returned")[chance.weighted((91, 96, 100))] if age > 25 else "completed"


def _payment(chance: Chance, day: str, total: float, status: str) -> Row:
    seconds = 8 * 3_600 + chance.below(14 * 3_600)
    paid_at = f"{day} {seconds // 3_600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    state = "refunded" if status in ("cancelled", "returned") else "paid"
    return chance.early(_METHODS), total, paid_at, state


def _shipment(chance: Chance, day: str, total: float, status: str) -> Row:
    shipped = dt.date.fromisoformat(day) + dt.timedelta(days=chance.below(2))
    delivered = None
    if status != "shipped":
        delivered = min(FIXED_TODAY, shipped + dt.timedelta(days=1 + chance.below(4))).isoformat()
    fee = 0.0 if total >= 300 else round(chance.between(5, 18), 1)
    return chance.early(_CARRIERS), min(FIXED_TODAY, shipped).isoformat(), delivered, fee


def _shop_days() -> list[str]:
    count = (FIXED_TODAY - _FIRST_DAY).days + 1
    return [(_FIRST_DAY + dt.timedelta(days=index)).isoformat() for index in range(count)]


def _busyness(day: str) -> float:
    """Sales grow from year to year; weekends and the sales festivals of June, November and December are busy."""
    date = dt.date.fromisoformat(day)
    growth = 1 + 0.45 * (date - _FIRST_DAY).days / 365
    season = {1: 0.9, 2: 0.7, 6: 1.25, 11: 1.6, 12: 1.35}.get(date.month, 1.0)
    return growth * season * (1.3 if date.weekday() >= 5 else 1.0)


def _day(year: int, days: int) -> str:
    return min(FIXED_TODAY, dt.date(year, 1, 1) + dt.timedelta(days=days)).isoformat()


def _lines(name: str) -> list[str]:
    text = (DEMO_DATA / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _headed(lines: Sequence[str]) -> dict[str, list[str]]:
    """Return the lists of a file of headings in brackets; entries are parted by bars, or else by spaces."""
    result: dict[str, list[str]] = {}
    for heading, line in _pairs(lines):
        result[heading.strip("[]")] = line.split("|") if "|" in line else line.split()
    return result


def _pairs(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    return zip(lines[::2], lines[1::2], strict=True)
