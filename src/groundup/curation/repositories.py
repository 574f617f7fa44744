"""Repositories that tasks are made of: fetching one commit, and finding the job that tests it.

Workflows of other repositories that jobs call: fetched at the commit that their reference names now.

Which job an instance gets: the best one that can be run here, whose called workflow is written out.

What hinders a job is what `grading.ci` would report before it runs anything. Nothing is executed here.
"""

import itertools
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from groundup.curation.locating import JobCandidate, Located, best_leg, locate, located, read_workflows
from groundup.domain.errors import InfrastructureError, NetworkError, TaskError, UsageError
from groundup.domain.records import Record
from groundup.environments.git import AbsentFileError, GitRepository, address_of, addresses_of
from groundup.grading.ci.plan import PlannedJob
from groundup.grading.ci.records import JobRequest, UnsupportedJobError
from groundup.settings import Settings
from groundup.trees.scratch import scratch_folder
from groundup.workflows.jobs import written_out
from groundup.workflows.matrix import flat, pinned
from groundup.workflows.tree import FolderTree
from groundup.workflows.workflow import Workflow, WorkflowError, read_workflow

_CALLED = re.compile(r"([\w.-]+/[\w.-]+)/(\.github/workflows/[\w./-]+\.ya?ml)@(\S+)")
_MOST = 8


class ForeignWorkflow(NamedTuple):
    """A workflow file of another repository."""

    data: bytes
    commit: str


async def foreign_workflows(
    workflows: Iterable[Workflow], work: Path, mirror: str | None
) -> Mapping[str, ForeignWorkflow]:
    """Return the called workflows of other repositories, by what `uses` says; without those that cannot be had."""
    called = dict.fromkeys(job.reusable for one in workflows for job in one.jobs if job.reusable)
    found: dict[str, ForeignWorkflow] = {}
    for number, uses in enumerate(list(called)[:_MOST]):
        match = _CALLED.fullmatch(uses)
        if match is None:
            continue
        one = await _fetched(match, GitRepository(work / f"called-{number}.git"), mirror)
        if one is not None:
            found[uses] = one
    return found


async def _fetched(match: re.Match[str], ours: GitRepository, mirror: str | None) -> ForeignWorkflow | None:
    repository, path, ref = match.groups()
    await ours.create()
    try:
        await ours.fetch(addresses_of(f"github.com/{repository}", mirror), None)
    except (NetworkError, TaskError):
        return None
    commit = await ours.resolve(ref)
    shown = await ours.run("show", f"{commit}:{path}") if commit else None
    return ForeignWorkflow(shown.stdout, commit) if commit and shown and shown.ok else None


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
        """How a line names it."""
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
    for candidate, leg in itertools.islice(choices, _MOST_TRIED):
        if candidate.through is None:
            job = _pinned(original, candidate.workflow, candidate.job, leg, candidate.runner)
        else:
            job = _written_out(original, candidate, leg, foreign)
        if job.title in failed:
            if candidate.through is not None:
                (original / job.workflow).unlink()
            job = job.but(hindered=failed[job.title])
        if not job.hindered:
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


def hindrance(original: Path, workflow: str, job: str, leg: Mapping[str, str]) -> str:
    """Return what keeps a job of the repository in *original* from being run here; nothing: it can be."""
    request = JobRequest(tree=original, workflow=workflow, job=job, matrix=dict(leg))
    try:
        PlannedJob(request)
    except UnsupportedJobError as error:
        return "; ".join(f"{one.kind}: {one.what}" for one in error.obstacles[:_MOST_TOLD])
    except WorkflowError as error:
        return str(error)
    return ""


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


def _pinned(original: Path, workflow: str, name: str, leg: Mapping[str, str], runner: str) -> TestJob:
    data = FolderTree(original).read(workflow)
    job = read_workflow(data or b"", workflow).job(name)
    values = dict(flat(pinned(job, leg))) if not set(job.matrix.dynamic) - set(leg) else {}
    return TestJob(
        workflow=workflow,
        name=name,
        leg=values,
        runner=runner or ", ".join(job.runs_on),
        hindered=hindrance(original, workflow, name, values),
    )


def _written_out(
    original: Path, candidate: JobCandidate, leg: Mapping[str, str], foreign: Mapping[str, ForeignWorkflow]
) -> TestJob:
    """Write the workflow that *candidate* calls out into *original*, if it can be run here; return its job."""
    tree = FolderTree(original)
    caller = read_workflow(tree.read(candidate.workflow) or b"", candidate.workflow)
    job = caller.job(candidate.job)
    uses = job.reusable or ""
    path, _, inner = (candidate.through or "").rpartition(": ")
    other = foreign.get(uses)
    called = read_workflow(other.data if other else tree.read(path) or b"", path)
    remark = f"Written by groundup: what the job {job.id} of {caller.path} does by calling\n{uses}"
    if other is not None:
        remark += f" (commit {other.commit})"
    target = original / ".github" / "workflows" / f"groundup-{re.sub(r'[^a-z0-9-]+', '-', inner.lower())}.yml"
    name = str(target.relative_to(original))
    unwritten = TestJob(workflow=candidate.workflow, name=job.id, leg=dict(leg), runner=candidate.runner)
    if target.exists():
        return unwritten.but(hindered=f"{name} is there already")
    try:
        values = pinned(job, leg) if not set(job.matrix.dynamic) - set(leg) else {}
        target.write_bytes(written_out(caller, job, values, called, remark))
        fresh = FolderTree(original)
        workflow = read_workflow(target.read_bytes(), name)
        made = _pinned(original, name, inner, best_leg(fresh, workflow, workflow.job(inner)), candidate.runner)
    except WorkflowError as error:
        target.unlink(missing_ok=True)
        return unwritten.but(hindered=str(error))
    if made.hindered:
        target.unlink()
        return unwritten.but(hindered=made.hindered)
    return made


def _unlocated(wish: JobWish, repository: str, original: Path, found: Located) -> TestJob:
    """Return the wished-for job, which does not seem to run tests."""
    if wish.workflow is None or wish.job is None:
        raise TaskError(
            f"no job of {repository} seems to run tests; name one with --workflow and --job ({found.nothing})"
        )
    if not (original / wish.workflow).is_file():
        raise UsageError(f"{repository} has no {wish.workflow}; name a workflow file that it has")
    return _pinned(original, wish.workflow, wish.job, wish.leg or {}, "")


class RepositoryOrigin(NamedTuple):
    """Where a tree came from."""

    full_name: str | None
    """`owner/name`, where the address holds it."""
    commit: str
    commit_date: str | None = None
    """When it was committed, RFC 3339."""
    lacking: tuple[str, ...] = ()
    """Pictures and documents that the mirror does not hold; the tree is without them."""


_READ_BY_PEOPLE = re.compile(
    r"\.(?:pdf|ps|eps|png|jpe?g|gif|webp|tiff?|ico|mp[34]|mov|webm|pptx?|docx?)$", re.IGNORECASE
)
_MOST_LACKING = 20


async def check_out(
    repository: str, commit: str | None, destination: Path, work: Path, mirror: str | None
) -> RepositoryOrigin:
    """Write the tree of *repository* at *commit* (None: its HEAD) into the new folder *destination*.

    *repository* is a folder with a Git history, a Git directory, an address, or `host/owner/name`. *work* is a
    folder for files in between. Raises `UsageError`, `NetworkError` or `TaskError`.
    """
    if repository.startswith(("-", "ext::")):
        raise UsageError(f"{repository!r} is no repository; name a folder, an address, or host/owner/name")
    address, is_local = _address(repository, mirror)
    ours = GitRepository(work / "fetched.git")
    await ours.create()
    wanted = commit or await _head(ours, address)
    await ours.fetch_commit(address, wanted)
    found = await ours.resolve(wanted)
    if found is None:
        raise TaskError(f"{repository} has no commit {wanted}; name another one")
    lacking = await _export(ours, found, destination, work)
    return RepositoryOrigin(_full_name(repository, is_local=is_local), found, await ours.date(found), lacking)


async def check_out_listed(
    repository: str, commit: str | None, destination: Path, work: Path, mirror: str | None
) -> RepositoryOrigin:
    """Do as `check_out` for a list's entry: what cannot be reached tonight reads like what is no repository."""
    try:
        return await check_out(repository, commit, destination, work, mirror)
    except UsageError as error:
        raise InfrastructureError(str(error)) from error


async def _export(ours: GitRepository, commit: str, destination: Path, work: Path) -> tuple[str, ...]:
    """Write the tree of *commit*, without what a mirror lacks and only people read; return what that is."""
    lacking: list[str] = []
    while True:
        try:
            await ours.export(commit, destination, work, without=lacking)
        except AbsentFileError as error:
            if len(lacking) == _MOST_LACKING or not _READ_BY_PEOPLE.search(error.path) or error.path in lacking:
                raise
            lacking.append(error.path)
        else:
            return tuple(lacking)


async def locate_in(
    repository: str, commit: str | None, settings: Settings, model: str | None = None, base_url: str | None = None
) -> Located:
    """Return which job of *repository* runs its tests, and what *model* says (`located`).

    A folder is read as it lies there unless a *commit* is named. Raises what `check_out` raises.
    """
    folder = Path(repository).expanduser()
    is_bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir()
    if folder.is_dir() and not is_bare and commit is None:
        return _with_hindrances(await located(FolderTree(folder), model, base_url), folder)
    with scratch_folder("locate") as work:
        await check_out(repository, commit, work / "tree", work, settings.git_mirror)
        foreign = await foreign_of(work / "tree", work, settings.git_mirror)
        called = {uses: one.data for uses, one in foreign.items()}
        return _with_hindrances(await located(FolderTree(work / "tree"), model, base_url, called), work / "tree")


async def foreign_of(tree: Path, work: Path, mirror: str | None) -> Mapping[str, ForeignWorkflow]:
    """Return the workflows of other repositories that jobs of the one in *tree* call."""
    return await foreign_workflows(read_workflows(FolderTree(tree))[0], work, mirror)


_PLANNED = 5
"""How many candidates are looked at for what hinders them here."""


def _with_hindrances(found: Located, tree: Path) -> Located:
    """Return *found* with what keeps the best jobs from being run here."""
    told = []
    for candidate in found.candidates[:_PLANNED]:
        why = hindrance(tree, candidate.workflow, candidate.job, candidate.leg)
        unknown_yet = candidate.is_dynamic or candidate.through is not None  # an instance has it written out
        more = (f"cannot be run here: {why}",) if why and not unknown_yet else ()
        told.append(candidate.but(hindrances=(*candidate.hindrances, *more)))
    return found.but(candidates=(*told, *found.candidates[_PLANNED:]))


async def has_commit(repository: str, commit: str, work: Path, mirror: str | None) -> bool:
    """Whether *commit* is in the history of *repository*, which answered before."""
    address, _ = _address(repository, mirror)
    ours = GitRepository(work / "asked.git")
    await ours.create()
    try:
        await ours.fetch_commit(address, commit)
    except TaskError:
        return False
    return True


def _address(repository: str, mirror: str | None) -> tuple[str, bool]:
    """Return where to fetch from, and whether that is a folder of this machine."""
    local = Path(repository).expanduser()
    is_local = local.is_dir()
    is_name = "/" not in repository and ":" not in repository
    if not local.exists() and (is_name or repository.startswith(("/", "./", "../", "~"))):
        raise UsageError(f"{repository} is no folder here; name a folder, an address, or host/owner/name")
    return (str(local.resolve()) if is_local else address_of(repository, mirror)), is_local


async def _head(ours: GitRepository, address: str) -> str:
    answer = await ours.run("ls-remote", "--", address, "HEAD")
    commit = answer.stdout.decode(errors="replace").split("\t")[0].strip() if answer.ok else ""
    if not commit:
        raise UsageError(f"{address} is no Git repository that can be read; name another one, or a commit of it")
    return commit


def _full_name(repository: str, *, is_local: bool) -> str | None:
    parts = [part for part in repository.removesuffix(".git").replace(":", "/").split("/") if part]
    return None if is_local or len(parts) < 2 else "/".join(parts[-2:])
