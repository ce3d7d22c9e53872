"""The audit: who did what, as records that follow from each other by hash, one chain a tenant.

A record holds no words of a question or a statement, only their salted hash: the words stay in the event log, where a
person's thread can be deleted. The chain does not need them. The salt comes from the event that holds the words, so
that nobody can guess words by their hash once the event is gone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, cast

from pydantic import Field, ValidationError

from querybus.core.value import Value

UNKNOWN_TENANT: Final = "-"
"""Whose chain holds refusals of callers that no credential names."""
FIRST: Final = "0" * 64
"""What the first record of a chain names as the hash before it."""
WORDS: Final = "words"
"""The member of an exported line that is not part of the record."""


class AuditKind(StrEnum):
    """What was done."""

    STATEMENT = "statement"
    SIGN_IN = "sign_in"
    REFUSAL = "refusal"
    CONFIRMATION = "confirmation"
    KEY_MADE = "key_made"
    KEY_REVOKED = "key_revoked"
    THREAD_DELETED = "thread_deleted"


def _is_empty(value: object) -> bool:
    return value in ("", None, 0)


class AuditFacts(Value):
    """What is recorded of one deed; empty fields are left out. It holds no secret, no words and no rows."""

    kind: AuditKind
    at: int = Field(description="when it happened, in ms since the epoch")
    tenant: str = Field(description="UNKNOWN_TENANT where no credential names one")
    user: str = Field(default="", exclude_if=_is_empty)
    credential: str = Field(default="", exclude_if=_is_empty, description="by which the caller came in")
    audience: str = Field(default="", exclude_if=_is_empty)
    connection: str = Field(default="", exclude_if=_is_empty)
    source: str = Field(default="", exclude_if=_is_empty, description="address of a refused caller")
    query_id: str = Field(default="", exclude_if=_is_empty)
    thread_id: str = Field(default="", exclude_if=_is_empty)
    about: str = Field(
        default="", exclude_if=_is_empty, description="the key that was made, the query that was confirmed, the API"
    )
    outcome: str = Field(default="", exclude_if=_is_empty)
    code: str = Field(default="", exclude_if=_is_empty, description="of a failure or a refusal")
    row_count: int | None = Field(default=None, exclude_if=_is_empty, description="rows of the answer")
    rows_affected: int | None = Field(default=None, exclude_if=_is_empty, description="rows that a change touched")
    count: int = Field(default=1, description="how often, of refusals that were alike")
    shadow_of: str = Field(default="", exclude_if=_is_empty, description="the query that an operator ran again")
    event_sequence: int = Field(default=0, exclude_if=_is_empty, description="of the event that holds the words")
    words_sha256: str = Field(default="", exclude_if=_is_empty)


class AuditRecord(AuditFacts):
    """The facts at their place in the chain of their tenant."""

    number: int = Field(description="counts from 1, without a gap, in each tenant")
    previous: str = Field(description="the hash of the record before, FIRST for the first")
    hash: str = Field(description="SHA-256 of the record's JSON without this field, members sorted")


class Words(Value):
    """What a person asked and what was run, with the salt of their hash."""

    question: str
    sql: str | None = None
    salt: str = Field(description="SHA-256 of the event that holds them")

    @property
    def digest(self) -> str:
        """The hash that a record keeps of them."""
        return _digest(self.model_dump(mode="json"))


def salt_of(event: bytes) -> str:
    """Return the salt of words that this event holds."""
    return hashlib.sha256(event).hexdigest()


def chained(facts: AuditFacts, after: AuditRecord | None) -> AuditRecord:
    """Return the facts as the record after another of their tenant, or as its first."""
    number, previous = (1, FIRST) if after is None else (after.number + 1, after.hash)
    values = facts.model_dump(mode="json") | {"number": number, "previous": previous}
    return AuditRecord.model_validate(values | {"hash": _digest(values)})


def _digest(values: Mapping[str, Any]) -> str:
    text = json.dumps(values, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class AuditFault:
    """The first line that does not fit, counted from 1, and why."""

    line: int
    why: str


@dataclass(frozen=True, slots=True)
class VerifiedChain:
    """What a file holds of one tenant's chain; all of it fits."""

    tenant: str
    first: int
    last: int
    hash: str
    without_words: int


def verify_lines(lines: Iterable[str], kept: Collection[str] = ()) -> tuple[VerifiedChain, ...] | AuditFault:
    """Return the chains of exported lines, by tenant, or the first line that does not fit.

    A file may begin anywhere in a chain; from there on no record may be missing, changed or out of order. Words may be
    missing, since a deleted thread takes them along; words that are there have to be those of the record's hash.
    `kept` are hashes of records that have to be there: of a file that was cut before them, or of a chain that was made
    anew, the fault names the last line.
    """
    chains: dict[str, VerifiedChain] = {}
    unseen, number = set(kept), 0
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            values = cast("dict[str, Any]", json.loads(text))
            words = values.pop(WORDS, None)
            record = AuditRecord.model_validate(values)
            found = None if words is None else Words.model_validate(words)
        except (ValueError, TypeError, AttributeError, ValidationError):
            return AuditFault(number, "it is no record of an audit")
        chain = chains.get(record.tenant)
        why = _fault(values, record, found, chain)
        if why is not None:
            return AuditFault(number, why)
        unseen.discard(record.hash)
        chains[record.tenant] = VerifiedChain(
            record.tenant,
            chain.first if chain else record.number,
            record.number,
            record.hash,
            (chain.without_words if chain else 0) + (bool(record.words_sha256) and found is None),
        )
    if unseen:
        return AuditFault(
            number, f"no record has the hash {min(unseen)}: records were cut off, or the chain was made anew"
        )
    return tuple(chains[tenant] for tenant in sorted(chains))


def _fault(
    values: Mapping[str, Any], record: AuditRecord, words: Words | None, chain: VerifiedChain | None
) -> str | None:
    name = f"record {record.number} of tenant {record.tenant}"
    if _digest({key: value for key, value in values.items() if key != "hash"}) != record.hash:
        return f"{name} was changed: its hash is another"
    if chain is not None and record.number != chain.last + 1:
        return f"{name} follows record {chain.last}: records are missing, repeated or out of order"
    if record.previous != (FIRST if record.number == 1 else record.previous if chain is None else chain.hash):
        return f"{name} does not name the hash of the record before it"
    if words is not None and words.digest != record.words_sha256:
        return f"the words of {name} were changed: their hash is another"
    return None
