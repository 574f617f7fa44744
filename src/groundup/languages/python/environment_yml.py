"""environment.yml of conda, as far as it is a plain block list: packages of conda, and of pip below `- pip:`."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from groundup.languages.python.requirement import parse_requirement, place_kind, render_requirement
from groundup.languages.spelling import python_name
from groundup.manifests.editing import Text
from groundup.manifests.records import Dependency, DependencyKind, Language, ManifestError, Note, SectionKey
from groundup.manifests.sections import ManifestEntry, ManifestFormat, Scan, Section
from groundup.manifests.yaml_blocks import BlockSection, YamlBlock, blocks, brackets, top_level

CONDA = "conda"
"""The origin of a package that conda's channels hold; its name need not be the one on the Python package index."""
_PIP = "pip"
_SPEC = re.compile(r"(?:(?P<channel>[\w./-]+)::)?(?P<name>[A-Za-z0-9_.-]*[A-Za-z0-9_])\s*(?P<constraint>.*)$")
_KEPT = frozenset({"python", "pip"})


class EnvironmentYml(ManifestFormat):
    """conda's environment file."""

    name = "environment.yml"
    language: Language = "python"

    def recognises(self, path: PurePosixPath) -> bool:
        """Whether the file is called environment, with a suffix or a word more, and is YAML."""
        stem = path.stem.lower()
        return path.suffix in (".yml", ".yaml") and (
            stem in ("environment", "conda-environment", "conda_environment") or stem.startswith("environment-")
        )

    def scan(self, source: Text) -> Scan:
        """Find the block list of dependencies. One in another form is noted as unknown. Raises `ManifestError`."""
        path = PurePosixPath(source.path)
        kind, _ = place_kind((path.stem, *reversed(path.parts[:-1])))
        sections: list[Section] = []
        notes: list[Note] = []
        for top in top_level(source):
            if top.text == "dependencies":
                sections += _sections(source, top, kind, notes)
        return Scan(source, sections, notes)

    def home(self, dependency: Dependency) -> SectionKey:
        """Return conda's list or pip's."""
        return SectionKey(dependency.kind, "", CONDA if dependency.origin == CONDA else _PIP)


def _sections(source: Text, top: YamlBlock, kind: DependencyKind, notes: list[Note]) -> Iterator[Section]:
    """Yield conda's list, and pip's below it. Adds a note for what is not a plain block list."""
    try:
        items = _items(source, top)
        yield _section(source, SectionKey(kind, "", CONDA), top, items)
        for item in items:
            if item.text == _PIP and item.value is not None:
                yield _section(source, SectionKey(kind, "", _PIP), item, _items(source, item))
            elif item.value is not None:
                notes.append(_unclear(source, item.span.start))
    except ManifestError:
        notes.append(_unclear(source, top.span.start))


def _items(source: Text, block: YamlBlock) -> list[YamlBlock]:
    if block.scalar:
        raise source.error("must be a list", block.span.start)
    return blocks(source, block.value)


def _section(source: Text, key: SectionKey, parent: YamlBlock, items: Sequence[YamlBlock]) -> BlockSection:
    """Return the section of a list. What is added to conda's goes before the list of pip."""
    scalars = [item for item in items if item.value is None]
    entries = []
    for item in scalars:
        dependency = _dependency(item, key)
        if dependency is not None:
            known = {"text": item.text, "location": source.location(item.span)}
            entries.append(ManifestEntry(dependency.but(**known), item.span))
    end = scalars[-1].span.end if scalars else items[0].span.start if items else parent.span.end
    lead = (scalars or items)[0].lead if items else parent.lead.replace("-", " ") + "  - "
    return BlockSection(source, key, entries, end, lead, _rendered, brackets(source, parent))


def _unclear(source: Text, offset: int) -> Note:
    message = "dependencies are not written as a plain list, one on each line"
    return Note(topic="cannot-say", message=message, line=source.line_of(offset))


def _dependency(item: YamlBlock, key: SectionKey) -> Dependency | None:
    """Return the dependency of an item; None for python, pip and pip's options, which are no dependencies."""
    kind, text = key.kind, item.text.strip()
    if key.marker == _PIP:
        return None if text.startswith("-") else parse_requirement(text).dependency(kind)
    match = _SPEC.match(text)
    if match is None:
        return Dependency(language="python", name="", normalised="", kind=kind, origin=text)
    if match["name"] in _KEPT:
        return None
    return Dependency(
        language="python",
        name=match["name"],
        normalised=python_name(match["name"]),
        constraint=match["constraint"].strip(),
        kind=kind,
        origin=CONDA,
        details=(("channel", match["channel"]),) if match["channel"] else (),
    )


def _rendered(dependency: Dependency) -> str:
    if dependency.origin != CONDA:
        return render_requirement(dependency)
    channel = dict(dependency.details).get("channel")
    return f"{channel}::" * bool(channel) + dependency.name + dependency.constraint
