"""Which columns hold what a person can be reached or recognised by: known by their names, before any value is read.

E-mail addresses, phone and fax numbers, streets and addresses, birthdays, numbers of cards, passports and accounts.
Limits: names of people are none of them, because questions name people; a column with a name that says nothing is not
recognised. The owner's word stands above this: `personal` adds columns, `not_personal` takes them out.
"""

from __future__ import annotations

import re
from typing import Final

from querybus.text.similarity import words

_LAST: Final = frozenset(
    [
        "email",
        "mail",
        "phone",
        "telephone",
        "mobile",
        "cellphone",
        "fax",
        "street",
        "address",
        "birthday",
        "birthdate",
        "dob",
        "iban",
        "ssn",
        "passport",
        "passwd",
        "password",
        "pin",
    ]
)
_BEFORE: Final = frozenset({"number", "no", "num", "nr", "line", "1", "2", "3", "address", "id"})
_PAIRS: Final = frozenset(
    {
        ("birth", "date"),
        ("date", "birth"),
        ("birth", "day"),
        ("card", "number"),
        ("account", "number"),
        ("tax", "number"),
    }
    | {
        ("national", "id"),
        ("street", "name"),
        ("street", "line"),
        ("cell", "number"),
        ("contact", "number"),
        ("security", "number"),
    }
)
_NO_PERSONS: Final = frozenset({"ip", "mac", "web", "url", "wallet", "server", "host", "memory"})
_CHINESE: Final = re.compile(r"身份证|手机|电话|传真|邮箱|邮件|住址|地址|生日|出生日期|出生年月|银行卡|护照|密码")


def looks_personal(name: str) -> bool:
    """Return whether a column's name says that it holds personal contact or identity data.

    >>> [name for name in ("BillingAddress", "e_mail", "cust_phone_no", "date_of_birth", "city", "email_sent", "ip_address", "手机号")
    ...  if looks_personal(name)]
    ['BillingAddress', 'e_mail', 'cust_phone_no', 'date_of_birth', '手机号']
    """
    if _CHINESE.search(name):
        return True
    parts = [part for part in words(name) if part not in ("of", "the")]
    if not parts or not _NO_PERSONS.isdisjoint(parts):
        return False
    if parts[-1] in _LAST or (len(parts) > 1 and parts[-1] in _BEFORE and parts[-2] in _LAST):
        return True
    return tuple(parts[-2:]) in _PAIRS
