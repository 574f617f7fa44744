"""From a configuration to the attempts of a run. Reads no run folder and starts nothing."""

from collections.abc import Mapping
from dataclasses import dataclass

from groundup.domain.subjects import AttemptKey
from groundup.domain.tasks import Task
from groundup.runs.submissions import SubmissionSource
from groundup.store.records import Planned, RunConfiguration
from groundup.suites.protocol import Grader, Suite


@dataclass(frozen=True)
class Plan:
    """Everything that is decided before a run starts. `groundup run --dry-run` shows it."""

    configuration: RunConfiguration
    suite: Suite
    grader: Grader
    tasks: Mapping[str, Task]
    planned: Planned
    source: SubmissionSource
    pinned: dict[str, str]

    @property
    def missing(self) -> tuple[AttemptKey, ...]:
        """Attempts for which the source holds nothing."""
        return tuple(key for key in self.planned.keys if not self.source.holds(key))
