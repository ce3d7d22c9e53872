"""What a reader learns of a statement, and whether it reveals rows that the reader may not see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy, Reader
from querybus.sql.check import Checked, check
from querybus_cli.evaluation.hidden_rows.statements import PolicyStatement
from querybus_executor.ports import Database, Purpose
from querybus_executor.results.hidden_values import engine_warnings, without_values

ROWS_MAX: Final = 500
SECONDS_MAX: Final = 20.0
LEAKS_SHOWN_MAX: Final = 20
DIGITS_COMPARED: Final = 9
"""Sums of floating numbers differ beyond by the order in which an engine adds them."""


@dataclass(frozen=True, slots=True)
class Learnt:
    """All that a reader learns of a run: code and words of a failure, or rows, their number and notes."""

    code: FailureCode | None
    detail: str = ""
    rows: tuple[str, ...] = ()
    row_count: int = 0
    truncated: bool = False
    notes: tuple[str, ...] = ()
    cells: frozenset[str] = frozenset()

    @property
    def is_answer(self) -> bool:
        return self.code is None

    @property
    def ended_by_time(self) -> bool:
        """Whether a limit of time ended it, so that nothing of it can be compared."""
        return self.code in (FailureCode.TIMEOUT, FailureCode.CONNECTION)


@dataclass(frozen=True, slots=True)
class Leak:
    """A statement whose answer differs by rows that its reader may not see, and in which way."""

    shape: str
    sql: str
    why: str
    other: str = ""


@dataclass(slots=True)
class Figures:
    """Counts over all statements; `by_shape` counts [made, differ, refused although harmless]."""

    made: int = 0
    answered: int = 0
    failed: int = 0
    refused: int = 0
    refused_although_harmless: int = 0
    ended_by_time: int = 0
    differ: int = 0
    by_shape: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    leaks: list[Leak] = field(default_factory=list[Leak])
    refusals: Counter[str] = field(default_factory=Counter[str])

    def count_made(self, shape: str) -> None:
        self.made += 1
        self.by_shape.setdefault(shape, [0, 0, 0])[0] += 1

    def count_learnt(self, learnt: Learnt) -> None:
        self.answered += learnt.is_answer
        self.failed += not learnt.is_answer
        self.ended_by_time += learnt.ended_by_time

    def count_leak(self, leak: Leak) -> None:
        self.differ += 1
        self.by_shape[leak.shape][1] += 1
        if len(self.leaks) < LEAKS_SHOWN_MAX:
            self.leaks.append(leak)

    def count_refusal(self, shape: str, why: str) -> None:
        self.refused_although_harmless += 1
        self.by_shape[shape][2] += 1
        self.refusals[f"{shape}: {why}"] += 1


class Trial:
    """Runs statements for one reader of one database, exactly as they would be run for a person."""

    def __init__(self, database: Database, catalog: Catalog, policy: ConnectionPolicy, reader: Reader) -> None:
        self._database = database
        self._catalog = catalog
        self._policy = policy
        self._reader = reader
        self._rules = policy.of(reader.tenant)
        self._open = self._rules.model_copy(
            update={"row_filters": {}, "columns_masked": {}, "columns_denied": {}, "tenants": {}}
        )

    def check(self, sql: str) -> Checked | Failure:
        """Return the statement as it runs for the reader, or why it does not."""
        return self._checked(sql, self._policy)

    def check_without_protection(self, sql: str) -> Checked | Failure:
        """Return the statement as it would run if no row and no column were protected."""
        return self._checked(sql, self._open)

    def _checked(self, sql: str, policy: ConnectionPolicy) -> Checked | Failure:
        return check(
            sql,
            dialect=self._catalog.dialect,
            catalog=self._catalog,
            policy=policy,
            row_limit=ROWS_MAX,
            reader=self._reader,
        )

    async def learn(self, checked: Checked, database: Database | None = None) -> Learnt:
        """Run a checked statement, here or in another database, and return what the reader learns of it."""
        found = await (database or self._database).run(
            checked.sql, rows_max=ROWS_MAX, seconds_max=SECONDS_MAX, purpose=Purpose.EXECUTE
        )
        if isinstance(found, Failure):
            failure = without_values(found, self._rules)
            return Learnt(failure.code, f"{failure.detail} {failure.facts}")
        notes = engine_warnings(found.warnings, self._rules, has_hidden_rows=checked.has_hidden_rows)
        return Learnt(
            None,
            rows=tuple(sorted(str([_compared(cell) for cell in row]) for row in found.rows)),
            row_count=found.row_count,
            truncated=found.truncated,
            notes=notes,
            cells=frozenset(str(cell) for row in found.rows for cell in row if isinstance(cell, str)),
        )


async def try_statements(
    trial: Trial, statements: Iterable[PolicyStatement], on_statement: Callable[[Figures], None] = lambda _: None
) -> Figures:
    """Run each statement and its twin, and return what differs, what shows a hidden value and what is refused."""
    figures = Figures()
    for statement in statements:
        figures.count_made(statement.shape)
        await _try_one(trial, statement, figures)
        on_statement(figures)
    return figures


async def _try_one(trial: Trial, statement: PolicyStatement, figures: Figures) -> None:
    checked = trial.check(statement.sql)
    twin = None if statement.twin is None else trial.check(statement.twin)
    if isinstance(checked, Failure):
        figures.refused += 1
        if not statement.is_invalid and isinstance(trial.check_without_protection(statement.sql), Checked):
            figures.count_refusal(statement.shape, checked.detail)
        if twin is not None and not isinstance(twin, Failure):
            figures.count_leak(Leak(statement.shape, statement.sql, "one guess is refused, the other is not"))
        return
    if isinstance(twin, Failure):
        figures.count_leak(Leak(statement.shape, statement.sql, "one guess is refused, the other is not"))
        return
    learnt = await trial.learn(checked)
    figures.count_learnt(learnt)
    leak = leak_of(statement, learnt, learnt if twin is None else await trial.learn(twin))
    if leak is not None:
        figures.count_leak(leak)


def leak_of(statement: PolicyStatement, learnt: Learnt, other: Learnt) -> Leak | None:
    """Return what an answer discloses: by a hidden value in it, or by its difference from what has to look the same."""
    if learnt.ended_by_time or other.ended_by_time:
        return None
    shown = _marks_in(learnt, statement)
    if shown:
        return Leak(statement.shape, statement.sql, f"shows a hidden value ({len(shown)} in all)")
    if learnt == other:
        return None
    return Leak(statement.shape, statement.sql, _difference(learnt, other), statement.twin or "")


def _marks_in(learnt: Learnt, statement: PolicyStatement) -> set[str]:
    """Return values of hidden rows, or of columns that nobody sees, that an answer or its words hold."""
    said = " ".join((learnt.detail, *learnt.notes))
    marks = {mark for table in statement.tables for mark in table.marks}
    return {mark for mark in marks if mark in learnt.cells or (mark in said and mark not in statement.sql)}


def _difference(one: Learnt, other: Learnt) -> str:
    if one.code != other.code:
        return f"the outcome differs: {one.code or 'answered'}, {other.code or 'answered'}"
    if one.detail != other.detail:
        return "the words of the failure differ"
    if one.notes != other.notes:
        return "the notes differ"
    return f"the rows differ: {one.row_count}, {other.row_count}"


def _compared(cell: object) -> object:
    return float(f"{cell:.{DIGITS_COMPARED}g}") if isinstance(cell, float) else cell
