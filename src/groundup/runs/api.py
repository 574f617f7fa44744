"""The entry points of `runs`: plan, run, resume, regrade.

`runs.shells` opens an attempt's sandbox, `runs.leftovers` cleans. `run`, `resume` and `regrade` block until they
are done and handle ^C themselves: the first stops cleanly, the second faster. `UsageError` is raised before
anything has been done. `DiskFullError` ends a run at once; what it had recorded stays, and a resume finishes it.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from pydantic import ValidationError

from groundup.domain.errors import UsageError
from groundup.domain.names import checked_name, unknown
from groundup.domain.records import Record, plainly
from groundup.episodes.backends import SANDBOXES, named
from groundup.runs.execution import RunJob, execute, refuse
from groundup.runs.interrupts import EXIT_CODE, StopSignal
from groundup.runs.plan import (
    ALL_TASKS,
    RunOptions,
    RunPlan,
    TaskChoice,
    changed_fields,
    make_plan,
    notices,
    refuse_repeated_gradings,
)
from groundup.runs.progress import Progress, Standing, Warned, silent
from groundup.runs.submissions import GeneratedSource
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from groundup.store.records import Regraded, RunConfiguration, Served


class RunResult(Record):
    """How a start of a run ended."""

    folder: Path
    standing: Standing
    interrupted: bool

    @property
    def pending(self) -> int:
        """Attempts without a verdict, or without a submission where only those are made."""
        return self.standing.total - self.standing.settled - self.standing.made

    @property
    def exit_code(self) -> int:
        """0, 3 when infrastructure failures remain, 130 when interrupted."""
        if self.interrupted:
            return EXIT_CODE
        return 3 if self.pending else 0


def plan(configuration: RunConfiguration, settings: Settings, choice: TaskChoice = ALL_TASKS) -> RunPlan:
    """Decide what a run would do, without doing it. Raises `UsageError`, naming the nearest task."""
    made = make_plan(configuration, settings, choice)
    refuse_repeated_gradings(made)
    return made


def run(
    configuration: RunConfiguration,
    options: RunOptions,
    settings: Settings,
    *,
    choice: TaskChoice = ALL_TASKS,
    run_id: str | None = None,
    progress: Progress = silent,
    stop: StopSignal | None = None,
) -> RunResult:
    """Make the folder `settings.output / run_id` (None: a name from suite, subject and time) and work on it."""
    made = make_plan(configuration, settings, choice)
    refuse_repeated_gradings(made)
    for notice in notices(made):
        progress(Warned(message=notice))
    name = checked_name(run_id) if run_id else _free_name(settings.output, _named_after(made))
    return _work(RunJob(made, settings.output / name, options, settings, progress, resumed=False, stop=stop))


def resume(
    folder: Path,
    options: RunOptions,
    settings: Settings,
    *,
    changes: Mapping[str, object] | None = None,
    progress: Progress = silent,
    stop: StopSignal | None = None,
) -> RunResult:
    """Finish what a run owes.

    *changes* are fields of `RunConfiguration` that the user named again; one that differs is refused by name, as
    are suites, tasks, graders, sandboxes and predictions that have changed since. A run that was begun without the
    verdict cache goes on without it, and a limit on its cost stays until another is given.
    """
    made = resumable(folder, settings, changes)
    kept = _as_begun(options, RunFolder(folder))
    return _work(RunJob(made, folder, kept, settings, progress, resumed=True, stop=stop))


def resumable(folder: Path, settings: Settings, changes: Mapping[str, object] | None = None) -> RunPlan:
    """Return the plan of the run in *folder*, to go on with. Raises `UsageError` where it cannot be resumed."""
    config = RunFolder(folder).config()
    earlier = config.configuration
    if isinstance(earlier.submissions, Served):
        raise UsageError(
            f"{config.run_id!r} is a server's run, which has nothing to resume; `groundup serve {earlier.suite} "
            f"--run-id {config.run_id}` continues it, `groundup regrade` grades what was handed in again"
        )
    if keys := changed_fields(earlier, _with(earlier, changes)):
        refuse(config.run_id, keys)
    return make_plan(earlier, settings)


def regrade(
    folder: Path,
    options: RunOptions,
    settings: Settings,
    *,
    changes: Mapping[str, object] | None = None,
    run_id: str | None = None,
    progress: Progress = silent,
    stop: StopSignal | None = None,
) -> RunResult:
    """Grade the submissions of the run in *folder* again, in a new run (default id: `<id>-regrade-<n>`).

    *changes* are fields of `RunConfiguration` to set differently, such as `{"grader": "official"}`. The verdict
    cache is not asked. The earlier run stays as it is.
    """
    name = run_id or regrade_name(folder, settings)
    fresh = options.but(use_cache=False)
    configuration = regrading(folder, settings, changes)
    return run(configuration, fresh, settings, run_id=name, progress=progress, stop=stop)


def regrade_name(folder: Path, settings: Settings) -> str:
    """Return the first free name for a run that grades the one in *folder* again."""
    return _free_name(settings.output, f"{RunFolder(folder).config().run_id}-regrade", numbered=True)


def regrading(folder: Path, settings: Settings, changes: Mapping[str, object] | None = None) -> RunConfiguration:
    """Return the configuration of the run that `regrade` would make."""
    earlier = RunFolder(folder).config().configuration
    again = {"submissions": Regraded(path=str(folder.resolve()), subject=earlier.subject)}
    # What graded in a container of its own has to have a sandbox here.
    is_known = ":" in earlier.sandbox or SANDBOXES.knows(named(earlier.sandbox)[0])
    here = {} if is_known else {"sandbox": settings.sandbox}
    return _with(earlier.but(**again, **here), changes)


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


def _work(job: RunJob) -> RunResult:
    standing, interrupted = execute(job)
    return RunResult(folder=job.path, standing=standing, interrupted=interrupted)


def _with(configuration: RunConfiguration, changes: Mapping[str, object] | None) -> RunConfiguration:
    """Return *configuration* with *changes*, checked."""
    fields = RunConfiguration.model_fields
    for name in changes or ():
        if name not in fields:
            raise UsageError(unknown("key of a run's configuration", name, fields))
    try:
        return RunConfiguration.model_validate({**dict(configuration), **(changes or {})})
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))}: {plainly(first)}") from error


def _named_after(made: RunPlan) -> str:
    subject = made.configuration.subject
    agent = made.source.agent.name if isinstance(made.source, GeneratedSource) else subject.agent
    data_set = made.configuration.suite.partition("@")[2]
    parts = (made.suite.name, data_set, agent, subject.model_name)
    name = re.sub(r"[^A-Za-z0-9.+-]+", "-", "-".join(filter(None, parts))).strip("-.")[:80]
    return f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def _free_name(output: Path, name: str, *, numbered: bool = False) -> str:
    """Return *name*, or with the first number that no run in *output* has."""
    if not numbered and not (output / name).exists():
        return name
    return next(f"{name}-{n}" for n in count(1 if numbered else 2) if not (output / f"{name}-{n}").exists())
