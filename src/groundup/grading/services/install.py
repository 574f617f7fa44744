"""Installing what a submission declares before its service starts.

A failed install is a fact and no end: the service is then started in the fallback environment.
"""

import asyncio
import codecs
import posixpath
import re
import time
from pathlib import Path, PurePosixPath

from packaging.requirements import InvalidRequirement, Requirement
from pydantic import Field

from groundup.domain.errors import SubmissionError
from groundup.domain.records import Record
from groundup.environments.requests import PythonEnvironment, PythonRequest, ResolvedRequest
from groundup.environments.work_time import OutOfTimeError
from groundup.grading.bench import Bench
from groundup.grading.services.records import InstallOutcome, Lifecycle
from groundup.trees.limits import printable

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


class InstalledService(Record):
    """What the service finds installed, and how the declared install ended."""

    outcome: InstallOutcome
    environment: PythonEnvironment
    message: str = ""
    seconds: float
    notes: tuple[str, ...] = ()


async def install_declared(
    tree: Path, lifecycle: Lifecycle, bench: Bench, *, with_pip: bool, extra: tuple[str, ...] = ()
) -> InstalledService:
    """Install the requirements.txt of *tree*, and *extra* with it.

    Raises `InfrastructureError` when the package index or the machine fails.
    """
    began = time.monotonic()
    declared = await asyncio.to_thread(read_declared, tree)
    outcome, message, environment = InstallOutcome.UNDECLARED, "", None
    if declared is not None:
        outcome, message, environment = await _try(declared, lifecycle, bench, with_pip=with_pip, extra=extra)
    if environment is None:
        environment = await _fallback(lifecycle, bench, with_pip=with_pip, extra=extra)
    return InstalledService(
        outcome=outcome,
        environment=environment,
        message=message,
        seconds=time.monotonic() - began,
        notes=() if declared is None else declared.notes,
    )


async def _try(
    declared: Declared, lifecycle: Lifecycle, bench: Bench, *, with_pip: bool, extra: tuple[str, ...]
) -> tuple[InstallOutcome, str, PythonEnvironment | None]:
    if declared.problem is not None:
        return InstallOutcome.FAILED, declared.problem, None
    request = ResolvedRequest(
        python=lifecycle.python,
        requirements=(*declared.requirements, *extra),
        with_pip=with_pip,
        work_s=lifecycle.install_s,
    )
    try:
        return InstallOutcome.SUCCEEDED, "", await bench.builder.submission_environment(request)
    except OutOfTimeError:
        return InstallOutcome.TIMEOUT, f"not installed within {lifecycle.install_s:.0f} s", None
    except SubmissionError as error:
        return InstallOutcome.FAILED, printable(str(error))[:300], None


async def _fallback(
    lifecycle: Lifecycle, bench: Bench, *, with_pip: bool, extra: tuple[str, ...]
) -> PythonEnvironment:
    if extra:
        pins = tuple(line.partition(" ")[0] for line in lifecycle.fallback)
        request = ResolvedRequest(
            python=lifecycle.python, requirements=(*pins, *extra), with_pip=with_pip, on_behalf_of="recipe"
        )
        return await bench.builder.submission_environment(request)
    return await bench.builder.python(
        PythonRequest(python=lifecycle.python, requirements=lifecycle.fallback, with_pip=with_pip)
    )
