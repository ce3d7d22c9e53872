"""What a catalog calls things, turned into look-ups once per catalog fingerprint.

Words of names, display names, synonyms and short comments lead to tables and columns; values lead to columns. The
index is immutable after it is built, apart from a memory of words already compared.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from typing import Any, Final

from querybus.core.catalog import Catalog, Column, ColumnKind, Language, Table
from querybus.text.names.places import names_of_codes
from querybus.text.readable_name import readable_name
from querybus_translator.language.english_words import english_words
from querybus_translator.language.lexicon import FIGURES, Op, lexicon
from querybus_translator.language.names import is_han, name_words, split_prefix
from querybus_translator.language.segment import segment
from querybus_translator.language.stems import base_form, stem
from querybus_translator.language.tokens import TokenKind, tokenize
from querybus_translator.schema.chinese import TRANSLATED, VALUE_WORDS_MAX, chinese_meanings, stands_for
from querybus_translator.schema.joins import JoinGraph
from querybus_translator.schema.other_names import (
    NAMES_OF_PEOPLE,
    called_otherwise,
    figures_of,
    other_names,
    titled_by_table,
    with_key_name,
)
from querybus_translator.schema.roles import Role, roles_of

COMMENT_WORDS_MAX = 5
HAN_NAME_LENGTH_MAX = 12
HAN_WORD_LENGTH_MIN = 2
VALUE_TOKENS_MAX = 10
INDEXES_KEPT_MAX = 32
_ABBREVIATED_LETTERS_MIN = 5
_SPELLING_LETTERS_MIN = 5
_SPELLING_RATIO_MIN = 0.84

_FIGURE = re.compile(r"\s*-?\d+(\.\d+)?\s*")
EXACT = 1.0
SAME_STEM = 0.88
RELATED = 0.82
_SECOND_COST = 0.08
ABBREVIATED = 0.7
MISSPELT = 0.7


@dataclass(frozen=True, slots=True)
class Entry:
    """A table (`column` None) or column with all its names as words; numbers count tables and columns of the catalog.

    Of the words in `role`, if there are any, one must be said for the entry to be meant.
    """

    table: int
    column: int | None
    names: tuple[tuple[str, ...], ...]
    role: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A value as the database spells it, and the column that holds it."""

    table: int
    column: int
    text: str


_WHETHER: Final = "是否"
_STAFF: Final = frozenset(
    {
        "staff", "employee", "worker", "personnel", "crew", "instructor", "teacher", "lecturer", "nurse", "agent", "clerk",
        "technician", "mechanic", "engineer", "waiter", "chef", "cashier", "consultant", "vet", "doctor", "trainer",
    }
)  # fmt: skip
_SHORT_NAME_MAX: Final = 5


class CatalogIndex:
    """Look-ups over one catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.roles = roles_of(catalog)
        self.graph = JoinGraph(catalog, self.roles)
        self.entries: list[Entry] = []
        self.own: dict[str, set[int]] = defaultdict(set)
        self._whole: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self.via_table: dict[str, set[int]] = defaultdict(set)
        self.values: dict[tuple[str, ...], list[StoredValue]] = defaultdict(list)
        self._table_entries: list[int] = []
        self.table_words: list[frozenset[str]] = []
        self._figures: dict[tuple[int, int], bool] = {}
        self.recalled: dict[tuple[tuple[str, ...], bool], tuple[Any, ...]] = {}
        self.han_words: set[str] = set(lexicon().chinese_words)
        self._similar: dict[str, dict[str, float]] = {}
        self._collect_han()
        called = called_otherwise(catalog)
        for number, table in enumerate(catalog.tables):
            self._add_table(number, table, called.get(table.name.lower(), ()))
        for role in self.roles:
            self._add_role(role)
        self._add_places()
        self._stems: dict[str, set[str]] = defaultdict(set)
        self._initials: dict[str, list[str]] = defaultdict(list)
        for word in set(self.own):
            if not is_han(word):
                self._stems[stem(word)].add(word)
                self._initials[word[:1]].append(word)
        self._translated: Mapping[str, Mapping[str, float]] = {}
        self.parts_of_meanings: Mapping[str, tuple[str, ...]] = {}
        self.compounds: Mapping[str, tuple[tuple[str, str], ...]] = {}
        """Chinese words that stand for two English ones: 血型 is a blood type."""
        self._other_words: Mapping[str, Mapping[str, float]] | None = None
        self._reads_chinese = False
        self.han_length_max = max((len(word) for word in self.han_words), default=1)

    def read_chinese(self) -> None:
        """Learn what the words of an English catalog are called in Chinese, at its first Chinese question."""
        if self._called or self._reads_chinese:
            return
        stored = frozenset(key for key in self.values if len(key) <= VALUE_WORDS_MAX)
        # A word whose meanings this catalog does not have may have another in the dictionary.
        known = frozenset(
            word for word in self.han_words if not self.own.keys().isdisjoint(lexicon().related.get(word, {word}))
        )
        meant = chinese_meanings(frozenset(self.own), self._words_otherwise(), stored, known)
        self._translated, self.compounds, self.parts_of_meanings = meant.names, meant.compounds, meant.parts
        for word, keys in meant.values.items():
            self.values[(word,)] += [value for key in keys for value in self.values[key]]
        self.han_words |= {*self._translated, *self.compounds, *meant.values}
        self.han_length_max = max((len(word) for word in self.han_words), default=1)
        self._similar.clear()
        self._reads_chinese = True

    def sharing_signs(self, word: str) -> list[Table | Column]:
        """Return what is called by English words for which a Chinese word shares a sign with this one, tables and close ones first."""
        best: dict[int, tuple[float, float]] = {}
        for chinese, meant in self._translated.items():
            shared = len(set(chinese) & set(word)) / max(len(chinese), len(word))
            for english, closeness in meant.items() if shared else ():
                for number in self.own[english]:
                    entry = self.entries[number]
                    if entry.table < len(self.catalog.tables) and any(len(name) == 1 for name in entry.names):
                        score = (closeness, shared)
                        best[number] = max(best.get(number, score), score)
        ranked = sorted(best, key=lambda number: (self.entries[number].column is not None, *(-x for x in best[number])))
        return [
            self.table(entry.table) if entry.column is None else self.column(entry.table, entry.column)
            for entry in (self.entries[number] for number in ranked)
        ]

    def entries_of_table(self, number: int) -> Entry:
        """Return the entry of the table itself."""
        return self.entries[self._table_entries[number]]

    def entry_of_column(self, table: int, column: int) -> Entry:
        return self.entries[self._table_entries[table] + 1 + column]

    def table(self, number: int) -> Table:
        """Return the table of a number; numbers behind the catalog's are its roles."""
        return self.catalog.tables[self.real(number)]

    def column(self, table: int, column: int) -> Column:
        return self.table(table).columns[column]

    def real(self, number: int) -> int:
        """Return the number of the catalog's table that a table or role stands for."""
        beyond = number - len(self.catalog.tables)
        return number if beyond < 0 else self.roles[beyond].table

    def is_key(self, table: int, column: int) -> bool:
        """Return whether a column distinguishes rows or refers to others."""
        own = self.table(table)
        name = own.columns[column].name
        return name in own.primary_key or any(name in key.columns for key in own.foreign_keys)

    def role(self, number: int) -> Role | None:
        beyond = number - len(self.catalog.tables)
        return None if beyond < 0 else self.roles[beyond]

    def title(self, number: int) -> str:
        """Return the table's name as the catalog spells it, with its role if it has one."""
        role = self.role(number)
        name = self.table(number).name
        return name if role is None else f"{name} ({role.column})"

    def called(self, number: int, language: Language) -> str | None:
        """Return what people call a role, None for a table without one."""
        role = self.role(number)
        if role is None:
            return None
        return role.display_names.get(language) or ("" if language == "zh" else " ").join(role.names[0])

    def knows(self, term: str) -> bool:
        """Return whether a term is already the whole name of a table or column."""
        return name_words(term) in self._whole

    def called_by(self, word: str) -> list[int]:
        """Return the tables that a word is the whole name of."""
        entries = (self.entries[item] for item in self._whole.get((word,), ()))
        return [entry.table for entry in entries if entry.column is None]

    def holds_figures(self, table: int, column: int) -> bool:
        """Return whether a column holds figures: by its type, or as texts that are all numbers."""
        known = self._figures.get((table, column))
        if known is None:
            read = self.column(table, column)
            known = read.kind in {ColumnKind.INTEGER, ColumnKind.NUMBER} or (
                read.kind is ColumnKind.TEXT
                and bool(read.values)
                and all(_FIGURE.fullmatch(value) for value in read.values)
            )
            self._figures[table, column] = known
        return known

    def similar(self, word: str) -> dict[str, float]:
        """Return the words of this catalog's names that a word may stand for, each with its closeness in 0..1."""
        known = self._similar.get(word)
        if known is None:
            known = self._compare(word)
            if len(self._similar) < 50_000:
                self._similar[word] = known
        return known

    def _compare(self, word: str) -> dict[str, float]:
        result: dict[str, float] = {word: EXACT} if word in self.own else {}
        if not any(phrase.op is Op.NOT for phrase in lexicon().english.get((word,), ())):
            for spelt in lexicon().abbreviations.get(word, ())[:1]:
                self._add(result, spelt, EXACT)
        if any(phrase.op in FIGURES for phrase in lexicon().english.get((word,), ())):
            # "Total" asks for a sum; only a name that holds the very word takes it from that.
            return result
        heads = lexicon().heads.get(word, frozenset())
        for other in lexicon().related.get(word, ()):
            closeness = TRANSLATED if is_han(word) and not self._called else RELATED
            # 课程 is a course before it is a subject.
            is_second = not heads.isdisjoint(self.own) and other not in heads
            self._add(result, other, closeness - _SECOND_COST if is_second else closeness)
        if is_han(word):
            self._add_chinese(result, word)
        else:
            self._add_english(result, word)
        return result

    @cached_property
    def people_table(self) -> int | None:
        """The people of this database: its only table of those who are called as persons are."""
        tables = [
            number
            for number, table in enumerate(self.catalog.tables)
            if any(tuple(name_words(column.name)) in NAMES_OF_PEOPLE for column in table.columns)
        ]
        return tables[0] if len(tables) == 1 else None

    @cached_property
    def names_of_persons(self) -> tuple[tuple[int, int], ...]:
        """Each table that holds names of persons, with the first column of them."""
        found: dict[int, int] = {}
        for number, table in enumerate(self.catalog.tables):
            for place, column in enumerate(table.columns):
                if column.person_name:
                    found.setdefault(number, place)
        return tuple(found.items())

    @cached_property
    def staff_table(self) -> int | None:
        """Those who work here: the only table that is called so."""
        named = [name_words(table.name)[-1:] for table in self.catalog.tables]
        tables = [number for number, last in enumerate(named) if not _STAFF.isdisjoint(last)]
        return tables[0] if len(tables) == 1 else None

    def _add(self, result: dict[str, float], other: str, closeness: float) -> None:
        """Note a word of this catalog with the best of its closenesses."""
        if other in self.own and result.get(other, 0.0) < closeness:
            result[other] = closeness

    def _add_chinese(self, result: dict[str, float], word: str) -> None:
        for other, closeness in self._translated.get(word, {}).items():
            self._add(result, other, closeness)
        for other in {near for own in result for near in self._stems.get(stem(own), ())}:
            # 估计 is to estimate, and a table of estimations is called so.
            self._add(result, other, TRANSLATED * SAME_STEM)
        if not result and not self._called:
            english = [item for item in lexicon().related.get(word, ()) if not is_han(item)]
            for other, closeness in stands_for(english, self.own, self._words_otherwise()).items():
                self._add(result, other, closeness)
            # 注册 is to register, and a column is called "registered on".
            for other in (other for item in english for other in self._stems.get(stem(item), ())):
                self._add(result, other, SAME_STEM)

    def _add_english(self, result: dict[str, float], word: str) -> None:
        for other in self._stems.get(stem(word), ()):
            self._add(result, other, SAME_STEM)
        plain = (lexicon().stopwords, lexicon().verbs, lexicon().fillers, lexicon().label_words)
        if not result and not any(word in words for words in plain) and (word,) not in self.values:
            for other, closeness in self._words_otherwise().get(word, {}).items():
                self._add(result, other, closeness)
        if len(word) >= _ABBREVIATED_LETTERS_MIN:
            for other in self._initials.get(word[:1], ()):
                if 3 <= len(other) <= len(word) - 2 and word.startswith(other) and other not in lexicon().related:
                    self._add(result, other, ABBREVIATED)
        if not result and len(word) >= _SPELLING_LETTERS_MIN:
            for other in self._initials.get(word[:1], ()):
                if abs(len(other) - len(word)) <= 2 and _alike(word, other):
                    self._add(result, other, MISSPELT)

    def _words_otherwise(self) -> Mapping[str, Mapping[str, float]]:
        """Return which words of this catalog other words may stand for, learnt at the first word that it does not use."""
        if self._other_words is None:
            self._other_words = english_words(frozenset(word for word in self.own if not is_han(word)))
        return self._other_words

    def _collect_han(self) -> None:
        self._called = frozenset(item for table in self.catalog.tables for item in _said(table) if is_han(item))
        for table in self.catalog.tables:
            for named in (table, *table.columns):
                for text in _said(named):
                    if is_han(text) and len(text) <= HAN_NAME_LENGTH_MAX:
                        self.han_words.add(text)
                        if named is not table:
                            self.han_words.update(self._shorter(text, table))
            for column in table.columns:
                self.han_words.update(value for value in column.values if is_han(value))

    def _add_table(self, number: int, table: Table, called: tuple[tuple[str, ...], ...]) -> None:
        table_names = (*with_key_name(table, self._names(table, owner="")), *called)
        # "Customer since" is said of customers, whatever their table is called.
        since = [name_words(column.name) for column in table.columns]
        table_names = tuple(dict.fromkeys((*table_names, *((words[0],) for words in since if words[1:] == ("since",)))))
        self._table_entries.append(len(self.entries))
        self.table_words.append(frozenset(word for name in table_names for word in name))
        self._add_entry(Entry(number, None, table_names))
        titled = titled_by_table(table)
        for place, column in enumerate(table.columns):
            names = self._names(column, owner=table.name.lower(), table=table)
            names = self._without_entity_names(table, column, names)
            if place == titled:
                names = (*names, *((word,) for word in lexicon().label_words if not is_han(word)))
            entry = Entry(number, place, tuple(dict.fromkeys((*names, *figures_of(column)))))
            for name in table_names:
                for word in name:
                    self.via_table[word].add(len(self.entries))
            self._add_entry(entry)
            if column.kind is ColumnKind.TEXT and not column.personal:
                self._add_values(*(self._named_by(table, column) or (number, place)), column)

    def _named_by(self, table: Table, column: Column) -> tuple[int, int] | None:
        """Return the column whose names a key holds, where it says who plays a role; None for any other column."""
        for role in self.roles:
            if role.is_of_names and role.column == column.name and self.catalog.tables[role.source] is table:
                names = [one.name for one in self.catalog.tables[role.table].columns]
                return role.table, names.index(role.referred)
        return None

    def _add_role(self, role: Role) -> None:
        number = len(self.table_words)
        table = self.catalog.tables[role.table]
        own = name_words(table.name)
        said = frozenset(word for name in role.names for word in name if word not in own)
        self._table_entries.append(len(self.entries))
        self.table_words.append(frozenset())
        names = (*role.names, *((*name, *own) for name in role.names if not set(name) & set(own)))
        self._add_entry(Entry(number, None, tuple(dict.fromkeys(names)), said))
        for place in range(len(table.columns)):
            theirs = self.entry_of_column(role.table, place).names
            called = tuple(dict.fromkeys((*name, *item) for name in role.names for item in theirs))
            self._add_entry(Entry(number, place, called, said))

    def _without_entity_names(
        self, table: Table, column: Column, names: tuple[tuple[str, ...], ...]
    ) -> tuple[tuple[str, ...], ...]:
        """A key column displayed as "Customer" stands for the customer: the name belongs to the table it refers to."""
        for role in self.roles:
            if self.catalog.tables[role.source] is table and role.column == column.name:
                if role.is_of_names:
                    # "Follower" means whoever follows, known by the name that the key holds.
                    return (("\0",),)
                # "Manager" means whoever manages; the key is meant where it is called a key.
                return (names[0],) if names[0] not in role.names else (("\0", *names[0]),)
        if column.kind not in {ColumnKind.INTEGER, ColumnKind.OTHER} or len(names) < 2:
            return names
        for key in table.foreign_keys:
            referred = self.catalog.referred(key, table)
            if key.columns == (column.name,) and referred is not None and referred is not table:
                theirs = set(self._names(referred, owner=""))
                kept = tuple(name for name in names[1:] if name not in theirs and _singular(name) not in theirs)
                return (names[0], *kept)
        return names

    def _add_entry(self, entry: Entry) -> None:
        for name in entry.names:
            self._whole[name].append(len(self.entries))
            for word in name:
                self.own[word].add(len(self.entries))
        self.entries.append(entry)

    def _names(self, named: Table | Column, owner: str, table: Table | None = None) -> tuple[tuple[str, ...], ...]:
        texts = [named.name, readable_name(named.name, "en"), *named.display_names.values(), *named.synonyms]
        if named.comment and (is_han(named.comment) or len(named.comment.split()) <= COMMENT_WORDS_MAX):
            texts.append(named.comment)
        pairs: list[tuple[str, ...]] = []
        keys = () if table is None else (table.primary_key, *(key.columns for key in table.foreign_keys))
        is_key = any(named.name in columns for columns in keys)
        for text in texts:
            words = name_words(text)
            pairs += [words, *(() if is_key else other_names(words))]
            if len(words) > 1 and text.isalpha() and len(text) <= _SHORT_NAME_MAX:
                # "WiFi" is one word.
                pairs.append((text.lower(),))
            if table is not None and is_han(text):
                pairs += [(item,) for item in self._shorter(text, table)]
            if len(words) == 1 and is_han(words[0]):
                pieces = segment(words[0], self.han_words - {words[0]}, 12)
                if len(pieces) > 1 and all(known for _, known in pieces):
                    pairs.append(tuple(piece for piece, _ in pieces))
            elif len(words) == 1 and owner and words[0] not in lexicon().related:
                pairs.append(split_prefix(words[0], _plain_words(), owner))
        return tuple(dict.fromkeys(item for item in pairs if item))

    def _shorter(self, text: str, table: Table) -> tuple[str, ...]:
        """In Chinese 供应商评级 is called 评级 beside its table, and 入职日期 is what 入职 happened on."""
        result = [text.removeprefix(item) for item in _said(table) if item in self._called and text.startswith(item)]
        # 是否在职 says of each row whether it is 在职.
        result += [text.removeprefix(_WHETHER)] if text.startswith(_WHETHER) else []
        result += [
            text.removesuffix(time_suffix) for time_suffix in lexicon().time_suffixes if text.endswith(time_suffix)
        ]
        return tuple(
            item
            for item in result
            if len(item) >= HAN_WORD_LENGTH_MIN and item not in lexicon().label_words and item not in self._called
        )

    def _add_values(self, table: int, place: int, column: Column) -> None:
        for text in column.values:
            tokens = tokenize(text)
            if not 1 <= len(tokens) <= VALUE_TOKENS_MAX:
                continue
            if all(token.kind in {TokenKind.NUMBER, TokenKind.MARK, TokenKind.DATE} for token in tokens):
                continue
            stored = StoredValue(table, place, text)
            said = [token for token in tokens if token.kind is not TokenKind.MARK]
            for key in {tuple(token.norm for token in said), tuple(token.base for token in said)}:
                if stored not in self.values[key]:
                    self.values[key].append(stored)

    def _add_places(self) -> None:
        """Learn what people call the countries and states whose codes are stored, where nothing is stored by that name."""
        stored = set(self.values)
        for number, table in enumerate(self.catalog.tables):
            for place, column in enumerate(table.columns):
                if column.kind is not ColumnKind.TEXT or column.personal:
                    continue
                for code, names in names_of_codes(f"{table.name} {column.name}", column.values).items():
                    for name in names:
                        key = tuple(token.norm for token in tokenize(name) if token.kind is not TokenKind.MARK)
                        if key not in stored:
                            self.values[key].append(StoredValue(number, place, code))
                            self.han_words.update((name,) if is_han(name) else ())


def _said(named: Table | Column) -> tuple[str, ...]:
    return (named.name, named.display_names.get("zh", ""), named.comment, *named.synonyms)


def _singular(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(base_form(word) for word in words)


@lru_cache(maxsize=1)
def _plain_words() -> frozenset[str]:
    words = {item for item in lexicon().related if not is_han(item)}
    return frozenset(words | set(lexicon().abbreviations))


def _alike(one: str, other: str) -> bool:
    return SequenceMatcher(None, one, other).ratio() >= _SPELLING_RATIO_MIN


_KEPT: dict[str, CatalogIndex] = {}


def index_of(catalog: Catalog) -> CatalogIndex:
    """Return the index of a catalog, built at most once per fingerprint while it is among the last ones used."""
    result = _KEPT.pop(catalog.fingerprint, None) or CatalogIndex(catalog)
    _KEPT[catalog.fingerprint] = result
    while len(_KEPT) > INDEXES_KEPT_MAX:
        _KEPT.pop(next(iter(_KEPT)), None)
    return result
