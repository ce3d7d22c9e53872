"""A question, or a request by name, answered by definitions alone: SQL and what was read, a refusal, or nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice
from typing import Final, TypeVar

from querybus.core.catalog import Catalog, Language
from querybus.core.messages import Reading
from querybus.core.requests.metrics_query import MetricsQuery
from querybus.text.readable_name import spoken_name
from querybus_semantic.checks.binding import bound, few_valued, flags_of, stored_values
from querybus_semantic.compiling.compile import Compiled, compile_request
from querybus_semantic.compiling.leaves import field_named
from querybus_semantic.formats.document import BadFileError
from querybus_semantic.formats.entries import Piece, layer_of
from querybus_semantic.layer.definitions import Layer, Words
from querybus_semantic.layer.labels import label_of
from querybus_semantic.layer.refusal import Code, Refusal
from querybus_semantic.layer.request import Asker, Dimension, Filter, Request, Value, request_of
from querybus_translator.definitions.describe import labels_of, noted, reading_of, units_of
from querybus_translator.definitions.naming.own_terms import with_own_terms
from querybus_translator.definitions.naming.vocabulary import currency_of, is_count, word_list
from querybus_translator.definitions.naming.words import question_words
from querybus_translator.definitions.outcome import Asked, Several, Unread
from querybus_translator.definitions.reader import read_change, read_request
from querybus_translator.failsafe import reads_or
from querybus_translator.language.names import name_words
from querybus_translator.threads.complete import is_complete
from querybus_translator.threads.follow_words import follow_up

CONFIDENCE: Final = 0.95
EARLIER_MAX: Final = 8
OPTIONS_MAX: Final = 3
SPLIT_VALUES_MAX: Final = 20
UNREAD_MAX: Final = 3
"""Words that a reading is offered without: a question of more of them is another question."""


@dataclass(frozen=True)
class Defined:
    """The definitions of a connection, over the catalog that a reader may see; `values` finds stored values by text."""

    layer: Layer
    catalog: Catalog
    values: Mapping[str, Sequence[tuple[str, str]]]

    def places(self, text: str) -> Sequence[tuple[str, str]]:
        """Return which fields hold a text as a value."""
        return self.values.get(text.casefold(), ())

    @cached_property
    def flags(self) -> Mapping[str, Value]:
        """Fields that say yes or no, each with the value that says yes."""
        return flags_of(self.layer, self.catalog)


@dataclass(frozen=True, slots=True)
class ByDefinition:
    """SQL that was compiled, what was read, and per column its name for people and its unit."""

    sql: str
    read_as: Reading
    labels: tuple[str, ...] = ()
    units: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotByDefinition:
    """Every word is defined, and still there is no number: why, what of the question it is about, and ways on."""

    about: str
    detail: str
    options: tuple[str, ...]


def defined_of(pieces: Iterable[Piece], catalog: Catalog) -> Defined | None:
    """Return a connection's definitions over a catalog; None where there are none that can be used."""
    try:
        layer = layer_of(pieces)
    except BadFileError:
        return None
    if layer is None:
        return None
    seen, _ = bound(layer, catalog)
    return Defined(seen, catalog, stored_values(seen, catalog)) if seen.datasets else None


def answer_metrics(
    query: MetricsQuery, defined: Defined, language: Language, asker: Asker
) -> ByDefinition | NotByDefinition:
    """Return the answer to a request by name."""
    request = request_of(query)
    found = compiled_answer(request, defined.layer, defined, language, asker)
    return found or NotByDefinition("", "Nothing is asked for.", ())


def _not_defined() -> ByDefinition | NotByDefinition | None:
    return None


@reads_or(_not_defined)
def answer_question(
    question: str, earlier: Sequence[str], defined: Defined, asker: Asker, language: Language
) -> ByDefinition | NotByDefinition | None:
    """Return the answer to a question whose every word is covered by definitions; None where one is not.

    `earlier` are the questions of the thread before it, oldest first: a question without a figure changes the last one.
    """
    unconverted = _unconverted(question, earlier, defined, asker)
    if unconverted is not None:
        return unconverted
    asked = asked_in_thread(question, earlier, defined, asker)
    if isinstance(asked, Several):
        names = [_said(defined.layer, name, language) for name in asked.options]
        distinct = tuple(dict.fromkeys(names))[:OPTIONS_MAX]
        said = [f"{name} {asked.about}" if asked.is_value else name for name in distinct]
        options = tuple(question.replace(asked.about, one) for one in said) if len(distinct) > 1 else ()
        return (
            NotByDefinition(asked.about, f"`{asked.about}` stands for several definitions.", options)
            if options
            else None
        )
    if isinstance(asked, Unread) or _wants_lines(question, asked):
        return None
    return compiled_answer(asked.request, asked.layer, defined, language, asker, question, asked.followed)


def without_unread(
    question: str, earlier: Sequence[str], defined: Defined, asker: Asker, language: Language
) -> tuple[str, tuple[str, ...]] | None:
    """Return the words of a question that no definition has, and questions without them that are answered, the nearest first.

    None where one of them may change the figure: what negates, counts, compares or is a deed is never left out.
    """
    left: list[str] = []
    text = question
    read = _read(text, defined, asker, is_first=False)
    while isinstance(read, Unread) and read.words and len(left) <= UNREAD_MAX:
        if any(_weighs(word) for word in read.words):
            return None
        left += read.words
        before = text
        for word in read.words:
            text = _without(text, word)
        if text == before:
            return None
        read = _read(text, defined, asker, is_first=False)

    def is_answered(asked: str) -> bool:
        return isinstance(answer_question(asked, earlier, defined, asker, language), ByDefinition)

    if not left or len(left) > UNREAD_MAX or not is_answered(text):
        return None
    is_split = isinstance(read, Asked) and bool(read.request.dimensions)
    more = () if is_split else tuple(islice(filter(is_answered, _split(text, defined, language)), OPTIONS_MAX - 1))
    return ", ".join(left), (text, *more)


def _split(question: str, defined: Defined, language: Language) -> Iterator[str]:
    """Yield a question about one figure, split: by what has few values, and per month."""
    plain = question.rstrip("?？ ")
    for field in few_valued(defined.layer, defined.catalog, SPLIT_VALUES_MAX):
        said = label_of(field.name, field.words, language)
        yield f"{plain} by {said}" if language == "en" else f"各{said}的{plain}"
    yield f"{plain} per month" if language == "en" else f"每月{plain}"


def _weighs(word: str) -> bool:
    norm = word.casefold()
    return (
        norm in question_words().weighty
        or any(sign.isdecimal() for sign in norm)
        or norm.endswith(("ed", "ing", "er", "est"))
        or not set("不没无非未最超低高多少比前后").isdisjoint(norm)
    )


def _without(question: str, word: str) -> str:
    """Return a question without a word, and without the small words that only led to it: "revenue in Atlantis"."""
    if not word.isascii():
        # 状态为丢失: what something is said to be is its value, and no word beside it.
        return re.sub(rf"(?<![为是叫])[和与、]?{re.escape(word)}的?", "", question, count=1)
    small = r"(?:\b(?:in|of|for|from|at|on|with|by|to|the|a|an|and|called|named)\s+)*"
    ends = rf"{small}\b{re.escape(word)}\b\s*(?=[?.!,;]|$)"
    text, count = re.subn(ends, "", question, count=1, flags=re.IGNORECASE)
    if not count:
        text = re.sub(rf"\b{re.escape(word)}\b", "", question, count=1, flags=re.IGNORECASE)
    return re.sub(r"\s+([?.!,;])", r"\1", " ".join(text.split()))


def _unconverted(question: str, earlier: Sequence[str], defined: Defined, asker: Asker) -> NotByDefinition | None:
    """Return why amounts of several currencies are not added up as they are stored: "revenue without conversion"."""
    said = _as_stored().search(question)
    if said is None:
        return None
    without = " ".join(f"{question[: said.start()]} {question[said.end() :]}".split()).replace(" ?", "?")
    asked = asked_in_thread(without, earlier, defined, asker)
    if not isinstance(asked, Asked) or not any(
        currency_of(asked.layer.metrics[name]) for name in asked.request.metrics
    ):
        return None
    if any("currency" in name_words(item.field.rpartition(".")[2]) for item in asked.request.dimensions):
        return None
    return NotByDefinition(said[0], "Amounts in several currencies are not added up unconverted.", (without,))


@lru_cache(maxsize=1)
def _as_stored() -> re.Pattern[str]:
    words = word_list()["unconverted"]
    english = "|".join(re.escape(text) for text in words["en"])
    return re.compile(rf"\b(?:{english})\b|{'|'.join(words['zh'])}", re.IGNORECASE)


def _wants_lines(question: str, asked: Asked) -> bool:
    """Whether single lines are asked for where all that is defined is how many there are: "show me the orders"."""
    metrics = [asked.layer.metric(name) for name in asked.request.metrics]
    counts = all(metric is not None and is_count(metric) for metric in metrics)
    is_list = _LISTED.search(question) is not None and _COUNTED.search(question) is None
    return is_list and counts and not asked.request.dimensions


_LISTED: Final = re.compile(
    r"^\s*(?:please\s+)?(?:show|list|give|display|find|get|which)\b|列出|显示|哪些|^给我", re.IGNORECASE
)
_COUNTED: Final = re.compile(
    r"\b(?:number|count|how many|total)\b|多少|几|数量|总数|笔数|人数|数[？?。]*$", re.IGNORECASE
)


def _said(layer: Layer, name: str, language: Language) -> str:
    """Return what people call a metric or a dataset.field."""
    metric = layer.metric(name)
    if metric is not None:
        return label_of(name, metric.words, language)
    dataset, field = field_named(layer, name)
    plain = label_of(name, field.words if field is not None else Words(), language)
    return f"{spoken_name(dataset)} {plain}"


def _read(question: str, defined: Defined, asker: Asker, *, is_first: bool) -> Asked | Unread | Several:
    question, chosen = _path_chosen(question, defined.layer)
    question, layer = with_own_terms(question, defined.layer)
    asked = read_request(question, layer, asker.today, defined.places, flags=defined.flags, is_first=is_first)
    if not isinstance(asked, Asked):
        return asked
    asked = replace(asked, steps=chosen)
    asked = _along_what_is_named(asked, defined, asker)
    if isinstance(compile_request(asked.layer, asked.request, defined.catalog.dialect, asker), Compiled):
        return asked
    if asked.of_rows is not None and isinstance(
        compile_request(asked.layer, asked.of_rows, defined.catalog.dialect, asker), Compiled
    ):
        return replace(asked, request=asked.of_rows)
    # "By year" may mean a field that is called so, where the figure has no date of its own.
    other = read_request(question, layer, asker.today, defined.places, flags=defined.flags, dates_as_fields=True)
    is_better = isinstance(other, Asked) and isinstance(
        compile_request(other.layer, other.request, defined.catalog.dialect, asker), Compiled
    )
    return other if is_better else asked


_CHOICE: Final = re.compile(r"\s*[(（]([^()（）]+)[)）]\s*[?？。.!！]?\s*$")


def _path_chosen(question: str, layer: Layer) -> tuple[str, tuple[str, ...]]:
    """Return a question without the relation that was chosen of several, and that relation: "tonnes by country (origin)"."""
    found = _CHOICE.search(question)
    known = {name for one in layer.relations for name in (one.name, one.role) if name}
    if found is None or found[1].strip() not in known:
        return question, ()
    return question[: found.start()], (found[1].strip(),)


def _along_what_is_named(asked: Asked, defined: Defined, asker: Asker) -> Asked:
    """Return the request with the path that passes what is named, where several lead to a field: "region of the agent's team"."""
    for _ in asked.request.dimensions + asked.request.filters:
        refused = compile_request(asked.layer, asked.request, defined.catalog.dialect, asker)
        if isinstance(refused, Compiled) or refused.code is not Code.AMBIGUOUS_PATH:
            return asked
        via = _path_named(asked, refused)
        if via is None:
            return asked
        request = asked.request
        changed = replace(
            request,
            dimensions=tuple(_by_way_of(item, refused.about, via) for item in request.dimensions),
            filters=tuple(_by_way_of(item, refused.about, via) for item in request.filters),
        )
        if changed == request:
            return asked
        asked = replace(asked, request=changed)
    return asked


_Part = TypeVar("_Part", Dimension, Filter)


def _by_way_of(item: _Part, target: str, via: tuple[str, ...]) -> _Part:
    is_reached = item.field.rpartition(".")[0] == target and not item.via
    return replace(item, via=via) if is_reached else item


def _path_named(asked: Asked, refused: Refusal) -> tuple[str, ...] | None:
    """Return the one path of a refusal that passes the most of the datasets that are named; None where none does."""
    passed: list[tuple[int, tuple[str, ...]]] = []
    for option in refused.options:
        names = tuple(option.split(" > "))
        if not set(asked.steps).isdisjoint(names):
            return names
        steps = [one for one in asked.layer.relations if one.name in names or (one.role and one.role in names)]
        between = {one.one for one in steps} - {refused.about}
        passed.append((len(between.intersection(asked.spoken)), names))
    most = max((count for count, _ in passed), default=0)
    best = [names for count, names in passed if count == most]
    return best[0] if most and len(best) == 1 else None


def asked_in_thread(question: str, earlier: Sequence[str], defined: Defined, asker: Asker) -> Asked | Unread | Several:
    """Return what a question asks by itself or, where it names no figure or only another one, of the question before."""
    before: Asked | None = None
    found: Asked | Unread | Several = Unread(())
    previous = ""
    for text in (*earlier[-EARLIER_MAX:], question):
        found = _read(text, defined, asker, is_first=before is None)
        is_part = before is not None and not is_complete(text, previous, defined.catalog, today=asker.today)
        previous = text
        if before is not None and is_part and (found == Unread(()) or _continues(text, found)):
            changed = read_change(text, before, asker.today, defined.places, flags=defined.flags)
            is_possible = isinstance(found, Unread) or (
                isinstance(changed, Asked)
                and isinstance(
                    compile_request(changed.layer, changed.request, defined.catalog.dialect, asker), Compiled
                )
            )
            if is_possible:
                found = replace(changed, followed=before.request) if isinstance(changed, Asked) else changed
        before = found if isinstance(found, Asked) else None
    return found


def _continues(question: str, found: Asked | Unread | Several) -> bool:
    """ "And the freight?", "and orders per status?": another figure of what was asked before, in its period."""
    return isinstance(found, Asked) and found.request.period is None and follow_up(question).is_marked


def compiled_answer(
    request: Request,
    layer: Layer,
    defined: Defined,
    language: Language,
    asker: Asker,
    question: str = "",
    followed: Request | None = None,
) -> ByDefinition | NotByDefinition | None:
    """Return the answer to a request, or why there is none; None where other means may still answer a question.

    `followed` is the request of the question before, where this one changes it.
    """
    compiled = compile_request(layer, request, defined.catalog.dialect, asker)
    if isinstance(compiled, Compiled):
        read_as = reading_of(layer, request, language, defined.flags, followed)
        text = read_as.text + noted(layer, compiled.notes, language)
        return ByDefinition(
            compiled.sql,
            read_as.model_copy(update={"text": text}),
            labels_of(layer, compiled.outputs, language),
            units_of(layer, compiled.outputs, language),
        )
    return _refused(compiled, request, layer, language, question)


def _refused(
    refusal: Refusal, request: Request, layer: Layer, language: Language, question: str
) -> NotByDefinition | None:
    if refusal.code in {Code.UNKNOWN_FIELD, Code.UNSUPPORTED, Code.NO_DATE} and question:
        # What no definition can say may still be answered by other means.
        return None
    options: tuple[str, ...] = ()
    if refusal.code is Code.AMBIGUOUS_PATH and question:
        paths = [option.split(" > ") for option in refusal.options[:OPTIONS_MAX]]
        # Where the ways part: the first step that not all of them have.
        parting = [
            next((step for step in path if any(step not in other for other in paths)), path[0]) for path in paths
        ]
        options = tuple(f"{question.rstrip('?？ ')} ({step})" for step in dict.fromkeys(parting))
    elif refusal.code in {Code.NO_PATH, Code.CLOSED_RELATION, Code.FINER_GRAIN}:
        without = replace(request, dimensions=(), order=(), limit=None)
        options = (reading_of(layer, without, language).text.partition("." if language == "en" else "。")[0],)
    about = ", ".join(
        label_of(name, metric.words, language) for name in request.metrics if (metric := layer.metric(name)) is not None
    )
    return NotByDefinition(about, refusal.detail, options)
