"""Measures which connection a question goes to where each database is a connection of its own, and nobody names one.

The weights were set on every second database of the training part, by name; their questions are reported beside those of
the other half and of the development part. Before them come our own questions to eight small businesses, half of them held out. What is asked back counts as right where the right one is among the choices.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from benchmarks.business_databases import write_businesses
from querybus.core.catalog import Dialect
from querybus.core.policy import Connection
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from querybus_generator.linking.routing import CHOICES_MAX, Profile, decide, rank

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDERS: Final = {"dev": ("questions_dev.json", "databases"), "train": ("questions_train.json", "train_databases")}
REQUIRED: Final = {"first": 0.90, "among_three": 0.97}
ASKED_BACK_MAX: Final = 0.10


def measured(data: Path, part: str, step: int) -> list[dict[str, Any]]:
    """Return for each question of a part whether its database comes first, among three, and is asked about."""
    questions, folder = FOLDERS[part]
    paths = sorted((data / folder).glob("*.sqlite"))
    profiles = {path.stem: Profile(open_sqlite_catalog(path)) for path in paths}
    connections = [Connection(name=name, dialect=Dialect.SQLITE) for name in profiles]
    fitted = {path.stem for path in paths[::2]} if part == "train" else set[str]()
    rows: list[dict[str, Any]] = []
    for item in json.loads((data / questions).read_text(encoding="utf-8"))[::step]:
        if item["db_id"] not in profiles:
            continue
        began = time.perf_counter()
        route = decide(item["question"], connections, profiles)
        seconds = time.perf_counter() - began
        ranking = rank(item["question"], profiles)
        best = [ranked.name for ranked in ranking[:CHOICES_MAX]]
        words = next((ranked.words for ranked in ranking if ranked.name == item["db_id"]), 0)
        choices = route.choices if route is not None else ()
        rows.append(
            {
                "part": "dev" if part == "dev" else "fitted" if item["db_id"] in fitted else "held out",
                "first": best[:1] == [item["db_id"]],
                "among_three": item["db_id"] in best,
                "asked_back": route is None or bool(choices),
                "right": route is not None and item["db_id"] in (choices or (route.connection,)),
                "has_a_double": bool(ranking) and best[0] != item["db_id"] and ranking[0].words >= words,
                "ms": 1_000 * seconds,
            }
        )
    return rows


def businesses() -> dict[str, Counter[str]]:
    """Return what becomes of our own questions to eight small businesses: all connected at once, in pairs, and in threads."""
    with tempfile.TemporaryDirectory(prefix="querybus-routing-") as folder:
        catalogs = {name: open_sqlite_catalog(file) for name, file in write_businesses(Path(folder)).items()}
    profiles = {name: Profile(catalog) for name, catalog in catalogs.items()}
    counts: dict[str, Counter[str]] = defaultdict(Counter)

    def note(group: str, where: str, question: str, among: Sequence[str], thread: str | None = None) -> None:
        known = {name: profiles[name] for name in among}
        connections = [Connection(name=name, dialect=Dialect.SQLITE) for name in among]
        route = decide(question, connections, known, thread_connection=thread)
        gold = set(where.split("/")) & set(among)
        is_asked = route is None or bool(route.choices)
        is_right = is_asked if len(gold) != 1 else not is_asked and route is not None and route.connection in gold
        counts[group]["right" if is_right else "asked" if is_asked else "wrong"] += 1

    for place, (where, question) in enumerate(_lines("routed.txt")):
        half = ("looked at", "held out")[place % 2]
        note(f"8 businesses, {half}", where, question, tuple(profiles))
        for pair in combinations(sorted(profiles), 2):
            note(f"pairs of them, {half}", where, question, pair)
    for place, (thread, _, question, where) in enumerate(_lines("routed_threads.txt")):
        note(f"second turns, {('looked at', 'held out')[place % 2]}", where, question, tuple(profiles), thread)
    return counts


def _lines(name: str) -> list[list[str]]:
    text = (ROOT / "benchmarks" / "questions" / name).read_text(encoding="utf-8")
    return [line.split(" | ") for line in text.splitlines() if line and not line.startswith("#")]


def figures_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the shares over all questions."""
    sure = [row for row in rows if not row["asked_back"]]
    times = sorted(row["ms"] for row in rows)
    return {
        "questions": len(rows),
        **{
            name: round(sum(row[name] for row in rows) / len(rows), 4)
            for name in ("first", "among_three", "asked_back")
        },
        "right_where_not_asked_back": round(sum(row["right"] for row in sure) / len(sure), 4),
        "right_after_at_most_one_choice": round(sum(row["right"] for row in rows) / len(rows), 4),
        # The limit of words: another database has as many of the question's.
        "not_first_and_words_do_not_tell": round(sum(row["has_a_double"] for row in rows) / len(rows), 4),
        "ms_p50": round(times[len(times) // 2], 2),
        "ms_p99": round(times[int(len(times) * 0.99)], 2),
    }


def main() -> int:
    default = Path(os.environ.get("QUERYBUS_DATA", ROOT.parent / "shared" / "data")) / "spider"
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=default, help="a folder laid out as Spider's")
    options.add_argument("--step", type=int, default=1, help="take each nth question only")
    chosen = options.parse_args()
    for name, counted in businesses().items():
        print(f"{name:32}", "  ".join(f"{verdict} {counted[verdict]}" for verdict in ("right", "asked", "wrong")))
    if not chosen.data.is_dir():
        print(f"skipped: {chosen.data} is not there; --data names another folder laid out as Spider's")
        return 0
    train = measured(chosen.data, "train", chosen.step)
    figures = {
        "9 databases of dev": figures_of(measured(chosen.data, "dev", chosen.step)),
        "90 databases of train": figures_of(train),
        "of these, weights set on them": figures_of([row for row in train if row["part"] == "fitted"]),
        "of these, held out": figures_of([row for row in train if row["part"] == "held out"]),
    }
    for name, values in figures.items():
        print(f"{name:32}", "  ".join(f"{key} {value}" for key, value in values.items()))
    whole = figures["90 databases of train"]
    short = [f"{name} {whole[name]}" for name, least in REQUIRED.items() if whole[name] < least]
    if whole["asked_back"] > ASKED_BACK_MAX:
        short.append(f"asked_back {whole['asked_back']}")
    print("met" if not short else f"NOT MET: {', '.join(short)}")
    path = ROOT / "build" / "bench" / "routing.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = {"cpus": os.cpu_count(), "load": os.getloadavg()[0], "python": platform.python_version()}
    report = {"name": "routing", "figures": figures, "required": REQUIRED, "met": not short, "machine": machine}
    path.write_text(json.dumps(report, ensure_ascii=False, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
