"""What may be offered to a person: questions that are sound in their language, say something, and average only measures."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column, ColumnKind, Table
from querybus.sql.edit import read
from querybus.text.labels import flag_values
from querybus.text.readable_name import readable_name, spoken_name
from querybus.text.similarity import words
from querybus.text.words import is_plural, singular
from querybus_translator.writing.sketch import NUMERIC

_NO_MEASURE: Final = frozenset(
    [
        "id",
        "key",
        "code",
        "no",
        "nr",
        "nbr",
        "number",
        "num",
        "nummer",
        "year",
        "yr",
        "jahr",
        "month",
        "mon",
        "monat",
        "day",
        "week",
        "weekday",
        "quarter",
        "hour",
        "minute",
        "date",
        "time",
        "timestamp",
        "epoch",
        "zip",
        "zipcode",
        "postcode",
        "postal",
        "plz",
        "phone",
        "tel",
        "telephone",
        "fax",
        "mobile",
        "cell",
        "lat",
        "latitude",
        "lon",
        "lng",
        "long",
        "longitude",
        "coord",
        "coordinate",
        "x",
        "y",
        "z",
        "easting",
        "northing",
        "version",
        "ver",
        "seq",
        "sequence",
        "idx",
        "index",
        "position",
        "pos",
        "sort",
        "ordinal",
        "rank",
        "floor",
        "room",
        "page",
        "line",
        "row",
        "col",
        "column",
        "port",
        "isbn",
        "ean",
        "upc",
        "sku",
        "barcode",
        "uuid",
        "guid",
        "hash",
        "flag",
        "type",
        "status",
        "state",
        "class",
        "category",
        "group",
        "kind",
        "pin",
        "ssn",
        "iban",
        "swift",
        "account",
        "level",
        "stage",
        "iso",
        "fips",
        "naics",
        "sic",
        "dow",
        "doy",
        "since",
        "until",
    ]
)
_CHINESE_NO_MEASURE: Final = re.compile(
    "(?:编号|号码|号|代码|年份|年|月|日|邮编|电话|手机|经度|纬度|序号|排序|版本|类型|状态)$"
)
_UNITS: Final = frozenset(
    [
        "kg",
        "g",
        "km",
        "cm",
        "mm",
        "m",
        "sqm",
        "ml",
        "l",
        "kwh",
        "kw",
        "mb",
        "gb",
        "ms",
        "sec",
        "secs",
        "min",
        "mins",
        "hrs",
        "pct",
        "percent",
        "celsius",
    ]
)
_YEARS: Final = (1_800, 2_200)


def is_measure(column: Column, table: Table, catalog: Catalog) -> bool:
    """Return whether an average or a sum of a column says something: no keys, ids, years, codes, phone numbers or coordinates."""
    keys = {*table.primary_key, *(name for key in table.foreign_keys for name in key.columns)}
    if column.kind not in NUMERIC or column.name in keys or column.personal or flag_values(column) is not None:
        return False
    parts = words(readable_name(column.name, "en") or spoken_name(column.name))
    if not parts or _CHINESE_NO_MEASURE.search(column.name) or parts[0] in ("is", "has"):
        return False
    if parts[-1] in _NO_MEASURE or parts[-1].endswith(("id", "code")) or _names_table(parts, catalog):
        return False
    return not _holds_years(column)


def average_of(label: str, column: Column) -> tuple[str, ...]:
    """Return the ways to say of which figure an average is asked: a unit behind its name is left out, several are a number.

    >>> average_of("weight kg", Column(name="x", type="REAL")), average_of("docks", Column(name="x", type="INT", kind=ColumnKind.INTEGER))
    (('weight', 'weight kg'), ('docks', 'number of docks'))
    """
    start, _, last = label.rpartition(" ")
    if start and last.lower() in _UNITS:
        return (start, label)
    is_several = column.kind is ColumnKind.INTEGER and is_plural(last.lower())
    return (label, f"number of {label}") if is_several else (label,)


def _names_table(parts: tuple[str, ...], catalog: Catalog) -> bool:
    """Return whether a column is called like the rows of another table: `start_station` beside `stations`."""
    return any(words(table.name)[-1:] == (singular(parts[-1]),) for table in catalog.tables)


def _holds_years(column: Column) -> bool:
    profile = column.profile
    try:
        bounds = [int(text or "") for text in (profile.value_min, profile.value_max)] if profile is not None else []
    except ValueError:
        return False
    return len(bounds) > 1 and all(_YEARS[0] <= bound <= _YEARS[1] for bound in bounds)


def says_nothing(sql: str, catalog: Catalog) -> bool:
    """Return whether a statement shows only what its own conditions fix: the city where the city is Paris."""
    tree = read(sql, catalog.dialect)
    where = tree.args.get("where") if isinstance(tree, exp.Select) else None
    if tree is None or where is None:
        return False
    shown = [item.unalias() for item in tree.expressions]
    fixed = {
        equal.this.name.lower()
        for equal in where.find_all(exp.EQ)
        if isinstance(equal.this, exp.Column) and equal.find_ancestor(exp.Or, exp.Not) is None
    }
    return bool(shown) and all(isinstance(item, exp.Column) and item.name.lower() in fixed for item in shown)
