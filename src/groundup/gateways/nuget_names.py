"""Which packages the NuGet sources have that `dotnet` is configured for."""

from collections.abc import Mapping

from groundup.domain.errors import InfrastructureError
from groundup.gateways.cache import FetchCache
from groundup.gateways.nuget_registry import NuGetRegistry, is_name
from groundup.gateways.nuget_settings import nuget_configuration
from groundup.gateways.records import UnknownPackageError


async def open_source(environment: Mapping[str, str], cache: FetchCache) -> "NuGetNames | None":
    """Return the enabled sources; None when dotnet is not there to say."""
    try:
        return NuGetNames(NuGetRegistry(await nuget_configuration(environment), cache))
    except InfrastructureError:
        return None


class NuGetNames:
    """A package exists when one of the sources has it. Belongs to one event loop."""

    def __init__(self, registry: NuGetRegistry) -> None:
        self._registry = registry

    async def close(self) -> None:
        """Close all connections."""
        await self._registry.close()

    async def look_up(self, name: str) -> tuple[str, ...] | None:
        """Return the versions of *name*, None when no source has it. Raises `NetworkError`."""
        if not is_name(name):
            return None
        try:
            found = await self._registry.versions(name)
        except UnknownPackageError:
            return None
        return tuple(item.version for item in found.versions)
