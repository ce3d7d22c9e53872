"""What is remembered of followed keys does not grow with the keys ever seen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from nats.aio.msg import Msg

from querybus.bus.stores.trust import KEYS_MIN, Watch


async def test_keys_whose_trust_is_over_are_forgotten():
    holder: Any = SimpleNamespace(connection=None)
    watch = Watch(holder, "querybus_preferences", ">", trust_seconds=30)
    receive = watch._receive  # pyright: ignore[reportPrivateUsage] - what the subscription calls
    for number in range(5 * KEYS_MIN):
        await receive(Msg(_client=holder, subject=f"$KV.querybus_preferences.acme.user-{number}"))
        # Long ago, as the readings of yesterday are.
        watch.checked(f"acme.user-{number}", watch.now() - 3_600)
    assert len(watch._checked) <= KEYS_MIN + 1  # pyright: ignore[reportPrivateUsage]
