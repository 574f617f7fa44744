"""Bundles of runs that others can check, and a page that ranks them."""

import hashlib
import math
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from groundup import catalog
from groundup.api.flags import AnyPath
from groundup.api.reports import run_folder
from groundup.api.runs import regrade
from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import Status
from groundup.reports.leaderboard import Entry, board, limits_in_words
from groundup.reports.summary import report_run
from groundup.reports.views import grader_words, percent
from groundup.runs.bundles import Bundle, BundleManifest, Disclosure, unpack
from groundup.runs.bundles import pack as pack_run
from groundup.settings import Settings, load
from groundup.store.folder import RunFolder
from groundup.store.ownership import copy_made, write_made
from groundup.store.records import VerdictLine
from groundup.suites.base import open_suite
from groundup.trees.writer import disk_errors

SUFFIX = ".tar.gz"
_NOT_STATED = "not stated"


class Differing(Record):
    """An attempt that was graded otherwise than its bundle says, at least once."""

    attempt: str
    claimed: str
    found: tuple[str, ...] = Field(description="by each grading")


class Verification(Record):
    """Whether a bundle's numbers hold, as far as a sample tells."""

    run: str
    seed: int
    tasks: tuple[str, ...] = Field(description="drawn")
    of: int = Field(description="tasks that could be drawn")
    attempts: int = Field(description="graded again and compared")
    differing: tuple[Differing, ...]
    unsteady: tuple[Differing, ...] = Field(description="that vary between gradings, with the claim among them")
    times: int = Field(description="how often an attempt that differs is graded at most")
    tolerance: float = Field(description="a share of 1 by which scores may differ")
    claimed: float | None = Field(description="mean score of those attempts in the bundle, a share of 1")
    found: float | None = Field(description="their mean score when graded again, over all gradings")
    sandbox: str = Field(description="in which it was graded again: the verifier's")
    notes: tuple[str, ...] = Field(description="what else is not as in the bundle")
    unknown: tuple[str, ...] = Field(description="attempts that could not be graded again here")

    @property
    def holds(self) -> bool:
        """Whether everything that was drawn was graded again, to the same score."""
        return not self.differing and not self.unknown and self.attempts > 0

    @property
    def conclusion(self) -> str:
        """One sentence for people."""
        if self.differing:
            most = f" in each of {self.times} gradings" if self.times > 1 else ""
            return f"the numbers do not hold: {len(self.differing)} of {self.attempts} attempts differ{most}"
        if self.unknown or not self.attempts:
            return f"not verified: {len(self.unknown)} attempts could not be graded here, {self.attempts} were"
        words = f"the numbers hold: {self.attempts} attempts at {len(self.tasks)} of {self.of} tasks agree"
        if self.unsteady and self.claimed is not None and self.found is not None:
            means = f"the sample claims {percent(self.claimed)} and was graded {percent(self.found)}"
            words += f", of which {len(self.unsteady)} vary between gradings; {means}"
        if len(self.tasks) == self.of:
            return words
        most_of_all = 1 - math.exp(math.log(0.05) / len(self.tasks))
        return f"{words}; with 95 % confidence fewer than {most_of_all * 100:.0f} % of all tasks differ"


def pack(
    run: AnyPath,
    bundle: AnyPath,
    *,
    contamination: str = _NOT_STATED,
    notes: str = "",
    output: AnyPath | None = None,
    settings: Settings | None = None,
) -> BundleManifest:
    """Write configuration, lock, verdicts and submissions of *run* to the file *bundle*, a `.tar.gz`.

    *contamination* says what the model may have seen of the tasks. Raises `UsageError`, also for a run that owes
    attempts.
    """
    found = settings or load({"output": output})
    if not str(bundle).endswith(SUFFIX):
        raise UsageError(f"a bundle's name ends in {SUFFIX}")
    folder = RunFolder(run_folder(run, found))
    suite = open_suite(folder.config().configuration.suite, found)
    planned = set(folder.config().planned.tasks)
    languages = {str(task.metadata.get("language", "python")) for task in suite.tasks() if task.id in planned}
    disclosure = Disclosure(contamination=contamination, notes=notes, languages=tuple(sorted(languages)))
    return pack_run(folder, Path(bundle), disclosure)


def verify(
    bundle: AnyPath,
    *,
    sample: int = 10,
    seed: int | None = None,
    times: int = 3,
    tolerance: float = 0.0,
    timeout: float | None = None,
    suite: str | None = None,
    settings: Settings | None = None,
) -> Verification:
    """Grade the submissions of *sample* tasks of *bundle* again, drawn by *seed* (None: at random), and compare.

    An attempt whose score differs by more than *tolerance*, a share of 1, is graded up to *times* times. Its claim
    holds if it lies between the lowest and the highest score that it gets.

    Neither the bundle's verdicts nor a cache is used, and sandbox and time are the verifier's, whatever the bundle
    says: tests have *timeout* seconds (None: what their recipes say). A suite that is not groundup's own,
    `package.module:attribute`, is code that the bundle names: it is loaded only when *suite* says the same. Raises
    `UsageError` for what is no bundle.
    """
    if sample < 1 or times < 1 or not 0 <= tolerance < 1:
        raise UsageError("sample and times are at least 1, tolerance is a share from 0 to less than 1")
    drawn = random.SystemRandom().randrange(2**32) if seed is None else seed
    with _opened(bundle) as opened:
        config, lines = opened.run.config(), opened.run.latest()
        _check_suite(config.configuration.suite, suite)
        # Without a submission a verdict is 0; one that is not is a claim like others.
        graded = sorted(
            {k.task for k, one in lines.items() if one.verdict and (one.submission or _counted(one) != 0)}
        )
        if not graded:
            raise UsageError("the bundle has no submission that could be graded again")
        chosen = random.Random(drawn).sample(graded, min(sample, len(graded)))  # noqa: S311  # reproducible
        tasks = sorted({*chosen, *_outsized(lines)})
        unproven = tuple(_unproven(config.planned.keys, lines))
        keys = [key for key in config.planned.keys if key.task in tasks and key in lines]
        opened.lay_out(keys)
        opened.give(timeout)
        checks = [_Check(key, lines[key], tolerance) for key in keys]
        sandbox = _grade_again(opened, checks, times, settings or load())
    known = [check for check in checks if check.found]
    return Verification(
        run=config.run_id,
        seed=drawn,
        tasks=tuple(tasks),
        of=len(graded),
        attempts=len(known) + len(unproven),
        differing=(*unproven, *(check.in_words() for check in known if not check.holds)),
        unsteady=tuple(check.in_words() for check in known if check.holds and not check.agrees),
        times=times,
        tolerance=tolerance,
        claimed=_mean([_counted(check.claimed) for check in known]),
        found=_mean([_mean([_counted(one) for one in check.found]) for check in known]),
        sandbox=sandbox,
        notes=tuple(_notes(config.configuration.timeout_s, timeout, known)),
        unknown=tuple(str(check.key) for check in checks if not check.found),
    )


def _outsized(lines: Mapping[AttemptKey, VerdictLine]) -> Iterator[str]:
    """Yield tasks with a claim that is no share: in a mean, one such weighs more than any sample can exclude."""
    for key, line in lines.items():
        value = _counted(line)
        if value is not None and not 0 <= value <= 1:
            yield key.task


def _unproven(keys: Sequence[AttemptKey], lines: Mapping[AttemptKey, VerdictLine]) -> Iterator[Differing]:
    """Yield what is in no mean, for it has no verdict."""
    for key in keys:
        if key not in lines or not lines[key].settles:
            yield Differing(attempt=str(key), claimed="no verdict", found=())


def _check_suite(named: str, trusted: str | None) -> None:
    """Raise `UsageError` for a suite that is code of the bundle's maker, unless its user trusts it by name."""
    if named.partition("@")[0] not in catalog.names("suite") and named != trusted:
        raise UsageError(f"the bundle's suite is {named!r}; --suite {named} says that you trust it")


@dataclass
class _Check:
    """An attempt, what its bundle claims, and what gradings found."""

    key: AttemptKey
    claimed: VerdictLine
    tolerance: float
    found: list[VerdictLine] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        """Whether every grading found what is claimed."""
        return all(self._between([line]) for line in self.found)

    @property
    def holds(self) -> bool:
        """Whether the claim is among what gradings found, or between two of them."""
        return any(self._between([line]) for line in self.found) or self._between(self.found)

    def _between(self, lines: Sequence[VerdictLine]) -> bool:
        if any(_status(line) != _status(self.claimed) for line in lines):
            return False
        value, values = _counted(self.claimed), [one for one in map(_counted, lines) if one is not None]
        if value is None or len(values) < len(lines):
            return value is None and not values
        return min(values) - self.tolerance <= value <= max(values) + self.tolerance

    def in_words(self) -> Differing:
        """Return claim and findings in words."""
        return Differing(
            attempt=str(self.key), claimed=_standing(self.claimed), found=tuple(map(_standing, self.found))
        )


def _grade_again(opened: Bundle, checks: Sequence[_Check], times: int, verifier: Settings) -> str:
    """Grade what *checks* name, and what differs up to *times* times; return the sandbox in which it was done."""
    sandbox, left = verifier.sandbox, list(checks)
    for _ in range(times):
        with tempfile.TemporaryDirectory(prefix="groundup-verify-") as room:
            again = regrade(
                opened.run.path,
                settings=verifier,
                tasks=sorted({check.key.task for check in left}),
                output=room,
                no_cache=True,
                run_id="again",
                grader=opened.run.config().grader,
                sandbox=verifier.sandbox,
            )
            found = RunFolder(again.folder).latest()
            sandbox = RunFolder(again.folder).config().configuration.sandbox
        for check in left:
            line = found.get(check.key)
            check.found += [line] if line and line.settles else []
        left = [check for check in left if not check.agrees]
        if not left:
            break
    return sandbox


def _notes(claimed_s: float | None, given_s: float | None, checks: Sequence[_Check]) -> Iterator[str]:
    """Yield what else differs between the gradings of a bundle and of its verifier."""
    if claimed_s != given_s:
        had, have = (
            "what their recipes say" if time is None else f"{time:g} s (--timeout)"
            for time in (claimed_s, given_s)
        )
        yield f"tests had another time: {had} in the bundle, {have} here"
    pairs = [
        (check.claimed.verdict.grader, line.verdict.grader)
        for check in checks
        for line in check.found
        if check.claimed.verdict and line.verdict
    ]
    for had_by, have_by in dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]):
        yield f"graded by {grader_words(had_by)} in the bundle, by {grader_words(have_by)} here"


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _counted(line: VerdictLine) -> float | None:
    """Return what an attempt counts in a mean; None for an undefined score."""
    if line.verdict is None or line.verdict.status is not Status.GRADED:
        return 0.0
    return line.verdict.score.value if line.verdict.score else None


def _status(line: VerdictLine) -> str:
    return "not attempted" if line.verdict is None else line.verdict.status.value


def _standing(line: VerdictLine) -> str:
    score = None if line.verdict is None else line.verdict.score
    parts = "" if score is None else f" {score.numerator:g}/{score.denominator:g}"
    return f"{_status(line)}{parts}"


@contextmanager
def _opened(bundle: AnyPath) -> Iterator[Bundle]:
    with tempfile.TemporaryDirectory(prefix="groundup-bundle-") as room:
        yield unpack(Path(bundle), Path(room) / "bundle")


def build(folder: AnyPath, site: AnyPath) -> list[str]:
    """Write a page that ranks the bundles in *folder* to *site*, beside copies of them; return the runs' names.

    Raises `UsageError` for a file there that is no bundle, and where something lies that groundup did not write.
    """
    bundles = sorted(Path(folder).glob(f"*{SUFFIX}"))
    if not bundles:
        raise UsageError(f"{folder} holds no bundle (*{SUFFIX}); `groundup leaderboard pack` makes one")
    evidence = Path(site) / "evidence"
    entries = [_entry(path) for path in bundles]
    with disk_errors(Path(site)):
        evidence.mkdir(parents=True, exist_ok=True)
        for path in bundles:
            copy_made(path, evidence / path.name)
        write_made(Path(site) / "index.html", board(entries).encode())
    return [entry.run.run_id for entry in entries]


def _entry(path: Path) -> Entry:
    with _opened(path) as opened:
        config, disclosure = opened.run.config(), opened.manifest.disclosure
        submissions = config.configuration.submissions
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Entry(
            run=report_run(config, opened.run.latest()),
            kind=submissions.kind,
            languages=disclosure.languages,
            limits=limits_in_words(getattr(submissions, "limits", None)),
            contamination=disclosure.contamination,
            notes=disclosure.notes,
            evidence=f"evidence/{path.name}",
            digest=digest,
        )
