"""Which columns hold what a person can be reached or recognised by: known by names, by the columns beside them, by values.

Contact and identity data: e-mail addresses, phone and fax numbers, streets and addresses, birthdays, numbers of cards,
passports and accounts. Names: of private persons only (customers, staff, patients, pupils); artists, players, animals,
companies and products keep theirs, because questions are about them. A table of persons is known by its name, or by what
only persons have: a birthday, a sex beside an age or a title, a first and a last name. `personal_values.py` then asks
the values. The owner's word stands above this: `personal` adds columns, `not_personal` takes them out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from querybus.core.catalog import Catalog, Column, ColumnKind, Personal, Table
from querybus.text.similarity import words
from querybus_executor.catalog.personal_words import (
    AFTER,
    BESIDE,
    BESIDE_NAMES,
    BIRTH,
    BIRTH_PARTS,
    CONTACT,
    DEVICES,
    EITHER,
    FIRST,
    FULL,
    LAST,
    MARKS,
    NAME,
    NO_CONTACT,
    NO_PERSONS,
    PAIRS,
    PARTS,
    PERHAPS_COMPANIES,
    PERSONS,
    PUBLIC,
    TEXT_CONTACT,
    WHOLE,
    WHOSE,
    name_parts,
    table_parts,
)

BY_ITS_NAME: Final = "by its name"
BY_ITS_COMPANY: Final = "by the columns beside it"
BY_ITS_VALUES: Final = "by the form of its values"

_CHINESE: Final = re.compile(r"身份证|手机|电话|传真|邮箱|邮件|住址|地址|生日|出生日期|出生年月|银行卡|护照|密码")
_CHINESE_NAMES: Final = re.compile(r"姓名|名字|^姓$")
_CHINESE_PERSONS: Final = re.compile(
    r"客户|顾客|员工|职员|患者|病人|学生|会员|用户|联系人|读者|教师|老师|医生|护士|居民"
)
_CHINESE_MARKS: Final = re.compile(r"性别|出生|身份证|婚姻|民族")
_FLAGS: Final = frozenset({"is", "has", "can", "allow", "opt"})
_TEXTUAL: Final = frozenset({ColumnKind.TEXT, ColumnKind.OTHER})
_DAYS: Final = frozenset({ColumnKind.DATE, ColumnKind.DATETIME})

Kinds = Mapping[str, tuple[Personal, str]]
"""By column: what it holds, and how it was recognised."""


@dataclass(frozen=True, slots=True)
class LooksPersonal:
    """A column that holds, or looks as if it held, personal data, and how it was recognised."""

    table: Table
    column: Column
    kind: Personal
    reason: str

    @property
    def key(self) -> str:
        """The name of the column in a connections file."""
        return f"{self.table.name}.{self.column.name}"


def looks_personal(name: str) -> bool:
    """Return whether a column's name says that it holds personal contact or identity data.

    >>> [name for name in ("BillingAddress", "e_mail", "cust_phone_no", "date_of_birth", "address_id", "city", "email_sent", "ip_address", "手机号")
    ...  if looks_personal(name)]
    ['BillingAddress', 'e_mail', 'cust_phone_no', 'date_of_birth', '手机号']
    """
    if _CHINESE.search(name):
        return True
    parts = name_parts(name)
    if not parts or not NO_CONTACT.isdisjoint(words(name)) or parts[0] in _FLAGS or parts[-1] == "id":
        return tuple(parts[-2:]) in PAIRS
    if parts[-1] in CONTACT or tuple(parts[-2:]) in PAIRS or tuple(parts[:2]) in PAIRS:
        return True
    return len(parts) > 1 and ((parts[-1] in AFTER and parts[-2] in CONTACT) or (parts[0] in CONTACT and _is_of(parts)))


def _is_of(parts: Sequence[str]) -> bool:
    """Return whether the words after the first say whose it is."""
    return all(part in PERSONS or part in AFTER or part in WHOSE or part.isdigit() for part in parts[1:])


def names_persons(table: str, column: str) -> bool:
    """Return whether the names of table and column say that the column holds names of private persons.

    >>> [names_persons(*pair) for pair in (("customers", "name"), ("t", "LastName"), ("orders", "customer_name"), ("学生", "姓名"), ("x", "NM_FIRST"))]
    [True, True, True, True, True]
    >>> [names_persons(*pair) for pair in (("products", "name"), ("artists", "name"), ("customers", "company_name"), ("users", "user_name_id"))]
    [False, False, False, False]
    """
    if _CHINESE_NAMES.search(column):
        return True
    if column.endswith("名"):
        return _CHINESE_PERSONS.search(f"{table}{column}") is not None
    parts = name_parts(column)
    own = table_parts(table)
    if not parts:
        return False
    if parts[-1] in WHOLE or (parts[0] in WHOLE and _is_of(parts)):
        return not (parts[-1] == "fullname" and own[-1:] and own[-1] in PUBLIC)
    if NAME.isdisjoint((parts[0], parts[-1])):
        return False
    others = parts[:-1] if parts[-1] in NAME else parts[1:]
    is_behind = parts[-1] not in NAME
    if others and all(part in FULL for part in others):
        return others[-1] == "full" and not _is_any_of(own, PUBLIC)
    if not others or others == own:
        return _is_any_of(own, PERSONS)
    # "name_first" and "first_name"; "name_of_customer" and "customer_name", but no "name_change_member".
    nearest = others[0] if is_behind else others[-1]
    if is_behind and len(others) > 1 and not all(part in PERSONS or part in PARTS for part in others):
        return False
    return nearest in PARTS or nearest in PERSONS


def personal_kinds(table: str, columns: Sequence[Column]) -> Kinds:
    """Return which of a table's columns are personal by their names or by the columns beside them."""
    result: dict[str, tuple[Personal, str]] = {}
    has_devices = any(not DEVICES.isdisjoint(name_parts(column.name)) for column in columns)
    for column in columns:
        if (_is_birthday(column) or looks_personal(column.name)) and _may_hold(column, has_devices=has_devices):
            result[column.name] = ("contact", BY_ITS_NAME)
        elif names_persons(table, column.name) and column.kind in _TEXTUAL:
            result[column.name] = ("name", BY_ITS_NAME)
    parts = {column.name: name_parts(column.name) for column in columns}
    own = table_parts(table)
    if _is_of_companies(own, parts, result):
        return {name: kind for name, kind in result.items() if kind[0] != "name" or not _is_plain(parts[name], own)}
    if own[-1:] and own[-1] in NO_PERSONS and not _is_reached(parts, result, own):
        return result
    is_of_persons = _is_any_of(own, PERSONS) or _is_reached(parts, result, own) or _has_marks(columns, parts, result)
    halves = {half for words_ in parts.values() for half in _halves(words_)}
    for column in columns:
        if column.name in result:
            continue
        kind = _beside(column, parts[column.name], own, is_of_persons=is_of_persons, has_both=len(halves) > 1)
        if kind is not None:
            result[column.name] = (kind, BY_ITS_COMPANY)
    return result


def _may_hold(column: Column, *, has_devices: bool) -> bool:
    """Return whether a column's kind can hold what its name says: no flags, no counts of e-mails, no days but birthdays."""
    parts = name_parts(column.name)
    if column.kind in _DAYS:
        return _is_birth(parts) or _CHINESE.search(column.name) is not None or tuple(parts[-2:]) in PAIRS
    if column.kind in (ColumnKind.INTEGER, ColumnKind.NUMBER):
        return not (set(parts) & TEXT_CONTACT or (has_devices and parts[-1:] == ("mobile",)))
    return column.kind is not ColumnKind.BOOLEAN


def _beside(
    column: Column, parts: tuple[str, ...], own: tuple[str, ...], *, is_of_persons: bool, has_both: bool
) -> Personal | None:
    """Return what a column holds whose name says it in a table of persons only."""
    is_text = column.kind in _TEXTUAL
    last = parts[-1] if parts else ""
    if is_text and has_both and any(_halves(parts)):
        return "name"
    if not is_of_persons or not parts:
        return None
    if is_text and (_is_plain(parts, own) or last in BESIDE_NAMES or (last in EITHER and len(parts) == 1)):
        return "name"
    left = [part for part in parts if part not in PERSONS and part not in AFTER]
    named = [part for part in left if part not in WHOSE] or left
    if len(named) == 1 and named[0] in BESIDE:
        return "contact" if is_text or column.kind in _DAYS else None
    return None


def _halves(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return which half of a name a column holds that is called by nothing but that: `first`, `PatLast`, `xing`."""
    left = [part for part in parts if part not in PERSONS]
    if len(left) != 1:
        return ()
    if left[0] in FIRST or left[0] in ("fname", "ming"):
        return ("first",)
    return ("last",) if left[0] in LAST or left[0] in ("nname", "sname", "lname", "xing") else ()


def _is_plain(parts: tuple[str, ...], own: tuple[str, ...]) -> bool:
    """Return whether a column is called a name, of nothing else than its own table's rows."""
    others = tuple(part for part in parts if part not in NAME)
    return len(others) < len(parts) and (not others or others == own or all(part in FULL for part in others))


def _is_of_companies(own: tuple[str, ...], parts: Mapping[str, tuple[str, ...]], found: Kinds) -> bool:
    """Return whether the rows are customers that have what only companies have, and nothing that only persons have."""
    if not (own and own[-1] in PERHAPS_COMPANIES):
        return False
    has_companies = any(not MARKS["companies"].isdisjoint((*words_, "".join(words_))) for words_ in parts.values())
    return has_companies and not any(_is_birth(parts[name]) or any(_halves(parts[name])) for name in found)


def _is_birth(parts: tuple[str, ...]) -> bool:
    return bool(parts) and (parts[-1] in BIRTH or not BIRTH_PARTS.isdisjoint(parts))


def _is_birthday(column: Column) -> bool:
    return column.kind in _DAYS and not BIRTH_PARTS.isdisjoint(name_parts(column.name))


def _has_marks(columns: Sequence[Column], parts: Mapping[str, tuple[str, ...]], found: Kinds) -> bool:
    """Return whether a table has what only tables of persons have."""
    if any(_is_birth(parts[name]) and kind == "contact" for name, (kind, _) in found.items()):
        return True
    if any(_CHINESE_MARKS.search(column.name) for column in columns):
        return True
    if sum(kind == "name" for kind, _ in found.values()) > 1:
        return True
    marks = {
        mark
        for words_ in parts.values()
        for mark, known in MARKS.items()
        if mark not in ("companies", "partners") and words_ and (words_[-1] in known or words_[0] in known)
    }
    reaches = bool({kind for kind, _ in found.values()} & {"contact"})
    strong = marks & {"sex", "salutation", "civil"}
    return (bool(strong) and len(marks) + reaches > 1) or {"work", "age"} <= marks


def _is_reached(parts: Mapping[str, tuple[str, ...]], found: Kinds, own: tuple[str, ...]) -> bool:
    """Return whether persons of a public calling are known here as staff or contacts: by a phone, an e-mail, a day of hiring."""
    if not _is_any_of(own, PUBLIC):
        return False
    reached = any(kind == "contact" and not _is_birth(parts[name]) for name, (kind, _) in found.items())
    return reached or any(not MARKS["work"].isdisjoint(words_) for words_ in parts.values())


def has_person_marks(table: Table) -> bool:
    """Return whether a table has what only persons have: a birthday, a sex beside a title, a first and a last name."""
    parts = {column.name: name_parts(column.name) for column in table.columns}
    kinds = personal_kinds(table.name, table.columns)
    halves = {half for words_ in parts.values() for half in _halves(words_)}
    has_births = any(_is_birth(parts[name]) for name in kinds)
    named = {name: kind for name, kind in kinds.items() if kind != ("name", BY_ITS_NAME)}
    return has_births or bool(halves) or _has_marks(table.columns, parts, named)


def is_open_name(table: Table, column: Column) -> bool:
    """Return whether a column of names, of its own rows or of a role, may hold names of companies: only values decide."""
    parts, own = name_parts(column.name), table_parts(table.name)
    others = tuple(part for part in parts if part not in NAME)
    if column.kind is not ColumnKind.TEXT or len(others) == len(parts):
        return False
    if not others or others == own:
        return not has_person_marks(table)
    return others[-1] in PERSONS


def is_of_public_persons(table: Table) -> bool:
    """Return whether a table is of persons whom everybody knows, or of animals, by their names."""
    own = table_parts(table.name)
    parts = {column.name: name_parts(column.name) for column in table.columns}
    return _is_any_of(own, NO_PERSONS) and not _is_reached(parts, personal_kinds(table.name, table.columns), own)


def recognised_by(table: Table, column: Column) -> str:
    """Return how a personal column of a catalog was recognised, for its owner; empty for one that is not personal."""
    if not column.personal:
        return ""
    kind = personal_kinds(table.name, table.columns).get(column.name)
    return BY_ITS_VALUES if kind is None else kind[1]


def list_personal(catalog: Catalog, not_personal: Collection[str] = ()) -> tuple[LooksPersonal, ...]:
    """Return the columns that are personal or look so, in the catalog's order, for the owner's yes or no.

    Names that turned out to be of companies are left out, unless the owner's decisions (`not_personal`) name their column.
    """
    said = {key.casefold() for key in not_personal}
    made: list[LooksPersonal] = []
    for table in catalog.tables:
        kinds = personal_kinds(table.name, table.columns)
        for column in table.columns:
            kind, reason = kinds.get(column.name, (column.personal_kind, BY_ITS_VALUES))
            if kind is None:
                continue
            look = LooksPersonal(table, column, kind, reason)
            is_said = not said.isdisjoint((look.key.casefold(), table.name.casefold()))
            if column.personal or is_said or kind != "name" or not is_open_name(table, column):
                made.append(look)
    return tuple(made)


def _is_any_of(parts: Sequence[str], persons: Collection[str]) -> bool:
    return bool(parts) and parts[-1] in persons
