"""Measures how long `querybus ask` takes from its start to its end, against a floor in the same run.

The floor is a Python that imports the driver and reads one number from the same database. Rounds alternate, so that a busy
machine slows both; the ratio is what compares between machines. Prints a table and writes build/bench/ask.json.
"""

from __future__ import annotations

import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from measuring import busy_share
from process_group import clean_environment

from querybus_cli.runtime import UsageError
from tests.support.database_servers import PostgresServer, postgres_server
from tests.support.scripted_model import ScriptedModel, in_order, say

ROUNDS = 5
QUESTION = "How many customers are there?"
ROWS = "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bo'), (3, 'Cy');"
READER = "CREATE ROLE reader LOGIN; GRANT SELECT ON customers TO reader;"
COUNT = "SELECT count(*) FROM customers"
FLOORS = {
    "SQLite": "import sys, sqlite3, sqlalchemy; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])",
    "PostgreSQL": (
        "import sys, asyncio, asyncpg, sqlalchemy\n"
        "async def read(url, sql):\n"
        "    connection = await asyncpg.connect(url)\n"
        "    print(await connection.fetchval(sql))\n"
        "    await connection.close()\n"
        "asyncio.run(read(sys.argv[1], sys.argv[2]))"
    ),
}
ASK = "from querybus_cli.entry import main; main()"


def run_once(command: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Return the seconds and the CPU seconds, of its children too, of a command that says 3; UsageError if it does not."""
    before, begun = os.times(), time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds, after = time.perf_counter() - begun, os.times()
    if done.returncode or "3" not in done.stdout:
        raise UsageError(f"{command[2][:60]} ended with {done.returncode}: {done.stderr[-500:]}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, used


def compare(kind: str, database: str, model: ScriptedModel) -> dict[str, float]:
    """Return the medians of the floor, of a question without a model and of one with it."""
    plain = clean_environment()
    modelled = plain | {"QUERYBUS_LLM_BASE_URL": model.base_url, "QUERYBUS_LLM_MODEL": "scripted"}
    address = database.removeprefix("sqlite:///")
    commands = {
        "floor": ([sys.executable, "-c", FLOORS[kind], address, COUNT], plain),
        "ask": ([sys.executable, "-c", ASK, "ask", QUESTION, "--database", database, "--csv"], plain),
        "with model": ([sys.executable, "-c", ASK, "ask", QUESTION, "--database", database, "--csv"], modelled),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for turn in range(ROUNDS + 1):
        for name, (command, environment) in commands.items():
            measured = run_once(command, environment)
            # The first turn writes the bytecode.
            if turn:
                times[name].append(measured)
    return {
        f"{name}{unit}": round(statistics.median(item[place] for item in values), 3)
        for name, values in times.items()
        for place, unit in enumerate((" s", " CPU s"))
    }


def with_rows(server: PostgresServer) -> str:
    """Return the URL of a database that has the rows, for a role that only reads."""
    server.execute("CREATE DATABASE shop")
    server.execute(ROWS + READER, "shop")
    return server.url("reader", "shop")


def main() -> None:
    """Measure, print and write the figures."""
    busy = busy_share()
    figures: dict[str, dict[str, float]] = {}
    statement = "```sql\nSELECT COUNT(*) FROM customers\n```"
    with (
        tempfile.TemporaryDirectory(prefix="querybus-bench-") as folder,
        postgres_server() as server,
        ScriptedModel(in_order([say(statement)] * 4 * (ROUNDS + 1))) as model,
    ):
        file = Path(folder) / "shop.sqlite"
        with sqlite3.connect(file) as connection:
            connection.executescript(ROWS)
        connection.close()
        for kind, database in (("SQLite", f"sqlite:///{file}"), ("PostgreSQL", with_rows(server))):
            figures[kind] = compare(kind, database, model)
    sys.stdout.write(f"{busy:.0%} of the processors were busy before the run; medians of {ROUNDS} rounds\n")
    sys.stdout.write(
        f"{'':12}{'floor':>8}{'ask':>8}{'ratio':>7}{'model':>8}   {'CPU: floor':>10}{'ask':>7}{'ratio':>7}\n"
    )
    for kind, row in figures.items():
        row["ratio"] = round(row["ask s"] / row["floor s"], 1)
        row["CPU ratio"] = round(row["ask CPU s"] / row["floor CPU s"], 1)
        sys.stdout.write(
            f"{kind:12}{row['floor s']:8.2f}{row['ask s']:8.2f}{row['ratio']:7.1f}{row['with model s']:8.2f}   "
            f"{row['floor CPU s']:10.2f}{row['ask CPU s']:7.2f}{row['CPU ratio']:7.1f}\n"
        )
    target = Path("build/bench/ask.json")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps({"busy": round(busy, 2), **figures}, indent=1))


if __name__ == "__main__":
    main()
