"""Asks and reads with a client that a generator has made: generated_client.py FOLDER PACKAGE ADDRESS KEY; prints JSON."""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

POLLS_MAX = 100


def main(folder: str, package: str, address: str, key: str) -> None:
    sys.path.insert(0, folder)

    def operation(name: str) -> Any:
        group, _, _ = name.partition("_")
        return importlib.import_module(f"{package}.api.{group}.{name}")

    client: Any = importlib.import_module(package).AuthenticatedClient(base_url=address, token=key, timeout=40)
    models: Any = importlib.import_module(f"{package}.models")
    body = models.AskRequest(question="How many customers are there?", connection="shop")
    asked = operation("queries_ask").sync(client=client, body=body, prefer="wait=20")
    again = asked
    for _ in range(POLLS_MAX):
        # A machine with much to do may need longer than one call waits.
        again = operation("queries_show").sync(query_id=asked.id, client=client)
        if again.status.value == "finished":
            break
        time.sleep(1)
    page = operation("results_result").sync(query_id=asked.id, client=client, page=1, page_size=10)
    threads = operation("threads_list_threads").sync(client=client)
    connections = operation("connections_connections").sync(client=client)
    print(
        json.dumps(
            {
                "status": str(again.status.value),
                "rows": again.answer.rows,
                "sql": "customers" in again.answer.sql,
                "page": page.rows,
                "threads": min(1, len(threads.threads)),
                "connections": [item.name for item in connections.connections],
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
