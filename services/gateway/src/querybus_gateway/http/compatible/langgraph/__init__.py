"""The LangGraph Agent Server API over the same use cases as every API: thread = thread, run = query, checkpoint = event."""

from typing import Final

from querybus_gateway.http.compatible.langgraph import (
    assistant_paths,
    protocol_paths,
    query_paths,
    run_paths,
    store_paths,
    thread_paths,
)

LANGGRAPH_ROUTERS: Final = (
    assistant_paths.router,
    run_paths.router,
    thread_paths.router,
    query_paths.router,
    store_paths.router,
    protocol_paths.router,
)
