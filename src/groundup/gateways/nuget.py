"""Which packages the NuGet sources have that `dotnet` is configured for."""

import json
import re
from collections.abc import Mapping, Sequence

from groundup.domain.errors import NetworkError
from groundup.gateways.registry_clients import ask_client, reach
from groundup.gateways.upstream import Upstream, shown

_NAME = re.compile(r"\w+([.-]\w+)*")
_SOURCE = re.compile(r"^E[A-Z]*\s+(?P<url>https?://\S+)\s*$", re.MULTILINE)
_RESOURCE = "PackageBaseAddress/3.0.0"
_ABSENT = (404, 410)


async def open_source(environment: Mapping[str, str]) -> "NuGetSources | None":
    """Return the enabled sources; None when dotnet is not there to say."""
    asked = {**environment, "DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1"}
    result = await ask_client(["dotnet", "nuget", "list", "source", "--format", "Short"], asked)
    told = result.stdout.decode(errors="replace") if result is not None and result.ok else ""
    found = [reach(match["url"], environment, "NuGet's configuration") for match in _SOURCE.finditer(told)]
    return NuGetSources(found) if found else None


class NuGetSources:
    """Sources of the v3 protocol; a package exists when one of them has it. Belongs to one event loop."""

    def __init__(self, sources: Sequence[tuple[str, Upstream]]) -> None:
        self._sources = sources
        self._bases: dict[str, str] = {}

    async def close(self) -> None:
        """Close all connections."""
        for _, upstream in self._sources:
            await upstream.close()

    async def look_up(self, name: str) -> tuple[str, ...] | None:
        """Return the versions of *name*, None when no source has it. Raises `NetworkError`."""
        if not _NAME.fullmatch(name):
            return None
        found: dict[str, None] = {}
        exists = False
        for url, upstream in self._sources:
            base = await self._base(url, upstream)
            page = f"{base.rstrip('/')}/{name.lower()}/index.json"
            answer = await upstream.page(page, accept="application/json")
            if answer.status != 200:
                if answer.code in _ABSENT:
                    continue
                raise NetworkError(f"{shown(page)} answers with HTTP {answer.code}")
            exists = True
            found.update(dict.fromkeys(_versions(page, answer.body)))
        return tuple(found) if exists else None

    async def _base(self, url: str, upstream: Upstream) -> str:
        if url not in self._bases:
            answer = await upstream.page(url, accept="application/json")
            try:
                resources = json.loads(answer.body)["resources"]
                self._bases[url] = next(str(item["@id"]) for item in resources if item["@type"] == _RESOURCE)
            except (ValueError, KeyError, TypeError, StopIteration) as error:
                raise NetworkError(f"{shown(url)} is no NuGet source of version 3") from error
        return self._bases[url]


def _versions(page: str, body: bytes) -> list[str]:
    try:
        return [str(version) for version in json.loads(body)["versions"]]
    except (ValueError, KeyError, TypeError) as error:
        raise NetworkError(f"{shown(page)} is no list of versions") from error
