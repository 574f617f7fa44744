"""Files in a model's reply: fenced blocks that say which file they are. Owns the form, reading and writing it.

A block's file is named on its opening line (```` ```python path=src/a.py ````, ```` ```src/a.py ````), or on the
line before it (`### src/a.py`, `**src/a.py**`, `File: src/a.py`). A fence is closed by one that is not shorter and
says nothing, so a file that holds fences itself needs longer ones around it. A block without a name or without an
end gives no file.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from groundup.domain.errors import SubmissionError
from groundup.trees.walking import FOLDER

FORM = """Give each file as a fenced block whose first line names it, with its whole content:

```path=relative/path/of/file.ext
content
```

When a file holds lines of backticks itself, put more backticks around it than it has anywhere."""
"""How models are asked to give files."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*(.*?)[ \t]*$")
_FENCE_OF_ITEM = re.compile(r"^ {4,12}(`{3,}|~{3,})[ \t]*(.*?)[ \t]*$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s")
"""A list's item, whose text may be indented further than a fence otherwise."""
_NAMED = re.compile(
    r"(?:^|[\s{,])(?:path|file|filename|title|name)\s*[=:]\s*(\"[^\"]+\"|'[^']+'|`[^`]+`|[^\s,}]+)"
)
_WORDS = re.compile(r"[\w.+#-]+")
_HEADING = re.compile(
    r"^(?:[-*+]\s+|\d+[.)]\s+)?[^\w./~\\`\"'\[(<]*(?:(?:step\s*)?\d+[.):]\s*)?"
    r"(?:(?P<label>[^\s:\uFF1A`*]{1,30}(?:\s[^\s:\uFF1A`*]{1,30}){0,3})\s*[*_]*\s*[:\uFF1A]\s*[*_]*\s*)?"
    r"(?P<quote>[`\"']?)(?P<path>[^\s`\"'*:<>|\uFF1A]+)(?P=quote)\s*[*_]*\s*:?\s*[*_]*"
    r"(?:\s*\([^()]*\)|\s+(?:[-\u2013\u2014]+)\s.*|(?P<told>(?:(?<=:)|(?<=:\*\*)|(?<=:__))\s+\S.*))?[*_#:\s]*$",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"\b(?:new|the)?\s*(?:file|path|filename|filepath|module|code|create|update|add|step|datei|fichier|archivo|arquivo)\b"
    r"|\u6587\u4EF6|\u8DEF\u5F84|\u6A94\u6848|\u30D5\u30A1\u30A4\u30EB|\uD30C\uC77C|\u0444\u0430\u0439\u043B",
    re.IGNORECASE,
)
"""A word for a file, in the languages in which models answer most."""
_RULE = re.compile(r"\s*(?:={3,}|-{3,})\s*$")
"""What makes the line before it a heading."""
_TAGS = re.compile(r"<!--|-->|</?[a-z][a-z0-9]*(?:\s[^<>]*)?>|^\s*//\s*", re.IGNORECASE)
_IS_HEADING = re.compile(r"^\s*(?:#{1,6}\s|\*\*|<summary|<h\d|\d+[.)]\s)", re.IGNORECASE)
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
TOLD = re.compile(r"[`*\"]+([^\s`\"'*:<>|=]+)[`*\"]+")
"""A name in backticks, asterisks or quotes among other words."""
_NO_NAME = re.compile(
    r"\b(examples?|usage|using|use|run|running|tests?|testing|output|before|current|original|existing|old|instead)\b",
    re.IGNORECASE,
)
"""Words of a heading over something else than the file that it names."""
_DECORATED = re.compile(r"[-*+#`_]|\d+[.)]")
_WITHOUT_ENDING = ("Dockerfile", "Makefile", "LICENSE", "Procfile", "Gemfile", "Rakefile", "Justfile", "README")
_LONGEST_HEADING = 300
SHELLS = frozenset(("bash", "sh", "shell", "console", "zsh", "terminal", "powershell", "cmd", "bat"))
_LANGUAGE_NAMES = """
bash c cfg console cpp csharp cs css diff dockerfile go html ini java javascript js json jsx kotlin makefile
markdown md none plaintext powershell properties py python ruby rust rs sh shell sql svelte text toml ts tsx
txt typescript vue xml yaml yml zsh
"""
_LANGUAGES = frozenset(_LANGUAGE_NAMES.split())


class FencedBlock(NamedTuple):
    """A fenced block."""

    path: str | None
    """As the reply names it; None where it names none."""
    content: str
    closed: bool
    language: str = ""
    """What its opening line says first, in lower case, such as `python` or `bash`."""


def blocks(text: str) -> Iterator[FencedBlock]:
    """Yield the blocks of *text* in order."""
    block: _Open | None = None
    before = heading = ""
    for line in text.split("\n"):
        fence = _FENCE_OF_ITEM if (block.is_deep if block else _ITEM.match(before)) else _FENCE
        found = fence.match(line.rstrip("\r")) or _FENCE.match(line.rstrip("\r"))
        if block is not None and found is not None and block.answers(found):
            if _named_in(found[2]):  # another file begins, so this one was cut off
                yield block.ended(closed=False)
                block = _Open(found, "")
            elif block.closed_by(found):
                yield block.ended(closed=True)
                block, before, heading = None, "", ""
            else:
                block.lines.append(line)
        elif block is not None:
            block.lines.append(line)
        elif found is not None and not (found[1][0] == "`" and "`" in _NAMED.sub("", found[2])):
            block = _Open(found, before if heading_path(before) else heading)
        elif line.strip() and not _RULE.match(line):
            before = line
            heading = line if _IS_HEADING.match(line) else heading
    if block is not None:
        yield block.ended(closed=False)


class _Open:
    """A block whose end has not come."""

    def __init__(self, opening: re.Match[str], before: str) -> None:
        self.path = _named_in(opening[2]) or heading_path(before)
        self.lines: list[str] = []
        self._fence = opening[1]
        self._indent = opening.start(1)
        self.is_deep = self._indent > 3
        """Whether it stands in a list's item."""
        self._language = opening[2].split(" ")[0].lower()
        if (
            self._language in SHELLS
            and not _named_in(opening[2])
            and not (self.path or "").endswith((".sh", ".bash"))
        ):
            self.path = None  # how to run what the heading names
        self._inner = 0

    def answers(self, found: re.Match[str]) -> bool:
        """Whether a fence is of this block's kind and not shorter."""
        return found[1][0] == self._fence[0] and len(found[1]) >= len(self._fence)

    def closed_by(self, found: re.Match[str]) -> bool:
        """Whether a fence ends the block. In a text, one that names a language begins a block in the block."""
        texts = self.path is not None and self.path.lower().endswith((".md", ".rst", ".txt", ".markdown"))
        if found[2]:
            self._inner += texts and found[2].lower() in _LANGUAGES
            return False
        self._inner -= 1
        return self._inner < 0

    def ended(self, *, closed: bool) -> FencedBlock:
        content = unindented("".join(f"{line}\n" for line in self.lines), self._indent)
        return FencedBlock(self.path, content, closed, self._language)


def unindented(text: str, spaces: int) -> str:
    """Return *text* with up to *spaces* fewer before each line: as many as its fence has."""
    return re.sub(rf"^ {{1,{spaces}}}", "", text, flags=re.MULTILINE) if spaces else text


class FileReply(NamedTuple):
    """The files of a reply."""

    files: Mapping[str, bytes]
    problems: tuple[str, ...]
    """What was not taken, in words."""
    outside: bool = False
    """Whether a path led outside the workspace."""


def read_files(text: str) -> FileReply:
    """Return the files of a reply by relative path; one that is given twice counts as it was given last."""
    files: dict[str, bytes] = {}
    problems = []
    outside = False
    for block in blocks(text):
        name = None if block.path is None else plain_path(block.path)
        if block.path is None:
            continue  # an example of how to run it, say
        if name is None:
            outside = True
            problems.append(f"{block.path[:200]!r} is no path inside the workspace")
        elif not block.closed:
            problems.append(f"{name} has no end and is left out")
        else:
            files[name] = block.content.encode(errors="replace")
    return FileReply(files, tuple(problems), outside)


def plain_path(text: str) -> str | None:
    """Return *text* as a relative path without steps up; None when it is none."""
    text = text.strip().strip("\"'`")
    text = text.removeprefix("/workspace/").removeprefix("./")
    parts = PurePosixPath(text).parts
    if (
        not parts
        or text.startswith(("/", "~"))
        or ".." in parts
        or "\0" in text
        or "\\" in text
        or text.endswith("/")
    ):
        return None
    if any(len(part.encode(errors="replace")) > 255 for part in parts) or len(parts) > 50:
        return None
    return "/".join(parts)


def put_file(root: Path, path: str, content: bytes) -> None:
    """Write *content* to the plain *path* below *root*, making folders. Raises `SubmissionError` at links."""
    *folders, name = path.split("/")
    parent = os.open(root, FOLDER)
    try:
        for folder in folders:
            with suppress(FileExistsError):
                os.mkdir(folder, 0o755, dir_fd=parent)
            child = os.open(folder, FOLDER, dir_fd=parent)
            os.close(parent)
            parent = child
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o644, dir_fd=parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except OSError as error:
        raise SubmissionError(f"{path[:200]} cannot be written: {error.strerror}") from error
    finally:
        os.close(parent)


def fenced(path: str, content: str) -> str:
    """Return a file in the form that models are asked for; reading it gives it back, with a final line end."""
    runs = re.findall(r"`{3,}", content)
    fence = "`" * (max(map(len, runs), default=2) + 1)
    end = "" if content.endswith("\n") or not content else "\n"
    name = path if re.fullmatch(r"[\w./+@-]+", path) else f'"{path}"'
    return f"{fence}path={name}\n{content}{end}{fence}\n"


def _named_in(info: str) -> str | None:
    """Return the path on an opening line: `path=...`, `lang:path`, or a word that looks like one."""
    if found := _NAMED.search(info):
        return found[1].strip("\"'`")
    first, _, rest = info.partition(" ")
    language, colon, path = first.partition(":")
    if colon and _WORDS.fullmatch(language) and path:
        return path
    for word in (first, rest.strip().removeprefix("#").removeprefix("//").strip("() ")):
        if _looks_like_path(word):
            return word
    return None


def _looks_like_path(word: str) -> bool:
    if not word or " " in word or word.lower() in _LANGUAGES or word.startswith("{"):
        return False
    return "/" in word or "." in word.lstrip(".") or word.startswith(".")


def heading_path(line: str) -> str | None:
    """Return the path that *line* gives as the name of what follows."""
    if len(line) > _LONGEST_HEADING:
        return None
    plain = _LINK.sub(r"\1", _TAGS.sub("", line)).strip()
    found = _HEADING.match(plain)
    if found is not None and not (found["told"] and not _DECORATED.match(plain)):
        path = found["path"]
        for opens, closes in ("__", "__", "[]"):  # in italics, in bold, in brackets
            path = path[1:-1] if path.startswith(opens) and path.endswith(closes) else path
        is_path = _looks_like_path(path.rstrip(".")) or path in _WITHOUT_ENDING
        if is_path and (found["label"] is None or _LABEL.search(found["label"])):
            return path
    if _IS_HEADING.match(line) and not _NO_NAME.search(plain):
        paths = {path for path in TOLD.findall(plain) if _looks_like_path(path)}
        return paths.pop() if len(paths) == 1 else None
    return None
