"""The statements that a database's administrator runs: a role that only reads, and what an existing role lacks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

READER: Final = "querybus_reader"
_PASSWORD: Final = "'...'"  # noqa: S105 - a placeholder for the administrator to fill in


def quoted(name: str, mark: str = '"') -> str:
    """Return a name as an identifier, quoted only where it has to be.

    >>> quoted("sales"), quoted("Sales Data"), quoted("a-b", "`")
    ('sales', '"Sales Data"', '`a-b`')
    """
    if name.isascii() and name.islower() and name.isidentifier() and name not in _RESERVED:
        return name
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


_RESERVED: Final = frozenset({"user", "order", "group", "table", "default", "select", "all", "end", "public_"})


def postgres_grants(role: str, schemas: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """Return what lets a role read the tables of these schemas, now and later. A schema comes with its tables' owners."""
    lines: list[str] = []
    for schema, owners in schemas:
        lines.append(f"GRANT USAGE ON SCHEMA {quoted(schema)} TO {quoted(role)};")
        lines.append(f"GRANT SELECT ON ALL TABLES IN SCHEMA {quoted(schema)} TO {quoted(role)};")
        lines += [
            f"ALTER DEFAULT PRIVILEGES FOR ROLE {quoted(owner)} IN SCHEMA {quoted(schema)}"
            f" GRANT SELECT ON TABLES TO {quoted(role)};"
            for owner in owners
        ]
    return tuple(lines)


def postgres_reader(database: str, schemas: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """Return what makes a role that only reads this database."""
    return (
        f"CREATE ROLE {READER} LOGIN PASSWORD {_PASSWORD}"
        " NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION CONNECTION LIMIT 35;",
        f"REVOKE TEMPORARY ON DATABASE {quoted(database)} FROM PUBLIC;",
        f"GRANT CONNECT ON DATABASE {quoted(database)} TO {READER};",
        *postgres_grants(READER, schemas),
        f"ALTER ROLE {READER} SET default_transaction_read_only = on;",
    )


def mysql_grants(account: str, database: str) -> tuple[str, ...]:
    """Return what lets an account (`'user'@'host'`, quoted) read a database of MySQL or MariaDB."""
    return (f"GRANT SELECT, SHOW VIEW ON {quoted(database, '`')}.* TO {account};",)


def mysql_reader(database: str) -> tuple[str, ...]:
    """Return what makes a user that only reads this database of MySQL or MariaDB."""
    account = f"'{READER}'@'%'"
    made = f"CREATE USER {account} IDENTIFIED BY {_PASSWORD} WITH MAX_USER_CONNECTIONS 35;"
    return (made, *mysql_grants(account, database))


def clickhouse_reader(database: str) -> tuple[str, ...]:
    """Return what makes a user that only reads this database of ClickHouse."""
    place = f"{quoted(database, '`')}.*"
    return (
        f"CREATE USER {READER} IDENTIFIED BY {_PASSWORD} SETTINGS max_execution_time = 60;",
        f"GRANT SELECT, SHOW TABLES, SHOW COLUMNS ON {place} TO {READER};",
    )


def snowflake_reader(database: str) -> tuple[str, ...]:
    """Return what makes a role that only reads; `database` may name its schema behind a slash."""
    place, _, schema = database.partition("/")
    inside = f"{place}.{schema or 'PUBLIC'}"
    return (
        f"CREATE ROLE {READER};",
        f"GRANT USAGE ON DATABASE {place} TO ROLE {READER};",
        f"GRANT USAGE ON SCHEMA {inside} TO ROLE {READER};",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {inside} TO ROLE {READER};",
        f"GRANT SELECT ON FUTURE TABLES IN SCHEMA {inside} TO ROLE {READER};",
    )


ORACLE_READER: Final = (
    f'CREATE USER {READER} IDENTIFIED BY "...";',
    f"GRANT CREATE SESSION TO {READER};",
    f"GRANT READ ON OWNER.TABLE TO {READER};  -- once for each table",
)
