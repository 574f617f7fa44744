"""Why an environment could not be built, and who is to blame: the task, the submission or the infrastructure.

Pure: reads what the build printed, how it ended and what the gateway could not give; starts nothing.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Literal

from groundup.domain.errors import (
    DiskFullError,
    GroundupError,
    NetworkError,
    SandboxError,
    SubmissionError,
    TaskError,
    UsageError,
)
from groundup.domain.records import Record
from groundup.gateways.records import Trouble
from groundup.sandbox.protocol import CommandResult, Ending

Asker = Literal["recipe", "submission", "agent"]
"""`agent`: a program that the user named, to be installed as an agent."""


class Kind(StrEnum):
    """What went wrong."""

    NETWORK = "network"
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


class Failure(Record):
    """What went wrong, in one sentence without its end."""

    kind: Kind
    message: str


_SILENCE_S = 20.0
"""A registry that owes an answer for longer is to blame for a timeout; a build cannot bring that about itself."""
_ENDINGS = {
    Ending.MEMORY: (Kind.MEMORY, "the build needed more memory than it may have"),
    Ending.PROCESSES: (Kind.MEMORY, "the build started more processes than it may"),
    Ending.DISK: (Kind.DISK, "the build wrote more to disk than it may"),
    Ending.SANDBOX_DIED: (Kind.SANDBOX, "the build's sandbox died"),
}
_TROUBLES = {"network": Kind.NETWORK, "refused": Kind.REFUSED, "budget": Kind.BUDGET}
_SAID = (
    (Kind.HASH, re.compile(r"hash mismatch|in `--require-hashes` mode", re.IGNORECASE)),
    (Kind.BUILD, re.compile(r"failed to (download and )?build|build backend|Call to `", re.IGNORECASE)),
    (Kind.UNKNOWN, re.compile(r"not found in the package registry|there (is|are) no versions?|no usable wheels|"
                              r"has no wheels|could not be found|HTTP status client error \(404", re.IGNORECASE)),
    (Kind.CONFLICT, re.compile(r"no solution found", re.IGNORECASE)),
)  # fmt: skip


def classify(
    result: CommandResult, troubles: Iterable[Trouble], *, waiting_s: float, host_free_bytes: int
) -> Failure:
    """Say why a build command failed. *waiting_s*: how long a registry already owed an answer when it ended."""
    if host_free_bytes < 64 * 1024 * 1024:
        return Failure(kind=Kind.HOST_DISK, message="no room is left on the disk of the cache")
    if result.ending in {Ending.TIMEOUT, Ending.WALL_CLOCK}:
        if waiting_s > _SILENCE_S:
            return Failure(kind=Kind.NETWORK, message="the package index did not answer in time")
        return Failure(kind=Kind.TIMEOUT, message="the build did not end in time")
    if result.ending in _ENDINGS:
        kind, message = _ENDINGS[result.ending]
        return Failure(kind=kind, message=message)
    by_kind = {trouble.kind: trouble for trouble in reversed(list(troubles))}
    for name, kind in _TROUBLES.items():
        if name in by_kind:
            return Failure(kind=kind, message=by_kind[name].message)
    text = (result.stdout + result.stderr).decode(errors="replace")
    found = next((kind for kind, pattern in _SAID if pattern.search(text)), Kind.BUILD)
    return Failure(kind=found, message=condensed(text))


def as_error(failure: Failure, asker: Asker, what: str, log: Path) -> GroundupError:
    """Return the error to raise: its class says who is to blame, its text what to do and where the log is."""
    where = f"the log is {log}"
    if failure.kind is Kind.NETWORK:
        return NetworkError(f"{what}: {failure.message}; check the network and resume ({where})")
    if failure.kind is Kind.HOST_DISK:
        return DiskFullError(f"{what}: {failure.message}; free some and resume ({where})")
    if failure.kind is Kind.SANDBOX:
        return SandboxError(f"{what}: {failure.message}; try `groundup doctor` and resume ({where})")
    if asker == "submission":
        return SubmissionError(f"{what}: {failure.kind}: {failure.message} ({where})")
    if asker == "agent":
        return UsageError(f"{what}: {failure.kind}: {failure.message}; pin another version ({where})")
    return TaskError(f"{what}: {failure.kind}: {failure.message}; mend the recipe ({where})")


def condensed(text: str) -> str:
    """Return uv's own error and causes in one line, else the last words; printable, at most 300 characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    starts = [number for number, line in enumerate(lines) if line.startswith("error:")]
    told = lines[starts[0] :] if starts else lines[-3:]
    told = [
        line.removeprefix("error:").removeprefix("cause:").strip() for line in told if not line.startswith("hint:")
    ]
    line = ": ".join(part.rstrip(":") for part in told)
    printable = "".join(character if character.isprintable() else " " for character in line)
    return printable if len(printable) <= 300 else f"{printable[:147]} ... {printable[-147:]}"
