"""`migrate` makes the bus what the table says, as often as it is called; nobody else creates or changes anything.

It creates and updates, it never deletes or purges; what the table does not name (placement, an operator's own
metadata) stays. `assert_topology` is what a service does before it starts. Both speak the JetStream API itself,
because the client library drops fields that it does not know.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import nats.errors
from nats.aio.client import Client

from querybus.core.subjects import STAGE_OF_DURABLE, StageName, durables_of
from querybus.core.topology import (
    ADVISORIES,
    ASSERTED_STREAMS,
    EVENTS,
    READ_BUCKETS,
    SUBMIT,
    WRITTEN_BUCKETS,
    Bucket,
    Consumer,
    Stream,
    Topology,
    submit_durable,
    topology,
)

REQUEST_SECONDS: Final = 10.0
LOOK_SECONDS: Final = 2.0
ADVICE: Final = "type: querybus operate migrate"

_API: Final = "$JS.API"
_NANOSECONDS: Final = 1_000_000_000
_STREAM_NOT_FOUND: Final = 10_059
_CONSUMER_NOT_FOUND: Final = 10_014

# What an operator may choose; a service does not know it and does not compare it.
_CHOSEN: Final = frozenset(
    {"max_bytes", "max_age", "num_replicas", "max_ack_pending", "max_msg_size", "max_msgs_per_subject", "ack_wait"}
)
_FILTERS: Final = frozenset({"filter_subject", "filter_subjects"})
# What the server lets nobody change later.
_FIRST_ONLY: Final = frozenset({"deliver_policy", "opt_start_seq"})


class TopologyError(Exception):
    """The bus is not what the table says; the text says what is wrong and what to type."""


class MigrateError(Exception):
    """The server refuses what the table says; the text holds its reason."""


@dataclass(frozen=True, slots=True)
class Durable:
    """What a stage must know of its durable, as the server has it."""

    stream: str
    name: str
    ack_wait_seconds: float
    max_deliver: int
    max_ack_pending: int


async def migrate(connection: Client, table: Topology | None = None, *, start_sequence: int = 0) -> tuple[str, ...]:
    """Create or update every stream, durable and bucket; return a line per change, none if all was as it should be.

    A durable that is missing starts with what comes next, never with what lies in the stream; with
    `start_sequence` the durables of QUERYBUS start there. MigrateError says what the server refused.
    """
    table = table or topology()
    wanted = [(stream.name, _stream_config(stream, table.replicas)) for stream in table.streams]
    wanted += [(bucket.stream, _bucket_config(bucket, table.replicas)) for bucket in table.buckets]
    # Streams together, then durables together: each write reaches the disk, and one at a time they wait for each other.
    made = await asyncio.gather(*(_make(connection, "STREAM", name, config) for name, config in wanted))
    starts = await asyncio.gather(*(_unread_from(connection, consumer) for consumer in table.consumers))
    made += await asyncio.gather(
        *(
            _make_durable(connection, consumer, start_sequence or start)
            for consumer, start in zip(table.consumers, starts, strict=True)
        )
    )
    return tuple(change for changes in made for change in changes)


async def _make_durable(connection: Client, consumer: Consumer, start: int) -> list[str]:
    config = _consumer_config(consumer)
    if start and consumer.stream == EVENTS:
        config |= {"deliver_policy": "by_start_sequence", "opt_start_seq": start}
    return await _make(connection, "CONSUMER", f"{consumer.stream}.{consumer.name}", config)


async def _unread_from(connection: Client, consumer: Consumer) -> int:
    """Return where a stage's further durable starts whose first one delivered its event until now; 0 for any other.

    What was delivered and not settled comes twice, and the log's fence lets it count once.
    """
    stage = STAGE_OF_DURABLE.get(consumer.name) if consumer.stream == EVENTS else None
    if stage is None or consumer.name == stage.value:
        return 0
    first = await _look(connection, "CONSUMER", f"{EVENTS}.{stage}", REQUEST_SECONDS)
    return 0 if first is None else int(first["ack_floor"]["stream_seq"]) + 1


async def assert_topology(
    connection: Client, stage: StageName, *, tenants: Sequence[str] = (), table: Topology | None = None
) -> Durable:
    """Return the stage's durable as the server has it, or raise TopologyError naming everything that is wrong.

    Looks at the streams, buckets and durables that the stage uses; the gateway's include one per tenant. Sizes, ages,
    replicas and a shorter ack_wait are the operator's and are not compared.
    """
    table = table or topology(tenants=tuple(tenants))
    buckets = {*READ_BUCKETS[stage], *WRITTEN_BUCKETS.get(stage, ())}
    durables = {(EVENTS, durable) for durable in durables_of(stage)}
    if stage is StageName.GATEWAY:
        durables |= {(SUBMIT, submit_durable(tenant)) for tenant in tenants}
        durables |= {(consumer.stream, consumer.name) for consumer in table.consumers if consumer.stream == ADVISORIES}
    wanted = [
        ("STREAM", stream.name, _stream_config(stream, 1))
        for stream in table.streams
        if stream.name in ASSERTED_STREAMS[stage]
    ]
    wanted += [
        ("STREAM", bucket.stream, _bucket_config(bucket, 1)) for bucket in table.buckets if bucket.name in buckets
    ]
    wanted += [
        ("CONSUMER", f"{consumer.stream}.{consumer.name}", _consumer_config(consumer))
        for consumer in table.consumers
        if (consumer.stream, consumer.name) in durables
    ]
    compared = await asyncio.gather(*(_compare(connection, *item) for item in wanted))
    wrong = [trouble for troubles in compared for trouble in troubles]
    own = {} if wrong else await _info(connection, "CONSUMER", f"{EVENTS}.{stage.value}") or {}
    if wrong or not own:
        raise TopologyError(f"the bus is not ready for {stage}: {'; '.join(wrong)}; {ADVICE}")
    return Durable(
        stream=EVENTS,
        name=stage.value,
        ack_wait_seconds=own["ack_wait"] / _NANOSECONDS,
        max_deliver=own["max_deliver"],
        max_ack_pending=own["max_ack_pending"],
    )


def _stream_config(stream: Stream, replicas: int) -> dict[str, Any]:
    config: dict[str, Any] = {
        "name": stream.name,
        "retention": stream.retention,
        "storage": "file",
        "discard": stream.discard,
        "max_age": int(stream.max_age_seconds * _NANOSECONDS),
        "max_bytes": stream.max_bytes,
        "max_msg_size": stream.max_message_bytes,
        "duplicate_window": int(stream.duplicate_window_seconds * _NANOSECONDS),
        "allow_direct": stream.allow_direct,
        "num_replicas": replicas,
        "subjects": list(stream.subjects),
    }
    if stream.messages_per_subject_max is not None:
        config["max_msgs_per_subject"] = stream.messages_per_subject_max
        config["discard_new_per_subject"] = stream.discard == "new"
    if stream.is_append_only:
        config |= {"deny_delete": True, "deny_purge": True}
    if stream.has_message_ages:
        config["allow_msg_ttl"] = True
    return config


def _bucket_config(bucket: Bucket, replicas: int) -> dict[str, Any]:
    return {
        "name": bucket.stream,
        "subjects": [f"$KV.{bucket.name}.>"],
        "retention": "limits",
        "storage": "file",
        "discard": bucket.discard,
        "max_msgs_per_subject": 1,
        "max_bytes": bucket.max_bytes,
        "max_msg_size": bucket.max_value_bytes,
        "max_age": int(bucket.max_age_seconds * _NANOSECONDS),
        "allow_rollup_hdrs": True,
        "deny_delete": True,
        "allow_direct": True,
        "allow_msg_ttl": True,
        "num_replicas": replicas,
    }


def _consumer_config(consumer: Consumer) -> dict[str, Any]:
    config: dict[str, Any] = {
        "durable_name": consumer.name,
        "name": consumer.name,
        "deliver_policy": consumer.deliver,
        "ack_policy": "explicit",
        "ack_wait": int(consumer.ack_wait_seconds * _NANOSECONDS),
        "max_deliver": consumer.max_deliver,
        "max_ack_pending": consumer.max_ack_pending,
        "max_waiting": consumer.max_waiting,
        # As many copies as its stream has, whatever their number: a backup may go onto a bus that keeps another.
        "num_replicas": 0,
    }
    if len(consumer.filters) == 1:
        config["filter_subject"] = consumer.filters[0]
    elif consumer.filters:
        config["filter_subjects"] = list(consumer.filters)
    return config


async def _make(connection: Client, kind: str, name: str, config: dict[str, Any]) -> list[str]:
    present = await _info(connection, kind, name)
    what = f"{kind.lower()} {name}"
    if present is None:
        await _change(connection, kind, "CREATE", name, config)
        return [f"{what}: created"]
    differing = _differing(present, config, _FIRST_ONLY)
    if not differing:
        return []
    kept = {key: value for key, value in config.items() if key not in _FIRST_ONLY}
    # One filter and several are two fields of a durable, of which only one may be set.
    rest = {key: value for key, value in present.items() if key not in _FILTERS or not _FILTERS & kept.keys()}
    await _change(connection, kind, "UPDATE", name, {**rest, **kept})
    return [f"{what}: changed {', '.join(differing)}"]


async def _compare(connection: Client, kind: str, name: str, config: dict[str, Any]) -> list[str]:
    try:
        present = await _info(connection, kind, name, LOOK_SECONDS)
    except TimeoutError:
        # The server does not answer whoever has no right to ask: the permission file is older than the tenant, say.
        return [f"{kind.lower()} {name} gives no answer (does the permission file name it?)"]
    if present is None:
        return [f"{kind.lower()} {name} is missing"]
    differing = _differing(present, config, _FIRST_ONLY | _CHOSEN)
    # Shorter is the operator's choice, the heartbeat follows it; longer would find a dead worker too late.
    if present.get("ack_wait", 0) > config.get("ack_wait", 0):
        differing.append("ack_wait")
    return [f"{kind.lower()} {name} differs in {', '.join(differing)}"] if differing else []


def _differing(present: Mapping[str, Any], config: Mapping[str, Any], ignored: frozenset[str]) -> list[str]:
    # The server leaves out what is false or zero.
    return sorted(key for key, value in config.items() if key not in ignored and not _same(present.get(key), value))


def _same(present: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        fields = cast("Mapping[str, Any]", wanted)
        result = cast("Mapping[str, Any]", present or {})
        return all(_same(result.get(key), value) for key, value in fields.items())
    if isinstance(wanted, list):
        items, others = cast("list[Any]", wanted), cast("list[Any]", present or [])
        return len(items) == len(others) and all(map(_same, others, items))
    return bool(present == wanted or (not wanted and not present))


async def _info(
    connection: Client, kind: str, name: str, timeout_seconds: float = REQUEST_SECONDS
) -> dict[str, Any] | None:
    answer = await _look(connection, kind, name, timeout_seconds)
    return None if answer is None else cast("dict[str, Any]", answer["config"])


async def _look(connection: Client, kind: str, name: str, timeout_seconds: float) -> dict[str, Any] | None:
    answer = await _request(connection, f"{_API}.{kind}.INFO.{name}", b"", timeout_seconds)
    error = answer.get("error")
    if error is None:
        return answer
    if error.get("err_code") in (_STREAM_NOT_FOUND, _CONSUMER_NOT_FOUND):
        return None
    raise MigrateError(f"{kind.lower()} {name}: {error.get('description', 'no reason given')}")


async def _change(connection: Client, kind: str, verb: str, name: str, config: dict[str, Any]) -> None:
    if kind == "CONSUMER":
        # One request creates and updates; `action` keeps it from doing the other of the two.
        stream = name.partition(".")[0]
        body: dict[str, Any] = {"stream_name": stream, "config": config, "action": verb.lower()}
        subject = f"{_API}.CONSUMER.CREATE.{name}"
    else:
        body = config
        subject = f"{_API}.STREAM.{verb}.{name}"
    answer = await _request(connection, subject, json.dumps(body).encode())
    if "error" in answer:
        reason = answer["error"].get("description", "no reason given")
        raise MigrateError(f"{kind.lower()} {name}: the server refuses to {verb.lower()} it: {reason}")


async def _request(
    connection: Client, subject: str, body: bytes, timeout_seconds: float = REQUEST_SECONDS
) -> dict[str, Any]:
    try:
        message = await connection.request(subject, body, timeout=timeout_seconds)
    except nats.errors.NoRespondersError as error:
        raise TopologyError("the server has no JetStream for this user") from error
    return json.loads(message.data)
