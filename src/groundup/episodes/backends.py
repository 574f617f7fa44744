"""The sandbox provider and the environment builder of a run, opened together."""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from groundup.catalog import Table
from groundup.domain.errors import MachineError, SandboxError, TaskError, UsageError
from groundup.domain.inventory import HOST, LISTED, Inventory
from groundup.domain.names import names_image_file
from groundup.domain.tasks import Task
from groundup.environments.builder import EnvironmentBuilder
from groundup.grading.context import GradingContext, Slots, processors
from groundup.sandbox.protocol import SandboxProvider
from groundup.sandbox.rooted import RootedProvider, UnpackedImage
from groundup.settings import Settings
from groundup.trees.scratch import async_scratch_folder

_OF_TASK = re.compile(r"\{([^{}]*)\}")
_FIELDS = ("task", "published")
_UNPACKS = "bubblewrap"
"""The provider whose sandboxes can have an unpacked image as their root."""


SandboxMaker = Callable[[Settings], SandboxProvider]
BuilderMaker = Callable[[Settings, SandboxProvider], EnvironmentBuilder]


def _bubblewrap() -> SandboxMaker:
    from groundup.sandbox.bubblewrap import create

    return create


def _docker() -> SandboxMaker:
    from groundup.sandbox.containers.provider import create_docker

    return create_docker


def _podman() -> SandboxMaker:
    from groundup.sandbox.containers.provider import create_podman

    return create_podman


def _local() -> BuilderMaker:
    from groundup.environments.local import create

    return create


SANDBOXES: Table[SandboxMaker] = Table(
    "sandbox",
    {"bubblewrap": _bubblewrap, "docker": _docker, "podman": _podman},
)
BUILDERS: Table[BuilderMaker] = Table("builder", {"local": _local})


def _forgotten(name: str, image: str) -> None:
    """Keep no record."""


@dataclass
class Images:
    """The images of a run's sandboxes, and by name which ones they were when the run began with them."""

    pattern: str
    """The name of one for all tasks, or with {task} or {published} of one for each."""
    pins: dict[str, str]
    """Name -> digest in a registry, or id of one that was loaded."""
    keep: Callable[[str, str], None] = _forgotten
    """Records a pin, once."""
    kept: set[str] = field(default_factory=set)

    unpacked: bool = False
    """Whether they are unpacked into folders, and no engine has them."""

    @property
    def differ(self) -> bool:
        """Whether a task's is looked for when it is the task's turn."""
        return self.unpacked or _OF_TASK.search(self.pattern) is not None

    def checked(self) -> "Images":
        """Return itself. Raises `UsageError` for a pattern that names what no task has."""
        for name in _OF_TASK.findall(self.pattern):
            if name not in _FIELDS:
                raise UsageError(f"--image {self.pattern}: {{{name}}} is neither {{task}} nor {{published}}")
        return self

    def named(self, task: str, published: str | None) -> str:
        """Return the name of *task*'s image. Raises `TaskError` where the publishers have none."""
        if "{published}" in self.pattern and published is None:
            raise TaskError(f"no image of {task} is published; leave the task out, or name one by {{task}}")
        # Names of images have no capitals.
        values = {"task": task.lower(), "published": published or ""}
        return _OF_TASK.sub(lambda found: values[found[1]], self.pattern)

    def pin(self, name: str, provider: SandboxProvider) -> None:
        """Remember which image *name* is, by what *provider* found."""
        if name not in self.kept:
            self.kept.add(name)
            self.pins[name] = provider.identity()["image"]
            self.keep(name, self.pins[name])


@dataclass(frozen=True)
class Backends:
    """What graders work with."""

    provider: SandboxProvider
    builder: EnvironmentBuilder
    slots: Slots = field(default_factory=Slots)
    images: Images | None = None
    settings: Settings = field(default_factory=Settings)
    base: UnpackedImage | Literal["host", "listed"] = "host"
    """Whose programs agents have, where a task has no image of its own."""

    async def of(self, task: Task, published: str | None) -> "Backends":
        """Return it with the sandboxes of *task*'s own image, where tasks have such, for graders alone.

        Raises `TaskError` and `InfrastructureError`, naming the task.
        """
        if self.images is None or not self.images.differ:
            return self
        name = self.images.named(task.id, published)
        try:
            inside = await self._inside(name, self.images)
        except (SandboxError, UsageError) as error:
            kind = MachineError if isinstance(error, MachineError | UsageError) else SandboxError
            raise kind(f"no sandbox for {task.id}: {error}") from error
        self.images.pin(name, inside)
        return replace(self, provider=inside, images=None)

    async def _inside(self, name: str, images: Images) -> SandboxProvider:
        pinned = images.pins.get(name)
        if not images.unpacked:
            # Only providers of containers have such images.
            return await self.provider.in_image(pinned or name)  # type: ignore[attr-defined, no-any-return]
        # With readers of archives, which most runs do without.
        from groundup.environments.images import unpacked
        from groundup.environments.layers import layer_store

        image = await unpacked(name, layer_store(self.settings), pinned)
        return RootedProvider(self.provider, image)

    def identity(self) -> dict[str, str]:
        """Return names and versions of the tools."""
        return {**self.builder.identity(), **self.provider.identity()}

    @property
    def base_image(self) -> tuple[str, str] | None:
        """Name and digest of the image whose programs agents have."""
        return (self.base.name, self.base.digest) if isinstance(self.base, UnpackedImage) else None

    @property
    def pinned_base(self) -> dict[str, str]:
        """What a run that is resumed must have as it was: all but this machine's own programs, which change."""
        if self.base == HOST:
            return {}
        return {"agents' base": self.base if isinstance(self.base, str) else self.base.digest}

    def inventory(self) -> Inventory | None:
        """Return the programs that agents have; None where a container's image, which is pinned, decides."""
        from groundup.sandbox import inventory  # of runs of agents

        if self.images is not None and not self.images.unpacked:
            return None
        match self.base:
            case "host":
                return inventory.host_inventory()
            case "listed":
                return inventory.listed_inventory()
            case image:
                return inventory.image_inventory(image)

    def context(self, scratch: Path, timeout_s: float | None) -> GradingContext:
        """Return a grader's tools around its own *scratch* folder."""
        return GradingContext(
            provider=self.provider, builder=self.builder, scratch=scratch, timeout_s=timeout_s, slots=self.slots
        )


def named(sandbox: str) -> tuple[str, str | None]:
    """Return the provider and the image that *sandbox* (`docker`, `docker@python:3.10-slim`) names."""
    name, _, image = sandbox.partition("@")
    return name, image or None


@asynccontextmanager
async def backends(
    sandbox: str, settings: Settings, pins: Mapping[str, str] | None = None
) -> AsyncIterator[Backends]:
    """Yield the backends; every sandbox that is still open is closed afterwards.

    *pins* say which images of these names shall be used.
    """
    name, image = named(sandbox)
    image = image or settings.image
    if image and names_image_file(image) and name != _UNPACKS:
        raise UsageError(
            f"--image {image}: `--sandbox {name}` takes an image's name; leave it out for what `docker save` wrote"
        )
    held = Images(image or "", dict(pins or {}), unpacked=name == _UNPACKS)
    images = held.checked() if image else None
    one = images.pins.get(images.pattern, images.pattern) if images and not images.differ else None
    async with SANDBOXES.find(name)(settings.but(image=one)) as provider:
        builder = BUILDERS.find(settings.builder)(settings, provider)
        base = await _base(settings, name, held.pins)
        yield Backends(provider, builder, Slots(min(settings.jobs, processors())), images, settings, base)


async def _base(
    settings: Settings, sandbox: str, pins: Mapping[str, str]
) -> UnpackedImage | Literal["host", "listed"]:
    wanted = settings.agent_base
    if not settings.has_image_for_agents:
        return "listed" if wanted == LISTED else "host"
    if sandbox != _UNPACKS:
        raise UsageError(
            f"--agent-base {wanted}: `--sandbox {sandbox}` has its --image's programs; name that image"
        )
    from groundup.environments.images import unpacked  # with readers of archives
    from groundup.environments.layers import layer_store

    return await unpacked(wanted, layer_store(settings), pins.get(wanted))


@asynccontextmanager
async def opened_context(settings: Settings) -> AsyncIterator[GradingContext]:
    """Yield a grader's tools around a scratch folder that is removed afterwards."""
    async with async_scratch_folder("bench") as scratch, backends(settings.sandbox, settings) as tools:
        yield tools.context(scratch, None)
