"""Wrong uses of the command line end in one line that says what is wrong and what to type, before anything starts."""

from __future__ import annotations

import io
import os
import shlex
import sys
from pathlib import Path

import pytest

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus_cli import app as command_line
from querybus_cli.local import local_stack

pytestmark = pytest.mark.process

FILES = {
    "note.txt": b"hello\n",
    "bytes.dat": b"\x80\x00\xff\xfe",
    "empty.yaml": b"",
    "typo.yaml": b"connections:\n  - name: shop\n   url: sqlite:///x.sqlite\n",
    "key.yaml": b"connectons:\n  - name: shop\n",
    "field.yaml": b"connections:\n  - name: shop\n    urll: sqlite:///x\n",
    "strange.yaml": b"connections:\n  - name: shop\n    url: sqlite:///x\n    zzzz: 1\n",
    "none.yaml": b"connections: []\n",
    "five.yaml": b"connections: 5\n",
    "away.yaml": b"connections:\n  - name: shop\n    url: sqlite:///nowhere.sqlite\n",
    "pairs.yaml": b"- question: a\n  sql: SELECT 1\n",
    "pair.yaml": b"connection: shop\npairs:\n  - question: a\n",
    "tables.json": b'{"tables": {"t": {"a": "INTEGER"}}}',
    "wrong.json": b'{"tables": 5}',
    "brace.json": b"{",
    "empty.sqlite": b"",
}

WRONG = [
    # What is asked of a question.
    ("ask", 2, "Missing argument"),
    ('ask ""', 2, "the question is empty"),
    ('ask " \t "', 2, "the question is empty"),
    ('ask "" --url http://127.0.0.1:1 --key k', 2, "the question is empty"),
    ('ask "q" "r"', 2, "unexpected extra argument"),
    ('aks "q"', 2, "Did you mean 'ask'"),
    ("nonsense", 2, "No such command"),
    ("--nonsense", 2, "No such option"),
    ('ask "q" --nonsense', 2, "No such option"),
    ('ask "q" --json --csv', 2, "--json or --csv"),
    ('ask "q" --retries 9', 2, "--retries"),
    ('ask "q" --retries two', 2, "--retries"),
    ('ask "q" --rows 0', 2, "--rows"),
    ('ask "q" --deadline 0', 2, "--deadline"),
    ('ask "q" --audience boss', 2, "business or analyst"),
    ('ask "q" --language fr', 2, "auto, en, zh"),
    ('ask "q" --today tomorrow', 2, "YYYY-MM-DD"),
    ('ask "q" --today 2025-02-30', 2, "YYYY-MM-DD"),
    ('ask "q" --model gpt', 2, "QUERYBUS_LLM_BASE_URL"),
    # Where a gateway is.
    ('ask "q" --url ftp://x --key k', 2, "http://127.0.0.1:8080"),
    ('ask "q" --url "http://[::bad" --key k', 2, "no address of a gateway"),
    ('ask "q" --url http://127.0.0.1:1', 2, "QUERYBUS_KEY"),
    ('ask "q" --url http://127.0.0.1:1 --key k', 2, "querybus up"),
    ('ask "q" --url http://127.0.0.1:1 --database x', 2, "--database"),
    ('ask "q" --url http://127.0.0.1:1 --key-file folder', 2, "folder"),
    ('ask "q" --url http://127.0.0.1:1 --key-file missing', 2, "missing"),
    ('ask "q" --url http://127.0.0.1:1 --key-file bytes.dat', 2, "bytes.dat is no UTF-8"),
    # Which database, which connections.
    ('ask "q" --database missing.sqlite', 2, "missing.sqlite"),
    ('ask "q" --database ""', 2, "the path of a file or folder"),
    ('ask "q" --database bytes.dat', 2, "bytes.dat"),
    ('ask "q" --database foo://x/y', 2, "postgresql"),
    ('ask "q" --database postgresql://', 2, "postgresql"),
    ('ask "q" --connections missing.yaml', 2, "missing.yaml"),
    ('ask "q" --connections folder', 2, "folder"),
    ('ask "q" --connections bytes.dat', 2, "bytes.dat"),
    ('ask "q" --connections typo.yaml', 2, "typo.yaml is no YAML in line 3: "),
    ('ask "q" --connections key.yaml', 2, "line 1: connectons: unknown key; did you mean connections?"),
    ('ask "q" --connections field.yaml', 2, "line 3: connections[0].urll: unknown key; did you mean url?"),
    ('ask "q" --connections strange.yaml', 2, "line 4: connections[0].zzzz: unknown key; allowed: name, url"),
    ('ask "q" --connections none.yaml', 2, "querybus connect URL --file none.yaml"),
    ('ask "q" --connections five.yaml', 2, "line 1: connections: must be a list"),
    ('ask "q" --connections empty.yaml', 2, "the file: must be a mapping"),
    ('ask "q" --connections away.yaml --connection other', 2, "shop"),
    ("chat --database missing.sqlite", 2, "missing.sqlite"),
    ("chat --connections folder", 2, "folder"),
    ("chat --language fr", 2, "auto, en, zh"),
    ("mcp --url ftp://x --key k", 2, "http://127.0.0.1:8080"),
    ("mcp --connections folder", 2, "folder"),
    ("connections list --file missing.yaml", 2, "missing.yaml"),
    ("connections list --file folder", 2, "folder"),
    ("connections list --file bytes.dat", 2, "bytes.dat"),
    ("connections list --file typo.yaml", 2, "line 3"),
    ("connections test", 2, "Missing argument"),
    ("connections test x --file missing.yaml", 1, "missing.yaml"),
    ("connections test x --file away.yaml", 1, "it has shop"),
    ("connections test shop --file away.yaml", 1, "nowhere.sqlite"),
    ("connections review shop --file missing.yaml", 2, "missing.yaml"),
    ("connections review shop --file away.yaml", 2, "does not exist"),
    ("connections describe", 2, "--database"),
    ("connections describe --database missing.sqlite", 2, "missing.sqlite"),
    ("connections describe --database empty.sqlite --out note.txt", 2, "note.txt is there already"),
    ("connections describe --database empty.sqlite --out /proc/nowhere/x", 2, "the database holds no table"),
    # A stack on this machine.
    ("up --store note.txt", 2, "--store note.txt must be a folder"),
    ("up --store note.txt/x", 2, "--store note.txt/x must be a folder"),
    ("up --store /proc/nowhere", 2, "--store /proc/nowhere must be a folder"),
    ("up --connections folder", 2, "folder"),
    ("up --connections typo.yaml", 2, "line 3"),
    ("up --port 99999", 2, "--port"),
    ("up --bus-port -1", 2, "--bus-port"),
    ("up --replicas generator=many", 2, "SERVICE=COUNT"),
    ("up --replicas nobody=2", 2, "gateway"),
    ('up --tenant "Bad Name"', 2, "a-z"),
    ("demo x", 2, "unexpected extra argument"),
    ("doctor --connections missing.yaml", 2, "missing.yaml"),
    ("doctor --connections folder", 2, "folder"),
    ("doctor --store note.txt", 2, "note.txt"),
    # What needs a bus, and has none.
    ("models show", 2, "querybus up"),
    ("models test", 2, "QUERYBUS_LLM_BASE_URL"),
    ("models test --file missing.yaml", 2, "missing.yaml"),
    ("models show --store note.txt", 2, "no stack runs in note.txt"),
    ("models set missing.yaml", 2, "missing.yaml"),
    ("models set folder", 2, "folder"),
    ("models set bytes.dat", 2, "bytes.dat is no UTF-8"),
    ("models set note.txt", 2, "must be a mapping"),
    ("keys create", 2, "Missing argument"),
    ("keys create x --user a --days 0", 2, "--days"),
    ("keys list", 2, "querybus up"),
    ("keys revoke nobody", 2, "querybus up"),
    ("history x", 2, "querybus up"),
    ("replay x --store note.txt", 2, "no stack runs in note.txt"),
    ("operate dead show 0", 2, "greater than or equal to 1"),
    ("dead show 1", 2, "querybus up"),
    ("operate dead drop", 2, "Missing argument"),
    ("operate dead list --stage nobody", 2, "generator"),
    ("operate migrate", 2, "QUERYBUS_NATS_URL"),
    ("operate migrate --nats-url nats://127.0.0.1:1 --password x", 2, "nats://127.0.0.1:1"),
    ("operate migrate --nats-url nats://127.0.0.1:1 --password x --replicas 9", 2, "--replicas"),
    ('operate bus-config --tenant "A B"', 2, "a-z"),
    ("operate backup folder --keep 2", 2, "--dated"),
    ("operate backup out", 2, "querybus up"),
    ("operate restore missing --check", 2, "missing"),
    ("operate restore note.txt --check", 2, "note.txt"),
    ("logs missing.log", 2, "missing.log"),
    ("logs folder", 2, "folder"),
    ("logs --level loud", 2, "warning"),
    ("logs", 2, "which logs?"),
    ("confirm x", 2, "at a terminal"),
    ("confirm x --hash y", 2, "at a terminal"),
    # What was taught and defined.
    ("knowledge import missing.yaml", 2, "missing.yaml"),
    ("knowledge import folder", 2, "folder"),
    ("knowledge import bytes.dat", 2, "bytes.dat is no UTF-8"),
    ("knowledge import pairs.yaml", 2, 'pairs: [{question: "How many customers?"'),
    ("knowledge import pair.yaml", 2, "line 3: pairs[0].sql: is missing"),
    ("knowledge import typo.yaml", 2, "line 3"),
    ("knowledge search a", 2, "--connection NAME"),
    ("knowledge search a --file missing.yaml", 2, "missing.yaml"),
    ("knowledge search a --file bytes.dat", 2, "bytes.dat is no UTF-8"),
    ("knowledge list", 2, "--connection"),
    ("knowledge review --connection shop --approve x", 2, "--by NAME"),
    ("definitions import missing.yaml --connection shop", 2, "missing.yaml"),
    ("definitions import folder --connection shop", 2, "folder"),
    ("definitions import bytes.dat --connection shop", 2, "bytes.dat"),
    ("definitions import typo.yaml --connection shop", 2, "Line 3"),
    ("definitions import note.txt --connection shop --from excel", 2, "ossie, dbt, snowflake, cube"),
    ("definitions check note.txt --database empty.sqlite", 2, "note.txt"),
    ("definitions draft --database missing.sqlite", 2, "missing.sqlite"),
    ("definitions list --connection shop", 2, "querybus up"),
    # How a question and a statement are read.
    ('inspect question ""', 2, "the question is empty"),
    ('inspect question "q" --database missing.sqlite', 2, "missing.sqlite"),
    ('inspect question "q" --connections away.yaml', 5, "does not exist"),
    ('inspect question "q" --connections folder', 2, "folder"),
    ('inspect question "q" --today x', 2, "YYYY-MM-DD"),
    ('inspect prompt "q" --connections folder', 2, "folder"),
    ('inspect prompt "q" --knowledge bytes.dat', 2, "bytes.dat is no UTF-8"),
    ('inspect prompt "q" --prompts missing', 2, "--prompts missing"),
    ("inspect sql", 2, "--catalog"),
    ("inspect sql --catalog missing.json", 2, "missing.json"),
    ("inspect sql --catalog folder", 2, "folder"),
    ("inspect sql --catalog bytes.dat", 2, "bytes.dat is no UTF-8"),
    ("inspect sql --catalog wrong.json note.txt", 2, "tables"),
    ("inspect sql --catalog brace.json note.txt", 2, "brace.json is no JSON"),
    ("inspect sql --catalog tables.json note.txt", 2, "line 1"),
    ("inspect sql --catalog tables.json bytes.dat", 2, "bytes.dat is no UTF-8"),
    ("inspect sql --catalog tables.json --dialect klingon note.txt", 2, "postgres"),
    ("inspect sql --catalog tables.json --policy typo.yaml note.txt", 2, "line 3"),
    ("inspect words --catalog tables.json note.txt", 2, "line 1"),
    ("inspect words --catalog tables.json folder", 2, "folder"),
    ("inspect chart note.txt", 2, "line 1"),
    ("inspect chart bytes.dat", 2, "bytes.dat is no UTF-8"),
    ("evaluate missing.jsonl --databases folder", 2, "missing.jsonl"),
    ("evaluate note.txt --databases folder", 2, "line 1"),
    ("evaluate bytes.dat --databases folder", 2, "bytes.dat is no UTF-8"),
    ("evaluate note.txt", 2, "--databases"),
    ("evaluate linking --data missing", 2, "missing"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder with a few wrong files, without any setting, where no service may start."""
    for name in [name for name in os.environ if name.startswith(("QUERYBUS_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a service was started")

    monkeypatch.setattr(local_stack, "built", refuse)
    monkeypatch.setattr(EmbeddedNats, "start", refuse)
    return tmp_path


def typed(
    line: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed_in: bytes = b""
) -> tuple[object, str]:
    """Run the command as the shell would; return its exit code and what it wrote to standard error."""
    monkeypatch.setattr(sys, "argv", ["querybus", *line])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed_in), encoding="utf-8"))
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    return ended.value.code, capsys.readouterr().err


@pytest.mark.parametrize(("line", "code", "words"), WRONG, ids=[line for line, _, _ in WRONG])
def test_a_wrong_use_is_one_line_that_says_what_to_type(
    line: str, code: int, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended, said = typed(shlex.split(line), monkeypatch, capsys)
    assert ended == code, said
    assert words in said
    assert "Traceback" not in said
    # A test of a connection reports its steps, and what to do next in its last line.
    is_report = line.startswith("connections test") and said.strip().splitlines()[-1].startswith("next: ")
    assert len(said.strip().splitlines()) == 1 or said.startswith("Usage:") or is_report


def test_the_table_is_long_enough_to_speak_of_all_commands() -> None:
    assert len(WRONG) > 140


def test_an_argument_that_is_no_text_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended, said = typed(["ask", os.fsdecode(b"caf\xe9")], monkeypatch, capsys)
    assert (ended, said) == (2, "querybus: argument 2 is no UTF-8 text: b'caf\\xe9'\n")


@pytest.mark.parametrize("line", ["inspect chart", "inspect sql --catalog tables.json"])
def test_standard_input_that_is_no_text_is_said(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended, said = typed(shlex.split(line), monkeypatch, capsys, b"\xff\xfe")
    assert ended == 2
    assert "no UTF-8 text" in said
    assert len(said.splitlines()) == 1


def test_a_fault_of_the_program_is_one_line_that_names_the_file_with_its_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("querybus_cli.operations.setup.judge_lines", lambda *_: 1 / 0)
    ended, said = typed(["inspect", "sql", "--catalog", "tables.json"], monkeypatch, capsys)
    assert ended == 70
    assert "ZeroDivisionError" in said
    assert len(said.splitlines()) == 1
    (trace,) = tmp_path.glob("querybus-error-*.txt")
    assert "judge_lines" in trace.read_text()
    assert str(trace) in said
