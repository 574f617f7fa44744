"""What a sandbox may use, what bounds an attempt, and how often what is repeated."""

from enum import StrEnum

from pydantic import Field

from groundup.domain.records import Record
from groundup.domain.usage import ModelUse


class Limits(Record):
    """Upper bounds for everything that runs inside one sandbox."""

    cpus: float = Field(default=1.0, gt=0)
    memory_mb: int = Field(default=2048, ge=16)
    processes: int = Field(default=256, ge=8)
    disk_mb: int = Field(default=4096, ge=1, description="workspace and private /tmp, each")
    wall_clock_s: float = Field(default=3600.0, gt=0, description="of the whole sandbox")
    command_s: float = Field(default=900.0, gt=0, description="of one command, unless it asks for another limit")
    output_bytes: int = Field(
        default=8 * 1024 * 1024, ge=1024, description="kept per stream and command, half head and half tail"
    )

    def for_command(self, command_s: float, *, spare_s: float = 30.0, output_bytes: int | None = None) -> "Limits":
        """Return the limits of a sandbox for one command of so long, which it outlives by *spare_s*."""
        update: dict[str, object] = {"command_s": command_s, "wall_clock_s": command_s + spare_s}
        return self.but(**update if output_bytes is None else {**update, "output_bytes": output_bytes})


class EpisodeLimits(Record):
    """When an attempt ends by itself. What is in its workspace then is still graded."""

    turns: int | None = Field(default=None, ge=1, description="replies of the model")
    tokens: int | None = Field(default=None, ge=1, description="input and output, all turns together")
    cost_usd: float | None = Field(default=None, gt=0)
    wall_clock_s: float | None = Field(default=None, gt=0)


class Feedback(StrEnum):
    """What `submit` does."""

    SCORE = "score"
    """It is graded and its score returned; the attempt goes on."""
    HIDDEN = "hidden"
    """It is acknowledged; nothing is graded and no score returned."""
    END = "end"
    """The first one ends the attempt."""


class Selection(StrEnum):
    """By what one of several attempts at a task is chosen."""

    SCORE = "score"
    """The hidden score: no choice does better, and nobody can make it who hands in."""
    OWN_TESTS = "own-tests"
    """The tests that the attempt itself wrote: the share that passes, then their number."""
    VOTES = "votes"
    JUDGES = "judges"
    """Models' votes and opinions, of which only earlier versions made a choice."""


class OwnTests(Record):
    """What the tests did that lay in a workspace."""

    passed: int = Field(ge=0)
    failed: int = Field(ge=0, description="errors, too")


class Effort(ModelUse):
    """What making a submission took, all tries of the attempt together."""

    detail: str = Field(default="", description="one sentence: which limit, which exit code")
    seconds: float = Field(default=0.0, ge=0, description="of the try that ended it")
    resembles: str = Field(
        default="",
        description="where it came by much of the original, by content and turn; empty: nowhere",
    )
    rounds: tuple[float | None, ...] = Field(
        default=(), description="scores that the agent was told after its rounds; the verdict is on the last one"
    )
    own_tests: OwnTests | None = Field(
        default=None, description="of its last state; None: not run, for no choice of attempts wants it"
    )


class Repeats(Record):
    """The one policy of repeating. A verdict that needed a second grading says so and is not cached."""

    tries: int = Field(
        default=3, ge=1, description="of an attempt whose infrastructure failed; the first with a verdict counts"
    )
    gradings: int = Field(
        default=2,
        ge=1,
        le=2,
        description="of a submission, where a busy machine or a timed test may cost points; the last one counts",
    )
    rounds: int = Field(
        default=12,
        ge=1,
        description="of a run of tests, each without one more that ended it; the last counts",
    )
    checks: int = Field(default=3, ge=0, description="of what passed (spot, full, once more); no points")
    check_rounds: int = Field(default=4, ge=1, description="of each of these")
