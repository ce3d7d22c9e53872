"""The command line against a running gateway, and a conversation at a terminal: a pseudo one, typed at by this test."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest

from querybus.core.subjects import StageName
from querybus_cli.local.local_stack import StackPlan
from querybus_cli.local.own_stack import own_stack
from tests.support.pseudo_terminal import Terminal

BIN = Path(sys.executable).parent / "querybus"

pytestmark = pytest.mark.connected


@dataclass
class Running:
    """A gateway with a shop behind it."""

    url: str
    keys: dict[str, str]
    file: Path
    grpc_address: str

    def environment(self, audience: str = "analyst") -> dict[str, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("QUERYBUS_")}
        return {
            **clean,
            "QUERYBUS_URL": self.url,
            "QUERYBUS_KEY": self.keys[audience],
            "GRPC_ADDRESS": self.grpc_address,
            "PATH": f"{BIN.parent}{os.pathsep}{os.environ['PATH']}",
        }

    def querybus(self, *arguments: str, audience: str = "analyst") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(BIN), *arguments],
            env=self.environment(audience),
            cwd=self.file.parent,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    folder = tmp_path_factory.mktemp("gateway")
    file = folder / "shop.sqlite"
    with sqlite3.connect(file) as connection:
        connection.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);"
            "INSERT INTO customers VALUES (1,'Ann','Lyon'),(2,'Bob','Paris'),(3,'Cid, \"C\"','Lyon');"
        )
    connections = folder / "connections.yaml"
    connections.write_text(json.dumps({"connections": [{"name": "shop", "url": f"sqlite:///{file}"}]}))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    plan = StackPlan(connections_file=connections, sync="2m", extra={StageName.GATEWAY: {"grpc_port": port}})
    with own_stack(plan) as (url, keys):
        yield Running(url, keys, file, f"127.0.0.1:{port}")


def test_a_running_gateway_is_asked_through_its_api(running: Running) -> None:
    done = running.querybus("ask", "How many customers are there?", "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["outcome"], answer["rows"]) == (0, "answered", [[3]])
    assert "SELECT" in answer["sql"]
    shown = running.querybus("ask", "How many customers are there in each city?")
    assert "Lyon" in shown.stdout
    assert "█" in shown.stdout
    assert "\x1b" not in shown.stdout + shown.stderr, "no colour and no progress where nobody looks"


@pytest.mark.slow
def test_a_business_key_sees_no_statement(running: Running) -> None:
    done = running.querybus("ask", "How many customers are there?", "--json", audience="business")
    assert json.loads(done.stdout)["sql"] is None
    assert "SELECT" not in done.stdout


@pytest.mark.slow
def test_an_analyst_that_asks_as_business_sees_no_more_than_that(running: Running) -> None:
    question = ("ask", "How many customers are there?", "--json")
    assert json.loads(running.querybus(*question).stdout)["sql"].startswith("SELECT")
    done = running.querybus(*question, "--audience", "business")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout).get("sql") is None
    assert "SELECT" not in done.stdout


@pytest.mark.slow
def test_rows_alone_go_to_standard_output_as_csv(running: Running) -> None:
    done = running.querybus("ask", "Show the name of all customers", "--csv")
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert sorted(row[0] for row in rows[1:]) == ["Ann", "Bob", 'Cid, "C"']
    refused = running.querybus("ask", "delete all customers", "--csv")
    assert (refused.returncode, refused.stdout) == (4, "")
    assert refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"QUERYBUS_KEY": "qb.local.analyst.wrong"}, "unauthenticated"),
        ({"QUERYBUS_KEY": ""}, "QUERYBUS_KEY"),
        ({"QUERYBUS_URL": "http://127.0.0.1:9"}, "Connect"),
        ({"QUERYBUS_URL": "127.0.0.1:9"}, "http://"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_exit_code_2(running: Running, change: dict[str, str], words: str) -> None:
    done = subprocess.run(
        [str(BIN), "ask", "q"],
        env=running.environment() | change,
        cwd=running.file.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def chatting(running: Running) -> Terminal:
    return Terminal([str(BIN), "chat"], running.environment(), running.file.parent)


def test_a_conversation_at_a_terminal(running: Running) -> None:
    chat = chatting(running)
    chat.until(r"\? ")
    chat.type("How many customers are there?\n")
    assert "3" in chat.until(r"answered[\s\S]*\? ")
    chat.type("/sql\n")
    assert "SELECT" in chat.until(r"COUNT[\s\S]*\? ")
    chat.type("/quit\n")
    assert chat.end() == 0


@pytest.mark.slow
def test_an_interrupt_at_the_prompt_ends_the_conversation(running: Running) -> None:
    chat = chatting(running)
    chat.until(r"\? ")
    os.kill(chat.pid, signal.SIGINT)
    # Between printing the prompt and waiting for a key, readline can miss a signal; a person presses the keys again.
    ended = threading.Event()

    def press_again() -> None:
        while not ended.wait(2):
            with contextlib.suppress(ProcessLookupError):
                os.kill(chat.pid, signal.SIGINT)

    pressing = threading.Thread(target=press_again)
    pressing.start()
    try:
        assert chat.end() in (0, 130)
    finally:
        ended.set()
        pressing.join()


@pytest.mark.slow
def test_what_is_piped_into_a_conversation_is_answered_without_colour(running: Running) -> None:
    done = subprocess.run(
        [str(BIN), "chat"],
        input="How many customers are there?\n/thread\n",
        env=running.environment(),
        cwd=running.file.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "answered" in done.stdout
    assert "How many customers are there?  (answered)" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.slow
def test_the_shell_completes_commands_and_values(running: Running) -> None:
    def completed(words: str, number: int) -> list[str]:
        environment = running.environment() | {
            "_QUERYBUS_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(number),
        }
        done = subprocess.run([str(BIN)], env=environment, capture_output=True, text=True, timeout=30, check=False)
        return done.stdout.split()

    assert completed("querybus as", 1) == ["ask"]
    assert completed("querybus ask --audience b", 3) == ["business"]


ROOT = Path(__file__).parents[2]
README = ROOT / "libs/client/README.md"


def blocks(section: str, kind: str) -> list[str]:
    """Return the code of one section of docs/api.md."""
    text = (ROOT / "docs/api.md").read_text()
    part = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return re.findall(rf"^```{kind}\n(.*?)^```", part, re.MULTILINE | re.DOTALL)


def test_the_python_of_the_docs_runs_as_it_stands(running: Running) -> None:
    (program,) = blocks("Python", "python")
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=running.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "answered ((3,),)" in done.stdout
    assert "finished" in done.stdout
    assert "422 question_empty" in done.stdout


@pytest.mark.slow
def test_the_programs_of_the_clients_readme_run_as_they_stand(running: Running) -> None:
    programs = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    said: list[str] = []
    for program in programs:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=running.environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    one_by_one, at_once = said
    assert "answered ((3,),)" in one_by_one
    assert "1 (('Lyon', 2), ('Paris', 1))" in one_by_one
    assert "422 question_empty a question is needed" in one_by_one
    assert sorted(at_once.splitlines()) == ["cities answered 2", "customers answered 1"]


@pytest.mark.slow
def test_the_commands_of_the_docs_run_as_they_stand(running: Running) -> None:
    (commands,) = blocks("Command line", "sh")
    for command in commands.splitlines():
        done = subprocess.run(
            ["bash", "-c", command],
            env=running.environment(),
            cwd=running.file.parent,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)
        assert "3" in done.stdout or "Lyon" in done.stdout


@pytest.mark.slow
def test_stubs_are_made_and_the_grpc_program_of_the_docs_runs(running: Running, tmp_path: Path) -> None:
    (commands,), (program,) = blocks("gRPC", "sh"), blocks("gRPC", "python")
    (tmp_path / "proto").symlink_to(ROOT / "proto")
    made = subprocess.run(
        ["bash", "-ec", commands], env=running.environment(), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    # As a caller has it: the libraries, the stubs, and no package of this repository.
    libraries = str(Path(grpc.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env=running.environment() | {"PYTHONPATH": f"{tmp_path / 'stubs'}{os.pathsep}{libraries}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "3" in done.stdout
