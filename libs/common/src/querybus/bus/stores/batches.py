"""The manifests of batches, one key each, written only over the revision that the writer had read.

Beside it an open batch has a mark, so that finding the ones to run does not read all that a week has left. A mark
without a manifest, or with one that has ended, is removed by whoever meets it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from querybus.bus.connection import Connected
from querybus.bus.log.publish import BusTrouble
from querybus.bus.log.stream_reads import Kept, all_below, last, some_below, store
from querybus.core.stored.batch import Manifest
from querybus.core.subjects import token
from querybus.core.topology import BATCHES

TOMBSTONE_TTL: Final = "1h"
READ_KEPT_MAX: Final = 64

_EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
_OPERATION: Final = "KV-Operation"
_STREAM: Final = f"KV_{BATCHES}"


@dataclass(frozen=True, slots=True)
class Mark:
    """An open batch: tokens of its tenant and its id, and the mark's own revision."""

    tenant: str
    batch: str
    revision: int


@dataclass(frozen=True, slots=True)
class KeptBatch:
    """A manifest and the revision that a change of it must name."""

    manifest: Manifest
    revision: int


class BatchStore:
    """The bucket of batches. Everything raises BusTrouble; writes raise TooLarge for what never fits."""

    def __init__(self, holder: Connected) -> None:
        self._holder = holder
        self._read: dict[str, KeptBatch] = {}

    async def create(self, manifest: Manifest) -> bool:
        """Store a new batch and mark it open; False if its id is taken."""
        subject = _manifest(manifest.credential.tenant, manifest.batch_id)
        made = await store(self._holder.connection, subject, _bytes(manifest), {_EXPECTED: "0"})
        if made is not None:
            await self.mark(manifest)
        return made is not None

    async def get(self, tenant: str, batch: str) -> KeptBatch | None:
        """Return the batch of a tenant, or None."""
        kept = await last(self._holder.connection, _STREAM, _manifest(tenant, batch))
        if kept is None or _OPERATION in kept.headers:
            return None
        known = self._read.get(kept.subject)
        if known is not None and known.revision == kept.sequence:
            return known
        try:
            batch_now = KeptBatch(Manifest.model_validate_json(kept.data), kept.sequence)
        except ValidationError as error:
            raise BusTrouble(f"{kept.subject} holds no batch: {error.error_count()} errors") from error
        # Whoever follows a batch looks twice a second: what has not changed is not parsed again.
        self._read[kept.subject] = batch_now
        while len(self._read) > READ_KEPT_MAX:
            self._read.pop(next(iter(self._read)))
        return batch_now

    async def count(self, tenant: str) -> int:
        """Return how many batches of a tenant are kept."""
        some = await some_below(
            self._holder.connection, _STREAM, f"$KV.{BATCHES}.manifest.{token(tenant)}.>", sequence=1, most=1
        )
        return some[0].pending + 1 if some else 0

    async def replace(self, manifest: Manifest, revision: int) -> int | None:
        """Write over this revision and return the new one; None if another was first."""
        subject = _manifest(manifest.credential.tenant, manifest.batch_id)
        return await store(self._holder.connection, subject, _bytes(manifest), {_EXPECTED: str(revision)})

    async def mark(self, manifest: Manifest) -> None:
        """Mark the batch as open, so that a runner finds it."""
        await store(self._holder.connection, _mark(manifest.credential.tenant, manifest.batch_id), b"{}")

    async def open(self) -> tuple[Mark, ...]:
        """Return the marks of the batches that are open, oldest first."""
        result = await all_below(self._holder.connection, _STREAM, f"$KV.{BATCHES}.open.>")
        return tuple(_read(kept) for kept in result if _OPERATION not in kept.headers)

    async def close(self, mark: Mark) -> None:
        """Remove the mark, unless the batch was marked again."""
        headers = {
            _OPERATION: "PURGE", "Nats-Rollup": "sub", "Nats-TTL": TOMBSTONE_TTL, _EXPECTED: str(mark.revision),
        }  # fmt: skip
        await store(self._holder.connection, f"$KV.{BATCHES}.open.{mark.tenant}.{mark.batch}", b"", headers)


def _manifest(tenant: str, batch: str) -> str:
    return f"$KV.{BATCHES}.manifest.{token(tenant)}.{token(batch)}"


def _mark(tenant: str, batch: str) -> str:
    return f"$KV.{BATCHES}.open.{token(tenant)}.{token(batch)}"


def _read(kept: Kept) -> Mark:
    tenant, batch = kept.subject.split(".")[-2:]
    return Mark(tenant, batch, kept.sequence)


def _bytes(manifest: Manifest) -> bytes:
    return manifest.model_dump_json().encode()
