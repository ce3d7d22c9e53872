"""A small typed client of the gateway's HTTP API, sync and async.

from querybus_client import Client

with Client("http://127.0.0.1:8080", key) as client:
    answer = client.ask("How many orders were there last month?")
    print(answer.message, answer.rows)
"""

from querybus_client.async_client import AsyncClient
from querybus_client.client import Client
from querybus_client.errors import (
    Conflict,
    Gone,
    Invalid,
    NotAllowed,
    NotFinished,
    NotFound,
    QueryBusError,
    Refused,
    StreamBroken,
    TooMany,
    Unauthenticated,
    Unavailable,
    Unreachable,
)
from querybus_client.values import (
    Answer,
    Batch,
    BatchItem,
    Change,
    Choice,
    Column,
    Confirmation,
    Event,
    Options,
    Page,
    Query,
    Reading,
    Thread,
    ThreadState,
    Turn,
)

__all__ = [
    "Answer",
    "AsyncClient",
    "Batch",
    "BatchItem",
    "Change",
    "Choice",
    "Client",
    "Column",
    "Confirmation",
    "Conflict",
    "Event",
    "Gone",
    "Invalid",
    "NotAllowed",
    "NotFinished",
    "NotFound",
    "Options",
    "Page",
    "Query",
    "QueryBusError",
    "Reading",
    "Refused",
    "StreamBroken",
    "Thread",
    "ThreadState",
    "TooMany",
    "Turn",
    "Unauthenticated",
    "Unavailable",
    "Unreachable",
]
