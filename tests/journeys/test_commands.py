"""Every command that the docs show is run here, or at least understood by make; the command line as a newcomer meets it."""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.scripted_model import ScriptedModel, say

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
# These run this very test suite, change the checkout or do not end by themselves: make is asked whether it knows them.
NOT_RUN_INSIDE_A_TEST = {
    "setup",
    "test-unit",
    "test",
    "test-slow",
    "test-all",
    "check",
    "fix",
    "up",
    "lock",
    "clean",
    "docs",
    "bench",
}

pytestmark = [pytest.mark.connected]


def commands() -> list[str]:
    names: list[str] = []
    # README's commands run as they stand in tests/deploy/test_docs_commands.py.
    for page in ("CONTRIBUTING.md",):
        for block in BLOCK.findall((ROOT / page).read_text()):
            names += [line.split("  #")[0].strip() for line in block.splitlines() if line.strip()]
    return names


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that QueryBus has never seen."""
    file = tmp_path_factory.mktemp("databases") / "shop.sqlite"
    with sqlite3.connect(file) as connection:
        connection.executescript(
            """
            CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);
            CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), amount REAL);
            INSERT INTO customers VALUES (1,'Ann','Lyon'),(2,'Bob','Paris'),(3,'Cid','Lyon');
            INSERT INTO orders VALUES (1,1,10.5),(2,1,20),(3,2,5);
            """
        )
    return file


def querybus(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("QUERYBUS_LLM")}
    return subprocess.run(
        [str(BIN / "querybus"), *arguments],
        cwd=cwd,
        env={**clean, "XDG_CACHE_HOME": str(cwd / "cache"), **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.parametrize("command", commands())
def test_a_command_of_the_docs_works(command: str, shop: Path) -> None:
    words = shlex.split(command)
    if words[0] == "make":
        if words[1] in NOT_RUN_INSIDE_A_TEST:
            assert subprocess.run(["make", "-n", words[1]], cwd=ROOT, capture_output=True, check=False).returncode == 0
            return
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    else:
        assert words[0] == ".venv/bin/querybus"
        done = querybus(*words[1:], cwd=shop.parent)
    assert done.returncode == 0, done.stdout + done.stderr


def test_make_alone_prints_the_verbs() -> None:
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)
    for verb in ("setup", "demo", "up", "ask", "test", "test-slow", "test-all", "check", "fix", "bench"):
        assert f"make {verb} " in done.stdout


def test_a_second_set_up_costs_nothing() -> None:
    done = subprocess.run(["make", "setup"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Nothing to be done for 'setup'" in done.stdout


@pytest.mark.requirement("001.1", "000.29", "000.30", "001.12")
def test_a_question_about_an_unseen_database_is_answered_as_json(shop: Path) -> None:
    done = querybus(
        "ask", "How many customers are there?", "--database", f"sqlite:///{shop}", "--json", cwd=shop.parent
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["outcome"] == "answered"
    assert answer["rows"] == [[3]]
    assert answer["retries"]["generation"] == 0
    assert len(answer["attempts"]) == 1
    assert answer["classification"]["kind"] == "database"
    assert [step["stage"] for step in answer["path"]] == ["gateway", "generator", "validator", "executor", "presenter"]
    assert {"sql", "columns", "message", "options", "query_id"} <= set(answer)


def test_the_same_question_in_chinese_is_answered_in_chinese(shop: Path) -> None:
    done = querybus("ask", "有多少个 customers？", "--database", f"sqlite:///{shop}", "--json", cwd=shop.parent)
    answer = json.loads(done.stdout)
    assert answer["rows"] == [[3]]
    assert re.search(r"[\u4e00-\u9fff]", answer["message"])


@pytest.mark.slow
def test_a_business_reader_sees_no_sql_and_no_name(shop: Path) -> None:
    done = querybus(
        "ask",
        "How many customers are there?",
        "--database",
        f"sqlite:///{shop}",
        "--json",
        "--audience",
        "business",
        cwd=shop.parent,
    )
    answer = json.loads(done.stdout)
    assert answer["rows"] == [[3]]
    assert answer["sql"] is None
    assert "SELECT" not in done.stdout.upper()


def test_a_wish_to_delete_is_refused_and_nothing_is_gone(shop: Path) -> None:
    done = querybus("ask", "delete all orders", "--database", f"sqlite:///{shop}", "--json", cwd=shop.parent)
    assert done.returncode == 4, done.stdout + done.stderr
    assert json.loads(done.stdout)["outcome"] == "refused"
    with sqlite3.connect(shop) as connection:
        assert connection.execute("SELECT COUNT(*) FROM orders").fetchone() == (3,)


def test_what_cannot_be_read_is_asked_about(shop: Path) -> None:
    done = querybus(
        "ask",
        "What is the airspeed of an unladen swallow?",
        "--database",
        f"sqlite:///{shop}",
        "--json",
        cwd=shop.parent,
    )
    assert done.returncode == 3, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["outcome"] == "clarification"
    assert answer["options"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ask", "How many?", "--database", "shop.sqlite"], "there is no database file shop.sqlite"),
        (["ask", "How many?", "--connection", "nosuch"], "--connection is one of: shop"),
        (["ask", "How many?", "--model", "gpt"], "QUERYBUS_LLM_BASE_URL"),
        (["ask", "How many?", "--today", "yesterday"], "YYYY-MM-DD"),
        (["ask", "How many?", "--audience", "king"], "analyst"),
        (["ask", "How many?", "--retries", "9"], "retries"),
        (["ask", "How many?", "--database", "mongodb://host/shop"], "known: bigquery"),
        (["up", "--replicas", "cook=2"], "SERVICE=COUNT"),
        (["fly"], "fly"),
    ],
)
def test_a_wrong_use_says_what_to_type_and_exits_with_two(arguments: list[str], says: str, tmp_path: Path) -> None:
    done = querybus(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "content", [None, b"", b"this is no database at all, it is a text of some length", "directory"]
)
def test_a_database_that_is_none_ends_in_words(content: bytes | str | None, tmp_path: Path) -> None:
    file = tmp_path / "broken.sqlite"
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content == "directory":
        file.mkdir()
    done = querybus("ask", "How many customers are there?", "--database", f"sqlite:///{file}", "--json", cwd=tmp_path)
    if content is None or (content == "directory" and done.returncode == 2):
        # What is no file is refused before anything is started.
        assert done.returncode == 2
        assert str(file) in done.stderr
        assert "Traceback" not in done.stderr
        return
    answer = json.loads(done.stdout)
    assert done.returncode in (3, 5), done.stdout + done.stderr
    assert answer["outcome"] in ("failed", "clarification")
    assert answer["message"]
    assert answer["outcome"] == "clarification" or "its catalog was not read yet" not in answer["detail"], "the reason"


@pytest.mark.slow
def test_an_empty_and_a_huge_question_are_refused_at_the_api(shop: Path) -> None:
    for question in ("", "   ", "x" * 20_000):
        done = querybus("ask", question, "--database", f"sqlite:///{shop}", "--json", cwd=shop.parent)
        assert done.returncode == 2, done.stdout + done.stderr
        assert "question" in done.stderr


@pytest.mark.slow
def test_a_configured_model_is_used_and_may_be_named(shop: Path) -> None:
    with ScriptedModel(say("SELECT COUNT(*) FROM customers WHERE city = 'Lyon'")) as model:
        address = {"QUERYBUS_LLM_BASE_URL": model.base_url}
        for name in ((), ("--model", "tiny-1")):
            done = querybus(
                "ask",
                "How many live in Lyon?",
                "--database",
                f"sqlite:///{shop}",
                "--json",
                *name,
                cwd=shop.parent,
                **address,
            )
            assert json.loads(done.stdout)["rows"] == [[2]], done.stdout + done.stderr
            assert json.loads(done.stdout)["attempts"][0]["origin"] == "model"
        assert [seen.json["model"] for seen in model.requests] == ["default", "tiny-1"]
        away = {"QUERYBUS_LLM_BASE_URL": "http://127.0.0.1:1/v1"}
        done = querybus(
            "ask", "How many customers are there?", "--database", f"sqlite:///{shop}", cwd=shop.parent, **away
        )
        assert "`querybus models test` shows what to do" in done.stderr, done.stdout + done.stderr
        done = querybus(
            "ask",
            "How many customers are there?",
            "--database",
            f"sqlite:///{shop}",
            "--json",
            "--model",
            "builtin",
            cwd=shop.parent,
            **address,
        )
        assert json.loads(done.stdout)["attempts"][0]["origin"] == "builtin"
        assert len(model.requests) == 2


@pytest.mark.slow
def test_a_setting_that_no_service_can_start_with_is_named_and_holds_nothing_up(shop: Path) -> None:
    wrong = {"QUERYBUS_LLM_BASE_URL": "nonsense"}
    done = querybus("ask", "How many?", "--database", f"sqlite:///{shop}", cwd=shop.parent, **wrong)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith("querybus: the generator cannot start: base_url: ")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_an_unknown_connection_is_named_as_such(tmp_path: Path, shop: Path) -> None:
    file = tmp_path / "connections.yaml"
    file.write_text(json.dumps({"connections": [{"name": "shop", "url": f"sqlite:///{shop}"}]}))
    done = querybus("ask", "How many?", "--connections", str(file), "--connection", "warehouse", cwd=tmp_path)
    assert done.returncode == 2
    assert "connection" in done.stderr


@pytest.mark.slow
def test_the_whole_stack_in_one_process_stays_below_400_megabytes(shop: Path) -> None:
    # A small process in between: a child's peak would begin with that of the process that forked it, this one.
    measure = (
        "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode; "
        "print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [str(BIN / "querybus"), "ask", "How many customers are there?", "--database", f"sqlite:///{shop}"]
    done = subprocess.run(
        [sys.executable, "-c", measure, *command],
        cwd=shop.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    code, peak_kib = map(int, done.stdout.split())
    assert code == 0
    assert peak_kib / 1_024 < 400


def test_check_sql_judges_lines(tmp_path: Path) -> None:
    (tmp_path / "catalog.json").write_text(json.dumps({"tables": {"t": {"a": "INT"}}}))
    (tmp_path / "lines.jsonl").write_text('{"id": 1, "sql": "SELECT a FROM t"}\n{"id": 2, "sql": "DROP TABLE t"}\n')
    done = querybus("check-sql", "--catalog", "catalog.json", "lines.jsonl", cwd=tmp_path)
    assert done.returncode == 4
    assert [json.loads(line)["verdict"] for line in done.stdout.splitlines()] == ["allow", "refuse"]
