"""`querybus up` as an operator meets it: processes of their own, restarted when they die, stopped together."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from querybus_cli.local.ports import free_ports
from querybus_cli.local.up import is_ready
from tests.support.scripted_model import ScriptedModel, Seen, Step, say

pytestmark = pytest.mark.connected

START_SECONDS = 120.0


def free_port() -> int:
    return free_ports(1)[0]


def until(condition: Callable[[], Any], seconds: float, what: str) -> Any:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        result = condition()
        if result:
            return result
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds} s: {what}")


class Running:
    """A running `querybus up`."""

    def __init__(self, directory: Path, *arguments: str, **environment: str) -> None:
        self.directory = directory
        self.port = free_port()
        self.store = directory / "store"
        # A pipe that nobody reads would stop the stack once it is full.
        self.log = directory / "up.log"
        clean = {key: value for key, value in os.environ.items() if not key.startswith("QUERYBUS_")}
        self.process = subprocess.Popen(
            [
                str(Path(sys.executable).parent / "querybus"),
                "up",
                "--store",
                str(self.store),
                "--port",
                str(self.port),
                "--connections",
                str(directory / "connections.yaml"),
                *arguments,
            ],
            env={**clean, **environment},
            stdout=self.log.open("w"),
            stderr=subprocess.STDOUT,
            text=True,
        )

    def key(self) -> str:
        return json.loads((self.store / "keys.json").read_text())["analyst"]

    def http(
        self, method: str, path: str, body: dict[str, Any] | None = None, **headers: str
    ) -> tuple[int, dict[str, Any]]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self.key()}", **headers},
        )
        try:
            with urllib.request.urlopen(request, timeout=40) as response:
                return response.status, json.loads(response.read() or b"{}")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def ask(self, question: str, **options: Any) -> dict[str, Any]:
        status, answer = self.http(
            "POST", "/v1/queries", {"question": question, "connection": "shop", "options": options}, Prefer="wait=30"
        )
        assert status == 200, answer
        return answer["answer"]

    def children(self) -> dict[str, int]:
        """Return the process ids of the services by module name."""
        result: dict[str, int] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                with contextlib.suppress(OSError):
                    words = (entry / "cmdline").read_bytes().decode().split("\0")
                    parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                    if parent == self.process.pid:
                        result[words[2] if "-m" in words else words[0].rpartition("/")[2]] = int(entry.name)
        return result

    def wait_ready(self) -> None:
        def ready() -> bool:
            assert self.process.poll() is None, self.log.read_text()
            return not self.waiting()

        try:
            until(ready, START_SECONDS, "every process is ready")
        except AssertionError as error:
            raise AssertionError(f"{error}; waiting for {self.waiting()}: {self.log.read_text()[-4_000:]}") from error

    def waiting(self) -> list[str]:
        """Return the processes that are not ready yet."""
        file = self.store / "processes.json"
        if not file.exists():
            return ["the bus"]
        return [name for name, address in json.loads(file.read_text()).items() if not is_ready(address)]

    def command(self, *words: str) -> list[dict[str, Any]]:
        """Run an operator's command on this stack and return the JSON objects that it printed."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith("QUERYBUS_")}
        result = subprocess.run(
            [str(Path(sys.executable).parent / "querybus"), *words, "--store", str(self.store), "--json"],
            env=clean,
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return [json.loads(line) for line in result.stdout.splitlines()]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=60)


def with_shop(directory: Path) -> Path:
    """Put a shop with three customers and its connections file into a directory."""
    file = directory / "shop.sqlite"
    with sqlite3.connect(file) as connection:
        connection.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
            "INSERT INTO customers VALUES (1,'Ann'),(2,'Bob'),(3,'Cid');"
        )
    (directory / "connections.yaml").write_text(
        json.dumps({"connections": [{"name": "shop", "url": f"sqlite:///{file}"}]})
    )
    return directory


@contextlib.contextmanager
def started(directory: Path) -> Generator[Running]:
    """Give a stack that runs in a directory, each service in a process of its own, ready to be asked."""
    stack = Running(directory, "--apart")
    try:
        stack.wait_ready()
        yield stack
    finally:
        if stack.process.poll() is None:
            stack.stop()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return with_shop(tmp_path)


@pytest.fixture
def running(directory: Path) -> Generator[Running]:
    with started(directory) as stack:
        yield stack


def test_a_service_that_dies_is_started_again_and_no_process_is_left_behind(running: Running) -> None:
    assert running.ask("How many customers are there?")["rows"] == [[3]]
    before = running.children()
    assert {
        f"querybus_{name}" for name in ("gateway", "generator", "validator", "executor", "recovery", "presenter")
    } <= set(before)
    os.kill(before["querybus_generator"], signal.SIGKILL)
    answer = running.ask("How many customers are there?")
    assert answer["rows"] == [[3]]
    assert running.command("dead", "list") == []
    events = running.command("history", answer["query_id"])
    assert [event["event"] for event in events] == ["asked", "drafted", "approved", "concluded", "finished"]
    lines = running.command("logs", "--query", answer["query_id"])
    settled = [line["stage"] for line in lines if line["event"] == "stage.settled"]
    # Each settles once; one may still wait for its acknowledgement while the next already works on what it published.
    assert sorted(item for item in settled if item in ("validator", "executor", "presenter")) == [
        "executor",
        "presenter",
        "validator",
    ]
    assert len({line["trace_id"] for line in lines if line["event"] == "stage.settled"}) == 1
    (kept,) = running.command("backup", str(running.store.parent / "kept"))
    assert {stream["stream"]: stream["messages"] for stream in kept["streams"]}["QUERYBUS"] >= 10
    (replayed,) = running.command("replay", answer["query_id"])
    assert (replayed["same"], replayed["is"]["rows"]) == (True, [[3]])
    for name in ("operator.json", "clients.json", "keys.json"):
        assert (running.store / name).stat().st_mode & 0o077 == 0
    assert json.loads((running.store / "clients.json").read_text())["clients"]["analyst"]["user"] == "local.analyst"
    after = until(lambda: running.children().get("querybus_generator"), 20, "a new generator")
    assert after != before["querybus_generator"]
    pids = list(running.children().values())
    assert running.stop() == 0
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), 10, "every process has ended")


def test_a_table_that_is_new_is_known_after_a_statement_that_named_it_or_after_a_command(running: Running) -> None:
    def run(sql: str) -> dict[str, Any]:
        asked = {"question": "", "operation": "run", "sql": sql, "connection": "shop"}
        return running.http("POST", "/v1/queries", asked, Prefer="wait=30")[1]["answer"]

    def make(table: str) -> None:
        with sqlite3.connect(running.directory / "shop.sqlite") as connection:
            connection.execute(f"CREATE TABLE {table} AS SELECT 1 AS number")

    make("invoices")
    assert run("SELECT COUNT(*) FROM invoices")["code"] == "table_not_found"
    until(lambda: run("SELECT COUNT(*) FROM invoices")["rows"] == [[1]], 30, "the new table is known")
    make("payments")
    command = [str(Path(sys.executable).parent / "querybus"), "connections", "refresh", "shop"]
    address = f"http://127.0.0.1:{running.port}"
    for _ in range(3):
        subprocess.run([*command, "--url", address], env={**os.environ, "QUERYBUS_KEY": running.key()}, check=True)
        # An executor reads a catalog once in five seconds at most.
        time.sleep(3)
    path = "/v1/connections/shop/catalog"
    tables = until(lambda: {item["name"] for item in running.http("GET", path)[1]["tables"]}, 10, "a catalog")
    assert {"invoices", "payments"} <= tables


def test_three_services_in_one_process_answer_die_together_and_come_back_and_lose_nothing(directory: Path) -> None:
    stack = Running(directory, "--together")
    try:
        stack.wait_ready()
        assert stack.ask("How many customers are there?")["rows"] == [[3]]
        before = stack.children()
        assert {name for name in before if name.startswith("querybus")} == {
            *("querybus_gateway", "querybus_validator", "querybus_executor"),
            "querybus_cli.local.colocated",
        }
        assert len(json.loads((stack.store / "processes.json").read_text())) == 6
        os.kill(before["querybus_cli.local.colocated"], signal.SIGKILL)
        assert stack.ask("How many customers are there?")["rows"] == [[3]]
        assert stack.command("dead", "list") == []
        after = until(lambda: stack.children().get("querybus_cli.local.colocated"), 20, "a new process")
        assert after != before["querybus_cli.local.colocated"]
        until(lambda: not stack.waiting(), 20, "all three are ready again")
        os.kill(before["nats-server"], signal.SIGKILL)
        until(lambda: stack.children().get("nats-server") not in (None, before["nats-server"]), 20, "a new bus")
        until(lambda: not stack.waiting(), 30, "every service has found the bus again")
        assert stack.ask("How many customers are there?")["rows"] == [[3]]
    finally:
        assert stack.stop() == 0
    text = stack.log.read_text()
    assert "generator, recovery, presenter share a process" in text
    assert "killed" not in text
    last = (stack.store / "logs" / "generator+recovery+presenter-1.log").read_text().splitlines()[-6:]
    assert sum('"Finished server process' in line for line in last) == 3


@pytest.mark.slow
def test_a_service_in_a_shared_process_reads_its_settings_from_files_of_secrets_as_well(directory: Path) -> None:
    with ScriptedModel(say("```sql\nSELECT COUNT(*) FROM customers\n```")) as model:
        secrets = directory / "secrets"
        secrets.mkdir()
        (secrets / "QUERYBUS_LLM_BASE_URL").write_text(model.base_url)
        stack = Running(directory, "--together", QUERYBUS_SECRETS_DIR=str(secrets))
        try:
            stack.wait_ready()
            assert stack.ask("How many customers are there?")["attempts"][0]["origin"] == "model"
        finally:
            stack.stop()


def test_services_share_a_process_only_where_there_is_one_of_each(directory: Path) -> None:
    stack = Running(directory, "--together", "--replicas", "generator=2")
    assert stack.process.wait(timeout=30) == 2
    assert "--together is for one generator, recovery, presenter each" in stack.log.read_text()


@pytest.mark.slow
def test_a_second_stack_is_reported_what_is_taken_and_leaves_the_first_alone(running: Running) -> None:
    for store, port, words in (
        (running.store, "0", "is in use"),
        (running.directory / "other", running.port, "--port"),
    ):
        second = subprocess.run(
            [
                *(str(Path(sys.executable).parent / "querybus"), "up", "--store", str(store), "--port", str(port)),
                *("--connections", str(running.directory / "connections.yaml")),
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert second.returncode == 2
        assert words in second.stderr
        assert len(second.stderr.splitlines()) == 1
    assert (running.store / "processes.json").exists()
    assert running.ask("How many customers are there?")["rows"] == [[3]]


@pytest.mark.slow
@pytest.mark.parametrize("retries", [0, 1, 5])
def test_a_generator_killed_between_attempts_changes_no_count(directory: Path, retries: int) -> None:
    seen: list[str] = []

    def script(request: Seen) -> Step:
        if "SELECT 1 and nothing else" in request.text:
            return say("SELECT 1")
        seen.append(request.text)
        # Slow enough that the generator dies while it waits for this very answer.
        return say(f"SELECT nonsense_{len(seen)} FROM customers", delay_seconds=1.5)

    with ScriptedModel(script) as model:
        stack = Running(directory, "--apart", QUERYBUS_LLM_BASE_URL=model.base_url)
        try:
            stack.wait_ready()
            status, query = stack.http(
                "POST",
                "/v1/queries",
                {
                    # What the translator reads would be answered by its reading.
                    "question": "Which customers hum loudly at dawn?",
                    "connection": "shop",
                    "options": {"retries_max": retries, "deadline_seconds": 120, "effort": "quick"},
                },
            )
            assert status == 202, query
            until(lambda: len(seen) >= min(2, retries + 1), 30, "the model is being asked")
            time.sleep(0.3)
            os.kill(stack.children()["querybus_generator"], signal.SIGKILL)
            path = f"/v1/queries/{query['id']}"
            answer = until(lambda: stack.http("GET", path)[1].get("answer"), 100, "the query has finished")
            assert answer["outcome"] == "failed", answer
            assert answer["retries"]["generation"] == retries
            assert len(answer["attempts"]) == retries + 1
        finally:
            stack.stop()


WITH_CHAT_MODEL_MIB_MAX = 200
"""Of the generator once a model was asked: LangChain and the client of OpenAI alone are 60 MiB."""


@pytest.mark.slow
def test_each_service_idles_below_150_megabytes_and_one_that_asks_a_model_below_200(directory: Path) -> None:
    with ScriptedModel(say("```sql\nSELECT COUNT(*) FROM customers\n```")) as model:
        stack = Running(directory, "--apart", QUERYBUS_LLM_BASE_URL=model.base_url)
        try:
            stack.wait_ready()
            assert stack.ask("How many customers are there?")["attempts"][0]["origin"] == "model"
            until(lambda: "the model default replies" in stack.log.read_text(), 60, "the model was tried")
            sizes = {name: resident_mib(pid) for name, pid in stack.children().items()}
        finally:
            stack.stop()
    assert sizes.pop("querybus_generator") < WITH_CHAT_MODEL_MIB_MAX
    assert {name: size for name, size in sizes.items() if size >= 150} == {}


def resident_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1_024
