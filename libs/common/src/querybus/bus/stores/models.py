"""The bucket of models: one value for the stack, set by operators and followed by the services that call models."""

from __future__ import annotations

from typing import Final

from pydantic import ValidationError

from querybus.bus.connection import Connected
from querybus.bus.log.publish import BusTrouble
from querybus.bus.log.stream_reads import last, store
from querybus.bus.stores.trust import Watch
from querybus.core.stored.models import Models
from querybus.core.topology import MODELS

KEY: Final = "all"
_SUBJECT: Final = f"$KV.{MODELS}.{KEY}"
_OPERATION: Final = "KV-Operation"


class ModelStore:
    """The models that are set; the same value as long as nothing changed."""

    def __init__(self, holder: Connected, *, follow: bool = False) -> None:
        self.name = "models"
        self._holder = holder
        self._follow = follow
        self._watch = Watch(holder, MODELS, "*")
        self._cached: Models | None = None

    async def start(self) -> None:
        """Begin to follow changes, if this store does."""
        if self._follow:
            await self._watch.start()

    async def drain(self) -> None:
        await self._watch.drain()

    async def ping(self) -> str | None:
        return None

    async def read(self) -> Models:
        """Return what is set, empty if nothing is; raises BusTrouble."""
        if self._cached is not None and self._watch.trusts(KEY):
            return self._cached
        started = self._watch.now()
        kept = await last(self._holder.connection, f"KV_{MODELS}", _SUBJECT)
        try:
            result = Models() if kept is None or _OPERATION in kept.headers else Models.model_validate_json(kept.data)
        except ValidationError as error:
            raise BusTrouble(f"the models cannot be read: {error.error_count()} errors") from error
        if self._cached is None or self._cached != result:
            self._cached = result
        self._watch.checked(KEY, started)
        return self._cached

    async def write(self, models: Models) -> None:
        """Set the models; raises BusTrouble."""
        await store(self._holder.connection, _SUBJECT, models.model_dump_json().encode())
