"""Repositories that instances are made of: which job tests them, and what they are made from.

Workflows of other repositories that jobs call: fetched at the commit that their reference names now.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from groundup.domain.errors import InfrastructureError, NetworkError, TaskError, UsageError
from groundup.environments.checkouts import RepositoryOrigin, check_out, fetched_from
from groundup.environments.git import GitRepository, addresses_of
from groundup.settings import Settings, environment
from groundup.trees.scratch import scratch_folder
from groundup.workflows.tree import FolderTree
from groundup.workflows.workflow import Workflow
from groundup_factory.instances.choosing import ForeignWorkflow, with_hindrances
from groundup_factory.instances.locating import Located, located, read_workflows

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


async def check_out_listed(
    repository: str, commit: str | None, destination: Path, work: Path, mirror: str | None
) -> RepositoryOrigin:
    """Do as `check_out` for a list's entry: what cannot be reached tonight reads like what is no repository."""
    try:
        return await check_out(repository, commit, destination, work, mirror)
    except UsageError as error:
        raise InfrastructureError(str(error)) from error


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
    address, _ = fetched_from(repository, mirror)
    ours = GitRepository(work / "asked.git")
    await ours.create()
    try:
        await ours.fetch_commit(address, commit)
    except TaskError:
        return False
    return True
