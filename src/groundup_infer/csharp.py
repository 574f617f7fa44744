"""C#: which packages and which other projects each project of a repository needs.

A namespace says little of its package, so identifiers, settings, project files and what tests need speak, too.
"""

import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from groundup.sources.files import READ, SourceFiles
from groundup_infer.csharp_files import csharp_imports, line_with, mentioned, test_attributes
from groundup_infer.csharp_packages import (
    ASPNET,
    ASPNET_SDKS,
    PLATFORM_PROPERTIES,
    RAZOR_COMPONENTS,
    RAZOR_SDK,
    SHARED_FRAMEWORK,
    TEST_FRAMEWORKS,
    Trace,
    brought_along,
    framework_of,
    package_of,
    runners_of,
    traces,
)
from groundup_infer.csharp_projects import NO_PROJECT, Project, owners, read_projects
from groundup_infer.csharp_references import ProjectFiles, Use, all_referenced, referenced
from groundup_infer.csharp_settings import ProjectSettings
from groundup_infer.python_layout import SourcePlace
from groundup_infer.records import (
    EVIDENCE_KEPT,
    Evidence,
    Inference,
    InferredDependency,
    InferredKind,
    InferredProject,
    InferredReference,
)

_LIMITS = (
    "A namespace does not name its package: only well-known packages are recognised, and several packages can "
    "share one namespace.",
    "Analyzers, build tools and source generators are missing unless a setting or a file of their own names them.",
    "Versions and target frameworks are not inferred.",
)
_TEST = re.compile(
    r"(^|[/.])(tests?|specs?|unittests?|integrationtests?|testing|benchmarks?)([/.]|$)|tests?/|tests?\.cs$",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(r"(^|/)(samples?|examples?|demos?|docs?)/", re.IGNORECASE)
_GENERATION = {"TestContext", "IAsyncLifetime", "ValueTask"}
"""Identifiers that tell the third generation of xunit."""


class _Needs(NamedTuple):
    """What one project needs: packages with what speaks for each."""

    packages: Mapping[str, Sequence[Use]]
    is_aspnet: bool
    """Whether it has ASP.NET Core's framework, by its SDK or by a reference."""
    is_test: bool


_NOTHING = _Needs({}, is_aspnet=False, is_test=False)


def infer_csharp(tree: SourceFiles) -> Inference:
    """Infer the packages that the C# part of *tree* needs, and its projects' references to each other."""
    repository = _Repository(tree)
    needs = repository.needs()
    found: dict[str, list[tuple[SourcePlace, Use]]] = defaultdict(list)
    for need in needs.values():
        for name, uses in need.packages.items():
            found[name] += [(_place(use.path, need.is_test, tree.whole), use) for use in uses]
    return Inference(
        language="csharp",
        dependencies=_sorted(_judged(name, uses) for name, uses in found.items()),
        unknown=tuple(sorted(repository.unknown)),
        local=tuple(sorted({namespace.partition(".")[0] for namespace in repository.own})),
        files=len(repository.sources),
        projects=tuple(
            _project_record(path, need, repository.references.get(path, {}), tree.whole)
            for path, need in sorted(needs.items())
            if path
        ),
        cannot_know=_LIMITS,
    )


class _Repository:
    """All projects of a tree with their files. Files that no project has are one project without a path."""

    def __init__(self, tree: SourceFiles) -> None:
        self.sources = {one.path: one for one in tree.sources if one.suffix in READ["csharp"]}
        files = {path: csharp_imports(one.data, one.suffix) for path, one in self.sources.items()}
        self.own = frozenset[str]().union(*(file.namespaces for file in files.values()))
        self._around = self.own | {name[:end] for name in self.own for end in _dots(name)}
        self._declared = frozenset[str]().union(*(file.types for file in files.values()))
        self.unknown: set[str] = set()
        projects = read_projects(tree.manifests) if tree.whole else ()
        self._own_packages = frozenset[str]().union(*(project.names for project in projects))
        telling = self._declared | _telling_words() | _project_words(projects)
        owned: dict[str, list[str]] = defaultdict(list)
        for path, ones in owners(projects, files).items():
            for project in ones or [NO_PROJECT]:
                owned[project.path].append(path)
        mentions = {path: mentioned(one) & telling for path, one in self.sources.items()}
        self._parts = [
            ProjectFiles(
                project,
                {path: files[path] for path in owned[project.path]},
                {path: mentions[path] for path in owned[project.path]},
            )
            for project in [*projects, *([NO_PROJECT] if NO_PROJECT.path in owned else [])]
        ]
        self.references = referenced([part for part in self._parts if part.project.path])
        self._settings = ProjectSettings(tree.manifests)

    def needs(self) -> dict[str, _Needs]:
        """Return what each project needs that the projects which it refers to do not bring, by its path."""
        below = {
            part.project.path: all_referenced(self.references, part.project.path) - {part.project.path}
            for part in self._parts
        }
        found: dict[str, _Needs] = {}
        for part in sorted(self._parts, key=lambda one: len(below[one.project.path])):
            path = part.project.path
            found[path] = self._needs_of(part, [found.get(one, _NOTHING) for one in sorted(below[path])])
        return found

    def _needs_of(self, part: ProjectFiles, below: Sequence[_Needs]) -> _Needs:
        uses: dict[str, list[Use]] = defaultdict(list)
        for package, use in self._uses(part):
            uses[package].append(use)
        tests = [path for path in part.files if test_attributes(self.sources[path])]
        if tests or part.project.is_named_test or not part.project.path:
            for package, use in self._settings.commands_of(part.project):
                uses[package].append(use)
        if tests:
            self._add_runners(part, uses, tests)
        has_aspnet = bool(part.project.sdks & ASPNET_SDKS) or any(one.is_aspnet for one in below)
        given = {name for one in below for name in one.packages} | ({ASPNET} if has_aspnet else set())
        given |= brought_along([*uses, *given]) | self._own_packages
        is_aspnet = has_aspnet or ASPNET in uses
        packages = {
            name: ones
            for name, ones in uses.items()
            if name not in given and not (is_aspnet and SHARED_FRAMEWORK.match(name))
        }
        return _Needs(packages, is_aspnet, bool(tests) or part.project.is_named_test)

    def _uses(self, part: ProjectFiles) -> Iterator[tuple[str, Use]]:
        """Yield the packages that a project uses, and where."""
        project = part.project
        opened = {name for file in part.files.values() for name, _ in file.usings}
        opened |= {using.namespace for using in project.usings}
        for using in project.usings:
            if package := self._package(using.namespace):
                yield package, Use(using.path, using.line, using.namespace)
        for path, file in part.files.items():
            lines = self.sources[path].lines
            for namespace, line in file.usings:
                if lines is None or line in lines:
                    yield from self._opened(project, Use(path, line, namespace))
            if lines is None:
                yield from self._words(part, path, opened)
        yield from self._settings.of(project)

    def _opened(self, project: Project, use: Use) -> Iterator[tuple[str, Use]]:
        """Yield the packages that one opened namespace speaks for."""
        package = self._package(use.name)
        if package:
            yield package, use
        if not project.is_modern:
            yield from ((trace.package, use) for trace in traces("using").get(use.name, ()))
        elif package == "" and use.name.startswith("Microsoft.AspNetCore"):
            is_library = use.name.startswith(RAZOR_COMPONENTS) and RAZOR_SDK in project.sdks
            yield f"{RAZOR_COMPONENTS}.Web" if is_library else ASPNET, use

    def _package(self, namespace: str) -> str | None:
        """Return the package that provides *namespace*; empty: the framework; None: this repository, or not known.

        A namespace that this repository declares, too, may extend a package: then it has no project of that name.
        """
        package = package_of(namespace)
        if namespace in self._around and (package is None or package in self._own_packages):
            return None
        if package is None and not any(namespace.startswith(f"{name}.") for name in self.own):
            self.unknown.add(namespace)
        return package

    def _words(self, part: ProjectFiles, path: str, opened: Collection[str]) -> Iterator[tuple[str, Use]]:
        """Yield the packages that identifiers of a file speak for; what the repository declares is its own."""
        words = part.mentions[path]
        for word in (words & traces("word").keys()) - self._declared:
            use = Use(path, line_with(self.sources[path], word), word)
            yield from (
                (trace.package, use)
                for trace in traces("word")[word]
                if not (trace.is_old and part.project.is_modern) and _holds(trace, words, opened)
            )

    def _add_runners(self, part: ProjectFiles, uses: dict[str, list[Use]], tests: Sequence[str]) -> None:
        """Add what makes the tests of a project run, and take its test framework in the right generation."""
        use = Use(tests[0], 1, "tests")
        if not TEST_FRAMEWORKS & uses.keys():  # a setting opens its namespace everywhere
            attributes = frozenset[str]().union(*(test_attributes(self.sources[path]) for path in tests))
            if framework := framework_of(attributes):
                uses[framework] = [use]
        if "xunit" in uses and self._is_third(part):
            uses["xunit.v3.mtp-v2" if self._settings.has_platform else "xunit.v3"] = uses.pop("xunit")
        if "mstest.sdk" in part.project.sdks:
            uses.pop("MSTest.TestFramework", None)
        for name in runners_of(uses.keys()):
            uses.setdefault(name, [use])

    def _is_third(self, part: ProjectFiles) -> bool:
        """Whether a project's tests are of xunit's third generation, whose test projects are programs."""
        if any(name == "Xunit.Abstractions" for file in part.files.values() for name, _ in file.usings):
            return False
        words = frozenset[str]().union(*part.mentions.values())
        return (
            self._settings.has_platform
            or part.project.is_program
            or not PLATFORM_PROPERTIES.isdisjoint(part.project.properties)
            or "TestContext" in words
            or ("IAsyncLifetime" in words and "ValueTask" in words)
        )


def _holds(trace: Trace, words: Collection[str], opened: Collection[str]) -> bool:
    """Whether the other word of the file and the opened namespace, which a trace asks for, are there."""
    if trace.beside and trace.beside not in words:
        return False
    return not trace.opened or any(f"{name}.".startswith(f"{trace.opened}.") for name in opened)


def _telling_words() -> set[str]:
    """Return the identifiers that may speak for a package."""
    beside = {trace.beside for ones in traces("word").values() for trace in ones if trace.beside}
    return {*traces("word"), *beside, *_GENERATION}


def _project_words(projects: Iterable[Project]) -> set[str]:
    """Return how a host names the projects that it starts."""
    return {"Projects", *(project.identifier for project in projects)}


def _place(path: str, is_test: bool, whole: bool) -> SourcePlace:
    """Decide by the project, and by names of folders and files."""
    if not whole:
        return SourcePlace.PACKAGE
    if is_test or _TEST.search(path):
        return SourcePlace.TEST
    return SourcePlace.EXAMPLE if _EXAMPLE.search(path) else SourcePlace.PACKAGE


def _dots(namespace: str) -> list[int]:
    return [position for position, letter in enumerate(namespace) if letter == "."]


def _sorted(found: Iterable[InferredDependency]) -> tuple[InferredDependency, ...]:
    return tuple(sorted(found, key=lambda one: (list(InferredKind).index(one.kind), one.name)))


def _judged(name: str, uses: Sequence[tuple[SourcePlace, Use]]) -> InferredDependency:
    ordered = sorted(uses, key=lambda one: (list(SourcePlace).index(one[0]), one[1].path, one[1].line))
    return InferredDependency(
        name=name,
        kind=InferredKind.RUNTIME if ordered[0][0] is SourcePlace.PACKAGE else InferredKind.DEV,
        imported=tuple(sorted({use.name for _, use in uses})[:20]),
        evidence=tuple(
            Evidence(path=use.path, line=use.line, imported=use.name, place=place)
            for place, use in ordered[:EVIDENCE_KEPT]
        ),
        uses=len(uses),
    )


def _project_record(path: str, need: _Needs, references: Mapping[str, Use], whole: bool) -> InferredProject:
    """Return what is said of one project."""
    return InferredProject(
        path=path,
        dependencies=_sorted(
            _judged(name, [(_place(use.path, need.is_test, whole), use) for use in uses])
            for name, uses in need.packages.items()
        ),
        references=tuple(
            InferredReference(
                path=posixpath.relpath(target, posixpath.dirname(path) or "."),
                evidence=Evidence(path=use.path, line=use.line, imported=use.name),
            )
            for target, use in sorted(references.items())
        ),
    )
