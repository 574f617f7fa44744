"""Running uv inside a sandbox whose only way out is a package gateway, and telling failures apart."""

import shutil
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from groundup.domain.errors import InfrastructureError
from groundup.domain.limits import Limits
from groundup.domain.records import Record
from groundup.environments.failures import Asker, BuildFailure, as_error, classify
from groundup.environments.interpreters import Interpreter, interpreter_mounts
from groundup.environments.layers import LayerStore
from groundup.environments.requests import ENVIRONMENT_TARGET, PYTHON_TARGET
from groundup.registries.uv import uv_program
from groundup.sandbox.protocol import (
    WORKSPACE,
    Command,
    CommandResult,
    Mount,
    Sandbox,
    SandboxProvider,
    SandboxSpec,
)

if TYPE_CHECKING:
    from groundup.registries.gateway import RegistryGateway
    from groundup.registries.pypi.client import PyPIClient
    from groundup.registries.pypi.gateway import PyPIGateway

UV = "/opt/uv/uv"
ENVIRONMENT_PYTHON = f"{ENVIRONMENT_TARGET}/bin/python"
_CACHE = f"{ENVIRONMENT_TARGET}/.uv-cache"
"""In the layer's own folder, so that files are linked and not copied; gone before the layer is done."""
_TEMPORARY = "temporary"
_NO_SOLUTION = 1
"""uv's exit code when requirements cannot be met; 2 for all else that goes wrong."""
LIMITS = Limits(cpus=2.0, memory_mb=4096, processes=512, disk_mb=16 * 1024, wall_clock_s=3600.0, command_s=1800.0)
"""Of one build."""


class Ask(Record):
    """Who wants what built, for messages, and with which rules."""

    what: str
    kind: str
    digest: str
    asker: Asker
    refused: tuple[str, ...] = ()
    exclude_newer: str | None = None
    size: int = 0
    """How much work it is, by the number of requirements."""


class BuildSandbox:
    """An open sandbox with uv, an interpreter and a gateway, and the log of what it ran."""

    def __init__(
        self, sandbox: Sandbox, gateway: "RegistryGateway", index: str, ask: Ask, store: LayerStore
    ) -> None:
        self.gateway = gateway
        self.variables: dict[str, str] = {}
        self.sandbox = sandbox
        self._index = index
        self._ask = ask
        self._store = store
        self._log = bytearray()
        self._started = time.monotonic()

    async def uv(self, *arguments: str, config: str | None = None) -> CommandResult:
        """Run uv with the gateway as its only index. Raises by who is to blame when it fails."""
        settings = {"UV_CONFIG_FILE": config} if config else {"UV_NO_CONFIG": "1"}
        return await self.run(UV, *arguments, environment=settings | {"UV_DEFAULT_INDEX": self._index})

    async def uv_with_wheels(self, pinned: Mapping[str, frozenset[str]], *arguments: str) -> bool:
        """Run uv with short pages (see `PyPIGateway.pinned`); return False when a source has to be built.

        What builds it may be another version of what is pinned. Raises as `uv` does.
        """
        settings = {"UV_NO_CONFIG": "1", "UV_DEFAULT_INDEX": self._index}
        gateway = self._pypi()
        gateway.pinned = pinned
        result = await self.attempt(UV, *arguments, "--no-build", environment=settings)
        gateway.pinned = {}
        if not result.ok and result.exit_code != _NO_SOLUTION:
            raise self._failed(result)
        return result.ok

    def remember_pages(self, pinned: Mapping[str, frozenset[str]]) -> None:
        """Keep what pages said of the files *pinned* for `uv_with_wheels` in another sandbox."""
        self._pypi().shorten(pinned)

    def _pypi(self) -> "PyPIGateway":
        from groundup.registries.pypi.gateway import PyPIGateway

        assert isinstance(self.gateway, PyPIGateway)  # uv asks no other
        return self.gateway

    async def run(self, *argv: str, environment: dict[str, str] | None = None) -> CommandResult:
        """Run a command. Raises by who is to blame when it fails."""
        result = await self.attempt(*argv, environment=environment)
        if not result.ok:
            raise self._failed(result)
        return result

    def _failed(self, result: CommandResult) -> Exception:
        free = shutil.disk_usage(self._store.root).free
        waiting_s = self.gateway.longest_wait_s()
        return self.error(classify(result, self.gateway.troubles, waiting_s=waiting_s, host_free_bytes=free))

    async def attempt(self, *argv: str, environment: dict[str, str] | None = None) -> CommandResult:
        """Run a command that may fail, and log it."""
        command = Command(argv=argv, environment={**self.variables, **(environment or {})})
        result = await self.sandbox.run(command)
        self._log += f"$ {' '.join(argv)}\n".encode() + result.stdout + result.stderr
        self._log += f"[{result.ending}, exit code {result.exit_code}, {result.duration_s:.1f} s]\n".encode()
        return result

    async def write(self, name: str, lines: Iterable[str]) -> str:
        """Write *lines* to a file and return where it lies inside."""
        path = f"{WORKSPACE}/{name}"
        await self.sandbox.write_file(path, "".join(f"{line}\n" for line in lines).encode())
        return path

    async def drop_cache(self) -> None:
        """Remove what uv unpacked, from inside: outside it would first have to be given back, file by file."""
        await self.attempt("rm", "-rf", _CACHE)

    def error(self, failure: BuildFailure) -> Exception:
        """Return the error of *failure*, the log kept."""
        wheels = (".whl", ".metadata")
        files = [record.filename or "" for record in self.gateway.fetched if record.kind == "file"]
        sources = not all(name.endswith(wheels) for name in files)  # only these run code when they are installed
        return as_error(failure, self._ask.asker, self._ask.what, self.keep_log(), forgeable=sources)

    def keep_log(self) -> Path:
        """Write what was run and fetched so far, and return where."""
        lines = [record.model_dump_json() for record in (*self.gateway.fetched, *self.gateway.troubles)]
        text = bytes(self._log) + "".join(f"{line}\n" for line in lines).encode()
        return self._store.keep_log(self._ask.kind, self._ask.digest, text)

    def figures(self) -> dict[str, str]:
        """Return what the lock records of a build."""
        usage = self.sandbox.usage()
        files = [record for record in self.gateway.fetched if record.kind != "page"]
        figures = {
            "seconds": f"{time.monotonic() - self._started:.1f}",
            "files": str(len(files)),
            "files_from_cache": str(sum(record.from_cache for record in files)),
            "bytes": str(sum(record.bytes for record in files)),
            "stale_pages": str(sum(record.stale for record in self.gateway.fetched)),
        }
        if usage.peak_memory_mb is not None:
            figures["peak_memory_mb"] = f"{usage.peak_memory_mb:.0f}"
        return figures


@asynccontextmanager
async def build_sandbox(
    room: Path,
    ask: Ask,
    interpreter: Interpreter,
    *,
    provider: SandboxProvider,
    registry: "PyPIClient",
    store: LayerStore,
    started: dict[Path, dict[str, str]],
    limits: Limits = LIMITS,
) -> AsyncIterator[BuildSandbox]:
    """Yield a sandbox that fills `room/tree`, seen inside as the environment.

    *started*: interpreters that started inside before, with the variables that they need for it.
    """
    from groundup.registries.pypi.gateway import PyPIGateway

    tree = room / "tree"
    workspace = room / "workspace"
    for folder in (tree, workspace, workspace / _TEMPORARY):
        folder.mkdir(exist_ok=True)  # a tree may have been begun
    spec = SandboxSpec(
        workspace=workspace,
        mounts=(
            *interpreter_mounts(interpreter, store.empty_folder()),
            Mount(source=uv_program(), target=UV),
            Mount(source=tree, target=ENVIRONMENT_TARGET, writable=True),
        ),
        environment=uv_variables(_CACHE),
        limits=limits,
        system="host",
        label=f"build {ask.what}",
    )
    from groundup.registries.client import cutoff_instant

    cutoff = cutoff_instant(ask.exclude_newer) if ask.exclude_newer else None
    async with (
        PyPIGateway(registry, refused=ask.refused, cutoff=cutoff) as gateway,
        await provider.open(spec) as opened,
    ):
        index = await gateway.attach(opened)
        build = BuildSandbox(opened, gateway, index, ask, store)
        if interpreter.executable not in started:
            await _start_interpreter(build, interpreter)
            started[interpreter.executable] = dict(build.variables)
        build.variables.update(started[interpreter.executable])
        yield build


def uv_variables(cache: str) -> dict[str, str]:
    """Return what uv needs in every sandbox that builds: *cache* lies beside what it links into."""
    return {
        "TMPDIR": f"{WORKSPACE}/{_TEMPORARY}",
        "UV_CACHE_DIR": cache,
        "UV_LINK_MODE": "hardlink",
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
        "UV_HTTP_RETRIES": "2",
        "UV_HTTP_TIMEOUT": "900",
    }


async def _start_interpreter(build: BuildSandbox, interpreter: Interpreter) -> None:
    """Make sure that it is itself where it is seen: one that finds no library of its own takes the system's."""
    argv = (interpreter.inside, "-I", "-S", "-c", "import platform; print(platform.python_version())")
    itself = interpreter.version.encode()
    result = await build.attempt(*argv)
    if result.stdout.strip() != itself:
        build.variables["LD_LIBRARY_PATH"] = f"{PYTHON_TARGET}/lib"
        result = await build.attempt(*argv)
    if result.stdout.strip() != itself:
        raise InfrastructureError(
            f"the interpreter {interpreter.executable} does not start inside a sandbox; install another one, "
            f"such as uv's own, and put it first on PATH (the log is {build.keep_log()})"
        )
