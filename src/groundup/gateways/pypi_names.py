"""Which projects the user's Python package indexes have."""

from collections.abc import Mapping

from groundup.gateways.cache import FetchCache
from groundup.gateways.indexes import client_configuration
from groundup.gateways.pypi_registry import PyPIRegistry
from groundup.gateways.records import UnknownPackageError


async def open_index(environment: Mapping[str, str], cache: FetchCache) -> "PyPINames":
    """Return the indexes that uv and pip are configured for. Raises `UsageError`."""
    return PyPINames(PyPIRegistry(await client_configuration(environment), cache))


class PyPINames:
    """Projects and versions by the Simple API. Belongs to one event loop."""

    def __init__(self, registry: PyPIRegistry) -> None:
        self._registry = registry

    async def close(self) -> None:
        """Close all connections."""
        await self._registry.close()

    async def look_up(self, name: str) -> tuple[str, ...] | None:
        """Return the versions of *name*, None when it does not exist. Raises `NetworkError`."""
        try:
            page = (await self._registry.page(name)).page
        except (UnknownPackageError, ValueError):  # not even a possible name
            return None
        return tuple(dict.fromkeys(file.version for file in page.files if file.version is not None))
