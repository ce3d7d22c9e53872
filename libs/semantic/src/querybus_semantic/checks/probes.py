"""Probes: one bounded statement for each claim of a layer. What keys and relations claim is measured, never believed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.sql.parse import GRAMMARS
from querybus_semantic.compiling.compile import Compiled, compile_request
from querybus_semantic.compiling.engines import finished
from querybus_semantic.compiling.joins import Joins
from querybus_semantic.compiling.paths import cardinality
from querybus_semantic.layer.definitions import Cardinality, Dataset, Layer, Relation
from querybus_semantic.layer.refusal import Refusal, RefusedError
from querybus_semantic.layer.request import Request

EXAMPLES_MAX: Final = 10


class Subject(StrEnum):
    """What a probe measures."""

    KEY = "key"
    RELATION = "relation"
    ORPHANS = "orphans"
    VALUES = "values"
    VALIDITY = "validity"
    METRIC = "metric"


class Severity(StrEnum):
    """An error makes numbers wrong; a warning makes them surprising."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Probe:
    """A statement about one claim; `columns` are the columns whose values are listed."""

    subject: Subject
    about: str
    sql: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What is not as the layer claims; `values` are examples from the data."""

    severity: Severity
    about: str
    detail: str
    values: tuple[str, ...] = ()


def static_findings(layer: Layer, dialect: Dialect) -> Iterator[Finding]:
    """Yield what is wrong without looking at data: metrics that do not compile, relations that cannot be used."""
    for name in layer.metrics:
        compiled = compile_request(_approved(layer), Request((name,)), dialect)
        if isinstance(compiled, Refusal):
            yield Finding(Severity.ERROR, f"metric {name}", compiled.detail)
    for relation in layer.relations:
        kind = cardinality(layer, relation)
        if kind is Cardinality.N_TO_M:
            yield Finding(
                Severity.WARNING,
                f"relation {relation.name}",
                f"No key of {relation.one} is covered by {', '.join(relation.one_columns)}: it is closed until it is measured.",
            )


def _approved(layer: Layer) -> Layer:
    return replace(
        layer,
        metrics={
            name: replace(metric, words=replace(metric.words, state="approved"))
            for name, metric in layer.metrics.items()
        },
    )


def probes(layer: Layer, dialect: Dialect) -> Iterator[Probe]:
    """Yield a statement for every key, relation, list of codes, validity and metric of a layer."""
    for dataset in layer.datasets.values():
        for key in dataset.keys:
            yield Probe(Subject.KEY, dataset.name, _repeated(layer, dataset, key, dialect), key)
        for field in dataset.fields.values():
            if field.values:
                yield Probe(
                    Subject.VALUES,
                    f"{dataset.name}.{field.name}",
                    _other_values(layer, dataset, field.name, dialect),
                    (field.name,),
                )
        if dataset.validity is not None:
            yield Probe(Subject.VALIDITY, dataset.name, _overlaps(layer, dataset, dialect), (dataset.validity.key,))
    for relation in layer.relations:
        one = layer.dataset(relation.one)
        if one is not None:
            yield Probe(
                Subject.RELATION,
                relation.name,
                _repeated(layer, one, relation.one_columns, dialect),
                relation.one_columns,
            )
        if relation.range is None and relation.asof is None:
            yield Probe(Subject.ORPHANS, relation.name, _orphans(layer, relation, dialect))
    for name in layer.metrics:
        compiled = compile_request(_approved(layer), Request((name,)), dialect)
        if isinstance(compiled, Compiled):
            yield Probe(Subject.METRIC, name, compiled.sql)


def _text(query: exp.Select, dialect: Dialect) -> str:
    return GRAMMARS[dialect].generate(finished(query, dialect), comments=False, copy=False)


def _repeated(layer: Layer, dataset: Dataset, key: Sequence[str], dialect: Dialect) -> str:
    joins = Joins(layer, dialect, dataset.name)
    columns = [joins.own(column) for column in key]
    count = exp.Count(this=exp.Star())
    query = joins.select().select(*[column.copy() for column in columns], exp.alias_(count, "times"), copy=False)
    # A key without a value is no key of a row; it can never be joined to, so it does not multiply.
    query = query.where(
        *[exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null())) for column in columns], copy=False
    )
    query = query.group_by(*columns, copy=False).having(
        exp.GT(this=count, expression=exp.Literal.number(1)), copy=False
    )
    ordered = query.order_by(*[exp.Ordered(this=column.copy()) for column in columns], copy=False)
    return _text(ordered.limit(EXAMPLES_MAX, copy=False), dialect)


def _other_values(layer: Layer, dataset: Dataset, name: str, dialect: Dialect) -> str:
    field = dataset.fields[name]
    joins = Joins(layer, dialect, dataset.name)
    value = joins.own(name)
    numbers = all(code.lstrip("-").isdigit() for code in field.values)
    codes = [
        exp.Literal.number(code) if numbers and field.type.value in {"integer", "number"} else exp.Literal.string(code)
        for code in field.values
    ]
    query = (
        joins.select()
        .select(value, copy=False)
        .distinct(copy=False)
        .where(exp.Not(this=exp.In(this=value.copy(), expressions=codes)), copy=False)
    )
    return _text(query.limit(EXAMPLES_MAX, copy=False), dialect)


def _overlaps(layer: Layer, dataset: Dataset, dialect: Dialect) -> str:
    rule = dataset.validity
    if rule is None:
        raise ValueError("only a dataset with a validity is asked")
    joins = Joins(layer, dialect, dataset.name)
    start, end, key = joins.own(rule.valid_from), joins.own(rule.valid_to), joins.own(rule.key)
    following = exp.Window(
        this=exp.Lead(this=start.copy()),
        partition_by=[key.copy()],
        order=exp.Order(expressions=[exp.Ordered(this=start.copy())]),
    )
    inner = joins.select().select(exp.alias_(key, "k"), exp.alias_(end, "e"), exp.alias_(following, "f"), copy=False)
    query = (
        exp.select("k")
        .distinct(copy=False)
        .from_(exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("r"))), copy=False)
    )
    f, e = exp.column("f"), exp.column("e")
    query = query.where(
        exp.Not(this=exp.Is(this=f, expression=exp.Null())),
        exp.paren(exp.or_(exp.Is(this=e, expression=exp.Null()), exp.GT(this=e.copy(), expression=f.copy()))),
        copy=False,
    )
    return _text(query.limit(EXAMPLES_MAX, copy=False), dialect)


def _orphans(layer: Layer, relation: Relation, dialect: Dialect) -> str:
    many = Joins(layer, dialect, relation.many)
    one = Joins(layer, dialect, relation.one, prefix="x_")
    left = [many.own(column) for column in relation.many_columns]
    right = [one.own(column) for column in relation.one_columns]
    present = [exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null())) for column in right]
    inner = one.select().select(*right, copy=False).where(*present, copy=False)
    key = left[0] if len(left) == 1 else exp.Tuple(expressions=left)
    query = many.select().select(exp.alias_(exp.Count(this=exp.Star()), "n"), copy=False)
    has_value = [exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null())) for column in left]
    query = query.where(*has_value, exp.Not(this=exp.In(this=key.copy(), query=exp.Subquery(this=inner))), copy=False)
    return _text(query, dialect)


def finding_of(layer: Layer, probe: Probe, rows: Sequence[Sequence[object]]) -> Finding | None:
    """Return what a probe's rows mean; None where the claim holds."""
    if not rows:
        return None
    values = tuple("|".join(str(value) for value in row[: len(probe.columns)]) for row in rows)
    names = ", ".join(probe.columns)
    if probe.subject is Subject.KEY:
        return Finding(
            Severity.ERROR,
            probe.about,
            f"{names} is declared as a key of {probe.about}, but {len(values)}{' or more' if len(values) == EXAMPLES_MAX else ''} "
            f"values stand there more than once: {', '.join(values)}. Joins to it would multiply rows.",
            values,
        )
    if probe.subject is Subject.RELATION:
        relation = next(one for one in layer.relations if one.name == probe.about)
        if relation.range is not None or relation.asof is not None:
            return None
        return Finding(
            Severity.ERROR,
            f"relation {probe.about}",
            f"{names} is not unique in {relation.one}: {', '.join(values)}. The relation is n:m and is closed.",
            values,
        )
    if probe.subject is Subject.ORPHANS:
        count = rows[0][0]
        if not isinstance(count, int) or count == 0:
            return None
        return Finding(
            Severity.WARNING,
            f"relation {probe.about}",
            "1 row has no match; it forms a group without a value."
            if count == 1
            else f"{count:,} rows have no match; they form a group without a value.",
        )
    if probe.subject is Subject.VALUES:
        return Finding(
            Severity.WARNING, probe.about, f"Values that the layer does not list: {', '.join(values)}.", values
        )
    if probe.subject is Subject.VALIDITY:
        return Finding(
            Severity.ERROR, probe.about, f"Rows of one {names} overlap in time: {', '.join(values)}.", values
        )
    return None


def measured(layer: Layer, results: Mapping[str, Sequence[Sequence[object]]]) -> Layer:
    """Return the layer with relations as measured; `results` are the rows of its RELATION probes by relation name."""
    relations: list[Relation] = []
    for relation in layer.relations:
        rows = results.get(relation.name)
        if rows is None:
            relations.append(relation)
            continue
        one = layer.dataset(relation.one)
        versioned = relation.range is not None or relation.asof is not None
        kind = Cardinality.N_TO_M if rows and not versioned else Cardinality.N_TO_ONE
        if kind is Cardinality.N_TO_ONE and one is not None and cardinality(layer, relation) is Cardinality.ONE_TO_ONE:
            kind = Cardinality.ONE_TO_ONE
        relations.append(replace(relation, measured=kind))
    return replace(layer, relations=tuple(relations))


def failed(about: str, error: RefusedError | Exception) -> Finding:
    """Return the finding for a probe that could not be run."""
    detail = error.refusal.detail if isinstance(error, RefusedError) else str(error)
    return Finding(Severity.ERROR, about, f"It could not be run: {detail}")
