"""Layers that others measure by: every request of the fan-out corpus, in four formats and on real engines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("QUERYBUS_DATA", ROOT.parent / "shared" / "data")) / "semantic"
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(
        not DATA.is_dir() and os.environ.get("CI") != "true", reason="no shared data folder is there; set QUERYBUS_DATA"
    ),
]


@pytest.mark.slow
def test_every_request_of_the_fan_out_corpus_ends_as_it_must() -> None:
    from benchmarks.bench_semantic import fan_out, others

    rows = {row.name: row for row in (*fan_out(DATA), *others(DATA))}
    assert rows["fan-out, ossie"].right == rows["fan-out, ossie"].asked
    assert rows["billing, ossie"].right == rows["billing, ossie"].asked
    asked = sum(row.asked - row.lost_in_format for row in rows.values())
    right = sum(row.right for row in rows.values())
    assert right == asked
    assert not [line for row in rows.values() for line in row.wrong]


def test_every_layer_survives_our_own_round_trip() -> None:
    from querybus_semantic.formats.files import Format, read_layers
    from querybus_semantic.formats.ossie import read_ossie
    from querybus_semantic.formats.ossie_writer import document_of

    formats: tuple[Format, ...] = ("ossie", "dbt", "snowflake", "cube")
    files: list[tuple[Path, Format]] = [(file, one) for one in formats for file in DATA.rglob(f"layer.{one}.yaml")]
    assert len(files) > 90
    for file, format_ in files:
        layer, _ = read_layers([file.read_text()], format_, "x")[0]
        assert read_ossie(document_of(layer))[0][0].version == layer.version, file


@pytest.mark.slow
def test_every_compiled_statement_passes_the_guard_in_every_dialect() -> None:
    from benchmarks.bench_semantic import POLICY, lines, opened, structured
    from querybus.core.catalog import Dialect
    from querybus.sql.check import Checked, check
    from querybus_semantic.compiling.compile import Compiled, compile_request

    passed = 0
    for item in lines(DATA / "fanout" / "requests.jsonl"):
        folder = DATA / "fanout" / item["schema"]
        if item["expect"] != "rows":
            continue
        place = opened(folder / "data.sqlite", [folder / "layer.ossie.yaml"], "ossie")
        for dialect in Dialect:
            compiled = compile_request(place.layer, structured(item, place.layer, place.layer), dialect)
            assert isinstance(compiled, Compiled), (item["id"], dialect)
            catalog = place.catalog.model_copy(update={"dialect": dialect})
            checked = check(compiled.sql, dialect=dialect, catalog=catalog, policy=POLICY, row_limit=100)
            assert isinstance(checked, Checked), (item["id"], dialect, checked)
            passed += 1
    assert passed == 63 * len(Dialect)


def test_every_part_of_four_formats_has_the_fate_that_it_must_have() -> None:
    from benchmarks.format_fates import fates

    found = list(fates(DATA / "formats"))
    assert sum(fate.asked for fate in found) == 91
    wrong = [line.split(" must be")[0] for fate in found for line in fate.wrong]
    # A calendar of own grains is listed instead, and the YAML of that metric ends at the comma of NULLIF(x, 0).
    assert wrong == ["everything.dbt_latest.yml: days", "everything.snowflake.yaml: metrics.COST_PER_VISIT"]


@pytest.mark.slow
def test_row_filters_hold_in_every_compiled_statement_as_on_a_copy_without_the_rows() -> None:
    import sqlite3

    from benchmarks.bench_semantic import lines, opened, same, structured
    from querybus.core.catalog import Dialect
    from querybus.core.policy import ConnectionPolicy, Reader
    from querybus.sql.check import Checked, check
    from querybus_semantic.compiling.compile import Compiled, compile_request

    compared, changed = 0, 0
    for item in lines(DATA / "fanout" / "requests.jsonl"):
        folder = DATA / "fanout" / item["schema"]
        if item["expect"] != "rows":
            continue
        place = opened(folder / "data.sqlite", [folder / "layer.ossie.yaml"], "ossie")
        compiled = compile_request(place.layer, structured(item, place.layer, place.layer), Dialect.SQLITE)
        assert isinstance(compiled, Compiled)
        for table in place.catalog.tables:
            column = next((one.name for one in table.columns if one.kind == "integer"), None)
            if column is None or table.name not in compiled.sql:
                continue
            kept = f"{column} % 3 <> 1"
            policy = ConnectionPolicy(rows_max=10_000, row_filters={table.name: kept})
            found = check(
                compiled.sql,
                dialect=Dialect.SQLITE,
                catalog=place.catalog,
                policy=policy,
                row_limit=10_000,
                reader=Reader(tenant="t", user="u"),
            )
            assert isinstance(found, Checked), (item["id"], table.name, found)
            with sqlite3.connect(":memory:") as copy:
                place.opened.backup(copy)
                copy.execute(f"DELETE FROM {table.name} WHERE NOT coalesce({kept}, 0)")
                rows = place.opened.execute(found.sql).fetchall()
                assert same(rows, copy.execute(compiled.sql).fetchall()), (item["id"], table.name)
            compared += 1
            changed += not same(rows, item["expected"]["rows"])
    # Filters that change nothing would show nothing.
    assert compared > 100
    assert changed > compared / 2
