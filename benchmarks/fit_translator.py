"""Fits the weights by which the translator judges its own readings, from a folder of questions with reference SQL.

Each question gives the facts of its best reading and whether that reading is right. Because such questions can all be
answered, each right one is asked again with a word of another database in the place of one that counts, or with a condition
that nothing is known of: a reading that passes over it is wrong. No fact names a table or a word; the weights are a
few hundred bytes. Databases are left out in turn to say how well the weights do on databases they were not fitted on, and what is printed of
the dev questions is of questions that neither weights nor calibration have seen.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import querybus_translator as translator  # noqa: E402
from benchmarks.bench_translator import (  # noqa: E402 - run as a script
    TODAY,
    compared,
    is_held_out,
    is_opened,
    run,
    separation,
)
from querybus.core.catalog import Catalog  # noqa: E402
from querybus.text.rows.execution_match import is_ordered  # noqa: E402
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog  # noqa: E402
from querybus_presenter.confidence import ROW_WEIGHTS, facts_of_rows  # noqa: E402
from querybus_translator.answers.confidence import UNDEFINED_SHARE, weighed  # noqa: E402
from querybus_translator.readers.reading import Reading  # noqa: E402
from querybus_translator.schema.index import index_of  # noqa: E402
from querybus_translator.schema.nodes import read_nodes  # noqa: E402
from querybus_translator.schema.phrases import NodeKind  # noqa: E402
from querybus_translator.translation import CONFIDENCE_MIN, read_question  # noqa: E402

PENALTY = 3.0
PENALTY_OF_ROWS = 5.0
FOLDS = 5
BINS = 6
SPOILT_WEIGHT = 0.1
TRIES_MAX = 40
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


@dataclass(frozen=True)
class Example:
    """The facts of one reading, whether it is right, how much it counts, the database that it is from, what its rows say."""

    facts: dict[str, float]
    right: bool
    weight: float = 1.0
    database: str = ""
    undefined: int = 0
    is_open: bool = False
    is_spoilt: bool = False
    is_developed: bool = False
    of_rows: tuple[str, ...] = ()


def examples(folder: Path, rows: Sequence[dict[str, str]], *, with_spoilt: bool) -> list[Example]:
    """Return the examples of all questions, spoilt ones behind the question that they were made of."""
    catalogs = {
        database: open_sqlite_catalog(folder / f"{database}.sqlite") for database in {row["db_id"] for row in rows}
    }
    words = linked_words(rows, catalogs) if with_spoilt else ()
    examples: list[Example] = []
    for row in rows:
        database = row["db_id"]
        path, catalog = folder / f"{database}.sqlite", catalogs[database]
        best = _best(row["question"], catalog)
        if best is None:
            continue
        got = run(path, best.written.sql)
        right = compared(run(path, row["gold"]), got, ordered=is_ordered(row["gold"]))[1]
        example = Example(
            facts=dict(best.facts),
            right=right,
            database=database,
            undefined=best.judgement.undefined,
            is_open=best.is_open,
            is_developed=not is_held_out(database),
            of_rows=() if isinstance(got, str) else facts_of_rows(got),
        )
        examples.append(example)
        for spoilt in _spoilt(row["question"], catalog, words) if right and words else ():
            other = _best(spoilt, catalog)
            if other is not None:
                examples.append(
                    replace(
                        example,
                        facts=dict(other.facts),
                        right=False,
                        weight=SPOILT_WEIGHT,
                        undefined=other.judgement.undefined,
                        is_open=other.is_open,
                        is_spoilt=True,
                    )
                )
    return examples


def _best(question: str, catalog: Catalog) -> Reading | None:
    return next(iter(read_question(question, index_of(catalog), TODAY).readings), None)


def linked_words(rows: Sequence[dict[str, str]], catalogs: Mapping[str, Catalog]) -> tuple[str, ...]:
    """Return the words that mean something in some database; over the others they are words that people may use."""
    found = {
        node.text
        for row in rows
        for node in read_nodes(row["question"], index_of(catalogs[row["db_id"]]), TODAY)
        if node.kind is NodeKind.LINK and not node.is_value and node.text.isalpha() and node.text.islower()
    }
    return tuple(sorted(found))


def _spoilt(question: str, catalog: Catalog, words: Sequence[str]) -> Iterator[str]:
    """Give two spoilt questions: a link replaced, and a condition that nothing is known of put behind."""
    chance = int(hashlib.sha256(question.encode()).hexdigest(), 16)
    nodes = read_nodes(question, index_of(catalog), TODAY)
    links = [node.text for node in nodes if node.kind is NodeKind.LINK]
    if len(links) > 1:
        link = links[chance // 7 % len(links)]
        word = _strange(catalog, words, chance // 11)
        yield question.replace(link, word.capitalize() if link[:1].isupper() else word, 1)
    tail = _TAILS[chance // 77 % len(_TAILS)]
    strange = (_strange(catalog, words, chance // number) for number in (101, 1_009))
    yield question.rstrip(" ?.") + tail.format(*strange) + "?"


def _strange(catalog: Catalog, words: Sequence[str], chance: int) -> str:
    """Return one of the words that the catalog does not know; the last one tried where it knows them all."""
    word = ""
    for step in range(TRIES_MAX):
        word = words[(chance + step) % len(words)]
        if any(node.kind is NodeKind.WORD for node in read_nodes(f"the {word} of", index_of(catalog), TODAY)):
            break
    return word


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


def confidence_by(weights: Mapping[str, float], item: Example) -> float:
    """Return the confidence, 0..1, that weights give an example."""
    return weighed(weights, item.facts) * UNDEFINED_SHARE**item.undefined


def judged_apart(found: Sequence[Example]) -> list[tuple[float, Example]]:
    """Return each example with the confidence by weights that were fitted without its database."""
    databases = sorted({item.database for item in found}, key=lambda name: (is_held_out(name), name))
    judged: list[tuple[float, Example]] = []
    for fold in range(FOLDS):
        left_out = set(databases[fold::FOLDS])
        weights = fit([item for item in found if item.database not in left_out])
        judged += [(confidence_by(weights, item), item) for item in found if item.database in left_out]
    return judged


def report(name: str, judged: Sequence[tuple[float, Example]], questions: int) -> None:
    """Print for several thresholds what would be answered, and how much of it right."""
    real = [pair for pair in judged if not pair[1].is_spoilt]
    spoilt = [pair for pair in judged if pair[1].is_spoilt]
    area = separation([(chance, item.right) for chance, item in real])[1]
    print(f"{name}: {len(real)} readings of {questions} questions, area {area:.3f}")
    for least in (0.5, 0.6, 0.65, 0.68, 0.7, 0.72, 0.74, 0.76, 0.78, 0.8, 0.85, 0.9):
        kept = [item for chance, item in real if chance >= least and not item.is_open]
        passed = sum(chance >= least and not item.is_open for chance, item in spoilt)
        right = sum(item.right for item in kept)
        beside = f"; spoilt questions answered {passed / len(spoilt):.1%}" if spoilt else ""
        print(
            f"  from {least:.2f}: right of {len(kept)} answered {right / max(1, len(kept)):.1%},"
            f" right of all {right / questions:.1%}{beside}"
        )


def answered_of(judged: Sequence[tuple[float, Example]]) -> list[tuple[float, Example]]:
    """Return what would be answered: sure enough, and nothing of it open."""
    return [pair for pair in judged if pair[0] >= CONFIDENCE_MIN and not pair[1].is_open and not pair[1].is_spoilt]


def calibrated_by(fitted: Mapping[str, float], confidence: float, facts: Sequence[str]) -> float:
    """Return the confidence that is stated."""
    total = fitted["intercept"] + fitted["slope"] * math.log(confidence / (1 - confidence))
    return share_of(total + sum(fitted[fact] for fact in facts))


def calibration(judged: Sequence[tuple[float, Example]]) -> dict[str, float]:
    """Return what turns a confidence's log odds into those of a share, and what facts of the rows add to them.

    What was developed with is right more often: it says what rows come to, and not how often others are right.
    """
    found = [
        Example(
            {
                "slope": math.log(chance / (1 - chance)),
                "developed": float(item.is_developed),
                **dict.fromkeys(item.of_rows, 1.0),
            },
            item.right,
        )
        for chance, item in judged
    ]
    weights = fit(found, penalty=PENALTY_OF_ROWS)
    named = {"intercept" if name == "constant" else name: weight for name, weight in weights.items()}
    del named["developed"]
    return {**dict.fromkeys(ROW_WEIGHTS, 0.0), **named}


def report_calibration(name: str, judged: Sequence[tuple[float, Example]], fitted: Mapping[str, float]) -> None:
    """Print how far what is stated of the answered questions is off, without and with a look at the rows."""
    stated: list[tuple[float, bool]] = []
    for beside, with_rows in (("", False), (", rows looked at", True)):
        stated = sorted(
            (calibrated_by(fitted, chance, item.of_rows if with_rows else ()), item.right) for chance, item in judged
        )
        error, area = separation(stated)
        print(f"{name}: {len(judged)} answered{beside}: calibration error {error:.3f}, area {area:.3f}")
    show_bins(stated)


def show_bins(stated: Sequence[tuple[float, bool]]) -> None:
    """Print what was stated beside what was right, in BINS of equal size; `stated` is in order."""
    size = max(1, math.ceil(len(stated) / BINS))
    for start in range(0, len(stated), size):
        part = stated[start : start + size]
        said, right = sum(chance for chance, _ in part) / len(part), sum(right for _, right in part) / len(part)
        print(
            f"  stated {said:.2f} {'#' * round(40 * said):40} right {right:.2f} {'#' * round(40 * right):40} of {len(part)}"
        )


def write_weights(weights: dict[str, float], fitted: dict[str, float]) -> Path:
    """Write the weights and the calibration into the translator's package."""
    target = Path(translator.__file__).parent / "words" / "confidence.toml"
    lines = [
        "# Weights of the facts about a reading, fitted on the training questions by `benchmarks/fit_translator.py`. No fact",
        "# names a table, a column or a word.",
        "",
        "[weights]",
        *(f"{name} = {weight}" for name, weight in weights.items()),
        "",
        "# From a confidence to how often such readings are right, by folds of databases,",
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
    train, dev = (
        json.loads((given.data / f"questions_{name}.json").read_text(encoding="utf-8")) for name in ("train", "dev")
    )
    found = examples(given.data / "train_databases", train, with_spoilt=True)
    print(f"{sum(item.is_spoilt for item in found)} readings of spoilt questions; threshold {CONFIDENCE_MIN}")
    by_folds = judged_apart(found)
    report("developed, by folds", [pair for pair in by_folds if pair[1].is_developed], _count(train, is_held=False))
    held = [pair for pair in by_folds if not pair[1].is_developed]
    report("held out, by folds", held, _count(train, is_held=True))
    weights, fitted = fit(found), calibration(answered_of(by_folds))
    dev = [row for row in dev if not is_opened(row["db_id"])]
    of_dev = [
        (confidence_by(weights, item), item) for item in examples(given.data / "databases", dev, with_spoilt=False)
    ]
    report("dev", of_dev, len(dev))
    report_calibration("held out, by folds", answered_of(held), fitted)
    report_calibration("dev", answered_of(of_dev), fitted)
    for name, value in {**weights, **fitted}.items():
        print(f"  {name:18} {value:7.3f}")
    if given.write:
        print(write_weights(weights, fitted).name)
    return 0


def _count(rows: Sequence[dict[str, str]], *, is_held: bool) -> int:
    return sum(is_held_out(row["db_id"]) == is_held for row in rows)


if __name__ == "__main__":
    sys.exit(main())
