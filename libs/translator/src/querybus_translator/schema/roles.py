"""A table that another refers to in several roles, or that refers to itself, counts as one more table for each role.

`manager_id` in a table of employees makes "manager" a table of its own: the same rows under another name, so that a
statement can read both. Limits: keys of one column that is no time, with a name that no table bears.

A view that repeats a table under nearly its name (`v_orders` beside `orders`) counts as none: its table is meant, unless the
view adds what is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from querybus.core.catalog import Catalog, ColumnKind, ForeignKey, Language, Table
from querybus_translator.language.lexicon import lexicon
from querybus_translator.language.names import is_han, name_words

ROLES_MAX = 200
CATALOGS_KEPT_MAX: Final = 16
COLUMNS_SHARE_MIN: Final = 0.8
_VIEW_WORDS: Final = frozenset({"v", "vw", "view", "mv", "mview", "materialized", "all", "full", "base", "视图"})
_KEPT: dict[str, Catalog] = {}


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


def without_shadow_views(catalog: Catalog) -> Catalog:
    """Return a catalog without the views that repeat a table of it; the catalog itself where there are none."""
    if not any(table.kind == "view" for table in catalog.tables):
        return catalog
    kept = _KEPT.pop(catalog.fingerprint, None)
    if kept is None:
        bases = [table for table in catalog.tables if table.kind == "table"]
        tables = tuple(
            table
            for table in catalog.tables
            if table.kind == "table" or not any(_repeats(table, base) for base in bases)
        )
        kept = catalog if len(tables) == len(catalog.tables) else catalog.model_copy(update={"tables": tables})
    _KEPT[catalog.fingerprint] = kept
    while len(_KEPT) > CATALOGS_KEPT_MAX:
        _KEPT.pop(next(iter(_KEPT)), None)
    return kept


def _repeats(view: Table, base: Table) -> bool:
    """Return whether a view is called as a table but for a word for views, or as it and more, with nearly all its columns."""
    own, called = set(name_words(base.name)), set(name_words(view.name))
    if not own or not own <= called:
        return False
    if called - own <= _VIEW_WORDS:
        return True
    shared = sum(view.column(column.name) is not None for column in base.columns)
    return shared >= COLUMNS_SHARE_MIN * len(base.columns)
