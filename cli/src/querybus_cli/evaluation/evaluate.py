"""Questions with known answers through the stages of a query: what was right, fixed and broken, one result at a time.

`replay` takes an item's `pred` as all that a model ever says; `builtin` translates the question; any other name is asked of
the model at QUERYBUS_LLM_BASE_URL, with its retries. Rows are compared with the reference's as Spider's readers do,
columns may be permuted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from querybus.core.options import Effort, Mode, RepairPolicy
from querybus.core.subjects import StageName
from querybus.llm import ModelClient, open_model
from querybus.ops.metrics import Metrics
from querybus.ops.settings import load
from querybus_cli.evaluation.asking import CRASHED, Asker, Asking, Judged, Place, Stages, ThreadSoFar
from querybus_cli.evaluation.items import Item, Thread, read_objects
from querybus_cli.evaluation.models import Counted, Recorded
from querybus_cli.evaluation.statistics import paired_p, percentiles, share_interval
from querybus_executor.engines.sqlite.edge import sqlite_children
from querybus_generator.generate import BUILTIN
from querybus_generator.settings import Settings

REPLAY: Final = "replay"
FAILURES_SHOWN_MAX: Final = 5


async def evaluate(
    threads: Sequence[Thread],
    databases: Path,
    model: str,
    *,
    policy: RepairPolicy | None = None,
    mode: Mode = Mode.DATABASE,
    cross_check: bool = True,
    effort: Effort = Effort.STANDARD,
    stages: Stages | None = None,
) -> AsyncGenerator[Judged]:
    """Give what became of each item as soon as it is known; ValueError before the first, for a model without an address
    or a database that is not there.
    """
    files = {name: database_file(databases, name) for name in {item.database for thread in threads for item in thread}}
    api = None if model in (REPLAY, BUILTIN) else _api(model)
    asker = Asker(
        model=None if model == REPLAY else model,
        mode=mode,
        policy=policy,
        cross_check=cross_check,
        # A recording holds one draft.
        effort=Effort.QUICK if model == REPLAY else effort,
        stages=stages or Stages(),
    )
    places: dict[str, Place] = {}
    children = sqlite_children(size=1, reserved=1)
    await children.start()
    if api is not None:
        await api.start()
    try:
        for thread in threads:
            so_far = ThreadSoFar()
            for item in thread:
                if item.database not in places:
                    places[item.database] = Place(files[item.database], children)
                asking = Asking(
                    item=item,
                    place=places[item.database],
                    model=_asked(item, model, api),
                    asker=asker,
                    thread=so_far,
                )
                yield await asking.judged()
    finally:
        await children.drain()
        if api is not None:
            await api.drain()


def database_file(databases: Path, name: str) -> Path:
    """Return `<name>.sqlite` of the folder, or of the database's own folder in it; ValueError for neither."""
    for path in (databases / f"{name}.sqlite", databases / name / f"{name}.sqlite"):
        if path.is_file():
            return path
    raise ValueError(f"no database {databases / name}.sqlite")


def _asked(item: Item, model: str, api: ModelClient | None) -> Recorded | Counted | None:
    if model == REPLAY:
        return Recorded(item.pred)
    return None if api is None else Counted(api)


def _api(model: str) -> ModelClient:
    settings = load(Settings)
    result = open_model(settings.model_copy(update={"llm_model": model}), Metrics(StageName.GENERATOR))
    if result is None:
        raise ValueError(f"a model is {REPLAY}, {BUILTIN}, or the name of one at QUERYBUS_LLM_BASE_URL")
    return result


def totals(judged: Sequence[Judged], prices: tuple[float, float] = (0.0, 0.0)) -> dict[str, Any]:
    """Return the figures of a run: counts, and by kind what became of the items.

    `prices` are those of a million tokens in and out; without them there is no cost. `broken` and `fixed` compare the end with the model's own first answer, of items with a reference statement. Of
    follow-ups it is also counted how many are right where the turn before them was.
    """
    by_class: dict[str, Counter[str]] = defaultdict(Counter)
    by_rule: dict[str, Counter[str]] = defaultdict(Counter)
    by_mode: dict[str, Counter[str]] = defaultdict(Counter)
    by_writer: dict[str, Counter[str]] = defaultdict(Counter)
    expected: dict[str, Counter[str]] = defaultdict(Counter)
    for item in judged:
        counted = {"items": 1, "executable": int(item.final_executable), "right": int(item.final_right)}
        for rule in item.rules:
            by_rule[rule].update(counted)
        if item.first_code is not None:
            by_class[item.first_code].update(counted)
        if item.expect is not None:
            expected[item.expect][item.outcome] += 1
        by_mode[item.mode].update(items=1, right=int(item.final_right))
        if item.final_executable and item.expect is None:
            by_writer[item.writer].update(items=1, right=int(item.final_right))
    broken = [item.id for item in judged if item.is_broken]
    crashed = [item.id for item in judged if item.outcome == CRASHED]
    calls, right = sum(item.calls for item in judged), sum(item.final_right for item in judged)
    failures = Counter(failure for item in judged for failure in item.model_failures)
    tokens_in, tokens_out = sum(item.tokens_in for item in judged), sum(item.tokens_out for item in judged)
    cost = (tokens_in * prices[0] + tokens_out * prices[1]) / 1_000_000
    return {
        "items": len(judged),
        "first_executable": sum(item.first_executable for item in judged),
        "first_right": sum(item.first_right for item in judged),
        "final_executable": sum(item.final_executable for item in judged),
        "final_right": right,
        "final_right_interval": share_interval(right, len(judged)),
        "by_writer": {name: dict(counts) for name, counts in sorted(by_writer.items())},
        "fixed": sum(item.is_fixed for item in judged),
        "broken": len(broken),
        "broken_items": broken,
        "crashed": len(crashed),
        "crashed_items": crashed,
        "references_failed": sum(bool(item.error) and item.outcome != CRASHED for item in judged),
        "outcomes": dict(Counter(item.outcome for item in judged)),
        "expected": {name: dict(counts) for name, counts in sorted(expected.items())},
        "follow_ups": _follow_ups(judged),
        "by_mode": {name: dict(counts) for name, counts in sorted(by_mode.items())},
        "by_first_failure": {name: dict(counts) for name, counts in sorted(by_class.items())},
        "by_rule": {name: dict(counts) for name, counts in sorted(by_rule.items())},
        "by_confidence": _by_confidence(judged),
        "calls": calls,
        "calls_failed": sum(failures.values()),
        "call_failures": dict(failures.most_common(FAILURES_SHOWN_MAX)),
        "right_per_1000_calls": round(1_000 * right / calls, 1) if calls else None,
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "cost": round(cost, 6) if any(prices) else None,
        "milliseconds": round(sum(item.milliseconds for item in judged), 1),
        "milliseconds_per_item": percentiles([item.milliseconds for item in judged]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 3) if values else None


def _by_confidence(judged: Sequence[Judged]) -> dict[str, dict[str, float | None]]:
    """Return for each tenth of what answers with a reference are said to be sure how many there are, the mean, and the share right."""
    tenths: dict[str, list[Judged]] = defaultdict(list)
    for item in judged:
        if item.final_executable and item.expect is None:
            tenths["none" if item.confidence is None else f"{min(9, int(item.confidence * 10)) / 10}"].append(item)
    return {
        name: {
            "items": len(items),
            "stated": _mean([item.confidence for item in items if item.confidence is not None]),
            "right": round(sum(item.final_right for item in items) / len(items), 3),
        }
        for name, items in sorted(tenths.items())
    }


def _follow_ups(judged: Sequence[Judged]) -> dict[str, int]:
    """Return how many turns after the first there are and are right, of all and behind a right turn."""
    pairs = [(before, item) for before, item in pairwise(judged) if item.turn > 1]
    behind = [item for before, item in pairs if before.final_right]
    return {
        "items": len(pairs),
        "right": sum(item.final_right for _, item in pairs),
        "after_right": len(behind),
        "right_after_right": sum(item.final_right for item in behind),
    }


def read_right(path: Path) -> dict[str, bool]:
    """Return which items of another run's file were right at the end; ValueError for a file of something else."""
    try:
        return {str(line["id"]): bool(line["final_right"]) for line in read_objects(path)}
    except KeyError as error:
        raise ValueError(f"{path} is not what --items-out writes: {error} is missing") from error


def compared(judged: Sequence[Judged], before: Mapping[str, bool]) -> dict[str, Any]:
    """Return the ids of the items that are right only here and only in the other run, and how likely chance makes them so many."""
    only_here = [item.id for item in judged if item.final_right and before.get(item.id) is False]
    only_there = [item.id for item in judged if not item.final_right and before.get(item.id) is True]
    return {
        "items_in_both": sum(item.id in before for item in judged),
        "only_here": only_here,
        "only_there": only_there,
        "p": paired_p(len(only_here), len(only_there)),
    }
