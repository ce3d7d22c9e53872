"""Simple changes in plain words: delete, update or insert rows that a key or a condition names.

Which rows and which column are meant is read by the translator itself, as the question for them: "delete the orders of
customer 7" deletes what "list the orders of customer 7" lists. A request that is not read whole is not read at all; a person
confirms every change with its exact count before it runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column, ColumnKind, Language, Table
from querybus.sql.edit import read
from querybus.text.similarity import plain
from querybus.text.words import singular
from querybus_translator.translation import Translated, translate

_LEAD: Final = r"(?:(?:please|kindly|now|just|can you|could you|would you|i want (?:you )?to|i(?:['’]d| would) like (?:you )?to)\s+)*"
_LEAD_ZH: Final = r"(?:请|帮我|麻烦你?|你|我要|我想|能否|可以)*"
_DELETES: Final = (
    re.compile(_LEAD + r"(?:delete|remove|erase)\s+(?P<rows>.+)", re.IGNORECASE),
    re.compile(_LEAD_ZH + r"(?:把|将)(?P<rows>.+?)(?:都|全部)?(?:删除|删掉|移除)(?:掉|了)?"),
    re.compile(_LEAD_ZH + r"(?:删除|删掉|移除)(?P<rows>.+)"),
)
_SETS_ZH: Final = r"(?:改为|改成|设为|设成|设置为|更新为|更新成|修改为|修改成|调整为)"
_UPDATES: Final = (
    re.compile(
        _LEAD
        + r"(?:update|set|change|modify)\s+(?:the\s+)?(?P<column>[\w ]+?)\s+(?:of|for)\s+(?P<rows>.+?)\s+to\s+(?P<value>.+)",
        re.IGNORECASE,
    ),
    re.compile(
        _LEAD + r"(?:update|set|change|modify)\s+(?P<rows>.+?)['’]s?\s+(?P<column>[\w ]+?)\s+to\s+(?P<value>.+)",
        re.IGNORECASE,
    ),
    re.compile(
        _LEAD
        + r"(?:update|change|modify)\s+(?P<rows>.+?)[,:]?\s+(?:and\s+)?set\s+(?:the\s+|its\s+|their\s+)?(?P<column>[\w ]+?)"
        r"\s*(?:=|\bto\b)\s*(?P<value>.+)",
        re.IGNORECASE,
    ),
    re.compile(_LEAD_ZH + rf"(?:把|将)(?P<rows>.+?)的(?P<column>[^的]+?){_SETS_ZH}(?P<value>.+)"),
    re.compile(_LEAD_ZH + r"(?:更新|修改)(?P<rows>.+?)的(?P<column>[^的]+?)(?:为|成)(?P<value>.+)"),
)
_INSERTS: Final = (
    re.compile(
        _LEAD
        + r"(?:insert|add)\s+(?:a|an|one)\s+(?:new\s+)?(?P<table>[\w ]+?)\s+(?:with\s+(?:the\s+)?|where\s+)(?P<pairs>.+)",
        re.IGNORECASE,
    ),
    re.compile(
        _LEAD_ZH
        + r"(?:新增|添加|增加|插入)(?:一[\u3400-\u9fff])?(?:新的?)?(?P<table>[^，,：:]+)[，,：:]\s*(?P<pairs>.+)"
    ),
)
_NAME_END: Final = re.compile(r"[=:：为是]|(?<=\w)(?=\s)|(?<=[\u3400-\u9fff])(?=[\w\"'“])")
_SIGN: Final = re.compile(r"[=:：为是\s]+\Z|\s+(?:is|of)\Z")
_SIGN_BEFORE: Final = re.compile(r"\A\s*(?:=|:|：|为|是|is\b|of\b)?\s*", re.IGNORECASE)
_PAIRS: Final = re.compile(r"\s*(?:,|，|;|；|、|\band\b)\s*(?:the\s+)?", re.IGNORECASE)
_WHOLE: Final = re.compile(r"\b(?:all|every|each)\b|所有|全部|每", re.IGNORECASE)
_KEYED: Final = (
    re.compile(
        r"(?:the\s+)?(?P<noun>[A-Za-z][A-Za-z ]*?)\s+(?:(?:number|no\.?|nr\.?|id|with (?:the )?(?:id|number))\s+)?#?(?P<key>\d{1,18})",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<noun>[\u3400-\u9fff]{1,12}?)(?:编号|号)?\s*(?:为|是)?\s*(?P<key>\d{1,18})号?"),
    re.compile(r"(?:编号|号码|id)\s*(?:为|是)?\s*(?P<key>\d{1,18})号?的(?P<noun>[\u3400-\u9fff]{1,12})", re.IGNORECASE),
    re.compile(r"(?P<key>\d{1,18})号(?P<noun>[\u3400-\u9fff]{1,12})"),
)
_HEAD_END: Final = re.compile(
    r"\s+(?:of|in|from|with|without|where|whose|that|which|who|by|before|after|for|to)\b", re.IGNORECASE
)
_HAN_HEAD: Final = re.compile(r"\A.*的(?=.)|(?:编号|号)?\s*(?:为|是)?\s*\d+号?\Z")
_NOT_NOUN: Final = re.compile(
    r"\b(?:all|every|each|the|a|an|number|no|nr|id)\b\.?|#?\b\d+\b|所有|全部|每[个条位笔]?", re.IGNORECASE
)
_GOES_ON: Final = re.compile(r"\b(?:and|then|or|where)\b|[;；，]|并且?|然后|或者", re.IGNORECASE)
NOUN_WORDS_MAX: Final = 3
_QUOTES: Final = "\"'“”‘’`「」"
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
ROWS_LENGTH_MAX: Final = 300


def translate_change(request: str, catalog: Catalog, *, language: Language, today: date) -> str | None:
    """Return the one INSERT, UPDATE or DELETE that a request asks for; None where any part of it cannot be read.

    Never raises. The statement is not checked: the validator judges it, and a person confirms it.
    """
    asking = _Asking(catalog, language, today)
    text = request.strip().rstrip("。.!！;；")[:ROWS_LENGTH_MAX]
    for match in _matches(_DELETES, text):
        if (rows := _rows(match["rows"], asking)) is not None:
            table, condition = rows
            return _render(exp.Delete(this=table, where=condition), catalog)
    for match in _matches(_UPDATES, text):
        if (update := _update(match, asking)) is not None:
            return _render(update, catalog)
    for match in _matches(_INSERTS, text):
        if (insert := _insert(match, asking)) is not None:
            return _render(insert, catalog)
    return None


def _matches(forms: tuple[re.Pattern[str], ...], text: str) -> Iterator[re.Match[str]]:
    return (match for form in forms if (match := form.fullmatch(text)) is not None)


def _render(statement: exp.Expr, catalog: Catalog) -> str:
    return statement.sql(dialect=catalog.dialect.value)


@dataclass(frozen=True, slots=True)
class _Asking:
    """Whom the rows are asked of."""

    catalog: Catalog
    language: Language
    today: date

    def select(self, question: str) -> exp.Select | None:
        """Return the plain read of one table that a question is; None where it is another one or is not read whole."""
        reading = translate(question, self.catalog, language=self.language, today=self.today, asks_back=False)
        if not isinstance(reading, Translated) or reading.left_out:
            return None
        tree = read(reading.sql, self.catalog.dialect)
        if not isinstance(tree, exp.Select) or any(tree.args.get(part) for part in _MORE_THAN_ROWS):
            return None
        return tree if len(list(tree.find_all(exp.Table))) == 1 else None

    def table(self, node: exp.Table) -> Table | None:
        return self.catalog.table(node.name, node.db or None)


_MORE_THAN_ROWS: Final = ("joins", "group", "having", "limit", "with_", "with", "distinct")


def _rows(words: str, asking: _Asking) -> tuple[exp.Table, exp.Where | None] | None:
    """Return the table and the condition of the rows that words name; without a condition only where they say "all"."""
    keyed = _row_by_key(words, asking)
    if keyed is not None:
        return keyed
    select = asking.select(_listing(words))
    if select is None:
        return None
    table, condition = select.find(exp.Table), select.args.get("where")
    if table is None or (condition is None and not _WHOLE.search(words)) or not _is_of(words, table.name, asking):
        return None
    return exp.table_(table.name, db=table.db or None, quoted=True), condition


def _row_by_key(words: str, asking: _Asking) -> tuple[exp.Table, exp.Where] | None:
    """Return the row that a noun and its number name: "order number 7", "编号为7的订单"."""
    match = next((found for form in _KEYED if (found := form.fullmatch(words.strip())) is not None), None)
    node = _table_called(match["noun"], asking) if match is not None else None
    table = asking.table(node) if node is not None else None
    key = table.column(table.primary_key[0]) if table is not None and len(table.primary_key) == 1 else None
    if match is None or node is None or key is None or key.kind is not ColumnKind.INTEGER:
        return None
    condition = exp.EQ(this=exp.column(key.name, quoted=True), expression=exp.Literal.number(match["key"]))
    return exp.table_(node.name, db=node.db or None, quoted=True), exp.Where(this=condition)


def _is_of(words: str, table: str, asking: _Asking) -> bool:
    """Whether the words turn on the table's own noun: "the level of customer 7" turns on a level, not on a customer."""
    head = _HAN_HEAD.sub("", words) if _HAN.search(words) else _HEAD_END.split(words, maxsplit=1)[0]
    nouns = _NOT_NOUN.sub(" ", head).split()
    called = (
        _table_called(" ".join(nouns[-count:]), asking) for count in range(1, min(len(nouns), NOUN_WORDS_MAX) + 1)
    )
    return any(node is not None and node.name == table for node in called)


def _table_called(noun: str, asking: _Asking) -> exp.Table | None:
    """Return the table whose rows a noun lists, as its own name would list them; None where it lists a column of them."""
    if _HEAD_END.search(f" {noun} "):
        return None
    select = asking.select(_listing(_all(noun)))
    node = select.find(exp.Table) if select is not None and select.args.get("where") is None else None
    table = asking.table(node) if node is not None else None
    if select is None or table is None:
        return None
    labels = _labels(table.name.replace("_", " "), table.display_names)
    if singular(plain(noun)) in {singular(plain(label)) for label in labels}:
        return node
    own = [listed for label in labels if (listed := asking.select(_listing(_all(label)))) is not None]
    return node if any(listed.expressions == select.expressions for listed in own) else None


def _all(noun: str) -> str:
    return f"所有{noun}" if _HAN.search(noun) else f"all {noun}"


def _labels(name: str, display_names: object) -> tuple[str, ...]:
    shown = display_names.values() if isinstance(display_names, dict) else getattr(display_names, "values", tuple)()
    return tuple(label for label in (name, *shown) if label)


def _listing(words: str) -> str:
    """Return the question that lists what words name."""
    return f"列出{words}" if _HAN.search(words) else f"List {words}"


def _update(match: re.Match[str], asking: _Asking) -> exp.Update | None:
    rows = _rows(match["rows"], asking)
    known = asking.table(rows[0]) if rows is not None else None
    if rows is None or known is None:
        return None
    table, condition = rows
    column = _column(match["column"], known) or _column_of(match["rows"], match["column"], known, asking)
    value = _value(match["value"], column) if column is not None else None
    if column is None or value is None:
        return None
    assignment = exp.EQ(this=exp.column(column.name, quoted=True), expression=value)
    return exp.Update(this=table, expressions=[assignment], where=condition)


def _insert(match: re.Match[str], asking: _Asking) -> exp.Insert | None:
    words = match["table"].strip()
    forms = (f"所有{words}",) if _HAN.search(words) else (f"all {words}s", f"all {words}")
    rows = next((found for form in forms if (found := _rows(form, asking)) is not None), None)
    known = asking.table(rows[0]) if rows is not None else None
    if rows is None or known is None:
        return None
    pairs = [_pair(part.strip(), known) for part in _PAIRS.split(match["pairs"].strip())]
    if not pairs or not all(pairs):
        return None
    columns = [pair[0].name for pair in pairs if pair]
    if len(set(columns)) < len(columns):
        return None
    target = exp.Schema(this=rows[0], expressions=[exp.to_identifier(name, quoted=True) for name in columns])
    row = exp.Tuple(expressions=[pair[1] for pair in pairs if pair])
    return exp.Insert(this=target, expression=exp.Values(expressions=[row]))


def _pair(text: str, table: Table) -> tuple[Column, exp.Expr] | None:
    """Return the column that a text begins with, by its longest name, and the value behind it; None where there is none."""
    for end in reversed([match.end() for match in _NAME_END.finditer(text)]):
        column = _column(_SIGN.sub("", text[:end]), table)
        value = _value(_SIGN_BEFORE.sub("", text[end:]), column) if column is not None else None
        if column is not None and value is not None:
            return column, value
    return None


def _column(words: str, table: Table) -> Column | None:
    """Return the only column that words name by one of its names, case and separators ignored."""
    wanted, noun = plain(words.strip()), singular(plain(table.name))
    found = [
        column
        for column in table.columns
        if any(plain(label) in (wanted, noun + wanted) for label in _labels(column.name, column.display_names))
    ]
    return found[0] if len(found) == 1 else None


def _column_of(rows: str, words: str, table: Table, asking: _Asking) -> Column | None:
    """Return the one column that is shown where the words are asked of the rows, in Chinese over foreign names."""
    if not _HAN.search(words):
        return None
    noun = _NOT_NOUN.sub("", _HAN_HEAD.sub("", rows)).strip()
    select, plainly = asking.select(f"列出所有{noun}的{words}"), asking.select(f"列出所有{noun}")
    if select is None or plainly is None or len(select.expressions) != 1 or select.expressions == plainly.expressions:
        return None
    return table.column(select.expressions[0].alias_or_name)


def _value(words: str, column: Column) -> exp.Expr | None:
    """Return a value in the kind of its column; None where the words are none of that kind."""
    text = words.strip().strip(_QUOTES).strip()
    if text == words.strip() and _GOES_ON.search(text):
        return None  # a second order may stand behind it: a value of several parts is quoted
    match column.kind:
        case ColumnKind.INTEGER | ColumnKind.NUMBER:
            return _number(text, is_whole=column.kind is ColumnKind.INTEGER)
        case ColumnKind.DATE:
            return exp.Literal.string(text) if _is_day(text) else None
        case ColumnKind.TEXT:
            known = next((value for value in column.values if value.casefold() == text.casefold()), text)
            return exp.Literal.string(known) if text else None
        case ColumnKind.BOOLEAN:
            return _truth(text)
        case _:
            return None


def _number(text: str, *, is_whole: bool) -> exp.Expr | None:
    try:
        number = Decimal(text.replace(",", ""))
    except InvalidOperation:
        return None
    if not number.is_finite() or (is_whole and number != number.to_integral_value()):
        return None
    positive = exp.Literal.number(str(abs(number)))
    return exp.Neg(this=positive) if number < 0 else positive


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


_TRUTHS: Final = {"yes": True, "true": True, "是": True, "no": False, "false": False, "否": False}


def _truth(text: str) -> exp.Expr | None:
    truth = _TRUTHS.get(text.casefold())
    return None if truth is None else exp.Boolean(this=truth)
