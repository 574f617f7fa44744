"""What is repeated for one attempt: when, how often at most, and which result counts."""

from pydantic import Field

from groundup.domain.records import Record


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

    @property
    def most_test_processes(self) -> int:
        """How many processes of tests one attempt starts in the worst case, a run with fresh inputs included."""
        return self.tries * self.gradings * (2 * self.rounds + self.checks * self.check_rounds)
