"""Checking whether a count of passed tests is to be believed: the runs behind `integrity`.

A few more runs, each in a fresh sandbox: a spot check; where that contradicts the count, few functions can be
false, or `deep` asks for it, a full check of all tests that passed; where that shows a pattern, one more run with
what accuses; and where a check has no end, one or two more that show why.
"""

import asyncio
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from groundup.domain.errors import SandboxError
from groundup.grading.context import GradingContext
from groundup.grading.library.decision import Answer, Integrity, why_unfinished
from groundup.grading.library.execution import Execution, Overlay, run_to_the_end
from groundup.grading.library.hidden import FalseRecord, LibraryUnderTest, NumberedTest
from groundup.grading.library.report import INTERRUPTED, Result
from groundup.sandbox.protocol import Ending
from groundup_integrity.false_forms import FalseForms, HiddenSuite, function_of, suite_of, suite_of_layer
from groundup_integrity.integrity import (
    FEW_FUNCTIONS,
    LEAST_CLAIMED,
    Contradiction,
    Draw,
    contradiction,
    drawn,
    is_claimed,
    is_forged,
    log_of,
    lost_again,
    sample,
)

FORGED = "tests pass although they are made to fail: results are being forged"
MEDDLED = "tests pass with false expectations, too"
UNREPEATED = "tests that passed in the run that counts fail in a check"
CLAIMED = "tests passed in the run that counts and fail when they run again: results were forged there"
DIES = "the tests ended well in the run that counts, and twice not when they ran again as they are"
LOOKS = "tests do not even begin wherever some have false forms, and all begin where they are true"
_LEFT = b"unexpected SystemExit"
"""pytest's words on a module that leaves while it is imported."""
_LEAST_TEST_S = 10.0
_SLOWER = 10
"""A test with a false expectation may wait for ever; it has so many times what it took, and at least that long."""


class ByFalseForms:
    """A `Checker` whose `Check` looks at tests with false expectations."""

    def read_ahead(self, library: LibraryUnderTest, expected: frozenset[NumberedTest]) -> None:
        """Read the files of the tests *expected*, any of which may be drawn."""
        suite = suite_of_layer(library.original, library.hidden.protected, expected)
        for path in sorted({test.file for test in expected}):
            suite.units(path)

    async def __call__(
        self,
        library: LibraryUnderTest,
        run: Execution,
        expected: frozenset[NumberedTest],
        record: FalseRecord | None,
        context: GradingContext,
        *,
        deep: bool = False,
    ) -> Integrity:
        """Return whether to believe *run*. Raises `SandboxError`."""
        original, protected = library.original, library.hidden.protected
        if record is None:
            suite = await asyncio.to_thread(suite_of, original, protected, expected)
            # There is no original that could show which false forms fail, so each fails at its end, too.
            record = FalseRecord(tailed=tuple(sorted(set(map(function_of, expected)))))
        else:
            suite = await asyncio.to_thread(suite_of_layer, original, protected, expected)
        return await Check(library, context, suite, record, run, expected).integrity(deep=deep)


@dataclass
class Check:
    """The checks of one submission. *true*: the run that counts; *expected*: the tests that it was about."""

    library: LibraryUnderTest
    context: GradingContext
    suite: HiddenSuite
    record: FalseRecord
    true: Execution
    expected: frozenset[NumberedTest]
    log: str = ""

    def __post_init__(self) -> None:
        """Draw the seed: no submission can know it, for it was handed in before."""
        self.seed = secrets.token_hex(8)
        self.random = Random(f"{self.seed} drawn")  # noqa: S311 - the seed is the secret
        self.forms = FalseForms(self.suite, self.seed, self.record.tailed)
        results = self.true.report.results
        ended = {end.test for end in self.true.ended}
        self.passed = {
            test: found.duration_s
            for test, found in results.items()
            if found.outcome == "passed" and test in self.expected - ended
        }

    async def integrity(self, *, deep: bool) -> Integrity:
        """Return whether to believe the count. *deep*: check all tests. Raises `SandboxError`."""
        never = self.record.free | self.record.leaning
        candidates = {test: time_s for test, time_s in self.passed.items() if test not in never}
        if not candidates:
            return Integrity()
        chosen = sample(candidates, self.random)
        draw = await asyncio.to_thread(drawn, chosen, self.forms, self.random)
        failed = self._failed()
        suite_s = sum(found.duration_s for found in self.true.report.results.values())
        draw = draw._replace(lost=lost_again(failed, suite_s, self.random))
        seen, run = await self._run("spot check", draw)
        again = {test: _outcome(run, test) for test in draw.lost}
        flaky = frozenset(test for test, outcome in again.items() if outcome == "passed")
        is_open = not failed.keys() <= {test for test, outcome in again.items() if outcome in ("failed", "error")}
        answer = Integrity(depth="spot", checked=len(draw.tests - draw.lost))
        is_unsteady = bool(seen.failed_true)
        if seen or deep or await asyncio.to_thread(self._has_few, candidates):
            answer = await self._full(candidates, draw, seen)
        return answer._replace(flaky=flaky, open=is_open, unsteady=answer.unsteady or is_unsteady, log=self.log)

    def _among_all(self, draw: Draw) -> Draw:
        """Return *draw* with all other tests of the run that counts: a test may lean on what they leave."""
        return draw._replace(lost=frozenset(self.true.report.results) - draw.tests)

    def _has_few(self, candidates: Iterable[NumberedTest]) -> bool:
        able: set[str] = set()
        for test in candidates:
            if self.forms.can_be_false(test):
                able.add(function_of(test))
                if len(able) == FEW_FUNCTIONS:
                    return False
        return bool(able)

    def _failed(self) -> dict[NumberedTest, float]:
        """Return how long each expected test took that failed."""
        results = self.true.report.results
        ran = {key: results[key] for key in sorted(self.expected & results.keys())}
        return {key: found.duration_s for key, found in ran.items() if found.outcome in ("failed", "error")}

    async def _full(self, candidates: dict[NumberedTest, float], first: Draw, spot: Contradiction) -> Integrity:
        """Check all *candidates*: what was true in the *first* draw is false now, so each shows both forms."""
        draw = self._among_all(await asyncio.to_thread(drawn, candidates, self.forms, self.random, first))
        # A test may lean on what other files import, so all are, as in the run that counts.
        seen, run = await self._run("full check", draw, collects_all=True)
        answer = Integrity(depth="full", checked=len(draw.tests - draw.lost), unsteady=bool(seen.failed_true))
        both = Contradiction(
            passed_false=seen.passed_false | spot.passed_false, failed_true=seen.failed_true | spot.failed_true
        )
        able = len(set(map(function_of, draw.false | first.false)))
        said, why, unfinished = answer.answer, "", seen.unfinished
        if is_forged(both.passed_false, able) or is_claimed(both.failed_true):
            said, why, cut = await self._confirmed(both, len(draw.true | first.true), able)
            if said == "clean" and is_claimed(seen.failed_true):
                said, why = "suspect", f"{len(seen.failed_true)} {UNREPEATED}"
            unfinished = unfinished or cut
        if unfinished and said != "tampered":
            said, why = await self._without_end(candidates, draw, unfinished, run)
        return answer._replace(answer=said, why=why)

    async def _without_end(
        self, candidates: Iterable[NumberedTest], draw: Draw, why: str, run: Execution
    ) -> tuple[Answer, str]:
        """Say what it means that a check of *draw* has no end, though the run that counts ended well.

        Its tests run again in their true form, in files that say so in other words. An honest library ends then as
        it did; one whose process dies there, too, and once more, shows another face than in the run that counts.
        Who ends well with true forms alone, and dies before the first test wherever some are false, looks at the
        files of its tests. A file that can be collected no more is a small death of the same kind.
        """
        suspect: tuple[Answer, str] = "suspect", f"the check of its passed tests has no end: {why}"
        true, overlay = self._among_all(Draw(true=frozenset(candidates))), Overlay(changed=self._reworded())
        first, again = await self._run("as they are", true, overlay, collects_all=True)
        if first.unfinished:
            second, once_more = await self._run("as they are, once more", true, overlay, collects_all=True)
            if second.unfinished and self._dies(again) and self._dies(once_more):
                return "tampered", f"{DIES}: {second.unfinished}"
            return suspect
        if not self._begins_no_test(run):
            return suspect
        other = draw._replace(
            true=draw.false, false=frozenset(test for test in draw.true if self.forms.can_be_false(test))
        )
        third, last = await self._run("false forms once more", other, collects_all=True)
        if third.unfinished and self._begins_no_test(last):
            return "tampered", f"{LOOKS}: {third.unfinished}"
        return suspect

    async def _confirmed(self, seen: Contradiction, of: int, able: int) -> tuple[Answer, str, str]:
        """Run what accuses once more: false forms that passed made to fail, true ones that failed as they are.

        Clean where nothing is left of it; the last is why that run has no end. *of*: how many tests ran in their
        true form; *able*: how many functions in their false one.
        """
        forged, claimed = is_forged(seen.passed_false, able), is_claimed(seen.failed_true)
        false = sorted(seen.passed_false) if forged else []
        # By chance: at the end of their text, or by the runner as they return, which their text does not show.
        at_ends = frozenset(self.random.sample(false, len(false) // 2))
        true = (seen.failed_true - {*false}) if claimed else frozenset[NumberedTest]()
        draw = self._among_all(Draw(true=true, false=frozenset(false)))
        overlay = Overlay(
            changed=self._reworded() | self.forms.failing_at_ends(at_ends),
            failing=tuple(test for test in false if function_of(test) not in map(function_of, at_ends)),
        )
        again, run = await self._run("once more, made to fail or alone", draw, overlay, collects_all=True)
        number, changed = len(seen.passed_false), _changed(self.true) or _changed(run)
        if is_forged(again.passed_false, able):
            return "tampered", f"{len(again.passed_false)} {FORGED}", ""
        if forged and changed:
            return "tampered", f"{number} {MEDDLED}, and it changed {changed}", ""
        if claimed and is_claimed(again.failed_true, of):
            return "tampered", f"{len(again.failed_true)} {CLAIMED}", ""
        if forged:
            return "suspect", f"{number} {MEDDLED}; made to fail, they fail", again.unfinished
        if is_claimed(again.failed_true):
            return "suspect", f"{len(again.failed_true)} {UNREPEATED}", again.unfinished
        return "clean", "", again.unfinished

    async def _run(
        self, name: str, draw: Draw, overlay: Overlay | None = None, *, collects_all: bool = False
    ) -> tuple[Contradiction, Execution]:
        """Run the tests of *draw*, false ones by their false forms or by *overlay*. Raises `SandboxError`."""
        order = [test for test in self.true.report.results if test in draw.tests]
        if overlay is None:
            overlay = await asyncio.to_thread(false_overlay, self.forms, draw, order)
        else:
            overlay = overlay._replace(chosen=tuple(order))
        slowest_s = max((self.passed.get(test, 0.0) for test in draw.tests), default=0.0)
        limit_s = max(_LEAST_TEST_S, _SLOWER * slowest_s)
        one_test_s = self.library.hidden.one_test_s
        limit_s = min(limit_s, one_test_s) if one_test_s else limit_s
        results = self.true.report.results
        failed = tuple(test for test, found in results.items() if found.outcome in ("failed", "error"))
        overlay = overlay._replace(one_test_s=limit_s, collects_all=collects_all, failed=failed)
        run = with_true_names(await run_to_the_end(self.library, self.context, overlay), overlay)
        if run.result.ending is Ending.SANDBOX_DIED:
            raise SandboxError("the sandbox of a check died; repeat the attempt, and see `groundup doctor`")
        why = why_unfinished(run.report, run.result)
        told = draw._replace(lost=draw.lost & self.expected - self.passed.keys())
        self.log += log_of(f"{name}, seed {self.seed}", told, lambda test: _outcome(run, test))
        unfinished = why.message if why else self._uncollected(run) if collects_all else ""
        return contradiction(draw, run, unfinished), run

    def _reworded(self) -> dict[str, bytes]:
        """Return the sources of the tests with an idle text at their ends: other files that test the same.

        Who compares them with those that it knows takes true forms for false ones.
        """
        remark = f'\n"{self.random.randbytes(12).hex()}"\n'.encode()
        sources = self.suite.paths
        return {path: self.suite.text(path).source + remark for path in sorted(sources) if self.suite.body(path)}

    def _dies(self, run: Execution) -> bool:
        """Say whether a run ended as no honest one ends by chance, without its time, its memory or another limit.

        Or before its first test, or in several tests that had passed: two such runs are no chance.
        """
        ended = {end.test for end in run.ended} | {run.report.running}
        return _ends_itself(run) or _dies_early(run) or len(ended & self.passed.keys()) >= LEAST_CLAIMED

    def _begins_no_test(self, run: Execution) -> bool:
        return _dies_early(run) or bool(self._uncollected(run))

    def _uncollected(self, run: Execution) -> str:
        """Say which file with tests that passed in the run that counts can be collected no more; "" for none.

        *run* collects all files, for one alone may lack what others import.
        """
        files = {test.file for test in self.passed} - {end.test.file for end in run.ended}
        for place, said in run.report.collection_errors.items():
            file = place.partition("::")[0]
            if file in files:
                return f"{file} can be collected no more: {said}"
        return ""


def false_overlay(forms: FalseForms, draw: Draw, order: Sequence[NumberedTest]) -> Overlay:
    """Return the run of a draw's tests in this *order*, false ones by their false *forms*."""
    false = forms.falsified(draw.false)
    called = {own: called for called, own in false.renamed.items()}
    chosen = tuple(called.get(test, test) for test in order)
    return Overlay(changed=false.changed, renamed=false.renamed, chosen=chosen)


def _ends_itself(run: Execution) -> bool:
    """Say whether a process died by its own doing, and not for its time or its memory."""
    return run.result.ending is Ending.EXITED


def _dies_early(run: Execution) -> bool:
    """Say whether a process died, hung or left before any test had begun. pytest's own errors are none of this."""
    report, said = run.report, run.result.stdout + run.result.stderr
    is_left = report.exit_code in (None, INTERRUPTED) or _LEFT in said
    return is_left and report.running is None and not report.results


def _changed(run: Execution) -> str:
    """Return a function of pytest, of the runner or of Python that the submission changed; "" for none."""
    seen = run.report.observed
    return "" if seen is None else next(iter((*seen.changed, *seen.frames)), "")


def _outcome(run: Execution, test: NumberedTest) -> str:
    """Return what a test did; "ended" where it ended the process."""
    if any(end.test == test for end in run.ended):
        return "ended"
    found = run.report.results.get(test)
    return "missing" if found is None else found.outcome


def with_true_names(run: Execution, overlay: Overlay) -> Execution:
    """Return *run* under the names that its tests have when they are true.

    A true name that no test has here is a guess: believed, it would take the place of what the case did.
    """
    names, report = overlay.renamed, run.report
    guessed = frozenset(names.values()) - names.keys()
    results: dict[NumberedTest, Result] = {
        names.get(key, key): found for key, found in report.results.items() if key not in guessed
    }
    ended = tuple(end._replace(test=names.get(end.test, end.test)) for end in run.ended)
    return run._replace(report=report.but(results=results), ended=ended)
