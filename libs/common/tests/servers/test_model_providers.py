"""Every provider through LangChain, against a local server that speaks its own wire, in an environment with its package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from querybus.core.stored.models import PROVIDERS
from querybus.llm.wire.endings import WHOLE
from tests.support.provider_wires import PIECES, TEXT, TOOL_ARGUMENTS

ROOT = Path(__file__).parents[4]
PACKAGES = ROOT / "build/environments/models/lib"
CUT = {
    "openai": "max_tokens", "azure_openai": "model_length", "deepseek": "insufficient_system_resource",
    "mistralai": "model_length", "anthropic": "max_tokens", "google_genai": "MAX_TOKENS", "ollama": "length",
    "bedrock_converse": "max_tokens",
}  # fmt: skip
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PACKAGES.exists() and os.environ.get("CI") != "true", reason="needs `make model-wires`"),
]


@cache
def ask(provider: str) -> dict[str, Any]:
    """Return all that one process, which loads the provider's package once, was given by its wire."""
    place = next(PACKAGES.glob("python*/site-packages"))
    environment = {**os.environ, "PYTHONPATH": f"{place}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "tests.support.ask_provider", provider, CUT[provider]]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment, cwd=ROOT, check=False)
    assert ran.returncode == 0, ran.stderr[-2_000:]
    return json.loads(ran.stdout)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_provider_is_asked_over_its_own_wire(provider: str) -> None:
    found = ask(provider)
    assert found["whole"]["text"] == found["streamed"]["text"] == TEXT
    assert tuple(found["parts"]) == PIECES
    assert (found["whole"]["tokens_in"], found["whole"]["tokens_out"]) == (11, 5)
    assert not found["whole"]["is_cut"]
    assert found["tool"] == found["structured"] == TOOL_ARGUMENTS
    assert found["headers"]["x-team"] == "sales"
    sent = json.dumps(found["body"])
    assert '"top_k": 7' in sent
    assert "4096" in sent
    assert "temperature" not in sent, "a model whose family is not known has its own"
    if provider != "bedrock_converse":
        assert "trace=1" in found["path"]
    assert "the-key" in json.dumps(found["headers"])
    assert [reply.get("fault") in ("length", "cut") for reply in found["cut"]] == [True, True], found["cut"]
    assert ["HTTP 400" in reply.get("detail", "") for reply in found["refused"]] == [True, True], found["refused"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_provider_is_reached_by_the_settings_of_the_network_and_receives_no_key_that_is_not_its_own(
    provider: str,
) -> None:
    found = ask(provider)
    assert "QUERYBUS_NOTHING_LEAVES forbids calls of models.example" in found["forbidden"]["detail"]
    assert found["proxied"].get("text") == TEXT, found["proxied"]
    assert [path.startswith("http://models.example:") for path in found["proxied_paths"]] == [True]
    assert "QUERYBUS_LLM_CA_FILE" in found["distrusted"].get("detail", ""), found["distrusted"]
    assert found["trusted"].get("text") == TEXT, found["trusted"]
    assert len(found["headers_without_key"]) == 2
    assert "stray-secret" not in json.dumps([found["headers"], *found["headers_without_key"]])


def test_every_provider_has_its_words_for_a_whole_reply_and_for_a_cut_one() -> None:
    assert set(WHOLE) == set(CUT) == set(PROVIDERS)
