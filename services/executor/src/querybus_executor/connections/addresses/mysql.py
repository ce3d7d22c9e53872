"""Addresses of MySQL and MariaDB as their own tools, JDBC and the web frameworks write them. Pure."""

from __future__ import annotations

from typing import Final

from sqlalchemy.engine import URL

from querybus_executor.connections.addresses.address import (
    Address,
    BadAddress,
    UrlParts,
    folded,
    port_number,
    unencrypted,
    unknown_parameter,
)

SCHEMES: Final = {"mysql": "mysql", "mysql2": "mysql", "mysqls": "mysql", "mariadb": "mariadb"}
_MODES: Final = {
    "disabled": "disable",
    "disable": "disable",
    "false": "disable",
    "0": "disable",
    "preferred": "require",
    "prefer": "require",
    "required": "require",
    "require": "require",
    "trust": "require",
    "acceptinvalidcerts": "require",
    "verifyca": "verify-ca",
    "verifyidentity": "verify-full",
    "verifyfull": "verify-full",
    "strict": "verify-full",
    "true": "verify-full",
    "1": "verify-full",
}
_TLS: Final = ("sslmode", "sslaccept", "tls", "ssl", "usessl", "requiressl")
_TAKEN: Final = {"sslca": "ssl_ca", "sslcapath": "ssl_ca", "sslrootcert": "ssl_ca", "sslcert": "ssl_cert", "sslkey": "ssl_key",
                 "unixsocket": "unix_socket", "socket": "unix_socket"}  # fmt: skip
_IGNORED: Final = frozenset(
    {"charset", "characterencoding", "useunicode", "collation", "servertimezone", "timezone", "zerodatetimebehavior",
     "allowpublickeyretrieval", "autocommit", "autoreconnect", "connecttimeout", "sockettimeout", "readtimeout", "timeout",
     "writetimeout", "parsetime", "loc", "multistatements", "allowmultiqueries", "localinfile", "allowlocalinfile",
     "allowloadlocalinfile", "allowallfiles", "rewritebatchedstatements", "connectionlimit", "pooltimeout", "poolsize",
     "tinyint1isbit", "initcommand", "sessionvariables", "usecompression", "compress", "pool", "reconnect", "encoding",
     "interpolateparams", "allownativepasswords", "useserverprepstmts", "cacheprepstmts", "defaultauth", "serverversion",
     "uselegacydatetimecode", "sslcheckhostname", "verifyservercertificate", "sslverifyservercert", "maxallowedpacket"}
)  # fmt: skip
_NO: Final = frozenset({"false", "0", "no", "off"})
_CHECKS: Final = frozenset({"sslcheckhostname", "verifyservercertificate", "sslverifyservercert"})


def mysql_address(scheme: str, parts: UrlParts) -> Address:
    """Return the address of a MySQL or MariaDB URL; BadAddress says which part to write otherwise."""
    notes, query = list(parts.notes), dict[str, str]()
    login = {"user": parts.user, "password": parts.password}
    mode: str | None = None
    for name, value in parts.parameters.items():
        key = folded(name)
        if key in _TLS:
            mode = _stronger(mode, _mode(name, value))
            if folded(value) in ("preferred", "prefer"):
                notes.append(f"{name}={value} is taken as REQUIRED: QueryBus never falls back to no encryption")
        elif key in _TAKEN:
            query[_TAKEN[key]] = value
        elif key in ("user", "password"):
            login[key] = value
        elif key == "readdefaultfile":
            raise BadAddress(f"the parameter {name!r} is refused: write user, password, host and database into the URL")
        elif key in _IGNORED:
            if key in _CHECKS and value.lower() in _NO:
                raise BadAddress(
                    f"the parameter {name!r} is refused: write ssl-mode=REQUIRED to encrypt without looking at the"
                    " certificate, or ssl-mode=VERIFY_IDENTITY with ssl-ca=FILE"
                )
            notes.append(f"{name} is ignored: QueryBus sets what a session needs itself")
        else:
            raise unknown_parameter(name)
    if "ssl_ca" in query and mode not in ("verify-ca", "verify-full"):
        if mode == "disable":
            raise BadAddress("ssl-ca stands beside a mode without encryption: write ssl-mode=VERIFY_IDENTITY")
        mode = "verify-full"
    if mode == "disable":
        notes += unencrypted(parts.host, "ssl-mode=DISABLED")
    if mode is not None:
        query["ssl"] = mode
    if not parts.database:
        raise BadAddress("a MySQL or MariaDB URL names its database: mysql://user:password@host/database")
    url = URL.create(
        SCHEMES[scheme],
        username=login["user"],
        password=login["password"],
        host=parts.host,
        port=port_number(parts.port),
        database=parts.database,
        query=query,
    )
    return Address(url, tuple(notes))


def _mode(name: str, value: str) -> str:
    text = folded(value)
    if text.startswith("{"):
        # PlanetScale's and node's JSON: {"rejectUnauthorized":true}.
        return "require" if '"rejectunauthorized":false' in text.replace(" ", "") else "verify-full"
    if text not in _MODES:
        raise BadAddress(
            f"{name}={value} is not known: write ssl-mode=REQUIRED, VERIFY_CA, VERIFY_IDENTITY or DISABLED"
        )
    mode = _MODES[text]
    # JDBC's useSSL and requireSSL say nothing of the certificate.
    return "require" if folded(name) in ("usessl", "requiressl") and mode == "verify-full" else mode


def _stronger(one: str | None, other: str) -> str:
    order = ("disable", "require", "verify-ca", "verify-full")
    return other if one is None else max(one, other, key=order.index)
