"""Defaults of families of models, by the names that their makers give them; a setting of the model stands before each.

One row: how the names look, the temperature (None: none is sent), and the field that limits the tokens of a reply (empty:
that of the provider's client). Sources: the makers' model cards and API references.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Family:
    """What models of a family take."""

    names: re.Pattern[str]
    temperature: float | None = None
    tokens_field: str = ""


def _family(names: str, temperature: float | None, tokens_field: str = "") -> Family:
    return Family(re.compile(rf"(?:^|/)(?:{names})", re.IGNORECASE), temperature, tokens_field)


UNKNOWN: Final = Family(re.compile(""))
FAMILIES: Final = (
    # Reasoning models take their own temperature only.
    _family(r"o[1-9]\b|gpt-[5-9]|gpt-oss", None),
    _family(r"gpt-3\.5|gpt-4|chatgpt", 0.0),
    _family(r"deepseek-(?:r\d|reasoner)|magistral|qwq", None, "max_tokens"),
    _family(r"deepseek|mistral|mixtral|ministral|codestral|devstral|pixtral|open-mi", 0.0, "max_tokens"),
    _family(r"qwen|llama|meta-llama|codellama|gemma|phi|granite|sqlcoder|yi-|glm|command", 0.0, "max_tokens"),
    _family(r"gemini-[12]", 0.0),
)


def family_of(model: str) -> Family:
    """Return the first family that a name is of; one without defaults where it is of none.

    >>> family_of("gpt-4.1").temperature, family_of("o3-mini").temperature, family_of("Qwen/Qwen3-32B").tokens_field
    (0.0, None, 'max_tokens')
    """
    return next((family for family in FAMILIES if family.names.search(model)), UNKNOWN)
