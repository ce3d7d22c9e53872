"""What keeps a connection from working: its kind by the engine's own code, its cause in words, the setting concerned.

Pure. A fault of the set-up stays until somebody changes a setting; a database that is away for a moment is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from querybus.core.failure import Facts, Failure, FailureCode
from querybus.engines import ENGINES
from querybus_executor.connections.config import ConnectionConfig

ROLE_MAY_WRITE: Final = "role_may_write"
"""The rule by which a connection is refused whose role may change data."""
NO_TABLES: Final = "no_tables"
"""The rule of a connection whose role sees no table."""
LOCKED: Final = "locked"
"""The native code of a database that another program holds for a moment."""
POOLER: Final = "pooler"
"""The rule of a connection through a pooler that drops what a session asks for."""


class Trouble(StrEnum):
    """What a connection lacks."""

    FILE = "file"
    UNKNOWN = "unknown_connection"
    DRIVER = "driver"
    HOST = "host"
    UNREACHABLE = "unreachable"
    TLS = "tls"
    CREDENTIALS = "credentials"
    DATABASE = "database"
    DATABASE_FILE = "database_file"
    RIGHTS = "rights"
    NO_TABLES = NO_TABLES
    ROLE_MAY_WRITE = ROLE_MAY_WRITE
    POOLER = POOLER
    OTHER = "other"


_BY_CODE: Final[dict[str, Trouble]] = {
    **dict.fromkeys(("28P01", "28000", "1045", "1698", "516", "192", "193", "194", "ORA-01017", "ORA-28000"), Trouble.CREDENTIALS),
    **dict.fromkeys(("3D000", "1049", "1044", "81", "ORA-12514", "ORA-12505", "DPY-6001"), Trouble.DATABASE),
    **dict.fromkeys(("42501", "1142", "497", "ORA-01045", "accessDenied"), Trouble.RIGHTS),
    **dict.fromkeys(("refused", "timeout", "2003", "2002", "08001", "08006", "DPY-6005", "210", "209"), Trouble.UNREACHABLE),
    **dict.fromkeys(("host", "gaierror"), Trouble.HOST),
    "08P01": Trouble.POOLER,
    **dict.fromkeys(("tls", "certificate", "2026", "3159"), Trouble.TLS),
}  # fmt: skip
_CAUSES: Final[dict[Trouble, str]] = {
    Trouble.CREDENTIALS: "the server refuses the user or the password",
    Trouble.DATABASE: "the server does not know the database, or the user may not use it",
    Trouble.RIGHTS: "the user may not read the list of tables",
    Trouble.UNREACHABLE: "nobody answers at the host and port",
    Trouble.HOST: "the host's name is not known",
    Trouble.POOLER: "the pooler refuses the session: write the server's own address, or add `extra_float_digits` to the"
    " pooler's ignore_startup_parameters",
    Trouble.TLS: "the server does not speak TLS as the URL asks; without TLS it is sslmode=disable",
}
_TLS_CAUSES: Final = {
    "certificate": "the server's certificate is not trusted: name its authority as sslrootcert=FILE,"
    " or write sslmode=require to encrypt without looking at the certificate",
    "28000": "the server takes only encrypted sessions from here: write sslmode=require",
    "3159": "the server takes only encrypted sessions: write ssl-mode=REQUIRED",
}
_SETTINGS: Final[dict[Trouble, str]] = {
    Trouble.CREDENTIALS: "the user and password of `url`",
    Trouble.DATABASE: "the database's name in `url`",
    Trouble.RIGHTS: "the rights of the user in `url`",
    Trouble.UNREACHABLE: "the host and port of `url`",
    Trouble.HOST: "the host of `url`",
    Trouble.TLS: "`sslmode` and `sslrootcert` of `url`",
    Trouble.NO_TABLES: "the rights of the user in `url`",
    Trouble.ROLE_MAY_WRITE: "the user in `url`",
    Trouble.POOLER: "the host and port of `url`",
}
_BUSY: Final = frozenset(
    {
        "SQLITE_BUSY",
        "SQLITE_LOCKED",
        LOCKED,
        "57P01",
        "57P02",
        "57P03",
        "57P05",
        "53300",
        "1040",
        "1203",
        "1226",
        "202",
        "ORA-00020",
        "ORA-12516",
    }
)
"""Codes of a server that is starting, stopping or full, and of a file that another program holds."""
_PASSING: Final = frozenset({Trouble.UNREACHABLE, Trouble.HOST, Trouble.OTHER})
"""What may end by itself, once the connection has worked."""


def trouble_of(failure: Failure, config: ConnectionConfig) -> Trouble:
    """Return what a connection lacks whose catalog could not be read."""
    rule, code = failure.facts.rule, failure.facts.native_code or ""
    if rule in (ROLE_MAY_WRITE, NO_TABLES, POOLER):
        return Trouble(rule)
    if ENGINES[config.dialect].is_file:
        return Trouble.DATABASE_FILE
    if code == "28000" and config.parsed_url.query.get("ssl") == "disable":
        # The server has an entry for the user only with encryption, or none at all.
        return Trouble.TLS
    return _BY_CODE.get(code, Trouble.OTHER)


def no_tables(config: ConnectionConfig, missing: Sequence[str] = ()) -> Failure:
    """Return the failure of a connection whose user sees no table, with the statements that its user lacks."""
    if config.applied_policy.tables_allowed is not None:
        detail = "the user sees none of the tables that the policy allows"
    elif ENGINES[config.dialect].is_file:
        detail = "the database holds no table"
    elif ENGINES[config.dialect].lists_unreadable_tables and not missing:
        detail = f"the database {config.parsed_url.database} holds no table"
    else:
        detail = "the user sees no table; an administrator of the database runs: " + " ".join(missing)
    return Failure.of(FailureCode.CONNECTION, detail, Facts(rule=NO_TABLES))


def cause_of(trouble: Trouble, failure: Failure) -> str:
    """Return the cause in words, with what the engine says of it."""
    words = _CAUSES.get(trouble)
    if trouble is Trouble.TLS:
        words = _TLS_CAUSES.get(failure.facts.native_code or "", words)
    return f"{words} ({failure.detail})" if words else failure.detail


def setting_of(trouble: Trouble, config: ConnectionConfig) -> str:
    """Return the setting concerned, by the connection's name, its key and the variables that fill it."""
    part = _SETTINGS.get(trouble, "`url`")
    variables = "".join(f", from {name}" for name in config.url_variables)
    return f"{part} of the connection {config.name}{variables}"


def is_setup(trouble: Trouble, failure: Failure, *, has_worked: bool) -> bool:
    """Whether somebody has to change a setting; a server that has answered before may come back by itself.

    A file that another program holds for a moment is none, and neither is a server that is starting or full.
    """
    if failure.code is not FailureCode.CONNECTION or failure.facts.native_code in _BUSY:
        return False
    return not (has_worked and trouble in _PASSING)


def setup_failure(failure: Failure, config: ConnectionConfig, *, has_worked: bool) -> Failure:
    """Return the failure as a fault of the set-up where it is one: cause, setting and next command, without an address."""
    trouble = trouble_of(failure, config)
    if not is_setup(trouble, failure, has_worked=has_worked):
        return failure
    cause = cause_of(trouble, failure)
    detail = f"{cause}. Setting: {setting_of(trouble, config)}. Next: querybus connections test {config.name}"
    return Failure.of(FailureCode.SETUP, detail, failure.facts)
