"""Editing declarations that have lines of their own: TOML tables, requirements files, setup.cfg values."""

from collections.abc import Collection

from groundup.manifests.editing import Edit, Span, Text


def whole_lines(source: Text, span: Span) -> Span:
    """Return the span of all lines that *span* touches, line ends included."""
    last = max(span.start, span.end - 1)
    return Span(source.line_start(span.start), source.line_end(last))


def with_touching_comments(source: Text, lines: Span, marks: str = "#") -> Span:
    """Widen *lines* by the comment lines directly above and below, which speak of what is declared there.

    A comment directly above a `[header]` speaks of the header and stays.
    """
    start, end, text = lines.start, lines.end, source.text
    while start > 0:
        above = source.line_start(start - 1)
        if _first(source, above) not in tuple(marks):
            break
        start = above
    below = end
    while below < len(text) and text[below - 1] == "\n" and _first(source, below) in tuple(marks):
        below = source.line_end(below)
    if text[below : below + 1] != "[":
        end = below
    return Span(start, end)


def _first(source: Text, offset: int) -> str:
    return source.text[offset : source.line_end(offset)].lstrip()[:1]


def with_blank_lines_below(source: Text, lines: Span) -> Span:
    """Widen *lines* by the blank lines directly below."""
    end = lines.end
    while end < len(source.text) and not source.text[end : source.line_end(end)].strip():
        end = source.line_end(end)
    return Span(lines.start, end)


def deletions(spans: Collection[Span]) -> list[Edit]:
    """Return the edits that delete *spans*, which may overlap."""
    merged: list[Edit] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Edit(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(Edit(*span))
    return merged


def inserted_lines(source: Text, offset: int, lines: Collection[str]) -> list[Edit]:
    """Return the edit that puts *lines* at the start of a line at *offset*, or after an unfinished last line."""
    if not lines:
        return []
    newline = source.newline
    body = "".join(line + newline for line in lines)
    if offset and source.text[offset - 1] != "\n":
        body = newline + body.removesuffix(newline)
    return [Edit(offset, offset, body)]
