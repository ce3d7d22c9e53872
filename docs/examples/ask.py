"""Ask one question over the bus. Needs nats-py; python ask.py "How many customers are there?" """

import asyncio
import json
import os
import sys
from typing import Any

import nats


async def main(question: str) -> None:
    tenant, credential = os.environ["QUERYBUS_TENANT"], os.environ["QUERYBUS_CREDENTIAL"]
    connection = await nats.connect(
        os.environ["QUERYBUS_NATS_URL"],
        user=f"{tenant}.{credential}",
        password=os.environ["QUERYBUS_CREDENTIAL_PASSWORD"],
        inbox_prefix=f"_INBOX.out.{tenant}.{credential}".encode(),
    )

    async def call(verb: str, **payload: object) -> dict[str, Any]:
        subject = f"querybus.v1.call.{tenant}.{credential}.{verb}"
        reply = await connection.request(subject, json.dumps(payload).encode(), timeout=35)
        return json.loads(reply.data)

    answer = await call("ask", question=question, connection=os.environ["QUERYBUS_CONNECTION"], wait_seconds=30)
    if "status" not in answer:
        sys.exit(f"refused: {answer['code']}: {answer['detail']}")
    while answer["status"] != "finished":
        answer = await call("answer", query_id=answer["query_id"], wait_seconds=30)
    print(answer["outcome"], answer["message"])
    print([column["label"] for column in answer["columns"]])
    page: dict[str, Any] = {"rows": answer["rows"], "next_page_token": None}
    if answer["pages"]:
        page = await call("page", query_id=answer["query_id"])
    while True:
        for row in page["rows"]:
            print(row)
        if not page["next_page_token"]:
            break
        page = await call("page", query_id=answer["query_id"], page_token=page["next_page_token"])
    await connection.close()


asyncio.run(main(sys.argv[1]))
