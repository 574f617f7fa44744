"""INI files with spans: sections, options and the lines of their values, as configparser reads them."""

import re
from dataclasses import dataclass, field

from groundup.manifests.editing import Span, Text

_SECTION = re.compile(r"\[(?P<name>[^\]]+)\]")
_OPTION = re.compile(r"(?P<key>[^\s=:][^=:]*?)[ \t]*[=:][ \t]*")


@dataclass(frozen=True)
class Line:
    """One line of a value without blanks around it; comments and blank lines are no lines of a value."""

    text: str
    span: Span


@dataclass
class Option:
    """`key = value`, with further lines of the value indented below."""

    key: str
    start: int
    value_start: int
    """Offset after the sign and the blanks behind it."""
    end: int
    """Offset after the last line of the value, line end not included."""
    lines: list[Line] = field(default_factory=list)

    @property
    def inline(self) -> bool:
        """Whether the value starts on the line of the key."""
        return bool(self.lines) and self.lines[0].span.start == self.value_start


@dataclass
class IniSection:
    """What stands below one `[header]`."""

    name: str
    header: Span
    options: list[Option] = field(default_factory=list)
    end: int = 0
    """Offset after the last line that says something, line end included."""

    def option(self, key: str) -> Option | None:
        """Return the option of *key*, where `-` and `_` are the same, or None."""
        return next((item for item in self.options if item.key.replace("-", "_") == key), None)


def parse_ini(source: Text) -> list[IniSection]:
    """Return the sections of *source*. Raises `ManifestError` for a line that configparser would refuse."""
    sections: list[IniSection] = []
    option: Option | None = None
    at = 0
    while at < len(source.text):
        end = source.line_end(at)
        line = source.text[at:end]
        content = line.rstrip()
        stripped = content.strip()
        span = Span(at + len(content) - len(content.lstrip()), at + len(content))
        if not stripped or stripped[0] in "#;":
            pass
        elif line[0] in " \t" and option is not None:
            option.lines.append(Line(stripped, span))
            option.end = span.end
        elif header := _SECTION.match(stripped):
            sections.append(IniSection(header["name"], span))
            option = None
        elif not sections:
            raise source.error("has a line before its first [section]; is this an INI file?", at)
        else:
            option = _option(source, content, span)
            sections[-1].options.append(option)
        if stripped and stripped[0] not in "#;" and sections:
            sections[-1].end = end
        at = end
    return sections


def _option(source: Text, content: str, span: Span) -> Option:
    match = _OPTION.match(source.text, span.start, span.end)
    if match is None:
        raise source.error(
            f"is not valid INI: {content.strip()[:60]!r} is neither a section nor key = value", span.start
        )
    option = Option(match["key"].strip(), span.start, match.end(), span.end)
    if match.end() < span.end:
        option.lines.append(Line(source.text[match.end() : span.end], Span(match.end(), span.end)))
    return option
