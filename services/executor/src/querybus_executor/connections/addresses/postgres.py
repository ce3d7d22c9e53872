"""PostgreSQL's addresses as libpq, JDBC and the web frameworks write them. Pure.

Every form becomes libpq's keywords first (https://www.postgresql.org/docs/current/libpq-connect.html). What is
harmless is taken or ignored with a note; what would weaken the connection is refused with what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Final

from sqlalchemy.engine import URL

from querybus_executor.connections.addresses.address import (
    Address,
    BadAddress,
    UrlParts,
    folded,
    is_loopback,
    port_number,
    several_hosts,
    unencrypted,
    unknown_parameter,
)

SCHEMES: Final = frozenset({"postgresql", "postgres", "postgis", "pgsql", "psql"})
MODES: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
VERIFYING: Final = frozenset({"verify-ca", "verify-full"})
"""What `ssl` has to be for the server's certificate to be looked at."""

ENVIRONMENT: Final = {
    "PGHOST": "host",
    "PGHOSTADDR": "hostaddr",
    "PGPORT": "port",
    "PGUSER": "user",
    "PGDATABASE": "dbname",
    "PGSSLMODE": "sslmode",
    "PGSSLROOTCERT": "sslrootcert",
    "PGSSLCERT": "sslcert",
    "PGSSLKEY": "sslkey",
    "PGCHANNELBINDING": "channelbinding",
    "PGOPTIONS": "options",
}
"""Variable -> keyword. The driver itself reads PGPASSWORD and PGPASSFILE when it connects, so no secret passes here."""

_ALIASES: Final = {
    "username": "user",
    "database": "dbname",
    "tls": "ssl",
    "sslca": "sslrootcert",
    "currentschema": "searchpath",
    "schema": "searchpath",
    "passwordfile": "passfile",
}
_TAKEN: Final = frozenset(
    {"host", "hostaddr", "port", "user", "password", "dbname", "ssl", "sslmode", "sslrootcert", "sslcert", "sslkey",
     "applicationname", "searchpath", "options", "passfile", "service", "channelbinding", "requiressl"}
)  # fmt: skip
_OWN_LIMITS: Final = "QueryBus has a time limit of its own (policy.statement_timeout_seconds)"
_OWN_WAIT: Final = "QueryBus waits 5 s for a connection"
_OWN_POOL: Final = "the connection's `pool` says how many sessions there are"
_POOLER: Final = "QueryBus prepares no statement across transactions and sets its limits inside each of them"
_READS: Final = "QueryBus only reads, on whatever server the address names"
_NO_EFFECT: Final = "it changes nothing here"
_IGNORED: Final[dict[str, str]] = {
    **dict.fromkeys(("connecttimeout", "logintimeout", "connectiontimeout"), _OWN_WAIT),
    **dict.fromkeys(("sockettimeout", "statementtimeout", "commandtimeout", "querytimeout", "timeout"), _OWN_LIMITS),
    **dict.fromkeys(
        ("connectionlimit", "pooltimeout", "poolsize", "maxoverflow", "maxconns", "minconns", "pool"), _OWN_POOL
    ),
    **dict.fromkeys(
        ("pgbouncer", "preparethreshold", "statementcachesize", "preparedstatementcachesize", "preparedstatements",
         "supavisorsessionid", "workaround"), _POOLER
    ),
    **dict.fromkeys(("targetsessionattrs", "targetservertype", "loadbalancehosts", "readonly"), _READS),
    **dict.fromkeys(
        ("keepalives", "keepalivesidle", "keepalivesinterval", "keepalivescount", "tcpusertimeout", "tcpkeepalive",
         "fallbackapplicationname", "sslcompression", "sslsni", "rewritebatchedinserts", "stringtype", "assumeminserverversion",
         "prefixthreshold", "encoding", "clientencoding", "charset", "krbsrvname", "gsslib", "replication", "sslnegotiation",
         "binarytransfer", "uselibpqcompat", "pgversion", "serverversion", "binaryparameters", "reconnect"), _NO_EFFECT
    ),
}  # fmt: skip
_REFUSED: Final[dict[str, str]] = {
    "sslcrl": "lists of revoked certificates are not read: leave it out and use sslmode=verify-full with sslrootcert",
    "sslcrldir": "lists of revoked certificates are not read: leave it out and use sslmode=verify-full with sslrootcert",
    "sslfactory": "a class of Java: write sslmode=require to encrypt, or sslmode=verify-full to check the server as well",
    "sslhostnameverifier": "a class of Java: write sslmode=verify-full to check the server's name",
    "sslpassword": "the key of a client's certificate has to be readable without a password: write sslkey=FILE of such a key",
    "socketfactory": "a class of Java: write the host and port that this machine reaches",
    "requireauth": "the way of logging in is the server's: leave it out and use sslmode=verify-full",
    "requirepeer": "leave it out and use sslmode=verify-full over TCP",
}
_SETTING: Final = re.compile(r"(?:-c\s*|--)(?P<name>[\w.-]+)=(?P<value>(?:\\.|[^\s\\])*)")


def keywords_of_url(parts: UrlParts) -> dict[str, str]:
    """Return a URL as libpq's keywords; BadAddress where it says one thing twice."""
    plain = {"user": parts.user, "password": parts.password, "host": parts.host, "port": parts.port}
    plain["dbname"] = parts.database or None
    values = {name: value for name, value in plain.items() if value is not None}
    for name, value in parts.parameters.items():
        key = _ALIASES.get(folded(name), folded(name))
        # `?host=` names the socket's folder where the URL's own place is empty, or outweighs it as in libpq.
        values[key if key in _TAKEN or key in _IGNORED or key in _REFUSED else name] = value
    return values


def keywords_of_text(text: str) -> dict[str, str]:
    """Return `host=... dbname='...'` as keywords; BadAddress where it cannot be read.

    >>> keywords_of_text("host=h dbname = 'a b' password='it\\\\'s'")
    {'host': 'h', 'dbname': 'a b', 'password': "it's"}
    """
    values: dict[str, str] = {}
    place = 0
    pair = re.compile(r"\s*(\w+)\s*=\s*(?:'((?:\\.|[^'\\])*)'|((?:\\.|[^\s\\'])*))(?:\s+|$)", re.DOTALL)
    while place < len(text.rstrip()):
        match = pair.match(text, place)
        if match is None:
            last = f" behind {list(values)[-1]!r}" if values else ""
            raise BadAddress(
                f"the keywords cannot be read{last}: write host=... dbname=... user=..., and 'quotes' around blanks"
            )
        name = folded(match[1])
        value = re.sub(r"\\(.)", r"\1", match[2] if match[2] is not None else match[3], flags=re.DOTALL)
        values[_ALIASES.get(name, name)] = value
        place = match.end()
    return values


def postgres_address(
    given: Mapping[str, str], environment: Mapping[str, str], service: Mapping[str, str], notes: tuple[str, ...] = ()
) -> Address:
    """Return the address of libpq's keywords; what they leave open comes from the service, then the environment."""
    found: list[str] = list(notes)
    values = dict(given)
    fallbacks = [("the service's file", name, text) for name, text in service.items()]
    fallbacks += [(variable, keyword, environment.get(variable, "")) for variable, keyword in ENVIRONMENT.items()]
    for source, keyword, text in fallbacks:
        if text and keyword not in values:
            values[keyword] = text
            if keyword in ("host", "user", "dbname", "sslmode"):
                found.append(f"{keyword} comes from {source}")
    for name in values:
        if name in _REFUSED:
            raise BadAddress(f"the parameter {name!r} is refused: {_REFUSED[name]}")
        if name not in _TAKEN and name not in _IGNORED and name != "gssencmode":
            raise unknown_parameter(name)
        if name in _IGNORED:
            found.append(f"{name} is ignored: {_IGNORED[name]}")
    if values.get("gssencmode") == "require":
        raise BadAddress("the parameter 'gssencmode' is refused: GSSAPI is not spoken here; write sslmode=verify-full")
    host = _host(values)
    query = _tls(values, host, found) | _session(values, found)
    if host is not None and host.startswith("/"):
        query["host"] = str(PurePath(host).parent) if ".s.PGSQL." in host else host
        if "port" in values:
            query["port"] = str(port_number(values["port"]))
    database = values.get("dbname", "")
    if not database:
        raise BadAddress(
            "a PostgreSQL URL names its database: postgresql://user:password@host/database; or set PGDATABASE"
        )
    is_network = host is not None and not host.startswith("/")
    url = URL.create(
        "postgresql",
        username=values.get("user"),
        password=values.get("password"),
        host=host if is_network else None,
        port=port_number(values.get("port")) if is_network else None,
        database=database,
        query=query,
    )
    return Address(url, tuple(found))


def _host(values: Mapping[str, str]) -> str | None:
    host, address = values.get("host"), values.get("hostaddr")
    if host and address and host != address:
        raise BadAddress("the parameter 'hostaddr' stands beside a host: write the one that this machine reaches")
    result = host or address or None
    if result is not None and "," in result:
        raise several_hosts(result.split(","))
    return result


def _tls(values: Mapping[str, str], host: str | None, notes: list[str]) -> dict[str, str]:
    """Return `ssl`, `ssl_ca`, `ssl_cert` and `ssl_key` of the own form."""
    written = values.get("sslmode") or values.get("ssl") or ("require" if values.get("requiressl") == "1" else None)
    mode = None if written is None else _mode(written)
    authority = values.get("sslrootcert") or None
    if values.get("channelbinding") == "require" and not is_loopback(host):
        if mode not in VERIFYING:
            notes.append("channel_binding=require: the server's certificate is checked instead (sslmode=verify-full)")
        mode = mode if mode in VERIFYING else "verify-full"
    if authority == "system":
        authority, mode = None, "verify-full"
    if authority is not None and mode == "require":
        notes.append(
            "sslrootcert beside sslmode=require: the certificate is checked (sslmode=verify-ca), as libpq does"
        )
        mode = "verify-ca"
    if authority is not None and mode not in VERIFYING:
        if "sslrootcert" in values and mode is not None:
            raise BadAddress("ssl_ca (sslrootcert) needs sslmode=verify-ca or sslmode=verify-full")
        mode = "verify-full"
        notes.append("sslrootcert without sslmode: the certificate and the server's name are checked (verify-full)")
    if mode in VERIFYING and authority is None:
        notes.append(f"sslmode={mode}: the system's authorities are used; name your own with sslrootcert=FILE")
    if mode in ("disable", "allow", "prefer"):
        notes += unencrypted(host, f"sslmode={mode}")
    result = {"ssl": mode, "ssl_ca": authority, "ssl_cert": values.get("sslcert"), "ssl_key": values.get("sslkey")}
    return {name: value for name, value in result.items() if value}


def _mode(written: str) -> str:
    mode = written.lower().replace("_", "-")
    mode = {"true": "verify-full", "1": "verify-full", "false": "disable", "0": "disable", "no-verify": "require"}.get(
        mode, mode
    )
    if mode not in MODES:
        raise BadAddress(f"sslmode {written!r} is not known: write one of {', '.join(MODES)}")
    return mode


def _session(values: Mapping[str, str], notes: list[str]) -> dict[str, str]:
    """Return what the session is opened with beyond the place and TLS."""
    path = values.get("searchpath")
    for match in _SETTING.finditer(values.get("options") or ""):
        name, value = match["name"].lower().replace("-", "_"), re.sub(r"\\(.)", r"\1", match["value"])
        if name == "search_path":
            path = path or value
        elif name in ("role", "session_authorization"):
            raise BadAddress(f"options sets {name}: log in as that role instead, user={value}")
        elif name.endswith("transaction_read_only") and value.lower() in ("off", "false", "0", "no"):
            raise BadAddress(f"options sets {name} off: QueryBus reads only, so leave it out")
        else:
            notes.append(f"the setting {name} in options is ignored: QueryBus sets what it needs itself")
    result = {
        "search_path": path,
        "application_name": values.get("applicationname"),
        "passfile": values.get("passfile"),
    }
    return {name: value for name, value in result.items() if value}
