"""What the ecosystems' own clients say of the forty predictions, from registries that the tests make.

A row says what the client has at run time, or its error. Together with `test_predictions` this shows that a hit by
name is a package that the client gets, and that what is none is not there for it.
"""

import asyncio
import json
import os
import re
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from uv import find_uv_bin

from groundup.languages.javascript.package_json import PackageJson
from groundup.suites.dibench.central import CentralDefinitions
from groundup.suites.dibench.declarations import UNDEFINED
from tests.registries.fake_index import make_wheel
from tests.registries.fake_npm import FakeNpm
from tests.registries.fake_site import Site
from tests.registries.nuget.made import made_package
from tests.suites.dibench.made import write_tree
from tests.suites.dibench.predictions import Table, table

_FRAMEWORK = "net8.0"
"""As the table has it; tests take the one of the SDK that is here."""


def said(argv: list[str], folder: Path, **environment: str) -> tuple[int, str]:
    """Return the exit code and all that a client writes."""
    done = subprocess.run(
        argv,
        cwd=folder,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return done.returncode, done.stdout + done.stderr


def judged(about: Table, found: Mapping[str, tuple[int, str, set[str]]]) -> dict[str, str]:
    """Return the rows of which a client says something else, with what it says."""
    wrong = {}
    for row in about.prediction:
        code, text, has = found[row.what]
        same = row.error in text if row.error else not code and has == set(row.client)
        if bool(row.error) != bool(code) or not same:
            wrong[row.what] = f"exit {code}, has {sorted(has)}: {text[-1000:]}"
    return wrong


def written(about: Table, what: str, root: Path) -> Path:
    """Write the repository with one prediction in it."""
    row = next(row for row in about.prediction if row.what == what)
    return write_tree(root / re.sub(r"\W+", "-", what), {**about.beside, **about.written(row)})


def test_uv_resolves_what_python_counts(tmp_path: Path) -> None:
    """From a folder of wheels: names by PEP 503, no extras, no groups."""
    about, wheels = table("python"), tmp_path / "wheels"
    wheels.mkdir()
    for name, versions in about.packages.items():
        for version in versions:
            file, content = make_wheel(name.replace("-", "_"), version)
            (wheels / file).write_bytes(content)
    settings = str(tmp_path / "settings")  # of nobody's own
    own = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "UV_CACHE_DIR"), settings)
    found = {}
    for row in about.prediction:
        folder = written(about, row.what, tmp_path)
        options = ["--offline", "--no-index", "--find-links", str(wheels), "--no-header", "--no-annotate", "-q"]
        code, text = said(
            [find_uv_bin(), "pip", "compile", "pyproject.toml", *options], folder, UV_FIND_LINKS="", **own
        )
        found[row.what] = code, " ".join(text.split()), set(re.findall(r"^(\S+)==", text, re.MULTILINE))
    assert judged(about, found) == {}


@pytest.mark.needs("npm")
async def test_npm_resolves_what_javascript_counts(tmp_path: Path) -> None:
    """From a registry on loopback: names letter by letter, without what is for development."""
    about = table("javascript")
    found = {}
    async with Site.serving() as site:
        registry = FakeNpm(site)
        for name, versions in about.packages.items():
            for version in versions:
                registry.add(name, version)
        for row in about.prediction:
            folder = written(about, row.what, tmp_path)
            options = ["--package-lock-only", "--no-audit", "--no-fund", "--registry", site.address]
            options += ["--cache", str(tmp_path / "cache"), "--userconfig", str(tmp_path / "npmrc")]
            code, text = await asyncio.to_thread(said, ["npm", "install", *options], folder)
            found[row.what] = code, text, set() if code else _locked(folder / "package-lock.json")
    assert judged(about, found) == {}


def _locked(lock: Path) -> set[str]:
    packages = json.loads(lock.read_text())["packages"]
    return {name.removeprefix("node_modules/") for name, one in packages.items() if name and not one.get("dev")}


@pytest.mark.needs("cargo")
def test_cargo_resolves_what_rust_counts(tmp_path: Path) -> None:
    """From a directory of crates: names letter by letter, without what only tests, builds or features need."""
    about = table("rust")
    for name, versions in about.packages.items():
        for version in versions:
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
    for row in about.prediction:
        folder = write_tree(written(about, row.what, tmp_path), {"app/src/lib.rs": ""})
        options = ["--offline", "--edges", "normal", "--depth", "1", "--prefix", "none", "--format", "{p}"]
        code, text = said(["cargo", "tree", "-p", "app", *options], folder)
        found[row.what] = code, text, set(re.findall(r"^(\S+) v", text, re.MULTILINE)) - {"app"}
    assert judged(about, found) == {}


@pytest.mark.needs("dotnet")
def test_nuget_restores_what_csharp_counts(tmp_path: Path) -> None:
    """From a folder of packages: names whatever the case, versions from the central file."""
    about, source = table("csharp"), tmp_path / "packages"
    source.mkdir()
    for name, versions in about.packages.items():
        for version in versions:
            spelt = {"newtonsoft.json": "Newtonsoft.Json", "serilog": "Serilog"}[name]
            package = source / f"{name}.{version}.nupkg"
            package.write_bytes(made_package(spelt, version))
            with zipfile.ZipFile(package, "a") as archive:
                archive.writestr(f"lib/netstandard2.0/{spelt}.dll", "")
    _, version = said(["dotnet", "--version"], tmp_path)
    framework = f"net{version.partition('.')[0]}.0"
    here = {
        "NUGET_PACKAGES": str(tmp_path / "restored"),
        "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
        "DOTNET_NOLOGO": "1",
        "MSBUILDDISABLENODEREUSE": "1",
    }
    folders = {row.what: written(about, row.what, tmp_path) for row in about.prediction}
    for project in tmp_path.rglob("*.csproj"):
        project.write_text(project.read_text().replace(_FRAMEWORK, framework))
    listed = ";".join(str(folder / "App/App.csproj") for folder in folders.values())
    task = f'<MSBuild Projects="{listed}" Targets="Restore" ContinueOnError="true" />'
    write_tree(tmp_path, {"all.proj": f'<Project><Target Name="All">{task}</Target></Project>'})
    options = [f"-p:RestoreSources={source}", "-p:NuGetAudit=false", "-verbosity:quiet"]
    _, text = said(["dotnet", "msbuild", "all.proj", "-target:All", *options], tmp_path, **here)
    found = {}
    for what, folder in folders.items():
        errors = [line for line in text.splitlines() if f"{folder}/" in line and ": error " in line]
        has = set() if errors else _restored(folder / "App/obj/project.assets.json")
        found[what] = len(errors), "\n".join(errors), has
    assert judged(about, found) == {}


def _restored(assets: Path) -> set[str]:
    """Return what is compiled or run with; an asset called `_._` is none."""
    (target,) = json.loads(assets.read_text())["targets"].values()
    files = {name: {*one.get("compile", {}), *one.get("runtime", {})} for name, one in target.items()}
    return {name.partition("/")[0] for name, used in files.items() if any("_._" not in file for file in used)}


@pytest.mark.needs("pnpm")
@pytest.mark.parametrize(
    ("workspace", "request_", "error"),
    [
        ("catalog:\n  ms: ^2.1.3\n", "catalog:", ""),
        ("catalog:\n  ms: ^2.1.3\n", "catalog:default", ""),
        ("catalogs:\n  old:\n    ms: ^2.1.3\n", "catalog:old", ""),
        ("", "^2.1.3", ""),
        ("catalog:\n  mss: ^2.1.3\n", "catalog:", "ERR_PNPM_CATALOG_ENTRY_NOT_FOUND_FOR_SPEC"),
        ("catalog:\n  ms: ^2.1.3\n", "catalog:new", "ERR_PNPM_CATALOG_ENTRY_NOT_FOUND_FOR_SPEC"),
    ],
)
async def test_pnpm_takes_catalogs_as_they_are_counted(
    tmp_path: Path, workspace: str, request_: str, error: str
) -> None:
    """A request gets what its catalog says, as if it were written out; one without a definition is refused."""
    manifest = json.dumps({"name": "app", "dependencies": {"ms": request_}})
    files = {"package.json": manifest, "pnpm-workspace.yaml": "packages:\n  - a\n" + workspace}
    folder = write_tree(tmp_path / "app", files)
    async with Site.serving() as site:
        FakeNpm(site).add("ms", "2.1.3")
        options = ["--lockfile-only", "--registry", site.address, "--store-dir", str(tmp_path / "store")]
        code, text = await asyncio.to_thread(said, ["pnpm", "install", *options], folder)
    read = PackageJson().read(manifest.encode(), "package.json").dependencies
    central = CentralDefinitions(lambda path: files[path].encode() if path in files else None)
    (found,) = central.written_out("package.json", read)
    assert (bool(code), error in text) == (bool(error), True), text
    assert (UNDEFINED in dict(found.details)) is bool(error)
    assert found.constraint == ("" if error else "^2.1.3")
