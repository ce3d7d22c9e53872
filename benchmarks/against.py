"""Runs the same rows of an older version's `bench_house.py` and of this one's in turn, and compares what both measured.

The older version gets a checkout and an environment of its own (`make setup` there, about a minute), which are removed at
the end. Whose turn is first changes each time, so that a machine that slows down slows both.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from process_group import ROOT, clean_environment

REPORT = Path("build") / "bench" / "house.json"
SCRIPT = Path("benchmarks") / "bench_house.py"


class AgainstError(Exception):
    """The older version cannot be measured; the text says why."""


def compare(commit: str, arguments: Sequence[str], turns: int) -> dict[str, tuple[float, float, float]]:
    """Return each figure that both have: the older version's median, this one's, and the median of this to that by turns."""
    older: list[dict[str, float]] = []
    newer: list[dict[str, float]] = []
    with _checkout(commit) as other:
        for turn in range(turns):
            order = [(other, older), (ROOT, newer)]
            for tree, found in order if turn % 2 == 0 else order[::-1]:
                name = "here" if tree == ROOT else commit
                print(f"turn {turn + 1} of {turns}: {name}", flush=True)
                found.append(_measured(tree, arguments))
    result: dict[str, tuple[float, float, float]] = {}
    for figure in older[0]:
        if all(figure in found for found in (*older, *newer)):
            before, after = [found[figure] for found in older], [found[figure] for found in newer]
            ratios = [new / old for old, new in zip(before, after, strict=True) if old]
            if ratios:
                result[figure] = (statistics.median(before), statistics.median(after), statistics.median(ratios))
    return result


def show(commit: str, figures: dict[str, tuple[float, float, float]]) -> None:
    """Print the table."""
    print(f"\n{'':34}{commit[:12]:>12}{'here':>12}{'ratio':>9}")
    for figure, (before, after, ratio) in figures.items():
        print(f"   {figure:31}{before:12,.5g}{after:12,.5g}{ratio:9.2f}")


@contextmanager
def _checkout(commit: str) -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="querybus-against-") as directory:
        tree = Path(directory) / "tree"
        _run(["git", "worktree", "add", "--quiet", "--detach", f"{tree}", commit], ROOT)
        try:
            if not (tree / SCRIPT).exists():
                raise AgainstError(f"{commit} has no {SCRIPT}: name a later one")
            print(f"setting up {commit} ...", flush=True)
            _run(["make", "setup"], tree)
            yield tree
        finally:
            _run(["git", "worktree", "remove", "--force", f"{tree}"], ROOT)


def _measured(tree: Path, arguments: Sequence[str]) -> dict[str, float]:
    report = tree / REPORT
    report.unlink(missing_ok=True)
    python = sys.executable if tree == ROOT else f"{tree / '.venv' / 'bin' / 'python'}"
    _run([python, f"{SCRIPT}", *arguments], tree)
    if not report.exists():
        raise AgainstError(f"{tree}: no {REPORT} was written")
    found = json.loads(report.read_text())["figures"]
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


def _run(command: Sequence[str], folder: Path) -> None:
    environment = clean_environment()
    environment.pop("PYTHONPATH")
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AgainstError(f"{' '.join(command)} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-2_000:]}")
