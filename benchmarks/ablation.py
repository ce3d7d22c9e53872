"""Switches off one part of the translator after the other, and counts what each is worth.

A part is a pattern or a function of the folders PARTS. It fires where it does anything: a pattern where it replaces or matches
something, a function where it returns another value than "nothing", a reader where it changes the sketch. The questions where
a part fires are then asked without it: its gain is the right answers lost without it, its harm the wrong ones.
A part that fires nowhere, or that earns no right answer and prevents no wrong one, is to be deleted.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from types import FunctionType, ModuleType
from typing import Any, Final

import querybus_translator
from querybus_translator.answers.not_meant import NOT_MEANT
from querybus_translator.writing.sketch import Sketch

PARTS: Final = ("rewording", "readers", "writing", "answers", "whose", "resolve")
OFTEN: Final = 12
"""A part that fires on more of the questions is asked about on so many of them."""
_NEVER: Final = re.compile(r"(?!)")
_CALLS: Final = "__querybus_ablation__"


@dataclass(slots=True)
class Part:
    """A pattern, function, reader or veto that can be switched off."""

    name: str
    kind: str
    lines: int
    turn: Callable[[str], None]
    """Set it to `watched`, `off` or `plain`."""


@dataclass(frozen=True, slots=True)
class Worth:
    """On how many questions a part fires, and how many right and wrong answers it adds where it was asked without."""

    part: Part
    fired: int
    asked: int
    right: int
    wrong: int

    @property
    def earns(self) -> bool:
        return self.right > 0 or self.wrong < 0


class WatchedPattern:
    """A compiled pattern that can be switched off, and says when it replaced or found something."""

    def __init__(self, pattern: re.Pattern[str], fire: Callable[[], None]) -> None:
        self._pattern, self._fire, self.state = pattern, fire, "plain"

    def __getattr__(self, name: str) -> Any:
        if self.state == "off":
            return getattr(_NEVER, name)
        method = getattr(self._pattern, name)
        if self.state == "plain" or not callable(method):
            return method

        def watched(*arguments: Any, **named: Any) -> Any:
            result = method(*arguments, **named)
            text = next((item for item in arguments[::-1] if isinstance(item, str)), "")
            if result if name != "sub" else result != text:
                self._fire()
            return result

        return watched


class Ablation:
    """The parts of the loaded translator; `fired` holds the names of those that fired since it was cleared."""

    def __init__(self) -> None:
        self.fired: set[str] = set()
        self.parts: dict[str, Part] = {}
        self._calls: dict[str, Callable[..., Any]] = {}
        setattr(builtins, _CALLS, self._calls)
        vetoes = {id(rule) for rule in NOT_MEANT}
        modules = list(_modules())
        for module in modules:
            for name, value in list(vars(module).items()):
                if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                    self._add_function(module, value, vetoes)
                elif name != "_NEVER":
                    self._add_patterns(module, name, value)

    def turn_all(self, state: str, names: Iterable[str] | None = None) -> None:
        for name in self.parts if names is None else names:
            self.parts[name].turn(state)

    def _add_function(self, module: ModuleType, function: FunctionType, vetoes: set[int]) -> None:
        neutral = _neutral(function)
        if neutral is None or function.__closure__ or inspect.isgeneratorfunction(function):
            return
        folder = module.__name__.split(".")[1]
        name = f"{module.__name__.removeprefix('querybus_translator.')}.{function.__name__}"
        kind = "veto" if id(function) in vetoes else "rewording" if folder == "rewording" else "reader"
        kind = kind if kind != "reader" or _changes_sketch(function) else "helper"
        code = function.__code__
        original = FunctionType(code, function.__globals__, function.__name__, function.__defaults__)
        original.__kwdefaults__ = function.__kwdefaults__

        def watched(*arguments: Any, **named: Any) -> Any:
            before = _state(arguments[0]) if _changes_sketch(function) else None
            result = original(*arguments, **named)
            nothing = neutral(arguments)
            changed = result is not nothing and (type(result) is not type(nothing) or result != nothing)
            if changed or (before is not None and before != _state(arguments[0])):
                self.fired.add(name)
            return result

        source = f"def call(*arguments, **named): return {_CALLS}[{name!r}](*arguments, **named)"
        space: dict[str, Any] = {}
        exec(source, space)

        def turn(state: str) -> None:
            off: Callable[..., Any] = lambda *arguments, **_: neutral(arguments)  # noqa: E731
            self._calls[name] = off if state == "off" else watched
            function.__code__ = code if state == "plain" else space["call"].__code__

        self.parts[name] = Part(name, kind, len(inspect.getsource(original).splitlines()), turn)

    def _add_patterns(self, module: ModuleType, name: str, value: Any) -> None:
        base = f"{module.__name__.removeprefix('querybus_translator.')}.{name}"

        def watch(item: Any, path: str) -> Any:
            if isinstance(item, WatchedPattern):
                return item
            if isinstance(item, re.Pattern):
                pattern = WatchedPattern(item, lambda: self.fired.add(path))

                def turn(state: str) -> None:
                    pattern.state = state

                self.parts[path] = Part(path, "pattern", 2, turn)
                return pattern
            if isinstance(item, tuple) and type(item) is tuple:
                return tuple(watch(one, f"{path}[{number}]") for number, one in enumerate(item))
            return item

        if isinstance(value, re.Pattern | tuple) and not isinstance(value, WatchedPattern):
            replaced = watch(value, base)
            setattr(module, name, replaced)
            for other in list(_modules()):
                for alias, held in list(vars(other).items()):
                    if held is value and held is not replaced:
                        setattr(other, alias, replaced)


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(querybus_translator.__path__, "querybus_translator."):
        if found.name.split(".")[1] in PARTS:
            yield importlib.import_module(found.name)


def _changes_sketch(function: FunctionType) -> bool:
    return next(iter(function.__annotations__.values()), "") in ("Sketch", Sketch) and function.__annotations__.get(
        "return"
    ) in ("None", None)


def _state(sketch: Any) -> tuple[Any, ...]:
    values = (getattr(sketch, one.name) for one in fields(sketch))
    return tuple(list(value) if isinstance(value, list | set | dict) else value for value in values)


def _neutral(function: FunctionType) -> Callable[[Sequence[Any]], Any] | None:
    """Return what a function returns that does nothing, from its arguments; None where that is not known."""
    returns = str(function.__annotations__.get("return", ""))
    first = str(next(iter(function.__annotations__.values()), ""))
    if returns == "None" or returns.endswith("| None"):
        return lambda _: None
    for kind, value in _EMPTY.items():
        if returns == kind or returns.startswith(f"{kind}["):
            return lambda _: value()
    if returns == first and returns in ("str", "Form"):
        return lambda arguments: arguments[0]
    return None


_EMPTY: Final[Mapping[str, Callable[[], Any]]] = {
    "bool": bool, "float": float, "list": list, "tuple": tuple, "set": set, "frozenset": frozenset, "dict": dict,
}  # fmt: skip


def weigh_parts(
    ablation: Ablation, questions: Sequence[Any], answer: Callable[[Any], str], progress: Callable[[str], None]
) -> tuple[list[str], list[Worth]]:
    """Return each question's outcome ("right", "wrong", "asked"), and what each part is worth over them all."""
    where: dict[str, list[int]] = {name: [] for name in ablation.parts}
    outcomes: list[str] = []
    ablation.turn_all("watched")
    for number, question in enumerate(questions):
        ablation.fired.clear()
        outcomes.append(answer(question))
        for name in ablation.fired:
            where[name].append(number)
    ablation.turn_all("plain")
    progress(f"{len(questions)} questions asked; {sum(map(bool, where.values()))} of {len(where)} parts fired")
    worths: list[Worth] = []
    for name, places in where.items():
        part = ablation.parts[name]
        asked = places[:: max(1, len(places) // OFTEN)][:OFTEN]
        part.turn("off")
        without = [answer(questions[place]) for place in asked]
        part.turn("plain")
        with_it = [outcomes[place] for place in asked]
        worths.append(
            Worth(
                part,
                len(places),
                len(asked),
                with_it.count("right") - without.count("right"),
                with_it.count("wrong") - without.count("wrong"),
            )
        )
    return outcomes, sorted(worths, key=lambda one: (-one.right, one.wrong, -one.fired))
