"""The peer: a hand-written ChatOpenAI + sqlite3 loop in a process of its own, with the generator's own prompt.

No queue, no check, no words: the reply's statement is run as it stands. Reads its task as one JSON line, then a line
`CALLERS WARM_SECONDS SECONDS` per window, and prints one JSON line for each.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import sys
import time
from contextlib import closing
from typing import Any

import uvloop
from callers import measure
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

FENCED = re.compile(r"```(?:sql)?\s*(.*?)```", re.DOTALL)
ROWS_MAX = 100


async def serve() -> None:
    task = json.loads(sys.stdin.readline())
    chat = ChatOpenAI(
        model="default",
        base_url=task["base_url"],
        api_key=SecretStr("none"),
        temperature=0.0,
        max_retries=0,
        use_responses_api=False,
        streaming=False,
    )
    with closing(sqlite3.connect(f"file:{task['database']}?mode=ro", uri=True)) as database:

        async def ask(number: int) -> str:
            # The same length of prompt, and no two alike.
            messages: list[Any] = [(role, text.replace(task["number"], str(number))) for role, text in task["messages"]]
            text = str((await chat.ainvoke(messages)).text)
            result = FENCED.search(text)
            rows = database.execute(result.group(1) if result else text).fetchmany(ROWS_MAX)
            return "answered" if rows else "empty"

        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            callers, warm_seconds, seconds = line.split()
            window = await measure(
                ask,
                int(callers),
                warm_seconds=float(warm_seconds),
                seconds=float(seconds),
                cpu=time.process_time,
            )
            result = {
                "seconds": window.seconds,
                "outcomes": window.outcomes,
                "milliseconds": window.milliseconds,
                "cpu_seconds": window.cpu_seconds,
            }
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    uvloop.run(serve())
