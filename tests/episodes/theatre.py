"""What tests of episodes work with: the toy suite, a fake sandbox that can hang, and a record of one attempt."""

import asyncio
import socket
from pathlib import Path

from groundup.domain.subjects import Subject
from groundup.environments.requests import PythonEnvironment, PythonRequest
from groundup.episodes.attempt import Grading
from groundup.episodes.backends import Backends
from groundup.episodes.loading import load_grading
from groundup.episodes.records import EpisodeSpec
from groundup.sandbox.protocol import Command, CommandResult, SandboxProvider, SandboxSpec
from groundup.settings import Settings
from tests.runs.toy import BEHAVIOUR
from tests.runs.toy_agent import EmptyBuilder
from tests.sandbox.fake import FakeProvider, FakeSandbox, answer

SUITE = "tests.runs.toy:create_written"
FOREVER = "sleep 600"


class HangingSandbox(FakeSandbox):
    """Commands that say so never end."""

    async def run(self, command: Command) -> CommandResult:
        """Answer, or hang."""
        if FOREVER in " ".join(command.argv):
            await asyncio.sleep(600)
        return await super().run(command)


class Provider(FakeProvider):
    """Opens sandboxes that can hang."""

    def opened(self, spec: SandboxSpec, ports: "dict[int, socket.socket]") -> FakeSandbox:
        """Return one."""
        sandbox = HangingSandbox(self, spec, ports)
        self.specs.append(spec)
        self.sandboxes.append(sandbox)
        return sandbox


class Builder(EmptyBuilder):
    """Builds empty environments, or for ever."""

    hangs = False

    async def python(self, request: PythonRequest) -> PythonEnvironment:
        """Build."""
        if self.hangs:
            await asyncio.sleep(600)
        return await super().python(request)


def obeying(spec: SandboxSpec, command: Command) -> CommandResult:
    """Write the behaviour that a command `behave WORD` names, as a shell would have."""
    _, _, word = " ".join(command.argv).partition("behave ")
    if word:
        (spec.workspace / BEHAVIOUR).write_text(word)
    return answer(stdout=b"done\n")


def an_episode(**fields: object) -> EpisodeSpec:
    """Return an attempt at the first toy task by somebody outside."""
    return EpisodeSpec.model_validate(
        {"suite": SUITE, "task": "task-0000", "subject": Subject(agent="somebody"), **fields}
    )


class Theatre:
    """A folder with everything that an episode needs."""

    def __init__(self, root: Path, provider: SandboxProvider | None = None) -> None:
        self.settings = Settings(cache_dir=root / "cache")
        self.fake = Provider(obeying)
        self.builder = Builder(root / "layers")
        self.scratch = root / "scratch"
        self.scratch.mkdir()
        self._equipment = Backends(provider or self.fake, self.builder)

    def grading(self, spec: EpisodeSpec) -> Grading:
        """Return how *spec* is graded."""
        return load_grading(spec, self._equipment, self.settings)

    def is_clean(self) -> bool:
        """Whether no sandbox is open and no file is left."""
        return not any(self.scratch.iterdir()) and all(sandbox.closed for sandbox in self.fake.sandboxes)
