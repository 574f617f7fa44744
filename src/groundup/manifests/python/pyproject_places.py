"""Where a pyproject.toml declares dependencies: standards first, then the tools' own tables."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from groundup.manifests.python.requirement import group_kind
from groundup.manifests.records import DependencyKind, Note, SectionKey
from groundup.manifests.toml import Path, TomlDocument

POETRY = ("tool", "poetry")
HATCH_ENVS = ("tool", "hatch", "envs")
_FILE_HOOK = ("tool", "hatch", "metadata", "hooks", "requirements_txt")


class PyprojectPlace(NamedTuple):
    """A path in the document and the section that stands there."""

    path: Path
    key: SectionKey


def table(document: TomlDocument, *path: str) -> Mapping[str, object]:
    """Return the table at *path*; an empty one when there is none."""
    found = document.plain(*path)
    return found if isinstance(found, dict) else {}


def dynamic(document: TomlDocument) -> frozenset[str]:
    """Return the fields that `project.dynamic` leaves to others."""
    listed = document.plain("project", "dynamic")
    return frozenset(str(item) for item in listed) if isinstance(listed, list) else frozenset()


def refined_by_poetry(document: TomlDocument) -> bool:
    """Whether `tool.poetry.dependencies` only adds to `project.dependencies` (Poetry 2)."""
    return bool(document.plain("project", "dependencies")) and "dependencies" not in dynamic(document)


def places(document: TomlDocument) -> Iterator[PyprojectPlace]:
    """Yield all places that can hold declarations, whether or not there is anything at them."""
    yield PyprojectPlace(("project", "dependencies"), SectionKey(DependencyKind.RUNTIME))
    yield from _groups(document, ("project", "optional-dependencies"), DependencyKind.OPTIONAL)
    yield PyprojectPlace(("build-system", "requires"), SectionKey(DependencyKind.BUILD))
    for name in table(document, "dependency-groups"):
        yield PyprojectPlace(("dependency-groups", name), SectionKey(group_kind(name), name))
    yield from _poetry(document)
    yield from _groups(document, ("tool", "pdm", "dev-dependencies"), DependencyKind.DEV)
    yield PyprojectPlace(("tool", "pdm", "overrides"), SectionKey(DependencyKind.OVERRIDE))
    yield PyprojectPlace(("tool", "pdm", "resolution", "overrides"), SectionKey(DependencyKind.OVERRIDE))
    yield PyprojectPlace(("tool", "uv", "dev-dependencies"), SectionKey(DependencyKind.DEV, "dev"))
    yield PyprojectPlace(("tool", "uv", "constraint-dependencies"), SectionKey(DependencyKind.CONSTRAINT))
    yield PyprojectPlace(
        ("tool", "uv", "build-constraint-dependencies"), SectionKey(DependencyKind.CONSTRAINT, "build")
    )
    yield PyprojectPlace(("tool", "uv", "override-dependencies"), SectionKey(DependencyKind.OVERRIDE))
    yield PyprojectPlace(("tool", "flit", "metadata", "requires"), SectionKey(DependencyKind.RUNTIME))
    yield PyprojectPlace(("tool", "flit", "metadata", "dev-requires"), SectionKey(DependencyKind.DEV, "dev"))
    yield from _groups(document, ("tool", "flit", "metadata", "requires-extra"), DependencyKind.OPTIONAL)
    for name in table(document, *HATCH_ENVS):
        key = SectionKey(group_kind(name, DependencyKind.DEV), f"hatch.envs.{name}")
        yield PyprojectPlace((*HATCH_ENVS, name, "dependencies"), key)
        yield PyprojectPlace((*HATCH_ENVS, name, "extra-dependencies"), key)


def _groups(document: TomlDocument, path: Path, kind: DependencyKind) -> Iterator[PyprojectPlace]:
    for name in table(document, *path):
        yield PyprojectPlace((*path, name), SectionKey(kind, name))


def _poetry(document: TomlDocument) -> Iterator[PyprojectPlace]:
    if not refined_by_poetry(document):
        yield PyprojectPlace((*POETRY, "dependencies"), SectionKey(DependencyKind.RUNTIME))
    yield PyprojectPlace((*POETRY, "dev-dependencies"), SectionKey(DependencyKind.DEV, "dev"))
    for name in table(document, *POETRY, "group"):
        yield PyprojectPlace((*POETRY, "group", name, "dependencies"), SectionKey(group_kind(name), name))


def notes(document: TomlDocument) -> Iterator[Note]:
    """Yield what the file leaves to other files or to a program."""
    fields = dynamic(document)
    for name, kind in (
        ("dependencies", DependencyKind.RUNTIME),
        ("optional-dependencies", DependencyKind.OPTIONAL),
    ):
        if name in fields:
            value = document.value("project", "dynamic")
            line = document.source.line_of(value.span.start) if value else None
            message = f"project.{name} is dynamic: the build back end finds it elsewhere"
            yield Note(topic="dynamic", message=message, line=line, kind=kind)
    yield from _files(document, ("tool", "setuptools", "dynamic", "dependencies"), DependencyKind.RUNTIME)
    for name in table(document, "tool", "setuptools", "dynamic", "optional-dependencies"):
        path = ("tool", "setuptools", "dynamic", "optional-dependencies", name)
        yield from _files(document, path, DependencyKind.OPTIONAL, name)
    yield from _listed(document.plain(*_FILE_HOOK, "files"), DependencyKind.RUNTIME)
    for name, files in table(document, *_FILE_HOOK, "optional-dependencies").items():
        yield from _listed(files, DependencyKind.OPTIONAL, name)
    for name, members in table(document, "dependency-groups").items():
        for member in members if isinstance(members, list) else ():
            if isinstance(member, dict) and "include-group" in member:
                other = str(member["include-group"])
                message = f"group {name!r} includes group {other!r}"
                yield Note(topic="reference", message=message, kind=group_kind(name), group=name)


def _files(document: TomlDocument, path: Path, kind: DependencyKind, group: str = "") -> Iterator[Note]:
    yield from _listed(table(document, *path).get("file"), kind, group)


def _listed(files: object, kind: DependencyKind, group: str = "") -> Iterator[Note]:
    for file in [files] if isinstance(files, str) else files if isinstance(files, list) else ():
        message = f"{kind} dependencies are read from {file}"
        yield Note(topic="reference", message=message, target=str(file), kind=kind, group=group)
