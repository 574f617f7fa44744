"""Local Maven repositories as layers: everything that a project's build files make Maven fetch.

Maven builds a stand-in for the project in a sandbox: its build files, and one class of ours in place of its
sources. The layer is then laid out by the host from what the gateway gave out, verified, and not from what the
build wrote: plugins of a stranger's build files run in there and could put anything into a local repository.
"""

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from groundup.domain.digests import digest_of
from groundup.environments.java_requests import (
    REPOSITORY_TARGET,
    JavaToolchain,
    MavenRepository,
    MavenRequest,
)
from groundup.environments.layer_store import Built
from groundup.environments.maven_sandbox import MavenSandbox
from groundup.environments.requests import Layer
from groundup.gateways.maven import MIRROR
from groundup.gateways.maven_registry import MavenFile, MavenRegistry, is_metadata, is_place
from groundup.gateways.records import UnknownPackageError
from groundup.sandbox.protocol import WORKSPACE, CommandResult

KIND = "maven"
_FORMAT = 1
"""Counts up when the same request is built differently."""
STAND_IN = "src/main/java/groundup/StandIn.java"
_STAND_IN_TEXT = "package groundup;\n\npublic class StandIn {\n    public static void main(String[] words) {}\n}\n"
_DEPENDENCY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
_CLASSPATH = "target/groundup-classpath"
_CLASSPATH_GOAL = (f"{_DEPENDENCY}:build-classpath", f"-Dmdep.outputFile={_CLASSPATH}", "-DincludeScope=test")
_MAX_ENTRIES = 3000
_JUNIT = "org/junit"


def layer_key(request: MavenRequest, toolchain: JavaToolchain) -> str:
    """Return the digest of everything that decides the layer."""
    return digest_of({"format": _FORMAT, "files": request.files, "java": toolchain.java, "maven": toolchain.maven})


def write_stand_in(request: MavenRequest, project: Path) -> None:
    """Write the build files, and one class, into the empty folder *project*."""
    for place, content in {**request.files, STAND_IN: _STAND_IN_TEXT.encode()}.items():
        path = project / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


async def resolve(build: MavenSandbox) -> CommandResult:
    """Build the stand-in and write its classpath down; the result is that of the command that decides."""
    result = await build.maven("-DskipTests", "package", *_CLASSPATH_GOAL)
    if not result.ok:  # such as a plugin that misses sources: the classpath can be had all the same
        result = await build.maven(*_CLASSPATH_GOAL)
    return result


async def classpath_of(build: MavenSandbox) -> tuple[list[str], list[str]]:
    """Return the test classpath that a build wrote: places in the repository, and in the project."""
    try:
        text = (await build.sandbox.read_file(f"{WORKSPACE}/{_CLASSPATH}", 1024 * 1024)).decode("utf-8", "replace")
    except (FileNotFoundError, ValueError):
        return [], []
    entries = dict.fromkeys(entry for entry in text.strip().split(":")[:_MAX_ENTRIES] if entry)
    return _below(entries, REPOSITORY_TARGET), _below(entries, WORKSPACE)


def _below(entries: Iterable[str], folder: str) -> list[str]:
    inside = (entry.removeprefix(f"{folder}/") for entry in entries if entry.startswith(f"{folder}/"))
    return [place for place in inside if is_place(place)]


async def runner_jars(classpath: Iterable[str], registry: MavenRegistry) -> dict[str, MavenFile]:
    """Return what *classpath* misses to start its JUnit 5 tests, as Surefire adds it; nothing without JUnit 5."""
    versions = {
        parts[-3]: parts[-2]
        for parts in (place.split("/") for place in classpath)
        if len(parts) > 4 and "/".join(parts[:2]) == _JUNIT
    }
    platform = versions.get("junit-platform-engine") or versions.get("junit-platform-commons")
    jupiter = versions.get("junit-jupiter-api")
    if platform is None or jupiter is None:
        return {}
    wanted = {
        ("platform", "junit-platform-launcher"): platform,
        ("platform", "junit-platform-engine"): platform,
        ("jupiter", "junit-jupiter-engine"): jupiter,
    }
    found = {}
    for (group, name), version in wanted.items():
        if name not in versions:
            place = f"{_JUNIT}/{group}/{name}/{version}/{name}-{version}.jar"
            try:
                found[place] = await registry.file(place)
            except UnknownPackageError:
                return {}
    return found


def lay_out(files: Mapping[str, MavenFile], tree: Path) -> None:
    """Write a local repository of *files* to the absent folder *tree*."""
    tree.mkdir()
    for place, file in files.items():
        target = tree / local_place(place)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            _link(file.path, target)


def local_place(place: str) -> str:
    """Return where a local repository keeps what a repository has at *place*."""
    if not is_metadata(place):
        return place
    path = PurePosixPath(place)
    return str(path.with_name(path.name.replace("maven-metadata", f"maven-metadata-{MIRROR}", 1)))


def _link(source: Path, target: Path) -> None:
    """Link, or copy where that cannot be: layers are seen read-only, and the cache's files never change."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def as_built(
    figures: Mapping[str, str], classpath: Iterable[str], runner: Iterable[str], own: Iterable[str]
) -> Built:
    """Return what a layer's record says."""
    told = {"classpath": list(classpath), "runner": list(runner), "own": list(own)}
    return Built(built={**figures, **{name: json.dumps(value) for name, value in told.items()}})


def as_repository(layer: Layer, toolchain: JavaToolchain) -> MavenRepository:
    """Return what the record of *layer* means."""
    return MavenRepository(
        layer=layer,
        toolchain=toolchain,
        test_classpath=tuple(json.loads(layer.built["classpath"])),
        runner=tuple(json.loads(layer.built["runner"])),
        own_classpath=tuple(json.loads(layer.built["own"])),
    )
