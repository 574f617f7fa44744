"""The rebuilt place in which the published commands run: a writable environment with pip, and its package index.

What the published image offers beyond that (the whole network, no limits) is not reproduced; see docs/official.md.
"""

import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from groundup.domain.errors import InfrastructureError, NetworkError
from groundup.domain.limits import Limits
from groundup.environments.builder import RegistryLender
from groundup.environments.requests import ENVIRONMENT_TARGET, PythonEnvironment, PythonRequest
from groundup.grading.bench import Bench
from groundup.sandbox.protocol import WORKSPACE, Mount, SandboxSpec
from groundup.suites.nl2repobench.official_commands import Ran, run_commands
from groundup.suites.nl2repobench.recipe import Recipe, pinned_lines

if TYPE_CHECKING:
    from groundup.gateways.pypi import PyPIGateway

Installs = Literal["open", "no-original", "none"]
"""What pip may fetch: everything, as published; all but the task's own library; nothing."""
_PATIENCE = 3
_LEAST_COMMAND_S = 900.0


def environment_request(recipe: Recipe) -> PythonRequest:
    """Return the recipe's environment with pip in it, and what else the published commands need."""
    request = recipe.environment.request()
    more = pinned_lines(recipe.published.lock) if recipe.published is not None else ()
    return request.model_copy(update={"with_pip": True, "requirements": (*request.requirements, *more)})


def command_seconds(recipe: Recipe, bench: Bench) -> float:
    """Return how long one command may take; the published evaluator waits for ever."""
    return bench.timeout_s or max(_LEAST_COMMAND_S, recipe.tests.timeout_s * _PATIENCE)


def published_spec(
    workspace: Path, recipe: Recipe, commands: int, environment: PythonEnvironment, bench: Bench
) -> SandboxSpec:
    """Return the sandbox around *workspace*; its environment is a copy, for pip writes into it."""
    allowed_s = command_seconds(recipe, bench)
    hidden = recipe.tests
    return SandboxSpec(
        workspace=workspace,
        mounts=tuple(_writable(mount, bench.scratch) for mount in environment.mounts),
        environment={
            "LANG": hidden.locale,
            "LC_ALL": hidden.locale,
            "PYTHONPATH": f"{WORKSPACE}:",  # the image's own PYTHONPATH, which is appended, is empty
            **environment.environment,
            **hidden.environment,
        },
        path=environment.path,
        limits=Limits(
            memory_mb=hidden.memory_mb,
            processes=hidden.processes,
            command_s=allowed_s,
            wall_clock_s=allowed_s * commands + 60,
        ),
        user=hidden.user,
        system="host",
        label="published commands",
    )


async def run_published(
    spec: SandboxSpec, recipe: Recipe, commands: tuple[str, ...], installs: Installs, bench: Bench
) -> tuple[Ran, ...]:
    """Run *commands* in a sandbox of their own.

    Raises `NetworkError` when a command failed and the package index could not be reached meanwhile.
    """
    timeout_s = command_seconds(recipe, bench)
    async with _index(recipe, installs, bench) as gateway, await bench.provider.open(spec) as sandbox:
        if gateway is None:
            return await run_commands(sandbox, commands, _pip_settings(None), timeout_s)
        bench.lent.append(gateway)
        variables = _pip_settings(await gateway.attach(sandbox))
        ran = await run_commands(sandbox, commands, variables, timeout_s)
        troubles = [trouble for trouble in gateway.troubles if trouble.kind == "network"]
        if troubles and any(one.said.exit_code for one in ran if "pip" in one.said.command):
            raise NetworkError(
                f"pip could not fetch {troubles[0].name}: {troubles[0].message[:200]}; repeat when the package "
                "index answers, or set official_installs to none"
            )
        return ran


@asynccontextmanager
async def _index(recipe: Recipe, installs: Installs, bench: Bench) -> "AsyncIterator[PyPIGateway | None]":
    if installs == "none":
        yield None
        return
    builder: object = bench.builder
    if not isinstance(builder, RegistryLender):
        raise InfrastructureError(
            "this environment builder lends no package index to graders; set official_installs to none"
        )
    refused = own_names(recipe) if installs == "no-original" else ()
    async with builder.gateway(refused=refused, exclude_newer=recipe.environment.exclude_newer) as gateway:
        yield gateway


def own_names(recipe: Recipe) -> tuple[str, ...]:
    """Return the distribution names under which the original can be fetched."""
    names = {recipe.source.name}
    if recipe.tests.distribution is not None:
        names.add(recipe.tests.distribution.name)
    return tuple(sorted(names))


def _pip_settings(index: str | None) -> Mapping[str, str]:
    where = {"PIP_NO_INDEX": "1"} if index is None else {"PIP_INDEX_URL": index}
    return {**where, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_NO_CACHE_DIR": "1"}


def _writable(mount: Mount, scratch: Path) -> Mount:
    if mount.target != ENVIRONMENT_TARGET:
        return mount
    copy = scratch / "environment"
    shutil.copytree(mount.source, copy, symlinks=True)
    return Mount(source=copy, target=mount.target, writable=True)
