"""A follow-up about other rows keeps what the last answer was narrowed to: "gold members", then "their fines"."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from querybus_translator.readers.reading import Reading
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.phrases import hints_of
from querybus_translator.threads.follow_words import speaks_of_owners
from querybus_translator.writing.form import Condition, Form, condition_tables, tables_of
from querybus_translator.writing.semijoins import semi_joined
from querybus_translator.writing.write import write

SHARE: Final = 0.95
"""What is left of a reading's confidence where the rows of the last answer were put into it."""


def narrowed(previous: Form, text: str, alone: Reading, index: CatalogIndex) -> Reading | None:
    """Return a question's own reading over no other rows than those of the last answer; None where that is not certain.

    Only where the question speaks of what they have, and where every condition of the last answer was one of theirs.
    """
    homes = {target.home for target in previous.targets} - {None}
    plain = not (previous.group or previous.having or previous.combined or previous.limit)
    if not speaks_of_owners(text) or len(homes) != 1 or not plain or alone.form.combined is not None:
        return None
    (home,) = homes
    kept: tuple[Condition, ...] = previous.where
    own = {table for table in tables_of(alone.form) if table != home}
    if home is None or not kept or not own or any(set(condition_tables(one)) != {home} for one in kept):
        return None
    if not all(index.graph.leads_to_one(table, home) for table in own):
        return None
    form = replace(alone.form, tables=(*alone.form.tables, home), where=(*alone.form.where, *kept))
    joined = semi_joined(form, index, hints_of(alone.sketch.nodes))
    written = None if joined is None else write(joined, index, hints_of(alone.sketch.nodes), alone.sketch.language)
    if joined is None or written is None:
        return None
    return replace(alone, form=joined, written=written, confidence=alone.confidence * SHARE)
