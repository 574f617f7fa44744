"""Which NuGet sources `dotnet` is configured for, and with which passwords."""

import re
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree

from pydantic import SecretStr

from groundup.domain.errors import InfrastructureError, UsageError
from groundup.registries.settings import (
    Credentials,
    RegistrySettings,
    ask_client,
    certificates,
    home_of,
    parse_index,
)

_SOURCE = re.compile(r"^E[A-Z]*\s+(?P<url>https?://\S+)\s*$", re.MULTILINE)
_PLACES = (".nuget/NuGet/NuGet.Config", ".config/NuGet/NuGet.Config")


async def nuget_settings(environment: Mapping[str, str]) -> RegistrySettings:
    """Return the enabled sources. Raises `InfrastructureError` when dotnet does not say, and `UsageError`."""
    asked = {**environment, "DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1"}
    result = await ask_client(["dotnet", "nuget", "list", "source", "--format", "Short"], asked)
    if result is None or not result.ok:
        raise InfrastructureError("dotnet is not on this machine to say where packages are; install a .NET SDK")
    secrets = dict(_secrets(environment))
    found = [parse_index(match["url"]) for match in _SOURCE.finditer(result.stdout.decode(errors="replace"))]
    if not found:
        raise InfrastructureError("dotnet names no source of packages; add one with `dotnet nuget add source`")
    indexes = tuple(
        index.model_copy(update={"credentials": index.credentials or secrets.get(index.url)}) for index in found
    )
    return RegistrySettings(indexes=indexes, ca_bundle=certificates(environment), origin="NuGet's configuration")


def _secrets(environment: Mapping[str, str]) -> Iterator[tuple[str, Credentials]]:
    """Yield address and credentials of the user's sources that have a password in clear text."""
    home = home_of(environment)
    for place in _PLACES:
        path = home / place
        if not path.is_file():
            continue
        try:
            root = ElementTree.fromstring(path.read_bytes())  # noqa: S314 - the user's own configuration
        except (ElementTree.ParseError, OSError) as error:
            raise UsageError(f"{path}: NuGet's configuration cannot be read: {error}") from error
        addresses = {add.get("key", ""): add.get("value", "") for add in root.iterfind("packageSources/add")}
        for entry in root.iterfind("packageSourceCredentials/*"):
            values = {add.get("key", ""): add.get("value", "") for add in entry.iterfind("add")}
            # An element's name cannot have every character: NuGet writes those by number.
            name = re.sub(r"_x([0-9A-Fa-f]{4})_", lambda match: chr(int(match[1], 16)), entry.tag)
            if name in addresses and "Username" in values and "ClearTextPassword" in values:
                password = SecretStr(values["ClearTextPassword"])
                url = addresses[name].rstrip("/")
                yield url, Credentials(username=values["Username"], password=password)
