"""The bucket of models: one value for the stack, set by operators and followed by the services that call models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pydantic import ValidationError

from querybus.bus.connection import Connected
from querybus.bus.log.publish import BusTrouble
from querybus.bus.log.stream_reads import last, store
from querybus.bus.stores.trust import Watch
from querybus.core.stored.models import Models
from querybus.core.topology import MODELS, MODELS_KEY

TRIES_MAX: Final = 5
_SUBJECT: Final = f"$KV.{MODELS}.{MODELS_KEY}"
_EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
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
        if self._cached is not None and self._watch.trusts(MODELS_KEY):
            return self._cached
        started = self._watch.now()
        result, _ = await self._stored()
        if self._cached is None or self._cached != result:
            self._cached = result
        self._watch.checked(MODELS_KEY, started)
        return self._cached

    async def write(self, models: Models) -> None:
        """Set the models; raises BusTrouble."""
        await store(self._holder.connection, _SUBJECT, models.model_dump_json().encode())

    async def change(self, alter: Callable[[Models], Models]) -> None:
        """Replace what is set by what `alter` makes of it, whoever else changes it meanwhile; raises BusTrouble."""
        for _ in range(TRIES_MAX):
            known, sequence = await self._stored()
            data = alter(known).model_dump_json().encode()
            if await store(self._holder.connection, _SUBJECT, data, {_EXPECTED: str(sequence)}) is not None:
                return
        raise BusTrouble("the models are being changed by too many at once")

    async def _stored(self) -> tuple[Models, int]:
        kept = await last(self._holder.connection, f"KV_{MODELS}", _SUBJECT)
        if kept is None or _OPERATION in kept.headers:
            return Models(), 0 if kept is None else kept.sequence
        try:
            return Models.model_validate_json(kept.data), kept.sequence
        except ValidationError as error:
            raise BusTrouble(f"the models cannot be read: {error.error_count()} errors") from error
