"""One worker of a pipeline of five hops: `hop_worker.py null STAGE` or `hop_worker.py raw STAGE`.

`null` is a service as it is in production, with a verb that thinks nothing. `raw` is nats-py alone: a standing pull,
a publish that waits for its acknowledgement, an ack; no envelope, no fence, no headers.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import uvloop
from nats.aio.msg import Msg

from querybus.bus.application import Service, run_service
from querybus.bus.broker import make_broker
from querybus.bus.connection import connect
from querybus.bus.log.sign import Signer, Verifier
from querybus.bus.stage import stage
from querybus.bus.stage_policy import Runtime, StagePolicy, Think
from querybus.core.catalog import Dialect
from querybus.core.envelope import Delivery, Envelope, approved, concluded, drafted
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import (
    Answer,
    Approved,
    Concluded,
    Draft,
    Drafted,
    Finished,
    Origin,
    Outcome,
    Result,
    ResultColumn,
)
from querybus.core.subjects import StageName
from querybus.core.topology import EVENTS
from querybus.ops.log import configure_logging
from querybus.ops.metrics import Metrics
from querybus.ops.settings import ServiceSettings, load
from querybus.ops.trace import Tracing

SQL = "SELECT name, price FROM products WHERE is_active = 1 AND price > 50 ORDER BY price DESC LIMIT 5"
ROWS = tuple((f"product number {n}", f"{n}.50") for n in range(5))
SLOTS = 64
PULL_SECONDS = 30


async def _generate(_: Envelope[Any], __: Delivery) -> Failure:
    return Failure.of(FailureCode.SYNTAX_ERROR, "so that recovery has its hop")


async def _recover(envelope: Envelope[Any], _: Delivery) -> Envelope[Any]:
    return drafted(envelope, Drafted(draft=Draft(sql=SQL, dialect=Dialect.SQLITE, origin=Origin.RULE)))


async def _validate(envelope: Envelope[Any], _: Delivery) -> Envelope[Any]:
    body = Approved(
        sql=SQL,
        dialect=Dialect.SQLITE,
        origin=Origin.RULE,
        tables=("products",),
        row_limit=100,
        checked=("static",),
    )
    return approved(envelope, body)


async def _execute(envelope: Envelope[Any], _: Delivery) -> Envelope[Any]:
    columns = (ResultColumn(name="name"), ResultColumn(name="price"))
    result = Result(columns=columns, rows=ROWS, row_count=len(ROWS))
    body = Concluded(outcome=Outcome.ANSWERED, stage=StageName.EXECUTOR, sql=SQL, dialect=Dialect.SQLITE, result=result)
    return concluded(envelope, body)


async def _present(envelope: Envelope[Any], _: Delivery) -> Envelope[Any]:
    answer = Answer(outcome=Outcome.ANSWERED, language="en", message="5 rows", rows=ROWS, row_count=len(ROWS))
    return envelope.with_body(Finished(answer=answer, sql=SQL))


VERBS: dict[StageName, Think] = {
    StageName.GENERATOR: _generate,
    StageName.RECOVERY: _recover,
    StageName.VALIDATOR: _validate,
    StageName.EXECUTOR: _execute,
    StageName.PRESENTER: _present,
}


def null(name: StageName) -> None:
    settings = load(ServiceSettings)
    configure_logging(settings.log_level, as_json=settings.log_json)
    metrics = Metrics(name)
    broker = make_broker(settings, name, metrics)
    part = stage(
        broker,
        VERBS[name],
        StagePolicy(
            name=name,
            after_deadline="proceed" if name is StageName.PRESENTER else "expire",
            sign=Signer(os.environ["QUERYBUS_SIGNING_KEY"]) if name is StageName.VALIDATOR else None,
            verify=Verifier(os.environ["QUERYBUS_VERIFY_KEY"]) if name is StageName.EXECUTOR else None,
        ),
        Runtime(metrics=metrics, tracing=Tracing(name, endpoint=settings.otlp_endpoint, ratio=settings.trace_ratio)),
        slots=SLOTS,
    )
    run_service(Service(name, broker, (part,), metrics=metrics, settings=settings))


def raw_payload(route: list[tuple[str, int]]) -> bytes:
    """Return the first message of a route of (event, bytes); each hop takes one step off its head."""
    (_, size), *rest = route
    return (" ".join(f"{event}:{bytes_}" for event, bytes_ in rest).encode() + b"|").ljust(size, b"x")


async def raw(name: StageName) -> None:
    connection = await connect(os.environ["QUERYBUS_NATS_URL"], name, os.environ["QUERYBUS_NATS_PASSWORD"])
    jetstream = connection.jetstream()
    inbox = connection.new_inbox()
    outstanding = 0
    running: set[asyncio.Task[None]] = set()

    async def pull() -> None:
        nonlocal outstanding
        wanted, outstanding = SLOTS - outstanding, SLOTS
        request = json.dumps({"batch": wanted, "expires": PULL_SECONDS * 1_000_000_000}).encode()
        await connection.publish(f"$JS.API.CONSUMER.MSG.NEXT.{EVENTS}.{name}", request, reply=inbox)

    async def hop(message: Msg) -> None:
        step, _, rest = message.data.partition(b"|")[0].partition(b" ")
        event, _, size = step.partition(b":")
        subject = message.subject.rpartition(".")[0] + "." + event.decode()
        await jetstream.publish(subject, (rest + b"|").ljust(int(size), b"x"), timeout=10)
        await message.ack()

    async def receive(message: Msg) -> None:
        nonlocal outstanding
        if not message.reply.startswith("$JS.ACK."):
            outstanding = 0
            await pull()
            return
        outstanding -= 1
        task = asyncio.create_task(hop(message))
        running.add(task)
        task.add_done_callback(running.discard)
        if outstanding <= SLOTS // 2:
            await pull()

    await connection.subscribe(inbox, cb=receive)
    await pull()
    await connection.flush()
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    kind, stage_name = sys.argv[1], StageName(sys.argv[2])
    if kind == "null":
        null(stage_name)
    else:
        uvloop.run(raw(stage_name))
