"""What people call a definition."""

from __future__ import annotations

from querybus.core.catalog import Language
from querybus.text.readable_name import spoken_name
from querybus_semantic.layer.definitions import Words


def label_of(name: str, words: Words, language: Language) -> str:
    """Return what people call a definition in a language: its label, a synonym in that script, else its name's words."""
    if language in words.label:
        return words.label[language]
    wanted = [text for text in words.synonyms if text.isascii() == (language == "en")]
    if language == "zh" and wanted:
        return wanted[0]
    return words.label.get("en") or spoken_name(name.rpartition(".")[2])
