"""A changed connections file holds without a restart; one that cannot be used changes nothing and is said."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from querybus.ops.metrics import Metrics
from querybus_executor.connections.config import load_connections
from querybus_executor.connections.databases import Connected, ConnectedDatabase
from querybus_executor.connections.reload import ConnectionsReload
from querybus_executor.engines.registry import Engines
from querybus_executor.ports import Purpose, Rows


@dataclass
class Kept:
    """What the backup user of catalogs received."""

    added: list[str] = field(default_factory=list[str])
    removed: list[str] = field(default_factory=list[str])

    async def adopt(self, added: Sequence[ConnectedDatabase], removed: Sequence[ConnectedDatabase]) -> None:
        self.added += [item.config.name for item in added]
        self.removed += [item.config.name for item in removed]


class Bench:
    """A folder with two databases and the file that lists them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "connections.yaml"
        for name in ("one", "two"):
            with closing(sqlite3.connect(folder / f"{name}.sqlite")) as made:
                made.executescript(f"CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('{name}')")
        self.write("one")
        self.engines = Engines(children=1, reserved=1)
        metrics = Metrics("t")
        self.databases = Connected(self.engines.connected(load_connections(self.file), metrics=metrics))
        self.kept = Kept()
        self.reload = ConnectionsReload(
            self.file, engines=self.engines, databases=self.databases, backup=self.kept, metrics=metrics
        )
        self.time = 0

    def write(self, *names: str, more: str = "") -> None:
        entries = [f"  - {{name: {name}, url: 'sqlite:///{self.folder}/{name}.sqlite'{more}}}" for name in names]
        self.file.write_text("connections:\n" + "\n".join(entries))

    async def answer(self, name: str) -> object:
        database = self.databases.get(name)
        if database is None:
            return None
        result = await database.run("SELECT a FROM t", rows_max=1, seconds_max=5, purpose=Purpose.EXECUTE)
        assert isinstance(result, Rows), result
        return result.rows[0][0]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(tmp_path)
    yield made
    await made.reload.drain()
    await made.engines.drain()


async def test_nothing_happens_while_the_file_stays_as_it_is(bench: Bench) -> None:
    before = bench.databases.get("one")
    assert (await bench.reload.check(), bench.databases.get("one") is before, bench.kept.added) == (False, True, [])


@pytest.mark.requirement("002.46")
async def test_a_new_connection_is_there_and_the_others_keep_their_sessions(bench: Bench) -> None:
    before = bench.databases.get("one")
    bench.write("one", "two")
    assert await bench.reload.check()
    assert (await bench.answer("one"), await bench.answer("two")) == ("one", "two")
    assert bench.databases.get("one") is before
    assert (bench.kept.added, bench.kept.removed) == (["two"], [])


async def test_a_connection_that_is_gone_is_let_go_of(bench: Bench) -> None:
    assert await bench.answer("one") == "one"
    bench.write("two")
    assert await bench.reload.check()
    assert (await bench.answer("one"), await bench.answer("two")) == (None, "two")
    assert (bench.kept.added, bench.kept.removed) == (["two"], ["one"])


async def test_a_changed_limit_holds_for_the_next_statement(bench: Bench) -> None:
    bench.write("one", more=", policy: {rows_max: 7}")
    assert await bench.reload.check()
    database = bench.databases.get("one")
    assert database is not None
    assert database.policy.rows_max == 7


@pytest.mark.parametrize("text", ["connections: [", "connections: [{name: one, url: 'sqlite:///x', row_max: 5}]", ""])
async def test_a_file_that_cannot_be_used_keeps_the_old_and_says_so(bench: Bench, text: str) -> None:
    bench.file.write_text(text)
    assert not await bench.reload.check()
    assert await bench.answer("one") == "one"
    assert bench.reload.problem
    bench.write("one", "two")
    assert await bench.reload.check()
    assert (bench.reload.problem, await bench.answer("two")) == (None, "two")


async def test_a_secret_in_a_file_counts_as_part_of_the_file(bench: Bench) -> None:
    secret = bench.folder / "name"
    secret.write_text("one")
    bench.file.write_text(f"connections: [{{name: it, url: 'sqlite:///{bench.folder}/${{file:{secret}}}.sqlite'}}]")
    assert await bench.reload.check()
    assert await bench.answer("it") == "one"
    secret.write_text("two")
    os.utime(secret, (1, 1))
    assert await bench.reload.check()
    assert await bench.answer("it") == "two"


async def test_definitions_stand_beside_the_file_and_count_as_part_of_it(bench: Bench) -> None:
    layer = bench.folder / "one.ossie.yaml"
    named = "{name: m, expression: {dialects: [{dialect: ANSI_SQL, expression: %s}]}}"
    text = "{name: one, datasets: [{name: t, source: t, fields: []}], metrics: [" + named + "]}"
    layer.write_text(text % "SUM(t.a)")
    bench.write("one", more=", definitions: one.ossie.yaml")
    assert await bench.reload.check()
    layer.write_text(text % "MAX(t.a)")
    os.utime(layer, (1, 1))
    assert await bench.reload.check()
    database = bench.databases.get("one")
    assert database is not None
    assert "MAX(t.a)" in database.config.definition_pieces["metric:m"]
    layer.write_text("metrics: [")
    assert not await bench.reload.check()
    assert "one.ossie.yaml" in (bench.reload.problem or "")
