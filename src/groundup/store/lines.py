"""The lines of `verdicts.jsonl`: whole verdicts, chained by digests so that a change shows.

Each line ends with its `chain`: a digest over the line, the run with its configuration and plan, the entry of
`lock.json` that wrote it, and the chain before it. A changed line no longer has its digest; a removed one is
missed by the next. Lines of earlier versions have none. Anybody can compute a chain: it shows accidents and
careless edits, and is no signature.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from groundup.domain.digests import canonical_json
from groundup.domain.records import plainly
from groundup.store.files import complete_lines
from groundup.store.records import ConfigFile, JournalEnd, LockFile, Start, VerdictLine

_TAIL = re.compile(rb',"chain":"([0-9a-f]{32})"\}$')


def encode(line: VerdictLine) -> bytes:
    """Return the JSON of *line* without its chain."""
    return line.model_dump_json(exclude={"chain"}).encode()


class WrittenLine(NamedTuple):
    """A complete line of the file: what it says, or why that cannot be read."""

    number: int
    data: bytes
    line: VerdictLine | None
    why: str = ""


def written_lines(path: Path) -> Iterator[WrittenLine]:
    """Yield the lines of the file at *path*; a torn last one is left out. Raises `UsageError` for no file."""
    for number, data in complete_lines(path):
        try:
            yield WrittenLine(number, data, VerdictLine.model_validate_json(data))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the line"
            yield WrittenLine(number, data, None, f"it is damaged ({place}: {plainly(first)})")


class Chain:
    """The chain of one run's lines, up to the last one that was added."""

    def __init__(self, config: ConfigFile) -> None:
        named = [config.run_id, config.created_at, config.suite_name, config.grader]
        self._run = _digest(canonical_json([*named, config.digest]))
        self._earlier = _digest(canonical_json([*named, config.pinned]))
        self._is_whole = False
        """Whether a line was of this version: those of earlier ones do not cover configuration and plan."""
        self._starts: tuple[bytes, ...] = ()
        self.lines = 0
        self.end = ""

    def know(self, starts: Sequence[Start]) -> None:
        """Take the starts of `lock.json`: what they say of machine and version is part of each line's digest."""
        said = [[one.at, one.pid, one.groundup, one.machine] for one in starts]
        self._starts = tuple(_digest(canonical_json(one)).encode() for one in said)

    def seal(self, data: bytes, start: int) -> bytes:
        """Return the line *data*, as `encode` made it, with its chain; the caller appends it, then calls `add`."""
        return data[:-1] + b',"chain":"%s"}' % self._link(data, start, self._run).encode()

    def add(self, data: bytes, *, is_line: bool = True) -> None:
        """Go on to the line *data* of the file; one that cannot be read is counted, and nothing follows on it."""
        found = _TAIL.search(data)
        if found:
            self.end = found[1].decode()
        elif is_line:
            self.end = _digest(self.end.encode(), data)
        self.lines += 1

    def fits(self, data: bytes, start: int) -> bool:
        """Whether the line *data* of the file, which has a chain, is as it was written after the one before."""
        found = _TAIL.search(data)
        if found is None:
            return False
        runs = (self._run,) if self._is_whole else (self._run, self._earlier)
        for run in runs:
            if found[1].decode() == self._link(data[: found.start()] + b"}", start, run):
                self._is_whole = run == self._run
                return True
        return False

    def _link(self, data: bytes, start: int, run: str) -> str:
        by = self._starts[start] if 0 <= start < len(self._starts) else b""
        return _digest(run.encode(), by, self.end.encode(), data)


def sealed_anew(
    lines: Iterable[WrittenLine],
    config: ConfigFile,
    lock: LockFile,
    changed: Callable[[VerdictLine], VerdictLine] = lambda line: line,
) -> tuple[bytes, LockFile]:
    """Return *lines*, which fit, as those of the run that *config* and *lock* describe, and the lock for them.

    What *changed* does to a line is written. Lines without a chain stay otherwise as they are, as do such as
    cannot be read.
    """
    chain, whole, written, mended = Chain(config), hashlib.sha256(), list[bytes](), lock.mended
    chain.know(lock.starts)
    for number, data, line, _ in lines:
        made = data
        if line is not None:
            found, told = _TAIL.search(data), changed(line)
            body = encode(told) if told != line else data[: found.start()] + b"}" if found else data
            made = body if found is None else chain.seal(body, line.start)
        chain.add(made, is_line=line is not None)
        whole.update(made)
        written.append(made)
        if mended is not None and number == mended.lines:
            mended = mended.but(chain=whole.hexdigest())
    journal = lock.journal and JournalEnd(lines=chain.lines, chain=chain.end)
    return b"".join(one + b"\n" for one in written), lock.but(journal=journal, mended=mended)


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\n".join(parts)).hexdigest()[:32]
