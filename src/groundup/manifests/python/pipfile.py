"""Pipfile: tables of packages, dev-packages and further categories."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from groundup.manifests import toml
from groundup.manifests.editing import Edit, Text
from groundup.manifests.python import poetry
from groundup.manifests.python.requirement import group_kind
from groundup.manifests.records import Dependency, DependencyKind, Language, SectionKey
from groundup.manifests.sections import ManifestEntry, ManifestFormat, Scan
from groundup.manifests.toml_sections import KeySection, assignments

_OTHERS = frozenset({"source", "requires", "pipenv", "scripts"})


class Pipfile(ManifestFormat):
    """The manifest of pipenv."""

    name = "Pipfile"
    language: Language = "python"

    def recognises(self, path: PurePosixPath) -> bool:
        """Whether the file is called Pipfile."""
        return path.name == "Pipfile"

    def scan(self, source: Text) -> Scan:
        """Find all sections: every table that is none of pipenv's own. Raises `ManifestError`."""
        document = toml.parse(source)
        sections = [
            _section(document, name)
            for name, value in document.data.items()
            if name not in _OTHERS and isinstance(value, dict)
        ]
        return Scan(source, sections)

    def create(self, scan: Scan, key: SectionKey, added: Sequence[Dependency]) -> list[Edit]:
        """Make the table."""
        table = {DependencyKind.RUNTIME: "packages", DependencyKind.DEV: "dev-packages"}.get(key.kind, key.group)
        if not table:
            return super().create(scan, key, added)
        return assignments(toml.parse(scan.source), (table,), [poetry.rendered_key([item]) for item in added])


def _section(document: toml.TomlDocument, name: str) -> KeySection:
    source, entries, children = document.source, [], []
    known = {"packages": SectionKey(DependencyKind.RUNTIME), "dev-packages": SectionKey(DependencyKind.DEV, "dev")}
    key = known.get(name, SectionKey(group_kind(name), name))
    for child in document.children(name):
        span = child.span
        for dependency in poetry.read_value(child.name, document.plain(name, child.name), key.kind, key.group):
            where = {"text": source.text[span.start : span.end], "location": source.location(span)}
            entries.append(ManifestEntry(dependency.model_copy(update=where), span))
            children.append(child)
    return KeySection(document, (name,), key, entries, children, poetry.rendered_key)
