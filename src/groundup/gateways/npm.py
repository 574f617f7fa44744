"""Which packages npm registries have. The addresses are npm's own configuration; a scope may have its own."""

import json
from collections.abc import Mapping
from urllib.parse import quote

from groundup.domain.errors import NetworkError
from groundup.gateways.registry_clients import ask_client, reach
from groundup.gateways.upstream import Upstream, shown

_ABBREVIATED = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8"
_ABSENT = (404, 410)


async def open_registry(environment: Mapping[str, str]) -> "NpmRegistry | None":
    """Return the registry that npm is configured for; None when npm is not there to say."""
    url = await _configured("registry", environment)
    return None if url is None else NpmRegistry(url, environment)


async def _configured(key: str, environment: Mapping[str, str]) -> str | None:
    result = await ask_client(["npm", "config", "get", key], environment)
    words = result.stdout.decode(errors="replace").split() if result is not None and result.ok else []
    return words[-1] if words and "://" in words[-1] else None


class NpmRegistry:
    """One user's npm registries. Belongs to one event loop."""

    def __init__(self, url: str, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._registries: dict[str, tuple[str, Upstream]] = {"": reach(url, environment, "npm's configuration")}

    async def close(self) -> None:
        """Close all connections."""
        for _, upstream in self._registries.values():
            await upstream.close()

    async def look_up(self, name: str) -> tuple[str, ...] | None:
        """Return the versions of *name*, None when it does not exist. Raises `NetworkError`."""
        base, upstream = await self._registry(name.partition("/")[0] if name.startswith("@") else "")
        url = f"{base}/{quote(name, safe='@')}"
        answer = await upstream.page(url, accept=_ABBREVIATED)
        if answer.status != 200:
            if answer.code in _ABSENT:
                return None
            raise NetworkError(f"{shown(url)} answers with HTTP {answer.code}")
        try:
            versions = json.loads(answer.body)["versions"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise NetworkError(f"{shown(url)} is no page of an npm registry") from error
        return tuple(map(str, versions)) if isinstance(versions, dict) else ()

    async def _registry(self, scope: str) -> tuple[str, Upstream]:
        if scope not in self._registries:
            own = await _configured(f"{scope}:registry", self._environment)
            default = self._registries[""]
            self._registries[scope] = reach(own, self._environment, "npm's configuration") if own else default
        return self._registries[scope]
