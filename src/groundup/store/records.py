"""The records that lie in a run folder. Owns their shape; what they mean is decided elsewhere."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue, field_validator

from groundup.domain.digests import LATER, digest_of
from groundup.domain.inventory import Inventory
from groundup.domain.limits import Effort, EpisodeLimits, Feedback, Selection
from groundup.domain.names import Name
from groundup.domain.records import Record
from groundup.domain.subjects import (
    ABLATED_RUN,
    ABLATION,
    REGRADED,
    ROUNDS,
    SELECT,
    AttemptKey,
    Outcome,
    Subject,
)
from groundup.domain.verdicts import Verdict


class References(Record):
    """Submissions come from the suite itself: its oracle's, the empty one, or another that it offers."""

    kind: Literal["reference"] = "reference"
    which: str


class GivenSubmissions(Record):
    """Submissions lie in a folder or a JSONL file."""

    path: str = Field(description="absolute")
    task: Name | None = Field(default=None, description="the one task whose submission *path* is")
    agent_name: str | None = None
    model_name: str | None = None
    source: Literal["predictions", "import"] = "predictions"
    strict_names: Annotated[bool, LATER] = Field(
        default=False, description="whether a folder without a task's name is refused"
    )


class Predictions(GivenSubmissions):
    """They are what the user has."""

    kind: Literal["predictions"] = "predictions"


class Ablated(GivenSubmissions):
    """They are those of another run with one kind of mistake taken out, as `groundup ablate` wrote them."""

    kind: Literal["ablated"] = "ablated"
    ablation: str
    run: str = Field(description="id of the run whose submissions were changed")


class EarlierRun(Record):
    """Submissions are those of another run, graded again."""

    path: str = Field(description="absolute")


class UnnamedRun(EarlierRun):
    """As earlier versions wrote it: whose submissions they are is not said."""

    kind: Literal["run"] = "run"


class Regraded(EarlierRun):
    """Whoever made them is the subject of both runs."""

    kind: Literal["regraded"] = "regraded"
    subject: Subject


class Generated(Record):
    """Submissions are made in the run, by an agent that may use a model."""

    kind: Literal["agent"] = "agent"
    agent: str = Field(description="short name or dotted path")
    options: dict[str, JsonValue] = Field(
        default={}, description="the agent's own settings, as the user gave them"
    )
    model: str | None = Field(default=None, description="provider/model")
    model_settings: dict[str, JsonValue] = Field(
        default={}, description="how the model is asked, as far as that may change its replies"
    )
    limits: EpisodeLimits = EpisodeLimits()
    feedback: Feedback = Feedback.SCORE
    rounds: Annotated[int, LATER] = Field(
        default=1, ge=1, description="how often the agent works; before all but the first it is told its score"
    )
    select: Annotated[Selection | None, LATER] = Field(
        default=None, description="by what one of several attempts is chosen; None: all count"
    )
    extras: Annotated[dict[str, JsonValue], LATER] = Field(
        default={}, description="tool servers and skills, which earlier versions gave; such a run is only read"
    )

    @field_validator("extras", mode="before")
    @classmethod
    def _none_is_nothing(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        return value if isinstance(value, dict) and any(value.values()) else {}

    @property
    def strategies(self) -> dict[str, str | int]:
        """What reports name besides the agent's settings: runs that differ in it are not alike."""
        rounds = {} if self.rounds == 1 else {ROUNDS: self.rounds}
        return {**rounds, **({SELECT: self.select.value} if self.select else {})}


class Served(Record):
    """Submissions are made by clients of a server, as many as come."""

    kind: Literal["served"] = "served"
    agent: str = Field(default="client", description="who plays, as the server's user says")
    model: str | None = None
    limits: EpisodeLimits = EpisodeLimits()
    submits: int | None = Field(default=1, ge=1, description="how many end an episode; None: any number")
    reward: Literal["submit", "end"] = Field(default="submit", description="when one is given")
    shows_scores: bool = Field(default=True, description="whether the text of a submit says the score")


SubmissionsFrom = Annotated[
    References | Predictions | Ablated | UnnamedRun | Regraded | Generated | Served, Field(discriminator="kind")
]


class RunConfiguration(Record):
    """What a user asked for: everything that may change results. How fast it goes is in `RunOptions`."""

    suite: str = Field(description="short name or dotted path")
    submissions: SubmissionsFrom
    grader: str | None = Field(default=None, description="None: the suite's default")
    tasks: tuple[str, ...] | None = Field(default=None, description="None: all that can be graded here")
    exclude: tuple[str, ...] = ()
    attempts: int | None = Field(default=None, ge=1, description="per task; None: as many as are found")
    timeout_s: float | None = Field(default=None, gt=0, description="overrides the recipes' test timeouts")
    sandbox: str = "bubblewrap"

    @property
    def subject(self) -> Subject:
        """Who made the submissions, as far as the configuration says."""
        match self.submissions:
            case References(which=which):
                return Subject(agent=which)
            case Predictions(agent_name=agent, model_name=model):
                return Subject(agent=agent or "predictions", model=model)
            case Ablated(agent_name=agent, model_name=model, ablation=ablation, run=run):
                return Subject(
                    agent=agent or "predictions", model=model, settings={ABLATION: ablation, ABLATED_RUN: run}
                )
            case Regraded(subject=subject, path=path):
                return subject.but(settings={**subject.settings, REGRADED: Path(path).name})
            case UnnamedRun(path=path):
                return Subject(agent="regrade", settings={"run": path})
            case Generated(agent=agent, model=model, options=options) as made:
                return Subject(agent=agent, model=model, settings={**_plain(options), **made.strategies})
            case Served(agent=agent, model=model):
                return Subject(agent=agent, model=model)


def _plain(options: Mapping[str, JsonValue]) -> dict[str, str | int | float | bool | None]:
    """Return settings as a subject has them: what is no plain value as JSON."""
    return {
        name: value if value is None or isinstance(value, str | int | float | bool) else json.dumps(value)
        for name, value in options.items()
    }


class Planned(Record):
    """The attempts of a run: every task, as often as `attempts` says. The denominator of every report."""

    tasks: tuple[Name, ...]
    attempts: int = Field(ge=1)

    @property
    def keys(self) -> tuple[AttemptKey, ...]:
        """All attempts, first indexes first, so that every task is seen early."""
        return tuple(AttemptKey(task=task, index=index) for index in range(self.attempts) for task in self.tasks)

    def __len__(self) -> int:
        return len(self.tasks) * self.attempts

    def holds(self, key: AttemptKey) -> bool:
        """Whether *key* is one of them."""
        return key.task in self.tasks and key.index < self.attempts

    def pending(self, lines: Mapping[AttemptKey, "VerdictLine"]) -> tuple[AttemptKey, ...]:
        """Those without a line that settles them, of the *lines* that count."""
        return tuple(key for key in self.keys if key not in lines or not lines[key].settles)


class Begun(Planned):
    """The attempts of a server's run: those begun so far, because how many clients come is not planned."""

    listed: tuple[AttemptKey, ...]

    @property
    def keys(self) -> tuple[AttemptKey, ...]:
        """All that were begun."""
        return self.listed

    def __len__(self) -> int:
        return len(self.listed)

    def holds(self, key: AttemptKey) -> bool:
        """Whether *key* is one of them."""
        return key in self.listed


class ConfigFile(Record):
    """`config.json`: written once, never changed."""

    format: Literal[1] = Field(default=1, description="version of the folder layout")
    run_id: Name
    created_at: datetime
    suite_name: str
    grader: str = Field(description="the grader's name, resolved")
    configuration: RunConfiguration
    planned: Planned
    pinned: dict[str, str] = Field(
        description="what the results depend on besides: versions of suite and sandbox, digests of tasks, "
        "graders and predictions; a resume that finds one of them changed is refused"
    )
    left_out: tuple[str, ...] = Field(
        default=(), description="tasks of the suite that were not named and could not be graded when it began"
    )
    digest: str = Field(description="of configuration, planned, pinned, and of what is left out if anything is")

    @property
    def is_own(self) -> bool:
        """Whether a run here wrote it, with all files of each attempt; what was imported can lack some."""
        return "sandbox" in self.pinned

    @staticmethod
    def digest_for(
        configuration: RunConfiguration, planned: Planned, pinned: dict[str, str], left_out: Sequence[str] = ()
    ) -> str:
        """Return the digest that a `ConfigFile` of these carries."""
        return digest_of([configuration, planned, pinned, *([list(left_out)] if left_out else [])])


class Start(Record):
    """One process that worked on a run."""

    at: datetime
    ended_at: datetime | None = Field(default=None, description="None while it works, and when it was killed")
    pid: int
    groundup: str = Field(description="version")
    machine: dict[str, str] = {}
    tools: dict[str, str] = Field(default={}, description="names and versions from provider and builder")
    programs: str | None = Field(
        default=None, description="digest of the programs that agents had, of `inventories`; None: not recorded"
    )
    options: dict[str, str | int | float | bool | None] = {}


class JournalEnd(Record):
    """How far `verdicts.jsonl` went when a start began or ended: it only grows."""

    lines: int = Field(ge=0)
    chain: str = Field(description="of the last of these lines; empty without one")


class LockFile(Record):
    """`lock.json`: what made the results, one entry per start."""

    format: Literal[1] = 1
    starts: tuple[Start, ...] = ()
    journal: JournalEnd | None = Field(default=None, description="None: an earlier version's")
    mended: JournalEnd | None = Field(
        default=None,
        description="lines that did not all fit, and their digest: a start since then graded again what "
        "lost its score for it",
    )
    packed: bool = Field(default=False, description="whether it is a bundle's, which has no test results")
    images: dict[str, str] = Field(
        default={}, description="of containers: name -> digest or id that it had when the run began with it"
    )
    inventories: dict[str, Inventory] = Field(default={}, description="by their digests: the programs of agents")

    @property
    def agents_had(self) -> tuple[Inventory, ...]:
        """The programs that agents found, each once, in the order of starts."""
        named = dict.fromkeys(start.programs for start in self.starts if start.programs)
        return tuple(self.inventories[digest] for digest in named if digest in self.inventories)


class NodeStanding(Record):
    """What a node of a fleet does at this moment."""

    name: str
    slots: int
    grading: int = 0
    arriving: int = Field(default=0, description="layers on their way to it from other nodes")
    rests: bool = Field(default=False, description="whether it gets nothing, for its disk is full")


class FleetFile(Record):
    """`nodes.json`: the fleet that grades for a run; it is there only while the run goes on."""

    at: datetime
    waiting: int = Field(description="attempts that were sent and wait for a slot")
    layers: int = Field(description="that nodes took from one another so far")
    nodes: tuple[NodeStanding, ...]


class VerdictLine(Record):
    """One line of `verdicts.jsonl`: a settled attempt, or a try that ended as an infrastructure failure."""

    attempt: AttemptKey
    outcome: Outcome
    submission: str | None = Field(description="its digest; None when nothing could be taken in")
    verdict: Verdict | None = Field(description="None exactly when the outcome is `not_attempted`")
    effort: Effort | None = Field(default=None, description="what making it took; None where no agent made it")
    try_number: int = Field(default=1, ge=1, description="over all starts of the run")
    start: int = Field(default=0, ge=0, description="index of the start in lock.json that wrote it: 0 the first")
    cached: bool = Field(default=False, description="the verdict was found in the verdict cache")
    started_at: datetime
    finished_at: datetime
    tests_digest: str | None = Field(
        default=None,
        description="of tests.jsonl as this line was written; None: there is none, or an earlier version",
    )
    chain: str | None = Field(
        default=None, description="digest of this line and what it follows (`lines`); None: an earlier version's"
    )

    @property
    def settles(self) -> bool:
        """Whether the attempt is not pending any more."""
        return self.verdict is None or self.verdict.settles
