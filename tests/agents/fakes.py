"""What tests of agents work with: a model that says what a test wants, and a trajectory in memory."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import JsonValue
from typing_extensions import override

from groundup.agents.base import AgentContext, EpisodeLimits, SubmitResult
from groundup.domain.conversations import ChatReply, ChatRequest, Message, ToolCall
from groundup.domain.limits import Limits
from groundup.domain.tasks import Task
from groundup.domain.usage import TokenUsage
from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.requests import AnySource, Layer, PythonEnvironment, PythonRequest
from groundup.models.prices import estimated_tokens
from groundup.models.protocol import CallWatch
from groundup.sandbox.protocol import SandboxProvider
from tests.sandbox.fake import FakeProvider

Say = Callable[[ChatRequest], ChatReply]


def says(text: str = "", *calls: tuple[str, Mapping[str, JsonValue] | str], **fields: object) -> ChatReply:
    """Return a reply with these calls of tools."""
    made = tuple(
        ToolCall(id=f"call-{number}", name=name, arguments=given if isinstance(given, str) else json.dumps(given))
        for number, (name, given) in enumerate(calls)
    )
    reply = ChatReply(
        message=Message(role="assistant", content=text, tool_calls=made),
        finish="tool_calls" if made else "stop",
        usage=TokenUsage(input_tokens=100, output_tokens=10),
        cost_usd=0.01,
    )
    return reply.but(**fields)


def runs(*commands: str) -> ChatReply:
    """Return a reply that calls bash."""
    return says("", *(("bash", {"command": command}) for command in commands))


class FakeModel:
    """Says its replies in turn, or asks *say*; an exception among them is raised."""

    name = "fake/model"

    def __init__(
        self, replies: Iterable[ChatReply | Exception] = (), *, say: Say | None = None, window: int | None = None
    ) -> None:
        self.requests: list[ChatRequest] = []
        self.context_tokens = window
        self._replies = list(replies)
        self._say = say

    async def complete(self, request: ChatRequest, watch: CallWatch | None = None) -> ChatReply:
        """Say the next reply."""
        self.requests.append(request)
        if self._say is not None:
            return self._say(request)
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def count_tokens(self, request: ChatRequest) -> int:
        """Return the estimate."""
        return estimated_tokens(request)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        pass


class Memory:
    """A trajectory that lives as long as the test."""

    def __init__(self, earlier: Iterable[Mapping[str, JsonValue]] = ()) -> None:
        self.earlier = tuple(earlier)
        self.steps: list[dict[str, JsonValue]] = []

    def append(self, kind: str, **fields: JsonValue) -> None:
        """Remember a step as its file would give it back."""
        self.steps.append(json.loads(json.dumps({"kind": kind, **fields})))

    def recorded(self) -> tuple[Mapping[str, JsonValue], ...]:
        """Return the steps of earlier tries."""
        return self.earlier

    def kinds(self) -> list[str]:
        """Return the kinds of steps in order."""
        return [str(step["kind"]) for step in self.steps]

    def of(self, kind: str) -> list[dict[str, JsonValue]]:
        """Return the steps of one kind."""
        return [step for step in self.steps if step["kind"] == kind]

    def resumed(self) -> "Memory":
        """Return the trajectory of the next try."""
        return Memory((*self.earlier, *self.steps))


class FakeBuilder(EnvironmentBuilder):
    """Builds environments that are empty folders."""

    def __init__(self, root: Path) -> None:
        self.requests: list[PythonRequest] = []
        self._root = root

    @override
    async def python(self, request: PythonRequest) -> PythonEnvironment:
        """Return an empty environment."""
        self.requests.append(request)
        path = self._root / "layer"
        path.mkdir(exist_ok=True)
        layer = Layer(digest="sha256:0", kind="python", path=path)
        return PythonEnvironment(layer=layer, mounts=(), path=(), python_version=f"{request.python}.1")

    @override
    async def source(self, request: AnySource) -> Layer:
        """Refuse."""
        raise NotImplementedError

    @override
    def identity(self) -> Mapping[str, str]:
        """Return nothing."""
        return {}


def a_task(**fields: object) -> Task:
    """Return a task."""
    return Task.model_validate(
        {"id": "task", "suite": "toy", "instruction": "Write it.", "limits": Limits(memory_mb=512), **fields}
    )


def agent_context(
    root: Path,
    model: FakeModel,
    *,
    task: Task | None = None,
    provider: SandboxProvider | None = None,
    trajectory: Memory | None = None,
    limits: EpisodeLimits | None = None,
    submit: SubmitResult | None = None,
    withheld: tuple[str, ...] = (),
    builder: EnvironmentBuilder | None = None,
) -> AgentContext:
    """Return an assignment below the folder *root*."""
    for name in ("workspace", "scratch"):
        (root / name).mkdir(parents=True, exist_ok=True)

    async def submitted() -> SubmitResult:
        return submit or SubmitResult(shown=False, message="Submitted.")

    return AgentContext(
        task=task or a_task(),
        workspace=root / "workspace",
        provider=provider or FakeProvider(),
        builder=builder or FakeBuilder(root),
        scratch=root / "scratch",
        model=model,
        trajectory=trajectory or Memory(),
        limits=limits or EpisodeLimits(),
        submit=submitted,
        keep=lambda name, content: None,
        withheld=withheld,
    )
