"""Which units are currencies, and which columns count hundredths of one."""

from __future__ import annotations

import re
from typing import Final

from querybus.core.catalog import Column, ColumnKind

_CODES: Final = frozenset(
    [
        "AED",
        "AFN",
        "ALL",
        "AMD",
        "AOA",
        "ARS",
        "AUD",
        "AWG",
        "AZN",
        "BAM",
        "BBD",
        "BDT",
        "BGN",
        "BHD",
        "BIF",
        "BMD",
        "BND",
        "BOB",
        "BRL",
        "BSD",
        "BTN",
        "BWP",
        "BYN",
        "BZD",
        "CAD",
        "CDF",
        "CHF",
        "CLP",
        "CNH",
        "CNY",
        "COP",
        "CRC",
        "CUP",
        "CVE",
        "CZK",
        "DJF",
        "DKK",
        "DOP",
        "DZD",
        "EGP",
        "ERN",
        "ETB",
        "EUR",
        "FJD",
        "FKP",
        "GBP",
        "GEL",
        "GHS",
        "GIP",
        "GMD",
        "GNF",
        "GTQ",
        "GYD",
        "HKD",
        "HNL",
        "HTG",
        "HUF",
        "IDR",
        "ILS",
        "INR",
        "IQD",
        "IRR",
        "ISK",
        "JMD",
        "JOD",
        "JPY",
        "KES",
        "KGS",
        "KHR",
        "KMF",
        "KPW",
        "KRW",
        "KWD",
        "KYD",
        "KZT",
        "LAK",
        "LBP",
        "LKR",
        "LRD",
        "LSL",
        "LYD",
        "MAD",
        "MDL",
        "MGA",
        "MKD",
        "MMK",
        "MNT",
        "MOP",
        "MRU",
        "MUR",
        "MVR",
        "MWK",
        "MXN",
        "MYR",
        "MZN",
        "NAD",
        "NGN",
        "NIO",
        "NOK",
        "NPR",
        "NZD",
        "OMR",
        "PAB",
        "PEN",
        "PGK",
        "PHP",
        "PKR",
        "PLN",
        "PYG",
        "QAR",
        "RMB",
        "RON",
        "RSD",
        "RUB",
        "RWF",
        "SAR",
        "SBD",
        "SCR",
        "SDG",
        "SEK",
        "SGD",
        "SHP",
        "SLE",
        "SOS",
        "SRD",
        "SSP",
        "STN",
        "SVC",
        "SYP",
        "SZL",
        "THB",
        "TJS",
        "TMT",
        "TND",
        "TOP",
        "TRY",
        "TTD",
        "TWD",
        "TZS",
        "UAH",
        "UGX",
        "USD",
        "UYU",
        "UZS",
        "VED",
        "VES",
        "VND",
        "VUV",
        "WST",
        "XAF",
        "XCD",
        "XOF",
        "XPF",
        "YER",
        "ZAR",
        "ZMW",
        "ZWG",
    ]
)
"""ISO 4217, with the two codes that people use for the renminbi besides."""
_WORDS: Final = re.compile(
    r"[€$£¥￥₹₩₽₺₴₦₫฿₪]|(?:us |u\.s\. |canadian |australian |hong kong )?dollars?|euros?|pounds?|yuan|yen|francs?|rupees?"
    r"|元|人民币|美元|欧元|日元|英镑|港元|港币|澳元|加元|瑞士法郎|韩元|卢布|新台币|新加坡元",
    re.IGNORECASE,
)
_CENTS: Final = re.compile(r"(?P<currency>.*?)[ \-]?(?:cents?|ct|pence|美分|分)", re.IGNORECASE)
_NAMED_CENTS: Final = re.compile(r"(?:^|_)(?:cents?|pence)$|[a-z](?:Cents?|Pence)$")
_SAID_CENTS: Final = re.compile(r"(?:\b|_)(?:cents?|pence)\b|美分", re.IGNORECASE)
_CENTS_OF_LABEL: Final = re.compile(
    r"[\s_]*[(（]?(?:\bin )?(?:\b|(?<=_))(?:cents?|pence)[)）]?$|[(（]分[)）]$", re.IGNORECASE
)


def is_currency(unit: str) -> bool:
    """Return whether a unit is a currency.

    >>> is_currency("EUR"), is_currency("元"), is_currency("US dollars"), is_currency("days"), is_currency("KWH")
    (True, True, True, False, False)
    """
    unit = unit.strip()
    return unit.upper() in _CODES or _WORDS.fullmatch(unit) is not None


def cents_currency(unit: str) -> str | None:
    """Return of which currency a unit is the hundredth part, empty where that is not said; None for any other unit.

    >>> cents_currency("cents"), cents_currency("EUR cents"), cents_currency("percents"), cents_currency("分")
    ('', 'EUR', None, '')
    """
    match = _CENTS.fullmatch(unit.strip())
    if match is None or (match["currency"] and not is_currency(match["currency"])):
        return None
    return match["currency"].strip()


def is_in_cents(column: Column) -> bool:
    """Return whether whole numbers of a column count hundredths: its owner says so, or it is called so and has no other unit."""
    if column.unit:
        return any(cents_currency(unit) is not None for unit in column.unit.values())
    return column.kind is ColumnKind.INTEGER and _NAMED_CENTS.search(column.name) is not None


def says_cents(text: str) -> bool:
    """Return whether a question speaks of cents itself.

    >>> says_cents("fares over 250 cents"), says_cents("fare_cents over 250"), says_cents("fares over 250"), says_cents("percents")
    (True, True, False, False)
    """
    return _SAID_CENTS.search(text) is not None


def without_cents(label: str) -> str:
    """Return a label without its cents at the end, for an amount that is shown in whole units.

    >>> without_cents("Total fare (cents)"), without_cents("fare_cents"), without_cents("Cents"), without_cents("Cent street")
    ('Total fare', 'fare', '', 'Cent street')
    """
    return _CENTS_OF_LABEL.sub("", label)
