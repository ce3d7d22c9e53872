"""A prompt text with `{{name}}` places and `{{#name}} ... {{/name}}` parts that vanish while the name is empty.

Values are put in once and never read again as template, so nothing that stands in a value can open a place or a part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_PART = re.compile(r"\{\{#(\w+)\}\}\n?(.*?)\{\{/\1\}\}\n?", re.DOTALL)
_PLACE = re.compile(r"\{\{(\w+)\}\}")


class UnknownPlace(ValueError):
    """A prompt text names a place that its prompt does not fill."""


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return the text with all places filled; raises UnknownPlace for a name that `values` does not have.

    >>> fill("Day {{day}}.{{#note}} Note: {{note}}{{/note}}", {"day": "1", "note": "{{day}}"})
    'Day 1. Note: {{day}}'
    """

    def value(found: re.Match[str]) -> str:
        if found[1] not in values:
            raise UnknownPlace(f"{{{{{found[1]}}}}} is no place of this prompt; known: {', '.join(sorted(values))}")
        return values[found[1]]

    def part(found: re.Match[str]) -> str:
        return found[2] if value(found) else ""

    return _PLACE.sub(value, _PART.sub(part, template))
