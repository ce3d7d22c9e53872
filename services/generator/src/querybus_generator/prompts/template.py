"""A prompt text with `{{name}}` places and `{{#name}} ... {{/name}}` parts that vanish while the name is empty.

Values are put in once and never read again as template, so nothing that stands in a value can open a place or a part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

_PART = re.compile(r"\{\{#(\w+)\}\}\n?(.*?)\{\{/\1\}\}\n?", re.DOTALL)
_PLACE = re.compile(r"\{\{(\w+)\}\}")


class UnknownPlace(ValueError):
    """A prompt text names a place that its prompt does not fill."""

    def __init__(self, place: str, known: Iterable[str]) -> None:
        super().__init__(f"{{{{{place}}}}} is no place of this prompt; known: {', '.join(sorted(known))}")
        self.place = place


def form_fault(template: str) -> tuple[int, str] | None:
    """Return line and reason of the first mark of a template that is none; None for a sound one.

    >>> form_fault("Day {{day}}.{{#note}} {{note}}{{/note}}"), form_fault("Day\\n{{#note}} open")
    (None, (2, '{{#note}} is not closed'))
    """
    rest = template
    while (shorter := _PART.sub(lambda found: "\n" * found[0].count("\n") + found[2].replace("\n", ""), rest)) != rest:
        rest = shorter
    match = _MARK.search(_PLACE.sub("", rest))
    if match is None:
        return None
    mark = match[0]
    line = template[: template.index(mark)].count("\n") + 1
    return line, f"{mark} is not closed" if mark.startswith("{{#") else f"{mark} is no mark of a template"


_MARK: Final = re.compile(r"\{\{[^{}\n]{0,40}(?:\}\})?|\}\}")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return the text with all places filled; raises UnknownPlace for a name that `values` does not have.

    >>> fill("Day {{day}}.{{#note}} Note: {{note}}{{/note}}", {"day": "1", "note": "{{day}}"})
    'Day 1. Note: {{day}}'
    """

    def value(found: re.Match[str]) -> str:
        if found[1] not in values:
            raise UnknownPlace(found[1], values)
        return values[found[1]]

    def part(found: re.Match[str]) -> str:
        return found[2] if value(found) else ""

    return _PLACE.sub(value, _PART.sub(part, template))
