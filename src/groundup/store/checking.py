"""A run's verdicts, checked against the run's other files: what every reader of a run asks. Changes nothing.

A verdict that does not fit has no score: its line stands as `unfit` and names file and line.
Files of each attempt are looked at, but trees are not digested again; `runs.checking` does that.
"""

import errno
import hashlib
import math
import os
import shlex
import stat
from collections.abc import Callable, Mapping
from datetime import UTC, timedelta
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from groundup.domain.errors import InfrastructureError, UsageError
from groundup.domain.figures import minute
from groundup.domain.limits import Effort
from groundup.domain.names import count, printable
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey, Outcome, Submission
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, TestResult, Verdict
from groundup.store.attempts import (
    SUBMISSION,
    SUBMISSION_FILE,
    TESTS_FILE,
    VERDICT_FILE,
    AttemptFolder,
    digest_of_tests,
)
from groundup.store.lines import Chain, WrittenLine, written_lines
from groundup.store.records import Begun, ConfigFile, LockFile, VerdictLine
from groundup.trees.digest import tree_digest

VERDICTS, LOCK, CONFIG = "verdicts.jsonl", "lock.json", "config.json"
_CLOCKS = timedelta(days=1)
"""Clocks are set back, and machines that share a run have different ones."""
_PASSED = b'"outcome":"passed","expected":true'
_DEPENDENCY = b'"kind":"dependency"'


class RecordFault(Record):
    """What in a run's folder does not fit the rest of it."""

    file: str
    """Relative to the run's folder."""
    line: int | None = None
    attempt: AttemptKey | None = None
    """Whose score does not count for it; None: it is about the run."""
    why: str

    @property
    def place(self) -> str:
        return self.file if self.line is None else f"{self.file}, line {self.line}"

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"


class RunRecords(NamedTuple):
    """What a run's verdicts are, as far as they fit."""

    lines: dict[AttemptKey, VerdictLine]
    """The line that counts for each attempt; one that does not fit is `unfit`."""
    faults: tuple[RecordFault, ...]
    unchained: int
    """Lines of earlier versions, which show no change."""
    bad: Mapping[AttemptKey, RecordFault]
    """Why the latest line of an attempt does not fit."""

    def told(self, folder: Path) -> str:
        """Say what first does not fit in the run's *folder*, and how to see all; empty where everything fits."""
        if not self.faults:
            return ""
        return f"{self._first()}; `groundup runs check {shlex.quote(str(folder))}` lists all"

    def told_on_resuming(self, lost: int) -> str:
        """Say what first does not fit, and what becomes of it; the submissions of *lost* attempts are gone."""
        what = "is graded again"
        if lost:
            what += f", but for {count(lost, 'attempt')} whose submissions are gone: restore their folders, "
            what += "or begin a new run"
        return f"{self._first()}; what lost its score {what}"

    def _first(self) -> str:
        more = f" and {len(self.faults) - 1} more" if len(self.faults) > 1 else ""
        return f"the records of this run do not fit: {self.faults[0]}{more}"


def read_records(
    path: Path,
    config: ConfigFile,
    lock: Callable[[], LockFile | None],
    is_held: Callable[[], bool],
    *,
    attempts: bool = True,
) -> RunRecords:
    """Read all verdicts of the run in *path* and check them; without *attempts*, not against files of attempts.

    *lock* reads `lock.json`: None where there is none. A bundle does not have all of these. Raises `UsageError`
    where `verdicts.jsonl` cannot be read at all.
    """
    reading = _Reading(path, config, lock)
    for written in written_lines(path / VERDICTS):
        reading.take(written)
    reading.end()
    if attempts and not reading.is_bundle():
        reading.check_files(is_passing=isinstance(config.planned, Begun) and is_held())
    return reading.records()


class _Reading:
    """The lines so far, and what is wrong with them."""

    def __init__(self, path: Path, config: ConfigFile, lock: Callable[[], LockFile | None]) -> None:
        self._path = path
        self._config = config
        self._read_lock = lock
        self.faults: list[RecordFault] = []
        self.bad: dict[AttemptKey, RecordFault] = {}
        """The latest fault of each attempt whose latest line does not fit."""
        self.latest: dict[AttemptKey, tuple[int, VerdictLine]] = {}
        self.unchained: list[tuple[int, AttemptKey]] = []
        self._tasks = frozenset(config.planned.tasks)
        self._chain = Chain(config)
        self.lock = self._locked()
        self._chain.know(self.lock.starts)
        self._whole = hashlib.sha256()
        self._ends: str | None = None
        """The chain where `lock.json` says that the file went to."""
        self._is_chained = self._is_broken = False
        self._mended = 0

    def _locked(self) -> LockFile:
        try:
            return self._read_lock() or LockFile()
        except UsageError as error:
            self._fault(LOCK, None, None, f"it {str(error).removeprefix(f'{self._path / LOCK} ')}")
            return LockFile()

    def _fault(self, file: str, line: int | None, attempt: AttemptKey | None, why: str) -> None:
        fault = RecordFault(file=file, line=line, attempt=attempt, why=why)
        self.faults.append(fault)
        if attempt is not None:
            self.bad[attempt] = fault

    def take(self, written: WrittenLine) -> None:
        """Check a line by itself and by those before it."""
        number, data, line, damage = written
        if line is None:
            self._fault(VERDICTS, number, None, damage)
            self._is_broken = True
        else:
            key, earlier = line.attempt, self.latest.get(line.attempt)
            self.bad.pop(key, None)
            changed = self._why_changed(number, data, line)
            why = self._unplanned(key) or why_unfit(line) or self._why_foreign(line) or changed
            if why is None and earlier is not None and earlier[1].settles and not self._follows(line, earlier[1]):
                why = f"the attempt has a verdict in line {earlier[0]} already, and a second one is not possible"
            if why is not None:
                self._fault(VERDICTS, number, key, why)
            self.latest[key] = number, line
        self._chain.add(data, is_line=line is not None)
        self._whole.update(data)
        journal, mended = self.lock.journal, self.lock.mended
        if journal is not None and number == journal.lines:
            self._ends = self._chain.end
        if mended is not None and number == mended.lines and self._whole.hexdigest() == mended.chain:
            self._mended = number

    def _unplanned(self, key: AttemptKey) -> str | None:
        planned = self._config.planned
        if isinstance(planned, Begun) or (key.task in self._tasks and key.index < planned.attempts):
            return None
        return f"the run did not plan {key}"

    def _follows(self, line: VerdictLine, earlier: VerdictLine) -> bool:
        """Whether a run wrote *line* after *earlier*: in a served episode, or in place of what does not fit."""
        return line.try_number > earlier.try_number and (
            line.chain is not None or isinstance(self._config.planned, Begun)
        )

    def _why_foreign(self, line: VerdictLine) -> str | None:
        """Say what of *line* is not of this run."""
        if not self._config.is_own:  # what other harnesses graded may come without submissions
            return None
        if line.verdict and line.verdict.score and line.verdict.score.numerator and line.submission is None:
            return "it has points and no submission"
        if line.start >= len(self.lock.starts):
            # A process may have begun to work on the run since.
            self.lock = self.lock.but(starts=(self._reread() or self.lock).starts)
            self._chain.know(self.lock.starts)
        if line.start >= len(self.lock.starts):
            return f"{LOCK} has no start {line.start}, which made it"
        grader = self._config.grader
        if line.verdict is not None and line.verdict.grader.name != grader:
            return f"its verdict is of the grader {printable(line.verdict.grader.name)}, and the run's is {grader}"
        if line.started_at < self._config.created_at - _CLOCKS:
            return f"it began at {minute(line.started_at)}, before the run did"
        return None

    def _reread(self) -> LockFile | None:
        try:
            return self._read_lock()
        except UsageError:
            return None

    def _why_changed(self, number: int, data: bytes, line: VerdictLine) -> str | None:
        if line.chain is None:
            if self._is_chained:
                self._is_broken = True
                return "it has no digest, and a line before it has one: it was put in or changed"
            self.unchained.append((number, line.attempt))
            return None
        is_first, self._is_chained = not self._is_chained, True
        if self._chain.fits(data, line.start):
            return None
        self._is_broken = True
        if is_first:
            for earlier, key in self.unchained:
                self._fault(VERDICTS, earlier, key, f"it, or a line up to {number}, was changed")
        return (
            f"it was changed after it was written, as its digest says, or a line before it, {CONFIG} or {LOCK} was"
        )

    def end(self) -> None:
        """Compare the whole with what `lock.json` says of it."""
        if self._config.is_own and self._chain.lines and not (self._path / LOCK).exists():
            why = "it is missing: what made these verdicts is not known"
            self.faults.insert(0, RecordFault(file=LOCK, why=why))
        journal = self.lock.journal
        if journal is None:
            if self._is_chained and self._config.is_own and (self._path / LOCK).exists():
                why = f"it does not say how many lines {VERDICTS} has: the last ones may be missing"
                self._fault(LOCK, None, None, why)
            return
        if self._chain.lines < journal.lines:
            now = f"has {self._chain.lines}" if (self._path / VERDICTS).exists() else "is gone"
            self._fault(
                VERDICTS, None, None, f"it had {count(journal.lines, 'line')}, says {LOCK}, and now it {now}"
            )
        elif self._ends is not None and self._ends != journal.chain:
            why = f"the lines up to {journal.lines} are not those of which {LOCK} has the digest"
            self._fault(VERDICTS, journal.lines, None, why)
            if not self._is_broken:  # nobody can tell which
                for key, (number, _) in self.latest.items():
                    if number <= journal.lines and key not in self.bad:
                        self._fault(VERDICTS, number, key, why)

    def is_bundle(self) -> bool:
        """Whether it is a bundle, which has no test results; `lock.json` alone could be made to say so."""
        names = (f"{self._path}/attempts/{key.task}/{key.index}/{TESTS_FILE}" for key in self.latest)
        return self.lock.packed and not any(map(os.path.lexists, names))

    def check_files(self, *, is_passing: bool) -> None:
        """Check the files of each attempt that has a score, or is said to have nothing.

        *is_passing*: a server works on the run now, so that a fault may be gone in a moment.
        """
        for key, (number, line) in self.latest.items():
            if key in self.bad or not line.settles or is_passing:
                continue
            below = f"attempts/{key.task}/{key.index}"
            found = why_files_differ(f"{self._path}/{below}", line, is_own=self._config.is_own)
            if found is not None:
                file, why = found
                self._fault(f"{below}/{file}", None, key, f"{why} (line {number} of {VERDICTS})")

    def records(self) -> RunRecords:
        """Return what was found."""
        lines = {key: line for key, (_, line) in self.latest.items() if self._unplanned(key) is None}
        for key, fault in self.bad.items():
            if key in lines:
                lines[key] = without_score(lines[key], fault, self._config.grader)
        left = (fault for fault in self.faults if not self._is_mended(fault))
        return RunRecords(lines, tuple(left), len(self.unchained), self.bad)

    def _is_mended(self, fault: RecordFault) -> bool:
        """Whether a start knew of *fault*, and the attempt has another line since."""
        if fault.file != VERDICTS or fault.line is None or fault.line > self._mended:
            return False
        return fault.attempt is None or self.bad.get(fault.attempt) != fault


def without_score(line: VerdictLine, fault: RecordFault, grader: str) -> VerdictLine:
    """Return *line* as it counts where *fault* makes it worth nothing."""
    verdict = Verdict(
        status=Status.UNFIT,
        score=None,
        reasons=(Reason(stage=Stage.ENVIRONMENT, message=f"its records do not fit: {fault}"[:400]),),
        grader=GraderIdentity(name=grader, version="none", environment="none"),
        cacheable=False,
    )
    times = {"started_at": line.started_at, "finished_at": line.finished_at}
    zoned = {name: time if time.tzinfo else time.replace(tzinfo=UTC) for name, time in times.items()}
    return line.but(verdict=verdict, effort=None, **zoned)


def why_unfit(line: VerdictLine) -> str | None:
    """Say what cannot be true of *line*, whatever run it is of."""
    if (why := _why_untimely(line)) is not None:
        return why
    verdict = line.verdict
    if (verdict is None) != (line.outcome is Outcome.NOT_ATTEMPTED):
        return f"its outcome is {line.outcome.value}, and it has {'no' if verdict is None else 'a'} verdict"
    if not _is_finite(line.effort, verdict):
        return "a number in it is none that can be"
    if verdict is None:
        return None
    if (verdict.score is None) != (verdict.status is not Status.GRADED):
        return f"its status is {verdict.status.value}, and it has {'no' if verdict.score is None else 'a'} score"
    scores = {"score": verdict.score, **verdict.scores} if verdict.score else verdict.scores
    for name, score in scores.items():
        if not score.is_share:
            return f"its {printable(name)} is {score}, which is no share"
    return None


def _why_untimely(line: VerdictLine) -> str | None:
    if line.started_at.tzinfo is None or line.finished_at.tzinfo is None:
        return "its times have no time zone"
    if line.finished_at < line.started_at - _CLOCKS:
        return f"it ended at {minute(line.finished_at)}, before it began"
    return None


def _is_finite(effort: Effort | None, verdict: Verdict | None) -> bool:
    numbers: list[float | None] = []
    if effort is not None:
        numbers += (effort.cost_usd, effort.seconds, *effort.rounds)
    if verdict is not None:
        numbers += verdict.timings_s.values()
        numbers += [fact for fact in verdict.facts.values() if type(fact) is float]
    return math.isfinite(sum(abs(number or 0.0) for number in numbers))


FileFault = tuple[str, str]
"""The name of a file of an attempt, and what is wrong with it."""


def why_files_differ(place: str, line: VerdictLine, *, is_own: bool) -> FileFault | None:
    """Return which file of the attempt in the folder *place* does not fit its *line*, and why; None: all fit.

    Places are plain strings: ten thousand attempts of paths would take longer than all their files.
    """
    try:
        if line.verdict is None:
            handed_in = is_own and os.path.exists(f"{place}/{SUBMISSION_FILE}")  # noqa: PTH110 - as above
            return (
                (SUBMISSION_FILE, "something was handed in, and the verdict says nothing") if handed_in else None
            )
        return (
            _submission_differs(place, line, is_own)
            or _tests_differ(place, line, is_own)
            or (_verdict_differs(place, line.verdict) if is_own else None)
        )
    except OSError as error:
        name = str(error.filename or "").rpartition("/")[2]
        return name or SUBMISSION_FILE, f"it cannot be read: {error.strerror}"


def _submission_differs(place: str, line: VerdictLine, is_own: bool) -> FileFault | None:
    if line.submission is None:
        return None
    try:
        record = Submission.model_validate_json(_content(f"{place}/{SUBMISSION_FILE}"))
    except FileNotFoundError:
        return (SUBMISSION_FILE, "it is missing: the attempt's folder was removed or cut") if is_own else None
    except ValidationError:
        return SUBMISSION_FILE, "it is damaged"
    if record.digest != line.submission:
        return SUBMISSION_FILE, "it names another submission than the verdict is on"
    if not _is_folder(f"{place}/{SUBMISSION}"):
        return SUBMISSION, "what was handed in is missing"
    if is_own and record.outcome != line.outcome:
        why = f"it says that making it ended as {record.outcome.value}, and the verdict {line.outcome.value}"
        return SUBMISSION_FILE, why
    if is_own and paid(record.effort) != paid(line.effort):
        return SUBMISSION_FILE, "turns, tokens or cost are others than those of the verdict"
    return None


def why_tree_differs(attempt: AttemptFolder) -> str | None:
    """Say why the tree in an attempt's folder is not what was handed in; None: it is, or there was none."""
    try:
        record = attempt.record()
        if record is None or tree_digest(attempt.submission).digest == record.digest:
            return None
    except (UsageError, InfrastructureError) as error:
        return str(error)
    return "it was changed after it was handed in: its digest is not that of submission.json"


def _is_folder(path: str) -> bool:
    """Whether *path* is a folder itself, and no link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def paid(effort: Effort | None) -> tuple[object, ...] | None:
    """Return what of *effort* stands both in a verdict's line and in the record of its submission."""
    return None if effort is None else (effort.turns, effort.cost_usd, tuple(effort.usage))


def _tests_differ(place: str, line: VerdictLine, is_own: bool) -> FileFault | None:
    try:
        data = _content(f"{place}/{TESTS_FILE}")
    except FileNotFoundError:
        missing = line.tests_digest is not None or is_own
        return (TESTS_FILE, "it is missing: what the tests did is not known") if missing else None
    if line.tests_digest is not None:
        if digest_of_tests(data) == line.tests_digest:
            return None
        return TESTS_FILE, f"it was changed after its verdict was written{_where_damaged(data)}"
    score = line.verdict.score if line.verdict else None
    if not is_own or score is None or not data or _DEPENDENCY in data:
        return None
    if min(data.count(_PASSED), score.denominator) == score.numerator:
        return None
    return _count_differs(data, score)


def _count_differs(data: bytes, score: Score) -> FileFault | None:
    """Compare a score with the tests of a file that an earlier version wrote, in whatever form of JSON."""
    if damage := _where_damaged(data):
        return TESTS_FILE, f"it is damaged{damage}"
    tests = [TestResult.model_validate_json(one) for one in data.splitlines()]
    passed = sum(test.expected and test.outcome == "passed" for test in tests)
    if min(passed, score.denominator) == score.numerator:
        return None
    return TESTS_FILE, f"{passed} of its {len(tests)} tests passed, and the verdict counts {score}"


def _where_damaged(data: bytes) -> str:
    """Say which line of a file of test results cannot be read; empty: all can."""
    lines = data.split(b"\n")
    if lines.pop():
        return f": line {len(lines) + 1} ends in its middle"
    for number, one in enumerate(lines, start=1):
        try:
            TestResult.model_validate_json(one)
        except ValidationError:
            return f": line {number} is damaged"
    return ""


def _verdict_differs(place: str, verdict: Verdict) -> FileFault | None:
    """Compare the line with the whole verdict of which it is a part."""
    if verdict.facts.get("shortened") is not True:
        return None
    try:
        whole = Verdict.model_validate_json(_content(f"{place}/{VERDICT_FILE}"))
    except FileNotFoundError:
        return VERDICT_FILE, "it is missing, and the verdict's line has only a part of it"
    except ValidationError:
        return VERDICT_FILE, "it is damaged"
    same = (whole.status, whole.score) == (verdict.status, verdict.score)
    return None if same else (VERDICT_FILE, "its score is another than that of the verdict's line")


def _content(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        kept = os.fstat(descriptor)
        if not stat.S_ISREG(kept.st_mode):
            raise OSError(errno.EINVAL, "it is no file", path)
        return b"".join(iter(lambda: os.read(descriptor, max(kept.st_size + 1, 65536)), b""))
    finally:
        os.close(descriptor)
