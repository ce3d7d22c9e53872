"""A user's program, to be checked by mypy --strict and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator

from querybus_client import AsyncClient, Client, Refused


def revenue(address: str, key: str) -> float:
    with Client(address, key) as client:
        answer = client.ask("Revenue?", connection="shop", options={"rows_max": 10})
        for event in client.stream("And by city?", thread_id=answer.thread_id):
            print(event.name.upper(), (event.sequence or 0) + 1)
        for page in client.pages(answer.query_id):
            print(page.number + 1, len(page.rows))
        try:
            client.feedback(answer.query_id, "right")
        except Refused as error:
            print(error.status + 1, error.code.upper(), error.trace_id)
        return float(str(answer.rows[0][0]))


async def sequences(address: str, key: str) -> AsyncIterator[int | None]:
    async with AsyncClient(address, key) as client:
        async for event in client.stream("Revenue?"):
            yield event.sequence
