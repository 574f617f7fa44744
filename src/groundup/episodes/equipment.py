"""The sandbox provider and the environment builder of a run, opened together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from groundup import catalog
from groundup.domain.errors import UsageError
from groundup.environments.builder import EnvironmentBuilder
from groundup.grading.bench import Bench, Turns
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import Settings
from groundup.trees.scratch import async_scratch_folder

UNTRUSTING = "none"
"""The sandbox that is none."""
_WITHOUT_IMAGES = ("bubblewrap", "none", "fake")


@dataclass(frozen=True)
class Equipment:
    """What graders work with."""

    provider: SandboxProvider
    builder: EnvironmentBuilder
    turns: Turns = field(default_factory=Turns)

    def identity(self) -> dict[str, str]:
        """Return names and versions of the tools."""
        return {**self.builder.identity(), **self.provider.identity()}

    def bench(self, scratch: Path, timeout_s: float | None) -> Bench:
        """Return a grader's tools around its own *scratch* folder."""
        return Bench(
            provider=self.provider, builder=self.builder, scratch=scratch, timeout_s=timeout_s, turns=self.turns
        )


def named(sandbox: str) -> tuple[str, str | None]:
    """Return the provider and the image that *sandbox* (`docker`, `docker@python:3.10-slim`) names."""
    name, _, image = sandbox.partition("@")
    return name, image or None


def check_trust(sandbox: str, *, trusted: bool) -> None:
    """Raise `UsageError` when code would run without a sandbox and the user did not ask for that."""
    if named(sandbox)[0] == UNTRUSTING and not trusted:
        raise UsageError(
            "`--sandbox none` runs submitted code with all your rights; add --i-trust-this-code if you mean it"
        )


@asynccontextmanager
async def equipment(sandbox: str, settings: Settings) -> AsyncIterator[Equipment]:
    """Yield the equipment; every sandbox that is still open is closed afterwards."""
    checked = settings.model_copy(update={"trust_code": True})  # by `check_trust`, before anything else
    name, image = named(sandbox)
    image = image or settings.image
    if image and name in _WITHOUT_IMAGES:
        raise UsageError(f"`--sandbox {name}` has no images; say `--sandbox docker`, or leave --image out")
    provider: SandboxProvider = catalog.find("sandbox", name)(checked.model_copy(update={"image": image}))
    async with provider:
        yield Equipment(provider, catalog.find("builder", settings.builder)(settings, provider))


@asynccontextmanager
async def opened_bench(settings: Settings) -> AsyncIterator[Bench]:
    """Yield a grader's tools around a scratch folder that is removed afterwards."""
    async with async_scratch_folder("bench") as scratch, equipment(settings.sandbox, settings) as tools:
        yield tools.bench(scratch, None)
