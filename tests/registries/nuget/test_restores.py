"""The real client restores through the gateway, from a source that is made here."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from groundup.registries.cache import FetchCache
from groundup.registries.nuget import CONFIG_PLACE, NuGetClient, NuGetGateway, NuGetSettings
from groundup.registries.settings import Index
from tests.registries.fake_site import Site
from tests.registries.nuget.made import FakeNuGet

PROJECT = '<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup>{}</PropertyGroup><ItemGroup>{}</ItemGroup></Project>'
BUILD_PROPS = """<Project><PropertyGroup><TargetFramework>net10.0</TargetFramework>
<RestorePackagesWithLockFile>true</RestorePackagesWithLockFile></PropertyGroup></Project>"""
CENTRAL = """<Project><PropertyGroup><ManagePackageVersionsCentrally>true</ManagePackageVersionsCentrally>
<MadeVersion>1.0</MadeVersion></PropertyGroup><ItemGroup>
<GlobalPackageReference Include="Made.Everywhere" Version="2.0.0" />
<PackageVersion Include="Made.Central" Version="$(MadeVersion)" />
<PackageVersion Include="Made.Overridden" Version="1.0.0" /></ItemGroup></Project>"""
REFERENCES = """<PackageReference Include="made.CENTRAL" />
<PackageReference Include="Made.Overridden" VersionOverride="1.5.0" />"""


class Restoring:
    """Projects in a folder, and a `dotnet` that knows one gateway and nothing else."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._environment = environment

    def write(self, files: Mapping[str, str]) -> None:
        """Write files by path."""
        for path, text in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text)

    async def dotnet(self, *arguments: str) -> tuple[int, str]:
        """Return the exit code and output of a command in the folder."""
        running = await asyncio.create_subprocess_exec(
            "dotnet", *arguments, cwd=self.folder, env=dict(self._environment),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        output, _ = await running.communicate()
        return running.returncode or 0, output.decode(errors="replace")


@asynccontextmanager
async def restoring(gateway: NuGetGateway, tmp_path: Path) -> AsyncIterator[Restoring]:
    """Serve *gateway* on loopback to a client with a home of its own."""
    home, folder = tmp_path / "home", tmp_path / "project"
    folder.mkdir()
    async with gateway:
        listening = socket.create_server(("127.0.0.1", 0))
        supplies = gateway.supplies(f"http://127.0.0.1:{listening.getsockname()[1]}{gateway.entrance}")
        await gateway.server.serve(listening)
        configuration = home / Path(CONFIG_PLACE).relative_to("/home/user")
        configuration.parent.mkdir(parents=True)
        configuration.write_text(supplies.files[CONFIG_PLACE])
        kept = {name: os.environ[name] for name in ("PATH", "DOTNET_ROOT") if name in os.environ}
        quiet = {
            "MSBUILDDISABLENODEREUSE": "1",
            "DOTNET_CLI_USE_MSBUILD_SERVER": "0",
            "DOTNET_CLI_HOME": str(home),
        }
        yield Restoring(folder, {**kept, **supplies.environment, **quiet, "HOME": str(home)})


@pytest.fixture
async def source() -> AsyncIterator[tuple[Site, FakeNuGet]]:
    """A source with packages that need each other."""
    async with Site.serving() as site:
        found = FakeNuGet(site)
        found.add("Made.Everywhere", "2.0.0")
        found.add("Made.Central", "1.0.0", needs=[("Made.Below", "[1.0.0]")])
        found.add("Made.Below", "1.0.0", published="1900-01-01T00:00:00Z")
        for version in ("1.0.0", "1.5.0"):
            found.add("Made.Overridden", version)
        yield site, found


@pytest.fixture
async def registry(source: tuple[Site, FakeNuGet], tmp_path: Path) -> AsyncIterator[NuGetClient]:
    """The host's view of it, with an empty cache."""
    settings = NuGetSettings(indexes=(Index(url=source[1].address),))
    found = NuGetClient(settings, FetchCache(tmp_path / "cache"))
    yield found
    await found.close()


@pytest.mark.needs("dotnet")
async def test_central_versions_and_lock_files_restore(
    source: tuple[Site, FakeNuGet], registry: NuGetClient, tmp_path: Path
) -> None:
    """Central and overridden versions, references of all projects, a lock file that is written and then obeyed."""
    site, _ = source
    gateway = NuGetGateway(registry)
    async with restoring(gateway, tmp_path) as client:
        client.write(
            {
                "Directory.Build.props": BUILD_PROPS,
                "Directory.Packages.props": CENTRAL,
                "A/A.csproj": PROJECT.format("", REFERENCES),
            }
        )
        code, said = await client.dotnet("restore", "A")
        assert code == 0, said
        locked = json.loads((client.folder / "A/packages.lock.json").read_text())["dependencies"]["net10.0"]
        resolved = {name: entry["resolved"] for name, entry in locked.items()}
        assert resolved == {
            "Made.Central": "1.0.0", "Made.Below": "1.0.0", "Made.Everywhere": "2.0.0", "Made.Overridden": "1.5.0",
        }  # fmt: skip
        code, said = await client.dotnet("restore", "A", "--locked-mode", "--force")
        assert code == 0, said
        client.write({"A/A.csproj": PROJECT.format("", f'{REFERENCES}<PackageReference Include="Made.Below" />')})
        code, said = await client.dotnet("restore", "A", "--locked-mode")
        assert code == 1
        assert "NU1004" in said
        assert [path for path in site.paths() if path.endswith(".nupkg")].count(
            "/flat/made.central/1.0.0/made.central.1.0.0.nupkg"
        ) == 1
    assert all(one.verified for one in gateway.fetched if one.kind == "file")


@pytest.mark.needs("dotnet")
async def test_what_is_absent_or_refused_is_said_so(registry: NuGetClient, tmp_path: Path) -> None:
    """A name that no source has ends as NU1101, and the gateway's own refusal reaches who reads the log."""
    gateway = NuGetGateway(registry, refused=("made.everywhere",))
    wanted = '<PackageReference Include="{}" Version="1.0.0" />'
    async with restoring(gateway, tmp_path) as client:
        net = "<TargetFramework>net10.0</TargetFramework>"
        client.write({"A/A.csproj": PROJECT.format(net, wanted.format("Nobody.Has.This"))})
        code, said = await client.dotnet("restore", "A")
        assert code == 1
        assert "error NU1101" in said
        client.write({"A/A.csproj": PROJECT.format(net, wanted.format("Made.Everywhere"))})
        code, said = await client.dotnet("restore", "A")
        assert code == 1
        assert "403" in said
        code, said = await client.dotnet("package", "search", "Made.Overridden", "--exact-match")
        assert code == 0, said
        assert "1.5.0" in said
    assert {trouble.kind for trouble in gateway.troubles} == {"unknown", "refused"}
