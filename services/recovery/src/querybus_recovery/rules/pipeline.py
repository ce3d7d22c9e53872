"""The rules in their order, and the bounded search that tries what they propose in memory, least doubt first.

Only a failed draft comes here; a statement that runs is never touched. Limits: STEPS_MAX rules in a row,
CHECKS_MAX tries, EXPANSIONS_MAX failed statements looked at, REPAIRS_MAX results, and the time that the caller gives.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from querybus.core.catalog import Catalog
from querybus.core.failure import TRAITS, Failure
from querybus.core.messages import Draft
from querybus.sql.edit import read, write
from querybus.text.similarity import spoken, words
from querybus_recovery.rules.candidate import Candidate, Check, Repair, Rule
from querybus_recovery.rules.grouping.aggregate_condition import aggregate_condition
from querybus_recovery.rules.grouping.aggregate_of_aggregate import aggregate_of_aggregate
from querybus_recovery.rules.grouping.all_or_any import all_or_any
from querybus_recovery.rules.grouping.group_completion import group_completion
from querybus_recovery.rules.grouping.referenced_text import referenced_text
from querybus_recovery.rules.grouping.rows_of_child import rows_of_child
from querybus_recovery.rules.grouping.window_condition import window_condition
from querybus_recovery.rules.joins.compare_keys import compare_keys
from querybus_recovery.rules.joins.join_alias import join_alias
from querybus_recovery.rules.joins.join_on_key import join_on_key
from querybus_recovery.rules.joins.join_owner import join_owner
from querybus_recovery.rules.joins.one_column import one_column
from querybus_recovery.rules.names.choose_ambiguous import choose_ambiguous
from querybus_recovery.rules.names.fitting_table import fitting_table
from querybus_recovery.rules.names.follow_key import follow_key
from querybus_recovery.rules.names.other_word import other_word
from querybus_recovery.rules.names.output_name import output_name
from querybus_recovery.rules.names.qualify_ambiguous import qualify_ambiguous
from querybus_recovery.rules.names.rename_column import rename_column
from querybus_recovery.rules.names.rename_table import rename_table
from querybus_recovery.rules.names.requalify import requalify
from querybus_recovery.rules.names.split_name import split_name
from querybus_recovery.rules.names.swap_table import swap_table
from querybus_recovery.rules.names.use_alias import use_alias
from querybus_recovery.rules.syntax.clause_word import clause_word
from querybus_recovery.rules.syntax.close_parenthesis import close_parenthesis
from querybus_recovery.rules.syntax.cut_tail import cut_tail
from querybus_recovery.rules.syntax.extract import extract
from querybus_recovery.rules.syntax.foreign_dialect import foreign_dialect
from querybus_recovery.rules.syntax.foreign_function import foreign_function
from querybus_recovery.rules.syntax.last_statement import last_statement
from querybus_recovery.rules.syntax.null_comparison import null_comparison
from querybus_recovery.rules.syntax.pseudo_function import pseudo_function
from querybus_recovery.rules.syntax.quote_keyword import quote_keyword
from querybus_recovery.rules.syntax.quote_spaced_name import quote_spaced_name
from querybus_recovery.rules.syntax.quoted_literal import quoted_literal
from querybus_recovery.rules.syntax.set_operands import set_operands

STEPS_MAX: Final = 6
CHECKS_MAX: Final = 16
EXPANSIONS_MAX: Final = 6
REPAIRS_MAX: Final = 3
SAID_BONUS: Final = 0.1
RIVAL_BONUS: Final = 0.3
"""Between rivals one word of the question says as much as a clear difference of names."""
DROPS_DOUBT: Final = 0.3
MARGIN: Final = 0.08
"""Further repairs are looked for only while they are as near as this to the first."""
SECONDS_MAX: Final = 0.5
"""What a caller gives a search at most; the core itself has no clock."""

RULES: Final[tuple[Rule, ...]] = (
    extract,
    close_parenthesis,
    clause_word,
    quote_keyword,
    quote_spaced_name,
    foreign_dialect,
    last_statement,
    cut_tail,
    quoted_literal,
    use_alias,
    output_name,
    foreign_function,
    pseudo_function,
    set_operands,
    qualify_ambiguous,
    choose_ambiguous,
    referenced_text,
    follow_key,
    split_name,
    join_on_key,
    compare_keys,
    requalify,
    rename_table,
    fitting_table,
    rename_column,
    other_word,
    join_alias,
    swap_table,
    join_owner,
    rows_of_child,
    one_column,
    window_condition,
    aggregate_condition,
    aggregate_of_aggregate,
    group_completion,
    all_or_any,
    null_comparison,
)


def distinguished(candidates: tuple[Candidate, ...], said: frozenset[str]) -> tuple[Candidate, ...]:
    """Return the candidates as the question's words rank them, without rivals that it does not distinguish."""
    ranked = tuple(_weighed(candidate, said) if candidate.brings and said else candidate for candidate in candidates)
    rivals = sorted((item for item in ranked if item.is_rival), key=lambda item: item.doubt)
    first = rivals[:1] if len(rivals) == 1 or (rivals and rivals[1].doubt - rivals[0].doubt >= MARGIN) else []
    return tuple(item for item in ranked if not item.is_rival or item in first)


def _weighed(candidate: Candidate, said: frozenset[str]) -> Candidate:
    bonus = RIVAL_BONUS if candidate.is_rival else SAID_BONUS
    speaks = DROPS_DOUBT * _share_said(candidate.drops, said) - bonus * _share_said(candidate.brings, said)
    return replace(candidate, doubt=max(0.0, candidate.doubt + speaks))


def _share_said(names: tuple[str, ...], said: frozenset[str]) -> float:
    named = [word for name in names for word in words(name)]
    return sum(word in said for word in named) / len(named) if named else 0.0


def unhurried() -> bool:
    """Return that there is time, for a caller whose search is bounded by its counts alone."""
    return True


def repairs(
    draft: Draft,
    failure: Failure,
    catalog: Catalog,
    *,
    check: Check,
    in_time: Callable[[], bool] = unhurried,
    question: str = "",
) -> tuple[Repair, ...]:
    """Return the statements that rules reach from a failed draft and that pass the check, least doubt first.

    At most REPAIRS_MAX. Empty if no rule knows the failure. `in_time` says whether another try may begin. Tables that
    the question names are preferred where rules would bring in one of several.
    """
    if not TRAITS[failure.code].by_rule:
        return ()
    said = spoken(question)
    same = read(draft.sql, draft.dialect)
    seen = {draft.sql} if same is None else {draft.sql, write(same, draft.dialect)}
    repairs: list[Repair] = []
    waiting: list[tuple[float, int, str, tuple[Candidate, ...]]] = []

    def propose(sql: str, why: Failure, steps: tuple[Candidate, ...], doubt: float) -> None:
        here = draft.model_copy(update={"sql": sql})
        for rule in RULES:
            found = rule(here, why, catalog)
            for candidate in distinguished(found, said) if found else ():
                if candidate.sql not in seen:
                    seen.add(candidate.sql)
                    entry = (doubt + candidate.doubt, len(seen), candidate.sql, (*steps, candidate))
                    heapq.heappush(waiting, entry)

    propose(draft.sql, failure, (), 0.0)
    checks_left, expansions_left = CHECKS_MAX, EXPANSIONS_MAX
    while waiting and checks_left > 0 and in_time():
        doubt, _, sql, steps = heapq.heappop(waiting)
        if repairs and (doubt > repairs[0].doubt + MARGIN or len(repairs) >= REPAIRS_MAX):
            break
        checks_left -= 1
        still = check(sql)
        if still is None:
            repairs.append(Repair(sql, steps))
        elif TRAITS[still.code].by_rule and len(steps) < STEPS_MAX and expansions_left > 0:
            expansions_left -= 1
            propose(sql, still, steps, doubt)
    rivals = len(repairs) - 1
    return tuple(Repair(attempt.sql, attempt.steps, rivals) for attempt in repairs)
