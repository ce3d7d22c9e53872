"""Time in questions about figures: periods, steps of time as groupings, whose date they are of, and what is compared."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final

from querybus_semantic.compiling.dates import moved, start_of
from querybus_semantic.layer.definitions import Calendar, Dataset, Grain
from querybus_semantic.layer.request import OWN_DATE, Dimension
from querybus_translator.definitions.naming.places import longest_at, norm_at, phrase_at
from querybus_translator.definitions.naming.vocabulary import Meaning, Sort, Vocabulary
from querybus_translator.definitions.naming.words import question_words
from querybus_translator.definitions.outcome import Days, Question, State
from querybus_translator.language.time.periods import read_period
from querybus_translator.language.tokens import Token, TokenKind

YEAR_MIN, YEAR_MAX = 1900, 2150


def month_after(tokens: Sequence[Token], place: int, start: date) -> tuple[int, Days] | None:
    """The month that ends a range takes its year from the beginning: 2025年1月至6月."""
    if place + 1 >= len(tokens) or tokens[place + 1].norm not in {"月", "月份"}:
        return None
    number = tokens[place].norm
    if not number.isdecimal() or not 1 <= int(number) <= 12:
        return None
    first = date(start.year, int(number), 1)
    return place + 2, (first, moved(first, 1, Grain.MONTH))


def period_at(tokens: Sequence[Token], place: int, today: date) -> tuple[int, Days] | None:
    """Return the place after a period that begins here, and its days; None where none begins."""
    token = tokens[place]
    month_name = read_period((_IN, *tokens[place : place + 3]), 1, today)
    read = read_period(tokens, place, today) or (
        (place + month_name[0] - 1, month_name[1]) if month_name is not None and token.kind is TokenKind.WORD else None
    )
    if read is not None:
        return read[0], (read[1].start, read[1].end)
    if token.kind is TokenKind.NUMBER and token.norm.isdecimal() and YEAR_MIN <= int(token.norm) <= YEAR_MAX:
        following = [item.norm for item in tokens[place + 1 : place + 3]]
        if (
            following[:1] == ["-"]
            and following[1:]
            and len(following[1]) == 2
            and following[1].isdecimal()
            and 1 <= int(following[1]) <= 12
        ):
            first = date(int(token.norm), int(following[1]), 1)
            return place + 3, (first, moved(first, 1, Grain.MONTH))
        return place + 1, (date(int(token.norm), 1, 1), date(int(token.norm) + 1, 1, 1))
    return None


_IN: Final = Token("in", "in", "in", TokenKind.WORD)


def fiscal_year_at(tokens: Sequence[Token], place: int, today: date, calendar: Calendar) -> tuple[int, Days] | None:
    """ "Fiscal year 2025", "this fiscal year", 2025财年, 本财年: named as the owner's calendar says."""
    texts = [token.norm for token in tokens[place : place + 4]]
    year: int | None = None
    length = 0
    if (
        len(texts) >= 3
        and texts[0] in {"fiscal", "financial", "business"}
        and texts[1] == "year"
        and texts[2].isdecimal()
    ):
        year, length = int(texts[2]), 3
    elif len(texts) >= 2 and texts[0] == "fy" and texts[1].isdecimal():
        year, length = int(texts[1]), 2
    elif len(texts) >= 2 and texts[0].isdecimal() and texts[1] in {"财年", "财政年度"}:
        year, length = int(texts[0]), 2
    if year is not None:
        named_after_start = year - 1 if calendar.fiscal_named_after_end and _is_shifted(calendar) else year
        start = date(named_after_start, calendar.fiscal_starts_month, calendar.fiscal_starts_day)
        return place + length, (start, moved(start, 1, Grain.YEAR))
    lead = {"this": 0, "current": 0, "last": -1, "previous": -1, "本": 0, "上": -1}
    if texts and texts[0] in lead:
        is_english = texts[1:3] in (["fiscal", "year"], ["financial", "year"], ["business", "year"])
        if is_english or texts[1:2] == ["财年"]:
            start = moved(start_of(today, Grain.FISCAL_YEAR, calendar), lead[texts[0]], Grain.YEAR)
            return place + (3 if is_english else 2), (start, moved(start, 1, Grain.YEAR))
    return None


def _is_shifted(calendar: Calendar) -> bool:
    return (calendar.fiscal_starts_month, calendar.fiscal_starts_day) != (1, 1)


def period(question: Question, place: int, state: State) -> int:
    """Take a period: named, from one to another, open at one end, or two that are compared."""
    tokens, today, layer, vocabulary = question.tokens, question.today, question.layer, question.vocabulary
    named = vocabulary.phrases.get(("fiscal", "year"), [])
    texts = phrase_at(tokens, place, 3)
    english = texts[:2] == ("fiscal", "year") and texts[2:] and texts[2].isdecimal()
    chinese = texts[:1] and texts[0].isdecimal() and texts[1:2] == ("财年",)
    if (english or chinese) and any(one.sort is Sort.FIELD for one in named):
        year = texts[2] if english else texts[0]
        state.values.setdefault(next(one.name for one in named if one.sort is Sort.FIELD), []).append(year)
        return 3 if english else 2
    running = longest_at(tokens, place, question_words().to_date)
    if running:
        step = question_words().to_date.meanings[phrase_at(tokens, place, running)]
        if any(one.cumulative is not None and one.cumulative.to_date is step for one in layer.metrics.values()):
            # A figure of the owner's is called so.
            return 0
        days = start_of(today, step, layer.calendar), today + timedelta(days=1)
        return _noted(state, question, place, running, days)
    ranged = _ranged(tokens, place, today)
    if ranged is not None:
        return _noted(state, question, place, ranged[0] - place, ranged[1])
    lead, opened = _opened(tokens, place)
    if opened:
        first = period_at(tokens, place + opened, today) if place + opened < len(tokens) else None
        if first is None:
            return 0
        return _noted(state, question, place, first[0] - place, _open(lead, first[1]))
    read = fiscal_year_at(tokens, place, today, layer.calendar) or period_at(tokens, place, today)
    if read is None:
        return 0
    end, (start, until) = read
    joint = tokens[end].norm if end < len(tokens) else ""
    if joint in {"to", "-", "until", "through", "till", "至", "到", "–", "and", "和"} and end + 1 < len(tokens):
        later = period_at(tokens, end + 1, today) or month_after(tokens, end + 1, start)
        if later is not None:
            if start > later[1][0]:
                # "December 2024 to April 2025" is dated; "January to June 2025" takes its year from the end.
                start, until = start.replace(year=later[1][0].year), until.replace(year=later[1][0].year)
            is_pair = joint in {"and", "和"}
            adjoining = until == later[1][0] or not is_pair
            if is_pair:
                earlier, latest = sorted(((start, until), later[1]))
                state.pair = earlier, latest
                if state.comparing:
                    return _noted(state, question, place, later[0] - place, (earlier[0], latest[1]))
            if start < later[1][1] and adjoining:
                end, until = later[0], later[1][1]
    after = tokens[end : end + 2]
    if [token.norm for token in after] == ["to", "date"] or (after and after[0].norm == "至今"):
        until = min(until, today + timedelta(days=1))
        end += 2 if after[0].norm == "to" else 1
    elif after:
        behind, length = _opened(tokens, end, behind=True)
        if length:
            return _noted(state, question, place, end + length - place, _open(behind, (start, until)))
    return _noted(state, question, place, end - place, (start, until))


def _ranged(tokens: Sequence[Token], place: int, today: date) -> tuple[int, Days] | None:
    """Return "from one day to another", "between January and March": the place behind it, and its days."""
    joints = _RANGES.get(tokens[place].norm)
    first = period_at(tokens, place + 1, today) if joints and place + 1 < len(tokens) else None
    if joints is None or first is None or first[0] + 1 >= len(tokens) or tokens[first[0]].norm not in joints:
        return None
    last = period_at(tokens, first[0] + 1, today) or month_after(tokens, first[0] + 1, first[1][0])
    if last is None:
        return None
    start = first[1][0] if first[1][0] < last[1][1] else first[1][0].replace(year=last[1][0].year)
    end = last[0] + (norm_at(tokens, last[0]) in {"之间", "期间"})
    return (end, (start, last[1][1])) if start < last[1][1] else None


_TO: Final = frozenset({"to", "until", "till", "through", "-", "–", "至", "到"})
_RANGES: Final = {
    "from": _TO, "从": _TO, "自": _TO, "between": frozenset({"and", "-"}), "在": _TO | {"和", "与"},
}  # fmt: skip


def _noted(state: State, question: Question, place: int, length: int, days: tuple[date | None, date | None]) -> int:
    if state.period is not None:
        state.unread.append(" ".join(token.text for token in question.tokens[place : place + length]))
    state.period = days
    return length


def _opened(tokens: Sequence[Token], place: int, *, behind: bool = False) -> tuple[str, int]:
    """Return how an open period is spoken of at a place and the length of the words: "since", 以后; empty where it is not."""
    for name, phrases in question_words().open_periods.items():
        length = longest_at(tokens, place, phrases) if name.endswith("_behind") is behind else 0
        if length:
            return name.removesuffix("_behind"), length
    return "", 0


def _open(lead: str, days: Days) -> tuple[date | None, date | None]:
    start, until = days
    opened: dict[str, tuple[date | None, date | None]] = {
        "since": (start, None), "after": (until, None), "before": (None, start), "until": (None, until)
    }  # fmt: skip
    return opened[lead]


def beside(state: State) -> bool:
    """Put two periods that are compared beside each other, as steps of time or as the later and the one before; False where neither fits."""
    if not state.comparing:
        return True
    if state.pair is None and not state.dimensions and sum(len(codes) > 1 for codes in state.values.values()) == 1:
        # "Compare the tonnes of Anker and Boje".
        state.is_split = True
        return True
    if state.pair is None and len(state.metrics) > 1:
        return True
    if state.pair is None or state.compared is not None:
        return False
    (start, until), (later, end) = state.pair
    for step in (Grain.DAY, Grain.WEEK, Grain.MONTH, Grain.QUARTER, Grain.YEAR):
        if moved(start, 1, step) == until and moved(later, 1, step) == end:
            if any(item.grain for item in state.dimensions):
                return False
            state.dimensions.append(Dimension(OWN_DATE, step))
            state.period = (start, end)
            state.gap = (until, later) if until < later else None
            return until <= later
    for unit in (Grain.YEAR, Grain.QUARTER, Grain.MONTH):
        if moved(start, 1, unit) == later and moved(until, 1, unit) == end:
            state.period, state.compared = (later, end), unit
            return True
    return False


def compared(question: Question, place: int, state: State) -> int:
    """Take words that set figures beside those of another period."""
    tokens, words = question.tokens, question_words()
    length = longest_at(tokens, place, words.comparing)
    if length or tokens[place].norm in {"vs", "versus"}:
        state.comparing = True
        # "App vs web": the word joins as "and" does.
        return length
    length = longest_at(tokens, place, words.compared)
    if length:
        state.compared = words.compared.meanings[phrase_at(tokens, place, length)]
        return length
    length = longest_at(tokens, place, words.changed)
    if length:
        state.changed = words.changed.meanings[phrase_at(tokens, place, length)]
    return length


def grain(question: Question, place: int, state: State, *, grouping: bool) -> int:
    """Take a step of time by which figures are grouped."""
    tokens, vocabulary = question.tokens, question.vocabulary
    length = longest_at(tokens, place, question_words().grains)
    if not length:
        return 0
    named = tuple(question_words().grains.meanings[phrase_at(tokens, place, length)].value.split("_"))
    if len(named) > 1 and _names_field(vocabulary, named):
        if not grouping:
            return 0
        name = next(one.name for one in vocabulary.phrases[named] if one.sort is Sort.FIELD)
        state.dimensions.append(Dimension(name))
        state.dimension_ends = place + length
        return length
    word = tokens[place].norm
    alone = word.endswith("ly") or word == "annual"
    before = tokens[place - 1].norm if place else ""
    state.asked_step = state.asked_step or before in question_words().ranked_nouns or before in _WHICH
    if not grouping and not alone and not state.asked_step:
        return 0
    state.dimension_ends = place + length
    grain = question_words().grains.meanings[phrase_at(tokens, place, length)]
    field, more = _dated_by(question, place + length)
    length += more
    if not any(item.grain is grain for item in state.dimensions):
        state.dimensions.append(Dimension(field, grain))
        state.places.append((place, len(state.dimensions) - 1))
    return length


_WHICH: Final = frozenset({"which", "what", "哪个", "哪", "哪一", "哪一个"})


def _dated_by(question: Question, place: int) -> tuple[str, int]:
    """Return the date that is meant, and the words that say so: "by month of the orders" is the orders' own date."""
    tokens, layer, mentions = question.tokens, question.layer, question.mentions
    behind = place + 1 + (norm_at(tokens, place + 1) == "the")
    mention = next((one for one in mentions if one.start == behind), None)
    dataset = layer.dataset(mention.dataset) if mention is not None and norm_at(tokens, place) == "of" else None
    if mention is None or dataset is None:
        return OWN_DATE, 0
    own = _date_of(dataset)
    return (own, mention.end - place) if own else (OWN_DATE, 0)


def dated_noun(question: Question, place: int, chosen: Meaning, state: State) -> int:
    """Take the step of time behind a noun, for that noun's own date: 按orders月份, "by order month"."""
    tokens, layer = question.tokens, question.layer
    behind = place + (norm_at(tokens, place) in {"的", "'s"})
    length = longest_at(tokens, behind, question_words().grains) if behind < len(tokens) else 0
    own = _date_of(layer.dataset(chosen.name)) if chosen.sort is Sort.DATASET and length else ""
    if not own:
        return 0
    if tokens[behind].norm.endswith("ly"):
        # "Per customer monthly" is of each month, not of the customers' own.
        return 0
    grain = question_words().grains.meanings[phrase_at(tokens, behind, length)]
    state.dimensions.append(Dimension(own, grain))
    return behind + length - place


def _date_of(dataset: Dataset | None) -> str:
    """Return the one date that a dataset's rows have, as dataset.field; empty where there is none or a choice."""
    if dataset is None:
        return ""
    dates = [item.name for item in dataset.fields.values() if item.is_time]
    own = dataset.time or (dates[0] if len(dates) == 1 else "")
    return own if not own or "." in own else f"{dataset.name}.{own}"


def _names_field(vocabulary: Vocabulary, phrase: tuple[str, ...]) -> bool:
    return any(one.sort is Sort.FIELD for one in vocabulary.phrases.get(phrase, ()))
