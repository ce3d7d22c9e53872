"""Reads the address of a database in the forms that people have, into QueryBus's own. Pure: no file is looked at.

Taken are libpq's URLs and keyword strings, URLs with a driver's name (`postgresql+psycopg://`), those of MySQL and
MariaDB, JDBC's, and the URLs of the other engines. `connections/addresses/local.py` adds paths and service files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, assert_never
from urllib.parse import unquote

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from querybus.core.catalog import Dialect
from querybus.engines import ENGINES
from querybus_executor.connections.addresses import mysql, postgres
from querybus_executor.connections.addresses.address import Address, BadAddress, port_number, split_url

FILES: Final = "files"
"""The scheme of a folder or file of tables: CSV, TSV, Parquet, JSON lines, Excel."""

DIALECTS: Final[dict[str, Dialect]] = {
    "mysql": Dialect.MYSQL,
    "mariadb": Dialect.MYSQL,
    "sqlite": Dialect.SQLITE,
    "duckdb": Dialect.DUCKDB,
    FILES: Dialect.DUCKDB,
    "postgresql": Dialect.POSTGRESQL,
    "clickhouse": Dialect.CLICKHOUSE,
    "oracle": Dialect.ORACLE,
    "snowflake": Dialect.SNOWFLAKE,
    "bigquery": Dialect.BIGQUERY,
}
TITLES: Final = {scheme: ENGINES[dialect].title for scheme, dialect in DIALECTS.items()} | {
    FILES: "file or folder",
    "mariadb": "MariaDB",
}
_TUNNEL_PORT: Final = 5432
_IN_FILES: Final = {"sqlite": "sqlite", "sqlite3": "sqlite", "duckdb": "duckdb", FILES: FILES}
_CLICKHOUSE: Final = frozenset({"clickhouse", "clickhouses", "clickhousedb", "ch"})
_CLICKHOUSE_NATIVE_PORTS: Final = frozenset({"9000", "9440"})
_FILE_MODES: Final = frozenset({("mode", "ro"), ("access_mode", "read_only"), ("immutable", "1")})
KEYWORDS: Final = re.compile(
    r"\s*(?:host|hostaddr|port|dbname|user|password|service|sslmode|application_name)\s*=", re.IGNORECASE
)
_JDBC_ORACLE: Final = re.compile(
    r"oracle:thin:(?P<login>[^@]*)@(?://)?(?P<place>[^/:]+(?::\d+)?)[/:](?P<service>[^?]+)"
)


def read_url(text: str, environment: Mapping[str, str], service: Mapping[str, str]) -> Address:
    """Return the address of a URL or of libpq's keywords; BadAddress says which part to write otherwise.

    `environment` fills what a PostgreSQL address leaves open (PGHOST, PGUSER, PGSSLMODE and so on), after `service`,
    the keywords of the service that the address or PGSERVICE names.
    """
    text = _without_jdbc(text.strip())
    if KEYWORDS.match(text) and "://" not in text:
        return postgres.postgres_address(postgres.keywords_of_text(text), environment, service)
    scheme = _scheme(text)
    if scheme in _IN_FILES:
        return _file_address(_IN_FILES[scheme], text.partition(":")[2])
    if "://" not in text:
        if scheme not in postgres.SCHEMES or text.partition(":")[2]:
            raise BadAddress(
                "the URL is none: write engine://user:password@host/database, host=... dbname=..., or the path of a file"
            )
        text += "//"
    if scheme in postgres.SCHEMES:
        parts = split_url(text)
        return postgres.postgres_address(postgres.keywords_of_url(parts), environment, service, parts.notes)
    if scheme in mysql.SCHEMES:
        return mysql.mysql_address(scheme, split_url(text))
    return _other_address(scheme, text)


def _parameters(dialect: Dialect) -> frozenset[str]:
    """Return the parameters that a URL may have."""
    match dialect:
        case Dialect.CLICKHOUSE:
            return frozenset({"secure", "verify"})
        case Dialect.ORACLE:
            return frozenset({"protocol", "wallet_location", "config_dir"})
        case Dialect.SNOWFLAKE:
            return frozenset({"warehouse", "role", "private_key_file", "host", "port", "protocol"})
        case Dialect.BIGQUERY:
            return frozenset({"location", "credentials_file", "bytes_billed_max", "endpoint"})
        case Dialect.SQLITE | Dialect.DUCKDB | Dialect.POSTGRESQL | Dialect.MYSQL:
            return frozenset()  # their addresses are read by modules of their own
        case _:
            assert_never(dialect)


def service_name(text: str, environment: Mapping[str, str]) -> str | None:
    """Return the service of libpq that a PostgreSQL address names, or PGSERVICE where it is one of PostgreSQL.

    >>> service_name("service=sales user=r", {}), service_name("postgres:///d?service=s", {}), service_name("mysql://h/d", {"PGSERVICE": "s"})
    ('sales', 's', None)
    """
    text = _without_jdbc(text.strip())
    if KEYWORDS.match(text) and "://" not in text:
        return postgres.keywords_of_text(text).get("service") or environment.get("PGSERVICE")
    if _scheme(text) not in postgres.SCHEMES:
        return None
    named = split_url(text).parameters.get("service") if "://" in text else None
    return named or environment.get("PGSERVICE")


def _scheme(text: str) -> str:
    """Return the scheme without the driver; BadAddress for a tunnel."""
    scheme = re.match(r"[A-Za-z][\w.+-]*(?=:)", text)
    name, _, driver = scheme[0].lower().partition("+") if scheme else ("", "", "")
    if name == "ssh" or "ssh" in driver.split("+"):
        raise _tunnel(text, name if name != "ssh" else driver)
    return name


def _tunnel(text: str, engine: str) -> BadAddress:
    """Return the refusal of a tunnel, with the command that opens it."""
    kind = engine if engine in DIALECTS else "postgresql"
    port = ENGINES[DIALECTS[kind]].port or _TUNNEL_PORT
    place = re.match(r"[^:]+://(?:(?P<user>[^:@/]+)(?::[^@/]*)?@)?(?P<host>[^:/?]+)(?::(?P<port>\d+))?", text)
    bastion = "USER@BASTION" if place is None else f"{place['user'] or 'USER'}@{place['host']}"
    ssh_port = f" -p {place['port']}" if place is not None and place["port"] else ""
    return BadAddress(
        f"QueryBus opens no SSH tunnel: run `ssh -N -L 1{port}:DATABASE_HOST:{port}{ssh_port} {bastion}` and write"
        f" {kind}://user:password@127.0.0.1:1{port}/database"
    )


def _without_jdbc(text: str) -> str:
    """Return a URL of JDBC as the engine's own.

    >>> _without_jdbc("jdbc:postgresql:sales"), _without_jdbc("jdbc:sqlite:a.db"), _without_jdbc("jdbc:oracle:thin:@h:1521/x")
    ('postgresql:///sales', 'sqlite:a.db', 'oracle://h:1521/x')
    """
    if text[:5].lower() != "jdbc:":
        return text
    inner = text[5:]
    oracle = _JDBC_ORACLE.match(inner)
    if oracle is not None:
        login = oracle["login"].replace("/", ":", 1)
        return f"oracle://{login + '@' if login else ''}{oracle['place']}/{oracle['service']}"
    inner = re.sub(r"^(clickhouse|ch):https?://", r"\1://", inner)
    engine, _, rest = inner.partition(":")
    return inner if rest.startswith("/") or engine.lower() in _IN_FILES else f"{engine}:///{rest}"


def _file_address(kind: str, rest: str) -> Address:
    """Return the address of an embedded database's file, or of a folder of tables."""
    path, _, query = rest.partition("?")
    if path.startswith("//"):
        host, slash, path = path[2:].partition("/")
        if host or not slash:
            raise _no_file(kind)
    if path in ("", ":memory:", ":default:") or path.startswith(("file:", "md:")):
        raise _no_file(kind)
    given = {tuple(pair.split("=", 1)) for pair in query.split("&") if pair}
    if given - _FILE_MODES:
        raise BadAddress(f"a {TITLES[kind]} URL takes no parameters: the file is always opened read-only")
    return Address(URL.create(kind, database=unquote(path)))


def _no_file(kind: str) -> BadAddress:
    return BadAddress(f"a {TITLES[kind]} URL names a file: {kind}:///relative/path or {kind}:////absolute/path")


def _other_address(scheme: str, text: str) -> Address:
    kind = "clickhouse" if scheme in _CLICKHOUSE else scheme
    if kind not in DIALECTS:
        known = ", ".join(sorted(DIALECTS))
        hint = (
            "; ClickHouse over HTTP is clickhouse://user:password@host:8123/database"
            if kind in ("http", "https")
            else ""
        )
        raise BadAddress(f"there is no engine for {kind!r} here; known: {known}{hint}")
    try:
        url = make_url(text).set(drivername=kind)
    except (ArgumentError, ValueError):
        raise BadAddress(f"the URL is none: write {kind}://user:password@host/database") from None
    if scheme == "clickhouses":
        url = url.update_query_dict({"secure": "true"})
    if kind == "oracle" and not url.database and "service_name" in url.query:
        url = url.set(database=str(url.query["service_name"])).difference_update_query(["service_name"])
    if not url.database:
        raise BadAddress(f"a {TITLES[kind]} URL names its database: {kind}://user:password@host/database")
    unknown = sorted(set(url.query) - _parameters(DIALECTS[kind]))
    if unknown:
        raise BadAddress(f"the URL's parameter {unknown[0]!r} is not known here: leave it out")
    port_number(None if url.port is None else str(url.port))
    if kind == "clickhouse" and str(url.port) in _CLICKHOUSE_NATIVE_PORTS:
        raise BadAddress(
            f"the port {url.port} is that of ClickHouse's own protocol: QueryBus speaks HTTP, on port 8123,"
            " or 8443 with ?secure=true"
        )
    return Address(url)
