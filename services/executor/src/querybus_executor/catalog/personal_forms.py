"""What the values of a column look like: addresses, phones, numbers of persons. Known without their column's name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Final

FORM_SHARE_MIN: Final = 0.8
FORM_VALUES_MIN: Final = 3

_EMAIL: Final = re.compile(r"(?:mailto:)?[^@\s]+@[^@\s]+\.[a-zA-Z]{2,}")
_PHONE: Final = re.compile(
    r"(?=(?:\D*\d){9,15}\D*$)(?=.*[\s()+-]|1[3-9]\d{9}$)(?!\d{4}[-/.]\d\d?[-/.]\d)[(+\d][\d\s().\-/]{7,22}\d(?: ?(?:x|ext\.?) ?\d+)?"
    r"|\d{3}[-. ]\d{4}"
)
_STREET: Final = re.compile(
    r"\d{1,5}[A-Za-z]?,? (?:[\w.'-]+ ){1,4}(?:street|st|road|rd|avenue|ave|lane|ln|drive|dr|boulevard|blvd|way|court|ct|hill|place|pl|square|sq|close|terrace|crescent|gardens?|grove|row|walk|mews|parkway|highway|circle|quay)\b.*"
    r"|[\w .'-]*(?:street|straße|strasse|str\.|road|avenue|gasse|allee|weg|platz|ring|ufer|damm|steig|laan|straat|plein) \d{1,4}[a-z]?\b.*"
    r"|(?:rue|avenue|boulevard|place|calle|avenida|plaza|paseo|via|viale|piazza|corso|rua|praça) [\w .,'-]+ \d{1,4}[a-z]?\b.*"
    r"|\d{1,4}[a-z]?,? (?:rue|avenue|boulevard|place|chemin|impasse|quai) [\w .'-]+"
    r"|.*[路街道巷弄]\s*\d+\s*[号弄].*",
    re.IGNORECASE,
)
_IDENTITY: Final = re.compile(
    r"\d{17}[\dXx]|\d{3}-\d{2}-\d{4}|756\.\d{4}\.\d{4}\.\d{2}|\d{3}\.\d{3}\.\d{3}-\d{2}"
    r"|[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]|[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]"
)
_IBAN: Final = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_CARD: Final = re.compile(r"[3-6]\d{12,18}")
_DNI_LETTERS: Final = "TRWAGMYFPDXBNJZSQVHLCKE"
_IBAN_BASE: Final = 97


def is_iban(text: str) -> bool:
    """Return whether a text is an IBAN whose check digits fit (ISO 13616).

    >>> is_iban("DE89 3704 0044 0532 0130 00"), is_iban("DE89 3704 0044 0532 0130 01")
    (True, False)
    """
    plain = text.replace(" ", "").upper()
    if not _IBAN.fullmatch(plain):
        return False
    return int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % _IBAN_BASE == 1


def is_card(text: str) -> bool:
    """Return whether a text is the number of a payment card whose last digit fits (ISO 7812).

    >>> is_card("4111 1111 1111 1111"), is_card("4111 1111 1111 1112")
    (True, False)
    """
    plain = text.replace(" ", "").replace("-", "")
    if not _CARD.fullmatch(plain):
        return False
    doubled = (int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(reversed(plain)))
    return sum(digit - 9 if digit > 9 else digit for digit in doubled) % 10 == 0


def is_identity_number(text: str) -> bool:
    """Return whether a text has the form of a national number of a person.

    >>> [is_identity_number(text) for text in ("078-05-1120", "12345678Z", "12345678A", "756.9217.0769.85", "AB123456C")]
    [True, True, False, True, True]
    """
    if _IDENTITY.fullmatch(text):
        return True
    return re.fullmatch(r"\d{8}[A-Z]", text) is not None and text[-1] == _DNI_LETTERS[int(text[:8]) % len(_DNI_LETTERS)]


_FORMS: Final[Mapping[str, Callable[[str], object]]] = {
    "e-mail addresses": _EMAIL.fullmatch,
    "account numbers": is_iban,
    "identity numbers": is_identity_number,
    "card numbers": is_card,
    "phone numbers": _PHONE.fullmatch,
    "street addresses": _STREET.fullmatch,
}


def personal_form(values: Collection[str]) -> str:
    """Return what nearly all values look like: `e-mail addresses`, `phone numbers`, ...; empty where they do not.

    >>> personal_form(["a@x.org", "b@y.com", "c@z.net"]), personal_form(["Bern", "Rome", "Oslo"]), personal_form(["2024-01-02"] * 3)
    ('e-mail addresses', '', '')
    """
    filled = [value.strip() for value in values if value.strip()]
    if len(filled) < FORM_VALUES_MIN:
        return ""
    for name, fits in _FORMS.items():
        if sum(bool(fits(value)) for value in filled) >= FORM_SHARE_MIN * len(filled):
            return name
    return ""
