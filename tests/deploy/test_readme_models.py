"""README's settings of a model are those by which each provider is called, with the key at the provider's own address."""

from __future__ import annotations

import os
import shlex

import pytest
from typer.testing import CliRunner

from querybus.core.stored.models import split_provider
from querybus.llm.forms import form_of, model_of
from querybus.llm.model_search import configured_server
from querybus.llm.settings import ModelServiceSettings
from querybus.llm.wire.providers import ModelForm, ModelNotSetUp, open_chat
from querybus_cli.app import app
from tests.deploy.test_docs_commands import ROOT, blocks_of
from tests.support.scripted_model import ScriptedModel, say

BLOCKS = [block for block in blocks_of(ROOT / "README.md") if any("QUERYBUS_LLM_MODEL" in line for line in block)]
ADDRESSES = {
    "openai:gpt-4.1-mini": ("https://api.openai.com/v1", "sk-proj-1234567890"),
    "azure_openai:gpt-4.1-mini": ("https://contoso.openai.azure.com", "1234567890abcdef"),
    "anthropic:claude-sonnet-4-5": ("https://api.anthropic.com", "sk-ant-1234567890"),
    "qwen2.5-coder:7b": ("http://127.0.0.1:11434/v1", ""),
}


def variables_of(block: list[str]) -> dict[str, str]:
    """Return what a block exports."""
    words = [shlex.split(line)[1] for line in block if line.startswith("export ")]
    return {name: value for name, _, value in (word.partition("=") for word in words)}


@pytest.fixture(autouse=True)
def _no_model_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str]) -> None:
    for name in [name for name in os.environ if name.startswith(("QUERYBUS_", "OPENAI_", "AZURE_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_readme_sets_up_a_model_of_each_of_the_four() -> None:
    assert {variables_of(block)["QUERYBUS_LLM_MODEL"] for block in BLOCKS} == set(ADDRESSES)
    assert {block[-1] for block in BLOCKS} == {"querybus models test"}


@pytest.mark.parametrize("block", BLOCKS, ids=[block[-2] for block in BLOCKS])
def test_the_settings_of_a_block_lead_to_the_provider_with_its_key(
    block: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    exported = variables_of(block)
    for name, value in exported.items():
        monkeypatch.setenv(name, value)
    settings = ModelServiceSettings()
    form = form_of(model_of(settings, settings.llm_model), settings, os.environ)
    assert (form.base_url, form.key_text) == ADDRESSES[settings.llm_model]
    server = configured_server(os.environ)
    assert server is not None
    assert (server.base_url, server.model) == (form.base_url, settings.llm_model)
    missing = problem_of(form)
    # The package of an extra need not be here; the block installs it.
    extra = f"querybus[{form.provider}]"
    assert not missing or (extra in missing and any(extra in line for line in block)), missing


def problem_of(form: ModelForm) -> str:
    """Return why a form makes no chat model; empty where it makes one."""
    try:
        open_chat(form)
    except ModelNotSetUp as error:
        return str(error)
    return ""


SPEAK_OPENAI = [
    block for block in BLOCKS if split_provider(variables_of(block)["QUERYBUS_LLM_MODEL"])[0] in ("", "openai")
]
"""Other wires are those of test_model_providers.py."""


@pytest.mark.parametrize("block", SPEAK_OPENAI, ids=[block[-2] for block in SPEAK_OPENAI])
def test_the_command_of_a_block_tests_the_model_that_it_sets(block: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    exported = variables_of(block)
    with ScriptedModel(say("SELECT 1")) as server:
        for name, value in {**exported, "QUERYBUS_LLM_BASE_URL": server.base_url}.items():
            monkeypatch.setenv(name, value)
        done = CliRunner().invoke(app, [*shlex.split(block[-1])[1:], "--quick"])
        assert done.exit_code == 0, done.output
        assert server.requests[0].json["model"] in exported["QUERYBUS_LLM_MODEL"]
