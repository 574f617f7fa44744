"""Whether what a prediction adds exists: in a registry, with a version that fits, or in the repository itself.

Three answers: yes, no, and None for what the constraint alone does not decide (a tag, a property, a template).
Pre-releases count only where the constraint names one, but in Python, whose clients take one where nothing else
fits.

Each added dependency is one of: found; fake (a registry that was asked does not have the name); version-missing
(it has the name, and no version that the constraint allows); internal-missing (a path, project or workspace member
that the repository does not have); unverifiable (no registry could be asked, or it comes from a URL, Git or a
registry of its own).

The names of a repository's own packages: what it offers its members, and under which names it may be published.

A registry's entry for a repository's own package lists the very dependencies that are to be inferred, so those
names are withheld.
"""

import asyncio
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from pathlib import Path, PurePosixPath

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from groundup.domain.records import Record
from groundup.languages import canonical_name
from groundup.languages.formats import FORMATS, find_manifests
from groundup.languages.python.poetry import specifier
from groundup.manifests.records import Dependency, DependencySource, Language, ManifestError
from groundup.registries.names import ECOSYSTEMS, Ecosystem, Listing, NameLookup, ecosystem_of
from groundup.sources.project_files import json_of, table_at, toml_of
from groundup.suites.base import PackageName
from groundup.suites.dibench.answers import answer, new_dependencies, submitted
from groundup.suites.dibench.dataset import InstanceProblem, Read
from groundup.suites.dibench.declarations import UNDEFINED
from groundup.suites.dibench.patches import PatchError

_NAMED = re.compile(r"""^\s*["']?name["']?\s*[=:]\s*["']?([A-Za-z0-9][\w.-]*)["']?\s*,?\s*$""", re.MULTILINE)
"""`name = "x"`, as pyproject.toml, setup.cfg and setup.py write it on a line of its own."""
_PACKAGE_ID = re.compile(r"<(?:PackageId|AssemblyName)>\s*([\w.-]+)\s*</")


def withheld_names(problem: InstanceProblem) -> tuple[str, ...]:
    """Return the names that the build files give what they build, sorted; of a Python repository also its own.

    Raises `TaskError` when the masked repository is not at hand.
    """
    names_in = _READERS[problem.instance.language]
    names: set[str] = set()
    if problem.instance.language == "python":
        full_name = problem.instance.metadata.full_name or problem.instance.instance_id.replace("_", "/", 1)
        names.add(full_name.rpartition("/")[2].partition("@")[0])  # ids of sets have the commit, too
    for path in problem.instance.build_files:
        text = (problem.read(path) or b"").decode(errors="replace")
        names.update(name for name in names_in(path, text) if name)
    return tuple(sorted(names))


def _python_names(path: str, text: str) -> Iterator[str]:
    yield from _NAMED.findall(text)


def _javascript_names(path: str, text: str) -> Iterator[str]:
    yield from _text(json_of(text), "name")


def _rust_names(path: str, text: str) -> Iterator[str]:
    name = crate_name(text.encode())
    if name is not None:
        yield name


def _csharp_names(path: str, text: str) -> Iterator[str]:
    """A package without an id is named by its project's file."""
    if path.endswith("proj"):
        yield PurePosixPath(path).stem
    yield from _PACKAGE_ID.findall(text)


_READERS: Mapping[str, Callable[[str, str], Iterator[str]]] = {
    "python": _python_names,
    "javascript": _javascript_names,
    "rust": _rust_names,
    "csharp": _csharp_names,
}


def offered_names(path: str, data: bytes) -> Iterator[str]:
    """Yield the package's name and what members of its workspace can inherit; nothing if unreadable."""
    name = PurePosixPath(path).name
    try:
        text = data.decode("utf-8-sig")
        if name == "pnpm-workspace.yaml":
            yield from (item.name for item in FORMATS[name].read(data, path).dependencies)
        elif name == "package.json":
            yield from _text(json_of(text), "name")
        elif name in ("Cargo.toml", "pyproject.toml"):
            yield from _of_toml(toml_of(text))
    except (ValueError, RecursionError, ManifestError):
        return


def crate_name(data: bytes) -> str | None:
    """Return the name of a Cargo.toml's own package; None where it has none or cannot be read."""
    return next(_text(table_at(toml_of(data), "package"), "name"), None)


def _of_toml(document: Mapping[str, object]) -> Iterator[str]:
    for keys in (("package",), ("project",), ("tool", "poetry")):
        yield from _text(table_at(document, *keys), "name")
    yield from table_at(document, "workspace", "dependencies")


def _text(table: object, key: str) -> Iterator[str]:
    value = table.get(key) if isinstance(table, Mapping) else None
    if isinstance(value, str):
        yield value


Key = tuple[tuple[int, ...], tuple[tuple[int, int, str], ...]]
Test = Callable[[Key], bool]
_SEMVER = re.compile(r"[vV=]?(\d+(?:\.\d+){0,3})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
_PARTIAL = re.compile(
    r"(?P<operator>\^|~>|~|>=|<=|>|<|=)?\s*[vV]?"
    r"(?P<numbers>(?:\d+|[xX*])(?:\.(?:\d+|[xX*])){0,3})(?:-(?P<pre>[0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
)
_HYPHEN = re.compile(r"^\s*(\S+)\s+-\s+(\S+)\s*$")
_INTERVAL = re.compile(
    r"(?P<low_end>[\[(])\s*(?P<low>[^,\s\])]*)\s*(?P<comma>,)?\s*(?P<high>[^,\s\])]*)\s*(?P<high_end>[\])])"
)


class _UnclearError(ValueError):
    """A constraint that this grammar does not cover."""


def satisfiable(language: Language, constraint: str, versions: Sequence[str]) -> bool | None:
    """Return whether one of *versions* satisfies *constraint*; None: that cannot be said."""
    text = constraint.strip()
    if text in ("", "*"):
        return True
    try:
        if language == "python":
            return _python(text, versions)
        alternatives = {"rust": _cargo, "javascript": _npm, "csharp": _nuget}[language](text)
        with_pre = re.search(r"\S-", text) is not None  # in `1.0 - 2.0` it stands alone
        known = [key for key in map(_key, versions) if key is not None and (with_pre or not key[1])]
        return any(all(test(key) for test in tests) for tests in alternatives for key in known)
    except ValueError:  # unclear, or a number of more digits than Python reads
        return None


def _python(text: str, versions: Sequence[str]) -> bool | None:
    try:
        wanted = SpecifierSet(text)
    except InvalidSpecifier:
        try:
            wanted = SpecifierSet(specifier(text))  # Poetry's carets and tildes
        except (ValueError, InvalidSpecifier):
            return None
    return any(wanted.contains(version, prereleases=True) for version in _python_versions(versions))


def _python_versions(versions: Iterable[str]) -> Iterator[Version]:
    for text in versions:
        try:
            yield Version(text)
        except InvalidVersion:
            continue


def _key(text: str) -> Key | None:
    match = _SEMVER.fullmatch(text.strip())
    return None if match is None else (_padded(match[1]), _prerelease(match[2]))


def _padded(numbers: str) -> tuple[int, ...]:
    parts = tuple(int(part) for part in numbers.split("."))
    return parts + (0,) * (4 - len(parts))


def _prerelease(text: str | None) -> tuple[tuple[int, int, str], ...]:
    parts = text.split(".") if text else []
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts)


def _rank(key: Key) -> tuple[tuple[int, ...], bool, tuple[tuple[int, int, str], ...]]:
    """A release comes after its own pre-releases."""
    return key[0], not key[1], key[1]


def _between(low: Key, high: Key) -> Test:
    return lambda key: _rank(low) <= _rank(key) and _rank(key) < _rank(high) and key[0] != high[0]


def _cargo(text: str) -> list[list[Test]]:
    return [[_comparator(part, bare="^") for part in text.split(",") if part.strip()]]


def _npm(text: str) -> list[list[Test]]:
    found = []
    for alternative in text.split("||"):
        hyphen = _HYPHEN.match(alternative)
        if hyphen:
            found.append([_comparator(f">={hyphen[1]}", bare="="), _comparator(f"<={hyphen[2]}", bare="=")])
            continue
        joined = re.sub(r"(\^|~>|~|>=|<=|>|<|=)\s+", r"\1", alternative)
        found.append([_comparator(part, bare="=") for part in joined.split()])
    return found


def _comparator(text: str, bare: str) -> Test:
    match = _PARTIAL.fullmatch(text.strip())
    if match is None:
        raise _UnclearError(text)
    numbers = match["numbers"].split(".")
    given = numbers[: next((at for at, part in enumerate(numbers) if part in "xX*"), len(numbers))]
    if not given:
        return lambda _: True
    operator = match["operator"] or ("=" if len(given) < len(numbers) else bare)
    low: Key = (_padded(".".join(given)), _prerelease(match["pre"]))
    release = [int(part) for part in given]
    whole = len(given) >= 3
    return _test(operator, low, release, whole)


def _test(operator: str, low: Key, release: list[int], whole: bool) -> Test:
    after = (_raised(release, len(release)), ())
    if operator == "^":
        leading = next((at for at, part in enumerate(release) if part), len(release) - 1)
        return _between(low, (_raised(release, leading + 1), ()))
    if operator in ("~", "~>"):
        return _between(low, (_raised(release, min(len(release), 2)), ()))
    if operator == ">=":
        return lambda key: _rank(key) >= _rank(low)
    if operator == "<":
        return lambda key: _rank(key) < _rank(low)
    if operator == ">":
        return (lambda key: _rank(key) > _rank(low)) if whole else (lambda key: _rank(key) >= _rank(after))
    if operator == "<=":
        return (lambda key: _rank(key) <= _rank(low)) if whole else (lambda key: _rank(key) < _rank(after))
    return (lambda key: _rank(key) == _rank(low)) if whole else _between(low, after)


def _raised(release: Sequence[int], places: int) -> tuple[int, ...]:
    """Return the first *places* numbers, the last of them raised by one."""
    raised = [*release[: places - 1], release[places - 1] + 1]
    return tuple(raised) + (0,) * (4 - len(raised))


def _nuget(text: str) -> list[list[Test]]:
    interval = _INTERVAL.fullmatch(text)
    if interval is None:
        if text.endswith("*"):
            numbers = text.removesuffix("-*").rstrip("*").rstrip(".-")
            low = _key(numbers + "-0" * text.endswith("-*")) if numbers else ((0, 0, 0, 0), ())
        else:
            low = _key(text)
        if low is None:
            raise _UnclearError(text)
        lowest = low
        return [[lambda key: _rank(key) >= _rank(lowest)]]
    low, high = (_key(interval[name]) if interval[name] else None for name in ("low", "high"))
    if (interval["low"] and low is None) or (interval["high"] and high is None):
        raise _UnclearError(text)
    if interval["comma"] is None:
        return [[lambda key: low is not None and _rank(key) == _rank(low)]]
    tests: list[Test] = []
    if low is not None:
        bottom = low
        with_low = interval["low_end"] == "["
        tests.append(lambda key: _rank(key) >= _rank(bottom) if with_low else _rank(key) > _rank(bottom))
    if high is not None:
        top = high
        with_high = interval["high_end"] == "]"
        tests.append(lambda key: _rank(key) <= _rank(top) if with_high else _rank(key) < _rank(top))
    return [tests]


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
        if "*" in target or "?" in target:  # MSBuild takes all that fit
            return next(self._problem.folder().glob(target), None) is not None
        return (self._problem.folder() / target).exists()

    @cached_property
    def members(self) -> Collection[str]:
        """Names of the packages that the repository itself holds."""
        language = self._problem.instance.language
        found: set[str] = set()
        for manifest in find_manifests(self._problem.folder(), language):
            data = self._read(manifest.path)
            found.update(canonical_name(language, name) for name in offered_names(manifest.path, data or b""))
        return found

    def links(self, item: Dependency) -> bool:
        """Whether npm, Yarn or lerna takes a plain range of JavaScript from the repository's own workspace."""
        is_plain = item.language == "javascript" and item.source is DependencySource.REGISTRY
        version = self._packages.get(item.name) if is_plain else None
        return version is not None and satisfiable("javascript", item.constraint, [version]) is True

    @cached_property
    def _packages(self) -> Mapping[str, str]:
        """The packages of a workspace in JavaScript with their versions; none where there is no workspace."""
        found: dict[str, str] = {}
        is_workspace = (self._problem.folder() / "lerna.json").is_file()
        for manifest in find_manifests(self._problem.folder(), "javascript"):
            document = json_of(self._read(manifest.path))
            is_workspace = is_workspace or "workspaces" in document
            for name in _text(document, "name"):
                found[name] = next(_text(document, "version"), "0.0.0")
        return found if is_workspace else {}


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
    asked = dependency.source is DependencySource.REGISTRY and UNDEFINED not in dict(dependency.details)
    if not asked or dependency.origin or not dependency.name:
        return None
    return PackageName(ecosystem_of(dependency.language), canonical_name(dependency.language, dependency.name))


def tally(checked: Iterable[Checked]) -> Counter[Existence]:
    return Counter(item.existence for item in checked)


def _existence(
    path: str, item: Dependency, repository: EditedRepository, listings: Mapping[PackageName, Listing | None]
) -> Existence:
    if item.source is DependencySource.FRAMEWORK or repository.links(item):
        return Existence.FOUND
    if UNDEFINED in dict(item.details):
        return Existence.INTERNAL_MISSING
    if item.source in (DependencySource.PATH, DependencySource.PROJECT):
        inside = repository.has(path, _local_path(item))
        return Existence.FOUND if inside else Existence.INTERNAL_MISSING
    if item.source is DependencySource.WORKSPACE:
        known = canonical_name(item.language, item.name) in repository.members
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
