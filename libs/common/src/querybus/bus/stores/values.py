"""Values of one bucket by tenant and name, such as what people taught about a connection or prefer.

A change names the revision that it replaces, so that two people who teach at once lose nothing. Reads raise BusTrouble;
`follow` (needs the right to subscribe to the bucket) spares a reader the look at the bus each time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from querybus.bus.connection import Connected
from querybus.bus.log.publish import BusTrouble
from querybus.bus.log.stream_reads import Kept, all_below, last, store
from querybus.bus.stores.trust import Watch
from querybus.core.subjects import token

TRIES_MAX: Final = 5
VALUES_KEPT_MAX: Final = 256

_EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
_OPERATION: Final = "KV-Operation"
_ValueT = TypeVar("_ValueT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class _Kept(Generic[_ValueT]):
    value: _ValueT
    revision: int


class ValueStore(Generic[_ValueT]):
    """Values of one bucket under `<first>.<second>`; an absent one reads as its empty form."""

    def __init__(
        self,
        holder: Connected,
        bucket: str,
        model: type[_ValueT],
        empty: Callable[[str, str], _ValueT],
        *,
        follow: bool,
    ) -> None:
        self.name = bucket.removeprefix("querybus_")
        self._holder = holder
        self._bucket = bucket
        self._model = model
        self._empty = empty
        self._follow = follow
        self._watch = Watch(holder, bucket, "*.*")
        self._cached: OrderedDict[str, _ValueT] = OrderedDict()

    async def start(self) -> None:
        """Begin to follow changes, if this store does."""
        if self._follow:
            await self._watch.start()

    async def drain(self) -> None:
        await self._watch.drain()

    async def ping(self) -> str | None:
        return None

    async def read(self, tenant: str, name: str) -> _ValueT:
        """Return the value; raises BusTrouble."""
        key = f"{token(tenant)}.{token(name)}"
        if key in self._cached and self._watch.trusts(key):
            return self._cached[key]
        started = self._watch.now()
        result = await self._kept(key, tenant, name)
        known = self._cached.get(key)
        # What did not change keeps its identity, by which readers know what they have prepared.
        value = known if known is not None and known == result.value else result.value
        if self._follow:
            self._cached[key] = value
            self._cached.move_to_end(key)
            while len(self._cached) > VALUES_KEPT_MAX:
                self._cached.popitem(last=False)
            self._watch.checked(key, started)
        return value

    async def all(self, tenant: str) -> tuple[_ValueT, ...]:
        """Return every value of the tenant, looked at on the bus; BusTrouble."""
        kept = await all_below(self._holder.connection, f"KV_{self._bucket}", f"$KV.{self._bucket}.{token(tenant)}.*")
        return tuple(self._parsed(item).value for item in kept if _OPERATION not in item.headers)

    async def change(self, tenant: str, name: str, alter: Callable[[_ValueT], _ValueT | None]) -> _ValueT | None:
        """Replace the value by what `alter` makes of it, and return that; None if it makes nothing. BusTrouble."""
        key = f"{token(tenant)}.{token(name)}"
        for _ in range(TRIES_MAX):
            kept = await self._kept(key, tenant, name)
            altered = alter(kept.value)
            if altered is None or altered == kept.value:
                return altered
            headers = {_EXPECTED: str(kept.revision)}
            data = altered.model_dump_json().encode()
            if await store(self._holder.connection, f"$KV.{self._bucket}.{key}", data, headers) is not None:
                return altered
        raise BusTrouble(f"{self._bucket} is being changed by too many at once")

    async def _kept(self, key: str, tenant: str, name: str) -> _Kept[_ValueT]:
        kept = await last(self._holder.connection, f"KV_{self._bucket}", f"$KV.{self._bucket}.{key}")
        if kept is None or _OPERATION in kept.headers:
            return _Kept(self._empty(tenant, name), 0 if kept is None else kept.sequence)
        return self._parsed(kept)

    def _parsed(self, kept: Kept) -> _Kept[_ValueT]:
        try:
            return _Kept(self._model.model_validate_json(kept.data), kept.sequence)
        except ValidationError as error:
            raise BusTrouble(f"{kept.subject} cannot be read: {error.error_count()} errors") from error
