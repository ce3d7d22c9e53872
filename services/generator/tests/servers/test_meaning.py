"""An embeddings model beside the words: it adds tables and examples, its absence costs nothing, and it sees no value."""

from __future__ import annotations

import json
from typing import Any

import pytest
from services.generator.tests.shop_for_generation import CANARY, SHOP, KeptHistory, SpokenModel, asked, run
from services.generator.tests.test_flows import Taught, drafted, pair

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.messages import Drafted
from querybus.core.options import Options
from querybus.llm import EmbeddingClient, EmbeddingLimits, EmbeddingServiceSettings
from querybus.ops.metrics import Metrics
from querybus_generator.conversation.turns import Turn
from querybus_generator.linking.linker import Linker
from querybus_generator.linking.semantic import Nearness
from tests.support.scripted_model import ScriptedModel, Step, by_letters, fail, hang, say

SAID = "```sql\nSELECT 1 FROM orders\n```"
LARGE = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=(
        *SHOP.tables,
        *(Table(name=f"log{n}", columns=(Column(name=f"payload{n}", type="TEXT"),)) for n in range(20)),
        Table(name="accommodations", columns=(Column(name="rooms", type="INTEGER"),)),
    ),
)
MISSPELT = "How many acomodation are there, and how many orders?"


def chooses() -> Linker:
    """Return a linker that shows no schema whole: only then there is something to add to what the words find."""
    return Linker(schema_tokens_max=1)


class Asking:
    """A server that embeds, and what the generator makes of it."""

    def __init__(self, embed: Any = by_letters, **more: Any) -> None:
        self.server = ScriptedModel(say(""), embed=embed)
        self.more = more

    async def __aenter__(self) -> Asking:
        self.server.__enter__()
        settings = EmbeddingServiceSettings(embeddings_base_url=self.server.base_url, **self.more)
        self.nearness = Nearness(EmbeddingClient(settings, Metrics("test")), settings)
        self.model = SpokenModel(SAID)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.nearness.drain()
        self.server.__exit__()

    async def ask(
        self, question: str, *, catalog: Catalog = LARGE, options: Options | None = None, **more: Any
    ) -> Drafted:
        envelope = asked(question, options=options or Options())
        return drafted(
            await run(
                envelope,
                model=self.model,
                meaning=self.nearness,
                catalog=catalog,
                linker=chooses() if catalog is LARGE else None,
                **more,
            )
        )

    @property
    def sent(self) -> str:
        return "\n".join(json.dumps(request.json, ensure_ascii=False) for request in self.server.requests)


async def test_meaning_adds_a_table_that_no_word_finds():
    alone = drafted(await run(asked(MISSPELT), model=SpokenModel(SAID), catalog=LARGE, linker=chooses()))
    assert "accommodations" not in alone.analysis.tables
    assert alone.analysis.embeddings == ""
    async with Asking(embeddings_limits=EmbeddingLimits(timeout_seconds=20.0)) as stack:
        both = await stack.ask(MISSPELT)
        again = await stack.ask(MISSPELT)
    assert both.analysis.embeddings == "used"
    assert set(alone.analysis.tables) < set(both.analysis.tables)
    assert "accommodations" in both.analysis.tables
    assert again.analysis == both.analysis
    # The catalog once, the question once.
    assert [len(request.json["input"]) for request in stack.server.requests] == [23, 1]


@pytest.mark.parametrize(("embed", "said"), [(fail(500), "500"), (Step(body=b"{}"), "protocol")])
async def test_an_address_that_fails_leaves_the_words_alone_and_the_analysis_says_so(embed: Step, said: str):
    alone = drafted(await run(asked(MISSPELT), model=SpokenModel(SAID), catalog=LARGE, linker=chooses()))
    async with Asking(embed, embeddings_limits=EmbeddingLimits(timeout_seconds=20.0)) as stack:
        body = await stack.ask(MISSPELT)
        again = await stack.ask(MISSPELT)
    assert body.analysis == alone.analysis.model_copy(update={"embeddings": said})
    assert again.analysis == body.analysis
    assert len(stack.server.requests) == 1, "it is asked again after a while only"


async def test_a_question_waits_for_a_slow_address_only_so_long_and_the_model_gets_what_is_left():
    async with Asking(hang(), embeddings_limits=EmbeddingLimits(timeout_seconds=1.0)) as stack:
        body = await stack.ask(MISSPELT)
        await stack.ask(MISSPELT)
    assert body.analysis.embeddings == "preparing"
    first, later = stack.model.timeouts
    assert first < 57.0 - 0.9
    assert later > first, "what takes long holds up who asked first only"


async def test_a_catalog_above_the_bytes_allowed_is_not_embedded():
    async with Asking(embeddings_limits=EmbeddingLimits(bytes_max=1_000)) as stack:
        body = await stack.ask(MISSPELT)
    assert (body.analysis.embeddings, stack.server.requests) == ("too_large", [])


async def test_a_small_catalog_without_taught_pairs_needs_no_meaning():
    async with Asking() as stack:
        body = await stack.ask("How many orders?", catalog=SHOP)
    assert (body.analysis.embeddings, stack.server.requests) == ("", [])


async def test_meaning_finds_a_taught_question_that_shares_no_word():
    taught = Taught(pair("accommodations there"), *(pair(f"report {n} of machine {n}") for n in range(12)))
    alone = drafted(await run(asked("acomodation"), model=SpokenModel(SAID), taught=taught))
    assert alone.analysis.example_ids == ()
    async with Asking(embeddings_limits=EmbeddingLimits(timeout_seconds=20.0)) as stack:
        body = await stack.ask("acomodation", catalog=SHOP, taught=taught)
    assert body.analysis.example_ids == (pair("accommodations there").id,)


async def test_no_cell_value_is_embedded_in_a_thread_with_knowledge_whoever_may_see_what():
    sql = f"SELECT 1 FROM customers WHERE city = '{CANARY}'"
    taught = Taught(pair(f"How many customers live in {CANARY}?", sql))
    history = KeptHistory(Turn("which city?", sql=sql, reply=f"{CANARY}, I think."))
    async with Asking(embeddings_limits=EmbeddingLimits(timeout_seconds=20.0)) as stack:
        for may_see in (False, True):
            for question in ("How many customers live in Oslo?", "and by city?", "What is inflation?"):
                await stack.ask(
                    question, options=Options(allow_llm_to_see_data=may_see), history=history, taught=taught
                )
    assert "How many customers live in …?" in stack.sent
    assert "and by city?" in stack.sent or "which city" in stack.sent
    for value in (CANARY, "Canary", "Berlin"):
        assert value not in stack.sent
