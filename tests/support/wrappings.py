"""The ways in which models lay a statement into an answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

WRAPPINGS: Final[dict[str, Callable[[str], str]]] = {
    "bare": lambda sql: sql,
    "a fence": lambda sql: f"```sql\n{sql}\n```",
    "an untagged fence": lambda sql: f"```\n{sql}\n```",
    "a fence in prose": lambda sql: f"Sure!\n```sql\n{sql}\n```\nThis lists the rows.",
    "prose": lambda sql: f"Here is the query:\n\n{sql}\n\nIt answers the question.",
    "an explanation behind": lambda sql: f"{sql}\n\nExplanation: counts rows.",
    "a label": lambda sql: f"SQL: {sql}",
    "JSON": lambda sql: json.dumps({"sql": sql}),
    "JSON in a fence": lambda sql: f"```json\n{json.dumps({'query': sql})}\n```",
    "thoughts before": lambda sql: f"<think>maybe SELECT 1</think>\n{sql}",
}
