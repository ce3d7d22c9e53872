"""Measures linking: `querybus evaluate linking` with the Chinese questions beside this file, and what it must reach."""

from __future__ import annotations

import argparse
import json
import os
import platform
from pathlib import Path
from typing import Any

from querybus_cli.evaluation.linking_figures import measure, show

ROOT = Path(__file__).resolve().parents[1]
LABELS = ROOT / "benchmarks" / "questions" / "spider.zh.txt"
REQUIRED = {
    "all_tables_kept_at_12/linking": 0.85,
    "all_tables_kept_at_20/linking": 0.92,
    "half_of_the_tables_dropped/linking": 0.97,
    "half_of_the_columns_dropped/columns_kept": 0.97,
    "chinese_over_the_shop/all_tables_kept_at_12/linking": 0.90,
}


def main() -> int:
    default = Path(os.environ.get("QUERYBUS_DATA", ROOT.parent / "shared" / "data")) / "spider"
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=default, help="a folder laid out as Spider's")
    options.add_argument("--step", type=int, default=1, help="take each nth question only")
    chosen = options.parse_args()
    if not chosen.data.is_dir():
        print(f"skipped: {chosen.data} is not there; --data names another folder laid out as Spider's")
        return 0
    figures = measure(chosen.data, [LABELS], chosen.step, 10_000)
    for name, value in figures.items():
        show(name, value)
    short = [f"{name} {reached(figures, name)}" for name, least in REQUIRED.items() if reached(figures, name) < least]
    print("met" if not short else f"NOT MET: {', '.join(short)}")
    report = {
        "name": "linking",
        "figures": figures,
        "required": REQUIRED,
        "met": not short,
        "machine": {"cpus": os.cpu_count(), "load": os.getloadavg()[0], "python": platform.python_version()},
    }
    path = ROOT / "build" / "bench" / "linking.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, ensure_ascii=False, indent=1), encoding="utf-8")
    return 0


def reached(figures: dict[str, Any], name: str) -> float:
    """Return a figure by its way through the parts."""
    result: Any = figures
    for part in name.split("/"):
        result = result[part]
    return result


if __name__ == "__main__":
    raise SystemExit(main())
