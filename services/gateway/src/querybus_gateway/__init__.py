"""The APIs of QueryBus: HTTP, SSE and the bus; admission, answers and the sweeper."""
