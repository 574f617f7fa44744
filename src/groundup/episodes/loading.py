"""From an episode's record to suite, task and grader, and the digests that pin them."""

import platform

from groundup.domain.digests import digest_of
from groundup.domain.errors import UsageError
from groundup.domain.names import unknown
from groundup.domain.tasks import Task
from groundup.episodes.attempt import Grading
from groundup.episodes.backends import Backends
from groundup.episodes.records import EpisodeSpec
from groundup.settings import Settings
from groundup.suites.base import STATIC, ForAgents, Grader, Suite
from groundup.suites.opening import open_suite


def load_grading(spec: EpisodeSpec, backends: Backends, settings: Settings) -> Grading:
    """Return how *spec* is graded.

    Raises `UsageError` for names that are unknown, and naming what is not as *spec* pins it.
    """
    return grading_of(spec, open_suite(spec.suite, settings), backends, is_read=True)


def grading_of(spec: EpisodeSpec, suite: Suite, backends: Backends, *, is_read: bool) -> Grading:
    """Return how *spec* is graded in *suite*, like `load_grading`; *is_read*: whether a subject reads its text."""
    tasks = suite.by_name()
    if spec.task not in tasks:
        raise UsageError(unknown("task", spec.task, tasks))
    task, grader = tasks[spec.task], find_grader(suite, spec.grader)
    now = {**suite_pins(suite, grader), **task_pins(suite, grader, task, is_read=is_read)}
    changed = sorted(name for name in now.keys() & spec.pinned.keys() if now[name] != spec.pinned[name])
    if changed:
        raise UsageError(f"the attempt {spec.key} was pinned with other data: {', '.join(changed)}; plan it again")
    return Grading(suite, task, grader, backends, spec.timeout_s, index=spec.index)


_RETIRED = {"trace": "full"}
"""Graders of earlier runs, and what grades such a run again."""


def find_grader(suite: Suite, name: str | None) -> Grader:
    """Return a grader of *suite*; None means its default. Raises `UsageError` with the nearest name."""
    graders = suite.graders()
    name = _RETIRED.get(name, name) if name and name not in graders else name
    try:
        return graders[name or suite.default_grader]
    except KeyError as error:
        if name == STATIC:
            raise UsageError(
                f"{suite.name} has no grader that only reads submissions; leave out --no-exec, or choose from: "
                f"{', '.join(sorted(graders))}"
            ) from error
        raise UsageError(unknown("grader", name or suite.default_grader, graders)) from error


def suite_pins(suite: Suite, grader: Grader) -> dict[str, str]:
    """Return versions that decide verdicts on all tasks."""
    return {
        "suite": f"{suite.name} {suite.version}",
        "grader version": grader.version,
        "architecture": platform.machine(),
    }


def task_pins(suite: Suite, grader: Grader, task: Task, *, is_read: bool) -> dict[str, str]:
    """Return the digests that decide attempts at *task*; *is_read*: whether a subject reads its text and files."""
    # Otherwise text and files do not matter, and are often fetched later.
    pins = {f"task {task.id}": task.digest if is_read else task.graded_digest}
    pins[f"grader of {task.id}"] = digest_of(grader.identity(task))
    if not is_read:
        return pins
    if withheld := sorted(ForAgents.of(suite).withheld(task)):
        pins[f"withheld from {task.id}"] = ", ".join(withheld)
    if (original := ForAgents.of(suite).fingerprint(task)) is not None:
        pins[f"original of {task.id}"] = original.digest
    if (environment := ForAgents.of(suite).agent_environment(task)) is not None:
        pins[f"agent environment of {task.id}"] = digest_of(environment)
    if told := ForAgents.of(suite).told_of_grading(task):
        pins[f"told of grading of {task.id}"] = digest_of(told)
    return pins
