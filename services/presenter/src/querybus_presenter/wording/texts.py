"""The presenter's words, read once from the files beside this module: a set for each language and audience.

`messages.toml` holds every text; `business.toml` beside it lists what differs for business readers. Both languages
have the same keys, and every outcome, code, trigger and action has its row (tests).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from querybus.core.asking_back import OptionAction
from querybus.core.catalog import Language
from querybus.core.envelope import Audience

LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")
AUDIENCES: Final[tuple[Audience, ...]] = ("business", "analyst")

Rows = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OptionText:
    """What an option says and what choosing it does."""

    text: str
    action: OptionAction
    text_of_figures: str = ""
    """The text where the question reads nothing but figures: they are narrowed, and no period."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The words of one language for one audience; each section is named as in the file."""

    language: Language
    outcome: Rows
    code: Rows
    trigger: Rows
    next: Rows
    summary: Rows
    chart: Rows
    explain: Rows
    reading: Rows
    periods: Rows
    doubts: Rows
    about: Rows
    labels: Rows
    kinds: Rows
    notes: Rows
    model_trouble: Rows
    model_advice: Rows
    questions: Rows
    confirmation: Rows
    options: Mapping[str, tuple[OptionText, ...]]


Words = Mapping[tuple[Language, Audience], Texts]

_ROWS: Final = (
    "outcome",
    "code",
    "trigger",
    "next",
    "summary",
    "chart",
    "explain",
    "reading",
    "periods",
    "doubts",
    "about",
    "labels",
    "kinds",
    "notes",
    "model_trouble",
    "model_advice",
    "questions",
    "confirmation",
)


def load_texts() -> dict[tuple[Language, Audience], Texts]:
    """Return all words; raises KeyError, ValueError or a TOML error where a file is broken."""
    textses: dict[tuple[Language, Audience], Texts] = {}
    for language in LANGUAGES:
        shared, deviations = _read(language, "messages"), _read(language, "business")
        textses[language, "analyst"] = _texts(language, shared, {})
        textses[language, "business"] = _texts(language, shared, deviations)
    return textses


def _read(language: Language, name: str) -> dict[str, Any]:
    return tomllib.loads((files("querybus_presenter") / "texts" / language / f"{name}.toml").read_text("utf-8"))


def _texts(language: Language, shared: dict[str, Any], deviations: dict[str, Any]) -> Texts:
    rows: dict[str, Rows] = {name: {**shared[name], **deviations.get(name, {})} for name in _ROWS}
    options = {
        name: tuple(
            OptionText(item["text"], OptionAction(item["action"]), item.get("text_of_figures", "")) for item in listed
        )
        for name, listed in shared["options"].items()
    }
    return Texts(language=language, options=options, **rows)
