"""Claims on the forms in which people have the address of a database."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from sqlalchemy.engine import make_url

from querybus_executor.connections.addresses.address import Address, BadAddress
from querybus_executor.connections.addresses.local import read_address
from querybus_executor.connections.database_url import read_url


def url_of(text: str, **environment: str) -> str:
    return read_url(text, environment, {}).text


def refusal(text: str, **environment: str) -> str:
    with pytest.raises(BadAddress) as caught:
        read_address(text, environment)
    assert "s3cret" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("postgres://u:p@h/d?sslmode=require", "postgresql://u:p@h/d?ssl=require"),
        ("postgresql+psycopg://u:p@h:6432/d", "postgresql://u:p@h:6432/d"),
        ("postgresql+asyncpg://u@h/d?ssl=verify-full", "postgresql://u@h/d?ssl=verify-full"),
        ("POSTGRES://u@h/d", "postgresql://u@h/d"),
        ("postgis://u@h/d", "postgresql://u@h/d"),
        ("postgresql:///d?host=/run/postgresql&user=u", "postgresql://u@/d?host=%2Frun%2Fpostgresql"),
        ("postgresql://%2Frun%2Fpostgresql/d", "postgresql:///d?host=%2Frun%2Fpostgresql"),
        ("postgresql:///d?host=/run/postgresql&port=5433", "postgresql:///d?host=%2Frun%2Fpostgresql&port=5433"),
        ("postgresql://u@[::1]:5/d", "postgresql://u@[::1]:5/d"),
        ("postgresql://u@h/d%20b", "postgresql://u@h/d b"),
        ("postgres://u@h/d?sslmode=verify-full&sslrootcert=system", "postgresql://u@h/d?ssl=verify-full"),
        ("postgres://u@h/d?options=-c%20search_path%3Da,b", "postgresql://u@h/d?search_path=a%2Cb"),
        ("postgres://u@h/d?schema=a&connection_limit=5&pgbouncer=true", "postgresql://u@h/d?search_path=a"),
        ("postgres://u@h/d?application_name=report", "postgresql://u@h/d?application_name=report"),
        ("postgres://u@h/d?connect_timeout=10&target_session_attrs=read-write", "postgresql://u@h/d"),
        ("host=h dbname=d user=u password='a b' port=5 sslmode=require", "postgresql://u:a b@h:5/d?ssl=require"),
        ("dbname=d host=/tmp user='it\\'s'", "postgresql://it's@/d?host=%2Ftmp"),
        ("jdbc:postgresql://h:5/d?user=u&password=p&currentSchema=s", "postgresql://u:p@h:5/d?search_path=s"),
        ("jdbc:postgresql:d", "postgresql:///d"),
        ("mysql+pymysql://u:p@h/d?charset=utf8mb4", "mysql://u:p@h/d"),
        ("mysql2://u:p@h/d", "mysql://u:p@h/d"),
        ("mariadb+mariadbconnector://u@h:3307/d", "mariadb://u@h:3307/d"),
        ("mysql://u@h/d?ssl-mode=REQUIRED", "mysql://u@h/d?ssl=require"),
        ("mysql://u@h/d?sslmode=VERIFY_IDENTITY&ssl-ca=/a.pem", "mysql://u@h/d?ssl=verify-full&ssl_ca=%2Fa.pem"),
        ("mysql://u@h/d?ssl_ca=/a.pem", "mysql://u@h/d?ssl=verify-full&ssl_ca=%2Fa.pem"),
        ("mysql://u@h/d?sslaccept=strict", "mysql://u@h/d?ssl=verify-full"),
        ('mysql://u@h/d?ssl={"rejectUnauthorized":true}', "mysql://u@h/d?ssl=verify-full"),
        ("jdbc:mysql://h/d?user=u&password=p&useSSL=true&serverTimezone=UTC", "mysql://u:p@h/d?ssl=require"),
        ("clickhouses://u@h/d", "clickhouse://u@h/d?secure=true"),
        ("jdbc:clickhouse:http://h:8123/d", "clickhouse://h:8123/d"),
        ("jdbc:oracle:thin:@//h:1521/s", "oracle://h:1521/s"),
        ("sqlite:a.db", "sqlite:///a.db"),
        ("sqlite+aiosqlite:////data/a.db", "sqlite:////data/a.db"),
        ("jdbc:sqlite:a.db", "sqlite:///a.db"),
        ("duckdb:///a.duckdb?access_mode=read_only", "duckdb:///a.duckdb"),
    ],
)
def test_what_people_have_is_read(written: str, read: str) -> None:
    assert make_url(url_of(written)) == make_url(read)


@pytest.mark.parametrize("password", ["p@ss", "a/b", "a#b", "a:b", "1@/2@/3", "100%"])
def test_a_password_may_hold_its_signs_as_they_are(password: str) -> None:
    address = read_url(f"postgres://u:{password}@h/d?sslmode=require", {}, {})
    assert (address.url.password, address.url.host, address.url.database) == (password, "h", "d")


def test_of_a_password_that_cannot_be_read_its_sign_and_the_escape_are_named() -> None:
    words = refusal("postgres://u:s3cret?more@h/d")
    assert "'?'" in words
    assert "%3F" in words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("postgres://h1:1,h2:2/d", "several hosts (h1:1, h2:2)"),
        ("host=a,b dbname=d", "several hosts (a, b)"),
        ("postgres://u:s3cret@h:54x/d", "the port '54x' is no number"),
        ("postgres://u@h", "names its database"),
        ("postgres://u@h/d?sslmode=on-demand", "sslmode 'on-demand' is not known: write one of disable"),
        ("postgres://u@h/d?colour=red", "the parameter 'colour' is not known here: leave it out"),
        ("postgres://u@h/d?sslcrl=x", "'sslcrl' is refused"),
        ("postgres://u@h/d?options=-crole%3Dadmin", "log in as that role"),
        ("postgres://u@h/d?options=-c%20default_transaction_read_only%3Doff", "QueryBus reads only"),
        ("postgres://u@h/d?gssencmode=require", "GSSAPI is not spoken here"),
        ("host=h dbname", "the keywords cannot be read behind 'host'"),
        ("mysql://u@h/d?verifyServerCertificate=false", "write ssl-mode=REQUIRED"),
        ("mysql://u@h/d?ssl-mode=maybe", "write ssl-mode=REQUIRED, VERIFY_CA"),
        ("mysql://u@h/d?ssl-mode=DISABLED&ssl-ca=/a.pem", "write ssl-mode=VERIFY_IDENTITY"),
        ("mysql://u@h", "names its database"),
        ("clickhouse://u@h:9000/d", "speaks HTTP, on port 8123"),
        ("https://h:8123", "clickhouse://user:password@host:8123"),
        ("mongodb://h/d", "there is no engine for 'mongodb' here"),
        ("ssh://me@bastion:2222", "ssh -N -L 15432:DATABASE_HOST:5432 -p 2222 me@bastion"),
        ("mysql+ssh://me@bastion/u:s3cret@db/d", "ssh -N -L 13306:DATABASE_HOST:3306 me@bastion"),
        ("service=nowhere", "the service 'nowhere' stands in no service file"),
        ("some words", "the URL is none"),
        ("", "the address is empty"),
    ],
)
def test_a_refusal_names_the_part_and_what_to_write(text: str, words: str) -> None:
    assert words in refusal(text)


def test_what_would_weaken_a_connection_is_strengthened_or_said() -> None:
    bound = read_url("postgres://u@db.example/d?sslmode=require&channel_binding=require", {}, {})
    assert bound.url.query["ssl"] == "verify-full"
    assert any("certificate is checked" in note for note in bound.notes)
    libpq = read_url("postgres://u@db.example/d?sslmode=require&sslrootcert=/a.pem", {}, {})
    assert libpq.url.query["ssl"] == "verify-ca"
    for text in ("postgres://u@db.example/d?sslmode=disable", "mysql://u@db.example/d?ssl-mode=DISABLED"):
        assert any("unencrypted to db.example" in note for note in read_url(text, {}, {}).notes), text
    assert read_url("mysql://u@h/d?ssl-mode=PREFERRED", {}, {}).url.query["ssl"] == "require"


def test_the_environment_fills_what_an_address_leaves_open_and_nothing_else() -> None:
    variables = {"PGHOST": "h", "PGPORT": "6000", "PGUSER": "u", "PGDATABASE": "d", "PGSSLMODE": "require"}
    address = read_url("postgresql://", variables, {})
    assert address.text == "postgresql://u@h:6000/d?ssl=require"
    assert "host comes from PGHOST" in address.notes
    assert url_of("postgres://o@p:1/q?sslmode=disable", **variables) == "postgresql://o@p:1/q?ssl=disable"
    assert url_of("mysql://o@p/q", **variables) == "mysql://o@p/q"
    assert "s3cret" not in url_of("postgresql://", PGPASSWORD="s3cret", **variables)


def test_a_service_file_outweighs_the_environment_and_not_the_address(tmp_path: Path) -> None:
    (tmp_path / "services").write_text("[sales]\nhost=db.example\nuser=reader\ndbname=sales\npassword=p%w\n")
    variables = {"PGSERVICEFILE": str(tmp_path / "services"), "PGUSER": "other", "PGPORT": "7"}
    assert read_address("service=sales dbname=d", variables).url.render_as_string(hide_password=False) == (
        "postgresql://reader:p%25w@db.example:7/d"
    )
    assert read_address("postgresql://", {**variables, "PGSERVICE": "sales"}).url.host == "db.example"


def test_a_file_is_known_by_how_it_begins_not_by_its_name(tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "shop.csv")).close()
    (tmp_path / "table.sqlite").write_text("a,b\n1,2\n")
    (tmp_path / "old.xls").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600))

    def scheme(name: str) -> str:
        return read_address(str(tmp_path / name), {}).url.get_backend_name()

    assert (scheme("shop.csv"), scheme("table.sqlite"), scheme("."), scheme("none.duckdb")) == (
        "duckdb", "files", "files", "duckdb",
    )  # fmt: skip
    assert "save it as .xlsx" in refusal(str(tmp_path / "old.xls"))


@pytest.mark.parametrize("name", ["Verkäufe 2025.csv", "订单.csv", "a?b#c.csv", "100%25.csv"])
def test_a_path_with_any_signs_is_still_the_file_after_it_was_written_down(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("a\n1\n")
    written = read_address(str(tmp_path / name), {}).text
    assert read_url(written, {}, {}).url.database == str(tmp_path / name)


def test_a_relative_path_is_looked_for_beside_the_connections_file_first(tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("a\n1\n")
    assert read_address("sales.csv", {}, tmp_path).url.database == str(tmp_path / "sales.csv")
    assert read_address("sales.csv", {}).url.database == str(Path("sales.csv").absolute())


def test_an_address_is_written_down_without_its_password() -> None:
    address: Address = read_url("postgres://u:s3cret@h/d?sslmode=require", {}, {})
    assert address.text_with("${SALES_PASSWORD}") == "postgresql://u:${SALES_PASSWORD}@h/d?ssl=require"
