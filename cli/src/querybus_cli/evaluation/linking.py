"""Which tables and columns linking keeps for questions with reference SQL, beside a plain BM25 in the same run.

All databases are merged into one catalog, tables of the same name prefixed with their database; then each question is
asked within its own database with half of the tables, and half of the columns of wide tables, dropped. Tokens are
estimated at three characters each, for both sides alike.
"""

from __future__ import annotations

import gc
import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeVar

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import traverse_scope

from querybus.core.catalog import Catalog, Column, Dialect, ForeignKey, Table
from querybus.core.failure import Failure
from querybus.llm import EmbeddingClient, EmbeddingServiceSettings
from querybus.ops.metrics import Metrics
from querybus.sql.names.meaning import table_meant
from querybus.text.synonyms import link_words
from querybus.text.tokens import token_estimate
from querybus.text.words import words_of
from querybus_cli.evaluation.items import read_objects
from querybus_cli.local.demo_database import DEMO_DATA, demo_connection, write_demo
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from querybus_generator.linking.index import LinkIndex
from querybus_generator.linking.near import text_of
from querybus_generator.prompts.schema import render_schema

KEPT: Final = (12, 20)
WIDE_COLUMNS_MIN: Final = 8
TABLES_HALVED_MIN: Final = 3
PROMPTS_MEASURED_MAX: Final = 400
MEANING_SECONDS_MAX: Final = 600.0
_K1: Final = 1.2
_B: Final = 0.75


@dataclass(frozen=True, slots=True)
class Item:
    """One question and what its answer needs: (database, table) pairs, and (database, table, column) triples."""

    question: str
    database: str
    tables: frozenset[str]
    columns: frozenset[tuple[str, str]] = frozenset()


@dataclass(slots=True)
class Share:
    """A count of a count."""

    hit: int = 0
    of: int = 0

    def add(self, is_hit: bool) -> None:
        self.hit += is_hit
        self.of += 1

    @property
    def share(self) -> float:
        return round(self.hit / self.of, 4) if self.of else 0.0


class Bm25:
    """The yardstick: one document per table, its names, columns and values; nothing else."""

    def __init__(self, tables: Sequence[Table]) -> None:
        documents = [Counter(_document(table)) for table in tables]
        self._lengths = [sum(document.values()) for document in documents]
        self._mean = sum(self._lengths) / max(1, len(documents))
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for position, document in enumerate(documents):
            for word, count in document.items():
                self._postings[word].append((position, count))
        self._count = len(documents)

    def best(self, question: str, kept_max: int) -> list[int]:
        """Return the positions of the best tables, best first."""
        scores: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(words_of(question)):
            result = self._postings.get(word, ())
            rarity = math.log(1 + (self._count - len(result) + 0.5) / (len(result) + 0.5))
            for position, count in result:
                length = _K1 * (1 - _B + _B * self._lengths[position] / self._mean)
                scores[position] += rarity * count * (_K1 + 1) / (count + length)
        return sorted(scores, key=lambda item: (-scores[item], item))[:kept_max]


def _document(table: Table) -> Iterator[str]:
    yield from words_of(table.name)
    for column in table.columns:
        yield from words_of(column.name)
        for value in column.values:
            yield from words_of(value)


@dataclass(slots=True)
class Merged:
    """Databases as one catalog; `names` gives each (database, table) its name there."""

    catalog: Catalog
    names: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])


def merge(catalogs: Mapping[str, Catalog]) -> Merged:
    """Return one catalog of all tables; a name that several databases have is prefixed with the database's."""
    uses = Counter(table.name.lower() for catalog in catalogs.values() for table in catalog.tables)
    names = {
        (database, table.name.lower()): f"{database}_{table.name}" if uses[table.name.lower()] > 1 else table.name
        for database, catalog in catalogs.items()
        for table in catalog.tables
    }
    tables: list[Table] = []
    for database, catalog in catalogs.items():
        for table in catalog.tables:
            keys = tuple(
                ForeignKey(
                    columns=key.columns,
                    referred_table=names.get((database, key.referred_table.lower()), key.referred_table),
                    referred_columns=key.referred_columns,
                )
                for key in table.foreign_keys
            )
            renamed: dict[str, object] = {"name": names[database, table.name.lower()], "foreign_keys": keys}
            tables.append(Table.model_validate({name: getattr(table, name) for name in Table.model_fields} | renamed))
    return Merged(Catalog(connection="merged", dialect=Dialect.SQLITE, tables=tuple(tables)), names)


def needed(sql: str, catalog: Catalog) -> tuple[frozenset[str], frozenset[tuple[str, str]]] | None:
    """Return the tables and columns that a reference statement names, in lower case; None if it cannot be read."""
    try:
        tree = sqlglot.parse_one(sql, dialect="sqlite")
        scopes = list(traverse_scope(tree))
    except (SqlglotError, RecursionError):
        return None
    tables: set[str] = set()
    columns: set[tuple[str, str]] = set()
    for scope in scopes:
        sources = {
            alias.lower(): result
            for alias, source in scope.sources.items()
            if isinstance(source, exp.Table) and (result := table_meant(source, catalog)) is not None
        }
        tables |= {table.name.lower() for table in sources.values()}
        for column in scope.columns:
            owners = [sources[column.table.lower()]] if column.table.lower() in sources else list(sources.values())
            owner = next((owner for owner in owners if owner.column(column.name) is not None), None)
            if owner is not None:
                columns.add((owner.name.lower(), column.name.lower()))
    return (frozenset(tables), frozenset(columns)) if tables else None


def read_folder(folder: Path) -> tuple[dict[str, Catalog], list[dict[str, Any]]]:
    """Return the catalogs and the questions of a folder laid out as Spider's; ValueError if there are none."""
    paths = sorted((*folder.glob("databases/*.sqlite"), *folder.glob("train_databases/*.sqlite")))
    catalogs = {path.stem: open_sqlite_catalog(path) for path in paths}
    items = [read_item for path in sorted(folder.glob("questions_*.json")) for read_item in read_objects(path)]
    if not catalogs or not items:
        raise ValueError(f"{folder} has no databases/*.sqlite with questions_*.json")
    return catalogs, items


def items_of(raw: Iterable[Mapping[str, Any]], catalogs: Mapping[str, Catalog]) -> tuple[list[Item], int]:
    """Return the questions whose reference can be read, and the number of the others."""
    items: list[Item] = []
    unread = 0
    for item in raw:
        database = str(item["db_id"])
        result = needed(str(item["gold"]), catalogs[database]) if database in catalogs else None
        if result is None:
            unread += 1
        else:
            items.append(Item(str(item["question"]), database, *result))
    return items, unread


def evaluate_linking(catalogs: Mapping[str, Catalog], items: Sequence[Item]) -> dict[str, Any]:
    """Return the figures of all parts; `bm25` stands beside each share of tables."""
    merged = merge(catalogs)
    words = link_words()
    return {
        "databases": len(catalogs),
        "tables": len(merged.catalog.tables),
        "questions": len(items),
        **_in_merged(merged, items, words),
        **_in_own(catalogs, items, words),
    }


async def evaluate_meaning(
    catalogs: Mapping[str, Catalog], items: Sequence[Item], settings: EmbeddingServiceSettings
) -> dict[str, Any]:
    """Return the shares in the merged catalog where the embeddings of the settings add to linking; ValueError if none."""
    merged = merge(catalogs)
    api = EmbeddingClient(settings, Metrics("evaluate"))
    texts = [text_of(table) for table in merged.catalog.tables]
    vectors = await api.vectors([*texts, *(item.question for item in items)], timeout_seconds=MEANING_SECONDS_MAX)
    await api.close()
    if isinstance(vectors, Failure):
        raise ValueError(f"no embeddings: {vectors.facts.native_code}")  # noqa: TRY004 - a value that is no figure
    from querybus_generator.linking.vector_index import VectorIndex

    near = VectorIndex(vectors[: len(texts)])
    index = LinkIndex(merged.catalog, words=link_words(), schema_tokens_max=0)
    shares = {kept: Share() for kept in KEPT}
    milliseconds: list[float] = []
    for item, asked in zip(items, vectors[len(texts) :], strict=True):
        wanted = {merged.names[item.database, table] for table in item.tables}
        began = time.thread_time()
        nearness = dict(near.near(asked))
        milliseconds.append((time.thread_time() - began) * 1_000)
        for kept, share in shares.items():
            linking = index.link(item.question, tables_max=kept, nearness=nearness)
            share.add(wanted <= {table.name for table in linking.tables})
    result: dict[str, Any] = {f"all_tables_kept_at_{kept}": share.share for kept, share in shares.items()}
    return result | {"model": settings.embeddings_model, "milliseconds": _times(milliseconds)}


def _in_merged(merged: Merged, items: Sequence[Item], words: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    catalog = merged.catalog
    index, plain = LinkIndex(catalog, words=words, schema_tokens_max=0), Bm25(catalog.tables)
    shares = {kept: (Share(), Share()) for kept in KEPT}
    whole = token_estimate(render_schema(catalog, catalog.tables, with_values=True))
    milliseconds: list[float] = []
    tokens: list[int] = []
    step = max(1, len(items) // PROMPTS_MEASURED_MAX)
    for number, item in enumerate(items):
        wanted = {merged.names[item.database, table] for table in item.tables}
        ranked = [catalog.tables[element].name for element in plain.best(item.question, max(KEPT))]
        for kept, (ours, theirs) in shares.items():
            began = time.thread_time()
            linking = index.link(item.question, tables_max=kept)
            milliseconds.append((time.thread_time() - began) * 1_000)
            ours.add(wanted <= {table.name for table in linking.tables})
            theirs.add(wanted <= set(ranked[:kept]))
            if kept == KEPT[0] and number % step == 0:
                shown = index.shown(linking, item.question)
                tokens.append(token_estimate(render_schema(catalog, shown, with_values=True)))
    result = {
        f"all_tables_kept_at_{kept}": {"linking": ours.share, "bm25": theirs.share}
        for kept, (ours, theirs) in shares.items()
    }
    return result | {
        "tokens_of_schema": {"linked": round(median(tokens)), "whole": whole},
        "milliseconds": _times(milliseconds),
    }


def _in_own(
    catalogs: Mapping[str, Catalog], items: Sequence[Item], words: Mapping[str, tuple[str, ...]]
) -> dict[str, Any]:
    indexes = {
        database: (LinkIndex(catalog, words=words, schema_tokens_max=0), Bm25(catalog.tables))
        for database, catalog in catalogs.items()
    }
    halves, plain_halves, columns, questions = Share(), Share(), Share(), Share()
    for item in items:
        index, plain = indexes[item.database]
        catalog = index.catalog
        half = math.ceil(len(catalog.tables) / 2)
        if len(catalog.tables) >= TABLES_HALVED_MIN and len(item.tables) <= half:
            linked = {table.name.lower() for table in index.link(item.question, tables_max=half).tables}
            halves.add(item.tables <= linked)
            plain_halves.add(
                item.tables <= {catalog.tables[element].name.lower() for element in plain.best(item.question, half)}
            )
        lost = _columns_lost(index, item, columns)
        if lost is not None:
            questions.add(not lost)
    return {
        "half_of_the_tables_dropped": {"linking": halves.share, "bm25": plain_halves.share, "questions": halves.of},
        "half_of_the_columns_dropped": {
            "columns_kept": columns.share,
            "all_of_a_question": questions.share,
            "columns": columns.of,
        },
    }


def _columns_lost(index: LinkIndex, item: Item, counted: Share) -> int | None:
    """Return how many needed columns of wide tables get lost with half of their columns; None without wide tables."""
    lost: int | None = None
    for table in index.catalog.tables:
        name = table.name.lower()
        if name not in item.tables or len(table.columns) < WIDE_COLUMNS_MIN:
            continue
        kept = {
            column.name.lower() for column in index.columns(table, item.question, math.ceil(len(table.columns) / 2))
        }
        for owner, column in item.columns:
            if owner == name:
                lost = (lost or 0) + (column not in kept)
                counted.add(column in kept)
    return lost


def label_items(text: str) -> list[Item]:
    """Return questions of a label file: `database | question | table table ...`, one a line; # opens a comment."""
    items: list[Item] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3 or not parts[2]:
            raise ValueError(f"line {number}: expected `database | question | tables`")
        items.append(Item(parts[1], parts[0], frozenset(parts[2].lower().split())))
    return items


def evaluate_labels(catalogs: Mapping[str, Catalog], items: Sequence[Item]) -> dict[str, Any]:
    """Return the share of labelled questions whose tables are all kept in the merged catalog; ValueError for a slip."""
    merged = merge(catalogs)
    for item in items:
        for table in item.tables:
            if (item.database, table) not in merged.names:
                raise ValueError(f"{item.database} has no table {table}")
    index, plain = LinkIndex(merged.catalog, words=link_words(), schema_tokens_max=0), Bm25(merged.catalog.tables)
    result: dict[str, Any] = {"questions": len(items), "tables": len(merged.catalog.tables)}
    lost: list[str] = []
    for kept in KEPT:
        ours, theirs = Share(), Share()
        for item in items:
            wanted = {merged.names[item.database, table] for table in item.tables}
            linked = {table.name for table in index.link(item.question, tables_max=kept).tables}
            ours.add(wanted <= linked)
            best = {merged.catalog.tables[element].name for element in plain.best(item.question, kept)}
            theirs.add(wanted <= best)
            if kept == KEPT[0] and not wanted <= linked:
                lost.append(f"{item.question} ({', '.join(sorted(wanted - linked))})")
        result[f"all_tables_kept_at_{kept}"] = {"linking": ours.share, "bm25": theirs.share}
    return result | {"lost": lost}


SHOP: Final = "shop"
SHOP_QUESTIONS: Final = DEMO_DATA / "questions.zh.txt"


def shop_catalog(path: Path) -> Catalog:
    """Write the demo shop to the path, if it is not there, and return its catalog with its names for people."""
    if not path.exists():
        write_demo(path)
    known = demo_connection(path)
    catalog = open_sqlite_catalog(path, SHOP)
    tables = tuple(
        _called(
            table,
            table.name,
            known,
            columns=tuple(_called(column, f"{table.name}.{column.name}", known) for column in table.columns),
        )
        for table in catalog.tables
    )
    return Catalog.model_validate(
        {name: getattr(catalog, name) for name in Catalog.model_fields}
        | {"tables": tables, "glossary": known["glossary"]}
    )


NamedT = TypeVar("NamedT", Table, Column)


def _called(value: NamedT, key: str, known: Mapping[str, Any], **changes: object) -> NamedT:
    """Return a table or column with what people call it, and without its values where they are personal."""
    fields: dict[str, object] = {name: getattr(value, name) for name in type(value).model_fields} | changes
    fields |= {"display_names": known["display_names"].get(key, {}), "synonyms": tuple(known["synonyms"].get(key, ()))}
    if key in known["personal"]:
        fields |= {"values": (), "values_complete": False, "personal": True}
    return type(value).model_validate(fields)


def wide(tables: int) -> Catalog:
    """Return a made-up catalog of that many tables, to see what size costs."""
    subjects = ("order", "customer", "invoice", "shipment", "employee", "payment", "store", "ticket", "asset", "route")
    return Catalog(
        connection="wide",
        dialect=Dialect.SQLITE,
        tables=tuple(
            Table(
                name=f"{subjects[n % len(subjects)]}_{n // len(subjects)}",
                columns=tuple(
                    Column(name=f"{subjects[(n + c) % len(subjects)]}_{word}", type="TEXT")
                    for c, word in enumerate(("id", "name", "date", "status", "amount", "city", "type", "note"))
                ),
                foreign_keys=(
                    ForeignKey(
                        columns=(f"{subjects[n % len(subjects)]}_id",),
                        referred_table=f"{subjects[(n + 1) % len(subjects)]}_{n // len(subjects)}",
                        referred_columns=("id",),
                    ),
                ),
            )
            for n in range(tables)
        ),
    )


def milliseconds_at(tables: int, questions: Sequence[str]) -> dict[str, float]:
    """Return the milliseconds of linking a question on a made-up catalog of that size."""
    index = LinkIndex(wide(tables), words=link_words(), schema_tokens_max=0)
    # A collection of the whole heap in between would be counted as linking; a service freezes a large catalog as well.
    gc.collect()
    gc.freeze()
    times: list[float] = []
    for question in questions:
        began = time.thread_time()
        index.link(question)
        times.append((time.thread_time() - began) * 1_000)
    return _times(times)


def _times(milliseconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(milliseconds)
    return {"p50": round(median(ordered), 2), "p99": round(ordered[int(len(ordered) * 0.99)], 2)}
