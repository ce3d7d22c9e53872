"""A question in the words of a layer becomes a request for figures. Every word must be accounted for, or nothing is answered."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Final

from querybus_semantic.layer.definitions import Grain, Layer
from querybus_semantic.layer.request import OWN_DATE, Dimension, Filter, Request, Value
from querybus_translator.definitions.chinese_names import cut, translated
from querybus_translator.definitions.comparisons import comparison, settled
from querybus_translator.definitions.dates import beside, compared, dated_noun, grain, period
from querybus_translator.definitions.held_values import (
    LINKING,
    is_flag,
    is_value,
    led,
    note_currency,
    stored_value,
    valued,
)
from querybus_translator.definitions.meanings import (
    COUNT_WORDS,
    chosen_of,
    is_asked_for,
    is_counted,
    of_language,
    of_owner,
    owns,
    take,
)
from querybus_translator.definitions.naming.places import (
    Mention,
    longest_at,
    meanings_at,
    mentions_of,
    norm_at,
    phrase_at,
)
from querybus_translator.definitions.naming.vocabulary import (
    BARE_NOUN,
    PHRASE_WORDS_MAX,
    Meaning,
    Sort,
    Vocabulary,
    home_of,
    vocabulary_of,
)
from querybus_translator.definitions.naming.words import question_words
from querybus_translator.definitions.outcome import (
    Asked,
    Lead,
    Named,
    Question,
    Several,
    State,
    Unread,
    Values,
)
from querybus_translator.definitions.rankings import listed_by, ranked, ranked_noun, ranking
from querybus_translator.definitions.rephrase import rephrased
from querybus_translator.definitions.request import asked_of
from querybus_translator.language.tokens import Token, TokenKind, tokenize


def read_request(
    question: str,
    layer: Layer,
    today: date,
    values: Values | None = None,
    *,
    flags: Mapping[str, Value] | None = None,
    dates_as_fields: bool = False,
    is_first: bool = False,
) -> Asked | Unread | Several:
    """Return what a question asks of a layer; `dates_as_fields` takes "by year" for a field of that name.

    `is_first`: there is none before it that its other words could change, so reading ends at the first that is unread.
    `values` finds stored values that the layer does not list, `flags` are fields that say yes or no, each with what says
    yes. A word that no definition, value or period takes leaves
    the whole question unread: nothing is guessed and nothing is passed over.
    """
    asking, state = _question(question, layer, today, values), State(flags=flags or {})
    tokens, vocabulary, mentions = asking.tokens, asking.vocabulary, asking.mentions
    _read(asking, state, dates_as_fields=dates_as_fields, ends_unread=is_first)
    if is_first and state.unread:
        return Unread(tuple(state.unread))
    is_of_figures = bool(state.metrics or state.nouns or any(one.name for one in state.comparisons))
    if not settled(tokens, layer, vocabulary, state, mentions):
        return Unread(tuple(tokens[one.start].text for one in state.comparisons) if is_of_figures else ())
    if not beside(state) or not ranked(asking, state):
        said = ("compare",) if state.comparing else (tokens[state.superlative].text,)
        return Unread(said if is_of_figures else ())
    grouped = {item.field.rpartition(".")[0] for item in state.dimensions}
    # "How many policies have agents sold by agent id": whose figure it is says nothing more than the grouping.
    owners = [place for place in state.owners if not _is_of(place, mentions, grouped)]
    state.unread += [tokens[place].text for place in owners]
    note_currency(layer, values, state)
    _levels(layer, state)
    if state.metrics:
        state.metrics += [name for name in state.nouns if name not in state.metrics]
    if state.counts_rows and state.metrics and not _rows_counted(layer, vocabulary, state):
        state.unread.append("number")
    if not state.metrics and len(state.nouns) == 1 and state.dimensions and tokens[0].norm not in _LISTED:
        # "Tickets by team", and not "list tickets by team": how many there are of each.
        state.metrics = list(state.nouns)
    if not state.metrics:
        return Unread(())
    if state.unread:
        return Unread(tuple(state.unread))
    # Only of a question that is about figures, and read to the end, is it asked which of several is meant.
    if state.several is not None:
        return state.several
    asked = asked_of(layer, state)
    return replace(asked, spoken=tuple(one.dataset for one in mentions)) if isinstance(asked, Asked) else asked


def _is_of(place: int, mentions: Sequence[Mention], datasets: Collection[str]) -> bool:
    return any(one.start <= place < one.end and one.dataset in datasets for one in mentions)


_LISTED: Final = frozenset(
    {"show", "list", "give", "display", "find", "get", "which", "please", "列出", "显示", "请", "给我"}
)


def read_change(
    question: str,
    before: Asked,
    today: date,
    values: Values | None = None,
    *,
    flags: Mapping[str, Value] | None = None,
) -> Asked | Unread | Several:
    """Return what a question without a figure makes of the one before: other groupings, a condition more, another period.

    What it names takes the place of what was; the rest stays. A word that nothing takes leaves it unread.
    """
    layer, old = before.layer, before.request
    asking, state = _question(question, layer, today, values), State(flags=flags or {}, is_change=True)
    tokens = asking.tokens
    _read(asking, state, dates_as_fields=False)
    is_other_figure = bool(state.metrics)
    says_nothing = not (state.dimensions or state.values or state.conditions or state.period or state.share)
    is_empty = says_nothing and not (is_other_figure or state.comparisons or state.compared or state.changed)
    is_empty = is_empty and state.descending is None
    if not state.dimensions and state.superlative < 0:
        # "Highest first", "above 50", "as a share": of the groups that there are.
        state.dimensions = list(old.dimensions)
        state.places += [(-1, 0)] if old.dimensions else []
    if state.period is None and old.period is not None:
        state.period, state.gap = (old.period.start, old.period.until), old.period.gap
        state.date = old.period.field if state.date == OWN_DATE else state.date
    state.metrics = state.metrics or list(before.used)
    if not beside(state) or not ranked(asking, state):
        return Unread(("compare",) if state.comparing else (tokens[state.superlative].text,))
    if not settled(tokens, layer, asking.vocabulary, state, asking.mentions) or state.counts_rows:
        return Unread(tuple(tokens[one.start].text for one in state.comparisons) or ("number",))
    state.unread += [tokens[place].text for place in state.owners]
    # "And what about East?" groups by nothing: these words say nothing of themselves.
    unread = [word for word in state.unread if word.lower() not in question_words().changing]
    if unread or is_empty:
        return Unread(tuple(unread))
    if state.several is not None:
        return state.several
    state.unread.clear()
    changed = asked_of(layer, state)
    if isinstance(changed, Unread):
        return changed
    return _merged(changed, before, state, is_other_figure=is_other_figure)


def _merged(changed: Asked, before: Asked, state: State, *, is_other_figure: bool) -> Asked:
    """Return the request of a change with what it leaves of the one before: conditions, order, figures."""
    old = before.request
    new = changed.request
    named = {item.field for item in new.filters}
    order = new.order or tuple(replace(item, name=new.metrics[0]) for item in old.order[:1])
    return replace(
        changed,
        used=changed.used if is_other_figure else before.used,
        request=replace(
            new,
            metrics=new.metrics
            if is_other_figure or len(new.metrics) > len(before.used) or state.share
            else old.metrics,
            filters=(
                *[item for item in old.filters if item.field not in named],
                *[_by_the_same_way(item, old) for item in new.filters],
            ),
            named=tuple(dict.fromkeys((*old.named, *new.named))),
            order=order,
            limit=new.limit or old.limit,
        ),
    )


def _by_the_same_way(item: Filter, old: Request) -> Filter:
    """ "Only NL" after tonnes by origin country: of the origin."""
    via = next((one.via for one in old.dimensions if one.field == item.field and one.via), ())
    return replace(item, via=via) if via and not item.via else item


def _question(text: str, layer: Layer, today: date, values: Values | None) -> Question:
    vocabulary = vocabulary_of(layer)
    tokens = rephrased(cut(tokenize(text.replace("_", " ")), vocabulary, values), vocabulary)
    return Question(tokens, layer, vocabulary, mentions_of(tokens, vocabulary), today, values)


def _read(question: Question, state: State, *, dates_as_fields: bool, ends_unread: bool = False) -> None:
    tokens, vocabulary, values, mentions = question.tokens, question.vocabulary, question.values, question.mentions
    place, grouping, just_opened = 0, False, False
    while place < len(tokens) and not (ends_unread and state.unread):
        token = tokens[place]
        if (
            state.lead is not Lead.NONE
            and token.norm not in (question_words().glue if state.lead is Lead.PART else LINKING)
            and not is_value(tokens, place, vocabulary, values)
            and not is_flag(tokens, place, vocabulary, state)
        ):
            state.lead = Lead.NONE
        is_named, conditions = _is_named(tokens, place, vocabulary), state.conditions
        taken = (
            _fixed(question, place, state)
            or _currency(question, place, state)
            or led(tokens, place, vocabulary, values, state)
            or compared(question, place, state)
            or (0 if just_opened or is_named else period(question, place, state))
            or comparison(tokens, place, question.layer, vocabulary, state)
            or ranked_noun(question, place, state)
            or (0 if is_named else ranking(question, place, state))
            or (0 if dates_as_fields or is_named else grain(question, place, state, grouping=grouping))
            or _meaning(question, place, state, grouping=grouping)
            or _small(question, place, state)
            or stored_value(tokens, place, values, state, mentions)
        )
        if taken:
            place += taken
            just_opened = False
            if state.conditions > conditions:
                state.condition_ends = place
            else:
                state.counting = False
            continue
        opened = longest_at(tokens, place, question_words().grouping)
        if opened:
            grouping = just_opened = not listed_by(question, place + opened, state)
            place += opened
            continue
        state.is_split = state.is_split or token.norm in {"各", "各有", "each", "分别", "respectively"}
        if state.share and token.norm in _WAS and state.metrics:
            # "What share of revenue *was* online": what follows is the part.
            state.lead = Lead.PART
        is_counting = token.norm in COUNT_WORDS or (token.norm == "number" and norm_at(tokens, place + 1) != "of")
        is_second_figure = is_counting and place > 0 and tokens[place - 1].norm in _LISTING
        if is_second_figure:
            state.counts_rows = True
        elif any(mention.start <= place < mention.end for mention in mentions):
            state.owners.append(place)
        elif token.kind is not TokenKind.MARK and (
            token.norm not in question_words().glue or token.norm in question_words().weighty
        ):
            state.unread.append(token.text)
        elif token.norm not in _JOINING:
            grouping = just_opened = False
        state.is_joined = state.is_joined or token.norm in _LISTING or token.norm in _OWNING
        state.counting = (state.counting and token.norm in _ARTICLES) or _opens_count(tokens, place)
        place += 1


_LISTING: Final = frozenset({"and", ",", "、", "和", "与", "及", "以及", "，", "with", "&", "+", "vs", "versus"})
_OWNING: Final = frozenset({"whose", "have", "has", "had", "having", "where"})
_ARTICLES: Final = frozenset({"the", "our", "all", "many", "of"})
_JOINING: Final = frozenset({"and", ",", "、", "和", "与", "及", "the", "a", "以及", "，", "vs", "versus"})


_WAS: Final = frozenset({"is", "are", "was", "were", "came", "comes"})


def _levels(layer: Layer, state: State) -> None:
    """ "The balance at the end of March": of a field without a figure's name, the level that it has at the end."""
    if state.metrics or not state.closing:
        return
    for name in state.ungrouped:
        dataset, _, column = name.rpartition(".")
        summed = {f"sum({dataset}.{column})".lower(), f"sum({column})".lower()}
        levels = [
            key
            for key, metric in layer.metrics.items()
            if metric.non_additive is not None
            and metric.non_additive.choice == "last"
            and metric.expression.replace(" ", "").lower() in summed
        ]
        # What has no row on the last day still has its level: each member's own last row, where that is defined.
        by_member = [key for key in levels if (metric := layer.metrics[key]).non_additive and metric.non_additive.per]
        of_the_day = [key for key in levels if key not in by_member]
        chosen = of_the_day if state.is_of_last_rows else by_member or levels
        if len(chosen) == 1:
            state.ungrouped.remove(name)
            state.metrics.append(chosen[0])
            return


def _rows_counted(layer: Layer, vocabulary: Vocabulary, state: State) -> bool:
    """ "Amount and number": the count of the rows that the first figure is made of."""
    metric = layer.metric(state.metrics[0]) if state.metrics else None
    for dataset in home_of(metric) if metric is not None else ():
        counts = vocabulary.counts.get(dataset, ())
        if len(counts) == 1:
            state.metrics += [name for name in counts if name not in state.metrics]
            return True
    return False


def _opens_count(tokens: Sequence[Token], place: int) -> bool:
    """Whether what follows is counted: "how many late shipments", "number of cold containers"."""
    pair = tokens[place].norm, norm_at(tokens, place + 1)
    return pair in {("how", "many"), ("number", "of"), ("count", "of")} or tokens[place].norm in {"多少", "几"}


def _is_named(tokens: Sequence[Token], place: int, vocabulary: Vocabulary) -> bool:
    """Whether a definition of several words begins here: "monthly fee", "today's tier" are names, no step of time and no day."""
    return any(
        # "Fiscal year 2025" is a year, "by fiscal year" a field of that name.
        length > 1
        and one.sort in {Sort.METRIC, Sort.FIELD, Sort.FILTER, Sort.DATASET}
        and not norm_at(tokens, place + length).isdecimal()
        for length, one in meanings_at(tokens, place, vocabulary)
    )


def _fixed(question: Question, place: int, state: State) -> int:
    """Return the length of a set phrase that says nothing: "in total", "calendar year", "at that time"."""
    tokens, layer, vocabulary = question.tokens, question.layer, question.vocabulary
    norms = [token.norm for token in tokens[place : place + 2]]
    if norms == ["in", "total"]:
        return 2
    words = question_words()
    then = longest_at(tokens, place, words.at_that_time)
    if then and any(relation.range is not None for relation in layer.relations):
        return then
    if norms[0] in words.own and norms[1:] and tokens[place + 1].base in vocabulary.firsts:
        return 1
    if norms[0] in words.currency_deeds and norms[1:] == ["in"] and place + 2 < len(tokens):
        # "Clients billed in yen": what is done in a currency says nothing but whose currency it is.
        return 1 if longest_at(tokens, place + 2, words.currencies) else 0
    if norms[0] in {"only", "just"}:
        # "Only in NL", "NL only": a condition is one.
        behind = place + 1 + (norms[1:] in (["in"], ["for"], ["from"], ["to"]))
        is_before = behind < len(tokens) and is_value(tokens, behind, vocabulary, question.values)
        return int(is_before or state.condition_ends == place)
    supplied = any(token.base in words.supplies for token in tokens)
    if norms[0] in words.deeds and tokens[place].base not in vocabulary.words and not supplied:
        return 1
    following = tokens[place + 2].norm if place + 2 < len(tokens) else ""
    return 2 if norms == ["calendar", "year"] and following.isdecimal() else 0


def _currency(question: Question, place: int, state: State) -> int:
    """Take "in dollars", 美元: what the figures are to be in. "Billed in yen" is a condition, and no matter of this."""
    tokens = question.tokens
    words = question_words()
    first = place + (tokens[place].norm in {"in", "以"})
    length = longest_at(tokens, first, words.currencies) if first < len(tokens) else 0
    before = tokens[place - 1].norm if place else ""
    is_condition = state.lead is Lead.PART or before in words.currency_deeds or (before == "in" and place == first)
    if not length or is_condition or state.currency or longest_at(tokens, max(place - 1, 0), words.valued):
        return 0
    state.currency = words.currencies.meanings[phrase_at(tokens, first, length)]
    end = first + length
    return end + (norm_at(tokens, end) in {"计", "计价", "计算", "结算", "为单位"}) - place


def _small(question: Question, place: int, state: State) -> int:
    tokens = question.tokens
    words = question_words()
    length = longest_at(tokens, place, words.share)
    if length:
        state.share, state.conditions_before_share = True, state.conditions
        state.is_share_behind = tokens[place].kind is TokenKind.HAN and bool(state.metrics)
        return length
    length = longest_at(tokens, place, words.closing)
    if length:
        state.closing = True
        return length
    length = longest_at(tokens, place, words.with_rows)
    if length:
        state.closing = state.is_of_last_rows = True
        return length
    length = longest_at(tokens, place, words.trend)
    if length:
        if not any(item.grain for item in state.dimensions):
            state.dimensions.append(Dimension(OWN_DATE, Grain.MONTH))
        return length
    return 0


def _meaning(question: Question, place: int, state: State, *, grouping: bool) -> int:
    """Take the longest phrase of the vocabulary that begins here and has a meaning at this place."""
    tokens, layer, vocabulary = question.tokens, question.layer, question.vocabulary
    longest = min(PHRASE_WORDS_MAX if tokens[place].base in vocabulary.firsts else 0, len(tokens) - place)
    known = [n for n in range(longest, 0, -1) if phrase_at(tokens, place, n) in vocabulary.phrases]
    # "refund率" is one figure, of which "refund" is another.
    longer = 0
    if known:
        longer = translated(tokens, place, layer, vocabulary, state, grouping=grouping, longer_than=known[0])
    if longer:
        return longer
    for length in known:
        chosen = _chosen(question, place, length, state, grouping=grouping)
        if isinstance(chosen, Several):
            said = " ".join(token.text for token in tokens[place : place + length])
            state.several = state.several or replace(chosen, about=said)
            return length
        taken = _taken(question, place, length, chosen, state, grouping=grouping) if chosen is not None else 0
        if taken:
            return taken
    length = translated(tokens, place, layer, vocabulary, state, grouping=grouping)
    if length and state.last_named is not None and state.last_named.name in state.ungrouped:
        length += valued(tokens, place + length, state.last_named.name, layer, question.values, state)
    return length


def _chosen(question: Question, place: int, length: int, state: State, *, grouping: bool) -> Meaning | Several | None:
    """Return what a phrase means at its place, or what it may mean."""
    tokens, layer = question.tokens, question.layer
    meanings = question.vocabulary.phrases[phrase_at(tokens, place, length)]
    owner = place > 0 and tokens[place - 1].norm in {"of", "the"} and 0 <= place - state.dimension_ends <= 2
    ranks = state.descending is not None and not state.metrics
    chosen = chosen_of(meanings, layer, grouping=grouping and not ranks, owner=owner)
    if isinstance(chosen, Several):
        owned = of_owner(chosen, meanings, tokens, place, length, question.mentions)
        return of_language(owned, meanings, tokens[place]) if isinstance(owned, Several) else owned
    if chosen is None or chosen.sort is not Sort.METRIC:
        return chosen
    if chosen.rank == BARE_NOUN and not state.counting and not is_asked_for(tokens, place, length):
        return next((one for one in meanings if one.sort is Sort.DATASET), chosen)
    return replace(chosen, rank=1) if state.counting or is_counted(tokens, place, length) else chosen


def _taken(question: Question, place: int, length: int, chosen: Meaning, state: State, *, grouping: bool) -> int:
    """Note a meaning and what belongs to it; return how many words that are, 0 where it has no place here."""
    tokens, layer, end = question.tokens, question.layer, place + length
    dated = dated_noun(question, end, chosen, state) if grouping else 0
    if dated:
        return length + dated
    is_owner = owns(tokens, end, question.vocabulary)
    if not take(
        chosen,
        place,
        layer,
        state,
        grouping=grouping,
        joined=tokens[place - 1].norm if place else "",
        following=norm_at(tokens, end),
        owns=is_owner,
        is_valued=end < len(tokens) and longest_at(tokens, end, question_words().valued) > 0,
    ):
        return 0
    if chosen.sort is Sort.DATASET and is_owner:
        return length + 1
    if chosen.sort is Sort.METRIC and state.share and len(state.metrics) == 1:
        state.is_share_of_part = state.conditions > state.conditions_before_share
    if chosen.sort in {Sort.METRIC, Sort.FIELD}:
        state.last_named = Named(chosen.name, place, end, chosen.sort is Sort.FIELD, state.is_new_figure)
    if chosen.name in state.ungrouped:
        return length + valued(tokens, end, chosen.name, layer, question.values, state)
    if grouping and chosen.sort in {Sort.FIELD, Sort.DATASET}:
        state.dimension_ends = end
    return length
