"""A change that is asked for in words is made once, after a typed yes; after a no, or without a terminal, it is not."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from querybus.core.subjects import StageName
from querybus_cli.local.local_stack import StackPlan
from querybus_cli.local.own_stack import own_stack
from tests.support.pseudo_terminal import Terminal
from tests.support.scripted_model import ScriptedModel, say

pytestmark = [pytest.mark.connected, pytest.mark.slow]

BIN = Path(sys.executable).parent / "querybus"
QUESTION = "Add one to the amount in the stock of id 2"
SQL = "UPDATE stock SET amount = amount + 1 WHERE id = 2"


@dataclass
class Shop:
    """A gateway with a shop behind it that may be changed."""

    environment: dict[str, str]
    file: Path

    def amounts(self) -> list[int]:
        with sqlite3.connect(self.file) as connection:
            return [amount for (amount,) in connection.execute("SELECT amount FROM stock ORDER BY id")]

    def typed(self, *arguments: str) -> Terminal:
        return Terminal([str(BIN), *arguments], self.environment, self.file.parent)

    def piped(self, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(BIN), *arguments],
            input=text,
            env=self.environment,
            cwd=self.file.parent,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Generator[Shop]:
    folder = tmp_path_factory.mktemp("yes")
    file = folder / "shop.sqlite"
    with sqlite3.connect(file) as connection:
        connection.executescript(
            "CREATE TABLE stock (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL);"
            "INSERT INTO stock VALUES (1, 10), (2, 20), (3, 30);"
        )
    connections = folder / "connections.yaml"
    entry = {"name": "shop", "url": f"sqlite:///{file}", "access": "read_write"}
    connections.write_text(json.dumps({"connections": [entry]}))
    with ScriptedModel(lambda _: say(SQL)) as model:
        extra = {StageName.GENERATOR: {"llm_base_url": model.base_url}}
        with own_stack(StackPlan(connections_file=connections, sync="2m", extra=extra)) as (url, keys):
            clean = {name: value for name, value in os.environ.items() if not name.startswith("QUERYBUS_")}
            yield Shop({**clean, "QUERYBUS_URL": url, "QUERYBUS_KEY": keys["analyst"]}, file)


def test_a_change_in_a_conversation_is_shown_and_waits_for_its_yes(shop: Shop) -> None:
    before = shop.amounts()
    chat = shop.typed("chat", "--allow-execution")
    chat.until(r"\? ")
    chat.type(f"{QUESTION}\n")
    shown = chat.until(r"Type yes or no: ")
    assert "UPDATE stock" in shown
    assert "exactly one entry" in shown
    assert "to at most 1 row?" in shown
    assert shop.amounts() == before
    chat.type("no\n")
    chat.until(r"nothing was done[\s\S]*\? ")
    assert shop.amounts() == before
    chat.type(f"{QUESTION}\n")
    chat.until(r"Type yes or no: ")
    assert shop.amounts() == before
    chat.type("yes\n")
    assert "one entry was changed" in chat.until(r"answered[\s\S]*\? ")
    assert shop.amounts() == [before[0], before[1] + 1, before[2]]
    chat.type("/quit\n")
    assert chat.end() == 0
    assert shop.amounts() == [before[0], before[1] + 1, before[2]]


def test_nothing_but_a_yes_is_a_yes(shop: Shop) -> None:
    before = shop.amounts()
    chat = shop.typed("chat")
    chat.until(r"\? ")
    for said in ("y", "", "\x04"):
        chat.type(f"{QUESTION}\n")
        chat.until(r"Type yes or no: ")
        chat.type(said if said == "\x04" else f"{said}\n")
        chat.until(r"nothing was done[\s\S]*\? ")
    chat.type("/quit\n")
    assert chat.end() == 0
    piped = shop.piped(f"{QUESTION}\nyes\n", "chat")
    assert "nothing was done: confirm with `querybus confirm" in " ".join(piped.stdout.split())
    assert shop.amounts() == before


def test_a_question_of_the_command_line_is_confirmed_by_the_command_that_it_names(shop: Shop) -> None:
    before = shop.amounts()
    asked = shop.piped("", "ask", QUESTION)
    assert asked.returncode == 3
    assert "Nothing was changed yet" in " ".join(asked.stdout.replace("│", " ").split())
    command = re.search(r"querybus (confirm \S+ --hash [0-9a-f]{64})$", asked.stderr, re.MULTILINE)
    assert command is not None, asked.stderr
    words = command[1].split()

    refused = shop.piped("yes\n", *words)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "typed at a terminal" in refused.stderr
    no = shop.typed(*words)
    assert "UPDATE stock" in no.until("Type yes or no: ")
    no.type("no\n")
    assert no.end() == 3
    assert shop.amounts() == before

    for _ in range(2):
        # The second yes gives the first one's outcome back and changes nothing.
        yes = shop.typed(*words)
        yes.until("Type yes or no: ")
        yes.type("yes\n")
        assert "one entry was changed" in yes.until(r"was changed")
        assert yes.end() == 0
        assert shop.amounts() == [before[0], before[1] + 1, before[2]]
