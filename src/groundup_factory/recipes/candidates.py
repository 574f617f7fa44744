"""Which source fits a specification: index releases and Git commits, best first."""

import re
import tarfile
import zipfile
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path, PurePosixPath
from weakref import WeakKeyDictionary

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import parse_wheel_filename
from packaging.version import InvalidVersion, Version

from groundup.domain.digests import digest_of, short
from groundup.domain.errors import TaskError, UsageError
from groundup.domain.records import Record
from groundup.environments.git import addresses_of
from groundup.environments.requests import AnySource, GitSource, SourceRequest
from groundup.registries.cache import FetchCache
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.pypi.client import PyPIClient, pypi_settings
from groundup.registries.pypi.pages import ProjectFile
from groundup.settings import Settings, environment
from groundup_factory.recipes.history import Commit, GitHistory

MINORS = ("3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
_LATEST_MICRO = "99"


class IndexRelease(Record):
    """One version on the index."""

    version: str
    uploaded: datetime | None
    pythons: frozenset[str]
    """Minor versions that can install it from a wheel."""
    source: ProjectFile | None
    """Its source distribution."""
    wheel: ProjectFile | None = None

    @property
    def is_yanked(self) -> bool:
        """Whether its authors took it back."""
        file = self.source or self.wheel
        return file is not None and bool(file.yanked)


@asynccontextmanager
async def open_index(settings: Settings) -> AsyncIterator[PyPIClient]:
    """Yield the user's package index, its answers kept in the cache."""
    registry = PyPIClient(await pypi_settings(environment()), FetchCache(settings.cache_dir / "registry"))
    try:
        yield registry
    finally:
        await registry.close()


async def releases(registry: PyPIClient, name: str) -> dict[str, IndexRelease]:
    """Return the versions of *name*, oldest first; none for an unknown name."""
    known = _KNOWN.setdefault(registry, {})
    if name not in known:
        try:
            page = (await registry.page(name)).page
        except (UnknownPackageError, ValueError):
            return {}
        groups: dict[Version, list[ProjectFile]] = {}
        for file in page.files:
            try:
                groups.setdefault(Version(file.version or ""), []).append(file)
            except InvalidVersion:
                continue
        known[name] = {str(version): _release(version, groups[version]) for version in sorted(groups)}
    return known[name]


_KNOWN: WeakKeyDictionary[PyPIClient, dict[str, dict[str, IndexRelease]]] = WeakKeyDictionary()
"""Pages as they were read: one of a large project takes seconds, and several steps ask for it."""


async def fetched(registry: PyPIClient, file: ProjectFile) -> tuple[Path, str]:
    """Return where *file* lies now, and its sha256."""
    found = await registry.file(file)
    return found.path, found.sha256


def _release(version: Version, files: Iterable[ProjectFile]) -> IndexRelease:
    files = list(files)
    times = [time for time in map(_uploaded, files) if time is not None]
    pythons = {minor for file in files if not file.is_source for minor in _minors_of(file)}
    sources = [file for file in files if file.is_source]
    sources.sort(key=lambda file: not file.filename.endswith(".tar.gz"))
    return IndexRelease(
        version=str(version),
        uploaded=min(times) if times else None,
        pythons=frozenset(pythons),
        source=sources[0] if sources else None,
        wheel=next((file for file in files if not file.is_source), None),
    )


def _uploaded(file: ProjectFile) -> datetime | None:
    try:
        time = datetime.fromisoformat(file.upload_time or "")
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _minors_of(file: ProjectFile) -> Iterator[str]:
    """Yield the CPython minors that a wheel is for on Linux, by its name and its `Requires-Python`."""
    try:
        allowed = _allowed(file.requires_python or "")
        tags = parse_wheel_filename(file.filename)[3]
    except (InvalidSpecifier, ValueError):
        return
    tags = frozenset(tag for tag in tags if tag.platform == "any" or "linux" in tag.platform)
    for minor in allowed:
        own = minor.replace(".", "")
        if any(
            tag.interpreter in ("py3", f"py{own}", f"cp{own}")
            or (tag.abi == "abi3" and _older(tag.interpreter, own))
            for tag in tags
        ):
            yield minor


@cache
def _allowed(requires_python: str) -> tuple[str, ...]:
    specifier = SpecifierSet(requires_python)
    return tuple(minor for minor in MINORS if specifier.contains(f"{minor}.{_LATEST_MICRO}"))


def _older(interpreter: str, own: str) -> bool:
    digits = interpreter.removeprefix("cp")
    return digits.isdigit() and len(digits) > 1 and int(digits[1:]) <= int(own[1:])


_LATEST_RELEASES = 6
_MOST_COMMITS = 600
_MOST = 12
"""Candidates that are worth running."""
_LATE = timedelta(days=60)
"""After the newest pin: environments were made before or soon after the sources were taken."""
_TESTS = frozenset({"test", "tests", "testing"})


class SourceCandidate(Record):
    """One source, and how well it fits."""

    request: AnySource
    label: str
    match: float
    """Share of paths that specification and source have in common, tests left out; 0 to 1."""
    has_tests: bool
    date: str
    tag: str | None = None
    """The nearest release of a commit."""


def parse_source(text: str) -> tuple[str, str, str | None]:
    """Return kind, name or repository, and version or commit of `sdist:NAME==VERSION` or `git:REPOSITORY@COMMIT`.

    Raises `UsageError`.
    """
    kind, _, rest = text.partition(":")
    if kind == "sdist" and rest:
        name, _, version = rest.partition("==")
        return kind, name, version or None
    if kind == "git" and rest:
        repository, _, commit = rest.rpartition("@")
        if repository and "/" not in commit:
            return kind, repository.removeprefix("https://"), commit
        return kind, rest.removeprefix("https://"), None
    raise UsageError(f"{text!r} is no source; write sdist:NAME, sdist:NAME==VERSION, git:REPOSITORY[@COMMIT]")


async def of_releases(
    names: Iterable[str], version: str | None, tree: frozenset[str], until: datetime, registry: PyPIClient
) -> list[SourceCandidate]:
    """Return releases with a source distribution, best first; *version* alone when one is named."""
    found = []
    for name in names:
        known = await releases(registry, name)
        usable = [release for release in known.values() if release.source is not None]
        if version is not None:
            usable = [release for release in usable if release.version == version]
        else:
            timely = [r for r in usable if r.uploaded is not None and r.uploaded <= until + _LATE]
            usable = (timely or usable)[-_LATEST_RELEASES:]
        for release in usable:
            assert release.source is not None
            path, sha256 = await fetched(registry, release.source)
            files = _archive_names(path)
            found.append(
                SourceCandidate(
                    request=SourceRequest(name=name, version=release.version, sha256=sha256),
                    label=f"sdist:{name}=={release.version}",
                    match=tree_match(tree, files),
                    has_tests=_has_tests(files),
                    date=str(release.uploaded or ""),
                )
            )
        if found:
            break
    return sorted(found, key=lambda c: (c.has_tests, round(c.match, 3), c.date), reverse=True)


async def of_commits(
    repository: str, commit: str | None, tree: frozenset[str], until: datetime, settings: Settings
) -> list[SourceCandidate]:
    """Return commits of *repository*, best first; *commit* alone when one is named. Raises `TaskError`."""
    addresses = addresses_of(repository, settings.git_mirror)
    history = GitHistory(settings.cache_dir / "git" / short(digest_of(addresses[0])))
    await history.create()
    is_whole = commit is not None and re.fullmatch(r"[0-9a-f]{40}", commit)
    await history.fetch(addresses, commit if is_whole else None)
    if commit is not None:
        whole = await history.resolve(commit)
        if whole is None:
            raise TaskError(f"{repository} has no commit {commit}; name another")
        return [await _candidate(repository, Commit(whole, await history.date(whole) or ""), tree, history)]
    every = [one for one in await history.commits() if datetime.fromisoformat(one.date) <= until + _LATE]
    found = []
    last = b""
    for one in every[:_MOST_COMMITS]:
        code = await history.code(one.id)
        if code == last:
            continue  # the newest of those with the same code
        last = code
        found.append(_fitted(repository, one, tree, await history.files(one.id)))
    found.sort(key=lambda c: (c.has_tests, round(c.match, 2), _nearness(c.date, until)), reverse=True)
    return [candidate.but(tag=await _tag(history, candidate)) for candidate in found[:_MOST]]


def tree_match(listed: frozenset[str], files: Iterable[str]) -> float:
    """Return the share of paths in common: of all listed ones, and of the source's own code."""
    files = set(files)
    every = files | {str(above) for path in files for above in PurePosixPath(path).parents} - {"."}
    listed = frozenset(path for path in listed if not _TESTS & set(PurePosixPath(path).parts))
    code = {path for path in files if path.endswith(".py") and not _TESTS & set(PurePosixPath(path).parts)}
    union = listed | code
    return len(listed & every) / len(union) if union else 0.0


async def _candidate(repository: str, one: Commit, tree: frozenset[str], history: GitHistory) -> SourceCandidate:
    fitted = _fitted(repository, one, tree, await history.files(one.id))
    return fitted.but(tag=await _tag(history, fitted))


def _fitted(repository: str, one: Commit, tree: frozenset[str], files: frozenset[str]) -> SourceCandidate:
    return SourceCandidate(
        request=GitSource(repository=repository, commit=one.id),
        label=f"git:{repository}@{one.id[:10]}",
        match=tree_match(tree, files),
        has_tests=_has_tests(files),
        date=one.date,
    )


async def _tag(history: GitHistory, candidate: SourceCandidate) -> str | None:
    assert isinstance(candidate.request, GitSource)
    described = await history.run("describe", "--tags", "--abbrev=0", candidate.request.commit)
    return described.stdout.decode().strip() or None if described.ok else None


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text) if text else datetime.now(UTC)


def _nearness(date: str, until: datetime) -> float:
    """Return how near a commit is to a day; before it is twice as near as after it."""
    days = (_moment(date) - until).total_seconds()
    return -days * 2 if days > 0 else days


def _has_tests(files: Iterable[str]) -> bool:
    return any(
        _TESTS & set(PurePosixPath(path).parts[:-1]) or PurePosixPath(path).name.startswith("test")
        for path in files
        if path.endswith(".py")
    )


def _archive_names(path: Path) -> frozenset[str]:
    """Return the paths of an archive's files without its one top folder."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                names = [name for name in archive.namelist() if not name.endswith("/")]
        else:
            with tarfile.open(path) as tar:
                names = [member.name for member in tar.getmembers() if member.isfile()]
    except (tarfile.TarError, zipfile.BadZipFile, OSError, EOFError) as error:
        raise TaskError(f"{path.name} cannot be read as an archive: {error}; name another source") from error
    return frozenset(name.partition("/")[2] for name in names if "/" in name)
