"""The start of a stack says which connections cannot be read, and whose role may write."""

from __future__ import annotations

from pathlib import Path

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import Connection
from querybus_cli.local.up import connection_notes, entry_lines, example_lines


def test_a_role_that_may_write_and_a_database_that_is_away_are_said_with_the_next_command() -> None:
    away = Failure.of(FailureCode.CONNECTION, "nobody listens at port 5433. Next: querybus connections test crm")
    connections = (
        Connection(name="crm", dialect=Dialect.POSTGRESQL, trouble=away),
        Connection(name="sales", dialect=Dialect.POSTGRESQL, warning="the role owner may write"),
        Connection(name="shop", dialect=Dialect.SQLITE),
    )
    assert connection_notes(connections) == [
        "failed: crm cannot be read: nobody listens at port 5433. Next: querybus connections test crm",
        "warning: sales: the role owner may write; `querybus connections test sales` says what to do",
    ]


def test_without_a_terminal_the_start_names_the_file_of_keys_and_prints_none() -> None:
    said = "\n".join((*entry_lines("http://127.0.0.1:8080", None, Path("store/keys.json")),
                      *example_lines("http://127.0.0.1:8080", None)))  # fmt: skip
    assert "store/keys.json" in said
    assert "Bearer <key>" in said
    assert "#code=" not in said
    assert "Bearer qb-1" in "\n".join(example_lines("http://127.0.0.1:8080", "qb-1"))
