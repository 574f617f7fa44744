"""Where a pyproject.toml declares dependencies: standards first, then the tools' own tables."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from groundup.manifests.python.names import group_kind
from groundup.manifests.records import Kind, Note, SectionKey
from groundup.manifests.toml import Document, Path

POETRY = ("tool", "poetry")
HATCH_ENVS = ("tool", "hatch", "envs")
_FILE_HOOK = ("tool", "hatch", "metadata", "hooks", "requirements_txt")


class Place(NamedTuple):
    """A path in the document and the section that stands there."""

    path: Path
    key: SectionKey


def table(document: Document, *path: str) -> Mapping[str, object]:
    """Return the table at *path*; an empty one when there is none."""
    found = document.plain(*path)
    return found if isinstance(found, dict) else {}


def dynamic(document: Document) -> frozenset[str]:
    """Return the fields that `project.dynamic` leaves to others."""
    listed = document.plain("project", "dynamic")
    return frozenset(str(item) for item in listed) if isinstance(listed, list) else frozenset()


def refined_by_poetry(document: Document) -> bool:
    """Whether `tool.poetry.dependencies` only says more about `project.dependencies` (Poetry 2)."""
    return bool(document.plain("project", "dependencies")) and "dependencies" not in dynamic(document)


def places(document: Document) -> Iterator[Place]:
    """Yield all places that can hold declarations, whether or not there is anything at them."""
    yield Place(("project", "dependencies"), SectionKey(Kind.RUNTIME))
    yield from _groups(document, ("project", "optional-dependencies"), Kind.OPTIONAL)
    yield Place(("build-system", "requires"), SectionKey(Kind.BUILD))
    for name in table(document, "dependency-groups"):
        yield Place(("dependency-groups", name), SectionKey(group_kind(name), name))
    yield from _poetry(document)
    yield from _groups(document, ("tool", "pdm", "dev-dependencies"), Kind.DEV)
    yield Place(("tool", "pdm", "overrides"), SectionKey(Kind.OVERRIDE))
    yield Place(("tool", "pdm", "resolution", "overrides"), SectionKey(Kind.OVERRIDE))
    yield Place(("tool", "uv", "dev-dependencies"), SectionKey(Kind.DEV, "dev"))
    yield Place(("tool", "uv", "constraint-dependencies"), SectionKey(Kind.CONSTRAINT))
    yield Place(("tool", "uv", "build-constraint-dependencies"), SectionKey(Kind.CONSTRAINT, "build"))
    yield Place(("tool", "uv", "override-dependencies"), SectionKey(Kind.OVERRIDE))
    yield Place(("tool", "flit", "metadata", "requires"), SectionKey(Kind.RUNTIME))
    yield Place(("tool", "flit", "metadata", "dev-requires"), SectionKey(Kind.DEV, "dev"))
    yield from _groups(document, ("tool", "flit", "metadata", "requires-extra"), Kind.OPTIONAL)
    for name in table(document, *HATCH_ENVS):
        key = SectionKey(group_kind(name, Kind.DEV), f"hatch.envs.{name}")
        yield Place((*HATCH_ENVS, name, "dependencies"), key)
        yield Place((*HATCH_ENVS, name, "extra-dependencies"), key)


def _groups(document: Document, path: Path, kind: Kind) -> Iterator[Place]:
    for name in table(document, *path):
        yield Place((*path, name), SectionKey(kind, name))


def _poetry(document: Document) -> Iterator[Place]:
    if not refined_by_poetry(document):
        yield Place((*POETRY, "dependencies"), SectionKey(Kind.RUNTIME))
    yield Place((*POETRY, "dev-dependencies"), SectionKey(Kind.DEV, "dev"))
    for name in table(document, *POETRY, "group"):
        yield Place((*POETRY, "group", name, "dependencies"), SectionKey(group_kind(name), name))


def notes(document: Document) -> Iterator[Note]:
    """Yield what the file leaves to other files or to a program."""
    fields = dynamic(document)
    for name, kind in (("dependencies", Kind.RUNTIME), ("optional-dependencies", Kind.OPTIONAL)):
        if name in fields:
            value = document.value("project", "dynamic")
            line = document.source.line_of(value.span.start) if value else None
            message = f"project.{name} is dynamic: the build back end finds it elsewhere"
            yield Note(topic="dynamic", message=message, line=line, kind=kind)
    yield from _files(document, ("tool", "setuptools", "dynamic", "dependencies"), Kind.RUNTIME)
    for name in table(document, "tool", "setuptools", "dynamic", "optional-dependencies"):
        path = ("tool", "setuptools", "dynamic", "optional-dependencies", name)
        yield from _files(document, path, Kind.OPTIONAL, name)
    yield from _listed(document.plain(*_FILE_HOOK, "files"), Kind.RUNTIME)
    for name, files in table(document, *_FILE_HOOK, "optional-dependencies").items():
        yield from _listed(files, Kind.OPTIONAL, name)
    for name, members in table(document, "dependency-groups").items():
        for member in members if isinstance(members, list) else ():
            if isinstance(member, dict) and "include-group" in member:
                other = str(member["include-group"])
                message = f"group {name!r} includes group {other!r}"
                yield Note(topic="reference", message=message, kind=group_kind(name), group=name)


def _files(document: Document, path: Path, kind: Kind, group: str = "") -> Iterator[Note]:
    yield from _listed(table(document, *path).get("file"), kind, group)


def _listed(files: object, kind: Kind, group: str = "") -> Iterator[Note]:
    for file in [files] if isinstance(files, str) else files if isinstance(files, list) else ():
        message = f"{kind} dependencies are read from {file}"
        yield Note(topic="reference", message=message, target=str(file), kind=kind, group=group)
