"""Fills the store of a bus with what years of use leave there, without asking a question.

Published with the gateway's rights as fast as the server takes it, in batches whose last message is acknowledged, while no
durable is there and writes are not synced. What lies there is what is left after three days: how each query began and
how it ended, and how far a gateway has followed it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from querybus.bus.admin.embedded_server import EmbeddedNats, sizes_for
from querybus.bus.admin.migrate import migrate
from querybus.bus.connection import Held
from querybus.bus.log.journal import Journal
from querybus.bus.stores.buckets import CounterStore
from querybus.core.ids import time_ordered_id
from querybus.core.stored.thread import ThreadRecord
from querybus.core.subjects import EventName, StageName, event_subject
from querybus.core.topology import THREADS, topology
from querybus_cli.local.answers import DEMO
from querybus_cli.local.local_stack import OUTSIDERS, TENANT
from querybus_gateway.lifecycle.follow_mark import KEY

BATCH = 5_000
"""Below what the server holds of one stream before it throws away."""
REMEMBERED = (EventName.ASKED, EventName.CONCLUDED, EventName.FINISHED)
BEGAN_MS = 1_780_000_000_000

Message = tuple[str, bytes]


async def fill(store: Path, messages: Iterable[Message]) -> None:
    """Put messages into the streams of a new store: subjects and bodies."""
    async with EmbeddedNats([TENANT], store=store, sync="2m", sizes=sizes_for(store.parent)) as bus:
        connection = await bus.connect("migrate")
        await migrate(connection, replace(topology(bus.sizes, bus.tenants), consumers=()))
        await connection.close()
        await _publish(bus, iter(messages))
        connection = await bus.connect(StageName.GATEWAY)
        end = await Journal(Held(connection)).log_end()
        await CounterStore(Held(connection)).write(KEY, f"{end + 1}".encode(), 0)
        await connection.close()


def threads(count: int, query: str, events: Mapping[str, bytes]) -> Iterator[Message]:
    """Return `count` threads of one question each: this one's events under other ids, and the keys that list them."""
    analyst = OUTSIDERS["analyst"]
    for number in range(count):
        name = time_ordered_id(BEGAN_MS + number, number)
        for event in REMEMBERED:
            yield event_subject(TENANT, name, name, event), events[event].replace(query.encode(), name.encode())
        record = ThreadRecord(
            thread_id=name,
            user=analyst.user,
            audience=analyst.audience,
            connection=DEMO,
            title="Which 5 active products have the highest price?",
            created_at=BEGAN_MS + number,
        )
        yield f"$KV.{THREADS}.{TENANT}.{analyst.user}.{name}", record.model_dump_json().encode()


def events_of_others(count: int) -> Iterator[Message]:
    """Return `count` small events, three to a query, of a tenant that asks nothing now."""
    for number in range(count // len(REMEMBERED)):
        name = time_ordered_id(BEGAN_MS + number, number)
        for event in REMEMBERED:
            yield f"querybus.v1.event.others.{name}.{name}.{event}", b"{}"


async def _publish(bus: EmbeddedNats, messages: Iterator[Message]) -> None:
    """Speak the server's own protocol: a client library takes longer for a message than the server does."""
    place = urlsplit(bus.url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=1 << 20)
    user = str(StageName.GATEWAY)
    sign_in = {"verbose": False, "pedantic": False, "user": user, "pass": bus.password(user)}
    writer.write(f"CONNECT {json.dumps(sign_in)}\r\nSUB _INBOX.{user}.fill.* 1\r\n".encode())
    number = 0
    while batch := list(islice(messages, BATCH)):
        number += 1
        # An acknowledgement for the last of each stream, since each stream takes its messages in order.
        last_of = {subject.partition(".")[0]: place for place, (subject, _) in enumerate(batch)}
        asked = dict.fromkeys(last_of.values(), f" _INBOX.{user}.fill.{number}")
        writer.write(
            b"".join(
                b"PUB %b%b %d\r\n%b\r\n" % (subject.encode(), asked.get(place, "").encode(), len(body), body)
                for place, (subject, body) in enumerate(batch)
            )
        )
        await writer.drain()
        for _ in asked:
            await _acknowledged(reader, writer)
    writer.close()


async def _acknowledged(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        line = await reader.readline()
        if line.startswith(b"PING"):
            writer.write(b"PONG\r\n")
        elif line.startswith(b"MSG"):
            said = await reader.readexactly(int(line.split()[-1]) + 2)
            if b'"error"' in said:
                raise RuntimeError(f"the store is not filled: {said.decode()}")
            return
        elif not line or line.startswith(b"-ERR"):
            raise RuntimeError(f"the store is not filled: {line.decode()}")
