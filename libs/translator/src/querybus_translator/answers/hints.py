"""What the translator reads in a question, as short lines for a model's prompt: names, values, time ranges, the form.

Pure. Every line is a likelihood, not an order; without `with_values` no stored value appears that the person did not write.
"""

from __future__ import annotations

from datetime import date

from querybus.core.catalog import Catalog
from querybus_translator.answers.explain import explain

HINTS_MAX = 12
SCORE_MIN = 0.8
FORM_CONFIDENCE_MIN = 0.6


def hints_for(question: str, catalog: Catalog, *, today: date, with_values: bool) -> tuple[str, ...]:
    """Return at most HINTS_MAX lines; empty where nothing was read."""
    reported = explain(question, catalog, today=today)
    names: list[str] = []
    for word in reported.words:
        if word.role == "time range":
            names.append(f'"{word.text}" means the days from {word.meaning}')
        elif word.score is None or word.score < SCORE_MIN:
            continue
        elif word.role != "value":
            names.append(f'"{word.text}" is probably {word.meaning}')
        else:
            said = word.meaning if with_values else word.meaning.partition(" = ")[0]
            names.append(f'"{word.text}" is probably a value: {said}')
    if with_values and reported.confidence >= FORM_CONFIDENCE_MIN:
        names.append(f"the whole may be read as: {reported.form}")
    return tuple(dict.fromkeys(names))[:HINTS_MAX]
