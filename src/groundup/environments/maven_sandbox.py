"""Running Maven over a project in a sandbox whose only way out is a Maven gateway, and saying why it failed."""

import re
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from groundup.domain.limits import Limits
from groundup.environments.failures import Failure, Kind, classify
from groundup.environments.java_requests import REPOSITORY_TARGET, JavaToolchain
from groundup.gateways.maven import MavenGateway
from groundup.gateways.maven_registry import MavenRegistry
from groundup.sandbox.protocol import Command, CommandResult, Mount, Sandbox, SandboxProvider, SandboxSpec

BUILD_LIMITS = Limits(
    cpus=2.0, memory_mb=2048, processes=512, disk_mb=8 * 1024, wall_clock_s=1800.0, command_s=900.0
)
_ERROR = re.compile(r"^\[ERROR\] (.+)$", re.MULTILINE)
_NOISE = (
    "To see the full stack",
    "Re-run Maven",
    "For more information",
    "[Help",
    "-> [Help",
    "COMPILATION ERROR",
)
_TOLD = 3


class MavenSandbox:
    """An open sandbox around a project, with Java, Maven, a writable local repository and a gateway."""

    def __init__(self, sandbox: Sandbox, gateway: MavenGateway, variables: dict[str, str]) -> None:
        self.sandbox = sandbox
        self.gateway = gateway
        self._variables = variables
        self._log = bytearray()
        self._started = time.monotonic()

    async def maven(self, *arguments: str, timeout_s: float | None = None) -> CommandResult:
        """Run Maven in the project, without colours, questions or progress."""
        argv = ("mvn", "-B", "-ntp", *arguments)
        return await self.run(Command(argv=argv, timeout_s=timeout_s))

    async def run(self, command: Command) -> CommandResult:
        """Run *command* and log it."""
        command = command.model_copy(update={"environment": {**self._variables, **command.environment}})
        result = await self.sandbox.run(command)
        self._log += f"$ {' '.join(command.argv)}\n".encode() + result.stdout + result.stderr
        self._log += f"[{result.ending}, exit code {result.exit_code}, {result.duration_s:.1f} s]\n".encode()
        return result

    def failure(self, result: CommandResult, place: Path) -> Failure:
        """Say why a command failed; *place* is a folder on the disk where the host keeps layers."""
        failure = classify(
            result,
            self.gateway.troubles,
            waiting_s=self.gateway.longest_wait_s(),
            host_free_bytes=shutil.disk_usage(place).free,
        )
        told = complaint(result)
        return failure.model_copy(update={"message": told}) if failure.kind is Kind.BUILD and told else failure

    def log(self) -> bytes:
        """Return what was run and fetched so far."""
        told = [record.model_dump_json() for record in (*self.gateway.fetched, *self.gateway.troubles)]
        return bytes(self._log) + "".join(f"{line}\n" for line in told).encode()

    def figures(self) -> dict[str, str]:
        """Return what is recorded of a build."""
        files = self.gateway.files.values()
        return {
            "seconds": f"{time.monotonic() - self._started:.1f}",
            "files": str(len(files)),
            "files_from_cache": str(sum(file.from_cache for file in files)),
            "files_unverified": str(sum(not file.verified for file in files)),
            "bytes": str(sum(file.size for file in files)),
        }


def complaint(result: CommandResult) -> str:
    """Return Maven's own first errors in one line of at most 300 characters, for people; may be empty."""
    text = (result.stdout + result.stderr).decode(errors="replace")
    lines = [line.strip() for line in _ERROR.findall(text) if line.strip()]
    told = list(dict.fromkeys(line for line in lines if not line.startswith(_NOISE)))[:_TOLD]
    line = "; ".join(told).replace("/workspace/", "")
    line = "".join(character if character.isprintable() else " " for character in line)
    return line if len(line) <= 300 else f"{line[:297]}..."


@asynccontextmanager
async def maven_sandbox(
    project: Path,
    repository: Path,
    toolchain: JavaToolchain,
    *,
    provider: SandboxProvider,
    registry: MavenRegistry,
    limits: Limits = BUILD_LIMITS,
    user_is_root: bool = False,
    label: str = "Maven build",
) -> AsyncIterator[MavenSandbox]:
    """Yield a sandbox around *project*, its local repository being the writable folder *repository*."""
    spec = SandboxSpec(
        workspace=project,
        mounts=(*toolchain.mounts, Mount(source=repository, target=REPOSITORY_TARGET, writable=True)),
        environment={**toolchain.environment, **memory_options(limits.memory_mb)},
        path=toolchain.path,
        limits=limits,
        user="root" if user_is_root else "ordinary",
        system="host",
        label=label,
    )
    async with MavenGateway(registry) as gateway, await provider.open(spec) as opened:
        supplies = gateway.supplies(await gateway.attach(opened))
        for place, text in supplies.files.items():
            await opened.write_file(place, text.encode())
        yield MavenSandbox(opened, gateway, supplies.environment)


def memory_options(memory_mb: int) -> dict[str, str]:
    """Return what makes every Java inside size its heap as in a container of *memory_mb*."""
    return {"JAVA_TOOL_OPTIONS": f"-XX:MaxRAM={memory_mb}m"}
