"""Repositories that tasks are made of: fetching one commit, and finding the job that tests it.

Workflows of other repositories that jobs call: fetched at the commit that their reference names now.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from groundup.curation.choosing import ForeignWorkflow, with_hindrances
from groundup.curation.locating import Located, located, read_workflows
from groundup.domain.errors import InfrastructureError, NetworkError, TaskError, UsageError
from groundup.environments.git import AbsentFileError, GitRepository, address_of, addresses_of
from groundup.settings import Settings, environment
from groundup.trees.scratch import scratch_folder
from groundup.workflows.tree import FolderTree
from groundup.workflows.workflow import Workflow

_CALLED = re.compile(r"([\w.-]+/[\w.-]+)/(\.github/workflows/[\w./-]+\.ya?ml)@(\S+)")
_MOST = 8


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
    with scratch_folder("locate") as work:
        tree = folder
        if not folder.is_dir() or is_bare or commit is not None:
            tree = work / "tree"
            await check_out(repository, commit, tree, work, settings.git_mirror)
        foreign = await foreign_of(tree, work, settings.git_mirror)
        called = {uses: one.data for uses, one in foreign.items()}
        found = await located(FolderTree(tree), model, base_url, called)
        return await asyncio.to_thread(with_hindrances, found, tree, foreign, environment())


async def foreign_of(tree: Path, work: Path, mirror: str | None) -> Mapping[str, ForeignWorkflow]:
    """Return the workflows of other repositories that jobs of the one in *tree* call."""
    return await foreign_workflows(read_workflows(FolderTree(tree))[0], work, mirror)


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
