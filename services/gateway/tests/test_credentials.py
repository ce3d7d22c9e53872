"""A key is its record's or nobody's, and the development key is a key like any other."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from querybus.core.credential import Credential, key_hash, key_text
from querybus.core.subjects import token
from querybus_gateway.access.credentials import DevelopmentKey, authenticate, presented_key
from querybus_gateway.problems import Problem, ProblemCode

KEY = key_text("acme", "web", "s3cret")
WEB = Credential(name="web", tenant="acme", user="ann", key_sha256=key_hash(KEY))


class MemoryRegistry:
    def __init__(self, *credentials: Credential) -> None:
        self.kept = {(token(credential.tenant), token(credential.name)): credential for credential in credentials}

    async def get(self, tenant: str, credential: str) -> Credential | None:
        return self.kept.get((tenant, credential))

    async def put(self, credential: Credential) -> None:
        self.kept[token(credential.tenant), token(credential.name)] = credential


async def test_a_key_that_fits_is_its_record() -> None:
    assert await authenticate(KEY, MemoryRegistry(WEB)) == WEB


@pytest.mark.parametrize(
    "key", [None, "", "qb", KEY + "x", KEY[:-1], key_text("acme", "lab", "s3cret"), key_text("other", "web", "s3cret")]
)
async def test_any_other_key_is_nobodys(key: str | None) -> None:
    result = await authenticate(key, MemoryRegistry(WEB))
    assert isinstance(result, Problem)
    assert result.code is ProblemCode.UNAUTHENTICATED


async def test_a_record_without_a_hash_lets_nobody_in_by_key() -> None:
    result = await authenticate(KEY, MemoryRegistry(WEB.model_copy(update={"key_sha256": ""})))
    assert isinstance(result, Problem)


async def test_a_credential_named_like_a_query_lets_nobody_in() -> None:
    name = "0190a0a0-0000-7000-8000-000000000001"
    key = key_text("acme", name, "x")
    result = await authenticate(key, MemoryRegistry(WEB.model_copy(update={"name": name, "key_sha256": key_hash(key)})))
    assert isinstance(result, Problem)


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({"authorization": f"Bearer {KEY}"}, KEY),
        ({"authorization": f"bearer  {KEY} "}, KEY),
        ({"x-api-key": KEY}, KEY),
        ({"authorization": "Basic abc", "x-api-key": KEY}, KEY),
        ({"authorization": "Basic abc"}, None),
        ({}, None),
    ],
)
def test_a_key_comes_in_either_header(headers: dict[str, str], key: str | None) -> None:
    assert presented_key(headers.items()) == key


@pytest.mark.parametrize(
    "headers",
    [
        [("authorization", f"Bearer {KEY}"), ("authorization", "Bearer other")],
        [("x-api-key", KEY), ("X-API-Key", "other")],
        [("authorization", f"Bearer {KEY}"), ("x-api-key", "other")],
    ],
)
def test_of_two_keys_that_differ_neither_wins(headers: list[tuple[str, str]]) -> None:
    refused = presented_key(headers)
    assert isinstance(refused, Problem)
    assert refused.code is ProblemCode.UNAUTHENTICATED
    assert presented_key([("authorization", f"Bearer {KEY}"), ("x-api-key", KEY)]) == KEY


async def test_the_development_key_is_made_once_and_only_its_hash_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "keys" / "developer"
    registry = MemoryRegistry()
    await DevelopmentKey(registry, file, random_bits=lambda count: (1 << count) - 1).start()
    key = file.read_text().strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    result = await authenticate(key, registry)
    assert isinstance(result, Credential)
    assert result.audience == "analyst"
    assert key not in result.model_dump_json()
    await DevelopmentKey(registry, file, random_bits=lambda _: 0).start()
    assert file.read_text().strip() == key


async def test_a_development_key_is_reported_once_when_it_is_made(tmp_path: Path) -> None:
    reported: list[str] = []
    registry = MemoryRegistry()
    for _ in range(2):
        await DevelopmentKey(registry, tmp_path / "key", random_bits=lambda _: 7, announce=reported.append).start()
    assert reported == [(tmp_path / "key").read_text().strip()]
    assert isinstance(await authenticate(reported[0], registry), Credential)
    assert reported[0] not in registry.kept["local", "developer"].model_dump_json()
