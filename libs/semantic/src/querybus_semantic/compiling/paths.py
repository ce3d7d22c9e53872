"""Ways from one dataset to another over relations: only towards the one side, so that no row is ever multiplied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from weakref import WeakKeyDictionary

from querybus_semantic.layer.definitions import Cardinality, Layer, Relation
from querybus_semantic.layer.refusal import Code, RefusedError

HOPS_MAX: Final = 5
PATHS_MAX: Final = 20


@dataclass(frozen=True, slots=True)
class Step:
    """One relation of a path; `reverse` leads from its one side to its many side."""

    relation: Relation
    reverse: bool = False

    @property
    def start(self) -> str:
        """The dataset that the step leaves."""
        return self.relation.one if self.reverse else self.relation.many

    @property
    def target(self) -> str:
        """The dataset that the step reaches."""
        return self.relation.many if self.reverse else self.relation.one

    @property
    def start_columns(self) -> tuple[str, ...]:
        """The columns that the step compares on the side that it leaves."""
        return self.relation.one_columns if self.reverse else self.relation.many_columns

    @property
    def target_columns(self) -> tuple[str, ...]:
        """The columns that the step compares on the side that it reaches."""
        return self.relation.many_columns if self.reverse else self.relation.one_columns


Path = tuple[Step, ...]


def cardinality(layer: Layer, relation: Relation) -> Cardinality:
    """Return what a relation is: as measured, else as the declared keys say, never as it claims.

    A key covers a relation if all of its columns are among the relation's; a part of a key proves nothing.
    """
    if relation.measured is not None:
        return relation.measured
    one, many = layer.dataset(relation.one), layer.dataset(relation.many)
    if one is None or many is None:
        return Cardinality.UNKNOWN
    extra = () if relation.range is None else (relation.range.valid_from,)
    extra += () if relation.asof is None else (relation.asof.right,)
    if not one.keys:
        return Cardinality.UNKNOWN
    if not _covered(one.keys, (*relation.one_columns, *extra)):
        return Cardinality.N_TO_M
    return Cardinality.ONE_TO_ONE if _covered(many.keys, relation.many_columns) else Cardinality.N_TO_ONE


def _covered(keys: Sequence[tuple[str, ...]], columns: Sequence[str]) -> bool:
    folded = {column.lower() for column in columns}
    return any(key and folded.issuperset(part.lower() for part in key) for key in keys)


def _matches(path: Path, via: tuple[str, ...]) -> bool:
    place = 0
    for wanted in via:
        while place < len(path) and not _is_called(path[place], wanted.lower()):
            place += 1
        if place == len(path):
            return False
        place += 1
    return True


def _is_called(step: Step, wanted: str) -> bool:
    """Whether a step is meant by a relation's name, its role, or the first word of its role (origin, of origin_port)."""
    name, role = step.relation.name.lower(), step.relation.role.lower()
    return wanted in {name, role} or role.startswith(f"{wanted}_")


_STEPS: WeakKeyDictionary[Layer, dict[str, list[Step]]] = WeakKeyDictionary()
_PATHS: WeakKeyDictionary[Layer, dict[tuple[str, str], list[Path]]] = WeakKeyDictionary()


def _safe_steps(layer: Layer) -> dict[str, list[Step]]:
    known = _STEPS.get(layer)
    if known is not None:
        return known
    steps: dict[str, list[Step]] = {}
    for relation in layer.relations:
        kind = cardinality(layer, relation)
        if kind in {Cardinality.N_TO_ONE, Cardinality.ONE_TO_ONE}:
            steps.setdefault(relation.many, []).append(Step(relation))
        if kind is Cardinality.ONE_TO_ONE and relation.range is None and relation.asof is None:
            steps.setdefault(relation.one, []).append(Step(relation, reverse=True))
    _STEPS[layer] = steps
    return steps


def safe_paths(layer: Layer, start: str, target: str) -> list[Path]:
    """Return every path from `start` to `target` that multiplies no row, at most HOPS_MAX steps each, shortest first."""
    known = _PATHS.setdefault(layer, {})
    if (start, target) in known:
        return known[start, target]
    steps = _safe_steps(layer)
    found: list[Path] = []
    open_paths: list[tuple[str, Path]] = [(start, ())]
    while open_paths and len(found) < PATHS_MAX:
        here, path = open_paths.pop(0)
        if here == target:
            found.append(path)
            continue
        if len(path) == HOPS_MAX:
            continue
        visited = {start, *(step.target for step in path)}
        open_paths.extend((step.target, (*path, step)) for step in steps.get(here, ()) if step.target not in visited)
    known[start, target] = found
    return found


def _distinguished(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return a name for each of several paths: by roles, or by relations where these are the same."""
    names = tuple(named(path) for path in paths)
    if len(set(names)) == len(names):
        return names
    return tuple(" > ".join(step.relation.name for step in path) for path in paths)


def path_between(layer: Layer, start: str, target: str, via: tuple[str, ...]) -> Path | None:
    """Return the one safe path, None where there is none. Several: RefusedError that names them."""
    if start == target and not via:
        return ()
    paths = [path for path in safe_paths(layer, start, target) if _matches(path, via) and not _is_detour(layer, path)]
    if not paths:
        return None
    paths = list(
        {
            tuple((step.target, step.start_columns, step.target_columns) for step in path): path for path in paths
        }.values()
    )
    exact = [path for path in paths if via and len(path) == len(via)]
    if len(exact) == 1:
        return exact[0]
    if len(paths) > 1:
        options = _distinguished(paths)
        raise RefusedError(
            Code.AMBIGUOUS_PATH,
            f"There are {len(paths)} ways from {start} to {target}: {'; '.join(options)}. They give different numbers.",
            target,
            options,
        )
    return paths[0]


def _is_detour(layer: Layer, path: Path) -> bool:
    """Whether a path passes a dataset by one and the same key although a relation leads past it: it reaches the same row."""
    for first, second in pairwise(path):
        if first.target_columns != second.start_columns:
            continue
        wanted = first.start, second.target, first.start_columns, second.target_columns
        for relation in layer.relations:
            for past in (Step(relation), Step(relation, reverse=True)):
                if (past.start, past.target, past.start_columns, past.target_columns) == wanted:
                    return True
    return False


def named(path: Path) -> str:
    """Return a path by its relations' roles or names."""
    return " > ".join(step.relation.role or step.relation.name for step in path)


def is_association(layer: Layer, relation: Relation) -> bool:
    """Whether the many side only pairs two datasets: its key is the columns of two relations and nothing else."""
    many = layer.dataset(relation.many)
    if many is None or not many.primary_key:
        return False
    others = [other for other in layer.relations if other.many == relation.many and other is not relation]
    key = {column.lower() for column in many.primary_key}
    return any(key == {column.lower() for column in (*relation.many_columns, *other.many_columns)} for other in others)


def bridged_path(layer: Layer, start: str, target: str, via: tuple[str, ...], *, untaught: bool) -> Path | None:
    """Return the one path that crosses exactly one bridge against its direction, or None.

    `untaught` allows pure association tables without a rule: for counts and extremes there is only once per group.
    """
    found: list[Path] = []
    for relation in layer.relations:
        if relation.bridge is None and not (untaught and is_association(layer, relation)):
            continue
        if cardinality(layer, relation) not in {Cardinality.N_TO_ONE, Cardinality.ONE_TO_ONE}:
            continue
        for before in safe_paths(layer, start, relation.one):
            for after in safe_paths(layer, relation.many, target):
                path = (*before, Step(relation, reverse=True), *after)
                if (
                    len(path) <= HOPS_MAX
                    and _matches(path, via)
                    and not any(step.relation is relation for step in after)
                ):
                    found.append(path)
    if len(found) > 1:
        options = _distinguished(found)
        raise RefusedError(
            Code.AMBIGUOUS_PATH,
            f"There are {len(found)} ways from {start} to {target}: {'; '.join(options)}.",
            target,
            options,
        )
    return found[0] if found else None


def many_side_path(layer: Layer, start: str, target: str, via: tuple[str, ...]) -> tuple[Path, Path] | None:
    """Return how rows of the many side are reached: a safe path to a relation, that relation reversed, then a safe path.

    The first part ends at the relation's one side; the second begins with the reversed step. Several: RefusedError.
    """
    found: list[tuple[Path, Path]] = []
    for relation in layer.relations:
        if cardinality(layer, relation) is not Cardinality.N_TO_ONE or relation.range or relation.asof:
            continue
        for before in safe_paths(layer, start, relation.one):
            for after in safe_paths(layer, relation.many, target):
                back = (Step(relation, reverse=True), *after)
                if _matches((*before, *back), via) and not any(step.relation is relation for step in after):
                    found.append((before, back))
    found.sort(key=lambda pair: len(pair[0]) + len(pair[1]))
    shortest = (
        [pair for pair in found if len(pair[0]) + len(pair[1]) == len(found[0][0]) + len(found[0][1])] if found else []
    )
    if len(shortest) > 1:
        options = _distinguished([(*before, *back) for before, back in shortest])
        raise RefusedError(
            Code.AMBIGUOUS_PATH,
            f"There are {len(options)} ways from {start} to {target}: {'; '.join(options)}.",
            target,
            options,
        )
    return shortest[0] if shortest else None


def _reaches_many(layer: Layer, start: str, target: str) -> bool:
    """Whether rows of the target are reached against the direction of a relation, by one way or by several."""
    try:
        return many_side_path(layer, start, target, ()) is not None
    except RefusedError:
        return True


def why_no_path(layer: Layer, start: str, target: str, via: tuple[str, ...] = ()) -> RefusedError:
    """Return the refusal for a dimension or filter that cannot be reached without multiplying rows, or not in that way."""
    others = [path for path in safe_paths(layer, start, target) if path]
    if via and others:
        options = _distinguished(others)
        detail = f"No way from {start} to {target} leads over {', '.join(via)}; there is: {'; '.join(options)}."
        return RefusedError(Code.NO_PATH, detail, target, options)
    for relation in layer.relations:
        kind = cardinality(layer, relation)
        if kind in {Cardinality.UNKNOWN, Cardinality.N_TO_M} and (
            (relation.many == start and relation.one == target)
            or (safe_paths(layer, start, relation.many) and safe_paths(layer, relation.one, target))
        ):
            reason = (
                "it has no key that is known"
                if kind is Cardinality.UNKNOWN
                else "its columns are not unique there, so the join would multiply rows"
            )
            return RefusedError(
                Code.CLOSED_RELATION,
                f"Relation {relation.name} to {relation.one} cannot be used: {reason}.",
                relation.name,
            )
    if _reaches_many(layer, start, target):
        return RefusedError(
            Code.NO_PATH,
            f"{start} cannot be split by {target}: one row of {start} belongs to several rows of {target}, and no rule "
            "says how it counts. Teach a bridge rule (once per group, or by weight), or ask at the level of "
            f"{start}.",
            target,
        )
    return RefusedError(Code.NO_PATH, f"No relation leads from {start} to {target}.", target)
