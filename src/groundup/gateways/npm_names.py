"""Which packages npm registries have. The addresses are npm's own configuration; a scope may have its own."""

import json
from collections.abc import Mapping

from groundup.domain.errors import InfrastructureError
from groundup.gateways.cache import FetchCache
from groundup.gateways.npm_packuments import is_name
from groundup.gateways.npm_registry import NpmRegistry
from groundup.gateways.npm_settings import npm_configuration
from groundup.gateways.records import UnknownPackageError


async def open_registry(environment: Mapping[str, str], cache: FetchCache) -> "NpmNames | None":
    """Return the registries that npm is configured for; None when npm is not there to say."""
    try:
        return NpmNames(NpmRegistry(await npm_configuration(environment), cache))
    except InfrastructureError:
        return None


class NpmNames:
    """Packages and their versions. Belongs to one event loop."""

    def __init__(self, registry: NpmRegistry) -> None:
        self._registry = registry

    async def close(self) -> None:
        """Close all connections."""
        await self._registry.close()

    async def look_up(self, name: str) -> tuple[str, ...] | None:
        """Return the versions of *name*, None when it does not exist. Raises `NetworkError`."""
        if not is_name(name):
            return None
        try:
            found = await self._registry.packument(name, "brief")
        except UnknownPackageError:
            return None
        return tuple(json.loads(found.packument.document)["versions"])
