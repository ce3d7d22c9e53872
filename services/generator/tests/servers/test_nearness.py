"""Nearness by embeddings: what the vectors say, and what the API to a model makes of an address that is not well."""

from __future__ import annotations

import asyncio
import importlib
import random
import time
from array import array
from collections.abc import Sequence

import pytest
from libs.common.tests.test_model_limits import OneValue

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import Failure
from querybus.llm import EmbeddingClient, EmbeddingLimits, EmbeddingServiceSettings, shared_limit
from querybus.llm.errors import Fault, FaultKind
from querybus.llm.vectors import unit
from querybus.ops.metrics import Metrics
from querybus_generator.linking.index import LinkIndex
from querybus_generator.linking.near import text_of
from querybus_generator.linking.vector_index import VectorIndex
from tests.support.scripted_model import (
    ScriptedModel,
    Step,
    by_letters,
    cut_json,
    empty_choice,
    fail,
    garbage,
    hang,
    say,
)


def drawn(seed: int, count: int, dimensions: int = 128) -> list[array[float]]:
    dice = random.Random(seed)
    made = [unit([dice.gauss(0.3, 1) for _ in range(dimensions)], dimensions) for _ in range(count)]
    return [vector for vector in made if vector is not None]


def test_a_text_is_nearest_to_what_was_made_of_it():
    vectors = drawn(1, 2_000)
    index = VectorIndex(vectors)
    result = 0
    for place in range(0, 2_000, 40):
        mixed = unit([a + 0.6 * b for a, b in zip(vectors[place], drawn(place + 7, 1)[0], strict=True)], 128)
        assert mixed is not None
        nearest = index.near(mixed)
        assert nearest == index.near(mixed)
        result += bool(nearest) and nearest[0][0] == place
    assert result >= 49


def test_a_common_direction_of_all_texts_makes_none_near():
    vectors = [unit([10.0, *(float(place == other) for other in range(40))], 64) for place in range(40)]
    index = VectorIndex([vector for vector in vectors if vector is not None])
    asked = vectors[3]
    assert asked is not None
    assert [place for place, score in index.near(asked) if score > 0.3] == [3]


def test_vectors_of_another_length_are_near_nothing_and_of_several_lengths_are_refused():
    assert VectorIndex(drawn(1, 3)).near(array("f", [1.0])) == ()
    assert VectorIndex([]).near(array("f", [1.0])) == ()
    with pytest.raises(ValueError, match="lengths"):
        VectorIndex([array("f", [1.0]), array("f", [1.0, 0.0])])


def test_of_a_table_names_and_comments_are_embedded_and_no_value():
    column = Column(
        name="city_code", type="TEXT", values=("Berlin",), comment="where it is", display_names={"zh": "城市"}
    )
    said = text_of(Table(name="shops", columns=(column,), comment="all shops"))
    assert said == "shops, all shops, city code 城市, where it is"


def catalog(count: int = 30) -> Catalog:
    tables = [Table(name=f"log{n}", columns=(Column(name=f"payload{n}", type="TEXT"),)) for n in range(count)]
    tables[20] = Table(name="wages", columns=(Column(name="amount", type="TEXT"),))
    return Catalog(connection="c", dialect=Dialect.SQLITE, tables=tuple(tables))


def test_nearness_brings_a_table_in_that_no_word_finds_and_takes_none_away():
    index = LinkIndex(catalog(), schema_tokens_max=0)
    asked = "payload3 of what people earn"
    alone = index.link(asked, tables_max=3)
    both = index.link(asked, tables_max=3, nearness={20: 0.8})
    assert [table.name for table in alone.tables] == ["log3"]
    assert [table.name for table in both.tables] == ["log3", "wages"]
    assert {link.reason for link in both.links if link.table == "wages"} == {"meaning, by embeddings"}
    assert set(alone.links) <= set(both.links)


def settings(server: ScriptedModel, **more: object) -> EmbeddingServiceSettings:
    return EmbeddingServiceSettings.model_validate(
        {"embeddings_base_url": server.base_url, "embeddings_model": "e", **more}
    )


async def embedded(server: ScriptedModel, texts: Sequence[str], timeout_seconds: float = 20.0, **more: object):
    api = EmbeddingClient(settings(server, **more), Metrics("test"))
    result = await api.vectors(texts, timeout_seconds=timeout_seconds)
    await api.close()
    return result


async def test_texts_are_embedded_in_batches_and_cut_to_the_dimensions_allowed():
    with ScriptedModel(say(""), embed=by_letters) as server:
        result = await embedded(
            server,
            ["orders", "order", "", "customers"],
            embeddings_limits=EmbeddingLimits(batch_max=3, dimensions_max=100),
        )
    assert not isinstance(result, Failure)
    assert [len(vector) for vector in result] == [100] * 4
    orders, order, nothing, customers = result
    assert list(nothing) == [0.0] * 100
    assert sum(a * b for a, b in zip(orders, order, strict=True)) > sum(
        a * b for a, b in zip(orders, customers, strict=True)
    )
    assert [len(request.json["input"]) for request in server.requests] == [3, 1]
    assert {request.json["model"] for request in server.requests} == {"e"}


@pytest.mark.parametrize(
    ("step", "native_code"),
    [
        (fail(429, retry_after_seconds=1), "429"),
        (fail(500), "500"),
        (fail(401), "401"),
        (cut_json(), "protocol"),
        (garbage(), "protocol"),
        (Step(body=b'{"data": []}'), "protocol"),
        (Step(body=b'{"data": [{"index": 0, "embedding": ["a"]}]}'), "protocol"),
        (empty_choice(), "protocol"),
        (hang(), "timeout"),
    ],
)
async def test_every_fault_is_typed_and_tried_once(step: Step, native_code: str):
    # Loading the client must not count for the time limit.
    importlib.import_module("openai")
    with ScriptedModel(say(""), embed=step) as server:
        result = await embedded(server, ["orders"], timeout_seconds=1.0 if native_code == "timeout" else 20.0)
    assert isinstance(result, Failure)
    assert result.facts.native_code == native_code
    assert len(server.requests) == 1


async def test_an_address_that_keeps_failing_is_left_alone_for_a_while():
    class Down:
        calls = 0

        async def close(self) -> None: ...

        async def embed(self, texts: Sequence[str]) -> Fault:
            self.calls += 1
            return Fault(FaultKind.SERVER, "HTTP 500", status=500)

    now = 0.0
    address = Down()
    made = EmbeddingServiceSettings(embeddings_base_url="http://x", llm_breaker_failures=3)
    api = EmbeddingClient(made, Metrics("test"), address=address, seconds=lambda: now)
    codes: list[str | None] = []
    for _ in range(5):
        result = await api.vectors(["a"], timeout_seconds=5)
        assert isinstance(result, Failure)
        codes.append(result.facts.native_code)
    assert codes == ["500", "500", "500", "breaker_open", "breaker_open"]
    now += 11
    await api.vectors(["a"], timeout_seconds=5)
    assert address.calls == 4


async def test_replicas_keep_the_limit_of_an_embeddings_model_together():
    class Answering:
        calls = 0

        async def close(self) -> None: ...

        async def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
            self.calls += 1
            return [[1.0] * 16 for _ in texts], 7

    address, counters = Answering(), OneValue()
    made = EmbeddingServiceSettings(
        embeddings_base_url="http://x", embeddings_limits=EmbeddingLimits(requests_per_minute=60)
    )
    apis = [
        EmbeddingClient(made, Metrics("test"), address=address, shared=shared_limit(made, counters)) for _ in range(2)
    ]
    began = time.monotonic()
    result = await asyncio.gather(*(apis[n % 2].vectors(["a"], timeout_seconds=0.5) for n in range(40)))
    took = time.monotonic() - began
    for api in apis:
        await api.close()
    late = [item for item in result if isinstance(item, Failure)]
    assert 1 <= address.calls <= 6 + 1 + took
    assert len(late) == 40 - address.calls
    assert {item.facts.native_code for item in late} == {"timeout"}
    assert shared_limit(EmbeddingServiceSettings(), counters) is None
