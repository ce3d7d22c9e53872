"""Whether a text for a business reader gives away a technical name that neither the reader nor the owner has used."""

from __future__ import annotations

import re

from querybus.core.catalog import Catalog
from querybus.core.messages import Analysis
from querybus.text.disclosure import leaks


def discloses(text: str, catalog: Catalog | None, question: str, analysis: Analysis) -> bool:
    """Return whether a text gives a name away.

    A word of the question is no leak. Neither is a word of an approved definition or of a display name: a column may be
    called `mrr`, and people say MRR.
    """
    pieces = leaks(text, catalog, "en", said=question)
    if not pieces:
        return False
    approved = "\n".join((*analysis.labels, *analysis.definitions, *(_display_names(catalog) if catalog else ())))
    return not all(re.search(rf"(?<!\w){re.escape(p)}(?!\w)", approved, re.IGNORECASE | re.ASCII) for p in pieces)


def _display_names(catalog: Catalog) -> list[str]:
    """Return the names for people; one that is spelt as the database spells a name is none."""
    named = [item for table in catalog.tables for item in (table, *table.columns) if item.display_names]
    return [name for item in named for name in item.display_names.values() if name not in catalog.identifiers]
