"""Runs inside Snowflake's own environment: does what it reads on standard input with the executor's edge, says what came.

In: `{"url", "role_may_write", "steps": [{"run" | "explain" | "catalog" | "cancel": sql, "rows_max", "bytes_max"}]}`.
Out: one JSON value for each step: `{"rows", "columns", "truncated", ...}`, `{"code", "detail", "name"}` or a catalog.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from querybus.core.failure import Failure
from querybus.ops.metrics import Metrics
from querybus_executor.connections.config import parse_connections
from querybus_executor.engines.snowflake.edge import read_snowflake, snowflake_server
from querybus_executor.ports import Purpose


def failed(found: Failure) -> dict[str, Any]:
    return {"code": found.code.value, "detail": found.detail, "name": found.facts.name, "rule": found.facts.rule}


async def main() -> None:
    asked = json.loads(sys.stdin.read())
    entry = {"name": "snow", "url": asked["url"], "role_may_write": asked.get("role_may_write", True)}
    (config,) = parse_connections({"connections": [entry]})
    said: list[Any] = []
    for step in asked["steps"]:
        edge = snowflake_server(config, bytes_max=step.get("bytes_max", 16 << 20), metrics=Metrics("t"))
        try:
            if "explain" in step:
                result = await edge.explain(step["explain"], seconds_max=20)
                said.append(failed(result) if isinstance(result, Failure) else {"cost": result.cost})
            elif "catalog" in step:
                catalog = await read_snowflake(config, edge)
                said.append(failed(catalog) if isinstance(catalog, Failure) else catalog.model_dump(mode="json"))
            elif "cancel" in step:
                run = edge.run(step["cancel"], rows_max=10, seconds_max=20, purpose=Purpose.EXECUTE)
                task = asyncio.create_task(run)
                await asyncio.sleep(1.0)
                begun = time.monotonic()
                task.cancel()
                await asyncio.wait([task])
                said.append({"cancelled": task.cancelled(), "seconds": time.monotonic() - begun})
            else:
                rows = await edge.run(
                    step["run"], rows_max=step.get("rows_max", 10), seconds_max=20, purpose=Purpose.EXECUTE
                )
                said.append(
                    failed(rows)
                    if isinstance(rows, Failure)
                    else {
                        "rows": rows.rows,
                        "columns": [[column.name, column.kind.value, column.type] for column in rows.columns],
                        "truncated": rows.truncated,
                        "cut_bytes": rows.cut_bytes,
                    }
                )
        finally:
            await edge.close()
    print(json.dumps(said))


if __name__ == "__main__":
    asyncio.run(main())
