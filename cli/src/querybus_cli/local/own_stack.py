"""A stack of this command alone, in a thread of its own, reached through its HTTP API like any gateway.

So a conversation has one way of working, wherever the gateway runs, and Ctrl-C reaches the conversation only.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import secrets
import threading
from collections.abc import Generator
from contextlib import contextmanager

from querybus.core.credential import key_text
from querybus_cli.local.local_stack import CREDENTIALS, TENANT, Stack, StackPlan

KEY_BYTES = 24
START_SECONDS_MAX = 60.0


@contextmanager
def own_stack(plan: StackPlan) -> Generator[tuple[str, dict[str, str]]]:
    """Run a stack while the block runs; gives its address and its keys by audience."""
    keys = {name: key_text(TENANT, name, secrets.token_urlsafe(KEY_BYTES)) for name in CREDENTIALS.values()}
    address: concurrent.futures.Future[str] = concurrent.futures.Future()
    loop = asyncio.new_event_loop()
    ending = asyncio.Event()

    async def live() -> None:
        async with Stack(plan, keys=keys) as stack:
            address.set_result(stack.http_address)
            await ending.wait()

    def run() -> None:
        try:
            loop.run_until_complete(live())
        except BaseException as error:  # noqa: BLE001 - whoever waits for the address must learn of it
            if not address.done():
                address.set_exception(error)
        finally:
            loop.close()

    thread = threading.Thread(target=run, name="stack", daemon=True)
    thread.start()
    try:
        yield address.result(START_SECONDS_MAX), keys
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(ending.set)
        thread.join()
