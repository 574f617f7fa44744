"""`judgements.jsonl`: what models say of a run's submissions, kept apart from what tests say. Owns the file.

    {"attempt": {...}, "of": "readme", "judge": "provider/model", "scores": {...}, ...}

One line per judgement, append-only; the last one of the same attempt, matter, judge and question counts.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from pydantic import Field, ValidationError

from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.domain.usage import TokenUsage
from groundup.store.files import Journal, complete_lines
from groundup.trees.writer import disk_errors

FILE_NAME = "judgements.jsonl"

Matter = Literal["repository", "readme", "tests"]
Criterion = Literal["correctness", "coverage", "readability", "independence", "robustness"]


class Opinion(Record):
    """What one judge says by one criterion."""

    score: int = Field(ge=0, le=10)
    reason: str = Field(max_length=400)


class Judgement(Record):
    """What one judge says of one matter of one submission, or why it says nothing."""

    attempt: AttemptKey
    of: Matter
    judge: str = Field(description="provider/model")
    question: str = Field(description="digest of what the judge was shown and asked")
    vote: int = Field(default=0, ge=0, description="earlier versions asked again; only the first counts")
    scores: dict[Criterion, Opinion] = Field(default={}, description="empty: see `failed`")
    influenced: bool = Field(default=False, description="the judge says the submission tried to sway it")
    failed: str | None = Field(default=None, max_length=400, description="why there are no scores")
    shown_files: int = 0
    all_files: int = 0
    usage: TokenUsage = TokenUsage()
    cost_usd: float | None = None
    at: datetime


def read_judgements(run: Path) -> Iterator[Judgement]:
    """Yield the judgements of the run in the folder *run*, oldest first.

    Raises `UsageError` naming file and line when one is damaged.
    """
    path = run / FILE_NAME
    for number, line in complete_lines(path):
        try:
            judgement = Judgement.model_validate_json(line)
        except ValidationError as error:
            raise UsageError(f"{path}, line {number} is damaged; restore the file or remove that line") from error
        if judgement.vote == 0:
            yield judgement


class JudgementsFile:
    """Appends to a run's judgements; one process at a time. Use as a context."""

    def __init__(self, run: Path) -> None:
        """Raises `UsageError` when another process judges the run."""
        path = run / FILE_NAME
        with disk_errors(run):
            self._lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise UsageError(f"another process judges the run {run.name!r}; wait for it") from error
        self._journal = Journal(path)

    def append(self, judgement: Judgement) -> None:
        """Record a judgement; it is on the disk when this returns. Raises `DiskFullError`."""
        self._journal.append(judgement.model_dump_json().encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._journal.close()
        os.close(self._lock)
