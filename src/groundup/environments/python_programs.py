"""Programs from the Python package index as layers, apart from the Python that a task is worked on with."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from groundup.domain.digests import digest_of
from groundup.environments.build_sandbox import UV, Ask, BuildSandbox
from groundup.environments.interpreters import Interpreter, interpreter_mounts
from groundup.environments.layer_store import Built, LayerStore
from groundup.environments.programs import ENVIRONMENT, LIMITS, InstalledProgram, ProgramRequest, Workshop
from groundup.environments.requests import PROGRAM_TARGET, PYTHON_TARGET, Layer
from groundup.gateways.lending import Wanted
from groundup.gateways.uv import uv_program, uv_version
from groundup.sandbox.protocol import WORKSPACE, Mount, SandboxSpec
from groundup.trees.removal import remove_tree

KIND = "program-python"
_FORMAT = 1
"""Counts up when the same program is installed differently."""


async def python_program(
    request: ProgramRequest, interpreter: Interpreter, workshop: Workshop
) -> InstalledProgram:
    """Return the program of *request*, building its layer when it is not there. Raises `UsageError`, too."""
    machine = {"python": interpreter.version, "abi": interpreter.abi, "uv": uv_version()}
    key = digest_of({"format": _FORMAT, "request": request, **machine})
    layer = workshop.store.find(KIND, key) or await _build(request, key, interpreter, workshop)
    return InstalledProgram(
        mounts=(
            *_interpreter_mounts(interpreter, workshop.store),
            Mount(source=layer.path, target=ENVIRONMENT),
        ),
        bin=f"{ENVIRONMENT}/bin",
        identity={"layer": layer.digest, "packages": layer.built.get("packages", "")},
    )


async def _build(request: ProgramRequest, key: str, interpreter: Interpreter, workshop: Workshop) -> Layer:
    what = f"installing {request.package} {request.version}"
    ask = Ask(what=what, kind=KIND, digest=key, asker="agent", exclude_newer=request.exclude_newer)

    async def fill(room: Path) -> Built:
        async with _sandbox(room, ask, interpreter, workshop) as build:
            packages = await _install(build, request, interpreter)
        for leftover in (".uv-cache", ".lock"):
            await asyncio.to_thread(remove_tree, room / "tree" / leftover)
        return Built(built={"packages": packages, "uv": uv_version(), **build.figures()})

    return await workshop.store.get(KIND, key, fill)


async def _install(build: BuildSandbox, request: ProgramRequest, interpreter: Interpreter) -> str:
    """Fill the environment; return what is in it, as `name==version` with blanks between."""
    python = _moved(interpreter.inside)
    await build.uv("venv", ENVIRONMENT, "--python", python, "--allow-existing", "--no-project")
    wanted = await build.write("wanted.txt", [f"{request.package}=={request.version}", *request.also])
    never = await build.write("never.txt", [f"{name} ; python_version < '0'" for name in request.without])
    into = ("--python", f"{ENVIRONMENT}/bin/python")
    await build.uv("pip", "install", *into, "--compile-bytecode", "-r", wanted, "--override", never)
    frozen = await build.uv("pip", "freeze", *into)
    build.keep_log()
    return " ".join(frozen.stdout.decode(errors="replace").split())


@asynccontextmanager
async def _sandbox(
    room: Path, ask: Ask, interpreter: Interpreter, workshop: Workshop
) -> AsyncIterator[BuildSandbox]:
    tree, workspace = room / "tree", room / "workspace"
    for folder in (tree, workspace, workspace / "temporary"):
        folder.mkdir()
    spec = SandboxSpec(
        workspace=workspace,
        mounts=(
            *_interpreter_mounts(interpreter, workshop.store),
            Mount(source=uv_program(), target=UV),
            Mount(source=tree, target=ENVIRONMENT, writable=True),
        ),
        environment={
            "TMPDIR": f"{WORKSPACE}/temporary",
            "UV_CACHE_DIR": f"{ENVIRONMENT}/.uv-cache",
            "UV_LINK_MODE": "hardlink",
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_NO_PROGRESS": "1",
            "UV_HTTP_RETRIES": "2",
            "UV_HTTP_TIMEOUT": "900",
        },
        limits=LIMITS,
        system="host",
        label=ask.what,
    )
    async with (
        workshop.registries(Wanted(kinds=("pypi",), exclude_newer=ask.exclude_newer)) as lent,
        await workshop.provider.open(spec) as opened,
    ):
        variables = await lent.attach(opened)
        yield BuildSandbox(opened, lent.gateways["pypi"], variables["UV_DEFAULT_INDEX"], ask, workshop.store)


def _interpreter_mounts(interpreter: Interpreter, store: LayerStore) -> tuple[Mount, ...]:
    """Return what shows *interpreter* where programs see theirs."""
    mounts = interpreter_mounts(interpreter, store.empty_folder())
    return tuple(mount.model_copy(update={"target": _moved(mount.target)}) for mount in mounts)


def _moved(path: str) -> str:
    return (
        f"{PROGRAM_TARGET}/python{path.removeprefix(PYTHON_TARGET)}"
        if path.startswith(f"{PYTHON_TARGET}/")
        else path
    )
