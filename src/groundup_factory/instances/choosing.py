"""Which job an instance gets: the best one that can be run here, whose called workflow is written out.

What hinders a job is what `grading.ci` would report before it runs anything. Nothing is executed here.
"""

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from groundup.domain.errors import TaskError, UsageError
from groundup.domain.languages import ToolchainName
from groundup.domain.records import Record
from groundup.environments.installed_tools import toolchain_lack
from groundup.grading.ci.plan import PlannedJob
from groundup.grading.ci.records import JobRequest, UnsupportedJobError
from groundup.languages import TOOLCHAINS
from groundup.workflows.commands import program_of
from groundup.workflows.foretelling import with_known_values
from groundup.workflows.jobs import CALLS, JobReader
from groundup.workflows.matrix import flat, pinned
from groundup.workflows.tree import FolderTree, RepositoryTree, WithFile
from groundup.workflows.workflow import Job, Workflow, WorkflowError, read_workflow
from groundup_factory.instances.called import written_out
from groundup_factory.instances.locating import JobCandidate, Located, best_leg, locate


class ForeignWorkflow(NamedTuple):
    """A workflow file of another repository."""

    data: bytes
    commit: str


_MOST_TRIED = 24
_NEARLY = 4.0
"""How many points fewer than the best a runner-up may have that takes the place of a job which failed."""
_MOST_TOLD = 3


class JobWish(Record):
    """What of the choice is made already."""

    workflow: str | None = None
    job: str | None = None
    leg: dict[str, str] | None = None


class TestJob(Record):
    """Which job of which workflow file runs the tests, in which leg of its matrix."""

    workflow: str
    name: str
    leg: dict[str, str] = {}
    runner: str
    """The label of the machine that it runs on."""
    toolchains: tuple[ToolchainName, ...] = ()
    """What its steps run, as far as that is seen."""
    hindered: str = ""
    """Why it cannot be run here; empty: it can, as far as is known before it runs."""
    passed_over: tuple[str, ...] = ()
    """Better jobs and legs, each with why it cannot be run here."""

    @property
    def act_command(self) -> str:
        """The command line of act that runs it, as the published instances write it."""
        pins = "".join(f" --matrix {shlex.quote(f'{key}:{value}')}" for key, value in self.leg.items())
        return f"act -j {shlex.quote(self.name)}{pins} -W {shlex.quote(self.workflow)}"

    @property
    def title(self) -> str:
        leg = ", ".join(f"{key}: {value}" for key, value in self.leg.items())
        return f"{self.workflow}: {self.name}" + (f" ({leg})" if leg else "")


def chosen_job(
    wish: JobWish,
    repository: str,
    original: Path,
    foreign: Mapping[str, ForeignWorkflow] | None = None,
    failed: Mapping[str, str] | None = None,
) -> TestJob:
    """Return the best job of the repository in *original* that fits *wish* and can be run here, pinned.

    Not one of *failed*, titles of jobs that did run here, with what came of them: other jobs come before other
    legs of these, and only those that are nearly as good.

    A job that calls a workflow, of the repository or of another (*foreign*), becomes a workflow file of its own in
    *original*. One that is wished for by name is taken in any case. Raises `TaskError` when no job
    runs tests, or none of those that do can be run here.
    """
    foreign, failed = foreign or {}, failed or {}
    found = locate(FolderTree(original), {uses: one.data for uses, one in foreign.items()})
    fitting = [
        one for one in found.candidates if wish.workflow in (None, one.workflow) and wish.job in (None, one.job)
    ]
    if not fitting:
        return _unlocated(wish, repository, original, found)
    seen: list[TestJob] = []
    choices = _choices(fitting, wish.leg) if not failed or wish.leg else _runners_up(fitting)
    tree = FolderTree(original)
    for candidate, leg in itertools.islice(choices, _MOST_TRIED):
        job, workflow = _planned(tree, original, candidate, leg, foreign)
        job = job.but(hindered=failed.get(job.title, job.hindered))
        if not job.hindered:
            if workflow is not None:
                (original / job.workflow).write_bytes(workflow)
            told = tuple(dict.fromkeys(f"{one.title}: {one.hindered}" for one in seen))
            return job.but(passed_over=told)
        seen.append(job)
    if wish.job is not None and not failed:
        return seen[0]
    whys = "; ".join(dict.fromkeys(f"{one.workflow}: {one.name}: {one.hindered}" for one in seen[:_MOST_TOLD]))
    raise TaskError(
        f"no job of {repository} that runs tests can be run here ({whys}); name one with --job for an instance "
        "that is scored by its text only"
    )


def with_hindrances(
    found: Located,
    original: Path,
    foreign: Mapping[str, ForeignWorkflow] | None = None,
    variables: Mapping[str, str] | None = None,
) -> Located:
    """Return *found* with what keeps each job from being run here; those that can be run come first.

    A job is shown in its best leg that can be run, if there is one. A toolchain that the user's *variables* do not
    lead to is named, and changes nothing else: every machine makes the same instance.
    """
    tree = FolderTree(original)
    told = [_told(tree, original, one, foreign or {}, variables or {}) for one in found.candidates[:_MOST_TRIED]]
    told.sort(key=lambda one: bool(one.refused))  # otherwise as they were
    return found.but(candidates=(*told, *found.candidates[_MOST_TRIED:]))


def _told(
    tree: RepositoryTree,
    original: Path,
    candidate: JobCandidate,
    foreign: Mapping[str, ForeignWorkflow],
    variables: Mapping[str, str],
) -> JobCandidate:
    refused = ""
    for leg in candidate.legs:
        job, _ = _planned(tree, original, candidate, leg, foreign)
        if not job.hindered:
            others = tuple(other for other in candidate.legs if other != leg)
            needed = dict.fromkeys((*job.toolchains, *_tested_with(candidate)))
            lacks = tuple(lack for name in needed if (lack := toolchain_lack(name, variables)))
            return candidate.but(leg=leg, other_legs=others, lacks=lacks)
        refused = refused or job.hindered
    return candidate.but(refused=refused)


def _tested_with(candidate: JobCandidate) -> Iterator[ToolchainName]:
    """Yield the toolchain whose program runs the tests, be it by a script of the repository."""
    program = program_of(candidate.commands[0].rpartition(" → ")[2].split()[0]) if candidate.commands else ""
    yield from (name for name, record in TOOLCHAINS.items() if re.fullmatch(record.programs, program))


class _Outlook(NamedTuple):
    hindered: str
    toolchains: tuple[ToolchainName, ...]


def _outlook(tree: RepositoryTree, original: Path, workflow: str, job: str, leg: Mapping[str, str]) -> _Outlook:
    """Return what keeps a job of the repository from being run here, and which toolchains it runs."""
    request = JobRequest(tree=original, workflow=workflow, job=job, matrix=dict(leg))
    try:
        planned = PlannedJob(request, tree=tree)
    except UnsupportedJobError as error:
        return _Outlook("; ".join(f"{one.kind}: {one.what}" for one in error.obstacles[:_MOST_TOLD]), ())
    except WorkflowError as error:
        return _Outlook(str(error), ())
    return _Outlook("", tuple(kind for kind in planned.tools.kinds if kind != "python"))


def _choices(
    fitting: list[JobCandidate], leg: Mapping[str, str] | None
) -> Iterator[tuple[JobCandidate, Mapping[str, str]]]:
    """Yield jobs with their legs, the best first; only the wished-for leg where there is one."""
    for candidate in fitting:
        yield from ((candidate, one) for one in ([leg] if leg is not None else candidate.legs))


def _runners_up(fitting: list[JobCandidate]) -> Iterator[tuple[JobCandidate, Mapping[str, str]]]:
    """Yield the jobs that are nearly as good as the best one: first each in its best leg, then in the next."""
    good = [one for one in fitting if one.score >= fitting[0].score - _NEARLY]
    for legs in itertools.zip_longest(*(one.legs for one in good)):
        yield from ((one, leg) for one, leg in zip(good, legs, strict=True) if leg is not None)


def _planned(
    tree: RepositoryTree,
    original: Path,
    candidate: JobCandidate,
    leg: Mapping[str, str],
    foreign: Mapping[str, ForeignWorkflow],
) -> tuple[TestJob, bytes | None]:
    """Return the job that *candidate* is in *leg*, and the workflow file to write for it, if it calls one."""
    if candidate.through is None:
        return _pinned(tree, original, candidate.workflow, candidate.job, leg, candidate.runner), None
    try:
        path, name, data = _written_out(tree, candidate, leg, foreign)
        fresh = WithFile(tree, path, data)
        workflow = read_workflow(data, path)
        inner = best_leg(fresh, workflow, workflow.job(name))
        job = _pinned(fresh, original, path, name, inner, candidate.runner)
    except WorkflowError as error:
        job = _caller(candidate, leg).but(hindered=str(error))
    return (job, data) if not job.hindered else (_caller(candidate, leg).but(hindered=job.hindered), None)


def _caller(candidate: JobCandidate, leg: Mapping[str, str]) -> TestJob:
    return TestJob(workflow=candidate.workflow, name=candidate.job, leg=dict(leg), runner=candidate.runner)


def _pinned(
    tree: RepositoryTree, original: Path, path: str, name: str, leg: Mapping[str, str], runner: str
) -> TestJob:
    workflow = read_workflow(tree.read(path) or b"", path)
    job = _foretold(tree, workflow, name)
    values = dict(leg) if job.matrix.dynamic else dict(flat(pinned(job, leg)))
    outlook = _outlook(tree, original, path, name, values)
    return TestJob(
        workflow=path,
        name=name,
        leg=values,
        runner=runner or ", ".join(job.runs_on),
        toolchains=outlook.toolchains,
        hindered=outlook.hindered,
    )


def _foretold(tree: RepositoryTree, workflow: Workflow, name: str) -> Job:
    """Return the job with the values of its matrix that can be foretold."""
    job = workflow.job(name)
    return job.but(matrix=with_known_values(workflow, job, tree))


def _written_out(
    tree: RepositoryTree,
    candidate: JobCandidate,
    leg: Mapping[str, str],
    foreign: Mapping[str, ForeignWorkflow],
) -> tuple[str, str, bytes]:
    """Return path, job and content of the workflow that does what *candidate* does by calling another.

    Raises `WorkflowError`.
    """
    caller = read_workflow(tree.read(candidate.workflow) or b"", candidate.workflow)
    job = _foretold(tree, caller, candidate.job)
    caller = JobReader(tree, {uses: one.data for uses, one in foreign.items()}).started(caller, job)
    remark = f"Written by groundup: what the job {job.id} of {caller.path} does by calling"
    values = {} if job.matrix.dynamic and not leg else pinned(job, leg)
    *_, last = places = (candidate.through or "").split(CALLS)
    inner = last.rpartition(": ")[2]
    name = f".github/workflows/groundup-{re.sub(r'[^a-z0-9-]+', '-', inner.lower())}.yml"
    if name in tree.paths():
        raise WorkflowError(f"{name} is there already")
    data = b""
    for place in places:
        path, _, called_job = place.rpartition(": ")
        uses = job.reusable or ""
        other = foreign.get(uses)
        called = read_workflow(other.data if other else tree.read(path) or b"", path)
        remark += f"\n{uses}" + (f" (commit {other.commit})" if other is not None else "")
        data = written_out(caller, job, values, called, remark)
        if place != last:
            caller = read_workflow(data, name)
            job = _foretold(tree, caller, called_job)
            values = pinned(job, best_leg(tree, caller, job))
    return name, inner, data


def _unlocated(wish: JobWish, repository: str, original: Path, found: Located) -> TestJob:
    """Return the wished-for job, which does not seem to run tests."""
    if wish.workflow is None or wish.job is None:
        raise TaskError(f"{repository}: {found.nothing}; name one with --workflow and --job")
    if not (original / wish.workflow).is_file():
        raise UsageError(f"{repository} has no {wish.workflow}; name a workflow file that it has")
    return _pinned(FolderTree(original), original, wish.workflow, wish.job, wish.leg or {}, "")
