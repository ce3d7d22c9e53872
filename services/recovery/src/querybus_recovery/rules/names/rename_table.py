"""A table that the catalog does not know takes the name of the one table that is nearly spelt so.

Case, separators, plural and typing differences; where none is near, what a key of that name refers to, or the one table
that is called by another word for it.
An assumption, as every rename is.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, ForeignKey
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import identifier, read, write
from querybus.text.similarity import closest, words
from querybus.text.synonyms import link_words
from querybus_recovery.rules.candidate import Candidate

CLEAR_DOUBT: Final = 0.2
TWICE_DOUBT: Final = 0.9
OTHER_WORD_DOUBT: Final = 0.4


def rename_table(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with every unknown table renamed, as far as there is a clear counterpart."""
    if failure.code is not FailureCode.TABLE_NOT_FOUND:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    own = {cte.alias_or_name.lower() for cte in tree.find_all(exp.CTE)}
    changed: dict[str, str] = {}
    doubt = CLEAR_DOUBT
    for table in tree.find_all(exp.Table):
        name = table.name
        if not name or name.lower() in own or catalog.table(name) is not None:
            continue
        names = [table.name for table in catalog.tables]
        role = _in_role(name, tree, catalog)
        known = closest(name, names)
        if known is None and role is not None:
            changed[name] = _take_part(tree, table, role)
            continue
        if known is None:
            known = _other_word(name, names)
            doubt = max(doubt, OTHER_WORD_DOUBT)
        if known is None:
            continue
        beside = table.find_ancestor(exp.Select)
        if beside is not None and any(
            table.name.lower() == known.lower() and table.find_ancestor(exp.Select) is beside
            for table in beside.find_all(exp.Table)
        ):
            doubt = TWICE_DOUBT  # a table joined with itself says little: rather another one was meant
        table.set("this", identifier(known, table.this))
        changed[name] = known
    if not changed:
        return ()
    there = {table.alias_or_name.lower() for table in tree.find_all(exp.Table)}
    renamed = {before.lower(): after for before, after in changed.items() if before.lower() not in there}
    for column in tree.find_all(exp.Column):
        if column.table.lower() in renamed:
            column.set("table", identifier(renamed[column.table.lower()]))
    return (
        Candidate(
            RuleName.RENAME_TABLE,
            write(tree, draft.dialect),
            keeps_meaning=False,
            before=", ".join(changed),
            after=", ".join(changed.values()),
            doubt=doubt,
        ),
    )


def _in_role(name: str, tree: exp.Expr, catalog: Catalog) -> ForeignKey | None:
    """Return the one key that is called so in a table of the statement: `managers`, by `manager_id`."""
    present = {table.name.lower() for table in tree.find_all(exp.Table)}
    keys = [
        key
        for table in catalog.tables
        if table.name.lower() in present
        for key in table.foreign_keys
        if len(key.columns) == 1 and words(key.columns[0]) == (*words(name), "id")
    ]
    return keys[0] if len(keys) == 1 else None


def _take_part(tree: exp.Expr, table: exp.Table, role: ForeignKey) -> str:
    """Put what the key refers to in a table's place under the name of its part, and its own key for that of the part."""
    alias = table.alias or table.name
    table.set("this", identifier(role.referred_table, table.this))
    table.set("alias", exp.TableAlias(this=identifier(alias)))
    for column in tree.find_all(exp.Column):
        if column.table.lower() == alias.lower() and column.name.lower() == role.columns[0].lower():
            column.set("this", identifier(role.referred_columns[0]))
    return role.referred_table


def _other_word(name: str, known: list[str]) -> str | None:
    """Return the one name whose words are the written ones or other words for them; None for none or several."""
    written = words(name)
    spoken = [{word, *link_words().get(word, ())} for word in written]
    fitting = [
        other
        for other in known
        if (others := words(other))
        and len(others) == len(written)
        and all(word in meant for word, meant in zip(others, spoken, strict=True))
    ]
    return fitting[0] if len(fitting) == 1 else None
