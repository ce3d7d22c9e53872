"""The generator's texts: Markdown files of this package, each of which a directory may replace while questions are answered.

A file is named `<text>.<language>.md`, a dialect's notes `dialects/<dialect>.<language>.md`. A place that a prompt
does not know, or a mark that is not closed, is refused with its file and line: a mistake in set-up, not a query's failure.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from querybus.core.asking_back import OptionAction
from querybus.core.catalog import Catalog, Dialect, Language
from querybus.ops.live_texts import BadText, read_text
from querybus_generator.prompts.general_examples import EXAMPLE_QUESTIONS
from querybus_generator.prompts.question import PromptTexts, Spoken, render_question
from querybus_generator.prompts.template import UnknownPlace, fill, form_fault
from querybus_generator.steps.classify import ChatTopic
from querybus_translator.language.time.words import WEEKDAYS

OWN_DIRECTORY: Final = Path(__file__).parent / "markdown"
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")
TEXT_BYTES_MAX: Final = 100_000
TOPICS: Final[tuple[ChatTopic, ...]] = get_args(ChatTopic)


@dataclass(frozen=True, slots=True)
class Texts:
    """All texts of one language."""

    prompt: PromptTexts
    chat: str
    greeting: str
    thanks: str
    abilities: str
    identity: str
    tables: str
    pictures: str
    export: str
    trouble: str
    example: str
    other_language: str
    change_not_read: str
    note_verified: str
    note_defined: str
    note_settled: str
    likely: str
    needs_model: str
    without: str
    note_left_out: str
    note_whole_units: str
    note_held: str
    note_names: str
    note_nothing_changed: str
    hint_change: str
    hint_vague: str
    which_connection: str
    no_connection: str
    actions: str

    def chosen(self, action: OptionAction) -> str:
        """Return what a model learns of the option that the person chose."""
        return fill(self.actions, {item.value: "x" if item is action else "" for item in OptionAction}).strip()

    def topic(self, name: ChatTopic) -> str:
        """Return the text for a chat topic."""
        return getattr(self, name)


SPANS: Final[Mapping[Language, str]] = {
    "en": "from {first} to {last} ({column})",
    "zh": "{first} 至 {last}（{column}）",
}


def load_texts(override: Path | None = None) -> Mapping[Language, Texts]:
    """Return the texts by language; raises BadText or OSError with file, line and what is wrong."""
    texts: dict[Language, Texts] = {}
    for language in LANGUAGES:
        texts[language] = _load(language, override)
        try:
            _check(texts[language])
        except UnknownPlace as error:
            raise BadText(_located(error, language, override)) from error
    return texts


def _located(error: UnknownPlace, language: Language, override: Path | None) -> str:
    """Return what is wrong with the file and line that name the place."""
    for file in sorted(override.rglob(f"*.{language}.md")) if override is not None else ():
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            if any(f"{mark}{error.place}}}}}" in line for mark in ("{{", "{{#")):
                return f"{file}:{number}: {error}"
    return str(error)


def _load(language: Language, override: Path | None) -> Texts:
    def read(name: str) -> str:
        own = OWN_DIRECTORY / f"{name}.{language}.md"
        other = override / f"{name}.{language}.md" if override is not None else own
        file = other if other.is_file() else own
        text = read_text(file, TEXT_BYTES_MAX)
        if (fault := form_fault(text)) is not None:
            raise BadText(f"{file}:{fault[0]}: {fault[1]}")
        return text

    dialects = {dialect.value: read(f"dialects/{dialect.value}") for dialect in Dialect}
    prompt = PromptTexts(
        system=read("system"),
        question=read("question"),
        advice=read("advice"),
        dialects=dialects,
        weekdays=WEEKDAYS[language],
        span=SPANS[language],
        example_questions=EXAMPLE_QUESTIONS[language],
    )
    names = (
        "chat",
        "greeting",
        "thanks",
        "abilities",
        *("identity", "tables", "pictures", "export", "trouble"),
        "example",
        "other_language",
        "change_not_read",
        "note_verified",
        "note_defined",
        "note_settled",
        "likely",
        "needs_model",
        "without",
        "note_left_out",
        "note_whole_units",
        "note_held",
        "note_names",
        "note_nothing_changed",
        "hint_change",
        "hint_vague",
        "which_connection",
        "no_connection",
        "actions",
    )
    return Texts(prompt=prompt, **{name: read(name).strip() for name in names})


def _check(texts: Texts) -> None:
    """Render every text once, so that an unknown place is found at start and not by a person's question."""
    catalog = Catalog(connection="check", dialect=Dialect.SQLITE)
    render_question(texts.prompt, catalog, (), Spoken(question="?", today=dt.date(2000, 1, 1)), with_values=False)
    fill(texts.prompt.advice, dict.fromkeys(_ADVICE_PLACES, "x"))
    for name in TOPICS:
        fill(texts.topic(name), {"subjects": "x", "sources": "x", "examples": "x", "tables": "x"})
    fill(texts.chat, {"subjects": "x", "examples": "x"})
    fill(texts.example, {"subject": "x"})
    fill(texts.note_defined, {"word": "x", "meaning": "x"})
    fill(texts.likely, {"reading": "x"})
    fill(texts.needs_model, {"words": "x"})
    fill(texts.without, {"reading": "x", "words": "x"})
    fill(texts.note_settled, {"word": "x", "question": "x"})
    fill(texts.note_left_out, {"word": "x", "question": "x"})
    fill(texts.note_whole_units, {"figures": "x"})
    fill(texts.note_names, {"readable": "1", "names": "2"})
    fill(texts.note_held, {"written": "x", "held": "x"})
    fill(texts.hint_vague, {"word": "x"})
    fill(texts.which_connection, {"connections": "x"})
    fill(texts.no_connection, {"connections": "x"})
    for action in OptionAction:
        texts.chosen(action)


_ADVICE_PLACES: Final = (
    "code",
    "error",
    "name",
    "candidates",
    "owners",
    "guidance",
    "attempts",
    "hints",
    "may_execute",
)
