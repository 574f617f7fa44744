"""An agent that does what its options say; reached by dotted path. And a builder of empty environments."""

import asyncio
import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue
from typing_extensions import override

from groundup.agents.base import Agent, AgentContext, AgentResult
from groundup.domain.errors import InfrastructureError, TaskError
from groundup.domain.subjects import Outcome
from groundup.domain.tasks import Task
from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.requests import AnySource, Layer, PythonEnvironment, PythonRequest
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import Settings
from tests.runs.toy import BEHAVIOUR

AGENT = "tests.runs.toy_agent:create"
BUILDER = "tests.runs.toy_agent:create_builder"


def create(options: Mapping[str, JsonValue]) -> "ToyAgent":
    """Return the agent."""
    return ToyAgent(options)


class ToyAgent(Agent):
    """Hands in the behaviour that its options name, and does to the run what they say."""

    name = "toy"
    version = "1"
    needs_model = False

    def __init__(self, options: Mapping[str, JsonValue]) -> None:
        self._options = options

    @override
    def identity(self) -> Mapping[str, JsonValue]:
        """Return the options."""
        return self._options

    @override
    def reservation_mb(self, task: Task) -> int:
        """Return little."""
        return 16

    @override
    async def attempt(self, context: AgentContext) -> AgentResult:
        """Do it."""
        tries = len([step for step in context.trajectory.recorded() if step["kind"] == "began"])
        context.trajectory.append("note", withheld=list(context.withheld), tries=tries)
        context.keep("agent.log", b"words")
        behaviour = context.workspace / BEHAVIOUR
        if isinstance(by_round := self._options.get("by_round"), list):
            return self._round(context, behaviour, [str(word) for word in by_round])
        if (first := self._options.get("first")) is not None:
            behaviour.write_text(str(first))
            ended = await context.submit()
            context.trajectory.append("told", message=ended.message, shown=ended.shown, ends=ended.ends)
        match self._options.get("fault"):
            case "infrastructure" if tries == 0:
                raise InfrastructureError("the endpoint is down")
            case "killed" if tries == 0:  # with the process, such as a fleet's node
                os.kill(os.getpid(), signal.SIGKILL)
            case "task":
                raise TaskError("nothing to do")
            case "crash":
                raise ZeroDivisionError("a bug of the agent")
            case "hostile":
                (context.workspace / "way-out").symlink_to("/etc/passwd")
            case "sleep":
                await asyncio.sleep(600)
        behaviour.write_text(str(self._options.get("behaviour", "pass")))
        return AgentResult(
            outcome=Outcome(str(self._options.get("outcome", "submitted"))), detail="as it was told", turns=2
        )

    def _round(self, context: AgentContext, behaviour: Path, words: list[str]) -> AgentResult:
        """Hand in what this round's word is; `down` fails at the first try."""
        found = re.search(r"This is round (\d+) of", context.task.instruction or "")
        number = int(found[1]) if found else 1
        told = (context.task.instruction or "").partition("hidden tests. ")[2]
        lay = behaviour.read_text() if behaviour.is_file() else ""
        turns = context.limits.turns
        context.trajectory.append("round began", number=number, told=told, lay=lay, turns=turns, turn=1)
        word, _, fault = words[number - 1].partition(" ")
        if fault and not any(step["kind"] == "went down" for step in context.trajectory.recorded()):
            context.trajectory.append("went down")
            raise InfrastructureError("the endpoint is down")
        behaviour.write_text(word)
        return AgentResult(outcome=Outcome.SUBMITTED, turns=2, cost_usd=0.5)


class EmptyBuilder(EnvironmentBuilder):
    """Builds environments in which nothing is."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @override
    async def python(self, request: PythonRequest) -> PythonEnvironment:
        """Return an empty environment."""
        path = self._root / "empty-layer"
        path.mkdir(parents=True, exist_ok=True)
        layer = Layer(digest="sha256:0", kind="python", path=path)
        return PythonEnvironment(layer=layer, mounts=(), path=(), python_version=f"{request.python}.1")

    @override
    async def source(self, request: AnySource) -> Layer:
        """Refuse."""
        raise TaskError("this builder has no sources")

    @override
    def identity(self) -> Mapping[str, str]:
        """Return nothing."""
        return {}


def create_builder(settings: Settings, provider: SandboxProvider) -> EmptyBuilder:
    """Return a builder."""
    return EmptyBuilder(settings.cache_dir)
