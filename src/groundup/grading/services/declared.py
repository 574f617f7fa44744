"""Reading a submission's requirements.txt as pip reads it, as far as packages by name go."""

import codecs
import posixpath
import re
from pathlib import Path, PurePosixPath

from packaging.requirements import InvalidRequirement, Requirement
from pydantic import Field

from groundup.domain.records import Record

FILE = "requirements.txt"
_MAX_BYTES = 1024 * 1024
_MAX_FILES = 20
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_INCLUDE = re.compile(r"(?:-r|--requirement)(?:\s*=?\s*)(?P<target>.+)$")
_CONSTRAINT = re.compile(r"(?:-c|--constraint)(?:\s*=?\s*)(?P<target>.+)$")
_COMMENT = re.compile(r"(^|\s+)#.*$")
_FIRST_WORD = re.compile(r"[=\s]")
_OPTION = re.compile(r"\s+--?[A-Za-z].*$")
_IGNORED = ("-i", "--index-url", "--extra-index-url", "--no-index", "-f", "--find-links", "--trusted-host",
            "--pre", "--prefer-binary", "--no-binary", "--only-binary", "--require-hashes", "--use-feature",
            "--no-cache-dir", "--timeout")  # fmt: skip


class Declared(Record):
    """What a submission declares to need."""

    requirements: tuple[str, ...] = ()
    notes: tuple[str, ...] = Field(default=(), description="lines that pip would heed and groundup does not")
    problem: str | None = Field(default=None, description="why it cannot be installed at all")


def read_declared(tree: Path, name: str = FILE) -> Declared | None:
    """Return what the file *name* of *tree* declares; None when there is no such file."""
    if not (tree / name).is_file():
        return None
    reading = _Reading(tree)
    try:
        reading.file(PurePosixPath(name))
    except _ProblemError as problem:
        return Declared(problem=str(problem))
    return Declared(requirements=tuple(reading.requirements), notes=tuple(reading.notes))


class _ProblemError(Exception):
    """A line that pip could not, or groundup does not, install."""


class _Reading:
    def __init__(self, tree: Path) -> None:
        self._tree = tree.resolve()
        self._seen: set[str] = set()
        self.requirements: list[str] = []
        self.notes: list[str] = []

    def file(self, name: PurePosixPath) -> None:
        """Take one file in, and those that it includes."""
        if str(name) in self._seen:
            return
        self._seen.add(str(name))
        path = (self._tree / name).resolve()
        if len(self._seen) > _MAX_FILES or not path.is_relative_to(self._tree) or not path.is_file():
            raise _ProblemError(f"{name} is included and is no file of the submission")
        if path.stat().st_size > _MAX_BYTES:
            raise _ProblemError(f"{name} has more than {_MAX_BYTES} bytes")
        for line in _logical_lines(_decoded(path.read_bytes())):
            self._line(line, name.parent)

    def _line(self, line: str, folder: PurePosixPath) -> None:
        if include := _INCLUDE.match(line):
            target = folder / include["target"].strip("\"' ")
            self.file(PurePosixPath(posixpath.normpath(target)))
        elif _CONSTRAINT.match(line) or _FIRST_WORD.split(line, maxsplit=1)[0] in _IGNORED:
            self.notes.append(line[:200])
        elif line.startswith("-"):
            raise _ProblemError(f"{line[:200]!r} is not a requirement by name")
        else:
            self.requirements.append(_requirement(_OPTION.sub("", line)))


def _requirement(text: str) -> str:
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise _ProblemError(f"{text[:200]!r} is not a requirement by name and version") from error
    if requirement.url:
        raise _ProblemError(f"{requirement.name!r} is required by address, which no package index has")
    return str(requirement)


def _decoded(data: bytes) -> str:
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    return data.decode(encoding, "replace")


def _logical_lines(text: str) -> list[str]:
    joined = re.sub(r"\\\r?\n", " ", text)
    lines = (_COMMENT.sub("", line).strip() for line in joined.splitlines())
    return [line for line in lines if line]
