"""What a durable of the gateway cannot read is dead-lettered with its reason, counted once, and never comes again."""

from __future__ import annotations

from querybus.bus.log.publish import BusTrouble, TooLarge
from querybus.bus.pull import Message, retry_delay_seconds
from querybus.core.subjects import StageName
from querybus.ops.clock import Jitter
from querybus.ops.log import get_log
from querybus.ops.metrics import Metrics
from querybus_gateway.ports import DeadLetters

_log = get_log(__name__)


class Refusals:
    """Settles messages that are no question and no answer."""

    def __init__(self, dead_letters: DeadLetters, *, metrics: Metrics, jitter: Jitter) -> None:
        self._dead_letters = dead_letters
        self._metrics = metrics
        self._jitter = jitter

    async def refuse(self, message: Message, reason: str) -> None:
        """Dead-letter the message and end it; without a bus to dead-letter it in, it comes again later."""
        try:
            is_new = await self._dead_letters.dead_letter(
                StageName.GATEWAY,
                message.data,
                stream=message.stream,
                subject=message.subject,
                sequence=message.sequence,
                deliveries=message.deliveries,
                reason=reason,
            )
        except (BusTrouble, TooLarge):
            await message.nak(retry_delay_seconds(message.deliveries, self._jitter))
            return
        if is_new:
            self._metrics.dead_letter(StageName.GATEWAY)
        _log.warning("message.refused", stream=message.stream, sequence=message.sequence, reason=reason)
        await message.term()
