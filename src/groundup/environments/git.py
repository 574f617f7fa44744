"""Git repositories seen from the host: where they are fetched from, one commit or all of them, trees as they were.

The user's own Git configuration applies (proxies, credentials, `url.<base>.insteadOf`). Nothing of a repository is
executed: no hooks, no filters, no submodules.
"""

import asyncio
import re
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from groundup.domain.errors import NetworkError, TaskError
from groundup.environments.commit_archives import is_served
from groundup.sandbox.programs import ProgramResult, run_program
from groundup.settings import environment
from groundup.trees.archives import extract_archive
from groundup.trees.writer import TreeLimits

_TIMEOUT_S = 1800.0
ANSWER_S = 30.0
AS_COMMITTED = "* -export-ignore -export-subst -text -eol -ident -filter -working-tree-encoding\n"
"""A repository's attributes would leave tests out of an archive, or change what is in its files."""
ADVICE = "check the network, or name a mirror (setting git_mirror, or Git's own url.<base>.insteadOf)"
_ABSENT = re.compile(r"cannot read '([0-9a-f]{40,64})'")
_WHOLE_ID = re.compile(r"[0-9a-f]{40}")
_ANYWHERE = re.compile(r"^(/|\.|[a-z+]+://|[^/]+@)")


class AbsentFileError(TaskError):
    """A copy of a repository that lacks large files lacks one of the wanted tree."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


async def answers(repository: str, mirror: str | None, timeout_s: float = ANSWER_S) -> bool:
    """Whether *repository* can be asked for what it has, each of its addresses within *timeout_s*."""
    if shutil.which("git") is None:
        with suppress(TimeoutError):
            return await asyncio.wait_for(is_served(addresses_of(repository, mirror)), timeout_s)
        return False
    return (await asked(repository, mirror, timeout_s, "HEAD")).ok


async def asked(repository: str, mirror: str | None, timeout_s: float, *what: str) -> ProgramResult:
    """Ask each address of *repository* until one says which references like *what* it has."""
    variables = {**environment(), "GIT_TERMINAL_PROMPT": "0"}
    for address in addresses_of(repository, mirror):
        command = ["git", "-c", "protocol.ext.allow=never", "ls-remote", "--", address, *what]
        printed = await run_program(command, cwd=Path("/"), environment=variables, timeout_s=timeout_s)
        if printed.ok:
            break
    return printed


_NOBODY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "groundup"), ("EMAIL", "groundup@localhost"), ("DATE", "@0 +0000"))
}
"""Whose the commits are that are made here, so that the same files are the same commit."""


def address_of(repository: str, mirror: str | None) -> str:
    """Return where to fetch *repository* from.

    *repository* is `host/owner/name`, or an address or path that is taken as it is. *mirror* is a base to which
    that is appended, or a pattern with {host}, {owner} and {name}.
    """
    if _ANYWHERE.match(repository):
        return repository
    host, _, path = repository.removesuffix(".git").partition("/")
    owner, _, name = path.rpartition("/")
    if mirror is None:
        return f"https://{repository}"
    if "{" not in mirror:
        return f"{mirror.rstrip('/')}/{host}/{path}"
    return mirror.replace("{host}", host).replace("{owner}", owner).replace("{name}", name)


def addresses_of(repository: str, mirror: str | None) -> tuple[str, ...]:
    """Return every place to fetch *repository* from, in the order of trying: a mirror, its own host."""
    return tuple(dict.fromkeys((address_of(repository, mirror), address_of(repository, None))))


class GitRepository:
    """A bare repository in a folder of ours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def create(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        await self.run("init", "--quiet", "--bare", "--template=", ".")

    async def fetch(self, addresses: Iterable[str], commit: str | None) -> None:
        """Fetch *commit*, or everything, from the first of *addresses* that has it. Raises as the last of them."""
        refused: list[str] = []
        for address in addresses:
            try:
                if commit is None:
                    await self.fetch_all(address)
                else:
                    await self.fetch_commit(address, commit)
            except (NetworkError, TaskError) as error:
                refused.append(str(error))
                kind = type(error)
            else:
                return
        raise kind("; ".join(refused))

    async def fetch_commit(self, address: str, commit: str, advice: str = ADVICE) -> None:
        """Fetch one commit; servers that do not hand out single ones are asked for everything.

        Raises `NetworkError`, or `TaskError` when the repository answers and has no such commit.
        """
        self._borrow(address)
        if (await self.run("cat-file", "-e", f"{commit}^{{commit}}")).ok:
            return
        one = await self.run("fetch", "--quiet", "--depth=1", "--no-tags", address, commit)
        if not one.ok:
            await self.fetch_all(address, advice)
        if not (await self.run("cat-file", "-e", f"{commit}^{{commit}}")).ok:
            raise TaskError(f"{address} has no commit {commit}; mend the recipe")

    async def fetch_folder(self, address: str, commit: str, folder: str) -> bool:
        """Fetch one commit with the files of *folder* alone; return whether they are here now.

        Not every server leaves files out, or hands out single ones. Then this repository is no use for anything
        else, for it counts as whole with what is missing.
        """
        if not _WHOLE_ID.fullmatch(commit) or address.startswith("/"):
            return False
        partial = {
            "core.repositoryFormatVersion": "1",
            "extensions.partialClone": "origin",
            "remote.origin.url": address,
            "remote.origin.promisor": "true",
            "remote.origin.partialCloneFilter": "blob:none",
        }
        for name, value in partial.items():
            await self.run("config", name, value)
        fetch = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--filter=blob:none")
        if not (await self.run(*fetch, "--depth=1", "origin", commit)).ok:
            return False
        listed = (await self.run("ls-tree", "-r", "-z", commit, "--", folder)).stdout.decode(errors="replace")
        wanted = {entry.split()[2] for entry in listed.split("\0") if entry}
        missing = wanted & await self._missing(commit)
        if missing:
            await self.run(*fetch, "--stdin", "origin", stdin="\n".join(sorted(missing)).encode())
        return bool(wanted) and not missing & await self._missing(commit)

    async def _missing(self, commit: str) -> set[str]:
        """Return the ids of what this repository counts as its own and has not fetched."""
        listed = await self.run("rev-list", "--objects", "--no-object-names", "--missing=print", commit)
        return {line[1:] for line in listed.stdout.decode().split() if line.startswith("?")}

    async def fetch_all(self, address: str, advice: str = ADVICE) -> None:
        """Fetch every branch and tag. Raises `NetworkError`, which ends with the *advice*."""
        self._borrow(address)
        every = await self.run(
            "fetch", "--quiet", address, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"
        )
        if not every.ok:
            raise NetworkError(f"cannot fetch {address}: {complaint(every)}; {advice}")

    def _borrow(self, address: str) -> None:
        """Read the objects of a repository on this machine where they lie.

        Nothing is copied, and a mirror without large files still serves every commit that has none of them.
        """
        for objects in (Path(address, "objects"), Path(address, ".git", "objects")):
            if address.startswith("/") and objects.is_dir():
                shared = self.folder / "objects" / "info" / "alternates"
                shared.parent.mkdir(parents=True, exist_ok=True)
                shared.write_text(f"{objects}\n", encoding="utf-8")

    async def resolve(self, name: str) -> str | None:
        """Return the whole id of a commit, tag or branch; None when it is unknown."""
        printed = await self.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return printed.stdout.decode().strip() if printed.ok else None

    async def date(self, commit: str) -> str | None:
        """Return when *commit* was committed, RFC 3339."""
        printed = await self.run("show", "--no-patch", "--format=%cI", commit)
        return printed.stdout.decode(errors="replace").strip() or None if printed.ok else None

    async def export(
        self,
        commit: str,
        destination: Path,
        work: Path,
        limits: TreeLimits | None = None,
        without: Iterable[str] = (),
        folder: str = ".",
    ) -> None:
        """Write *folder* of *commit*, *without* some paths, into the new folder *destination*, byte for byte."""
        (self.folder / "info").mkdir(exist_ok=True)
        (self.folder / "info" / "attributes").write_text(AS_COMMITTED, encoding="utf-8")
        archive = work / "commit.tar"
        printed = await self.run(
            "archive",
            "--worktree-attributes",  # there are none; otherwise Git reads every file, also those left out
            "--format=tar",
            "-o",
            str(archive),
            commit,
            "--",
            folder,
            *(f":(exclude,top,literal){path}" for path in without),
        )
        if not printed.ok:
            absent = _ABSENT.search(printed.text())
            path = await self._path_of(commit, absent[1]) if absent else ""
            why = f"this copy lacks {path}, a large file perhaps" if path else complaint(printed)
            error = f"the tree of {commit[:12]} cannot be read: {why}; name another mirror or commit"
            raise AbsentFileError(error, path) if path else TaskError(error)
        extract_archive(archive, destination, limits or TreeLimits())
        archive.unlink()

    async def _path_of(self, commit: str, blob: str) -> str:
        """Return a path that has the contents *blob* in *commit*; "" where none is found."""
        listed = (await self.run("ls-tree", "-r", "-z", commit)).stdout.decode(errors="replace")
        entries = (entry.partition("\t") for entry in listed.split("\0"))
        return next((path for about, _, path in entries if about.endswith(blob)), "")

    async def run(self, *arguments: str, stdin: bytes = b"") -> ProgramResult:
        """Run git on it."""
        variables: Mapping[str, str] = {
            **environment(),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_DIR": str(self.folder.resolve()),
            **_NOBODY,
        }
        safe = ("-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never", "-c", "gc.auto=0")
        return await run_program(
            ["git", *safe, *arguments],
            cwd=self.folder,
            environment=variables,
            timeout_s=_TIMEOUT_S,
            stdin=stdin,
        )


def complaint(result: ProgramResult) -> str:
    """Return the line in which git says what is wrong; advice follows it over several lines."""
    lines = [line.strip() for line in result.text().splitlines() if line.strip()]
    fatal = [line.removeprefix("fatal: ") for line in lines if line.startswith("fatal: ")]
    return (fatal or lines or ["no answer"])[0][:200]
