"""What is said of where a repository's tests run."""

from groundup.domain.records import Record


class Candidate(Record):
    """One job that may be the one, in the leg of its matrix that would be taken."""

    workflow: str
    job: str
    leg: dict[str, str] = {}
    """Every key of the matrix with its value; a value below another has the key `outer.inner`."""
    through: str | None = None
    """The workflow file, and the job in it, that it calls."""
    runner: str
    """The label of the machine; with an expression where only a running workflow knows it."""
    commands: tuple[str, ...] = ()
    """What runs the tests, each with the names that lead to it."""
    score: float
    reasons: tuple[str, ...] = ()
    hindrances: tuple[str, ...] = ()
    """What running it elsewhere than on GitHub takes besides: services, containers, workflows of others."""

    @property
    def title(self) -> str:
        """How a line names it."""
        return f"{self.workflow}: {self.job}"


class Opinion(Record):
    """What a model says."""

    model: str
    workflow: str | None
    job: str | None
    reason: str
    agrees: bool


class Located(Record):
    """Where the tests run, the best candidate first; empty where no job runs any."""

    candidates: tuple[Candidate, ...] = ()
    unread: tuple[str, ...] = ()
    """Workflow files that could not be read: one sentence each."""
    opinion: Opinion | None = None

    @property
    def best(self) -> Candidate | None:
        """The job to take; None where no job seems to run tests."""
        return self.candidates[0] if self.candidates else None
