"""Measures the generator's verb beside the bare langchain-openai call: CPU per question, rate under load, faults.

Both run in this process with the same prompts against a scripted model in a process of its own: the verb's share is what
it costs above the call. One answer is given to every question, so that most drafts are doubtful: the rows that stand beside
the bare call are of one call each, without second drafts; what these cost is a row of its own. The bus is left out here;
bench_house has it. Faults: a model that hangs, fails half of its calls,
or answers 429 with Retry-After; every query must end typed, and no socket or task may be left.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import uvloop
from langchain_openai import ChatOpenAI
from openai import DefaultAsyncHttpxClient, Timeout
from pydantic import SecretStr

from querybus.core.catalog import Catalog
from querybus.core.envelope import Delivery, Envelope
from querybus.core.failure import Failure
from querybus.core.messages import Asked
from querybus.core.options import Options
from querybus.core.policy import Connection
from querybus.core.stored.models import Prompting
from querybus.core.subjects import EventName
from querybus.llm import ModelServiceSettings, NamedModels
from querybus.ops.metrics import Metrics
from querybus_cli.evaluation.linking import SHOP, SHOP_QUESTIONS, label_items, shop_catalog
from querybus_generator.conversation.history import NoHistory
from querybus_generator.generate import Resources, generate
from querybus_generator.linking.linker import Linker
from querybus_generator.ports import Ports
from querybus_generator.prompts.texts import load_texts
from tests.support.scripted_model import ScriptedModel, Seen, Step, fail, hang, say

ROOT = Path(__file__).resolve().parents[1]
ANSWER = "```sql\nSELECT name, price FROM products ORDER BY price DESC LIMIT 5\n```"
AT_MOST = {"extra_cpu_ms": 1.0, "memory_with_a_model_mib": 150.0}
AT_LEAST = {"share_of_bare_rate": 0.9}
CALLERS = 256


class Place:
    """One connection, and no past."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.connection = Connection(name=SHOP, dialect=catalog.dialect)

    async def read(self, connection: str) -> Catalog | None:
        return self.catalog if connection == SHOP else None

    async def get(self, name: str) -> Connection | None:
        return self.connection if name == SHOP else None


class Recorded:
    """A model that keeps what it is sent, so that the bare call sends the same."""

    def __init__(self) -> None:
        self.prompts: list[list[tuple[str, str]]] = []

    async def prompting(self, tenant: str, model: str | None) -> Prompting:
        del tenant, model
        return Prompting()

    async def reply(self, messages: Any, **_: Any) -> Any:
        self.prompts.append([(message.role, message.text) for message in messages])
        raise _KeptError


class _KeptError(Exception):
    pass


class Verb:
    """The generator's verb, ready to be asked."""

    def __init__(self, place: Place, model: Any) -> None:
        self.place, self.model = place, model
        self.options = Options()
        self.linker, self.texts = Linker(), load_texts()

    async def __call__(self, question: str, seconds: float = 60.0) -> str:
        now = time.time_ns() // 1_000_000
        envelope = Envelope[Asked].model_construct(
            event=EventName.ASKED,
            query_id="q",
            thread_id="t",
            tenant="acme",
            user="ann",
            audience="analyst",
            connection=SHOP,
            question=question,
            language="zh",
            options=self.options,
            asked_at=now,
            deadline_at=now + int(seconds * 1_000),
            body=Asked(),
        )
        result = await generate(
            envelope,
            Delivery(sequence=1, deliveries=1, now_ms=now),
            ports=Ports(catalogs=self.place, connections=self.place, history=NoHistory(), model=self.model),
            resources=Resources(linker=self.linker, texts=self.texts),
        )
        if isinstance(result, Failure):
            return f"failed {result.code.value}"
        draft = getattr(result.body, "draft", None)
        return (
            f"drafted {draft.origin.value}"
            if draft is not None
            else f"concluded {getattr(result.body, 'outcome', '?')}"
        )


@asynccontextmanager
async def serving(delay_seconds: float) -> AsyncGenerator[str]:
    """Give the address of a model in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "tests.support.scripted_model",
        "--answer",
        ANSWER,
        "--delay-seconds",
        str(delay_seconds),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None
        yield (await asyncio.to_thread(process.stdout.readline)).strip()
    finally:
        process.terminate()
        process.wait(10)


def bare(address: str) -> ChatOpenAI:
    return ChatOpenAI(
        model="m",
        base_url=address,
        api_key=SecretStr("none"),
        temperature=0.0,
        max_retries=0,
        use_responses_api=False,
        streaming=False,
        http_async_client=DefaultAsyncHttpxClient(timeout=Timeout(60, connect=5, pool=90)),
    )


async def cpu_per_question(place: Place, questions: list[str], rounds: int) -> dict[str, float]:
    """Return CPU milliseconds of the bare call and of the verb, measured in turns in the same run."""
    recorded = Recorded()
    verb = Verb(place, recorded)
    for question in questions:
        try:
            await verb(question)
        except _KeptError:
            continue
    prompts = recorded.prompts
    async with serving(0.0) as address:
        models = NamedModels(ModelServiceSettings(llm_base_url=address), Metrics("bench"))
        await models.start()
        verb.model = models
        chat = bare(address)
        taken = {"bare": 0.0, "verb": 0.0, "read": 0.0}
        counts = dict.fromkeys(taken, 0)
        for number in range(rounds + 1):
            gc.collect()
            for name in ("bare", "verb", "read") if number % 2 else ("read", "verb", "bare"):
                began = time.process_time()
                if name == "bare":
                    for prompt in prompts:
                        await chat.ainvoke(prompt)
                elif name == "read":
                    for question in questions:
                        await verb(question)
                else:
                    with patch("querybus_generator.generate._begin_reading", lambda *_: None):
                        for question in questions:
                            await verb(question)
                # The first round warms both up.
                if number:
                    taken[name] += time.process_time() - began
                    counts[name] += len(prompts) if name == "bare" else len(questions)
        await models.drain()
    per_call = {name: 1_000 * taken[name] / counts[name] for name in taken}
    return {
        "bare_cpu_ms": round(per_call["bare"], 3),
        "verb_cpu_ms": round(per_call["verb"], 3),
        "extra_cpu_ms": round(per_call["verb"] - per_call["bare"], 3),
        "with_reading_cpu_ms": round(per_call["read"], 3),
    }


async def rate(work: Callable[[int], Awaitable[Any]], callers: int, seconds: float) -> float:
    """Return answers per second of a closed loop that begins no call after that time and ends with its last one."""
    done = 0
    began = time.monotonic()

    async def caller(number: int) -> None:
        nonlocal done
        while time.monotonic() < began + seconds:
            await work(number)
            done += 1

    await asyncio.gather(*(caller(number) for number in range(callers)))
    return done / (time.monotonic() - began)


async def rates(place: Place, questions: list[str], prompt: list[tuple[str, str]], seconds: float) -> dict[str, float]:
    async with serving(1.0) as address:
        chat = bare(address)
        settings = ModelServiceSettings(llm_base_url=address, llm_concurrency_max=CALLERS)
        models = NamedModels(settings, Metrics("bench"))
        await models.start()
        verb = Verb(place, models)
        await verb(questions[0])
        plain = await rate(lambda _: chat.ainvoke(prompt), CALLERS, seconds)
        ours = await rate(lambda number: verb(questions[number % len(questions)]), CALLERS, seconds)
        await models.drain()
    return {
        "bare_per_second": round(plain, 1),
        "verb_per_second": round(ours, 1),
        "share_of_bare_rate": round(ours / plain, 3),
    }


async def faults(place: Place, questions: list[str]) -> dict[str, dict[str, Any]]:
    """Return, for each faulty model, how the queries ended, how often it was called, and what was left over."""
    number = 0

    def half(_: Seen) -> Step:
        nonlocal number
        number += 1
        return fail(500) if number % 2 else say(ANSWER)

    scripts: dict[str, Any] = {
        "hangs": [hang(30)],
        "fails half": half,
        "429, Retry-After 1": [fail(429, retry_after_seconds=1)],
    }
    result: dict[str, dict[str, Any]] = {}
    for name, script in scripts.items():
        with ScriptedModel(script) as server:
            models = NamedModels(ModelServiceSettings(llm_base_url=server.base_url), Metrics("bench"))
            await models.start()
            verb = Verb(place, models)
            await verb.linker.prepare(place.catalog, place.connection.policy)
            tasks, began = len(asyncio.all_tasks()), time.monotonic()
            ended = await asyncio.gather(*(verb(questions[n % len(questions)], 4.0) for n in range(CALLERS)))
            took = time.monotonic() - began
            await models.drain()
            await asyncio.sleep(0.2)
            result[name] = {
                "queries": CALLERS,
                "ended": dict(Counter(ended)),
                "seconds": round(took, 1),
                "requests": len(server.requests),
                "tasks_left": len(asyncio.all_tasks()) - tasks,
                "sockets_left": sockets_to(server.base_url),
            }
    return result


def sockets_to(address: str) -> int:
    """Return this process's open sockets to an address on this machine."""
    port = f":{int(address.split(':')[2].split('/', maxsplit=1)[0]):04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    inodes = {line.split()[9] for line in lines if line.split()[2].endswith(port) and line.split()[3] == "01"}
    own = 0
    for link in Path("/proc/self/fd").iterdir():
        try:
            own += str(link.readlink()).removeprefix("socket:[").rstrip("]") in inodes
        except OSError:
            continue
    return own


def memory_mib() -> float:
    """Return the resident memory of a generator with a model, started in a process of its own."""
    code = (
        "import asyncio, resource\n"
        "from querybus_generator.app import build\n"
        "from querybus_generator.settings import Settings\n"
        "service = build(Settings(llm_base_url='http://127.0.0.1:9/v1'))\n"
        "model = next(part for part in service.parts if part.name == 'model')\n"
        "client = model._client(model._own[0])\n"
        "asyncio.run(client.start())\n"
        "print(int(open('/proc/self/statm').read().split()[1]) / 256)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    return round(float(ran.stdout.strip().splitlines()[-1]), 1)


async def run(rounds: int, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        catalog = shop_catalog(Path(folder) / "shop.sqlite")
    place = Place(catalog)
    questions = [item.question for item in label_items(SHOP_QUESTIONS.read_text(encoding="utf-8"))][:100]
    recorded = Recorded()
    with suppress(_KeptError):
        await Verb(place, recorded)(questions[0])
    figures: dict[str, Any] = {"memory_with_a_model_mib": memory_mib()}
    figures |= await cpu_per_question(place, questions, rounds)
    show(figures)
    loads = await rates(place, questions, recorded.prompts[0], seconds)
    show(loads)
    reported = {"faults": await faults(place, questions)}
    show(reported)
    return figures | loads | reported


def show(figures: dict[str, Any]) -> None:
    for name, value in figures.items():
        if name == "faults":
            for fault, reported in value.items():
                print(f"{fault:20}", "  ".join(f"{key} {figure}" for key, figure in reported.items()))
        else:
            print(f"{name:24} {value}", flush=True)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=4, help="of 100 questions each")
    options.add_argument("--seconds", type=float, default=8.0, help="of each closed loop")
    chosen = options.parse_args()
    figures = uvloop.run(run(chosen.rounds, chosen.seconds))
    short = [name for name, most in AT_MOST.items() if figures[name] > most]
    short += [name for name, least in AT_LEAST.items() if figures[name] < least]
    short += [
        f"{name}: left over"
        for name, reported in figures["faults"].items()
        if reported["tasks_left"] or reported["sockets_left"]
    ]
    print("met" if not short else f"NOT MET: {', '.join(short)}")
    report = {
        "name": "generator",
        "figures": figures,
        "required": {"at_most": AT_MOST, "at_least": AT_LEAST},
        "met": not short,
        "machine": {"cpus": os.cpu_count(), "load": os.getloadavg()[0], "python": platform.python_version()},
    }
    path = ROOT / "build" / "bench" / "generator.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1, ensure_ascii=False), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
