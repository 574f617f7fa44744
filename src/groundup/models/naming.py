"""What `-m provider/name` means: the providers that are known, and which key belongs to which."""

import tomllib
from importlib.resources import files
from typing import Literal

from pydantic import Field, SecretStr

from groundup.domain.errors import UsageError
from groundup.domain.names import unknown
from groundup.domain.records import Record
from groundup.models.settings import ModelSettings
from groundup.settings import environment

SCRIPTED = "scripted"
"""The provider whose models are files; it is served by groundup itself."""


class Provider(Record):
    """One table of providers.toml; the keys are explained there."""

    base_url: str | None = None
    key: str
    key_optional: bool = False
    key_header: str | None = None
    api: Literal["chat", "messages"] = "chat"
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


def providers() -> dict[str, Provider]:
    """Return all providers by name."""
    text = files("groundup.models").joinpath("providers.toml").read_text(encoding="utf-8")
    return {name: Provider.model_validate(table) for name, table in tomllib.loads(text).items()}


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


def provider_of(name: ModelName, settings: ModelSettings) -> Provider:
    """Return how *name* is asked, with what the user sets instead. Raises `UsageError`."""
    changes: dict[str, str | None] = {
        "base_url": settings.base_url,
        "api": settings.api,
        "key": settings.key_variable,
    }
    own = providers().get(name.provider) or Provider(key="GROUNDUP_SCRIPTED_KEY", key_optional=True)
    found = own.model_copy(update={key: value for key, value in changes.items() if value})
    if found.base_url is None:
        raise UsageError(f"{name.provider} has no address of its own: say where it is with --base-url")
    if not found.base_url.startswith(("http://", "https://")):
        raise UsageError(f"--base-url {found.base_url!r} is no address: it begins with http:// or https://")
    return found


def key_of(provider: Provider) -> SecretStr | None:
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
