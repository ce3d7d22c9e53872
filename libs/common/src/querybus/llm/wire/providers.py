"""The providers of chat models: the LangChain class of each, its package, and how it is made. Nothing is guessed by a name.

`provider:model` names one of them. A class is imported when its first model is opened; a package that is not there is an
error that names the extra to install.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from pydantic import SecretStr

from querybus.llm.wire.transport import Additions, Network, client_options, is_loopback, open_client

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_openai import ChatOpenAI


_REGION: Final = re.compile(r"//bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com")


class ModelNotSetUp(ValueError):
    """A model that cannot be made as it is set. The text names the setting, and holds no secret."""


@dataclass(frozen=True, slots=True)
class ModelForm:
    """Everything by which one model is called. Limits have their unit in the name."""

    provider: str
    model: str
    base_url: str = ""
    api_key: SecretStr | None = None
    additions: Additions = field(default_factory=Additions)
    network: Network = field(default_factory=Network)
    temperature: float | None = None
    reasoning_effort: str = ""
    tokens_out_max: int = 4_096

    @property
    def key_text(self) -> str:
        """The key; empty where none is set."""
        return self.api_key.get_secret_value() if self.api_key else ""


@dataclass(frozen=True, slots=True)
class OpenChat:
    """A chat model that is ready, and the client that is closed with it, if it is ours."""

    chat: BaseChatModel
    client: Any = None

    async def close(self) -> None:
        """Close every socket."""
        if self.client is not None:
            await self.client.aclose()


Make = Callable[[Any, ModelForm, Any], OpenChat]
"""Makes the chat model of a class, by a form, over a library of HTTP."""


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider. `library` names the library of HTTP that its client takes."""

    module: str
    class_name: str
    extra: str
    key_variable: str
    library: str
    make: Make
    required: frozenset[str] = frozenset()
    """Fields that every request needs, however a refusal names them."""


def _openai(chat: type[ChatOpenAI], form: ModelForm, library: Any) -> OpenChat:
    client = open_client(library, form.base_url, form.network, form.additions)
    options = _openai_options(form, client)
    return OpenChat(chat(base_url=form.base_url, use_responses_api=False, stream_usage=True, **options), client)


def _openai_options(form: ModelForm, client: Any) -> dict[str, Any]:
    effort = {"reasoning_effort": form.reasoning_effort} if form.reasoning_effort else {}
    return {
        "model": form.model,
        "api_key": form.key_text or "none",
        "temperature": form.temperature,
        "max_tokens": form.tokens_out_max,
        "max_retries": 0,
        # Unset, the package takes all time limits away that its client was given.
        "timeout": client.timeout,
        "http_async_client": client,
        **effort,
    }


def _azure(chat: Any, form: ModelForm, library: Any) -> OpenChat:
    version = form.additions.query.get("api-version")
    if not version:
        raise ModelNotSetUp('an Azure model needs its version: set query to {"api-version": "2024-10-21"}')
    client = open_client(library, form.base_url, form.network, form.additions)
    endpoint = re.sub(r"/openai(?:/.*)?$", "", form.base_url.rstrip("/"))
    # A token of Active Directory in the environment would go to any address.
    options = {**_openai_options(form, client), "azure_deployment": form.model, "azure_ad_token": None}
    return OpenChat(chat(azure_endpoint=endpoint, api_version=version, stream_usage=True, **options), client)


def _deepseek(chat: Any, form: ModelForm, library: Any) -> OpenChat:
    client = open_client(library, form.base_url, form.network, form.additions)
    return OpenChat(chat(base_url=form.base_url, stream_usage=True, **_openai_options(form, client)), client)


def _anthropic(chat: Any, form: ModelForm, library: Any) -> OpenChat:
    made = chat(
        model=form.model, api_key=form.key_text or "none", base_url=form.base_url, max_retries=0,
        max_tokens=form.tokens_out_max, temperature=form.temperature,
    )  # fmt: skip
    client = open_client(library, form.base_url, form.network, form.additions)
    sdk = import_module("anthropic")
    # The class has no field for a client; it looks its own up under this name.
    made.__dict__["_async_client"] = sdk.AsyncAnthropic(
        api_key=form.key_text or "none", base_url=form.base_url, max_retries=0, http_client=client
    )
    return OpenChat(made, client)


def _google(chat: Any, form: ModelForm, library: Any) -> OpenChat:
    options = client_options(library, form.base_url, form.network, form.additions)
    made = chat(
        model=form.model, api_key=form.key_text or "none", base_url=form.base_url, max_retries=1,
        max_output_tokens=form.tokens_out_max, temperature=form.temperature, vertexai=False, client_args=options,
    )  # fmt: skip
    return OpenChat(made, options["transport"])


def _mistral(chat: Any, form: ModelForm, library: Any) -> OpenChat:
    unset = {"temperature": None, "top_p": None} if form.temperature is None else {"top_p": None}
    additions = Additions(
        form.additions.headers, form.additions.query, {**unset, **form.additions.body}, form.additions.renamed
    )
    headers = {"Authorization": f"Bearer {form.key_text or 'none'}", "Accept": "application/json"}
    client = open_client(library, form.base_url, form.network, additions, base_url=form.base_url, headers=headers)
    made = chat(
        model=form.model, api_key=form.key_text or "none", base_url=form.base_url, async_client=client, max_retries=1,
        max_tokens=form.tokens_out_max, **({} if form.temperature is None else {"temperature": form.temperature}),
    )  # fmt: skip
    return OpenChat(made, client)


def _ollama(chat: Any, form: ModelForm, library: Any) -> OpenChat:
    # Without a header of its own the package sends OLLAMA_API_KEY to any address.
    key = {"headers": {"Authorization": f"Bearer {form.key_text or 'none'}"}}
    options = client_options(library, form.base_url, form.network, form.additions)
    made = chat(
        model=form.model, base_url=re.sub(r"/v1/?$", "", form.base_url), num_predict=form.tokens_out_max,
        temperature=form.temperature, async_client_kwargs={**options, **key},
    )  # fmt: skip
    return OpenChat(made, options["transport"])


def _bedrock(chat: Any, form: ModelForm, library: Any) -> OpenChat:
    if form.additions.query:
        raise ModelNotSetUp("a model of bedrock_converse takes no query: its requests are signed with their address")
    fields = {name: value for name, value in form.additions.body.items() if value is not None}
    made = chat(
        model=form.model, base_url=form.base_url or None, max_tokens=form.tokens_out_max,
        temperature=form.temperature, additional_model_request_fields=fields or None, disable_streaming=False,
        client=_aws_client("bedrock-runtime", form, library), bedrock_client=_aws_client("bedrock", form, library),
    )  # fmt: skip
    return OpenChat(made)


def _aws_client(service: str, form: ModelForm, library: Any) -> Any:
    """Return a client of one service of AWS. A key is sent as it is, without a key each request is signed."""
    network = form.network
    proxy = "" if is_loopback(form.base_url) else network.proxy
    # The package takes AWS_BEARER_TOKEN_BEDROCK by itself and would send it to any address.
    auth = {"signature_version": library.UNSIGNED} if form.key_text else {"auth_scheme_preference": "sigv4"}
    config = library.config.Config(
        connect_timeout=network.connect_seconds,
        read_timeout=network.silence_seconds,
        retries={"total_max_attempts": 1},
        proxies={"https": proxy, "http": proxy} if proxy else {},
        **auth,
    )
    region = _REGION.search(form.base_url)
    client = (
        import_module("boto3")
        .Session()
        .client(
            service,
            region_name=region[1] if region else os.environ.get("AWS_REGION"),
            endpoint_url=form.base_url or None,
            verify=str(network.ca_file) if network.ca_file else None,
            config=config,
        )
    )
    headers = {**({"Authorization": f"Bearer {form.key_text}"} if form.key_text else {}), **form.additions.headers}

    def add_headers(request: Any, **_: Any) -> None:
        for name, value in headers.items():
            request.headers[name] = value

    client.meta.events.register(f"before-sign.{service}.*", add_headers)
    return client


PROVIDERS: Final[Mapping[str, Provider]] = {
    "openai": Provider(
        "langchain_openai", "ChatOpenAI", "", "OPENAI_API_KEY", "httpx2", _openai
    ),
    "azure_openai": Provider(
        "langchain_openai", "AzureChatOpenAI", "", "AZURE_OPENAI_API_KEY", "httpx2", _azure
    ),
    "anthropic": Provider(
        "langchain_anthropic", "ChatAnthropic", "anthropic", "ANTHROPIC_API_KEY", "httpx2",
        _anthropic, frozenset({"max_tokens"}),
    ),
    "google_genai": Provider(
        "langchain_google_genai", "ChatGoogleGenerativeAI", "google-genai", "GOOGLE_API_KEY", "httpx", _google,
    ),
    "mistralai": Provider(
        "langchain_mistralai", "ChatMistralAI", "mistralai", "MISTRAL_API_KEY", "httpx",
        _mistral,
    ),
    "deepseek": Provider(
        "langchain_deepseek", "ChatDeepSeek", "deepseek", "DEEPSEEK_API_KEY", "httpx2",
        _deepseek,
    ),
    "ollama": Provider(
        "langchain_ollama", "ChatOllama", "ollama", "OLLAMA_API_KEY", "httpx", _ollama
    ),
    "bedrock_converse": Provider(
        "langchain_aws", "ChatBedrockConverse", "bedrock", "AWS_BEARER_TOKEN_BEDROCK", "botocore", _bedrock
    ),
}  # fmt: skip


def open_chat(form: ModelForm) -> OpenChat:
    """Return the chat model of a form; raises ModelNotSetUp where it cannot be made. It imports: call it in a thread."""
    provider = PROVIDERS[form.provider]
    if refusal := form.network.refusal(form.base_url):
        raise ModelNotSetUp(refusal)
    try:
        chat = getattr(import_module(provider.module), provider.class_name)
        library = import_module(provider.library)
        if provider.library == "botocore":
            import_module("botocore.config")
    except ImportError as error:
        missing = f"the package of {form.provider} is not installed ({error.name})"
        raise ModelNotSetUp(f"{missing}: pip install 'querybus[{provider.extra or 'llm'}]'") from None
    try:
        return provider.make(chat, form, library)
    except ModelNotSetUp:
        raise
    except Exception as error:  # noqa: BLE001 - each package refuses its arguments in its own way
        raise ModelNotSetUp(f"{provider.class_name} cannot be made as it is set ({type(error).__name__})") from None
