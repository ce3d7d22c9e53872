"""Claims on a gateway without an HTTP API: it answers over the bus, and what HTTP needs is not loaded for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from querybus_cli.local.local_stack import Stack, StackPlan

async def main():
    async with Stack(StackPlan(connections_file=Path(sys.argv[1]), serves_http=False)) as stack:
        async with stack.client("analyst") as client:
            request = {"question": "SELECT 1 AS one", "connection": "shop", "wait_seconds": 20}
            return await client.call("ask", request, timeout_seconds=30)

answer = asyncio.run(main())
loaded = [name for name in ("fastapi", "querybus_gateway.http.app", "mcp") if name in sys.modules]
print(json.dumps({"answered": "query_id" in answer, "loaded": loaded}))
"""


def test_a_gateway_without_http_answers_at_the_bus_and_loads_no_web_framework(tmp_path: Path) -> None:
    database = tmp_path / "shop.sqlite"
    database.touch()
    connections = tmp_path / "connections.yaml"
    connections.write_text(f"connections: [{{name: shop, url: 'sqlite:///{database}'}}]")
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(connections)], check=True, capture_output=True, text=True, timeout=120
    )
    assert ran.stdout.splitlines()[-1] == '{"answered": true, "loaded": []}'
