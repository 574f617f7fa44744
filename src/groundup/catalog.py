"""Short name -> object: an explicit dict, installed entry points, or a dotted path `package.module:attribute`."""

import importlib
from typing import Any

from groundup.domain.errors import UsageError

BUILT_IN: dict[str, dict[str, str]] = {
    "suite": {
        "nl2repobench": "groundup.suites.nl2repobench.own_suite:create",
        "dibench": "groundup.suites.dibench.suite:create",
        "repogenesis": "groundup.suites.repogenesis.suite:create",
    },
    "agent": {
        "loop": "groundup.agents.loop:create",
        "oneshot": "groundup.agents.oneshot:create",
        "all-in-one": "groundup.agents.dependencies.agents:create_all_in_one",
        "imports-only": "groundup.agents.dependencies.agents:create_imports_only",
        "file-iterate": "groundup.agents.dependencies.agents:create_file_iterate",
        "cli": "groundup.agents.cli.agent:create",
    },
    "sandbox": {
        "bubblewrap": "groundup.sandbox.bubblewrap:create",
        "docker": "groundup.sandbox.containers.provider:create_docker",
        "podman": "groundup.sandbox.containers.provider:create_podman",
        "none": "groundup.sandbox.none:create",
        "fake": "groundup.sandbox.fake:create",
    },
    "builder": {
        "local": "groundup.environments.local:create",
    },
    "registry": {
        "pypi": "groundup.registries.pypi.gateway:PyPIGateway",
        "npm": "groundup.registries.npm.client:NpmGateway",
        "crates": "groundup.registries.crates:CratesGateway",
        "nuget": "groundup.registries.nuget.gateway:NuGetGateway",
        "maven": "groundup.registries.maven:MavenGateway",
    },
    "set": {
        "packed": "groundup.curation.packing:taken_in",
    },
    "facts": {
        "java": "groundup.environments.java_builder:java_facts",
        "toolchains": "groundup.environments.toolchains:toolchain_facts",
    },
    "fleet": {
        "dask": "groundup.fleet.opening:open_fleet",
    },
    "listing": {
        "nl2repobench": "groundup.suites.nl2repobench.listing:shipped_rows",
    },
}
"""What ships with groundup. Nothing is imported before it is asked for.

A suite and a sandbox are functions `create(settings: Settings)`, returning a `Suite` or a `SandboxProvider`;
an agent is a function `create(options: Mapping[str, JsonValue])`, returning an `Agent`;
a listing is a function that returns a suite's version and its `task_rows` as they are without data, and imports
little;
a registry is the `RegistryGateway` of a kind, which knows its client;
what takes in a packed set is a function of the set, a folder for work and settings, and returns the whole set;
facts are a function without arguments that returns what `doctor` says of this machine, as `Fact`s;
a fleet is `open(request: FleetRequest, warn)`, an asynchronous context with a `Fleet`;
a builder is `create(settings: Settings, provider: SandboxProvider)`, returning an `EnvironmentBuilder`.
"""


def names(kind: str) -> list[str]:
    """Return the short names of a *kind*, sorted: built-in ones and installed entry points."""
    from importlib.metadata import entry_points

    installed = {point.name for point in entry_points(group=f"groundup.{kind}")}
    return sorted(installed | BUILT_IN[kind].keys())


def knows(kind: str, name: str) -> bool:
    """Whether *name* is one of `names(kind)`; what ships is known without a look at what is installed."""
    return name in BUILT_IN[kind] or name in names(kind)


def find(kind: str, name: str) -> Any:
    """Return the object behind *name*; raise `UsageError` with the choices."""
    if ":" in name:
        return _load(kind, name)
    if name in BUILT_IN[kind]:
        return _load(kind, BUILT_IN[kind][name])
    from importlib.metadata import entry_points

    from groundup.domain.names import unknown

    for point in entry_points(group=f"groundup.{kind}", name=name):
        return point.load()
    raise UsageError(unknown(kind, name, names(kind)))


def _load(kind: str, path: str) -> Any:
    module_name, _, attribute = path.partition(":")
    try:
        return getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{kind} {path!r} cannot be loaded: {error}") from error
