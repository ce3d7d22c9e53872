"""Measures what further drafts come to, for each `effort`: the translator's reading beside published answers of models, and other models'.

Each model's answer that runs is the first draft. Where the executor's own comparison finds it undecided, another model's answer is the
next draft, which is an upper bound of what a model's own second prompt brings. Right is the execution match, columns permuted. The
confidences that answers carry are compared with how often they were right, per fold of databases.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from second_readings import TODAY, Answered, answers_apart, draft_weights

from querybus.core.envelope import Envelope
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Alternative, Analysis, Approved, Origin, Result, ResultColumn
from querybus.core.options import Agreement, Effort, Options
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import check
from querybus.sql.render import is_same_query
from querybus.text.rows.execution_match import is_ordered, matches
from querybus.text.synonyms import link_words
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from querybus_executor.ports import Rows
from querybus_executor.results.second_draft import COMPARED_ROWS_MAX, compared
from querybus_generator.linking.index import LinkIndex
from querybus_generator.reply.doubts import DraftDoubt, doubts_of
from querybus_presenter.confidence import facts_of_draft
from querybus_translator import Translated, translate

ROOT: Final = Path(__file__).resolve().parents[1]
STEPS_MAX: Final = 20_000_000
POLICY: Final = ConnectionPolicy()
CALLS_MAX: Final = {Effort.QUICK: 1.0, Effort.STANDARD: 1.5, Effort.THOROUGH: 1.7}
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


class Place:
    """One database as the executor's comparison sees it."""

    def __init__(self, databases: Databases, name: str) -> None:
        self._databases, self._name = databases, name

    async def run(self, sql: str, **_: object) -> Rows | Failure:
        """Return the rows of a statement."""
        rows = self._databases.run(self._name, sql)
        return Failure.of(FailureCode.SYNTAX_ERROR, "does not run") if rows is None else rows


def checked_of(databases: Databases, name: str, sql: str) -> Alternative | None:
    """Return a draft as it may run; None where it may not, or does not."""
    catalog = databases.catalogs[name]
    checked = check(sql, dialect=catalog.dialect, catalog=catalog, policy=POLICY, row_limit=POLICY.rows_max)
    if isinstance(checked, Failure) or databases.run(name, checked.sql) is None:
        return None
    return Alternative(draft=sql, sql=checked.sql)


def first_approved(databases: Databases, row: Mapping[str, Any]) -> Approved | None:
    """Return a model's answer beside the translator's reading, as it is approved; None where it is not."""
    name, question = row["db_id"], row["question"]
    catalog, index = databases.catalogs[name], databases.indexes[name]
    first = checked_of(databases, name, row["pred"])
    if first is None:
        return None
    reading = translate(question, catalog, today=TODAY)
    doubts = sorted(doubts_of(first.draft, question, index))
    said: dict[str, Any] = {"second_reading": ""}
    alternative = None
    if isinstance(reading, Translated) and not reading.left_out:
        said = {"second_reading": reading.in_words, "second_confidence": reading.confidence}
        if is_same_query(reading.sql, first.draft, catalog.dialect):
            said["agreement"] = Agreement.SAME_STATEMENT
        else:
            alternative = checked_of(databases, name, reading.sql)
            if DraftDoubt.UNDECLARED_JOIN in doubts and doubts_of(reading.sql, question, index):
                doubts.append(DraftDoubt.SECOND_DOUBTFUL)
    return Approved(
        sql=first.sql,
        dialect=catalog.dialect,
        origin=Origin.MODEL,
        tables=(),
        alternative=alternative,
        row_limit=POLICY.rows_max,
        checked=("static",),
        analysis=Analysis(doubts=tuple(doubts), **said),
    )


async def voted(
    databases: Databases, row: Mapping[str, Any], body: Approved, others: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return what became of one question whose further drafts are `others`, in their order, asked for as the executor asks."""
    name, before, calls = row["db_id"], bool(row["ex_colperm"]), 1
    catalog, index = databases.catalogs[name], databases.indexes[name]
    found = databases.run(name, body.sql)
    assert found is not None
    result = Result(columns=found.columns, rows=tuple(map(tuple, found.rows[:FIRST_ROWS])), row_count=found.row_count)
    while True:
        envelope = Envelope[Approved].model_construct(options=Options(), body=body)
        place: Any = Place(databases, name)
        seen = await compared(envelope, found, result, place, catalog, lambda _: None, 60.0)
        if not seen.is_undecided or calls > len(others):
            break
        further = checked_of(databases, name, others[calls - 1]["pred"])
        calls += 1
        if further is None:
            continue
        analysis = body.analysis
        if body.alternative is None and not analysis.second_reading:
            if doubts_of(further.draft, row["question"], index):
                analysis = analysis.model_copy(update={"doubts": (*analysis.doubts, DraftDoubt.SECOND_DOUBTFUL)})
            body = body.model_copy(update={"alternative": further, "analysis": analysis})
        else:
            body = body.model_copy(update={"votes": (*body.votes, further)})
    after, expected, got = before, databases.run(name, row["gold"]), databases.run(name, seen.body.sql)
    if seen.body.sql != body.sql and expected is not None and got is not None:
        after = matches(list(expected.rows), list(got.rows), ordered=is_ordered(row["gold"]))
    analysis, state = seen.body.analysis, "undoubted"
    if analysis.agreement is not None:
        state = analysis.agreement.value
        if analysis.votes:
            state += ", seconded" if Agreement.EQUAL in analysis.votes else ", voted on"
    facts = facts_of_draft(analysis, seen.body.sql, (got or found).rows[:FIRST_ROWS])
    return {"database": name, "before": before, "after": after, "calls": calls, "state": state, "facts": facts}


def figures_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what became of questions, and how well confidences fit that are fitted on all databases but one."""
    by_state: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        by_state[row["state"]].append(row["after"])
    # What is shown in the place of the first without a vote states the share of its kind.
    own = [Answered(row["facts"], row["after"], row["database"]) for row in rows if row["state"] != "replaced"]
    return {
        "questions": len(rows),
        "calls": round(sum(row["calls"] for row in rows) / len(rows), 3),
        "right_before": round(sum(row["before"] for row in rows) / len(rows), 4),
        "right_after": round(sum(row["after"] for row in rows) / len(rows), 4),
        "fixed": sum(row["after"] and not row["before"] for row in rows),
        "broken": sum(row["before"] and not row["after"] for row in rows),
        "right_by_state": _shares(by_state),
        "stated_apart": answers_apart(own),
        "weights": {name: round(weight, 2) for name, weight in draft_weights(own).items()},
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
            if row["db_id"] in databases.catalogs
        }
        for path in sorted((chosen.data / "replay").glob("*.jsonl"))
    }
    firsts = {
        model: {key: body for key, row in answers.items() if (body := first_approved(databases, row)) is not None}
        for model, answers in models.items()
    }
    figures: dict[str, Any] = {}
    for effort in Effort:
        whole: list[dict[str, Any]] = []
        for model, answers in models.items():
            rows = asyncio.run(asked_with(databases, effort, model, models, firsts[model], answers))
            figures[f"{effort.value}, {model}"] = figures_of(rows)
            whole += rows
        figures[f"{effort.value}, all models"] = figures_of(whole)
    for name, values in figures.items():
        print(name, values)
    short = missed(figures)
    print("met" if not short else f"NOT MET: {', '.join(short)}")
    path = ROOT / "build" / "bench" / "drafts.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = {"cpus": os.cpu_count(), "python": platform.python_version()}
    report = {"name": "drafts", "figures": figures, "met": not short, "machine": machine}
    path.write_text(json.dumps(report, ensure_ascii=False, indent=1), encoding="utf-8")
    return 1 if chosen.strict and short else 0


async def asked_with(
    databases: Databases,
    effort: Effort,
    model: str,
    models: Mapping[str, Mapping[tuple[str, str], Mapping[str, Any]]],
    firsts: Mapping[tuple[str, str], Approved],
    answers: Mapping[tuple[str, str], Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return what became of a model's questions; each other model's answer is its further draft once, behind it the next one's."""
    names = [name for name in models if name != model]
    rows: list[dict[str, Any]] = []
    for turn in range(len(names) if effort is not Effort.QUICK else 1):
        order = (names[turn:] + names[:turn])[: effort.drafts_max - 1]
        for key, body in firsts.items():
            others = [models[name][key] for name in order if key in models[name]]
            if len(others) == len(order):
                rows.append(await voted(databases, answers[key], body, others))
    return rows


def missed(figures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the targets that are missed: more lost than won, too many calls, confidences that do not fit."""
    short = [f"lost, {name}" for name, values in figures.items() if values["broken"] > values["fixed"]]
    for name, values in figures.items():
        effort = Effort(name.partition(",")[0])
        short += [f"calls, {name}"] if values["calls"] > CALLS_MAX[effort] else []
    stated = figures[f"{Effort.STANDARD.value}, all models"]["stated_apart"]
    return short + (["error"] if stated["error"] > ERROR_MAX else []) + (["area"] if stated["area"] < AREA_MIN else [])


if __name__ == "__main__":
    sys.exit(main())
