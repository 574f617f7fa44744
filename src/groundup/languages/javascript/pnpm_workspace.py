"""pnpm-workspace.yaml: catalogs, overrides and other lists of packages, edited line by line.

Only block style is edited, which is what pnpm itself writes: a key or a `- name` per line. A section in another
style is refused: a mask could not empty it.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from groundup.languages.javascript.package_json import selected
from groundup.languages.spelling import as_written
from groundup.manifests.editing import Edit, Text
from groundup.manifests.records import Dependency, DependencyKind, Language, Note, SectionKey
from groundup.manifests.sections import ManifestEntry, ManifestFormat, Scan, Section, inserted_lines
from groundup.manifests.yaml_blocks import BlockSection, YamlBlock, blocks, brackets, top_level

_KINDS = {
    "catalog": DependencyKind.CONSTRAINT,
    "overrides": DependencyKind.OVERRIDE,
    "packageExtensions": DependencyKind.OVERRIDE,
    "patchedDependencies": DependencyKind.OVERRIDE,
    "allowedDeprecatedVersions": DependencyKind.OVERRIDE,
    "onlyBuiltDependencies": DependencyKind.OVERRIDE,
    "neverBuiltDependencies": DependencyKind.OVERRIDE,
    "ignoredBuiltDependencies": DependencyKind.OVERRIDE,
    "allowBuilds": DependencyKind.OVERRIDE,
}
_NESTED = {"catalogs": DependencyKind.CONSTRAINT, "peerDependencyRules": DependencyKind.OVERRIDE}
"""Keys whose own keys hold the packages."""
_PLAIN = re.compile(r"[A-Za-z0-9^~<>=./_-][\w^~<>=./ $|+-]*(?<! )")


class PnpmWorkspace(ManifestFormat):
    """The workspace file of pnpm."""

    name = "pnpm-workspace.yaml"
    held_kinds = frozenset({DependencyKind.CONSTRAINT, DependencyKind.OVERRIDE})
    language: Language = "javascript"

    def recognises(self, path: PurePosixPath) -> bool:
        """Whether the file is called pnpm-workspace.yaml."""
        return path.name == "pnpm-workspace.yaml"

    def scan(self, source: Text) -> Scan:
        """Find the sections. Raises `ManifestError` where one is not written in block style."""
        sections: list[Section] = []
        notes: list[Note] = []
        for block in top_level(source):
            if block.text in _KINDS:
                sections.append(_listed(source, block, SectionKey(_KINDS[block.text], block.text)))
            elif block.text in _NESTED:
                for below in blocks(source, block.value):
                    key = SectionKey(_NESTED[block.text], f"{block.text}.{below.text}")
                    sections.append(_listed(source, below, key))
            elif block.text == "packages":
                notes += _packages(source, block)
        return Scan(source, sections, tuple(notes))

    def create(self, scan: Scan, key: SectionKey, added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that make a section at the end. Raises `ManifestError` for other kinds."""
        top, _, below = key.group.partition(".")
        usual = _KINDS.get(key.group) is key.kind
        if not usual and not (below and _NESTED.get(top) is key.kind):
            return super().create(scan, key, added)
        source = scan.source
        parent = next((block for block in top_level(source) if block.text == top), None)
        lines = [f"{key.group}:"] if usual else [f"  {_scalar(below)}:"]
        if not usual and parent is None:
            lines.insert(0, f"{top}:")
        lead = ("  " if usual else "    ") + ("- " if _is_list(key) else "")
        lines += [lead + _rendered(item, listed=_is_list(key)) for item in added]
        offset = len(source.text) if usual or parent is None else parent.span.end
        return inserted_lines(source, offset, lines)


def _is_list(key: SectionKey) -> bool:
    """Whether pnpm wants a list of names there."""
    return key.group.endswith(("BuiltDependencies", "ignoreMissing", "allowAny"))


def _listed(source: Text, block: YamlBlock, key: SectionKey) -> BlockSection:
    if block.scalar:
        raise source.error(f"{block.text} must list names, one on each line", block.span.start)
    below = blocks(source, block.value)
    entries = [ManifestEntry(_dependency(source, item, key), item.span) for item in below]
    lead = below[0].lead if below else block.lead + ("  - " if _is_list(key) else "  ")

    def render(dependency: Dependency) -> str:
        return _rendered(dependency, listed="-" in lead)

    return BlockSection(source, key, entries, block.span.end, lead, render, brackets(source, block))


def _dependency(source: Text, block: YamlBlock, key: SectionKey) -> Dependency:
    if not block.text or ("-" in block.lead and block.value is not None):
        raise source.error("has an entry that is no name; write one name per line", block.span.start)
    name = selected(block.text)
    details = [] if name == block.text else [("selector", block.text)]
    if block.value is not None and block.scalar is None:
        first = source.line_end(block.span.start)
        details.append(("lines", source.text[first : block.span.end].rstrip().replace("\r\n", "\n")))
    return Dependency(
        language="javascript",
        name=name,
        normalised=as_written(name),
        constraint=(block.scalar or "").strip(),
        kind=key.kind,
        group=key.group,
        details=tuple(details),
        text=source.text[block.span.start : block.span.end].strip(),
        location=source.location(block.span),
    )


def _rendered(dependency: Dependency, *, listed: bool) -> str:
    details = dict(dependency.details)
    name = _scalar(details.get("selector", dependency.name))
    if listed:
        return name
    if "lines" in details:
        return f"{name}:\n{details['lines']}"
    return f"{name}: {_scalar(dependency.constraint)}"


def _packages(source: Text, block: YamlBlock) -> Iterator[Note]:
    """Yield a note on each pattern, in whatever style the list is written: nothing of it is edited."""
    for item in block.value.value if block.value is not None and isinstance(block.value.value, list) else ():
        if isinstance(item, tuple) or not isinstance(item.value, str):
            continue
        message = f"the workspace has further manifests in {item.value}"
        line = source.line_of(item.start_mark.index)
        yield Note(topic="reference", message=message, line=line, target=item.value)


def catalogs_of(data: bytes) -> list[Dependency]:
    """Return what the catalogs define, in whatever style of YAML: flow, anchors. Nothing if unreadable."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        document = YAML(typ="safe", pure=True).load(data.decode("utf-8-sig"))
    except (YAMLError, ValueError, RecursionError):
        return []
    document = document if isinstance(document, dict) else {}
    named = document.get("catalogs")
    tables = {"catalog": document.get("catalog")}
    tables |= {f"catalogs.{name}": table for name, table in (named if isinstance(named, dict) else {}).items()}
    return [
        Dependency(
            language="javascript",
            name=str(name),
            normalised=as_written(str(name)),
            constraint=str(constraint),
            kind=DependencyKind.CONSTRAINT,
            group=group,
        )
        for group, table in tables.items()
        for name, constraint in (table if isinstance(table, dict) else {}).items()
    ]


def _scalar(text: str) -> str:
    number = re.fullmatch(r"[\d.]+|true|false|null|~|[<>=].*|-.*", text)
    return text if _PLAIN.fullmatch(text) and not number else "'" + text.replace("'", "''") + "'"
