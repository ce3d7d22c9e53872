"""What the gateway reads at start."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode

from querybus.core.options import OptionCaps, RepairPolicy
from querybus.ops.settings import ServiceSettings
from querybus_gateway.access.oidc import Issuer
from querybus_gateway.access.quotas import Allowed, TenantLimits
from querybus_gateway.access.rate import Rate
from querybus_gateway.access.throttle import GUESSES_MAX


class OidcClaims(BaseModel):
    """The claims of a token that name its tenant and user, its audience, and the connections that it may use."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tenant: str = "tenant"
    user: str = "sub"
    role: str = Field(default="querybus_audience", description="is `business` or `analyst`")
    connections: str = Field(default="querybus_connections", description="a token without it may use all")


class Settings(ServiceSettings):
    """The gateway's settings; the API listens apart from the probes."""

    api_host: str = Field(default="127.0.0.1", description="where the HTTP and gRPC APIs listen")
    api_port: int = Field(default=0, ge=0, le=65_535, description="0: any free port, written to the log")
    grpc_port: int | None = Field(
        default=None, ge=0, le=65_535, description="of the gRPC API; 0: any free port; not set: no such API"
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
    rate_burst: int = Field(default=1_000, ge=1, description="questions of one tenant at once")
    key_guesses_max: int = Field(
        default=GUESSES_MAX, ge=1, description="wrong keys of one address at once, at one replica; one more every 3 s"
    )
    tokens_per_day: int = Field(default=0, ge=0, description="of a model, for one tenant and UTC day; 0: no limit")
    tenant_limits: dict[str, TenantLimits] = Field(
        default={}, description="JSON: tenant -> rate_per_second, rate_burst, tokens_per_day where they differ"
    )
    cors_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="web origins whose pages may call the HTTP API, separated by commas; none: none"
    )
    openai_api: bool = Field(default=True, description="serve `/openai/v1` for chat front ends")
    langgraph_api: bool = Field(default=True, description="serve the paths of LangGraph's server: runs, threads")
    mcp_api: bool = Field(default=True, description="serve `/mcp` for what speaks the Model Context Protocol")
    mcp_sql: bool = Field(default=False, description="offer analysts a tool at `/mcp` that runs their own statements")
    antvis_api: bool = Field(
        default=True, description="draw at `/antvis` what antvis' chart server for assistants asks for"
    )
    public_url: str = Field(
        default="",
        pattern=r"^(https?://[^/\s]+(/\S*)?)?$",
        description="what links in answers begin with; empty: as a request came",
    )
    page: bool = Field(default=True, description="serve the page for people at `/`")
    trusted_proxies: str = Field(
        default="", description="addresses or networks, separated by commas, whose X-Forwarded-For is believed"
    )
    oidc_issuer: str = Field(default="", description="whose tokens are taken besides keys; empty: nobody's")
    oidc_audience: str = Field(default="", description="that a token must be meant for")
    oidc_algorithms: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("RS256",), description="signature algorithms that are taken, separated by commas"
    )
    oidc_keys_url: str = Field(default="", description="the issuer's JWKS; empty: as its discovery document says")
    oidc_tenant: str = Field(default="", description="tenant of every token; empty: the tenant claim says it")
    oidc_tenants: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="tenants that tokens may bring in, separated by commas; none: any"
    )
    oidc_claims: OidcClaims = Field(
        default=OidcClaims(), description='which claims say what, as JSON where they differ: {"tenant": "org_id"}'
    )
    option_caps: OptionCaps = Field(
        default=OptionCaps(),
        description='the most that a request may ask for, as JSON: {"rows_max": 1000, "count_total": false}',
    )
    repair_policies: dict[str, RepairPolicy] = Field(
        default={}, description='who repairs by tenant, where a request does not say, as JSON: {"acme": "rules_only"}'
    )

    @field_validator("tenants", "cors_origins", "oidc_algorithms", "oidc_tenants", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(filter(None, value.split(","))) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.oidc_issuer and not self.oidc_audience:
            raise ValueError("oidc_issuer needs oidc_audience: a token for another service lets nobody in here")
        local = self.oidc_issuer.startswith(("http://127.0.0.1:", "http://localhost:"))
        if self.oidc_issuer and not self.oidc_issuer.startswith("https://") and not local:
            raise ValueError("oidc_issuer is an https address")
        if "*" in self.cors_origins:
            raise ValueError("cors_origins names each origin; a key would be open to every page otherwise")
        if self.bus_issuer_key.get_secret_value() and not self.disconnect_password.get_secret_value():
            raise ValueError("bus_issuer_key needs disconnect_password: a revoked key would go on receiving")
        self.issuer()
        return self

    def issuer(self) -> Issuer | None:
        """Return whose tokens are taken, or None."""
        if not self.oidc_issuer:
            return None
        return Issuer(
            issuer=self.oidc_issuer,
            audience=self.oidc_audience,
            algorithms=self.oidc_algorithms,
            tenant=self.oidc_tenant,
            tenant_claim=self.oidc_claims.tenant,
            user_claim=self.oidc_claims.user,
            role_claim=self.oidc_claims.role,
            connections_claim=self.oidc_claims.connections,
        )

    def allowed(self) -> Allowed:
        """Return what tenants may use."""
        return Allowed(Rate(self.rate_per_second, self.rate_burst), self.tokens_per_day, self.tenant_limits)
