"""The catalog and a person's choices as the presenter may have them: at once or not at all, because words never wait."""

from __future__ import annotations

import asyncio
from typing import Protocol

from querybus.bus.log.publish import BusTrouble
from querybus.core.catalog import Catalog
from querybus.core.stored.choices import Choices, choices_name
from querybus.ops.log import get_log

_log = get_log(__name__)


class Store(Protocol):
    """Where catalogs are kept; may raise BusTrouble."""

    async def read(self, connection: str) -> Catalog | None: ...


class PatientCatalogs:
    """Reads a catalog within a limit; trouble and lateness read as "there is none"."""

    def __init__(self, store: Store, *, wait_seconds: float) -> None:
        self._store = store
        self._wait_seconds = wait_seconds

    async def read(self, connection: str) -> Catalog | None:
        """Return the catalog, or None."""
        try:
            async with asyncio.timeout(self._wait_seconds):
                return await self._store.read(connection)
        except (BusTrouble, TimeoutError) as error:
            _log.warning("presenter.without_catalog", error=type(error).__name__)
            return None


class ChoiceBucket(Protocol):
    """Where choices are kept; may raise BusTrouble."""

    async def read(self, tenant: str, name: str) -> Choices: ...


class PatientChoices:
    """Reads a person's choices within a limit; trouble and lateness read as "nothing was chosen"."""

    def __init__(self, store: ChoiceBucket, *, wait_seconds: float) -> None:
        self._store = store
        self._wait_seconds = wait_seconds

    async def read(self, tenant: str, user: str) -> Choices:
        """Return the person's choices."""
        try:
            async with asyncio.timeout(self._wait_seconds):
                return await self._store.read(tenant, choices_name(user))
        except (BusTrouble, TimeoutError) as error:
            _log.warning("presenter.without_choices", error=type(error).__name__)
            return Choices()
