"""The connections file: secrets from the environment, unknown keys refused, every problem said where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from querybus.core.catalog import Dialect
from querybus.core.policy import Access
from querybus_executor.connections.config import BadConnections, load_connections, parse_connections

FILE = """
connections:
  - name: shop
    url: sqlite:///${SHOP_FILE}
    description: The shop
    policy: {rows_max: 500, statement_timeout_seconds: 3}
    display_names:
      orders: {en: Orders, zh: 订单}
      orders.total: {zh: 金额}
    glossary: {revenue: the sum of totals}
"""


def problem(read: object) -> str:
    with pytest.raises(BadConnections) as caught:
        parse_connections(read, {})
    return str(caught.value)


def entry(**changes: object) -> dict[str, object]:
    return {"connections": [{"name": "shop", "url": "sqlite:///shop.sqlite", **changes}]}


def test_a_file_may_list_no_connection_yet() -> None:
    assert parse_connections({"connections": []}, {}) == ()


def test_a_file_gives_connections_without_their_secrets_in_public(tmp_path: Path) -> None:
    file = tmp_path / "connections.yaml"
    file.write_text(FILE, encoding="utf-8")
    (shop,) = load_connections(file, {"SHOP_FILE": "/data/shop.sqlite"})
    assert shop.file_path == Path("/data/shop.sqlite")
    assert "/data" not in repr(shop)
    public = shop.public()
    assert (public.name, public.dialect, public.policy.rows_max) == ("shop", Dialect.SQLITE, 500)
    assert public.policy.access is Access.READ_ONLY
    assert "sqlite:" not in public.model_dump_json()
    assert shop.display_names["orders"] == {"en": "Orders", "zh": "订单"}


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (entry(polcy={}), "connections[0].polcy: unknown key"),
        (entry(policy={"row_max": 5}), "connections[0].policy.row_max: unknown key"),
        (entry(policy={"access": "full"}), "`access` stands beside `name`"),
        (entry(policy={"rows_max": 0}), "connections[0].policy.rows_max: Input should be greater"),
        (entry(display_names={"orders": {"fr": "Commandes"}}), "connections[0].display_names.orders.fr"),
        (entry(url="sqlite:///${NOWHERE}"), "connections[0].url: the environment has no variable NOWHERE"),
        (entry(url="no url at all"), "connection shop: url: the URL is none"),
        (entry(url="sqlite://"), "connection shop: url: a SQLite URL names a file"),
        (entry(url="sqlite:///:memory:"), "connection shop: url: a SQLite URL names a file"),
        (entry(url="sqlite:///a.sqlite?mode=rwc"), "takes no parameters"),
        (entry(url="duckdb:///:memory:"), "connection shop: url: a DuckDB URL names a file"),
        (entry(url="duckdb:///md:mine"), "connection shop: url: a DuckDB URL names a file"),
        (entry(url="duckdb:///a.duckdb?threads=64"), "takes no parameters"),
        (entry(url="mssql://scott:tiger@host/db"), "there is no engine for 'mssql' here"),
        (entry(name="a b"), "connections[0].name"),
        ({"connections": {}}, "connections: "),
        ({"conections": []}, "conections: unknown key"),
        (["shop"], "file: "),
        (None, "file: "),
        ({"connections": entry()["connections"] * 2}, "connection shop: another connection has this name"),  # type: ignore[operator]
    ],
)
def test_what_is_wrong_is_said_where_it_is(read: object, words: str) -> None:
    assert words in problem(read)


def test_no_secret_stands_in_a_complaint() -> None:
    assert "tiger" not in problem(entry(url="oracle://scott:tiger@host/db", polcy=1))
    assert "tiger" not in problem(entry(url="mssql://scott:tiger@host/db"))


def test_a_file_that_is_missing_or_no_yaml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadConnections, match=r"no\.yaml cannot be read: FileNotFoundError"):
        load_connections(tmp_path / "no.yaml", {})
    (tmp_path / "bad.yaml").write_text("connections: [\n  - {")
    with pytest.raises(BadConnections, match=r"bad\.yaml is no YAML in line 2"):
        load_connections(tmp_path / "bad.yaml", {})


def test_a_secret_may_stand_in_a_file_of_its_own(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("p@ss/w:rd\n")
    url = f"postgresql://reader:${{file:{secret}}}@host/db"
    (shop,) = parse_connections(entry(url=url), {})
    assert shop.parsed_url.password == "p@ss/w:rd"
    secret.unlink()
    assert f"the secret's file {secret} cannot be read: FileNotFoundError" in problem(entry(url=url))


def test_a_file_that_is_nested_without_end_is_refused_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "connections.yaml"
    file.write_text("connections:\n- name: " + "[" * 5_000 + "]" * 5_000 + "\n", encoding="utf-8")
    with pytest.raises(BadConnections, match="line 2 is nested more than 20 levels deep"):
        load_connections(file)
