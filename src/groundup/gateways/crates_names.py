"""Which crates a sparse index has."""

from collections.abc import Mapping

from groundup.domain.errors import InfrastructureError
from groundup.gateways.cache import FetchCache
from groundup.gateways.cargo_settings import cargo_configuration
from groundup.gateways.crate_pages import is_name
from groundup.gateways.crates_registry import CratesRegistry
from groundup.gateways.records import UnknownPackageError


async def open_index(environment: Mapping[str, str], cache: FetchCache) -> "CrateNames | None":
    """Return the index that Cargo is configured for; None when Cargo does not say, or has a Git index."""
    try:
        return CrateNames(CratesRegistry(await cargo_configuration(environment), cache))
    except InfrastructureError:
        return None


class CrateNames:
    """Crates and their versions. Belongs to one event loop."""

    def __init__(self, registry: CratesRegistry) -> None:
        self._registry = registry

    async def close(self) -> None:
        """Close all connections."""
        await self._registry.close()

    async def look_up(self, name: str) -> tuple[str, ...] | None:
        """Return the versions of *name* but yanked ones, None when it does not exist. Raises `NetworkError`."""
        if not is_name(name):
            return None
        try:
            page = (await self._registry.page(name)).page
        except UnknownPackageError:
            return None
        if not any(found.name == name for found in page.versions):
            return None
        return tuple(found.version for found in page.versions if found.name == name and not found.yanked)
