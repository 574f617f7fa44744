"""pnpm-workspace.yaml: catalogs, overrides and other lists of packages, edited line by line.

Only block style is understood, which is what pnpm itself writes: a key or a `- name` per line. A section in
another style is refused rather than left to leak.
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.javascript.specifiers import selected
from groundup.manifests.lines import deletions, inserted_lines, with_touching_comments
from groundup.manifests.records import Dependency, DependencyKind, Language, Note, SectionKey
from groundup.manifests.sections import ManifestEntry, Scan, SpanFormat
from groundup.manifests.sections import Section as SectionBase

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
_KEY = re.compile(
    r"""(?P<key>"[^"]*"|'[^']*'|[^\s"'#:-][^:\n]*?)[ ]*:(?:[ ]+(?P<value>[^#\s].*?))?[ ]*(?:[ ]#.*)?"""
)
_ITEM = re.compile(r"""-[ ]+(?P<key>"[^"]*"|'[^']*'|[^\s"'#].*?)[ ]*(?:[ ]#.*)?""")
_PLAIN = re.compile(r"[A-Za-z0-9^~<>=./_-][\w^~<>=./ $|+-]*(?<! )")


@dataclass(frozen=True)
class _Block:
    """A line and the lines that belong to it because they are indented further."""

    span: Span
    indent: str
    text: str
    """The first line, without indentation and line end."""
    below: tuple["_Block", ...]


@dataclass(frozen=True)
class _Listed(SectionBase):
    """The blocks below one key."""

    source: Text
    key: SectionKey
    block: _Block
    entries: Sequence[ManifestEntry]
    brackets: Span | None
    """Where the section is written `{}` or `[]`."""

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that leave *kept*, then *added*, a line for each."""
        gone = [entry.span for i, entry in enumerate(self.entries) if i not in kept]
        below = self.block.below
        indent = below[0].indent if below else self.block.indent + "  "
        listed = below[0].text.startswith("-") if below else _is_list(self.key)
        lines = [indent + _rendered(item, listed=listed) for item in added]
        edits = deletions(gone) + inserted_lines(self.source, self.block.span.end, lines)
        return [Edit(*self.brackets), *edits] if added and self.brackets else edits

    def clearing(self) -> list[Edit]:
        """Return the edits that remove all entries and the comments that touch them."""
        return deletions([with_touching_comments(self.source, entry.span) for entry in self.entries])


class PnpmWorkspace(SpanFormat):
    """The workspace file of pnpm."""

    name = "pnpm-workspace.yaml"
    language: Language = "javascript"

    def recognises(self, path: PurePosixPath) -> bool:
        """Whether the file is called pnpm-workspace.yaml."""
        return path.name == "pnpm-workspace.yaml"

    def scan(self, source: Text) -> Scan:
        """Find the sections. Raises `ManifestError` where one is not written in block style."""
        sections: list[SectionBase] = []
        notes: list[Note] = []
        for block in _blocks(source):
            match = _KEY.fullmatch(block.text)
            name = _unquoted(match["key"]) if match else ""
            if match and name in _KINDS:
                sections.append(_listed(source, block, match, SectionKey(_KINDS[name], name)))
            elif match and name in _NESTED:
                _refuse_value(source, block, match)
                for below in block.below:
                    named = _KEY.fullmatch(below.text)
                    if named is None:
                        raise source.error(f"has no name below {name}", below.span.start)
                    key = SectionKey(_NESTED[name], f"{name}.{_unquoted(named['key'])}")
                    sections.append(_listed(source, below, named, key))
            elif name == "packages":
                notes += _packages(source, block)
        return Scan(source, sections, tuple(notes))

    def create(self, scan: Scan, key: SectionKey, added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that make a section at the end. Raises `ManifestError` for other kinds."""
        top, _, below = key.group.partition(".")
        usual = _KINDS.get(key.group) is key.kind
        if not usual and not (below and _NESTED.get(top) is key.kind):
            return super().create(scan, key, added)
        source = scan.source
        parent = next((block for block in _blocks(source) if block.text.startswith(f"{top}:")), None)
        lines = [f"{key.group}:"] if usual else [f"  {_scalar(below)}:"]
        if not usual and parent is None:
            lines.insert(0, f"{top}:")
        lines += [("  " if usual else "    ") + _rendered(item, listed=_is_list(key)) for item in added]
        offset = len(source.text) if usual or parent is None else parent.span.end
        return inserted_lines(source, offset, lines)


def _is_list(key: SectionKey) -> bool:
    """Whether pnpm wants a list of names there."""
    return key.group.endswith(("BuiltDependencies", "ignoreMissing", "allowAny"))


def _blocks(source: Text) -> tuple[_Block, ...]:
    """Return the top-level blocks."""
    lines = []
    offset = 0
    for line in source.text.splitlines(keepends=True):
        text = line.strip()
        if text and not text.startswith("#") and text not in ("---", "..."):
            if line.startswith("\t"):
                raise source.error("is indented by a tab, which YAML forbids", offset)
            lines.append((Span(offset, offset + len(line)), line[: len(line) - len(line.lstrip(" "))], text))
        offset += len(line)
    return _nested(lines)


def _nested(lines: Sequence[tuple[Span, str, str]]) -> tuple[_Block, ...]:
    blocks = []
    at = 0
    while at < len(lines):
        span, indent, text = lines[at]
        end = at + 1
        while end < len(lines) and (
            len(lines[end][1]) > len(indent)
            # a list may stand as deep as its key
            or (lines[end][1] == indent and lines[end][2].startswith("-") and not text.startswith("-"))
        ):
            end += 1
        below = _nested(lines[at + 1 : end]) if end - at < 500 or len(indent) < 20 else ()
        blocks.append(_Block(Span(span.start, lines[end - 1][0].end), indent, text, below))
        at = end
    return tuple(blocks)


def _listed(source: Text, block: _Block, match: re.Match[str], key: SectionKey) -> _Listed:
    brackets = None
    if match["value"] in ("{}", "[]") and not block.below:
        start = block.span.start + len(block.indent)
        colon = block.text.index(":", match.end("key"))
        brackets = Span(start + colon + 1, start + match.end("value"))
    else:
        _refuse_value(source, block, match)
    entries = [ManifestEntry(_dependency(source, item, key), item.span) for item in block.below]
    return _Listed(source, key, block, entries, brackets)


def _refuse_value(source: Text, block: _Block, match: re.Match[str]) -> None:
    if match["value"]:
        reason = f"{_unquoted(match['key'])} is not written in block style; write one name per line"
        raise source.error(reason, block.span.start)


def _dependency(source: Text, block: _Block, key: SectionKey) -> Dependency:
    match = _KEY.fullmatch(block.text) or _ITEM.fullmatch(block.text)
    if match is None:
        raise source.error(f"{block.text!r} is no name with a value; write one name per line", block.span.start)
    written = _unquoted(match["key"])
    name = selected(written)
    details = [] if name == written else [("selector", written)]
    if block.below:
        first = source.line_end(block.span.start)
        details.append(("lines", source.text[first : block.span.end].rstrip().replace("\r\n", "\n")))
    return Dependency(
        language="javascript",
        name=name,
        normalised=name,
        constraint=_unquoted(match.groupdict().get("value") or ""),
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
        return f"- {name}"
    if "lines" in details:
        return f"{name}:\n{details['lines']}"
    return f"{name}: {_scalar(dependency.constraint)}"


def _packages(source: Text, block: _Block) -> Iterator[Note]:
    for item in block.below:
        match = _ITEM.fullmatch(item.text)
        if match:
            target = _unquoted(match["key"])
            message = f"the workspace has further manifests in {target}"
            yield Note(topic="reference", message=message, line=source.line_of(item.span.start), target=target)


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return str(json.loads(text))
        except ValueError:
            return text[1:-1]
    return text


def _scalar(text: str) -> str:
    number = re.fullmatch(r"[\d.]+|true|false|null|~|[<>=].*|-.*", text)
    return text if _PLAIN.fullmatch(text) and not number else "'" + text.replace("'", "''") + "'"
