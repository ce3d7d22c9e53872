"""Cube's data model, as YAML. References in braces are replaced by names before anything is parsed; Jinja is never run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from sqlglot import exp

from querybus_semantic.compiling.expressions import aggregates, is_windowed, parse_unlabelled
from querybus_semantic.formats.cube_references import is_jinja, members_in, sql_of
from querybus_semantic.formats.default_date import default_date
from querybus_semantic.formats.dependents import fallen
from querybus_semantic.formats.document import BadFileError, Document, Lines, Report, items, mapping, text, texts
from querybus_semantic.formats.known_keys import CUBE
from querybus_semantic.formats.ossie import span_of
from querybus_semantic.layer.definitions import (
    Calendar,
    Cumulative,
    Dataset,
    Field,
    Grain,
    Input,
    Layer,
    Metric,
    NamedFilter,
    Range,
    Relation,
    Type,
    Words,
)
from querybus_semantic.layer.refusal import Code, RefusedError

_ONE_SIDE: Final = frozenset({"many_to_one", "belongsto", "belongs_to", "one_to_one", "hasone", "has_one"})
_TYPES: Final = {
    "string": Type.TEXT,
    "number": Type.NUMBER,
    "time": Type.DATE,
    "boolean": Type.BOOLEAN,
    "switch": Type.TEXT,
}
_AGGREGATES: Final = {
    "sum": "SUM({})",
    "avg": "AVG({})",
    "min": "MIN({})",
    "max": "MAX({})",
    "count": "COUNT({})",
    "count_distinct": "COUNT(DISTINCT {})",
    "count_distinct_approx": "COUNT(DISTINCT {})",
}
_UNUSED: Final = {
    "hierarchies": "no counterpart",
    "pre_aggregations": "no counterpart: every figure is computed from rows",
    "access_policy": "never taken over: permission is the connection's policy",
    "refresh_key": "no counterpart",
    "data_source": "no counterpart: a connection is one database",
}


def read_cube(documents: Sequence[tuple[Document, Lines]], name: str) -> tuple[Layer, Report]:
    """Return the layer that Cube's files make together. No cube in them: BadFileError."""
    cubes: dict[str, Document] = {}
    views: list[Document] = []
    for document, _ in documents:
        cubes |= {text(node.get("name")): node for node in items(document.get("cubes"))}
        views += items(document.get("views"))
    if not cubes:
        raise BadFileError("The files have no `cubes`: they are no data model of Cube.")
    report = Report(Lines(tuple(root for _, lines in documents for root in lines.roots)))
    flat = {key: _extended(node, cubes) for key, node in cubes.items()}
    for key in [key for key, node in flat.items() if is_jinja(f"{node.get('sql')} {node.get('sql_table')}")]:
        report.list(f"cubes.{key}", "left out with all its members: Jinja is never run")
        del flat[key]
    datasets = {key: _dataset(node, report) for key, node in flat.items()}
    layer = Layer(
        name=name,
        datasets=datasets,
        relations=_relations(flat, datasets, report),
        filters=_segments(flat, report),
        calendar=_calendar(flat),
        # Cube joins the results of its cubes from outside: a group that a cube has no rows of has no count there.
        zero_counts=False,
        instructions="\n".join(text(mapping(view.get("meta")).get("ai_context")) for view in views if view.get("meta")),
    )
    layer = _without_dependents(replace(layer, metrics=_metrics(flat, datasets, report)), flat, report)
    for view in views:
        layer = _renamed(layer, view, report)
    return layer, report


def _without_dependents(layer: Layer, cubes: Mapping[str, Document], report: Report) -> Layer:
    """Return the layer without the members that stand on a member which was left out, each of them listed."""
    uses: dict[str, set[str]] = {}
    kinds: dict[str, str] = {}
    for cube, node in cubes.items():
        for kind in ("dimensions", "measures", "segments"):
            for one in items(node.get(kind)):
                member = f"{cube}.{text(one.get('name'))}"
                kinds[member], uses[member] = kind, members_in(one, cube) - {member}
    metrics = {f"{metric.dataset}.{metric.name}": key for key, metric in layer.metrics.items()}
    taken = {
        *metrics,
        *(f"{name}.{field}" for name, dataset in layer.datasets.items() for field in dataset.fields),
        *(f"{segment.dataset}.{segment.name}" for segment in layer.filters.values()),
    }
    # A cube that is not there at all takes the members with it that name one of its own.
    named = {part for parts in uses.values() for part in parts}
    gone = {member for member in {*uses, *named} if member not in taken and not _is_column(member, uses, layer)}
    lacking = {member: part for member, part in fallen(uses, gone).items() if member in taken}
    for member, part in lacking.items():
        cube, _, name = member.partition(".")
        report.list(f"cubes.{cube}.{kinds[member]}.{name}", f"left out: it stands on `{part}`, which was left out")
    datasets = {
        name: replace(
            dataset,
            fields={field: value for field, value in dataset.fields.items() if f"{name}.{field}" not in lacking},
            primary_key=()
            if any(f"{name}.{field}" in lacking for field in dataset.primary_key)
            else dataset.primary_key,
        )
        for name, dataset in layer.datasets.items()
    }
    return replace(
        layer,
        datasets=datasets,
        metrics={key: one for key, one in layer.metrics.items() if f"{one.dataset}.{one.name}" not in lacking},
        filters={key: one for key, one in layer.filters.items() if f"{one.dataset}.{one.name}" not in lacking},
    )


def _is_column(member: str, declared: Mapping[str, object], layer: Layer) -> bool:
    """Return whether a reference that names no declared member may be a column of a cube that is there."""
    return member not in declared and member.partition(".")[0] in layer.datasets


def _renamed(layer: Layer, view: Document, report: Report) -> Layer:
    """Return the layer with the names that a view gives to members of cubes as their synonyms."""
    view_name = text(view.get("name"))
    report.list(
        f"views.{view_name}", "its names are taken; what it leaves out stays there, and its join paths pin none"
    )
    datasets, metrics = dict(layer.datasets), dict(layer.metrics)
    for part in items(view.get("cubes")):
        cube = text(part.get("join_path")).rpartition(".")[2]
        for member in items(part.get("includes")):
            name = text(member.get("name"))
            spoken = [text(member.get(key)).replace("_", " ") for key in ("title", "alias") if member.get(key)]
            metric = layer.metric(f"{cube}.{name}") or layer.metric(name)
            if metric is not None and metric.dataset == cube:
                key = next(key for key, one in layer.metrics.items() if one is metric)
                metrics[key] = replace(metric, words=_with_synonyms(metric.words, spoken))
            elif cube in datasets and name in datasets[cube].fields:
                field = datasets[cube].fields[name]
                field = replace(field, words=_with_synonyms(field.words, spoken))
                datasets[cube] = replace(datasets[cube], fields={**datasets[cube].fields, name: field})
    return replace(layer, datasets=datasets, metrics=metrics)


def _with_synonyms(words: Words, spoken: Sequence[str]) -> Words:
    return replace(words, synonyms=tuple(dict.fromkeys((*words.synonyms, *spoken))))


def _extended(node: Document, cubes: Mapping[str, Document]) -> Document:
    result: dict[str, Any] = dict(node)
    seen = {text(node.get("name"))}
    parent = text(node.get("extends"))
    while parent in cubes and parent not in seen:
        seen.add(parent)
        for key, value in cubes[parent].items():
            if key in {"joins", "dimensions", "measures", "segments"}:
                own = {text(one.get("name")) for one in items(result.get(key))}
                result[key] = [
                    *items(result.get(key)),
                    *[one for one in items(value) if text(one.get("name")) not in own],
                ]
            elif key not in {"name", "public", "extends"}:
                result.setdefault(key, value)
        parent = text(cubes[parent].get("extends"))
    return result


def _words(node: Document) -> Words:
    meta = mapping(node.get("meta"))
    spoken = text(meta.get("ai_context"))
    title = text(node.get("title"))
    return Words(
        description=text(node.get("description")),
        label={"en": title} if title else {},
        synonyms=texts(meta.get("synonyms")) or tuple(part.strip() for part in spoken.split(",") if part.strip()),
        offered=node.get("public") is not False and node.get("shown") is not False,
    )


def _dataset(node: Document, report: Report) -> Dataset:
    name = text(node.get("name"))
    report.list_unknown(f"cubes.{name}", node, CUBE["cube"])
    for unused, reason in _UNUSED.items():
        if node.get(unused):
            report.list(f"cubes.{name}.{unused}", reason)
    fields: dict[str, Field] = {}
    key: list[str] = []
    is_keyed = True
    for one in report.entries(f"cubes.{name}", node, "dimensions"):
        field = _field(one, name, report)
        if field is not None:
            fields[field.name] = field
            if one.get("primary_key"):
                key.append(field.name)
        elif one.get("primary_key"):
            # The rest of a key is no key.
            is_keyed = False
    return Dataset(
        name=name,
        source=text(node.get("sql_table")) or text(node.get("sql")) or name,
        primary_key=tuple(key) if is_keyed else (),
        fields=fields,
        time=default_date(name, fields.values(), f"cubes.{name}", report),
        words=_words(node),
    )


def _field(node: Document, cube: str, report: Report) -> Field | None:
    name, kind = text(node.get("name")), text(node.get("type"))
    path = f"cubes.{cube}.dimensions.{name}"
    report.list_unknown(path, node, CUBE["dimension"])
    for grain in items(node.get("granularities")):
        if _fiscal_month(grain) is None:
            report.list(f"{path}.granularities.{text(grain.get('name'))}", "left out: a grain of an own calendar")
    if node.get("time_shift"):
        report.list(f"{path}.time_shift", "an own shift of the calendar is not taken; periods are shifted by date")
    if kind == "geo" or node.get("sub_query") or is_jinja(node):
        reason = (
            "a point of a map"
            if kind == "geo"
            else "a sub-query per row"
            if node.get("sub_query")
            else "Jinja is never run"
        )
        report.list(path, f"left out: {reason}")
        return None
    expression = sql_of(node.get("sql"), cube) or name
    case = mapping(node.get("case"))
    if case:
        branches = " ".join(
            f"WHEN {sql_of(one.get('sql'), cube)} THEN '{text(one.get('label')).replace(chr(39), chr(39) * 2)}'"
            for one in items(case.get("when"))
        )
        other = text(mapping(case.get("else")).get("label")).replace("'", "''")
        expression = f"CASE {branches} ELSE '{other}' END"
    try:
        tree = parse_unlabelled(expression)
    except RefusedError as error:
        report.list(path, f"left out: {error.refusal.detail}")
        return None
    if aggregates(tree) or is_windowed(tree):
        report.list(path, "left out: a dimension is a value of one row")
        return None
    # A cube's own column may be called like the dimension: its name alone then means the column.
    if isinstance(tree, exp.Column) and tree.table == cube and tree.name == name:
        tree = exp.column(tree.this.copy())
    return Field(
        name,
        tree.sql(),
        type=_TYPES.get(kind, Type.UNKNOWN),
        is_time=kind == "time",
        unit=text(node.get("currency")),
        words=_words(node),
    )


def _relations(cubes: Mapping[str, Document], datasets: Mapping[str, Dataset], report: Report) -> tuple[Relation, ...]:
    found: dict[tuple[str, str, tuple[str, ...], tuple[str, ...]], Relation] = {}
    for cube, node in cubes.items():
        for join in report.entries(f"cubes.{cube}", node, "joins"):
            target = text(join.get("name"))
            path = f"cubes.{cube}.joins.{target}"
            report.list_unknown(path, join, CUBE["join"])
            condition = _condition(sql_of(join.get("sql"), cube, qualified=False), cube, target)
            if target not in datasets or condition is None:
                report.list(
                    path,
                    "left out: only equal columns and [from, to) ranges are joined; it has another condition or no target",
                )
                continue
            pairs, between = condition
            towards = text(join.get("relationship")).lower() in _ONE_SIDE
            many, one = (cube, target) if towards else (target, cube)
            columns = [(left, right) if towards else (right, left) for left, right in pairs]
            relation = Relation(
                f"{many}.{one}",
                many,
                one,
                tuple(pair[0] for pair in columns),
                tuple(pair[1] for pair in columns),
                one,
                between,
            )
            if between is not None:
                # Versions of one thing differ by when they begin.
                relation = replace(
                    relation,
                    many_columns=(*relation.many_columns, between.at),
                    one_columns=(*relation.one_columns, between.valid_from),
                )
            if not datasets[one].keys:
                report.list(path, f"{one} has no primary key: its cardinality must be measured before it may be used")
            found.setdefault((many, one, relation.many_columns, relation.one_columns), relation)
    return tuple(found.values())


def _condition(sql: str, cube: str, target: str) -> tuple[list[tuple[str, str]], Range | None] | None:
    """Return the columns that a join makes equal, the cube's own first, and its [from, to) range; None for anything else."""
    try:
        tree = parse_unlabelled(sql)
    except RefusedError:
        return None
    pairs: list[tuple[str, str]] = []
    bounds: dict[str, tuple[str, str]] = {}
    for part in tree.flatten() if isinstance(tree, exp.And) else [tree]:
        node = part.unnest()
        if isinstance(node, exp.Or):
            # `until IS NULL OR day < until`: an open end.
            sides = [side for side in (node.this.unnest(), node.expression.unnest()) if not isinstance(side, exp.Is)]
            node = sides[0] if len(sides) == 1 else node
        left, right = (node.this, node.expression) if isinstance(node, exp.EQ | exp.GTE | exp.LT) else (None, None)
        if (
            not isinstance(left, exp.Column)
            or not isinstance(right, exp.Column)
            or {left.table, right.table} != {cube, target}
        ):
            return None
        if isinstance(node, exp.EQ):
            pairs.append((left.name, right.name) if left.table == cube else (right.name, left.name))
        elif left.table == cube:
            bounds["from" if isinstance(node, exp.GTE) else "to"] = (left.name, right.name)
        else:
            return None
    if not bounds:
        return (pairs, None) if pairs else None
    if set(bounds) != {"from", "to"} or bounds["from"][0] != bounds["to"][0] or not pairs:
        return None
    return pairs, Range(bounds["from"][0], bounds["from"][1], bounds["to"][1])


def _segments(cubes: Mapping[str, Document], report: Report) -> dict[str, NamedFilter]:
    found: dict[str, NamedFilter] = {}
    for cube, node in cubes.items():
        for one in report.entries(f"cubes.{cube}", node, "segments"):
            name = text(one.get("name"))
            report.list_unknown(f"cubes.{cube}.segments.{name}", one, CUBE["segment"])
            if is_jinja(one):
                report.list(f"cubes.{cube}.segments.{name}", "left out: Jinja is never run")
                continue
            try:
                condition = parse_unlabelled(sql_of(one.get("sql"), cube)).sql()
            except RefusedError as error:
                report.list(f"cubes.{cube}.segments.{name}", f"left out: {error.refusal.detail}")
                continue
            found[name] = NamedFilter(name, cube, condition, _words(one))
    return found


def _calendar(cubes: Mapping[str, Document]) -> Calendar:
    for node in cubes.values():
        for dimension in items(node.get("dimensions")):
            for grain in items(dimension.get("granularities")):
                month = _fiscal_month(grain)
                if month is not None:
                    return Calendar(fiscal_starts_month=month)
    return Calendar()


def _fiscal_month(grain: Document) -> int | None:
    """Return the month in which a fiscal year begins; None for a grain of another kind."""
    offset = span_of(grain.get("offset"))
    is_fiscal = "fiscal" in text(grain.get("name")) and offset is not None and offset.unit is Grain.MONTH
    return offset.count % 12 + 1 if is_fiscal and offset is not None else None


def _metrics(cubes: Mapping[str, Document], datasets: Mapping[str, Dataset], report: Report) -> dict[str, Metric]:
    names = [text(one.get("name")) for node in cubes.values() for one in items(node.get("measures"))]
    found: dict[str, Metric] = {}
    for cube, node in cubes.items():
        for one in report.entries(f"cubes.{cube}", node, "measures"):
            metric = _metric(one, datasets[cube], report)
            if metric is not None:
                key = metric.name if names.count(metric.name) == 1 else f"{cube}.{metric.name}"
                found[key] = metric
    return found


def _metric(node: Document, cube: Dataset, report: Report) -> Metric | None:
    name, kind = text(node.get("name")), text(node.get("type")).lower()
    path = f"cubes.{cube.name}.measures.{name}"
    report.list_unknown(path, node, CUBE["measure"])
    if node.get("drill_members"):
        report.list(f"{path}.drill_members", "no counterpart")
    if is_jinja(node):
        report.list(path, "left out: Jinja is never run")
        return None
    inner = sql_of(node.get("sql"), cube.name)
    if kind == "count" and not inner:
        inner = f"{cube.name}.{cube.primary_key[0]}" if cube.primary_key else "*"
    if kind == "count_distinct_approx":
        report.list(path, "approximate there: the exact count is computed instead")
    base = Metric(name, inner, dataset=cube.name, words=_words(node))
    try:
        if kind in {"number", "number_agg"}:
            return _number(node, base)
        if kind == "running_total":
            return _neutral(replace(base, expression=f"SUM({inner})", cumulative=Cumulative()))
        if kind not in _AGGREGATES:
            report.list(path, f"left out: a measure of type {kind} is no figure that can be aggregated")
            return None
        if node.get("multi_stage"):
            if node.get("group_by") == [] and not _other_stages(node):
                return _neutral(replace(base, of_total=True))
            report.list(path, "left out: stages other than the whole have no counterpart")
            return None
        conditions = [_condition_of(one, cube.name) for one in _listed_filters(node)]
        if conditions:
            inner = f"CASE WHEN {' AND '.join(f'({part})' for part in conditions)} THEN {inner if inner != '*' else '1'} END"
        metric = replace(base, expression=_AGGREGATES[kind].format(inner))
        return _rolling(node, _neutral(metric), path, report)
    except RefusedError as error:
        report.list(path, f"left out: {error.refusal.detail}")
        return None


def _neutral(metric: Metric) -> Metric:
    """Return a metric whose expression the neutral grammar has written; unreadable: RefusedError."""
    return metric if metric.expression == "*" else replace(metric, expression=parse_unlabelled(metric.expression).sql())


def _listed_filters(node: Document) -> list[object]:
    """Return the filters of a measure, of whatever form; no list: RefusedError."""
    given = node.get("filters")
    if given is not None and not isinstance(given, list):
        raise RefusedError(Code.BAD_EXPRESSION, "its filters are no list", text(node.get("name")))
    return cast("list[object]", given or [])


def _condition_of(given: object, cube: str) -> str:
    """Return the condition of one filter; one without SQL is not passed over: RefusedError."""
    sql = mapping(given).get("sql")
    if not isinstance(sql, str) or not sql.strip():
        raise RefusedError(Code.BAD_EXPRESSION, f"its filter has no SQL: {str(given)[:80]}", cube)
    return sql_of(sql, cube)


def _other_stages(node: Document) -> bool:
    return any(node.get(key) for key in ("reduce_by", "add_group_by"))


def _number(node: Document, base: Metric) -> Metric:
    if node.get("group_by") or _other_stages(node):
        raise RefusedError(Code.UNSUPPORTED, "stages other than the whole have no counterpart", base.name)
    base = _neutral(base)
    shifts = items(node.get("time_shift"))
    if not shifts:
        return base
    if len(shifts) > 1 or text(shifts[0].get("type")) not in {"", "prior"}:
        raise RefusedError(Code.UNSUPPORTED, "only one shift to an earlier period has a counterpart", base.name)
    span = span_of(shifts[0].get("interval"))
    tree = parse_unlabelled(base.expression)
    if span is None or not isinstance(tree, exp.Column):
        raise RefusedError(Code.UNSUPPORTED, "a shift of anything but one measure has no counterpart", base.name)
    return replace(base, expression="x", inputs=(Input(tree.sql().replace(f"{base.dataset}.", ""), "x", span),))


def _rolling(node: Document, metric: Metric, path: str, report: Report) -> Metric | None:
    rolling = mapping(node.get("rolling_window"))
    if not rolling:
        return metric
    if text(rolling.get("type")) == "to_date":
        grain = text(rolling.get("granularity"))
        return replace(metric, cumulative=Cumulative(None, Grain(grain) if grain in set(Grain) else None))
    if text(rolling.get("leading")) or text(rolling.get("trailing")) == "" or text(rolling.get("offset")) == "start":
        report.list(path, "left out: a window that looks ahead, or ends before its period")
        return None
    trailing = text(rolling.get("trailing"))
    return replace(metric, cumulative=Cumulative(None if trailing == "unbounded" else span_of(trailing)))
