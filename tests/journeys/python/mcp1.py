"""Asks a gateway through MCP's client of the older generation: mcp1.py ADDRESS COMMAND; the key is in QUERYBUS_KEY.

Runs in an environment of its own, which has `mcp` 1.x and nothing of QueryBus. Prints what it has met as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from datetime import timedelta
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from pydantic import AnyUrl

QUESTION = {"question": "How many customers are there?"}


async def asked(session: ClientSession) -> dict[str, Any]:
    begun = await session.initialize()
    tools = [tool.name for tool in (await session.list_tools()).tools]
    answer = await session.call_tool("ask", QUESTION, read_timeout_seconds=timedelta(seconds=60))
    made: dict[str, Any] = answer.structuredContent or {}
    rows = await session.call_tool("more_rows", {"query_id": made["query_id"], "page": 1})
    back = await session.call_tool("ask", {"question": "Show the blorbs of everything"})
    options: dict[str, Any] = back.structuredContent or {}
    chosen = await session.call_tool("ask", {"question": "1", "answers_to": options["query_id"]})
    templates = [one.uriTemplate for one in (await session.list_resource_templates()).resourceTemplates]
    page = await session.read_resource(AnyUrl(f"querybus://results/{made['query_id']}/1"))
    return {
        "version": begun.protocolVersion,
        "tools": sorted(tools),
        "text": getattr(answer.content[0], "text", ""),
        "rows": made["rows"],
        "page": (rows.structuredContent or {})["rows"],
        "back": options["status"],
        "chosen": (chosen.structuredContent or {})["status"],
        "templates": templates,
        "resource": json.loads(getattr(page.contents[0], "text", "{}"))["rows"],
    }


async def main(address: str, command: str) -> None:
    key = os.environ["QUERYBUS_KEY"]
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        streamablehttp_client(f"{address}/mcp", headers=headers) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        over_http = await asked(session)
    server = StdioServerParameters(command=command, args=["mcp", "--url", address], env={"QUERYBUS_KEY": key})
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        over_stdio = await asked(session)
    print(json.dumps({"http": over_http, "stdio": over_stdio}))


asyncio.run(main(*sys.argv[1:]))
