"""A connection as the bus stores it is read and written unchanged, and one of before is read with its defaults."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from querybus.core.catalog import Dialect
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.policy import Connection, ConnectionPolicy

GOLDEN = Path(__file__).parent / "golden" / "stored"
POLICY = ConnectionPolicy(schemas_allowed=("public",))
BEFORE = Connection(name="sales", dialect=Dialect.POSTGRESQL, description="orders and customers", policy=POLICY)
FAILED = Failure.of(FailureCode.CONNECTION, "the server refuses the password", Facts(rule="credentials"))


@pytest.mark.parametrize(
    ("name", "connection"),
    [
        ("connection", BEFORE),
        ("connection-warned", BEFORE.model_copy(update={"warning": "the role reader may write"})),
        ("connection-failed", BEFORE.model_copy(update={"trouble": FAILED})),
    ],
)
def test_a_golden_connection_is_read_and_written_unchanged(name: str, connection: Connection) -> None:
    golden = (GOLDEN / f"{name}.json").read_text()
    assert Connection.model_validate_json(golden) == connection
    assert json.loads(connection.model_dump_json()) == json.loads(golden), "the stored form changed: add a golden file"


def test_a_connection_that_was_stored_before_it_had_a_warning_is_read_without_one() -> None:
    raw = json.loads((GOLDEN / "connection.json").read_text())
    del raw["trouble"], raw["warning"]
    assert Connection.model_validate_json(json.dumps(raw)) == BEFORE
