"""What of .NET no job has here: Windows, .NET Framework's tests, workloads, packages.config, Paket, private feeds.

Read from the projects that a job's commands build, before anything runs. What depends on conditions, or on
properties that are made elsewhere, is taken to be fine: the run will tell.
"""

import fnmatch
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from groundup.grading.ci.records import Obstacle
from groundup.languages.csharp.nuget import is_sdk_style
from groundup.manifests.editing import Text
from groundup.manifests.records import ManifestError
from groundup.manifests.xml_tree import Element, parse
from groundup.workflows.commands import options_of, program_of, simple_commands
from groundup.workflows.jobs import PlacedStep, expanded
from groundup.workflows.tree import RepositoryTree, text_of

_PROJECT = re.compile(r"\.(?:cs|fs|vb)proj$", re.IGNORECASE)
_SOLUTION = re.compile(r"\.sln[xf]?$", re.IGNORECASE)
_LISTED = re.compile(r"""["']([^"'\r\n]+\.(?:cs|fs|vb)proj)["']""", re.IGNORECASE)
"""Paths of projects in a solution of any of the three forms."""
_BUILDING = frozenset({"build", "test", "restore", "pack", "publish", "msbuild", "run"})
_FRAMEWORK = re.compile(r"net(?:[1-4]\d{1,2})$", re.IGNORECASE)
_WINDOWS = re.compile(r"net\d+\.\d+-windows", re.IGNORECASE)
_WORKLOAD = re.compile(r"net\d+\.\d+-(android|ios|maccatalyst|macos|tvos|tizen)", re.IGNORECASE)
_TESTING = re.compile(
    r"^(?:Microsoft\.NET\.Test\.Sdk|xunit.*|NUnit.*|MSTest.*|TUnit.*|Microsoft\.Testing\..*)$", re.IGNORECASE
)
_MOST_TOLD = 3
_UNSURE = "?"
"""A property that only a build knows."""
_PROPS = frozenset({"Directory.Build.props"})
_SHARED = frozenset({*_PROPS, "Directory.Packages.props", "Directory.Build.targets"})
_REFERS = frozenset({"PackageReference", "GlobalPackageReference"})
_ASKS = frozenset({*_REFERS, "PackageVersion"})


class _Build(NamedTuple):
    """A call of the SDK that builds."""

    verb: str
    projects: tuple[str, ...]
    frameworks: tuple[str, ...]
    """Those that the call names; none: all that each project has."""
    may_target_windows: bool


def dotnet_obstacles(steps: Iterable[PlacedStep], tree: RepositoryTree) -> Iterator[Obstacle]:
    """Yield what keeps the .NET part of a job from being run."""
    projects = _Projects(tree)
    told: dict[str, list[str]] = {}
    built: dict[str, None] = {}
    for placed in steps:
        for words, folder in _calls(placed):
            for kind, what in _of_command(words):
                yield Obstacle(kind=kind, what=f"{what} (step {placed.step.title!r})")
            for build in projects.built_by(words, folder):
                built |= dict.fromkeys(build.projects)
                for project in build.projects:
                    for kind in projects.troubles(project, build):
                        told.setdefault(kind, []).append(project)
    for kind, found in told.items():
        listed = list(dict.fromkeys(found))
        more = f" and {len(listed) - _MOST_TOLD} more" if len(listed) > _MOST_TOLD else ""
        yield Obstacle(kind=kind, what=f"{', '.join(listed[:_MOST_TOLD])}{more}: {_WHY[kind]}")
    yield from _private_feeds(projects, list(built), tree)


_WHY = {
    "Windows Desktop": "it is built for Windows, of which there is nothing here",
    ".NET Framework": "its tests are for .NET Framework, and there is no Mono",
    "workload": "it wants a workload of the SDK, which cannot be installed",
    "packages.config": "its packages are those of nuget.exe, which wants Mono",
    "paket": "its packages are declared for Paket, which fetches them past the gateway",
}


def _calls(placed: PlacedStep) -> Iterator[tuple[list[str], str]]:
    """Yield the commands of a step that must succeed, each with its folder in the repository."""
    if placed.step.run is None or placed.step.continue_on_error:
        return
    folder = placed.contexts.shown(placed.step.working_directory or "")
    script = expanded(placed.contexts.shown(placed.step.run), placed.contexts.environment)
    for words in simple_commands(script):
        if words[0] == "cd" and len(words) > 1:
            folder = posixpath.join(folder, words[1])
        else:
            yield words, _inside(folder)


def _inside(path: str) -> str:
    """Return a path within the repository as its tree names it; "" for the root, and for what leads out."""
    normal = posixpath.normpath(path.replace("\\", "/") or ".")
    return "" if normal == "." or normal.startswith(("..", "/")) else normal


def _of_command(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what a command wants that no project shows."""
    program = program_of(words[0])
    given = [word for word in words[1:] if not word.startswith("-")]
    verbs = [word.lower() for word in given]
    if program == "paket" or (program == "dotnet" and verbs[:1] == ["paket"]):
        yield "paket", "Paket fetches packages past the gateway"
    if program != "dotnet":
        return
    if verbs[:1] == ["workload"] and verbs[1:2] in (["install"], ["restore"]):
        yield "workload", f"{' '.join(words[:4])}: workloads cannot be installed"
    if verbs[:2] == ["nuget", "add"] or verbs[:2] == ["nuget", "update"]:
        password = options_of(words, "--password", "-p")
        address = next((word for word in words if "://" in word), "")
        if password or (address and "nuget.org" not in address):
            yield (
                "private feed" if password else "feed",
                f"{address or ' '.join(given[3:4])}: only NuGet's own registry is asked",
            )


class _Projects:
    """The projects of a repository."""

    def __init__(self, tree: RepositoryTree) -> None:
        self._tree = tree
        self._roots: dict[str, Element | None] = {}

    @cached_property
    def _by_folder(self) -> Mapping[str, Sequence[str]]:
        """The paths of all files, by their folder."""
        found: dict[str, list[str]] = {}
        for path in sorted(self._tree.paths()):
            found.setdefault(posixpath.dirname(path), []).append(path)
        return found

    def built_by(self, words: Sequence[str], folder: str) -> Iterator[_Build]:
        """Yield the build that a command is, if it is one."""
        verb = next((word.lower() for word in words[1:] if not word.startswith("-")), "")
        if program_of(words[0]) != "dotnet" or verb not in _BUILDING:
            return
        frameworks = options_of(words, "-f", "--framework")
        switches = [
            re.sub(r"^(?:--?|/)p(?:roperty)?:", "", word) for word in words if re.match(r"(?:--?|/)p", word)
        ]
        frameworks += [text.partition("=")[2] for text in switches if text.lower().startswith("targetframework=")]
        windows = any(text.lower() == "enablewindowstargeting=true" for text in switches)
        named = [_inside(posixpath.join(folder, word)) for word in words[2:] if not word.startswith(("-", "/"))]
        targets = [path for path in named if self._is_target(path)] or [folder]
        projects = tuple(dict.fromkeys(project for path in targets for project in self._projects_of(path)))
        yield _Build(verb, projects, tuple(frameworks), windows)

    def _is_target(self, path: str) -> bool:
        if _PROJECT.search(path) or _SOLUTION.search(path):
            return path in self._tree.paths()
        return bool(path) and any(self._in_folder(path))

    def _in_folder(self, folder: str) -> list[str]:
        """Return what `dotnet` would build in *folder*: its solution, else its project."""
        names = self._by_folder.get(folder, ())
        solutions = [path for path in names if _SOLUTION.search(path) and not path.endswith("f")]
        return solutions or [path for path in names if _PROJECT.search(path)]

    def _projects_of(self, target: str) -> Iterator[str]:
        if _PROJECT.search(target):
            yield target
        elif _SOLUTION.search(target):
            text = text_of(self._tree, target) or ""
            for listed in _LISTED.findall(text):
                path = _inside(
                    posixpath.join(posixpath.dirname(target), listed.replace("\\\\", "/").replace("\\", "/"))
                )
                if path in self._tree.paths():
                    yield path
        else:
            for found in self._in_folder(target)[:1]:
                yield from self._projects_of(found)

    def troubles(self, project: str, build: _Build) -> Iterator[str]:
        """Yield what keeps *project* from being built, or tested, in *build*: keys of `_WHY`."""
        beside = {path.rpartition("/")[2].lower() for path in self._by_folder.get(posixpath.dirname(project), ())}
        if "packages.config" in beside and not is_sdk_style(text_of(self._tree, project) or ""):
            yield "packages.config"
        if "paket.references" in beside:
            yield "paket"
        frameworks = build.frameworks or self._frameworks(project)
        tests = build.verb == "test" and self._is_tested(project)
        if any(_WORKLOAD.match(one) for one in frameworks):
            yield "workload"
        if any(_FRAMEWORK.match(one) for one in frameworks) and tests:
            yield ".NET Framework"
        desktop = any(_WINDOWS.match(one) for one in frameworks) or (
            not build.frameworks and any(self._is_true(project, name) for name in ("UseWPF", "UseWindowsForms"))
        )
        targeting = build.may_target_windows or self._property(project, "EnableWindowsTargeting").lower() in (
            "true",
            _UNSURE,
        )
        if desktop and (tests or not targeting):
            yield "Windows Desktop"

    def _frameworks(self, project: str) -> tuple[str, ...]:
        text = self._property(project, "TargetFrameworks") or self._property(project, "TargetFramework")
        return tuple(part.strip() for part in text.split(";") if part.strip())

    def _is_tested(self, project: str) -> bool:
        """Whether a project has tests, as the references of itself and of the files above it say."""
        said = self._property(project, "IsTestProject").lower()
        roots = (root for path in (project, *self._above(project, _SHARED)) if (root := self.root(path)))
        names = (
            item.attribute("Include") or "" for root in roots for item in root.walk() if item.local in _REFERS
        )
        return said == "true" or (said != "false" and any(map(_TESTING.match, names)))

    def _is_true(self, project: str, name: str) -> bool:
        return self._property(project, name).lower() == "true"

    def _property(self, project: str, name: str) -> str:
        """Return a property of *project*, of itself or of the props above it; `_UNSURE` under a condition."""
        for path in (project, *self._above(project, _PROPS)):
            root = self.root(path)
            found = [one for one in root.walk() if one.local.lower() == name.lower()] if root else []
            if any(one.attribute("Condition") for element in found for one in (element, *element.ancestors())):
                return _UNSURE
            if found:
                return self._expanded(project, found[-1].text, name)
        return ""

    def _expanded(self, project: str, text: str, name: str) -> str:
        """Return a value with the properties that it names; `_UNSURE` where one of them is not known."""
        for inner in re.findall(r"\$\((\w+)\)", text):
            value = "" if inner.lower() == name.lower() else self._property(project, inner)
            text = text.replace(f"$({inner})", value or _UNSURE)
        return _UNSURE if _UNSURE in text or "$(" in text else text

    def _above(self, project: str, names: Iterable[str]) -> Iterator[str]:
        """Yield the files called one of *names* beside *project* and above it, the nearest first."""
        folder = posixpath.dirname(project)
        while True:
            here = self._by_folder.get(folder, ())
            yield from (path for path in here if path.rpartition("/")[2] in names)
            if not folder:
                return
            folder = posixpath.dirname(folder)

    def root(self, path: str) -> Element | None:
        """Return the document at *path*; None for what is missing or no XML."""
        if path not in self._roots:
            try:
                self._roots[path] = parse(Text.decode(self._tree.read(path) or b"", path))
            except ManifestError:  # the build names what is wrong with it
                self._roots[path] = None
        return self._roots[path]

    def packages(self, projects: Iterable[str]) -> frozenset[str]:
        """Return the names of the packages that *projects* and the files above them ask for."""
        central = (path for path in self._tree.paths() if path.rpartition("/")[2] in _SHARED)
        roots = (root for path in (*projects, *central) if (root := self.root(path)))
        items = (item for root in roots for item in root.walk() if item.local in _ASKS)
        return frozenset(name for item in items if (name := item.attribute("Include")))


def _private_feeds(projects: _Projects, built: Sequence[str], tree: RepositoryTree) -> Iterator[Obstacle]:
    """Yield the feeds that want credentials, unless a mapping says that no package comes from them."""
    for path in sorted(path for path in tree.paths() if path.rpartition("/")[2].lower() == "nuget.config"):
        folder = posixpath.dirname(path)
        root = projects.root(path)
        if root is None or not any(not folder or project.startswith(f"{folder}/") for project in built):
            continue
        named = {item.attribute("key"): item.attribute("value") or "" for item in _items(root, "packageSources")}
        disabled = {item.attribute("key") for item in _items(root, "disabledPackageSources")}
        secret = {item.local.replace("_x0020_", " ") for item in _items(root, "packageSourceCredentials")}
        for key, address in named.items():
            if key is None or key in disabled or not (key in secret or "nuget.pkg.github.com" in address):
                continue
            if _gives_something(key, root, projects.packages(built)):
                yield Obstacle(kind="private feed", what=f"{key} of {path} ({address}) wants credentials")


def _items(root: Element, section: str) -> list[Element]:
    found = (child for child in root.children if child.local.lower() == section.lower())
    return [item for child in found for item in child.children]


def _gives_something(feed: str, root: Element, packages: Iterable[str]) -> bool:
    """Whether one of *packages* comes from *feed*: by the longest pattern of the mapping, if there is one."""
    mapped = [
        (pattern.attribute("pattern") or "", source.attribute("key"))
        for source in _items(root, "packageSourceMapping")
        for pattern in source.children
    ]
    if not mapped:
        return True
    for name in packages:
        fitting = [one for one in mapped if fnmatch.fnmatch(name.lower(), one[0].lower())]
        longest = max((len(pattern) for pattern, _ in fitting), default=0)
        if {key for pattern, key in fitting if len(pattern) == longest} == {feed}:
            return True
    return False
