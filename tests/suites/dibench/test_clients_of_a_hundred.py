"""What clients have of the hundred predictions: the names by which code finds packages, as `strict` counts them.

Every package and version that a prediction names exists in a registry that the tests make.
"""

import asyncio
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from uv import find_uv_bin

from groundup.manifests.records import Language
from tests.registries.fake_index import make_wheel
from tests.registries.fake_npm import FakeNpm
from tests.registries.fake_site import Site
from tests.registries.nuget.made import made_package
from tests.suites.dibench.changed_lists import CASES, LANGUAGES, Items
from tests.suites.dibench.made import write_tree
from tests.suites.dibench.test_clients import said

Counts = tuple[int, int, int]


def folders(language: Language, root: Path) -> Iterator[tuple[int, Path]]:
    """Write each prediction of *language* into a folder of its own; the first with number -1 is the original."""
    about = LANGUAGES[language]
    for number, items in [
        (-1, about.original),
        *((number, made) for name, number, made, _ in CASES if name == language),
    ]:
        yield number, write_tree(root / f"made{number}", {about.path: about.written(items)})


def compared(language: Language, found: Mapping[int, frozenset[str]]) -> dict[int, tuple[Counts, Counts]]:
    """Return the predictions of which a client has other names than arithmetic says, with both counts."""
    original = LANGUAGES[language].original
    wrong = {}
    for name, number, _, meant in CASES:
        if name == language:
            client = counted(found[-1], found[number])
            lists = counted(names(original), names(meant))
            if client != lists:
                wrong[number] = (client, lists)
    return wrong


def names(items: Items) -> frozenset[str]:
    """Return names as the lists have them."""
    return frozenset(item.name for item in items)


def counted(expected: frozenset[str], had: frozenset[str]) -> Counts:
    """Return right, too many and missing."""
    return len(expected & had), len(had - expected), len(expected - had)


def test_uv(tmp_path: Path) -> None:
    """From a folder of wheels."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    here = {"zope_interface": "7.0", "requests": "2.32.0", "click": "8.1.7", "rich": "1.0"}
    for name, version in (here | {"made_up_one": "2.32.0", "renamed": "8.1.7"}).items():
        file, content = make_wheel(name, version)
        (wheels / file).write_bytes(content)
    settings = str(tmp_path / "settings")
    found = {}
    for number, folder in folders("python", tmp_path):
        options = ["--offline", "--no-index", "--find-links", str(wheels), "--no-header", "--no-annotate", "-q"]
        command = [find_uv_bin(), "pip", "compile", "pyproject.toml", *options]
        own = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "UV_CACHE_DIR"), settings)
        code, text = said(command, folder, UV_FIND_LINKS="", **own)
        assert not code, text
        found[number] = frozenset(re.findall(r"^(\S+)==", text, re.MULTILINE))
    assert compared("python", found) == {}


@pytest.mark.needs("npm")
async def test_npm(tmp_path: Path) -> None:
    """From a registry on loopback: an alias is there by its own name."""
    found = {}
    async with Site.serving() as site:
        registry = FakeNpm(site)
        here = {"ws": "8.1.5", "lodash": "4.17.9", "react": "17.0.2", "@a/b": "1.0.0", "made-up-one": "4.17.9"}
        for name, version in here.items():
            registry.add(name, version)
        for number, folder in folders("javascript", tmp_path):
            options = ["--package-lock-only", "--no-audit", "--no-fund", "--registry", site.address]
            options += ["--cache", str(tmp_path / "cache"), "--userconfig", str(tmp_path / "npmrc")]
            code, text = await asyncio.to_thread(said, ["npm", "install", *options], folder)
            assert not code, text
            packages = json.loads((folder / "package-lock.json").read_text())["packages"]
            found[number] = frozenset(name.removeprefix("node_modules/") for name in packages if name)
    assert compared("javascript", found) == {}


@pytest.mark.needs("cargo")
def test_cargo(tmp_path: Path) -> None:
    """From a directory of crates: a renamed crate is there by its new name."""
    here = [("serde_json", "1.0.5"), ("serde_json", "0.9.1"), ("log", "0.4.20"), ("rand", "0.7.3")]
    for name, version in [*here, ("anyhow", "1.0.80"), ("made-up-one", "0.4.1")]:
        manifest = f'[package]\nname = "{name}"\nversion = "{version}"\nedition = "2021"\n'
        crate = {
            "Cargo.toml": manifest,
            "src/lib.rs": "",
            ".cargo-checksum.json": '{"files": {}, "package": null}',
        }
        write_tree(tmp_path / "crates" / f"{name}-{version}", crate)
    source = f'[source.crates-io]\nreplace-with = "made"\n[source.made]\ndirectory = "{tmp_path}/crates"\n'
    write_tree(tmp_path, {".cargo/config.toml": source})
    found = {}
    for number, folder in folders("rust", tmp_path):
        write_tree(folder, {"src/lib.rs": ""})
        code, text = said(["cargo", "metadata", "--offline", "--format-version", "1", "-q"], folder)
        assert not code, text
        told = json.loads(text[text.index("{") :])
        resolved = {one["id"]: one for one in told["resolve"]["nodes"]}[told["resolve"]["root"]]
        (own,) = (one for one in told["packages"] if one["id"] == told["resolve"]["root"])
        had = frozenset(one["rename"] or one["name"] for one in own["dependencies"])
        assert {one["name"] for one in resolved["deps"]} == {name.replace("-", "_") for name in had}
        found[number] = had
    assert compared("rust", found) == {}


@pytest.mark.needs("dotnet")
def test_nuget(tmp_path: Path) -> None:
    """From a folder of packages: whatever the case of a name."""
    source = tmp_path / "packages"
    source.mkdir()
    here = [
        ("Serilog", "4.0.0"),
        ("Serilog", "3.9.0"),
        ("NUnit", "4.2.2"),
        ("NUnit", "4.2.2.1"),
        ("Polly", "8.0.0"),
    ]
    for name, version in [*here, ("Moq", "4.20.0"), ("made-up-one", "4.2.2"), ("renamed", "8.0.0")]:
        package = source / f"{name.lower()}.{version}.nupkg"
        package.write_bytes(made_package(name, version))
        with zipfile.ZipFile(package, "a") as archive:
            archive.writestr(f"lib/netstandard2.0/{name}.dll", "")
    _, version = said(["dotnet", "--version"], tmp_path)
    made = dict(folders("csharp", tmp_path))
    listed = ";".join(str(folder / "Made.csproj") for folder in made.values())
    task = f'<MSBuild Projects="{listed}" Targets="Restore" ContinueOnError="true" />'
    write_tree(tmp_path, {"all.proj": f'<Project><Target Name="All">{task}</Target></Project>'})
    options = [
        f"-p:RestoreSources={source}",
        "-p:NuGetAudit=false",
        f"-p:TargetFramework=net{version.partition('.')[0]}.0",
    ]
    quiet = {"DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1", "MSBUILDDISABLENODEREUSE": "1"}
    restored = {"NUGET_PACKAGES": str(tmp_path / "restored"), **quiet}
    code, text = said(
        ["dotnet", "msbuild", "all.proj", "-target:All", "-verbosity:quiet", *options], tmp_path, **restored
    )
    assert not code, text
    found = {}
    for number, folder in made.items():
        (target,) = json.loads((folder / "obj/project.assets.json").read_text())["targets"].values()
        found[number] = frozenset(name.partition("/")[0].lower() for name in target)
    assert compared("csharp", found) == {}
