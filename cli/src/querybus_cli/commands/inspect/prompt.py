"""What `querybus inspect prompt` does: the generator's own verb with a model that only keeps what it was sent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.connection import Held
from querybus.bus.stores.buckets import ConnectionStore
from querybus.bus.stores.catalogs import CatalogStore
from querybus.core.envelope import Delivery, Envelope
from querybus.core.failure import Failure, FailureCode
from querybus.core.ids import time_ordered_id
from querybus.core.messages import Asked
from querybus.core.options import Options
from querybus.core.stored.models import USUAL_PROMPTING, Prompting
from querybus.core.subjects import EventName, StageName
from querybus.llm import EmbeddingClient
from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus.ops.clock import system_clock, system_random_bits
from querybus.ops.metrics import Metrics
from querybus.ops.settings import load
from querybus.text.knowledge import Knowledge
from querybus.text.language import detect_language
from querybus.text.tokens import token_estimate
from querybus_cli.local.answers import Quick, connections_of, names_of, refuse_empty
from querybus_cli.local.local_stack import TENANT, Stack, StackPlan
from querybus_cli.runtime import UsageError
from querybus_generator.conversation.history import NoHistory
from querybus_generator.generate import Resources, generate
from querybus_generator.linking.linker import Linker
from querybus_generator.ports import Ports
from querybus_generator.prompts.texts import load_texts
from querybus_generator.settings import Settings

SECONDS = 60


@dataclass(slots=True)
class Kept:
    """A `ChatModel` that keeps the messages and gives no reply."""

    messages: tuple[ChatMessage, ...] = ()

    asked_with: Prompting = USUAL_PROMPTING

    async def prompting(self, tenant: str, model: str | None) -> Prompting:
        """Return the same for every tenant and model."""
        del tenant, model
        return self.asked_with

    async def reply(self, messages: Sequence[ChatMessage], **_: Any) -> ModelReply | Failure:
        """Keep the messages."""
        self.messages = tuple(messages)
        return Failure.of(FailureCode.MODEL_UNAVAILABLE, "nothing is sent")


@dataclass(frozen=True, slots=True)
class _Taught:
    knowledge: Knowledge

    async def read(self, tenant: str, name: str) -> Knowledge:
        del tenant, name
        return self.knowledge


@dataclass(frozen=True, slots=True)
class Prompt:
    """What would be sent, and why nothing would be, if so. `tokens` are estimated."""

    messages: tuple[ChatMessage, ...]
    outcome: str = ""
    tokens: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", sum(token_estimate(message.text) for message in self.messages))


_HEADING = re.compile(r"(?<=\n)\n?(?=[^\n`]{2,100}[:：]\n)|(?<=\n)(?=(?:Question|问题)[:：] )")


def parts_of(messages: Sequence[ChatMessage]) -> list[tuple[str, int]]:
    """Return the parts of the messages by their headings, in order, each with its estimated tokens.

    >>> parts_of([ChatMessage("user", "Schema:\\nCREATE TABLE t (\\n);\\n\\nQuestion: how many?")])
    [('user: Schema', 10), ('user: Question', 7)]
    """
    parts: list[tuple[str, int]] = []
    for message in messages:
        for text in _HEADING.split(message.text):
            if text.strip():
                first = re.split(r"[:：\n]", text.strip(), maxsplit=1)[0]
                parts.append((f"{message.role}: {first[:60]}", token_estimate(text)))
    return parts


async def prompt_of(quick: Quick, knowledge: Knowledge | None, prompts: Path | None) -> Prompt:
    """Return what a model would be sent for the question as a new thread's first."""
    refuse_empty(quick.question)
    with connections_of(quick) as (file, connection):
        if connection is None:
            raise UsageError(f"--connection is one of: {', '.join(names_of(file))}")
        bus = EmbeddedNats([TENANT])
        async with bus, Stack(StackPlan(connections_file=file), bus):
            held = Held(await bus.connect(StageName.GENERATOR))
            options = {name: value for name, value in quick.options.items() if value is not None}
            now = system_clock()
            query = time_ordered_id(now, system_random_bits(74))
            chosen = Options.model_validate(options)
            language = detect_language(quick.question) if chosen.language == "auto" else chosen.language
            envelope = Envelope[Asked](
                event=EventName.ASKED,
                query_id=query,
                thread_id=query,
                tenant=TENANT,
                user="prompt",
                audience="analyst",
                connection=connection,
                question=quick.question,
                language=language,
                options=chosen,
                asked_at=now,
                deadline_at=now + SECONDS * 1_000,
                body=Asked(),
            )
            model = Kept()
            settings = load(Settings)
            meaning = None
            if settings.embeddings_base_url:
                from querybus_generator.linking.semantic import Nearness

                meaning = Nearness(EmbeddingClient(settings, Metrics("prompt")), settings)
            made = await generate(
                envelope,
                Delivery(sequence=1, deliveries=1, now_ms=now),
                ports=Ports(
                    catalogs=CatalogStore(held),
                    connections=ConnectionStore(held),
                    history=NoHistory(),
                    model=model,
                    taught=_Taught(knowledge) if knowledge is not None else None,
                    meaning=meaning,
                ),
                resources=Resources(
                    linker=Linker(schema_tokens_max=settings.schema_tokens_max), texts=load_texts(prompts)
                ),
            )
            if meaning is not None:
                await meaning.drain()
            await held.connection.close()
    if model.messages:
        return Prompt(model.messages)
    outcome = made.code.value if isinstance(made, Failure) else getattr(made.body, "outcome", made.event).value
    return Prompt((), outcome)
