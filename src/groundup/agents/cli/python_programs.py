"""Programs from the Python package index as layers, apart from the Python that a task is worked on with.

A program sees its own interpreter and packages below `/opt/agent`, so that it can need another version than the
task, and so that nothing of its own is on the task's PATH or import path.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from groundup.agents.cli.preset import Install
from groundup.domain.digests import digest_of
from groundup.domain.errors import UsageError
from groundup.domain.limits import Limits
from groundup.domain.records import Record
from groundup.environments.build_sandbox import UV, Ask, BuildSandbox
from groundup.environments.builder import EnvironmentBuilder, RegistryLender
from groundup.environments.interpreters import Interpreter, interpreter_mounts
from groundup.environments.known_interpreters import known_interpreter
from groundup.environments.layer_store import Built, LayerStore, layer_store
from groundup.environments.requests import PYTHON_TARGET, Layer
from groundup.gateways.pypi import PyPIGateway
from groundup.gateways.uv import uv_program, uv_version
from groundup.sandbox.protocol import WORKSPACE, Mount, SandboxProvider, SandboxSpec
from groundup.settings import Settings
from groundup.trees.removal import remove_tree

KIND = "agent-python"
ENVIRONMENT = "/opt/agent/env"
_INTERPRETER = "/opt/agent/python"
_FORMAT = 1
"""Counts up when the same program is installed differently."""
_LIMITS = Limits(cpus=2.0, memory_mb=6144, disk_mb=24 * 1024, wall_clock_s=3600.0, command_s=3000.0)


class Program(Record):
    """An installed program: what a sandbox mounts, and where its commands are."""

    mounts: tuple[Mount, ...]
    bin: str
    """The folder of its commands."""
    environment: dict[str, str] = {}
    identity: dict[str, str]
    """What was installed: for records."""


async def install_python_program(
    install: Install, version: str, *, builder: EnvironmentBuilder, provider: SandboxProvider, settings: Settings
) -> Program:
    """Return *install* at *version*, building its layer when it is not there. Raises `UsageError`, too."""
    store = layer_store(settings)
    interpreter = await known_interpreter(install.python, settings.cache_dir)
    machine = {"python": interpreter.version, "abi": interpreter.abi, "uv": uv_version()}
    key = digest_of({"format": _FORMAT, "install": install, "version": version, **machine})
    layer = store.find(KIND, key)
    if layer is None:
        if not isinstance(builder, RegistryLender):
            raise UsageError("this environment builder installs no agents; set builder = local")
        layer = await _build(install, version, key, _Tools(builder, provider, store, interpreter))
    return Program(
        mounts=(*_interpreter_mounts(interpreter, store), Mount(source=layer.path, target=ENVIRONMENT)),
        bin=f"{ENVIRONMENT}/bin",
        identity={"layer": layer.digest, "packages": layer.built.get("packages", "")},
    )


@dataclass(frozen=True)
class _Tools:
    """What a build needs besides what is to be installed."""

    builder: RegistryLender
    provider: SandboxProvider
    store: LayerStore
    interpreter: Interpreter


async def _build(install: Install, version: str, key: str, tools: _Tools) -> Layer:
    what = f"installing {install.package} {version}"
    ask = Ask(what=what, kind=KIND, digest=key, asker="agent")

    async def fill(room: Path) -> Built:
        async with tools.builder.gateway() as gateway, _sandbox(room, ask, gateway, tools) as build:
            packages = await _install(build, install, version, tools.interpreter)
        for leftover in (".uv-cache", ".lock"):
            await asyncio.to_thread(remove_tree, room / "tree" / leftover)
        return Built(built={"packages": packages, "uv": uv_version(), **build.figures()})

    return await tools.store.get(KIND, key, fill)


async def _install(build: BuildSandbox, install: Install, version: str, interpreter: Interpreter) -> str:
    """Fill the environment; return what is in it, as `name==version` with blanks between."""
    python = _moved(interpreter.inside)
    await build.uv("venv", ENVIRONMENT, "--python", python, "--allow-existing", "--no-project")
    wanted = await build.write("wanted.txt", [f"{install.package}=={version}", *install.also])
    never = await build.write("never.txt", [f"{name} ; python_version < '0'" for name in install.without])
    into = ("--python", f"{ENVIRONMENT}/bin/python")
    await build.uv("pip", "install", *into, "--compile-bytecode", "-r", wanted, "--override", never)
    frozen = await build.uv("pip", "freeze", *into)
    build.keep_log()
    return " ".join(frozen.stdout.decode(errors="replace").split())


@asynccontextmanager
async def _sandbox(room: Path, ask: Ask, gateway: PyPIGateway, tools: _Tools) -> AsyncIterator[BuildSandbox]:
    tree, workspace = room / "tree", room / "workspace"
    for folder in (tree, workspace, workspace / "temporary"):
        folder.mkdir()
    spec = SandboxSpec(
        workspace=workspace,
        mounts=(
            *_interpreter_mounts(tools.interpreter, tools.store),
            Mount(source=uv_program(), target=UV),
            Mount(source=tree, target=ENVIRONMENT, writable=True),
        ),
        environment={
            "TMPDIR": f"{WORKSPACE}/temporary",
            "UV_CACHE_DIR": f"{ENVIRONMENT}/.uv-cache",
            "UV_LINK_MODE": "hardlink",
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_NO_PROGRESS": "1",
            "UV_HTTP_RETRIES": "0",
            "UV_HTTP_TIMEOUT": "900",
        },
        limits=_LIMITS,
        label=ask.what,
    )
    async with await tools.provider.open(spec) as opened:
        yield BuildSandbox(opened, gateway, await gateway.attach(opened), ask, tools.store)


def _interpreter_mounts(interpreter: Interpreter, store: LayerStore) -> tuple[Mount, ...]:
    """Return what shows *interpreter* where programs see theirs."""
    mounts = interpreter_mounts(interpreter, store.empty_folder())
    return tuple(mount.model_copy(update={"target": _moved(mount.target)}) for mount in mounts)


def _moved(path: str) -> str:
    return f"{_INTERPRETER}{path.removeprefix(PYTHON_TARGET)}" if path.startswith(f"{PYTHON_TARGET}/") else path
