"""`trajectory.jsonl`: what an agent did in one attempt, appended as it happens, over all tries of the attempt.

Owns the file. What a step means is between the agent that recorded it and whoever reads it later. Hundreds of
attempts append at once, so nobody waits for the disk: a power cut can cost the last steps, a killed process none.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import JsonValue, TypeAdapter, ValidationError

from groundup.domain.errors import UsageError
from groundup.store.journal import Journal, complete_lines
from groundup.trees.writer import disk_errors

Step = Mapping[str, JsonValue]
_STEP: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


def read_trajectory(path: Path) -> Iterator[Step]:
    """Yield the steps of the file at *path*; nothing for an absent one. A torn last line counts as never written.

    Raises `UsageError` naming file and line when one is damaged.
    """
    for number, line in complete_lines(path):
        try:
            yield _STEP.validate_json(line)
        except ValidationError as error:
            raise UsageError(f"{path}, line {number} is damaged; restore the file") from error


class TrajectoryFile:
    """Appends to an attempt's trajectory. Use as a context; only the holder of the run may."""

    def __init__(self, path: Path) -> None:
        with disk_errors(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        self._earlier = tuple(read_trajectory(path))
        self._journal = Journal(path, synced=False)

    def append(self, kind: str, **fields: JsonValue) -> None:
        """Record a step; it survives the end of this process when this returns. Raises `DiskFullError`."""
        step = {"kind": kind, "at": datetime.now(UTC).isoformat(timespec="milliseconds"), **fields}
        # A model may send half a pair of surrogates, which is no text: it becomes a question mark.
        self._journal.append(json.dumps(step, ensure_ascii=False, allow_nan=False).encode(errors="replace"))

    def recorded(self) -> tuple[Step, ...]:
        """Return the steps of the earlier tries, in order."""
        return self._earlier

    def close(self) -> None:
        """Close the file. Can be called twice."""
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()
