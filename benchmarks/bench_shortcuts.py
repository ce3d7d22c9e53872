"""Measures what each shortcut taken for speed gains, against the plain way in the same run (docs/adr/0014).

Prints a table and writes build/bench/shortcuts.json. Each figure is the median of several rounds that alternate.
"""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from querybus.core.catalog import Catalog
from querybus.core.policy import ConnectionPolicy, Reader
from querybus.sql.guard.decide import admitted
from querybus_cli.evaluation.linking import shop_catalog, wide
from querybus_executor.guard_cache import Verdicts
from querybus_translator import translate

ROUNDS = 7
READER = Reader(tenant="acme", user="ann")
SQL = "SELECT c.city, COUNT(*) AS n FROM customers AS c JOIN orders AS o ON o.customer_id = c.id GROUP BY c.city"
QUESTIONS = ("How many customers are there?", "Which city has the most customers?", "top 3 products by price")


def microseconds(work: Callable[[], object], times: int) -> float:
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times * 1e6


def beside(plain: Callable[[], object], short: Callable[[], object], times: int) -> dict[str, float]:
    """Return the CPU of both ways in microseconds, measured in turns, and their ratio."""
    gc.disable()
    rounds = [(microseconds(plain, times), microseconds(short, times)) for _ in range(ROUNDS)]
    gc.enable()
    one, other = (statistics.median(column) for column in zip(*rounds, strict=True))
    return {"plain_us": round(one, 1), "shortcut_us": round(other, 1), "times": round(one / other, 1)}


def verdicts(catalog: Catalog) -> dict[str, float]:
    """The executor's guard over a text that it has just judged, found by the identity of catalog and policy."""
    policy, kept = ConnectionPolicy(), Verdicts()
    again = kept.refusal
    return beside(
        lambda: admitted(SQL, catalog.dialect, catalog, policy, READER, checks_size=True),
        lambda: again(SQL, catalog.dialect, catalog, policy, READER, checks_size=True),
        50,
    )


def fingerprints() -> dict[str, float]:
    """The fingerprint of a catalog of 1,000 tables: computed, or taken over from the store that names it."""
    text = wide(1_000).model_dump_json()

    def computed() -> object:
        return Catalog.model_validate_json(text).fingerprint

    return beside(computed, lambda: Catalog.model_validate_json(text), 1)


def collections(catalog: Catalog) -> dict[str, float]:
    """A question read by the translator beside a heap as a service has it: collected as Python does by itself, or frozen."""
    heap = [wide(500)]
    asked = date(2025, 6, 15)

    def questions() -> None:
        for question in QUESTIONS:
            translate(question, catalog, today=asked)

    rounds: list[tuple[float, float]] = []
    default = gc.get_threshold()
    for _ in range(ROUNDS):
        gc.unfreeze()
        gc.set_threshold(*default)
        plain = microseconds(questions, 40)
        gc.collect()
        gc.freeze()
        gc.set_threshold(10_000, 20, 20)
        rounds.append((plain, microseconds(questions, 40)))
    began = time.perf_counter()
    gc.collect()
    frozen = time.perf_counter() - began
    gc.unfreeze()
    gc.set_threshold(*default)
    began = time.perf_counter()
    gc.collect()
    whole = time.perf_counter() - began
    del heap
    one, other = (statistics.median(column) for column in zip(*rounds, strict=True))
    return {
        "plain_us": round(one, 1),
        "shortcut_us": round(other, 1),
        "times": round(one / other, 2),
        "full_collection_ms": round(whole * 1e3, 1),
        "full_collection_frozen_ms": round(frozen * 1e3, 2),
    }


def commands(database: Path) -> dict[str, float]:
    """One question at the terminal, a process each: collected while it loads as Python does by itself, or seldom."""

    def seconds(code: str) -> float:
        began = time.perf_counter()
        command = [sys.executable, "-c", code, "ask", "--database", str(database), "How many orders are there?"]
        subprocess.run(command, check=True, capture_output=True)
        return time.perf_counter() - began

    plain = "import querybus_cli.app; querybus_cli.app.main()"
    short = "import querybus_cli.entry; querybus_cli.entry.main()"
    rounds = [(seconds(plain), seconds(short)) for _ in range(ROUNDS)]
    one, other = (statistics.median(column) for column in zip(*rounds, strict=True))
    return {"plain_s": round(one, 2), "shortcut_s": round(other, 2), "times": round(one / other, 2)}


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        database = Path(directory) / "shop.sqlite"
        catalog = shop_catalog(database)
        asked = commands(database)
    figures: dict[str, Any] = {
        "verdicts are kept by identity": verdicts(catalog),
        "a catalog's fingerprint is taken over": fingerprints(),
        "what stays is taken out of collections": collections(catalog),
        "seldom collected while loading": asked,
    }
    for name, row in figures.items():
        print(f"{name:48}", "  ".join(f"{key} {value}" for key, value in row.items()))
    place = Path("build/bench")
    place.mkdir(parents=True, exist_ok=True)
    (place / "shortcuts.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
