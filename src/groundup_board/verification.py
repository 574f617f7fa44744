"""Whether a bundle's numbers hold: its claims are proven, and a sample of it is graded again."""

import asyncio
import math
import random
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from groundup.api.flags import AnyPath
from groundup.api.runs import regrade
from groundup.domain.errors import UsageError
from groundup.domain.figures import percent
from groundup.domain.names import count
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import counted, standing_of
from groundup.reports.views import grader_words
from groundup.settings import Settings, load
from groundup.store.folder import RunFolder
from groundup.store.records import References, VerdictLine
from groundup.suites.opening import is_known, open_suite
from groundup_board.bundles import Bundle, unpack
from groundup_board.claims import Claims, board_sets, check_claims
from groundup_board.references import own_references

_ADVICE = re.compile(r"; (restore|remove|resume|finish|grade)\b[^;]*$")
"""What the maker of a run could do, and who has its bundle cannot."""


class BoardRules(Record):
    """What bundles may name."""

    suite: str | None = Field(
        default=None,
        description="`package.module:attribute`: a suite that is code of the bundle's maker, and that is trusted",
    )
    sets: tuple[str, ...] = Field(
        default=(),
        description="fixed sets of tasks beside the suite's own: NAME=FILE with a task a line, or a group's name",
    )


PLAIN = BoardRules()


class Differing(Record):
    """An attempt that was graded otherwise than its bundle says, at least once."""

    attempt: str
    claimed: str
    found: tuple[str, ...] = Field(description="by each grading")


class Verification(Record):
    """Whether a bundle's numbers hold, as far as a sample tells."""

    run: str
    seed: int
    refused: tuple[str, ...] = Field(
        default=(), description="what cannot be true, found before any grading; then nothing is graded"
    )
    task_set: str | None = Field(default=None, description="the fixed set that its tasks are")
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
    references: dict[str, str] = Field(
        default={}, description="drawn attempts whose submission is the suite's own, or nearly: of whom"
    )

    @property
    def holds(self) -> bool:
        """Whether the claims can be true, and everything that was drawn was graded again and bears them out."""
        return not (self.refused or self.differing or self.unknown) and self.attempts > 0

    @property
    def conclusion(self) -> str:
        """One sentence for people."""
        if self.refused:
            return f"the bundle is refused: {'; '.join(self.refused)}"
        if self.differing:
            most = f" in each of {self.times} gradings" if self.times > 1 else ""
            of = f"{len(self.differing)} of {count(self.attempts, 'attempt')}"
            return f"the numbers do not hold: {of} came out otherwise{most}"
        if self.unknown or not self.attempts:
            unknown = count(len(self.unknown), "attempt")
            return f"not verified: {unknown} could not be graded here, {self.attempts} could"
        tasks = f"{len(self.tasks)} of {count(self.of, 'task')}"
        words = f"the numbers hold: {count(self.attempts, 'attempt')} at {tasks} came out the same"
        if self.references:
            whose = ", ".join(sorted(set(self.references.values())))
            words += f"; {len(self.references)} of these submissions are the suite's own ({whose})"
        if self.unsteady and self.claimed is not None and self.found is not None:
            means = f"the sample claims {percent(self.claimed)} and was graded {percent(self.found)}"
            words += f", of which {len(self.unsteady)} vary between gradings; {means}"
        if len(self.tasks) == self.of:
            return words
        most_of_all = 1 - math.exp(math.log(0.05) / len(self.tasks))
        return f"{words}; with 95 % confidence fewer than {most_of_all * 100:.0f} % of all tasks differ"


def verify(
    bundle: AnyPath,
    *,
    sample: int = 10,
    seed: int | None = None,
    times: int = 3,
    tolerance: float = 0.0,
    timeout: float | None = None,
    rules: BoardRules = PLAIN,
    settings: Settings | None = None,
) -> Verification:
    """Prove what *bundle* claims as far as its suite tells, then grade *sample* tasks of it again and compare.

    Tasks are drawn by *seed* (None: at random). An attempt whose score differs by more than *tolerance*, a share
    of 1, is graded up to *times* times. Its claim holds if it lies between the lowest and the highest score that
    it gets. Neither the bundle's verdicts nor a cache is used, and sandbox and time are the verifier's, whatever
    the bundle says: tests have *timeout* seconds (None: what their recipes say). Raises `UsageError` for what is
    no bundle, and for a suite that *rules* do not allow.
    """
    if sample < 1 or times < 1 or not 0 <= tolerance < 1:
        raise UsageError("sample and times are at least 1, tolerance is a share from 0 to less than 1")
    drawn = random.SystemRandom().randrange(2**32) if seed is None else seed
    verifier = settings or load()
    with opened_bundle(bundle) as opened:
        config, lines = opened.run.config(), opened.lines
        claims = claims_of(opened, rules, verifier)
        graded = gradable(lines)
        if not graded and not claims.faults:
            raise UsageError("the bundle has no submission that could be graded again")
        tasks = () if claims.faults else drawn_tasks(graded, sample, drawn)
        keys = [key for key in config.planned.keys if key.task in tasks and key in lines]
        checks = [_Check(key, lines[key], tolerance) for key in keys]
        sandbox = verifier.sandbox
        if checks:
            opened.lay_out(keys)
            opened.give(timeout)
            sandbox = _grade_again(opened, checks, times, verifier)
        references = _references(opened, checks, verifier)
    known = [check for check in checks if check.found]
    return Verification(
        run=config.run_id,
        seed=drawn,
        refused=claims.faults,
        task_set=claims.tasks.name if claims.tasks else None,
        tasks=tasks,
        of=len(graded),
        attempts=len(known),
        differing=tuple(check.in_words() for check in known if not check.holds),
        unsteady=tuple(check.in_words() for check in known if check.holds and not check.agrees),
        times=times,
        tolerance=tolerance,
        claimed=_mean([_counted(check.claimed) for check in known]),
        found=_mean([_mean([_counted(one) for one in check.found]) for check in known]),
        sandbox=sandbox,
        notes=tuple(_notes(config.configuration.timeout_s, timeout, known)),
        unknown=tuple(str(check.key) for check in checks if not check.found),
        references=references,
    )


def _references(opened: Bundle, checks: Sequence["_Check"], verifier: Settings) -> dict[str, str]:
    """Return which of the drawn submissions are references' own, where a run is not said to be a reference's."""
    config = opened.run.config()
    if isinstance(config.configuration.submissions, References):
        return {}
    suite = open_suite(config.configuration.suite, verifier)
    drawn = {(check.key.task, check.claimed.submission) for check in checks}
    handed_in = {one: tree for one, tree in opened.handed_in().items() if one in drawn}
    known = asyncio.run(own_references(suite, handed_in, verifier))
    return {
        str(check.key): whose
        for check in checks
        if (whose := known.get((check.key.task, check.claimed.submission or "")))
    }


def claims_of(opened: Bundle, rules: BoardRules, settings: Settings) -> Claims:
    """Open the suite that a bundle names, if *rules* allow it, and hold the bundle's claims against it."""
    named = opened.run.config().configuration.suite
    _check_suite(named, rules.suite)
    suite = open_suite(named, settings)
    return check_claims(opened, suite, board_sets(suite, rules.sets))


def gradable(lines: Mapping[AttemptKey, VerdictLine]) -> list[str]:
    return sorted({key.task for key, line in lines.items() if line.submission})


def drawn_tasks(tasks: Sequence[str], sample: int, seed: int) -> tuple[str, ...]:
    """Draw a sample of *tasks*, the same for the same *seed*."""
    chosen = random.Random(seed).sample(tasks, min(sample, len(tasks)))  # noqa: S311  # reproducible
    return tuple(sorted(chosen))


def _check_suite(named: str, trusted: str | None) -> None:
    """Raise `UsageError` for a suite that is code of the bundle's maker, unless its user trusts it by name."""
    if not is_known(named) and named != trusted:
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
        if any(standing_of(line.verdict) != standing_of(self.claimed.verdict) for line in lines):
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
    return counted(line.verdict)


def _standing(line: VerdictLine) -> str:
    score = None if line.verdict is None else line.verdict.score
    parts = "" if score is None else f" {score.fraction}"
    return f"{standing_of(line.verdict).replace('_', ' ')}{parts}"


@contextmanager
def opened_bundle(bundle: AnyPath) -> Iterator[Bundle]:
    """Unpack *bundle* for a while. Raises `UsageError` for what is none, and names the bundle in each."""
    with tempfile.TemporaryDirectory(prefix="groundup-bundle-") as room:
        try:
            yield unpack(Path(bundle), Path(room) / "bundle")
        except UsageError as error:
            if str(error).startswith(str(bundle)):
                raise
            raise UsageError(f"{bundle}: {_ADVICE.sub('', str(error).replace(f'{room}/bundle/', ''))}") from error
