"""Questions in the words of definitions that can be asked as they stand: each was read and compiled before it is offered."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Final

from querybus.core.catalog import Catalog, Language
from querybus.core.envelope import Audience
from querybus.ops.clock import system_clock
from querybus.text.disclosure import leaks
from querybus_gateway.use_cases.catalogs.suggestions import GROUPS_MAX

if TYPE_CHECKING:
    from querybus_semantic.layer.definitions import Layer

DEFINED_MAX: Final = 6
"""Of the questions that are suggested; the others are of what no definition speaks of."""
TRIED_MAX: Final = 40
_TEXTS: Final[dict[Language, tuple[str, str, str]]] = {
    "en": ("{figure} last month", "{figure} by {group}", "{figure} per month"),
    "zh": ("上个月的{figure}是多少？", "各{group}的{figure}", "每月{figure}"),
}


def defined_questions(layer: Layer, catalog: Catalog, language: Language, audience: Audience) -> tuple[str, ...]:
    """Return up to DEFINED_MAX questions, one for each figure, of one period, by groups or per month in turn."""
    # A parser and word lists that a gateway without definitions never loads.
    from querybus_semantic.checks.binding import stored_values
    from querybus_semantic.layer.request import Asker
    from querybus_translator.definitions.answer import ByDefinition, Defined, answer_question

    day = catalog.today or datetime.fromtimestamp(system_clock() / 1_000, UTC).date()
    defined, asker = Defined(layer, catalog, stored_values(layer, catalog)), Asker(day, "")

    def is_answered(question: str) -> bool:
        is_said = audience == "analyst" or not leaks(question, catalog, language)
        return is_said and isinstance(answer_question(question, (), defined, asker, language), ByDefinition)

    return tuple(islice(filter(is_answered, islice(_candidates(layer, catalog, language), TRIED_MAX)), DEFINED_MAX))


def _candidates(layer: Layer, catalog: Catalog, language: Language) -> Iterator[str]:
    from querybus_semantic.checks.binding import few_valued
    from querybus_semantic.layer.labels import label_of

    groups = [label_of(field.name, field.words, language) for field in few_valued(layer, catalog, GROUPS_MAX)]
    metrics = [one for one in layer.metrics.values() if one.words.state == "approved" and one.words.offered]
    for place, metric in enumerate(metrics):
        figure = label_of(metric.name, metric.words, language)
        kind = place % len(_TEXTS[language])
        group = groups[place // len(_TEXTS[language]) % len(groups)] if groups else ""
        if kind != 1 or group:
            yield _TEXTS[language][kind].format(figure=figure[:1].upper() + figure[1:], group=group)
