"""Measures recovery's rules on answers that really failed: how many run, how many are right, what was harmed.

Every answer goes the way of production in one process: the validator's check with the engine's EXPLAIN behind it, the
recovery verb without a model, and each repair back as a draft, up to its limits. Some databases and one model were left
out while rules were developed; they are reported apart. `--mutants` measures broken reference statements instead.
Last come failing statements of our own (`questions/failing.txt`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import platform
import random
import sqlite3
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, cast

from failing_statements import failing_statements, write_databases
from mutators import CLASSES, LOSSY, mutants
from second_readings import Repaired, moves, read_beside, stated_apart

from querybus.core.catalog import Catalog, Dialect
from querybus.core.envelope import Delivery, Envelope, drafted, failed
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import (
    Draft,
    Drafted,
    Failed,
    Origin,
    ResultColumn,
)
from querybus.core.policy import Connection, ConnectionPolicy
from querybus.core.subjects import EventName, StageName
from querybus.sql.check import check_in_doubt
from querybus.text.rows.execution_match import is_ordered, matches
from querybus_cli.evaluation.sqlite_rows import open_read_only, rows_of
from querybus_executor.engines.sqlite.errors import sqlite_failure
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from querybus_executor.ports import Rows
from querybus_executor.results.second_draft import COMPARED_ROWS_MAX
from querybus_presenter.confidence import facts_of_rows
from querybus_recovery.guidance import load_guidance
from querybus_recovery.recover import recover
from querybus_recovery.rules import pipeline
from querybus_recovery.rules.candidate import Candidate, Repair, Rule
from querybus_recovery.rules.confidence import INTERCEPT, SLOPE, doubt_of

ROOT = Path(__file__).resolve().parents[1]
HELD_MODELS = ("c3sql-chatgpt",)
HELD_DATABASES = ("student_transcripts_tracking", "museum_visit")
ROWS_MAX = 100_000
SABOTAGED_SHARE = 0.05
SEED = 7
MUTANTS_PER_CLASS = 200
REQUIRED = {
    "executes_share": 0.92, "right_share": 0.55, "changed": 0, "p50_ms": 5.0, "p99_ms": 100.0,
    "mutant_right_share": 0.85, "mutant_wrong_share": 0.02, "own_right_share": 0.9,
}  # fmt: skip
POLICY = ConnectionPolicy(rows_max=ROWS_MAX)
GUIDANCE = load_guidance()


class Place:
    """One database: its file, its catalog, and the ports of the verbs."""

    def __init__(self, path: Path, catalog: Catalog | None = None) -> None:
        self.path = path
        self.opened = open_read_only(path)
        self.catalog = catalog or open_sqlite_catalog(path)

    async def read(self, connection: str) -> Catalog | None:  # noqa: ARG002 - the port's shape
        return self.catalog

    async def get(self, name: str) -> Connection | None:
        return Connection(name=name, dialect=Dialect.SQLITE, policy=POLICY)

    def validate(self, sql: str) -> Failure | str:
        """What the validator does: static check, then the engine, whose word counts for names."""
        static = check_in_doubt(sql, dialect=Dialect.SQLITE, catalog=self.catalog, policy=POLICY, row_limit=ROWS_MAX)
        if isinstance(static, Failure):
            return static
        try:
            self.opened.execute(f"EXPLAIN {static.sql}").fetchall()
        except sqlite3.Error as error:
            said = sqlite_failure(
                getattr(error, "sqlite_errorcode", 1), getattr(error, "sqlite_errorname", ""), str(error), static.sql
            )
            names = (FailureCode.COLUMN_NOT_FOUND, FailureCode.MISSING_ALIAS, FailureCode.AMBIGUOUS_COLUMN)
            if static.doubt is None or said.code not in (static.doubt.code, *names):
                return said
            return static.doubt
        return static.sql


@dataclass
class Tried:
    """What became of one statement."""

    sql: str
    runs: bool = False
    right: bool = False
    mended: bool = False
    first: FailureCode | None = None
    rules: tuple[str, ...] = ()
    drafts: list[str] = field(default_factory=list[str])
    confidence: float | None = None
    doubt: float | None = None
    facts: tuple[str, ...] = ()
    milliseconds: list[float] = field(default_factory=list[float])


async def go(place: Place, question: str, sql: str) -> Tried:
    """Send one draft around: validator, recovery, validator, ... until it is approved or concluded."""
    now = 0
    tried = Tried(sql)
    start = Envelope[Failed].model_construct(
        event=EventName.FAILED, query_id="q", thread_id="t", tenant="bench", user="bench", audience="analyst",
        connection="db", question=question, language="en", asked_at=now, deadline_at=60_000,
        body=Failed(code=FailureCode.INTERNAL, stage=StageName.VALIDATOR),
    )  # fmt: skip
    envelope = drafted(start, Drafted(draft=Draft(sql=sql, dialect=Dialect.SQLITE, origin=Origin.BUILTIN)))
    received: list[Repair] = []
    while True:
        draft = envelope.body.draft
        result = place.validate(draft.sql)
        if isinstance(result, str):
            rows = rows_of(place.opened, result)
            if not isinstance(rows, sqlite3.Error):
                tried.runs, tried.sql = True, result
                tried.confidence = envelope.body.analysis.confidence
                doubts = [doubt for item in received if (doubt := doubt_of(item)) is not None]
                tried.doubt, tried.facts = sum(doubts) if doubts else None, facts_of_rows(rows)
                return tried
            result = sqlite_failure(
                getattr(rows, "sqlite_errorcode", 1), getattr(rows, "sqlite_errorname", ""), str(rows), result
            )
        if tried.first is None:
            tried.first = result.code
        began = time.process_time()
        after = await recover(
            failed(envelope, result, StageName.VALIDATOR), Delivery(sequence=1, deliveries=1, now_ms=now),
            catalogs=place, connections=place, guidance=GUIDANCE, on_repair=received.append,
        )  # fmt: skip
        tried.milliseconds.append((time.process_time() - began) * 1_000)
        if not isinstance(after.body, Drafted):
            tried.sql = draft.sql
            return tried
        tried.mended = True
        tried.drafts.append(after.body.draft.sql)
        tried.rules = tuple(step.rule.value for item in received for step in item.steps)
        envelope = cast("Envelope[Drafted]", after)


def score(place: Place, tried: Tried, gold: str) -> None:
    tried.right = tried.runs and is_right(place, tried.sql, gold)


def is_right(place: Place, sql: str, gold: str) -> bool:
    expected, got = rows_of(place.opened, gold), rows_of(place.opened, sql)
    if not isinstance(expected, list) or not isinstance(got, list):
        return False
    return matches(expected, got, ordered=is_ordered(gold))


def beside_reading(place: Place, question: str, tried: Tried, gold: str) -> tuple[str, bool]:
    """Return how a repaired statement stands to the translator's reading, and whether what is answered with then is right."""

    def run(sql: str) -> Rows | None:
        rows = rows_of(place.opened, sql)
        if isinstance(rows, sqlite3.Error):
            return None
        columns = tuple(ResultColumn(name=str(number)) for number in range(len(rows[0]) if rows else 0))
        kept = rows[:COMPARED_ROWS_MAX]
        return Rows(columns, kept, len(rows) > len(kept), cut_bytes=False, duration_ms=0.0, row_count=len(kept))

    if not tried.runs:
        return "left", False
    found = read_beside(question, place.catalog, tried.sql, run, origin=Origin.RULE)
    return found.state, is_right(place, found.shown, gold)


@dataclass
class Part:
    """What was counted for one part of the failing answers."""

    failing: int = 0
    executes: int = 0
    right: int = 0

    def add(self, tried: Tried) -> None:
        self.failing += 1
        self.executes += tried.runs
        self.right += tried.right

    def figures(self) -> dict[str, Any]:
        of = max(1, self.failing)
        return {
            "failing": self.failing, "executes": self.executes, "right": self.right,
            "executes_share": round(self.executes / of, 4), "right_share": round(self.right / of, 4),
        }  # fmt: skip


def percentile(times: Sequence[float], share: float) -> float:
    ordered = sorted(times) or [0.0]
    return round(ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)], 2)


def reliability(tried: Iterable[Tried]) -> list[dict[str, Any]]:
    """Stated confidence against the share that is right, by tenths; answers with none stated are left out."""
    buckets: dict[int, list[Tried]] = defaultdict(list)
    for item in tried:
        if item.runs and item.mended and item.confidence is not None:
            buckets[min(9, int(item.confidence * 10))].append(item)
    return [
        {
            "from": tenth / 10, "answers": len(result),
            "stated": round(sum(e.confidence or 0.0 for e in result) / len(result), 3),
            "right": round(sum(item.right for item in result) / len(result), 3),
        }
        for tenth, result in sorted(buckets.items())
    ]  # fmt: skip


def sabotaged(catalog: Catalog, chance: random.Random) -> Catalog:
    """The catalog without a share of its columns, so that it disagrees with the engine."""
    return catalog.model_copy(
        update={
            "tables": tuple(
                table.model_copy(
                    update={
                        "columns": tuple(c for c in table.columns if chance.random() >= SABOTAGED_SHARE)
                        or table.columns[:1]
                    }
                )
                for table in catalog.tables
            )
        }
    )


def counting(proposed: Counter[str]) -> None:
    """Have every rule counted once per failed statement that it proposes anything for."""

    def counted(rule: Rule) -> Rule:
        def propose(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
            result = rule(draft, failure, catalog)
            proposed.update({item.rule.value for item in result})
            return result

        return propose

    setattr(pipeline, "RULES", tuple(counted(rule) for rule in pipeline.RULES))  # noqa: B010 - it is Final elsewhere


def places(folder: Path, names: Iterable[str]) -> dict[str, Place]:
    return {name: Place(folder / f"{name}.sqlite") for name in sorted(set(names))}


async def measure_replay(data: Path, *, harm: bool, only: str | None, lines: list[dict[str, Any]]) -> dict[str, Any]:
    rows = [
        {**json.loads(line), "model": path.stem}
        for path in sorted((data / "replay").glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    known = places(data / "databases", (row["db_id"] for row in rows))
    parts: dict[str, dict[str, Part]] = {name: defaultdict(Part) for name in ("part", "model", "database", "class")}
    rules: dict[str, Counter[str]] = defaultdict(Counter)
    times: list[float] = []
    every: list[tuple[Tried, bool]] = []
    known_states: list[Repaired] = []
    beside: dict[str, Counter[str]] = defaultdict(Counter)
    proposed: Counter[str] = Counter()
    plain = pipeline.RULES
    counting(proposed)
    for row in rows:
        place = known[row["db_id"]]
        if isinstance(rows_of(place.opened, row["pred"]), list):
            continue
        held = row["model"] in HELD_MODELS or row["db_id"] in HELD_DATABASES
        if only is not None and only != ("held" if held else "developed"):
            continue
        tried = await go(place, row["question"], row["pred"])
        score(place, tried, row["gold"])
        every.append((tried, held))
        state, is_right_beside = beside_reading(place, row["question"], tried, row["gold"])
        for part in ("all", "held" if held else "developed"):
            beside[part].update({"failing": 1, "right": is_right_beside})
        beside[state].update({"failing": 1, "right": is_right_beside, "repair right": tried.right})
        if tried.runs and tried.doubt is not None:
            known_states.append(Repaired(tried.doubt, tried.facts, state, tried.right, row["db_id"]))
        times += tried.milliseconds
        for item in (
            parts["part"]["all"], parts["part"]["held" if held else "developed"], parts["model"][row["model"]],
            parts["database"][row["db_id"]], parts["class"][tried.first or "runs"],
        ):  # fmt: skip
            item.add(tried)
        for rule in dict.fromkeys(tried.rules):
            rules[rule].update(accepted=1, right=int(tried.right), wrong=int(not tried.right))
        lines.append(
            {
                "model": row["model"], "db_id": row["db_id"], "held": held, "first": tried.first, "runs": tried.runs,
                "right": tried.right, "rules": tried.rules, "confidence": tried.confidence,
                "question": row["question"], "pred": row["pred"], "sql": tried.sql, "gold": row["gold"],
                "drafts": tried.drafts, "ms": tried.milliseconds,
            }
        )  # fmt: skip
    figures: dict[str, Any] = {
        by: {name: part.figures() for name, part in sorted(result.items())} for by, result in parts.items()
    }
    setattr(pipeline, "RULES", plain)  # noqa: B010
    figures["rules"] = {
        name: {"tried": proposed[name], "accepted": 0, "right": 0, "wrong": 0, **rules.get(name, {})}
        for name in sorted(proposed)
    }
    figures["apart"] = stated_apart(known_states)
    figures["beside"] = {name: dict(counts) for name, counts in beside.items()}
    figures["moves"] = moves(known_states, {"constant": INTERCEPT, "doubt": SLOPE})
    figures["reliability"] = {
        part: reliability(item for item, is_held in every if part == "all" or is_held) for part in ("all", "held")
    }
    figures["times"] = {"p50_ms": round(median(times or [0.0]), 2), "p99_ms": percentile(times, 0.99)}
    if harm:
        figures["harm"] = await measure_harm(rows, known)
    return figures


async def measure_harm(rows: list[dict[str, Any]], known: dict[str, Place]) -> dict[str, int]:
    """Every executing answer, as it is and with a sabotaged catalog: how many were changed. Must be none."""
    counts = {"running": 0, "changed": 0, "sabotaged": 0, "changed_when_sabotaged": 0}
    chance = random.Random(SEED)
    seen: set[tuple[str, str]] = set()
    for row in rows:
        place = known[row["db_id"]]
        if (row["db_id"], row["pred"]) in seen or isinstance(rows_of(place.opened, row["pred"]), sqlite3.Error):
            continue
        seen.add((row["db_id"], row["pred"]))
        counts["running"] += 1
        counts["changed"] += (await go(place, row["question"], row["pred"])).mended
        counts["sabotaged"] += 1
        broken = Place(place.path, sabotaged(place.catalog, chance))
        counts["changed_when_sabotaged"] += (await go(broken, row["question"], row["pred"])).mended
        broken.opened.close()
    return counts


async def measure_mutants(
    data: Path, per_class: int, given: Path | None, lines: list[dict[str, Any]]
) -> dict[str, Any]:
    questions = json.loads((data / "questions_train.json").read_text("utf-8"))
    folder = data / "train_databases"
    if given is not None:
        made = [json.loads(line) for line in given.read_text("utf-8").splitlines()]
    else:
        made = list(mutants(questions, folder, per_class=per_class, seed=SEED))
    # Foreign mutants may be of any of the databases.
    names = {str(item["db_id"]) for item in made}
    training = {name for name in names if (folder / f"{name}.sqlite").is_file()}
    known = places(folder, training) | places(data / "databases", names - training)
    counts: dict[str, Counter[str]] = {name: Counter() for name in (CLASSES if given is None else ())}
    times: list[float] = []
    for item in made:
        place = known[item["db_id"]]
        tried = await go(place, item.get("question", ""), item.get("sql") or item["pred"])
        score(place, tried, item["gold"])
        times += tried.milliseconds
        state = "right" if tried.right else "wrong" if tried.runs else "left"
        counts.setdefault(item["class"], Counter()).update((state, "mutants"))
        if state != "right":
            lines.append({**item, "state": state, "mended": tried.sql, "rules": tried.rules, "first": tried.first})
    return {
        "classes": {
            name: {
                **result,
                "right_share": round(result["right"] / max(1, result["mutants"]), 4),
                "wrong_share": round(result["wrong"] / max(1, result["mutants"]), 4),
            }
            for name, result in counts.items()
        },
        "times": {"p50_ms": round(median(times or [0.0]), 2), "p99_ms": percentile(times, 0.99)},
    }


async def measure_own(lines: list[dict[str, Any]]) -> dict[str, Any]:
    part = Part()
    with TemporaryDirectory() as made:
        write_databases(Path(made))
        known = places(Path(made), (item.database for item in failing_statements()))
        for item in failing_statements():
            place = known[item.database]
            score(place, tried := await go(place, item.question, item.sql), item.reference)
            part.add(tried)
            lines.append({**asdict(item), "right": tried.right, "mended": tried.sql, "rules": tried.rules})
        for place in known.values():
            place.opened.close()
    return part.figures()


def show_replay(figures: dict[str, Any]) -> None:
    for by in ("part", "model", "database", "class"):
        for name, figure in figures[by].items():
            print(
                f"{by:9} {name:32} {figure['failing']:4} failing  {figure['executes']:4} run {figure['executes_share']:6.1%}"
                f"  {figure['right']:4} right {figure['right_share']:6.1%}"
            )
    for name, rule in figures["rules"].items():
        print(
            f"rule      {name:32} {rule['tried']:4} tried  {rule['accepted']:4} accepted"
            f"  {rule['right']:4} right  {rule['wrong']:4} wrong"
        )
    for part, result in figures["reliability"].items():
        for item in result:
            print(
                f"stated    {part:32} {item['stated']:.2f}  right {item['right']:.2f}  of {item['answers']} mended answers"
            )
        answers = sum(item["answers"] for item in result)
        off = sum(abs(item["stated"] - item["right"]) * item["answers"] for item in result) / max(1, answers)
        print(f"stated    {part:32} is off by {off:.2f} on average over {answers} mended answers")
    for name, result in figures["apart"].items():
        print(
            f"fitted    without its database, {name:16}  off by {result['error']:.3f}, {result['by_chance']:.3f} by chance alone,"
            f" area under the curve {result['area']:.3f}, of {result['answers']}"
        )
    for name, counts in figures["beside"].items():
        print(f"beside a reading, {name:24} {counts['failing']:4} failing  {counts['right']:4} right", end="")
        print(f"  {counts['repair right']:4} by repair" if "repair right" in counts else "")
    print(f"what a reading adds to the log odds of a repair: {figures['moves']}")
    print(f"a repair takes p50 {figures['times']['p50_ms']} ms, p99 {figures['times']['p99_ms']} ms")
    if "harm" in figures:
        harm = figures["harm"]
        print(
            f"{harm['running']} running answers: {harm['changed']} changed; with a sabotaged catalog"
            f" {harm['changed_when_sabotaged']} of {harm['sabotaged']} changed"
        )


def show_mutants(figures: dict[str, Any]) -> None:
    for name, class_ in figures["classes"].items():
        print(
            f"mutants   {name:32} {class_.get('mutants', 0):4} made  right {class_['right_share']:6.1%}"
            f"  wrong {class_['wrong_share']:6.1%}  left {class_.get('left', 0):4}"
        )


def is_met(replay: dict[str, Any] | None, made: dict[str, Any] | None, own: dict[str, Any] | None) -> bool:
    if own is not None and own["right_share"] < REQUIRED["own_right_share"]:
        return False
    if replay is not None:
        every = replay["part"]["all"]
        harm = replay.get("harm", {"changed": 0, "changed_when_sabotaged": 0})
        if (
            every["executes_share"] < REQUIRED["executes_share"] or every["right_share"] < REQUIRED["right_share"]
            or harm["changed"] or harm["changed_when_sabotaged"]
            or replay["times"]["p50_ms"] >= REQUIRED["p50_ms"] or replay["times"]["p99_ms"] >= REQUIRED["p99_ms"]
        ):  # fmt: skip
            return False
    return made is None or all(
        class_["right_share"] >= REQUIRED["mutant_right_share"]
        and class_["wrong_share"] < REQUIRED["mutant_wrong_share"]
        for name, class_ in made["classes"].items()
        if name not in LOSSY
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path(os.environ.get("QUERYBUS_DATA", ROOT.parent / "shared" / "data")) / "spider"
    parser.add_argument("--data", type=Path, default=default, help="folder laid out as Spider's, with replay/")
    parser.add_argument("--what", choices=("replay", "mutants", "own", "all"), default="all")
    parser.add_argument("--only", choices=("developed", "held"), help="only this part of the failing answers")
    parser.add_argument("--no-harm-check", action="store_true", help="leave the running answers out")
    parser.add_argument("--per-class", type=int, default=MUTANTS_PER_CLASS, help="mutants of each class")
    parser.add_argument("--mutants", type=Path, help="mutants of your own: db_id, class, sql, gold, one object a line")
    parser.add_argument("--items-out", type=Path, help="write every item to this file, one JSON object a line")
    given = parser.parse_args(arguments)
    if not given.data.is_dir():
        print(f"no data at {given.data}: nothing measured; name a folder with --data")
        return 2
    lines: list[dict[str, Any]] = []
    replay = made = own = None
    if given.what in ("replay", "all"):
        replay = asyncio.run(measure_replay(given.data, harm=not given.no_harm_check, only=given.only, lines=lines))
        show_replay(replay)
    if given.what in ("mutants", "all"):
        made = asyncio.run(measure_mutants(given.data, given.per_class, given.mutants, lines))
        show_mutants(made)
    if given.what in ("own", "all"):
        own = asyncio.run(measure_own(lines))
        print(
            f"own       {own['failing']} failing  {own['executes']} run  {own['right']} right {own['right_share']:.1%}"
        )
    met = is_met(replay, made, own)
    target = ROOT / "build" / "bench" / "recovery.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    machine = {"system": platform.platform(), "cores": os.cpu_count(), "python": platform.python_version()}
    report = {
        "name": "recovery", "figures": {"replay": replay, "mutants": made, "own": own}, "required": REQUIRED, "met": met,
        "held_out": {"models": HELD_MODELS, "databases": HELD_DATABASES}, "machine": machine,
    }  # fmt: skip
    target.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    if given.items_out is not None:
        given.items_out.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    print(f"required: {'met' if met else 'NOT met'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
