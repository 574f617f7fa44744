"""What every agent can do and gets, and how it reads its settings. It sees no oracle or grader."""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from pydantic import JsonValue, ValidationError

from groundup.domain.errors import UsageError
from groundup.domain.limits import EpisodeLimits as EpisodeLimits  # noqa: PLC0414 - part of this protocol
from groundup.domain.names import unknown
from groundup.domain.records import Extension, Record, plainly
from groundup.domain.subjects import Outcome
from groundup.domain.tasks import Task
from groundup.domain.usage import ModelUse, TokenUsage
from groundup.domain.verdicts import Score
from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.requests import PythonRequest
from groundup.models.protocol import ChatModel
from groundup.sandbox.protocol import SandboxProvider
from groundup.sandbox.rooted import UnpackedImage

if TYPE_CHECKING:
    from groundup.trees.fingerprints import Fingerprint


async def note_nothing(turn: int) -> None:
    """Keep no history of the workspace."""


class SubmitResult(Record):
    """What `submit` tells an agent; `shown` is False where the run hides scores."""

    shown: bool
    score: Score | None = None
    message: str = ""
    ends: bool = False
    """Whether the run wants the attempt to end here."""


class Trajectory(Protocol):
    """What an agent did, appended as it happens; a resumed attempt finds what it recorded before."""

    def append(self, kind: str, **fields: JsonValue) -> None:
        """Record a step; it outlives this process when this returns."""
        ...

    def recorded(self) -> tuple[Mapping[str, JsonValue], ...]:
        """Return the steps of the earlier, unfinished tries of this attempt, in order."""
        ...


@dataclass(frozen=True)
class AgentContext:
    """Everything that an agent may use for one attempt."""

    task: Task
    workspace: Path
    """A plain folder that holds the task's seeds; what lies there when the agent ends is the submission."""
    provider: SandboxProvider
    builder: EnvironmentBuilder
    scratch: Path
    """For the agent's own files; removed by the run afterwards."""
    model: ChatModel | None
    trajectory: Trajectory
    limits: EpisodeLimits
    submit: Callable[[], Awaitable[SubmitResult]]
    """Hands in; where the run tells scores, a copy of the workspace is graded, in another sandbox."""
    keep: Callable[[str, bytes], None]
    """Keeps what the agent printed or logged, by a plain file name, capped, beside the trajectory."""
    note_turn: Callable[[int], Awaitable[None]] = note_nothing
    """Is called when a turn has done all that it does; records what that did to the workspace."""
    withheld: tuple[str, ...] = ()
    """Packages that hand out what the task asks for; the registries inside refuse them."""
    original: "Fingerprint | None" = None
    """Of what the task asks for: the registries inside refuse what brings a copy, and no copy is shown."""
    environment: PythonRequest | None = None
    """What the task's published image has installed; None: pip and pytest are all there is."""
    base: UnpackedImage | Literal["host", "listed"] = "host"
    """Whose programs there are, where `image` is None."""
    image: UnpackedImage | None = None
    """The published image without the original: its programs and packages are there, and `environment` is not."""
    told_of_grading: str = ""
    """Sentences for the prompt on how the task is graded that its text does not say."""
    label: str = "attempt"
    """For messages and sandboxes' names."""


class AgentResult(ModelUse):
    """How an attempt ended, and what its model took."""

    outcome: Outcome
    detail: str = ""
    """One sentence: which limit, which exit code."""


Seeded = Callable[[], Path]
"""Writes a task's seeds into a folder, once, and returns it."""


class Agent(Extension):
    """Makes a submission out of a task.

    What has a name (`opening.py`) is a function `create(options: Mapping[str, JsonValue]) -> Agent`, which
    raises `UsageError` for an option that it does not know.
    """

    name: str
    version: str
    needs_model: bool = True
    goes_on: bool = True
    """Whether it looks at what lies in its workspace, so that a further round can be told of a score."""
    preferred: Mapping[str, JsonValue] = MappingProxyType({})
    """Model settings that hold where the user gives none, such as `{"temperature": 0.0}`."""

    @abstractmethod
    def identity(self) -> Mapping[str, JsonValue]:
        """Return everything of the agent that may change what it hands in: settings, prompts' digests."""

    @abstractmethod
    async def attempt(self, context: AgentContext) -> AgentResult:
        """Work in the workspace.

        `InfrastructureError`, `TaskError` and `BudgetSpentError` (the run's money) are raised; all else is data.
        An attempt whose try ended by one of them, or was killed, is given to the agent again with a fresh
        workspace: the trajectory then holds what was recorded before, and no recorded reply is paid for again.
        """

    def reservation_mb(self, task: Task) -> int:
        """Memory to keep for one attempt: little, for most attempts wait for the model most of the time."""
        return 64

    def expected_usage(self, task: Task, limits: EpisodeLimits, seeded: Seeded) -> TokenUsage | None:
        """Return how many tokens an attempt at *task* will use, roughly; None: that cannot be guessed.

        *seeded* returns a folder with the task's seeds. Raises `TaskError` for a task that this agent cannot do.
        """
        return None


R = TypeVar("R", bound=Record)


def read_options(kind: type[R], agent: str, options: Mapping[str, JsonValue]) -> R:
    """Return the settings of *agent*; raises `UsageError` naming the option that is wrong."""
    for name in options:
        if name not in kind.model_fields:
            raise UsageError(unknown(f"option of the agent {agent}", name, kind.model_fields))
    try:
        return kind.model_validate(dict(options))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(f"option {place} of the agent {agent}: {plainly(first)}") from error
