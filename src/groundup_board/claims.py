"""Whether what a bundle claims can be true: its run's plan and verdicts, held against its suite and fixed sets.

A run enters a leaderboard with one of the board's fixed sets of tasks, whole; what cannot be true is named before
anything is graded.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import Field

from groundup.domain.digests import digest_of
from groundup.domain.errors import TaskError, UsageError
from groundup.domain.names import unknown
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Reason, Score, Stage
from groundup.episodes.loading import find_grader
from groundup.store.records import ConfigFile, VerdictLine
from groundup.suites.base import Grader, Suite, Tables
from groundup_board.bundles import Bundle

_NAMED = 3
"""So many attempts are named of those with one fault."""


class TaskSet(Record):
    """A fixed set of a suite's tasks. Runs are ranked among those of the same one."""

    name: str
    digest: str = Field(description="of suite, version, and each task's name and content")
    tasks: tuple[str, ...]


class Claims(Record):
    """What a run stands for, and why it cannot."""

    tasks: TaskSet | None = Field(description="None: the run's are no fixed set")
    faults: tuple[str, ...]


def board_sets(suite: Suite, own: Sequence[str]) -> list[TaskSet]:
    """Return the suite's fixed sets and the board's *own*: NAME=FILE with a task a line, or a group's name.

    Raises `UsageError` for what cannot be read, and for unknown tasks and groups.
    """
    every = suite.by_name()
    named = {name.partition("=")[0]: _own_set(name, Tables.of(suite).groups()) for name in own}
    found = []
    for name, chosen in {**Tables.of(suite).task_sets(), **named}.items():
        strangers = sorted(set(chosen) - every.keys())
        if strangers:
            raise UsageError(f"of the set {name}: {unknown('task', strangers[0], every)}")
        tasks = tuple(sorted(chosen))
        content = [suite.name, suite.version, *((task, every[task].graded_digest) for task in tasks)]
        found.append(TaskSet(name=name, digest=digest_of(content), tasks=tasks))
    return found


def _own_set(named: str, groups: Mapping[str, Collection[str]]) -> Collection[str]:
    name, _, file = named.partition("=")
    if not file and name in groups:
        return groups[name]
    if not file:
        raise UsageError(f"{unknown('group', name, groups)}; --set NAME=FILE reads a set from a file")
    try:
        return set(Path(file).read_text("utf-8").split())
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--set {named}: {file} cannot be read: {error}") from error


def check_claims(bundle: Bundle, suite: Suite, sets: Sequence[TaskSet]) -> Claims:
    """Hold *bundle* against itself and against *suite*, of whose *sets* its tasks must be one."""
    config, lines = bundle.run.config(), bundle.lines
    planned = sorted(set(config.planned.tasks))
    found = next((one for one in sets if one.tasks == tuple(planned)), None)
    faults = [*bundle.faults(), *_faults_of_plan(config, lines, suite)]
    if found is None:
        known = ", ".join(f"{one.name} ({len(one.tasks)} tasks)" for one in sets)
        count = f"{len(planned)} tasks" if len(planned) != 1 else "1 task"
        faults.append(f"its {count}: no fixed set, which are {known}; --set NAME=FILE fixes one of your own")
    faults += _faults_of_verdicts(config, lines, suite)
    return Claims(tasks=found, faults=tuple(faults))


def _faults_of_plan(config: ConfigFile, lines: Mapping[AttemptKey, VerdictLine], suite: Suite) -> Iterator[str]:
    planned = config.planned
    if len(set(planned.tasks)) < len(planned.tasks) or len(planned.keys) != len(planned.tasks) * planned.attempts:
        yield "its plan does not name each task as often as the others"
    if config.pinned.get("suite") != f"{suite.name} {suite.version}":
        yield f"it was made with the suite {config.pinned.get('suite')}; here is {suite.name} {suite.version}"
    every = suite.by_name()
    others = [
        name
        for name in planned.tasks
        if name not in every or config.pinned.get(f"task {name}") not in _digests(every[name])
    ]
    if others:
        advice = f"`groundup data pull {suite.name}`, or grade the run again with this version and pack it"
        yield f"the suite here has other content for {_some(others)}: {advice}"
    keys = set(planned.keys)
    if beyond := [str(key) for key in lines if key not in keys]:
        yield f"it has verdicts on what it did not plan: {_some(beyond)}"
    if pending := [str(key) for key in planned.pending(lines)]:
        yield f"it has no verdict on {_some(pending)}"


def _digests(task: Task) -> tuple[str, str]:
    return task.digest, task.graded_digest


def _faults_of_verdicts(
    config: ConfigFile, lines: Mapping[AttemptKey, VerdictLine], suite: Suite
) -> Iterator[str]:
    """Yield what only the suite tells of verdicts; what cannot be true of any is in `store.checking`."""
    grader = find_grader(suite, config.grader)
    tasks = suite.by_name()
    points = _Points(grader)
    attempts: dict[str, list[str]] = {}
    for key, line in sorted(lines.items(), key=lambda item: str(item[0])):
        task = tasks.get(key.task)
        if task is not None and line.verdict is not None and line.verdict.score is not None:
            for fault in _faults_of_points(line.verdict.score, points.of(task)):
                attempts.setdefault(fault, []).append(str(key))
    for fault, of in attempts.items():
        yield f"{fault}: {_some(of)}"
    judged = {
        (line.verdict.grader.name, line.verdict.grader.version)
        for line in lines.values()
        if line.verdict and line.verdict.settles
    }
    if len(judged) > 1 or any(name != config.grader for name, _ in judged):
        named = ", ".join(f"{name} {version}" for name, version in sorted(judged))
        yield f"its grader is {config.grader}, and its verdicts are of {named}"


def _faults_of_points(score: Score, points: float | str | None) -> Iterator[str]:
    if isinstance(points, str):
        yield f"how many points there are is not known here ({points})"
    elif points is not None and score.denominator != points:
        yield f"its score is of {score.denominator:g} points, and there are {points:g}"


class _Points:
    """How many points a task has: None where that depends on the submission, a sentence where it is not known."""

    def __init__(self, grader: Grader) -> None:
        self._grader = grader
        self._known: dict[str, float | str | None] = {}

    def of(self, task: Task) -> float | str | None:
        if task.id not in self._known:
            self._known[task.id] = self._ask(task) if self._grader.fixed_points else None
        return self._known[task.id]

    def _ask(self, task: Task) -> float | str | None:
        try:
            zero = self._grader.zero(task, Reason(stage=Stage.INTAKE, message="asked for its points"))
        except TaskError as error:
            return str(error)
        return zero.verdict.score.denominator if zero.verdict.score else None


def _some(names: Sequence[str]) -> str:
    counted = Counter(names)
    more = f" and {len(counted) - _NAMED} more" if len(counted) > _NAMED else ""
    return ", ".join(list(counted)[:_NAMED]) + more
