"""Asks and reads with a client that a generator has made: generated_client.py FOLDER PACKAGE ADDRESS KEY; prints JSON."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any


def main(folder: str, package: str, address: str, key: str) -> None:
    sys.path.insert(0, folder)

    def operation(name: str) -> Any:
        group, _, _ = name.partition("_")
        return importlib.import_module(f"{package}.api.{group}.{name}")

    client: Any = importlib.import_module(package).AuthenticatedClient(base_url=address, token=key, timeout=40)
    models: Any = importlib.import_module(f"{package}.models")
    body = models.AskRequest(question="How many customers are there?", connection="shop")
    asked = operation("queries_ask").sync(client=client, body=body, prefer="wait=20")
    again = operation("queries_show").sync(query_id=asked.id, client=client)
    page = operation("results_result").sync(query_id=asked.id, client=client, page=1, page_size=10)
    threads = operation("threads_list_threads").sync(client=client)
    connections = operation("connections_connections").sync(client=client)
    print(
        json.dumps(
            {
                "status": str(asked.status.value),
                "rows": again.answer.rows,
                "sql": "customers" in asked.answer.sql,
                "page": page.rows,
                "threads": min(1, len(threads.threads)),
                "connections": [item.name for item in connections.connections],
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
