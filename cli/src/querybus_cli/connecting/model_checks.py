"""Tests one chat model step by step: settings, address, key, model, whole reply, and what a model may lack."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

from querybus.core.stored.models import NamedModel, split_provider
from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus.llm.errors import Fault, FaultKind
from querybus.llm.forms import form_of
from querybus.llm.model_search import BASE_URL, KEY, MODEL, TRIAL_SECONDS_MAX, ModelServer, list_models
from querybus.llm.settings import KEY_VARIABLES, OPENAI_KEY, OPENAI_URL, ModelServiceSettings
from querybus.llm.wire.chat import ChatAddress
from querybus.llm.wire.providers import ModelForm

REQUIRED: Final = ("settings", "address", "key", "model", "reply")
"""In this order a call needs them: what stands behind the one that fails is not reached."""
OPTIONAL: Final = ("stream", "tools", "structured", "usage", "context", "cache")
CHECKS: Final = (*REQUIRED, *OPTIONAL)
CONTEXT_TOKENS: Final = 8_000
"""About as long as the prompt of a database of some hundred columns."""
_LINE_TOKENS: Final = 10
"""Of a line of the long prompt; no tokenizer makes fewer than _LINE_TOKENS_MIN of it."""
_LINE_TOKENS_MIN: Final = 8
_LISTED_MAX: Final = 8
_LISTING: Final = frozenset({"openai", "mistralai", "deepseek"})
_WORD: Final = "MARBLE"
_QUESTION: Final = ChatMessage("user", "Reply with the statement SELECT 1 and nothing else.")
_TOOL: Final = {
    "title": "run_sql",
    "description": "Runs one SQL statement.",
    "type": "object",
    "properties": {"sql": {"type": "string", "description": "the statement"}},
    "required": ["sql"],
}
_FAILING: Final[Mapping[FaultKind, str]] = {
    FaultKind.NOT_CONFIGURED: "settings",
    FaultKind.CONNECT: "address",
    FaultKind.ADDRESS: "address",
    FaultKind.PROTOCOL: "address",
    FaultKind.QUOTA: "key",
    FaultKind.NO_MODEL: "model",
}
_ADVICE: Final[Mapping[str, str]] = {
    "settings": "correct the setting that is named",
    "address": "correct the address, or start the server behind it",
    "key": "set the variable to a key that the address takes, where the services start",
    "model": "correct the model's name",
    "reply": "run the test again; if it fails again, choose another model",
    "stream": "leave `streaming` out: QueryBus asks for whole replies then",
    "tools": "nothing: QueryBus asks for text",
    "structured": "nothing: QueryBus asks for text",
    "usage": "nothing; budgets and costs count none of this model's tokens",
    "context": "set `context_tokens` of the model, or the context of its server (Ollama: OLLAMA_CONTEXT_LENGTH)",
    "cache": "nothing; each prompt is paid in full",
}
ResultT = TypeVar("ResultT")


class State(StrEnum):
    """How a part is: it works, it is missing and QueryBus does without, it fails, or it was not reached."""

    OK = "ok"
    MISSING = "missing"
    FAILS = "fails"
    NOT_REACHED = "-"


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """One part, its state, what was seen, and what to do about a miss."""

    name: str
    state: State
    detail: str = ""
    next: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the check as JSON can hold it."""
        return asdict(self)


async def check_model(
    model: NamedModel, settings: ModelServiceSettings, environment: Mapping[str, str], *, is_quick: bool = False
) -> AsyncIterator[ModelCheck]:
    """Give each check of a model as it ends; seven calls at most, each with a time limit of TRIAL_SECONDS_MAX.

    `is_quick`: the REQUIRED checks alone, by one call.
    """
    if model.api_key_env and not environment.get(model.api_key_env):
        detail = f"{model.api_key_env} is not set here; the services read it from their own environment"
        for check in _required("settings", detail, f"export {model.api_key_env}=..."):
            yield check
        return
    try:
        form = form_of(model, settings, environment)
    except ValueError as error:
        for check in _required("settings", str(error), _ADVICE["settings"]):
            yield check
        return
    address, key = ChatAddress(form), _key_variable(model, settings, environment)
    try:
        await address.open()
        began = time.monotonic()
        reply = await _within(address.complete([_QUESTION], model=form.model))
        seconds = time.monotonic() - began
        if isinstance(reply, Fault):
            failing = failing_part(reply)
            more = await _name_listed(form, settings) if failing == "model" else ""
            for check in _required(failing, _in_words(reply.detail, model, settings, key), more or _ADVICE[failing]):
                yield check
            return
        left_out = sorted(address.fields_left_out(form.model))
        for check in _works(key, form, seconds, left_out):
            yield check
        if is_quick:
            return
        async for check in _optional(address, model, form, reply):
            yield check
    finally:
        await address.close()


def failing_part(fault: Fault) -> str:
    """Return which of the REQUIRED parts a fault of the first call is of.

    >>> failing_part(Fault(FaultKind.REQUEST, "HTTP 401", status=401)), failing_part(Fault(FaultKind.CUT, ""))
    ('key', 'reply')
    """
    if fault.kind is not FaultKind.REQUEST:
        return _FAILING.get(fault.kind, "reply")
    if fault.status is None:
        return "settings"
    if fault.status in (401, 403):
        return "key"
    return "address" if 300 <= fault.status < 400 or fault.status in (404, 405) else "reply"


def is_usable(checks: Sequence[ModelCheck]) -> bool:
    """Return whether QueryBus can ask the model: nothing fails."""
    return all(check.state is not State.FAILS for check in checks)


def check_lines(check: ModelCheck) -> list[str]:
    """Return a check as a line for a person, and what to do below it."""
    lines = [f"{check.state.value:<8}{check.name:<11}{check.detail}".rstrip()]
    if check.next and check.state in (State.FAILS, State.MISSING):
        lines.append(f"{'':19}next: {check.next}")
    return lines


def _required(failing: str, detail: str, advice: str) -> list[ModelCheck]:
    place = CHECKS.index(failing)
    passed = [ModelCheck(name, State.OK) for name in CHECKS[:place]]
    missed = [ModelCheck(name, State.NOT_REACHED) for name in CHECKS[place + 1 :]]
    return [*passed, ModelCheck(failing, State.FAILS, detail, advice), *missed]


def _works(key_variable: str, form: ModelForm, seconds: float, left_out: Sequence[str]) -> list[ModelCheck]:
    key = f"{key_variable} is accepted" if form.key_text else "none is sent, and none is asked for"
    details = {
        "settings": f"provider {form.provider}" + (f"; it takes no {', no '.join(left_out)}" if left_out else ""),
        "address": form.base_url or "of the provider",
        "key": key,
        "model": form.model,
        "reply": f"whole, after {seconds:.1f} s",
    }
    return [ModelCheck(name, State.OK, details[name]) for name in REQUIRED]


async def _optional(
    address: ChatAddress, model: NamedModel, form: ModelForm, reply: ModelReply
) -> AsyncIterator[ModelCheck]:
    parts: list[str] = []
    streamed = await _within(address.complete([_QUESTION], model=form.model, on_text=parts.append))
    yield _check("stream", streamed, f"{len(parts)} parts")
    ask = [ChatMessage("user", "Call the tool run_sql with the statement SELECT 1.")]
    yield _check("tools", await _within(address.call_tool(ask, _TOOL, model=form.model)), "the model calls a tool")
    ask = [ChatMessage("user", "Write the statement SELECT 1 as the field sql of a JSON object.")]
    written = await _within(address.structured(ask, _TOOL, model=form.model))
    yield _check("structured", written, "the model writes an object of a schema")
    if reply.tokens_in and reply.tokens_out:
        yield ModelCheck("usage", State.OK, f"{reply.tokens_in} tokens in, {reply.tokens_out} out")
    else:
        yield ModelCheck("usage", State.MISSING, "the address counts no tokens", _ADVICE["usage"])
    tokens = min(CONTEXT_TOKENS, (model.context_tokens or 2 * CONTEXT_TOKENS) // 2)
    prompt = long_prompt(tokens)
    first = await _within(address.complete(prompt, model=form.model))
    context = _context(first, tokens)
    yield context
    if context.state is State.FAILS or isinstance(first, Fault):
        yield ModelCheck("cache", State.NOT_REACHED)
        return
    again = await _within(address.complete(prompt, model=form.model))
    if isinstance(again, ModelReply) and again.tokens_cached:
        share = again.tokens_cached / max(again.tokens_in, again.tokens_cached)
        yield ModelCheck("cache", State.OK, f"{share:.0%} of the same prompt came from the provider's cache")
    else:
        detail = again.detail if isinstance(again, Fault) else "the same prompt twice: no token is said to be cached"
        yield ModelCheck("cache", State.MISSING, detail, _ADVICE["cache"])


def long_prompt(tokens: int) -> list[ChatMessage]:
    """Return a prompt of about so many tokens, whose answer stands in its first line."""
    lines = [f"Column {number} of the table holds a number." for number in range(tokens // _LINE_TOKENS)]
    ask = "Reply with the word that the first line names, and nothing else."
    return [ChatMessage("user", "\n".join([f"The word is {_WORD}.", *lines, ask]))]


def _context(reply: ModelReply | Fault, tokens: int) -> ModelCheck:
    """Return whether a prompt of so many tokens is read whole: some servers drop its beginning without a word."""
    if isinstance(reply, Fault):
        return ModelCheck("context", State.FAILS, f"a prompt of {tokens:,} tokens: {reply.detail}", _ADVICE["context"])
    if 0 < reply.tokens_in < tokens // _LINE_TOKENS * _LINE_TOKENS_MIN:
        detail = f"of a prompt of about {tokens:,} tokens only {reply.tokens_in:,} are read, without an error"
        return ModelCheck("context", State.FAILS, detail, _ADVICE["context"])
    if _WORD not in reply.text.upper():
        detail = f"the model does not find the first line of a prompt of {tokens:,} tokens"
        return ModelCheck("context", State.MISSING, detail, _ADVICE["context"])
    return ModelCheck("context", State.OK, f"a prompt of {reply.tokens_in or tokens:,} tokens is read whole")


def _check(name: str, outcome: object, detail: str) -> ModelCheck:
    if isinstance(outcome, Fault):
        return ModelCheck(name, State.MISSING, outcome.detail, _ADVICE[name])
    return ModelCheck(name, State.OK, detail)


async def _within(call: Awaitable[ResultT | Fault]) -> ResultT | Fault:
    try:
        async with asyncio.timeout(TRIAL_SECONDS_MAX):
            return await call
    except TimeoutError:
        return Fault(FaultKind.TIMEOUT, f"no reply within {TRIAL_SECONDS_MAX:.0f} s")


async def _name_listed(form: ModelForm, settings: ModelServiceSettings) -> str:
    """Return which models the address has, where it lists them in OpenAI's form."""
    if form.provider not in _LISTING:
        return ""
    names = await list_models(ModelServer(form.provider, form.base_url), form.api_key, settings)
    if isinstance(names, Fault) or not names:
        return ""
    more = f" and {len(names) - _LISTED_MAX} more" if len(names) > _LISTED_MAX else ""
    return f"choose one that the address has: {', '.join(names[:_LISTED_MAX])}{more}"


def _key_variable(model: NamedModel, settings: ModelServiceSettings, environment: Mapping[str, str]) -> str:
    """Return where the key of a model is set: a variable, or the field that names one."""
    provider = split_provider(model.model)[0]
    is_own = model.base_url in ("", settings.llm_base_url)
    if model.api_key_env or (is_own and environment.get(KEY)):
        return model.api_key_env or KEY
    if provider:
        return KEY_VARIABLES[provider]
    return (OPENAI_KEY if settings.llm_base_url == OPENAI_URL else KEY) if is_own else "api_key_env"


def _in_words(detail: str, model: NamedModel, settings: ModelServiceSettings, key: str) -> str:
    """Return a fault in the words of what was set: the variables, or the fields of a model with a name of its own."""
    detail = detail.replace(KEY, key)
    if model.base_url == settings.llm_base_url:
        return detail
    return detail.replace(BASE_URL, "base_url").replace(MODEL, "model")
