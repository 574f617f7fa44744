"""Which registries the user's npm is configured for: addresses by scope, tokens, certificates, proxy.

npm itself says what its settings are (files, environment, defaults); tokens, which it does not say, are read from
the files that it names and from the environment.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, SecretStr

from groundup.domain.errors import InfrastructureError
from groundup.registries.settings import Authorization, RegistrySettings, ask_client, certificates, parse_index

_SCOPED = re.compile(r"(?P<scope>@[^:/]+):registry")
_SECRET = re.compile(r"(?P<place>//.+/?):(?P<kind>_authToken|_auth|username|_password)", re.IGNORECASE)
_VARIABLE = re.compile(r"(?<!\\)\$\{([^}?]+)(\?)?\}")


class NpmSettings(RegistrySettings):
    """How this user reaches npm registries. The first index is the default registry."""

    scopes: dict[str, str] = Field(default={}, description="scope -> address of its registry")

    def registry_of(self, name: str) -> str:
        """Return the address of the registry that has *name*."""
        scope = name.partition("/")[0] if name.startswith("@") else ""
        return self.scopes.get(scope, self.indexes[0].url)


async def npm_settings(environment: Mapping[str, str]) -> NpmSettings:
    """Return how the user whose *environment* this is reaches npm registries.

    Raises `InfrastructureError` when npm is not there to say, and `UsageError`.
    """
    settings = await _settings(environment)
    named = {"": settings.get("registry")}
    named |= {match["scope"]: value for key, value in settings.items() if (match := _SCOPED.fullmatch(key))}
    indexes = {scope: parse_index(text) for scope, text in named.items() if isinstance(text, str)}
    if "" not in indexes:  # where it is there, it is the first
        raise InfrastructureError("npm names no registry; set one with `npm config set registry`")
    proxy = settings.get("https-proxy") or settings.get("proxy")
    return NpmSettings(
        indexes=tuple(indexes.values()),
        scopes={scope: index.url for scope, index in indexes.items() if scope},
        ca_bundle=certificates(environment, {"npm's setting 'cafile'": settings.get("cafile")}),
        proxy=SecretStr(proxy) if isinstance(proxy, str) else None,
        authorizations=tuple(_authorizations(settings, environment)),
        origin="npm's configuration",
    )


async def _settings(environment: Mapping[str, str]) -> dict[str, Any]:
    result = await ask_client(["npm", "config", "list", "-l", "--json"], environment)
    if result is None or not result.ok:
        raise InfrastructureError(
            "npm is not on this machine to say where its registry is; install Node.js with npm"
        )
    try:
        found = json.loads(result.stdout)
    except ValueError as error:
        raise InfrastructureError(
            "`npm config list -l --json` prints no JSON; mend npm's configuration"
        ) from error
    return found if isinstance(found, dict) else {}


def _authorizations(settings: Mapping[str, Any], environment: Mapping[str, str]) -> Iterator[Authorization]:
    """Yield what npm sends to which addresses; what is stronger comes later and replaces the rest."""
    found: dict[str, dict[str, str]] = {}
    for key, value in _secrets(settings, environment):
        match = _SECRET.fullmatch(key)
        if match:
            found.setdefault(match["place"].rstrip("/"), {})[match["kind"].lower()] = value
    for place, secrets in found.items():
        header = _header(secrets)
        if header:
            yield Authorization(place=place, header=SecretStr(header))


def _header(secrets: Mapping[str, str]) -> str | None:
    if "_authtoken" in secrets:
        return f"Bearer {secrets['_authtoken']}"
    if "_auth" in secrets:
        return f"Basic {secrets['_auth']}"
    if "username" in secrets and "_password" in secrets:
        password = base64.b64decode(secrets["_password"]).decode(errors="replace")
        return "Basic " + base64.b64encode(f"{secrets['username']}:{password}".encode()).decode()
    return None


def _secrets(settings: Mapping[str, Any], environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for kind in ("globalconfig", "userconfig"):
        path = settings.get(kind)
        if isinstance(path, str):
            yield from _entries(Path(path), environment)
    for name, value in environment.items():
        if name.lower().startswith("npm_config_//"):
            yield name[len("npm_config_") :], value


def _entries(path: Path, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        key, separator, value = line.partition("=")
        if separator and not line.lstrip().startswith(("#", ";")):
            yield (
                key.strip(),
                _VARIABLE.sub(lambda match: environment.get(match[1], ""), value.strip().strip("\"'")),
            )
