"""What the gateway reads at start."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode

from querybus.core.credential import Group
from querybus.core.options import OptionCaps, RepairPolicy
from querybus.ops.settings import ServiceSettings
from querybus_gateway.access.oidc import Issuer
from querybus_gateway.access.quotas import Allowed, TenantLimits
from querybus_gateway.access.rate import Rate
from querybus_gateway.access.throttle import GUESSES_MAX
from querybus_gateway.admit import RequestOptions

Api = Literal["page", "openai", "langgraph", "mcp", "mcp-sql", "antvis"]
"""`mcp-sql` is a tool at `/mcp` by which analysts run statements of their own."""


class Oidc(BaseModel):
    """An OpenID Connect issuer whose tokens are taken besides keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: str = Field(description="an https address")
    audience: str = Field(min_length=1, description="that a token must be meant for")
    algorithms: tuple[str, ...] = Field(default=("RS256",), description="signature algorithms that are taken")
    keys_url: str = Field(default="", description="the issuer's JWKS; empty: as its discovery document says")
    tenant: str = Field(default="", description="of every token; empty: the tenant claim says it")
    tenants: tuple[str, ...] = Field(default=(), description="that tokens may bring in; none: any")
    tenant_claim: str = "tenant"
    user_claim: str = "sub"
    role_claim: str = Field(default="querybus_audience", description="is `business` or `analyst`")
    connections_claim: str = Field(default="querybus_connections", description="a token without it may use all")
    group_claim: str = Field(default="querybus_group", description="of `groups`; a token without it has none's limits")

    @model_validator(mode="after")
    def _is_safe(self) -> Self:
        if not self.issuer.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
            raise ValueError("issuer is an https address")
        self.trusted()
        return self

    def trusted(self) -> Issuer:
        """Return whose tokens are taken, as the reader of tokens needs it."""
        return Issuer(
            issuer=self.issuer,
            audience=self.audience,
            algorithms=self.algorithms,
            tenant=self.tenant,
            tenant_claim=self.tenant_claim,
            user_claim=self.user_claim,
            role_claim=self.role_claim,
            connections_claim=self.connections_claim,
            group_claim=self.group_claim,
        )


GRPC_INSTALL: Final = "pip install 'querybus[grpc]', or make setup in a checkout"


def has_grpc() -> bool:
    """Return whether the gRPC library is installed."""
    return find_spec("grpc_reflection") is not None


class Settings(ServiceSettings):
    """The gateway's settings; the API listens apart from the probes."""

    api_host: str = Field(default="127.0.0.1", description="where the HTTP and gRPC APIs listen")
    api_port: int | None = Field(
        default=0, ge=0, le=65_535, description="of the HTTP API; 0: any free port, written to the log"
    )
    grpc_port: int | None = Field(
        default=None, ge=0, le=65_535, description="of the gRPC API; 0: any free port; not set: no such API"
    )
    grpc_without_key: Annotated[tuple[Literal["health", "reflection"], ...], NoDecode] = Field(
        default=("health", "reflection"),
        description="what of the gRPC API answers without a key, separated by commas: `health` for probes, `reflection` "
        "for tools; what is left out is not served",
    )
    tenants: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="subject tokens of tenants that have a submit queue, separated by commas"
    )
    development_key_file: Path | None = Field(
        default=None, description="development only: a key is made at the start and written here"
    )
    purge_password: SecretStr = Field(
        default=SecretStr(""), description="of the bus user `purge`; empty: threads cannot be deleted here"
    )
    bus_issuer_key: SecretStr = Field(
        default=SecretStr(""), description="lets callers in over the bus; empty: nobody comes in there"
    )
    disconnect_password: SecretStr = Field(
        default=SecretStr(""), description="of the bus user `disconnect`, who ends connections of revoked keys"
    )
    in_flight_max: int = Field(
        default=64, ge=1, description="queries that one tenant may always have in flight, over all replicas"
    )
    in_flight_total_max: int = Field(
        default=96, ge=1, description="queries of all tenants up to which one tenant is lent what others do not use"
    )
    rate_per_second: float = Field(default=500.0, gt=0, description="questions of one tenant over all replicas")
    key_guesses_max: int = Field(
        default=GUESSES_MAX, ge=1, description="wrong keys of one address at once, at one replica; one more every 3 s"
    )
    tokens_per_day: int = Field(default=0, ge=0, description="of models, for one tenant and UTC day; 0: no limit")
    tokens_per_day_user: int = Field(default=0, ge=0, description="of models, for one user and UTC day; 0: no limit")
    cost_per_day: float = Field(
        default=0.0, ge=0, description="of models, in the unit of their prices, for one tenant and UTC day; 0: no limit"
    )
    cost_per_day_user: float = Field(default=0.0, ge=0, description="the same for one user and UTC day; 0: no limit")
    tenant_limits: dict[str, TenantLimits] = Field(
        default={},
        description="JSON: tenant -> rate_per_second, rate_burst, tokens_per_day, tokens_per_day_user, cost_per_day, "
        "cost_per_day_user, effort_max where they differ",
    )
    groups: dict[str, Group] = Field(
        default={},
        description="JSON: group -> connections, rows_max, deadline_seconds, only_verified, tokens_per_day_user of the "
        "keys and tokens that name it",
    )
    cors_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="web origins whose pages may call the HTTP API, separated by commas; none: none"
    )
    apis: Annotated[tuple[Api, ...], NoDecode] = Field(
        default=("page", "openai", "langgraph", "mcp", "antvis"),
        description="what is served besides `/v1`, separated by commas: `page` for people, `openai`, `langgraph`, `mcp`, "
        "`antvis` for those clients; `mcp-sql` lets analysts run statements of their own at `/mcp`",
    )
    public_url: str = Field(
        default="",
        pattern=r"^(https?://[^/\s]+(/\S*)?)?$",
        description="what links in answers begin with; empty: the address that listens, never the Host header",
    )
    trusted_proxies: str = Field(
        default="", description="addresses or networks, separated by commas, whose X-Forwarded-For is believed"
    )
    oidc: Oidc | None = Field(
        default=None,
        description='whose tokens are taken besides keys, as JSON: {"issuer": "https://…", "audience": "querybus"}',
    )
    option_caps: OptionCaps = Field(
        default=OptionCaps(),
        description='the most that a request may ask for, as JSON: {"rows_max": 1000, "count_total": false}',
    )
    option_defaults: RequestOptions = Field(
        default=RequestOptions(),
        description='what holds where neither a request nor the person says otherwise, as JSON: {"summary": false, "retries_max": 1}',
    )
    repair_policies: dict[str, RepairPolicy] = Field(
        default={}, description='who repairs by tenant, where a request does not say, as JSON: {"acme": "rules_only"}'
    )

    @field_validator("tenants", "cors_origins", "apis", "grpc_without_key", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(filter(None, value.split(","))) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if "*" in self.cors_origins:
            raise ValueError("cors_origins names each origin; a key would be open to every page otherwise")
        if self.bus_issuer_key.get_secret_value() and not self.disconnect_password.get_secret_value():
            raise ValueError("bus_issuer_key needs disconnect_password: a revoked key would go on receiving")
        if self.grpc_port is not None and not has_grpc():
            raise ValueError(f"QUERYBUS_GRPC_PORT is set and the gRPC library is missing: {GRPC_INSTALL}")
        return self

    def allowed(self) -> Allowed:
        """Return what tenants may use."""
        return Allowed(
            Rate.of(self.rate_per_second),
            tokens_per_day=self.tokens_per_day,
            tokens_per_day_user=self.tokens_per_day_user,
            cost_per_day=self.cost_per_day,
            cost_per_day_user=self.cost_per_day_user,
            tenants=self.tenant_limits,
            groups=self.groups,
        )
