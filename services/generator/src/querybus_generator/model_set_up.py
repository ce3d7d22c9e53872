"""Answers an owner's requests about chat models: what is set, what is on this machine, whether one works, and saves one.

A key is read from the environment and sent to the address that its variable names, to no other: an owner may type any
address, so a variable that the owner could choose would be a way to read the environment. A key that an owner types goes to
the address that was typed with it; once a model has replied to it, it is kept in a file and belongs to that model alone.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Final, Protocol
from urllib.parse import urlsplit

from pydantic import SecretStr, ValidationError

from querybus.bus.log.publish import BusTrouble
from querybus.bus.stores.models import ModelStore
from querybus.core.requests.model_set_up import (
    ConfiguredModel,
    FoundServer,
    ModelOperation,
    ModelReply,
    ModelRequest,
    Reason,
    TestedModel,
)
from querybus.core.stored.models import Models, NamedModel
from querybus.llm.errors import Fault, FaultKind
from querybus.llm.kept_keys import KEY_PREFIX, KeptKeys, is_kept
from querybus.llm.model_search import (
    KEY,
    LOCAL_SERVERS,
    UNSUPPORTED_KEYS,
    ModelServer,
    ModelTrial,
    list_models,
    local_servers,
    propose_model,
    try_model,
)
from querybus.llm.settings import OPENAI_KEY, OPENAI_URL, ModelServiceSettings
from querybus.ops.log import get_log

NOT_ALLOWED: Final = (
    "models are not changed from here: set QUERYBUS_MODELS_EDITABLE=true at the generator, "
    "or run `querybus models set` where the stack runs"
)
LISTED_MAX: Final = 200
_HOST: Final = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_REASONS: Final[dict[FaultKind, Reason]] = {
    FaultKind.CONNECT: "unreachable",
    FaultKind.TIMEOUT: "timeout",
    FaultKind.BUSY: "busy",
    FaultKind.SERVER: "server",
    FaultKind.PROTOCOL: "protocol",
    FaultKind.QUOTA: "quota",
    FaultKind.EMPTY: "protocol",
    FaultKind.BREAKER: "unreachable",
}

_log = get_log(__name__)


class BadModel(ValueError):
    """An address or a name that cannot be taken. The text holds no secret."""


class ModelsInUse(Protocol):
    """The models that are set, and those of the service's own settings. Raises BusTrouble."""

    async def known(self) -> Models: ...


class ModelSetUp:
    """The generator's answers. `is_allowed`: the setting permits them."""

    def __init__(
        self,
        in_use: ModelsInUse,
        store: ModelStore,
        settings: ModelServiceSettings,
        *,
        is_allowed: bool,
        environment: Mapping[str, str] = os.environ,
        candidates: Sequence[ModelServer] = LOCAL_SERVERS,
    ) -> None:
        self._in_use = in_use
        self._store = store
        self._settings = settings
        self._is_allowed = is_allowed
        self._environment = KeptKeys(settings.model_keys_directory, environment)
        self._candidates = candidates

    async def answer(self, tenant: str, request: ModelRequest) -> ModelReply:
        """Return what was found or done; a refusal says what is in the way, without secrets."""
        if not self._is_allowed:
            return ModelReply(problem="not_allowed", detail=NOT_ALLOWED)
        try:
            if request.operation is ModelOperation.LIST:
                return await self._list(tenant)
            tested = await self._test(tenant, request)
            if request.operation is ModelOperation.TEST:
                return ModelReply(tested=tested)
            return await self._save(tenant, request, tested)
        except BadModel as error:
            return ModelReply(problem="invalid", detail=str(error))
        except BusTrouble:
            return ModelReply(problem="away", detail="the models cannot be read or written at the bus")

    async def _list(self, tenant: str) -> ModelReply:
        known = await self._in_use.known()
        chain = known.chain(tenant, None)
        named = [self._settings_server()] if self._settings.llm_base_url else []
        if self._environment.get(OPENAI_KEY) and not any(item.base_url == OPENAI_URL for item in named):
            named.append(ModelServer("OpenAI", OPENAI_URL, OPENAI_KEY))
        lists, local = await asyncio.gather(
            asyncio.gather(*(list_models(item, self._key(item), self._settings) for item in named)),
            local_servers(self._settings, self._candidates),
        )
        refusal = self._settings.network.refusal
        found = [
            _describe_server(item, names, refusal(item.base_url)) for item, names in zip(named, lists, strict=True)
        ]
        taken = {item.base_url for item in named}
        found += [_describe_server(item, names) for item, names in local if item.base_url not in taken]
        own_keys = sorted(name for name, value in self._environment.items() if name.startswith(KEY_PREFIX) and value)
        keys = [item.key_variable for item in named if item.key_variable] + own_keys
        return ModelReply(
            configured=tuple(
                ConfiguredModel(
                    name=item.name,
                    base_url=item.base_url,
                    model=item.model,
                    key_variable=item.api_key_env,
                    is_default=bool(chain) and item.name == chain[0].name,
                )
                for item in known.of_tenant(tenant)
            ),
            found=tuple(found),
            keys=tuple(dict.fromkeys(keys)),
            unread_keys=tuple(name for name in UNSUPPORTED_KEYS if self._environment.get(name)),
            takes_keys=self._environment.takes_keys,
        )

    async def _test(self, tenant: str, request: ModelRequest) -> TestedModel:
        server = await self._server(tenant, read_model_address(request.base_url))
        if refusal := self._settings.network.refusal(server.base_url):
            raise BadModel(refusal)
        if request.key and not server.key_variable:
            raise BadModel("use an https address: over http a key goes to this machine only")
        key = SecretStr(request.key) if request.key else self._key(server)
        is_typed = bool(request.key) or is_kept(server.key_variable)
        names = await list_models(server, key, self._settings)
        listed = () if isinstance(names, Fault) else names[:LISTED_MAX]
        model = request.model.strip() or propose_model(listed) or ""
        begun = TestedModel(
            base_url=server.base_url, works=False, model=model, models=listed,
            key_variable=server.key_variable, has_key=key is not None,
        )  # fmt: skip
        if not model:
            fault = names if isinstance(names, Fault) else Fault(FaultKind.REQUEST, "", status=404)
            return failed_test(begun, fault, is_typed=is_typed)
        trial = await try_model(server, model, key, self._settings)
        if isinstance(trial, ModelTrial):
            return begun.model_copy(
                update={"works": True, "seconds": round(trial.seconds, 2), "fields_left_out": trial.fields_left_out}
            )
        return failed_test(begun, trial, is_typed=is_typed)

    async def _save(self, tenant: str, request: ModelRequest, tested: TestedModel) -> ModelReply:
        if not tested.works:
            return ModelReply(problem="invalid", detail=f"{tested.cause}; {tested.next_step}", tested=tested)
        # The key of the settings goes to the address of the settings without being named.
        variable = "" if tested.key_variable == KEY or not tested.has_key else tested.key_variable
        try:
            wanted = NamedModel(
                name=request.name.strip() or tested.model, base_url=tested.base_url, model=tested.model,
                api_key_env=variable, tenants=(tenant,),
            )  # fmt: skip
        except ValidationError:
            raise BadModel("a model's name begins with a letter or digit and holds A-Z a-z 0-9 . _ : / @ + -") from None
        known = await self._in_use.known()
        before = known.get(wanted.name)
        if request.key:
            wanted = wanted.model_copy(update={"api_key_env": await self._kept(request.key)})
        try:
            await self._store.change(lambda stored: with_model(stored, before, wanted, tenant))
        except (BadModel, BusTrouble):
            if request.key:
                self._environment.forget(wanted.api_key_env)
            raise
        used = {wanted.api_key_env, *(item.api_key_env for item in known.models if item.name != wanted.name)}
        if before is not None and before.tenants == (tenant,) and before.api_key_env not in used:
            self._environment.forget(before.api_key_env)
        _log.info("models.changed", model=wanted.name, tenant=tenant)
        return ModelReply(name=wanted.name, tested=tested)

    def _settings_server(self) -> ModelServer:
        variable = KEY if self._settings.llm_api_key else ""
        return ModelServer("QUERYBUS_LLM_BASE_URL", self._settings.llm_base_url, variable)

    async def _kept(self, key: str) -> str:
        try:
            return await asyncio.to_thread(self._environment.keep, key)
        except OSError as error:
            detail = "the key cannot be kept: set QUERYBUS_MODEL_KEYS_DIRECTORY to a folder that the services may write"
            raise BadModel(detail) from error

    async def _server(self, tenant: str, address: str) -> ModelServer:
        own = self._settings.llm_base_url
        if own and own.rstrip("/") == address:
            return self._settings_server()
        variable = key_variable_of(address)
        saved = [item for item in (await self._in_use.known()).models if item.tenants == (tenant,) and item.api_key_env]
        kept = next((item.api_key_env for item in saved if item.base_url.rstrip("/") == address), variable)
        return ModelServer(address, address, kept if variable else "")

    def _key(self, server: ModelServer) -> SecretStr | None:
        if server.key_variable == KEY:
            return self._settings.llm_api_key
        text = self._environment.get(server.key_variable, "") if server.key_variable else ""
        return SecretStr(text) if text else None


def read_model_address(text: str) -> str:
    """Return the address of a model without a slash at its end; BadModel for what is no http(s) URL of one."""
    try:
        parts = urlsplit(text.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise BadModel("the address is no URL") from None
    if parts.scheme not in ("http", "https") or not host:
        raise BadModel("the address must be an http or https URL up to /v1, such as http://127.0.0.1:11434/v1")
    if parts.username is not None or parts.query or parts.fragment:
        raise BadModel("the address holds a user, a query or a fragment: a key belongs in an environment variable")
    if _is_link_local(host):
        raise BadModel("the address is link-local, where no model but a machine's own metadata is")
    return text.strip().rstrip("/")


def key_variable_of(address: str) -> str:
    """Return the variable from which the key of an address is read; empty: none is sent there.

    Two hosts have two variables, so that a key reaches the host it is named after. A key goes over TLS or to this machine.

    >>> key_variable_of("https://api.groq.com/openai/v1"), key_variable_of("https://a-b.example/v1")
    ('QUERYBUS_MODEL_KEY_API_GROQ_COM', 'QUERYBUS_MODEL_KEY_A__B_EXAMPLE')
    >>> key_variable_of("https://api.openai.com/v1"), key_variable_of("http://models.example/v1")
    ('OPENAI_API_KEY', '')
    """
    parts = urlsplit(address)
    host = (parts.hostname or "").lower()
    if parts.scheme != "https" and not _is_loopback(host):
        return ""
    if host == urlsplit(OPENAI_URL).hostname:
        return OPENAI_KEY
    return KEY_PREFIX + host.replace("-", "__").replace(".", "_").upper() if _HOST.fullmatch(host) else ""


def with_model(stored: Models, existing: NamedModel | None, wanted: NamedModel, tenant: str) -> Models:
    """Return the models with one that a tenant uses by default; BadModel where the name is another's.

    `existing` is the model of that name that the service knows, which may stand in its settings instead of the bucket.
    """
    existing = stored.get(wanted.name) or existing
    default = {**stored.tenants, tenant: wanted.name}
    if existing is None or existing.tenants == (tenant,):
        kept = (
            existing.model_copy(update=wanted.model_dump(include={"base_url", "model", "api_key_env"}))
            if existing
            else wanted
        )
        others = tuple(item for item in stored.models if item.name != wanted.name)
        return stored.model_copy(update={"models": (*others, kept), "tenants": default})
    is_same = (existing.base_url.rstrip("/"), existing.model) == (wanted.base_url.rstrip("/"), wanted.model)
    if is_same and (existing.tenants is None or tenant in existing.tenants):
        return stored.model_copy(update={"tenants": default})
    raise BadModel(f"there is a model {wanted.name!r} that an operator has set: save this one by another name")


def failed_test(begun: TestedModel, fault: Fault, *, is_typed: bool = False) -> TestedModel:
    """Return a test that a fault ended: the reason, the cause in words, and what to do next. `is_typed`: an owner typed the key."""
    reason = _reason(begun, fault)
    is_typed_key = reason == "key" and is_typed
    cause, next_step = (
        (f"{begun.base_url} refuses the key", "type the key again") if is_typed_key else _words(begun, reason)
    )
    return begun.model_copy(update={"reason": reason, "cause": cause, "next_step": next_step})


def _reason(begun: TestedModel, fault: Fault) -> Reason:
    if fault.kind is FaultKind.NO_MODEL:
        return "no_model"
    if fault.kind is not FaultKind.REQUEST:
        return _REASONS.get(fault.kind, "refused")
    status = fault.status or 0
    if status in (401, 403):
        return "key"
    if status == 404:
        return "no_model" if begun.models or not begun.model else "no_path"
    return "redirect" if 300 <= status < 400 else "refused"


def _words(begun: TestedModel, reason: Reason) -> tuple[str, str]:
    address, variable = begun.base_url, begun.key_variable
    where = (
        f"set {variable} in the environment of `querybus up` and start it again"
        if variable
        else "use an https address: over http a key goes to this machine only"
    )
    match reason:
        case "unreachable":
            return f"nobody answers at {address}", "start the model's server or correct the address"
        case "timeout":
            return (
                f"{address} gave no whole reply in time",
                "test again once the model is loaded, or choose a smaller one",
            )
        case "key" if begun.has_key:
            return f"{address} refuses the key in {variable}", where
        case "key":
            return f"{address} asks for a key, and none is set for it", where
        case "no_model" if begun.model:
            return f"{address} has no model {begun.model!r}", "choose one that it lists, or pull this one there"
        case "no_model":
            return f"{address} lists no chat model", "type the model's name, or pull one there"
        case "no_path":
            return f"nothing is at {address}/chat/completions", "the address usually ends in /v1"
        case "redirect":
            return f"{address} sends elsewhere, which is not followed", "type the address to which it leads"
        case "quota":
            return (
                f"the quota of the account at {address} is used up",
                "raise it at the provider, or choose another model",
            )
        case "busy" | "server":
            return f"{address} is busy or has an error of its own", "test again in a minute"
        case "protocol":
            return f"{address} does not reply as an OpenAI-compatible API", "the address usually ends in /v1"
        case _:
            return f"{address} refuses the request to {begun.model!r}", "choose a chat model"


def _describe_server(server: ModelServer, names: tuple[str, ...] | Fault, refusal: str = "") -> FoundServer:
    begun = FoundServer(title=server.title, base_url=server.base_url, key_variable=server.key_variable, cause=refusal)
    if refusal:
        return begun
    if isinstance(names, Fault):
        tested = TestedModel(
            base_url=server.base_url, works=False, key_variable=server.key_variable, has_key=bool(server.key_variable)
        )
        return begun.model_copy(update={"cause": failed_test(tested, names).cause})
    listed = names[:LISTED_MAX]
    return begun.model_copy(update={"models": listed, "proposed": propose_model(listed) or ""})


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _is_link_local(host: str) -> bool:
    try:
        return ip_address(host.partition("%")[0]).is_link_local
    except ValueError:
        return False
