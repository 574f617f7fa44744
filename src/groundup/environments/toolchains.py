"""Toolchains of the host that a sandbox can be given: Node.js, Rust, .NET, Go, a JDK with Maven. Installs nothing.

What lies below /usr (but not /usr/local) is seen inside every sandbox anyway; anything else is mounted read-only
below `/opt/toolchains`, the toolchain alone, without what its user installed with it.
"""

import asyncio
import os
import re
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import Field

from groundup.domain.digests import digest_of, short
from groundup.domain.errors import InfrastructureError, MachineError
from groundup.domain.languages import RegistryKind, ToolchainName
from groundup.domain.records import Record
from groundup.environments.failures import telling_line
from groundup.languages import TOOLCHAINS
from groundup.sandbox.machine import Fact, FactStatus
from groundup.sandbox.programs import run_program
from groundup.sandbox.protocol import Mount
from groundup.settings import environment

INSIDE = "/opt/toolchains"
_ASK_S = 60.0
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")
_NODE_PACKAGES = {"npm": ("npm", "bin/npm-cli.js"), "npx": ("npm", "bin/npx-cli.js")}
_COREPACK = {"corepack": ("corepack", "dist/corepack.js")}


class Toolchain(Record):
    """A toolchain of the host as a sandbox can have it: mounts, folders for PATH, variables."""

    name: ToolchainName
    versions: dict[str, str] = Field(description="program -> version")
    mounts: tuple[Mount, ...] = ()
    path: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    beside: dict[str, tuple[str, ...]] = Field(
        default={}, description="what lies there in several versions -> these, the oldest first"
    )

    @property
    def registry(self) -> RegistryKind:
        """Where its packages come from."""
        return TOOLCHAINS[self.name].registry


async def find_toolchain(name: ToolchainName, environment: Mapping[str, str], staging: Path) -> Toolchain:
    """Return the toolchain that the user's PATH has. Raises `InfrastructureError` with what to do.

    *staging* is a folder for what only sandboxes need, such as links; it is written to once per version.
    """
    finding = {"node": _node, "rust": _rust, "dotnet": _dotnet, "go": _go}[name]
    return await finding(_Host(environment), staging)


def toolchain_facts() -> list[Fact]:
    """Look for what CI jobs are executed with; tasks of other suites can be graded without it."""
    found = []
    for record in TOOLCHAINS.values():
        place = shutil.which(record.program, path=environment().get("PATH", os.defpath))
        if place:
            found.append(Fact(name=record.sdk, status=FactStatus.GOOD, value=place))
        else:
            use = f"execute CI jobs in {record.name}" if record.programs else f"grade services in {record.name}"
            advice = f"{record.install}, to {use}"
            found.append(Fact(name=record.sdk, status=FactStatus.LIMITED, value="missing", advice=advice))
        if place and record.toolchain == "dotnet":
            found.append(icu_fact(Path("/usr")))
    return found


def icu_fact(system: Path) -> Fact:
    """Return whether the library of languages and calendars is there, without which .NET does not start.

    Programs could do without it in the invariant mode, in which tests of cultures fail: so no sandbox sets that.
    """
    folders = ("lib/*", "lib64", "lib")
    found = (library for folder in folders for library in sorted(system.glob(f"{folder}/libicuuc.so.*")))
    library = next(found, None)
    if library is not None:
        return Fact(name="ICU", status=FactStatus.GOOD, value=str(library))
    advice = "install the system's package libicu (Debian: libicu72 and later); .NET does not start without it"
    return Fact(name="ICU", status=FactStatus.LIMITED, value="missing", advice=advice)


class _Host:
    """The user's programs."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def program(self, name: str, toolchain: ToolchainName) -> Path:
        found = shutil.which(name, path=self._environment.get("PATH", os.defpath))
        if found is None:
            raise MachineError(f"{name} is not on this machine; {TOOLCHAINS[toolchain].install}, then run again")
        return Path(found)

    async def says(self, toolchain: ToolchainName, *argv: str | Path) -> str:
        result = await run_program(argv, cwd=Path("/"), environment=self._environment, timeout_s=_ASK_S)
        if not result.ok:
            words = telling_line(result.text()) or "nothing"
            raise InfrastructureError(
                f"{argv[0]} does not work and says {words!r}; {TOOLCHAINS[toolchain].install}"
            )
        return result.stdout.decode(errors="replace").strip()

    async def version(self, toolchain: ToolchainName, *argv: str | Path) -> str:
        words = await self.says(toolchain, *argv)
        found = _VERSION.search(words)
        return found[0] if found else words


async def _node(host: _Host, staging: Path) -> Toolchain:
    node = Path(await host.says("node", host.program("node", "node"), "-p", "process.execPath")).resolve()
    npm = host.program("npm", "node")
    versions = {"node": await host.version("node", node, "-v"), "npm": await host.version("node", npm, "-v")}
    if _is_seen(node) and _is_seen(npm.resolve()):
        seen = node.parents[1]
        nodedir = {"npm_config_nodedir": str(seen)} if (seen / "include" / "node").is_dir() else {}
        return Toolchain(name="node", versions=versions, environment=nodedir)
    modules = _modules_of(npm, node)
    inside = f"{INSIDE}/node"
    programs = {
        program: place
        for program, place in {**_NODE_PACKAGES, **_COREPACK}.items()
        if (modules / place[0] / place[1]).is_file()
    }
    if "npm" not in programs:
        raise MachineError(f"{npm} does not belong to a usual npm; {TOOLCHAINS['node'].install}")
    packages = sorted({package for package, _ in programs.values()})
    headers = node.parents[1] / "include" / "node"
    folder = staging / f"node-{short(digest_of([versions, packages, sorted(programs), headers.is_dir()]))}"
    await asyncio.to_thread(_stage_node, folder, programs, headers.is_dir())
    mounts = [Mount(source=folder, target=inside), Mount(source=node, target=f"{inside}/bin/node")]
    mounts += [Mount(source=modules / name, target=f"{inside}/lib/node_modules/{name}") for name in packages]
    if headers.is_dir():
        mounts.append(Mount(source=headers, target=f"{inside}/include/node"))
    return Toolchain(
        name="node",
        versions=versions,
        mounts=tuple(mounts),
        path=(f"{inside}/bin",),
        environment={"npm_config_nodedir": inside} if headers.is_dir() else {},
    )


def _modules_of(npm: Path, node: Path) -> Path:
    """Return the folder that has npm's package: beside the program that PATH names, else beside node."""
    real = npm.resolve()
    for parent in real.parents:
        if parent.name == "npm" and parent.parent.name == "node_modules":
            return parent.parent
    return node.parents[1] / "lib" / "node_modules"


def _stage_node(folder: Path, programs: Mapping[str, tuple[str, str]], with_headers: bool) -> None:
    """Make the places to mount at, and links as npm's own installer makes them."""
    if folder.is_dir():
        return
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}.{os.urandom(4).hex()}")
    (fresh / "bin").mkdir(parents=True)
    (fresh / "bin" / "node").touch(mode=0o755)
    for program, (package, script) in programs.items():
        (fresh / "lib" / "node_modules" / package).mkdir(parents=True, exist_ok=True)
        (fresh / "bin" / program).symlink_to(f"../lib/node_modules/{package}/{script}")
    if with_headers:
        (fresh / "include" / "node").mkdir(parents=True)
    try:
        fresh.rename(folder)
    except OSError:  # another process was first
        shutil.rmtree(fresh)


async def _rust(host: _Host, staging: Path) -> Toolchain:
    rustc, cargo = host.program("rustc", "rust"), host.program("cargo", "rust")
    root = Path(await host.says("rust", rustc, "--print", "sysroot"))
    own = root / "bin" / "cargo"
    versions = {
        "rustc": await host.version("rust", rustc, "-V"),
        "cargo": await host.version("rust", own if own.is_file() else cargo, "-V"),
    }
    if _is_seen(root) and _is_seen(cargo.resolve()):
        return Toolchain(name="rust", versions=versions)
    if not own.is_file():
        raise MachineError(f"the Rust toolchain {root} has no cargo of its own; {TOOLCHAINS['rust'].install}")
    inside = f"{INSIDE}/rust"
    return Toolchain(
        name="rust", versions=versions, mounts=(Mount(source=root, target=inside),), path=(f"{inside}/bin",)
    )


async def _go(host: _Host, staging: Path) -> Toolchain:
    go = host.program("go", "go")
    root = Path(await host.says("go", go, "env", "GOROOT"))
    inside = str(root) if _is_seen(root) else f"{INSIDE}/go"
    return Toolchain(
        name="go",
        versions={"go": await host.version("go", go, "version")},
        mounts=() if _is_seen(root) else (Mount(source=root, target=inside),),
        path=(f"{inside}/bin",),
        environment={"GOROOT": inside, "GOTOOLCHAIN": "local", "GOTELEMETRY": "off"},
    )


_DOTNET = {
    "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
    "DOTNET_NOLOGO": "1",
    "DOTNET_GENERATE_ASPNET_CERTIFICATE": "false",
    "DOTNET_CLI_WORKLOAD_UPDATE_NOTIFY_DISABLE": "true",
    "DOTNET_CLI_USE_MSBUILD_SERVER": "0",
    "MSBUILDDISABLENODEREUSE": "1",
}
"""What keeps `dotnet` to what it was asked for: nothing is sent, and none of its own servers is left running."""


async def _dotnet(host: _Host, staging: Path) -> Toolchain:
    program = host.program("dotnet", "dotnet").resolve()
    versions = {"dotnet": await host.version("dotnet", program, "--version")}
    beside = {
        "SDK": _numbered(program.parent / "sdk"),
        "runtime": _numbered(program.parent / "shared/Microsoft.NETCore.App"),
    }
    seen = _is_seen(program)
    inside = str(program.parent) if seen else f"{INSIDE}/dotnet"
    return Toolchain(
        name="dotnet",
        versions=versions,
        mounts=() if seen else (Mount(source=program.parent, target=inside),),
        path=() if seen else (inside,),
        environment=_DOTNET | {"DOTNET_ROOT": inside},
        beside=beside,
    )


def _numbered(folder: Path) -> tuple[str, ...]:
    """Return the versions that a folder has folders for, the oldest first."""
    names = [path.name for path in folder.glob("*/") if _VERSION.fullmatch(path.name)]
    return tuple(sorted(names, key=lambda name: [int(part) for part in re.findall(r"\d+", name)]))


def _is_seen(path: Path) -> bool:
    """Whether every sandbox sees it."""
    return path.is_relative_to("/usr") and not path.is_relative_to("/usr/local")


_JAVA_VERSION = re.compile(r'^JAVA_VERSION="([^"]+)"', re.MULTILINE)
_PLACES = ("/usr/lib/jvm/*", "/usr/java/*", "/opt/java/*", "/opt/jdk*", "/opt/*jdk*")
_HOME_PLACES = (
    ".sdkman/candidates/java/*",
    ".jdks/*",
    ".local/share/mise/installs/java/*",
    ".asdf/installs/java/*",
)
_NEEDED = ("bin/java", "bin/javac", "release")


class Jdk(Record):
    """A JDK of this machine."""

    home: Path
    version: str

    @property
    def major(self) -> int:
        """Such as 17; 8 for 1.8."""
        first, _, rest = self.version.partition(".")
        number = rest.partition(".")[0] if first == "1" else first
        return int(re.match(r"\d*", number)[0] or 0)  # type: ignore[index]  # the pattern matches everything


def find_jdk(major: int, environment: Mapping[str, str]) -> Jdk:
    """Return the first JDK of this *major* version. Raises `InfrastructureError` that names the others."""
    found = list(jdks(environment))
    for jdk in found:
        if jdk.major == major:
            return jdk
    others = ", ".join(f"{jdk.version} in {jdk.home}" for jdk in found) or "none at all"
    raise MachineError(
        f"no JDK {major} is installed here ({others}); install one, such as Debian's openjdk-{major}-jdk, or "
        "name its folder in JAVA_HOME"
    )


def jdks(environment: Mapping[str, str]) -> Iterator[Jdk]:
    """Yield the JDKs of this machine, each once: JAVA_HOME's, PATH's, then those in the usual places."""
    seen: set[Path] = set()
    for place in _places(environment):
        home = place.resolve()
        if home not in seen:
            seen.add(home)
            jdk = _read(home)
            if jdk is not None:
                yield jdk


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    if named := environment.get("JAVA_HOME"):
        yield Path(named)
    for folder in filter(None, environment.get("PATH", "").split(":")):
        compiler = Path(folder, "javac")
        if _is_file(compiler):
            yield compiler.resolve().parents[1]
    home = Path(environment.get("HOME") or "/nonexistent")
    for base, patterns in ((Path("/"), _PLACES), (home, _HOME_PLACES)):
        for pattern in patterns:
            yield from sorted(base.glob(pattern.lstrip("/")))


def _is_file(path: Path) -> bool:
    """Whether a file is there; not in a folder that may not be entered, such as another user's home."""
    return os.path.isfile(path)  # noqa: PTH113  # which Path.is_file raises there


def _read(home: Path) -> Jdk | None:
    if not all(_is_file(home / name) for name in _NEEDED):
        return None
    stated = _JAVA_VERSION.search((home / "release").read_text(encoding="utf-8", errors="replace"))
    return Jdk(home=home, version=stated[1]) if stated else None


_CORE = "META-INF/maven/org.apache.maven/maven-core/pom.properties"
_MAVEN_PLACES = ("/usr/share/maven", "/usr/local/share/maven", "/opt/maven", "/usr/local/maven")
_MAVEN_HOME_PLACES = (".sdkman/candidates/maven/current",)
_DEPTH = 3
"""How many folders above `mvn` its home may be: links of distributions differ."""


class MavenHome(Record):
    """A Maven of this machine."""

    home: Path
    version: str


def find_maven(environment: Mapping[str, str]) -> MavenHome:
    """Return the user's Maven: MAVEN_HOME's, PATH's, or one in a usual place. Raises `InfrastructureError`."""
    for place in _maven_places(environment):
        home = place.resolve()
        version = _version(home)
        if version is not None:
            return MavenHome(home=home, version=version)
    raise MachineError(
        "no Maven is installed here; install one, such as Debian's maven, or name its folder in MAVEN_HOME"
    )


def _maven_places(environment: Mapping[str, str]) -> Iterator[Path]:
    for name in ("MAVEN_HOME", "M2_HOME"):
        if named := environment.get(name):
            yield Path(named)
    for folder in filter(None, environment.get("PATH", "").split(":")):
        program = Path(folder, "mvn")
        if _is_file(program):
            yield from list(program.resolve().parents)[:_DEPTH]
    yield from map(Path, _MAVEN_PLACES)
    home = Path(environment.get("HOME") or "/nonexistent")
    yield from (home / place for place in _MAVEN_HOME_PLACES)


def _version(home: Path) -> str | None:
    if not _is_file(home / "bin/mvn"):
        return None
    for jar in sorted(home.glob("lib/maven-core-*.jar")):
        try:
            with zipfile.ZipFile(jar) as archive:
                stated = re.search(rb"^version=(\S+)", archive.read(_CORE), re.MULTILINE)
        except (OSError, KeyError, zipfile.BadZipFile):
            continue
        if stated:
            return stated[1].decode(errors="replace")
    return None
