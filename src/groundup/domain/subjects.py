"""Who makes submissions and with what, and what a run calls one try."""

from enum import StrEnum
from pathlib import PurePath
from typing import Literal

from pydantic import Field

from groundup.domain.limits import Effort
from groundup.domain.names import Name
from groundup.domain.records import Record


class Subject(Record):
    """An agent with its model and settings. `oracle` and `nop` are subjects without a model."""

    agent: str
    model: str | None = None
    settings: dict[str, str | int | float | bool | None] = {}

    @property
    def name(self) -> str:
        """What people call the agent: a command-line program by its preset, such as `codex@0.169.0`."""
        return str(self.settings.get(PRESET) or self.agent) if self.agent == PROGRAM_AGENT else self.agent

    @property
    def title(self) -> str:
        return f"{self.name} with {self.model_name}" if self.model else self.name

    @property
    def told_settings(self) -> str:
        """The settings that the name does not say, with commas."""
        said = {PRESET} if self.agent == PROGRAM_AGENT else set()
        return ", ".join(f"{name}={value}" for name, value in self.settings.items() if name not in said)

    @property
    def model_name(self) -> str | None:
        """The model as people read it: of a script on a machine the file's name, without its folders."""
        provider, _, name = (self.model or "").partition("/")
        return f"{provider}/{PurePath(name).name}" if provider == "scripted" else self.model


PROGRAM_AGENT, PRESET = "cli", "preset"
"""The agent that runs somebody else's command-line program, and its option that says which."""
SUBMITTING_AGENT = "loop"
"""The agent that can hand in while it works and is told the score then, unless its run hides that."""
ABLATION, ABLATED_RUN, REGRADED = "ablation", "ablated run", "regraded"
"""Names of settings: which mistakes were taken out, of which run's submissions; which run was graded again."""
ROUNDS, SELECT = "rounds", "select"
"""Names of settings: in how many rounds an attempt is made; by what one of several attempts is chosen."""


class AttemptKey(Record):
    """Names one attempt within a run: a task and an index from 0."""

    task: Name
    index: int = Field(default=0, ge=0)

    def __hash__(self) -> int:
        return hash((self.task, self.index))  # a record's own takes most of the time of reading a long run

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AttemptKey) and self.task == other.task and self.index == other.index

    def __str__(self) -> str:
        return f"{self.task}/{self.index}"


class Outcome(StrEnum):
    """How an attempt at making a submission ended. All but the last two are graded."""

    SUBMITTED = "submitted"
    LIMIT = "limit"
    BUDGET = "budget"
    REFUSED = "refused"
    FORMAT = "format"
    """The model answered in a form from which no file could be read."""
    CRASHED = "crashed"
    INFRASTRUCTURE = "infrastructure"
    NOT_ATTEMPTED = "not_attempted"
    """Nothing was handed in: kept in every denominator, shown apart."""


class Provenance(Record):
    """Where a submission came from."""

    source: Literal["agent", "predictions", "oracle", "nop", "import"]
    agent_name: str | None = None
    model_name: str | None = None
    path: str | None = Field(default=None, description="as the user gave it")


class Submission(Record):
    """What was handed in, by digest. The files lie in the attempt's folder."""

    kind: Literal["tree", "patch"] = "tree"
    digest: str
    files: int = Field(ge=0)
    bytes: int = Field(ge=0)
    provenance: Provenance
    outcome: Outcome = Field(default=Outcome.SUBMITTED, description="how the attempt that made it ended")
    dropped: tuple[str, ...] = Field(
        default=(),
        description="members left out when it was taken in (devices, escaping links...), at most 20",
    )
    effort: Effort | None = Field(default=None, description="what it took; None where no agent made it in a run")
