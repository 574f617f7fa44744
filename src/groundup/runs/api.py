"""The entry points of `runs`: plan, run, resume, regrade, open a shell, clean. Callers need no other module.

`run`, `resume` and `regrade` block until they are done and handle ^C themselves: the first stops cleanly, the
second faster. `UsageError` is raised before anything has been done.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.runs.options import RunOptions
from groundup.runs.plan import Plan
from groundup.runs.progress import Progress, Standing, silent
from groundup.sandbox.protocol import SandboxProvider, SandboxSpec
from groundup.settings import Settings
from groundup.store.records import RunConfiguration


class RunResult(Record):
    """How a start of a run ended."""

    folder: Path
    standing: Standing
    interrupted: bool

    @property
    def owed(self) -> int:
        """Attempts without a verdict; a resume can finish them."""
        return self.standing.total - self.standing.settled

    @property
    def exit_code(self) -> int:
        """0, 3 when infrastructure failures remain, 130 when interrupted."""
        if self.interrupted:
            return 130
        return 3 if self.owed else 0


Finish = Callable[[Path], None]
"""Is called with the run folder when nothing runs any more and the folder is still locked: to write a report."""


def plan(configuration: RunConfiguration, settings: Settings) -> Plan:
    """Decide what a run would do, without doing it. Raises `UsageError`, naming the nearest task."""
    raise NotImplementedError


def run(
    configuration: RunConfiguration,
    options: RunOptions,
    settings: Settings,
    *,
    run_id: str | None = None,
    progress: Progress = silent,
    finish: Finish | None = None,
) -> RunResult:
    """Make the folder `settings.output / run_id` (None: a name from suite, subject and time) and work on it."""
    raise NotImplementedError


def resume(
    folder: Path,
    options: RunOptions,
    settings: Settings,
    *,
    changes: Mapping[str, object] | None = None,
    progress: Progress = silent,
    finish: Finish | None = None,
) -> RunResult:
    """Finish what a run owes.

    *changes* are fields of `RunConfiguration` that the user named again; one that differs is refused by name, as
    are suites, tasks, graders, sandboxes and predictions that have changed since.
    """
    raise NotImplementedError


def regrade(
    folder: Path,
    options: RunOptions,
    settings: Settings,
    *,
    changes: Mapping[str, object] | None = None,
    run_id: str | None = None,
    progress: Progress = silent,
    finish: Finish | None = None,
) -> RunResult:
    """Grade the submissions of the run in *folder* again, in a new run (default id: `<id>-regrade-<n>`).

    *changes* are fields of `RunConfiguration` to set differently, such as `{"grader": "official"}`. The verdict
    cache is not asked. The earlier run stays as it is.
    """
    raise NotImplementedError


@dataclass(frozen=True)
class Place:
    """An attempt's sandbox, ready to be opened."""

    provider: SandboxProvider
    spec: SandboxSpec


@asynccontextmanager
async def place_of(
    folder: Path, attempt: AttemptKey, settings: Settings, *, trusted: bool = False
) -> AsyncIterator[Place]:
    """Yield what `groundup shell` opens: a copy of the submission in its task's environment, later removed."""
    yield await _place(folder, attempt, settings, trusted)


async def _place(folder: Path, attempt: AttemptKey, settings: Settings, trusted: bool) -> Place:
    raise NotImplementedError


class Leftover(Record):
    """Something that `groundup clean` removes."""

    kind: str = Field(description="run, scratch, layer or verdicts")
    path: Path
    bytes: int


def leftovers(settings: Settings, older_than_s: float | None = None) -> tuple[Leftover, ...]:
    """List what can go.

    Scratch folders of runs that no process works on; with *older_than_s* also runs, layers and cached verdicts
    that nobody touched for so long.
    """
    raise NotImplementedError


def remove(found: tuple[Leftover, ...]) -> None:
    """Remove *found*."""
    raise NotImplementedError
