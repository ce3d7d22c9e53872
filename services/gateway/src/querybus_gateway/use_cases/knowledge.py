"""What people teach about their connections, and what they prefer: the use cases behind every API.

Everybody may read and search the knowledge of a connection of theirs, and say of an answer whether it was right;
only analysts teach, review and forget. What a business reader calls right is a suggestion: it is listed, and answers
nobody until an analyst approves it. What does not fit the schema is refused when it is taught, and shown with why when
the schema has changed since. Knowledge never crosses tenants.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from querybus.bus.log.publish import BusTrouble, TooLarge
from querybus.core.catalog import Catalog
from querybus.core.credential import Credential
from querybus.core.envelope import Envelope
from querybus.core.messages import Finished, Outcome
from querybus.core.policy import Connection, ConnectionPolicy
from querybus.core.stored.preferences import Preferences
from querybus.core.stored.quality import QUESTION_LENGTH_MAX, Mark, Quality
from querybus.ops.clock import Clock
from querybus.ops.log import get_log
from querybus.text.disclosure import leaks
from querybus.text.knowledge import (
    APPROVED,
    ENTRIES_MAX,
    KEY_LENGTH_MAX,
    REJECTED,
    SUGGESTION,
    TEXT_LENGTH_MAX,
    Entry,
    EntryKind,
    Knowledge,
    KnowledgeIndex,
)
from querybus.text.synonyms import link_words
from querybus_gateway.problems import FieldError, Problem, ProblemCode
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.queries import BUS_RETRY_SECONDS, Queries

FOUND_MAX: Final = 50
FEEDBACK: Final = "feedback"
JUDGED_MAX: Final = 64
"""Connections of a tenant whose entries are remembered as judged."""
INDEXES_MAX: Final = 16
_log = get_log(__name__)

_TROUBLE: Final = Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)
_TOO_MUCH: Final = Problem(ProblemCode.TOO_LARGE, f"a connection keeps at most {ENTRIES_MAX} entries")


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TaughtPair(_Request):
    """A question and the statement that answers it."""

    question: str = Field(min_length=1, max_length=KEY_LENGTH_MAX)
    sql: str = Field(min_length=1, max_length=TEXT_LENGTH_MAX)


class TeachRequest(_Request):
    """What is taught; an entry about the same takes the place of the one before."""

    pairs: tuple[TaughtPair, ...] = Field(default=(), max_length=ENTRIES_MAX)
    instructions: tuple[str, ...] = Field(default=(), max_length=200)
    terms: Mapping[str, str] = Field(default={}, description="word -> what it means")
    synonyms: Mapping[str, tuple[str, ...]] = Field(default={}, description="table or table.column -> other words")
    definitions: Mapping[str, Mapping[str, Any]] = Field(
        default={}, description="metric:name, dataset:name, relation:name or model:name -> the object as Ossie has it"
    )

    def entries(self, by: str, at: int, source: str) -> tuple[Entry, ...]:
        """Return the entries; ValueError for a text that is empty or too long."""

        def entry(kind: EntryKind, key: str, text: str) -> Entry:
            return Entry(kind=kind, key=key.strip(), text=text.strip(), source=source, by=by, at=at)

        return (
            *(entry(EntryKind.PAIR, pair.question, pair.sql) for pair in self.pairs),
            *(entry(EntryKind.INSTRUCTION, "", instruction) for instruction in self.instructions),
            *(entry(EntryKind.TERM, word, meaning) for word, meaning in self.terms.items()),
            *(entry(EntryKind.SYNONYM, name, word) for name, words in self.synonyms.items() for word in words),
            *(
                entry(EntryKind.DEFINITION, key, json.dumps(node, ensure_ascii=False))
                for key, node in self.definitions.items()
            ),
        )

    def pointers(self) -> tuple[str, ...]:
        """Return where each of the entries stands in the request, in their order, as JSON pointers."""
        return (
            *(f"/pairs/{place}/sql" for place in range(len(self.pairs))),
            *(f"/instructions/{place}" for place in range(len(self.instructions))),
            *(f"/terms/{_escaped(word)}" for word in self.terms),
            *(
                f"/synonyms/{_escaped(name)}/{place}"
                for name, words in self.synonyms.items()
                for place in range(len(words))
            ),
            *(f"/definitions/{_escaped(key)}" for key in self.definitions),
        )


class FeedbackRequest(_Request):
    """What a person says of an answer."""

    verdict: Literal["right", "wrong"]


class ReviewRequest(_Request):
    """What an analyst says of a suggestion."""

    verdict: Literal["approve", "reject"]


class KnowledgeKept(Protocol):
    """Knowledge by tenant and connection. Raises BusTrouble, a change TooLarge as well."""

    async def read(self, tenant: str, name: str) -> Knowledge: ...

    async def change(
        self, tenant: str, name: str, alter: Callable[[Knowledge], Knowledge | None]
    ) -> Knowledge | None: ...


class PreferencesKept(Protocol):
    """Preferences by tenant and user. Raises BusTrouble."""

    async def read(self, tenant: str, name: str) -> Preferences: ...

    async def change(
        self, tenant: str, name: str, alter: Callable[[Preferences], Preferences | None]
    ) -> Preferences | None: ...


class QualityKept(Protocol):
    """What lies on the administration, by tenant and connection. Raises BusTrouble, a change TooLarge as well."""

    async def change(self, tenant: str, name: str, alter: Callable[[Quality], Quality | None]) -> Quality | None: ...


class KnownConnections(Protocol):
    """The connections. Raises BusTrouble."""

    async def get(self, name: str) -> Connection | None: ...


class KnownCatalogs(Protocol):
    """The catalogs. Raises BusTrouble."""

    async def read(self, connection: str) -> Catalog | None: ...


class Teaching:
    """The knowledge of each tenant's connections, and each user's preferences."""

    def __init__(
        self,
        queries: Queries,
        knowledge: KnowledgeKept,
        preferences: PreferencesKept,
        connections: KnownConnections,
        catalogs: KnownCatalogs,
        quality: QualityKept,
        *,
        clock: Clock,
        on_wrong: Callable[[Envelope[Finished]], None] | None = None,
    ) -> None:
        """`on_wrong` learns of each answer that its reader called wrong."""
        self._queries = queries
        self._on_wrong = on_wrong or (lambda _: None)
        self._knowledge = knowledge
        self._preferences = preferences
        self._connections = connections
        self._catalogs = catalogs
        self._quality = quality
        self._clock = clock
        self._judged: dict[tuple[str, str], tuple[tuple[str, ConnectionPolicy], dict[str, str | None]]] = {}
        self._indexes: dict[tuple[Entry, ...], KnowledgeIndex] = {}
        # One at a time: whoever asks in a loop waits for himself and not for everybody's processor.
        self._judging = asyncio.Semaphore(1)

    async def listed(self, name: str, credential: Credential, kind: EntryKind | None = None) -> Json | Problem:
        """Return `{connection, entries}`; an entry that no longer fits the schema has a `stale` that says why."""
        try:
            connection = await self._own(name, credential)
            if isinstance(connection, Problem):
                return connection
            known = await self._knowledge.read(credential.tenant, name)
            catalog = await self._catalogs.read(name)
        except BusTrouble:
            return _TROUBLE
        shown = [entry for entry in known.entries if kind is None or entry.kind is kind]
        reasons = await self._reasons(shown, connection, catalog, credential)
        return {
            "connection": name,
            "entries": [_view(entry, reasons.get(entry.id), credential, catalog) for entry in shown],
        }

    async def search(
        self, name: str, credential: Credential, query: str, *, kind: EntryKind = EntryKind.PAIR, k: int = 5
    ) -> Json | Problem:
        """Return `{connection, hits}`, the best first; by words and by other words for them, English and Chinese."""
        try:
            connection = await self._own(name, credential)
            if isinstance(connection, Problem):
                return connection
            known = await self._knowledge.read(credential.tenant, name)
            catalog = await self._catalogs.read(name)
        except BusTrouble:
            return _TROUBLE
        index = await self._index(known.of(kind))
        hits = index.search(kind, query, min(max(1, k), FOUND_MAX))
        return {
            "connection": name,
            "hits": [_view(hit.entry, None, credential, catalog) | {"score": hit.score} for hit in hits],
        }

    async def teach(
        self, name: str, credential: Credential, request: TeachRequest, *, source: str = "api"
    ) -> Json | Problem:
        """Add entries: `{connection, taught, entries}` with the numbers of both; for analysts.

        Nothing is taught where one of them does not fit the schema: the problem says which, why, and the nearest name.
        """
        is_suggestion = not credential.may_teach
        if is_suggestion and (len(request.terms) != 1 or request != TeachRequest(terms=request.terms)):
            return Problem(ProblemCode.SCOPE, "analysts teach; others may suggest what one word means")
        try:
            entries = request.entries(credential.user, self._clock(), SUGGESTION if is_suggestion else source)
        except ValueError:
            return Problem(ProblemCode.INVALID, "an entry is empty or too long")
        if is_suggestion:
            # Whether it fits is looked at when an analyst approves it: a refusal would say names of the schema.
            return await self._grown(name, credential, entries)
        if request.definitions and (fault := await asyncio.to_thread(_bad_definition, entries)) is not None:
            return Problem(ProblemCode.INVALID, fault)
        unfit = await self._unfit(name, credential, entries)
        if isinstance(unfit, Problem):
            return unfit
        if unfit:
            pointers = request.pointers()
            errors = tuple(FieldError(pointers[place], reason) for place, reason in unfit.items())
            return Problem(ProblemCode.INVALID, f"{errors[0].pointer}: {errors[0].message}", errors)
        return await self._grown(name, credential, entries)

    async def review(self, name: str, credential: Credential, entry_id: str, request: ReviewRequest) -> Json | Problem:
        """Approve or reject what was suggested: `{connection, entries}`; for analysts. Who and when is kept with it."""
        if not credential.may_teach:
            return Problem(ProblemCode.SCOPE, "analysts review")
        try:
            connection = await self._own(name, credential)
            if isinstance(connection, Problem):
                return connection
            known = await self._knowledge.read(credential.tenant, name)
        except BusTrouble:
            return _TROUBLE
        entry = next((entry for entry in known.entries if entry.id == entry_id), None)
        if entry is None or not entry.is_pending:
            return Problem(ProblemCode.NOT_FOUND, "there is no such suggestion")
        if request.verdict == "approve":
            unfit = await self._unfit(name, credential, (entry,))
            if isinstance(unfit, Problem):
                return unfit
            if unfit:
                return Problem(ProblemCode.INVALID, unfit[0])
        source = APPROVED if request.verdict == "approve" else REJECTED
        try:
            left = await self._knowledge.change(
                credential.tenant,
                name,
                lambda now: now.reviewed([entry_id], source, credential.user, self._clock()),
            )
        except BusTrouble:
            return _TROUBLE
        return {"connection": name, "entries": len(left.entries) if left else 0}

    async def forget(self, name: str, credential: Credential, entry_id: str) -> Json | Problem:
        """Remove one entry: `{connection, entries}`; for analysts."""
        if not credential.may_teach:
            return Problem(ProblemCode.SCOPE, "analysts teach")
        try:
            connection = await self._own(name, credential)
            if isinstance(connection, Problem):
                return connection
            known = await self._knowledge.read(credential.tenant, name)
            if entry_id not in {entry.id for entry in known.entries}:
                return Problem(ProblemCode.NOT_FOUND, "there is no such entry")
            left = await self._knowledge.change(credential.tenant, name, lambda now: now.without([entry_id]))
        except BusTrouble:
            return _TROUBLE
        return {"connection": name, "entries": len(left.entries) if left else 0}

    async def feedback(self, query: str, credential: Credential, request: FeedbackRequest) -> Json | Problem:
        """Remember that an answer was right, or forget what a wrong one came from: `{query_id, verdict, entries}`."""
        finished = await self._queries.finished(query, credential)
        if isinstance(finished, Problem):
            return finished
        attempt = finished.attempts[-1] if finished.attempts else None
        if finished.body.answer.outcome is not Outcome.ANSWERED or attempt is None or not finished.question.strip():
            return Problem(ProblemCode.INVALID, "only an answered question can be remembered")
        question = finished.enriched_question or finished.question
        pair = Entry(
            kind=EntryKind.PAIR,
            key=question[:KEY_LENGTH_MAX],
            text=attempt.sql,
            source=FEEDBACK if credential.may_teach else SUGGESTION,
            by=credential.user,
            at=self._clock(),
        )
        try:
            await self._quality.change(credential.tenant, finished.connection, self._judged_as(finished, request, pair))
        except (BusTrouble, TooLarge) as trouble:
            # The owner's list is for looking at; what is taught below decides answers.
            _log.warning("feedback.not_listed", query_id=query, reason=str(trouble))
        if request.verdict == "right":
            grown = await self._grown(finished.connection, credential, (pair,))
            return grown if isinstance(grown, Problem) else _said(query, request, grown["entries"])
        self._on_wrong(finished)
        try:
            # A wrong answer takes back what feedback taught; what an analyst taught, an analyst forgets.
            left = await self._knowledge.change(
                credential.tenant,
                finished.connection,
                lambda now: now.without(
                    entry.id
                    for entry in now.entries
                    if entry.id == pair.id and entry.source in (FEEDBACK, SUGGESTION, APPROVED)
                ),
            )
        except BusTrouble:
            return _TROUBLE
        return _said(query, request, len(left.entries) if left else 0)

    def _judged_as(
        self, finished: Envelope[Finished], request: FeedbackRequest, pair: Entry
    ) -> Callable[[Quality], Quality]:
        if request.verdict == "right":
            return lambda quality: quality.without_mark(finished.query_id)
        mark = Mark(
            query_id=finished.query_id,
            question=pair.key[:QUESTION_LENGTH_MAX],
            language=finished.language,
            sql=pair.text,
            at=self._clock(),
        )
        return lambda quality: quality.with_mark(mark)

    async def preferences(self, credential: Credential) -> Json | Problem:
        """Return the caller's preferences."""
        try:
            return (await self._preferences.read(credential.tenant, credential.user)).model_dump(mode="json")
        except BusTrouble:
            return _TROUBLE

    async def prefer(self, credential: Credential, wanted: Preferences) -> Json | Problem:
        """Replace the caller's preferences and return them; a connection must be one of the caller's."""
        try:
            if wanted.connection is not None:
                connection = await self._own(wanted.connection, credential)
                if isinstance(connection, Problem):
                    return Problem(ProblemCode.UNKNOWN_CONNECTION)
            kept = await self._preferences.change(credential.tenant, credential.user, lambda _: wanted)
        except BusTrouble:
            return _TROUBLE
        return (kept or wanted).model_dump(mode="json")

    async def _reasons(
        self, entries: Sequence[Entry], connection: Connection, catalog: Catalog | None, credential: Credential
    ) -> dict[str, str]:
        """Return why entries are stale, by id; without a catalog nobody can say. Each is judged once per catalog."""
        if catalog is None:
            return {}
        policy = connection.policy.of(credential.tenant)
        place = (credential.tenant, connection.name)
        state = (catalog.fingerprint, policy)
        known = self._judged.get(place)
        if known is None or known[0] != state:
            known = (state, {})
        reasons = known[1]
        new = [entry for entry in entries if entry.id not in reasons]
        if new:
            async with self._judging:
                reasons |= await asyncio.to_thread(_judged, new, catalog, policy)
        if len(reasons) > ENTRIES_MAX:
            reasons = {entry.id: reasons[entry.id] for entry in entries}
        self._judged.pop(place, None)
        self._judged[place] = (state, reasons)
        while len(self._judged) > JUDGED_MAX:
            self._judged.pop(next(iter(self._judged)))
        return {entry.id: reason for entry in entries if (reason := reasons[entry.id]) is not None}

    async def _index(self, entries: tuple[Entry, ...]) -> KnowledgeIndex:
        """Return the search index of the entries, made once for equal ones."""
        index = self._indexes.get(entries)
        if index is None:
            async with self._judging:
                index = await asyncio.to_thread(KnowledgeIndex, entries, link_words())
            self._indexes[entries] = index
            while len(self._indexes) > INDEXES_MAX:
                self._indexes.pop(next(iter(self._indexes)))
        return index

    async def _unfit(self, name: str, credential: Credential, entries: Sequence[Entry]) -> dict[int, str] | Problem:
        """Return why entries do not fit the schema, by their place; without a catalog nobody can say."""
        try:
            connection = await self._own(name, credential)
            if isinstance(connection, Problem):
                return connection
            catalog = await self._catalogs.read(name)
        except BusTrouble:
            return _TROUBLE
        if catalog is None:
            return {}
        async with self._judging:
            reasons = await asyncio.to_thread(_reasons_of, entries, catalog, connection.policy.of(credential.tenant))
        return {place: reason for place, reason in enumerate(reasons) if reason is not None}

    async def _grown(self, name: str, credential: Credential, entries: tuple[Entry, ...]) -> Json | Problem:
        try:
            connection = await self._own(name, credential)
            if isinstance(connection, Problem):
                return connection
            grown = await self._knowledge.change(credential.tenant, name, lambda now: now.with_entries(entries))
        except TooLarge:
            return _TOO_MUCH
        except BusTrouble:
            return _TROUBLE
        if grown is None:
            return _TOO_MUCH
        return {"connection": name, "taught": len(entries), "entries": len(grown.entries)}

    async def _own(self, name: str, credential: Credential) -> Connection | Problem:
        missing = Problem(ProblemCode.NOT_FOUND, "there is no such connection for this credential")
        if credential.connections is not None and name not in credential.connections:
            return missing
        connection = await self._connections.get(name)
        return connection if connection is not None and connection.policy.serves(credential.tenant) else missing


def _bad_definition(entries: Sequence[Entry]) -> str | None:
    """Return why definitions cannot be taken, by name; None where each of them can be read."""
    # Loaded where it is needed: no other path of an API reads definitions.
    from querybus_semantic.formats.entries import faults_of

    found = faults_of([(entry.key, entry.text) for entry in entries if entry.kind is EntryKind.DEFINITION])
    return "; ".join(found)[:500] if found else None


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _judged(entries: Sequence[Entry], catalog: Catalog, policy: ConnectionPolicy) -> dict[str, str | None]:
    """Return by id why each entry is stale, None where it is not."""
    return {entry.id: reason for entry, reason in zip(entries, _reasons_of(entries, catalog, policy), strict=True)}


def _reasons_of(entries: Sequence[Entry], catalog: Catalog, policy: ConnectionPolicy) -> list[str | None]:
    # Loaded where it is needed: the analyser is large, and no other path of an API uses it.
    from querybus.sql.staleness import stale

    return [stale(entry, catalog, policy) for entry in entries]


def _view(entry: Entry, stale: str | None, credential: Credential, catalog: Catalog | None) -> Json:
    """Return an entry for its reader: SQL and names of the schema are for analysts, whoever wrote them where."""
    view: Json = {"id": entry.id, "kind": entry.kind.value, "source": entry.source, "at": entry.at}
    if credential.audience == "analyst":
        review = {"reviewed_by": entry.reviewed_by, "reviewed_at": entry.reviewed_at} if entry.reviewed_by else {}
        return view | {"key": entry.key, "text": entry.text, "by": entry.by, "stale": stale} | review
    is_words = entry.kind in (EntryKind.PAIR, EntryKind.TERM)
    # Without a catalog nobody can say what is a name.
    shown = {"key": entry.key} if is_words and catalog is not None and not leaks(entry.key, catalog, "en") else {}
    return view | shown | {"is_stale": stale is not None}


def _said(query: str, request: FeedbackRequest, entries: int) -> Json:
    return {"query_id": query, "verdict": request.verdict, "entries": entries}
