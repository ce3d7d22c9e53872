"""What lets outsiders into a bus without a gateway: the gateway's own part, over a registry in memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.admin.permissions import Outsider
from querybus.bus.connection import Held
from querybus.bus.requests.sign_in import SignInServer
from querybus.core.credential import Credential, key_hash, key_text
from querybus.ops.clock import system_clock
from querybus_gateway.access.bus_tokens import BusTokens
from querybus_gateway.access.callers import Callers
from querybus_gateway.bus.sign_in import BusSignIn
from tests.support.audit_in_memory import AuditInMemory


def key_of(outsider: Outsider) -> str:
    return key_text(outsider.tenant, outsider.credential, f"secret-of-{outsider.name.replace('.', '-')}")


class RegistryInMemory:
    """Credentials by tenant and name; what is taken out of `known` is revoked."""

    def __init__(self, *outsiders: Outsider) -> None:
        self.known = {
            (outsider.tenant, outsider.credential): Credential(
                name=outsider.credential,
                tenant=outsider.tenant,
                user=outsider.user,
                audience=outsider.audience,
                key_sha256=key_hash(key_of(outsider)),
            )
            for outsider in outsiders
        }

    async def get(self, tenant: str, credential: str) -> Credential | None:
        return self.known.get((tenant, credential))


async def _no_session_key() -> bytes:
    return bytes(32)


@asynccontextmanager
async def letting_in(bus: EmbeddedNats, *outsiders: Outsider) -> AsyncGenerator[RegistryInMemory]:
    """Let these callers in while the block runs."""
    registry = RegistryInMemory(*outsiders)
    callers = Callers(registry, tokens=None, session_key=_no_session_key, clock=system_clock)
    connection = await bus.connect("gateway")
    sign_in = BusSignIn(
        callers, BusTokens(bus.issuer_key), tenants=bus.tenants, clock=system_clock, audit=AuditInMemory()
    )
    part = SignInServer(Held(connection), sign_in.admit)
    await part.start()
    try:
        yield registry
    finally:
        await part.drain()
        await connection.close()
