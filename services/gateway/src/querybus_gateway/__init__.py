"""The doors of QueryBus: HTTP, SSE and the bus; admission, answers and the sweeper."""
