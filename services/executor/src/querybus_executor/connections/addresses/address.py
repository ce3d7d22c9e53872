"""The address of a database as the executor uses it, and the parts of the URL that somebody wrote. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote

from sqlalchemy.engine import URL

PORT_MAX: Final = 65_535
_PLACEHOLDER: Final = "QUERYBUSPASSWORD"
_LOOPBACK: Final = re.compile(r"localhost|127(?:\.\d+){3}|::1|/.*")


class BadAddress(ValueError):
    """The address cannot be used; the message names the part concerned and what to write instead, without secrets."""


@dataclass(frozen=True, slots=True)
class Address:
    """A database's address in QueryBus's own form, and what was read otherwise than it was written."""

    url: URL
    notes: tuple[str, ...] = ()

    @property
    def is_file(self) -> bool:
        """Whether it is a file or folder of this machine."""
        return self.url.get_backend_name() in ("sqlite", "duckdb", "files")

    @property
    def text(self) -> str:
        """The URL with its password: a secret."""
        return self.url.render_as_string(hide_password=False)

    def text_with(self, placeholder: str) -> str:
        """Return the URL with `placeholder` (`${SALES_PASSWORD}`, `${file:/run/secrets/sales}`) for its password."""
        if self.url.password is None:
            return self.text
        return (
            self.url.set(password=_PLACEHOLDER).render_as_string(hide_password=False).replace(_PLACEHOLDER, placeholder)
        )


@dataclass(frozen=True, slots=True)
class UrlParts:
    """A server's URL as it was written, with its escapes resolved. `parameters`: by their name as written."""

    user: str | None
    password: str | None
    host: str | None
    port: str | None
    database: str
    parameters: dict[str, str]
    notes: tuple[str, ...] = ()


def split_url(text: str) -> UrlParts:
    """Return the parts of `scheme://user:password@host:port/database?parameter=value`; BadAddress says what is wrong.

    A password may hold `@`, `/`, `#` and `?` as they are: it ends at the last `@` before the parameters.

    >>> split_url("postgres://u:p@ss/w@h:5/d").password
    'p@ss/w'
    """
    _, _, rest = text.partition("://")
    head, _, query = rest.partition("?")
    if "@" not in head and "@" in query and ":" in head and "=" not in query.partition("@")[0]:
        raise BadAddress("the password holds '?', where a URL's parameters begin: write %3F instead")
    login, at, place = head.rpartition("@")
    user, colon, password = login.partition(":")
    notes: list[str] = []
    if at and any(sign in login for sign in "@/#"):
        notes.append("the password holds '@', '/' or '#' as it is; %40, %2F and %23 are read the same everywhere")
    authority, _, database = place.partition("/")
    host, port = _host_and_port(authority)
    return UrlParts(
        unquote(user) or None if at else None,
        unquote(password) if colon else None,
        unquote(host) or None,
        port,
        unquote(database),
        dict(parse_qsl(query, keep_blank_values=True)),
        tuple(notes),
    )


def _host_and_port(authority: str) -> tuple[str, str | None]:
    if "," in authority:
        raise several_hosts(authority.split(","))
    if authority.startswith("["):
        host, _, rest = authority[1:].partition("]")
        return host, rest.removeprefix(":") or None
    host, _, port = authority.partition(":")
    return host, port or None


def several_hosts(hosts: Iterable[str]) -> BadAddress:
    """Return the refusal of an address with more than one host."""
    shown = ", ".join(hosts)
    return BadAddress(
        f"the address names several hosts ({shown}), and QueryBus connects to one: write one of them,"
        " or the address of the proxy in front of them"
    )


def port_number(text: str | None) -> int | None:
    """Return the port as a number; BadAddress where it is none.

    >>> port_number("5432"), port_number(None)
    (5432, None)
    """
    if not text:
        return None
    if not text.isdecimal() or not 0 < int(text) <= PORT_MAX:
        raise BadAddress(f"the port {text!r} is no number from 1 to {PORT_MAX}: write host:port/database")
    return int(text)


def folded(name: str) -> str:
    """Return a parameter's name as all drivers' spellings of it agree.

    >>> folded("sslMode"), folded("ssl-mode"), folded("application_name")
    ('sslmode', 'sslmode', 'applicationname')
    """
    return name.lower().replace("-", "").replace("_", "")


def is_loopback(host: str | None) -> bool:
    """Whether the host is this machine.

    >>> is_loopback(None), is_loopback("127.0.0.1"), is_loopback("db.example")
    (True, True, False)
    """
    return host is None or _LOOPBACK.fullmatch(host) is not None


def unencrypted(host: str | None, parameter: str) -> tuple[str, ...]:
    """Return the note about a connection without TLS over a network, or nothing on this machine."""
    if is_loopback(host):
        return ()
    return (f"{parameter}: password and rows may travel unencrypted to {host}; use verify-full, or at least require",)


def unknown_parameter(name: str) -> BadAddress:
    """Return the refusal of a parameter that no table names."""
    return BadAddress(f"the parameter {name!r} is not known here: leave it out of the address")
