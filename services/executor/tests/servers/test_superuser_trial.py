"""Claims on a trial with a superuser of PostgreSQL: nothing that READ ONLY lets through reaches it, and nothing is changed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from querybus.bus.stores.pages import Batch
from querybus.core.catalog import Dialect
from querybus.core.envelope import Attempt, Delivery, Envelope
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Approved, Origin, Outcome, PagesAddress
from querybus.core.options import Options
from querybus.core.subjects import EventName
from querybus.ops.metrics import Metrics
from querybus_executor.connections.config import parse_connections
from querybus_executor.connections.databases import Connected
from querybus_executor.engines.registry import Engines
from querybus_executor.execute import execute
from querybus_executor.guard_cache import Verdicts
from querybus_executor.ports import Purpose, Run
from tests.support.postgres_over_tcp import PostgresOverTcp, postgres_over_tcp

pytestmark = pytest.mark.servers
NOW = 1_700_000_000_000
ATTACKS = """
COPY (SELECT 1) TO PROGRAM 'touch {canary}'
COPY shop.orders FROM PROGRAM 'touch {canary}; echo'
COPY shop.orders TO '{canary}'
SELECT pg_read_file('{secret}')
SELECT pg_catalog.pg_read_file('{secret}')
SELECT * FROM pg_read_file('{secret}') AS t
SELECT id FROM shop.orders WHERE pg_read_file('{secret}') <> ''
SELECT id FROM shop.orders ORDER BY pg_read_file('{secret}')
SELECT convert_from(pg_read_binary_file('{secret}'), 'utf8')
SELECT * FROM pg_ls_dir('{folder}')
SELECT * FROM pg_ls_logdir()
SELECT size FROM pg_stat_file('{secret}')
SELECT lo_import('{secret}')
SELECT lo_from_bytea(0, '\\x41')
SELECT lo_export(lo_from_bytea(0, '\\x41'), '{canary}')
SELECT * FROM dblink('dbname=sales', 'DROP TABLE shop.orders') AS t(a int)
CREATE EXTENSION dblink
SELECT set_config('transaction_read_only', 'off', false)
SELECT set_config('default_transaction_read_only', 'off', false)
SET TRANSACTION READ WRITE
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE
ROLLBACK
SELECT pg_advisory_lock(1)
SELECT pg_try_advisory_lock(1)
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
SELECT pg_cancel_backend(1)
SELECT pg_reload_conf()
SELECT pg_rotate_logfile()
SELECT pg_switch_wal()
SELECT pg_create_restore_point('x')
SELECT pg_promote()
SELECT pg_log_backend_memory_contexts(1)
SELECT pg_stat_reset()
SELECT pg_logical_emit_message(false, 'a', 'b')
SELECT pg_create_physical_replication_slot('s')
SELECT pg_notify('a', 'b')
SELECT pg_sleep(60)
SELECT nextval('shop.counter')
SELECT setval('shop.counter', 99)
SELECT query_to_xml('SELECT pg_read_file(''{secret}'')', true, true, '')
SELECT database_to_xml(true, true, '')
SELECT * FROM ts_stat('SELECT to_tsvector(pg_read_file(''{secret}''))')
SELECT shop.wipe()
SELECT * FROM shop.wipe() AS t
SELECT rolpassword FROM pg_authid
SELECT passwd FROM pg_shadow
SELECT * FROM pg_hba_file_rules
SELECT setting FROM pg_settings
SELECT current_setting('data_directory')
SELECT query FROM pg_stat_activity
SELECT id INTO shop.copied FROM shop.orders
SELECT id FROM shop.orders FOR UPDATE
WITH gone AS (DELETE FROM shop.orders RETURNING id) SELECT id FROM gone
INSERT INTO shop.orders VALUES (1000)
UPDATE shop.orders SET amount = 0
TRUNCATE shop.orders
ALTER SYSTEM SET work_mem = '1MB'
ALTER ROLE boss PASSWORD 'x'
DO $$ BEGIN PERFORM shop.wipe(); END $$
CALL shop.wipe_all()
EXPLAIN ANALYZE DELETE FROM shop.orders
LISTEN a
LOCK TABLE shop.orders
VACUUM
SELECT 1; DROP TABLE shop.orders
PREPARE p AS SELECT 1
DECLARE c CURSOR FOR SELECT 1
SELECT CAST('shop.wipe()' AS regprocedure)
SELECT pg_import_system_collations('shop')
SELECT brin_summarize_new_values('shop.orders_pkey')
SELECT pg_export_snapshot()
SELECT txid_current()
SELECT inet_server_addr()
""".strip().splitlines()
CHANGES = [
    *(
        text
        for text in ATTACKS
        if text.split()[0] in ("INSERT", "UPDATE", "TRUNCATE", "CREATE", "WITH", "ALTER", "SET")
    ),
    "SELECT nextval('shop.counter')",
    "SELECT shop.wipe()",
    "SELECT set_config('transaction_read_only', 'off', false)",
]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresOverTcp]:
    with postgres_over_tcp() as running:
        running.execute(
            "CREATE SEQUENCE shop.counter; CREATE FUNCTION shop.wipe() RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS"
            " $$ BEGIN DELETE FROM shop.orders; RETURN 1; END $$;"
            " CREATE PROCEDURE shop.wipe_all() LANGUAGE sql AS $$ DELETE FROM shop.orders $$;"
        )
        yield running


class NoPages:
    """A store that takes no page."""

    first_rows = 100
    has_long_row = False

    def writer(self, _run: Run, _page_size: int) -> NoPages:
        return self

    async def __aenter__(self) -> NoPages:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def put(self, _batches: Sequence[Batch]) -> bool:
        return True

    async def kept(self) -> PagesAddress | None:
        return None


@pytest.fixture
async def databases(server: PostgresOverTcp) -> AsyncIterator[Connected]:
    engines = Engines(children=1, reserved=1)
    configs = parse_connections({"connections": [{"name": "sales", "url": server.url("boss")}]}, {})
    connected = Connected(engines.connected(configs, metrics=Metrics("test")))
    catalog = await connected.all[0].catalog()
    assert not isinstance(catalog, Failure), catalog
    assert "superuser" in connected.all[0].role.warning
    yield connected
    await engines.drain()


def state(server: PostgresOverTcp) -> str:
    return server.execute(
        "SELECT count(*), sum(amount) FROM shop.orders; SELECT last_value, is_called FROM shop.counter;"
        " SELECT count(*) FROM pg_largeobject_metadata; SELECT count(*) FROM pg_class WHERE relname = 'copied';"
        " SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'; SELECT count(*) FROM pg_extension;"
        " SELECT count(*) FROM pg_replication_slots; SELECT current_setting('work_mem')"
    )


def approved(sql: str) -> Envelope[Approved]:
    return Envelope[Approved](
        event=EventName.APPROVED, query_id="q1", thread_id="t1", tenant="default", user="ann", audience="analyst",
        connection="sales", question="?", language="en", options=Options(), asked_at=NOW, deadline_at=NOW + 20_000,
        attempts=(Attempt(origin=Origin.MODEL, sql=sql, validated=True),),
        body=Approved(
            sql=sql, dialect=Dialect.POSTGRESQL, origin=Origin.MODEL, tables=("orders",), row_limit=10, checked=("static",)
        ),
    )  # fmt: skip


async def executed(sql: str, databases: Connected) -> Any:
    delivery = Delivery(sequence=1, deliveries=1, now_ms=NOW)
    pages: Any = NoPages()
    return await execute(approved(sql), delivery, databases=databases, pages=pages, verdicts=Verdicts())


async def test_a_harmless_question_is_answered_as_a_superuser(databases: Connected) -> None:
    result = await executed('SELECT COUNT(*) AS n FROM shop."orders" LIMIT 11', databases)
    assert not isinstance(result, Failure), result
    assert (result.body.outcome, result.body.result.rows) == (Outcome.ANSWERED, ((90,),))


async def test_no_power_of_a_superuser_passes_the_executor(
    server: PostgresOverTcp, databases: Connected, tmp_path: Path
) -> None:
    secret, canary = server.folder / "secret.txt", server.folder / "data" / "canary"
    secret.write_text("a secret of the server")
    secret.chmod(0o644)
    # As the superuser itself, without QueryBus, the file is read: the attack would work.
    assert "a secret of the server" in server.execute(f"SELECT pg_read_file('{secret}')")
    before = state(server)
    for attack in ATTACKS:
        sql = attack.format(canary=canary, secret=secret, folder=server.folder)
        result = await executed(sql, databases)
        assert isinstance(result, Failure), sql
        assert result.code is not FailureCode.INTERNAL, (sql, result)
        assert "a secret of the server" not in str(result)
    assert not canary.exists()
    assert state(server) == before
    assert (await executed('SELECT COUNT(*) AS n FROM shop."orders" LIMIT 11', databases)).body.result.rows == ((90,),)


@pytest.mark.parametrize("attack", CHANGES)
async def test_the_session_itself_changes_nothing_where_the_guard_is_bypassed(
    server: PostgresOverTcp, databases: Connected, attack: str
) -> None:
    before = state(server)
    sql = attack.format(canary="x", secret="x", folder="x")
    await databases.all[0].run(sql, rows_max=5, seconds_max=5, purpose=Purpose.EXECUTE)
    follow = "INSERT INTO shop.orders VALUES (2000) RETURNING id"
    assert isinstance(await databases.all[0].run(follow, rows_max=5, seconds_max=5, purpose=Purpose.EXECUTE), Failure)
    assert state(server) == before
