"""Suites' problems as everybody may see them. What only graders may see is the suite's own."""

from typing import Literal

from pydantic import Field

from groundup.domain.digests import digest_of
from groundup.domain.limits import Limits
from groundup.domain.names import Name
from groundup.domain.records import Record


class SeedFile(Record):
    """A file that an agent finds in its workspace at the start."""

    path: str
    content: bytes


class Task(Record):
    """One problem: what is asked, what is given, what is handed in. Holds nothing of its oracle."""

    id: Name
    suite: Name
    instruction: str | None = Field(
        description="the specification; None where it is not available (a submission can still be graded)"
    )
    deliverable: Literal["tree", "edits"] = "tree"
    seeds: tuple[SeedFile, ...] = ()
    limits: Limits = Limits()
    data_version: str = "none"
    metadata: dict[str, str | int | float | bool | None] = {}

    @property
    def digest(self) -> str:
        """The digest of everything that defines the task for a subject."""
        return digest_of(self)

    @property
    def graded_digest(self) -> str:
        """The digest of what defines the task for a grader: not what only a subject sees."""
        return digest_of(self.but(instruction=None, seeds=()))
