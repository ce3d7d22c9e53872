"""A keyword that stands where only a name can stand is quoted: it is a name.

Beside a dot, after AS, or where quoting a word that the catalog knows makes the text read. Quoting changes no meaning.
"""

from __future__ import annotations

from typing import Any, Final

from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.engines import ENGINES
from querybus.sql.edit import read
from querybus.sql.names.quoting import RESERVED
from querybus.sql.parse import GRAMMARS, parse
from querybus.text.words import word_set
from querybus_recovery.rules.candidate import Candidate

WORDS_MAX: Final = 4
_QUOTED: Final = frozenset({TokenType.IDENTIFIER, TokenType.STRING})
_LEADS: Final = word_set(
    """
    SELECT DISTINCT FROM JOIN WHERE AND OR ON BY HAVING , ( = < > <= >= <> !=
    """
)


def quote_keyword(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with the keywords quoted that have to be names."""
    if failure.code is not FailureCode.SYNTAX_ERROR:
        return ()
    text = draft.sql.strip().rstrip(";").rstrip()
    refused = parse(text, draft.dialect)
    if isinstance(refused, Failure) and refused.code is not FailureCode.SYNTAX_ERROR:
        return ()
    try:
        tokens = list(GRAMMARS[draft.dialect].tokenize(text))
    except SqlglotError:
        return ()
    known = {identifier.lower() for identifier in catalog.identifiers}
    sure = [number for number in range(len(tokens)) if _must_be_name(tokens, number)]
    names = {tokens[number].text.lower() for number in sure}
    # A name that must be one somewhere is one wherever a name may stand.
    sure = [n for n in range(len(tokens)) if n in sure or (tokens[n].text.lower() in names and _may_be_name(tokens, n))]
    likely = [
        number
        for number in range(len(tokens))
        if number not in sure and tokens[number].text.lower() in known and _may_be_name(tokens, number)
    ]
    for chosen in (sure, sure + likely, likely):
        if not chosen or len({tokens[item].text.lower() for item in chosen}) > WORDS_MAX:
            continue
        quoted = _quoted(text, [tokens[item] for item in chosen], draft.dialect)
        if quoted != text and read(quoted, draft.dialect) is not None:
            words = ", ".join(dict.fromkeys(tokens[item].text for item in chosen))
            return (
                Candidate(
                    RuleName.QUOTE_KEYWORD, quoted, keeps_meaning=True, before=words, after=f'"{words}"', doubt=0.1
                ),
            )
    return ()


def _is_keyword(token: Any) -> bool:
    return token.token_type not in _QUOTED and token.text.upper() in RESERVED


def _must_be_name(tokens: list[Any], number: int) -> bool:
    token = tokens[number]
    if not _is_keyword(token):
        return False
    before = tokens[number - 1] if number else None
    after = tokens[number + 1] if number + 1 < len(tokens) else None
    if before is not None and before.token_type in (TokenType.ALIAS, TokenType.DOT):
        return after is None or after.token_type is not TokenType.L_PAREN
    return after is not None and after.token_type is TokenType.DOT


def _may_be_name(tokens: list[Any], number: int) -> bool:
    token = tokens[number]
    if not _is_keyword(token) or not number or _must_be_name(tokens, number - 1):
        return False
    after = tokens[number + 1] if number + 1 < len(tokens) else None
    if after is not None and after.token_type is TokenType.L_PAREN:
        return False
    if after is not None and after.text.upper() == "BY":
        return False
    # "ORDER BY" is one token.
    leading = tokens[number - 1].text.upper().split()
    return bool(leading) and leading[-1] in _LEADS


def _quoted(text: str, tokens: list[Any], dialect: Dialect) -> str:
    quote = ENGINES[dialect].quote
    for token in sorted(tokens, key=lambda item: -item.start):
        text = text[: token.start] + quote + token.text + quote + text[token.end + 1 :]
    return text
