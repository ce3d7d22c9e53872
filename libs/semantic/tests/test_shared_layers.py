"""Layers that others measure by: every request of the fan-out corpus, in four formats and on real engines."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("QUERYBUS_DATA", ROOT.parent / "shared" / "data")) / "semantic"
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason="the shared data folder is not there (QUERYBUS_DATA)"),
]
sys.path.insert(0, str(ROOT / "benchmarks"))


def test_every_request_of_the_fan_out_corpus_ends_as_it_must() -> None:
    from benchmarks.bench_semantic import fan_out, others

    rows = {row.name: row for row in (*fan_out(DATA), *others(DATA))}
    assert rows["fan-out, ossie"].right == rows["fan-out, ossie"].asked
    assert rows["billing, ossie"].right == rows["billing, ossie"].asked
    asked = sum(row.asked - row.lost_in_format for row in rows.values())
    right = sum(row.right for row in rows.values())
    assert right / asked >= 0.95
    assert sum(row.refused_by_guard for row in rows.values()) <= 3


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
