"""Figures that a question defines itself: "the sum of freight and tax", "margin, which is profit divided by revenue".

What is said in the question holds for the question: also where the owner has a figure of that name, which may be another.
Limits: sums of figures and one division, in English and as A与B之和 and A除以B; parts that no definition has leave the question as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from querybus_semantic.layer.definitions import Input, Layer, Metric, Words
from querybus_translator.definitions.naming.vocabulary import Sort, Vocabulary, phrase_of, vocabulary_of

THE_QUESTION: Final = "the question"
"""Who answers for such a definition."""
PARTS_MAX: Final = 8
WORDS_MAX: Final = 6
HAN_MAX: Final = 12
_HAN: Final = "[\u4e00-\u9fff]"
_SUM: Final = re.compile(r"\b(?:the\s+)*sum\s+of\s+(?:the\s+)*", re.IGNORECASE)
_DIVIDED: Final = re.compile(r"\s+divided\s+by\s+(?:the\s+)*", re.IGNORECASE)
_BETWEEN: Final = re.compile(r"\s*,\s*(?:(?:and|plus)\s+)?|\s+(?:and|plus)\s+|\s*\+\s*", re.IGNORECASE)
_DEFINES: Final = re.compile(
    r"(?:,?\s*(?:which|that|where\s+(?:the\s+)?(?P<name>[^,?]{1,60}?))\s+(?:is|are|means|equals)|\s*=)\s*(?:the\s+)*$",
    re.IGNORECASE,
)
_SUM_ZH: Final = re.compile(r"(?P<parts>[^，。？?]{2,80}?)(?:之和|的总和)")
_DIVIDED_ZH: Final = re.compile(r"(?P<one>[^，。？?、]{1,40}?)除以(?P<other>[^，。？?、的]{1,40})")
_BETWEEN_ZH: Final = re.compile(r"[、和与及加+]")


def with_own_terms(question: str, layer: Layer) -> tuple[str, Layer]:
    """Return the question with what it defines replaced by a name, and the layer that has a figure of that name."""
    chinese = () if question.isascii() else ((_SUM_ZH, _sum_zh), (_DIVIDED_ZH, _quotient_zh))
    for pattern, defined in ((_SUM, _sum), (_DIVIDED, _quotient), *chinese):
        said = pattern.search(question)
        if said is not None:
            return defined(question, said, layer) or (question, layer)
    return question, layer


def _sum(question: str, said: re.Match[str], layer: Layer) -> tuple[str, Layer] | None:
    vocabulary, rest = vocabulary_of(layer), question[said.end() :]
    keys: list[str] = []
    begun = 0
    while len(keys) < PARTS_MAX:
        joint = _BETWEEN.search(rest, begun)
        whole = _figure(rest[begun : joint.start()], vocabulary) if joint is not None else None
        if joint is None or whole is None:
            last, length = _first(rest[begun:], vocabulary)
            keys += [last] if last is not None else []
            begun += length
            break
        keys.append(whole)
        begun = joint.end()
    return _put(question[: said.start()], rest[begun:], _added(keys, layer), layer) if len(keys) > 1 else None


def _quotient(question: str, said: re.Match[str], layer: Layer) -> tuple[str, Layer] | None:
    vocabulary = vocabulary_of(layer)
    one, begun = _last(question[: said.start()], vocabulary)
    other, length = _first(question[said.end() :], vocabulary)
    if one is None or other is None:
        return None
    return _put(question[:begun], question[said.end() + length :], _divided(one, other), layer)


def _sum_zh(question: str, said: re.Match[str], layer: Layer) -> tuple[str, Layer] | None:
    vocabulary = vocabulary_of(layer)
    parts = _BETWEEN_ZH.split(said["parts"])
    first, begun = _last(parts[0], vocabulary)
    keys = [first, *[_figure(part, vocabulary) for part in parts[1:PARTS_MAX]]]
    found = [key for key in keys if key is not None]
    if len(found) < len(parts) or len(found) == 1:
        return None
    return _put(question[: said.start() + begun], question[said.end() :], _added(found, layer), layer)


def _quotient_zh(question: str, said: re.Match[str], layer: Layer) -> tuple[str, Layer] | None:
    vocabulary = vocabulary_of(layer)
    (one, begun), (other, length) = _last(said["one"], vocabulary), _first(said["other"], vocabulary)
    if one is None or other is None:
        return None
    rest = question[said.start("other") + length :]
    return _put(question[: said.start() + begun], rest, _divided(one, other), layer)


def _put(before: str, rest: str, made: Metric, layer: Layer) -> tuple[str, Layer] | None:
    """Return the question with a name where the definition stood, or without it where it says what a name means."""
    defines = _DEFINES.search(before)
    if defines is None:
        return f"{before} {made.name.replace('_', ' ')} {rest}", replace(
            layer, metrics={**layer.metrics, made.name: made}
        )
    before = before[: defines.start()]
    vocabulary = vocabulary_of(layer)
    name = defines["name"] or before[_last(before, vocabulary)[1] :]
    owners = _figure(name, vocabulary)
    if not name.strip() or (owners is None and not defines["name"]):
        return None
    others = dict(layer.metrics)
    if owners is not None:
        others[owners] = replace(others[owners], words=replace(others[owners].words, offered=False))
    key = f"{'_'.join(phrase_of(name))}_as_asked"
    called = name.strip()
    said = replace(made.words, label={"en": called, "zh": called}, synonyms=(called,))
    return f"{before} {rest}", replace(layer, metrics={**others, key: replace(made, name=key, words=said)})


def _added(keys: Sequence[str], layer: Layer) -> Metric:
    units = {layer.metrics[key].unit for key in keys}
    return Metric(
        "_plus_".join(keys),
        " + ".join(f"COALESCE(part{place}, 0)" for place in range(len(keys))),
        inputs=tuple(Input(key, f"part{place}") for place, key in enumerate(keys)),
        unit=units.pop() if len(units) == 1 else "",
        words=Words(f"the sum of {', '.join(key.replace('_', ' ') for key in keys)}", owner=THE_QUESTION),
    )


def _divided(one: str, other: str) -> Metric:
    return Metric(
        f"{one}_divided_by_{other}",
        "1.0 * part / NULLIF(whole, 0)",
        inputs=(Input(one, "part"), Input(other, "whole")),
        words=Words(f"{one.replace('_', ' ')} divided by {other.replace('_', ' ')}", owner=THE_QUESTION),
    )


def _figure(text: str, vocabulary: Vocabulary) -> str | None:
    """Return the one figure that a text names: "the total amount of premium" as "total premium"."""
    phrase = tuple(word for word in phrase_of(text) if word != "the")
    shorter = tuple(
        word
        for place, word in enumerate(phrase)
        if not (word == "amount" and phrase[place + 1 : place + 2] == ("of",))
        and not (word == "of" and phrase[place - 1] == "amount")
    )
    for form in dict.fromkeys((phrase, shorter)):
        found = [one for one in vocabulary.phrases.get(form, ()) if one.sort is Sort.METRIC]
        nearest = {one.name for one in found if one.rank == min(other.rank for other in found)}
        if len(nearest) == 1:
            return nearest.pop()
    return None


def _first(text: str, vocabulary: Vocabulary) -> tuple[str | None, int]:
    """Return the figure that a text begins with, by the longest of its names, and how many characters that takes."""
    ends = [piece.end() for piece in re.finditer(r"[^\s?？。.!,，]+", text)][:WORDS_MAX]
    ends += [place for place in range(1, min(len(text), HAN_MAX) + 1) if not text[:place].isascii()]
    ends += [piece.start() for piece in re.finditer(rf"(?<=\w)(?={_HAN})", text)]
    for end in sorted(set(ends), reverse=True):
        figure = _figure(text[:end], vocabulary)
        if figure is not None:
            return figure, end
    return None, 0


def _last(text: str, vocabulary: Vocabulary) -> tuple[str | None, int]:
    """Return the figure that a text ends with, by the longest of its names, and where that begins."""
    starts = [piece.start() for piece in re.finditer(r"[^\s,，]+", text)][-WORDS_MAX:]
    starts += [place for place in range(max(0, len(text) - HAN_MAX), len(text)) if not text[place:].isascii()]
    starts += [piece.end() for piece in re.finditer(rf"{_HAN}(?=\w)", text)]
    for start in sorted(set(starts)):
        figure = _figure(text[start:], vocabulary)
        if figure is not None:
            return figure, start
    return None, len(text)
