"""Two or three complete questions that can be asked as they stand, made from the catalog's display names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from querybus.core.catalog import USUAL_MEASURE_WORD, Catalog, Column, ColumnKind, Language, Table
from querybus.text.labels import is_readable
from querybus.text.language import grammar_faults
from querybus.text.readable_name import readable_name, spoken_name
from querybus.text.vocabulary import is_word
from querybus.text.words import plural, singular
from querybus_translator.answers.offered import average_of, is_measure
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.names import is_han, name_words
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.writing.form import ColumnRef

OPTIONS_MAX = 3


def suggest(index: CatalogIndex, tables: Sequence[int], language: Language) -> tuple[str, ...]:
    """Return up to OPTIONS_MAX questions about the given tables, or about the catalog's largest."""
    chosen = list(tables) or sorted(
        range(len(index.catalog.tables)), key=lambda item: (-(index.table(item).row_estimate or 0), item)
    )
    names: list[str] = []
    # Of what is empty nothing can be asked.
    for number in [item for item in chosen if index.table(item).row_estimate != 0][:2]:
        table = index.table(number)
        called = display(table, language)
        if language == "zh":
            measure = table.measure_word or USUAL_MEASURE_WORD
            names.append(f"有多少{measure}{called}？")
            figure = _first(index, number, figures=True)
            text = _first(index, number, figures=False)
            if text is not None:
                names.append(f"每个{display(text, language)}有多少{measure}{called}？")
            if figure is not None:
                names.append(f"{called}的平均{display(figure, language)}是多少？")
        else:
            called = display_rows(table, language)
            names.append(f"How many {called} are there?")
            figure = _first(index, number, figures=True)
            text = _first(index, number, figures=False)
            if text is not None:
                names.append(f"How many {called} are there for each {display(text, language)}?")
            if figure is not None:
                forms = average_of(display(figure, language), figure)
                names += [f"What is the average {form} of {called}?" for form in forms]
    return tuple(name for name in dict.fromkeys(names) if not grammar_faults(name))[:OPTIONS_MAX]


def display(named: Table | Column, language: Language) -> str:
    """Return what people call a table or column in a language: its display name, else the words of its name, in Chinese where they are known."""
    given = named.display_names.get(language)
    if given:
        return given[:1].lower() + given[1:] if language == "en" and not given[:2].isupper() else given
    if named.comment and (is_han(named.comment) == (language == "zh")) and len(named.comment) <= 40:
        return named.comment
    spelt = readable_name(named.name, language)
    if language == "zh":
        return spelt if is_han(spelt) else spoken_name(named.name) or named.name
    return (
        spelt[:1].lower() + spelt[1:]
        if spelt and not spelt[:2].isupper()
        else spelt or spoken_name(named.name) or named.name
    )


def display_rows(table: Table, language: Language) -> str:
    """Return what the rows of a table are called: in English in the plural, where its last word is an English one."""
    called = display(table, language)
    return plural(called) if language == "en" and is_word(singular(called.rpartition(" ")[2])) else called


def unreadable_names(catalog: Catalog) -> frozenset[str]:
    """Return the names that no label can be made of and that hold a code, as people would have to say them."""
    named = [item for table in catalog.tables for item in (table, *table.columns)]
    spoken = (spoken_name(item.name) for item in named if not is_readable(item))
    return frozenset(name for name in spoken if any(map(_is_code, name.split())))


def _is_code(piece: str) -> bool:
    """Return whether a piece of a name is no word that somebody could say: short, or with hardly a vowel."""
    vowels = sum(letter in "aeiouy" for letter in piece)
    return not is_word(piece) and (len(piece) <= _CODE_LENGTH_MAX or vowels * _LETTERS_A_VOWEL_MAX < len(piece))


_CODE_LENGTH_MAX: Final = 4
_LETTERS_A_VOWEL_MAX: Final = 4


def says_name(text: str, names: frozenset[str], asked: str) -> bool:
    """Return whether a text calls something by one of these names, if it has several pieces and its asker did not say it."""
    words = [word.lower() for word in _WORD.findall(text)]
    runs = {
        " ".join(words[start:end])
        for start in range(len(words))
        for end in range(start + 2, min(len(words), start + _NAME_WORDS_MAX) + 1)
    }
    return any(name not in asked.lower() for name in runs & names)


_NAME_WORDS_MAX: Final = 6
_WORD: Final = re.compile(r"[^\W_\u3400-\u9fff]+")


def _first(index: CatalogIndex, number: int, *, figures: bool) -> Column | None:
    table = index.table(number)
    keys = {*table.primary_key, *(name for key in table.foreign_keys for name in key.columns)}
    for place, column in enumerate(table.columns):
        if column.name in keys or column.personal or _names_a_key(index, ColumnRef(number, place)):
            continue
        if figures and is_measure(column, table, index.catalog):
            return column
        is_name = bool(name_words(column.name)) and name_words(column.name)[-1] in lexicon().label_words
        # Nobody counts a thing by its own name, or by what each has for itself.
        is_own = is_name or column.distinct_count == table.row_estimate
        if not figures and column.kind is ColumnKind.TEXT and 1 < (column.distinct_count or 0) <= 50 and not is_own:
            return column
    return None


def _names_a_key(index: CatalogIndex, column: ColumnRef) -> bool:
    return index.column(column.table, column.column).name.lower().endswith(tuple(lexicon().key_words))
