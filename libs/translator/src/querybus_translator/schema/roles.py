"""A table that another refers to in several roles, or that refers to itself, counts as one more table for each role.

`manager_id` in a table of employees makes "manager" a table of its own: the same rows under another name, so that a
statement can read both. Limits: keys of one column that is no time, with a name that no table bears.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from querybus.core.catalog import Catalog, ColumnKind, ForeignKey, Language
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.names import is_han, name_words

ROLES_MAX = 200


@dataclass(frozen=True, slots=True)
class Role:
    """Rows of table `table` as those of `source` call them through `column`; all by numbers and names of the catalog."""

    table: int
    source: int
    column: str
    referred: str
    names: tuple[tuple[str, ...], ...]
    display_names: Mapping[Language, str]

    @property
    def is_of_names(self) -> bool:
        """Whether the rows are known by a name in place of a number or a code."""
        return name_words(self.referred)[-1] in lexicon().label_words


def roles_of(catalog: Catalog) -> tuple[Role, ...]:
    """Return the roles of a catalog in its order, at most ROLES_MAX."""
    taken = {name_words(table.name) for table in catalog.tables}
    taken |= {name for table in catalog.tables if len(table.primary_key) == 1 for name in _names(*table.primary_key)}
    roles: list[Role] = []
    for number, table in enumerate(catalog.tables):
        keys = [
            (key, catalog.position(catalog.referred(key, table))) for key in table.foreign_keys if len(key.columns) == 1
        ]
        times = Counter(target for _, target in keys)
        for key, target in keys:
            column = table.column(key.columns[0])
            if target is None or column is None or (target != number and times[target] < 2):
                continue
            pairs = {name for other, referred in keys if referred == target for name in other.columns}
            is_own = key.columns[0] in table.primary_key and not set(table.primary_key) <= pairs
            # Where two keys lead to the same rows, codes play roles as numbers do: source and destination.
            is_code = target != number and (
                name_words(key.referred_columns[0])[-1] not in lexicon().label_words or _is_beside_own(pairs, key)
            )
            kinds = _NUMBERED | ({ColumnKind.TEXT} if is_code else set[ColumnKind]())
            if column.kind not in kinds or table.primary_key == key.columns or is_own:
                continue
            names = tuple(
                name
                for name in dict.fromkeys(_names(column.name, *column.display_names.values(), *column.synonyms))
                if name not in taken
            )
            if names:
                roles.append(
                    Role(target, number, column.name, key.referred_columns[0], names, dict(column.display_names))
                )
    return tuple(roles[:ROLES_MAX])


def _is_beside_own(pairs: Collection[str], key: ForeignKey) -> bool:
    """Whether the other of two keys is called as what both refer to: the name of a person beside that of a friend."""
    return len(pairs) == _KEYS_OF_TWO and key.referred_columns[0] in pairs and key.columns != key.referred_columns


_NUMBERED: Final = frozenset({ColumnKind.INTEGER, ColumnKind.OTHER})


def _names(*texts: str) -> Iterator[tuple[str, ...]]:
    keys = lexicon().key_words
    for text in texts:
        words = name_words(text)
        while words and words[-1] in keys:
            words = words[:-1]
        if words and (is_han(words[0]) or all(not word.isdigit() for word in words)):
            yield words


def brings_two_together(role: Role, roles: Sequence[Role], keys: int) -> bool:
    """Return whether rows bring two of one kind together, one of them in a role: follows of a member and a follower.

    `keys` are those of the role's source to the table that plays it.
    """
    played = [other for other in roles if other.source == role.source and other.table == role.table]
    return keys == _KEYS_OF_TWO and len(played) == 1


_KEYS_OF_TWO: Final = 2
