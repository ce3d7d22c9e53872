"""Reads a catalog with a handful of statements over all tables at once, whatever their number.

The statements of an engine give rows of one shape (see CatalogQueries); what is made of them is the same for all.
Rows are counted and values gathered for many tables in one statement; where one fails its halves are asked alone.
Bounded in time: what time does not allow is left out. Values are of the first rows of text columns that are not personal.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from querybus.core.catalog import (
    COLUMN_VALUES_MAX,
    VALUE_LENGTH_MAX,
    Catalog,
    Column,
    ColumnKind,
    ForeignKey,
    Table,
)
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Scalar
from querybus.engines import ENGINES
from querybus.sql.row_security import reachable_tables
from querybus_executor.catalog.annotations import Known
from querybus_executor.catalog.column_kinds import kind_of_type
from querybus_executor.catalog.looks import ROWS_SAMPLED_MAX, Answer, Ask, CatalogQueries, Found, Looks, Wanted, quoted
from querybus_executor.catalog.profiles import is_profiled, profiled
from querybus_executor.connections.config import ConnectionConfig
from querybus_executor.connections.trouble import LOCKED

SECONDS_MAX: Final = 20.0
STRUCTURE_SECONDS_MAX: Final = 30.0
STRUCTURE_ROWS_MAX: Final = 2_000_000

_Place = tuple[str, str]
"""Schema and table."""


async def read_catalog(
    config: ConnectionConfig,
    ask: Ask,
    queries: CatalogQueries,
    *,
    default_schema: str | None,
    timer: Callable[[], float] = time.monotonic,
) -> Catalog | Failure:
    """Return the catalog of a connection, tables of the default schema first, or why its structure could not be read."""
    parts = await _read_structure(ask, queries)
    if isinstance(parts, Failure):
        return parts
    known = Known(
        display_names=config.display_names,
        synonyms=config.synonyms,
        personal=(*config.personal, *config.policy.hidden_columns),
        not_personal=config.not_personal,
        without_values=(*config.without_values, *config.policy.filtered_tables),
        values=config.values,
    )
    allowed = reachable_tables(config.policy, config.dialect)
    # A hundred thousand columns are work for a second: in a thread, so that statements and heartbeats go on.
    made = await asyncio.to_thread(_tables, parts, known, default_schema, allowed)
    if queries.values:
        looks = Looks(ask, queries, timer() + SECONDS_MAX, timer)
        places = [_place(item, default_schema, queries) for item in made]
        counted = [table.row_estimate for table in made]
        if not queries.estimates_are_bounds:
            counted = await looks.rows(places)
        wanted = [
            Wanted(number, place, column, rows)
            for number, (table, place, rows) in enumerate(zip(made, places, counted, strict=True))
            for column in table.columns
            if rows != 0 and column.kind is ColumnKind.TEXT and known.wants_values(table, column)
        ]
        result = await looks.values(wanted)
        measured = [
            Wanted(number, place, column, rows)
            for number, (table, place, rows) in enumerate(zip(made, places, counted, strict=True))
            for column in table.columns
            if rows != 0 and is_profiled(table, column) and known.wants_values(table, column)
        ]
        profiles = await looks.profiles(measured)
        made = await asyncio.to_thread(_filled, made, counted, result, profiles, known)
    return Catalog(
        connection=config.name,
        dialect=config.dialect,
        tables=tuple(made),
        default_schema=default_schema,
        database=_database_of(config),
        glossary=dict(config.glossary),
        definitions=config.definition_pieces,
        today=config.today,
    )


async def _read_structure(ask: Ask, queries: CatalogQueries) -> list[Sequence[Sequence[Scalar]]] | Failure:
    """Return the rows about tables, columns, keys and foreign keys, or why one of them could not be read."""
    parts: list[Sequence[Sequence[Scalar]]] = []
    for sql in (queries.tables, queries.columns, queries.keys, queries.foreign):
        result = await ask(sql, STRUCTURE_ROWS_MAX, STRUCTURE_SECONDS_MAX)
        if isinstance(result, Failure):
            is_locked = result.code is FailureCode.LOCK
            facts = result.facts.model_copy(update={"native_code": LOCKED}) if is_locked else result.facts
            return Failure.of(FailureCode.CONNECTION, result.detail, facts)
        if result.truncated:
            return Failure.of(FailureCode.RESOURCE_LIMIT, "the database has more columns than can be read")
        parts.append(result.rows)
    return parts


def _database_of(config: ConnectionConfig) -> str | None:
    """Return the database or project that an address names; None where none stands above the schemas."""
    engine = ENGINES[config.dialect]
    if not engine.has_databases_above_schemas or engine.is_file:
        return None
    url = config.parsed_url
    named = url.host if engine.has_database_as_host else (url.database or "").partition("/")[0]
    return named or None


def _tables(
    parts: Sequence[Sequence[Sequence[Scalar]]],
    known: Known,
    default_schema: str | None,
    tables_allowed: Sequence[str] | None,
) -> list[Table]:
    allowed = None if tables_allowed is None else {table.casefold() for table in tables_allowed}
    columns: defaultdict[_Place, list[Column]] = defaultdict(list)
    for schema, table, name, type_text, nullable, comment in parts[1]:
        columns[str(schema), str(table)].append(
            Column(
                name=str(name),
                type=str(type_text or ""),
                kind=kind_of_type(str(type_text or "")),
                nullable=bool(nullable),
                comment=str(comment or ""),
                display_names=known.names_of(str(table), str(name)),
                synonyms=known.synonyms_of(str(table), str(name)),
            )
        )
    keys: defaultdict[_Place, dict[tuple[str, str], list[str]]] = defaultdict(dict)
    for schema, table, key, sort, column in parts[2]:
        keys[str(schema), str(table)].setdefault((str(sort), str(key)), []).append(str(column))
    made: list[Table] = []
    for schema, table, kind, comment, rows in parts[0]:
        place = str(schema), str(table)
        is_listed = allowed is None or not allowed.isdisjoint({place[1].casefold(), ".".join(place).casefold()})
        if not is_listed or place not in columns:
            continue
        own = keys[place]
        primary = next((tuple(names) for (sort, _), names in own.items() if sort == "p"), ())
        unique = {tuple(names) for (sort, _), names in own.items() if sort == "u"}
        made.append(
            Table(
                name=place[1],
                schema_name=None if place[0] == default_schema else place[0],
                kind="view" if kind == "view" else "table",
                columns=known.marked(place[1], columns[place]),
                primary_key=primary,
                unique_keys=tuple(sorted(unique - {primary})),
                comment=str(comment or ""),
                display_names=known.names_of(place[1]),
                synonyms=known.synonyms_of(place[1]),
                row_estimate=rows if isinstance(rows, int) and rows >= 0 else None,
            )
        )
    made.sort(key=lambda table: (table.schema_name is not None, table.schema_name or "", table.kind, table.name))
    return _with_keys(made, parts[3], default_schema)


def _with_keys(tables: list[Table], rows: Sequence[Sequence[Scalar]], default_schema: str | None) -> list[Table]:
    by_place = {(table.schema_name or default_schema or "", table.name): table for table in tables}
    result: defaultdict[_Place, dict[tuple[str, str, str], list[tuple[str, str]]]] = defaultdict(dict)
    for schema, table, key, column, referred_schema, referred_table, referred_column in rows:
        target = str(key), str(referred_schema), str(referred_table)
        result[str(schema), str(table)].setdefault(target, []).append((str(column), str(referred_column)))
    finished: list[Table] = []
    for (schema, name), table in by_place.items():
        made: set[tuple[tuple[str, ...], str, tuple[str, ...], str | None]] = set()
        for (_, referred_schema, referred_table), pairs in result[schema, name].items():
            referred = by_place.get((referred_schema, referred_table))
            if referred is not None and all(table.column(own) and referred.column(other) for own, other in pairs):
                own_columns, others = zip(*pairs, strict=True)
                made.add((own_columns, referred.name, others, referred.schema_name))
        made_keys = tuple(
            ForeignKey(columns=own, referred_table=other, referred_columns=others, referred_schema=where)
            for own, other, others, where in sorted(made, key=lambda item: item[:3])
        )
        finished.append(table.model_copy(update={"foreign_keys": made_keys}))
    return finished


def _filled(
    tables: Sequence[Table], counted: Sequence[int | None], found: Found, profiles: Found, known: Known
) -> list[Table]:
    """Return the tables with numbers of rows, values and profiles."""
    filled: list[Table] = []
    for number, (table, rows) in enumerate(zip(tables, counted, strict=True)):
        scanned_all = rows is not None and rows <= ROWS_SAMPLED_MAX
        columns = tuple(
            _with_values(table, column, found.get((number, column.name), ()), rows if scanned_all else None, known)
            if column.kind is ColumnKind.TEXT and known.wants_values(table, column)
            else column
            for column in table.columns
        )
        columns = tuple(
            column if column.personal else profiled(column, profiles.get((number, column.name), ()))
            for column in columns
        )
        if rows is None:
            filled.append(table.model_copy(update={"columns": columns}))
        else:
            estimate = rows if scanned_all else max(table.row_estimate or 0, rows)
            filled.append(table.model_copy(update={"columns": columns, "row_estimate": estimate}))
    return filled


def _with_values(table: Table, column: Column, found: Answer, rows: int | None, known: Known) -> Column:
    if not column.personal and rows == 0:
        return column.model_copy(update={"values_complete": True, "distinct_count": 0})
    if not found:
        return column
    column = known.judged(table, column, [str(value or "") for value, _, _ in found])
    distinct = int(found[0][2] or 0)
    if column.personal:
        return column.model_copy(update={"distinct_count": distinct if rows is not None else None})
    few = distinct <= COLUMN_VALUES_MAX
    # Of a column with more values than are kept only the ones that recur say anything about the next question.
    kept = tuple(
        value
        for value, count, _ in found
        if isinstance(value, str) and len(value) <= VALUE_LENGTH_MAX and (few or int(count or 0) > 1)
    )
    return column.model_copy(
        update={
            "values": kept,
            "values_complete": rows is not None and few and len(kept) == distinct,
            "distinct_count": distinct if rows is not None else None,
        }
    )


def _place(table: Table, default_schema: str | None, queries: CatalogQueries) -> str:
    schema = table.schema_name or default_schema
    name = quoted(table.name, queries)
    return name if schema is None else f"{quoted(schema, queries)}.{name}"


DUCKDB: Final = CatalogQueries(
    tables="""SELECT schema_name, table_name, 'table', comment, estimated_size FROM duckdb_tables()
        WHERE database_name = current_database() AND NOT internal
        UNION ALL SELECT schema_name, view_name, 'view', comment, NULL FROM duckdb_views()
        WHERE database_name = current_database() AND NOT internal""",
    columns="""SELECT schema_name, table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns()
        WHERE database_name = current_database() AND NOT internal ORDER BY schema_name, table_name, column_index""",
    keys="""SELECT schema_name, table_name, constraint_index, if(constraint_type = 'PRIMARY KEY', 'p', 'u'),
        unnest(constraint_column_names) FROM duckdb_constraints() WHERE database_name = current_database()
        AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')""",
    foreign="""SELECT schema_name, table_name, constraint_index, unnest(constraint_column_names), schema_name,
        referenced_table, unnest(referenced_column_names) FROM duckdb_constraints()
        WHERE database_name = current_database() AND constraint_type = 'FOREIGN KEY'""",
    text="VARCHAR",
    estimates_are_bounds=True,
)

POSTGRESQL: Final = CatalogQueries(
    tables="""SELECT n.nspname::text, c.relname::text, CASE WHEN c.relkind IN ('v', 'm', 'f') THEN 'view' ELSE 'table' END,
        obj_description(c.oid, 'pg_class'), CASE WHEN c.reltuples < 0 THEN NULL ELSE c.reltuples::bigint END
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND c.relpersistence <> 't'
        AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
        AND has_schema_privilege(n.oid, 'USAGE')
        AND (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'))""",
    columns="""SELECT n.nspname::text, c.relname::text, a.attname::text,
        CASE t.typtype WHEN 'e' THEN 'enum ' || format_type(a.atttypid, a.atttypmod)
        WHEN 'd' THEN format_type(t.typbasetype, t.typtypmod) ELSE format_type(a.atttypid, a.atttypmod) END,
        NOT a.attnotnull, col_description(c.oid, a.attnum)
        FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
        AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
        AND has_column_privilege(c.oid, a.attnum, 'SELECT') ORDER BY n.nspname, c.relname, a.attnum""",
    keys="""SELECT n.nspname::text, c.relname::text, i.indexrelid::text,
        CASE WHEN i.indisprimary THEN 'p' ELSE 'u' END, a.attname::text
        FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
        WHERE i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL AND k.place <= i.indnkeyatts
        AND NOT c.relispartition AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
        ORDER BY i.indexrelid, k.place""",
    foreign="""SELECT n.nspname::text, c.relname::text, k.oid::text, a.attname::text, rn.nspname::text,
        rc.relname::text, ra.attname::text FROM pg_catalog.pg_constraint k
        JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_catalog.pg_class rc ON rc.oid = k.confrelid JOIN pg_catalog.pg_namespace rn ON rn.oid = rc.relnamespace
        CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY AS p(own, other, place)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = p.own
        JOIN pg_catalog.pg_attribute ra ON ra.attrelid = rc.oid AND ra.attnum = p.other
        WHERE k.contype = 'f' AND NOT c.relispartition ORDER BY k.oid, p.place""",
)

MYSQL: Final = CatalogQueries(
    tables="""SELECT table_schema, table_name, IF(engine IN ('InnoDB', 'MyISAM', 'Aria', 'MEMORY', 'ARCHIVE', 'CSV',
        'ROCKSDB', 'TokuDB', 'Columnstore', 'ndbcluster'), 'table', 'view'),
        IF(table_type LIKE '%VIEW', '', table_comment), table_rows FROM information_schema.tables
        WHERE table_schema = DATABASE()""",
    columns="""SELECT table_schema, table_name, column_name, column_type, is_nullable = 'YES', column_comment
        FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position""",
    keys="""SELECT table_schema, table_name, index_name, IF(index_name = 'PRIMARY', 'p', 'u'), column_name
        FROM information_schema.statistics WHERE table_schema = DATABASE() AND non_unique = 0
        ORDER BY table_name, index_name, seq_in_index""",
    foreign="""SELECT table_schema, table_name, constraint_name, column_name, referenced_table_schema,
        referenced_table_name, referenced_column_name FROM information_schema.key_column_usage
        WHERE table_schema = DATABASE() AND referenced_table_name IS NOT NULL
        ORDER BY table_name, constraint_name, ordinal_position""",
    quote="`",
    text="CHAR",
)

"""A table is what an engine stores itself: MERGE, FEDERATED and their kind show rows of other tables, as views do."""

CLICKHOUSE: Final = CatalogQueries(
    tables="""SELECT database, name, if(engine LIKE '%MergeTree'
        OR engine IN ('Memory', 'Log', 'TinyLog', 'StripeLog', 'EmbeddedRocksDB'), 'table', 'view'), comment,
        total_rows FROM system.tables
        WHERE database = currentDatabase() AND NOT is_temporary AND name NOT LIKE '.inner%'""",
    columns="""SELECT database, table, name, type, type LIKE 'Nullable%' OR type LIKE 'LowCardinality(Nullable%',
        comment FROM system.columns WHERE database = currentDatabase() ORDER BY table, position""",
    keys="""SELECT database, table, 'primary', 'p', name FROM system.columns WHERE 0""",
    foreign="""SELECT database, table, name, name, database, table, name FROM system.columns WHERE 0""",
    quote="`",
    text="Nullable(String)",
)
"""A ClickHouse key orders rows and does not make them unique, so no column is called a key."""

ORACLE: Final = CatalogQueries(
    tables="""SELECT o.owner, o.object_name, LOWER(o.object_type), c.comments, t.num_rows FROM all_objects o
        LEFT JOIN all_tables t ON t.owner = o.owner AND t.table_name = o.object_name
        LEFT JOIN all_tab_comments c ON c.owner = o.owner AND c.table_name = o.object_name
        WHERE o.object_type IN ('TABLE', 'VIEW') AND o.owner = SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA')""",
    columns="""SELECT c.owner, c.table_name, c.column_name, c.data_type || CASE
        WHEN c.data_type = 'NUMBER' AND c.data_precision IS NOT NULL
        THEN '(' || c.data_precision || ',' || c.data_scale || ')' ELSE '' END,
        CASE c.nullable WHEN 'Y' THEN 1 ELSE 0 END, m.comments FROM all_tab_columns c LEFT JOIN all_col_comments m
        ON m.owner = c.owner AND m.table_name = c.table_name AND m.column_name = c.column_name
        WHERE c.owner = SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') ORDER BY c.table_name, c.column_id""",
    keys="""SELECT k.owner, k.table_name, k.constraint_name, LOWER(k.constraint_type), c.column_name
        FROM all_constraints k JOIN all_cons_columns c ON c.owner = k.owner AND c.constraint_name = k.constraint_name
        WHERE k.owner = SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') AND k.constraint_type IN ('P', 'U')
        ORDER BY k.constraint_name, c.position""",
    foreign="""SELECT k.owner, k.table_name, k.constraint_name, c.column_name, r.owner, r.table_name, r.column_name
        FROM all_constraints k JOIN all_cons_columns c ON c.owner = k.owner AND c.constraint_name = k.constraint_name
        JOIN all_cons_columns r ON r.owner = k.r_owner AND r.constraint_name = k.r_constraint_name
        AND r.position = c.position WHERE k.owner = SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA')
        AND k.constraint_type = 'R' ORDER BY k.constraint_name, c.position""",
    text="VARCHAR2(4000)",
    limit="FETCH FIRST {} ROWS ONLY",
    alias=" ",
)

SNOWFLAKE: Final = CatalogQueries(
    tables="""SELECT table_schema, table_name, IFF(table_type LIKE '%VIEW', 'view', 'table'), comment, row_count
        FROM information_schema.tables WHERE table_schema = CURRENT_SCHEMA()""",
    columns="""SELECT table_schema, table_name, column_name, data_type, is_nullable = 'YES', comment
        FROM information_schema.columns WHERE table_schema = CURRENT_SCHEMA() ORDER BY table_name, ordinal_position""",
    keys="""SELECT table_schema, table_name, table_name, 'p', table_name FROM information_schema.tables WHERE 1 = 0""",
    foreign="""SELECT table_schema, table_name, table_name, table_name, table_schema, table_name, table_name
        FROM information_schema.tables WHERE 1 = 0""",
    text="VARCHAR",
)
"""Snowflake gives the columns of its keys by SHOW only, and does not enforce them: none is claimed."""

BIGQUERY: Final = CatalogQueries(
    tables="""SELECT table_schema, table_name, IF(table_type LIKE '%VIEW', 'view', 'table'), '', NULL
        FROM INFORMATION_SCHEMA.TABLES""",
    columns="""SELECT c.table_schema, c.table_name, c.column_name, c.data_type, c.is_nullable = 'YES', p.description
        FROM INFORMATION_SCHEMA.COLUMNS c LEFT JOIN INFORMATION_SCHEMA.COLUMN_FIELD_PATHS p
        ON p.table_name = c.table_name AND p.field_path = c.column_name ORDER BY c.table_name, c.ordinal_position""",
    keys="""SELECT k.table_schema, k.table_name, k.constraint_name, 'p', k.column_name
        FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE k JOIN INFORMATION_SCHEMA.TABLE_CONSTRAINTS c
        ON c.constraint_name = k.constraint_name WHERE c.constraint_type = 'PRIMARY KEY'
        ORDER BY k.constraint_name, k.ordinal_position""",
    foreign="""SELECT k.table_schema, k.table_name, k.constraint_name, k.column_name, u.table_schema, u.table_name,
        u.column_name FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE k JOIN INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE u
        ON u.constraint_name = k.constraint_name JOIN INFORMATION_SCHEMA.TABLE_CONSTRAINTS c
        ON c.constraint_name = k.constraint_name WHERE c.constraint_type = 'FOREIGN KEY'
        ORDER BY k.constraint_name, k.ordinal_position""",
    quote="`",
    text="STRING",
    values=False,
)
"""Looking at values costs money there, so none is looked at."""
