"""What `querybus evaluate policy` does: an owner's own tables and policy, tried for one reader; only reads."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from querybus.core.failure import Failure
from querybus.core.policy import Reader
from querybus.core.subjects import StageName
from querybus.ops.metrics import Metrics
from querybus_cli.evaluation.hidden_rows.material import ExaminedTable, Examiner, UnreadableError
from querybus_cli.evaluation.hidden_rows.statements import make_statements
from querybus_cli.evaluation.hidden_rows.trial import Figures, Trial, try_statements
from querybus_cli.runtime import UsageError
from querybus_executor.connections.config import BadConnections, ConnectionConfig, load_connections
from querybus_executor.connections.databases import ConnectedDatabase
from querybus_executor.engines.registry import Engines

REFUSALS_SHOWN_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class Report:
    """What was tried, on which tables, and what came of it."""

    connection: str
    reader: Reader
    tables: tuple[ExaminedTable, ...]
    figures: Figures

    @property
    def leaks(self) -> bool:
        return self.figures.differ > 0

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        figures = self.figures
        return {
            "connection": self.connection,
            "tenant": self.reader.tenant,
            "user": self.reader.user,
            "tables": [
                {
                    "table": table.bare_name,
                    "rows": table.rows,
                    "hidden_rows": table.hidden_rows,
                    "also_shown_by": list(table.also_shown_by),
                }
                for table in self.tables
            ],
            **{name: getattr(figures, name) for name in COUNTS},
            "by_shape": {
                shape: dict(zip(SHAPE_COUNTS, counts, strict=True)) for shape, counts in figures.by_shape.items()
            },
            "leaks": [asdict(leak) for leak in figures.leaks],
            "refusals": dict(figures.refusals.most_common(REFUSALS_SHOWN_MAX)),
        }

    def lines(self) -> list[str]:
        """Return the report in lines for a person: what leaks first, or that nothing does."""
        figures = self.figures
        result: list[str] = []
        for leak in figures.leaks:
            result += [f"LEAK  {leak.shape}: {leak.why}", f"      {leak.sql}"]
            result += [f"      {leak.other}"] if leak.other else []
        if figures.differ > len(figures.leaks):
            result.append(f"... and {figures.differ - len(figures.leaks)} more; --json counts them by shape")
        for table in self.tables:
            hidden = f"{table.hidden_rows} hidden from this reader" if table.hidden_rows else "no row is hidden"
            result.append(f"{table.bare_name}: {table.rows} rows shown, {hidden}")
            if table.also_shown_by:
                result.append(
                    f"  CHECK  values of these rows are also in {', '.join(table.also_shown_by)}, which is shown"
                )
        result.append(
            f"{figures.made} statements: {figures.answered} answered, {figures.failed} failed, {figures.refused} refused"
            f" ({figures.refused_although_harmless} although harmless), {figures.ended_by_time} ended by their time limit"
        )
        result += [f"  refused {count} x {why}" for why, count in figures.refusals.most_common(REFUSALS_SHOWN_MAX)]
        result.append(
            f"{figures.differ} statements reveal hidden rows or values."
            if self.leaks
            else "Nothing hidden was revealed."
        )
        return result


COUNTS: Final = ("made", "answered", "failed", "refused", "refused_although_harmless", "ended_by_time", "differ")
SHAPE_COUNTS: Final = ("made", "differ", "refused_although_harmless")


def read_connection(file: Path, name: str, reader: Reader) -> ConnectionConfig:
    """Return the connection of that name whose policy hides something of this reader; UsageError says what is wrong."""
    try:
        configs = load_connections(file)
    except BadConnections as error:
        raise UsageError(str(error)) from error
    config = next((config for config in configs if config.name == name), None)
    if config is None:
        known = ", ".join(config.name for config in configs)
        raise UsageError(f"{file} has no connection {name}; it has {known}: querybus connections list --file {file}")
    policy = config.applied_policy
    if policy.native:
        raise UsageError(
            f"the database hides rows of {name} from this command as well (policy.native): try the same policy without "
            "`native`, as a user whom row security does not concern"
        )
    if not policy.serves(reader.tenant):
        raise UsageError(f"the tenant {reader.tenant} may not use {name}: set tenants_allowed of its policy")
    if not policy.of(reader.tenant).protects_parts:
        raise UsageError(
            f"the policy of {name} hides no row and no column from {reader.tenant}: "
            "set row_filters, columns_masked or columns_denied (docs/policy.md)"
        )
    return config


async def evaluate_policy(
    config: ConnectionConfig, reader: Reader, *, count: int, seed: int, say: Callable[[str], None]
) -> Report:
    """Make statements of the connection's own tables, run them as that reader, and return what they disclose.

    `say` takes a line about how far it is. Raises UsageError where the database or a filter cannot be read.
    """
    engines = Engines(children=2, reserved=1)
    (database,) = engines.connected([config], metrics=Metrics(StageName.EXECUTOR))
    await engines.start()
    try:
        return await _evaluate(database, reader, count, seed, say)
    except UnreadableError as error:
        raise UsageError(f"{config.name}: {error}") from error
    finally:
        await engines.drain()


async def _evaluate(
    database: ConnectedDatabase, reader: Reader, count: int, seed: int, say: Callable[[str], None]
) -> Report:
    config = database.config
    catalog = await database.catalog()
    if isinstance(catalog, Failure):
        raise UsageError(f"{config.name}: {catalog.detail}: querybus connections test {config.name}")
    examiner = Examiner(database, catalog, database.policy, reader)
    tables = await examiner.tables(lambda name: say(f"looking for hidden rows of {name}"))
    statements = make_statements(tables, examiner.joins(tables), catalog.dialect, count=count, seed=seed)
    first = next(statements, None)
    if first is None:
        raise UsageError(f"{config.name}: no protected table has a column that a statement could ask for")
    trial = Trial(database, catalog, database.policy, reader)
    figures = await try_statements(
        trial,
        itertools.chain([first], statements),
        lambda figures: say(f"{figures.made} of {count} statements, {figures.differ} reveal hidden rows"),
    )
    return Report(config.name, reader, tuple(tables), figures)
