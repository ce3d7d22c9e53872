"""Whether a model's reply is whole: the reasons with which each provider says that its model ended by itself.

A reply is used only where its provider gives such a reason. Without any reason a closed block may still be read; each
other reason, known or not, means that the end is missing. The reasons are those of each provider's public reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from querybus.llm.dialogue import ModelReply, tokens_of
from querybus.llm.errors import Fault, FaultKind

_OPENAI: Final = frozenset({"stop", "tool_calls", "function_call", "end_turn", "eos", "eos_token", "stop_sequence"})
WHOLE: Final[Mapping[str, frozenset[str]]] = {
    "openai": _OPENAI,
    "azure_openai": _OPENAI,
    "deepseek": frozenset({"stop", "tool_calls"}),
    "mistralai": frozenset({"stop", "tool_calls"}),
    "anthropic": frozenset({"end_turn", "stop_sequence", "tool_use"}),
    "google_genai": frozenset({"stop"}),
    "ollama": frozenset({"stop"}),
    "bedrock_converse": frozenset({"end_turn", "stop_sequence", "tool_use"}),
}
"""Reasons of a model that ended by itself, folded to lower case, by provider."""
_LENGTH: Final = frozenset(
    {"length", "max_tokens", "model_length", "max_output_tokens", "model_context_window_exceeded"}
)
_POLICY: Final = frozenset(
    [
        "content_filter",
        "content_filtered",
        "guardrail_intervened",
        "safety",
        "refusal",
        "prohibited_content",
        "blocklist",
        "recitation",
        "spii",
        "language",
        "image_safety",
        "sensitive",
        "moderation",
    ]
)
REPLY_LENGTH_MAX: Final = 200_000


def judge_reply(
    reply: ModelReply, reason: object, *, provider: str, is_streamed: bool = False, is_refusal: bool = False
) -> ModelReply | Fault:
    """Return the reply where it is whole, marked where nobody says so; else the fault that it is.

    `reason` is the provider's own word for why the model ended, None where it gave none. `is_refusal`: the model
    declined in a field of its own.

    >>> cut = judge_reply(ModelReply("SELECT 1", 1, 1, "m"), "abort", provider="openai")
    >>> isinstance(cut, Fault) and cut.kind.value
    'cut'
    """
    name = str(reason).strip().casefold() if reason is not None else ""
    if name in _LENGTH:
        return _fault(FaultKind.LENGTH, reply, f"the reply reached its limit of tokens ({name})")
    if name in _POLICY or is_refusal:
        return _fault(FaultKind.CONTENT_POLICY, reply, "the provider or the model declined by its content policy")
    if name and name not in WHOLE[provider]:
        said = name if name.replace("_", "").isalpha() and len(name) <= 40 else "an unknown reason"
        return _fault(FaultKind.CUT, reply, f"the model did not end its reply by itself ({said})")
    if not name and is_streamed:
        return _fault(FaultKind.CUT, reply, "the stream of the reply ended without an end")
    if len(reply.text) > REPLY_LENGTH_MAX:
        return _fault(FaultKind.CUT, reply, f"the reply is longer than {REPLY_LENGTH_MAX:,} characters")
    if not reply.text.strip():
        return _fault(FaultKind.EMPTY, reply, "the reply is empty")
    return reply if name else replace(reply, is_cut=True)


def _fault(kind: FaultKind, reply: ModelReply, detail: str) -> Fault:
    return Fault(kind, detail, use=tokens_of(reply))


def count_tokens(value: object) -> int:
    """Return a count of tokens as an address gives it; 0 for what is no count (null, NaN, -1, text).

    >>> count_tokens(7), count_tokens(-1), count_tokens(float("nan")), count_tokens("x")
    (7, 0, 0, 0)
    """
    is_count = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= TOKENS_MAX
    return int(value) if is_count else 0  # pyright: ignore[reportArgumentType]


TOKENS_MAX: Final = 100_000_000
