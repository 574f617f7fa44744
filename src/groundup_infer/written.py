"""From what source code says to what a manifest declares: inference without a model, written into build files."""

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from groundup.domain.errors import TaskError, UsageError
from groundup.domain.records import Record
from groundup.languages import canonical_name
from groundup.languages.csharp.evaluation import Evaluation
from groundup.languages.formats import FORMATS, find_manifests, format_of
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, Language, ManifestError
from groundup.manifests.sections import ManifestFormat
from groundup.sources.files import SourceFiles, read_tree
from groundup.suites.dibench.dataset import InstanceProblem, Read
from groundup.suites.dibench.registry_check import crate_name
from groundup_infer.csharp_packages import ASPNET
from groundup_infer.inference import infer_tree
from groundup_infer.python_layout import SourcePlace, modules_beside, projects_below
from groundup_infer.records import InferredDependency, InferredKind, Manner, imported_name

WRITABLE = frozenset({
    "pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "package.json", "Cargo.toml", "msbuild",
})  # fmt: skip
"""Formats of manifests that a project declares its own dependencies in."""
INFERRED_KINDS: Mapping[Language, frozenset[DependencyKind]] = {
    "python": frozenset({DependencyKind.RUNTIME}),
    "javascript": frozenset({DependencyKind.RUNTIME}),
    "rust": frozenset({DependencyKind.RUNTIME, DependencyKind.OPTIONAL}),
    "csharp": frozenset({DependencyKind.RUNTIME, DependencyKind.DEV}),
}
"""What the subject `static` declares: in Rust also what stands behind features, for it lies in the same table; in
C# also what tests need, for they are projects."""
_ON_DEMAND = (DependencyKind.OPTIONAL, DependencyKind.CONSTRAINT, DependencyKind.OVERRIDE)
"""Kinds that do not bring a package by themselves: one that stands only there may be needed besides."""
_SOFT = (DependencyKind.OPTIONAL, DependencyKind.DEV, DependencyKind.TEST, DependencyKind.GROUP)
_TELLING = 3
"""From how many names on extras are taken to tell all that is optional."""
_LIKELY = 0.3
"""Confidence from which an import that no extra names is a requirement then; without extras, half and more."""
_DEV_WORDS = ("dev", "test", "doc", "lint", "ci")


class Written(Record):
    """A build file with inferred dependencies in it."""

    path: str
    content: bytes
    added: tuple[str, ...] = ()
    guessed: tuple[str, ...] = ()
    """What was left out because its name is a guess."""
    problem: str = ""
    """Why nothing could be written, in one sentence; empty when it could."""


def write_static(problem: InstanceProblem, destination: Path) -> None:
    """Write what the subject `static` hands in: those build files to which inference adds something."""
    instance = problem.instance
    kinds = INFERRED_KINDS[instance.language]
    for file in write_inferred(problem.folder(), instance.language, instance.build_files, problem.read, kinds):
        if file.added:
            place = destination / file.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.content)


def write_inferred(
    root: Path,
    language: Language,
    build_files: Sequence[str],
    read: Read,
    kinds: Collection[DependencyKind] = (DependencyKind.RUNTIME,),
    *,
    guesses: bool = True,
) -> list[Written]:
    """Infer for each build file from the source around it, and return the files with what is missing added.

    A build file speaks for its folder, except for folders below it that have a build file of their own. What it
    declares already stays, and is not declared again unless it stands in an extra only. Without *guesses*, names
    that no data file knows are left out: they are fit for a prediction that is scored, not for a manifest in use.
    """
    tree = read_tree(root)
    if language == "csharp":
        return list(_write_projects(tree, build_files, read, kinds))
    projects = projects_below(tree) if language == "python" else {}
    found = []
    for path in build_files:
        data = read(path)
        if data is None:
            found.append(Written(path=path, content=b"", problem=f"{path} does not exist"))
            continue
        beside = modules_beside(projects, posixpath.dirname(path))
        around = _around(tree, path, build_files)._replace(beside=beside)
        inferred, local = _inferred(around, language, path)
        asked = (
            inferred if language != "python" else _told_apart(inferred, _declared_softly(root, path, build_files))
        )
        inferred = [item for item in asked if item.kind.value in {kind.value for kind in kinds}]
        members = _members(tree, language, path)
        own = [item for item in inferred if imported_name(language, item.name) not in members]
        guessed = [] if guesses else [item.name for item in own if not item.known]
        named = {imported_name(language, name) for name in (*local, *(item.name for item in inferred))}
        inside = named & members.keys()
        sure = [item for item in own if item.name not in guessed]
        file = written(path, data, sure, [members[name] for name in sorted(inside)])
        if guessed:
            lacking = written(path, data, [item for item in own if item.name in guessed]).added
            file = file.but(guessed=lacking)
        found.append(file)
    return found


def _write_projects(
    tree: SourceFiles, build_files: Sequence[str], read: Read, kinds: Collection[DependencyKind]
) -> Iterator[Written]:
    """Yield each C# build file with what inference says of its project, references to other projects included."""
    projects = {one.path: one for found in infer_tree(tree, {"csharp"}) for one in found.projects}
    wanted = {kind.value for kind in kinds}

    def there(path: str) -> bytes | None:
        try:
            return read(path)
        except (OSError, TaskError, UsageError):
            return None

    for path in build_files:
        data = read(path)
        project = projects.get(path)
        if data is None:
            yield Written(path=path, content=b"", problem=f"{path} does not exist")
        elif project is None:
            yield Written(path=path, content=data)
        else:
            evaluated = Evaluation(there, path)
            given = _given_above(evaluated, path, there)
            needed = [
                item
                for item in project.dependencies
                if item.kind.value in wanted and item.name.lower() not in given
            ]
            said = evaluated.value("ManagePackageVersionsCentrally") or ""
            references = [_project_reference(one.path) for one in project.references]
            yield written(path, data, needed, references, central=said.lower() == "true")


def _given_above(evaluated: Evaluation, project: str, read: Read) -> frozenset[str]:
    """Return the packages that files above *project* declare for it, in lower case."""
    found: set[str] = set()
    for name in ("Directory.Build.props", "Directory.Packages.props", "Directory.Build.targets"):
        path = evaluated.nearest(name, posixpath.dirname(project))
        data = read(path) if path else None
        if path is None or data is None:
            continue
        try:
            declared = FORMATS["msbuild"].read(data, path).dependencies
        except ManifestError:
            continue
        found |= {item.name.lower() for item in declared if item.kind not in _ON_DEMAND}
    return frozenset(found)


def _project_reference(path: str) -> Dependency:
    written_path = path.replace("/", "\\")  # as every tool of .NET writes it
    return Dependency(
        language="csharp",
        name=written_path,
        normalised=path,
        source=DependencySource.PROJECT,
        origin=written_path,
    )


def written(
    path: str,
    data: bytes,
    inferred: Iterable[InferredDependency],
    inside: Iterable[Dependency] = (),
    *,
    central: bool = False,
) -> Written:
    """Return the build file with *inferred* and *inside* (what the repository itself provides) added.

    *central* says that NuGet takes versions from another file, so that a version is an override of it.
    """
    known = format_of(path) or FORMATS["requirements.txt"]
    try:
        present = known.read(data, path).dependencies
        needed = [item for item in present if item.kind not in _ON_DEMAND]
        declared = {name for item in needed for name in (item.name, item.alias) if name}
        names = {imported_name(known.language, name) for name in declared}
        added = [*(as_dependency(item, known, central=central) for item in inferred), *inside]
        added = [item for item in added if imported_name(known.language, item.name) not in names]
        content = known.write(data, [*present, *added], path) if added else data
    except ManifestError as error:
        return Written(path=path, content=data, problem=str(error))
    return Written(path=path, content=content, added=tuple(item.name for item in added))


def as_dependency(item: InferredDependency, known: ManifestFormat, *, central: bool = False) -> Dependency:
    """Return what a manifest of this format would declare."""
    if item.name == ASPNET:
        return Dependency(
            language="csharp", name=ASPNET, normalised=ASPNET.lower(), source=DependencySource.FRAMEWORK
        )
    constraint = item.constraint
    override = known.language == "csharp" and central and not constraint
    if not constraint and known.language in ("rust", "javascript", "csharp") and not override:
        constraint = "*"  # they demand something, and the source says nothing
    return Dependency(
        language=known.language,
        name=item.name,
        normalised=canonical_name(known.language, item.name),
        constraint=constraint,
        marker=item.marker if known.language == "python" else "",
        kind=DependencyKind.RUNTIME if known.language == "csharp" else DependencyKind(item.kind.value),
        details=(("VersionOverride", "*"),) if override else (),
    )


def _inferred(tree: SourceFiles, language: Language, path: str) -> tuple[list[InferredDependency], list[str]]:
    """Return what the source needs, and the import roots that the repository provides."""
    if language == "python" and any(word in posixpath.basename(path).lower() for word in _DEV_WORDS):
        return [], []  # such a file lists what developers use, which the imports of the package do not tell
    inferences = infer_tree(tree, {language})
    return (
        [item for one in inferences for item in one.dependencies],
        [name for one in inferences for name in one.local],
    )


def _told_apart(
    inferred: Iterable[InferredDependency], softly: Mapping[str, DependencyKind]
) -> Iterator[InferredDependency]:
    """Yield what is inferred, its kind weighed with what extras and groups of the manifests name.

    What such a declaration names is no run-time requirement unless loading the package surely imports it. Where
    extras are declared at all, what they leave out is required more often than the imports alone say.
    """
    telling = sum(kind is DependencyKind.OPTIONAL for kind in softly.values()) >= _TELLING
    for item in inferred:
        first = item.evidence[0]
        sure = first.place is SourcePlace.PACKAGE and not first.manners and first.reached is True
        plain = first.place is SourcePlace.PACKAGE and not set(first.manners) - {Manner.VERSION}
        kind = item.kind
        if kind is InferredKind.RUNTIME and item.name in softly and not sure:
            kind = InferredKind.OPTIONAL
        elif kind is InferredKind.OPTIONAL and item.name not in softly and telling and plain:
            kind = InferredKind.RUNTIME if (item.confidence or 0.0) >= _LIKELY else kind
        yield item.but(kind=kind)


def _declared_softly(root: Path, build_file: str, build_files: Sequence[str]) -> dict[str, DependencyKind]:
    """Return what extras, groups and developers' files declare, in the manifests beside *build_file*."""
    folder = posixpath.dirname(build_file)
    others = [
        other for path in build_files if _below(other := posixpath.dirname(path), folder) and other != folder
    ]
    found: dict[str, DependencyKind] = {}
    for one in find_manifests(root, "python"):
        if not _below(one.path, folder) or any(_below(one.path, other) for other in others):
            continue
        try:
            declared = FORMATS[one.format].read((root / one.path).read_bytes(), one.path).dependencies
        except (ManifestError, OSError):
            continue
        found |= {item.normalised: item.kind for item in declared if item.kind in _SOFT}
    return found


def _members(tree: SourceFiles, language: Language, build_file: str) -> dict[str, Dependency]:
    """Return how *build_file* would declare the repository's other packages, where languages do that by path."""
    if language != "rust":
        return {}
    found = {}
    folder = posixpath.dirname(build_file)
    for path, data in tree.manifests.items():
        name = crate_name(data) if path.endswith("Cargo.toml") and path != build_file else None
        if name is not None:
            origin = posixpath.relpath(posixpath.dirname(path) or ".", folder or ".")
            found[imported_name(language, name)] = Dependency(
                language=language, name=name, normalised=name, source=DependencySource.PATH, origin=origin
            )
    return found


def _around(tree: SourceFiles, build_file: str, build_files: Sequence[str]) -> SourceFiles:
    """Return the part of *tree* that a build file speaks for, with paths relative to its folder."""
    folder = posixpath.dirname(build_file)
    others = {posixpath.dirname(path) for path in build_files} - {folder}
    nested = [other for other in others if _below(other, folder)]

    def own(path: str) -> bool:
        return _below(path, folder) and not any(_below(path, other) for other in nested)

    start = len(folder) + 1 if folder else 0
    manifests: Mapping[str, bytes] = tree.manifests
    return tree._replace(
        sources=tuple(one._replace(path=one.path[start:]) for one in tree.sources if own(one.path)),
        manifests={path[start:]: data for path, data in manifests.items() if own(path)},
    )


def _below(path: str, folder: str) -> bool:
    return not folder or path.startswith(folder + "/")
