"""Trying to build: within the time for it, again where that may help, and who is to blame for a failure.

Reads what the build printed, how it ended and what the gateway could not give. The gateway's own record comes
first: nothing inside can write to it. Where only the build's words say that a connection was lost, and code of a
submission could have written them, the build is done again: what a machine did to it does not happen each time,
and a submission that forges such words is graded in the end.
"""

import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from groundup.domain.errors import (
    DiskFullError,
    GroundupError,
    InfrastructureError,
    NetworkError,
    SandboxError,
    SubmissionError,
    TaskError,
    UsageError,
)
from groundup.domain.records import Record
from groundup.environments.requests import Layer
from groundup.registries.cache import SingleFlight
from groundup.sandbox.deadlines import limited
from groundup.sandbox.protocol import CommandResult, Ending, Sandbox

if TYPE_CHECKING:
    from groundup.registries.ledger import Trouble

BUILDS_AT_ONCE = max(2, os.cpu_count() or 1)
"""How many builds of a kind work; further ones wait for a turn."""


class OutOfTimeError(SubmissionError):
    """What a submission wants installed takes longer than it may."""


class WorkTime:
    """Seconds for one piece of work that may be done in several parts."""

    def __init__(self, limit_s: float | None = None, what: str = "work") -> None:
        self._limit_s = limit_s
        self._what = what
        self._spent_s = 0.0

    def restart(self) -> None:
        """Give the work its whole time again: what it has done is lost through no fault of its own."""
        self._spent_s = 0.0

    @asynccontextmanager
    async def running(self, sandbox: Sandbox) -> AsyncIterator[None]:
        """Let the clock of *sandbox* run, where it is done; raises `OutOfTimeError` where the limit is reached."""
        stopwatch = sandbox.stopwatch()
        left_s = None if self._limit_s is None else max(0.0, self._limit_s - self._spent_s)
        try:
            async with limited(stopwatch, left_s) as scope:
                yield
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise OutOfTimeError(f"{self._what}: not done within {self._limit_s:.0f} s") from error
        finally:
            self._spent_s += stopwatch.passed_s()


Asker = Literal["recipe", "submission", "agent"]
"""`agent`: a program that the user named, to be installed as an agent."""


class BuildFailureKind(StrEnum):
    """What went wrong."""

    NETWORK = "network"
    LOST = "lost connection"
    STARVED = "no process left"
    HOST_DISK = "host disk"
    SANDBOX = "sandbox"
    UNKNOWN = "unknown package"
    REFUSED = "refused package"
    HASH = "hash mismatch"
    CONFLICT = "conflicting requirements"
    BUILD = "build error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    DISK = "disk limit"
    BUDGET = "download limit"


class BuildFailure(Record):
    """What went wrong, in one sentence without its end."""

    kind: BuildFailureKind
    message: str


T = TypeVar("T")

TRIES = 3
"""How often a build is done that the machine failed."""
_MACHINE = frozenset({BuildFailureKind.LOST, BuildFailureKind.STARVED})
INFRASTRUCTURE = frozenset({BuildFailureKind.NETWORK, BuildFailureKind.HOST_DISK, BuildFailureKind.SANDBOX})
"""No submission is to blame for these."""
_SILENCE_S = 20.0
"""A registry that says nothing for longer, though it owes an answer, is to blame for a timeout."""
# Compiled when something failed: each program imports this, and few have failures to read.
_GATEWAY = r"//(127\.0\.0\.1|localhost):\d+/"
_LOST = (
    r"connection (was |is )?(reset|closed|aborted|refused|broken)|broken pipe|tcp connect error|connect timed out"
    r"|error sending request|error decoding response body|request or response body error|operation timed out"
    r"|unexpected end of file|end of file before message|incomplete ?(read|message)|read timed out|network timeout"
    r"|RemoteDisconnected|ECONNRESET|ECONNREFUSED|ECONNABORTED|ETIMEDOUT|EPIPE|socket hang up|ERR_SOCKET_TIMEOUT"
    r"|premature (close|end of)|ended prematurely|spurious network error|transfer closed with|empty reply from"
    r"|server error \(5\d\d|\b50[0234] (Bad Gateway|Service Unavailable|Gateway Time|Server Error)"
    r"|Couldn't connect to server|NU1301"
)
_STARVED = (
    r"resource temporarily unavailable|\bos error 11\b|\bEAGAIN\b|can't start new thread"
    r"|unable to create native thread|too many open files in system|\bENFILE\b"
)
"""The whole machine has no process or file left: a sandbox that reaches its own limit is ended for that."""
_ENDINGS = {
    Ending.MEMORY: (BuildFailureKind.MEMORY, "the build needed more memory than it may have"),
    Ending.PROCESSES: (BuildFailureKind.MEMORY, "the build started more processes than it may"),
    Ending.DISK: (BuildFailureKind.DISK, "the build wrote more to disk than it may"),
    Ending.SANDBOX_DIED: (BuildFailureKind.SANDBOX, "the build's sandbox died"),
}
_TROUBLES = {
    "network": BuildFailureKind.NETWORK,
    "refused": BuildFailureKind.REFUSED,
    "budget": BuildFailureKind.BUDGET,
}
_FRAME = re.compile(r"^(?:\d+: |#\d+ |at |File \"|note: )|RUST_BACKTRACE|stack backtrace:|^(end of )?query stack")
"""Lines of backtraces, and what is printed around them."""
_STREAMS = frozenset({"[stdout]", "[stderr]"})
_EMPTY = re.compile(r"The build backend returned an error$|Call to `.*` failed \(exit")
"""What uv says above each build's own words."""
_NAMES_ERROR = re.compile(r"^(?:[\w.]*(?:Error|Exception)|error|fatal)\b.*: |: (?:fatal )?error: ", re.IGNORECASE)
_ERROR = re.compile(r"error|exception|panicked|fatal|cannot|could not|failed|not found", re.IGNORECASE)
_SAID = (
    (BuildFailureKind.HASH, r"hash mismatch|in `--require-hashes` mode"),
    (
        BuildFailureKind.BUILD,
        r"failed to (download and )?build|build backend|Call to `",
    ),
    (
        BuildFailureKind.UNKNOWN,
        r"not found in the package registry|there (is|are) no versions?|no usable wheels|"
        r"has no wheels|could not be found|HTTP status client error \(404",
    ),
    (BuildFailureKind.CONFLICT, r"no solution found"),
)  # fmt: skip


def classify(
    result: CommandResult, troubles: "Iterable[Trouble]", *, waiting_s: float, host_free_bytes: int
) -> BuildFailure:
    """Say why a build command failed. *waiting_s*: how long a registry already owed an answer when it ended."""
    if host_free_bytes < 64 * 1024 * 1024:
        return BuildFailure(kind=BuildFailureKind.HOST_DISK, message="no room is left on the disk of the cache")
    if result.ending.is_out_of_time:
        if waiting_s > _SILENCE_S:
            return BuildFailure(kind=BuildFailureKind.NETWORK, message="the package index did not answer in time")
        return BuildFailure(kind=BuildFailureKind.TIMEOUT, message="the build did not end in time")
    if result.ending in _ENDINGS:
        kind, message = _ENDINGS[result.ending]
        return BuildFailure(kind=kind, message=message)
    # Reversed, so that of each kind the first trouble is kept: later ones often follow from it.
    by_kind = {trouble.kind: trouble for trouble in reversed(list(troubles))}
    for name, kind in _TROUBLES.items():
        if name in by_kind:
            return BuildFailure(kind=kind, message=by_kind[name].message)
    # Only now what the build printed: what was seen from outside cannot be forged by it.
    text = (result.stdout + result.stderr).decode(errors="replace")
    if re.search(_GATEWAY, text) and re.search(_LOST, text, re.IGNORECASE):
        return BuildFailure(kind=BuildFailureKind.LOST, message=condensed(text))
    if re.search(_STARVED, text, re.IGNORECASE):
        return BuildFailure(kind=BuildFailureKind.STARVED, message=condensed(text))
    found = next(
        (kind for kind, pattern in _SAID if re.search(pattern, text, re.IGNORECASE)), BuildFailureKind.BUILD
    )
    return BuildFailure(kind=found, message=condensed(text))


class PassingError(InfrastructureError):
    """Something inside says that the machine failed it, of which groundup itself knows nothing."""

    def __init__(self, message: str, otherwise: GroundupError | None) -> None:
        super().__init__(message)
        self.otherwise = otherwise
        """What it is when it happens each time; None: nothing inside could have made that up."""


class LostConnectionError(PassingError, NetworkError):
    """A client lost its connection to the gateway."""


class StarvedError(PassingError):
    """A program could start no process or thread."""


_PASSING = {
    BuildFailureKind.LOST: (LostConnectionError, "the connection to our own gateway was lost"),
    BuildFailureKind.STARVED: (StarvedError, "this machine had no process left"),
}


class Builds:
    """Layers under construction: each built once at a time, and not again where it failed by its own fault."""

    def __init__(self) -> None:
        self._under_way: SingleFlight[Layer] = SingleFlight()
        self._refused: dict[str, TaskError | SubmissionError] = {}

    async def get(self, key: str, build: Callable[[], Awaitable[Layer]]) -> Layer:
        """Return the layer that *build* makes, or raise as it raised before."""
        failed = self._refused.get(key)
        if failed is not None:
            raise type(failed)(str(failed))
        try:
            return await self._under_way.get(key, build)
        except OutOfTimeError:  # the machine may be quieter next time
            raise
        except (TaskError, SubmissionError) as error:
            self._refused[key] = error
            raise


async def repeated(build: Callable[[], Awaitable[T]], work: WorkTime | None = None) -> T:
    """Do a build, again from the start (and with its whole time) when the machine failed it."""
    for _ in range(TRIES - 1):
        try:
            return await build()
        except PassingError:
            if work is not None:
                work.restart()
    try:
        return await build()
    except PassingError as error:
        if error.otherwise is None:
            raise
        raise error.otherwise from error


async def failure_repeated(
    build: Callable[[], Awaitable[BuildFailure | None]], work: WorkTime
) -> BuildFailure | None:
    """Return why a build fails, as `repeated` does it: for builds that say so in place of raising."""
    failure = None
    for _ in range(TRIES):
        failure = await build()
        if failure is None or failure.kind not in _MACHINE:
            break
        work.restart()
    return failure


def out_of_time(error: OutOfTimeError, troubles: "Iterable[Trouble]", waiting_s: float) -> GroundupError:
    """Return who is to blame for a build that took too long: itself, unless a registry kept it waiting."""
    trouble = next((trouble for trouble in troubles if trouble.kind == "network"), None)
    if trouble is None and waiting_s <= _SILENCE_S:
        return error
    why = trouble.message if trouble else f"a registry has sent nothing for {waiting_s:.0f} s"
    return NetworkError(f"{error}: {_with_advice(why)}")


def _with_advice(message: str) -> str:
    """Return what a registry's client says, which may say already what to do."""
    return message if "check the network" in message else f"{message}; check the network and try again"


def as_error(
    failure: BuildFailure, asker: Asker, what: str, log: Path, *, forgeable: bool = True
) -> GroundupError:
    """Return the error to raise: its class says who is to blame, its text what to do and where the log is.

    *forgeable*: whether code of the one who asks could have printed some of it.
    """
    where = f"the log is {log}"
    if failure.kind in _PASSING:
        error, why = _PASSING[failure.kind]
        own = SubmissionError(f"{what}: {failure.kind}: {failure.message} ({where})")
        message = f"{what}: {why}: {failure.message}; try again ({where})"
        return error(message, own if asker == "submission" and forgeable else None)
    if failure.kind is BuildFailureKind.NETWORK:
        return NetworkError(f"{what}: {_with_advice(failure.message)} ({where})")
    if failure.kind is BuildFailureKind.HOST_DISK:
        return DiskFullError(f"{what}: {failure.message}; free some and try again ({where})")
    if failure.kind is BuildFailureKind.SANDBOX:
        return SandboxError(f"{what}: {failure.message}; look with `groundup doctor`, and try again ({where})")
    if asker == "submission":
        return SubmissionError(f"{what}: {failure.kind}: {failure.message} ({where})")
    if (
        asker == "agent" and failure.kind is BuildFailureKind.TIMEOUT
    ):  # a version that was installed once can be again
        return InfrastructureError(f"{what}: {failure.message}; try again when the machine is less busy ({where})")
    if asker == "agent":
        return UsageError(f"{what}: {failure.kind}: {failure.message}; pin another version ({where})")
    return TaskError(f"{what}: {failure.kind}: {failure.message}; mend the recipe ({where})")


def telling_line(text: str) -> str:
    """Return the last line that names an error, else the last that is no part of a backtrace; "" for none."""
    lines = [line for line in map(str.strip, text.splitlines()) if line and not _FRAME.search(line)]
    return next((line for line in reversed(lines) if _ERROR.search(line)), lines[-1] if lines else "")[:300]


def condensed(text: str) -> str:
    """Return uv's own error and causes in one line, else the last words; printable, at most 300 characters.

    Of what a build printed, the first line that names an error is kept, else the first.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    starts = [number for number, line in enumerate(lines) if line.startswith("error:")]
    words = lines[starts[0] :] if starts else [line for line in lines if not _FRAME.search(line)][-3:]
    words = [
        line.removeprefix("error:").removeprefix("cause:").strip()
        for line in words
        if not line.startswith("hint:")
    ]
    if "[stderr]" in words:
        printed = words[words.index("[stderr]") + 1 :]
        own = [line for line in words[: min(map(words.index, _STREAMS & {*words}))] if not _EMPTY.match(line)]
        words = own + ([line for line in printed if _NAMES_ERROR.search(line)] or printed)[:1]
    printable = on_one_line(": ".join(part.rstrip(":") for part in words))
    return printable if len(printable) <= 300 else f"{printable[:147]} ... {printable[-147:]}"


def on_one_line(text: str) -> str:
    """Return *text* with a space in place of each character that cannot be printed."""
    return "".join(character if character.isprintable() else " " for character in text)
