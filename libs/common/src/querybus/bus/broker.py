"""A service's FastStream broker: its user's connection, which comes back for ever and hides nothing.

Left at its defaults FastStream loses events and can freeze its process after it gives up reconnecting. Here it
never gives up, never declares a stream, never logs two lines per message, and uses its user's own inbox prefix.
"""

from __future__ import annotations

from typing import Final

import nats.errors
from nats.aio.client import Client
from nats.js import JetStreamContext

from querybus.bus.connection import connect, inbox_prefix
from querybus.core.subjects import StageName
from querybus.ops.log import get_log
from querybus.ops.metrics import Metrics
from querybus.ops.settings import ServiceSettings

CONNECT_SECONDS_MAX: Final = 60.0
"""How long a service waits at its start for a bus that is not there yet."""

_log = get_log(__name__)


class BusBroker:
    """The connection of one bus user, made by querybus.bus.connection; `querybus.bus.serving` gives it to FastStream.

    FastStream's own broker wraps a connection's error callback in one that raises, which ends the reconnecting for good
    when a server refuses a login for a moment. It also loads what one question at the terminal needs nothing of.
    """

    def __init__(self, url: str, *, user: str, password: str, metrics: Metrics | None = None) -> None:
        self._url = url
        self._user = user
        self._password = password
        self._metrics = metrics
        self._connection: Client | None = None

    @property
    def connection(self) -> Client:
        """The connection; raises nats.errors.ConnectionClosedError before `connect` and after `stop`."""
        if self._connection is None:
            raise nats.errors.ConnectionClosedError
        return self._connection

    async def connect(self) -> Client:
        """Return the connection, made at the first call."""
        if self._connection is None:
            self._connection = await connect(
                self._url,
                self._user,
                self._password,
                inbox=inbox_prefix(self._user),
                on_error=self._on_error,
                timeout_seconds=CONNECT_SECONDS_MAX,
            )
        return self._connection

    async def stop(self) -> None:
        """Close the connection after what it still has to send, also one that is lost at the moment."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            await connection.drain()
        except nats.errors.Error:
            # A connection that is away cannot be drained; left alone it would try to come back for ever.
            await connection.close()

    async def _on_error(self, error: Exception) -> None:
        text = str(error).lower()
        if "permissions violation" in text:
            if self._metrics is not None:
                self._metrics.permission_violation()
            _log.error("bus.forbidden", user=self._user, reason=text)
            return
        _log.warning("bus.error", user=self._user, reason=text or type(error).__name__)


def make_broker(settings: ServiceSettings, name: StageName, metrics: Metrics | None = None) -> BusBroker:
    """Return the broker of a service: its user is the service's name; nothing is connected yet."""
    return BusBroker(
        settings.nats_url,
        user=name,
        password=settings.nats_password.get_secret_value(),
        metrics=metrics,
    )


def jetstream(broker: BusBroker) -> JetStreamContext:
    """Return the JetStream side of a connected broker."""
    return broker.connection.jetstream()
