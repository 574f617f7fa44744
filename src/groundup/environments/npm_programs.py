"""Programs from the npm registry as layers, with the host's Node.js to run them."""

import json
from pathlib import Path

from groundup.domain.digests import digest_of
from groundup.environments.build_sandbox import Ask, BuildSandbox
from groundup.environments.layer_store import Built
from groundup.environments.programs import ENVIRONMENT, LIMITS, InstalledProgram, ProgramRequest, Workshop
from groundup.environments.requests import Layer
from groundup.environments.toolchains import Toolchain
from groundup.gateways.lending import Wanted
from groundup.sandbox.protocol import WORKSPACE, Mount, SandboxSpec

KIND = "program-npm"
_FORMAT = 1
"""Counts up when the same program is installed differently."""


async def npm_program(request: ProgramRequest, node: Toolchain, workshop: Workshop) -> InstalledProgram:
    """Return the program of *request*, building its layer when it is not there. Raises `UsageError`, too."""
    key = digest_of({"format": _FORMAT, "request": request, "node": node.versions})
    layer = workshop.store.find(KIND, key) or await _build(request, key, node, workshop)
    return InstalledProgram(
        mounts=(*node.mounts, Mount(source=layer.path, target=ENVIRONMENT)),
        bin=f"{ENVIRONMENT}/bin",
        path=node.path,
        environment=node.environment,
        identity={"layer": layer.digest, "packages": layer.built.get("packages", ""), **node.versions},
    )


async def _build(request: ProgramRequest, key: str, node: Toolchain, workshop: Workshop) -> Layer:
    what = f"installing {request.package} {request.version}"
    ask = Ask(what=what, kind=KIND, digest=key, asker="agent", exclude_newer=request.exclude_newer)

    async def fill(room: Path) -> Built:
        tree, workspace = room / "tree", room / "workspace"
        for folder in (tree, workspace):
            folder.mkdir()
        spec = SandboxSpec(
            workspace=workspace,
            mounts=(*node.mounts, Mount(source=tree, target=ENVIRONMENT, writable=True)),
            path=node.path,
            environment={**node.environment, "npm_config_cache": f"{WORKSPACE}/cache"},
            limits=LIMITS,
            system="host",
            label=what,
        )
        async with (
            workshop.registries(Wanted(kinds=("npm",), exclude_newer=ask.exclude_newer)) as lent,
            await workshop.provider.open(spec) as opened,
        ):
            variables = await lent.attach(opened)
            build = BuildSandbox(
                opened, lent.gateways["npm"], variables["npm_config_registry"], ask, workshop.store
            )
            packages = await _install(build, request, variables)
            build.keep_log()
            return Built(built={"packages": packages, **build.figures()})

    return await workshop.store.get(KIND, key, fill)


async def _install(build: BuildSandbox, request: ProgramRequest, variables: dict[str, str]) -> str:
    """Install into the layer; return what is in it, as `name@version` with blanks between."""
    wanted = [f"{request.package}@{request.version}", *request.also]
    place = ("--global", "--prefix", ENVIRONMENT)
    await build.run("npm", "install", *place, "--no-audit", "--no-fund", *wanted, environment=variables)
    listed = await build.attempt("npm", "ls", *place, "--all", "--json", environment=variables)
    return " ".join(sorted(_names(listed.stdout)))


def _names(listing: bytes) -> set[str]:
    """Return every `name@version` of what `npm ls --json` says."""
    found: set[str] = set()
    try:
        waiting = [json.loads(listing)]
    except ValueError:
        return found
    while waiting:
        inside = waiting.pop().get("dependencies", {})
        found |= {f"{name}@{entry['version']}" for name, entry in inside.items() if entry.get("version")}
        waiting += inside.values()
    return found
