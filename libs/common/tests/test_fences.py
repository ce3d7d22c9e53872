"""Claims on how a policy is written into a statement: a mask hides no column from its own filter, a fence stands wherever it must.

Properties over drawn masks, filters, conditions and shapes, in every dialect.
"""

from __future__ import annotations

from hypothesis import given, seed, settings
from hypothesis import strategies as st
from sqlglot import exp

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy, Reader
from querybus.engines import ENGINES
from querybus.sql.check import Checked, check, guard
from querybus.sql.parse import parse
from querybus.sql.row_security import FENCE_ROWS

READER = Reader("acme", "ann")
COLUMNS = {
    "id": ("INTEGER", ColumnKind.INTEGER),
    "tenant": ("VARCHAR(20)", ColumnKind.TEXT),
    "total": ("INTEGER", ColumnKind.INTEGER),
    "note": ("VARCHAR(60)", ColumnKind.TEXT),
    "state": ("VARCHAR(20)", ColumnKind.TEXT),
    "day": ("DATE", ColumnKind.DATE),
}
TABLES = ("sale", "visit")
SHAPES = (
    "SELECT a.id FROM sale AS a WHERE {q}",
    "SELECT COUNT(*) AS n FROM sale AS a JOIN visit AS b ON b.id = a.id AND {q}",
    "SELECT b.id FROM visit AS b WHERE EXISTS (SELECT 1 FROM sale AS a WHERE a.id = b.id AND {q})",
    "SELECT b.id FROM visit AS b WHERE b.id NOT IN (SELECT a.id FROM sale AS a WHERE {q})",
    "WITH w AS (SELECT x.id, x.total, x.note, x.day FROM sale AS x) SELECT a.id FROM w AS a WHERE {q}",
    "SELECT a.id FROM (SELECT x.id, x.total, x.note, x.day FROM sale AS x) AS a WHERE {q}",
    "SELECT a.id FROM sale AS a WHERE a.id > 3 UNION ALL SELECT a.id FROM sale AS a WHERE {q}",
    "SELECT a.note FROM sale AS a GROUP BY a.note HAVING MAX(CASE WHEN {q} THEN 1 ELSE 0 END) = 1",
    "SELECT d.n FROM (SELECT COUNT(*) AS n FROM sale AS a WHERE {q}) AS d",
)
FAILS_EVERYWHERE = (
    "1 / (a.total - {n}) > 0",
    "a.total / a.id = {n}",
    "CAST(a.note AS DECIMAL(9, 2)) > {n}",
    "CAST(a.note AS DATE) = a.day",
    "a.total + {n} > a.id",
    "SQRT(a.total - {n}) > 1",
    "UPPER(a.note) = 'X{n}'",
    "a.id = (SELECT c.id FROM visit AS c WHERE c.total > {n})",
    "CASE WHEN a.id = {n} THEN 1 / (a.total - {n}) ELSE 0 END = 1",
    "a.note LIKE 'x{n}\\\\\\'",
)
FAILS_WHERE_CONVERTED = (
    "a.note = {n}",
    "a.note IN (1, {n})",
    "a.note BETWEEN 1 AND {n}",
    "a.total = a.note",
    "a.day = a.note",
    "a.total = 'no number {n}'",
    "a.id IN (SELECT c.note FROM visit AS c)",
)
CANNOT_FAIL = ("a.id > {n}", "a.note = 'x{n}'", "a.total BETWEEN 1 AND {n}", "a.note IS NULL OR a.id IN (1, {n})")
FILTERS = (
    "tenant = :tenant",
    "tenant = :tenant AND state <> 'void'",
    "tenant = :tenant AND (note IS NULL OR total > 0)",
    "lower(tenant) = :tenant AND state IN ('open', 'paid')",
    "id IN (SELECT id FROM visit WHERE tenant = :tenant AND state <> 'void')",
)


def catalog_of(dialect: Dialect) -> Catalog:
    return Catalog(
        connection="shop",
        dialect=dialect,
        tables=tuple(
            Table(
                name=name,
                columns=tuple(Column(name=column, type=of, kind=kind) for column, (of, kind) in COLUMNS.items()),
            )
            for name in TABLES
        ),
    )


CATALOGS = {dialect: catalog_of(dialect) for dialect in Dialect}


def checked(sql: str, dialect: Dialect, policy: ConnectionPolicy) -> Checked | Failure:
    return check(sql, dialect=dialect, catalog=CATALOGS[dialect], policy=policy, row_limit=100, reader=READER)


def filtering(text: str, dialect: Dialect) -> list[exp.Select]:
    """Return the queries that filter a table of the catalog for the reader, at each of its references."""
    statement = parse(text, dialect)
    assert not isinstance(statement, Failure)
    assert statement.tree is not None
    found = [
        select
        for select in statement.tree.find_all(exp.Select)
        if isinstance(select.args.get("from_"), exp.From)
        and isinstance(select.args["from_"].this, exp.Table)
        and select.args["from_"].this.name.lower() in TABLES
        and select.args.get("where") is not None
        and "'acme'" in select.args["where"].sql()
    ]
    # What a filter itself looks up stands within its query.
    return [select for select in found if not any(select.parent_select is other for other in found)]


@seed(1)
@settings(max_examples=60, deadline=None)
@given(
    dialect=st.sampled_from(list(Dialect)),
    condition=st.sampled_from(FILTERS),
    masked=st.sets(st.sampled_from(("state", "note", "total", "tenant")), min_size=1),
    shown=st.sampled_from(("id", "*", "state, note", "COUNT(*) AS n")),
)
def test_no_mask_hides_a_column_from_its_own_filter(
    dialect: Dialect, condition: str, masked: set[str], shown: str
) -> None:
    policy = ConnectionPolicy(row_filters={"sale": condition}, columns_masked={"sale": tuple(masked)})
    result = checked(f"SELECT {shown} FROM sale", dialect, policy)
    assert isinstance(result, Checked), result
    selects = filtering(result.sql, dialect)
    assert len(selects) == 1
    # Nothing that the filter's own query shows bears the name of a column that the filter reads.
    assert [type(item) for item in selects[0].expressions] == [exp.Star]
    assert guard(result.sql, dialect, CATALOGS[dialect], policy, READER) is None


@seed(2)
@settings(max_examples=90, deadline=None)
@given(
    dialect=st.sampled_from(list(Dialect)),
    shape=st.sampled_from(SHAPES),
    number=st.integers(2, 99),
    condition=st.sampled_from((*FAILS_EVERYWHERE, *FAILS_WHERE_CONVERTED)),
    beside=st.sampled_from(("", " AND a.id > 1", " OR a.note = 'b'")),
    row_filter=st.sampled_from(FILTERS),
)
def test_what_may_fail_is_tried_behind_a_fence_at_every_filtered_table(
    dialect: Dialect, shape: str, number: int, condition: str, beside: str, row_filter: str
) -> None:
    if condition in FAILS_WHERE_CONVERTED and not ENGINES[dialect].converts_to_compare:
        return
    policy = ConnectionPolicy(row_filters={"sale": row_filter, "visit": "tenant = :tenant"})
    result = checked(shape.format(q=f"({condition.format(n=number)}{beside})"), dialect, policy)
    if isinstance(result, Failure):
        # Refused altogether: nothing is tried at all.
        assert result.code in (FailureCode.PERMISSION, FailureCode.FUNCTION_NOT_FOUND, FailureCode.SYNTAX_ERROR), result
        return
    selects = filtering(result.sql, dialect)
    assert selects
    for select in selects:
        limit = select.args.get("limit")
        assert limit is not None, result.sql
        assert str(FENCE_ROWS) in limit.sql(), result.sql


@seed(3)
@settings(max_examples=40, deadline=None)
@given(
    dialect=st.sampled_from(list(Dialect)),
    shape=st.sampled_from(
        [shape for shape in SHAPES if not any(word in shape for word in ("HAVING", "COUNT", "NOT IN"))]
    ),
    number=st.integers(2, 99),
    condition=st.sampled_from(CANNOT_FAIL),
)
def test_what_cannot_fail_leaves_the_engine_its_index(
    dialect: Dialect, shape: str, number: int, condition: str
) -> None:
    policy = ConnectionPolicy(row_filters={"sale": "tenant = :tenant", "visit": "tenant = :tenant"})
    result = checked(shape.format(q=f"({condition.format(n=number)})"), dialect, policy)
    assert isinstance(result, Checked), result
    assert str(FENCE_ROWS) not in result.sql
