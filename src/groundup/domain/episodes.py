"""What bounds an attempt at making a submission, and what it is told of its score meanwhile."""

from enum import StrEnum

from pydantic import Field

from groundup.domain.conversations import TokenUsage
from groundup.domain.records import Record


class EpisodeLimits(Record):
    """When an attempt ends by itself. What is in its workspace then is graded all the same."""

    turns: int | None = Field(default=None, ge=1, description="replies of the model")
    tokens: int | None = Field(default=None, ge=1, description="input and output, all turns together")
    cost_usd: float | None = Field(default=None, gt=0)
    wall_clock_s: float | None = Field(default=None, gt=0)


class Feedback(StrEnum):
    """What `submit` does."""

    SCORE = "score"
    """It grades and tells the score; the attempt goes on."""
    HIDDEN = "hidden"
    """It tells that something was handed in, and nothing of the score; nothing is graded."""
    END = "end"
    """The first one ends the attempt."""


class Effort(Record):
    """What making a submission took, all tries of the attempt together."""

    detail: str = Field(default="", description="one sentence: which limit, which exit code")
    turns: int = Field(default=0, ge=0)
    usage: TokenUsage = TokenUsage()
    estimated: bool = Field(default=False, description="whether tokens are guessed that an endpoint did not tell")
    cost_usd: float | None = Field(default=None, description="None: the model has no price")
    seconds: float = Field(default=0.0, ge=0, description="of the try that ended it")
