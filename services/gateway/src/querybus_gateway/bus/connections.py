"""The bus API's verbs about who asks and what can be asked about: `me`, `connections`, `catalog`, `definitions` and `suggestions`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from querybus.core.catalog import Language
from querybus.core.credential import Credential
from querybus_gateway.problems import Problem
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.bundle import UseCases
from querybus_gateway.use_cases.sign_in import me


class ConnectionsCall(BaseModel):
    """The caller, or its connections."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CatalogCall(BaseModel):
    """A call about one connection; labels and questions are in the language."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    connection: str = Field(max_length=200)
    language: Language = "en"


async def who(_: ConnectionsCall, credential: Credential, __: UseCases) -> Json | Problem:
    return me(credential)


async def connections(_: ConnectionsCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    return await use_cases.catalogs.connections(credential)


async def catalog(wanted: CatalogCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    return await use_cases.catalogs.catalog(wanted.connection, credential, wanted.language)


async def definitions(wanted: CatalogCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    return await use_cases.definitions.listed(wanted.connection, credential, wanted.language)


async def suggestions(wanted: CatalogCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    return await use_cases.definitions.suggestions(wanted.connection, credential, wanted.language)
