"""The sandbox provider and the environment builder of a run, opened together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from groundup import catalog
from groundup.domain.errors import UsageError
from groundup.environments.requests import EnvironmentBuilder
from groundup.grading.bench import Bench, Turns
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import Settings

UNTRUSTING = "none"
"""The sandbox that is none."""


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


def check_trust(sandbox: str, *, trusted: bool) -> None:
    """Raise `UsageError` when code would run without a sandbox and the user did not ask for that."""
    if sandbox == UNTRUSTING and not trusted:
        raise UsageError(
            "`--sandbox none` runs submitted code with all your rights; add --i-trust-this-code if you mean it"
        )


@asynccontextmanager
async def equipment(sandbox: str, settings: Settings) -> AsyncIterator[Equipment]:
    """Yield the equipment; every sandbox that is still open is closed afterwards."""
    checked = settings.model_copy(update={"trust_code": True})  # by `check_trust`, before anything else
    provider: SandboxProvider = catalog.find("sandbox", sandbox)(checked)
    async with provider:
        yield Equipment(provider, catalog.find("builder", settings.builder)(settings, provider))
