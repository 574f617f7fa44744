"""The folder of one attempt: trajectory, submission, test results, logs.

Owns the files; what a step means is up to the agent that recorded it and to its readers. Hundreds of attempts
append at once, so none waits for the disk: a power cut can cost the last steps, a killed process none.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue, TypeAdapter, ValidationError

from groundup.domain.errors import InfrastructureError, UsageError
from groundup.domain.subjects import Submission
from groundup.domain.verdicts import TestResult
from groundup.store.files import Closeable, Journal, complete_lines, write_atomically
from groundup.trees.walking import LARGE, read_regular, remove_tree
from groundup.trees.writer import disk_errors

Step = Mapping[str, JsonValue]
_TEXT = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
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


class TrajectoryFile(Closeable):
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
        self._journal.append(_TEXT.encode(step).encode(errors="replace"))

    def recorded(self) -> tuple[Step, ...]:
        """Return the steps of the earlier tries, in order."""
        return self._earlier

    def close(self) -> None:
        """Close the file. Can be called twice."""
        self._journal.close()


LOG_BYTES = 16 * 1024 * 1024
"""Most of one log that is kept: half head, half tail."""
_PASSED = b'"outcome":"passed"'
"""Of a line of test results; no text in it can hold this, because its quotes would have backslashes."""
_CUT = b"\n... %d bytes left out ...\n"


SUBMISSION, SUBMISSION_FILE, TESTS_FILE = "submission", "submission.json", "tests.jsonl"
VERDICT_FILE = "verdict.json"
"""Of earlier versions, whose lines had a bound: the whole of a verdict that was cut to fit."""


class AttemptFolder:
    """Names and contents of one attempt's folder. Changes nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.submission = path / SUBMISSION
        self.submission_file = path / SUBMISSION_FILE
        self.tests_file = path / TESTS_FILE
        self.logs = path / "logs"
        self.kept = path / "kept"
        self.trajectory_file = path / "trajectory.jsonl"
        self.agent_logs = path / "agent"
        self.saying_file = path / "saying.txt"

    def round(self, number: int) -> Path:
        """Where lies what was handed in at the end of a round, once that is there in full."""
        return self.path / "rounds" / str(number)

    def record(self) -> Submission | None:
        """Return the record of what was taken in; None before that is complete."""
        try:
            return Submission.model_validate_json(read_regular(self.submission_file, LARGE))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageError(
                f"{self.submission_file} cannot be read: {error.strerror}; remove the folder {self.path} and "
                "resume the run"
            ) from error
        except ValidationError as error:
            raise UsageError(
                f"{self.submission_file} is damaged; remove the folder {self.path} and resume the run"
            ) from error

    def made(self) -> Submission | None:
        """Return the record of a submission that is there in full; None where it must be made again."""
        try:
            record = self.record()
        except UsageError:  # damaged: nothing was settled with it
            return None
        return record if record and self.submission.is_dir() else None

    def tests(self) -> tuple[TestResult, ...]:
        """Return what the hidden tests did in the try that settled it."""
        found = []
        for number, line in complete_lines(self.tests_file):
            try:
                found.append(TestResult.model_validate_json(line))
            except ValidationError as error:
                raise UsageError(
                    f"{self.tests_file}, line {number} is damaged; grade the run again with `groundup regrade`"
                ) from error
        return tuple(found)

    def lost_tests(self) -> tuple[TestResult, ...]:
        """Return those of `tests()` that were lost; those that passed are not parsed, for runs have millions."""
        found = [line for _, line in complete_lines(self.tests_file) if _PASSED not in line]
        try:
            tests = tuple(map(TestResult.model_validate_json, found))
        except ValidationError as error:
            raise UsageError(
                f"{self.tests_file} is damaged; grade the run again with `groundup regrade`"
            ) from error
        return tuple(one for one in tests if one.lost)


class AttemptWriter(AttemptFolder):
    """Writes into an attempt's folder; only the holder of the run may. An episode's sink."""

    @contextmanager
    def incoming(self) -> Iterator[Path]:
        """Yield an empty folder to fill; on success it becomes `submission/`, otherwise it is removed."""
        arriving = self.path / ".incoming"
        with disk_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            # The record goes first: without it what lies in `submission/` counts as incomplete, whenever we are
            # killed.
            self.submission_file.unlink(missing_ok=True)
        for old in (arriving, self.submission):
            remove_tree(old)
        try:
            with disk_errors(self.path):
                arriving.mkdir()
            yield arriving
            with disk_errors(self.path):
                arriving.rename(self.submission)
        except BaseException:
            with suppress(InfrastructureError):  # the first failure is the one to report; the next start sweeps
                remove_tree(arriving)
            raise

    @contextmanager
    def ending_round(self, number: int) -> Iterator[Path]:
        """Yield an empty folder to fill; on success it becomes `round(number)`, otherwise it is removed."""
        final = self.round(number)
        arriving = final.with_name(f".{number}")
        for old in (arriving, final):
            remove_tree(old)
        with disk_errors(self.path):
            arriving.mkdir(parents=True)
        try:
            yield arriving
            with disk_errors(self.path):
                arriving.rename(final)
        finally:
            with suppress(InfrastructureError):  # after a kill the next round of that number removes it
                remove_tree(arriving)

    def write_record(self, submission: Submission) -> None:
        """Record that `submission/` is complete."""
        # Not worth a wait for the disk: what a crash of the machine damages is taken in again.
        content = submission.model_dump_json(indent=1).encode() + b"\n"
        write_atomically(self.submission_file, content, durable=False)

    def write_evidence(
        self, tests: Iterable[TestResult], logs: Mapping[str, bytes], *, again: int | None
    ) -> str | None:
        """Keep a try's test results and logs; *again*: the number of a try that will be repeated, kept apart.

        Returns the digest of the test results; None where none are kept.
        """
        content = b"".join(test.model_dump_json().encode() + b"\n" for test in tests)
        folder = self.logs if again is None else self.logs / f"try-{again}"
        with disk_errors(folder):
            (folder if logs else self.path).mkdir(parents=True, exist_ok=True)
        if again is None:
            write_atomically(self.tests_file, content)
        for name, log in logs.items():
            write_atomically(folder / _file_name(name), _capped(log), durable=False)
        return digest_of_tests(content) if again is None else None

    def trajectory(self) -> TrajectoryFile:
        """Open the trajectory to append to it."""
        return TrajectoryFile(self.trajectory_file)

    def saying(self, text: str) -> None:
        """Keep the end of what a model says just now, for those who look on; empty: it says nothing now."""
        if text:
            write_atomically(self.saying_file, text.encode(errors="replace"), durable=False)
        else:
            self.saying_file.unlink(missing_ok=True)

    def keep_agent_log(self, name: str, content: bytes) -> None:
        """Keep what an agent printed or logged itself, replacing what is there of that name."""
        with disk_errors(self.path):
            self.agent_logs.mkdir(parents=True, exist_ok=True)
        write_atomically(self.agent_logs / _file_name(name), _capped(content), durable=False)

    def keep(self, scratch: Path) -> None:
        """Move a grader's scratch folder here, replacing an earlier one."""
        remove_tree(self.kept)
        with disk_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            scratch.rename(self.kept)


def digest_of_tests(content: bytes) -> str:
    """Return what a verdict's line has of the file of its test results."""
    return hashlib.sha256(content).hexdigest()[:32]


def _file_name(name: str) -> str:
    """Return *name* as one harmless path component."""
    return re.sub(r"[^A-Za-z0-9._+-]", "_", name).lstrip(".")[:120] or "log"


def _capped(content: bytes) -> bytes:
    if len(content) <= LOG_BYTES:
        return content
    half = LOG_BYTES // 2
    return content[:half] + _CUT % (len(content) - 2 * half) + content[-half:]
