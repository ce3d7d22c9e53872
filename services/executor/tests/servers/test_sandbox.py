"""What parses files of others is shut in: tried from inside of the real processes of SQLite, DuckDB and the renderer."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy
from querybus.ops.sandbox import offered_walls
from querybus.picture import PictureForm, Pictures
from querybus_executor.engines.duckdb.edge import duckdb_children, duckdb_edge
from querybus_executor.engines.sqlite.edge import sqlite_children, sqlite_edge
from querybus_executor.ports import Purpose, Rows
from querybus_executor.workers.embedded import Embedded, child_command
from querybus_executor.workers.pool import Children
from tests.support.database_servers import driver, missing

pytestmark = pytest.mark.servers

SECRET: Final = "the-password-of-every-connection"
if offered_walls().missing:
    missing(f"this kernel cannot shut a process in: {'; '.join(offered_walls().missing)}")

TRIES: Final = """
import ctypes, json, os, socket, sys, threading
def tried(action):
    try:
        action()
    except OSError:
        return False
    return True
libc = ctypes.CDLL(None, use_errno=True)
def called(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "")
parent, other, folder, own = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
ran = []
thread = threading.Thread(target=lambda: ran.append(tried(lambda: open(other))))
thread.start()
thread.join()
status = {line.split(":")[0]: line.split(":")[1].strip() for line in STATUS.splitlines() if ":" in line}
print(json.dumps({
    "connect": tried(lambda: socket.create_connection(("127.0.0.1", 9), 1)),
    "listen": tried(lambda: socket.socket().bind(("127.0.0.1", 0))),
    "unix socket": tried(lambda: socket.socket(socket.AF_UNIX)),
    "read another file": tried(lambda: open(other).read()),
    "read another file in a thread": ran != [False],
    "list another folder": tried(lambda: os.listdir(folder)),
    "write its file": tried(lambda: open(own, "r+b")),
    "make a file": tried(lambda: open(folder + "/new", "w")),
    "remove a file": tried(lambda: os.unlink(other)),
    "run a program": tried(lambda: os.execv(sys.executable, [sys.executable, "-c", "pass"])),
    "make a process": tried(lambda: os.fork() or os._exit(0)),
    "trace the parent": tried(lambda: called(PTRACE, 16, parent, 0, 0)),
    "environment of the parent": tried(lambda: open(f"/proc/{parent}/environ", "rb").read()),
    "memory of the parent": tried(lambda: open(f"/proc/{parent}/mem", "rb").read(1)),
    "end the parent": tried(lambda: os.kill(parent, 0)),
    "its own environment": tried(lambda: open("/proc/self/environ", "rb").read()),
    "read the passwords of the machine": tried(lambda: open("/etc/passwd").read()),
}))
"""
PTRACE: Final = {"x86_64": 101, "aarch64": 117}


def tried_inside(enter: str, command: list[str], own: Path, tmp_path: Path) -> dict[str, bool]:
    """Shut a process in as `enter` does, try everything from inside and return what could be done."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    other = folder / "connections.yaml"
    other.write_text(SECRET)
    head = f"PTRACE = {PTRACE[os.uname().machine]}; STATUS = open('/proc/self/status').read()\n"
    program = command[-1].replace("main()", "None") + f"\n{head}{enter}\n{TRIES}"
    given = [str(os.getpid()), str(other), str(folder), str(own)]
    ended = subprocess.run(
        [*command[:-1], program, *given], capture_output=True, text=True, timeout=60, check=False, env={}
    )
    assert ended.returncode == 0, ended.stderr
    assert other.read_text() == SECRET
    return json.loads(ended.stdout)


def bare_command(module: str, *libraries: Path) -> list[str]:
    command = child_command(module, *libraries)
    return [*command[:-1], command[-1].replace("import main; main()", "import *")]


def test_from_inside_of_sqlite_nothing_is_reached_but_its_file(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file)) as made:
        made.execute("CREATE TABLE t (n)")
    enter = f"database = Database({str(file)!r}, None, []); assert database.ready('SELECT 1').execute('SELECT n FROM t').fetchall() == []"
    result = tried_inside(enter, bare_command("engines.sqlite.worker"), file, tmp_path)
    assert [what for what, worked in result.items() if worked] == []


def test_from_inside_of_duckdb_nothing_is_reached_but_its_file(tmp_path: Path) -> None:
    duckdb = driver("duckdb", "duckdb")
    file = tmp_path / "shop.duckdb"
    with duckdb.connect(str(file)) as made:
        made.execute("CREATE TABLE t (n INT)")
    enter = f"database = Database({str(file)!r}, None, 60.0); assert database._ready().execute('SELECT n FROM t').fetchall() == []"
    library = Path(duckdb.__file__).parents[1]
    result = tried_inside(enter, bare_command("engines.duckdb.worker", library), file, tmp_path)
    assert [what for what, worked in result.items() if worked] == []


def test_from_inside_of_the_renderer_nothing_is_reached(tmp_path: Path) -> None:
    own = tmp_path / "none"
    command = [sys.executable, "-c", "from querybus.picture.child import shut_in"]
    result = tried_inside("shut_in()", command, own, tmp_path)
    assert [what for what, worked in result.items() if worked] == []


OTHER_PROCESSES: Final = """
import ctypes, json, os, resource, signal, sys, threading
from querybus.ops.sandbox import Walls, enter_sandbox
enter_sandbox(Walls(has_seccomp=True), reads=())
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
thread = threading.Thread(target=lambda: signal.raise_signal(signal.SIGCHLD))
thread.start()
thread.join()
os.kill(os.getpid(), 0)
def worked(action):
    try:
        return action() != -1
    except OSError:
        return False
parent = int(sys.argv[1])
print(json.dumps([what for what, action in {
    "a signal to the parent": lambda: os.kill(parent, 0),
    "a signal to the group": lambda: os.kill(0, 0),
    "a signal to everybody": lambda: os.kill(-1, 0),
    "limits of the parent": lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE),
    "shared memory": lambda: ctypes.CDLL(None).shmget(0, 4096, 0o1600),
}.items() if worked(action)]))
"""


def test_without_landlock_other_processes_are_not_reached_either() -> None:
    command = [sys.executable, "-c", OTHER_PROCESSES, str(os.getpid())]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == []


async def test_the_renderer_draws_with_its_fonts_inside_of_its_walls() -> None:
    spec: dict[str, Any] = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": [{"city": "Oslo", "n": 3}, {"city": "Bonn", "n": 5}]},
        "mark": "bar",
        "encoding": {"x": {"field": "city", "type": "nominal"}, "y": {"field": "n", "type": "quantitative"}},
    }
    pictures = Pictures(seconds_max=90.0)
    try:
        for form in PictureForm:
            drawn = await pictures.draw(spec, form)
            assert not isinstance(drawn, Failure), drawn
            assert b"Oslo" in drawn or len(drawn) > 2_000
    finally:
        await pictures.drain()


async def ask(edge: Embedded, sql: str) -> list[list[Any]]:
    result = await edge.run(sql, rows_max=10, seconds_max=60.0, purpose=Purpose.EXECUTE)
    assert isinstance(result, Rows), result
    return [list(row) for row in result.rows]


def make_duckdb(path: Path, value: int) -> None:
    with driver("duckdb", "duckdb").connect(str(path)) as made:
        made.execute(f"CREATE TABLE t AS SELECT {value} AS n")


def make_sqlite(path: Path, value: int) -> None:
    with closing(sqlite3.connect(path)) as made:
        made.executescript(f"PRAGMA journal_mode = WAL; CREATE TABLE t (n); INSERT INTO t VALUES ({value});")


@pytest.mark.parametrize(
    ("make", "children_of", "edge_of"),
    [(make_sqlite, sqlite_children, sqlite_edge), (make_duckdb, duckdb_children, duckdb_edge)],
    ids=["sqlite", "duckdb"],
)
async def test_a_replaced_file_is_read_by_processes_that_are_shut_in_with_the_new_one(
    tmp_path: Path, make: Any, children_of: Any, edge_of: Any
) -> None:
    file = tmp_path / "data.file"
    make(file, 1)
    children: Children = children_of(size=2, reserved=1)
    edge: Embedded = edge_of(children, file, ConnectionPolicy())
    try:
        assert await asyncio.gather(ask(edge, "SELECT n FROM t"), ask(edge, "SELECT n FROM t")) == [[[1]], [[1]]]
        for value in (2, 3):
            make(tmp_path / "new.file", value)
            (tmp_path / "new.file").replace(file)
            assert await asyncio.gather(ask(edge, "SELECT n FROM t"), ask(edge, "SELECT n FROM t")) == [[[value]]] * 2
    finally:
        await children.drain()
