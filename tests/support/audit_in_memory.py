"""The audit as a list, for tests of what records into it."""

from __future__ import annotations

from querybus.core.credential import Credential
from querybus.core.envelope import Envelope
from querybus.core.messages import Finished
from querybus.core.stored.audit import AuditFacts, AuditKind, Words
from querybus.core.subjects import EventAddress
from querybus_gateway.problems import Problem


class AuditInMemory:
    """Remembers what was recorded, in order."""

    def __init__(self) -> None:
        self.facts: list[AuditFacts] = []
        self.kinds: list[tuple[AuditKind, str, str]] = []
        """Kind, credential and what it was about."""
        self.ended: list[str] = []
        self.refused: list[tuple[str, str, str]] = []
        """Credential or address, code, and what it was about."""

    async def record(
        self, kind: AuditKind, credential: Credential, *, about: str = "", query_id: str = "", thread_id: str = ""
    ) -> None:
        self.kinds.append((kind, credential.name, about or query_id or thread_id))

    def note_refusal(self, credential: Credential, problem: Problem, about: str = "") -> None:
        self.refused.append((credential.name, problem.code.value, about))

    def note_stranger(self, source: str, claimed: str, code: str) -> None:
        self.refused.append((source, code, claimed))

    async def record_end(self, envelope: Envelope[Finished], address: EventAddress) -> None:
        self.ended.append(address.query)


class ChainsInMemory:
    """Remembers the facts that would be appended."""

    def __init__(self) -> None:
        self.facts: list[AuditFacts] = []

    async def record(self, facts: AuditFacts, words: Words | None = None) -> None:
        assert words is None or words.digest == facts.words_sha256
        self.facts.append(facts)
