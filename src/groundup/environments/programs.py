"""Programs of package registries that a sandbox can be given, such as agents: what is asked, what comes back.

A program sees its own interpreter and packages below `/opt/agent`. So it can need another Python than what is
worked on, and nothing of its own is on that one's PATH or import path.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from groundup.domain.limits import Limits
from groundup.domain.records import Record
from groundup.environments.layers import LayerStore
from groundup.environments.requests import PROGRAM_TARGET
from groundup.registries.lending import LendingRules, RegistrySet
from groundup.sandbox.protocol import Mount, SandboxProvider

LIMITS = Limits(cpus=2.0, memory_mb=6144, disk_mb=24 * 1024, wall_clock_s=3600.0, command_s=3000.0)
"""Of installing one program."""


class ProgramRequest(Record):
    """A program of a registry, at one version. What it needs is resolved when its layer is built."""

    registry: Literal["pypi", "npm"]
    package: str
    version: str
    python: str = Field(default="3.12", pattern=r"^3\.\d+$", description="for `pypi`")
    exclude_newer: str | None = Field(default=None, description="index cut-off for all that it needs, and itself")
    also: tuple[str, ...] = Field(default=(), description="further requirements")
    without: tuple[str, ...] = Field(default=(), description="packages that it names and that are not installed")


class InstalledProgram(Record):
    """What a sandbox mounts to have it, and where its commands are."""

    mounts: tuple[Mount, ...]
    bin: str = Field(description="the folder of its commands; not for PATH, where it would hide others")
    path: tuple[str, ...] = Field(default=(), description="what its commands need in PATH")
    environment: dict[str, str] = {}
    identity: dict[str, str] = Field(description="what was installed, for records")


@dataclass(frozen=True)
class Workshop:
    """What installing takes."""

    provider: SandboxProvider
    store: LayerStore
    registries: Callable[[LendingRules], AbstractAsyncContextManager[RegistrySet]]


ENVIRONMENT = f"{PROGRAM_TARGET}/env"
"""Where a program's packages are seen."""
