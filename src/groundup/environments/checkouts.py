"""One commit of a repository that somebody names: a folder, a Git directory, an address, or `host/owner/name`."""

import re
from pathlib import Path
from typing import NamedTuple

from groundup.domain.errors import TaskError, UsageError
from groundup.environments.git import AbsentFileError, GitRepository, address_of


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
    address, is_local = fetched_from(repository, mirror)
    ours = GitRepository(work / "fetched.git")
    await ours.create()
    wanted = commit or await _head(ours, address)
    await ours.fetch_commit(address, wanted)
    found = await ours.resolve(wanted)
    if found is None:
        raise TaskError(f"{repository} has no commit {wanted}; name another one")
    lacking = await _export(ours, found, destination, work)
    return RepositoryOrigin(_full_name(repository, is_local=is_local), found, await ours.date(found), lacking)


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


def fetched_from(repository: str, mirror: str | None) -> tuple[str, bool]:
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
