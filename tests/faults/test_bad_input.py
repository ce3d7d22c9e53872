"""What is no event dies with its reason, and the query whose log it stands on ends all the same: in the real stack."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from nats.aio.client import Client

from querybus.bus.admin.operator import Letter, OperatorActions
from querybus.bus.admin.permissions import OPERATOR
from querybus.bus.connection import Held
from querybus.bus.log.journal import Entry, Journal
from querybus.core.envelope import encode
from querybus.core.subjects import EventName, StageName, event_subject
from querybus.core.topology import MAX_DELIVER
from querybus_cli.local.local_stack import TENANT
from tests.connected.queries import append, asked, new_id
from tests.faults.faulty_stack import CONNECTION, Fault, FaultyStack, faulty_stack

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

END_SECONDS = 30.0


@dataclass(frozen=True)
class Sent:
    """A query that bad input was sent to, in tokens."""

    query: str
    log: tuple[Entry, ...]
    letters: tuple[Letter, ...]


async def raw_bytes(_: FaultyStack, gateway: Client) -> tuple[str, str]:
    query = new_id()
    await _store(gateway, query, b"\xff\x00 not an envelope")
    return query, "the body has no envelope_version"


async def half_an_envelope(_: FaultyStack, gateway: Client) -> tuple[str, str]:
    query = new_id()
    await _store(gateway, query, b'{"envelope_version": "1.0", "user": "analyst", "question": "How many?"}')
    return query, "not an envelope of asked: event"


async def version_nine(_: FaultyStack, gateway: Client) -> tuple[str, str]:
    envelope = asked(tenant=TENANT, user="analyst", connection=CONNECTION, envelope_version="9.0")
    await append(gateway, envelope, 0)
    return envelope.query_id, "envelope of version 9, this service reads 1"


async def forged_tenant(_: FaultyStack, gateway: Client) -> tuple[str, str]:
    query = new_id()
    envelope = asked(tenant="another", user="analyst", connection=CONNECTION, query_id=query, thread_id=query)
    await _store(gateway, query, encode(envelope))
    return query, "tenant, thread or query of the body are not those of the subject"


async def server_copy(_: FaultyStack, gateway: Client) -> tuple[str, str]:
    query = new_id()
    envelope = asked(tenant=TENANT, user="analyst", connection=CONNECTION, query_id=query, thread_id=query)
    await _store(gateway, query, encode(envelope), {"Nats-Stream": "QUERYBUS", "Nats-Sequence": "1"})
    return query, "a copy made by the server, not a published event"


async def rubbish_in_a_running_query(stack: FaultyStack, gateway: Client) -> tuple[str, str]:
    question = "How many customers are there, while somebody interferes?"
    stack.faults[question] = {StageName.GENERATOR: Fault("hang")}
    async with stack.stack.client("analyst") as client:
        reply = await client.call(
            "ask", {"question": question, "connection": CONNECTION, "options": {"deadline_seconds": 5}}
        )
    query = reply["query_id"]
    generator = await stack.bus.connect(StageName.GENERATOR)
    try:
        await generator.jetstream().publish(event_subject(TENANT, query, query, EventName.DRAFTED), b"{}")
    finally:
        await generator.close()
    return query, "the body has no envelope_version"


BAD: dict[str, Callable[[FaultyStack, Client], Awaitable[tuple[str, str]]]] = {
    "raw bytes": raw_bytes,
    "half an envelope": half_an_envelope,
    "an envelope of version 9": version_nine,
    "a forged tenant": forged_tenant,
    "a copy made by the server": server_copy,
    "rubbish in a running query": rubbish_in_a_running_query,
}


async def _store(connection: Client, query: str, data: bytes, headers: dict[str, str] | None = None) -> None:
    subject = event_subject(TENANT, query, query, EventName.ASKED)
    await connection.jetstream().publish(subject, data, headers=headers)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sent(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[dict[str, tuple[Sent, str]]]:
    """Send everything at once and wait for each end."""
    async with faulty_stack(tmp_path_factory.mktemp("bad-input")) as stack:
        gateway = await stack.bus.connect(StageName.GATEWAY)
        journal = Journal(Held(gateway))

        async def one(name: str) -> tuple[str, tuple[Sent, str]]:
            query, reason = await BAD[name](stack, gateway)
            async with asyncio.timeout(END_SECONDS):
                while True:
                    log = await journal.events(TENANT, query)
                    if log and log[-1].address.event is EventName.FINISHED:
                        break
                    await asyncio.sleep(0.2)
            return name, (Sent(query, log, ()), reason)

        try:
            ended = dict(await asyncio.gather(*(one(name) for name in BAD)))
            assert await stack.unsettled() == {}
            operator = await stack.bus.connect(OPERATOR)
            try:
                letters = await OperatorActions(operator).letters()
            finally:
                await operator.close()
            yield {
                name: (Sent(case.query, case.log, tuple(x for x in letters if f".{case.query}." in x.subject)), reason)
                for name, (case, reason) in ended.items()
            }
        finally:
            await gateway.close()


@pytest.mark.parametrize("name", BAD)
async def test_bad_input_is_a_dead_letter_with_its_reason_and_its_query_ends_once(
    sent: dict[str, tuple[Sent, str]], name: str
) -> None:
    case, reason = sent[name]
    events = [entry.address.event for entry in case.log]
    assert events.count(EventName.FINISHED) == 1, events
    assert events.count(EventName.CONCLUDED) == 1, events
    finished: dict[str, Any] = json.loads(case.log[-1].data)
    assert finished["body"]["answer"]["outcome"] in ("failed", "expired")
    assert finished["body"]["answer"]["message"]
    assert len(case.letters) == 1, case.letters
    letter = case.letters[0]
    assert letter.reason.startswith(reason), letter.reason
    stage = StageName.VALIDATOR if letter.subject.endswith(".drafted") else StageName.GENERATOR
    assert letter.stage == stage
    on_log = next(entry for entry in case.log if entry.sequence == letter.subject_sequence)
    assert letter.subject == on_log.address.subject
    assert letter.data == on_log.data
    # A newer version waits for its reader until its last delivery; what can never be read dies at its first.
    assert letter.deliveries == (MAX_DELIVER if "version" in name else 1)
