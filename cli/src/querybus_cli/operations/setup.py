"""What operators and pipelines call: migrate, bus-config, inspect sql."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from querybus.bus.admin.migrate import migrate
from querybus.bus.admin.permissions import ISSUER_VARIABLE, Variable, permission_file, variables
from querybus.bus.connection import connect
from querybus.core.policy import ConnectionPolicy
from querybus.core.subjects import is_token
from querybus.core.topology import Sizes, topology
from querybus_cli.runtime import read_json, read_text
from querybus_semantic.formats.problems import settings_problem, yaml_problem

LINE_LENGTH_MAX: Final = 1_000_000
_GIB: Final = 1 << 30
_KIB: Final = 1_024


def stream_sizes(replicas: int, events_gib: float, events_days: float) -> Sizes:
    """Return the sizes of the streams as an operator gives them."""
    return Sizes(replicas=replicas, events_bytes_max=int(events_gib * _GIB), events_age_seconds=events_days * 86_400)


def capacity(sizes: Sizes) -> str:
    """Return how many questions the event log holds, for people who choose its size."""
    days = sizes.events_age_seconds / 86_400
    small, large = (sizes.events_bytes_max / size for size in (10 * _KIB, 100 * _KIB))
    return (
        f"The event log keeps threads for {days:g} days, at most {sizes.events_bytes_max / _GIB:g} GiB: "
        f"{small:,.0f} questions of 10 KiB each ({small / days:,.0f} a day), {large:,.0f} of 100 KiB. Beyond that it "
        "forgets the oldest threads earlier: raise --events-gib or lower --events-days."
    )


async def migrate_bus(url: str, password: str, tenants: tuple[str, ...], sizes: Sizes) -> tuple[str, ...]:
    """Create or update what the bus must hold; return what was changed."""
    connection = await connect(url, "migrate", password)
    try:
        return await migrate(connection, topology(sizes, tenants))
    finally:
        await connection.close()


def bus_configuration(tenants: Iterable[str]) -> str:
    """Return the permission file for operators: every password, and the key that lets callers in, is a variable of
    nats-server's environment.

    ValueError for a tenant whose name does not fit a subject.

    >>> "TENANT-acme" in bus_configuration(["acme"])
    True
    """
    names = tuple(dict.fromkeys(tenants))
    for name in names:
        if not is_token(name):
            raise ValueError(f"the tenant {name[:80]!r} may have a-z, 0-9 and '-' only, at most 64 of them")
    return permission_file(variables(), Variable(ISSUER_VARIABLE), names)


def judge_lines(
    file: Path | None, catalog: Path, dialect: str, policy: Path | None = None, tenant: str = "", user: str = ""
) -> Iterable[dict[str, Any]]:
    """Judge each JSON line of a file or of standard input; ValueError names the line that is no such JSON."""
    from querybus.core.catalog import Dialect
    from querybus.core.policy import Reader
    from querybus_cli.evaluation.check_statements import catalog_of, judge

    rules, reader = read_policy(policy), Reader(tenant, user)
    try:
        Dialect(dialect)
    except ValueError:
        raise ValueError(f"--dialect is one of {', '.join(Dialect)}, not {dialect!r}") from None
    document = read_json(catalog)
    catalogs = {dialect: catalog_of(document, dialect) for dialect in Dialect}
    lines = sys.stdin if file is None else read_text(file).splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line[:LINE_LENGTH_MAX])
            key, sql = item["id"], str(item["sql"])
            chosen = Dialect(item.get("dialect", dialect))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f'line {number} is not {{"id", "sql"[, "dialect"]}}: {error}') from None
        yield {"id": key, **judge(sql, chosen, catalogs[chosen], rules, reader)}


def read_policy(file: Path | None) -> ConnectionPolicy:
    """Return the policy of a file, in the shape of connections.yaml; ValueError says what is wrong with it."""
    import yaml
    from pydantic import ValidationError

    if file is None:
        return ConnectionPolicy()
    text = read_text(file)
    try:
        return ConnectionPolicy.model_validate(yaml.safe_load(text) or {})
    except yaml.YAMLError as error:
        raise ValueError(f"{file.name} {yaml_problem(error)}") from error
    except ValidationError as error:
        raise ValueError(f"{file.name}: {settings_problem(error, ConnectionPolicy, text)}") from None
