"""Bringing data onto this machine: a commit of a repository, a release, a folder, or one packed set.

The data lands under `settings.data/<suite>`, whole or not at all, beside `origin.json`, which says where it came
from. Further data sets have names and lie under `settings.data/@<name>/<suite>`: SUITE@NAME is the suite with one.
Data of another origin is never replaced, and what was changed since it was pulled is kept. Nothing in the data is
executed. The setting `git_mirror` and Git's own configuration (proxies, `insteadOf` mirrors) apply.
"""

import hashlib
import os
import re
import shutil
import tarfile
from collections.abc import Callable
from itertools import count
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urlsplit

from pydantic import ValidationError

from groundup.domain.errors import InfrastructureError, NetworkError, SubmissionError, TaskError, UsageError
from groundup.environments.commit_archives import fetch_archive
from groundup.environments.git import GitRepository, addresses_of
from groundup.registries.cache import FetchCache
from groundup.registries.settings import direct
from groundup.registries.upstream import Upstream, shown
from groundup.settings import Settings, environment
from groundup.store.ownership import digest_of_entry
from groundup.suites.places import ORIGIN_FILE, DataOrigin, PublishedRelease, PublishedRepository, origin_of
from groundup.suites.sets import copy_set, is_set
from groundup.trees.archives import ARCHIVES, extract_archive
from groundup.trees.digest import tree_digest
from groundup.trees.walking import remove_tree
from groundup.trees.writer import TreeLimits, copy_tree

_ADVICE = (
    "clone it elsewhere and use --from FOLDER, or name a mirror (setting git_mirror, or Git's own "
    "url.<base>.insteadOf)"
)
_LIMITS = TreeLimits(files=500_000, bytes=20 * 1024**3, ratio=1000)


class Pulled(NamedTuple):
    """Data that was put in place."""

    origin: DataOrigin
    kept: Path | None
    """Where earlier data lies that had been changed since it was pulled; None: there was none."""


Check = Callable[[Path], str]
"""Reads a folder as the suite will, and returns the data's version; raises `UsageError`."""


async def pull(
    suite: str, published: PublishedRepository, settings: Settings, check: Check | None = None
) -> Pulled:
    """Fetch *published* and put its folder in place of the suite's data, once *check* has read it.

    Raises `NetworkError` when the repository cannot be fetched, `UsageError` when it lacks the commit or the
    folder, or when data of another origin is in place.
    """
    _parent(settings)
    _refuse_others(suite, published.address, settings)
    work = Path(mkdtemp(prefix=".pull-", dir=settings.data))
    try:
        if shutil.which("git") is None:
            commit = await _data_from_host(published, work, settings.git_mirror)
            origin = _origin(work / "data", published.address, commit, check)
            return _put_in_place(suite, work / "data", origin, settings)
        repository, commit = await _fetched(published, work, settings.git_mirror)
        if not (await repository.run("cat-file", "-e", f"{commit}:{published.folder}/")).ok:
            raise UsageError(f"{published.address} at {published.commit} has no folder {published.folder!r}")
        await repository.export(commit, work / "whole", work, _LIMITS, folder=published.folder)
        (work / "whole" / published.folder).rename(work / "data")
        origin = _origin(work / "data", published.address, commit, check)
        return _put_in_place(suite, work / "data", origin, settings)
    finally:
        remove_tree(work)


async def pull_release(
    suite: str, release: PublishedRelease, settings: Settings, check: Check | None = None
) -> Pulled:
    """Fetch all files of *release*, unpack its archives, and put them in place of the suite's data.

    Raises `NetworkError` for a file that cannot be fetched or does not have the hash that is known of it, and
    `UsageError` where data of another origin is in place.
    """
    _parent(settings)
    _refuse_others(suite, release.address, settings)
    work = Path(mkdtemp(prefix=".pull-", dir=settings.data))
    try:
        data = work / "data"
        data.mkdir()
        await _download(release, data, FetchCache(settings.cache_dir / "registry"))
        unpack_archives(data)
        origin = _origin(data, release.address, None, check)
        return _put_in_place(suite, data, origin, settings)
    finally:
        remove_tree(work)


def unpack_archives(folder: Path) -> None:
    """Unpack each archive that lies in *folder* into a folder of its name, and remove it. Raises `UsageError`."""
    for path in sorted(folder.iterdir()):
        ending = next((ending for ending in ARCHIVES if path.name.endswith(ending)), None)
        if ending is None or not path.is_file() or path.is_symlink():
            continue
        try:
            extract_archive(path, folder / path.name.removesuffix(ending), _LIMITS)
        except SubmissionError as error:
            raise UsageError(f"{path.name}: {error}; download it again") from error
        path.unlink()


async def _download(release: PublishedRelease, data: Path, cache: FetchCache) -> None:
    upstream = Upstream(direct(release.address, environment()))
    try:
        for file in release.files:
            with cache.incoming() as incoming:
                if not await upstream.download(file.address, incoming, _LIMITS.bytes):
                    raise NetworkError(
                        f"{shown(file.address)} does not exist; see what {release.address} offers and use --from"
                    )
                found = incoming.digests()["sha256"]
                if file.sha256 not in (None, found):
                    raise NetworkError(f"{shown(file.address)} has the SHA-256 {found} instead of {file.sha256}")
                incoming.rename(data / file.name)
    finally:
        await upstream.close()


def take_folder(
    suite: str,
    folder: Path,
    settings: Settings,
    check: Check | None = None,
    *,
    unpack: bool = False,
    source: Path | str | None = None,
    part: str = ".",
) -> Pulled:
    """Copy *folder* (somebody's checkout or download) in place of the suite's data, once *check* has read it.

    With *unpack*, archives in it are unpacked, and *folder* may itself be one. *source* is where it came from.
    Of a checkout that has *part*, nothing else is copied.
    """
    if not folder.is_dir() and not (unpack and folder.is_file()):
        raise UsageError(f"{folder}: no such folder; --from takes a checkout or an unpacked download")
    _parent(settings)
    work = Path(mkdtemp(prefix=".pull-", dir=settings.data))
    try:
        part = part if (folder / part).is_dir() else "."
        (work / "data" / part).parent.mkdir(parents=True, exist_ok=True)
        _copy(folder / part, work / "data" / part)
        if unpack:
            unpack_archives(work / "data")
        git = work / "data" / ".git"
        if git.exists():
            remove_tree(git)
        origin = _origin(
            work / "data", source if isinstance(source, str) else str((source or folder).absolute()), None, check
        )
        return _put_in_place(suite, work / "data", origin, settings)
    finally:
        remove_tree(work)


def _parent(settings: Settings) -> None:
    try:
        settings.data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InfrastructureError(
            f"cannot make {settings.data}: {error.strerror}; set GROUNDUP_DATA_DIR"
        ) from error


async def _data_from_host(published: PublishedRepository, work: Path, mirror: str | None) -> str:
    """Write `work/data` from the archive that the repository's host makes of the commit; return its full name."""
    archive = work / "commit.tar.gz"
    await fetch_archive(
        addresses_of(published.address.removeprefix("https://"), mirror), published.commit, archive
    )
    try:
        extract_archive(archive, work / "whole", _LIMITS)
        with tarfile.open(archive) as opened:
            commit = opened.pax_headers.get("comment", "")
    except (SubmissionError, tarfile.TarError) as error:
        raise NetworkError(f"the archive of {published.address}: {error}; install Git, and do it again") from error
    if not commit.startswith(published.commit):
        raise NetworkError(
            f"the archive of {published.address} names another commit; install Git, and do it again"
        )
    found = [top / published.folder for top in (work / "whole").iterdir() if (top / published.folder).is_dir()]
    if len(found) != 1:
        raise UsageError(f"{published.address} at {published.commit} has no folder {published.folder!r}")
    found[0].rename(work / "data")
    return commit


async def _fetched(published: PublishedRepository, work: Path, mirror: str | None) -> tuple[GitRepository, str]:
    """Fetch the one commit, from the *mirror* if that has it, its folder alone where that can be had.

    Returns the repository, which lies in *work*, and the commit's full name.
    """
    addresses = addresses_of(published.address.removeprefix("https://"), mirror)
    for number, address in enumerate(addresses):
        part = GitRepository(work / f"part-{number}")
        await part.create()
        if await part.fetch_folder(address, published.commit, published.folder):
            return part, published.commit
    repository = GitRepository(work / "repository")
    await repository.create()
    refused: list[Exception] = []
    for address in addresses:
        try:
            await repository.fetch_commit(address, published.commit, _ADVICE)
        except (NetworkError, TaskError) as error:
            refused.append(error)
        else:
            found = await repository.resolve(published.commit)
            assert found is not None
            return repository, found
    if isinstance(refused[-1], NetworkError):
        lacking = isinstance(refused[0], TaskError)
        mirrored = f"the mirror has no commit {published.commit} (--commit names another), and " if lacking else ""
        raise NetworkError(f"{mirrored}{refused[-1]}")
    raise UsageError(f"{published.address} has no commit {published.commit}; name another with --commit")


def _copy(folder: Path, data: Path) -> None:
    if is_set(folder):
        copy_set(folder, data)
        return
    if folder.is_dir():
        copy_tree(folder, data, _LIMITS)
        return
    try:
        extract_archive(folder, data, _LIMITS)
    except SubmissionError as error:
        raise UsageError(f"{folder}: {error}; --from takes a folder or an archive") from error
    tops = [*data.iterdir()]
    if (
        len(tops) == 1 and not tops[0].is_symlink() and any(tops[0].glob("*.jsonl"))
    ):  # as `tar -cz my-set` makes it
        inside = data.with_name("inside")
        tops[0].rename(inside)
        data.rmdir()
        inside.rename(data)


def _origin(data: Path, source: str, commit: str | None, check: Check | None) -> DataOrigin:
    try:
        version = None if check is None else check(data)
    except UsageError as error:  # name what the user knows, not the folder of the moment
        raise UsageError(str(error).replace(str(data), source)) from error
    digest, files, _ = tree_digest(data)
    return DataOrigin(source=source, commit=commit, version=version, digest=digest, files=files)


def _put_in_place(suite: str, data: Path, origin: DataOrigin, settings: Settings) -> Pulled:
    fresh, target = data.parent / "fresh", settings.data / suite
    fresh.mkdir()
    data.rename(fresh / "data")
    (fresh / ORIGIN_FILE).write_text(origin.model_dump_json(indent=2) + "\n", encoding="utf-8")
    present = digest_of_entry(target / "data")
    if present == origin.digest and (target / ORIGIN_FILE).is_file():
        shutil.copyfile(fresh / ORIGIN_FILE, data.parent / "origin")
        (data.parent / "origin").replace(target / ORIGIN_FILE)
        return Pulled(origin, None)  # the same data, which a run may be reading
    kept = None
    _refuse_others(suite, origin.source, settings)
    if os.path.lexists(target):
        kept = None if _as_pulled(target, present) else _free_place(target)
        target.rename(kept or data.parent / "replaced")  # which is removed with the work folder
    fresh.rename(target)
    return Pulled(origin, kept)


def _refuse_others(suite: str, source: str, settings: Settings) -> None:
    """Raise `UsageError` where something lies at the place of the data that did not come from *source*."""
    target = settings.data / suite
    if not os.path.lexists(target):
        return
    if not (target / ORIGIN_FILE).is_file():
        raise UsageError(f"{target} was not made by `groundup data pull`; move it away, or set GROUNDUP_DATA_DIR")
    try:
        origin = origin_of(suite, settings)
    except UsageError:  # damaged: it is kept
        return
    if origin is not None and origin.source != source:
        raise UsageError(
            f"{target} holds data from {origin.source}, which data from {source} does not replace; pull it as "
            f"{suite}@NAME, under any name, and use {suite}@NAME for the suite then; or remove that folder"
        )


def _as_pulled(target: Path, digest: str | None) -> bool:
    """Whether *target*, whose data has *digest*, is as a pull made it, with nothing added or changed."""
    try:
        origin = DataOrigin.model_validate_json((target / ORIGIN_FILE).read_bytes())
    except (OSError, ValidationError):
        return False
    return origin.digest == digest and {entry.name for entry in target.iterdir()} == {"data", ORIGIN_FILE}


def _free_place(target: Path) -> Path:
    places = (target.with_name(f"{target.name}-changed-{number}") for number in count(1))
    return next(place for place in places if not os.path.lexists(place))


_MOST_BYTES = 20 * 1024**3
_DIGEST = re.compile(r"sha256=([0-9a-f]{64})")


def address_of(text: str) -> str | None:
    """Return *text* where it is an address; None for a path. A path object has lost a slash, which comes back."""
    found = re.match(r"(https?|file):/+", text)
    if found is None:
        return None
    return f"{found[1]}:{'///' if found[1] == 'file' else '//'}{text[found.end() :]}"


async def fetched(address: str, work: Path, settings: Settings) -> Path:
    """Return the file at *address*, in the folder *work* unless it is here. `#sha256=HEX` is what it must have.

    Raises `UsageError` for an address that makes no sense, and `NetworkError` for what is absent or another file.
    """
    plain, fragment = urldefrag(address)
    wanted = _DIGEST.fullmatch(fragment)
    if fragment and wanted is None:
        raise UsageError(f"{fragment!r} is no digest; write ADDRESS#sha256=HEX, or the address alone")
    if plain.startswith("file:"):
        path = Path(unquote(urlsplit(plain).path))
        if not path.is_file():
            raise UsageError(f"{path} cannot be read; name a packed set")
    else:
        path = work / (PurePosixPath(urlsplit(plain).path).name or "set")
        await _fetch_file(plain, path, settings)
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if wanted is not None and found != wanted[1]:
        raise NetworkError(f"{shown(plain)} has not the SHA-256 {wanted[1]}; ask for the right one")
    return path


async def _fetch_file(address: str, path: Path, settings: Settings) -> None:
    upstream = Upstream(direct(address, environment()))
    try:
        with FetchCache(settings.cache_dir / "registry").incoming() as incoming:
            if not await upstream.download(address, incoming, _MOST_BYTES):
                raise NetworkError(f"{shown(address)} does not exist; ask whoever named it")
            incoming.rename(path)
    finally:
        await upstream.close()
