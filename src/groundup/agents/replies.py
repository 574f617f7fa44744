"""The files of a model's reply, in whatever form it gives them; of a reply without one, what it is instead.

`answers` owns the form that models are asked for. The others are those in which models hand over files all the
same: tags, JSON, here-documents, markers around whole files, search and replace, diffs. The first form that
gives a file counts, so what a file holds is never read as a file of its own.
"""

import html
import re
import textwrap
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from groundup.agents.answers import SHELLS, TOLD, FencedBlock, blocks, heading_path, read_files, unindented
from groundup.agents.calls import calls_in_python, calls_in_tags
from groundup.agents.collected_files import FoundFiles, looks_like_file
from groundup.agents.delimited import enclosed
from groundup.agents.json_files import json_in_words, parsed_json, take_json, whole_json
from groundup.agents.patches import Read, is_patch
from groundup.agents.reply_text import refuses, said
from groundup.domain.conversations import ChatReply


class ReplyKind(StrEnum):
    """What a reply is."""

    FILES = "files"
    EMPTY = "it is empty"
    PROSE = "it is prose"
    REFUSAL = "it refuses"
    CUT = "it was cut off"
    PATCH = "its patch does not apply"
    NAMELESS = "its code names no file"
    OUTSIDE = "its paths lead outside the workspace"


class ReadReply(NamedTuple):
    """What a reply hands over."""

    kind: ReplyKind
    files: Mapping[str, bytes]
    problems: tuple[str, ...] = ()
    """What was not taken, in words."""


_NAME = r"[^\s`\"'*:<>|=]+"


def read_reply(reply: ChatReply, read: Read = lambda _: None) -> ReadReply:
    """Return the files of *reply*; *read* gives what lies in the workspace, for patches."""
    text = said(reply)
    found = FoundFiles(read)
    for form in (
        whole_json,
        _tags_before_fences,
        _calls,
        _in_fences,
        _documents,
        _markers,
        json_in_words,
    ):
        form(text, found)
        if found.files:
            return ReadReply(ReplyKind.FILES, found.files, tuple(found.problems))
    return ReadReply(_kind(text, reply, found), {}, tuple(dict.fromkeys(found.problems)))


def _kind(text: str, reply: ChatReply, found: FoundFiles) -> ReplyKind:
    """Return what a reply without a file is."""
    there = [*blocks(text)]
    if reply.finish == "length" or any(not block.closed for block in there) or _breaks_off(text):
        return ReplyKind.CUT
    if found.unfit:
        return ReplyKind.PATCH
    if found.outside:
        return ReplyKind.OUTSIDE
    if reply.finish == "content_filter" or (refuses(text) and not there):
        return ReplyKind.REFUSAL
    if not text.strip():
        return ReplyKind.EMPTY
    return ReplyKind.NAMELESS if any(_is_code(block) for block in there) else ReplyKind.PROSE


def _is_code(block: FencedBlock) -> bool:
    return bool(block.content.strip()) and block.language not in SHELLS


def _breaks_off(text: str) -> bool:
    """Whether JSON or a tag of a file has no end."""
    stripped = text.strip()
    if stripped.startswith(("{", "[")) and parsed_json(stripped) is None and '"' in stripped:
        return True
    opened = _ATTRIBUTE.search(text) or _CHILD.search(text)
    return opened is not None and f"</{opened[1]}>" not in text


# --- tags

_ATTRIBUTE = re.compile(
    r"<([A-Za-z][\w:-]*)\b[^<>]*?\b(?:path|file|filename|name|filePath|file_path|filepath|src|target|title)\s*=\s*"
    r"[\"']([^\"'<>]+)[\"'][^<>]*(?<!/)>",
    re.IGNORECASE,
)
_CHILD = re.compile(
    r"<([A-Za-z][\w:-]*)\b[^<>]*>\s*<(path|name|filename|file_path|file_name|filepath|source|file)>\s*([^<>\n]+?)\s*</\2>",
    re.IGNORECASE,
)
_INNER = re.compile(
    r"\A\s*<(diff|content|contents|code|document_content|file_content|file_text|source|text)\b[^<>]*>(.*)</\1>\s*\Z",
    re.DOTALL | re.IGNORECASE,
)
_CDATA = re.compile(r"\A\s*<!\[CDATA\[\n?(.*?)\]\]>\s*\Z", re.DOTALL)


def _tags_before_fences(text: str, found: FoundFiles) -> None:
    """Take tags, unless a fence comes first: tags are then what a file holds."""
    fence = re.search(r"^ {0,3}(```|~~~)", text, re.MULTILINE)
    at = 0
    for tag, named, begins in _tags(text):
        if begins < at:
            continue  # a file's content
        path = named.strip().strip("`")
        if not (looks_like_file(path) or "/" in path):
            continue  # a tag around others, which has a title, say
        ends = text.find(f"</{tag}>", begins)
        if ends < 0 or (
            fence is not None
            and fence.start() < begins
            and not found.files
            and not _wraps(text, fence.start(), tag)
        ):
            return
        at = ends + len(tag) + 3
        content = _tagged(text[begins:ends])
        if is_patch(content):
            found.apply(content, path)
        else:
            found.add(path, content)


def _calls(text: str, found: FoundFiles) -> None:
    """Take what calls of tools in tags write."""
    for given in calls_in_tags(text):
        take_json(given, found)


def _wraps(text: str, fence: int, tag: str) -> bool:
    """Whether the fence is around tags as a whole, as in a block of XML."""
    line = text[fence : text.find("\n", fence)].strip("`~ \n").lower()
    return line in ("xml", "html") and f"<{tag}" in text[fence:]


def _tags(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield tags that name a file, in order: the tag's name, the path, and where its content begins."""
    found = [(tag.start(), tag[1], tag[2], tag.end()) for tag in _ATTRIBUTE.finditer(text)]
    found += [(tag.start(), tag[1], tag[3], tag.end()) for tag in _CHILD.finditer(text)]
    for _, tag, path, begins in sorted(found):
        yield tag, path, begins


def _tagged(text: str) -> str:
    """Return what a tag holds, without what it is wrapped in."""
    inner = _INNER.match(text)
    text = inner[2] if inner else text
    if (data := _CDATA.match(text)) is not None:
        return data[1]
    text = text.removeprefix("\n")
    inside = [*blocks(text.strip())]
    if len(inside) == 1 and inside[0].closed and text.strip().startswith(("```", "~~~")):
        return inside[0].content
    if "<" not in text and re.search(r"&(lt|gt|amp|quot);", text):
        return html.unescape(text)
    return text.rstrip(" \t")


# --- fences, and patches in fences or without


def _in_fences(text: str, found: FoundFiles) -> None:
    """Take blocks, by what names their file most clearly, and apply patches."""
    answer = read_files(text)
    bare = {
        block.path: block.content
        for block in blocks(text)
        if block.path and block.closed and block.language in ("diff", "patch") and not is_patch(block.content)
    }
    found.files.update(
        {
            name: content
            for name, content in answer.files.items()
            if not is_patch(content.decode(errors="replace")) and name not in bare
        }
    )
    for path, hunk in bare.items():  # a diff whose file the heading names
        found.apply(f"--- {path}\n+++ {path}\n@@ @@\n{hunk}")
    if is_patch(text):
        found.apply(text)
    found.problems += answer.problems
    found.outside = found.outside or answer.outside
    _in_blocks(text, found)
    _around_blocks(text, found)


_HERE = re.compile(
    rf"^[ \t]*(?:sudo\s+)?(?:tee\s+(?P<c>{_NAME})\s*(?:>\s*/dev/null\s*)?<<"
    rf"|(?:cat|tee)\s*(?:>\s*(?P<a>{_NAME})\s*<<|<<))"
    r"-?\s*['\"]?(?P<end>\w+)['\"]?"
    rf"(?:\s*>\s*(?P<b>{_NAME}))?[ \t]*\n",
    re.MULTILINE,
)


def _documents(text: str, found: FoundFiles) -> None:
    """Take here-documents of shells."""
    for document in enclosed(text, _HERE, lambda opening: rf"^{opening['end']}[ \t]*$", re.MULTILINE):
        if path := document.opening["a"] or document.opening["b"] or document.opening["c"]:
            found.add(path, document.inside)


_SAYS_PATH = re.compile(
    rf"\A\s*(?:#|//|--|;|%|/\*|<!--|\"\"\"|''')+(?:\s*[=*-]{{2,}})?\s*(?:file(?:name|path)?\s*:\s*|path\s*:\s*)?(?P<path>{_NAME})(?:\s+[=*-]{{2,}})?\s*(?:\*/|-->|\"\"\"|''')?\s*\Z",
    re.IGNORECASE,
)


def _in_blocks(text: str, found: FoundFiles) -> None:
    """Take blocks of JSON or of calls with files, and blocks whose first line says which file they are."""
    for block in blocks(text):
        if not block.closed or block.path is not None:
            continue
        if block.language in ("json", "jsonl", "") and block.content.lstrip()[:1] in ("{", "["):
            whole_json(block.content, found)
            continue
        if block.language in ("tool_code", "python", "py"):
            for given in calls_in_python(block.content):
                found.add_more(given["path"], given["content"])
        for one in _IN_YAML.finditer(block.content if block.language in ("yaml", "yml") else ""):
            found.add_more(one["path"], textwrap.dedent(one["text"]))
        first, _, more = block.content.partition("\n")
        told = _said_path(more.partition("\n")[0] if first.startswith("#!") else first)
        if told is not None:
            for path, content in _parts(told, block.content):
                found.add_more(path, content)


def _said_path(line: str) -> str | None:
    said = _SAYS_PATH.match(line)
    return said["path"] if said is not None and looks_like_file(said["path"]) else None


def _parts(path: str, content: str) -> Iterator[tuple[str, str]]:
    """Yield the files of a block: the one of *path*, and those that further such lines with a rule begin."""
    lines = content.splitlines(keepends=True)
    starts = (
        [0]
        if not _RULED.match(lines[0])
        else [number for number, line in enumerate(lines) if _RULED.match(line) and _said_path(line) is not None]
    )
    for start, ends in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield _said_path(lines[start]) or path, "".join(lines[start:ends]).rstrip("\n") + "\n"


_IN_YAML = re.compile(
    r"^(?P<in> *)(?:- |  )(?:path|file|filename|name): *[\"']?(?P<path>[^\s\"']+)[\"']? *\n"
    r"(?P=in)  (?:content|contents|code|text): *\|[-+]?\d? *\n(?P<text>(?:(?P=in)   +\S[^\n]*\n|[ \t]*\n)+)",
    re.MULTILINE,
)
_RULED = re.compile(r"^\s*(?:#|//|--|;)+\s*(?:[=*-]{2,}|file(?:name|path)?\s*:)", re.IGNORECASE)


_FENCED = re.compile(r"^( {0,3})(`{3,}|~{3,})([^\n`]*)\n", re.MULTILINE)
_AFTER = re.compile(r"\b(save|saved|goes|belongs|put|place|store|write|named?|file)\b", re.IGNORECASE)


def _around_blocks(text: str, found: FoundFiles) -> None:
    """Take blocks whose file the line before them names among other words, or the line after them."""
    for block in enclosed(text, _FENCED, lambda opening: rf"^ {{0,3}}{opening[2]}[ \t]*$", re.MULTILINE):
        opening = block.opening
        before = text[: opening.start()].rstrip().rpartition("\n")[2]
        after = text[block.ends :].lstrip("\n").partition("\n")[0]
        path = _one_path(before) if before.rstrip("*` ").endswith(":") else None
        if path is None and _AFTER.search(after) and not after.rstrip().endswith(":") and not heading_path(after):
            path = _one_path(after)
        is_shell = opening[3].strip().lower() in SHELLS
        if path is not None and is_shell == path.endswith((".sh", ".bash")):
            found.add_more(path, unindented(block.inside, len(opening[1])))


def _one_path(line: str) -> str | None:
    paths = [path for path in TOLD.findall(line) if looks_like_file(path)]
    return paths[0] if len(set(paths)) == 1 else None


_MARKER = re.compile(
    rf"^(?:[=\-#*<\[]{{2,}}|//|#)\s*(?:(?:BEGIN|START)(?: OF)? )?"
    rf"(?:FILE(?:NAME|PATH)?\s*[:=]?\s*|PATH\s*[:=]\s*)?"
    rf"`?(?P<path>{_NAME})`?\s*[=\-#*>\]]*[ \t]*$|^FILE(?:NAME|PATH)?\s*:\s*`?(?P<bare>{_NAME})`?[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
_MARKED_END = re.compile(r"^\W*(END|EOF)\b[^\n]*$", re.MULTILINE | re.IGNORECASE)


def _markers(text: str, found: FoundFiles) -> None:
    """Take whole files between lines that name them."""
    if next(blocks(text), None) is not None or is_patch(text):
        return
    marks = [mark for mark in _MARKER.finditer(text) if looks_like_file(mark["path"] or mark["bare"] or "")]
    for mark, ends in zip(marks, [*(one.start() for one in marks[1:]), len(text)], strict=False):
        content = text[mark.end() + 1 : ends]
        end = _MARKED_END.search(content)
        content = content[: end.start()] if end else content
        if content.strip():
            found.add(mark["path"] or mark["bare"], content.strip("\n") + "\n")
