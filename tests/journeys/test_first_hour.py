"""A stranger's first hour in an empty folder: a PostgreSQL as hosts hand it out, and words that lead on where it does not work.

The server wants TLS and a password. The address is typed as it stands on the host's page; no file is written by hand.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.test_up import Running
from tests.support.strangers_postgres import PASSWORD, StrangersPostgres, strangers_postgres

pytestmark = [pytest.mark.connected, pytest.mark.slow, pytest.mark.timeout(900)]

BIN = Path(sys.executable).parent
COMMAND_SECONDS_MAX = 300
QUESTION = "How many orders are there?"
WEATHER = re.compile(r"later|at the moment|Traceback|please report", re.IGNORECASE)
"""What a fault of the set-up is not: something that passes by itself, or an error of the program."""


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    text: str


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Generator[StrangersPostgres]:
    with strangers_postgres(tmp_path_factory.mktemp("server")) as running:
        yield running


def querybus(folder: Path, *words: str, **environment: str) -> Said:
    """Run the command in a folder, with no setting of this machine and nobody at a terminal."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("QUERYBUS_", "PG", "OPENAI_"))}
    ended = subprocess.run(
        [str(BIN / "querybus"), *words],
        cwd=folder,
        env={**clean, "HOME": str(folder), "COLUMNS": "400", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS_MAX,
        check=False,
    )
    return Said(ended.returncode, f"{ended.stdout}\n{ended.stderr}")


def connect(folder: Path, address: str) -> Said:
    return querybus(folder, "connect", address, "--yes", "--no-start")


def ask(folder: Path, question: str = QUESTION) -> Said:
    return querybus(folder, "ask", question, "--connections", "connections.yaml")


def everything_in(folder: Path) -> str:
    files = [file for file in folder.rglob("*") if file.is_file() and "connections.secrets" not in file.parts]
    return "\n".join(file.read_text(errors="replace") for file in files)


def test_an_address_as_the_host_shows_it_leads_to_a_checked_answer_over_tls(
    database: StrangersPostgres, tmp_path: Path
) -> None:
    connected = connect(tmp_path, database.url("shop_reader"))
    assert connected.code == 0, connected.text
    assert "2 tables" in connected.text
    assert not WEATHER.search(connected.text), connected.text
    asked = ask(tmp_path)
    assert (asked.code, "6" in asked.text) == (0, True), asked.text
    secrets = [file for file in (tmp_path / "connections.secrets").iterdir() if file.is_file()]
    assert [file.stat().st_mode & 0o077 for file in secrets] == [0]
    assert PASSWORD not in everything_in(tmp_path) + connected.text


def test_what_was_connected_is_asked_by_a_business_reader_on_the_running_stack(
    database: StrangersPostgres, tmp_path: Path
) -> None:
    connected = connect(tmp_path, database.url("shop_reader"))
    assert connected.code == 0, connected.text
    stack = Running(tmp_path)
    try:
        stack.wait_ready()
        key = json.loads((stack.store / "keys.json").read_text())["business"]

        def answer(question: str) -> dict[str, Any]:
            request = urllib.request.Request(
                f"http://127.0.0.1:{stack.port}/v1/queries",
                method="POST",
                data=json.dumps({"question": question}).encode(),
                headers={"Content-Type": "application/json", "Authorization": f"Bearer {key}", "Prefer": "wait=60"},
            )
            with urllib.request.urlopen(request, timeout=120) as reply:
                return json.loads(reply.read())["answer"]

        cities = answer("number of customers per city")
        assert sorted(cities["rows"]) == [["Lyon", 2], ["Paris", 1]], cities
        names = answer("List all customers")
        assert names["outcome"] == "answered", names
        assert "Ada Stone" not in json.dumps(names)
        assert "ada@mail.example" not in json.dumps(names)
    finally:
        if stack.process.poll() is None:
            stack.stop()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"quoted_password": "wrong"}, ("password", "shop_reader")),
        ({"parameters": "sslmode=verify-full"}, ("tls", "certificate", "sslrootcert")),
    ],
    ids=["a wrong password", "a certificate that nobody signed"],
)
def test_a_refused_session_names_its_cause_and_the_setting_concerned(
    database: StrangersPostgres, tmp_path: Path, given: dict[str, str], named: tuple[str, ...]
) -> None:
    refused = connect(tmp_path, database.url("shop_reader", **given))
    assert refused.code == 5, refused.text
    for word in named:
        assert word in refused.text.lower(), refused.text
    assert not WEATHER.search(refused.text), refused.text
    assert not (tmp_path / "connections.yaml").exists(), "nothing is written of what does not work"


def test_the_servers_own_certificate_is_trusted_where_the_address_names_it(
    database: StrangersPostgres, tmp_path: Path
) -> None:
    address = database.url("shop_reader", parameters=f"sslmode=verify-full&sslrootcert={database.certificate}")
    connected = connect(tmp_path, address)
    assert connected.code == 0, connected.text


def test_the_owners_role_is_taken_on_trial_with_the_way_to_a_better_one(
    database: StrangersPostgres, tmp_path: Path
) -> None:
    connected = connect(tmp_path, database.url("shop_owner"))
    assert connected.code == 0, connected.text
    for words in ("shop_owner", "CREATE ROLE", "GRANT SELECT", "webshop"):
        assert words in connected.text, connected.text
    asked = ask(tmp_path)
    assert (asked.code, "6" in asked.text) == (0, True), asked.text


def test_production_keeps_refusing_a_role_that_may_write(database: StrangersPostgres, tmp_path: Path) -> None:
    refused = querybus(
        tmp_path,
        *("connect", database.url("shop_owner"), "--yes", "--no-start"),
        QUERYBUS_ENVIRONMENT="production",
    )
    assert refused.code == 5, refused.text
    assert "shop_owner" in refused.text
    assert "role_may_write" in refused.text


def test_a_role_without_grants_gets_the_statements_that_it_lacks(database: StrangersPostgres, tmp_path: Path) -> None:
    connected = connect(tmp_path, database.url("newcomer"))
    for statement in (
        "GRANT USAGE ON SCHEMA public TO newcomer;",
        "GRANT SELECT ON ALL TABLES IN SCHEMA public TO newcomer;",
    ):
        assert statement in connected.text, connected.text
    assert not WEATHER.search(connected.text), connected.text
    # An administrator runs them, and the same command leads to an answer.
    database.server.execute(
        "GRANT USAGE ON SCHEMA public TO newcomer;\nGRANT SELECT ON ALL TABLES IN SCHEMA public TO newcomer;", "webshop"
    )
    try:
        again = connect(tmp_path, database.url("newcomer"))
        assert again.code == 0, again.text
        asked = ask(tmp_path)
        assert (asked.code, "6" in asked.text) == (0, True), asked.text
    finally:
        database.server.execute("REVOKE SELECT ON ALL TABLES IN SCHEMA public FROM newcomer;", "webshop")


def test_a_question_to_a_role_without_grants_says_that_no_table_can_be_read(
    database: StrangersPostgres, tmp_path: Path
) -> None:
    entry = {"name": "webshop", "url": database.url("newcomer")}
    (tmp_path / "connections.yaml").write_text(json.dumps({"connections": [entry]}))
    asked = ask(tmp_path)
    assert asked.code != 0
    assert "table" in asked.text.lower(), asked.text
    assert "newcomer" in asked.text or "connections test webshop" in asked.text, asked.text
    assert "Name a period" not in asked.text
