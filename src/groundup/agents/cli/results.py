"""What a command-line agent left: why it ended, and the files of its HOME that show what it did."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from groundup.agents.base import AgentResult
from groundup.agents.cli.preset import Preset
from groundup.domain.errors import InfrastructureError
from groundup.domain.subjects import Outcome
from groundup.models.exchanges import Account, Exchange, Stop
from groundup.models.protocol import BudgetSpentError, ModelError, UnusableModelError
from groundup.sandbox.protocol import CommandResult, Ending
from groundup.trees.walking import FOLDER, TreeEntry, read_chunks, walk

_MOST_FILES = 200
_MOST_BYTES = 64 * 1024 * 1024
_DEPTH = 12


def kept_files(home: Path, patterns: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of the regular files below *home* whose path matches, in order.

    Links are not followed; at most 200 files with 64 MiB together are read, of larger ones the beginning.
    """
    if not patterns:
        return
    try:
        root = os.open(home, FOLDER)
    except OSError as error:
        raise InfrastructureError(f"cannot read the folder {home}: {error.strerror or error}") from error
    left = _MOST_BYTES
    count = 0
    try:
        for entry in walk(root, _DEPTH):
            if entry.kind != "file" or not _matches(entry.parts, patterns):
                continue
            content = _beginning(entry, left)
            if content is None:
                continue
            count += 1
            left -= len(content)
            yield "-".join(("trajectory", *(part.lstrip(".") for part in entry.parts))), content
            if count >= _MOST_FILES or left <= 0:
                return
    finally:
        os.close(root)


def _matches(parts: tuple[str, ...], patterns: Sequence[str]) -> bool:
    """Whether a path matches, part by part."""
    for pattern in patterns:
        wanted = pattern.split("/")
        if len(wanted) == len(parts) and all(map(fnmatchcase, parts, wanted)):
            return True
    return False


def _beginning(entry: TreeEntry, most: int) -> bytes | None:
    try:
        descriptor = entry.open()
    except OSError:
        return None
    try:
        content = bytearray()
        for chunk in read_chunks(descriptor):
            content += chunk
            if len(content) >= most:
                break
        return bytes(content[:most])
    finally:
        os.close(descriptor)


_LIMITS = {
    Ending.TIMEOUT: "the program did not end in time",
    Ending.WALL_CLOCK: "the program did not end in time",
    Ending.MEMORY: "the program needed more memory than it may have",
    Ending.DISK: "the program wrote more to disk than it may",
    Ending.PROCESSES: "the program started more processes than it may",
}
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Finished:
    """How a program ended."""

    result: CommandResult
    stop: Stop | None
    """Why its model answered no more; None: it would have answered."""
    last: Exchange | None
    """What it asked last."""

    @property
    def wanted_more(self) -> bool:
        """Whether it was still asking when it was answered no more."""
        return self.last is not None and self.last.reply is None


def outcome_of(preset: Preset, finished: Finished, account: Account | None) -> AgentResult:
    """Return the outcome. Raises `ModelError` and `BudgetSpentError` where another try is owed."""
    result, stop = finished.result, finished.stop
    if stop is not None and stop.outcome is Outcome.INFRASTRUCTURE:
        raise (UnusableModelError if stop.of_the_run else ModelError)(stop.detail)
    if stop is not None and stop.outcome is Outcome.BUDGET and account is not None and account.spent() is None:
        raise BudgetSpentError(stop.detail)
    done = result.ending is Ending.EXITED and result.exit_code in preset.success
    if stop is not None and (finished.wanted_more or not done):
        return AgentResult(outcome=stop.outcome, detail=stop.detail)
    if finished.last is not None and finished.last.refused:
        return AgentResult(
            outcome=Outcome.REFUSED, detail=finished.last.error or "the endpoint's filter ended the reply"
        )
    if result.ending in _LIMITS:
        return AgentResult(outcome=Outcome.LIMIT, detail=_LIMITS[result.ending])
    if not done:
        detail = f"the program ended with exit code {result.exit_code}: {_last_words(result)}"
        return AgentResult(outcome=Outcome.CRASHED, detail=detail)
    if account is not None and preset.protocol != "none" and account.turns == 0:
        detail = f"the program ended without a reply of its model: {_last_words(result)}"
        return AgentResult(outcome=Outcome.CRASHED, detail=detail)
    return AgentResult(outcome=Outcome.SUBMITTED, detail=f"exit code {result.exit_code}")


def _last_words(result: CommandResult) -> str:
    for stream in (result.stderr, result.stdout):
        text = _ESCAPES.sub("", stream.decode(errors="replace"))
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines:
            return "".join(character for character in lines[-1] if character.isprintable())[-300:]
    return "it printed nothing"
