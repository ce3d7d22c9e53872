"""A part of a catalog as a model reads it: DDL-like, with names, keys, words for people and, if allowed, values.

All text from the catalog is data: it stands in JSON quotes on one line, bounded, without line breaks, control
characters or fences, so that it cannot end its comment or look like an instruction of ours.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from querybus.core.catalog import Catalog, Column, ColumnProfile, Dialect, ForeignKey, Table
from querybus.sql.names.quoting import quoted_name

COMMENT_LENGTH_MAX: Final = 120
VALUES_SHOWN_MAX: Final = 12
"""Of a column that has no others; of every other a few show the form."""
EXAMPLES_SHOWN_MAX: Final = 3
VALUE_LENGTH_MAX: Final = 60
"""A longer value is left out: a part of it would be compared with nothing."""
EMPTY_SHARE_MIN: Final = 0.01
"""A smaller share of empty cells changes no query."""
COLUMNS_SHOWN_MAX: Final = 120
QUOTED_KEPT_MAX: Final = 8_192
"""Names and quoted texts kept: the same catalog is rendered for every question, and character by character that costs most."""


def render_schema(catalog: Catalog, tables: Sequence[Table], *, with_values: bool) -> str:
    """Return CREATE TABLE texts of the tables, in the given order; cell values only if `with_values`."""
    return joined([(table, render_columns(catalog, table, with_values=with_values)) for table in tables], catalog)


def joined(rendered: Sequence[tuple[Table, str]], catalog: Catalog) -> str:
    """Return tables whose columns are rendered with the keys between them: none leads to a table that is not shown."""
    shown = {table.name.lower() for table, _ in rendered}
    return "\n\n".join(
        "\n".join(
            [
                text,
                *(_key(key, catalog.dialect) for key in table.foreign_keys if key.referred_table.lower() in shown),
                ");",
            ]
        )
        for table, text in rendered
    )


def data_span(catalog: Catalog, said: str) -> str:
    """Return over which days the data goes, by the one date of the table with the most rows that has one; empty if none."""
    for table in sorted(catalog.tables, key=lambda item: (-(item.row_estimate or 0), item.name)):
        dated = [column for column in table.columns if column.profile is not None and _is_day(column.profile.value_min)]
        if len(dated) == 1 and dated[0].profile is not None:
            first, last = dated[0].profile.value_min or "", dated[0].profile.value_max or ""
            return said.format(first=first[:10], last=last[:10], column=f"{table.name}.{dated[0].name}")
    return ""


def _is_day(value: str | None) -> bool:
    return value is not None and _DAY.match(value) is not None


_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def render_glossary(catalog: Catalog, question: str) -> str:
    """Return the glossary's terms that occur in the question, one a line; empty if none does."""
    folded = question.casefold()
    lines = [
        f"- {quoted(term)}: {quoted(text)}" for term, text in catalog.glossary.items() if term.casefold() in folded
    ]
    return "\n".join(lines[:20])


@lru_cache(maxsize=QUOTED_KEPT_MAX)
def quoted(text: str, length_max: int = COMMENT_LENGTH_MAX) -> str:
    """Return foreign text as one JSON string on one line.

    >>> quoted("a\\n-- `drop` it")
    '"a -- drop it"'
    """
    plain = "".join(
        " " if unicodedata.category(character)[0] in "CZ" else character for character in text[: length_max * 4]
    )
    plain = " ".join(plain.replace("`", "").split())
    return json.dumps(plain if len(plain) <= length_max else plain[: length_max - 1] + "…", ensure_ascii=False)


@lru_cache(maxsize=QUOTED_KEPT_MAX)
def exact(value: str) -> str:
    """Return a value as one JSON string on one line that stands for exactly it, blanks included.

    What would not print, or could end a block, is escaped.

    >>> exact("Aberdeen "), exact("a\\n`b")
    ('"Aberdeen "', '"a\\\\u000a\\\\u0060b"')
    """
    return json.dumps(value, ensure_ascii=False) if _is_plain(value) else f'"{"".join(map(_escaped, value))}"'


def _is_plain(text: str) -> bool:
    return all(sign == " " or (sign != "`" and unicodedata.category(sign)[0] not in "CZ") for sign in text)


def _escaped(sign: str) -> str:
    return json.dumps(sign, ensure_ascii=False)[1:-1] if _is_plain(sign) else f"\\u{ord(sign):04x}"


def render_columns(catalog: Catalog, table: Table, *, with_values: bool) -> str:
    """Return a table's text up to its foreign keys, which depend on what is shown beside it."""
    dialect = catalog.dialect
    name = quoted_name(table.name, dialect)
    if table.schema_name and not catalog.is_default(table):
        name = f"{quoted_name(table.schema_name, dialect)}.{name}"
    said = _said(tuple(table.display_names.values()), table.synonyms, table.comment)
    if with_values and (table.row_estimate or 0) > 0:
        said = "; ".join(filter(None, (said, _rows(table.row_estimate or 0))))
    lines = [f"CREATE {table.kind.upper()} {name} ({said and f'  -- {said}'}"]
    shown = table.columns[:COLUMNS_SHOWN_MAX]
    lines += [_column(column, table, dialect, with_values=with_values) for column in shown]
    if len(shown) < len(table.columns):
        lines.append(f"  -- {len(table.columns) - len(shown)} more columns")
    if len(table.primary_key) > 1:
        lines.append(f"  PRIMARY KEY ({_names(table.primary_key, dialect)}),")
    lines += [f"  UNIQUE ({_names(key, dialect)})," for key in table.unique_keys if len(key) > 1]
    return "\n".join(lines)


def _column(column: Column, table: Table, dialect: Dialect, *, with_values: bool) -> str:
    parts = [quoted_name(column.name, dialect), re.sub(r"[^\w ,()]", "", column.type)[:40] or "TEXT"]
    said = _said(tuple(column.display_names.values()), column.synonyms, column.comment)
    if table.primary_key == (column.name,):
        parts.append("PRIMARY KEY")
    elif not column.nullable:
        parts.append("NOT NULL")
    if (column.name,) in table.unique_keys:
        parts.append("UNIQUE")
    elif with_values and _is_measured_unique(column, table):
        said = "; ".join(filter(None, (said, "unique")))
    if with_values and column.values and not column.personal:
        said = "; ".join(filter(None, (said, _values(column))))
    if with_values and column.profile is not None and not column.personal:
        said = "; ".join(filter(None, (said, _profile(column.profile))))
    return f"  {' '.join(parts)},{said and f'  -- {said}'}"


def _is_measured_unique(column: Column, table: Table) -> bool:
    """Return whether a whole reading of the table found each value once, where no key says so."""
    rows = table.row_estimate or 0
    return rows > 1 and column.distinct_count == rows and table.primary_key != (column.name,)


def _rows(count: int) -> str:
    """Return how many rows a table has, so rounded that a few more leave a prompt as it is.

    >>> _rows(1_234), _rows(7)
    ('about 1,200 rows', 'about 7 rows')
    """
    digits = max(0, len(str(count)) - 2)
    return f"about {round(count, -digits):,} rows"


def _profile(profile: ColumnProfile) -> str:
    """Return the range of a column and how much of it is empty, where there is something to say."""
    parts: list[str] = []
    if profile.value_min is not None and profile.value_max is not None:
        parts.append(f"{profile.value_min} .. {profile.value_max}")
    if profile.empty_share >= EMPTY_SHARE_MIN:
        parts.append(f"{profile.empty_share:.0%} NULL")
    return "; ".join(parts)


def _values(column: Column) -> str:
    """Return all values of a column that has few, else some that show their form."""
    is_enumeration = column.values_complete and len(column.values) <= VALUES_SHOWN_MAX
    whole = [value for value in column.values if len(value) <= VALUE_LENGTH_MAX]
    shown = whole if is_enumeration else whole[:EXAMPLES_SHOWN_MAX]
    if not shown:
        return ""
    is_all = is_enumeration and len(whole) == len(column.values)
    return f"values: {', '.join(exact(value) for value in shown)}{'' if is_all else ', …'}"


def _key(key: ForeignKey, dialect: Dialect) -> str:
    referred = quoted_name(key.referred_table, dialect)
    if key.referred_schema:
        referred = f"{quoted_name(key.referred_schema, dialect)}.{referred}"
    columns, others = _names(key.columns, dialect), _names(key.referred_columns, dialect)
    return f"  FOREIGN KEY ({columns}) REFERENCES {referred} ({others}),"


@lru_cache(maxsize=QUOTED_KEPT_MAX)
def _names(names: tuple[str, ...], dialect: Dialect) -> str:
    return ", ".join(quoted_name(name, dialect) for name in names)


def _said(names: Sequence[str], synonyms: Sequence[str], comment: str) -> str:
    words = list(dict.fromkeys(name for name in (*names, *synonyms[:4]) if name.strip()))
    parts = [", ".join(quoted(word, VALUE_LENGTH_MAX) for word in words)] if words else []
    if comment.strip():
        parts.append(f"comment: {quoted(comment)}")
    return "; ".join(parts)
