"""The model of the fault rows as a process: right at once for most questions, wrong in the first draft for some.

What it says follows from the seed and the question's number alone, so a draft that is asked for again is the same.
`python -m benchmarks.fault_model SEED DELAY_SECONDS` prints the base address and serves until it is ended.
"""

from __future__ import annotations

import random
import re
import sys
import threading

from tests.support.scripted_model import ScriptedModel, Seen, Step, fail, say

WRONG_SHARE = 0.2
_NUMBER = re.compile(r"id above (\d+)\?")


def question(number: int) -> str:
    return f"How many customers have an id above {number}?"


def script(seed: int, delay_seconds: float, seen: Seen) -> Step:
    text = seen.text
    result = _NUMBER.search(text)
    if result is None:
        return fail(400)
    number = int(result.group(1))
    wrong = f"surname_{number}"
    # Only the failed draft that comes back names it.
    if random.Random(f"{seed}:{number}").random() < WRONG_SHARE and wrong not in text:
        return say(f"SELECT COUNT({wrong}) AS n FROM customers", delay_seconds=delay_seconds)
    return say(f"SELECT COUNT(*) AS n FROM customers WHERE customer_id > {number}", delay_seconds=delay_seconds)


def main() -> None:
    seed, delay_seconds = int(sys.argv[1]), float(sys.argv[2])
    with ScriptedModel(lambda seen: script(seed, delay_seconds, seen)) as model:
        print(model.base_url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
