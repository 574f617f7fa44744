"""Getting a repository's tree at one commit: from a folder, a Git directory, or wherever Git fetches from.

The named repository is never written to: what is needed of it is fetched into a repository of our own.
"""

from pathlib import Path
from typing import NamedTuple

from groundup.domain.errors import TaskError, UsageError
from groundup.environments.git import GitRepository, address_of


class RepositoryOrigin(NamedTuple):
    """Where a tree came from."""

    full_name: str | None
    """`owner/name`, where the address holds it."""
    commit: str
    commit_date: str | None = None
    """When it was committed, RFC 3339."""


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
    await ours.export(found, destination, work)
    return RepositoryOrigin(_full_name(repository, is_local=is_local), found, await ours.date(found))


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
