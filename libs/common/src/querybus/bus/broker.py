"""A service's FastStream broker: its user's connection, which comes back for ever and hides nothing.

Left at its defaults FastStream loses events and can freeze its process after it gives up reconnecting. Here it
never gives up, never declares a stream, never logs two lines per message, and uses its user's own inbox prefix.
"""

from __future__ import annotations

from types import TracebackType
from typing import Final

import nats.errors
from faststream.nats import NatsBroker
from nats.aio.client import Client
from nats.js import JetStreamContext
from typing_extensions import override

from querybus.bus.connection import connect, inbox_prefix
from querybus.core.subjects import StageName
from querybus.ops.log import get_log
from querybus.ops.metrics import Metrics
from querybus.ops.settings import ServiceSettings

CONNECT_SECONDS_MAX: Final = 60.0
"""How long a service waits at its start for a bus that is not there yet."""

_log = get_log(__name__)


class BusBroker(NatsBroker):
    """A NatsBroker whose connection is made by querybus.bus.connection, as one bus user.

    FastStream wraps a connection's error callback in one that raises, which ends the reconnecting for good when a
    server refuses a login for a moment; so the connection is made here.
    """

    def __init__(
        self, url: str, *, user: str, password: str, graceful_seconds: float, metrics: Metrics | None = None
    ) -> None:
        super().__init__(url.split(","), logger=None, graceful_timeout=graceful_seconds)
        self._url = url
        self._user = user
        self._password = password
        self._metrics = metrics

    @override
    async def _connect(self) -> Client:
        connection = await connect(
            self._url,
            self._user,
            self._password,
            inbox=inbox_prefix(self._user),
            on_error=self._on_error,
            timeout_seconds=CONNECT_SECONDS_MAX,
        )
        self.config.connect(connection)
        return connection

    @override
    async def start(self) -> None:
        """Connect and start the request/reply subjects; a second call does nothing."""
        if not self.running:
            await super().start()

    @override
    async def stop(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> None:
        """Stop the request/reply subjects and close the connection, also one that is lost at the moment."""
        connection = self._connection
        try:
            await super().stop(exc_type, exc_val, exc_tb)
        except nats.errors.Error:
            # A connection that is away cannot be drained; left alone it would try to come back for ever.
            if connection is not None:
                await connection.close()
            self._connection = None
            self.config.disconnect()

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
        graceful_seconds=settings.drain_seconds,
        metrics=metrics,
    )


def jetstream(broker: NatsBroker) -> JetStreamContext:
    """Return the JetStream side of a connected broker."""
    return broker.connection.jetstream()
