"""Histories of Git repositories: which commits and tags there are, and a folder as the one commit of a bundle."""

from pathlib import Path
from typing import NamedTuple

from groundup.domain.errors import NetworkError, TaskError
from groundup.environments.git import ADVICE, ANSWER_S, AS_COMMITTED, GitRepository, asked, complaint

_LEFT_OUT = """
.venv/
venv/
__pycache__/
*.egg-info/
.tox/
.nox/
.mypy_cache/
.pytest_cache/
.ruff_cache/
.coverage
build/
dist/
"""
"""Of somebody's folder, besides what it ignores itself: what tools made."""


async def tags_of(repository: str, mirror: str | None) -> dict[str, str]:
    """Return the tags of *repository* and `HEAD`, each with its commit. Raises `NetworkError`."""
    printed = await asked(repository, mirror, ANSWER_S, "HEAD", "refs/tags/*")
    if not printed.ok:
        raise NetworkError(f"{repository} cannot be asked for its tags: {complaint(printed)}; {ADVICE}")
    found = {}
    for line in printed.stdout.decode(errors="replace").splitlines():
        commit, _, name = line.partition("\t")
        found[name.removeprefix("refs/tags/").removesuffix("^{}")] = (
            commit  # of a signed tag the commit comes last
        )
    return found


class Commit(NamedTuple):
    """One commit of a history."""

    id: str
    date: str
    """Of the committer, RFC 3339."""


class GitHistory(GitRepository):
    """A bare repository of ours with all commits of another one."""

    async def commits(self) -> list[Commit]:
        """Return every commit, newest first."""
        printed = await self.run("log", "--all", "--date-order", "--format=%H %cI")
        pairs = [line.split() for line in printed.stdout.decode(errors="replace").splitlines()]
        return [Commit(pair[0], pair[1]) for pair in pairs if len(pair) == 2]

    async def files(self, commit: str) -> frozenset[str]:
        printed = await self.run("ls-tree", "-r", "-z", "--name-only", commit)
        return frozenset(name.decode(errors="replace") for name in printed.stdout.split(b"\0") if name)

    async def code(self, commit: str) -> bytes:
        """Return something that is the same for two commits whose Python files are the same."""
        printed = await self.run("ls-tree", "-r", commit)
        return b"\n".join(line for line in printed.stdout.splitlines() if line.endswith(b".py"))

    async def snapshot(self, folder: Path, bundle: Path) -> str:
        """Write *folder* as it lies there, without what its `.gitignore` names, as the one commit of a *bundle*.

        Returns the commit, which is the same for the same files. Raises `TaskError`.
        """
        (self.folder / "info").mkdir(exist_ok=True)
        (self.folder / "info" / "attributes").write_text(AS_COMMITTED, encoding="utf-8")
        (self.folder / "info" / "exclude").write_text(_LEFT_OUT, encoding="utf-8")
        await self._told(f"--work-tree={folder.resolve()}", "add", "--all")
        tree = await self._told("write-tree")
        commit = await self._told("commit-tree", "-m", "As it lay there", tree)
        await self._told("update-ref", "refs/heads/main", commit)
        await self._told("bundle", "create", "--quiet", str(bundle.resolve()), "refs/heads/main")
        return commit

    async def _told(self, *arguments: str) -> str:
        done = await self.run(*arguments)
        if not done.ok:
            raise TaskError(f"git {arguments[0]}: {complaint(done)}; mend the folder, or name another one")
        return done.stdout.decode().strip()
