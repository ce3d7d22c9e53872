"""What people call a table or a column: its display name, its comment, a term of the glossary, or its name made readable.

A label is short, on one line and gives nothing technical away, whoever wrote it; where there is none, there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from querybus.core.catalog import Catalog, Column, Language, Table
from querybus.text.disclosure import is_plain_word, leaks
from querybus.text.readable_name import readable_name

LABEL_LENGTH_MAX: Final = 40

_SEPARATORS = re.compile(r"[_\s]+")


def table_label(table: Table, language: Language, catalog: Catalog | None = None) -> str | None:
    """Return a table's name for people, or None if it has none; with the catalog it gives none of its names away."""
    offered = _offered(table.display_names.get(language), table.comment, readable_name(table.name, language))
    return _shown(offered, table.name, catalog)


def column_label(column: Column, catalog: Catalog, language: Language) -> str | None:
    """Return a column's name for people, or None if it has none."""
    named = _offered(column.display_names.get(language), column.comment)
    made = _offered(readable_name(column.name, language))
    return _shown((*named, *_terms(column.name, catalog), *made), column.name, catalog)


def _terms(name: str, catalog: Catalog) -> Iterable[str]:
    plain = _SEPARATORS.sub(" ", name).casefold()
    return (term for term in catalog.glossary if term.casefold() == plain and term.casefold() != name.casefold())


def _offered(*texts: str | None) -> tuple[str, ...]:
    return tuple(text.strip() for text in texts if text and text.strip())


def _shown(offered: Iterable[str], name: str, catalog: Catalog | None) -> str | None:
    """Return the first name for people that is short, on one line and not technical."""
    for text in offered:
        is_own = text.casefold() == name.casefold() and not is_plain_word(text)
        if len(text) <= LABEL_LENGTH_MAX and text.isprintable() and not is_own and not leaks(text, catalog, "en"):
            return text
    return None
