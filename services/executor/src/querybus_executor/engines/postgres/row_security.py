"""PostgreSQL's own row security as the first wall: it reads two settings of the transaction, `querybus.tenant` and `.user`.

Both end with the transaction, which is always rolled back or committed before the session is lent again. No statement
can set them: `set_config` and SET are not allowed by the guard.
"""

from __future__ import annotations

from typing import Any, Final

from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import Reader
from querybus_executor.connections.config import ConnectionConfig
from querybus_executor.engines.server import CONNECT_SECONDS_MAX, NoReaderError, Server

_NAMING: Final = "SELECT set_config('querybus.tenant', $1, true), set_config('querybus.user', $2, true)"


async def name_reader(session: Any, reader: Reader | None) -> None:
    """Set tenant and user for the rest of the session's transaction; they travel as parameters, not in a text.

    Raises NoReaderError without a reader: a statement then runs for nobody.
    """
    if reader is None:
        raise NoReaderError
    await session.execute(_NAMING, reader.tenant, reader.user)


async def without_row_security(config: ConnectionConfig, server: Server) -> Failure | None:
    """Return a failure that names a filtered table on which row security does not hold for the connection's user."""
    policy = config.policy
    names = {name.lower() for rules in (policy, *policy.tenants.values()) for name in rules.row_filters}
    listed = ", ".join("'" + name.replace("'", "''") + "'" for name in sorted(names))
    found = await server.own(
        "SELECT current_user::text, min(quote_ident(n.nspname) || '.' || quote_ident(c.relname))"  # noqa: S608
        " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
        " WHERE c.relkind IN ('r', 'p') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'"
        f" AND (lower(c.relname) IN ({listed}) OR lower(n.nspname || '.' || c.relname) IN ({listed}))"
        " AND has_table_privilege(c.oid, 'SELECT') AND NOT pg_catalog.row_security_active(c.oid)",
        1,
        CONNECT_SECONDS_MAX,
    )
    if isinstance(found, Failure):
        return found
    user, table = found.rows[0]
    if table is None:
        return None
    return Failure.of(
        FailureCode.CONNECTION,
        f"policy.native: row security does not hold for the user {user} on {table}. Enable it with "
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, and connect as a user that neither owns the table "
        "nor is a superuser nor has BYPASSRLS",
    )
