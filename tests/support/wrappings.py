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

# What models and their servers write besides: thoughts that a template opened, signs of a turn, elements, strings of programs.
FURTHER_WRAPPINGS: Final[dict[str, Callable[[str], str]]] = {
    "asterisks": lambda sql: f"**{sql}**",
    "asterisks in prose": lambda sql: f"The query is **{sql}**.",
    "a tilde fence": lambda sql: f"~~~sql\n{sql}\n~~~",
    "a fence on one line": lambda sql: f"```sql {sql} ```",
    "a fence with written ends of lines": lambda sql: f"```sql\\n{sql}\\n```".replace("\n", "\\n"),
    "a fence in an item": lambda sql: f"1. Query:\n   ```sql\n{sql}\n   ```",
    "a fence in an element": lambda sql: f"<answer>```sql\n{sql}\n```</answer>",
    "a fence, then its rows": lambda sql: f"```\n{sql}\n```\nwhich gives\n```\ncount\n5\n```",
    "an element": lambda sql: f"<sql>{sql}</sql>",
    "elements in each other": lambda sql: f"<answer>\n<sql>\n{sql}\n</sql>\n</answer>",
    "an answer of its own": lambda sql: f"<thinking>SELECT 1</thinking>\n<answer>{sql}</answer>",
    "HTML": lambda sql: f"<pre><code>{sql}</code></pre>",
    "a number": lambda sql: f"1. {sql}",
    "a quotation": lambda sql: f"> {sql}",
    "a prompt": lambda sql: f"sqlite> {sql}",
    "a heading": lambda sql: f"### Query\n\n{sql}\n\n### Explanation\nIt counts rows.",
    "thoughts that a template opened": lambda sql: f"First SELECT name FROM x.\n</think>\n\n{sql}",
    "the end of a turn": lambda sql: f"{sql}<|im_end|>",
    "another end of a turn": lambda sql: f"<s>{sql}</s>",
    "a turn that goes on": lambda sql: f"{sql}<|im_end|>\n<|im_start|>user\nThanks! How many are there?",
    "a turn of a template": lambda sql: f"<|im_start|>assistant\n{sql}<|im_end|>",
    "a chain's labels": lambda sql: f"SQLQuery: {sql}\nSQLResult: 5\nAnswer: There are 5.",
    "a call of a tool": lambda sql: json.dumps({"name": "run_sql", "arguments": {"query": sql}}),
    "a call with written arguments": lambda sql: json.dumps({"name": "run", "arguments": json.dumps({"sql": sql})}),
    "a call in an element": lambda sql: f"<tool_call>\n{json.dumps({'arguments': {'query': sql}})}\n</tool_call>",
    "a call of a function": lambda sql: f"run_sql({json.dumps(sql)})",
    "another key": lambda sql: json.dumps({"reasoning": "join first", "final_sql": sql}),
    "a list": lambda sql: json.dumps([{"sql": sql}]),
    "a string": json.dumps,
    "a string of a program": lambda sql: f'```python\nsql = """\n{sql}\n"""\ndf = pd.read_sql(sql, conn)\n```',
    "a short string of a program": lambda sql: f"```python\nquery = {json.dumps(sql)}\nrows = run(query)\n```",
    "a box": lambda sql: "\\boxed{" + sql + "}",
    "an end of a batch": lambda sql: f"{sql}\nGO",
    "a word behind": lambda sql: f"{sql}\nDone.",
    "twice": lambda sql: f"{sql};\n\n{sql};",
    "Chinese behind": lambda sql: f"下面是查询语句：\n{sql}\n这条语句统计了行数。",
    "Chinese in the line": lambda sql: f"答案是：{sql}。",
}
