"""Whether what a prediction adds exists: in a registry, or in the repository itself.

Each added dependency is one of: found; fake (a registry that was asked does not have the name); version-missing
(it has the name, and no version that the constraint allows); internal-missing (a path, project or workspace member
that the repository does not have); unverifiable (no registry could be asked, or it comes from a URL, Git or a
registry of its own).
"""

import asyncio
import posixpath
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from groundup.domain.records import Record
from groundup.manifests.formats import find_manifests
from groundup.manifests.records import Dependency, DependencySource
from groundup.registries.names import ECOSYSTEMS, Ecosystem, Listing, NameLookup, ecosystem_of
from groundup.suites.base import PackageName
from groundup.suites.dibench.answers import Read, answer, new_dependencies, submitted
from groundup.suites.dibench.dataset import InstanceProblem
from groundup.suites.dibench.own_names import offered_names
from groundup.suites.dibench.patches import PatchError
from groundup.suites.dibench.versions import satisfiable

_ECOSYSTEMS: dict[str, Ecosystem] = {name: name for name in ECOSYSTEMS}


class Existence(StrEnum):
    """What looking a dependency up found."""

    FOUND = "found"
    FAKE = "fake"
    VERSION_MISSING = "version-missing"
    INTERNAL_MISSING = "internal-missing"
    UNVERIFIABLE = "unverifiable"


class Checked(Record):
    """One dependency of a prediction, looked up."""

    path: str
    dependency: Dependency
    existence: Existence


class EditedRepository:
    """What a repository has inside, as an edit leaves it."""

    def __init__(self, problem: InstanceProblem, read: Read) -> None:
        self._problem = problem
        self._read = read

    def has(self, build_file: str, path: str) -> bool:
        """Whether *path*, relative to a build file, names something in the repository."""
        folder = posixpath.dirname(build_file)
        target = posixpath.normpath(posixpath.join(folder, path.replace("\\", "/")))
        if target.startswith(("../", "/")) or target == "..":
            return False
        return (self._problem.folder() / target).exists()

    @cached_property
    def members(self) -> Collection[str]:
        """Names of the packages that the repository itself holds."""
        language = self._problem.instance.language
        found: set[str] = set()
        for manifest in find_manifests(self._problem.folder(), language):
            data = self._read(manifest.path)
            found.update(_folded(name) for name in offered_names(manifest.path, data or b""))
        return found


async def check(
    added: Mapping[str, Iterable[Dependency]], repository: EditedRepository, asking: NameLookup
) -> tuple[Checked, ...]:
    """Look up everything that a prediction adds, by build file."""
    items = [(path, item) for path, dependencies in added.items() for item in dependencies]
    names = {name for _, item in items if (name := package_name(item)) is not None}
    ordered = sorted(names)
    answers = await asyncio.gather(*(asking.look_up(_ECOSYSTEMS[name.ecosystem], name.name) for name in ordered))
    listings = dict(zip(ordered, answers, strict=True))
    return tuple(
        Checked(path=path, dependency=item, existence=_existence(path, item, repository, listings))
        for path, item in items
    )


def package_name(dependency: Dependency) -> PackageName | None:
    """Return what a registry would be asked for; None for what does not come from the default registry."""
    if dependency.source is not DependencySource.REGISTRY or dependency.origin or not dependency.name:
        return None
    name = dependency.normalised if dependency.language in ("python", "csharp") else dependency.name
    return PackageName(ecosystem_of(dependency.language), name or dependency.name)


def tally(checked: Iterable[Checked]) -> Counter[Existence]:
    """Count outcomes."""
    return Counter(item.existence for item in checked)


def _existence(
    path: str, item: Dependency, repository: EditedRepository, listings: Mapping[PackageName, Listing | None]
) -> Existence:
    if item.source is DependencySource.FRAMEWORK:
        return Existence.FOUND
    if item.source in (DependencySource.PATH, DependencySource.PROJECT):
        inside = repository.has(path, _local_path(item))
        return Existence.FOUND if inside else Existence.INTERNAL_MISSING
    if item.source is DependencySource.WORKSPACE:
        known = _folded(item.name) in repository.members
        return Existence.FOUND if known else Existence.INTERNAL_MISSING
    name = package_name(item)
    listing = None if name is None else listings[name]
    if listing is None:
        return Existence.UNVERIFIABLE
    if not listing.exists:
        return Existence.FAKE
    fits = satisfiable(item.language, item.constraint, listing.versions)
    if fits is None:
        return Existence.UNVERIFIABLE
    return Existence.FOUND if fits else Existence.VERSION_MISSING


def _local_path(item: Dependency) -> str:
    for prefix in ("file:", "link:", "portal:"):
        if item.origin.startswith(prefix):
            return item.origin.removeprefix(prefix).removeprefix("//")
    return item.origin or item.name


def _folded(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def asked_names(problem: InstanceProblem, submission: Path | None) -> set[PackageName]:
    """Return for which packages registries are asked: those that *submission* adds, or the original declares."""
    try:
        edited = None if submission is None else submitted(problem, submission)
    except PatchError:
        return set()
    found, _ = answer(problem, edited)
    declared = (
        [item for file in found.files for item in file.expected]
        if submission is None
        else [item for items in new_dependencies(found).values() for item in items]
    )
    return {name for item in declared if (name := package_name(item)) is not None}
