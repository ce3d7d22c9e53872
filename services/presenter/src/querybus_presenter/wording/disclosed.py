"""Whether a text for a business reader gives away a technical name that neither the reader nor the owner has used."""

from __future__ import annotations

import re

from querybus.core.catalog import Catalog
from querybus.core.envelope import Envelope
from querybus.core.failure import FailureCode
from querybus.core.messages import Analysis, Concluded
from querybus.text.disclosure import leaks, names_stores
from querybus.text.language import is_in_language


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


def is_quotable(envelope: Envelope[Concluded], reply: str) -> bool:
    """Return whether what a model said in place of a statement may be shown, as far as its language and kind go.

    An analyst reads an explanation in any language; that data is missing is said in the reader's, and to business
    readers without a word for what data is kept in.
    """
    is_missing, is_business = envelope.body.code is FailureCode.MISSING_DATABASE_INFO, envelope.audience == "business"
    if (is_missing or is_business) and not is_in_language(reply, envelope.language):
        return False
    return not (is_missing and is_business and names_stores(reply, said=envelope.question))


def _display_names(catalog: Catalog) -> list[str]:
    """Return the names for people; one that is spelt as the database spells a name is none."""
    named = [item for table in catalog.tables for item in (table, *table.columns) if item.display_names]
    return [name for item in named for name in item.display_names.values() if name not in catalog.identifiers]
