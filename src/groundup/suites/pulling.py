"""Bringing a benchmark's published data onto this machine: a named commit of a public repository, or a folder.

The data lands under `settings.data/<suite>`, whole or not at all, beside `origin.json`, which says where it came
from. Nothing in the data is executed. Git's own configuration (proxies, `insteadOf` mirrors) applies.
"""

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import mkdtemp

from pydantic import Field, ValidationError

from groundup.domain.errors import InfrastructureError, NetworkError, UsageError
from groundup.domain.records import Record
from groundup.sandbox.programs import ProgramResult, run_program
from groundup.settings import Settings, environment
from groundup.trees.archives import extract_archive
from groundup.trees.copy import copy_tree
from groundup.trees.digest import tree_digest
from groundup.trees.limits import TreeLimits
from groundup.trees.removal import remove_tree

ORIGIN_FILE = "origin.json"
_FETCH_S = 1800.0
_LIMITS = TreeLimits(files=500_000, bytes=20 * 1024**3, ratio=1000)


class PublishedRepository(Record):
    """Where a benchmark's data is published."""

    address: str = Field(description="of the Git repository")
    commit: str = Field(pattern=r"^[0-9a-f]{7,40}$")
    folder: str = Field(default="", description="the part of the repository that is the data")
    licence: str = Field(description="as its publishers state it, for the user to read")

    def at(self, commit: str) -> "PublishedRepository":
        """Return the same repository at another commit; raises `UsageError` when that is no commit's name."""
        if not re.fullmatch(r"[0-9a-f]{7,40}", commit):
            raise UsageError(f"{commit!r} names no commit; give 7 to 40 hexadecimal digits, in lower case")
        return self.model_copy(update={"commit": commit})


class Origin(Record):
    """Where the data at hand came from."""

    source: str
    commit: str | None = Field(description="in full; None: a folder was taken")
    version: str | None = Field(default=None, description="which release the suite found it to be")
    digest: str
    files: int


Check = Callable[[Path], str]
"""Reads a folder as the suite will, and returns the data's version; raises `UsageError`."""


async def pull(
    suite: str, published: PublishedRepository, settings: Settings, check: Check | None = None
) -> Origin:
    """Fetch *published* and put its folder in place of the suite's data, once *check* has read it.

    Raises `NetworkError` when the repository cannot be fetched, `UsageError` when it lacks the commit or folder.
    """
    _parent(settings)
    work = Path(mkdtemp(prefix=".pull-", dir=settings.data))
    try:
        commit = await _fetch(published, work)
        archive = work / "data.tar"
        wanted = [published.folder] if published.folder else []
        result = await _git(work, "archive", "--format=tar", "-o", str(archive), commit, "--", *wanted)
        if not result.ok:
            raise UsageError(f"{published.address} at {published.commit} has no folder {published.folder!r}")
        extract_archive(archive, work / "data", _LIMITS, strip_components=len(Path(published.folder).parts))
        origin = _origin(work / "data", published.address, commit, check)
        _put_in_place(suite, work / "data", origin, settings)
        return origin
    finally:
        remove_tree(work)


def take_folder(suite: str, folder: Path, settings: Settings, check: Check | None = None) -> Origin:
    """Copy *folder* (somebody's checkout or download) in place of the suite's data, once *check* has read it."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; --from takes a checkout or an unpacked download")
    _parent(settings)
    work = Path(mkdtemp(prefix=".pull-", dir=settings.data))
    try:
        copy_tree(folder, work / "data", _LIMITS)
        git = work / "data" / ".git"
        if git.exists():
            remove_tree(git)
        origin = _origin(work / "data", str(folder.absolute()), None, check)
        _put_in_place(suite, work / "data", origin, settings)
        return origin
    finally:
        remove_tree(work)


def origin_of(suite: str, settings: Settings) -> Origin | None:
    """Return where the suite's data came from, or None when it was never pulled. Raises `UsageError`."""
    path = settings.data / suite / ORIGIN_FILE
    try:
        return Origin.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise UsageError(
            f"{path} cannot be read; fetch the data again with `groundup data pull {suite}`"
        ) from error


def data_folder(suite: str, settings: Settings) -> Path | None:
    """Return where the suite's data lies, or None when it was never pulled."""
    folder = settings.data / suite / "data"
    return folder if folder.is_dir() else None


def _parent(settings: Settings) -> None:
    try:
        settings.data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InfrastructureError(
            f"cannot make {settings.data}: {error.strerror}; set GROUNDUP_DATA_DIR"
        ) from error


async def _fetch(published: PublishedRepository, work: Path) -> str:
    """Fetch the one commit and return its full name.

    Servers that do not hand out single commits, or that are given a short name, are asked for their branches.
    """
    await _git(work, "init", "--quiet", "--bare", ".")
    one = await _git(work, "fetch", "--quiet", "--depth=1", published.address, published.commit)
    if one.ok:
        return published.commit
    every = await _git(work, "fetch", "--quiet", published.address, "+refs/heads/*:refs/remotes/origin/*")
    if not every.ok:
        last = (every.text().strip().splitlines() or ["no answer"])[-1]
        raise NetworkError(
            f"cannot fetch {published.address}: {last[:200]}; clone it elsewhere and use --from FOLDER, "
            "or point Git at a mirror with url.<base>.insteadOf"
        )
    known = await _git(work, "rev-parse", "--verify", "--quiet", f"{published.commit}^{{commit}}")
    if not known.ok:
        raise UsageError(f"{published.address} has no commit {published.commit}; name another with --commit")
    return known.stdout.decode().strip()


async def _git(work: Path, *arguments: str) -> ProgramResult:
    variables: Mapping[str, str] = {**environment(), "GIT_TERMINAL_PROMPT": "0", "GIT_DIR": str(work)}
    return await run_program(["git", *arguments], cwd=work, environment=variables, timeout_s=_FETCH_S)


def _origin(data: Path, source: str, commit: str | None, check: Check | None) -> Origin:
    try:
        version = None if check is None else check(data)
    except UsageError as error:  # name what the user knows, not the folder of the moment
        raise UsageError(str(error).replace(str(data), source)) from error
    digest, files, _ = tree_digest(data)
    return Origin(source=source, commit=commit, version=version, digest=digest, files=files)


def _put_in_place(suite: str, data: Path, origin: Origin, settings: Settings) -> None:
    fresh = data.parent / "fresh"
    fresh.mkdir()
    data.rename(fresh / "data")
    (fresh / ORIGIN_FILE).write_text(origin.model_dump_json(indent=2) + "\n", encoding="utf-8")
    target = settings.data / suite
    if target.exists():
        target.rename(data.parent / "replaced")  # removed with the work folder
    shutil.move(fresh, target)
