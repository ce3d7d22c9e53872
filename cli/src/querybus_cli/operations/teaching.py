"""What `querybus knowledge` does: read and change what was taught of a connection, as YAML or entry by entry.

Over the bus, as the bus user `gateway`: nobody else may write what is taught. A file is laid out as it is exported:
`connection`, `pairs`, `instructions`, `terms`, `synonyms`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError

from querybus.bus.connection import BusRefused, Held, connect
from querybus.bus.log.publish import BusTrouble, TooLarge
from querybus.bus.stores.buckets import ConnectionStore
from querybus.bus.stores.catalogs import CatalogStore
from querybus.bus.stores.knowledge import KnowledgeStore
from querybus.core.catalog import Catalog
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy
from querybus.core.subjects import StageName
from querybus.llm import EmbeddingClient, EmbeddingServiceSettings
from querybus.ops.clock import system_clock
from querybus.ops.metrics import Metrics
from querybus.ops.settings import load
from querybus.sql.staleness import stale
from querybus.text.knowledge import (
    APPROVED,
    ENTRIES_MAX,
    REJECTED,
    Entry,
    EntryKind,
    Knowledge,
    KnowledgeIndex,
)
from querybus.text.synonyms import link_words
from querybus_cli.operations.operator import Place
from querybus_cli.runtime import UsageError, read_text
from querybus_gateway.use_cases.knowledge import TeachRequest
from querybus_generator.prompts.question import masked_question
from querybus_semantic.formats.problems import settings_problem, yaml_problem

IMPORTED: Final = "import"
FORM: Final = (
    "a file of knowledge is a mapping with pairs, instructions, terms and synonyms: "
    '{connection: shop, pairs: [{question: "How many customers?", sql: "SELECT COUNT(*) FROM customers"}], '
    'instructions: ["..."], terms: {word: meaning}, synonyms: {customers: [clients]}}'
)
EMBEDDINGS_SECONDS_MAX: Final = 60.0
Json = dict[str, Any]


def document(knowledge: Knowledge) -> Json:
    """Return the knowledge as it stands in a file.

    >>> from querybus.text.knowledge import Entry
    >>> document(Knowledge(connection="shop", entries=(Entry(kind=EntryKind.TERM, key="a", text="b"),)))["terms"]
    {'a': 'b'}
    """
    synonyms: dict[str, list[str]] = {}
    for entry in knowledge.of(EntryKind.SYNONYM):
        synonyms.setdefault(entry.key, []).append(entry.text)
    return {
        "connection": knowledge.connection,
        "pairs": [{"question": entry.key, "sql": entry.text} for entry in knowledge.of(EntryKind.PAIR)],
        "instructions": [entry.text for entry in knowledge.of(EntryKind.INSTRUCTION)],
        "terms": {entry.key: entry.text for entry in knowledge.of(EntryKind.TERM)},
        "synonyms": synonyms,
    }


def read_document(text: str, connection: str | None = None) -> Knowledge:
    """Return the knowledge of a file; ValueError says what is wrong with it."""
    try:
        result: object = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"the file {yaml_problem(error)}; {FORM}") from None
    if not isinstance(result, dict):
        raise ValueError(FORM)  # noqa: TRY004
    fields: Json = {str(key): value for key, value in result.items() if value is not None}  # type: ignore[reportUnknownVariableType]
    name = connection or fields.pop("connection", None)
    fields.pop("connection", None)
    if not isinstance(name, str) or not name:
        raise ValueError("say which connection: --connection, or `connection` in the file")
    try:
        entries = TeachRequest.model_validate(fields).entries("querybus", system_clock(), IMPORTED)
    except ValidationError as error:
        raise ValueError(f"{settings_problem(error, TeachRequest, text)}; {FORM}") from None
    return Knowledge(connection=name, entries=entries)


@asynccontextmanager
async def stores(place: Place) -> AsyncGenerator[Held]:
    """Give a connection with the gateway's rights; what the bus refuses becomes a UsageError."""
    try:
        connection = await connect(place.url, StageName.GATEWAY, place.password)
    except BusRefused as error:
        raise UsageError(str(error)) from error
    try:
        yield Held(connection)
    except (BusTrouble, TooLarge) as error:
        raise UsageError(f"the bus: {error}") from error
    finally:
        await connection.close()


def lines_of(text: str) -> dict[str, int]:
    """Return the line of each entry of a file by the entry's id, the first line being 1; empty where it cannot be read.

    >>> lines_of("terms:\\n  big: above 10")[Entry(kind=EntryKind.TERM, key="big", text="above 10").id]
    2
    """
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return {}
    lines: dict[str, int] = {}

    def note(kind: EntryKind, key: str, value: str, node: yaml.Node) -> None:
        entry = Entry.model_construct(kind=kind, key=key.strip(), text=value.strip())
        lines.setdefault(entry.id, node.start_mark.line + 1)

    for field, value in _members(root):
        if field.value == "pairs":
            for item in _items(value):
                members = {name.value: str(member.value) for name, member in _members(item)}
                note(EntryKind.PAIR, members.get("question", ""), members.get("sql", ""), item)
        elif field.value == "instructions":
            for item in _items(value):
                note(EntryKind.INSTRUCTION, "", str(item.value), item)
        elif field.value == "terms":
            for name, member in _members(value):
                note(EntryKind.TERM, str(name.value), str(member.value), name)
        elif field.value == "synonyms":
            for name, member in _members(value):
                for item in _items(member):
                    note(EntryKind.SYNONYM, str(name.value), str(item.value), item)
    return lines


def _members(node: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node]]:
    return node.value if isinstance(node, yaml.MappingNode) else []


def _items(node: yaml.Node) -> list[yaml.Node]:
    return node.value if isinstance(node, yaml.SequenceNode) else []


@dataclass(frozen=True, slots=True)
class Refusal:
    """An entry that was not taken, and why."""

    entry: Entry
    reason: str


@dataclass(frozen=True, slots=True)
class BroughtIn:
    """What an import did; `is_checked` is False where the connection's catalog was not read yet."""

    taught: int
    entries: int
    refused: tuple[Refusal, ...] = ()
    is_checked: bool = True


def unfit(entries: Sequence[Entry], catalog: Catalog, policy: ConnectionPolicy) -> tuple[Refusal, ...]:
    """Return the entries that do not parse, read no data, or name what does not exist."""
    reasons = ((entry, stale(entry, catalog, policy)) for entry in entries)
    return tuple(Refusal(entry, reason) for entry, reason in reasons if reason is not None)


async def bring_in(
    place: Place, tenant: str, taught: Knowledge, *, replace: bool, only_check: bool = False
) -> BroughtIn:
    """Add what of a file fits the connection, or put it in the place of all that was known.

    What does not fit is refused by itself and named; `only_check` changes nothing.
    """
    async with stores(place) as held:
        catalog = await CatalogStore(held).read(taught.connection)
        connection = await ConnectionStore(held).get(taught.connection)
        refused: tuple[Refusal, ...] = ()
        if catalog is not None and connection is not None:
            refused = unfit(taught.entries, catalog, connection.policy.of(tenant))
        gone = {refusal.entry.id for refusal in refused}
        fitting = [entry for entry in taught.entries if entry.id not in gone]
        store = KnowledgeStore(held)
        if only_check:
            grown = await store.read(tenant, taught.connection)
        else:
            empty = Knowledge(connection=taught.connection)
            grown = await store.change(
                tenant, taught.connection, lambda now: (empty if replace else now).with_entries(fitting)
            )
    if grown is None:
        raise UsageError(f"a connection keeps at most {ENTRIES_MAX} entries")
    return BroughtIn(len(fitting), len(grown.entries), refused, is_checked=catalog is not None)


async def reviewed(
    place: Place, tenant: str, connection: str, approve: Sequence[str], reject: Sequence[str], by: str
) -> list[Json]:
    """Approve and reject suggestions by id, and return what still waits; UsageError for an id that does not wait."""
    async with stores(place) as held:
        store = KnowledgeStore(held)
        knowledge = await store.read(tenant, connection)
        waiting = {entry.id for entry in knowledge.entries if entry.is_pending}
        if unknown := [name for name in (*approve, *reject) if name not in waiting]:
            raise UsageError(
                f"no suggestion waits with the id {unknown[0]}; without ids the command lists those that wait"
            )
        if approve or reject:
            now = system_clock()
            changed = await store.change(
                tenant,
                connection,
                lambda known: known.reviewed(approve, APPROVED, by, now).reviewed(reject, REJECTED, by, now),
            )
            knowledge = changed or knowledge
    return [
        {"id": entry.id, "key": entry.key, "text": entry.text, "by": entry.by, "at": entry.at}
        for entry in knowledge.entries
        if entry.is_pending
    ]


async def known(place: Place, tenant: str, connection: str) -> Knowledge:
    """Return what is known of a connection."""
    async with stores(place) as held:
        return await KnowledgeStore(held).read(tenant, connection)


async def listed(place: Place, tenant: str, connection: str, kind: EntryKind | None) -> list[Json]:
    """Return the entries, each with why it is stale, if it is."""
    async with stores(place) as held:
        knowledge = await KnowledgeStore(held).read(tenant, connection)
        catalog = await CatalogStore(held).read(connection)
        result = await ConnectionStore(held).get(connection)
    return [
        {
            "id": entry.id,
            "kind": entry.kind.value,
            "key": entry.key,
            "text": entry.text,
            "source": entry.source,
            "by": entry.by,
            **({"reviewed_by": entry.reviewed_by, "reviewed_at": entry.reviewed_at} if entry.reviewed_by else {}),
            "stale": stale(entry, catalog, result.policy.of(tenant))
            if catalog is not None and result is not None
            else None,
        }
        for entry in knowledge.entries
        if kind is None or entry.kind is kind
    ]


def searched(
    knowledge: Knowledge, kind: EntryKind, query: str, k: int, nearness: Mapping[str, float] | None = None
) -> list[Json]:
    """Return the entries that come closest, best first."""
    index = KnowledgeIndex(knowledge.of(kind), link_words())
    return [
        {"id": hit.entry.id, "score": hit.score, "key": hit.entry.key, "text": hit.entry.text}
        for hit in index.search(kind, query, k, nearness=nearness)
    ]


async def nearness_of(knowledge: Knowledge, kind: EntryKind, query: str) -> Mapping[str, float] | str | None:
    """Return nearness by entry where an embeddings model is set, None where none is, or why it says nothing."""
    settings = load(EmbeddingServiceSettings)
    entries = knowledge.of(kind)
    if not settings.embeddings_base_url or not entries:
        return None
    api = EmbeddingClient(settings, Metrics("knowledge"))
    texts = [
        masked_question(entry.key, entry.text, "") if kind is EntryKind.PAIR else f"{entry.key}\n{entry.text}"
        for entry in entries
    ]
    result = await api.vectors([query, *texts], timeout_seconds=EMBEDDINGS_SECONDS_MAX)
    await api.close()
    if isinstance(result, Failure):
        return result.facts.native_code or result.code.value
    from querybus_generator.linking.vector_index import VectorIndex

    return {entries[place].id: score for place, score in VectorIndex(result[1:]).near(result[0])}


def from_file(file: Path) -> Knowledge:
    """Return the knowledge of a file; the connection may be missing there."""
    return read_document(read_text(file), "file")
