"""What people call a definition."""

from __future__ import annotations

from querybus.core.catalog import Language
from querybus.text.readable_name import readable_name, spoken_name
from querybus_semantic.layer.definitions import Words


def label_of(name: str, words: Words, language: Language) -> str:
    """Return what people call a definition in a language: its label, a Chinese synonym, else its name's words.

    In Chinese these are translated where all of them are known: `order_date` is 订单日期.
    """
    plain = name.rpartition(".")[2]
    if language in words.label:
        return words.label[language]
    if language == "zh":
        wanted = next((text for text in words.synonyms if not text.isascii()), "") or readable_name(plain, "zh")
        if not wanted.isascii():
            return wanted
    return words.label.get("en") or spoken_name(plain)
