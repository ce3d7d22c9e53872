"""What the connections file says of a database's tables and columns: names for people, and what must not be kept.

Pure. Keys are `table` or `table.column`, case ignored; a table's key stands for all its columns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from querybus.core.catalog import Column, Language, Table
from querybus_executor.catalog.personal_columns import personal_kinds
from querybus_executor.catalog.personal_values import judge_values, may_be_companies

Names = Mapping[Language, str]


class Known:
    """Names, synonyms, and of which columns no value is kept."""

    def __init__(
        self,
        *,
        display_names: Mapping[str, Names],
        synonyms: Mapping[str, Sequence[str]],
        personal: Collection[str],
        not_personal: Collection[str] = (),
        without_values: Collection[str],
        values: bool,
    ) -> None:
        self._display_names = {key.casefold(): name for key, name in display_names.items()}
        self._synonyms = {key.casefold(): tuple(synonym) for key, synonym in synonyms.items()}
        self._personal = frozenset(text.casefold() for text in personal)
        self._not_personal = frozenset(text.casefold() for text in not_personal)
        self._without_values = frozenset(without_value.casefold() for without_value in without_values)
        self._values = values

    def names_of(self, table: str, column: str | None = None) -> Names:
        """Return the display names of a table or column by language."""
        return self._display_names.get(_key(table, column), {})

    def synonyms_of(self, table: str, column: str | None = None) -> tuple[str, ...]:
        """Return the other words for a table or column."""
        return self._synonyms.get(_key(table, column), ())

    def marked(self, table: str, columns: Sequence[Column]) -> tuple[Column, ...]:
        """Return a table's columns with what is personal of them: what the owner says, names and the columns beside them."""
        kinds = personal_kinds(table, columns)
        return tuple(
            column.model_copy(update={"personal": True, "person_name": kinds.get(column.name, ("", ""))[0] == "name"})
            if not self._personal.isdisjoint(_keys(table, column.name))
            or (column.name in kinds and self.may_look_personal(table, column.name))
            else column
            for column in columns
        )

    def may_look_personal(self, table: str, column: str) -> bool:
        """Return whether a column is judged by its name and its values: unless its owner says that it is not personal."""
        return self._not_personal.isdisjoint(_keys(table, column))

    def wants_values(self, table: Table, column: Column) -> bool:
        """Return whether frequent values of the column are read: to be kept in the catalog, or to see whose names they are."""
        keys = _keys(table.name, column.name)
        if not self._values or not self._without_values.isdisjoint(keys):
            return False
        return not column.personal or (self._personal.isdisjoint(keys) and may_be_companies(table, column))

    def judged(self, table: Table, column: Column, values: Collection[str]) -> Column:
        """Return the column with what its values say of persons, unless its owner has decided."""
        return judge_values(table, column, values) if self.may_look_personal(table.name, column.name) else column


def _keys(table: str, column: str) -> frozenset[str]:
    return frozenset((table.casefold(), _key(table, column)))


def _key(table: str, column: str | None) -> str:
    return (table if column is None else f"{table}.{column}").casefold()
