"""What one question at the terminal loads: the services that answer it, and nothing that only a running stack needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "aiohttp",
    "duckdb",
    "fastapi",
    "faststream",
    "grpc",
    "httpx",
    "joserfc",
    "langchain_core",
    "mcp",
    "numpy",
    "opentelemetry.sdk",
    "openai",
    "pandas",
    "psutil",
    "pyarrow",
    "querybus_client",
    "sqlalchemy.orm",
    "starlette",
    "uvicorn",
    "vl_convert",
    "xlsxwriter",
)
MODULES_MAX = 1_580
"""A question at the terminal is slow by what it loads: 1,576 modules, which are nearly all of its CPU time."""
FROZEN_MIN = 100_000
"""Objects that are loaded and stay; looking through them for garbage took a twentieth of the time."""
PROGRAM = """
import gc, sys
sys.argv = ["querybus", "ask", "How many customers are there?", "--database", sys.argv[1]]
from querybus_cli.entry import main
try:
    main()
except SystemExit as error:
    assert error.code == 0, error.code
print("LOADED", *sorted({name.partition(".")[0] for name in sys.modules}), *(name for name in sys.modules if name in ("sqlalchemy.orm", "opentelemetry.sdk")))
print("MODULES", len(sys.modules), sys.modules["querybus_gateway.public.resources"].KnowledgeView.__pydantic_complete__)
print("FROZEN", gc.get_freeze_count())
"""


@pytest.mark.connected
def test_a_question_loads_no_web_server_no_model_client_and_no_renderer(tmp_path: Path) -> None:
    import sqlite3

    file = tmp_path / "shop.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT)")
        connection.execute("INSERT INTO customers (name) VALUES ('Ada'), ('Bo')")
    connection.close()
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "There are 2 customers." in done.stdout
    loaded = set(done.stdout.rpartition("LOADED")[2].partition("MODULES")[0].split())
    modules, is_built = done.stdout.rpartition("MODULES")[2].partition("FROZEN")[0].split()
    assert int(modules) < MODULES_MAX
    assert is_built == "False", "a model is made when it is first used: a question needs a third of them"
    assert {"querybus_gateway", "querybus_validator", "querybus_executor", "nats"} <= loaded
    assert sorted(loaded.intersection(HEAVY)) == []
    assert int(done.stdout.rpartition("FROZEN")[2]) > FROZEN_MIN
