"""Which columns hold what a person can be reached or recognised by: known by their names and by the form of their values.

Contact and identity data: e-mail addresses, phone and fax numbers, streets and addresses, birthdays, numbers of cards,
passports and accounts. Names: of private persons only (customers, staff, patients, pupils); artists, players and
products keep theirs, because questions are about them. Limits: a column whose name says nothing is recognised by its
values alone, names of people never are. The owner's word stands above this: `personal` adds columns, `not_personal`
takes them out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from querybus.core.catalog import Column
from querybus.text.similarity import words
from querybus.text.words import singular, word_set

BY_ITS_NAME: Final = "by its name"
FORM_SHARE_MIN: Final = 0.8
FORM_VALUES_MIN: Final = 3

_LAST: Final = word_set(
    "email mail phone telephone mobile cellphone fax street address birthday birthdate dob iban ssn passport passwd"
    " password pin"
)
_BEFORE: Final = word_set("number no num nr line 1 2 3 address")
_PAIRS: Final = frozenset(
    {
        ("birth", "date"),
        ("date", "birth"),
        ("birth", "day"),
        ("card", "number"),
        ("account", "number"),
        ("tax", "number"),
        ("national", "id"),
        ("email", "id"),
        ("mail", "id"),
        ("street", "name"),
        ("street", "line"),
        ("cell", "number"),
        ("contact", "number"),
        ("security", "number"),
    }
)
_NO_PERSONS: Final = word_set("ip mac web url wallet server host memory")
_CHINESE: Final = re.compile(r"身份证|手机|电话|传真|邮箱|邮件|住址|地址|生日|出生日期|出生年月|银行卡|护照|密码")

_PERSONS: Final = word_set(
    "customer client employee staff patient student pupil member user person people contact guest worker colleague"
    " subscriber visitor applicant candidate resident tenant borrower reader teacher instructor faculty doctor physician"
    " nurse donor donator passenger recipient dependent cust emp cardholder policyholder insured debtor volunteer"
    " driver courier agent manager supervisor trainer coach technician mechanic engineer operator cashier clerk"
    " receptionist secretary accountant consultant adviser advisor lawyer therapist dentist vet veterinarian midwife"
    " seller salesperson salesman rep representative owner parent sibling spouse relative neighbor neighbour"
)
_PUBLIC: Final = word_set(
    "artist author actor actress player director singer composer writer band performer musician editor journalist"
    " athlete wrestler candidate politician president host presenter jockey rider skater swimmer cyclist"
)
"""Persons who are known to everybody, and asked about by their names."""
_NAME_PARTS: Final = word_set("first last middle given family maiden personal birth")
_WHOLE_NAMES: Final = word_set("firstname lastname surname forename fname lname mname")
_CHINESE_NAMES: Final = re.compile(r"姓名|名字|^姓$")
_CHINESE_PERSONS: Final = re.compile(
    r"客户|顾客|员工|职员|患者|病人|学生|会员|用户|联系人|读者|教师|老师|医生|护士|居民"
)

_FORMS: Final[Mapping[str, re.Pattern[str]]] = {
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[a-zA-Z]{2,}"),
    "phone numbers": re.compile(
        r"(?=(?:\D*\d){9,15}\D*$)(?=.*[\s()+-]|1[3-9]\d{9}$)(?!\d{4}[-/.]\d\d?[-/.]\d)[(+\d][\d\s().\-/]{7,22}\d(?: ?(?:x|ext\.?) ?\d+)?"
        r"|\d{3}[-. ]\d{4}"
    ),
    "identity numbers": re.compile(r"\d{17}[\dXx]|\d{3}-\d{2}-\d{4}"),
    "street addresses": re.compile(
        r"\d{1,5}[A-Za-z]?,? (?:[\w.'-]+ ){1,4}(?:street|st|road|rd|avenue|ave|lane|ln|drive|dr|boulevard|blvd|way|court|ct)\b.*"
        r"|[\w .'-]*(?:street|straße|strasse|str\.|road|avenue) \d{1,4}[a-z]?\b.*"
        r"|.*[路街道巷弄]\s*\d+\s*[号弄].*",
        re.IGNORECASE,
    ),
}


def looks_personal(name: str) -> bool:
    """Return whether a column's name says that it holds personal contact or identity data.

    >>> [name for name in ("BillingAddress", "e_mail", "cust_phone_no", "date_of_birth", "address_id", "city", "email_sent", "ip_address", "手机号")
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


def names_persons(table: str, column: str) -> bool:
    """Return whether a column holds names of private persons.

    >>> [names_persons(*pair) for pair in (("customers", "name"), ("t", "LastName"), ("orders", "customer_name"), ("学生", "姓名"))]
    [True, True, True, True]
    >>> [names_persons(*pair) for pair in (("products", "name"), ("artists", "name"), ("customers", "company_name"), ("users", "user_name_id"))]
    [False, False, False, False]
    """
    if _CHINESE_NAMES.search(column):
        return True
    if column.endswith("名"):
        return _CHINESE_PERSONS.search(f"{table}{column}") is not None
    parts = list(words(column))
    if not parts:
        return False
    if parts[-1] in _WHOLE_NAMES:
        return True
    if parts[-1] != "name":
        return False
    before = [singular(part) for part in parts[:-1]]
    if before == ["full"]:
        # Only persons have a full name.
        return not _is_any_of(words(table), _PUBLIC)
    if before in ([], [singular(part) for part in words(table)]):
        return _is_any_of(words(table), _PERSONS)
    return before[-1] in _NAME_PARTS or before[-1] in _PERSONS


def recognised_by(table: str, column: Column) -> str:
    """Return how a personal column of a catalog was recognised, for its owner; empty for one that is not personal."""
    if not column.personal:
        return ""
    if looks_personal(column.name) or names_persons(table, column.name):
        return BY_ITS_NAME
    return "by the form of its values"


def _is_any_of(parts: Iterable[str], persons: Collection[str]) -> bool:
    last = list(parts)[-1:]
    return bool(last) and singular(last[0]) in persons


def personal_form(values: Collection[str]) -> str:
    """Return what nearly all values look like: `e-mail addresses`, `phone numbers`, ...; empty where they do not.

    >>> personal_form(["a@x.org", "b@y.com", "c@z.net"]), personal_form(["Bern", "Rome", "Oslo"]), personal_form(["2024-01-02"] * 3)
    ('e-mail addresses', '', '')
    """
    filled = [value.strip() for value in values if value.strip()]
    if len(filled) < FORM_VALUES_MIN:
        return ""
    for name, form in _FORMS.items():
        if sum(form.fullmatch(value) is not None for value in filled) >= FORM_SHARE_MIN * len(filled):
            return name
    return ""
