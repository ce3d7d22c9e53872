"""Measures row policies: whether made statements reveal hidden rows, what is refused although harmless, what fences cost.

Each statement is run on every engine over everybody's rows and over a copy with the reader's rows alone: outcome, code,
notes and counts have to be equal. What runs over the copy as it was written says what is harmless. Prints a table by
engine and by shape and writes build/bench/policy.json. ENGINES and COUNT (statements an engine) narrow it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any
from unittest import mock

from querybus.core.policy import ConnectionPolicy
from querybus.ops.log import configure_logging
from querybus.sql.check import Checked
from querybus_cli.evaluation.hidden_rows.material import Examiner
from querybus_cli.evaluation.hidden_rows.statements import make_statements
from querybus_cli.evaluation.hidden_rows.trial import Figures, Trial
from querybus_executor.ports import Purpose
from tests.support import database_servers
from tests.support.policy_twins import POLICIES, READER, Twins, compare_with_twin, opened_twins

ROOT = Path(__file__).resolve().parents[1]
ENGINES = {
    "sqlite": contextlib.nullcontext,
    "duckdb": contextlib.nullcontext,
    "postgres": database_servers.postgres_server,
    "mariadb": database_servers.mariadb_server,
    "clickhouse": database_servers.clickhouse_server,
}
COUNTS = {"sqlite": 1_400, "duckdb": 1_200, "postgres": 1_200, "mariadb": 900, "clickhouse": 300}
"""Statements an engine, 5,000 in all; the server that stands in for ClickHouse takes a good part of a second for each."""
RUNS = 20
COPIES = 200
"""How often the orders are repeated where fences are timed: 24,000 rows, 12,000 of them the reader's."""
REFUSED_PERCENT_MAX = 1.0
TIMED = {
    "a plain comparison": "SELECT COUNT(*) AS n FROM orders WHERE amount > 100",
    "a look-up by key": "SELECT id FROM orders WHERE id = 14",
    "a computed condition": "SELECT COUNT(*) AS n FROM orders WHERE ABS(amount) + 1 > 100",
    "a computed look-up": "SELECT id FROM orders WHERE id + 0 = 14",
    "a join": "SELECT COUNT(*) AS n FROM orders AS o JOIN customers AS c ON c.id = o.customer_id WHERE LENGTH(c.name) > 3",
}


def main() -> int:
    configure_logging("error", as_json=False)
    chosen = [name for name in os.environ.get("ENGINES", " ".join(ENGINES)).split() if name in ENGINES]
    results: dict[str, Any] = {}
    for engine in chosen:
        with ENGINES[engine]() as server, tempfile.TemporaryDirectory() as folder:
            results[engine] = asyncio.run(measured(engine, server, Path(folder)))
            show(engine, results[engine])
            sys.stdout.flush()
    shapes: Counter[str] = Counter()
    for result in results.values():
        for shape, (_, differ, refused) in result["by_shape"].items():
            shapes.update({f"{shape}: differ": differ, f"{shape}: refused": refused})
    made, differ, refused = (sum(result[name] for result in results.values()) for name in ("made", "differ", "refused"))
    print(
        f"\nall engines: {made} made, {differ} differ, {refused} refused although harmless ({_percent(refused, made)} %)"
    )
    for text, number in shapes.items():
        if number:
            print(f"  {text} {number}")
    file = ROOT / "build" / "bench" / "policy.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(results, indent=1))
    return 0 if differ == 0 and _percent(refused, made) <= REFUSED_PERCENT_MAX else 1


def _percent(part: int, whole: int) -> float:
    return round(100 * part / max(whole, 1), 2)


def show(engine: str, result: dict[str, Any]) -> None:
    print(
        f"{engine:11} {result['made']} made, {result['answered']} answered, {result['differ']} differ, "
        f"{result['refused']} refused although harmless, {result['seconds']:.0f} s"
    )
    for leak in result["leaks"]:
        print(f"  DIFFERS {leak}")
    for why, number in result["refusals"].items():
        print(f"  refused {number} x {why[:150]}")
    for name, times in result["fences_ms"].items():
        print("  " + f"{name:22}" + "  ".join(f"{kind} {ms:.2f} ms" for kind, ms in times.items()))


async def measured(engine: str, server: Any, folder: Path) -> dict[str, Any]:
    """Return the counts of one engine under both policies, and the median times with and without fences."""
    begun, count = time.monotonic(), int(os.environ.get("COUNT", COUNTS[engine]))
    totals: dict[str, Any] = {"made": 0, "answered": 0, "differ": 0, "refused": 0, "by_shape": {}, "leaks": []}
    refusals: Counter[str] = Counter()
    fences: dict[str, Any] = {}
    for number, policy in enumerate(POLICIES.values()):
        rules = ConnectionPolicy.model_validate(policy)
        place = folder / str(number)
        place.mkdir()
        async with opened_twins(engine, policy, place, server) as twins:
            figures = await compared(twins, rules, count // len(POLICIES), seed=number)
            totals["made"] += figures.made
            totals["answered"] += figures.answered
            totals["differ"] += figures.differ
            totals["refused"] += figures.refused_although_harmless
            totals["leaks"] += [f"{leak.why}: {leak.sql}" for leak in figures.leaks]
            refusals.update(figures.refusals)
            for shape, counts in figures.by_shape.items():
                totals["by_shape"][shape] = [
                    a + b for a, b in zip(totals["by_shape"].get(shape, [0] * 3), counts, strict=True)
                ]
    many = folder / "many"
    many.mkdir()
    policy = POLICIES["by tenant"]
    async with opened_twins(engine, policy, many, server, copies=COPIES) as twins:
        for name, sql in TIMED.items():
            fences[name] = await times_of(twins, ConnectionPolicy.model_validate(policy), sql)
    return {**totals, "refusals": dict(refusals), "fences_ms": fences, "seconds": time.monotonic() - begun}


async def compared(twins: Twins, rules: ConnectionPolicy, count: int, *, seed: int) -> Figures:
    examiner = Examiner(twins.everybody, twins.catalog, rules, READER)
    tables = await examiner.tables()
    statements = make_statements(tables, examiner.joins(tables), twins.catalog.dialect, count=count, seed=seed)
    done = 0

    def say() -> None:
        nonlocal done
        done += 1
        if done % 100 == 0:
            print(f"{twins.engine}: {done} of {count}", file=sys.stderr, flush=True)

    return await compare_with_twin(twins, rules, statements, say)


@contextlib.contextmanager
def fences(*, always: bool) -> Generator[None]:
    """Fence every filtered table, or none."""
    with mock.patch("querybus.sql.row_security.may_fail", return_value=always):
        yield


async def times_of(twins: Twins, rules: ConnectionPolicy, sql: str) -> dict[str, float]:
    """Return the medians of a statement over everybody's rows, without and with fences, and over the reader's alone."""
    trial = Trial(twins.everybody, twins.catalog, rules, READER)
    result: dict[str, float] = {}
    for kind, always, database in (
        ("without fence", False, twins.everybody),
        ("fenced", True, twins.everybody),
        ("fenced, reader's rows alone", True, twins.own),
    ):
        with fences(always=always):
            checked = trial.check(sql)
        assert isinstance(checked, Checked), checked
        spent: list[float] = []
        for _ in range(RUNS):
            begun = time.perf_counter()
            run = checked if database is twins.everybody else twins.for_own(checked)
            await database.run(run.sql, rows_max=100, seconds_max=20.0, purpose=Purpose.EXECUTE)
            spent.append((time.perf_counter() - begun) * 1_000)
        result[kind] = round(statistics.median(spent), 3)
    return result


if __name__ == "__main__":
    sys.exit(main())
