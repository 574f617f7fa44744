"""Whether two submissions are one, but for a few files or lines: a copy with a file added is still a copy."""

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from groundup.domain.tasks import Task
from groundup.trees.walking import FOLDER, SMALL, TreeEntry, walk

LEAST = 20
"""Lines that must be shared; fewer are alike by accident."""
NEARLY = 0.8
"""Of the lines of the shorter one, whatever else the longer one holds."""
_SAYING = 8
"""Characters of a line, without blanks at its ends; a shorter one stands in every program."""
_KEPT = 4000
"""Lines of one submission. Of a longer one every second is kept, or every fourth: by its digest, so that two
submissions keep the same ones."""


class Lines(NamedTuple):
    """The lines of a submission, as numbers."""

    step: int
    """Those kept whose number it divides."""
    numbers: frozenset[int]

    @classmethod
    def of(cls, texts: Iterable[bytes]) -> "Lines":
        """Return the lines of *texts*; what is no text has none."""
        step, found = 1, set[int]()
        for text in texts:
            lines = set() if b"\0" in text else {one.strip() for one in text.splitlines()}
            # By chance 1 of 300 pairs of large submissions have one number more in common, which decides nothing.
            numbers = (crc32(line) for line in lines if len(line) >= _SAYING)
            found.update(numbers if step == 1 else (number for number in numbers if number % step == 0))
            while len(found) > _KEPT:
                step *= 2
                found = {number for number in found if number % step == 0}
        return cls(step, frozenset(found))

    def nearly(self, other: "Lines") -> bool:
        """Whether one of the two holds nearly all lines of the other."""
        step = max(self.step, other.step)
        left, right = (lines.every(step) for lines in (self, other))
        shared = len(left & right)
        return shared * step >= LEAST and shared >= NEARLY * min(len(left), len(right))

    def every(self, step: int) -> frozenset[int]:
        """Return the numbers that *step* divides, a multiple of its own."""
        return self.numbers if step == self.step else frozenset(one for one in self.numbers if one % step == 0)


def written_lines(tree: Path, task: Task) -> Lines:
    """Return the lines of what was handed in for *task*, without those that were given to whoever made it.

    None of edits: of a manifest most is given, and two right ones are alike.
    """
    if task.deliverable == "edits":
        return Lines(1, frozenset())
    given = Lines.of([(task.instruction or "").encode(), *(seed.content for seed in task.seeds)])
    found = Lines.of(_texts(tree))
    step = max(found.step, given.step)  # of given lines, only so many are known
    return Lines(step, found.every(step) - given.numbers)


class HandedIn(NamedTuple):
    """A submission that holds a file: for which task, its digest, and what was written of it."""

    task: str
    digest: str
    lines: Lines

    def is_like(self, other: "HandedIn") -> bool:
        """Whether both are one submission for one task, or nearly."""
        return self.task == other.task and (self.digest == other.digest or self.lines.nearly(other.lines))


def shared(ones: Iterable[HandedIn], others: Collection[HandedIn]) -> int:
    """Return how many of *ones* are among *others*, or nearly."""
    return sum(any(one.is_like(other) for other in others) for one in ones)


_DEEPEST = 60


def _texts(tree: Path) -> Iterator[bytes]:
    """Yield what each file holds, through no link; what is too large is no source."""
    try:
        root = os.open(tree, FOLDER)
    except OSError:
        return
    try:
        for entry in walk(root, _DEEPEST):
            if entry.kind == "file" and entry.size <= SMALL:
                yield _content(entry)
    finally:
        os.close(root)


def _content(entry: TreeEntry) -> bytes:
    try:
        with os.fdopen(entry.open(), "rb") as file:
            return file.read(SMALL)
    except OSError:
        return b""
