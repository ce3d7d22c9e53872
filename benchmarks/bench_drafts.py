"""Measures what a second draft comes to: the translator's reading beside published answers of models, and one model's beside another's.

A reading is compared with whatever a model wrote that runs. Where there is none, a doubtful first draft is asked for once more: each
model's answer is the first draft and each other's the second, which is what another schema text may bring at best and at worst, here
over all questions. Results are compared and chosen between by the executor's own function. Right is the execution match, columns
permuted. The confidences that answers carry are compared with how often they were right, per fold of databases.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import sqlite3
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from second_readings import Answered, answers_apart, draft_weights, read_beside

from querybus.core.failure import Failure
from querybus.core.messages import Agreement, Analysis, Origin, ResultColumn
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import check
from querybus.text.rows.execution_match import is_ordered, matches
from querybus.text.synonyms import link_words
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from querybus_executor.ports import Rows
from querybus_executor.results.second_draft import COMPARED_ROWS_MAX, agreement_of, finds_nothing
from querybus_generator.linking.index import LinkIndex
from querybus_generator.reply.doubts import DraftDoubt, doubts_of
from querybus_presenter.confidence import facts_of_draft

ROOT: Final = Path(__file__).resolve().parents[1]
STEPS_MAX: Final = 20_000_000
POLICY: Final = ConnectionPolicy()
CALLS_MAX: Final = 0.4
ERROR_MAX: Final = 0.05
AREA_MIN: Final = 0.8
FIRST_ROWS: Final = 100
"""Rows of a first page, by which confidence looks for repetitions."""


class Databases:
    """The databases of the questions, read only; what was run once is remembered."""

    def __init__(self, folder: Path) -> None:
        self.catalogs = {path.stem: open_sqlite_catalog(path) for path in sorted(folder.glob("*.sqlite"))}
        self.indexes = {name: LinkIndex(catalog, words=link_words()) for name, catalog in self.catalogs.items()}
        self._folder = folder
        self._known: dict[tuple[str, str], Rows | None] = {}

    def run(self, name: str, sql: str) -> Rows | None:
        """Return the rows as the executor would hand them on; None where the statement does not run."""
        if (name, sql) not in self._known:
            self._known[name, sql] = self._run(name, sql)
        return self._known[name, sql]

    def _run(self, name: str, sql: str) -> Rows | None:
        address = f"{(self._folder / f'{name}.sqlite').absolute().as_uri()}?mode=ro"
        steps = iter(range(STEPS_MAX // 10_000))
        with contextlib.closing(sqlite3.connect(address, uri=True)) as opened:
            opened.text_factory = lambda cell: cell.decode("utf-8", "replace")
            opened.set_progress_handler(lambda: next(steps, None) is None, 10_000)
            try:
                cursor = opened.execute(sql)
                rows = cursor.fetchmany(COMPARED_ROWS_MAX + 1)
            except sqlite3.Error:
                return None
        columns = tuple(ResultColumn(name=str(column[0])) for column in cursor.description or ())
        kept = [tuple(row) for row in rows[:COMPARED_ROWS_MAX]]
        return Rows(columns, kept, len(rows) > COMPARED_ROWS_MAX, cut_bytes=False, duration_ms=0.0, row_count=len(kept))


def judged(databases: Databases, first: Mapping[str, Any], second: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what became of one question: whether it was right before and after, and what a second draft said."""
    name, question = first["db_id"], first["question"]
    before = bool(first["ex_colperm"])
    found = databases.run(name, first["pred"])
    # What has to be repaired is drafted again anyhow.
    doubts = doubts_of(first["pred"], question, databases.indexes[name]) - {DraftDoubt.UNKNOWN_NAME}
    row = {"database": name, "before": before, "after": before, "if_shown": before, "asked": bool(doubts)}
    row |= {"state": "not asked", "doubts": sorted(doubt.value for doubt in doubts)}
    if second is None or found is None:
        return row
    other = databases.run(name, second["pred"])
    if not doubts:
        # An empty result by itself is no doubt: what would come of showing a second one that found something.
        would_show = other is not None and agreement_of(found, other, may_replace=True) is Agreement.REPLACED
        return row | {"if_shown": bool(second["ex_colperm"]) if would_show else before}
    if other is None:
        return row | {"state": "second does not run"}
    is_doubtful = bool(doubts_of(second["pred"], question, databases.indexes[name]))
    agreement = agreement_of(found, other, may_replace=DraftDoubt.ABSENT_VALUE in doubts and not is_doubtful)
    is_slip = DraftDoubt.UNDECLARED_JOIN in doubts and not is_doubtful
    if agreement is Agreement.DIFFERENT and is_slip and not finds_nothing(other.rows):
        agreement = Agreement.REPLACED
    after = bool(second["ex_colperm"]) if agreement is Agreement.REPLACED else before
    return row | {"state": agreement.value, "after": after, "if_shown": after}


def judged_beside(databases: Databases, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what became of a model's answer beside the translator's reading; None where it is not approved as it is."""
    name, before = row["db_id"], bool(row["ex_colperm"])
    catalog = databases.catalogs[name]
    checked = check(row["pred"], dialect=catalog.dialect, catalog=catalog, policy=POLICY, row_limit=POLICY.rows_max)
    if isinstance(checked, Failure) or databases.run(name, checked.sql) is None:
        return None
    beside = read_beside(
        row["question"],
        catalog,
        checked.sql,
        lambda sql: databases.run(name, sql),
        origin=Origin.MODEL,
        doubts=lambda sql: sorted(doubts_of(sql, row["question"], databases.indexes[name])),
    )
    after, expected, got = before, databases.run(name, row["gold"]), databases.run(name, beside.shown)
    if beside.shown != checked.sql and expected is not None and got is not None:
        after = matches(list(expected.rows), list(got.rows), ordered=is_ordered(row["gold"]))
    analysis = Analysis(
        agreement=Agreement(beside.state) if beside.state in list(Agreement) else None,
        second_reading="read" if beside.state in list(Agreement) else "",
        doubts=tuple(sorted(doubts_of(row["pred"], row["question"], databases.indexes[name]))),
    )
    found = databases.run(name, checked.sql)
    facts = facts_of_draft(analysis, checked.sql, found.rows[:FIRST_ROWS] if found is not None else ())
    return {"database": name, "state": beside.state, "before": before, "after": after, "facts": facts}


def figures_beside(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    by_state: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        by_state[row["state"]].append(row["after"])
    # What is shown as the translator reads it is stated as its.
    own = [row for row in rows if row["state"] != Agreement.REPLACED.value]
    answered = [Answered(row["facts"], row["before"], row["database"]) for row in own]
    return {
        "questions": len(rows),
        "right_before": round(sum(row["before"] for row in rows) / len(rows), 4),
        "right_after": round(sum(row["after"] for row in rows) / len(rows), 4),
        "fixed": sum(row["after"] and not row["before"] for row in rows),
        "broken": sum(row["before"] and not row["after"] for row in rows),
        "right_by_state": _shares(by_state),
        "stated_apart": answers_apart(answered),
        "weights": {name: round(weight, 2) for name, weight in draft_weights(answered).items()},
    }


def figures_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    count = len(rows)
    by_state: dict[str, list[bool]] = defaultdict(list)
    by_doubt: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        by_state[row["state"]].append(row["after"])
        for doubt in row["doubts"] or ("none",):
            by_doubt[doubt].append(row["before"])
    return {
        "questions": count,
        "extra_calls": round(sum(row["asked"] for row in rows) / count, 3),
        "right_before": round(sum(row["before"] for row in rows) / count, 4),
        "right_after": round(sum(row["after"] for row in rows) / count, 4),
        "fixed": sum(row["after"] and not row["before"] for row in rows),
        "broken": sum(row["before"] and not row["after"] for row in rows),
        "were_empty_ones_replaced": {
            "fixed": sum(row["if_shown"] and not row["after"] for row in rows),
            "broken": sum(row["after"] and not row["if_shown"] for row in rows),
        },
        "right_by_state": _shares(by_state),
        "first_right_by_doubt": _shares(by_doubt),
    }


def _shares(groups: Mapping[str, Sequence[bool]]) -> dict[str, tuple[float, int]]:
    return {name: (round(sum(values) / len(values), 2), len(values)) for name, values in sorted(groups.items())}


def main() -> int:
    default = Path(os.environ.get("QUERYBUS_DATA", ROOT.parent / "shared" / "data")) / "spider"
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=default, help="a folder laid out as Spider's, with `replay`")
    options.add_argument("--strict", action="store_true", help="a missed target is an error")
    chosen = options.parse_args()
    if not (chosen.data / "replay").is_dir():
        print(f"skipped: {chosen.data / 'replay'} is not there; --data names another folder laid out as Spider's")
        return 0
    databases = Databases(chosen.data / "databases")
    models = {
        path.stem: {
            (row["db_id"], row["question"]): row
            for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
        }
        for path in sorted((chosen.data / "replay").glob("*.jsonl"))
    }
    besides = {
        model: [found for row in answers.values() if (found := judged_beside(databases, row)) is not None]
        for model, answers in models.items()
    }
    read: dict[str, Any] = {f"{model}, and the translator": figures_beside(rows) for model, rows in besides.items()}
    read["all models, and the translator"] = figures_beside([row for rows in besides.values() for row in rows])
    for name, values in read.items():
        print(name, values)
    figures: dict[str, Any] = {}
    everything: list[dict[str, Any]] = []
    for first, answers in models.items():
        for second, others in models.items():
            if first == second:
                continue
            rows = [
                judged(databases, row, others.get(key))
                for key, row in answers.items()
                if row["db_id"] in databases.catalogs
            ]
            everything += rows
            figures[f"{first}, then {second}"] = figures_of(rows)
    names = sorted({row["database"] for row in everything})
    for number in (0, 1):
        fold = set(names[number::2])
        figures[f"all pairs, databases {number + 1} of 2"] = figures_of(
            [row for row in everything if row["database"] in fold]
        )
    for name, values in figures.items():
        print(name, values)
    broken = sum(values["broken"] for values in (*figures.values(), *read.values()))
    calls = max(values["extra_calls"] for values in figures.values())
    stated = read["all models, and the translator"]["stated_apart"]
    short = [*(["broken"] if broken else []), *(["extra_calls"] if calls > CALLS_MAX else [])]
    short += [*(["error"] if stated["error"] > ERROR_MAX else []), *(["area"] if stated["area"] < AREA_MIN else [])]
    print("met" if not short else f"NOT MET: {', '.join(short)}")
    path = ROOT / "build" / "bench" / "drafts.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = {"cpus": os.cpu_count(), "python": platform.python_version()}
    states = Counter(row["state"] for row in everything)
    report = {"name": "drafts", "figures": {**read, **figures}, "states": states, "met": not short, "machine": machine}
    path.write_text(json.dumps(report, ensure_ascii=False, indent=1), encoding="utf-8")
    return 1 if chosen.strict and short else 0


if __name__ == "__main__":
    sys.exit(main())
