"""Which text of a statement does not occur in its column, and what the person may have meant instead.

Of a statement that ran and found nothing, case, spaces, punctuation, plural and small slips of typing count as near: an
abbreviation is no such difference, and following one was right in none of 19 measured cases. Such a suggestion is
offered, never applied. What a policy hides is not suggested from; a column of which not every value is known gives
only values that differ in nothing but case, spaces and punctuation.

Before a statement runs, a text takes the form that its column has it in, where that is certain: all values are known, and one
alone is the text but for case, plural, or spaces at the text's own ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.policy import ConnectionPolicy
from querybus.engines import ENGINES
from querybus.sql.edit import Source, own_columns, own_sources, read, scopes, write
from querybus.text.similarity import typing_distance
from querybus.text.words import singular

SUGGESTIONS_MAX: Final = 3
LITERALS_MAX: Final = 16
TEXT_LENGTH_MAX: Final = 80
ONE_SLIP_LENGTH_MIN: Final = 4
TWO_SLIPS_LENGTH_MIN: Final = 9

_NOT_WORD = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class MissingValue:
    """A text that its column does not hold, and the near ones that it does, nearest first."""

    text: str
    table: str
    column: str
    near: tuple[str, ...]


def missing_value(sql: str, dialect: Dialect, catalog: Catalog, policy: ConnectionPolicy) -> MissingValue | None:
    """Return the first text compared for equality that its column lacks while a near one is there, or None.

    >>> from querybus.core.catalog import ColumnKind
    >>> city = Column(name="city", type="TEXT", kind=ColumnKind.TEXT, values=("Beijing", "Rome"), values_complete=True)
    >>> shop = Catalog(connection="shop", dialect=Dialect.SQLITE, tables=(Table(name="customers", columns=(city,)),))
    >>> missing_value("SELECT * FROM customers WHERE city = 'Bejing'", Dialect.SQLITE, shop, ConnectionPolicy()).near
    ('Beijing',)
    """
    tree = read(sql, dialect)
    if tree is None:
        return None
    for table, column, node in _compared(tree, catalog):
        text = _text(node)
        if _is_hidden(policy, table, column) or column.personal or not text or len(text) > TEXT_LENGTH_MAX:
            continue
        if _occurs(text, column, dialect):
            continue
        result = near(text, column.values, is_complete=column.values_complete)
        if result:
            return MissingValue(text, table.name, column.name, result)
    return None


@dataclass(frozen=True, slots=True)
class Held:
    """A statement whose texts are written as their columns have them; `changed` are the texts as they stood and stand."""

    sql: str
    changed: tuple[tuple[str, str], ...] = ()


def as_held(sql: str, dialect: Dialect, catalog: Catalog, policy: ConnectionPolicy) -> Held:
    """Return a statement with its texts as their columns hold them; the same text where none is to be changed.

    Values with spaces at their ends are left alone: whether they are meant is seen by what is found.

    >>> from querybus.core.catalog import ColumnKind
    >>> city = Column(name="city", type="TEXT", kind=ColumnKind.TEXT, values=("Bern", "Rome"), values_complete=True)
    >>> shop = Catalog(connection="shop", dialect=Dialect.SQLITE, tables=(Table(name="customers", columns=(city,)),))
    >>> as_held("SELECT 1 FROM customers WHERE city = 'bern'", Dialect.SQLITE, shop, ConnectionPolicy()).changed
    (('bern', 'Bern'),)
    """
    if "'" not in sql and '"' not in sql:
        return Held(sql)
    tree = read(sql, dialect)
    if tree is None:
        return Held(sql)
    changed: dict[str, str] = {}
    for table, column, node in list(_compared(tree, catalog, denied=True)):
        text = _text(node)
        if text is None or not column.values_complete or column.personal or _is_hidden(policy, table, column):
            continue
        if _occurs(text, column, dialect):
            continue
        held = [value for value in column.values if value == value.strip() and _form(value) == _form(text)]
        if len(held) == 1:
            node.replace(exp.Literal.string(held[0]))
            changed[text] = held[0]
    return Held(write(tree, dialect), tuple(changed.items())) if changed else Held(sql)


def _form(text: str) -> str:
    return singular(text.strip().casefold())


def near(text: str, values: Iterable[str], *, is_complete: bool = True) -> tuple[str, ...]:
    """Return the values that differ from a text by case, spaces, punctuation, plural or a slip, nearest first.

    >>> near("new york", ["New York", "York", "Newark"]), near("NY", ["New York"]), near("Parsi", ["Paris", "Pisa"])
    (('New York',), (), ('Paris',))
    """
    plain = _plain(text)
    if not plain:
        return ()
    ranked = [(rank, value) for value in values if (rank := _rank(plain, _plain(value), is_complete)) is not None]
    ranked.sort(key=lambda item: item[0])
    least = ranked[0][0] if ranked else 0
    return tuple(value for rank, value in ranked if rank == least)[:SUGGESTIONS_MAX]


def instead(question: str, missing: MissingValue, value: str) -> str:
    """Return the question with the value in the place of the text, or with it behind where the text is not in it.

    >>> instead("Who lives in bejing?", MissingValue("Bejing", "customers", "city", ("Beijing",)), "Beijing")
    'Who lives in Beijing?'
    """
    changed, count = re.subn(re.escape(missing.text), lambda _: value, question, flags=re.IGNORECASE)
    return changed if count else f"{question.rstrip()} ({value})"


def _rank(text: str, value: str, is_complete: bool) -> int | None:
    if text == value:
        return 0
    if not is_complete or not value:
        return None
    if singular(text) == singular(value):
        return 1
    slips = 2 if min(len(text), len(value)) >= TWO_SLIPS_LENGTH_MIN else 1
    if min(len(text), len(value)) < ONE_SLIP_LENGTH_MIN or abs(len(text) - len(value)) > slips:
        return None
    # Figures differ from each other by a single digit.
    if any(character.isdigit() for character in text + value):
        return None
    distance = typing_distance(text, value)
    return 1 + distance if distance <= slips else None


def _compared(tree: exp.Expr, catalog: Catalog, *, denied: bool = False) -> Iterator[tuple[Table, Column, exp.Expr]]:
    """Yield each text that a column of a table is compared with for equality, at most LITERALS_MAX.

    `denied`: also where it is not to be equal.
    """
    left = LITERALS_MAX
    for scope in scopes(tree):
        sources = list(own_sources(scope, catalog))
        for written in own_columns(scope):
            owners = [
                (source.known, column)
                for source in sources
                if source.known is not None
                and (not written.table or written.table.lower() == source.alias.lower())
                and (column := source.owned(written.name)) is not None
            ]
            if len(owners) != 1:
                continue
            table = owners[0][0]
            column = table.column(owners[0][1])
            if column is None:
                continue
            for node in _given(written, denied=denied):
                if _text(node, sources) is None:
                    continue
                if left <= 0:
                    return
                left -= 1
                yield table, column, node


def _given(written: exp.Column, *, denied: bool) -> list[exp.Expr]:
    parent = written.parent
    if isinstance(parent, exp.EQ) or (denied and isinstance(parent, exp.NEQ)):
        return [parent.expression if parent.this is written else parent.this]
    if isinstance(parent, exp.In) and parent.this is written and (denied or not isinstance(parent.parent, exp.Not)):
        return list(parent.expressions)
    return []


def _text(node: exp.Expr, sources: Sequence[Source] = ()) -> str | None:
    """Return the text that a node is: a literal, or what stands in double quotes and is no name of any source."""
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.this)
    is_quoted = isinstance(node, exp.Column) and not node.table and bool(node.this.args.get("quoted"))
    return node.name if is_quoted and not any(source.owned(node.name) for source in sources) else None


def _occurs(text: str, column: Column, dialect: Dialect) -> bool:
    if ENGINES[dialect].text_ignores_case:
        return text.casefold() in {value.casefold() for value in column.values}
    return text in column.values


def _is_hidden(policy: ConnectionPolicy, table: Table, column: Column) -> bool:
    """Return whether rows or values of this column are kept from some readers."""

    def names(table_name: str) -> bool:
        return table_name.lower().rpartition(".")[2] == table.name.lower()

    def lists(columns: Mapping[str, Iterable[str]]) -> bool:
        return any(
            names(item) and column.name.lower() in {name.lower() for name in listed} for item, listed in columns.items()
        )

    return (
        any(names(row_filter) for row_filter in policy.row_filters)
        or lists(policy.columns_denied)
        or lists(policy.columns_masked)
        or (policy.tables_allowed is not None and not any(names(table) for table in policy.tables_allowed))
    )


def _plain(text: str) -> str:
    return _NOT_WORD.sub("", text).casefold()
