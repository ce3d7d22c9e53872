"""What a business reader sees instead of column names: a name for people, or what the column shows in words.

A result's column is led back to the catalog through the statement that was run, else by the name that the engine
gave it and the tables of the draft. A label never equals a technical name of the catalog, whoever wrote it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from querybus.core.catalog import Catalog, ColumnKind, Language, Table
from querybus.core.messages import ResultColumn
from querybus.text.disclosure import is_plain_word, leaks
from querybus.text.labels import LABEL_LENGTH_MAX, column_label
from querybus.text.language import detect_language
from querybus.text.readable_name import readable_name
from querybus_presenter.wording.lineage import Lineage
from querybus_presenter.wording.phrases import within_sentence
from querybus_presenter.wording.texts import Texts

_CALL = re.compile(
    r"\s*(?P<function>count|sum|avg|min|max)\s*\(\s*(?:distinct\s+)?(?P<inner>[^()]*)\)\s*", re.IGNORECASE
)
_NAME = re.compile(r"(?:[\"`\[]?\w+[\"`\]]?\.)?[\"`\[]?(?P<name>[^\"`\[\].]+)[\"`\]]?")
_EXPRESSION = re.compile(r"[()*+/<>=|'\"`%]|\bcase\b", re.IGNORECASE)
_SEPARATORS = re.compile(r"[_\s]+")
_AGAIN = re.compile(r" ?[(（]\d+[)）]$")
PHRASE_LENGTH_MAX: Final = 60
_KINDS: Final = {
    ColumnKind.TEXT: "text",
    ColumnKind.INTEGER: "number",
    ColumnKind.NUMBER: "number",
    ColumnKind.DATE: "date",
    ColumnKind.DATETIME: "date",
    ColumnKind.BOOLEAN: "boolean",
}


def labels(
    columns: Sequence[ResultColumn],
    catalog: Catalog | None,
    tables: Sequence[str],
    texts: Texts,
    origins: Sequence[Lineage] = (),
    phrases: Sequence[str | None] = (),
    said: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return a distinct label for each column, in order. Without a catalog each says only what kind its values are.

    `origins` and `phrases`, what each column shows in words, count only if they have one entry for each column, and so
    does `said`, what the statement's author calls them: it comes after the owner's own names.
    """
    known = origins if len(origins) == len(columns) else [Lineage()] * len(columns)
    words = phrases if len(phrases) == len(columns) else [None] * len(columns)
    offered = [
        _label(column.name, origin, catalog, tables, texts) if catalog else None
        for column, origin in zip(columns, known, strict=True)
    ]
    times = Counter(offered)
    names: list[str] = []
    taken: set[str] = set()
    next_number: dict[str, int] = {}
    authors = said if len(said) == len(columns) else [""] * len(columns)
    for column, own, phrase, origin, author in zip(columns, offered, words, known, authors, strict=True):
        # Two figures of one name are distinguished by what they are figures of.
        says_more = (
            phrase and (own in (None, texts.labels["count"]) or times[own] > 1) and len(phrase) <= PHRASE_LENGTH_MAX
        )
        label = phrase[:1].upper() + phrase[1:] if phrase and says_more else own
        if _may_name(author, origin, texts):
            label = author
        label = label or texts.labels[_KINDS.get(column.kind, "other")]
        distinct = label
        while distinct.casefold() in taken:
            number = next_number.get(label, 2)
            next_number[label] = number + 1
            distinct = texts.labels["again"].format(label=label, n=number)
        taken.add(distinct.casefold())
        names.append(distinct)
    return tuple(names)


def _may_name(label: str, origin: Lineage, texts: Texts) -> bool:
    """Return whether an author's label is a short text in the reader's language for what the owner has not named."""
    is_named = origin.column is not None and texts.language in origin.column.display_names
    if not label or is_named or len(label) > LABEL_LENGTH_MAX or not label.isprintable():
        return False
    return _EXPRESSION.search(label) is None and detect_language(label) == texts.language


def is_neutral(label: str, texts: Texts) -> bool:
    """Return whether a label only names the kind of its column's values and so says nothing in a sentence."""
    return _AGAIN.sub("", label) in {texts.labels[name] for name in ("other", *_KINDS.values())}


def _label(name: str, origin: Lineage, catalog: Catalog, tables: Sequence[str], texts: Texts) -> str | None:
    language = texts.language
    inner = column_label(origin.column, catalog, language) if origin.column else None
    function = origin.function
    if origin.column is None and function is None:
        call = _CALL.fullmatch(name)
        function = call["function"].lower() if call else None
        inner = _of_name(call["inner"] if call else name, catalog, tables, language)
    if function is None:
        return inner or _of_alias(name, catalog, language)
    # A name that the statement's author gave to a figure says more than the function alone.
    plain = texts.labels[function]
    if function == "count" or inner is None:
        return _of_alias(name, catalog, language) or plain
    return texts.labels["of"].format(function=plain, label=within_sentence(inner))


def _of_name(written: str, catalog: Catalog, tables: Sequence[str], language: Language) -> str | None:
    match = _NAME.fullmatch(written.strip())
    if match is None:
        return None
    for scope in (_named(catalog, tables), catalog.tables):
        owners = [column for table in scope if (column := table.column(match["name"])) is not None]
        offered = {column_label(owner, catalog, language) for owner in owners}
        if len(offered) == 1:
            return offered.pop()
        if owners:
            return None
    return None


def _named(catalog: Catalog, tables: Sequence[str]) -> tuple[Table, ...]:
    return tuple(table for item in tables if (table := catalog.table_at(item)) is not None)


def _of_alias(alias: str, catalog: Catalog, language: Language) -> str | None:
    """Return a label made of the words of an alias that the statement's author chose, in Chinese where all are known."""
    known = catalog.folded_identifiers
    if alias.casefold() in known or _EXPRESSION.search(alias):
        return None
    words = _SEPARATORS.sub(" ", alias).strip()
    if not words or words.casefold() in known or len(words) > LABEL_LENGTH_MAX:
        return None
    if not all(is_plain_word(word) for word in words.split()) or leaks(words, catalog, "en"):
        return None
    return (readable_name(words, language) if language == "zh" else "") or words[0].upper() + words[1:]


def distinct_names(shown: Sequence[str]) -> tuple[str, ...]:
    """Return names by which the columns of a chart can be distinguished."""
    names: list[str] = []
    for column in shown:
        count = 2
        name = column
        while name in names:
            name = f"{column} ({count})"
            count += 1
        names.append(name)
    return tuple(names)
