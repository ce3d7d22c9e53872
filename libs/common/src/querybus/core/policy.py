"""What a connection is and what may be done on it. No secret stands in here: it is read by several services.

A policy is configuration, never part of a request. What it says for one tenant can only narrow what it says for all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure

ROWS_MAX_DEFAULT: Final = 10_000
ROWS_AFFECTED_MAX_DEFAULT: Final = 1_000
ROW_FILTER_PARAMETERS: Final = ("tenant", "user")
"""What a row filter may name as `:tenant` and `:user`; the values are the credential's."""


class Access(StrEnum):
    """What kinds of statement a connection takes."""

    READ_ONLY = "read_only"
    READ_WRITE = "read_write"
    FULL = "full"


class StatementKind(StrEnum):
    """A statement in one word. `query` reads rows, `describe` reads about tables and plans."""

    QUERY = "query"
    DESCRIBE = "describe"
    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"
    CREATE = "create"
    ALTER = "alter"
    DROP = "drop"
    TRUNCATE = "truncate"


_READS: Final = (StatementKind.QUERY, StatementKind.DESCRIBE)
_WRITES: Final = (StatementKind.INSERT, StatementKind.UPDATE, StatementKind.DELETE)
KINDS: Final[dict[Access, frozenset[StatementKind]]] = {
    Access.READ_ONLY: frozenset(_READS),
    Access.READ_WRITE: frozenset((*_READS, *_WRITES)),
    Access.FULL: frozenset(StatementKind),
}
"""Which statements an access takes; everything that changes something needs a person's confirmation as well."""

_ORDER: Final = (Access.READ_ONLY, Access.READ_WRITE, Access.FULL)


@dataclass(frozen=True, slots=True)
class Reader:
    """For whom a statement runs: the tenant and the user of the credential, never of a request."""

    tenant: str
    user: str


class Rules(BaseModel):
    """What may be done, for all tenants of a connection or for one of them.

    A table is named `table` or `schema.table`, case ignored.
    """

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    schemas_allowed: tuple[str, ...] | None = Field(default=None, description="None: every schema of the catalog")
    tables_allowed: tuple[str, ...] | None = Field(default=None, description="None: every table of the catalog")
    columns_denied: Mapping[str, tuple[str, ...]] = Field(
        default={}, description="table -> columns that nobody may read"
    )
    columns_masked: Mapping[str, tuple[str, ...]] = Field(
        default={}, description="table -> columns shown as *** (text) or NULL (else), and refused in any condition"
    )
    row_filters: Mapping[str, str] = Field(
        default={}, description="table -> condition on its rows; :tenant and :user are the credential's"
    )
    statements_allowed: tuple[StatementKind, ...] | None = Field(
        default=None, description="None: every kind that the access takes"
    )
    second_person: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
        description="a change is confirmed by an analyst other than its asker",
    )
    only_verified: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
        description="only verified questions and definitions are answered",
    )
    rows_max: int = Field(default=ROWS_MAX_DEFAULT, ge=1)
    rows_affected_max: int = Field(
        default=ROWS_AFFECTED_MAX_DEFAULT, ge=0, description="rows that one confirmed write may change"
    )
    tenants_allowed: tuple[str, ...] | None = Field(
        default=None, description="the tenants that may use the connection at all; not set: every tenant"
    )
    plan_rows_soft_max: int | None = Field(
        default=None, ge=1, description="rows that the engine expects to go through; beyond it a person is asked"
    )
    plan_rows_hard_max: int | None = Field(default=None, ge=1, description="the same; beyond it the query is refused")
    plan_cost_soft_max: float | None = Field(default=None, gt=0, description="cost in the engine's own unit; asked")
    plan_cost_hard_max: float | None = Field(default=None, gt=0, description="cost in the engine's own unit; refused")


class TenantRules(Rules):
    """What is narrower for one tenant; what is not set stays as it is for all."""

    access: Access | None = None


class ConnectionPolicy(Rules):
    """Rules of one connection, applied by the validator and again by the executor."""

    access: Access = Access.READ_ONLY
    views_open: tuple[str, ...] = Field(
        default=(),
        description="views that may be read although rows or columns of tables are protected; * for all",
    )
    native: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
        description="PostgreSQL: name the reader to the database's own row security as well, for each statement",
    )
    functions_allowed: tuple[str, ...] = Field(default=(), description="the database's own functions that are harmless")
    statement_timeout_seconds: float = Field(default=30.0, gt=0)
    allow_llm_to_see_data: bool = True
    personal_for_business: Literal["masked", "shown"] = Field(
        default="masked", description="what business readers see of contact data and of names of private persons"
    )
    tenants: Mapping[str, TenantRules] = Field(default={}, description="tenant -> what is narrower for it")

    def of(self, tenant: str) -> ConnectionPolicy:
        """Return the policy as it is for one tenant."""
        rules = self.tenants.get(tenant)
        if rules is None:
            return self
        narrowed = self._by_tenant.get(tenant)
        if narrowed is None:
            narrowed = self._by_tenant[tenant] = _narrowed(self, rules)
        return narrowed

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> ConnectionPolicy:
        """Return a checked copy that has computed nothing yet: what is kept here must fit the fields."""
        del deep
        return ConnectionPolicy.model_validate({name: getattr(self, name) for name in _FIELDS} | dict(update or {}))

    @cached_property
    def _by_tenant(self) -> dict[str, ConnectionPolicy]:
        return {}

    @property
    def kinds(self) -> frozenset[StatementKind]:
        """The kinds of statement that may be asked for; a change still needs its confirmation."""
        kinds = KINDS[self.access]
        return kinds if self.statements_allowed is None else kinds & frozenset(self.statements_allowed)

    def serves(self, tenant: str) -> bool:
        """Return whether this tenant may use the connection at all."""
        return self.tenants_allowed is None or tenant in self.tenants_allowed

    @cached_property
    def protects_parts(self) -> bool:
        """Whether some rows or columns of readable tables are protected, which a view could show."""
        return bool(self.columns_denied or self.columns_masked or self.row_filters)

    @property
    def limits_plans(self) -> bool:
        """Whether what the engine expects of a statement is held against a limit."""
        limits = (self.plan_rows_soft_max, self.plan_rows_hard_max, self.plan_cost_soft_max, self.plan_cost_hard_max)
        return any(limit is not None for limit in limits)

    @property
    def hidden_columns(self) -> tuple[str, ...]:
        """`table.column` of everything that some reader may not see: no value of these is ever kept in a catalog."""
        return tuple(
            f"{table.rpartition('.')[2]}.{column}"
            for rules in (self, *self.tenants.values())
            for columns in (rules.columns_denied, rules.columns_masked)
            for table, names in columns.items()
            for column in names
        )

    @property
    def filtered_tables(self) -> tuple[str, ...]:
        """Tables whose rows differ by reader: their frequent values are nobody's to see."""
        return tuple(
            table.rpartition(".")[2] for rules in (self, *self.tenants.values()) for table in rules.row_filters
        )

    @cached_property
    def fingerprint(self) -> str:
        """Equal policies have equal fingerprints."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:32]


class Connection(BaseModel):
    """A database as every service but the executor knows it: without address and without secret."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="allow")

    name: str
    dialect: Dialect
    description: str = ""
    policy: ConnectionPolicy = ConnectionPolicy()
    trouble: Failure | None = Field(default=None, description="why its catalog could not be read the last time")
    warning: str = Field(default="", description="what works and should not stay so, for whoever runs it")
    names: int = Field(default=0, exclude_if=lambda value: not value, description="of tables and columns")
    names_readable: int = Field(
        default=0, exclude_if=lambda value: not value, description="those that read as words, or have a name for people"
    )


def _narrowed(policy: ConnectionPolicy, rules: TenantRules) -> ConnectionPolicy:
    changed: dict[str, Any] = {
        "tenants": {},
        "schemas_allowed": _both(policy.schemas_allowed, rules.schemas_allowed),
        "tables_allowed": _both(policy.tables_allowed, rules.tables_allowed),
        "columns_denied": _joined(policy.columns_denied, rules.columns_denied),
        "columns_masked": _joined(policy.columns_masked, rules.columns_masked),
        "row_filters": _all(policy.row_filters, rules.row_filters),
        "second_person": policy.second_person or rules.second_person,
        "only_verified": policy.only_verified or rules.only_verified,
    }
    if rules.access is not None:
        changed["access"] = min(policy.access, rules.access, key=_ORDER.index)
    if rules.statements_allowed is not None:
        allowed = frozenset(policy.statements_allowed or StatementKind)
        changed["statements_allowed"] = tuple(item for item in rules.statements_allowed if item in allowed)
    for name in (
        "rows_max",
        "rows_affected_max",
        "plan_rows_soft_max",
        "plan_rows_hard_max",
        "plan_cost_soft_max",
        "plan_cost_hard_max",
    ):
        limits = [item for item in (getattr(policy, name), getattr(rules, name)) if item is not None]
        changed[name] = min(limits, default=None)
    return policy.model_copy(update=changed)


_FIELDS: Final = tuple(ConnectionPolicy.model_fields)


def _both(ours: tuple[str, ...] | None, theirs: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return what both lists allow; of `table` and `schema.table` the narrower one."""
    if ours is None or theirs is None:
        return theirs if ours is None else ours
    return tuple(dict.fromkeys((*_within(ours, theirs), *_within(theirs, ours))))


def _within(names: Iterable[str], allowed: Iterable[str]) -> list[str]:
    known = {text.lower() for text in allowed}
    return [name for name in names if name.lower() in known or name.lower().rpartition(".")[2] in known]


def _joined(
    ours: Mapping[str, tuple[str, ...]], theirs: Mapping[str, tuple[str, ...]]
) -> Mapping[str, tuple[str, ...]]:
    result = {table.lower(): columns for table, columns in ours.items()}
    for table, columns in theirs.items():
        result[table.lower()] = tuple(dict.fromkeys((*result.get(table.lower(), ()), *columns)))
    return result


def _all(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Mapping[str, str]:
    result = {table.lower(): condition for table, condition in ours.items()}
    for table, condition in theirs.items():
        mine = result.get(table.lower())
        result[table.lower()] = condition if mine is None else f"({mine}) AND ({condition})"
    return result
