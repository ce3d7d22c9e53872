"""Fits the weights by which the translator judges its own readings, from a folder of questions with reference SQL.

Each question gives the facts of its best reading and whether that reading is right. Because such questions can all be
answered, each right one is asked again with a word that means nothing in the place of one that counts, or with a condition
that nothing is known of: a reading that passes over it is wrong. No fact names a table or a word; the weights are a
few hundred bytes. Databases are left out in turn to say how well the weights do on databases they were not fitted on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import querybus_translator as translator  # noqa: E402
from benchmarks.bench_translator import (  # noqa: E402 - run as a script
    TODAY,
    compared,
    is_held_out,
    run,
    separation,
)
from querybus.core.catalog import Catalog  # noqa: E402
from querybus.text.rows.execution_match import is_ordered  # noqa: E402
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog  # noqa: E402
from querybus_presenter.confidence import ROW_WEIGHTS, facts_of_rows  # noqa: E402
from querybus_translator.answers.confidence import NOTHING_OPEN_MIN, UNDEFINED_SHARE  # noqa: E402
from querybus_translator.readers.reading import Reading, read  # noqa: E402
from querybus_translator.schema.index import index_of  # noqa: E402
from querybus_translator.schema.nodes import read_nodes  # noqa: E402
from querybus_translator.schema.phrases import NodeKind  # noqa: E402
from querybus_translator.translation import CONFIDENCE_MIN, is_sure  # noqa: E402

PENALTY = 3.0
PENALTY_OF_ROWS = 5.0
FOLDS = 5
BINS = 6
SPOILT_WEIGHT = 0.1
_TAILS = (
    " that are {}",
    " who have a {}",
    " with {}",
    " in {}",
    " that were {} in 2001",
    " of the {}",
    " from {}",
    " {}ed by a {}",
    " {}ed in 2001",
    " that were {}ed",
    " that have been {}ed last year",
    " for {}ing",
)
_WORDS = ("blorf", "quandle", "vimtry", "zorple", "frunk", "glimter")


@dataclass(frozen=True)
class Example:
    """The facts of one reading, whether it is right, how much it counts, and the database that it is from."""

    facts: dict[str, float]
    right: bool
    weight: float
    database: str
    undefined: int
    is_spoilt: bool


def examples(data: Path, rows: Sequence[dict[str, str]]) -> list[Example]:
    """Return the examples of all questions, spoilt ones behind the question that they were made of."""
    catalogs: dict[str, Catalog] = {}
    examples: list[Example] = []
    for row in rows:
        database = row["db_id"]
        path = data / "train_databases" / f"{database}.sqlite"
        if database not in catalogs:
            catalogs[database] = open_sqlite_catalog(path)
        catalog = catalogs[database]
        best = _best(row["question"], catalog)
        if best is None:
            continue
        expected = run(path, row["gold"])
        right = compared(expected, run(path, best.written.sql), ordered=is_ordered(row["gold"]))[1]
        examples.append(_example(best, database, right=right))
        if not right:
            continue
        for spoilt in _spoilt(row["question"], catalog):
            other = _best(spoilt, catalog)
            if other is not None:
                examples.append(_example(other, database, right=False, is_spoilt=True))
    return examples


def _best(question: str, catalog: Catalog) -> Reading | None:
    index = index_of(catalog)
    return next(iter(read(read_nodes(question, index, TODAY), index, TODAY)), None)


def _example(best: Reading, database: str, *, right: bool, is_spoilt: bool = False) -> Example:
    weight = SPOILT_WEIGHT if is_spoilt else 1.0
    return Example(dict(best.facts), right, weight, database, best.judgement.undefined, is_spoilt)


def _spoilt(question: str, catalog: Catalog) -> Iterator[str]:
    """Give two spoilt questions: a link replaced, and a condition that nothing is known of put behind."""
    chance = int(hashlib.sha256(question.encode()).hexdigest(), 16)
    word = _WORDS[chance % len(_WORDS)]
    index = index_of(catalog)
    links = [node.text for node in read_nodes(question, index, TODAY) if node.kind is NodeKind.LINK]
    if len(links) > 1:
        link = links[chance // 7 % len(links)]
        yield question.replace(link, word.capitalize() if link[:1].isupper() else word, 1)
    tail = _TAILS[chance // 77 % len(_TAILS)].format(word, word[::-1])
    yield question.rstrip(" ?.") + tail + "?"


def fit(found: Sequence[Example], *, rounds: int = 15, penalty: float = PENALTY) -> dict[str, float]:
    """Return the weights of a logistic model by Newton's method, kept small by `penalty`."""
    names = ["constant", *sorted({name for item in found for name in item.facts})]
    places = {name: place for place, name in enumerate(names)}
    rows = [
        ([(0, 1.0), *((places[name], value) for name, value in item.facts.items() if value)], item.right, item.weight)
        for item in found
    ]
    size = len(names)
    weights = [0.0] * size
    for _ in range(rounds):
        slope = [0.0 if place == 0 else -penalty * weight for place, weight in enumerate(weights)]
        bend = [[0.0] * size for _ in range(size)]
        for place in range(size):
            bend[place][place] = penalty if place else 1e-6
        for values, right, heft in rows:
            chance = share_of(sum(weights[place] * value for place, value in values))
            for place, value in values:
                slope[place] += heft * (right - chance) * value
                share = heft * chance * (1 - chance) * value
                row = bend[place]
                for other, factor in values:
                    row[other] += share * factor
        step = solve(bend, slope)
        weights = [weight + change for weight, change in zip(weights, step, strict=True)]
        if max(map(abs, step)) < 1e-5:
            break
    return {name: round(weight, 3) for name, weight in zip(names, weights, strict=True)}


def share_of(log_odds: float) -> float:
    """Return the share that log odds stand for."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, log_odds))))


def solve(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Return the solution of a system of linear equations, by elimination with pivots."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for place in range(size):
        pivot = max(range(place, size), key=lambda item: abs(rows[item][place]))
        rows[place], rows[pivot] = rows[pivot], rows[place]
        for other in range(size):
            if other != place and rows[other][place]:
                factor = rows[other][place] / rows[place][place]
                rows[other] = [one - factor * two for one, two in zip(rows[other], rows[place], strict=True)]
    return [rows[place][size] / rows[place][place] for place in range(size)]


def judged_apart(found: Sequence[Example]) -> list[tuple[float, Example]]:
    """Return each example with the confidence by weights that were fitted without its database."""
    databases = sorted({item.database for item in found})
    judged: list[tuple[float, Example]] = []
    for fold in range(FOLDS):
        left_out = set(databases[fold::FOLDS])
        weights = fit([item for item in found if item.database not in left_out])
        judged += [
            (share_of(weights["constant"] + sum(weights.get(n, 0.0) * v for n, v in item.facts.items())), item)
            for item in found
            if item.database in left_out
        ]
    return judged


def report(judged: Sequence[tuple[float, Example]], questions: int) -> None:
    """Print for several thresholds what would be answered, and how much of it right."""
    for least in (0.5, 0.6, 0.65, 0.7, 0.72, 0.75, 0.78, 0.8, 0.85, 0.9):
        kept = [item for chance, item in judged if chance * UNDEFINED_SHARE**item.undefined >= least]
        real = [item for item in kept if not item.is_spoilt]
        spoilt = [item for item in kept if item.is_spoilt]
        all_spoilt = sum(item.is_spoilt for _, item in judged)
        right = sum(item.right for item in real)
        print(
            f"from {least:.2f}: right of answered {right / max(1, len(real)):.1%}, right of all {right / questions:.1%};"
            f" spoilt questions answered {len(spoilt) / max(1, all_spoilt):.1%}"
        )


@dataclass(frozen=True)
class Judged:
    """A question's best reading: its raw confidence, whether it is right, what is to be said of its rows, and whether it is given."""

    confidence: float
    right: bool
    facts: tuple[str, ...]
    is_answer: bool

    def calibrated(self, fitted: Mapping[str, float], *, with_rows: bool) -> float:
        """Return the confidence that is stated."""
        total = fitted["intercept"] + fitted["slope"] * math.log(self.confidence / (1 - self.confidence))
        return share_of(total + sum(fitted[fact] for fact in self.facts if with_rows))


def best_readings(data: Path, rows: Sequence[dict[str, str]], folder: str) -> list[Judged]:
    """Return the best reading of every question that has one."""
    catalogs: dict[str, Catalog] = {}
    found: list[Judged] = []
    for row in rows:
        path = data / folder / f"{row['db_id']}.sqlite"
        catalog = (
            catalogs.setdefault(row["db_id"], open_sqlite_catalog(path))
            if row["db_id"] not in catalogs
            else catalogs[row["db_id"]]
        )
        best = _best(row["question"], catalog)
        if best is not None:
            got = run(path, best.written.sql)
            right = compared(run(path, row["gold"]), got, ordered=is_ordered(row["gold"]))[1]
            found.append(
                Judged(best.confidence, right, () if isinstance(got, str) else facts_of_rows(got), is_sure(best))
            )
    return found


def calibration(found: Sequence[Judged]) -> dict[str, float]:
    """Return what turns a confidence's log odds into those of a share, and what facts of the rows add to them."""
    examples = [
        Example(
            {"slope": math.log(item.confidence / (1 - item.confidence)), **dict.fromkeys(item.facts, 1.0)},
            item.right, 1.0, "", 0, False,
        )
        for item in found
    ]  # fmt: skip
    weights = fit(examples, penalty=PENALTY_OF_ROWS)
    return {"intercept" if name == "constant" else name: weight for name, weight in weights.items()}


def show_bins(stated: Sequence[tuple[float, bool]]) -> None:
    """Print what was stated beside what was right, in BINS of equal size; `stated` is in order."""
    size = max(1, math.ceil(len(stated) / BINS))
    for start in range(0, len(stated), size):
        part = stated[start : start + size]
        said, right = sum(chance for chance, _ in part) / len(part), sum(right for _, right in part) / len(part)
        print(
            f"  stated {said:.2f} {'#' * round(40 * said):40} right {right:.2f} {'#' * round(40 * right):40} of {len(part)}"
        )


def report_calibration(data: Path) -> dict[str, float]:
    """Fit on the databases that the weights were not fitted on, and print what it does on the dev questions."""
    train = json.loads((data / "questions_train.json").read_text(encoding="utf-8"))
    dev_rows = json.loads((data / "questions_dev.json").read_text(encoding="utf-8"))
    parts = {
        "held": best_readings(data, [row for row in train if is_held_out(row["db_id"])], "train_databases"),
        "dev": best_readings(data, dev_rows, "databases"),
    }
    fitted = {**dict.fromkeys(ROW_WEIGHTS, 0.0), **calibration([item for item in parts["held"] if item.is_answer])}
    for name, found in parts.items():
        answered = [item for item in found if item.is_answer]
        print(f"{name:5} {len(found):5} readings: area {separation([(i.confidence, i.right) for i in found])[1]:.3f}")
        for beside, with_rows in (("", False), (", rows looked at", True)):
            stated = sorted((item.calibrated(fitted, with_rows=with_rows), item.right) for item in answered)
            error, area = separation(stated)
            print(f"{name:5} {len(answered):5} answered{beside}: calibration error {error:.3f}, area {area:.3f}")
        show_bins(stated)
    return fitted


def write_weights(weights: dict[str, float], fitted: dict[str, float]) -> Path:
    """Write the weights and the calibration into the translator's package."""
    target = Path(translator.__file__).parent / "words" / "confidence.toml"
    lines = [
        "# Weights of the facts about a reading, fitted on the developed part of the training questions by",
        "# `benchmarks/fit_translator.py`. No fact names a table, a column or a word.",
        "",
        "[weights]",
        *(f"{name} = {weight}" for name, weight in weights.items()),
        "",
        "# From a confidence to how often such readings are right, fitted on the databases that were held out of the weights",
        "# together with what the rows say (`ROW_WEIGHTS` of the presenter).",
        "[calibration]",
        *(f"{name} = {value}" for name, value in fitted.items() if name not in ROW_WEIGHTS),
    ]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return target


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path(os.environ.get("QUERYBUS_DATA", ROOT.parent / "shared" / "data")) / "spider"
    parser.add_argument("--data", type=Path, default=default, help="folder laid out as Spider's")
    parser.add_argument("--write", action="store_true", help="write the weights into the translator's package")
    given = parser.parse_args(arguments)
    if not given.data.is_dir():
        parser.error(f"no data at {given.data}")
    rows = json.loads((given.data / "questions_train.json").read_text(encoding="utf-8"))
    rows = [row for row in rows if not is_held_out(row["db_id"])]
    result = examples(given.data, rows)
    counts: defaultdict[bool, int] = defaultdict(int)
    for item in result:
        counts[item.is_spoilt] += 1
    print(
        f"{counts[False]} readings and {counts[True]} of spoilt questions; threshold {CONFIDENCE_MIN}, floor {NOTHING_OPEN_MIN}"
    )
    report(judged_apart(result), len(rows))
    weights = fit(result)
    for name, weight in weights.items():
        print(f"  {name:18} {weight:7.3f}")
    fitted = report_calibration(given.data)
    for name, value in fitted.items():
        print(f"  {name:18} {value:7.3f}")
    if given.write:
        print(write_weights(weights, fitted).name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
