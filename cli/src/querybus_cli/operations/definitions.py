"""What `querybus definitions` does: definitions in and out, checked against the database, compared, drafted and approved."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from querybus.bus.stores.catalogs import CatalogStore
from querybus.bus.stores.knowledge import KnowledgeStore
from querybus.core.catalog import Catalog, ColumnKind
from querybus.ops.clock import system_clock
from querybus.text.knowledge import Entry, EntryKind, Knowledge
from querybus_cli.operations.examples import changed_examples, disagreements
from querybus_cli.operations.operator import Place
from querybus_cli.operations.teaching import IMPORTED, BroughtIn, bring_in, read_document, stores
from querybus_cli.runtime import UsageError, read_text
from querybus_semantic.checks.binding import bound
from querybus_semantic.checks.drafting import draft_of
from querybus_semantic.checks.probes import (
    Finding,
    Severity,
    Subject,
    failed,
    finding_of,
    measured,
    probes,
    static_findings,
)
from querybus_semantic.compiling.compile import Compiled, compile_request
from querybus_semantic.formats.document import BadFileError, Listed
from querybus_semantic.formats.entries import layer_of, pieces_of, with_state
from querybus_semantic.formats.files import Format, read_layers
from querybus_semantic.formats.ossie_writer import changed_elsewhere, document_of
from querybus_semantic.layer.definitions import Layer
from querybus_semantic.layer.request import Request

Json = dict[str, Any]


def read_files(files: Sequence[Path], format_: Format, name: str) -> tuple[Layer, list[Listed]]:
    """Return the one layer of some files and what was not taken of them; UsageError for anything else."""
    try:
        layers = read_layers([read_text(file) for file in files], format_, name)
    except (OSError, UnicodeDecodeError, BadFileError) as error:
        raise UsageError(f"{files[0].name if files else 'no file'}: {error}") from error
    if len(layers) != 1:
        names = ", ".join(layer.name for layer, _ in layers)
        raise UsageError(f"the files hold {len(layers)} models ({names}); bring them in one by one")
    layer, report = layers[0]
    return layer, report.listed


def entries_of(layer: Layer, *, source: str = IMPORTED, by: str = "querybus") -> tuple[Entry, ...]:
    """Return a layer as entries of knowledge; its verified questions become pairs."""
    now = system_clock()
    pairs = [
        Entry(kind=EntryKind.PAIR, key=one.question, text=one.sql, source=source, by=by, at=now)
        for one in layer.verified
    ]
    defined = [
        Entry(kind=EntryKind.DEFINITION, key=key, text=text, source=source, by=by, at=now)
        for key, text in pieces_of(layer)
    ]
    return (*defined, *pairs)


async def bring_in_layer(place: Place, tenant: str, connection: str, layer: Layer) -> BroughtIn:
    """Teach a layer; a verified question whose statement does not fit the connection is refused and named."""
    return await bring_in(place, tenant, Knowledge(connection=connection, entries=entries_of(layer)), replace=False)


async def defined(place: Place, tenant: str, connection: str) -> tuple[Layer, Catalog | None]:
    """Return what is defined for a connection, taught or in its file, and its catalog; UsageError where nothing is."""
    async with stores(place) as held:
        knowledge = await KnowledgeStore(held).read(tenant, connection)
        catalog = await CatalogStore(held).read(connection)
    taught = {entry.key: entry.text for entry in knowledge.of(EntryKind.DEFINITION)}
    layer = layer_of({**(catalog.definitions if catalog is not None else {}), **taught}.items())
    if layer is None:
        raise UsageError(
            f"nothing is defined for {connection}; bring definitions in with `querybus definitions import`"
        )
    return layer, catalog


async def set_state(place: Place, tenant: str, connection: str, names: Sequence[str], state: str, by: str) -> list[str]:
    """Approve metrics or make them drafts; return their names. An unknown name: UsageError."""
    layer, _ = await defined(place, tenant, connection)
    unknown = [name for name in names if layer.metric(name) is None]
    if unknown:
        raise UsageError(f"there is no metric {', '.join(unknown)}; there are: {', '.join(sorted(layer.metrics))}")
    chosen = list(names) or [name for name, metric in layer.metrics.items() if metric.words.state != state]
    changed = with_state(layer, chosen, state, by)
    wanted = {f"metric:{changed.metrics[name].name}" for name in chosen}
    entries = tuple(entry for entry in entries_of(changed, by=by) if entry.key in wanted)
    await bring_in(place, tenant, Knowledge(connection=connection, entries=entries), replace=False)
    return chosen


def exported(layer: Layer) -> tuple[Json, list[str]]:
    """Return a layer as an Ossie document, and the metrics that other tools will compute differently."""
    return document_of(layer), changed_elsewhere(layer)


def checked(layer: Layer, catalog: Catalog, rows_of: Any) -> tuple[Layer, list[Finding]]:
    """Return the layer with its relations as measured, and every finding; `rows_of` runs one statement."""
    seen, missing = bound(layer, catalog)
    dialect = catalog.dialect
    findings = [Finding(Severity.ERROR, f"dataset {name}", "its table is not in the database") for name in missing]
    findings += static_findings(seen, dialect)
    results: dict[str, Sequence[Sequence[object]]] = {}
    for probe in probes(seen, dialect):
        try:
            rows = rows_of(probe.sql)
        except Exception as error:  # noqa: BLE001 - each engine has errors of its own; one probe's trouble is its finding
            findings.append(failed(f"{probe.subject.value} {probe.about}", error))
            continue
        if probe.subject is Subject.RELATION:
            results[probe.about] = rows
        found = finding_of(seen, probe, rows)
        if found is not None:
            findings.append(found)
    settled = measured(seen, results)
    return settled, [*findings, *disagreements(settled, catalog, rows_of)]


def difference(before: Layer, after: Layer, catalog: Catalog, rows_of: Any) -> list[Json]:
    """Return whose numbers change between two layers: each metric by itself and each verified question, before and after."""
    changes: list[Json] = []
    old, new = bound(before, catalog)[0], bound(after, catalog)[0]
    for name in dict.fromkeys((*old.metrics, *new.metrics)):
        values = [_value(layer, name, catalog, rows_of) for layer in (old, new)]
        if values[0] != values[1]:
            metric = after.metric(name) or before.metric(name)
            owner = metric.words.owner if metric is not None else ""
            changes.append({"metric": name, "before": values[0], "after": values[1], "owner": owner})
    return [*changes, *changed_examples(old, new, catalog, rows_of)]


def _value(layer: Layer, name: str, catalog: Catalog, rows_of: Any) -> object:
    if layer.metric(name) is None:
        return "not defined"
    compiled = compile_request(layer, Request((name,)), catalog.dialect)
    if not isinstance(compiled, Compiled):
        return compiled.detail
    rows = rows_of(compiled.sql)
    return rows[0][0] if rows else None


def drafted(catalog: Catalog, pairs: Iterable[tuple[str, str]] = ()) -> Json:
    """Return a draft from keys, names and verified questions: what data settles is filled in, what only the owner settles is a draft."""
    if not any(
        column.kind in {ColumnKind.INTEGER, ColumnKind.NUMBER} for table in catalog.tables for column in table.columns
    ):
        raise UsageError("no table has a number in it; there is nothing to draft")
    return document_of(draft_of(catalog, pairs))


def pairs_in(file: Path | None) -> list[tuple[str, str]]:
    """Return the verified questions and their SQL of a file of knowledge; UsageError where it cannot be read."""
    if file is None:
        return []
    try:
        knowledge = read_document(read_text(file), "drafted")
    except (OSError, ValueError) as error:
        raise UsageError(f"{file.name}: {error}") from error
    return [(entry.key, entry.text) for entry in knowledge.of(EntryKind.PAIR)]


def as_json(findings: Iterable[Finding]) -> list[Json]:
    """Return findings for programs."""
    return [json.loads(json.dumps(asdict(one), default=str)) for one in findings]
