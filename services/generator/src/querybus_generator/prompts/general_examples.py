"""Three general examples for models that want them: a ratio per group, a ranking with its figure, a period with an absence.

The tables are of no database. Each statement is written once and rendered in the connection's dialect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import sqlglot

from querybus.core.catalog import Dialect, Language

EXAMPLE_QUESTIONS: Final[Mapping[Language, Sequence[str]]] = {
    "en": (
        "For each region, what share of the loans is overdue?",
        "Which three authors have the most readers?",
        "Members who joined in May 2023 and never borrowed anything",
    ),
    "zh": ("每个地区逾期借阅的占比是多少？", "读者最多的三位作者是谁？", "2023年5月加入且从未借阅的会员"),
}
_STATEMENTS: Final = (
    "SELECT l.region, SUM(CASE WHEN l.is_overdue = 1 THEN 1 ELSE 0 END) * 1.0 / COUNT(*) AS overdue_share "
    "FROM loans AS l GROUP BY l.region",
    "SELECT a.name, COUNT(DISTINCT r.member_id) AS readers FROM authors AS a JOIN readings AS r ON r.author_id = a.id "
    "GROUP BY a.id, a.name ORDER BY readers DESC LIMIT 3",
    "SELECT m.name FROM members AS m WHERE m.joined_on >= '2023-05-01' AND m.joined_on < '2023-06-01' "
    "AND NOT EXISTS (SELECT 1 FROM loans AS l WHERE l.member_id = m.id)",
)


@lru_cache(maxsize=8)
def example_statements(dialect: Dialect) -> tuple[str, ...]:
    """Return the statements of EXAMPLE_QUESTIONS, in its order, as this dialect writes them."""
    return tuple(sqlglot.transpile(sql, read=Dialect.SQLITE.value, write=dialect.value)[0] for sql in _STATEMENTS)
