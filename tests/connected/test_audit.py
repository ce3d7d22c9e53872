"""The audit on a real server: many writers keep one chain a tenant, nobody deletes from it, and a SIEM receives it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from querybus.bus.admin.audit_export import exported_lines
from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.connection import Held
from querybus.bus.log.audit import AuditLog
from querybus.bus.log.endings import conclusion_of
from querybus.bus.log.publish import BusTrouble, Stored, address_of
from querybus.core.messages import Outcome
from querybus.core.stored.audit import AuditFacts, AuditFault, AuditKind, Words, salt_of, verify_lines
from querybus.core.subjects import StageName, siem_subject
from querybus.ops.clock import system_clock
from querybus_gateway.access.audit_trail import AuditTrail
from tests.connected.queries import a_conclusion, a_finish, append, ask, sizes

pytestmark = pytest.mark.connected


@pytest.fixture
async def bus() -> AsyncIterator[EmbeddedNats]:
    async with EmbeddedNats(sync="2m", sizes=sizes()) as server:
        await server.migrate()
        yield server


async def export(bus: EmbeddedNats, tenant: str | None = None) -> list[str]:
    operator = await bus.connect("operator")
    try:
        return [line async for line in exported_lines(operator, tenant=tenant, since_ms=0, until_ms=None)]
    finally:
        await operator.close()


def deed(tenant: str, number: int) -> AuditFacts:
    return AuditFacts(kind=AuditKind.SIGN_IN, at=system_clock(), tenant=tenant, user=f"u{number}")


async def test_many_writers_make_one_chain_of_each_tenant(bus: EmbeddedNats) -> None:
    connections = [await bus.connect(StageName.GATEWAY) for _ in range(4)]
    writers = [AuditLog(Held(connection)) for connection in connections]
    deeds = [(writer, deed(tenant, number)) for number in range(60) for writer in writers for tenant in ("acme", "b")]
    await asyncio.gather(*(writer.record(facts) for writer, facts in deeds))
    for connection in connections:
        await connection.close()
    lines = await export(bus)
    result = verify_lines(lines)
    assert not isinstance(result, AuditFault), result
    assert [(chain.tenant, chain.first, chain.last) for chain in result] == [("acme", 1, 240), ("b", 1, 240)]
    users = sorted(json.loads(line)["user"] for line in await export(bus, "acme"))
    assert users == sorted(f"u{number}" for number in range(60) for _ in writers)


async def test_a_gateway_that_starts_anew_goes_on_with_the_chain_and_a_record_taken_from_the_file_is_missed(
    bus: EmbeddedNats,
) -> None:
    for start in range(3):
        connection = await bus.connect(StageName.GATEWAY)
        log = AuditLog(Held(connection))
        for number in range(4):
            await log.record(deed("acme", 4 * start + number))
        await connection.close()
    lines = await export(bus)
    result = verify_lines(lines)
    assert not isinstance(result, AuditFault), result
    assert [(chain.first, chain.last) for chain in result] == [(1, 12)]
    for gap in (1, 4, 10):
        missed = verify_lines([*lines[:gap], *lines[gap + 1 :]])
        assert isinstance(missed, AuditFault)
        assert missed.line == gap + 1
    kept = json.loads(lines[-1])["hash"]
    assert isinstance(verify_lines(lines[:-1], [kept]), AuditFault)


async def test_a_writer_that_was_stopped_leaves_the_others_to_go_on(bus: EmbeddedNats) -> None:
    connection = await bus.connect(StageName.GATEWAY)
    log = AuditLog(Held(connection))
    tasks = [asyncio.create_task(log.record(deed("acme", number))) for number in range(20)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    await log.record(deed("acme", 99))
    await connection.close()
    assert all(result is None or isinstance(result, BusTrouble | asyncio.CancelledError) for result in results)
    assert not isinstance(verify_lines(await export(bus)), AuditFault)


async def test_a_statement_keeps_its_place_when_its_words_are_erased(bus: EmbeddedNats) -> None:
    gateway = await bus.connect(StageName.GATEWAY)
    envelope, sequence = await ask(gateway)
    conclusion = a_conclusion(envelope, Outcome.CANCELLED)
    stored = await append(gateway, conclusion, sequence)
    assert isinstance(stored, Stored)
    finish = a_finish(conclusion)
    await append(gateway, finish, stored.sequence)
    holder = Held(gateway)

    async def conclusion_in_log(address):  # type: ignore[no-untyped-def]
        return await conclusion_of(holder, address)

    trail = AuditTrail(AuditLog(holder), conclusion_in_log, clock=system_clock)
    await trail.record_end(finish, address_of(finish))
    await gateway.close()
    (line,) = await export(bus)
    record = json.loads(line)
    assert (record["kind"], record["outcome"], record["query_id"]) == ("statement", "cancelled", envelope.query_id)
    assert record["words"]["question"] == envelope.question
    assert envelope.question not in json.dumps({name: value for name, value in record.items() if name != "words"})
    purge = await bus.connect("purge")
    reply = await purge.request("$JS.API.STREAM.PURGE.QUERYBUS", b"{}", timeout=5)
    await purge.close()
    assert json.loads(reply.data)["success"]
    (line,) = await export(bus)
    assert "words" not in json.loads(line)
    result = verify_lines([line])
    assert not isinstance(result, AuditFault)
    assert result[0].without_words == 1


async def test_a_siem_receives_each_record_with_its_words_and_can_do_nothing_else(bus: EmbeddedNats) -> None:
    siem, gateway = await bus.connect("audit"), await bus.connect(StageName.GATEWAY)
    records = await siem.subscribe(siem_subject("*"))
    await siem.flush()
    words = Words(question="how many?", sql="SELECT 1", salt=salt_of(b"event"))
    facts = deed("acme", 1).model_copy(update={"kind": AuditKind.STATEMENT, "words_sha256": words.digest})
    await AuditLog(Held(gateway)).record(facts, words)
    message = await records.next_msg(timeout=5)
    assert message.subject == "querybus.v1.siem.acme"
    result = verify_lines([message.data.decode()])
    assert not isinstance(result, AuditFault)
    assert json.loads(message.data)["words"]["sql"] == "SELECT 1"
    reply = await siem.request("$JS.API.DIRECT.GET.QUERYBUS_AUDIT", b'{"seq": 1}', timeout=5)
    assert json.loads(reply.data)["user"] == "u1"
    await siem.close()
    await gateway.close()


async def test_nobody_deletes_from_the_audit(bus: EmbeddedNats) -> None:
    gateway = await bus.connect(StageName.GATEWAY)
    await AuditLog(Held(gateway)).record(deed("acme", 1))
    await gateway.close()
    migrate = await bus.connect("migrate")
    info = json.loads((await migrate.request("$JS.API.STREAM.INFO.QUERYBUS_AUDIT", b"", timeout=5)).data)
    config = info["config"]
    assert (config["deny_delete"], config["deny_purge"]) == (True, True)
    body = json.dumps(config | {"deny_delete": False, "deny_purge": False}).encode()
    answer = json.loads((await migrate.request("$JS.API.STREAM.UPDATE.QUERYBUS_AUDIT", body, timeout=5)).data)
    await migrate.close()
    assert "error" in answer
    assert not isinstance(verify_lines(await export(bus)), AuditFault)
