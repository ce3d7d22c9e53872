"""What people call a table or a column: its display name, its comment, a term of the glossary, or its name made readable.

A label is short, on one line and gives nothing technical away, whoever wrote it; where there is none, there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from querybus.core.catalog import Catalog, Column, ColumnKind, Language, Table
from querybus.text.disclosure import is_plain_word, leaks
from querybus.text.readable_name import readable_name

LABEL_LENGTH_MAX: Final = 40
READABLE_SHARE_MIN: Final = 0.6
"""Below this share of readable names hardly a question finds its tables: the names need to be given once."""

_YES_AND_NO: Final = (("y", "n"), ("yes", "no"), ("t", "f"), ("true", "false"), ("是", "否"))
_CALLED_FLAG: Final = re.compile(r"(?:is|has)(?:_|(?=[A-Z]))")
_STATED: Final = re.compile(
    r".*(?:ed|en|ive|able|ible|al|ic|ous|ful|less|ing|ant|ent|ary)|paid|open|new|vip|vegan|vegetarian|sold|lost|sent|done|free|full|late|live"
    r"|public|private|overdue|remote|due|read|online|offline|temporary|organic|own|main|primary|default|spam|ready|dirty|clean|empty"
)
"""A word that says how something is: "not paid", where a thing is had or not: "without balcony"."""
_DONE_HAN: Final = re.compile(
    r"支付|付款|付清|完成|取消|发货|退货|退款|审核|批准|激活|启用|停用|删除|签署|结清|交付|归档|验证|订阅|出席|解决|关闭|开票|入住|归还|录取|投保|续费|确认|发布|逾期"
)
_SEPARATORS = re.compile(r"[_\s]+")


def table_label(table: Table, language: Language, catalog: Catalog | None = None) -> str | None:
    """Return a table's name for people, or None if it has none; with the catalog it gives none of its names away."""
    offered = _offered(table.display_names.get(language), table.comment, readable_name(table.name, language))
    return _shown(offered, table.name, catalog)


def column_label(column: Column, catalog: Catalog, language: Language) -> str | None:
    """Return a column's name for people, or None if it has none."""
    named = _offered(column.display_names.get(language), column.comment)
    made = _offered(readable_name(column.name, language))
    return _shown((*named, *_terms(column.name, catalog), *made), column.name, catalog)


def is_readable(named: Table | Column) -> bool:
    """Return whether a table or column has a name for people, or one that a label is made of."""
    return bool(named.display_names or named.comment or readable_name(named.name, "en"))


def count_readable_names(catalog: Catalog) -> tuple[int, int]:
    """Return how many names of tables and columns people can read, and how many names there are."""
    named = [item for table in catalog.tables for item in (table, *table.columns)]
    return sum(map(is_readable, named)), len(named)


def has_few_readable_names(readable: int, names: int) -> bool:
    """Return whether a catalog needs names for people before it can be asked; False where nothing is known of it."""
    return readable < names * READABLE_SHARE_MIN


def _terms(name: str, catalog: Catalog) -> Iterable[str]:
    plain = _SEPARATORS.sub(" ", name).casefold()
    return (term for term in catalog.glossary if term.casefold() == plain and term.casefold() != name.casefold())


def _offered(*texts: str | None) -> tuple[str, ...]:
    return tuple(text.strip() for text in texts if text and text.strip())


def _shown(offered: Iterable[str], name: str, catalog: Catalog | None) -> str | None:
    """Return the first name for people that is short, on one line and not technical."""
    for text in offered:
        is_own = text.casefold() == name.casefold() and not is_plain_word(text)
        if len(text) <= LABEL_LENGTH_MAX and text.isprintable() and not is_own and not leaks(text, catalog, "en"):
            return text
    return None


def flag_values(column: Column) -> tuple[str | int, str | int] | None:
    """Return what a column holds for yes and for no; None where it says something else.

    By its type, a whole number that is called so or is 0 or 1, or two texts that are a yes and a no.
    """
    if column.kind is ColumnKind.BOOLEAN:
        return 1, 0
    if column.kind is ColumnKind.INTEGER:
        ends = (column.profile.value_min, column.profile.value_max) if column.profile is not None else None
        return (1, 0) if _CALLED_FLAG.match(column.name) or ends == ("0", "1") else None
    spelt = {value.lower(): value for value in column.values} if len(column.values) == 2 else {}
    return next(((spelt[yes], spelt[no]) for yes, no in _YES_AND_NO if spelt.keys() == {yes, no}), None)


def flag_words(label: str, language: Language, *, is_yes: bool) -> str:
    """Return how a yes or a no of a column is said.

    >>> [flag_words(label, "en", is_yes=False) for label in ("Paid", "Is active", "Has balcony", "newsletter", "Can fly")]
    ['not paid', 'not active', 'has no balcony', 'without newsletter', 'cannot fly']
    >>> [flag_words(label, "zh", is_yes=False) for label in ("是否支付", "已发货", "是否有阳台", "会员", "Paid")]
    ['未支付', '未发货', '没有阳台', '不是会员', 'Paid为否']
    """
    text = label.strip()
    if language == "zh":
        return _flag_in_chinese(text, is_yes=is_yes)
    text = text if text[1:2].isupper() else text[:1].lower() + text[1:]
    first, _, rest = text.partition(" ")
    if rest and first in ("is", "was", "are"):
        return rest if is_yes else f"not {rest}"
    if rest and first in ("has", "have", "had"):
        return text if is_yes else f"{first} no {rest}"
    if rest and first == "can":
        return text if is_yes else f"cannot {rest}"
    if _STATED.fullmatch(text.rpartition(" ")[2].lower()):
        return text if is_yes else f"not {text}"
    return f"{'with' if is_yes else 'without'} {text}"


def _flag_in_chinese(text: str, *, is_yes: bool) -> str:
    bare = text.removeprefix("是否").removeprefix("已经").removeprefix("已") or text
    if bare.isascii():
        return f"{text}为{'是' if is_yes else '否'}"
    if bare.startswith("有"):
        return bare if is_yes else f"没{bare}"
    if "已" in text[:3] or _DONE_HAN.search(bare):
        return f"{'已' if is_yes else '未'}{bare}"
    return f"{'是' if is_yes else '不是'}{bare}"
