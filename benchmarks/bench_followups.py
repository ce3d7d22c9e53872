"""Measures what the built-in translator makes of follow-ups: threads of three or four turns, each judged by reference SQL.

A turn counts where the turn before it was right: nobody goes on from a wrong answer. The threads are ours, over the plain
databases that `plain_databases.py` writes; the day is fixed. Pairs of questions over the businesses of `business_databases.py` say what is
carried over from one question to the next, by the translator and into a model's prompt.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

from benchmarks.bench_answers import DAY_NUMBERS, is_right
from benchmarks.bench_translator import run
from benchmarks.business_databases import write_businesses
from benchmarks.plain_databases import write_clinic, write_theatre
from querybus_cli.local.demo_database import FIXED_TODAY, write_demo
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from querybus_generator.conversation.turns import Turn, bind
from querybus_generator.subject import bare_words
from querybus_translator import Translated, is_complete, translate, translate_in_thread

THREADS: Final = Path(__file__).with_name("questions") / "threads.txt"
TWO_TURNS: Final = THREADS.with_name("two_turns.txt")
RIGHT_SHARE_MIN: Final = 50.0
"""Of the turns that follow a right one, in percent."""


def threads() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return each thread: its database, and its turns with their reference SQL."""
    text = "\n".join(line for line in THREADS.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    found: list[tuple[str, list[tuple[str, str]]]] = []
    for block in text.strip().split("\n\n"):
        database, *lines = block.strip().splitlines()
        turns = [line.partition(" | ") for line in lines]
        found.append((database, [(words, gold) for words, _, gold in turns]))
    return found


def pairs(folder: Path) -> dict[str, Counter[str]]:
    """Return what became of pairs of questions: of complete second ones, and of those that go on from the first."""
    files = write_businesses(folder)
    catalogs = {name: open_sqlite_catalog(file) for name, file in files.items()}
    counts: dict[str, Counter[str]] = {}
    lines = [line for line in TWO_TURNS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    for place, line in enumerate(lines):
        database, first, second, full = line.split(" | ")
        half, catalog = ("looked at", "held out")[place % 2], catalogs[database]
        by_itself = second.removeprefix("And ").removeprefix("Then ") if full == "=" else full
        alone = translate(by_itself, catalog, today=FIXED_TODAY)
        read = translate_in_thread(second, [first], catalog, today=FIXED_TODAY)
        found, wanted = (_rows(files[database], reading) for reading in (read, alone))
        kind = "complete" if full == "=" else "fragments"
        verdict = "right" if found == wanted else "asked" if found is None else "wrong"
        counts.setdefault(f"{kind}, {half}", Counter())[verdict] += 1
        complete = is_complete(second, first, catalog, today=FIXED_TODAY)
        language = "en" if second.isascii() else "zh"
        bound = bind(second, [Turn(first, sql="-")], language, bare_words, is_complete=complete)
        verdict = "right" if (bound is None) == (full == "=") else "wrong"
        counts.setdefault(f"prompts, {half}", Counter())[verdict] += 1
    return counts


def _rows(file: Path, read: object) -> list[tuple[str, ...]] | None:
    """Return the rows of a reading whatever their order and that of their columns; None where there is none."""
    found = run(file, read.sql) if isinstance(read, Translated) else None
    return None if found is None or isinstance(found, str) else sorted(tuple(sorted(map(str, row))) for row in found)


def main() -> int:
    """Print what became of the turns; 1 where too few that follow a right one are right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print each turn that was not right")
    given = parser.parse_args()
    counts: dict[str, Counter[str]] = {
        "first turns": Counter(),
        "follow-ups, en": Counter(),
        "follow-ups, zh": Counter(),
    }
    with tempfile.TemporaryDirectory(prefix="querybus-followups-") as folder:
        files = {name: Path(folder) / f"{name}.sqlite" for name in ("clinic", "theatre", "shop")}
        write_clinic(files["clinic"])
        write_theatre(files["theatre"])
        write_demo(files["shop"])
        catalogs = {name: open_sqlite_catalog(file) for name, file in files.items()}
        for database, turns in threads():
            words = [said for said, _ in turns]
            language = "en" if "".join(words).isascii() else "zh"
            for place, (said, gold) in enumerate(turns):
                read = translate_in_thread(said, words[:place], catalogs[database], today=FIXED_TODAY)
                rows = run(files[database], read.sql) if isinstance(read, Translated) else "asked back"
                with sqlite3.connect(files[database]) as opened:
                    expected = opened.execute(gold).fetchall()
                right = not isinstance(rows, str) and is_right(expected, rows, DAY_NUMBERS)
                verdict = "right" if right else "wrong" if isinstance(read, Translated) else "asked"
                counts["first turns" if place == 0 else f"follow-ups, {language}"][verdict] += 1
                if not right:
                    if given.show:
                        print(
                            f"{verdict:6} {database:8} {' | '.join(words[: place + 1])}\n       {getattr(read, 'sql', '')}"
                        )
                    break
        counts |= {f"pairs: {name}": found for name, found in sorted(pairs(Path(folder)).items())}
    for name, found in counts.items():
        print(
            f"{name:27}{sum(found.values()):>4} asked  {found['right']:>3} right  {found['wrong']:>3} wrong  {found['asked']:>3} asked back"
        )
    followed = counts["follow-ups, en"] + counts["follow-ups, zh"]
    share = 100 * followed["right"] / max(1, followed.total())
    met = share >= RIGHT_SHARE_MIN
    print(f"right after a right turn: {share:.1f}% (at least {RIGHT_SHARE_MIN:g}) {'met' if met else 'NOT MET'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
