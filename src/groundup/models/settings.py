"""What a user can set for a model: provider, address, patience, price. Holds no key."""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, SecretStr

from groundup.domain.errors import UsageError
from groundup.domain.names import unknown
from groundup.domain.records import Record, SettingRecord
from groundup.settings import environment

ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class ModelSettings(SettingRecord):
    """How a run asks its model. The key is not among it: it stays in the environment."""

    base_url: str | None = Field(default=None, description="address of the endpoint; None: the provider's own")
    api: Literal["chat", "responses", "messages", "gemini"] | None = Field(
        default=None, description="what the endpoint speaks; None: what the provider speaks"
    )
    key_variable: str | None = Field(
        default=None, description="environment variable that holds the key; None: the provider's"
    )
    context_tokens: int | None = Field(default=None, ge=1, description="window of the model, if it is known")
    temperature: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="for requests that name none"
    )
    max_output_tokens: int | None = Field(default=None, ge=1, description="for requests that name none")
    reasoning_effort: ReasoningEffort | None = Field(
        default=None, description="how long the model thinks; None: as the endpoint does by itself"
    )
    extra: dict[str, JsonValue] = Field(default={}, description="further keys of every request's JSON")
    concurrency: int = Field(default=64, ge=1, description="calls at once to one endpoint, all attempts together")
    timeout_s: float = Field(default=600.0, gt=0, description="for the whole answer to one call")
    first_pause_s: float = Field(
        default=1.0, gt=0, description="before the second try, unless the endpoint says; doubled for each next one"
    )
    patience_s: float = Field(
        default=600.0, ge=0, description="how long a call is tried again after its first failure that may pass"
    )
    stream: bool = Field(
        default=False,
        description="ask for replies as streams; an endpoint that gives no others is asked so anyway",
    )
    prices: Path | None = Field(default=None, description="price file (TOML)")
    price: str | None = Field(
        default=None, description="USD per million tokens, INPUT:OUTPUT or INPUT:OUTPUT:CACHED; before the file's"
    )
    max_cost_usd: float | None = Field(default=None, gt=0, description="for all calls together")
    cache_dir: Path | None = Field(default=None, description="where replies are kept for reuse; None: nowhere")

    def identity(self) -> dict[str, JsonValue]:
        """Return what may change the replies, for a run's configuration; the address without credentials."""
        names = ("api", "context_tokens", "temperature", "max_output_tokens", "extra")
        own: dict[str, JsonValue] = {name: getattr(self, name) for name in names}
        if self.reasoning_effort:  # runs from before there was this setting have the same identity
            own["reasoning_effort"] = self.reasoning_effort
        return own | {"base_url": shown_address(self.base_url) if self.base_url else None}


_PATHS = ("/chat/completions", "/completions", "/responses", "/messages", "/models")
"""Where an endpoint is asked, below its address."""
SCRIPTED = "scripted"
"""The provider whose models are files; it is served by groundup itself."""


class ModelProvider(Record):
    """One table of providers.toml; the keys are explained there."""

    base_url: str | None = None
    address: str | None = None
    address_path: str = ""
    key: str
    key_optional: bool = False
    key_header: str | None = None
    api: Literal["chat", "responses", "messages", "gemini"] = "chat"
    output_limit: str = "max_tokens"
    reasoning: str | None = None
    null_content: bool = True
    tokenizer: Literal["llamacpp", "vllm"] | None = None


class ModelName(Record):
    """`provider/model` in its parts. A model's own name may hold further slashes."""

    provider: str
    model: str = Field(min_length=1)

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"


def providers() -> dict[str, ModelProvider]:
    text = files("groundup.models").joinpath("providers.toml").read_text(encoding="utf-8")
    return {name: ModelProvider.model_validate(table) for name, table in tomllib.loads(text).items()}


def parse_name(text: str) -> ModelName:
    """Split `provider/model`. Raises `UsageError` with the providers that there are."""
    provider, slash, model = text.partition("/")
    known = [*providers(), SCRIPTED]
    if not slash or not model:
        raise UsageError(f"{text!r} names no model: say PROVIDER/MODEL, with one of {', '.join(sorted(known))}")
    if provider not in known:
        raise UsageError(
            f"{unknown('provider of models', provider, known)} (any other endpoint: compatible/{text})"
        )
    return ModelName(provider=provider, model=model)


def usual_address(name: str) -> str | None:
    """Return where *name*'s provider is by the variable that its own SDK reads; None: at its own address.

    Whoever begins something asks this once and keeps the answer, so that a run which goes on in another shell asks
    the same endpoint. Raises `UsageError` for a name that is none.
    """
    provider = providers().get(parse_name(name).provider)
    if provider is None or provider.address is None:
        return None
    given = environment().get(provider.address, "").strip().rstrip("/")
    return given.removesuffix(provider.address_path) + provider.address_path if given else None


def provider_of(name: ModelName, settings: ModelSettings) -> ModelProvider:
    """Return how *name* is asked, with what the user sets instead. Raises `UsageError`."""
    changes: dict[str, str | None] = {
        "base_url": settings.base_url,
        "api": settings.api,
        "key": settings.key_variable,
    }
    own = providers().get(name.provider) or ModelProvider(key="GROUNDUP_SCRIPTED_KEY", key_optional=True)
    found = own.but(**{key: value for key, value in changes.items() if value})
    if found.base_url is None:
        raise UsageError(f"{name.provider} has no address of its own: say where it is with --base-url")
    if not found.base_url.startswith(("http://", "https://")):
        raise UsageError(f"--base-url {found.base_url!r} is no address: it begins with http:// or https://")
    address = found.base_url.rstrip("/")
    if (path := next((path for path in _PATHS if address.endswith(path)), None)) is not None:
        raise UsageError(
            f"--base-url {shown_address(address)!r} goes too far: give {shown_address(address.removesuffix(path))}"
        )
    return found


def key_of(provider: ModelProvider) -> SecretStr | None:
    """Return the key from the environment, None where it may be absent. Raises `UsageError`."""
    key = environment().get(provider.key, "").strip()
    if key and not (key.isascii() and key.isprintable()):
        raise UsageError(
            f"the environment variable {provider.key} holds no key: it has characters that no key has"
        )
    if key:
        return SecretStr(key)
    if provider.key_optional:
        return None
    raise UsageError(f"the model's key is not set: put it into the environment variable {provider.key}")


def shown_address(url: str) -> str:
    """Return an address as people may see it: without credentials, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
