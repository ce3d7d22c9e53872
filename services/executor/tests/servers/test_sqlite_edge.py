"""The SQLite edge with no guard before it: every proven attack fails, every statement ends, nothing leaks."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from querybus.core.catalog import ColumnKind
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy
from querybus_executor.engines.sqlite.edge import sqlite_children, sqlite_edge
from querybus_executor.ports import Estimate, Purpose, Rows
from querybus_executor.workers.embedded import Embedded
from querybus_executor.workers.pool import Children
from tests.support.engine_evidence import ON_SQLITE

pytestmark = ON_SQLITE

ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"
BOMB = "SELECT printf('%.*c', 1000000000, 'x')"
"""One call of one function: SQLite looks at neither interrupts nor its progress handler while it runs."""

SCRIPT = """
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, NULL);
CREATE TABLE secret (s TEXT, open TEXT);
INSERT INTO secret VALUES ('top', 'shown');
CREATE VIEW shown AS SELECT open FROM secret;
CREATE VIEW twice AS SELECT open FROM shown;
CREATE TABLE numbers (n INTEGER);
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 30000) INSERT INTO numbers SELECT n FROM r;
"""


@pytest.fixture
async def children() -> AsyncIterator[Children]:
    pool = sqlite_children(size=2, reserved=1)
    yield pool
    await pool.drain()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCRIPT)
    return path


@pytest.fixture
def edge(children: Children, file: Path) -> Embedded:
    return sqlite_edge(children, file, ConnectionPolicy())


async def run(edge: Embedded, sql: str, *, rows_max: int = 100, seconds_max: float = 60.0) -> Rows | Failure:
    return await edge.run(sql, rows_max=rows_max, seconds_max=seconds_max, purpose=Purpose.EXECUTE)


async def rows(edge: Embedded, sql: str) -> list[list[object]]:
    result = await run(edge, sql)
    assert isinstance(result, Rows), result
    return [list(row) for row in result.rows]


async def code(edge: Embedded, sql: str) -> FailureCode | None:
    result = await run(edge, sql)
    return result.code if isinstance(result, Failure) else None


@pytest.mark.parametrize(
    "attack",
    [
        "ATTACH '{folder}/other.sqlite' AS o",
        "ATTACH 'file:{folder}/other.sqlite?mode=rwc' AS o",
        "VACUUM INTO '{folder}/copy.sqlite'",
        "VACUUM",
        "DETACH main",
        "PRAGMA query_only=OFF",
        "PRAGMA trusted_schema=ON",
        "PRAGMA writable_schema=ON",
        "PRAGMA hard_heap_limit=0",
        "PRAGMA table_info(t)",
        "SELECT * FROM pragma_table_info('t')",
        "SELECT * FROM pragma_database_list",
        "SELECT sql FROM sqlite_schema",
        "SELECT sql FROM sqlite_master",
        "SELECT count(*) FROM sqlite_master",
        "CREATE TEMP TABLE x (a)",
        "CREATE TABLE x (a)",
        "CREATE VIRTUAL TABLE x USING fts5(a)",
        "CREATE TEMP VIEW x AS SELECT 1",
        "CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM t; END",
        "INSERT INTO t VALUES (9, 'z')",
        "UPDATE t SET a = 9 RETURNING a",
        "DELETE FROM t RETURNING a",
        "WITH x AS (SELECT 1) DELETE FROM t",
        "REPLACE INTO t VALUES (9, 'z')",
        "DROP TABLE t",
        "ALTER TABLE t RENAME TO u",
        "REINDEX",
        "ANALYZE",
        "BEGIN IMMEDIATE",
        "SAVEPOINT s",
        "COMMIT",
        "SELECT load_extension('{folder}/x.so')",
        "SELECT readfile('/etc/passwd')",
        "SELECT writefile('{folder}/w', 'x')",
        "SELECT edit('x')",
        "SELECT fts3_tokenizer('simple')",
        "EXPLAIN DELETE FROM t",
        "SELECT 1; DELETE FROM t",
    ],
)
@pytest.mark.requirement("002.59")
async def test_an_attack_that_passed_every_guard_changes_nothing(attack: str, edge: Embedded, file: Path) -> None:
    before = file.read_bytes()
    result = await run(edge, attack.format(folder=file.parent))
    assert isinstance(result, Failure), result
    assert result.code in (FailureCode.PERMISSION, FailureCode.FUNCTION_NOT_FOUND, FailureCode.MULTI_STATEMENT), result
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    assert await rows(edge, "SELECT count(*) FROM t") == [[3]]


async def test_only_the_tables_of_the_policy_are_read(children: Children, file: Path) -> None:
    edge = sqlite_edge(children, file, ConnectionPolicy(tables_allowed=("t", "Shown", "twice")))
    assert await rows(edge, "SELECT count(*) FROM T") == [[3]]
    assert await rows(edge, "SELECT * FROM shown") == [["shown"]]
    assert await rows(edge, "SELECT * FROM twice") == [["shown"]]
    assert await rows(edge, "WITH x AS (SELECT a FROM t) SELECT count(*) FROM x") == [[3]]
    for sql in (
        "SELECT * FROM secret",
        "SELECT count(*) FROM secret",
        "SELECT 1 FROM t, secret",
        "SELECT (SELECT max(s) FROM secret)",
        "SELECT * FROM t WHERE b IN (SELECT s FROM secret)",
        # SQLite says the authorizer a WITH table's name as if it were a view's.
        "WITH shown AS (SELECT s FROM secret) SELECT * FROM shown",
        "SELECT * FROM (WITH twice AS (SELECT * FROM secret) SELECT count(*) FROM twice)",
        "SELECT * FROM shown, (SELECT s FROM secret) AS twice",
    ):
        assert await code(edge, sql) is FailureCode.PERMISSION, sql


async def test_a_denied_column_is_read_by_no_way_round(children: Children, file: Path) -> None:
    edge = sqlite_edge(children, file, ConnectionPolicy(columns_denied={"Secret": ("S",)}))
    assert await rows(edge, "SELECT open FROM secret") == [["shown"]]
    assert await rows(edge, "SELECT count(*) FROM secret") == [[1]]
    for sql in ("SELECT * FROM secret", "SELECT 1 FROM secret WHERE s > 'a'", "SELECT open FROM secret ORDER BY s"):
        assert await code(edge, sql) is FailureCode.PERMISSION, sql


async def test_table_valued_json_works_although_the_authorizer_would_refuse_to_make_it(edge: Embedded) -> None:
    assert await rows(edge, "SELECT value FROM json_each('[1, 2]')") == [[1], [2]]
    assert await rows(edge, """SELECT key FROM json_tree('{"a": 1}') WHERE key IS NOT NULL""") == [["a"]]


async def test_a_function_that_cannot_be_interrupted_dies_with_its_process(children: Children, edge: Embedded) -> None:
    await run(edge, "SELECT 1")
    before = set(children.pids)
    result = await run(edge, BOMB, seconds_max=0.1)
    assert isinstance(result, Failure)
    assert result.code is FailureCode.TIMEOUT
    while before & set(children.pids):
        await asyncio.sleep(0.01)
    assert await rows(edge, "SELECT count(*) FROM t") == [[3]]
    await asyncio.sleep(0.4)
    assert children.open <= 3


@pytest.mark.parametrize(
    "sql",
    [
        ENDLESS,
        "SELECT count(*) FROM numbers a, numbers b, numbers c",
        "SELECT a.n FROM numbers a, numbers b ORDER BY a.n * b.n DESC LIMIT 1",
    ],
)
@pytest.mark.requirement("002.60")
async def test_an_endless_statement_is_cut_at_its_limit(sql: str, edge: Embedded) -> None:
    result = await run(edge, sql, seconds_max=0.3)
    assert isinstance(result, Failure)
    assert result.code in (FailureCode.TIMEOUT, FailureCode.RESOURCE_LIMIT)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT zeroblob(50000000)", FailureCode.RESOURCE_LIMIT),
        ("SELECT hex(randomblob(9000000))", FailureCode.RESOURCE_LIMIT),
        ("SELECT replace(printf('%.*c', 9000000, 'x'), 'x', 'xx')", FailureCode.RESOURCE_LIMIT),
        ("SELECT b LIKE '" + "%a" * 2_000 + "' FROM t", FailureCode.TOO_COMPLEX),
        ("SELECT " + "+".join(["1"] * 2_000), FailureCode.TOO_COMPLEX),
        (" UNION ALL ".join(["SELECT 1"] * 400), FailureCode.TOO_COMPLEX),
    ],
)
async def test_sizes_have_limits(sql: str, expected: FailureCode, edge: Embedded) -> None:
    assert await code(edge, sql) is expected


@pytest.mark.parametrize("sql", [ENDLESS, BOMB])
async def test_a_cancelled_statement_ends_long_before_its_limit(sql: str, children: Children, edge: Embedded) -> None:
    await run(edge, "SELECT 1")
    task = asyncio.create_task(run(edge, sql, seconds_max=3_600))
    while children.idle == children.open:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    while children.idle < children.open:
        await asyncio.sleep(0.01)
    assert await rows(edge, "SELECT count(*) FROM t") == [[3]]


async def test_a_killed_process_is_replaced(children: Children, edge: Embedded) -> None:
    task = asyncio.create_task(run(edge, ENDLESS))
    await asyncio.sleep(0.2)
    for pid in children.pids:
        os.kill(pid, 9)
    result = await task
    assert isinstance(result, Failure)
    assert result.code is FailureCode.RESOURCE_LIMIT
    assert await rows(edge, "SELECT count(*) FROM t") == [[3]]


@pytest.mark.requirement("002.67")
async def test_200_statements_at_once_share_two_processes(children: Children, edge: Embedded) -> None:
    result = await asyncio.gather(*(rows(edge, f"SELECT {n}, count(*) FROM t") for n in range(200)))
    assert result == [[[n, 3]] for n in range(200)]
    assert children.open == 2


async def test_a_process_stays_until_it_has_grown(children: Children, edge: Embedded) -> None:
    await run(edge, "SELECT 1")
    first = children.pids
    for _ in range(20):
        await run(edge, "SELECT count(*) FROM t")
    assert children.pids == first
    sort = "SELECT max(length(x)) FROM (SELECT printf('%.*c', 5000, 'x') || n AS x FROM numbers ORDER BY x)"
    assert isinstance(await run(edge, sql=sort), Rows)
    while children.idle < children.open:
        await asyncio.sleep(0.01)
    await run(edge, "SELECT 1")
    assert children.pids != first


async def test_an_explain_looks_names_up_and_runs_nothing(edge: Embedded) -> None:
    assert await edge.explain(BOMB, seconds_max=60) == Estimate()
    result = await edge.explain("SELECT nope FROM t", seconds_max=60)
    assert isinstance(result, Failure)
    assert (result.code, result.facts.name) == (FailureCode.COLUMN_NOT_FOUND, "nope")


@pytest.mark.requirement("002.26")
async def test_values_keep_their_type(edge: Embedded) -> None:
    sql = """SELECT 9223372036854775807 AS i, -0.1 AS f, 'é中''"' AS t, x'00ff' AS b, NULL AS n, 9e999 AS inf,
             -9e999 AS ninf, 9e999 - 9e999 AS nan, CAST(x'ff41' AS TEXT) AS bad, '2026-01-31' AS d, '' AS e"""
    result = await run(edge, sql)
    assert isinstance(result, Rows)
    assert list(result.rows[0]) == [
        9223372036854775807, -0.1, "é中'\"", "00ff", None, "Infinity", "-Infinity", None, "\ufffdA", "2026-01-31", "",
    ]  # fmt: skip
    kinds = {column.name: column.kind for column in result.columns}
    assert (kinds["i"], kinds["f"], kinds["d"], kinds["n"]) == (
        ColumnKind.INTEGER,
        ColumnKind.NUMBER,
        ColumnKind.DATE,
        ColumnKind.OTHER,
    )


@pytest.mark.parametrize(
    ("sql", "expected", "name", "qualifier"),
    [
        ("SELEC 1", FailureCode.SYNTAX_ERROR, None, None),
        ("SELECT (", FailureCode.SYNTAX_ERROR, None, None),
        ("SELECT 'a", FailureCode.SYNTAX_ERROR, None, None),
        ("SELECT a, b FROM t UNION SELECT a FROM t", FailureCode.SYNTAX_ERROR, None, None),
        ("SELECT * FROM nosuch", FailureCode.TABLE_NOT_FOUND, "nosuch", None),
        ("SELECT * FROM other.t", FailureCode.TABLE_NOT_FOUND, "t", "other"),
        ("SELECT nope FROM t", FailureCode.COLUMN_NOT_FOUND, "nope", None),
        ("SELECT x.nope FROM t AS x", FailureCode.COLUMN_NOT_FOUND, "nope", "x"),
        ("SELECT z.a FROM t", FailureCode.MISSING_ALIAS, "a", "z"),
        ("SELECT a FROM t x, t y", FailureCode.AMBIGUOUS_COLUMN, "a", None),
        ("SELECT nofunction(a) FROM t", FailureCode.FUNCTION_NOT_FOUND, "nofunction", None),
        ("SELECT abs(a, 2) FROM t", FailureCode.FUNCTION_NOT_FOUND, "abs", None),
        ("SELECT a FROM t WHERE sum(a) > 1", FailureCode.AGGREGATE_MISUSE, "sum", None),
        ("SELECT sum(max(a)) FROM t", FailureCode.AGGREGATE_MISUSE, "max", None),
        ("SELECT a FROM t WHERE row_number() OVER () = 1", FailureCode.AGGREGATE_MISUSE, "row_number", None),
        ("SELECT a FROM t GROUP BY max(a)", FailureCode.GROUPING_ERROR, None, None),
        ("SELECT a FROM t ORDER BY 5", FailureCode.GROUPING_ERROR, None, None),
        ("SELECT * FROM t JOIN numbers USING (a)", FailureCode.JOIN_ERROR, "a", None),
        ("SELECT a FROM t WHERE a = (SELECT a, b FROM t)", FailureCode.TYPE_MISMATCH, None, None),
        ("SELECT abs(-9223372036854775808)", FailureCode.NUMBER_TOO_LARGE, None, None),
        ("SELECT json_extract('{', '$')", FailureCode.TYPE_MISMATCH, None, None),
    ],
)
@pytest.mark.requirement("002.26", "003.16")
async def test_an_error_has_its_code_and_the_name_it_is_about(
    sql: str, expected: FailureCode, name: str | None, qualifier: str | None, edge: Embedded
) -> None:
    result = await run(edge, sql)
    assert isinstance(result, Failure), result
    assert (result.code, result.facts.name, result.facts.qualifier) == (expected, name, qualifier), result.detail


async def test_a_database_that_is_missing_none_or_locked_says_which_without_its_path(
    children: Children, tmp_path: Path
) -> None:
    (tmp_path / "text.sqlite").write_text("only text" * 500)
    (tmp_path / "folder.sqlite").mkdir()
    locked = tmp_path / "locked.sqlite"
    with closing(sqlite3.connect(locked, isolation_level=None)) as writer:
        writer.executescript(SCRIPT)
        writer.execute("BEGIN EXCLUSIVE")
        for name, expected, words in (
            ("missing.sqlite", FailureCode.CONNECTION, "missing or cannot be opened"),
            ("folder.sqlite", FailureCode.CONNECTION, "cannot be read"),
            ("text.sqlite", FailureCode.CONNECTION, "not a database"),
            ("locked.sqlite", FailureCode.LOCK, "locked by another program"),
        ):
            result = await run(sqlite_edge(children, tmp_path / name, ConnectionPolicy()), "SELECT count(*) FROM t")
            assert isinstance(result, Failure)
            assert result.code is expected
            assert words in result.detail
            assert str(tmp_path) not in result.detail
    assert not (tmp_path / "missing.sqlite").exists()
    assert await rows(sqlite_edge(children, locked, ConnectionPolicy()), "SELECT count(*) FROM t") == [[3]]


async def test_a_replaced_file_and_a_changed_schema_are_seen(edge: Embedded, file: Path, tmp_path: Path) -> None:
    assert await rows(edge, "SELECT count(*) FROM t") == [[3]]
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE later (x)")
        database.commit()
    assert await rows(edge, "SELECT count(*) FROM later") == [[0]]
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as database:
        database.executescript("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    other.replace(file)
    assert await rows(edge, "SELECT count(*) FROM t") == [[1]]


async def test_a_process_knows_nothing_of_our_environment(children: Children, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUERYBUS_NATS_PASSWORD", "secret")
    async with children.child() as first, children.child() as second:
        for item in (first, second):
            environment = Path(f"/proc/{item.pid}/environ")
            if environment.exists():
                assert b"QUERYBUS" not in environment.read_bytes()


VIRTUAL = """
CREATE VIRTUAL TABLE docs USING fts5(title, body);
INSERT INTO docs VALUES ('fox', 'a red fox runs'), ('hen', 'the hen sits');
CREATE VIRTUAL TABLE notes USING fts4(subject, words);
INSERT INTO notes VALUES ('tea', 'green tea leaves'), ('bun', 'a warm bun');
CREATE TABLE posts (id INTEGER PRIMARY KEY, text TEXT);
INSERT INTO posts VALUES (1, 'sun over hills'), (2, 'rain');
CREATE VIRTUAL TABLE posts_index USING fts5(text, content='posts', content_rowid='id');
INSERT INTO posts_index(posts_index) VALUES ('rebuild');
CREATE VIRTUAL TABLE areas USING rtree(id, min_x, max_x, min_y, max_y);
INSERT INTO areas VALUES (1, 0, 2, 0, 2), (2, 5, 6, 5, 6);
CREATE VIRTUAL TABLE words USING fts5vocab(docs, row);
"""


@pytest.fixture
def virtual(file: Path) -> Path:
    with closing(sqlite3.connect(file)) as database:
        database.executescript(VIRTUAL)
    return file


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT COUNT(*) FROM docs", [[2]]),
        ("SELECT title FROM docs WHERE docs MATCH 'fox'", [["fox"]]),
        ("SELECT title FROM docs WHERE body MATCH 'sits'", [["hen"]]),
        ("SELECT title FROM docs('red') ORDER BY rank", [["fox"]]),
        (
            "SELECT highlight(docs, 1, '[', ']') FROM docs WHERE docs MATCH 'hen' ORDER BY bm25(docs)",
            [["the [hen] sits"]],
        ),
        ("SELECT subject FROM notes WHERE notes MATCH 'tea'", [["tea"]]),
        ("SELECT snippet(notes, '[', ']') FROM notes WHERE words MATCH 'bun'", [["a warm [bun]"]]),
        ("SELECT text FROM posts_index WHERE posts_index MATCH 'sun'", [["sun over hills"]]),
        ("SELECT p.id FROM posts AS p JOIN posts_index AS i ON i.rowid = p.id WHERE i.text MATCH 'rain'", [[2]]),
        ("SELECT id FROM areas WHERE min_x >= 5", [[2]]),
        ("SELECT COUNT(*) FROM areas AS a JOIN areas AS b ON a.max_x < b.min_x", [[1]]),
        ("SELECT d.title FROM docs AS d JOIN notes AS n ON n.rowid = d.rowid ORDER BY 1", [["fox"], ["hen"]]),
    ],
)
async def test_a_virtual_table_is_read(
    sql: str, expected: list[list[object]], children: Children, virtual: Path
) -> None:
    edge = sqlite_edge(children, virtual, ConnectionPolicy())
    assert await rows(edge, sql) == expected


async def test_a_virtual_table_of_the_policy_is_read_and_no_other(children: Children, virtual: Path) -> None:
    edge = sqlite_edge(children, virtual, ConnectionPolicy(tables_allowed=("docs", "posts_index")))
    assert await rows(edge, "SELECT title FROM docs WHERE docs MATCH 'fox'") == [["fox"]]
    assert await code(edge, "SELECT subject FROM notes") is not None
    assert await code(edge, "SELECT c0subject FROM notes_content") is FailureCode.PERMISSION
    assert await code(edge, "SELECT term FROM words") is not None
    # Its rows are those of a table that the policy does not list.
    assert await code(edge, "SELECT text FROM posts_index") is not None


async def test_a_virtual_table_with_a_denied_column_is_not_read(children: Children, virtual: Path) -> None:
    edge = sqlite_edge(children, virtual, ConnectionPolicy(columns_denied={"docs": ("body",)}))
    for sql in ("SELECT title FROM docs", "SELECT c1 FROM docs_content", "SELECT body FROM docs"):
        assert await code(edge, sql) is not None, sql
    assert await rows(edge, "SELECT subject FROM notes WHERE notes MATCH 'tea'") == [["tea"]]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(n) FROM (SELECT 9223372036854775807 AS n UNION ALL SELECT 1)",
        "SELECT abs(-9223372036854775807 - 1)",
    ],
)
async def test_a_number_beyond_64_bits_is_too_large_and_no_comparison(sql: str, edge: Embedded) -> None:
    assert await code(edge, sql) is FailureCode.NUMBER_TOO_LARGE
