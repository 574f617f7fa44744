"""A run as it is asked for (`NewRun`, `Resumption`), and as it is afterwards (`Run`).

`work` blocks until nothing is pending and handles ^C itself: the first stops cleanly, the second faster.
`UsageError` is raised before anything has been done. `DiskFullError` ends a run at once; what it had recorded
stays, and a resume finishes it.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from pydantic import ValidationError

from groundup.domain.errors import UsageError
from groundup.domain.names import checked_name, names_image_file, unknown
from groundup.domain.records import plainly
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import Verdict
from groundup.episodes.backends import SANDBOXES, named
from groundup.reports.formats import ShownReport
from groundup.runs.execution import execute, fleet_wanted, refuse
from groundup.runs.interrupts import EXIT_CODE, StopSignal
from groundup.runs.plan import (
    RunOptions,
    RunPlan,
    changed_fields,
    make_plan,
    notices,
    refuse_repeated_gradings,
)
from groundup.runs.progress import Progress, Standing, Warned, silent
from groundup.runs.reporting import read_report
from groundup.runs.submissions import AgentSource
from groundup.settings import Settings
from groundup.store.folder import RunFolder, refuse_unusable
from groundup.store.records import Regraded, RunConfiguration, Served


class Run:
    """A run after a start of it ended: its folder, its verdicts, and its report, as they are on the disk now.

    Functions that take a run's folder take the run itself, too.
    """

    def __init__(self, folder: Path, standing: Standing, interrupted: bool, settings: Settings) -> None:
        self.folder = folder
        """Where everything of the run lies. `groundup.resume(run)` finishes what is pending."""
        self.settings = settings
        """With which it was made or finished; its report reads the suite's data by them."""
        self.standing = standing
        """How its attempts stood when that start ended, in counts."""
        self.interrupted = interrupted
        """Whether somebody stopped this start of the run."""

    def __fspath__(self) -> str:
        return str(self.folder)

    @property
    def id(self) -> str:
        """The name of the run."""
        return self.folder.name

    @property
    def verdicts(self) -> dict[AttemptKey, Verdict | None]:
        """The verdict on each settled attempt, by task and index; None where nothing was handed in."""
        return {key: line.verdict for key, line in RunFolder(self.folder).latest().items() if line.settles}

    @property
    def report(self) -> ShownReport:
        """What the run says: scores with denominators and intervals. `run.report.rows()` is a row per attempt."""
        return ShownReport.of(read_report([self.folder], self.settings))

    @property
    def pending(self) -> int:
        """Attempts without a verdict: interrupted, or failed because of the infrastructure."""
        return self.standing.total - self.standing.settled - self.standing.made

    @property
    def ungraded(self) -> int:
        """Submissions that are made and not graded, because the run only makes them."""
        return self.standing.made

    @property
    def exit_code(self) -> int:
        """What the command line would end with: 0, 3 when attempts are pending, 130 when interrupted."""
        if self.interrupted:
            return EXIT_CODE
        return 3 if self.pending else 0

    def __repr__(self) -> str:
        return f"<Run {', '.join(self.report.headlines())}; {self.pending} attempts pending>"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


class NewRun(NamedTuple):
    """A run that is asked for."""

    configuration: RunConfiguration
    options: RunOptions
    settings: Settings
    run_id: str | None = None
    """None: a name from suite, subject and time."""
    only_predicted: bool = False
    """Whether tasks without a prediction are left out."""
    limit: int | None = None
    """The size of a sample of the tasks; None: no sample is drawn."""
    seed: int = 0
    """Draws the sample."""

    def refuse_taken(self) -> None:
        """Raise `UsageError` where the folder for runs can hold no new one of this name."""
        refuse_unusable(self.settings.output, self.run_id)

    def plan(self) -> RunPlan:
        """Decide what the run would do. Raises `UsageError`, naming the nearest task."""
        if self.run_id:
            checked_name(self.run_id)
        provider, image = named(self.configuration.sandbox)
        SANDBOXES.find(provider)  # before the plan, which may read every submission
        if image and names_image_file(image) and "{" not in image:  # others are those of single tasks
            from groundup.environments.images import image_file  # imports every compression

            image_file(image)
        made = make_plan(
            self.configuration,
            self.settings,
            only_predicted=self.only_predicted,
            limit=self.limit,
            seed=self.seed,
        )
        refuse_repeated_gradings(made)
        fleet_wanted(made, self.options.workers, self.settings, agents=self.options.agents_on_nodes)
        return made

    def work(self, progress: Progress = silent, stop: StopSignal | None = None) -> Run:
        """Make the run's folder in the output folder and work on it until nothing is pending."""
        self.refuse_taken()
        made, output = self.plan(), self.settings.output
        for notice in notices(made):
            progress(Warned(message=notice))
        name = self.run_id or _free_name(output, _named_after(made))
        folder = output / name
        ended = execute(made, folder, self.options, self.settings, progress, resumed=False, stop=stop)
        return Run(folder, *ended, self.settings)


class Resumption(NamedTuple):
    """A run that shall be finished.

    A run that was begun without the verdict cache goes on without it, and a limit on its cost stays until another
    is given.
    """

    folder: Path
    options: RunOptions
    settings: Settings
    changes: Mapping[str, object] = MappingProxyType({})
    """Fields of `RunConfiguration` that a file of runs names again; one that differs is refused by name.

    So are suites, tasks, graders, sandboxes and predictions that have changed since.
    """

    def pending(self) -> tuple[tuple[AttemptKey, ...], int]:
        """Return the attempts that have no verdict, and how many the run has in all.

        Raises `UsageError` where the run cannot be resumed.
        """
        self.plan()
        planned = RunFolder(self.folder).config().planned
        return planned.pending(RunFolder(self.folder).latest()), len(planned)

    def work(self, progress: Progress = silent, stop: StopSignal | None = None) -> Run:
        """Work on the run until nothing is pending."""
        made, options = self.plan(), _as_begun(self.options, RunFolder(self.folder))
        ended = execute(made, self.folder, options, self.settings, progress, resumed=True, stop=stop)
        return Run(self.folder, *ended, self.settings)

    def plan(self) -> RunPlan:
        """Return what there is to go on with. Raises `UsageError` where the run cannot be resumed."""
        config = RunFolder(self.folder).config()
        earlier = config.configuration
        if isinstance(earlier.submissions, Served):
            raise UsageError(
                f"{config.run_id!r} is a server's run, which has nothing to resume; `groundup serve "
                f"{earlier.suite} --run-id {config.run_id}` continues it, `groundup regrade` grades what was "
                "handed in again"
            )
        if keys := changed_fields(earlier, _with(earlier, self.changes)):
            refuse(config.run_id, keys)
        made = make_plan(earlier, self.settings)
        fleet_wanted(made, self.options.workers, self.settings, agents=self.options.agents_on_nodes)
        return made


Request = NewRun | Resumption


def regrading(
    folder: Path,
    options: RunOptions,
    settings: Settings,
    changes: Mapping[str, object] = MappingProxyType({}),
    run_id: str | None = None,
) -> NewRun:
    """Return the run that grades the submissions of the one in *folder* again, without the verdict cache.

    *changes* are fields of `RunConfiguration` to set differently, such as `{"grader": "official"}`; *run_id* None:
    `<id>-regrade-<n>`. The earlier run stays as it is.
    """
    config = RunFolder(folder).config()
    earlier = config.configuration
    again = {"submissions": Regraded(path=str(folder.resolve()), subject=earlier.subject)}
    # What graded in a container of its own has to have a sandbox here.
    is_known = ":" in earlier.sandbox or SANDBOXES.knows(named(earlier.sandbox)[0])
    here = {} if is_known else {"sandbox": settings.sandbox}
    name = run_id or _free_name(settings.output, f"{config.run_id}-regrade", numbered=True)
    return NewRun(_with(earlier.but(**again, **here), changes), options.but(use_cache=False), settings, name)


def _as_begun(options: RunOptions, run: RunFolder) -> RunOptions:
    """Return *options* with what the last start promised: no verdict out of the cache, and its limit on money."""
    starts = run.lock().starts
    if not starts:
        return options
    earlier = starts[-1].options
    money = {name: earlier.get(name) for name in ("max_cost_usd", "prices", "price")}
    if options.price is not None or options.prices is not None:
        money = {"max_cost_usd": money["max_cost_usd"]}
    given = {name: value for name, value in options if name in money and value is not None}
    use_cache = options.use_cache and earlier.get("use_cache") is not False
    return RunOptions.model_validate({**dict(options), **money, **given, "use_cache": use_cache})


def _with(configuration: RunConfiguration, changes: Mapping[str, object]) -> RunConfiguration:
    """Return *configuration* with *changes*, checked."""
    fields = RunConfiguration.model_fields
    for name in changes:
        if name not in fields:
            raise UsageError(unknown("key of a run's configuration", name, fields))
    try:
        return RunConfiguration.model_validate({**dict(configuration), **changes})
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))}: {plainly(first)}") from error


def _named_after(made: RunPlan) -> str:
    subject = made.configuration.subject
    agent = made.source.agent.name if isinstance(made.source, AgentSource) else subject.agent
    data_set = made.configuration.suite.partition("@")[2]
    parts = (made.suite.name, data_set, agent, subject.model_name)
    name = re.sub(r"[^A-Za-z0-9.+-]+", "-", "-".join(filter(None, parts))).strip("-.")[:80]
    return f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def _free_name(output: Path, name: str, *, numbered: bool = False) -> str:
    """Return *name*, or with the first number that no run in *output* has."""
    if not numbered and not (output / name).exists():
        return name
    return next(f"{name}-{n}" for n in count(1 if numbered else 2) if not (output / f"{name}-{n}").exists())
