"""The originals that a library can be made of: its source distribution, and its repository at the release's tag.

Whichever declares more tests, or has more files beside as many, comes first. Authors often leave tests, or their
data, out of what they upload.
"""

import asyncio
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from groundup.domain.errors import NetworkError, TaskError
from groundup.environments.requests import GitSource
from groundup.grading.context import GradingContext
from groundup.registries.pypi.client import PyPIClient
from groundup.settings import Settings
from groundup_factory.recipes.candidates import (
    IndexRelease,
    SourceCandidate,
    fetched,
    of_commits,
    of_releases,
    parse_source,
    releases,
)
from groundup_factory.recipes.drafting import first_of_each
from groundup_factory.recipes.history import tags_of
from groundup_factory.recipes.losses import functions_of
from groundup_factory.recipes.needs_of_tests import files_of_tests, places_of_tests
from groundup_factory.recipes.project import OriginalProject, read_metadata, read_project, text_at

Say = Callable[[str], None]


class NoTagError(TaskError):
    """A repository without a tag of a release; *tags* are those that it has."""

    def __init__(self, message: str, tags: Iterable[str]) -> None:
        super().__init__(message)
        self.tags = tuple(tags)


class Original(NamedTuple):
    """A source of a library, at hand."""

    candidate: SourceCandidate
    root: Path
    project: OriginalProject
    fullness: tuple[int, int]
    """How many test functions it declares, and how many files lie where tests are."""
    written: Mapping[str, str] = {}
    """Modules that a build writes and a repository lacks, path -> text."""


async def originals_of(
    source: str, context: GradingContext, registry: PyPIClient, settings: Settings, say: Say
) -> list[Original]:
    """Return what can be had of *source* and holds tests, the fullest first, at least one. Raises `TaskError`.

    Raises `NetworkError` where only the repository could hold tests, and it cannot be reached.
    """
    kind, what, version = parse_source(source)
    now = datetime.now(UTC)
    if kind == "git":
        (candidate, *_) = await of_commits(what, version, frozenset(), now, settings)
        found = await _at_hand(candidate, context)
        if not found.fullness[0]:
            raise TaskError(f"{candidate.label} holds no tests; name another repository")
        return [found]
    known = await releases(registry, what)
    release = known.get(version or await newest_release(what, registry))
    if release is None:
        raise TaskError(f"the package index has no {what} {version}; name another version, or its repository")
    listed = await of_releases([what], release.version, frozenset(), now, registry)
    uploaded = [await _at_hand(candidate, context) for candidate in listed]
    originals = [one for one in uploaded if one.fullness[0]]
    had = "holds no tests" if uploaded else "is not on the package index"
    without = f"the source distribution of {what} {release.version} {had}"
    refused: TaskError | NetworkError | None = None
    try:
        tagged = await _tagged(what, release, uploaded, context, registry, settings)
        originals += [tagged] if tagged.fullness[0] else []
    except NoTagError as error:
        final = (one for one in reversed(known) if not Version(one).is_prerelease)
        older = next((one for one in final if tag_of(what, one, error.tags)), None)
        if not originals and version is None and older is not None:
            say(f"{without}, and {error}: the newest release that has one is taken")
            return await originals_of(f"sdist:{what}=={older}", context, registry, settings, say)
        refused = error
    except (TaskError, NetworkError) as error:
        refused = error
    if not originals:
        why = f"{without}, and {refused or 'its repository holds none'}"
        raise NetworkError(why) if isinstance(refused, NetworkError) else TaskError(why)
    if refused is not None:
        say(f"only the source distribution is tried: {refused}")
    return sorted(originals, key=lambda one: one.fullness, reverse=True)


async def newest_release(name: str, registry: PyPIClient) -> str:
    """Return the newest release of *name* that nobody yanked, one with a source distribution if there is any."""
    known = [one for one in (await releases(registry, name)).values() if not one.is_yanked]
    if not known:
        folder = f"; write ./{name} for the folder" if Path(name).is_dir() else "; name its repository"
        raise TaskError(f"the package index has no file of {name}{folder}")
    known = [one for one in known if one.source is not None] or known
    final = [one.version for one in known if not Version(one.version).is_prerelease]
    return (final or [one.version for one in known])[-1]


async def _at_hand(candidate: SourceCandidate, context: GradingContext) -> Original:
    root = (await context.builder.source(candidate.request)).path
    fullness = await asyncio.to_thread(_fullness, root)
    return Original(candidate, root, await asyncio.to_thread(read_project, root), fullness)


def _fullness(root: Path) -> tuple[int, int]:
    places = [root / place for place in places_of_tests(root)]
    beside = sum(path.is_file() for place in places for path in place.rglob("*"))
    return sum(len(list(functions_of(path))) for path in {*files_of_tests(root)}), beside


async def _tagged(
    name: str,
    release: IndexRelease,
    uploaded: list[Original],
    context: GradingContext,
    registry: PyPIClient,
    settings: Settings,
) -> Original:
    """Return the repository at the tag of *release*, with what the *uploaded* source distribution knows better.

    Without a tag its newest commit is taken, where that declares the version of *release*.
    """
    text = (text_at(uploaded[0].root / "PKG-INFO") or "") if uploaded else ""
    addresses = repositories_in(text, name)
    if not addresses and release.wheel is not None:
        text = await _metadata(release, registry)
        addresses = repositories_in(text, name)
    known = uploaded[0].project if uploaded else read_metadata(text)
    if not addresses:
        raise TaskError("its metadata name no repository; name it in place of the package")
    repository = addresses[0]
    tags = await tags_of(repository, settings.git_mirror)
    head = tags.pop("HEAD", None)
    tag = tag_of(name, release.version, tags)
    last = f", only such as {max(tags, key=_natural)}" if tags else ""
    untagged = NoTagError(f"its repository {repository} has no tag of {release.version}{last}", tags)
    if tag is None and head is None:
        raise untagged
    candidate = SourceCandidate(
        request=GitSource(repository=repository, commit=tags.get(tag or "", head or "")),
        label=f"git:{repository}@{tag or 'HEAD'}",
        match=0.0,
        has_tests=True,
        date=str(release.uploaded or ""),
        tag=release.version,
    )
    found = await _at_hand(candidate, context)
    if tag is None and found.project.version != release.version:
        raise untagged
    if found.project.name is not None and canonicalize_name(found.project.name) != canonicalize_name(name):
        raise TaskError(
            f"its repository {repository} is of {found.project.name} at its root, and {name} no more than a part"
        )
    mine = found.project
    project = mine.but(
        name=known.name or mine.name,
        version=release.version,
        licence=known.licence or mine.licence,
        requires=known.requires or mine.requires,
        test_requires=first_of_each((*mine.test_requires, *known.test_requires)),
        entry_points=known.entry_points or mine.entry_points,
        headers=known.headers or mine.headers,
        modules=mine.modules or known.modules,
    )
    written = await asyncio.to_thread(_written, uploaded[0].root, found.root) if uploaded else {}
    return found._replace(project=project, written=written)


async def _metadata(release: IndexRelease, registry: PyPIClient) -> str:
    """Return what a wheel of *release* says of itself."""
    assert release.wheel is not None
    if release.wheel.metadata is not None:
        return (await registry.metadata(release.wheel)).path.read_text("utf-8", "replace")
    path, _ = await fetched(registry, release.wheel)
    try:
        with zipfile.ZipFile(path) as wheel:
            inner = next((one for one in wheel.namelist() if one.endswith(".dist-info/METADATA")), None)
            return wheel.read(inner).decode("utf-8", "replace") if inner else ""
    except (zipfile.BadZipFile, OSError) as error:
        raise TaskError(f"{path.name} cannot be read as a wheel: {error}; name the repository") from error


_PART = r"/[\w.~-]+"
_HOSTS = re.compile(
    rf"https?://(?:www\.|[^/@\s]+@)?((?:github\.com|bitbucket\.org|codeberg\.org){_PART}{_PART}"
    rf"|gitlab\.[\w.-]+(?:{_PART}){{2,}}?(?=/?$|/?[?#]|/-/|/(?:tree|blob|issues)/))"
)
_NOBODYS = frozenset({"sponsors", "orgs", "users", "apps", "marketplace"})
_OF_SOURCE = re.compile(r"source|code|repo|git", re.IGNORECASE)


def repositories_in(metadata: str, name: str) -> list[str]:
    """Return the repositories that *metadata* of the distribution *name* name, `host/owner/name`, likeliest first.

    Of those that stand in its description alone one counts that is called the same.
    """
    from email.parser import HeaderParser

    headers = HeaderParser().parsestr(metadata)
    found: dict[str, int] = {}
    for header in ("Project-URL", "Home-page"):
        for line in headers.get_all(header, []):
            label, _, address = str(line).rpartition(",")
            of_home = header == "Home-page" or "home" in label.lower()
            rank = 0 if _OF_SOURCE.search(label) else 1 if of_home else 2
            for repository in _addresses(address.strip()):
                found[repository] = min(rank, found.get(repository, rank))
    for repository in _addresses(str(headers.get_payload())):
        if canonicalize_name(repository.rpartition("/")[2]) == canonicalize_name(name):
            found.setdefault(repository, 3)
    return sorted(found, key=lambda one: found[one])


def _addresses(text: str) -> Iterator[str]:
    for match in _HOSTS.finditer(text):
        repository = match[1].rstrip(".").removesuffix(".git")
        if repository.split("/")[1] not in _NOBODYS:
            yield repository


def tag_of(name: str, version: str, tags: Iterable[str]) -> str | None:
    """Return which of *tags* is the *version* of the distribution *name*: `v1.2`, `name-1.2`, `release_1_2`."""
    own = "[-_.]?".join(map(re.escape, canonicalize_name(name).split("-")))
    words = r"releases?|rel|versions?|ver|tags?|stable|r"
    form = re.compile(rf"(?:{own}[-_@/=.]*)?(?:(?:{words})[-_@/=.]*)?v?[-_.]?(\d.*)", re.IGNORECASE)
    wanted = Version(version)
    read = ((tag, form.fullmatch(tag)) for tag in tags)
    fitting = (tag for tag, match in read if match is not None and wanted in _readings(match[1]))
    return min(fitting, key=len, default=None)


def _readings(text: str) -> Iterator[Version]:
    for form in (text, re.sub(r"[-_]", ".", text)):
        try:
            yield Version(form)
        except InvalidVersion:
            continue


def _natural(tag: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", tag)]


_LARGEST_WRITTEN = 64 * 1024


def _written(uploaded: Path, repository: Path) -> dict[str, str]:
    """Return the small modules of *uploaded* packages that the *repository* lacks, such as one of the version."""
    found = {}
    for path in sorted(uploaded.rglob("*.py")):
        inner = path.relative_to(uploaded)
        in_package = (repository / inner.parent / "__init__.py").is_file()
        if path.is_symlink() or not in_package or (repository / inner).exists():
            continue
        if path.stat().st_size <= _LARGEST_WRITTEN:
            found[inner.as_posix()] = path.read_text("utf-8", "replace")
    return found
