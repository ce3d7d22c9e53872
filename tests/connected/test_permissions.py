"""Every forbidden publish and subscribe is refused by a real server, and no reply subject forges an event.

The expectations are written out by hand, not read from the code that generates the permission file.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, Iterator

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.admin.migrate import assert_topology
from querybus.bus.admin.permissions import Outsider
from querybus.bus.client import BusClient, NotAccepted
from querybus.bus.connection import BusRefused, Held, connect, reach
from querybus.bus.requests.calls import Answer, Call, CallServer
from querybus.core.subjects import StageName
from tests.support.bus_sign_in import key_of, letting_in

pytestmark = pytest.mark.connected

ALICE = Outsider("acme", "app", "alice", "business")
BOB = Outsider("acme", "app-2", "bob", "analyst")
OTHER = Outsider("other", "app", "alice", "business")
OUTSIDERS = (ALICE, BOB, OTHER)
SERVICES = ("gateway", "generator", "validator", "executor", "recovery", "presenter")

EVENTS = {
    "asked": {"gateway"},
    "returned": {"recovery", "executor"},
    "drafted": {"generator", "recovery"},
    "confirmed": {"gateway"},
    "approved": {"validator"},
    "failed": {"generator", "validator", "executor"},
    "concluded": {"generator", "validator", "executor", "recovery", "gateway"},
    "finished": {"presenter", "gateway"},
    "guessed": set[str](),
}
BUCKETS_WRITTEN = {
    "catalog": {"executor"},
    "connections": {"executor"},
    "writes": {"executor"},
    "knowledge": {"gateway"},
    "preferences": {"gateway"},
    "batches": {"gateway"},
    "credentials": {"gateway"},
    "limits": {"gateway"},
    "threads": {"gateway"},
    "models": set[str](),
}
BUCKETS_READ = {
    "catalog": {"gateway", "generator", "validator", "executor", "recovery", "presenter"},
    "connections": {"gateway", "generator", "validator", "executor", "recovery", "presenter"},
    "writes": {"executor"},
    "knowledge": {"gateway", "generator"},
    "preferences": {"gateway", "generator", "recovery", "presenter"},
    "batches": {"gateway"},
    "credentials": {"gateway"},
    "limits": {"gateway", "generator", "presenter"},
    "threads": {"gateway"},
    "models": {"generator", "presenter"},
}

# subject -> who may publish it, of the six services
PUBLISHED = {
    **{f"querybus.v1.event.acme.t1.q1.{event}": who for event, who in EVENTS.items()},
    **{f"$KV.querybus_{bucket}.some.key": who for bucket, who in BUCKETS_WRITTEN.items()},
    "$KV.querybus_limits.model.some": {"gateway", "generator", "presenter"},
    **{f"$JS.API.DIRECT.GET.KV_querybus_{b}.$KV.querybus_{b}.some.key": who for b, who in BUCKETS_READ.items()},
    **{f"$JS.API.DIRECT.GET.KV_querybus_{bucket}": who for bucket, who in BUCKETS_READ.items()},
    **{f"$JS.API.CONSUMER.MSG.NEXT.QUERYBUS.{service}": {service} for service in SERVICES},
    **{f"$JS.ACK.QUERYBUS.{service}.1.1.1.1.0": {service} for service in SERVICES},
    **{f"$JS.API.CONSUMER.INFO.QUERYBUS.{service}": {service, "gateway"} for service in SERVICES},
    **{f"querybus.v1.dead.{service}": {service, "gateway"} for service in SERVICES},
    **{f"_INBOX.{s}.abc": {"executor"} if s == "validator" else set[str]() for s in SERVICES},
    "_INBOX.migrate.abc": set(),
    "_INBOX.gateway.set-up.abc": {"executor"},
    "_INBOX.gateway.set-up.abc.def": set(),
    "_INBOX.gateway.model.abc": {"generator"},
    "_INBOX.gateway.model.abc.def": set(),
    "_INBOX.out.acme.app.abc": {"gateway"},
    "querybus.v1.rpc.set-up.acme": {"gateway"},
    "querybus.v1.rpc.model.acme": {"gateway"},
    "$KV.querybus_models.all": {"generator"},
    "querybus.v1.rpc.database.acme.shop.explain": {"validator"},
    "querybus.v1.rpc.database.acme.shop.probe": {"validator"},
    "querybus.v1.page.acme.q1.7-1.1": {"executor"},
    "querybus.v1.answer.acme.alice.business.q1": {"gateway"},
    "querybus.v1.submit.acme.app": {"gateway"},
    "querybus.v1.call.acme.app.ask": set(),
    "querybus.v1.ctl.cancel.acme.q1": {"gateway"},
    "querybus.v1.ctl.refresh.acme.shop": {"gateway"},
    "querybus.v1.progress.acme.alice.business.q1": set(SERVICES),
    "querybus.v2.event.acme.t1.q1.asked": set(),
    "$JS.API.STREAM.MSG.GET.QUERYBUS": set(SERVICES),
    "$JS.API.DIRECT.GET.QUERYBUS": {"gateway", "generator", "validator"},
    "$JS.API.DIRECT.GET.QUERYBUS_RESULTS": set(),
    "$JS.API.DIRECT.GET.QUERYBUS_RESULTS.querybus.v1.page.acme.q1.7-1.1": {"gateway", "presenter"},
    "$JS.API.DIRECT.GET.QUERYBUS_SUBMIT.querybus.v1.submit.acme.app": {"gateway"},
    "$JS.API.DIRECT.GET.QUERYBUS_SUBMIT": set(),
    "$JS.API.CONSUMER.MSG.NEXT.QUERYBUS_SUBMIT.acme": {"gateway"},
    "$JS.API.CONSUMER.MSG.NEXT.QUERYBUS_ADVISORIES.sweeper": {"gateway"},
    "$JS.API.CONSUMER.CREATE.QUERYBUS": {"gateway"},
    "$JS.API.CONSUMER.CREATE.QUERYBUS.generator": set(),
    "$JS.API.CONSUMER.CREATE.QUERYBUS.sweeper-1.querybus.v1.event.*.*.*.*": set(),
    "$JS.API.CONSUMER.DURABLE.CREATE.QUERYBUS.generator": set(),
    "$JS.API.CONSUMER.DELETE.QUERYBUS.generator": set(),
    "$JS.API.CONSUMER.PAUSE.QUERYBUS.generator": set(),
    "$JS.API.CONSUMER.RESET.QUERYBUS.generator": set(),
    "$JS.API.STREAM.CREATE.MINE": set(),
    "$JS.API.STREAM.CREATE.QUERYBUS": set(),
    "$JS.API.STREAM.UPDATE.QUERYBUS": set(),
    "$JS.API.STREAM.DELETE.QUERYBUS": set(),
    "$JS.API.STREAM.PURGE.QUERYBUS": set(),
    "$JS.API.STREAM.MSG.DELETE.QUERYBUS": set(),
    "$JS.API.STREAM.SNAPSHOT.QUERYBUS": set(),
    "$JS.API.STREAM.RESTORE.QUERYBUS": set(),
    "$JS.API.STREAM.NAMES": set(),
    "$JS.API.INFO": set(),
    "$SYS.REQ.SERVER.PING": set(),
    "$SYS.REQ.SERVER.N1.KICK": set(),
    "$SYS.REQ.SERVER.PING.CONNZ": set(),
    "$SYS.REQ.USER.AUTH": set(),
    "$SYS._INBOX.abc.def": {"gateway"},
}

# subject -> who may subscribe to it, of the six services
RECEIVED = {
    **{f"_INBOX.{service}.>": {service} for service in SERVICES},
    "_INBOX.>": set(),
    "_INBOX.out.acme.app.>": set(),
    "_INBOX.migrate.>": set(),
    ">": set(),
    "querybus.>": set(),
    "$JS.>": set(),
    "$SYS.>": set(),
    "$SYS.REQ.USER.AUTH": {"gateway"},
    "$SYS._INBOX.>": set(),
    "$KV.>": set(),
    "$KV.querybus_catalog.*.head": {"generator", "validator", "recovery", "presenter"},
    "$KV.querybus_connections.*": {"gateway", "generator", "validator", "recovery", "presenter"},
    "$KV.querybus_knowledge.>": {"generator"},
    "$KV.querybus_models.>": {"generator", "presenter"},
    "$KV.querybus_preferences.>": {"gateway"},
    "$KV.querybus_credentials.>": {"gateway"},
    "$KV.querybus_writes.>": set(),
    "querybus.v1.rpc.database.*.*.*": {"executor"},
    "querybus.v1.rpc.set-up.*": {"executor"},
    "querybus.v1.rpc.model.*": {"generator"},
    "querybus.v1.ctl.cancel.*.*": set(SERVICES),
    "querybus.v1.ctl.refresh.*.*": {"executor"},
    "querybus.v1.call.*.*.*": {"gateway"},
    "querybus.v1.submit.*.*": set(),
    "querybus.v1.answer.*.*.*.*": set(),
    "querybus.v1.page.>": set(),
    "querybus.v1.dead.>": set(),
    "querybus.v1.progress.*.*.*.*": {"gateway"},
    **{f"querybus.v1.event.*.*.*.{event}": set[str]() for event in EVENTS},
}

OUTSIDE_DENIED_PUBLISH = (
    *(f"querybus.v1.event.acme.t1.q1.{event}" for event in EVENTS),
    "querybus.v1.call.acme.app-2.ask",
    "querybus.v1.call.other.app.ask",
    "querybus.v1.submit.acme.app-2",
    "querybus.v1.submit.other.app",
    "querybus.v1.answer.acme.alice.business.q1",
    "querybus.v1.progress.acme.alice.business.q1",
    "querybus.v1.page.acme.q1.7-1.1",
    "querybus.v1.audit.acme",
    "querybus.v1.siem.acme",
    "$JS.API.STREAM.PURGE.QUERYBUS_AUDIT",
    "$JS.API.STREAM.MSG.DELETE.QUERYBUS_AUDIT",
    "querybus.v1.rpc.database.acme.shop.probe",
    "querybus.v1.rpc.set-up.acme",
    "querybus.v1.rpc.model.acme",
    "querybus.v1.ctl.cancel.acme.q1",
    "querybus.v1.dead.gateway",
    "$JS.API.INFO",
    "$JS.API.STREAM.INFO.QUERYBUS",
    "$JS.API.STREAM.MSG.GET.QUERYBUS",
    "$JS.API.DIRECT.GET.QUERYBUS",
    "$JS.API.DIRECT.GET.QUERYBUS_RESULTS.querybus.v1.page.acme.q1.7-1.1",
    "$JS.API.CONSUMER.CREATE.QUERYBUS",
    "$JS.ACK.QUERYBUS.generator.1.1.1.1.0",
    "$KV.querybus_catalog.shop.head",
    "$SYS.REQ.SERVER.PING",
    "_INBOX.gateway.abc",
    "_INBOX.out.acme.app-2.abc",
    "_R_.abc",
    "$SYS.REQ.SERVER.N1.KICK",
    "$SYS._INBOX.abc.def",
)
OUTSIDE_DENIED_SUBSCRIBE = (
    ">",
    "_INBOX.>",
    "_INBOX.out.>",
    "_INBOX.out.acme.app-2.>",
    "querybus.>",
    "querybus.v1.event.>",
    "querybus.v1.event.*.*.*.finished",
    "querybus.v1.answer.acme.*.*.*",
    "querybus.v1.answer.acme.bob.analyst.*",
    "querybus.v1.answer.acme.alice.analyst.*",
    "querybus.v1.progress.acme.alice.analyst.*",
    "querybus.v1.answer.other.alice.business.*",
    "querybus.v1.progress.acme.*.*.*",
    "querybus.v1.call.acme.app.*",
    "querybus.v1.submit.acme.app",
    "$JS.>",
    "$KV.>",
    "$SYS.>",
)


@pytest.fixture(scope="module")
def bus() -> Iterator[EmbeddedNats]:
    server = EmbeddedNats(["acme", "other"], sync="2m")

    async def start() -> None:
        await server.start()
        await server.migrate()

    asyncio.run(start())
    yield server
    asyncio.run(server.stop())


class Violations:
    """What the server complained about, in order; it says something of a publish or subscription only afterwards."""

    def __init__(self) -> None:
        self.received: list[str] = []

    async def __call__(self, error: Exception) -> None:
        self.received.append(str(error).lower())

    async def refused(self, connection: Client, word: str, subjects: list[str]) -> set[str]:
        """Return those of the subjects that the server has complained about by now."""
        # The complaints stand before the last PONG; the client passes each on in a task of its own.
        await reach(connection)
        await asyncio.sleep(0.02)
        return {
            subject
            for subject in subjects
            if any(f'violation for {word} to "{subject.lower()}"' in one for one in self.received)
        }


@contextlib.asynccontextmanager
async def user(bus: EmbeddedNats, name: str, violations: Violations) -> AsyncGenerator[Client]:
    outsider = next((outsider for outsider in OUTSIDERS if outsider.name == name), None)
    if outsider is None:
        connection = await bus.connect(name, on_error=violations)
    else:
        async with letting_in(bus, *OUTSIDERS):
            connection = await connect(bus.url, name, key_of(outsider), inbox=outsider.inbox, on_error=violations)
    try:
        yield connection
    finally:
        await connection.close()


@contextlib.asynccontextmanager
async def program(
    bus: EmbeddedNats, outsider: Outsider, violations: Violations | None = None
) -> AsyncGenerator[BusClient]:
    """Give the client of a program that calls from outside."""
    async with user(bus, outsider.name, violations or Violations()) as connection:
        yield BusClient(connection, outsider)


@contextlib.asynccontextmanager
async def answering(gateway: Client, answer: Answer) -> AsyncGenerator[None]:
    """Answer calls as the gateway does, while the block runs."""
    calls = CallServer(Held(gateway), answer, slots=16, drain_seconds=2)
    await calls.start()
    try:
        yield
    finally:
        await calls.drain()


async def refused_publishes(bus: EmbeddedNats, name: str, subjects: list[str]) -> set[str]:
    violations = Violations()
    async with user(bus, name, violations) as connection:
        for subject in subjects:
            await connection.publish(subject, b"not an envelope")
        return await violations.refused(connection, "publish", subjects)


async def refused_subscribes(bus: EmbeddedNats, name: str, subjects: list[str]) -> set[str]:
    violations = Violations()
    async with user(bus, name, violations) as connection:
        for subject in subjects:
            await connection.subscribe(subject)
        return await violations.refused(connection, "subscription", subjects)


async def stored(bus: EmbeddedNats, stream: str = "QUERYBUS") -> int:
    async with user(bus, "gateway", Violations()) as gateway:
        answer = await gateway.request(f"$JS.API.STREAM.INFO.{stream}", b"", timeout=30)
        return int(json.loads(answer.data)["state"]["last_seq"])


@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_publishes_what_its_row_grants_and_nothing_else(bus: EmbeddedNats, service: str) -> None:
    expected = {subject for subject, allowed in PUBLISHED.items() if service not in allowed}
    assert await refused_publishes(bus, service, list(PUBLISHED)) == expected


@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_receives_what_its_row_grants_and_nothing_else(bus: EmbeddedNats, service: str) -> None:
    expected = {subject for subject, allowed in RECEIVED.items() if service not in allowed}
    assert await refused_subscribes(bus, service, list(RECEIVED)) == expected


async def test_migrate_can_neither_delete_nor_speak_nor_listen(bus: EmbeddedNats) -> None:
    denied = [
        "$JS.API.STREAM.DELETE.QUERYBUS",
        "$JS.API.STREAM.PURGE.QUERYBUS",
        "$JS.API.STREAM.CREATE.MINE",
        "$JS.API.CONSUMER.DELETE.QUERYBUS.generator",
        "$JS.API.CONSUMER.MSG.NEXT.QUERYBUS.generator",
        "$JS.API.STREAM.MSG.GET.QUERYBUS",
        "$JS.API.DIRECT.GET.QUERYBUS",
        "querybus.v1.event.acme.t1.q1.asked",
        "$KV.querybus_catalog.shop.head",
    ]
    assert await refused_publishes(bus, "migrate", denied) == set(denied)
    received = [">", "querybus.>", "_INBOX.gateway.>", "$JS.>"]
    assert await refused_subscribes(bus, "migrate", received) == set(received)


TOOLS_DENIED = (
    *(f"querybus.v1.event.acme.t1.q1.{event}" for event in EVENTS),
    *(f"querybus.v1.dead.{service}" for service in SERVICES),
    *(f"$KV.querybus_{bucket}.some.key" for bucket in BUCKETS_WRITTEN),
    *(f"$JS.API.DIRECT.GET.KV_querybus_{bucket}" for bucket in BUCKETS_READ),
    "querybus.v1.call.acme.app.ask",
    "querybus.v1.answer.acme.alice.business.q1",
    "querybus.v1.rpc.database.acme.shop.probe",
    "querybus.v1.rpc.set-up.acme",
    "querybus.v1.rpc.model.acme",
    "$JS.API.STREAM.DELETE.QUERYBUS_DEAD",
    "$JS.API.STREAM.MSG.DELETE.QUERYBUS",
    "$JS.API.STREAM.PURGE.QUERYBUS_DEAD",
    "$JS.API.STREAM.PURGE.QUERYBUS_SUBMIT",
    "$JS.API.STREAM.UPDATE.QUERYBUS",
    "$JS.API.CONSUMER.CREATE.QUERYBUS",
    "$JS.API.CONSUMER.MSG.NEXT.QUERYBUS.generator",
    "_INBOX.gateway.abc",
    "$JS.API.STREAM.SNAPSHOT.QUERYBUS_RESULTS",
    "$JS.API.STREAM.RESTORE.KV_querybus_connections",
    "$JS.API.STREAM.RESTORE.MINE",
)
KEPT = (
    *("QUERYBUS", "QUERYBUS_DEAD", "QUERYBUS_AUDIT"),
    *(f"KV_querybus_{name}" for name in BUCKETS_WRITTEN if name not in ("catalog", "connections")),
)
TOOLS = {
    "operator": {
        "$JS.API.DIRECT.GET.QUERYBUS",
        "$JS.API.DIRECT.GET.QUERYBUS_DEAD",
        "$JS.API.DIRECT.GET.QUERYBUS_AUDIT",
        "$JS.API.STREAM.MSG.DELETE.QUERYBUS_DEAD",
        "querybus.v1.submit.acme.0190b5a2-0000-7000-8000-000000000000",
        "$JS.API.DIRECT.GET.KV_querybus_models",
        "$KV.querybus_models.some.key",
    },
    "audit": {"$JS.API.DIRECT.GET.QUERYBUS_AUDIT"},
    "purge": {
        "$JS.API.STREAM.PURGE.QUERYBUS",
        "$JS.API.STREAM.PURGE.QUERYBUS_RESULTS",
    },
    "backup": {
        *(f"$JS.API.STREAM.{verb}.{name}" for name in KEPT for verb in ("INFO", "SNAPSHOT", "RESTORE")),
        *(f"$JS.SNAPSHOT.{verb}.{name}.abc" for name in KEPT for verb in ("ACK", "RESTORE")),
    },
}
"""What each tool of operators may publish, and no service may: beyond it, nothing."""


@pytest.mark.parametrize("name", TOOLS)
async def test_an_operators_tool_does_its_own_work_and_nothing_else(bus: EmbeddedNats, name: str) -> None:
    subjects = [*TOOLS_DENIED, *(subject for granted in TOOLS.values() for subject in granted)]
    assert await refused_publishes(bus, name, subjects) == set(subjects) - TOOLS[name]
    received = [">", "querybus.>", "_INBOX.gateway.>", "querybus.v1.event.*.*.*.finished", "querybus.v1.answer.>"]
    received += ["querybus.v1.siem.*"] if name != "audit" else ["querybus.v1.audit.*"]
    assert await refused_subscribes(bus, name, received) == set(received)


async def test_an_outsider_publishes_nothing_but_its_own_calls_and_submits(bus: EmbeddedNats) -> None:
    before = await stored(bus)
    assert await refused_publishes(bus, ALICE.name, list(OUTSIDE_DENIED_PUBLISH)) == set(OUTSIDE_DENIED_PUBLISH)
    own = ["querybus.v1.call.acme.app.ask", "querybus.v1.submit.acme.app"]
    assert await refused_publishes(bus, ALICE.name, own) == set()
    assert await stored(bus) == before


async def test_an_outsider_receives_nothing_but_its_own_inbox_and_its_users_answers(bus: EmbeddedNats) -> None:
    assert await refused_subscribes(bus, ALICE.name, list(OUTSIDE_DENIED_SUBSCRIBE)) == set(OUTSIDE_DENIED_SUBSCRIBE)
    own = [
        "_INBOX.out.acme.app.>",
        "querybus.v1.answer.acme.alice.business.*",
        "querybus.v1.progress.acme.alice.business.*",
    ]
    assert await refused_subscribes(bus, ALICE.name, own) == set()


async def test_another_tenant_neither_calls_nor_submits_nor_receives_as_this_one(bus: EmbeddedNats) -> None:
    denied = ["querybus.v1.call.acme.app.ask", "querybus.v1.submit.acme.app"]
    assert await refused_publishes(bus, OTHER.name, denied) == set(denied)
    received = ["querybus.v1.answer.acme.alice.business.*", "querybus.v1.answer.*.alice.*.*", "_INBOX.out.acme.app.>"]
    assert await refused_subscribes(bus, OTHER.name, received) == set(received)


async def test_nobody_comes_in_without_a_password_or_with_a_wrong_one(bus: EmbeddedNats) -> None:
    for name, password in (("gateway", ""), ("gateway", "wrong"), ("", ""), ("sys", "sys"), ("other.app", "x")):
        with pytest.raises(BusRefused, match="does not let"):
            await connect(bus.url, name, password)


FORGERIES = (
    "querybus.v1.event.acme.t1.q1.asked",
    "querybus.v1.event.acme.t1.q1.approved",
    "querybus.v1.event.acme.t1.q1.finished",
    "querybus.v1.answer.acme.alice.business.q1",
    "querybus.v1.page.acme.q1.7-1.1",
    "querybus.v1.dead.executor",
    "$KV.querybus_catalog.shop.head",
    "$JS.API.STREAM.PURGE.QUERYBUS",
    "querybus.v1.submit.other.app",
    "querybus.v1.submit.acme.app-2",
)
ALL_STREAMS = ("QUERYBUS", "QUERYBUS_RESULTS", "QUERYBUS_DEAD", "KV_querybus_connections")


@pytest.mark.parametrize("forged", FORGERIES)
async def test_no_reply_subject_of_an_outsider_reaches_a_stream(bus: EmbeddedNats, forged: str) -> None:
    before = {stream: await stored(bus, stream) for stream in ALL_STREAMS}
    queued = await stored(bus, "QUERYBUS_SUBMIT")

    async def answer(_: Call) -> bytes:
        return b'{"event": "approved"}'

    violations = Violations()
    async with (
        user(bus, "gateway", violations) as gateway,
        user(bus, ALICE.name, Violations()) as outsider,
        answering(gateway, answer),
    ):
        await outsider.publish("querybus.v1.call.acme.app.ask", b"{}", reply=forged)
        await outsider.publish("querybus.v1.submit.acme.app", b"{}", reply=forged)
        await outsider.publish("$JS.API.DIRECT.GET.QUERYBUS", b'{"seq": 1}', reply=forged)
        await outsider.publish("$JS.API.CONSUMER.MSG.NEXT.QUERYBUS.generator", b"1", reply=forged)
        # Its own inbox is answered, so the calls before it were taken too.
        assert (await outsider.request("querybus.v1.call.acme.app.ask", b"{}", timeout=30)).data
        await reach(gateway)
    assert violations.received == []
    # The question itself was stored, its acknowledgement nowhere.
    assert await stored(bus, "QUERYBUS_SUBMIT") == queued + 1
    assert {stream: await stored(bus, stream) for stream in ALL_STREAMS} == before


@pytest.mark.parametrize("reserved", ["$JS.ACK.QUERYBUS.generator.1.1.1.1.0", "_R_.abc.def"])
async def test_a_reply_subject_that_the_server_keeps_for_itself_is_refused(bus: EmbeddedNats, reserved: str) -> None:
    queued = await stored(bus, "QUERYBUS_SUBMIT")
    async with user(bus, ALICE.name, Violations()) as outsider:
        await outsider.publish("querybus.v1.submit.acme.app", b"{}", reply=reserved)
        await reach(outsider)
    assert await stored(bus, "QUERYBUS_SUBMIT") == queued


VICTIMS = (
    "_INBOX.out.acme.app-2.x1",
    "querybus.v1.answer.acme.bob.analyst.q1",
    "querybus.v1.progress.acme.bob.analyst.q1",
)


@pytest.mark.parametrize("forged", VICTIMS)
async def test_nobody_has_an_answer_delivered_to_another_credential_of_its_tenant(
    bus: EmbeddedNats, forged: str
) -> None:
    """The server acknowledges what is submitted wherever its sender says, and an acknowledgement is no answer."""
    received: list[bytes] = []

    async def receive(message: Msg) -> None:
        received.append(message.data)

    async def answer(call: Call) -> bytes:
        return json.dumps({"status": "finished", "of": call.credential}).encode()

    async with (
        user(bus, "gateway", Violations()) as gateway,
        user(bus, ALICE.name, Violations()) as outsider,
        user(bus, BOB.name, Violations()) as victim,
        answering(gateway, answer),
    ):
        await victim.subscribe(forged, cb=receive)
        await reach(victim)
        await outsider.publish("querybus.v1.call.acme.app.answer", b"{}", reply=forged)
        await outsider.publish("querybus.v1.submit.acme.app", b"{}", reply=forged)
        own = await outsider.request("querybus.v1.call.acme.app.answer", b"{}", timeout=30)
        assert json.loads(own.data)["of"] == "app"
        await reach(outsider)
        await reach(victim)
    assert all(set(json.loads(data)) == {"stream", "seq"} for data in received)


async def test_a_person_s_business_credential_receives_no_analysts_answer(bus: EmbeddedNats) -> None:
    violations = Violations()
    async with user(bus, "gateway", violations) as gateway, program(bus, ALICE) as client, client.answers() as answers:
        await gateway.publish("querybus.v1.answer.acme.alice.analyst.q1", b'{"sql": "SELECT 1"}')
        await gateway.publish("querybus.v1.answer.acme.alice.business.q2", b'{"whose": "alice"}')
        assert await asyncio.wait_for(anext(answers), 60) == ("q2", {"whose": "alice"})
    assert violations.received == []


async def test_a_call_its_answer_and_progress_go_through_without_a_violation(bus: EmbeddedNats) -> None:
    inside, outside = Violations(), Violations()

    async def answer(message: Msg) -> None:
        await message.respond(json.dumps({"heard": json.loads(message.data), "on": message.subject}).encode())

    async with (
        user(bus, "gateway", inside) as gateway,
        user(bus, "generator", inside) as generator,
        program(bus, ALICE, outside) as client,
        client.answers() as answers,
        client.progress() as progress,
    ):
        await gateway.subscribe("querybus.v1.call.*.*.*", cb=answer)
        await reach(gateway)
        result = await client.call("ask", {"question": "How many?"}, timeout_seconds=60)
        assert result == {"heard": {"question": "How many?"}, "on": "querybus.v1.call.acme.app.ask"}
        # Others' answers pass by.
        await gateway.publish("querybus.v1.answer.acme.bob.analyst.q0", b'{"whose": "bob"}')
        await gateway.publish("querybus.v1.answer.other.alice.business.q0", b'{"whose": "other"}')
        await gateway.publish("querybus.v1.answer.acme.alice.business.q1", b'{"whose": "alice"}')
        assert await asyncio.wait_for(anext(answers), 60) == ("q1", {"whose": "alice"})
        await generator.publish("querybus.v1.progress.acme.bob.analyst.q0", b'{"n": 0}')
        await generator.publish("querybus.v1.progress.acme.alice.business.q1", b'{"n": 1}')
        assert await asyncio.wait_for(anext(progress), 60) == ("q1", {"n": 1})
    assert inside.received == []
    assert outside.received == []


async def test_a_submitted_question_waits_for_the_gateway_and_the_same_key_is_the_same_question(
    bus: EmbeddedNats,
) -> None:
    violations = Violations()
    async with (
        user(bus, "gateway", violations) as gateway,
        program(bus, OTHER, violations) as client,
    ):
        first = await client.submit({"question": "How many?"}, "key-1")
        again = await client.submit({"question": "How many?"}, "key-1")
        assert (first.duplicate, again.duplicate, again.sequence) == (False, True, first.sequence)
        subscription = await gateway.jetstream().pull_subscribe_bind(durable="other", stream="QUERYBUS_SUBMIT")
        (message,) = await subscription.fetch(1, timeout=30)
        assert message.subject == "querybus.v1.submit.other.app"
        assert (message.headers or {})["Idempotency-Key"] == "key-1"
        await message.ack_sync()
    assert violations.received == []


async def test_a_call_is_repeated_until_a_gateway_listens(bus: EmbeddedNats) -> None:
    async def answer(message: Msg) -> None:
        await message.respond(b"{}")

    async with (
        program(bus, BOB) as client,
        user(bus, "gateway", Violations()) as gateway,
    ):
        call = asyncio.create_task(client.call("ask", {}, timeout_seconds=60))
        await asyncio.sleep(0.3)
        assert not call.done()
        await gateway.subscribe("querybus.v1.call.*.*.*", cb=answer)
        assert await call == {}


async def test_a_call_that_nobody_takes_ends_in_time(bus: EmbeddedNats) -> None:
    async with program(bus, ALICE) as client:
        begun = time.monotonic()
        with pytest.raises(NotAccepted, match="no gateway"):
            await client.call("ask", {}, timeout_seconds=3.0)
        # It has gone on asking meanwhile: a gateway may be about to listen.
        assert time.monotonic() - begun > 1.0


async def test_a_large_request_of_an_outsider_is_refused(bus: EmbeddedNats) -> None:
    async with program(bus, ALICE) as client:
        with pytest.raises(NotAccepted):
            await client.submit({"question": "x" * 300_000}, "large")


@pytest.mark.parametrize("service", SERVICES)
async def test_each_service_finds_its_topology_and_works_its_durable_without_a_violation(
    bus: EmbeddedNats, service: str
) -> None:
    events = {
        "gateway": ("presenter", "finished"),
        "generator": ("gateway", "asked"),
        "validator": ("generator", "drafted"),
        "executor": ("validator", "approved"),
        "recovery": ("executor", "failed"),
        "presenter": ("executor", "concluded"),
    }
    maker, event = events[service]
    violations = Violations()
    async with user(bus, service, violations) as connection, user(bus, maker, violations) as sender:
        durable = await assert_topology(connection, StageName(service), tenants=("acme", "other"))
        assert durable.name == service
        subscription = await connection.jetstream().pull_subscribe_bind(durable=service, stream="QUERYBUS")
        with contextlib.suppress(TimeoutError):
            # What the publishing tests have left.
            while True:
                for message in await subscription.fetch(100, timeout=0.1):
                    await message.ack()
        fence = {
            "Nats-Expected-Last-Subject-Sequence": "0",
            "Nats-Expected-Last-Subject-Sequence-Subject": f"querybus.v1.event.acme.*.q-{service}.>",
        }
        subject = f"querybus.v1.event.acme.t1.q-{service}.{event}"
        ack = await sender.jetstream().publish(subject, b"{}", headers=fence)
        (message,) = await subscription.fetch(1, timeout=30)
        assert message.metadata.sequence.stream == ack.seq
        await message.in_progress()
        await message.nak(delay=0.01)
        (message,) = await subscription.fetch(1, timeout=30)
        assert message.metadata.num_delivered == 2
        await message.ack_sync()
        await connection.jetstream().get_msg("QUERYBUS", subject=subject)
        await connection.jetstream().publish(f"querybus.v1.dead.{service}", b"{}")
    assert violations.received == []


async def test_the_sweeper_follows_headers_without_a_violation_and_without_a_durable(bus: EmbeddedNats) -> None:
    violations = Violations()
    received: asyncio.Queue[Msg] = asyncio.Queue()
    follow = {
        "deliver_policy": "all",
        "ack_policy": "none",
        "mem_storage": True,
        "num_replicas": 1,
        "headers_only": True,
        "flow_control": True,
        "idle_heartbeat": 5 * 10**9,
        "filter_subject": "querybus.v1.event.swept.>",
    }
    async with user(bus, "gateway", violations) as gateway:
        inbox = gateway.new_inbox()
        await gateway.subscribe(inbox, cb=received.put)
        create = "$JS.API.CONSUMER.CREATE.QUERYBUS"
        body = {"stream_name": "QUERYBUS", "config": {**follow, "deliver_subject": inbox}}
        made = await gateway.request(create, json.dumps(body).encode(), timeout=30)
        assert "error" not in json.loads(made.data)
        headers = {"Querybus-Deadline": "7"}
        await gateway.jetstream().publish("querybus.v1.event.swept.t1.q1.asked", b"long body", headers=headers)
        message = await asyncio.wait_for(received.get(), 60)
        assert message.data == b""
        assert (message.headers or {})["Querybus-Deadline"] == "7"
        # The same right makes no durable, and changes none, whatever name the request holds.
        for named in ({"durable_name": "generator"}, {"name": "generator"}, {"durable_name": "mine"}):
            body = {"stream_name": "QUERYBUS", "config": {**follow, "deliver_subject": inbox, **named}}
            answer = await gateway.request(create, json.dumps(body).encode(), timeout=30)
            assert "error" in json.loads(answer.data), named
    assert violations.received == []


async def test_the_validator_asks_and_the_executor_answers_without_a_violation(bus: EmbeddedNats) -> None:
    async def answer(message: Msg) -> None:
        await message.respond(b"explained")

    violations = Violations()
    async with user(bus, "executor", violations) as executor, user(bus, "validator", violations) as validator:
        await executor.subscribe("querybus.v1.rpc.database.*.*.*", queue="executor", cb=answer)
        await reach(executor)
        reply = await validator.request("querybus.v1.rpc.database.acme.shop.explain", b"{}", timeout=30)
        assert reply.data == b"explained"
    assert violations.received == []
