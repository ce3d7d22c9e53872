"""What an embeddings model says of a question beside its words: which tables and which taught questions are near it.

Vectors of a catalog and of what was taught are made once, in the background, and kept in memory by what they were made
of, up to a number of bytes; a question waits for them only so long. Whatever fails, the answer is that words stand
alone, and why. No cell value is sent: of a table its names and comments, of a taught question what its statement does
not hold as a literal.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final

from querybus.core.failure import Failure
from querybus.llm import EmbeddingClient, EmbeddingServiceSettings
from querybus.llm.vectors import Vector
from querybus.ops.run import end
from querybus.text.knowledge import EntryKind
from querybus_generator.linking.linker import Prepared
from querybus_generator.linking.near import Near, text_of
from querybus_generator.linking.vector_index import VectorIndex
from querybus_generator.prompts.question import masked_question

USED: Final = "used"
PREPARING: Final = "preparing"
TOO_LARGE: Final = "too_large"
PREPARING_SECONDS_MAX: Final = 300.0
AGAIN_SECONDS: Final = 30.0
QUESTION_CHARS_MAX: Final = 2_000
QUESTIONS_KEPT_MAX: Final = 256
SHARE_OF_TIME_MAX: Final = 0.25

_Made = VectorIndex | str


@dataclass(frozen=True, slots=True)
class _Failed:
    reason: str
    until: float


@dataclass(frozen=True, slots=True)
class _Making:
    task: asyncio.Task[_Made]
    began: float


class Nearness:
    """The `Meaning` of the generator: one embeddings model, and what it said."""

    name = "embeddings"

    def __init__(self, client: EmbeddingClient, settings: EmbeddingServiceSettings) -> None:
        self._client = client
        self._seconds_max = settings.embeddings_limits.timeout_seconds
        self._bytes_max = settings.embeddings_limits.bytes_max
        self._bytes_each = 4 * (settings.embeddings_limits.dimensions_max + 1)
        self._kept: OrderedDict[str, VectorIndex] = OrderedDict()
        self._failed: dict[str, _Failed] = {}
        self._making: dict[str, _Making] = {}
        self._questions: OrderedDict[str, Vector] = OrderedDict()

    async def start(self) -> None:
        """Do nothing: the first question opens the address."""

    async def drain(self) -> None:
        """End what is being prepared, and close every connection."""
        await end(*(item.task for item in self._making.values()))
        await self._client.close()

    async def ping(self) -> str | None:
        """Return None always: without embeddings words stand alone, and the service is ready."""
        return None

    async def of(self, prepared: Prepared, question: str, timeout_seconds: float) -> Near:
        """Return what is near the question within a quarter of that time; never raises but for cancel."""
        pairs = prepared.knowledge.of(EntryKind.PAIR)
        chooses = not prepared.index.keeps_all()
        if not pairs and not chooses:
            return Near()
        began = self._client.seconds()
        until = began + min(self._seconds_max, timeout_seconds * SHARE_OF_TIME_MAX)
        made: list[_Made] = []
        if chooses:
            key = f"tables {prepared.catalog.fingerprint}"
            made.append(await self._index(key, lambda: [text_of(table) for table in prepared.catalog.tables], until))
        if pairs:
            key = f"pairs {prepared.pairs_digest}"
            made.append(
                await self._index(key, lambda: [masked_question(pair.key, pair.text, "") for pair in pairs], until)
            )
        reasons = [item for item in made if isinstance(item, str)]
        asked = None if len(reasons) == len(made) else await self._asked(question, until)
        if asked is None or isinstance(asked, Failure):
            reason = reasons[0] if asked is None else _reason(asked)
            return Near(state=reason, seconds=self._client.seconds() - began)
        near = [dict(item.near(asked)) if isinstance(item, VectorIndex) else {} for item in made]
        return Near(
            tables=near[0] if chooses else {},
            entries={pairs[place].id: score for place, score in near[-1].items()} if pairs else {},
            state=reasons[0] if reasons else USED,
            seconds=self._client.seconds() - began,
        )

    async def _asked(self, question: str, until: float) -> Vector | Failure:
        text = question[:QUESTION_CHARS_MAX]
        known = self._questions.get(text)
        if known is not None:
            self._questions.move_to_end(text)
            return known
        result = await self._client.vectors([text], timeout_seconds=until - self._client.seconds())
        if isinstance(result, Failure):
            return result
        self._questions[text] = result[0]
        while len(self._questions) > QUESTIONS_KEPT_MAX:
            self._questions.popitem(last=False)
        return result[0]

    async def _index(self, key: str, texts: Callable[[], Sequence[str]], until: float) -> _Made:
        """Return the prepared vectors, or why there are none: who asks first has them made, and waits a while."""
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        failed = self._failed.get(key)
        if failed is not None and self._client.seconds() < failed.until:
            return failed.reason
        now = self._client.seconds()
        making = self._making.get(key)
        if making is None:
            making = self._making[key] = _Making(_background(self._make(key, texts())), now)
            making.task.add_done_callback(lambda _: self._making.pop(key, None))
        task = making.task
        # What takes long holds nobody up who comes later.
        done, _ = await asyncio.wait({task}, timeout=max(0.0, min(until, making.began + self._seconds_max) - now))
        return task.result() if done and not task.cancelled() else PREPARING

    async def _make(self, key: str, texts: Sequence[str]) -> _Made:
        if len(texts) * self._bytes_each > self._bytes_max:
            return self._no(key, TOO_LARGE)
        vectors = await self._client.vectors(texts, timeout_seconds=PREPARING_SECONDS_MAX)
        if isinstance(vectors, Failure):
            return self._no(key, _reason(vectors))
        index = self._kept[key] = await asyncio.to_thread(VectorIndex, vectors)
        self._failed.pop(key, None)
        while sum(item.size_bytes for item in self._kept.values()) > self._bytes_max:
            self._kept.popitem(last=False)
        return index

    def _no(self, key: str, reason: str) -> str:
        now = self._client.seconds()
        self._failed = {other: failed for other, failed in self._failed.items() if failed.until > now}
        self._failed[key] = _Failed(reason, now + AGAIN_SECONDS)
        return reason


def _background(work: Coroutine[Any, Any, _Made]) -> asyncio.Task[_Made]:
    return asyncio.get_running_loop().create_task(work)


def _reason(failure: Failure) -> str:
    return failure.facts.native_code or failure.code.value
