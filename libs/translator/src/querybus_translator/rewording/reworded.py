"""Wordings that mean what other words of the catalog say: "unpaid invoices", "email addresses".

Each puts words that can be read in the place of words that cannot, by what the catalog knows; nothing else is changed.
"""

from __future__ import annotations

import re
from typing import Final

from querybus_translator.language.names import is_han
from querybus_translator.language.stems import base_form
from querybus_translator.rewording.persons import (
    by_whom,
    everybody,
    names_of_persons,
    people,
    staff_members,
    whole_names,
)
from querybus_translator.rewording.plain_forms import rewrite_plain_chinese, rewrite_plain_forms
from querybus_translator.rewording.spelt import as_spelt, as_stored, by_initials, here
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.values import stored_as

_UNDONE: Final = re.compile(
    r"\b(?P<noun>[A-Za-z]+) (?:that |which )?(?:are|is|were|was|remain) (?P<not>un|in)(?P<done>[a-z]{3,})\b",
    re.IGNORECASE,
)
_UNDONE_BEFORE: Final = re.compile(r"\b(?P<not>un|in)(?P<done>[a-z]{3,}) (?P<noun>[a-z]+)\b", re.IGNORECASE)
_TOTAL_NUMBER: Final = re.compile(r"\b(?P<total>total) (?:number|amount|count) of (?P<noun>[A-Za-z]+)\b", re.IGNORECASE)
_FILLED: Final = re.compile(
    r"\b(?P<what>e-?mail|phone|telephone|mobile|fax) (?P<filler>address(?:es)?|numbers?)\b", re.IGNORECASE
)
_IN_USE: Final = re.compile(
    r"\b(?:in use|in service|in operation|(?<=are )employed(?= (?:right now|now|currently|today)))\b", re.IGNORECASE
)
_WORTH: Final = re.compile(r"\b(?:total|combined|overall) (?:value|worth) of (?=[a-z])", re.IGNORECASE)
_KIND: Final = re.compile(
    r"(?:(?P<before>(?:,|\band|'s|\btheir|\bits) )kind\b|\bkind(?=s? of (?:the )?[a-z]))", re.IGNORECASE
)
_DONE_ZH: Final = re.compile(r"已(?P<deed>[\u4e00-\u9fff]{2})")


def reworded(question: str, index: CatalogIndex) -> str:
    """Return a question with the words that the catalog has, where it means them by others."""
    if any(is_han(sign) for sign in question):
        index.read_chinese()
        return _done_in_chinese(rewrite_plain_chinese(question), index)
    question = rewrite_plain_forms(question)
    for rewrite in _BY_CATALOG:
        question = rewrite(question, index)
    return question


def _without_filler(question: str, index: CatalogIndex) -> str:
    """An email address is an email, and a phone number a phone, where no name says the second word."""

    def written(said: re.Match[str]) -> str:
        whole = f"{said['what']} {said['filler']}".lower().removesuffix("es" if said["filler"].endswith("ses") else "s")
        names = {word for word in index.own if index.own[word]}
        is_known = said["filler"].lower().rstrip("s") in {"addres", "address"} and "address" in names
        is_known = is_known or index.knows(whole.replace(" ", "_")) or index.knows(whole.replace(" ", ""))
        return said[0] if is_known or not index.similar(said["what"].lower()) else said["what"]

    return _FILLED.sub(written, question)


def _numbers_of(question: str, index: CatalogIndex) -> str:
    """ "The total number of horses" is what a column of total horses holds, where there is one."""

    def written(said: re.Match[str]) -> str:
        called = f"{said['total']} {said['noun']}"
        return called if index.knows(called.replace(" ", "_")) else said[0]

    return _TOTAL_NUMBER.sub(written, question)


def _without_prefix(question: str, index: CatalogIndex) -> str:
    """Return "unpaid invoices" as "invoices that are not paid", where the catalog knows the one word and not the other."""

    def written(match: re.Match[str]) -> str:
        done = match["done"].lower()
        is_known = not index.similar(match["not"].lower() + done) and (
            index.similar(done) or index.similar(base_form(done))
        )
        return f"{match['noun']} that are not {done}" if is_known else match[0]

    return _UNDONE_BEFORE.sub(written, _UNDONE.sub(written, question))


def _read_in_use(question: str, index: CatalogIndex) -> str:
    """What is in use is active, where nothing is called so."""
    return question if index.own.get("use") or index.own.get("employed") else _IN_USE.sub("active", question)


def _read_worth(question: str, index: CatalogIndex) -> str:
    """ "The total value of machines" is what they are worth together, and no count of them, where no column is called a value."""
    return question if index.own.get("value") or index.own.get("worth") else _WORTH.sub("total price of ", question)


def _read_kind(question: str, index: CatalogIndex) -> str:
    """A kind is a type, where nothing is called a kind."""
    return question if index.own.get("kind") else _KIND.sub(lambda said: f"{said['before'] or ''}type", question)


def _done_in_chinese(question: str, index: CatalogIndex) -> str:
    """Return 已付款 as 付款, where the catalog knows the one word and does not hold the other."""

    def written(match: re.Match[str]) -> str:
        deed = match["deed"]
        is_known = not stored_as(match[0], index) and (index.similar(deed) or stored_as(deed, index))
        return deed if is_known else match[0]

    return _DONE_ZH.sub(written, question)


_BY_CATALOG: Final = (
    as_stored,
    as_spelt,
    by_initials,
    here,
    staff_members,
    names_of_persons,
    by_whom,
    everybody,
    whole_names,
    _numbers_of,
    _without_filler,
    _without_prefix,
    _read_in_use,
    _read_worth,
    _read_kind,
    people,
)
"""Rewrites by what the catalog has; no rewrite reads what another one wrote."""
