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
        assert read_ossie(document_of(layer), {})[0][0].version == layer.version, file


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
