"""A label made of a technical name: `billing_state` -> "Billing state", in Chinese 账单省份 where all its words are known.

For tables and columns to which nobody gave a name for people. Limits: words are split at underscores, spaces, digits and
capitals; a name in lower case is one word, two of the vocabulary, or a German compound.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib import resources
from typing import Any, Final

from querybus.core.catalog import Language
from querybus.text.disclosure import UNITS, is_plain_word
from querybus.text.names.spelt_names import abbreviations, spell_out
from querybus.text.vocabulary import stems

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PART: Final = re.compile(rf"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[{_HAN}]+|[^\W\d_]+")
_SAYS_NOTHING: Final = frozenset({"tbl", "tb", "t", "dim", "fact", "vw", "v", "col", "fld"})
"""What stands before a name because of a convention."""
_SAYS_NOTHING_BEHIND: Final = frozenset({"hdr", "hd", "mst", "mstr", "tbl", "tab"})
"""What stands behind the name of a table: the header of an order is the order."""
_ENGLISH_ONLY: Final = frozenset({"of", "the", "a", "and"})


@lru_cache(maxsize=1)
def bilingual() -> dict[str, Any]:
    """Return the bundled words: `groups` of English and Chinese ones, and more in `chinese`."""
    text = resources.files("querybus.text").joinpath("bilingual.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def spoken_name(name: str) -> str:
    """Return a name as people would say it: its words as they are written, in lower case.

    >>> spoken_name("OrderLines"), spoken_name("reading_lists")
    ('order lines', 'reading lists')
    """
    return " ".join(_PART.findall(name)).lower()


@lru_cache(maxsize=16_384)
def readable_name(name: str, language: Language) -> str:
    """Return a name as a label: its words, abbreviations spelt out, with a capital; empty if one of them is no word.

    >>> readable_name("billing_state", "en"), readable_name("custFirstName", "en"), readable_name("tbl_qty", "en")
    ('Billing state', 'Customer first name', 'Quantity')
    >>> readable_name("orderdate", "en"), readable_name("T_ORD_HDR", "en"), readable_name("Kundennummer", "en")
    ('Order date', 'Order', 'Customer number')
    >>> readable_name("is_active", "en"), readable_name("is_active", "zh")
    ('Active', '是否启用')
    >>> readable_name("order_date", "zh"), readable_name("city_name", "zh"), readable_name("zorb_x", "zh")
    ('订单日期', '城市名称', '')
    >>> readable_name("weight_kg", "en"), readable_name("weight_kg", "zh")
    ('Weight (kg)', '重量（kg）')
    >>> readable_name("price_in_cents", "en"), readable_name("unitPriceCents", "zh")
    ('Price (cents)', '单价（cents）')
    >>> readable_name("duration_min", "en"), readable_name("price_min", "en")
    ('Duration (min)', 'Price minimum')
    """
    parts = _PART.findall(name)
    if len(parts) > 1 and (parts[-1].lower() in UNITS or is_time(*parts[-2:])):
        measured = parts[:-2] if len(parts) > 2 and parts[-2].lower() == "in" else parts[:-1]
        label = readable_name("_".join(measured), language)
        unit = parts[-1].lower()
        return label and (f"{label}（{unit}）" if language == "zh" else f"{label} ({unit})")
    if len(parts) > 1 and parts[0].lower() in _SAYS_NOTHING:
        parts = parts[1:]
    if len(parts) > 1 and parts[-1].lower() in _SAYS_NOTHING_BEHIND:
        parts = parts[:-1]
    is_mixed = not name.isupper()
    words = spell_out([part if is_mixed and _is_acronym(part) else part.lower() for part in parts])
    if not all(map(is_plain_word, words)):
        return ""
    if language == "zh" and (said := _in_chinese(" ".join(words).lower())):
        return said
    if len(words) > 1 and words[0].lower() == "is":
        # `is_active` holds yes or no of "active"; in Chinese it is 是否.
        words = words[1:]
    text = " ".join(words)
    return text[:1].upper() + text[1:]


def is_time(measured: str, unit: str) -> bool:
    """Return whether a short word is a unit of time: the `min` of a duration are minutes, those of a price are not."""
    return measured.lower() in _LASTING and unit.lower() in _UNITS_OF_TIME


_LASTING: Final = frozenset({"duration", "time", "length", "delay", "wait", "runtime", "playtime"})
_UNITS_OF_TIME: Final = frozenset({"min", "mins", "sec", "secs", "hr", "hrs"})


def _is_acronym(part: str) -> bool:
    return part.isupper() and len(part) > 1 and part != "ID" and part.lower() not in abbreviations()


def _in_chinese(text: str) -> str | None:
    """Return English words in Chinese if all are known; "number of staff" turns round."""
    before, of, after = text.partition(" of ")
    if of and before in ("number", "count"):
        inner = _in_chinese(after)
        return None if inner is None else f"{inner}数量"
    words = text.split()
    said: list[str] = []
    while words:
        length = next(
            (length for length in (3, 2) if " ".join(words[:length]) in _chinese() and len(words) >= length), 1
        )
        word = _chinese().get(" ".join(words[:length]) if length > 1 else _base(words[0]))
        if word is None and words[0] not in _ENGLISH_ONLY:
            return None
        said.append(word or "")
        words = words[length:]
    return "".join(said)


def _base(word: str) -> str:
    if word in _chinese() or not word.isascii():
        return word
    return next((stem for stem in stems(word) if stem in _chinese()), word)


@lru_cache(maxsize=1)
def _chinese() -> dict[str, str]:
    named = [group for group in bilingual()["groups"] if group["zh"]]
    # What a group is called by counts more than what else belongs to it; what stands alone counts most.
    others = {word: group["zh"][0] for group in reversed(named) for word in group["en"]}
    first = {group["en"][0]: group["zh"][0] for group in reversed(named)}
    return {**others, **first, **bilingual()["chinese"]}
