"""Which thread a conversation of a chat front end is, and whether its last words choose an option that was offered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from querybus.core.credential import Credential
from querybus.core.ids import derived_id
from querybus_gateway.admit import AskRequest
from querybus_gateway.http.compatible.openai.housekeeping import question_in
from querybus_gateway.http.compatible.openai.replies import query_in
from querybus_gateway.http.compatible.openai.requests import Message
from querybus_gateway.problems import Problem
from querybus_gateway.use_cases.followups.choice import chosen_option
from querybus_gateway.use_cases.followups.clarify import ClarifyRequest, clarify
from querybus_gateway.use_cases.queries import Queries
from querybus_gateway.use_cases.resources import Reply

CONVERSATION_HEADERS: Final = ("x-openwebui-chat-id", "x-conversation-id", "x-thread-id")
"""Open WebUI's, LibreChat's as its documentation sets it, and our own."""


PERSON_HEADERS: Final = ("x-openwebui-user-id", "x-openwebui-user-email", "x-user-id", "x-user-email")
PERSON_LENGTH_MAX: Final = 200


def acting(credential: Credential, headers: Mapping[str, str]) -> Credential:
    """Return whom a front end asks for: the person that it names, if its credential is one of a trusted proxy.

    Each person has queries and threads of their own, and what the credential may, no more.
    """
    if not credential.is_trusted_proxy:
        return credential
    person = next((headers[name] for name in PERSON_HEADERS if headers.get(name)), None)
    if person is None:
        return credential
    return credential.of_person(f"{credential.user}/{person[:PERSON_LENGTH_MAX]}")


@dataclass(frozen=True, slots=True)
class Asked:
    """The last words of a person, the query they follow if it is known, and the conversation's own name."""

    question: str
    follows: str | None
    conversation: str | None


def asked_in(messages: Sequence[Message], headers: Mapping[str, str], follows: str | None = None) -> Asked | None:
    """Return what is asked: the last message of a person; None where there is none."""
    spoken = [place for place, message in enumerate(messages) if message.role == "user" and message.text.strip()]
    if not spoken:
        return None
    earlier = [message.text for message in messages[: spoken[-1]] if message.role == "assistant"]
    known = next((query for text in reversed(earlier) if (query := query_in(text)) is not None), None)
    conversation = next((headers[name][:200] for name in CONVERSATION_HEADERS if headers.get(name)), None)
    return Asked(question_in(messages[spoken[-1]].text), follows or known, conversation)


async def begin(
    asked: Asked, connection: str | None, queries: Queries, credential: Credential, wait_seconds: float
) -> Reply | Problem:
    """Ask in the thread that the conversation is; a number or the words of an option answer what was asked back."""
    before = await queries.read(asked.follows, credential) if asked.follows is not None else None
    if isinstance(before, Reply) and before.is_finished:
        option = chosen_option(asked.question, before.resource["answer"])
        if option is not None:
            choice = ClarifyRequest(option_id=option)
            return await clarify(queries, before.query_id, choice, credential, wait_seconds=wait_seconds)
    thread, key = (before.resource["thread_id"], None) if isinstance(before, Reply) else (None, None)
    if thread is None and asked.conversation is not None:
        name = f"conversation:{asked.conversation}"
        first = derived_id("key", credential.tenant, credential.user, name)
        # The first question of a conversation gives its thread the name; the others continue it.
        is_known = isinstance(await queries.read(first, credential), Reply)
        thread, key = (first, None) if is_known else (None, name)
    request = AskRequest(question=asked.question, connection=connection, thread_id=thread)
    return await queries.ask(request, credential, idempotency_key=key, wait_seconds=wait_seconds)
