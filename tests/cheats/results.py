"""What was tried and what came of it, one line of JSON each."""

from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from groundup.domain.records import Record


class Outcome(Record):
    """What one submission got."""

    points: float = Field(default=0, description="tests that count, or points of a CI job; 0 without a score")
    of: float = 0
    status: str = "graded"
    suspect: bool = False
    passed: int = Field(default=0, description="tests that passed, also of what is tampered with")
    why: str = ""


class Key(NamedTuple):
    """What makes two tries the same."""

    label: str
    target: str
    base: str
    grader: str
    cheat: str
    digest: str
    number: int


class Line(Record):
    """One cheat, tried once."""

    label: str = Field(description="which code of groundup judged")
    target: str
    base: str
    grader: str
    family: str
    cheat: str
    tries: str
    memorises: bool = False
    digest: str = Field(description="of the submission")
    deserves: float | None = Field(description="None: what the base gets without the trick")
    number: int = Field(default=0, description="of the grading, where it is graded several times")
    outcome: Outcome = Outcome()
    seconds: float = 0

    @property
    def key(self) -> Key:
        """What makes two tries the same."""
        return Key(self.label, self.target, self.base, self.grader, self.cheat, self.digest, self.number)

    def shown(self) -> str:
        """Return a line for people."""
        found = self.outcome
        status = "suspect" if found.suspect else found.status
        return (
            f"{self.target:8} {self.base:10} {self.grader:9} {self.cheat:36} {status:14} "
            f"{found.points:g}/{found.of:g}  {self.seconds:.1f} s  {found.why[:90]}"
        )


def read_lines(path: Path) -> list[Line]:
    """Return what the file holds; nothing where there is none."""
    if not path.exists():
        return []
    return [Line.model_validate_json(text) for text in path.read_text().splitlines()]
