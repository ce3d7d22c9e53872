"""Lists the connections of outsiders at every server and ends those that somebody says should not be there.

It does so as a bus user that can list connections and end them and nothing else; that user's connection lives for one
look. Source: the system services `CONNZ` and `KICK` of nats-server.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import nats.errors
from nats.aio.client import Client

from querybus.bus.admin.permissions import DISCONNECT_USER
from querybus.bus.connection import BusRefused, connect
from querybus.bus.log.publish import BusTrouble

ANSWER_SECONDS_MAX: Final = 1.0
"""How long servers may take to list their connections; nothing says how many servers there are."""
PAGE: Final = 1_024
_SERVER: Final = "$SYS.REQ.SERVER"

MayStay = Callable[[str, str], Awaitable[bool]]
"""Whether a connection of this account, under this name, may stay."""


class OutsideConnections:
    """The connections of all servers."""

    def __init__(self, url: str, password: str) -> None:
        self._url = url
        self._password = password

    async def end_unless(self, may_stay: MayStay) -> int:
        """End the connections that may not stay and return how many those were. Raises BusTrouble."""
        try:
            connection = await connect(self._url, DISCONNECT_USER, self._password)
        except BusRefused as error:
            raise BusTrouble("the bus does not let the user `disconnect` in") from error
        ended = 0
        try:
            # All of them first: pages of a list that becomes shorter would leave some out.
            for server, item in [one async for one in _connections(connection)]:
                if await may_stay(item.get("account", ""), item.get("authorized_user", "")):
                    continue
                subject = f"{_SERVER}.{server}.KICK"
                await connection.request(subject, json.dumps({"cid": item["cid"]}).encode(), timeout=ANSWER_SECONDS_MAX)
                ended += 1
        except (nats.errors.Error, TimeoutError) as error:
            raise BusTrouble(f"connections are not ended: {type(error).__name__}") from error
        finally:
            await connection.close()
        return ended


async def _connections(connection: Client) -> AsyncGenerator[tuple[str, dict[str, Any]]]:
    """Yield every connection of every server, with the server's id."""
    inbox = connection.new_inbox()
    listed = await connection.subscribe(inbox)
    await connection.publish(f"{_SERVER}.PING.CONNZ", _page(0), reply=inbox)
    answers: list[dict[str, Any]] = []
    with suppress(nats.errors.TimeoutError):
        while True:
            answers.append(json.loads((await listed.next_msg(timeout=ANSWER_SECONDS_MAX)).data))
    await listed.unsubscribe()
    for answer in answers:
        server, page = answer["server"]["id"], answer["data"]
        while True:
            for item in page["connections"]:
                yield server, item
            offset = page["offset"] + PAGE
            if offset >= page["total"]:
                break
            more = await connection.request(f"{_SERVER}.{server}.CONNZ", _page(offset), timeout=ANSWER_SECONDS_MAX)
            page = json.loads(more.data)["data"]


def _page(offset: int) -> bytes:
    return json.dumps({"auth": True, "limit": PAGE, "offset": offset, "sort": "cid"}).encode()
